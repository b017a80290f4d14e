//! Deletes obsolete files.

use base::ids::JobId;
use base::stats::Ticker;
use base::{Arrange, FileNumber, WalNumber};
use env::executor::Pool;
use env::sst_files::Deletion;
use format::names::{self, FileName};

use super::context::JobContext;
use crate::commit::Committed;
use crate::event::Event;
use crate::files::{Records, Retired, Sweep, Waiting};
use crate::schedule::Schedule;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering, Weak};

/// Deletes the files that no version, no WAL and no MANIFEST needs.
pub struct FilePurger {
    me: Weak<FilePurger>,
    context: Arc<JobContext>,
    schedule: Arc<Schedule>,
    scheduled: AtomicBool,
    running: AtomicUsize,
}

impl FilePurger {
    /// Makes the purger. Plans no purge.
    pub fn new(context: Arc<JobContext>, schedule: Arc<Schedule>) -> Arc<Self> {
        Arc::new_cyclic(|me| FilePurger {
            me: me.clone(),
            context,
            schedule,
            scheduled: AtomicBool::new(false),
            running: AtomicUsize::new(0),
        })
    }

    /// Plans a purge each time a reader releases the last reference to an obsolete file.
    pub fn start(&self) {
        let me = self.me.clone();
        self.context.obsolete.release_notifier().on_release(Box::new(move || {
            if let Some(me) = me.upgrade() {
                me.schedule();
            }
        }));
    }

    /// Returns the number of purges that run.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Acquire)
    }

    /// Returns true if a purge is planned or runs.
    pub fn is_busy(&self) -> bool {
        self.scheduled.load(Ordering::Acquire) || self.running() > 0
    }

    /// Releases obsolete WALs and old MANIFESTs after a commit, and plans the purge of obsolete files.
    pub fn committed(&self, committed: &Committed) {
        let wals = self.context.wals.release(committed.min_wal_to_keep).into_iter().map(|wal| wal.number);
        self.context.obsolete.retire_records(wals, self.context.committer.take_old_manifests());
        self.dispose_of_records();
        self.schedule();
    }

    /// Deletes the MANIFESTs before the current MANIFEST, unless deletions are disabled.
    pub fn remove_old_manifests(&self) {
        self.context.obsolete.retire_records(std::iter::empty(), self.context.committer.take_old_manifests());
        self.dispose_of_records();
    }

    /// Plans a purge in a job. Takes no lock of the schedule: the last reader of a super version may release the super
    /// version under any lock.
    pub fn schedule(&self) {
        if self.context.tools.shutting_down.load(Ordering::Acquire)
            || self.scheduled.swap(true, Ordering::AcqRel)
        {
            return;
        }
        // A deletion of a large file takes 30 ms on ext4, and a compaction leaves 30 of them. In the pool of the flushes, the writers
        // would fill their memtables meanwhile and stop.
        self.schedule.pool().spawn(Pool::User, &self.me, |me| {
            me.running.fetch_add(1, Ordering::AcqRel);
            me.scheduled.store(false, Ordering::Release);
            me.purge();
            base::invariant!(me.running() > 0, "a purge that was not counted has ended");
            me.running.fetch_sub(1, Ordering::AcqRel);
            me.schedule.pool().notify();
        });
    }

    /// Deletes the obsolete files that no version holds, and the files that were kept while deletions were disabled.
    pub fn purge(&self) {
        self.dispose_of_records();
        // A reader that ends after this look plans another purge.
        self.context.obsolete.release_notifier().reset();
        self.context.tools.direct.release();
        let free = self.context.obsolete.take_free();
        if free.is_empty() {
            return;
        }
        let job = self.context.tools.take_job_id();
        for Waiting { file, number, path } in free {
            match file {
                Retired::Table { file, uncache } => {
                    self.context.tables.evict_with_blocks(&file, uncache);
                    self.delete_table(job, number, &path);
                }
                Retired::Blob(_) => self.delete_blob_file(job, number, &path),
            }
        }
    }

    /// Returns true if the newest version of a column family has the SST file.
    fn is_live(&self, number: FileNumber) -> bool {
        let families = self.context.families.all();
        families.iter().any(|family| family.pin().version.files().any(|(_, file)| file.number == number))
    }

    /// Returns true if the newest version of a column family has the blob file.
    fn is_live_blob(&self, number: FileNumber) -> bool {
        let families = self.context.families.all();
        families.iter().any(|family| family.pin().version.blobs().contains_key(&number))
    }

    fn delete_table(&self, job: JobId, number: FileNumber, path: &std::path::Path) {
        base::invariant!(!self.is_live(number), "table {number} is deleted, and a version has it");
        let mut outcome = self.remove_file(path);
        if outcome.as_ref().is_err_and(base::Error::is_not_found) {
            outcome = self.remove_file(&path.with_file_name(names::legacy_table(number)));
        }
        self.log_deletion(path, &outcome);
        self.context.tools.events.emit(&Event::FileDeleted {
            job,
            number,
            path: path.to_path_buf(),
            error: outcome.err(),
        });
    }

    /// Deletes an SST file or a blob file, or hands the file to the SST file manager, which may delete the file later.
    fn remove_file(&self, path: &std::path::Path) -> base::Result<()> {
        let Some(manager) = &self.context.tools.options.load().sst_file_manager else {
            let outcome = self.context.tools.env.fs.unlink(path);
            self.context.tools.stats.add(Ticker::FilesDeletedImmediately, u64::from(outcome.is_ok()));
            return outcome;
        };
        let deletion = manager.delete(path)?;
        let ticker = match deletion {
            Deletion::Done => Ticker::FilesDeletedImmediately,
            Deletion::Later => Ticker::FilesMarkedTrash,
        };
        self.context.tools.stats.add(ticker, 1);
        Ok(())
    }

    fn delete_blob_file(&self, job: JobId, number: FileNumber, path: &std::path::Path) {
        base::invariant!(!self.is_live_blob(number), "blob file {number} is deleted, and a version has it");
        self.context.tables.blobs().evict(number);
        let outcome = self.remove_file(path);
        self.log_deletion(path, &outcome);
        self.context.tools.events.emit(&Event::BlobDeleted {
            job,
            number,
            path: path.to_path_buf(),
            error: outcome.err(),
        });
    }

    /// Writes a line about the deletion of an obsolete file to the info log, at the level `Debug`.
    fn log_deletion(&self, path: &std::path::Path, outcome: &base::Result<()>) {
        let events = &self.context.tools.events;
        match outcome {
            Ok(()) => events.debug(format_args!("Delete {} -- OK", path.display())),
            Err(error) => events.debug(format_args!("Delete {} -- {error}", path.display())),
        }
    }

    /// Removes obsolete WALs and old MANIFESTs. While deletions are disabled, the files stay.
    pub(super) fn dispose_of_records(&self) {
        let Records { wals, manifests } = self.context.obsolete.take_records();
        for wal in wals {
            self.dispose_of_wal(wal);
        }
        for old in manifests {
            // If a MANIFEST cannot be deleted now, the sweep of the next open deletes it.
            let path = self.context.tools.paths.manifest(old);
            let outcome = self.context.tools.env.fs.unlink(&path);
            self.log_deletion(&path, &outcome);
        }
    }

    /// Removes an obsolete WAL: keeps it for recycling, moves it to the archive, or deletes it.
    pub(super) fn dispose_of_wal(&self, number: WalNumber) {
        base::invariant!(number != self.context.wals.active_number(), "the active WAL {} is deleted", number);
        if self.context.recycle.offer(number) {
            return;
        }
        let options = self.context.tools.options.load();
        let path = self.context.tools.paths.wal(number);
        let fs = &self.context.tools.env.fs;
        let outcome = if options.WAL_ttl_seconds > 0 || options.WAL_size_limit_MB > 0 {
            let archive = self.context.tools.paths.wal.join(names::ARCHIVE_DIR);
            let moved = fs
                .create_dir_all(&archive)
                .and_then(|()| fs.rename(&path, &archive.join(names::wal(number))));
            self.purge_archive();
            moved
        } else {
            let outcome = fs.unlink(&path);
            self.log_deletion(&path, &outcome);
            outcome
        };
        self.context.tools.stats.add(Ticker::FilesDeletedImmediately, u64::from(outcome.is_ok()));
        if let Err(error) = outcome.map_err(|e| e.doing("removing an obsolete WAL"))
            && !error.is_not_found()
        {
            self.context.tools.events.warn(format_args!("{error}"));
        }
    }

    /// Deletes archived WALs that are older than `WAL_ttl_seconds`. Then deletes the oldest archived WALs until the
    /// rest is not larger than `WAL_size_limit_MB`. A limit of 0 deletes nothing.
    pub fn purge_archive(&self) {
        let options = self.context.tools.options.load();
        let fs = &self.context.tools.env.fs;
        let dir = self.context.tools.paths.wal.join(names::ARCHIVE_DIR);
        let Ok(found) = fs.list(&dir) else { return };
        let mut wals: Vec<_> = found
            .iter()
            .filter_map(|name| match FileName::parse(name) {
                Some(FileName::Wal(number)) => Some((number, dir.join(name))),
                _ => None,
            })
            .collect();
        wals.arrange();
        let now = self.context.tools.env.clock.now_seconds();
        if options.WAL_ttl_seconds > 0 {
            wals.retain(|(_, path)| match fs.modified(path) {
                // The wall time may go back, and the file is then newer than now.
                Ok(at) if now.saturating_sub(at) > options.WAL_ttl_seconds => fs.unlink(path).is_err(),
                _ => true,
            });
        }
        let limit = options.WAL_size_limit_MB.saturating_mul(1 << 20);
        if limit > 0 {
            let sizes: Vec<u64> = wals.iter().map(|(_, path)| fs.file_size(path).unwrap_or(0)).collect();
            let mut total: u64 = sizes.iter().sum();
            for ((_, path), size) in wals.iter().zip(sizes) {
                if total <= limit {
                    break;
                }
                // If a WAL cannot be deleted now, the next purge of the archive tries again.
                if fs.unlink(path).is_ok() {
                    base::invariant!(
                        size <= total,
                        "a WAL of {size} bytes is in an archive of {total} bytes"
                    );
                    total -= size;
                }
            }
        }
    }

    /// Deletes the files that a full sweep found and no version, no WAL set and no MANIFEST needs.
    pub fn delete_swept(&self, sweep: Sweep) {
        let job = self.context.tools.take_job_id();
        for (number, path) in sweep.tables {
            self.context.tables.evict(number);
            self.delete_table(job, number, &path);
        }
        for (number, path) in sweep.blobs {
            self.delete_blob_file(job, number, &path);
        }
        for (number, _) in sweep.wals {
            self.dispose_of_wal(number);
        }
        for path in sweep.others {
            if let Err(error) = self.context.tools.env.fs.unlink(&path) {
                self.context.tools.events.warn(format_args!("failed to delete an obsolete file: {error}"));
            }
        }
    }
}
