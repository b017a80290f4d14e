//! The lengths of functions: at most 80 lines.
//!
//! A function is counted from its `fn` line to the brace that ends it. Tests are not counted.

use std::path::Path;

/// The largest number of lines of a function.
const LINES_MAX: usize = 80;

/// A function: its file, name, first line and number of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub file: String,
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// Adds a fault for each function that is too long.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    for function in long(root) {
        faults.push(format!(
            "{}:{}: {} has {} lines (limit {LINES_MAX}): split the function",
            function.file, function.line, function.name, function.lines
        ));
    }
}

/// Returns the functions with more than 80 lines, the longest first.
pub fn long(root: &Path) -> Vec<Function> {
    let mut found = Vec::new();
    for name in crate::text::CRATES {
        for path in crate::rust_files(&root.join(name).join("src")) {
            let file = crate::shown(root, &path);
            if file.contains("tests") || file.contains("schedules") {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            found.extend(of_file(&file, &text).into_iter().filter(|function| function.lines > LINES_MAX));
        }
    }
    found.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.file.cmp(&b.file)));
    found
}

/// Returns the functions of a file that have a body of several lines.
fn of_file(file: &str, text: &str) -> Vec<Function> {
    let lines: Vec<&str> = crate::sizes::product_lines(text).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let margin = &line[..line.len() - code.len()];
        if code.starts_with("//") || !crate::sizes::is_function(line) || line.trim_end().ends_with(['}', ';'])
        {
            continue;
        }
        // The declaration of a trait has no body.
        let head = lines[at..].iter().find(|line| line.ends_with(['{', ';']));
        if head.is_none_or(|line| line.ends_with(';')) {
            continue;
        }
        let Some(end) = lines[at..].iter().position(|line| line.strip_prefix(margin) == Some("}")) else {
            continue;
        };
        let name = code.split("fn ").nth(1).unwrap_or_default();
        let name = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        found.push(Function { file: file.to_string(), name, line: at + 1, lines: end + 1 });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_ends_at_its_brace() {
        let text = "impl A {\n    pub(crate) fn f(\n        a: u64,\n    ) -> u64 {\n        if a > 1 {\n        }\n        a\n    }\n}\n\ntrait T {\n    fn g(\n        a: u64,\n    );\n\n    fn h<A>(a: A)\n    where\n        A: B;\n}\n\nfn one() {}\n\nfn last() {\n}\n";
        let found: Vec<(String, usize, usize)> =
            of_file("a.rs", text).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
        assert_eq!(found, [("f".to_string(), 2, 7), ("last".to_string(), 23, 2)]);
    }
}
