//! A queue of waiters for each key (`use_per_key_point_lock_mgr`). Waiters get the lock in the order of their
//! arrival.
//!
//! The thread that releases a lock gives it to the first waiters of the queue. So a woken waiter always has its lock.
//! An upgrade from a shared to an exclusive lock goes before the first exclusive waiter, because otherwise shared
//! holders would wait for each other more often. The search for a deadlock starts only after `deadlock_timeout_us`,
//! because most waits are shorter.
//! Facts: RocksDB `point_lock_manager.cc` (`PerKeyPointLockManager`); the hand-over is simpler here.

use std::time::Duration;

use base::Result;
use base::stats::{Cause, Step};
use env::sync::{Arc, AtomicBool, Condvar, MutexGuard, Ordering};

use super::owner::TransactionId;
use super::table::{Attempt, KeyLock, LockMode, LockTable, Request, Waiter};
use super::{LockManager, deadline_us};

impl KeyLock {
    /// Gives the lock to the first waiters of the queue, as long as the holders are compatible.
    pub fn grant_waiters(&mut self) {
        while let Some(waiter) = self.waiters.front() {
            if !self.admits(waiter.owner.id(), waiter.mode) {
                return;
            }
            let Some(waiter) = self.waiters.pop_front() else { return };
            self.hold(&waiter.owner, waiter.mode);
            waiter.granted.store(true, Ordering::Relaxed);
            waiter.woken.notify_one();
        }
    }

    fn enqueue(&mut self, waiter: Arc<Waiter>) {
        let upgrades = self.is_held_by(waiter.owner.id());
        let first_exclusive = self.waiters.iter().position(|other| other.mode == LockMode::Exclusive);
        let at = if upgrades { first_exclusive } else { None };
        self.waiters.insert(at.unwrap_or(self.waiters.len()), waiter);
    }

    /// Returns the transactions that `waiter` waits for: holders of the lock, and the waiters before it.
    fn blockers(&self, waiter: &Arc<Waiter>) -> Vec<TransactionId> {
        let before = self.waiters.iter().take_while(|other| !Arc::ptr_eq(other, waiter));
        let ids = self.holders.iter().map(|h| h.id()).chain(before.map(|w| w.owner.id()));
        ids.filter(|id| *id != waiter.owner.id()).collect()
    }
}

type Keys<'a> = MutexGuard<'a, base::map::HashMap<Box<[u8]>, KeyLock>>;

impl LockManager {
    /// Locks a key. Waits in the queue of the key.
    pub(super) fn lock_queued(&self, table: &LockTable, request: &Request<'_>) -> Result<()> {
        let began_us = self.clock.now_micros();
        let patience = request.owner.patience();
        let end_us = deadline_us(began_us, patience.lock_timeout_us);
        let stripe = table.stripe(request.key);
        let mut keys = stripe.keys.lock();
        match table.attempt(&mut keys, request, began_us) {
            Attempt::Granted => return Ok(()),
            Attempt::Limit => return Err(self.limit_reached()),
            Attempt::Blocked { by, .. } if patience.lock_timeout_us == 0 => {
                return Err(self.timed_out(request, by));
            }
            Attempt::Blocked { .. } => {}
        }
        let waiter = Arc::new(Waiter {
            owner: request.owner.clone(),
            mode: request.mode,
            granted: AtomicBool::new(false),
            woken: Condvar::new(),
        });
        if let Some(lock) = keys.get_mut(request.key) {
            lock.enqueue(waiter.clone());
            // The attempt may have taken the lock from expired holders. Other waiters may now get the lock.
            lock.grant_waiters();
        }
        let step = Step::begin(Cause::Lock);
        let outcome = self.wait_in_queue(&mut keys, request, &waiter, end_us);
        step.stop();
        if outcome.is_err()
            && let Some(lock) = keys.get_mut(request.key)
        {
            lock.waiters.retain(|other| !Arc::ptr_eq(other, &waiter));
            // The waiters after this waiter may now be first in the queue.
            lock.grant_waiters();
        }
        outcome
    }

    fn wait_in_queue(
        &self,
        keys: &mut Keys<'_>,
        request: &Request<'_>,
        waiter: &Arc<Waiter>,
        end_us: Option<u64>,
    ) -> Result<()> {
        let patience = request.owner.patience();
        let detects = patience.detect_depth.is_some();
        let mut quiet = detects && patience.deadlock_timeout_us > 0;
        loop {
            let Some(lock) = keys.get_mut(request.key) else { return Ok(()) };
            if waiter.granted.load(Ordering::Relaxed) {
                return Ok(());
            }
            let now_us = self.clock.now_micros();
            let by = lock.blockers(waiter);
            let expires_us = lock.holders.iter().map(|h| h.expiration_us()).filter(|at| *at > now_us).min();
            let quiet_us = quiet.then(|| now_us.saturating_add(patience.deadlock_timeout_us.max(0) as u64));
            let until_us = [end_us, expires_us, quiet_us].into_iter().flatten().min();
            let in_graph = detects && !quiet;
            if in_graph {
                self.enter_graph(request, &by)?;
            }
            request.owner.set_waiting(request.waiting_for(by.clone()));
            let timed_out = match until_us {
                None => {
                    waiter.woken.wait(keys);
                    false
                }
                Some(until_us) => {
                    let limit = Duration::from_micros(until_us.saturating_sub(now_us));
                    waiter.woken.wait_for(keys, limit).timed_out()
                }
            };
            request.owner.set_waiting(Default::default());
            if in_graph {
                self.waits.leave(request.owner.id());
            }
            if waiter.granted.load(Ordering::Relaxed) {
                return Ok(());
            }
            if timed_out && until_us == end_us {
                return Err(self.timed_out(request, by));
            }
            quiet &= !timed_out;
            let now_us = self.clock.now_micros();
            if let Some(lock) = keys.get_mut(request.key)
                && lock.steal_expired(request.owner.id(), now_us)
            {
                lock.grant_waiters();
            }
        }
    }
}
