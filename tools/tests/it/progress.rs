//! Long work of `ldb` shows its progress as JSON lines.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(dir: &Path, args: &[&str], input: Stdio) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ldb"))
        .arg(format!("--db={}", dir.display()))
        .args(args)
        .stdin(input)
        .output()
        .unwrap()
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
    let commands: [&[&str]; 7] = [
        &["load", "--create_if_missing", "--json"],
        &["compact", "--json"],
        &["fsck", "--json"],
        &["repair", "--json"],
        &["backup", &backup_dir, "--json"],
        &["checkpoint", &copy, "--json"],
        &["restore", &backup_dir, "--json"],
    ];
    for args in commands {
        let input = match args[0] {
            "load" => Stdio::from(std::fs::File::open(&rows).unwrap()),
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
        if args[0] == "load" {
            assert_eq!(last["done_bytes"].as_u64(), Some(text.len() as u64));
        }
    }
}

#[test]
fn without_json_and_without_a_terminal_nothing_is_added() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    assert!(run(&db, &["put", "k", "v", "--create_if_missing"], Stdio::null()).status.success());
    let output = run(&db, &["compact"], Stdio::null());
    assert_eq!((output.stdout, output.stderr), (Vec::new(), Vec::new()));
}
