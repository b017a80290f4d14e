//! Bad input gets one clear error and status 1. It changes nothing on disk, and the run ends.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use testkit::golden;

use crate::support::{Ran, copy_of, files, ldb, ldb_on, sst_dump};

/// Runs a tool in a thread. Fails the test if the run does not end.
fn ends(what: &str, run: impl FnOnce() -> Ran + Send + 'static) -> Ran {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || done.send(run()));
    wait.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|e| panic!("{what}: no end, or a panic: {e}"))
}

#[test]
fn a_command_line_that_is_wrong_says_what_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let db = format!("--db={}", dir.path().display());
    let cases: &[(&[&str], &str)] = &[
        (&[&db, "frobnicate"], "Unknown command frobnicate"),
        (&[&db, "frobnicate"], "list_column_families"),
        (&[&db], "Command not specified!"),
        (&["scan"], "Either db or path must be specified."),
        (&[&db, "scan", "--colour=red"], "Invalid command-line option colour\nscan takes: --from --to"),
        (&[&db, "get", "--no_value", "k"], "Invalid command-line flag no_value"),
        (&[&db, "get"], "Failed: <key> must be specified for the get command"),
        (&[&db, "put", "k"], "Failed: <key> and <value> must be specified for the put command"),
        (&[&db, "batchput", "k", "v", "k"], "Equal number of <key>s and <value>s"),
        (&[&db, "get", "--hex", "6B"], "Invalid hex input 6B.  Must start with 0x"),
        (&[&db, "get", "--hex", "0x6"], "Invalid hex input 0x6"),
        (&[&db, "scan", "--max_keys=many"], "max_keys has an invalid value."),
        (&[&db, "scan", "--max_keys=99999999999"], "max_keys has a value out-of-range"),
        (&[&db, "scan", "--hex=perhaps"], "hex has an invalid value"),
        (&[&db, "put", "--create_if_missing", "--bloom_bits=0", "k", "v"], "bloom_bits must be > 0."),
        (
            &[&db, "put", "--create_if_missing", "--compression_type=brotli", "k", "v"],
            "Unknown compression algorithm: brotli",
        ),
        (&[&db, "scan", "--env_uri=x"], "Not implemented: --env_uri: environments by URI"),
        (&[&db, "scan", "--ttl", "--start_time=2", "--end_time=1"], "End time can't be less than start time"),
        (&[&db, "scan", "--start_time=1"], "--start_time needs --ttl"),
        (&[&db, "dump", "--end_time=1"], "--end_time needs --ttl"),
        (&[&db, "dump", "--count_only", "--bucket=10"], "--bucket needs --ttl"),
        (&[&db, "scan", "--timestamp"], "--timestamp needs --ttl"),
        (&[&db, "put", "k", "v", "--txn_write_policy=1"], "--txn_write_policy needs --use_txn"),
        (&[&db, "scan", "--ttl", "--use_txn"], "Cannot use both --ttl and --use_txn flags together"),
        (&[&db, "reduce_levels"], "Use --new_levels to specify a new level number"),
        (
            &[&db, "scan", "--secondary_path=/x", "--leader_path=/y"],
            "Cannot provide both secondary and leader paths",
        ),
        (&[&db, "change_compaction_style"], "Use --old_compaction_style to specify old compaction style."),
        (
            &[&db, "change_compaction_style", "--old_compaction_style=1", "--new_compaction_style=0"],
            "Convert from universal compaction to level compaction.",
        ),
        (&[&db, "backup"], "--backup_dir: missing backup directory"),
        (&[&db, "fsck"], "not a database: there is no MANIFEST, SST file or WAL"),
        (&["dump_wal"], "Argument walfile must be specified."),
    ];
    for (args, words) in cases {
        let ran = ldb(args, b"");
        assert!(ran.status == 1 && ran.err.contains(words), "{args:?}: {} {}", ran.status, ran.err);
        assert!(ran.out.is_empty(), "{args:?}");
    }
    for (args, words) in [
        (&["--command=scan"][..], "file or directory must be specified."),
        (&["--command=fry", "--file=x.sst"], "Unrecognized command 'fry'"),
        (&["--fast", "--file=x.sst"], "Unrecognized argument '--fast'"),
        (&["--compression_manager=x", "--file=x.sst"], "Not implemented: --compression_manager=x"),
        (&["--file=/nowhere/at/all.sst"], "/nowhere/at/all.sst: No such file or directory"),
    ] {
        let ran = sst_dump(args);
        assert!(ran.status == 1 && ran.err.contains(words), "{args:?}: {} {}", ran.status, ran.err);
    }
    assert!(files(dir.path()).is_empty());
    assert!(ldb(&["--help"], b"").good().contains("list_live_files_metadata"));
}

#[test]
fn a_place_without_a_database_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nothing");
    for command in [
        &["scan"][..],
        &["get", "k"],
        &["put", "k", "v"],
        &["idump"],
        &["list_column_families"],
        &["checkconsistency"],
    ] {
        for place in [missing.as_path(), dir.path()] {
            let ran = ldb_on(place, command);
            assert_eq!(ran.status, 1, "{command:?}");
            assert!(
                ran.err.contains(&place.join("CURRENT").display().to_string()),
                "{command:?}: {}",
                ran.err
            );
        }
        assert!(!missing.exists() && files(dir.path()).is_empty(), "{command:?} left something behind");
    }
    std::fs::write(dir.path().join("shopping.txt"), "eggs").unwrap();
    std::fs::write(dir.path().join("CURRENT"), "eggs\n").unwrap();
    let ran = ldb_on(dir.path(), &["scan"]);
    assert!(ran.status == 1 && ran.err.starts_with("Failed: Corruption: "), "{}", ran.err);
    assert_eq!(files(dir.path()).len(), 2);
}

#[test]
fn a_database_that_is_not_as_asked_is_refused_and_left_as_it_is() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("cfs", &["scan", "--column_family=nobody"], "Non-existing column family nobody"),
        ("cfs", &["drop_column_family", "nobody"], "Column family: nobody doesn't exist in db."),
        // The OPTIONS file of the database names the right comparators.
        (
            "cfs",
            &["scan", "--try_load_options=false"],
            "does not match existing comparator rocksdb.ReverseBytewiseComparator",
        ),
        ("ts-u64", &["scan"], "--read_timestamp is not provided"),
        ("ts-u64", &["scan", "--read_timestamp=soon"], "user provided timestamp is not a valid uint64 value"),
        ("defaults", &["scan", "--read_timestamp=1"], "does not enable user-defined timestamps"),
        (
            "manifest-rolled",
            &["manifest_dump", "--path=/nowhere/MANIFEST-000001"],
            "/nowhere/MANIFEST-000001",
        ),
    ];
    for (name, args, words) in cases {
        let (scratch, dir) = copy_of(name);
        let before = files(scratch.path());
        let ran = ldb_on(&dir, args);
        assert!(ran.status == 1 && ran.err.contains(words), "{name} {args:?}: {} {}", ran.status, ran.err);
        assert!(
            before.iter().all(|(path, bytes)| std::fs::read(path).is_ok_and(|now| now == *bytes))
                || args[0] == "drop_column_family",
            "{name} {args:?} changed something"
        );
    }
}

#[test]
fn a_database_in_use_is_not_written_to() {
    let (_scratch, dir) = copy_of("defaults-flushed");
    let mut options = ironstone::Options::default();
    options.db.create_if_missing = false;
    let open = ironstone::Db::open(&dir, options).unwrap();
    let before = files(&dir);
    let ran = ldb_on(&dir, &["put", "k", "v"]);
    assert!(ran.status == 1 && ran.err.contains("LOCK"), "{}", ran.err);
    assert_eq!(files(&dir), before);
    // A read takes no lock.
    assert_eq!(ldb_on(&dir, &["scan", "--hex", "--max_keys=1"]).good().lines().count(), 1);
    open.close().unwrap();
    assert_eq!(ldb_on(&dir, &["put", "k", "v"]).good(), "OK\n");
}

#[test]
fn options_of_a_later_release_are_rejected_unless_unknown_options_are_ignored() {
    let (_scratch, dir) = copy_of("defaults-flushed");
    let newest = files(&dir).into_keys().rfind(|p| p.to_string_lossy().contains("OPTIONS-")).unwrap();
    let text = std::fs::read_to_string(&newest).unwrap();
    let text = text
        .replace("rocksdb_version=11.8.1", "rocksdb_version=12.0.0")
        .replace("[DBOptions]\n", "[DBOptions]\n  antigravity=true\n");
    std::fs::write(&newest, text).unwrap();
    let ran = ldb_on(&dir, &["scan"]);
    assert!(
        ran.status == 1 && ran.err.contains("antigravity") && ran.err.contains("--ignore_unknown_options"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains(&newest.display().to_string()), "{}", ran.err);
    assert!(ldb_on(&dir, &["scan", "--ignore_unknown_options"]).good().lines().count() > 10);
}

/// Damaged databases: the rows that RocksDB reads from a read-only open, or an error.
#[test]
fn damage_gives_rocksdbs_rows_or_an_error_and_changes_nothing() {
    let mut names: Vec<_> = std::fs::read_dir(golden::root().join("corrupt"))
        .unwrap()
        .filter_map(|e| e.unwrap().file_name().to_str()?.strip_suffix(".expect.jsonl").map(String::from))
        .collect();
    names.sort();
    assert!(names.len() > 30);
    let mut wrong = Vec::new();
    for name in &names {
        let text =
            std::fs::read_to_string(golden::root().join(format!("corrupt/{name}.expect.jsonl"))).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let probe = lines[0]["probes"].as_array().unwrap().iter().find(|p| p["probe"] == "read-only");
        let rows = |set: &serde_json::Value| -> String {
            let of =
                |l: &&serde_json::Value| l["set"] == *set && l.get("v").is_some() && l["cf"] == "default";
            let shown = |l: &serde_json::Value, f: &str| l[f].as_str().unwrap_or_default().to_uppercase();
            lines[1..]
                .iter()
                .filter(of)
                .map(|l| format!("0x{} ==> 0x{}\n", shown(l, "k"), shown(l, "v")))
                .collect()
        };
        let theirs = probe
            .filter(|p| p["open"]["code"] == "OK" && p["scan"]["code"] == "OK")
            .map(|p| rows(&p["rows"]));
        let (scratch, dir) = copy_of(&format!("corrupt/{name}"));
        let before = files(scratch.path());
        for command in [
            &["scan", "--hex"][..],
            &["idump"],
            &["manifest_dump"],
            &["checkconsistency"],
            &["list_live_files_metadata"],
        ] {
            let (dir, what) = (dir.clone(), format!("{name}: {command:?}"));
            let args: Vec<_> = command.to_vec();
            let ran = ends(&what, move || ldb_on(&dir, &args));
            let starts = ["Failed: ", "Error in processing file "];
            if ran.status == 1 && !starts.iter().any(|start| ran.err.starts_with(start)) {
                wrong.push(format!("{what}: {}", ran.err));
            }
            if command[0] == "scan"
                && ran.status == 0
                && theirs.as_ref() != Some(&ran.text())
                && ran.text() != rows(&"whole".into())
            {
                wrong.push(format!("{what}: rows that RocksDB does not give"));
            }
            if command[0] == "scan" && ran.status == 1 {
                if theirs.is_some() {
                    println!("{name}: stricter than RocksDB: {}", ran.err.trim_end());
                }
                if !ran.err.contains(&scratch.path().display().to_string())
                    && !ran.err.contains("Not implemented")
                    && !ran.err.contains("comparator")
                {
                    wrong.push(format!("{what}: names no file: {}", ran.err));
                }
            }
        }
        dump_every_file(name, scratch.path());
        if files(scratch.path()) != before {
            wrong.push(format!("{name}: reading changed the directory"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Prints every file of a damaged database. Each command ends, with or without an error.
fn dump_every_file(name: &str, dir: &Path) {
    for path in files(dir).into_keys() {
        let file = path.display().to_string();
        ends(&format!("{name}: file_dump {file}"), {
            let file = file.clone();
            move || ldb(&["file_dump", &file], b"")
        });
        if !file.ends_with(".sst") {
            ends(&format!("{name}: file_dump --annotate {file}"), move || {
                ldb(&["file_dump", "--annotate", &file], b"")
            });
            continue;
        }
        for command in ["check", "scan", "verify", "identify"] {
            let (file, what) = (format!("--file={file}"), format!("{name}: sst_dump {command} {file}"));
            ends(&what, move || sst_dump(&[&file, &format!("--command={command}"), "--show_properties"]));
        }
    }
}
