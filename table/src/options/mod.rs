//! The options of tables, with RocksDB 11.8.1's names and defaults.
//!
//! [`BlockBasedTableOptions`] holds plain settings. [`OPTIONS`] has one row for each option. The OPTIONS file, the tools
//! and the option tests use the rows. [`BlockBasedTableOptions::sanitize`] corrects the values that RocksDB corrects
//! without a message. [`BlockBasedTableOptions::validate`] refuses the values that RocksDB refuses.
//!
//! Not here: the block cache and other components.

mod block_based;
mod cache;
mod filter_policy;
mod other;
mod rows;
#[cfg(test)]
mod tests;

pub use block_based::{BlockBasedTableOptions, OPTIONS};
pub use cache::{CacheText, LruCacheOptions, SharedPersistentCache};
pub use filter_policy::{COMPATIBILITY_NAME, FilterChoice, FilterLevel, FilterPolicy, PolicyKind};
pub use other::{
    CUCKOO_OPTIONS, CuckooTableOptions, EncodingType, OtherTables, PLAIN_OPTIONS, PlainTableOptions,
    WrittenTable,
};
pub use rows::{
    DEPRECATED, FlushBlockPolicy, MAX_FORMAT_VERSION, MIN_FORMAT_VERSION, UserDefinedIndex, Validation,
};

use base::Error;
use mem::cache::Role;

base::option_words! {
    /// The structure of the index block. The numbers are on disk, in a table property.
    IndexType: "index type" {
        /// One index block with binary search. The default.
        #[default]
        BinarySearch = 0, "kBinarySearch";
        /// One index block, and a hash table from prefixes to data blocks. Needs a prefix extractor.
        HashSearch = 1, "kHashSearch";
        /// Index partitions below a top level.
        TwoLevelIndexSearch = 2, "kTwoLevelIndexSearch";
        /// Each index entry stores the first key of its block. A short scan then reads fewer blocks.
        BinarySearchWithFirstKey = 3, "kBinarySearchWithFirstKey";
    }
}

base::option_words! {
    /// How an index block is searched. Changes no bytes.
    BlockSearchType: "index block search type" {
        /// Binary search. The default.
        #[default]
        Binary = 0, "kBinary";
        /// Always interpolation; bytewise order only.
        Interpolation = 1, "kInterpolation";
        /// Interpolation in blocks marked uniform by `uniform_cv_threshold`.
        Auto = 2, "kAuto";
    }
}

base::option_words! {
    /// The search structures in data blocks for point lookups.
    DataBlockIndexType: "data block index type" {
        /// Data blocks have restart points only. The default.
        #[default]
        BinarySearch = 0, "kDataBlockBinarySearch";
        /// Data blocks have a hash table from keys to restart points too.
        BinaryAndHash = 1, "kDataBlockBinaryAndHash";
    }
}

base::option_words! {
    /// How far index keys are shortened.
    IndexShortening: "index shortening mode" {
        /// Index keys are the last keys of the blocks.
        None = 0, "kNoShortening";
        /// Index keys between two blocks are shortened. The default.
        #[default]
        Separators = 1, "kShortenSeparators";
        /// The last index key of the table is shortened too.
        SeparatorsAndSuccessor = 2, "kShortenSeparatorsAndSuccessor";
    }
}

base::option_words! {
    /// Selects the new blocks that are inserted into the block cache when they are written.
    PrepopulateBlockCache: "block cache prepopulation" {
        /// No block. The default.
        #[default]
        Disable = 0, "kDisable";
        /// The blocks of a flush.
        FlushOnly = 1, "kFlushOnly";
        /// The blocks of a flush and of a compaction.
        FlushAndCompaction = 2, "kFlushAndCompaction";
    }
}

base::option_words! {
    /// Selects the tables whose metadata blocks are pinned in the block cache.
    PinningTier: "pinning tier" {
        /// The older options `pin_*` decide.
        #[default]
        Fallback = 0, "kFallback";
        /// No table.
        None = 1, "kNone";
        /// Tables that may come from a flush: in level 0, below 1.5 times `write_buffer_size`.
        FlushedAndSimilar = 2, "kFlushedAndSimilar";
        /// All tables.
        All = 3, "kAll";
    }
}

base::options! {
    /// The option `metadata_cache_options`.
    #[derive(Copy, Debug, PartialEq, Eq)]
    MetadataCacheOptions;

    /// The pinning of indexes and filters without partitions.
    mutable unpartitioned_pinning: PinningTier = PinningTier::Fallback, since: "6.15";
    /// The pinning of the partitions.
    mutable partition_pinning: PinningTier = PinningTier::Fallback, since: "6.15";
    /// The pinning of the top levels of partitioned indexes and filters.
    mutable top_level_index_pinning: PinningTier = PinningTier::Fallback, since: "6.15";
    components
}

/// The rule that charges a kind of memory to the block cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charged {
    /// RocksDB's default: the dictionary buffer is charged, all other memory is not.
    #[default]
    Fallback,
    /// The memory is charged.
    Enabled,
    /// The memory is not charged.
    Disabled,
}

/// The option `cache_usage_options`. It is set by code only and is never written to OPTIONS files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsageOptions {
    /// The samples from which a compression dictionary is made.
    pub compression_dictionary_building_buffer: Charged,
    /// The hashes from which a filter is made.
    pub filter_construction: Charged,
    /// The open table readers: their properties, range tombstones, and the index and filter blocks that are not in the block cache.
    /// If the block cache has a strict limit and no room, the open of an SST file fails with MemoryLimit.
    pub block_based_table_reader: Charged,
    /// The metadata of the SST files. If the block cache has a strict limit and no room, the open of the database, and the flush or
    /// compaction that adds a file, fail with MemoryLimit.
    pub file_metadata: Charged,
    /// The values in the blob cache. The blob cache must not be the block cache, and must not have a larger capacity. If the block cache
    /// has a strict limit and no room, the charge stays too low, and no call fails.
    pub blob_cache: Charged,
}

impl CacheUsageOptions {
    /// Returns the first role that is charged by [`Charged::Enabled`].
    pub(crate) fn charged_role(&self) -> Option<Role> {
        let all = [
            (Role::CompressionDictionaryBuildingBuffer, self.compression_dictionary_building_buffer),
            (Role::FilterConstruction, self.filter_construction),
            (Role::BlockBasedTableReader, self.block_based_table_reader),
            (Role::FileMetadata, self.file_metadata),
            (Role::BlobCache, self.blob_cache),
        ];
        all.into_iter().find(|(_, charged)| *charged == Charged::Enabled).map(|(role, _)| role)
    }
}

/// Returns RocksDB's error for memory that cannot be charged.
pub fn no_charge(role: Role, why: &str) -> Error {
    Error::invalid_argument(format!(
        "Enable CacheEntryRoleOptions::charged for CacheEntryRole {} but {why}",
        role.camel_name()
    ))
}
