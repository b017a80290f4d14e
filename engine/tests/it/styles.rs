//! Compaction styles other than leveled and universal, manual compactions, and the times and places of SST files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base::{FileNumber, Kind, Level};
use env::Env;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionOptions, CompactionStyle, CompressionType,
    DbOptions, DbPath, FamilyOptions, FileTemperatureAge, FlushOptions, Temperature, WaitForCompactOptions,
    WriteOptions,
};
use lsm::table_file::TableFile;

use crate::basic::{flush, get, open, options, put, scan};

pub(crate) fn plain() -> FamilyOptions {
    FamilyOptions { compression: CompressionType::NONE, ..FamilyOptions::default() }
}

/// Each entry of 10 kB gets its own file if the target size is 10 kB.
pub(crate) fn bounded() -> FamilyOptions {
    FamilyOptions { target_file_size_is_upper_bound: true, ..plain() }
}

fn fifo(bytes: u64) -> FamilyOptions {
    let mut o = FamilyOptions { compaction_style: CompactionStyle::Fifo, num_levels: 1, ..plain() };
    o.compaction_options_fifo.max_table_files_size = bytes;
    o
}

/// Creates an SST file with one entry of about 10 kB.
pub(crate) fn table(db: &Db, key: &str) {
    put(db, key, &"v".repeat(10_000));
    flush(db);
}

/// Returns the keys of the SST files: levels in order, and on each level by smallest key.
pub(crate) fn tree(db: &Db) -> Vec<(usize, Vec<String>)> {
    let version = db.default_family().unwrap().pin().version.clone();
    let name = |f: &Arc<TableFile>| {
        let (a, b) = (f.smallest_user_key(), f.largest_user_key());
        if a == b {
            a.escape_ascii().to_string()
        } else {
            format!("{}-{}", a.escape_ascii(), b.escape_ascii())
        }
    };
    let levels = version.levels().map(|l| (l.index(), version.level(l).iter().map(name).collect::<Vec<_>>()));
    levels.filter(|(_, files)| !files.is_empty()).collect()
}

pub(crate) fn level(number: usize, files: &[&str]) -> (usize, Vec<String>) {
    (number, files.iter().map(|f| (*f).to_string()).collect())
}

pub(crate) fn numbers(db: &Db) -> Vec<FileNumber> {
    let version = db.default_family().unwrap().pin().version.clone();
    version.files().map(|(_, f)| f.number).collect()
}

pub(crate) fn compact(db: &Db, options: &CompactRangeOptions) -> base::Result<()> {
    db.compactions().compact_range(&db.default_family().unwrap(), None, None, options)
}

#[test]
fn fifo_forgets_the_oldest_tables() {
    let env = Env::memory(1);
    let db = open(&env, fifo(35_000));
    for key in ["a", "b", "c", "d", "e"] {
        table(&db, key);
        db.background().wait_for_compact().unwrap();
    }
    assert_eq!(tree(&db), [level(0, &["e", "d", "c"])]);
    assert_eq!((get(&db, "b"), get(&db, "c").map(|v| v.len())), (None, Some(10_000)));
    drop(db);
    let db = open(&env, fifo(35_000));
    assert_eq!(scan(&db).len(), 3);
}

#[test]
fn fifo_drops_files_after_their_time_to_live() {
    let env = Env::memory(2);
    let db = open(&env, FamilyOptions { ttl: 100, ..fifo(1 << 30) });
    table(&db, "a");
    env.clock.sleep_micros(60_000_000);
    table(&db, "b");
    env.clock.sleep_micros(60_000_000);
    // Only the passed time makes the compaction due.
    env.executor.wait_for_all();
    assert_eq!(tree(&db), [level(0, &["b"])]);
    env.clock.sleep_micros(60_000_000);
    env.executor.wait_for_all();
    assert_eq!(tree(&db), []);
}

#[test]
fn fifo_merges_small_tables_if_it_may() {
    let env = Env::memory(3);
    let mut family = FamilyOptions { level0_file_num_compaction_trigger: 3, ..fifo(1 << 30) };
    family.compaction_options_fifo.allow_compaction = true;
    let db = open(&env, family);
    for key in ["a", "b", "c", "d"] {
        table(&db, key);
        db.background().wait_for_compact().unwrap();
    }
    let files: usize = tree(&db).iter().map(|(_, files)| files.len()).sum();
    assert!(files < 4, "{:?}", tree(&db));
    assert_eq!(scan(&db).len(), 4);
}

#[test]
fn fifo_gives_ageing_tables_their_temperature() {
    for copy in [false, true] {
        let env = Env::memory(4);
        let mut family = FamilyOptions { ttl: 0, ..fifo(1 << 30) };
        let warm = FileTemperatureAge { temperature: Temperature::Warm, age: 100 };
        family.compaction_options_fifo.file_temperature_age_thresholds = vec![warm];
        family.compaction_options_fifo.allow_trivial_copy_when_change_temperature = copy;
        let db = open(&env, family);
        table(&db, "a");
        env.clock.sleep_micros(60_000_000);
        table(&db, "b");
        env.clock.sleep_micros(60_000_000);
        env.executor.wait_for_all();
        let version = db.default_family().unwrap().pin().version.clone();
        let temperatures: Vec<u8> = version.files().map(|(_, f)| f.temperature).collect();
        assert_eq!(temperatures, [0, Temperature::Warm as u8], "newest first");
        assert_eq!(scan(&db).len(), 2);
    }
}

/// Returns the bytes of the SST files, oldest number first.
fn table_bytes(env: &Env, db: &Db) -> Vec<(FileNumber, Vec<u8>)> {
    let mut numbers = numbers(db);
    numbers.sort();
    let read = |number: FileNumber| {
        let path = PathBuf::from("/db").join(format::names::table(number));
        let file = env.fs.open_random(&path, &env::ReadHints::default()).unwrap();
        let mut bytes = vec![0; file.size().unwrap() as usize];
        assert_eq!(file.read_at(0, &mut bytes).unwrap(), bytes.len());
        bytes
    };
    numbers.into_iter().map(|number| (number, read(number))).collect()
}

#[test]
fn a_temperature_changes_by_a_copy_only_if_the_options_allow_a_copy() {
    for (copy, buffer) in [(false, 4096), (true, 0), (true, 1 << 40)] {
        let env = Env::memory(4);
        let mut family = FamilyOptions { ttl: 0, ..fifo(1 << 30) };
        let warm = FileTemperatureAge { temperature: Temperature::Warm, age: 100 };
        let cold = FileTemperatureAge { temperature: Temperature::Cold, age: 1000 };
        family.compaction_options_fifo.file_temperature_age_thresholds = vec![warm, cold];
        family.compaction_options_fifo.allow_trivial_copy_when_change_temperature = copy;
        family.compaction_options_fifo.trivial_copy_buffer_size = buffer;
        let db = open(&env, family.clone());
        table(&db, "a");
        let before = table_bytes(&env, &db);
        env.clock.sleep_micros(60_000_000);
        table(&db, "b");
        env.clock.sleep_micros(60_000_000);
        env.executor.wait_for_all();
        let after = table_bytes(&env, &db);
        assert_eq!((before.len(), after.len()), (1, 2));
        assert!(before[0].0 < after[1].0, "the file has a new number");
        assert_eq!(
            before[0].1 == after[1].1,
            copy,
            "a copy has the same bytes, and a rewrite has other properties"
        );
        assert_eq!((scan(&db).len(), get(&db, "a").map(|v| v.len())), (2, Some(10_000)));
        drop(db);
        let db = open(&env, family);
        let version = db.default_family().unwrap().pin().version.clone();
        let temperatures: Vec<u8> = version.files().map(|(_, f)| f.temperature).collect();
        assert_eq!(temperatures, [0, Temperature::Warm as u8], "newest first");
        assert_eq!(scan(&db).len(), 2);
        db.files().verify_checksum().unwrap();
    }
}

#[test]
fn a_copy_of_a_shorter_file_is_refused_and_the_old_file_stays() {
    let env = Env::memory(4);
    let mut family = FamilyOptions { ttl: 0, ..fifo(1 << 30) };
    let warm = FileTemperatureAge { temperature: Temperature::Warm, age: 100 };
    family.compaction_options_fifo.file_temperature_age_thresholds = vec![warm];
    family.compaction_options_fifo.allow_trivial_copy_when_change_temperature = true;
    let db = open(&env, family);
    table(&db, "a");
    let (number, bytes) = table_bytes(&env, &db).remove(0);
    let path = PathBuf::from("/db").join(format::names::table(number));
    let mut file = env.fs.create(&path, &env::AppendHints::default()).unwrap();
    file.append(&bytes[..bytes.len() - 1]).unwrap();
    file.sync().unwrap();
    drop(file);
    env.clock.sleep_micros(60_000_000);
    table(&db, "b");
    env.clock.sleep_micros(60_000_000);
    env.executor.wait_for_all();
    assert!(numbers(&db).contains(&number));
    let tables =
        env.fs.list("/db".as_ref()).unwrap().into_iter().filter(|name| name.ends_with(".sst")).count();
    assert_eq!(tables, 2, "the incomplete copy is deleted");
}

#[test]
fn an_upper_bound_of_file_sizes_counts_the_tail_of_a_file() {
    let sizes = |text: &str| {
        let env = Env::memory(12);
        let mut family = plain();
        family.update("disable_auto_compactions=true;target_file_size_base=65536").unwrap();
        family
            .update("block_based_table_factory={filter_policy=bloomfilter:100:false;block_size=512;}")
            .unwrap();
        family.update(text).unwrap();
        let db = open(&env, family);
        (0..4000).for_each(|n| put(&db, &format!("{n:08}"), &"v".repeat(50)));
        flush(&db);
        let force = BottommostLevelCompaction::Force;
        compact(&db, &CompactRangeOptions { bottommost_level_compaction: force, ..Default::default() })
            .unwrap();
        let version = db.default_family().unwrap().pin().version.clone();
        let mut sizes: Vec<u64> = version.files().map(|(_, f)| f.size).collect();
        sizes.pop();
        sizes
    };
    let (bound, free) = (sizes("target_file_size_is_upper_bound=true"), sizes(""));
    assert!(bound.len() > free.len() && free.len() > 1, "{bound:?} {free:?}");
    assert!(bound.iter().all(|size| *size <= 65536), "{bound:?}");
    assert!(free.iter().all(|size| *size > 65536), "{free:?}");
}

#[test]
fn a_style_may_change_between_opens() {
    let env = Env::memory(5);
    let db = open(&env, plain());
    for key in ["a", "b", "c"] {
        table(&db, key);
    }
    compact(&db, &CompactRangeOptions::default()).unwrap();
    drop(db);
    // SST files of deeper levels are the oldest.
    let deep = FamilyOptions { num_levels: 7, ..fifo(25_000) };
    let db = open(&env, deep);
    table(&db, "d");
    table(&db, "e");
    db.background().wait_for_compact().unwrap();
    assert_eq!(tree(&db), [level(0, &["e", "d"]), level(6, &["a", "b", "c"])], "level 0 alone is counted");
    table(&db, "f");
    db.background().wait_for_compact().unwrap();
    assert_eq!(tree(&db), [level(0, &["f", "e"])]);
    drop(db);
    let db = open(&env, plain());
    compact(&db, &CompactRangeOptions::default()).unwrap();
    assert_eq!(tree(&db), [level(6, &["e", "f"])]);
    drop(db);
    let universal = FamilyOptions { compaction_style: CompactionStyle::Universal, ..plain() };
    assert_eq!(scan(&open(&env, universal)).len(), 2);
}

#[test]
fn a_manual_compaction_of_fifo_drops_due_files_at_once() {
    let env = Env::memory(6);
    let db = open(&env, FamilyOptions { disable_auto_compactions: true, ..fifo(15_000) });
    table(&db, "a");
    table(&db, "b");
    db.background().wait_for_compact().unwrap();
    assert_eq!(tree(&db), [level(0, &["b", "a"])]);
    compact(&db, &CompactRangeOptions::default()).unwrap();
    assert_eq!(tree(&db), [level(0, &["b"])]);
    let change_level = CompactRangeOptions { change_level: true, ..CompactRangeOptions::default() };
    assert_eq!(compact(&db, &change_level).unwrap_err().kind(), Kind::NotSupported);
}

#[test]
fn without_a_style_only_the_caller_compacts() {
    let env = Env::memory(7);
    let none = FamilyOptions {
        compaction_style: CompactionStyle::None,
        level0_stop_writes_trigger: 1 << 20,
        level0_slowdown_writes_trigger: 1 << 20,
        ..plain()
    };
    let db = open(&env, none);
    for i in 0..12 {
        table(&db, &format!("{i:02}"));
    }
    db.background().wait_for_compact().unwrap();
    compact(&db, &CompactRangeOptions::default()).unwrap();
    assert_eq!(numbers(&db).len(), 12, "neither by itself nor by range");
    let family = db.default_family().unwrap();
    let made = db
        .compactions()
        .compact_files(&family, &numbers(&db), Level::new(1), None, &CompactionOptions::default())
        .unwrap();
    assert_eq!((made.len(), numbers(&db).len(), tree(&db)[0].0), (1, 1, 1));
    assert!(env.fs.exists(&made[0]).unwrap());
    assert_eq!(scan(&db).len(), 12);
}

#[test]
fn a_compacted_range_ends_on_the_target_level() {
    let env = Env::memory(11);
    let db = open(&env, FamilyOptions { disable_auto_compactions: true, ..plain() });
    for _ in 0..2 {
        put(&db, "a", "1");
        table(&db, "b");
    }
    let to = |target_level| CompactRangeOptions {
        change_level: true,
        target_level,
        ..CompactRangeOptions::default()
    };
    compact(&db, &to(3)).unwrap();
    assert_eq!(tree(&db), [level(3, &["a-b"])]);
    assert_eq!(compact(&db, &to(7)).unwrap_err().kind(), Kind::InvalidArgument);
    compact(&db, &to(-1)).unwrap();
    assert_eq!(tree(&db), [level(1, &["a-b"])], "the smallest that holds it");
    compact(&db, &to(0)).unwrap();
    assert_eq!(tree(&db), [level(0, &["a-b"])]);
    put(&db, "c", "1");
    assert_eq!(scan(&db).len(), 3);
}

#[test]
fn a_suggested_range_is_compacted_in_the_background() {
    let env = Env::memory(12);
    let db = open(&env, FamilyOptions { disable_auto_compactions: true, ..plain() });
    let family = db.default_family().unwrap();
    table(&db, "a");
    table(&db, "z");
    db.compactions()
        .compact_files(&family, &numbers(&db), Level::new(6), None, &CompactionOptions::default())
        .unwrap();
    table(&db, "b");
    table(&db, "y");
    db.admin().set_options(&family, &[("disable_auto_compactions", "false")]).unwrap();
    db.background().wait_for_compact().unwrap();
    assert_eq!(tree(&db), [level(0, &["y", "b"]), level(6, &["a-z"])]);
    db.compactions().suggest_compact_range(&family, Some(b"a"), Some(b"c")).unwrap();
    db.background().wait_for_compact().unwrap();
    assert_eq!(tree(&db).iter().map(|(l, _)| *l).collect::<Vec<_>>(), [6]);
    assert_eq!(scan(&db).len(), 4);
}

#[test]
fn disabled_manual_compactions_are_given_up() {
    let env = Env::memory(13);
    let db = open(&env, plain());
    table(&db, "a");
    db.compactions().disable_manual().unwrap();
    db.compactions().disable_manual().unwrap();
    db.compactions().enable_manual().unwrap();
    let error = compact(&db, &CompactRangeOptions::default()).unwrap_err();
    assert_eq!((error.kind(), error.subcode()), (Kind::Incomplete, base::Subcode::ManualCompactionPaused));
    db.compactions().enable_manual().unwrap();
    compact(
        &db,
        &CompactRangeOptions { exclusive_manual_compaction: true, ..CompactRangeOptions::default() },
    )
    .unwrap();
    assert_eq!(tree(&db), [level(6, &["a"])]);
    // An enable without a disable undoes the next disable.
    db.compactions().enable_manual().unwrap();
    db.compactions().disable_manual().unwrap();
    compact(&db, &CompactRangeOptions::default()).unwrap();
}

#[test]
fn wait_for_compact_waits_for_a_due_compaction_also_during_a_pause() {
    let env = Env::memory(14);
    let family =
        FamilyOptions { level0_file_num_compaction_trigger: 2, disable_auto_compactions: true, ..plain() };
    let db = open(&env, family);
    let default = db.default_family().unwrap();
    for value in ["1", "2"] {
        put(&db, "a", value);
        put(&db, "b", value);
        db.flush(&[default.clone()], &FlushOptions::default()).unwrap();
    }
    db.background().pause().unwrap();
    db.admin().set_options(&default, &[("disable_auto_compactions", "false")]).unwrap();
    let short = WaitForCompactOptions { timeout: Duration::from_millis(50), ..Default::default() };
    assert_eq!(db.background().wait_for_compact_with(&short).unwrap_err().kind(), Kind::TimedOut);
    assert_eq!(numbers(&db).len(), 2);
    db.background().unpause().unwrap();
    db.background().wait_for_compact().unwrap();
    assert_eq!(numbers(&db).len(), 1);
}

#[test]
fn wait_for_compact_ends_as_its_options_state() {
    let env = Env::memory(14);
    let db = open(&env, plain());
    put(&db, "a", "1");
    db.background()
        .wait_for_compact_with(&WaitForCompactOptions {
            flush: true,
            wait_for_purge: true,
            ..Default::default()
        })
        .unwrap();
    assert_eq!(numbers(&db).len(), 1);
    db.background().pause().unwrap();
    let aborted = db
        .background()
        .wait_for_compact_with(&WaitForCompactOptions { abort_on_pause: true, ..Default::default() });
    assert_eq!(aborted.unwrap_err().kind(), Kind::Aborted);
    db.background().unpause().unwrap();
    assert_eq!(db.background().unpause().unwrap_err().kind(), Kind::InvalidArgument);
    db.background()
        .wait_for_compact_with(&WaitForCompactOptions { close_db: true, ..Default::default() })
        .unwrap();
    assert_eq!(db.background().wait_for_compact().unwrap_err().kind(), Kind::ShutdownInProgress);
}

#[test]
fn a_released_snapshot_lets_bottommost_tables_be_compacted() {
    let env = Env::memory(15);
    let db = open(&env, plain());
    put(&db, "a", "1");
    let snapshot = db.snapshot();
    put(&db, "a", "2");
    compact(&db, &CompactRangeOptions::default()).unwrap();
    let entries = |db: &Db| {
        let version = db.default_family().unwrap().pin().version.clone();
        version.files().map(|(_, f)| f.stats().unwrap().num_entries).sum::<u64>()
    };
    db.background().wait_for_compact().unwrap();
    assert_eq!(entries(&db), 2, "the snapshot needs the older one");
    put(&db, "b", "1");
    drop(snapshot);
    db.background().wait_for_compact().unwrap();
    assert_eq!(entries(&db), 1);
    assert_eq!(get(&db, "a").as_deref(), Some("2"));
}

#[test]
fn files_are_compacted_after_their_period() {
    for (option, universal) in
        [("ttl", false), ("periodic_compaction_seconds", false), ("periodic_compaction_seconds", true)]
    {
        let env = Env::memory(16);
        let mut family = FamilyOptions {
            compaction_style: if universal { CompactionStyle::Universal } else { CompactionStyle::Level },
            ..plain()
        };
        family.set(option, "1000").unwrap();
        let db = open(&env, family);
        table(&db, "a");
        compact(&db, &CompactRangeOptions::default()).unwrap();
        table(&db, "b");
        db.background().wait_for_compact().unwrap();
        let before = numbers(&db);
        // The compaction is late by at most a fifth of the age.
        env.clock.sleep_micros(1_201_000_000);
        env.executor.wait_for_all();
        assert_ne!(numbers(&db), before, "{option} {universal}");
        assert!(tree(&db).iter().all(|(l, _)| *l == 6), "{option} {universal}: {:?}", tree(&db));
        assert_eq!(scan(&db).len(), 2);
    }
}

#[test]
fn sst_files_are_in_the_directories_of_their_family() {
    let env = Env::memory(17);
    let dirs = |env: &Env| {
        let count = |dir: &str| {
            env.fs.list(dir.as_ref()).unwrap_or_default().iter().filter(|n| n.ends_with(".sst")).count()
        };
        [count("/db"), count("/fast"), count("/slow"), count("/db-wide")]
    };
    let path = |path: &str, target_size| DbPath { path: PathBuf::from(path), target_size };
    let small = FamilyOptions {
        max_bytes_for_level_base: 20_000,
        target_file_size_base: 10_000,
        num_levels: 3,
        level_compaction_dynamic_level_bytes: false,
        disable_auto_compactions: true,
        ..bounded()
    };
    let request = || {
        let db = DbOptions { db_paths: vec![path("/db-wide", 1 << 30)], ..options(&env) };
        let own =
            FamilyOptions { cf_paths: vec![path("/fast", 50_000), path("/slow", 1 << 30)], ..small.clone() };
        let mut request = OpenRequest::new("/db", db, small.clone());
        request.families.push(ironstone_engine::components::FamilyDescriptor::new("own", own));
        request.options.create_missing_column_families = true;
        request
    };
    let db = Db::open(request()).unwrap();
    let own = db.family("own").unwrap();
    let write = |key: &str| db.put(&own, key.as_bytes(), &[b'v'; 10_000], &Default::default()).unwrap();
    table(&db, "x");
    (0..4).for_each(|i| write(&format!("k{i}")));
    db.flush(&[own.clone()], &FlushOptions::default()).unwrap();
    assert_eq!(dirs(&env), [0, 1, 0, 1], "new tables come to the first path");
    db.compactions()
        .compact_range(
            &own,
            None,
            None,
            &CompactRangeOptions { target_path_id: 1, ..CompactRangeOptions::default() },
        )
        .unwrap();
    db.background()
        .wait_for_compact_with(&WaitForCompactOptions { wait_for_purge: true, ..Default::default() })
        .unwrap();
    assert_eq!(dirs(&env)[1..], [0, 4, 1], "where the caller says");
    let nowhere = CompactRangeOptions { target_path_id: 2, ..CompactRangeOptions::default() };
    assert_eq!(
        db.compactions().compact_range(&own, None, None, &nowhere).unwrap_err().kind(),
        Kind::InvalidArgument
    );
    db.admin()
        .set_options(
            &own,
            &[("disable_auto_compactions", "false"), ("level0_file_num_compaction_trigger", "1")],
        )
        .unwrap();
    (0..4).for_each(|i| write(&format!("k{i}")));
    db.flush(&[own.clone()], &FlushOptions::default()).unwrap();
    db.background()
        .wait_for_compact_with(&WaitForCompactOptions { wait_for_purge: true, ..Default::default() })
        .unwrap();
    let placed =
        |level: u8| own.pin().version.level(Level::new(level)).iter().map(|f| f.path_id).collect::<Vec<_>>();
    assert!(
        !placed(1).is_empty() && placed(1).iter().all(|&p| p == 0),
        "level 1 fits the first path: {:?}",
        placed(1)
    );
    assert!(placed(2).iter().all(|&p| p == 1), "level 2 does not: {:?}", placed(2));
    drop(own);
    drop(db);
    // A sweep deletes orphan files in the directories of column families too.
    env.fs.create("/slow/999990.sst".as_ref(), &Default::default()).unwrap().close().unwrap();
    let db = Db::open(request()).unwrap();
    assert!(!env.fs.exists("/slow/999990.sst".as_ref()).unwrap());
    let own = db.family("own").unwrap();
    for i in 0..4 {
        let got = db.get(&own, format!("k{i}").as_bytes(), &Default::default()).unwrap();
        assert_eq!(got.map(|v| v.len()), Some(10_000));
    }
    db.admin().drop_family(&own).unwrap();
    drop(own);
    db.background()
        .wait_for_compact_with(&WaitForCompactOptions { wait_for_purge: true, ..Default::default() })
        .unwrap();
    assert_eq!(dirs(&env), [0, 0, 0, 1]);
}

#[test]
fn a_full_compaction_of_a_universal_tree_rewrites_its_one_table() {
    let env = Env::memory(8);
    let family = FamilyOptions {
        compaction_style: CompactionStyle::Universal,
        disable_auto_compactions: true,
        ..plain()
    };
    let db = open(&env, family);
    put(&db, "a", "1");
    db.delete(&db.default_family().unwrap(), b"b", &WriteOptions::default()).unwrap();
    flush(&db);
    let keys = |db: &Db| db.properties().text(&db.default_family().unwrap(), "rocksdb.estimate-num-keys");
    assert_eq!(keys(&db).as_deref(), Some("0"), "the deletion counts");
    compact(&db, &CompactRangeOptions::default()).unwrap();
    assert_eq!(keys(&db).as_deref(), Some("1"));
    assert_eq!(tree(&db), [level(6, &["a"])]);
}
