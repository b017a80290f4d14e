//! The end of a campaign.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::report::Report;

/// The size of a campaign. A campaign judges every crash and every failing call. Then it judges crashes of recoveries
/// until `states` are judged or the time is over.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub seed: u64,
    /// The time at which no new work starts. `None`: no limit.
    pub until: Option<Instant>,
    /// The number of states to judge. 0: only the states without crashes of recoveries.
    pub states: u64,
    pub threads: usize,
    /// The number of failures after which the campaign stops.
    pub failures_max: u64,
}

/// Decides when the threads stop.
pub(super) struct Until {
    until: Option<Instant>,
    failures_max: u64,
    /// The failures in finished pieces.
    pub(super) failures: AtomicU64,
    over: AtomicBool,
}

impl Until {
    pub(super) fn new(asked: &Asked) -> Until {
        Until {
            until: asked.until,
            failures_max: asked.failures_max,
            failures: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// Returns true if the campaign is over. `report` is the unfinished report of the calling thread.
    pub(super) fn is_over(&self, report: &Report) -> bool {
        let failures = self.failures.load(Ordering::Relaxed) + report.failed();
        if failures >= self.failures_max || self.until.is_some_and(|until| Instant::now() >= until) {
            self.over.store(true, Ordering::Relaxed);
        }
        self.over.load(Ordering::Relaxed)
    }
}
