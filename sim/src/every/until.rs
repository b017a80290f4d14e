//! When a campaign ends.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::report::Report;

/// How far a campaign goes: every crash one deep and every failing call, then crashes of recoveries until there are
/// `states` or the time is up.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub seed: u64,
    /// Nothing is begun after that; `None` for no end.
    pub until: Option<Instant>,
    /// Judged states to get to; 0 for no more than there are without crashes of recoveries.
    pub states: u64,
    pub threads: usize,
    /// Failures after which it stops.
    pub failures_max: u64,
}

/// When to stop, as all threads see it.
pub(super) struct Until {
    until: Option<Instant>,
    failures_max: u64,
    /// Of the pieces that are done.
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

    /// Asked by who has found what `report` says.
    pub(super) fn is_over(&self, report: &Report) -> bool {
        let failures = self.failures.load(Ordering::Relaxed) + report.failed();
        if failures >= self.failures_max || self.until.is_some_and(|until| Instant::now() >= until) {
            self.over.store(true, Ordering::Relaxed);
        }
        self.over.load(Ordering::Relaxed)
    }
}
