//! Compares the index with a sorted list: random writes, save points and rollbacks.

use base::{FamilyId, Order};
use env::rng::SeededRng;
use env::{Rng, sync::Arc, sync::Mutex};

use super::core::{Core, Indexing, Target, Write};
use super::cursor::RecordIter;
use super::{WriteBatchWithIndex, WriteBatchWithIndexOptions, WriteType};

/// Returns the records of one column family as (key, value), in the order of the index.
fn listed(core: &Arc<Mutex<Core>>, family: FamilyId) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = RecordIter::new(core.clone(), family);
    iter.seek_to_first();
    let mut out = Vec::new();
    while iter.valid() {
        out.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    let mut backward = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        backward.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    backward.reverse();
    assert_eq!(out, backward, "both directions show the same records");
    out
}

/// One record of the model.
#[derive(Clone)]
struct Modelled {
    family: FamilyId,
    key: Vec<u8>,
    value: Vec<u8>,
    merge: bool,
}

/// Returns the records of a column family that the index must show.
fn expected(records: &[Modelled], family: FamilyId, overwrites: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut out: Vec<(usize, &Modelled)> = Vec::new();
    for (i, record) in records.iter().enumerate().filter(|(_, r)| r.family == family) {
        let newer = records[i + 1..].iter().find(|r| r.family == family && r.key == record.key);
        let hidden = overwrites && newer.is_some_and(|newer| !newer.merge);
        if !hidden {
            out.push((i, record));
        }
    }
    out.sort_by(|(i, a), (j, b)| a.key.cmp(&b.key).then(j.cmp(i)));
    out.into_iter().map(|(_, r)| (r.key.clone(), r.value.clone())).collect()
}

#[test]
fn index_shows_what_a_sorted_list_shows_through_rollbacks() {
    for seed in 0..40 {
        let rng = SeededRng::new(seed);
        let overwrites = rng.below(2) == 1;
        let core = Arc::new(Mutex::new(Core::new(Order::Bytewise, overwrites, 0, 0)));
        let (mut model, mut saved): (Vec<Modelled>, Vec<usize>) = Default::default();
        for step in 0..rng.below(300) {
            match rng.below(12) {
                0 => {
                    core.lock().batch.set_save_point();
                    saved.push(model.len());
                }
                1 => {
                    let rolled = core.lock().rollback_to_save_point();
                    assert_eq!(rolled.is_ok(), !saved.is_empty());
                    model.truncate(saved.pop().unwrap_or(model.len()));
                }
                other => {
                    let family = FamilyId::new(rng.below(3) as u32);
                    let key = format!("k{:02}", rng.below(20)).into_bytes();
                    let value = format!("v{step}").into_bytes();
                    let merge = other < 4;
                    let write = if merge { Write::Merge(&value) } else { Write::Put(&value) };
                    let target = Target { family, order: &Order::Bytewise };
                    core.lock().write(target, &key, write, Indexing::On).unwrap();
                    model.push(Modelled { family, key, value, merge });
                }
            }
        }
        assert_eq!(core.lock().indexed(), model.len());
        for family in (0..3).map(FamilyId::new) {
            assert_eq!(listed(&core, family), expected(&model, family, overwrites), "seed {seed}");
        }
    }
}

#[test]
fn write_beyond_max_bytes_changes_nothing() {
    let options = WriteBatchWithIndexOptions { max_bytes: 40, ..WriteBatchWithIndexOptions::default() };
    let mut batch = WriteBatchWithIndex::with_options(options);
    batch.put(b"a", b"1").unwrap();
    let before = batch.data_size();
    let error = batch.put(b"b", &[0; 40]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Operation aborted: Memory limit reached: the write batch reached max_bytes"
    );
    assert_eq!((batch.data_size(), batch.count()), (before, 1));
    batch.put(b"c", b"2").unwrap();
}

#[test]
fn iterator_continues_after_the_rollback_of_its_record() {
    let mut batch = WriteBatchWithIndex::new();
    batch.put(b"a", b"1").unwrap();
    batch.put(b"c", b"1").unwrap();
    batch.set_save_point();
    batch.put(b"b", b"2").unwrap();
    let mut iter = batch.iter();
    iter.seek(b"b");
    assert_eq!((iter.write_type(), iter.key()), (Some(WriteType::Put), &b"b"[..]));
    batch.rollback_to_save_point().unwrap();
    drop(batch);
    iter.prev();
    assert_eq!(iter.key(), b"a");
    iter.next();
    assert_eq!(iter.key(), b"c");
    iter.next();
    assert!(!iter.valid());
}
