//! The families of a database, found by number or name without a lock.

use base::FamilyId;

use super::Family;
use crate::ranks;
use crate::sync::{Arc, ArcSwap, AtomicBool, AtomicU64, Ordering, RankedGuard, RankedMutex};

/// All live families. Readers see one consistent list; changes replace it.
pub struct FamilySet {
    list: ArcSwap<List>,
    /// Whether any family has timestamps in its keys.
    any_timestamps: AtomicBool,
    /// Serialises changes; holds the largest number ever given.
    changes: RankedMutex<u32>,
    /// See [`FamilySet::last_group`].
    last_group: AtomicU64,
    /// Held while a flush takes the memtables of an atomic group from several families.
    picking: RankedMutex<()>,
}

struct List {
    /// By number, ascending.
    by_id: Vec<Arc<Family>>,
}

impl FamilySet {
    pub fn new(mut families: Vec<Arc<Family>>, max_id: u32) -> Self {
        families.sort_by_key(|f| f.id());
        let any_timestamps = AtomicBool::new(families.iter().any(has_timestamps));
        FamilySet {
            list: ArcSwap::from_pointee(List { by_id: families }),
            any_timestamps,
            changes: RankedMutex::new(&ranks::FAMILY_SET, max_id),
            last_group: AtomicU64::new(0),
            picking: RankedMutex::new(&ranks::PICKING, ()),
        }
    }

    /// With `atomic_flush`: the last group whose memtables are all sealed. The leader gives the next one
    /// while it seals, and calls [`FamilySet::group_sealed`] when it is through.
    pub fn last_group(&self) -> u64 {
        self.last_group.load(Ordering::Acquire)
    }

    pub(crate) fn group_sealed(&self, group: u64) {
        self.last_group.store(group, Ordering::Release);
    }

    /// One flush at a time takes memtables from several families.
    pub(crate) fn picking(&self) -> RankedGuard<'_, ()> {
        self.picking.lock()
    }

    /// Families with timestamps and their sizes, for the log. Allocates nothing when there are none.
    #[inline]
    pub fn timestamped(&self) -> Vec<(FamilyId, u16)> {
        if !self.any_timestamps() {
            return Vec::new();
        }
        let list = self.list.load();
        let sizes = list.by_id.iter().filter(|f| has_timestamps(f));
        sizes.map(|f| (f.id(), f.order().user.timestamp_size().min(usize::from(u16::MAX)) as u16)).collect()
    }

    #[inline]
    pub fn any_timestamps(&self) -> bool {
        self.any_timestamps.load(Ordering::Relaxed)
    }

    /// The family of that number, if it is live.
    #[inline]
    pub fn get(&self, id: FamilyId) -> Option<Arc<Family>> {
        let list = self.list.load();
        let at = match list.by_id.get(id.0 as usize) {
            // Without drops the number is the index.
            Some(f) if f.id() == id => id.0 as usize,
            _ => list.by_id.binary_search_by_key(&id, |f| f.id()).ok()?,
        };
        Some(list.by_id[at].clone())
    }

    pub fn by_name(&self, name: &str) -> Option<Arc<Family>> {
        self.list.load().by_id.iter().find(|f| f.name() == name).cloned()
    }

    /// All live families by number.
    pub fn all(&self) -> Vec<Arc<Family>> {
        self.list.load().by_id.clone()
    }

    pub fn len(&self) -> usize {
        self.list.load().by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest number ever given to a family.
    pub fn max_id(&self) -> u32 {
        *self.changes.lock()
    }

    pub(crate) fn add(&self, family: Arc<Family>) {
        let mut max_id = self.changes.lock();
        if has_timestamps(&family) {
            self.any_timestamps.store(true, Ordering::Relaxed);
        }
        *max_id = (*max_id).max(family.id().0);
        let mut by_id = self.list.load().by_id.clone();
        by_id.push(family);
        by_id.sort_by_key(|f| f.id());
        self.list.store(Arc::new(List { by_id }));
    }

    /// Takes the family off the list and marks it dropped.
    pub(crate) fn remove(&self, id: FamilyId) -> Option<Arc<Family>> {
        let _changes = self.changes.lock();
        let mut by_id = self.list.load().by_id.clone();
        let at = by_id.iter().position(|f| f.id() == id)?;
        let family = by_id.remove(at);
        family.set_dropped();
        self.list.store(Arc::new(List { by_id }));
        Some(family)
    }
}

fn has_timestamps(family: &Arc<Family>) -> bool {
    family.order().user.timestamp_size() > 0
}
