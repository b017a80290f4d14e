//! Options of calls: `ReadOptions`, `WriteOptions`, `FlushOptions`.

use std::time::Duration;

use engine::options::{FlushOptions, ReadOptions, WriteOptions};

use crate::db::SnapshotObject;
use crate::field::Field;
use crate::handle::Handle;
use crate::native::{disposers, natives, rows};
use crate::parts::SliceObject;

/// `ReadOptions`. Java passes bounds and timestamps as slices. The options keep copies of their bytes.
#[derive(Clone, Default)]
pub struct ReadObject {
    pub options: ReadOptions,
    /// Has no effect, as in RocksDB. Stored for the getter of the releases before 11.
    managed: bool,
}

/// `WriteOptions`.
#[derive(Clone, Default)]
pub struct WriteObject(pub WriteOptions);

/// `FlushOptions`.
#[derive(Clone, Default)]
pub struct FlushObject(pub FlushOptions);

impl Field<i64> for Duration {
    fn load(&self) -> i64 {
        i64::try_from(self.as_micros()).unwrap_or(i64::MAX)
    }

    fn store(&mut self, value: i64) -> bool {
        *self = Duration::from_micros(u64::try_from(value).unwrap_or(0));
        true
    }
}

rows! {
    ReadObject [ReadOptions] |o|;
    setVerifyChecksums verifyChecksums: bool => o.options.verify_checksums;
    setFillCache fillCache: bool => o.options.fill_cache;
    setReadTier readTier: i8 => o.options.read_tier;
    setTailing tailing: bool => o.options.tailing;
    setManaged managed: bool => o.managed;
    setTotalOrderSeek totalOrderSeek: bool => o.options.total_order_seek;
    setPrefixSameAsStart prefixSameAsStart: bool => o.options.prefix_same_as_start;
    setPinData pinData: bool => o.options.pin_data;
    setBackgroundPurgeOnIteratorCleanup backgroundPurgeOnIteratorCleanup: bool => o.options.background_purge_on_iterator_cleanup;
    setReadaheadSize readaheadSize: i64 => o.options.readahead_size;
    setMaxSkippableInternalKeys maxSkippableInternalKeys: i64 => o.options.max_skippable_internal_keys;
    setIgnoreRangeDeletions ignoreRangeDeletions: bool => o.options.ignore_range_deletions;
    setAutoPrefixMode autoPrefixMode: bool => o.options.auto_prefix_mode;
    setDeadline deadline: i64 => o.options.deadline;
    setIoTimeout ioTimeout: i64 => o.options.io_timeout;
    setValueSizeSoftLimit valueSizeSoftLimit: i64 => o.options.value_size_soft_limit;
    setAsyncIo asyncIo: bool => o.options.async_io;
}

rows! {
    WriteObject [WriteOptions] |o|;
    setSync sync: bool => o.0.sync;
    setDisableWAL disableWAL: bool => o.0.disableWAL;
    setIgnoreMissingColumnFamilies ignoreMissingColumnFamilies: bool => o.0.ignore_missing_column_families;
    setNoSlowdown noSlowdown: bool => o.0.no_slowdown;
    setLowPri lowPri: bool => o.0.low_pri;
    setMemtableInsertHintPerBatch memtableInsertHintPerBatch: bool => o.0.memtable_insert_hint_per_batch;
}

rows! {
    FlushObject [FlushOptions] |o|;
    setWaitForFlush waitForFlush: bool => o.0.wait;
    setAllowWriteStall allowWriteStall: bool => o.0.allow_write_stall;
    setListenerWait listenerWait: bool => o.0.listener_wait;
}

disposers! {
    ReadOptions: ReadObject;
    WriteOptions: WriteObject;
    FlushOptions: FlushObject;
}

/// Returns a copy of the bytes of a slice. Returns `None` for the null handle.
fn slice(handle: Handle) -> crate::fault::Outcome<Option<Vec<u8>>> {
    if handle.is_null() {
        return Ok(None);
    }
    Ok(Some(handle.shared::<SliceObject>()?.bytes().to_vec()))
}

/// Makes a slice with a copy of the bytes, for a getter. Returns the null handle for `None`.
fn shown(bytes: Option<&Vec<u8>>) -> Handle {
    bytes.map_or(Handle::NULL, |bytes| Handle::new(SliceObject::copied(bytes.clone())))
}

natives! {
    fn ReadOptions_newReadOptions__[_]() -> Handle {
        Handle::new(ReadObject::default())
    }

    fn ReadOptions_newReadOptions__ZZ[_](verify_checksums: bool, fill_cache: bool) -> Handle {
        let options = ReadOptions { verify_checksums, fill_cache, ..ReadOptions::default() };
        Handle::new(ReadObject { options, managed: false })
    }

    fn ReadOptions_copyReadOptions[_](options: Handle) -> Handle {
        Handle::new(ReadObject::clone(&*options.shared::<ReadObject>()?))
    }

    fn ReadOptions_setSnapshot[_](options: Handle, snapshot: Handle) {
        let snapshot = match snapshot.is_null() {
            true => None,
            false => snapshot.shared::<SnapshotObject>()?.0.clone(),
        };
        options.exclusive::<ReadObject>()?.options.snapshot = snapshot;
    }

    /// Returns a new handle of the snapshot, or 0.
    fn ReadOptions_snapshot[_](options: Handle) -> Handle {
        let snapshot = options.shared::<ReadObject>()?.options.snapshot.clone();
        snapshot.map_or(Handle::NULL, |snapshot| Handle::new(SnapshotObject(Some(snapshot))))
    }

    fn ReadOptions_setIterateUpperBound[_](options: Handle, key: Handle) {
        let key = slice(key)?;
        options.exclusive::<ReadObject>()?.options.iterate_upper_bound = key;
    }

    fn ReadOptions_iterateUpperBound[_](options: Handle) -> Handle {
        shown(options.shared::<ReadObject>()?.options.iterate_upper_bound.as_ref())
    }

    fn ReadOptions_setIterateLowerBound[_](options: Handle, key: Handle) {
        let key = slice(key)?;
        options.exclusive::<ReadObject>()?.options.iterate_lower_bound = key;
    }

    fn ReadOptions_iterateLowerBound[_](options: Handle) -> Handle {
        shown(options.shared::<ReadObject>()?.options.iterate_lower_bound.as_ref())
    }

    fn ReadOptions_setTimestamp[_](options: Handle, timestamp: Handle) {
        let timestamp = slice(timestamp)?;
        options.exclusive::<ReadObject>()?.options.timestamp = timestamp;
    }

    fn ReadOptions_timestamp[_](options: Handle) -> Handle {
        shown(options.shared::<ReadObject>()?.options.timestamp.as_ref())
    }

    fn ReadOptions_setIterStartTs[_](options: Handle, timestamp: Handle) {
        let timestamp = slice(timestamp)?;
        options.exclusive::<ReadObject>()?.options.iter_start_ts = timestamp;
    }

    fn ReadOptions_iterStartTs[_](options: Handle) -> Handle {
        shown(options.shared::<ReadObject>()?.options.iter_start_ts.as_ref())
    }

    fn WriteOptions_newWriteOptions[_]() -> Handle {
        Handle::new(WriteObject::default())
    }

    fn WriteOptions_copyWriteOptions[_](options: Handle) -> Handle {
        Handle::new(WriteObject::clone(&*options.shared::<WriteObject>()?))
    }

    fn FlushOptions_newFlushOptions[_]() -> Handle {
        Handle::new(FlushObject::default())
    }
}
