//! The pages of `ironstone inspect`, served by the process that has the database open.
//!
//! ```text
//!  Db        ─► Inspector: server on 127.0.0.1 ─► pages: directory + memory, jobs, slow operations, curves
//!  Secondary ─► Inspector: the same pages; each page catches up with the writer first
//! ```
//! The feature `inspector` is off by default. The pages read the directory as any other program does; the facts of the
//! process come from [`Db::metrics`], [`Db::memory`], [`Db::kept_files`] and [`Db::why`]. No read and no write does more work.
//!
//! Security: the server listens on the loopback address only, on a port that the system chooses. The address has a random
//! token. The pages change nothing, unless [`InspectorOptions::allow_changes`] is set.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base::stats::Ticker;
use base::{Error, Level, Result};
use inspect::model::live::{
    Change, Counters, DiskShare, Found, Holder, Kept, KeptVersion, LevelWork, Live, Running, SlowKind,
    SlowStall,
};
use inspect::web::pages::Site;
use inspect::web::server::{Server, Serving};

use crate::{CompactRangeOptions, DataAge, Db, Family, MemoryHolder, Secondary, StallCause, VersionReaders};

/// The pages show the slow operations of this number of seconds.
const SLOW_SECONDS: u64 = 600;

/// Options of [`Inspector::serve`].
#[derive(Clone, Debug, Default)]
pub struct InspectorOptions {
    /// The pages have forms that flush, compact, and set the options of a finding. Default: false. A form needs a second
    /// token, which only the pages show.
    pub allow_changes: bool,
}

/// A server of pages. The server ends when the value is dropped: the drop closes the connections and waits for the pages that
/// are being made. The server keeps the database open.
pub struct Inspector {
    serving: Serving,
}

impl Inspector {
    /// Serves the pages of `ironstone inspect` for a database until the result is dropped.
    ///
    /// Cost: a thread accepts connections. Another thread reads the counters every two seconds. Each page has its own thread and
    /// holds the database until the page ends.
    ///
    /// # Errors
    /// IoError if the system gives no port, no thread or no entropy.
    ///
    /// ```
    /// use ironstone::inspector::{Inspector, InspectorOptions};
    ///
    /// let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let inspector = Inspector::serve(&db, &InspectorOptions::default())?;
    /// println!("open {}", inspector.url());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn serve(db: &Db, options: &InspectorOptions) -> Result<Inspector> {
        let env = db.db_options().env.clone();
        let site = Site::new(env, db.path().to_path_buf()).with_running(Arc::new(Primary(db.clone())));
        Inspector::start(site, options)
    }

    /// Serves the pages of `ironstone inspect` for the database of a writer. Each page catches up with the writer first.
    /// A secondary instance changes nothing, so `allow_changes` is refused.
    ///
    /// # Errors
    /// InvalidArgument if `allow_changes` is set. IoError as [`Inspector::serve`].
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ironstone::inspector::{Inspector, InspectorOptions};
    /// use ironstone::{Db, Options, Secondary};
    ///
    /// let options = Options::in_memory();
    /// let writer = Db::open("data", options.clone())?;
    /// let secondary = Arc::new(Secondary::open("data", options)?);
    /// let inspector = Inspector::serve_secondary(&secondary, &InspectorOptions::default())?;
    /// println!("open {}", inspector.url());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn serve_secondary(secondary: &Arc<Secondary>, options: &InspectorOptions) -> Result<Inspector> {
        if options.allow_changes {
            return Err(Error::invalid_argument("a secondary instance cannot make changes"));
        }
        let view = secondary.view();
        let env = view.db_options().env.clone();
        let running: Arc<dyn Running> = Arc::new(Copy(Arc::clone(secondary)));
        let site = Site::new(env, view.path().to_path_buf()).with_running(running);
        Inspector::start(site, options)
    }

    /// Returns the address to open in a browser of this machine. The address is a secret: it has the token.
    ///
    /// ```
    /// use ironstone::inspector::{Inspector, InspectorOptions};
    ///
    /// let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let inspector = Inspector::serve(&db, &InspectorOptions::default())?;
    /// assert!(inspector.url().starts_with("http://127.0.0.1:"));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn url(&self) -> &str {
        self.serving.url()
    }

    fn start(site: Site, options: &InspectorOptions) -> Result<Inspector> {
        let failed = |error: std::io::Error| {
            Error::io("starting the server of the inspector", std::path::Path::new("127.0.0.1"), error)
        };
        let mut server = Server::bind(site).map_err(failed)?;
        if options.allow_changes {
            server = server.allow_changes().map_err(failed)?;
        }
        Ok(Inspector { serving: server.start().map_err(failed)? })
    }
}

impl fmt::Debug for Inspector {
    /// The address is a secret and is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inspector")
    }
}

/// The database of this process.
struct Primary(Db);

impl Running for Primary {
    fn facts(&self) -> Live {
        facts(&self.0)
    }

    fn counters(&self) -> Counters {
        counters(&self.0, &self.0.families())
    }

    fn change(&self, change: &Change) -> std::result::Result<String, String> {
        make(&self.0, change).map_err(|error| error.to_string())
    }
}

/// A secondary instance of a database that another process writes.
struct Copy(Arc<Secondary>);

impl Running for Copy {
    fn facts(&self) -> Live {
        // If the catch-up fails, the pages show the facts of the previous view.
        let _ = self.0.try_catch_up_with_primary();
        facts(&self.0.view())
    }

    fn counters(&self) -> Counters {
        let view = self.0.view();
        counters(&view, &view.families())
    }

    fn change(&self, _change: &Change) -> std::result::Result<String, String> {
        Err("a secondary instance cannot make changes".to_string())
    }
}

fn make(db: &Db, change: &Change) -> Result<String> {
    let by_id = |id: u32| {
        let found = db.families().into_iter().find(|family| family.id().get() == id);
        found.ok_or_else(|| Error::invalid_argument(format!("column family {id} does not exist")))
    };
    match change {
        Change::Flush { family } => {
            let family = by_id(*family)?;
            family.flush()?;
            Ok(format!("The memtables of column family {} are in SST files.", family.name()))
        }
        Change::Compact { family } => {
            let family = by_id(*family)?;
            family.compact_range(None, None, &CompactRangeOptions::default())?;
            Ok(format!("All keys of column family {} are compacted.", family.name()))
        }
        Change::Set { family, text } => {
            let pairs = format::options_ini::parse_map(text)?;
            let pairs: Vec<(&str, &str)> =
                pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            match family {
                Some(name) => db.family(name)?.set_options(&pairs)?,
                None => db.set_db_options(&pairs)?,
            }
            Ok(format!("The database uses {text} from now on, and the OPTIONS file has the new value."))
        }
    }
}

fn facts(db: &Db) -> Live {
    let families = db.families();
    let why = db.why(Duration::from_secs(SLOW_SECONDS));
    Live {
        memory: holder(&db.memory()),
        disk: families.iter().flat_map(disk).collect(),
        kept: kept(db),
        slow: why.operations.iter().map(slow).collect(),
        stalls: why.stalls.iter().map(stall).collect(),
        counters: counters(db, &families),
        compacting: families.iter().flat_map(compacting).collect(),
        levels: level_work(db),
        found: found(db),
    }
}

/// Returns the work on each level that has files or that a job wrote.
fn level_work(db: &Db) -> Vec<LevelWork> {
    let metrics = db.metrics();
    let of = |family: &crate::metrics::FamilyMetrics| -> Vec<LevelWork> {
        let used = family.levels.iter().filter(|level| level.files > 0 || level.written_bytes > 0);
        let work = |level: &crate::metrics::LevelMetrics| LevelWork {
            family: family.name.clone(),
            level: u64::from(level.level.get()),
            bytes: level.bytes,
            written_bytes: level.written_bytes,
            read_bytes: level.read_bytes,
        };
        used.map(work).collect()
    };
    metrics.families.iter().flat_map(of).collect()
}

/// Returns the lookups by the place of their entry. `None` without statistics.
fn found(db: &Db) -> Option<Found> {
    let statistics = db.db_options().statistics.clone()?;
    Some(Found {
        memtables: statistics.ticker(Ticker::MemtableHit),
        level_0: statistics.ticker(Ticker::GetHitL0),
        level_1: statistics.ticker(Ticker::GetHitL1),
        deeper: statistics.ticker(Ticker::GetHitL2AndUp),
    })
}

fn holder(memory: &MemoryHolder) -> Holder {
    Holder {
        name: memory.name.clone(),
        bytes: memory.bytes,
        parts: memory.parts.iter().map(holder).collect(),
    }
}

fn disk(family: &Family) -> Vec<DiskShare> {
    let share = |share: crate::DiskShare| DiskShare {
        family: family.name().to_string(),
        level: u64::from(share.level.get()),
        age: match share.age {
            DataAge::Hour => "less than an hour",
            DataAge::Day => "less than a day",
            DataAge::Week => "less than a week",
            DataAge::Month => "less than a month",
            DataAge::Older => "older",
            DataAge::Unknown => "unknown",
        },
        temperature: share.temperature,
        files: share.files,
        bytes: share.bytes,
    };
    family.disk().into_iter().map(share).collect()
}

fn kept(db: &Db) -> Kept {
    let kept = db.kept_files();
    let readers = |readers: VersionReaders| (readers.readers, readers.since);
    let version = |version: &crate::KeptVersion| KeptVersion {
        family: version.family.clone(),
        files: version.files.iter().map(|file| file.get()).collect(),
        bytes: version.bytes,
        iterators: version.iterators.map(readers),
        compactions: version.compactions.map(readers),
    };
    Kept {
        versions: kept.versions.iter().map(version).collect(),
        snapshots: kept.snapshots,
        oldest_snapshot: kept.oldest_snapshot_time,
        deletions_disabled: kept.deletions_disabled,
        obsolete_bytes: kept.obsolete_bytes,
        pinned_bytes: db.int_property("rocksdb.block-cache-pinned-usage").unwrap_or(0),
    }
}

fn slow(kind: &crate::SlowKind) -> SlowKind {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    SlowKind {
        operation: kind.operation.name(),
        median_nanos: kind.median.map(nanos),
        count: kind.count,
        nanos: nanos(kind.time),
        nanos_max: nanos(kind.slowest),
        causes: kind.causes.iter().map(|c| (c.cause.name(), c.count, nanos(c.time))).collect(),
        unexplained_nanos: nanos(kind.unexplained),
    }
}

fn stall(stall: &crate::SlowStall) -> SlowStall {
    SlowStall {
        family: stall.family.clone(),
        trigger: match stall.trigger {
            StallCause::MemtableLimit => "too many memtables",
            StallCause::L0FileCountLimit => "too many files in level 0",
            StallCause::PendingCompactionBytes => "too many bytes wait for compaction",
            StallCause::WriteBufferManagerLimit => "the memory limit of all memtables",
            StallCause::None => "the WAL is locked",
        }
        .to_string(),
        stopped: stall.stopped,
        count: stall.count,
        nanos: u64::try_from(stall.time.as_nanos()).unwrap_or(u64::MAX),
        ended_by: stall.ended_by.clone(),
        options: stall.options,
    }
}

fn counters(db: &Db, families: &[Family]) -> Counters {
    let metrics = db.metrics();
    let levels = || metrics.families.iter().flat_map(|family| &family.levels);
    let runs = |family: &crate::metrics::FamilyMetrics| -> u64 {
        let of = |l: &crate::metrics::LevelMetrics| {
            if l.level == Level::ZERO { l.files } else { u64::from(l.files > 0) }
        };
        family.levels.iter().map(of).sum()
    };
    let live = |family: &Family| family.int_property("rocksdb.estimate-live-data-size").unwrap_or(0);
    let flushed: u64 = metrics.families.iter().map(|family| family.flushed_bytes).sum();
    // The jobs that wrote to level 0 are flushes, and compactions within level 0.
    let written: u64 = levels().map(|level| level.written_bytes).sum();
    Counters {
        at_micros: db.db_options().env.clock.now_micros(),
        user_bytes: metrics.database.user_bytes,
        wal_bytes: metrics.database.wal_bytes,
        flushed_bytes: flushed,
        compacted_bytes: written.saturating_sub(flushed),
        compaction_read_bytes: levels().map(|level| level.read_bytes).sum(),
        stall_micros: u64::try_from(metrics.database.stall_time.as_micros()).unwrap_or(u64::MAX),
        sorted_runs: metrics.families.iter().map(runs).max().unwrap_or(0),
        sst_bytes: levels().map(|level| level.bytes).sum(),
        live_bytes: families.iter().map(live).sum(),
        pending_compaction_bytes: metrics.families.iter().map(|f| f.pending_compaction_bytes).sum(),
        running_flushes: metrics.database.running_flushes,
        running_compactions: metrics.database.running_compactions,
        write_stopped: metrics.database.write_stopped,
        delayed_write_rate: metrics.database.delayed_write_rate,
    }
}

fn compacting(family: &Family) -> Vec<u64> {
    let pinned = family.inner().pin_owned();
    let files = pinned.version.files().filter(|(_, file)| file.being_compacted());
    files.map(|(_, file)| file.number.get()).collect()
}
