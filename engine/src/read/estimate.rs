//! Estimates the size of a key range without reading its entries.

use std::borrow::Cow;

use base::Result;
use base::key::{self, MAX_SEQUENCE, seek_key};
use lsm::version::BlobTotals;

use super::Reads;
use crate::family::{Family, SuperVersion};
use crate::options::SizeApproximationOptions;
use crate::source::size_in_file;

impl Reads {
    /// Estimates the number of entries and bytes that the memtables have in `[begin, end)`. Costs two lookups for
    /// each memtable. If the range ends before it starts, both numbers are 0.
    pub fn memtable_stats(&self, family: &Family, begin: &[u8], end: &[u8]) -> (u64, u64) {
        let super_version = family.pin();
        let (begin, end) = (&*stamped(family, begin), &*stamped(family, end));
        let mems = std::iter::once(&super_version.mem).chain(super_version.imm.iter());
        mems.map(|mem| mem.approximate_stats(begin, end))
            .fold((0, 0), |(entries, bytes), (more, more_bytes)| (entries + more, bytes + more_bytes))
    }

    /// Estimates the bytes of `[begin, end)` in the SST files, blob files and memtables that `options` select. The
    /// bytes in blob files are estimated from the bytes in SST files, as if each SST file had the same share of
    /// blob bytes.
    ///
    /// # Errors
    /// An error of opening SST files or reading their indexes. InvalidArgument if `options` select nothing.
    pub fn approximate_size(
        &self,
        family: &Family,
        begin: &[u8],
        end: &[u8],
        options: &SizeApproximationOptions,
    ) -> Result<u64> {
        let files = options.include_files || options.include_blob_files;
        if !files && !options.include_memtables {
            return Err(base::Error::invalid_argument("neither files nor memtables are to be counted"));
        }
        let order = family.order();
        if order.user.compare_stripped(begin, end).is_ge() {
            return Ok(0);
        }
        let mut total = 0;
        if options.include_memtables {
            total += self.memtable_stats(family, begin, end).1;
        }
        if !files {
            return Ok(total);
        }
        let super_version = family.pin();
        let sst_bytes = self.sst_size(&super_version, family, (begin, end))?;
        if options.include_files {
            total += sst_bytes;
        }
        let all_sst_bytes = super_version.version.total_bytes();
        if options.include_blob_files && all_sst_bytes > 0 {
            let blob_bytes = BlobTotals::of(super_version.version.blobs()).file_bytes;
            total += (sst_bytes as f64 * (blob_bytes as f64 / all_sst_bytes as f64)) as u64;
        }
        Ok(total)
    }

    /// Estimates the bytes of `[begin, end)` in the SST files.
    fn sst_size(
        &self,
        super_version: &SuperVersion,
        family: &Family,
        (begin, end): (&[u8], &[u8]),
    ) -> Result<u64> {
        let order = family.order();
        let mut total = 0;
        let from = seek_key(&stamped(family, begin), MAX_SEQUENCE);
        let to = seek_key(&stamped(family, end), MAX_SEQUENCE);
        base::invariant!(order.compare(&from, &to).is_lt(), "the range of an estimate ends before it starts");
        for (level, file) in super_version.version.files() {
            total += size_in_file(&self.tables, &super_version.parts, (level, file), (&from, &to))?;
        }
        Ok(total)
    }
}

/// Returns the user key that is before all entries of `key`. `key` has no timestamp.
fn stamped<'k>(family: &Family, key: &'k [u8]) -> Cow<'k, [u8]> {
    match family.order().user.timestamp_size() {
        0 => Cow::Borrowed(key),
        size => Cow::Owned(key::with_newest_timestamp(key, size)),
    }
}
