//! What a table's writer is told: settings, identity, times, and who wants to watch.

use std::sync::Arc;

use base::key::InternalOrder;
use base::option::Release;
use base::order::{Order, PrefixExtractor};
use base::stats::Statistics;
use base::{FamilyId, Level, Result};
use compress::{Compression, CompressionOptions};
use env::Executor;
use mem::cache::Ledger;

use crate::options::{BlockBasedTableOptions, FilterLevel, OtherTables};

/// The family id of a table that is written for no family in particular.
pub const FAMILY_UNKNOWN: FamilyId = FamilyId(i32::MAX as u32);

/// Everything that shapes one table. The defaults make a table of no database: no identity, family
/// unknown, no compression.
#[derive(Clone)]
pub struct WriterOptions {
    /// As `sanitize` left them.
    pub table: Arc<BlockBasedTableOptions>,
    /// The kind of the table, and the options of tables without blocks.
    pub other: Arc<OtherTables>,
    /// The compression of the blocks.
    pub compression: Compression,
    /// The options of the compression.
    pub compression_options: CompressionOptions,
    /// The order of internal keys.
    pub order: InternalOrder,
    /// The prefix extractor of the column family, if there is one.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// False: timestamps are cut from what is stored (`persist_user_defined_timestamps`).
    pub persist_timestamps: bool,
    /// For the property; `None` prints as `nullptr`.
    pub merge_operator_name: Option<String>,
    /// The number of the column family.
    pub family: FamilyId,
    /// The name of the column family.
    pub family_name: String,
    /// Where the table goes, as far as collectors are told; `None` if unknown.
    pub level: Option<Level>,
    /// Where it goes, as far as the choice of filter cares.
    pub filter_level: FilterLevel,
    /// No filter whatever the policy (`optimize_filters_for_hits` at the last level).
    pub skip_filter: bool,
    /// One block in this many is also compressed with a fast and with a strong algorithm, to measure the
    /// possible sizes (`sample_for_compression`). 0, the default, samples no block.
    pub sample_for_compression: u64,
    /// Bytes; bounds what is held back while a dictionary is sampled. 0 for no bound.
    pub target_file_size: u64,
    /// Seconds since 1970; 0 if unknown. When the oldest data in it was written.
    pub oldest_ancestor_time: u64,
    /// The time of the oldest entry, in seconds since 1970. 0: not known.
    pub oldest_key_time: u64,
    /// The time of the newest entry, in seconds since 1970. 0: not known.
    pub newest_key_time: u64,
    /// The time at which the file is made, in seconds since 1970. 0: not known.
    pub file_creation_time: u64,
    /// The sequence-to-time map's bytes; empty for none.
    pub seqno_to_time: Vec<u8>,
    /// The identity of the database, for the table properties and the unique id.
    pub db_id: String,
    /// The identity of this open of the database, for the table properties and the unique id.
    pub db_session_id: String,
    /// The name of the machine, for the table properties.
    pub db_host_id: String,
    /// Part of the unique id; 0 if unknown.
    pub file_number: u64,
    /// Nonzero and different from file to file: enters into every checksum from format version 6 on.
    /// Draw it from the environment's random numbers; only 31 bits are used, and 0 is taken for 1.
    pub context_seed: u32,
    /// Makes the table an external one (see [`crate::sst_file`]).
    pub external: bool,
    /// One collector is made of each, for each table.
    pub collectors: Vec<Arc<dyn CollectorFactory>>,
    /// Who runs `parallel_threads` of compression; `None` for the calling thread alone.
    pub executor: Option<Arc<dyn Executor>>,
    /// Who is charged for buffers, if anyone.
    pub ledger: Option<Arc<dyn Ledger>>,
    /// New blocks are shown here, uncompressed, as they are written (`prepopulate_block_cache`).
    pub warm: Option<Arc<dyn WarmCache>>,
    /// Where blocks and the times they take are counted, if anywhere.
    pub statistics: Option<Arc<Statistics>>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            table: Arc::default(),
            other: Arc::default(),
            compression: Compression::None,
            compression_options: CompressionOptions::default(),
            order: InternalOrder::new(Order::Bytewise),
            prefix_extractor: None,
            persist_timestamps: true,
            merge_operator_name: None,
            family: FAMILY_UNKNOWN,
            family_name: String::new(),
            level: None,
            filter_level: FilterLevel::Unknown,
            skip_filter: false,
            sample_for_compression: 0,
            target_file_size: 0,
            oldest_ancestor_time: 0,
            oldest_key_time: 0,
            newest_key_time: 0,
            file_creation_time: 0,
            seqno_to_time: Vec::new(),
            db_id: String::new(),
            db_session_id: String::new(),
            db_host_id: String::new(),
            file_number: 0,
            context_seed: 1,
            external: false,
            collectors: Vec::new(),
            executor: None,
            ledger: None,
            warm: None,
            statistics: None,
        }
    }
}

/// What kind of block is shown to [`WarmCache`].
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

/// Takes blocks into the block cache as they are written.
pub trait WarmCache: Send + Sync {
    /// A block was written whole at `offset`; `payload` is what a reader will have after decompression.
    fn block_written(&self, kind: BlockKind, offset: u64, payload: &[u8]);
}

/// What a collector is told about its table.
#[derive(Clone, Copy, Debug)]
pub struct CollectorContext {
    /// The number of the column family.
    pub family: FamilyId,
    /// The level of the file. `None`: not known.
    pub level: Option<Level>,
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

    /// `None` if this table is not to be watched.
    fn create(&self, context: CollectorContext) -> Option<Box<dyn TablePropertiesCollector>>;
}

/// Sees every entry of a table as it is written, and adds properties at its end.
///
/// A failure is the collector's own: it is dropped, and the table is written without its properties.
pub trait TablePropertiesCollector: Send {
    /// Returns the name that OPTIONS files hold.
    fn name(&self) -> &str;

    /// An entry: internal key and value. `file_size` is about how many bytes were written before it.
    fn add(&mut self, key: &[u8], value: &[u8], file_size: u64) -> Result<()>;

    /// A data block was closed. The estimates are 0 for blocks that were not sampled.
    fn block_added(&mut self, _bytes: u64, _fast_estimate: u64, _slow_estimate: u64) {}

    /// The properties to add, by name.
    fn finish(&mut self) -> Result<Vec<(Vec<u8>, Vec<u8>)>>;

    /// Whether the table should be compacted soon.
    fn need_compact(&self) -> bool {
        false
    }
}
