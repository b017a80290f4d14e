//! Databases that RocksDB wrote, built anew without their MANIFEST.

use std::path::Path;

use base::Kind;
use ironstone_engine::db::{Db, repair};

use crate::golden::{compare, each, request};

/// Blobs are not read, and a table with blobs in it (`ingest-embedded-blobs`) is no damaged one: it is left alone.
#[test]
fn tables_with_blobs_in_them_are_left_alone() {
    each(|name, meta, rows, dir| {
        let db = request(meta, dir).path;
        if name != "ingest-embedded-blobs" && !name.starts_with("blob-") {
            return;
        }
        let refused = [
            repair(request(meta, dir)).err(),
            without_manifest(&db).and_then(|()| repair(request(meta, dir)).err()),
        ];
        for error in refused {
            assert_eq!(error.unwrap().kind(), Kind::NotSupported, "{name}, {} rows", rows.len());
        }
        assert!(!db.join("lost").exists(), "{name}");
    });
}

fn without_manifest(db: &Path) -> Option<()> {
    for entry in std::fs::read_dir(db).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("MANIFEST") {
            std::fs::remove_file(path).unwrap();
        }
    }
    Some(())
}

#[test]
fn golden_databases_come_back_without_their_manifest() {
    let (mut same, mut wrong) = (Vec::new(), Vec::new());
    each(|name, meta, rows, dir| {
        if Db::open_read_only(request(meta, dir)).is_err() {
            return;
        }
        without_manifest(&request(meta, dir).path);
        let report = match repair(request(meta, dir)) {
            Ok(report) => report,
            Err(error) if error.kind() == Kind::NotSupported => return,
            Err(error) => return wrong.push(format!("{name}: {error}")),
        };
        let found = Db::open(request(meta, dir)).map_err(|e| e.to_string()).and_then(|db| compare(&db, rows));
        match found {
            Ok(()) => same.push(name.to_string()),
            Err(error) => {
                wrong.push(format!("{name}: {error}\n{:#?}\n{:#?}", report.problems, report.actions))
            }
        }
    });
    assert!(same.len() >= 90, "{}: {}", same.len(), same.join(" "));
    assert!(wrong.is_empty(), "{} {}", wrong.len(), wrong.join("\n"));
}
