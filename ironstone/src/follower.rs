//! A follower instance: reads a database that another process writes, and catches up by itself. RocksDB's
//! `DB::OpenAsFollower` (`db/db_impl/db_impl_follower.cc`).
//!
//! A follower reads the MANIFEST and no WAL: its view has the writes that the leader flushed. Every
//! `follower_refresh_catchup_period_ms`, a job of the environment's pool for programs (`Pool::User`) catches up. A failed
//! catch-up is tried again `follower_catchup_retry_count` times in all, with `follower_catchup_retry_wait_ms` between the
//! tries. RocksDB links the leader's files into the follower's directory; here the open files are enough.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};
use env::executor::{Pool, Tag};
use env::logger::{FileLogger, LogLevel};
use env::sync::{AtomicBool, Mutex, Ordering};

use crate::{Db, FamilyDescriptor, Options, Secondary};

/// A reader of a database that another process has open for writing. The reader catches up by itself. Any thread may use
/// the value. Dropping the value stops the catch-ups; views stay readable.
///
/// ```
/// use ironstone::{Db, Follower, Options};
///
/// let options = Options::in_memory();
/// let leader = Db::open("leader", options.clone())?;
/// leader.put(b"k", b"1")?;
/// leader.flush()?;
///
/// let follower = Follower::open("follower", "leader", options)?;
/// assert_eq!(follower.view().get(b"k")?.as_deref(), Some(&b"1"[..]));
/// leader.put(b"k", b"2")?;
/// leader.flush()?;
/// follower.try_catch_up_with_leader()?; // the period is 10 seconds
/// assert_eq!(follower.view().get(b"k")?.as_deref(), Some(&b"2"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct Follower {
    shared: Arc<Shared>,
}

/// The state that the handle and the job of the catch-ups share.
struct Shared {
    secondary: Secondary,
    path: PathBuf,
    options: crate::DbOptions,
    tag: Tag,
    stopped: AtomicBool,
    /// The error of the last catch-up in the background; `None` after a success.
    last_error: Mutex<Option<Error>>,
}

impl Follower {
    /// Opens the database at `leader_path` with all its column families. The info log of the follower is in the directory
    /// `path`, which `create_if_missing` creates.
    ///
    /// # Errors
    /// The errors of [`Secondary::open`]. IoError if `path` does not exist and `create_if_missing` is not set.
    ///
    /// ```
    /// # use ironstone::{Db, Follower, Options};
    /// # let options = Options::in_memory();
    /// let leader = Db::open("leader", options.clone())?;
    /// leader.put(b"k", b"1")?;
    /// leader.flush()?;
    /// let follower = Follower::open("follower", "leader", options)?;
    /// assert!(follower.view().get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, leader_path: impl AsRef<Path>, options: Options) -> Result<Follower> {
        Follower::open_as(path.as_ref(), leader_path.as_ref(), options, None)
    }

    /// Opens the database at `leader_path` with these column families. Other column families are not visible.
    ///
    /// # Errors
    /// The errors of [`Follower::open`]. InvalidArgument for a column family that does not exist.
    ///
    /// ```
    /// # use ironstone::{Db, FamilyDescriptor, FamilyOptions, Follower, Options};
    /// # let options = Options::in_memory();
    /// let leader = Db::open("leader", options.clone())?;
    /// let users = FamilyDescriptor::new("users", FamilyOptions::default());
    /// leader.create_family(users.clone())?.put(b"1", b"Ada")?;
    /// leader.flush_families(&leader.families(), &Default::default())?;
    /// let follower = Follower::open_with_families("follower", "leader", options, vec![users])?;
    /// assert!(follower.view().family("users")?.get(b"1")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_with_families(
        path: impl AsRef<Path>,
        leader_path: impl AsRef<Path>,
        options: Options,
        families: Vec<FamilyDescriptor>,
    ) -> Result<Follower> {
        Follower::open_as(path.as_ref(), leader_path.as_ref(), options, Some(families))
    }

    fn open_as(
        path: &Path,
        leader: &Path,
        mut options: Options,
        families: Option<Vec<FamilyDescriptor>>,
    ) -> Result<Follower> {
        let env = options.db.env.clone();
        match options.db.create_if_missing {
            true => env.fs.create_dir_all(path)?,
            false => env.fs.list(path).map(drop)?,
        }
        if options.db.info_log.is_none() {
            let limits = engine::info_log::info_log_files(&options.db);
            let logger = FileLogger::open(env.fs.clone(), env.clock.clone(), path, None, limits)?;
            options.db.info_log = Some(Arc::new(logger));
        }
        let db = options.db.clone();
        let secondary = Secondary::open_as(leader, options, families, true)?;
        let shared = Arc::new(Shared {
            secondary,
            path: path.to_path_buf(),
            options: db,
            tag: Tag::fresh(),
            stopped: AtomicBool::new(false),
            last_error: Mutex::new(None),
        });
        env.executor.grow_threads(Pool::User, 1);
        shared.plan();
        Ok(Follower { shared })
    }

    /// Returns the newest view. The returned value does not change when a later catch-up replaces the view.
    ///
    /// ```
    /// # use ironstone::{Db, Follower, Options};
    /// # let options = Options::in_memory();
    /// let leader = Db::open("leader", options.clone())?;
    /// leader.put(b"k", b"1")?;
    /// leader.flush()?;
    /// let follower = Follower::open("follower", "leader", options)?;
    /// let view = follower.view();
    /// leader.put(b"k", b"2")?;
    /// assert_eq!(view.get(b"k")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn view(&self) -> Db {
        self.shared.secondary.view()
    }

    /// Catches up now, without a wait for the period.
    ///
    /// # Errors
    /// The errors of [`Secondary::try_catch_up_with_primary`].
    ///
    /// ```
    /// # use ironstone::{Db, Follower, Options};
    /// # let options = Options::in_memory();
    /// let leader = Db::open("leader", options.clone())?;
    /// leader.put(b"k", b"1")?;
    /// leader.flush()?;
    /// let follower = Follower::open("follower", "leader", options)?;
    /// leader.put(b"k", b"2")?;
    /// leader.flush()?;
    /// follower.try_catch_up_with_leader()?;
    /// assert_eq!(follower.view().get(b"k")?.as_deref(), Some(&b"2"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn try_catch_up_with_leader(&self) -> Result<()> {
        self.shared.secondary.try_catch_up_with_primary()
    }

    /// Returns the error of the last catch-up in the background, or `None` if the catch-up succeeded. The info log has the
    /// error too.
    ///
    /// ```
    /// # use ironstone::{Db, Follower, Options};
    /// # let options = Options::in_memory();
    /// # let leader = Db::open("leader", options.clone())?;
    /// let follower = Follower::open("follower", "leader", options)?;
    /// assert!(follower.last_error().is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn last_error(&self) -> Option<Error> {
        self.shared.last_error.lock().clone()
    }
}

impl Shared {
    /// Plans the next catch-up. The job holds no handle: a dropped follower ends the jobs.
    fn plan(self: &Arc<Self>) {
        let period_us = self.options.follower_refresh_catchup_period_ms.max(1).saturating_mul(1000);
        let me = Arc::downgrade(self);
        let job = move || {
            if let Some(shared) = me.upgrade() {
                shared.refresh();
                if !shared.stopped.load(Ordering::Acquire) {
                    shared.plan();
                }
            }
        };
        self.options.env.executor.spawn_after(period_us, Pool::User, self.tag, Box::new(job));
    }

    fn refresh(&self) {
        let wait_us = self.options.follower_catchup_retry_wait_ms.saturating_mul(1000);
        let mut outcome = Ok(());
        for attempt in 0..self.options.follower_catchup_retry_count {
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            if attempt > 0 {
                self.options.env.clock.sleep_micros(wait_us);
            }
            outcome = self.secondary.try_catch_up_with_primary();
            if outcome.is_ok() {
                break;
            }
        }
        if let (Err(error), Some(log)) = (&outcome, &self.options.info_log) {
            log.log(LogLevel::Warn, format_args!("Catch up unsuccessful: {error}"));
        }
        *self.last_error.lock() = outcome.err();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.options.env.executor.unschedule(Pool::User, self.shared.tag);
    }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Follower({})", self.shared.path.display())
    }
}
