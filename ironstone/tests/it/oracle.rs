//! RocksDB's tools read databases of Ironstone, and Ironstone reads databases of these tools.
//!
//! `IRONSTONE_ORACLE` is a folder with RocksDB's `ldb`, `sst_dump` and `db_bench`; without it these tests say that
//! they were skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ironstone::{Db, Options, WriteOptions};
use testkit::chance::Chance;
use testkit::hex::{decode as unhex, upper as hex};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn oracle() -> Option<PathBuf> {
    let found = std::env::var_os("IRONSTONE_ORACLE").map(PathBuf::from);
    if found.is_none() {
        eprintln!("SKIPPED: set IRONSTONE_ORACLE to a folder with RocksDB's ldb, sst_dump and db_bench");
    }
    found
}

#[track_caller]
fn tool(program: PathBuf, arguments: &[&str]) -> String {
    let out = Command::new(&program).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{program:?} {arguments:?}: {:?}\n{text}\n{errors}", out.status);
    text + &errors
}

#[track_caller]
fn ldb(oracle: &Path, dir: &Path, arguments: &[&str]) -> String {
    let db = format!("--db={}", dir.display());
    let mut all = vec![db.as_str()];
    all.extend(arguments);
    tool(oracle.join("ldb"), &all)
}

#[track_caller]
fn their_rows(oracle: &Path, dir: &Path) -> Rows {
    let text = ldb(oracle, dir, &["scan", "--hex"]);
    text.lines()
        .filter_map(|l| l.split_once(" ==> "))
        .map(|(k, v)| (unhex(k.trim_start_matches("0x")), unhex(v.trim_start_matches("0x"))))
        .collect()
}

fn our_rows(db: &Db) -> Rows {
    db.range::<[u8], _>(..).map(|row| row.map(|(k, v)| (k, v.to_vec())).unwrap()).collect()
}

/// A recycled WAL has bytes of its previous use after its end. RocksDB verified these bytes as damage in some modes.
#[test]
fn recycled_wals_end_where_rocksdb_expects_the_end() {
    let Some(oracle) = oracle() else { return };
    for changed in [
        "wal_recovery_mode=kAbsoluteConsistency",
        "track_and_verify_wals=true",
        "track_and_verify_wals_in_manifest=true",
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.update("create_if_missing=true;recycle_log_file_num=2;write_buffer_size=65536").unwrap();
        if !changed.starts_with("wal_recovery_mode") {
            options.update(changed).unwrap();
        }
        let db = Db::open(scratch.path(), options.clone()).unwrap();
        let other =
            db.create_family(ironstone::FamilyDescriptor::new("other", options.family.clone())).unwrap();
        for round in 0..4u8 {
            db.put(&[round], &[b'x'; 5000]).unwrap();
            db.flush().unwrap();
        }
        // Keeps the WAL that the next flush closes.
        other.put(b"kept", b"y").unwrap();
        db.flush().unwrap();
        db.put_with(b"small", b"y", &WriteOptions { sync: true, ..WriteOptions::default() }).unwrap();
        drop(other);
        db.close().unwrap();
        drop(db);
        let dir = scratch.path();
        let newest = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
        let newest = newest
            .filter(|p| p.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-"))
            .max()
            .unwrap();
        let text = std::fs::read_to_string(&newest).unwrap();
        std::fs::write(&newest, text.replace("wal_recovery_mode=kPointInTimeRecovery", changed)).unwrap();
        let rows = ldb(&oracle, dir, &["--try_load_options", "scan"]);
        assert!(rows.contains("small"), "{changed}: {rows}");
    }
}

/// Runs every check of RocksDB's tools.
#[track_caller]
fn they_agree(oracle: &Path, dir: &Path, rows: &Rows) {
    assert!(their_rows(oracle, dir) == *rows, "ldb scan differs in {}", dir.display());
    let text = ldb(oracle, dir, &["checkconsistency"]);
    assert!(text.contains("OK"), "{text}");
    ldb(oracle, dir, &["manifest_dump"]);
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "sst") {
            let file = format!("--file={}", path.display());
            let text = tool(oracle.join("sst_dump"), &[&file, "--command=verify"]);
            assert!(!text.to_lowercase().contains("corrupt"), "{text}");
        }
    }
}

fn options(round: usize) -> Options {
    let pick = |list: &[&'static str]| list[round % list.len()];
    let mut options = Options::default();
    let compression = pick(&[
        "kNoCompression",
        "kSnappyCompression",
        "kZlibCompression",
        "kLZ4Compression",
        "kZSTD",
        "kLZ4HCCompression",
        "kBZip2Compression",
    ]);
    let filter = pick(&["nullptr", "bloomfilter:10:false", "ribbonfilter:10", "bloomfilter:10:false"]);
    let index =
        pick(&["kBinarySearch", "kTwoLevelIndexSearch;partition_filters=true", "kBinarySearchWithFirstKey"]);
    let checksum = pick(&["kCRC32c", "kxxHash", "kxxHash64", "kXXH3", "kNoChecksum"]);
    let text = format!(
        "create_if_missing=true;write_buffer_size=65536;target_file_size_base=20000;max_bytes_for_level_base=40000;\
         level0_file_num_compaction_trigger=2;compression={compression};block_based_table_factory={{block_size=500;\
         format_version={};filter_policy={filter};checksum={checksum};index_type={index};data_block_index_type={};}}",
        2 + round % 6,
        pick(&["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"]),
    );
    options.update(&text).unwrap();
    options
}

fn work(db: &Db, rows: &mut Rows, chance: &mut Chance, count: usize) {
    for _ in 0..count {
        let key = format!("key{:04}", chance.below(800)).into_bytes();
        match chance.below(20) {
            0..15 => {
                let mut value = key.clone();
                let block = chance.bytes(40);
                value.extend(block.iter().cycle().take(chance.below(300) as usize));
                db.put(&key, &value).unwrap();
                rows.insert(key, value);
            }
            15..18 => {
                db.delete(&key).unwrap();
                rows.remove(&key);
            }
            _ => {
                let end = format!("key{:04}", chance.below(800)).into_bytes();
                if key < end {
                    db.delete_range(&key, &end).unwrap();
                    let gone: Vec<Vec<u8>> = rows.range(key..end).take(20_000).map(|r| r.0.clone()).collect();
                    gone.iter().for_each(|k| {
                        rows.remove(k);
                    });
                }
            }
        }
    }
}

#[test]
fn rocksdb_reads_every_kind_of_table_we_write() {
    let Some(oracle) = oracle() else { return };
    for round in 0..30 {
        let scratch = tempfile::tempdir().unwrap();
        let mut rows = Rows::new();
        let db = Db::open(scratch.path(), options(round)).unwrap();
        work(&db, &mut rows, &mut Chance::new(round as u64), 1500);
        if round % 2 == 0 {
            db.flush().unwrap();
        }
        db.wait_for_compact().unwrap();
        assert!(our_rows(&db) == rows);
        db.close().unwrap();
        drop(db);
        they_agree(&oracle, scratch.path(), &rows);
    }
}

/// The code of the process that is killed. Without the variable, the test does nothing.
#[test]
fn child_that_is_killed() {
    let Some(dir) = std::env::var_os("IRONSTONE_KILLED") else { return };
    let round = std::env::var("IRONSTONE_ROUND").unwrap().parse().unwrap();
    let db = Db::open(dir, options(round)).unwrap();
    use std::io::Write;
    for i in 0..u64::MAX {
        let value = [i as u8; 100];
        db.put_with(
            format!("row{i:08}").as_bytes(),
            &value,
            &WriteOptions { sync: i % 50 == 0, ..Default::default() },
        )
        .unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "ack {i}").and_then(|()| out.flush()).unwrap();
    }
}

#[test]
fn after_a_kill_both_read_the_same_and_all_that_was_acknowledged() {
    use std::io::{BufRead, BufReader};
    let Some(oracle) = oracle() else { return };
    let chance = &mut Chance::new(9);
    for round in 0..8 {
        let scratch = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "oracle::child_that_is_killed", "--nocapture", "--test-threads=1"])
            .env("IRONSTONE_KILLED", scratch.path())
            .env("IRONSTONE_ROUND", round.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let until = 1 + chance.below(3000);
        let mut acknowledged = None;
        for line in lines.by_ref() {
            let line = line.unwrap();
            let Some(n) = line.split("ack ").nth(1).and_then(|n| n.parse::<u64>().ok()) else { continue };
            acknowledged = Some(n);
            if n >= until {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines {
            if let Some(n) = line.unwrap().strip_prefix("ack ").and_then(|n| n.parse().ok()) {
                acknowledged = Some(n);
            }
        }
        let acknowledged = acknowledged.expect("some writes");
        let theirs = their_rows(&oracle, scratch.path());
        let db = Db::open(scratch.path(), options(round)).unwrap();
        let ours = our_rows(&db);
        assert!(ours == theirs, "round {round}: {} rows here, {} there", ours.len(), theirs.len());
        assert!(
            ours.len() as u64 > acknowledged,
            "round {round}: {} rows, {acknowledged} acknowledged",
            ours.len()
        );
        db.close().unwrap();
        drop(db);
        they_agree(&oracle, scratch.path(), &ours);
    }
}

#[test]
fn we_read_what_db_bench_and_ldb_write() {
    let Some(oracle) = oracle() else { return };
    for (i, extra) in [
        &["--compression_type=zstd", "--bloom_bits=10"][..],
        &[
            "--compression_type=snappy",
            "--format_version=5",
            "--bloom_bits=10",
            "--partition_index_and_filters=true",
        ],
        &[
            "--compression_type=lz4",
            "--use_ribbon_filter=true",
            "--bloom_bits=10",
            "--writes_per_range_tombstone=20",
        ],
        &[
            "--compression_type=none",
            "--use_existing_db=false",
            "--universal_min_merge_width=2",
            "--compaction_style=1",
        ],
    ]
    .iter()
    .enumerate()
    {
        let scratch = tempfile::tempdir().unwrap();
        let db = format!("--db={}", scratch.path().display());
        let mut arguments = vec![
            db.as_str(),
            "--benchmarks=fillrandom,overwrite",
            "--num=3000",
            "--write_buffer_size=100000",
            "--value_size=60",
        ];
        arguments.extend(*extra);
        tool(oracle.join("db_bench"), &arguments);
        ldb(&oracle, scratch.path(), &["put", &format!("by-ldb-{i}"), "value"]);
        let theirs = their_rows(&oracle, scratch.path());
        let db = Db::open_read_only(scratch.path(), Options::default()).unwrap();
        assert!(our_rows(&db) == theirs);
        for (key, value) in &theirs {
            assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]), "{}", hex(key));
        }
        drop(db);
        let db = Db::open(scratch.path(), options(i)).unwrap();
        assert!(our_rows(&db) == theirs);
    }
}

fn lose_the_manifest(dir: &Path) {
    std::fs::remove_file(dir.join("CURRENT")).unwrap();
    std::fs::remove_file(dir.join(manifests(dir).unwrap())).unwrap();
}

#[test]
fn rocksdb_reads_a_database_that_was_rebuilt_without_its_manifest() {
    let Some(oracle) = oracle() else { return };
    for round in 0..12 {
        let scratch = tempfile::tempdir().unwrap();
        let mut rows = Rows::new();
        let db = Db::open(scratch.path(), options(round)).unwrap();
        work(&db, &mut rows, &mut Chance::new(round as u64), 1500);
        if round % 2 == 0 {
            db.flush().unwrap();
        }
        db.wait_for_compact().unwrap();
        db.close().unwrap();
        drop(db);
        lose_the_manifest(scratch.path());
        let report = ironstone::repair(scratch.path(), options(round), Vec::new()).unwrap();
        assert!(!report.actions.is_empty());
        they_agree(&oracle, scratch.path(), &rows);
    }
}

#[test]
fn a_database_of_rocksdb_is_rebuilt_without_its_manifest() {
    let Some(oracle) = oracle() else { return };
    for extra in [
        &["--bloom_bits=10"][..],
        &["--compaction_style=1"],
        &["--num_levels=3", "--max_bytes_for_level_base=200000"],
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let db = format!("--db={}", scratch.path().display());
        let mut arguments = vec![
            db.as_str(),
            "--benchmarks=fillrandom,overwrite,deleterandom,waitforcompaction",
            "--num=5000",
        ];
        arguments.extend(["--write_buffer_size=100000", "--value_size=60", "--target_file_size_base=50000"]);
        arguments.extend(extra);
        tool(oracle.join("db_bench"), &arguments);
        let theirs = their_rows(&oracle, scratch.path());
        lose_the_manifest(scratch.path());
        ironstone::repair(scratch.path(), Options::default(), Vec::new()).unwrap();
        they_agree(&oracle, scratch.path(), &theirs);
    }
}

#[test]
fn both_write_to_one_directory_in_turn() {
    let Some(oracle) = oracle() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let (chance, mut rows) = (&mut Chance::new(77), Rows::new());
    for round in 0..12 {
        let db = Db::open(scratch.path(), options(round)).unwrap();
        assert!(our_rows(&db) == rows, "round {round}");
        work(&db, &mut rows, chance, 400);
        match round % 3 {
            0 => db.flush().unwrap(),
            1 => db.compact_range(None, None, &Default::default()).unwrap(),
            _ => {}
        }
        db.close().unwrap();
        drop(db);
        let mut batch = vec!["batchput".to_string()];
        for i in 0..20 {
            let (key, value) = (format!("key{:04}", chance.below(800)), format!("theirs-{round}-{i}"));
            rows.insert(key.clone().into_bytes(), value.clone().into_bytes());
            batch.extend([key, value]);
        }
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        ldb(&oracle, scratch.path(), &batch);
        if round % 4 == 3 {
            ldb(&oracle, scratch.path(), &["compact"]);
        }
        they_agree(&oracle, scratch.path(), &rows);
    }
}

fn manifests(dir: &Path) -> Option<std::ffi::OsString> {
    let names = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name());
    names.filter(|n| n.to_string_lossy().starts_with("MANIFEST")).max()
}

#[test]
fn a_database_that_rocksdb_holds_is_in_use() {
    let Some(oracle) = oracle() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("db");
    Db::open(&path, options(0)).unwrap();
    let db = format!("--db={}", path.display());
    let before = manifests(&path);
    // This process writes until it is killed.
    let mut holder = Command::new(oracle.join("db_bench"))
        .args([
            &db,
            "--benchmarks=fillrandom",
            "--use_existing_db=true",
            "--num=100000000",
            "--disable_wal=false",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The process holds the lock when it has created a MANIFEST.
    while manifests(&path) == before && holder.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let refusal = Db::open(&path, options(0)).err();
    let _ = holder.kill();
    let _ = holder.wait();
    let error = refusal.expect("a refusal while db_bench holds the lock");
    assert!(error.to_string().contains("LOCK"), "{error}");
    Db::open(&path, options(0)).unwrap();
}
