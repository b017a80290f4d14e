//! What a read may do, and what it hands out.

use std::ops::{Deref, Range};
use std::sync::Arc;

use base::Pinned;
use base::order::PrefixExtractor;
use base::stats::HistogramKind;

use super::limits::ReadLimits;

/// The part of the read options that concerns tables. RocksDB's names and defaults.
#[derive(Clone)]
pub struct ReadCtx {
    /// Check the checksums of blocks read from the file. Default true.
    pub verify_checksums: bool,
    /// Put blocks read from the file into the cache. Default true.
    pub fill_cache: bool,
    /// Answer from memory only; what would need the file is an `Incomplete` error. Default false.
    pub cache_only: bool,
    /// Iterators ignore prefix filters. Default false.
    pub total_order_seek: bool,
    /// What iterators take for a prefix. Tables whose filter has other prefixes do not ask it. Default
    /// `None`: what the table was opened with.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// Prefix filters are used where the upper bound shows that they cannot hide a key. Default false.
    pub auto_prefix_mode: bool,
    /// Bytes that iterators read ahead; 0, the default, for automatic.
    pub readahead_size: usize,
    /// The read is a compaction's or a flush's: it uses no filter.
    pub for_compaction: bool,
    /// Which of the `file.read.*.micros` histograms its reads are for. Default: those of look-ups.
    pub histogram: HistogramKind,
    /// What accesses to the file are held to. Default `None`: nothing.
    pub limits: Option<Arc<ReadLimits>>,
    /// Nothing is read ahead past the block that holds the upper bound. Default true.
    pub auto_readahead_size: bool,
    /// While an iterator moves through its read-ahead buffer, the system loads the bytes after the buffer.
    /// Default: false.
    pub async_io: bool,
    /// Iterators read no block whose keys are all at or past this user key.
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

/// One version of a key, as a look-up visits it.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// The user key.
    pub user_key: &'a [u8],
    /// Sequence number and kind; see `base::key`.
    pub trailer: u64,
    /// The value. The view lives as long as the look-up holds the block.
    pub value: ValueRef<'a>,
}

impl Entry<'_> {
    /// Returns the sequence number of the entry.
    #[inline]
    pub fn sequence(&self) -> base::SequenceNumber {
        self.trailer >> 8
    }

    /// The kind's byte; see `base::ValueType`.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.trailer as u8
    }
}

/// A value in a block, or in other bytes of a file. Derefs to its bytes.
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

    /// The value kept alive beyond the visit. Does not copy or allocate.
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
