//! Test vectors: bytes that RocksDB wrote.

use serde_json::Value;
pub(crate) use testkit::hex::of as hex;

/// Returns one section of `fixtures/formats/vectors-sst.json`.
pub(crate) fn vectors(section: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/formats/vectors-sst.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    all["sections"][section]["vectors"].as_array().unwrap().clone()
}

/// Returns one list of `fixtures/formats/vectors-db.json`.
pub(crate) fn db_vectors(list: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/formats/vectors-db.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    all[list].as_array().unwrap().clone()
}

/// Returns the bytes of a list of hexadecimal texts and runs `[byte, count]`.
pub(crate) fn rle(list: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    for part in list.as_array().unwrap() {
        match part.as_array() {
            None => out.extend(hex(part)),
            Some(run) => out.resize(out.len() + run[1].as_u64().unwrap() as usize, hex(&run[0])[0]),
        }
    }
    out
}

/// Returns bytes as hexadecimal text.
pub(crate) fn to_hex(bytes: &[u8]) -> Value {
    Value::String(testkit::hex::lower(bytes))
}

/// Returns all variants of `bytes` with one flipped bit, and all shorter prefixes.
pub(crate) fn damaged(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let flips = (0..bytes.len() * 8).map(move |i| {
        let mut copy = bytes.to_vec();
        copy[i / 8] ^= 1 << (i % 8);
        copy
    });
    flips.chain((0..bytes.len()).map(|n| bytes[..n].to_vec()))
}
