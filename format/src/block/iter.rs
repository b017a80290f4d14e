//! A position in a block, which moves forwards and backwards.
//!
//! The iterator owns its block, so a table iterator can hold both without a borrow. The current key is
//! assembled in one buffer that only grows; short keys are copied as chunks of sixteen bytes. A backward step
//! starts at the anchor before the entry. In a block without anchors, a restart interval is decoded once, and
//! its entries are then returned from memory.

use std::cmp::Ordering;
use std::ops::Range;

use base::invariant::{FastPath, takes_slow_path};
use base::key::{InternalOrder, SequenceNumber, TRAILER_LEN, pack, trailer, user_key};
use base::order::compare_bytes;
use base::{Error, Order, Result};

use super::anchors::{Anchors, Found};
use super::entry::{Header, header, separated_restart_header};
use super::{Block, Shape, partition_restarts, protect, restart_key};

/// How the returned keys differ from the stored keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRewrite {
    /// The sequence number of every key, for external files.
    pub global_seqno: Option<SequenceNumber>,
    /// Number of zero bytes before the trailer, in place of a timestamp that was not stored.
    pub timestamp_pad: usize,
}

impl KeyRewrite {
    /// Returns true if keys are returned as they are stored.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.global_seqno.is_none() && self.timestamp_pad == 0
    }

    /// Appends the returned form of a stored internal key to `out`.
    pub fn apply(&self, stored: &[u8], out: &mut Vec<u8>) {
        let own = trailer(stored);
        out.extend_from_slice(user_key(stored));
        out.resize(out.len() + self.timestamp_pad, 0);
        let shown = self.global_seqno.map_or(own, |seq| pack(seq, own as u8));
        out.extend_from_slice(&shown.to_le_bytes());
    }
}

/// A decoded entry of the restart interval for backward steps.
#[derive(Clone, Copy, Debug)]
struct Behind {
    at: usize,
    next: usize,
    key_start: usize,
    key_len: usize,
    value: (usize, usize),
    next_restart: usize,
}

const CHUNK: usize = 16;

/// A position at one entry of a block, or at none.
#[derive(Debug)]
pub struct BlockIter {
    block: Block,
    /// The shape of the block.
    shape: Shape,
    rewrite: KeyRewrite,
    rewriting: bool,
    /// True if a decoded entry needs more work: a comparison with its checksum, or a change of its key.
    dressed: bool,
    valid: bool,
    /// The offset of the current entry. `next` is the offset of the entry after it.
    at: usize,
    next: usize,
    value: (usize, usize),
    /// The stored key. Only the first `key_len` bytes are valid.
    key: Vec<u8>,
    key_len: usize,
    /// The returned key, if keys are rewritten.
    shown: Vec<u8>,
    /// The first restart point at or after `next`. Valid only if values are separated.
    next_restart: usize,
    /// The last used anchor, and its offset. A backward step uses the anchor before it.
    anchor: usize,
    anchor_at: usize,
    behind: Vec<Behind>,
    behind_keys: Vec<u8>,
    /// A shorter key is corruption.
    key_len_min: usize,
    error: Option<Error>,
}

impl BlockIter {
    /// Makes an iterator over keys of any length, as in meta blocks.
    pub fn new(block: Block) -> BlockIter {
        BlockIter { key_len_min: 0, ..BlockIter::rewriting(block, KeyRewrite::default()) }
    }

    /// Makes an iterator over internal keys that changes the keys that it returns.
    pub fn rewriting(block: Block, rewrite: KeyRewrite) -> BlockIter {
        let shape = block.shape();
        BlockIter {
            shape,
            block,
            rewrite,
            rewriting: !rewrite.is_none(),
            dressed: shape.protected || !rewrite.is_none(),
            valid: false,
            at: 0,
            next: 0,
            value: (0, 0),
            // A zeroed vector would call `calloc`, which glibc does not serve from its cache of free memory.
            key: Vec::new(),
            key_len: 0,
            shown: Vec::new(),
            next_restart: 0,
            anchor: 0,
            anchor_at: 0,
            behind: Vec::new(),
            behind_keys: Vec::new(),
            key_len_min: TRAILER_LEN,
            error: None,
        }
    }

    /// Makes an iterator without a block. It gets a block later.
    pub fn empty(rewrite: KeyRewrite) -> BlockIter {
        BlockIter::rewriting(Block::none(), rewrite)
    }

    /// Replaces the block. The iterator is then at no entry. Keeps the buffers.
    pub fn reset(&mut self, block: Block) {
        self.shape = block.shape();
        self.dressed = self.shape.protected || self.rewriting;
        self.block = block;
        self.anchor = 0;
        self.valid = false;
        self.behind.clear();
        self.behind_keys.clear();
        self.error = None;
    }

    /// Returns the block of the iterator. The block has no entries if the iterator was made without a block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Returns true if the iterator is at an entry. If the result is false, [`BlockIter::status`] returns the
    /// error, or OK at the end of the block.
    #[inline]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// Returns the current key. Call only while the iterator is valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        if self.rewriting { &self.shown } else { self.stored_key() }
    }

    #[inline]
    fn stored_key(&self) -> &[u8] {
        &self.key[..self.key_len]
    }

    /// Returns the current value. Call only while the iterator is valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        &self.shape.payload(&self.block.bytes)[self.value.0..self.value.1]
    }

    /// Returns the location of the current value in [`Block::bytes`].
    #[inline]
    pub fn value_range(&self) -> Range<usize> {
        let base = self.shape.payload_at as usize;
        base + self.value.0..base + self.value.1
    }

    /// Returns the location of the current key in [`Block::bytes`], if the key is stored whole and is
    /// returned unchanged.
    pub fn key_range(&self) -> Option<Range<usize>> {
        let payload = self.shape.payload(&self.block.bytes);
        let own =
            payload.get(..self.value.0).filter(|_| self.valid && !self.rewriting && !self.shape.separated)?;
        let start = own.len().checked_sub(self.key_len)?;
        let whole = header(payload, self.at)?.shared == 0;
        let base = self.shape.payload_at as usize;
        whole.then_some(base + start..base + own.len())
    }

    /// Returns the offset of the current entry in the payload. Call only while the iterator is valid.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Returns the location of the current entry in the payload. Call only while the iterator is valid.
    #[inline]
    pub fn entry_range(&self) -> Range<usize> {
        self.at..self.next
    }

    /// Returns the offset of the current value in the payload. Call only while the iterator is valid.
    #[inline]
    pub fn value_offset(&self) -> usize {
        self.value.0
    }

    /// Returns the error that ended the iteration, if there is one.
    ///
    /// # Errors
    /// Corruption, with the offset in the block, if an entry does not decode. The iterator is then not valid.
    #[inline]
    pub fn status(&self) -> Result<()> {
        match &self.error {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Moves to the first entry. The iterator is not valid if the block has no entry or the entry does not
    /// decode.
    pub fn seek_to_first(&mut self) {
        self.go_to_restart(0);
        self.step();
    }

    /// Moves to the last entry. The iterator is not valid if the block has no entry or an entry does not
    /// decode.
    pub fn seek_to_last(&mut self) {
        self.valid = false;
        if self.shape.entries_end == 0 {
            return;
        }
        if self.shape.anchors.exist() {
            self.go_to_anchor(self.shape.anchors.len() - 1);
            return self.step_up_to(self.shape.entries_end as usize);
        }
        let last = self.shape.num_restarts as usize - 1;
        if self.fill_behind(last, self.shape.entries_end as usize) {
            self.take_behind();
        }
    }

    /// Moves to the first entry at or after `target`, an internal key.
    pub fn seek(&mut self, order: &InternalOrder, target: &[u8]) {
        let (user, trailer) = (user_key(target), trailer(target));
        self.go_before(order, user, trailer);
        match (&order.user, self.rewriting) {
            (Order::Bytewise, false) => {
                while self.step() && bytewise_before(self.stored_key(), user, trailer) {}
            }
            _ => while self.step() && order.compare_split(self.key(), user, trailer).is_lt() {},
        }
    }

    /// Moves to the last entry at or before `target`, an internal key.
    pub fn seek_for_prev(&mut self, order: &InternalOrder, target: &[u8]) {
        self.seek(order, target);
        if self.error.is_some() {
            return;
        }
        if !self.valid {
            self.seek_to_last();
        } else if order.compare(self.key(), target).is_gt() {
            self.prev();
        }
    }

    /// Moves to the next entry. Call only while the iterator is valid.
    #[inline]
    pub fn next(&mut self) {
        self.step();
    }

    /// Moves to the previous entry. Call only while the iterator is valid.
    pub fn prev(&mut self) {
        if self.shape.anchors.exist() {
            let at = self.at;
            if at == 0 {
                self.valid = false;
                return;
            }
            let i = match self.anchor.checked_sub(1) {
                Some(before) if self.anchor_at == at => before,
                _ => self.shape.anchors.before(&self.block.bytes, at, self.anchor),
            };
            self.go_to_anchor(i);
            return self.step_up_to(at);
        }
        // The decoded entries stay valid while the block is the same. They are the right entries if the last
        // of them ends where the current entry starts.
        if self.behind.last().is_some_and(|b| b.next == self.at) {
            self.take_behind();
            return;
        }
        let Some(interval) = self.interval_before(self.at) else {
            self.valid = false;
            return;
        };
        if self.fill_behind(interval, self.at) {
            self.take_behind();
        }
    }

    /// Steps to the entry that ends at offset `end`.
    #[inline]
    fn step_up_to(&mut self, end: usize) {
        while self.next < end && self.step() {}
    }

    /// Decodes the entry at `next`. Returns false at the end or after an error.
    #[inline(always)]
    fn step(&mut self) -> bool {
        let (at, end) = (self.next, self.shape.entries_end as usize);
        if at >= end {
            self.valid = false;
            return false;
        }
        if self.shape.separated {
            return self.step_separated();
        }
        let bytes = self.shape.payload(&self.block.bytes);
        let Some(h) = header(bytes, at) else { return self.fail(at) };
        let value_at = h.key_at + h.non_shared;
        let next = value_at + h.value_len;
        if next > end || h.shared > self.key_len || h.shared + h.non_shared < self.key_len_min {
            return self.fail(at);
        }
        copy_key(&mut self.key, h, bytes);
        self.key_len = h.shared + h.non_shared;
        self.value = (value_at, next);
        self.at = at;
        self.next = next;
        self.valid = true;
        if self.dressed {
            return self.dress();
        }
        true
    }

    fn step_separated(&mut self) -> bool {
        let bytes = self.shape.payload(&self.block.bytes);
        let shape = self.shape;
        let (at, end) = (self.next, shape.entries_end as usize);
        let is_restart = shape.restart(bytes, self.next_restart) == Some(at);
        let decoded = if is_restart {
            separated_restart_header(bytes, at).map(|(h, v)| (h, shape.entries_end as usize + v))
        } else {
            header(bytes, at).map(|h| (h, self.value.1))
        };
        let Some((h, value_at)) = decoded else { return self.fail(at) };
        let (next, value_end) = (h.key_at + h.non_shared, value_at + h.value_len);
        let short = h.shared + h.non_shared < self.key_len_min;
        if next > end || value_end > shape.restarts_at as usize || h.shared > self.key_len || short {
            return self.fail(at);
        }
        copy_key(&mut self.key, h, bytes);
        self.next_restart += usize::from(is_restart);
        self.key_len = h.shared + h.non_shared;
        self.value = (value_at, value_end);
        self.at = at;
        self.next = next;
        self.valid = true;
        if self.dressed {
            return self.dress();
        }
        true
    }

    /// Compares the decoded entry with its checksum, and makes the key that is returned.
    #[inline(never)]
    fn dress(&mut self) -> bool {
        let payload_at = self.shape.payload_at as usize;
        let holds = |iter: &Self| {
            protect::holds(&iter.block.bytes, payload_at, iter.at, iter.stored_key(), iter.value())
        };
        if self.shape.protected && !holds(self) {
            self.fail(self.at);
            self.error = Some(protect::mismatch(self.at));
            return false;
        }
        if self.rewriting {
            self.shown.clear();
            self.rewrite.apply(&self.key[..self.key_len], &mut self.shown);
        }
        true
    }

    #[cold]
    fn fail(&mut self, at: usize) -> bool {
        self.valid = false;
        self.next = self.shape.entries_end as usize;
        self.error = Some(Error::corruption("bad entry in block").at(at as u64));
        false
    }

    /// Makes restart point `i` the next entry that `step` decodes.
    fn go_to_restart(&mut self, i: usize) {
        self.valid = false;
        self.error = None;
        self.key_len = 0;
        self.next_restart = i;
        if i == 0 && self.shape.starts_at_zero {
            // The restart array is at the other end of the block. A scan need not touch that memory.
            self.next = 0;
            return;
        }
        match self.shape.restart(self.shape.payload(&self.block.bytes), i) {
            Some(at) => self.next = at,
            None if self.shape.entries_end == 0 => self.next = 0,
            None => {
                self.fail(self.shape.restarts_at as usize);
            }
        }
    }

    /// Makes an entry shortly before the target the next entry that `step` decodes, or the first entry.
    #[inline]
    fn go_before(&mut self, order: &InternalOrder, user: &[u8], trailer: u64) {
        let anchors = &self.shape.anchors;
        if !anchors.exist() || takes_slow_path(FastPath::BlockAnchors, user) {
            return self.go_to_restart_before(order, user, trailer);
        }
        Anchors::prefetch(&self.block.bytes);
        let i = match Anchors::find(&self.shape, &self.block.bytes, user) {
            Found::At { i, .. } | Found::Behind(i) => i,
            Found::Absent { all_before: false, next } => next,
            Found::Absent { all_before: true, .. } => {
                self.error = None;
                self.next = self.shape.entries_end as usize;
                return;
            }
        };
        self.go_to_anchor(i);
    }

    fn go_to_anchor(&mut self, i: usize) {
        let shape = &self.shape;
        let anchor = shape.anchors.get(&self.block.bytes, i);
        if self.key.len() < Anchors::UNSHARED_MAX {
            self.key.resize(2 * Anchors::UNSHARED_MAX, 0);
        }
        self.key_len = shape.anchors.unshare(&self.block.bytes, anchor, &mut self.key);
        self.anchor = i;
        self.anchor_at = anchor.at;
        self.valid = false;
        self.error = None;
        self.next = anchor.at;
        if shape.separated {
            // In such a block each anchor is a restart point.
            self.next_restart =
                shape.restarts_up_to(self.shape.payload(&self.block.bytes), anchor.at).saturating_sub(1);
        }
    }

    /// Makes the last restart point before the target the next entry that `step` decodes, or the first
    /// restart point.
    fn go_to_restart_before(&mut self, order: &InternalOrder, user: &[u8], trailer: u64) {
        let (shape, bytes) = (&self.shape, self.shape.payload(&self.block.bytes));
        let before = if !self.rewriting {
            shape.restart_before(bytes, order, user, trailer).ok()
        } else {
            let (shown, rewrite) = (&mut self.shown, self.rewrite);
            let count = partition_restarts(shape.num_restarts as usize, |i| {
                let key = restart_key(bytes, shape, i)?;
                shown.clear();
                rewrite.apply(&bytes[key], shown);
                Some(order.compare_split(shown, user, trailer).is_lt())
            });
            count.map(|count| count.saturating_sub(1))
        };
        match before {
            Some(restart) => self.go_to_restart(restart),
            None => {
                self.fail(self.shape.restarts_at as usize);
            }
        }
    }

    /// Returns the restart interval with the entry that ends at `at`. Returns `None` if `at` is the first
    /// entry.
    fn interval_before(&self, at: usize) -> Option<usize> {
        self.shape.restarts_up_to(self.shape.payload(&self.block.bytes), at.checked_sub(1)?).checked_sub(1)
    }

    /// Decodes restart interval `i` up to offset `until`. Returns false after an error or if there is no
    /// entry.
    fn fill_behind(&mut self, i: usize, until: usize) -> bool {
        self.behind.clear();
        self.behind_keys.clear();
        self.go_to_restart(i);
        while self.next < until && self.step() {
            self.behind.push(Behind {
                at: self.at,
                next: self.next,
                key_start: self.behind_keys.len(),
                key_len: self.key_len,
                value: self.value,
                next_restart: self.next_restart,
            });
            self.behind_keys.extend_from_slice(&self.key[..self.key_len]);
        }
        self.valid = false;
        if self.error.is_some() {
            self.behind.clear();
        }
        !self.behind.is_empty()
    }

    /// Moves to the last of the decoded entries.
    fn take_behind(&mut self) {
        let Some(entry) = self.behind.pop() else { return };
        let key = &self.behind_keys[entry.key_start..entry.key_start + entry.key_len];
        self.key[..entry.key_len].copy_from_slice(key);
        self.behind_keys.truncate(entry.key_start);
        self.key_len = entry.key_len;
        self.at = entry.at;
        self.next = entry.next;
        self.value = entry.value;
        self.next_restart = entry.next_restart;
        self.valid = true;
        if self.dressed {
            self.dress();
        }
    }
}

/// Copies the own key bytes of an entry after its shared bytes. The caller has checked that they are in
/// `bytes`.
#[inline(always)]
fn copy_key(key: &mut Vec<u8>, h: Header, bytes: &[u8]) {
    let len = h.shared + h.non_shared;
    if len + CHUNK > key.len() {
        grow(key, len);
    }
    if h.non_shared <= CHUNK {
        let from = bytes[h.key_at..].first_chunk::<CHUNK>();
        let to = key[h.shared..].first_chunk_mut::<CHUNK>();
        if let (Some(from), Some(to)) = (from, to) {
            *to = *from;
            return;
        }
    }
    key[h.shared..len].copy_from_slice(&bytes[h.key_at..h.key_at + h.non_shared]);
}

#[cold]
fn grow(key: &mut Vec<u8>, len: usize) {
    key.resize((len + CHUNK).next_power_of_two(), 0);
}

/// Returns true if internal key `a` is before the key `user` with `b_trailer`, in bytewise order.
#[inline(always)]
fn bytewise_before(a: &[u8], user: &[u8], b_trailer: u64) -> bool {
    let split = a.len().saturating_sub(TRAILER_LEN);
    match compare_bytes(&a[..split], user) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => trailer(a) > b_trailer,
    }
}
