//! Column families. Each has its own memtables and its own versions; all share the WALs and the sequence numbers.
//!
//! ```text
//!  readers ── pin (no lock) ──► SuperVersion { mem, immutable, version } ◄── install, under the state lock
//!  writers ── the leader's own view of the active memtable
//!  jobs    ── state lock: immutable memtables, WAL number, next epoch number
//! ```
//! Invariant: the installed super version always holds every entry that is visible, unless compaction has dropped
//! the entry. A memtable leaves the immutable memtables in the same step that adds its SST file to the version.

pub mod blob_cache;
mod charges;
mod check_read;
mod conversions;
mod deleted_places;
pub mod empty_ranges;
mod era;
mod flush_pace;
mod parts;
mod resolve;
mod set;
mod state;
mod super_version;
#[cfg(test)]
mod tests;
mod unannounced;

pub use conversions::{Conversions, NoConversions};
pub use deleted_places::{DeletedPlaces, TOMBSTONES_PER_PLACE};
pub use empty_ranges::EmptyRanges;
pub(crate) use era::Last;
pub use era::{Era, EraReader};
pub use flush_pace::{FlushPace, FlushProgress};
pub use parts::{Caches, Parts, ScanSettings, UserCode};
pub use resolve::{pick_options, write_times_kept_s};
pub use set::FamilySet;
pub use state::{Charge, FlushPick, ImmutableMemtable, OwnImmutable, State};
pub use super_version::SuperVersion;
pub(crate) use super_version::timestamp_text;
pub use unannounced::Unannounced;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use base::key::{self, InternalOrder};
use base::{Error, FamilyId, Result, WalNumber};
use lsm::version::Version;
use mem::memtable::MemTable;
use mem::write_buffer::WriteBufferManager;

use crate::options::FamilyOptions;
use crate::ranks;
use crate::release_notifier::{NotifyOnDrop, ReleaseNotifier};
use crate::stats::FamilyStats;
use crate::sync::{
    Arc, ArcSwap, AtomicBool, AtomicUsize, Mutex, OnceLock, Ordering, RankedGuard, RankedMutex,
};

/// The name of the column family with the history of the statistics (`persist_stats_to_disk`). The application must not
/// use this name.
pub const STATS_FAMILY: &str = "___rocksdb_stats_history___";

/// One column family of an open database. Handles, jobs and readers share it. It lives until the last of them drops
/// it, also if the column family is dropped from the database.
pub struct Family {
    id: FamilyId,
    name: String,
    order: InternalOrder,
    options: ArcSwap<FamilyOptions>,
    parts: ArcSwap<Parts>,
    current: ArcSwap<SuperVersion>,
    state: RankedMutex<State>,
    dropped: AtomicBool,
    /// True from the first write with `disableWAL` on.
    unlogged: AtomicBool,
    /// The memtable ids of flushes whose memtables are in SST files, and whose listeners were not all called yet.
    unannounced: Mutex<Vec<RangeInclusive<u64>>>,
    /// Bytes of the active memtable that were reported to the write buffer manager.
    charged: AtomicUsize,
    /// The write buffer manager that received the reservation of `charged`, after the first entry.
    buffers: OnceLock<Arc<WriteBufferManager>>,
    release_notifier: Arc<ReleaseNotifier>,
    /// The key ranges in which scans found no key.
    empty_ranges: Arc<EmptyRanges>,
    conversions: Conversions,
    flush_pace: FlushPace,
    /// The places where a job looks for key ranges without keys.
    deleted_places: DeletedPlaces,
    /// The statistics of the jobs of the column family.
    pub stats: FamilyStats,
    /// The last version of a dropped column family is released with the last handle, after the last super version.
    _notify: NotifyOnDrop,
}

impl Family {
    /// Makes a column family with a recovered version and an empty memtable.
    pub fn new(
        id: FamilyId,
        name: String,
        options: Arc<FamilyOptions>,
        parts: Arc<Parts>,
        version: Arc<Version>,
        mem: Arc<MemTable>,
        wal_number: WalNumber,
        release_notifier: Arc<ReleaseNotifier>,
    ) -> Arc<Self> {
        let order = version.order().clone();
        base::invariant!(
            mem.is_empty(),
            "column family {name} begins with a memtable of {} bytes",
            mem.memory_used()
        );
        base::invariant!(
            version.order().user.name() == parts.order.name(),
            "column family {name} is ordered by {}, and its version by {}",
            parts.order.name(),
            version.order().user.name()
        );
        let history_bytes_max = parts.history_bytes_max;
        // Epoch number 1 belongs to files that are ingested behind existing data.
        let next_epoch = version.next_epoch().max(parts.first_epoch());
        let state = State::new(mem, version, wal_number, next_epoch, history_bytes_max);
        let first = SuperVersion::new(
            1,
            state.mem.clone(),
            [Arc::from([]), Arc::from([])],
            state.version.clone(),
            parts.clone(),
            state.era.clone(),
            release_notifier.clone(),
        );
        let empty_ranges = Arc::new(EmptyRanges::default());
        empty_ranges.installed(1);
        Arc::new(Family {
            id,
            name,
            order,
            options: ArcSwap::new(options),
            parts: ArcSwap::new(parts),
            current: ArcSwap::from_pointee(first),
            state: RankedMutex::new(&ranks::FAMILY, state),
            dropped: AtomicBool::new(false),
            unlogged: AtomicBool::new(false),
            unannounced: Mutex::default(),
            charged: AtomicUsize::new(0),
            buffers: OnceLock::new(),
            _notify: NotifyOnDrop::new(release_notifier.clone()),
            release_notifier,
            empty_ranges,
            conversions: Conversions::default(),
            flush_pace: FlushPace::default(),
            deleted_places: DeletedPlaces::default(),
            stats: FamilyStats::default(),
        })
    }

    /// Returns true if this handle comes from the open of `notifier`. Each open of a database has its own
    /// notifier. The column families of the open hold the notifier.
    ///
    /// A handle is valid for one open of one database only. In another database, or in a later open, its id may
    /// belong to another column family. So every call that takes a handle rejects the handles of other opens with
    /// InvalidArgument.
    #[inline]
    pub(crate) fn belongs_to(&self, notifier: &Arc<ReleaseNotifier>) -> bool {
        Arc::ptr_eq(&self.release_notifier, notifier)
    }

    /// Returns the notifier of the database that opened the column family.
    pub(crate) fn release_notifier(&self) -> Arc<ReleaseNotifier> {
        self.release_notifier.clone()
    }

    /// Returns the id, which the MANIFEST and the WALs store. The id never changes, and no later column family
    /// gets it.
    pub fn id(&self) -> FamilyId {
        self.id
    }

    /// Returns the name that the application chose. The name never changes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if writes to the column family are rejected (`disallow_memtable_writes`).
    pub fn disallows_writes(&self) -> bool {
        self.parts.load().disallow_memtable_writes
    }

    /// Returns true if writes to the column family put values into blob files before the WAL (`enable_blob_direct_write`).
    pub fn writes_directly(&self) -> bool {
        self.parts.load().blobs.direct_write
    }

    /// Checks that the column family can be read at a snapshot.
    ///
    /// # Errors
    /// NotSupported with `inplace_update_support`: a write may overwrite an entry that the snapshot needs.
    #[inline]
    pub fn check_snapshot(&self) -> Result<()> {
        if self.parts.load().memtable.inplace_locks.is_some() {
            return Err(Error::not_supported(format!(
                "column family {} cannot be read at a snapshot: it has inplace_update_support",
                self.name
            )));
        }
        Ok(())
    }

    /// Returns the user keys that bound the closed range `[begin, end]` of keys without timestamps: `begin` with
    /// the newest timestamp and `end` with the oldest. `None` is unbounded. The keys of files and entries have
    /// timestamps, and cannot be compared with a key without timestamp (RocksDB `MaybeAddTimestampsToRange`).
    pub(crate) fn with_timestamps<'k>(
        &self,
        begin: Option<&'k [u8]>,
        end: Option<&'k [u8]>,
    ) -> (Option<Cow<'k, [u8]>>, Option<Cow<'k, [u8]>>) {
        match self.order.user.timestamp_size() {
            0 => (begin.map(Cow::Borrowed), end.map(Cow::Borrowed)),
            size => (
                begin.map(|key| Cow::Owned(key::with_newest_timestamp(key, size))),
                end.map(|key| Cow::Owned(key::with_oldest_timestamp(key, size))),
            ),
        }
    }

    /// Returns true if the keys of the column family have timestamps.
    #[inline]
    pub fn has_timestamps(&self) -> bool {
        self.order.user.timestamp_size() > 0
    }

    /// Returns the order of internal keys.
    #[inline]
    pub fn order(&self) -> &InternalOrder {
        &self.order
    }

    /// Returns the present options. `set_options` replaces them.
    pub fn options(&self) -> Arc<FamilyOptions> {
        self.options.load_full()
    }

    /// Returns the components and settings that the present options give. Readers use those of their super version.
    pub fn parts(&self) -> Arc<Parts> {
        self.parts.load_full()
    }

    /// Pins the super version for as long as the guard lives. This takes no lock and changes no shared counter: it
    /// costs some nanoseconds. Load the visible sequence number *after* this call. If it is loaded before, a
    /// compaction can drop entries in between that a read at this sequence number needs.
    ///
    /// For short reads on this thread only. A long-lived reader, such as an iterator, calls [`Family::pin_owned`].
    #[inline]
    pub fn pin(&self) -> crate::sync::Guard<Arc<SuperVersion>> {
        self.current.load()
    }

    /// Pins the super version with a reference count. The result may be kept and sent to other threads.
    #[inline]
    pub fn pin_owned(&self) -> Arc<SuperVersion> {
        self.current.load_full()
    }

    /// Returns the number of the installed super version. Each install has a larger number.
    pub fn super_version_number(&self) -> u64 {
        self.current.load().number
    }

    /// Returns the key ranges in which scans found no key.
    #[inline]
    pub(crate) fn empty_ranges(&self) -> &Arc<EmptyRanges> {
        &self.empty_ranges
    }

    /// Forgets the key ranges in which scans found no key: the next install may show other keys. The lock of the state keeps out
    /// other installs until then: a scan on a super version of another install could find a range that is wrong afterwards.
    pub(crate) fn clear_empty_ranges(&self, _state: &mut State) {
        self.empty_ranges.clear();
    }

    /// Returns which iterators may add range tombstones to the active memtable.
    pub(crate) fn conversions(&self) -> &Conversions {
        &self.conversions
    }

    /// Returns how far writers may fill the active memtable before they pause for a flush.
    #[inline]
    pub(crate) fn flush_pace(&self) -> &FlushPace {
        &self.flush_pace
    }

    /// Returns the places where a job looks for empty key ranges.
    pub(crate) fn deleted_places(&self) -> &DeletedPlaces {
        &self.deleted_places
    }

    /// Records that a write to this column family has no WAL record.
    pub fn note_unlogged(&self) {
        self.unlogged.store(true, Ordering::Relaxed);
    }

    /// Returns true if the memtables have entries, and some of these entries may have no WAL record.
    pub fn may_hold_unlogged(&self) -> bool {
        self.unlogged.load(Ordering::Relaxed) && self.holds_entries()
    }

    /// Returns true if a memtable that is not flushed has entries.
    pub fn holds_entries(&self) -> bool {
        let pin = self.pin();
        !pin.mem.is_empty() || !pin.imm.is_empty()
    }

    /// Returns true if the column family was dropped from the database. Existing handles can still read its
    /// entries.
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    pub(crate) fn set_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    /// Reports the size of the active memtable to the write buffer manager. Costs nothing if the manager has no
    /// limit.
    #[inline]
    pub(crate) fn buffer_grown(&self, buffers: &Arc<WriteBufferManager>) {
        if buffers.enabled() || buffers.charges_cache() {
            let used = self.current.load().mem.memory_used();
            let before = self.charged.fetch_max(used, Ordering::Relaxed);
            if used > before {
                self.buffers.get_or_init(|| buffers.clone());
                buffers.reserve(used - before);
            }
        }
    }

    /// Records that the active memtable becomes immutable. Returns the memory that is charged for it.
    pub(crate) fn buffer_immutable(&self, buffers: &Arc<WriteBufferManager>) -> Option<Arc<Charge>> {
        let bytes = self.charged.swap(0, Ordering::Relaxed);
        if bytes == 0 {
            return None;
        }
        base::invariant!(
            self.buffers.get().is_some_and(|own| Arc::ptr_eq(own, buffers)),
            "memory of column family {} is released to a manager that did not lend the memory",
            self.name
        );
        buffers.schedule_free(bytes);
        Some(Arc::new(Charge { bytes, buffers: buffers.clone() }))
    }

    /// Returns the memory in bytes that is charged for the memtables that are not flushed.
    pub(crate) fn buffered(&self) -> usize {
        let immutable: usize = self
            .state()
            .immutable_memtables
            .iter()
            .filter_map(|s| s.charge.as_ref())
            .map(|charge| charge.bytes)
            .sum();
        self.charged.load(Ordering::Relaxed) + immutable
    }

    /// Returns the versions that still have readers, the newest last.
    pub fn live_versions(&self) -> Vec<Arc<Version>> {
        self.state().versions.iter().filter_map(crate::sync::Weak::upgrade).collect()
    }

    /// Locks the state that jobs change. The lock is held for a short time and never during I/O.
    pub(crate) fn state(&self) -> RankedGuard<'_, State> {
        self.state.lock()
    }

    /// Installs a super version from `state`, for new readers. The caller must drop the returned old super version
    /// after it releases the lock: the old super version may be the last owner of memtables.
    #[must_use]
    pub(crate) fn install(&self, state: &mut State) -> Arc<SuperVersion> {
        state.super_version_number += 1;
        let known =
            state.versions.last().is_some_and(|v| std::ptr::eq(v.as_ptr(), Arc::as_ptr(&state.version)));
        if !known {
            state.versions.retain(|v| v.strong_count() > 0);
            let newest = Arc::downgrade(&state.version);
            state.versions.push(newest);
        }
        let next = SuperVersion::new(
            state.super_version_number,
            state.mem.clone(),
            [state.immutable_newest_first(), state.history_newest_first()],
            state.version.clone(),
            self.parts.load_full(),
            state.era.clone(),
            self.release_notifier.clone(),
        )
        .with_full_history_ts_low(state.full_history_ts_low.clone())
        .with_ingested_at(state.ingested_at);
        base::invariant!(
            self.current.load().number < next.number,
            "super version {} follows super version {}",
            next.number,
            self.current.load().number
        );
        base::invariant!(
            next.imm.iter().all(|mem| mem.is_immutable() || Arc::ptr_eq(mem, &next.imm[0])),
            "a super version has an older immutable memtable that takes writes"
        );
        base::invariant!(
            !next.imm.iter().chain(next.history.iter()).any(|mem| Arc::ptr_eq(mem, &next.mem)),
            "the active memtable of a super version is an immutable memtable too"
        );
        base::invariant!(
            next.version.order().user.name() == self.order.user.name(),
            "a version of column family {} is ordered by {}",
            self.name,
            next.version.order().user.name()
        );
        // Record the number before the swap: writers add entries to the new memtable after the swap.
        self.empty_ranges.installed(next.number);
        self.current.swap(Arc::new(next))
    }

    /// Ends the era of the installed super version: the next install shows other entries to older snapshots.
    pub(crate) fn end_era(&self, state: &mut State) {
        let ended = std::mem::take(&mut state.era);
        state.ended_eras.retain(|era| era.strong_count() > 0);
        if ended.end(&self.current.load()) {
            state.ended_eras.push(Arc::downgrade(&ended));
        }
    }

    /// Sets the oldest timestamp that can be read, as recovery found it in the MANIFEST.
    pub(crate) fn set_full_history_ts_low(&self, low: Option<Vec<u8>>) {
        let mut state = self.state();
        state.full_history_ts_low = low;
        let old = self.install(&mut state);
        drop(state);
        drop(old);
    }

    /// Frees the flushed memtables that exceed the limit of the history. With `all`, frees all flushed memtables.
    pub(crate) fn trim_history(&self, all: bool) {
        let mut state = self.state();
        let active = if all { usize::MAX / 2 } else { state.mem.memory_used() };
        if state.trim_history(active) {
            let old = self.install(&mut state);
            drop(state);
            drop(old);
        }
    }

    /// Replaces the options, and installs a super version with them.
    pub(crate) fn set_options(&self, options: Arc<FamilyOptions>, parts: Arc<Parts>) {
        base::invariant!(
            parts.order.name() == self.order.user.name(),
            "new options of column family {} change its comparator from {} to {}",
            self.name,
            self.order.user.name(),
            parts.order.name()
        );
        let extractor =
            |parts: &Parts| parts.code.prefix_extractor.as_ref().map(|own| own.name().to_string());
        let mut state = self.state();
        // A parked iterator shows the keys with the prefix of its first key, by the extractor of its super version.
        if extractor(&parts) != extractor(&self.parts.load()) {
            self.end_era(&mut state);
        }
        self.options.store(options);
        self.parts.store(parts);
        let old = self.install(&mut state);
        drop(state);
        drop(old);
    }
}

/// Releases the memory of the active memtable. Other databases may share the write buffer manager.
impl Drop for Family {
    fn drop(&mut self) {
        if let Some(buffers) = self.buffers.get() {
            let bytes = self.charged.swap(0, Ordering::Relaxed);
            buffers.schedule_free(bytes);
            buffers.free(bytes);
        }
    }
}

impl std::fmt::Debug for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (id {})", self.name, self.id)
    }
}
