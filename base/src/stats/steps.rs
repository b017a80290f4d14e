//! Slow steps of an operation: where a call of the database left its fast path, and for how long.
//!
//! ```text
//!  begin_operation ──► fast ──► Step (WAL write) ──► Step (sync, nested) ──► fast ──► end_operation
//! ```
//! An operation reads the tick counter at its start and at its end, so that a loss of the processor without any step is
//! seen. Only a move of an iterator reads no clock while it is fast. A [`Step`] reads the tick counter at its start and at its
//! end. Nested steps are counted once: the time of the inner step is not part of the outer
//! step. Every [`PERIOD`]th operation of a thread is a sample, so that a median is known.
//!
//! Not here: what is slow, and the sums of a database. They are in `engine::stats::slow`.

use std::cell::Cell;

use kernel::ticks;

super::numbered! {
    /// A reason why an operation takes long.
    pub enum Cause {
        WriteGroup "waiting for a write group",
        WalWrite "writing the WAL",
        WalSync "syncing the WAL",
        Stall "write stall",
        MemtableSwitch "switching a memtable",
        MemtableInsert "inserting into a memtable",
        BlockRead "reading a block",
        Decompression "decompressing a block",
        SearchArray "preparing a block for searches",
        BlobRead "reading a blob",
        TableOpen "opening an SST file",
        Lock "waiting for a lock",
        Tombstones "skipping tombstones and hidden entries",
        Merge "merging operands",
        RateLimiter "waiting for the rate limiter",
        Processor "waiting for a processor",
        Search "searching memtables and SST files",
        WriteWork "forming and publishing a write group",
        Measurement "measuring a slow operation",
    }
}

super::numbered! {
    /// A call of the database that is measured.
    pub enum OperationKind {
        Get "get",
        MultiGet "multi_get",
        Seek "seek",
        Next "next",
        Write "write",
        KeyLock "key_lock",
    }
}

/// The period of samples: one operation of a thread of this many is a sample.
pub const PERIOD: u32 = 64;
/// The number of operations at the start of a thread that are all samples.
const FIRST_OPERATIONS: u32 = 16;

/// The value of `Steps::first` while there is no step.
const FAST: u64 = 0;

struct Steps {
    /// True while an operation is in progress.
    busy: Cell<bool>,
    /// `FAST`, or the start of the first step of the operation.
    first: Cell<u64>,
    /// Ticks from the start of the first step to the end of the last step.
    span: Cell<u64>,
    /// Ticks of steps inside the current step.
    inside: Cell<u64>,
    /// True during a step that hides its inner steps.
    closed: Cell<bool>,
    /// Operations until the next sample.
    countdown: Cell<u32>,
    /// The operations of `FIRST_OPERATIONS` that remain.
    early: Cell<u32>,
    /// Bit `n`: `ticks[n]` belongs to this operation.
    used: Cell<u32>,
    ticks: [Cell<u64>; Cause::COUNT],
    /// The wait for a processor at the last [`processor_time_since`], or `UNKNOWN_WAIT`.
    waited_nanos: Cell<u64>,
    /// The processor time at the last [`processor_time_since`].
    ran_nanos: Cell<u64>,
    /// The time of the operations after that call whose wait was not read.
    skipped_nanos: Cell<u64>,
}

/// The value of `waited_nanos` before the first call of [`processor_time_since`].
const UNKNOWN_WAIT: u64 = u64::MAX;

thread_local! {
    static STEPS: Steps = const {
        Steps {
            busy: Cell::new(false),
            first: Cell::new(FAST),
            span: Cell::new(0),
            inside: Cell::new(0),
            closed: Cell::new(false),
            countdown: Cell::new(1),
            early: Cell::new(FIRST_OPERATIONS),
            used: Cell::new(0),
            ticks: [const { Cell::new(0) }; Cause::COUNT],
            waited_nanos: Cell::new(UNKNOWN_WAIT),
            ran_nanos: Cell::new(0),
            skipped_nanos: Cell::new(0),
        }
    };
}

/// An operation in progress on this thread. A value that is dropped without [`end_operation`], as by a panic, ends the
/// operation too.
#[derive(Debug)]
#[must_use = "an operation lasts until the value is dropped"]
pub struct BegunOperation {
    /// The start in ticks.
    pub start: u64,
    /// True if the operation is a sample for the median of its kind.
    pub is_sample: bool,
}

impl Drop for BegunOperation {
    #[inline]
    fn drop(&mut self) {
        STEPS.with(|steps| steps.busy.set(false));
    }
}

/// Begins an operation of this thread. Returns `None` inside of another operation: the inner operation is part of the
/// outer operation.
#[inline]
pub fn begin_operation() -> Option<BegunOperation> {
    // The result would depend on the time, and a model of schedules must not.
    if cfg!(any(loom, shuttle)) {
        return None;
    }
    STEPS.with(|steps| {
        if steps.busy.replace(true) {
            return None;
        }
        steps.first.set(FAST);
        steps.used.set(0);
        let left = steps.countdown.get() - 1;
        steps.countdown.set(left);
        let is_sample = left == 0;
        if is_sample {
            next_sample(steps);
        }
        Some(BegunOperation { start: ticks::now(), is_sample })
    })
}

/// Ends the operation. Returns true if the operation met a step.
#[inline]
pub fn end_operation(operation: BegunOperation) -> bool {
    drop(operation);
    STEPS.with(|steps| steps.first.replace(FAST)) != FAST
}

/// Ends a move of an iterator. A move has no begin call, to save time: the end of the move costs three instructions.
/// Returns true if the move met a step. Steps before the move that belong to no operation count for the move.
#[inline]
pub fn end_move() -> bool {
    !cfg!(any(loom, shuttle)) && STEPS.with(|steps| steps.first.get() != FAST && end_steps(steps))
}

/// Removes the steps, unless they belong to an operation in progress.
#[cold]
fn end_steps(steps: &Steps) -> bool {
    if steps.busy.get() {
        return false;
    }
    steps.first.set(FAST);
    true
}

/// Returns the ticks from the first step to the last step of the last move on this thread. Valid only if the move met
/// a step.
#[inline]
pub fn stepped_ticks() -> u64 {
    STEPS.with(|steps| steps.span.get())
}

/// Whether the operations of a thread are measured: see [`set_attribution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribution {
    /// A slow operation of the thread has its causes. The default.
    On,
    /// The thread measures no operation and no step.
    Off,
}

/// Switches the attribution of slow operations on or off for this thread. Call it between two operations, not from a callback of an
/// operation.
///
/// `Off` uses the two checks that nested operations and closed steps need anyway, so the switch costs nothing while the attribution is
/// on.
///
/// ```
/// use ironstone_base::stats::{Attribution, begin_operation, set_attribution};
///
/// set_attribution(Attribution::Off);
/// assert!(begin_operation().is_none());
/// set_attribution(Attribution::On);
/// assert!(begin_operation().is_some());
/// ```
pub fn set_attribution(attribution: Attribution) {
    let is_off = attribution == Attribution::Off;
    STEPS.with(|steps| {
        steps.busy.set(is_off);
        steps.closed.set(is_off);
        steps.first.set(FAST);
        steps.used.set(0);
    });
}

/// Counts down to the next sample.
#[cold]
fn next_sample(steps: &Steps) {
    let early = steps.early.get();
    steps.early.set(early.saturating_sub(1));
    steps.countdown.set(if early > 0 { 1 } else { PERIOD });
}

/// What a thread did between two readings, or in its life. See [`processor_time_since`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// The time in which the thread was ready and waited for a processor, in nanoseconds.
    pub waited_nanos: u64,
    /// The time in which the thread ran, in nanoseconds.
    pub ran_nanos: u64,
}

/// Returns the processor times of this thread since the last call on this thread; zeros for the first call. `total` has the
/// times since the start of the thread. The wait of operations that [`skip_wait`] skipped is unknown, so the wait of the result is
/// without the whole time of these operations.
pub fn processor_time_since(total: ProcessorTime) -> ProcessorTime {
    STEPS.with(|steps| {
        let skipped = steps.skipped_nanos.replace(0);
        let waited = steps.waited_nanos.replace(total.waited_nanos);
        let ran = steps.ran_nanos.replace(total.ran_nanos);
        if waited == UNKNOWN_WAIT {
            return ProcessorTime::default();
        }
        ProcessorTime {
            waited_nanos: total.waited_nanos.saturating_sub(waited).saturating_sub(skipped),
            ran_nanos: total.ran_nanos.saturating_sub(ran),
        }
    })
}

/// Records an operation of this many nanoseconds whose wait for a processor is not read.
pub fn skip_wait(nanos: u64) {
    STEPS.with(|steps| steps.skipped_nanos.set(steps.skipped_nanos.get().saturating_add(nanos)));
}

/// Returns the nanoseconds of the operations that [`skip_wait`] skipped after the last [`processor_time_since`].
pub fn skipped_nanos() -> u64 {
    STEPS.with(|steps| steps.skipped_nanos.get())
}

/// Adds time to a cause of the operation that ended last on this thread.
pub fn add_to_last_operation(cause: Cause, more_ticks: u64) {
    STEPS.with(|steps| add_ticks(steps, cause, more_ticks));
}

fn add_ticks(steps: &Steps, cause: Cause, more_ticks: u64) {
    let (at, used) = (cause as usize, steps.used.get());
    let before = if used & (1 << at) != 0 { steps.ticks[at].get() } else { 0 };
    steps.ticks[at].set(before + more_ticks);
    steps.used.set(used | 1 << at);
}

/// Returns the ticks of each cause in the last operation on this thread.
pub fn steps_taken() -> [u64; Cause::COUNT] {
    STEPS.with(|steps| {
        let used = steps.used.get();
        std::array::from_fn(|cause| if used & (1 << cause) != 0 { steps.ticks[cause].get() } else { 0 })
    })
}

/// Returns the nanoseconds of each cause in the last operation on this thread. Reads the clock.
pub fn last_causes() -> [u64; Cause::COUNT] {
    steps_taken().map(|taken| if taken > 0 { ticks::to_nanos(taken) } else { 0 })
}

/// A slow operation that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowOperation {
    /// The kind of the operation.
    pub operation: OperationKind,
    /// The time of the operation, in nanoseconds.
    pub nanos: u64,
    /// The time of each cause in nanoseconds, by the number of the cause.
    pub causes: [u64; Cause::COUNT],
}

/// A part of an operation that is off the fast path. The step ends when the value is dropped.
#[derive(Debug)]
#[must_use = "a step lasts until it is dropped"]
pub struct Step {
    cause: Cause,
    /// The start of the step in ticks; 0 inside of a closed step.
    start: u64,
    /// Ticks inside the outer step before this step.
    outer: u64,
    closes: bool,
}

impl Step {
    /// Begins a step.
    #[inline]
    pub fn begin(cause: Cause) -> Step {
        STEPS.with(|steps| {
            if steps.closed.get() {
                return Step { cause, start: 0, outer: 0, closes: false };
            }
            let start = ticks::now();
            if steps.first.get() == FAST {
                steps.first.set(start);
                steps.inside.set(0);
                steps.used.set(0);
            }
            Step { cause, start, outer: steps.inside.replace(0), closes: false }
        })
    }

    /// Begins a step that includes its inner steps. For example, a writer that waits may run a background job.
    pub fn begin_closed(cause: Cause) -> Step {
        let mut step = Step::begin(cause);
        if step.start > 0 {
            step.closes = true;
            STEPS.with(|steps| steps.closed.set(true));
        }
        step
    }

    /// Stops the step now.
    #[inline]
    pub fn stop(self) {}
}

impl Drop for Step {
    #[inline]
    fn drop(&mut self) {
        if self.start == 0 {
            return;
        }
        STEPS.with(|steps| {
            let now = ticks::now();
            let whole = now.saturating_sub(self.start);
            let own = whole.saturating_sub(steps.inside.get());
            steps.inside.set(self.outer + whole);
            steps.span.set(now.saturating_sub(steps.first.get()));
            add_ticks(steps, self.cause, own);
            if self.closes {
                steps.closed.set(false);
            }
        });
    }
}

const _: () = assert!(Cause::COUNT <= u32::BITS as usize);

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits until the tick counter has moved.
    fn spend() {
        let begin = ticks::now();
        while ticks::now() == begin {}
    }

    /// Runs an operation. Returns true if the operation was a sample, and the causes of the operation if the operation
    /// met a step.
    fn operate(run: impl FnOnce()) -> (bool, Option<[u64; Cause::COUNT]>) {
        let began = begin_operation().expect("no operation around this one");
        run();
        let is_sample = began.is_sample;
        (is_sample, end_operation(began).then(steps_taken))
    }

    fn waited_since_last_call(waited_nanos: u64) -> u64 {
        processor_time_since(ProcessorTime { waited_nanos, ran_nanos: 0 }).waited_nanos
    }

    #[test]
    fn processor_time_counts_from_the_last_call() {
        let ran = |ran_nanos| processor_time_since(ProcessorTime { waited_nanos: 0, ran_nanos }).ran_nanos;
        assert_eq!([700, 900, 900].map(ran), [0, 200, 0]);
    }

    #[test]
    fn time_of_skipped_operations_is_not_a_wait() {
        waited_since_last_call(1000);
        assert_eq!(waited_since_last_call(1500), 500);
        skip_wait(300);
        assert_eq!(skipped_nanos(), 300);
        assert_eq!(waited_since_last_call(2500), 700);
        skip_wait(9000);
        assert_eq!(waited_since_last_call(3000), 0);
        assert_eq!(skipped_nanos(), 0);
    }

    fn step(cause: Cause) {
        let step = Step::begin(cause);
        spend();
        step.stop();
    }

    #[test]
    fn an_operation_is_a_sample_once_in_a_period() {
        (0..FIRST_OPERATIONS).for_each(|_| assert_eq!(operate(|| ()), (true, None)));
        let samples = (0..2 * PERIOD).filter(|_| operate(|| ()).0).count();
        assert_eq!(samples, 2);
    }

    #[test]
    fn operation_has_its_start_also_if_it_is_no_sample() {
        (0..FIRST_OPERATIONS).for_each(|_| drop(begin_operation()));
        let timed: Vec<_> = (0..PERIOD).filter_map(|_| begin_operation()).collect::<Vec<_>>();
        // Only the first value is an outer operation: the other values are inside of it.
        assert_eq!(timed.len(), 1);
        assert!(timed[0].start > 0);
    }

    #[test]
    fn panic_in_an_operation_ends_the_operation() {
        let panicked = std::panic::catch_unwind(|| {
            let _operation = begin_operation().expect("no operation around this one");
            panic!("as a comparator may");
        });
        assert!(panicked.is_err());
        let (_, taken) = operate(|| step(Cause::BlockRead));
        assert!(taken.expect("a step was met")[Cause::BlockRead as usize] > 0);
    }

    #[test]
    fn wait_for_a_processor_counts_from_the_last_call() {
        assert_eq!([700, 900, 900].map(waited_since_last_call), [0, 200, 0]);
    }

    #[test]
    fn a_nested_step_is_counted_once() {
        let (_, taken) = operate(|| {
            let outer = Step::begin(Cause::WalWrite);
            spend();
            step(Cause::WalSync);
            outer.stop();
        });
        let taken = taken.expect("a step was met");
        assert!(taken[Cause::WalWrite as usize] > 0 && taken[Cause::WalSync as usize] > 0);
        // The inner step is counted once: the sum of both is not longer than the operation.
        assert!(taken.iter().sum::<u64>() <= stepped_ticks());
    }

    #[test]
    fn a_closed_step_takes_the_time_of_its_inner_steps() {
        let (_, taken) = operate(|| {
            let stall = Step::begin_closed(Cause::Stall);
            step(Cause::BlockRead);
            stall.stop();
        });
        let taken = taken.expect("a step was met");
        assert!(taken[Cause::Stall as usize] > 0);
        assert_eq!(taken[Cause::BlockRead as usize], 0);
    }

    #[test]
    fn a_step_outside_of_an_operation_counts_for_a_move_and_for_no_operation() {
        step(Cause::BlockRead);
        assert_eq!(operate(|| ()).1, None);
        assert!(!end_move());
        step(Cause::BlockRead);
        assert!(end_move());
        assert!(steps_taken()[Cause::BlockRead as usize] > 0);
        assert!(!end_move());
    }

    #[test]
    fn thread_without_attribution_measures_no_operation_and_no_step() {
        set_attribution(Attribution::Off);
        assert!(begin_operation().is_none());
        step(Cause::BlockRead);
        assert!(!end_move());
        set_attribution(Attribution::On);
        assert!(!end_move());
        assert_eq!(operate(|| ()).1, None);
        let (_, taken) = operate(|| step(Cause::BlockRead));
        assert!(taken.expect("a step was met")[Cause::BlockRead as usize] > 0);
    }

    #[test]
    fn the_steps_of_an_inner_operation_belong_to_the_outer_one() {
        let (_, taken) = operate(|| {
            assert!(begin_operation().is_none());
            step(Cause::BlockRead);
        });
        assert!(taken.expect("a step was met")[Cause::BlockRead as usize] > 0);
    }
}
