//! [`Db::why`] and its answer: why operations were slow.

use std::fmt;
use std::time::Duration;

use base::stats::{Cause, OperationKind};
use base::{Arrange, Level};
use engine::stats::{OperationSum, StallReason, StallSum};
use lsm::pressure;

use crate::Db;

/// The slow operations of a time span, and their causes. [`fmt::Display`] writes the answer as text.
///
/// An operation is slow if it takes more than ten times the median of its kind. A cause counts the time that slow
/// operations spent in it. Nested causes count their time once.
///
/// A move of an iterator (`Next`) has no median: the move is slow if its steps take more than 10 microseconds.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// use std::time::Duration;
///
/// let why = db.why(Duration::from_secs(60));
/// assert_eq!(why.last, Duration::from_secs(60));
/// println!("{why}");
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The time span before the call.
    pub last: Duration,
    /// Kinds of operations that were slow, the kind with the most time first.
    pub operations: Vec<SlowKind>,
    /// Write stalls by reason, the reason with the most time first.
    pub stalls: Vec<SlowStall>,
}

/// Slow operations of one kind.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// for kind in db.why(std::time::Duration::from_secs(60)).operations {
///     println!("{} slow operations took {:?}", kind.count, kind.time);
///     assert!(kind.slowest <= kind.time);
/// }
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SlowKind {
    /// The kind.
    pub operation: OperationKind,
    /// The median time since the open, as an estimate from samples.
    pub median: Option<Duration>,
    /// The number of slow operations.
    pub count: u64,
    /// The time of all slow operations.
    pub time: Duration,
    /// The time of the slowest operation.
    pub slowest: Duration,
    /// The causes, the cause with the most time first.
    pub causes: Vec<SlowCause>,
    /// The time that no cause explains: computation, and delays that the operating system does not report.
    pub unexplained: Duration,
}

/// One cause of slow operations.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// for kind in db.why(std::time::Duration::from_secs(60)).operations {
///     for cause in kind.causes {
///         println!("{:?}: {:?} in {} operations", cause.cause, cause.time, cause.count);
///     }
/// }
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowCause {
    /// The cause.
    pub cause: Cause,
    /// How many of the slow operations met the cause.
    pub count: u64,
    /// The time in the cause.
    pub time: Duration,
}

/// Write stalls with one reason.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// for stall in db.why(std::time::Duration::from_secs(60)).stalls {
///     println!("{} write groups waited {:?}: {}", stall.count, stall.time, stall.options);
/// }
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowStall {
    /// The column family whose limit was reached. `None`: no column family alone.
    pub family: Option<String>,
    /// The limit.
    pub trigger: pressure::Cause,
    /// True if writes were stopped. False if writes were delayed.
    pub stopped: bool,
    /// The number of stalled write groups.
    pub count: u64,
    /// The time that their leaders waited. A stall with several reasons counts for each reason.
    pub time: Duration,
    /// The kind of the job or the call that ends the stall, and the numbers and levels of such compactions that run at the time of
    /// [`Db::why`].
    pub ended_by: String,
    /// The options that move the limit.
    pub options: &'static str,
}

impl Db {
    /// Returns why operations were slow in the last time span, up to ten minutes before the call. The resolution is one
    /// second.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// let why = db.why(Duration::from_secs(60));
    /// println!("{why}"); // for example: "write: 12 of more than 40 us, 31 ms in all, the slowest 9 ms ..."
    /// assert!(why.stalls.is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn why(&self, last: Duration) -> Why {
        let report = self.engine().stats().slow.report(last.as_secs());
        let slow = report.operations.into_iter().filter(|(.., sum)| sum.count > 0);
        let mut operations: Vec<SlowKind> =
            slow.map(|(kind, median, sum)| of_kind(kind, median, &sum)).collect();
        operations.arrange_by_key(|kind| std::cmp::Reverse(kind.time));
        let mut stalls: Vec<SlowStall> =
            report.stalls.iter().map(|(reason, sum)| of_stall(self, reason, sum)).collect();
        stalls.arrange_by_key(|stall| std::cmp::Reverse(stall.time));
        Why { last, operations, stalls }
    }
}

/// Describes a stall by the column family, the limit, and the jobs that end the stall.
fn of_stall(db: &Db, reason: &StallReason, sum: &StallSum) -> SlowStall {
    let name = |id| match db.families().into_iter().find(|family| family.id() == id) {
        Some(family) => family.name().to_string(),
        None => format!("number {id} (dropped)"),
    };
    let family = reason.family.map(name);
    let of =
        family.as_ref().map_or_else(|| "any column family".to_string(), |f| format!("column family {f}"));
    let (ended_by, options) = match reason.trigger {
        pressure::Cause::MemtableLimit => (format!("a flush of {of}"), "max_write_buffer_number"),
        pressure::Cause::L0FileCountLimit => (
            format!("a compaction of level 0 of {of}"),
            "level0_slowdown_writes_trigger, level0_stop_writes_trigger",
        ),
        pressure::Cause::PendingCompactionBytes => (
            format!("compactions of {of}"),
            "soft_pending_compaction_bytes_limit, hard_pending_compaction_bytes_limit",
        ),
        pressure::Cause::WriteBufferManagerLimit => {
            (format!("a flush of {of}"), "db_write_buffer_size, write_buffer_manager")
        }
        pressure::Cause::None => ("the call unlock_wal".to_string(), ""),
    };
    let jobs = match reason.trigger {
        pressure::Cause::L0FileCountLimit => running_jobs(db, reason.family, |level| level == Level::ZERO),
        pressure::Cause::PendingCompactionBytes => running_jobs(db, reason.family, |_| true),
        _ => String::new(),
    };
    let ended_by = ended_by + &jobs;
    let time = Duration::from_nanos(sum.nanos);
    let (trigger, stopped, count) = (reason.trigger, reason.stopped, sum.count);
    SlowStall { family, trigger, stopped, count, time, ended_by, options }
}

/// Returns the running compactions that can end a stall, as the end of a sentence: those of the column family, or of all column
/// families, whose first input level `is_wanted`.
fn running_jobs(db: &Db, family: Option<base::FamilyId>, is_wanted: impl Fn(Level) -> bool) -> String {
    let families = db.families().into_iter().map(|family| family.id());
    let wanted = families.filter(|id| family.is_none_or(|family| family == *id));
    let running = wanted.flat_map(|id| engine::db::running_compactions(db.engine(), id));
    let jobs: Vec<String> = running
        .filter(|(_, job)| is_wanted(job.start_level))
        .map(|(number, job)| {
            format!("job {number} (level {} to {})", job.start_level.get(), job.output_level.get())
        })
        .collect();
    if jobs.is_empty() { String::new() } else { format!("; running now: {}", jobs.join(", ")) }
}

fn of_kind(operation: OperationKind, median: Option<u64>, sum: &OperationSum) -> SlowKind {
    let of_cause = |cause: &Cause| {
        let (count, nanos) = sum.causes[cause.number()];
        SlowCause { cause: *cause, count, time: Duration::from_nanos(nanos) }
    };
    let mut causes: Vec<SlowCause> =
        Cause::ALL.iter().map(of_cause).filter(|cause| cause.count > 0).collect();
    causes.arrange_by_key(|cause| std::cmp::Reverse(cause.time));
    SlowKind {
        operation,
        median: median.map(Duration::from_nanos),
        count: sum.count,
        time: Duration::from_nanos(sum.nanos),
        slowest: Duration::from_nanos(sum.nanos_max),
        causes,
        unexplained: Duration::from_nanos(sum.unexplained_nanos()),
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operations.is_empty() && self.stalls.is_empty() {
            return writeln!(f, "no slow operation in the last {:?}", self.last);
        }
        for kind in &self.operations {
            let median = kind.median.map_or_else(|| "unknown".to_string(), |median| format!("{median:.1?}"));
            writeln!(
                f,
                "{}: {} slow operations, {:.1?} in all, the slowest {:.1?}; the median is {median}",
                kind.operation.name(),
                kind.count,
                kind.time,
                kind.slowest
            )?;
            for cause in &kind.causes {
                writeln!(
                    f,
                    "  {:>5.1} %  {} ({} operations)",
                    share(cause.time, kind.time),
                    cause.cause.name(),
                    cause.count
                )?;
            }
            writeln!(f, "  {:>5.1} %  unexplained", share(kind.unexplained, kind.time))?;
        }
        for stall in &self.stalls {
            let family = stall.family.as_deref().unwrap_or("all");
            let effect = if stall.stopped { "stopped" } else { "delayed" };
            writeln!(
                f,
                "stall of column family {family}: writes {effect} by {:?} {} times, {:.1?}; ended by {}{}{}",
                stall.trigger,
                stall.count,
                stall.time,
                stall.ended_by,
                if stall.options.is_empty() { "" } else { "; options: " },
                stall.options
            )?;
        }
        Ok(())
    }
}

fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { 100.0 * part.as_secs_f64() / whole.as_secs_f64() }
}
