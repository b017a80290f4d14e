//! Lists the code that the campaigns do not reach: `cargo xtask coverage FILE [--unreached [PATH]]`, called by `.ci/coverage`.
//!
//! FILE is the JSON of `llvm-cov export` over the programs of the campaigns. Three tables are printed:
//! - public calls of `ironstone` that no campaign makes: functions of exported types, exported functions, and the functions
//!   of write batches. Functions of private types and modules, and items that the documentation hides, are no public calls;
//! - option rows that no campaign draws: their names stand in no source file of `sim`;
//! - reached branches of `engine`, `lsm`, `table` and `mem`, by module ([`branches`]).
//!
//! The first two tables should be empty. With `--unreached`, each branch below PATH that no campaign reaches is printed too.

mod branches;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// The folders with public calls of `ironstone`. Write batches are in a folder of `engine`.
const CALLS: [&str; 2] = ["ironstone/src", "engine/src"];

/// The types of `engine` whose functions are public calls of `ironstone`.
const TYPES_OF_ENGINE: [&str; 1] = ["WriteBatch"];

/// Prints the tables. Adds a fault if FILE is missing or is not the JSON of `llvm-cov export`, and for each module with too few
/// reached branches and too few reasons.
pub fn report(root: &Path, arguments: &[String], faults: &mut Vec<String>) {
    let file = arguments.first().map_or("", String::as_str);
    let data = std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let Some(data) = data.as_ref().and_then(|d| d["data"].get(0)) else {
        faults.push(format!("{file}: not the JSON of llvm-cov export"));
        return;
    };
    unused_calls(root, data);
    undrawn_options(root);
    let modules = branches::modules(root, data);
    if arguments.get(1).is_some_and(|argument| argument == "--unreached") {
        branches::print_unreached(root, &modules, arguments.get(2).map_or("", String::as_str));
    }
    branches::print_table(root, &modules, faults);
}

fn unused_calls(root: &Path, data: &Value) {
    let mut reached: BTreeSet<(String, u64)> = BTreeSet::new();
    for function in data["functions"].as_array().into_iter().flatten() {
        let place = function["filenames"][0].as_str().unwrap_or_default();
        if function["count"].as_u64().unwrap_or(0) > 0
            && let Some(line) = function["regions"][0][0].as_u64()
        {
            reached.insert((place.to_string(), line));
        }
    }
    let mut unused = Vec::new();
    let mut all = 0;
    let exported = exported_names(&root.join("ironstone/src"));
    let sources = CALLS.iter().flat_map(|folder| crate::rust_files(&root.join(folder)));
    for path in sources {
        let shown = crate::shown(root, &path);
        if shown.contains("tests") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for Function { name, owner, lines } in public_functions(&text) {
            let own = owner.as_deref().unwrap_or(&name);
            let is_public = match shown.starts_with("engine") {
                true => TYPES_OF_ENGINE.contains(&own),
                false => exported.contains(own),
            };
            if !is_public {
                continue;
            }
            all += 1;
            let own = path.display().to_string();
            if !lines.clone().any(|line| reached.contains(&(own.clone(), line))) {
                let owner = owner.map(|owner| owner + "::").unwrap_or_default();
                unused.push(format!("{shown}:{} {owner}{name}", lines.start));
            }
        }
    }
    println!("public calls of ironstone that no campaign makes: {} of {all}", unused.len());
    unused.iter().for_each(|call| println!("  {call}"));
}

/// Returns the names of the types and functions that the crate exports: the words of `pub use` in the root and in its public
/// modules, and the items that these modules declare.
pub fn exported_names(source: &Path) -> BTreeSet<String> {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let library = read(&source.join("lib.rs"));
    let mut names = reexported(&library);
    for module in public_modules(&library) {
        let alone = read(&source.join(format!("{module}.rs")));
        let text = if alone.is_empty() { read(&source.join(module).join("mod.rs")) } else { alone };
        names.extend(reexported(&text));
        let declared = text.lines().filter_map(|line| line.strip_prefix("pub "));
        let declared = declared.filter_map(|line| {
            let rest = ["fn ", "struct ", "enum ", "trait ", "type "]
                .iter()
                .find_map(|kind| line.strip_prefix(kind))?;
            Some(first_word(rest))
        });
        names.extend(declared);
    }
    names
}

/// Returns the public modules that the documentation shows.
fn public_modules(library: &str) -> Vec<&str> {
    let lines: Vec<&str> = library.lines().collect();
    let modules = lines.iter().enumerate().filter_map(|(at, line)| {
        let name = line.strip_prefix("pub mod ")?.strip_suffix(';')?;
        let is_hidden = at > 0 && lines[at - 1].contains("doc(hidden)");
        (!is_hidden).then_some(name)
    });
    modules.collect()
}

/// Returns the words of all `pub use` items.
pub fn reexported(text: &str) -> BTreeSet<String> {
    let items = text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let words = items.flat_map(|item| item.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.filter(|word| !word.is_empty()).map(str::to_string).collect()
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// A public function of a source file.
#[derive(Debug, PartialEq)]
struct Function {
    name: String,
    /// The type of the `impl` block.
    owner: Option<String>,
    /// The lines of the signature, on which the first region of the function may begin.
    lines: std::ops::Range<u64>,
}

/// Returns the public functions of a source file. Leaves out functions that the documentation hides.
fn public_functions(text: &str) -> Vec<Function> {
    let mut found = Vec::new();
    let mut owner = None;
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with("impl") {
            owner = owner_of(line);
        } else if *line == "}" {
            owner = None;
        }
        let Some(rest) = line.trim_start().strip_prefix("pub fn ") else { continue };
        let attributes = lines[..index].iter().rev().take_while(|line| line.trim_start().starts_with('#'));
        if attributes.into_iter().any(|line| line.contains("doc(hidden)")) {
            continue;
        }
        let length = lines[index..].iter().position(|l| l.contains('{')).unwrap_or(0) as u64 + 1;
        let first = index as u64 + 1;
        found.push(Function { name: first_word(rest), owner: owner.clone(), lines: first..first + length });
    }
    found
}

/// Returns the type of an `impl` line, without its module and its parameters.
fn owner_of(line: &str) -> Option<String> {
    let mut rest = line.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '<') - i32::from(*c == '>');
            depth == 0
        });
        rest = &rest[end.map_or(rest.len(), |(at, _)| at + 1)..];
    }
    let own = rest.split(" for ").last()?.trim();
    let path = own.split(['<', ' ', '{']).next()?;
    Some(path.rsplit("::").next()?.to_string())
}

fn undrawn_options(root: &Path) {
    let sources: String = crate::rust_files(&root.join("sim/src"))
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .collect();
    let options = std::fs::read_to_string(root.join("docs/options.md")).unwrap_or_default();
    let names: BTreeSet<&str> = options
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        .collect();
    let words = words_of_code(&sources);
    let undrawn: Vec<&&str> = names.iter().filter(|name| !words.contains(**name)).collect();
    println!("option rows that no campaign draws: {} of {}", undrawn.len(), names.len());
    undrawn.iter().for_each(|name| println!("  {name}"));
}

/// Returns the words of a source text without its comments. A name inside a longer name is no word.
fn words_of_code(text: &str) -> BTreeSet<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.map(|line| line.split(" // ").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_comments_and_parts_of_words_are_not_drawn() {
        let words = words_of_code(
            "// ttl\n    /// use_fsync\nlet a = b; // paranoid_checks\nthrottle(\"max_open_files=7;\");\n",
        );
        assert_eq!(["ttl", "use_fsync", "paranoid_checks"].map(|name| words.contains(name)), [false; 3]);
        assert_eq!(["throttle", "max_open_files"].map(|name| words.contains(name)), [true; 2]);
    }

    #[test]
    fn public_functions_have_the_lines_of_their_signature_and_their_type() {
        let text = "impl<'a, T: Into<u8>> io::X<'a, T> {\n    pub fn a(&self) {}\n    pub fn b(\n        &self,\n    ) -> u8 {\n    fn c() {}\n}\n\
                    pub fn d() {}\n#[doc(hidden)]\n#[inline]\npub fn e() {}\n";
        let function = |name: &str, owner: Option<&str>, lines| Function {
            name: name.to_string(),
            owner: owner.map(str::to_string),
            lines,
        };
        let expected =
            [function("a", Some("X"), 2..3), function("b", Some("X"), 3..6), function("d", None, 8..9)];
        assert_eq!(public_functions(text), expected);
    }

    #[test]
    fn only_items_that_the_documentation_shows_are_exported() {
        let library = "mod own;\n#[doc(hidden)]\npub mod binding;\npub mod trace;\npub use own::{A, b};\n";
        assert_eq!(public_modules(library), ["trace"]);
        let expected = ["A", "b", "own"].map(str::to_string);
        assert_eq!(reexported(library), BTreeSet::from(expected));
    }
}
