//! `ldb` compacts in another process, and shows and checks files of compactions.

use std::path::Path;

use crate::support::{Ran, ldb, ldb_on, oracle, theirs};

/// Makes a database with two SST files that overlap, so a compaction must rewrite them.
fn database(path: &Path) {
    let mut options = ironstone::Options::default();
    options.update("create_if_missing=true;disable_auto_compactions=true").expect("known options");
    let db = ironstone::Db::open(path, options).expect("a new database");
    for value in [b"1", b"2"] {
        for key in [b"a", b"z"] {
            db.put(key, value).expect("a put");
        }
        db.flush().expect("a flush");
    }
    db.close().expect("a close");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn options(db: &Path, jobs: &Path, command: &str) -> [String; 3] {
    let (db, jobs) = (format!("--db={}", db.display()), format!("--job_dir={}", jobs.display()));
    [db, command.to_string(), jobs]
}

fn ours(args: &[String]) -> Ran {
    ldb(&args.iter().map(String::as_str).collect::<Vec<_>>(), b"")
}

/// Compacts with a primary and a worker, and checks the database.
fn compacts(primary: impl Fn(&[String]) -> Ran + Sync, worker: impl Fn(&[String]) -> Ran) {
    let scratch = tempfile::tempdir().expect("a directory");
    let (db, jobs) = (scratch.path().join("db"), scratch.path().join("jobs"));
    std::fs::create_dir(&jobs).expect("a directory");
    database(&db);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| primary(&options(&db, &jobs, "remote_compaction_primary")));
        let second = worker(&options(&db, &jobs, "remote_compaction_worker"));
        assert!(text(&second.out).starts_with("remote_compaction_worker: OK ("), "{}", second.err);
        let first = first.join().expect("the primary ends");
        assert_eq!(text(&first.out), "remote_compaction_primary: OK\n", "{}", first.err);
    });
    assert!(jobs.join("input.bin").exists() && jobs.join("result.bin").exists());
    assert_eq!(ldb_on(&db, &["scan"]).good(), "a ==> 2\nz ==> 2\n");
    let shown = ldb_on(&db, &["list_live_files_metadata"]).good();
    assert_eq!(shown.matches(".sst").count(), 1, "{shown}");
}

#[test]
fn a_worker_compacts_for_a_primary() {
    compacts(ours, ours);
    let Some(tool) = oracle("ldb") else { return eprintln!("without RocksDB's ldb") };
    compacts(ours, |args| theirs(&tool, args));
    compacts(|args| theirs(&tool, args), ours);
}

#[test]
fn remote_compactions_need_a_job_directory() {
    let scratch = tempfile::tempdir().expect("a directory");
    for command in ["remote_compaction_primary", "remote_compaction_worker"] {
        let ran = ldb_on(scratch.path(), &[command]);
        assert_eq!((ran.status, ran.err.as_str()), (1, "Failed: --job_dir is required\n"), "{command}");
    }
}

#[test]
fn update_manifest_opens_each_file_and_changes_nothing() {
    let scratch = tempfile::tempdir().expect("a directory");
    database(scratch.path());
    let before = crate::support::files(scratch.path());
    let ran = ldb_on(scratch.path(), &["update_manifest", "--update_temperatures"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, "Manifest updates successful\n"));
    assert!(crate::support::files(scratch.path()) == before, "a file changed");
    let ran = ldb_on(scratch.path(), &["update_manifest"]);
    let words = "Failed: No action like --update_temperatures specified for update_manifest\n";
    assert_eq!((ran.status, ran.err.as_str()), (1, words));
    let table = before.keys().find(|path| path.extension().is_some_and(|e| e == "sst")).expect("an SST file");
    std::fs::remove_file(scratch.path().join(table)).expect("a removal");
    let ran = ldb_on(scratch.path(), &["update_manifest", "--update_temperatures"]);
    assert!(ran.err.starts_with("Failed: failed to update manifest: IO error: No such file"), "{}", ran.err);
    assert_eq!(ran.status, 1);
}

#[test]
fn compaction_progress_dump_says_that_a_manifest_has_no_progress() {
    let scratch = tempfile::tempdir().expect("a directory");
    database(scratch.path());
    let names = std::fs::read_dir(scratch.path()).expect("a directory").map(|entry| entry.unwrap().path());
    let manifest = names.filter(|path| path.to_string_lossy().contains("MANIFEST")).last().unwrap();
    let path = format!("--path={}", manifest.display());
    let ran = ldb(&["compaction_progress_dump", &path], b"");
    let shown = format!(
        "Compaction Progress File: {}\n============================================\n\
         No valid records found in the compaction progress file.\n",
        manifest.display()
    );
    assert_eq!((ran.status, text(&ran.out), ran.err.as_str()), (0, shown, ""));
    let ran = ldb(&["compaction_progress_dump"], b"");
    let words = "Failed: The --path option is required for compaction_progress_dump command\n";
    assert_eq!((ran.status, ran.err.as_str()), (1, words));
    let ran = ldb(&["compaction_progress_dump", "--path=/none/here"], b"");
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.starts_with("Failed to open compaction progress file /none/here: IO error"),
        "{}",
        ran.err
    );
}
