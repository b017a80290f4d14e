//! The settings of universal and FIFO compaction.

use base::Result;
use format::options_ini;

use super::enums::{CompactionStopStyle, Temperature};
use super::value::{Value, not_a, struct_value};

/// `compaction_options_universal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionOptionsUniversal {
    /// Percent by which the next run may be larger and still join. Default 1.
    pub size_ratio: u32,
    /// Default 2.
    pub min_merge_width: u32,
    /// Default: no limit.
    pub max_merge_width: u32,
    /// Percent of the oldest run's size that all others may take. Default 200.
    pub max_size_amplification_percent: u32,
    /// Percentage of data, oldest first, that is compressed; -1, the default: all of it.
    pub compression_size_percent: i32,
    /// How many runs may be there; -1, the default: `level0_file_num_compaction_trigger`; 0: derived
    /// from the size ratio.
    pub max_read_amp: i32,
    pub stop_style: CompactionStopStyle,
    /// Default false.
    pub allow_trivial_move: bool,
    /// Default false.
    pub incremental: bool,
    /// Default true.
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

struct_value!(
    CompactionOptionsUniversal, options_ini::parse_map;
    reduce_file_locking, incremental, compression_size_percent, allow_trivial_move,
    max_size_amplification_percent, max_merge_width, stop_style, min_merge_width, max_read_amp, size_ratio;
    ignored
);

/// `compaction_options_fifo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptionsFifo {
    /// Bytes of tables at which the oldest goes. Default 1 GiB.
    pub max_table_files_size: u64,
    /// Small files are merged meanwhile. Default false.
    pub allow_compaction: bool,
    /// Seconds; older name of one threshold. Default 0, off.
    pub age_for_warm: u64,
    /// Ascending by age.
    pub file_temperature_age_thresholds: Vec<FileTemperatureAge>,
    /// Default false.
    pub allow_trivial_copy_when_change_temperature: bool,
    /// Bytes. Default 4096.
    pub trivial_copy_buffer_size: u64,
    /// Bytes of tables and blobs at which the oldest goes; 0, the default, counts tables alone.
    pub max_data_files_size: u64,
    /// Default false.
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

struct_value!(
    CompactionOptionsFifo, split_fifo;
    use_kv_ratio_compaction, max_data_files_size, trivial_copy_buffer_size,
    allow_trivial_copy_when_change_temperature, file_temperature_age_thresholds, allow_compaction,
    age_for_warm, max_table_files_size;
    ignored "ttl"
);

/// `{allow_compaction=true;..}`, or the older form: `max_table_files_size` alone.
fn split_fifo(text: &str) -> Result<Vec<(String, String)>> {
    match text.trim() {
        "" | "{}" => Ok(Vec::new()),
        size if !size.contains('=') => Ok(vec![("max_table_files_size".to_string(), size.to_string())]),
        fields => options_ini::parse_map(fields),
    }
}

/// Files older than `age` seconds get this temperature: `{temperature=kWarm;age=3600;}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTemperatureAge {
    pub temperature: Temperature,
    pub age: u64,
}

impl Value for FileTemperatureAge {
    fn parse(text: &str) -> Result<Self> {
        let mut value = FileTemperatureAge::default();
        for (name, text) in options_ini::parse_map(text)? {
            match name.as_str() {
                "temperature" => value.temperature = Value::parse(&text)?,
                "age" => value.age = Value::parse(&text)?,
                _ => return Err(not_a("field of file_temperature_age_thresholds", &name)),
            }
        }
        Ok(value)
    }

    fn print(&self) -> String {
        format!("{{age={};temperature={};}}", self.age, self.temperature.name())
    }
}
