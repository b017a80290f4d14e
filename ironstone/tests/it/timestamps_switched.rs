//! Timestamps that are turned on and off together with other features: blob files, prepared transactions, secondary instances,
//! followers, and SST files that the MANIFEST has lost.

use std::path::Path;

use ironstone::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactRangeOptions, Db, Family, Follower, Kind,
    Options, ReadOptions, Secondary, TransactionDb, TransactionDbOptions, TxnDbWritePolicy, Weight, repair,
};

use crate::timestamps_toggled::{at, both, keys, put, rows_of, scan};

/// Reads the newest entries.
fn reading(is_stamped: bool) -> ReadOptions {
    if is_stamped { at(u64::MAX) } else { ReadOptions::default() }
}

/// Writes every key, with the timestamp 1 if the column family has timestamps.
fn write(db: &Family, is_stamped: bool, value: &[u8]) {
    write_at(db, is_stamped, 1, value);
}

fn write_at(db: &Family, is_stamped: bool, ts: u64, value: &[u8]) {
    for key in keys() {
        match is_stamped {
            true => put(db, &key, ts, value),
            false => db.put(&key, value).unwrap(),
        }
    }
}

/// Writes every key with a value that goes to a blob file, and flushes.
fn fill(db: &Family, is_stamped: bool, value: &[u8]) {
    write(db, is_stamped, value);
    db.flush().unwrap();
}

fn without_blobs(options: &Options) -> Options {
    let mut options = options.clone();
    options.update("enable_blob_files=false").unwrap();
    options
}

#[test]
fn an_open_that_turns_timestamps_on_or_off_over_blob_files_fails_until_the_values_are_in_sst_files() {
    let value = vec![b'v'; 200];
    for turned_on in [true, false] {
        let (plain, stamped) = both("enable_blob_files=true;min_blob_size=100");
        let (before, now) = if turned_on { (&plain, &stamped) } else { (&stamped, &plain) };
        let db = Db::open("data", before.clone()).unwrap();
        fill(&db, !turned_on, &value);
        drop(db);
        for options in [now, &without_blobs(now)] {
            for error in
                [Db::open("data", options.clone()).err(), Db::open_read_only("data", options.clone()).err()]
            {
                let error = error.unwrap();
                assert_eq!(error.kind(), Kind::InvalidArgument);
                assert!(error.to_string().contains("while the column family has blob files"), "{error}");
            }
        }
        let db = Db::open("data", without_blobs(before)).unwrap();
        assert_eq!(scan(&db, reading(!turned_on)), rows_of(&keys(), &value));
        let compaction = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            blob_garbage_collection_policy: BlobGarbageCollectionPolicy::Force,
            blob_garbage_collection_age_cutoff: 1.0,
            ..CompactRangeOptions::default()
        };
        db.compact_range(None, None, &compaction).unwrap();
        drop(db);
        let db = Db::open("data", now.clone()).unwrap();
        assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), &value));
        // New values go to blob files, with the keys that the column family has now.
        let new = vec![b'n'; 200];
        fill(&db, turned_on, &new);
        db.compact_range(None, None, &compaction).unwrap();
        assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), &new));
        drop(db);
        let db = Db::open("data", now.clone()).unwrap();
        assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), &new));
        drop(db);
        assert_eq!(Db::open("data", before.clone()).err().unwrap().kind(), Kind::InvalidArgument);
    }
}

/// The values of a WAL go to blob files after the change, with the new keys.
#[test]
fn large_values_of_a_wal_from_before_the_change_can_be_read() {
    let value = vec![b'v'; 200];
    for turned_on in [true, false] {
        let (plain, stamped) = both("enable_blob_files=true;min_blob_size=100");
        let (before, now) = if turned_on { (&plain, &stamped) } else { (&stamped, &plain) };
        let db = Db::open("data", before.clone()).unwrap();
        write(&db, !turned_on, &value);
        drop(db);
        for _ in 0..2 {
            let db = Db::open("data", now.clone()).unwrap();
            assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), &value), "{turned_on}");
        }
    }
}

fn transactional(options: &Options, write_policy: TxnDbWritePolicy) -> ironstone::Result<TransactionDb> {
    let transactions = TransactionDbOptions { write_policy, ..TransactionDbOptions::default() };
    TransactionDb::open("data", options.clone(), transactions)
}

fn committed(options: &Options) -> TransactionDb {
    transactional(options, TxnDbWritePolicy::WriteCommitted).unwrap()
}

/// Prepares a transaction that writes every key.
fn prepare(db: &TransactionDb, name: &str, value: &[u8]) -> ironstone::Transaction {
    let transaction = db.begin();
    transaction.set_name(name.as_bytes()).unwrap();
    keys().iter().for_each(|key| transaction.put(key, value).unwrap());
    transaction.prepare().unwrap();
    transaction
}

const KEPT_WALS: [&str; 2] = ["", "avoid_flush_during_recovery=true"];

/// Writes every key with the value "old". Returns the options before and after the change of timestamps.
fn with_old_values(text: &str, turned_on: bool) -> (Options, Options) {
    let (plain, stamped) = both(text);
    let (before, now) = if turned_on { (plain, stamped) } else { (stamped, plain) };
    let db = Db::open("data", before.clone()).unwrap();
    write(&db, !turned_on, b"old");
    (before, now)
}

#[test]
fn a_prepared_transaction_commits_after_timestamps_are_turned_on_or_off() {
    for (text, turned_on) in KEPT_WALS.iter().flat_map(|text| [(text, true), (text, false)]) {
        let (before, now) = with_old_values(text, turned_on);
        let db = committed(&before);
        let prepared = prepare(&db, "waits", b"new");
        drop((prepared, db));
        for commits in [false, true] {
            let db = committed(&now);
            assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), b"old"), "{text} {turned_on}");
            let transaction = db.transaction_by_name(b"waits").unwrap();
            if commits {
                if turned_on {
                    transaction.set_commit_timestamp(7).unwrap();
                }
                transaction.commit().unwrap();
                assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), b"new"), "{text} {turned_on}");
            }
        }
        // The section is from before the change, and the commit is from after the change.
        for _ in 0..2 {
            let db = committed(&now);
            assert!(db.all_prepared_transactions().is_empty());
            assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), b"new"), "{text} {turned_on}");
        }
        let db = committed(&now);
        db.flush().unwrap();
        drop(db);
        assert_eq!(scan(&committed(&before), reading(!turned_on)), rows_of(&keys(), b"new"));
    }
}

#[test]
fn a_transaction_that_was_committed_before_the_change_is_replayed_with_the_keys_of_now() {
    for (text, turned_on) in KEPT_WALS.iter().flat_map(|text| [(text, true), (text, false)]) {
        let (before, now) = with_old_values(text, turned_on);
        let db = committed(&before);
        let transaction = prepare(&db, "done", b"new");
        if !turned_on {
            transaction.set_commit_timestamp(7).unwrap();
        }
        transaction.commit().unwrap();
        drop((transaction, db));
        for _ in 0..2 {
            let db = committed(&now);
            assert!(db.all_prepared_transactions().is_empty());
            assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), b"new"), "{text} {turned_on}");
        }
    }
}

/// Only the policy `WriteCommitted` takes timestamps.
#[test]
fn sections_of_other_policies_fail_the_open_that_turns_timestamps_on_and_stay() {
    for policy in [TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared] {
        let (plain, stamped) = both("");
        let db = transactional(&plain, policy).unwrap();
        let prepared = prepare(&db, "waits", b"new");
        drop((prepared, db));
        for other in [policy, TxnDbWritePolicy::WriteCommitted] {
            let error = transactional(&stamped, other).err().unwrap();
            assert!(matches!(error.kind(), Kind::NotSupported | Kind::InvalidArgument), "{policy:?} {error}");
        }
        let db = transactional(&plain, policy).unwrap();
        db.transaction_by_name(b"waits").unwrap().commit().unwrap();
        assert_eq!(scan(&db, reading(false)), rows_of(&keys(), b"new"));
    }
}

/// The reader has its own comparator, and the writer changes between both.
#[test]
fn a_secondary_and_a_follower_read_on_while_the_writer_turns_timestamps_on_and_off() {
    for (text, reads_stamped) in KEPT_WALS.iter().flat_map(|text| [(text, true), (text, false)]) {
        let (plain, stamped) = both(text);
        let own = if reads_stamped { &stamped } else { &plain };
        let db = Db::open("data", own.clone()).unwrap();
        write(&db, reads_stamped, b"0");
        db.flush().unwrap();
        drop(db);
        let secondary = Secondary::open("data", own.clone()).unwrap();
        let follower = Follower::open("follower", "data", own.clone()).unwrap();
        for round in 1..6u64 {
            let is_stamped = (round % 2 == 1) != reads_stamped;
            let what = format!("{text} {reads_stamped} {round}");
            let db = Db::open("data", if is_stamped { stamped.clone() } else { plain.clone() }).unwrap();
            let value = format!("{round} in the WAL").into_bytes();
            write_at(&db, is_stamped, round * 2, &value);
            secondary.try_catch_up_with_primary().unwrap();
            assert_eq!(scan(&secondary.view(), reading(reads_stamped)), rows_of(&keys(), &value), "{what}");
            let flushed = format!("{round} flushed").into_bytes();
            write_at(&db, is_stamped, round * 2 + 1, &flushed);
            db.flush().unwrap();
            if round % 2 == 0 {
                db.compact_range(None, None, &Default::default()).unwrap();
            }
            secondary.try_catch_up_with_primary().unwrap();
            follower.try_catch_up_with_leader().unwrap();
            for view in [secondary.view(), follower.view()] {
                assert_eq!(scan(&view, reading(reads_stamped)), rows_of(&keys(), &flushed), "{what}");
            }
            // These entries stay in the WAL for the next writer.
            write_at(&db, is_stamped, round * 2 + 1, b"last");
        }
    }
}

/// The MANIFEST loses the record of an SST file from before the change.
#[test]
fn a_repair_adds_an_orphan_sst_file_from_before_a_change_of_timestamps() {
    for turned_on in [true, false] {
        let (before, now) = with_old_values("", turned_on);
        let fs = now.db.env.fs.clone();
        let db = Db::open("data", before).unwrap();
        db.flush().unwrap();
        db.close().unwrap();
        drop(db);
        Db::open("data", now.clone()).unwrap().close().unwrap();
        let current = fs.read_all(Path::new("data/CURRENT"), 100).unwrap();
        let manifest = Path::new("data").join(std::str::from_utf8(&current).unwrap().trim());
        let mut bytes = fs.read_all(&manifest, u64::MAX).unwrap();
        let key = keys().pop().unwrap();
        let found = bytes.windows(key.len()).position(|window| window == key).unwrap();
        bytes[found..found + 2].copy_from_slice(b"XY");
        fs.write_all(&manifest, &bytes, true).unwrap();
        let report = repair("data", now.clone(), Vec::new()).unwrap();
        let added = |what: &str| what.contains("the file is added to the database");
        assert!(report.problems.iter().any(|p| p.weight == Weight::Loss && added(&p.what)), "{report:#?}");
        for _ in 0..2 {
            let db = Db::open("data", now.clone()).unwrap();
            assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), b"old"), "{turned_on} {report:#?}");
        }
        let db = Db::open("data", now.clone()).unwrap();
        write_at(&db, turned_on, 5, b"new");
        db.flush().unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
        assert_eq!(scan(&db, reading(turned_on)), rows_of(&keys(), b"new"));
    }
}

#[test]
fn an_entry_without_a_timestamp_hides_an_older_entry_of_a_wal_after_timestamps_are_off_and_on_again() {
    let (plain, stamped) = both("avoid_flush_during_recovery=true");
    let db = Db::open("data", stamped.clone()).unwrap();
    keys().iter().for_each(|key| put(&db, key, 5, b"old"));
    drop(db);
    let db = Db::open("data", plain).unwrap();
    keys().iter().for_each(|key| db.put(key, b"new").unwrap());
    drop(db);
    for _ in 0..2 {
        let db = Db::open("data", stamped.clone()).unwrap();
        assert_eq!(scan(&db, at(u64::MAX)), rows_of(&keys(), b"new"));
    }
}
