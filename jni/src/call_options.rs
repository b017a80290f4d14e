//! Options of calls: `ReadOptions`, `WriteOptions`, `FlushOptions`.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base::{Error, Result};
use engine::options::{FlushOptions, ReadOptions, WriteOptions};
use engine::sequence::Snapshot;
use env::sync::Mutex;

use crate::fault::Outcome;
use crate::field::Field;
use crate::handle::{Exclusive, Handle, Shared};
use crate::native::{Argument, Reach, disposers, natives, rows};
use crate::slice::SliceObject;
use crate::untouched::{self, Live};

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

/// The handle of a `ReadOptions`: of an object, or of [`untouched`] options.
#[derive(Clone, Copy)]
pub struct ReadHandle(Handle);

/// The options of all untouched handles.
static UNTOUCHED: LazyLock<ReadObject> = LazyLock::new(ReadObject::default);

/// Shared use of read options.
pub enum ReadGuard {
    Untouched(&'static ReadObject),
    Object(Shared<ReadObject>),
}

impl Deref for ReadGuard {
    type Target = ReadObject;

    #[inline]
    fn deref(&self) -> &ReadObject {
        match self {
            ReadGuard::Untouched(options) => options,
            ReadGuard::Object(options) => options,
        }
    }
}

impl Argument for ReadHandle {
    type Raw = Handle;

    #[inline]
    fn from_raw(raw: Handle) -> ReadHandle {
        ReadHandle(raw)
    }
}

impl ReadHandle {
    /// The handle of no object: natives of reads without `ReadOptions` use the defaults.
    pub const NULL: ReadHandle = ReadHandle(Handle::NULL);

    /// Uses the options together with other users.
    ///
    /// # Errors
    /// IllegalStateException if this is not the handle of open `ReadOptions`.
    #[inline]
    pub fn shared(self) -> Outcome<ReadGuard> {
        let object = match untouched::is_compact(self.0) {
            false => self.0,
            true => match untouched::live(self.0)? {
                Live::Untouched => return Ok(ReadGuard::Untouched(&UNTOUCHED)),
                Live::Touched(object) => object,
            },
        };
        Ok(ReadGuard::Object(object.shared()?))
    }

    /// Uses the options exclusively, for a change. Makes the object of untouched options.
    ///
    /// # Errors
    /// The errors of [`Self::shared`].
    pub fn exclusive(self) -> Outcome<Exclusive<ReadObject>> {
        let object = match untouched::is_compact(self.0) {
            false => self.0,
            true => untouched::touch(self.0, || Handle::new(ReadObject::default()))?,
        };
        Ok(object.exclusive()?)
    }

    /// Calls a function with the options. Without options, calls the function with the defaults.
    ///
    /// # Errors
    /// The errors of [`Self::shared`], of [`ReadObject::get`], and of the function.
    #[inline]
    pub fn read<R>(self, call: impl FnOnce(&ReadOptions) -> Outcome<R>) -> Outcome<R> {
        if self.0.is_null() {
            return call(&UNTOUCHED.options);
        }
        call(&*self.shared()?.get()?)
    }

    /// Returns true without options.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    fn close(self) {
        match untouched::is_compact(self.0) {
            false => self.0.close_as::<ReadObject>(),
            true => untouched::close(self.0),
        }
    }
}

impl Reach<ReadObject> for ReadHandle {
    type Shared = ReadGuard;

    #[inline]
    fn reach(self) -> Outcome<ReadGuard> {
        self.shared()
    }

    #[inline]
    fn reach_to_change(self) -> Outcome<Exclusive<ReadObject>> {
        self.exclusive()
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
    ReadObject by ReadHandle [ReadOptions] |o| of ReadOptions (o.options);
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
    WriteOptions [WriteOptions] |o| of WriteOptions (*o);
    setSync sync: bool => o.sync;
    setDisableWAL disableWAL: bool => o.disableWAL;
    setIgnoreMissingColumnFamilies ignoreMissingColumnFamilies: bool => o.ignore_missing_column_families;
    setNoSlowdown noSlowdown: bool => o.no_slowdown;
    setLowPri lowPri: bool => o.low_pri;
    setMemtableInsertHintPerBatch memtableInsertHintPerBatch: bool => o.memtable_insert_hint_per_batch;
}

rows! {
    FlushOptions [FlushOptions] |o| of FlushOptions (*o);
    setWaitForFlush waitForFlush: bool => o.wait;
    setAllowWriteStall allowWriteStall: bool => o.allow_write_stall;
    setListenerWait listenerWait: bool => o.listener_wait;
}

disposers! {
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
    options: ReadHandle,
    bytes: Handle,
    place: impl FnOnce(&mut ReadObject) -> (&mut Option<Vec<u8>>, &mut Shown),
) -> Outcome<()> {
    let bytes = slice(bytes)?;
    let mut options = options.exclusive()?;
    let (option, shown) = place(&mut options);
    *option = bytes;
    *shown = Shown::default();
    Ok(())
}

natives! {
    /// Makes no object: see [`untouched`].
    fn ReadOptions_newReadOptions__[_]() -> Handle {
        untouched::new()
    }

    fn ReadOptions_disposeInternal | ReadOptions_disposeInternalJni[_](options: ReadHandle) {
        options.close();
    }

    fn ReadOptions_newReadOptions__ZZ[_](verify_checksums: bool, fill_cache: bool) -> Handle {
        let options = ReadOptions { verify_checksums, fill_cache, ..ReadOptions::default() };
        Handle::new(ReadObject { options, ..ReadObject::default() })
    }

    fn ReadOptions_copyReadOptions[_](options: ReadHandle) -> Handle {
        match options.shared()? {
            ReadGuard::Untouched(_) => untouched::new(),
            ReadGuard::Object(object) => Handle::new(ReadObject::clone(&object)),
        }
    }

    /// Sets the snapshot of reads. The options do not keep the snapshot: after its release, a read with these options fails, until
    /// another snapshot is set. The handle 0: reads see the newest entries.
    fn ReadOptions_setSnapshot[_](options: ReadHandle, snapshot: Handle) {
        if !snapshot.is_null() {
            snapshot.shared::<Arc<Snapshot>>()?;
        }
        options.exclusive()?.snapshot = snapshot;
    }

    /// Returns the handle of the snapshot. Returns 0 without a snapshot, and after the release of the snapshot.
    fn ReadOptions_snapshot[_](options: ReadHandle) -> Handle {
        let snapshot = options.shared()?.snapshot;
        if snapshot.is_live() { snapshot } else { Handle::NULL }
    }

    fn ReadOptions_setIterateUpperBound[_](options: ReadHandle, key: Handle) {
        set_slice(options, key, |o| (&mut o.options.iterate_upper_bound, &mut o.upper_bound))?;
    }

    fn ReadOptions_iterateUpperBound[_](options: ReadHandle) -> Handle {
        let options = options.shared()?;
        show(&options.upper_bound, options.options.iterate_upper_bound.as_ref())
    }

    fn ReadOptions_setIterateLowerBound[_](options: ReadHandle, key: Handle) {
        set_slice(options, key, |o| (&mut o.options.iterate_lower_bound, &mut o.lower_bound))?;
    }

    fn ReadOptions_iterateLowerBound[_](options: ReadHandle) -> Handle {
        let options = options.shared()?;
        show(&options.lower_bound, options.options.iterate_lower_bound.as_ref())
    }

    fn ReadOptions_setTimestamp[_](options: ReadHandle, timestamp: Handle) {
        set_slice(options, timestamp, |o| (&mut o.options.timestamp, &mut o.timestamp))?;
    }

    fn ReadOptions_timestamp[_](options: ReadHandle) -> Handle {
        let options = options.shared()?;
        show(&options.timestamp, options.options.timestamp.as_ref())
    }

    fn ReadOptions_setIterStartTs[_](options: ReadHandle, timestamp: Handle) {
        set_slice(options, timestamp, |o| (&mut o.options.iter_start_ts, &mut o.iter_start_ts))?;
    }

    fn ReadOptions_iterStartTs[_](options: ReadHandle) -> Handle {
        let options = options.shared()?;
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
