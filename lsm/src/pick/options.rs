//! The options that pickers read, with RocksDB's names and defaults. Sizes are in bytes, times in seconds.

use base::Level;

use crate::version::Version;

/// The option `compaction_style`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Leveled compaction.
    #[default]
    Level,
    /// Universal compaction.
    Universal,
    /// FIFO: the oldest SST files are deleted.
    Fifo,
    /// Only manual compactions run.
    None,
}

/// The option `compaction_pri`: which file of a level is compacted first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// The largest file first. Tombstones increase the size by the space that they will free.
    ByCompensatedSize,
    /// The file whose newest entry is oldest first, so that frequently written keys stay in upper levels.
    OldestLargestSeqFirst,
    /// The file whose oldest entry is oldest first: its range was not compacted for the longest time.
    OldestSmallestSeqFirst,
    /// The file with the smallest overlap with the next level relative to its size first.
    #[default]
    MinOverlappingRatio,
    /// The files in key order, each range in turn.
    RoundRobin,
}

/// The option `compaction_options_universal.stop_style`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopStyle {
    /// Compares the next sorted run with the last run that was picked.
    SimilarSize,
    /// Compares the next sorted run with the sum of the runs that were picked. The default.
    #[default]
    TotalSize,
}

/// The option `compaction_options_universal`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniversalOptions {
    /// A sorted run joins the compaction if it is at most this percentage larger than the runs before it.
    pub size_ratio: u32,
    /// The smallest number of sorted runs in one compaction.
    pub min_merge_width: u32,
    /// The largest number of sorted runs in one compaction.
    pub max_merge_width: u32,
    /// The limit of space amplification, in percent of the last sorted run.
    pub max_size_amplification_percent: u32,
    /// The percentage of data, newest first, that stays uncompressed. -1: all output is compressed.
    pub compression_size_percent: i32,
    /// The rule that ends the list of sorted runs.
    pub stop_style: StopStyle,
    /// True if a compaction may move SST files without a rewrite.
    pub allow_trivial_move: bool,
    /// True if a compaction for space amplification may take a part of the sorted runs instead of all data.
    pub incremental: bool,
    /// Number of sorted runs that universal compaction allows without merging them. -1:
    /// `level0_file_num_compaction_trigger`. 0: a number that follows from the sizes.
    pub max_read_amp: i32,
}

impl Default for UniversalOptions {
    fn default() -> Self {
        UniversalOptions {
            size_ratio: 1,
            min_merge_width: 2,
            max_merge_width: u32::MAX,
            max_size_amplification_percent: 200,
            compression_size_percent: -1,
            stop_style: StopStyle::TotalSize,
            allow_trivial_move: false,
            incremental: false,
            max_read_amp: -1,
        }
    }
}

/// One step of the option `compaction_options_fifo.file_temperature_age_thresholds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTemperatureAge {
    /// The temperature that a file gets.
    pub temperature: u8,
    /// The age in seconds from which a file gets the temperature.
    pub age: u64,
}

/// The option `compaction_options_fifo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FifoOptions {
    /// The limit for the bytes of all SST files. Above the limit, the oldest files are deleted.
    pub max_table_files_size: u64,
    /// The limit for the bytes of all SST files and blob files. 0: only `max_table_files_size` limits the
    /// size.
    pub max_data_files_size: u64,
    /// True if small level-0 files are merged.
    pub allow_compaction: bool,
    /// The temperatures by age, youngest first.
    pub file_temperature_age_thresholds: Vec<FileTemperatureAge>,
    /// True if a change of temperature copies the file without a rewrite of its entries.
    pub allow_trivial_copy_when_change_temperature: bool,
    /// True if the size of compactions within level 0 follows from the ratio of keys to values.
    pub use_kv_ratio_compaction: bool,
}

impl Default for FifoOptions {
    fn default() -> Self {
        FifoOptions {
            max_table_files_size: 1 << 30,
            max_data_files_size: 0,
            allow_compaction: false,
            file_temperature_age_thresholds: Vec::new(),
            allow_trivial_copy_when_change_temperature: false,
            use_kv_ratio_compaction: false,
        }
    }
}

/// One of the paths of the column family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathOptions {
    /// The bytes that the directory may hold.
    pub target_size: u64,
}

/// The limits at which garbage in the oldest blob files forces a compaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForcedBlobGc {
    /// Share of the blob files, oldest first, whose values compactions relocate: 0.0 to 1.0.
    pub age_cutoff: f64,
    /// Share of garbage in the bytes of the oldest blob files: 0.0 to 1.0; 1.0 never forces.
    pub threshold: f64,
}

/// The limits that start compactions, and that delay or stop writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Triggers {
    /// The number of level-0 files at which a compaction starts. 0 or less: never.
    pub level0_file_num_compaction_trigger: i32,
    /// The number of level-0 files at which writes are delayed. Negative: never.
    pub level0_slowdown_writes_trigger: i32,
    /// The number of level-0 files at which writes stop.
    pub level0_stop_writes_trigger: i32,
    /// Pending compaction bytes from which writes are delayed. 0: no limit.
    pub soft_pending_compaction_bytes_limit: u64,
    /// Pending compaction bytes from which writes stop. 0: no limit.
    pub hard_pending_compaction_bytes_limit: u64,
}

impl Default for Triggers {
    fn default() -> Self {
        Triggers {
            level0_file_num_compaction_trigger: 4,
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            soft_pending_compaction_bytes_limit: 64 << 30,
            hard_pending_compaction_bytes_limit: 256 << 30,
        }
    }
}

/// The sizes and numbers of the memtables.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteBuffers {
    /// The largest number of memtables of the column family, with the active memtable.
    pub max_write_buffer_number: usize,
    /// The number of immutable memtables that starts a flush.
    pub min_write_buffer_number_to_merge: usize,
    /// The size in bytes at which the active memtable becomes immutable.
    pub write_buffer_size: u64,
}

impl Default for WriteBuffers {
    fn default() -> Self {
        WriteBuffers {
            max_write_buffer_number: 2,
            min_write_buffer_number_to_merge: 1,
            write_buffer_size: 64 << 20,
        }
    }
}

/// The target sizes of the levels.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelSizes {
    /// The target size of level 1 in bytes.
    pub max_bytes_for_level_base: u64,
    /// The ratio of the target sizes of two neighbouring levels.
    pub max_bytes_for_level_multiplier: f64,
    /// A factor for each level, on top of `max_bytes_for_level_multiplier`.
    pub max_bytes_for_level_multiplier_additional: Vec<i32>,
    /// True if the target sizes of the levels follow the size of the last level.
    pub level_compaction_dynamic_level_bytes: bool,
}

impl Default for LevelSizes {
    fn default() -> Self {
        LevelSizes {
            max_bytes_for_level_base: 256 << 20,
            max_bytes_for_level_multiplier: 10.0,
            max_bytes_for_level_multiplier_additional: vec![1; 7],
            level_compaction_dynamic_level_bytes: true,
        }
    }
}

/// The sizes of the output files of compactions.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSizes {
    /// The target size of an SST file of level 1 in bytes.
    pub target_file_size_base: u64,
    /// The ratio of the target file sizes of two neighbouring levels.
    pub target_file_size_multiplier: u32,
    /// True if no SST file may exceed its target size.
    pub target_file_size_is_upper_bound: bool,
    /// The limit for the bytes of one compaction. 0: twenty-five times `target_file_size_base`.
    pub max_compaction_bytes: u64,
    /// True if the limit of compaction bytes ignores the input files.
    pub ignore_max_compaction_bytes_for_input: bool,
}

impl Default for FileSizes {
    fn default() -> Self {
        FileSizes {
            target_file_size_base: 64 << 20,
            target_file_size_multiplier: 1,
            target_file_size_is_upper_bound: false,
            max_compaction_bytes: 0,
            ignore_max_compaction_bytes_for_input: true,
        }
    }
}

/// The times that pickers compare with the age of files and entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Ages {
    /// The age in seconds from which a file is compacted (FIFO: deleted). 0: never.
    pub ttl: u64,
    /// The age in seconds from which a file is compacted again. 0: never.
    pub periodic_compaction_seconds: u64,
    /// The off-peak time of each day (`daily_offpeak_time_utc`), as first and last second since midnight.
    /// Files that would become due for periodic compaction before the next off-peak time are due in this
    /// off-peak time.
    pub offpeak: Option<(u32, u32)>,
    /// Seconds for which a file of only obsolete entries waits before it is marked for compaction.
    pub bottommost_file_compaction_delay: u64,
    /// Entries that are younger than this number of seconds stay out of the last level. 0: no entry does.
    pub preclude_last_level_data_seconds: u64,
    /// Entries that are younger than this number of seconds keep their sequence numbers; at least
    /// `preclude_last_level_data_seconds`. 0: no entry does.
    pub preserve_seconds: u64,
}

impl Default for Ages {
    fn default() -> Self {
        Ages {
            ttl: 30 * 24 * 60 * 60,
            periodic_compaction_seconds: 0,
            offpeak: None,
            bottommost_file_compaction_delay: 0,
            preclude_last_level_data_seconds: 0,
            preserve_seconds: 0,
        }
    }
}

/// The compression of the levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Codecs {
    /// The compression type, as RocksDB's number on disk. The crate `compress` defines the numbers.
    pub compression: u8,
    /// The compression of each level, by its number on disk. Empty: one compression for all levels.
    pub compression_per_level: Vec<u8>,
    /// The compression type of the bottommost level. `None`: `kDisableCompressionOption`.
    pub bottommost_compression: Option<u8>,
    /// The option `bottommost_compression_opts.enabled`.
    pub bottommost_compression_opts_enabled: bool,
}

impl Default for Codecs {
    fn default() -> Self {
        Codecs {
            compression: 1,
            compression_per_level: Vec::new(),
            bottommost_compression: None,
            bottommost_compression_opts_enabled: false,
        }
    }
}

/// The temperatures of new SST files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Temperatures {
    /// The temperature of SST files in the last level.
    pub last_level_temperature: u8,
    /// The temperature of other SST files.
    pub default_write_temperature: u8,
}

/// The current options of a column family for pickers. The caller makes them again when options change.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The compaction style.
    pub style: Style,
    /// The choice among the SST files of a level.
    pub priority: Priority,
    /// The number of levels.
    pub num_levels: usize,
    /// The limits that start compactions, and that delay or stop writes.
    pub triggers: Triggers,
    /// The sizes and numbers of the memtables.
    pub buffers: WriteBuffers,
    /// The target sizes of the levels.
    pub sizes: LevelSizes,
    /// The sizes of the output files of compactions.
    pub files: FileSizes,
    /// The times that pickers compare with the age of files and entries.
    pub ages: Ages,
    /// The compression of the levels.
    pub codecs: Codecs,
    /// The temperatures of new SST files.
    pub temperatures: Temperatures,
    /// True if only manual compactions run.
    pub disable_auto_compactions: bool,
    /// The limits at which garbage in blob files forces compactions. `None`: never.
    pub forced_blob_gc: Option<ForcedBlobGc>,
    /// Read-triggered compaction: an SST file is compacted if its wasted reads for each byte of file size
    /// exceed this value. A read is wasted if the file returns a tombstone, a merge operand, or nothing. 0,
    /// the default, disables read-triggered compaction.
    pub read_triggered_compaction_threshold: f64,
    /// The options of universal compaction.
    pub universal: UniversalOptions,
    /// The options of FIFO compaction.
    pub fifo: FifoOptions,
    /// The paths of the column family; at least one.
    pub paths: Vec<PathOptions>,
    /// True if the last level stays free for files that are ingested behind all data.
    pub allow_ingest_behind: bool,
    /// The largest number of subcompactions of one compaction.
    pub max_subcompactions: u32,
    /// True if the column family has a compaction filter. Manual compactions then rewrite files that they
    /// could move.
    pub has_compaction_filter: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            style: Style::Level,
            priority: Priority::MinOverlappingRatio,
            num_levels: 7,
            triggers: Triggers::default(),
            sizes: LevelSizes::default(),
            files: FileSizes::default(),
            disable_auto_compactions: false,
            ages: Ages::default(),
            forced_blob_gc: None,
            read_triggered_compaction_threshold: 0.0,
            buffers: WriteBuffers::default(),
            codecs: Codecs::default(),
            universal: UniversalOptions::default(),
            fifo: FifoOptions::default(),
            paths: vec![PathOptions { target_size: u64::MAX }],
            allow_ingest_behind: false,
            temperatures: Temperatures::default(),
            max_subcompactions: 1,
            has_compaction_filter: false,
        }
    }
}

impl Options {
    /// Returns `max_compaction_bytes`, or its default if it is 0.
    pub fn max_compaction_bytes(&self) -> u64 {
        match self.files.max_compaction_bytes {
            0 => self.files.target_file_size_base.saturating_mul(25),
            bytes => bytes,
        }
    }

    /// Returns the lowest level that compactions may write to. With `allow_ingest_behind`, the last level belongs to ingested files.
    pub fn last_output_level(&self, version: &Version) -> Level {
        let last = version.last_level();
        if self.allow_ingest_behind { last.above().unwrap_or(last) } else { last }
    }

    /// Returns the target file size of a level. `base_level` is the first level after level 0 that has data. The multiplier acts from
    /// the second level after level 1 on, or with dynamic level sizes from the second level after the base level on (RocksDB
    /// `MaxFileSizeForLevel`).
    pub fn target_file_size(&self, level: Level, base_level: Level) -> u64 {
        let is_dynamic = self.style == Style::Level && self.sizes.level_compaction_dynamic_level_bytes;
        let index = if is_dynamic && level >= base_level {
            level.index() - base_level.index()
        } else {
            level.index()
        };
        // Level 0 has the file size of level 1.
        let steps = index.saturating_sub(1);
        (0..steps.min(64)).fold(self.files.target_file_size_base, |size, _| {
            size.saturating_mul(u64::from(self.files.target_file_size_multiplier.max(1)))
        })
    }

    /// In the off-peak time, returns the seconds from `now` to the start of the next off-peak time. Otherwise
    /// returns 0. Like RocksDB's `OffpeakTimeOption::GetOffpeakTimeInfo`, it counts whole minutes and
    /// includes the last minute. The off-peak time may span midnight.
    pub(crate) fn ahead_of_offpeak(&self, now: u64) -> u64 {
        const DAY: u64 = 24 * 60 * 60;
        let Some((start, end)) = self.ages.offpeak.map(|(start, end)| (u64::from(start), u64::from(end)))
        else {
            return 0;
        };
        base::invariant!(
            start < DAY && end < DAY,
            "the off-peak time from {start} to {end} seconds ends after the day"
        );
        let second = now % DAY;
        let minute = second / 60 * 60;
        let quiet = match start > end {
            true => start <= minute || minute <= end,
            false => start <= minute && minute <= end,
        };
        match quiet {
            true if second < start => start - second,
            true => start + DAY - second,
            false => 0,
        }
    }

    /// Returns the time before which a file was written if `periodic_compaction_seconds` makes it due.
    /// `ahead` is the result of [`Options::ahead_of_offpeak`]. RocksDB always adds `ahead`. With a period
    /// below one day, a file that was just written would then be due again and again. Here `ahead` never
    /// makes a file due that was written in the current off-peak time.
    pub(crate) fn due_before(&self, now: u64, ahead: u64) -> u64 {
        const DAY: u64 = 24 * 60 * 60;
        let period = self.ages.periodic_compaction_seconds;
        // If the period is longer than the time since 1970, no file is due.
        let due = now.saturating_sub(period);
        if ahead == 0 { due } else { due.max((now + ahead).saturating_sub(period.max(DAY))) }
    }

    /// Returns the shortest age in seconds at which an option makes a file due for compaction.
    pub fn shortest_age(&self) -> Option<u64> {
        let temperature = self.fifo.file_temperature_age_thresholds.first().map_or(0, |t| t.age);
        let ages = [
            self.ages.periodic_compaction_seconds,
            self.ages.ttl,
            temperature,
            self.ages.bottommost_file_compaction_delay,
            self.ages.preserve_seconds,
        ];
        ages.into_iter().filter(|&age| age > 0).min()
    }

    /// Returns the value of `max_bytes_for_level_multiplier_additional` for a level, or 1 if there is none.
    pub(crate) fn multiplier_additional(&self, level: Level) -> f64 {
        self.sizes.max_bytes_for_level_multiplier_additional.get(level.index()).map_or(1.0, |&m| f64::from(m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_file_size_grows_from_the_second_level_after_the_first() {
        let sizes = |dynamic: bool, base: u8| {
            let options = Options {
                files: FileSizes {
                    target_file_size_base: 10,
                    target_file_size_multiplier: 3,
                    ..FileSizes::default()
                },
                sizes: LevelSizes { level_compaction_dynamic_level_bytes: dynamic, ..LevelSizes::default() },

                ..Options::default()
            };
            Level::first(7).map(|level| options.target_file_size(level, Level::new(base))).collect::<Vec<_>>()
        };
        // As `MaxFileSizeForLevel` of RocksDB's `options/cf_options.cc`.
        assert_eq!(sizes(false, 1), [10, 10, 30, 90, 270, 810, 2430]);
        assert_eq!(sizes(true, 4)[4..], [10, 10, 30]);
        assert_eq!(sizes(true, 6)[6..], [10]);
        assert_eq!(sizes(true, 4)[0], 10);
    }
}
