//! Wide-column entities and several column families in transactions and indexed write batches.

use std::sync::{Arc, Mutex};

use ironstone::{
    Db, FamiliesIter, Family, FamilyDescriptor, FullMerge, Kind, LockMode, MergeFailure, MergeOperator,
    Merged, OptimisticTransactionDb, ReadOptions, Transaction, TransactionDb, TransactionDbOptions,
    TxnDbWritePolicy, Validation, WriteBatchWithIndex,
};

use super::{impatient, options};

type Columns = Vec<(String, String)>;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn listed(columns: Option<ironstone::WideColumns>) -> Option<Columns> {
    columns.map(|columns| columns.iter().map(|(name, value)| (text(name), text(value))).collect())
}

fn columns(given: &[(&str, &str)]) -> Columns {
    given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// Fills a database with a transaction on top. The database has a value, an entity and an operand; the transaction adds to each.
fn fill(db: &Db, transaction: &Transaction) {
    let family = db.default_family();
    db.put_entity(b"deleted", &[(b"a", b"1")]).unwrap();
    db.put_entity(b"merged", &[(b"", b"x"), (b"a", b"1")]).unwrap();
    db.put_entity(b"old", &[(b"a", b"1")]).unwrap();
    db.put(b"plain", b"p").unwrap();
    transaction.delete(b"deleted").unwrap();
    transaction.merge(b"merged", b"y").unwrap();
    transaction.put_entity_in(&family, b"new", &[(b"b", b"2"), (b"a", b"1")]).unwrap();
    transaction.put(b"value", b"v").unwrap();
}

const KEYS: [&[u8]; 7] = [b"absent", b"deleted", b"merged", b"new", b"old", b"plain", b"value"];

fn expected() -> Vec<Option<Columns>> {
    vec![
        None,
        None,
        Some(columns(&[("", "x,y"), ("a", "1")])),
        Some(columns(&[("a", "1"), ("b", "2")])),
        Some(columns(&[("a", "1")])),
        Some(columns(&[("", "p")])),
        Some(columns(&[("", "v")])),
    ]
}

fn check_reads(transaction: &Transaction, family: &Family) {
    let options = ReadOptions::default();
    let single: Vec<_> =
        KEYS.iter().map(|key| listed(transaction.get_entity_in(family, key, &options).unwrap())).collect();
    assert_eq!(single, expected());
    let together = transaction.multi_get_entity_in(family, &KEYS, &options);
    assert_eq!(together.into_iter().map(|found| listed(found.unwrap())).collect::<Vec<_>>(), expected());
    let update: Vec<_> = KEYS
        .iter()
        .map(|key| {
            let found = transaction.get_entity_for_update_in(
                family,
                key,
                &options,
                LockMode::Exclusive,
                Validation::Check,
            );
            listed(found.unwrap())
        })
        .collect();
    assert_eq!(update, expected());
    let plain = transaction.multi_get_in(family, &KEYS, &options);
    let plain: Vec<_> = plain.into_iter().map(|found| found.unwrap().map(|value| text(&value))).collect();
    let of = |value: &str| Some(value.to_string());
    assert_eq!(plain, [None, None, of("x,y"), of(""), of(""), of("p"), of("v")]);
    let mut iter = transaction.iter_in(family, options).unwrap();
    let mut walked = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        walked.push(listed(Some(iter.wide_columns().unwrap())));
        iter.next();
    }
    assert_eq!(walked, expected().into_iter().filter(Option::is_some).collect::<Vec<_>>());
    assert_eq!(iter.wide_columns().unwrap_err().kind(), Kind::InvalidArgument);
}

#[test]
fn a_transaction_of_each_policy_reads_the_entities_that_it_wrote() {
    for policy in
        [TxnDbWritePolicy::WriteCommitted, TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared]
    {
        let scratch = tempfile::tempdir().unwrap();
        let default_write_batch_flush_threshold =
            if policy == TxnDbWritePolicy::WriteUnprepared { 1 } else { 0 };
        let settings = TransactionDbOptions {
            write_policy: policy,
            default_write_batch_flush_threshold,
            ..impatient(false)
        };
        let db = TransactionDb::open(scratch.path(), options(), settings).unwrap();
        let transaction = db.begin();
        transaction.set_name(b"entities").unwrap();
        fill(&db, &transaction);
        check_reads(&transaction, &db.default_family());
        transaction.prepare().unwrap();
        transaction.commit().unwrap();
        assert_eq!(listed(db.get_entity(b"merged").unwrap()), Some(columns(&[("", "x,y"), ("a", "1")])));
    }
}

#[test]
fn an_optimistic_transaction_reads_the_entities_that_it_wrote() {
    let scratch = tempfile::tempdir().unwrap();
    let db = OptimisticTransactionDb::open(scratch.path(), options()).unwrap();
    let transaction = db.begin();
    fill(&db, &transaction);
    check_reads(&transaction, &db.default_family());
    transaction.commit().unwrap();
    assert_eq!(listed(db.get_entity(b"new").unwrap()), Some(columns(&[("a", "1"), ("b", "2")])));
}

#[test]
fn an_entity_read_for_update_is_locked() {
    let scratch = tempfile::tempdir().unwrap();
    let db = TransactionDb::open(scratch.path(), options(), impatient(false)).unwrap();
    let (family, read) = (db.default_family(), ReadOptions::default());
    let transaction = db.begin();
    let mode = LockMode::Exclusive;
    transaction.get_entity_for_update_in(&family, b"k", &read, mode, Validation::Check).unwrap();
    assert_eq!(db.put(b"k", b"other").unwrap_err().kind(), Kind::TimedOut);
    let snapshot = ReadOptions { snapshot: db.snapshot().options().snapshot, ..ReadOptions::default() };
    let unchecked =
        transaction.get_entity_for_update_in(&family, b"k", &snapshot, mode, Validation::Skip).unwrap_err();
    assert_eq!(unchecked.kind(), Kind::InvalidArgument);
}

#[test]
fn an_indexed_batch_gives_entities_alone_and_over_the_database() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), options()).unwrap();
    let (family, read) = (db.default_family(), ReadOptions::default());
    db.put_entity(b"old", &[(b"a", b"1")]).unwrap();
    let mut batch = WriteBatchWithIndex::new();
    batch.put_entity_in(&family, b"new", &[(b"a", b"2")]).unwrap();
    batch.merge(b"old", b"m").unwrap();
    assert_eq!(
        listed(batch.get_entity_from_batch_in(&family, b"new").unwrap()),
        Some(columns(&[("a", "2")]))
    );
    assert_eq!(batch.get_entity_from_batch_in(&family, b"absent").unwrap().map(|_| ()), None);
    let unknown_base = batch.get_entity_from_batch_in(&family, b"old").unwrap_err();
    assert_eq!(unknown_base.kind(), Kind::MergeInProgress);
    let over = batch.get_entity_from_batch_and_db(&family, b"old", &read).unwrap();
    // The merge operator sees an empty default column, as in RocksDB.
    let wanted = Some(columns(&[("", ",m"), ("a", "1")]));
    assert_eq!(listed(over), wanted);
    let all = batch.multi_get_entity_from_batch_and_db(&family, &[b"new", b"absent", b"old"], &read);
    let all: Vec<_> = all.into_iter().map(|found| listed(found.unwrap())).collect();
    assert_eq!(all, [Some(columns(&[("a", "2")])), None, wanted]);
    let stamped = ReadOptions { timestamp: Some(vec![0; 8]), ..ReadOptions::default() };
    for found in batch.multi_get_entity_from_batch_and_db(&family, &[b"new", b"old"], &stamped) {
        assert_eq!(found.unwrap_err().kind(), Kind::InvalidArgument);
    }
}

fn walk(iter: &mut FamiliesIter, forward: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if forward {
        iter.seek_to_first()
    } else {
        iter.seek_to_last()
    }
    while iter.valid() {
        let own: Vec<String> = iter
            .columns()
            .unwrap()
            .iter()
            .map(|(name, value)| format!("{}={}", text(name), text(value)))
            .collect();
        let groups: Vec<String> =
            iter.groups().unwrap().iter().map(|group| group.family.name().to_string()).collect();
        lines.push(format!("{} {} {}", text(iter.key()), own.join(" "), groups.join("+")));
        if forward { iter.next() } else { iter.prev() }
    }
    iter.status().unwrap();
    lines
}

#[test]
fn an_iterator_over_families_shows_the_writes_of_the_transaction() {
    let scratch = tempfile::tempdir().unwrap();
    let db = TransactionDb::open(scratch.path(), options(), impatient(false)).unwrap();
    let cold = db.create_family(FamilyDescriptor::new("cold", options().family)).unwrap();
    db.put_entity(b"k1", &[(b"a", b"1")]).unwrap();
    cold.put_entity(b"k1", &[(b"b", b"2")]).unwrap();
    cold.put_entity(b"k3", &[(b"b", b"3")]).unwrap();
    let transaction = db.begin();
    let families = db.families();
    let mut iter = transaction.coalescing_iter(&families, &ReadOptions::default()).unwrap();
    transaction.put_entity_in(&db, b"k2", &[(b"a", b"4")]).unwrap();
    transaction.put_entity_in(&cold, b"k2", &[(b"a", b"5")]).unwrap();
    transaction.delete_in(&cold, b"k3").unwrap();
    db.put(b"k9", b"later").unwrap();
    let wanted = ["k1 a=1 b=2 default+cold", "k2 a=5 default+cold"];
    assert_eq!(walk(&mut iter, true), wanted);
    let mut backward = walk(&mut iter, false);
    backward.reverse();
    assert_eq!(backward, wanted);
    // A change of the direction in the middle.
    iter.seek(b"k2");
    iter.prev();
    assert_eq!(text(iter.key()), "k1");
    iter.next();
    assert_eq!(text(iter.key()), "k2");
    let none = transaction.coalescing_iter(&[], &ReadOptions::default()).err().unwrap();
    assert_eq!(none.kind(), Kind::InvalidArgument);
}

/// Writes to all column families during the first merge.
struct Meddler {
    db: Arc<Mutex<Option<Db>>>,
}

impl MergeOperator for Meddler {
    fn name(&self) -> &str {
        "test.Meddler"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Result<Merged, MergeFailure> {
        let db = self.db.lock().unwrap().take();
        for family in db.iter().flat_map(Db::families) {
            family.put(b"b", b"after").unwrap();
        }
        merge.operands.iter().for_each(|operand| out.extend_from_slice(operand));
        Ok(Merged::New)
    }
}

#[test]
fn all_keys_of_a_multi_get_belong_to_one_sequence_number() {
    let scratch = tempfile::tempdir().unwrap();
    let shared = Arc::new(Mutex::new(None));
    let mut options = options();
    options.family.merge_operator = Some(Arc::new(Meddler { db: shared.clone() }));
    let db = TransactionDb::open(scratch.path(), options.clone(), impatient(false)).unwrap();
    db.create_family(FamilyDescriptor::new("other", options.family)).unwrap();
    let families = db.families();
    let read = ReadOptions::default();
    let transaction = db.begin();
    transaction.put(b"c", b"own").unwrap();
    let before = |values: Vec<ironstone::Result<Option<ironstone::Pinned>>>| {
        values.into_iter().map(|value| value.unwrap().map(|value| text(&value)).unwrap_or_default()).collect()
    };
    let prepare = || {
        for family in &families {
            family.put(b"b", b"before").unwrap();
        }
        db.merge(b"a", b"m").unwrap();
        *shared.lock().unwrap() = Some(db.base().clone());
    };
    prepare();
    let found: Vec<String> = before(transaction.multi_get_in(&db, &[b"a", b"b", b"c"], &read));
    assert_eq!(found, ["m", "before", "own"]);
    assert!(shared.lock().unwrap().is_none(), "the merge wrote during the read");
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"after"[..]));
    prepare();
    let keys: [(&Family, &[u8]); 4] = [(&db, b"a"), (&families[1], b"b"), (&db, b"b"), (&db, b"c")];
    let found: Vec<String> = before(transaction.multi_get_families(&keys, &read));
    assert_eq!(found, ["mm", "before", "before", "own"]);
    assert!(shared.lock().unwrap().is_none(), "the merge wrote during the read");
}
