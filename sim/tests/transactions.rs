//! Prepared transactions that go between Ironstone and RocksDB.
//!
//! `IRONSTONE_PEER` names RocksDB's library; without the variable the test prints that it was skipped.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

use std::collections::BTreeMap;

use ironstone::{
    Options, TransactionDb, TransactionDbOptions, TransactionOptions, TxnDbWritePolicy, WriteOptions,
};
use peer::{Library, VARIABLE, WritePolicy, Writing};
use testkit::chance::Chance;

/// The expected content of the database.
#[derive(Default)]
struct Model {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    prepared: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>,
    names: u64,
    /// Keys of transactions that were not prepared before a crash.
    gone: Vec<Vec<u8>>,
    crashed: bool,
    /// The story of the run, for a failure.
    story: Vec<String>,
}

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Commit,
    Rollback,
    Wait,
}

impl Model {
    /// Compares what a database holds with the model: all rows, and no row of a transaction that is not committed.
    fn compare(&self, get: impl Fn(&[u8]) -> Option<Vec<u8>>) {
        let undecided = self.prepared.values().flat_map(|rows| rows.keys());
        for key in self.rows.keys().chain(undecided).chain(&self.gone) {
            let story = self.story.join("\n");
            assert_eq!(get(key), self.rows.get(key).cloned(), "{}\n{story}", key.escape_ascii());
        }
    }

    fn new_transaction(&mut self, chance: &mut Chance) -> (Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>) {
        self.names += 1;
        let name = format!("transaction {}", self.names).into_bytes();
        // The keys of waiting transactions are locked, so each transaction has its own keys.
        let keys = 1 + chance.below(4);
        let mut row = |i| (format!("{}/{i}", self.names).into_bytes(), chance.bytes(20));
        let mut rows: BTreeMap<_, _> = (0..keys).map(&mut row).collect();
        // A row that exists already: a rollback restores it.
        let taken = |key: &Vec<u8>| self.prepared.values().any(|rows| rows.contains_key(key));
        if let Some(key) = self.rows.keys().filter(|key| !taken(key)).nth(chance.below(8) as usize) {
            rows.insert(key.clone(), chance.bytes(20));
        }
        (name, rows)
    }

    /// The process crashes while a transaction is not prepared.
    fn crash_with(&mut self, name: &[u8], rows: &BTreeMap<Vec<u8>, Vec<u8>>) {
        self.tell("crash with", name, rows);
        self.gone.extend(rows.keys().filter(|key| !self.rows.contains_key(*key)).cloned());
        self.crashed = true;
    }

    fn tell(&mut self, what: &str, name: &[u8], rows: &BTreeMap<Vec<u8>, Vec<u8>>) {
        let keys: Vec<_> = rows.keys().map(|key| key.escape_ascii().to_string()).collect();
        self.story.push(format!("  {what} {}: {}", name.escape_ascii(), keys.join(" ")));
    }

    fn decide(&mut self, name: Vec<u8>, rows: BTreeMap<Vec<u8>, Vec<u8>>, fate: Fate) {
        self.tell(&format!("{fate:?}"), &name, &rows);
        match fate {
            Fate::Commit => self.rows.extend(rows),
            Fate::Rollback => {}
            Fate::Wait => drop(self.prepared.insert(name, rows)),
        }
    }
}

fn fate(chance: &mut Chance) -> Fate {
    [Fate::Commit, Fate::Rollback, Fate::Wait][chance.below(3) as usize]
}

/// The names of a policy on both sides, and the threshold of the write-unprepared policy.
#[derive(Clone, Copy)]
struct Policy(TxnDbWritePolicy, WritePolicy, i64);

/// Without compactions, so that an open database can be copied.
const QUIET: &str = "create_if_missing=true;disable_auto_compactions=true;";

/// Copies an open database, as a crash of the process leaves it.
fn crash(directory: &mut tempfile::TempDir) {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        if !entry.file_type().unwrap().is_file() {
            continue;
        }
        match std::fs::copy(entry.path(), copy.path().join(entry.file_name())) {
            // An obsolete file was deleted during the copy.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            copied => drop(copied.unwrap()),
        }
    }
    *directory = copy;
}

fn ours(directory: &mut tempfile::TempDir, policy: Policy, model: &mut Model, chance: &mut Chance) {
    let mut options = Options::default();
    let keeps = ["", "avoid_flush_during_recovery=true;"][chance.below(2) as usize];
    options.update(&format!("{keeps}{QUIET}write_buffer_size=65536")).unwrap();
    let transactions = TransactionDbOptions {
        write_policy: policy.0,
        default_write_batch_flush_threshold: policy.2,
        ..TransactionDbOptions::default()
    };
    model.story.push(format!("Ironstone opens {keeps}"));
    let db = TransactionDb::open(directory.path(), options, transactions).unwrap();
    let waiting = db.all_prepared_transactions();
    model.crashed = false;
    let names: Vec<_> = waiting.iter().map(|t| t.name()).collect();
    assert_eq!(names, model.prepared.keys().cloned().collect::<Vec<_>>(), "Ironstone finds what is prepared");
    model.compare(|key| db.get(key).unwrap().map(|value| value.to_vec()));
    for transaction in waiting {
        let (name, fate) = (transaction.name(), fate(chance));
        let rows = model.prepared.remove(&name).unwrap();
        match fate {
            Fate::Commit => transaction.commit().unwrap(),
            Fate::Rollback => transaction.rollback().unwrap(),
            Fate::Wait => {}
        }
        model.decide(name, rows, fate);
    }
    for _ in 0..chance.below(6) {
        let (name, rows) = model.new_transaction(chance);
        // Some commits build their own memtables.
        let commit_bypass_memtable = policy.0 == TxnDbWritePolicy::WriteCommitted && chance.below(2) == 0;
        let own = TransactionOptions { commit_bypass_memtable, ..TransactionOptions::default() };
        let transaction = db.begin_with(&WriteOptions::default(), &own).unwrap();
        transaction.set_name(&name).unwrap();
        rows.iter().for_each(|(key, value)| transaction.put(key, value).unwrap());
        transaction.prepare().unwrap();
        db.put(b"plain", b"ours").unwrap();
        if chance.below(3) == 0 {
            db.flush().unwrap();
        }
        let fate = fate(chance);
        match fate {
            Fate::Commit => transaction.commit().unwrap(),
            Fate::Rollback => transaction.rollback().unwrap(),
            Fate::Wait => {}
        }
        model.decide(name, rows, fate);
    }
    if policy.2 > 0 && chance.below(2) == 0 {
        let (name, rows) = model.new_transaction(chance);
        let transaction = db.begin();
        transaction.set_name(&name).unwrap();
        rows.iter().for_each(|(key, value)| transaction.put(key, value).unwrap());
        if chance.below(2) == 0 {
            db.flush().unwrap();
        }
        model.crash_with(&name, &rows);
        crash(directory);
    }
}

fn theirs(
    library: &Library,
    directory: &mut tempfile::TempDir,
    policy: Policy,
    model: &mut Model,
    chance: &mut Chance,
) {
    let keeps = ["", "avoid_flush_during_recovery=true;"][chance.below(2) as usize];
    model.story.push(format!("RocksDB opens {keeps}"));
    let text = format!("{keeps}{QUIET}");
    let open = || {
        let (path, Policy(_, policy, threshold)) = (directory.path(), policy);
        peer::TransactionDb::open_with_threshold(library, path, &text, policy, threshold).unwrap()
    };
    if std::mem::take(&mut model.crashed) {
        // The open rolls back what was not prepared. But RocksDB does not record the rollback as committed, so its readers
        // see the rollback from the next open on.
        drop(open());
    }
    let db = open();
    let mut waiting = db.take_prepared();
    waiting.sort_by_key(peer::Transaction::name);
    let names: Vec<_> = waiting.iter().map(peer::Transaction::name).collect();
    assert_eq!(names, model.prepared.keys().cloned().collect::<Vec<_>>(), "RocksDB finds what is prepared");
    model.compare(|key| db.get(key).unwrap().map(|value| value.to_vec()));
    for transaction in &mut waiting {
        let (name, fate) = (transaction.name(), fate(chance));
        let rows = model.prepared.remove(&name).unwrap();
        match fate {
            Fate::Commit => transaction.commit().unwrap(),
            Fate::Rollback => transaction.rollback().unwrap(),
            Fate::Wait => {}
        }
        model.decide(name, rows, fate);
    }
    for _ in 0..chance.below(6) {
        let (name, rows) = model.new_transaction(chance);
        let mut transaction = db.begin(Writing::default());
        transaction.set_name(&name).unwrap();
        rows.iter().for_each(|(key, value)| transaction.put(key, value).unwrap());
        transaction.prepare().unwrap();
        db.put(b"plain", b"theirs", Writing::default()).unwrap();
        let fate = fate(chance);
        match fate {
            Fate::Commit => transaction.commit().unwrap(),
            Fate::Rollback => transaction.rollback().unwrap(),
            Fate::Wait => {}
        }
        model.decide(name, rows, fate);
    }
    if policy.2 > 0 && chance.below(2) == 0 {
        let (name, rows) = model.new_transaction(chance);
        let mut transaction = db.begin(Writing::default());
        transaction.set_name(&name).unwrap();
        rows.iter().for_each(|(key, value)| transaction.put(key, value).unwrap());
        model.crash_with(&name, &rows);
        crash(directory);
    }
}

#[test]
fn prepared_transactions_go_back_and_forth() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    for seed in 0..36 {
        let policy = match seed % 3 {
            0 => Policy(TxnDbWritePolicy::WriteCommitted, WritePolicy::Committed, 0),
            1 => Policy(TxnDbWritePolicy::WritePrepared, WritePolicy::Prepared, 0),
            _ => Policy(TxnDbWritePolicy::WriteUnprepared, WritePolicy::Unprepared, 1),
        };
        let mut scratch = tempfile::tempdir().unwrap();
        let (mut model, mut chance) = (Model::default(), Chance::new(seed));
        for _ in 0..8 {
            if chance.below(2) == 0 {
                ours(&mut scratch, policy, &mut model, &mut chance);
            } else {
                theirs(&library, &mut scratch, policy, &mut model, &mut chance);
            }
        }
    }
}

/// `IRONSTONE_SEEDS` sets another number of seeds, and `IRONSTONE_FIRST_SEED` the first seed.
#[test]
fn nothing_prepared_is_lost_and_nothing_unprepared_survives() {
    let seeds = std::env::var("IRONSTONE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let first = std::env::var("IRONSTONE_FIRST_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let recoveries: u64 =
        (first..first + seeds).map(|seed| ironstone_sim::prepared::seed(seed, 4).unwrap()).sum();
    assert!(recoveries >= seeds * 4, "{recoveries} recoveries");
}
