//! The purposes that cached or charged bytes have, with RocksDB's names.

/// The purpose of cached or charged bytes. The numbers are those of RocksDB's `CacheEntryRole`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Role {
    /// Data blocks.
    DataBlock = 0,
    /// Filter blocks and filter partitions.
    FilterBlock = 1,
    /// The top levels of partitioned filters.
    FilterMetaBlock = 2,
    /// Filters by block. No table has such filters any more.
    DeprecatedFilterBlock = 3,
    /// Index blocks and index partitions.
    IndexBlock = 4,
    /// Other blocks, such as range tombstones and dictionaries.
    OtherBlock = 5,
    /// Memtables.
    WriteBuffer = 6,
    /// Samples for compression dictionaries.
    CompressionDictionaryBuildingBuffer = 7,
    /// Hashes for filters under construction.
    FilterConstruction = 8,
    /// Open table readers.
    BlockBasedTableReader = 9,
    /// Metadata of SST files.
    FileMetadata = 10,
    /// Blobs.
    BlobValue = 11,
    /// The capacity of a separate blob cache.
    BlobCache = 12,
    /// All other entries.
    #[default]
    Misc = 13,
}

/// Number of roles.
pub const ROLES: usize = 14;

impl Role {
    /// All roles, in the order of their numbers.
    pub const ALL: [Role; ROLES] = [
        Role::DataBlock,
        Role::FilterBlock,
        Role::FilterMetaBlock,
        Role::DeprecatedFilterBlock,
        Role::IndexBlock,
        Role::OtherBlock,
        Role::WriteBuffer,
        Role::CompressionDictionaryBuildingBuffer,
        Role::FilterConstruction,
        Role::BlockBasedTableReader,
        Role::FileMetadata,
        Role::BlobValue,
        Role::BlobCache,
        Role::Misc,
    ];

    /// Returns the name in properties and in the info log, such as `data-block`.
    pub fn name(self) -> &'static str {
        [
            "data-block",
            "filter-block",
            "filter-meta-block",
            "deprecated-filter-block",
            "index-block",
            "other-block",
            "write-buffer",
            "compression-dictionary-building-buffer",
            "filter-construction",
            "block-based-table-reader",
            "file-metadata",
            "blob-value",
            "blob-cache",
            "misc",
        ][self as usize]
    }

    /// Returns the name in the statistics dump, such as `DataBlock`.
    pub fn camel_name(self) -> &'static str {
        [
            "DataBlock",
            "FilterBlock",
            "FilterMetaBlock",
            "DeprecatedFilterBlock",
            "IndexBlock",
            "OtherBlock",
            "WriteBuffer",
            "CompressionDictionaryBuildingBuffer",
            "FilterConstruction",
            "BlockBasedTableReader",
            "FileMetadata",
            "BlobValue",
            "BlobCache",
            "Misc",
        ][self as usize]
    }
}

/// The entries and the bytes that one role has in a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleUsage {
    /// Number of entries. A reservation counts as one entry for each started 256 KiB, like RocksDB's dummy
    /// entries.
    pub count: usize,
    /// Bytes of the entries.
    pub bytes: usize,
}
