use base::SequenceNumber;
use base::iter::VecIterator;
use base::key::{ValueType, append_internal, with_newest_timestamp};
use base::order::Order;

use super::*;

/// Returns a source with the keys `a` to `c`, each with the timestamps 9 and 5, that ends before `upper`.
fn clipped(upper: Option<&str>) -> Clipped<VecIterator> {
    let order = InternalOrder::new(Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap());
    let mut entries = Vec::new();
    for key in ["a", "b", "c"] {
        for timestamp in [9u64, 5] {
            let mut internal = Vec::new();
            let user = [key.as_bytes(), &timestamp.to_le_bytes()].concat();
            append_internal(&mut internal, &user, SequenceNumber::new(timestamp), ValueType::Value);
            entries.push((internal, Vec::new()));
        }
    }
    let upper = upper.map(|key| with_newest_timestamp(key.as_bytes(), 8));
    Clipped::new(VecIterator::new(entries, order.clone()), order, upper)
}

/// Returns the current entry as key and timestamp, or `-` at either end.
fn shown(iter: &Clipped<VecIterator>) -> String {
    if !iter.valid() {
        return "-".to_string();
    }
    let user = user_key(iter.key());
    format!("{}{}", user[0] as char, user[1])
}

fn forward(iter: &mut Clipped<VecIterator>) -> String {
    let mut out = Vec::new();
    while iter.valid() {
        out.push(shown(iter));
        iter.next();
    }
    out.join(" ")
}

fn backward(iter: &mut Clipped<VecIterator>) -> String {
    let mut out = Vec::new();
    while iter.valid() {
        out.push(shown(iter));
        iter.prev();
    }
    out.join(" ")
}

#[test]
fn no_version_of_the_bound_is_shown() {
    for (upper, rows) in
        [(None, "a9 a5 b9 b5 c9 c5"), (Some("c"), "a9 a5 b9 b5"), (Some("b"), "a9 a5"), (Some("a"), "")]
    {
        let mut iter = clipped(upper);
        iter.seek_to_first();
        assert_eq!(forward(&mut iter), rows, "{upper:?}");
        let back: Vec<&str> = rows.split(' ').rev().collect();
        iter.seek_to_last();
        assert_eq!(backward(&mut iter), back.join(" "), "{upper:?}");
    }
}

#[test]
fn a_seek_past_the_bound_ends_the_source() {
    let mut iter = clipped(Some("b"));
    let target = seek_key(&with_newest_timestamp(b"b", 8), MAX_SEQUENCE);
    iter.seek(&target);
    assert_eq!(shown(&iter), "-");
    iter.seek_for_prev(&seek_key(&with_newest_timestamp(b"c", 8), MAX_SEQUENCE));
    assert_eq!(shown(&iter), "a5");
    iter.seek(&seek_key(&with_newest_timestamp(b"a", 8), MAX_SEQUENCE));
    assert_eq!(forward(&mut iter), "a9 a5");
}
