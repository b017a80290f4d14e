//! Bucket locks for commits that validate in parallel.

use base::FamilyId;
use env::sync::{Arc, Mutex, MutexGuard};

use super::super::tracker::Tracker;

/// Locks for buckets of keys. If the keys of two transactions fall into different buckets, the transactions can
/// commit at the same time. Several databases may share the locks
/// ([`crate::OptimisticTransactionDbOptions::shared_lock_buckets`]).
pub struct OccLockBuckets {
    buckets: Box<[Mutex<()>]>,
}

impl OccLockBuckets {
    /// Makes `count` bucket locks, at least 16. Each lock takes one byte.
    pub fn new(count: u32) -> Arc<Self> {
        Arc::new(OccLockBuckets { buckets: (0..count.max(16)).map(|_| Mutex::new(())).collect() })
    }

    /// Returns the memory of the locks in bytes.
    pub fn approximate_memory_usage(&self) -> usize {
        self.buckets.len() * size_of::<Mutex<()>>() + size_of::<Self>()
    }

    /// Locks the buckets of all tracked keys in ascending order. The order prevents a deadlock of two commits. `seed` differs
    /// between databases.
    pub(in crate::txn) fn lock(&self, tracked: &Tracker, seed: u64) -> Vec<MutexGuard<'_, ()>> {
        let place = |family: FamilyId, key: &[u8]| {
            let seed = seed.wrapping_add(0xb83c_07fb_c6ce_d699u64.wrapping_mul(u64::from(family.0)));
            let hash = kernel::hash::hash64_seeded(key, seed);
            ((u128::from(hash) * self.buckets.len() as u128) >> 64) as usize
        };
        let mut places: Vec<usize> = tracked.iter().map(|(family, key, _)| place(family, key)).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| self.buckets[place].lock()).collect()
    }
}

impl std::fmt::Debug for OccLockBuckets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OccLockBuckets({})", self.buckets.len())
    }
}
