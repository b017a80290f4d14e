//! The settings of a compressor, named and defaulted as RocksDB's `CompressionOptions`.

/// RocksDB's `CompressionOptions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompressionOptions {
    /// zlib only: the size of the window in bits, negative for a raw stream. Blocks are always raw, so the
    /// sign does not matter here; sizes outside 9 to 15 are brought there. Default −14.
    pub window_bits: i32,
    /// Effort, each library in its own numbers; [`Self::DEFAULT_LEVEL`] (the default) is zlib 6, ZSTD 3, LZ4 −1
    /// (acceleration 1), LZ4HC 9. LZ4 and LZ4HC share one axis: 0 and below is LZ4 with acceleration
    /// `-level`, 1 to 12 is LZ4HC. Snappy and BZip2 have none.
    pub level: i32,
    /// zlib only: 0 default, 1 filtered, 2 Huffman only, 3 run lengths, 4 fixed codes. Default 0.
    pub strategy: i32,
    /// Longest dictionary made for a file, in bytes; 0 (the default) is none.
    pub max_dict_bytes: u32,
    /// Most sample bytes given to ZSTD's trainer; 0 (the default) takes samples as the dictionary.
    pub zstd_max_train_bytes: u32,
    /// Threads compressing for one table writer. Default 1.
    pub parallel_threads: u32,
    /// Whether these options were set by the user (matters to `bottommost_compression_opts`). Default false.
    pub enabled: bool,
    /// Most bytes of data blocks held back to sample a dictionary from; 0 (the default) is no limit.
    pub max_dict_buffer_bytes: u64,
    /// ZSTD: whether a dictionary is made by the trainer (default), with statistics in front of chosen
    /// content. Otherwise the samples themselves are the dictionary, without statistics.
    pub use_zstd_dict_trainer: bool,
    /// A block is stored compressed only if each 1024 bytes become at most so many; 1 to 1023. Default 896.
    pub max_compressed_bytes_per_kb: i32,
    /// ZSTD: whether frames carry a checksum of their own. Default false.
    pub checksum: bool,
}

impl Default for CompressionOptions {
    fn default() -> Self {
        CompressionOptions {
            window_bits: -14,
            level: Self::DEFAULT_LEVEL,
            strategy: 0,
            max_dict_bytes: 0,
            zstd_max_train_bytes: 0,
            parallel_threads: 1,
            enabled: false,
            max_dict_buffer_bytes: 0,
            use_zstd_dict_trainer: true,
            max_compressed_bytes_per_kb: 1024 * 7 / 8,
            checksum: false,
        }
    }
}

impl CompressionOptions {
    /// "The library's own default level", as OPTIONS files write it.
    pub const DEFAULT_LEVEL: i32 = 32767;

    /// Longest payload worth storing for a block of `len` bytes, size prefix included.
    pub fn limit(&self, len: usize) -> usize {
        let per_kb = self.max_compressed_bytes_per_kb.clamp(0, 1023) as u64;
        (len as u64 * per_kb / 1024) as usize
    }
}
