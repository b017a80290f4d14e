//! Bad input: the open returns one clear error that names the file, changes nothing on disk, does not panic and does
//! not hang.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ironstone::{Db, FamilyDescriptor, FamilyOptions, Kind, Options};
use testkit::{golden, hex};

fn creating() -> Options {
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options
}

/// Returns every file with its bytes, except the info log and LOCK, which an open may always write.
fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut work = vec![dir.to_path_buf()];
    while let Some(dir) = work.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                work.push(path);
            } else if !name.starts_with("LOG") && name != "LOCK" {
                out.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    out
}

#[track_caller]
fn refused(path: &Path, options: Options, families: Vec<FamilyDescriptor>) -> ironstone::Error {
    let before = tree(path);
    let error = Db::open_with_families(path, options, families).expect_err("a refusal");
    assert!(tree(path) == before, "files changed though it was refused: {error}");
    error
}

#[test]
fn a_missing_directory() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("none");
    let error = refused(&path, Options::default(), Vec::new());
    assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("create_if_missing"), "{error}");
    assert!(Db::open_read_only(&path, Options::default()).is_err());
    assert!(!path.exists());
}

#[test]
fn a_directory_or_file_that_is_no_database_is_rejected_and_unchanged() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("letter.txt"), "dear all").unwrap();
    let error = refused(scratch.path(), Options::default(), Vec::new());
    assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
    let file = scratch.path().join("letter.txt");
    for options in [Options::default(), creating()] {
        let error = Db::open(&file, options).expect_err("a refusal");
        assert!(error.to_string().contains("letter.txt"), "{error}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"dear all");
}

#[test]
fn a_database_that_must_not_exist() {
    let scratch = tempfile::tempdir().unwrap();
    Db::open(scratch.path(), creating()).unwrap();
    let mut options = creating();
    options.db.error_if_exists = true;
    assert_eq!(refused(scratch.path(), options, Vec::new()).kind(), Kind::InvalidArgument);
}

#[test]
fn another_comparator_and_families_that_are_not_named() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), creating()).unwrap();
    db.put(b"a", b"b").unwrap();
    db.create_family(FamilyDescriptor::new("more", FamilyOptions::default())).unwrap();
    drop(db);
    let error = refused(scratch.path(), Options::default(), Vec::new());
    assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("more"), "{error}");
    let both = || ["default", "more"].map(|n| FamilyDescriptor::new(n, FamilyOptions::default())).to_vec();
    let mut absent = both();
    absent.push(FamilyDescriptor::new("absent", FamilyOptions::default()));
    let error = refused(scratch.path(), Options::default(), absent);
    assert!(error.to_string().contains("absent"), "{error}");
    let mut reversed = both();
    reversed[0].options.update("comparator=rocksdb.ReverseBytewiseComparator").unwrap();
    let error = refused(scratch.path(), Options::default(), reversed);
    assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("rocksdb.ReverseBytewiseComparator"), "{error}");
    Db::open_with_families(scratch.path(), Options::default(), both()).unwrap();
}

#[test]
fn a_database_in_use() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), creating()).unwrap();
    let error = refused(scratch.path(), creating(), Vec::new());
    assert!(error.to_string().contains("LOCK"), "{error}");
    db.put(b"still", b"works").unwrap();
    Db::open_read_only(scratch.path(), Options::default()).unwrap();
    drop(db);
    Db::open(scratch.path(), Options::default()).unwrap();
}

#[test]
fn the_families_of_a_damaged_manifest_are_not_listed() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), creating()).unwrap();
    for name in ["one", "two"] {
        db.create_family(FamilyDescriptor::new(name, FamilyOptions::default())).unwrap();
    }
    db.close().unwrap();
    drop(db);
    let list = || ironstone::list_column_families(scratch.path(), &Options::default().db);
    assert_eq!(list().unwrap(), ["default", "one", "two"]);
    let files = tree(scratch.path());
    let (path, whole) = files.iter().find(|(path, _)| path.to_string_lossy().contains("/MANIFEST-")).unwrap();
    for at in whole.len() / 3..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(path, bytes).unwrap();
        let error = list().expect_err("a shorter list is an answer that misses column families");
        assert_eq!(error.kind(), Kind::Corruption, "{error}");
    }
}

#[test]
fn a_newer_format_and_unknown_options_in_the_options_file() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), creating()).unwrap();
    db.put(b"a", b"b").unwrap();
    drop(db);
    let options = std::fs::read_dir(scratch.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.file_name().unwrap().to_string_lossy().starts_with("OPTIONS"))
        .max()
        .unwrap();
    let text = std::fs::read_to_string(&options).unwrap();
    std::fs::write(&options, text.replace("[DBOptions]", "[DBOptions]\n  from_the_future=7")).unwrap();
    // Only `load_latest` reads the OPTIONS file; the open does not depend on it.
    let db = Db::open(scratch.path(), Options::default()).unwrap();
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"b"[..]));
    drop(db);
    let mut newer = Options::default();
    let outcome = newer.update("block_based_table_factory={format_version=99}");
    assert!(outcome.is_err() || Db::open(scratch.path(), newer).is_err());
    assert!(
        Options::default().update("from_the_future=7").unwrap_err().to_string().contains("from_the_future")
    );
}

/// The fixtures have RocksDB's answer to each damaged database. Ironstone may reject more, but must not accept more.
#[test]
fn damaged_databases_are_answered_as_rocksdb_does_or_refused() {
    let root = golden::root().join("corrupt");
    let mut names: Vec<String> = std::fs::read_dir(&root)
        .unwrap()
        .filter_map(|e| e.unwrap().file_name().to_str()?.strip_suffix(".expect.jsonl").map(String::from))
        .collect();
    names.sort();
    assert!(names.len() > 30);
    let (mut wrong, mut as_rocksdb, mut stricter) = (Vec::new(), 0, Vec::new());
    for name in names {
        let text = std::fs::read_to_string(root.join(format!("{name}.expect.jsonl"))).unwrap();
        let mut lines = text.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
        let meta = lines.next().unwrap();
        let rows: Vec<serde_json::Value> = lines.collect();
        for probe in meta["probes"].as_array().unwrap() {
            let which = probe["probe"].as_str().unwrap();
            let setting = match which {
                "point-in-time" => "",
                "tolerate-tail" => "wal_recovery_mode=kTolerateCorruptedTailRecords",
                "absolute" => "wal_recovery_mode=kAbsoluteConsistency",
                "skip-any" => "wal_recovery_mode=kSkipAnyCorruptedRecords",
                "no-paranoid" => "paranoid_checks=false",
                "read-only" => "",
                _ => continue,
            };
            let scratch = tempfile::tempdir().unwrap();
            golden::copy_dir(&root.join(&name), scratch.path());
            let before = tree(scratch.path());
            let mut options = Options::default();
            options.update(setting).unwrap();
            match name.as_str() {
                "wal-missing-tracked" => options.update("track_and_verify_wals_in_manifest=true").unwrap(),
                "wrong-comparator" => options.update("comparator=rocksdb.ReverseBytewiseComparator").unwrap(),
                _ => {}
            }
            let opened = if which == "read-only" {
                Db::open_read_only(scratch.path(), options)
            } else {
                Db::open(scratch.path(), options)
            };
            let theirs_opened = probe["open"]["code"] == "OK";
            let label = format!("{name} {which}");
            let db = match opened {
                Err(error) => {
                    if tree(scratch.path()) != before {
                        wrong.push(format!("{label}: files changed though refused: {error}"));
                    }
                    if theirs_opened && error.kind() != Kind::NotSupported {
                        stricter.push(format!("{label}: {error}"));
                    } else {
                        as_rocksdb += 1;
                    }
                    continue;
                }
                Ok(db) => db,
            };
            if !theirs_opened {
                // A read-only open may accept more than RocksDB, if no row is wrong. Every other open must fail.
                wrong.push(format!("{label}: opened, RocksDB refuses: {}", probe["open"]));
                continue;
            }
            let sets: Vec<&str> = [probe["rows"].as_str()].into_iter().flatten().collect();
            let expected: Vec<(Vec<u8>, Vec<u8>)> = rows
                .iter()
                .filter(|r| {
                    sets.contains(&r["set"].as_str().unwrap_or_default())
                        && r["cf"] == "default"
                        && r["v"].is_string()
                })
                .map(|r| (hex::of(&r["k"]), hex::of(&r["v"])))
                .collect();
            let mut iter = match db.iter() {
                Ok(iter) => iter,
                Err(_) if probe["scan"]["code"] != "OK" => continue,
                Err(error) => {
                    stricter.push(format!("{label}: {error}"));
                    continue;
                }
            };
            let mut got = Vec::new();
            iter.seek_to_first();
            while iter.valid() {
                got.push((iter.key().to_vec(), iter.value().to_vec()));
                iter.next();
            }
            let theirs_ok = probe["scan"]["code"] == "OK";
            match iter.status() {
                Ok(()) if !theirs_ok => {
                    wrong.push(format!("{label}: scanned, RocksDB fails: {}", probe["scan"]))
                }
                Ok(()) if got != expected => {
                    wrong.push(format!("{label}: {} rows, RocksDB {}", got.len(), expected.len()));
                }
                Err(error) if theirs_ok => stricter.push(format!("{label}: {error}")),
                _ => as_rocksdb += 1,
            }
        }
    }
    println!("{as_rocksdb} as RocksDB; stricter:\n{}", stricter.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_of_a_call_without_effect_are_rejected_by_name() {
    use ironstone::WriteOptions;
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), creating()).unwrap();
    db.put(b"k", b"v").unwrap();
    let write = WriteOptions { protection_bytes_per_key: 4, ..WriteOptions::default() };
    assert_eq!(db.put_with(b"k", b"w", &write).unwrap_err().kind(), ironstone::Kind::NotSupported);
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
}
