//! The memory outside of the block cache that a column family charges to its block cache (`cache_usage_options`).
//!
//! ```text
//!  table readers   charged while a table is open          (`AnyReader::charge_to`)
//!  file metadata   charged while a version has the file   (`TableFile::charge_to`)
//!  blob cache      its usage, once for each block cache   (`Cache::charge_usage_to`)
//! ```
//! A memory budget charges other memory to the same block cache, so no byte is charged twice. Facts: RocksDB
//! `db/version_builder.cc`, `db/blob/blob_source.cc`, `table/block_based/block_based_table_factory.cc`.

use base::Result;
use lsm::table_file::TableFile;
use mem::cache::{Ledger, Role};
use table::any::AnyReader;
use table::options::{Charged, no_charge};

use super::parts::BlobCache;
use super::{Caches, Parts};
use crate::sync::Arc;

impl Parts {
    /// Charges the memory of an open table, if the options ask for the charge.
    ///
    /// # Errors
    /// Aborted with `Subcode::MemoryLimit` if the block cache has a strict limit and no room.
    pub fn charge_reader(&self, reader: &AnyReader) -> Result<()> {
        match self.ledger(self.table.cache_usage_options.block_based_table_reader) {
            Some(ledger) => reader.charge_to(ledger),
            None => Ok(()),
        }
    }

    fn ledger(&self, charged: Charged) -> Option<Arc<dyn Ledger>> {
        let cache = self.caches.blocks.clone().filter(|_| charged == Charged::Enabled)?;
        Some(cache)
    }

    /// Charges the metadata of the files of a version, if the options ask for the charge.
    ///
    /// # Errors
    /// Aborted with `Subcode::MemoryLimit` if the block cache has a strict limit and no room.
    pub fn charge_files<'f>(&self, mut files: impl Iterator<Item = &'f Arc<TableFile>>) -> Result<()> {
        match self.ledger(self.table.cache_usage_options.file_metadata) {
            Some(ledger) => files.try_for_each(|file| file.charge_to(&ledger)),
            None => Ok(()),
        }
    }

    /// Charges the usage of the blob cache to the block cache, if the options ask for the charge.
    ///
    /// # Errors
    /// InvalidArgument if the column family has no blob cache, if both caches are the same, or if the blob cache has the larger
    /// capacity.
    pub fn with_blob_charge(self) -> Result<Parts> {
        let wanted = self.table.cache_usage_options.blob_cache == Charged::Enabled;
        // `no_block_cache` is refused with the table options.
        let Some(block_cache) = self.caches.blocks.clone().filter(|_| wanted) else { return Ok(self) };
        let refused = |why| Err(no_charge(Role::BlobCache, why));
        let Some(blob_cache) = &self.caches.blobs else { return refused("blob cache is not configured") };
        if Arc::ptr_eq(&blob_cache.cache, &block_cache) {
            return refused("blob cache is the same as block cache");
        }
        if blob_cache.capacity() > block_cache.capacity() {
            return refused("blob cache capacity is larger than block cache capacity");
        }
        let charge = Some(blob_cache.charge_usage_to(block_cache));
        let blob_cache = Some(BlobCache { charge, ..blob_cache.clone() });
        Ok(Parts { caches: Caches { blobs: blob_cache, ..self.caches.clone() }, ..self })
    }
}
