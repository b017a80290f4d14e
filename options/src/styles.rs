//! The settings of universal and FIFO compaction.

use base::Result;
use base::option::{Release, Value, not_a, parse_map};

use super::enums::{CompactionStopStyle, Temperature};

base::options! {
    /// The settings of the universal compaction style: `compaction_options_universal`.
    #[derive(Copy, Debug, PartialEq, Eq)]
    CompactionOptionsUniversal;

    /// A sorted run joins a compaction if it is at most this percentage larger than the runs before.
    mutable size_ratio: u32 = 1, unit: "percent";
    /// The smallest number of sorted runs in a compaction.
    mutable min_merge_width: u32 = 2, unit: "sorted runs";
    /// The largest number of sorted runs in a compaction. The default sets no limit.
    mutable max_merge_width: u32 = u32::MAX, unit: "sorted runs";
    /// If the newer runs are larger than this percentage of the oldest run, all runs are compacted.
    mutable max_size_amplification_percent: u32 = 200, unit: "percent";
    /// The percentage of data that is compressed, oldest data first. -1 compresses all data.
    mutable compression_size_percent: i32 = -1, unit: "percent";
    /// The number of sorted runs at rest. -1 stands for `level0_file_num_compaction_trigger`. 0 derives the number from the
    /// sizes.
    mutable max_read_amp: i32 = -1, unit: "sorted runs", since: "9.4";
    /// Decides how the size of a compaction is compared with the next sorted run.
    mutable stop_style: CompactionStopStyle = CompactionStopStyle::TotalSize;
    /// Moves files that overlap no other file to the output level unchanged.
    mutable allow_trivial_move: bool = false;
    /// Lowers space amplification in several small compactions.
    mutable incremental: bool = false;
    /// Has no effect: a compaction reserves its files when the compaction is chosen.
    mutable reduce_file_locking: bool = true, since: "10.4";
    components
}

base::option_struct!(
    CompactionOptionsUniversal, parse_map;
    reduce_file_locking since "10.4", incremental, compression_size_percent, allow_trivial_move,
    max_size_amplification_percent, max_merge_width, stop_style, min_merge_width,
    max_read_amp since "9.4", size_ratio;
    ignored
);

base::options! {
    /// The settings of the FIFO compaction style: `compaction_options_fifo`.
    #[derive(Debug, PartialEq, Eq)]
    CompactionOptionsFifo;

    /// The total size of SST files at which the oldest file is deleted, in bytes.
    mutable max_table_files_size: u64 = 1 << 30, unit: "bytes";
    /// Merges small files into larger files.
    mutable allow_compaction: bool = false;
    /// Has no effect, as in RocksDB 11.8: `file_temperature_age_thresholds` replaced the field.
    mutable age_for_warm: u64 = 0, unit: "seconds";
    /// The temperatures of files by age, in ascending order of age.
    mutable file_temperature_age_thresholds: Vec<FileTemperatureAge> = Vec::new(), since: "8.3";
    /// A change of temperature copies the file byte by byte, without a read of its entries. false rewrites the file.
    mutable allow_trivial_copy_when_change_temperature: bool = false, since: "10.3";
    /// The size of the buffer of a copy, in bytes, for `allow_trivial_copy_when_change_temperature`. Values below 4096 count
    /// as 4096, and values above 16 MiB count as 16 MiB.
    mutable trivial_copy_buffer_size: u64 = 4096, unit: "bytes", since: "10.3";
    /// The total size of SST files and blob files at which the oldest file is deleted, in bytes. 0 counts SST files only.
    mutable max_data_files_size: u64 = 0, unit: "bytes", since: "11.0";
    /// Chooses the files to merge by the ratio of keys to values.
    mutable use_kv_ratio_compaction: bool = false, since: "11.0";
    components
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
