//! Prints measures of the source code, as a table or as JSON: `cargo xtask measure [--json]`.
//!
//! A measure is counted from the text of the sources. Tests are left out, except where the measure is about tests.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::sizes::{is_function, product_lines};
use crate::{circles, functions, prose, sizes, text};

/// The counts of one crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    functions: usize,
    assertions: usize,
    public_items: usize,
    documented: usize,
    doc_examples: usize,
    /// Uses of the number inside of a newtype, outside of the methods of the newtype.
    bare: usize,
    /// Parameters and fields that hold a level as a plain number.
    plain_levels: usize,
    /// Clamps without an assertion or a reason beside them.
    clamps: usize,
    lines: usize,
}

/// Prints all measures.
pub fn report(root: &Path, as_json: bool) {
    let value = measure(root);
    if as_json {
        println!("{value:#}");
        return;
    }
    println!("circles of imports: {}", value["circles"]);
    for (name, size) in value["largest_types"].as_object().into_iter().flatten() {
        println!("largest type, {name}: {} methods, {} fields", size["methods"], size["fields"]);
    }
    println!(
        "functions above 80 lines: {}, longest {} lines; files above 650 lines: {}, longest {} lines",
        value["functions"]["long"],
        value["functions"]["longest"],
        value["files"]["long"],
        value["files"]["longest"]
    );
    println!(
        "\n{:<12} {:>10} {:>11} {:>10} {:>12} {:>9} {:>6} {:>6} {:>6}",
        "crate", "functions", "assertions", "per fn", "documented", "examples", ".0", "levels", "clamps"
    );
    for (name, own) in value["crates"].as_object().into_iter().flatten() {
        let ratio = own["assertions_per_function"].as_f64().unwrap_or(0.0);
        let share = own["documented_percent"].as_f64().unwrap_or(0.0);
        println!(
            "{name:<12} {:>10} {:>11} {ratio:>10.2} {share:>10.0} % {:>9} {:>6} {:>6} {:>6}",
            own["functions"].to_string(),
            own["assertions"].to_string(),
            own["doc_examples"].to_string(),
            own["bare_numbers"].to_string(),
            own["plain_levels"].to_string(),
            own["clamps"].to_string()
        );
    }
    let pages = &value["text_tests"];
    println!(
        "\ntext tests: {} lines of pages, {} lines of code, ratio {:.2}",
        pages["lines"],
        pages["code_lines"],
        pages["ratio"].as_f64().unwrap_or(0.0)
    );
    println!("\npronoun-heavy sentences by room, in percent:");
    for (name, percent) in value["pronoun_percent"].as_object().into_iter().flatten() {
        println!("  {name:<22} {:.1}", percent.as_f64().unwrap_or(0.0));
    }
}

fn measure(root: &Path) -> Value {
    let (mut crates, mut largest, mut code_lines) = (BTreeMap::new(), BTreeMap::new(), 0);
    let mut circle_count = 0;
    for name in text::CRATES {
        circle_count += circles::circles(root, name).len();
        let own = counts(root, name);
        code_lines += own.lines;
        let largest_own = sizes::sizes(root, name).into_iter().max_by_key(|(_, size)| size.methods);
        if let Some((type_name, size)) = largest_own {
            largest.insert(
                format!("{name}::{type_name}"),
                json!({ "methods": size.methods, "fields": size.fields }),
            );
        }
        crates.insert(
            name,
            json!({
                "functions": own.functions,
                "assertions": own.assertions,
                "assertions_per_function": ratio(own.assertions, own.functions),
                "public_items": own.public_items,
                "documented_percent": 100.0 * ratio(own.documented, own.public_items),
                "doc_examples": own.doc_examples,
                "bare_numbers": own.bare,
                "plain_levels": own.plain_levels,
                "clamps": own.clamps,
            }),
        );
    }
    let pages = page_lines(root);
    let long = functions::long(root);
    let files: Vec<usize> = text::CRATES.iter().flat_map(|name| line_counts(&root.join(name))).collect();
    let percent: BTreeMap<String, f64> =
        prose::rooms(root).into_iter().map(|(name, room)| (name, room.percent())).collect();
    json!({
        "circles": circle_count,
        "functions": { "long": long.len(), "longest": long.first().map_or(80, |function| function.lines) },
        "files": { "long": files.iter().filter(|lines| **lines > text::RED_LINE).count(), "longest": files.iter().max() },
        "largest_types": largest,
        "crates": crates,
        "text_tests": { "lines": pages, "code_lines": code_lines, "ratio": ratio(pages, code_lines) },
        "pronoun_percent": percent,
    })
}

/// Returns the number of lines of each source file below `dir`.
fn line_counts(dir: &Path) -> Vec<usize> {
    let read = |path| std::fs::read_to_string(path).ok();
    crate::rust_files(dir).into_iter().filter_map(read).map(|text| text.lines().count()).collect()
}

fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn counts(root: &Path, name: &str) -> Counts {
    let mut own = Counts::default();
    for path in crate::rust_files(&root.join(name).join("src")) {
        let shown = crate::shown(root, &path);
        if shown.contains("tests") || shown.contains("schedules") || shown.contains("test_vectors") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        count(&text, name, &mut own);
    }
    own
}

/// The homes of the newtypes: their code may take the number out of a type.
const HOMES: [&str; 2] = ["base", "format"];

/// The crates with the interfaces of other languages and of the crate rocksdb. Such an interface passes a level as `i32` or `u32`.
const BORDERS: [&str; 3] = ["c", "jni", "rocksdb"];

fn count(text: &str, name: &str, own: &mut Counts) {
    own.clamps += clamps(&product_lines(text).collect::<Vec<_>>());
    let (mut has_doc, mut in_example) = (false, false);
    for line in product_lines(text) {
        let code = line.trim_start();
        own.lines += 1;
        if let Some(doc) = code.strip_prefix("///").or_else(|| code.strip_prefix("//!")) {
            has_doc |= code.starts_with("///");
            if let Some(kind) = doc.trim().strip_prefix("```") {
                own.doc_examples += usize::from(!in_example && !kind.contains("text"));
                in_example = !in_example;
            }
            continue;
        }
        if code.starts_with("//") {
            continue;
        }
        own.functions += usize::from(is_function(line));
        own.assertions += assertions(code);
        own.bare += usize::from(!HOMES.contains(&name)) * bare(code);
        own.plain_levels += plain_levels(code, name);
        if is_public_item(code) {
            own.public_items += 1;
            own.documented += usize::from(has_doc);
        }
        // An attribute stands between an item and its doc comment.
        has_doc &= code.starts_with("#[");
    }
}

/// Counts the checks of facts that only a mistake in the code can break.
fn assertions(code: &str) -> usize {
    ["assert!(", "assert_eq!(", "assert_ne!(", "invariant!("]
        .iter()
        .map(|word| code.matches(word).count())
        .sum()
}

/// Counts the lines that move a number into a range, without a check of the number or a comment with the reason. A check stands at
/// most fifteen lines before, or three lines after. A comment stands at most five lines before.
fn clamps(lines: &[&str]) -> usize {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let is_clamp =
        |line: &str| !is_comment(line) && (line.contains("saturating_sub(") || line.contains(".clamp("));
    let is_reason = |line: &&str| line.trim_start().starts_with("// ");
    let explained = |at: usize| {
        let near = &lines[at.saturating_sub(15)..lines.len().min(at + 4)];
        near.iter().any(|&line| !is_comment(line) && assertions(line) > 0)
            || lines[at.saturating_sub(5)..at].iter().any(is_reason)
    };
    (0..lines.len()).filter(|&at| is_clamp(lines[at]) && !explained(at)).count()
}

/// Counts `.0` after a name or a call. `self.0` is not counted: only a method of the type itself can say it.
fn bare(code: &str) -> usize {
    code.match_indices(".0")
        .filter(|(at, _)| !ends_with_self(&code[..*at]))
        .filter(|(at, _)| {
            let before =
                code[..*at].chars().next_back().is_some_and(|c| c.is_alphabetic() || c == '_' || c == ')');
            let after = code[at + 2..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '_');
            before && after
        })
        .count()
}

/// Counts parameters and fields with the name `level`, or a name that ends with `_level`, and a type of plain numbers. The level of
/// a compression library is another number, and so is a count of files at a level. The types of foreign interfaces are not counted.
fn plain_levels(code: &str, name: &str) -> usize {
    let types: &[&str] =
        if BORDERS.contains(&name) { &["u8", "u64", "usize"] } else { &["u8", "u32", "u64", "usize", "i32"] };
    let plain = |rest: &str| types.iter().any(|ty| is_type(rest, ty));
    code.match_indices("level: ")
        .filter(|(at, found)| plain(&code[at + found.len()..]))
        .filter(|(at, _)| {
            let before = &code[..*at];
            let is_other = ["compression_", "_files_at_output_"].iter().any(|other| before.ends_with(other));
            !is_other && !before.ends_with(|c: char| c.is_alphanumeric())
        })
        .count()
}

/// Returns true if the text begins with this type.
fn is_type(text: &str, ty: &str) -> bool {
    text.strip_prefix(ty)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
}

fn ends_with_self(code: &str) -> bool {
    code.strip_suffix("self")
        .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn is_public_item(code: &str) -> bool {
    let Some(rest) = code.strip_prefix("pub ") else { return false };
    let words = ["fn ", "const ", "struct ", "enum ", "trait ", "type ", "static ", "unsafe ", "macro "];
    words.iter().any(|word| rest.starts_with(word))
}

/// Counts the lines of the pages in `testdata/` and `histories/` of all crates.
fn page_lines(root: &Path) -> usize {
    let mut waiting: Vec<_> = text::CRATES.iter().map(|name| (root.join(name), false)).collect();
    let mut lines = 0;
    while let Some((dir, in_pages)) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                let pages = in_pages || path.ends_with("testdata");
                waiting.push((path, pages));
            } else if in_pages && path.extension().is_none_or(|e| e != "rs") {
                lines += std::fs::read_to_string(&path).map_or(0, |text| text.lines().count());
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_functions_and_documented_items_are_counted() {
        let text = "/// Doc.\n#[inline]\npub fn f() {\n    debug_assert!(a.0 == self.0);\n    invariant!(true, \"x\");\n}\n\npub struct A;\n";
        let mut own = Counts::default();
        count(text, "lsm", &mut own);
        let expected = Counts {
            functions: 1,
            assertions: 2,
            public_items: 2,
            documented: 1,
            doc_examples: 0,
            bare: 1,
            plain_levels: 0,
            clamps: 0,
            lines: 8,
        };
        assert_eq!(own, expected);
    }

    #[test]
    fn clamps_without_a_check_or_a_reason_are_counted() {
        let clamp = "    a.saturating_sub(b)";
        for (lines, count) in [
            (&["fn f() {", clamp, "}"][..], 1),
            (&["    // The clock may go back.", clamp][..], 0),
            (&["    /// Doc.", clamp][..], 1),
            (&["    invariant!(b <= a, \"x\");", "", clamp][..], 0),
            (&[clamp, "    invariant!(true, \"x\");"][..], 0),
            (&["    // a.clamp(1, 2)"][..], 0),
        ] {
            assert_eq!(clamps(lines), count, "{lines:?}");
        }
    }

    #[test]
    fn levels_with_plain_types_are_counted() {
        for (code, count) in [
            ("fn f(level: usize, output_level: u32) {", 2),
            ("level: Level, compression_level: i32,", 0),
            ("let level: usize = 3; bevel: u8", 1),
            ("level: u8::MAX, level: usized", 0),
            ("num_input_files_at_output_level: usize", 0),
        ] {
            assert_eq!(plain_levels(code, "lsm"), count, "{code}");
        }
        assert_eq!(plain_levels("fn f(level: i32, output_level: u32, base_level: usize) {", "c"), 1);
    }

    #[test]
    fn a_doc_example_is_counted_once() {
        let mut own = Counts::default();
        count("/// ```\n/// f();\n/// ```\n/// ```text\n/// picture\n/// ```\n", "lsm", &mut own);
        assert_eq!(own.doc_examples, 1);
    }
}
