//! Databases that RocksDB wrote are rebuilt without their MANIFEST.

use std::path::Path;

use base::Kind;
use ironstone_engine::db::{Db, repair};
use ironstone_engine::options::{BottommostLevelCompaction, CompactRangeOptions};

use crate::golden::{compare, each, request};

/// Repair does not change an SST file with embedded blobs, with and without a MANIFEST: a rewrite of its entries
/// would lose the values.
#[test]
fn a_repair_does_not_change_tables_with_embedded_blobs() {
    each(|name, meta, _, dir| {
        let db = request(meta, dir).path;
        if name != "ingest-embedded-blobs" {
            return;
        }
        assert_eq!(repair(request(meta, dir)).unwrap_err().kind(), Kind::NotSupported);
        without_manifest(&db);
        assert_eq!(repair(request(meta, dir)).unwrap_err().kind(), Kind::NotSupported);
        assert!(!db.join("lost").exists());
    });
}

/// A forced compaction carries the values of an SST file with embedded blobs to its output: RocksDB's own `ldb compact` is the
/// reference for the rows.
#[test]
fn forced_compaction_keeps_every_embedded_blob() {
    let mut seen = 0;
    each(|name, meta, rows, dir| {
        if name != "ingest-embedded-blobs" {
            return;
        }
        seen += 1;
        let db = Db::open(request(meta, dir)).unwrap();
        let numbers = |db: &Db| -> Vec<_> {
            let version = db.default_family().unwrap().pin().version.clone();
            version.files().map(|(_, file)| file.number).collect()
        };
        let before = numbers(&db);
        let force = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        db.compactions().compact_range(&db.default_family().unwrap(), None, None, &force).unwrap();
        let after = numbers(&db);
        assert!(
            after.iter().all(|number| !before.contains(number)),
            "each file is rewritten: {before:?} {after:?}"
        );
        compare(&db, rows).unwrap();
        let large = crate::basic::scan(&db).iter().filter(|(_, value)| value.len() >= 500).count();
        assert_eq!(large, 7, "the values that were embedded blobs");
        drop(db);
        compare(&Db::open_read_only(request(meta, dir)).unwrap(), rows).unwrap();
    });
    assert_eq!(seen, 1);
}

/// Reads of a damaged or missing blob file fail. The survey names the file. All other values can be read.
#[test]
fn a_survey_names_damaged_and_missing_blob_files() {
    use ironstone_engine::db::fsck;
    each(|name, meta, rows, dir| {
        if !name.starts_with("blob-") && name != "wide-blob" {
            return;
        }
        let db = request(meta, dir).path;
        let sound = fsck(&request(meta, dir)).unwrap();
        assert!(sound.is_sound(), "{name}: {:?}", sound.problems);
        let mut files: Vec<_> = std::fs::read_dir(&db).unwrap().map(|e| e.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "blob"));
        files.sort();
        let blob = files.pop().unwrap();
        let whole = std::fs::read(&blob).unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        std::fs::write(&blob, damaged).unwrap();
        let report = fsck(&request(meta, dir)).unwrap();
        assert!(report.problems.iter().any(|p| p.file == blob && p.offset.is_some()), "{name}: {report:?}");
        assert!(compare(&Db::open_read_only(request(meta, dir)).unwrap(), rows).is_err());
        std::fs::remove_file(&blob).unwrap();
        let report = fsck(&request(meta, dir)).unwrap();
        assert!(report.problems.iter().any(|p| p.file == blob && p.what.contains("missing")), "{name}");
    });
}

/// Plain and cuckoo tables have no checksums: a survey decodes each entry.
#[test]
fn a_survey_reads_plain_and_cuckoo_tables() {
    use ironstone_engine::db::fsck;
    each(|name, meta, _, dir| {
        if !name.starts_with("plain-table") && name != "cuckoo-table" {
            return;
        }
        let sound = fsck(&request(meta, dir)).unwrap();
        assert!(sound.is_sound(), "{name}: {:?}", sound.problems);
        let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "sst"));
        files.sort();
        let table = files.pop().unwrap();
        let bytes = std::fs::read(&table).unwrap();
        std::fs::write(&table, &bytes[..bytes.len() - 100]).unwrap();
        let report = fsck(&request(meta, dir)).unwrap();
        assert!(report.problems.iter().any(|p| p.file == table), "{name}: {report:?}");
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
fn golden_databases_are_rebuilt_without_their_manifest() {
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
