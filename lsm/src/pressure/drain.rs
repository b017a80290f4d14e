//! The rate at which compactions empty level 0.

use crate::pick::Options;

/// The end of a compaction removes more than one of so many parts of level 0.
const SMALLEST_PART: u64 = 4;
/// Times below this are too short for a measurement, in microseconds.
const SHORTEST_US: u64 = 1000;

/// Measures the rate of the last compactions of level 0, from the bytes of its SST files.
///
/// ```text
///  bytes of  ▲          ╱│
///  level 0   │    ╱│  ╱  │
///            │  ╱  │╱    │
///    trigger ├╱          │╱       rate = bytes that went / time since the last end
///            └─────┴─────┴──► time
///                 ends of compactions
/// ```
/// The measurement starts at the end of the last compaction, or when level 0 has `level0_file_num_compaction_trigger` SST files.
/// A compaction within level 0 leaves most of the bytes there, so its end is no end of a measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drain {
    /// The bytes of level 0 at the last look.
    bytes: u64,
    /// The start of the measurement in microseconds. `None` while level 0 is below its trigger.
    since_us: Option<u64>,
    /// The rate at which writers may write, in bytes per second; 0 before the first measurement.
    rate: u64,
}

impl Drain {
    /// Returns a moving average of the measured rates, in bytes per second; 0 before the first measurement. Each new measurement has a
    /// weight of one half.
    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    /// Looks at the present number and bytes of the SST files in level 0.
    pub(super) fn look(&mut self, (files, bytes): (usize, u64), options: &Options, now_us: u64) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        // If level 0 grew, nothing counts as gone: no compaction ended, or flushes added more bytes than a compaction removed.
        let gone = before.saturating_sub(bytes);
        let has_ended = gone > before / SMALLEST_PART;
        if let Some(since_us) = self.since_us
            && has_ended
            && now_us >= since_us.saturating_add(SHORTEST_US)
        {
            self.measured(gone, now_us - since_us);
        }
        let trigger =
            usize::try_from(options.triggers.level0_file_num_compaction_trigger).unwrap_or(usize::MAX);
        if files < trigger {
            self.since_us = None;
        } else if has_ended || self.since_us.is_none() {
            self.since_us = Some(now_us);
        }
    }

    fn measured(&mut self, bytes: u64, micros: u64) {
        let rate = u64::try_from(u128::from(bytes) * 1_000_000 / u128::from(micros)).unwrap_or(u64::MAX);
        self.rate = if self.rate == 0 { rate } else { self.rate / 2 + rate / 2 };
    }
}
