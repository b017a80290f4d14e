//! Writers that wait for memory or for a stall while a column family is stopped.

use super::*;

/// Both memtables of a column family wait for a full disk. The column family is stopped, so it stalls no other
/// writer.
#[test]
fn full_memtables_of_a_stopped_family_stall_no_other_family() {
    let apart = Apart::new(|o| o.max_bgerror_resume_count = 0);
    let db = apart.open(|o| {
        o.write_buffer_size = 64 << 10;
        o.max_write_buffer_number = 2;
    });
    apart.disks.fail("a", ENOSPC);
    let value = vec![b'v'; 10_000];
    let many = |name: &str| {
        (0..100u32)
            .try_for_each(|i| db.put(&family(&db, name), &i.to_be_bytes(), &value, &WriteOptions::default()))
    };
    assert_eq!(many("a").unwrap_err().subcode(), Subcode::NoSpace);
    // The memtables of `b` fill and are flushed again and again.
    many("b").unwrap();
    assert!(tables(&db, "b") > 0);
    assert_eq!(db.properties().number(&family(&db, "b"), "rocksdb.is-write-stopped"), Some(0));
    apart.disks.mend("a");
    db.background().resume().unwrap();
    many("a").unwrap();
    db.close().unwrap();
}

/// The memory of the stopped column family is not freed. The memory of the other column families is freed by flushes.
#[test]
fn a_writer_waits_for_memory_while_a_flush_of_another_family_can_free_it() {
    for (held, fits, threads) in [(3, true, false), (20, false, false), (3, true, true), (20, false, true)] {
        let buffers = Arc::new(WriteBufferManager::new(1 << 20, None, true));
        let apart = Apart::new(|o| {
            if threads {
                o.env.executor = Arc::new(Threads::new());
            }
            o.max_bgerror_resume_count = 0;
            o.write_buffer_manager = Some(buffers.clone());
        });
        let db = apart.open(|_| ());
        let value = vec![b'v'; 100_000];
        let put = |name: &str, i: u32| {
            db.put(&family(&db, name), &i.to_be_bytes(), &value, &WriteOptions::default())
        };
        apart.disks.fail("a", ENOSPC);
        let failed = (0..held).find_map(|i| put("a", i).err());
        assert_eq!(failed.is_some(), !fits);
        flush(&db, "a").unwrap_err();
        let outcome = (0..50).try_for_each(|i| put("b", i));
        assert_eq!(outcome.is_ok(), fits, "{held}: {outcome:?}");
        assert!(tables(&db, "b") < 20, "memtables of some size become tables");
        apart.disks.mend("a");
        db.background().resume().unwrap();
        (0..50).try_for_each(|i| put("b", i)).unwrap();
        db.close().unwrap();
    }
}

/// The writer waits before another column family fails. No resume can clear this error.
#[test]
fn a_stalled_writer_continues_to_wait_after_another_family_fails() {
    let threads = Arc::new(Threads::new());
    let apart = Apart::new(|o| o.env.executor = threads.clone());
    let db = apart.open(|o| {
        o.disable_auto_compactions = true;
        o.write_buffer_size = 64 << 10;
        o.max_write_buffer_number = 2;
    });
    put(&db, "a", "1").unwrap();
    flush(&db, "a").unwrap();
    let flushers = threads.threads(env::executor::Pool::High);
    threads.set_threads(env::executor::Pool::High, 0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let value = vec![b'v'; 10_000];
            (0..50u32).try_for_each(|i| {
                db.put(&family(&db, "b"), &i.to_be_bytes(), &value, &WriteOptions::default())
            })
        });
        while db.properties().number(&family(&db, "b"), "rocksdb.is-write-stopped") != Some(1) {
            std::thread::yield_now();
        }
        apart.disks.fail("a", EIO);
        compact_into_one(&db, "a").unwrap_err();
        assert_eq!(db.background().error().unwrap().severity(), Severity::Fatal);
        threads.set_threads(env::executor::Pool::High, flushers);
        writer.join().unwrap().unwrap();
    });
    assert!(put(&db, "a", "refused").is_err());
    db.close().unwrap();
}
