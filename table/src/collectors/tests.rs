use base::SequenceNumber;
use base::key::append_internal;

use super::*;

fn needs_compaction(
    settings: CompactOnDeletion,
    entries: usize,
    is_deletion: impl Fn(usize) -> bool,
) -> bool {
    let context = CollectorContext { family: base::FamilyId::DEFAULT, level: None };
    let mut collector = settings.create(context).unwrap();
    for i in 0..entries {
        let value_type = if is_deletion(i) { ValueType::Deletion } else { ValueType::Value };
        let mut key = Vec::new();
        append_internal(&mut key, &i.to_be_bytes(), SequenceNumber::new(1), value_type);
        collector.add(&key, b"", i as u64).unwrap();
    }
    collector.finish().unwrap();
    collector.need_compact()
}

const WINDOW: CompactOnDeletion = CompactOnDeletion {
    sliding_window_size: 256,
    deletion_trigger: 100,
    deletion_ratio: 0.0,
    min_file_size: 0,
};

#[test]
fn deletions_count_within_the_window_alone() {
    assert!(needs_compaction(WINDOW, 10_000, |i| (5000..5100).contains(&i)));
    assert!(!needs_compaction(WINDOW, 10_000, |i| (5000..5099).contains(&i)));
    // The same number of tombstones, but too far apart.
    assert!(!needs_compaction(WINDOW, 10_000, |i| i % 10 == 0));
}

#[test]
fn deletions_count_by_ratio_and_size() {
    let ratio = CompactOnDeletion { sliding_window_size: 0, deletion_ratio: 0.1, ..WINDOW };
    assert!(needs_compaction(ratio, 1000, |i| i % 10 == 0));
    assert!(!needs_compaction(ratio, 1000, |i| i % 11 == 0));
    assert!(!needs_compaction(CompactOnDeletion { min_file_size: 1000, ..ratio }, 1000, |_| true));
}
