//! Unit tests of property names and of number formats.

use super::{human, split};

#[test]
fn a_number_at_the_end_is_the_argument() {
    assert_eq!(split("rocksdb.num-files-at-level12"), Some(("num-files-at-level", Some(12))));
    assert_eq!(split("rocksdb.stats"), Some(("stats", None)));
    assert_eq!(split("stats"), None);
    assert_eq!(split("rocksdb.num-files-at-level99999999999999999999999"), None);
}

#[test]
fn sizes_counts_and_times_read_as_rocksdbs() {
    assert_eq!(human::bytes(0), "0.00 KB");
    assert_eq!(human::bytes(3 << 19), "1.50 MB");
    assert_eq!(
        (human::number(9999), human::number(10_000), human::number(12_345_678)),
        ("9999".into(), "10K".into(), "12M".into())
    );
    assert_eq!(human::micros(62_500_000), "00:01:2.500 H:M:S");
}
