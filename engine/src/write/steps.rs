//! The steps of a write group: sequence numbers and WAL append, sync, insert into the memtables.
//!
//! The order of the steps is in `write`: `Writer::lead_admitted`. Not here: who leads, and the wait for room.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::stats::{Cause, HistogramKind, PerfCounter, PerfLevel, PerfTimer, Step, Ticker};
use base::{Error, Result, SequenceNumber};
use env::rate::{Direction, IoPriority};
use format::batch as encoding;

use super::group::{Group, LeaderState};
use super::hook::{Parts, WriteHook};
use super::limits::check_sequence_room;
use super::{Filler, Writer, direct, overlap};
use crate::apply::{self, Applied, Missing, Source};
use crate::batch::WriteBatch;
use crate::prepared::Numbering;
use crate::stats::{DatabaseCounter, Stats};
use crate::sync::Ordering;
use crate::wal::gather::Gather;

impl Writer {
    /// Gives the group its sequence numbers and appends the group to the WAL. Returns the first sequence number of
    /// the group.
    pub(super) fn log(
        &self,
        group: &mut Group,
        leader_state: &mut LeaderState,
        batch: &mut WriteBatch,
        hook: Option<&dyn WriteHook>,
    ) -> Result<SequenceNumber> {
        let bytes = batch.data_size() + group.records.len();
        let writers = group.writers() as u64;
        let time = PerfTimer::start(PerfCounter::WritePreAndPostProcessTime);
        let overlaps = overlap::applies(self, group, hook);
        if let Some(hook) = hook
            && !overlaps
        {
            check_hook(self, hook, leader_state)?;
        }
        let first = leader_state.last_seq + 1;
        base::invariant!(
            self.sequence.visible() < first,
            "the sequence number {first} is allocated, and readers see {} already",
            self.sequence.visible()
        );
        let parts = hook.map_or(Parts::All, WriteHook::parts);
        let (count, seqs) = match parts {
            Parts::WalOnly => (0, 0),
            Parts::All | Parts::Marked | Parts::WalPrefix { .. } => (
                u64::from(batch.count()) + u64::from(group.count),
                u64::from(group.lead_seqs) + u64::from(group.seqs),
            ),
        };
        check_sequence_room(first, seqs)?;
        batch.set_sequence(first);
        let mut merged = merge(&mut leader_state.scratch, group, batch, (parts, count as u32));
        time.stop();
        let records = if merged { &leader_state.scratch[..] } else { batch.bytes() };
        Filler::new(self).record_in_order(hook, records);
        if let Some(moved) = direct::move_values(self, (&*batch, hook), records)? {
            leader_state.scratch = moved;
            (merged, group.has_moved_values) = (true, true);
        }
        if group.flags.disable_wal {
            self.unlogged.store(true, Ordering::Relaxed);
        } else {
            let part = batch.has_wal_end().then(|| batch.wal_part());
            let record = match &part {
                Some(part) => part,
                None if merged => &leader_state.scratch[..],
                None => batch.bytes(),
            };
            let synced = (group.flags.sync && !overlaps).then_some(&mut leader_state.gather);
            append(self, group, (record, first), synced)?;
            if let Some(hook) = hook
                && !overlaps
            {
                hook.logged(self.switcher.wals.end(), first, seqs);
            }
        }
        let _time = PerfTimer::start(PerfCounter::WritePreAndPostProcessTime);
        leader_state.last_seq += seqs;
        leader_state.ticket += 1;
        leader_state.gather.record_group(if group.may_gather() { group.syncs } else { 0 });
        count_group(&self.stats, bytes as u64, count, writers);
        Ok(first)
    }

    fn sync_wal(&self, gather: &mut Gather) -> Result<()> {
        let began = self.stats.begin();
        let step = Step::begin(Cause::WalSync);
        let start = self.env.clock.now_nanos();
        self.switcher.wals.sync()?;
        gather.record_sync(self.env.clock.nanos_since(start));
        step.stop();
        self.stats.end(began, HistogramKind::WalFileSyncMicros);
        self.stats.add(Ticker::WalFileSynced, 1);
        self.stats.database.add(DatabaseCounter::WalSyncs, 1);
        Ok(())
    }

    /// Inserts the batches of the group into the memtables, then calls the hook. If the followers have much to
    /// insert, each writer inserts its own batch. Otherwise the leader inserts all batches: `merged` holds them if
    /// there are followers, or if values are in blob files.
    pub(super) fn memtables(
        &self,
        group: &Group,
        first: SequenceNumber,
        batch: &WriteBatch,
        merged: &[u8],
        hook: Option<&dyn WriteHook>,
    ) -> Result<()> {
        // Filled memtables have the entries of the batch.
        let wal_only = hook.is_some_and(|hook| hook.parts() == Parts::WalOnly || hook.filled().is_some());
        base::invariant!(first > SequenceNumber::ZERO, "a write group begins at the sequence number 0");
        let applied = if wal_only {
            Ok(())
        } else if self.settings.concurrent_memtable && group.shared() {
            let parallel_insert = self.queue.insert_together(group, first + u64::from(group.lead_seqs));
            let own = self.insert(batch.bytes(), first, None);
            parallel_insert.join().and(own.map(|_| ()))
        } else {
            let is_own = group.records.is_empty() && !group.has_moved_values;
            let (bytes, protection) =
                if is_own { (batch.bytes(), batch.protection()) } else { (merged, None) };
            self.insert(bytes, first, protection).map(|_| ())
        };
        let last = (first + u64::from(group.lead_seqs)).previous();
        let applied = match hook.and_then(WriteHook::filled) {
            None => applied,
            // The application's comparator runs in this call, and may panic.
            Some(filled) => applied.and_then(|()| {
                catch_unwind(AssertUnwindSafe(|| Filler::new(self).install(filled, last)))
                    .unwrap_or_else(|_| Err(Error::aborted("installing filled memtables panicked")))
            }),
        };
        if let Err(error) = &applied {
            self.faults.memtable_failed(error);
        }
        applied?;
        match hook {
            None => Ok(()),
            Some(hook) => catch_unwind(AssertUnwindSafe(|| hook.before_visible(last)))
                .unwrap_or_else(|_| Err(Error::aborted("a write hook panicked"))),
        }
    }

    /// Inserts a batch into the memtables. Skips the entries of a missing column family: it was dropped after the
    /// batch was checked. An error would stop the database, because the batch is already in the WAL.
    pub(super) fn insert(
        &self,
        bytes: &[u8],
        seq: SequenceNumber,
        protection: Option<&[u64]>,
    ) -> Result<Applied> {
        let _time = PerfTimer::start_at(PerfCounter::WriteMemtableTime, PerfLevel::EnableWait);
        // Also a short insert can be slow: the first touch of a huge page of the memtable took 6 ms on a virtual machine.
        let _step = Step::begin(Cause::MemtableInsert);
        // If groups insert concurrently, an earlier group may still be inserting older merge operands of the key.
        let by_settings = self.settings.pipelined && self.settings.concurrent_memtable;
        let in_order = !by_settings && !self.publisher.any_overlapping();
        // With `PerBatch`, a merge at the write could use an entry of an undecided transaction as its base.
        let numbering = self.settings.numbering;
        let merger = (in_order && numbering == Numbering::PerEntry).then_some(&*self.merger);
        let (missing, buffers) = (Missing::Skip, Some(&self.switcher.buffers));
        let source = Source { missing, wal: None, buffers, merger, protection, numbering };
        // The application's comparator runs in this call. If its panic were not caught, the writers of the group
        // would wait forever.
        let applied =
            catch_unwind(AssertUnwindSafe(|| apply::batch(bytes, seq, &self.switcher.families, source)));
        let done = applied.unwrap_or_else(|_| Err(Error::aborted("inserting into a memtable panicked")))?;
        base::invariant!(
            numbering == Numbering::PerBatch || done.next_seq <= seq + u64::from(encoding::count(bytes)),
            "a batch of {} entries at {seq} ends before the sequence number {}",
            encoding::count(bytes),
            done.next_seq
        );
        base::invariant!(done.next_seq >= seq, "a batch at {seq} ends at {}", done.next_seq);
        if done.updated > 0 {
            self.stats.add(Ticker::NumberKeysUpdated, done.updated);
        }
        if done.memtable_full {
            self.memtable_full.store(true, Ordering::Relaxed);
        }
        if done.deleted_many {
            self.switcher.flush_requests.look_for_empty_ranges();
        }
        Ok(done)
    }
}

/// Asks the hook of the leader if its batch may be written. The hook looks for newer writes in the memtables, so all earlier
/// groups must be in the memtables.
fn check_hook(writer: &Writer, hook: &dyn WriteHook, leader_state: &LeaderState) -> Result<()> {
    writer.publisher.wait_for(leader_state.ticket);
    let checked = catch_unwind(AssertUnwindSafe(|| hook.check(leader_state.last_seq)));
    checked.unwrap_or_else(|_| Err(Error::aborted("a write hook panicked")))?;
    hook.filled().map_or(Ok(()), |filled| Filler::new(writer).check(filled))
}

/// Puts the WAL record of a group together in `scratch`. `count` is the number of counted records of the group. Returns
/// false if the batch of the leader is the whole record.
#[inline(always)]
fn merge(scratch: &mut Vec<u8>, group: &Group, batch: &WriteBatch, (parts, count): (Parts, u32)) -> bool {
    if !group.records.is_empty() {
        base::invariant!(
            count >= batch.count(),
            "a group counts {count} entries, and the batch of its leader {}",
            batch.count()
        );
        scratch.clear();
        scratch.extend_from_slice(batch.bytes());
        scratch.extend_from_slice(&group.records);
        encoding::set_count(scratch, count);
        return true;
    }
    let Parts::WalPrefix { len, count } = parts else { return false };
    copy_prefix(batch, (len, count), scratch);
    true
}

/// Appends the record of a group to the WAL, and syncs the WAL if the group waits for a sync: `synced` measures the sync.
#[inline(always)]
fn append(
    writer: &Writer,
    group: &Group,
    (record, first): (&[u8], SequenceNumber),
    synced: Option<&mut Gather>,
) -> Result<()> {
    if group.flags.charged
        && let Some(limiter) = &writer.settings.rate_limiter
    {
        let statistics = writer.stats.statistics().map(|s| &**s);
        let _step = Step::begin(Cause::RateLimiter);
        limiter.charge(record.len() as u64, IoPriority::User, Direction::Write, statistics);
    }
    base::invariant!(
        encoding::sequence(record) == first,
        "a record with the sequence number {} is appended at {first}",
        encoding::sequence(record)
    );
    let time = PerfTimer::start(PerfCounter::WriteWalTime);
    let step = Step::begin(Cause::WalWrite);
    let logged = writer.switcher.wals.append(record, first, &writer.switcher.families.timestamped());
    let logged = logged.and_then(|_| synced.map_or(Ok(()), |gather| writer.sync_wal(gather)));
    step.stop();
    time.stop();
    count_logged(&writer.stats, record.len() as u64, group.writers() as u64);
    logged.inspect_err(|error| writer.faults.wal_failed(error))
}

/// Sets `record` to the first `len` bytes of the batch, which hold `count` counted records.
fn copy_prefix(batch: &WriteBatch, (len, count): (usize, u32), record: &mut Vec<u8>) {
    base::invariant!(
        len <= batch.bytes().len() && count <= batch.count(),
        "the WAL gets {len} bytes and {count} entries of a batch with {} and {}",
        batch.bytes().len(),
        batch.count()
    );
    record.clear();
    record.extend_from_slice(&batch.bytes()[..len]);
    encoding::set_count(record, count);
}

/// Counts a WAL record. Only the leader calls this function, so the counters need no locked instruction.
#[inline]
fn count_logged(stats: &Stats, bytes: u64, writers: u64) {
    base::invariant!(writers > 0, "a record of no writer is counted");
    let database = &stats.database;
    database.add_alone(DatabaseCounter::WalBytes, bytes);
    database.add_alone(DatabaseCounter::WritesWithWal, writers);
    if let Some(statistics) = stats.statistics() {
        statistics.add(Ticker::WalFileBytes, bytes);
        statistics.add(Ticker::WriteWithWal, writers);
    }
}

/// Counts a write group, with or without a WAL record. Only the leader calls this function.
#[inline]
fn count_group(stats: &Stats, bytes: u64, keys: u64, writers: u64) {
    base::invariant!(writers > 0, "a write group of no writer is counted");
    let database = &stats.database;
    database.add_alone(DatabaseCounter::UserBytes, bytes);
    database.add_alone(DatabaseCounter::UserKeys, keys);
    database.add_alone(DatabaseCounter::WritesBySelf, 1);
    if writers > 1 {
        database.add_alone(DatabaseCounter::WritesByOther, writers - 1);
    }
    if let Some(statistics) = stats.statistics() {
        statistics.add(Ticker::NumberKeysWritten, keys);
        statistics.add(Ticker::BytesWritten, bytes);
        statistics.measure(HistogramKind::BytesPerWrite, bytes);
        statistics.add(Ticker::WriteDoneBySelf, 1);
        if writers > 1 {
            statistics.add(Ticker::WriteDoneByOther, writers - 1);
        }
    }
}
