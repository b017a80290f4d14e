//! Opens SST files after the database is open (`open_files_async`). Follows RocksDB `DBImpl::BGWorkAsyncFileOpen`.

use env::executor::Pool;

use super::context::JobContext;
use super::failures::Failures;
use crate::event::ErrorReason;
use crate::schedule::Schedule;
use crate::sync::{Arc, AtomicBool, Ordering, Weak};

/// Opens the SST files of all column families in a job.
pub struct TableOpener {
    me: Weak<TableOpener>,
    context: Arc<JobContext>,
    schedule: Arc<Schedule>,
    failures: Arc<Failures>,
    opening: AtomicBool,
}

impl TableOpener {
    /// Makes the opener. Opens no file before its job runs.
    pub fn new(context: Arc<JobContext>, schedule: Arc<Schedule>, failures: Arc<Failures>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            context,
            schedule,
            failures,
            opening: AtomicBool::new(false),
        })
    }

    /// Returns true while the job runs.
    pub fn is_opening(&self) -> bool {
        self.opening.load(Ordering::Acquire)
    }

    /// Opens every SST file in a job. Reads open the SST files that they need first. The first failure ends the job, and
    /// becomes a background error by its kind and by `paranoid_checks`.
    pub fn open_tables(&self) {
        let super_versions: Vec<_> =
            self.context.families.all().into_iter().map(|family| (family.pin_owned(), family)).collect();
        self.schedule.pool().spawn(Pool::High, &self.me, move |me| {
            let is_second = me.opening.swap(true, Ordering::AcqRel);
            base::invariant!(!is_second, "the SST files of a database are opened twice at the same time");
            let ended = Ended(&me.opening);
            let tables = super_versions.iter().flat_map(|(super_version, family)| {
                super_version.version.files().map(move |(level, file)| (super_version, family, level, file))
            });
            for (super_version, family, level, file) in tables {
                if me.context.tools.shutting_down.load(Ordering::Acquire) {
                    break;
                }
                if family.is_dropped() {
                    continue;
                }
                if let Err(error) = me.context.tables.get_at_open(&super_version.parts, level, file) {
                    me.failures.failed(error, ErrorReason::AsyncFileOpen);
                    break;
                }
            }
            drop(super_versions);
            drop(ended);
            me.schedule.pool().notify();
        });
    }
}

/// Records the end of the job, also after a panic: a close waits for the end.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
