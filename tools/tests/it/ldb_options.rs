//! Options and results of `ldb` commands that scripts for RocksDB's `ldb` depend on.

use crate::support::{copy_of, ldb, ldb_on};

#[test]
fn commands_of_a_database_with_a_time_to_live_take_ttl() {
    let scratch = tempfile::tempdir().unwrap();
    let on = |args: &[&str]| ldb_on(scratch.path(), args).good();
    assert_eq!(on(&["put", "a", "1", "--create_if_missing", "--ttl"]), "OK\n");
    assert_eq!(on(&["compact", "--ttl"]), "");
    assert_eq!(on(&["get", "a", "--ttl"]), "1\n");
    assert_eq!(on(&["put_entity", "b", "x:1", "y:2", "--ttl"]), "OK\n");
    assert_eq!(on(&["get_entity", "b", "--ttl"]), "x:1 y:2\n");
}

#[test]
fn checksums_are_read_from_the_manifest_of_the_path() {
    let (_scratch, dir) = copy_of("file-checksums");
    let all = ldb_on(&dir, &["file_checksum_dump", "--hex"]).good();
    assert!(all.lines().count() > 1 && all.contains("FileChecksumCrc32c"), "{all}");
    let manifest = std::fs::read_to_string(dir.join("CURRENT")).unwrap();
    let moved = dir.join("MANIFEST-000999");
    std::fs::rename(dir.join(manifest.trim()), &moved).unwrap();
    let path = format!("--path={}", moved.display());
    assert_eq!(ldb_on(&dir, &["file_checksum_dump", "--hex", &path]).good(), all);
    let ran = ldb_on(&dir, &["file_checksum_dump", "--path=/nowhere/MANIFEST-000001"]);
    assert_eq!(
        (ran.status, &ran.err[..]),
        (1, "Failed: /nowhere/MANIFEST-000001: No such file or directory\n")
    );
}

#[test]
fn prepared_transactions_are_dumped_in_the_mode_of_their_policy() {
    let (_scratch, dir) = copy_of("txn-2pc");
    let walfile = format!("--walfile={}", dir.display());
    let all = ldb(&["dump_wal", &walfile], b"").good();
    assert!(all.contains("BEGIN_PREPARE(false)"), "{all}");
    assert_eq!(ldb(&["dump_wal", &walfile, "--write_committed=true"], b"").good(), all);
    let ran = ldb(&["dump_wal", &walfile, "--write_committed=false"], b"");
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.starts_with("Failed: Print write batch error: Not implemented: WriteCommitted "),
        "{}",
        ran.err
    );
    assert!(!ran.text().contains("BEGIN_PREPARE"), "{}", ran.text());
    // The rows before the transaction are printed, and the note about unknown column families.
    let (rows, note) = (ran.text().lines().count(), ran.text().contains("(Column family id: ["));
    assert!(rows > 2 && note, "{}", ran.text());
}

#[test]
fn errors_of_unreadable_databases_have_rocksdbs_first_words() {
    let ran = ldb(&["--db=/nowhere", "list_column_families"], b"");
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.starts_with("Error in processing db /nowhere IO error: No such file or directory"),
        "{}",
        ran.err
    );
    let ran = ldb(&["manifest_dump", "--path=/nowhere/MANIFEST-000001"], b"");
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.starts_with("Error in processing file /nowhere/MANIFEST-000001 IO error: "),
        "{}",
        ran.err
    );
}

#[test]
fn a_failed_count_names_its_range() {
    let (_scratch, dir) = copy_of("ts-u64");
    let db = format!("--db={}", dir.display());
    let ran = ldb(&[&db, "query"], b"count\ncount --from=a --to=b\n").good();
    let lines: Vec<_> = ran.lines().collect();
    assert!(lines[0].starts_with("scan from  to  failed: Invalid argument: "), "{ran}");
    assert!(lines[1].starts_with("scan from a to b failed: Invalid argument: "), "{ran}");
}

#[test]
fn a_repair_prints_only_ok_to_the_output() {
    let (_scratch, dir) = copy_of("defaults-flushed");
    std::fs::remove_file(dir.join("CURRENT")).unwrap();
    let ran = ldb_on(&dir, &["repair"]);
    assert_eq!((ran.status, &ran.text()[..]), (0, "OK\n"), "{}", ran.err);
    let ran = ldb_on(&dir, &["repair", "--verbose"]);
    assert_eq!((ran.status, &ran.text()[..]), (0, "OK\n"), "{}", ran.err);
    assert!(ran.err.contains(" files, "), "{}", ran.err);
}

#[test]
fn an_open_that_fails_prints_what_the_user_can_do() {
    for (name, advice) in [
        ("corrupt/sst-index-bit", "`ldb fsck` lists what is lost"),
        ("corrupt/current-wrong", "The database needs this file."),
        ("corrupt/current-missing", "The path has no database."),
    ] {
        let (_scratch, dir) = copy_of(name);
        let ran = ldb_on(&dir, &["scan"]);
        assert!(ran.status == 1 && ran.err.contains(advice), "{name}: {}", ran.err);
    }
}
