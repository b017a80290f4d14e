//! Timestamps that are turned on and off beside other features: blob files.

use ironstone::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactRangeOptions, Db, Family, Kind, Options,
    ReadOptions,
};

use crate::timestamps_toggled::{at, both, keys, put, rows_of, scan};

/// Writes every key with a value that goes to a blob file, and flushes.
fn fill(db: &Family, is_stamped: bool, value: &[u8]) {
    for key in keys() {
        match is_stamped {
            true => put(db, &key, 1, value),
            false => db.put(&key, value).unwrap(),
        }
    }
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
        let reading = |is_stamped: bool| if is_stamped { at(9) } else { ReadOptions::default() };
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
        for key in keys() {
            match turned_on {
                true => db.put(&key, &value).unwrap(),
                false => put(&db, &key, 1, &value),
            }
        }
        drop(db);
        for _ in 0..2 {
            let db = Db::open("data", now.clone()).unwrap();
            let reading = if turned_on { at(9) } else { ReadOptions::default() };
            assert_eq!(scan(&db, reading), rows_of(&keys(), &value), "{turned_on}");
        }
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
