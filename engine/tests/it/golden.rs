//! Each golden database reads exactly as its expectation says, or is rejected with the name of the missing feature.
//!
//! RocksDB wrote the databases and the expectations (`fixtures/golden`). Each database is copied, opened for reading
//! only, and then opened for writing. The test compares every entry of every column family, by iteration and by
//! lookup.

use std::path::{Path, PathBuf};

use base::order::BuiltinPrefix;
use base::{Kind, Order};
use ironstone_engine::components::{Components, FamilyDescriptor};
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::family::Family;
use ironstone_engine::options::{DbOptions, DbPath, FamilyOptions, ReadOptions};
use serde_json::Value;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden")
}

/// Returns the bytes of a JSON string; no bytes for another value.
fn unhex(text: &Value) -> Vec<u8> {
    testkit::hex::decode(text.as_str().unwrap_or_default())
}

pub(crate) struct Row {
    pub family: String,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub ts: Vec<u8>,
}

/// Copies a directory tree.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn descriptors(meta: &Value, dir: &Path) -> Vec<FamilyDescriptor> {
    let families = meta["cfs"].as_array().unwrap();
    families
        .iter()
        .map(|cf| {
            let mut options = FamilyOptions {
                comparator: Order::by_name(cf["comparator"].as_str().unwrap()).unwrap(),
                ..FamilyOptions::default()
            };
            if let Some(id) = cf["merge_operator_id"].as_str() {
                options.merge_operator = Some(lsm::merge::by_name(id).unwrap());
            }
            if let Some(prefix) = cf["prefix_extractor"].as_str().and_then(BuiltinPrefix::parse) {
                options.prefix_extractor = Some(std::sync::Arc::new(prefix));
            }
            let name = cf["name"].as_str().unwrap();
            if let Some(paths) = meta["cf_paths"][name].as_array() {
                options.cf_paths = db_paths(paths, dir);
            }
            FamilyDescriptor::new(name, options)
        })
        .collect()
}

fn db_paths(paths: &[Value], dir: &Path) -> Vec<DbPath> {
    let path =
        |p: &Value| DbPath { path: dir.join(p[0].as_str().unwrap()), target_size: p[1].as_u64().unwrap() };
    paths.iter().map(path).collect()
}

pub(crate) fn request(meta: &Value, dir: &Path) -> OpenRequest {
    let mut options = DbOptions::default();
    let path = meta["db"].as_str().map_or_else(|| dir.to_path_buf(), |db| dir.join(db));
    if let Some(paths) = meta["db_paths"].as_array() {
        options.db_paths = db_paths(paths, dir);
    }
    if let Some(wal) = meta["wal_dir"].as_str() {
        options.wal_dir = dir.join(wal).to_str().unwrap().to_string();
    }
    OpenRequest {
        path,
        options,
        components: Components::default(),
        families: descriptors(meta, dir),
        others: None,
    }
}

fn read_options(family: &Family) -> ReadOptions {
    let timestamp = (family.order().user.timestamp_size() > 0).then(|| vec![0xff; 8]);
    ReadOptions { timestamp, total_order_seek: true, ..ReadOptions::default() }
}

pub(crate) fn compare(db: &Db, rows: &[Row]) -> Result<(), String> {
    for family in db.families() {
        let expected: Vec<&Row> = rows.iter().filter(|r| r.family == family.name()).collect();
        let mut iter = db.iter(&family, read_options(&family)).map_err(|e| e.to_string())?;
        iter.seek_to_first();
        for (i, row) in expected.iter().enumerate() {
            if !iter.valid() {
                return Err(format!(
                    "{}: row {i} of {} is missing: {:?}",
                    family.name(),
                    expected.len(),
                    iter.status()
                ));
            }
            if iter.key() != row.key
                || iter.value() != row.value
                || (!row.ts.is_empty() && iter.timestamp() != row.ts)
            {
                return Err(format!(
                    "{}: row {i}: {:?} = {:?}, expected {:?} = {:?}",
                    family.name(),
                    iter.key().escape_ascii().to_string(),
                    iter.value().escape_ascii().to_string(),
                    row.key.escape_ascii().to_string(),
                    row.value.escape_ascii().to_string()
                ));
            }
            let got = db.get(&family, &row.key, &read_options(&family)).map_err(|e| e.to_string())?;
            if got.as_deref() != Some(&row.value[..]) {
                return Err(format!("{}: get of row {i} differs", family.name()));
            }
            iter.next();
        }
        if iter.valid() {
            return Err(format!("{}: more rows than {}", family.name(), expected.len()));
        }
        iter.status().map_err(|e| format!("{}: {e}", family.name()))?;
    }
    Ok(())
}

/// Calls `visit` for a copy of every golden database, or of the database that `GOLDEN` names: name, description,
/// entries.
pub(crate) fn each(mut visit: impl FnMut(&str, &Value, &[Row], &Path)) {
    let only = std::env::var("GOLDEN").ok();
    let mut names: Vec<_> = std::fs::read_dir(golden())
        .unwrap()
        .filter_map(|e| e.unwrap().file_name().to_str()?.strip_suffix(".expect.jsonl").map(str::to_string))
        .collect();
    names.sort();
    for name in names {
        let dir = golden().join(&name);
        if only.as_ref().is_some_and(|o| *o != name) || !dir.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(golden().join(format!("{name}.expect.jsonl"))).unwrap();
        let mut lines = text.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
        let meta = lines.next().unwrap();
        if matches!(meta["closed"].as_str(), Some("backup" | "export")) {
            continue;
        }
        let rows: Vec<Row> = lines
            .filter(|l| l.get("h").is_none())
            .map(|l| Row {
                family: l["cf"].as_str().unwrap().to_string(),
                key: unhex(&l["k"]),
                value: unhex(&l["v"]),
                ts: unhex(&l["ts"]),
            })
            .collect();
        let temp = tempfile::tempdir().unwrap();
        copy(&dir, temp.path());
        visit(&name, &meta, &rows, temp.path());
    }
}

#[test]
fn golden_databases_read_as_expected() {
    let (mut read, mut refused, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    each(|name, meta, rows, dir| {
        for read_only in [true, false] {
            let mut request = request(meta, dir);
            if name == "ts-not-persisted" {
                request.options.allow_concurrent_memtable_write = false;
                request.families[0].options.persist_user_defined_timestamps = false;
            }
            let opened = if read_only { Db::open_read_only(request) } else { Db::open(request) };
            let outcome = match opened {
                Err(e) if e.kind() == Kind::NotSupported => {
                    refused.push(format!("{name}: {e}"));
                    break;
                }
                Err(e) => Err(e.to_string()),
                Ok(db) => compare(&db, rows),
            };
            match outcome {
                Ok(()) => read.push(format!("{name} {read_only}")),
                Err(e) if e.contains("Not implemented: ") => refused.push(format!("{name}: {e}")),
                Err(e) => wrong.push(format!("{name} (read only: {read_only}): {e}")),
            }
        }
    });
    println!("read {} refused {}:\n{}", read.len(), refused.len(), refused.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused.iter().all(|line| line.starts_with("txn-2pc")), "{}", refused.join("\n"));
}
