//! Reading of `fixtures/vectors`: answers that RocksDB 11.8.1 gave.

use serde_json::Value;

/// The vectors of one section of one file.
pub(crate) fn section(file: &str, name: &str) -> Vec<Value> {
    let path = format!("{}/../fixtures/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut all: Value = serde_json::from_str(&text).unwrap();
    match all[name].take() {
        Value::Array(vectors) if !vectors.is_empty() => vectors,
        _ => panic!("{path} has no section {name}"),
    }
}

/// A string of hex digits as bytes.
pub(crate) fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

/// A string of hex digits as a number, most significant first.
pub(crate) fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}
