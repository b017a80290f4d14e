//! Slow operations of one database: which operations were slow, when, and why.
//!
//! An operation is slow if it takes more than [`SLOW_FACTOR`] times the median of its kind. The median is an
//! estimate. The samples are the operations that [`base::stats::begin_operation`] marks. Each sample moves the
//! estimate a small step toward the sample. In the long run, half of the samples are below the estimate. The sums are
//! kept by second for [`KEPT_SECONDS`] seconds.
//!
//! The estimate differs from the median of a workload. So an operation gets its causes from three times the estimate on, and the sums have
//! the operations above ten times the estimate. An operation that is slow for its caller thus has its causes.
//!
//! A move of an iterator (`Next`) differs, because two reads of the tick counter cost too much for it. A move has no samples and
//! no median: the move is slow if its steps take more than 10 microseconds.
//!
//! The time of a slow operation that no step explains has one of two causes. The thread waited for a processor, or the thread ran. If
//! the thread ran, the cause is the work of the kind: [`Cause::Search`] or [`Cause::WriteWork`]. The rest of the time stays
//! without a cause: the thread slept, and no step says why.
//!
//! ```text
//!  Operation ──end──► faster than the lower limit: nothing more
//!                     slower: causes of the operation
//!                     slower than the limit: sums of this second, by kind and cause ──► report(last seconds)
//! ```

use std::collections::VecDeque;
use std::sync::OnceLock;

use base::FamilyId;
use base::stats::{
    BegunOperation, Cause, OperationKind, ProcessorTime, SlowOperation, add_to_last_operation,
    begin_operation, end_move, end_operation, processor_time_since, skip_wait, skipped_nanos, stepped_ticks,
    steps_taken,
};
use env::Clock;
use kernel::ticks;
use lsm::pressure;

use crate::sync::{Arc, AtomicU64, Mutex, Ordering};

/// An operation is slow if it takes more than this many times the median of its kind.
pub const SLOW_FACTOR: u64 = 10;
/// An operation gets its causes if it takes more than this many tenths of the limit.
const ATTRIBUTED_TENTHS: u64 = 3;
/// The sums are kept for this many seconds.
pub const KEPT_SECONDS: u64 = 600;
/// This many seconds with slow operations get their memory at the open: 24 KiB. So an iterator in a loaded process
/// allocates no memory for them.
const READY_SECONDS: usize = 16;
/// Before this many operations of a kind are measured, an operation is slow from `EARLY_LIMIT_NS` on.
const EARLY_SAMPLES: u64 = 16;
const EARLY_LIMIT_NS: u64 = 100_000;
/// Before this many operations of a kind are measured, an operation gets its causes from this time on. The first reads after an open take
/// 20 to 50 microseconds, and a caller compares them with the faster reads that follow.
const EARLY_ATTRIBUTED_NS: u64 = 10_000;
/// The wait for a processor is also read once in this many samples. So a slow operation does not get a wait from long
/// before the operation.
const WAIT_SAMPLES: u64 = 16;
/// The wait is also read at a sample after slow operations of this many nanoseconds that did not read it. Their time is subtracted from
/// the wait of the next slow operation, so it must stay short. With a smaller number, the reading is a large part of such operations.
const SKIPPED_MAX_NS: u64 = 500_000;
/// If less time of a slow operation has no cause, the wait for a processor is not read: the reading itself takes 3
/// microseconds. The time then counts as work. A thread that loses its processor seldom has it back so soon.
const WAIT_MIN_NS: u64 = 5_000;
/// If the reading itself takes this long, the thread lost its processor during the reading. The time then belongs to the operation,
/// because its caller waits.
const LATE_NS: u64 = 50_000;
/// The largest number of readings of one operation.
const READINGS_MAX: u32 = 3;
/// In an operation of this time the reading does not count, so the wait is read for the operations that follow. Otherwise the whole time
/// of the operation would be subtracted from their wait.
const WAIT_CHEAP_NS: u64 = 1_000_000;
/// A move of an iterator to a neighbour takes less than a microsecond.
const MOVE_LIMIT_NS: u64 = 10_000;

/// The slow operations of one database: see the module.
pub struct SlowOperations {
    clock: Arc<dyn Clock>,
    kinds: [Kind; OperationKind::COUNT],
    seconds: Mutex<Seconds>,
    watcher: OnceLock<Watcher>,
}

/// Receives each slow operation.
type Watcher = Box<dyn Fn(&SlowOperation) + Send + Sync>;

/// The kept seconds, oldest first, and spare memory. The first [`READY_SECONDS`] seconds need no allocation.
struct Seconds {
    kept: VecDeque<Second>,
    spare: Vec<Second>,
}

/// An operation in progress. See [`SlowOperations::begin`].
#[must_use = "an operation is measured until it is dropped"]
pub struct Operation<'a> {
    slow: &'a SlowOperations,
    kind: OperationKind,
    /// `None` if the operation is a part of another operation.
    began: Option<BegunOperation>,
}

impl Drop for Operation<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slow.end(self.kind, self.began.take());
    }
}

/// An operation that has ended.
struct Ended {
    kind: OperationKind,
    /// The start in ticks.
    start: u64,
    taken_ticks: u64,
    is_sample: bool,
}

impl Ended {
    /// Returns the ticks since the start.
    fn until_now(&self) -> u64 {
        // The counters of two processors may differ a little.
        ticks::now().saturating_sub(self.start)
    }

    /// Adds the time since the end to the operation, if it is long. Returns true if the operation is longer now.
    fn extend(&mut self) -> bool {
        let now = self.until_now();
        // The counters of two processors may differ a little.
        let is_late = now.saturating_sub(self.taken_ticks) > ticks::of_nanos(LATE_NS);
        if is_late {
            self.taken_ticks = now;
        }
        is_late
    }

    /// Returns the ticks that no cause explains.
    fn rest(&self) -> u64 {
        // The counters of two processors may differ a little.
        self.taken_ticks.saturating_sub(steps_taken().iter().sum())
    }

    /// Gives ticks that no cause explains to the work of the kind.
    fn add_work(&self, work_ticks: u64) {
        let cause = match self.kind {
            OperationKind::Get | OperationKind::MultiGet | OperationKind::Seek | OperationKind::Next => {
                Cause::Search
            }
            OperationKind::Write => Cause::WriteWork,
            OperationKind::KeyLock => return,
        };
        if work_ticks > 0 {
            add_to_last_operation(cause, work_ticks);
        }
    }
}

/// The state of one kind of operations. If threads race, a sample can be lost.
struct Kind {
    median_ticks: AtomicU64,
    samples: AtomicU64,
    /// An operation of more ticks is slow.
    limit_ticks: AtomicU64,
    /// An operation of more ticks gets its causes. At most `limit_ticks`.
    attributed_ticks: AtomicU64,
    slow: AtomicU64,
    slow_ticks: [AtomicU64; Cause::COUNT],
}

/// Slow operations of one second.
struct Second {
    /// Seconds since 1970.
    at: u64,
    sums: Vec<(OperationKind, OperationSum)>,
    stalls: Vec<(StallReason, StallSum)>,
}

impl Second {
    fn with_room() -> Second {
        Second { at: 0, sums: Vec::with_capacity(OperationKind::COUNT), stalls: Vec::with_capacity(4) }
    }

    /// Clears the sums of the former second, and starts a new second.
    fn begin(&mut self, at: u64) {
        self.at = at;
        self.sums.clear();
        self.stalls.clear();
    }
}

/// The slow operations of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationSum {
    /// The number of slow operations.
    pub count: u64,
    /// The time of all of them, in nanoseconds.
    pub nanos: u64,
    /// The time of the slowest operation, in nanoseconds.
    pub nanos_max: u64,
    /// By [`Cause`]: how many of the operations met the cause, and nanoseconds.
    pub causes: [(u64, u64); Cause::COUNT],
}

impl OperationSum {
    fn add(&mut self, other: &OperationSum) {
        self.count += other.count;
        self.nanos += other.nanos;
        self.nanos_max = self.nanos_max.max(other.nanos_max);
        for ((count, nanos), (more, more_nanos)) in self.causes.iter_mut().zip(other.causes) {
            *count += more;
            *nanos += more_nanos;
        }
    }

    /// Returns the nanoseconds that no cause explains.
    pub fn unexplained_nanos(&self) -> u64 {
        let explained: u64 = self.causes.iter().map(|(_, nanos)| nanos).sum();
        // The counters of two processors may differ a little.
        self.nanos.saturating_sub(explained)
    }
}

/// The reason of a write stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallReason {
    /// The column family whose limit is reached. `None` if the limit is for all column families, as for the write
    /// buffer manager.
    pub family: Option<FamilyId>,
    /// The limit.
    pub trigger: pressure::Cause,
    /// True if writes were stopped. False if writes were delayed.
    pub stopped: bool,
}

/// The stalls with one reason. A stall with several reasons counts for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallSum {
    /// The number of stalled write groups.
    pub count: u64,
    /// The time that their leaders waited, in nanoseconds.
    pub nanos: u64,
}

/// The result of [`SlowOperations::report`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowReport {
    /// By kind, in the order of [`OperationKind`]: the median in nanoseconds, if it is known, and the slow operations.
    pub operations: Vec<(OperationKind, Option<u64>, OperationSum)>,
    /// By reason.
    pub stalls: Vec<(StallReason, StallSum)>,
}

/// Adds the time since the end of an operation to the measurement of the operation, without the ticks that were added before. Returns the
/// ticks since the end.
fn add_measurement(ended: &Ended, added: u64) -> u64 {
    // The counters of two processors may differ a little.
    let measuring = ended.until_now().saturating_sub(ended.taken_ticks);
    if measuring > added {
        add_to_last_operation(Cause::Measurement, measuring - added);
    }
    measuring
}

impl SlowOperations {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        ticks::start();
        let spare = (0..READY_SECONDS).map(|_| Second::with_room()).collect();
        let seconds = Seconds { kept: VecDeque::with_capacity(READY_SECONDS), spare };
        SlowOperations {
            clock,
            kinds: std::array::from_fn(Kind::new),
            seconds: Mutex::new(seconds),
            watcher: OnceLock::new(),
        }
    }

    /// Begins an operation of this kind. It ends when the value is dropped. A fast operation costs about ten
    /// instructions.
    #[inline]
    pub fn begin(&self, kind: OperationKind) -> Operation<'_> {
        Operation { slow: self, kind, began: begin_operation() }
    }

    /// Ends an operation that [`begin_operation`] began. For iterators, which cannot keep an [`Operation`] while they
    /// move.
    #[inline]
    pub fn end(&self, kind: OperationKind, began: Option<BegunOperation>) {
        let Some(began) = began else { return };
        let (start, is_sample) = (began.start, began.is_sample);
        end_operation(began);
        // The counters of two processors may differ a little.
        let taken_ticks = ticks::now().saturating_sub(start);
        if is_sample || taken_ticks > self.kinds[kind.number()].attributed_ticks.load(Ordering::Relaxed) {
            self.look(Ended { kind, start, taken_ticks, is_sample });
        }
    }

    /// Ends a move of an iterator to a neighbour. A move has no beginning and no samples: it is slow if its steps take
    /// more than `MOVE_LIMIT_NS`.
    #[inline]
    pub fn end_move(&self) {
        if end_move() {
            self.stepped(OperationKind::Next);
        }
    }

    #[inline(never)]
    fn stepped(&self, kind: OperationKind) {
        let ticks = stepped_ticks();
        if ticks > self.kinds[kind.number()].limit_ticks.load(Ordering::Relaxed) {
            // The counters of two processors may differ a little.
            let start = ticks::now().saturating_sub(ticks);
            self.look(Ended { kind, start, taken_ticks: ticks, is_sample: false });
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&self, mut ended: Ended) {
        let of_kind = &self.kinds[ended.kind.number()];
        let limit = of_kind.attributed_ticks.load(Ordering::Relaxed);
        // A slow operation reads the wait below: a reading here would take the wait away from it.
        if ended.is_sample
            && (of_kind.sample(ended.taken_ticks).is_multiple_of(WAIT_SAMPLES)
                || skipped_nanos() >= SKIPPED_MAX_NS)
            && ended.taken_ticks <= limit
        {
            self.processor_time();
            ended.extend();
        }
        if ended.taken_ticks <= limit {
            return;
        }
        self.attribute(&mut ended);
        let measuring = add_measurement(&ended, 0);
        if ended.taken_ticks > of_kind.limit_ticks.load(Ordering::Relaxed) {
            self.count(&ended, measuring);
        }
        add_measurement(&ended, measuring);
    }

    /// Adds a slow operation to the sums, and reports the operation to the watcher.
    fn count(&self, ended: &Ended, measuring: u64) {
        let of_kind = &self.kinds[ended.kind.number()];
        let nanos = ticks::to_nanos(ended.taken_ticks + measuring);
        let mut sum = OperationSum { count: 1, nanos, nanos_max: nanos, ..OperationSum::default() };
        of_kind.slow.fetch_add(1, Ordering::Relaxed);
        for (cause, step_ticks) in steps_taken().into_iter().enumerate().filter(|(_, ticks)| *ticks > 0) {
            sum.causes[cause] = (1, ticks::to_nanos(step_ticks));
            of_kind.slow_ticks[cause].fetch_add(step_ticks, Ordering::Relaxed);
        }
        self.in_this_second(|second| match second.sums.iter_mut().find(|(of, _)| *of == ended.kind) {
            Some((_, whole)) => whole.add(&sum),
            None => second.sums.push((ended.kind, sum)),
        });
        if let Some(watcher) = self.watcher.get() {
            let causes = sum.causes.map(|(_, nanos)| nanos);
            watcher(&SlowOperation { operation: ended.kind, nanos, causes });
        }
    }

    /// Returns the processor times of this thread since the last reading.
    fn processor_time(&self) -> ProcessorTime {
        let (waited_nanos, ran_nanos) = (self.clock.processor_wait_nanos(), self.clock.cpu_nanos());
        processor_time_since(ProcessorTime { waited_nanos, ran_nanos })
    }

    /// Gives the time that no step explains to the cause [`Cause::Processor`] or to the work of the kind, as far as the thread waited
    /// for a processor or ran since the last reading. If a few microseconds have no cause, nothing is read: the reading would be a
    /// part of the time that the caller measures.
    fn attribute(&self, ended: &mut Ended) {
        let mut ran_nanos = 0u64;
        for _ in 0..READINGS_MAX {
            let taken_nanos = ticks::to_nanos(ended.taken_ticks);
            if taken_nanos < WAIT_CHEAP_NS && ticks::to_nanos(ended.rest()) < WAIT_MIN_NS {
                skip_wait(taken_nanos);
                return ended.add_work(ended.rest());
            }
            let time = self.processor_time();
            ran_nanos = ran_nanos.saturating_add(time.ran_nanos);
            let waited_ticks = ticks::of_nanos(time.waited_nanos).min(ended.rest());
            if time.waited_nanos > 0 && waited_ticks > 0 {
                add_to_last_operation(Cause::Processor, waited_ticks);
            }
            if !ended.extend() {
                break;
            }
        }
        ended.add_work(ticks::of_nanos(ran_nanos).min(ended.rest()));
    }

    /// Calls `watcher` for each slow operation, on the thread of the operation. Only the first watcher is kept.
    pub fn watch(&self, watcher: impl Fn(&SlowOperation) + Send + Sync + 'static) {
        // The open sets the watcher once.
        let _ = self.watcher.set(Box::new(watcher));
    }

    /// Counts a write group that was stalled for these reasons, for this many microseconds.
    #[cold]
    pub fn stalled(&self, reasons: &[StallReason], micros: u64) {
        let nanos = micros.saturating_mul(1000);
        self.in_this_second(|second| {
            for reason in reasons {
                let at = second.stalls.iter().position(|(of, _)| of == reason).unwrap_or_else(|| {
                    second.stalls.push((*reason, StallSum::default()));
                    second.stalls.len() - 1
                });
                second.stalls[at].1.count += 1;
                second.stalls[at].1.nanos += nanos;
            }
        });
    }

    fn in_this_second(&self, add: impl FnOnce(&mut Second)) {
        let at = self.clock.now_micros() / 1_000_000;
        let mut seconds = self.seconds.lock();
        base::invariant!(
            seconds.kept.len() as u64 <= KEPT_SECONDS + 1,
            "{} seconds of slow operations are kept",
            seconds.kept.len()
        );
        while seconds.kept.front().is_some_and(|first| first.at + KEPT_SECONDS < at) {
            let oldest = seconds.kept.pop_front();
            seconds.spare.extend(oldest);
        }
        // A clock that went back adds to the newest second.
        if seconds.kept.back().is_none_or(|last| last.at < at) {
            let mut second = seconds.spare.pop().unwrap_or_else(Second::with_room);
            second.begin(at);
            seconds.kept.push_back(second);
        }
        base::invariant!(
            seconds.kept.iter().is_sorted_by(|a, b| a.at < b.at),
            "the seconds of slow operations are not in order"
        );
        if let Some(last) = seconds.kept.back_mut() {
            add(last);
        }
    }

    /// Returns the slow operations of the last `seconds` seconds with the current second, at most [`KEPT_SECONDS`]
    /// seconds.
    pub fn report(&self, seconds: u64) -> SlowReport {
        // The report may ask for more seconds than passed since 1970.
        let from = (self.clock.now_micros() / 1_000_000).saturating_sub(seconds);
        let mut sums = [OperationSum::default(); OperationKind::COUNT];
        let mut stalls: Vec<(StallReason, StallSum)> = Vec::new();
        for second in self.seconds.lock().kept.iter().filter(|second| second.at >= from) {
            second.sums.iter().for_each(|(kind, sum)| sums[kind.number()].add(sum));
            for (reason, sum) in &second.stalls {
                match stalls.iter_mut().find(|(of, _)| of == reason) {
                    Some((_, whole)) => {
                        whole.count += sum.count;
                        whole.nanos += sum.nanos;
                    }
                    None => stalls.push((*reason, *sum)),
                }
            }
        }
        let of_kind = |kind: &OperationKind| (*kind, self.median_nanos(*kind), sums[kind.number()]);
        SlowReport { operations: OperationKind::ALL.iter().map(of_kind).collect(), stalls }
    }

    /// Returns the median time of the operations of a kind, in nanoseconds. Returns `None` before the first sample.
    pub fn median_nanos(&self, kind: OperationKind) -> Option<u64> {
        let median = self.kinds[kind.number()].median_ticks.load(Ordering::Relaxed);
        (median > 0).then(|| ticks::to_nanos(median))
    }

    /// Returns the number of slow operations of a kind since the open, and their nanoseconds by [`Cause`].
    pub fn totals(&self, kind: OperationKind) -> (u64, [u64; Cause::COUNT]) {
        let kind = &self.kinds[kind.number()];
        let nanos = |cause: usize| ticks::to_nanos(kind.slow_ticks[cause].load(Ordering::Relaxed));
        (kind.slow.load(Ordering::Relaxed), std::array::from_fn(nanos))
    }
}

impl Kind {
    fn new(kind: usize) -> Self {
        let is_move = kind == OperationKind::Next.number();
        let (limit, attributed) =
            if is_move { (MOVE_LIMIT_NS, MOVE_LIMIT_NS) } else { (EARLY_LIMIT_NS, EARLY_ATTRIBUTED_NS) };
        Kind {
            median_ticks: AtomicU64::new(0),
            samples: AtomicU64::new(0),
            limit_ticks: AtomicU64::new(ticks::of_nanos(limit)),
            attributed_ticks: AtomicU64::new(ticks::of_nanos(attributed)),
            slow: AtomicU64::new(0),
            slow_ticks: Default::default(),
        }
    }

    /// Moves the median toward a sample: by a quarter at first, then by a 32nd part.
    /// Returns the number of samples before.
    fn sample(&self, taken_ticks: u64) -> u64 {
        let samples = self.samples.fetch_add(1, Ordering::Relaxed);
        let median = self.median_ticks.load(Ordering::Relaxed);
        let step = (median / if samples < EARLY_SAMPLES { 4 } else { 32 }).max(1);
        let next = match taken_ticks.cmp(&median) {
            _ if samples == 0 => taken_ticks.max(1),
            std::cmp::Ordering::Greater => median + step.min(taken_ticks - median),
            std::cmp::Ordering::Less => (median - step.min(median - taken_ticks)).max(1),
            std::cmp::Ordering::Equal => median,
        };
        self.median_ticks.store(next, Ordering::Relaxed);
        if samples >= EARLY_SAMPLES {
            let limit_ticks = next.saturating_mul(SLOW_FACTOR);
            self.limit_ticks.store(limit_ticks, Ordering::Relaxed);
            self.attributed_ticks.store(limit_ticks / 10 * ATTRIBUTED_TENTHS, Ordering::Relaxed);
        }
        samples
    }
}
