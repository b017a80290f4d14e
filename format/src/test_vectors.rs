//! The vectors of RocksDB's own bytes, for tests.

use serde_json::Value;

/// One section of `fixtures/formats/vectors-sst.json`.
pub(crate) fn vectors(section: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/formats/vectors-sst.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    all["sections"][section]["vectors"].as_array().unwrap().clone()
}

/// Bytes from hexadecimal text.
pub(crate) fn hex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
