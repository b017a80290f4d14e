//! Unit tests of property names and of number formats.

use lsm::file_meta::{EntryCount, FileStats};

use super::numbers::keys_in_files;
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

#[test]
fn files_without_counts_are_estimated_from_files_with_counts() {
    let file = |num_entries, num_deletions| {
        Some(FileStats {
            num_entries,
            num_deletions,
            num_range_deletions: 0,
            entry_count: EntryCount::WithTombstones,
            raw_key_size: 0,
            raw_value_size: 0,
            data_size: 0,
            creation_time: None,
            newest_key_time: None,
            oldest_write_time: None,
        })
    };
    let keys = |files: &[Option<FileStats>]| keys_in_files(files.iter().copied());
    assert_eq!(keys(&[]), 0);
    assert_eq!(keys(&[None, None]), 0);
    assert_eq!(keys(&[file(100, 10), file(50, 0)]), 130);
    assert_eq!(keys(&[file(100, 10), None, None]), 240);
    assert_eq!(keys(&[file(10, 9), file(3, 0)]), 0);
}
