//! Calls that report facts of a transaction database, and its snapshots with a timestamp.

use ironstone::{Db, Family, ReadOptions, SizeApproximationOptions, Snapshot, Transaction, TransactionDb};
use testkit::chance::Chance;

use super::super::indexed::rows_equal_at;
use super::super::overlay::State;
use super::super::{same, told};

/// The model of the snapshots with a timestamp: the timestamp of each, and the state at the snapshot.
#[derive(Default)]
pub(super) struct Stamped {
    taken: Vec<(u64, State)>,
    newest: u64,
}

impl Stamped {
    /// Returns a timestamp above all earlier timestamps.
    pub fn next(&mut self, chance: &mut Chance) -> u64 {
        self.newest += 1 + chance.below(3);
        self.newest
    }

    /// Records a snapshot of `state`.
    pub fn add(&mut self, timestamp: u64, state: &State) {
        self.taken.push((timestamp, state.clone()));
    }

    /// Forgets the snapshots: a close releases them.
    pub fn clear(&mut self) {
        self.taken.clear();
    }

    /// Takes a snapshot, or releases the older snapshots.
    pub fn step(&mut self, db: &TransactionDb, state: &State, chance: &mut Chance) -> Result<(), String> {
        if chance.percent(70) && self.taken.len() < 4 {
            let timestamp = self.next(chance);
            let taken = db.create_timestamped_snapshot(timestamp).map_err(told("timestamped snapshot"))?;
            self.add(timestamp, state);
            return same("timestamp", &taken.timestamp(), &timestamp);
        }
        let below = self.newest.saturating_sub(chance.below(4));
        db.release_timestamped_snapshots_older_than(below);
        self.taken.retain(|(timestamp, _)| *timestamp >= below);
        Ok(())
    }

    /// Compares the snapshots of the database with the model.
    pub fn compare(&self, db: &TransactionDb, families: &[Family]) -> Result<(), String> {
        let of = |snapshots: &[ironstone::TimestampedSnapshot]| {
            snapshots.iter().map(|snapshot| snapshot.timestamp()).collect::<Vec<_>>()
        };
        let all = db.timestamped_snapshots(0, u64::MAX).map_err(told("timestamped snapshots"))?;
        let expected: Vec<u64> = self.taken.iter().map(|(timestamp, _)| *timestamp).collect();
        same("timestamped snapshots", &of(&all), &expected)?;
        let latest = db.latest_timestamped_snapshot().map(|snapshot| snapshot.timestamp());
        same("latest timestamped snapshot", &latest, &expected.last().copied())?;
        if let [first, .., last] = expected[..] {
            let some = db.timestamped_snapshots(first, last).map_err(told("timestamped snapshots"))?;
            same("timestamped snapshots of a range", &of(&some), &expected[..expected.len() - 1].to_vec())?;
        }
        for (timestamp, state) in &self.taken {
            let Some(snapshot) = db.timestamped_snapshot(*timestamp) else {
                return Err(format!("no snapshot with timestamp {timestamp}"));
            };
            let snapshot: &Snapshot = &snapshot;
            rows_equal_at(families, state, &snapshot.options())?;
        }
        Ok(())
    }
}

/// Compares reads of a key as an entity with its value. The value of a key is the default column.
pub(super) fn entity(
    handle: &Transaction,
    family: &Family,
    key: &[u8],
    options: &ReadOptions,
    expected: &Option<Vec<u8>>,
) -> Result<(), String> {
    let value =
        |columns: Option<ironstone::WideColumns>| columns.map(|columns| columns.default_column().to_vec());
    let found = handle.get_entity_in(family, key, options).map_err(told("get_entity_in"))?;
    same("get_entity_in", &value(found), expected)?;
    for found in handle.multi_get_entity_in(family, &[key, key], options) {
        same("multi_get_entity_in", &value(found.map_err(told("multi_get_entity_in"))?), expected)?;
    }
    Ok(())
}

/// Compares facts that a database reports twice, in two ways.
pub(super) fn of_database(db: &Db, families: &[Family]) -> Result<(), String> {
    for name in
        ["rocksdb.estimate-num-keys", "rocksdb.cur-size-all-mem-tables", "rocksdb.total-sst-files-size"]
    {
        let sum = families.iter().map(|family| family.int_property(name)).sum::<Option<u64>>();
        same(name, &db.aggregated_int_property(name), &sum)?;
    }
    for family in families {
        let ranges: [(&[u8], &[u8]); 3] = [(b"", b"key20"), (b"key20", b"z"), (b"z", b"key")];
        let sizes = family.approximate_sizes(&ranges, &SizeApproximationOptions::default());
        let alone = ranges.map(|(begin, end)| family.approximate_size(begin, end).unwrap_or(u64::MAX));
        same("approximate sizes", &sizes.map_err(told("approximate_sizes"))?, &alone.to_vec())?;
        same("size of an empty range", &alone[2], &0)?;
        let levels = family.property_map("rocksdb.cfstats").unwrap_or_default();
        let files: u64 = levels
            .iter()
            .filter(|(name, _)| name.contains("Sum") && name.ends_with("NumFiles"))
            .filter_map(|(_, count)| count.parse::<f64>().ok())
            .map(|count| count as u64)
            .sum();
        let listed =
            (0..7).filter_map(|level| family.property(&format!("rocksdb.num-files-at-level{level}")));
        same("files", &files, &listed.filter_map(|count| count.parse::<u64>().ok()).sum())?;
    }
    Ok(())
}
