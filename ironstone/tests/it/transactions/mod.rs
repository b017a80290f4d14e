//! Transactions: conflicts, locks, deadlocks, two-phase commit through crashes, and RocksDB's databases.

mod deadlocks;
mod decided_again;
mod entities;
mod golden;
mod ingested_files;
mod large;
mod optimistic;
mod pessimistic;
mod resumed;
mod shared_syncs;
mod two_phase;
mod wal;
mod write_prepared;
mod write_unprepared;

use std::path::Path;

use ironstone::{Options, TransactionDb, TransactionDbOptions, TransactionOptions, WriteOptions};

fn options() -> Options {
    let mut options = Options::default();
    options.update("create_if_missing=true;merge_operator=stringappend;write_buffer_size=65536").unwrap();
    options
}

/// Options with which a lock that is not free fails at once.
fn impatient(per_key: bool) -> TransactionDbOptions {
    TransactionDbOptions {
        transaction_lock_timeout: 0,
        default_lock_timeout: 0,
        use_per_key_point_lock_mgr: per_key,
        ..TransactionDbOptions::default()
    }
}

fn open(path: &Path) -> TransactionDb {
    TransactionDb::open(path, options(), impatient(false)).unwrap()
}

fn with(options: TransactionOptions, db: &TransactionDb) -> ironstone::Transaction {
    db.begin_with(&WriteOptions::default(), &options).unwrap()
}

/// Copies an open database: the state that a crash of the process leaves.
fn crash(path: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            match std::fs::copy(entry.path(), copy.path().join(entry.file_name())) {
                // An obsolete file was deleted during the copy.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                copied => drop(copied.unwrap()),
            }
        }
    }
    copy
}
