//! The settings of universal and FIFO compaction.

use base::Result;
use base::option::parse_map;

use super::enums::{CompactionStopStyle, Temperature};

base::options! {
    /// The settings of the universal compaction style: `compaction_options_universal`. The rows are in the order in which
    /// RocksDB writes the fields.
    #[derive(Copy, Debug, PartialEq, Eq)]
    CompactionOptionsUniversal;

    /// Has no effect: a compaction reserves its files when the compaction is chosen.
    mutable reduce_file_locking: bool = true, since: "10.4";
    /// Lowers space amplification in several small compactions.
    mutable incremental: bool = false;
    /// The percentage of data that is compressed, oldest data first. A negative value compresses all data.
    mutable compression_size_percent: i32 = -1, unit: "percent";
    /// Moves files that overlap no other file to the output level unchanged.
    mutable allow_trivial_move: bool = false;
    /// If the newer runs are larger than this percentage of the oldest run, all runs are compacted.
    mutable max_size_amplification_percent: u32 = 200, unit: "percent";
    /// The largest number of sorted runs in a compaction. The default sets no limit.
    mutable max_merge_width: u32 = u32::MAX, unit: "sorted runs";
    /// Decides how the size of a compaction is compared with the next sorted run.
    mutable stop_style: CompactionStopStyle = CompactionStopStyle::TotalSize;
    /// The smallest number of sorted runs in a compaction. Values below 2 count as 2.
    mutable min_merge_width: u32 = 2, unit: "sorted runs", range: "2 and more";
    /// The number of sorted runs at rest. -1 stands for `level0_file_num_compaction_trigger`. 0 derives the number from the
    /// sizes.
    mutable max_read_amp: i32 = -1, unit: "sorted runs", range: "-1 and more", since: "9.4";
    /// A sorted run joins a compaction if it is at most this percentage larger than the runs before.
    mutable size_ratio: u32 = 1, unit: "percent";
    components
}

base::nested_options!(CompactionOptionsUniversal, parse_map);

base::options! {
    /// The settings of the FIFO compaction style: `compaction_options_fifo`. The rows are in the order in which RocksDB
    /// writes the fields.
    #[derive(Debug, PartialEq, Eq)]
    CompactionOptionsFifo;

    /// Chooses the files to merge by the ratio of keys to values.
    mutable use_kv_ratio_compaction: bool = false, since: "11.0";
    /// The total size of SST files and blob files at which the oldest file is deleted, in bytes. 0 counts SST files only.
    mutable max_data_files_size: u64 = 0, unit: "bytes", since: "11.0";
    /// The size of the buffer of a copy, in bytes, for `allow_trivial_copy_when_change_temperature`. Values below 4096 count
    /// as 4096, and values above 16 MiB count as 16 MiB.
    mutable trivial_copy_buffer_size: u64 = 4096, unit: "bytes", range: "4096 to 16777216", since: "10.3";
    /// A change of temperature copies the file byte by byte, without a read of its entries. false rewrites the file.
    mutable allow_trivial_copy_when_change_temperature: bool = false, since: "10.3";
    /// The temperatures of files by age, in ascending order of age.
    mutable file_temperature_age_thresholds: Vec<FileTemperatureAge> = Vec::new(), since: "8.3";
    /// Merges small files into larger files.
    mutable allow_compaction: bool = false;
    /// Has no effect, as in RocksDB 11.8: `file_temperature_age_thresholds` replaced the field.
    mutable age_for_warm: u64 = 0, unit: "seconds";
    /// The total size of SST files at which the oldest file is deleted, in bytes.
    mutable max_table_files_size: u64 = 1 << 30, unit: "bytes";
    components
}

base::nested_options!(CompactionOptionsFifo, split_fifo, ignored "ttl");

/// Splits the text of the FIFO settings: `{allow_compaction=true;..}`, or in the older form the number
/// `max_table_files_size` alone.
fn split_fifo(text: &str) -> Result<Vec<(String, String)>> {
    match text.trim() {
        "" | "{}" => Ok(Vec::new()),
        size if !size.contains('=') => Ok(vec![("max_table_files_size".to_string(), size.to_string())]),
        fields => parse_map(fields),
    }
}

base::options! {
    /// A temperature for files above an age, in `file_temperature_age_thresholds`.
    #[derive(Copy, Debug, PartialEq, Eq)]
    FileTemperatureAge;

    /// The age at which a file gets the temperature.
    mutable age: u64 = 0, unit: "seconds", since: "8.3";
    /// The temperature of files that are older than `age`.
    mutable temperature: Temperature = Temperature::Unknown, since: "8.3";
    components
}

base::nested_options!(FileTemperatureAge, parse_map);
