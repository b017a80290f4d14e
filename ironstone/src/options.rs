//! The options of a database and of its column families, with the components that options do not hold.

use std::path::Path;
use std::sync::Arc;

use base::Result;
use engine::components::WalFilter;
use engine::event::Listener;
use engine::options::file::load_latest;
use engine::options::{DbOptions, FamilyOptions};
use engine::remote::CompactionService;
use env::Env;
use env::memory::MemoryFs;
use table::sst::BlockCache;

pub use engine::options::ReadOptions;
pub use engine::options::file::{Missing, OptionsFile, ReadConfig};

/// Options of a database and of its default column family. The defaults are those of RocksDB 11.8.1.
///
/// Each option is a field; [`Options::update`] also takes text.
///
/// ```
/// use ironstone::{BlockBasedTableOptions, CompressionType, FilterPolicy, Options, TableFactory};
///
/// let mut options = Options::default();
/// options.db.create_if_missing = true;
/// options.db.max_background_jobs = 4;
/// options.family.compression = CompressionType::LZ4;
/// options.family.table_factory = TableFactory::BlockBased(BlockBasedTableOptions {
///     filter_policy: Some(FilterPolicy::bloom(10.0)),
///     block_size: 16 << 10,
///     ..BlockBasedTableOptions::default()
/// });
/// ```
#[derive(Clone, Default)]
pub struct Options {
    /// Options of the whole database. RocksDB: `DBOptions`. Components such as the `Env`, the rate limiter and the info
    /// log are fields too.
    pub db: DbOptions,
    /// Options of the default column family, and of each column family that is opened without own options. RocksDB:
    /// `ColumnFamilyOptions`.
    pub family: FamilyOptions,
    /// The block cache. Several databases may share a block cache. `None`, the default, makes a block cache of 32 MiB.
    pub block_cache: Option<Arc<BlockCache>>,
    /// Receive the events of the database: flushes, compactions, files, errors. Default: none.
    pub listeners: Vec<Arc<dyn Listener>>,
    /// Inspects each WAL record at the open, and can skip or replace records. RocksDB: `DBOptions::wal_filter`. Default:
    /// none.
    pub wal_filter: Option<Arc<dyn WalFilter>>,
    /// Runs subcompactions in other processes. RocksDB: `DBOptions::compaction_service`. Default: none.
    pub compaction_service: Option<Arc<dyn CompactionService>>,
}

impl Options {
    /// Returns options for a database in memory, with `create_if_missing` set: for examples and for tests. The
    /// clock and the threads are those of the machine. Files live as long as a clone of `options.db.env` lives. Each call
    /// makes a new, empty file system.
    ///
    /// ```
    /// use ironstone::{Db, Options};
    ///
    /// let options = Options::in_memory();
    /// let db = Db::open("data", options.clone())?;
    /// db.put(b"k", b"v")?;
    /// drop(db);
    /// let again = Db::open("data", options)?; // the same file system
    /// assert!(again.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn in_memory() -> Options {
        let machine = Env::posix();
        let env = Env { fs: Arc::new(MemoryFs::new(machine.clock.clone())), ..machine };
        let db = DbOptions { env, create_if_missing: true, ..DbOptions::default() };
        Options { db, ..Options::default() }
    }

    /// Sets options from text: `max_open_files=100;write_buffer_size=1048576;...`. The names are those of RocksDB. A
    /// name may be an option of the database or of the column family. If the text states
    /// a block cache, the database makes this cache, and `block_cache` becomes `None`.
    ///
    /// # Errors
    /// InvalidArgument if an option does not exist or if a value is not valid. Then no option is changed.
    ///
    /// ```
    /// # use ironstone::Options;
    /// let mut options = Options::default();
    /// options.update("max_open_files=100;write_buffer_size=1048576")?;
    /// assert_eq!((options.db.max_open_files, options.family.write_buffer_size), (100, 1 << 20));
    /// assert!(options.update("no_such_option=1").is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn update(&mut self, text: &str) -> Result<()> {
        let mut changed = self.clone();
        for (name, value) in format::options_ini::parse_map(text)? {
            if DbOptions::is_known(&name) {
                changed.db.set(&name, &value)?;
                continue;
            }
            changed.family.set(&name, &value)?;
            if names_block_cache(&name, &value) {
                changed.block_cache = None;
            }
        }
        *self = changed;
        Ok(())
    }

    /// Sets options for a bulk load: no automatic compaction, no write stalls. RocksDB: `PrepareForBulkLoad`.
    ///
    /// ```
    /// # use ironstone::Options;
    /// let mut options = Options::default();
    /// options.prepare_for_bulk_load();
    /// assert!(options.family.disable_auto_compactions);
    /// ```
    pub fn prepare_for_bulk_load(&mut self) {
        let (db, family) = (std::mem::take(&mut self.db), std::mem::take(&mut self.family));
        let mut both = engine::options::Options { db, family };
        both.prepare_for_bulk_load();
        (self.db, self.family) = (both.db, both.family);
    }

    /// Reads the newest OPTIONS file of the database at `path`. Returns the options of the database and all column
    /// families. The result lists objects that the file only names, for example a merge operator of the application;
    /// the caller sets these objects before the open. RocksDB: `LoadLatestOptions`.
    ///
    /// # Errors
    /// NotFound if there is no OPTIONS file. InvalidArgument or Corruption if the file cannot be read; `config` says
    /// which faults are accepted.
    ///
    /// ```
    /// use ironstone::{Db, FamilyDescriptor, Options, ReadConfig};
    ///
    /// let mut options = Options::in_memory();
    /// options.family.write_buffer_size = 1 << 20;
    /// let env = options.db.env.clone();
    /// drop(Db::open("data", options)?);
    ///
    /// let file = Options::load_latest("data", &env, &ReadConfig::default())?;
    /// assert_eq!(file.families[0].0, "default");
    /// assert_eq!(file.families[0].1.write_buffer_size, 1 << 20);
    /// assert!(file.missing.is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn load_latest(path: impl AsRef<Path>, env: &Env, config: &ReadConfig) -> Result<OptionsFile> {
        load_latest(env, path.as_ref(), config).map(|(_, file)| file)
    }
}

/// Returns true if an option of a column family in text states the block cache of the block-based table.
fn names_block_cache(name: &str, value: &str) -> bool {
    match name.split_once('.') {
        Some(("table_factory" | "block_based_table_factory", field)) => field == "block_cache",
        None if matches!(name, "table_factory" | "block_based_table_factory") => {
            let fields = format::options_ini::parse_map(value).unwrap_or_default();
            fields.iter().any(|(field, _)| field == "block_cache")
        }
        _ => false,
    }
}

/// A column family to open or to create, with its options.
///
/// ```
/// use ironstone::{Db, FamilyDescriptor, FamilyOptions, Options};
///
/// let mut options = Options::in_memory();
/// options.db.create_missing_column_families = true;
/// let small = FamilyOptions { write_buffer_size: 1 << 20, ..FamilyOptions::default() };
/// let db = Db::open_with_families("data", options, vec![FamilyDescriptor::new("users", small)])?;
/// assert_eq!(db.family("users")?.options().write_buffer_size, 1 << 20);
/// # Ok::<(), ironstone::Error>(())
/// ```
pub type FamilyDescriptor = engine::components::FamilyDescriptor;
