//! Writes outside of transactions. The writes lock their keys, because a transaction must detect every conflict with
//! a write. Facts: RocksDB `pessimistic_transaction_db.cc` (`WriteWithConcurrencyControl`).

use std::collections::BTreeSet;

use base::{Error, FamilyId, Result};
use engine::batch::WriteBatch;
use engine::db::{Db as EngineDb, WriteGuard};
use engine::options::WriteOptions;
use env::sync::{Arc, Weak};
use format::batch::Record;

use super::super::locks::{LockManager, LockMode, Owner, Patience};
use super::registry::Registry;

/// Locks the keys of each write for the time of the write.
pub(super) struct KeyGuard {
    pub locks: Arc<LockManager>,
    /// Weak, because the database owns the guard, and the registry may have a handle of the database.
    pub registry: Weak<Registry>,
    pub timeout_ms: i64,
    pub skip_concurrency_control: bool,
}

impl WriteGuard for KeyGuard {
    fn write(&self, db: &EngineDb, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        check_timestamps(db, batch)?;
        if self.skip_concurrency_control {
            return db.for_transactions().write_unguarded(batch, options, None);
        }
        if let Some(registry) = self.registry.upgrade() {
            registry.roll_back_abandoned();
        }
        let keys = keys_of(batch)?;
        let patience = Patience {
            lock_timeout_us: self.timeout_ms.saturating_mul(1000),
            deadlock_timeout_us: 0,
            detect_depth: None,
        };
        let locked = Locked { locks: &self.locks, owner: Arc::new(Owner::new(0, patience)), keys };
        // Lock the keys in a fixed order. Otherwise two writes could wait for each other.
        for (family, key) in &locked.keys {
            self.locks.lock(&locked.owner, *family, key, LockMode::Exclusive)?;
        }
        db.for_transactions().write_unguarded(batch, options, None)
    }
}

/// Releases the locks of the keys when dropped. Keys that are not locked yet are skipped.
struct Locked<'a> {
    locks: &'a LockManager,
    owner: Arc<Owner>,
    keys: BTreeSet<(FamilyId, Vec<u8>)>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        for (family, key) in &self.keys {
            self.locks.unlock(&self.owner, *family, key);
        }
    }
}

fn keys_of(batch: &WriteBatch) -> Result<BTreeSet<(FamilyId, Vec<u8>)>> {
    let mut keys = BTreeSet::new();
    for record in batch.iter() {
        let record = record?;
        if matches!(record, Record::DeleteRange { .. }) {
            return Err(Error::invalid_argument("DeleteRangeCF not implemented"));
        }
        if let (Some(family), Some((_, key, _))) = (record.family(), record.entry()) {
            keys.insert((family, key.to_vec()));
        }
    }
    Ok(keys)
}

/// Rejects keys with timestamps. The order of timestamps must be the order of locks, but the caller chose these
/// timestamps before the write had its locks.
pub(super) fn check_timestamps(db: &EngineDb, batch: &WriteBatch) -> Result<()> {
    let stamped: Vec<FamilyId> =
        db.families().iter().filter(|f| f.order().user.timestamp_size() > 0).map(|f| f.id()).collect();
    if stamped.is_empty() {
        return Ok(());
    }
    let has = batch.iter().flatten().filter_map(|record| record.family()).any(|id| stamped.contains(&id));
    if has {
        return Err(Error::not_supported(
            "Writes with timestamp must go through transaction API instead of TransactionDB.",
        ));
    }
    Ok(())
}
