//! redb, with its default options and a cache.

use std::hint::black_box;
use std::path::Path;

use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, TableDefinition};

use super::{Change, Pair, Store, View, sum};
use crate::{CACHE_BYTES, Result};

const PAIRS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("pairs");

pub struct Redb {
    db: Database,
}

impl Redb {
    pub fn open(dir: &Path) -> Result<Redb> {
        let db = Database::builder().set_cache_size(CACHE_BYTES).create(dir.join("pairs.redb"))?;
        let redb = Redb { db };
        redb.sync()?;
        Ok(redb)
    }

    fn write(&self, durability: Durability, pairs: &mut dyn Iterator<Item = Change>) -> Result<()> {
        let mut transaction = self.db.begin_write()?;
        transaction.set_durability(durability)?;
        let mut table = transaction.open_table(PAIRS)?;
        for change in pairs {
            match change {
                Change::Put(key, value) => drop(table.insert(&key[..], &value[..])?),
                Change::Delete(key) => drop(table.remove(&key[..])?),
            }
        }
        drop(table);
        Ok(transaction.commit()?)
    }
}

impl Store for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn load(&self, pairs: &mut dyn Iterator<Item = Pair>) -> Result<()> {
        self.write(Durability::Immediate, &mut pairs.map(|(key, value)| Change::Put(key, value)))
    }

    fn commit(&self, changes: &[Change], sync: bool) -> Result<()> {
        let durability = if sync { Durability::Immediate } else { Durability::None };
        let copies = changes.iter().map(|change| match change {
            Change::Put(key, value) => Change::Put(*key, *value),
            Change::Delete(key) => Change::Delete(*key),
        });
        self.write(durability, &mut { copies })
    }

    fn sync(&self) -> Result<()> {
        self.write(Durability::Immediate, &mut std::iter::empty())
    }

    fn view(&self, work: &mut dyn FnMut(&dyn View) -> Result<()>) -> Result<()> {
        work(&Table(self.db.begin_read()?.open_table(PAIRS)?))
    }

    fn compact(&self) -> Result<()> {
        // `compact` needs the database alone, and the size on disk is measured before the database is dropped.
        Ok(())
    }
}

struct Table(ReadOnlyTable<&'static [u8], &'static [u8]>);

impl View for Table {
    fn get(&self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.0.get(key)?.map(|value| sum(value.value())))
    }

    fn range(&self, start: &[u8], count: usize) -> Result<usize> {
        let mut read = 0;
        for pair in self.0.range(start..)?.take(count) {
            let (key, value) = pair?;
            black_box((key.value(), value.value()));
            read += 1;
        }
        Ok(read)
    }
}
