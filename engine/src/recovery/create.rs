//! Creates a database: the database id, the first MANIFEST, and CURRENT.

use base::{Error, FileNumber, Result, SequenceNumber};
use env::{AppendHints, Env};
use format::edit::VersionEdit;
use format::names::{self, FileName};
use format::wal::{Framing, Writer};

use crate::files::{Directory, Paths};
use crate::manifest::write_current;

/// The file number of the first MANIFEST of a new database.
const FIRST_MANIFEST: FileNumber = FileNumber(1);

/// Writes the first MANIFEST, and then the file CURRENT, which names the MANIFEST. The first entry gets the sequence number after
/// `last_sequence`.
///
/// # Errors
///
/// Corruption if the directory has WALs or SST files. Their database lost its CURRENT, and a new database
/// would hide and delete their data.
pub fn create_database(
    env: &Env,
    paths: &Paths,
    db_id: Option<&str>,
    last_sequence: SequenceNumber,
) -> Result<()> {
    let wals = env.fs.list(&paths.wal)?;
    if let Some(wal) = wals.iter().find(|name| matches!(FileName::parse(name), Some(FileName::Wal(_)))) {
        return Err(Error::corruption(
            "While creating a new Db, wal_dir contains existing log file; CURRENT is missing",
        )
        .file(paths.wal.join(wal)));
    }
    for directory in Directory::all(paths, &[]) {
        let is_table =
            |kind| matches!(kind, FileName::Table(_) | FileName::LegacyTable(_) | FileName::Blob(_));
        if let Some((_, table)) = directory.list(&*env.fs)?.into_iter().find(|(kind, _)| is_table(*kind)) {
            return Err(Error::corruption(
                "While creating a new Db, a directory contains existing SST files; CURRENT is missing",
            )
            .file(table));
        }
    }
    let edit = VersionEdit {
        db_id: db_id.map(str::to_string),
        wal_number: Some(0),
        next_file_number: Some(2),
        last_sequence: Some(last_sequence),
        ..VersionEdit::default()
    };
    let (mut record, mut framed) = (Vec::new(), Vec::new());
    edit.encode(0, &mut record)?;
    Writer::new(Framing::Classic).append(&mut framed, &record)?;
    let path = paths.db.join(names::manifest(FIRST_MANIFEST));
    let mut file = env.fs.create(&path, &AppendHints::default())?;
    file.append(&framed)?;
    file.sync()?;
    file.close()?;
    write_current(env, &paths.db, FIRST_MANIFEST)
}

/// Returns a random id in the form of RFC 4122, version 4.
pub fn new_db_id(env: &Env) -> String {
    let (a, b) = (env.rng.next_u64(), env.rng.next_u64());
    let hex = format!("{:016x}{:016x}", a & !0xf000 | 0x4000, b & !(3 << 62) | 2 << 62);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
