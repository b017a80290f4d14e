//! Options of calls: `ReadOptions`, `WriteOptions`, `FlushOptions`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base::{Error, Result};
use engine::options::{FlushOptions, ReadOptions, WriteOptions};
use engine::sequence::Snapshot;
use env::sync::Mutex;

use crate::fault::Outcome;
use crate::field::Field;
use crate::handle::Handle;
use crate::native::{disposers, natives, rows};
use crate::slice::SliceObject;

/// `ReadOptions`. Java passes bounds and timestamps as slices. The options keep copies of their bytes.
#[derive(Clone, Default)]
pub struct ReadObject {
    /// All options except the snapshot.
    pub options: ReadOptions,
    /// The snapshot of reads; null: reads see the newest entries. The program owns the snapshot: these options do not keep it.
    snapshot: Handle,
    /// Has no effect, as in RocksDB. Stored for the getter of the releases before 11.
    managed: bool,
    upper_bound: Shown,
    lower_bound: Shown,
    timestamp: Shown,
    iter_start_ts: Shown,
}

impl ReadObject {
    /// Returns the options for a read.
    ///
    /// # Errors
    /// InvalidArgument if the snapshot was released.
    #[inline]
    pub fn get(&self) -> Result<Cow<'_, ReadOptions>> {
        if self.snapshot.is_null() {
            return Ok(Cow::Borrowed(&self.options));
        }
        let released = |_| Error::invalid_argument("the snapshot of the read options was released");
        let snapshot = self.snapshot.shared::<Arc<Snapshot>>().map_err(released)?.clone();
        Ok(Cow::Owned(ReadOptions { snapshot: Some(snapshot), ..self.options.clone() }))
    }
}

/// The handle that a getter returned. The Java object of a getter does not close its handle, so the options own the handle: the
/// next setter of the value, or the close of the options, closes the handle.
#[derive(Default)]
struct Shown(Mutex<Handle>);

impl Shown {
    /// Returns the handle. The first call makes the handle. Returns the null handle for `None`.
    fn get<T: Send + Sync + 'static>(&self, object: Option<T>) -> Handle {
        let mut shown = self.0.lock();
        if let (Some(object), false) = (object, shown.is_live()) {
            *shown = Handle::new(object);
        }
        *shown
    }
}

impl Clone for Shown {
    /// Returns an empty value: a copy of options shows its own handles.
    fn clone(&self) -> Self {
        Shown::default()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.lock().close();
    }
}

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
    WriteOptions [WriteOptions] |o|;
    setSync sync: bool => o.sync;
    setDisableWAL disableWAL: bool => o.disableWAL;
    setIgnoreMissingColumnFamilies ignoreMissingColumnFamilies: bool => o.ignore_missing_column_families;
    setNoSlowdown noSlowdown: bool => o.no_slowdown;
    setLowPri lowPri: bool => o.low_pri;
    setMemtableInsertHintPerBatch memtableInsertHintPerBatch: bool => o.memtable_insert_hint_per_batch;
}

rows! {
    FlushOptions [FlushOptions] |o|;
    setWaitForFlush waitForFlush: bool => o.wait;
    setAllowWriteStall allowWriteStall: bool => o.allow_write_stall;
    setListenerWait listenerWait: bool => o.listener_wait;
}

disposers! {
    ReadOptions: ReadObject;
    WriteOptions: WriteOptions;
    FlushOptions: FlushOptions;
}

/// Returns a copy of the bytes of a slice. Returns `None` for the null handle.
fn slice(handle: Handle) -> Outcome<Option<Vec<u8>>> {
    if handle.is_null() {
        return Ok(None);
    }
    Ok(Some(handle.shared::<SliceObject>()?.bytes().to_vec()))
}

/// Returns the handle of a slice with a copy of the bytes. Returns the null handle for `None`.
fn show(shown: &Shown, bytes: Option<&Vec<u8>>) -> Handle {
    shown.get(bytes.map(|bytes| SliceObject::copied(bytes.clone())))
}

/// Replaces the bytes of an option, and closes the handle that the getter of the option returned.
fn set_slice(
    options: Handle,
    bytes: Handle,
    place: impl FnOnce(&mut ReadObject) -> (&mut Option<Vec<u8>>, &mut Shown),
) -> Outcome<()> {
    let bytes = slice(bytes)?;
    let mut options = options.exclusive::<ReadObject>()?;
    let (option, shown) = place(&mut options);
    *option = bytes;
    *shown = Shown::default();
    Ok(())
}

natives! {
    fn ReadOptions_newReadOptions__[_]() -> Handle {
        Handle::new(ReadObject::default())
    }

    fn ReadOptions_newReadOptions__ZZ[_](verify_checksums: bool, fill_cache: bool) -> Handle {
        let options = ReadOptions { verify_checksums, fill_cache, ..ReadOptions::default() };
        Handle::new(ReadObject { options, ..ReadObject::default() })
    }

    fn ReadOptions_copyReadOptions[_](options: Handle) -> Handle {
        Handle::new(ReadObject::clone(&*options.shared::<ReadObject>()?))
    }

    /// Sets the snapshot of reads. The options do not keep the snapshot: after its release, a read with these options fails, until
    /// another snapshot is set. The handle 0: reads see the newest entries.
    fn ReadOptions_setSnapshot[_](options: Handle, snapshot: Handle) {
        if !snapshot.is_null() {
            snapshot.shared::<Arc<Snapshot>>()?;
        }
        options.exclusive::<ReadObject>()?.snapshot = snapshot;
    }

    /// Returns the handle of the snapshot. Returns 0 without a snapshot, and after the release of the snapshot.
    fn ReadOptions_snapshot[_](options: Handle) -> Handle {
        let snapshot = options.shared::<ReadObject>()?.snapshot;
        if snapshot.is_live() { snapshot } else { Handle::NULL }
    }

    fn ReadOptions_setIterateUpperBound[_](options: Handle, key: Handle) {
        set_slice(options, key, |o| (&mut o.options.iterate_upper_bound, &mut o.upper_bound))?;
    }

    fn ReadOptions_iterateUpperBound[_](options: Handle) -> Handle {
        let options = options.shared::<ReadObject>()?;
        show(&options.upper_bound, options.options.iterate_upper_bound.as_ref())
    }

    fn ReadOptions_setIterateLowerBound[_](options: Handle, key: Handle) {
        set_slice(options, key, |o| (&mut o.options.iterate_lower_bound, &mut o.lower_bound))?;
    }

    fn ReadOptions_iterateLowerBound[_](options: Handle) -> Handle {
        let options = options.shared::<ReadObject>()?;
        show(&options.lower_bound, options.options.iterate_lower_bound.as_ref())
    }

    fn ReadOptions_setTimestamp[_](options: Handle, timestamp: Handle) {
        set_slice(options, timestamp, |o| (&mut o.options.timestamp, &mut o.timestamp))?;
    }

    fn ReadOptions_timestamp[_](options: Handle) -> Handle {
        let options = options.shared::<ReadObject>()?;
        show(&options.timestamp, options.options.timestamp.as_ref())
    }

    fn ReadOptions_setIterStartTs[_](options: Handle, timestamp: Handle) {
        set_slice(options, timestamp, |o| (&mut o.options.iter_start_ts, &mut o.iter_start_ts))?;
    }

    fn ReadOptions_iterStartTs[_](options: Handle) -> Handle {
        let options = options.shared::<ReadObject>()?;
        show(&options.iter_start_ts, options.options.iter_start_ts.as_ref())
    }

    fn WriteOptions_newWriteOptions[_]() -> Handle {
        Handle::new(WriteOptions::default())
    }

    fn WriteOptions_copyWriteOptions[_](options: Handle) -> Handle {
        Handle::new(WriteOptions::clone(&*options.shared::<WriteOptions>()?))
    }

    fn FlushOptions_newFlushOptions[_]() -> Handle {
        Handle::new(FlushOptions::default())
    }
}
