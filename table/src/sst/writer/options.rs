//! The options of a table writer: settings, identity, times, and collectors.

use std::sync::Arc;

use base::key::InternalOrder;
use base::option::Release;
use base::order::{Order, PrefixExtractor};
use base::stats::Statistics;
use base::{FamilyId, FileNumber, Level, Result, SequenceNumber};
use compress::{Compression, CompressionOptions};
use env::Executor;
use mem::cache::Ledger;

use crate::options::{BlockBasedTableOptions, FilterLevel, OtherTables};

/// The column family id of a table that belongs to no column family.
pub const FAMILY_UNKNOWN: FamilyId = FamilyId::new(i32::MAX as u32);

/// All options of one table. The defaults make a table without a database: no identity, no column family, no
/// compression.
#[derive(Clone)]
pub struct WriterOptions {
    /// The table options, after `sanitize`.
    pub table: Arc<BlockBasedTableOptions>,
    /// The kind of the table, and the options of tables without blocks.
    pub other: Arc<OtherTables>,
    /// The compression of the blocks.
    pub block_compression: BlockCompression,
    /// The order of internal keys.
    pub order: InternalOrder,
    /// The prefix extractor of the column family, if there is one.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// True if timestamps are stored (`persist_user_defined_timestamps`). False: timestamps are removed from
    /// keys.
    pub persist_timestamps: bool,
    /// The name of the merge operator for the properties. `None` is stored as `nullptr`.
    pub merge_operator_name: Option<String>,
    /// The column family and the level of the table.
    pub place: TablePlace,
    /// Maximum number of bytes that are held while a dictionary is sampled. 0 means no limit.
    pub target_file_size: u64,
    /// The times of the data in the table.
    pub times: DataTimes,
    /// The time at which the file is made, in seconds since 1970. 0: not known.
    pub file_creation_time: u64,
    /// The encoded sequence-to-time map; empty if there is none.
    pub seqno_to_time: Vec<u8>,
    /// The database that writes the table.
    pub identity: Identity,
    /// The number of the file, a part of the unique id; 0 if unknown.
    pub file_number: FileNumber,
    /// A number for the checksums from format version 6 on. It should differ from file to file: use the
    /// random numbers of the environment. Only 31 bits are used, and 0 counts as 1.
    pub context_seed: u32,
    /// True if the table is an external table (see [`crate::sst_file`]).
    pub external: bool,
    /// The size in bytes from which a value, or a column of an entity, is an embedded blob (see [`crate::sst::EmbeddedIter`]).
    /// `None`: the table has no embedded blobs.
    pub embedded_blob_min_size: Option<u64>,
    /// The collector factories, with what they need to know.
    pub collecting: Collecting,
    /// The shared parts that the writer uses.
    pub resources: Resources,
}

/// The compression of the blocks of a table.
#[derive(Clone)]
pub struct BlockCompression {
    /// The compression of each block.
    pub kind: Compression,
    /// The options of the compression.
    pub options: CompressionOptions,
    /// One block in this many is also compressed with a fast and with a strong algorithm, to measure the
    /// possible sizes (`sample_for_compression`). 0, the default, samples no block.
    pub sample_one_in: u64,
}

impl Default for BlockCompression {
    fn default() -> Self {
        BlockCompression { kind: Compression::None, options: CompressionOptions::default(), sample_one_in: 0 }
    }
}

/// The column family and the level of a table.
#[derive(Clone)]
pub struct TablePlace {
    /// The number of the column family.
    pub family: FamilyId,
    /// The name of the column family.
    pub family_name: String,
    /// The level of the file, for collectors. `None` if unknown.
    pub level: Option<Level>,
    /// The level of the file, for the choice of the filter.
    pub filter_level: FilterLevel,
    /// True if the table has no filter, whatever the policy is (`optimize_filters_for_hits` at the last
    /// level).
    pub skip_filter: bool,
}

impl Default for TablePlace {
    fn default() -> Self {
        TablePlace {
            family: FAMILY_UNKNOWN,
            family_name: String::new(),
            level: None,
            filter_level: FilterLevel::Unknown,
            skip_filter: false,
        }
    }
}

/// The database that writes a table, for the table properties and the unique id.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The identity of the database, for the table properties and the unique id.
    pub db_id: String,
    /// The identity of this open of the database, for the table properties and the unique id.
    pub db_session_id: String,
    /// The name of the machine, for the table properties.
    pub db_host_id: String,
}

/// The times of the data of a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataTimes {
    /// The time when the oldest data was written, in seconds since 1970; 0 if unknown.
    pub oldest_ancestor: u64,
    /// The time of the oldest entry, in seconds since 1970. 0: not known.
    pub oldest_key: u64,
    /// The time of the newest entry, in seconds since 1970. 0: not known.
    pub newest_key: u64,
}

/// The shared parts that a table writer uses.
#[derive(Clone, Default)]
pub struct Resources {
    /// The executor for `parallel_threads` of compression. `None`: only the calling thread compresses.
    pub executor: Option<Arc<dyn Executor>>,
    /// The ledger that is charged for buffers. `None`: buffers are not charged.
    pub ledger: Option<Arc<dyn Ledger>>,
    /// Gets each new block uncompressed when it is written (`prepopulate_block_cache`).
    pub warm: Option<Arc<dyn WarmCache>>,
    /// The statistics that count blocks and times.
    pub statistics: Option<Arc<Statistics>>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            table: Arc::default(),
            other: Arc::default(),
            block_compression: BlockCompression::default(),
            place: TablePlace::default(),
            times: DataTimes::default(),
            identity: Identity::default(),
            resources: Resources::default(),
            order: InternalOrder::new(Order::Bytewise),
            prefix_extractor: None,
            persist_timestamps: true,
            merge_operator_name: None,
            target_file_size: 0,
            file_creation_time: 0,
            seqno_to_time: Vec::new(),
            file_number: FileNumber::ZERO,
            context_seed: 1,
            external: false,
            embedded_blob_min_size: None,
            collecting: Collecting::default(),
        }
    }
}

/// The type of a block for [`WarmCache`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A data block.
    Data,
    /// A filter block.
    Filter,
    /// The top level of a partitioned filter.
    FilterPartitionIndex,
    /// An index block.
    Index,
    /// The block of the compression dictionary.
    CompressionDictionary,
    /// The block of range tombstones.
    RangeDeletion,
    /// The properties block.
    Properties,
    /// The metaindex block.
    Metaindex,
}

/// Inserts blocks into the block cache when they are written.
pub trait WarmCache: Send + Sync {
    /// Called after a block was written completely at `offset`. `payload` is the uncompressed block.
    fn block_written(&self, kind: BlockKind, offset: u64, payload: &[u8]);
}

/// The collector factories of a table, with what only they need to know.
#[derive(Clone, Default)]
pub struct Collecting {
    /// Each factory makes one collector for each table.
    pub factories: Vec<Arc<dyn CollectorFactory>>,
    /// See [`CollectorContext::old_before`].
    pub old_before: Option<SequenceNumber>,
}

/// The facts about a table that a collector gets.
#[derive(Clone, Copy, Debug)]
pub struct CollectorContext {
    /// The number of the column family.
    pub family: FamilyId,
    /// The level of the file. `None`: not known.
    pub level: Option<Level>,
    /// Entries with smaller sequence numbers may go to the last level. `None`: the file is on the last level, or no option
    /// (`preclude_last_level_data_seconds`) keeps entries out of the last level. RocksDB:
    /// `last_level_inclusive_max_seqno_threshold`.
    pub old_before: Option<SequenceNumber>,
}

/// Makes a collector for each table.
pub trait CollectorFactory: Send + Sync {
    /// Returns the name. The property `rocksdb.property.collectors` holds the names of all factories.
    fn name(&self) -> &str;

    /// Returns the text from which `release` makes the factory again. Default: the name.
    fn option_text(&self, _release: Release) -> String {
        self.name().to_string()
    }

    /// Returns the text for the info log. Default: the name.
    fn log_text(&self) -> String {
        self.name().to_string()
    }

    /// Makes a collector, or returns `None` if this table needs no collector.
    fn create(&self, context: CollectorContext) -> Option<Box<dyn TablePropertiesCollector>>;
}

/// Gets every entry of a table when it is written, and adds properties at the end.
///
/// If a collector fails, it is dropped, and the table is written without its properties.
pub trait TablePropertiesCollector: Send {
    /// Returns the name that OPTIONS files hold.
    fn name(&self) -> &str;

    /// Called for each entry, with internal key and value. `file_size` is the approximate number of bytes
    /// before the entry.
    fn add(&mut self, key: &[u8], value: &[u8], file_size: u64) -> Result<()>;

    /// Called when a data block is finished. The estimates are 0 for blocks that were not sampled.
    fn block_added(&mut self, _bytes: u64, _fast_estimate: u64, _slow_estimate: u64) {}

    /// Returns the properties to add, by name.
    fn finish(&mut self) -> Result<Vec<(Vec<u8>, Vec<u8>)>>;

    /// Returns true if the table should be compacted soon.
    fn need_compact(&self) -> bool {
        false
    }
}
