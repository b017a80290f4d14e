//! Compares options with the options that RocksDB 11.8.1 writes, reads, corrects and rejects.

mod files;
mod names;
mod rules;

use super::*;

/// Returns the options that RocksDB has after an open with default options and `create_if_missing`.
fn opened() -> (DbOptions, FamilyOptions) {
    let mut db = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let mut family = FamilyOptions::default();
    db.sanitize(std::path::Path::new("/db"), &mut Vec::new());
    family.sanitize(&db, false, &mut Vec::new());
    (db, family)
}

#[test]
fn log_lines_are_rocksdbs() {
    let (db, mut family) = opened();
    family.set("merge_operator", "stringappend").unwrap();
    let mut lines = db.log_lines();
    lines.extend(family.log_lines(None));
    let mask = |text: &str| {
        let pointer =
            |line: &str| line.find("0x").map_or(line.to_string(), |at| format!("{}0x", &line[..at]));
        text.lines().map(pointer).collect::<Vec<_>>().join("\n")
    };
    let ours = mask(&lines.join("\n").replace("(nil)", "0x"));
    let theirs = include_str!("rocksdb_log.txt").replace("(nil)", "0x");
    // The block cache is not part of the options. With a block cache RocksDB writes lines about it; skip these lines.
    let cache = ["block_cache_name", "block_cache_options", " : "];
    let theirs =
        theirs.lines().filter(|line| !cache.iter().any(|c| line.contains(c)) || line.contains("delayed"));
    let theirs = mask(&theirs.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"));
    for (ours, theirs) in ours.lines().filter(|l| !l.is_empty()).zip(theirs.lines()) {
        if !theirs.contains("Options.info_log") && !theirs.contains("write_buffer_manager") {
            assert_eq!(ours, theirs);
        }
    }
    assert_eq!(ours.lines().filter(|l| !l.is_empty()).count(), theirs.lines().count());
}

#[test]
fn every_row_has_a_doc_and_a_default_that_reads_back() {
    for row in DbOptions::ROWS {
        assert!(!row.doc.trim().is_empty());
        let mut options = DbOptions::default();
        (row.set)(&mut options, &row.default_text()).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        assert_eq!((row.print)(&options), row.default_text(), "{}", row.name);
    }
    for row in FamilyOptions::ROWS {
        assert!(!row.doc.trim().is_empty());
        let mut options = FamilyOptions::default();
        (row.set)(&mut options, &row.default_text()).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        assert_eq!((row.print)(&options), row.default_text(), "{}", row.name);
    }
}
