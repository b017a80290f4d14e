//! Reading calls, each to its room.

use base::{Pinned, Result};
use lsm::file_meta::FileMetaData;

use super::{Db, DbIterator};
use crate::family::Family;
use crate::iter::{Ground, Iter, Versions};
use crate::options::ReadOptions;
use crate::read::Reads;
use crate::sync::Arc;

impl Db {
    /// The value of a key; a view into the memtable or block it lies in.
    #[inline]
    pub fn get(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        self.inner.reads.get(family, key, options)
    }

    /// Several keys at once, probed and read together; answers in the order asked.
    pub fn multi_get(&self, family: &Family, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Option<Pinned>>> {
        self.inner.reads.multi_get(family, keys, options)
    }

    /// Whether a key may exist, without I/O; the value if it was at hand.
    pub fn key_may_exist(&self, family: &Family, key: &[u8], options: &ReadOptions) -> (bool, Option<Pinned>) {
        self.inner.reads.may_exist(family, key, options)
    }

    /// An iterator over a family.
    ///
    /// # Errors
    /// InvalidArgument for options that do not fit the family.
    pub fn iter(&self, family: &Arc<Family>, options: ReadOptions) -> Result<DbIterator> {
        Ok(DbIterator::new(Iter::new(self.ground(family), options)?, self.clone()))
    }

    /// Every version in the family's memtables and tables, for tools that look inside.
    ///
    /// # Errors
    /// Those of opening tables.
    pub fn versions(&self, family: &Arc<Family>) -> Result<Versions> {
        Versions::new(&self.ground(family))
    }

    fn ground(&self, family: &Arc<Family>) -> Ground {
        Ground {
            family: family.clone(),
            tables: self.inner.tables.clone(),
            sequence: self.inner.tools.sequence.clone(),
            stats: self.inner.tools.stats.clone(),
        }
    }

    /// The open table of `file`, which lies on `level` of the family.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn table(&self, family: &Family, level: usize, file: &FileMetaData) -> Result<Arc<table::sst::Reader>> {
        self.inner.tables.get(&family.parts(), level, file)
    }

    /// The room of point reads, for layers above that read without this handle's conveniences.
    pub fn reads(&self) -> &Reads {
        &self.inner.reads
    }

    /// Reads every block of every table of every family and checks it.
    ///
    /// # Errors
    /// The first Corruption, naming file and offset.
    pub fn verify_checksum(&self) -> Result<()> {
        for family in self.families() {
            let super_version = family.pin_owned();
            let ctx = table::sst::ReadCtx { verify_checksums: true, fill_cache: false, ..Default::default() };
            for (level, file) in super_version.version.files() {
                self.inner.tables.get(&super_version.parts, level, file)?.verify_checksums(&ctx)?;
            }
        }
        Ok(())
    }

    /// A property by RocksDB's name; `None` if there is none of that name.
    pub fn property(&self, family: &Arc<Family>, name: &str) -> Option<String> {
        crate::properties::property(&self.property_ground(), family, name)
    }

    fn property_ground(&self) -> crate::properties::Ground<'_> {
        crate::properties::Ground {
            tables: &self.inner.tables,
            block_cache: &self.inner.block_cache,
            sequence: self.inner.tools.sequence.visible(),
            snapshots: self.inner.tools.snapshots.count(),
            oldest_snapshot: self.inner.tools.snapshots.oldest(),
        }
    }

    /// Sets the statistics behind `rocksdb.stats` back to nothing.
    pub fn reset_stats(&self) {}
}
