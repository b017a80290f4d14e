//! Export and import of column families, and clip.

use std::sync::{Arc, Mutex};

use base::SequenceNumber;
use ironstone::{
    Checkpoint, CompactionOptions, Db, Event, ExportImportFilesMetaData, ExportedFile, Family,
    FamilyDescriptor, ImportColumnFamilyOptions, Kind, Listener, Options,
};

fn options() -> Options {
    let mut options = Options::default();
    options.update("create_if_missing=true;compression=kNoCompression;merge_operator=stringappend").unwrap();
    options
}

fn rows(family: &Family) -> Vec<(Vec<u8>, Vec<u8>)> {
    family.range::<[u8], _>(..).map(|row| row.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap()).collect()
}

fn named(name: &str) -> FamilyDescriptor {
    FamilyDescriptor::new(name, options().family)
}

/// Writes entries to several levels, with newer entries in upper levels.
fn fill(family: &Family, from: u32, to: u32) {
    for round in 0..3u8 {
        for i in (from..to).step_by(usize::from(round) + 1) {
            family.put(&i.to_be_bytes(), &[b'a' + round; 20]).unwrap();
        }
        family.flush().unwrap();
        if round == 0 {
            family.compact_range(None, None, &Default::default()).unwrap();
        }
    }
    family.delete_range(&(from + 5).to_be_bytes(), &(from + 9).to_be_bytes()).unwrap();
}

#[test]
fn an_import_has_the_entries_of_the_export() {
    for move_files in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let from = Db::open(scratch.path().join("from"), options()).unwrap();
        fill(&from, 0, 200);
        let expect = rows(&from);
        let dir = scratch.path().join("export");
        let export = Checkpoint::new(&from).export_column_family(&from, &dir).unwrap();
        assert!(export.files.len() >= 3);
        let error = Checkpoint::new(&from).export_column_family(&from, &dir).unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidArgument);

        let to = Db::open(scratch.path().join("to"), options()).unwrap();
        let how = ImportColumnFamilyOptions { move_files };
        let family = to.create_family_with_import(named("copy"), &how, &[&export]).unwrap();
        assert_eq!(rows(&family), expect);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count() == 0, move_files);
        assert!(to.latest_sequence() >= export.files.iter().map(|f| f.largest_sequence).max().unwrap());
        family.put(&7u32.to_be_bytes(), b"newer").unwrap();
        family.compact_range(None, None, &Default::default()).unwrap();
        assert_eq!(family.get(&7u32.to_be_bytes()).unwrap().as_deref(), Some(&b"newer"[..]));
        assert!(to.create_family_with_import(named("copy"), &how, &[&export]).is_err());
        to.close().unwrap();
        let again = Db::open(scratch.path().join("to"), options()).unwrap();
        assert_eq!(rows(&again.family("copy").unwrap()).len(), expect.len() + 1);
    }
}

#[test]
fn an_import_cuts_range_tombstones_at_the_boundaries_of_the_export() {
    let scratch = tempfile::tempdir().unwrap();
    let mut small = options();
    small.update("target_file_size_base=2000;disable_auto_compactions=true").unwrap();
    let from = Db::open(scratch.path().join("from"), small).unwrap();
    for i in 0..400u32 {
        from.put(&i.to_be_bytes(), &[b'a'; 20]).unwrap();
    }
    from.compact_range(None, None, &Default::default()).unwrap();
    let kept = from.snapshot();
    from.delete_range(&10u32.to_be_bytes(), &390u32.to_be_bytes()).unwrap();
    // The snapshot keeps the deleted entries, so the range tombstone is in several files of the last level.
    from.compact_range(None, None, &Default::default()).unwrap();
    drop(kept);
    let expect = rows(&from);
    assert_eq!(expect.len(), 20);
    let dir = scratch.path().join("export");
    let export = Checkpoint::new(&from).export_column_family(&from, &dir).unwrap();
    assert!(export.files.len() > 3, "{} files", export.files.len());
    let how = ImportColumnFamilyOptions::default();
    let family = from.create_family_with_import(named("copy"), &how, &[&export]).unwrap();
    assert_eq!(rows(&family), expect);
    let boundaries = |family: &Family| {
        let files = family.live_files();
        files.iter().map(|file| (file.smallest_key.clone(), file.largest_key.clone())).collect::<Vec<_>>()
    };
    assert_eq!(boundaries(&family), boundaries(&from));
    from.close().unwrap();
    let again = Db::open(scratch.path().join("from"), options()).unwrap();
    assert_eq!(rows(&again.family("copy").unwrap()), expect);
}

#[test]
fn exports_of_disjoint_ranges_become_one_family() {
    let scratch = tempfile::tempdir().unwrap();
    let from = Db::open(scratch.path().join("from"), options()).unwrap();
    let other = from.create_family(named("other")).unwrap();
    fill(&from, 0, 100);
    fill(&other, 100, 200);
    let checkpoint = Checkpoint::new(&from);
    let first = checkpoint.export_column_family(&from, scratch.path().join("1")).unwrap();
    let second = checkpoint.export_column_family(&other, scratch.path().join("2")).unwrap();
    let how = ImportColumnFamilyOptions::default();
    let both = from.create_family_with_import(named("both"), &how, &[&second, &first]).unwrap();
    let mut expect = rows(&from);
    expect.extend(rows(&other));
    assert_eq!(rows(&both), expect);
    let error = from.create_family_with_import(named("twice"), &how, &[&first, &first]).unwrap_err();
    assert!(error.to_string().contains("overlapping"), "{error}");
    assert!(from.family("twice").is_err());
}

#[test]
fn wrong_exports_are_rejected_and_leave_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("data"), options()).unwrap();
    fill(&db, 0, 50);
    let export = Checkpoint::new(&db).export_column_family(&db, scratch.path().join("export")).unwrap();
    let how = ImportColumnFamilyOptions::default();
    let files = || std::fs::read_dir(scratch.path().join("data")).unwrap().count();
    let before = files();
    let reject = |export: &ExportImportFilesMetaData, words: &str| {
        let error = db.create_family_with_import(named("bad"), &how, &[export]).unwrap_err();
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert!(db.family("bad").is_err());
    };
    reject(&ExportImportFilesMetaData { files: Vec::new(), ..export.clone() }, "list of files is empty");
    reject(
        &ExportImportFilesMetaData { db_comparator_name: "other".into(), ..export.clone() },
        "Comparator name",
    );
    let first = &export.files[0];
    let with = |file: ExportedFile| ExportImportFilesMetaData { files: vec![file], ..export.clone() };
    reject(&with(ExportedFile { name: "missing.sst".into(), ..first.clone() }), "missing.sst");
    reject(&with(ExportedFile { size: 7, ..first.clone() }), &first.name);
    reject(&with(ExportedFile { level: ironstone::Level::new(99), ..first.clone() }), "level 99");
    let (first_key, other) = (first.smallest.clone(), export.files[1].clone());
    reject(&with(ExportedFile { largest: first_key, ..other }), "outside of the boundaries");
    reject(&with(ExportedFile { smallest: b"short".into(), ..first.clone() }), "internal key");
    reject(
        &with(ExportedFile { smallest_sequence: SequenceNumber::NONE, ..first.clone() }),
        "sequence numbers",
    );
    assert_eq!(files(), before);
}

#[test]
fn an_import_of_no_exports_makes_an_empty_column_family() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("data");
    let how = ImportColumnFamilyOptions::default();
    let db = Db::open(&dir, options()).unwrap();
    let family = db.create_family_with_import(named("empty"), &how, &[]).unwrap();
    assert!(family.get(b"k").unwrap().is_none());
    family.put(b"k", b"v").unwrap();
    drop((family, db));
    let db = Db::open(&dir, options()).unwrap();
    assert_eq!(&*db.family("empty").unwrap().get(b"k").unwrap().unwrap(), b"v");
}

#[test]
fn rocksdbs_export_is_imported() {
    let golden = testkit::golden::root().join("export-cf");
    let text = std::fs::read_to_string(testkit::golden::root().join("export-cf.export.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let number = |file: &serde_json::Value, name: &str| file[name].as_u64().unwrap();
    let files = json["files"].as_array().unwrap().iter().map(|file| ExportedFile {
        name: file["name"].as_str().unwrap().to_string(),
        directory: golden.clone(),
        level: ironstone::Level::from_index(number(file, "level") as usize),
        size: number(file, "size"),
        smallest_sequence: SequenceNumber::new(number(file, "smallest_seqno")),
        largest_sequence: SequenceNumber::new(number(file, "largest_seqno")),
        smallest_key: Vec::new(),
        largest_key: Vec::new(),
        epoch_number: number(file, "epoch_number"),
        temperature: 0,
        smallest: Vec::new(),
        largest: Vec::new(),
    });
    let export = ExportImportFilesMetaData {
        db_comparator_name: json["db_comparator_name"].as_str().unwrap().to_string(),
        files: files.collect(),
    };
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("data"), options()).unwrap();
    let how = ImportColumnFamilyOptions::default();
    let family = db.create_family_with_import(named("imported"), &how, &[&export]).unwrap();
    let rows = rows(&family);
    let expect = testkit::golden::load("export-cf");
    let expect: Vec<_> =
        expect.rows_of("imported").iter().map(|row| (row.key.clone(), row.value.clone())).collect();
    assert!(rows.len() > 100 && rows == expect, "{} rows, {} expected", rows.len(), expect.len());
}

#[test]
fn a_clip_leaves_the_range_and_no_older_entry_comes_back() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("data"), options()).unwrap();
    fill(&db, 0, 200);
    let key = |i: u32| i.to_be_bytes().to_vec();
    let expect: Vec<_> = rows(&db).into_iter().filter(|(k, _)| (key(50)..key(120)).contains(k)).collect();
    db.clip(&key(50), &key(120)).unwrap();
    assert_eq!(rows(&db), expect);
    db.close().unwrap();
    let again = Db::open(scratch.path().join("data"), options()).unwrap();
    assert_eq!(rows(&again), expect);
    assert_eq!(again.clip(b"b", b"a").unwrap_err().kind(), Kind::InvalidArgument);
    again.clip(&key(500), &key(600)).unwrap();
    assert!(rows(&again).is_empty());
    again.clip(b"a", b"b").unwrap();
}

/// Moves the SST file of each flush to level 1, as a concurrent compaction can do.
#[derive(Default)]
struct Mover {
    family: Mutex<Option<Family>>,
    moved: Mutex<u64>,
}

impl Listener for Mover {
    fn on_event(&self, event: &Event) {
        if let Event::FlushFinished(flush) = event
            && let (Some(file), Some(family)) = (flush.file, self.family.lock().unwrap().clone())
        {
            let options = CompactionOptions { allow_trivial_move: true, ..CompactionOptions::default() };
            let moving = std::thread::spawn(move || {
                family.compact_files(&[file], ironstone::Level::new(1), None, &options).unwrap()
            });
            moving.join().unwrap();
            *self.moved.lock().unwrap() += 1;
        }
    }
}

#[test]
fn clip_keeps_its_deletions_if_a_compaction_moves_them() {
    let mover = Arc::new(Mover::default());
    let mut options = Options::in_memory();
    options.update("disable_auto_compactions=true;level_compaction_dynamic_level_bytes=false").unwrap();
    options.listeners.push(mover.clone());
    let db = Db::open("data", options).unwrap();
    for key in b'a'..=b'z' {
        db.put(&[key], b"1").unwrap();
    }
    db.flush().unwrap();
    let file = db.live_files()[0].number;
    db.compact_files(&[file], ironstone::Level::new(2), None, &CompactionOptions::default()).unwrap();
    *mover.family.lock().unwrap() = Some((*db).clone());
    db.clip(b"a", b"m").unwrap();
    *mover.family.lock().unwrap() = None;
    let keys: Vec<u8> = rows(&db).into_iter().flat_map(|(key, _)| key).collect();
    assert_eq!((*mover.moved.lock().unwrap(), keys), (1, (b'a'..b'm').collect()));
}
