//! `ldb` takes files out of databases and puts files in.

use crate::support::ldb;

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
    assert!(out.err.contains("missing backup_dir"), "{}", out.err);
}
