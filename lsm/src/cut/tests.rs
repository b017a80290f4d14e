use base::order::Order;
use base::{Level, SequenceNumber};

use super::*;
use crate::file_meta::FileMetaData;

fn anchors(bytes: &[(u8, u64)]) -> Vec<Anchor> {
    bytes.iter().map(|&(k, bytes)| Anchor { user_key: vec![k], bytes }).collect()
}

#[test]
fn pieces_are_about_equal() {
    let order = InternalOrder::new(Order::Bytewise);
    let even = anchors(&[(b'a', 10), (b'b', 10), (b'c', 10), (b'd', 10)]);
    assert_eq!(split(&order, even.clone(), 2, 0), [b"c"]);
    assert_eq!(split(&order, even.clone(), 4, 0), [b"b", b"c", b"d"]);
    assert_eq!(split(&order, even.clone(), 1, 0).len(), 0);
    assert_eq!(split(&order, even, 4, 40).len(), 0);
    assert_eq!(split(&order, Vec::new(), 4, 0).len(), 0);
}

#[test]
fn anchors_of_one_key_count_together() {
    let order = InternalOrder::new(Order::Bytewise);
    let doubled = anchors(&[(b'b', 10), (b'a', 10), (b'b', 10), (b'a', 10)]);
    assert_eq!(split(&order, doubled, 2, 0), [b"b"]);
}

mod files {
    use base::ids::FileNumber;

    use super::*;
    use crate::draw;
    use crate::pick::{Inputs, Reason};
    use crate::version::Version;

    fn order() -> InternalOrder {
        InternalOrder::new(Order::Bytewise)
    }

    /// Returns a compaction into level 1 with these grandparents. Files have 100 bytes, and the limit of
    /// overlap is 1000 bytes.
    fn task(grandparents: &[(&str, &str, u64)]) -> Task {
        let file = |(i, (a, b, size)): (usize, &(&str, &str, u64))| {
            let key = |k: &str| draw::parse_key(&format!("{k}#1,SET")).unwrap();
            Arc::new(TableFile::new(FileMetaData::new(FileNumber::new(i as u64), *size, &key(a), &key(b))))
        };
        let version = Version::empty(order(), 3);
        let options = Options::default();
        let view = crate::pick::View {
            version: &version,
            running: &[],
            oldest_snapshot: SequenceNumber::ZERO,
            full_history_ts_low: None,
            young_after: None,
        };
        let mut task = crate::pick::manual::blank_task(&view, &options);
        task.reason = Reason::LevelMaxLevelSize;
        task.inputs = vec![Inputs { level: Level::ZERO, files: Vec::new() }];
        task.output.level = Level::new(1);
        task.grandparents = grandparents.iter().enumerate().map(file).collect();
        task.output.max_file_size = 100;
        task.output.target_file_size = 100;
        task.max_compaction_bytes = 1000;
        task
    }

    /// Adds keys of `row` bytes. Returns the files in which they end up.
    fn files(task: &Task, row: u64, keys: &str) -> String {
        let mut cutter = Cutter::new(order(), task, &Options::default(), 0);
        let (mut out, mut size) = (String::new(), 0);
        for k in keys.split_whitespace() {
            if cutter.should_end_before(&draw::parse_key(&format!("{k}#9,SET")).unwrap(), size) {
                out.push_str("| ");
                size = 0;
            }
            out.push_str(k);
            out.push(' ');
            size += row;
        }
        out
    }

    #[test]
    fn a_file_ends_when_it_is_full() {
        assert_eq!(files(&task(&[]), 40, "a b c d e f"), "a b c | d e f ");
    }

    #[test]
    fn level_0_is_not_cut() {
        let mut task = task(&[]);
        task.output.level = Level::ZERO;
        assert_eq!(files(&task, 40, "a b c d e f"), "a b c d e f ");
    }

    #[test]
    fn a_file_ends_before_it_overlaps_too_much() {
        let t = task(&[("b", "c", 600), ("e", "f", 600), ("h", "i", 600)]);
        assert_eq!(files(&t, 1, "a b c d e f g h i"), "a b c d | e f g | h i ");
    }

    #[test]
    fn a_grandparent_that_lies_between_two_keys_is_left_out() {
        let t = task(&[("d", "k", 50)]);
        assert_eq!(files(&t, 1, "a c m n"), "a c | m n ");
        // A small grandparent does not justify a file of its own.
        let t = task(&[("d", "k", 5)]);
        assert_eq!(files(&t, 1, "a c m n"), "a c m n ");
    }

    #[test]
    fn a_half_full_file_ends_at_an_edge() {
        let t = task(&[("d", "k", 5)]);
        assert_eq!(files(&t, 20, "a b c d e f"), "a b c | d e f ");
    }

    #[test]
    fn fixed_prefix_partitioner_ends_files_between_prefixes() {
        let mut cutter = Cutter::new(order(), &task(&[]), &Options::default(), 0)
            .with_partitioner(Box::new(FixedPrefixPartitioner { length: 1 }));
        let ends: Vec<bool> = ["aa", "ab", "ba", "bb", "ca"]
            .iter()
            .enumerate()
            .map(|(i, k)| {
                cutter.should_end_before(&draw::parse_key(&format!("{k}#9,SET")).unwrap(), i as u64)
            })
            .collect();
        assert_eq!(ends, [false, false, true, false, true]);
        let mut partitioner = FixedPrefixPartitioner { length: 1 };
        assert!(
            partitioner.can_do_trivial_move(b"aa", b"ab") && !partitioner.can_do_trivial_move(b"aa", b"b")
        );
    }
}
