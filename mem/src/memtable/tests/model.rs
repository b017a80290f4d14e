//! Random operations, compared with a sorted list.

use base::key::append_internal;
use proptest::prelude::*;

use super::*;

/// An operation of the model test.
#[derive(Clone, Debug)]
enum Op {
    Add(Vec<u8>),
    Get(Vec<u8>, u64),
    Seek(Vec<u8>, u64, Vec<bool>),
    SeekForPrev(Vec<u8>, u64, Vec<bool>),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(prop_oneof![Just(0u8), Just(b'a'), Just(0xff)], 0..4),
        (0u16..300).prop_map(|n| format!("common-prefix-{n:04}").into_bytes()),
        (0u16..300).prop_map(|n| n.to_be_bytes().to_vec()),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let moves = || prop::collection::vec(any::<bool>(), 0..12);
    prop_oneof![
        12 => key().prop_map(Op::Add),
        2 => (key(), 0u64..600).prop_map(|(k, s)| Op::Get(k, s)),
        1 => (key(), 0u64..600, moves()).prop_map(|(k, s, m)| Op::Seek(k, s, m)),
        1 => (key(), 0u64..600, moves()).prop_map(|(k, s, m)| Op::SeekForPrev(k, s, m)),
    ]
}

fn run_model(rep: RepKind, order: Order, ops: Vec<Op>) -> std::result::Result<(), TestCaseError> {
    let internal = InternalOrder::new(order.clone());
    let table = MemTable::new(
        MemTableOptions { order: internal.clone(), rep, ..options(rep) },
        1,
        SequenceNumber::new(1),
    );
    // The model: entries sorted by the internal order.
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut seq = 0;
    for op in ops {
        let seek = |key: &[u8], at: u64| seek_key(key, SequenceNumber::new(at));
        match op {
            Op::Add(key) => {
                seq += 1;
                let value = seq.to_string().into_bytes();
                table.add(SequenceNumber::new(seq), ValueType::Value, &key, &value).unwrap();
                let mut row = Vec::new();
                append_internal(&mut row, &key, SequenceNumber::new(seq), ValueType::Value);
                let at = rows.partition_point(|(k, _)| internal.compare(k, &row).is_lt());
                rows.insert(at, (row, value));
            }
            Op::Get(key, at) => {
                let target = seek(&key, at);
                let from = rows.partition_point(|(k, _)| internal.compare(k, &target).is_lt());
                let want: Vec<_> = rows[from..]
                    .iter()
                    .take_while(|(k, _)| order.equal(base::key::user_key(k), &key))
                    .map(|(_, v)| v.clone())
                    .collect();
                let mut got = Vec::new();
                table
                    .get(&key, SequenceNumber::new(at), |v| {
                        got.push(v.value.to_vec());
                        ControlFlow::Continue(())
                    })
                    .unwrap();
                prop_assert_eq!(got, want);
            }
            Op::Seek(key, at, moves) => {
                let target = seek(&key, at);
                let mut iter = table.iter();
                iter.seek(&target);
                let index = rows.partition_point(|(k, _)| internal.compare(k, &target).is_lt());
                walk(&mut iter, &rows, Some(index), &moves)?;
            }
            Op::SeekForPrev(key, at, moves) => {
                let target = seek(&key, at);
                let mut iter = table.iter();
                iter.seek_for_prev(&target);
                let past = rows.partition_point(|(k, _)| internal.compare(k, &target).is_le());
                walk(&mut iter, &rows, past.checked_sub(1), &moves)?;
            }
        }
    }
    prop_assert_eq!(&forward(&table), &rows);
    prop_assert_eq!(&backward(&table), &rows);
    Ok(())
}

fn walk(
    iter: &mut MemIter,
    rows: &[(Vec<u8>, Vec<u8>)],
    mut index: Option<usize>,
    moves: &[bool],
) -> std::result::Result<(), TestCaseError> {
    let mut moves = moves.iter();
    loop {
        let row = index.and_then(|i| rows.get(i));
        prop_assert_eq!(iter.valid(), row.is_some());
        let Some((key, value)) = row else { return Ok(()) };
        prop_assert_eq!(iter.key(), &key[..]);
        prop_assert_eq!(iter.value(), &value[..]);
        match moves.next() {
            None => return Ok(()),
            Some(true) => {
                iter.next();
                index = index.map(|i| i + 1);
            }
            Some(false) => {
                iter.prev();
                index = index.and_then(|i| i.checked_sub(1));
            }
        }
    }
}

/// The bytewise order as a custom comparator. Keys are compared through the trait, without heads.
struct Plain;

impl base::order::Comparator for Plain {
    fn name(&self) -> &str {
        "plain"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        a.cmp(b)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 64 }, failure_persistence: None, ..ProptestConfig::default()
    })]
    #[test]
    fn the_table_does_what_a_sorted_list_does(
        ops in prop::collection::vec(op(), 0..if cfg!(miri) { 80 } else { 600 }),
        kind in 0..4,
    ) {
        match kind {
            0 => run_model(RepKind::SkipList, Order::Bytewise, ops)?,
            1 => run_model(RepKind::SkipList, Order::Reverse, ops)?,
            2 => run_model(RepKind::SkipList, Order::custom(Plain), ops)?,
            _ => run_model(RepKind::Vector, Order::Bytewise, ops)?,
        }
    }
}
