//! Enums of options. Each variant has RocksDB's number and word.

use base::Result;

use base::option::Value;

base::option_words! {
    /// Decides which SST files of a column family a compaction merges.
    CompactionStyle: "compaction style" {
        #[default]
        Level = 0, "kCompactionStyleLevel";
        Universal = 1, "kCompactionStyleUniversal";
        Fifo = 2, "kCompactionStyleFIFO";
        /// Compactions run only on request.
        None = 3, "kCompactionStyleNone";
    }
}

base::option_words! {
    /// Decides which SST file of a level is compacted first.
    CompactionPri: "compaction priority" {
        ByCompensatedSize = 0, "kByCompensatedSize";
        OldestLargestSeqFirst = 1, "kOldestLargestSeqFirst";
        OldestSmallestSeqFirst = 2, "kOldestSmallestSeqFirst";
        #[default]
        MinOverlappingRatio = 3, "kMinOverlappingRatio";
        RoundRobin = 4, "kRoundRobin", since "7.5" before MinOverlappingRatio;
    }
}

base::option_words! {
    /// Decides when universal compaction stops adding sorted runs to a compaction.
    CompactionStopStyle: "compaction stop style" {
        SimilarSize = 0, "kCompactionStopStyleSimilarSize";
        #[default]
        TotalSize = 1, "kCompactionStopStyleTotalSize";
    }
}

base::option_words! {
    /// Decides what recovery does at a torn or corrupt record of a WAL.
    WalRecoveryMode: "WAL recovery mode" {
        /// A torn record ends its WAL. A corrupt record fails the open.
        TolerateCorruptedTailRecords = 0, "kTolerateCorruptedTailRecords";
        /// A torn or corrupt record fails the open.
        AbsoluteConsistency = 1, "kAbsoluteConsistency";
        /// Recovery stops at the first torn or corrupt record.
        #[default]
        PointInTimeRecovery = 2, "kPointInTimeRecovery";
        /// Recovery skips corrupt records.
        SkipAnyCorruptedRecords = 3, "kSkipAnyCorruptedRecords";
    }
}

base::option_words! {
    /// The expected frequency of reads of a file, from hot to ice. Only the MANIFEST holds it.
    Temperature: "temperature" {
        #[default]
        Unknown = 0x00, "kUnknown";
        Hot = 0x04, "kHot";
        Warm = 0x08, "kWarm";
        Cool = 0x0A, "kCool", since "10.10" before Warm;
        Cold = 0x0C, "kCold";
        Ice = 0x10, "kIce", since "10.10" before Cold;
    }
}

base::option_words! {
    /// The lowest tier of the block cache that is used.
    CacheTier: "cache tier" {
        VolatileTier = 0, "kVolatileTier";
        VolatileCompressedTier = 1, "kVolatileCompressedTier", since "9.4" before VolatileTier;
        #[default]
        NonVolatileBlockTier = 2, "kNonVolatileBlockTier";
    }
}

base::option_words! {
    /// Selects the new blobs that are written to the blob cache too.
    PrepopulateBlobCache: "blob cache prepopulation" {
        #[default]
        Disable = 0, "kDisable";
        FlushOnly = 1, "kFlushOnly";
    }
}

/// The checks of a new SST file, as a sum of bits. The bits are those of RocksDB's `VerifyOutputFlags`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VerifyOutputFlags(pub u32);

impl VerifyOutputFlags {
    /// Verifies nothing.
    pub const NONE: VerifyOutputFlags = VerifyOutputFlags(0);
    /// Verifies the checksum of each block.
    pub const BLOCK_CHECKSUM: VerifyOutputFlags = VerifyOutputFlags(1);
    /// Reads all entries and compares them with the entries that were written.
    pub const ITERATION: VerifyOutputFlags = VerifyOutputFlags(1 << 1);
    /// Compares the checksum of the whole file with the stored checksum.
    pub const FILE_CHECKSUM: VerifyOutputFlags = VerifyOutputFlags(1 << 2);
    /// Verifies the outputs of compactions that this process runs. The other bits say what is verified.
    pub const ENABLE_FOR_LOCAL_COMPACTION: VerifyOutputFlags = VerifyOutputFlags(1 << 10);
    /// Verifies the outputs of compactions that a compaction service runs. The other bits say what is verified.
    pub const ENABLE_FOR_REMOTE_COMPACTION: VerifyOutputFlags = VerifyOutputFlags(1 << 11);

    /// Returns true if all bits of `other` are set. True for `NONE`.
    pub fn contains(self, other: VerifyOutputFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Value for VerifyOutputFlags {
    fn parse(text: &str) -> Result<Self> {
        Value::parse(text).map(VerifyOutputFlags)
    }

    fn print(&self) -> String {
        self.0.to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
