//! Batches with markers of a two-phase commit, during replay.
//!
//! ```text
//!  [BeginPrepare][records][EndPrepare x]            the section is collected, nothing is applied
//!  [records][Commit x]                              the records are applied, then the section
//!  [Rollback x]                                     the section is dropped
//! ```
//! A section takes no sequence numbers: the commit gives them. A commit without a section is no error: the section was
//! flushed, and its WAL was deleted. Without `allow_2pc` a section fails the open.
//! Facts: RocksDB `db/write_batch.cc` (`MemTableInserter`). Not here: the write-prepared policy, see `separated`.

use std::collections::{BTreeMap, BTreeSet};

use base::{Arrange, Error, Result, SequenceNumber, WalNumber};
use env::{Env, ReadHints};
use format::batch::{Batch, Marker, Record, Records, append};
use format::wal::{Item, Reader};

use crate::apply::{self, Applied, Source};
use crate::family::FamilySet;
use crate::files::Paths;
use crate::manifest::FileSource;
use crate::prepared::{Section, SectionKind, SectionPart, TwoPhase};

/// The sections that wait for commit or rollback.
#[derive(Default)]
pub(super) struct Sections {
    pub(super) waiting: BTreeMap<Vec<u8>, Section>,
}

/// The result of the replay of a batch with markers.
#[derive(Default)]
pub(super) struct Outcome {
    pub applied: Applied,
    /// The sequence number after the batch as its writer counted it: empty range deletions included.
    pub next_counted: SequenceNumber,
    /// True if a commit had no section, so the number of its records is not known.
    pub unknown_count: bool,
    /// True if the batch repeats a section that was replayed before. Nothing was applied then.
    pub repeated: bool,
}

/// One part of a batch. Ranges are bytes of the records.
enum Part<'a> {
    Plain(&'a [u8]),
    Section { records: &'a [u8], name: &'a [u8] },
    Commit { name: &'a [u8], timestamp: Option<&'a [u8]> },
    Rollback(&'a [u8]),
}

/// Returns true if a batch has markers other than the placeholder.
pub(super) fn has_markers(batch: &Batch<'_>) -> bool {
    let marker = |record: &Result<Record<'_>>| matches!(record, Ok(Record::Marker(marker)) if !matches!(marker, Marker::Noop));
    batch.records().any(|record| marker(&record))
}

impl Sections {
    /// Returns the sections that were neither committed nor rolled back, oldest first.
    pub fn into_waiting(self) -> Vec<Section> {
        let mut sections: Vec<Section> = self.waiting.into_values().collect();
        sections.arrange_by_key(|section| (section.wal, section.seq()));
        base::invariant!(
            sections.is_sorted_by(|a, b| (a.wal, a.seq()) <= (b.wal, b.seq())),
            "the prepared transactions are not in the order of their WALs"
        );
        sections
    }

    /// Replays a batch with markers. `wal` is the WAL that is read, and `source.wal` its number.
    ///
    /// # Errors
    /// NotSupported for sections that this database cannot take. Corruption for markers that do not match. An error
    /// of [`apply::records`].
    pub fn replay(
        &mut self,
        batch: Batch<'_>,
        allowed: TwoPhase,
        wal: WalNumber,
        families: &FamilySet,
        source: Source<'_>,
    ) -> Result<Outcome> {
        base::invariant!(
            source.wal == Some(wal),
            "a section of WAL {} is replayed as a part of WAL {:?}",
            wal,
            source.wal
        );
        let seq = batch.sequence();
        let mut outcome = Outcome { next_counted: seq, ..Outcome::default() };
        outcome.applied.next_seq = seq;
        for part in parts(&batch, allowed)? {
            match part {
                Part::Plain(records) => outcome.apply(records, families, source)?,
                Part::Section { records, name } => {
                    let (first, last, records) = (seq, seq, records.to_vec());
                    let part = SectionPart { first, last, records, kind: SectionKind::Prepared };
                    let section = Section { wal, parts: vec![part], ..Section::new(name) };
                    self.waiting.insert(name.to_vec(), section);
                }
                Part::Rollback(name) => drop(self.waiting.remove(name)),
                Part::Commit { name, timestamp } => match self.waiting.remove(name) {
                    None => outcome.unknown_count = true,
                    Some(section) => {
                        let records = section.records();
                        let stamped = timestamp.map(|ts| stamp(&records, ts, families)).transpose()?;
                        outcome.apply(stamped.as_deref().unwrap_or(&records), families, source)?;
                    }
                },
            }
        }
        Ok(outcome)
    }
}

impl Outcome {
    fn apply(&mut self, records: &[u8], families: &FamilySet, source: Source<'_>) -> Result<()> {
        let from = self.applied.next_seq;
        base::invariant!(
            self.next_counted >= from,
            "a replay counted {} entries, and applied {from}",
            self.next_counted
        );
        let applied = apply::records(Records::behind_header(records), from, families, source)?;
        let counted = Records::behind_header(records).flatten().filter(Record::is_counted).count() as u64;
        base::invariant!(
            applied.next_seq >= from,
            "a batch moves the next sequence number from {from} to {}",
            applied.next_seq
        );
        self.next_counted += counted;
        self.applied.next_seq = applied.next_seq;
        self.applied.memtable_full |= applied.memtable_full;
        self.applied.unknown = self.applied.unknown.max(applied.unknown);
        Ok(())
    }
}

/// Returns the names of prepared transactions that no record of these WALs, oldest first, commits or rolls back.
/// Reads each WAL up to its first fault, and does not report the fault.
///
/// # Errors
/// An error of the file system.
pub fn undecided(env: &Env, paths: &Paths, wals: &[WalNumber]) -> Result<Vec<Vec<u8>>> {
    let mut names = BTreeSet::new();
    for wal in wals {
        let file = env.fs.open_random(&paths.wal(*wal), &ReadHints::default())?;
        let mut reader = Reader::new(FileSource(file), super::durable::options(*wal));
        loop {
            let batch = match reader.next()? {
                Item::Record { bytes, .. } => Batch::new(bytes),
                Item::TimestampSizes { .. } | Item::Predecessor { .. } => continue,
                _ => break,
            };
            for record in batch.iter().flat_map(Batch::records).flatten() {
                match record {
                    Record::Marker(Marker::EndPrepare(name)) => drop(names.insert(name.to_vec())),
                    Record::Marker(Marker::Commit(name) | Marker::Rollback(name)) => drop(names.remove(name)),
                    Record::Marker(Marker::CommitWithTimestamp { xid, .. }) => drop(names.remove(xid)),
                    _ => {}
                }
            }
        }
    }
    Ok(names.into_iter().collect())
}

/// Returns the name and the records of each prepared section in a batch of the write-committed policy.
///
/// # Errors
/// Corruption for markers that do not match. NotSupported for the markers of another policy.
pub(super) fn section_records<'a>(batch: &Batch<'a>) -> Result<Vec<(&'a [u8], &'a [u8])>> {
    let section = |part| match part {
        Part::Section { records, name } => Some((name, records)),
        _ => None,
    };
    Ok(parts(batch, TwoPhase::Allowed)?.into_iter().filter_map(section).collect())
}

/// Splits a batch at its markers.
fn parts<'a>(batch: &Batch<'a>, allowed: TwoPhase) -> Result<Vec<Part<'a>>> {
    let (bytes, mut records) = (batch.bytes(), batch.records());
    let mut parts = Vec::new();
    let mut from = records.offset();
    let mut open = false;
    loop {
        let at = records.offset();
        let Some(record) = records.next().transpose()? else {
            if open {
                return Err(Error::corruption("a prepared section has no end").at(from as u64));
            }
            parts.push(Part::Plain(&bytes[from..]));
            return Ok(parts);
        };
        let Record::Marker(marker) = record else { continue };
        base::invariant!(from <= at, "a prepared section starts at {from} and ends at {at}");
        let inside = &bytes[from..at];
        let part = match marker {
            Marker::Noop => continue,
            Marker::BeginPrepare if allowed == TwoPhase::Refused => {
                return Err(Error::not_supported(
                    "WAL contains prepared transactions. Open with TransactionDB::Open().",
                ));
            }
            Marker::BeginPersistedPrepare | Marker::BeginUnprepare => {
                return Err(Error::not_supported(
                    "WritePrepared txn tag when write_after_commit_ is enabled (in default WriteCommitted mode). If it is \
                     not due to corruption, the WAL must be emptied before changing the WritePolicy.",
                ));
            }
            Marker::EndPrepare(name) if open => Part::Section { records: inside, name },
            _ if open || matches!(marker, Marker::EndPrepare(_)) => {
                return Err(Error::corruption("markers of a prepared section do not match").at(at as u64));
            }
            _ => Part::Plain(inside),
        };
        parts.push(part);
        open = matches!(marker, Marker::BeginPrepare);
        match marker {
            Marker::Commit(name) => parts.push(Part::Commit { name, timestamp: None }),
            Marker::CommitWithTimestamp { timestamp, xid } => {
                parts.push(Part::Commit { name: xid, timestamp: Some(timestamp) });
            }
            Marker::Rollback(name) => parts.push(Part::Rollback(name)),
            _ => {}
        }
        from = records.offset();
    }
}

/// Gives the keys of a section their commit timestamp, in column families with timestamps of this size.
fn stamp(records: &[u8], timestamp: &[u8], families: &FamilySet) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(records.len());
    let mut keys = Vec::new();
    for record in Records::behind_header(records) {
        let record = record?;
        let size =
            record.family().and_then(|id| families.get(id)).map_or(0, |f| f.order().user.timestamp_size());
        if size == timestamp.len() && size > 0 {
            append(&mut out, &record.stamped(timestamp, &mut keys));
        } else {
            append(&mut out, &record);
        }
    }
    Ok(out)
}
