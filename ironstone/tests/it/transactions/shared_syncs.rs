//! Synced prepares and commits of several threads share the syncs of the WAL.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use env::hook::{Call, Hook, Hooked, Op, Verdict};
use ironstone::{
    Options, Result, Transaction, TransactionDb, TransactionDbOptions, TransactionOptions, TxnDbWritePolicy,
    WriteOptions,
};

const THREADS: usize = 8;

/// The first sync has the record of the first writer. The other writers append their records during the first sync. The second sync
/// makes these records durable.
const MOST_SYNCS: usize = 2;

/// The yields during which the writers join the group of the next sync.
const CHANCES: usize = 2_000;

/// Holds the first sync of a WAL until all threads have appended a record.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    armed: bool,
    fails: bool,
    appends: usize,
    syncs: usize,
    /// True if a writer waited for a sync before its append.
    blocked: bool,
}

impl Gate {
    fn arm(&self, fails: bool) {
        *self.state.lock().unwrap() = State { armed: true, fails, ..State::default() };
    }

    /// Returns the number of syncs since the call of `arm`.
    fn disarm(&self) -> usize {
        let mut state = self.state.lock().unwrap();
        state.armed = false;
        assert!(!state.blocked, "a writer waits for the sync of another writer before its append");
        state.syncs
    }
}

impl Hook for Gate {
    fn name(&self) -> &'static str {
        "gate"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        let is_wal = call.path.extension().is_some_and(|extension| extension == "log");
        let mut state = self.state.lock().unwrap();
        if !is_wal || !state.armed {
            return Verdict::Go;
        }
        if call.op == Op::Sync {
            state.syncs += 1;
            let waits = |state: &mut State| state.appends < THREADS;
            let (waited, result) =
                self.changed.wait_timeout_while(state, Duration::from_secs(60), waits).unwrap();
            state = waited;
            state.blocked |= result.timed_out();
            let fails = state.fails;
            drop(state);
            // A writer joins the group of the next sync after its append. Each yield lets the writers run that have not joined.
            for _ in 0..CHANCES {
                std::thread::yield_now();
            }
            if fails {
                // ENOSPC: a resume can clear the error.
                let error = std::io::Error::from_raw_os_error(28);
                return Verdict::Fail(base::Error::io("syncing", call.path, error));
            }
        }
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, _error: Option<&base::Error>) {
        let is_wal = call.path.extension().is_some_and(|extension| extension == "log");
        let mut state = self.state.lock().unwrap();
        if is_wal && state.armed && call.op == Op::Append {
            state.appends += 1;
            self.changed.notify_all();
        }
    }
}

/// Options of a disk whose syncs wait at a gate.
struct GatedSyncs {
    gate: Arc<Gate>,
    options: Options,
    policy: TxnDbWritePolicy,
}

impl GatedSyncs {
    fn new(policy: TxnDbWritePolicy) -> GatedSyncs {
        let mut options = Options::in_memory();
        let gate = Arc::new(Gate::default());
        options.db.env.fs = Arc::new(Hooked::new(options.db.env.fs.clone(), gate.clone()));
        GatedSyncs { gate, options, policy }
    }

    fn open(&self) -> TransactionDb {
        let options = TransactionDbOptions { write_policy: self.policy, ..TransactionDbOptions::default() };
        TransactionDb::open("db", self.options.clone(), options).unwrap()
    }

    /// Calls `step` of each transaction on a thread of its own, and returns the number of syncs.
    fn together(&self, all: &[Transaction], step: impl Fn(&Transaction) -> Result<()> + Sync) -> usize {
        self.gate.arm(false);
        std::thread::scope(|scope| {
            for transaction in all {
                scope.spawn(|| step(transaction).unwrap());
            }
        });
        self.gate.disarm()
    }
}

fn transactions(db: &TransactionDb) -> Vec<Transaction> {
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    (0..THREADS)
        .map(|number| {
            let transaction = db.begin_with(&synced, &TransactionOptions::default()).unwrap();
            transaction.set_name(format!("t{number}").as_bytes()).unwrap();
            transaction.put(format!("k{number}").as_bytes(), b"v").unwrap();
            transaction
        })
        .collect()
}

fn values(db: &TransactionDb) -> usize {
    (0..THREADS).filter(|number| db.get(format!("k{number}").as_bytes()).unwrap().is_some()).count()
}

const POLICIES: [TxnDbWritePolicy; 3] =
    [TxnDbWritePolicy::WriteCommitted, TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared];

#[test]
fn prepares_and_commits_of_eight_threads_share_their_syncs() {
    for policy in POLICIES {
        let world = GatedSyncs::new(policy);
        let db = world.open();
        let all = transactions(&db);
        let syncs = world.together(&all, |transaction| transaction.prepare());
        assert!(syncs <= MOST_SYNCS, "{policy:?}: {syncs} syncs of {THREADS} prepares");
        assert_eq!(values(&db), 0, "{policy:?}");
        let syncs = world.together(&all, |transaction| transaction.commit());
        assert!(syncs <= MOST_SYNCS, "{policy:?}: {syncs} syncs of {THREADS} commits");
        assert_eq!(values(&db), THREADS, "{policy:?}");
    }
}

#[test]
fn rollbacks_of_eight_threads_share_their_syncs() {
    for policy in POLICIES {
        let world = GatedSyncs::new(policy);
        let db = world.open();
        let all = transactions(&db);
        all.iter().for_each(|transaction| transaction.prepare().unwrap());
        let syncs = world.together(&all, |transaction| transaction.rollback());
        assert!(syncs <= MOST_SYNCS, "{policy:?}: {syncs} syncs of {THREADS} rollbacks");
        assert_eq!((values(&db), db.all_prepared_transactions().len()), (0, 0), "{policy:?}");
    }
}

#[test]
fn failed_shared_sync_fails_each_of_its_prepares() {
    for policy in POLICIES {
        let world = GatedSyncs::new(policy);
        let db = world.open();
        let all = transactions(&db);
        world.gate.arm(true);
        std::thread::scope(|scope| {
            for transaction in &all {
                scope.spawn(|| assert!(transaction.prepare().is_err(), "{policy:?}"));
            }
        });
        assert_eq!(world.gate.disarm(), 1, "{policy:?}: no failed sync is repeated");
        db.resume().unwrap();
        all.iter().for_each(|transaction| transaction.prepare().unwrap());
        all[1..].iter().for_each(|transaction| transaction.commit().unwrap());
        assert_eq!(values(&db), THREADS - 1, "{policy:?}");
        drop(all);
        drop(db);
        let db = world.open();
        assert_eq!(values(&db), THREADS - 1, "{policy:?}");
        assert_eq!(db.all_prepared_transactions().len(), 1, "{policy:?}");
    }
}
