//! The options of block-based tables: their text, corrections, checks, and limits by release.

use base::option::{Value, parse_map};
use base::{Error, Result};
use format::checksum::ChecksumType;

use super::{
    BlockBasedTableOptions, DataBlockIndexType, IndexType, MetadataCacheOptions, PrepopulateBlockCache,
    no_charge,
};

/// The option `flush_block_policy_factory`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushBlockPolicy {
    /// A data block ends when the block reaches `block_size`.
    #[default]
    BySize,
}

impl Value for FlushBlockPolicy {
    fn parse(text: &str) -> Result<Self> {
        match text {
            "FlushBlockBySizePolicyFactory" | "nullptr" | "" => Ok(FlushBlockPolicy::BySize),
            _ => Err(Error::not_supported(format!("flush block policy {text:?}"))),
        }
    }

    fn print(&self) -> String {
        "FlushBlockBySizePolicyFactory".to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// The option `user_defined_index_factory`. It has no value but `nullptr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserDefinedIndex;

impl Value for UserDefinedIndex {
    fn parse(text: &str) -> Result<Self> {
        match text {
            "nullptr" | "" => Ok(UserDefinedIndex),
            _ => Err(Error::not_supported(format!("user-defined index {text:?}"))),
        }
    }

    fn print(&self) -> String {
        "nullptr".to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

base::nested_options!(MetadataCacheOptions, parse_map);

/// Options of older releases. They are accepted in option text and have no effect.
pub const DEPRECATED: &[&str] = &[
    "hash_index_allow_collision",
    "index_per_partition",
    "reserve_table_builder_memory",
    "reserve_table_reader_memory",
    "skip_table_builder_flush",
    "block_cache_compressed",
];

/// The facts about a column family that its table options depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Validation {
    /// True if the column family has a prefix extractor.
    pub has_prefix_extractor: bool,
    /// True if the comparator orders keys by unsigned bytes.
    pub bytewise_order: bool,
    /// The first option that compresses a level: `compression`, `bottommost_compression` or `compression_per_level`.
    pub compressed_by: Option<&'static str>,
    /// True if `compression` is `kDisableCompressionOption`.
    pub disables_compression: bool,
    /// True if the database has `unordered_write` and the column family has `max_successive_merges`.
    pub merges_unordered_writes: bool,
}

impl BlockBasedTableOptions {
    /// Sets one option from its text. Also accepts a field such as
    /// `metadata_cache_options.partition_pinning`.
    ///
    /// # Errors
    /// InvalidArgument if the option or the value does not exist. NotSupported for a feature that this build
    /// does not have.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        if let Some(row) = Self::ROWS.iter().find(|row| row.name == name) {
            // Releases 6.10 to 6.14 wrote eight bytes for this option of four bytes. The upper four bytes are
            // arbitrary memory.
            if name == "read_amp_bytes_per_bit" {
                self.read_amp_bytes_per_bit = u64::parse(text)? as u32;
                return Ok(());
            }
            return (row.set)(self, text).map_err(|error| error.doing(format!("setting option {name}")));
        }
        if let Some(field) = name.strip_prefix("metadata_cache_options.") {
            let set = self.metadata_cache_options.set(field, text);
            return set.map_err(|error| error.doing("setting option metadata_cache_options"));
        }
        if DEPRECATED.contains(&name) {
            return Ok(());
        }
        Err(Error::invalid_argument(format!("no such table option: {name:?}")))
    }

    /// Returns the text of one option, or `None` if there is no such option.
    pub fn get(&self, name: &str) -> Option<String> {
        Self::ROWS.iter().find(|row| row.name == name).map(|row| (row.print)(self))
    }

    /// Corrects the values that RocksDB corrects without a message.
    pub fn sanitize(&mut self) {
        if !(0..=100).contains(&self.block_size_deviation) {
            self.block_size_deviation = 0;
        }
        self.block_restart_interval = self.block_restart_interval.max(1);
        self.index_block_restart_interval = self.index_block_restart_interval.max(1);
        if self.index_type == IndexType::HashSearch {
            self.index_block_restart_interval = 1;
        }
        if self.index_type != IndexType::TwoLevelIndexSearch {
            self.partition_filters = false;
        }
        self.format_version = self.format_version.max(MIN_FORMAT_VERSION);
    }

    /// Rejects settings that contradict each other or the column family, with RocksDB's messages and in RocksDB's order.
    ///
    /// # Errors
    /// InvalidArgument for such settings.
    pub fn validate(&self, family: Validation) -> Result<()> {
        self.validate_order(family)?;
        let cached = [
            (self.cache_index_and_filter_blocks, "cache_index_and_filter_blocks"),
            (self.pin_l0_filter_and_index_blocks_in_cache, "pin_l0_filter_and_index_blocks_in_cache"),
        ];
        if let Some((_, option)) = cached.into_iter().find(|(requested, _)| *requested && self.no_block_cache)
        {
            return Err(Error::invalid_argument(format!("Enable {option}, , but block cache is disabled")));
        }
        self.validate_blocks(family)
    }

    /// Checks as [`Self::validate`] does, but accepts options that request a block cache together with
    /// `no_block_cache`. RocksDB rejects these options only when a database is opened for writing. A new column family,
    /// a live change and a read-only open may have them, and work without a block cache.
    ///
    /// # Errors
    /// The other errors of [`Self::validate`].
    pub fn validate_without_cache(&self, family: Validation) -> Result<()> {
        self.validate_order(family)?;
        self.validate_blocks(family)
    }

    fn validate_order(&self, family: Validation) -> Result<()> {
        refuse_first(&[
            (
                self.index_type == IndexType::HashSearch && !family.has_prefix_extractor,
                "Hash index is specified for block-based table, but prefix_extractor is not given",
            ),
            (
                self.index_block_search_type == super::BlockSearchType::Interpolation
                    && !family.bytewise_order,
                "Interpolation search requires BytewiseComparator",
            ),
        ])
    }

    fn validate_blocks(&self, family: Validation) -> Result<()> {
        refuse_first(&[
            (
                self.format_version > MAX_FORMAT_VERSION, // `sanitize` raises a version that is too low
                "Unsupported BlockBasedTable format_version. Please check include/rocksdb/table.h for more info",
            ),
            (family.disables_compression, "kDisableCompressionOption not permitted for option: compression"),
        ])?;
        if let Some(option) = family.compressed_by.filter(|_| self.block_align) {
            return Err(Error::invalid_argument(format!("Enable block_align, but {option} enabled")));
        }
        refuse_first(&[
            (
                self.block_align && !self.block_size.is_power_of_two(),
                "Block alignment requested but block size is not a power of 2",
            ),
            (self.block_size > u64::from(u32::MAX), "block size exceeds maximum number (4GiB) allowed"),
            (
                self.super_block_alignment_size & self.super_block_alignment_size.wrapping_sub(1) != 0,
                "Super Block alignment requested but super block alignment size is not a power of 2",
            ),
            (
                self.super_block_alignment_size > u32::MAX as usize,
                "Super block alignment size exceeds maximum number (4GiB) allowed",
            ),
            (
                (1..4).contains(&self.super_block_alignment_space_overhead_ratio),
                "Super block alignment space overhead is too high",
            ),
            (
                self.data_block_index_type == DataBlockIndexType::BinaryAndHash
                    && self.data_block_hash_table_util_ratio <= 0.0,
                "data_block_hash_table_util_ratio should be greater than 0 when data_block_index_type is set to \
                 kDataBlockBinaryAndHash",
            ),
            (self.use_udi_as_primary_index, "use_udi_as_primary_index requires user_defined_index_factory"),
            (
                family.merges_unordered_writes,
                "max_successive_merges larger than 0 is currently inconsistent with unordered_write",
            ),
        ])?;
        match self.cache_usage_options.charged_role().filter(|_| self.no_block_cache) {
            Some(role) => Err(no_charge(role, "block cache is disabled")),
            None => Ok(()),
        }
    }

    /// Returns the first release that reads files with these options, as (major, minor). Besides the format
    /// version, other options may need a newer release. Returns `None` for an unknown format version.
    ///
    /// The format versions: 2: 3.10. 3: 5.15, index keys may have no trailer. 4: 5.16, delta-encoded index
    /// values. 5: 6.6, cache-local Bloom filters. 6: 8.6, checksums depend on the offset of the block. 7:
    /// 10.4, several compression types in a file. Other options: separated keys and values need 11.0, uniform
    /// index blocks 11.1.
    pub fn first_release_reading(&self) -> Option<(u32, u32)> {
        let of_version = *FIRST_RELEASE.get(self.format_version.checked_sub(MIN_FORMAT_VERSION)? as usize)?;
        let of_separation = if self.separate_key_value_in_data_block { (11, 0) } else { (0, 0) };
        let of_uniformity = if self.uniform_cv_threshold >= 0.0 { (11, 1) } else { (0, 0) };
        let of_hash =
            if self.data_block_index_type == DataBlockIndexType::BinaryAndHash { (5, 16) } else { (0, 0) };
        let of_checksum = if self.checksum == ChecksumType::Xxh3 { (6, 27) } else { (0, 0) };
        [of_version, of_separation, of_uniformity, of_hash, of_checksum].into_iter().max()
    }

    /// Lowers the format version and disables features, so that release `(major, minor)` can read the files.
    ///
    /// # Errors
    /// NotSupported for a release that is older than the oldest supported format version.
    pub fn cap_to_release(&mut self, release: (u32, u32)) -> Result<()> {
        let Some(newest) = FIRST_RELEASE.iter().rposition(|&first| first <= release) else {
            return Err(Error::not_supported(format!(
                "writing tables for release {}.{}; the oldest is 3.10",
                release.0, release.1
            )));
        };
        self.format_version = self.format_version.min(MIN_FORMAT_VERSION + newest as u32);
        if release < (11, 0) {
            self.separate_key_value_in_data_block = false;
        }
        if release < (11, 1) {
            self.uniform_cv_threshold = -1.0;
        }
        if release < (11, 1) && self.prepopulate_block_cache == PrepopulateBlockCache::FlushAndCompaction {
            self.prepopulate_block_cache = PrepopulateBlockCache::FlushOnly;
        }
        if release < (5, 16) {
            self.data_block_index_type = DataBlockIndexType::BinarySearch;
        }
        if release < (6, 27) && self.checksum == ChecksumType::Xxh3 {
            self.checksum = ChecksumType::Crc32c;
        }
        if release < (6, 15)
            && let Some(policy) = &mut self.filter_policy
        {
            policy.without_ribbon();
        }
        Ok(())
    }
}

/// Returns InvalidArgument with the first message whose condition is true.
fn refuse_first(checks: &[(bool, &str)]) -> Result<()> {
    match checks.iter().find(|(refused, _)| *refused) {
        Some((_, message)) => Err(Error::invalid_argument(*message)),
        None => Ok(()),
    }
}

/// The smallest format version that can be written.
pub const MIN_FORMAT_VERSION: u32 = 2;
/// The largest format version that can be written. RocksDB 11.8 reads the version.
pub const MAX_FORMAT_VERSION: u32 = 7;
/// The first release that reads each format version, from version 2 on.
const FIRST_RELEASE: [(u32, u32); 6] = [(3, 10), (5, 15), (5, 16), (6, 6), (8, 6), (10, 4)];
