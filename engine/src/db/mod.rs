//! The handle of a database. Each call is one short function that forwards to the module with the work.
//!
//! A [`Db`] is shared by cloning. The drop of the last clone or iterator closes the database. The objects that a
//! reader needs are reference-counted, so handles may be dropped in any order and on any thread.
//!
//! The handle has the calls that most callers use: reads, writes, snapshots, flush. The other calls are on views, which
//! borrow the handle and cost nothing:
//!
//! ```text
//! wals()         flush, sync, lock; the WAL files and their batches        wal_files  lock_wal
//! files()        live files, ingestion, deletion, checks, table properties files  live_files  ingest  verify
//! compactions()  manual compactions; which compactions may run             tree
//! background()   the background error, pauses, waits                       background
//! properties()   properties, history of the statistics                     properties  history
//! admin()        column families and options                               families  live  import
//! together()     reads of several column families                          together
//! for_transactions()  prepare, commit and rollback in the WAL              two_phase
//! ```

mod background;
mod close;
mod destroy;
mod families;
mod files;
mod filled;
mod follow;
mod history;
mod import;
mod ingest;
mod iterator;
mod live;
mod live_files;
mod lock_wal;
mod memory;
mod open;
mod properties;
mod reading;
mod reads;
mod remote;
mod remove_table;
mod repair;
mod sections;
mod together;
mod tree;
mod two_phase;
mod verify;
mod wal_files;
mod weak;

pub use crate::opening::OpenRequest;
pub use background::Background;
pub use destroy::destroy;
pub use families::{Admin, list_families};
pub use files::Files;
pub use filled::LargeBatches;
pub use follow::{catch_up, is_up_to_date, open_to_follow, shows_older_state};
pub use history::{Slice, StatsHistory};
pub use ingest::{PreparedIngestion, prepared_file_info};
pub use iterator::DbIterator;
pub use live_files::{LiveFileKind, LiveFileStorageInfo, LiveFiles, LiveFilesStorageInfoOptions};
pub use memory::{MemoryHolder, memory};
pub use properties::Properties;
pub use reading::check_writable;
pub use remote::{WorkerOptions, open_and_compact};
pub use remove_table::{RemovedTable, remove_table};
pub use repair::{fsck, repair};
pub use sections::{SectionOwner, SectionWriter, WrittenSection};
pub use together::Together;
pub use tree::{Compactions, delete_file, delete_older_files_in_ranges, running_compactions};
pub use two_phase::{
    BeforeVisible, ForTransactions, PreparedName, WriteGuard, snapshot_for_conflicts, unguarded,
    write_without_conflicts,
};
pub use verify::{verify_checksum, verify_file_checksums};
pub use wal_files::{Update, Updates, WalFile, WalFileType, Wals};
pub use weak::{WeakDb, listeners, warn};

use std::path::Path;

use base::{Error, FamilyId, Result, SequenceNumber};
use env::posix::Tenant;

use crate::batch::WriteBatch;
use crate::commit::Committer;
use crate::errors::ErrorState;
use crate::event::{Event, FlushReason};
use crate::family::{Family, FamilySet};
use crate::files::{DbLock, Obsolete};
use crate::iter::IteratorTools;
use crate::opening::{Caches, Writing};
use crate::options::{FlushOptions, WriteOptions};
use crate::output::JobTools;
use crate::read::Reads;
use crate::release_notifier::ReleaseNotifier;
use crate::sequence::{Snapshot, Snapshots};
use crate::source::TableCache;
use crate::sync::{Arc, AtomicBool, Mutex, OnceLock, RankedMutex};
use crate::wal::WalSet;

/// An open database.
#[derive(Clone)]
pub struct Db {
    inner: Arc<Inner>,
    /// True if the writes of this handle bypass the write guard.
    unguarded: bool,
}

/// The parts of an open database. The drop of this struct closes the database.
struct Inner {
    tools: Arc<JobTools>,
    families: Arc<FamilySet>,
    wals: Arc<WalSet>,
    committer: Arc<Committer>,
    tables: Arc<TableCache>,
    iterator_tools: Arc<IteratorTools>,
    obsolete: Arc<Obsolete>,
    errors: Arc<ErrorState>,
    release_notifier: Arc<ReleaseNotifier>,
    reads: Reads,
    /// `None` if the database is open for reading only.
    writing: Option<Writing>,
    /// The block caches of column families whose options name no cache.
    caches: Caches,
    close: close::CloseState,
    /// Held while column families are created or dropped, and while options change.
    changes: RankedMutex<()>,
    lock: Mutex<Option<DbLock>>,
    history: Arc<history::History>,
    /// In a database with pessimistic transactions: locks the keys of writes outside of transactions.
    guard: OnceLock<Arc<dyn WriteGuard>>,
    reading: reading::Reading,
    /// True if another view of the same reader uses the table cache too. Then a close does not clear the table cache.
    shares_tables: AtomicBool,
    /// Declared last, so that this field is dropped after all others. `None` if the executor has no threads.
    tenant: Option<Tenant>,
}

/// Returns the write guard of the writes of a handle.
#[inline]
fn guard_of(db: &Db) -> Option<&Arc<dyn WriteGuard>> {
    if db.unguarded { None } else { db.inner.guard.get() }
}

impl Db {
    /// Returns the database directory.
    pub fn path(&self) -> &Path {
        &self.inner.tools.paths.db
    }

    /// Returns the environment: files, clock, random numbers and threads.
    pub fn env(&self) -> &env::Env {
        &self.inner.tools.env
    }

    /// Returns the id of the database, as the file IDENTITY and the SST files store it.
    pub fn id(&self) -> &str {
        &self.inner.tools.db_id
    }

    /// Returns the id of this open. SST files that this open writes store the id.
    pub fn session_id(&self) -> &str {
        &self.inner.tools.db_session_id
    }

    /// Returns what the database counts about itself: statistics, writes, slow operations.
    pub fn stats(&self) -> &Arc<crate::stats::Stats> {
        &self.inner.tools.stats
    }

    /// Returns the current options of the database.
    pub fn options(&self) -> Arc<crate::options::DbOptions> {
        self.inner.tools.options.load_full()
    }

    /// Returns the column family `default`, which every database has.
    ///
    /// # Errors
    /// NotFound if the database has no such column family.
    pub fn default_family(&self) -> Result<Arc<Family>> {
        self.inner
            .families
            .get(FamilyId::DEFAULT)
            .ok_or_else(|| Error::not_found("the default column family"))
    }

    /// Returns the column family with this name, unless it is dropped.
    pub fn family(&self, name: &str) -> Option<Arc<Family>> {
        self.inner.families.by_name(name)
    }

    /// Returns all column families that are not dropped, in the order of their numbers.
    pub fn families(&self) -> Vec<Arc<Family>> {
        self.inner.families.all()
    }

    /// Returns true if a column family overwrites values in memtables (`inplace_update_support`). The database then cannot be
    /// read at a snapshot.
    pub fn updates_in_place(&self) -> bool {
        self.inner.families.any_in_place()
    }

    /// Writes a batch. Afterwards the batch has its sequence number.
    ///
    /// # Errors
    /// See [`crate::write::Writer::write`].
    #[inline]
    pub fn write(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        let writing = self.inner.writing()?;
        match guard_of(self) {
            None => writing.writer.write(batch, options, None),
            Some(guard) => guard.write(self, batch, options),
        }
    }

    /// Writes one value. Replaces an older value of the key.
    ///
    /// # Errors
    /// InvalidArgument if the handle of the column family is of another database or of an earlier open. The
    /// errors of [`Db::write`].
    pub fn put(&self, family: &Family, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        self.inner.own(family)?;
        single(self, options, |batch| {
            batch.put_in(family.id(), key, value);
        })
    }

    /// Deletes one key. A key that does not exist is not an error.
    ///
    /// # Errors
    /// The errors of [`Db::put`].
    pub fn delete(&self, family: &Family, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.inner.own(family)?;
        single(self, options, |batch| {
            batch.delete_in(family.id(), key);
        })
    }

    /// Deletes a key that was put exactly once since its last deletion. In all other cases the result is
    /// undefined.
    ///
    /// # Errors
    /// The errors of [`Db::put`].
    pub fn single_delete(&self, family: &Family, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.inner.own(family)?;
        single(self, options, |batch| {
            batch.single_delete_in(family.id(), key);
        })
    }

    /// Writes one merge operand. The merge operator of the column family applies the operand at a read or a
    /// compaction.
    ///
    /// # Errors
    /// NotSupported if the column family has no merge operator. The errors of [`Db::put`].
    pub fn merge(&self, family: &Family, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        self.inner.own(family)?;
        // Checked here as in RocksDB's `DBImpl::Merge`. In a database with pessimistic transactions, the write of the
        // batch fails with InvalidArgument, as in RocksDB. In a database that is open for reading, each write fails. In a
        // column family with timestamps, the write fails because it has no timestamp.
        let has_timestamps = family.order().user.timestamp_size() > 0;
        let checks = self.inner.writing.is_some() && guard_of(self).is_none() && !has_timestamps;
        if checks && family.options().merge_operator.is_none() {
            return Err(Error::not_supported("Provide a merge_operator when opening DB"));
        }
        single(self, options, |batch| {
            batch.merge_in(family.id(), key, operand);
        })
    }

    /// Deletes the keys in `[begin, end)` with one range tombstone. The cost does not depend on the number of
    /// keys.
    ///
    /// # Errors
    /// InvalidArgument if `end` is before `begin`. NotSupported with a write guard: the guard locks keys, and a range
    /// tombstone has no keys to lock. The errors of [`Db::put`].
    pub fn delete_range(
        &self,
        family: &Family,
        begin: &[u8],
        end: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        self.inner.own(family)?;
        if guard_of(self).is_some() {
            return Err(Error::not_supported("range deletions in a database with pessimistic transactions"));
        }
        single(self, options, |batch| {
            batch.delete_range_in(family.id(), begin, end);
        })
    }

    /// Takes a snapshot at the visible sequence number.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let tools = &self.inner.tools;
        Snapshots::take(&tools.snapshots, tools.env.clock.now_seconds())
    }

    /// Returns the visible sequence number.
    pub fn latest_sequence(&self) -> SequenceNumber {
        self.inner.tools.sequence.visible()
    }

    /// Writes the memtables of these column families to SST files. Without `allow_write_stall`, the call first waits until
    /// the flush causes no write stall. Hands the lines of the info log to the system, as RocksDB does after a flush.
    ///
    /// # Errors
    /// The background error that stops one of the column families. ColumnFamilyDropped. ShutdownInProgress.
    pub fn flush(&self, families: &[Arc<Family>], options: &FlushOptions) -> Result<()> {
        let done = self.inner.flush_now(families, options);
        self.inner.tools.events.logger().flush();
        done
    }

    /// Returns the view of the background jobs: their error, pauses, waits.
    #[inline]
    pub fn background(&self) -> Background<'_> {
        Background { db: self }
    }

    /// Returns the view of the compactions that the caller asks for or stops.
    #[inline]
    pub fn compactions(&self) -> Compactions<'_> {
        Compactions { db: self }
    }

    /// Returns the view of the files: lists, checks, ingestions, deletions.
    #[inline]
    pub fn files(&self) -> Files<'_> {
        Files { db: self }
    }

    /// Returns the view of the WALs: flush, sync, lock, and the batches that they hold.
    #[inline]
    pub fn wals(&self) -> Wals<'_> {
        Wals { db: self }
    }

    /// Returns the view of the properties and the history of the statistics.
    #[inline]
    pub fn properties(&self) -> Properties<'_> {
        Properties { db: self }
    }

    /// Returns the view of the changes of column families and options.
    #[inline]
    pub fn admin(&self) -> Admin<'_> {
        Admin { db: self }
    }

    /// Returns the view of the reads of several column families at one sequence number.
    #[inline]
    pub fn together(&self) -> Together<'_> {
        Together { db: self }
    }

    /// Returns the view of the calls for transactions of a layer above.
    #[inline]
    pub fn for_transactions(&self) -> ForTransactions<'_> {
        ForTransactions { db: self }
    }
}

impl Inner {
    /// Checks that a column family handle belongs to this open of this database: see [`Family::belongs_to`].
    ///
    /// # Errors
    /// InvalidArgument for a handle of another database or of an earlier open of the same database.
    #[inline]
    fn own(&self, family: &Family) -> Result<()> {
        if family.belongs_to(&self.release_notifier) { Ok(()) } else { Err(self.foreign(family)) }
    }

    #[cold]
    fn foreign(&self, family: &Family) -> Error {
        Error::invalid_argument(format!(
            "the handle of column family {} is of another database or of an earlier open",
            family.name()
        ))
        .file(&self.tools.paths.db)
    }

    fn flush_now(&self, families: &[Arc<Family>], options: &FlushOptions) -> Result<()> {
        families.iter().try_for_each(|family| self.own(family))?;
        if let Some(dropped) = families.iter().find(|family| family.is_dropped()) {
            return Err(Error::column_family_dropped(dropped.name()));
        }
        let writing = self.writing()?;
        let events = &self.tools.events;
        events.info(format_args!("Manual flush start."));
        let named = families.iter().map(|family| crate::output::named(family)).collect();
        events.emit(&Event::ManualFlushScheduled { families: named, reason: FlushReason::ManualFlush });
        if options.force_atomic_flush && !self.tools.options.load().atomic_flush {
            let families = match options.allow_write_stall {
                true => families.to_vec(),
                false => writing.jobs.flushes.wait_for_stall_end(families)?,
            };
            return writing.jobs.flushes.flush_together(&families, FlushReason::ManualFlush);
        }
        writing.jobs.flushes.flush_by(families, options)
    }
}

/// Writes a batch of one record. The thread keeps the buffer of the batch, so later calls allocate no memory.
#[inline]
fn single(db: &Db, options: &WriteOptions, fill: impl FnOnce(&mut WriteBatch)) -> Result<()> {
    thread_local! {
        static BATCH: std::cell::RefCell<Option<WriteBatch>> = const { std::cell::RefCell::new(None) };
    }
    // A thread that is ending has no buffer any more: a destructor of another thread-local variable may write.
    let mut batch = BATCH.try_with(|kept| kept.take()).ok().flatten().unwrap_or_default();
    batch.clear();
    fill(&mut batch);
    base::invariant!(batch.count() <= 1, "a batch of one record has {} entries", batch.count());
    let outcome = db.write(&mut batch, options);
    const KEEP_BYTES_MAX: usize = 1 << 20;
    if batch.data_size() <= KEEP_BYTES_MAX {
        let _ = BATCH.try_with(|kept| kept.replace(Some(batch)));
    }
    outcome
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Db({})", self.path().display())
    }
}
