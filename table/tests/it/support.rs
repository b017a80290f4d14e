//! Helpers that write tables to a file system in memory.

use std::path::Path;

use env::writer::FileWriter;
use env::{AppendHints, Env};
use ironstone_table::sst::{FinishedTable, Writer, WriterOptions};
use serde_json::Value;
pub use testkit::hex::of as hex;

/// Writes a table with `fill` and returns its bytes.
pub fn write(options: WriterOptions, fill: impl FnOnce(&mut Writer)) -> (Vec<u8>, FinishedTable) {
    let env = Env::memory(7);
    let path = Path::new("/000001.sst");
    let file = env.fs.create(path, &AppendHints::default()).unwrap();
    let file = FileWriter::new(file, env::writer::WriterOptions::default());
    let mut writer = Writer::new(file, options).unwrap();
    fill(&mut writer);
    let (table, mut file) = writer.finish().unwrap();
    file.close().unwrap();
    let bytes = env.fs.read_all(path, 1 << 32).unwrap();
    assert_eq!(bytes.len() as u64, table.file_size);
    (bytes, table)
}

/// Returns one section of `fixtures/formats/vectors-sst.json`.
pub fn vectors(section: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/formats/vectors-sst.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    all["sections"][section]["vectors"].as_array().unwrap().clone()
}

/// Returns pairs of keys and values.
pub fn pairs(list: &Value) -> Vec<(Vec<u8>, Vec<u8>)> {
    list.as_array().unwrap().iter().map(|kv| (hex(&kv[0]), hex(&kv[1]))).collect()
}
