//! RocksDB's own metaindex.

use super::*;
use crate::test_vectors::{hex, vectors};

#[test]
fn the_block_of_the_vectors_decodes_and_encodes() {
    let payload = hex(&vectors("metaindex_block")[0]["bytes"]);
    let metaindex = Metaindex::decode(&payload).unwrap();
    assert_eq!(metaindex.get(names::PROPERTIES), Some(BlockHandle::new(1000, 300)));
    assert_eq!(metaindex.get(names::INDEX), Some(BlockHandle::new(600, 40)));
    assert_eq!(metaindex.get("fullfilter.rocksdb.BuiltinBloomFilter"), Some(BlockHandle::new(500, 69)));
    assert_eq!(metaindex.encode(), payload);
}
