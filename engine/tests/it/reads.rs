//! Reads with less common options.

use std::sync::Arc;
use std::time::Duration;

use base::order::BuiltinPrefix;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{FamilyOptions, FlushOptions, ReadOptions, WriteOptions};

use crate::basic::{open, put};

#[test]
fn a_read_after_its_deadline_reads_no_table() {
    let env = env::Env::memory(31);
    let db = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    let family = db.default_family().unwrap();
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    let late = ReadOptions { deadline: Duration::from_micros(1), ..ReadOptions::default() };
    let timed_out = |error: base::Error| error.kind() == base::Kind::TimedOut;
    assert!(timed_out(db.get(&family, b"a", &late).unwrap_err()));
    assert!(db.multi_get(&family, &[b"a"], &late).into_iter().all(|r| r.is_err_and(timed_out)));
    let mut iter = db.iter(&family, late).unwrap();
    iter.seek_to_first();
    assert!(!iter.valid() && timed_out(iter.status().unwrap_err()));
}

#[test]
fn a_tailing_iterator_sees_later_range_deletions() {
    let env = env::Env::memory(32);
    let db = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    put(&db, "b", "2");
    let family = db.default_family().unwrap();
    let mut iter = db.iter(&family, ReadOptions { tailing: true, ..ReadOptions::default() }).unwrap();
    iter.seek_to_first();
    assert_eq!(iter.key(), b"a");
    db.delete_range(&family, b"a", b"b", &WriteOptions::default()).unwrap();
    iter.seek_to_first();
    assert_eq!(iter.key(), b"b");
}

#[test]
fn a_tailing_iterator_steps_to_later_entries() {
    let env = env::Env::memory(34);
    let db = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    put(&db, "d", "4");
    let family = db.default_family().unwrap();
    let mut iter = db.iter(&family, ReadOptions { tailing: true, ..ReadOptions::default() }).unwrap();
    iter.seek_to_first();
    put(&db, "b", "2");
    iter.next();
    assert_eq!(iter.key(), b"b");
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    put(&db, "c", "3");
    iter.next();
    assert_eq!(iter.key(), b"c");
    iter.next();
    assert_eq!(iter.key(), b"d");
    iter.next();
    assert!(!iter.valid());
}

#[test]
fn a_removed_prefix_extractor_disables_its_filters() {
    let env = env::Env::memory(33);
    let mut family = FamilyOptions {
        prefix_extractor: Some(Arc::new(BuiltinPrefix::Fixed(2))),
        ..FamilyOptions::default()
    };
    family.set("table_factory", "{filter_policy=bloomfilter:20}").unwrap();
    let db = open(&env, family);
    put(&db, "aa1", "1");
    put(&db, "bc1", "2");
    let family = db.default_family().unwrap();
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    assert_eq!(db.get(&family, b"aa1", &ReadOptions::default()).unwrap().as_deref(), Some(&b"1"[..]));
    let found = || {
        let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
        iter.seek(b"bb1");
        iter.valid()
    };
    assert!(!found(), "the filter is asked");
    db.admin().set_options(&family, &[("prefix_extractor", "nullptr")]).unwrap();
    assert!(found());
}

#[test]
fn an_iterator_shows_the_entries_of_its_creation_if_it_is_positioned_later() {
    let env = env::Env::memory(39);
    let db = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    put(&db, "b", "1");
    let family = db.default_family().unwrap();
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    put(&db, "a", "2");
    db.delete_range(&family, b"b", b"c", &WriteOptions::default()).unwrap();
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    db.compactions().compact_range(&family, None, None, &Default::default()).unwrap();
    let shown = |iter: &mut ironstone_engine::db::DbIterator| {
        let mut shown = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            shown.push((iter.key().to_vec(), iter.value().to_vec()));
            iter.next();
        }
        iter.status().unwrap();
        shown
    };
    assert_eq!(shown(&mut iter), [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"1".to_vec())]);
    iter.refresh().unwrap();
    assert_eq!(shown(&mut iter), [(b"a".to_vec(), b"2".to_vec())]);
}

/// No write changes what an iterator of a read-only open reads. RocksDB rejects the call too.
#[test]
fn an_iterator_of_a_read_only_open_cannot_be_refreshed() {
    let env = env::Env::memory(40);
    let db = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    db.close().unwrap();
    let request = OpenRequest::new("/db", crate::basic::options(&env), FamilyOptions::default());
    let db = Db::open_read_only(request).unwrap();
    let family = db.default_family().unwrap();
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    iter.seek_to_first();
    let error = iter.refresh().unwrap_err();
    assert_eq!(error.to_string(), "Not implemented: Creating renew iterator is not allowed.");
    assert_eq!((iter.valid(), iter.key()), (true, &b"a"[..]));
    iter.status().unwrap();
}

/// RocksDB opens the file without a prefetch of index and filter into the block cache.
#[test]
fn a_check_of_all_blocks_adds_nothing_to_the_block_cache() {
    let env = env::Env::memory(33);
    let mut family = FamilyOptions::default();
    family
        .set("table_factory", "{cache_index_and_filter_blocks=true;filter_policy=bloomfilter:10:false}")
        .unwrap();
    let db = open(&env, family);
    let family = db.default_family().unwrap();
    (0..1000).for_each(|i| put(&db, &format!("key {i}"), "value"));
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    let cache = family.parts().caches.blocks.clone().unwrap();
    db.get(&family, b"key 1", &ReadOptions::default()).unwrap();
    cache.erase_unreferenced();
    let before = cache.usage();
    db.files().verify_checksum().unwrap();
    assert_eq!(cache.usage(), before);
    db.get(&family, b"key 1", &ReadOptions::default()).unwrap();
    assert!(cache.usage() > before);
}
