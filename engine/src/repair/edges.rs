//! Finds where a compaction cut the range tombstones of an SST file.
//!
//! ```text
//!  written      [a ---------------- T#50 ---------------- z)     in both outputs, whole
//!  MANIFEST     F1: a..m          F2: m..z                       each deletes only within the bounds of its file
//!  later        F1: a..m          bottom: q#60 became q#0        F2 is on a lower level, with its tombstone
//! ```
//! Without the MANIFEST the bounds of F1 are unknown. A range tombstone with its full written range would delete `q`,
//! whose entry is newer but lost its sequence number. So the range is narrowed if a newer SST file has such entries in
//! the range of the tombstone. The tombstones of a compacted SST file then only delete between the entries of the file,
//! and up to the next SST file with the same tombstone. Entries that the tombstone deleted outside of this range may
//! return. A flush does not cut range tombstones. Only a flush writes the property of the oldest key time, so this
//! property identifies flushed files.
//!
//! Facts: RocksDB `db/compaction/compaction_outputs.cc`.

use base::key::user_key;
use base::{Order, Result, ValueType, key};
use table::sst::salvage::Salvaged;

use super::found::{Edges, State, Survey, Table};
use super::terms::{descriptor_of, problem};
use super::{Scope, Weight};

impl Edges {
    /// Returns the range tombstones of an SST file. `rows` are the first and the last internal key of its entries. Returns
    /// `None` if no range tombstone was cut.
    pub(super) fn of(salvaged: &Salvaged, rows: Option<(Vec<u8>, Vec<u8>)>) -> Option<Edges> {
        let flushed = salvaged.properties.as_ref().is_some_and(|p| p.oldest_key_time > 0);
        if flushed || salvaged.tombstones.is_empty() {
            return None;
        }
        let user = |(first, last): &(Vec<u8>, Vec<u8>)| (user_key(first).to_vec(), user_key(last).to_vec());
        Some(Edges { rows: rows.as_ref().map(user), internal: rows, tombstones: salvaged.tombstones.clone() })
    }

    fn shares_one_with(&self, other: &Edges) -> bool {
        self.tombstones.iter().any(|own| other.tombstones.contains(own))
    }
}

/// The change of an SST file whose range tombstones may reach too far.
enum Cut {
    Bounds(Vec<u8>, Vec<u8>),
    /// Leave out the SST file: it has no entries, so the bounds of its range tombstones are unknown.
    Out,
}

impl Survey {
    /// Limits range tombstones that may reach too far to the bounds of the entries of their SST file. Runs
    /// after every SST file is known.
    pub(super) fn cut_range_deletions(&mut self, scope: &Scope) -> Result<()> {
        for at in 0..self.tables.len() {
            let Some(cut) = self.cut(scope, at)? else { continue };
            let table = &mut self.tables[at];
            let whole = (
                Some(user_key(&table.record.smallest).to_vec()),
                Some(user_key(&table.record.largest).to_vec()),
            );
            let what = match cut {
                Cut::Bounds(smallest, largest) => {
                    (table.record.smallest, table.record.largest) = (smallest, largest);
                    "the bounds of its range tombstones are unknown: they are limited to the key range of its entries, and \
                     entries that they deleted outside of it may be back"
                }
                Cut::Out => {
                    table.state = State::Gone;
                    "it has only range tombstones, and the bounds of its range tombstones are unknown: it is not added, and \
                     entries that they deleted may be back"
                }
            };
            let mut found = problem(Weight::Loss, table.path.clone(), None, what);
            found.range = Some(whole);
            found.family = self.manifest.recovered.families.get(&table.family).map(|f| f.name.clone());
            self.report.problems.push(found);
        }
        Ok(())
    }

    /// Returns `None` if the SST file stays unchanged.
    fn cut(&self, scope: &Scope, at: usize) -> Result<Option<Cut>> {
        let table = &self.tables[at];
        let (Some(edges), Some(family)) = (&table.edges, self.manifest.recovered.families.get(&table.family))
        else {
            return Ok(None);
        };
        let order = descriptor_of(scope, &family.name, family.comparator.as_deref())?.options.comparator;
        let own = |(i, t): &(usize, &Table)| *i != at && t.family == table.family && t.state != State::Gone;
        let others: Vec<_> = self.tables.iter().enumerate().filter(own).map(|(_, t)| t).collect();
        if !others.iter().any(|t| {
            t.record.smallest_seqno.is_zero()
                && t.record.number > table.record.number
                && overlap(&order, t, table)
        }) {
            return Ok(None);
        }
        let Some(((first, last), (first_internal, last_internal))) =
            edges.rows.as_ref().zip(edges.internal.clone())
        else {
            return Ok(Some(Cut::Out));
        };
        let shared = others
            .iter()
            .filter_map(|t| t.edges.as_ref().filter(|other| other.shares_one_with(edges))?.rows.as_ref());
        let next =
            shared.map(|(first, _)| first.as_slice()).filter(|first| order.compare(first, last).is_gt());
        let next = next.min_by(|a, b| order.compare(a, b));
        // No tombstone lies outside of the bounds: the tombstone with the last start begins within them,
        // and the tombstone with the first end ends within them.
        let begins = edges.tombstones.iter().map(|(start, _)| user_key(start));
        let ends = edges.tombstones.iter().map(|(_, end)| end.as_slice());
        let largest = user_key(&table.record.largest);
        let to = begins
            .chain(next)
            .filter(|key| order.compare(key, largest).is_le())
            .max_by(|a, b| order.compare(a, b));
        let to = to.filter(|key| order.compare(key, last).is_gt()).map_or(last_internal, edge);
        let from = ends.min_by(|a, b| order.compare(a, b)).filter(|key| order.compare(key, first).is_lt());
        let from = from.map_or(first_internal, edge);
        let same = from == table.record.smallest && to == table.record.largest;
        Ok((!same).then_some(Cut::Bounds(from, to)))
    }
}

/// Returns true if the key ranges of the SST files overlap.
fn overlap(order: &Order, a: &Table, b: &Table) -> bool {
    let before = |a: &Table, b: &Table| {
        order.compare(user_key(&a.record.largest), user_key(&b.record.smallest)).is_lt()
    };
    !before(a, b) && !before(b, a)
}

/// Returns the internal key that bounds an SST file just before `key`.
fn edge(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    key::append_internal(&mut out, key, key::MAX_SEQUENCE, ValueType::RangeDeletion);
    out
}
