//! Reads one SST file without its database.

use std::path::Path;

use ironstone::{
    CompressionType, Db, Kind, Options, ReadOptions, ReadTier, SstFileReader, SstFileWriter, TableFactory,
    ValueType, WriteOptions,
};

fn table_of(db: &Db) -> std::path::PathBuf {
    let files = db.live_files();
    assert_eq!(files.len(), 1);
    files[0].path.clone()
}

/// Entries of all kinds in one SST file: old entries under a snapshot, a merge, a deletion, an entity, a range deletion.
fn mixed(options: &Options) -> Db {
    let db = Db::open("data", options.clone()).unwrap();
    db.put(b"a", b"old").unwrap();
    db.put(b"d", b"gone").unwrap();
    db.put(b"m", b"1").unwrap();
    db.merge(b"m", b"2").unwrap();
    db.merge(b"only", b"9").unwrap();
    let snapshot = db.snapshot();
    db.put(b"a", b"new").unwrap();
    db.delete(b"d").unwrap();
    db.put_entity(b"w", &[(b"", b"default"), (b"c", b"1")]).unwrap();
    let before_range = db.snapshot();
    db.delete_range(b"w", b"x").unwrap();
    db.flush().unwrap();
    drop((snapshot, before_range));
    db
}

#[test]
fn a_file_without_entries_stays_and_takes_entries_after_a_finish_that_failed() {
    let scratch = tempfile::tempdir().unwrap();
    let (path, options) = (scratch.path().join("1.sst"), Options::default());
    let create = || SstFileWriter::create(&path, &options.db, &options.family).unwrap();
    drop(create());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    assert_eq!(SstFileReader::open(&path, &options).map(drop).unwrap_err().kind(), Kind::Corruption);

    let (old, mut new) = (create(), create());
    drop(old);
    assert!(path.exists(), "the end of the old writer leaves the file of the new writer");
    let error = new.finish().unwrap_err();
    assert_eq!(error.message(), "Cannot create sst file with no entries");
    new.put(b"a", b"1").unwrap();
    assert_eq!(new.finish().unwrap().num_entries, 1);
    assert_eq!(new.put(b"b", b"1").unwrap_err().message(), "File is not opened");
    assert!(SstFileReader::open(&path, &options).unwrap().get(b"a").unwrap().is_some());
}

fn options(text: &str) -> Options {
    let mut options = Options::in_memory();
    options.update("merge_operator=stringappend;disable_auto_compactions=true").unwrap();
    options.update(text).unwrap();
    options
}

#[test]
fn a_file_of_a_database_shows_its_newest_entries_and_ignores_its_range_tombstones() {
    let options = options("");
    let db = mixed(&options);
    let reader = SstFileReader::open(table_of(&db), &options).unwrap();
    let get = |key: &[u8]| reader.get(key).map(|value| value.map(|v| v.to_vec()));
    assert_eq!(get(b"a").unwrap().unwrap(), b"new");
    assert_eq!(get(b"d").unwrap(), None);
    assert_eq!(get(b"m").unwrap().unwrap(), b"1,2");
    assert_eq!(get(b"w").unwrap().unwrap(), b"default");
    assert_eq!(get(b"only").unwrap_err().kind(), Kind::MergeInProgress);
    let found = reader.multi_get(&[b"w", b"zz", b"a"], &ReadOptions::default());
    let found: Vec<_> = found.into_iter().map(|v| v.unwrap().map(|v| v.to_vec())).collect();
    assert_eq!(found, [Some(b"default".to_vec()), None, Some(b"new".to_vec())]);

    let mut iter = reader.iter(ReadOptions::default()).unwrap();
    let mut forward = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        forward.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    let mut backward = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        backward.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    backward.reverse();
    assert_eq!(forward, backward);
    let rows: Vec<_> = forward.iter().map(|(k, v)| (k.as_slice(), v.as_slice())).collect();
    let wanted: [(&[u8], &[u8]); 4] = [(b"a", b"new"), (b"m", b"1,2"), (b"only", b"9"), (b"w", b"default")];
    assert_eq!(rows, wanted);

    let kinds: Vec<_> = reader.entries().map(|e| e.unwrap()).map(|e| (e.user_key, e.value_type)).collect();
    assert_eq!(kinds.iter().filter(|(key, _)| key == b"a").count(), 2);
    assert!(kinds.contains(&(b"d".to_vec(), ValueType::Deletion)));
    assert!(kinds.contains(&(b"w".to_vec(), ValueType::WideColumnEntity)));
    assert_eq!(reader.properties().num_range_deletions, 1);
    reader.verify_num_entries(&ReadOptions::default()).unwrap();
    reader.verify_checksums(&ReadOptions::default()).unwrap();
}

#[test]
fn a_reader_at_a_snapshot_sees_the_older_entries() {
    let options = options("");
    let db = Db::open("data", options.clone()).unwrap();
    db.put(b"a", b"old").unwrap();
    let snapshot = db.snapshot();
    db.put(b"a", b"new").unwrap();
    db.flush().unwrap();
    let reader = SstFileReader::open(table_of(&db), &options).unwrap();
    assert_eq!(reader.get_with(b"a", &snapshot.options()).unwrap().as_deref(), Some(&b"old"[..]));
    let mut iter = reader.iter(snapshot.options()).unwrap();
    iter.seek(b"a");
    assert_eq!(iter.value(), b"old");
}

#[test]
fn timestamps_bound_reads_and_show_history() {
    let options = options("comparator=leveldb.BytewiseComparator.u64ts");
    let db = Db::open("data", options.clone()).unwrap();
    for t in [1u64, 2, 3] {
        db.put_with_ts(b"k", &t.to_le_bytes(), t.to_string().as_bytes(), &WriteOptions::default()).unwrap();
    }
    db.flush().unwrap();
    let reader = SstFileReader::open(table_of(&db), &options).unwrap();
    let at = |t: u64| ReadOptions { timestamp: Some(t.to_le_bytes().to_vec()), ..ReadOptions::default() };
    assert_eq!(reader.get_with(b"k", &at(2)).unwrap().as_deref(), Some(&b"2"[..]));
    assert!(reader.get_with(b"k", &at(0)).unwrap().is_none());
    assert_eq!(reader.get(b"k").unwrap_err().kind(), Kind::InvalidArgument);
    let all = ReadOptions { iter_start_ts: Some(vec![0; 8]), ..at(9) };
    let mut iter = reader.iter(all).unwrap();
    let mut seen = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        seen.push(iter.timestamp().to_vec());
        iter.next();
    }
    assert_eq!(seen, [3u64, 2, 1].map(|t| t.to_le_bytes().to_vec()));
    let stored: Vec<_> = reader.entries().map(|e| e.unwrap().timestamp).collect();
    assert_eq!(seen, stored);
}

#[test]
fn a_value_in_a_blob_file_is_shown_as_its_index_and_fails_a_look_up() {
    let options = options("enable_blob_files=true;min_blob_size=10");
    let db = Db::open("data", options.clone()).unwrap();
    db.put(b"big", &[b'x'; 100]).unwrap();
    db.put(b"small", b"s").unwrap();
    db.flush().unwrap();
    let reader = SstFileReader::open(table_of(&db), &options).unwrap();
    let error = reader.get(b"big").unwrap_err();
    assert_eq!(error.kind(), Kind::Corruption);
    assert_eq!(
        error.message(),
        "the value is in a blob file, but a reader of one SST file reads no blob files"
    );
    assert_eq!(reader.get(b"small").unwrap().as_deref(), Some(&b"s"[..]));
    let mut iter = reader.iter(ReadOptions::default()).unwrap();
    iter.seek_to_first();
    assert_eq!((iter.key(), iter.value_type()), (&b"big"[..], Some(ValueType::BlobIndex)));
    assert_eq!(iter.value(), &*reader.entries().next().unwrap().unwrap().value);
    iter.next();
    assert_eq!((iter.key(), iter.value()), (&b"small"[..], &b"s"[..]));
}

#[test]
fn plain_and_cuckoo_tables_are_read() {
    for factory in ["PlainTable", "CuckooTable"] {
        let options = options(&format!("table_factory={factory}"));
        let db = Db::open("data", options.clone()).unwrap();
        for key in [b"k1", b"k2", b"k3"] {
            db.put(key, b"v").unwrap();
        }
        db.flush().unwrap();
        let mut reading = options.clone();
        reading.family.table_factory = TableFactory::default();
        let reader = SstFileReader::open(table_of(&db), &reading).unwrap();
        assert_eq!(reader.get(b"k2").unwrap().as_deref(), Some(&b"v"[..]), "{factory}");
        let mut iter = reader.iter(ReadOptions::default()).unwrap();
        iter.seek_to_last();
        assert_eq!(iter.key(), b"k3", "{factory}");
        reader.verify_num_entries(&ReadOptions::default()).unwrap();
    }
}

#[test]
fn options_that_need_a_database_are_refused_by_name() {
    let options = options("");
    let db = mixed(&options);
    let reader = SstFileReader::open(table_of(&db), &options).unwrap();
    let default = ReadOptions::default;
    let refused = [
        ("tailing", ReadOptions { tailing: true, ..default() }),
        (
            "auto_refresh_iterator_with_snapshot",
            ReadOptions { auto_refresh_iterator_with_snapshot: true, ..default() },
        ),
        ("read_tier", ReadOptions { read_tier: ReadTier::Memtable, ..default() }),
    ];
    for (name, options) in refused {
        let error = reader.iter(options).err().unwrap();
        assert_eq!(error.kind(), Kind::NotSupported);
        assert!(error.to_string().contains(name), "{error}");
    }
    let cached = ReadOptions { read_tier: ReadTier::BlockCache, ..default() };
    assert_eq!(reader.get_with(b"a", &cached).unwrap_err().kind(), Kind::Incomplete);
}

#[test]
fn a_foreign_comparator_and_a_flipped_byte_are_reported_with_the_file() {
    let mut options = options("");
    options.family.compression = CompressionType::NONE;
    let mut file = SstFileWriter::create("1.sst", &options.db, &options.family).unwrap();
    for i in 0..50u8 {
        file.put(&[b'k', i], &[i; 20]).unwrap();
    }
    file.finish().unwrap();
    let mut other = options.clone();
    other.update("comparator=rocksdb.ReverseBytewiseComparator").unwrap();
    let error = SstFileReader::open("1.sst", &other).err().unwrap();
    assert!(error.kind() == Kind::InvalidArgument && error.to_string().contains("1.sst"), "{error}");

    let fs = &options.db.env.fs;
    let size = fs.file_size(Path::new("1.sst")).unwrap() as usize;
    let mut bytes = vec![0; size];
    let handle = fs.open_random(Path::new("1.sst"), &Default::default()).unwrap();
    assert_eq!(handle.read_at(0, &mut bytes).unwrap(), size);
    let mut found = 0;
    for at in (0..size).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let mut file = fs.create(Path::new("2.sst"), &Default::default()).unwrap();
        file.append(&damaged).unwrap();
        drop(file);
        let verified = SstFileReader::open("2.sst", &options)
            .and_then(|reader| reader.verify_checksums(&ReadOptions::default()));
        if let Err(error) = verified {
            assert!(error.to_string().contains("2.sst"), "{error}");
            found += 1;
        }
        fs.unlink(Path::new("2.sst")).unwrap();
    }
    assert!(found * 10 > size / 7 * 9, "{found} of {}", size / 7);
}

/// The iterator has seen a deletion before the merge operand.
#[test]
fn the_value_type_of_a_merged_value_is_that_of_its_newest_operand() {
    let mut options = Options::in_memory();
    options.update("merge_operator=stringappend").unwrap();
    let mut file = SstFileWriter::create("1.sst", &options.db, &options.family).unwrap();
    file.delete(b"a").unwrap();
    file.merge(b"b", b"1").unwrap();
    file.put(b"c", b"1").unwrap();
    file.finish().unwrap();
    let mut iter = SstFileReader::open("1.sst", &options).unwrap().iter(ReadOptions::default()).unwrap();
    iter.seek_for_prev(b"a");
    assert_eq!(iter.value_type(), None);
    iter.seek_to_first();
    assert_eq!((iter.key(), iter.value_type()), (&b"b"[..], Some(ValueType::Merge)));
    iter.next();
    assert_eq!((iter.key(), iter.value_type()), (&b"c"[..], Some(ValueType::Value)));
}

/// A backward step over a key with many entries seeks the newest entry, and shows its type.
#[test]
fn the_value_type_after_a_backward_step_with_a_seek_is_that_of_the_entry() {
    let mut options = Options::in_memory();
    options.update("merge_operator=stringappend;max_sequential_skip_in_iterations=0").unwrap();
    let mut file = SstFileWriter::create("1.sst", &options.db, &options.family).unwrap();
    file.merge(b"a", b"1").unwrap();
    file.put(b"b", b"1").unwrap();
    file.put_entity(b"c", &[(b"", b"1")]).unwrap();
    file.finish().unwrap();
    let mut iter = SstFileReader::open("1.sst", &options).unwrap().iter(ReadOptions::default()).unwrap();
    for (key, expected) in [
        (b"a", ValueType::Merge),
        (b"b", ValueType::Value),
        (b"c", ValueType::WideColumnEntity),
        (b"b", ValueType::Value),
        (b"a", ValueType::Merge),
    ] {
        iter.seek_for_prev(key);
        assert_eq!((iter.key(), iter.value_type()), (&key[..], Some(expected)));
    }
}
