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
    let sources = Sources::read(root);
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
            check_tests(&sources, cells.get(test).unwrap_or(&""), &mut problems);
            check_mutants(&sources, cells.get(mutant).unwrap_or(&""), &mut problems);
            faults.extend(problems.iter().map(|problem| format!("{PAGE}:{number}: {problem}")));
        }
    }
    if rows == 0 {
        faults.push(format!("{PAGE}: no table has the columns `test` and `mutant`"));
    }
    check_patches(&sources, faults);
}

fn place(cells: &[&str], name: &str) -> Option<usize> {
    cells.iter().position(|cell| *cell == name)
}

/// A name between backticks, with the text before it.
fn names(cell: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = cell.split('`').collect();
    parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

fn check_tests(sources: &Sources, cell: &str, problems: &mut Vec<String>) {
    let mut folder = "engine";
    let mut found = 0;
    for (before, name) in names(cell) {
        if let Some((words, _)) = before.rsplit_once(": ") {
            folder = words.rsplit([' ', ';', ',']).next().unwrap_or(folder);
        }
        let exists = if before.ends_with("page ") {
            sources.root.join(folder).join("tests/it").join(name).exists()
        } else if before.ends_with("module ") {
            sources.has_module(folder, name)
        } else if name.contains("::") {
            sources.has_test(folder, name)
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

fn check_mutants(sources: &Sources, cell: &str, problems: &mut Vec<String>) {
    let says_test = cell.contains("(test");
    let mutants = names(cell);
    for (_, name) in &mutants {
        let path = sources.root.join(format!("sim/mutants/{name}.patch"));
        let Ok(patch) = std::fs::read_to_string(path) else {
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
fn check_patches(sources: &Sources, faults: &mut Vec<String>) {
    let entries = std::fs::read_dir(sources.root.join("sim/mutants")).into_iter().flatten().flatten();
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
        let begin = format!("fn {filter}");
        let mut files = sources.of(folder);
        if !sources.has_module(folder, filter) && !files.any(|(_, text)| text.contains(&begin)) {
            faults.push(format!("{}: no test `{filter}` in {folder}", crate::shown(sources.root, &path)));
        }
    }
}

/// The texts of all Rust files of the workspace.
struct Sources<'a> {
    root: &'a Path,
    /// The paths below the root, and the texts.
    files: Vec<(PathBuf, String)>,
}

impl Sources<'_> {
    fn read(root: &Path) -> Sources<'_> {
        let below = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            (path.strip_prefix(root).unwrap_or(&path).to_path_buf(), text)
        };
        Sources { root, files: crate::rust_files(root).into_iter().map(below).collect() }
    }

    fn of(&self, folder: &str) -> impl Iterator<Item = &(PathBuf, String)> {
        self.files.iter().filter(move |(path, _)| path.starts_with(folder))
    }

    /// Returns true if the last part of `name` is a function of a file whose path or text has the other parts as modules.
    fn has_test(&self, folder: &str, name: &str) -> bool {
        let Some((modules, function)) = name.rsplit_once("::") else { return false };
        let function = format!("fn {function}(");
        self.of(folder).any(|(path, text)| {
            let is_module =
                |module: &str| has_part(path, module) || text.contains(&format!("mod {module} {{"));
            text.contains(&function) && modules.split("::").all(is_module)
        })
    }

    fn has_module(&self, folder: &str, name: &str) -> bool {
        self.of(folder).any(|(path, _)| name.split("::").all(|part| has_part(path, part)))
    }
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

    fn problems(check: fn(&Sources, &str, &mut Vec<String>), cell: &str) -> Vec<String> {
        let (root, mut problems) = (root(), Vec::new());
        check(&Sources::read(&root), cell, &mut problems);
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
