//! Prepared transactions that go between Ironstone and RocksDB.
//!
//! `IRONSTONE_PEER` names RocksDB's library; without the variable the test prints that it was skipped.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

use std::collections::BTreeMap;
use std::path::Path;

use ironstone::{Options, TransactionDb, TransactionDbOptions};
use peer::{Library, Writing};
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
        let rows = (0..keys).map(&mut row).collect();
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

fn ours(path: &Path, model: &mut Model, chance: &mut Chance) {
    let mut options = Options::default();
    options.update("create_if_missing=true;write_buffer_size=65536").unwrap();
    let db = TransactionDb::open(path, options, TransactionDbOptions::default()).unwrap();
    let waiting = db.all_prepared_transactions();
    let names: Vec<_> = waiting.iter().map(|t| t.name()).collect();
    assert_eq!(names, model.prepared.keys().cloned().collect::<Vec<_>>(), "Ironstone finds what is prepared");
    for (key, value) in &model.rows {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]));
    }
    for rows in model.prepared.values() {
        assert!(rows.keys().all(|key| db.get(key).unwrap().is_none()));
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

fn theirs(library: &Library, path: &Path, model: &mut Model, chance: &mut Chance) {
    let db = peer::TransactionDb::open(library, path, "create_if_missing=true").unwrap();
    let mut waiting = db.take_prepared();
    waiting.sort_by_key(peer::Transaction::name);
    let names: Vec<_> = waiting.iter().map(peer::Transaction::name).collect();
    assert_eq!(names, model.prepared.keys().cloned().collect::<Vec<_>>(), "RocksDB finds what is prepared");
    for (key, value) in &model.rows {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]));
    }
    for rows in model.prepared.values() {
        assert!(rows.keys().all(|key| db.get(key).unwrap().is_none()));
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
    for seed in 0..10 {
        let scratch = tempfile::tempdir().unwrap();
        let (mut model, mut chance) = (Model::default(), Chance::new(seed));
        for _ in 0..8 {
            if chance.below(2) == 0 {
                ours(scratch.path(), &mut model, &mut chance);
            } else {
                theirs(&library, scratch.path(), &mut model, &mut chance);
            }
        }
    }
}

/// `IRONSTONE_SEEDS` names another number of seeds.
#[test]
fn nothing_prepared_is_lost_and_nothing_unprepared_survives() {
    let seeds = std::env::var("IRONSTONE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let recoveries: u64 = (0..seeds).map(|seed| ironstone_sim::prepared::seed(seed, 4).unwrap()).sum();
    assert!(recoveries >= seeds * 4, "{recoveries} recoveries");
}
