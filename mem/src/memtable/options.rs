//! The options of a memtable.

use std::sync::Arc;

use base::error::{Error, Result};
use base::key::InternalOrder;
use base::order::PrefixExtractor;

/// The data structure that orders the entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepKind {
    /// Sorted at each insertion. RocksDB's `skip_list`, and the default; here a tree of large nodes.
    #[default]
    SkipList,
    /// Appended, and sorted at the first read. For bulk loads. RocksDB's `vector`.
    Vector,
}

impl RepKind {
    /// Parses an option string: `skip_list`, `SkipListFactory`, `skip_list:16`, `vector`, `VectorRepFactory`,
    /// `vector:1024`. The number is RocksDB's lookahead or reserved capacity, and has no effect on these
    /// structures.
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

    /// Returns the factory name in OPTIONS files.
    pub fn name(self) -> &'static str {
        match self {
            RepKind::SkipList => "SkipListFactory",
            RepKind::Vector => "VectorRepFactory",
        }
    }
}

/// The options of a memtable.
#[derive(Clone)]
pub struct MemTableOptions {
    /// The order of internal keys.
    pub order: InternalOrder,
    /// The structure that holds the entries.
    pub rep: RepKind,
    /// Size in bytes at which the owner switches the memtable. It determines the size of the Bloom filter.
    /// Default 64 MiB.
    pub write_buffer_size: usize,
    /// Share of `write_buffer_size` for a Bloom filter, from 0.0 to 0.25. Larger values count as 0.25.
    /// Default 0.0: no Bloom filter.
    pub prefix_bloom_size_ratio: f64,
    /// True if the Bloom filter contains whole keys. Prefixes are added if there is a prefix extractor.
    /// Default false.
    pub whole_key_filtering: bool,
    /// The prefix extractor of the column family, if there is one.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// Bytes of checksum for each entry: 0, 1, 2, 4 or 8. Readers verify the checksum. Default 0.
    pub protection_bytes_per_key: u8,
    /// True if searches and iterations check the order of the entries. Default false.
    pub paranoid_checks: bool,
    /// True if searches verify the protection bytes of all entries in the leaf where the search ends. Default
    /// false.
    pub verify_on_seek: bool,
    /// In-place updates: the number of locks for values that puts overwrite. Default `None`: each put adds an
    /// entry.
    pub inplace_locks: Option<usize>,
    /// True if the memtable records the newest timestamp of its keys, as a number. For orders with timestamps
    /// of 8 bytes. Default false.
    pub tracks_timestamps: bool,
    /// True if error texts may contain user keys. Default false.
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

    /// Checks that the options are in range.
    ///
    /// # Errors
    /// NotSupported if the number of protection bytes is not 0, 1, 2, 4 or 8. InvalidArgument if the ratio is
    /// not a number.
    pub fn check(&self) -> Result<()> {
        if !matches!(self.protection_bytes_per_key, 0 | 1 | 2 | 4 | 8) {
            return Err(Error::not_supported("memtable_protection_bytes_per_key must be 0, 1, 2, 4 or 8"));
        }
        if self.prefix_bloom_size_ratio.is_nan() {
            return Err(Error::invalid_argument("memtable_prefix_bloom_size_ratio is no number"));
        }
        Ok(())
    }

    /// Returns the size of the Bloom filter in bytes, or `None` if there is no filter or nothing to put into
    /// it.
    pub(super) fn bloom_bytes(&self) -> Option<usize> {
        let ratio = self.prefix_bloom_size_ratio.min(0.25);
        let wanted = ratio > 0.0 && (self.whole_key_filtering || self.prefix_extractor.is_some());
        wanted.then_some((self.write_buffer_size as f64 * ratio) as usize)
    }
}
