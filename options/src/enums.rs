//! Options that are one of a few words. Numbers are RocksDB's.

use base::Result;

use base::option::Value;

base::option_words! {
    /// Which files of a family are merged with which.
    CompactionStyle: "compaction style" {
        #[default]
        Level = 0, "kCompactionStyleLevel";
        Universal = 1, "kCompactionStyleUniversal";
        Fifo = 2, "kCompactionStyleFIFO";
        /// Compactions on demand only.
        None = 3, "kCompactionStyleNone";
    }
}

base::option_words! {
    /// Which file of a level goes first.
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
    /// When universal compaction stops adding runs.
    CompactionStopStyle: "compaction stop style" {
        SimilarSize = 0, "kCompactionStopStyleSimilarSize";
        #[default]
        TotalSize = 1, "kCompactionStopStyleTotalSize";
    }
}

base::option_words! {
    /// How a WAL with damage is read at open.
    WalRecoveryMode: "WAL recovery mode" {
        /// A torn tail is fine in any WAL, damage is not.
        TolerateCorruptedTailRecords = 0, "kTolerateCorruptedTailRecords";
        /// Nothing but whole records.
        AbsoluteConsistency = 1, "kAbsoluteConsistency";
        /// Up to the first fault, and no further.
        #[default]
        PointInTimeRecovery = 2, "kPointInTimeRecovery";
        /// Whatever can be read.
        SkipAnyCorruptedRecords = 3, "kSkipAnyCorruptedRecords";
    }
}

base::option_words! {
    /// How dear the storage of a file may be; a hint for the file system.
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
    /// Which new blobs go to the blob cache as they are written.
    PrepopulateBlobCache: "blob cache prepopulation" {
        #[default]
        Disable = 0, "kDisable";
        FlushOnly = 1, "kFlushOnly";
    }
}

/// What is read again after a file was written: bits, as RocksDB's `VerifyOutputFlags`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VerifyOutputFlags(pub u32);

impl VerifyOutputFlags {
    pub const NONE: VerifyOutputFlags = VerifyOutputFlags(0);
    pub const BLOCK_CHECKSUM: VerifyOutputFlags = VerifyOutputFlags(1);
    pub const ITERATION: VerifyOutputFlags = VerifyOutputFlags(1 << 1);
    pub const FILE_CHECKSUM: VerifyOutputFlags = VerifyOutputFlags(1 << 2);
    pub const ENABLE_FOR_LOCAL_COMPACTION: VerifyOutputFlags = VerifyOutputFlags(1 << 10);
    pub const ENABLE_FOR_REMOTE_COMPACTION: VerifyOutputFlags = VerifyOutputFlags(1 << 11);

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
