//! Tests the compaction iterator by scripts of entries, and against a model: no reader at any snapshot sees a
//! difference.

use std::sync::Arc;

use base::iter::{InternalIterator, VecIterator};
use base::key::{self, InternalOrder, MAX_SEQUENCE, ValueType};
use base::order::Order;
use base::{Level, SequenceNumber};
use ironstone_lsm::compaction_iter::{Below, Compaction, CompactionIter, Config};
use ironstone_lsm::draw;
use ironstone_lsm::filter::{CompactionFilter, Decision, FilterInput};
use ironstone_lsm::merge::{self, Existing, FullMerge, MergeOperator, Merged};
use ironstone_lsm::range_del::CompactionTombstones;
use ironstone_lsm::stripes::Stripes;
use proptest::prelude::*;

use testkit::script;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn order() -> InternalOrder {
    InternalOrder::new(Order::Bytewise)
}

struct Answer(bool);

impl Below for Answer {
    fn key_not_exists_beyond_output(&mut self, _user_key: &[u8]) -> bool {
        self.0
    }
}

/// A filter whose decision is the first letters of the value.
struct Obedient;

impl CompactionFilter for Obedient {
    fn name(&self) -> &str {
        "obedient"
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        let text = String::from_utf8_lossy(input.value).into_owned();
        match text.split_once('=').unwrap_or((&text, "")) {
            ("remove", _) => Decision::Remove,
            ("purge", _) => Decision::Purge,
            ("change", to) => Decision::ChangeValue(to.into()),
            ("skip", to) => Decision::RemoveAndSkipUntil(to.into()),
            _ => Decision::Keep,
        }
    }
}

/// An operator that fails, or fails only for operations that must merge, or panics.
struct Failing(&'static str);

impl MergeOperator for Failing {
    fn name(&self) -> &str {
        self.0
    }

    fn full(&self, _: &FullMerge<'_>, _: &mut Vec<u8>) -> Result<Merged, merge::Failure> {
        match self.0 {
            "must" => Err(merge::Failure::MustMerge),
            "panic" => panic!("in an operator"),
            _ => Err(merge::Failure::Merge),
        }
    }
}

/// Parses lines such as `[b-e)#10` as range tombstones, and lines such as `a#7,SET:value` as entries.
fn parse(input: &str) -> (Rows, Vec<(Vec<u8>, Vec<u8>, u64)>) {
    let (mut rows, mut tombstones) = (Vec::new(), Vec::new());
    for line in input.lines() {
        if let Some(rest) = line.strip_prefix('[') {
            let (range, seq) = rest.split_once(")#").unwrap();
            let (start, end) = range.split_once('-').unwrap();
            tombstones.push((start.into(), end.into(), seq.parse().unwrap()));
        } else {
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            let mut value = value.as_bytes().to_vec();
            let key = draw::parse_key(key).unwrap();
            if key::split(&key).2 == ValueType::ValuePreferredSeqno as u8 {
                let text = String::from_utf8(value).unwrap();
                let (v, preferred) = text.split_once('@').unwrap();
                value = v.as_bytes().to_vec();
                value.extend_from_slice(&preferred.parse::<u64>().unwrap().to_le_bytes());
            }
            rows.push((key, value));
        }
    }
    (rows, tombstones)
}

/// Parses `a@5#7,SET`. The timestamp becomes eight bytes after the user key.
fn parse_timestamped(text: &str) -> Vec<u8> {
    let (user, rest) = text.split_once('@').unwrap();
    let (timestamp, rest) = rest.split_once('#').unwrap();
    let without_timestamp = draw::parse_key(&format!("{user}#{rest}")).unwrap();
    let (_, seq, value_type) = key::split(&without_timestamp);
    let mut user = user.as_bytes().to_vec();
    user.extend_from_slice(&timestamp.parse::<u64>().unwrap().to_le_bytes());
    let mut out = Vec::new();
    key::append_with_trailer(&mut out, &user, key::pack(seq, value_type));
    out
}

fn show_timestamped(internal: &[u8]) -> String {
    let (user, seq, value_type) = key::split(internal);
    let (user, timestamp) = user.split_last_chunk::<8>().unwrap();
    let word = ValueType::from_u8(value_type).unwrap().word();
    format!("{}@{}#{seq},{word}", user.escape_ascii(), u64::from_le_bytes(*timestamp))
}

fn compaction_iter_rows(
    rows: Rows,
    tombstones: &[(Vec<u8>, Vec<u8>, u64)],
    nothing_below: bool,
    config: Config,
) -> (Rows, String, CompactionIter<VecIterator, Answer>) {
    let order = config.order.clone();
    let mut range = CompactionTombstones::new(order.clone(), config.snapshots.clone());
    for (start, end, seq) in tombstones {
        range.add(start, end, SequenceNumber::new(*seq), &[], None);
    }
    let mut compaction_iter =
        CompactionIter::new(VecIterator::new(rows, order), Answer(nothing_below), range, config);
    let mut out = Vec::new();
    compaction_iter.seek_to_first();
    while compaction_iter.valid() {
        let (_, seq, value_type) = key::split(compaction_iter.key());
        assert_eq!((seq, value_type), (compaction_iter.sequence(), compaction_iter.value_type() as u8));
        out.push((compaction_iter.key().to_vec(), compaction_iter.value().to_vec()));
        compaction_iter.next();
    }
    let status = compaction_iter.status().err().map(|e| e.to_string()).unwrap_or_default();
    (out, status, compaction_iter)
}

#[test]
fn rules() {
    script::blocks(&crate::page("compaction_iter"), |command| {
        let timestamped = command.has("ts");
        let (rows, tombstones) = if timestamped {
            let row = |line: &str| {
                let (key, value) = line.split_once(':').unwrap_or((line, ""));
                (parse_timestamped(key), value.as_bytes().to_vec())
            };
            (command.input.lines().map(row).collect(), Vec::new())
        } else {
            parse(command.input)
        };
        let mut config = Config::new(order());
        if timestamped {
            config.order = InternalOrder::new(Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap());
            config.full_history_ts_low =
                command.get("low").map(|low| low.parse::<u64>().unwrap().to_le_bytes().to_vec());
        }
        if let Some(list) = command.get("snapshots") {
            config.snapshots = Stripes::new(list.split(',').map(|s| s.parse().unwrap()).collect());
        }
        let bottommost = command.has("bottommost");
        if command.name == "compact" {
            config.compaction = Some(Compaction { bottommost, start_level: Level::new(1) });
        }
        if let Some(seq) = command.get("conflicts") {
            config.earliest_write_conflict_snapshot = seq.parse().unwrap();
        }
        if let Some(seq) = command.get("preserve") {
            config.preserve_seqno_after = Some(seq.parse().unwrap());
        }
        config.enforce_single_del_contracts = !command.has("lenient");
        config.merge_operator = command.get("merge").map(|name| match name {
            "fail" => Arc::new(Failing("fail")) as Arc<dyn MergeOperator>,
            "must" => Arc::new(Failing("must")),
            "panic" => Arc::new(Failing("panic")),
            name => merge::by_name(name).unwrap(),
        });
        if command.has("filter") {
            config.filter = Some(Arc::new(Obedient));
        }
        let nothing_below = bottommost || command.has("nothing-below");
        let (rows, status, mut compaction_iter) =
            compaction_iter_rows(rows, &tombstones, nothing_below, config);
        let mut out = String::new();
        for (key, value) in rows {
            let mut value = value;
            let mut tail = String::new();
            if key::split(&key).2 == ValueType::ValuePreferredSeqno as u8 {
                let at = value.len() - 8;
                tail = format!("@{}", u64::from_le_bytes(value[at..].try_into().unwrap()));
                value.truncate(at);
            }
            let value = value.escape_ascii();
            let key = if timestamped { show_timestamped(&key) } else { draw::key(&key) };
            out.push_str(&format!("{key}:{value}{tail}\n"));
        }
        let written = compaction_iter.tombstones_mut().for_output(None, None, &mut |_, _| nothing_below);
        for t in written.tombstones {
            let (start, seq, _) = key::split(&t.key);
            out.push_str(&format!("[{}-{})#{seq}\n", start.escape_ascii(), t.end.escape_ascii()));
        }
        if !status.is_empty() {
            out.push_str(&format!("{status}\n"));
        }
        let s = compaction_iter.stats;
        for (name, n) in [
            ("user", s.num_record_drop_user),
            ("hidden", s.num_record_drop_hidden),
            ("obsolete", s.num_record_drop_obsolete),
            ("range-del", s.num_record_drop_range_del),
            ("mismatch", s.num_single_del_mismatch),
        ] {
            if n > 0 && command.has("stats") {
                out.push_str(&format!("dropped {name} {n}\n"));
            }
        }
        out
    });
}

/// Returns the value that a reader at `snapshot` gets for `user_key`, by the plain definition of the rules.
fn read(
    rows: &Rows,
    tombstones: &[(Vec<u8>, Vec<u8>, u64)],
    user_key: &[u8],
    snapshot: u64,
) -> Option<Vec<u8>> {
    let covered = |seq: u64| {
        tombstones
            .iter()
            .any(|(a, b, s)| *s <= snapshot && seq < *s && &a[..] <= user_key && user_key < &b[..])
    };
    let operator = merge::StringAppend::default();
    let mut operands: Vec<&[u8]> = Vec::new();
    let mut base = None;
    for (k, value) in rows {
        let (user, seq, value_type) = key::split(k);
        if user != user_key || seq > SequenceNumber::new(snapshot) {
            continue;
        }
        if covered(seq.get()) {
            break;
        }
        match ValueType::from_u8(value_type).unwrap() {
            ValueType::Merge => operands.push(value),
            ValueType::Value => {
                base = Some(&value[..]);
                break;
            }
            _ => break,
        }
    }
    if operands.is_empty() {
        return base.map(<[u8]>::to_vec);
    }
    operands.reverse();
    let existing = base.map_or(Existing::None, Existing::Value);
    let mut out = Vec::new();
    match operator.full(&FullMerge { key: user_key, existing, operands: &operands }, &mut out).unwrap() {
        Merged::New => Some(out),
        Merged::Operand(i) => Some(operands[i].to_vec()),
        other => panic!("{other:?}"),
    }
}

#[derive(Clone, Debug)]
struct Case {
    rows: Rows,
    below: Rows,
    tombstones: Vec<(Vec<u8>, Vec<u8>, u64)>,
    snapshots: Vec<u64>,
    bottommost: bool,
    compaction: bool,
}

/// Makes a case with keys `a` to `d`. The older third of the history is below the output, unless the output
/// is on the bottommost level. The sequence numbers begin at 1, or at 0 as after an ingestion into an empty database.
fn case() -> impl Strategy<Value = Case> {
    let op = (0u8..4, 0u8..8);
    let ops = prop::collection::vec(op, 1..40);
    let tombstones = prop::collection::vec((0u8..5, 0u8..5, 1u64..45), 0..3);
    let snapshots = prop::collection::vec(prop_oneof![4 => 1u64..45, 1 => Just(0)], 0..4);
    (ops, tombstones, snapshots, any::<bool>(), any::<bool>(), 0u64..2).prop_map(
        |(ops, tombstones, snapshots, bottommost, compaction, first)| {
            let third = ops.len() as u64 / 3;
            let (mut rows, mut below) = (Vec::new(), Vec::new());
            for (i, (k, what)) in ops.into_iter().enumerate() {
                let seq = i as u64 + first;
                let value_type = match what {
                    0..3 => ValueType::Value,
                    3..6 => ValueType::Merge,
                    _ => ValueType::Deletion,
                };
                let mut key = Vec::new();
                key::append_internal(&mut key, &[b'a' + k], SequenceNumber::new(seq), value_type);
                let value = if value_type == ValueType::Deletion {
                    Vec::new()
                } else {
                    format!("v{seq}").into_bytes()
                };
                if seq < third + first && !bottommost { &mut below } else { &mut rows }.push((key, value));
            }
            for list in [&mut rows, &mut below] {
                list.sort_by(|a, b| order().compare(&a.0, &b.0));
            }
            let tombstones = tombstones
                .into_iter()
                .filter(|(a, b, s)| a < b && *s > third)
                .map(|(a, b, s)| (vec![b'a' + a], vec![b'a' + b], s))
                .collect();
            Case { rows, below, tombstones, snapshots, bottommost, compaction: compaction || bottommost }
        },
    )
}

fn merged(a: &Rows, b: &Rows) -> Rows {
    let mut all: Rows = a.iter().chain(b).cloned().collect();
    all.sort_by(|x, y| order().compare(&x.0, &y.0));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn readers_see_no_difference(case in case()) {
        let mut config = Config::new(order());
        config.snapshots = Stripes::new(case.snapshots.iter().copied().map(SequenceNumber::new).collect());
        config.merge_operator = merge::by_name("stringappend");
        if case.compaction {
            config.compaction = Some(Compaction { bottommost: case.bottommost, start_level: Level::ZERO });
        }
        let (out, status, mut compaction_iter) =
            compaction_iter_rows(case.rows.clone(), &case.tombstones, case.bottommost, config);
        prop_assert_eq!(status, "");
        prop_assert!(out.windows(2).all(|w| order().compare(&w[0].0, &w[1].0).is_lt()), "{:?}", out);
        let written = compaction_iter.tombstones_mut().for_output(None, None, &mut |_, _| case.bottommost);
        let kept: Vec<_> = written
            .tombstones
            .iter()
            .map(|t| (key::user_key(&t.key).to_vec(), t.end.clone(), t.seq.get()))
            .collect();
        let before = merged(&case.rows, &case.below);
        let after = merged(&out, &case.below);
        let readers = case.snapshots.iter().copied().chain([MAX_SEQUENCE.get()]);
        for snapshot in readers {
            for k in b'a'..=b'e' {
                prop_assert_eq!(
                    read(&before, &case.tombstones, &[k], snapshot),
                    read(&after, &kept, &[k], snapshot),
                    "key {} at {}: {:?}", k as char, snapshot,
                    out.iter().map(|(k, _)| draw::key(k)).collect::<Vec<_>>()
                );
            }
        }
    }
}

#[test]
fn values_that_nothing_changes_are_not_copied() {
    let rows: Rows = (0..100u8)
        .map(|i| (key::seek_key(&[i], SequenceNumber::ZERO), vec![i; 10]))
        .map(|(mut k, v)| {
            let at = k.len() - 8;
            k[at..].copy_from_slice(&key::pack(SequenceNumber::new(7), 1).to_le_bytes());
            (k, v)
        })
        .collect();
    let mut compaction_iter = CompactionIter::new(
        VecIterator::new(rows, order()),
        Answer(false),
        CompactionTombstones::none(order()),
        Config::new(order()),
    );
    compaction_iter.seek_to_first();
    while compaction_iter.valid() {
        assert_eq!(compaction_iter.value().as_ptr(), compaction_iter.input().value().as_ptr());
        compaction_iter.next();
    }
}
