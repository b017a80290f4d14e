//! Enums for the values of options, and their conversion to the enums of `ironstone`.

use ironstone::env as world;

use super::place::Place;

/// Defines an enum and the value of `ironstone` for each variant.
macro_rules! kinds {
    ($($(#[$doc:meta])* pub enum $ty:ident for $meant:ty { $($(#[$about:meta])* $variant:ident $(= $number:literal)? => $value:expr,)* })*) => {$(
        $(#[$doc])*
        pub enum $ty {
            $($(#[$about])* $variant $(= $number)?,)*
        }

        impl Place<$ty> for $meant {
            fn store(&mut self, value: $ty) -> bool {
                *self = match value {
                    $($ty::$variant => $value,)*
                };
                true
            }
        }

        impl std::convert::From<$ty> for $meant {
            fn from(value: $ty) -> $meant {
                match value {
                    $($ty::$variant => $value,)*
                }
            }
        }
    )*};
}

kinds! {
    /// The sources that a read may use.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
    #[repr(i32)]
    pub enum ReadTier for ironstone::ReadTier {
        /// All data.
        All = 0 => ironstone::ReadTier::All,
        /// Memtables and cached blocks. A read that needs a file returns Incomplete.
        BlockCache = 1 => ironstone::ReadTier::BlockCache,
        /// Data that survives a crash. Writes without WAL are not read.
        Persisted = 2 => ironstone::ReadTier::Persisted,
        /// Memtables.
        Memtable = 3 => ironstone::ReadTier::Memtable,
    }

    /// The order in which the SST files of a level are compacted.
    #[derive(Debug, Copy, Clone)]
    #[repr(i32)]
    pub enum CompactionPri for ironstone::CompactionPri {
        /// The largest file first. Tombstones increase the size that is compared.
        ByCompensatedSize = 0 => ironstone::CompactionPri::ByCompensatedSize,
        /// First the file whose largest sequence number is smallest.
        OldestLargestSeqFirst = 1 => ironstone::CompactionPri::OldestLargestSeqFirst,
        /// First the file whose smallest sequence number is smallest.
        OldestSmallestSeqFirst = 2 => ironstone::CompactionPri::OldestSmallestSeqFirst,
        /// First the file with the smallest ratio of overlapping bytes in the next level to its own size.
        MinOverlappingRatio = 3 => ironstone::CompactionPri::MinOverlappingRatio,
        /// The file after the last compacted file, in the order of keys.
        RoundRobin = 4 => ironstone::CompactionPri::RoundRobin,
    }

    /// The index of a block-based table.
    #[derive(Debug, Copy, Clone)]
    pub enum BlockBasedIndexType for ironstone::IndexType {
        /// One index block with binary search.
        BinarySearch => ironstone::IndexType::BinarySearch,
        /// A hash table of prefixes over the index block.
        HashSearch => ironstone::IndexType::HashSearch,
        /// Index blocks below a top-level index.
        TwoLevelIndexSearch => ironstone::IndexType::TwoLevelIndexSearch,
    }

    /// The index inside a data block.
    #[derive(Debug, Copy, Clone)]
    #[repr(C)]
    pub enum DataBlockIndexType for ironstone::DataBlockIndexType {
        /// Restart points alone.
        BinarySearch = 0 => ironstone::DataBlockIndexType::BinarySearch,
        /// Restart points and a hash table of keys.
        BinaryAndHash = 1 => ironstone::DataBlockIndexType::BinaryAndHash,
    }

    /// The tables whose index and filter blocks are pinned in the block cache.
    #[derive(Debug, Copy, Clone)]
    #[repr(C)]
    pub enum BlockBasedTablePinningTier for ironstone::PinningTier {
        /// The older options `pin_l0_filter_and_index_blocks_in_cache` and `pin_top_level_index_and_filter` decide.
        Fallback = 0 => ironstone::PinningTier::Fallback,
        /// No table.
        None = 1 => ironstone::PinningTier::None,
        /// Tables of flushes and of similar size.
        FlushAndSimilar = 2 => ironstone::PinningTier::FlushedAndSimilar,
        /// All tables.
        All = 3 => ironstone::PinningTier::All,
    }

    /// The checksum of a block.
    #[derive(Debug, Copy, Clone)]
    pub enum ChecksumType for ironstone::ChecksumType {
        /// No checksum.
        NoChecksum = 0 => ironstone::ChecksumType::None,
        /// CRC32C.
        CRC32c = 1 => ironstone::ChecksumType::Crc32c,
        /// xxHash of 32 bits.
        XXHash = 2 => ironstone::ChecksumType::XxHash,
        /// xxHash of 64 bits.
        XXHash64 = 3 => ironstone::ChecksumType::XxHash64,
        /// XXH3.
        XXH3 = 4 => ironstone::ChecksumType::Xxh3,
    }

    /// The compression of blocks.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
    pub enum DBCompressionType for ironstone::CompressionType {
        /// No compression.
        None = 0 => ironstone::CompressionType::NONE,
        /// Snappy.
        Snappy = 1 => ironstone::CompressionType::SNAPPY,
        /// zlib.
        Zlib = 2 => ironstone::CompressionType::ZLIB,
        /// bzip2.
        Bz2 = 3 => ironstone::CompressionType::BZIP2,
        /// LZ4.
        Lz4 = 4 => ironstone::CompressionType::LZ4,
        /// LZ4 with a longer search.
        Lz4hc = 5 => ironstone::CompressionType::LZ4HC,
        /// ZSTD.
        Zstd = 7 => ironstone::CompressionType::ZSTD,
    }

    /// The compaction style of a column family.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
    pub enum DBCompactionStyle for ironstone::CompactionStyle {
        /// Levels of growing size.
        Level = 0 => ironstone::CompactionStyle::Level,
        /// Sorted runs of growing age.
        Universal = 1 => ironstone::CompactionStyle::Universal,
        /// The oldest files are deleted.
        Fifo = 2 => ironstone::CompactionStyle::Fifo,
    }

    /// How recovery treats torn and corrupt records of a WAL.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
    pub enum DBRecoveryMode for ironstone::WalRecoveryMode {
        /// Accepts a torn record at the end of a WAL. Another corrupt record fails the open.
        TolerateCorruptedTailRecords = 0 => ironstone::WalRecoveryMode::TolerateCorruptedTailRecords,
        /// A torn or corrupt record fails the open.
        AbsoluteConsistency = 1 => ironstone::WalRecoveryMode::AbsoluteConsistency,
        /// Recovery stops at the first torn or corrupt record.
        PointInTime = 2 => ironstone::WalRecoveryMode::PointInTimeRecovery,
        /// Recovery skips corrupt records.
        SkipAnyCorruptedRecord = 3 => ironstone::WalRecoveryMode::SkipAnyCorruptedRecords,
    }

    /// The condition at which universal compaction adds no more sorted runs to a compaction.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
    pub enum UniversalCompactionStopStyle for ironstone::CompactionStopStyle {
        /// The size of the next sorted run is not similar to the size of the run before it.
        Similar = 0 => ironstone::CompactionStopStyle::SimilarSize,
        /// The next sorted run is larger than all runs of the compaction together.
        Total = 1 => ironstone::CompactionStopStyle::TotalSize,
    }

    /// How a manual compaction treats the bottommost level.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
    #[repr(u8)]
    pub enum BottommostLevelCompaction for ironstone::BottommostLevelCompaction {
        /// The level is not compacted.
        Skip = 0 => ironstone::BottommostLevelCompaction::Skip,
        /// The level is compacted if there is a compaction filter.
        IfHaveCompactionFilter = 1 => ironstone::BottommostLevelCompaction::IfHaveCompactionFilter,
        /// The level is compacted.
        Force = 2 => ironstone::BottommostLevelCompaction::Force,
        /// The level is compacted, except files that this manual compaction wrote.
        ForceOptimized = 3 => ironstone::BottommostLevelCompaction::ForceOptimized,
    }

    /// The level of a line of the info log.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    #[repr(i32)]
    pub enum LogLevel for world::LogLevel {
        /// For developers.
        Debug = 0 => world::LogLevel::Debug,
        /// Jobs and options.
        Info = 1 => world::LogLevel::Info,
        /// Errors that the database handles itself.
        Warn = 2 => world::LogLevel::Warn,
        /// Failed operations.
        Error = 3 => world::LogLevel::Error,
        /// Failures of the whole database.
        Fatal = 4 => world::LogLevel::Fatal,
        /// Lines at the begin of each info log file.
        Header = 5 => world::LogLevel::Header,
    }
}

impl LogLevel {
    pub(crate) fn of_ironstone(level: world::LogLevel) -> LogLevel {
        match level {
            world::LogLevel::Debug => LogLevel::Debug,
            world::LogLevel::Info => LogLevel::Info,
            world::LogLevel::Warn => LogLevel::Warn,
            world::LogLevel::Error => LogLevel::Error,
            world::LogLevel::Fatal => LogLevel::Fatal,
            world::LogLevel::Header => LogLevel::Header,
        }
    }
}

/// The structure of memtables.
pub enum MemtableFactory {
    /// A vector that is sorted when the memtable becomes immutable.
    Vector,
    /// A hash table of skip lists. Needs a prefix extractor.
    HashSkipList {
        /// The number of hash buckets. Each bucket has a skip list.
        bucket_count: usize,
        /// The maximum height of a skip list.
        height: i32,
        /// One in `branching_factor` entries of a skip list level is also in the next level.
        branching_factor: i32,
    },
    /// A hash table of linked lists. Needs a prefix extractor.
    HashLinkList {
        /// The number of hash buckets. Each bucket has a linked list.
        bucket_count: usize,
    },
}

/// How a plain table stores keys.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Default)]
pub enum KeyEncodingType {
    /// Stores each key in full.
    #[default]
    Plain = 0,
    /// Stores a prefix that consecutive keys share only once.
    Prefix = 1,
}

/// The options of plain tables. See RocksDB's `PlainTableOptions`.
pub struct PlainTableFactoryOptions {
    /// The length of each key in bytes; 0: keys have different lengths.
    pub user_key_length: u32,
    /// The size of the Bloom filter in bits for each key. 0: no Bloom filter.
    pub bloom_bits_per_key: i32,
    /// The ratio of prefixes to hash buckets. 0: binary search instead of a hash table.
    pub hash_table_ratio: f64,
    /// The number of keys of a prefix for each entry of the index.
    pub index_sparseness: usize,
    /// The size of huge pages in bytes; 0: none.
    pub huge_page_tlb_size: usize,
    /// How keys are stored.
    pub encoding_type: KeyEncodingType,
    /// True if the table has no index. Such a table can only be read from its begin to its end.
    pub full_scan_mode: bool,
    /// True if the index is stored in the file. Otherwise an open of the table builds the index.
    pub store_index_in_file: bool,
}
