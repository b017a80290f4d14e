//! The package records: `ldb load` loads them, and they are read by key and by range, after a kill, and by RocksDB.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testkit::golden::{self, Row};
use testkit::hex::upper as hex;

use crate::support::{ldb, ldb_on, oracle, sst_dump, theirs};

fn records() -> Vec<Row> {
    golden::load("levels-dynamic").rows
}

/// Returns the records in the form that `load --hex` reads and `scan --hex` prints.
fn lines(rows: &[Row]) -> Vec<u8> {
    let line = |row: &Row| format!("0x{} ==> 0x{}\n", hex(&row.key), hex(&row.value));
    rows.iter().map(line).collect::<String>().into_bytes()
}

fn load(dir: &Path, rows: &[Row], more: &[&str]) -> String {
    let db = format!("--db={}", dir.display());
    let args = [&[db.as_str(), "load", "--hex", "--create_if_missing"], more].concat();
    ldb(&args, &lines(rows)).good()
}

/// Reads the records by a scan, by key, and by range.
fn read_back(dir: &Path, rows: &[Row]) {
    assert!(ldb_on(dir, &["scan", "--hex"]).out == lines(rows), "a scan gives other rows");
    for row in rows.iter().step_by(rows.len() / 20) {
        let got = ldb_on(dir, &["get", "--hex", &format!("0x{}", hex(&row.key))]).good();
        assert_eq!(got, format!("0x{}\n", hex(&row.value)));
    }
    let (from, to) = (rows.len() / 3, rows.len() / 2);
    let bound = |name: &str, at: usize| format!("--{name}=0x{}", hex(&rows[at].key));
    let range = ldb_on(dir, &["scan", "--hex", &bound("from", from), &bound("to", to)]);
    assert!(range.out == lines(&rows[from..to]), "a range gives other rows");
}

/// RocksDB's `ldb` reads the same records, from a copy, because it may open the database for writing.
fn rocksdb_reads(dir: &Path, rows: &[Row]) {
    let Some(ldb) = oracle("ldb") else {
        eprintln!("SKIPPED: RocksDB reads what was loaded: set IRONSTONE_ORACLE to the folder of its tools");
        return;
    };
    let copy = tempfile::tempdir().unwrap();
    golden::copy_dir(dir, copy.path());
    let db = format!("--db={}", copy.path().display());
    let read = theirs(&ldb, [&db, "scan", "--hex"]);
    assert!(read.out == lines(rows), "RocksDB reads other rows: {}", read.err);
    assert_eq!(theirs(&ldb, [&db, "checkconsistency"]).text(), "OK\n");
    assert_eq!(theirs(&ldb, [&db, "put", "zzz", "after us"]).text(), "OK\n");
    // Ironstone reads the entries that RocksDB wrote.
    assert_eq!(ldb_on(copy.path(), &["get", "zzz"]).good(), "after us\n");
    assert_eq!(ldb_on(copy.path(), &["scan", "--no_value"]).good().lines().count(), rows.len() + 1);
}

#[test]
fn records_loaded_are_read_back_by_key_and_by_range() {
    let rows = records();
    for more in [
        &[][..],
        &["--compact"],
        &["--disable_wal"],
        &["--bulk_load", "--compact"],
        &["--write_buffer_size=65536", "--compression_type=zstd", "--bloom_bits=10", "--block_size=1024"],
    ] {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load(dir.path(), &rows, more), "");
        read_back(dir.path(), &rows);
        rocksdb_reads(dir.path(), &rows);
        assert_eq!(ldb_on(dir.path(), &["compact"]).good(), "");
        read_back(dir.path(), &rows);
        rocksdb_reads(dir.path(), &rows);
    }
}

#[test]
fn records_survive_a_kill_in_the_middle_of_loading() {
    let rows = records();
    let dir = tempfile::tempdir().unwrap();
    let mut loading = Command::new(env!("CARGO_BIN_EXE_ldb"))
        .arg(format!("--db={}", dir.path().display()))
        .args(["load", "--hex", "--create_if_missing", "--write_buffer_size=131072"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = loading.stdin.take().unwrap();
    input.write_all(&lines(&rows)).unwrap();
    // The load waits for more input. A second process reads until the last record is there.
    let last = format!("0x{}", hex(&rows[rows.len() - 1].key));
    let started = Instant::now();
    while ldb_on(dir.path(), &["get", "--hex", &last]).text()
        != format!("0x{}\n", hex(&rows[rows.len() - 1].value))
    {
        assert!(loading.try_wait().unwrap().is_none(), "the loader ended");
        assert!(started.elapsed() < Duration::from_secs(60), "the records do not arrive");
        std::thread::yield_now();
    }
    loading.kill().unwrap();
    loading.wait().unwrap();
    rocksdb_reads(dir.path(), &rows);
    read_back(dir.path(), &rows);
    assert_eq!(ldb_on(dir.path(), &["put", "zz", "1"]).good(), "OK\n");
    assert_eq!(ldb_on(dir.path(), &["delete", "zz"]).good(), "OK\n");
    read_back(dir.path(), &rows);
}

#[test]
fn what_was_scanned_can_be_loaded_and_changed() {
    let dir = tempfile::tempdir().unwrap();
    let db = format!("--db={}", dir.path().display());
    let loaded = ldb(
        &[&db, "load", "--create_if_missing"],
        b"a ==> 1\nb ==> 2\nno row\nc ==> 3 ==> 4\nKeys in range: 3\n",
    );
    assert_eq!(loaded.good(), "Warning: 1 bad lines ignored.\n");
    let on = |args: &[&str]| ldb_on(dir.path(), args).good();
    assert_eq!(on(&["scan"]), "a ==> 1\nb ==> 2\nc ==> 3 ==> 4\n");
    assert_eq!(on(&["dump"]), "a ==> 1\nb ==> 2\nc ==> 3 ==> 4\nKeys in range: 3\n");
    assert_eq!(on(&["batchput", "d", "4", "e", "5"]), "OK\n");
    assert_eq!(on(&["singledelete", "d"]), "OK\n");
    assert_eq!(on(&["deleterange", "b", "d"]), "OK\n");
    assert_eq!(on(&["multi_get", "a", "b", "e"]), "a ==> 1\nKey not found: b\ne ==> 5\n");
    assert_eq!(on(&["put_entity", "w", "b:2", ":x", "a:1"]), "OK\n");
    assert_eq!(on(&["get_entity", "w"]), ":x a:1 b:2\n");
    assert_eq!(on(&["get", "w"]), "x\n");
    assert_eq!(
        on(&["scan", "--json"]),
        "{\"key\": \"a\", \"value\": \"1\"}\n{\"key\": \"e\", \"value\": \"5\"}\n{\"key\": \"w\", \"columns\": [{\"name\": \"\", \"value\": \"x\"}, {\"name\": \"a\", \"value\": \"1\"}, {\"name\": \"b\", \"value\": \"2\"}]}\n"
    );
    assert_eq!(on(&["create_column_family", "côté"]), "OK\n");
    assert_eq!(on(&["--column_family=côté", "put", "k", "v"]), "OK\n");
    assert_eq!(on(&["list_column_families", "--json"]), "{\"column_families\": [\"default\", \"côté\"]}\n");
    assert_eq!(on(&["--column_family=côté", "get", "--json", "k"]), "{\"key\": \"k\", \"value\": \"v\"}\n");
    let asked = ldb(&[&db, "query"], b"get a\nput a 7\nget a\ndelete a\nget a\ncount\ncount --from=f\nhop\n");
    assert_eq!(
        asked.good(),
        "a ==> 1\nput a => 7 succeeded\na ==> 7\ndelete a succeeded\nget a status: NotFound: \n2\n1\nUnknown command hop\n"
    );
    assert_eq!(on(&["drop_column_family", "côté"]), "OK\n");
    assert_eq!(
        on(&["list_column_families"]),
        format!("Column families in {}: \n{{default}}\n", dir.path().display())
    );
}

#[test]
fn flags_reach_the_tables() {
    let dir = tempfile::tempdir().unwrap();
    let flags =
        ["--compact", "--compression_type=zlib", "--bloom_bits=12", "--block_size=512", "--fix_prefix_len=3"];
    load(dir.path(), &records(), &flags);
    let shown =
        sst_dump(&[&format!("--file={}", dir.path().display()), "--command=none", "--show_properties"])
            .good();
    for line in [
        // Format version 7 prints the built-in scheme, and the compression types in use.
        "  SST file compression algo: BuiltinV2;02;",
        "  filter policy name: bloomfilter",
        "  prefix extractor name: rocksdb.FixedPrefix.3",
    ] {
        assert!(shown.lines().any(|l| l == line), "no {line:?} in\n{shown}");
    }
    let blocks =
        shown.lines().find_map(|l| l.trim().strip_prefix("# data blocks: ")?.parse::<u64>().ok()).unwrap();
    assert!(blocks > 300, "{blocks} blocks of 512 bytes");
    // The options are in the OPTIONS file after this command.
    assert_eq!(ldb_on(dir.path(), &["put", "k", "v"]).good(), "OK\n");
    let options =
        std::fs::read_dir(dir.path()).unwrap().filter_map(|e| e.ok()?.file_name().into_string().ok());
    let newest = options.filter(|n| n.starts_with("OPTIONS-")).max().unwrap();
    let text = std::fs::read_to_string(dir.path().join(newest)).unwrap();
    assert!(text.contains("filter_policy=bloomfilter:12") && text.contains("block_size=512"), "{text}");
}
