//! Compares the walk with a plain model: every reader, both directions, with turns.

use base::iter::VecIterator;
use base::key::{InternalOrder, append_internal};
use base::{Order, SequenceNumber, ValueType};
use lsm::merge::{FullMerge, MergeOperator, Merged};
use lsm::range_del::{Coverage, FragmentCover};

use super::view::View;
use super::walk::Walk;
use crate::sync::Arc;

/// Joins the base value and the operands with commas.
struct Join;

impl MergeOperator for Join {
    fn name(&self) -> &str {
        "Join"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Result<Merged, lsm::merge::Failure> {
        let mut parts: Vec<&[u8]> = Vec::new();
        if let lsm::merge::Existing::Value(value) = merge.existing {
            parts.push(value);
        }
        parts.extend_from_slice(merge.operands);
        out.extend_from_slice(&parts.join(&b","[..]));
        Ok(Merged::New)
    }
}

/// Entries of keys: (key, sequence number, value type, value).
type Versions = Vec<(u8, u64, ValueType, Vec<u8>)>;

/// A linear congruential generator: the tests need no good random numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

fn random_versions(chance: &mut Chance) -> Versions {
    let mut versions = Versions::new();
    for seq in 1..=chance.below(60) {
        let key = chance.below(9) as u8;
        let value_type = match chance.below(5) {
            0 => ValueType::Deletion,
            1 | 2 => ValueType::Merge,
            _ => ValueType::Value,
        };
        let value =
            if value_type == ValueType::Deletion { Vec::new() } else { format!("v{seq}").into_bytes() };
        versions.push((key, seq, value_type, value));
    }
    versions
}

/// Returns the keys and values that a reader at `seq` sees.
fn model(versions: &Versions, seq: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut out = Vec::new();
    for key in 0..9u8 {
        let mut value: Option<Vec<u8>> = None;
        for (_, _, value_type, bytes) in versions.iter().filter(|(k, s, _, _)| *k == key && *s <= seq) {
            value = match (value_type, value) {
                (ValueType::Deletion, _) => None,
                (ValueType::Merge, Some(old)) => Some([&old[..], b",", bytes].concat()),
                _ => Some(bytes.clone()),
            };
        }
        out.extend(value.map(|v| (vec![key], v)));
    }
    out
}

fn walk(versions: &Versions, seq: u64, skip: u64, bounds: (Option<u8>, Option<u8>)) -> Walk<VecIterator> {
    let view = View {
        merge_operator: Some(Arc::new(Join)),
        lower: bounds.0.map(|b| vec![b]),
        upper: bounds.1.map(|b| vec![b]),
        max_sequential_skip: skip,
        ..View::plain(Order::Bytewise, SequenceNumber::new(seq))
    };
    let order = InternalOrder::new(Order::Bytewise);
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = versions
        .iter()
        .map(|(key, seq, value_type, value)| {
            let mut internal = Vec::new();
            append_internal(&mut internal, &[*key], SequenceNumber::new(*seq), *value_type);
            (internal, value.clone())
        })
        .collect();
    entries.sort_by(|a, b| order.compare(&a.0, &b.0));
    Walk::new(VecIterator::new(entries, order), view)
}

#[test]
fn every_reader_sees_its_snapshot_in_both_directions() {
    let mut chance = Chance(7);
    for round in 0..3000 {
        let versions = random_versions(&mut chance);
        let seq = chance.below(versions.len() as u64 + 2);
        let skip = [0, 1, 3, 8][chance.below(4) as usize];
        let lower = (chance.below(3) == 0).then(|| chance.below(9) as u8);
        let upper = (chance.below(3) == 0).then(|| chance.below(9) as u8);
        let mut expected = model(&versions, seq);
        expected.retain(|(k, _)| lower.is_none_or(|l| k[0] >= l) && upper.is_none_or(|u| k[0] < u));
        let mut walk = walk(&versions, seq, skip, (lower, upper));
        let mut got = Vec::new();
        walk.seek_to_first();
        while walk.valid() {
            got.push((walk.key().to_vec(), walk.value().to_vec()));
            walk.next();
        }
        walk.status().unwrap();
        assert_eq!(got, expected, "forward, round {round}");
        got.clear();
        walk.seek_to_last();
        while walk.valid() {
            got.push((walk.key().to_vec(), walk.value().to_vec()));
            walk.prev();
        }
        walk.status().unwrap();
        got.reverse();
        assert_eq!(got, expected, "backward, round {round}");
    }
}

#[test]
fn seeks_and_changes_of_direction_agree_with_the_model() {
    let mut chance = Chance(11);
    for round in 0..3000 {
        let versions = random_versions(&mut chance);
        let seq = chance.below(versions.len() as u64 + 2);
        let expected = model(&versions, seq);
        let mut walk = walk(&versions, seq, chance.below(4), (None, None));
        let mut at: Option<usize> = None;
        for step in 0..20 {
            match chance.below(6) {
                0 => {
                    let target = chance.below(10) as u8;
                    walk.seek(&[target]);
                    at = expected.iter().position(|(k, _)| k[0] >= target);
                }
                1 => {
                    let target = chance.below(10) as u8;
                    walk.seek_for_prev(&[target]);
                    at = expected.iter().rposition(|(k, _)| k[0] <= target);
                }
                2 | 3 => {
                    walk.next();
                    at = at.map(|i| i + 1).filter(|i| *i < expected.len());
                }
                _ => {
                    walk.prev();
                    at = at.and_then(|i| i.checked_sub(1));
                }
            }
            walk.status().unwrap();
            let got = walk.valid().then(|| (walk.key().to_vec(), walk.value().to_vec()));
            assert_eq!(got, at.map(|i| expected[i].clone()), "round {round}, step {step}");
        }
    }
}

fn entry(user: &[u8], seq: u64, value_type: ValueType) -> (Vec<u8>, Vec<u8>) {
    let mut internal = Vec::new();
    append_internal(&mut internal, user, SequenceNumber::new(seq), value_type);
    (internal, format!("v{seq}").into_bytes())
}

fn view(order: Order, seq: u64) -> View {
    View::plain(order, SequenceNumber::new(seq))
}

#[test]
fn an_entry_of_unknown_kind_is_an_error_and_not_a_deletion() {
    let order = InternalOrder::new(Order::Bytewise);
    let entries = vec![
        entry(b"a", 1, ValueType::Value),
        entry(b"b", 2, ValueType::Noop),
        entry(b"c", 3, ValueType::Value),
    ];
    let mut walk = Walk::new(VecIterator::new(entries, order), view(Order::Bytewise, 9));
    walk.seek_to_first();
    assert_eq!(walk.key(), b"a");
    walk.next();
    assert!(!walk.valid() && walk.status().unwrap_err().is_corruption());
    walk.seek_to_last();
    assert_eq!(walk.key(), b"c");
    walk.prev();
    assert!(!walk.valid() && walk.status().unwrap_err().is_corruption());
}

#[test]
fn with_prefix_same_as_start_the_first_key_shown_sets_the_prefix_of_a_scan_from_an_end() {
    let order = InternalOrder::new(Order::Bytewise);
    let entries: Vec<_> = [b"a1", b"a2", b"b1", b"c1", b"c2"].map(|k| entry(k, 1, ValueType::Value)).to_vec();
    let prefix: Option<Arc<dyn base::order::PrefixExtractor>> =
        Some(Arc::new(base::order::BuiltinPrefix::Fixed(1)));
    let mut walk = Walk::new(VecIterator::new(entries, order), View { prefix, ..view(Order::Bytewise, 9) });
    walk.seek_to_first();
    walk.next();
    assert_eq!(walk.key(), b"a2");
    walk.next();
    assert!(!walk.valid() && walk.status().is_ok());
    walk.seek_to_last();
    walk.prev();
    assert_eq!(walk.key(), b"c1");
    walk.prev();
    assert!(!walk.valid() && walk.status().is_ok());
}

#[test]
fn a_snapshot_of_timestamped_keys_sees_no_later_write_of_an_older_timestamp() {
    let user = |timestamp: u64| [&b"k"[..], &timestamp.to_le_bytes()].concat();
    let order = Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap();
    let entries = vec![entry(&user(5), 20, ValueType::Value), entry(&user(3), 10, ValueType::Value)];
    let view = View { timestamp: 9u64.to_le_bytes().to_vec(), ..view(order.clone(), 15) };
    let mut walk = Walk::new(VecIterator::new(entries, InternalOrder::new(order)), view);
    walk.seek_to_last();
    assert_eq!((walk.key(), walk.value()), (&b"k"[..], &b"v10"[..]));
    walk.seek_to_first();
    assert_eq!((walk.key(), walk.value()), (&b"k"[..], &b"v10"[..]));
}

#[test]
fn a_tombstone_after_the_readers_timestamp_hides_nothing() {
    let order = InternalOrder::new(Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap());
    let tombstone = mem::range_del::Tombstone {
        start: b"a".to_vec(),
        end: b"z".to_vec(),
        seq: SequenceNumber::new(20),
        timestamp: 7u64.to_le_bytes().to_vec(),
    };
    let fragments = Arc::new(mem::range_del::FragmentedTombstones::new(vec![tombstone], order.clone()));
    let (key, _) = entry(&[&b"k"[..], &3u64.to_le_bytes()].concat(), 10, ValueType::Value);
    for (at, hidden) in [(6u64, false), (7, true)] {
        let mut cover = FragmentCover::of_memtable(order.clone(), fragments.clone(), SequenceNumber::new(99))
            .at_timestamp(Some(Arc::from(&at.to_le_bytes()[..])));
        assert_eq!(cover.cover(&key).unwrap().seq > SequenceNumber::new(10), hidden, "at {at}");
    }
}

#[test]
fn an_entity_that_does_not_decode_is_a_corruption_in_every_call() {
    let order = InternalOrder::new(Order::Bytewise);
    let (broken, _) = entry(b"b", 2, ValueType::WideColumnEntity);
    let entries = vec![
        entry(b"a", 1, ValueType::Value),
        (broken, b"\x01\x02no".to_vec()),
        entry(b"c", 3, ValueType::Value),
    ];
    let moves: [fn(&mut Walk<VecIterator>); 4] = [
        |walk| walk.seek(b"b"),
        |walk| walk.seek_for_prev(b"b"),
        |walk| {
            walk.seek_to_first();
            walk.next();
        },
        |walk| {
            walk.seek_to_last();
            walk.prev();
        },
    ];
    for go in moves {
        let mut walk = Walk::new(VecIterator::new(entries.clone(), order.clone()), view(Order::Bytewise, 9));
        go(&mut walk);
        assert!(!walk.valid() && walk.entity().is_none());
        assert_eq!(walk.status().unwrap_err().kind(), base::Kind::Corruption);
    }
}

#[test]
fn a_source_out_of_order_ends_a_walk_with_corruption_in_a_build_with_invariants() {
    let order = InternalOrder::new(Order::Bytewise);
    let entries = vec![
        entry(b"a", 1, ValueType::Value),
        entry(b"c", 2, ValueType::Value),
        entry(b"b", 3, ValueType::Value),
    ];
    if !base::invariant::INVARIANTS {
        return;
    }
    let view = View { max_sequential_skip: 8, ..view(Order::Bytewise, 9) };
    let mut walk = Walk::new(VecIterator::new(entries, order), view);
    walk.seek_to_first();
    walk.next();
    assert_eq!(walk.key(), b"c");
    walk.next();
    assert!(!walk.valid() && walk.status().unwrap_err().is_corruption());
    walk.seek_to_last();
    assert_eq!(walk.key(), b"b");
    walk.prev();
    assert!(!walk.valid() && walk.status().unwrap_err().is_corruption());
}
