//! The rate at which compactions empty level 0.

use crate::pick::Options;

/// Times below this are too short for a measurement, in microseconds.
const SHORTEST_US: u64 = 1000;

/// Measures the rate of the last compactions of level 0, from the number of its SST files.
///
/// ```text
///  SST files ▲          ╱│
///            │    ╱│  ╱  │        each SST file counts as one full memtable
///            │  ╱  │╱    │
///    trigger ├╱          │╱       rate = SST files that went / time since the last end
///            └─────┴─────┴──► time
///                 ends of compactions
/// ```
/// The measurement starts at the end of the last compaction, or when level 0 reaches `level0_file_num_compaction_trigger`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drain {
    /// The number of SST files at the last look.
    files: usize,
    /// The start of the measurement in microseconds. `None` while level 0 is below its trigger.
    since_us: Option<u64>,
    /// Bytes of writers for each second; 0 before the first measurement.
    rate: u64,
}

impl Drain {
    /// Returns the measured rate in bytes per second, the mean of the last measurements; 0 if there is none.
    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    /// Looks at the present number of SST files in level 0.
    pub(super) fn look(&mut self, files: usize, options: &Options, now_us: u64) {
        // More files mean that no compaction of level 0 has ended, or that more flushes have.
        let gone = self.files.saturating_sub(files) as u64;
        self.files = files;
        if let Some(since_us) = self.since_us
            && gone > 0
            && now_us >= since_us.saturating_add(SHORTEST_US)
        {
            self.measured(gone, options.write_buffer_size, now_us - since_us);
        }
        let trigger = usize::try_from(options.level0_file_num_compaction_trigger).unwrap_or(usize::MAX);
        if files < trigger {
            self.since_us = None;
        } else if gone > 0 || self.since_us.is_none() {
            self.since_us = Some(now_us);
        }
    }

    fn measured(&mut self, files: u64, file_bytes: u64, micros: u64) {
        let bytes = u128::from(files) * u128::from(file_bytes);
        let rate = u64::try_from(bytes * 1_000_000 / u128::from(micros)).unwrap_or(u64::MAX);
        self.rate = if self.rate == 0 { rate } else { self.rate / 2 + rate / 2 };
    }
}
