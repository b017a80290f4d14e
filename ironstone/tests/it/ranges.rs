//! `range` and `rows`: all keys of a range, in every key order and with every prefix extractor.

use std::ops::Bound;

use ironstone::{Db, Family, Kind, Options, Range};

fn open(text: &str, keys: &[&str]) -> Db {
    let mut options = Options::in_memory();
    options.update(text).unwrap();
    let db = Db::open("data", options).unwrap();
    keys.iter().for_each(|key| db.put(key.as_bytes(), b"v").unwrap());
    db
}

fn keys(range: Range) -> String {
    let keys: Vec<_> = range.map(|row| String::from_utf8(row.unwrap().0).unwrap()).collect();
    keys.join(" ")
}

/// Returns the entries of a range from the memtable, and then from an SST file.
fn both(db: &Db, range: impl Fn(&Family) -> Range) -> String {
    let in_memory = keys(range(db));
    db.flush().unwrap();
    assert_eq!(in_memory, keys(range(db)), "from memory and from an SST file");
    in_memory
}

#[test]
fn a_range_has_all_prefixes() {
    let filters = [
        "filter_policy=bloomfilter:10",
        "filter_policy=bloomfilter:10;whole_key_filtering=false",
        "filter_policy=ribbonfilter:10;partition_filters=true;index_type=kTwoLevelIndexSearch",
        "index_type=kHashSearch",
    ];
    for filter in filters {
        for memtable in ["", "memtable_prefix_bloom_size_ratio=0.1;"] {
            let text = format!(
                "{memtable}prefix_extractor=rocksdb.FixedPrefix.3;block_based_table_factory={{{filter}}}"
            );
            let db = open(&text, &["a", "aaa1", "bbb1", "ccc1"]);
            let found = both(&db, |family| family.range(&b"aab0"[..]..&b"zzz"[..]));
            assert_eq!(found, "bbb1 ccc1", "{text}");
            assert_eq!(both(&db, |family| family.range(&b"aa"[..]..=&b"bbb1"[..])), "aaa1 bbb1", "{text}");
            assert_eq!(both(&db, Family::rows), "a aaa1 bbb1 ccc1", "{text}");
        }
    }
}

#[test]
fn ends_are_included_and_excluded_in_every_key_order() {
    let orders = [
        ("leveldb.BytewiseComparator", ["b", "d"], "b c d"),
        ("rocksdb.ReverseBytewiseComparator", ["d", "b"], "d c b"),
    ];
    for (comparator, [from, to], all) in orders {
        let db = open(&format!("comparator={comparator}"), &["a", "b", "c", "d", "e"]);
        let (from, to) = (from.as_bytes(), to.as_bytes());
        assert_eq!(both(&db, |f| f.range(from..=to)), all, "{comparator}");
        assert_eq!(both(&db, |f| f.range(from..to)), all[..3], "{comparator}");
        let open_start = (Bound::Excluded(from), Bound::Included(to));
        assert_eq!(both(&db, |f| f.range(open_start)), all[2..], "{comparator}");
        let open = (Bound::Excluded(from), Bound::Excluded(to));
        assert_eq!(both(&db, |f| f.range(open)), "c", "{comparator}");
        assert_eq!(both(&db, |f| f.range(to..=from)), "", "{comparator}: an empty range");
    }
}

#[test]
fn a_family_with_timestamps_needs_one_to_be_read() {
    let mut options = Options::in_memory();
    options.update("comparator=leveldb.BytewiseComparator.u64ts").unwrap();
    let db = Db::open("data", options).unwrap();
    let first = db.range(&b"a"[..]..&b"b"[..]).next();
    assert_eq!(first.unwrap().unwrap_err().kind(), Kind::InvalidArgument);
}

#[test]
fn a_multi_get_finds_a_key_that_is_newer_than_the_range_deletion_in_its_file() {
    let options = ironstone::Options::in_memory();
    let db = ironstone::Db::open("data", options).unwrap();
    // The snapshot keeps the range tombstone in the SST file.
    let snapshot = db.snapshot();
    db.put(b"k", b"old").unwrap();
    let before = db.snapshot();
    db.delete_range(b"a", b"z").unwrap();
    db.put(b"k", b"new").unwrap();
    db.flush().unwrap();
    let found = db.multi_get(&[b"k", b"l"]);
    assert_eq!(found[0].as_ref().unwrap().as_deref(), Some(&b"new"[..]));
    assert!(found[1].as_ref().unwrap().is_none());
    drop((snapshot, before));
}
