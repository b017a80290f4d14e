//! Test vectors from `fixtures/formats`: results of RocksDB 11.8.1.

use serde_json::Value;

/// Returns the vectors of one section.
pub(crate) fn section(name: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/formats/vectors-sst.json");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut all: Value = serde_json::from_str(&text).unwrap();
    match all["sections"][name]["vectors"].take() {
        Value::Array(vectors) if !vectors.is_empty() => vectors,
        _ => panic!("{path} has no section {name}"),
    }
}

/// Converts a string of hex digits to bytes.
pub(crate) fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

/// Converts a string of hex digits to a number. The most significant digit is first.
pub(crate) fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}
