//! What a database reports of itself: its properties, and the history of its statistics.

use std::collections::BTreeMap;

use super::{Db, Inner, StatsHistory};
use crate::family::Family;
use crate::properties;
use crate::sync::Arc;

/// The properties of a database: see [`Db::properties`].
#[derive(Clone, Copy)]
pub struct Properties<'a> {
    pub(super) db: &'a Db,
}

impl Properties<'_> {
    /// Returns a property by RocksDB's name, as text. Returns `None` if no property has this name, and for a handle of
    /// another database.
    pub fn text(&self, family: &Arc<Family>, name: &str) -> Option<String> {
        self.db.inner.own(family).ok()?;
        if name == super::memory::PROPERTY {
            return Some(super::memory(self.db).to_string());
        }
        properties::property(&self.db.inner.property_context(), family, name)
    }

    /// Returns a numeric property. Returns `None` if no property has this name, or if the property is not
    /// numeric.
    pub fn number(&self, family: &Arc<Family>, name: &str) -> Option<u64> {
        self.db.inner.own(family).ok()?;
        properties::int_property(&self.db.inner.property_context(), family, name)
    }

    /// Returns a numeric property, summed over all column families. A property of the database, or of a cache that
    /// column families share, counts once.
    pub fn sum(&self, name: &str) -> Option<u64> {
        properties::aggregated_int_property(&self.db.inner.property_context(), &self.db.families(), name)
    }

    /// Returns a map property. Returns `None` if no property has this name, or if the property is not a
    /// map.
    pub fn map(&self, family: &Arc<Family>, name: &str) -> Option<BTreeMap<String, String>> {
        self.db.inner.own(family).ok()?;
        properties::map_property(&self.db.inner.property_context(), family, name)
    }

    /// Resets the counters that `rocksdb.stats` shows. The user's statistics stay.
    pub fn reset_stats(&self) {
        let stats = &self.db.inner.tools.stats;
        stats.database.reset(stats.now_micros());
        self.db.families().iter().for_each(|family| family.stats.reset());
    }

    /// Returns the samples from second `start` on, oldest first. Each item is the second of a sample, and how much
    /// each ticker rose since the sample before. Samples in memory are returned if they are older than second `end`;
    /// samples on disk also if they are of second `end`. Returns nothing without `DbOptions::statistics`. The
    /// iterator skips samples that are trimmed during the iteration.
    pub fn stats_history(&self, start: u64, end: u64) -> StatsHistory {
        StatsHistory { db: self.db.clone(), next: Some(start), end }
    }
}

impl Inner {
    fn property_context(&self) -> properties::PropertyContext<'_> {
        let activity = self.writing.as_ref().map(|w| w.schedule.activity()).unwrap_or_default();
        properties::PropertyContext {
            tables: &self.tables,
            obsolete: &self.obsolete,
            numbers: &self.tools.numbers,
            stats: &self.tools.stats,
            released_below: self.tools.snapshots.released_below(),
            snapshots: self.tools.snapshots.count(),
            oldest_snapshot: self.tools.snapshots.oldest(),
            errors: &self.errors,
            min_wal_to_keep: self.committer.min_wal_to_keep(),
            activity,
            now_seconds: self.tools.env.clock.now_seconds(),
        }
    }
}
