//! Index blocks, decoded once when they are loaded.
//!
//! ```text
//! entry : v32 shared, v32 non_shared, [v32 value_len,] key, value
//! value : v64 offset, v64 size                    without delta encoding, or if shared = 0
//!         varsigned64 (size - previous size)      otherwise; the offset follows from the previous block
//!         [, lps first internal key]              index type 3
//! ```
//! An index block is read much more often than it is loaded. So the load decodes the whole block into
//! arrays without varints: eight-byte heads of the separators, the separators without their common
//! prefix, and the handles. A search reads the heads (a sixth of the memory of the block, mostly in the
//! processor cache) and then one handle. Facts: RocksDB `table/block_based/index_builder.h`,
//! `table/format.cc` (IndexValue).

use std::cmp::Ordering;
use std::ops::Range;

use base::coding::Cursor;
use base::key::{InternalOrder, trailer, user_key};
use base::order::Order;
use base::{Error, Result};

use crate::block::{HeadOrder, KeyRewrite, PlainEntries};
use crate::handle::BlockHandle;
use crate::trailer as block_trailer;

mod stored;
#[cfg(test)]
mod tests;

pub use stored::{StoredIndex, StoredPlace};

/// The encoding of the entries of an index block, from the properties of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexLayout {
    /// True if the keys are user keys, without a trailer.
    pub user_keys: bool,
    /// True if values have no stored length, and are differences to the previous value if keys share bytes.
    pub delta_values: bool,
    /// True if values contain the first key of their block.
    pub first_keys: bool,
    /// The head order of the keys. `None` for a custom order.
    pub heads: Option<HeadOrder>,
    /// The rewrite of keys. Its sequence number applies to first keys only.
    pub rewrite: KeyRewrite,
}

/// A decoded index block: separators in ascending order, and the handle of the block before each separator.
#[derive(Clone, Debug, Default)]
pub struct Index {
    heads: Option<(HeadOrder, Box<[u64]>)>,
    /// The common prefix of the user keys of all separators. Empty without heads.
    prefix: Box<[u8]>,
    /// The user keys of the separators without the common prefix, concatenated.
    rests: Box<[u8]>,
    /// The end of each of `rests`.
    ends: Box<[u32]>,
    /// Trailers of the separators; empty if they are user keys.
    trailers: Box<[u64]>,
    handles: Handles,
    first_keys: Box<[u8]>,
    first_ends: Box<[u32]>,
    checksums: Option<Box<Checksums>>,
}

/// Checksums of the entries (`block_protection_bytes_per_key`).
#[derive(Clone, Debug)]
struct Checksums {
    /// Size of each checksum in bytes: 1, 2, 4 or 8.
    width: usize,
    bytes: Box<[u8]>,
}

impl Index {
    /// Decodes a payload (without trailer).
    ///
    /// # Errors
    /// Corruption if the block is malformed.
    pub fn decode(payload: &[u8], layout: &IndexLayout) -> Result<Index> {
        let mut builder = Builder::default();
        let mut entries = PlainEntries::new(payload, layout.delta_values)?;
        let mut previous = BlockHandle::NULL;
        while let Some(entry) = entries.next()? {
            let mut cursor = Cursor::new(entry.value);
            let handle = if layout.delta_values && entry.shared > 0 {
                delta_handle(&mut cursor, previous).ok_or_else(|| bad_value(entry.at))?
            } else {
                BlockHandle::decode(&mut cursor).map_err(|e| e.at(entry.at as u64))?
            };
            let first_key = match layout.first_keys {
                true => Some(cursor.slice().ok_or_else(|| bad_value(entry.at))?),
                false => None,
            };
            builder.push(entries.key(), handle, first_key, layout).ok_or_else(|| bad_value(entry.at))?;
            previous = handle;
            if layout.delta_values {
                entries.value_took(cursor.offset());
            }
        }
        Ok(builder.finish(layout))
    }

    /// Computes `bytes_per_key` bytes of checksum (0, 1, 2, 4 or 8) for each entry. [`Index::verify`]
    /// compares them.
    pub fn protect(&mut self, bytes_per_key: u8) {
        let width = usize::from(bytes_per_key.min(8));
        if width == 0 {
            self.checksums = None;
            return;
        }
        let sums = (0..self.len()).flat_map(|i| self.checksum(i).to_le_bytes().into_iter().take(width));
        let bytes = sums.collect();
        self.checksums = Some(Box::new(Checksums { width, bytes }));
    }

    /// Compares entry `i` with its checksum, if there are checksums.
    ///
    /// # Errors
    /// Corruption if memory has changed since the index was loaded.
    #[inline]
    pub fn verify(&self, i: usize) -> Result<()> {
        match &self.checksums {
            None => Ok(()),
            Some(sums) => self.verify_with(sums, i),
        }
    }

    #[inline(never)]
    fn verify_with(&self, sums: &Checksums, i: usize) -> Result<()> {
        let stored = sums.bytes.get(i * sums.width..(i + 1) * sums.width);
        if i >= self.len() || stored.is_some_and(|sum| self.checksum(i).to_le_bytes().starts_with(sum)) {
            return Ok(());
        }
        Err(Error::corruption(format!("entry {i} of an index in memory does not match its protection bytes")))
    }

    fn checksum(&self, i: usize) -> u64 {
        use kernel::hash::{hash64, hash64_seeded};
        let handle = self.handle(i);
        let head = self.heads.as_ref().and_then(|(_, heads)| heads.get(i)).copied().unwrap_or_default();
        let trailer = self.trailers.get(i).copied().unwrap_or_default();
        let mut numbers = [0; 32];
        for (place, number) in numbers.chunks_exact_mut(8).zip([handle.offset, handle.size, trailer, head]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = hash64_seeded(self.rest(i).unwrap_or_default(), hash64(&numbers));
        hash64_seeded(self.first_key(i).unwrap_or_default(), hash64_seeded(&self.prefix, sum))
    }

    /// Returns the number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if the index has no entry: the table has no block under this index.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the handle of block `i`, or the null handle after the last block.
    #[inline]
    pub fn handle(&self, i: usize) -> BlockHandle {
        self.handles.get(i)
    }

    /// Returns the first internal key of block `i`, if the index contains first keys.
    #[inline]
    pub fn first_key(&self, i: usize) -> Option<&[u8]> {
        piece(&self.first_keys, &self.first_ends, i)
    }

    /// Appends the user key of the separator after block `i` to `out`. Returns its trailer, if it has one.
    /// Does nothing after the last block.
    pub fn separator(&self, i: usize, out: &mut Vec<u8>) -> Option<u64> {
        if let Some(rest) = self.rest(i) {
            out.extend_from_slice(&self.prefix);
            out.extend_from_slice(rest);
        }
        self.trailers.get(i).copied()
    }

    /// Returns true if every key of block `i` is before the user key `bound`, which has no timestamp.
    pub fn is_below(&self, i: usize, order: &Order, bound: &[u8]) -> bool {
        let Some(rest) = self.rest(i) else { return false };
        if self.heads.is_some() {
            return self.compare_user(order, rest, bound).is_lt();
        }
        let without_timestamp = base::key::without_timestamp(rest, order.timestamp_size());
        order.compare_stripped(without_timestamp, bound).is_lt()
    }

    /// Returns the end, trailer included, of the first block from `i` on that may have keys at or after the
    /// user key `bound`. Returns `u64::MAX` if there is no such block.
    pub fn end_of_block_with(&self, i: usize, order: &Order, bound: &[u8]) -> u64 {
        let (mut low, mut high) = (i, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_below(middle, order, bound) { low = middle + 1 } else { high = middle }
        }
        if low >= self.len() { u64::MAX } else { self.handle(low).end() }
    }

    /// Returns true if block `i + 1` may have more entries of `user`.
    #[inline]
    pub fn may_continue(&self, i: usize, order: &Order, user: &[u8]) -> bool {
        let Some(rest) = self.rest(i) else { return false };
        match &self.heads {
            Some(_) => self.compare_user(order, rest, user).is_le(),
            None => order.compare_without_timestamp(rest, user).is_le(),
        }
    }

    /// Returns the first block that may have keys at or after `target` (an internal key), or `len()` if there
    /// is none.
    #[inline]
    pub fn seek(&self, order: &InternalOrder, target: &[u8]) -> usize {
        let (user, trailer) = (user_key(target), trailer(target));
        let candidates = self.narrow(user);
        if candidates.is_empty() {
            return candidates.start;
        }
        self.seek_among(candidates, order, user, trailer)
    }

    /// Returns the separators whose heads are equal to the head of the searched key.
    #[inline]
    fn narrow(&self, user: &[u8]) -> Range<usize> {
        let Some((order, heads)) = &self.heads else { return 0..self.len() };
        match order.against_prefix(user, &self.prefix) {
            Ordering::Less => return 0..0,
            Ordering::Greater => return self.len()..self.len(),
            Ordering::Equal => {}
        }
        let sought = order.head(&user[self.prefix.len()..]);
        let start = heads.partition_point(|h| *h < sought);
        let ties = heads[start..].iter().take_while(|h| **h == sought).count();
        start..start + ties
    }

    fn seek_among(&self, among: Range<usize>, order: &InternalOrder, user: &[u8], trailer: u64) -> usize {
        let (mut low, mut high) = (among.start, among.end);
        while low < high {
            let middle = low.midpoint(high);
            let rest = self.rest(middle).unwrap_or_default();
            let before = match self.compare_user(&order.user, rest, user) {
                Ordering::Less => true,
                Ordering::Greater => false,
                // Larger trailers come first. A separator without trailer is after all entries of its user
                // key.
                Ordering::Equal => self.trailers.get(middle).is_some_and(|own| *own > trailer),
            };
            if before {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    #[inline]
    fn rest(&self, i: usize) -> Option<&[u8]> {
        piece(&self.rests, &self.ends, i)
    }

    /// Compares a separator with a user key. `rest` is the separator without the common prefix.
    #[inline]
    fn compare_user(&self, order: &Order, rest: &[u8], user: &[u8]) -> Ordering {
        // Only orders with heads have a common prefix, and these orders compare byte by byte.
        let Some((heads, _)) = &self.heads else { return order.compare(rest, user) };
        match heads.against_prefix(user, &self.prefix) {
            Ordering::Equal => order.compare(rest, &user[self.prefix.len()..]),
            other => other.reverse(),
        }
    }

    /// Returns the bytes of memory of the index.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Index>()
            + self.heads.as_ref().map_or(0, |(_, heads)| 8 * heads.len())
            + self.prefix.len()
            + self.rests.len()
            + 4 * self.ends.len()
            + 8 * self.trailers.len()
            + self.handles.memory_bytes()
            + self.first_keys.len()
            + 4 * self.first_ends.len()
            + self.checksums.as_ref().map_or(0, |sums| size_of::<Checksums>() + sums.bytes.len())
    }
}

#[inline]
fn piece<'a>(bytes: &'a [u8], ends: &[u32], i: usize) -> Option<&'a [u8]> {
    let end = *ends.get(i)? as usize;
    let start = if i == 0 { 0 } else { ends[i - 1] as usize };
    bytes.get(start..end)
}

fn delta_handle(cursor: &mut Cursor<'_>, previous: BlockHandle) -> Option<BlockHandle> {
    let offset = previous.offset.checked_add(previous.size)?.checked_add(block_trailer::LEN as u64)?;
    let size = previous.size.checked_add_signed(cursor.varint_signed64()?)?;
    Some(BlockHandle { offset, size })
}

#[cold]
fn bad_value(at: usize) -> Error {
    Error::corruption("bad index entry").at(at as u64)
}

/// Handles. If all of them fit, each takes eight bytes: 40 bits of offset and 24 bits of size.
#[derive(Clone, Debug)]
enum Handles {
    Packed(Box<[u64]>),
    Wide(Box<[BlockHandle]>),
}

impl Default for Handles {
    fn default() -> Self {
        Handles::Packed(Box::default())
    }
}

const SIZE_BITS: u32 = 24;

impl Handles {
    fn new(handles: Vec<BlockHandle>) -> Handles {
        let fits = |h: &BlockHandle| h.size >> SIZE_BITS == 0 && h.offset >> (64 - SIZE_BITS) == 0;
        if handles.iter().all(fits) {
            Handles::Packed(handles.iter().map(|h| h.offset << SIZE_BITS | h.size).collect())
        } else {
            Handles::Wide(handles.into())
        }
    }

    #[inline]
    fn get(&self, i: usize) -> BlockHandle {
        match self {
            Handles::Packed(packed) => packed.get(i).map_or(BlockHandle::NULL, |p| BlockHandle {
                offset: p >> SIZE_BITS,
                size: p & ((1 << SIZE_BITS) - 1),
            }),
            Handles::Wide(handles) => handles.get(i).copied().unwrap_or(BlockHandle::NULL),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Handles::Packed(packed) => 8 * packed.len(),
            Handles::Wide(handles) => 16 * handles.len(),
        }
    }
}

#[derive(Default)]
struct Builder {
    /// The whole user keys. The common prefix is known only when all keys are known.
    keys: Vec<u8>,
    ends: Vec<u32>,
    trailers: Vec<u64>,
    handles: Vec<BlockHandle>,
    first_keys: Vec<u8>,
    first_ends: Vec<u32>,
}

impl Builder {
    /// Adds an entry. Returns `None` if the entry is malformed.
    fn push(
        &mut self,
        key: &[u8],
        handle: BlockHandle,
        first_key: Option<&[u8]>,
        layout: &IndexLayout,
    ) -> Option<()> {
        if layout.user_keys {
            self.keys.extend_from_slice(key);
        } else {
            let (user, trailer) = key.split_last_chunk()?;
            self.keys.extend_from_slice(user);
            self.trailers.push(u64::from_le_bytes(*trailer));
        }
        self.keys.resize(self.keys.len() + layout.rewrite.timestamp_pad, 0);
        self.ends.push(u32::try_from(self.keys.len()).ok()?);
        self.handles.push(handle);
        if let Some(first) = first_key {
            first.len().checked_sub(8)?;
            layout.rewrite.apply(first, &mut self.first_keys);
            self.first_ends.push(u32::try_from(self.first_keys.len()).ok()?);
        }
        Some(())
    }

    fn finish(self, layout: &IndexLayout) -> Index {
        let mut index = Index {
            trailers: self.trailers.into(),
            handles: Handles::new(self.handles),
            first_keys: self.first_keys.into(),
            first_ends: self.first_ends.into(),
            rests: self.keys.into(),
            ends: self.ends.into(),
            ..Index::default()
        };
        if let Some(order) = layout.heads {
            index.build_heads(order);
        }
        index
    }
}

impl Index {
    fn build_heads(&mut self, order: HeadOrder) {
        let keys = |i: usize| piece(&self.rests, &self.ends, i).unwrap_or_default();
        let common = match self.len() {
            // A single separator keeps its whole key.
            0 | 1 => 0,
            n => keys(0).iter().zip(keys(n - 1)).take_while(|(a, b)| a == b).count(),
        };
        let prefix: Box<[u8]> = keys(0).get(..common).unwrap_or_default().into();
        // Unsorted separators are corruption that a seek would not notice. Building heads must not panic
        // because of it.
        if !(0..self.len()).all(|i| keys(i).starts_with(&prefix)) {
            return;
        }
        let mut rests = Vec::with_capacity(self.rests.len() - common * self.len());
        let mut ends = Vec::with_capacity(self.len());
        let mut heads = Vec::with_capacity(self.len());
        for i in 0..self.len() {
            let rest = &keys(i)[common..];
            heads.push(order.head(rest));
            rests.extend_from_slice(rest);
            ends.push(rests.len() as u32);
        }
        self.prefix = prefix;
        self.rests = rests.into();
        self.ends = ends.into();
        self.heads = Some((order, heads.into()));
    }
}
