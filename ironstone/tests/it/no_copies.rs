//! The bytes that a merge operator and a caller see lie in the memtable's arena or in the cached block, for every kind of
//! read. The test compares addresses. Two living reads that show the same address share the memory. A different address
//! shows a copy, and the test counts the copied bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use env::clock::ManualClock;
use ironstone::{Db, Existing, FullMerge, MergeFailure, MergeOperator, Merged, Options, ReadOptions};

/// The address and length of each seen value. The key of the map: the user key, and the reader (caller or merge operator).
type Places = HashMap<(Vec<u8>, String), (usize, usize)>;

fn place(bytes: &[u8]) -> (usize, usize) {
    (bytes.as_ptr() as usize, bytes.len())
}

/// A merge operator that returns the newest operand without a copy, or for keys that end in `e` the existing value.
/// Records the addresses of all its inputs.
#[derive(Default)]
struct Picks {
    given: Mutex<Places>,
}

impl MergeOperator for Picks {
    fn name(&self) -> &str {
        "test.Picks"
    }

    fn full(&self, merge: &FullMerge<'_>, _: &mut Vec<u8>) -> Result<Merged, MergeFailure> {
        let mut given = self.given.lock().unwrap();
        for (i, operand) in merge.operands.iter().enumerate() {
            given.insert((merge.key.to_vec(), format!("operand {i}")), place(operand));
        }
        match merge.existing {
            Existing::Value(value) => {
                given.insert((merge.key.to_vec(), "base".to_string()), place(value));
                Ok(if merge.key.ends_with(b"e") {
                    Merged::Existing
                } else {
                    Merged::Operand(merge.operands.len() - 1)
                })
            }
            _ => Ok(Merged::Operand(merge.operands.len() - 1)),
        }
    }
}

/// A merge operator that concatenates all operands.
struct Joins;

impl MergeOperator for Joins {
    fn name(&self) -> &str {
        "test.Joins"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Result<Merged, MergeFailure> {
        merge.operands.iter().for_each(|operand| out.extend_from_slice(operand));
        Ok(Merged::New)
    }
}

fn options(operator: Arc<dyn MergeOperator>) -> Options {
    let mut options = Options::default();
    options
        .update("create_if_missing=true;disable_auto_compactions=true;block_based_table_factory={block_cache=64M}")
        .unwrap();
    options.family.merge_operator = Some(operator);
    options
}

const KEYS: u32 = 120;

fn key(i: u32) -> Vec<u8> {
    format!("key{i:05}{}", ["a", "e"][(i / 2 % 2) as usize]).into_bytes()
}

/// Fills a database with values of many sizes, also short values: with and without a base value, and without
/// operands. The values are in the memtable, or in two SST files whose blocks are in the cache.
fn filled(path: &std::path::Path, operator: Arc<dyn MergeOperator>, tables: bool) -> Db {
    let db = Db::open(path, options(operator)).unwrap();
    let bytes = |i: u32, j: u32| vec![(i + j) as u8; (20 + i * i * (j + 1) / 3) as usize];
    for half in 0..2 {
        for i in 0..KEYS {
            if half == 0 && (i % 2 == 0 || i % 10 == 5) {
                db.put(&key(i), &bytes(i, 7)).unwrap();
            }
            if i % 10 != 5 {
                db.merge(&key(i), &bytes(i, half)).unwrap();
            }
        }
        if tables {
            db.flush().unwrap();
        }
    }
    db
}

#[test]
fn no_byte_is_copied_between_memory_and_operator_and_caller_on_any_path() {
    for tables in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let operator = Arc::new(Picks::default());
        let db = filled(scratch.path(), operator.clone(), tables);
        let keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let read = |what: &dyn Fn(&mut Places)| {
            let mut seen = Places::new();
            what(&mut seen);
            seen.extend(operator.given.lock().unwrap().drain());
            seen
        };
        let shown = |key: &[u8]| (key.to_vec(), "shown".to_string());
        // The first search loads a block, and a later search builds its search array: the larger the block, the later. After
        // that the block does not move.
        for key in std::iter::repeat_n(&keys, 20).flatten() {
            db.get(key).unwrap();
        }
        // Keep these values alive, so that no other value gets their addresses.
        let alive: Vec<_> = keys.iter().map(|key| db.get(key).unwrap().unwrap()).collect();
        assert!(alive.iter().all(ironstone::Pinned::is_shared));
        operator.given.lock().unwrap().clear();
        let first = read(&|seen| {
            for (key, value) in keys.iter().zip(&alive) {
                assert_eq!(place(&db.get(key).unwrap().unwrap()), place(value), "{}", key.escape_ascii());
                seen.insert(shown(key), place(value));
            }
        });
        let operands = first.keys().filter(|(_, what)| what.starts_with("operand")).count();
        // A merge has two operands for each key. A flush merges the first operand of an even key onto the put value.
        let merged_by_flush = if tables { KEYS / 2 } else { 0 };
        assert_eq!(operands as u32, 2 * (KEYS - KEYS / 10) - merged_by_flush);

        let multi_get = read(&|seen| {
            for (key, value) in keys.iter().zip(db.multi_get(&wanted)) {
                seen.insert(shown(key), place(&value.unwrap().unwrap()));
            }
        });
        let forward = read(&|seen| {
            let mut iter = db.iter().unwrap();
            iter.seek_to_first();
            while iter.valid() {
                seen.insert(shown(iter.key()), place(iter.value()));
                iter.next();
            }
            iter.status().unwrap();
        });
        let backward = read(&|seen| {
            let mut iter = db.iter().unwrap();
            iter.seek_to_last();
            while iter.valid() {
                seen.insert(shown(iter.key()), place(iter.value()));
                iter.prev();
            }
            iter.status().unwrap();
        });
        let sought = read(&|seen| {
            let mut iter = db.iter().unwrap();
            for key in &keys {
                iter.seek(key);
                seen.insert(shown(iter.key()), place(&iter.pinned_value()));
            }
        });
        for (road, seen) in
            [("multi_get", multi_get), ("forward", forward), ("backward", backward), ("seek", sought)]
        {
            assert_eq!(seen.len(), first.len(), "{road}, tables: {tables}");
            let copied: usize =
                seen.iter().filter(|(what, at)| first[what] != **at).map(|(_, (_, len))| len).sum();
            assert_eq!(copied, 0, "{road}, tables: {tables}: bytes copied over {KEYS} rows");
        }
        // The operator must get the same bytes as `get_merge_operands` returns.
        for key in keys.iter().filter(|key| first.contains_key(&(key.to_vec(), "operand 0".to_string()))) {
            let operands = db.get_merge_operands(key, &ReadOptions::default()).unwrap();
            let base = usize::from(first.contains_key(&(key.clone(), "base".to_string())));
            for (i, operand) in operands[base..].iter().enumerate() {
                assert_eq!(place(operand), first[&(key.clone(), format!("operand {i}"))]);
            }
        }
    }
}

#[test]
fn a_warm_scan_with_merge_operands_allocates_nothing_for_an_entry_in_both_directions() {
    let operators: [fn() -> Arc<dyn MergeOperator>; 2] = [|| Arc::new(Quiet), || Arc::new(Joins)];
    for operator in operators {
        // With twelve entries of a key, a backward scan seeks the newest entry.
        for (tables, operands) in [(false, 2u8), (true, 2), (false, 12), (true, 12)] {
            let scratch = tempfile::tempdir().unwrap();
            let mut options = options(operator());
            // A step that the system interrupts is a slow operation. The list of slow operations has an entry for each second, and may
            // allocate memory for a new entry. With this clock, all slow operations are in one second.
            options.db.env.clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
            let db = Db::open(scratch.path(), options).unwrap();
            for operand in 0..operands {
                for i in 0..2000 {
                    db.merge(&key(i), &[operand; 700]).unwrap();
                }
                if tables && operand % (operands / 2) == 0 {
                    db.flush().unwrap();
                }
            }
            let mut iter = db.iter().unwrap();
            // The first pass grows buffers and loads blocks.
            for _ in 0..2 {
                iter.seek_to_first();
                while iter.valid() {
                    iter.next();
                }
                iter.seek_to_last();
                while iter.valid() {
                    iter.prev();
                }
            }
            let case = format!("{}, {operands} operands, tables: {tables}", operator().name());
            iter.seek_to_first();
            iter.next();
            let mut bytes = 0;
            let forward = allocation_counter::measure(|| {
                for _ in 0..1900 {
                    iter.next();
                    bytes += iter.value().len();
                }
            });
            assert_eq!((forward.count_total, bytes % 700), (0, 0), "forward, {case}");
            iter.seek_to_last();
            iter.prev();
            let backward = allocation_counter::measure(|| {
                for _ in 0..1900 {
                    iter.prev();
                    bytes += iter.value().len();
                }
            });
            assert_eq!((backward.count_total, bytes % 700), (0, 0), "backward, {case}");
            assert!(iter.valid());
            iter.status().unwrap();
        }
    }
}

/// A merge operator that picks an operand as [`Picks`] does, without a record of addresses.
struct Quiet;

impl MergeOperator for Quiet {
    fn name(&self) -> &str {
        "test.Quiet"
    }

    fn full(&self, merge: &FullMerge<'_>, _: &mut Vec<u8>) -> Result<Merged, MergeFailure> {
        Ok(Merged::Operand(merge.operands.len() - 1))
    }
}
