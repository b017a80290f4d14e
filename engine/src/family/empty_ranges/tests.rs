use base::Order;
use base::SequenceNumber;
use base::iter::Direction;

use super::{EmptyRanges, Jump, Reader};

const ORDER: Order = Order::Bytewise;
const ENOUGH: u64 = 5_000;

fn reader(seq: u64) -> Reader {
    Reader { seq: SequenceNumber::new(seq), super_version: 3 }
}

/// Ranges of a column family whose newest super version is 3.
fn ranges() -> EmptyRanges {
    let ranges = EmptyRanges::default();
    ranges.installed(3);
    ranges
}

fn scan(ranges: &EmptyRanges, from: &str, to: Option<&str>, direction: Direction) {
    let watch = ranges.watch(from.as_bytes(), direction, reader(10)).expect("a watch");
    ranges.finish(&ORDER, watch, to.map(str::as_bytes), ENOUGH, reader(10));
}

fn write(ranges: &EmptyRanges, key: &str) {
    assert!(ranges.concern_writers());
    ranges.add_live(&ORDER, std::iter::once(key.as_bytes()));
}

/// Where a reader at 10 goes from `key`: "-" if it stays, "end" if no key follows.
fn to(ranges: &EmptyRanges, key: &str, direction: Direction) -> String {
    match ranges.jump(&ORDER, key.as_bytes(), direction, reader(10), false) {
        None => "-".to_owned(),
        Some(Jump { to: None, .. }) => "end".to_owned(),
        Some(Jump { to: Some(to), .. }) => String::from_utf8(to.into()).unwrap(),
    }
}

#[test]
fn a_range_is_open_at_both_ends_and_serves_both_directions() {
    let ranges = ranges();
    scan(&ranges, "b", Some("m"), Direction::Forward);
    let answers: Vec<_> = ["a", "b", "c", "l", "m", "z"]
        .into_iter()
        .flat_map(|key| [to(&ranges, key, Direction::Forward), to(&ranges, key, Direction::Backward)])
        .collect();
    assert_eq!(answers, ["-", "-", "-", "-", "m", "b", "m", "b", "-", "-", "-", "-"]);
    scan(&ranges, "t", None, Direction::Forward);
    assert_eq!(
        (to(&ranges, "z", Direction::Forward), to(&ranges, "z", Direction::Backward)),
        ("end".into(), "t".into())
    );
}

#[test]
fn readers_of_older_super_versions_do_not_skip() {
    let ranges = ranges();
    scan(&ranges, "b", Some("m"), Direction::Forward);
    for (seq, super_version, skips) in [(10, 3, true), (11, 4, true), (9, 3, false), (10, 2, false)] {
        let reader = Reader { seq: SequenceNumber::new(seq), super_version };
        let jump = ranges.jump(&ORDER, b"c", Direction::Forward, reader, false);
        assert_eq!(jump.is_some(), skips, "{reader:?}");
    }
}

#[test]
fn a_live_entry_splits_a_range() {
    let ranges = ranges();
    scan(&ranges, "b", Some("m"), Direction::Forward);
    write(&ranges, "f");
    write(&ranges, "m");
    assert_eq!(
        (to(&ranges, "c", Direction::Forward), to(&ranges, "g", Direction::Forward)),
        ("f".into(), "m".into())
    );
    assert_eq!(
        (to(&ranges, "f", Direction::Forward), to(&ranges, "g", Direction::Backward)),
        ("-".into(), "f".into())
    );
}

#[test]
fn a_live_entry_that_a_scan_has_passed_ends_its_range() {
    for (direction, from, reached, range) in
        [(Direction::Forward, "b", "t", ("-", "h")), (Direction::Backward, "t", "b", ("p", "-"))]
    {
        let ranges = ranges();
        let watch = ranges.watch(from.as_bytes(), direction, reader(10)).unwrap();
        write(&ranges, "h");
        write(&ranges, "p");
        write(&ranges, "z");
        write(&ranges, "a");
        ranges.finish(&ORDER, watch, Some(reached.as_bytes()), ENOUGH, reader(10));
        let found = (to(&ranges, "r", direction), to(&ranges, "c", direction));
        assert_eq!((found.0.as_str(), found.1.as_str()), range, "{direction:?}");
        assert_eq!(to(&ranges, "k", direction), "-", "between the two writes");
    }
}

#[test]
fn a_scan_that_jumps_extends_the_range() {
    let ranges = ranges();
    scan(&ranges, "b", Some("m"), Direction::Forward);
    let jump = ranges.jump(&ORDER, b"c", Direction::Forward, reader(12), true).unwrap();
    assert_eq!(jump.to.as_deref(), Some(&b"m"[..]));
    ranges.finish(&ORDER, jump.watch.unwrap(), Some(b"p"), 1, reader(12));
    let jump = ranges.jump(&ORDER, b"m", Direction::Forward, reader(12), false).unwrap();
    assert_eq!(jump.to.as_deref(), Some(&b"p"[..]), "the old end is in the range");
    assert!(
        ranges.jump(&ORDER, b"c", Direction::Forward, reader(10), false).is_none(),
        "it belongs to a newer super version now"
    );
}

#[test]
fn only_a_scan_of_the_newest_super_version_finds_ranges() {
    let ranges = ranges();
    ranges.installed(4);
    assert!(ranges.watch(b"b", Direction::Forward, reader(10)).is_none());
    assert!(!ranges.concern_writers(), "nothing is left of the watch");
}

#[test]
fn other_changes_of_the_files_forget_ranges_and_watches() {
    let ranges = ranges();
    scan(&ranges, "b", Some("m"), Direction::Forward);
    let watch = ranges.watch(b"n", Direction::Forward, reader(10)).unwrap();
    ranges.clear();
    assert!(
        ranges.watch(b"n", Direction::Forward, reader(10)).is_none(),
        "not before the next super version"
    );
    ranges.finish(&ORDER, watch, Some(b"z"), ENOUGH, reader(10));
    assert_eq!(
        (to(&ranges, "c", Direction::Forward), to(&ranges, "o", Direction::Forward)),
        ("-".into(), "-".into())
    );
    assert!(!ranges.concern_writers());
}

#[test]
fn short_scans_and_long_keys_are_not_kept_and_ranges_are_bounded() {
    let ranges = ranges();
    let watch = ranges.watch(b"b", Direction::Forward, reader(10)).unwrap();
    ranges.finish(&ORDER, watch, Some(b"c"), 3, reader(10));
    assert!(ranges.watch(&[7; 5000], Direction::Forward, reader(10)).is_none());
    assert!(!ranges.concern_writers());
    for i in 0..1_000 {
        scan(&ranges, &format!("{i:04}a"), Some(&format!("{i:04}z")), Direction::Forward);
    }
    let kept = (0..1_000).filter(|i| to(&ranges, &format!("{i:04}k"), Direction::Forward) != "-").count();
    assert_eq!(kept, super::RANGES_MAX);
}

#[test]
fn a_range_and_one_that_overlaps_it_become_one() {
    let ranges = ranges();
    scan(&ranges, "b", Some("f"), Direction::Forward);
    scan(&ranges, "k", Some("p"), Direction::Forward);
    scan(&ranges, "m", Some("c"), Direction::Backward);
    assert_eq!(
        (to(&ranges, "c", Direction::Forward), to(&ranges, "o", Direction::Backward)),
        ("p".into(), "b".into())
    );
}
