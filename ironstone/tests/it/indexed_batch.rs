//! An indexed write batch over a database shows what the database shows after the batch is written.

use env::Rng;
use env::rng::SeededRng;
use ironstone::{BaseDeltaIter, Db, Family, FamilyDescriptor, Iter, Kind, Options, ReadOptions};
use ironstone::{WriteBatchWithIndex, WriteBatchWithIndexOptions, WriteOptions};

fn options() -> Options {
    let mut options = Options::default();
    let text = "create_if_missing=true;merge_operator=stringappend;write_buffer_size=65536";
    options.update(text).unwrap();
    options
}

fn key(rng: &SeededRng) -> Vec<u8> {
    format!("k{:02}", rng.below(30)).into_bytes()
}

/// Random changes of the database itself.
fn fill(db: &Db, families: &[Family], rng: &SeededRng) {
    for i in 0..rng.below(60) {
        let family = &families[rng.below(2) as usize];
        match rng.below(8) {
            0 => family.delete(&key(rng)).unwrap(),
            1 => family.merge(&key(rng), format!("m{i}").as_bytes()).unwrap(),
            2 => db.flush().unwrap(),
            _ => family.put(&key(rng), format!("d{i}").as_bytes()).unwrap(),
        }
    }
}

/// Random changes in the batch, with save points.
fn change(batch: &mut WriteBatchWithIndex, families: &[Family], rng: &SeededRng) {
    for i in 0..rng.below(60) {
        let family = &families[rng.below(2) as usize];
        let value = format!("b{i}");
        match rng.below(12) {
            0 | 1 => batch.delete_in(family, &key(rng)).unwrap(),
            2 | 3 => batch.merge_in(family, &key(rng), value.as_bytes()).unwrap(),
            4 => batch.put_entity_in(family, &key(rng), &[(b"x", b"1"), (b"", value.as_bytes())]).unwrap(),
            5 => batch.set_save_point(),
            6 => drop(batch.rollback_to_save_point()),
            _ => batch.put_in(family, &key(rng), value.as_bytes()).unwrap(),
        }
    }
}

type Entry = (Vec<u8>, Vec<u8>, Option<Vec<(Vec<u8>, Vec<u8>)>>);

/// Runs the same random seeks and changes of direction through an iterator of either kind.
macro_rules! walk {
    ($iter:expr, $seed:expr) => {{
        let (iter, rng) = ($iter, SeededRng::new($seed));
        let mut seen: Vec<Option<Entry>> = Vec::new();
        for _ in 0..200 {
            match rng.below(8) {
                0 => iter.seek_to_first(),
                1 => iter.seek_to_last(),
                2 => iter.seek(&key(&rng)),
                3 => iter.seek_for_prev(&key(&rng)),
                4 | 5 => iter.next(),
                _ => iter.prev(),
            }
            iter.status().unwrap();
            let entry = || (iter.key().to_vec(), iter.value().to_vec(), iter.columns());
            seen.push(iter.valid().then(entry));
        }
        seen
    }};
}

fn walk_overlay(iter: &mut BaseDeltaIter, seed: u64) -> Vec<Option<Entry>> {
    walk!(iter, seed)
}

fn walk_database(iter: &mut Iter, seed: u64) -> Vec<Option<Entry>> {
    walk!(iter, seed)
}

#[test]
fn overlay_reads_are_the_reads_after_the_write() {
    for seed in 0..60 {
        let rng = SeededRng::new(seed);
        let scratch = tempfile::tempdir().unwrap();
        let db = Db::open(scratch.path(), options()).unwrap();
        let other = db.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
        let families = [db.default_family(), other];
        fill(&db, &families, &rng);
        let overwrite_key = rng.below(2) == 1;
        let made = WriteBatchWithIndexOptions { overwrite_key, ..WriteBatchWithIndexOptions::default() };
        let mut batch = WriteBatchWithIndex::with_options(made);
        change(&mut batch, &families, &rng);
        let bounds = || {
            let bounded = seed % 3 == 0;
            ReadOptions {
                iterate_lower_bound: bounded.then(|| b"k05".to_vec()),
                iterate_upper_bound: bounded.then(|| b"k25".to_vec()),
                ..ReadOptions::default()
            }
        };
        let keys: Vec<Vec<u8>> = (0..30).map(|i| format!("k{i:02}").into_bytes()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|k| &k[..]).collect();
        let before: Vec<_> = families
            .iter()
            .map(|family| {
                let mut iter = batch.iter_with_base(family, bounds()).unwrap();
                let read = batch.multi_get_from_batch_and_db(family, &keys, &ReadOptions::default());
                let read: Vec<_> = read.into_iter().map(|r| r.unwrap().map(|v| v.to_vec())).collect();
                (walk_overlay(&mut iter, seed), read)
            })
            .collect();
        batch.write(&db, &WriteOptions::default()).unwrap();
        for (family, (walked, read)) in families.iter().zip(before) {
            let mut iter = family.iter_with(bounds()).unwrap();
            assert_eq!(walked, walk_database(&mut iter, seed), "seed {seed}, {family:?}");
            for (key, value) in keys.iter().zip(read) {
                assert_eq!(family.get(key).unwrap().as_deref(), value.as_deref(), "seed {seed}");
            }
        }
    }
}

#[test]
fn reads_of_the_batch_alone_do_not_use_the_database() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), options()).unwrap();
    db.put(b"a", b"1").unwrap();
    let family = db.default_family();
    let mut batch = WriteBatchWithIndex::new();
    assert_eq!(batch.get_from_batch(b"a").unwrap(), None);
    batch.merge(b"a", b"2").unwrap();
    assert_eq!(batch.get_from_batch_in(&family, b"a").unwrap_err().kind(), Kind::MergeInProgress);
    batch.delete(b"b").unwrap();
    batch.merge(b"b", b"x").unwrap();
    assert_eq!(batch.get_from_batch_in(&family, b"b").unwrap().as_deref(), Some(&b"x"[..]));
    assert_eq!(batch.get_from_batch(b"b").unwrap_err().kind(), Kind::InvalidArgument);
    let read = batch.get_from_batch_and_db(&family, b"a", &ReadOptions::default()).unwrap();
    assert_eq!(read.as_deref(), Some(&b"1,2"[..]));
}

#[test]
fn iterator_outlives_batch_and_database_handles() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), options()).unwrap();
    db.put(b"a", b"1").unwrap();
    let mut batch = WriteBatchWithIndex::new();
    batch.put(b"b", b"2").unwrap();
    let mut iter = batch.iter_with_base(&db.default_family(), ReadOptions::default()).unwrap();
    batch.put(b"c", b"3").unwrap();
    drop(batch);
    drop(db);
    iter.seek_to_last();
    assert_eq!((iter.key(), iter.value()), (&b"c"[..], &b"3"[..]));
    iter.prev();
    iter.prev();
    assert_eq!((iter.key(), iter.value()), (&b"a"[..], &b"1"[..]));
}

/// The memory of the index grows as a vector grows: a few allocations for any number of records.
#[test]
fn a_record_of_an_indexed_batch_allocates_nothing() {
    const RECORDS: u32 = 10_000;
    let db = Db::open("data", Options::in_memory()).unwrap();
    let mut stamped = Options::default();
    stamped.update("comparator=leveldb.BytewiseComparator.u64ts").unwrap();
    let stamped = db.create_family(FamilyDescriptor::new("stamped", stamped.family)).unwrap();
    for family in [&db.default_family(), &stamped] {
        for overwrite_key in [false, true] {
            let options = WriteBatchWithIndexOptions { overwrite_key, ..Default::default() };
            let mut batch = WriteBatchWithIndex::with_options(options);
            let used = allocation_counter::measure(|| {
                for i in 0..RECORDS {
                    // Keys in another order than that of the index, each key twice.
                    let key = (i.wrapping_mul(2_654_435_761) % (RECORDS / 2)).to_be_bytes();
                    batch.put_in(family, &key, b"value").unwrap();
                }
            });
            assert!(used.count_total < 100, "{} allocations in {}", used.count_total, family.name());
        }
    }
}

#[test]
fn a_wal_record_beyond_the_largest_size_is_rejected() {
    let mut batch = WriteBatchWithIndex::new();
    batch.set_max_bytes(60);
    batch.put(b"a", b"1").unwrap();
    let error = batch.put_log_data(&[b'x'; 60]).unwrap_err();
    assert_eq!(error.subcode(), ironstone::Subcode::MemoryLimit);
    // The refused record takes no place.
    batch.put_log_data(b"short").unwrap();
    batch.put(b"b", b"2").unwrap();
    assert_eq!(batch.count(), 2);
}
