//! The iterator of the application: reads one column family at one sequence number, in key order, in both
//! directions.
//!
//! ```text
//!  Iter ── Walk (entries → keys) ── Tree (one source or several merged, without deleted ranges) ── memtables, files, levels
//! ```
//! An iterator pins the super version of its creation, so its view does not change. The first positioning collects
//! the sources, and opens the SST files that it needs. A tailing iterator pins the newest super version at each
//! positioning call. An error ends the iteration. After damage or a failed file-system call, the error stays until
//! a refresh.

mod build;
mod context;
mod convert;
mod count;
mod find_empty;
mod keys;
mod lease;
mod leased;
mod skip;
mod tree;
mod value;
mod versions;
mod view;
mod walk;
mod watch;

use build::{build, check, collect};
use context::Target;
pub use context::{IteratorContext, IteratorTools, Refreshes};
pub use find_empty::find_empty_range;
pub use versions::Versions;
pub(crate) use view::View;
pub(crate) use walk::Walk;
use walk::{internal_key, stopped_key, will_leave_entry};

use std::borrow::Cow;

use base::iter::Direction;
use base::stats::{OperationKind, PerfCounter, PerfLevel, Ticker, begin_operation, perf_timing};
use base::{Error, Pinned, Result};
use env::clock::CpuTimer;
use kernel::ticks;
use lsm::version::ReaderKind;

use crate::family::SuperVersion;
use crate::options::ReadOptions;
use crate::sequence::Snapshot;
use crate::source::WideColumns;
use crate::sync::{Arc, OnceLock};
use count::{Counts, Step};
use lease::Lease;
use tree::Tree;

/// A position in a column family. The iterator is `Send`, owns its view, and is not valid before it is positioned.
pub struct Iter {
    /// In a box: an iterator is moved several times while it is made, and a walk is more than a kilobyte.
    walk: Box<Walk<Tree>>,
    context: IteratorContext,
    options: ReadOptions,
    /// `None` while the iterator is parked: see [`Lease`].
    super_version: Option<Arc<SuperVersion>>,
    /// The share of the memory budget. `None` without a budget, and for an iterator that cannot be parked.
    lease: Option<Box<Lease>>,
    /// The number of range tombstones in the memtable when the walk was built.
    range_deletes: u64,
    /// The number of entries in the memtable at the last positioning of a tailing iterator.
    entries: u64,
    counts: Counts,
    /// True if the sources are collected. The first positioning collects them, so an iterator that is never
    /// positioned costs only two reference counts.
    opened: bool,
    /// True for a tailing iterator and for an iterator with a lease: a move is more than a step of the walk.
    steps_aside: bool,
    /// True if [`Iter::prepare`] must check a deadline or look for a newer super version.
    prepares: bool,
    /// True if the iterator moves to newer super versions at its snapshot (`auto_refresh_iterator_with_snapshot`).
    follows: bool,
    /// True if [`Iter::attend`] must run after each move: the iterator moves to newer super versions, counts hidden
    /// entries of the memtable, or shows internal keys.
    attends: bool,
    /// The answer of [`Iter::raw_key`] at this position.
    internal_key: OnceLock<Vec<u8>>,
}

impl Iter {
    /// Makes an iterator at the visible sequence number, or at the snapshot of the options.
    ///
    /// # Errors
    /// InvalidArgument for a timestamp that is missing, has the wrong length, is below `full_history_ts_low`, or is
    /// given for a column family without timestamps. InvalidArgument for a snapshot of another database.
    /// NotSupported for an option that the column family or iterators do not support.
    pub fn new(context: IteratorContext, options: &ReadOptions) -> Result<Self> {
        check(&context, options)?;
        let follows = options.auto_refresh_iterator_with_snapshot && options.snapshot.is_some();
        // Only a lease changes the options: it adds a snapshot.
        let mut own = Cow::Borrowed(options);
        let (super_version, mut lease) = match context.lender {
            None => (acquire(&context), None),
            Some(_) => Lease::begin(&context, &mut own),
        };
        let options = own.as_ref();
        let range_deletes = super_version.mem.counts().range_deletes;
        let walk = build(&context, options, &super_version)
            .inspect_err(|_| count_release(&context, &super_version))?;
        let counts = Counts::new(&context.stats);
        let prepares = options.tailing || follows || !options.deadline.is_zero();
        let attends =
            follows || options.iter_start_ts.is_some() || super_version.parts.scan.flush_trigger > 0;
        let steps_aside = options.tailing || lease.is_some();
        let super_version = match &mut lease {
            None => Some(super_version),
            Some(lease) => lease.keep_if_room(&context, &walk, super_version),
        };
        // Build the value, and clone the options, in the return expression: an iterator is large, and one more copy of it
        // takes a fifth of the time of `new`.
        Ok(Iter {
            walk,
            context,
            steps_aside,
            options: options.clone(),
            super_version,
            lease,
            range_deletes,
            entries: 0,
            counts,
            opened: false,
            prepares,
            follows,
            attends,
            internal_key: OnceLock::new(),
        })
    }

    /// Returns true if the iterator stands on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.walk.valid()
    }

    /// Returns `Ok` while the iteration continues, and at both ends of the data.
    ///
    /// # Errors
    /// The error that ended the iteration. After damage or a failed file-system call, the iterator is not valid
    /// again before [`Iter::refresh`]. Other errors stay until the next positioning call.
    pub fn status(&self) -> Result<()> {
        self.walk.status()
    }

    /// Returns the current key without timestamp. Empty if the iterator is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.walk.key()
    }

    /// Returns the key as RocksDB's iterator shows it. With `iter_start_ts`, this is the internal key: user key,
    /// timestamp, 8 bytes of sequence number and value type. The first call at a position then copies the key.
    /// Otherwise it is the key without timestamp. Empty if the iterator is not valid.
    #[inline]
    pub fn raw_key(&self) -> &[u8] {
        if self.options.iter_start_ts.is_none() || !self.valid() {
            return self.walk.key();
        }
        self.internal_key.get_or_init(|| internal_key(&self.walk))
    }

    /// Returns the current value; for an entity, its default column. Empty if the iterator is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.walk.value()
    }

    /// Returns the timestamp of the current entry. Empty if the column family has no timestamps.
    pub fn timestamp(&self) -> &[u8] {
        self.walk.timestamp()
    }

    /// Returns the value type of the current entry. Without `iter_start_ts` it is a value, an entity, or the merge operand
    /// whose merged value is shown; with `iter_start_ts` it can be a tombstone too. `None` if not valid.
    pub fn value_type(&self) -> Option<base::ValueType> {
        self.walk.value_type()
    }

    /// Returns the columns of the current value as (name, value), if the value is a wide-column entity.
    pub fn columns(&self) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let entity = self.walk.entity()?;
        let columns = format::wide::decode(entity).ok()?;
        Some(columns.iter().map(|c| (c.name.to_vec(), c.value.to_vec())).collect())
    }

    /// Returns the columns of the current value. A plain value is one column without a name.
    ///
    /// # Errors
    /// InvalidArgument if the iterator is not valid; Corruption if an entity does not decode.
    pub fn wide_columns(&self) -> Result<WideColumns> {
        if !self.valid() {
            return Err(Error::invalid_argument("the iterator is not valid"));
        }
        WideColumns::new(self.walk.pin_found())
    }

    /// Returns the current value as a view that stays valid after the next move.
    pub fn pinned_value(&self) -> Pinned {
        self.walk.pin_value()
    }

    /// Returns the current key as a view that stays valid after the next move. Copies the key only if no memtable
    /// and no block holds the whole key.
    pub fn pinned_key(&self) -> Pinned {
        let (key, _) = self.walk.pin_key();
        key
    }

    /// Reads the current value, if `allow_unprepared_value` is set and the value is in a blob file. All other values are
    /// ready after the move. Returns false if the iterator is not valid, or if the read fails: the iterator is then not
    /// valid, and [`Iter::status`] has the error.
    pub fn prepare_value(&mut self) -> bool {
        self.walk.prepare_value()
    }

    /// Returns a property of the iterator by RocksDB's name; `None` if there is no such property.
    ///
    /// - `rocksdb.iterator.super-version-number`: the number of the super version that the iterator reads;
    /// - `rocksdb.iterator.is-key-pinned`, `rocksdb.iterator.is-value-pinned`: `1` if `pin_data` is set and
    ///   [`Iter::pinned_key`] or [`Iter::pinned_value`] copies nothing, otherwise `0`;
    /// - `rocksdb.iterator.internal-key`: the current user key. After Incomplete, the last key that the iterator skipped:
    ///   a later iterator can continue there.
    pub fn property(&self, name: &str) -> Option<Vec<u8>> {
        let flag = |pinned: bool| match self.valid() {
            true => Vec::from(if self.options.pin_data && pinned { "1" } else { "0" }),
            false => Vec::from("Iterator is not valid."),
        };
        match name {
            "rocksdb.iterator.super-version-number" => {
                Some(self.super_version_number().to_string().into_bytes())
            }
            "rocksdb.iterator.is-key-pinned" => Some(flag(self.walk.pin_key().1)),
            "rocksdb.iterator.is-value-pinned" => Some(flag(self.walk.value_in_place())),
            "rocksdb.iterator.internal-key" => Some(stopped_key(&self.walk).to_vec()),
            _ => None,
        }
    }

    /// Moves to the first key of the column family, or to the first key at or after the lower bound. Without a
    /// key, the iterator is not valid afterwards.
    pub fn seek_to_first(&mut self) {
        self.positioned(Target::First, |walk| walk.seek_to_first());
    }

    /// Moves to the last key of the column family, or to the last key before the upper bound. Without a key,
    /// the iterator is not valid afterwards.
    pub fn seek_to_last(&mut self) {
        self.positioned(Target::Last, |walk| walk.seek_to_last());
    }

    /// Moves to the first key at or after `target`.
    pub fn seek(&mut self, target: &[u8]) {
        self.positioned(Target::Key(target), |walk| walk.seek(target));
    }

    /// Moves to the last key at or before `target`.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.positioned(Target::KeyOrBefore(target), |walk| walk.seek_for_prev(target));
    }

    #[inline]
    fn positioned(&mut self, target: Target<'_>, seek: impl FnOnce(&mut Walk<Tree>)) {
        self.context.trace_seek(&self.options, target);
        if self.walk.is_over() {
            return;
        }
        let began_operation = begin_operation();
        if (self.prepares || !self.opened || self.lease.is_some())
            && let Err(error) = self.prepare()
        {
            self.context.stats.slow.end(OperationKind::Seek, began_operation);
            return self.walk.fail(error);
        }
        if self.attends {
            self.internal_key = OnceLock::new();
            self.walk.watch_step(true);
        }
        let _cpu = CpuTimer::start(PerfCounter::IterSeekCpuNanos);
        let began = self.context.stats.begin();
        seek(&mut self.walk);
        self.context.stats.slow.end(OperationKind::Seek, began_operation);
        if self.counts.wanted() {
            self.counts.sought(&mut self.walk, &self.context.stats, began);
        }
        if self.lease.is_some() {
            self.settle(false);
        }
    }

    /// Moves to the next key. Does nothing if the iterator is not valid.
    #[inline]
    pub fn next(&mut self) {
        if self.counts.wanted() || self.steps_aside {
            return self.step_counted(Step::Next);
        }
        self.walk.next();
        self.context.stats.slow.end_move();
        if self.attends {
            self.attend(Step::Next);
        }
    }

    /// Moves to the previous key. Does nothing if the iterator is not valid.
    #[inline]
    pub fn prev(&mut self) {
        if self.counts.wanted() || self.steps_aside {
            return self.step_counted(Step::Prev);
        }
        self.walk.prev();
        self.context.stats.slow.end_move();
        if self.attends {
            self.attend(Step::Prev);
        }
    }

    /// Does a move that is counted, timed, or made by a tailing iterator.
    #[inline(never)]
    fn step_counted(&mut self, step: Step) {
        let leaves_entry = matches!(step, Step::Next) && will_leave_entry(&self.walk);
        let done = self.super_version.is_none() && self.reopen(step);
        if done {
            // The walk has moved.
        } else if self.options.tailing && matches!(step, Step::Next) && self.has_newer_entries() {
            self.next_among_newer();
        } else if perf_timing(PerfLevel::EnableTimeExceptForMutex) {
            self.step_timed(step);
        } else {
            match step {
                Step::Next => self.walk.next(),
                Step::Prev => self.walk.prev(),
            }
        }
        self.context.stats.slow.end_move();
        if self.attends {
            self.attend(step);
        }
        if self.counts.wanted() {
            self.counts.moved(&mut self.walk, &self.context.stats, step, leaves_entry);
        }
        if self.lease.is_some() {
            self.settle(true);
        }
    }

    /// Returns true if the column family has entries that a tailing iterator did not see at its last positioning.
    fn has_newer_entries(&self) -> bool {
        let Some(super_version) = &self.super_version else { return false };
        super_version.number != self.context.family.super_version_number()
            || super_version.mem.counts().entries != self.entries
    }

    /// Moves a tailing iterator to the next key, which may be a newer entry: positions the iterator at its key
    /// again, then moves. The sources have read ahead, so a move alone would miss newer entries. Follows RocksDB
    /// `db/forward_iterator.cc`.
    #[cold]
    fn next_among_newer(&mut self) {
        base::invariant!(self.options.tailing, "an iterator that does not tail looks for newer entries");
        if !self.walk.valid() {
            return;
        }
        let key = self.walk.key().to_vec();
        if let Err(error) = self.prepare() {
            return self.walk.fail(error);
        }
        self.walk.seek(&key);
        if self.walk.valid() && self.walk.key() == key {
            self.walk.next();
        }
    }

    #[cold]
    fn step_timed(&mut self, step: Step) {
        match step {
            Step::Next => {
                let _cpu = CpuTimer::start(PerfCounter::IterNextCpuNanos);
                self.walk.next_timed();
            }
            Step::Prev => {
                let _cpu = CpuTimer::start(PerfCounter::IterPrevCpuNanos);
                self.walk.prev();
            }
        }
    }

    /// Moves the iterator to the visible sequence number, even if it was created with a snapshot, as
    /// RocksDB's `ArenaWrappedDBIter::Refresh` does. The caller must position the iterator again.
    ///
    /// # Errors
    /// The errors of [`Iter::refresh_at`].
    pub fn refresh(&mut self) -> Result<()> {
        self.refresh_at(None)
    }

    /// Moves the iterator to a snapshot, or to the visible sequence number without a snapshot. The caller must
    /// position the iterator again.
    ///
    /// # Errors
    /// NotSupported if the database is open for reading only: no write changes what the iterator reads. An iterator of a
    /// secondary instance or of a follower can be refreshed. The errors of [`Iter::new`].
    pub fn refresh_at(&mut self, snapshot: Option<Arc<Snapshot>>) -> Result<()> {
        if self.context.refreshes == Refreshes::Rejected {
            return Err(Error::not_supported("Creating renew iterator is not allowed."));
        }
        let snapshot = match &self.lease {
            Some(_) => snapshot.or_else(|| Lease::snapshot(&self.context)),
            None => snapshot,
        };
        let before = std::mem::replace(&mut self.options.snapshot, snapshot);
        if let Err(error) = check(&self.context, &self.options) {
            // A parked iterator may open again: it needs the snapshot that it had.
            self.options.snapshot = before;
            return Err(error);
        }
        self.follows = false;
        self.renew(acquire(&self.context))?;
        if self.lease.is_some() {
            self.settle(false);
        }
        Ok(())
    }

    /// Moves to the super version `newest`, and keeps the snapshot if there is one. The next positioning collects the
    /// sources.
    fn renew(&mut self, newest: Arc<SuperVersion>) -> Result<()> {
        let walk = build(&self.context, &self.options, &newest)
            .inspect_err(|_| count_release(&self.context, &newest))?;
        self.replace(newest, walk, false);
        Ok(())
    }

    fn replace(&mut self, newest: Arc<SuperVersion>, walk: Box<Walk<Tree>>, opened: bool) {
        base::invariant!(
            self.super_version.as_ref().is_none_or(|old| old.number <= newest.number),
            "an iterator moves back to super version {}",
            newest.number
        );
        // Drop the old walk while the iterator still holds the super version of this walk.
        self.walk = walk;
        self.internal_key = OnceLock::new();
        self.opened = opened;
        self.range_deletes = newest.mem.counts().range_deletes;
        if let Some(lease) = &mut self.lease {
            lease.release();
            if !lease.enter(&newest) {
                (self.lease, self.steps_aside) = (None, self.options.tailing);
            }
        }
        if let Some(old) = self.super_version.replace(newest) {
            count_release(&self.context, &old);
        }
    }

    /// Collects the sources of the walk.
    fn open_sources(&mut self) -> Result<()> {
        base::invariant!(!self.opened, "the sources of an iterator are opened twice");
        let Some(super_version) = &self.super_version else { return Ok(()) };
        collect(&mut self.walk, &self.context, &self.options, super_version)?;
        self.opened = true;
        Ok(())
    }

    /// Drops the snapshot and keeps its sequence number. The pinned super version has all entries that the iterator
    /// shows. The iterator then does not move to newer super versions. An iterator with a share of the memory budget keeps the
    /// snapshot.
    pub(crate) fn release_snapshot(&mut self) {
        self.follows = false;
        if self.lease.is_none() {
            self.options.snapshot = None;
        }
    }

    /// Returns the number of the super version that the iterator reads; for a parked iterator, the number of the newest super
    /// version.
    pub fn super_version_number(&self) -> u64 {
        let newest = || self.context.family.super_version_number();
        self.super_version.as_ref().map_or_else(newest, |super_version| super_version.number)
    }

    /// Returns true if there is a newer super version that the iterator may read: of its era, if it has a lease. A parked iterator
    /// reads no super version.
    fn is_behind(&self) -> bool {
        self.super_version.is_some()
            && self.super_version_number() != self.context.family.super_version_number()
            && must_renew(self)
    }

    #[cold]
    fn attend(&mut self, step: Step) {
        base::invariant!(self.attends, "`attend` runs for an iterator that does not need it");
        self.internal_key = OnceLock::new();
        self.walk.watch_step(false);
        if self.follows && self.is_behind() && self.status().is_ok() {
            self.go_over(step);
        }
    }

    /// Moves the iterator to the newest super version after a move, and there to the same key. An error ends the iteration.
    #[cold]
    fn go_over(&mut self, step: Step) {
        base::invariant!(self.follows, "an iterator without auto-refresh moves to a newer super version");
        if let Some((newest, walk)) = self.rebuild(step) {
            self.replace(newest, walk, true);
        }
    }

    /// Makes a walk over the newest super version that continues at the key of this walk. Returns `None` after an error,
    /// which this walk then keeps.
    fn rebuild(&mut self, step: Step) -> Option<(Arc<SuperVersion>, Box<Walk<Tree>>)> {
        let newest = acquire_next(self);
        let built = build(&self.context, &self.options, &newest).and_then(|mut walk| {
            collect(&mut walk, &self.context, &self.options, &newest)?;
            let direction = if matches!(step, Step::Prev) { Direction::Backward } else { Direction::Forward };
            walk.continue_from(&mut self.walk, direction);
            Ok(walk)
        });
        match built {
            Ok(walk) => Some((newest, walk)),
            Err(error) => {
                count_release(&self.context, &newest);
                self.walk.fail(error);
                None
            }
        }
    }

    /// Runs before the first positioning, and before each positioning of an iterator with a deadline, auto-refresh or
    /// tailing. Collects the sources if they are not collected.
    fn prepare(&mut self) -> Result<()> {
        if self.prepares {
            self.look_for_newer()?;
        }
        if self.lease.is_some() && must_renew(self) {
            self.renew(acquire_next(self))?;
        }
        if self.opened { Ok(()) } else { self.open_sources() }
    }

    /// Checks the deadline. An iterator with auto-refresh moves to the newest super version. A tailing iterator moves
    /// too, if there is a newer super version or there are new range tombstones.
    #[cold]
    fn look_for_newer(&mut self) -> Result<()> {
        let deadline = self.options.deadline;
        if !deadline.is_zero() && u128::from(self.context.stats.now_micros()) > deadline.as_micros() {
            return Err(Error::timed_out("the read's deadline has passed"));
        }
        if self.follows && self.is_behind() {
            return self.renew(acquire_next(self));
        }
        if !self.options.tailing {
            return Ok(());
        }
        let counts =
            |iter: &Self| iter.super_version.as_ref().map(|super_version| super_version.mem.counts());
        if self.is_behind() || counts(self).is_some_and(|counts| counts.range_deletes != self.range_deletes) {
            self.renew(acquire_next(self))?;
        }
        self.entries = counts(self).map_or(0, |counts| counts.entries);
        Ok(())
    }
}

impl Drop for Iter {
    fn drop(&mut self) {
        if let Some(super_version) = &self.super_version {
            count_release(&self.context, super_version);
        }
        self.counts.end(&self.context.stats);
    }
}

/// Pins the newest super version and counts the pin, as RocksDB does. Point reads are not counted: they hold no
/// reference.
fn acquire(context: &IteratorContext) -> Arc<SuperVersion> {
    let super_version = context.family.pin_owned();
    count_acquire(context, &super_version);
    super_version
}

#[inline]
fn count_acquire(context: &IteratorContext, super_version: &SuperVersion) {
    context.stats.add(Ticker::NumberSuperversionAcquires, 1);
    super_version.version.readers().begin(ReaderKind::Iterator, ticks::now);
}

/// Pins the super version to which an iterator moves: the newest, or the last one of the iterator's era.
fn acquire_next(iter: &Iter) -> Arc<SuperVersion> {
    let newest = acquire(&iter.context);
    let Some(last) = iter.lease.as_ref().and_then(|lease| lease.last_of_era(&newest)) else {
        return newest;
    };
    count_acquire(&iter.context, &last);
    count_release(&iter.context, &newest);
    last
}

/// Returns true if a positioning must move an iterator with a lease to another super version: a parked iterator has none, and an open
/// iterator moves to the newest, so that it keeps no old memtables.
#[cold]
fn must_renew(iter: &Iter) -> bool {
    let Some(current) = &iter.super_version else { return true };
    let newest = iter.context.family.pin();
    let last = iter.lease.as_ref().and_then(|lease| lease.last_of_era(&newest));
    last.as_ref().map_or(newest.number, |last| last.number) != current.number
}

/// Counts the release of a super version. If two iterators release the same super version concurrently, perhaps
/// neither counts its cleanup.
fn count_release(context: &IteratorContext, super_version: &Arc<SuperVersion>) {
    super_version.version.readers().end(ReaderKind::Iterator);
    let Some(statistics) = context.stats.statistics() else { return };
    statistics.tick(Ticker::NumberSuperversionReleases);
    if Arc::strong_count(super_version) == 1 {
        statistics.tick(Ticker::NumberSuperversionCleanups);
    }
}

#[cfg(test)]
mod tests;
