//! The memtable of a column family whose `memtable_factory` is hashed, for an iterator that follows prefixes.
//!
//! RocksDB's memtable has one bucket for each prefix. Its iterator enters the bucket of the sought key, and the first key
//! and the last key of the memtable have no bucket: the iterator finds no entry there. Programs use this rule to test that
//! an iterator needs `total_order_seek`. Ironstone's memtable is a tree, so a sought key is followed by all later keys.
//!
//! Source: RocksDB `memtable/hash_skiplist_rep.cc`, `memtable/hash_linklist_rep.cc` (`DynamicIterator`).

use base::iter::InternalIterator;
use base::{Pinned, Result};
use mem::memtable::MemIter;

/// A memtable without a first and a last key.
pub struct BucketsIter {
    entries: MemIter,
    /// True if the last positioning asked for the first or the last key.
    at_no_bucket: bool,
}

impl BucketsIter {
    /// Makes the iterator at no bucket: it is not valid before a seek.
    pub fn new(entries: MemIter) -> Self {
        BucketsIter { entries, at_no_bucket: true }
    }

    fn entered(&mut self) -> &mut MemIter {
        self.at_no_bucket = false;
        &mut self.entries
    }
}

impl InternalIterator for BucketsIter {
    fn valid(&self) -> bool {
        !self.at_no_bucket && self.entries.valid()
    }
    fn seek_to_first(&mut self) {
        self.at_no_bucket = true;
    }
    fn seek_to_last(&mut self) {
        self.at_no_bucket = true;
    }
    fn seek(&mut self, target: &[u8]) {
        self.entered().seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.entered().seek_for_prev(target);
    }
    fn seek_total(&mut self, target: &[u8]) {
        self.entered().seek_total(target);
    }
    fn seek_total_for_prev(&mut self, target: &[u8]) {
        self.entered().seek_total_for_prev(target);
    }
    fn next(&mut self) {
        base::invariant!(!self.at_no_bucket, "an iterator that is at no bucket moves forward");
        self.entries.next();
    }
    fn prev(&mut self) {
        base::invariant!(!self.at_no_bucket, "an iterator that is at no bucket moves backward");
        self.entries.prev();
    }
    fn key(&self) -> &[u8] {
        base::invariant!(!self.at_no_bucket, "the key of an iterator that is at no bucket is read");
        self.entries.key()
    }
    fn value(&self) -> &[u8] {
        base::invariant!(!self.at_no_bucket, "the value of an iterator that is at no bucket is read");
        self.entries.value()
    }
    fn status(&self) -> Result<()> {
        self.entries.status()
    }
    fn pin_value(&self) -> Pinned {
        self.entries.pin_value()
    }
    fn pin_key(&self) -> Option<Pinned> {
        self.entries.pin_key()
    }
    fn value_shown(&mut self) {
        self.entries.value_shown();
    }
}
