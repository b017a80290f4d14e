//! The WAL files of a database, and the write batches in them.

use std::ffi::CString;

use base::{Error, SequenceNumber};
use engine::db::{WalFile, WalFileType};
use ironstone::binding::UpdateCursor;

use crate::abi::{Flag, Owned, Ref, Text};
use crate::batch::rocksdb_writebatch_t;
use crate::db::rocksdb_t;
use crate::trace_options::rocksdb_wal_readoptions_t;

/// A WAL file.
pub struct rocksdb_wal_file_t {
    file: WalFile,
    path: CString,
}

/// The WAL files of a database, oldest first.
pub struct rocksdb_wal_files_t {
    files: Vec<rocksdb_wal_file_t>,
}

/// The write batches of a database from a sequence number on.
pub struct rocksdb_wal_iterator_t {
    cursor: UpdateCursor,
}

impl rocksdb_wal_file_t {
    fn new(file: WalFile) -> Self {
        rocksdb_wal_file_t { path: CString::new(file.path_name.clone()).unwrap_or_default(), file }
    }
}

facts! {
    rocksdb_wal_file_t, "rocksdb_wal_file_", |f|;
    /// Returns the path relative to the WAL directory. The string is valid until the handle is destroyed.
    path_name: Text => Text::string(&f.path);
    log_number: u64 => f.file.number.get();
    /// Returns `rocksdb_wal_file_type_archived_log` or `rocksdb_wal_file_type_alive_log`.
    type: i32 => i32::from(f.file.file_type == WalFileType::Live);
    start_sequence: u64 => f.file.start_sequence.get();
    size_file_bytes: u64 => f.file.size;
}

c_api! {
    /// Returns the WAL files, oldest first.
    fn rocksdb_get_sorted_wal_files(db: at rocksdb_t, err) -> Owned<rocksdb_wal_files_t> {
        let files = db.db()?.wals().files()?;
        Ok(Owned(rocksdb_wal_files_t { files: files.into_iter().map(rocksdb_wal_file_t::new).collect() }))
    }

    /// Returns the active WAL file.
    fn rocksdb_get_current_wal_file(db: at rocksdb_t, err) -> Owned<rocksdb_wal_file_t> {
        Ok(Owned(rocksdb_wal_file_t::new(db.db()?.wals().current()?)))
    }

    fn rocksdb_wal_files_count(files: in rocksdb_wal_files_t) -> usize {
        files.files.len()
    }

    /// Returns a WAL file, or null if there is no such file. The handle is valid until the list is destroyed.
    fn rocksdb_wal_files_get_wal_file(
        files: in rocksdb_wal_files_t, index: usize
    ) -> Option<Ref<rocksdb_wal_file_t>> {
        files.files.get(index).map(Ref::new)
    }

    fn rocksdb_wal_files_destroy(files: own rocksdb_wal_files_t) {
        drop(files)
    }

    /// Destroys a file of `rocksdb_get_current_wal_file`. Accepts null.
    fn rocksdb_wal_file_destroy(file: own rocksdb_wal_file_t) {
        drop(file)
    }

    /// Returns an iterator over the write batches, beginning with the batch that contains this sequence number. The iterator is
    /// at the first batch. Checksums are always verified, even if `verify_checksums` is 0.
    fn rocksdb_get_updates_since(
        db: at rocksdb_t, seq_number: u64, options: inmaybe rocksdb_wal_readoptions_t, err
    ) -> Owned<rocksdb_wal_iterator_t> {
        let _ = options;
        let updates = db.db()?.wals().updates_since(SequenceNumber::new(seq_number))?;
        Ok(Owned(rocksdb_wal_iterator_t { cursor: UpdateCursor::new(updates) }))
    }

    fn rocksdb_wal_iter_next(iter: mut rocksdb_wal_iterator_t) {
        iter.cursor.step();
    }

    /// Returns 1 if the iterator is at a batch.
    fn rocksdb_wal_iter_valid(iter: in rocksdb_wal_iterator_t) -> Flag {
        Flag(iter.cursor.current().is_some())
    }

    /// Reports the error that ended the iteration.
    fn rocksdb_wal_iter_status(iter: in rocksdb_wal_iterator_t, err) {
        iter.cursor.status()
    }

    /// Returns a copy of the batch, and the sequence number of its first entry. The caller destroys the batch.
    fn rocksdb_wal_iter_get_batch(
        iter: in rocksdb_wal_iterator_t, seq: out u64
    ) -> Owned<rocksdb_writebatch_t> {
        let no_batch = || Error::invalid_argument("the WAL iterator is at no batch");
        let update = iter.cursor.current().ok_or_else(no_batch)?;
        seq.set(update.sequence.get());
        Owned(rocksdb_writebatch_t::from_batch(update.batch.clone()))
    }

    fn rocksdb_wal_iter_destroy(iter: cown rocksdb_wal_iterator_t) {
        drop(iter)
    }
}
