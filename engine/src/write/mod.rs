//! The write path. One function here holds the order of a write: WAL, memtable, visible.
//!
//! ```text
//!  write ─► check ─► group::join ─┬─ lead:   room ─► WAL (─► sync) ─► memtables ─► publish ─► hand over
//!                                 ├─ insert: insert the own batch into the memtables, report, wait
//!                                 └─ done:   the leader wrote the batch
//! ```
//! If the WAL fails, the leader reports the failure, the WAL takes no more records, and every writer of the group gets the
//! error. No entry of the group is in a memtable then. With `enable_pipelined_write`, a long group hands the lead over
//! after the WAL. Several groups then insert concurrently, and are published in order. A short group inserts first
//! (see `limits`). The synced writes of prepared transactions hand the lead over before the sync (see `overlap`).

mod direct;
mod filled;
pub mod group;
pub mod hook;
mod limits;
mod low_pri;
mod overlap;
mod publish;
mod room;
mod separated;
mod settings;
mod signal;
pub mod stall;
mod steps;
mod switch;
mod unlocked;

pub use filled::{FilledMemtables, Filler};
pub use hook::{Parts, RangeDeletions, WriteHook};
pub use low_pri::LowPriLimit;
pub use room::{FlushRequests, wal_bytes_max};
pub use settings::WriteSettings;
pub use unlocked::{alone_unlocked, try_switch_for_flush};

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::invariant::{FastPath, takes_slow_path};
use base::stats::{Cause, HistogramKind, OperationKind, PerfCounter, PerfLevel, PerfTimer, Step};
use base::{Error, FamilyId, Result, SequenceNumber, WalNumber};
use env::Env;
use env::rate::IoPriority;
use format::batch as encoding;
use mem::write_buffer::WriteBufferManager;

use crate::apply::{self, Markers, Merger, Missing};
use crate::batch::WriteBatch;
use crate::direct::DirectBlobs;
use crate::errors::ErrorState;
use crate::event::{Events, FlushReason};
use crate::family::{Family, FamilySet};
use crate::files::{Numbers, Recycle};
use crate::options::WriteOptions;
use crate::prepared::Numbering;
use crate::sequence::LastSequence;
use crate::stats::Stats;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicWalNumber, Ordering, Patience};
use crate::wal::WalSet;
use group::{Entry, Flags, Group, LeaderState, Queue, Role};
use limits::{check_memory, check_priority, is_long_insert};
use publish::Publisher;
use stall::Controller;
use switch::Switcher;

/// Receives the failures of the WAL and of memtables.
pub trait ErrorSink: Send + Sync {
    /// A write or a sync of the WAL failed.
    fn wal_failed(&self, error: &Error);
    /// A call returned `error`. Acts as `wal_failed` if the WAL takes no more records and no error stops all writes yet: another
    /// thread whose call failed can report the failure later, and a resume of the application must find the failure.
    fn wal_found_failed(&self, error: &Error);
    /// A batch is in the WAL, but a memtable lacks some of its entries.
    fn memtable_failed(&self, error: &Error);
}

/// The parts of the engine that the write path uses.
pub struct WriterParts {
    pub env: Env,
    pub settings: WriteSettings,
    pub families: Arc<FamilySet>,
    pub wals: Arc<WalSet>,
    pub numbers: Arc<Numbers>,
    pub recycle: Arc<Recycle>,
    pub sequence: Arc<LastSequence>,
    pub errors: Arc<ErrorState>,
    pub controller: Arc<Controller>,
    pub buffers: Arc<WriteBufferManager>,
    pub events: Arc<Events>,
    pub flush_requests: Arc<dyn FlushRequests>,
    pub faults: Arc<dyn ErrorSink>,
    pub wal_bytes_max: u64,
    /// Set after the first write without the WAL.
    pub unlogged: Arc<AtomicBool>,
    /// For `max_successive_merges`.
    pub merger: Arc<dyn Merger>,
    pub stats: Arc<Stats>,
    /// The blob files that writes append to.
    pub direct: Arc<DirectBlobs>,
    pub low_pri: LowPriLimit,
}

/// The write path of one database.
pub struct Writer {
    env: Env,
    settings: WriteSettings,
    queue: Queue,
    publisher: Publisher,
    switcher: Switcher,
    sequence: Arc<LastSequence>,
    errors: Arc<ErrorState>,
    controller: Arc<Controller>,
    faults: Arc<dyn ErrorSink>,
    /// Set if an insert has filled a memtable, or if a memtable is ahead of a flush. The next leader switches the full memtables, or
    /// pauses.
    memtable_full: AtomicBool,
    wal_bytes_max: AtomicU64,
    relieved_wal: AtomicWalNumber,
    closing: AtomicBool,
    /// Set after the first write without the WAL, and never cleared.
    unlogged: Arc<AtomicBool>,
    merger: Arc<dyn Merger>,
    stats: Arc<Stats>,
    direct: Arc<DirectBlobs>,
    low_pri: LowPriLimit,
}

impl Writer {
    /// Makes the write path. The first write gets the sequence number after the visible sequence number.
    pub fn new(parts: WriterParts) -> Self {
        let patience = Arc::new(Patience::new(parts.settings.yield_us_max, parts.settings.yield_us_slow));
        Writer {
            queue: Queue::new(parts.settings.group_bytes_max, parts.sequence.visible(), patience.clone()),
            switcher: Switcher {
                families: parts.families,
                wals: parts.wals,
                numbers: parts.numbers,
                recycle: parts.recycle,
                sequence: parts.sequence.clone(),
                buffers: parts.buffers,
                events: parts.events,
                flush_requests: parts.flush_requests,
                atomic_flush: parts.settings.atomic_flush,
                preallocate_bytes: parts.settings.preallocate_bytes,
            },
            env: parts.env,
            settings: parts.settings,
            publisher: Publisher::new(patience),
            sequence: parts.sequence,
            errors: parts.errors,
            controller: parts.controller,
            faults: parts.faults,
            memtable_full: AtomicBool::new(false),
            wal_bytes_max: AtomicU64::new(parts.wal_bytes_max),
            relieved_wal: AtomicWalNumber::new(WalNumber::ZERO),
            closing: AtomicBool::new(false),
            unlogged: parts.unlogged,
            merger: parts.merger,
            stats: parts.stats,
            direct: parts.direct,
            low_pri: parts.low_pri,
        }
    }

    /// Writes a batch. Afterwards the batch holds its sequence number.
    ///
    /// # Errors
    /// InvalidArgument or NotSupported for a batch or options that cannot be written; nothing was written. The
    /// background error, if it stops the writes of all column families or of a column family that the batch
    /// touches. Incomplete, if the write would have to wait and has `no_slowdown`. An error of the WAL.
    #[inline]
    pub fn write(
        &self,
        batch: &mut WriteBatch,
        options: &WriteOptions,
        hook: Option<&dyn WriteHook>,
    ) -> Result<()> {
        self.stats.trace.write(batch.bytes());
        match self.settings.numbering {
            Numbering::PerEntry => self.write_as(batch, batch.count(), options, hook),
            Numbering::PerBatch => self.write_separated(batch, options, hook),
        }
    }

    /// Writes a batch that takes `seqs` sequence numbers.
    fn write_as(
        &self,
        batch: &mut WriteBatch,
        seqs: u32,
        options: &WriteOptions,
        hook: Option<&dyn WriteHook>,
    ) -> Result<()> {
        let missing = if options.ignore_missing_column_families { Missing::Skip } else { Missing::Refuse };
        let parts = hook.map_or(Parts::All, WriteHook::parts);
        let markers = if parts == Parts::All { Markers::Refused } else { Markers::Allowed };
        self.check(batch, options, missing, markers)?;
        if batch.is_empty() && !options.sync && hook.is_none() {
            return Ok(());
        }
        if let Some(error) = self.refusal(batch.records()) {
            return Err(error);
        }
        // The wait of `low_pri` belongs to the write.
        let _operation = self.stats.slow.begin(OperationKind::Write);
        if options.low_pri && self.controller.needs_speedup() {
            self.low_pri.admit(batch, self.controller.low_pri_rate(), options.no_slowdown)?;
        }
        if options.disableWAL {
            self.note_unlogged(batch);
        }
        let flags = Flags {
            sync: options.sync,
            disable_wal: options.disableWAL,
            no_slowdown: options.no_slowdown,
            low_pri: options.low_pri,
            charged: options.rate_limiter_priority == Some(IoPriority::User),
        };
        let protected = options.protection_bytes_per_key > 0;
        if protected || batch.protection().is_some() {
            batch.protect(protected)?;
        }
        let entry = Entry {
            records: batch.records(),
            count: batch.count(),
            seqs,
            flags,
            // A group copies the records of its writers without their checksums, so a protected batch is alone.
            alone: hook.is_some() || missing == Missing::Skip || protected || batch.has_wal_end(),
            concurrent: !batch.contents().merges,
        };
        let began = self.stats.begin();
        let wait = PerfTimer::start_at(PerfCounter::WriteThreadWaitNanos, PerfLevel::EnableWait);
        let role = self.queue.join(entry);
        wait.stop();
        let outcome = match role {
            Role::Lead(group, leader_state) => self.lead(group, leader_state, batch, hook),
            Role::Insert(order) => {
                batch.set_sequence(order.seq);
                let done = self.insert(batch.bytes(), order.seq, None);
                order.finish(done.map(|_| ()))
            }
            Role::Done(outcome) => outcome,
        };
        self.stats.end(began, HistogramKind::DbWrite);
        outcome
    }

    /// Rejects a batch or options that cannot be written, before the writer joins the queue.
    #[inline]
    fn check(
        &self,
        batch: &WriteBatch,
        options: &WriteOptions,
        missing: Missing,
        markers: Markers,
    ) -> Result<()> {
        batch.status()?;
        if options.sync && options.disableWAL {
            return Err(Error::invalid_argument("Sync writes has to enable WAL."));
        }
        if options.disableWAL && self.settings.recycles_wals {
            return Err(Error::invalid_argument(
                "WriteOptions::disableWAL option is not supported if DBOptions::recycle_log_file_num > 0",
            ));
        }
        if self.settings.two_queues_pipelined {
            return Err(Error::not_supported("pipelined_writes is not compatible with concurrent prepares"));
        }
        check_priority(&self.settings, options)?;
        if !matches!(options.protection_bytes_per_key, 0 | 8) {
            return Err(Error::not_supported("WriteBatch protection info must be zero or eight bytes/key"));
        }
        check_memory(batch)?;
        let contents = batch.contents();
        let plain =
            !(contents.merges || contents.range_deletions || contents.other_families || contents.rare);
        if plain
            && !self.switcher.families.any_timestamps()
            && !batch.has_timestamps()
            && !takes_slow_path(FastPath::PlainBatch, batch.records())
        {
            return Ok(());
        }
        apply::check(batch, &self.switcher.families, missing, markers)
    }

    /// Marks the column families of a write without a WAL record, before the write becomes visible. The close
    /// flushes these column families.
    fn note_unlogged(&self, batch: &WriteBatch) {
        let note = |family| {
            if let Some(family) = self.switcher.families.get(family) {
                family.note_unlogged();
            }
        };
        if !batch.contents().other_families {
            return note(FamilyId::DEFAULT);
        }
        let records = encoding::Records::behind_header(batch.records());
        let mut last = None;
        for family in records.filter_map(|record| record.ok()?.family()) {
            if last.replace(family) != Some(family) {
                note(family);
            }
        }
    }

    /// Returns the background error for the records of one batch, if the records touch a stopped column family and
    /// other column families still accept writes. If all column families are stopped, returns `None`: `ensure_room`
    /// reports that error for the whole group.
    #[inline]
    fn refusal(&self, records: &[u8]) -> Option<Error> {
        if self.errors.is_partly_stopped() { self.refusal_of_some(records) } else { None }
    }

    #[cold]
    fn refusal_of_some(&self, records: &[u8]) -> Option<Error> {
        let records = encoding::Records::behind_header(records);
        // Look at no record after the first that does not decode: the insert into the memtables reports it.
        let families = records.map_while(Result::ok).filter_map(|record| record.family());
        self.errors.check_families(families).err()
    }

    /// Writes a group as its leader. Rejects each batch that touches a stopped column family: the writer of
    /// the batch gets the background error. Writes all other batches, even if the leader's own batch is
    /// rejected.
    fn lead(
        &self,
        mut group: Group,
        mut leader_state: Box<LeaderState>,
        batch: &mut WriteBatch,
        hook: Option<&dyn WriteHook>,
    ) -> Result<()> {
        if let Err(error) = self.admit(&mut group, &mut leader_state, batch) {
            let own = self.refusal(batch.records());
            return self.reject_group(group, leader_state, error).map_err(|error| own.unwrap_or(error));
        }
        // Call `lead_admitted` at one place only: it is inlined here, and a second call cost 100 instructions a
        // write.
        let mut nothing = None;
        let (batch, hook, refused) = match self.refusal(batch.records()) {
            None => (batch, hook, None),
            Some(error) if group.writers() == 1 => return self.reject_group(group, leader_state, error),
            Some(error) => {
                group.lead_seqs = 0;
                (nothing.insert(WriteBatch::new()), None, Some(error))
            }
        };
        let outcome = self.lead_admitted(group, leader_state, batch, hook);
        // The followers have their own outcome from `Queue::finish`.
        refused.map_or(outcome, Err)
    }

    /// Ends a group of which nothing was written: every writer of the group gets `error`.
    #[cold]
    fn reject_group(&self, group: Group, leader_state: Box<LeaderState>, error: Error) -> Result<()> {
        self.queue.hand_over(leader_state);
        let outcome = Err(error);
        self.queue.finish(group, &outcome);
        outcome
    }

    /// Waits until the memtables and the WAL have room for the group. Then rejects the followers whose
    /// column families were stopped during the wait.
    #[inline]
    fn admit(&self, group: &mut Group, leader_state: &mut LeaderState, batch: &WriteBatch) -> Result<()> {
        self.check_open()?;
        batch.verify_protection()?;
        let bytes = batch.data_size() + group.records.len();
        let room = self.ensure_room(leader_state, bytes as u64, group.flags);
        if self.errors.is_partly_stopped() {
            self.queue.reject_followers(group, |records| self.refusal(records));
        }
        room
    }

    /// Writes a group in the fixed order: WAL, memtables, visible sequence number. With `enable_pipelined_write`,
    /// the leader hands the lead over before a long insert, so that the next group appends to the WAL meanwhile. The leader
    /// of a write that overlaps others hands the lead over before the sync.
    #[inline]
    fn lead_admitted(
        &self,
        mut group: Group,
        mut leader_state: Box<LeaderState>,
        batch: &mut WriteBatch,
        hook: Option<&dyn WriteHook>,
    ) -> Result<()> {
        let logged = self.log(&mut group, &mut leader_state, batch, hook);
        let outcome = match logged {
            Err(error) => {
                self.queue.hand_over(leader_state);
                Err(error)
            }
            Ok(first) if overlap::applies(self, &group, hook) => {
                overlap::finish(self, first, (&group, leader_state), batch, hook)
            }
            // A write with filled memtables also switches memtables, so it must lead until its end.
            Ok(first) if self.settings.pipelined && is_long_insert(&group, batch) && !has_filled(hook) => {
                let (ticket, last) = (leader_state.ticket, leader_state.last_seq);
                let merged = std::mem::take(&mut leader_state.scratch);
                self.queue.hand_over(leader_state);
                if !self.settings.concurrent_memtable {
                    self.publisher.wait_for(ticket - 1);
                }
                let applied = self.memtables(&group, first, batch, &merged, hook);
                self.publisher.publish(
                    ticket,
                    if applied.is_ok() { last } else { SequenceNumber::ZERO },
                    &self.sequence,
                );
                applied
            }
            Ok(first) => {
                if self.settings.pipelined && !self.settings.concurrent_memtable {
                    // A group that handed over the lead may still insert older entries of the same keys.
                    self.publisher.wait_for(leader_state.ticket - 1);
                }
                let merged = std::mem::take(&mut leader_state.scratch);
                let applied = self.memtables(&group, first, batch, &merged, hook);
                let (ticket, last) = (
                    leader_state.ticket,
                    if applied.is_ok() { leader_state.last_seq } else { SequenceNumber::ZERO },
                );
                if self.settings.pipelined {
                    self.publisher.publish(ticket, last, &self.sequence);
                } else {
                    self.publisher.publish_next(ticket, last, &self.sequence);
                }
                leader_state.scratch = merged;
                self.queue.hand_over(leader_state);
                applied
            }
        };
        self.queue.finish(group, &outcome);
        outcome
    }

    /// Runs `f` as the leader of a group without other writers. During this call no write is between its WAL append
    /// and its publication.
    pub fn alone<T>(&self, f: impl FnOnce(&mut LeaderState) -> T) -> Result<T> {
        match self.queue.join(Entry::alone()) {
            Role::Lead(group, mut leader_state) => {
                let out = self.as_leader(&mut leader_state, f);
                self.queue.hand_over(leader_state);
                self.queue.finish(group, &Ok(()));
                out
            }
            Role::Done(outcome) => {
                base::invariant!(
                    outcome.is_err(),
                    "a batch that must be alone was written by another leader"
                );
                Err(outcome
                    .err()
                    .unwrap_or_else(|| Error::aborted("a writer that must be alone did not become leader")))
            }
            Role::Insert(order) => {
                base::invariant!(false, "a batch that must be alone has a leader that is another writer");
                order.finish(Ok(()))?;
                Err(Error::aborted("a writer that must be alone did not become leader"))
            }
        }
    }

    /// Runs `f` as the leader, as [`Writer::alone`] does, but before all waiting writers and even while the current leader waits
    /// for room or for the end of `lock_wal`. So this call waits for no stall and for no lock. A resume uses it: the leader may
    /// wait for memory that only the resume can free, forever.
    fn alone_ahead<T>(&self, f: impl FnOnce(&mut LeaderState) -> T) -> Result<T> {
        let mut leader_state = self.queue.enter_ahead()?;
        let out = self.as_leader(&mut leader_state, f);
        self.queue.leave_ahead(leader_state);
        out
    }

    fn as_leader<T>(
        &self,
        leader_state: &mut LeaderState,
        f: impl FnOnce(&mut LeaderState) -> T,
    ) -> Result<T> {
        self.publisher.wait_for(leader_state.ticket);
        let out = self.check_open().map(|()| catch_unwind(AssertUnwindSafe(|| f(leader_state))));
        out?.map_err(|_| Error::aborted("the engine panicked while it led the writers"))
    }

    /// Switches the memtables of these column families and requests their flush. With `atomic_flush`, switches the
    /// memtables of all column families with data. Waits for the end of `lock_wal`.
    pub fn switch_for_flush(&self, families: &[Arc<Family>], reason: FlushReason) -> Result<()> {
        alone_unlocked(self, |leader_state| self.switch_as_leader(leader_state, families, reason))?
    }

    /// Switches the memtables of these column families and requests their flush. The caller leads the writers. With
    /// `atomic_flush`, switches the memtables of all column families with data.
    ///
    /// # Errors
    /// A failure to roll the WAL.
    pub fn switch_as_leader(
        &self,
        leader_state: &mut LeaderState,
        families: &[Arc<Family>],
        reason: FlushReason,
    ) -> Result<()> {
        if self.settings.atomic_flush {
            let all = self.switcher.with_data();
            return self.switch(leader_state, &all, reason);
        }
        self.switch(leader_state, families, reason)
    }

    /// Rolls the WAL, switches the active memtables of these column families that are not empty, and requests a
    /// flush. Waits until all earlier groups are visible. Only the leader may call this function.
    ///
    /// # Errors
    /// A failure to roll the WAL. Then no memtable is switched.
    fn switch(
        &self,
        leader_state: &mut LeaderState,
        victims: &[Arc<Family>],
        reason: FlushReason,
    ) -> Result<()> {
        let _step = Step::begin(Cause::MemtableSwitch);
        self.publisher.wait_for(leader_state.ticket);
        let switched = self.switcher.switch(leader_state.last_seq, victims, reason);
        switched.inspect_err(|error| self.faults.wal_found_failed(error))
    }

    /// Switches the memtables of these column families at one sequence number. The caller flushes all switched memtables in one
    /// job: this function requests no flush. If `lock_wal` has locked writes, the function switches nothing and returns false,
    /// even if a leader waits for the end of the lock.
    pub fn switch_together(&self, families: &[Arc<Family>]) -> Result<bool> {
        self.alone_ahead(|leader_state| {
            if self.controller.is_locked() {
                return Ok(false);
            }
            if families.iter().any(|f| !f.pin().mem.is_empty()) {
                let rolled = self.switcher.roll_wal();
                rolled.inspect_err(|error| self.faults.wal_found_failed(error))?;
            }
            self.switcher.switch_quietly(leader_state.last_seq, families, true);
            Ok(true)
        })?
    }

    /// Switches every memtable, starts a new WAL, and removes the failed WAL from the writer: the first step of a resume. With
    /// `together`, the immutable memtables wait for one flush with one commit. Waits for the end of `lock_wal`.
    ///
    /// `sections` gets the next sequence number, and returns the prepared sections to write again. Returns the WAL of these
    /// sections, which is not synced.
    ///
    /// # Errors
    /// A failure to roll the WAL. The error of `sections`.
    pub fn switch_all_for_recovery(
        &self,
        together: bool,
        sections: &dyn Fn(SequenceNumber) -> Result<Vec<(SequenceNumber, Vec<u8>)>>,
    ) -> Result<Option<WalNumber>> {
        unlocked::alone_ahead_unlocked(self, |leader_state| {
            let all = self.switcher.with_data();
            self.switcher.roll_wal()?;
            self.switcher.wals.clear_failure();
            let sections = sections(leader_state.last_seq + 1)?;
            let sections_wal = self.switcher.repeat_sections(&sections)?;
            self.switcher.switch_quietly(leader_state.last_seq, &all, together);
            if together {
                self.switcher.pass_failed_wal();
            }
            Ok(sections_wal)
        })?
    }

    /// Records in each column family without data in memory that it needs no WAL older than the active WAL. A
    /// resume calls this after it has flushed all memtables.
    pub fn pass_old_wals(&self) -> Result<()> {
        self.alone_ahead(|_| self.switcher.pass_empty_families(self.switcher.wals.active_number(), &[]))
    }

    /// Returns true if the database was ever written without the WAL since the open.
    pub fn has_unlogged(&self) -> bool {
        self.unlogged.load(Ordering::Relaxed)
    }

    /// Changes the total size of live WALs, in bytes, above which a write flushes the column families of the
    /// oldest WAL.
    pub fn set_wal_bytes_max(&self, bytes: u64) {
        self.wal_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Returns the controller that delays or stops writers.
    pub fn controller(&self) -> &Arc<Controller> {
        &self.controller
    }

    /// Rejects a leader after [`Writer::close`]: the WALs are closed then, and their files may belong to another
    /// process.
    #[inline]
    fn check_open(&self) -> Result<()> {
        if self.closing.load(Ordering::Acquire) {
            return Err(Error::shutdown_in_progress("the database is closed"));
        }
        Ok(())
    }

    /// Ends the waits of all stalled writers. A close calls this first, because its last flush needs the lead.
    pub fn end_stalls(&self) {
        self.controller.close();
        self.switcher.buffers.wake_all();
    }

    /// Wakes the stalled writers after a background error is set or cleared, so that they check again why they
    /// wait.
    pub fn wake_stalled(&self) {
        self.controller.wake();
        self.switcher.buffers.wake_all();
    }

    /// Ends writing. Returns after the current leader has ended. All later writers are rejected.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.end_stalls();
        // The call fails, because `closing` is set. But it first waits for the lead, so all earlier leaders have
        // ended.
        let _ = self.alone(|_| ());
    }
}

fn has_filled(hook: Option<&dyn WriteHook>) -> bool {
    hook.is_some_and(|hook| hook.filled().is_some())
}
