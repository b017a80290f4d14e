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
use base::{Error, Result, SequenceNumber, WalNumber};
use env::ReadHints;
use format::proof::Extent;
use format::wal::{HOLE, Item, Mark, Predecessor, Reader, marks_of};

use super::durable::{self, Durable, Progress, ReadEnd};
use super::filter::Filtering;
use super::inline_blobs::{InlineBlobs, Unread};
use super::prepared::Sections;
use super::rules::Finding;
use super::settings::{ReplaySettings, Replayed};
use super::tail::Tail;
use super::timestamps::RecordedSizes;
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
mod record;

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
    /// The WAL at which the replay stopped. `None` again after a batch of a later WAL continues the replayed records.
    cut_off: Option<WalNumber>,
    /// The previous WAL, the size of its file, and the end of its last valid record.
    previous: Option<(Predecessor, u64)>,
    /// For each replayed WAL: the end of its last valid record, and the digest at this end.
    replayed: HashMap<WalNumber, (u64, u32)>,
    /// WALs in which replay skipped bytes.
    waived: HashSet<WalNumber>,
    durable: Durable<'a>,
    /// The WAL that is read, if it repeats the sections of older WALs.
    repeats: Option<WalNumber>,
    /// The sizes of timestamps that the WAL that is read has stated.
    timestamps: RecordedSizes,
    /// Reads the values that records of the WALs refer to.
    blobs: InlineBlobs,
    /// The WAL filter of the application.
    filter: Option<Filtering>,
    done: Replayed,
}

/// The WAL that is read.
struct OpenWal<'l> {
    wal: WalNumber,
    size_bytes: u64,
    /// The WALs that replay reads after this WAL.
    later: &'l [WalNumber],
    reader: Reader<FileSource>,
    /// How far the read has proved the claims about the WAL.
    progress: Progress,
    /// The sequence number of the last batch.
    last_seq: SequenceNumber,
    /// The offset of the first old record, while replay skips old records.
    old_from: Option<u64>,
    /// True if a whole record was not replayed.
    is_refused: bool,
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
    pub fn run(mut self, wals: &[WalNumber]) -> Result<Replayed> {
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

    fn replay_wal(&mut self, wal: WalNumber, path: &Path, later: &[WalNumber]) -> Result<()> {
        let file = self.tools.env.fs.open_random(path, &ReadHints::default())?;
        let size_bytes = file.size()?;
        self.tools.events.info(format_args!("Recovering log #{} mode {}", wal, self.settings.mode as u8));
        self.timestamps = RecordedSizes::new(self.families);
        let mut open = OpenWal {
            wal,
            size_bytes,
            later,
            reader: Reader::new(FileSource(file), durable::options(wal)),
            progress: self.durable.begin(wal),
            last_seq: SequenceNumber::ZERO,
            old_from: None,
            is_refused: false,
        };
        let was_dropping = self.dropping;
        loop {
            let (verdict, compared) = self.replay_item(&mut open)?;
            if let Some((offset, marks)) = compared {
                self.durable.read(wal, &mut open.progress, &open.reader, offset, &marks)?;
            }
            if matches!(verdict, Verdict::EndOfWal) {
                break;
            }
        }
        self.finish_wal(open, was_dropping);
        Ok(())
    }

    /// Reads and replays the next item of a WAL. Also returns the offset of the item and the durable sizes that its marks
    /// name. The caller compares them with the bytes before the item. `None`: there is nothing to compare.
    fn replay_item(&mut self, open: &mut OpenWal<'_>) -> Result<(Verdict, Option<(u64, Vec<Mark>)>)> {
        let wal = open.wal;
        let (verdict, offset) = match open.reader.next()? {
            Item::Record { bytes, offset, .. } => {
                if let Some(from) = open.old_from.take() {
                    self.tools.events.warn(format_args!(
                        "{PASSED_OVER}WAL {:06} has records of the former WAL of the recycled file from {from} to {offset}: its own records there are lost",
                        wal
                    ));
                }
                let marks = marks_of(bytes).unwrap_or_default();
                self.note_manifest(marks.manifest);
                if marks.repeats {
                    self.repeats = Some(wal);
                }
                let verdict = match self.record(bytes, wal, &marks.written, &mut open.last_seq) {
                    Ok(verdict) => verdict,
                    Err(Fault::Report(finding, error)) => {
                        open.is_refused = true;
                        self.check_durable_end(open, ReadEnd::Refused(offset, error.message()))?;
                        self.handle(wal, finding, error.at(offset))?
                    }
                    Err(Fault::Fatal(error)) => return Err(error.at(offset)),
                };
                return Ok((verdict, Some((offset, marks.durable))));
            }
            Item::TornTail { offset, dropped, .. } => {
                self.fault(open, offset, "a record is longer than the rest of the file")?;
                let finding = self.classify(Finding::TornEnd, open.reader.is_recycled(), open);
                let error = format!("the WAL ends in the middle of a record; {dropped} bytes are lost");
                (self.handle(wal, finding, Error::corruption(error).at(offset))?, offset)
            }
            Item::Corruption(damage) => {
                self.fault(open, damage.offset, &damage.reason)?;
                let finding = self.classify(Finding::Damage, damage.recycled, open);
                let error = Error::corruption(damage.reason).at(damage.offset);
                (self.handle(wal, finding, error)?, damage.offset)
            }
            Item::OldRecord { offset, .. } => {
                let what = "a record of the former WAL of a recycled file";
                self.fault(open, offset, what)?;
                open.old_from.get_or_insert(offset);
                (self.handle(wal, Finding::OldRecord, Error::corruption(what).at(offset))?, offset)
            }
            Item::Hole { offset } => {
                self.check_durable_end(open, ReadEnd::Unreadable(offset, HOLE))?;
                let verdict = self.handle(wal, Finding::Hole, Error::corruption(HOLE).at(offset))?;
                return Ok((verdict, None));
            }
            Item::TimestampSizes { sizes, offset } => {
                self.timestamps.add(&sizes, self.families);
                (Verdict::Continue, offset)
            }
            Item::Predecessor { info, offset } => (self.predecessor(open, &info, offset)?, offset),
            Item::EndOfLog => {
                self.check_durable_end(open, ReadEnd::EndOfFile)?;
                return Ok((Verdict::EndOfWal, None));
            }
        };
        Ok((verdict, Some((offset, Vec::new()))))
    }

    /// Compares the previous WAL with the predecessor record at `offset`.
    fn predecessor(&mut self, open: &OpenWal<'_>, recorded: &Predecessor, offset: u64) -> Result<Verdict> {
        match self.predecessor_fault(recorded) {
            Some(error) if self.verifies_predecessors() => {
                // The damage is in the older WAL. If replay stops here, the records of this WAL are lost. None of them may be durable.
                self.check_durable_end(open, ReadEnd::Unreadable(open.reader.whole_end(), error.message()))?;
                self.handle(open.wal, Finding::Damage, error.at(offset))
            }
            fault => {
                self.done.damaged |= fault.is_some();
                Ok(Verdict::Continue)
            }
        }
    }

    /// Checks that the durable part of a WAL does not continue after the end of the read.
    fn check_durable_end(&mut self, open: &OpenWal<'_>, end: ReadEnd<'_>) -> Result<()> {
        self.durable.end(open.wal, &open.progress, &open.reader, end, open.later)
    }

    /// Keeps the facts about a WAL that the rest of the open needs: the end of the WAL and the proof of the WAL. A read-only open can
    /// continue at the end, so the function then keeps the tail too. `was_dropping` tells whether replay dropped batches already when the read began.
    fn finish_wal(&mut self, open: OpenWal<'_>, was_dropping: bool) {
        let OpenWal { wal, size_bytes, later, reader, progress, last_seq, is_refused, .. } = open;
        self.durable.pass(wal);
        if self.done.damaged || reader.is_recycled() {
            self.set_in_doubt(wal);
        }
        let (bytes, digest) = (reader.whole_end(), reader.digest());
        // The next WAL must not follow a record that was read and not replayed, for example because its value is lost.
        if !is_refused && (!was_dropping || !self.dropping) {
            self.replayed.insert(wal, (bytes, digest));
        }
        base::invariant!(
            !self.settings.may_flush || bytes <= size_bytes,
            "{bytes} bytes of records are in WAL {wal} of {size_bytes} bytes"
        );
        base::invariant!(
            self.done.extents.last().is_none_or(|older| older.number < wal.file()),
            "WAL {wal} is replayed twice, or after a newer WAL"
        );
        self.done.extents.push(Extent { number: wal.file(), bytes, digest: Some(digest) });
        if progress.is_all(&reader) {
            self.done.proved.push(wal);
        }
        self.previous =
            Some((Predecessor { wal_number: wal, size_bytes, last_seqno_recorded: last_seq }, bytes));
        if later.is_empty() && self.can_continue() && !reader.is_recycled() && reader.hole().is_none() {
            let read = std::mem::take(&mut self.replayed);
            self.done.tail =
                Some(Tail::new(wal, reader, read, self.settings.min_wal, self.timestamps.clone()));
        }
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

    /// Keeps the durable size of the MANIFEST from a mark, if it is the largest so far and is for the MANIFEST that
    /// was read.
    fn note_manifest(&mut self, mark: Option<Mark>) {
        let Some(mark) = mark.filter(|mark| mark.file_number == self.settings.manifest) else { return };
        if self.done.manifest.is_none_or(|known| known.bytes < mark.bytes) {
            self.done.manifest = Some(mark);
        }
    }

    fn is_point_in_time(&self) -> bool {
        self.settings.mode == WalRecoveryMode::PointInTimeRecovery
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
