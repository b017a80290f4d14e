//! The model of one transaction: its writes, its tracked keys, its save points.

use std::collections::BTreeMap;

use ironstone::LockMode;

use super::super::overlay::{Change, Key, Overlay};

/// Why a key is tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// A tracked key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracked {
    /// The count of commits at the tracking. A later change of the key is a conflict.
    pub at: u64,
    exclusive: bool,
    reads: u64,
    writes: u64,
}

/// The state that a rollback to a save point restores.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    overlay: Overlay,
    tracked: BTreeMap<Key, Tracked>,
    snapshot: Option<u64>,
    wishes_snapshot: bool,
    counts: [u64; 4],
}

#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    pub overlay: Overlay,
    pub tracked: BTreeMap<Key, Tracked>,
    /// The number of commits at the snapshot.
    pub snapshot: Option<u64>,
    /// True if the next tracking of a key takes a snapshot.
    pub wishes_snapshot: bool,
    /// The numbers of puts, deletions, merge operands and entities.
    pub counts: [u64; 4],
    pub saves: Vec<Saved>,
    pub name: Option<Vec<u8>>,
    pub prepared: bool,
    /// The transaction at its prepare. A reopen returns it without the later writes.
    pub prepared_as: Option<Box<Own>>,
    /// True after a recovery: the transaction holds no locks. The program must commit the transaction or roll it back
    /// before the next write of these keys.
    pub is_recovered: bool,
    /// The time of the begin in microseconds. A recovered transaction has none.
    pub began: Option<u64>,
    pub read_timestamp: Option<u64>,
    pub commit_timestamp: Option<u64>,
}

impl Own {
    /// Returns true if this transaction holds a lock on the key that excludes the requested lock of another
    /// transaction.
    pub fn blocks(&self, key: &Key, mode: LockMode) -> bool {
        self.tracked.get(key).is_some_and(|tracked| tracked.exclusive || mode == LockMode::Exclusive)
    }

    /// Returns the count of commits at the tracking of the key, or `None` if the transaction does not track the
    /// key.
    pub fn tracked_at(&self, key: &Key) -> Option<u64> {
        self.tracked.get(key).map(|tracked| tracked.at)
    }

    /// Tracks a key at the count of commits `at`. A key that is tracked already keeps its older count, and an
    /// exclusive lock stays exclusive.
    pub fn track(&mut self, key: &Key, by: Use, mode: LockMode, at: u64) {
        let new = Tracked { at, exclusive: false, reads: 0, writes: 0 };
        let tracked = self.tracked.entry(key.clone()).or_insert(new);
        tracked.at = tracked.at.min(at);
        tracked.exclusive |= mode == LockMode::Exclusive;
        match by {
            Use::Read => tracked.reads += 1,
            Use::Write => tracked.writes += 1,
        }
    }

    /// Applies a change to the batch of the transaction and counts it. Does not track the key.
    pub fn write(&mut self, key: &Key, change: &Change) {
        self.overlay.change(key, change);
        self.counts[match change {
            Change::Put(_) => 0,
            Change::Delete => 1,
            Change::Merge(_) => 2,
            Change::Entity(_) => 3,
        }] += 1;
    }

    /// Returns the keys that the transaction tracks exclusively.
    pub fn exclusive(&self) -> Vec<Key> {
        self.tracked.iter().filter(|(_, tracked)| tracked.exclusive).map(|(key, _)| key.clone()).collect()
    }

    /// Returns the keys whose read for update can be undone: keys that were read for update since the newest save
    /// point, and that the transaction did not write.
    pub fn undoable(&self) -> Vec<Key> {
        let before = |key| {
            let saved = self.saves.last().and_then(|saved| saved.tracked.get(key));
            saved.map_or(0, |tracked| tracked.reads)
        };
        let reads = self.tracked.iter().filter(|(key, tracked)| tracked.reads > before(key));
        // A write that assumes a tracked key counts no use. After an undo, the key of this write would have no lock.
        let written = |key: &Key| self.overlay.keys().any(|own| own == key);
        reads.map(|(key, _)| key.clone()).filter(|key| !written(key)).collect()
    }

    /// Undoes one read for update. A key without other reads and writes is not tracked afterwards.
    pub fn undo(&mut self, key: &Key) {
        let Some(tracked) = self.tracked.get_mut(key) else { return };
        tracked.reads -= 1;
        if tracked.reads + tracked.writes == 0 {
            self.tracked.remove(key);
        }
    }

    /// Takes the wished snapshot at the count of commits `at`.
    pub fn take_wished_snapshot(&mut self, at: u64) {
        if std::mem::take(&mut self.wishes_snapshot) {
            self.snapshot = Some(at);
        }
    }

    /// Sets a save point.
    pub fn save(&mut self) {
        let Own { overlay, tracked, snapshot, wishes_snapshot, counts, .. } = self.clone();
        self.saves.push(Saved { overlay, tracked, snapshot, wishes_snapshot, counts });
    }

    /// Returns to the newest save point. A lock that became exclusive stays exclusive. Returns false without a save
    /// point.
    pub fn roll_back(&mut self) -> bool {
        let Some(saved) = self.saves.pop() else { return false };
        let now = std::mem::replace(&mut self.tracked, saved.tracked);
        for (key, tracked) in &mut self.tracked {
            if let Some(later) = now.get(key) {
                tracked.exclusive |= later.exclusive;
                tracked.at = tracked.at.min(later.at);
            }
        }
        (self.overlay, self.snapshot, self.counts) = (saved.overlay, saved.snapshot, saved.counts);
        self.wishes_snapshot = saved.wishes_snapshot;
        true
    }

    /// Removes the newest save point and keeps the changes after it. Returns false without a save point.
    pub fn pop(&mut self) -> bool {
        self.saves.pop().is_some()
    }

    /// Prepares the transaction.
    pub fn prepare(&mut self) {
        self.prepared = true;
        self.prepared_as = Some(Box::new(self.clone()));
    }

    /// Returns the transaction at its prepare.
    pub fn at_prepare(mut self) -> Own {
        self.prepared_as.take().map_or(self, |own| *own)
    }

    /// Returns the transaction as a recovery returns it: it holds no locks.
    pub fn recovered(self) -> Own {
        Own {
            overlay: self.overlay,
            name: self.name,
            prepared: true,
            is_recovered: true,
            counts: self.counts,
            ..Own::default()
        }
    }
}
