//! Deleting files nobody needs any more.

use base::FileNumber;
use base::ids::JobId;
use base::stats::Ticker;
use env::executor::Pool;
use env::sst_files::Deletion;
use format::names::{self, FileName};

use super::Background;
use crate::event::Event;
use crate::files::{Records, Retired, Sweep, Waiting};
use crate::sync::Ordering;

impl Background {
    /// Looks at the waiting files soon, on a job's thread. Takes no lock of the background: the last
    /// reader of a moment may let go under any.
    pub(super) fn schedule_purge(&self) {
        if self.tools.shutting_down.load(Ordering::Acquire)
            || self.purge_scheduled.swap(true, Ordering::AcqRel)
        {
            return;
        }
        self.spawn(Pool::High, |me| {
            me.purges_running.fetch_add(1, Ordering::AcqRel);
            me.purge_scheduled.store(false, Ordering::Release);
            me.purge();
            me.purges_running.fetch_sub(1, Ordering::AcqRel);
            me.changed.tell();
        });
    }

    /// Deletes the waiting tables that no version holds, and what was kept while deletions were disabled.
    pub fn purge(&self) {
        self.dispose_of_records();
        let free = self.obsolete.take_free();
        if free.is_empty() {
            return;
        }
        let job = self.tools.take_job_id();
        for Waiting { file, number, path } in free {
            match file {
                Retired::Table(_) => {
                    self.tables.evict(number.0);
                    self.delete_table(job, number, &path);
                }
                Retired::Blob(_) => self.delete_blob_file(job, number, &path),
            }
        }
    }

    fn delete_table(&self, job: JobId, number: FileNumber, path: &std::path::Path) {
        let mut outcome = self.remove_file(path);
        if outcome.as_ref().is_err_and(base::Error::is_not_found) {
            outcome = self.remove_file(&path.with_file_name(names::legacy_table(number)));
        }
        self.tools.events.emit(&Event::FileDeleted {
            job,
            number,
            path: path.to_path_buf(),
            error: outcome.err(),
        });
    }

    /// Deletes an SST file or a blob file, or hands the file to the SST file manager, which may delete the file later.
    fn remove_file(&self, path: &std::path::Path) -> base::Result<()> {
        let Some(manager) = &self.tools.options.load().sst_file_manager else {
            let outcome = self.tools.env.fs.unlink(path);
            self.tools.stats.add(Ticker::FilesDeletedImmediately, u64::from(outcome.is_ok()));
            return outcome;
        };
        let deletion = manager.delete(path)?;
        let ticker = match deletion {
            Deletion::Done => Ticker::FilesDeletedImmediately,
            Deletion::Later => Ticker::FilesMarkedTrash,
        };
        self.tools.stats.add(ticker, 1);
        Ok(())
    }

    fn delete_blob_file(&self, job: JobId, number: FileNumber, path: &std::path::Path) {
        self.tables.blobs().evict(number);
        let outcome = self.remove_file(path);
        self.tools.events.emit(&Event::BlobDeleted {
            job,
            number,
            path: path.to_path_buf(),
            error: outcome.err(),
        });
    }

    /// Obsolete logs and MANIFESTs go, unless deletions are disabled: then they wait.
    pub(super) fn dispose_of_records(&self) {
        let Records { logs, manifests } = self.obsolete.take_records();
        for log in logs {
            self.dispose_of_log(log);
        }
        for old in manifests {
            // The next open sweeps what cannot be removed now.
            let _ = self.tools.env.fs.unlink(&self.tools.paths.manifest(old));
        }
    }

    /// An obsolete log: written over later, moved to the archive, or deleted.
    pub(super) fn dispose_of_log(&self, number: FileNumber) {
        if self.recycle.offer(number) {
            return;
        }
        let options = self.tools.options.load();
        let path = self.tools.paths.wal(number);
        let fs = &self.tools.env.fs;
        let outcome = if options.WAL_ttl_seconds > 0 || options.WAL_size_limit_MB > 0 {
            let archive = self.tools.paths.wal.join(names::ARCHIVE_DIR);
            let moved = fs
                .create_dir_all(&archive)
                .and_then(|()| fs.rename(&path, &archive.join(names::wal(number))));
            self.purge_archive();
            moved
        } else {
            fs.unlink(&path)
        };
        self.tools.stats.add(Ticker::FilesDeletedImmediately, u64::from(outcome.is_ok()));
        if let Err(error) = outcome.map_err(|e| e.doing("removing an obsolete WAL"))
            && !error.is_not_found()
        {
            self.tools.events.warn(format_args!("{error}"));
        }
    }

    /// Deletes archived logs that are too old, then the oldest while all are too big: what `WAL_ttl_seconds`
    /// and `WAL_size_limit_MB` leave. With only one of them set, only that one counts.
    pub(super) fn purge_archive(&self) {
        let options = self.tools.options.load();
        let fs = &self.tools.env.fs;
        let dir = self.tools.paths.wal.join(names::ARCHIVE_DIR);
        let Ok(found) = fs.list(&dir) else { return };
        let mut logs: Vec<_> = found
            .iter()
            .filter_map(|name| match FileName::parse(name) {
                Some(FileName::Wal(number)) => Some((number, dir.join(name))),
                _ => None,
            })
            .collect();
        logs.sort();
        let now = self.tools.env.clock.now_seconds();
        if options.WAL_ttl_seconds > 0 {
            logs.retain(|(_, path)| match fs.modified(path) {
                Ok(at) if now.saturating_sub(at) > options.WAL_ttl_seconds => fs.unlink(path).is_err(),
                _ => true,
            });
        }
        let limit = options.WAL_size_limit_MB.saturating_mul(1 << 20);
        if limit > 0 {
            let sizes: Vec<u64> = logs.iter().map(|(_, path)| fs.file_size(path).unwrap_or(0)).collect();
            let mut total: u64 = sizes.iter().sum();
            for ((_, path), size) in logs.iter().zip(sizes) {
                if total <= limit {
                    break;
                }
                // One that cannot be removed now is tried again with the next log.
                if fs.unlink(path).is_ok() {
                    total -= size;
                }
            }
        }
    }

    /// Deletes what a full sweep found to be nobody's.
    pub fn delete_swept(&self, sweep: Sweep) {
        let job = self.tools.take_job_id();
        for (number, path) in sweep.tables {
            self.tables.evict(number.0);
            self.delete_table(job, number, &path);
        }
        for (number, path) in sweep.blobs {
            self.delete_blob_file(job, number, &path);
        }
        for (number, _) in sweep.logs {
            self.dispose_of_log(number);
        }
        for path in sweep.others {
            if let Err(error) = self.tools.env.fs.unlink(&path) {
                self.tools.events.warn(format_args!("a file nobody needs could not be removed: {error}"));
            }
        }
    }
}
