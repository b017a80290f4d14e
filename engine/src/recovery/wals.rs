//! Replays the WALs, oldest first, by the rules of `wal_recovery_mode`.
//!
//! `rules` has the table of these rules: what replay does after a torn end, a hole, damage and old records.
//!
//! **Holes.** Zeros between records are a hole. No writer leaves a hole, so a hole counts as a torn end. Only the last mode
//! continues after a hole. RocksDB continues in all four modes, without a message. Zeros within a record are damage.
//!
//! **Damage.** In point-in-time mode, a record is damaged if it would be valid with one other bit or another length,
//! because no crash has this effect. Damage fails the open, as in the first two modes. With `paranoid_checks = false` the
//! open continues. Damage below the durable size of a WAL, or a missing durable WAL, fails the open in all modes except
//! the last. `durable` says how the durable size is known, and how to open the database nevertheless.
//!
//! **Incomplete WALs.** If a crash cut a WAL exactly between two records, or left zeros at its end, the WAL looks
//! complete. The first batch of the next WAL carries a mark with the written size of the older WAL (`format::wal::mark`;
//! WALs of RocksDB have this size only with `track_and_verify_wals`). If the mark shows missing records, and the batch
//! does not have the next sequence number, replay stops, also with `paranoid_checks = false`, because this is not damage.
//! Replay continues only after a WAL whose damage was skipped.
//!
//! **Sequence numbers.** If the last batch has empty range deletions, two numbers count as the next sequence number. A
//! writer counts empty range deletions, and applying a batch does not count them. RocksDB accepts only the second number,
//! and drops durable writes after such a batch.
//!
//! **Invalid batches.** Two faults fail the open in every mode, because no crash produces them: a write batch that does
//! not decode, and a write batch that moves the sequence number backwards. A batch that repeats an entry (the same key and
//! the same sequence number, as in a WAL whose last records are there twice) counts as the second fault. There is
//! one exception: `kSkipAnyCorruptedRecords` skips an empty write batch that moves the sequence number backwards. A
//! recovery that stops at a hole writes this batch. If the process crashes before the WALs after the hole are
//! deleted, the next recovery reads those WALs, then the empty batch.
//!
//! **Recycled files.** After the end that a close proved, the file of a recycled WAL holds remains of older records.
//! Absolute consistency accepts these remains. RocksDB refuses them, unless they happen to start with a valid record.
//!
//! **Values in blob files.** If a record refers to values in blob files, replay reads the values: see `inline_blobs`.
//!
//! The info log reports each dropped part with file, offset and bytes. Source: RocksDB `db/db_impl/db_impl_open.cc`.

use std::path::Path;

use base::map::{HashMap, HashSet};
use base::{Error, FamilyId, FileNumber, Kind, Result, SequenceNumber, key};
use env::ReadHints;
use format::batch::{self, Batch};
use format::proof::Extent;
use format::wal::{HOLE, Item, Mark, Predecessor, Reader, marks_of};

use super::durable::{self, Durable};
use super::filter::Filtering;
use super::flush::flush_family;
use super::inline_blobs::{InlineBlobs, Unread};
use super::prepared::{self, Outcome, Sections};
use super::rules::Finding;
use super::separated;
use super::settings::{ReplaySettings, Replayed};
use super::tail::Tail;
use super::timestamps::RecordedSizes;
use crate::apply::{self, Source};
use crate::components::WalFilter;
use crate::family::FamilySet;
use crate::manifest::FileSource;
use crate::options::WalRecoveryMode;
use crate::output::JobTools;
use crate::prepared::Numbering;
use crate::source::TableCache;
use crate::sync::Arc;

mod checks;
mod findings;

/// Start of each line of the info log about a record that replay skipped.
const PASSED_OVER: &str = "(ignoring error) ";

/// A replay of WALs in progress.
pub struct Replay<'a> {
    tools: &'a JobTools,
    tables: &'a TableCache,
    families: &'a FamilySet,
    settings: ReplaySettings,
    job: base::ids::JobId,
    next_seq: Option<SequenceNumber>,
    /// The next sequence number as the header of the last batch counts it. It is larger than `next_seq` if the
    /// batch has empty range deletions: a writer counts them, and applying the batch does not. `None` after a
    /// commit whose prepared section is gone: the number of its records is not known.
    next_counted: Option<SequenceNumber>,
    /// Prepared transactions that wait for commit or rollback.
    sections: Sections,
    /// True after replay has stopped: it drops batches until a batch shows that no record is missing.
    dropping: bool,
    /// The WAL where replay was cut off, until a later WAL proves that it continues from this point.
    cut_off: Option<FileNumber>,
    /// The previous WAL, the size of its file, and the end of its last valid record.
    previous: Option<(Predecessor, u64)>,
    /// For each replayed WAL: the end of its last valid record, and the digest at this end.
    replayed: HashMap<FileNumber, (u64, u32)>,
    /// WALs in which replay skipped bytes.
    waived: HashSet<FileNumber>,
    durable: Durable<'a>,
    /// The WAL that is read, if it repeats the sections of older WALs.
    repeats: Option<FileNumber>,
    /// The sizes of timestamps that the WAL that is read has stated.
    timestamps: RecordedSizes,
    /// Reads the values that records of the WALs refer to.
    blobs: InlineBlobs,
    /// The WAL filter of the application.
    filter: Option<Filtering>,
    done: Replayed,
}

/// Whether replay reads more records of this WAL.
enum Verdict {
    Continue,
    EndOfWal,
}

impl<'a> Replay<'a> {
    /// Makes a replay that has read no WAL. `job` is the id in the lines of the info log.
    pub fn new(
        tools: &'a JobTools,
        tables: &'a TableCache,
        families: &'a FamilySet,
        settings: ReplaySettings,
        job: base::ids::JobId,
    ) -> Self {
        let accept = settings.accept_lost
            || !settings.paranoid_checks
            || settings.mode == WalRecoveryMode::SkipAnyCorruptedRecords;
        let durable = Durable::new(tools, &settings, accept);
        Replay {
            tools,
            tables,
            families,
            settings,
            durable,
            job,
            next_seq: None,
            next_counted: Some(SequenceNumber::ZERO),
            sections: Sections::default(),
            dropping: false,
            cut_off: None,
            previous: None,
            replayed: HashMap::default(),
            waived: HashSet::default(),
            repeats: None,
            timestamps: RecordedSizes::default(),
            blobs: InlineBlobs::default(),
            filter: None,
            done: Replayed::default(),
        }
    }

    /// Lets the WAL filter of the application decide about each record.
    pub fn with_filter(mut self, filter: Option<Arc<dyn WalFilter>>) -> Self {
        self.filter = filter.map(|filter| Filtering::new(filter, self.families));
        self
    }

    /// Replays these WALs, oldest first, into the memtables of the column families.
    ///
    /// # Errors
    /// A fault that the recovery mode does not accept, with file and offset.
    pub fn run(mut self, wals: &[FileNumber]) -> Result<Replayed> {
        for (i, wal) in wals.iter().enumerate() {
            let path = self.tools.paths.wal(*wal);
            base::invariant!(i == 0 || wals[i - 1] < *wal, "WAL {} is replayed after a newer WAL", wal);
            self.done.max_wal = self.done.max_wal.max(*wal);
            self.replay_wal(*wal, &path, &wals[i + 1..])
                .map_err(|e| e.doing("replaying a WAL").file(&path))?;
        }
        base::invariant!(
            self.done.extents.len() == wals.len(),
            "{} WALs were replayed, and {} of them have an extent",
            wals.len(),
            self.done.extents.len()
        );
        base::invariant!(
            !self.dropping || (self.done.damaged && self.done.stopped_at.is_some()),
            "replay drops records without a finding, and stopped at {:?}",
            self.done.stopped_at
        );
        self.durable.finish()?;
        if self.dropping {
            self.check_consistency()?;
        }
        if let Some(next) = self.next_seq {
            // A WAL of damaged bytes may hold only a batch of sequence number 0 without entries.
            self.done.last_seq = next.max(self.next_counted.unwrap_or(SequenceNumber::ZERO)).previous();
        }
        self.done.prepared = self.sections.into_waiting();
        base::invariant!(
            self.done.proved.len() <= self.done.extents.len(),
            "{} WALs were replayed, and {} of them are proved",
            self.done.extents.len(),
            self.done.proved.len()
        );
        if self.done.damaged || !self.done.prepared.is_empty() {
            self.done.tail = None;
        }
        Ok(self.done)
    }

    fn replay_wal(&mut self, wal: FileNumber, path: &Path, later: &[FileNumber]) -> Result<()> {
        let file = self.tools.env.fs.open_random(path, &ReadHints::default())?;
        let size = file.size()?;
        self.tools.events.info(format_args!("Recovering log #{} mode {}", wal, self.settings.mode as u8));
        let mut reader = Reader::new(FileSource(file), durable::options(wal));
        self.timestamps = RecordedSizes::new(self.families);
        let mut progress = self.durable.begin(wal);
        let mut last_in_wal = SequenceNumber::ZERO;
        let was_dropping = self.dropping;
        // The offset of the first old record, while replay skips old records.
        let mut older_at: Option<u64> = None;
        loop {
            let (verdict, offset, marks) = match reader.next()? {
                Item::Record { bytes, offset, .. } => {
                    if let Some(from) = older_at.take() {
                        self.tools.events.warn(format_args!(
                            "{PASSED_OVER}WAL {:06} has records of the former WAL of the recycled file from {from} to {offset}: its own records there are lost",
                            wal
                        ));
                    }
                    let marks = marks_of(bytes);
                    self.note_manifest(marks.as_ref().and_then(|marks| marks.manifest));
                    if marks.as_ref().is_some_and(|marks| marks.repeats) {
                        self.repeats = Some(wal);
                    }
                    let older = marks.as_ref().map_or(&[][..], |marks| &marks.written);
                    let verdict = match self.record(bytes, wal, older, &mut last_in_wal) {
                        Ok(verdict) => verdict,
                        Err(Fault::Report(finding, error)) => {
                            self.durable.end(
                                wal,
                                &progress,
                                &reader,
                                Some((offset, error.message())),
                                later,
                            )?;
                            self.handle(wal, finding, error.at(offset))?
                        }
                        Err(Fault::Fatal(error)) => return Err(error.at(offset)),
                    };
                    (verdict, offset, marks)
                }
                Item::TornTail { offset, dropped, .. } => {
                    self.fault(
                        wal,
                        &progress,
                        &reader,
                        offset,
                        "a record is longer than the rest of the file",
                        later,
                    )?;
                    let finding = self.classify(Finding::TornEnd, reader.is_recycled(), &progress, &reader);
                    let error = format!("the WAL ends in the middle of a record; {dropped} bytes are lost");
                    let verdict = self.handle(wal, finding, Error::corruption(error).at(offset))?;
                    (verdict, offset, None)
                }
                Item::Corruption(damage) => {
                    self.fault(wal, &progress, &reader, damage.offset, &damage.reason, later)?;
                    let finding = self.classify(Finding::Damage, damage.recycled, &progress, &reader);
                    let error = Error::corruption(damage.reason).at(damage.offset);
                    let verdict = self.handle(wal, finding, error)?;
                    (verdict, damage.offset, None)
                }
                Item::OldRecord { offset, .. } => {
                    self.fault(
                        wal,
                        &progress,
                        &reader,
                        offset,
                        "a record of the former WAL of a recycled file",
                        later,
                    )?;
                    older_at.get_or_insert(offset);
                    let error = Error::corruption("a record of the former WAL of a recycled file").at(offset);
                    (self.handle(wal, Finding::OldRecord, error)?, offset, None)
                }
                Item::Hole { offset } => {
                    self.durable.end(wal, &progress, &reader, Some((offset, HOLE)), later)?;
                    match self.handle(wal, Finding::Hole, Error::corruption(HOLE).at(offset))? {
                        Verdict::Continue => continue,
                        Verdict::EndOfWal => break,
                    }
                }
                Item::TimestampSizes { sizes, offset } => {
                    self.timestamps.add(&sizes, self.families);
                    (Verdict::Continue, offset, None)
                }
                Item::Predecessor { info, offset } => match self.predecessor_fault(&info) {
                    Some(error) if self.verifies_predecessors() => {
                        // The damage is in the older WAL. But replay may stop here, so check that no durable record of
                        // this WAL is lost.
                        let behind = reader.whole_end();
                        self.durable.end(wal, &progress, &reader, Some((behind, error.message())), later)?;
                        (self.handle(wal, Finding::Damage, error.at(offset))?, offset, None)
                    }
                    fault => {
                        self.done.damaged |= fault.is_some();
                        (Verdict::Continue, offset, None)
                    }
                },
                Item::EndOfLog => {
                    self.durable.end(wal, &progress, &reader, None, later)?;
                    break;
                }
            };
            self.durable.read(wal, &mut progress, &reader, offset, &marks.unwrap_or_default().durable)?;
            if matches!(verdict, Verdict::EndOfWal) {
                break;
            }
        }
        self.durable.pass(wal);
        if self.done.damaged || reader.is_recycled() {
            self.set_in_doubt(wal);
        }
        let (bytes, digest) = (reader.whole_end(), Some(reader.digest()));
        if !was_dropping || !self.dropping {
            self.replayed.insert(wal, (bytes, reader.digest()));
        }
        base::invariant!(
            !self.settings.may_flush || bytes <= size,
            "{bytes} bytes of records are in WAL {} of {size} bytes",
            wal
        );
        self.done.extents.push(Extent { number: wal, bytes, digest });
        if progress.is_all(&reader) {
            self.done.proved.push(wal);
        }
        let read = Predecessor { wal_number: wal, size_bytes: size, last_seqno_recorded: last_in_wal };
        self.previous = Some((read, bytes));
        if later.is_empty() && self.can_continue() && !reader.is_recycled() && reader.hole().is_none() {
            let read = std::mem::take(&mut self.replayed);
            self.done.tail =
                Some(Tail::new(wal, reader, read, self.settings.min_wal, self.timestamps.clone()));
        }
        Ok(())
    }

    /// Returns true if [`Tail::advance`] can continue after the last WAL. Only a read-only open continues. Its
    /// replay must have read all records without a filter, and no column family may change older entries in place.
    fn can_continue(&self) -> bool {
        let in_place = || self.families.all().iter().any(|family| family.options().inplace_update_support);
        !self.settings.may_flush
            && !self.done.damaged
            && !self.dropping
            && self.filter.is_none()
            && self.settings.policy.numbering() == Numbering::PerEntry
            && !in_place()
    }

    fn record(
        &mut self,
        bytes: &[u8],
        wal: FileNumber,
        older: &[Mark],
        last_in_wal: &mut SequenceNumber,
    ) -> std::result::Result<Verdict, Fault> {
        if bytes.len() < batch::HEADER_LEN {
            return Err(Fault::damage(Error::corruption("log record too small")));
        }
        let seq = batch::sequence(bytes);
        if seq.saturating_add(u64::from(batch::count(bytes))) > key::MAX_SEQUENCE {
            return Err(Fault::damage(Error::corruption(format!("sequence {seq} is too large"))));
        }
        let short = older.iter().find(|mark| self.is_short(mark));
        if self.continues(seq, older) || (!older.is_empty() && short.is_none()) {
            self.dropping = false;
            self.cut_off = None;
        } else if !self.dropping && short.is_some() && !self.is_point_in_time() {
            // This recovery mode continues after the missing records. `damaged` makes this open flush the replayed
            // entries: otherwise a later open in a stricter mode would stop here, and drop the writes that follow
            // this open.
            self.done.damaged = true;
            if let Some((older, bytes)) = short.map(|mark| (mark.wal_number, mark.bytes)) {
                self.tools.events.warn(format_args!(
                    "{PASSED_OVER}WAL {:06} follows WAL {older:06}: {bytes} bytes were written to WAL {older:06}, and some of them are missing",
                    wal
                ));
                self.set_in_doubt(older);
            }
        } else if let Some(short) = short.filter(|_| !self.dropping) {
            let (older, bytes) = (short.wal_number, short.bytes);
            self.tools.events.warn(format_args!(
                "WAL {:06} follows WAL {older:06}: {bytes} bytes were written to WAL {older:06}, and some of them are missing: dropped",
                wal
            ));
            self.stop(older);
        }
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
        *last_in_wal = seq;
        if is_repeated {
            return Ok(Verdict::Continue);
        }
        let converted = self.timestamps.converted(bytes, self.families).map_err(|error| {
            if error.is_corruption() { Fault::damage(error) } else { Fault::Fatal(error) }
        })?;
        self.done.has_changed_timestamps |= converted.is_some();
        let bytes = converted.as_deref().unwrap_or(bytes);
        let filtered = self.filter(bytes, wal)?;
        let source = Source::recovered(wal);
        let replayed = filtered.as_deref().unwrap_or(bytes);
        let inlined = self.blobs.inlined(replayed, wal, self.tools, self.families)?;
        self.done.has_read_blobs |= inlined.is_some();
        let replayed = inlined.as_deref().unwrap_or(replayed);
        let Outcome { applied, next_counted, unknown_count, repeated } =
            match self.apply(replayed, wal, source) {
                Ok(outcome) => outcome,
                Err(error) if error.kind() == Kind::NotSupported => return Err(Fault::Fatal(error)),
                // The memtable contains an entry with this key and this sequence number already.
                Err(error) if error.kind() == Kind::TryAgain => {
                    let next = self.next_seq.unwrap_or(seq);
                    return Err(Fault::Fatal(Error::corruption(format!(
                        "sequence numbers go backwards: {seq} after {next} ({})",
                        error.message()
                    ))));
                }
                Err(error) => return Err(Fault::damage(error)),
            };
        self.check_family(applied.unknown)?;
        if repeated {
            return Ok(Verdict::Continue);
        }
        if self.next_seq.is_some_and(|next| applied.next_seq < next) {
            return Err(Fault::Fatal(Error::corruption(format!(
                "sequence numbers go backwards: {} after {}",
                applied.next_seq,
                self.next_seq.unwrap_or(SequenceNumber::ZERO)
            ))));
        }
        base::invariant!(
            applied.next_seq >= seq && applied.next_seq <= key::MAX_SEQUENCE + 1,
            "a batch at {seq} moves the next sequence number to {}",
            applied.next_seq
        );
        self.next_seq = Some(applied.next_seq);
        // The sequence numbers of the entries that a filter dropped are not used again.
        let counted = filtered.map_or(SequenceNumber::ZERO, |_| seq + u64::from(batch::count(bytes)));
        self.next_counted = (!unknown_count).then_some(next_counted.max(counted));
        self.done.records += 1;
        let crowded = self.settings.memory_max.is_some_and(|most| self.memory_used() >= most);
        if (applied.memtable_full || crowded) && self.settings.may_flush {
            self.flush_full(crowded).map_err(Fault::Fatal)?;
        }
        Ok(Verdict::Continue)
    }

    /// Returns the batch that the WAL filter puts in the place of `bytes`. A WAL that a filter changed is never replayed
    /// again: its entries are flushed.
    fn filter(&mut self, bytes: &[u8], wal: FileNumber) -> std::result::Result<Option<Vec<u8>>, Fault> {
        let Some(filter) = &mut self.filter else { return Ok(None) };
        let filtered = filter.record(bytes, wal, &self.tools.paths.wal(wal)).map_err(|error| {
            if error.kind() == Kind::NotSupported { Fault::Fatal(error) } else { Fault::damage(error) }
        })?;
        self.done.damaged |= filtered.is_some();
        Ok(filtered)
    }

    /// Applies a batch, and collects or resolves prepared transactions.
    fn apply(&mut self, bytes: &[u8], wal: FileNumber, source: Source<'_>) -> Result<Outcome> {
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
    fn check_family(&self, unknown: Option<FamilyId>) -> std::result::Result<(), Fault> {
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

    /// Keeps the durable size of the MANIFEST from a mark, if it is the largest so far and is for the MANIFEST that
    /// was read.
    fn note_manifest(&mut self, mark: Option<Mark>) {
        let Some(mark) = mark.filter(|mark| mark.wal_number == self.settings.manifest) else { return };
        if self.done.manifest.is_none_or(|known| known.bytes < mark.bytes) {
            self.done.manifest = Some(mark);
        }
    }

    fn is_point_in_time(&self) -> bool {
        self.settings.mode == WalRecoveryMode::PointInTimeRecovery
    }

    /// Returns true if a record that was written to an older WAL is missing. With a concurrent writer, the
    /// record may only have been missing at the time of the read. The replayed state is then an earlier
    /// state of the database, and the caller decides whether to read again.
    fn is_short(&self, mark: &Mark) -> bool {
        let (wal, read) = (mark.wal_number, self.replayed.get(&mark.wal_number));
        wal >= self.settings.min_wal
            && !self.waived.contains(&wal)
            && read != Some(&(mark.bytes, mark.digest))
    }

    /// Returns true if no record is missing between the replayed records and a batch at `seq`. If nothing was
    /// replayed, the batch must follow the last sequence number of the MANIFEST and must name no older WAL, as
    /// after a recovery. If the batch names older WALs, its sequence number proves nothing: the MANIFEST may know
    /// the sequence number of a record that these WALs have lost.
    fn continues(&self, seq: SequenceNumber, older: &[Mark]) -> bool {
        let Some(next) = self.next_seq.or_else(|| older.is_empty().then_some(self.settings.last_seq + 1))
        else {
            return false;
        };
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

/// Why replay does not take a record.
enum Fault {
    /// The recovery mode decides about the fault.
    Report(Finding, Error),
    /// Fails the open in every mode.
    Fatal(Error),
}

impl Fault {
    fn damage(error: Error) -> Self {
        Fault::Report(Finding::Damage, error)
    }
}

impl From<Unread> for Fault {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Lost(error) => Fault::Report(Finding::TornEnd, error),
            Unread::Damaged(error) => Fault::damage(error),
            Unread::Fatal(error) => Fault::Fatal(error),
        }
    }
}
