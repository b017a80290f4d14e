//! Compares the SST files that no record of the MANIFEST names with the WALs that the open replays.
//!
//! ```text
//!  sequence numbers of the SST file     in the replayed WALs     repair
//!  |------------------|                 |-- 4 --||--- 5 ---|     leaves the SST file out: replay has all entries
//!  |------------------|                 |-- 4 --|  |-- 5 --|     adds the SST file, and replay skips the WALs up to the last
//!                                                                WAL whose last entry is in an SST file (see `rebuild`)
//! ```
//! A number can be missing between the WALs and inside a WAL: the entry was written without the WAL, or damage took the entry.
//! If repair left such an SST file out, the entry would be lost. If the open replayed the WALs beside the SST file, merge
//! operands would count twice. If no entry proves that a WAL is in the SST files, the report says that merge operands may
//! count twice.

use std::path::{Path, PathBuf};

use base::map::HashMap;
use base::{Arrange, FamilyId, SequenceNumber, WalNumber};
use format::batch::{Batch, Marker, Record};
use format::edit::NewFile;

use super::Weight;
use super::found::{FoundWal, Proofs, Runs, State, Survey};
use super::terms::problem;
use crate::manifest::FamilyRecord;

impl Runs {
    /// Adds a valid batch of the WAL.
    pub(super) fn batch(&mut self, batch: &Batch<'_>) {
        let is_marker =
            |record| matches!(record, Ok(Record::Marker(marker)) if !matches!(marker, Marker::Noop));
        self.has_sections |= batch.records().any(is_marker);
        let (first, count) = (batch.sequence(), u64::from(batch.count()));
        if count == 0 {
            return;
        }
        let last = first + (count - 1);
        match self.runs.last_mut() {
            Some((_, end)) if first == *end + 1 => *end = last,
            _ => self.runs.push((first, last)),
        }
    }

    /// Returns the runs, or one run if the gaps are unknown.
    fn known(&self) -> Vec<(SequenceNumber, SequenceNumber)> {
        let first = self.runs.iter().map(|run| run.0).min();
        let last = self.runs.iter().map(|run| run.1).max();
        match (self.has_sections, first, last) {
            (true, Some(first), Some(last)) => vec![(first, last)],
            _ => self.runs.clone(),
        }
    }
}

/// How many of the sequence numbers of an SST file are in the replayed WALs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    All,
    Some,
    None,
}

/// Compares the sequence numbers from `first` to `last` with runs.
fn held(
    mut runs: Vec<(SequenceNumber, SequenceNumber)>,
    first: SequenceNumber,
    last: SequenceNumber,
) -> Held {
    runs.retain(|run| run.0 <= last && first <= run.1);
    runs.arrange();
    if runs.is_empty() {
        return Held::None;
    }
    let mut due = first;
    for (from, to) in runs {
        if from > due {
            return Held::Some;
        }
        due = due.max(to + 1);
    }
    if due > last { Held::All } else { Held::Some }
}

/// The SST files of one column family that were compared with the WALs.
#[derive(Default)]
struct Compared {
    /// SST files that are in the database, and have some of their entries in the replayed WALs.
    added: Vec<(PathBuf, SequenceNumber, SequenceNumber)>,
    /// True if an SST file is left out, because replay has its entries.
    is_left_out: bool,
}

/// The SST files that were compared with the WALs, by column family.
#[derive(Default)]
pub(super) struct Replayed(HashMap<FamilyId, Compared>);

impl Replayed {
    /// Records whether the SST file is added to the database.
    pub(super) fn record(&mut self, family: FamilyId, path: &Path, record: &NewFile, held: Held) {
        let compared = self.0.entry(family).or_default();
        match held {
            Held::All => compared.is_left_out = true,
            Held::Some => {
                compared.added.push((path.to_path_buf(), record.smallest_seqno, record.largest_seqno));
            }
            Held::None => {}
        }
    }
}

impl Survey {
    /// Compares an SST file with the WALs that the open replays for its column family. An entry of the SST file can be the result
    /// of a merge with older entries. So the range begins after the older SST files of the column family, or with the first
    /// replayed WAL.
    pub(super) fn held_in_wals(&self, family: &FamilyRecord, record: &NewFile) -> Held {
        let replayed = self.wals.iter().filter(|wal| wal.number >= family.wal_number);
        let runs: Vec<_> = replayed.flat_map(|wal: &FoundWal| wal.runs.known()).collect();
        let begin = runs.iter().map(|run| run.0).min().unwrap_or_default();
        let own = self.tables.iter().filter(|table| table.family == family.id);
        let older = own.map(|table| table.record.largest_seqno).filter(|seq| *seq < record.smallest_seqno);
        let first = older.max().map_or(begin, |seq| begin.max(seq + 1)).min(record.smallest_seqno);
        held(runs, first, record.largest_seqno)
    }

    /// Runs after every SST file was compared. Replay skips the WALs that are in the SST files of a column family, if an added SST
    /// file shares entries with the WALs.
    pub(super) fn skip_flushed_wals(&mut self, replayed: &Replayed, proofs: &Proofs) {
        for (id, compared) in &replayed.0 {
            if compared.added.is_empty() {
                continue;
            }
            let is_whole = !compared.is_left_out
                && self.aside.is_empty()
                && self.tables.iter().all(|table| table.family != *id || table.state != State::Gone);
            let flushed = proofs.flushed(*id).filter(|_| is_whole).map_or(WalNumber::ZERO, WalNumber::next);
            let Some(family) = self.manifest.recovered.families.get_mut(id) else { continue };
            family.wal_number = family.wal_number.max(flushed);
            let Some(parts) = self.in_wals.families.get(id) else { continue };
            for (path, first, last) in &compared.added {
                let mut replayed = parts.range(family.wal_number..);
                if replayed.any(|(_, part)| part.merges && part.first <= *last && *first <= part.last) {
                    let what = "WALs have some entries of this SST file: merge operands may be applied twice";
                    let mut found = problem(Weight::Loss, path.clone(), None, what);
                    found.family = Some(family.name.clone());
                    self.report.problems.push(found);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use base::SequenceNumber;

    use super::{Held, held};

    #[test]
    fn a_range_is_held_if_the_runs_have_each_of_its_numbers() {
        let seq = SequenceNumber::new;
        let of = |runs: &[(u64, u64)], first, last| {
            held(runs.iter().map(|(a, b)| (seq(*a), seq(*b))).collect(), seq(first), seq(last))
        };
        assert_eq!(of(&[], 1, 2), Held::None);
        assert_eq!(of(&[(1, 4)], 5, 6), Held::None);
        assert_eq!(of(&[(1, 4)], 1, 4), Held::All);
        assert_eq!(of(&[(1, 4)], 4, 5), Held::Some);
        assert_eq!(of(&[(2, 4)], 1, 4), Held::Some);
        assert_eq!(of(&[(1, 4), (5, 9)], 2, 8), Held::All);
        assert_eq!(of(&[(5, 9), (1, 4)], 2, 8), Held::All);
        assert_eq!(of(&[(1, 4), (6, 9)], 2, 8), Held::Some);
        assert_eq!(of(&[(1, 9), (3, 4)], 2, 8), Held::All);
    }
}
