//! SST file writers, and ingestion of the files.

use std::ffi::c_char;
use std::path::PathBuf;
use std::sync::Arc;

use base::{Error, Result};
use engine::family::Family;
use engine::ingest::IngestRequest;
use ironstone::SstFileWriter;

use crate::abi::{Owned, arguments};
use crate::comparator::rocksdb_comparator_t;
use crate::db::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::environment::rocksdb_envoptions_t;
use crate::options::rocksdb_options_t;
use crate::write_options::rocksdb_ingestexternalfileoptions_t;

/// Writes one SST file after the other.
pub struct rocksdb_sstfilewriter_t {
    options: rocksdb_options_t,
    writer: Option<SstFileWriter>,
    /// The size of the last finished file in bytes.
    size: u64,
}

impl rocksdb_sstfilewriter_t {
    fn new(options: &rocksdb_options_t) -> Self {
        rocksdb_sstfilewriter_t { options: options.clone(), writer: None, size: 0 }
    }

    fn writer(&mut self) -> Result<&mut SstFileWriter> {
        self.writer.as_mut().ok_or_else(|| Error::invalid_argument("File is not opened"))
    }
}

/// Ingests files into a column family.
fn ingest(
    db: &rocksdb_t,
    family: &Arc<Family>,
    files: Vec<PathBuf>,
    options: &rocksdb_ingestexternalfileoptions_t,
) -> Result<()> {
    use crate::abi::HasRejected;
    options.rejected().check()?;
    db.db()?.files().ingest(vec![IngestRequest::new(family.clone(), files, options.options.clone())])
}

/// Converts an array of C strings to paths.
///
/// # Safety
/// The array has `count` items that are null or end with NUL.
unsafe fn paths(list: *const *const c_char, count: usize) -> Result<Vec<PathBuf>> {
    // SAFETY: the array has `count` items by the contract.
    let list = unsafe { arguments::array(list, count)? };
    // SAFETY: each item is null or ends with NUL by the contract.
    list.iter().map(|&path| unsafe { arguments::path(path) }.map(PathBuf::from)).collect()
}

c_api! {
    /// Creates a writer of SST files with these options. `env` has no effect.
    fn rocksdb_sstfilewriter_create(
        env: in rocksdb_envoptions_t, io_options: in rocksdb_options_t
    ) -> Owned<rocksdb_sstfilewriter_t> {
        let _ = env;
        Owned(rocksdb_sstfilewriter_t::new(io_options))
    }

    /// Works like `rocksdb_sstfilewriter_create`. `comparator` replaces the comparator of the options.
    fn rocksdb_sstfilewriter_create_with_comparator(
        env: in rocksdb_envoptions_t, io_options: in rocksdb_options_t, comparator: in rocksdb_comparator_t
    ) -> Owned<rocksdb_sstfilewriter_t> {
        let _ = env;
        let mut writer = rocksdb_sstfilewriter_t::new(io_options);
        writer.options.family.comparator = comparator.order.clone();
        Owned(writer)
    }

    /// Begins a file. A file at the path is replaced.
    fn rocksdb_sstfilewriter_open(writer: mut rocksdb_sstfilewriter_t, name: path, err) {
        writer.options.rejected.check()?;
        let file = SstFileWriter::create(name, &writer.options.db, &writer.options.family)?;
        writer.writer = Some(file);
        Ok(())
    }

    /// Works like `rocksdb_sstfilewriter_put`.
    fn rocksdb_sstfilewriter_add(writer: mut rocksdb_sstfilewriter_t, key: bytes, val: bytes, err) {
        writer.writer()?.put(key, val)
    }

    /// Adds a key and its value. The program must add the keys in the order of the comparator.
    fn rocksdb_sstfilewriter_put(writer: mut rocksdb_sstfilewriter_t, key: bytes, val: bytes, err) {
        writer.writer()?.put(key, val)
    }

    fn rocksdb_sstfilewriter_put_with_ts(
        writer: mut rocksdb_sstfilewriter_t, key: bytes, ts: bytes, val: bytes, err
    ) {
        writer.writer()?.put_with_ts(key, ts, val)
    }

    fn rocksdb_sstfilewriter_merge(writer: mut rocksdb_sstfilewriter_t, key: bytes, val: bytes, err) {
        writer.writer()?.merge(key, val)
    }

    fn rocksdb_sstfilewriter_delete(writer: mut rocksdb_sstfilewriter_t, key: bytes, err) {
        writer.writer()?.delete(key)
    }

    fn rocksdb_sstfilewriter_delete_with_ts(writer: mut rocksdb_sstfilewriter_t, key: bytes, ts: bytes, err) {
        writer.writer()?.delete_with_ts(key, ts)
    }

    /// Deletes the keys from `begin_key` up to `end_key`, `end_key` not included.
    fn rocksdb_sstfilewriter_delete_range(
        writer: mut rocksdb_sstfilewriter_t, begin_key: bytes, end_key: bytes, err
    ) {
        writer.writer()?.delete_range(begin_key, end_key)
    }

    /// Finishes the file. Reports an error if the file has no entries.
    fn rocksdb_sstfilewriter_finish(writer: mut rocksdb_sstfilewriter_t, err) {
        let info = writer.writer()?.finish()?;
        writer.size = info.file_size;
        writer.writer = None;
        Ok(())
    }

    /// Returns the size of the file in bytes. After the finish, returns the size of the finished file.
    fn rocksdb_sstfilewriter_file_size(writer: mut rocksdb_sstfilewriter_t, file_size: out u64) {
        file_size.set(writer.writer.as_ref().map_or(writer.size, SstFileWriter::file_size));
    }

    /// Destroys the writer. A file that was not finished stays incomplete. Accepts null.
    fn rocksdb_sstfilewriter_destroy(writer: own rocksdb_sstfilewriter_t) {
        drop(writer)
    }

    /// Moves or copies SST files into the default column family. All files become visible together, or none.
    fn rocksdb_ingest_external_file(
        db: at rocksdb_t, file_list: raw(*const *const c_char), list_len: usize,
        options: in rocksdb_ingestexternalfileoptions_t, err
    ) {
        // SAFETY: rule 11 of the header: an aligned array of `list_len` strings that end with NUL. No thread changes them during the call.
        let files = unsafe { paths(file_list, list_len)? };
        ingest(db, &*db.default_family()?, files, options)
    }

    fn rocksdb_ingest_external_file_cf(
        db: at rocksdb_t, handle: at rocksdb_column_family_handle_t, file_list: raw(*const *const c_char),
        list_len: usize, options: in rocksdb_ingestexternalfileoptions_t, err
    ) {
        // SAFETY: rule 11 of the header: an aligned array of `list_len` strings that end with NUL. No thread changes them during the call.
        let files = unsafe { paths(file_list, list_len)? };
        ingest(db, &*db.family(handle)?, files, options)
    }
}
