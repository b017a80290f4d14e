//! What cached or charged bytes are for, under RocksDB's names.

/// Numbered as RocksDB's `CacheEntryRole`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Role {
    DataBlock = 0,
    FilterBlock = 1,
    FilterMetaBlock = 2,
    DeprecatedFilterBlock = 3,
    IndexBlock = 4,
    OtherBlock = 5,
    WriteBuffer = 6,
    CompressionDictionaryBuildingBuffer = 7,
    FilterConstruction = 8,
    BlockBasedTableReader = 9,
    FileMetadata = 10,
    BlobValue = 11,
    BlobCache = 12,
    #[default]
    Misc = 13,
}

/// Number of roles.
pub const ROLES: usize = 14;

impl Role {
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
    pub bytes: usize,
}
