//! Options from three numbers: memory, cores, and a goal.
//!
//! [`derive`] is a pure function to a list of options with their reasons. [`Options::for_budget`] sets the options of the list,
//! and [`explain_options`] returns the list.

use base::{Error, Result};
use mem::cache::CacheOptions;
use table::sst::BlockCache;

pub use engine::options::BUDGET_MEMORY_MIN;

use crate::Options;

const MIB: u64 = 1 << 20;

/// The aim of options that are derived from a budget.
///
/// ```
/// use ironstone::{BudgetGoal, Options};
///
/// let options = Options::for_budget(1 << 30, 4, BudgetGoal::Latency)?;
/// assert_eq!(options.db.max_background_jobs, 4);
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetGoal {
    /// Each read and each write is fast: a large block cache, small blocks, and few sorted runs.
    Latency,
    /// Many writes per second: large memtables, and fewer compactions of level 0.
    Throughput,
}

/// An option that [`Options::for_budget`] sets, with its value and the reason for the value.
///
/// ```
/// use ironstone::{BudgetGoal, explain_options};
///
/// for option in explain_options(1 << 30, 4, BudgetGoal::Throughput)? {
///     println!("{}={}: {}", option.name, option.value, option.reason);
/// }
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedOption {
    /// RocksDB's name of the option. Options of tables have the prefix `block_based_table_factory.`. `block_cache` is the
    /// capacity of the block cache in bytes.
    pub name: &'static str,
    /// The value as option text.
    pub value: String,
    /// The reason for the value, as a sentence.
    pub reason: String,
}

impl DerivedOption {
    /// Returns the text for [`Options::update`]. Returns `None` for the block cache: [`Options::for_budget`] makes a clock cache, and
    /// option text (`block_based_table_factory={block_cache=64M;}`) makes an LRU cache.
    ///
    /// ```
    /// use ironstone::{BudgetGoal, Options, explain_options};
    ///
    /// let mut options = Options::default();
    /// for option in explain_options(1 << 30, 4, BudgetGoal::Latency)? {
    ///     if let Some(text) = option.text() {
    ///         options.update(&text)?;
    ///     }
    /// }
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn text(&self) -> Option<String> {
        match self.name.strip_prefix("block_based_table_factory.") {
            Some(field) => Some(format!("block_based_table_factory={{{field}={};}}", self.value)),
            None if self.name == "block_cache" => None,
            None => Some(format!("{}={}", self.name, self.value)),
        }
    }
}

impl Options {
    /// Returns options for a process that gives a database this memory and these cores. The other options keep their
    /// defaults, and each option may be changed afterwards. [`explain_options`] says the reason for each value.
    ///
    /// The memory is for memtables, the block cache with index and filter blocks, and the buffers of compactions. The limit
    /// is not hard: iterators can keep old memtables, and the block cache exceeds its capacity while its blocks are in use.
    /// [`Options::memory_budget`], called afterwards, limits these too. The call is separate because this limit has a price: writers wait
    /// while the memtables exceed a quarter of the budget, and an iterator without room copies its entry.
    ///
    /// # Errors
    /// InvalidArgument for less than [`BUDGET_MEMORY_MIN`] bytes, and for 0 cores.
    ///
    /// ```
    /// use ironstone::{BudgetGoal, Db, Options};
    ///
    /// let mut options = Options::for_budget(256 << 20, 2, BudgetGoal::Latency)?;
    /// options.update("compression=kNoCompression")?; // an own choice
    /// options.db.env = Options::in_memory().db.env;
    /// options.db.create_if_missing = true;
    /// let db = Db::open("data", options)?;
    /// db.put(b"k", b"v")?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn for_budget(memory_bytes: u64, cores: u32, goal: BudgetGoal) -> Result<Options> {
        let mut options = Options::default();
        let shares = Shares::new(memory_bytes, cores, goal)?;
        for option in derive(&shares) {
            if let Some(text) = option.text() {
                options.update(&text)?;
            }
        }
        let capacity = usize::try_from(shares.cache).unwrap_or(usize::MAX);
        options.block_cache = Some(BlockCache::new(CacheOptions::hyper_clock(capacity))?);
        Ok(options)
    }
}

impl Options {
    /// Sets one memory limit for the database: the block cache, memtables, index and filter blocks, iterators, and the buffers of flushes
    /// and compactions draw from it. Keeps all other options. Call this method after the other options are set: it replaces the block
    /// cache and the write buffer manager, and lowers buffer sizes that do not fit. All column families use the block cache of the
    /// budget. The database option `memory_budget_bytes` sets the same limit from text.
    ///
    /// - The block cache has 13 sixteenths of the budget as its capacity. Memory of other holders takes room from the
    ///   blocks. The rest is for memory that the allocator keeps free. With a budget of at most 1 GiB, jobs make glibc
    ///   return its free memory to the system, at most four times in a second. The open of such a database also limits
    ///   glibc to one arena for each 64 MiB (`M_ARENA_MAX`). This limit is for the whole process, and the limit of the
    ///   first such open stays. An arena keeps the memory that was ever free in it.
    /// - Memtables have a quarter of the budget. Writers wait while the memtables exceed this quarter.
    /// - The blocks and memtables that idle iterators keep have a quarter of the budget. An iterator without room
    ///   copies its entry, and its next move collects its sources again. Its answers do not change: flush and
    ///   compaction keep the entries that the iterator needs. Such a move costs as much as a seek. Iterators with
    ///   timestamps, with `pin_data`, with `table_filter`, of a column family with a compaction filter, with FIFO
    ///   compaction or with in-place updates are not limited.
    /// - Pinned values that the application holds are not limited.
    ///
    /// [`Db::memory`](crate::Db::memory) returns the holders.
    ///
    /// # Errors
    /// InvalidArgument for less than [`BUDGET_MEMORY_MIN`] bytes. NotSupported for a column family without block-based tables.
    ///
    /// ```
    /// let mut options = ironstone::Options::in_memory();
    /// options.memory_budget(64 << 20)?;
    /// let db = ironstone::Db::open("data", options)?;
    /// db.put(b"k", b"v")?;
    /// assert!(db.memory().bytes < 64 << 20);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn memory_budget(&mut self, bytes: u64) -> Result<&mut Self> {
        self.family.fit_memory_budget(bytes)?;
        let cache = self.db.make_memory_budget(bytes)?;
        self.block_cache = Some(cache);
        Ok(self)
    }
}

/// Returns the options that [`Options::for_budget`] sets, each with its reason.
///
/// # Errors
/// The errors of [`Options::for_budget`].
///
/// ```
/// use ironstone::{BudgetGoal, explain_options};
///
/// let options = explain_options(1 << 30, 4, BudgetGoal::Latency)?;
/// let jobs = options.iter().find(|option| option.name == "max_background_jobs").unwrap();
/// assert_eq!(jobs.value, "4");
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn explain_options(memory_bytes: u64, cores: u32, goal: BudgetGoal) -> Result<Vec<DerivedOption>> {
    Shares::new(memory_bytes, cores, goal).map(|shares| derive(&shares))
}

/// The division of a budget.
struct Shares {
    memory: u64,
    cores: u32,
    goal: BudgetGoal,
    /// Bytes of all memtables.
    memtables: u64,
    /// Bytes of the block cache.
    cache: u64,
    /// The largest number of memtables of a column family.
    buffers: u64,
    /// Bytes of one memtable.
    buffer: u64,
}

impl Shares {
    fn new(memory: u64, cores: u32, goal: BudgetGoal) -> Result<Shares> {
        if memory < BUDGET_MEMORY_MIN {
            let text = format!("a budget of {memory} bytes; at least {BUDGET_MEMORY_MIN} bytes are needed");
            return Err(Error::invalid_argument(text));
        }
        if cores == 0 {
            return Err(Error::invalid_argument("a budget of 0 cores; at least 1 core is needed"));
        }
        // An eighth is for compaction buffers, iterators and open files.
        let usable = memory / 8 * 7;
        // Three memtables are enough for writers that the machine can flush: one is active, and two wait for a flush. More memtables
        // take longer bursts. The goal throughput has more memtables and not larger ones: with 131 MiB in place of 87 MiB, a
        // load took 10 % more processor time, and an open replayed a longer WAL.
        let (memtables, buffers) = match goal {
            BudgetGoal::Latency => (usable / 4, 3),
            BudgetGoal::Throughput if usable / 2 < 64 * MIB => (usable / 2, 3),
            BudgetGoal::Throughput => (usable / 2, 6),
        };
        let buffer = (memtables / buffers).clamp(MIB / 2, 256 * MIB);
        // Memory above the largest useful memtables goes to the block cache.
        let memtables = memtables.min(buffer * buffers);
        Ok(Shares { memory, cores, goal, memtables, cache: usable - memtables, buffers, buffer })
    }

    fn trigger(&self) -> u64 {
        match self.goal {
            BudgetGoal::Latency => 4,
            BudgetGoal::Throughput => 8,
        }
    }
}

fn derive(shares: &Shares) -> Vec<DerivedOption> {
    let mut out = memory_options(shares);
    out.extend(level_options(shares));
    out.extend(job_options(shares));
    out.extend(table_options(shares));
    out
}

fn row(name: &'static str, value: impl ToString, reason: impl Into<String>) -> DerivedOption {
    DerivedOption { name, value: value.to_string(), reason: reason.into() }
}

fn memory_options(shares: &Shares) -> Vec<DerivedOption> {
    let size = |bytes: u64| match bytes as f64 / MIB as f64 {
        mib if mib < 1024.0 => format!("{mib:.1} MiB"),
        mib => format!("{:.1} GiB", mib / 1024.0),
    };
    vec![
        row(
            "db_write_buffer_size",
            shares.memtables,
            format!(
                "All memtables together use at most {} of the {}; a flush starts before.",
                size(shares.memtables),
                size(shares.memory)
            ),
        ),
        row(
            "write_buffer_size",
            shares.buffer,
            format!("The memory of the memtables, divided by {} memtables.", shares.buffers),
        ),
        row(
            "max_write_buffer_number",
            shares.buffers,
            "One memtable takes writes while the other memtables are flushed, so a flush does not stop writers.",
        ),
        row(
            "max_total_wal_size",
            (2 * shares.memtables).max(64 * MIB),
            "A column family with few writes is flushed before its WALs need a long replay at the open.",
        ),
        row(
            "block_cache",
            shares.cache,
            format!("The rest of the memory, {}: data, index and filter blocks.", size(shares.cache)),
        ),
    ]
}

fn level_options(shares: &Shares) -> Vec<DerivedOption> {
    let trigger = shares.trigger();
    let base = shares.buffer * trigger;
    vec![
        row(
            "level0_file_num_compaction_trigger",
            trigger,
            match shares.goal {
                BudgetGoal::Latency => "A read visits few files of level 0.",
                BudgetGoal::Throughput => {
                    "A compaction of level 0 merges more files, so each byte is written fewer times."
                }
            },
        ),
        row(
            "level0_slowdown_writes_trigger",
            trigger * 5,
            "Writers are delayed only if compactions are five times behind.",
        ),
        row(
            "level0_stop_writes_trigger",
            trigger * 9,
            "The delay has time to act before writers are stopped.",
        ),
        row(
            "max_bytes_for_level_base",
            base,
            "Level 1 has the size of level 0 at its compaction, so this compaction rewrites the least bytes.",
        ),
        row(
            "target_file_size_base",
            (base / 4).clamp(2 * MIB, 128 * MIB),
            "A level has several files, so a compaction takes a part of the level, and files are not too many.",
        ),
    ]
}

fn job_options(shares: &Shares) -> Vec<DerivedOption> {
    let jobs = shares.cores.clamp(2, 32);
    let mut out = vec![row(
        "max_background_jobs",
        jobs,
        "One job for each core; at least two, so that a flush does not wait for a compaction.",
    )];
    if shares.cores >= 4 {
        out.push(row(
            "max_subcompactions",
            (shares.cores / 4).clamp(2, 8),
            "A large compaction of level 0 is divided between cores, because no other compaction can run with it.",
        ));
    }
    out.push(row(
        "bytes_per_sync",
        MIB,
        "SST files go to the disk in small parts, so a sync at their end does not delay other reads and writes.",
    ));
    out.push(row(
        "wal_bytes_per_sync",
        MIB / 2,
        "The WAL goes to the disk in small parts, so a sync is short.",
    ));
    out
}

fn table_options(shares: &Shares) -> Vec<DerivedOption> {
    let block = match shares.goal {
        BudgetGoal::Latency => {
            (8192, "A lookup decompresses little, and the index has half the entries of blocks of 4 KiB.")
        }
        BudgetGoal::Throughput => (16_384, "Larger blocks compress better, and the index is smaller."),
    };
    vec![
        row(
            "block_based_table_factory.filter_policy",
            "bloomfilter:10:false",
            "A filter of 10 bits per key avoids 99 % of the block reads for missing keys.",
        ),
        row(
            "block_based_table_factory.cache_index_and_filter_blocks",
            "true",
            "Index and filter blocks count as memory of the block cache, so the memory has a limit.",
        ),
        row(
            "block_based_table_factory.pin_l0_filter_and_index_blocks_in_cache",
            "true",
            "Each lookup needs the filters of level 0, so they stay in the block cache.",
        ),
        row("block_based_table_factory.block_size", block.0, block.1),
    ]
}
