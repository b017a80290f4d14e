//! The options of a read, and the entries that a lookup returns.

use std::ops::{Deref, Range};
use std::sync::Arc;

use base::Pinned;
use base::key::sequence_of;
use base::order::PrefixExtractor;
use base::stats::HistogramKind;

use super::limits::ReadLimits;

/// The read options that concern tables, with RocksDB's names and defaults.
#[derive(Clone)]
pub struct ReadCtx {
    /// True if the checksums of blocks from the file are verified. Default true.
    pub verify_checksums: bool,
    /// True if blocks from the file are inserted into the cache. Default true.
    pub fill_cache: bool,
    /// True if the read may use memory only. If the read needs the file, it fails with `Incomplete`. Default
    /// false.
    pub cache_only: bool,
    /// True if iterators ignore prefix filters. Default false.
    pub total_order_seek: bool,
    /// The prefix extractor of iterators. If the filter of a table has other prefixes, iterators do not query
    /// it. Default `None`: the extractor with which the table was opened.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// True if prefix filters are used where the upper bound proves that they exclude no key of the range.
    /// Default false.
    pub auto_prefix_mode: bool,
    /// Bytes that iterators read ahead. 0, the default, means automatic.
    pub readahead_size: usize,
    /// True if the read is for a compaction or a flush. Such a read uses no filter.
    pub for_compaction: bool,
    /// The `file.read.*.micros` histogram for the reads of this operation. Default: the histogram of
    /// lookups.
    pub histogram: HistogramKind,
    /// The limits for accesses to the file. Default `None`: no limits.
    pub limits: Option<Arc<ReadLimits>>,
    /// True if read-ahead stops after the block that contains the upper bound. Default true.
    pub auto_readahead_size: bool,
    /// While an iterator moves through its read-ahead buffer, the system loads the bytes after the buffer.
    /// Default: false.
    pub async_io: bool,
    /// The upper bound of iterators, a user key. An iterator reads no block that begins at or after the upper bound.
    pub upper_bound: Option<Vec<u8>>,
}

impl Default for ReadCtx {
    fn default() -> Self {
        ReadCtx {
            verify_checksums: true,
            fill_cache: true,
            cache_only: false,
            total_order_seek: false,
            prefix_extractor: None,
            auto_prefix_mode: false,
            readahead_size: 0,
            for_compaction: false,
            histogram: HistogramKind::FileReadGetMicros,
            limits: None,
            auto_readahead_size: true,
            async_io: false,
            upper_bound: None,
        }
    }
}

/// One entry of a key, as a lookup passes it to its visitor.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// The user key.
    pub user_key: &'a [u8],
    /// Sequence number and value type; see `base::key`.
    pub trailer: u64,
    /// The value. The view lives as long as the lookup holds the block.
    pub value: ValueRef<'a>,
}

impl Entry<'_> {
    /// Returns the sequence number of the entry.
    #[inline]
    pub fn sequence(&self) -> base::SequenceNumber {
        sequence_of(self.trailer)
    }

    /// Returns the byte of the value type; see `base::ValueType`.
    #[inline]
    pub fn value_type(&self) -> u8 {
        self.trailer as u8
    }
}

/// A value in a block, or in other bytes of a file. It dereferences to its bytes.
#[derive(Clone, Copy)]
pub struct ValueRef<'a> {
    bytes: &'a Arc<[u8]>,
    start: usize,
    end: usize,
}

impl<'a> ValueRef<'a> {
    #[inline]
    pub(crate) fn of(bytes: &'a Arc<[u8]>, range: Range<usize>) -> Self {
        base::invariant!(
            range.start <= range.end && range.end <= bytes.len(),
            "a block of {} bytes has a value at {range:?}",
            bytes.len()
        );
        ValueRef { bytes, start: range.start, end: range.end }
    }

    /// Returns the bytes of the value.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the value as a pinned value, which may live longer than the visit. Does not copy or allocate.
    #[inline]
    pub fn pin(&self) -> Pinned {
        Pinned::bytes(self.bytes.clone(), self.start..self.end)
    }
}

impl Deref for ValueRef<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes()
    }
}
