//! LMDB through heed. LMDB reads from a memory map, and has no cache of its own.

use std::hint::black_box;
use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, FlagSetMode, RoTxn, WithTls};

use super::{Change, Pair, Store, View, sum};
use crate::Result;

/// The largest size of the database in bytes.
const MAP_BYTES: usize = 64 << 30;

pub struct Lmdb {
    env: Env,
    pairs: Database<Bytes, Bytes>,
}

impl Lmdb {
    pub fn open(dir: &Path) -> Result<Lmdb> {
        // SAFETY: no other process uses the new directory, and this process opens it once.
        let env = unsafe { EnvOpenOptions::new().map_size(MAP_BYTES).max_readers(64).open(dir)? };
        let mut transaction = env.write_txn()?;
        let pairs = env.create_database(&mut transaction, None)?;
        transaction.commit()?;
        Ok(Lmdb { env, pairs })
    }

    fn write(&self, changes: &mut dyn Iterator<Item = Change>) -> Result<()> {
        let mut transaction = self.env.write_txn()?;
        for change in changes {
            match change {
                Change::Put(key, value) => self.pairs.put(&mut transaction, &key, &value)?,
                Change::Delete(key) => drop(self.pairs.delete(&mut transaction, &key)?),
            }
        }
        Ok(transaction.commit()?)
    }

    fn set_sync(&self, on: bool) -> Result<()> {
        let mode = if on { FlagSetMode::Disable } else { FlagSetMode::Enable };
        // SAFETY: only the writing thread changes the flag, between two transactions. Without the flag `WRITE_MAP`, a crash of
        // this process leaves a sound database.
        Ok(unsafe { self.env.set_flags(EnvFlags::NO_SYNC, mode)? })
    }
}

impl Store for Lmdb {
    fn name(&self) -> &'static str {
        "lmdb"
    }

    fn load(&self, pairs: &mut dyn Iterator<Item = Pair>) -> Result<()> {
        self.write(&mut pairs.map(|(key, value)| Change::Put(key, value)))
    }

    fn commit(&self, changes: &[Change], sync: bool) -> Result<()> {
        self.set_sync(sync)?;
        let copies = changes.iter().map(|change| match change {
            Change::Put(key, value) => Change::Put(*key, *value),
            Change::Delete(key) => Change::Delete(*key),
        });
        self.write(&mut { copies })
    }

    fn sync(&self) -> Result<()> {
        Ok(self.env.force_sync()?)
    }

    fn view(&self, work: &mut dyn FnMut(&dyn View) -> Result<()>) -> Result<()> {
        work(&Reading { pairs: self.pairs, transaction: self.env.read_txn()? })
    }

    fn compact(&self) -> Result<()> {
        // LMDB compacts only into a copy of the database.
        Ok(())
    }
}

struct Reading<'a> {
    pairs: Database<Bytes, Bytes>,
    transaction: RoTxn<'a, WithTls>,
}

impl View for Reading<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.pairs.get(&self.transaction, key)?.map(sum))
    }

    fn range(&self, start: &[u8], count: usize) -> Result<usize> {
        let mut read = 0;
        for pair in
            self.pairs.range(&self.transaction, &(Bound::Included(start), Bound::Unbounded))?.take(count)
        {
            black_box(pair?);
            read += 1;
        }
        Ok(read)
    }
}
