//! The WAL as a list of files and as a stream of write batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ironstone::{Db, FlushOptions, Kind, Options, WalFileType, WriteBatch, WriteOptions};

fn archiving() -> Options {
    let mut options = Options::in_memory();
    options.db.WAL_ttl_seconds = 3600;
    options
}

fn synced() -> WriteOptions {
    WriteOptions { sync: true, ..WriteOptions::default() }
}

fn batch(from: u64, count: u64) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for i in from..from + count {
        batch.put(format!("key{i:06}").as_bytes(), &i.to_le_bytes());
    }
    batch
}

#[test]
fn updates_are_the_batches_as_they_were_written_through_archived_and_live_files() {
    let db = Db::open("data", archiving()).unwrap();
    let mut written = Vec::new();
    for i in 0..40u64 {
        let mut batch = batch(i * 10, i % 4 + 1);
        if i % 3 == 0 {
            batch.put_log_data(b"of the application");
        }
        // After a sync, the next batch also writes a mark to the WAL.
        db.write_with(&mut batch, &synced()).unwrap();
        written.push((batch.sequence(), batch.bytes().to_vec()));
        if i % 9 == 8 {
            db.flush().unwrap();
        }
    }
    let files = db.wal_files().unwrap();
    assert!(files.iter().any(|file| file.file_type == WalFileType::Archived), "{files:?}");
    let read: Vec<_> = db
        .updates_since(1)
        .unwrap()
        .map(|update| update.map(|update| (update.sequence, update.batch.bytes().to_vec())).unwrap())
        .collect();
    assert_eq!(read, written);
    // A sequence number in the middle of a batch returns the whole batch.
    let middle = written.iter().find(|(_, bytes)| bytes[8] == 4).unwrap();
    let first = db.updates_since(middle.0 + 2).unwrap().next().unwrap().unwrap();
    assert_eq!((first.sequence, first.batch.bytes()), (middle.0, &middle.1[..]));
}

#[test]
fn updates_continue_with_what_is_written_after_their_end() {
    let db = Db::open("data", archiving()).unwrap();
    db.put(b"a", b"1").unwrap();
    let mut updates = db.updates_since(0).unwrap();
    assert_eq!(updates.next().unwrap().unwrap().sequence, 1);
    for seq in 2..60 {
        assert!(updates.next().is_none());
        db.put(b"a", &[seq as u8]).unwrap();
        if seq % 7 == 0 {
            db.flush().unwrap();
        }
        let update = updates.next();
        assert!(update.is_some(), "after {seq}: {:?}", db.wal_files());
        assert_eq!(update.unwrap().unwrap().sequence, seq);
    }
}

#[test]
fn updates_read_beside_writers_miss_nothing_and_repeat_nothing() {
    let db = Db::open("data", archiving()).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3u64)
        .map(|writer| {
            let db = db.clone();
            std::thread::spawn(move || {
                for i in 0..300 {
                    db.write(batch(writer * 1_000_000 + i * 10, 1 + i % 3)).unwrap();
                    if i % 50 == 49 {
                        db.flush_with(&FlushOptions { wait: false, ..FlushOptions::default() }).unwrap();
                    }
                }
            })
        })
        .collect();
    let reader = {
        let (db, done) = (db.clone(), done.clone());
        std::thread::spawn(move || {
            let (mut updates, mut next) = (db.updates_since(0).unwrap(), 1);
            loop {
                let last = done.load(Ordering::Acquire);
                for update in updates.by_ref() {
                    let update = update.unwrap();
                    assert_eq!(update.sequence, next);
                    next += u64::from(update.batch.count());
                }
                if last {
                    return next;
                }
            }
        })
    };
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    done.store(true, Ordering::Release);
    assert_eq!(reader.join().unwrap(), db.latest_sequence() + 1);
}

#[test]
fn a_sequence_number_that_was_not_written_yet_is_not_found() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.put(b"a", b"1").unwrap();
    assert_eq!(db.updates_since(2).err().unwrap().kind(), Kind::NotFound);
}

#[test]
fn a_write_around_the_wal_is_a_gap() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put_with(b"b", b"2", &WriteOptions { disableWAL: true, ..WriteOptions::default() }).unwrap();
    db.put(b"c", b"3").unwrap();
    let mut updates = db.updates_since(1).unwrap();
    assert_eq!(updates.next().unwrap().unwrap().sequence, 1);
    assert_eq!(updates.next().unwrap().err().unwrap().kind(), Kind::Corruption);
    // After the gap, the stream starts with the next batch.
    assert_eq!(db.updates_since(2).unwrap().next().unwrap().unwrap().sequence, 3);
}

#[test]
fn updates_written_by_rocksdb_are_read_from_its_archive() {
    let golden = testkit::golden::root().join("wal-archive");
    let scratch = tempfile::tempdir().unwrap();
    testkit::golden::copy_dir(&golden, scratch.path());
    let mut options = Options::default();
    options.db.WAL_ttl_seconds = 1 << 40;
    let db = Db::open(scratch.path(), options).unwrap();
    let files = db.wal_files().unwrap();
    assert!(files.iter().any(|file| file.path_name.starts_with("/archive/")), "{files:?}");
    let mut next = files[0].start_sequence;
    for update in db.updates_since(next).unwrap() {
        let update = update.unwrap();
        assert_eq!(update.sequence, next);
        next += u64::from(update.batch.count());
    }
    assert_eq!(next, db.latest_sequence() + 1);
}

#[test]
fn writes_wait_for_the_lock_and_flushes_do_not() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.lock_wal().unwrap();
    db.lock_wal().unwrap();
    let (before, writer) = (db.current_wal_file().unwrap(), db.clone());
    let written = std::thread::spawn(move || writer.put(b"b", b"2"));
    let no_wait = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    assert_eq!(db.put_with(b"c", b"3", &no_wait).err().unwrap().kind(), Kind::Incomplete);
    db.unlock_wal().unwrap();
    assert_eq!(db.current_wal_file().unwrap(), before);
    assert_eq!(db.latest_sequence(), 1);
    db.unlock_wal().unwrap();
    written.join().unwrap().unwrap();
    assert_eq!(db.unlock_wal().err().unwrap().kind(), Kind::Aborted);
    assert_eq!(db.latest_sequence(), 2);
    db.lock_wal().unwrap();
    db.flush().unwrap();
    // A close does not wait for the lock.
    db.close().unwrap();
}
