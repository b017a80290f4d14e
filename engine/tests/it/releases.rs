//! Databases of older releases of RocksDB: each is read, written, compacted and read again.
//!
//! `fixtures/releases/README.md` says how the databases were made. All of them have the same entries.

use std::path::{Path, PathBuf};

use env::Env;
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::{Components, FamilyDescriptor};
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::file::{self, ReadConfig};
use ironstone_engine::options::{BottommostLevelCompaction, CompactRangeOptions, FlushOptions, WriteOptions};

use testkit::hex;

use crate::golden::{Row, compare, copy};

fn releases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/releases")
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(releases().join("rows.txt")).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, family, key, value] = fields[..] else { panic!("{line}") };
        Row { family: family.to_string(), key: hex::decode(key), value: hex::decode(value), ts: Vec::new() }
    };
    text.lines().map(row).collect()
}

/// Opens a copy with the options of its own OPTIONS file.
fn open(dir: &Path) -> Db {
    let (_, mut options) = file::load_latest(&Env::posix(), dir, &ReadConfig::default()).unwrap();
    // Old releases write the path of the database as the directory of the WALs.
    options.db.wal_dir.clear();
    let families = options.families.into_iter().map(|(name, o)| FamilyDescriptor::new(&name, o)).collect();
    let request = OpenRequest {
        path: dir.to_path_buf(),
        options: options.db,
        components: Components::default(),
        families,
        others: None,
    };
    Db::open(request).unwrap()
}

#[test]
fn database_of_each_old_release_is_read_written_and_compacted() {
    let mut seen = 0;
    for entry in std::fs::read_dir(releases()).unwrap().map(|e| e.unwrap()) {
        if !entry.file_type().unwrap().is_dir() {
            continue;
        }
        seen += 1;
        let name = entry.file_name().into_string().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("db");
        copy(&entry.path(), &dir);
        let mut rows = rows();
        let check = |db: &Db, rows: &[Row], when: &str| {
            compare(db, rows).unwrap_or_else(|e| panic!("{name} {when}: {e}"));
        };
        let db = open(&dir);
        check(&db, &rows, "after the first open");
        for family in db.families() {
            let mut batch = WriteBatch::new();
            batch.put_in(family.id(), b"\xff", name.as_bytes());
            db.write(&mut batch, &WriteOptions::default()).unwrap();
            db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
            let forced = CompactRangeOptions {
                bottommost_level_compaction: BottommostLevelCompaction::Force,
                ..CompactRangeOptions::default()
            };
            db.compactions()
                .compact_range(&family, None, None, &forced)
                .unwrap_or_else(|e| panic!("{name}: compaction of {}: {e}", family.name()));
            let last = rows.iter().rposition(|row| row.family == family.name()).unwrap();
            let row = Row {
                family: family.name().to_string(),
                key: b"\xff".to_vec(),
                value: name.clone().into_bytes(),
                ts: Vec::new(),
            };
            rows.insert(last + 1, row);
        }
        check(&db, &rows, "after the compaction");
        drop(db);
        check(&open(&dir), &rows, "after the second open");
    }
    assert!(seen >= 15, "{seen} databases");
}
