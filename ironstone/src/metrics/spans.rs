//! Spans of the crate `tracing`: recovery, flushes, compactions, stalls, slow operations.

use std::collections::BTreeMap;

use base::stats::{Cause, SlowOperation};
use engine::event::StallCondition;
use env::sync::Mutex;
use tracing::{Span, field};

use crate::{Event, Listener};

/// A listener that opens a span when a job, a stall or a recovery starts, and closes the span at its end.
///
/// The spans have the target `ironstone` and no parent, because a job runs on a thread of the database. A slow operation runs
/// on a thread of the application: its span has the current span as its parent, opens and closes at the end of the operation,
/// and has the time in its fields.
///
/// ```
/// use std::sync::Arc;
///
/// use ironstone::{Db, Options, metrics::Spans};
///
/// let mut options = Options::in_memory();
/// options.listeners.push(Arc::new(Spans::default()));
/// let db = Db::open("data", options)?;
/// db.put(b"k", b"v")?;
/// db.flush()?; // a span "flush" with the job, the column family and the reason
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Spans {
    open: Mutex<BTreeMap<Key, Span>>,
}

/// The job, the stalled column family or the recovery that a span shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Recovery(u64),
    Flush(u64, String),
    Compaction(u64),
    Stall(String),
}

impl Spans {
    fn start(&self, key: Key, span: Span) {
        self.open.lock().insert(key, span);
    }

    /// Ends a span after `last` has recorded its results.
    fn end(&self, key: &Key, last: impl FnOnce(&Span)) {
        let span = self.open.lock().remove(key);
        if let Some(span) = span {
            last(&span);
        }
    }
}

impl Listener for Spans {
    fn on_event(&self, event: &Event) {
        match event {
            Event::RecoveryStarted { job, wal_files } => {
                let span = tracing::info_span!(target: "ironstone", parent: None, "recovery",
                    job = job.get(), wals = wal_files.len(), error = field::Empty);
                self.start(Key::Recovery(job.get()), span);
            }
            Event::RecoveryFinished { job, error } => {
                self.end(&Key::Recovery(job.get()), |span| record_error(span, error.as_ref()));
            }
            Event::FlushStarted(flush) => {
                let span = tracing::info_span!(target: "ironstone", parent: None, "flush", job = flush.job.get(),
                    column_family = %flush.family.name, reason = flush.reason.word(),
                    memtables = flush.num_memtables, bytes = flush.total_data_size, file = field::Empty);
                self.start(Key::Flush(flush.job.get(), flush.family.name.clone()), span);
            }
            Event::FlushFinished(flush) => {
                self.end(&Key::Flush(flush.job.get(), flush.family.name.clone()), |span| {
                    if let Some(file) = flush.file {
                        span.record("file", file.get());
                    }
                });
            }
            Event::CompactionStarted(compaction) => {
                let span = tracing::info_span!(target: "ironstone", parent: None, "compaction",
                    job = compaction.job.get(), column_family = %compaction.family.name,
                    reason = compaction.reason, output_level = compaction.output_level.get(),
                    input_bytes = compaction.input_data_size, output_bytes = field::Empty, error = field::Empty);
                self.start(Key::Compaction(compaction.job.get()), span);
            }
            Event::CompactionFinished(compaction) => {
                self.end(&Key::Compaction(compaction.job.get()), |span| {
                    span.record("output_bytes", compaction.total_output_size);
                    record_error(span, compaction.error.as_ref());
                });
            }
            Event::StallChanged { family, to, .. } => self.stall(&family.name, *to),
            Event::BackgroundError { reason, error, .. } => {
                tracing::error!(target: "ironstone", ?reason, %error, "background error");
            }
            _ => {}
        }
    }

    fn watches_slow_operations(&self) -> bool {
        true
    }

    fn on_slow_operation(&self, slow: &SlowOperation) {
        let micros = |nanos: u64| nanos as f64 / 1000.0;
        let parts = Cause::ALL.iter().map(|cause| (cause.name(), slow.causes[cause.number()]));
        let causes: Vec<String> = parts
            .filter(|(_, nanos)| *nanos > 0)
            .map(|(name, nanos)| format!("{name}: {:.1} us", micros(nanos)))
            .collect();
        let explained: u64 = slow.causes.iter().sum();
        let _span =
            tracing::warn_span!(target: "ironstone", "slow operation", operation = slow.operation.name(),
            micros = micros(slow.nanos), causes = %causes.join(", "),
            unexplained_micros = micros(slow.nanos.saturating_sub(explained)))
            .entered();
    }
}

impl Spans {
    /// A new condition ends the span of the condition before it.
    fn stall(&self, family: &str, to: StallCondition) {
        let key = Key::Stall(family.to_string());
        self.end(&key, |_| ());
        if to != StallCondition::Normal {
            let span = tracing::warn_span!(target: "ironstone", parent: None, "stall",
                column_family = %family, condition = ?to);
            self.start(key, span);
        }
    }
}

fn record_error(span: &Span, error: Option<&base::Error>) {
    if let Some(error) = error {
        span.record("error", field::display(error));
    }
}
