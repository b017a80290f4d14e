//! Scans of all keys if SST files have prefix filters: seeks during the scan use no filter.

use base::order::BuiltinPrefix;
use ironstone_engine::db::Db;
use ironstone_engine::iter::Iter;
use ironstone_engine::options::{
    CompactRangeOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};

use crate::basic::{open, put};

/// Creates a database with one SST file, on a deep level if `deep` is set. The file has a filter of the first bytes
/// of its keys.
fn with_table(seed: u64, deep: bool, keys: &[&str]) -> Db {
    let mut family = FamilyOptions {
        prefix_extractor: Some(std::sync::Arc::new(BuiltinPrefix::Fixed(1))),
        disable_auto_compactions: true,
        ..FamilyOptions::default()
    };
    family.set("table_factory", "{filter_policy=bloomfilter:20}").unwrap();
    let db = open(&env::Env::memory(seed), family);
    keys.iter().for_each(|key| put(&db, key, "table"));
    let default = db.default_family().unwrap();
    db.flush(&[default.clone()], &FlushOptions::default()).unwrap();
    if deep {
        let options =
            CompactRangeOptions { change_level: true, target_level: 3, ..CompactRangeOptions::default() };
        db.compactions().compact_range(&default, None, None, &options).unwrap();
    }
    db
}

fn keys(iter: &mut Iter, backward: bool) -> Vec<String> {
    let mut keys = Vec::new();
    if backward {
        iter.seek_to_last()
    } else {
        iter.seek_to_first()
    }
    while iter.valid() {
        keys.push(String::from_utf8(iter.key().to_vec()).unwrap());
        if backward { iter.prev() } else { iter.next() }
    }
    iter.status().unwrap();
    if backward {
        keys.reverse();
    }
    keys
}

fn versions(db: &Db, key: &str) {
    (0..12).for_each(|i| put(db, key, &i.to_string()));
}

fn delete(db: &Db, from: &str, to: &str) {
    let family = db.default_family().unwrap();
    db.delete_range(&family, from.as_bytes(), to.as_bytes(), &WriteOptions::default()).unwrap();
}

#[test]
fn a_scan_from_either_end_shows_entries_of_tables_whose_filter_lacks_a_prefix() {
    type Write = fn(&Db);
    let nine: Vec<String> = ["a", "c"].iter().flat_map(|p| (1..=9).map(move |i| format!("{p}{i}"))).collect();
    let nine: Vec<&str> = nine.iter().map(String::as_str).collect();
    // Entries of the SST file, entries that are written later, and the expected result.
    let cases: [(&str, &[&str], Write, &[&str]); 5] = [
        ("hidden versions forward", &["c1"], |db| versions(db, "a1"), &["a1", "c1"]),
        ("hidden versions backward", &["a1"], |db| versions(db, "c1"), &["a1", "c1"]),
        ("deleted up to a prefix not there", &nine, |db| delete(db, "a1", "b"), &nine[9..]),
        ("deleted down to a prefix not there", &nine, |db| delete(db, "b", "d"), &nine[..9]),
        (
            "a deleted key of many versions",
            &["a1", "c1"],
            |db| {
                versions(db, "b1");
                db.delete(&db.default_family().unwrap(), b"b1", &WriteOptions::default()).unwrap();
            },
            &["a1", "c1"],
        ),
    ];
    for (seed, (what, table, write, expected)) in cases.into_iter().enumerate() {
        for deep in [false, true] {
            let db = with_table(seed as u64, deep, table);
            write(&db);
            let family = db.default_family().unwrap();
            for backward in [false, true] {
                let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
                assert_eq!(keys(&mut iter, backward), expected, "{what}, deep {deep}, backward {backward}");
            }
        }
    }
}

#[test]
fn a_scan_at_a_snapshot_over_many_newer_entries_shows_entries_of_other_prefixes() {
    for deep in [false, true] {
        let db = with_table(20, deep, &["c1"]);
        put(&db, "a1", "old");
        let snapshot = db.snapshot();
        versions(&db, "a1");
        let family = db.default_family().unwrap();
        let mut iter =
            db.iter(&family, ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() }).unwrap();
        assert_eq!(keys(&mut iter, false), ["a1", "c1"], "deep {deep}");
    }
}

#[test]
fn a_change_of_direction_keeps_entries_of_other_prefixes() {
    for deep in [false, true] {
        let db = with_table(21, deep, &["a1", "c1"]);
        put(&db, "b1", "memory");
        let mut iter = db.iter(&db.default_family().unwrap(), ReadOptions::default()).unwrap();
        iter.seek_to_first();
        iter.next();
        assert_eq!(iter.key(), b"b1");
        iter.prev();
        assert_eq!(iter.key(), b"a1", "deep {deep}");
        iter.seek_to_last();
        iter.prev();
        assert_eq!(iter.key(), b"b1");
        iter.next();
        assert_eq!(iter.key(), b"c1", "deep {deep}");
    }
}

#[test]
fn a_tailing_iterator_keeps_its_prefix_and_the_entries_of_other_prefixes() {
    let following = |db: &Db, prefix_same_as_start| {
        let options = ReadOptions {
            snapshot: Some(db.snapshot()),
            auto_refresh_iterator_with_snapshot: true,
            prefix_same_as_start,
            ..ReadOptions::default()
        };
        db.iter(&db.default_family().unwrap(), options).unwrap()
    };
    let go_over = |db: &Db| {
        put(db, "d1", "later");
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    };
    for backward in [false, true] {
        let db = with_table(22, true, &["a1", "e1"]);
        ["b1", "c1", "d0"].iter().for_each(|key| put(&db, key, "memory"));
        let mut iter = following(&db, false);
        let (step, rest): (fn(&mut Iter), _) = match backward {
            true => (Iter::prev, ["c1", "b1", "a1"]),
            false => (Iter::next, ["c1", "d0", "e1"]),
        };
        if backward {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        step(&mut iter);
        let before = iter.super_version_number();
        go_over(&db);
        for expected in rest {
            step(&mut iter);
            assert_eq!(iter.key(), expected.as_bytes(), "backward {backward}");
        }
        assert!(iter.super_version_number() > before);
        step(&mut iter);
        assert!(!iter.valid() && iter.status().is_ok());
    }
    // The target has no prefix, so the scan is not limited to a prefix, before and after the switch.
    let mut family = FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() };
    family.set("prefix_extractor", "fixed:2").unwrap();
    let db = open(&env::Env::memory(23), family);
    ["aa1", "bb1", "cc1"].iter().for_each(|key| put(&db, key, "memory"));
    let mut iter = following(&db, true);
    iter.seek(b"a");
    go_over(&db);
    for expected in ["bb1", "cc1"] {
        iter.next();
        assert_eq!(iter.key(), expected.as_bytes());
    }
}

#[test]
fn a_scan_in_total_order_still_ends_with_its_prefix() {
    let db = with_table(24, true, &["a1", "a2", "b1"]);
    let options =
        ReadOptions { total_order_seek: true, prefix_same_as_start: true, ..ReadOptions::default() };
    let mut iter = db.iter(&db.default_family().unwrap(), options).unwrap();
    assert_eq!(keys(&mut iter, false), ["a1", "a2"]);
    iter.seek(b"b1");
    assert_eq!(iter.key(), b"b1");
    iter.prev();
    assert!(!iter.valid() && iter.status().is_ok());
}
