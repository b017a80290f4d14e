//! Deadlocks: the graph of waiting transactions, and the last deadlocks that were found.
//!
//! Each waiting transaction has an edge to each transaction that it waits for. Before a wait, a search runs from the
//! waiter along the edges, breadth first. If the search meets the waiter, the wait would never end. A search that visits
//! more transactions than its depth counts as a deadlock. Facts: RocksDB `point_lock_manager.cc` (`IncrementWaiters`).

use std::collections::VecDeque;

use base::FamilyId;
use base::map::HashMap;
use env::sync::Mutex;

use super::owner::TransactionId;

/// One waiting transaction of a deadlock. RocksDB: `DeadlockInfo`.
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
/// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// for deadlock in db.deadlock_info_buffer() {
///     for waiter in &deadlock.path {
///         println!("transaction {} waited for the key {:?}", waiter.transaction, waiter.waiting_key);
///     }
/// }
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockInfo {
    /// The waiting transaction.
    pub transaction: TransactionId,
    /// The column family of the key.
    pub family: FamilyId,
    /// True if the transaction waits for an exclusive lock.
    pub exclusive: bool,
    /// The key for which the transaction waits.
    pub waiting_key: Vec<u8>,
}

/// A deadlock that was found. RocksDB: `DeadlockPath`.
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions, TransactionOptions, WriteOptions};
/// let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// for deadlock in db.deadlock_info_buffer() {
///     println!("{} transactions waited for each other", deadlock.path.len());
/// }
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockPath {
    /// The transactions of the circle, each waiting for the next. Empty if `limit_exceeded`.
    pub path: Vec<DeadlockInfo>,
    /// True if the search exceeded its depth. The deadlock is then an assumption.
    pub limit_exceeded: bool,
    /// The time when the deadlock was found, in seconds since 1970.
    pub deadlock_time: u64,
}

/// A transaction that is about to wait.
pub(super) struct Wait<'a> {
    pub id: TransactionId,
    pub on: &'a [TransactionId],
    pub family: FamilyId,
    pub key: &'a [u8],
    pub exclusive: bool,
}

/// A wait in the graph.
struct Edges {
    on: Vec<TransactionId>,
    info: DeadlockInfo,
}

/// The graph of waiting transactions, and the last deadlocks.
pub(super) struct WaitGraph {
    waits: Mutex<HashMap<TransactionId, Edges>>,
    found: Mutex<Found>,
}

struct Found {
    paths: VecDeque<DeadlockPath>,
    count_max: usize,
}

impl WaitGraph {
    /// Makes an empty graph. The graph keeps the newest `count_max` deadlocks; 0: none.
    pub fn new(count_max: u32) -> Self {
        let found = Found { paths: VecDeque::new(), count_max: count_max as usize };
        WaitGraph { waits: Mutex::default(), found: Mutex::new(found) }
    }

    /// Adds a wait. Returns false if the wait would be a deadlock; the wait is then not added, and the deadlock is
    /// recorded.
    pub fn enter(&self, wait: &Wait<'_>, depth: usize, now_s: u64) -> bool {
        let mut waits = self.waits.lock();
        let info = DeadlockInfo {
            transaction: wait.id,
            family: wait.family,
            exclusive: wait.exclusive,
            waiting_key: wait.key.to_vec(),
        };
        waits.insert(wait.id, Edges { on: wait.on.to_vec(), info });
        // A circle through this transaction needs a transaction that waits for it. Without one, even a search that
        // exceeds its depth is no deadlock.
        if !waits.values().any(|edges| edges.on.contains(&wait.id)) {
            return true;
        }
        let Some((path, limit_exceeded)) = search(&waits, wait.id, depth) else { return true };
        waits.remove(&wait.id);
        drop(waits);
        self.found.lock().add(DeadlockPath { path, limit_exceeded, deadlock_time: now_s });
        false
    }

    /// Removes the wait of a transaction.
    pub fn leave(&self, id: TransactionId) {
        self.waits.lock().remove(&id);
    }

    /// Returns the last deadlocks, newest first.
    pub fn found(&self) -> Vec<DeadlockPath> {
        self.found.lock().paths.iter().cloned().collect()
    }

    /// Changes the number of deadlocks that are kept.
    pub fn resize(&self, count_max: u32) {
        let mut found = self.found.lock();
        found.count_max = count_max as usize;
        found.paths.truncate(count_max as usize);
    }
}

impl Found {
    fn add(&mut self, path: DeadlockPath) {
        self.paths.push_front(path);
        self.paths.truncate(self.count_max);
    }
}

/// Returns the circle through `id`, if there is one; or an empty path and true, if the search exceeded its depth.
fn search(
    waits: &HashMap<TransactionId, Edges>,
    id: TransactionId,
    depth: usize,
) -> Option<(Vec<DeadlockInfo>, bool)> {
    // The visited transactions, each with the index of the transaction that waits for it.
    let mut queue: Vec<(TransactionId, Option<usize>)> = Vec::new();
    let edges = |id: &TransactionId| waits.get(id).map_or(&[][..], |edges| &edges.on);
    queue.extend(edges(&id).iter().map(|next| (*next, None)));
    queue.truncate(depth);
    for head in 0..depth {
        let (next, _) = queue.get(head)?;
        if *next == id {
            let mut path = Vec::new();
            let mut at = Some(head);
            while let Some(place) = at {
                let (transaction, parent) = queue[place];
                path.extend(waits.get(&transaction).map(|edges| edges.info.clone()));
                at = parent;
            }
            path.reverse();
            return Some((path, false));
        }
        let found: Vec<_> = edges(next).iter().map(|next| (*next, Some(head))).collect();
        queue.extend(found);
        queue.truncate(depth);
    }
    Some((Vec::new(), true))
}
