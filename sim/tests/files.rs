//! Files that go between Ironstone and RocksDB: checkpoints, external SST files, backups, secondary instances.
//!
//! `IRONSTONE_PEER` names RocksDB's library; without the variable each test prints that it was skipped.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

use std::collections::BTreeMap;
use std::path::Path;

use ironstone::{
    BackupEngine, BackupEngineOptions, Checkpoint, CheckpointOptions, Db, IngestExternalFileOptions, Options,
    RestoreOptions, Secondary, SstFileReader, SstFileWriter,
};
use peer::{Backups, Library, Reading, SstWriter, VARIABLE, Writing};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn options() -> Options {
    let mut options = Options::default();
    options.update("create_if_missing=true;write_buffer_size=65536").unwrap();
    options
}

fn default_family() -> [(String, String); 1] {
    [("default".to_string(), String::new())]
}

fn their_db(library: &Library, path: &Path) -> (peer::Db, peer::Family) {
    let (db, mut families) =
        peer::Db::open(library, path, "create_if_missing=true", &default_family(), false).unwrap();
    (db, families.remove(0))
}

fn their_rows(db: &peer::Db, family: &peer::Family) -> Rows {
    let mut iter = db.iter(family, &Reading::default());
    let mut rows = Rows::new();
    iter.seek_to_first();
    while let Some((key, value)) = iter.row() {
        rows.insert(key, value);
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn our_rows(db: &Db) -> Rows {
    db.range::<[u8], _>(..).map(|row| row.map(|(k, v)| (k, v.to_vec())).unwrap()).collect()
}

fn fill(db: &Db, from: u32, to: u32) {
    for i in from..to {
        db.put(&i.to_be_bytes(), format!("{i:0>200}").as_bytes()).unwrap();
    }
}

#[test]
fn each_opens_the_checkpoint_of_the_other() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    for log_size_for_flush in [0, u64::MAX] {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let ours = Db::open(at("ours"), options()).unwrap();
        fill(&ours, 0, 3000);
        let how = CheckpointOptions { log_size_for_flush, ..CheckpointOptions::default() };
        Checkpoint::new(&ours).create_with(at("ours.copy"), &how).unwrap();
        let (theirs, family) = their_db(&library, &at("ours.copy"));
        assert!(their_rows(&theirs, &family) == our_rows(&ours));
        theirs.put(&family, b"k", b"v", Writing::default()).unwrap();
        theirs.checkpoint(&at("theirs.copy"), log_size_for_flush).unwrap();
        let back = Db::open(at("theirs.copy"), options()).unwrap();
        assert!(our_rows(&back) == their_rows(&theirs, &family));
    }
}

#[test]
fn we_read_the_single_files_of_their_writer_and_of_their_database() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let mut their_file = SstWriter::open(&library, &at("theirs.sst"), "").unwrap();
    for i in 0..1000u32 {
        their_file.put(&i.to_be_bytes(), &i.to_le_bytes()).unwrap();
    }
    their_file.delete_range(&0u32.to_be_bytes(), &3000u32.to_be_bytes()).unwrap();
    their_file.finish().unwrap();
    let options = options();
    let reader = SstFileReader::open(at("theirs.sst"), &options).unwrap();
    reader.verify_checksums(&Default::default()).unwrap();
    reader.verify_num_entries(&Default::default()).unwrap();
    assert_eq!(reader.properties().num_range_deletions, 1);
    assert_eq!(reader.get(&77u32.to_be_bytes()).unwrap().as_deref(), Some(&77u32.to_le_bytes()[..]));
    assert_eq!(reader.entries().collect::<Result<Vec<_>, _>>().unwrap().len(), 1000);

    {
        let (theirs, family) = their_db(&library, &at("db"));
        for i in 0..500u32 {
            theirs.put(&family, &i.to_be_bytes(), b"theirs", Writing::default()).unwrap();
        }
        theirs.flush(std::slice::from_ref(&family)).unwrap();
    }
    let ours = Db::open_read_only(at("db"), options.clone()).unwrap();
    let files = ours.live_files();
    assert_eq!(files.len(), 1);
    let reader = SstFileReader::open(&files[0].path, &options).unwrap();
    let mut iter = reader.iter(Default::default()).unwrap();
    let mut rows = Rows::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    assert_eq!(rows, our_rows(&ours));
    reader.verify_checksums(&Default::default()).unwrap();
}

/// FIFO compaction copies a file byte by byte to change its temperature. The copy has the unique id of its source and another file
/// number.
#[test]
fn they_read_a_file_that_was_copied_to_change_its_temperature() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("db");
    let clock = env::Env::memory(1).clock;
    let mut options = options();
    options.db.env = env::Env { clock: clock.clone(), ..env::Env::posix() };
    options
        .update(
            "compaction_style=kCompactionStyleFIFO;num_levels=1;ttl=0;compaction_options_fifo={\
             file_temperature_age_thresholds={{temperature=kWarm;age=100}};\
             allow_trivial_copy_when_change_temperature=true;}",
        )
        .unwrap();
    let ours = Db::open(&path, options).unwrap();
    let numbers = |db: &Db| -> Vec<u64> {
        let mut numbers: Vec<u64> = db.live_files().iter().map(|file| file.number.get()).collect();
        numbers.sort_unstable();
        numbers
    };
    // A memtable takes all of these writes, so a flush writes one file.
    fill(&ours, 0, 100);
    ours.flush().unwrap();
    let first = numbers(&ours);
    clock.sleep_micros(200_000_000);
    fill(&ours, 100, 200);
    ours.flush().unwrap();
    ours.wait_for_compact().unwrap();
    // The newest file stays hot, and the older file is a copy.
    let second = numbers(&ours);
    assert!(first.len() == 1 && second.len() == 2 && !second.contains(&first[0]), "{first:?} {second:?}");
    let rows = our_rows(&ours);
    drop(ours);
    let (theirs, family) = their_db(&library, &path);
    assert!(rows.len() == 200 && their_rows(&theirs, &family) == rows);
    theirs.verify_checksum().unwrap();
}

#[test]
fn each_ingests_the_files_of_the_other() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let mut their_file = SstWriter::open(&library, &at("theirs.sst"), "").unwrap();
    let mut our_file = SstFileWriter::create(at("ours.sst"), &options().db, &options().family).unwrap();
    for i in 0..1000u32 {
        their_file.put(&i.to_be_bytes(), b"theirs").unwrap();
        our_file.put(&(i + 500).to_be_bytes(), b"ours").unwrap();
    }
    their_file.delete_range(&2000u32.to_be_bytes(), &3000u32.to_be_bytes()).unwrap();
    our_file.delete_range(&4000u32.to_be_bytes(), &5000u32.to_be_bytes()).unwrap();
    their_file.finish().unwrap();
    our_file.finish().unwrap();
    let expect = |rows: &Rows| {
        assert_eq!(rows[&700u32.to_be_bytes().to_vec()], b"ours");
        assert_eq!(rows[&100u32.to_be_bytes().to_vec()], b"theirs");
        assert_eq!(rows.len(), 1501);
        assert!(rows.contains_key(&1900u32.to_be_bytes().to_vec()));
    };
    {
        let ours = Db::open(at("ours"), options()).unwrap();
        for key in [1900u32, 2500, 4500] {
            ours.put(&key.to_be_bytes(), b"old").unwrap();
        }
        ours.ingest_external_files([at("theirs.sst"), at("ours.sst")], &IngestExternalFileOptions::default())
            .unwrap();
        expect(&our_rows(&ours));
        ours.close().unwrap();
    }
    let (theirs, family) = their_db(&library, &at("ours"));
    expect(&their_rows(&theirs, &family));
    theirs.verify_checksum().unwrap();
    drop((theirs, family));
    {
        let (theirs, family) = their_db(&library, &at("theirs"));
        for key in [1900u32, 2500, 4500] {
            theirs.put(&family, &key.to_be_bytes(), b"old", Writing::default()).unwrap();
        }
        theirs.ingest(&family, &[&at("theirs.sst"), &at("ours.sst")]).unwrap();
        expect(&their_rows(&theirs, &family));
    }
    expect(&our_rows(&Db::open(at("theirs"), options()).unwrap()));
}

#[test]
fn each_restores_the_backups_of_the_other() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let ours = Db::open(at("ours"), options()).unwrap();
    let open = || BackupEngine::open(BackupEngineOptions::new(at("backups")), &options().db.env).unwrap();
    let mut expect: Vec<Rows> = Vec::new();
    for round in 0..3 {
        fill(&ours, round * 1000, round * 1000 + 1500);
        open().create_new_backup(&ours).unwrap();
        expect.push(our_rows(&ours));
    }
    {
        let theirs = Backups::open(&library, &at("backups")).unwrap();
        assert_eq!(theirs.ids(), [1, 2, 3]);
        for (at_index, rows) in expect.iter().enumerate() {
            let id = at_index as u32 + 1;
            theirs.verify(id).unwrap();
            let dir = at(&format!("theirs.{id}"));
            theirs.restore(id, &dir).unwrap();
            let (db, family) = their_db(&library, &dir);
            assert!(their_rows(&db, &family) == *rows, "backup {id}");
        }
        theirs.purge(2).unwrap();
        let (db, family) = their_db(&library, &at("theirs.3"));
        for i in 0..500u32 {
            db.put(&family, format!("theirs {i}").as_bytes(), &[b'x'; 100], Writing::default()).unwrap();
        }
        theirs.create(&db, true).unwrap();
        db.put(&family, b"in the WAL", b"", Writing::default()).unwrap();
        theirs.create(&db, false).unwrap();
        expect.push(their_rows(&db, &family));
    }
    let ids: Vec<_> = open().backup_info().iter().map(|info| info.id).collect();
    assert_eq!(ids, [2, 3, 4, 5]);
    for (id, rows) in [(2, &expect[1]), (3, &expect[2]), (5, &expect[3])] {
        open().verify_backup(id, true).unwrap();
        let dir = at(&format!("ours.{id}"));
        open().restore_db_from_backup(id, &dir, &dir, &RestoreOptions::default()).unwrap();
        assert!(our_rows(&Db::open(&dir, options()).unwrap()) == *rows, "backup {id}");
    }
    open().purge_old_backups(1).unwrap();
    assert_eq!(Backups::open(&library, &at("backups")).unwrap().ids(), [5]);
}

#[test]
fn each_follows_the_other_as_a_secondary() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    {
        let text = "create_if_missing=true;write_buffer_size=65536;level0_file_num_compaction_trigger=2";
        let (theirs, mut families) =
            peer::Db::open(&library, &at("theirs"), text, &default_family(), false).unwrap();
        let family = families.remove(0);
        let secondary = Secondary::open(at("theirs"), options()).unwrap();
        for round in 0..10u32 {
            for i in 0..500u32 {
                let value = format!("{round} {i:0>150}");
                theirs
                    .put(&family, &(i * 7 % 900).to_be_bytes(), value.as_bytes(), Writing::default())
                    .unwrap();
            }
            if round % 3 == 2 {
                theirs.compact(&family, None, None, peer::Compaction::default());
            }
            secondary.try_catch_up_with_primary().unwrap();
            assert!(our_rows(&secondary.view()) == their_rows(&theirs, &family), "round {round}");
        }
    }
    let ours = Db::open(at("ours"), options()).unwrap();
    fill(&ours, 0, 10);
    let (theirs, families) =
        peer::Db::open_secondary(&library, &at("ours"), &at("own"), &default_family()).unwrap();
    for round in 0..10u32 {
        fill(&ours, round * 300, round * 300 + 500);
        ours.delete(&(round * 10).to_be_bytes()).unwrap();
        if round % 3 == 2 {
            ours.compact_range(None, None, &Default::default()).unwrap();
        }
        // A flush that ends during a catch-up deletes its WAL. RocksDB's secondary instance then reports OK and shows the rows
        // from before, or the rows of the newer WAL without the rows of the deleted WAL. The next catch-up reads the SST file
        // of the flush. A round has at most two flushes.
        let written = our_rows(&ours);
        let agrees = || {
            theirs.catch_up().unwrap();
            their_rows(&theirs, &families[0]) == written
        };
        assert!((0..3).any(|_| agrees()), "round {round}");
    }
}

/// Without `allow_2pc`, both engines stop at the first prepared transaction of a WAL: RocksDB's secondary instance reports
/// the error at each catch-up, and keeps the rows from before.
#[test]
fn a_secondary_of_a_writer_with_two_phase_commit_needs_allow_2pc() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let writer = peer::TransactionDb::open(&library, &at("db"), "create_if_missing=true").unwrap();
    writer.put(b"a", b"1", Writing::default()).unwrap();
    let mut two_phase = options();
    two_phase.db.allow_2pc = true;
    let plain = Secondary::open(at("db"), options()).unwrap();
    let secondary = Secondary::open(at("db"), two_phase).unwrap();
    let (theirs, families) =
        peer::Db::open_secondary(&library, &at("db"), &at("own"), &default_family()).unwrap();
    let mut transaction = writer.begin(Writing::default());
    transaction.set_name(b"name").unwrap();
    transaction.put(b"b", b"2").unwrap();
    transaction.prepare().unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(our_rows(&secondary.view()).len(), 1);
    transaction.commit().unwrap();
    writer.put(b"c", b"3", Writing::default()).unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(our_rows(&secondary.view()).len(), 3);
    let refused = plain.try_catch_up_with_primary().unwrap_err();
    assert!(refused.to_string().contains("prepared transactions"), "{refused}");
    assert!(theirs.catch_up().unwrap_err().contains("prepared transactions"));
    assert_eq!((our_rows(&plain.view()).len(), their_rows(&theirs, &families[0]).len()), (1, 1));
}
