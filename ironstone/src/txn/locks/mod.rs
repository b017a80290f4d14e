//! Locks of single keys for pessimistic transactions.
//!
//! ```text
//!  column family ─► LockTable ─► stripe (a mutex) ─► key ─► KeyLock { mode, holders, waiters }
//! ```
//! A transaction waits for a lock until its timeout. When a key is unlocked, all waiters of its stripe wake and try
//! again. With `use_per_key_point_lock_mgr`, each key has a queue instead (`per_key`). Before a wait, a transaction
//! may search for a deadlock (`deadlock`). Other transactions can take the locks of an expired transaction.
//!
//! Lock order: stripe, then the graph of waits, then the list of deadlocks. No I/O happens under these locks.
//! Facts: RocksDB `utilities/transactions/lock/point/point_lock_manager.cc`. Not here: range locks.

mod deadlock;
mod owner;
mod per_key;
mod table;

pub use deadlock::{DeadlockInfo, DeadlockPath};
pub(super) use owner::{Owner, Patience};
pub use owner::{TransactionId, TransactionState, WaitingFor};
pub use table::LockMode;

use std::collections::BTreeMap;
use std::time::Duration;

use base::stats::{Cause, OperationKind, PerfCounter, PerfTimer, Step, perf_add};
use base::{Arrange, Error, FamilyId, Kind, Result, Subcode};
use engine::stats::Stats;
use env::Clock;
use env::sync::{Arc, Mutex};

use super::options::TransactionDbOptions;
use super::tracker::Tracker;
use deadlock::{Wait, WaitGraph};
use table::{Attempt, LockTable, Request};

/// A locked key. RocksDB: `KeyLockInfo`.
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions, TransactionOptions, WriteOptions};
/// let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// let transaction = db.begin();
/// transaction.put(b"k", b"1")?;
/// let locks = db.lock_status_data();
/// assert_eq!((&locks[0].key[..], locks[0].exclusive), (&b"k"[..], true));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLockInfo {
    /// The column family of the key.
    pub family: FamilyId,
    /// The key.
    pub key: Vec<u8>,
    /// The transactions that hold the lock.
    pub holders: Vec<TransactionId>,
    /// True if one transaction holds the lock exclusively.
    pub exclusive: bool,
}

/// All locks of one database.
pub(super) struct LockManager {
    clock: Arc<dyn Clock>,
    tables: Mutex<BTreeMap<FamilyId, Arc<LockTable>>>,
    waits: WaitGraph,
    stripes: usize,
    count_max: i64,
    per_key: bool,
    /// The statistics that count slow locks.
    stats: Arc<Stats>,
}

impl LockManager {
    /// Makes a manager without locks. `options` set the stripes of each column family, the limit of locked
    /// keys, the number of deadlocks to keep, and whether each key has a queue of waiters.
    pub fn new(options: &TransactionDbOptions, clock: Arc<dyn Clock>, stats: Arc<Stats>) -> Self {
        LockManager {
            clock,
            stats,
            tables: Mutex::default(),
            waits: WaitGraph::new(options.max_num_deadlocks),
            stripes: options.num_stripes,
            count_max: options.max_num_locks,
            per_key: options.use_per_key_point_lock_mgr,
        }
    }

    fn table(&self, family: FamilyId) -> Arc<LockTable> {
        let make = || Arc::new(LockTable::new(self.stripes, self.count_max));
        self.tables.lock().entry(family).or_insert_with(make).clone()
    }

    /// Removes the locks of a dropped column family. Transactions that hold these locks continue. Transactions that wait
    /// for these locks get them: their caller must check whether the column family is dropped.
    pub fn remove_family(&self, family: FamilyId) {
        let table = self.tables.lock().remove(&family);
        if let Some(table) = table {
            table.drop_all();
        }
    }

    /// Locks a key, or changes the mode of a lock that the owner has.
    ///
    /// # Errors
    /// TimedOut with `LockTimeout`; Busy with `Deadlock`; Aborted with `LockLimit`.
    pub fn lock(&self, owner: &Arc<Owner>, family: FamilyId, key: &[u8], mode: LockMode) -> Result<()> {
        let table = self.table(family);
        let request = Request { owner, family, key, mode };
        let _operation = self.stats.slow.begin(OperationKind::KeyLock);
        if self.per_key { self.lock_queued(&table, &request) } else { self.lock_striped(&table, &request) }
    }

    fn lock_striped(&self, table: &LockTable, request: &Request<'_>) -> Result<()> {
        let mut now_us = self.clock.now_micros();
        let patience = request.owner.patience();
        let end_us = deadline_us(now_us, patience.lock_timeout_us);
        let stripe = table.stripe(request.key);
        let mut keys = stripe.keys.lock();
        let mut attempt = table.attempt(&mut keys, request, now_us);
        let mut ended = patience.lock_timeout_us == 0;
        loop {
            let (by, expires_us) = match attempt {
                Attempt::Granted => return Ok(()),
                Attempt::Limit if ended => return Err(self.limit_reached()),
                Attempt::Limit => (Vec::new(), None),
                Attempt::Blocked { by, .. } if ended => return Err(self.timed_out(request, by)),
                Attempt::Blocked { by, expires_us } => (by, expires_us),
            };
            let _time = PerfTimer::start(PerfCounter::KeyLockWaitTime);
            let _step = Step::begin(Cause::Lock);
            perf_add(PerfCounter::KeyLockWaitCount, 1);
            let in_graph = patience.detect_depth.is_some() && !by.is_empty();
            if in_graph {
                self.enter_graph(request, &by)?;
            }
            request.owner.set_waiting(request.waiting_for(by));
            let until_us = [end_us, expires_us.filter(|at| *at > now_us)].into_iter().flatten().min();
            let timed_out = match until_us {
                None => {
                    stripe.changed.wait(&mut keys);
                    false
                }
                Some(until_us) => {
                    let limit = Duration::from_micros(until_us.saturating_sub(now_us));
                    stripe.changed.wait_for(&mut keys, limit).timed_out()
                }
            };
            request.owner.set_waiting(WaitingFor::default());
            if in_graph {
                self.waits.leave(request.owner.id());
            }
            now_us = self.clock.now_micros();
            // The attempt may have waited only for the expiration of a holder. The timeout of the transaction itself
            // is then not reached yet.
            ended = (timed_out && until_us == end_us) || end_us.is_some_and(|end| now_us >= end);
            attempt = table.attempt(&mut keys, request, now_us);
        }
    }

    /// Adds the wait of the owner for the transactions `by` to the graph of waits.
    ///
    /// # Errors
    /// Busy with `Deadlock` if the wait would never end.
    fn enter_graph(&self, request: &Request<'_>, by: &[TransactionId]) -> Result<()> {
        let depth = request.owner.patience().detect_depth.unwrap_or(0);
        let wait = Wait {
            id: request.owner.id(),
            on: by,
            family: request.family,
            key: request.key,
            exclusive: request.mode == LockMode::Exclusive,
        };
        if self.waits.enter(&wait, depth, self.clock.now_seconds()) {
            return Ok(());
        }
        let what = format!("{} waits for {by:?}, which wait for it", Named(request));
        Err(Error::busy(what).with_subcode(Subcode::Deadlock))
    }

    #[cold]
    fn timed_out(&self, request: &Request<'_>, by: Vec<TransactionId>) -> Error {
        let holders: Vec<String> = by.iter().map(TransactionId::to_string).collect();
        let what = format!("{} locked by transaction {}", Named(request), holders.join(", "));
        // Keep the information about the wait, so that the application can find the reason of the timeout.
        request.owner.set_waiting(request.waiting_for(by));
        Error::timed_out(what).with_subcode(Subcode::LockTimeout)
    }

    #[cold]
    fn limit_reached(&self) -> Error {
        let what = format!("{} keys of the column family are locked", self.count_max);
        Error::new(Kind::Aborted, what).with_subcode(Subcode::LockLimit)
    }

    /// Releases one lock. Does nothing if another transaction has taken the lock.
    pub fn unlock(&self, owner: &Owner, family: FamilyId, key: &[u8]) {
        let Some(table) = self.tables.lock().get(&family).cloned() else { return };
        let stripe = table.stripe(key);
        table.release(&mut stripe.keys.lock(), owner.id(), key);
        if !self.per_key {
            stripe.changed.notify_all();
        }
    }

    /// Releases all locks of a tracker.
    pub fn unlock_all(&self, owner: &Owner, tracker: &Tracker) {
        for (family, key, _) in tracker.iter() {
            self.unlock(owner, family, key);
        }
    }

    /// Lists all locked keys, by column family and key.
    pub fn locked(&self) -> Vec<KeyLockInfo> {
        let tables: Vec<_> = self.tables.lock().iter().map(|(id, table)| (*id, table.clone())).collect();
        let mut out = Vec::new();
        for (family, table) in tables {
            for stripe in table.stripes() {
                out.extend(stripe.keys.lock().iter().map(|(key, lock)| KeyLockInfo {
                    family,
                    key: key.to_vec(),
                    holders: lock.holders.iter().map(|holder| holder.id()).collect(),
                    exclusive: lock.mode == LockMode::Exclusive,
                }));
            }
        }
        out.arrange_by(|a, b| (a.family, &a.key).cmp(&(b.family, &b.key)));
        out
    }

    /// Returns the last deadlocks, newest first.
    pub fn deadlocks(&self) -> Vec<DeadlockPath> {
        self.waits.found()
    }

    /// Changes the number of deadlocks that are kept.
    pub fn resize_deadlocks(&self, count_max: u32) {
        self.waits.resize(count_max);
    }
}

impl Request<'_> {
    fn waiting_for(&self, by: Vec<TransactionId>) -> WaitingFor {
        WaitingFor { transactions: by, family: self.family, key: self.key.to_vec() }
    }
}

/// Prints a request in an error message.
struct Named<'a>(&'a Request<'a>);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Request { owner, family, key, .. } = self.0;
        let (id, bytes) = (owner.id(), key.len());
        write!(f, "transaction {id}, for a key of {bytes} bytes of column family {family},")
    }
}

/// Returns the end of a wait in microseconds since 1970; `None`: no end.
fn deadline_us(now_us: u64, timeout_us: i64) -> Option<u64> {
    u64::try_from(timeout_us).ok().map(|timeout| now_us.saturating_add(timeout))
}
