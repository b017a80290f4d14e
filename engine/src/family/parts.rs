//! The components and settings that the options of a column family give. The engine uses them in place of the
//! options.

use std::path::{Path, PathBuf};

use base::key::InternalOrder;
use base::order::PrefixExtractor;
use base::{EpochNumber, FileNumber, Order};
use lsm::cut::PartitionerFactory;
use lsm::filter::{CompactionFilter, CompactionFilterFactory};
use lsm::merge::MergeOperator;
use lsm::table_file::TableFile;
use lsm::version::BlobFile;
use mem::cache::UsageCharge;
use mem::memtable::{MemTable, MemTableOptions};
use table::options::{BlockBasedTableOptions, OtherTables};
use table::sst::BlockCache;
use table::sst::writer::CollectorFactory;

use crate::event::FlushReason;
use crate::files::{Retired, Waiting};
use crate::sync::Arc;

/// The parts of a compaction output that are verified after the output is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifiedOutputs {
    /// True if all entries are read, which also verifies all blocks.
    pub entries: bool,
    /// True if the checksum of the whole file is compared with the stored checksum.
    pub checksum: bool,
}

/// A blob cache.
#[derive(Clone)]
pub struct BlobCache {
    pub cache: Arc<BlockCache>,
    /// The charge of its usage to the block cache. `None`: the usage is not charged.
    pub charge: Option<Arc<UsageCharge>>,
}

impl std::ops::Deref for BlobCache {
    type Target = BlockCache;

    fn deref(&self) -> &BlockCache {
        &self.cache
    }
}

/// The code of the application that a column family calls.
#[derive(Clone)]
pub struct UserCode {
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    pub compaction_filter: Option<Arc<dyn CompactionFilter>>,
    pub compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>>,
    /// Ends the output files of compactions at chosen keys.
    pub partitioner_factory: Option<Arc<dyn PartitionerFactory>>,
    /// Make the properties of each new SST file from its entries.
    pub collectors: Vec<Arc<dyn CollectorFactory>>,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
}

/// The caches of a column family.
#[derive(Clone)]
pub struct Caches {
    /// `None` with `no_block_cache`.
    pub blocks: Option<Arc<BlockCache>>,
    /// The cache of blob values; `None` if the column family has none.
    pub blobs: Option<BlobCache>,
}

/// The components and derived settings of a column family. `set_options` replaces all of them together.
#[derive(Clone)]
pub struct Parts {
    pub order: Order,
    pub code: UserCode,
    pub table: Arc<BlockBasedTableOptions>,
    /// The table format of new SST files, and the options of the formats that are not block-based.
    pub other: Arc<OtherTables>,
    pub caches: Caches,
    /// Which values go to blob files, and when they leave old blob files.
    pub blobs: BlobSettings,
    /// The options of the compaction pickers.
    pub pick: lsm::pick::Options,
    /// The options of new memtables.
    pub memtable: MemTableOptions,
    pub optimize_filters_for_hits: bool,
    pub scan: ScanSettings,
    /// A memtable with this number of range deletions is full; `u64::MAX` means no limit.
    pub range_deletions_max: u64,
    pub blocks: BlockSettings,
    /// True if all writes to the column family are rejected.
    pub disallow_memtable_writes: bool,
    /// True if each new SST file is read and compared with the entries that were written to it.
    pub paranoid_file_checks: bool,
    /// How compaction outputs are verified (`verify_output_flags`).
    pub verify_outputs: VerifiedOutputs,
    pub successive_merges: SuccessiveMerges,
    pub measured: Measured,
    /// While all memtables take less memory than this, flushed memtables are kept
    /// (`max_write_buffer_size_to_maintain`). 0 keeps none.
    pub history_bytes_max: usize,
    /// The directories of its SST files, by path id: `cf_paths`, or `db_paths`; never empty.
    pub table_dirs: Arc<[PathBuf]>,
    pub stored: Stored,
}

/// When a write merges the operand that it adds.
#[derive(Clone, Copy, Debug)]
pub struct SuccessiveMerges {
    /// If a key has this many merge operands in the memtable, a new operand is merged when it is written. 0
    /// disables this merge.
    pub operands_max: u64,
    /// True if such a merge may read SST files.
    pub may_read_files: bool,
}

/// What the statistics of file accesses hold.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The temperature to which reads of an SST file count if the MANIFEST has no temperature for the file, with RocksDB's
    /// numbers. 0 counts these reads to no temperature.
    pub default_temperature: u8,
    /// True if flushes and compactions measure the times of their file-system calls (`report_bg_io_stats`).
    pub times_jobs: bool,
}

/// The settings of blocks in memory.
#[derive(Clone, Copy, Debug)]
pub struct BlockSettings {
    /// Bytes of checksum for each entry of a block, for SST files that are opened from now on
    /// (`block_protection_bytes_per_key`).
    pub protection_bytes_per_key: u8,
    /// How far a walk over the blocks of an obsolete SST file goes to erase them from the block cache. 0 erases no block.
    pub uncache_aggressiveness: u32,
}

/// The settings of iterators.
#[derive(Clone, Copy, Debug)]
pub struct ScanSettings {
    /// True if iterators use prefixes only if a read requests this.
    pub prefix_seek_opt_in_only: bool,
    /// The number of hidden entries of one key after which an iterator seeks (`max_sequential_skip_in_iterations`).
    pub max_sequential_skip: u64,
    /// The number of hidden entries of the memtable in one move that requests a flush (`memtable_op_scan_flush_trigger`). 0
    /// disables both triggers.
    pub flush_trigger: u64,
    /// The average number of hidden entries for each move between two seeks that requests a flush
    /// (`memtable_avg_op_scan_flush_trigger`). 0 disables this trigger.
    pub flush_trigger_average: u64,
    /// The number of tombstones in a row that a scan converts to a range tombstone (`min_tombstones_for_range_conversion`). 0
    /// disables the conversion.
    pub conversion_tombstones_min: u64,
}

/// What new SST files of the column family may contain.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// True if wide-column entities may be written: the release that `compat` names reads them.
    pub entities: bool,
    /// True if SST files have the timestamps of their keys. If false, only memtables and WALs have timestamps.
    pub timestamps: bool,
}

/// The options of blob files. The names are those of the options.
#[derive(Clone, Debug)]
pub struct BlobSettings {
    pub enable_blob_files: bool,
    pub min_blob_size: u64,
    pub blob_file_size: u64,
    pub compression: u8,
    pub compression_options: crate::options::CompressionOptions,
    pub enable_garbage_collection: bool,
    pub age_cutoff: f64,
    pub compaction_readahead_bytes: usize,
    pub starting_level: i32,
    /// True if flushes put values into the blob cache.
    pub warm_on_flush: bool,
    /// True if writes put values into blob files before the WAL (`enable_blob_direct_write`).
    pub direct_write: bool,
    /// The number of blob files that writes use at the same time.
    pub direct_partitions: usize,
}

impl Parts {
    /// Returns the first epoch number of files that are not ingested behind all other files.
    pub fn first_epoch(&self) -> EpochNumber {
        if self.pick.allow_ingest_behind { EpochNumber::FIRST.next() } else { EpochNumber::FIRST }
    }

    /// Returns the reason why a memtable of this column family must be flushed; `None` if it is not full.
    #[inline]
    pub fn is_full(&self, mem: &MemTable) -> Option<FlushReason> {
        self.is_full_with(mem, mem.memory_used())
    }

    /// Does the work of [`Parts::is_full`] for a memtable that uses `used` bytes.
    #[inline]
    pub(crate) fn is_full_with(&self, mem: &MemTable, used: usize) -> Option<FlushReason> {
        if used >= self.full_bytes() || mem.is_marked_for_flush() || mem.is_nearly_full() {
            return Some(FlushReason::WriteBufferFull);
        }
        let many =
            self.range_deletions_max < u64::MAX && mem.counts().range_deletes >= self.range_deletions_max;
        many.then_some(FlushReason::MemtableMaxRangeDeletions)
    }

    /// Returns the size in bytes at which a memtable is full. As in RocksDB, it is full if less than a quarter of
    /// an arena block is left: a larger entry would need another block. A block has an eighth of the write buffer,
    /// and at most 1 MiB.
    pub(super) fn full_bytes(&self) -> usize {
        let buffer = self.memtable.write_buffer_size;
        buffer - (buffer / 8).min(1 << 20) / 4
    }

    /// Returns the path of an SST file. A path id after the last path means the last path, as in RocksDB.
    pub fn table_path(&self, number: FileNumber, path_id: u32) -> PathBuf {
        self.table_dir(path_id).join(format::names::table(number))
    }

    /// Returns the path of a blob file: all blob files are in the first directory of the column family.
    pub fn blob_path(&self, number: FileNumber) -> PathBuf {
        self.table_dir(0).join(format::names::blob(number))
    }

    /// Returns an SST file that has left the current version as an obsolete file that waits for its deletion.
    pub fn retired_table(&self, file: &Arc<TableFile>) -> Waiting {
        Waiting {
            path: self.table_path(file.number, file.path_id),
            number: file.number,
            file: Retired::Table { file: file.clone(), uncache: self.blocks.uncache_aggressiveness },
        }
    }

    /// Returns a blob file that has left the current version as an obsolete file that waits for its deletion.
    pub fn retired_blob(&self, blob: &BlobFile) -> Waiting {
        Waiting {
            path: self.blob_path(blob.number),
            number: blob.number,
            file: Retired::Blob(blob.in_use.clone()),
        }
    }

    /// Returns the directory of a path id.
    pub fn table_dir(&self, path_id: u32) -> &Path {
        base::invariant!(!self.table_dirs.is_empty(), "a column family has no directory");
        &self.table_dirs[(path_id as usize).min(self.table_dirs.len() - 1)]
    }

    /// Returns the order of internal keys: user keys by the comparator of the column family, and newer entries
    /// first.
    pub fn internal_order(&self) -> InternalOrder {
        InternalOrder::new(self.order.clone())
    }
}
