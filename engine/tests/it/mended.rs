//! The open after a repair, and the reading of damaged files.

use std::path::Path;

use base::{FamilyId, FileNumber, SequenceNumber, WalNumber};
use env::memory::Survivors;
use format::edit::{EditMark, FamilyEdit, VersionEdit};
use format::wal::{Framing, Item, Reader, ReaderOptions, Writer};
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest, repair};
use ironstone_engine::files::Paths;
use ironstone_engine::manifest::recover_leniently;
use ironstone_engine::options::file::{ReadConfig, load_latest};
use ironstone_engine::options::{FamilyOptions, FlushOptions, WalRecoveryMode, WriteOptions};
use ironstone_engine::repair::{Scope, run};
use testkit::machine::Machine;

use crate::basic::get;
use crate::durable::{Databases, synced};

/// Returns a batch that puts `key`. Without a key, returns the empty batch that an open writes at the point
/// where it stopped.
fn batch(seq: u64, key: Option<&str>) -> Vec<u8> {
    let mut batch = Vec::new();
    format::batch::begin(&mut batch);
    if let Some(key) = key {
        format::batch::put(&mut batch, FamilyId::DEFAULT, key.as_bytes(), &[], b"1");
        format::batch::set_count(&mut batch, 1);
    }
    format::batch::set_sequence(&mut batch, SequenceNumber::new(seq));
    batch
}

fn framed(records: &[Vec<u8>]) -> Vec<u8> {
    let (mut wal, mut writer) = (Vec::new(), Writer::new(Framing::Classic));
    records.iter().for_each(|record| writer.append(&mut wal, record).unwrap());
    wal
}

/// Returns a database that crashed with these two WALs.
fn with_logs(first: &[u8], second: &[u8]) -> Machine {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    synced(&db, "a", "1");
    assert_eq!(db.latest_sequence(), SequenceNumber::new(1));
    world.crash_with(db, Survivors::Everything);
    let wal = world.file("", ".log");
    world.damage(&wal, |bytes| *bytes = first.to_vec());
    let number: u64 = wal.trim_start_matches("/db/").trim_end_matches(".log").parse().unwrap();
    world.env.fs.write_all(Path::new(&format!("/db/{:06}.log", number + 1)), second, true).unwrap();
    world
}

fn in_mode(world: &Machine, mode: WalRecoveryMode) -> OpenRequest {
    let mut request = world.request();
    request.options.wal_recovery_mode = mode;
    request
}

/// If the OPTIONS file stored these settings, an application that loads the file would skip damage forever.
#[test]
fn the_replay_settings_of_a_repair_are_not_in_the_options_file() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    ["a", "b", "c"].into_iter().for_each(|key| synced(&db, key, &key.repeat(40)));
    world.crash_with(db, Survivors::Synced);
    world.damage(&world.file("", ".log"), |bytes| bytes[..12].fill(0x5a));
    let mut request = in_mode(&world, WalRecoveryMode::AbsoluteConsistency);
    request.options.avoid_flush_during_recovery = true;
    request.options.error_if_exists = true;
    let report = repair(request).unwrap();
    assert!(!report.is_sound() && !report.actions.is_empty());
    let written = load_latest(&world.env, Path::new("/db"), &ReadConfig::default()).unwrap().1.db;
    assert_eq!(written.wal_recovery_mode, WalRecoveryMode::AbsoluteConsistency);
    assert!(written.avoid_flush_during_recovery && written.error_if_exists && written.create_if_missing);
    let db = world.open().unwrap();
    assert!(get(&db, "a").is_none() && get(&db, "b").is_some() && get(&db, "c").is_some());
}

/// With the settings of a repair of damage, records after the hole of a crash would come back.
#[test]
fn a_repair_of_a_sound_database_uses_the_recovery_mode_of_the_caller() {
    let mut torn = framed(&[batch(1, Some("a"))]);
    let whole = framed(&[batch(1, Some("a")), batch(2, Some("lost"))]);
    torn.extend_from_slice(&whole[torn.len()..whole.len() - 6]);
    let world = with_logs(&torn, &framed(&[batch(3, Some("behind"))]));
    let report = repair(in_mode(&world, WalRecoveryMode::PointInTimeRecovery)).unwrap();
    assert!(report.is_sound() && report.actions.is_empty(), "{report:#?}");
    let db = world.open().unwrap();
    assert!(get(&db, "a").is_some() && get(&db, "behind").is_none());
}

#[test]
fn a_repair_removes_a_torn_end_that_absolute_consistency_rejects() {
    let mut torn = framed(&[batch(1, Some("a")), batch(2, Some("b"))]);
    torn.truncate(torn.len() - 6);
    let strict = WalRecoveryMode::AbsoluteConsistency;
    let world = with_logs(&torn, &[]);
    assert!(Db::open(in_mode(&world, strict)).is_err());
    repair(in_mode(&world, strict)).unwrap();
    let db = Db::open(in_mode(&world, strict)).unwrap();
    assert!(get(&db, "a").is_some() && get(&db, "b").is_none());
}

#[test]
fn skip_any_corrupted_records_skips_the_empty_batch_of_a_stopped_recovery() {
    let first = framed(&[batch(1, Some("a")), batch(5, Some("behind"))]);
    let world = with_logs(&first, &framed(&[batch(2, None)]));
    let db = Db::open(in_mode(&world, WalRecoveryMode::SkipAnyCorruptedRecords)).unwrap();
    assert!(get(&db, "a").is_some() && get(&db, "behind").is_some());
    assert_eq!(db.latest_sequence(), SequenceNumber::new(5));
    let world = with_logs(&first, &framed(&[batch(2, Some("back"))]));
    let error = Db::open(in_mode(&world, WalRecoveryMode::SkipAnyCorruptedRecords)).err().unwrap();
    assert!(error.is_corruption() && error.to_string().contains("go backwards"), "{error}");
}

/// The end of a recycled WAL at an old record is usual. But the newer WAL does not continue, so records are missing,
/// and the SST file of another column family has later entries. Without the error, the open would drop the newer WALs
/// without a message.
#[test]
fn a_wal_that_does_not_continue_a_recycled_wal_fails_the_open_if_sst_files_are_newer() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    let other = db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap();
    synced(&db, "a", "1");
    let old = world.file("", ".log");
    db.put(&other, b"k", b"1", &WriteOptions::default()).unwrap();
    db.flush(&[other.clone()], &FlushOptions::default()).unwrap();
    synced(&db, "b", "1");
    let new = world.file("", ".log");
    assert_ne!(old, new);
    drop(other);
    world.crash_with(db, Survivors::Everything);
    let number = |path: &str| path.trim_start_matches("/db/").trim_end_matches(".log").parse().unwrap();
    let recycled = |wal_number: u64, record: &[u8]| {
        let framing = Framing::Recyclable { wal_number: WalNumber::new(wal_number) };
        let (mut wal, mut writer) = (Vec::new(), Writer::new(framing));
        writer.append(&mut wal, record).unwrap();
        wal
    };
    let wal = recycled(number(&old), &batch(1, Some("a")));
    let former = recycled(number(&old) - 1, &batch(1, Some("former")));
    world.damage(&old, |bytes| *bytes = [wal, former].concat());
    let open = |newer: &[Vec<u8>]| {
        world.damage(&new, |bytes| *bytes = framed(newer));
        let mut request = world.request();
        request.families.push(FamilyDescriptor::new("other", FamilyOptions::default()));
        request.options.avoid_flush_during_recovery = true;
        Db::open_read_only(request)
    };
    let error = open(&[batch(5, Some("behind"))]).expect_err("records are missing");
    assert!(error.is_corruption() && error.to_string().contains("inconsistency"), "{error}");
    assert_eq!(error.path(), Some(Path::new(&old)));
    assert!(get(&open(&[]).unwrap(), "a").is_some(), "an old record alone is the usual end");
    assert!(get(&open(&[batch(2, Some("behind"))]).unwrap(), "behind").is_some());
}

/// Returns an edit that adds a column family. `left`: the number of edits of its atomic group after it.
fn adding(id: u32, left: Option<u32>) -> VersionEdit {
    VersionEdit {
        family: FamilyEdit {
            id: FamilyId::new(id),
            add: Some(format!("family {id}")),
            ..FamilyEdit::default()
        },
        remaining_entries: left,
        ..VersionEdit::default()
    }
}

/// Returns the ids of the column families that the edits leave, and the number of faults.
fn found(edits: &[VersionEdit]) -> (Vec<u32>, usize) {
    let env = env::Env::memory(1);
    let records: Vec<_> = edits
        .iter()
        .map(|edit| {
            let mut record = Vec::new();
            edit.encode(0, &mut record).unwrap();
            record
        })
        .collect();
    env.fs.write_all(Path::new("/MANIFEST-000001"), &framed(&records), true).unwrap();
    let read = recover_leniently(&env, Path::new("/MANIFEST-000001"), FileNumber::new(1)).unwrap();
    (read.recovered.families.into_keys().map(base::FamilyId::get).collect(), read.faults.len())
}

#[test]
fn a_seal_in_a_damaged_atomic_group_proves_no_loss() {
    let seal = VersionEdit::seal(EditMark { number: Some(FileNumber::new(1)), offset: 0, digest: 0 });
    assert_eq!(found(&[adding(1, Some(1)), seal.clone(), adding(2, Some(0))]), (vec![0, 1, 2], 0));
    // The last edit of the group is lost. Only the next edit is rejected because of this.
    let edits = [adding(1, Some(1)), seal, adding(2, None), adding(3, None), adding(4, Some(0))];
    assert_eq!(found(&edits), (vec![0, 3, 4], 1));
}

#[test]
fn an_atomic_group_with_a_wrong_count_does_not_fail_the_edits_after_it() {
    let edits =
        [adding(1, Some(2)), adding(2, Some(0)), adding(3, Some(1)), adding(4, Some(0)), adding(5, None)];
    assert_eq!(found(&edits), (vec![0, 3, 4, 5], 1));
}

#[test]
fn replay_and_writes_flush_at_the_same_limit_of_range_deletions() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    let family = db.default_family().unwrap();
    for begin in ["a", "b", "c", "d", "e", "f"] {
        db.delete_range(&family, begin.as_bytes(), b"g", &WriteOptions::default()).unwrap();
    }
    drop(family);
    world.crash_with(db, Survivors::Everything);
    let mut request = world.request();
    request.families[0].options.memtable_max_range_deletions = 2;
    let db = Db::open(request).unwrap();
    let tables = db.properties().text(&db.default_family().unwrap(), "rocksdb.num-files-at-level0");
    assert_eq!(tables.as_deref(), Some("3"));
}

/// RocksDB takes a WAL without the sizes of timestamps for a WAL without timestamps, and appends a timestamp to each key.
#[test]
fn rewritten_wal_has_the_sizes_of_timestamps() {
    let world = Machine::new(1);
    let request = || {
        let mut request = world.request();
        let comparator = base::Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap();
        request.families[0].options.comparator = comparator;
        request
    };
    let db = Db::open(request()).unwrap();
    for (key, at) in [(b"a", 1u64), (b"b", 2), (b"c", 3)] {
        let mut batch = WriteBatch::new();
        batch.put_at(FamilyId::DEFAULT, key, &at.to_le_bytes(), &[b'v'; 40]);
        db.write(&mut batch, &WriteOptions { sync: true, ..WriteOptions::default() }).unwrap();
    }
    world.crash_with(db, Survivors::Synced);
    let wal = world.file("", ".log");
    let sizes = |wal: &str| {
        let bytes = world.bytes(wal);
        let mut reader = Reader::new(&bytes[..], ReaderOptions::default());
        match reader.next().unwrap() {
            Item::TimestampSizes { sizes, .. } => sizes.to_vec(),
            other => panic!("{other:?}"),
        }
    };
    let before = sizes(&wal);
    assert_eq!(before, [(FamilyId::DEFAULT, 8)]);
    world.damage(&wal, |bytes| {
        let at = bytes.windows(40).position(|window| window == [b'v'; 40]).unwrap();
        bytes[at] = b'x';
    });
    // Without the open after the repair, which flushes the records.
    let OpenRequest { path, options, families, .. } = request();
    let report = run(&Scope { paths: Paths::new(&path, &options), options, families }).unwrap();
    assert!(report.actions.iter().any(|action| action.contains("is rewritten")), "{:?}", report.actions);
    assert_eq!(sizes(&wal), before);
}

#[test]
fn repair_leaves_out_a_record_that_is_too_short_for_a_batch() {
    let world = Machine::new(1);
    let db = Db::open(world.request()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1");
    db.write(&mut batch, &WriteOptions { sync: true, ..WriteOptions::default() }).unwrap();
    world.crash_with(db, Survivors::Synced);
    let wal = world.file("", ".log");
    world.damage(&wal, |bytes| Writer::new(Framing::Classic).append(bytes, b"short").unwrap());
    repair(world.request()).unwrap();
    let db = Db::open(world.request()).unwrap();
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
}
