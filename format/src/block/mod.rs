//! Reads sorted-string blocks. Data, index, metaindex, properties and range tombstones have this format.
//!
//! ```text
//! entry* | [values] | u32 restart[n] | [hash index] | [u32 values offset] | u32 packed
//!
//! entry  : v32 shared, v32 non_shared, v32 value_len, key[non_shared], value[value_len]
//! values : only when bit 28 is set; entries then carry no value bytes, and those at restart points have
//!          a v32 value offset after value_len
//! hash   : u8 bucket[n], u16 n
//! packed : bit 31 hash index, bit 30 zero, bit 29 uniform keys, bit 28 separated values,
//!          bits 27..0 number of restarts
//! ```
//! A key is the first `shared` bytes of the previous key, followed by its own bytes. At a restart point
//! `shared` is 0. Facts: RocksDB `table/block_based/block.cc`, `data_block_footer.h`.
//!
//! A [`Block`] is one allocation. The fields that a reader needs first are before the payload. So a thread
//! that clones the reference to the block also loads these fields into its CPU cache:
//!
//! ```text
//! counts 16 | header 28 | search array | [unused] | [checksums of entries] | payload | [trailer 5]
//!
//! header : u32 entries_end, u32 restarts_at, u32 num_restarts (bit 30 the first at 0,
//!          bit 31 checksums of entries, bit 29 uniform, bit 28 separated),
//!          u32 payload_at, u32 anchors, u8 common prefix, u8 anchor flags, u16 buckets,
//!          u32 (stride << 8 | lead)
//! ```
//! A block that was read in place from the file still has its trailer (see [`BlockRoom`]).
//!
//! The search array finds an entry without reading the entries before it (see `anchors`). Building it costs
//! one pass over the entries. It is built when the block is loaded, or, in a table reader, by a later search:
//! by the second search of a small block, and after more searches of a large block.

mod anchors;
mod entry;
mod heads;
mod iter;
mod plain;
mod point;
mod protect;
mod room;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use base::coding::{get_u16, get_u32};
use base::key::InternalOrder;
use base::{Error, Result};

use crate::trailer;

pub use heads::HeadOrder;
pub use iter::{BlockIter, KeyRewrite};
pub use plain::{PlainEntries, PlainEntry, PlainRestarts};
pub use room::BlockRoom;

const HASH_INDEX: u32 = 1 << 31;
const RESERVED: u32 = 1 << 30;
const UNIFORM: u32 = 1 << 29;
const SEPARATED: u32 = 1 << 28;
const RESTARTS: u32 = SEPARATED - 1;

/// A parsed block. Clones share the bytes.
#[derive(Clone, Debug)]
pub struct Block {
    /// Header, search array and payload. Empty in an iterator without a block.
    bytes: Arc<[u8]>,
}

/// Size of the header in bytes.
const HEADER: usize = 28;

/// The locations of the parts of a block: the decoded header.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// The start of the payload in the memory of the block. All other offsets are in the payload.
    payload_at: u32,
    /// The end of the entries. Separated values start here.
    entries_end: u32,
    /// The end of the values. The restart array starts here.
    restarts_at: u32,
    num_restarts: u32,
    /// Number of buckets of the hash index, which follows the restart array.
    num_buckets: u16,
    separated: bool,
    uniform: bool,
    /// True if checksums of the entries are before the payload.
    protected: bool,
    /// True if the first restart point is the first entry, as it should be.
    starts_at_zero: bool,
    anchors: anchors::Anchors,
}

impl Block {
    /// Parses a payload (without trailer) and builds no search array.
    ///
    /// # Errors
    /// Corruption if the parts contradict each other.
    pub fn parse(payload: &[u8]) -> Result<Block> {
        Block::parse_searchable(payload, None)
    }

    /// Parses a payload of internal keys. Builds the search array if `order` is set.
    ///
    /// # Errors
    /// Corruption if the parts contradict each other.
    pub fn parse_searchable(payload: &[u8], order: Option<HeadOrder>) -> Result<Block> {
        Block::assemble(payload, order, &[], zeroed)
    }

    /// Does the work of [`Block::parse`] for a block that gets its search array when it is used again: see
    /// [`Block::wants_array`]. So a block that is read only once never needs an array. `room` is described at
    /// [`Block::parse_into`].
    ///
    /// # Errors
    /// Corruption if the parts contradict each other.
    pub fn parse_for_later(payload: &[u8], room: impl FnOnce(usize) -> Arc<[u8]>) -> Result<Block> {
        let mut shape = Shape::parse(payload)?;
        if shape.is_worth_an_array(payload.len()) {
            shape.anchors.flags = anchors::LATER;
        }
        Ok(Block::join(payload, &mut shape, &[], &[], room))
    }

    /// Works like [`Block::parse`], for a payload of `len` bytes that `fill` writes into the memory of the block. So a
    /// decompressed payload is not copied again. `room` as in [`Block::parse_into`].
    ///
    /// # Errors
    /// Those of `fill`; Corruption if the parts do not fit into each other.
    pub fn fill(
        len: usize,
        room: impl FnOnce(usize) -> Arc<[u8]>,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Block> {
        Block::filled(len, 0, room, fill)
    }

    /// Works like [`Block::fill`], for a block that gets its search array later, as in [`Block::parse_for_later`].
    ///
    /// # Errors
    /// The errors of [`Block::fill`].
    pub fn fill_for_later(
        len: usize,
        room: impl FnOnce(usize) -> Arc<[u8]>,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Block> {
        Block::filled(len, anchors::LATER, room, fill)
    }

    fn filled(
        len: usize,
        flags: u8,
        room: impl FnOnce(usize) -> Arc<[u8]>,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Block> {
        let mut bytes = memory(HEADER + len, room);
        let payload_at = bytes.len() - len;
        if let Some(own) = Arc::get_mut(&mut bytes) {
            fill(&mut own[payload_at..])?;
            let mut shape = Shape::parse(&own[payload_at..])?;
            shape.payload_at = payload_at as u32;
            if shape.is_worth_an_array(len) {
                shape.anchors.flags = flags;
            }
            own[..HEADER].copy_from_slice(&shape.encode());
        }
        Ok(Block { bytes })
    }

    /// Returns true if [`Block::searchable`] can turn this block into a block with a faster search.
    #[inline]
    pub fn wants_array(&self) -> bool {
        self.bytes.get(ANCHOR_FLAGS_AT).is_some_and(|flags| flags & anchors::LATER != 0)
    }

    /// Returns the same block with its search array, if its keys allow one.
    ///
    /// # Errors
    /// None for a block that was parsed.
    pub fn searchable(&self, order: HeadOrder, room: impl FnOnce(usize) -> Arc<[u8]>) -> Result<Block> {
        Block::assemble(self.payload(), Some(order), &[], room)
    }

    /// Does the work of [`Block::parse_searchable`] and keeps `bytes_per_key` bytes of checksum (1, 2, 4 or
    /// 8) for each entry. Iterators and lookups verify these checksums. 0 means no checksums.
    ///
    /// # Errors
    /// Corruption if the parts contradict each other or, with checksums, an entry does not decode.
    pub fn parse_protected(payload: &[u8], order: Option<HeadOrder>, bytes_per_key: u8) -> Result<Block> {
        Block::parse_into(payload, order, bytes_per_key, zeroed)
    }

    /// Does the work of [`Block::parse_protected`] in memory that `room` returns for a number of bytes. The
    /// memory may be longer than asked, and may have any content, but it must be exclusive. If the memory
    /// is too short or shared, the function allocates instead.
    ///
    /// # Errors
    /// The errors of [`Block::parse_protected`].
    pub fn parse_into(
        payload: &[u8],
        order: Option<HeadOrder>,
        bytes_per_key: u8,
        room: impl FnOnce(usize) -> Arc<[u8]>,
    ) -> Result<Block> {
        if bytes_per_key == 0 {
            return Block::assemble(payload, order, &[], room);
        }
        let checksums = protect::build(&Block::parse(payload)?, bytes_per_key)?;
        Block::assemble(payload, order, &checksums, room)
    }

    fn assemble(
        payload: &[u8],
        order: Option<HeadOrder>,
        checksums: &[u8],
        room: impl FnOnce(usize) -> Arc<[u8]>,
    ) -> Result<Block> {
        let mut shape = Shape::parse(payload)?;
        shape.protected = !checksums.is_empty();
        let array = match order {
            Some(order) => anchors::Anchors::build(payload, &mut shape, order),
            None => Vec::new(),
        };
        Ok(Block::join(payload, &mut shape, &array, checksums, room))
    }

    fn join(
        payload: &[u8],
        shape: &mut Shape,
        array: &[u8],
        checksums: &[u8],
        room: impl FnOnce(usize) -> Arc<[u8]>,
    ) -> Block {
        let array_end = HEADER + array.len();
        let needed = array_end + checksums.len() + payload.len();
        let mut bytes = memory(needed, room);
        // Unused memory is after the search array. The parts after it are found from the end of the memory.
        let payload_at = bytes.len() - payload.len();
        let checksums_at = payload_at - checksums.len();
        shape.payload_at = payload_at as u32;
        if let Some(bytes) = Arc::get_mut(&mut bytes) {
            bytes[..HEADER].copy_from_slice(&shape.encode());
            bytes[HEADER..array_end].copy_from_slice(array);
            bytes[checksums_at..payload_at].copy_from_slice(checksums);
            bytes[payload_at..].copy_from_slice(payload);
        }
        Block { bytes }
    }

    /// Returns the memory of the block. Another block can use it if there is no other reference.
    pub fn into_bytes(self) -> Arc<[u8]> {
        self.bytes
    }

    /// Returns a block without entries.
    pub fn none() -> Block {
        Block { bytes: Arc::default() }
    }

    /// Returns the memory of the block: header, search array, payload.
    #[inline]
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Returns the payload that was parsed.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        let at = get_u32(&self.bytes, PAYLOAD_AT).unwrap_or_default() as usize;
        let is_trailed = self.bytes.get(ANCHOR_FLAGS_AT).is_some_and(|flags| flags & anchors::TRAILED != 0);
        let end = self.bytes.len().saturating_sub(if is_trailed { trailer::LEN } else { 0 });
        self.bytes.get(at..end).unwrap_or_default()
    }

    /// Returns the number of bytes that the block takes from the allocator, as one allocation.
    pub fn memory_bytes(&self) -> usize {
        // An `Arc` has two counts before the bytes, and padding.
        (2 * size_of::<usize>() + self.bytes.len()).next_multiple_of(align_of::<usize>())
    }

    #[inline]
    fn shape(&self) -> Shape {
        Shape::decode(&self.bytes)
    }

    /// Returns the number of bytes of the entries with their values: the offset of the restart array.
    #[inline]
    pub fn entries_bytes(&self) -> usize {
        self.shape().restarts_at as usize
    }

    /// Returns true if the block has no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape().entries_end == 0
    }

    /// Returns true if the block has a hash index from user keys to restart points.
    #[cfg(test)]
    pub(crate) fn has_hash_index(&self) -> bool {
        self.shape().num_buckets > 0
    }

    /// Returns true if the block stores all keys first and the values after the keys.
    #[cfg(test)]
    pub(crate) fn has_separated_values(&self) -> bool {
        self.shape().separated
    }

    /// Returns true if the writer marked the keys as evenly spread.
    pub fn is_uniform(&self) -> bool {
        self.shape().uniform
    }
}

/// Returns `needed` bytes or more, which no other thread has: those of `room`, if they fit.
fn memory(needed: usize, room: impl FnOnce(usize) -> Arc<[u8]>) -> Arc<[u8]> {
    let mut bytes = room(needed);
    if bytes.len() < needed || u32::try_from(bytes.len()).is_err() || Arc::get_mut(&mut bytes).is_none() {
        bytes = zeroed(needed);
    }
    bytes
}

fn zeroed(len: usize) -> Arc<[u8]> {
    std::iter::repeat_n(0, len).collect()
}

/// A flag in `num_restarts` of the header: the first restart point is at offset 0.
const STARTS_AT_ZERO: u32 = RESERVED;

/// A flag in `num_restarts` of the header: checksums of the entries are before the payload.
const PROTECTED: u32 = HASH_INDEX;

/// The offset of `payload_at` in the header.
const PAYLOAD_AT: usize = 12;

/// The offset of the flags of the search array in the header.
const ANCHOR_FLAGS_AT: usize = 21;

/// A block with more bytes for each restart has large values, and gets no search array.
const RESTART_BYTES_MAX: usize = 16 << 10;

impl Shape {
    /// Returns true if searches of the block gain more from a search array than the copy of the block costs. With large
    /// values, a search walks over few entries: a block of 1 MiB with one value took a millisecond for its copy.
    fn is_worth_an_array(&self, payload_len: usize) -> bool {
        payload_len <= (self.num_restarts as usize).saturating_mul(RESTART_BYTES_MAX)
    }

    fn encode(&self) -> [u8; HEADER] {
        let counts = self.num_restarts
            | if self.separated { SEPARATED } else { 0 }
            | if self.uniform { UNIFORM } else { 0 }
            | if self.protected { PROTECTED } else { 0 }
            | if self.starts_at_zero { STARTS_AT_ZERO } else { 0 };
        let anchors = &self.anchors;
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&self.entries_end.to_le_bytes());
        header[4..8].copy_from_slice(&self.restarts_at.to_le_bytes());
        header[8..12].copy_from_slice(&counts.to_le_bytes());
        header[PAYLOAD_AT..16].copy_from_slice(&self.payload_at.to_le_bytes());
        header[16..20].copy_from_slice(&anchors.count.to_le_bytes());
        header[20] = anchors.prefix_len;
        header[ANCHOR_FLAGS_AT] = anchors.flags;
        header[22..24].copy_from_slice(&self.num_buckets.to_le_bytes());
        header[24..].copy_from_slice(&anchors.spread.to_le_bytes());
        header
    }

    #[inline(always)]
    fn decode(block: &[u8]) -> Shape {
        let Some(header) = block.first_chunk::<HEADER>() else { return Shape::default() };
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let counts = word(8);
        Shape {
            payload_at: word(PAYLOAD_AT),
            entries_end: word(0),
            restarts_at: word(4),
            num_restarts: counts & RESTARTS,
            num_buckets: u16::from_le_bytes([header[22], header[23]]),
            starts_at_zero: counts & STARTS_AT_ZERO != 0,
            separated: counts & SEPARATED != 0,
            uniform: counts & UNIFORM != 0,
            protected: counts & PROTECTED != 0,
            anchors: anchors::Anchors {
                count: word(16),
                prefix_len: header[20],
                flags: header[ANCHOR_FLAGS_AT],
                spread: word(24),
            },
        }
    }

    /// Returns the payload in the memory of a block, with the trailer if the block still has it.
    #[inline(always)]
    fn payload<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        block.get(self.payload_at as usize..).unwrap_or_default()
    }

    fn parse(payload: &[u8]) -> Result<Shape> {
        Self::parse_parts(payload).ok_or_else(|| {
            Error::corruption(format!(
                "bad block contents: {} bytes do not hold what their last word announces",
                payload.len()
            ))
        })
    }

    fn parse_parts(payload: &[u8]) -> Option<Shape> {
        u32::try_from(payload.len()).ok()?;
        let mut end = payload.len().checked_sub(4)?;
        let packed = get_u32(payload, end)?;
        if packed & RESERVED != 0 {
            return None;
        }
        let mut shape = Shape {
            num_restarts: packed & RESTARTS,
            separated: packed & SEPARATED != 0,
            uniform: packed & UNIFORM != 0,
            ..Shape::default()
        };
        if packed & HASH_INDEX != 0 && end >= 1 << 16 {
            return None;
        }
        if shape.separated {
            end = end.checked_sub(4)?;
            shape.entries_end = get_u32(payload, end)?;
        }
        if packed & HASH_INDEX != 0 {
            end = end.checked_sub(2)?;
            shape.num_buckets = get_u16(payload, end)?;
            if shape.num_buckets == 0 {
                return None;
            }
            end = end.checked_sub(usize::from(shape.num_buckets))?;
        }
        end = end.checked_sub(4 * shape.num_restarts as usize)?;
        shape.restarts_at = end as u32;
        if !shape.separated {
            shape.entries_end = shape.restarts_at;
        }
        if shape.entries_end > shape.restarts_at {
            return None;
        }
        shape.starts_at_zero = get_u32(payload, end) == Some(0);
        // An empty block is written with one restart point at 0, although it has no entry.
        if shape.num_restarts == 0 || shape.entries_end == 0 {
            shape.num_restarts = 0;
            shape.num_buckets = 0;
            shape.entries_end = 0;
        }
        Some(shape)
    }

    /// Returns the offset of the entry at restart point `i`. Returns `None` if there is none, or if it is not
    /// among the entries.
    #[inline]
    fn restart(&self, bytes: &[u8], i: usize) -> Option<usize> {
        if i >= self.num_restarts as usize {
            return None;
        }
        let at = get_u32(bytes, self.restarts_at as usize + 4 * i)?;
        (at < self.entries_end).then_some(at as usize)
    }

    /// Returns the bucket of the hash index for a user key, or `None` without a hash index.
    #[inline]
    fn bucket(&self, bytes: &[u8], user_key: &[u8]) -> Option<u8> {
        if self.num_buckets == 0 {
            return None;
        }
        let hash = kernel::hash::hash32(user_key, HASH_INDEX_SEED);
        let buckets_at = self.restarts_at as usize + 4 * self.num_restarts as usize;
        let at = buckets_at + (hash % u32::from(self.num_buckets)) as usize;
        bytes.get(at).copied()
    }

    /// Returns the last restart point whose key is before the target, or the first restart point.
    fn restart_before(
        &self,
        bytes: &[u8],
        order: &InternalOrder,
        user: &[u8],
        trailer: u64,
    ) -> Result<usize> {
        let before = partition_restarts(self.num_restarts as usize, |i| {
            let key = restart_key(bytes, self, i)?;
            Some(order.compare_split(&bytes[key], user, trailer).is_lt())
        });
        match before {
            Some(count) => Ok(count.saturating_sub(1)),
            None => Err(Error::corruption("bad restart point").at(u64::from(self.restarts_at))),
        }
    }

    /// Returns the number of restart points at or before offset `at`.
    fn restarts_up_to(&self, bytes: &[u8], at: usize) -> usize {
        let count = partition_restarts(self.num_restarts as usize, |i| {
            Some(self.restart(bytes, i).is_some_and(|restart| restart <= at))
        });
        count.unwrap_or_default()
    }
}

/// Returns the location of the key of restart point `i`, which is stored whole.
#[inline]
fn restart_key(bytes: &[u8], shape: &Shape, i: usize) -> Option<Range<usize>> {
    let at = shape.restart(bytes, i)?;
    let header = if shape.separated {
        entry::separated_restart_header(bytes, at)?.0
    } else {
        entry::header(bytes, at)?
    };
    let end = header.key_at + header.non_shared;
    (header.shared == 0 && end <= shape.entries_end as usize).then_some(header.key_at..end)
}

const HASH_INDEX_SEED: u32 = 397;

/// Returns how many restart points satisfy `before`. They must be the first ones. Returns `None` if one does
/// not decode.
#[inline]
fn partition_restarts(restarts: usize, mut before: impl FnMut(usize) -> Option<bool>) -> Option<usize> {
    let (mut low, mut high) = (0, restarts);
    while low < high {
        let middle = low.midpoint(high);
        if before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}
