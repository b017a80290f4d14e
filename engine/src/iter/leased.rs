//! The moves of an iterator that has a share of the memory budget, and the first share of a new iterator: see [`Lease`].

use std::borrow::Cow;

use super::context::IteratorContext;
use super::count::Step;
use super::lease::Lease;
use super::tree::{Tree, open_memory};
use super::walk::{park, parked_memory};
use super::{Iter, Walk, acquire, count_release};
use crate::family::SuperVersion;
use crate::options::ReadOptions;
use crate::sync::Arc;

impl Iter {
    /// Runs after each move of an iterator with a lease. Parks the iterator if the memory budget has no room for what it keeps.
    #[inline(never)]
    pub(super) fn settle(&mut self, steps: bool) {
        let (Some(lease), Some(super_version)) = (&mut self.lease, &self.super_version) else { return };
        let (blocks, memory) = open_memory(super_version);
        let is_newest = || super_version.number == self.context.family.super_version_number();
        if lease.may_stay_open(super_version, blocks, steps, is_newest) {
            return lease.charge(size_of::<Self>() + memory);
        }
        if !park(&mut self.walk, Tree::Unopened) {
            return;
        }
        self.opened = false;
        lease.charge(size_of::<Self>() + parked_memory(&self.walk));
        if let Some(old) = self.super_version.take() {
            count_release(&self.context, &old);
        }
    }

    /// Collects the sources of a parked iterator, and finds its key there. Returns true if the step is done: after an error, for an
    /// iterator without an entry, and if the key is gone. The iterator then stands on the next key in the direction of the step.
    #[cold]
    pub(super) fn reopen(&mut self, step: Step) -> bool {
        if !self.walk.valid() {
            return true;
        }
        let Some((newest, walk)) = self.rebuild(step) else { return true };
        let is_gone = walk.key() != self.walk.key();
        self.replace(newest, walk, true);
        is_gone
    }
}

impl Lease {
    /// Pins the newest super version for a new iterator, with a lease and a snapshot if the memory budget can limit the iterator.
    #[cold]
    pub(super) fn begin(
        context: &IteratorContext,
        options: &mut Cow<'_, ReadOptions>,
    ) -> (Arc<SuperVersion>, Option<Box<Lease>>) {
        let is_possible = Lease::is_possible(context, options);
        if is_possible && options.snapshot.is_none() {
            options.to_mut().snapshot = Lease::snapshot(context);
        }
        let super_version = acquire(context);
        let tools = context.lender.as_ref().filter(|_| is_possible);
        let lease = tools.and_then(|tools| Lease::new(tools, &super_version));
        (super_version, lease)
    }

    /// Asks for the share of a new iterator, which has no sources yet. Returns `None`, and releases the super version, if the memory
    /// budget has no room: the iterator is then parked from the start.
    #[cold]
    pub(super) fn keep_if_room(
        &mut self,
        context: &IteratorContext,
        walk: &Walk<Tree>,
        super_version: Arc<SuperVersion>,
    ) -> Option<Arc<SuperVersion>> {
        let (blocks, memory) = open_memory(&super_version);
        if self.may_stay_open(&super_version, blocks, false, || true) {
            self.charge(size_of::<Iter>() + memory);
            return Some(super_version);
        }
        self.charge(size_of::<Iter>() + parked_memory(walk));
        count_release(context, &super_version);
        None
    }
}
