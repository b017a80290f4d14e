use base::SequenceNumber;
use base::key::append_internal;

use super::*;

fn needs_compaction(
    settings: CompactOnDeletion,
    entries: usize,
    is_deletion: impl Fn(usize) -> bool,
) -> bool {
    let context = CollectorContext { family: base::FamilyId::DEFAULT, level: None, old_before: None };
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

#[test]
fn the_write_time_of_a_timed_put_is_behind_its_value() {
    let old_before = Some(SequenceNumber::new(50));
    let context = CollectorContext { family: base::FamilyId::DEFAULT, level: None, old_before };
    let needs_compaction = |seq: u64, value_type: ValueType, value: &[u8]| {
        let mut collector = CompactForTiering { compaction_trigger_ratio: 1.0 }.create(context).unwrap();
        let mut key = Vec::new();
        append_internal(&mut key, b"key", SequenceNumber::new(seq), value_type);
        collector.add(&key, value, 0).unwrap();
        collector.finish().unwrap();
        collector.need_compact()
    };
    let written_at = |seq: u64| [b"value".as_slice(), &seq.to_le_bytes()].concat();
    assert!(needs_compaction(49, ValueType::Value, b"value"));
    assert!(!needs_compaction(50, ValueType::Value, &written_at(49)));
    assert!(needs_compaction(50, ValueType::ValuePreferredSeqno, &written_at(49)));
    assert!(!needs_compaction(50, ValueType::ValuePreferredSeqno, b"short"));
}

#[test]
fn the_text_of_the_tiering_collector_is_that_of_rocksdb() {
    let text = "{id=CompactForTieringCollector;compaction_trigger_ratio=0.250000;}";
    let made = <dyn CollectorFactory>::make(text).unwrap();
    assert_eq!(CollectorFactory::option_text(&*made, Release::NEWEST), text);
    assert_eq!(
        CollectorFactory::option_text(&*made, Release(9, 3)),
        "",
        "release 9.3 does not know the collector"
    );
    assert!(<dyn CollectorFactory>::make("{id=CompactForTieringCollector;window_size=1}").is_err());
}
