//! The engines with one common interface.

pub mod fjall;
pub mod ironstone;
pub mod lmdb;
pub mod redb;
pub mod rocksdb;

use crate::Result;
use crate::keys::{KEY_LEN, VALUE_LEN};

/// One change of a commit.
pub enum Change {
    Put([u8; KEY_LEN], [u8; VALUE_LEN]),
    Delete([u8; KEY_LEN]),
}

/// A pair.
pub type Pair = ([u8; KEY_LEN], [u8; VALUE_LEN]);

/// Pairs of a batch during a bulk load of an LSM tree.
pub const LOAD_BATCH: usize = 1000;

/// A database.
pub trait Store: Sync {
    fn name(&self) -> &'static str;

    /// Writes many pairs, in the way that is fastest for the engine: one transaction for redb and LMDB, batches of [`LOAD_BATCH`]
    /// for the LSM trees. The pairs are durable at the end.
    fn load(&self, pairs: &mut dyn Iterator<Item = Pair>) -> Result<()>;

    /// Makes all changes at once. With `sync`, they are durable at the end.
    fn commit(&self, changes: &[Change], sync: bool) -> Result<()>;

    /// Makes all commits so far durable.
    fn sync(&self) -> Result<()>;

    /// Calls `work` with a view that sees all commits so far.
    fn view(&self, work: &mut dyn FnMut(&dyn View) -> Result<()>) -> Result<()>;

    /// Gives space back to the system, if the engine has a call for this.
    fn compact(&self) -> Result<()>;
}

/// A state of a database.
pub trait View {
    /// Returns the first byte of the value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<u64>>;

    /// Reads up to `count` pairs from `start` on. Returns the number of pairs.
    fn range(&self, start: &[u8], count: usize) -> Result<usize>;
}

/// Returns a number that depends on the value, so that no read is left out.
pub fn sum(value: &[u8]) -> u64 {
    value.first().map_or(0, |first| u64::from(*first))
}

/// Passes all pairs to `write`, in batches of [`LOAD_BATCH`].
pub fn in_batches(
    pairs: &mut dyn Iterator<Item = Pair>,
    mut write: impl FnMut(&[Pair]) -> Result<()>,
) -> Result<()> {
    let mut batch = Vec::with_capacity(LOAD_BATCH);
    for pair in pairs {
        batch.push(pair);
        if batch.len() == LOAD_BATCH {
            write(&batch)?;
            batch.clear();
        }
    }
    write(&batch)
}
