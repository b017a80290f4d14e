//! Small whole files of RocksDB, each with one feature.

use base::Order;
use base::SequenceNumber;
use ironstone_table::sst::{BlockCache, OpenOptions};
use mem::cache::CacheOptions;
use serde_json::Value;
use testkit::hex::of as hex;

use crate::reader_support::{check_all_paths, open, options_for};

fn files() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/formats/vectors-sst.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    all["sections"]["sst_file"]["vectors"].as_array().unwrap().clone()
}

/// Returns a stored key with the timestamp that was removed from it.
fn padded(key: &[u8], timestamp: usize) -> Vec<u8> {
    let (user, trailer) = key.split_at(key.len() - 8);
    [user, &vec![0; timestamp], trailer].concat()
}

#[test]
fn whole_files_read_as_rocksdb_reads_them() {
    for v in files() {
        // Each file needs its own cache. All files have the number 1 and the same session id, so their cache keys are equal.
        let cache = BlockCache::new(CacheOptions::hyper_clock(8 << 20)).unwrap();
        let name = v["name"].as_str().unwrap();
        let bytes = hex(&v["bytes"]);
        let options = options_for(name.as_ref(), &bytes).unwrap_or_else(|| panic!("{name} does not open"));
        let cached = OpenOptions { cache: Some(cache), ..options.clone() };
        let reader = open(name, bytes.clone(), &cached).unwrap();
        let rows = check_all_paths(&reader, &options.order);
        assert_eq!(check_all_paths(&reader, &options.order), rows, "{name} from the cache");
        assert_eq!(check_all_paths(&open(name, bytes, &options).unwrap(), &options.order), rows, "{name}");
        let cut = if name == "mini_udt_stripped" { options.order.timestamp_size() } else { 0 };
        let expected: Vec<_> =
            v["entries"].as_array().unwrap().iter().map(|e| (padded(&hex(&e[0]), cut), hex(&e[1]))).collect();
        assert_eq!(rows, expected, "{name}");
        let tombstones: Vec<_> = v["range_dels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| (padded(&hex(&e[0]), cut), [hex(&e[1]), vec![0; cut]].concat()))
            .collect();
        assert_eq!(reader.range_tombstones(), tombstones, "{name}");
    }
}

#[test]
fn an_ingested_files_number_comes_from_the_manifest() {
    let v = files().into_iter().find(|v| v["name"] == "small_v7_c4").unwrap();
    let bytes = hex(&v["bytes"]);
    let mut options = options_for("a.sst".as_ref(), &bytes).unwrap();
    options.largest_seqno = Some(SequenceNumber::new(77));
    let reader = open("a.sst", bytes, &options).unwrap();
    let rows = check_all_paths(&reader, &Order::Bytewise);
    assert!(rows.iter().all(|(key, _)| base::key::sequence(key) == SequenceNumber::new(77)));
    assert_eq!(base::key::sequence(&reader.range_tombstones()[0].0), SequenceNumber::new(77));
}
