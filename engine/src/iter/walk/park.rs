//! Parks a walk: the walk copies the entry that it shows, and releases its source.
//!
//! A parked walk still shows its key and its value, and keeps its error. A move needs a new walk, which continues from the parked
//! walk: see [`Walk::continue_from`].

use base::iter::InternalIterator;
use base::key;

use super::Walk;
use super::search::{Search, ShownAt};
use crate::source::resolve::Scratch;

/// Copies the entry that the walk shows, and replaces the source by `none`. Returns false, and changes nothing, if the value is in a
/// blob file and was not read yet, or if the walk counts hidden entries. A run of tombstones does not continue from one move to the
/// next, so the walk also drops the object that converts runs: the object keeps a memtable.
pub fn park<I: InternalIterator>(walk: &mut Walk<I>, none: I) -> bool {
    let search = &mut walk.search;
    if search.watch.is_some() || (search.valid && search.shown_at == ShownAt::Unprepared) {
        return false;
    }
    search.copy_shown();
    search.source = none;
    search.convert = None;
    true
}

/// Returns the bytes of memory that a parked walk takes.
pub fn parked_memory<I>(walk: &Walk<I>) -> usize {
    let search = &walk.search;
    let keys = [&search.saved_key, &search.seek_key, &search.spare_key];
    size_of::<Walk<I>>() + search.held.memory() + keys.map(Vec::capacity).iter().sum::<usize>()
}

impl<I: InternalIterator> Search<I> {
    /// Copies the shown entry. The search then needs no source and no super version.
    fn copy_shown(&mut self) {
        if self.valid && self.shown_at == ShownAt::Source {
            self.saved_trailer = self.trailer();
            let mut held = std::mem::take(&mut self.held);
            held.copy(self.stored());
            self.held = held;
            self.saved_key.clear();
            self.saved_key.extend_from_slice(key::user_key(self.source.key()));
            (self.shown_at, self.timed) = (ShownAt::Saved, false);
        } else if self.valid {
            self.held.own();
        } else {
            self.held = Default::default();
        }
        base::invariant!(
            !self.valid || self.shown_at == ShownAt::Saved,
            "a parked walk shows an entry of its source"
        );
        self.operands = Vec::new();
        self.scratch = Scratch::default();
        self.view.blobs = None;
        self.empty.skipper = None;
        self.empty.look_at = u64::MAX;
    }
}
