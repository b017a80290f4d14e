//! Lookup of one user key in a block. No key is assembled.
//!
//! Two facts about the previous entry are enough: the number of bytes that it has in common with the searched
//! key, `matched`, and its next byte. If an entry shares more than `matched` bytes with its predecessor, it
//! differs from the searched key at the same position and in the same way. Any other entry is compared from
//! the start of its own bytes. Only entries of the searched key are read further.

use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use base::invariant::{FastPath, takes_slow_path};
use base::key::{InternalOrder, TRAILER_LEN, trailer, user_key};
use base::{Error, Order, Result};

use super::anchors::{Anchors, Found};
use super::entry::{header, separated_restart_header};
use super::{Block, BlockIter, KeyRewrite, Shape};

/// How a scan of a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visited {
    /// The visitor stopped, or the scan reached a later key.
    Settled,
    /// The block ended. The next block may have more entries of the key.
    BlockEnd,
    /// This scan cannot decide about the keys. No entry was visited.
    Hard,
}

/// Number of bytes of an entry that are prefetched.
const ROW: usize = 128;
/// Number of bytes that are prefetched at the start of a block for a scan: the key and the first part of the
/// value of the first entry.
const FIRST_ROW: usize = 160;

const COLLISION: u8 = 254;
const NOT_HERE: u8 = 255;

impl Block {
    /// Visits the entries of one user key from `seek_key` (an internal key) on. The visitor gets the user
    /// key, the trailer, and the location of the value in [`Block::bytes`]. Returns true if the next block
    /// may have more entries of the key.
    ///
    /// # Errors
    /// Corruption, with the offset in the block, if an entry does not decode.
    pub fn visit_versions(
        &self,
        order: &InternalOrder,
        rewrite: KeyRewrite,
        seek_key: &[u8],
        visit: &mut impl FnMut(&[u8], u64, Range<usize>) -> ControlFlow<()>,
    ) -> Result<bool> {
        let reverse = match order.user {
            Order::Bytewise => false,
            Order::Reverse => true,
            Order::Custom(_) => return self.visit_by_iterator(order, rewrite, seek_key, visit),
        };
        let shape = &self.shape();
        // Checksums and rewritten keys need the whole key, so an iterator assembles it.
        if !rewrite.is_none() || shape.protected || takes_slow_path(FastPath::BlockPoint, user_key(seek_key))
        {
            return self.visit_by_iterator(order, rewrite, seek_key, visit);
        }
        let user = user_key(seek_key);
        let start = if shape.anchors.exist() {
            Anchors::prefetch(&self.bytes);
            match Anchors::find(shape, &self.bytes, user) {
                Found::Absent { all_before, .. } => return Ok(all_before),
                Found::At { at, .. } => {
                    let matched = shape.anchors.common_of_head(user);
                    self.start_at(shape, at, matched, 0)
                }
                Found::Behind(i) => {
                    let anchor = shape.anchors.get(&self.bytes, i);
                    let (matched, behind) = shape.anchors.common_with(anchor, user);
                    self.start_at(shape, anchor.at, matched, behind)
                }
            }
        } else {
            match self.restart_start(shape, order, user, trailer(seek_key))? {
                Some(start) => start,
                None => return Ok(true),
            }
        };
        let mut scan = Scan { block: self, shape, user, trailer: trailer(seek_key), reverse, start };
        let visited = if shape.separated { scan.run::<true>(visit) } else { scan.run::<false>(visit) };
        match visited? {
            Visited::Settled => Ok(false),
            Visited::BlockEnd => Ok(true),
            Visited::Hard => self.visit_by_iterator(order, rewrite, seek_key, visit),
        }
    }

    /// Prefetches the search array for a lookup.
    #[inline]
    pub fn prefetch(&self) {
        Anchors::prefetch(&self.bytes);
    }

    /// Prefetches the first entry for a scan.
    #[inline]
    pub fn prefetch_first(&self) {
        let payload = self.payload();
        kernel::prefetch::read(&self.bytes[..self.bytes.len().min(1)]);
        kernel::prefetch::read(&payload[..payload.len().min(FIRST_ROW)]);
    }

    /// Prefetches the entry that a lookup of `user_key` will read. The search array should be in the
    /// processor cache.
    #[inline]
    pub fn prefetch_row(&self, user_key: &[u8]) {
        let shape = &self.shape();
        if let Some(i) = shape.anchors.likely(&self.bytes, user_key) {
            let at = shape.anchors.offset(&self.bytes, i);
            let payload = shape.payload(&self.bytes);
            kernel::prefetch::read(&payload[at.min(payload.len())..(at + ROW).min(payload.len())]);
        }
    }

    /// Returns the start of a scan at the anchor at offset `at`.
    #[inline]
    fn start_at(&self, shape: &Shape, at: usize, matched: usize, behind: u8) -> Start {
        let interval = match shape.separated {
            true => shape.restarts_up_to(shape.payload(&self.bytes), at).saturating_sub(1),
            false => 0,
        };
        Start { at, interval, matched, behind, known: Anchors::UNSHARED_MAX }
    }

    /// Returns the restart interval to scan. Returns `None` if the hash index proves that no interval has the
    /// key.
    fn restart_start(
        &self,
        shape: &Shape,
        order: &InternalOrder,
        user: &[u8],
        trailer: u64,
    ) -> Result<Option<Start>> {
        let bytes = shape.payload(&self.bytes);
        let interval = match shape.bucket(bytes, user) {
            None | Some(COLLISION) => shape.restart_before(bytes, order, user, trailer)?,
            Some(NOT_HERE) => return Ok(None),
            Some(interval) => usize::from(interval),
        };
        match shape.restart(bytes, interval) {
            Some(at) => Ok(Some(Start { at, interval, matched: 0, behind: 0, known: 0 })),
            None if shape.entries_end == 0 => Ok(None),
            None => Err(Error::corruption("bad restart point").at(u64::from(shape.restarts_at))),
        }
    }

    #[inline(never)]
    fn visit_by_iterator(
        &self,
        order: &InternalOrder,
        rewrite: KeyRewrite,
        seek_key: &[u8],
        visit: &mut impl FnMut(&[u8], u64, Range<usize>) -> ControlFlow<()>,
    ) -> Result<bool> {
        let sought = user_key(seek_key);
        let mut iter = BlockIter::rewriting(self.clone(), rewrite);
        iter.seek(order, seek_key);
        while iter.valid() {
            let key = iter.key();
            let user = user_key(key);
            if order.user.compare_without_timestamp(user, sought).is_ne() {
                return Ok(false);
            }
            if visit(user, trailer(key), iter.value_range()).is_break() {
                return Ok(false);
            }
            iter.next();
        }
        iter.status()?;
        Ok(true)
    }
}

#[derive(Clone, Copy)]
struct Start {
    at: usize,
    /// The restart interval of `at`, if the block needs it.
    interval: usize,
    /// The facts about the bytes that the first entry shares with its predecessor: see [`Scan::run`].
    matched: usize,
    behind: u8,
    known: usize,
}

struct Scan<'a> {
    block: &'a Block,
    shape: &'a Shape,
    user: &'a [u8],
    trailer: u64,
    reverse: bool,
    start: Start,
}

impl Scan<'_> {
    #[inline(always)]
    fn run<const SEPARATED: bool>(
        &mut self,
        visit: &mut impl FnMut(&[u8], u64, Range<usize>) -> ControlFlow<()>,
    ) -> Result<Visited> {
        let shape = self.shape;
        let bytes = shape.payload(&self.block.bytes);
        let base = shape.payload_at as usize;
        let user = self.user;
        let end = shape.entries_end as usize;
        let mut next = self.start.at;
        let mut next_restart = self.start.interval;
        let mut value_end = 0;
        // For the previous entry: number of bytes in common with `user`, the next byte, and the length of the
        // whole key.
        let Start { mut matched, mut behind, known: mut key_len, .. } = self.start;
        // The trailer of the previous entry, if it is an entry of the searched key.
        let mut last_trailer: Option<u64> = None;
        while next < end {
            let at = next;
            let bad = || Error::corruption("bad entry in block").at(at as u64);
            let (h, value_at) = if SEPARATED {
                if shape.restart(bytes, next_restart) == Some(at) {
                    next_restart += 1;
                    let (h, v) = separated_restart_header(bytes, at).ok_or_else(bad)?;
                    (h, shape.entries_end as usize + v)
                } else {
                    (header(bytes, at).ok_or_else(bad)?, value_end)
                }
            } else {
                let h = header(bytes, at).ok_or_else(bad)?;
                (h, h.key_at + h.non_shared)
            };
            value_end = value_at + h.value_len;
            next = if SEPARATED { h.key_at + h.non_shared } else { value_end };
            let values_end = if SEPARATED { shape.restarts_at as usize } else { end };
            if next > end || value_end > values_end || h.shared > key_len {
                return Err(bad());
            }
            key_len = h.shared + h.non_shared;
            if key_len < TRAILER_LEN {
                return Err(bad());
            }
            let own = &bytes[h.key_at..h.key_at + h.non_shared];
            if h.shared <= matched {
                let more = common(own, &user[h.shared..]);
                matched = h.shared + more;
                behind = own.get(more).copied().unwrap_or_default();
            }
            let user_len = key_len - TRAILER_LEN;
            let order = if matched >= user_len {
                user_len.cmp(&user.len())
            } else if matched == user.len() {
                Ordering::Greater
            } else {
                behind.cmp(&user[matched])
            };
            match if self.reverse { order.reverse() } else { order } {
                Ordering::Less => last_trailer = None,
                Ordering::Greater => return Ok(Visited::Settled),
                Ordering::Equal => {
                    let Some(trailer) = whole_trailer(own, last_trailer) else { return Ok(Visited::Hard) };
                    last_trailer = Some(trailer);
                    if trailer <= self.trailer
                        && visit(user, trailer, base + value_at..base + value_end).is_break()
                    {
                        return Ok(Visited::Settled);
                    }
                }
            }
        }
        Ok(Visited::BlockEnd)
    }
}

/// Returns the trailer of an entry. `own` has the bytes that the entry does not share with its predecessor, and `last` is the trailer of
/// the predecessor. Returns `None` if the entry shares a part of an unknown trailer.
#[inline(always)]
fn whole_trailer(own: &[u8], last: Option<u64>) -> Option<u64> {
    if let Some(own) = own.last_chunk::<TRAILER_LEN>() {
        return Some(u64::from_le_bytes(*own));
    }
    let mut whole = last?.to_le_bytes();
    whole[TRAILER_LEN - own.len()..].copy_from_slice(own);
    Some(u64::from_le_bytes(whole))
}

/// Returns the number of bytes that two slices have in common. Usually they have few.
#[inline(always)]
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
