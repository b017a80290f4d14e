//! The search array in front of a data block.
//!
//! ```text
//! common prefix | head[n], 1, 2 or 4 bytes each | rest[n], 1, 2 or 4 bytes each | payload
//! ```
//! An anchor is an entry at which reading can start without the entries before it, like an entry at a restart
//! point. There is an anchor about every hundred bytes; with entries of ordinary size, every entry is an
//! anchor. So a lookup need not read a whole restart interval, which is half a kilobyte of memory and rarely
//! in the processor cache. The lookup reads the array (two or three adjacent cache lines) and then the
//! entry.
//!
//! Every cached block has an array, so an array is as small as the block allows. Heads have only as many
//! bytes as are needed to distinguish the keys of the block as well as four bytes do. The offset of an anchor
//! is `i * stride + rest - lead`. If the entries have similar sizes, a rest fits into one byte. A block of 4
//! KiB with entries of 100 bytes has an array of about 100 bytes. With heads of four bytes and offsets of two
//! bytes it had 210 bytes.
//!
//! The search works because the missing bytes of an entry (the bytes that the entry shares with its
//! predecessor) are mostly bytes that all keys of the block share. An entry can be an anchor if
//! - the entry shares at most the common prefix of the block and the following bytes, which are its head;
//! - these bytes are the whole user key of the entry;
//! - the user key differs from the predecessor's user key, so that no anchor separates two versions of a
//!   key.

use std::cmp::Ordering;
use std::ops::Range;

use base::key::user_key;

use super::entry::{header, separated_restart_header};
use super::heads::HeadOrder;
use super::{HEADER, Shape};

/// Minimum number of bytes from one anchor to the next.
const SPACING: usize = 96;
/// Maximum number of bytes of a head.
const HEAD: usize = 4;
/// Number of bytes of the array that are prefetched before a search.
const PREFETCH: usize = 320;
/// Maximum length of the common prefix in the array. A longer prefix is cut, so that the array stays small.
const PREFIX_MAX: usize = 64;

/// The form of the search array. It is part of the header of the block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Anchors {
    /// Number of anchors; 0 if there is no array.
    pub count: u32,
    pub prefix_len: u8,
    /// Bits 0 and 1: log2 of the size of a head in bytes. Bits 2 and 3: log2 of the size of a rest. Other
    /// bits: the constants below.
    pub flags: u8,
    /// (stride << 8) | lead. The unit of the stride is 1/256 byte.
    pub spread: u32,
}

/// Flag: every user key of the block has an anchor.
const DENSE: u8 = 1 << 4;
/// Flag: the heads are those of the reverse order.
const REVERSE: u8 = 1 << 5;
/// Flag: the array is not built yet.
pub(super) const LATER: u8 = 1 << 6;
/// Flag: the trailer of the block is after the payload.
pub(super) const TRAILED: u8 = 1 << 7;

/// One anchor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    /// Offset of the entry.
    pub at: usize,
    head: [u8; HEAD],
}

/// The position that a user key must have if it is in the block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// The first entry of the key is anchor `i`, at offset `at`.
    At { i: usize, at: usize },
    /// The key is after this anchor and before the next anchor.
    Behind(usize),
    /// The block does not have the key. `next` is the anchor of the first key after it. `all_before` is true
    /// if all keys of the block are before it.
    Absent { all_before: bool, next: usize },
}

impl Anchors {
    /// Builds the search array of a payload. Returns an empty array if the block does not decode.
    pub(super) fn build(payload: &[u8], shape: &mut Shape, order: HeadOrder) -> Vec<u8> {
        let none = Vec::new();
        let Some(prefix) = common_prefix(payload, shape) else { return none };
        let mut walk = Walk { key: Vec::with_capacity(64), next: 0, value_end: 0, next_restart: 0 };
        let mut heads: Vec<u32> = Vec::with_capacity(payload.len() / SPACING + 1);
        let mut offsets: Vec<u32> = Vec::with_capacity(payload.len() / SPACING + 1);
        let mut dense = true;
        // The maximum number of bytes that an anchor shares with the entry before it.
        let mut shared = 0;
        while walk.next < shape.entries_end as usize {
            let Some(step) = walk.step(payload, shape) else { return none };
            let user = user_key(&walk.key);
            let Some(rest) = user.strip_prefix(&payload[prefix.clone()]) else { return none };
            if step.same_user_key {
                continue;
            }
            let far = offsets.last().is_none_or(|last| step.at - *last as usize >= SPACING);
            let whole = step.shared <= (prefix.len() + HEAD).min(user.len());
            if far && whole && (step.is_restart || !shape.separated) {
                heads.push(order.short_head(rest));
                offsets.push(step.at as u32);
                shared = shared.max(step.shared);
            } else {
                dense = false;
            }
        }
        if offsets.first() != Some(&0) {
            return none;
        }
        let head_log = head_log(&heads, shared.saturating_sub(prefix.len()));
        let (spread, rest_log) = spread(&mut offsets);
        let len = prefix.len() + (heads.len() << head_log) + (offsets.len() << rest_log);
        if u32::try_from(HEADER + len + payload.len()).is_err() {
            return none;
        }
        let mut array = Vec::with_capacity(len);
        let prefix_len = prefix.len() as u8;
        array.extend_from_slice(&payload[prefix]);
        for head in &heads {
            let top = head >> (32 - (8 << head_log));
            array.extend_from_slice(&top.to_le_bytes()[..1 << head_log]);
        }
        for rest in &offsets {
            array.extend_from_slice(&rest.to_le_bytes()[..1 << rest_log]);
        }
        let flags = head_log
            | rest_log << 2
            | if dense { DENSE } else { 0 }
            | if order == HeadOrder::Reverse { REVERSE } else { 0 };
        shape.anchors = Anchors { count: heads.len() as u32, prefix_len, flags, spread };
        array
    }

    #[inline]
    fn order(&self) -> HeadOrder {
        if self.flags & REVERSE == 0 { HeadOrder::Bytewise } else { HeadOrder::Reverse }
    }

    #[inline]
    fn head_log(&self) -> u8 {
        self.flags & 3
    }

    /// Returns the size of a head in bytes.
    #[inline]
    fn head_len(&self) -> usize {
        (1 << self.head_log()).min(HEAD)
    }

    #[inline]
    pub(super) fn exist(&self) -> bool {
        self.count > 0
    }

    /// Prefetches the header and the array, or the start of a large array.
    #[inline]
    pub(super) fn prefetch(block: &[u8]) {
        kernel::prefetch::read(&block[..block.len().min(PREFETCH)]);
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    #[inline]
    fn prefix<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        block.get(HEADER..HEADER + usize::from(self.prefix_len)).unwrap_or_default()
    }

    #[inline]
    fn heads_at(&self) -> usize {
        HEADER + usize::from(self.prefix_len)
    }

    #[inline(always)]
    fn heads<'a, const W: usize>(&self, block: &'a [u8]) -> &'a [[u8; W]] {
        let at = self.heads_at();
        block.get(at..at + W * self.len()).unwrap_or_default().as_chunks::<W>().0
    }

    /// Returns the offset of the anchor's entry in the payload.
    #[inline]
    pub(super) fn offset(&self, block: &[u8], i: usize) -> usize {
        let at = self.heads_at() + (self.len() << self.head_log());
        let rests = block.get(at..).unwrap_or_default();
        let rest = match self.flags >> 2 & 3 {
            0 => rests.get(i).copied().map(u32::from),
            1 => rests.as_chunks::<2>().0.get(i).map(number),
            _ => rests.as_chunks::<4>().0.get(i).map(number),
        };
        place(self.spread, i).wrapping_add(rest.unwrap_or_default() as usize)
    }

    #[inline]
    pub(super) fn get(&self, block: &[u8], i: usize) -> Anchor {
        let head = match self.head_log() {
            0 => self.heads::<1>(block).get(i).map(number),
            1 => self.heads::<2>(block).get(i).map(number),
            _ => self.heads::<4>(block).get(i).map(number),
        };
        let whole = head.unwrap_or_default() << (32 - 8 * self.head_len());
        Anchor { at: self.offset(block, i), head: self.order().bytes_of(whole) }
    }

    /// Returns the last anchor before offset `at`, or 0 if there is none. `hint` should be that anchor or
    /// near it.
    #[inline]
    pub(super) fn before(&self, block: &[u8], at: usize, hint: usize) -> usize {
        let mut i = hint.min(self.len().saturating_sub(1));
        // Scans ask for one anchor after another.
        for _ in 0..2 {
            if self.offset(block, i) < at {
                break;
            }
            i = i.saturating_sub(1);
        }
        let next_is_behind = i + 1 >= self.len() || self.offset(block, i + 1) >= at;
        if self.offset(block, i) < at && next_is_behind {
            return i;
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.offset(block, middle) < at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.saturating_sub(1)
    }

    /// For an anchor that is before `user`: returns the number of first bytes that the head proves to be
    /// equal, and the next byte of the anchor's key.
    #[inline]
    pub(super) fn common_with(&self, anchor: Anchor, user: &[u8]) -> (usize, u8) {
        let prefix = usize::from(self.prefix_len);
        let rest = user.get(prefix..).unwrap_or_default();
        let head = &anchor.head[..self.head_len()];
        let more = head.iter().zip(rest).take_while(|(a, b)| a == b).count();
        (prefix + more, head.get(more).copied().unwrap_or_default())
    }

    /// Returns the smallest number of bytes that `user` has in common with any anchor of the same head. The
    /// entry at the anchor may share at most this many bytes with its predecessor.
    #[inline]
    pub(super) fn common_of_head(&self, user: &[u8]) -> usize {
        (usize::from(self.prefix_len) + self.head_len()).min(user.len())
    }

    /// Copies the bytes that the anchor's entry may share with its predecessor to the start of `key`. Returns
    /// their number.
    #[inline]
    pub(super) fn unshare(&self, block: &[u8], anchor: Anchor, key: &mut [u8]) -> usize {
        let prefix = self.prefix(block);
        key[..prefix.len()].copy_from_slice(prefix);
        // Bytes that are not part of the head are not counted.
        key[prefix.len()..prefix.len() + HEAD].copy_from_slice(&anchor.head);
        prefix.len() + self.head_len()
    }

    /// Number of bytes that [`Self::unshare`] may write.
    pub(super) const UNSHARED_MAX: usize = PREFIX_MAX + HEAD;

    /// Returns the position that `user` must have in `block`. `shape` is the shape of the block.
    #[inline]
    pub(super) fn find(shape: &Shape, block: &[u8], user: &[u8]) -> Found {
        let anchors = &shape.anchors;
        let prefix = anchors.prefix(block);
        match anchors.order().against_prefix(user, prefix) {
            Ordering::Less => return Found::Absent { all_before: false, next: 0 },
            Ordering::Greater => return Found::Absent { all_before: true, next: anchors.len() },
            Ordering::Equal => {}
        }
        // Find the last anchor that is not after the key.
        let (mut low, mut high) = anchors.ties(block, &user[prefix.len()..]);
        while low < high {
            let middle = low.midpoint(high);
            let at = anchors.offset(block, middle);
            match anchors.compare_tied(shape, block, at, user) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Found::At { i: middle, at },
                Ordering::Greater => high = middle,
            }
        }
        if anchors.flags & DENSE != 0 || low == 0 {
            return Found::Absent { all_before: low == anchors.len(), next: low };
        }
        Found::Behind(low - 1)
    }

    /// Returns the range of anchors whose head is the head of `rest`.
    #[inline(always)]
    fn ties(&self, block: &[u8], rest: &[u8]) -> (usize, usize) {
        let sought = self.order().short_head(rest);
        match self.head_log() {
            0 => ties(self.heads::<1>(block), sought >> 24),
            1 => ties(self.heads::<2>(block), sought >> 16),
            _ => ties(self.heads::<4>(block), sought),
        }
    }

    /// Returns the anchor at which [`Self::find`] will probably end. Reads no entry.
    #[inline]
    pub(super) fn likely(&self, block: &[u8], user: &[u8]) -> Option<usize> {
        let rest = user.get(usize::from(self.prefix_len)..)?;
        let below = self.ties(block, rest).0;
        self.len().checked_sub(1).map(|last| below.min(last))
    }

    /// Compares the user key of the anchor at `at` with a user key of the same head.
    #[inline]
    fn compare_tied(&self, shape: &Shape, block: &[u8], at: usize, user: &[u8]) -> Ordering {
        let bytes = shape.payload(block);
        let header = if shape.separated {
            separated_restart_header(bytes, at).map(|(h, _)| h)
        } else {
            header(bytes, at)
        };
        let order = self.order();
        // The entry decoded when the array was built.
        let Some(h) = header else { return Ordering::Greater };
        let Some(rest) = user.get(h.shared..) else { return order.turn(Ordering::Greater) };
        let end = (h.key_at + h.non_shared).saturating_sub(base::key::TRAILER_LEN);
        let own = bytes.get(h.key_at..end).unwrap_or_default();
        order.turn(own.cmp(rest))
    }
}

/// Returns a stored head or rest as a number.
#[inline(always)]
fn number<const W: usize>(stored: &[u8; W]) -> u32 {
    let mut bytes = [0; 4];
    bytes[..W].copy_from_slice(stored);
    u32::from_le_bytes(bytes)
}

#[inline(always)]
fn ties<const W: usize>(heads: &[[u8; W]], sought: u32) -> (usize, usize) {
    let below = heads.partition_point(|head| number(head) < sought);
    let equal = heads[below..].iter().take_while(|head| number(head) == sought).count();
    (below, below + equal)
}

/// Returns the offset of anchor `i` without its rest.
#[inline(always)]
fn place(spread: u32, i: usize) -> usize {
    (i.wrapping_mul((spread >> 8) as usize) >> 8).wrapping_sub((spread & 0xff) as usize)
}

/// Returns log2 of the size of a head in bytes. A head needs at least `shared` bytes, and enough bytes to
/// distinguish all heads that differ.
fn head_log(heads: &[u32], shared: usize) -> u8 {
    let same = |shift: u32| heads.windows(2).filter(|pair| pair[0] >> shift == pair[1] >> shift).count();
    let least = same(0);
    (0..2).find(|&log| shared <= 1 << log && same(32 - (8 << log)) == least).unwrap_or(2)
}

/// Converts offsets into rests. Returns the spread, and log2 of the size of a rest in bytes.
fn spread(offsets: &mut [u32]) -> (u32, u8) {
    let last = offsets.last().copied().unwrap_or_default();
    let stride = (u64::from(last) << 8).checked_div(offsets.len() as u64 - 1).unwrap_or_default();
    if stride < 1 << 24 {
        let line = |i: usize| place((stride as u32) << 8, i) as i64;
        let rests = || offsets.iter().enumerate().map(|(i, &offset)| i64::from(offset) - line(i));
        // The first rest is 0, so the minimum is not above 0.
        let lead = -rests().min().unwrap_or_default();
        if rests().all(|rest| rest + lead <= i64::from(u8::MAX)) {
            for (i, offset) in offsets.iter_mut().enumerate() {
                *offset = (i64::from(*offset) - line(i) + lead) as u32;
            }
            return ((stride as u32) << 8 | lead as u32, 0);
        }
    }
    (0, if last <= u32::from(u16::MAX) { 1 } else { 2 })
}

/// Returns the common prefix of the user keys of the first and the last entry, as a range of the first entry.
fn common_prefix(payload: &[u8], shape: &Shape) -> Option<Range<usize>> {
    let first = super::restart_key(payload, shape, 0)?;
    let first = first.start..first.start + user_key(&payload[first]).len();
    let restart = (shape.num_restarts as usize).checked_sub(1)?;
    let at = shape.restart(payload, restart)?;
    let mut walk = Walk { key: Vec::with_capacity(64), next: at, value_end: 0, next_restart: restart };
    while walk.next < shape.entries_end as usize {
        walk.step(payload, shape)?;
    }
    let last = user_key(&walk.key);
    let common = payload[first.clone()].iter().zip(last).take_while(|(a, b)| a == b).count();
    Some(first.start..first.start + common.min(PREFIX_MAX))
}

/// Moves over entries and keeps the current key.
struct Walk {
    key: Vec<u8>,
    next: usize,
    value_end: usize,
    next_restart: usize,
}

struct Step {
    at: usize,
    shared: usize,
    is_restart: bool,
    /// True if the user key is the user key of the entry before.
    same_user_key: bool,
}

impl Walk {
    fn step(&mut self, bytes: &[u8], shape: &Shape) -> Option<Step> {
        let at = self.next;
        let is_restart = shape.separated && shape.restart(bytes, self.next_restart) == Some(at);
        let (h, value_at) = if is_restart {
            self.next_restart += 1;
            let (h, value) = separated_restart_header(bytes, at)?;
            (h, shape.entries_end as usize + value)
        } else if shape.separated {
            (header(bytes, at)?, self.value_end)
        } else {
            let h = header(bytes, at)?;
            (h, h.key_at + h.non_shared)
        };
        let own = bytes.get(h.key_at..h.key_at + h.non_shared)?;
        if h.shared > self.key.len() || h.shared + h.non_shared < base::key::TRAILER_LEN {
            return None;
        }
        let user_len = h.shared + h.non_shared - base::key::TRAILER_LEN;
        let same_user_key = at > 0
            && user_len == user_key(&self.key).len()
            && (h.shared >= user_len || self.key[h.shared..user_len] == own[..user_len - h.shared]);
        self.key.truncate(h.shared);
        self.key.extend_from_slice(own);
        self.value_end = value_at + h.value_len;
        self.next = if shape.separated { h.key_at + h.non_shared } else { self.value_end };
        let values_end = if shape.separated { shape.restarts_at } else { shape.entries_end };
        if self.next > shape.entries_end as usize || self.value_end > values_end as usize {
            return None;
        }
        Some(Step { at, shared: h.shared, is_restart, same_user_key })
    }
}
