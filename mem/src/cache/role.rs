//! What cached or charged bytes are for, under RocksDB's names.

/// Numbered as RocksDB's `CacheEntryRole`.
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
    /// The capacity of a blob cache of its own.
    BlobCache = 12,
    /// All other entries.
    #[default]
    Misc = 13,
}

/// Number of roles.
pub const ROLES: usize = 14;

impl Role {
    /// All roles, by number.
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

    /// As properties and the LOG show it: `data-block`.
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

    /// `DataBlock` and so on, as the stats dump shows it.
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

/// How much of a cache one role has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleUsage {
    /// Entries; a reservation counts one for each 256 KiB begun, as RocksDB's dummy entries do.
    pub count: usize,
    /// Bytes of the entries.
    pub bytes: usize,
}
