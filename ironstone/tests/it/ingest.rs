//! Ingestion of external SST files.

use std::path::{Path, PathBuf};

use base::SequenceNumber;
use ironstone::{
    CompactRangeOptions, Db, Event, Family, FamilyDescriptor, FileIngestionHandle, IngestExternalFileArg,
    IngestExternalFileOptions, Kind, Listener, Options, ReplaceRange, SstFileWriter,
};

mod families;
mod formats;
mod infos;

fn options() -> Options {
    let mut options = Options::default();
    options.update("create_if_missing=true;compression=kNoCompression;merge_operator=stringappend").unwrap();
    options
}

fn how() -> IngestExternalFileOptions {
    IngestExternalFileOptions::default()
}

/// Writes a file of `keys`, each with `value`.
fn file(dir: &Path, name: &str, keys: &[&str], value: &str) -> PathBuf {
    let (path, options) = (dir.join(name), options());
    let mut file = SstFileWriter::create(&path, &options.db, &options.family).unwrap();
    for key in keys {
        file.put(key.as_bytes(), value.as_bytes()).unwrap();
    }
    file.finish().unwrap();
    path
}

/// A directory with a database and the files that the database ingests.
struct IngestDirectory {
    scratch: tempfile::TempDir,
    db: Db,
}

impl IngestDirectory {
    fn with(text: &str) -> IngestDirectory {
        let scratch = tempfile::tempdir().unwrap();
        let mut options = options();
        options.update(text).unwrap();
        let db = Db::open(scratch.path().join("data"), options).unwrap();
        IngestDirectory { scratch, db }
    }

    fn new() -> IngestDirectory {
        IngestDirectory::with("")
    }

    fn dir(&self) -> &Path {
        self.scratch.path()
    }

    fn file(&self, name: &str, keys: &[&str], value: &str) -> PathBuf {
        file(self.dir(), name, keys, value)
    }

    fn get(&self, key: &str) -> Option<String> {
        let value = self.db.get(key.as_bytes()).unwrap()?;
        Some(String::from_utf8(value.to_vec()).unwrap())
    }

    fn levels(&self) -> Vec<usize> {
        self.db.live_files().iter().map(|file| file.level.index()).collect()
    }

    /// Counts the names in the directory of the database that end with `end`.
    fn names(&self, end: &str) -> usize {
        let names = std::fs::read_dir(self.dir().join("data")).unwrap();
        names.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().ends_with(end)).count()
    }
}

#[test]
fn a_file_without_overlap_is_ingested_to_the_last_level_with_sequence_number_zero() {
    let w = IngestDirectory::new();
    w.db.put(b"z", b"old").unwrap();
    let before = w.db.latest_sequence();
    w.db.ingest_external_files([w.file("a.sst", &["a", "b"], "new")], &how()).unwrap();
    assert_eq!((w.levels(), w.db.latest_sequence()), (vec![6], before));
    assert_eq!((w.get("a"), w.get("z")), (Some("new".into()), Some("old".into())));
}

#[test]
fn an_ingested_entry_is_newer_than_every_entry_before() {
    let w = IngestDirectory::new();
    for key in ["a", "m", "z"] {
        w.db.put(key.as_bytes(), b"old").unwrap();
    }
    w.db.flush().unwrap();
    w.db.put(b"b", b"in the memtable").unwrap();
    let path = w.file("a.sst", &["a", "b", "c"], "new");
    let snapshot = w.db.snapshot();
    w.db.ingest_external_files([path], &how()).unwrap();
    assert_eq!(snapshot.get(b"a").unwrap().as_deref(), Some(&b"old"[..]));
    assert_eq!(snapshot.get(b"c").unwrap().as_deref(), None);
    drop(snapshot);
    for round in 0..2 {
        for key in ["a", "b", "c"] {
            assert_eq!(w.get(key).as_deref(), Some("new"), "{key} in round {round}");
        }
        assert_eq!(w.get("m").as_deref(), Some("old"));
        w.db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    }
    w.db.put(b"a", b"newest").unwrap();
    w.db.close().unwrap();
    let again = Db::open(w.dir().join("data"), options()).unwrap();
    assert_eq!(again.get(b"a").unwrap().as_deref(), Some(&b"newest"[..]));
    assert_eq!(again.get(b"b").unwrap().as_deref(), Some(&b"new"[..]));
}

#[test]
fn files_that_overlap_each_other_win_in_their_order() {
    let w = IngestDirectory::new();
    let files = [
        w.file("1.sst", &["a", "c"], "1"),
        w.file("2.sst", &["b", "d"], "2"),
        w.file("3.sst", &["c", "x"], "3"),
        w.file("4.sst", &["y", "z"], "4"),
    ];
    w.db.ingest_external_files(files, &how()).unwrap();
    let found: Vec<_> = ["a", "b", "c", "d", "x", "z"].iter().map(|key| w.get(key).unwrap()).collect();
    assert_eq!(found, ["1", "2", "3", "2", "3", "4"]);
    w.db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    assert_eq!(w.get("c").as_deref(), Some("3"));
}

#[test]
fn tombstones_and_operands_of_a_file_act_on_older_entries() {
    let w = IngestDirectory::new();
    for key in ["a", "b", "m", "n", "o"] {
        w.db.put(key.as_bytes(), b"old").unwrap();
    }
    let (path, options) = (w.dir().join("t.sst"), options());
    let mut file = SstFileWriter::create(&path, &options.db, &options.family).unwrap();
    file.delete(b"a").unwrap();
    file.merge(b"b", b"more").unwrap();
    file.delete_range(b"m", b"o").unwrap();
    let info = file.finish().unwrap();
    assert_eq!((info.num_entries, info.num_range_del_entries), (2, 1));
    w.db.ingest_external_files([path], &how()).unwrap();
    let rows: Vec<_> = w.db.range::<[u8], _>(..).map(|row| row.unwrap()).collect();
    let rows: Vec<_> =
        rows.iter().map(|(k, v)| format!("{}={}", k.escape_ascii(), v.escape_ascii())).collect();
    assert_eq!(rows, ["b=old,more", "o=old"]);
}

#[test]
fn files_are_copied_linked_or_moved() {
    let w = IngestDirectory::new();
    let linked = IngestExternalFileOptions { link_files: true, ..how() };
    let moved = IngestExternalFileOptions { move_files: true, ..how() };
    for (name, how, stays) in [("a", how(), true), ("b", linked, true), ("c", moved, false)] {
        let path = w.file(name, &[name], "v");
        w.db.ingest_external_files([&path], &how).unwrap();
        assert_eq!(path.exists(), stays, "{name}");
        assert_eq!(w.get(name).as_deref(), Some("v"));
    }
    let both = IngestExternalFileOptions { move_files: true, link_files: true, ..how() };
    let error = w.db.ingest_external_files([w.file("d", &["d"], "v")], &both).unwrap_err();
    assert_eq!(error.kind(), Kind::InvalidArgument);
}

#[test]
fn a_flush_or_a_sequence_number_that_is_forbidden_fails_the_ingestion() {
    let w = IngestDirectory::new();
    w.db.put(b"a", b"old").unwrap();
    let path = w.file("a.sst", &["a"], "new");
    let no_flush = IngestExternalFileOptions { allow_blocking_flush: false, ..how() };
    let error = w.db.ingest_external_files([&path], &no_flush).unwrap_err();
    assert!(error.to_string().contains("requires flush"), "{error}");
    let no_seqno = IngestExternalFileOptions { allow_global_seqno: false, ..how() };
    let error = w.db.ingest_external_files([&path], &no_seqno).unwrap_err();
    assert!(error.to_string().contains("Global seqno is required, but disabled"), "{error}");
    let bottommost = IngestExternalFileOptions { fail_if_not_bottommost_level: true, ..how() };
    let error = w.db.ingest_external_files([&path], &bottommost).unwrap_err();
    assert_eq!(error.kind(), Kind::TryAgain);
    assert_eq!((w.get("a").as_deref(), w.names(".sst")), (Some("old"), 1));
}

#[test]
fn a_snapshot_does_not_see_a_file_unless_snapshot_consistency_is_off() {
    let w = IngestDirectory::new();
    w.db.put(b"z", b"").unwrap();
    let snapshot = w.db.snapshot();
    w.db.ingest_external_files([w.file("a.sst", &["a"], "1")], &how()).unwrap();
    assert_eq!(snapshot.get(b"a").unwrap().as_deref(), None);
    let loose = IngestExternalFileOptions { snapshot_consistency: false, ..how() };
    w.db.ingest_external_files([w.file("b.sst", &["b"], "1")], &loose).unwrap();
    assert_eq!(snapshot.get(b"b").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn a_file_ingested_behind_is_older_than_all_entries() {
    for text in ["allow_ingest_behind=true", "cf_allow_ingest_behind=true"] {
        let w =
            IngestDirectory::with(&format!("{text};num_levels=3;compaction_style=kCompactionStyleUniversal"));
        w.db.put(b"a", b"newer").unwrap();
        w.db.flush().unwrap();
        w.db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
        let behind = IngestExternalFileOptions { ingest_behind: true, ..how() };
        w.db.ingest_external_files([w.file("a.sst", &["a", "b"], "behind")], &behind).unwrap();
        w.db.delete(b"b").unwrap();
        for _ in 0..2 {
            assert_eq!((w.get("a").as_deref(), w.get("b")), (Some("newer"), None), "{text}");
            w.db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
        }
        assert!(w.levels().contains(&2));
        let error = w.db.ingest_external_files([w.file("b.sst", &["a"], "x")], &behind).unwrap_err();
        assert!(error.to_string().contains("doesn't fit"), "{error}");
    }
    let w = IngestDirectory::new();
    let behind = IngestExternalFileOptions { ingest_behind: true, ..how() };
    let error = w.db.ingest_external_files([w.file("a.sst", &["a"], "x")], &behind).unwrap_err();
    assert!(error.to_string().contains("allow_ingest_behind=false"), "{error}");
}

#[test]
fn a_file_ingested_behind_is_the_oldest_file_of_the_only_level() {
    let w = IngestDirectory::with(
        "allow_ingest_behind=true;num_levels=1;compaction_style=kCompactionStyleFIFO;max_open_files=-1",
    );
    w.db.put(b"a", b"newer").unwrap();
    w.db.flush().unwrap();
    let behind = IngestExternalFileOptions { ingest_behind: true, ..how() };
    w.db.ingest_external_files([w.file("a.sst", &["a", "b"], "behind")], &behind).unwrap();
    w.db.ingest_external_files([w.file("c.sst", &["c"], "behind")], &behind).unwrap();
    let all = || ["a", "b", "c"].map(|key| w.get(key).unwrap_or_default());
    assert_eq!(all(), ["newer", "behind", "behind"]);
    let error = w.db.ingest_external_files([w.file("b.sst", &["b"], "x")], &behind).unwrap_err();
    assert!(error.to_string().contains("doesn't fit"), "{error}");
    w.db.put(b"b", b"newest").unwrap();
    w.db.flush().unwrap();
    assert_eq!(all(), ["newer", "newest", "behind"]);
    assert_eq!(w.levels(), [0; 4]);
    w.db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    assert_eq!(all(), ["newer", "newest", "behind"]);
}

#[test]
fn files_of_a_database_keep_their_sequence_numbers() {
    let (from, to) = (IngestDirectory::new(), IngestDirectory::new());
    for round in 0..3 {
        from.db.put(b"k", format!("{round}").as_bytes()).unwrap();
        from.db.delete(b"gone").unwrap();
    }
    from.db.flush().unwrap();
    let number = from.db.live_files()[0].number;
    let path = from.dir().join(format!("data/{:06}.sst", number.get()));
    let error = to.db.ingest_external_files([&path], &how()).unwrap_err();
    assert!(error.to_string().contains("allow_db_generated_files"), "{error}");
    let generated = IngestExternalFileOptions { allow_db_generated_files: true, ..how() };
    to.db.ingest_external_files([&path], &generated).unwrap();
    assert_eq!(to.get("k").as_deref(), Some("2"));
    assert!(to.db.latest_sequence() >= SequenceNumber::new(5));
    let error = to.db.ingest_external_files([&path], &generated).unwrap_err();
    assert_eq!(error.kind(), Kind::InvalidArgument);
}

#[test]
fn an_ingestion_rejects_files_of_a_database_with_references_to_blob_files() {
    let with_blobs = "enable_blob_files=true;min_blob_size=100";
    let generated = IngestExternalFileOptions { allow_db_generated_files: true, ..how() };
    let linked = IngestExternalFileOptions { link_files: true, ..generated.clone() };
    // A file that is only linked is read completely if the database has blob files of its own.
    for (large, target, how) in
        [("b", "", &generated), ("a", "", &linked), ("c", "", &linked), ("b", with_blobs, &linked)]
    {
        let (from, to) = (IngestDirectory::with(with_blobs), IngestDirectory::with(target));
        for key in ["a", "b", "c"] {
            from.db.put(key.as_bytes(), &vec![b'v'; if key == large { 200 } else { 10 }]).unwrap();
        }
        from.db.flush().unwrap();
        to.db.put(b"own", &[b'o'; 200]).unwrap();
        to.db.flush().unwrap();
        let number = from.db.live_files()[0].number;
        let path = from.dir().join(format!("data/{:06}.sst", number.get()));
        let error = to.db.ingest_external_files([&path], how).unwrap_err();
        assert_eq!(error.kind(), Kind::NotSupported, "{large} {target}: {error}");
        assert_eq!((to.get("a"), to.get("own").map(|value| value.len())), (None, Some(200)));
    }
}

#[test]
fn an_atomic_replace_leaves_only_the_files() {
    let w = IngestDirectory::new();
    for (key, value) in [("a", "1"), ("b", "1"), ("x", "1")] {
        w.db.put(key.as_bytes(), value.as_bytes()).unwrap();
        w.db.flush().unwrap();
    }
    let loose = IngestExternalFileOptions { snapshot_consistency: false, ..how() };
    let replace = |files: Vec<PathBuf>, range| IngestExternalFileArg {
        atomic_replace_range: Some(range),
        ..IngestExternalFileArg::new(&w.db, files, &loose)
    };
    let range = ReplaceRange::Keys { start: b"a".to_vec(), end: b"c".to_vec() };
    w.db.ingest_external_files_with(vec![replace(vec![w.file("r.sst", &["b"], "2")], range.clone())])
        .unwrap();
    assert_eq!((w.get("a"), w.get("b").as_deref(), w.get("x").as_deref()), (None, Some("2"), Some("1")));
    let error =
        w.db.ingest_external_files_with(vec![replace(vec![w.file("s.sst", &["d"], "2")], range)])
            .unwrap_err();
    assert!(error.to_string().contains("does not contain all files"), "{error}");
    w.db.put(b"memtable", b"1").unwrap();
    let all = replace(vec![w.file("t.sst", &["q"], "3")], ReplaceRange::All);
    w.db.ingest_external_files_with(vec![all]).unwrap();
    assert_eq!(w.db.range::<[u8], _>(..).count(), 1);
}

#[test]
fn a_written_sequence_number_is_in_the_file_and_the_original_is_unchanged() {
    let w = IngestDirectory::with("file_checksum_gen_factory=FileChecksumGenCrc32cFactory");
    w.db.put(b"a", b"old").unwrap();
    let path = w.file("a.sst", &["a"], "new");
    let original = std::fs::read(&path).unwrap();
    let write = IngestExternalFileOptions { write_global_seqno: true, link_files: true, ..how() };
    w.db.ingest_external_files([&path], &write).unwrap();
    assert_eq!(w.get("a").as_deref(), Some("new"));
    assert_eq!(std::fs::read(&path).unwrap(), original);
    w.db.verify_file_checksums().unwrap();
    w.db.verify_checksum().unwrap();
}

#[test]
fn damaged_foreign_and_incomplete_files_are_rejected_by_name() {
    let w = IngestDirectory::new();
    let whole = w.file("whole.sst", &["a", "b"], "value");
    let bytes = std::fs::read(&whole).unwrap();
    let bad = |name: &str, content: &[u8]| {
        let path = w.dir().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let mut flipped = bytes.clone();
    flipped[10] ^= 1;
    let mut newer = bytes.clone();
    let at = newer.len() - 12;
    newer[at] = 99;
    let cases = [
        bad("empty.sst", b""),
        bad("short.sst", &bytes[..bytes.len() - 7]),
        bad(
            "text.sst",
            b"this is no table, but a text that is long enough to have a footer in the place of one",
        ),
        bad("newer.sst", &newer),
        bad("flipped.sst", &flipped),
        w.dir().join("missing.sst"),
    ];
    let verify = IngestExternalFileOptions { verify_checksums_before_ingest: true, ..how() };
    for path in cases {
        let error = w.db.ingest_external_files([&path], &verify).unwrap_err();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(error.to_string().contains(&name), "{name}: {error}");
    }
    let mut reversed = options();
    reversed.update("comparator=rocksdb.ReverseBytewiseComparator").unwrap();
    let path = w.dir().join("reversed.sst");
    let mut file = SstFileWriter::create(&path, &reversed.db, &reversed.family).unwrap();
    file.put(b"a", b"").unwrap();
    file.finish().unwrap();
    let error = w.db.ingest_external_files([&path], &how()).unwrap_err();
    assert!(error.to_string().contains("comparator"), "{error}");
    assert_eq!((w.names(".sst"), w.db.live_files().len()), (0, 0));
    let none: [&Path; 0] = [];
    assert!(w.db.ingest_external_files(none, &how()).is_err());
}

#[test]
fn checksums_that_the_caller_gives_are_compared() {
    let w = IngestDirectory::with("file_checksum_gen_factory=FileChecksumGenCrc32cFactory");
    let arg = IngestExternalFileArg::new(&w.db, [w.file("a.sst", &["a"], "v")], &how());
    let wrong = IngestExternalFileArg {
        checksums: vec![(vec![1, 2, 3, 4], "FileChecksumCrc32c".to_string())],
        ..arg.clone()
    };
    let error = w.db.ingest_external_files_with(vec![wrong]).unwrap_err();
    assert_eq!(error.kind(), Kind::Corruption);
    let unknown = IngestExternalFileArg { checksums: vec![(Vec::new(), "MD5".to_string())], ..arg.clone() };
    assert_eq!(w.db.ingest_external_files_with(vec![unknown]).unwrap_err().kind(), Kind::InvalidArgument);
    w.db.ingest_external_files_with(vec![arg]).unwrap();
    w.db.verify_file_checksums().unwrap();
}

#[test]
fn listeners_hear_of_each_file() {
    #[derive(Default)]
    struct Heard(std::sync::Mutex<Vec<(String, usize, u64)>>);
    impl Listener for Heard {
        fn on_event(&self, event: &Event) {
            if let Event::ExternalFileIngested(e) = event {
                let name = e.external_file_path.file_name().unwrap().to_string_lossy().into_owned();
                self.0.lock().unwrap().push((name, e.level.index(), e.global_seqno.get()));
            }
        }
    }
    let heard = std::sync::Arc::new(Heard::default());
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options();
    options.listeners.push(heard.clone());
    let db = Db::open(scratch.path().join("data"), options).unwrap();
    db.put(b"b", b"").unwrap();
    let files = [file(scratch.path(), "a.sst", &["a"], "1"), file(scratch.path(), "b.sst", &["b"], "1")];
    db.ingest_external_files(files, &how()).unwrap();
    let heard = heard.0.lock().unwrap().clone();
    assert_eq!(heard.len(), 2);
    assert_eq!((&*heard[0].0, heard[0].1, heard[0].2), ("a.sst", 6, 0));
    assert_eq!((&*heard[1].0, heard[1].2), ("b.sst", 2));
    assert!(db.property("rocksdb.cfstats").unwrap().contains("AddFile(Total Files): cumulative 2"));
}

#[test]
fn writers_continue_while_files_are_ingested_into_their_range() {
    let w = IngestDirectory::with("write_buffer_size=65536");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (db, stop) = (&w.db, &stop);
        scope.spawn(move || {
            let mut n = 0u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                db.put(format!("k{:03}", n % 100).as_bytes(), &n.to_be_bytes()).unwrap();
                n += 1;
            }
        });
        for round in 0..10 {
            let name = format!("{round}.sst");
            let path = w.file(&name, &["k000", "k050", "marker"], &format!("round {round}"));
            w.db.ingest_external_files([path], &how()).unwrap();
            assert_eq!(w.get("marker").unwrap(), format!("round {round}"));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    w.db.close().unwrap();
    let again = Db::open(w.dir().join("data"), options()).unwrap();
    assert_eq!(again.get(b"marker").unwrap().as_deref(), Some(&b"round 9"[..]));
}

#[test]
fn external_files_are_opened_by_the_threads_that_the_option_names() {
    use ironstone::env::{Env, Threads};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let started = Arc::new(AtomicUsize::new(0));
    let count = started.clone();
    let executor = Threads::asking(Arc::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }));
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options();
    options.db.env = Env { executor: Arc::new(executor), ..Env::posix() };
    let db = Db::open(scratch.path().join("data"), options).unwrap();
    let mut starts = Vec::new();
    for (round, threads) in [1, 1, 4, -1].into_iter().enumerate() {
        let name = |n: usize| format!("{round}-{n}.sst");
        let key = |n: usize| format!("key {round} {n}");
        let mut files: Vec<_> =
            (0..8).map(|n| file(scratch.path(), &name(n), &[&key(n)], &format!("{n}"))).collect();
        let how = IngestExternalFileOptions { file_opening_threads: threads, ..how() };
        // The error names the first file that does not open, and no file is ingested.
        for n in [2, 5] {
            std::fs::write(scratch.path().join("bad"), b"no SST file").unwrap();
            std::fs::rename(scratch.path().join("bad"), scratch.path().join(format!("bad {n}"))).unwrap();
        }
        let good = files.clone();
        files[5] = scratch.path().join("bad 5");
        files[2] = scratch.path().join("bad 2");
        let error = db.ingest_external_files(&files, &how).unwrap_err().to_string();
        assert!(error.contains("bad 2"), "{error}");
        assert_eq!(db.get(key(0).as_bytes()).unwrap(), None);
        let before = started.load(Ordering::SeqCst);
        db.ingest_external_files(&good, &how).unwrap();
        starts.push(started.load(Ordering::SeqCst) - before);
        for n in 0..8 {
            assert_eq!(db.get(key(n).as_bytes()).unwrap().as_deref(), Some(format!("{n}").as_bytes()));
        }
    }
    // The caller is one of the threads. The first round may start the thread of a background job.
    assert_eq!(starts[1..], [0, 3, 0]);
}

#[test]
fn a_file_takes_entities_by_columns_and_timestamps_of_the_right_length() {
    let scratch = tempfile::tempdir().unwrap();
    let mut plain = options();
    let path = scratch.path().join("plain.sst");
    let mut file = SstFileWriter::create(&path, &plain.db, &plain.family).unwrap();
    let twice = file.put_entity(b"a", &[(b"x", b"1"), (b"x", b"2")]).unwrap_err();
    assert_eq!(twice.kind(), Kind::Corruption);
    file.put_entity(b"a", &[(b"y", b"2"), (b"x", b"1")]).unwrap();
    let stamp = 7u64.to_le_bytes();
    assert_eq!(file.put_with_ts(b"b", &stamp, b"1").unwrap_err().kind(), Kind::InvalidArgument);
    file.finish().unwrap();
    let db = Db::open(scratch.path().join("plain"), plain.clone()).unwrap();
    db.ingest_external_files([&path], &how()).unwrap();
    let columns = db.get_entity(b"a").unwrap().unwrap();
    assert_eq!(columns.iter().collect::<Vec<_>>(), [(&b"x"[..], &b"1"[..]), (&b"y"[..], &b"2"[..])]);

    plain.update("comparator=leveldb.BytewiseComparator.u64ts").unwrap();
    let path = scratch.path().join("stamped.sst");
    let mut file = SstFileWriter::create(&path, &plain.db, &plain.family).unwrap();
    for refused in [
        file.put(b"a", b"1"),
        file.merge(b"a", b"1"),
        file.delete(b"a"),
        file.put_entity(b"a", &[]),
        file.delete_range(b"a", b"b"),
        file.put_with_ts(b"a", b"short", b"1"),
        file.delete_range_with_ts(b"a", b"b", b""),
    ] {
        assert!(refused.unwrap_err().to_string().contains("Timestamp size mismatch"));
    }
    file.put_with_ts(b"k", &stamp, b"1").unwrap();
    file.delete_range_with_ts(b"a", b"c", &stamp).unwrap();
    let info = file.finish().unwrap();
    assert_eq!(info.smallest_range_del_key, [b"a", &stamp[..]].concat());
    assert_eq!(info.largest_range_del_key, [b"c", &stamp[..]].concat());
    let db = Db::open(scratch.path().join("stamped"), plain).unwrap();
    db.ingest_external_files([&path], &how()).unwrap();
    let at = |time: u64| ironstone::ReadOptions {
        timestamp: Some(time.to_le_bytes().to_vec()),
        ..ironstone::ReadOptions::default()
    };
    assert_eq!(db.get_with(b"k", &at(9)).unwrap().as_deref(), Some(&b"1"[..]));
    assert!(db.get_with(b"k", &at(6)).unwrap().is_none());

    // A flush does not help such a column family, so the error does not ask for a flush.
    db.put_with_ts(b"k", &stamp, b"2", &ironstone::WriteOptions::default()).unwrap();
    let without_flush = IngestExternalFileOptions { allow_blocking_flush: false, ..how() };
    for how in [how(), without_flush] {
        let error = db.ingest_external_files([&path], &how).unwrap_err().to_string();
        assert!(error.contains("does not overlap with key range in the memtables"), "{error}");
    }
}

#[test]
fn options_are_checked_before_files_are_read() {
    let w = IngestDirectory::with("allow_ingest_behind=true");
    let mut stamped = options();
    stamped.update("comparator=leveldb.BytewiseComparator.u64ts;merge_operator=nullptr").unwrap();
    let stamped = w.db.create_family(FamilyDescriptor::new("stamped", stamped.family)).unwrap();
    let arg = |family: &Family, how: &IngestExternalFileOptions| {
        IngestExternalFileArg::new(family, ["no such file"], how)
    };
    let behind = IngestExternalFileOptions { ingest_behind: true, ..how() };
    let uncached = IngestExternalFileOptions { fill_cache: false, ..how() };
    let none = IngestExternalFileArg::new(&stamped, Vec::<PathBuf>::new(), &how());
    for (args, kind, words) in [
        (vec![arg(&w.db, &how()), none], Kind::InvalidArgument, "external_files[1] is empty"),
        (vec![arg(&stamped, &behind)], Kind::NotSupported, "doesn't support ingest behind"),
        (vec![arg(&w.db, &how()), arg(&stamped, &uncached)], Kind::InvalidArgument, "fill_cache should be"),
    ] {
        let error = w.db.ingest_external_files_with(args).unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains(words)), (kind, true), "{error}");
    }
}

/// The sequence number of an ingestion is in no WAL, so the next WAL begins after a missing sequence number. If the
/// older WAL is a reused file, it ends at an old record, and only the marks of the next WAL show that it is whole.
#[test]
fn a_write_after_an_ingestion_survives_the_end_of_the_process_if_the_older_wal_is_a_reused_file() {
    let w = IngestDirectory::with("recycle_log_file_num=1;write_buffer_size=65536;max_write_buffer_number=4");
    for _ in 0..4 {
        w.db.put(b"k", &[b'x'; 200_000]).unwrap();
        w.db.flush().unwrap();
    }
    // The memtable is full, so the next write switches to another WAL.
    w.db.put(b"full", &[b'f'; 70_000]).unwrap();
    let before = w.db.latest_sequence();
    w.db.ingest_external_files([w.file("k.sst", &["k"], "ingested")], &how()).unwrap();
    assert_eq!(w.db.latest_sequence(), before + 1, "the file has a sequence number of its own");
    w.db.pause_background_work().unwrap();
    w.db.put(b"after", b"1").unwrap();
    // The state of the files at the end of a process.
    let copy = w.dir().join("copy");
    testkit::golden::copy_dir(&w.dir().join("data"), &copy);
    w.db.continue_background_work().unwrap();
    let db = Db::open(&copy, options()).unwrap();
    assert_eq!(db.get(b"after").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"ingested"[..]));
}
