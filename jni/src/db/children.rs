//! Handles of objects that are closed together with their database.
//!
//! A Java program may close a database before its iterators, column families, snapshots and transactions. When the database
//! object is dropped, it closes the handles of these objects.
//!
//! The list has the numbers of the slots that had such objects, and a slot says which list names it: see [`crate::handle`].

use base::Arrange;
use env::sync::Mutex;

use crate::handle::{Handle, Owner};

/// The slots whose objects are closed together with one database or one transaction.
pub struct Children {
    owner: Owner,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Numbers of slots. A slot can have another owner now, and can be named twice.
    slots: Vec<u32>,
    /// The length of the list at which [`Children::list`] removes slots with another owner, and repeated slots.
    prune_at: usize,
    /// Set by [`Children::close`]. A handle that is listed later is closed at once.
    is_closed: bool,
}

impl Default for Children {
    fn default() -> Children {
        Children { owner: Owner::unique(), state: Mutex::default() }
    }
}

impl Children {
    /// Makes the handle of an object. The caller uses the object whose drop calls [`Children::close`], so the close comes later.
    /// Takes no lock if the list has the slot of the object already.
    pub fn add<T: Send + Sync + 'static>(&self, object: T) -> Handle {
        let (handle, is_listed) = Handle::new_in(object, self.owner);
        if !is_listed {
            self.list(handle, false);
        }
        handle
    }

    /// Makes the handle of an object, also concurrently with [`Children::close`] and after it.
    pub fn add_late<T: Send + Sync + 'static>(&self, object: T) -> Handle {
        let (handle, is_listed) = Handle::new_in(object, self.owner);
        self.list(handle, is_listed);
        handle
    }

    /// Adds the slot of a handle to the list if the list lacks the slot. If the list was closed, closes the handle.
    fn list(&self, handle: Handle, is_listed: bool) {
        let mut state = self.state.lock();
        if state.is_closed {
            drop(state);
            handle.close();
            return;
        }
        if is_listed {
            return;
        }
        if state.slots.len() >= state.prune_at {
            state.slots.arrange();
            state.slots.dedup();
            state.slots.retain(|slot| self.owner.lists(*slot));
            state.prune_at = 64.max(2 * state.slots.len());
        }
        state.slots.push(handle.slot_number());
    }

    /// Returns the handles of the open objects of a type. Does not wait for running calls.
    pub fn of_type<T: 'static>(&self) -> Vec<Handle> {
        let mut slots = self.state.lock().slots.clone();
        slots.arrange();
        slots.dedup();
        let handles = slots.into_iter().filter_map(|slot| self.owner.handle(slot));
        handles.filter(|handle| handle.is_of_type::<T>()).collect()
    }

    /// Closes the objects. The order has no meaning: an object keeps the objects that it uses, and running calls of other threads
    /// can drop an object later.
    pub fn close(&self) {
        let slots = {
            let mut state = self.state.lock();
            state.is_closed = true;
            std::mem::take(&mut state.slots)
        };
        slots.into_iter().filter_map(|slot| self.owner.handle(slot)).for_each(Handle::close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes and closes objects until one of them has the slot, and returns the handle of this object. Other tests make objects
    /// concurrently.
    fn in_slot(slot: u32, make: impl Fn() -> Handle) -> Handle {
        let mut count = 100;
        loop {
            let handles: Vec<Handle> = (0..count).map(|_| make()).collect();
            let (found, others): (Vec<_>, Vec<_>) =
                handles.into_iter().partition(|handle| handle.slot_number() == slot);
            others.into_iter().for_each(Handle::close);
            if let [handle] = found[..] {
                return handle;
            }
            count = 10_000.min(2 * count);
        }
    }

    #[test]
    fn a_close_ends_the_open_objects_of_this_list_alone() {
        let (ours, theirs) = (Children::default(), Children::default());
        let open = ours.add(1_u64);
        let moved = [ours.add(2_u64), ours.add(3_u64)];
        moved.into_iter().for_each(Handle::close);
        let of_program = in_slot(moved[0].slot_number(), || Handle::new(4_u64));
        let of_theirs = in_slot(moved[1].slot_number(), || theirs.add(5_u64));
        ours.close();
        assert!(!open.is_live());
        assert!(of_program.is_live(), "the list closed an object without an owner");
        assert!(of_theirs.is_live(), "the list closed an object of another list");
        theirs.close();
        assert!(!of_theirs.is_live());
        of_program.close();
    }

    #[test]
    fn a_slot_that_comes_back_to_its_list_is_closed() {
        let (ours, theirs) = (Children::default(), Children::default());
        let first = ours.add(1_u64);
        let slot = first.slot_number();
        first.close();
        let last = [&theirs, &ours, &theirs, &ours].map(|children| {
            let handle = in_slot(slot, || children.add(2_u64));
            let is_last = std::ptr::eq(children, &ours) && children.of_type::<u64>() == [handle];
            handle.close();
            is_last
        });
        assert_eq!(last, [false, true, false, true]);
        let handle = in_slot(slot, || ours.add(3_u64));
        assert_eq!(ours.of_type::<u64>(), [handle]);
        assert!(ours.of_type::<u32>().is_empty());
        ours.close();
        assert!(!handle.is_live());
    }

    #[test]
    fn an_object_that_is_added_after_the_close_is_closed() {
        let children = Children::default();
        let before = children.add(1_u64);
        children.close();
        assert!(!before.is_live());
        assert!(!children.add_late(2_u64).is_live());
    }

    #[test]
    fn closed_objects_leave_the_list_short() {
        let children = Children::default();
        let open: Vec<Handle> = (0..100).map(|number| children.add(number)).collect();
        for number in 0..100_000 {
            let pair = [children.add(number), children.add_late(number)];
            let other = Handle::new(number);
            pair.into_iter().chain([other]).for_each(Handle::close);
        }
        let length = children.state.lock().slots.len();
        assert!(length < 10_000, "{length} slots are listed for 102 objects");
        children.close();
        assert!(open.iter().all(|handle| !handle.is_live()));
    }
}
