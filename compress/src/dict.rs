//! A file's dictionary: raw bytes in its `rocksdb.compression_dict` block, for data blocks only.

use base::Result;

use crate::{Compression, CompressionOptions};

/// A dictionary ready for decompression. ZSTD digests it once, here; share it by reference or `Arc`.
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
    /// Takes the contents of the dictionary block.
    pub fn new(raw: Vec<u8>) -> Dictionary {
        Dictionary {
            raw,
            #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
            zstd: std::sync::OnceLock::new(),
        }
    }

    /// The bytes as they lie in the file.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Bytes held, roughly: a digested ZSTD dictionary adds about 27 KiB of tables.
    pub fn memory_usage_bytes(&self) -> usize {
        self.raw.capacity() + size_of::<Dictionary>()
    }
}

/// How many bytes of samples [`make_dict`] wants for `kind`; 0 when these options make no dictionary.
pub fn dict_sample_bytes_max(kind: Compression, options: &CompressionOptions) -> usize {
    match kind {
        Compression::None | Compression::Disabled | Compression::Xpress => 0,
        _ if options.max_dict_bytes == 0 => 0,
        Compression::Zstd if options.zstd_max_train_bytes > 0 => options.zstd_max_train_bytes as usize,
        _ => options.max_dict_bytes as usize,
    }
}

/// The dictionary for a file from `samples`, whole data blocks one after the other, `lens[i]` bytes each.
/// Empty when there is nothing to learn from them; a file then has no dictionary.
///
/// # Errors
/// `NotSupported` when training needs the `zstd` feature and it is off; `InvalidArgument` when `lens` do not
/// add up to `samples`.
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
