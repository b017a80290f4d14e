//! `enable_blob_direct_write`: writes put large values into blob files before the WAL.

use std::path::Path;

use base::Kind;
use env::Env;
use env::memory::Survivors;
use env::sst_files::{SstFileManager, SstFileOptions};
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, LiveFileKind, LiveFilesStorageInfoOptions, OpenRequest};
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, DbOptions, FamilyOptions, ReadOptions, WriteOptions,
};
use testkit::machine::Machine;

use crate::basic::{flush, get, put, scan};
use crate::blobs::expect;
use crate::durable::{Databases, synced};

pub fn family(more: &str) -> FamilyOptions {
    let mut family =
        FamilyOptions { merge_operator: lsm::merge::by_name("stringappend"), ..FamilyOptions::default() };
    let base = "enable_blob_files=true;enable_blob_direct_write=true;min_blob_size=100;disable_auto_compactions=true";
    family.update(base).unwrap();
    family.update(more).unwrap();
    family
}

pub fn request(env: &Env, more: &str) -> OpenRequest {
    let mut db = DbOptions { create_if_missing: true, env: env.clone(), ..DbOptions::default() };
    db.update("allow_concurrent_memtable_write=false").unwrap();
    db.update("avoid_flush_during_shutdown=true").unwrap();
    OpenRequest::new("/db", db, family(more))
}

fn open(env: &Env, more: &str) -> Db {
    Db::open(request(env, more)).unwrap()
}

fn large(seed: &str) -> String {
    format!("{seed}-{}", "v".repeat(500))
}

/// Blob files of the current version: number, blobs, garbage.
fn files(db: &Db) -> Vec<(u64, u64, u64)> {
    let version = db.default_family().unwrap().pin().version.clone();
    version.blobs().values().map(|b| (b.number.get(), b.total_count, b.garbage_count)).collect()
}

/// Blob files in the directory, after the jobs that delete files have run.
fn on_disk(env: &Env) -> usize {
    while env.executor.help() {}
    env.fs.list(Path::new("/db")).unwrap().iter().filter(|name| name.ends_with(".blob")).count()
}

#[test]
fn values_are_read_before_and_after_their_flush() {
    for compression in compress::supported() {
        let env = Env::memory(1);
        let db = open(&env, &format!("blob_compression_type={}", compression.option_name()));
        let rows = [("a", large("a")), ("b", "small".into()), ("c", large("c")), ("d", String::new())];
        rows.iter().for_each(|(k, v)| put(&db, k, v));
        assert_eq!(on_disk(&env), 1, "the value is in a blob file before the flush");
        expect(&db, &rows);
        flush(&db);
        assert_eq!(files(&db).iter().map(|f| (f.1, f.2)).collect::<Vec<_>>(), [(2, 0)]);
        assert_eq!(on_disk(&env), 1, "the flush writes no second blob file");
        expect(&db, &rows);
        db.close().unwrap();
        drop(db);
        expect(&open(&env, ""), &rows);
    }
}

#[test]
fn the_wal_has_references_and_not_the_values() {
    let world = Machine::new(1);
    let db = open(&world.env, "");
    put(&db, "a", &large("a"));
    let wal = world.bytes(&world.file("", ".log"));
    assert!(wal.len() < 200, "{}", wal.len());
    assert!(world.bytes(&world.file("", ".blob")).windows(4).any(|bytes| bytes == b"vvvv"));
}

#[test]
fn synced_writes_survive_each_crash() {
    for survivors in [
        Survivors::Synced,
        Survivors::Everything,
        Survivors::NamesWithoutData,
        Survivors::ZerosForData,
        Survivors::Random(3),
        Survivors::Random(4),
        Survivors::Random(5),
    ] {
        let world = Machine::new(1);
        let db = open(&world.env, "blob_direct_write_partitions=2");
        put(&db, "a", &large("a"));
        put(&db, "b", &large("b"));
        synced(&db, "c", &large("c"));
        put(&db, "d", &large("d"));
        world.crash_with(db, survivors);
        let db = Db::open(request(&world.env, "")).unwrap_or_else(|e| panic!("{survivors:?}: {e}"));
        let rows = scan(&db);
        assert!(rows.len() >= 3, "{survivors:?}: {rows:?}");
        rows.iter().for_each(|(key, value)| assert_eq!(*value, large(key), "{survivors:?}"));
        assert_eq!(get(&db, "c"), Some(large("c")));
    }
}

/// The WAL record of the damaged value is complete, and a later record says that it was durable.
#[test]
fn damage_of_a_durable_value_fails_every_open() {
    let world = Machine::new(1);
    let db = open(&world.env, "");
    ["a", "b", "c"].iter().for_each(|key| synced(&db, key, &large(key)));
    world.crash_with(db, Survivors::Synced);
    let blobs = world.file("", ".blob");
    world.disk.damage(Path::new(&blobs), |bytes| bytes[700] ^= 1);
    for is_read_only in [true, false] {
        let opened = match is_read_only {
            true => Db::open_read_only(request(&world.env, "")),
            false => Db::open(request(&world.env, "")),
        };
        let error = opened.err().unwrap_or_else(|| panic!("read-only {is_read_only}: the open lost writes"));
        assert_eq!(error.kind(), Kind::Corruption, "{error}");
        assert!(error.to_string().contains("enable_blob_direct_write"), "{error}");
        assert!(error.to_string().contains(".log"), "{error}");
    }
}

/// A sync of a later write makes earlier values of other column families durable too.
#[test]
fn a_sync_covers_the_values_of_all_column_families_and_of_immutable_memtables() {
    let world = Machine::new(1);
    let db = open(&world.env, "");
    let other = db.admin().create_family(FamilyDescriptor::new("other", family(""))).unwrap();
    db.put(&other, b"k", large("k").as_bytes(), &WriteOptions::default()).unwrap();
    synced(&db, "small", "small");
    world.crash_with(db, Survivors::Synced);
    let mut both = request(&world.env, "");
    both.families.push(FamilyDescriptor::new("other", family("")));
    let db = Db::open(both).unwrap();
    let other = db.family("other").unwrap();
    let found = db.get(&other, b"k", &ReadOptions::default()).unwrap();
    assert_eq!(found.as_deref(), Some(large("k").as_bytes()));
}

#[test]
fn an_overwritten_value_is_garbage_and_a_file_without_references_is_deleted() {
    let env = Env::memory(5);
    let db = open(&env, "");
    put(&db, "a", &large("a1"));
    put(&db, "a", &large("a2"));
    put(&db, "b", &large("b"));
    flush(&db);
    assert_eq!(files(&db).iter().map(|f| (f.1, f.2)).collect::<Vec<_>>(), [(3, 1)]);
    put(&db, "c", &large("c1"));
    put(&db, "c", "small");
    flush(&db);
    assert_eq!(files(&db).len(), 1);
    assert_eq!(on_disk(&env), 1);
    expect(&db, &[("a", large("a2")), ("b", large("b")), ("c", "small".into())]);
}

#[test]
fn a_reader_of_a_flushed_memtable_keeps_its_blob_files() {
    let env = Env::memory(6);
    let db = open(&env, "enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=1");
    put(&db, "a", &large("a"));
    put(&db, "b", &large("b"));
    let family = db.default_family().unwrap();
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    iter.seek_to_first();
    flush(&db);
    let first = files(&db)[0].0;
    put(&db, "a", &large("new"));
    flush(&db);
    let how = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compactions().compact_range(&family, None, None, &how).unwrap();
    assert!(files(&db).iter().all(|f| f.0 != first), "the collection moved the values");
    on_disk(&env);
    assert_eq!((iter.key(), iter.value()), (&b"a"[..], large("a").as_bytes()));
    iter.next();
    assert_eq!((iter.key(), iter.value()), (&b"b"[..], large("b").as_bytes()));
    iter.status().unwrap();
    drop(iter);
    put(&db, "z", "z");
    flush(&db);
    assert_eq!(on_disk(&env), files(&db).len());
}

#[test]
fn merges_use_values_in_blob_files() {
    let env = Env::memory(7);
    let db = open(&env, "");
    let family = db.default_family().unwrap();
    put(&db, "a", &large("a"));
    db.merge(&family, b"a", b"more", &WriteOptions::default()).unwrap();
    let whole = format!("{},more", large("a"));
    expect(&db, &[("a", whole.clone())]);
    flush(&db);
    expect(&db, &[("a", whole.clone())]);
    drop(db);
    expect(&open(&env, ""), &[("a", whole)]);
}

#[test]
fn entities_put_their_large_columns_into_one_partition() {
    let env = Env::memory(8);
    let db = open(&env, "blob_direct_write_partitions=3");
    let (one, two) = (large("1"), large("2"));
    let columns = [(&b""[..], &b"d"[..]), (b"x", one.as_bytes()), (b"y", two.as_bytes())];
    let mut batch = WriteBatch::new();
    batch.put_entity(b"k", &columns);
    db.write(&mut batch, &WriteOptions::default()).unwrap();
    assert_eq!(on_disk(&env), 1);
    let check = |db: &Db| {
        let family = db.default_family().unwrap();
        let found = db.reads().get_entity(&family, b"k", &ReadOptions::default()).unwrap().unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), columns);
    };
    check(&db);
    flush(&db);
    assert_eq!(files(&db)[0].1, 2);
    check(&db);
}

#[test]
fn values_go_to_the_partitions_in_turn_and_full_files_end() {
    let env = Env::memory(9);
    let db = open(&env, "blob_direct_write_partitions=3;blob_file_size=1300");
    let keys: Vec<String> = (0..12).map(|n| format!("k{n:02}")).collect();
    keys.iter().for_each(|key| put(&db, key, &large(key)));
    let rows: Vec<_> = keys.iter().map(|key| (key.as_str(), large(key))).collect();
    expect(&db, &rows);
    flush(&db);
    assert_eq!(files(&db).iter().map(|f| (f.1, f.2)).collect::<Vec<_>>(), [(2, 0); 6]);
    expect(&db, &rows);
}

#[test]
fn a_close_flushes_memtables_with_blob_files_and_a_drop_deletes_them() {
    let env = Env::memory(10);
    let db = open(&env, "");
    put(&db, "a", &large("a"));
    let other = db.admin().create_family(FamilyDescriptor::new("other", family(""))).unwrap();
    db.put(&other, b"k", large("k").as_bytes(), &WriteOptions::default()).unwrap();
    assert_eq!(on_disk(&env), 2);
    db.admin().drop_family(&other).unwrap();
    drop(other);
    put(&db, "b", "b");
    flush(&db);
    assert_eq!(on_disk(&env), 1);
    put(&db, "c", &large("c"));
    db.close().unwrap();
    drop(db);
    let reader = Db::open_read_only(request(&env, "")).unwrap();
    assert_eq!(files(&reader).len(), 2, "the close has flushed");
    expect(&reader, &[("a", large("a")), ("b", "b".into()), ("c", large("c"))]);
}

#[test]
fn live_files_have_the_blob_files_of_memtables() {
    let env = Env::memory(11);
    let db = open(&env, "");
    put(&db, "a", &large("a"));
    let options = LiveFilesStorageInfoOptions {
        wal_size_for_flush: u64::MAX,
        ..LiveFilesStorageInfoOptions::default()
    };
    let live = db.files().live_files_storage_info(&options).unwrap();
    put(&db, "b", &large("b"));
    env.fs.create_dir(Path::new("/copy")).unwrap();
    let mut blobs = 0;
    for file in &live.files {
        let content = file.replacement_contents.clone().unwrap_or_else(|| {
            let mut whole = env.fs.read_all(&file.path(), 1 << 30).unwrap();
            whole.truncate(file.size as usize);
            whole
        });
        blobs += usize::from(file.kind == LiveFileKind::Blob && file.trim_to_size);
        env.fs.write_all(&Path::new("/copy").join(&file.relative_filename), &content, true).unwrap();
    }
    assert_eq!(blobs, 1);
    let mut copy = request(&env, "");
    copy.path = "/copy".into();
    expect(&Db::open(copy).unwrap(), &[("a", large("a"))]);
}

/// The words of RocksDB's refusals.
#[test]
fn other_options_are_refused_with_the_option() {
    for (db, more, says) in [
        ("allow_concurrent_memtable_write=true", "", "does not support concurrent memtable writes"),
        ("enable_pipelined_write=true", "", "does not support pipelined writes"),
        ("two_write_queues=true", "", "does not support two write queues"),
        ("", "experimental_mempurge_threshold=1", "does not support MemPurge"),
        ("compat=11.7", "", "only release 11.8 and newer releases read enable_blob_direct_write"),
    ] {
        let env = Env::memory(12);
        let mut request = request(&env, more);
        request.options.update(db).unwrap();
        let error = Db::open(request).err().unwrap();
        assert!(error.to_string().contains(says), "{error}");
    }
    let env = Env::memory(13);
    let db = open(&env, "");
    let timestamps = family("comparator=leveldb.BytewiseComparator.u64ts");
    let error = db.admin().create_family(FamilyDescriptor::new("t", timestamps)).err().unwrap();
    assert_eq!(error.kind(), Kind::NotSupported);
    assert!(error.to_string().contains("does not support user-defined timestamps"), "{error}");
}

#[test]
fn the_sst_file_manager_counts_flushed_blob_files() {
    let env = Env::memory(14);
    let manager = SstFileManager::new(env.clone(), SstFileOptions::default());
    let mut request = request(&env, "");
    request.options.sst_file_manager = Some(manager.clone());
    let db = Db::open(request).unwrap();
    put(&db, "a", &large("a"));
    flush(&db);
    put(&db, "b", &large("b"));
    put(&db, "b", "small");
    flush(&db);
    on_disk(&env);
    let mut tracked: Vec<_> = manager.tracked().into_iter().collect();
    tracked.retain(|(path, _)| path.extension().is_some_and(|end| end == "blob"));
    let path = tracked[0].0.clone();
    assert_eq!(
        tracked,
        [(path.clone(), env.fs.file_size(&path).unwrap())],
        "the file without references is gone"
    );
}
