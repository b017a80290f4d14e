//! Long work of `ldb` and `sst_dump` shows its progress as JSON lines.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(dir: &Path, args: &[&str], input: Stdio) -> Output {
    let db = format!("--db={}", dir.display());
    program(env!("CARGO_BIN_EXE_ldb"), &[&[db.as_str()], args].concat(), input)
}

fn program(name: &str, args: &[&str], input: Stdio) -> Output {
    Command::new(name).args(args).stdin(input).output().unwrap()
}

/// Returns the progress lines of a command.
fn lines(output: &Output) -> Vec<serde_json::Value> {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|line| line.get("progress").is_some())
        .collect()
}

#[test]
fn each_long_command_ends_its_json_lines_with_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (db, backups) = (dir.path().join("db"), dir.path().join("backups"));
    let rows = dir.path().join("rows");
    let text: String = (0..2000).map(|n| format!("key{n:06} ==> {}\n", "v".repeat(100))).collect();
    std::fs::write(&rows, &text).unwrap();
    let backup_dir = format!("--backup_dir={}", backups.display());
    let copy = format!("--checkpoint_dir={}", dir.path().join("copy").display());
    let external = dir.path().join("external.sst").display().to_string();
    let commands: [&[&str]; 14] = [
        &["load", "--create_if_missing", "--json"],
        &["compact", "--json"],
        &["write_extern_sst", &external, "--json"],
        &["ingest_extern_sst", &external, "--json"],
        &["change_compaction_style", "--old_compaction_style=0", "--new_compaction_style=1", "--json"],
        &["reduce_levels", "--new_levels=3", "--json"],
        &["scan", "--json"],
        &["dump", "--json"],
        &["idump", "--json"],
        &["fsck", "--json"],
        &["repair", "--json"],
        &["backup", &backup_dir, "--json"],
        &["checkpoint", &copy, "--json"],
        &["restore", &backup_dir, "--json"],
    ];
    for args in commands {
        let input = match args[0] {
            "load" | "write_extern_sst" => Stdio::from(std::fs::File::open(&rows).unwrap()),
            _ => Stdio::null(),
        };
        let lines = lines(&run(&db, args, input));
        let last = lines.last().unwrap_or_else(|| panic!("{} shows no progress", args[0]));
        assert_eq!(last["progress"], args[0]);
        assert_eq!((last["share"].as_f64(), last["over"].as_bool()), (Some(1.0), Some(true)), "{last}");
        assert!(last["total_bytes"].as_u64().unwrap() > 0, "{last}");
        if args[0] != "checkpoint" {
            assert!(last["done_bytes"].as_u64().unwrap() > 0, "{last}");
        }
        if matches!(args[0], "load" | "write_extern_sst") {
            assert_eq!(last["done_bytes"].as_u64(), Some(text.len() as u64));
        }
    }
}

#[test]
fn each_long_command_of_sst_dump_counts_all_bytes_of_its_passes() {
    let dir = tempfile::tempdir().unwrap();
    let rows = dir.path().join("rows");
    let text: String = (0..20_000).map(|n| format!("key{n:06} ==> {}\n", "v".repeat(100))).collect();
    std::fs::write(&rows, &text).unwrap();
    let file = dir.path().join("rows.sst").display().to_string();
    let rows = Stdio::from(std::fs::File::open(&rows).unwrap());
    let args = ["write_extern_sst", &file, "--create_if_missing", "--compression_type=no"];
    assert!(run(&dir.path().join("db"), &args, rows).status.success());
    let size = std::fs::metadata(&file).unwrap().len();
    for (command, passes) in [("check", 1), ("scan", 1), ("raw", 1), ("verify", 1), ("recompress", 4)] {
        let args = [
            &file,
            &format!("--command={command}"),
            "--json",
            "--compression_types=kNoCompression,kSnappyCompression",
            "--compression_level_from=1",
            "--compression_level_to=2",
        ];
        let last = lines(&program(env!("CARGO_BIN_EXE_sst_dump"), &args, Stdio::null())).pop();
        let last = last.unwrap_or_else(|| panic!("{command} shows no progress"));
        assert_eq!((last["progress"].as_str(), last["share"].as_f64()), (Some(command), Some(1.0)), "{last}");
        assert_eq!(last["total_bytes"].as_u64(), Some(passes * size), "{last}");
        // The rate is the bytes that were read. The index of the SST file is read once.
        let read = last["bytes_per_second"].as_f64().unwrap() * last["seconds"].as_f64().unwrap();
        assert!(read > 0.9 * (passes * size) as f64, "{last}");
    }
    std::fs::write(&file, &std::fs::read(&file).unwrap()[..1000]).unwrap();
    let failed =
        program(env!("CARGO_BIN_EXE_sst_dump"), &[&file, "--command=verify", "--json"], Stdio::null());
    let text = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(!failed.status.success() && text.contains("\"failed\":true"), "{text}");
}

#[test]
fn without_json_and_without_a_terminal_nothing_is_added() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    assert!(run(&db, &["put", "k", "v", "--create_if_missing"], Stdio::null()).status.success());
    let output = run(&db, &["compact"], Stdio::null());
    assert_eq!((output.stdout, output.stderr), (Vec::new(), Vec::new()));
}
