//! Finds circles of imports between the files of one crate.
//!
//! A node is a file below `src/`. An edge goes from a file to the file that defines a name which the first file imports
//! with `use`. A name that a module re-exports leads to the file that defines the name. Two rules keep Rust's own shape
//! out of the count: a `mod` declaration is no edge, and test files have no edges. A circle is a set of files that all
//! reach each other. The compiler accepts a circle, but a reader must understand all files of the circle at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module: its path (`["sst", "reader"]`; empty for `lib.rs`), and the imports and re-exports of its file.
struct Module {
    shown: String,
    /// Paths that the file imports, each absolute within the crate.
    imports: Vec<Vec<String>>,
    /// Names that the file re-exports, each with its absolute path.
    exports: BTreeMap<String, Vec<String>>,
}

type Modules = BTreeMap<Vec<String>, Module>;

/// Adds a fault for each circle of each crate.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    for name in crate::text::CRATES {
        for circle in circles(root, name) {
            faults.push(format!("{name}: a circle of imports: {}", circle.join("; ")));
        }
    }
}

/// Returns the circles of a crate. Each circle is the list of its imports: file, imported file, imported name.
pub fn circles(root: &Path, name: &str) -> Vec<Vec<String>> {
    let modules = read(root, name);
    let mut edges: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = BTreeMap::new();
    let mut names: BTreeMap<(&Vec<String>, &Vec<String>), Vec<&str>> = BTreeMap::new();
    for (path, module) in &modules {
        let out = edges.entry(path).or_default();
        for import in &module.imports {
            if let Some(target) = resolve(&modules, import, 0)
                && target != path
                && !is_parent_glue(path, target, import)
            {
                out.insert(target);
                let name = import.last().map_or("", String::as_str);
                names.entry((path, target)).or_default().push(name);
            }
        }
    }
    let mut found = Vec::new();
    let mut placed: BTreeSet<&Vec<String>> = BTreeSet::new();
    for path in modules.keys() {
        if placed.contains(path) {
            continue;
        }
        let reached = reach(&edges, path);
        let circle: Vec<&Vec<String>> =
            reached.iter().filter(|other| reach(&edges, other).contains(path)).copied().collect();
        if circle.len() > 1 {
            let inside = names.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
            let shown = |path: &Vec<String>| modules[path].shown.clone();
            found.push(
                inside
                    .map(|((from, to), names)| {
                        format!("{} imports {} of {}", shown(from), names.join(", "), shown(to))
                    })
                    .collect(),
            );
            placed.extend(circle);
        }
    }
    found
}

/// Returns true if the import names only a module (`use super::child`), not an item in the module's own file.
fn is_parent_glue(_from: &[String], target: &[String], import: &[String]) -> bool {
    import.len() <= target.len()
}

fn reach<'a>(
    edges: &BTreeMap<&'a Vec<String>, BTreeSet<&'a Vec<String>>>,
    from: &'a Vec<String>,
) -> BTreeSet<&'a Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(at) = waiting.pop() {
        for next in edges.get(at).into_iter().flatten() {
            if seen.insert(*next) {
                waiting.push(next);
            }
        }
    }
    seen
}

/// Returns the module in whose file the imported name is defined. Follows re-exports up to eight steps.
fn resolve<'a>(modules: &'a Modules, import: &[String], depth: usize) -> Option<&'a Vec<String>> {
    let (own, rest) = (0..=import.len())
        .rev()
        .find_map(|len| modules.get_key_value(&import[..len]).map(|(key, _)| (key, &import[len..])))?;
    if let Some(first) = rest.first()
        && depth < 8
        && let Some(path) = modules[own].exports.get(first)
        && path.as_slice() != import
    {
        return resolve(modules, path, depth + 1);
    }
    Some(own)
}

fn read(root: &Path, name: &str) -> Modules {
    let src = root.join(name).join("src");
    let mut modules = Modules::new();
    for path in crate::rust_files(&src) {
        let Ok(inside) = path.strip_prefix(&src) else { continue };
        let mut parts: Vec<String> = inside
            .with_extension("")
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        if parts.iter().any(|p| p.contains("test") || p == "bin" || p == "schedules") {
            continue;
        }
        if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            parts.pop();
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let (imports, exports) = uses(&text, &parts);
        modules.insert(parts, Module { shown: crate::shown(root, &path), imports, exports });
    }
    modules
}

/// Returns the imports and the re-exports of one file. Stops at an inline test module.
fn uses(text: &str, own: &[String]) -> (Vec<Vec<String>>, BTreeMap<String, Vec<String>>) {
    let mut imports = Vec::new();
    let mut exports = BTreeMap::new();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
    for statement in code.split(';') {
        let Some((public, tree)) = use_tree(statement) else { continue };
        let mut paths = Vec::new();
        expand(tree.trim(), &[], &mut paths);
        for (path, alias) in paths {
            let Some(path) = absolute(&path, own) else { continue };
            if public {
                exports.insert(alias.clone(), path.clone());
            } else {
                exports.entry(alias).or_insert_with(|| path.clone());
                imports.push(path);
            }
        }
    }
    (imports, exports)
}

/// Returns whether a statement is a public `use`, and its tree.
fn use_tree(statement: &str) -> Option<(bool, &str)> {
    let at = statement.rfind("use ")?;
    let before = statement[..at].trim_end();
    let before_is_boundary =
        before.is_empty() || before.ends_with(['}', ']', '{', ')']) || before.ends_with("pub");
    if !before_is_boundary {
        return None;
    }
    Some((before.ends_with("pub") || before.ends_with(')'), &statement[at + 4..]))
}

/// Expands `a::{b, c as d}` to its paths, each with the name under which the file knows the path.
fn expand(tree: &str, prefix: &[String], out: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let mut path = prefix.to_vec();
        path.extend(tree[..open].split("::").map(str::trim).filter(|p| !p.is_empty()).map(String::from));
        let inner = tree[open + 1..].trim_end().trim_end_matches('}');
        for part in split_top(inner) {
            expand(part, &path, out);
        }
        return;
    }
    let (name, alias) = tree.split_once(" as ").map_or((tree, None), |(n, a)| (n, Some(a.trim())));
    let mut path = prefix.to_vec();
    path.extend(name.split("::").map(str::trim).filter(|p| !p.is_empty()).map(String::from));
    if path.last().is_some_and(|p| p == "self") && path.len() > 1 {
        path.pop();
    }
    if let Some(last) = path.last().cloned() {
        out.push((path, alias.map_or(last, String::from)));
    }
}

/// Splits at the commas that are outside of inner braces.
fn split_top(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Makes a path absolute within the crate. Returns nothing for a path that leads to another crate.
fn absolute(path: &[String], own: &[String]) -> Option<Vec<String>> {
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([own, &path[1..]].concat()),
        "super" => {
            let up = path.iter().take_while(|p| *p == "super").count();
            Some([own.get(..own.len().checked_sub(up)?)?, &path[up..]].concat())
        }
        _ => Some([own, path].concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(parts: &[&str]) -> Vec<String> {
        parts.iter().map(|p| (*p).to_string()).collect()
    }

    #[test]
    fn a_use_tree_expands_to_its_paths() {
        let mut out = Vec::new();
        expand("crate::a::{b::C, d::{self, E as F}}", &[], &mut out);
        let shown: Vec<String> =
            out.iter().map(|(path, alias)| format!("{} {alias}", path.join("::"))).collect();
        assert_eq!(shown, ["crate::a::b::C C", "crate::a::d d", "crate::a::d::E F"]);
    }

    #[test]
    fn a_path_with_super_leads_to_the_parent() {
        let own = strings(&["sst", "reader"]);
        assert_eq!(absolute(&strings(&["super", "open", "X"]), &own), Some(strings(&["sst", "open", "X"])));
        assert_eq!(absolute(&strings(&["crate", "options", "X"]), &own), Some(strings(&["options", "X"])));
    }
}
