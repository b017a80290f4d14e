//! Flushes, compactions, WAL flushes, verification.

use std::borrow::Cow;
use std::ffi::c_char;
use std::path::Path;
use std::sync::Arc;

use base::{Error, FileNumber, Level, Result};
use engine::family::Family;
use engine::options::{CompactRangeOptions, CompactionOptions, ReadOptions, WaitForCompactOptions};

use super::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::abi::returns::malloc_array;
use crate::abi::{Buffer, HasRejected, Out, Return, arguments};
use crate::compaction_options::{
    rocksdb_compaction_options_t, rocksdb_compactoptions_t, rocksdb_wait_for_compact_options_t,
};
use crate::jobs::rocksdb_compactionjobinfo_t;
use crate::listener::compaction_finished;
use crate::read_options::rocksdb_readoptions_t;
use crate::write_options::{rocksdb_flushoptions_t, rocksdb_flushwaloptions_t};

/// Deletes the SST files whose keys are all between two keys, the second key included.
fn delete_files(
    db: &rocksdb_t,
    family: &Arc<Family>,
    start: Option<&[u8]>,
    limit: Option<&[u8]>,
) -> Result<()> {
    db.db()?.files().delete_files_in_ranges(family, &[(start, limit)], true)
}

/// The arguments of `rocksdb_compact_files`.
struct Files<'a> {
    family: &'a Arc<Family>,
    options: Option<&'a rocksdb_compaction_options_t>,
    names: Vec<&'a Path>,
    output_level: i32,
    output_path_id: i32,
}

impl Files<'_> {
    fn compact(
        &self,
        db: &rocksdb_t,
        info: *mut rocksdb_compactionjobinfo_t,
    ) -> Result<Vec<std::path::PathBuf>> {
        self.options.map_or(Ok(()), |options| options.rejected.check())?;
        let options = self.options.map_or_else(CompactionOptions::default, |options| options.options.clone());
        let numbers: Vec<_> = self.names.iter().map(|name| number_of(name)).collect();
        let level = usize::try_from(self.output_level)
            .map(Level::from_index)
            .map_err(|_| Error::invalid_argument("Output level cannot be negative."))?;
        let path_id = u32::try_from(self.output_path_id).ok();
        let done =
            db.db()?.compactions().compact_files_reported(self.family, &numbers, level, path_id, &options)?;
        // SAFETY: null, or a live handle. The library made the handle, so the handle is aligned and initialized. No other argument is
        // the same handle (rule 1 of the header), and no other thread uses the handle during the call (rule 6).
        if let (Some(info), Some(report)) = (unsafe { info.as_mut() }, &done.report) {
            *info = compaction_finished(report, Vec::new());
            info.compressions.1 = u32::from(self.family.options().blob_compression_type.number());
        }
        Ok(done.outputs)
    }
}

/// Returns the file number in the name or path of an SST file: the digits before the last period. Returns 0, which no file
/// has, for other names. RocksDB: `TableFileNameToNumber`.
fn number_of(path: &Path) -> FileNumber {
    let name = path.as_os_str().as_encoded_bytes();
    let end = name.iter().rposition(|&byte| byte == b'.').unwrap_or(0);
    let start = name[..end].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    let digits = std::str::from_utf8(&name[start..end]).unwrap_or_default();
    FileNumber::new(digits.parse().unwrap_or_default())
}

/// Returns the paths of the output files to the caller.
fn return_names(paths: &[std::path::PathBuf], names: &Out<*mut *mut c_char>, count: &Out<usize>) {
    count.set(paths.len());
    if !names.is_null() {
        let list: Vec<*mut c_char> =
            paths.iter().map(|path| Buffer::string(path.as_os_str().as_encoded_bytes()).into_c()).collect();
        names.set(malloc_array(&list));
    }
}

/// Returns the column families of an array of handles.
///
/// # Safety
/// The array has `count` items that are null or live handles.
unsafe fn families(
    db: &rocksdb_t,
    handles: *mut *mut rocksdb_column_family_handle_t,
    count: i32,
) -> Result<Vec<Arc<Family>>> {
    let count = arguments::count(count)?;
    // SAFETY: the contract of this function is the contract of `families`.
    unsafe { super::multi_get::families(db, handles.cast_const().cast(), count) }
}

c_api! {
    /// Writes the memtables of the default column family to SST files.
    fn rocksdb_flush(db: at rocksdb_t, options: in rocksdb_flushoptions_t, err) {
        options.rejected().check()?;
        db.db()?.flush(std::slice::from_ref(&*db.default_family()?), &options.options)
    }

    fn rocksdb_flush_cf(
        db: at rocksdb_t, options: in rocksdb_flushoptions_t, column_family: at rocksdb_column_family_handle_t, err
    ) {
        options.rejected().check()?;
        db.db()?.flush(std::slice::from_ref(&*db.family(column_family)?), &options.options)
    }

    /// Flushes several column families. With the option `atomic_flush`, one MANIFEST commit adds the SST files of all of them.
    fn rocksdb_flush_cfs(
        db: at rocksdb_t, options: in rocksdb_flushoptions_t,
        column_family: raw(*mut *mut rocksdb_column_family_handle_t), num_column_families: i32, err
    ) {
        options.rejected().check()?;
        // SAFETY: rule 11 of the header: an aligned array of `num_column_families` live handles. No thread changes the array or destroys a handle
        // during the call.
        let families = unsafe { families(db, column_family, num_column_families)? };
        db.db()?.flush(&families, &options.options)
    }

    /// Writes buffered WAL records to the WAL file. With `sync`, also syncs the file, so that the records are durable.
    fn rocksdb_flush_wal(db: at rocksdb_t, sync: flag, err) {
        db.db()?.wals().flush(sync)
    }

    /// Writes the WAL to the file. If `options` is null, the defaults hold: no sync.
    fn rocksdb_flush_wal_with_options(db: at rocksdb_t, options: inmaybe rocksdb_flushwaloptions_t, err) {
        let options = options.cloned().unwrap_or_default();
        options.rejected().check()?;
        db.db()?.wals().flush(options.options.sync)
    }

    /// Pauses flushes and compactions and waits for running jobs. Calls are counted: jobs start again after
    /// `rocksdb_continue_background_work` was called as often as this function.
    fn rocksdb_pause_background_work(db: at rocksdb_t, err) {
        db.db()?.background().pause()
    }

    fn rocksdb_continue_background_work(db: at rocksdb_t, err) {
        db.db()?.background().unpause()
    }

    /// Stops the deletion of obsolete files. Calls are counted: deletion starts again after `rocksdb_enable_file_deletions` was
    /// called as often as this function.
    fn rocksdb_disable_file_deletions(db: at rocksdb_t, err) {
        let db = db.db()?;
        engine::db::check_writable(&db)?;
        db.files().disable_deletions();
        Ok(())
    }

    fn rocksdb_enable_file_deletions(db: at rocksdb_t, err) {
        let db = db.db()?;
        engine::db::check_writable(&db)?;
        db.files().enable_deletions();
        Ok(())
    }

    /// Reads all blocks of all SST files and verifies their checksums.
    fn rocksdb_verify_checksum(db: at rocksdb_t, err) {
        db.db()?.files().verify_checksum()
    }

    /// Works like `rocksdb_verify_checksum`. The options `readahead_size`, `deadline`, `io_timeout` and
    /// `rate_limiter_priority` concern the reads of the files; the other options have no effect. Null: default options.
    fn rocksdb_verify_checksum_with_options(db: at rocksdb_t, options: inmaybe rocksdb_readoptions_t, err) {
        let options = options.map_or_else(|| Ok(Cow::Owned(ReadOptions::default())), rocksdb_readoptions_t::get)?;
        engine::db::verify_checksum(&*db.db()?, &options)
    }

    /// Compares the checksums of whole files with the checksums in the MANIFEST.
    fn rocksdb_verify_file_checksums(db: at rocksdb_t, err) {
        db.db()?.files().verify_file_checksums()
    }

    /// Works like `rocksdb_verify_file_checksums`, with the options of `rocksdb_verify_checksum_with_options`. Null:
    /// default options.
    fn rocksdb_verify_file_checksums_with_options(db: at rocksdb_t, options: inmaybe rocksdb_readoptions_t, err) {
        let options = options.map_or_else(|| Ok(Cow::Owned(ReadOptions::default())), rocksdb_readoptions_t::get)?;
        engine::db::verify_file_checksums(&*db.db()?, &options)
    }

    /// Compacts the keys from `start_key` to `limit_key`. A null key means no bound. Errors are written to the info log.
    fn rocksdb_compact_range(db: at rocksdb_t, start_key: bound, limit_key: bound) {
        db.db()?.compactions().compact_range(&*db.default_family()?, start_key, limit_key, &CompactRangeOptions::default())?;
    }

    fn rocksdb_compact_range_cf(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, start_key: bound, limit_key: bound
    ) {
        let family = &db.family(column_family)?;
        db.db()?.compactions().compact_range(family, start_key, limit_key, &CompactRangeOptions::default())?;
    }

    fn rocksdb_compact_range_opt(
        db: at rocksdb_t, options: at rocksdb_compactoptions_t, start_key: bound, limit_key: bound
    ) {
        options.rejected.check()?;
        db.db()?.compactions().compact_range(&*db.default_family()?, start_key, limit_key, &options.options)?;
    }

    fn rocksdb_compact_range_cf_opt(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, options: at rocksdb_compactoptions_t,
        start_key: bound, limit_key: bound
    ) {
        options.rejected.check()?;
        db.db()?.compactions().compact_range(&*db.family(column_family)?, start_key, limit_key, &options.options)?;
    }

    /// Marks the SST files of a range for a compaction in the background.
    fn rocksdb_suggest_compact_range(db: at rocksdb_t, start_key: bound, limit_key: bound, err) {
        db.db()?.compactions().suggest_compact_range(&*db.default_family()?, start_key, limit_key)
    }

    fn rocksdb_suggest_compact_range_cf(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, start_key: bound, limit_key: bound, err
    ) {
        db.db()?.compactions().suggest_compact_range(&*db.family(column_family)?, start_key, limit_key)
    }

    /// Compacts SST files to a level. Returns the paths of the output files; free the list with
    /// `rocksdb_compact_files_output_file_names_destroy`. If `output_path_id` is negative, the options choose the path. Null options: the
    /// default options.
    fn rocksdb_compact_files(
        db: at rocksdb_t, options: inmaybe rocksdb_compaction_options_t,
        input_file_names: raw(*const *const c_char), num_input_file_names: usize, output_level: i32,
        output_path_id: i32, output_file_names: raw(*mut *mut *mut c_char), num_output_file_names: out usize,
        compaction_job_info: raw(*mut rocksdb_compactionjobinfo_t), err
    ) {
        // SAFETY: the header requires `num_input_file_names` names, and null or a writable place for the output.
        let (names, output) = unsafe {
            (super::open::paths(input_file_names, num_input_file_names)?, Out::new(output_file_names))
        };
        let files = Files { family: &*db.default_family()?, options, names, output_level, output_path_id };
        return_names(&files.compact(db, compaction_job_info)?, &output, &num_output_file_names);
        Ok(())
    }

    /// Works like `rocksdb_compact_files`. Null column family: the default column family.
    fn rocksdb_compact_files_cf(
        db: at rocksdb_t, column_family: maybe rocksdb_column_family_handle_t,
        options: inmaybe rocksdb_compaction_options_t, input_file_names: raw(*const *const c_char),
        num_input_file_names: usize, output_level: i32, output_path_id: i32,
        output_file_names: raw(*mut *mut *mut c_char), num_output_file_names: out usize,
        compaction_job_info: raw(*mut rocksdb_compactionjobinfo_t), err
    ) {
        // SAFETY: the header requires `num_input_file_names` names, and null or a writable place for the output.
        let (names, output) = unsafe {
            (super::open::paths(input_file_names, num_input_file_names)?, Out::new(output_file_names))
        };
        let family = &*column_family.map_or_else(|| db.default_family(), |family| db.family(family))?;
        let files = Files { family, options, names, output_level, output_path_id };
        return_names(&files.compact(db, compaction_job_info)?, &output, &num_output_file_names);
        Ok(())
    }

    fn rocksdb_compact_files_output_file_names_destroy(
        output_file_names: raw(*mut *mut c_char), num_output_file_names: usize
    ) {
        // SAFETY: the header requires a list and its length from `rocksdb_compact_files`, not freed before.
        unsafe { super::open::free_list(output_file_names, num_output_file_names)? };
    }

    /// Deletes each SST file whose keys are all between two keys. Keys of the range in other SST files are not deleted.
    fn rocksdb_delete_file_in_range(db: at rocksdb_t, start_key: bound, limit_key: bound, err) {
        delete_files(db, &*db.default_family()?, start_key, limit_key)
    }

    fn rocksdb_delete_file_in_range_cf(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, start_key: bound, limit_key: bound, err
    ) {
        delete_files(db, &*db.family(column_family)?, start_key, limit_key)
    }

    /// Cancels manual compactions and rejects new ones until `rocksdb_enable_manual_compaction`.
    fn rocksdb_disable_manual_compaction(db: at rocksdb_t) {
        db.db()?.compactions().disable_manual()?;
    }

    fn rocksdb_enable_manual_compaction(db: at rocksdb_t) {
        db.db()?.compactions().enable_manual()?;
    }

    /// Stops all running compactions. No compaction starts until `rocksdb_resume_all_compactions` is called.
    fn rocksdb_abort_all_compactions(db: at rocksdb_t) {
        db.db()?.compactions().abort_all()?;
    }

    fn rocksdb_resume_all_compactions(db: at rocksdb_t) {
        db.db()?.compactions().resume_all()?;
    }

    /// Stops background work before the database is closed. Later flushes and compactions fail. Later writes fail if they must
    /// wait for a flush or a compaction. If `wait` is not 0, the call waits for running jobs.
    fn rocksdb_cancel_all_background_work(db: at rocksdb_t, wait: flag) {
        db.db()?.background().cancel_all(wait)?;
    }

    /// Waits until no flush and no compaction is running or pending.
    fn rocksdb_wait_for_compact(db: at rocksdb_t, options: at rocksdb_wait_for_compact_options_t, err) {
        options.rejected.check()?;
        let options: &WaitForCompactOptions = &options.options;
        db.db()?.background().wait_for_compact_with(options)
    }
}
