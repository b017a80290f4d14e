//! Reads every table in `fixtures/golden` by all operations.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use base::Kind;
use base::key::{parse, user_key};
use ironstone_table::sst::{BlockCache, OpenOptions};
use mem::cache::CacheOptions;
use serde_json::Value;
use testkit::hex::of as hex;

use crate::reader_support::{check_all_paths, open, options, options_for};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden")
}

fn tables_under(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            tables_under(&path, found);
        } else if path.extension().is_some_and(|e| e == "sst") {
            found.push(path);
        }
    }
    found.sort();
}

/// The expected content of a file: entries and range tombstones.
#[derive(Default)]
struct Expected {
    rows: Vec<(Vec<u8>, u64, u64, Vec<u8>)>,
    tombstones: Vec<(Vec<u8>, Vec<u8>, u64)>,
}

/// Returns the stored entries of each file, if the fixtures list them.
fn expected(database: &str) -> Option<HashMap<String, Expected>> {
    let text = std::fs::read_to_string(root().join(format!("{database}.internal.jsonl"))).ok()?;
    let mut files: HashMap<String, Expected> = HashMap::new();
    let mut current = String::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(file) = line["file"].as_str() {
            current = file.to_string();
            files.entry(current.clone()).or_default();
            continue;
        }
        let file = files.get_mut(&current).unwrap();
        let seq = line["seq"].as_u64().unwrap();
        if line.get("rangedel").is_some() {
            file.tombstones.push((hex(&line["rangedel"]), hex(&line["end"]), seq));
        } else {
            file.rows.push((hex(&line["k"]), seq, line["type"].as_u64().unwrap(), hex(&line["v"])));
        }
    }
    Some(files)
}

#[test]
fn every_golden_table_reads_the_same_on_every_path() {
    let mut paths = Vec::new();
    tables_under(&root(), &mut paths);
    assert!(paths.len() > 300, "the golden set is there");
    let cache = BlockCache::new(CacheOptions::lru(64 << 20)).unwrap();
    let (mut read, mut compared) = (0, 0);
    for path in paths {
        let relative = path.strip_prefix(root()).unwrap().to_path_buf();
        let database = relative.iter().next().unwrap().to_str().unwrap().to_string();
        if database.starts_with("plain-table") || database.starts_with("cuckoo") || database == "corrupt" {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let options = match options_for(&path, &bytes) {
            Some(options) => options,
            None => {
                panic!("{}: {:?}", path.display(), open(&path, bytes, &options(Default::default())).err())
            }
        };
        // Every second table is read through a cache, whose blocks have search arrays.
        let options = OpenOptions { cache: (read % 2 == 0).then(|| cache.clone()), ..options };
        let reader = open(&path, bytes, &options).unwrap();
        eprintln!("{}", relative.display());
        let rows = check_all_paths(&reader, &options.order);
        read += 1;
        let Some(expected) = expected(&database) else { continue };
        let Some(file) = expected.get(path.file_name().unwrap().to_str().unwrap()) else { continue };
        let found: Vec<_> = rows
            .iter()
            .map(|(key, value)| {
                let key = parse(key).unwrap();
                (key.user_key.to_vec(), key.seq.get(), key.value_type as u64, value.clone())
            })
            .collect();
        assert_eq!(found, file.rows, "{}", relative.display());
        let tombstones: Vec<_> = reader
            .range_tombstones()
            .iter()
            .map(|(start, end)| (user_key(start).to_vec(), end.clone(), base::key::sequence(start).get()))
            .collect();
        // The fixtures list tombstones as they are stored. The reader replaces their sequence number by the
        // global sequence number of the file.
        let taken = |(start, end, seq)| (start, end, reader.global_seqno().map_or(seq, |seq| seq.get()));
        let expected: Vec<_> = file.tombstones.iter().cloned().map(taken).collect();
        assert_eq!(tombstones, expected, "{}", relative.display());
        compared += 1;
    }
    assert!(read > 280 && compared > 30, "{read} read, {compared} compared");
}

#[test]
fn plain_and_cuckoo_tables_are_refused_by_name() {
    let mut paths = Vec::new();
    for (dir, name) in [("plain-table", "plain table"), ("cuckoo-table", "cuckoo table")] {
        paths.clear();
        tables_under(&root().join(dir), &mut paths);
        assert!(!paths.is_empty());
        for path in &paths {
            let bytes = std::fs::read(path).unwrap();
            let error = open(path, bytes, &options(Default::default())).err().unwrap();
            assert_eq!(error.kind(), Kind::NotSupported);
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}

/// RocksDB 11.8.1 rejects both versions too. Releases before 5 wrote them.
#[test]
fn block_based_tables_of_format_versions_0_and_1_are_refused_by_name() {
    let mut paths = Vec::new();
    tables_under(&root().join("fv-2"), &mut paths);
    let path = paths.first().expect("a table of format version 2");
    let bytes = std::fs::read(path).unwrap();
    let footer = bytes.len() - format::footer::LEN;
    assert_eq!(bytes[footer + 41..footer + 45], 2u32.to_le_bytes());
    let mut one = bytes.clone();
    one[footer + 41..footer + 45].copy_from_slice(&1u32.to_le_bytes());
    // A footer of version 0 has the two handles and the older magic number.
    let mut zero = bytes[..footer].to_vec();
    zero.extend(&bytes[footer + 1..footer + 41]);
    zero.extend(0xdb47_7524_8b80_fb57u64.to_le_bytes());
    for (version, bytes) in [(0, zero), (1, one)] {
        let error = open(path, bytes, &options(Default::default())).err().unwrap();
        assert_eq!(error.kind(), Kind::NotSupported, "{error}");
        let named = format!("format_version {version}: compact it with a release before 11 first");
        assert!(error.to_string().contains(&named), "{error}");
    }
}
