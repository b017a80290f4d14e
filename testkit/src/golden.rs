//! The golden databases in `fixtures/golden`: their files, and the rows that they must contain.
//!
//! The functions panic if a fixture is broken, because this is a fault of the checkout and not of the tested code.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::hex::decode;

/// One live key of a column family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub family: String,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// The columns of an entity, by name.
    pub columns: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    pub timestamp: Option<Vec<u8>>,
}

/// A column family, as the metadata describe it.
#[derive(Clone, Debug)]
pub struct Family {
    pub name: String,
    pub comparator: String,
    pub merge_operator: Option<String>,
    pub prefix_extractor: Option<String>,
    pub table: String,
}

/// One golden database.
#[derive(Clone, Debug)]
pub struct Golden {
    pub name: String,
    /// The directory that holds CURRENT.
    pub dir: PathBuf,
    pub families: Vec<Family>,
    pub rows: Vec<Row>,
    pub last_sequence: u64,
    pub meta: Value,
}

impl Golden {
    /// Returns the live rows of a column family in key order.
    pub fn rows_of(&self, family: &str) -> Vec<&Row> {
        self.rows.iter().filter(|r| r.family == family).collect()
    }

    /// Copies the database to a temporary directory, to open it for writing.
    pub fn copy(&self) -> tempfile::TempDir {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        copy_dir(&self.dir, scratch.path());
        scratch
    }
}

/// Returns the directory of the golden databases.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden")
}

/// Returns all plain databases, by name: each has a directory and an expectation of the same name.
pub fn all() -> Vec<Golden> {
    let mut names: Vec<String> = std::fs::read_dir(root())
        .expect("fixtures/golden")
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter_map(|n| n.strip_suffix(".expect.jsonl").map(String::from))
        .filter(|n| root().join(n).is_dir())
        .collect();
    names.sort();
    names.iter().map(|n| load(n)).collect()
}

/// Loads one golden database.
pub fn load(name: &str) -> Golden {
    let text = std::fs::read_to_string(root().join(format!("{name}.expect.jsonl"))).expect("an expectation");
    let mut lines = text.lines().map(|l| serde_json::from_str::<Value>(l).expect("a line of JSON"));
    let meta = lines.next().expect("metadata");
    let text_of = |v: &Value, key: &str| v.get(key).and_then(Value::as_str).map(String::from);
    let families = meta["cfs"]
        .as_array()
        .expect("families")
        .iter()
        .map(|f| Family {
            name: text_of(f, "name").unwrap_or_default(),
            comparator: text_of(f, "comparator").unwrap_or_default(),
            merge_operator: text_of(f, "merge_operator_id").or_else(|| text_of(f, "merge_operator")),
            prefix_extractor: text_of(f, "prefix_extractor"),
            table: text_of(f, "table").unwrap_or_default(),
        })
        .collect();
    let rows = lines
        .filter(|l| l.get("h").is_none())
        .map(|l| Row {
            family: text_of(&l, "cf").unwrap_or_default(),
            key: decode(l["k"].as_str().expect("a key")),
            value: decode(l["v"].as_str().unwrap_or_default()),
            columns: l.get("cols").and_then(Value::as_array).map(|columns| {
                columns
                    .iter()
                    .map(|c| {
                        (decode(c[0].as_str().unwrap_or_default()), decode(c[1].as_str().unwrap_or_default()))
                    })
                    .collect()
            }),
            timestamp: text_of(&l, "ts").map(|t| decode(&t)),
        })
        .collect();
    let mut dir = root().join(name);
    if let Some(below) = meta.get("db").and_then(Value::as_str) {
        dir = dir.join(below);
    }
    let last_sequence = meta["last_sequence"].as_u64().unwrap_or_default();
    Golden { name: name.to_string(), dir, families, rows, last_sequence, meta }
}

/// Copies a directory with its content.
pub fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory to read") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("its type").is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copied file");
        }
    }
}
