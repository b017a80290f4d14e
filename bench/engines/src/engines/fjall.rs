//! fjall, with its default options and a block cache.

use std::hint::black_box;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Change, Pair, Store, View, in_batches, sum};
use crate::{CACHE_BYTES, Result};

pub struct Fjall {
    db: Database,
    pairs: Keyspace,
}

impl Fjall {
    pub fn open(dir: &Path) -> Result<Fjall> {
        let db = Database::builder(dir).cache_size(CACHE_BYTES as u64).open()?;
        let pairs = db.keyspace("pairs", KeyspaceCreateOptions::default)?;
        Ok(Fjall { db, pairs })
    }
}

impl Store for Fjall {
    fn name(&self) -> &'static str {
        "fjall"
    }

    fn load(&self, pairs: &mut dyn Iterator<Item = Pair>) -> Result<()> {
        in_batches(pairs, |pairs| {
            let mut batch = self.db.batch();
            pairs.iter().for_each(|(key, value)| batch.insert(&self.pairs, &key[..], &value[..]));
            Ok(batch.commit()?)
        })?;
        self.sync()
    }

    fn commit(&self, changes: &[Change], sync: bool) -> Result<()> {
        if let [Change::Put(key, value)] = changes {
            self.pairs.insert(&key[..], &value[..])?;
        } else {
            let mut batch = self.db.batch();
            for change in changes {
                match change {
                    Change::Put(key, value) => batch.insert(&self.pairs, &key[..], &value[..]),
                    Change::Delete(key) => batch.remove(&self.pairs, &key[..]),
                }
            }
            batch.commit()?;
        }
        if sync { self.sync() } else { Ok(()) }
    }

    fn sync(&self) -> Result<()> {
        Ok(self.db.persist(PersistMode::SyncData)?)
    }

    fn view(&self, work: &mut dyn FnMut(&dyn View) -> Result<()>) -> Result<()> {
        work(self)
    }

    fn compact(&self) -> Result<()> {
        Ok(self.pairs.major_compact()?)
    }
}

impl View for Fjall {
    fn get(&self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.pairs.get(key)?.map(|value| sum(&value)))
    }

    fn range(&self, start: &[u8], count: usize) -> Result<usize> {
        let mut read = 0;
        for pair in self.pairs.range(start..).take(count) {
            black_box(pair.into_inner()?);
            read += 1;
        }
        Ok(read)
    }
}
