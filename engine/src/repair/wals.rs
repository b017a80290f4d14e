//! Finds damage in WALs. Reports the lost writes by their sequence numbers, because the keys of an unreadable write
//! are unknown.

use std::collections::{BTreeMap, BTreeSet};

use base::{Error, FileNumber, Result, SequenceNumber, WalNumber, key};
use env::ReadHints;
use format::batch::{self, Batch, Record};
use format::names::FileName;
use format::wal::{ReaderOptions, SalvageFault, mark_end, marks_of, salvage as salvage_wal};

use super::blobs::ReferredValues;
use super::found::{FoundWal, Runs, Survey};
use super::terms::problem;
use super::{Report, Scope, Weight};
use crate::manifest::FileSource;
use crate::prepared::WritePolicy;

impl FoundWal {
    /// Describes the lost writes of a WAL that ends too early.
    fn behind_end(&self) -> String {
        match self.first_seq {
            Some(_) => format!(": its writes from sequence number {} on are gone", self.last_seq + 1),
            None => ": all of its writes are gone".to_string(),
        }
    }
}

/// Finds the sequence numbers that are missing between the batches of a WAL.
#[derive(Default)]
struct Missing {
    /// The offset of the first batch, and its sequence number.
    first: Option<(u64, SequenceNumber)>,
    /// The end of the last batch, and the sequence number that the next batch must have.
    due: Option<(u64, SequenceNumber)>,
    /// For each place where batches are missing: its start and end offset, and the first and the last sequence number
    /// that no batch has.
    gaps: Vec<(u64, u64, SequenceNumber, SequenceNumber)>,
}

impl Missing {
    fn record(&mut self, seq: SequenceNumber, count: u32, offset: u64, end: u64) {
        base::invariant!(
            offset < end && self.due.is_none_or(|(before, _)| before <= offset),
            "a batch from {offset} to {end} follows a batch that ends at {:?}",
            self.due
        );
        if let Some((from, due)) = self.due
            && due < seq
        {
            self.gaps.push((from, offset, due, seq - 1));
        }
        self.first.get_or_insert((offset, seq));
        self.due = Some((end, seq + u64::from(count)));
    }

    /// Describes the lost writes at a fault. Returns an empty text if no sequence number is missing there.
    fn at(&self, offset: u64) -> String {
        if let Some((_, first)) = self.first.filter(|(begins, _)| offset < *begins) {
            return format!(": writes before sequence number {first} are gone");
        }
        let gap = self.gaps.iter().find(|(from, to, ..)| (*from..*to).contains(&offset));
        match (gap, self.due) {
            (Some((_, _, first, last)), _) => {
                format!(": the writes with sequence numbers {first} to {last} are gone")
            }
            (None, Some((end, due))) if offset >= end => {
                format!(": writes from sequence number {due} on are gone")
            }
            _ => String::new(),
        }
    }
}

impl Survey {
    /// Reports WALs that are missing or end before their durable size.
    fn claimed_wals(&mut self, scope: &Scope, min: WalNumber) {
        for (number, durable) in self.claims.range(min..).filter(|(_, durable)| **durable > 0) {
            let path = scope.paths.wal(*number);
            let wal = self.wals.iter_mut().find(|wal| wal.number == *number);
            let end = wal.as_ref().map_or(0, |wal| wal.last_end);
            if end >= *durable {
                continue;
            }
            let what = match wal {
                Some(wal) => {
                    wal.rewrite = true;
                    let lost = wal.behind_end();
                    format!(
                        "the WAL's last whole record ends here, and it was durable up to byte {durable}{lost}"
                    )
                }
                None => format!("the WAL is missing; it was durable up to byte {durable}"),
            };
            let mut found = problem(Weight::Loss, path, Some(end), &what);
            found.bytes = durable - end;
            self.report.problems.push(found);
        }
    }

    pub(super) fn wals(&mut self, scope: &Scope) -> Result<()> {
        let recovered = &self.manifest.recovered;
        let oldest = recovered.families.values().map(|f| f.wal_number).min().unwrap_or_default();
        let min = oldest.max(recovered.min_log_number_to_keep);
        let found = wals(scope)?;
        let keep = recovered.min_log_number_to_keep;
        let older: Vec<_> = found.iter().copied().filter(|n| (keep..min).contains(n)).collect();
        // A prepared transaction may need WALs that no column family needs.
        let needs_older = policy_in(scope, &older)?.is_some();
        for number in found {
            self.next_number = self.next_number.max(number.file().next());
            if number >= min || self.manifest_damaged || (needs_older && number >= keep) {
                let wal = self.read_wal(scope, number)?;
                self.last_seq = self.last_seq.max(wal.last_seq);
                self.wals.push(wal);
            }
        }
        self.claimed_wals(scope, min);
        for (number, synced) in self.manifest.recovered.wals.range(min..) {
            let claimed = self.claims.contains_key(number);
            if !claimed
                && self.wals.iter().all(|wal| wal.number != *number)
                && synced.is_none_or(|size| size > 0)
            {
                let path = scope.paths.wal(*number);
                self.report.problems.push(problem(
                    Weight::Loss,
                    path,
                    None,
                    "a WAL that the MANIFEST names is missing",
                ));
            }
        }
        Ok(())
    }

    /// Reports a WAL with the prepared sections of older WALs, if the older WALs still exist. Only the MANIFEST says whether the resume
    /// that wrote the WAL ended, and repair assumes that the older WALs are needed.
    fn older_decisions(&mut self, wal: &FoundWal) {
        let Some(oldest) = self.wals.iter().map(|older| older.number).min() else { return };
        let what = format!(
            "a resume repeated prepared transactions here, and WAL {oldest:06} or newer WALs before this one still exist: a commit or \
             rollback that failed before the resume may count"
        );
        self.report.problems.push(problem(Weight::Loss, wal.path.clone(), None, &what));
    }

    fn read_wal(&mut self, scope: &Scope, number: WalNumber) -> Result<FoundWal> {
        let path = scope.paths.wal(number);
        let file = scope.options.env.fs.open_random(&path, &ReadHints::default())?;
        self.report.num_files += 1;
        self.report.num_bytes += file.size()?;
        let mut wal = FoundWal {
            number,
            path,
            rewrite: false,
            refused: BTreeSet::new(),
            first_seq: None,
            last_seq: SequenceNumber::ZERO,
            runs: Runs::default(),
            last_end: 0,
        };
        let (mut last_end, mut records, mut repeats) = (0, 0, false);
        let (mut bad, mut cut_off) = (Vec::new(), BTreeSet::new());
        let mut missing = Missing::default();
        let mut marks: BTreeMap<WalNumber, u64> = BTreeMap::new();
        let (manifest, mut manifest_bytes) = (self.number, 0);
        let options = salvage_options(number);
        let in_wals = &mut self.in_wals;
        let mut values = ReferredValues::new(scope, self.manifest.recovered.families.values())?;
        let salvaged = salvage_wal(&mut FileSource(file), &options, &mut |record, offset, end| {
            last_end = end;
            let claimed = marks_of(record).unwrap_or_default();
            if let Some(of) = claimed.manifest.filter(|of| of.file_number == manifest) {
                manifest_bytes = of.bytes.max(manifest_bytes);
            }
            repeats |= claimed.repeats;
            for mark in claimed.durable {
                let claimed = Some(mark.file_number).filter(|of| *of != FileNumber::ZERO);
                let of = claimed.map_or(number, WalNumber::of_file);
                let claim = marks.entry(of).or_insert(0);
                *claim = mark.bytes.max(*claim);
            }
            let sound = sound_batch(record)
                .and_then(|range| values.check(number, &Batch::new(record)?).map(|()| range));
            match sound {
                Ok((seq, count)) => {
                    missing.record(seq, count, offset, end);
                    wal.first_seq.get_or_insert(seq);
                    wal.last_seq = wal.last_seq.max(seq + u64::from(count.max(1)) - 1);
                    records += u64::from(count);
                    wal.runs.batch(&Batch::new(record)?);
                    in_wals.batch(number, record)?;
                }
                Err(error) => {
                    if sound_batch(record).is_ok() && values.is_cut_off() {
                        cut_off.insert(offset);
                    }
                    bad.push((offset, end - offset, error));
                }
            }
            Ok(())
        })?;
        self.check_manifest_size(scope, manifest_bytes)?;
        if repeats && self.rebuilt {
            self.older_decisions(&wal);
        }
        base::invariant!(
            wal.first_seq.is_none_or(|first| first <= wal.last_seq),
            "WAL {number} has the sequence numbers {:?} to {}",
            wal.first_seq,
            wal.last_seq
        );
        // Bytes that became durable before the first batch are records without data.
        wal.last_end = salvaged.end;
        for (number, bytes) in marks {
            let claim = self.claims.entry(number).or_insert(0);
            *claim = bytes.max(*claim);
        }
        self.report.num_rows += records;
        let mut faults = salvaged.faults;
        mark_end(&mut faults, last_end);
        let durable = self.claims.get(&number).copied().unwrap_or(0);
        cut_off.retain(|offset| *offset >= durable);
        report_faults(&mut self.report, &mut wal, faults, (bad, cut_off), &missing);
        Ok(wal)
    }
}

/// Reports the faults of a WAL, and marks the WAL for a rewrite if a fault needs it. `bad` has the records that are no valid
/// batches, and the records that refer to lost values: offset, size and error. A record of `bad` can be the torn end of the WAL
/// after a crash. The open drops a torn end.
fn report_faults(
    report: &mut Report,
    wal: &mut FoundWal,
    faults: Vec<SalvageFault>,
    (bad, torn): (Vec<(u64, u64, Error)>, BTreeSet<u64>),
    missing: &Missing,
) {
    for fault in faults {
        let weight = match (fault.lost_bytes, fault.at_end) {
            (0, _) => Weight::Mendable,
            (_, true) => Weight::Note,
            _ => Weight::Loss,
        };
        wal.rewrite |= weight != Weight::Note;
        let lost = if weight == Weight::Loss { missing.at(fault.offset) } else { String::new() };
        let mut found =
            problem(weight, wal.path.clone(), Some(fault.offset), &format!("{}{lost}", fault.what));
        found.bytes = fault.lost_bytes;
        report.problems.push(found);
    }
    for (offset, bytes, error) in bad {
        let weight = if torn.contains(&offset) { Weight::Note } else { Weight::Loss };
        if weight == Weight::Loss {
            wal.rewrite = true;
            wal.refused.insert(offset);
        }
        let what = format!("{}{}", error.message(), missing.at(offset));
        let mut found = problem(weight, wal.path.clone(), Some(offset), &what);
        found.bytes = bytes;
        report.problems.push(found);
    }
}

fn wals(scope: &Scope) -> Result<Vec<WalNumber>> {
    super::numbered(scope, &scope.paths.wal, |name| match name {
        FileName::Wal(n) => Some(n),
        _ => None,
    })
}

/// Returns the write policy of the prepared sections in the WALs. `None` without a section.
///
/// # Errors
/// Errors of the file system.
pub fn policy_of_sections(scope: &Scope) -> Result<Option<WritePolicy>> {
    policy_in(scope, &wals(scope)?)
}

fn policy_in(scope: &Scope, wals: &[WalNumber]) -> Result<Option<WritePolicy>> {
    let mut policy = None;
    for number in wals {
        let file = scope.options.env.fs.open_random(&scope.paths.wal(*number), &ReadHints::default())?;
        salvage_wal(&mut FileSource(file), &salvage_options(*number), &mut |record, _, _| {
            let batch = Batch::new(record);
            for record in batch.iter().flat_map(Batch::records).flatten() {
                let Record::Marker(marker) = record else { continue };
                policy = policy.max(WritePolicy::of_section(&marker));
            }
            Ok(())
        })?;
    }
    Ok(policy)
}

/// Returns the first sequence number of a record that is a valid batch, and the number of sequence numbers that it
/// uses.
pub(super) fn sound_batch(record: &[u8]) -> Result<(SequenceNumber, u32)> {
    if record.len() < batch::HEADER_LEN {
        return Err(Error::corruption("log record too small"));
    }
    Batch::new(record).and_then(|b| b.verify())?;
    let (seq, count) = (batch::sequence(record), batch::count(record));
    if seq.saturating_add(u64::from(count)) > key::MAX_SEQUENCE {
        return Err(Error::corruption(format!("sequence {seq} is too large")));
    }
    Ok((seq, count))
}

pub(super) fn salvage_options(number: WalNumber) -> ReaderOptions {
    ReaderOptions {
        wal_number: number,
        decompressor: Some(Box::new(crate::wal::compression::decompressor)),
        ..ReaderOptions::default()
    }
}
