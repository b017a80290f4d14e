//! `ldb` copies files out of databases and ingests files.

use std::path::Path;

use crate::support::{ldb, ldb_on, oracle, theirs};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn ldb_makes_checkpoints_backups_and_external_files() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name).display().to_string();
    let db = format!("--db={}", at("data"));
    let scan = |db: &str| text(&ldb(&[db, "scan"], b"").out);
    ldb(&[&db, "put", "a", "1", "--create_if_missing"], b"");

    let out = ldb(&[&db, "checkpoint", &format!("--checkpoint_dir={}", at("copy"))], b"");
    assert_eq!(text(&out.out), "OK\n");
    assert_eq!(scan(&format!("--db={}", at("copy"))), "a ==> 1\n");

    let backups = format!("--backup_dir={}", at("backups"));
    let out = ldb(&[&db, "backup", &backups], b"");
    assert_eq!(text(&out.out), "open db OK\nopen backup engine OK\ncreate new backup OK\n");
    ldb(&[&db, "put", "b", "2"], b"");
    let out = ldb(&[&db, "restore", &backups], b"");
    assert_eq!(text(&out.out), "open restore engine OK\nrestore from backup OK\n");
    assert_eq!(scan(&db), "a ==> 1\n");

    let sst = at("new.sst");
    let out = ldb(&[&db, "write_extern_sst", &sst], b"Keys in range: 2\nc ==> 3\nd ==> 4\nnothing\n");
    assert_eq!(out.err, format!("Warning: 1 bad lines ignored.\nexternal SST file written to {sst}\n"));
    let out = ldb(&[&db, "ingest_extern_sst", &sst, "--move_files"], b"");
    assert_eq!(out.err, "external SST files ingested\n");
    assert_eq!(scan(&db), "a ==> 1\nc ==> 3\nd ==> 4\n");
    let out = ldb(&[&db, "ingest_extern_sst", &sst], b"");
    assert!(out.err.contains("new.sst"), "{}", out.err);
    let out = ldb(&[&db, "backup"], b"");
    assert!(out.err.contains("missing backup directory"), "{}", out.err);
}

/// The tool does not contain the merge operator of the application. RocksDB's `ldb` joins the operands by a colon
/// too.
#[test]
fn operands_of_an_unknown_merge_operator_are_joined_by_a_colon() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("db");
    let mut options = ironstone::Options::default();
    options.update("create_if_missing=true;merge_operator=stringappend").expect("known options");
    let db = ironstone::Db::open(&path, options).expect("a new database");
    db.put(b"a", b"1").expect("a put");
    for operand in [b"x", b"y"] {
        db.merge(b"b", operand).expect("a merge");
    }
    db.put(b"c", b"2").expect("a put");
    db.close().expect("a close");
    // Without the OPTIONS file the tool does not know the operator.
    let scanned = ldb_on(&path, &["--try_load_options=false", "scan"]).good();
    assert_eq!(scanned, "a ==> 1\nb ==> x:y\nc ==> 2\n");
    let got = ldb_on(&path, &["--try_load_options=false", "get", "b"]).good();
    assert_eq!(got, "x:y\n");
}

/// The writer keeps the database open, and its newest entry is only in the WAL.
#[test]
fn ldb_reads_concurrently_with_a_writer_as_a_secondary_and_as_a_follower() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name).display().to_string();
    let mut options = ironstone::Options::default();
    options.update("create_if_missing=true").unwrap();
    let db = ironstone::Db::open(scratch.path().join("data"), options).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"2").unwrap();
    let (data, own) = (format!("--db={}", at("data")), format!("--secondary_path={}", at("own")));
    assert_eq!(text(&ldb(&[&data, &own, "scan"], b"").out), "a ==> 1\nb ==> 2\n");
    let refused = ldb(&[&data, &own, "put", "c", "3"], b"");
    assert!(refused.status == 1 && refused.err.contains("Not implemented"), "{}", refused.err);
    let (leader, follower) = (format!("--leader_path={}", at("data")), format!("--db={}", at("follower")));
    assert_eq!(text(&ldb(&[&follower, &leader, "scan"], b"").out), "a ==> 1\n");
    for dir in ["own", "follower"] {
        assert!(scratch.path().join(dir).join("LOG").exists(), "{dir}");
    }
    assert_eq!(db.get(b"c").unwrap().as_deref(), None);
}

/// The lines of the newest OPTIONS file that decide when files are compacted, and how large files become.
fn sizes_of_levels(path: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let newest = names.filter(|name| name.starts_with("OPTIONS-")).max().unwrap();
    let text = std::fs::read_to_string(path.join(newest)).unwrap();
    let lines = text.lines().map(str::trim).filter(|line| {
        [
            "disable_auto_compactions=",
            "target_file_size_",
            "max_bytes_for_level_base=",
            "max_bytes_for_level_mult",
        ]
        .iter()
        .any(|name| line.starts_with(name))
    });
    lines.map(str::to_string).collect()
}

#[test]
fn ldb_moves_all_entries_to_one_file_for_universal_compaction() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("data");
    let mut options = ironstone::Options::default();
    options
        .update("create_if_missing=true;compression=kNoCompression;target_file_size_base=1000000")
        .unwrap();
    {
        let db = ironstone::Db::open(&path, options.clone()).unwrap();
        for i in 0..1000u32 {
            db.put(&i.to_be_bytes(), &[b'v'; 100]).unwrap();
            if i == 500 {
                db.compact_range(None, None, &Default::default()).unwrap();
            }
        }
        // The two files overlap. A compaction only moves a file that overlaps no other file.
        db.put(&0u32.to_be_bytes(), b"new").unwrap();
        db.flush().unwrap();
        assert_eq!(db.live_files().len(), 2);
    }
    let styles = ["--old_compaction_style=0", "--new_compaction_style=1"];
    let before = sizes_of_levels(&path);
    assert!(before.contains(&"target_file_size_base=1000000".to_string()), "{before:?}");
    let out = ldb_on(&path, &[&["change_compaction_style"], &styles[..]].concat()).good();
    assert!(out.ends_with("files per level after compaction: 1,0,0,0,0,0,0\n"), "{out}");
    assert_eq!(sizes_of_levels(&path), before, "the OPTIONS file has the options of before");
    options.update("compaction_style=kCompactionStyleUniversal").unwrap();
    let db = ironstone::Db::open(&path, options).unwrap();
    assert_eq!(db.range::<[u8], _>(..).count(), 1000);
}

#[test]
fn ldb_reads_and_writes_databases_with_a_time_to_live() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("data");
    ldb_on(&path, &["put", "a", "1", "--ttl", "--create_if_missing"]).good();
    ldb_on(&path, &["batchput", "b", "22", "c", "333", "--ttl"]).good();
    let db = ironstone::ttl::TtlDb::open_read_only(&path, ironstone::Options::default()).unwrap();
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"22"[..]));
    drop(db);
    assert_eq!(ldb_on(&path, &["get", "b", "--ttl"]).good(), "22\n");
    assert_eq!(ldb_on(&path, &["scan", "--ttl"]).good(), "a ==> 1\nb ==> 22\nc ==> 333\n");
    let shown = ldb_on(&path, &["scan", "--ttl", "--timestamp", "--max_keys=1"]).good();
    assert!(
        shown.starts_with("Scanning key-values from Fri May 10 00:40:02 2013 to Tue Jan 19 03:14:07 2038\n"),
        "{shown}"
    );
    assert!(shown.ends_with(" a ==> 1\n"), "{shown}");
    for command in ["scan", "dump"] {
        let rows = ldb_on(&path, &[command, "--ttl", "--timestamp", "--json"]).good();
        let rows = rows.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let rows: Vec<_> =
            rows.filter(|row| row["time"].is_string()).map(|row| row["value"].clone()).collect();
        assert_eq!(rows, ["1", "22", "333"], "{command}");
    }
    assert_eq!(ldb_on(&path, &["scan", "--ttl", "--end_time=1400000000"]).good(), "");
    let buckets =
        ldb_on(&path, &["dump", "--ttl", "--count_only", "--start_time=1400000000", "--bucket=500000000"])
            .good();
    assert!(
        buckets.starts_with("Keys in range Tue May 13 16:53:20 2014 to Sun Mar 17 17:46:40 2030 : 3\n"),
        "{buckets}"
    );
    assert_eq!(
        ldb_on(&path, &["dump", "--ttl", "--count_only"]).good().lines().next(),
        Some("Keys in range: 3")
    );
    let refused = ldb_on(&path, &["get", "b", "--ttl", "--use_txn"]);
    assert!(refused.err.contains("Cannot use both --ttl and --use_txn flags together"), "{}", refused.err);
    // A plain value has no time.
    ldb_on(&path, &["put", "d", "x"]).good();
    let short = ldb_on(&path, &["get", "d", "--ttl"]);
    assert!(short.err.contains("value's length less than timestamp's"), "{}", short.err);
}

#[test]
fn ldb_opens_transactional_databases_by_their_policy() {
    use ironstone::{TransactionDb, TransactionDbOptions, TxnDbWritePolicy};
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("data");
    let mut options = ironstone::Options::default();
    options.update("create_if_missing=true").unwrap();
    let prepared =
        TransactionDbOptions { write_policy: TxnDbWritePolicy::WritePrepared, ..Default::default() };
    let db = TransactionDb::open(&path, options.clone(), prepared.clone()).unwrap();
    let transaction = db.begin();
    transaction.set_name(b"waits").unwrap();
    transaction.put(b"hidden", b"1").unwrap();
    transaction.prepare().unwrap();
    db.put(b"seen", b"1").unwrap();
    drop((transaction, db));
    let policy = "--txn_write_policy=1";
    let reading = ldb_on(&path, &["scan", "--use_txn", policy]);
    assert!(reading.err.contains("TransactionDB does not support read-only mode"), "{}", reading.err);
    assert_eq!(ldb_on(&path, &["put", "new", "2", "--use_txn", policy]).good(), "OK\n");
    let db = TransactionDb::open(&path, options, prepared).unwrap();
    let value = |key: &[u8]| db.get(key).unwrap().map(|value| value.to_vec());
    let values = [&b"new"[..], b"seen", b"hidden"].map(value);
    assert_eq!(values, [Some(b"2".to_vec()), Some(b"1".to_vec()), None]);
    drop(db);
    let plain = ldb_on(&path, &["put", "new", "3"]);
    assert!(!plain.err.is_empty(), "the WAL has sections of another policy");
    let wrong = ldb_on(&path, &["put", "new", "3", "--use_txn", "--txn_write_policy=7"]);
    assert!(wrong.err.contains("Must be 0, 1, or 2."), "{}", wrong.err);
}

#[test]
fn ldb_reduces_the_number_of_levels() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("data");
    ldb_on(&path, &["put", "a", "1", "--create_if_missing"]).good();
    ldb_on(&path, &["compact"]).good();
    ldb_on(&path, &["put", "b", "2"]).good();
    let reduced = ldb_on(&path, &["reduce_levels", "--new_levels=3", "--print_old_levels"]).good();
    assert_eq!(reduced, "The old number of levels in use is 7\nCompacting the db...\n");
    let mut options = ironstone::Options::default();
    options.update("num_levels=3").unwrap();
    let db = ironstone::Db::open_read_only(&path, options).unwrap();
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
    drop(db);
    assert_eq!(ldb_on(&path, &["scan"]).good(), "a ==> 1\nb ==> 2\n");
    assert_eq!(ldb_on(&path, &["reduce_levels", "--new_levels=4"]).good(), "");
    let newest = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let newest = newest.filter(|file| file.to_string_lossy().contains("OPTIONS-")).max().unwrap();
    let text = std::fs::read_to_string(newest).unwrap();
    assert!(text.contains("disable_auto_compactions=false"), "the options of before stay: {text}");
    assert!(ldb_on(&path, &["reduce_levels", "--new_levels=1"]).err.contains("Invalid number of levels."));
}

#[test]
fn ldb_reads_the_columns_of_several_keys() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("data");
    ldb_on(&path, &["put_entity", "a", "x:1", "y:2", "--create_if_missing"]).good();
    ldb_on(&path, &["put", "b", "plain"]).good();
    let found = ldb_on(&path, &["multi_get_entity", "a", "b", "q"]).good();
    assert_eq!(found, "a ==> x:1 y:2\nb ==> :plain\nKey not found: q\n");
}

/// A database with an entry `a` and an entry `b`, whose SST file of `b` is gone. Returns the number of the file.
fn without_a_file(path: &Path) -> String {
    let mut options = ironstone::Options::default();
    options
        .update("create_if_missing=true;disable_auto_compactions=true;compression=kNoCompression")
        .unwrap();
    let db = ironstone::Db::open(path, options).unwrap();
    for (key, value) in [(b"a", b"1"), (b"b", b"2")] {
        db.put(key, value).unwrap();
        db.flush().unwrap();
    }
    let newest = db.live_files().into_iter().max_by_key(|file| file.number).unwrap();
    drop(db);
    let name = format!("{:06}.sst", newest.number.get());
    std::fs::remove_file(path.join(name)).unwrap();
    newest.number.get().to_string()
}

#[test]
fn ldb_removes_a_missing_sst_file_from_the_manifest() {
    let scratch = tempfile::tempdir().unwrap();
    let (path, other) = (scratch.path().join("data"), scratch.path().join("other"));
    let number = without_a_file(&path);
    assert_ne!(ldb_on(&path, &["scan"]).status, 0, "the MANIFEST names a missing file");
    let wrong = ldb_on(&path, &["unsafe_remove_sst_file", "999"]);
    assert!(wrong.err.contains("File not present in any level"), "{}", wrong.err);
    let removed = ldb_on(&path, &["unsafe_remove_sst_file", &number]);
    assert_eq!((removed.status, removed.text().as_str()), (0, ""));
    assert!(removed.err.ends_with("unsafely removed SST file\n"), "{}", removed.err);
    if let Some(tool) = oracle("ldb") {
        let of = |path: &Path| format!("--db={}", path.display());
        assert_eq!(theirs(&tool, [&of(&path), "scan"]).text(), "a ==> 1\n");
        assert_eq!(without_a_file(&other), number);
        theirs(&tool, [&of(&other), "unsafe_remove_sst_file", &number]);
        assert_eq!(ldb_on(&other, &["scan"]).good(), "a ==> 1\n");
    } else {
        eprintln!("SKIPPED half: set IRONSTONE_ORACLE to the folder of RocksDB's tools");
    }
    assert_eq!(ldb_on(&path, &["scan"]).good(), "a ==> 1\n");
    assert_eq!(ldb_on(&path, &["put", "c", "3"]).good(), "OK\n");
    assert_eq!(ldb_on(&path, &["scan"]).good(), "a ==> 1\nc ==> 3\n");
}
