//! The settings of universal and FIFO compaction.

use base::Result;
use base::option::{Release, Value, not_a, parse_map};

use super::enums::{CompactionStopStyle, Temperature};

/// The settings of the universal compaction style: `compaction_options_universal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionOptionsUniversal {
    /// A sorted run joins a compaction if it is at most this percentage larger than the runs before. Default: 1.
    pub size_ratio: u32,
    /// The smallest number of sorted runs in a compaction. Default: 2.
    pub min_merge_width: u32,
    /// The largest number of sorted runs in a compaction. Default: no limit.
    pub max_merge_width: u32,
    /// If the newer runs are larger than this percentage of the oldest run, all runs are compacted. Default: 200.
    pub max_size_amplification_percent: u32,
    /// The percentage of data that is compressed, oldest data first. -1 compresses all data. Default: -1.
    pub compression_size_percent: i32,
    /// The number of sorted runs at rest. -1 stands for `level0_file_num_compaction_trigger`. 0 derives the number from
    /// the sizes. Default: -1.
    pub max_read_amp: i32,
    /// Decides how the size of a compaction is compared with the next sorted run. Default: by total size.
    pub stop_style: CompactionStopStyle,
    /// Moves files that overlap no other file to the output level unchanged. Default: false.
    pub allow_trivial_move: bool,
    /// Lowers space amplification in several small compactions. Default: false.
    pub incremental: bool,
    /// Has no effect: a compaction reserves its files when the compaction is chosen. Default: true.
    pub reduce_file_locking: bool,
}

impl Default for CompactionOptionsUniversal {
    fn default() -> Self {
        CompactionOptionsUniversal {
            size_ratio: 1,
            min_merge_width: 2,
            max_merge_width: u32::MAX,
            max_size_amplification_percent: 200,
            compression_size_percent: -1,
            max_read_amp: -1,
            stop_style: CompactionStopStyle::TotalSize,
            allow_trivial_move: false,
            incremental: false,
            reduce_file_locking: true,
        }
    }
}

base::option_struct!(
    CompactionOptionsUniversal, parse_map;
    reduce_file_locking since "10.4", incremental, compression_size_percent, allow_trivial_move,
    max_size_amplification_percent, max_merge_width, stop_style, min_merge_width,
    max_read_amp since "9.4", size_ratio;
    ignored
);

/// The settings of the FIFO compaction style: `compaction_options_fifo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptionsFifo {
    /// The total size of SST files at which the oldest file is deleted, in bytes. Default: 1 GiB.
    pub max_table_files_size: u64,
    /// Merges small files into larger files. Default: false.
    pub allow_compaction: bool,
    /// Has no effect, as in RocksDB 11.8: `file_temperature_age_thresholds` replaced the field. Default: 0 seconds.
    pub age_for_warm: u64,
    /// The temperatures of files by age, in ascending order of age. Default: none.
    pub file_temperature_age_thresholds: Vec<FileTemperatureAge>,
    /// A change of temperature copies the file byte by byte, without a read of its entries. false rewrites the file.
    /// Default: false.
    pub allow_trivial_copy_when_change_temperature: bool,
    /// The size of the buffer of a copy, in bytes, for `allow_trivial_copy_when_change_temperature`. Values below 4096 count
    /// as 4096, and values above 16 MiB count as 16 MiB. Default: 4096.
    pub trivial_copy_buffer_size: u64,
    /// The total size of SST files and blob files at which the oldest file is deleted, in bytes. 0 counts SST files only.
    /// Default: 0.
    pub max_data_files_size: u64,
    /// Chooses the files to merge by the ratio of keys to values. Default: false.
    pub use_kv_ratio_compaction: bool,
}

impl Default for CompactionOptionsFifo {
    fn default() -> Self {
        CompactionOptionsFifo {
            max_table_files_size: 1 << 30,
            allow_compaction: false,
            age_for_warm: 0,
            file_temperature_age_thresholds: Vec::new(),
            allow_trivial_copy_when_change_temperature: false,
            trivial_copy_buffer_size: 4096,
            max_data_files_size: 0,
            use_kv_ratio_compaction: false,
        }
    }
}

base::option_struct!(
    CompactionOptionsFifo, split_fifo;
    use_kv_ratio_compaction since "11.0", max_data_files_size since "11.0", trivial_copy_buffer_size since "10.3",
    allow_trivial_copy_when_change_temperature since "10.3", file_temperature_age_thresholds since "8.3",
    allow_compaction,
    age_for_warm, max_table_files_size;
    ignored "ttl"
);

/// Splits the text of the FIFO settings: `{allow_compaction=true;..}`, or in the older form the number
/// `max_table_files_size` alone.
fn split_fifo(text: &str) -> Result<Vec<(String, String)>> {
    match text.trim() {
        "" | "{}" => Ok(Vec::new()),
        size if !size.contains('=') => Ok(vec![("max_table_files_size".to_string(), size.to_string())]),
        fields => parse_map(fields),
    }
}

/// A temperature for files above an age. The text is `{temperature=kWarm;age=3600;}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTemperatureAge {
    /// The temperature of files that are older than `age`.
    pub temperature: Temperature,
    /// The age in seconds.
    pub age: u64,
}

impl Value for FileTemperatureAge {
    fn parse(text: &str) -> Result<Self> {
        let mut value = FileTemperatureAge::default();
        for (name, text) in parse_map(text)? {
            match name.as_str() {
                "temperature" => value.temperature = Value::parse(&text)?,
                "age" => value.age = Value::parse(&text)?,
                _ => return Err(not_a("field of file_temperature_age_thresholds", &name)),
            }
        }
        Ok(value)
    }

    fn print(&self) -> String {
        self.print_for(Release::NEWEST)
    }

    fn print_for(&self, release: Release) -> String {
        format!("{{age={};temperature={};}}", self.age, self.temperature.print_for(release))
    }
}
