//! The column families of a database. A lookup by id takes no lock, and a lookup by name takes a short lock.

use base::map::HashMap;
use base::{Arrange, FamilyId};

use super::Family;
use crate::ranks;
use crate::sync::{Arc, ArcSwap, AtomicBool, AtomicU64, Mutex, Ordering, RankedGuard, RankedMutex};

/// All column families that are not dropped. Readers see one consistent list, and a change replaces the list.
pub struct FamilySet {
    list: ArcSwap<List>,
    /// The id of each column family by its name. The column family of an id that is not in `list` is dropped. The lock
    /// is a leaf.
    names: Mutex<HashMap<String, FamilyId>>,
    /// True if a column family has keys with timestamps.
    any_timestamps: AtomicBool,
    /// True if a column family has had `enable_blob_direct_write`, also if it is dropped now.
    any_direct_writes: AtomicBool,
    /// True if a column family has had `inplace_update_support`, also if it is dropped now.
    any_in_place: AtomicBool,
    /// Held during a change of the list. Holds the largest id that was ever assigned.
    changes: RankedMutex<FamilyId>,
    /// See [`FamilySet::last_group`].
    last_group: AtomicU64,
    /// Held while a flush takes the memtables of an atomic group from several families.
    picking: RankedMutex<()>,
}

struct List {
    /// In ascending order of their ids.
    by_id: Vec<Arc<Family>>,
}

impl FamilySet {
    /// Makes the set. `max_id` is the largest id that was ever assigned; dropped column families count.
    pub fn new(mut families: Vec<Arc<Family>>, max_id: FamilyId) -> Self {
        families.arrange_by_key(|f| f.id());
        base::invariant!(
            families.is_sorted_by(|a, b| a.id() < b.id()),
            "two column families have the same id"
        );
        base::invariant!(
            families.last().is_none_or(|last| last.id() <= max_id),
            "a column family has an id above the largest id {max_id}"
        );
        let any_timestamps = AtomicBool::new(families.iter().any(has_timestamps));
        let any_in_place = AtomicBool::new(families.iter().any(|f| updates_in_place(f)));
        let any_direct_writes = AtomicBool::new(families.iter().any(|f| f.writes_directly()));
        let names = families.iter().map(|f| (f.name().to_string(), f.id())).collect();
        FamilySet {
            list: ArcSwap::from_pointee(List { by_id: families }),
            names: Mutex::new(names),
            any_timestamps,
            any_direct_writes,
            any_in_place,
            changes: RankedMutex::new(&ranks::FAMILY_SET, max_id),
            last_group: AtomicU64::new(0),
            picking: RankedMutex::new(&ranks::PICKING, ()),
        }
    }

    /// Returns the last atomic group whose memtables are all immutable (`atomic_flush`). The leader uses the next
    /// group number during a switch, and calls [`FamilySet::group_switched`] after it.
    pub fn last_group(&self) -> u64 {
        self.last_group.load(Ordering::Acquire)
    }

    pub(crate) fn group_switched(&self, group: u64) {
        base::invariant!(
            group > self.last_group(),
            "atomic flush group {group} follows group {}",
            self.last_group()
        );
        self.last_group.store(group, Ordering::Release);
    }

    /// Lets only one flush at a time take memtables of several column families.
    pub(crate) fn picking(&self) -> RankedGuard<'_, ()> {
        self.picking.lock()
    }

    /// Returns the column families with timestamps and the sizes of their timestamps, for the WAL. Allocates no
    /// memory if there are none.
    #[inline]
    pub fn timestamped(&self) -> Vec<(FamilyId, u16)> {
        if !self.any_timestamps() {
            return Vec::new();
        }
        let list = self.list.load();
        base::invariant!(
            list.by_id.iter().all(|f| f.order().user.timestamp_size() <= usize::from(u16::MAX)),
            "a timestamp has more than 65535 bytes"
        );
        let sizes = list.by_id.iter().filter(|f| has_timestamps(f));
        sizes.map(|f| (f.id(), f.order().user.timestamp_size().min(usize::from(u16::MAX)) as u16)).collect()
    }

    /// Returns true if a column family has user-defined timestamps. Takes no lock.
    #[inline]
    pub fn any_timestamps(&self) -> bool {
        self.any_timestamps.load(Ordering::Relaxed)
    }

    /// Returns true if writes of a column family put values into blob files before the WAL. Takes no lock. Cost: one load, if no
    /// column family ever had `enable_blob_direct_write`.
    #[inline]
    pub fn any_direct_writes(&self) -> bool {
        self.any_direct_writes.load(Ordering::Relaxed) && self.any(|family| family.writes_directly())
    }

    /// Returns true if a column family has `inplace_update_support`. Takes no lock. Cost: one load, if no column family
    /// ever had it.
    #[inline]
    pub fn any_in_place(&self) -> bool {
        self.any_in_place.load(Ordering::Relaxed) && self.any(updates_in_place)
    }

    /// Returns the column family with this id, if it is not dropped.
    #[inline]
    pub fn get(&self, id: FamilyId) -> Option<Arc<Family>> {
        let list = self.list.load();
        let at = match list.by_id.get(id.index()) {
            // If no column family was dropped, the id is the index.
            Some(f) if f.id() == id => id.index(),
            _ => list.by_id.binary_search_by_key(&id, |f| f.id()).ok()?,
        };
        Some(list.by_id[at].clone())
    }

    /// Returns the column family with this name, if it is not dropped. Names are compared byte by byte.
    pub fn by_name(&self, name: &str) -> Option<Arc<Family>> {
        let id = self.names.lock().get(name).copied()?;
        let family = self.get(id);
        base::invariant!(
            family.as_ref().is_none_or(|family| family.name() == name),
            "the name {name} leads to the column family {family:?}"
        );
        family
    }

    /// Returns all column families, in ascending order of their ids.
    pub fn all(&self) -> Vec<Arc<Family>> {
        self.list.load().by_id.clone()
    }

    /// Returns true if `holds` returns true for a column family. Takes no lock and copies no list.
    pub fn any(&self, holds: impl Fn(&Family) -> bool) -> bool {
        self.list.load().by_id.iter().any(|family| holds(family))
    }

    /// Returns the number of column families that are not dropped.
    pub fn len(&self) -> usize {
        self.list.load().by_id.len()
    }

    /// Returns true if the set has no column family. The set of an open database always has the default column
    /// family.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the largest id that was ever assigned.
    pub fn max_id(&self) -> FamilyId {
        *self.changes.lock()
    }

    /// Adds column families with new, ascending ids. Copies the list once.
    pub(crate) fn add(&self, families: &[Arc<Family>]) {
        let mut max_id = self.changes.lock();
        if families.iter().any(has_timestamps) {
            self.any_timestamps.store(true, Ordering::Relaxed);
        }
        if families.iter().any(|f| updates_in_place(f)) {
            self.any_in_place.store(true, Ordering::Relaxed);
        }
        if families.iter().any(|f| f.writes_directly()) {
            self.any_direct_writes.store(true, Ordering::Relaxed);
        }
        let mut by_id = self.list.load().by_id.clone();
        by_id.extend_from_slice(families);
        base::invariant!(
            by_id.is_sorted_by(|a, b| a.id() < b.id()),
            "the column families are not in the order of their ids"
        );
        for family in families {
            base::invariant!(family.id() > *max_id, "a column family is added with an id that is not new");
            *max_id = family.id();
        }
        base::invariant!(
            families.iter().all(|family| !family.is_dropped()),
            "a dropped column family is added"
        );
        self.list.store(Arc::new(List { by_id }));
        self.names.lock().extend(families.iter().map(|f| (f.name().to_string(), f.id())));
    }

    /// Adds column families of an earlier read-only open that the writer dropped since. Their ids are not new.
    pub(crate) fn keep(&self, families: &[Arc<Family>]) {
        if families.is_empty() {
            return;
        }
        let max_id = self.changes.lock();
        base::invariant!(
            families.iter().all(|family| family.id() <= *max_id && self.get(family.id()).is_none()),
            "a column family that is kept has the id of another column family, or a new id"
        );
        let mut by_id = self.list.load().by_id.clone();
        by_id.extend_from_slice(families);
        by_id.arrange_by_key(|family| family.id());
        if families.iter().any(has_timestamps) {
            self.any_timestamps.store(true, Ordering::Relaxed);
        }
        if families.iter().any(|f| updates_in_place(f)) {
            self.any_in_place.store(true, Ordering::Relaxed);
        }
        self.list.store(Arc::new(List { by_id }));
        self.names.lock().extend(families.iter().map(|f| (f.name().to_string(), f.id())));
    }

    /// Removes the column family from the list, and marks it as dropped.
    pub(crate) fn remove(&self, id: FamilyId) -> Option<Arc<Family>> {
        base::invariant!(id != FamilyId::DEFAULT, "the default column family is removed");
        let _changes = self.changes.lock();
        let mut by_id = self.list.load().by_id.clone();
        let at = by_id.iter().position(|f| f.id() == id)?;
        let family = by_id.remove(at);
        base::invariant!(
            family.id() == id,
            "the column family {} is removed for the column family {id}",
            family.id()
        );
        family.set_dropped();
        self.names.lock().remove(family.name());
        self.list.store(Arc::new(List { by_id }));
        Some(family)
    }
}

fn updates_in_place(family: &Family) -> bool {
    family.options().inplace_update_support
}

fn has_timestamps(family: &Arc<Family>) -> bool {
    family.order().user.timestamp_size() > 0
}
