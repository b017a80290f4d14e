//! Failures that seeds and states found, each in its smallest form. The doc of each test describes the former fault.

use std::path::Path;
use std::sync::Arc;

use env::FileSystem;
use env::memory::Survivors;
use ironstone::{Db, FamilyDescriptor, WriteBatch, WriteOptions};

use crate::play::options;

mod edits;
mod logs;
mod world;

use world::{CrashingDisk, Lines, synced};

/// Crash seeds 194 and 232. A recovery kept a WAL although its end was torn. Later synced writes went to a newer WAL.
/// The next open, with another recovery mode, stopped at the torn end and dropped the synced writes.
#[test]
fn a_torn_wal_is_not_kept_by_a_recovery() {
    for bytes in [1, 5, 9, 20] {
        let world = CrashingDisk::new();
        let db = world.open("");
        db.put_with(b"a", b"1", &synced()).unwrap();
        db.put(b"b", b"unsynced, and torn").unwrap();
        let list = world.disk.list(Path::new("/db")).unwrap();
        let log = list.iter().find(|n| n.ends_with(".log")).unwrap();
        assert!(world.disk.tear(&Path::new("/db").join(log), bytes));
        world.crash(db, Survivors::Everything);
        let db =
            world.open("wal_recovery_mode=kTolerateCorruptedTailRecords;avoid_flush_during_recovery=true");
        db.put_with(b"c", b"3", &synced()).unwrap();
        world.crash(db, Survivors::Synced);
        let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
        assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"3"[..]), "torn after {bytes} bytes");
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    }
}

/// Crash seeds 28 and 448. A manual flush waited forever if its job failed with an error that did not stop the
/// database.
#[test]
fn a_failed_manual_flush_returns_the_error() {
    let world = CrashingDisk::new();
    let db = world.open("paranoid_checks=false");
    db.put(b"a", b"1").unwrap();
    world.faults.hook().set_plan("append *.sst #1.. EIO").unwrap();
    let error = db.flush().unwrap_err();
    assert!(error.to_string().contains(".sst"), "{error}");
    world.faults.hook().revive();
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}

/// State `set-options/1~synced`. A WAL held only the record that announces its compression. The open expected more in
/// it from the record of the clean close, and failed.
#[test]
fn a_wal_with_only_the_compression_record_is_closed_and_opened() {
    let world = CrashingDisk::new();
    for _ in 0..3 {
        world.open("wal_compression=kZSTD").close().unwrap();
    }
    let db = world.open("wal_compression=kZSTD");
    db.put(b"a", b"1").unwrap();
    db.close().unwrap();
    drop(db);
    assert_eq!(world.open("").get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}

/// Found by the states of `set-options`. If the write of an OPTIONS file was interrupted, the temporary file was
/// never deleted.
#[test]
fn temporary_options_files_are_deleted_by_the_next_open() {
    let world = CrashingDisk::new();
    let db = world.open("");
    let temp = Path::new("/db/OPTIONS-000001.dbtmp");
    (&*world.faults as &dyn FileSystem).write_all(temp, b"half", true).unwrap();
    world.crash(db, Survivors::Everything);
    let db = world.open("");
    while world.outside.env.executor.help() {}
    assert!(!world.disk.exists(temp).unwrap());
    drop(db);
}

/// Random seed 18. Each step of a manual compaction with universal style and a small `max_compaction_bytes` planned
/// the same step again.
#[test]
fn manual_compaction_of_a_universal_tree_ends() {
    let world = CrashingDisk::new();
    let db = world.open(
        "compaction_style=kCompactionStyleUniversal;max_compaction_bytes=2000;disable_auto_compactions=true",
    );
    for i in 0..6u8 {
        db.put(&[i], &vec![i; 2000]).unwrap();
        db.put(&[i + 1], &vec![i; 2000]).unwrap();
        db.flush().unwrap();
    }
    db.compact_range(None, None, &ironstone::CompactRangeOptions::default()).unwrap();
    assert_eq!(db.get(&[6]).unwrap().as_deref(), Some(&[5u8; 2000][..]));
}

/// Crash seed 1014. The last batch of a recycled WAL was an empty range deletion. The writer gave it a sequence
/// number, and replay did not. The later WALs then seemed to leave a hole, and their synced writes were dropped.
#[test]
fn an_empty_range_deletion_at_the_end_of_a_recycled_wal_loses_no_later_write() {
    let world = CrashingDisk::new();
    let db = world.open("recycle_log_file_num=2");
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    for _ in 0..4 {
        db.put(b"a", &[b'r'; 5000]).unwrap();
        db.flush().unwrap();
        while world.outside.env.executor.help() {}
    }
    other.put(b"b", b"2").unwrap();
    db.put(b"a", b"1").unwrap();
    other.delete_range(b"x", b"x").unwrap();
    db.flush().unwrap();
    let mut batch = WriteBatch::new();
    batch.put_in(other.id(), b"c", b"3");
    db.write_with(batch, &synced()).unwrap();
    drop(other);
    world.crash(db, Survivors::Synced);
    let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
    let other = db.families().into_iter().find(|f| f.name() == "other").unwrap();
    assert_eq!(other.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(other.get(b"c").unwrap().as_deref(), Some(&b"3"[..]));
}

/// The open expected the SST files of the hidden column family of statistics, and failed without them.
#[test]
fn best_efforts_recovery_opens_without_sst_files_of_the_statistics_family() {
    let world = CrashingDisk::new();
    let db = world.open("persist_stats_to_disk=true");
    db.put(b"a", b"1").unwrap();
    db.close().unwrap();
    drop(db);
    world.open("").close().unwrap();
    let dir = Path::new("/db");
    let tables: Vec<_> = world.disk.list(dir).unwrap().into_iter().filter(|n| n.ends_with(".sst")).collect();
    assert_eq!(tables.len(), 2, "{tables:?}");
    tables.iter().for_each(|table| world.disk.unlink(&dir.join(table)).unwrap());
    assert_eq!(world.open("best_efforts_recovery=true").get(b"a").unwrap(), None);
}

fn refused(world: &CrashingDisk) -> ironstone::Error {
    let mut options = options("").unwrap();
    options.db.env = world.outside.env.clone();
    let error = Db::open("/db", options).err().unwrap();
    assert_eq!((error.kind(), error.offset().is_some()), (ironstone::Kind::Corruption, true), "{error}");
    error
}

fn newest_log(world: &CrashingDisk) -> std::path::PathBuf {
    let names = world.disk.list(Path::new("/db")).unwrap();
    Path::new("/db").join(names.iter().filter(|n| n.ends_with(".log")).max().unwrap())
}

/// Small memtables: the write after a value of `FULL` starts a new WAL. The memtable is flushed later.
const SMALL: &str = "write_buffer_size=65536;max_write_buffer_number=9;";
static FULL: [u8; 70_000] = [b'f'; 70_000];

/// Crash seed 800. A WAL lost a batch, but the MANIFEST had a sequence number after this batch. So the next WAL
/// seemed to follow without a hole.
#[test]
fn the_last_sequence_number_of_the_manifest_does_not_hide_a_lost_batch() {
    for recycled in ["", "recycle_log_file_num=2"] {
        let world = CrashingDisk::new();
        let db = world.open(&format!("{SMALL}{recycled}"));
        db.put(b"a", b"1").unwrap();
        db.flush().unwrap();
        db.put(b"b", &FULL).unwrap();
        assert!(world.disk.tear(&newest_log(&world), 5));
        let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
        db.put(b"c", b"behind it").unwrap();
        drop(other);
        world.crash(db, Survivors::Everything);
        let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!((db.get(b"b").unwrap(), db.get(b"c").unwrap()), (None, None), "{recycled}");
    }
}

/// Crash seed 5102664. A new MANIFEST said that a column family with empty memtables needs no WAL before the newest
/// WAL, while an older WAL was not synced. After a crash tore the older WAL, the SST files of the column family
/// seemed to be newer than the end of the WALs, and the open failed.
#[test]
fn no_family_is_newer_than_the_torn_end_of_a_wal() {
    let world = CrashingDisk::new();
    let db = world.open(&format!("{SMALL}max_manifest_file_size=1;max_manifest_space_amp_pct=0"));
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    other.put(b"a", b"1").unwrap();
    other.flush().unwrap();
    db.put(b"b", &FULL).unwrap();
    let log = newest_log(&world);
    assert!(world.disk.tear(&log, 5));
    db.put(b"c", b"3").unwrap();
    assert_ne!(log, newest_log(&world));
    // Starts a new MANIFEST.
    drop(db.create_family(FamilyDescriptor::new("third", options("").unwrap().family)).unwrap());
    drop(other);
    world.crash(db, Survivors::Everything);
    let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
    assert_eq!((db.get(b"b").unwrap(), db.get(b"c").unwrap()), (None, None));
    assert_eq!(db.family("other").unwrap().get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}

/// Makes an append to the WAL fail. Then makes the resume fail at the flush of the second column family.
fn fail_to_get_over_a_log(world: &CrashingDisk, db: &Db) {
    world.faults.hook().set_plan("append *.log #1 torn 7").unwrap();
    db.put(b"c", b"4").unwrap_err();
    world.faults.hook().revive();
    world.faults.hook().set_plan("create *.sst #2.. EIO").unwrap();
    db.resume().unwrap_err();
}

/// Crash seed 5803380. During a resume from a failed WAL, the first column family was flushed, and the machine
/// stopped before the second was. The first column family was then newer than the torn end of the WAL, and the open
/// failed.
#[test]
fn families_resume_from_a_failed_wal_in_one_commit() {
    let world = CrashingDisk::new();
    let db = world.open("paranoid_checks=false");
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"a", b"2").unwrap();
    other.put(b"b", b"3").unwrap();
    fail_to_get_over_a_log(&world, &db);
    drop(other);
    world.crash(db, Survivors::Everything);
    let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(db.family("other").unwrap().get(b"b").unwrap().as_deref(), Some(&b"3"[..]));
}

/// After such a failed resume, the memtables stay in memory. The next resume or close flushes them.
#[test]
fn memtables_kept_for_one_commit_are_flushed_after_the_disk_works_again() {
    for closes in [false, true] {
        let world = CrashingDisk::new();
        let db = world.open("paranoid_checks=false;max_bgerror_resume_count=0");
        let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
        db.put(b"a", b"2").unwrap();
        other.put(b"b", b"3").unwrap();
        fail_to_get_over_a_log(&world, &db);
        world.faults.hook().revive();
        assert!(db.flush().unwrap_err().to_string().contains(".log"));
        if closes {
            db.close().unwrap();
        } else {
            db.resume().unwrap();
            other.flush().unwrap();
            db.put_with(b"e", b"6", &synced()).unwrap();
        }
        drop(other);
        world.crash(db, Survivors::Synced);
        let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
        let read =
            [db.get(b"a"), db.family("other").unwrap().get(b"b"), db.get(b"e")].map(|v| v.unwrap().is_some());
        // Nothing was synced before the close.
        assert_eq!(read, if closes { [false; 3] } else { [true; 3] });
    }
}

/// Crash seed 6300614: a recovery mode that skips damage saw no damage in zeros between the records of a
/// WAL, and kept the WAL. Later synced writes made the WAL durable with its hole. Then point-in-time
/// recovery stopped at the hole, before acknowledged writes.
#[test]
fn a_wal_with_zeros_between_its_records_is_not_kept() {
    let (world, _) = CrashingDisk::with_a_hole(&[b"2", b"3"]);
    let db = world.open("wal_recovery_mode=kSkipAnyCorruptedRecords;avoid_flush_during_recovery=true");
    assert!(db.get(b"3").unwrap().is_some());
    db.put_with(b"c", b"3", &synced()).unwrap();
    db.put_with(b"d", b"4", &synced()).unwrap();
    world.crash(db, Survivors::Synced);
    let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
    assert!(db.get(b"3").unwrap().is_some() && db.get(b"d").unwrap().is_some());
}

/// Crash seed 7303861: without `track_and_verify_wals`, an open did not compare a WAL with the predecessor
/// record of the next WAL, and kept both. A later open with the option stopped there, before synced writes.
#[test]
fn wals_that_do_not_match_their_predecessor_records_are_not_kept() {
    let world = CrashingDisk::new();
    let db = world.open("track_and_verify_wals=true");
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    db.put(b"a", b"1").unwrap();
    let log = newest_log(&world);
    let begin = world.disk.file_size(&log).unwrap() as usize;
    other.put(b"b", b"2").unwrap();
    other.flush().unwrap();
    assert_ne!(log, newest_log(&world));
    drop(other);
    world.crash(db, Survivors::Everything);
    assert!(world.disk.damage(&log, |bytes| bytes[begin..].fill(0)));
    let db = world.open("wal_recovery_mode=kSkipAnyCorruptedRecords;avoid_flush_during_recovery=true");
    db.put_with(b"c", b"3", &synced()).unwrap();
    world.crash(db, Survivors::Synced);
    let db = world.open("wal_recovery_mode=kPointInTimeRecovery;track_and_verify_wals=true");
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"3"[..]));
}

/// Crash seed 9104224: a record of a recycled WAL was lost. A record of the older WAL, of equal length, lay
/// in its place. The recovery mode that skips corrupt records continued after it without a message.
#[test]
fn a_mode_that_skips_a_record_of_an_older_wal_reports_the_record() {
    let world = CrashingDisk::new();
    let db = world.open("recycle_log_file_num=1");
    let fill = |first: u8| (0..3).for_each(|n| db.put(&[first, n], b"of one length").unwrap());
    let begin = |log: &[u8], key: [u8; 2]| {
        // Log header, batch header, kind of entry, length of the key.
        log.windows(2).position(|w| w == key).unwrap() - 11 - 12 - 2
    };
    fill(0xA0);
    let older = world.outside.env.fs.read_all(&newest_log(&world), 1 << 20).unwrap();
    // The next WAL is a new file, and the WAL after it recycles that file.
    for first in [0xB0, 0xC0] {
        db.flush().unwrap();
        fill(first);
    }
    let log = newest_log(&world);
    let newer = world.outside.env.fs.read_all(&log, 1 << 20).unwrap();
    world.crash(db.clone(), Survivors::Everything);
    drop(db);
    let (from, to) = (begin(&older, [0xA0, 1]), begin(&older, [0xA0, 2]));
    let lost = begin(&newer, [0xC0, 1]);
    assert_eq!(begin(&newer, [0xC0, 2]) - lost, to - from);
    assert!(world.disk.damage(&log, |bytes| bytes[lost..][..to - from].copy_from_slice(&older[from..to])));
    let lines = Arc::new(Lines::default());
    let db = world.open_telling("wal_recovery_mode=kSkipAnyCorruptedRecords", lines.clone());
    let found: Vec<bool> = (0..3).map(|n| db.get(&[0xC0, n]).unwrap().is_some()).collect();
    assert_eq!(found, [true, false, true]);
    let lines = lines.0.lock();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("(ignoring error) ") && line.contains("records of the former WAL")),
        "{lines:?}"
    );
}

/// Crash seeds 1490 and 2271. An unsynced WAL lost its end at a record boundary, or became zeros, but the next WAL
/// existed. The older WAL did not look torn, and the recovery replayed the newer WAL across the hole.
#[test]
fn a_wal_that_lost_complete_records_stops_the_replay_of_newer_wals() {
    for zeros in [false, true] {
        let world = CrashingDisk::new();
        let db = world.open(SMALL);
        db.put_with(b"a", &FULL, &synced()).unwrap();
        db.put(b"b", b"2").unwrap();
        db.put(b"c", &FULL).unwrap();
        let log = newest_log(&world);
        if !zeros {
            assert!(world.disk.tear(&log, 0));
        }
        db.put(b"d", b"behind it").unwrap();
        assert_ne!(log, newest_log(&world));
        if zeros {
            world.crash(db, Survivors::Everything);
            assert!(world.disk.damage(&log, |bytes| bytes.fill(0)));
        } else {
            world.crash(db, Survivors::Everything);
        }
        let look = |db: Db| {
            assert!(db.get(b"a").unwrap().is_some());
            assert_eq!(db.get(b"b").unwrap().is_some(), !zeros);
            assert_eq!((db.get(b"c").unwrap(), db.get(b"d").unwrap()), (None, None), "zeros: {zeros}");
        };
        // The rule also holds for a read-only open, and with `paranoid_checks = false`: a lost end is not corruption.
        let mut reading = options("wal_recovery_mode=kPointInTimeRecovery").unwrap();
        reading.db.env = world.outside.env.clone();
        if !zeros {
            look(Db::open_read_only("/db", reading).unwrap());
            look(world.open("wal_recovery_mode=kPointInTimeRecovery;paranoid_checks=false"));
        }
        look(world.open("wal_recovery_mode=kPointInTimeRecovery"));
    }
}

/// A repair wrote a WAL again without its corrupt record. The WAL was then shorter than the next WAL said, and the
/// recovery dropped the next WAL as if there were a hole.
#[test]
fn a_repaired_wal_does_not_stop_the_replay_of_newer_wals() {
    let world = CrashingDisk::new();
    let db = world.open(SMALL);
    db.put(b"a", b"damaged").unwrap();
    db.put(b"b", &FULL).unwrap();
    let log = newest_log(&world);
    db.put(b"c", b"in the next log").unwrap();
    assert_ne!(log, newest_log(&world));
    world.crash(db, Survivors::Everything);
    assert!(world.disk.damage(&log, |bytes| bytes[20..24].fill(0)));
    let mut options = options("wal_recovery_mode=kPointInTimeRecovery").unwrap();
    options.db.env = world.outside.env.clone();
    ironstone::repair("/db", options, Vec::new()).unwrap();
    let lost = || world.disk.list(Path::new("/db/lost")).unwrap_or_default();
    assert!(!lost().is_empty());
    let db = world.open("");
    assert_eq!(db.get(b"a").unwrap(), None);
    assert!(db.get(b"b").unwrap().is_some());
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"in the next log"[..]));
    db.close().unwrap();
    drop(db);
    // The files that a repair moved to `lost/` were never deleted.
    world.outside.env.clock.sleep_micros(25 * 3_600_000_000);
    world.open("").close().unwrap();
    assert!(lost().is_empty(), "{:?}", lost());
}

/// Crash seed 1662. Buffered writes were lost when the WAL failed, and the close reported success.
#[test]
fn closing_reports_buffered_writes_that_never_reached_the_wal() {
    let world = CrashingDisk::new();
    let db = world.open("manual_wal_flush=true");
    db.put(b"a", b"gathered").unwrap();
    world.faults.hook().set_plan("append *.log #1.. EIO").unwrap();
    db.flush_wal(false).unwrap_err();
    world.faults.hook().revive();
    let error = db.close().unwrap_err();
    assert!(error.to_string().contains(".log"), "{error}");
}

/// The same fault after a failed resume: a new WAL was active, and neither a WAL flush nor the close reported the
/// lost writes.
#[test]
fn buffered_writes_of_a_failed_wal_are_reported_as_lost_until_they_are_flushed() {
    for resumed in [false, true] {
        let world = CrashingDisk::new();
        let db = world.open("manual_wal_flush=true");
        db.put(b"a", b"gathered").unwrap();
        world.faults.hook().set_plan("append * #1.. ENOSPC").unwrap();
        db.flush_wal(false).unwrap_err();
        db.resume().unwrap_err();
        assert!(db.flush_wal(false).unwrap_err().to_string().contains(".log"));
        world.faults.hook().set_plan("").unwrap();
        if resumed {
            db.resume().unwrap();
            db.flush_wal(false).unwrap();
        }
        assert_eq!(db.close().is_ok(), resumed);
        drop(db);
        assert_eq!(world.open("").get(b"a").unwrap().is_some(), resumed);
    }
}

/// Crash seed 1022511. A recovery mode that skips such a hole kept the WALs. The next open, with another mode,
/// stopped at the hole and dropped the writes that were synced since.
#[test]
fn wals_with_a_hole_are_not_kept_by_a_recovery() {
    for mode in ["kSkipAnyCorruptedRecords", "kTolerateCorruptedTailRecords"] {
        let world = CrashingDisk::new();
        let db = world.open(SMALL);
        db.put_with(b"a", &FULL, &synced()).unwrap();
        db.put(b"b", b"2").unwrap();
        db.put(b"c", &FULL).unwrap();
        let log = newest_log(&world);
        assert!(world.disk.tear(&log, 0));
        db.put(b"d", b"behind it").unwrap();
        world.crash(db, Survivors::Everything);
        let db = world.open(&format!(
            "write_buffer_size=10000000;wal_recovery_mode={mode};avoid_flush_during_recovery=true"
        ));
        assert_eq!(db.get(b"d").unwrap().as_deref(), Some(&b"behind it"[..]), "{mode}");
        db.put_with(b"e", b"synced", &synced()).unwrap();
        world.crash(db, Survivors::Synced);
        let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
        for key in [&b"a"[..], b"d", b"e"] {
            assert!(db.get(key).unwrap().is_some(), "{mode}: {}", key.escape_ascii());
        }
    }
}

/// Crash seed 1004006. An append failed, and the resume started a new WAL but its flushes failed. Then a sync of the
/// WALs reported success, although the failed WAL was never synced.
#[test]
fn a_sync_fails_while_a_failed_wal_is_needed() {
    let world = CrashingDisk::new();
    let db = world.open("");
    db.put(b"a", b"1").unwrap();
    world.faults.hook().set_plan("append * #1.. ENOSPC").unwrap();
    db.put(b"b", b"2").unwrap_err();
    db.resume().unwrap_err();
    let error = db.sync_wal().unwrap_err();
    assert!(error.to_string().contains(".log"), "{error}");
    world.faults.hook().set_plan("").unwrap();
    db.resume().unwrap();
    db.sync_wal().unwrap();
    world.crash(db, Survivors::Synced);
    let db = world.open("");
    assert_eq!((db.get(b"a").unwrap().as_deref(), db.get(b"b").unwrap()), (Some(&b"1"[..]), None));
}

/// The counterpart: WALs without a lost record, recycled or not, are all replayed.
#[test]
fn complete_wals_are_all_replayed() {
    for text in ["", "recycle_log_file_num=2"] {
        let world = CrashingDisk::new();
        let db = world.open(&format!("{SMALL}{text}"));
        for i in 0..6u8 {
            db.put(&[i], &FULL).unwrap();
            if i < 3 {
                while world.outside.env.executor.help() {}
            }
        }
        db.put_with(b"d", b"4", &synced()).unwrap();
        world.crash(db, Survivors::Synced);
        let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
        assert_eq!(db.get(b"d").unwrap().as_deref(), Some(&b"4"[..]), "{text}");
        assert!((0..6u8).all(|i| db.get(&[i]).unwrap().is_some()));
    }
}
