use std::sync::Arc;

use base::error::Result;
use base::ids::FileNumber;
use base::key::{InternalOrder, ValueType};
use base::order::Order;
use base::{Level, SequenceNumber};
use mem::range_del::{FragmentedTombstones, Tombstone};

use super::*;
use crate::draw;
use crate::file_meta::FileMetaData;
use crate::stripes::Stripes;
use crate::table_file::TableFile;
use crate::version::{Edit, Version};

fn order() -> InternalOrder {
    InternalOrder::new(Order::Bytewise)
}

fn at(text: &str) -> Vec<u8> {
    draw::parse_key(text).unwrap()
}

fn shown(out: &OutputTombstones) -> Vec<String> {
    out.tombstones
        .iter()
        .map(|t| {
            let (start, seq, _) = key::split(&t.key);
            format!(
                "[{}-{})#{seq} in {} .. {}",
                start.escape_ascii(),
                t.end.escape_ascii(),
                draw::key(&t.smallest),
                draw::key(&t.largest)
            )
        })
        .collect()
}

#[test]
fn a_tombstone_counts_only_inside_its_table() {
    let mut t = CompactionTombstones::new(order(), Stripes::default());
    t.add(b"a", b"z", SequenceNumber::new(10), &[], Some((&at("c#5,SET"), &at("k#5,SET"))));
    for (key, covered) in [
        ("b#1,SET", false),
        ("c#6,SET", false),
        ("c#5,SET", true),
        ("k#7,SET", true),
        ("k#5,SET", true),
        ("k#4,SET", false),
        ("l#1,SET", false),
    ] {
        assert_eq!(t.should_delete(&at(key)), covered, "{key}");
    }
    // The exclusive end of a file covers no entry of its key.
    let mut t = CompactionTombstones::new(order(), Stripes::default());
    t.add(b"a", b"z", SequenceNumber::new(10), &[], Some((&at("c#5,SET"), &at("k#inf,RANGEDEL"))));
    assert!(t.should_delete(&at("j#1,SET")));
    assert!(!t.should_delete(&at("k#9,SET")));
}

#[test]
fn stripes_part_tombstone_and_key() {
    let mut t = CompactionTombstones::new(
        order(),
        Stripes::new(vec![SequenceNumber::new(5), SequenceNumber::new(8)]),
    );
    t.add(b"a", b"z", SequenceNumber::new(7), &[], None);
    t.add(b"a", b"z", SequenceNumber::new(20), &[], None);
    for (key, covered) in
        [("b#19,SET", true), ("b#8,SET", false), ("b#6,SET", true), ("b#5,SET", false), ("b#20,SET", false)]
    {
        assert_eq!(t.should_delete(&at(key)), covered, "{key}");
    }
}

#[test]
fn outputs_get_tombstones_whole_and_boundaries_clipped() {
    let mut t = CompactionTombstones::new(order(), Stripes::new(vec![SequenceNumber::new(1)]));
    t.add(b"c", b"p", SequenceNumber::new(10), &[], None);
    let all = t.for_output(None, None, &mut |_, _| false);
    assert_eq!(shown(&all), ["[c-p)#10 in c#10,RANGEDEL .. p#inf,RANGEDEL"]);
    let left = t.for_output(None, Some(&at("k#inf,RANGEDEL")), &mut |_, _| false);
    assert_eq!(shown(&left), ["[c-p)#10 in c#10,RANGEDEL .. k#inf,RANGEDEL"]);
    let right = t.for_output(Some(&at("k#inf,RANGEDEL")), None, &mut |_, _| false);
    assert_eq!(shown(&right), ["[c-p)#10 in k#10,RANGEDEL .. p#inf,RANGEDEL"]);
    // The next file continues with older entries of the same key.
    let right = t.for_output(Some(&at("k#42,SET")), None, &mut |_, _| false);
    assert_eq!(shown(&right), ["[c-p)#10 in k#10,RANGEDEL .. p#inf,RANGEDEL"]);
    let outside = t.for_output(Some(&at("p#inf,RANGEDEL")), None, &mut |_, _| false);
    assert!(outside.tombstones.is_empty());
}

#[test]
fn obsolete_tombstones_are_dropped_only_when_every_snapshot_sees_them() {
    let mut t = CompactionTombstones::new(order(), Stripes::new(vec![SequenceNumber::new(5)]));
    t.add(b"a", b"c", SequenceNumber::new(5), &[], None);
    t.add(b"m", b"n", SequenceNumber::new(6), &[], None);
    let out = t.for_output(None, None, &mut |_, _| true);
    assert_eq!(shown(&out), ["[m-n)#6 in m#6,RANGEDEL .. n#inf,RANGEDEL"]);
    assert_eq!(out.dropped_obsolete, 1);
}

fn fragments(list: &[(&str, &str, u64)]) -> Arc<FragmentedTombstones> {
    let list = list
        .iter()
        .map(|(a, b, seq)| Tombstone {
            start: a.as_bytes().to_vec(),
            end: b.as_bytes().to_vec(),
            seq: SequenceNumber::new(*seq),
            timestamp: Vec::new(),
        })
        .collect();
    Arc::new(FragmentedTombstones::new(list, order()))
}

fn stretch(cover: &Cover) -> String {
    let bound = |b: &Option<Vec<u8>>| b.as_ref().map_or("-".to_string(), |k| draw::key(k));
    format!("{} from {} to {}", cover.seq, bound(&cover.start), bound(&cover.end))
}

#[test]
fn a_level_opens_only_the_table_that_a_position_lies_in() -> Result<()> {
    let mut edit = Edit::default();
    for (n, a, b) in [(1, "b#9,SET", "f#inf,RANGEDEL"), (2, "f#9,SET", "j#9,SET"), (3, "m#9,SET", "p#9,SET")]
    {
        edit.added.push((
            Level::new(1),
            Arc::new(TableFile::new(FileMetaData::new(FileNumber::new(n), 10, &at(a), &at(b)))),
        ));
    }
    let version = Version::empty(order(), 3).apply(&[edit])?;
    let mut opened = Vec::new();
    let mut level = LevelCover::new(
        order(),
        version.level_shared(Level::new(1)),
        SequenceNumber::new(15),
        |file: &TableFile| {
            opened.push(file.number.get());
            Ok(match file.number.get() {
                1 => Some(fragments(&[("a", "z", 10), ("c", "d", 20)])),
                2 => Some(fragments(&[("g", "h", 12)])),
                _ => None,
            })
        },
    );
    let mut ask = |key: &str| level.cover(&at(key)).map(|c| stretch(&c));
    assert_eq!(ask("a#1,SET")?, "0 from - to b#9,0x1a");
    assert_eq!(ask("b#1,SET")?, "10 from b#9,0x1a to c#inf,RANGEDEL");
    // The newer tombstone is not visible at 15.
    assert_eq!(ask("c#1,SET")?, "10 from c#inf,RANGEDEL to d#inf,RANGEDEL");
    assert_eq!(ask("e#1,SET")?, "10 from d#inf,RANGEDEL to f#inf,RANGEDEL");
    // After the exclusive end, the tombstone of the first file is not valid.
    assert_eq!(ask("f#1,SET")?, "0 from f#9,0x1a to g#inf,RANGEDEL");
    assert_eq!(ask("g#1,SET")?, "12 from g#inf,RANGEDEL to h#inf,RANGEDEL");
    assert_eq!(ask("k#1,SET")?, "0 from j#8,0x1a to m#9,0x1a");
    assert_eq!(ask("n#1,SET")?, "0 from m#9,0x1a to p#8,0x1a");
    assert_eq!(ask("q#1,SET")?, "0 from p#8,0x1a to -");
    assert_eq!(opened, [1, 2, 3]);
    Ok(())
}

#[test]
fn a_level_knows_the_next_table_at_a_last_entry_of_sequence_number_zero() -> Result<()> {
    let mut edit = Edit::default();
    for (number, smallest, largest) in [(1, "b#9,SET", "f#0,SET"), (2, "k#9,SET", "p#9,SET")] {
        edit.added.push((
            Level::new(1),
            Arc::new(TableFile::new(FileMetaData::new(
                FileNumber::new(number),
                100,
                &at(smallest),
                &at(largest),
            ))),
        ));
    }
    let version = Version::empty(order(), 3).apply(&[edit])?;
    for own in [vec![], vec![("b", "c", 7)]] {
        let mut level = LevelCover::new(
            order(),
            version.level_shared(Level::new(1)),
            SequenceNumber::new(15),
            |file: &TableFile| {
                Ok(Some(if file.number.get() == 1 { fragments(&own) } else { fragments(&[("l", "m", 12)]) }))
            },
        );
        let mut ask = |key: &str| level.cover(&at(key)).map(|c| stretch(&c));
        assert!(ask("f#0,SET")?.ends_with("to k#9,0x1a"), "{}", ask("f#0,SET")?);
        assert_eq!(ask("l#1,SET")?, "12 from l#inf,RANGEDEL to m#inf,RANGEDEL");
    }
    Ok(())
}

#[test]
fn positions_around_a_boundary() {
    assert_eq!(draw::key(&lower_position(&at("c#5,SET"))), "c#5,0x1a");
    assert_eq!(draw::key(&upper_position(&at("c#5,SET"))), "c#4,0x1a");
    assert_eq!(draw::key(&upper_position(&at("c#0,SET"))), "c#0,SET");
    assert_eq!(draw::key(&upper_position(&at("c#inf,RANGEDEL"))), "c#inf,RANGEDEL");
    assert_eq!(ValueType::from_u8(BEFORE_ALL_KINDS), None);
}

/// The bytewise order with a count of the comparisons.
struct Counting(Arc<std::sync::atomic::AtomicUsize>);

impl base::order::Comparator for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        a.cmp(b)
    }
}

#[test]
fn an_output_reads_only_the_fragments_within_its_bounds() {
    let compared = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let order = InternalOrder::new(Order::custom(Counting(compared.clone())));
    let mut t = CompactionTombstones::new(order, Stripes::new(vec![SequenceNumber::new(1)]));
    let key = |i: usize| format!("key{i:05}");
    (0..2000).for_each(|i| {
        t.add(key(2 * i).as_bytes(), key(2 * i + 1).as_bytes(), SequenceNumber::new(10), &[], None)
    });
    let whole = t.for_output(None, None, &mut |_, _| false);
    assert_eq!(whole.tombstones.len(), 2000);
    compared.store(0, std::sync::atomic::Ordering::Relaxed);
    let bound = |i: usize| at(&format!("{}#9,SET", key(i)));
    let mut parts = Vec::new();
    for output in 0..200 {
        let (lower, upper) = (bound(20 * output), bound(20 * (output + 1)));
        let lower = (output > 0).then_some(&lower[..]);
        let upper = (output < 199).then_some(&upper[..]);
        parts.extend(t.for_output(lower, upper, &mut |_, _| false).tombstones);
    }
    assert!(compared.load(std::sync::atomic::Ordering::Relaxed) < 100_000, "400,000 without bounds");
    // The parts of all outputs together are the tombstones. A tombstone at a bound is in both outputs.
    parts.dedup_by(|a, b| a.key == b.key);
    assert_eq!(parts.len(), 2000);
}

#[test]
fn a_level_of_keys_with_a_common_prefix_is_searched_right() {
    let order = order();
    let key = |i: u64| format!("prefix::key{i:06}");
    let file = |i: u64| {
        let bound = |i: u64| at(&format!("{}#5,SET", key(i)));
        Arc::new(TableFile::new(FileMetaData::new(
            FileNumber::new(i + 1),
            1,
            &bound(10 * i),
            &bound(10 * i + 5),
        )))
    };
    let level = crate::version::LevelFiles::new((0..300).map(file).collect());
    for i in 0..3010 {
        let found = level.find(&order, key(i).as_bytes(), u64::MAX);
        let expected = level.iter().position(|f| f.largest_user_key() >= key(i).as_bytes());
        assert_eq!(found, expected.unwrap_or(level.len()), "{i}");
    }
}
