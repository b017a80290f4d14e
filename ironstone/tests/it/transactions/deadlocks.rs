//! Waits: timeouts, deadlocks, and many threads on few keys.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use ironstone::{
    FamilyDescriptor, Kind, LockMode, ReadOptions, Subcode, TransactionDb, TransactionDbOptions,
    TransactionOptions, Validation, WriteOptions,
};

use super::{impatient, options, with};

fn patient(per_key: bool) -> TransactionDbOptions {
    TransactionDbOptions {
        transaction_lock_timeout: 60_000,
        default_lock_timeout: 60_000,
        use_per_key_point_lock_mgr: per_key,
        ..TransactionDbOptions::default()
    }
}

fn detecting() -> TransactionOptions {
    TransactionOptions { deadlock_detect: true, ..TransactionOptions::default() }
}

#[test]
fn waiter_gets_the_lock_when_it_is_released() {
    for per_key in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let db = TransactionDb::open(scratch.path(), options(), patient(per_key)).unwrap();
        let holder = db.begin();
        holder.put(b"k", b"1").unwrap();
        std::thread::scope(|scope| {
            let waiter = db.begin();
            let handle = waiter.clone();
            scope.spawn(move || {
                waiter.put(b"k", b"2").unwrap();
                waiter.commit().unwrap();
            });
            while handle.waiting_for().transactions.is_empty() {
                std::thread::yield_now();
            }
            assert_eq!(handle.waiting_for().transactions, [holder.id()]);
            holder.commit().unwrap();
        });
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"2"[..]));
    }
}

#[test]
fn waiter_for_a_key_of_a_dropped_column_family_stops_waiting() {
    for per_key in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let db = TransactionDb::open(scratch.path(), options(), patient(per_key)).unwrap();
        let family = db.create_family(FamilyDescriptor::new("f", options().family)).unwrap();
        let holder = db.begin();
        holder.put_in(&family, b"k", b"1").unwrap();
        let waiter = db.begin();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| waiter.put_in(&family, b"k", b"2"));
            while waiter.waiting_for().transactions.is_empty() {
                std::thread::yield_now();
            }
            db.drop_family(&family).unwrap();
            let error = waiting.join().unwrap().unwrap_err();
            assert_eq!(error.to_string(), "Invalid argument: Column family id not found: 1");
        });
        waiter.commit().unwrap();
        assert!(holder.commit().is_err());
        assert!(db.lock_status_data().is_empty());
    }
}

#[test]
fn circle_of_two_is_a_deadlock_with_its_path() {
    for per_key in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let db = TransactionDb::open(scratch.path(), options(), patient(per_key)).unwrap();
        let (a, b) = (with(detecting(), &db), with(detecting(), &db));
        a.put(b"a", b"1").unwrap();
        b.put(b"b", b"1").unwrap();
        std::thread::scope(|scope| {
            let waiting = a.clone();
            scope.spawn(move || waiting.put(b"b", b"2").unwrap());
            while a.waiting_for().transactions.is_empty() {
                std::thread::yield_now();
            }
            // With queues, `a` looks for deadlocks only after its deadlock timeout. One of the two finds the circle.
            if !per_key {
                let error = b.put(b"a", b"2").unwrap_err();
                assert_eq!((error.kind(), error.subcode()), (Kind::Busy, Subcode::Deadlock));
                let found = db.deadlock_info_buffer();
                assert_eq!(found.len(), 1);
                assert!(!found[0].limit_exceeded);
                let path: Vec<_> =
                    found[0].path.iter().map(|i| (i.transaction, &i.waiting_key[..])).collect();
                assert_eq!(path, [(a.id(), &b"b"[..]), (b.id(), &b"a"[..])]);
            }
            b.rollback().unwrap();
        });
        db.set_deadlock_info_buffer_size(0);
        assert!(db.deadlock_info_buffer().is_empty());
    }
}

#[test]
fn search_deeper_than_its_depth_counts_as_a_deadlock() {
    let scratch = tempfile::tempdir().unwrap();
    let db = TransactionDb::open(scratch.path(), options(), patient(false)).unwrap();
    let chain: Vec<_> = (0..4).map(|_| with(detecting(), &db)).collect();
    for (i, transaction) in chain.iter().enumerate() {
        transaction.put(format!("k{i}").as_bytes(), b"1").unwrap();
    }
    std::thread::scope(|scope| {
        for (i, transaction) in chain.iter().enumerate().take(3) {
            let waiting = transaction.clone();
            scope.spawn(move || waiting.put(format!("k{}", i + 1).as_bytes(), b"2").unwrap());
            while transaction.waiting_for().transactions.is_empty() {
                std::thread::yield_now();
            }
        }
        let shallow = with(TransactionOptions { deadlock_detect_depth: 2, ..detecting() }, &db);
        shallow.put(b"s", b"1").unwrap();
        // There is a search only if another transaction that looks for deadlocks waits for `shallow`.
        let waiting = with(detecting(), &db);
        let other = waiting.clone();
        scope.spawn(move || waiting.put(b"s", b"2").unwrap());
        while other.waiting_for().transactions.is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(shallow.put(b"k0", b"3").unwrap_err().subcode(), Subcode::Deadlock);
        assert!(db.deadlock_info_buffer()[0].limit_exceeded);
        shallow.rollback().unwrap();
        for transaction in chain.iter().rev() {
            // The transaction before this transaction waits until now.
            transaction.rollback().unwrap();
        }
    });
}

/// Sixty-four threads move amounts between few accounts, in no order. Deadlocks and timeouts are rolled back; no amount
/// is lost, and no lock is left.
#[test]
fn money_is_kept_by_64_threads_with_deadlocks() {
    const THREADS: usize = 64;
    const ACCOUNTS: usize = 16;
    for per_key in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let db = TransactionDb::open(scratch.path(), options(), patient(per_key)).unwrap();
        for account in 0..ACCOUNTS {
            db.put(&[b'a' + account as u8], b"1000").unwrap();
        }
        let (start, deadlocks) = (Barrier::new(THREADS), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (db, start, deadlocks) = (&db, &start, &deadlocks);
                scope.spawn(move || {
                    start.wait();
                    for round in 0..2 {
                        let (from, to) =
                            ((thread + round) % ACCOUNTS, (thread * 5 + round * 3 + 1) % ACCOUNTS);
                        if from != to {
                            deadlocks.fetch_add(transfer(db, from, to), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let total: i64 = (0..ACCOUNTS)
            .map(|account| {
                let value = db.get(&[b'a' + account as u8]).unwrap().unwrap();
                String::from_utf8(value.to_vec()).unwrap().parse::<i64>().unwrap()
            })
            .sum();
        assert_eq!(total, 1000 * ACCOUNTS as i64, "{} deadlocks", deadlocks.into_inner());
        assert!(db.lock_status_data().is_empty());
    }
}

/// Moves one unit. Returns how many deadlocks there were.
fn transfer(db: &TransactionDb, from: usize, to: usize) -> u64 {
    let mut deadlocks = 0;
    loop {
        let options = TransactionOptions { deadlock_detect_depth: 1000, ..detecting() };
        let transaction = db.begin_with(&WriteOptions::default(), &options).unwrap();
        let change = |account: usize, by: i64| {
            let key = [b'a' + account as u8];
            let now = transaction.get_for_update(&key)?.expect("the account exists");
            let now: i64 = String::from_utf8(now.to_vec()).unwrap().parse().unwrap();
            transaction.put(&key, (now + by).to_string().as_bytes())
        };
        match change(from, -1).and_then(|()| change(to, 1)).and_then(|()| transaction.commit()) {
            Ok(()) => return deadlocks,
            Err(error) => assert_eq!(error.subcode(), Subcode::Deadlock, "{error}"),
        }
        deadlocks += 1;
    }
}

#[test]
fn a_wait_without_a_cycle_is_no_deadlock() {
    for per_key in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let db = TransactionDb::open(scratch.path(), options(), impatient(per_key)).unwrap();
        let holders: Vec<_> = (0..60).map(|_| db.begin()).collect();
        for holder in &holders {
            let (family, read) = (db.default_family(), ReadOptions::default());
            holder.lock_for_update_in(&family, b"k", &read, LockMode::Shared, Validation::Check).unwrap();
        }
        // More holders than the search may visit, and a search that may visit one.
        for depth in [50, 1] {
            let options = TransactionOptions { deadlock_detect_depth: depth, lock_timeout: 5, ..detecting() };
            let error = with(options, &db).put(b"k", b"1").unwrap_err();
            assert_eq!((error.kind(), error.subcode()), (Kind::TimedOut, Subcode::LockTimeout));
        }
        assert!(db.deadlock_info_buffer().is_empty());
    }
}
