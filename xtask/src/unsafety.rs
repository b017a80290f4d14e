//! Measures the share of `unsafe` code: `cargo xtask unsafe`.
//!
//! The share is the number of lines of `unsafe` blocks, functions and impls, divided by the number of all lines of the
//! product crates. Tests do not count. The count follows braces and has no parser, so it can be wrong by one or two
//! lines.

use std::collections::BTreeMap;
use std::path::Path;

/// Crates that are shipped.
const PRODUCT: [&str; 15] = [
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
    "jni",
];

/// The largest number of crates with `unsafe` code, and the largest number of `unsafe` lines in ten thousand lines.
const CRATES_MAX: usize = 6;
const PER_TEN_THOUSAND_MAX: usize = 150;

/// Prints the share. Adds a fault if the share is above the limit.
pub fn report(root: &Path, faults: &mut Vec<String>) {
    let mut rooms: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut crates = std::collections::BTreeSet::new();
    let mut all = 0;
    for name in PRODUCT {
        for path in crate::rust_files(&root.join(name).join("src")) {
            let shown = crate::shown(root, &path);
            if shown.contains("tests")
                || shown.ends_with("test_vectors.rs")
                || shown.ends_with("schedules.rs")
            {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            all += text.lines().count();
            let (blocks, lines) = count(&text);
            if blocks > 0 {
                crates.insert(name);
                let room: Vec<&str> = shown.split('/').filter(|part| *part != "src").take(2).collect();
                let entry = rooms.entry(room.join("/").trim_end_matches(".rs").to_string()).or_default();
                entry.0 += blocks;
                entry.1 += lines;
            }
        }
    }
    let (mut blocks, mut lines) = (0, 0);
    for (room, (own_blocks, own_lines)) in &rooms {
        println!("{room}: {own_blocks} blocks, {own_lines} lines");
        blocks += own_blocks;
        lines += own_lines;
    }
    let share = lines * 10_000 / all.max(1);
    println!(
        "unsafe: {blocks} blocks, {lines} of {all} lines ({}.{:02} %), in {} of {} crates",
        share / 100,
        share % 100,
        crates.len(),
        PRODUCT.len()
    );
    if crates.len() > CRATES_MAX || share > PER_TEN_THOUSAND_MAX {
        faults.push(format!(
            "unsafe is past {CRATES_MAX} crates or {PER_TEN_THOUSAND_MAX} lines in ten thousand"
        ));
    }
}

/// Returns the number of `unsafe` blocks, and the number of their lines.
fn count(text: &str) -> (usize, usize) {
    let (mut blocks, mut lines) = (0, 0);
    let mut depth = 0i64;
    // The brace depth at the start of the outermost `unsafe` block, and whether its opening brace was found.
    let mut inside: Option<(i64, bool)> = None;
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        if inside.is_none()
            && (["unsafe {", "unsafe fn ", "unsafe impl "].iter().any(|word| code.contains(word)))
        {
            blocks += 1;
            inside = Some((depth, false));
        }
        lines += usize::from(inside.is_some());
        let opened = code.matches('{').count() as i64;
        depth += opened - code.matches('}').count() as i64;
        if let Some((from, begun)) = &mut inside {
            *begun |= opened > 0;
            // A declaration without a body ends at its semicolon.
            if depth <= *from && (*begun || code.trim_end().ends_with(';')) {
                inside = None;
            }
        }
    }
    (blocks, lines)
}
