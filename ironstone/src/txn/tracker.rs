//! The keys that a transaction has locked, or checks at commit.
//!
//! Each key counts its reads and its writes. So `UndoGetForUpdate` and a rollback to a save point can tell whether
//! the last use of the key is gone. `seq` is the oldest sequence number since which the key is known to be unchanged.
//! Facts: RocksDB `utilities/transactions/lock/point/point_lock_tracker.cc`.

use std::collections::BTreeMap;

use base::{FamilyId, SequenceNumber};

/// The state of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrackedKey {
    pub seq: SequenceNumber,
    reads: u32,
    writes: u32,
    pub exclusive: bool,
}

/// The use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// A use of a key, with its lock mode or its check.
#[derive(Clone, Copy)]
pub(super) struct Tracked<'a> {
    pub family: FamilyId,
    pub key: &'a [u8],
    pub seq: SequenceNumber,
    pub by: Use,
    pub exclusive: bool,
}

/// The result of [`Tracker::untrack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untracked {
    /// The key was not tracked for this use.
    NotTracked,
    /// One use is gone; other uses remain.
    Reduced,
    /// The last use is gone.
    Removed,
}

/// The keys that a transaction uses, by column family.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracker {
    families: BTreeMap<FamilyId, BTreeMap<Vec<u8>, TrackedKey>>,
}

impl Tracker {
    /// Adds a use of a key.
    pub fn track(&mut self, tracked: Tracked<'_>) {
        let keys = self.families.entry(tracked.family).or_default();
        let key = match keys.get_mut(tracked.key) {
            Some(key) => key,
            None => keys.entry(tracked.key.to_vec()).or_insert(TrackedKey {
                seq: tracked.seq,
                reads: 0,
                writes: 0,
                exclusive: false,
            }),
        };
        key.seq = key.seq.min(tracked.seq);
        key.exclusive |= tracked.exclusive;
        match tracked.by {
            Use::Read => key.reads += 1,
            Use::Write => key.writes += 1,
        }
    }

    /// Removes one read of a key.
    pub fn untrack_read(&mut self, family: FamilyId, key: &[u8]) -> Untracked {
        let Some(keys) = self.families.get_mut(&family) else { return Untracked::NotTracked };
        let Some(tracked) = keys.get_mut(key) else { return Untracked::NotTracked };
        if tracked.reads == 0 {
            return Untracked::NotTracked;
        }
        tracked.reads -= 1;
        if tracked.reads > 0 || tracked.writes > 0 {
            return Untracked::Reduced;
        }
        keys.remove(key);
        Untracked::Removed
    }

    /// Returns the state of a key, if the key is tracked.
    pub fn get(&self, family: FamilyId, key: &[u8]) -> Option<&TrackedKey> {
        self.families.get(&family)?.get(key)
    }

    /// Adds all uses of `other`.
    pub fn merge(&mut self, other: &Tracker) {
        for (family, key, theirs) in other.iter() {
            let keys = self.families.entry(family).or_default();
            let own = keys.entry(key.to_vec()).or_insert(TrackedKey { reads: 0, writes: 0, ..*theirs });
            own.seq = own.seq.min(theirs.seq);
            own.reads += theirs.reads;
            own.writes += theirs.writes;
            own.exclusive |= theirs.exclusive;
        }
    }

    /// Removes the uses of `other`, which were all added to this tracker. Returns the keys whose last use is gone.
    pub fn subtract(&mut self, other: &Tracker) -> Tracker {
        let mut gone = Tracker::default();
        for (family, key, theirs) in other.iter() {
            let Some(keys) = self.families.get_mut(&family) else { continue };
            let Some(own) = keys.get_mut(key) else { continue };
            assert!(
                own.reads >= theirs.reads && own.writes >= theirs.writes,
                "uses of a save point are tracked"
            );
            own.reads -= theirs.reads;
            own.writes -= theirs.writes;
            if own.reads == 0 && own.writes == 0 {
                keys.remove(key);
                gone.families.entry(family).or_default().insert(key.to_vec(), *theirs);
            }
        }
        gone
    }

    /// Iterates over all keys, by column family and key.
    pub fn iter(&self) -> impl Iterator<Item = (FamilyId, &[u8], &TrackedKey)> {
        self.families
            .iter()
            .flat_map(|(family, keys)| keys.iter().map(|(key, tracked)| (*family, &key[..], tracked)))
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.families.values().map(BTreeMap::len).sum()
    }
}
