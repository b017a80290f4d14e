//! Replays one record of a WAL: its place in the sequence, its conversions, and its entries.
//!
//! Not here: what replay does about a fault (`findings`), and the bytes of the WAL (`wals`).

use base::{Error, FamilyId, Kind, Result, SequenceNumber, WalNumber, key};
use format::batch::{self, Batch};
use format::wal::Mark;

use super::super::flush::flush_family;
use super::super::prepared::{self, Outcome};
use super::super::separated;
use super::super::settings::ReplaySettings;
use super::{Fault, PASSED_OVER, Replay, Verdict};
use crate::apply::{self, Source};
use crate::options::WalRecoveryMode;
use crate::prepared::Numbering;

/// The result of a step that a fault of the record may end.
type Checked<T> = std::result::Result<T, Fault>;

impl Replay<'_> {
    /// Replays a record of `wal`. `older` has the written sizes of older WALs, if the record names them. `last_seq` becomes the
    /// sequence number of the batch.
    pub(super) fn record(
        &mut self,
        bytes: &[u8],
        wal: WalNumber,
        older: &[Mark],
        last_seq: &mut SequenceNumber,
    ) -> Checked<Verdict> {
        if bytes.len() < batch::HEADER_LEN {
            return Err(Fault::damage(Error::corruption("log record too small")));
        }
        let seq = batch::sequence(bytes);
        if seq.saturating_add(u64::from(batch::count(bytes))) > key::MAX_SEQUENCE {
            return Err(Fault::damage(Error::corruption(format!("sequence {seq} is too large"))));
        }
        self.find_place(seq, wal, older);
        base::invariant!(
            !self.dropping || self.done.stopped_at.is_some(),
            "replay drops the batch at {seq}, and stopped at no WAL"
        );
        // The resume that wrote this WAL did not finish: the older WALs still have the sections and their decisions.
        let is_repeated = self.repeats == Some(wal) && self.settings.min_wal < wal;
        if self.dropping {
            if !is_repeated {
                self.refused(wal);
            }
            return Ok(Verdict::EndOfWal);
        }
        Batch::new(bytes).and_then(|b| b.verify()).map_err(Fault::Fatal)?;
        if self.is_left_at_a_hole(seq, batch::count(bytes)) {
            return Ok(Verdict::Continue);
        }
        *last_seq = seq;
        if is_repeated {
            return Ok(Verdict::Continue);
        }
        let outcome = self.apply_converted(bytes, seq, wal)?;
        self.check_family(outcome.applied.unknown)?;
        if !outcome.repeated {
            self.advance(outcome, seq)?;
        }
        Ok(Verdict::Continue)
    }

    /// Decides whether a batch at `seq` continues the replayed records. Starts to drop batches if records before the batch
    /// are missing, and ends the dropping if none is missing. Some records take no sequence numbers, for example the sections of
    /// transactions. So the written sizes of older WALs decide before the sequence number does.
    fn find_place(&mut self, seq: SequenceNumber, wal: WalNumber, older: &[Mark]) {
        let short = older.iter().find(|mark| self.is_short(mark));
        if short.is_none() && (!older.is_empty() || self.continues(seq)) {
            self.dropping = false;
            self.cut_off = None;
            return;
        }
        let Some(short) = short.filter(|_| !self.dropping) else { return };
        let (older, bytes) = (WalNumber::of_file(short.file_number), short.bytes);
        if self.is_point_in_time() {
            self.tools.events.warn(format_args!(
                "WAL {:06} follows WAL {older:06}: {bytes} bytes were written to WAL {older:06}, and some of them are missing: dropped",
                wal
            ));
            self.stop(older);
        } else {
            // This recovery mode continues after the missing records. `damaged` makes this open flush the replayed
            // entries: otherwise a later open in a stricter mode would stop here, and drop the writes that follow
            // this open.
            self.done.damaged = true;
            self.tools.events.warn(format_args!(
                "{PASSED_OVER}WAL {:06} follows WAL {older:06}: {bytes} bytes were written to WAL {older:06}, and some of them are missing",
                wal
            ));
            self.set_in_doubt(older);
        }
    }

    /// Applies a batch as the open sees it: keys with the timestamps of today's options, the changes of the WAL filter, and
    /// values in the place of references to blob files.
    fn apply_converted(&mut self, bytes: &[u8], seq: SequenceNumber, wal: WalNumber) -> Checked<Outcome> {
        let converted = self.timestamps.converted(bytes, self.families).map_err(|error| {
            if error.is_corruption() { Fault::damage(error) } else { Fault::Fatal(error) }
        })?;
        self.done.has_changed_timestamps |= converted.is_some();
        let bytes = converted.as_deref().unwrap_or(bytes);
        let filtered = self.filter(bytes, wal)?;
        let replayed = filtered.as_deref().unwrap_or(bytes);
        let inlined = self.blobs.inlined(replayed, wal, self.tools, self.families)?;
        self.done.has_read_blobs |= inlined.is_some();
        let replayed = inlined.as_deref().unwrap_or(replayed);
        base::invariant!(
            batch::sequence(replayed) == seq,
            "a batch at {seq} has the sequence number {} after its conversion",
            batch::sequence(replayed)
        );
        match self.apply(replayed, wal, Source::recovered(wal)) {
            Ok(mut outcome) => {
                if filtered.is_some() {
                    // The sequence numbers of the entries that a filter dropped are not used again.
                    outcome.next_counted = outcome.next_counted.max(seq + u64::from(batch::count(bytes)));
                }
                Ok(outcome)
            }
            Err(error) if error.kind() == Kind::NotSupported => Err(Fault::Fatal(error)),
            // The memtable contains an entry with this key and this sequence number already.
            Err(error) if error.kind() == Kind::TryAgain => {
                let next = self.next_seq.unwrap_or(seq);
                Err(Fault::Fatal(Error::corruption(format!(
                    "sequence numbers go backwards: {seq} after {next} ({})",
                    error.message()
                ))))
            }
            Err(error) => Err(Fault::damage(error)),
        }
    }

    /// Moves the next sequence number to the end of a batch at `seq` that was applied. Flushes memtables if they are full.
    fn advance(&mut self, outcome: Outcome, seq: SequenceNumber) -> Checked<()> {
        let Outcome { applied, next_counted, unknown_count, .. } = outcome;
        if let Some(next) = self.next_seq.filter(|next| applied.next_seq < *next) {
            return Err(Fault::Fatal(Error::corruption(format!(
                "sequence numbers go backwards: {} after {next}",
                applied.next_seq
            ))));
        }
        base::invariant!(
            applied.next_seq >= seq && applied.next_seq <= key::MAX_SEQUENCE + 1,
            "a batch at {seq} moves the next sequence number to {}",
            applied.next_seq
        );
        self.next_seq = Some(applied.next_seq);
        self.next_counted = (!unknown_count).then_some(next_counted);
        self.done.records += 1;
        let crowded = self.settings.memory_max.is_some_and(|most| self.memory_used() >= most);
        if (applied.memtable_full || crowded) && self.settings.may_flush {
            self.flush_full(crowded).map_err(Fault::Fatal)?;
        }
        Ok(())
    }

    /// Returns the batch that the WAL filter puts in the place of `bytes`. A WAL that a filter changed is never replayed
    /// again: its entries are flushed.
    fn filter(&mut self, bytes: &[u8], wal: WalNumber) -> Checked<Option<Vec<u8>>> {
        let Some(filter) = &mut self.filter else { return Ok(None) };
        let filtered = filter.record(bytes, wal, &self.tools.paths.wal(wal)).map_err(|error| {
            if error.kind() == Kind::NotSupported { Fault::Fatal(error) } else { Fault::damage(error) }
        })?;
        self.done.damaged |= filtered.is_some();
        Ok(filtered)
    }

    /// Applies a batch, and collects or resolves prepared transactions.
    fn apply(&mut self, bytes: &[u8], wal: WalNumber, source: Source<'_>) -> Result<Outcome> {
        let batch = Batch::new(bytes)?;
        let has_markers = prepared::has_markers(&batch);
        let unmarked = || !has_markers && separated::ends_with_placeholder(&batch);
        if self.settings.policy.numbering() == Numbering::PerBatch || unmarked() {
            let ReplaySettings { two_phase, policy, .. } = self.settings;
            let (tools, families) = (self.tools, self.families);
            let repeats = self.repeats == Some(wal);
            let place = separated::ReplayContext { tools, families, two_phase, policy, wal, repeats };
            return self.sections.replay_separated(batch, place, source);
        }
        if has_markers {
            return self.sections.replay(batch, self.settings.two_phase, wal, self.families, source);
        }
        let applied = apply::batch(bytes, batch.sequence(), self.families, source)?;
        let next_counted = batch.sequence() + u64::from(batch.count());
        Ok(Outcome { applied, next_counted, ..Outcome::default() })
    }

    /// Returns true for an empty batch that an earlier recovery wrote where it stopped at a hole, if this replay
    /// continued after the hole.
    fn is_left_at_a_hole(&self, seq: SequenceNumber, count: u32) -> bool {
        let skips = self.settings.mode == WalRecoveryMode::SkipAnyCorruptedRecords;
        skips && count == 0 && self.next_seq.is_some_and(|next| seq < next)
    }

    /// Checks the newest unknown column family of a batch. An id above all ids of the MANIFEST proves that an edit
    /// of the MANIFEST is lost: ids are never reused, and this edit added the column family.
    fn check_family(&self, unknown: Option<FamilyId>) -> Checked<()> {
        let lost = |id: &FamilyId| self.settings.max_family.is_some_and(|max| *id > max);
        let Some(id) = unknown.filter(lost) else { return Ok(()) };
        let what = format!(
            "writes for column family {id}, which the last record of the MANIFEST must have added: this record cannot be read"
        );
        if self.settings.accept_lost {
            self.tools.events.warn(format_args!("{what}"));
            return Ok(());
        }
        let hint = format!("{what} (open_despite_lost_writes=true opens the database without them)");
        Err(Fault::Fatal(Error::corruption(hint).with_data_loss(true)))
    }

    /// Returns true if a record that was written to an older WAL is missing. With a concurrent writer, the
    /// record may only have been missing at the time of the read. The replayed state is then an earlier
    /// state of the database, and the caller decides whether to read again.
    fn is_short(&self, mark: &Mark) -> bool {
        let wal = WalNumber::of_file(mark.file_number);
        let read = self.replayed.get(&wal);
        wal >= self.settings.min_wal
            && !self.waived.contains(&wal)
            && read != Some(&(mark.bytes, mark.digest))
    }

    /// Returns true if no record is missing between the replayed records and a batch at `seq`. If nothing was
    /// replayed, the batch must follow the last sequence number of the MANIFEST, as after a recovery. If the batch names older
    /// WALs, its sequence number proves nothing: the MANIFEST may know the sequence number of a record that these WALs have lost.
    fn continues(&self, seq: SequenceNumber) -> bool {
        let next = self.next_seq.unwrap_or(self.settings.last_seq + 1);
        (next..=self.next_counted.map_or(key::MAX_SEQUENCE, |counted| next.max(counted))).contains(&seq)
    }

    /// Returns the memory of all memtables in bytes.
    fn memory_used(&self) -> usize {
        self.families.all().iter().map(|family| family.pin().mem.memory_used()).sum()
    }

    /// Flushes full memtables to SST files, so that replay stays within its memory limit. With `all`,
    /// flushes every memtable that has entries.
    fn flush_full(&mut self, all: bool) -> Result<()> {
        base::invariant!(
            self.settings.may_flush,
            "a read-only replay of {} records writes SST files",
            self.done.records
        );
        for family in self.families.all() {
            family.trim_history(false);
            let full = {
                let pin = family.pin();
                pin.parts.is_full(&pin.mem).is_some() || (all && !pin.mem.is_empty())
            };
            if full {
                let files = flush_family(self.tools, self.tables, self.job, &family)?;
                self.done.files.extend(files.into_iter().map(|f| (family.id(), f)));
            }
        }
        Ok(())
    }
}
