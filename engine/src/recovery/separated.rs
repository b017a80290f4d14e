//! Batches of the write-prepared and write-unprepared policies, during replay.
//!
//! ```text
//!  [BeginUnprepare][records][EndPrepare x]          the records are applied, and stay invisible as a section of x
//!  [BeginPersistedPrepare][records][EndPrepare x]   as in the line before; x is then prepared
//!  [Commit x]                                       the section becomes visible
//!  [records][Rollback x]                            the records hide the records of the section; the section ends
//! ```
//! The entries of a section have the sequence numbers of its record in the WAL, so a column family that has flushed them
//! skips them. An open writes the undecided sections to a WAL of their own. If a crash follows, replay meets a section
//! twice, and skips the repetition.
//! Facts: RocksDB `db/write_batch.cc` (`MemTableInserter`), `write_prepared_txn_db.cc`. Not here: the rollback of transactions
//! that were not prepared, see `ironstone::TransactionDb`.

use std::ops::Range;

use base::{Arrange, Error, Result, SequenceNumber, WalNumber};
use format::batch::{Batch, Marker, Record, Records, append};

use super::prepared::{Outcome, Sections};
use crate::apply::{self, Source, ends_batch};
use crate::family::FamilySet;
use crate::output::JobTools;
use crate::prepared::{Numbering, Section, SectionKind, SectionPart, TwoPhase, WritePolicy};
use crate::sequence::Snapshots;

/// Returns true if a batch of an unknown policy gives sequence numbers to sub-batches: its last record is the placeholder.
/// Log data does not count: the marks of the WAL follow the records.
pub(super) fn ends_with_placeholder(batch: &Batch<'_>) -> bool {
    let (mut entries, mut ended) = (0, false);
    for record in batch.records() {
        match record {
            Ok(Record::LogData(_)) => {}
            Ok(Record::Marker(marker)) => ended = matches!(marker, Marker::Noop),
            Ok(_) => (entries, ended) = (entries + 1, false),
            Err(_) => return false,
        }
    }
    entries > 0 && ended
}

/// Where and how the batches are replayed.
#[derive(Clone, Copy)]
pub(super) struct ReplayContext<'a> {
    pub tools: &'a JobTools,
    pub families: &'a FamilySet,
    pub two_phase: TwoPhase,
    pub policy: WritePolicy,
    /// The WAL that is read.
    pub wal: WalNumber,
    /// True if a resume wrote this WAL: the entries of its sections are in SST files already.
    pub repeats: bool,
}

/// The section that a begin marker opened.
struct Begun {
    /// Where its records start.
    at: usize,
    kind: SectionKind,
}

impl Sections {
    /// Replays a batch that gives sequence numbers to its sub-batches.
    ///
    /// # Errors
    /// NotSupported for sections that this database cannot take. Corruption for markers that do not match. An error
    /// of [`apply::records`].
    pub fn replay_separated(
        &mut self,
        batch: Batch<'_>,
        context: ReplayContext<'_>,
        source: Source<'_>,
    ) -> Result<Outcome> {
        let source = Source { numbering: Numbering::PerBatch, ..source };
        base::invariant!(
            source.wal == Some(context.wal),
            "a section of WAL {} is replayed as a part of WAL {:?}",
            context.wal,
            source.wal
        );
        let separated =
            apply::separate(&batch.bytes()[format::batch::HEADER_LEN..], context.families)?.records;
        let mut outcome = Outcome::default();
        outcome.applied.next_seq = batch.sequence();
        let mut records = Records::behind_header(&separated);
        let (mut from, mut begun) = (0, None::<Begun>);
        loop {
            let start = records.offset() - format::batch::HEADER_LEN;
            let Some(record) = records.next().transpose()? else { break };
            let Record::Marker(marker) = record else { continue };
            let end = records.offset() - format::batch::HEADER_LEN;
            check_marker(&marker, context, begun.is_some()).map_err(|error| error.at(start as u64))?;
            match marker {
                Marker::BeginPersistedPrepare => {
                    begun = Some(Begun { at: end, kind: SectionKind::Prepared });
                }
                Marker::BeginUnprepare => begun = Some(Begun { at: end, kind: SectionKind::Unprepared }),
                Marker::EndPrepare(name) => {
                    let Some(section) = begun.take() else { continue };
                    self.section(
                        name,
                        &separated,
                        (&section, from..start, end),
                        context,
                        source,
                        &mut outcome,
                    )?;
                    from = end;
                }
                Marker::Commit(name)
                | Marker::CommitWithTimestamp { xid: name, .. }
                | Marker::Rollback(name) => {
                    outcome.apply_separated(&separated[from..end], context.families, source)?;
                    self.decide(name, context.tools);
                    from = end;
                }
                _ => {}
            }
        }
        if begun.is_some() {
            return Err(Error::corruption("a prepared section has no end").at(from as u64));
        }
        outcome.apply_separated(&separated[from..], context.families, source)?;
        outcome.next_counted = outcome.applied.next_seq;
        Ok(outcome)
    }

    /// Applies the section `begun`, whose records are `inside` and whose end marker ends at `end`.
    fn section(
        &mut self,
        name: &[u8],
        bytes: &[u8],
        (begun, inside, end): (&Begun, Range<usize>, usize),
        context: ReplayContext<'_>,
        source: Source<'_>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let first = outcome.applied.next_seq;
        let last = first + sub_batches(&bytes[inside.start..end])?.max(1) - 1;
        let known = self.waiting.get(name).is_some_and(|s| s.parts.iter().any(|part| part.first == first));
        if known {
            outcome.applied.next_seq = last + 1;
            outcome.repeated = true;
            return Ok(());
        }
        if context.repeats {
            outcome.applied.next_seq = last + 1;
        } else {
            outcome.apply_separated(&bytes[inside.start..end], context.families, source)?;
        }
        let records = without_placeholders(&bytes[begun.at..inside.end])?;
        let section = self
            .waiting
            .entry(name.to_vec())
            .or_insert_with(|| Section { wal: context.wal, ..Section::new(name) });
        base::invariant!(
            section.wal <= context.wal,
            "a section of WAL {} has an older part in WAL {}",
            section.wal,
            context.wal
        );
        section.parts.push(SectionPart { first, last, records, kind: begun.kind });
        Snapshots::add_undecided(&context.tools.snapshots, first, last, &section.decision);
        Ok(())
    }

    /// Ends the section of a transaction that was committed or rolled back. Its entries become visible. After a
    /// rollback, newer entries of the rollback hide them.
    fn decide(&mut self, name: &[u8], tools: &JobTools) {
        if let Some(section) = self.waiting.remove(name) {
            tools.sequence.undecided().remove(&section.decision);
        }
    }
}

impl Outcome {
    fn apply_separated(&mut self, records: &[u8], families: &FamilySet, source: Source<'_>) -> Result<()> {
        let from = self.applied.next_seq;
        let applied = apply::records(Records::behind_header(records), from, families, source)?;
        self.applied.next_seq = applied.next_seq;
        self.applied.memtable_full |= applied.memtable_full;
        self.applied.unknown = self.applied.unknown.max(applied.unknown);
        Ok(())
    }
}

fn check_marker(marker: &Marker<'_>, context: ReplayContext<'_>, inside: bool) -> Result<()> {
    match marker {
        Marker::Noop => Ok(()),
        Marker::BeginPrepare if context.policy == WritePolicy::Unprepared => Err(Error::not_supported(
            "WriteCommitted txn tag when write_before_prepare_ is enabled (in WriteUnprepared mode). If it is not due to \
             corruption, the WAL must be emptied before changing the WritePolicy.",
        )),
        Marker::BeginPrepare => Err(Error::not_supported(
            "WriteCommitted txn tag when write_after_commit_ is disabled (in WritePrepared/WriteUnprepared mode). If it is \
             not due to corruption, the WAL must be emptied before changing the WritePolicy.",
        )),
        Marker::BeginUnprepare if context.policy != WritePolicy::Unprepared => Err(Error::not_supported(
            "WriteUnprepared txn tag when write_before_prepare_ is disabled (in WriteCommitted/WritePrepared mode). If it is \
             not due to corruption, the WAL must be emptied before changing the WritePolicy.",
        )),
        Marker::BeginPersistedPrepare | Marker::BeginUnprepare if context.two_phase == TwoPhase::Refused => {
            Err(Error::not_supported("WAL contains prepared transactions. Open with TransactionDB::Open()."))
        }
        _ if inside == matches!(marker, Marker::EndPrepare(_)) => Ok(()),
        _ => Err(Error::corruption("markers of a prepared section do not match")),
    }
}

/// Returns how many sequence numbers these records take: one for each sub-batch.
fn sub_batches(records: &[u8]) -> Result<u64> {
    let mut batches = 0;
    for record in Records::behind_header(records) {
        batches += u64::from(matches!(record?, Record::Marker(marker) if ends_batch(&marker)));
    }
    Ok(batches)
}

fn without_placeholders(records: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(records.len());
    for record in Records::behind_header(records) {
        let record = record?;
        if !matches!(record, Record::Marker(_)) {
            append(&mut out, &record);
        }
    }
    Ok(out)
}

/// Encodes the undecided parts of all sections as batches for the WAL, in the order of their sequence numbers.
pub fn encoded_parts(sections: &[Section]) -> Vec<(SequenceNumber, Vec<u8>)> {
    let mut parts: Vec<_> = sections.iter().flat_map(Section::encoded_parts).collect();
    parts.arrange_by_key(|(first, _)| *first);
    base::invariant!(
        parts.is_sorted_by(|(first, _), (second, _)| first < second),
        "two of {} parts of transactions begin at the same sequence number",
        parts.len()
    );
    parts
}
