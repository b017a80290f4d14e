//! Components that options name, and other options of column families for SST files: each has an effect.
//!
//! The OPTIONS file keeps the name of each component.

use std::path::Path;
use std::sync::Arc;

use base::stats::{Statistics, Ticker};
use env::Env;
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, LiveFilesStorageInfoOptions, OpenRequest};
use ironstone_engine::options::file::{ReadConfig, load_latest};
use ironstone_engine::options::{CompactRangeOptions, DbOptions, FamilyOptions, WriteOptions};

use crate::basic::{compact_whole, flush, get, options, put, scan};

fn open(env: &Env, text: &str) -> Db {
    let mut family = FamilyOptions::default();
    family.update(text).unwrap();
    Db::open(OpenRequest::new("/db", options(env), family)).unwrap()
}

/// Returns the number of SST files at a level.
fn files(db: &Db, level: usize) -> String {
    db.properties()
        .text(&db.default_family().unwrap(), &format!("rocksdb.num-files-at-level{level}"))
        .unwrap()
}

fn option_of_newest_file(env: &Env, name: &str) -> String {
    let (_, file) = load_latest(env, Path::new("/db"), &ReadConfig::default()).unwrap();
    assert!(file.missing.is_empty(), "{:?}", file.missing);
    file.families[0].1.get(name).unwrap()
}

#[test]
fn fixed_prefix_partitioner_ends_files_between_prefixes() {
    let env = Env::memory(1);
    let text = "{id=SstPartitionerFixedPrefixFactory;length=1;}";
    let db = open(&env, &format!("sst_partitioner_factory={text}"));
    for key in ["a1", "a2", "b1", "c1", "c2"] {
        put(&db, key, "value");
    }
    flush(&db);
    compact_whole(&db);
    assert_eq!(files(&db, 6), "3");
    assert_eq!(scan(&db).len(), 5);
    drop(db);
    assert_eq!(option_of_newest_file(&env, "sst_partitioner_factory"), text);
}

#[test]
fn file_with_several_prefixes_is_rewritten_and_not_moved() {
    let env = Env::memory(1);
    let db = open(
        &env,
        "level_compaction_dynamic_level_bytes=false;sst_partitioner_factory={id=SstPartitionerFixedPrefixFactory;length=1;}",
    );
    put(&db, "a", "value");
    put(&db, "b", "value");
    flush(&db);
    // Without a partitioner this compaction moves the only file of level 0.
    db.compactions()
        .compact_range(&db.default_family().unwrap(), None, None, &CompactRangeOptions::default())
        .unwrap();
    assert_eq!(files(&db, 1), "2");
}

#[test]
fn deletion_collector_marks_files_for_compaction() {
    let left_in_level_0 = |text: &str| {
        let env = Env::memory(1);
        let db = open(&env, text);
        let family = db.default_family().unwrap();
        let mut batch = WriteBatch::new();
        (0..300u32).for_each(|i| {
            batch.delete_in(family.id(), &i.to_be_bytes());
        });
        db.write(&mut batch, &WriteOptions::default()).unwrap();
        flush(&db);
        db.background().wait_for_compact().unwrap();
        files(&db, 0)
    };
    assert_eq!(left_in_level_0(""), "1");
    assert_eq!(
        left_in_level_0(
            "table_properties_collectors={id=CompactOnDeletionCollector;window_size=128;deletion_trigger=100}"
        ),
        "0"
    );
}

#[test]
fn filter_named_by_an_option_removes_empty_values() {
    let env = Env::memory(1);
    let db = open(&env, "compaction_filter=RemoveEmptyValueCompactionFilter");
    put(&db, "empty", "");
    put(&db, "full", "value");
    flush(&db);
    assert_eq!(scan(&db).len(), 2);
    compact_whole(&db);
    assert_eq!(scan(&db).len(), 1);
    drop(db);
    assert_eq!(option_of_newest_file(&env, "compaction_filter"), "RemoveEmptyValueCompactionFilter");
}

/// Returns the number of data blocks that a get misses in the block cache after a flush and after a compaction.
fn misses(prepopulate: &str) -> [u64; 2] {
    let env = Env::memory(1);
    let mut family = FamilyOptions::default();
    family.update(&format!("block_based_table_factory={{prepopulate_block_cache={prepopulate}}}")).unwrap();
    let statistics = Arc::new(Statistics::new());
    let db = DbOptions { statistics: Some(statistics.clone()), ..options(&env) };
    let db = Db::open(OpenRequest::new("/db", db, family)).unwrap();
    let misses = || statistics.ticker(Ticker::BlockCacheDataMiss);
    put(&db, "key", "value");
    flush(&db);
    assert_eq!(get(&db, "key").as_deref(), Some("value"));
    let after_flush = misses();
    compact_whole(&db);
    let before = misses();
    assert_eq!(get(&db, "key").as_deref(), Some("value"));
    [after_flush, misses() - before]
}

#[test]
fn prepopulation_puts_new_data_blocks_into_the_block_cache() {
    assert_eq!(misses("kDisable"), [1, 1]);
    assert_eq!(misses("kFlushOnly"), [0, 1]);
    assert_eq!(misses("kFlushAndCompaction"), [0, 0]);
}

#[test]
fn info_log_names_the_options_without_effect() {
    let env = Env::memory(1);
    let lines = |env: &Env| {
        let info_log = env.fs.read_all(Path::new("/db/LOG"), 1 << 20).unwrap();
        let text = String::from_utf8(info_log).unwrap();
        text.lines()
            .filter(|line| line.contains("Options without effect:"))
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    drop(open(&env, ""));
    assert_eq!(lines(&env), [""; 0]);
    drop(open(&env, "memtable_huge_page_size=1"));
    let said = lines(&env);
    assert!(
        said.len() == 1 && said[0].ends_with("memtable_huge_page_size of column family default"),
        "{said:?}"
    );
}

/// The options of a column family are 22 KB of text. With 1,000 column families an open wrote 22 MB.
#[test]
fn info_log_has_all_options_of_ten_families() {
    let env = Env::memory(1);
    let mut request = OpenRequest::new("/db", options(&env), FamilyOptions::default());
    request.options.create_missing_column_families = true;
    let names = (1..30).map(|n| format!("family-{n}"));
    request.families.extend(names.map(|name| FamilyDescriptor::new(name, FamilyOptions::default())));
    drop(Db::open(request).unwrap());
    let info_log = || String::from_utf8(env.fs.read_all(Path::new("/db/LOG"), 1 << 22).unwrap()).unwrap();
    let mut request = OpenRequest::new("/db", options(&env), FamilyOptions::default());
    request.others = Some(FamilyOptions { write_buffer_size: 6 << 20, ..FamilyOptions::default() });
    let db = Db::open(request).unwrap();
    let opened = info_log();
    let count = |text: &str| opened.matches(text).count();
    assert_eq!(count("Options for column family ["), 30, "every column family is named");
    assert_eq!(count("(skipping printing options)"), 20);
    assert_eq!(count("Options.write_buffer_size: "), 10);
    assert_eq!(count("Options.num_levels: "), 10);
    // The info log has only the name of this column family.
    db.admin().create_family(FamilyDescriptor::new("more", FamilyOptions::default())).unwrap();
    assert!(info_log().len() - opened.len() < 1024);
}

/// RocksDB's default limit of the WALs is four times the write buffers of all column families. With this limit, an
/// entry of one idle column family would keep this many bytes.
#[test]
fn an_idle_family_among_many_keeps_a_bounded_number_of_wals() {
    let env = Env::memory(1);
    let small = || FamilyOptions { write_buffer_size: 64 << 10, ..FamilyOptions::default() };
    let db = Db::open(OpenRequest::new("/db", options(&env), small())).unwrap();
    let named = (0..100).map(|n| FamilyDescriptor::new(format!("family-{n}"), small()));
    let idle = db.admin().create_families(named.collect()).unwrap()[50].clone();
    let mut batch = WriteBatch::new();
    batch.put_in(idle.id(), b"k", b"v");
    db.write(&mut batch, &WriteOptions::default()).unwrap();
    let first = db.files().live_wals().unwrap()[0].0;
    // Two buffers of 64 KiB, times 32; all families have 101 times as much.
    let bound = 2 * (64 << 10) * 32;
    for n in 0..2 * bound / 4000 {
        put(&db, &format!("{n:08}"), &"v".repeat(4000));
    }
    assert!(db.files().live_wals().unwrap()[0].0 > first, "the WAL of the idle family is gone");
    assert_eq!(idle.pin_owned().version.files().count(), 1, "its entry is in an SST file");
}

/// Returns the number of the newest OPTIONS file, and the column families that the file names.
fn options_file(env: &Env) -> (u64, usize) {
    let (number, file) = load_latest(env, Path::new("/db"), &ReadConfig::default()).unwrap();
    (number.get(), file.families.len())
}

/// If each creation wrote the options of all column families, 1,000 creations would take 22 s.
#[test]
fn options_file_of_many_families_follows_their_creation() {
    let env = Env::memory(1);
    let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default())).unwrap();
    let create = |n: usize| {
        db.admin()
            .create_family(FamilyDescriptor::new(format!("family-{n}"), FamilyOptions::default()))
            .unwrap()
    };
    let (mut last, mut written) = (options_file(&env).0, 0);
    for n in 1..=200 {
        create(n);
        let (number, named) = options_file(&env);
        if number != last {
            (last, written) = (number, written + 1);
            assert_eq!(named, n + 1, "a file that is written names all families");
        }
        assert!(n > 15 || named == n + 1, "with few families each creation writes the file");
        assert!(named > n / 2, "most families are in the file");
    }
    // 15 creations with few column families, and a file each time that the number of column families doubles.
    assert!(written <= 20, "{written} files");
    let dropped = db.family("family-7").unwrap();
    db.admin().drop_family(&dropped).unwrap();
    db.files().live_files_storage_info(&LiveFilesStorageInfoOptions::default()).unwrap();
    assert_eq!(options_file(&env).1, 200, "a list of live files has the newest file");
    create(201);
    db.close().unwrap();
    assert_eq!(options_file(&env).1, 201, "a close writes the file");
}
