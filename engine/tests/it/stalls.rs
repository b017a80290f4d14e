//! Writers that wait for room, and what ends their waiting when there will be none.

use std::sync::Arc;

use base::Kind;
use env::Env;
use env::executor::Threads;
use env::fault::FaultFs;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{DbOptions, FamilyOptions, FlushOptions, WriteOptions};
use mem::write_buffer::WriteBufferManager;

use crate::basic::{options, put, scan};

/// A database whose second table in level 0 stops writes, on a disk that fails by plan.
fn narrow(seed: u64, change: impl FnOnce(&mut DbOptions)) -> (Env, Arc<FaultFs>, Db) {
    let mut env = Env::memory(seed);
    let fs = FaultFs::wrap(env.fs.clone());
    env.fs = fs.clone();
    let family = FamilyOptions {
        level0_file_num_compaction_trigger: 2,
        level0_slowdown_writes_trigger: 2,
        level0_stop_writes_trigger: 2,
        ..FamilyOptions::default()
    };
    let mut options = DbOptions { max_bgerror_resume_count: 0, ..options(&env) };
    change(&mut options);
    let db = Db::open(OpenRequest::new("/db", options, family)).unwrap();
    (env, fs, db)
}

fn two_tables(db: &Db) {
    for value in ["1", "2"] {
        put(db, "a", value);
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }
}

fn write(db: &Db) -> base::Result<()> {
    db.put(&db.default_family().unwrap(), b"c", b"1", &WriteOptions::default())
}

#[test]
fn a_stall_lasts_until_the_compaction_that_is_tried_again_has_made_room() {
    let (env, fs, db) = narrow(1, |o| {
        o.max_bgerror_resume_count = 10;
        o.bgerror_resume_retry_interval = 1_000_000;
    });
    // A full disk may have room again: the compaction is tried again after a second, and fails twice.
    fs.hook().set_plan("create *.sst #3..5 ENOSPC").unwrap();
    let before = env.clock.now_seconds();
    two_tables(&db);
    write(&db).unwrap();
    assert!(env.clock.now_seconds() > before);
    assert_eq!(scan(&db).len(), 2);
}

#[test]
fn a_stall_ends_with_an_error_that_nobody_gets_over() {
    let (_env, fs, db) = narrow(2, |_| ());
    // The compaction has no space: a soft error, writes could go on but for the stall.
    fs.hook().set_plan("create *.sst #3.. ENOSPC").unwrap();
    two_tables(&db);
    let error = write(&db).unwrap_err();
    assert_eq!(error.kind(), Kind::Incomplete);
    assert!(error.message().contains("No space"), "{error}");
    fs.hook().set_plan("").unwrap();
    db.resume().unwrap();
    write(&db).unwrap();
}

#[test]
fn a_closing_database_lets_a_stalled_writer_go() {
    let (_env, fs, db) = narrow(4, |o| {
        o.env.executor = Arc::new(Threads::new());
        o.max_bgerror_resume_count = i32::MAX;
    });
    fs.hook().set_plan("create *.sst #3.. ENOSPC").unwrap();
    two_tables(&db);
    let other = db.clone();
    let writer = std::thread::spawn(move || {
        loop {
            if let Err(error) = write(&other) {
                return error.kind();
            }
        }
    });
    // Whether it stalls already or only will: both end.
    db.close().unwrap();
    assert_eq!(writer.join().unwrap(), Kind::ShutdownInProgress);
}

#[test]
fn a_writer_that_waits_for_memory_hears_of_the_flush_that_failed() {
    for threads in [false, true] {
        let mut env = Env::memory(5);
        let fs = FaultFs::wrap(env.fs.clone());
        env.fs = fs.clone();
        if threads {
            env.executor = Arc::new(Threads::new());
        }
        let buffers = Arc::new(WriteBufferManager::new(1 << 20, None, true));
        let options = DbOptions { write_buffer_manager: Some(buffers), max_bgerror_resume_count: 0, ..options(&env) };
        let db = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())).unwrap();
        fs.hook().set_plan("append *.sst * EIO").unwrap();
        let family = db.default_family().unwrap();
        let failed = (0..100).find_map(|i: u32| {
            db.put(&family, &i.to_be_bytes(), &vec![b'v'; 100_000], &WriteOptions::default()).err()
        });
        assert!(failed.is_some(), "no write waits for ever, and none fits any more");
    }
}

/// With every default: the background error is got over by itself.
#[test]
fn a_full_disk_stops_writes_not_reads_and_writes_resume_within_a_second_of_space_coming_back() {
    for what in ["the log", "a table"] {
        let mut env = Env::memory(6);
        let fs = FaultFs::wrap(env.fs.clone());
        env.fs = fs.clone();
        let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default())).unwrap();
        put(&db, "kept", "1");
        put(&db, "c", "before");
        fs.hook().set_plan("append * * ENOSPC").unwrap();
        let failed = match what {
            "the log" => write(&db),
            _ => db.flush(&[db.default_family().unwrap()], &FlushOptions::default()),
        };
        assert_eq!(failed.unwrap_err().subcode(), base::Subcode::NoSpace, "{what}");
        for _ in 0..20 {
            env.executor.pass_time();
            env.executor.help();
            assert_eq!(write(&db).unwrap_err().subcode(), base::Subcode::NoSpace, "{what}");
            assert_eq!(scan(&db).len(), 2, "{what}: reads go on");
        }
        fs.hook().set_plan("").unwrap();
        let came_back = env.clock.now_micros();
        while write(&db).is_err() {
            assert!(env.executor.pass_time() | env.executor.help(), "{what}: nothing will resume writes");
        }
        let waited = env.clock.now_micros() - came_back;
        assert!(waited <= 1_000_000, "{what}: {waited} us");
        assert_eq!(scan(&db).len(), 2, "{what}");
        db.close().unwrap();
    }
}
