//! The sizes of types: at most 40 methods and 20 fields.
//!
//! A method is counted in the inherent `impl` blocks of a type, in all files of a crate. Methods of traits are not
//! counted, because the trait decides their number. [`LARGE`] lists each type above a limit with its present size. The
//! type may shrink. It may grow only for a new verb of RocksDB. A type that is listed as [`HANDLE`] has public methods only. Other types do
//! its work.

use std::collections::BTreeMap;
use std::path::Path;

/// The largest number of methods of a type.
const METHODS_MAX: usize = 40;

/// The largest number of fields of a struct.
const FIELDS_MAX: usize = 20;

/// A type above a limit: crate, type, most methods, most fields, reason.
type Large = (&'static str, &'static str, usize, usize, &'static str);

/// The reason of the types whose methods only forward.
const HANDLE: &str = "a handle: each method forwards";

/// The types above a limit. Do not add a type to this list.
const LARGE: [Large; 6] = [
    ("ironstone", "Db", 69, 20, HANDLE),
    ("ironstone", "Family", 66, 20, HANDLE),
    ("ironstone", "Transaction", 73, 20, HANDLE),
    ("engine", "WriteBatch", 60, 20, "one method for each kind of record, as in RocksDB"),
    ("rocksdb", "DBCommon", 62, 20, "the interface of rust-rocksdb"),
    ("rocksdb", "Options", 57, 20, "the interface of rust-rocksdb"),
];

/// The size of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub methods: usize,
    /// The methods that only the module of the type can call.
    pub private: usize,
    pub fields: usize,
}

/// Adds a fault for each type above its limit.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    for name in crate::text::CRATES {
        for (type_name, size) in sizes(root, name) {
            let row = LARGE.iter().find(|(of, known, ..)| *of == name && *known == type_name);
            let (methods, fields) =
                row.map_or((METHODS_MAX, FIELDS_MAX), |(_, _, methods, fields, _)| (*methods, *fields));
            if size.private > 0 && row.is_some_and(|(.., reason)| *reason == HANDLE) {
                faults.push(format!(
                    "{name}: the handle {type_name} has {} private methods: move their work to another type",
                    size.private
                ));
            }
            if size.methods > methods || size.fields > fields {
                faults.push(format!(
                    "{name}: {type_name} has {} methods and {} fields (limits {methods} and {fields}): split the type",
                    size.methods, size.fields
                ));
            }
        }
    }
}

/// Returns the size of each type of a crate, by name. If several types have one name, returns the largest of them.
pub fn sizes(root: &Path, name: &str) -> BTreeMap<String, Size> {
    let mut files = Vec::new();
    for path in crate::rust_files(&root.join(name).join("src")) {
        let shown = crate::shown(root, &path);
        if shown.contains("tests") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        files.push((module_of(&shown), of_file(&text)));
    }
    merged(&files)
}

/// Returns the path of the module of a file: `a/b` for `a/b.rs` and for `a/b/mod.rs`.
fn module_of(file: &str) -> String {
    let module = file.strip_suffix(".rs").unwrap_or(file);
    module.strip_suffix("/mod").unwrap_or(module).to_string()
}

/// Adds up the sizes of all files. A method belongs to the type of its name in the nearest module.
fn merged(files: &[(String, BTreeMap<String, Size>)]) -> BTreeMap<String, Size> {
    let mut homes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (module, own) in files {
        for (name, _) in own.iter().filter(|(_, size)| size.fields > 0) {
            homes.entry(name).or_default().push(module);
        }
    }
    let mut by_home: BTreeMap<(&str, &str), Size> = BTreeMap::new();
    for (module, own) in files {
        for (name, size) in own {
            let near =
                |home: &&&str| home.split('/').zip(module.split('/')).take_while(|(a, b)| a == b).count();
            let home = homes.get(&**name).and_then(|homes| homes.iter().max_by_key(near)).copied();
            let entry = by_home.entry((name, home.unwrap_or_default())).or_default();
            entry.methods += size.methods;
            entry.fields += size.fields;
            entry.private += size.private;
        }
    }
    let mut found: BTreeMap<String, Size> = BTreeMap::new();
    for ((name, _), size) in by_home {
        let entry = found.entry(name.to_string()).or_default();
        entry.methods = entry.methods.max(size.methods);
        entry.fields = entry.fields.max(size.fields);
        entry.private = entry.private.max(size.private);
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
                    let size = found.entry(name.clone()).or_default();
                    size.methods += 1;
                    size.private += usize::from(!line.trim_start().starts_with("pub"));
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
    fn methods_in_several_files_belong_to_the_nearest_type_of_the_name() {
        let size = |methods, fields| Size { methods, fields, private: 0 };
        let file = |module: &str, own| (module.to_string(), BTreeMap::from([("A".to_string(), own)]));
        let files = [
            file("x/src/a", size(1, 3)),
            file("x/src/a/more", size(5, 0)),
            file("x/src/b", size(2, 4)),
            file("x/src/b/more", size(2, 0)),
        ];
        assert_eq!(merged(&files).get("A"), Some(&size(6, 4)));
        assert_eq!(module_of("x/src/a/mod.rs"), "x/src/a");
    }

    #[test]
    fn fields_and_methods_of_a_type_are_counted() {
        let text = "pub struct A<T> {\n    /// Doc.\n    pub(super) a: u64,\n    b: T,\n}\n\nimpl<T: Clone> A<T> {\n    pub fn f() {\n        let x: u64;\n    }\n    pub(crate) const unsafe fn g() {}\n    fn h() {}\n}\n\nimpl Clone for A<u8> {\n    fn clone(&self) {}\n}\n";
        assert_eq!(of_file(text).get("A"), Some(&Size { methods: 3, fields: 2, private: 1 }));
    }
}
