//! Compression as options name it.

use base::{Error, Result};
use compress::Compression;
use format::options_ini::parse_map;

use super::value::{Value, not_a, struct_value};

/// RocksDB's byte for a compression: built in, custom (0x80 to 0xFE), or "no choice made" (0xFF).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompressionType(pub u8);

impl CompressionType {
    pub const NONE: CompressionType = CompressionType(0);
    pub const SNAPPY: CompressionType = CompressionType(1);
    pub const ZLIB: CompressionType = CompressionType(2);
    pub const BZIP2: CompressionType = CompressionType(3);
    pub const LZ4: CompressionType = CompressionType(4);
    pub const LZ4HC: CompressionType = CompressionType(5);
    pub const XPRESS: CompressionType = CompressionType(6);
    pub const ZSTD: CompressionType = CompressionType(7);
    /// `bottommost_compression`: as the other levels.
    pub const DISABLE: CompressionType = CompressionType(0xFF);

    const BUILT_IN: [(u8, &'static str); 9] = [
        (0, "kNoCompression"),
        (1, "kSnappyCompression"),
        (2, "kZlibCompression"),
        (3, "kBZip2Compression"),
        (4, "kLZ4Compression"),
        (5, "kLZ4HCCompression"),
        (6, "kXpressCompression"),
        (7, "kZSTD"),
        (0xFF, "kDisableCompressionOption"),
    ];

    /// The compression behind the byte.
    ///
    /// # Errors
    /// NotSupported for custom ones and for those this build leaves out, by name.
    pub fn kind(self) -> Result<Compression> {
        match Compression::from_u8(self.0) {
            Some(kind) if kind.is_supported() => Ok(kind),
            _ => Err(Error::not_supported(format!("Compression type {}", self.print()))),
        }
    }

    /// RocksDB's word in the LOG: `LZ4`, `NoCompression`.
    pub fn log_name(self) -> String {
        match Compression::from_u8(self.0) {
            Some(kind) => kind.name().to_string(),
            None if self == CompressionType::DISABLE => Compression::Disabled.name().to_string(),
            None => format!("Custom{:02X}", self.0),
        }
    }

    /// Whether it is one of those that a custom compression manager would have to make.
    pub fn is_custom(self) -> bool {
        (0x80..0xFF).contains(&self.0)
    }
}

impl Value for CompressionType {
    fn parse(text: &str) -> Result<Self> {
        let word = text.trim();
        if let Some((byte, _)) = Self::BUILT_IN.iter().find(|(_, name)| *name == word) {
            return Ok(CompressionType(*byte));
        }
        if word == "kZSTDNotFinalCompression" {
            return Ok(CompressionType::ZSTD);
        }
        let custom = word.strip_prefix("kCustomCompression").filter(|hex| hex.len() == 2);
        match custom.and_then(|hex| u8::from_str_radix(hex, 16).ok()).map(CompressionType) {
            Some(custom) if custom.is_custom() => Ok(custom),
            _ => Err(not_a("compression type", text)),
        }
    }

    fn print(&self) -> String {
        match Self::BUILT_IN.iter().find(|(byte, _)| *byte == self.0) {
            Some((_, name)) => (*name).to_string(),
            None => format!("kCustomCompression{:02X}", self.0),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// `compression_opts` and its like: how hard to compress. RocksDB's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressionOptions {
    /// zlib's window; default -14.
    pub window_bits: i32,
    /// Default 32767: each compression's own default.
    pub level: i32,
    /// zlib's strategy; default 0.
    pub strategy: i32,
    /// Bytes of dictionary for a table; 0, the default, means none.
    pub max_dict_bytes: u32,
    /// Bytes of samples from which ZSTD trains a dictionary; 0, the default: samples are the dictionary.
    pub zstd_max_train_bytes: u32,
    /// Threads that compress a table's blocks; default 1.
    pub parallel_threads: u32,
    /// For `bottommost_compression_opts`: whether it is used. Default false.
    pub enabled: bool,
    /// Bytes buffered to make a dictionary from; 0, the default: as the target file size says.
    pub max_dict_buffer_bytes: u64,
    /// ZSTD's trainer rather than its finalizer. Default true.
    pub use_zstd_dict_trainer: bool,
    /// A block that compresses worse is stored as it is: bytes for each 1024. Default 896.
    pub max_compressed_bytes_per_kb: i32,
    /// ZSTD's own checksum in each frame. Default false.
    pub checksum: bool,
}

impl Default for CompressionOptions {
    fn default() -> Self {
        CompressionOptions {
            window_bits: -14,
            level: 32767,
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

struct_value!(
    CompressionOptions, split;
    checksum, max_dict_buffer_bytes, enabled, max_dict_bytes, max_compressed_bytes_per_kb, parallel_threads,
    zstd_max_train_bytes, level, use_zstd_dict_trainer, strategy, window_bits;
    ignored
);

/// `{level=3;..}`, or the older form `window_bits:level:strategy[:max_dict_bytes[:..]]`.
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
    // `enabled` is older than `parallel_threads`: alone in the sixth place it is meant.
    let mut fields = FIELDS;
    if values.len() == 6 {
        fields[5] = "enabled";
    }
    Ok(fields.iter().zip(values).map(|(field, value)| (field.to_string(), value.to_string())).collect())
}

impl From<&CompressionOptions> for compress::CompressionOptions {
    fn from(o: &CompressionOptions) -> Self {
        compress::CompressionOptions {
            window_bits: o.window_bits,
            level: o.level,
            strategy: o.strategy,
            max_dict_bytes: o.max_dict_bytes,
            zstd_max_train_bytes: o.zstd_max_train_bytes,
            parallel_threads: o.parallel_threads,
            enabled: o.enabled,
            max_dict_buffer_bytes: o.max_dict_buffer_bytes,
            use_zstd_dict_trainer: o.use_zstd_dict_trainer,
            max_compressed_bytes_per_kb: o.max_compressed_bytes_per_kb,
            checksum: o.checksum,
        }
    }
}
