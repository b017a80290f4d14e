//! Options that are passed to a call: to reads, writes, flushes, compactions and ingestions.

use crate::db::DBAccess;
use crate::{BottommostLevelCompaction, Error, IterateBounds, ReadTier, SnapshotWithThreadMode};

use super::place::{Rejected, setters};

/// Options of writes.
#[derive(Default)]
pub struct WriteOptions {
    pub(crate) inner: ironstone::WriteOptions,
    rejected: Rejected,
}

impl WriteOptions {
    /// Returns the default options.
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }
}

setters! {
    WriteOptions, |o|;
    set_sync(bool) => inner.sync;
    disable_wal(bool) => inner.disableWAL;
    set_ignore_missing_column_families(bool) => inner.ignore_missing_column_families;
    set_no_slowdown(bool) => inner.no_slowdown;
    set_low_pri(bool) => inner.low_pri;
    set_memtable_insert_hint_per_batch(bool) => inner.memtable_insert_hint_per_batch;
}

/// Options of flushes.
#[derive(Default)]
pub struct FlushOptions {
    pub(crate) inner: ironstone::FlushOptions,
    rejected: Rejected,
}

impl FlushOptions {
    /// Returns the default options.
    pub fn new() -> FlushOptions {
        FlushOptions::default()
    }
}

setters! {
    FlushOptions, |o|;
    set_wait(bool) => inner.wait;
}

/// Options of reads.
#[derive(Default)]
pub struct ReadOptions {
    pub(crate) inner: ironstone::ReadOptions,
    rejected: Rejected,
}

setters! {
    ReadOptions, |o|;
    fill_cache(bool) => inner.fill_cache;
    set_read_tier(ReadTier) => inner.read_tier;
    set_prefix_same_as_start(bool) => inner.prefix_same_as_start;
    set_total_order_seek(bool) => inner.total_order_seek;
    set_max_skippable_internal_keys(u64) => inner.max_skippable_internal_keys;
    set_background_purge_on_iterator_cleanup(bool) => inner.background_purge_on_iterator_cleanup;
    set_verify_checksums(bool) => inner.verify_checksums;
    set_readahead_size(usize) => inner.readahead_size;
    set_auto_readahead_size(bool) => inner.auto_readahead_size;
    set_deadline(u64) => inner.deadline;
    set_io_timeout(u64) => inner.io_timeout;
    set_tailing(bool) => inner.tailing;
    set_pin_data(bool) => inner.pin_data;
    set_async_io(bool) => inner.async_io;
}

impl ReadOptions {
    /// # Errors
    /// InvalidArgument for the first option with a value that the option cannot have.
    pub(crate) fn get(&self) -> Result<&ironstone::ReadOptions, Error> {
        self.rejected.check()?;
        Ok(&self.inner)
    }

    /// Sets the snapshot of reads. The options hold a reference to the snapshot.
    pub fn set_snapshot<D: DBAccess>(&mut self, snapshot: &SnapshotWithThreadMode<D>) {
        snapshot.apply(&mut self.inner);
    }

    /// Sets the lower bound of iterators: iterators return no key before this key.
    pub fn set_iterate_lower_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.inner.iterate_lower_bound = Some(key.into());
    }

    /// Sets the upper bound of iterators: iterators return only keys before this key.
    pub fn set_iterate_upper_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.inner.iterate_upper_bound = Some(key.into());
    }

    /// Sets both bounds of iterators. If the range has no bound on a side, removes the bound of this side.
    pub fn set_iterate_range(&mut self, range: impl IterateBounds) {
        (self.inner.iterate_lower_bound, self.inner.iterate_upper_bound) = range.into_bounds();
    }

    /// Sets whether reads ignore range tombstones. Default: false.
    #[deprecated(note = "deprecated in RocksDB 10.2.1, no performance impact if DeleteRange is not used")]
    pub fn set_ignore_range_deletions(&mut self, v: bool) {
        self.inner.ignore_range_deletions = v;
    }

    /// Sets the timestamp of reads. Reads ignore entries with a newer timestamp.
    pub fn set_timestamp<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.inner.timestamp = Some(ts.into());
    }

    /// Sets the oldest timestamp of iterators. An iterator then returns each entry of a key whose timestamp is between this
    /// timestamp and the timestamp of the read, instead of the newest entry only.
    pub fn set_iter_start_ts<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.inner.iter_start_ts = Some(ts.into());
    }
}

/// Options of ingestions.
#[derive(Default)]
pub struct IngestExternalFileOptions {
    pub(crate) inner: ironstone::IngestExternalFileOptions,
    rejected: Rejected,
}

setters! {
    IngestExternalFileOptions, |o|;
    set_move_files(bool) => inner.move_files;
    set_snapshot_consistency(bool) => inner.snapshot_consistency;
    set_allow_global_seqno(bool) => inner.allow_global_seqno;
    set_allow_blocking_flush(bool) => inner.allow_blocking_flush;
    set_ingest_behind(bool) => inner.ingest_behind;
}

/// Options of manual compactions.
#[derive(Default)]
pub struct CompactOptions {
    pub(crate) inner: ironstone::CompactRangeOptions,
    rejected: Rejected,
}

setters! {
    CompactOptions, |o|;
    set_exclusive_manual_compaction(bool) => inner.exclusive_manual_compaction;
    set_bottommost_level_compaction(BottommostLevelCompaction) => inner.bottommost_level_compaction;
    set_change_level(bool) => inner.change_level;
    set_target_level(i32) => inner.target_level;
}

impl CompactOptions {
    /// Sets `full_history_ts_low` before the compaction. The compaction may drop an entry whose timestamp is below it if the key
    /// has a newer entry below it.
    pub fn set_full_history_ts_low<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.inner.full_history_ts_low = Some(ts.into());
    }

    /// # Errors
    /// InvalidArgument for the first option with a value that the option cannot have.
    pub(crate) fn get(&self) -> Result<&ironstone::CompactRangeOptions, Error> {
        self.rejected.check()?;
        Ok(&self.inner)
    }
}

/// Options of `wait_for_compact`.
#[derive(Default)]
pub struct WaitForCompactOptions {
    pub(crate) inner: ironstone::WaitForCompactOptions,
    rejected: Rejected,
}

setters! {
    WaitForCompactOptions, |o|;
    set_abort_on_pause(bool) => inner.abort_on_pause;
    set_flush(bool) => inner.flush;
    set_timeout(u64) => inner.timeout;
}
