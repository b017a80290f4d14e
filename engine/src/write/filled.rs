//! Writes whose entries become memtables of their own: the commit of a large transaction.
//!
//! ```text
//!  fill   records ─► own memtables, sequence numbers from 1 on        concurrently with other writers
//!  lead   WAL ─► new WAL ─► new numbers ─► active and own memtables become immutable ─► visible ─► flush
//! ```
//! The active memtable of each column family is switched first: its entries are older. The new WAL lets the flush of the own
//! memtable release the WAL that has the write. If the new WAL cannot be made, the entries go to the active memtable.
//!
//! The own memtables are immutable before their entries are visible. A flush in between must not drop the older entries
//! that readers still see. So the write keeps the entries at the visible sequence number, as a snapshot does
//! ([`Snapshots::keep`]).
//!
//! A reader without a snapshot pins a super version first, and reads the visible sequence number then. The own
//! memtables hold all entries of a write, also the entries of a commit-time batch. So a super version of a column
//! family has either all entries of the write or no entry of the write.
//! Facts: RocksDB `db/db_impl/db_impl_write.cc`, `IngestWBWIAsMemtable`, and `memtable/wbwi_memtable.h`, which uses
//! the index of the batch as a memtable.

use std::any::Any;
use std::borrow::Cow;

use base::stats::Ticker;
use base::{Error, Result, SequenceNumber};
use mem::memtable::renumber;

use super::limits::check_memory;
use super::{WriteHook, Writer};
use crate::apply::{self, Markers, Missing};
use crate::batch::WriteBatch;
use crate::event::FlushReason;
use crate::options::WriteOptions;
use crate::prepared::Numbering;
use crate::sequence::Snapshots;
use crate::sync::{Arc, Mutex};

/// The memtables of one write, filled and not yet part of their column families.
pub struct FilledMemtables<'a> {
    /// The batches of the write, in the order of their sequence numbers.
    batches: Vec<&'a WriteBatch>,
    /// The sequence numbers that the batches take.
    seqs: u32,
    own: Mutex<Vec<apply::OwnMemtable>>,
    snapshots: &'a Arc<Snapshots>,
    /// Works as a snapshot: flushes keep the older entries until the batch is visible.
    kept: Mutex<Option<Box<dyn Any + Send + Sync>>>,
}

impl FilledMemtables<'_> {
    /// Returns the entries of the write as one batch in its stored form, for a trace.
    fn recorded(&self) -> Cow<'_, [u8]> {
        let mut batches = self.batches.iter().copied().filter(|batch| batch.count() > 0);
        match (batches.next(), batches.next()) {
            (Some(only), None) => Cow::Borrowed(only.bytes()),
            _ => {
                let mut all = WriteBatch::new();
                for batch in &self.batches {
                    all.append(batch);
                }
                Cow::Owned(all.bytes().to_vec())
            }
        }
    }
}

/// Fills and installs memtables, as a part of the write path.
#[derive(Clone, Copy)]
pub struct Filler<'w> {
    writer: &'w Writer,
}

impl<'w> Filler<'w> {
    /// Makes a view of the write path that fills memtables. Allocates nothing.
    pub fn new(writer: &'w Writer) -> Self {
        Filler { writer }
    }

    /// Fills own memtables with the entries of a batch, after the entries of `front`. Returns `None` if the batches must
    /// go to the active memtables: `batch` is empty, or a batch has range deletions, touches a column family with
    /// timestamps, or shares sequence numbers between its entries.
    ///
    /// # Errors
    /// InvalidArgument for a batch that cannot be written.
    pub fn fill<'a>(
        self,
        front: Option<&'a WriteBatch>,
        batch: &'a WriteBatch,
        options: &WriteOptions,
        snapshots: &'a Arc<Snapshots>,
    ) -> Result<Option<FilledMemtables<'a>>> {
        let batches: Vec<&WriteBatch> = front.into_iter().chain([batch]).collect();
        let is_unfit = |batch: &&WriteBatch| batch.contents().range_deletions || batch.has_timestamps();
        let separate = self.writer.settings.numbering == Numbering::PerBatch;
        if batch.count() == 0 || separate || batches.iter().any(is_unfit) {
            return Ok(None);
        }
        let missing = if options.ignore_missing_column_families { Missing::Skip } else { Missing::Refuse };
        let mut seqs = 0u32;
        for batch in &batches {
            batch.status()?;
            batch.verify_protection()?;
            check_memory(batch)?;
            apply::check(batch, &self.writer.switcher.families, missing, Markers::Refused)?;
            let sum = seqs.checked_add(batch.count());
            seqs = sum.ok_or_else(|| Error::invalid_argument("too many entries"))?;
        }
        let own =
            apply::to_own_memtables(&batches, &self.writer.switcher.families, missing == Missing::Skip)?;
        if own.is_empty() || own.iter().any(|(family, _)| family.order().user.timestamp_size() > 0) {
            return Ok(None);
        }
        Ok(Some(FilledMemtables { batches, seqs, own: Mutex::new(own), snapshots, kept: Mutex::new(None) }))
    }

    /// Writes `logged` to the WAL as every batch, and installs `filled`, which `hook` returns in [`WriteHook::filled`]. The
    /// entries of `logged` are in the filled memtables: nothing goes to the active memtables.
    ///
    /// # Errors
    /// The errors of [`Writer::write`].
    pub fn write(
        self,
        logged: &mut WriteBatch,
        filled: &FilledMemtables<'_>,
        options: &WriteOptions,
        hook: &dyn WriteHook,
    ) -> Result<()> {
        base::invariant!(
            hook.filled().is_some_and(|own| std::ptr::eq(own, filled)),
            "the hook of a write does not have the {} filled entries of the write",
            filled.seqs
        );
        if options.disableWAL {
            // `write_as` marks only the column families of `logged`.
            filled.own.lock().iter().for_each(|(family, _)| family.note_unlogged());
        }
        if self.writer.stats.trace.is_on() {
            self.writer.stats.trace.write(&filled.recorded());
        }
        self.writer.write_as(logged, filled.seqs, options, Some(hook))
    }

    /// Records the batch of a write group for a trace that keeps the order of the writes: the entries of the filled memtables of
    /// `hook`, or else `logged`.
    pub(super) fn record_in_order(self, hook: Option<&dyn WriteHook>, logged: &[u8]) {
        let trace = &self.writer.stats.trace;
        match hook.and_then(WriteHook::filled) {
            None => trace.write_in_order(logged),
            Some(filled) if trace.is_on() => trace.write_in_order(&filled.recorded()),
            Some(_) => {}
        }
    }

    /// Checks that no column family of the memtables is stopped. The leader calls this before the WAL append.
    pub(super) fn check(self, filled: &FilledMemtables<'_>) -> Result<()> {
        let families: Vec<_> = filled.own.lock().iter().map(|(family, _)| family.id()).collect();
        self.writer.errors.check_families(families)
    }

    /// Makes the filled memtables immutable memtables of their column families. The leader calls this after the WAL
    /// append and before the write is visible. `last` is the last sequence number of the write.
    ///
    /// # Errors
    /// An error of the memtables. The write is then in the WAL, and a memtable lacks entries.
    pub(super) fn install(self, filled: &FilledMemtables<'_>, last: SequenceNumber) -> Result<()> {
        base::invariant!(
            u64::from(filled.seqs) <= last.get(),
            "{} filled entries end at the sequence number {last}",
            filled.seqs
        );
        let offset = last - u64::from(filled.seqs);
        if let Err(error) = self.writer.switcher.roll_wal() {
            self.writer.faults.wal_found_failed(&error);
            self.writer
                .switcher
                .events
                .warn(format_args!("a large write goes to the active memtables: {error}"));
            let mut seq = offset + 1;
            for batch in &filled.batches {
                self.writer.insert(batch.bytes(), seq, None)?;
                seq += u64::from(batch.count());
            }
            return Ok(());
        }
        let visible = self.writer.sequence.visible();
        base::invariant!(
            visible <= offset,
            "filled entries follow the sequence number {offset}, and readers see {visible} already"
        );
        let kept = Snapshots::keep(filled.snapshots, visible);
        *filled.kept.lock() = Some(kept);
        let mut own = std::mem::take(&mut *filled.own.lock());
        base::invariant!(
            own.iter().all(|(_, mem)| !mem.is_empty()),
            "one of {} filled memtables is empty",
            own.len()
        );
        for (family, mem) in &mut own {
            // Only the leader switches memtables, so no other thread takes this id. A scan can still add a derived range
            // tombstone to an active memtable without entries: `State::switch_with` decides by the id.
            let id = family.state().next_immutable_id();
            let mem = Arc::get_mut(mem).ok_or_else(|| Error::aborted("a filled memtable is shared"))?;
            renumber(mem, id, offset)?;
            mem.make_immutable();
        }
        let families: Vec<_> = own.iter().map(|(family, _)| family.clone()).collect();
        let mut victims =
            if self.writer.settings.atomic_flush { self.writer.switcher.with_data() } else { Vec::new() };
        victims.retain(|victim| families.iter().all(|family| family.id() != victim.id()));
        victims.extend(families.iter().cloned());
        let wal = self.writer.switcher.wals.active_number();
        self.writer.switcher.switch_after(last, &victims, own, wal);
        // After the entries are in the column families, and before they are visible: until this call, an iterator of
        // an older state can record the range around a key as empty.
        filled.batches.iter().for_each(|batch| apply::report_live_keys(batch, &families));
        self.writer.switcher.flush_requests.flush_due(&victims, FlushReason::ExternalFileIngestion);
        self.writer.stats.add(Ticker::NumberWbwiIngest, 1);
        Ok(())
    }
}
