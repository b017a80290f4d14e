//! Checks the page of the findings: each test and each mutant that its tables name exists.
//!
//! A table with the columns `test` and `mutant` lists faults. The tests are in the crate whose name and colon stand before them;
//! without a name, in `engine`.
//!
//! | text | exists if |
//! |---|---|
//! | `` `module::test` `` | the crate has a function `test` in a file or module `module` |
//! | ``module `name` `` | the crate has a file or a directory of this name |
//! | ``page `path` `` | the directory of integration tests has this path |
//! | `` `mutant` `` | `sim/mutants` has the patch; all patches of a row name a test if the row says "(test)" |
//!
//! The test that the first line of a patch names must exist too.

use std::path::{Path, PathBuf};

const PAGE: &str = "docs/notes/findings.md";

/// Adds a fault for each test and each mutant that does not exist.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let Ok(page) = std::fs::read_to_string(root.join(PAGE)) else {
        faults.push(format!("{PAGE}: the page cannot be read"));
        return;
    };
    let mut columns = None;
    let mut rows = 0;
    for (line, number) in page.lines().zip(1..) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if !line.starts_with('|') {
            columns = None;
        } else if let (Some(test), Some(mutant)) = (place(&cells, "test"), place(&cells, "mutant")) {
            columns = Some((test, mutant));
        } else if let (Some((test, mutant)), false) = (columns, line.starts_with("|--")) {
            rows += 1;
            let mut problems = Vec::new();
            check_tests(root, cells.get(test).unwrap_or(&""), &mut problems);
            check_mutants(root, cells.get(mutant).unwrap_or(&""), &mut problems);
            faults.extend(problems.iter().map(|problem| format!("{PAGE}:{number}: {problem}")));
        }
    }
    if rows == 0 {
        faults.push(format!("{PAGE}: no table has the columns `test` and `mutant`"));
    }
    check_patches(root, faults);
}

fn place(cells: &[&str], name: &str) -> Option<usize> {
    cells.iter().position(|cell| *cell == name)
}

/// A name between backticks, with the text before it.
fn names(cell: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = cell.split('`').collect();
    parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

fn check_tests(root: &Path, cell: &str, problems: &mut Vec<String>) {
    let mut folder = "engine";
    let mut found = 0;
    for (before, name) in names(cell) {
        if let Some((words, _)) = before.rsplit_once(": ") {
            folder = words.rsplit([' ', ';', ',']).next().unwrap_or(folder);
        }
        let exists = if before.ends_with("page ") {
            root.join(folder).join("tests/it").join(name).exists()
        } else if before.ends_with("module ") {
            has_module(&root.join(folder), name)
        } else if name.contains("::") {
            has_test(&root.join(folder), name)
        } else {
            continue;
        };
        found += 1;
        if !exists {
            problems.push(format!("the crate {folder} has no test `{name}`"));
        }
    }
    if found == 0 {
        problems.push("the row names no test".to_string());
    }
}

fn check_mutants(root: &Path, cell: &str, problems: &mut Vec<String>) {
    let says_test = cell.contains("(test");
    let mutants = names(cell);
    for (_, name) in &mutants {
        let Ok(patch) = std::fs::read_to_string(root.join(format!("sim/mutants/{name}.patch"))) else {
            problems.push(format!("there is no mutant `{name}`"));
            continue;
        };
        if patch.starts_with("Test: ") != says_test {
            problems.push(format!("\"(test)\" does not agree with the first line of the mutant `{name}`"));
        }
    }
    if mutants.is_empty() && !cell.starts_with("none: ") {
        problems.push("the row names no mutant and no reason".to_string());
    }
}

/// Checks the tests in the first lines of the patches: the filter is a part of a path of modules and a function.
fn check_patches(root: &Path, faults: &mut Vec<String>) {
    let entries = std::fs::read_dir(root.join("sim/mutants")).into_iter().flatten().flatten();
    let mut patches: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    patches.sort();
    for path in patches {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let Some(arguments) = text.lines().next().and_then(|line| line.strip_prefix("Test: ")) else {
            continue;
        };
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let package = words.iter().position(|word| *word == "-p").and_then(|at| words.get(at + 1));
        let folder = package.map_or("", |name| name.strip_prefix("ironstone-").unwrap_or(name));
        let filter = words.last().and_then(|word| word.rsplit("::").find(|part| !part.is_empty()));
        let filter = filter.unwrap_or_default();
        let files = crate::rust_files(&root.join(folder));
        let has_function = |path: &PathBuf| functions(path).iter().any(|function| function.contains(filter));
        if !has_module(&root.join(folder), filter) && !files.iter().any(has_function) {
            faults.push(format!("{}: no test `{filter}` in {folder}", crate::shown(root, &path)));
        }
    }
}

fn functions(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let declared = text.lines().filter_map(|line| line.trim_start().strip_prefix("fn "));
    declared.filter_map(|rest| Some(rest.split_once('(')?.0.to_string())).collect()
}

/// Returns true if the last part of `name` is a function of a file whose path or text has the other parts as modules.
fn has_test(folder: &Path, name: &str) -> bool {
    let parts: Vec<&str> = name.split("::").collect();
    let Some((function, modules)) = parts.split_last() else { return false };
    crate::rust_files(folder).iter().any(|path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let is_module = |module: &&str| has_part(path, module) || text.contains(&format!("mod {module} {{"));
        functions(path).iter().any(|own| own == function) && modules.iter().all(|m| is_module(m))
    })
}

fn has_module(folder: &Path, name: &str) -> bool {
    let parts: Vec<&str> = name.split("::").collect();
    crate::rust_files(folder).iter().any(|path| parts.iter().all(|part| has_part(path, part)))
}

/// Returns true if a directory of the path or the file has this name.
fn has_part(path: &Path, name: &str) -> bool {
    path.with_extension("").iter().any(|part| part == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
    }

    fn problems(check: fn(&Path, &str, &mut Vec<String>), cell: &str) -> Vec<String> {
        let mut problems = Vec::new();
        check(&root(), cell, &mut problems);
        problems
    }

    #[test]
    fn a_name_that_does_not_exist_is_a_fault() {
        assert!(
            problems(check_tests, "xtask: `findings::tests::a_name_that_does_not_exist_is_a_fault`")
                .is_empty()
        );
        assert!(problems(check_tests, "module `foreign`, xtask: module `findings`").is_empty());
        for cell in
            ["`foreign::no_such_test`", "xtask: `prose::a_name_that_does_not_exist_is_a_fault`", "none"]
        {
            assert_eq!(problems(check_tests, cell).len(), 1, "{cell}");
        }
    }

    #[test]
    fn a_mutant_must_exist_and_name_a_test_if_the_row_says_so() {
        assert!(problems(check_mutants, "`sequence-numbers-wrap` (test)").is_empty());
        assert!(problems(check_mutants, "none: needs 2^56 writes").is_empty());
        for cell in ["`sequence-numbers-wrap`", "`no-such-mutant`", "`range-omits-its-end` (test)", "none"] {
            assert_eq!(problems(check_mutants, cell).len(), 1, "{cell}");
        }
    }
}
