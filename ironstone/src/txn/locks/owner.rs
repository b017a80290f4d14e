//! The owner of locks: the part of a transaction that other threads may read while its own thread works.

use std::fmt;

use base::FamilyId;
use env::sync::{AtomicI64, AtomicU8, AtomicU64, Mutex, Ordering};

/// The number of a transaction, unique in the process. RocksDB: `TransactionID`.
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
/// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// let (first, second) = (db.begin(), db.begin());
/// assert!(first.id() < second.id());
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(u64);

impl TransactionId {
    /// The number of a transaction that takes no locks.
    ///
    /// ```
    /// # use ironstone::TransactionId;
    /// assert_eq!(TransactionId::ZERO.get(), 0);
    /// ```
    pub const ZERO: TransactionId = TransactionId(0);

    /// Returns the plain number, for an interface that holds plain numbers.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// assert!(db.begin().id().get() > 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The state of a transaction. RocksDB: `Transaction::TransactionState`.
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
/// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// use ironstone::TransactionState;
///
/// let transaction = db.begin();
/// assert_eq!(transaction.state(), TransactionState::Started);
/// transaction.commit()?;
/// assert_eq!(transaction.state(), TransactionState::Committed);
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TransactionState {
    /// The transaction takes writes.
    Started = 0,
    /// Prepare runs.
    AwaitingPrepare = 1,
    /// The writes are in the WAL. The transaction waits for commit or rollback and survives a crash.
    Prepared = 2,
    /// Commit runs.
    AwaitingCommit = 3,
    /// The writes are visible. The transaction takes no more calls.
    Committed = 4,
    /// Rollback runs.
    AwaitingRollback = 5,
    /// The writes are dropped. The transaction takes no more calls.
    RolledBack = 6,
    /// The transaction expired and another transaction took its locks.
    LocksStolen = 7,
}

impl TransactionState {
    fn from_u8(byte: u8) -> Self {
        use TransactionState::*;
        [
            Started,
            AwaitingPrepare,
            Prepared,
            AwaitingCommit,
            Committed,
            AwaitingRollback,
            RolledBack,
            LocksStolen,
        ][usize::from(byte & 7)]
    }
}

/// The lock for which a transaction waits. RocksDB: `Transaction::GetWaitingTxns`.
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
/// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// let (first, second) = (db.begin(), db.begin());
/// first.put(b"k", b"1")?;
/// second.set_lock_timeout(0);
/// assert!(second.put(b"k", b"2").is_err());
/// let waited = second.waiting_for();
/// assert_eq!((waited.transactions, &waited.key[..]), (vec![first.id()], &b"k"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitingFor {
    /// The transactions that hold the lock; empty if the transaction does not wait. With `use_per_key_point_lock_mgr` also the
    /// transactions that wait before this transaction.
    pub transactions: Vec<TransactionId>,
    /// The column family of the key.
    pub family: FamilyId,
    /// The key for which the transaction waits. Empty if the transaction does not wait.
    pub key: Vec<u8>,
}

/// The limits of the wait of a transaction for a lock.
#[derive(Clone, Copy, Debug)]
pub(in crate::txn) struct Patience {
    /// The timeout in microseconds. Negative: no limit.
    pub lock_timeout_us: i64,
    pub deadlock_timeout_us: i64,
    /// The largest number of transactions that a search for a deadlock visits. `None`: no search.
    pub detect_depth: Option<usize>,
}

/// The bit of [`Owner::state`] that keeps the locks of an expired transaction.
const KEEPS_LOCKS: u8 = 8;

/// The state of a transaction that other threads may read.
pub(in crate::txn) struct Owner {
    id: TransactionId,
    /// A [`TransactionState`], and the bit [`KEEPS_LOCKS`].
    state: AtomicU8,
    /// The time when the locks expire, in microseconds since 1970; 0: never.
    expiration_us: AtomicU64,
    lock_timeout_us: AtomicI64,
    deadlock_timeout_us: AtomicI64,
    detect_depth: Option<usize>,
    waiting: Mutex<WaitingFor>,
}

impl Owner {
    /// Makes an owner in the state `Started` with a new transaction number. The locks expire at
    /// `expiration_us`, in microseconds since 1970; 0: never.
    pub fn new(expiration_us: u64, patience: Patience) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Owner {
            id: TransactionId(NEXT.fetch_add(1, Ordering::Relaxed)),
            state: AtomicU8::new(TransactionState::Started as u8),
            expiration_us: AtomicU64::new(expiration_us),
            lock_timeout_us: AtomicI64::new(patience.lock_timeout_us),
            deadlock_timeout_us: AtomicI64::new(patience.deadlock_timeout_us),
            detect_depth: patience.detect_depth,
            waiting: Mutex::default(),
        }
    }

    /// Returns the number of the transaction. Numbers start at 1 in each process.
    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// Returns the current limits of a wait. A change during a wait applies to the next wait.
    pub fn patience(&self) -> Patience {
        Patience {
            lock_timeout_us: self.lock_timeout_us.load(Ordering::Relaxed),
            deadlock_timeout_us: self.deadlock_timeout_us.load(Ordering::Relaxed),
            detect_depth: self.detect_depth,
        }
    }

    /// Changes the timeout of lock waits, in microseconds. 0: do not wait. Negative: no limit.
    pub fn set_lock_timeout_us(&self, timeout_us: i64) {
        self.lock_timeout_us.store(timeout_us, Ordering::Relaxed);
    }

    /// Changes the time from the start of a wait to the search for a deadlock, in microseconds. Only lock
    /// managers with `use_per_key_point_lock_mgr` use this time. 0 and negative: the search starts at once.
    pub fn set_deadlock_timeout_us(&self, timeout_us: i64) {
        self.deadlock_timeout_us.store(timeout_us, Ordering::Relaxed);
    }

    /// Returns the state of the transaction. Another thread may change the state at any time.
    pub fn state(&self) -> TransactionState {
        TransactionState::from_u8(self.state.load(Ordering::Acquire))
    }

    /// Changes the state without a check of the old state. [`Owner::change_state`] checks the old state.
    pub fn set_state(&self, state: TransactionState) {
        self.update(|_| Some(state));
    }

    /// Changes the state to `to` if the state is `from`. Returns true if the state was changed.
    pub fn change_state(&self, from: TransactionState, to: TransactionState) -> bool {
        self.update(|state| (state == from).then_some(to))
    }

    /// Changes the state to the result of `change`, and leaves [`KEEPS_LOCKS`] unchanged. Returns true if the
    /// state was changed.
    fn update(&self, change: impl Fn(TransactionState) -> Option<TransactionState>) -> bool {
        let change = |byte| Some(byte & KEEPS_LOCKS | change(TransactionState::from_u8(byte))? as u8);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).is_ok()
    }

    /// Keeps the locks until the transaction ends, although they expire. A transaction calls this function before
    /// its writes reach the database: the rollback of these writes needs the locks. Returns false if another
    /// transaction has taken a lock already.
    pub fn keep_locks(&self) -> bool {
        let keep = |byte| {
            (TransactionState::from_u8(byte) != TransactionState::LocksStolen).then_some(byte | KEEPS_LOCKS)
        };
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, keep).is_ok()
    }

    /// Undoes [`Owner::keep_locks`], after the writes in the database were rolled back.
    pub fn let_locks_expire(&self) {
        self.state.fetch_and(!KEEPS_LOCKS, Ordering::AcqRel);
    }

    /// Returns the time in microseconds since 1970 at which the locks expire; 0: never.
    pub fn expiration_us(&self) -> u64 {
        self.expiration_us.load(Ordering::Relaxed)
    }

    /// Returns true if the locks expire at or before `now_us`, in microseconds since 1970.
    pub fn is_expired(&self, now_us: u64) -> bool {
        let expiration = self.expiration_us();
        expiration > 0 && now_us >= expiration
    }

    /// Makes the locks permanent, for a prepared transaction.
    pub fn never_expires(&self) {
        self.expiration_us.store(0, Ordering::Relaxed);
    }

    /// Marks the locks of an expired transaction as taken by another transaction. Returns false if the transaction is
    /// in prepare or commit, or keeps its locks ([`Owner::keep_locks`]).
    pub fn steal_locks(&self) -> bool {
        use TransactionState::{LocksStolen, Started};
        let steal = |byte| (byte == Started as u8 || byte == LocksStolen as u8).then_some(LocksStolen as u8);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, steal).is_ok()
    }

    /// Returns a copy of the lock for which the transaction waits. The copy is empty if the transaction does
    /// not wait.
    pub fn waiting(&self) -> WaitingFor {
        self.waiting.lock().clone()
    }

    /// Records the lock for which the transaction waits, for other threads. The default value means no wait.
    pub fn set_waiting(&self, waiting: WaitingFor) {
        *self.waiting.lock() = waiting;
    }
}
