//! How hard to compress.

/// `compression_opts`: RocksDB 11.8.1's fields and defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionOptions {
    /// zlib only. Default -14.
    pub window_bits: i32,
    /// [`CompressionOptions::DEFAULT_LEVEL`] for each kind's own default.
    pub level: i32,
    /// zlib only. Default 0.
    pub strategy: i32,
    /// Bytes of dictionary for data blocks; 0, the default, for none.
    pub max_dict_bytes: u32,
    /// Bytes of samples from which zstd trains a dictionary; 0, the default, for none.
    pub zstd_max_train_bytes: u32,
    /// Threads that compress the blocks of one file. Default 1.
    pub parallel_threads: u32,
    /// For `bottommost_compression_opts`: whether they apply. Default false.
    pub enabled: bool,
    /// Bytes of data held back while a dictionary is sampled; 0, the default, for the target file size.
    pub max_dict_buffer_bytes: u64,
    /// Default true; false for zstd's raw-content finalisation.
    pub use_zstd_dict_trainer: bool,
    /// A block that does not shrink to that many bytes for each 1024 is stored raw. Default 896.
    pub max_compressed_bytes_per_kb: i32,
    /// A checksum in each zstd frame. Default false.
    pub checksum: bool,
}

impl CompressionOptions {
    /// No level given.
    pub const DEFAULT_LEVEL: i32 = 32767;
}

impl Default for CompressionOptions {
    fn default() -> Self {
        CompressionOptions {
            window_bits: -14,
            level: CompressionOptions::DEFAULT_LEVEL,
            strategy: 0,
            max_dict_bytes: 0,
            zstd_max_train_bytes: 0,
            parallel_threads: 1,
            enabled: false,
            max_dict_buffer_bytes: 0,
            use_zstd_dict_trainer: true,
            max_compressed_bytes_per_kb: 896,
            checksum: false,
        }
    }
}
