//! Unit tests of the counters.

use base::stats::{Cause, HistogramKind, OperationKind, SlowOperation, Statistics, StatsLevel, Step, Ticker};

use base::{FamilyId, Level};
use env::Clock;
use env::clock::ManualClock;
use env::sync::Mutex;
use kernel::ticks;
use lsm::pressure;

use super::{
    DatabaseCounter, FamilyStats, KEPT_SECONDS, LevelNumbers, ReasonNumbers, StallCause, StallReason,
    StallSum, Stats,
};
use crate::sync::Arc;

#[test]
fn no_time_is_measured_without_statistics() {
    let env = env::Env::memory(1);
    let stats = Stats::new(None, env.clock.clone());
    stats.add(Ticker::BytesRead, 1);
    assert!(stats.begin().at_nanos.is_none());
    let statistics = Arc::new(Statistics::new());
    let stats = Stats::new(Some(statistics.clone()), env.clock.clone());
    let began = stats.begin();
    assert!(began.at_nanos.is_some());
    stats.end(began, HistogramKind::DbGet);
    assert_eq!(statistics.histogram_data(HistogramKind::DbGet).count, 1);
    statistics.set_level(StatsLevel::ExceptTimers);
    assert!(stats.begin().at_nanos.is_none());
}

#[test]
fn an_interval_begins_where_the_last_one_ended() {
    let env = env::Env::memory(1);
    let stats = Stats::new(None, env.clock.clone());
    stats.database.add(DatabaseCounter::UserKeys, 5);
    assert_eq!(stats.database.begin_interval(1.0, stats.database.all()), (0.0, [0; 9]));
    let (uptime, before) = stats.database.begin_interval(3.0, stats.database.all());
    assert_eq!((uptime, before[DatabaseCounter::UserKeys as usize]), (1.0, 5));
    stats.database.reset(0);
    assert_eq!(stats.database.get(DatabaseCounter::UserKeys), 0);
}

#[test]
fn jobs_add_up_by_level_and_pool() {
    let stats = FamilyStats::default();
    let one = LevelNumbers { micros: 10, count: 1, bytes_written: 7, ..LevelNumbers::default() };
    stats.lock().add(Level::new(2), 1, &one);
    stats.lock().add(Level::new(2), 1, &one);
    stats.lock().stalls.count(StallCause::L0FileCountLimit, true, true);
    let numbers = stats.lock().clone();
    assert_eq!(
        (
            numbers.level(Level::new(2)).micros,
            numbers.level(Level::new(1)).micros,
            numbers.level(Level::new(9)).count
        ),
        (20, 0, 0)
    );
    assert_eq!(numbers.by_pool[1].bytes_written, 14);
    assert_eq!(numbers.level(Level::new(2)).since(&one), one);
    assert_eq!(
        (numbers.stalls.stops(), numbers.stalls.delays(), numbers.stalls.l0_stops_while_compacting),
        (1, 0, 1)
    );
}

#[test]
fn jobs_add_up_by_reason() {
    let stats = FamilyStats::default();
    let one = LevelNumbers { bytes_written: 7, bytes_written_blob: 3, ..LevelNumbers::default() };
    stats.lock().add_flush("Manual Flush", &one);
    stats.lock().add_compaction("Ttl", &one);
    stats.lock().add_compaction("Ttl", &one);
    let numbers = stats.lock().clone();
    let of = |jobs: u64, bytes_written: u64| ReasonNumbers { jobs, bytes_written };
    assert_eq!(numbers.bytes_flushed, 10);
    assert_eq!(numbers.flush_reasons.into_iter().collect::<Vec<_>>(), [("Manual Flush", of(1, 10))]);
    assert_eq!(numbers.compaction_reasons.into_iter().collect::<Vec<_>>(), [("Ttl", of(2, 20))]);
}

#[test]
fn stalls_are_reported_by_reason_for_the_last_seconds() {
    let clock = Arc::new(ManualClock::new(1_000_000_000));
    let stats = Stats::new(None, clock.clone());
    let of =
        |family: u32, trigger| StallReason { family: Some(FamilyId::new(family)), trigger, stopped: true };
    let (full, many) = (of(0, pressure::Cause::MemtableLimit), of(1, pressure::Cause::L0FileCountLimit));
    stats.slow.stalled(&[full, many], 5);
    clock.advance(30_000_000);
    stats.slow.stalled(&[many], 7);
    assert_eq!(stats.slow.report(10).stalls, [(many, StallSum { count: 1, nanos: 7000 })]);
    let both = [(full, StallSum { count: 1, nanos: 5000 }), (many, StallSum { count: 2, nanos: 12_000 })];
    assert_eq!(stats.slow.report(60).stalls, both);
    clock.advance((KEPT_SECONDS - 10) * 1_000_000);
    stats.slow.stalled(&[full], 1);
    let kept = [(many, StallSum { count: 1, nanos: 7000 }), (full, StallSum { count: 1, nanos: 1000 })];
    assert_eq!(stats.slow.report(u64::MAX).stalls, kept);
}

/// A clock for a thread that waits and runs for given times between two readings.
#[derive(Debug)]
struct Waits {
    clock: ManualClock,
    waited_nanos: u64,
    ran_nanos: u64,
    /// The reading with this number takes 2 ms.
    late_reading: u64,
    readings: Mutex<u64>,
}

impl Waits {
    fn new(waited_nanos: u64, ran_nanos: u64) -> Waits {
        let clock = ManualClock::new(1_000_000_000);
        Waits { clock, waited_nanos, ran_nanos, late_reading: 0, readings: Mutex::default() }
    }
}

impl Clock for Waits {
    fn now_micros(&self) -> u64 {
        self.clock.now_micros()
    }

    fn now_nanos(&self) -> u64 {
        self.clock.now_nanos()
    }

    fn sleep_micros(&self, micros: u64) {
        self.clock.sleep_micros(micros);
    }

    fn cpu_nanos(&self) -> u64 {
        *self.readings.lock() * self.ran_nanos
    }

    fn processor_wait_nanos(&self) -> u64 {
        let mut readings = self.readings.lock();
        *readings += 1;
        if *readings == self.late_reading {
            spend(2_000_000);
        }
        *readings * self.waited_nanos
    }
}

fn spend(nanos: u64) {
    let begin = ticks::now();
    while ticks::to_nanos(ticks::now() - begin) < nanos {}
}

/// Runs a slow operation without a step, and returns the operations that the watcher received.
fn slow_operation(kind: OperationKind, clock: Arc<dyn Clock>) -> Vec<SlowOperation> {
    let stats = Stats::new(None, clock);
    let told: Arc<Mutex<Vec<SlowOperation>>> = Arc::default();
    let seen = told.clone();
    stats.slow.watch(move |operation| seen.lock().push(operation.clone()));
    drop(stats.slow.begin(kind));
    let operation = stats.slow.begin(kind);
    spend(300_000);
    drop(operation);
    let told = told.lock().clone();
    told.into_iter().filter(|operation| operation.nanos >= 300_000).collect()
}

#[test]
fn wait_for_a_processor_is_a_cause_of_a_slow_operation() {
    for kind in [OperationKind::Write, OperationKind::Get, OperationKind::Seek, OperationKind::MultiGet] {
        // The first operation of a thread is a sample, and takes the first reading of the wait.
        let operation = std::thread::spawn(move || slow_operation(kind, Arc::new(Waits::new(50_000_000, 0))));
        let told = operation.join().expect("the operation ends");
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].operation, kind);
        // The wait is longer than the operation: the operation gets its own time.
        let waited = told[0].causes[Cause::Processor.number()];
        assert!(waited.abs_diff(told[0].nanos) < told[0].nanos / 10, "{told:?}");
    }
}

/// Runs a slow operation with a step, or without one. Returns its time in nanoseconds.
fn slow(stats: &Stats, has_step: bool, nanos: u64) -> u64 {
    let begin = ticks::now();
    let operation = stats.slow.begin(OperationKind::Write);
    let step = has_step.then(|| Step::begin(Cause::WalWrite));
    while ticks::to_nanos(ticks::now() - begin) < nanos {}
    drop(step);
    drop(operation);
    ticks::to_nanos(ticks::now() - begin)
}

#[test]
fn wait_is_not_read_for_an_operation_that_its_steps_explain() {
    let thread = std::thread::spawn(|| {
        let clock = Arc::new(Waits::new(50_000_000, 0));
        let stats = Stats::new(None, clock.clone());
        drop(stats.slow.begin(OperationKind::Write));
        // The samples of a new thread read the wait, so 20 fast operations end its early samples.
        (0..20).for_each(|_| drop(stats.slow.begin(OperationKind::Write)));
        let readings = || *clock.readings.lock();
        // If the system stops the thread, an operation takes a millisecond, and reads the wait. The test needs a shorter operation.
        let mut before = readings();
        while slow(&stats, true, 300_000) >= 1_000_000 {
            before = readings();
        }
        assert_eq!(readings(), before);
        slow(&stats, false, 300_000);
        // If the system stops the thread during a reading, there is one more.
        let of_wait = readings();
        assert!(of_wait > before);
        let causes = base::stats::last_causes();
        assert!(causes[Cause::Processor.number()] >= 200_000, "{causes:?}");
        // The operation begins after the time that `slow` measures, so the operation takes less.
        slow(&stats, true, 1_100_000);
        assert!(readings() > of_wait);
    });
    thread.join().expect("the operations end");
}

#[test]
fn operation_just_below_the_limit_has_its_causes_and_is_not_counted() {
    let thread = std::thread::spawn(|| {
        let stats = Stats::new(None, Arc::new(Waits::new(0, 50_000_000)));
        // The samples of a new thread are its first 16 operations, and then one of 64.
        for _ in 0..100 {
            slow(&stats, false, 100_000);
        }
        let median = stats.slow.median_nanos(OperationKind::Write).expect("there are samples");
        let counted = || stats.slow.totals(OperationKind::Write).0;
        // If the system stops the thread, the operation is above the limit.
        let mut before = counted();
        for (halves, at_least) in [(17, 8), (8, 3)] {
            while slow(&stats, false, median * halves / 2) >= median * (halves + 2) / 2 {
                before = counted();
            }
            assert_eq!(counted(), before);
            let causes = base::stats::last_causes();
            assert!(
                causes[Cause::WriteWork.number()] >= median * at_least,
                "{causes:?}, the median is {median}"
            );
        }
    });
    thread.join().expect("the operations end");
}

#[test]
fn operation_before_the_median_is_known_has_its_causes_from_10_microseconds_on() {
    let thread = std::thread::spawn(|| {
        let stats = Stats::new(None, Arc::new(Waits::new(0, 50_000_000)));
        // The first reading of the times of a thread returns nothing.
        slow(&stats, false, 1_000);
        slow(&stats, false, 50_000);
        let causes = base::stats::last_causes();
        assert!(causes[Cause::WriteWork.number()] >= 40_000, "{causes:?}");
    });
    thread.join().expect("the operations end");
}

#[test]
fn time_of_a_sleep_stays_unexplained() {
    let told = slow_operation(OperationKind::Write, Arc::new(ManualClock::new(1_000_000_000)));
    assert_eq!(told.len(), 1);
    let of = |cause: Cause| told[0].causes[cause.number()];
    assert_eq!((of(Cause::Processor), of(Cause::WriteWork)), (0, 0));
    let explained: u64 = told[0].causes.iter().sum();
    assert!(told[0].nanos - explained >= 290_000, "{told:?}");
}

#[test]
fn time_in_which_the_thread_ran_is_the_work_of_the_operation() {
    for (kind, cause) in [
        (OperationKind::Write, Cause::WriteWork),
        (OperationKind::Get, Cause::Search),
        (OperationKind::Seek, Cause::Search),
        (OperationKind::MultiGet, Cause::Search),
    ] {
        let operation = std::thread::spawn(move || slow_operation(kind, Arc::new(Waits::new(0, 50_000_000))));
        let told = operation.join().expect("the operation ends");
        assert_eq!(told.len(), 1);
        assert!(told[0].causes[cause.number()] >= 290_000, "{told:?}");
        let explained: u64 = told[0].causes.iter().sum();
        assert!(explained.abs_diff(told[0].nanos) < told[0].nanos / 20, "{told:?}");
    }
}

#[test]
fn wait_during_the_reading_belongs_to_the_operation() {
    let operation = std::thread::spawn(|| {
        // The first operation takes the first reading, and the slow operation takes the second.
        let clock = Waits { late_reading: 2, ..Waits::new(50_000_000, 0) };
        slow_operation(OperationKind::Get, Arc::new(clock))
    });
    let told = operation.join().expect("the operation ends");
    assert_eq!(told.len(), 1);
    assert!(told[0].nanos >= 2_300_000, "{told:?}");
    assert!(told[0].causes[Cause::Processor.number()] >= 2_200_000, "{told:?}");
}
