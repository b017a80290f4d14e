//! The perf context: the cost of the calls of this thread. RocksDB's `PerfContext` and `PerfLevel`.
//!
//! The counters are thread-local cells. They change only if the perf level of the thread asks for them. With the
//! level `Disable`, a counter costs one comparison.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;

use super::{LevelCounter, PerfCounter};

/// Selects the values that this thread collects. Each level adds values to the level before. The numbers are
/// RocksDB's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PerfLevel {
    /// The thread has set no level. The thread then counts as with `Disable`.
    Uninitialized = 0,
    /// Collects nothing.
    Disable = 1,
    /// Counts events. The default.
    EnableCount = 2,
    /// Adds the time that user threads wait for the engine.
    EnableWait = 3,
    /// Adds the time of operations.
    EnableTimeExceptForMutex = 4,
    /// Adds the CPU time of operations.
    EnableTimeAndCpuTimeExceptForMutex = 5,
    /// Adds the time that threads wait for mutexes and conditions.
    EnableTime = 6,
}

impl PerfLevel {
    /// Returns the level with this number. Other numbers give the nearest level.
    pub const fn from_number(number: i64) -> PerfLevel {
        match number {
            ..=0 => PerfLevel::Uninitialized,
            1 => PerfLevel::Disable,
            2 => PerfLevel::EnableCount,
            3 => PerfLevel::EnableWait,
            4 => PerfLevel::EnableTimeExceptForMutex,
            5 => PerfLevel::EnableTimeAndCpuTimeExceptForMutex,
            _ => PerfLevel::EnableTime,
        }
    }
}

type LevelCounts = [u64; LevelCounter::COUNT];
/// Counters for each level of SST files.
pub type LevelBreakdown = BTreeMap<u32, [u64; LevelCounter::COUNT]>;

struct Context {
    level: Cell<u8>,
    per_level: Cell<bool>,
    /// The numbers of blocks that were read from files: index and filter blocks, and data blocks.
    blocks_read: [Cell<u64>; 2],
    counters: [Cell<u64>; PerfCounter::COUNT],
}

thread_local! {
    static CONTEXT: Context = const {
        Context {
            level: Cell::new(PerfLevel::EnableCount as u8),
            per_level: Cell::new(false),
            blocks_read: [const { Cell::new(0) }; 2],
            counters: [const { Cell::new(0) }; PerfCounter::COUNT],
        }
    };
    static BREAKDOWN: RefCell<LevelBreakdown> = const { RefCell::new(BTreeMap::new()) };
}

/// Counts blocks that this thread read from a file. Counts at every perf level. A call that reads several SST files
/// compares [`blocks_read`] before and after each file.
#[inline]
pub fn note_blocks_read(data: bool, blocks: u64) {
    CONTEXT.with(|context| {
        let cell = &context.blocks_read[usize::from(data)];
        cell.set(cell.get().wrapping_add(blocks));
    });
}

/// Returns the numbers of blocks that this thread has read from files: index and filter blocks, and data blocks.
#[inline]
pub fn blocks_read() -> (u64, u64) {
    CONTEXT.with(|context| (context.blocks_read[0].get(), context.blocks_read[1].get()))
}

/// Returns the perf level of this thread.
#[inline]
pub fn perf_level() -> PerfLevel {
    PerfLevel::from_number(i64::from(CONTEXT.with(|context| context.level.get())))
}

/// Sets the perf level of this thread.
pub fn set_perf_level(level: PerfLevel) {
    CONTEXT.with(|context| context.level.set(level as u8));
}

/// Stops the perf counters of this thread while the thread works for the database and not for its caller. The drop
/// restores the perf level.
#[must_use]
pub struct Uncounted(PerfLevel);

impl Uncounted {
    /// Stops the counters of this thread.
    pub fn begin() -> Self {
        let level = perf_level();
        set_perf_level(PerfLevel::Disable);
        Uncounted(level)
    }
}

impl Drop for Uncounted {
    fn drop(&mut self) {
        set_perf_level(self.0);
    }
}

/// Sets the perf level of this thread by RocksDB's number. Other numbers set the nearest level.
pub fn set_perf_level_number(number: i64) {
    set_perf_level(PerfLevel::from_number(number));
}

/// Returns true if this thread counts.
#[inline]
pub fn perf_counting() -> bool {
    CONTEXT.with(|context| context.level.get() >= PerfLevel::EnableCount as u8)
}

/// Returns true if this thread measures the times that need `level`.
#[inline]
pub fn perf_timing(level: PerfLevel) -> bool {
    CONTEXT.with(|context| context.level.get() >= level as u8)
}

/// Adds to a counter, if this thread counts.
#[inline]
pub fn perf_add(counter: PerfCounter, count: u64) {
    CONTEXT.with(|context| {
        if context.level.get() >= PerfLevel::EnableCount as u8 {
            add(context, counter, count);
        }
    });
}

/// Adds to two counters, with one check of the level.
#[inline]
pub fn perf_add_both(one: (PerfCounter, u64), other: (PerfCounter, u64)) {
    CONTEXT.with(|context| {
        if context.level.get() >= PerfLevel::EnableCount as u8 {
            add(context, one.0, one.1);
            add(context, other.0, other.1);
        }
    });
}

/// Adds to several counters, with one check of the level.
#[inline]
pub fn perf_add_each<const N: usize>(counts: [(PerfCounter, u64); N]) {
    CONTEXT.with(|context| {
        if context.level.get() >= PerfLevel::EnableCount as u8 {
            for (counter, count) in counts {
                add(context, counter, count);
            }
        }
    });
}

#[inline]
fn add(context: &Context, counter: PerfCounter, count: u64) {
    let cell = &context.counters[counter.number()];
    cell.set(cell.get().wrapping_add(count));
}

/// Adds to a counter of a level, if this thread counts by level.
#[inline]
pub fn perf_add_at_level(counter: LevelCounter, count: u64, level: u32) {
    let wanted = CONTEXT
        .with(|context| context.per_level.get() && context.level.get() >= PerfLevel::EnableCount as u8);
    if wanted {
        add_at_level(counter, count, level);
    }
}

#[cold]
fn add_at_level(counter: LevelCounter, count: u64, level: u32) {
    // A thread that is ending has no counters by level.
    let _ = BREAKDOWN.try_with(|levels| {
        levels.borrow_mut().entry(level).or_insert([0; LevelCounter::COUNT])[counter.number()] += count;
    });
}

/// Starts or stops counting by level on this thread. The counters keep their values when the counting stops.
pub fn perf_per_level(on: bool) {
    CONTEXT.with(|context| context.per_level.set(on));
}

/// Returns the value of a counter of this thread.
pub fn perf_counter(counter: PerfCounter) -> u64 {
    CONTEXT.with(|context| context.counters[counter.number()].get())
}

/// Sets all counters of this thread to 0.
pub fn perf_context_reset() {
    CONTEXT.with(|context| context.counters.iter().for_each(|counter| counter.set(0)));
    let _ = BREAKDOWN.try_with(|levels| {
        levels.borrow_mut().values_mut().for_each(|counts: &mut LevelCounts| counts.fill(0));
    });
}

/// Returns all counters in RocksDB's format: `name = count, name = count`.
pub fn perf_context_text() -> String {
    text(false)
}

/// Returns the counters that are not 0.
pub fn perf_context_text_nonzero() -> String {
    text(true)
}

fn text(exclude_zero: bool) -> String {
    let mut text = String::new();
    for &counter in PerfCounter::ALL {
        let count = perf_counter(counter);
        if count > 0 || !exclude_zero {
            let _ = write!(text, "{} = {count}, ", counter.name());
        }
    }
    if CONTEXT.with(|context| context.per_level.get()) {
        let _ = BREAKDOWN.try_with(|levels| {
            let levels = levels.borrow();
            for &counter in LevelCounter::ALL {
                let _ = write!(text, "{} = ", counter.name());
                for (level, counts) in levels.iter() {
                    let count = counts[counter.number()];
                    if count > 0 || !exclude_zero {
                        let _ = write!(text, "{count}@level{level}, ");
                    }
                }
            }
        });
    }
    text.truncate(text.trim_end_matches([',', ' ']).len());
    text
}

/// Measures a duration for statistics with the clock of the machine. Outside of `env`, only this type reads a clock. No
/// decision depends on its durations.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(std::time::Instant);

#[allow(clippy::disallowed_methods, reason = "counted, never acted on")]
impl Stopwatch {
    /// Starts the time.
    #[inline]
    pub fn start() -> Stopwatch {
        Stopwatch(std::time::Instant::now())
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub fn nanos(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    /// Returns the microseconds since the start.
    #[inline]
    pub fn micros(self) -> u64 {
        self.0.elapsed().as_micros() as u64
    }
}

/// Adds time to a counter, in nanoseconds: the time from the start to the drop of the timer. Reads no clock if this
/// thread collects no such times.
#[derive(Debug)]
#[must_use = "the timer measures the time until the timer is dropped"]
pub struct PerfTimer {
    counter: PerfCounter,
    start: Option<Stopwatch>,
}

impl PerfTimer {
    /// Starts a timer for an operation.
    #[inline]
    pub fn start(counter: PerfCounter) -> PerfTimer {
        PerfTimer::start_at(counter, PerfLevel::EnableTimeExceptForMutex)
    }

    /// Starts a timer that acts only at `level` and above.
    #[inline]
    pub fn start_at(counter: PerfCounter, level: PerfLevel) -> PerfTimer {
        PerfTimer { counter, start: perf_timing(level).then(Stopwatch::start) }
    }

    /// Stops the timer now.
    pub fn stop(self) {}
}

impl Drop for PerfTimer {
    #[inline]
    fn drop(&mut self) {
        if let Some(start) = self.start {
            let nanos = start.nanos();
            CONTEXT.with(|context| add(context, self.counter, nanos));
        }
    }
}
