//! Prepared transactions on a disk that crashes or fails.
//!
//! ```text
//!  history   after each operation, the possible states of the database (two after a failed operation)
//!            durable ──────────── attempted
//!               └── recovery finds one state of this range: rows and prepared transactions together
//! ```
//! So no durable prepared transaction is lost, no unprepared transaction survives, and no commit is applied in part. The crash
//! comes at a drawn call. The recovery can crash in the same way. Recovery uses the point-in-time mode, the default.
//! Each world has one write policy. With the write-committed policy, a column family has timestamps, and each commit has one.

mod flushed;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use env::Env;
use env::clock::ManualClock;
use env::executor::Inline;
use env::fault::FaultFs;
use env::memory::{MemoryFs, Survivors};
use ironstone::{
    Error, Family, FamilyDescriptor, FlushOptions, Kind, Options, ReadOptions, Record, Transaction,
    TransactionDb, TransactionDbOptions, TransactionOptions, TxnDbWritePolicy, WriteOptions,
};
use testkit::chance::Chance;
use testkit::machine::environment;

use self::state::{Rows, State, difference};
use crate::stamp;
use crate::state::Key;

/// Runs a seed. Returns the number of compared recoveries.
///
/// # Errors
/// The lost or wrong data, with the story.
pub fn seed(seed: u64, rounds: u64) -> Result<u64, String> {
    let mut world = World::new(seed);
    for _ in 0..rounds {
        if let Err(error) = world.round() {
            return Err(format!("seed {seed}: {error}\n{}", world.story.join("\n")));
        }
    }
    Ok(world.recoveries)
}

struct World {
    chance: Chance,
    policy: TxnDbWritePolicy,
    disk: MemoryFs,
    clock: Arc<ManualClock>,
    faults: Arc<FaultFs>,
    executor: Arc<Inline>,
    env: Env,
    db: Option<TransactionDb>,
    waiting: BTreeMap<Vec<u8>, Transaction>,
    /// Transactions that are not prepared, with their rows.
    open_ended: Vec<(Transaction, Rows)>,
    /// True if the last operation failed, and handles do not show its result.
    is_unclear: bool,
    /// True if the machine stops after the last operation.
    ends_round: bool,
    history: Vec<Vec<State>>,
    durable: usize,
    names: u64,
    /// The timestamp of the newest commit, also of a commit that a crash lost.
    time: u64,
    recoveries: u64,
    story: Vec<String>,
}

const FAMILIES: [&str; 3] = ["default", "b", STAMPED];

/// The column family with timestamps. Only the write-committed policy has it.
const STAMPED: &str = "stamped";

impl World {
    fn new(seed: u64) -> World {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let disk = MemoryFs::new(clock.clone());
        let faults = FaultFs::wrap_disk(Arc::new(disk.clone()), disk.clone());
        let mut chance = Chance::new(seed);
        let (env, executor) = world(&faults, &clock, chance.next());
        let policy = match seed % 5 {
            0 => TxnDbWritePolicy::WriteCommitted,
            1 | 2 => TxnDbWritePolicy::WritePrepared,
            _ => TxnDbWritePolicy::WriteUnprepared,
        };
        World {
            chance,
            policy,
            disk,
            clock,
            faults,
            executor,
            env,
            db: None,
            waiting: BTreeMap::new(),
            open_ended: Vec::new(),
            is_unclear: false,
            ends_round: false,
            history: vec![vec![State::default()]],
            durable: 0,
            names: 0,
            time: 0,
            recoveries: 0,
            story: Vec::new(),
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        let mut options = Options::default();
        let more = *self.chance.pick(&[
            "",
            "recycle_log_file_num=2;",
            "manual_wal_flush=true;",
            "avoid_flush_during_recovery=true;",
        ]);
        options.update(&format!(
            "{more}create_if_missing=true;create_missing_column_families=true;write_buffer_size=65536"
        ))?;
        options.db.env = self.env.clone();
        let mut stamped = options.clone();
        stamped.update("comparator=leveldb.BytewiseComparator.u64ts")?;
        let own = |name: &str| if name == STAMPED { &stamped.family } else { &options.family };
        let descriptor = |name: &&str| FamilyDescriptor::new(*name, own(name).clone());
        let families = self.families().iter().map(descriptor).collect();
        let unprepared = self.policy == TxnDbWritePolicy::WriteUnprepared;
        let threshold = if unprepared { *self.chance.pick(&[1, 60]) } else { 0 };
        let transactions = TransactionDbOptions {
            transaction_lock_timeout: 0,
            write_policy: self.policy,
            default_write_batch_flush_threshold: threshold,
            ..Default::default()
        };
        let db = TransactionDb::open_with("/db", options.clone(), transactions, Some(families))?;
        self.waiting = db.all_prepared_transactions().into_iter().map(|t| (t.name(), t)).collect();
        self.db = Some(db);
        Ok(())
    }

    fn families(&self) -> &'static [&'static str] {
        if self.policy == TxnDbWritePolicy::WriteCommitted { &FAMILIES } else { &FAMILIES[..2] }
    }

    fn db(&self) -> Result<TransactionDb, String> {
        self.db.clone().ok_or_else(|| "not open".to_string())
    }

    /// Runs one round: works, stops the machine, and compares the recovered database.
    fn round(&mut self) -> Result<(), String> {
        self.open().map_err(|e| format!("open without faults: {e}"))?;
        self.settle()?;
        let plan = self.plan(300);
        self.story.push(format!("round with {plan:?}"));
        self.faults.hook().set_plan(&plan).map_err(|e| e.to_string())?;
        let fired = self.faults.hook().fired();
        let mut resumed = false;
        for _ in 0..self.chance.below(40) {
            let ended = self.operation()?;
            if let Err(error) = ended {
                self.story.push(format!("  refused: {error}"));
                // A flush can make the WAL fail without a background error. The next operation after the resume then fails.
                if !resumed && self.faults.hook().fired() == fired && !self.faults.hook().crashed() {
                    return Err(format!("an operation failed though no call did: {error}"));
                }
                if !self.resume()? {
                    break;
                }
                resumed = true;
            }
            if std::mem::take(&mut self.ends_round) {
                break;
            }
            while self.chance.percent(40) && self.env.executor.help() {}
        }
        self.stop()
    }

    /// Tries to resume after a failed operation, and then continues: a transaction whose decision failed can be decided
    /// again. Returns false if the round ends. After a resume, the state that readers see is durable.
    fn resume(&mut self) -> Result<bool, String> {
        // With the write-unprepared policy, a failed commit without prepare may leave a prepared transaction without a handle.
        let unclear = std::mem::take(&mut self.is_unclear);
        if unclear || self.db.is_none() || self.faults.hook().crashed() || self.chance.percent(30) {
            return Ok(false);
        }
        self.faults.hook().set_plan("").map_err(|e| e.to_string())?;
        let resumed = self.db()?.resume();
        self.story.push(format!("  resume: {:?}", resumed.as_ref().err()));
        if resumed.is_err() {
            return Ok(false);
        }
        let found = self.found()?;
        let last = self.history.last().cloned().unwrap_or_default();
        if !last.contains(&found) {
            return Err(difference("resume", &found, &last));
        }
        self.history.push(vec![found]);
        self.durable = self.history.len() - 1;
        let plan = self.plan(100);
        self.story.push(format!("  then {plan:?}"));
        self.faults.hook().set_plan(&plan).map_err(|e| e.to_string())?;
        Ok(true)
    }

    fn plan(&mut self, calls: u64) -> String {
        let n = 1 + self.chance.below(calls);
        match self.chance.below(9) {
            0 => String::new(),
            // After an error of a full disk, a resume is possible.
            6 => format!("sync *.log #{} ENOSPC", 1 + n % 20),
            7 => format!("append *.log #{} ENOSPC", 1 + n % 40),
            8 => format!("sync *.log #{}.. ENOSPC", 1 + n % 20),
            1 => format!("append *.log #{} EIO", 1 + n % 40),
            2 => format!("sync * #{} EIO", 1 + n % 20),
            3 => format!("append * #{n} crash {}", self.chance.below(500)),
            _ => format!("write * #{n} crash"),
        }
    }

    /// Runs one drawn operation. The inner error is an expected error of the engine, the outer error is a failure of
    /// the test.
    fn operation(&mut self) -> Result<Result<(), Error>, String> {
        let sync = self.chance.percent(30);
        match self.chance.below(10) {
            0..3 => self.prepare(sync),
            3..6 => self.decide(sync),
            6 if self.chance.percent(40) => self.leave_open(sync),
            6 | 7 => self.write(sync),
            8 if self.chance.percent(30) => self.decide_before_flush(),
            8 => {
                let name = *self.chance.pick(self.families());
                // A decision can come between the switch of the memtable and its flush, and stand in the next WAL.
                let wait = self.chance.percent(50);
                self.story.push(format!("  flush {name} wait={wait}"));
                let flushed =
                    self.family(name)?.flush_with(&FlushOptions { wait, ..FlushOptions::default() });
                // While writes are stopped, a flush that does not wait is refused.
                Ok(flushed.or_else(|e| if !wait && e.kind() == Kind::TryAgain { Ok(()) } else { Err(e) }))
            }
            _ if self.chance.percent(50) => self.reopen(),
            _ => {
                let done = self.db()?.flush_wal(true);
                if done.is_ok() {
                    self.durable = self.history.len() - 1;
                }
                Ok(done)
            }
        }
    }

    fn family(&self, name: &str) -> Result<Family, String> {
        self.db()?.family(name).map_err(|e| e.to_string())
    }

    fn options(&self, sync: bool) -> WriteOptions {
        WriteOptions { sync, ..WriteOptions::default() }
    }

    fn drawn_rows(&mut self) -> Rows {
        self.names += 1;
        let (id, count, families) = (self.names, 1 + self.chance.below(4), self.families());
        // The keys of waiting transactions are locked, so each transaction has its own keys.
        let mut row = |i| {
            let family = *self.chance.pick(families);
            (Key::new(family, format!("{id}/{i}").as_bytes()), self.chance.bytes(20))
        };
        let mut rows: Rows = (0..count).map(&mut row).collect();
        // A row that exists already: a rollback must keep it.
        let last = self.history.last().and_then(|states| states.first()).cloned().unwrap_or_default();
        // A recovered transaction holds no locks, and `settle` writes without a transaction. So avoid their keys.
        let taken = |key: &Key| {
            key.bytes == b"settled"
                || self.open_ended.iter().any(|(_, rows)| rows.contains_key(key))
                || last.prepared.values().any(|rows| rows.contains_key(key))
        };
        let free: Vec<_> = last.rows.keys().filter(|key| !taken(key)).collect();
        if !free.is_empty() && self.chance.percent(50) {
            let key = (*self.chance.pick(&free)).clone();
            rows.insert(key, self.chance.bytes(20));
        }
        rows
    }

    fn prepare(&mut self, sync: bool) -> Result<Result<(), Error>, String> {
        let rows = self.drawn_rows();
        self.prepare_rows(rows, sync)
    }

    fn prepare_rows(&mut self, rows: Rows, sync: bool) -> Result<Result<(), Error>, String> {
        let db = self.db()?;
        let name = format!("t{:04}", self.names).into_bytes();
        self.story.push(format!("  prepare {} sync={sync}", self.names));
        // Some commits build their own memtables.
        let commit_bypass_memtable =
            self.policy == TxnDbWritePolicy::WriteCommitted && self.chance.percent(40);
        let options = TransactionOptions { commit_bypass_memtable, ..TransactionOptions::default() };
        let transaction = db.begin_with(&self.options(sync), &options).map_err(|e| e.to_string())?;
        transaction.set_name(&name).map_err(|e| e.to_string())?;
        let prepared = self.put_all(&transaction, &rows)?.and_then(|()| transaction.prepare());
        if prepared.is_ok() {
            self.waiting.insert(name.clone(), transaction);
        }
        self.happened(prepared.is_ok(), sync, |state| {
            state.prepared.insert(name.clone(), rows.clone());
        });
        Ok(prepared)
    }

    /// Leaves a transaction neither prepared nor committed when the machine stops. No row of the transaction may
    /// survive.
    fn leave_open(&mut self, sync: bool) -> Result<Result<(), Error>, String> {
        let (rows, db) = (self.drawn_rows(), self.db()?);
        self.story.push(format!("  leave open {} sync={sync}", self.names));
        let transaction =
            db.begin_with(&self.options(sync), &Default::default()).map_err(|e| e.to_string())?;
        transaction.set_name(format!("t{:04}", self.names).as_bytes()).map_err(|e| e.to_string())?;
        let done = self.put_all(&transaction, &rows)?;
        self.open_ended.push((transaction, rows));
        self.happened(done.is_ok(), false, |_| {});
        Ok(done)
    }

    /// Puts the rows. With the write-unprepared policy, a put may write to the WAL.
    fn put_all(&self, transaction: &Transaction, rows: &Rows) -> Result<Result<(), Error>, String> {
        for (key, value) in rows {
            match transaction.put_in(&self.family(&key.family)?, &key.bytes, value) {
                Err(error) if self.policy == TxnDbWritePolicy::WriteUnprepared => return Ok(Err(error)),
                written => written.map_err(|e| e.to_string())?,
            }
        }
        Ok(Ok(()))
    }

    fn decide(&mut self, sync: bool) -> Result<Result<(), Error>, String> {
        let names: Vec<_> = self.waiting.keys().cloned().collect();
        if names.is_empty() {
            return Ok(Ok(()));
        }
        let name = self.chance.pick(&names).clone();
        let commits = self.chance.percent(60);
        self.decide_named(name, commits, sync)
    }

    fn decide_named(
        &mut self,
        name: Vec<u8>,
        commits: bool,
        sync: bool,
    ) -> Result<Result<(), Error>, String> {
        self.story.push(format!("  decide {} commit={commits} sync={sync}", name.escape_ascii()));
        let transaction = &self.waiting[&name];
        transaction.set_write_options(self.options(sync));
        let committed = self.policy == TxnDbWritePolicy::WriteCommitted;
        let extra = commits && committed && self.chance.percent(30);
        let takes = if !committed { None } else { Some(self.chance.percent(30)) };
        let mut rows = Rows::new();
        if committed {
            // A failed commit leaves its commit-time batch in the transaction.
            transaction.with_commit_time_batch(|batch| batch.clear());
        }
        if extra {
            rows.insert(Key::new("default", b"commit time"), name.clone());
            transaction.with_commit_time_batch(|batch| {
                batch.put(b"commit time", &name);
            });
        }
        self.time += 1;
        let done = if commits { commit_at(transaction, self.time, takes) } else { transaction.rollback() };
        if done.is_ok() {
            self.waiting.remove(&name);
        }
        let time = self.time;
        self.happened(done.is_ok(), sync, |state| {
            let own = state.prepared.remove(&name).unwrap_or_default();
            if commits {
                state.rows.extend(rows.clone());
                state.rows.extend(committed_at(own, time));
            }
        });
        Ok(done)
    }

    /// Commits a transaction without prepare: all of its rows appear, or none.
    fn write(&mut self, sync: bool) -> Result<Result<(), Error>, String> {
        let (rows, db) = (self.drawn_rows(), self.db()?);
        self.story.push(format!("  write {} sync={sync}", self.names));
        let transaction =
            db.begin_with(&self.options(sync), &Default::default()).map_err(|e| e.to_string())?;
        let name = format!("t{:04}", self.names).into_bytes();
        transaction.set_name(&name).map_err(|e| e.to_string())?;
        let takes = (self.policy == TxnDbWritePolicy::WriteCommitted).then(|| self.chance.percent(30));
        self.time += 1;
        let done =
            self.put_all(&transaction, &rows)?.and_then(|()| commit_at(&transaction, self.time, takes));
        let rows = committed_at(rows, self.time);
        if self.policy == TxnDbWritePolicy::WriteUnprepared {
            // The commit prepares the transaction first. A crash may come before the commit record is durable.
            self.is_unclear = done.is_err();
            self.happened(false, sync, |state| {
                state.prepared.insert(name.clone(), rows.clone());
            });
            let before = self.history.len().checked_sub(2).map(|at| self.history[at].clone());
            let mut after = before.unwrap_or_default();
            after.iter_mut().for_each(|state| state.rows.extend(rows.clone()));
            if done.is_err() {
                after.extend(self.history.last().cloned().unwrap_or_default());
            }
            self.history.push(after);
            if done.is_ok() && sync {
                self.durable = self.history.len() - 1;
            }
            return Ok(done);
        }
        self.happened(done.is_ok(), sync, |state| state.rows.extend(rows.clone()));
        Ok(done)
    }

    /// Records the effect of an operation, or the possible effect of a failed operation.
    fn happened(&mut self, done: bool, sync: bool, change: impl Fn(&mut State)) {
        let before = self.history.last().cloned().unwrap_or_default();
        let mut after = before.clone();
        after.iter_mut().for_each(change);
        if !done {
            after.extend(before);
        }
        self.history.push(after);
        if done && sync {
            self.durable = self.history.len() - 1;
        }
    }

    fn reopen(&mut self) -> Result<Result<(), Error>, String> {
        self.story.push("  reopen".to_string());
        self.waiting.clear();
        self.open_ended.clear();
        let closed = self.db.take().map_or(Ok(()), |db| db.close());
        if closed.is_err() {
            return Ok(closed);
        }
        let opened = self.open();
        if opened.is_ok()
            && let Err(error) = self.compare_with_last()
            && !self.faults.hook().crashed()
        {
            return Err(error);
        }
        Ok(opened)
    }

    /// Compares the database after a clean close with the newest state.
    fn compare_with_last(&self) -> Result<(), String> {
        let found = self.found()?;
        let last = self.history.last().cloned().unwrap_or_default();
        if last.contains(&found) { Ok(()) } else { Err(difference("reopen", &found, &last)) }
    }

    fn stop(&mut self) -> Result<(), String> {
        self.crash();
        if self.chance.percent(30) {
            // The machine stops during the recovery too.
            let plan = format!("write * #{} crash", 1 + self.chance.below(40));
            self.faults.hook().set_plan(&plan).map_err(|e| e.to_string())?;
            let opened = self.open();
            let struck = self.faults.hook().crashed();
            self.story.push(format!("recovery with {plan:?}: {:?}", opened.as_ref().err()));
            if !struck {
                opened.map_err(|e| format!("open refused: {e}"))?;
                let compared = self.compare();
                if !self.faults.hook().crashed() {
                    compared?;
                }
            }
            self.crash();
        }
        self.faults.hook().set_plan("").map_err(|e| e.to_string())?;
        self.open().map_err(|e| format!("open refused: {e}"))?;
        self.compare()?;
        self.waiting.clear();
        self.open_ended.clear();
        let closed = self.db.take().map_or(Ok(()), |db| db.close());
        closed.map_err(|e| format!("close: {e}"))
    }

    fn crash(&mut self) {
        self.faults.hook().crash();
        self.waiting.clear();
        self.open_ended.clear();
        // The drop of a database can wait for a flush. So the jobs are dropped last.
        self.db = None;
        self.executor.abandon();
        let survivors = match self.chance.below(6) {
            0 => Survivors::Synced,
            1 => Survivors::Everything,
            2 => Survivors::TornLast(self.chance.next()),
            3 => Survivors::NamesLost(self.chance.next()),
            _ => Survivors::Random(self.chance.next()),
        };
        self.story.push(format!("the machine stops; left is {survivors:?}"));
        self.disk.crash(survivors);
        self.faults.hook().revive();
        (self.env, self.executor) = world(&self.faults, &self.clock, self.chance.next());
    }

    /// Compares the database after a crash: it must have one state between the durable and the attempted state.
    fn compare(&mut self) -> Result<(), String> {
        self.recoveries += 1;
        let found = self.found()?;
        let may: Vec<State> = self.history[self.durable..].iter().flatten().cloned().collect();
        if !may.contains(&found) {
            return Err(difference("recovery", &found, &may));
        }
        // A later crash of this recovery may return to an older state.
        Ok(())
    }

    /// Makes the content durable, as the only state from which the next round starts.
    fn settle(&mut self) -> Result<(), String> {
        let db = self.db()?;
        let mut found = self.found()?;
        let options = self.options(true);
        let name = format!("round {}", self.recoveries).into_bytes();
        db.put_with(b"settled", &name, &options).map_err(|e| format!("synced write: {e}"))?;
        found.rows.insert(Key::new("default", b"settled"), name);
        (self.history, self.durable) = (vec![vec![found]], 0);
        Ok(())
    }

    /// Returns the rows that the transaction sees differently from other readers.
    fn changes_of(&self, transaction: &Transaction, others: &Rows) -> Result<Rows, String> {
        let mut changed = Rows::new();
        for name in self.families() {
            let family = self.family(name)?;
            let iter = transaction.iter_in(&family, Default::default());
            let compared = iter.and_then(|iter| different(iter, name, others, &mut changed));
            compared.map_err(|e| e.to_string())?;
        }
        Ok(changed)
    }

    fn found(&self) -> Result<State, String> {
        let (db, mut state) = (self.db()?, State::default());
        let mut ids = BTreeMap::new();
        for name in self.families() {
            let family = self.family(name)?;
            ids.insert(family.id(), *name);
            let options = stamp::reading(&family, u64::MAX, ReadOptions::default());
            let mut iter = family.iter_with(options).map_err(|e| e.to_string())?;
            iter.seek_to_first();
            while iter.valid() {
                // A commit gives its timestamp to the entries, so the model has the timestamp after the value.
                let value = [iter.value(), iter.timestamp()].concat();
                state.rows.insert(Key::new(name, iter.key()), value);
                iter.next();
            }
            iter.status().map_err(|e| e.to_string())?;
        }
        for transaction in db.all_prepared_transactions() {
            if self.policy == TxnDbWritePolicy::WriteUnprepared {
                state.prepared.insert(transaction.name(), self.changes_of(&transaction, &state.rows)?);
                continue;
            }
            let mut rows = Rows::new();
            for record in transaction.to_batch().iter() {
                if let Record::Put { family, key, value } = record.map_err(|e| e.to_string())? {
                    // The key has room for the timestamp of the commit.
                    let room = if ids[&family] == STAMPED { 8 } else { 0 };
                    rows.insert(Key::new(ids[&family], &key[..key.len() - room]), value.to_vec());
                }
            }
            state.prepared.insert(transaction.name(), rows);
        }
        Ok(state)
    }
}

/// Commits a transaction. `takes`: `None` without timestamps; true if the commit takes a snapshot with its timestamp.
fn commit_at(transaction: &Transaction, time: u64, takes: Option<bool>) -> Result<(), Error> {
    match takes {
        None => transaction.commit(),
        Some(true) => {
            transaction.set_commit_timestamp(u64::MAX)?;
            transaction.commit_and_try_create_snapshot(None, Some(time)).map(drop)
        }
        Some(false) => {
            transaction.set_commit_timestamp(time)?;
            transaction.commit()
        }
    }
}

/// Returns the rows as a commit at `time` leaves them. A row of the column family with timestamps has its timestamp after the
/// value.
fn committed_at(mut rows: Rows, time: u64) -> Rows {
    let stamped = rows.iter_mut().filter(|(key, _)| key.family == STAMPED);
    stamped.for_each(|(_, value)| value.extend(time.to_le_bytes()));
    rows
}

/// The rows of an iterator that differ from the rows that other readers see.
fn different(
    mut iter: ironstone::BaseDeltaIter,
    name: &str,
    others: &Rows,
    changed: &mut Rows,
) -> Result<(), Error> {
    iter.seek_to_first();
    while iter.valid() {
        let (key, value) = (Key::new(name, iter.key()), iter.value().to_vec());
        if others.get(&key) != Some(&value) {
            changed.insert(key, value);
        }
        iter.next();
    }
    iter.status()
}

fn world(faults: &Arc<FaultFs>, clock: &Arc<ManualClock>, seed: u64) -> (Env, Arc<Inline>) {
    let (env, executor) = environment(faults.clone(), clock, seed);
    let hook = faults.hook().clone();
    // If the disk fails permanently, writers may wait forever. The machine then stops.
    executor.on_starved(2000, move |_| hook.crash());
    (env, executor)
}
