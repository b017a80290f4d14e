//! The jobs: flushes, compactions, ingestions, resumes, and the deletion of obsolete files.
//!
//! Each kind of job has a type. Every type has the [`JobContext`] and the schedule. A type uses only types of the
//! rows above:
//!
//! ```text
//!  FilePurger                      deletes obsolete files
//!  Failures                        sets the background error
//!  Flushes   Compactions           run a job to its commit
//!  ManualCompactions  Ingestions  Resumes  TableOpener
//!  Jobs                            starts, waits for and ends all of them
//! ```
//! A panic in a job is caught and becomes the background error. Not here: when a job runs (`schedule`), and periodic work
//! (`upkeep`).

mod abort;
mod compact;
mod context;
mod empty_ranges;
mod end;
mod failures;
mod flush;
mod ingest;
mod manual;
mod named;
mod open_tables;
mod purge;
mod resume;

pub use compact::Compactions;
pub use context::JobContext;
pub use failures::Failures;
pub use flush::Flushes;
pub use ingest::Ingestions;
pub use manual::ManualCompactions;
pub use open_tables::TableOpener;
pub use purge::FilePurger;
pub use resume::Resumes;

use std::slice;

use base::Error;
use failures::Resumer;

use crate::event::ErrorReason;
use crate::family::Family;
use crate::schedule::{JobRunner, Schedule};
use crate::sync::{Arc, Weak};
use crate::write::Writer;

/// The jobs of one database.
pub struct Jobs {
    context: Arc<JobContext>,
    schedule: Arc<Schedule>,
    pub purge: Arc<FilePurger>,
    pub failures: Arc<Failures>,
    pub flushes: Arc<Flushes>,
    pub compactions: Arc<Compactions>,
    pub manuals: ManualCompactions,
    pub ingestions: Ingestions,
    pub resumes: Arc<Resumes>,
    pub table_opener: Arc<TableOpener>,
}

impl Jobs {
    /// Makes all types of jobs over one context and one schedule. Starts no job.
    pub fn new(context: Arc<JobContext>, schedule: Arc<Schedule>) -> Arc<Self> {
        let purge = FilePurger::new(context.clone(), schedule.clone());
        let failures = Arc::new(Failures::new(context.clone(), schedule.clone()));
        let of_job = || (context.clone(), schedule.clone(), purge.clone(), failures.clone());
        let (c, s, p, f) = of_job();
        let flushes = Arc::new(Flushes::new(c, s, p, f));
        let (c, s, p, f) = of_job();
        let compactions = Arc::new(Compactions::new(c, s, p, f));
        let (c, s, p, f) = of_job();
        let manuals = ManualCompactions::new(c, s, p, f, flushes.clone(), compactions.clone());
        let (c, s, p, f) = of_job();
        let ingestions = Ingestions::new(c, s, p, f, flushes.clone());
        let (c, s, p, f) = of_job();
        let resumes = Resumes::new(c, s, p, f, flushes.clone());
        let resumer: Arc<dyn Resumer> = resumes.clone();
        failures.set_resumer(Arc::downgrade(&resumer));
        let table_opener = TableOpener::new(context.clone(), schedule.clone(), failures.clone());
        Arc::new(Jobs {
            context,
            schedule,
            purge,
            failures,
            flushes,
            compactions,
            manuals,
            ingestions,
            resumes,
            table_opener,
        })
    }

    /// Starts the jobs at the end of the open.
    pub fn start(self: &Arc<Self>, writer: &Arc<Writer>) {
        let is_first = self.context.writer.set(Arc::downgrade(writer)).is_ok();
        base::invariant!(is_first, "the jobs of a database get a second write path");
        self.purge.start();
        let runner: Arc<dyn JobRunner> = self.clone();
        let runner: Weak<dyn JobRunner> = Arc::downgrade(&runner);
        self.schedule.start(runner);
    }
}

impl JobRunner for Jobs {
    fn flush_job(&self) {
        self.flushes.flush_job();
    }

    fn compaction_job(&self) {
        self.compactions.compaction_job();
    }

    fn empty_ranges_job(&self) {
        empty_ranges::look(&self.context);
    }

    fn choice_failed(&self, family: &Arc<Family>, error: Error) {
        self.failures.failed_in(error, ErrorReason::Compaction, slice::from_ref(family));
    }
}
