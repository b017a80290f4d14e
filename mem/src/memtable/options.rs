//! What a memtable is made with.

use std::sync::Arc;

use base::error::{Error, Result};
use base::key::InternalOrder;
use base::order::PrefixExtractor;

/// Which structure holds the entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepKind {
    /// Sorted as written; RocksDB's `skip_list` and the default. (Here a tree of fat nodes.)
    #[default]
    SkipList,
    /// Appended, sorted when first read; for bulk loads. RocksDB's `vector`.
    Vector,
}

impl RepKind {
    /// From an option string: `skip_list`, `SkipListFactory`, `skip_list:16`, `vector`,
    /// `VectorRepFactory`, `vector:1024`. The number (a lookahead, a reserve) is RocksDB's and has
    /// nothing to act on here.
    ///
    /// # Errors
    ///
    /// NotSupported for a memtable rep that RocksDB has and this crate lacks. InvalidArgument for any other
    /// text.
    pub fn parse(text: &str) -> Result<RepKind> {
        let (name, number) = text.split_once(':').unwrap_or((text, "0"));
        let known = match name {
            "skip_list" | "SkipListFactory" => RepKind::SkipList,
            "vector" | "VectorRepFactory" => RepKind::Vector,
            "prefix_hash"
            | "HashSkipListRepFactory"
            | "hash_linkedlist"
            | "HashLinkListRepFactory"
            | "cuckoo" => return Err(Error::not_supported(format!("memtable_factory {name}"))),
            _ => return Err(Error::invalid_argument(format!("memtable_factory {text}"))),
        };
        match number.trim().parse::<u64>() {
            Ok(_) => Ok(known),
            Err(_) => Err(Error::invalid_argument(format!("memtable_factory {text}"))),
        }
    }

    /// The factory name in OPTIONS files.
    pub fn name(self) -> &'static str {
        match self {
            RepKind::SkipList => "SkipListFactory",
            RepKind::Vector => "VectorRepFactory",
        }
    }
}

/// What a memtable is made with.
#[derive(Clone)]
pub struct MemTableOptions {
    /// The order of internal keys.
    pub order: InternalOrder,
    /// The structure that holds the entries.
    pub rep: RepKind,
    /// Bytes at which the owner means to seal it; sizes the Bloom filter. Default 64 MiB.
    pub write_buffer_size: usize,
    /// Share of `write_buffer_size` spent on a Bloom filter, 0.0 (none, the default) to 0.25.
    pub prefix_bloom_size_ratio: f64,
    /// Whether whole keys go into the Bloom filter (prefixes do if there is an extractor).
    pub whole_key_filtering: bool,
    /// The prefix extractor of the column family, if there is one.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// 0, 1, 2, 4 or 8 bytes of checksum with each entry, checked when it is read. Default 0.
    pub protection_bytes_per_key: u8,
    /// Searches and walks look whether entries are in order. Default false.
    pub paranoid_checks: bool,
    /// Searches compare the protection bytes of all entries they decide by. Default false.
    pub verify_on_seek: bool,
    /// Puts overwrite values where they lie, under so many locks. Default `None`: each put is an entry.
    pub inplace_locks: Option<usize>,
    /// The memtable keeps the newest timestamp of its keys, as a number. For orders with timestamps of 8 bytes. Default
    /// false.
    pub tracks_timestamps: bool,
    /// Error texts may contain user keys. Default false.
    pub allow_data_in_errors: bool,
}

impl MemTableOptions {
    /// Makes the default options for this order.
    pub fn new(order: InternalOrder) -> Self {
        MemTableOptions {
            order,
            rep: RepKind::default(),
            write_buffer_size: 64 << 20,
            prefix_bloom_size_ratio: 0.0,
            whole_key_filtering: false,
            prefix_extractor: None,
            protection_bytes_per_key: 0,
            paranoid_checks: false,
            verify_on_seek: false,
            inplace_locks: None,
            tracks_timestamps: false,
            allow_data_in_errors: false,
        }
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// NotSupported for other numbers of protection bytes, InvalidArgument if the ratio is no number.
    pub fn check(&self) -> Result<()> {
        if !matches!(self.protection_bytes_per_key, 0 | 1 | 2 | 4 | 8) {
            return Err(Error::not_supported("memtable_protection_bytes_per_key must be 0, 1, 2, 4 or 8"));
        }
        if self.prefix_bloom_size_ratio.is_nan() {
            return Err(Error::invalid_argument("memtable_prefix_bloom_size_ratio is no number"));
        }
        Ok(())
    }

    /// The size of the Bloom filter, if there is something to put into it.
    pub(super) fn bloom_bytes(&self) -> Option<usize> {
        let ratio = self.prefix_bloom_size_ratio.min(0.25);
        let wanted = ratio > 0.0 && (self.whole_key_filtering || self.prefix_extractor.is_some());
        wanted.then_some((self.write_buffer_size as f64 * ratio) as usize)
    }
}
