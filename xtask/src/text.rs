//! Rules about the text of source files.

use std::path::Path;

/// Crates that may have `unsafe` code, each block with its proof. `fuzz` needs it for its counting allocator.
const UNSAFE_CRATES: [&str; 8] = ["kernel", "mem", "env", "c", "jni", "rocksdb", "fuzz", "peer"];

/// Crates whose sources are checked.
pub const CRATES: [&str; 21] = [
    "kernel",
    "base",
    "format",
    "compress",
    "mem",
    "env",
    "lsm",
    "table",
    "options",
    "engine",
    "ironstone",
    "tools",
    "inspect",
    "c",
    "rocksdb",
    "jni",
    "testkit",
    "peer",
    "sim",
    "fuzz",
    "xtask",
];

/// A file with more lines must be in `xtask/long_files.txt` with a reason.
pub const RED_LINE: usize = 650;

/// Words that no committed source may contain. The table has each word in two halves. A whole word would
/// be a fault of this file.
const BANNED: [(&str, &str, &str); 5] = [
    ("TO", "DO", "finish it, or name it in the README's table"),
    ("FIX", "ME", "fix it"),
    ("unimple", "mented!(", "refuse with Kind::NotSupported and name the feature"),
    ("to", "do!(", "finish it"),
    ("SAFETY: as", " above", "name each obligation of this block"),
];

/// Adds a fault for each file that is too long, has no header, or breaks another rule about its text.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let long = std::fs::read_to_string(root.join("xtask/long_files.txt")).unwrap_or_default();
    let allowed: Vec<&str> = long.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for name in CRATES {
        let dir = root.join(name);
        let lib = std::fs::read_to_string(dir.join("src/lib.rs")).unwrap_or_default();
        if !lib.is_empty() && !UNSAFE_CRATES.contains(&name) && !lib.contains("#![forbid(unsafe_code)]") {
            faults.push(format!("{name}/src/lib.rs: must have #![forbid(unsafe_code)]"));
        }
        for path in crate::rust_files(&dir) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let place = crate::shown(root, &path);
            let is_tests = path.file_name().is_some_and(|name| name == "tests.rs");
            if !is_tests && !text.trim_start().starts_with("//!") {
                faults.push(format!("{place}:1: a file must start with a header (//!)"));
            }
            let lines = text.lines().count();
            if lines > RED_LINE && !allowed.contains(&place.as_str()) {
                faults.push(format!(
                    "{place}: {lines} lines, the limit is {RED_LINE}: split the file, or enter it in xtask/long_files.txt"
                ));
            }
            for (index, line) in text.lines().enumerate() {
                for (a, b, instead) in BANNED {
                    if line.contains(&format!("{a}{b}")) {
                        faults.push(format!("{place}:{}: {a}{b}: {instead}", index + 1));
                    }
                }
            }
        }
    }
}
