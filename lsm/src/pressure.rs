//! Write stalls: the decision whether writes are delayed or stopped, and their rate, from plain numbers.
//!
//! The triggers are RocksDB's (`db/column_family.cc`, `db/write_controller.cc`): too many immutable
//! memtables, too many level-0 files, too many pending compaction bytes. Between normal speed and stop,
//! writes are delayed to a rate that adapts. The rate falls while the pending compaction bytes grow, and
//! rises while they shrink.
//!
//! Unlike RocksDB, the rate also has a ceiling. The ceiling falls in a straight line from `delayed_write_rate` at
//! the slowdown trigger to a sixteenth of it at the stop trigger. RocksDB's writes reach the stop trigger at
//! any rate; here writes are already slow when they reach it.
//!
//! ```text
//!  rate ▲ delayed_write_rate
//!       ├──────╲
//!       │        ╲            ceiling
//!       │          ╲________
//!       └──────┬────────────┬────────► level-0 files, pending bytes
//!          slow down       stop
//! ```
//! If `delayed_write_rate` is 16 MiB per second, the rate of writers that level 0 of leveled compaction delays has a lower bound too. At
//! the slowdown trigger, the lower bound is the drain: the rate at which the last compactions emptied level 0. It falls to a sixteenth at
//! the stop trigger, slowly at first. The adapted rate cannot lower it. So the writers slow down to the speed of the compactions.
//!
//! After such a delay, the writers stay near this speed. A compaction that ends takes level 0 below the slowdown trigger. At full speed,
//! the writers would reach the slowdown trigger again after a few seconds. So they are paced until level 0 is below its trigger of a
//! compaction. A pace is no write stall: no write fails because of a pace, and no listener gets a call.
//!
//! ```text
//!  rate ▲
//!   1.5 ├╲
//!       │   ╲              pace
//!  drain├─────────╲──╲
//!       │              ╲   lower bound of delayed writers
//!       └┬────────┬────┬───► level-0 files
//!     compact  slow   stop
//!              down
//! ```

use crate::pick::{Options, Style};

use drain::Drain;

mod drain;

/// Minimum of the adapted rate, in bytes per second.
pub const MIN_RATE: u64 = 16 << 10;
/// The default of `delayed_write_rate` in bytes per second, if there is no rate limiter either.
pub const DEFAULT_RATE: u64 = 16 << 20;

const SLOWER: f64 = 0.8;
const FASTER: f64 = 1.0 / SLOWER;
const MUCH_SLOWER: f64 = 0.6;
const RECOVERED: f64 = 1.4;
/// The ceiling and the lower bound at the stop trigger, as a share of their values at the slowdown trigger.
const CEILING_AT_STOP: f64 = 1.0 / 16.0;
/// The pace at `level0_file_num_compaction_trigger`, as a share of the drain.
const PACE_AT_TRIGGER: f64 = 1.5;
/// Writers are paced if level 0 takes at least this time from the trigger of a compaction to the slowdown trigger, in seconds. With small
/// memtables, a delay ends after a short time. With memtables of 1 MiB, the pace reduced the throughput by a sixth.
const PACED_FILL_S: u64 = 2;

/// The limit that causes a decision, with the words of RocksDB's `WriteStallCause`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No limit is reached.
    None,
    /// Too many memtables wait for a flush.
    MemtableLimit,
    /// Level 0 has too many SST files.
    L0FileCountLimit,
    /// There are too many pending compaction bytes.
    PendingCompactionBytes,
    /// The write buffer manager has no memory left.
    WriteBufferManagerLimit,
}

/// The state of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Writes run at full speed.
    Normal,
    /// Writes run at the speed of the compactions of level 0, after a delay. This is no write stall.
    Paced {
        /// The permitted rate in bytes per second. The rate is for all writers together.
        rate: u64,
    },
    /// Writes are delayed. The rate is for all writers together.
    Delayed {
        /// The permitted rate in bytes per second.
        rate: u64,
    },
    /// Writes wait until the cause ends.
    Stopped,
}

/// The numbers that the triggers compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The number of immutable memtables that are not flushed.
    pub num_unflushed_memtables: usize,
    /// Files or sorted runs in level 0: `Scores::l0_delay_trigger_count`.
    pub num_l0_files: usize,
    /// Pending compaction bytes: `Scores::estimated_pending_bytes`.
    pub pending_compaction_bytes: u64,
    /// Bytes of the SST files in level 0, before compression if the bytes are known.
    pub l0_bytes: u64,
    /// Number of files in `Scores::marked`.
    pub num_marked_files: usize,
    /// Bytes of the files without data below them; 0 if it is unknown.
    pub bottommost_bytes: u64,
}

/// A decision and its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What happens to writes.
    pub stall: Stall,
    /// The limit that is reached.
    pub cause: Cause,
    /// True if compactions should get all available threads.
    pub speed_up_compaction: bool,
}

impl Decision {
    /// Writes run at full speed, and no limit is reached.
    pub const NORMAL: Decision =
        Decision { stall: Stall::Normal, cause: Cause::None, speed_up_compaction: false };
}

/// The trigger that is reached, without regard to earlier decisions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Normal,
    Delayed,
    Stopped,
}

/// The last decision of one column family, which adapts the rate. A database applies the strictest decision
/// of its column families.
#[derive(Clone, Debug)]
pub struct Pressure {
    last: Stall,
    last_pending_bytes: u64,
    max_rate: u64,
    rate: u64,
    drain: Drain,
    /// True from a delay by level 0 until level 0 is below its trigger of a compaction.
    is_paced: bool,
}

impl Pressure {
    /// Makes the state for `delayed_write_rate` in bytes per second. 0 means the default.
    pub fn new(delayed_write_rate: u64) -> Self {
        let rate = if delayed_write_rate == 0 { DEFAULT_RATE } else { delayed_write_rate };
        base::invariant!(rate > 0, "delayed writers have a rate of 0 bytes for each second");
        Pressure {
            last: Stall::Normal,
            last_pending_bytes: 0,
            max_rate: rate,
            rate,
            drain: Drain::default(),
            is_paced: false,
        }
    }

    /// Sets a new `delayed_write_rate`.
    pub fn set_max_rate(&mut self, delayed_write_rate: u64) {
        *self = Pressure {
            last: self.last,
            last_pending_bytes: self.last_pending_bytes,
            drain: self.drain,
            is_paced: self.is_paced,
            ..Self::new(delayed_write_rate)
        };
    }

    /// Returns the adapted rate in bytes per second, also while writes are not delayed.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Makes a new decision. Call this after each flush, compaction, memtable switch and change of options. `now_us` is a time in
    /// microseconds, of any clock that does not go back.
    pub fn decide(&mut self, load: &Load, options: &Options, now_us: u64) -> Decision {
        self.drain.look((load.num_l0_files, load.l0_bytes), options, now_us);
        let (condition, cause) = condition(load, options);
        let was_stopped = self.last == Stall::Stopped;
        let was_slowed = matches!(self.last, Stall::Delayed { .. });
        self.is_paced = self.has_drain(load, options) && (self.is_paced || cause == Cause::L0FileCountLimit);
        let stall = match condition {
            Condition::Stopped => Stall::Stopped,
            Condition::Delayed => {
                let penalize = was_stopped || near_stop(cause, load, options);
                if was_slowed || was_stopped {
                    self.adapt(load, options, penalize);
                }
                let ceiling = self.ceiling(self.max_rate, cause, load, options);
                let drained = match cause == Cause::L0FileCountLimit && self.is_paced {
                    true => self.pace(load, options),
                    false => 0,
                };
                Stall::Delayed { rate: self.rate.min(ceiling).max(drained) }
            }
            Condition::Normal => {
                if was_slowed {
                    self.rate = scale(self.rate, RECOVERED).min(self.max_rate);
                }
                // A drain below the rate of delayed writers means a slow disk, or compactions that waited. A paced writer would then be
                // slower than a delayed writer.
                match self.is_paced && self.drain.rate() >= self.max_rate && self.fills_slowly(load, options)
                {
                    true => Stall::Paced { rate: self.pace(load, options) },
                    false => Stall::Normal,
                }
            }
        };
        base::invariant!(
            self.rate <= self.max_rate,
            "the write rate {} exceeds its limit {}",
            self.rate,
            self.max_rate
        );
        base::invariant!(
            (cause == Cause::None) == matches!(stall, Stall::Normal | Stall::Paced { .. }),
            "a stall without a cause, or a cause without a stall: {stall:?}, {cause:?}"
        );
        self.last = stall;
        self.last_pending_bytes = load.pending_compaction_bytes;
        let speed_up_compaction = condition != Condition::Normal || wants_speed(load, options);
        Decision { stall, cause, speed_up_compaction }
    }

    fn adapt(&mut self, load: &Load, options: &Options, penalize: bool) {
        if options.disable_auto_compactions {
            self.rate = self.max_rate;
            return;
        }
        if self.max_rate <= MIN_RATE {
            return;
        }
        let before = self.last_pending_bytes;
        if penalize {
            self.rate = scale(self.rate, MUCH_SLOWER).max(MIN_RATE);
        } else if before > 0 && before <= load.pending_compaction_bytes {
            self.rate = scale(self.rate, SLOWER).max(MIN_RATE);
        } else if before > load.pending_compaction_bytes {
            self.rate = scale(self.rate, FASTER).min(self.max_rate);
        }
        base::invariant!(self.rate > 0, "the rate of delayed writers fell to 0 bytes for each second");
    }

    /// Returns true if the drain is known and may bound the rate of writers. A `delayed_write_rate` other than the default is kept. With
    /// too many pending compaction bytes, the rate must fall.
    fn has_drain(&self, load: &Load, options: &Options) -> bool {
        let soft = options.triggers.soft_pending_compaction_bytes_limit;
        options.style == Style::Level
            && !options.disable_auto_compactions
            && self.max_rate == DEFAULT_RATE
            && self.drain.rate() > 0
            && load.num_l0_files as i64
                >= i64::from(options.triggers.level0_file_num_compaction_trigger.max(1))
            && (soft == 0 || load.pending_compaction_bytes < soft)
    }

    /// Returns true if writers that write at the drain take [`PACED_FILL_S`] from the trigger of a compaction to the slowdown trigger.
    fn fills_slowly(&self, load: &Load, options: &Options) -> bool {
        // Before an open corrects them, options may have a slowdown trigger below the trigger of compactions. `files` is then 0 or negative.
        let files = options
            .triggers
            .level0_slowdown_writes_trigger
            .saturating_sub(options.triggers.level0_file_num_compaction_trigger);
        let bytes = u128::from(load.l0_bytes) * u128::try_from(files).unwrap_or(0);
        bytes >= u128::from(self.drain.rate()) * u128::from(PACED_FILL_S) * load.num_l0_files as u128
    }

    /// Returns the rate of writers that follow the compactions of level 0: one and a half of the drain at the trigger of a compaction,
    /// the drain at the slowdown trigger, and a sixteenth at the stop trigger.
    fn pace(&self, load: &Load, options: &Options) -> u64 {
        let files = load.num_l0_files as f64;
        let [compact, slow, stop] = [
            options.triggers.level0_file_num_compaction_trigger,
            options.triggers.level0_slowdown_writes_trigger,
            options.triggers.level0_stop_writes_trigger,
        ]
        .map(f64::from);
        let way = share(files, slow, stop);
        let part = match files < slow {
            true => PACE_AT_TRIGGER - (PACE_AT_TRIGGER - 1.0) * share(files, compact, slow),
            // Near the slowdown trigger, the rate falls slowly: the end of the next compaction takes many files away.
            false => 1.0 - (1.0 - CEILING_AT_STOP) * way * way.sqrt(),
        };
        scale(self.drain.rate(), part).max(MIN_RATE)
    }

    /// Returns the rate at this distance from the stop trigger: `max_rate` at the slowdown trigger, a sixteenth at the stop trigger.
    fn ceiling(&self, max_rate: u64, cause: Cause, load: &Load, options: &Options) -> u64 {
        let way = match cause {
            Cause::L0FileCountLimit => share(
                load.num_l0_files as f64,
                f64::from(options.triggers.level0_slowdown_writes_trigger),
                f64::from(options.triggers.level0_stop_writes_trigger),
            ),
            Cause::PendingCompactionBytes if options.triggers.hard_pending_compaction_bytes_limit > 0 => {
                share(
                    load.pending_compaction_bytes as f64,
                    options.triggers.soft_pending_compaction_bytes_limit as f64,
                    options.triggers.hard_pending_compaction_bytes_limit as f64,
                )
            }
            _ => 0.0,
        };
        base::invariant!((0.0..=1.0).contains(&way), "the way to the stop trigger is {way}");
        scale(max_rate, 1.0 - (1.0 - CEILING_AT_STOP) * way).max(MIN_RATE.min(max_rate))
    }
}

/// Returns the position of `at` between `from` and `to`, from 0 to 1.
fn share(at: f64, from: f64, to: f64) -> f64 {
    // The load may be below the first trigger or above the second trigger, so the result is clamped.
    if to <= from { 0.0 } else { ((at - from) / (to - from)).clamp(0.0, 1.0) }
}

fn scale(rate: u64, by: f64) -> u64 {
    (rate as f64 * by) as u64
}

/// Returns true if a column family with this load delays or stops writes.
pub fn would_stall(load: &Load, options: &Options) -> bool {
    condition(load, options).0 != Condition::Normal
}

/// Returns the number of immutable memtables that starts a flush while a compaction of the column family runs.
///
/// If level 0 has twice the SST files that start a compaction, a flush of a small memtable waits for a second memtable. The
/// limits of level 0 count SST files. With files of twice the size, a compaction reads the next level once for twice the
/// entries. Memtables of 4 MiB gained nothing, and larger memtables would make each write stall longer.
pub fn memtables_to_merge(load: &Load, options: &Options) -> usize {
    const SMALL_MEMTABLE_BYTES: u64 = 2 << 20;
    let min = options.buffers.min_write_buffer_number_to_merge.max(1);
    let trigger = usize::try_from(options.triggers.level0_file_num_compaction_trigger).unwrap_or(usize::MAX);
    let waits = options.style == Style::Level
        && !options.disable_auto_compactions
        && options.buffers.max_write_buffer_number >= 2
        && options.buffers.write_buffer_size <= SMALL_MEMTABLE_BYTES
        && load.num_l0_files >= trigger.saturating_mul(2);
    if waits { min.max(2) } else { min }
}

fn condition(load: &Load, options: &Options) -> (Condition, Cause) {
    let memtables = load.num_unflushed_memtables;
    let max_memtables = options.buffers.max_write_buffer_number;
    let l0 = load.num_l0_files as i64;
    let pending = load.pending_compaction_bytes;
    let auto = !options.disable_auto_compactions;
    let over = |limit: u64| auto && limit > 0 && pending >= limit;
    if memtables >= max_memtables {
        (Condition::Stopped, Cause::MemtableLimit)
    } else if auto && l0 >= i64::from(options.triggers.level0_stop_writes_trigger) {
        (Condition::Stopped, Cause::L0FileCountLimit)
    } else if over(options.triggers.hard_pending_compaction_bytes_limit) {
        (Condition::Stopped, Cause::PendingCompactionBytes)
    } else if max_memtables > 3
        && memtables >= max_memtables - 1
        && memtables > options.buffers.min_write_buffer_number_to_merge
    {
        (Condition::Delayed, Cause::MemtableLimit)
    } else if auto
        && options.triggers.level0_slowdown_writes_trigger >= 0
        && l0 >= i64::from(options.triggers.level0_slowdown_writes_trigger)
    {
        (Condition::Delayed, Cause::L0FileCountLimit)
    } else if over(options.triggers.soft_pending_compaction_bytes_limit) {
        (Condition::Delayed, Cause::PendingCompactionBytes)
    } else {
        (Condition::Normal, Cause::None)
    }
}

fn near_stop(cause: Cause, load: &Load, options: &Options) -> bool {
    match cause {
        Cause::L0FileCountLimit => {
            load.num_l0_files as i64 >= i64::from(options.triggers.level0_stop_writes_trigger) - 2
        }
        Cause::PendingCompactionBytes => {
            let soft = options.triggers.soft_pending_compaction_bytes_limit;
            // The user may set the limits in any order, and a cause may outlast its limit.
            let gap = options.triggers.hard_pending_compaction_bytes_limit.saturating_sub(soft);
            gap > 0 && load.pending_compaction_bytes.saturating_sub(soft) > gap / 4 * 3
        }
        _ => false,
    }
}

/// Returns how near this load is to a write stall, in percent: 100 or more delays writes. Level 0 counts against
/// `level0_slowdown_writes_trigger`, the pending compaction bytes count against `soft_pending_compaction_bytes_limit`. A trigger
/// of 0 is replaced by the trigger that stops writes. RocksDB: `CaptureBackgroundJobPressure`.
pub fn proximity_percent(load: &Load, options: &Options) -> u64 {
    let percent = |part: u64, whole: u64| match whole {
        0 => 0,
        whole => (100.0 * part as f64 / whole as f64) as u64,
    };
    let first_above_0 = |slow: u64, stop: u64| if slow > 0 { slow } else { stop };
    let trigger = |trigger: i32| u64::try_from(trigger).unwrap_or(0);
    let files = first_above_0(
        trigger(options.triggers.level0_slowdown_writes_trigger),
        trigger(options.triggers.level0_stop_writes_trigger),
    );
    let bytes = first_above_0(
        options.triggers.soft_pending_compaction_bytes_limit,
        options.triggers.hard_pending_compaction_bytes_limit,
    );
    percent(load.num_l0_files as u64, files).max(percent(load.pending_compaction_bytes, bytes))
}

/// Returns true if compactions should use more threads although writes run at full speed.
fn wants_speed(load: &Load, options: &Options) -> bool {
    let trigger = i64::from(options.triggers.level0_file_num_compaction_trigger);
    let slowdown = i64::from(options.triggers.level0_slowdown_writes_trigger);
    let l0_limit = if trigger < 0 { i64::MAX } else { (trigger * 2).min(trigger + (slowdown - trigger) / 4) };
    let soft = options.triggers.soft_pending_compaction_bytes_limit;
    let by_soft = soft / 4;
    let pending_limit = match load.bottommost_bytes {
        0 => by_soft,
        bytes => (bytes / 8).max(options.sizes.max_bytes_for_level_base.saturating_mul(2)).min(by_soft),
    };
    // At least ten files that are marked for compaction are a reason for more threads.
    const MANY_MARKED: usize = 10;
    load.num_l0_files as i64 >= l0_limit
        || soft == 0
        || load.pending_compaction_bytes >= pending_limit
        || load.num_marked_files >= MANY_MARKED
}

#[cfg(test)]
mod tests;
