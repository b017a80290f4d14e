//! Reads every byte of a database, for `ironstone doctor --deep`. Changes nothing and takes no lock.

use std::path::Path;

use base::{Error, Result};
use engine::components::FamilyDescriptor;
use engine::db::{OpenRequest, fsck};
use engine::manifest::read_current;
use engine::options::file::{ReadConfig, load_latest};
use engine::options::{DbOptions, FamilyOptions};
use engine::repair;
use env::Env;
use format::names;
use serde::Serialize;

use crate::model::{Database, LOST_EDITS, Problem, Weight};

/// The largest number of problems of the contents that are listed.
const PROBLEMS_MAX: usize = 200;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contents {
    pub files: u64,
    pub bytes: u64,
    /// The entries that are readable, in SST files and WALs.
    pub entries: u64,
}

/// Reads all SST files, blob files, WALs, the MANIFEST and the OPTIONS files of the database at `dir`. Adds each fault to the problems of
/// `db`, with file and offset, in place of the faults of this file that were known before.
///
/// # Errors
/// Busy if another process changes the database during the read. NotSupported for SST files with embedded blobs. InvalidArgument for a
/// comparator that only the application has. Errors of the file system.
pub fn read(env: &Env, dir: &Path, db: &mut Database) -> Result<Contents> {
    let before = version_of(env, dir);
    let report = fsck(&request(env, dir))?;
    if before != version_of(env, dir) {
        return Err(Error::busy(
            "another process changed the database during the read: read a checkpoint, or end the process",
        ));
    }
    let elsewhere = db.families.iter().flat_map(|family| &family.files).filter(|file| file.elsewhere);
    let elsewhere: Vec<String> =
        elsewhere.map(|file| names::table(base::FileNumber::new(file.number))).collect();
    let found: Vec<Problem> = report.problems.iter().map(of).collect();
    let found = found.into_iter().filter(|problem| !elsewhere.contains(&problem.file)).take(PROBLEMS_MAX);
    let found: Vec<Problem> = found.collect();
    db.problems.retain(|known| {
        let is_replaced = |problem: &Problem| problem.file == known.file && problem.weight == Weight::Damage;
        known.text.starts_with(LOST_EDITS) || !found.iter().any(is_replaced)
    });
    db.problems.extend(found);
    db.contents_read = true;
    Ok(Contents { files: report.num_files, bytes: report.num_bytes, entries: report.num_rows })
}

/// Returns the number and the size of the MANIFEST. They change with each flush and each compaction.
fn version_of(env: &Env, dir: &Path) -> Option<(base::FileNumber, u64)> {
    let number = read_current(env, dir).ok()?;
    Some((number, env.fs.file_size(&dir.join(names::manifest(number))).ok()?))
}

/// Returns the request with the options of the OPTIONS file. If the file is not readable, the options are the defaults.
fn request(env: &Env, dir: &Path) -> OpenRequest {
    let config = ReadConfig { ignore_unknown_options: true, accept_changed: true, ..ReadConfig::default() };
    let Ok((_, file)) = load_latest(env, dir, &config) else {
        let options = DbOptions { env: env.clone(), ..DbOptions::default() };
        return OpenRequest::new(dir, options, FamilyOptions::default());
    };
    let mut options = file.db;
    // A copy of a database has the WALs in its own directory.
    if !env.fs.is_dir(Path::new(&options.wal_dir)).unwrap_or(false) {
        options.wal_dir = String::new();
    }
    let families = file.families.into_iter().map(|(name, options)| FamilyDescriptor::new(name, options));
    let mut request = OpenRequest::new(dir, options, FamilyOptions::default());
    request.families = families.collect();
    request
}

fn of(found: &repair::Problem) -> Problem {
    let family = found.family.as_ref().map_or(String::new(), |name| format!(" of column family {name:?}"));
    let (weight, end) = match (found.weight, found.bytes) {
        (repair::Weight::Note, _) => (Weight::Note, String::new()),
        (repair::Weight::Mendable, _) => (Weight::Damage, "; a repair corrects it without loss".to_string()),
        (repair::Weight::Loss, 0) => (Weight::Damage, "; entries are or may be lost".to_string()),
        (repair::Weight::Loss, 1) => (Weight::Damage, "; 1 byte is unreadable".to_string()),
        (repair::Weight::Loss, bytes) => (Weight::Damage, format!("; {bytes} bytes are unreadable")),
    };
    let file = found.file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Problem { weight, file, offset: found.offset, text: format!("{}{family}{end}", found.what) }
}
