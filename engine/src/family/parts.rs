//! A family's options turned into what the rooms use: checked once, never looked up by name again.

use std::path::{Path, PathBuf};

use base::key::InternalOrder;
use base::order::PrefixExtractor;
use base::{FileNumber, Order};
use lsm::cut::PartitionerFactory;
use lsm::file_meta::FileMetaData;
use lsm::filter::{CompactionFilter, CompactionFilterFactory};
use lsm::merge::MergeOperator;
use lsm::version::BlobFile;
use mem::memtable::{MemTable, MemTableOptions};
use table::options::{BlockBasedTableOptions, OtherTables};
use table::sst::BlockCache;
use table::sst::writer::CollectorFactory;

use crate::event::FlushReason;
use crate::files::{Retired, Waiting};
use crate::sync::Arc;

/// The components and derived settings of a family. Replaced as a whole by `set_options`.
#[derive(Clone)]
pub struct Parts {
    pub order: Order,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    pub compaction_filter: Option<Arc<dyn CompactionFilter>>,
    pub compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>>,
    /// Ends the output files of compactions at chosen keys.
    pub partitioner_factory: Option<Arc<dyn PartitionerFactory>>,
    /// Inspect the entries of each new SST file.
    pub collectors: Vec<Arc<dyn CollectorFactory>>,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    pub table: Arc<BlockBasedTableOptions>,
    /// The kind of new tables, and the options of tables without blocks.
    pub other: Arc<OtherTables>,
    /// `None` with `no_block_cache`.
    pub block_cache: Option<Arc<BlockCache>>,
    /// The cache of blob values; `None` if the column family has none.
    pub blob_cache: Option<Arc<BlockCache>>,
    /// How values go to blob files, and out of old ones.
    pub blobs: BlobSettings,
    /// The options pickers read.
    pub pick: lsm::pick::Options,
    /// How its memtables are made.
    pub memtable: MemTableOptions,
    pub optimize_filters_for_hits: bool,
    /// Iterators use prefixes only where a read asks for it.
    pub prefix_seek_opt_in_only: bool,
    /// A memtable with so many range deletions is full; `u64::MAX` for no bound.
    pub range_deletions_max: u64,
    /// Bytes of checksum for each entry of blocks in memory, of tables opened from now on.
    pub block_protection_bytes_per_key: u8,
    /// Nothing may be written to it.
    pub disallow_memtable_writes: bool,
    /// New tables are read through and compared with what was written.
    pub paranoid_file_checks: bool,
    /// How compaction outputs are verified (`verify_output_flags`): rows and blocks, file checksum.
    pub verify_outputs: (bool, bool),
    /// If a key has this many merge operands in the memtable, a new operand is merged when it is written. 0
    /// disables this merge.
    pub successive_merges_max: u64,
    /// Even if a file must be read for that.
    pub strict_successive_merges: bool,
    /// Memory of memtables below which flushed ones are kept (`max_write_buffer_size_to_maintain`); 0: none is.
    pub history_bytes_max: usize,
    /// Where its tables lie, by path id: `cf_paths`, or `db_paths`; never empty.
    pub table_dirs: Arc<[PathBuf]>,
    pub stored: Stored,
}

/// What SST files may hold.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Wide-column entities may be written: the release that `compat` names reads them.
    pub entities: bool,
    /// SST files have the timestamps of their keys. If false, only memtables and WALs have timestamps.
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
    /// Flushes put values into the blob cache.
    pub warm_on_flush: bool,
}

impl Parts {
    /// Why a memtable of this family is to be flushed, if it is.
    #[inline]
    pub fn is_full(&self, mem: &MemTable) -> Option<FlushReason> {
        if mem.memory_used() >= self.full_bytes() || mem.is_marked_for_flush() || mem.is_nearly_full() {
            return Some(FlushReason::WriteBufferFull);
        }
        let many =
            self.range_deletions_max < u64::MAX && mem.counts().range_deletes >= self.range_deletions_max;
        many.then_some(FlushReason::MemtableMaxRangeDeletions)
    }

    /// Bytes at which a memtable is sealed. As in RocksDB it is when less than a quarter of an arena block, of an eighth of
    /// the buffer and 1 MiB at most, is left: what would not fit would begin another.
    fn full_bytes(&self) -> usize {
        let buffer = self.memtable.write_buffer_size;
        buffer - (buffer / 8).min(1 << 20) / 4
    }

    /// A table's path. An id past the last path means the last one, as RocksDB has it.
    pub fn table_path(&self, number: FileNumber, path_id: u32) -> PathBuf {
        self.table_dir(path_id).join(format::names::table(number))
    }

    /// The path of a blob file: all blob files lie in the first directory of the column family.
    pub fn blob_path(&self, number: FileNumber) -> PathBuf {
        self.table_dir(0).join(format::names::blob(number))
    }

    /// An SST file that is in no current version any more.
    pub fn retired_table(&self, file: &Arc<FileMetaData>) -> Waiting {
        Waiting {
            path: self.table_path(file.number, file.path_id),
            number: file.number,
            file: Retired::Table(file.clone()),
        }
    }

    /// A blob file that is in no current version any more.
    pub fn retired_blob(&self, blob: &BlobFile) -> Waiting {
        Waiting {
            path: self.blob_path(blob.number),
            number: blob.number,
            file: Retired::Blob(blob.in_use.clone()),
        }
    }

    /// The directory of a path id.
    pub fn table_dir(&self, path_id: u32) -> &Path {
        base::invariant!(!self.table_dirs.is_empty(), "a column family has no directory");
        &self.table_dirs[(path_id as usize).min(self.table_dirs.len() - 1)]
    }

    pub fn internal_order(&self) -> InternalOrder {
        InternalOrder::new(self.order.clone())
    }
}
