//! `ldb` lists and dumps the blob files of a database too, and prints map properties as RocksDB's `ldb` does.

use std::path::Path;

use crate::support::{ldb, ldb_on, oracle, theirs};

const BLOBS: [&str; 2] = ["--enable_blob_files=true", "--blob_compression_type=lz4"];

/// Makes a database with one SST file and two values in a blob file.
fn with_blobs() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let db = format!("--db={}", scratch.path().display());
    let load = [&db, "load", "--create_if_missing", "--compact", BLOBS[0], BLOBS[1]];
    let long = "x".repeat(300);
    let input = format!("apple ==> a first value\nbread ==> {long}\n");
    let ran = ldb(&load, input.as_bytes());
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    scratch
}

/// Returns the names of the files with an extension.
fn names(dir: &Path, extension: &str) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.filter(|path| path.extension().is_some_and(|found| found == extension));
    let mut found: Vec<_> = found.map(|path| path.display().to_string()).collect();
    found.sort();
    found
}

/// Runs the command, and compares its output with RocksDB's.
#[track_caller]
fn same_as_rocksdb(dir: &Path, args: &[&str]) -> String {
    let ours = ldb_on(dir, args).good();
    if let Some(tool) = oracle("ldb") {
        let db = format!("--db={}", dir.display());
        let theirs = theirs(&tool, [db.as_str()].iter().chain(args));
        assert_eq!(ours, theirs.text(), "{args:?}");
    } else {
        eprintln!("SKIPPED the comparison of {args:?}: set IRONSTONE_ORACLE");
    }
    ours
}

#[test]
fn live_blob_files_are_listed() {
    let scratch = with_blobs();
    let (tables, blobs) = (names(scratch.path(), "sst"), names(scratch.path(), "blob"));
    assert!(!tables.is_empty() && !blobs.is_empty(), "{tables:?} {blobs:?}");
    let text = same_as_rocksdb(scratch.path(), &["list_live_files_metadata"]);
    let (_, after) = text.split_once("Live Blob Files:\n").unwrap();
    assert_eq!(after, format!("{}\n------------------------------\n", blobs.join("\n")));
    let text = same_as_rocksdb(scratch.path(), &["list_live_files_metadata", "--sort_by_filename"]);
    for blob in &blobs {
        assert!(text.contains(&format!("{blob}, column family 'default'\n")), "{text}");
    }
    let json = ldb_on(scratch.path(), &["list_live_files_metadata", "--json"]).good();
    let rows: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counted = rows.iter().filter_map(|row| row["blobs"].as_u64()).sum::<u64>();
    assert_eq!((rows.len(), counted), (tables.len() + blobs.len(), 2), "{json}");
}

#[test]
fn live_blob_files_are_dumped() {
    let scratch = with_blobs();
    let dump = same_as_rocksdb(scratch.path(), &["dump_live_files", "--dump_uncompressed_blobs"]);
    assert!(dump.contains(&format!("  raw blob   : {}\n", "x".repeat(300))), "{dump}");
    assert!(dump.contains("  key        : apple\n"), "{dump}");
    let dump = ldb_on(scratch.path(), &["dump_live_files"]);
    assert!(dump.text().contains("  total blob size: ") && !dump.text().contains("  raw blob "));
}

#[test]
fn map_properties_are_printed_with_a_line_for_each_key() {
    let scratch = with_blobs();
    for name in [
        "rocksdb.cfstats",
        "rocksdb.cf-write-stall-stats",
        "rocksdb.db-write-stall-stats",
        "rocksdb.aggregated-table-properties",
        "rocksdb.aggregated-table-properties-at-level0",
        "rocksdb.estimate-num-keys",
    ] {
        same_as_rocksdb(scratch.path(), &["get_property", name]);
    }
    let text = ldb_on(scratch.path(), &["get_property", "rocksdb.dbstats"]).good();
    assert!(text.starts_with("rocksdb.dbstats.db.uptime: "), "{text}");
    let text = ldb_on(scratch.path(), &["get_property", "rocksdb.block-cache-entry-stats"]).good();
    assert!(text.contains("rocksdb.block-cache-entry-stats.capacity: "), "{text}");
}
