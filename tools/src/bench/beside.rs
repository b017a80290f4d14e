//! Reads while another process writes: `--use_secondary_db` and `--open_as_follower`.
//!
//! A benchmark reads the newest view at the start of the benchmark. In RocksDB, the instance changes during the
//! reads.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use base::{Error, Result};
use ironstone::{Db, FamilyDescriptor, Follower, Options, Secondary};

use super::flags::Flags;

/// An instance that follows a writer in another process.
pub enum Beside {
    Secondary(Arc<Secondary>, Option<Updater>),
    Follower(Follower),
}

impl Beside {
    /// Opens the instance that the flags ask for. Returns `None` if the flags ask for none. The database is then
    /// opened for writing or for reading.
    ///
    /// # Errors
    /// InvalidArgument if flags exclude each other, or if `--use_existing_db` is missing. Errors of the open.
    pub fn open(
        flags: &Flags,
        path: &Path,
        mut options: Options,
        families: Vec<FamilyDescriptor>,
    ) -> Result<Option<Beside>> {
        let (secondary, follower) = (flags.bool("use_secondary_db"), flags.bool("open_as_follower"));
        if !secondary && !follower {
            return Ok(None);
        }
        for other in ["transaction_db", "optimistic_transaction_db", "readonly"] {
            if flags.bool(other) {
                return Err(Error::invalid_argument(format!(
                    "--{other} excludes --use_secondary_db and --open_as_follower"
                )));
            }
        }
        if secondary && follower {
            return Err(Error::invalid_argument(
                "--use_secondary_db and --open_as_follower exclude each other",
            ));
        }
        if !flags.bool("use_existing_db") {
            return Err(Error::invalid_argument(
                "--use_secondary_db and --open_as_follower read a database of another process: give --use_existing_db",
            ));
        }
        if follower {
            let leader = PathBuf::from(flags.text("leader_path"));
            let mut options = options;
            options.db.create_if_missing = true;
            return Follower::open_with_families(path, leader, options, families)
                .map(Beside::Follower)
                .map(Some);
        }
        let log_dir = match flags.text("secondary_path") {
            "" => super::setup::test_directory()?.join("dbbench_secondary"),
            path => PathBuf::from(path),
        };
        options.db.env.fs.create_dir_all(&log_dir)?;
        // A secondary instance keeps all SST files open, because the writer may delete them.
        (options.db.max_open_files, options.db.open_files_async) = (-1, false);
        let secondary =
            Arc::new(Secondary::open_with_families(path, with_log(options, &log_dir)?, families)?);
        let period = Duration::from_secs(flags.count("secondary_update_interval"));
        let updater = (!period.is_zero()).then(|| Updater::start(secondary.clone(), period));
        Ok(Some(Beside::Secondary(secondary, updater)))
    }

    /// Returns the newest view.
    pub fn view(&self) -> Db {
        match self {
            Beside::Secondary(secondary, _) => secondary.view(),
            Beside::Follower(follower) => follower.view(),
        }
    }

    /// Stops the updates. Returns the number of updates, for a secondary instance.
    pub fn stop(self) -> Option<u64> {
        match self {
            Beside::Secondary(_, updater) => Some(updater.map_or(0, Updater::stop)),
            Beside::Follower(_) => None,
        }
    }
}

/// Gives the secondary instance an info log in its own directory.
fn with_log(mut options: Options, dir: &Path) -> Result<Options> {
    if options.db.info_log.is_none() {
        let env = options.db.env.clone();
        let log = env::logger::LogFileOptions { level: options.db.info_log_level, ..Default::default() };
        let logger = env::logger::FileLogger::open(env.fs, env.clock, dir, None, log)?;
        options.db.info_log = Some(Arc::new(logger));
    }
    Ok(options)
}

/// The thread that catches up once in each period of `--secondary_update_interval` seconds.
pub struct Updater {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    stopped: Mutex<bool>,
    wake: Condvar,
    updates: AtomicU64,
}

impl Updater {
    fn start(secondary: Arc<Secondary>, period: Duration) -> Updater {
        let shared = Arc::new(Shared::default());
        let thread = std::thread::spawn({
            let shared = shared.clone();
            move || shared.update(&secondary, period)
        });
        Updater { shared, thread }
    }

    fn stop(self) -> u64 {
        *self.shared.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.wake.notify_all();
        if self.thread.join().is_err() {
            eprintln!("the thread that catches up with the writer panicked");
        }
        self.shared.updates.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn update(&self, secondary: &Secondary, period: Duration) {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stopped {
            drop(stopped);
            if let Err(error) = secondary.try_catch_up_with_primary() {
                eprintln!("Failed to catch up with primary: {error}");
                return;
            }
            self.updates.fetch_add(1, Ordering::Relaxed);
            stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
            if !*stopped {
                stopped = self.wake.wait_timeout(stopped, period).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}
