//! The search array in front of a data block.
//!
//! ```text
//! common prefix | u32 head[n] | u16 offset[n], or u32 in blocks above 64 KiB | payload
//! ```
//! An anchor is an entry at which reading can start without the entries before it, as at a restart, but
//! there is one every hundred bytes or so: with rows of ordinary size, at every row. That costs about a
//! twentieth of the block's memory and saves walking through the restart interval, half a kilobyte of
//! memory that is rarely in the processor's cache; a look-up reads the array (three or four lines side by
//! side) and then the row.
//!
//! It works because an entry's missing bytes, those it shares with its predecessor, are mostly bytes that
//! all keys of the block share. So an entry can be an anchor if
//! - it shares no more than the block's common prefix and the four bytes behind it, which are its head;
//! - those bytes are all of its user key;
//! - its user key is another than its predecessor's, so that a key's versions are never cut.

use std::cmp::Ordering;
use std::ops::Range;

use base::key::user_key;

use super::entry::{header, separated_restart_header};
use super::heads::HeadOrder;
use super::{Block, Shape};

/// Bytes from one anchor to the next, at least.
const SPACING: usize = 96;
/// Bytes of a key that a head holds.
const HEAD: usize = 4;
/// Bytes of the array that are asked for before they are searched.
const PREFETCH: usize = 320;
/// A longer common prefix is cut to this, so that the array stays small beside the block.
const PREFIX_MAX: usize = 64;

/// Where the array lies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Anchors {
    /// Number of anchors; 0 if there is no array.
    count: u32,
    prefix_len: u8,
    wide: bool,
    /// Every user key of the block has an anchor.
    dense: bool,
    order: HeadOrder,
}

/// An anchor, looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    /// Offset of the entry.
    pub at: usize,
    head: [u8; HEAD],
}

/// Where a user key must be if it is in the block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// At or behind this anchor, and before the next.
    Behind(usize),
    /// Nowhere. Either all keys are before it, or `next` is the anchor of the first one behind it.
    Absent { all_before: bool, next: usize },
}

impl Anchors {
    /// Builds the array of a payload. A block that does not decode gets none.
    pub(super) fn build(payload: &[u8], shape: &mut Shape, order: HeadOrder) -> Vec<u8> {
        let none = Vec::new();
        let Some(prefix) = common_prefix(payload, shape) else { return none };
        let mut walk = Walk { key: Vec::with_capacity(64), next: 0, value_end: 0, next_restart: 0 };
        let mut heads: Vec<u32> = Vec::with_capacity(payload.len() / SPACING + 1);
        let mut offsets: Vec<u32> = Vec::with_capacity(payload.len() / SPACING + 1);
        let mut dense = true;
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
            } else {
                dense = false;
            }
        }
        if offsets.first() != Some(&0) {
            return none;
        }
        let wide = payload.len() > usize::from(u16::MAX);
        let len = prefix.len() + heads.len() * if wide { 8 } else { 6 };
        if u32::try_from(len + payload.len()).is_err() {
            return none;
        }
        let mut array = Vec::with_capacity(len);
        let prefix_len = prefix.len() as u8;
        array.extend_from_slice(&payload[prefix]);
        array.extend(heads.iter().flat_map(|head| head.to_le_bytes()));
        match wide {
            true => array.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes())),
            false => array.extend(offsets.iter().flat_map(|offset| (*offset as u16).to_le_bytes())),
        }
        shape.anchors = Anchors { count: heads.len() as u32, prefix_len, wide, dense, order };
        array
    }

    #[inline]
    pub(super) fn exist(&self) -> bool {
        self.count > 0
    }

    /// Asks the processor for the array, or the start of a large one.
    #[inline]
    pub(super) fn prefetch(&self, block: &Block) {
        kernel::prefetch::read(&block.bytes[..block.bytes.len().min(PREFETCH)]);
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    #[inline]
    fn prefix<'a>(&self, block: &'a Block) -> &'a [u8] {
        block.bytes.get(..usize::from(self.prefix_len)).unwrap_or_default()
    }

    #[inline]
    fn heads<'a>(&self, block: &'a Block) -> &'a [[u8; 4]] {
        let at = usize::from(self.prefix_len);
        block.bytes.get(at..at + HEAD * self.len()).unwrap_or_default().as_chunks::<HEAD>().0
    }

    /// The offset of an anchor's entry in the payload.
    #[inline]
    pub(super) fn offset(&self, block: &Block, i: usize) -> usize {
        let at = usize::from(self.prefix_len) + HEAD * self.len();
        let rest = block.bytes.get(at..).unwrap_or_default();
        match self.wide {
            true => rest.as_chunks::<4>().0.get(i).map_or(0, |o| u32::from_le_bytes(*o) as usize),
            false => rest.as_chunks::<2>().0.get(i).map_or(0, |o| usize::from(u16::from_le_bytes(*o))),
        }
    }

    #[inline]
    pub(super) fn get(&self, block: &Block, i: usize) -> Anchor {
        let head = self.heads(block).get(i).map_or(0, |h| u32::from_le_bytes(*h));
        Anchor { at: self.offset(block, i), head: self.order.bytes_of(head) }
    }

    /// The last anchor before offset `at`, which is most often `hint` or near it; 0 if there is none.
    #[inline]
    pub(super) fn before(&self, block: &Block, at: usize, hint: usize) -> usize {
        let mut i = hint.min(self.len().saturating_sub(1));
        // Scans come here anchor after anchor.
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

    /// How many bytes of `user` an anchor that stands before it, by its head, is known to have in common,
    /// and its byte behind those.
    #[inline]
    pub(super) fn common_with(&self, anchor: Anchor, user: &[u8]) -> (usize, u8) {
        let prefix = usize::from(self.prefix_len);
        let rest = user.get(prefix..).unwrap_or_default();
        let more = anchor.head.iter().zip(rest).take_while(|(a, b)| a == b).count();
        (prefix + more, anchor.head.get(more).copied().unwrap_or_default())
    }

    /// Puts the bytes that an anchor's entry may share at the front of `key`; returns how many.
    #[inline]
    pub(super) fn unshare(&self, block: &Block, anchor: Anchor, key: &mut [u8]) -> usize {
        let prefix = self.prefix(block);
        key[..prefix.len()].copy_from_slice(prefix);
        key[prefix.len()..prefix.len() + HEAD].copy_from_slice(&anchor.head);
        prefix.len() + HEAD
    }

    /// Bytes that [`Self::unshare`] needs.
    pub(super) const UNSHARED_MAX: usize = PREFIX_MAX + HEAD;

    /// Where `user` must be.
    #[inline]
    pub(super) fn find(&self, block: &Block, user: &[u8]) -> Found {
        let prefix = self.prefix(block);
        match self.order.against_prefix(user, prefix) {
            Ordering::Less => return Found::Absent { all_before: false, next: 0 },
            Ordering::Greater => return Found::Absent { all_before: true, next: self.count as usize },
            Ordering::Equal => {}
        }
        let sought = self.order.short_head(&user[prefix.len()..]);
        let heads = self.heads(block);
        let below = heads.partition_point(|h| u32::from_le_bytes(*h) < sought);
        let ties = heads[below..].iter().take_while(|h| u32::from_le_bytes(**h) == sought).count();
        // The last anchor that is not behind the key.
        let (mut low, mut high) = (below, below + ties);
        while low < high {
            let middle = low.midpoint(high);
            match self.compare_tied(block, middle, user) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Found::Behind(middle),
                Ordering::Greater => high = middle,
            }
        }
        if self.dense || low == 0 {
            return Found::Absent { all_before: low == heads.len(), next: low };
        }
        Found::Behind(low - 1)
    }

    /// The anchor that [`Self::find`] most likely ends at, told without looking at a row.
    #[inline]
    pub(super) fn likely(&self, block: &Block, user: &[u8]) -> Option<usize> {
        let rest = user.get(usize::from(self.prefix_len)..)?;
        let sought = self.order.short_head(rest);
        let below = self.heads(block).partition_point(|h| u32::from_le_bytes(*h) < sought);
        self.len().checked_sub(1).map(|last| below.min(last))
    }

    /// Compares the user key at an anchor with one that has the same head.
    #[inline]
    fn compare_tied(&self, block: &Block, i: usize, user: &[u8]) -> Ordering {
        let (bytes, at) = (block.payload(), self.offset(block, i));
        let header = if block.shape.separated {
            separated_restart_header(bytes, at).map(|(h, _)| h)
        } else {
            header(bytes, at)
        };
        // It decoded when the array was built.
        let Some(h) = header else { return Ordering::Greater };
        let Some(rest) = user.get(h.shared..) else { return self.order.turn(Ordering::Greater) };
        let end = (h.key_at + h.non_shared).saturating_sub(base::key::TRAILER_LEN);
        let own = bytes.get(h.key_at..end).unwrap_or_default();
        self.order.turn(own.cmp(rest))
    }
}

/// What the user keys of the first and the last entry have in common: where it lies in the first.
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

/// A walk over entries that keeps the key.
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
    /// The user key is that of the entry before.
    same_user_key: bool,
}

impl Walk {
    fn step(&mut self, bytes: &[u8], shape: &Shape) -> Option<Step> {
        let at = self.next;
        let is_restart = shape.separated && shape.restart(bytes, self.next_restart) == Some(at);
        let (h, value_at) = if is_restart {
            self.next_restart += 1;
            let (h, value) = separated_restart_header(bytes, at)?;
            (h, shape.values_at as usize + value)
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
