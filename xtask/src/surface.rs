//! `cargo xtask surface`: compares the public items of our crate `rocksdb` with the items of rust-rocksdb.
//!
//! rustdoc writes the items of a crate as JSON. The items of rust-rocksdb 0.25 are in `rocksdb/public_items.txt`, so the
//! comparison needs no build of the C++ library. `cargo xtask surface --reference FILE` writes that list from the JSON of
//! rust-rocksdb. An item is a line: kind, name, and the count of the parameters of a function. Items that have no meaning
//! without the C library are in `rocksdb/not_offered.txt`, each with its reason.
//!
//! The command writes `docs/rust-api.md`. It fails if an item is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Traits that say nothing about the use of a type.
const UNIMPORTANT_TRAITS: [&str; 7] =
    ["Drop", "Freeze", "RefUnwindSafe", "UnwindSafe", "Unpin", "StructuralPartialEq", "UnsafeUnpin"];

/// Item and source file.
type Items = BTreeMap<String, String>;

/// Compares the public items, prints the counts, and writes `docs/rust-api.md`. Adds a fault if items are
/// missing.
pub fn run(root: &Path, arguments: &[String], faults: &mut Vec<String>) {
    if let Err(fault) = compare(root, arguments) {
        faults.push(fault);
    }
}

fn compare(root: &Path, arguments: &[String]) -> Result<(), String> {
    let list = root.join("rocksdb/public_items.txt");
    if let [flag, file] = arguments
        && flag == "--reference"
    {
        let items = Crate::read(Path::new(file))?.items();
        let lines: String = items.keys().map(|item| format!("{item}\n")).collect();
        return write(&list, &lines);
    }
    let wanted = read(&list)?;
    let excused = read(&root.join("rocksdb/not_offered.txt"))?;
    let excused: BTreeMap<&str, &str> = excused.lines().filter_map(|line| line.split_once(" | ")).collect();
    let ours = Crate::read(&document(root)?)?.items();
    let missing: Vec<&str> =
        wanted.lines().filter(|item| !ours.contains_key(*item) && !excused.contains_key(*item)).collect();
    write(&root.join("docs/rust-api.md"), &table(&wanted, &ours, &excused))?;
    println!(
        "surface: {} items of rust-rocksdb, {} have no meaning here, {} missing",
        wanted.lines().count(),
        excused.len(),
        missing.len()
    );
    match missing.as_slice() {
        [] => Ok(()),
        missing => Err(format!("missing in crate rocksdb:\n  {}", missing.join("\n  "))),
    }
}

/// Runs rustdoc on our crate. Returns the path of the JSON.
fn document(root: &Path) -> Result<PathBuf, String> {
    let status = Command::new("cargo")
        .args(["rustdoc", "-q", "-p", "ironstone-rocksdb", "--lib", "--features", "raw-ptr", "--"])
        .args(["-Z", "unstable-options", "--output-format", "json"])
        .env("RUSTC_BOOTSTRAP", "1") // the JSON of rustdoc is not stable
        .current_dir(root)
        .status();
    match status {
        Ok(status) if status.success() => Ok(root.join("target/doc/rocksdb.json")),
        Ok(status) => Err(format!("cargo rustdoc: {status}")),
        Err(error) => Err(format!("cargo rustdoc: {error}")),
    }
}

fn table(wanted: &str, ours: &Items, excused: &BTreeMap<&str, &str>) -> String {
    let mut text = String::from(
        "# The public items of rust-rocksdb 0.25, and where ours are\n\n\
         `cargo xtask surface` writes this page from rustdoc's JSON, and fails if an item is missing. The number after a\n\
         function is the count of its parameters.\n\n\
         | item of rust-rocksdb | ours |\n| --- | --- |\n",
    );
    for item in wanted.lines() {
        let place = match (ours.get(item), excused.get(item)) {
            (Some(file), _) => format!("`{file}`"),
            (None, Some(reason)) => format!("not offered: {reason}"),
            (None, None) => "**missing**".to_string(),
        };
        text += &format!("| `{item}` | {place} |\n");
    }
    text
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The JSON that rustdoc writes about a crate.
struct Crate(Value);

impl Crate {
    fn read(path: &Path) -> Result<Crate, String> {
        serde_json::from_str(&read(path)?).map(Crate).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn item(&self, id: &Value) -> &Value {
        &self.0["index"][id.to_string().as_str()]
    }

    /// Returns the public items that a program can name, and the members of public types.
    fn items(&self) -> Items {
        let mut items = Items::new();
        self.walk(&self.0["root"], "", &mut items, &mut BTreeSet::new());
        // Some calls return a type that no program can name. The members of this type count too.
        let index = self.0["index"].as_object();
        for item in index.into_iter().flat_map(|index| index.values()) {
            if item["crate_id"] == 0 && item["visibility"] == "public" {
                self.members(item, &mut items);
            }
        }
        items
    }

    /// Visits the items of a module.
    fn walk(&self, module: &Value, path: &str, items: &mut Items, seen: &mut BTreeSet<String>) {
        if !seen.insert(format!("{path} {module}")) {
            return;
        }
        for id in list(&self.item(module)["inner"]["module"]["items"]) {
            let item = self.item(id);
            if item["visibility"] != "public" {
                continue;
            }
            if let Some(exported) = item["inner"].get("use") {
                let name = join(path, exported["name"].as_str().unwrap_or_default());
                self.named(self.item(&exported["id"]), &name, items);
            } else {
                let name = join(path, item["name"].as_str().unwrap_or_default());
                self.named(item, &name, items);
                if item["inner"].get("module").is_some() {
                    self.walk(id, &name, items, seen);
                }
            }
        }
    }

    /// Adds an item under the name that a program uses.
    fn named(&self, item: &Value, name: &str, items: &mut Items) {
        let Some((kind, inner)) = only(&item["inner"]) else { return };
        let line = match kind {
            "function" => format!("function {name} {}", parameters(inner)),
            "struct" | "enum" | "trait" | "type_alias" | "constant" | "module" => format!("{kind} {name}"),
            _ => return,
        };
        items.insert(line, file(item));
    }

    /// Adds fields, variants, methods and implemented traits of a type, and the items of a trait.
    fn members(&self, item: &Value, items: &mut Items) {
        let Some((kind, inner)) = only(&item["inner"]) else { return };
        let owner = item["name"].as_str().unwrap_or_default();
        match kind {
            "struct" => {
                for id in list(&inner["kind"]["plain"]["fields"]) {
                    self.member("field", owner, id, items);
                }
            }
            "enum" => list(&inner["variants"]).for_each(|id| self.member("variant", owner, id, items)),
            "trait" => list(&inner["items"]).for_each(|id| self.member("required", owner, id, items)),
            _ => return,
        }
        for id in list(&inner["impls"]) {
            self.implementation(owner, &self.item(id)["inner"]["impl"], &file(item), items);
        }
    }

    fn implementation(&self, owner: &str, block: &Value, place: &str, items: &mut Items) {
        if !block["blanket_impl"].is_null() || block["is_negative"] == true {
            return;
        }
        match block["trait"]["path"].as_str() {
            None => list(&block["items"]).for_each(|id| self.member("method", owner, id, items)),
            Some(path) => {
                let name = path.rsplit("::").next().unwrap_or(path);
                if !UNIMPORTANT_TRAITS.contains(&name) {
                    items.insert(format!("impl {name} for {owner}"), place.to_string());
                }
            }
        }
    }

    /// Adds a member. Members of traits and variants have no visibility of their own.
    fn member(&self, kind: &str, owner: &str, id: &Value, items: &mut Items) {
        let item = self.item(id);
        let is_public = item["visibility"] == "public" || item["visibility"] == "default";
        let Some(name) = item["name"].as_str().filter(|_| is_public) else { return };
        let count = item["inner"].get("function").map(|inner| format!(" {}", parameters(inner)));
        items.insert(format!("{kind} {owner}::{name}{}", count.unwrap_or_default()), file(item));
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns the kind and the content of an item.
fn only(inner: &Value) -> Option<(&str, &Value)> {
    inner.as_object()?.iter().next().map(|(kind, inner)| (kind.as_str(), inner))
}

fn parameters(function: &Value) -> usize {
    list(&function["sig"]["inputs"]).count()
}

fn file(item: &Value) -> String {
    item["span"]["filename"].as_str().unwrap_or_default().to_string()
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}::{name}") }
}
