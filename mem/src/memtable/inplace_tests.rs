//! In-place updates: which puts overwrite a value, which values readers keep, and concurrent readers and
//! writers.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Order;
use base::SequenceNumber;
use base::iter::InternalIterator;
use base::key::{InternalOrder, MAX_SEQUENCE, ValueType};

use super::*;
use crate::rep::tree::Cursor;

fn table(rep: RepKind, locks: Option<usize>, protection: u8) -> Arc<MemTable> {
    let order = InternalOrder::new(Order::Bytewise);
    let options = MemTableOptions {
        rep,
        inplace_locks: locks,
        protection_bytes_per_key: protection,
        ..MemTableOptions::new(order)
    };
    MemTable::new(options, 1, SequenceNumber::new(1))
}

fn versions(table: &MemTable, key: &[u8]) -> Vec<(u64, ValueType, Vec<u8>)> {
    let mut seen = Vec::new();
    table
        .get(key, MAX_SEQUENCE, |v| {
            seen.push((v.seq.get(), v.value_type, v.value.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    seen
}

#[test]
fn a_put_that_fits_overwrites_and_keeps_the_sequence_number() {
    for (rep, protection) in [(RepKind::SkipList, 0), (RepKind::SkipList, 8), (RepKind::Vector, 4)] {
        let table = table(rep, Some(3), protection);
        let mut writer = table.writer();
        assert!(matches!(
            writer.add(SequenceNumber::new(1), ValueType::Value, b"k", b"value").unwrap(),
            Inserted::Entry(16)
        ));
        assert_eq!(
            writer.add(SequenceNumber::new(2), ValueType::Value, b"k", b"four").unwrap(),
            Inserted::InPlace
        );
        assert_eq!(
            writer.add(SequenceNumber::new(3), ValueType::Value, b"k", b"again").unwrap(),
            Inserted::InPlace
        );
        assert!(matches!(
            writer.add(SequenceNumber::new(4), ValueType::Value, b"k", b"longer").unwrap(),
            Inserted::Entry(_)
        ));
        assert_eq!(
            writer.add(SequenceNumber::new(5), ValueType::Value, b"k", b"").unwrap(),
            Inserted::InPlace
        );
        drop(writer);
        let old = (1, ValueType::Value, b"again".to_vec());
        assert_eq!(versions(&table, b"k"), [(4, ValueType::Value, Vec::new()), old]);
        assert_eq!((table.counts().entries, table.largest_seq().get()), (2, 4));
    }
}

/// If failing memory changed the place of a cell, the entry is rejected before the cell is read.
#[test]
fn an_entry_whose_cell_is_lost_is_corruption_on_every_path() {
    let table = table(RepKind::SkipList, Some(3), 8);
    table.add(SequenceNumber::new(1), ValueType::Value, b"k", b"value").unwrap();
    let mut cursor = Cursor::new();
    cursor.seek(table.rep.tree().unwrap(), &table.entries, &table.entries.target(b"k", u64::MAX));
    // SAFETY: the tree returned this place, for both calls.
    let (start, entry) =
        unsafe { (table.entries.arena.at(cursor.place()), table.entries.entry(cursor.place())) };
    let value = entry.value.as_ptr();
    // SAFETY: the four bytes of the value are in the allocation of the entry, after its start. No thread
    // reads them at this time.
    unsafe { start.add(value as usize - start as usize).cast::<[u8; 4]>().write_unaligned([0xff; 4]) };
    assert!(table.get(b"k", MAX_SEQUENCE, |_| ControlFlow::Break(())).is_err());
    let mut iter = table.iter();
    iter.seek_to_first();
    assert!(!iter.valid() && iter.status().is_err());
}

#[test]
fn only_a_put_over_a_put_overwrites() {
    let table = table(RepKind::SkipList, Some(0), 8);
    let mut writer = table.writer();
    let steps = [
        (ValueType::Value, false),
        (ValueType::Merge, false),
        (ValueType::Value, false),
        (ValueType::WideColumnEntity, false),
        (ValueType::WideColumnEntity, true),
        (ValueType::Deletion, false),
        (ValueType::Value, false),
        (ValueType::SingleDeletion, false),
        (ValueType::Value, false),
        (ValueType::Value, true),
    ];
    for (seq, (value_type, in_place)) in (1..).zip(steps) {
        let done = writer.add(SequenceNumber::new(seq), value_type, b"k", b"v").unwrap();
        assert_eq!(done == Inserted::InPlace, in_place, "{seq} {value_type:?}");
    }
    drop(writer);
    table.add_range_tombstone(SequenceNumber::new(20), b"a", b"z").unwrap();
    table.add(SequenceNumber::new(21), ValueType::Value, b"k", b"w").unwrap();
    assert_eq!(versions(&table, b"k")[0], (21, ValueType::Value, b"w".to_vec()));
    table.add(SequenceNumber::new(22), ValueType::Value, b"k", b"x").unwrap();
    assert_eq!(versions(&table, b"k")[0], (21, ValueType::Value, b"x".to_vec()));
}

#[test]
fn a_value_that_was_read_does_not_change() {
    let table = table(RepKind::SkipList, Some(1), 0);
    table.add(SequenceNumber::new(1), ValueType::Value, b"k", b"old").unwrap();
    let mut iter = table.iter();
    iter.seek_to_first();
    let mut pinned = iter.pin_value();
    table
        .get(b"k", SequenceNumber::new(9), |v| {
            pinned = v.pin(&table);
            ControlFlow::Break(())
        })
        .unwrap();
    table.add(SequenceNumber::new(2), ValueType::Value, b"k", b"new").unwrap();
    assert_eq!((iter.value(), &*pinned), (&b"old"[..], &b"old"[..]));
    iter.seek_to_first();
    assert_eq!(iter.value(), b"new");
}

#[test]
fn readers_see_whole_values_while_writers_overwrite() {
    let table = table(RepKind::SkipList, Some(2), 8);
    let keys: Vec<[u8; 1]> = (0..5).map(|i| [i]).collect();
    keys.iter()
        .zip(1..)
        .for_each(|(key, seq)| table.add(SequenceNumber::new(seq), ValueType::Value, key, &[0; 40]).unwrap());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for key in &keys {
                        let (_, _, value) = versions(&table, key).remove(0);
                        assert!(value.iter().all(|&b| b == value[0] && usize::from(b) == 40 - value.len()));
                    }
                    let mut iter = table.iter();
                    iter.seek_to_first();
                    while iter.valid() {
                        assert!(iter.value().iter().all(|&b| usize::from(b) == 40 - iter.value().len()));
                        iter.next();
                    }
                    iter.status().unwrap();
                }
            });
        }
        for round in 0..if cfg!(miri) { 30 } else { 5_000 } {
            let key = &keys[round % keys.len()];
            let short = round % 30;
            table
                .add(
                    SequenceNumber::new(100 + round as u64),
                    ValueType::Value,
                    key,
                    &vec![short as u8; 40 - short],
                )
                .unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(table.counts().entries, 5);
}
