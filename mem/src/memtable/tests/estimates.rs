//! Compares range estimates with exact counts.

use proptest::prelude::*;

use super::*;
use base::SequenceNumber;

#[test]
fn estimates_are_close_and_exact_when_small() {
    let table = table(RepKind::SkipList);
    let n = if cfg!(miri) { 500u64 } else { 200_000 };
    // A permutation of 0..n: every key once, in random order.
    let mut keys: Vec<u64> = (0..n).collect();
    let mut random = Lcg(3);
    for i in (1..keys.len()).rev() {
        keys.swap(i, (random.next() % (i as u64 + 1)) as usize);
    }
    let mut writer = table.writer();
    for (seq, key) in keys.iter().enumerate() {
        writer.add(SequenceNumber::new(seq as u64 + 1), ValueType::Value, &key.to_be_bytes(), b"v").unwrap();
    }
    drop(writer);
    let count =
        |from: u64, len: u64| table.approximate_stats(&from.to_be_bytes(), &(from + len).to_be_bytes()).0;
    let rounds = if cfg!(miri) { 3 } else { 300 };
    for _ in 0..rounds {
        for len in [0, 1, 10, 40, 75] {
            assert_eq!(count(random.next() % (n - len), len), len);
        }
    }
    // The relative standard deviation and the largest relative error, for each width of a range.
    for len in [200u64, 500, 1000, 1500, 3000, 10_000, 30_000, 100_000].into_iter().filter(|&len| len < n) {
        let miss = |_| count(random.next() % (n - len), len) as f64 / len as f64 - 1.0;
        let misses: Vec<f64> = (0..rounds).map(miss).collect();
        let deviation = (misses.iter().map(|miss| miss * miss).sum::<f64>() / misses.len() as f64).sqrt();
        let worst = misses.iter().fold(0.0, |worst: f64, miss| worst.max(miss.abs()));
        assert!(deviation < 0.055 && worst < 0.2, "{len}: {deviation}, at worst {worst}");
    }
    assert_eq!(table.approximate_stats(b"z", b"a"), (0, 0));
}

#[test]
fn an_estimate_stays_within_half_where_leaves_are_filled_unevenly() {
    let table = table(RepKind::SkipList);
    let n = if cfg!(miri) { 300u64 } else { 100_000 };
    // Ascending keys fill every leaf. After them, the same number of keys in random order leaves room in the
    // leaves.
    let mut writer = table.writer();
    let mut random = Lcg(5);
    let mut scattered: Vec<u64> = (n..2 * n).collect();
    for i in (1..scattered.len()).rev() {
        scattered.swap(i, (random.next() % (i as u64 + 1)) as usize);
    }
    for (seq, key) in (0..n).chain(scattered).enumerate() {
        writer.add(SequenceNumber::new(seq as u64 + 1), ValueType::Value, &key.to_be_bytes(), b"v").unwrap();
    }
    drop(writer);
    for len in [100u64, 1000, 2000, 10_000, 50_000].into_iter().filter(|&len| len < n) {
        for from in [n / 3, n + n / 3] {
            let got = table.approximate_stats(&from.to_be_bytes(), &(from + len).to_be_bytes()).0 as f64;
            let tolerance = if len > 1000 { 0.5 } else { 0.1 };
            assert!((got / len as f64 - 1.0).abs() < tolerance, "{got} for {len} from {from}");
        }
    }
}

/// A group of keys in one insertion order.
#[derive(Clone, Debug)]
enum KeyRun {
    Up(u32, u16),
    Down(u32, u16),
    Scattered(u32, u16),
    /// Many entries of one key.
    Versions(u32, u16),
}

impl KeyRun {
    fn keys(&self) -> Vec<u32> {
        match *self {
            KeyRun::Up(from, n) => (0..u32::from(n)).map(|i| from + i).collect(),
            KeyRun::Down(from, n) => (0..u32::from(n)).rev().map(|i| from + i).collect(),
            KeyRun::Scattered(from, n) => {
                (0..u32::from(n)).map(|i| from.wrapping_add(i.wrapping_mul(0x9e37_79b9))).collect()
            }
            KeyRun::Versions(key, n) => vec![key; n.into()],
        }
    }
}

fn stretch() -> impl Strategy<Value = KeyRun> {
    // The key ranges overlap, so that leaves split at many different positions.
    let from = prop_oneof![0u32..3000, any::<u32>().prop_map(|n| n / 2)];
    let many = if cfg!(miri) { 90 } else { 1500 };
    let n = prop_oneof![1u16..60, 1u16..many];
    (from, n, 0..4).prop_map(|(from, n, how)| match how {
        0 => KeyRun::Up(from, n),
        1 => KeyRun::Down(from, n),
        2 => KeyRun::Scattered(from, n),
        _ => KeyRun::Versions(from, n / 8 + 1),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

    /// Estimates are exact up to ten, and at least 40 if there are 40 entries. They are 0 for an inverted
    /// range, and never above the total number of entries. The order of insertion does not matter.
    #[test]
    fn an_estimate_keeps_its_promises(
        stretches in prop::collection::vec(stretch(), 1..if cfg!(miri) { 3 } else { 8 }),
        ends in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..4000), if cfg!(miri) { 5 } else { 60 }),
        rep in prop::sample::select(vec![RepKind::SkipList, RepKind::Vector]),
    ) {
        let table = table(rep);
        let mut keys: Vec<u32> = stretches.iter().flat_map(KeyRun::keys).collect();
        let mut writer = table.writer();
        for (seq, key) in (1..).zip(&keys) {
            writer.add(SequenceNumber::new(seq), ValueType::Value, &key.to_be_bytes(), b"v").unwrap();
        }
        drop(writer);
        keys.sort_unstable();
        for (i, (from, to, near)) in ends.iter().enumerate() {
            let from = from.index(keys.len());
            // Two ends of three are at most `near` keys apart; the others are arbitrary.
            let to = if i % 3 == 0 { to.index(keys.len()) } else { (from + near).min(keys.len() - 1) };
            let (start, end) = (keys[from], keys[to]);
            let (told, bytes) = table.approximate_stats(&start.to_be_bytes(), &end.to_be_bytes());
            let at = |key: u32| keys.partition_point(|&k| k < key);
            let truth = at(end).saturating_sub(at(start)) as u64;
            prop_assert!(told <= keys.len() as u64);
            prop_assert_eq!(bytes == 0, told == 0);
            if truth <= 10 {
                prop_assert_eq!(told, truth);
            } else if truth >= 40 {
                prop_assert!(told >= 40, "{} told of {}", told, truth);
            } else {
                prop_assert!((10..=60).contains(&told), "{} told of {}", told, truth);
            }
        }
    }
}
