//! Creates a database: the database id, the first MANIFEST, and CURRENT.

use base::{Error, FileNumber, Result, SequenceNumber, WalNumber};
use env::{AppendHints, Env};
use format::edit::VersionEdit;
use format::names::{self, FileName};
use format::wal::{Framing, Writer};

use crate::files::{Directory, Paths};
use crate::manifest::write_current;

/// The file number of the first MANIFEST of a new database.
const FIRST_MANIFEST: FileNumber = FileNumber::new(1);

/// The next file number that the first MANIFEST of a new database stores.
const FIRST_FREE: FileNumber = FileNumber::new(2);

/// Returns true if the database with this next file number has written no file except its first MANIFEST. SST files in
/// its `db_paths` and `cf_paths` are then not files of this database.
pub fn has_no_files(next_file_number: FileNumber) -> bool {
    next_file_number <= FIRST_FREE
}

/// Writes the first MANIFEST, and then the file CURRENT, which names the MANIFEST. The first entry gets the sequence number after
/// `last_sequence`.
///
/// SST files in other directories of `db_paths` are accepted, as in RocksDB: they can be files of another database. If the
/// database directory has a MANIFEST, they are files of the database that lost its CURRENT.
///
/// # Errors
///
/// Corruption if the database directory or the WAL directory has files of a database that lost its CURRENT. A new database
/// would hide and delete its data.
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
    let mut lost_current = false;
    for (at, directory) in Directory::all(paths, &[]).iter().enumerate() {
        let files = directory.list(&*env.fs)?;
        // The database directory is the first directory.
        let is_database_directory = at == 0;
        if is_database_directory {
            lost_current = files.iter().any(|(kind, _)| matches!(kind, FileName::Manifest(_)));
        }
        let is_table =
            |kind| matches!(kind, FileName::Table(_) | FileName::LegacyTable(_) | FileName::Blob(_));
        let found = files.into_iter().find(|(kind, _)| is_table(*kind));
        if let Some((_, table)) = found.filter(|_| is_database_directory || lost_current) {
            return Err(Error::corruption(
                "While creating a new Db, a directory contains existing SST files; CURRENT is missing",
            )
            .file(table));
        }
    }
    let edit = VersionEdit {
        db_id: db_id.map(str::to_string),
        wal_number: Some(WalNumber::ZERO),
        next_file_number: Some(FIRST_FREE),
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
