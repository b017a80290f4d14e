//! Compares the merging iterator with a plain sort, in both directions and with changes of direction.
//! Compares range tombstones with the plain definition of the entries that they cover.

use std::sync::Arc;

use base::SequenceNumber;
use base::iter::{InternalIterator, VecIterator};
use base::key::{self, InternalOrder, ValueType};
use base::order::Order;
use ironstone_lsm::merging::Merging;
use ironstone_lsm::range_del::{FragmentCover, Uncovered};
use mem::range_del::{FragmentedTombstones, Tombstone};
use proptest::prelude::*;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn row(user: &[u8], seq: u64, source: usize) -> (Vec<u8>, Vec<u8>) {
    let mut k = Vec::new();
    key::append_internal(&mut k, user, SequenceNumber::new(seq), ValueType::Value);
    (k, vec![source as u8])
}

/// Makes sources with keys of about eight bytes. Several sources may have equal internal keys.
fn sources() -> impl Strategy<Value = Vec<Vec<(Vec<u8>, u64)>>> {
    let user = prop_oneof![
        prop::collection::vec(0u8..3, 0..4),
        prop::collection::vec(0u8..2, 0..3).prop_map(|tail| [b"sameprefix".as_slice(), &tail].concat()),
        Just(vec![0xff; 8]),
        Just(vec![0xff; 9]),
    ];
    prop::collection::vec(prop::collection::vec((user, 0u64..4), 0..12), 0..6)
}

fn sorted(mut rows: Rows, order: &InternalOrder) -> Rows {
    // The sort is stable: of equal keys, the entry of the earlier source stays first.
    rows.sort_by(|a, b| order.compare(&a.0, &b.0));
    rows
}

fn build(sources: &[Vec<(Vec<u8>, u64)>], order: &InternalOrder) -> (Merging<VecIterator>, Rows) {
    let mut all = Vec::new();
    let mut iters = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        let mut rows: Rows = source.iter().map(|(user, seq)| row(user, *seq, i)).collect();
        rows = sorted(rows, order);
        rows.dedup_by(|a, b| a.0 == b.0);
        all.extend(rows.clone());
        iters.push(VecIterator::new(rows, order.clone()));
    }
    (Merging::new(order.clone(), iters), sorted(all, order))
}

#[derive(Clone, Debug)]
enum Step {
    Next,
    Prev,
    First,
    Last,
    Seek(Vec<u8>, u64),
    SeekForPrev(Vec<u8>, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let user = prop_oneof![prop::collection::vec(0u8..3, 0..4), Just(b"sameprefix\x01".to_vec())];
    prop::collection::vec(
        prop_oneof![
            6 => Just(Step::Next),
            6 => Just(Step::Prev),
            1 => Just(Step::First),
            1 => Just(Step::Last),
            1 => (user.clone(), 0u64..5).prop_map(|(k, s)| Step::Seek(k, s)),
            1 => (user, 0u64..5).prop_map(|(k, s)| Step::SeekForPrev(k, s)),
        ],
        1..60,
    )
}

fn walk(
    it: &mut impl InternalIterator,
    model: &Rows,
    order: &InternalOrder,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let mut at: Option<usize> = None;
    for step in steps {
        let target = |k: &[u8], s: u64| {
            let mut t = Vec::new();
            key::append_internal(&mut t, k, SequenceNumber::new(s), ValueType::Value);
            t
        };
        match step {
            Step::Next | Step::Prev if at.is_none() => continue,
            Step::Next => {
                it.next();
                at = at.map(|i| i + 1).filter(|&i| i < model.len());
            }
            Step::Prev => {
                it.prev();
                at = at.and_then(|i| i.checked_sub(1));
            }
            Step::First => {
                it.seek_to_first();
                at = Some(0).filter(|_| !model.is_empty());
            }
            Step::Last => {
                it.seek_to_last();
                at = model.len().checked_sub(1);
            }
            Step::Seek(k, s) => {
                let t = target(k, *s);
                it.seek(&t);
                let i = model.partition_point(|(key, _)| order.compare(key, &t).is_lt());
                at = Some(i).filter(|&i| i < model.len());
            }
            Step::SeekForPrev(k, s) => {
                let t = target(k, *s);
                it.seek_for_prev(&t);
                at = model.partition_point(|(key, _)| order.compare(key, &t).is_le()).checked_sub(1);
            }
        }
        prop_assert_eq!(it.valid(), at.is_some(), "{:?}", step);
        prop_assert!(it.status().is_ok());
        if let Some(i) = at {
            prop_assert_eq!(it.key(), &model[i].0[..], "{:?}", step);
            prop_assert_eq!(it.value(), &model[i].1[..], "{:?}", step);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_merge_is_a_sort(sources in sources(), steps in steps(), which in 0..3) {
        let order = InternalOrder::new(match which {
            0 => Order::Bytewise,
            1 => Order::Reverse,
            _ => Order::by_name("rocksdb.Uint64Comparator").unwrap(),
        });
        let (mut merging, model) = build(&sources, &order);
        prop_assert!(!merging.valid());
        walk(&mut merging, &model, &order, &steps)?;
    }

    #[test]
    fn covered_rows_are_left_out(
        sources in prop::collection::vec(
            (prop::collection::vec(0u8..20, 0..20), prop::collection::vec((0u8..20, 0u8..20, 0u64..9), 0..3)),
            1..5,
        ),
        steps in steps(),
        snapshot in 5u64..60,
    ) {
        // Source i is newer than source i + 1: all its sequence numbers are larger.
        let order = InternalOrder::new(Order::Bytewise);
        let n = sources.len() as u64;
        let base_of = |i: usize| (n - 1 - i as u64) * 10 + 1;
        let (mut iters, mut covers, mut model) = (Vec::new(), Vec::new(), Vec::new());
        let mut tombstones = Vec::new();
        for (i, (keys, ranges)) in sources.iter().enumerate() {
            for (a, b, s) in ranges {
                tombstones.push((i, [*a], [*b], base_of(i) + s));
            }
            let mut rows: Rows =
                keys.iter().enumerate().map(|(j, k)| row(&[*k], base_of(i) + j as u64 % 10, i)).collect();
            rows = sorted(rows, &order);
            rows.dedup_by(|a, b| a.0 == b.0);
            model.extend(rows.clone());
            iters.push(VecIterator::new(rows, order.clone()));
            let list = ranges
                .iter()
                .map(|(a, b, s)| Tombstone { start: vec![*a], end: vec![*b], seq: SequenceNumber::new(base_of(i) + s), timestamp: vec![] })
                .collect();
            let fragments = Arc::new(FragmentedTombstones::new(list, order.clone()));
            covers.push(FragmentCover::of_memtable(order.clone(), fragments, SequenceNumber::new(snapshot)));
        }
        model.retain(|(k, _)| {
            let (user, seq, _) = key::split(k);
            !tombstones.iter().any(|(_, a, b, s)| *s <= snapshot && seq < SequenceNumber::new(*s) && &a[..] <= user && user < &b[..])
        });
        let model = sorted(model, &order);
        let mut it = Uncovered::new(Merging::new(order.clone(), iters), covers);
        walk(&mut it, &model, &order, &steps)?;
    }
}

#[test]
fn a_sorted_run_costs_one_comparison_for_each_entry() {
    let order = InternalOrder::new(Order::Bytewise);
    let source = |i: usize| {
        let rows = (0..1000).map(|j| row(format!("{:08}", i * 1000 + j).as_bytes(), 1, i)).collect();
        VecIterator::new(rows, order.clone())
    };
    let mut merging = Merging::new(order.clone(), (0..8).map(source).collect());
    merging.seek_to_first();
    let mut rows = 0;
    while merging.valid() {
        rows += 1;
        merging.next();
    }
    assert_eq!(rows, 8000);
    assert!(merging.stats.comparisons < 8000 + 8 * 12, "{:?}", merging.stats);
    assert!(merging.stats.key_comparisons < 50, "{:?}", merging.stats);
}
