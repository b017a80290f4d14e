//! Checks that `ironstone` exports each type of its public signatures. So a program can name the type of each argument and result.
//!
//! The check reads the public methods of exported types, the exported functions, and the public fields of exported structs. Structs of
//! other crates that `ironstone` exports count too. The files in [`BINDING`] are exempt. The check has no parser. A word that begins
//! with a capital letter is a type, a trait, or a parameter of one letter.

use std::collections::BTreeSet;
use std::path::Path;

use crate::coverage::exported_names;

/// Names of the standard library that signatures use.
const STANDARD: &str = "Arc AsRef BTreeMap Borrow BorrowMut Bound Box Cow DoubleEndedIterator Duration Err Error Fn FnMut FnOnce \
    Formatter From HashMap Into IntoIterator Item Iterator None Ok Option Path PathBuf RangeBounds Result Self Send Sized \
    Some String Sync Target ToString Vec";

/// Types of other packages, which a program gets from these packages: `opentelemetry`.
const OTHER_PACKAGES: [&str; 1] = ["Meter"];

/// Files whose signatures have types of the engine on purpose: for the C library, the Java library and the tools.
const BINDING: [&str; 2] = ["ironstone/src/binding.rs", "ironstone/src/bridge.rs"];

/// Adds a fault for each type in a public signature that the crate does not export.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let source = root.join("ironstone/src");
    let library = std::fs::read_to_string(source.join("lib.rs")).unwrap_or_default();
    let mut known = exported_names(&source);
    known.extend(names_in_modules(root, &library));
    known.extend(STANDARD.split_whitespace().chain(OTHER_PACKAGES).map(str::to_string));
    for path in crate::rust_files(&source) {
        let shown = crate::shown(root, &path);
        if shown.contains("tests") || BINDING.contains(&&*shown) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let fields = unexported_fields(&text, &known, &known);
        for (name, unknown) in unexported(&text, &known).into_iter().chain(fields) {
            faults.push(format!("{shown}: {name} has the type {unknown}, which ironstone does not export"));
        }
    }
    for name in crate::text::CRATES {
        for path in crate::rust_files(&root.join(name).join("src")) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let shown = crate::shown(root, &path);
            let own = exported_of(&library, name, &shown);
            for (name, unknown) in unexported_fields(&text, &own, &known) {
                faults
                    .push(format!("{shown}: {name} has the type {unknown}, which ironstone does not export"));
            }
        }
    }
}

/// Returns each public field of a struct in `own` with a type that is not in `known`.
fn unexported_fields(text: &str, own: &BTreeSet<String>, known: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut inside = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("pub struct ") {
            inside = words(rest).first().filter(|name| own.contains(**name)).map(|name| name.to_string());
        } else if *line == *"}" {
            inside = None;
        }
        let (Some(owner), Some(field)) = (&inside, line.strip_prefix("    pub ")) else { continue };
        let Some((name, type_of_field)) = field.split_once(": ").filter(|(name, _)| words(name) == [*name])
        else {
            continue;
        };
        if let Some(unknown) = words(type_of_field).into_iter().find(|w| is_type(w) && !known.contains(*w)) {
            found.push((format!("{owner}::{name}"), unknown.to_string()));
        }
    }
    found
}

/// Returns each public function with a type that is not in `known`.
fn unexported(text: &str, known: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut owner: Option<String> = None;
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with("impl") {
            owner = Some(line.split('{').next().unwrap_or_default().to_string());
        } else if *line == "}" {
            owner = None;
        }
        let Some(rest) = line.trim_start().strip_prefix("pub fn ") else { continue };
        let hidden = |line: &&&str| line.contains("doc(hidden)");
        let attributes = lines[..index].iter().rev().take_while(|line| line.trim_start().starts_with('#'));
        if attributes.collect::<Vec<_>>().iter().any(hidden) {
            continue;
        }
        let name: String = words(rest).into_iter().next().unwrap_or_default().to_string();
        let is_public = match &owner {
            Some(owner) => words(owner).iter().rev().any(|word| is_type(word) && known.contains(*word)),
            None => known.contains(&name),
        };
        if !is_public {
            continue;
        }
        let end = lines[index..].iter().position(|l| l.contains('{') || l.trim_end().ends_with(';'));
        let signature = lines[index..=index + end.unwrap_or(0)].join(" ");
        let signature = signature.split('{').next().unwrap_or_default();
        let unknown = words(signature).into_iter().find(|word| is_type(word) && !known.contains(*word));
        if let Some(unknown) = unknown {
            found.push((name, unknown.to_string()));
        }
    }
    found
}

/// Returns the names that the root exports from a file of another crate. `shown` is the path of the file. A name of
/// `engine::options` can be declared in the crate `options`.
fn exported_of(library: &str, name: &str, shown: &str) -> BTreeSet<String> {
    let items = library.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let own = items.filter(|item| {
        let mut parts = item.split("::");
        let (from, module) = (parts.next(), parts.next().unwrap_or_default());
        let is_here = module.starts_with('{') || shown.starts_with(&format!("{name}/src/{module}"));
        (from == Some(name) && is_here) || (name == "options" && item.starts_with("engine::options"))
    });
    own.flat_map(words).filter(|word| is_type(word)).map(str::to_string).collect()
}

/// Returns the types of the modules of other crates that the root exports as a whole, such as `pub use base::stats;`.
fn names_in_modules(root: &Path, library: &str) -> BTreeSet<String> {
    let items = library.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let mut found = BTreeSet::new();
    for (name, module) in items.filter_map(|item| item.split_once("::")) {
        if !module.chars().all(|c| c.is_lowercase() || c == '_') {
            continue;
        }
        for path in crate::rust_files(&root.join(name).join("src")) {
            if !crate::shown(root, &path).starts_with(&format!("{name}/src/{module}")) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            found.extend(crate::coverage::reexported(&text));
            let types = text.lines().filter_map(|line| {
                let rest = line.strip_prefix("pub ")?;
                ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))
            });
            found.extend(types.filter_map(|rest| words(rest).first().map(|name| name.to_string())));
        }
    }
    found
}

/// Returns the identifiers of a text.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

/// Returns true for the name of a type or trait. A constant has no small letter.
fn is_type(word: &str) -> bool {
    word.starts_with(|c: char| c.is_uppercase()) && word.contains(|c: char| c.is_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeSet<String> {
        ["Db", "Pinned", "Result", "open"].iter().map(|name| (*name).to_string()).collect()
    }

    #[test]
    fn a_type_that_is_not_exported_is_found_in_a_signature_of_several_lines() {
        let text = "impl Db {\n    pub fn get<K>(\n        &self,\n        key: K,\n    ) -> Result<Held> {\n        Hidden::new()\n    }\n}\n";
        assert_eq!(unexported(text, &known()), [("get".to_string(), "Held".to_string())]);
    }

    #[test]
    fn fields_of_exported_structs_are_read() {
        let text = "pub struct Db {\n    pub a: Pinned,\n    pub b: Option<Held>,\n    c: Held,\n}\npub struct Other {\n    pub d: Held,\n}\n";
        let mut known = known();
        known.insert("Option".to_string());
        assert_eq!(unexported_fields(text, &known, &known), [("Db::b".to_string(), "Held".to_string())]);
    }

    #[test]
    fn names_of_a_crate_are_those_of_the_module_of_the_file() {
        let library =
            "pub use lsm::filter::{Decision, Kind};\npub use base::{Level, Order};\npub use engine::event;\n";
        let own = |name, shown| exported_of(library, name, shown).into_iter().collect::<Vec<_>>();
        assert_eq!(own("lsm", "lsm/src/filter/mod.rs"), ["Decision", "Kind"]);
        assert_eq!(own("lsm", "lsm/src/pressure.rs"), [""; 0]);
        assert_eq!(own("base", "base/src/ids.rs"), ["Level", "Order"]);
    }

    #[test]
    fn private_and_hidden_functions_and_private_types_are_not_read() {
        let text = "impl Db {\n    fn a(x: X1a) {}\n    pub(crate) fn b(x: X1a) {}\n    #[doc(hidden)]\n    pub fn c(x: X1a) {}\n    pub fn d() -> Pinned {}\n}\nimpl Inner {\n    pub fn e(x: X1a) {}\n}\npub fn shut(x: X1a) {}\npub fn open(db: Db) {}\n";
        assert_eq!(unexported(text, &known()), []);
    }
}
