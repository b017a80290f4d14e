//! The commands of the program `ironstone`.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use env::Env;

use crate::doctor::{self, Finding, Severity};
use crate::model::{Budget, Database, load};
use crate::web::pages::Site;
use crate::web::server::Server;
use crate::{bundle, words};

const HELP: &str = "\
ironstone: shows, explains and diagnoses the databases of RocksDB and Ironstone. No command changes a database.

  ironstone inspect PATH [--json]       pages in the browser; --json prints the facts
  ironstone doctor PATH [--json]        findings with evidence, cost and the exact change; status 1 if there are findings
  ironstone bundle PATH --out FILE      a support bundle without keys and values

PATH is the directory of a database (open or closed), a support bundle, or an info log (LOG).
";

/// Runs the program with its arguments, without the name of the program. Returns the exit status: 0, 1 for findings, 2 for
/// an error.
pub fn run(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> i32 {
    match command(args, out) {
        Ok(status) => status,
        Err(text) => {
            // Without standard error nobody reads the message.
            let _ = writeln!(err, "ironstone: {text}");
            2
        }
    }
}

/// The arguments of one call.
#[derive(Debug, Default)]
struct Args {
    command: String,
    path: Option<PathBuf>,
    out: Option<PathBuf>,
    json: bool,
}

fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Args, String> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_args(args);
    let mut found = Args::default();
    while let Some(argument) = parser.next().map_err(|e| e.to_string())? {
        match argument {
            Long("help") | Short('h') => found.command = "help".to_string(),
            Long("json") => found.json = true,
            Long("out") => found.out = Some(PathBuf::from(parser.value().map_err(|e| e.to_string())?)),
            Value(value) if found.command.is_empty() => found.command = value.to_string_lossy().into_owned(),
            Value(value) if found.path.is_none() => found.path = Some(PathBuf::from(value)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    Ok(found)
}

fn command(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write) -> Result<i32, String> {
    let args = parse(args)?;
    let env = Env::posix();
    let path = || args.path.clone().ok_or_else(|| format!("{} needs a path; see --help", args.command));
    let failed = |e: std::io::Error| format!("writing the output: {e}");
    match args.command.as_str() {
        "help" | "" => out.write_all(HELP.as_bytes()).map(|()| 0).map_err(failed),
        "inspect" if args.json => {
            let db = read(&env, &path()?)?;
            let findings = doctor::examine(&db);
            let value = serde_json::json!({ "database": db, "findings": findings });
            writeln!(out, "{value:#}").map(|()| 0).map_err(failed)
        }
        "inspect" => inspect(&env, path()?, out),
        "doctor" => {
            let db = read(&env, &path()?)?;
            let findings = doctor::examine(&db);
            match args.json {
                true => writeln!(out, "{:#}", serde_json::json!({ "findings": findings })).map_err(failed)?,
                false => report(&db, &findings, out).map_err(failed)?,
            }
            Ok(i32::from(!findings.is_empty()))
        }
        "bundle" => {
            let (path, file) = (path()?, args.out.clone().ok_or("bundle needs --out FILE")?);
            let db = read(&env, &path)?;
            let text = bundle::write(&env, &path, &db).map_err(|e| e.to_string())?;
            std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&file)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(|e| format!("{}: {e}", file.display()))?;
            let size = words::bytes(text.len() as u64);
            writeln!(out, "wrote {} ({size}); it has no keys and no values", file.display())
                .map_err(failed)?;
            Ok(0)
        }
        other => Err(format!("no such command: {other}; see --help")),
    }
}

/// Reads a directory, a bundle, or an info log.
fn read(env: &Env, path: &Path) -> Result<Database, String> {
    let is_file = env.fs.exists(path).unwrap_or(false) && !env.fs.is_dir(path).unwrap_or(false);
    let read = match is_file && bundle::is_bundle(env, path).unwrap_or(false) {
        true => bundle::read(env, path),
        false => load(env, path, &Budget::COMMAND),
    };
    read.map_err(|error| error.to_string())
}

fn inspect(env: &Env, path: PathBuf, out: &mut dyn Write) -> Result<i32, String> {
    // A path that is not readable is an error of the command, before a browser opens.
    let is_file = !env.fs.is_dir(&path).unwrap_or(false);
    if is_file && !env.fs.exists(&path).unwrap_or(false) {
        return Err(format!("{}: the path does not exist", path.display()));
    }
    let server = Server::bind(Site::new(env.clone(), path)).map_err(|e| format!("the server: {e}"))?;
    writeln!(
        out,
        "Open this address in a browser of this machine (the address is a secret):\n\n  {}\n",
        server.url()
    )
    .and_then(|()| writeln!(out, "The pages change nothing. Press Ctrl-C to end."))
    .and_then(|()| out.flush())
    .map_err(|e| format!("writing the output: {e}"))?;
    server.run().map_err(|e| format!("the server: {e}"))?;
    Ok(0)
}

fn report(db: &Database, findings: &[Finding], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "{}: {} in {}, {}",
        db.name,
        words::bytes(db.sst_bytes()),
        words::of(db.sst_count() as u64, "SST file"),
        words::of(db.families.len() as u64, "column family")
    )?;
    if findings.is_empty() {
        return writeln!(out, "no findings");
    }
    for finding in findings {
        let mark = match finding.severity {
            Severity::Critical => "CRITICAL",
            Severity::Warning => "WARNING",
            Severity::Advice => "ADVICE",
        };
        let family = finding.family.as_ref().map_or(String::new(), |name| format!(" [{name}]"));
        writeln!(out, "\n{mark}{family} {} ({})", finding.title, finding.rule)?;
        for line in &finding.evidence {
            writeln!(out, "  evidence: {line}")?;
        }
        writeln!(out, "  cost:     {}", finding.cost)?;
        writeln!(out, "  change:   {}", finding.change.sentence())?;
    }
    writeln!(out, "\n{}", words::of(findings.len() as u64, "finding"))
}
