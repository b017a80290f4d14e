//! The branches that the campaigns reach, by module, and the reasons for the branches that no campaign reaches.
//!
//! ```text
//!  records of llvm-cov ──► conditions by place ──► branches by module ──► table
//!  coverage_reasons.txt ──────────────────────────────────────────────────┘
//! ```
//! A condition has two branches. A generic function has a record for each of its types; the records of one condition count as one.
//! The conditions of invariants and assertions do not count: only a fault takes their other branch.
//!
//! If fewer than [`GOAL_PERCENT`] percent of the branches of a module are reached, the module needs rows of `coverage_reasons.txt`. A row
//! explains unreached branches below one path, at most as many as the row says. The reached and the explained branches together must be
//! at least [`GOAL_PERCENT`] percent. The output names each row that explains no branch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// Crates whose branches are reported.
const CRATES: [&str; 4] = ["engine", "lsm", "table", "mem"];

/// A module should have this many percent of its branches reached.
const GOAL_PERCENT: u64 = 90;

/// The file of the reasons, below the root.
const REASONS: &str = "xtask/coverage_reasons.txt";

/// The classes of reasons. The file of the reasons says what each class means.
const CLASSES: [&str; 4] = ["tests", "defensive", "timing", OPEN];

/// The class of branches without a verdict: no campaign and no measured test reaches them.
const OPEN: &str = "open";

/// One branch that no campaign takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    file: String,
    line: u64,
    column: u64,
    /// The value of the condition that never occurred.
    value: bool,
}

/// The branches of a module.
#[derive(Debug, Default)]
pub struct Module {
    count: u64,
    unreached: Vec<Unreached>,
}

impl Module {
    fn reached(&self) -> u64 {
        self.count - self.unreached.len() as u64
    }

    /// Returns the number of branches that are missing to the goal if `reached` branches are reached or explained.
    fn missing(&self, reached: u64) -> u64 {
        (self.count * GOAL_PERCENT).div_ceil(100).saturating_sub(reached)
    }
}

/// Returns the modules of the reported crates: `engine/write`, `lsm/pick`.
pub fn modules(root: &Path, data: &Value) -> BTreeMap<String, Module> {
    let mut modules: BTreeMap<String, Module> = BTreeMap::new();
    for file in data["files"].as_array().into_iter().flatten() {
        let shown = crate::shown(root, Path::new(file["filename"].as_str().unwrap_or_default()));
        let Some(name) = module_of(&shown) else { continue };
        let source = std::fs::read_to_string(root.join(&shown)).unwrap_or_default();
        let conditions = conditions(file, &lines_of_assertions(&source));
        let module = modules.entry(name).or_default();
        module.count += 2 * conditions.len() as u64;
        for ([line, column, ..], taken) in conditions {
            let missing = [true, false].into_iter().zip(taken).filter(|(_, taken)| !taken);
            let unreached = missing.map(|(value, _)| Unreached { file: shown.clone(), line, column, value });
            module.unreached.extend(unreached);
        }
    }
    modules.retain(|_, module| module.count > 0);
    modules
}

/// Returns the module of a product file of a reported crate.
fn module_of(shown: &str) -> Option<String> {
    let parts: Vec<&str> = shown.split('/').collect();
    let [name, "src", module, ..] = parts[..] else { return None };
    let is_reported = CRATES.contains(&name) && !shown.contains("tests");
    is_reported.then(|| format!("{name}/{}", module.trim_end_matches(".rs")))
}

/// Returns the conditions of a file by their place, without the conditions on `left_out` lines: true was seen, false was seen.
fn conditions(file: &Value, left_out: &BTreeSet<u64>) -> BTreeMap<[u64; 4], [bool; 2]> {
    let mut conditions: BTreeMap<[u64; 4], [bool; 2]> = BTreeMap::new();
    for record in file["branches"].as_array().into_iter().flatten() {
        let number = |at: usize| record[at].as_u64().unwrap_or(0);
        if left_out.contains(&number(0)) {
            continue;
        }
        let taken = conditions.entry([number(0), number(1), number(2), number(3)]).or_default();
        taken[0] |= number(4) > 0;
        taken[1] |= number(5) > 0;
    }
    conditions
}

/// Returns the numbers of the lines of all invariants and assertions, from 1.
fn lines_of_assertions(source: &str) -> BTreeSet<u64> {
    let calls = ["invariant!(", "assert!(", "assert_eq!(", "assert_ne!("];
    let mut lines = BTreeSet::new();
    let mut open = 0;
    for (line, number) in source.lines().zip(1..) {
        if open > 0 || calls.iter().any(|call| line.contains(call)) {
            let count = |c: char| line.matches(c).count() as i64;
            open = (open + count('(') - count(')')).max(0);
            lines.insert(number);
        }
    }
    lines
}

/// Prints each unreached branch below `path`, with its line of source.
pub fn print_unreached(root: &Path, modules: &BTreeMap<String, Module>, path: &str) {
    let all = modules.values().flat_map(|module| &module.unreached);
    let mut sources: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Unreached { file, line, column, value } in all.filter(|branch| branch.file.starts_with(path)) {
        let lines = sources.entry(file).or_insert_with(|| {
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            text.lines().map(str::to_string).collect()
        });
        let source = lines.get(*line as usize - 1).map_or("", |line| line.trim());
        println!("{file}:{line}:{column}: never {value}: {source}");
    }
}

/// Prints the table by module, and the reasons below it. Adds a fault for each module whose reached and explained branches are
/// below the goal, and for each row of the reasons that cannot be read.
pub fn print_table(root: &Path, modules: &BTreeMap<String, Module>, faults: &mut Vec<String>) {
    let text = std::fs::read_to_string(root.join(REASONS)).unwrap_or_default();
    let reasons = reasons(&text, faults);
    let explained = explained(modules, &reasons);
    println!("| module | reached | branches | share | explained |\n|---|---:|---:|---:|---:|");
    let (mut reached, mut count) = (0, 0);
    for (name, module) in modules {
        let of_module = reasons.iter().zip(&explained).filter(|(reason, _)| reason.module == *name);
        let sum: u64 = of_module.map(|(_, explained)| explained).sum();
        println!("{}", row(name, module.reached(), module.count, &shown_sum(sum)));
        let without = module.missing(module.reached() + sum);
        if without > 0 {
            faults.push(format!(
                "{name}: {without} branches are missing to {GOAL_PERCENT} % and have no reason in {REASONS}"
            ));
        }
        reached += module.reached();
        count += module.count;
    }
    println!("{}", row("all", reached, count, ""));
    print_reasons(modules, &reasons, &explained);
}

fn row(name: &str, reached: u64, count: u64, explained: &str) -> String {
    format!("| {name} | {reached} | {count} | {:.1} % | {explained} |", 100.0 * reached as f64 / count as f64)
}

fn shown_sum(sum: u64) -> String {
    if sum == 0 { String::new() } else { sum.to_string() }
}

/// Prints the reasons of the modules below the goal, then the reasons that are not needed.
fn print_reasons(modules: &BTreeMap<String, Module>, reasons: &[Reason], explained: &[u64]) {
    println!("reasons, with the number of branches that each one explains:");
    let is_needed = |reason: &Reason, explained: u64| {
        explained > 0
            && modules.get(&reason.module).is_some_and(|module| module.missing(module.reached()) > 0)
    };
    let (needed, other): (Vec<_>, Vec<_>) =
        reasons.iter().zip(explained).partition(|(reason, explained)| is_needed(reason, **explained));
    for (reason, explained) in needed {
        let Reason { path, class, sentence, .. } = reason;
        println!("  {path}: {explained}, {class}: {sentence}");
    }
    let open = reasons.iter().zip(explained).filter(|(reason, _)| reason.class == OPEN);
    let open: u64 = open.map(|(_, explained)| explained).sum();
    println!("branches that no campaign and no measured test reaches: {open}");
    for (Reason { path, line, .. }, _) in other {
        println!("{REASONS}:{line}: no longer needed: {path}");
    }
}

/// One row of the file of the reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reason {
    /// The number of the row's line in the file.
    line: usize,
    path: String,
    module: String,
    class: String,
    branches_max: u64,
    sentence: String,
}

/// Reads rows `path | class | branches | reason`. Empty lines and lines that begin with `#` have no row.
fn reasons(text: &str, faults: &mut Vec<String>) -> Vec<Reason> {
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match reason(line, number) {
            Some(reason) => found.push(reason),
            None => faults.push(format!(
                "{REASONS}:{number}: expected \"path | {} | branches | reason\"",
                CLASSES.join(" or ")
            )),
        }
    }
    found
}

fn reason(text: &str, line: usize) -> Option<Reason> {
    let parts: Vec<&str> = text.splitn(4, '|').map(str::trim).collect();
    let [path, class, branches, sentence] = parts[..] else { return None };
    let module = module_of(path)?;
    let branches_max = branches.parse().ok()?;
    let is_complete = CLASSES.contains(&class) && !sentence.is_empty();
    is_complete.then(|| Reason {
        line,
        path: path.to_string(),
        module,
        class: class.to_string(),
        branches_max,
        sentence: sentence.to_string(),
    })
}

/// Returns the number of unreached branches that each reason explains. A branch is explained once, by the first row that has room.
fn explained(modules: &BTreeMap<String, Module>, reasons: &[Reason]) -> Vec<u64> {
    let mut explained = vec![0; reasons.len()];
    for branch in modules.values().flat_map(|module| &module.unreached) {
        let has_room = |(at, reason): &(usize, &Reason)| {
            explained[*at] < reason.branches_max && is_below(&branch.file, &reason.path)
        };
        if let Some((at, _)) = reasons.iter().enumerate().find(has_room) {
            explained[at] += 1;
        }
    }
    explained
}

/// Returns true if a file is `path`, is below the folder `path`, or is the module file of the folder.
fn is_below(file: &str, path: &str) -> bool {
    let rest = file.strip_prefix(path.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(count: u64, files: &[&str]) -> Module {
        let unreached = |file: &&str| Unreached { file: file.to_string(), line: 1, column: 1, value: true };
        Module { count, unreached: files.iter().map(unreached).collect() }
    }

    #[test]
    fn conditions_of_assertions_do_not_count_and_types_count_once() {
        let source =
            "if a { b() }\nbase::invariant!(\n    a && b,\n);\nif c && d {}\ndebug_assert!(a && b);\n";
        let left_out = lines_of_assertions(source);
        assert_eq!(left_out, BTreeSet::from([2, 3, 4, 6]));
        let file = serde_json::json!({ "branches": [
            [1, 4, 1, 5, 7, 0, 0, 0, 4],
            [1, 4, 1, 5, 0, 2, 0, 0, 4],
            [3, 5, 3, 6, 1, 0, 0, 0, 4],
            [5, 4, 5, 5, 1, 0, 0, 0, 4],
        ] });
        let found: Vec<_> = conditions(&file, &left_out).into_iter().collect();
        assert_eq!(found, [([1, 4, 1, 5], [true, true]), ([5, 4, 5, 5], [true, false])]);
    }

    #[test]
    fn a_reason_explains_at_most_its_number_of_branches_below_its_path() {
        let text = "# rows\n\nengine/src/a/b.rs | tests | 2 | First.\nengine/src/a | timing | 9 | Second.\n";
        let mut faults = Vec::new();
        let reasons = reasons(text, &mut faults);
        assert_eq!((reasons.len(), faults.len()), (2, 0));
        let files = [
            "engine/src/a/b.rs",
            "engine/src/a/b.rs",
            "engine/src/a/b.rs",
            "engine/src/a.rs",
            "engine/src/ab.rs",
        ];
        let modules = BTreeMap::from([("engine/a".to_string(), module(20, &files))]);
        assert_eq!(explained(&modules, &reasons), [2, 2]);
    }

    #[test]
    fn a_row_without_a_class_a_number_or_a_sentence_is_a_fault() {
        let rows = [
            "engine/src/a | luck | 2 | A sentence.",
            "engine/src/a | tests | many | A sentence.",
            "engine/src/a | tests | 2 |",
            "format/src/a | tests | 2 | A sentence.",
        ];
        let mut faults = Vec::new();
        assert_eq!(reasons(&rows.join("\n"), &mut faults), []);
        assert_eq!(faults.len(), 4);
    }

    #[test]
    fn a_module_misses_the_branches_to_the_goal() {
        let module = module(21, &["a", "b", "c", "d"]);
        assert_eq!(
            (module.missing(17), module.missing(18), module.missing(19), module.missing(21)),
            (2, 1, 0, 0)
        );
    }
}
