//! Prepared transactions that go between Ironstone and RocksDB.
//!
//! `IRONSTONE_PEER` names RocksDB's library; without the variable the test prints that it was skipped.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

use std::collections::BTreeMap;
use std::path::Path;

use ironstone::{Options, TransactionDb, TransactionDbOptions, TxnDbWritePolicy};
use peer::{Library, WritePolicy, Writing};
use testkit::chance::Chance;

/// What the database must hold.
#[derive(Default)]
struct Model {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    prepared: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>,
    names: u64,
}

/// What becomes of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Commit,
    Rollback,
    Wait,
}

impl Model {
    fn new_transaction(&mut self, chance: &mut Chance) -> (Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>) {
        self.names += 1;
        let name = format!("transaction {}", self.names).into_bytes();
        // Keys of waiting transactions are locked: each transaction has its own.
        let keys = 1 + chance.below(4);
        let mut row = |i| (format!("{}/{i}", self.names).into_bytes(), chance.bytes(20));
        let mut rows: BTreeMap<_, _> = (0..keys).map(&mut row).collect();
        // A row that is there already: a rollback puts it back.
        let taken = |key: &Vec<u8>| self.prepared.values().any(|rows| rows.contains_key(key));
        if let Some(key) = self.rows.keys().filter(|key| !taken(key)).nth(chance.below(8) as usize) {
            rows.insert(key.clone(), chance.bytes(20));
        }
        (name, rows)
    }

    fn decide(&mut self, name: Vec<u8>, rows: BTreeMap<Vec<u8>, Vec<u8>>, fate: Fate) {
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

/// The names of a policy on both sides.
#[derive(Clone, Copy)]
struct Policy(TxnDbWritePolicy, WritePolicy);

fn ours(path: &Path, policy: Policy, model: &mut Model, chance: &mut Chance) {
    let mut options = Options::default();
    let keeps = ["", "avoid_flush_during_recovery=true;"][chance.below(2) as usize];
    options.update(&format!("{keeps}create_if_missing=true;write_buffer_size=65536")).unwrap();
    let transactions = TransactionDbOptions { write_policy: policy.0, ..TransactionDbOptions::default() };
    let db = TransactionDb::open(path, options, transactions).unwrap();
    let waiting = db.all_prepared_transactions();
    let names: Vec<_> = waiting.iter().map(|t| t.name()).collect();
    assert_eq!(names, model.prepared.keys().cloned().collect::<Vec<_>>(), "Ironstone finds what is prepared");
    for (key, value) in &model.rows {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]));
    }
    for key in model.prepared.values().flat_map(|rows| rows.keys()) {
        assert_eq!(db.get(key).unwrap().as_deref(), model.rows.get(key).map(|value| &value[..]));
    }
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
        let transaction = db.begin();
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
}

fn theirs(library: &Library, path: &Path, policy: Policy, model: &mut Model, chance: &mut Chance) {
    let keeps = ["", "avoid_flush_during_recovery=true;"][chance.below(2) as usize];
    let text = format!("{keeps}create_if_missing=true");
    let db = peer::TransactionDb::open_as(library, path, &text, policy.1).unwrap();
    let mut waiting = db.take_prepared();
    waiting.sort_by_key(peer::Transaction::name);
    let names: Vec<_> = waiting.iter().map(peer::Transaction::name).collect();
    assert_eq!(names, model.prepared.keys().cloned().collect::<Vec<_>>(), "RocksDB finds what is prepared");
    for (key, value) in &model.rows {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]));
    }
    for key in model.prepared.values().flat_map(|rows| rows.keys()) {
        assert_eq!(db.get(key).unwrap().as_deref(), model.rows.get(key).map(|value| &value[..]));
    }
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
}

#[test]
fn prepared_transactions_go_back_and_forth() {
    let Some(path) = std::env::var_os("IRONSTONE_PEER") else {
        eprintln!("SKIPPED: set IRONSTONE_PEER to RocksDB's library");
        return;
    };
    let library = Library::load(Path::new(&path)).unwrap();
    for seed in 0..24 {
        let policy = match seed % 2 {
            0 => Policy(TxnDbWritePolicy::WriteCommitted, WritePolicy::Committed),
            _ => Policy(TxnDbWritePolicy::WritePrepared, WritePolicy::Prepared),
        };
        let scratch = tempfile::tempdir().unwrap();
        let (mut model, mut chance) = (Model::default(), Chance::new(seed));
        for _ in 0..8 {
            if chance.below(2) == 0 {
                ours(scratch.path(), policy, &mut model, &mut chance);
            } else {
                theirs(&library, scratch.path(), policy, &mut model, &mut chance);
            }
        }
    }
}

/// `IRONSTONE_SEEDS` names another number of seeds, `IRONSTONE_FIRST_SEED` the first.
#[test]
fn nothing_prepared_is_lost_and_nothing_unprepared_survives() {
    let seeds = std::env::var("IRONSTONE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let first = std::env::var("IRONSTONE_FIRST_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let recoveries: u64 =
        (first..first + seeds).map(|seed| ironstone_sim::prepared::seed(seed, 4).unwrap()).sum();
    assert!(recoveries >= seeds * 4, "{recoveries} recoveries");
}
