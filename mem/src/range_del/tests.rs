use base::Order;
use base::SequenceNumber;
use proptest::prelude::*;

use super::*;

fn tombstone(start: &str, end: &str, seq: SequenceNumber) -> Tombstone {
    Tombstone { start: start.into(), end: end.into(), seq, timestamp: Vec::new() }
}

fn fragmented(list: &[(&str, &str, SequenceNumber)]) -> FragmentedTombstones {
    let list = list.iter().map(|&(s, e, seq)| tombstone(s, e, seq)).collect();
    FragmentedTombstones::new(list, InternalOrder::new(Order::Bytewise))
}

fn shown(list: &FragmentedTombstones) -> String {
    format!("{list:?}")
}

#[test]
fn overlaps_are_cut_at_every_boundary() {
    let list = fragmented(&[("c", "h", SequenceNumber::new(20)), ("a", "f", SequenceNumber::new(10))]);
    assert_eq!(shown(&list), "[[a-c)#[10], [c-f)#[20, 10], [f-h)#[20]]");
    assert_eq!(list.tombstone_count(), 2);
}

#[test]
fn touching_ranges_stay_apart_and_gaps_stay_open() {
    assert_eq!(
        shown(&fragmented(&[
            ("a", "c", SequenceNumber::new(1)),
            ("c", "d", SequenceNumber::new(1)),
            ("x", "z", SequenceNumber::new(3))
        ])),
        "[[a-c)#[1], [c-d)#[1], [x-z)#[3]]"
    );
}

#[test]
fn empty_and_inverted_ranges_cover_nothing() {
    assert!(fragmented(&[("b", "b", SequenceNumber::new(1)), ("c", "a", SequenceNumber::new(2))]).is_empty());
}

#[test]
fn the_newest_that_the_snapshot_sees_answers() {
    let list = fragmented(&[("a", "f", SequenceNumber::new(10)), ("c", "h", SequenceNumber::new(20))]);
    assert_eq!(list.max_covering(b"d", SequenceNumber::new(100)), Some(SequenceNumber::new(20)));
    assert_eq!(list.max_covering(b"d", SequenceNumber::new(20)), Some(SequenceNumber::new(20)));
    assert_eq!(list.max_covering(b"d", SequenceNumber::new(19)), Some(SequenceNumber::new(10)));
    assert_eq!(list.max_covering(b"d", SequenceNumber::new(9)), None);
    assert_eq!(list.max_covering(b"h", SequenceNumber::new(100)), None, "the end is not covered");
    assert_eq!(list.max_covering(b"A", SequenceNumber::new(100)), None);
}

#[test]
fn the_reverse_order_turns_ranges_round() {
    let list = vec![tombstone("f", "a", SequenceNumber::new(7))];
    let list = FragmentedTombstones::new(list, InternalOrder::new(Order::Reverse));
    assert_eq!(list.max_covering(b"c", SequenceNumber::new(9)), Some(SequenceNumber::new(7)));
    assert_eq!(list.max_covering(b"a", SequenceNumber::new(9)), None);
}

#[test]
fn timestamps_bound_what_a_reader_sees() {
    let order = Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap();
    let ts = |n: u64| n.to_le_bytes();
    let stored = |key: &str, t: u64| [key.as_bytes(), &ts(t)].concat();
    let make = |s, e, seq, t| Tombstone::from_stored(&stored(s, t), &stored(e, t), seq, 8).unwrap();
    let list =
        vec![make("a", "f", SequenceNumber::new(10), 100), make("c", "h", SequenceNumber::new(20), 200)];
    let list = FragmentedTombstones::new(list, InternalOrder::new(order));
    assert_eq!(
        list.max_covering_at(b"d", SequenceNumber::new(99), &ts(250)),
        Some((SequenceNumber::new(20), &ts(200)[..]))
    );
    assert_eq!(
        list.max_covering_at(b"d", SequenceNumber::new(99), &ts(150)),
        Some((SequenceNumber::new(10), &ts(100)[..]))
    );
    assert_eq!(list.max_covering_at(b"d", SequenceNumber::new(99), &ts(50)), None);
}

#[test]
fn the_stored_form_is_checked() {
    let mut key = Vec::new();
    key::append_internal(&mut key, b"a", SequenceNumber::new(7), key::ValueType::RangeDeletion);
    assert_eq!(Tombstone::decode(&key, b"c", 0).unwrap().to_string(), "[a-c)#7");
    assert!(Tombstone::decode(&key, b"c", 8).unwrap_err().is_corruption());
    assert!(Tombstone::decode(b"short", b"c", 0).unwrap_err().is_corruption());
    let mut point = Vec::new();
    key::append_internal(&mut point, b"a", SequenceNumber::new(7), key::ValueType::Value);
    assert!(Tombstone::decode(&point, b"c", 0).unwrap_err().is_corruption());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 }, failure_persistence: None, ..ProptestConfig::default()
    })]
    #[test]
    fn fragments_answer_as_the_tombstones_do(
        list in prop::collection::vec((0u8..20, 0u8..20, 1u64..30), 0..25),
        snapshot in 0u64..32,
    ) {
        let tombstones: Vec<_> = list
            .iter()
            .map(|&(s, e, seq)| Tombstone { start: vec![s], end: vec![e], seq: SequenceNumber::new(seq), timestamp: vec![] })
            .collect();
        let cut = FragmentedTombstones::new(tombstones, InternalOrder::new(Order::Bytewise));
        for key in 0u8..21 {
            let naive = list.iter().filter(|&&(s, e, q)| s <= key && key < e && q <= snapshot).map(|t| t.2).max();
            prop_assert_eq!(cut.max_covering(&[key], SequenceNumber::new(snapshot)), naive.map(SequenceNumber::new));
        }
        let all: Vec<_> = cut.iter().collect();
        for pair in all.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
        }
        for fragment in all {
            prop_assert!(fragment.start < fragment.end && !fragment.seqs.is_empty());
            prop_assert!(fragment.seqs.is_sorted_by(|a, b| a > b));
        }
    }
}
