//! Ironstone, with its default options, a Bloom filter, and a block cache.

use std::hint::black_box;
use std::path::Path;

use ironstone::{CompactRangeOptions, Db, Options, WriteBatch, WriteOptions};

use super::{Change, Pair, Store, View, in_batches, sum};
use crate::{CACHE_BYTES, Result};

pub struct Ironstone {
    db: Db,
}

impl Ironstone {
    pub fn open(dir: &Path) -> Result<Ironstone> {
        let mut options = Options::default();
        options.db.create_if_missing = true;
        options.update(&format!(
            "block_based_table_factory={{block_cache={CACHE_BYTES};filter_policy=bloomfilter:10}}"
        ))?;
        Ok(Ironstone { db: Db::open(dir, options)? })
    }
}

impl Store for Ironstone {
    fn name(&self) -> &'static str {
        "ironstone"
    }

    fn load(&self, pairs: &mut dyn Iterator<Item = Pair>) -> Result<()> {
        in_batches(pairs, |pairs| {
            let mut batch = WriteBatch::new();
            pairs.iter().for_each(|(key, value)| {
                batch.put(key, value);
            });
            Ok(self.db.write(batch)?)
        })?;
        self.sync()
    }

    fn commit(&self, changes: &[Change], sync: bool) -> Result<()> {
        let options = WriteOptions { sync, ..WriteOptions::default() };
        if let [Change::Put(key, value)] = changes {
            return Ok(self.db.put_with(key, value, &options)?);
        }
        let mut batch = WriteBatch::new();
        for change in changes {
            match change {
                Change::Put(key, value) => batch.put(key, value),
                Change::Delete(key) => batch.delete(key),
            };
        }
        Ok(self.db.write_with(batch, &options)?)
    }

    fn sync(&self) -> Result<()> {
        Ok(self.db.flush_wal(true)?)
    }

    fn view(&self, work: &mut dyn FnMut(&dyn View) -> Result<()>) -> Result<()> {
        work(self)
    }

    fn compact(&self) -> Result<()> {
        Ok(self.db.compact_range(None, None, &CompactRangeOptions::default())?)
    }
}

impl View for Ironstone {
    fn get(&self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.db.get(key)?.map(|value| sum(&value)))
    }

    fn range(&self, start: &[u8], count: usize) -> Result<usize> {
        let mut iter = self.db.iter()?;
        iter.seek(start);
        let mut read = 0;
        while iter.valid() && read < count {
            black_box((iter.key(), iter.value()));
            iter.next();
            read += 1;
        }
        iter.status()?;
        Ok(read)
    }
}
