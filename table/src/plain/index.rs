//! The index of a plain table. It leads from the hash of a prefix to the rows with the prefix.
//!
//! ```text
//! varint32 buckets, varint32 prefixes
//! u32 × buckets    0x7fff_ffff: empty;  top bit clear: offset of a row;  top bit set: place of a list
//! lists            varint32 count, u32 × count: offsets of rows, ascending
//! ```
//! A hash belongs to the bucket `hash mod buckets`. Source: RocksDB `table/plain/plain_table_index.cc`.

use base::coding::{get_u32, get_varint32, put_u32, put_varint32};
use base::{Arrange, Error, Result};
use kernel::hash::slice_hash;

const EMPTY: u32 = (1 << 31) - 1;
const LIST: u32 = 1 << 31;
/// Maximum number of buckets. A ratio near 0 would otherwise need more memory than exists. RocksDB has no
/// limit.
const BUCKETS_MAX: f64 = (1u32 << 26) as f64;

/// Builds an index from the rows of a table, in their order.
pub(super) struct IndexBuilder {
    /// Number of keys of one prefix for each index entry.
    sparseness: usize,
    /// The ratio of prefixes to buckets. 0 means one bucket.
    ratio: f64,
    entries: Vec<(u32, u32)>,
    num_prefixes: u32,
    keys_of_prefix: usize,
    prefix: Vec<u8>,
    hash: u32,
    due: bool,
}

impl IndexBuilder {
    /// Makes a builder. `ratio` is `hash_table_ratio`, or 0 without a prefix extractor.
    pub(super) fn new(sparseness: usize, ratio: f64) -> IndexBuilder {
        IndexBuilder {
            sparseness,
            ratio,
            entries: Vec::new(),
            num_prefixes: 0,
            keys_of_prefix: 0,
            prefix: Vec::new(),
            hash: 0,
            due: false,
        }
    }

    /// Adds the row at `offset`. `is_whole` means that the row stores its whole key. Returns the hash of the
    /// prefix if the prefix is new.
    pub(super) fn add(&mut self, prefix: &[u8], offset: u32, is_whole: bool) -> Option<u32> {
        base::invariant!(
            self.entries.last().is_none_or(|(_, last)| *last < offset) || !is_whole,
            "the row at {offset} is not after the row before"
        );
        let is_new = self.num_prefixes == 0 || self.prefix != prefix;
        if is_new {
            self.num_prefixes += 1;
            self.keys_of_prefix = 0;
            self.prefix.clear();
            self.prefix.extend_from_slice(prefix);
            self.hash = slice_hash(prefix);
            self.due = true;
        }
        if self.due && is_whole {
            self.entries.push((self.hash, offset));
            self.due = false;
        }
        self.keys_of_prefix += 1;
        if self.sparseness == 0 || self.keys_of_prefix.is_multiple_of(self.sparseness) {
            self.due = true;
        }
        is_new.then_some(self.hash)
    }

    /// Returns the bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<(u32, u32)>()
    }

    /// Returns the index block.
    pub(super) fn finish(self) -> Vec<u8> {
        let buckets = match self.ratio > 0.0 {
            true => (f64::from(self.num_prefixes) * (1.0 / self.ratio)).min(BUCKETS_MAX) as u32 + 1,
            false => 1,
        };
        let mut counts = vec![0u32; buckets as usize];
        let bucket_of = |hash: u32| (hash % buckets) as usize;
        for (hash, _) in &self.entries {
            counts[bucket_of(*hash)] += 1;
        }
        // The start of the entries of each bucket, if all entries are sorted by bucket.
        let mut next: Vec<usize> = counts
            .iter()
            .scan(0, |sum, count| {
                let start = *sum;
                *sum += *count as usize;
                Some(start)
            })
            .collect();
        let mut sorted = vec![0u32; self.entries.len()];
        for (hash, offset) in &self.entries {
            let bucket = bucket_of(*hash);
            sorted[next[bucket]] = *offset;
            next[bucket] += 1;
        }
        let (mut table, mut lists) = (Vec::new(), Vec::new());
        put_varint32(&mut table, buckets);
        put_varint32(&mut table, self.num_prefixes);
        let mut rest = &sorted[..];
        for count in counts {
            let (offsets, later) = rest.split_at(count as usize);
            rest = later;
            match offsets {
                [] => put_u32(&mut table, EMPTY),
                [offset] => put_u32(&mut table, *offset),
                _ => {
                    put_u32(&mut table, lists.len() as u32 | LIST);
                    put_varint32(&mut lists, count);
                    offsets.iter().for_each(|offset| put_u32(&mut lists, *offset));
                }
            }
        }
        base::invariant!(rest.is_empty(), "{} rows are in no bucket", rest.len());
        table.extend_from_slice(&lists);
        table
    }
}

/// A stored index.
pub(super) struct Index {
    bytes: Vec<u8>,
    buckets: u32,
    num_prefixes: u32,
    /// The offset of the buckets.
    table: usize,
}

/// The rows of a bucket.
pub(super) enum Rows<'a> {
    None,
    At(u32),
    /// The offsets of the rows, four bytes each, ascending. There is at least one.
    Among(&'a [u8]),
}

/// Returns the offset at `index` of a list.
pub(super) fn offset_in(list: &[u8], index: usize) -> u64 {
    base::invariant!(index < list.len() / 4, "a list of {} rows has no row {index}", list.len() / 4);
    u64::from(get_u32(list, index * 4).unwrap_or(EMPTY))
}

impl Index {
    /// Parses the index block of a plain table: number of buckets, number of prefixes, buckets.
    ///
    /// # Errors
    /// Corruption if the block is too short for its buckets.
    pub(super) fn parse(bytes: Vec<u8>) -> Result<Index> {
        let cut = || Error::corruption("Couldn't read the index size!");
        let (buckets, first) = get_varint32(&bytes).ok_or_else(cut)?;
        let (num_prefixes, second) = bytes.get(first..).and_then(get_varint32).ok_or_else(cut)?;
        let table = first + second;
        if buckets == 0 || (bytes.len() - table) / 4 < buckets as usize {
            return Err(Error::corruption(format!(
                "the index of a plain table has {buckets} buckets in {} bytes",
                bytes.len()
            )));
        }
        Ok(Index { bytes, buckets, num_prefixes, table })
    }

    /// Returns the rows that may have a prefix with this hash.
    ///
    /// # Errors
    /// Corruption if the bucket points outside of the index.
    pub(super) fn find(&self, hash: u32) -> Result<Rows<'_>> {
        base::invariant!(self.buckets > 0, "the index of a plain table has no bucket");
        self.bucket(hash % self.buckets)
    }

    fn bucket(&self, bucket: u32) -> Result<Rows<'_>> {
        let value = get_u32(&self.bytes, self.table + bucket as usize * 4).unwrap_or(EMPTY);
        if value & LIST == 0 {
            return Ok(if value == EMPTY { Rows::None } else { Rows::At(value) });
        }
        let lists = self.bytes.get(self.table + self.buckets as usize * 4..).unwrap_or_default();
        let list = lists.get((value ^ LIST) as usize..).unwrap_or_default();
        let offsets = get_varint32(list).and_then(|(count, at)| {
            let len = (count as usize).checked_mul(4)?;
            list.get(at..)?.get(..len).filter(|offsets| !offsets.is_empty())
        });
        offsets.map(Rows::Among).ok_or_else(|| {
            Error::corruption(format!("bucket {bucket} of a plain table's index points outside of the index"))
        })
    }

    /// Returns the offsets of all index entries, ascending and without duplicates.
    ///
    /// # Errors
    /// Corruption if a bucket points outside of the index.
    pub(super) fn offsets(&self) -> Result<Vec<u32>> {
        let mut offsets = Vec::new();
        // In a corrupt index, many buckets can point to one list. The limit prevents that the offsets need
        // too much memory.
        let most = self.bytes.len() / 4;
        for bucket in 0..self.buckets {
            match self.bucket(bucket)? {
                Rows::None => {}
                Rows::At(offset) => offsets.push(offset),
                Rows::Among(list) => {
                    if offsets.len() + list.len() / 4 > most {
                        return Err(Error::corruption("the lists of a plain table's index overlap"));
                    }
                    offsets.extend(list.chunks_exact(4).filter_map(|offset| get_u32(offset, 0)));
                }
            }
        }
        offsets.arrange();
        offsets.dedup();
        Ok(offsets)
    }

    pub(super) fn num_prefixes(&self) -> u32 {
        self.num_prefixes
    }

    /// Returns the bytes of the buckets and the bytes of the lists.
    pub(super) fn sizes(&self) -> (usize, usize) {
        let buckets = self.buckets as usize * 4;
        base::invariant!(
            self.table + buckets <= self.bytes.len(),
            "the {} buckets of a plain table end after the index",
            self.buckets
        );
        (buckets, self.bytes.len() - self.table - buckets)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
