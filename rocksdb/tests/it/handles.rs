//! Misuse of handles: handles of column families, batches, snapshots and iterators of one database are used with another.

use rocksdb::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{
    Cache, DB, Env, ErrorKind, Options, ReadOptions, SstFileWriter, TransactionDB, WriteBatch,
    WriteBatchIterator, WriteBatchIteratorCf,
};

fn two() -> (tempfile::TempDir, DB, DB) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let open = |name: &str| DB::open_cf(&options, dir.path().join(name), ["users"]).unwrap();
    let (first, second) = (open("first"), open("second"));
    (dir, first, second)
}

#[test]
fn a_column_family_of_another_database_is_refused() {
    let (_dir, first, second) = two();
    let foreign = second.cf_handle("users").unwrap();
    assert_eq!(first.put_cf(foreign, b"k", b"v").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(first.get_cf(foreign, b"k").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(first.multi_get_cf([(foreign, b"k")])[0].is_err());
    assert!(first.flush_cf(foreign).is_err());
    let mut iter = first.raw_iterator_cf(foreign);
    iter.seek_to_first();
    assert!(!iter.valid());
    assert!(iter.status().is_err());
    assert!(second.get_cf(foreign, b"k").unwrap().is_none());
}

#[test]
fn a_column_family_of_another_database_is_refused_in_a_transaction() {
    let (_dir, first, _second) = two();
    let dir = tempfile::tempdir().unwrap();
    let db: TransactionDB<rocksdb::SingleThreaded> = TransactionDB::open_default(dir.path()).unwrap();
    let txn = db.transaction();
    let foreign = first.cf_handle("users").unwrap();
    assert_eq!(txn.put_cf(foreign, b"k", b"v").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(txn.get_for_update_cf(foreign, b"k", true).is_err());
}

#[test]
fn a_name_with_nul_inside_is_no_column_family() {
    let (dir, mut first, _second) = two();
    let text =
        "Failed to convert path to CString when creating cf: nul byte found in provided data at position: 1";
    assert_eq!(first.create_cf("a\0b", &Options::default()).unwrap_err().into_string(), text);
    assert!(DB::open_cf(&Options::default(), dir.path().join("second"), ["a\0b"]).is_err());
}

#[test]
fn a_directory_that_cannot_be_created_has_the_text_of_the_crate_rocksdb() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let below = file.join("db");
    let cause = std::fs::create_dir_all(&below).unwrap_err();
    let text = format!("Failed to create RocksDB directory: `{cause:?}`.");
    assert_eq!(DB::open_default(&below).unwrap_err().into_string(), text);
    assert_eq!(
        TransactionDB::<rocksdb::SingleThreaded>::open_default(&below).err().unwrap().into_string(),
        text
    );
}

#[test]
fn a_path_with_nul_inside_has_the_text_of_the_crate_rocksdb() {
    let (_dir, db, _second) = two();
    let (options, restore) = (Options::default(), RestoreOptions::default());
    let backups = BackupEngineOptions::new(db.path().with_file_name("backups")).unwrap();
    let mut engine = BackupEngine::open(&backups, &Env::new().unwrap()).unwrap();
    let writer = SstFileWriter::create(&options);
    let nul = "a\0b";
    let failures = [
        DB::open_default(nul).err(),
        DB::open_as_secondary(&options, db.path(), nul.as_ref()).err(),
        DB::list_cf(&options, nul).err(),
        DB::destroy(&options, nul).err(),
        DB::repair(&options, nul).err(),
        db.ingest_external_file(vec![nul]).err(),
        Checkpoint::new(&db).unwrap().create_checkpoint(nul).err(),
        BackupEngineOptions::new(nul).err(),
        engine.restore_from_latest_backup(nul, nul, &restore).err(),
        engine.restore_from_backup(nul, nul, &restore, 1).err(),
        writer.open(nul).err(),
        Options::load_latest(nul, Env::new().unwrap(), true, Cache::new_lru_cache(0)).err(),
    ];
    for failure in failures {
        let text = "Failed to convert path to CString: nul byte found in provided data at position: 1";
        assert_eq!(failure.unwrap().into_string(), text);
    }
}

#[test]
fn an_option_with_nul_inside_has_the_text_of_the_crate_rocksdb() {
    let (_dir, db, _second) = two();
    let at = "nul byte found in provided data at position: 1";
    let set = |name, value| db.set_options(&[(name, value)]).unwrap_err().into_string();
    assert_eq!(set("a\0b", "1"), format!("Invalid option name `{at}`"));
    assert_eq!(set("write_buffer_size", "1\0"), format!("Invalid option value: `{at}`"));
    let text = format!("options string must not contain NUL (0x00) bytes: {at}");
    assert_eq!(Options::default().get_options_from_string("a\0b").map(drop).unwrap_err().into_string(), text);
}

#[test]
fn the_description_of_an_error_is_its_text() {
    let error = DB::list_cf(&Options::default(), "a\0b").unwrap_err();
    #[allow(deprecated, reason = "programs call the function")]
    let description = std::error::Error::description(&error).to_string();
    assert_eq!(description, error.into_string());
}

#[test]
fn an_iterator_that_could_not_be_made_has_the_error_of_its_cause() {
    let dir = tempfile::tempdir().unwrap();
    let (_other, first, _second) = two();
    let db: TransactionDB<rocksdb::SingleThreaded> = TransactionDB::open_default(dir.path()).unwrap();
    let foreign = first.cf_handle("users").unwrap();
    let txn = db.transaction();
    let text = txn.put_cf(foreign, b"k", b"v").unwrap_err().into_string();
    assert_eq!(txn.raw_iterator_cf(foreign).status().unwrap_err().into_string(), text);
    assert_eq!(db.raw_iterator_cf(foreign).status().unwrap_err().into_string(), text);
}

#[test]
fn a_timestamp_of_another_length_is_refused_in_an_sst_file() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default();
    let mut writer = rocksdb::SstFileWriter::create(&options);
    writer.open(dir.path().join("1.sst")).unwrap();
    for refused in [writer.put_with_ts(b"k", b"12345678", b"v"), writer.delete_with_ts(b"k", b"12345678")] {
        assert_eq!(refused.unwrap_err().into_string(), "Invalid argument: Timestamp size mismatch");
    }
}

#[test]
fn a_width_applies_to_the_name_of_a_ticker() {
    use rocksdb::statistics::Ticker;
    assert_eq!(format!("{:>30}", Ticker::BytesRead), format!("{:>30}", "rocksdb.bytes.read"));
}

#[test]
fn a_secondary_instance_takes_any_max_open_files() {
    let (dir, first, _second) = two();
    first.put(b"k", b"1").unwrap();
    let mut options = Options::default();
    options.set_max_open_files(10);
    let secondary =
        DB::open_as_secondary(&options, dir.path().join("first"), dir.path().join("follower")).unwrap();
    assert_eq!(secondary.get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn read_options_keep_a_snapshot_that_was_dropped() {
    let (_dir, db, _second) = two();
    db.put(b"k", b"1").unwrap();
    let mut options = ReadOptions::default();
    options.set_snapshot(&db.snapshot());
    db.put(b"k", b"2").unwrap();
    assert_eq!(db.get_opt(b"k", &options).unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn a_wal_iterator_outlives_its_database_without_keeping_the_database_open() {
    let (dir, db, _second) = two();
    db.put(b"k", b"1").unwrap();
    let mut updates = db.get_updates_since(0).unwrap();
    drop(db);
    let reopened = DB::open_cf(&Options::default(), dir.path().join("first"), ["users"]).unwrap();
    assert!(reopened.get(b"k").unwrap().is_some());
    let first = updates.next();
    assert!(first.is_none_or(|update| update.is_ok()));
}

#[test]
fn bytes_that_are_no_batch_fail_the_write() {
    let (_dir, db, _second) = two();
    let batch = WriteBatch::from_data(b"not a batch at all");
    assert_eq!(batch.data(), b"not a batch at all");
    assert_eq!(db.write(batch).unwrap_err().kind(), ErrorKind::Corruption);
}

/// The puts and deletions of a batch, as text.
#[derive(Default)]
struct Seen(Vec<String>);

impl WriteBatchIterator for Seen {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.0.push(format!("{}={}", key.escape_ascii(), value.escape_ascii()));
    }
    fn delete(&mut self, key: &[u8]) {
        self.0.push(format!("-{}", key.escape_ascii()));
    }
}

impl WriteBatchIteratorCf for Seen {
    fn put_cf(&mut self, _: u32, key: &[u8], value: &[u8]) {
        self.put(key, value);
    }
    fn delete_cf(&mut self, _: u32, key: &[u8]) {
        self.delete(key);
    }
    fn merge_cf(&mut self, _: u32, key: &[u8], value: &[u8]) {
        self.put(key, value);
    }
}

#[test]
fn a_damaged_batch_has_the_stated_length_and_the_changes_before_the_damage() {
    let mut batch = WriteBatch::default();
    batch.put(b"a", b"1");
    batch.delete(b"b");
    batch.put(b"c", b"3");
    let data = batch.data();
    let damaged = WriteBatch::from_data(&data[..data.len() - 1]);
    assert_eq!((damaged.len(), damaged.is_empty()), (3, false));
    let (mut seen, mut seen_cf) = (Seen::default(), Seen::default());
    damaged.iterate(&mut seen);
    damaged.iterate_cf(&mut seen_cf);
    assert_eq!((seen.0, seen_cf.0), (vec!["a=1".into(), "-b".into()], vec!["a=1".to_string(), "-b".into()]));
    assert_eq!(WriteBatch::from_data(b"short").len(), 0);
}

#[test]
fn a_block_cache_in_text_replaces_the_cache_of_the_options() {
    let dir = tempfile::tempdir().unwrap();
    let mut table = rocksdb::BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(1 << 20));
    let mut base = Options::default();
    base.create_if_missing(true);
    base.set_block_based_table_factory(&table);
    let capacity = |text: &str| {
        let options = base.clone().get_options_from_string(text).unwrap();
        let db = DB::open(&options, dir.path()).unwrap();
        db.property_int_value("rocksdb.block-cache-capacity").unwrap()
    };
    assert_eq!(capacity("block_based_table_factory={block_size=8192}"), Some(1 << 20));
    assert_eq!(capacity("block_based_table_factory={block_cache=2097152}"), Some(2 << 20));
    assert_eq!(capacity("block_based_table_factory.block_cache=3145728"), Some(3 << 20));
}

#[test]
fn a_column_family_without_a_cache_does_not_use_the_cache_of_the_database_options() {
    let dir = tempfile::tempdir().unwrap();
    let mut table = rocksdb::BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(1 << 20));
    let mut base = Options::default();
    base.create_if_missing(true);
    base.create_missing_column_families(true);
    base.set_block_based_table_factory(&table);
    let capacity = |db: &DB, family: &str| {
        let family = db.cf_handle(family).unwrap();
        db.property_int_value_cf(family, "rocksdb.block-cache-capacity").unwrap().unwrap()
    };
    let db = DB::open_cf(&base, dir.path(), ["users"]).unwrap();
    assert_eq!((capacity(&db, "default"), capacity(&db, "users")), (32 << 20, 32 << 20));
    drop(db);
    let families = [("default", base.clone()), ("users", Options::default())];
    let db = DB::open_cf_with_opts(&base, dir.path(), families).unwrap();
    assert_eq!((capacity(&db, "default"), capacity(&db, "users")), (1 << 20, 32 << 20));
}

#[test]
fn databases_of_one_options_object_and_its_clones_share_the_default_cache() {
    let dir = tempfile::tempdir().unwrap();
    let mut base = Options::default();
    base.create_if_missing(true);
    let mut other = Options::default();
    other.create_if_missing(true);
    let open = |options: &Options, name: &str| DB::open(options, dir.path().join(name)).unwrap();
    let databases = [open(&base, "one"), open(&base.clone(), "two"), open(&other, "three")];
    let usage = |db: &DB| db.property_int_value("rocksdb.block-cache-usage").unwrap().unwrap();
    let empty = usage(&databases[0]);
    databases[0].put(b"key", [1; 1000]).unwrap();
    databases[0].flush().unwrap();
    assert!(databases[0].get(b"key").unwrap().is_some());
    let filled = usage(&databases[0]);
    assert!(filled > empty + 1000, "{filled}");
    assert_eq!(databases.each_ref().map(usage), [filled, filled, empty]);
}

#[test]
fn a_batch_hands_out_its_changes_in_order() {
    let mut batch = WriteBatch::with_capacity_bytes(64);
    batch.put(b"a", b"1");
    batch.put_log_data(b"log");
    batch.delete(b"b");
    let copy = WriteBatch::from_data(batch.data());
    let mut seen = Seen::default();
    copy.iterate(&mut seen);
    assert_eq!(seen.0, ["a=1", "-b"]);
    assert_eq!(copy.len(), 2);
}

#[test]
fn an_unknown_option_has_the_text_of_rocksdb() {
    let (_dir, db, _second) = two();
    let error = db.set_options(&[("nope", "1")]).unwrap_err();
    assert_eq!(error.into_string(), "Invalid argument: Extra option not recognized: nope");
}

#[test]
fn an_open_without_a_column_family_has_the_text_of_rocksdb() {
    let (dir, first, second) = two();
    drop((first, second));
    let error = DB::open(&Options::default(), dir.path().join("first")).unwrap_err();
    assert_eq!(error.into_string(), "Invalid argument: Column families not opened: users");
}

/// Compiles only if both values may cross `catch_unwind` and if threads may share an iterator.
#[test]
fn batches_caches_and_iterators_have_the_traits_of_the_crate_rocksdb() {
    fn is_shared(_: &impl Sync) {}
    let (_dir, db, _second) = two();
    db.put(b"k", b"v").unwrap();
    is_shared(&db.raw_iterator());
    let (batch, cache) = (WriteBatch::default(), Cache::new_lru_cache(1 << 20));
    let usage = std::panic::catch_unwind(|| (batch.len(), cache.get_usage()));
    assert_eq!(usage.unwrap().0, 0);
}

/// Compiles only if a function that `catch_unwind` runs may capture a `T` or a reference to a `T`.
fn crosses<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}

#[test]
fn types_of_release_0_24_cross_catch_unwind() {
    crosses::<DB>();
    crosses::<Options>();
    crosses::<rocksdb::ColumnFamilyDescriptor>();
    crosses::<rocksdb::DBPinnableSlice<'static>>();
    crosses::<rocksdb::DBIterator<'static>>();
    crosses::<rocksdb::DBRawIterator<'static>>();
    crosses::<rocksdb::Snapshot<'static>>();
    crosses::<SstFileWriter<'static>>();
    crosses::<TransactionDB<rocksdb::MultiThreaded>>();
    crosses::<rocksdb::OptimisticTransactionDB>();
    crosses::<rocksdb::Transaction<'static, TransactionDB<rocksdb::SingleThreaded>>>();
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open_default(dir.path()).unwrap();
    db.put(b"k", b"v").unwrap();
    let mut iter = db.raw_iterator();
    iter.seek_to_first();
    let caught = std::panic::catch_unwind(|| {
        assert!(iter.valid());
        panic!("the iterator is at {:?}", iter.key());
    });
    assert!(caught.is_err());
    assert_eq!(iter.value(), Some(&b"v"[..]));
}

/// RocksDB raises versions 0 and 1 to 2 and rejects versions that are too high.
#[test]
fn old_format_versions_are_raised_to_2() {
    let dir = tempfile::tempdir().unwrap();
    let open = |version: i32| {
        let mut options = Options::default();
        options.create_if_missing(true);
        let mut table = rocksdb::BlockBasedOptions::default();
        table.set_format_version(version);
        options.set_block_based_table_factory(&table);
        DB::open(&options, dir.path())
    };
    for version in [0, 1] {
        let db = open(version).unwrap();
        db.put(b"k", b"v").unwrap();
        db.flush().unwrap();
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
        db.set_options(&[("block_based_table_factory", "{format_version=1}")]).unwrap();
        let log = std::fs::read_to_string(dir.path().join("LOG")).unwrap();
        assert!(log.contains("format_version: 2"), "{log}");
    }
    assert_eq!(open(99).unwrap_err().kind(), ErrorKind::InvalidArgument);
}
