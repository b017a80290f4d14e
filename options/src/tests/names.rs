//! Options set and read by name.

use crate::*;

fn family(text: &str) -> FamilyOptions {
    let mut options = FamilyOptions::default();
    options.update(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    options
}

fn refused(text: &str) -> String {
    FamilyOptions::default().update(text).unwrap_err().to_string()
}

#[test]
fn option_strings_set_options() {
    let o =
        family("write_buffer_size=8m; compression=kZSTD;compression_opts={level=3;strategy=1};num_levels=4;");
    assert_eq!((o.write_buffer_size, o.num_levels), (8 << 20, 4));
    assert_eq!(o.compression, CompressionType::ZSTD);
    assert_eq!(
        (o.compression_opts.level, o.compression_opts.strategy, o.compression_opts.window_bits),
        (3, 1, -14)
    );
    let mut db = DbOptions::default();
    db.update("max_open_files=100;bytes_per_sync=1m;wal_recovery_mode=kAbsoluteConsistency").unwrap();
    assert_eq!((db.max_open_files, db.bytes_per_sync), (100, 1 << 20));
    assert_eq!(db.wal_recovery_mode, WalRecoveryMode::AbsoluteConsistency);
}

#[test]
fn a_failing_string_changes_nothing() {
    let mut o = FamilyOptions::default();
    assert!(o.update("write_buffer_size=1;no_such=2").is_err());
    assert_eq!(o.write_buffer_size, 64 << 20);
}

#[test]
fn structs_change_field_by_field() {
    let mut o = family("compaction_options_universal={size_ratio=7}");
    o.set("compaction_options_universal", "{min_merge_width=9;}").unwrap();
    o.set("compaction_options_universal.max_read_amp", "0").unwrap();
    let u = o.compaction_options_universal;
    assert_eq!((u.size_ratio, u.min_merge_width, u.max_read_amp), (7, 9, 0));
    assert_eq!(o.get("compaction_options_universal.size_ratio").unwrap(), "7");
    o.set("compression_opts.parallel_threads", "4").unwrap();
    assert_eq!(o.compression_opts.parallel_threads, 4);
}

#[test]
fn tables_change_field_by_field() {
    let mut o = family("block_based_table_factory={block_size=8k;filter_policy=bloomfilter:10:false}");
    o.set("table_factory.block_restart_interval", "4").unwrap();
    o.set("table_factory", "{format_version=5;}").unwrap();
    let table = o.table_factory.block_based().unwrap();
    assert_eq!((table.block_size, table.block_restart_interval, table.format_version), (8192, 4, 5));
    assert!(table.filter_policy.is_some());
    o.set("table_factory", "BlockBasedTable").unwrap();
    assert_eq!(o.table_factory.block_based().unwrap().block_size, 4096);
    let o = family("table_factory={id=BlockBasedTable;block_size=1k}");
    assert_eq!(o.table_factory.block_based().unwrap().block_size, 1024);
}

#[test]
fn older_forms_are_read() {
    let o = family("compression_opts=4:5:6:7:8:9:true:10:false");
    let c = o.compression_opts;
    assert_eq!((c.window_bits, c.level, c.strategy, c.max_dict_bytes), (4, 5, 6, 7));
    assert_eq!((c.zstd_max_train_bytes, c.parallel_threads, c.enabled), (8, 9, true));
    assert_eq!((c.max_dict_buffer_bytes, c.use_zstd_dict_trainer), (10, false));
    assert!(family("compression_opts=4:5:6:7:8:true").compression_opts.enabled);
    assert!(refused("compression_opts=4:5").contains("not a list of compression options"));
    assert_eq!(family("compaction_options_fifo=23").compaction_options_fifo.max_table_files_size, 23);
    assert_eq!(family("memtable=vector:7").memtable_factory, MemtableFactory::Vector { count: 7 });
    assert!(family("memtable_veirfy_per_key_checksum_on_seek=true").memtable_verify_per_key_checksum_on_seek);
    assert_eq!(family("compression=kZSTDNotFinalCompression").compression, CompressionType::ZSTD);
}

#[test]
fn names_of_the_past_are_read_without_effect() {
    for name in FAMILY_DEPRECATED {
        let mut o = FamilyOptions::default();
        o.set(name, "1").unwrap();
        assert!(o.differences(&FamilyOptions::default()).is_empty());
    }
    for name in DB_DEPRECATED {
        let mut o = DbOptions::default();
        o.set(name, "1").unwrap();
        assert!(o.differences(&DbOptions::default()).is_empty());
    }
}

#[test]
fn all_names_of_rocksdb_are_known() {
    let counts = (
        DbOptions::ROWS.iter().filter(|r| r.written).count() + DB_DEPRECATED.len(),
        FamilyOptions::ROWS.iter().filter(|r| r.written).count() + FAMILY_DEPRECATED.len(),
    );
    // 97 and 89 options are written with default settings. 3 and 2 options are not written because their default text
    // is empty.
    assert_eq!(counts, (97 + 3 + 18, 89 + 2 + 21));
}

#[test]
fn components_are_made_by_name() {
    let o = family(
        "comparator=rocksdb.ReverseBytewiseComparator;merge_operator=uint64add;prefix_extractor=capped:7;\
         memtable_insert_with_hint_prefix_extractor=rocksdb.FixedPrefix.3",
    );
    assert_eq!(o.comparator.name(), "rocksdb.ReverseBytewiseComparator");
    assert_eq!(o.get("merge_operator").unwrap(), "UInt64AddOperator");
    assert_eq!(o.get("prefix_extractor").unwrap(), "rocksdb.CappedPrefix.7");
    assert_eq!(o.get("memtable_insert_with_hint_prefix_extractor").unwrap(), "rocksdb.FixedPrefix.3");
    let mut db = DbOptions::default();
    db.set("rate_limiter_bytes_per_sec", "1m").unwrap();
    assert!(db.rate_limiter.is_some());
    db.set("file_checksum_gen_factory", "FileChecksumGenCrc32cFactory").unwrap();
    assert_eq!(db.file_checksum_gen_factory, Some(FileChecksumGen::Crc32c));
}

#[test]
fn the_environment_is_selected_by_name() {
    let mut db = DbOptions { env: env::Env::memory(1), ..DbOptions::default() };
    db.set("env", "").unwrap();
    assert!(format!("{:?}", db.env.fs).contains("Memory"), "{:?}", db.env.fs);
    assert!(db.set("env", "hdfs").unwrap_err().to_string().contains("hdfs"));
    for name in ["posix", "Default", "{id=posix}", "id=posix;"] {
        let mut db = db.clone();
        db.set("env", name).unwrap();
        assert!(format!("{:?}", db.env.fs).contains("Posix"), "{:?}", db.env.fs);
    }
}

#[test]
fn options_of_one_kind_of_table_do_not_change_another_kind() {
    let mut options = FamilyOptions::default();
    let error = options.update("plain_table_factory={user_key_len=8}").unwrap_err();
    assert_eq!(error.message(), "Cannot modify BlockBasedTable as plain_table_factory");
    options.update("table_factory=PlainTable;plain_table_factory={user_key_len=8}").unwrap();
    let error = options.update("block_based_table_factory={block_size=8192}").unwrap_err();
    assert_eq!(error.message(), "Cannot modify PlainTable as block_based_table_factory");
}

#[test]
fn negative_numbers_of_unsigned_options_of_64_bits_wrap() {
    assert_eq!(family("periodic_compaction_seconds=-2").periodic_compaction_seconds, u64::MAX - 1);
    assert_eq!(family("write_buffer_size=-1").write_buffer_size, usize::MAX);
    assert!(refused("bloom_locality=-1").contains("bloom_locality"));
}

#[test]
fn what_is_refused_says_why() {
    for (text, why) in [
        ("comparator=mine", "Not implemented: while setting option comparator: comparator \"mine\""),
        ("write_buffer_size=x", "while setting option write_buffer_size"),
        ("compaction_style=x", "not a compaction style: \"x\""),
        ("no_such=1", "Could not find option: ColumnFamilyOptions.no_such"),
        ("compression_opts={no_such=1}", "Could not find option: CompressionOptions.no_such"),
        ("compression=kCustomCompressionFF", "not a compression type"),
        ("blob_cache=1m", "option blob_cache"),
        ("sst_partitioner_factory=x", "SST partitioner factory \"x\""),
        ("table_properties_collectors=app.Collector", "collector \"app.Collector\""),
        ("compaction_filter=app.Filter", "compaction filter \"app.Filter\""),
        ("compression_manager=AutoSkip", "compression manager \"AutoSkip\""),
        ("disable_auto_compactions=yes", "disable_auto_compactions"),
    ] {
        let said = refused(text);
        assert!(said.contains(why), "{text}: {said}");
    }
    assert_eq!(
        family("compression=kCustomCompression8A").get("compression").unwrap(),
        "kCustomCompression8A"
    );
}

#[test]
fn live_changes_take_only_what_may_change() {
    let mut o = FamilyOptions::default();
    o.set_live([("write_buffer_size", "1m"), ("compaction_options_universal", "{size_ratio=3}")]).unwrap();
    assert_eq!((o.write_buffer_size, o.compaction_options_universal.size_ratio), (1 << 20, 3));
    let error = o.set_live([("write_buffer_size", "2m"), ("num_levels", "3")]).unwrap_err();
    assert_eq!(error.message(), "Option not changeable: num_levels");
    assert_eq!(o.write_buffer_size, 1 << 20);
    o.set_live([("block_based_table_factory", "{block_size=2k}")]).unwrap();
    assert_eq!(o.table_factory.block_based().unwrap().block_size, 2048);
    o.set_live([("block_based_table_factory", "{format_version=1;block_restart_interval=0}")]).unwrap();
    let table = o.table_factory.block_based().unwrap();
    assert_eq!((table.format_version, table.block_restart_interval), (2, 1), "corrected as by an open");
    assert!(o.set_live([("table_factory", "PlainTable")]).is_err());
    let mut db = DbOptions::default();
    db.set_live([("max_background_jobs", "7")]).unwrap();
    assert!(db.set_live([("use_fsync", "true")]).is_err());
}

#[test]
fn a_printed_family_reads_back() {
    let o = family(
        "compression_per_level=kNoCompression:kZSTD;max_bytes_for_level_multiplier_additional=3:2;ttl=9;\
         compaction_options_fifo={file_temperature_age_thresholds={{temperature=kWarm;age=10}:{temperature=kCold;age=20}};};\
         block_based_table_factory={block_size=1k;filter_policy=ribbonfilter:10:2}",
    );
    let ages = &o.compaction_options_fifo.file_temperature_age_thresholds;
    assert_eq!((ages.len(), ages[1].temperature, ages[1].age), (2, Temperature::Cold, 20));
    let back = family(&o.print());
    assert_eq!(o.differences(&back), [""; 0]);
    let mut db = DbOptions { db_host_id: "a;b#:".to_string(), ..DbOptions::default() };
    db.db_host_id = "a#:".to_string();
    let mut back = DbOptions::default();
    back.update(&db.print()).unwrap();
    assert_eq!(db.differences(&back), [""; 0]);
}

#[test]
fn built_in_components_print_as_rocksdb_writes_them() {
    for (option, text) in [
        ("sst_partitioner_factory", "{id=SstPartitionerFixedPrefixFactory;length=3;}"),
        (
            "table_properties_collectors",
            "{{id=CompactOnDeletionCollector;min_file_size=0;deletion_ratio=0.500000;deletion_trigger=32;window_size=64;}}",
        ),
        ("compaction_filter", "RemoveEmptyValueCompactionFilter"),
        ("compression_manager", "BuiltinCompressionManagerV2"),
        ("memtable_factory", "SkipListFactory:16"),
        ("memtable_factory", "{id=VectorRepFactory;count=0;}"),
    ] {
        let o = family(&format!("{option}={text}"));
        assert_eq!(o.get(option).unwrap(), text);
        let (db, _) = super::opened();
        let file = crate::file::write(&db, [("default", &o)]);
        assert!(file.contains(&format!("  {option}={text}\n")), "{file}");
        let read = crate::file::read(&file, &crate::file::ReadConfig::default()).unwrap();
        assert_eq!((read.families[0].1.get(option).unwrap().as_str(), read.missing.len()), (text, 0));
        crate::file::verify(&file, &db, [("default", &o)]).unwrap();
    }
}

/// RocksDB refuses these texts too, except for the comparator.
#[test]
fn an_option_that_an_object_does_not_have_is_refused() {
    for (option, id) in [
        ("comparator", "leveldb.BytewiseComparator"),
        ("prefix_extractor", "rocksdb.FixedPrefix.3"),
        ("compaction_filter", "RemoveEmptyValueCompactionFilter"),
        ("memtable_factory", "SkipListFactory"),
        ("sst_partitioner_factory", "SstPartitionerFixedPrefixFactory"),
        ("table_factory", "PlainTable"),
        ("compression_manager", "BuiltinV2"),
    ] {
        FamilyOptions::default().set(option, &format!("{{id={id}}}")).unwrap();
        let error = FamilyOptions::default().set(option, &format!("{{id={id};nope=1}}")).unwrap_err();
        assert!(error.message().contains("\"nope\""), "{option}: {error}");
        assert!(error.activity().unwrap().contains(option), "{option}: {error}");
    }
    for (option, id) in
        [("file_checksum_gen_factory", "FileChecksumGenCrc32cFactory"), ("statistics", "BasicStatistics")]
    {
        DbOptions::default().set(option, &format!("{{id={id}}}")).unwrap();
        let error = DbOptions::default().set(option, &format!("{{id={id};nope=1}}")).unwrap_err();
        assert_eq!(error.message(), format!("no such option of {id}: \"nope\""));
    }
}

/// The options belong to an object of an application.
#[test]
fn an_unknown_object_with_options_is_missing_and_the_file_loads() {
    let head = "[Version]\n  rocksdb_version=11.8.1\n  options_file_version=1.1\n\n[DBOptions]\n\n[CFOptions \"default\"]\n";
    for option in ["comparator", "prefix_extractor", "compaction_filter", "compression_manager"] {
        let text = format!("{head}  {option}={{id=my.Object;x=1}}\n");
        let read = crate::file::read(&text, &crate::file::ReadConfig::default()).unwrap();
        assert_eq!(read.missing.iter().map(|m| m.option.as_str()).collect::<Vec<_>>(), [option]);
    }
}

#[test]
fn a_compression_is_found_by_its_word_in_the_log() {
    for (word, number) in [("NoCompression", 0), ("Snappy", 1), ("LZ4", 4), ("ZSTD", 7)] {
        assert_eq!(CompressionType::by_log_name(word), Some(CompressionType(number)));
        assert_eq!(CompressionType(number).log_name(), word);
    }
    assert_eq!(CompressionType::by_log_name("kLZ4Compression"), None);
}
