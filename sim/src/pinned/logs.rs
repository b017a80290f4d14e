//! Cases of WALs and MANIFESTs that are kept, that have holes, or that failed.

use env::{AppendHints, FileSystem};
use format::edit::VersionEdit;
use format::wal::{Framing, Item, Reader, ReaderOptions, Writer};
use ironstone::{Db, FlushOptions, TransactionDb, TransactionDbOptions, WriteOptions};

use super::edits::manifest;
use super::*;
use base::SequenceNumber;

fn get(db: &Db, key: &[u8]) -> Option<Vec<u8>> {
    db.get(key).unwrap().map(|value| value.to_vec())
}

/// Crash seeds 10403407 and 13202225. A sync failed, and the kernel dropped the unsynced bytes, although reads still
/// returned them. The next open, without a crash between, kept the WAL. The sync of the WAL had no bytes to write,
/// and a mark then recorded the WAL as durable.
#[test]
fn a_kept_wal_is_durable_although_an_earlier_sync_of_it_failed() {
    let world = CrashingDisk::new();
    let db = world.open("");
    db.put_with(b"a", b"1", &synced()).unwrap();
    world.faults.hook().set_plan("sync *.log #1 forget").unwrap();
    db.put_with(b"b", b"2", &synced()).unwrap_err();
    drop(db);
    world.faults.hook().set_plan("").unwrap();
    let db = world.open("avoid_flush_during_recovery=true");
    let b = get(&db, b"b");
    db.put_with(b"c", b"3", &synced()).unwrap();
    db.put_with(b"d", b"4", &synced()).unwrap();
    world.crash(db, Survivors::Synced);
    let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
    assert_eq!(
        [get(&db, b"a"), get(&db, b"c"), get(&db, b"d")],
        [b"1", b"3", b"4"].map(|v| Some(v.to_vec()))
    );
    assert_eq!(get(&db, b"b"), b, "what the opening read was a part of what it went on with");
}

/// If the copy of a WAL fails, the incomplete copy is deleted. On a full disk, it would take the space that the next
/// open needs.
#[test]
fn a_failed_copy_of_a_wal_is_deleted() {
    for call in ["close *.dbtmp #1 ENOSPC", "rename *.log #1 EIO"] {
        let world = CrashingDisk::new();
        let db = world.open("");
        db.put_with(b"a", b"1", &synced()).unwrap();
        world.crash(db, Survivors::Everything);
        let temporary =
            || world.disk.list(Path::new("/db")).unwrap().into_iter().find(|name| name == "000004.dbtmp");
        world.faults.hook().set_plan(call).unwrap();
        let keeps = "avoid_flush_during_recovery=true";
        let error = world.try_open(keeps, Arc::new(env::logger::NullLogger)).err().unwrap();
        assert!(error.to_string().contains("000004.") && world.faults.hook().fired() == 1, "{call}: {error}");
        assert_eq!(temporary(), None, "{call}");
        world.faults.hook().set_plan("").unwrap();
        assert!(get(&world.open(keeps), b"a").is_some(), "{call}");
    }
}

/// The same fault for a MANIFEST: the open continues a MANIFEST only if all its records are proved durable.
#[test]
fn a_manifest_is_continued_only_if_it_is_proved_durable() {
    for closes in [false, true] {
        let world = CrashingDisk::new();
        let db = world.open("max_bgerror_resume_count=0");
        db.put_with(b"a", b"1", &synced()).unwrap();
        if closes {
            db.close().unwrap();
        } else {
            world.faults.hook().set_plan("sync MANIFEST-* #1 forget").unwrap();
            db.flush().unwrap_err();
        }
        drop(db);
        world.faults.hook().set_plan("").unwrap();
        let before = manifest(&world).0;
        let db = world.open("reuse_manifest_on_open=true");
        assert_eq!(manifest(&world).0 == before, closes);
        db.put_with(b"c", b"3", &synced()).unwrap();
        db.flush().unwrap();
        world.crash(db, Survivors::Synced);
        let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
        assert_eq!([get(&db, b"a"), get(&db, b"c")], [b"1", b"3"].map(|v| Some(v.to_vec())));
    }
}

/// Crash seed 10400546: a batch holds an empty range deletion, which takes no sequence number, and then an
/// entry of another column family. A replay that skipped the first column family counted the range
/// deletion. The entry then got the sequence number of the next batch.
#[test]
fn an_entry_after_an_empty_range_deletion_is_older_than_the_next_batch() {
    let world = CrashingDisk::new();
    let db = world.open("");
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1");
    batch.delete_range(b"x", b"x");
    batch.put_in(other.id(), b"k", b"older");
    db.write_with(batch, &WriteOptions::default()).unwrap();
    drop(other);
    db.close().unwrap();
    drop(db);
    let keeps = "avoid_flush_during_recovery=true";
    let db = world.open(keeps);
    let other = db.family("other").unwrap();
    other.put(b"k", b"newer").unwrap();
    db.put(b"a", b"2").unwrap();
    // The default column family needs no older WAL after this flush.
    db.flush().unwrap();
    drop(other);
    world.crash(db, Survivors::Everything);
    assert_eq!(world.open(keeps).family("other").unwrap().get(b"k").unwrap().as_deref(), Some(&b"newer"[..]));
}

/// Tests WALs that RocksDB wrote. Their next session starts at the sequence number that was not taken.
#[test]
fn an_empty_range_deletion_takes_no_sequence_number_in_a_skipped_family() {
    let world = CrashingDisk::new();
    let db = world.open("");
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    let id = other.id();
    db.put(b"a", b"1").unwrap();
    other.put(b"k", b"lost").unwrap();
    let log = newest_log(&world);
    db.flush().unwrap();
    drop(other);
    world.crash(db, Survivors::Everything);
    let mut older = WriteBatch::new();
    older.put(b"a", b"1");
    older.delete_range(b"x", b"x");
    older.put_in(id, b"k", b"older");
    let mut newer = WriteBatch::new();
    newer.put_in(id, b"k", b"newer");
    let (mut writer, mut file) = (Writer::new(Framing::Classic), Vec::new());
    for (sequence, batch) in [(10, older), (12, newer)] {
        let mut bytes = batch.bytes().to_vec();
        format::batch::set_sequence(&mut bytes, SequenceNumber::new(sequence));
        writer.append(&mut file, &bytes).unwrap();
    }
    let mut target = world.disk.create(&log, &AppendHints::default()).unwrap();
    target.append(&file).unwrap();
    target.close().unwrap();
    assert_eq!(world.open("").family("other").unwrap().get(b"k").unwrap().as_deref(), Some(&b"newer"[..]));
}

/// Crash seed 12103818. A crash lost blocks of a WAL that was never synced. The recovery replayed the records after
/// the hole without a message.
#[test]
fn a_hole_in_a_wal_ends_the_wal_or_is_reported() {
    let outcomes = [
        ("kTolerateCorruptedTailRecords", Some(false), true),
        ("kAbsoluteConsistency", None, false),
        ("kPointInTimeRecovery", Some(false), false),
        ("kSkipAnyCorruptedRecords", Some(true), true),
    ];
    for (mode, behind, told) in outcomes {
        for paranoid in ["", ";paranoid_checks=false"] {
            let (world, begin) = CrashingDisk::with_a_hole(&[b"2"]);
            let lines = Arc::new(Lines::default());
            let found = match world.try_open(&format!("wal_recovery_mode={mode}{paranoid}"), lines.clone()) {
                Ok(db) => {
                    assert!(get(&db, b"0").is_some() && get(&db, b"1").is_none());
                    Some(get(&db, b"2").is_some())
                }
                Err(error) => {
                    assert_eq!(
                        (error.kind(), error.offset()),
                        (ironstone::Kind::Corruption, Some(begin)),
                        "{error}"
                    );
                    None
                }
            };
            assert_eq!(found, behind, "{mode}{paranoid}");
            assert_eq!(
                lines.0.lock().iter().any(|line| line.starts_with("(ignoring error) ")),
                told,
                "{mode}{paranoid}"
            );
        }
    }
}

/// The writer of a recycled WAL leaves up to ten zero bytes at the end of a block, where no record header fits. The
/// open took these zeros for a hole before the durable end that a later WAL stated, and failed.
#[test]
fn zeros_of_a_writer_at_the_end_of_a_block_are_no_hole() {
    let world = CrashingDisk::new();
    let db = world.open("recycle_log_file_num=1");
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    other.put(b"b", &[b'v'; 20_000]).unwrap();
    let log = newest_log(&world);
    let begin = world.disk.file_size(&log).unwrap() as usize;
    db.put(b"a", &vec![b'v'; 32_768 - 8 - begin - 28]).unwrap();
    assert_eq!(world.disk.file_size(&log).unwrap(), 32_768 - 8);
    other.put(b"b", b"2").unwrap();
    db.flush().unwrap();
    assert_ne!(log, newest_log(&world));
    db.put_with(b"c", b"3", &synced()).unwrap();
    db.put_with(b"d", b"tells that the older log is durable", &synced()).unwrap();
    drop(other);
    world.crash(db, Survivors::Everything);
    let db = world.open("");
    assert_eq!(get(&db, b"c").as_deref(), Some(&b"3"[..]));
    assert_eq!(db.family("other").unwrap().get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
}

/// Crash seed 12800881: the close of a synced WAL failed. The first resume released the WAL and then failed
/// at an SST file. Later resumes did not know that the memtables wait for one common commit, and they
/// rejected this commit forever.
#[test]
fn a_resume_is_retried_after_it_released_the_wal_and_failed() {
    let world = CrashingDisk::new();
    let db = world.open("max_bgerror_resume_count=0");
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    db.put(b"a", b"1").unwrap();
    other.put(b"b", b"2").unwrap();
    world.faults.hook().set_plan("close *.log #1 ENOSPC").unwrap();
    db.flush().unwrap_err();
    world.faults.hook().set_plan("close *.sst #1 ENOSPC").unwrap();
    db.resume().unwrap_err();
    world.faults.hook().set_plan("").unwrap();
    db.resume().unwrap();
    db.put_with(b"c", b"3", &synced()).unwrap();
    drop(other);
    world.crash(db, Survivors::Synced);
    let db = world.open("wal_recovery_mode=kPointInTimeRecovery");
    assert_eq!([get(&db, b"a"), get(&db, b"c")], [b"1", b"3"].map(|v| Some(v.to_vec())));
    assert_eq!(db.family("other").unwrap().get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
}

/// A MANIFEST without marks, as RocksDB writes it, lost the end of a block. The open skipped the lost edits without
/// an error.
#[test]
fn a_hole_in_a_manifest_is_refused() {
    let world = CrashingDisk::new();
    let db = world.open("");
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    world.crash(db, Survivors::Everything);
    let (path, size) = manifest(&world);
    let disk: &dyn FileSystem = &world.disk;
    let old = disk.read_all(&path, size).unwrap();
    let mut reader = Reader::new(&old[..], ReaderOptions::default());
    let (mut writer, mut file, mut filler) =
        (Writer::new(Framing::Classic), Vec::new(), VersionEdit::default());
    while let Item::Record { bytes, .. } = reader.next().unwrap() {
        let mut edit = VersionEdit::decode(bytes).unwrap();
        if !edit.is_seal() {
            filler.next_file_number = edit.next_file_number.or(filler.next_file_number);
            edit.mark = None;
            let mut record = Vec::new();
            edit.encode(0, &mut record).unwrap();
            writer.append(&mut file, &record).unwrap();
        }
    }
    let begin = file.len();
    while file.len() < 40_000 {
        let mut record = Vec::new();
        filler.encode(0, &mut record).unwrap();
        writer.append(&mut file, &record).unwrap();
    }
    let whole = file.clone();
    // The last record ends at the end of the block, or so close to it that no record header fits.
    file[begin..32_768].fill(0);
    for (bytes, at) in [(file, Some(begin as u64)), (whole, None)] {
        disk.write_all(&path, &bytes, true).unwrap();
        match world.try_open("", Arc::new(env::logger::NullLogger)) {
            Ok(db) => assert!(at.is_none() && get(&db, b"a").is_some()),
            Err(error) => {
                assert_eq!((error.kind(), error.offset()), (ironstone::Kind::Corruption, at), "{error}")
            }
        }
    }
}

/// Seed 190 of the prepared transactions. The section of a transaction takes no sequence numbers. So the sequence numbers did not show
/// that a WAL had lost a section, and replay continued with a section of the next WAL.
#[test]
fn a_section_that_follows_a_lost_section_is_not_replayed() {
    let world = CrashingDisk::new();
    let mut options = options("").unwrap();
    options.db.env = world.outside.env.clone();
    let open = || TransactionDb::open("/db", options.clone(), TransactionDbOptions::default()).unwrap();
    let prepare = |db: &TransactionDb, name: &[u8]| {
        let transaction = db.begin();
        transaction.set_name(name).unwrap();
        transaction.put(name, b"v").unwrap();
        transaction.prepare().unwrap();
        transaction
    };
    let db = open();
    db.put_with(b"a", b"1", &synced()).unwrap();
    let log = newest_log(&world);
    let synced_bytes = world.disk.file_size(&log).unwrap() as usize;
    let first = prepare(&db, b"first");
    db.flush_with(&FlushOptions { wait: false, ..FlushOptions::default() }).unwrap();
    let second = prepare(&db, b"second");
    world.faults.hook().crash();
    drop((first, second, db));
    world.outside.executor.abandon();
    world.disk.crash(Survivors::Everything);
    world.faults.hook().revive();
    assert!(world.disk.damage(&log, |bytes| bytes.truncate(synced_bytes)));
    let db = open();
    let found: Vec<_> = db.all_prepared_transactions().iter().map(|t| t.name()).collect();
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}
