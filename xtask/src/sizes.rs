//! The sizes of types: at most 40 methods and 20 fields.
//!
//! A method is counted in the inherent `impl` blocks of a type, in all files of a crate. Methods of traits are not
//! counted, because the trait decides their number. [`LARGE`] lists each type above a limit with its present size. The
//! type may shrink, but it may not grow.

use std::collections::BTreeMap;
use std::path::Path;

/// The largest number of methods of a type.
const METHODS_MAX: usize = 40;

/// The largest number of fields of a struct.
const FIELDS_MAX: usize = 20;

/// Crates whose types and methods are those of another project's interface.
const GIVEN: [&str; 3] = ["c", "jni", "rocksdb"];

/// A type above a limit: crate, type, most methods, most fields, reason.
type Large = (&'static str, &'static str, usize, usize, &'static str);

/// The types above a limit. Do not add a type to this list.
const LARGE: [Large; 18] = [
    ("engine", "Db", 121, 20, "a handle: each method forwards"),
    ("ironstone", "Db", 70, 20, "a handle: each method forwards"),
    ("ironstone", "Family", 68, 20, "a handle: each method forwards"),
    ("ironstone", "Transaction", 98, 20, "a handle: each method forwards"),
    ("engine", "WriteBatch", 65, 20, "one method for each kind of record"),
    ("sim", "World", 40, 25, "a test rig; to be split"),
    ("lsm", "Options", 40, 41, "plain data: options of a picker"),
    ("lsm", "FileMetaData", 40, 23, "plain data: a record of the MANIFEST"),
    ("lsm", "Task", 40, 25, "plain data: what a compaction does"),
    ("lsm", "CompactionIterStats", 40, 21, "plain data: counts"),
    ("engine", "OutputSettings", 40, 36, "plain data: settings"),
    ("engine", "ReadOptions", 40, 29, "plain data: options of a read"),
    ("engine", "Parts", 40, 26, "plain data: resolved options of a column family"),
    ("engine", "CompactionFinished", 40, 26, "plain data: an event"),
    ("table", "WriterOptions", 40, 32, "plain data: options"),
    ("format", "VersionEdit", 40, 24, "plain data: a record of the MANIFEST"),
    ("format", "NewFile", 40, 23, "plain data: a record of the MANIFEST"),
    ("tools", "Run", 40, 24, "plain data: the settings of a benchmark"),
];

/// The size of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub methods: usize,
    pub fields: usize,
}

/// Adds a fault for each type above its limit.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    for name in crate::text::CRATES.into_iter().filter(|name| !GIVEN.contains(name)) {
        for (type_name, size) in sizes(root, name) {
            let (methods, fields) = LARGE
                .iter()
                .find(|(of, known, ..)| *of == name && *known == type_name)
                .map_or((METHODS_MAX, FIELDS_MAX), |(_, _, methods, fields, _)| (*methods, *fields));
            if size.methods > methods || size.fields > fields {
                faults.push(format!(
                    "{name}: {type_name} has {} methods and {} fields (limits {methods} and {fields}): split the type",
                    size.methods, size.fields
                ));
            }
        }
    }
}

/// Returns the size of each type of a crate, by name. Types of one name in several files are counted together only as far
/// as their methods are in the same file as the type, or the name is unique.
pub fn sizes(root: &Path, name: &str) -> BTreeMap<String, Size> {
    let mut found: BTreeMap<String, Size> = BTreeMap::new();
    let mut declared: BTreeMap<String, usize> = BTreeMap::new();
    let mut by_file = Vec::new();
    for path in crate::rust_files(&root.join(name).join("src")) {
        if crate::shown(root, &path).contains("tests") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let own = of_file(&text);
        own.iter().filter(|(_, size)| size.fields > 0).for_each(|(name, _)| {
            *declared.entry(name.clone()).or_default() += 1;
        });
        by_file.push(own);
    }
    for own in by_file {
        for (name, size) in own {
            let several = declared.get(&name).is_some_and(|count| *count > 1);
            let entry = found.entry(name).or_default();
            if several {
                entry.methods = entry.methods.max(size.methods);
                entry.fields = entry.fields.max(size.fields);
            } else {
                entry.methods += size.methods;
                entry.fields += size.fields;
            }
        }
    }
    found
}

/// The item that a line of a file belongs to.
enum Inside {
    Nothing,
    Struct(String),
    Impl(String),
}

fn of_file(text: &str) -> BTreeMap<String, Size> {
    let mut found: BTreeMap<String, Size> = BTreeMap::new();
    let mut inside = Inside::Nothing;
    for line in product_lines(text) {
        if let Some(name) = struct_name(line) {
            inside = Inside::Struct(name);
        } else if line.starts_with("impl") {
            inside = impl_name(line).map_or(Inside::Nothing, Inside::Impl);
        } else if line.starts_with('}') {
            inside = Inside::Nothing;
        } else if line.starts_with("    ") && !line.starts_with("     ") {
            match &inside {
                Inside::Struct(name) if is_field(line) => found.entry(name.clone()).or_default().fields += 1,
                Inside::Impl(name) if is_function(line) => {
                    found.entry(name.clone()).or_default().methods += 1
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns the lines of a file up to its inline test module.
pub fn product_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines()
}

/// Returns true if the line declares a function.
pub fn is_function(line: &str) -> bool {
    let mut code = line.trim_start();
    if let Some(rest) = code.strip_prefix("pub") {
        code = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
        code = code.trim_start();
    }
    while let Some(rest) =
        ["const ", "unsafe ", "async ", "extern \"C\" "].iter().find_map(|word| code.strip_prefix(word))
    {
        code = rest;
    }
    code.starts_with("fn ")
}

fn is_field(line: &str) -> bool {
    let code = line.trim_start();
    let code = code.strip_prefix("pub").map_or(code, |rest| {
        rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest)
    });
    let name: String = code.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    !name.is_empty() && code.trim_start()[name.len()..].starts_with(": ")
}

/// Returns the name of the struct that begins at this line with a list of fields.
fn struct_name(line: &str) -> Option<String> {
    let at = line.find("struct ").filter(|at| *at == 0 || line.starts_with("pub"))?;
    line.trim_end().ends_with('{').then(|| identifier(&line[at + 7..]))
}

/// Returns the type of an inherent `impl` block.
fn impl_name(line: &str) -> Option<String> {
    let mut rest = line.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            (depth == 0).then_some(at)
        })?;
        rest = &rest[end + 1..];
    }
    (!rest.contains(" for ")).then(|| identifier(rest.trim_start()))
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_methods_of_a_type_are_counted() {
        let text = "pub struct A<T> {\n    /// Doc.\n    pub(super) a: u64,\n    b: T,\n}\n\nimpl<T: Clone> A<T> {\n    pub fn f() {\n        let x: u64;\n    }\n    pub(crate) const unsafe fn g() {}\n}\n\nimpl Clone for A<u8> {\n    fn clone(&self) {}\n}\n";
        assert_eq!(of_file(text).get("A"), Some(&Size { methods: 2, fields: 2 }));
    }
}
