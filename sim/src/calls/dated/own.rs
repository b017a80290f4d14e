//! The model of one transaction with timestamps.

use std::collections::BTreeMap;

use super::super::overlay::{Key, Overlay};

/// The changes of a transaction, and its locked keys. The number of a key is the count of commits since which the key is
/// unchanged.
#[derive(Clone, Default)]
pub(super) struct Own {
    pub overlay: Overlay,
    pub tracked: BTreeMap<Key, u64>,
    /// The count of commits at the snapshot.
    pub snapshot: Option<u64>,
    /// The read timestamp.
    pub reads_at: Option<u64>,
    pub name: Vec<u8>,
    pub is_prepared: bool,
    /// True after a recovery: the transaction holds no locks, and no other operation may use its keys.
    pub is_recovered: bool,
    pub saves: Vec<(Overlay, BTreeMap<Key, u64>)>,
}

impl Own {
    /// Sets a save point.
    pub fn save(&mut self) {
        self.saves.push((self.overlay.clone(), self.tracked.clone()));
    }

    /// Returns to the newest save point. Returns false without a save point.
    pub fn roll_back(&mut self) -> bool {
        let Some((overlay, mut tracked)) = self.saves.pop() else { return false };
        for (key, since) in &mut tracked {
            *since = self.tracked.get(key).map_or(*since, |later| *since.min(&mut later.clone()));
        }
        (self.overlay, self.tracked) = (overlay, tracked);
        true
    }
}
