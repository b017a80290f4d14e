//! Transactions that wait for each other's locks, on threads of their own.
//!
//! ```text
//!  released   the holder commits, rolls back, or returns to a save point: the waiter gets the lock, and finds a conflict if the
//!             holder committed after the snapshot of the waiter
//!  in turn    several waiters for one key: each gets the lock once
//!  timed out  the lock stays with its holder, and the waiter names the holder
//!  circle     two transactions wait for each other: exactly one of them is told, and the other gets its lock
//!  expired    a transaction that is older than its expiration loses its locks
//! ```
//! A wait ends by another thread, never by its timeout, except where the timeout is the expected answer. So the result depends on no
//! time. The model is the value of each key.

use std::collections::BTreeMap;
use std::sync::Arc;

use env::Env;
use env::clock::RealClock;
use env::memory::MemoryFs;
use ironstone::{
    Kind, LockMode, ReadOptions, Subcode, Transaction, TransactionDb, TransactionDbOptions,
    TransactionOptions, TxnDbWritePolicy, Validation, WriteOptions,
};
use testkit::chance::Chance;

use super::{Setting, World, key, same, told};

/// A wait that another thread ends. No run reaches this time.
const PATIENT_MS: i64 = 60_000;

/// Deadlocks that the database keeps.
const DEADLOCKS_MAX: u32 = 5;

/// A transaction database whose transactions wait, and its model.
pub(super) struct Waits {
    db: TransactionDb,
    state: BTreeMap<Vec<u8>, Vec<u8>>,
    policy: TxnDbWritePolicy,
    /// The deadlocks that the database must keep.
    deadlocks: usize,
    serial: u64,
    /// True if each key has a queue of waiting transactions.
    has_queues: bool,
}

impl Waits {
    /// Opens the database with threads. The seed chooses the write policy and the lock manager.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Waits, String> {
        let policies = [
            TxnDbWritePolicy::WriteCommitted,
            TxnDbWritePolicy::WritePrepared,
            TxnDbWritePolicy::WriteUnprepared,
        ];
        let seed = seed / super::WORLDS;
        let (policy, has_queues) = (policies[(seed % 3) as usize], seed / 3 % 2 == 1);
        let mut options = setting.options.clone();
        options.update("unordered_write=false;inplace_update_support=false").map_err(told("options"))?;
        options.db.env = Env { fs: Arc::new(MemoryFs::new(Arc::new(RealClock::new()))), ..Env::posix() };
        let transactions = TransactionDbOptions {
            write_policy: policy,
            rollback_merge_operands: policy != TxnDbWritePolicy::WriteCommitted,
            transaction_lock_timeout: PATIENT_MS,
            default_lock_timeout: PATIENT_MS,
            use_per_key_point_lock_mgr: has_queues,
            max_num_deadlocks: DEADLOCKS_MAX,
            ..TransactionDbOptions::default()
        };
        let db = TransactionDb::open_with("/db", options, transactions, None).map_err(told("open"))?;
        Ok(Waits { db, state: BTreeMap::new(), policy, deadlocks: 0, serial: 0, has_queues })
    }

    fn value(&mut self) -> Vec<u8> {
        self.serial += 1;
        format!("value{}", self.serial).into_bytes()
    }

    fn begin(&self, options: TransactionOptions) -> Result<Transaction, String> {
        self.db.begin_with(&WriteOptions::default(), &options).map_err(told("begin"))
    }

    /// A transaction waits for a lock of a second transaction. The second transaction releases the lock.
    fn release(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (name, values) = (key(chance), [self.value(), self.value()]);
        let (how, has_snapshot) = (chance.below(3), chance.percent(40));
        let (holder, waiter) = (self.db.begin(), self.db.begin());
        waiter.set_lock_timeout(PATIENT_MS);
        if has_snapshot {
            waiter.set_snapshot();
        }
        holder.set_save_point();
        holder.put(&name, &values[0]).map_err(told("put of the holder"))?;
        let waited = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| waiter.put(&name, &values[1]));
            wait_until_it_waits(&waiter, &[&holder], &name)?;
            match how {
                0 => holder.commit().map_err(told("commit of the holder"))?,
                1 => holder.rollback().map_err(told("rollback of the holder"))?,
                _ => holder.rollback_to_save_point().map_err(told("rollback to the save point"))?,
            }
            joined(waiting)
        })?;
        if how == 0 {
            self.state.insert(name.clone(), values[0].clone());
        }
        match (waited, how == 0 && has_snapshot) {
            (Err(error), true) if error.kind() == Kind::Busy => {
                waiter.rollback().map_err(told("rollback of the waiter"))?;
            }
            (Ok(()), false) => {
                waiter.commit().map_err(told("commit of the waiter"))?;
                self.state.insert(name.clone(), values[1].clone());
            }
            (other, conflict) => {
                return Err(format!("a wait ended with {other:?}, conflict {conflict}, release {how}"));
            }
        }
        same("a waiting transaction", &waiter.waiting_for().transactions.len(), &0)?;
        self.compare()
    }

    /// Several transactions wait for one key. Readers of the key hold the lock together.
    fn take_turns(&mut self, chance: &mut Chance) -> Result<(), String> {
        let name = key(chance);
        let readers: Vec<Transaction> = (0..1 + chance.below(3)).map(|_| self.db.begin()).collect();
        let family = self.db.default_family();
        let lock = |reader: &Transaction, mode| {
            reader.lock_for_update_in(&family, &name, &ReadOptions::default(), mode, Validation::Check)
        };
        for reader in &readers {
            lock(reader, LockMode::Shared).map_err(told("shared lock"))?;
        }
        let writers: Vec<(Transaction, Vec<u8>)> =
            (0..1 + chance.below(3)).map(|_| (self.db.begin(), self.value())).collect();
        let held: Vec<&Transaction> = readers.iter().collect();
        let key = &name[..];
        std::thread::scope(|scope| {
            let all: Vec<_> = writers
                .iter()
                .map(|(writer, operand)| {
                    scope.spawn(move || writer.merge(key, operand).and_then(|()| writer.commit()))
                })
                .collect();
            // With a queue for each key, a writer waits for the writers before it too.
            let others = writers[1..].iter().map(|(writer, _)| writer).filter(|_| self.has_queues);
            let known: Vec<&Transaction> = held.iter().copied().chain(others).collect();
            wait_until_it_waits(&writers[0].0, &known, key)?;
            for reader in &readers {
                reader.rollback().map_err(told("rollback of a reader"))?;
            }
            all.into_iter().try_for_each(|one| joined(one)?.map_err(told("merge in turn")))
        })?;
        // Each operand is there once, after the value from before. The order of the writers is free.
        let found = self.db.get(&name).map_err(told("get"))?.map(|value| value.to_vec()).unwrap_or_default();
        let before = self.state.get(&name).cloned();
        let (start, rest) = found.split_at(before.as_ref().map_or(0, |value| value.len().min(found.len())));
        same("the value from before", &start.to_vec(), &before.clone().unwrap_or_default())?;
        let rest = rest.strip_prefix(b",").filter(|_| before.is_some()).unwrap_or(rest);
        let mut operands: Vec<&[u8]> = rest.split(|byte| *byte == b',').collect();
        operands.sort();
        let mut expected: Vec<&[u8]> = writers.iter().map(|(_, operand)| &operand[..]).collect();
        expected.sort();
        same("operands of all writers", &operands, &expected)?;
        self.state.insert(name, found);
        self.compare()
    }

    /// A wait that ends with its timeout changes nothing.
    fn time_out(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (name, value) = (key(chance), self.value());
        let (holder, waiter) = (self.db.begin(), self.db.begin());
        holder.put(&name, &value).map_err(told("put of the holder"))?;
        waiter.set_lock_timeout(chance.below(3) as i64);
        let refused = waiter.put(&name, b"never").map_err(|error| (error.kind(), error.subcode()));
        same("a lock that stays", &refused, &Err((Kind::TimedOut, Subcode::LockTimeout)))?;
        same("holder of the lock", &waiter.waiting_for().transactions, &vec![holder.id()])?;
        same("locks of the waiter", &waiter.num_keys(), &0)?;
        let locks = self.db.lock_status_data();
        let holders: Vec<_> = locks.iter().map(|lock| (lock.key.clone(), lock.holders.clone())).collect();
        same("locks", &holders, &vec![(name.clone(), vec![holder.id()])])?;
        if chance.percent(50) {
            holder.commit().map_err(told("commit"))?;
            self.state.insert(name, value);
        } else {
            holder.rollback().map_err(told("rollback"))?;
        }
        waiter.rollback().map_err(told("rollback of the waiter"))?;
        self.compare()
    }

    /// Two transactions wait for each other.
    fn circle(&mut self, chance: &mut Chance) -> Result<(), String> {
        let names =
            [format!("a{}", chance.below(9)).into_bytes(), format!("b{}", chance.below(9)).into_bytes()];
        let options = TransactionOptions { deadlock_detect: true, ..TransactionOptions::default() };
        let pair = [self.begin(options.clone())?, self.begin(options)?];
        let values = [self.value(), self.value()];
        for (transaction, (name, value)) in pair.iter().zip(names.iter().zip(&values)) {
            transaction.set_deadlock_timeout(chance.below(3) as i64);
            transaction.put(name, value).map_err(told("put"))?;
        }
        let told_of_circle = std::thread::scope(|scope| {
            let cross = |at: usize| {
                let (transaction, names, values) = (&pair[at], &names, &values);
                move || {
                    let done = transaction.put(&names[1 - at], &values[at]);
                    // The transaction that is told releases its locks, and the other one continues.
                    let ended = if done.is_ok() { transaction.commit() } else { transaction.rollback() };
                    (done.map_err(|error| (error.kind(), error.subcode())), ended)
                }
            };
            let all = [scope.spawn(cross(0)), scope.spawn(cross(1))];
            all.into_iter().map(joined).collect::<Result<Vec<_>, String>>()
        })?;
        let mut won = None;
        for (at, (done, ended)) in told_of_circle.into_iter().enumerate() {
            ended.map_err(told("end of a transaction"))?;
            match done {
                Ok(()) if won.replace(at).is_none() => {}
                Err((Kind::Busy, Subcode::Deadlock)) => {}
                other => return Err(format!("transaction {at} of a circle: {other:?}")),
            }
        }
        let won = won.ok_or("both transactions of a circle were told")?;
        names.iter().for_each(|name| drop(self.state.insert(name.clone(), values[won].clone())));
        self.deadlocks = (self.deadlocks + 1).min(DEADLOCKS_MAX as usize);
        let kept = self.db.deadlock_info_buffer();
        same("deadlocks", &kept.len(), &self.deadlocks)?;
        let path: Vec<_> = kept[0]
            .path
            .iter()
            .map(|part| (part.transaction, part.waiting_key.clone(), part.exclusive))
            .collect();
        let part = |at: usize| (pair[at].id(), names[1 - at].clone(), true);
        let circle = [vec![part(0), part(1)], vec![part(1), part(0)]];
        if kept[0].limit_exceeded || !circle.contains(&path) {
            return Err(format!("path of a deadlock: {path:02x?} and not one of {circle:02x?}"));
        }
        if chance.percent(20) {
            self.db.set_deadlock_info_buffer_size(0);
            same("deadlocks of an empty buffer", &self.db.deadlock_info_buffer().len(), &0)?;
            self.db.set_deadlock_info_buffer_size(DEADLOCKS_MAX);
            self.deadlocks = 0;
        }
        self.compare()
    }

    /// A transaction outlives its expiration. Its lock goes to a waiter, and its commit fails.
    fn expire(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (name, value) = (key(chance), self.value());
        let old = self.begin(TransactionOptions { expiration: 1, ..TransactionOptions::default() })?;
        match old.put(&name, b"never") {
            Ok(()) => {}
            // The transaction expired before its first write.
            Err(error) if error.kind() == Kind::Expired => return Ok(()),
            Err(error) => return Err(format!("put before the expiration: {error}")),
        }
        let new = self.db.begin();
        new.put(&name, &value).map_err(told("put after the expiration"))?;
        let committed = old.commit().map_err(|error| error.kind());
        same("commit of an expired transaction", &committed, &Err(Kind::Expired))?;
        new.commit().map_err(told("commit"))?;
        self.state.insert(name, value);
        self.compare()
    }
}

/// Waits until a transaction waits for this key. Fails if a transaction that is not in `holders` has the lock.
fn wait_until_it_waits(waiter: &Transaction, holders: &[&Transaction], key: &[u8]) -> Result<(), String> {
    loop {
        let waits = waiter.waiting_for();
        if !waits.transactions.is_empty() {
            same("the key of a wait", &waits.key, &key.to_vec())?;
            let known: Vec<_> = holders.iter().map(|holder| holder.id()).collect();
            // Before the holders release their locks, no other transaction can hold the lock.
            return match waits.transactions.iter().all(|id| known.contains(id)) {
                true => Ok(()),
                false => Err(format!("a wait for {:?} and not for {known:?}", waits.transactions)),
            };
        }
        std::thread::yield_now();
    }
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> Result<T, String> {
    thread.join().map_err(|_| "a waiting thread panicked".to_string())
}

impl World for Waits {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..40 => self.release(chance),
            40..60 => self.take_turns(chance),
            60..75 => self.time_out(chance),
            75..90 => self.circle(chance),
            90..96 => self.expire(chance),
            96..98 => self.db.flush().map_err(told("flush")),
            _ => {
                let counts = (self.db.lock_status_data().len(), self.db.all_prepared_transactions().len());
                same(&format!("locks and prepared transactions of {:?}", self.policy), &counts, &(0, 0))
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut iter = self.db.iter_with(options).map_err(told("iter"))?;
        let mut found = BTreeMap::new();
        iter.seek_to_first();
        while iter.valid() {
            found.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status().map_err(told("scan"))?;
        same("rows", &found, &self.state)?;
        same("locks", &self.db.lock_status_data().len(), &0)
    }
}
