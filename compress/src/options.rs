//! Compression options with RocksDB's names and defaults, and their text form.

use base::Result;
use base::option::{not_a, parse_map};

base::options! {
    /// The options of compression: RocksDB's `CompressionOptions`. The rows are in the order in which RocksDB writes the fields.
    #[derive(Copy, Debug, PartialEq, Eq)]
    CompressionOptions;

    /// ZSTD only: frames hold a checksum of their own.
    mutable checksum: bool = false, since: "8.6";
    /// The largest number of bytes of data blocks that wait for the dictionary. 0 stands for the target size of the SST file.
    mutable max_dict_buffer_bytes: u64 = 0, unit: "bytes";
    /// Only for `bottommost_compression_opts`: true applies these settings to the last level.
    mutable enabled: bool = false;
    /// The largest dictionary of an SST file, in bytes. 0 makes no dictionary.
    mutable max_dict_bytes: u32 = 0, unit: "bytes";
    /// Stores a block compressed only if each 1024 bytes become at most this many bytes. Values below 1 store all blocks
    /// uncompressed, and values above 1023 count as 1023.
    mutable max_compressed_bytes_per_kb: i32 = 1024 * 7 / 8, unit: "bytes", range: "1 to 1023", since: "8.3";
    /// The number of threads that compress the blocks of one SST file.
    mutable parallel_threads: u32 = 1, unit: "threads";
    /// The largest number of sample bytes for the trainer of ZSTD. 0 takes the samples as the dictionary.
    mutable zstd_max_train_bytes: u32 = 0, unit: "bytes";
    /// The effort, in the numbers of each library. 32767, the default, stands for zlib 6, ZSTD 3, LZ4 -1
    /// (acceleration 1) and LZ4HC 9. LZ4 and LZ4HC share one scale: values up to 0 are LZ4 with acceleration `-level`, and 1
    /// to 12 are LZ4HC. Snappy and BZip2 have no levels.
    mutable level: i32 = CompressionOptions::DEFAULT_LEVEL;
    /// ZSTD only: the trainer of ZSTD makes the dictionary. If false, ZSTD only adds statistics to the samples.
    mutable use_zstd_dict_trainer: bool = true, since: "7.3";
    /// zlib only: 0 default, 1 filtered, 2 Huffman only, 3 run lengths, 4 fixed codes. Other values count as 0.
    mutable strategy: i32 = 0, range: "0 to 4";
    /// zlib only: the size of the window in bits. A negative value asks for a raw stream. Blocks are always raw, so the sign
    /// has no effect. Sizes outside of 9 to 15 are moved to the nearest end.
    mutable window_bits: i32 = -14, unit: "bits", range: "-15 to -9, 9 to 15";
    components
}

base::nested_options!(CompressionOptions, split);

/// Splits the text form `{level=3;..}` or the older form `window_bits:level:strategy[:max_dict_bytes[:..]]`.
fn split(text: &str) -> Result<Vec<(String, String)>> {
    if text.contains('=') || text.trim().is_empty() || text.trim() == "{}" {
        return parse_map(text);
    }
    const FIELDS: [&str; 9] = [
        "window_bits",
        "level",
        "strategy",
        "max_dict_bytes",
        "zstd_max_train_bytes",
        "parallel_threads",
        "enabled",
        "max_dict_buffer_bytes",
        "use_zstd_dict_trainer",
    ];
    let values: Vec<&str> = text.trim().split(':').collect();
    if !(3..=FIELDS.len()).contains(&values.len()) {
        return Err(not_a("list of compression options", text));
    }
    // `enabled` is older than `parallel_threads`. If there are six values, the sixth is `enabled`.
    let mut fields = FIELDS;
    if values.len() == 6 {
        fields[5] = "enabled";
    }
    Ok(fields.iter().zip(values).map(|(field, value)| (field.to_string(), value.to_string())).collect())
}

impl CompressionOptions {
    /// The level in OPTIONS files that means the default level of each library.
    pub const DEFAULT_LEVEL: i32 = 32767;

    /// Returns the largest payload that is stored compressed for a block of `len` bytes. The payload includes
    /// the size prefix.
    pub fn limit(&self, len: usize) -> usize {
        let per_kb = self.max_compressed_bytes_per_kb.clamp(0, 1023) as u64;
        (len as u64 * per_kb / 1024) as usize
    }
}
