//! Databases with prepared transactions that RocksDB wrote (`fixtures/golden/txn-2pc*`).

use base::SequenceNumber;
use ironstone::{FamilyDescriptor, Options, Order, ReadOptions, TransactionDb};
use testkit::golden::{self, Golden};

use super::impatient;

fn open(golden: &Golden, path: &std::path::Path) -> TransactionDb {
    let mut options = Options::default();
    options.family.comparator = Order::by_name(&golden.families[0].comparator).unwrap();
    let families =
        golden.families.iter().map(|f| FamilyDescriptor::new(&f.name, options.family.clone())).collect();
    TransactionDb::open_with(path, options, impatient(false), Some(families)).unwrap()
}

type Row = (String, Vec<u8>, Vec<u8>, Vec<u8>);

fn rows(db: &TransactionDb, golden: &Golden) -> Vec<Row> {
    let mut out = Vec::new();
    for family in &golden.families {
        let timestamp = family.comparator.ends_with(".u64ts").then(|| vec![0xff; 8]);
        let options = ReadOptions { timestamp, ..ReadOptions::default() };
        let mut iter = db.family(&family.name).unwrap().iter_with(options).unwrap();
        iter.seek_to_first();
        while iter.valid() {
            let (key, value, at) = (iter.key().to_vec(), iter.value().to_vec(), iter.timestamp().to_vec());
            out.push((family.name.clone(), key, value, at));
            iter.next();
        }
        iter.status().unwrap();
    }
    out
}

fn expected(golden: &Golden, name: &str) -> Vec<Row> {
    let want = golden::load(name);
    let of = |family: &golden::Family| {
        let rows = want.rows_of(&family.name).into_iter().cloned().collect::<Vec<_>>();
        rows.into_iter().map(|r| (r.family, r.key, r.value, r.timestamp.unwrap_or_default()))
    };
    golden.families.iter().flat_map(of).collect()
}

fn names(db: &TransactionDb) -> Vec<String> {
    let prepared = db.all_prepared_transactions();
    prepared.iter().map(|t| String::from_utf8(t.name()).unwrap()).collect()
}

fn undecided(golden: &Golden) -> Vec<String> {
    let names = golden.meta["prepared"].as_array().unwrap();
    names.iter().map(|name| name.as_str().unwrap().to_string()).collect()
}

#[test]
fn undecided_transactions_of_rocksdb_wait_for_commit() {
    let golden = golden::load("txn-2pc");
    let copy = golden.copy();
    for _ in 0..2 {
        let db = open(&golden, copy.path());
        assert_eq!(names(&db), undecided(&golden));
        assert_eq!(rows(&db, &golden), expected(&golden, "txn-2pc"));
        assert_eq!(db.latest_sequence(), SequenceNumber::new(golden.last_sequence));
    }
    let db = open(&golden, copy.path());
    for transaction in db.all_prepared_transactions() {
        transaction.commit().unwrap();
    }
    assert_eq!(rows(&db, &golden), expected(&golden, "txn-2pc.after-commit"));
    drop(db);
    let db = open(&golden, copy.path());
    assert!(names(&db).is_empty());
    assert_eq!(rows(&db, &golden), expected(&golden, "txn-2pc.after-commit"));
}

#[test]
fn undecided_transactions_of_rocksdb_can_be_rolled_back() {
    let golden = golden::load("txn-2pc");
    let copy = golden.copy();
    for _ in 0..2 {
        let db = open(&golden, copy.path());
        for transaction in db.all_prepared_transactions() {
            transaction.rollback().unwrap();
        }
        assert!(names(&db).is_empty());
        assert_eq!(rows(&db, &golden), expected(&golden, "txn-2pc"));
    }
}

#[test]
fn commits_at_a_timestamp_are_replayed_with_it() {
    let golden = golden::load("txn-2pc-ts");
    let copy = golden.copy();
    {
        let db = open(&golden, copy.path());
        assert_eq!(names(&db), undecided(&golden));
        assert_eq!(rows(&db, &golden), expected(&golden, "txn-2pc-ts"));
        let transaction = db.transaction_by_name(b"t5").unwrap();
        assert_eq!(transaction.commit().unwrap_err().message(), "Must assign a commit timestamp");
        transaction.set_commit_timestamp(5000).unwrap();
        transaction.commit().unwrap();
    }
    let db = open(&golden, copy.path());
    let stamped = rows(&db, &golden).into_iter().filter(|row| row.3 == 5000u64.to_le_bytes()).count();
    assert!(stamped > 0, "the commit gave its timestamp to the keys");
}
