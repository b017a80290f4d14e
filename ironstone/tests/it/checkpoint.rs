//! Checkpoints and the list of live files.

use ironstone::{
    Checkpoint, CheckpointOptions, Db, FamilyDescriptor, LiveFileKind, LiveFileStorageInfo,
    LiveFilesStorageInfoOptions, Options, WriteOptions,
};

fn options() -> Options {
    let mut options = Options::default();
    options.update("create_if_missing=true;write_buffer_size=65536;compression=kNoCompression").unwrap();
    options
}

fn rows(db: &Db) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let of = |family: &ironstone::Family| {
        let name = family.name().to_string();
        let rows = family.range::<[u8], _>(..).map(move |row| {
            let (key, value) = row.unwrap();
            (name.clone(), key.to_vec(), value.to_vec())
        });
        rows.collect::<Vec<_>>()
    };
    db.families().iter().flat_map(of).collect()
}

#[test]
fn a_checkpoint_holds_every_write_before_it_and_none_after() {
    for log_size_for_flush in [0, 1 << 20, u64::MAX] {
        let scratch = tempfile::tempdir().unwrap();
        let db = Db::open(scratch.path().join("data"), options()).unwrap();
        let other = db.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
        for i in 0..2000u32 {
            db.put(&i.to_be_bytes(), &[b'x'; 100]).unwrap();
            other.put(&i.to_be_bytes(), b"y").unwrap();
        }
        let then = rows(&db);
        let copy = scratch.path().join("copy");
        let how = CheckpointOptions { log_size_for_flush, ..CheckpointOptions::default() };
        let sequence = Checkpoint::new(&db).create_with(&copy, &how).unwrap();
        assert_eq!(sequence, db.latest_sequence());
        db.put(b"later", b"z").unwrap();
        db.compact_range(None, None, &ironstone::CompactRangeOptions::default()).unwrap();

        let copied = Db::open(&copy, options()).unwrap();
        assert!(rows(&copied) == then, "log_size_for_flush {log_size_for_flush}");
        copied.put(b"own", b"life").unwrap();
        assert_eq!(db.get(b"own").unwrap(), None);
        assert_eq!(copied.engine().id(), db.engine().id());
    }
}

#[test]
fn records_that_wait_for_flush_wal_are_in_the_checkpoint() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options();
    options.update("manual_wal_flush=true").unwrap();
    let db = Db::open(scratch.path().join("data"), options.clone()).unwrap();
    db.put(b"k", b"v").unwrap();
    let how = CheckpointOptions { log_size_for_flush: u64::MAX, ..CheckpointOptions::default() };
    Checkpoint::new(&db).create_with(scratch.path().join("copy"), &how).unwrap();
    let copied = Db::open(scratch.path().join("copy"), options).unwrap();
    assert_eq!(copied.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

#[test]
fn a_checkpoint_holds_an_empty_wal_unless_the_options_leave_it_out() {
    for has_empty_wal in [true, false] {
        let scratch = tempfile::tempdir().unwrap();
        let db = Db::open(scratch.path().join("data"), options()).unwrap();
        let without_wal = WriteOptions { disableWAL: true, ..WriteOptions::default() };
        db.put_with(b"k", b"v", &without_wal).unwrap();
        let copy = scratch.path().join("copy");
        let how = CheckpointOptions { has_empty_wal, ..CheckpointOptions::default() };
        Checkpoint::new(&db).create_with(&copy, &how).unwrap();
        let empty_files = std::fs::read_dir(&copy)
            .unwrap()
            .map(Result::unwrap)
            .filter(|entry| entry.metadata().unwrap().len() == 0)
            .map(|entry| entry.path().extension().unwrap().to_os_string())
            .collect::<Vec<_>>();
        assert_eq!(empty_files, if has_empty_wal { vec!["log"] } else { vec![] });
        let copied = Db::open(&copy, options()).unwrap();
        assert_eq!(copied.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    }
}

#[test]
fn a_checkpoint_of_a_directory_that_exists_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("data"), options()).unwrap();
    let error = Checkpoint::new(&db).create(scratch.path()).unwrap_err();
    assert_eq!(error.kind(), ironstone::Kind::InvalidArgument);
    assert!(error.to_string().contains("Directory exists"), "{error}");
    assert!(Checkpoint::new(&db).create("").is_err());
    assert_eq!(db.int_property("rocksdb.is-file-deletions-enabled"), Some(1));
}

#[test]
fn leftovers_of_an_unfinished_checkpoint_are_deleted() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("data"), options()).unwrap();
    let staging = scratch.path().join("copy.tmp");
    std::fs::create_dir(&staging).unwrap();
    std::fs::write(staging.join("000007.sst"), b"half").unwrap();
    db.put(b"k", b"v").unwrap();
    Checkpoint::new(&db).create(scratch.path().join("copy/")).unwrap();
    assert!(!staging.exists());
    assert!(Db::open(scratch.path().join("copy"), options()).unwrap().get(b"k").unwrap().is_some());
}

#[test]
fn sst_files_are_linked_and_wals_are_copied() {
    use std::os::unix::fs::MetadataExt;
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("data"), options()).unwrap();
    db.put(b"k", b"v").unwrap();
    for (name, links) in [("linked", true), ("copied", false)] {
        let how = CheckpointOptions { use_link_file_when_available: links, ..CheckpointOptions::default() };
        Checkpoint::new(&db).create_with(scratch.path().join(name), &how).unwrap();
        let tables = std::fs::read_dir(scratch.path().join(name)).unwrap().map(|e| e.unwrap().path());
        let tables: Vec<_> = tables.filter(|p| p.extension().is_some_and(|e| e == "sst")).collect();
        assert_eq!(tables.len(), 1);
        assert_eq!(std::fs::metadata(&tables[0]).unwrap().nlink() > 1, links, "{name}");
    }
}

#[test]
fn the_list_of_live_files_names_each_kind_and_its_checksum() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options();
    options.update("file_checksum_gen_factory=FileChecksumGenCrc32cFactory").unwrap();
    let db = Db::open(scratch.path().join("data"), options).unwrap();
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    db.put(b"l", b"w").unwrap();
    let how = LiveFilesStorageInfoOptions {
        include_checksum_info: true,
        wal_size_for_flush: u64::MAX,
        ..LiveFilesStorageInfoOptions::default()
    };
    let files = db.live_files_storage_info(&how).unwrap();
    let of = |kind| files.iter().filter(|f| f.kind == kind).collect::<Vec<_>>();
    let [table] = of(LiveFileKind::Table)[..] else { panic!("{files:?}") };
    assert_eq!((table.file_checksum.len(), &*table.file_checksum_func_name), (4, "FileChecksumCrc32c"));
    assert_eq!(table.size, std::fs::metadata(table.path()).unwrap().len());
    for kind in [LiveFileKind::Manifest, LiveFileKind::Current, LiveFileKind::Options, LiveFileKind::Wal] {
        assert_eq!(of(kind).len(), 1, "{kind:?}: {files:?}");
    }
    let [current] = of(LiveFileKind::Current)[..] else { panic!("{files:?}") };
    let content = current.replacement_contents.as_deref().unwrap();
    assert!(content.starts_with(b"MANIFEST-") && content.ends_with(b"\n"));
    let reader = Db::open_read_only(db.path(), Options::default()).unwrap();
    let name = |file: &LiveFileStorageInfo| (file.relative_filename.clone(), file.size, file.kind);
    let names = |files: &[LiveFileStorageInfo]| files.iter().map(name).collect::<Vec<_>>();
    assert_eq!(names(&reader.live_files_storage_info(&how).unwrap()), names(&files));
    let secondary = ironstone::Secondary::open(db.path(), Options::default()).unwrap();
    assert_eq!(names(&secondary.view().live_files_storage_info(&how).unwrap()), names(&files));
}

#[test]
fn a_checkpoint_of_a_read_only_database_holds_what_the_open_has_read() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options();
    options.update("enable_blob_files=true;min_blob_size=500").unwrap();
    let db = Db::open(scratch.path().join("data"), options.clone()).unwrap();
    for i in 0..50u32 {
        db.put(&i.to_be_bytes(), &[i as u8; 1000]).unwrap();
    }
    db.flush().unwrap();
    db.put(b"in the WAL", b"1").unwrap();
    let then = rows(&db);
    let reader = Db::open_read_only(db.path(), options.clone()).unwrap();
    db.put(b"later", b"1").unwrap();
    Checkpoint::new(&reader).create(scratch.path().join("copy")).unwrap();
    let copied = Db::open(scratch.path().join("copy"), options.clone()).unwrap();
    assert!(rows(&copied) == then);
    // A writer deletes files that the reader needs: no half checkpoint stays.
    db.compact_range(None, None, &Default::default()).unwrap();
    for i in 0..50u32 {
        db.delete(&i.to_be_bytes()).unwrap();
    }
    db.compact_range(None, None, &Default::default()).unwrap();
    assert!(Checkpoint::new(&reader).create(scratch.path().join("late")).is_err());
    assert!(!scratch.path().join("late").exists() && !scratch.path().join("late.tmp").exists());
}

#[test]
fn a_checkpoint_holds_the_blob_files() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options();
    options.update("enable_blob_files=true;min_blob_size=10").unwrap();
    let db = Db::open(scratch.path().join("data"), options.clone()).unwrap();
    for i in 0..50u32 {
        db.put(&i.to_be_bytes(), &[i as u8; 1000]).unwrap();
    }
    let checkpoint = Checkpoint::new(&db);
    checkpoint.create(scratch.path().join("copy")).unwrap();
    let listed = db.live_files_storage_info(&LiveFilesStorageInfoOptions::default()).unwrap();
    assert!(listed.iter().any(|file| file.kind == LiveFileKind::Blob), "{listed:?}");
    let then = rows(&db);
    drop(db);

    let copied = Db::open(scratch.path().join("copy"), options).unwrap();
    assert!(rows(&copied) == then);
}

#[test]
fn statistics_count_the_copied_bytes_of_a_checkpoint_and_the_time_of_an_ingestion() {
    use ironstone::stats::{PerfCounter, PerfLevel, Statistics, Ticker, perf_counter, set_perf_level};
    let mut options = Options::in_memory();
    let statistics = std::sync::Arc::new(Statistics::default());
    options.db.statistics = Some(statistics.clone());
    let db = Db::open("data", options.clone()).unwrap();
    db.put(b"in the WAL", &[7; 10_000]).unwrap();
    Checkpoint::new(&db)
        .create_with("copy", &CheckpointOptions { log_size_for_flush: u64::MAX, ..Default::default() })
        .unwrap();
    let read = statistics.ticker(Ticker::CheckpointReadBytes);
    assert!(read > 10_000, "{read}");
    assert_eq!(read, statistics.ticker(Ticker::CheckpointWriteBytes));

    let mut file = ironstone::SstFileWriter::create("1.sst", &options.db, &options.family).unwrap();
    file.put(b"k", b"v").unwrap();
    file.finish().unwrap();
    set_perf_level(PerfLevel::EnableTimeExceptForMutex);
    let counters = [PerfCounter::FileIngestionNanos, PerfCounter::FileIngestionBlockingLiveWritesNanos];
    let before = counters.map(perf_counter);
    db.ingest_external_files(["1.sst"], &Default::default()).unwrap();
    let after = counters.map(perf_counter);
    set_perf_level(PerfLevel::EnableCount);
    assert!(after[0] - before[0] >= after[1] - before[1] && after[1] > before[1], "{before:?} {after:?}");
}

#[test]
fn several_threads_link_or_copy_the_files_of_a_checkpoint() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("data"), options()).unwrap();
    for i in 0..400u32 {
        db.put(&i.to_be_bytes(), &[i as u8; 1000]).unwrap();
    }
    let then = rows(&db);
    for (name, use_link_file_when_available, io_buffer_size) in [("linked", true, 0), ("copied", false, 4096)]
    {
        let how = CheckpointOptions {
            max_background_operations: 3,
            use_link_file_when_available,
            io_buffer_size,
            ..CheckpointOptions::default()
        };
        Checkpoint::new(&db).create_with(scratch.path().join(name), &how).unwrap();
        let copied = Db::open(scratch.path().join(name), options()).unwrap();
        assert!(rows(&copied) == then, "{name}");
    }
    // A missing file fails the checkpoint, and nothing of it stays.
    let table = db.live_files()[1].number.get();
    std::fs::remove_file(db.path().join(format!("{table:06}.sst"))).unwrap();
    let how = CheckpointOptions { max_background_operations: 3, ..CheckpointOptions::default() };
    assert!(Checkpoint::new(&db).create_with(scratch.path().join("late"), &how).is_err());
    assert!(!scratch.path().join("late").exists() && !scratch.path().join("late.tmp").exists());
}
