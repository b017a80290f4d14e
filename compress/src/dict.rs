//! The dictionary of a file: raw bytes in the file's `rocksdb.compression_dict` block. It is used for data
//! blocks only.

use base::Result;

use crate::{Compression, CompressionOptions};

/// A dictionary for decompression. ZSTD digests it once, on first use. Share the dictionary by reference or
/// `Arc`.
pub struct Dictionary {
    raw: Vec<u8>,
    #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
    pub(crate) zstd: std::sync::OnceLock<crate::zstd::Digested>,
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dictionary({} bytes)", self.raw.len())
    }
}

impl Dictionary {
    /// Creates a dictionary from the contents of the dictionary block.
    pub fn new(raw: Vec<u8>) -> Dictionary {
        Dictionary {
            raw,
            #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
            zstd: std::sync::OnceLock::new(),
        }
    }

    /// Returns the bytes as they are stored in the file.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Returns the approximate memory usage in bytes. The tables of a digested ZSTD dictionary (about 27 KiB)
    /// are not counted.
    pub fn memory_usage_bytes(&self) -> usize {
        self.raw.capacity() + size_of::<Dictionary>()
    }
}

/// Returns how many bytes of samples [`make_dict`] needs for `kind`; 0 if no dictionary is made with these
/// options.
pub fn dict_sample_bytes_max(kind: Compression, options: &CompressionOptions) -> usize {
    match kind {
        Compression::None | Compression::Disabled | Compression::Xpress => 0,
        _ if options.max_dict_bytes == 0 => 0,
        Compression::Zstd if options.zstd_max_train_bytes > 0 => options.zstd_max_train_bytes as usize,
        _ => options.max_dict_bytes as usize,
    }
}

/// Makes the dictionary for a file from `samples`. The samples are complete data blocks, one after another;
/// `lens[i]` is the length of block `i`. The result is empty if the samples are unsuitable; the file then has
/// no dictionary.
///
/// # Errors
/// `NotSupported` if training needs the feature `zstd` and this build does not contain it. `InvalidArgument`
/// if the sum of `lens` is not the length of `samples`.
pub fn make_dict(
    kind: Compression,
    options: &CompressionOptions,
    samples: &[u8],
    lens: &[usize],
) -> Result<Vec<u8>> {
    let longest = options.max_dict_bytes as usize;
    if samples.is_empty() || longest == 0 {
        return Ok(Vec::new());
    }
    if lens.iter().try_fold(0usize, |sum, &len| sum.checked_add(len)) != Some(samples.len()) {
        return Err(base::Error::invalid_argument("dictionary samples: lengths do not add up"));
    }
    if kind == Compression::Zstd && options.zstd_max_train_bytes > 0 {
        #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
        return crate::zstd::train(options, samples, lens);
        #[cfg(not(any(feature = "zstd", feature = "zstd-pure")))]
        return Err(kind.not_supported());
    }
    Ok(samples[..samples.len().min(longest)].to_vec())
}
