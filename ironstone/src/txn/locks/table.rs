//! The lock table of one column family: stripes of keys, and the rules for granting a lock.

use base::FamilyId;
use base::map::HashMap;
use env::sync::{Arc, AtomicBool, AtomicI64, Condvar, Mutex, Ordering};

use super::owner::{Owner, TransactionId};

/// The mode of a lock.
///
/// ```
/// # use ironstone::{LockMode, Options, ReadOptions, TransactionDb, TransactionDbOptions, Validation};
/// let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// let family = db.default_family();
/// let (first, second) = (db.begin(), db.begin());
/// for transaction in [&first, &second] {
///     let options = ReadOptions::default();
///     transaction.get_for_update_in(&family, b"k", &options, LockMode::Shared, Validation::Check)?;
/// }
/// assert_eq!(db.lock_status_data()[0].holders.len(), 2);
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Several transactions may read the key.
    Shared,
    /// Only one transaction may use the key.
    Exclusive,
}

/// A request for a lock.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub owner: &'a Arc<Owner>,
    pub family: FamilyId,
    pub key: &'a [u8],
    pub mode: LockMode,
}

/// The locks of one column family.
pub(super) struct LockTable {
    stripes: Box<[Stripe]>,
    /// The number of locked keys.
    count: AtomicI64,
    /// The limit of locked keys. 0 and negative: no limit.
    count_max: i64,
    /// True if the column family is dropped. Every lock is then granted and not recorded.
    dropped: AtomicBool,
}

/// A part of the keys of a column family.
#[derive(Default)]
pub(super) struct Stripe {
    pub keys: Mutex<HashMap<Box<[u8]>, KeyLock>>,
    /// Notified when a key of the stripe is unlocked.
    pub changed: Condvar,
}

/// The lock of one key.
pub(super) struct KeyLock {
    pub mode: LockMode,
    pub holders: Vec<Arc<Owner>>,
    /// The waiters for this key, with `use_per_key_point_lock_mgr`.
    pub waiters: std::collections::VecDeque<Arc<Waiter>>,
}

/// The result of one attempt to lock a key.
pub(super) enum Attempt {
    Granted,
    /// `max_num_locks` is reached.
    Limit,
    Blocked {
        by: Vec<TransactionId>,
        /// The time when the first holder expires, in microseconds since 1970.
        expires_us: Option<u64>,
    },
}

impl LockTable {
    /// Makes a table without locks. 0 `stripes` count as one stripe. `count_max` is the limit of locked keys;
    /// 0 and negative: no limit.
    pub fn new(stripes: usize, count_max: i64) -> Self {
        LockTable {
            stripes: (0..stripes.max(1)).map(|_| Stripe::default()).collect(),
            count: AtomicI64::new(0),
            count_max,
            dropped: AtomicBool::new(false),
        }
    }

    /// Removes all locks and wakes all waiters, because the column family is dropped. The waiters get their locks.
    pub fn drop_all(&self) {
        self.dropped.store(true, Ordering::Release);
        for stripe in &self.stripes {
            let mut keys = stripe.keys.lock();
            for waiter in keys.values().flat_map(|lock| &lock.waiters) {
                waiter.woken.notify_one();
            }
            keys.clear();
            stripe.changed.notify_all();
        }
    }

    /// Returns all stripes. There is at least one stripe, and the number of stripes never changes.
    pub fn stripes(&self) -> &[Stripe] {
        &self.stripes
    }

    /// Returns the stripe of a key. The stripe depends only on the hash of the key and on the number of
    /// stripes.
    pub fn stripe(&self, key: &[u8]) -> &Stripe {
        let hash = kernel::hash::hash64(key);
        // The high bits of the product distribute the keys evenly over the stripes.
        &self.stripes[((u128::from(hash) * self.stripes.len() as u128) >> 64) as usize]
    }

    /// Tries to lock a key. With `queued`, waiters that came earlier go first.
    pub fn attempt(
        &self,
        keys: &mut HashMap<Box<[u8]>, KeyLock>,
        request: &Request<'_>,
        now_us: u64,
    ) -> Attempt {
        let Some(lock) = keys.get_mut(request.key) else {
            // `drop_all` clears each stripe after it sets the flag. So after that no key of the stripe is locked.
            if self.dropped.load(Ordering::Acquire) {
                return Attempt::Granted;
            }
            if self.count_max > 0 && self.count.load(Ordering::Relaxed) >= self.count_max {
                return Attempt::Limit;
            }
            self.count.fetch_add(1, Ordering::Relaxed);
            let holders = vec![request.owner.clone()];
            keys.insert(
                request.key.into(),
                KeyLock { mode: request.mode, holders, waiters: Default::default() },
            );
            return Attempt::Granted;
        };
        lock.attempt(request, now_us)
    }

    /// Releases the lock of a key, if the transaction `id` holds the lock.
    pub fn release(&self, keys: &mut HashMap<Box<[u8]>, KeyLock>, id: TransactionId, key: &[u8]) {
        let Some(lock) = keys.get_mut(key) else { return };
        lock.holders.retain(|holder| holder.id() != id);
        lock.grant_waiters();
        if lock.holders.is_empty() {
            keys.remove(key);
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl KeyLock {
    /// Returns true if the transaction `id` holds this lock, in any mode.
    pub fn is_held_by(&self, id: TransactionId) -> bool {
        self.holders.iter().any(|holder| holder.id() == id)
    }

    /// Returns true if a transaction can take the lock together with the current holders.
    pub fn admits(&self, id: TransactionId, mode: LockMode) -> bool {
        let sole = self.holders.iter().all(|holder| holder.id() == id);
        sole || (self.mode == LockMode::Shared && mode == LockMode::Shared)
    }

    /// Adds a holder that [`KeyLock::admits`].
    pub fn hold(&mut self, owner: &Arc<Owner>, mode: LockMode) {
        if !self.is_held_by(owner.id()) {
            self.holders.push(owner.clone());
        }
        // If there are other holders, all modes are shared. A single holder upgrades or downgrades the lock.
        self.mode = mode;
    }

    fn attempt(&mut self, request: &Request<'_>, now_us: u64) -> Attempt {
        let id = request.owner.id();
        let may_pass = self.waiters.is_empty() || self.is_held_by(id);
        if self.admits(id, request.mode) && may_pass {
            let lowers = self.mode == LockMode::Exclusive && request.mode == LockMode::Shared;
            self.hold(request.owner, request.mode);
            if lowers {
                // The lock now admits the shared waiters at the front of the queue.
                self.grant_waiters();
            }
            return Attempt::Granted;
        }
        if self.steal_expired(id, now_us) && self.waiters.is_empty() {
            self.hold(request.owner, request.mode);
            return Attempt::Granted;
        }
        let others = self.holders.iter().filter(|holder| holder.id() != id);
        let expires_us = others.clone().map(|holder| holder.expiration_us()).filter(|at| *at > 0).min();
        let queued = self.waiters.iter().map(|waiter| waiter.owner.id()).filter(|other| *other != id);
        let by = others.map(|holder| holder.id()).chain(queued).collect();
        Attempt::Blocked { by, expires_us }
    }

    /// Takes the lock away from all holders except `id`, if all of them are expired. Returns true if the lock was
    /// taken.
    pub fn steal_expired(&mut self, id: TransactionId, now_us: u64) -> bool {
        let expired =
            |holder: &Arc<Owner>| holder.id() == id || (holder.is_expired(now_us) && holder.steal_locks());
        let all = self.holders.iter().all(expired);
        if all {
            self.holders.retain(|holder| holder.id() == id);
        }
        all
    }
}

/// A transaction in the queue of a key. The mutex of the stripe protects `granted`.
pub(super) struct Waiter {
    pub owner: Arc<Owner>,
    pub mode: LockMode,
    pub granted: AtomicBool,
    pub woken: Condvar,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::txn::locks::Patience;

    fn owner() -> Arc<Owner> {
        Arc::new(Owner::new(0, Patience { lock_timeout_us: 0, deadlock_timeout_us: 0, detect_depth: None }))
    }

    #[test]
    fn shared_waiters_get_a_lock_that_its_holder_lowers() {
        let (holder, waiter) = (owner(), owner());
        let mut lock = KeyLock { mode: LockMode::Shared, holders: Vec::new(), waiters: Default::default() };
        lock.hold(&holder, LockMode::Exclusive);
        let queued = Arc::new(Waiter {
            owner: waiter.clone(),
            mode: LockMode::Shared,
            granted: AtomicBool::new(false),
            woken: Condvar::new(),
        });
        lock.waiters.push_back(queued.clone());
        let request =
            Request { owner: &holder, family: FamilyId::DEFAULT, key: b"k", mode: LockMode::Shared };
        assert!(matches!(lock.attempt(&request, 0), Attempt::Granted));
        assert!(queued.granted.load(Ordering::Relaxed) && lock.waiters.is_empty());
        assert!(lock.is_held_by(waiter.id()));
    }
}
