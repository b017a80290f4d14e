//! `ironstone inspect`: the server of the pages, over a directory, a secondary instance, or the database itself.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::Env;
use inspect::web::pages::Site;
use inspect::web::server::Server;
use ironstone::inspector::{Inspector, InspectorOptions};
use ironstone::{Db, FamilyDescriptor, Missing, Options, ReadConfig, Secondary};

/// How the pages get their facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Source {
    /// From the files alone. Works for a directory, a bundle and an info log.
    #[default]
    Files,
    /// From the files and from a secondary instance, while another process writes.
    Secondary,
    /// From the database, which this process opens. The pages can make changes.
    Database,
}

/// Serves the pages until the process ends.
pub(super) fn serve(
    env: &Env,
    path: PathBuf,
    other: Option<PathBuf>,
    source: Source,
    out: &mut dyn Write,
) -> Result<(), String> {
    // A wrong path is an error of the command, before a browser opens. A directory can become a database later, so its
    // files are not checked here.
    for path in std::iter::once(&path).chain(&other) {
        if !env.fs.exists(path).unwrap_or(false) {
            return Err(format!("{}: the path does not exist", path.display()));
        }
        if !env.fs.is_dir(path).unwrap_or(true) {
            super::read(env, path)?;
        }
    }
    if source != Source::Files && other.is_some() {
        return Err("--with compares directories and bundles; leave out --secondary and --write".to_string());
    }
    let text_of = |error: base::Error| error.to_string();
    match source {
        Source::Files => {
            let site = Site::new(env.clone(), path);
            let site = match other {
                Some(other) => site.with_other(other),
                None => site,
            };
            let server = Server::bind(site).map_err(|e| format!("the server: {e}"))?;
            announce(server.url(), "The pages change nothing.", out)?;
            server.run().map_err(|e| format!("the server: {e}"))
        }
        Source::Secondary => {
            let (mut options, families) = options_of(env, &path, false)?;
            options.db.max_open_files = -1;
            options.db.open_files_async = false;
            let secondary = Secondary::open_with_families(&path, options, families).map_err(text_of)?;
            let secondary = Arc::new(secondary);
            let inspector =
                Inspector::serve_secondary(&secondary, &InspectorOptions::default()).map_err(text_of)?;
            announce(inspector.url().to_string(), "The pages change nothing.", out)?;
            wait()
        }
        Source::Database => {
            let (options, families) = options_of(env, &path, true)?;
            let db = Db::open_with_families(&path, options, families).map_err(text_of)?;
            let inspector =
                Inspector::serve(&db, &InspectorOptions { allow_changes: true }).map_err(text_of)?;
            let text = "This process has the database open. The pages have forms that change the database.";
            announce(inspector.url().to_string(), text, out)?;
            wait()
        }
    }
}

/// Waits until a signal ends the process.
fn wait() -> Result<(), String> {
    loop {
        std::thread::park();
    }
}

fn announce(url: String, promise: &str, out: &mut dyn Write) -> Result<(), String> {
    writeln!(out, "Open this address in a browser of this machine (the address is a secret):\n\n  {url}\n")
        .and_then(|()| writeln!(out, "{promise} Press Ctrl-C to end."))
        .and_then(|()| out.flush())
        .map_err(|e| format!("writing the output: {e}"))
}

/// Returns the options of the newest OPTIONS file, or the defaults without such a file. `writes` is true if the database is opened for
/// writing. Objects that only observe, such as listeners, are left out. A secondary instance reads files and WALs, so it needs only the
/// comparator.
///
/// # Errors
/// A text that names the object of the application without which the database cannot be opened.
pub(super) fn options_of(
    env: &Env,
    path: &Path,
    writes: bool,
) -> Result<(Options, Vec<FamilyDescriptor>), String> {
    let file = match Options::load_latest(path, env, &ReadConfig::default()) {
        Ok(file) => file,
        Err(error) if error.kind() == base::Kind::NotFound => {
            let names = ironstone::list_column_families(path, &Options::default().db);
            let names = names.map_err(|error| error.to_string())?;
            let descriptor = |name: String| FamilyDescriptor::new(name, Default::default());
            return Ok((Options::default(), names.into_iter().map(descriptor).collect()));
        }
        Err(error) => return Err(error.to_string()),
    };
    let is_needed = |missing: &&Missing| match missing.option.as_str() {
        "comparator" => true,
        _ => writes && !missing.only_observes(),
    };
    if let Some(missing) = file.missing.iter().find(is_needed) {
        let why = match writes {
            true => "Without it, an open for writing would change what the database holds. Leave out --write",
            false => "Without it, the order of the keys is unknown. Leave out --secondary",
        };
        return Err(format!(
            "the OPTIONS file names {} {:?}, which this program does not have. {why}",
            missing.option, missing.object
        ));
    }
    let mut options = Options { db: file.db, ..Options::default() };
    options.db.env = env.clone();
    // The page shows a database that exists: a directory without CURRENT must not get a new database.
    (options.db.create_if_missing, options.db.error_if_exists) = (false, false);
    let mut families = Vec::new();
    for (name, family) in file.families {
        if name == "default" {
            options.family = family.clone();
        }
        families.push(FamilyDescriptor::new(name, family));
    }
    Ok((options, families))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_only_observe_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.db.create_if_missing = true;
        drop(Db::open(dir.path(), options).unwrap());
        let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let file = names.filter(|path| path.to_string_lossy().contains("OPTIONS-")).max().unwrap();
        let written = std::fs::read_to_string(&file).unwrap();
        // The file PROOF rejects an OPTIONS file that was changed.
        std::fs::remove_file(dir.path().join("PROOF")).unwrap();
        let of = |from: &str, to: &str, writes: bool| {
            assert!(written.contains(from), "{from}");
            std::fs::write(&file, written.replace(from, to)).unwrap();
            options_of(&Env::posix(), dir.path(), writes).map(|_| ())
        };
        let listeners = ("[DBOptions]", "[DBOptions]\n  listeners={A:A}");
        assert_eq!(of(listeners.0, listeners.1, true), Ok(()));
        let merge = ("merge_operator=nullptr", "merge_operator=Mine");
        assert!(of(merge.0, merge.1, true).unwrap_err().contains("Leave out --write"));
        assert_eq!(of(merge.0, merge.1, false), Ok(()));
        let comparator = ("comparator=leveldb.BytewiseComparator", "comparator=Mine");
        assert!(of(comparator.0, comparator.1, false).unwrap_err().contains("comparator \"Mine\""));
    }
}
