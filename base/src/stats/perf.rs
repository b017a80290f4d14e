//! The perf context: what this thread's own calls cost. RocksDB's `PerfContext` and `PerfLevel`.
//!
//! Counters live in thread-local cells and are added to only when the thread's level asks for them, so a
//! level of `Disable` leaves one comparison behind.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;

use super::{LevelCounter, PerfCounter};

/// What this thread collects. Each level adds to the level before. The numbers are RocksDB's.
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
    /// The level of a number, the nearest where there is none.
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
/// Counts for each level of the tree.
pub type LevelBreakdown = BTreeMap<u32, [u64; LevelCounter::COUNT]>;

struct Context {
    level: Cell<u8>,
    per_level: Cell<bool>,
    /// Blocks read from files: of indexes and filters, of data.
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

/// So many blocks were read from a file by this thread. Counted at every level: what a call that looks through
/// several tables tells of each of them is the difference of two [`blocks_read`].
#[inline]
pub fn note_blocks_read(data: bool, blocks: u64) {
    CONTEXT.with(|context| {
        let cell = &context.blocks_read[usize::from(data)];
        cell.set(cell.get().wrapping_add(blocks));
    });
}

/// Blocks that this thread has read from files since it began: of indexes and filters, and of data.
#[inline]
pub fn blocks_read() -> (u64, u64) {
    CONTEXT.with(|context| (context.blocks_read[0].get(), context.blocks_read[1].get()))
}

/// This thread's level.
#[inline]
pub fn perf_level() -> PerfLevel {
    PerfLevel::from_number(i64::from(CONTEXT.with(|context| context.level.get())))
}

/// Sets this thread's level.
pub fn set_perf_level(level: PerfLevel) {
    CONTEXT.with(|context| context.level.set(level as u8));
}

/// Sets this thread's level by RocksDB's number; the nearest where there is none.
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

/// Adds to two counters, asking once.
#[inline]
pub fn perf_add_both(one: (PerfCounter, u64), other: (PerfCounter, u64)) {
    CONTEXT.with(|context| {
        if context.level.get() >= PerfLevel::EnableCount as u8 {
            add(context, one.0, one.1);
            add(context, other.0, other.1);
        }
    });
}

#[inline]
fn add(context: &Context, counter: PerfCounter, count: u64) {
    let cell = &context.counters[counter.number()];
    cell.set(cell.get().wrapping_add(count));
}

/// Adds to a level's counter, if this thread counts by level.
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
    // A thread that is ending counts no levels any more.
    let _ = BREAKDOWN.try_with(|levels| {
        levels.borrow_mut().entry(level).or_insert([0; LevelCounter::COUNT])[counter.number()] += count;
    });
}

/// Starts or stops counting by level on this thread. Stopping keeps what was counted.
pub fn perf_per_level(on: bool) {
    CONTEXT.with(|context| context.per_level.set(on));
}

/// What a counter stands at on this thread.
pub fn perf_counter(counter: PerfCounter) -> u64 {
    CONTEXT.with(|context| context.counters[counter.number()].get())
}

/// Sets all of this thread's counters to 0.
pub fn perf_context_reset() {
    CONTEXT.with(|context| context.counters.iter().for_each(|counter| counter.set(0)));
    let _ = BREAKDOWN.try_with(|levels| {
        levels.borrow_mut().values_mut().for_each(|counts: &mut LevelCounts| counts.fill(0));
    });
}

/// All counters as RocksDB writes them: `name = count, name = count`.
pub fn perf_context_text() -> String {
    text(false)
}

/// Those counters that are not 0.
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

/// A time that is counted and decides nothing, by the machine's own clock: the only one outside of `env`.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(std::time::Instant);

#[allow(clippy::disallowed_methods, reason = "counted, never acted on")]
impl Stopwatch {
    /// Reads the clock.
    #[inline]
    pub fn start() -> Stopwatch {
        Stopwatch(std::time::Instant::now())
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn nanos(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    /// Microseconds since the start.
    #[inline]
    pub fn micros(self) -> u64 {
        self.0.elapsed().as_micros() as u64
    }
}

/// Adds the time from its start to its drop to a counter, in nanoseconds. Reads no clock when this thread
/// does not take such times.
#[derive(Debug)]
#[must_use = "the time taken is that until the timer is dropped"]
pub struct PerfTimer {
    counter: PerfCounter,
    start: Option<Stopwatch>,
}

impl PerfTimer {
    /// Times an operation.
    #[inline]
    pub fn start(counter: PerfCounter) -> PerfTimer {
        PerfTimer::start_at(counter, PerfLevel::EnableTimeExceptForMutex)
    }

    /// Times what is taken only from a level on.
    #[inline]
    pub fn start_at(counter: PerfCounter, level: PerfLevel) -> PerfTimer {
        PerfTimer { counter, start: perf_timing(level).then(Stopwatch::start) }
    }

    /// Ends the time now.
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
