//! Random transactions, compared with a model: readers see what is committed, at each snapshot.

use super::*;

/// A database, and the rows that its readers must see.
struct Model {
    db: TransactionDb,
    directory: tempfile::TempDir,
    state: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Prepared transactions: name, and the value of each key after the commit.
    prepared: BTreeMap<String, BTreeMap<Vec<u8>, Option<Vec<u8>>>>,
    snapshots: Vec<(Snapshot, BTreeMap<Vec<u8>, Vec<u8>>)>,
    seed: u64,
    policy: TxnDbWritePolicy,
}

impl Model {
    fn below(&mut self, n: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % n
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key{:02}", self.below(16)).into_bytes()
    }

    fn step(&mut self, step: u64) {
        match self.below(20) {
            0..=3 => self.write_plain(step),
            4..=10 => self.prepare(step),
            11..=14 => self.decide(),
            15 => {
                let snapshot = self.db.snapshot();
                self.snapshots.push((snapshot, self.state.clone()));
            }
            16 if !self.snapshots.is_empty() => {
                let at = self.below(self.snapshots.len() as u64) as usize;
                self.snapshots.swap_remove(at);
            }
            17 => self.db.flush().unwrap(),
            18 => self.db.compact_range(None, None, &Default::default()).unwrap(),
            19 if self.below(3) == 0 => self.crash(),
            _ => {}
        }
    }

    fn write_plain(&mut self, step: u64) {
        let (key, value) = (self.key(), format!("plain{step}").into_bytes());
        let written = match self.below(3) {
            0 => self.db.delete(&key).map(|()| None),
            1 => self.db.put(&key, &value).map(|()| Some(value)),
            _ => self.db.merge(&key, &value).map(|()| Some(merged(self.state.get(&key), &value))),
        };
        // A prepared transaction may have the lock.
        match written {
            Ok(Some(value)) => drop(self.state.insert(key, value)),
            Ok(None) => drop(self.state.remove(&key)),
            Err(error) => assert_eq!(error.kind(), Kind::TimedOut),
        }
    }

    fn prepare(&mut self, step: u64) {
        let transaction = self.db.begin();
        let name = format!("t{step}");
        transaction.set_name(name.as_bytes()).unwrap();
        let mut own = BTreeMap::new();
        let mut save_points = Vec::new();
        for i in 0..1 + self.below(8) {
            match self.below(8) {
                0 => {
                    transaction.set_save_point();
                    save_points.push(own.clone());
                }
                1 if !save_points.is_empty() => {
                    transaction.rollback_to_save_point().unwrap();
                    own = save_points.pop().unwrap();
                }
                2 if !save_points.is_empty() => {
                    transaction.pop_save_point().unwrap();
                    save_points.pop();
                }
                _ => {}
            }
            let (key, value) = (self.key(), format!("{name}.{i}").into_bytes());
            let before = own.get(&key).cloned().unwrap_or_else(|| self.state.get(&key).cloned());
            let written = match self.below(4) {
                0 => transaction.delete(&key).map(|()| None),
                1 => transaction.merge(&key, &value).map(|()| Some(merged(before.as_ref(), &value))),
                _ => transaction.put(&key, &value).map(|()| Some(value)),
            };
            if let Ok(after) = written {
                own.insert(key.clone(), after.clone());
                assert_eq!(transaction.get(&key).unwrap().map(|v| v.to_vec()), after, "{name}");
            }
        }
        self.check_own(&transaction, &own);
        match self.below(8) {
            0 | 1 => {
                transaction.commit().unwrap();
                return self.apply(own);
            }
            2 => return,
            3 => return transaction.rollback().unwrap(),
            4 => return LIVE.with(|live| live.borrow_mut().push(transaction)),
            _ => {}
        }
        transaction.prepare().unwrap();
        self.check_own(&transaction, &own);
        self.prepared.insert(name, own);
        // Keep the handle, and so the locks. After a crash, transactions hold no locks.
        LIVE.with(|live| live.borrow_mut().push(transaction));
    }

    /// Checks that the transaction sees its own writes on top of the committed rows.
    fn check_own(&self, transaction: &Transaction, own: &BTreeMap<Vec<u8>, Option<Vec<u8>>>) {
        let mut all = self.state.clone();
        for (key, value) in own {
            match value {
                Some(value) => drop(all.insert(key.clone(), value.clone())),
                None => drop(all.remove(key)),
            }
        }
        let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
        let all: Vec<_> = all.iter().map(|(key, value)| (text(key), text(value))).collect();
        assert_eq!(rows(transaction.iter().unwrap()), all, "{transaction:?}");
        assert_eq!(rows_backward(transaction.iter().unwrap()), all, "{transaction:?}");
    }

    fn apply(&mut self, own: BTreeMap<Vec<u8>, Option<Vec<u8>>>) {
        for (key, value) in own {
            match value {
                Some(value) => drop(self.state.insert(key, value)),
                None => drop(self.state.remove(&key)),
            }
        }
    }

    fn decide(&mut self) {
        let all = self.db.all_prepared_transactions();
        if all.is_empty() {
            return;
        }
        let transaction = &all[self.below(all.len() as u64) as usize];
        let own = self.prepared.remove(&String::from_utf8(transaction.name()).unwrap()).unwrap();
        if self.below(3) == 0 {
            transaction.rollback().unwrap();
        } else {
            transaction.commit().unwrap();
            self.apply(own);
        }
    }

    /// In half of the cases, commits or rolls back every transaction first, because recovered transactions hold no
    /// locks.
    fn crash(&mut self) {
        let crashed = crash(self.directory.path());
        self.snapshots.clear();
        LIVE.with(|live| live.borrow_mut().clear());
        self.directory = crashed;
        self.db = open_as(self.directory.path(), self.policy);
        let found: Vec<_> = self.db.all_prepared_transactions();
        assert!(found.iter().map(|t| String::from_utf8(t.name()).unwrap()).eq(self.prepared.keys().cloned()));
        self.check();
        for transaction in found {
            let own = self.prepared.remove(&String::from_utf8(transaction.name()).unwrap()).unwrap();
            self.check_own(&transaction, &own);
            match self.below(2) {
                0 => transaction.rollback().unwrap(),
                _ => {
                    transaction.commit().unwrap();
                    self.apply(own);
                }
            }
            self.check();
        }
    }

    fn check(&self) {
        let all: Vec<_> = self
            .db
            .range::<[u8], _>(..)
            .map(|row| row.unwrap())
            .map(|(k, v)| (k.to_vec(), v.to_vec()))
            .collect();
        assert!(all.iter().map(|(k, v)| (k, v)).eq(self.state.iter()), "{all:?}\n{:?}", self.state);
        for (snapshot, state) in &self.snapshots {
            check_at(snapshot, state);
        }
        let now = self.db.snapshot();
        check_at(&now, &self.state);
    }
}

fn merged(before: Option<&Vec<u8>>, value: &[u8]) -> Vec<u8> {
    before.map_or_else(|| value.to_vec(), |before| [before, &b","[..], value].concat())
}

fn check_at(snapshot: &Snapshot, state: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let keys: Vec<Vec<u8>> = (0..16).map(|i| format!("key{i:02}").into_bytes()).collect();
    for key in &keys {
        assert_eq!(
            snapshot.get(key).unwrap().map(|v| v.to_vec()).as_ref(),
            state.get(key),
            "{key:?} at {snapshot:?}"
        );
    }
    let mut iter = snapshot.iter().unwrap();
    let mut backward = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        backward.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    iter.status().unwrap();
    assert!(backward.iter().rev().map(|(k, v)| (k, v)).eq(state.iter()), "backward at {snapshot:?}");
    iter.seek_to_first();
    let mut forward = Vec::new();
    while iter.valid() {
        forward.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    assert!(forward.iter().map(|(k, v)| (k, v)).eq(state.iter()), "forward at {snapshot:?}");
}

fn run(policy: TxnDbWritePolicy, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let directory = tempfile::tempdir().unwrap();
        let db = open_as(directory.path(), policy);
        let (state, prepared, snapshots) = Default::default();
        let mut model = Model { db, directory, state, prepared, snapshots, seed, policy };
        for step in 0..120 {
            model.step(step);
            model.check();
        }
        LIVE.with(|live| live.borrow_mut().clear());
    }
}

#[test]
fn readers_see_committed_transactions_only() {
    run(TxnDbWritePolicy::WritePrepared, 0..10);
    run(TxnDbWritePolicy::WriteCommitted, 100..103);
}

#[test]
fn readers_see_no_transaction_that_is_not_prepared() {
    run(TxnDbWritePolicy::WriteUnprepared, 200..215);
}
