//! The WAL as a list of files and as a stream of write batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::SequenceNumber;
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
        .updates_since(SequenceNumber::new(1))
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
fn updates_continue_with_writes_after_their_end() {
    let db = Db::open("data", archiving()).unwrap();
    db.put(b"a", b"1").unwrap();
    let mut updates = db.updates_since(SequenceNumber::ZERO).unwrap();
    assert_eq!(updates.next().unwrap().unwrap().sequence, SequenceNumber::new(1));
    for seq in 2..60 {
        assert!(updates.next().is_none());
        db.put(b"a", &[seq as u8]).unwrap();
        if seq % 7 == 0 {
            db.flush().unwrap();
        }
        let update = updates.next();
        assert!(update.is_some(), "after {seq}: {:?}", db.wal_files());
        assert_eq!(update.unwrap().unwrap().sequence, SequenceNumber::new(seq));
    }
}

#[test]
fn updates_read_concurrently_with_writers_are_complete_and_unique() {
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
            let (mut updates, mut next) = (db.updates_since(SequenceNumber::ZERO).unwrap(), 1);
            loop {
                let last = done.load(Ordering::Acquire);
                for update in updates.by_ref() {
                    let update = update.unwrap();
                    assert_eq!(update.sequence, SequenceNumber::new(next));
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
    assert_eq!(reader.join().unwrap(), (db.latest_sequence() + 1).get());
}

/// The bytes after the last record of a recycled WAL are of the older WAL. The stream has read these bytes before the next
/// batch is written over them.
#[test]
fn the_rest_of_an_older_wal_in_a_recycled_wal_is_no_damage() {
    let mut options = Options::in_memory();
    options.db.recycle_log_file_num = 1;
    let db = Db::open("data", options).unwrap();
    let mut noise = 1u64;
    let mut write = |bytes: usize| {
        let mut next = || {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (noise >> 56) as u8
        };
        let value: Vec<u8> = (0..bytes).map(|_| next()).collect();
        db.put(b"key", &value).unwrap();
    };
    for round in 0..4 {
        for i in 0..400 {
            write(50 + i * 37 % 300);
            let mut updates = db.updates_since(db.latest_sequence()).unwrap();
            assert!(updates.next().unwrap().is_ok());
            write(100);
            let next = updates.next().unwrap_or_else(|| panic!("round {round}: no update after put {i}"));
            assert_eq!(next.unwrap_or_else(|e| panic!("round {round}: {e}")).sequence, db.latest_sequence());
        }
        db.flush().unwrap();
    }
}

#[test]
fn a_sequence_number_that_was_not_written_yet_is_not_found() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.put(b"a", b"1").unwrap();
    assert_eq!(db.updates_since(SequenceNumber::new(2)).err().unwrap().kind(), Kind::NotFound);
}

#[test]
fn a_write_around_the_wal_is_a_gap() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put_with(b"b", b"2", &WriteOptions { disableWAL: true, ..WriteOptions::default() }).unwrap();
    db.put(b"c", b"3").unwrap();
    let mut updates = db.updates_since(SequenceNumber::new(1)).unwrap();
    assert_eq!(updates.next().unwrap().unwrap().sequence, SequenceNumber::new(1));
    let error = updates.next().unwrap().err().unwrap();
    assert_eq!(error.to_string(), "NotFound: Gap in sequence numbers");
    // After the gap, the stream starts with the next batch.
    assert_eq!(
        db.updates_since(SequenceNumber::new(2)).unwrap().next().unwrap().unwrap().sequence,
        SequenceNumber::new(3)
    );
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

/// Returns the names and the sizes of the WALs.
fn wals(db: &Db) -> Vec<(String, u64)> {
    db.wal_files().unwrap().into_iter().map(|file| (file.path_name, file.size)).collect()
}

#[test]
fn writes_and_flushes_wait_for_the_lock() {
    let mut options = Options::in_memory();
    options.update("write_buffer_size=65536").unwrap();
    let db = Db::open("data", options).unwrap();
    db.put(b"a", &[1; 100_000]).unwrap(); // the memtable is full
    db.lock_wal().unwrap();
    db.lock_wal().unwrap();
    let before = wals(&db);
    let no_wait = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    assert_eq!(db.put_with(b"c", b"3", &no_wait).unwrap_err().kind(), Kind::Incomplete);
    assert_eq!(db.flush().unwrap_err().kind(), Kind::Aborted);
    let at_once = FlushOptions { wait: false, ..FlushOptions::default() };
    assert_eq!(db.flush_with(&at_once).unwrap_err().kind(), Kind::TryAgain);
    let together = FlushOptions { force_atomic_flush: true, ..FlushOptions::default() };
    assert_eq!(db.flush_with(&together).unwrap_err().kind(), Kind::Aborted);
    assert_eq!(db.compact_range(None, None, &Default::default()).unwrap_err().kind(), Kind::Aborted);
    let (writer, flusher, other) = (db.clone(), db.clone(), db.clone());
    let written = std::thread::spawn(move || writer.put(b"b", b"2"));
    let flushed = std::thread::spawn(move || flusher.flush());
    let unlocked = std::thread::spawn(move || other.unlock_wal()).join().unwrap();
    assert_eq!(unlocked.unwrap_err().kind(), Kind::Aborted, "another thread has the lock");
    db.unlock_wal().unwrap();
    assert_eq!((wals(&db), db.latest_sequence()), (before.clone(), SequenceNumber::new(1)));
    db.lock_wal().unwrap();
    db.unlock_wal().unwrap();
    assert_eq!(wals(&db), before);
    db.unlock_wal().unwrap();
    written.join().unwrap().unwrap();
    flushed.join().unwrap().unwrap();
    assert_eq!(db.latest_sequence(), SequenceNumber::new(2));
    assert_ne!(wals(&db), before);
    assert_eq!(db.unlock_wal().err().unwrap().kind(), Kind::Aborted);
    // A close does not wait for the lock.
    db.lock_wal().unwrap();
    db.close().unwrap();
}

#[test]
fn the_owner_of_the_lock_copies_the_database() {
    let mut options = Options::in_memory();
    options.db.avoid_flush_during_shutdown = true;
    let db = Db::open("data", options.clone()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.lock_wal().unwrap();
    ironstone::Checkpoint::new(&db).create("copy").unwrap();
    assert_eq!(db.compact_range(None, None, &Default::default()).unwrap_err().kind(), Kind::Aborted);
    db.unlock_wal().unwrap();
    let copy = Db::open("copy", options).unwrap();
    assert_eq!(copy.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    // An entry that is in no WAL needs a flush.
    db.put_with(b"b", b"2", &WriteOptions { disableWAL: true, ..WriteOptions::default() }).unwrap();
    db.lock_wal().unwrap();
    assert_eq!(ironstone::Checkpoint::new(&db).create("second").unwrap_err().kind(), Kind::Aborted);
    db.unlock_wal().unwrap();
    ironstone::Checkpoint::new(&db).create("second").unwrap();
}

#[test]
fn threads_lock_the_wal_while_others_write() {
    let mut options = Options::in_memory();
    options.update("write_buffer_size=65536;max_write_buffer_number=8").unwrap();
    let db = Db::open("data", options).unwrap();
    let lockers = (0..2).map(|_| {
        let db = db.clone();
        std::thread::spawn(move || {
            for _ in 0..200 {
                db.lock_wal().unwrap();
                let state = || (db.latest_sequence(), db.current_wal_file().unwrap());
                let before = state();
                assert!((0..10).all(|_| state() == before));
                db.unlock_wal().unwrap();
            }
        })
    });
    let writers = (0..2u8).map(|writer| {
        let db = db.clone();
        std::thread::spawn(move || {
            for i in 0..400u32 {
                db.put(&[&[writer][..], &i.to_be_bytes()].concat(), &[7; 600]).unwrap();
                if i % 50 == 0 {
                    db.flush().unwrap();
                }
            }
        })
    });
    let threads: Vec<_> = lockers.chain(writers).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(db.latest_sequence(), SequenceNumber::new(800));
}
