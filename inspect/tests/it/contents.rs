//! What the doctor finds in the golden databases, with and without a read of every byte.

use env::Env;
use ironstone_inspect::contents;
use ironstone_inspect::doctor::examine;
use ironstone_inspect::model::{Budget, Database, LogLine, Weight, load};

use crate::client::golden;

/// The damaged golden databases: the rule that names the damage from the metadata alone, and the file and the offset that a read of every
/// byte names. The reason says why no read finds the damage.
const DAMAGED: [(&str, Option<&str>, Result<(&str, Option<u64>), &str>); 37] = [
    ("blob-bit", None, Ok(("000010.blob", Some(6349)))),
    ("blob-cut", Some("damaged-files"), Ok(("000010.blob", Some(6361)))),
    ("blob-missing", Some("damaged-files"), Ok(("000010.blob", None))),
    ("current-missing", Some("damaged-files"), Ok(("CURRENT", None))),
    ("current-no-newline", Some("damaged-files"), Ok(("CURRENT", Some(15)))),
    ("current-wrong", Some("damaged-files"), Ok(("MANIFEST-000005", None))),
    ("manifest-bit-last", Some("damaged-files"), Ok(("MANIFEST-000005", Some(557)))),
    ("manifest-bit-middle", Some("damaged-files"), Ok(("MANIFEST-000005", Some(253)))),
    ("manifest-cut", Some("lost-edits"), Ok(("MANIFEST-000005", None))),
    ("manifest-cut-flush", Some("lost-edits"), Ok(("MANIFEST-000005", None))),
    ("manifest-ignorable-tag", None, Err("the tag of a later release that each release may ignore")),
    ("manifest-missing", Some("damaged-files"), Ok(("MANIFEST-000005", None))),
    ("manifest-unknown-tags", Some("damaged-files"), Ok(("MANIFEST-000005", None))),
    ("options-garbage", Some("damaged-options"), Ok(("OPTIONS-000007", Some(0)))),
    ("sst-cut", Some("damaged-files"), Ok(("000010.sst", None))),
    ("sst-data-bit", None, Ok(("000010.sst", Some(100)))),
    ("sst-data-bit-nochecksum", None, Err("the blocks have no checksum")),
    ("sst-filter-bit", None, Ok(("000010.sst", Some(6016)))),
    ("sst-footer", Some("damaged-files"), Ok(("000012.sst", Some(6061)))),
    ("sst-index-bit", Some("damaged-files"), Ok(("000012.sst", Some(4697)))),
    ("sst-missing", Some("damaged-files"), Ok(("000010.sst", None))),
    ("sst-other", Some("damaged-files"), Ok(("000012.sst", None))),
    ("sst-props-bit", Some("damaged-files"), Ok(("000012.sst", Some(4767)))),
    ("wal-bad-count", None, Ok(("000004.log", Some(5905)))),
    ("wal-bad-tag", None, Ok(("000004.log", Some(5893)))),
    ("wal-bit-first-of-three", None, Ok(("000004.log", Some(2855)))),
    ("wal-bit-last", None, Ok(("000004.log", Some(17282)))),
    ("wal-bit-middle", None, Ok(("000004.log", Some(8600)))),
    ("wal-missing-middle", None, Err("writes without WAL leave the same gap, and no file names the WAL")),
    ("wal-missing-tracked", Some("damaged-files"), Ok(("000010.log", None))),
    ("wal-sequence-gap", None, Err("writes without WAL leave the same gap")),
    ("wal-short-batch", None, Ok(("000004.log", Some(5859)))),
    ("wal-torn-tail", None, Err("a crash leaves the same end: the report has a note")),
    ("wal-unknown-family", None, Err("writes to a dropped column family look the same")),
    ("wal-unknown-record-type", None, Ok(("000004.log", Some(5879)))),
    ("wal-zero-page", None, Ok(("000004.log", Some(16359)))),
    (
        "wrong-comparator",
        None,
        Err("nothing on disk is damaged: the program of the user has another comparator"),
    ),
];

#[test]
fn damage_of_the_golden_databases_is_found_where_its_bytes_show_it() {
    for (name, rule, deep) in DAMAGED {
        let dir = golden("corrupt").join(name);
        let mut db = load(&Env::posix(), &dir, &Budget::COMMAND).unwrap();
        let found: Vec<&str> = examine(&db).iter().map(|finding| finding.rule).collect();
        assert_eq!(found, rule.as_slice(), "{name}: {:?}", db.problems);
        contents::read(&Env::posix(), &dir, &mut db).unwrap_or_else(|error| panic!("{name}: {error}"));
        let findings = examine(&db);
        let Ok((file, offset)) = deep else {
            assert!(findings.is_empty(), "{name}: {findings:?}");
            continue;
        };
        let damage = |problem: &&ironstone_inspect::model::Problem| problem.weight == Weight::Damage;
        let here = db.problems.iter().filter(damage).find(|problem| problem.file == file);
        let here = here.unwrap_or_else(|| panic!("{name}: {:?}", db.problems));
        assert!(offset.is_none() || here.offset == offset, "{name}: {here:?}");
        assert!(!findings.is_empty(), "{name}");
    }
}

#[test]
fn change_for_damage_names_deep_only_before_a_read_of_every_byte() {
    let change = |db: &Database, rule: &str| {
        let found = examine(db).into_iter().find(|finding| finding.rule == rule);
        found.unwrap_or_else(|| panic!("no finding of {rule}")).change_sentence()
    };
    let error = LogLine { micros: 1, text: "Corruption: block checksum mismatch".to_string() };
    for (name, is_damaged) in [("corrupt/sst-cut", true), ("levels", false)] {
        let dir = golden(name);
        let mut db = load(&Env::posix(), &dir, &Budget::COMMAND).unwrap();
        db.log.errors.push(error.clone());
        assert!(change(&db, "errors-in-log").contains("doctor --deep"));
        contents::read(&Env::posix(), &dir, &mut db).unwrap();
        let after = change(&db, "errors-in-log");
        assert!(!after.contains("--deep"), "{after}");
        assert_eq!(after.contains("restore a backup"), is_damaged, "{after}");
        if is_damaged {
            assert_eq!(change(&db, "damaged-files"), after);
        }
    }
}

#[test]
fn read_of_every_byte_of_a_sound_golden_database_finds_nothing() {
    let mut read = 0;
    for entry in std::fs::read_dir(golden("")).unwrap() {
        let dir = entry.unwrap().path();
        let is_database = dir.is_dir() && dir.join("CURRENT").exists();
        if !is_database || dir.ends_with("ingest-embedded-blobs") {
            continue;
        }
        let mut db = load(&Env::posix(), &dir, &Budget::COMMAND).unwrap();
        let contents = contents::read(&Env::posix(), &dir, &mut db).unwrap();
        assert!(contents.files > 0 && contents.bytes > 0, "{}", dir.display());
        assert!(examine(&db).is_empty(), "{}: {:?}", dir.display(), db.problems);
        read += 1;
    }
    assert!(read > 60, "{read}");
    // The files of the second path are not in this directory.
    let dir = golden("multi-path").join("db");
    let mut db = load(&Env::posix(), &dir, &Budget::COMMAND).unwrap();
    contents::read(&Env::posix(), &dir, &mut db).unwrap();
    let damage: Vec<_> = db.problems.iter().filter(|problem| problem.weight == Weight::Damage).collect();
    assert!(damage.is_empty(), "{damage:?}");
}

#[test]
fn unknown_format_of_an_sst_file_is_an_error_with_its_name() {
    let dir = golden("ingest-embedded-blobs");
    let mut db = load(&Env::posix(), &dir, &Budget::COMMAND).unwrap();
    let error = contents::read(&Env::posix(), &dir, &mut db).unwrap_err();
    assert!(error.to_string().contains("embedded blobs"), "{error}");
}

#[test]
fn comparator_of_the_options_file_that_differs_from_the_data_is_found() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in crate::client::content(&golden("levels")) {
        let text = String::from_utf8_lossy(&bytes);
        let changed = text
            .replace("comparator=leveldb.BytewiseComparator", "comparator=rocksdb.ReverseBytewiseComparator");
        let is_options = name.starts_with("OPTIONS");
        std::fs::write(dir.path().join(&name), if is_options { changed.into_bytes() } else { bytes })
            .unwrap();
    }
    let db = load(&Env::posix(), dir.path(), &Budget::COMMAND).unwrap();
    let found = examine(&db);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].rule, found[0].family.as_deref()), ("other-comparator", Some("default")));
    assert!(found[0].evidence[0].contains("comparator=rocksdb.ReverseBytewiseComparator"), "{found:?}");
}
