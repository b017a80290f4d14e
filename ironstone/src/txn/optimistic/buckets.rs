//! Bucket locks for commits that validate in parallel.

use base::FamilyId;
use env::sync::{Arc, Mutex, MutexGuard};

use super::super::tracker::Tracker;

/// Locks for buckets of keys. If the keys of two transactions fall into different buckets, the transactions can
/// commit at the same time. Several databases may share the locks
/// ([`crate::OptimisticTransactionDbOptions::shared_lock_buckets`]).
///
/// ```
/// use ironstone::{OccLockBuckets, OptimisticTransactionDb, OptimisticTransactionDbOptions, Options};
///
/// let shared = OccLockBuckets::new(1 << 12);
/// let options = || OptimisticTransactionDbOptions { shared_lock_buckets: Some(shared.clone()), ..Default::default() };
/// let first = OptimisticTransactionDb::open_with("first", Options::in_memory(), options(), None)?;
/// let second = OptimisticTransactionDb::open_with("second", Options::in_memory(), options(), None)?;
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct OccLockBuckets {
    buckets: Box<[Mutex<()>]>,
}

impl OccLockBuckets {
    /// Makes `count` bucket locks, at least 16. Each lock takes one byte.
    ///
    /// ```
    /// assert!(ironstone::OccLockBuckets::new(1 << 12).approximate_memory_usage() > 1 << 12);
    /// ```
    pub fn new(count: u32) -> Arc<Self> {
        Arc::new(OccLockBuckets { buckets: (0..count.max(16)).map(|_| Mutex::new(())).collect() })
    }

    /// Returns the memory of the locks in bytes.
    ///
    /// ```
    /// let (few, many) = (ironstone::OccLockBuckets::new(1 << 8), ironstone::OccLockBuckets::new(1 << 12));
    /// assert!(few.approximate_memory_usage() < many.approximate_memory_usage());
    /// ```
    pub fn approximate_memory_usage(&self) -> usize {
        self.buckets.len() * size_of::<Mutex<()>>() + size_of::<Self>()
    }

    /// Locks the buckets of all tracked keys in ascending order. The order prevents a deadlock of two commits. `seed` differs
    /// between databases.
    pub(in crate::txn) fn lock(&self, tracked: &Tracker, seed: u64) -> Vec<MutexGuard<'_, ()>> {
        let place = |family: FamilyId, key: &[u8]| {
            let seed = seed.wrapping_add(0xb83c_07fb_c6ce_d699u64.wrapping_mul(u64::from(family.get())));
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
