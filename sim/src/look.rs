//! Compares every kind of read with the expected state.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use ironstone::{Db, Family, Iter, Kind, ReadOptions, Snapshot, Subcode};
use testkit::chance::Chance;

use crate::sample::Sample;
use crate::script;
use crate::stamp;
use crate::state::State;

type Row = (Arc<[u8]>, Arc<[u8]>);

/// The point in history that reads use.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    pub snapshot: Option<&'a Snapshot>,
    /// The timestamp of reads, in column families with timestamps.
    pub timestamp: u64,
    /// The values of `full_history_ts_low`, by the name of the column family.
    pub lows: Option<&'a BTreeMap<String, u64>>,
}

impl<'a> From<Option<&'a Snapshot>> for Moment<'a> {
    fn from(snapshot: Option<&'a Snapshot>) -> Self {
        Moment { snapshot, timestamp: u64::MAX, lows: None }
    }
}

impl Moment<'_> {
    /// Returns true if the column family has no complete history at this timestamp. Each read must then fail.
    fn is_collapsed(&self, family: &Family) -> bool {
        let low = self.lows.and_then(|lows| lows.get(family.name())).copied().unwrap_or(0);
        stamp::is_stamped(family) && self.timestamp < low
    }
}

/// The result of a comparison. The error describes the difference.
pub type Checked = Result<(), String>;

fn show(bytes: &[u8]) -> String {
    let text = bytes[..bytes.len().min(40)].escape_ascii().to_string();
    if bytes.len() > 40 { format!("{text}..({})", bytes.len()) } else { text }
}

/// The number of kinds of reads of [`one`].
pub const KINDS: u64 = 7;

/// The number of different kinds. The last kind of [`KINDS`] repeats the kind before it, so that this kind is drawn
/// twice as often.
pub const DIFFERENT: u64 = 6;

/// Compares a few reads of a drawn kind in each column family.
pub fn some(db: &Db, state: &State, sample: &Sample, moment: Moment<'_>, seed: u64, keys: u64) -> Checked {
    reads(db, state, sample, moment, seed, keys, None)
}

/// Compares a few reads of one kind, below [`KINDS`], in each column family.
pub fn one(
    db: &Db,
    state: &State,
    sample: &Sample,
    snapshot: Option<&Snapshot>,
    seed: u64,
    keys: u64,
    kind: u64,
) -> Checked {
    reads(db, state, sample, snapshot.into(), seed, keys, Some(kind))
}

fn reads(
    db: &Db,
    state: &State,
    sample: &Sample,
    moment: Moment<'_>,
    seed: u64,
    keys: u64,
    kind: Option<u64>,
) -> Checked {
    let chance = &mut Chance::new(seed);
    db.families().iter().try_for_each(|family| {
        let options = stamp::reading(family, moment.timestamp, draw(chance, moment.snapshot));
        let kind = kind.unwrap_or_else(|| chance.below(KINDS));
        if moment.is_collapsed(family) {
            return collapsed(family, options);
        }
        family_reads(family, state, sample, options, chance, keys, kind)
    })
}

fn family_reads(
    family: &Family,
    state: &State,
    sample: &Sample,
    mut options: ReadOptions,
    chance: &mut Chance,
    keys: u64,
    kind: u64,
) -> Checked {
    let rows = state.rows(family.name(), sample.reverse);
    let read = match kind {
        0 => scan(family, &rows, options, if chance.percent(50) { Way::Backward } else { Way::Forward }),
        1 => gets(family, &rows, &options, chance, keys),
        2 => multi_get(family, &rows, &options, chance, keys),
        3 if sample.prefix.is_some() => {
            options.total_order_seek = false;
            prefixed(family, &rows, options, sample, chance, keys)
        }
        4 if !stamp::is_stamped(family) && options.snapshot.is_none() => {
            range(family, &rows, sample, chance, keys)
        }
        _ => walk(family, &rows, options, sample, chance, keys),
    };
    read.map_err(|e| format!("family {} of {} rows: {e}", family.name(), rows.len()))
}

/// Compares every row of every column family: forward, backward and by key.
pub fn all(db: &Db, state: &State, reverse: bool, snapshot: Option<&Snapshot>) -> Checked {
    everything(db, state, reverse, snapshot, &[Way::Forward, Way::Backward])
}

/// Compares every row of every column family backward and by key. The caller took the state from a forward scan.
pub fn all_but_forward(db: &Db, state: &State, reverse: bool) -> Checked {
    everything(db, state, reverse, None, &[Way::Backward])
}

/// The direction of a scan of all rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Forward,
    Backward,
}

fn everything(db: &Db, state: &State, reverse: bool, snapshot: Option<&Snapshot>, scans: &[Way]) -> Checked {
    for family in db.families() {
        let rows = state.rows(family.name(), reverse);
        let options = ReadOptions {
            total_order_seek: true,
            snapshot: snapshot.map(Snapshot::held),
            ..ReadOptions::default()
        };
        let options = stamp::reading(&family, u64::MAX, options);
        let told = |e: String| format!("family {} of {} rows: {e}", family.name(), rows.len());
        for way in scans {
            scan(&family, &rows, options.clone(), *way).map_err(told)?;
        }
        for (key, value) in &rows {
            get(&family, key, Some(value), &options).map_err(told)?;
        }
    }
    Ok(())
}

fn draw(chance: &mut Chance, snapshot: Option<&Snapshot>) -> ReadOptions {
    ReadOptions {
        snapshot: snapshot.map(Snapshot::held),
        fill_cache: chance.percent(70),
        verify_checksums: chance.percent(80),
        readahead_size: *chance.pick(&[0, 0, 500, 100_000]),
        adaptive_readahead: chance.percent(30),
        auto_readahead_size: chance.percent(70),
        async_io: chance.percent(20),
        pin_data: chance.percent(20),
        total_order_seek: true,
        optimize_multiget_for_io: chance.percent(50),
        background_purge_on_iterator_cleanup: chance.percent(20),
        ..ReadOptions::default()
    }
}

fn get(family: &Family, key: &[u8], expected: Option<&[u8]>, options: &ReadOptions) -> Checked {
    let got = family.get_with(key, options).map_err(|e| format!("get {}: {e}", show(key)))?;
    if got.as_deref() != expected {
        let (got, expected) = (got.as_deref().map(show), expected.map(show));
        return Err(format!("get {}: {got:?}, expected {expected:?}", show(key)));
    }
    Ok(())
}

fn find<'a>(rows: &'a [Row], key: &[u8]) -> Option<&'a [u8]> {
    rows.iter().find(|(own, _)| **own == *key).map(|(_, value)| &**value)
}

fn any_key(rows: &[Row], chance: &mut Chance, keys: u64) -> Vec<u8> {
    match chance.below(10) {
        0..5 if !rows.is_empty() => {
            let (key, _) = chance.pick(rows);
            key.to_vec()
        }
        5 => vec![script::TOGGLES, chance.below(14) as u8],
        6 => vec![0xff; 1 + chance.below(3) as usize],
        _ => script::key(chance, keys),
    }
}

fn gets(family: &Family, rows: &[Row], options: &ReadOptions, chance: &mut Chance, keys: u64) -> Checked {
    for _ in 0..10 {
        let key = any_key(rows, chance, keys);
        get(family, &key, find(rows, &key), options)?;
        if chance.percent(30) {
            other_gets(family, &key, find(rows, &key), options)?;
        }
        if options.snapshot.is_none() && chance.percent(30) {
            let (may, value) = family.key_may_exist_with(&key, options);
            let expected = find(rows, &key);
            if (!may && expected.is_some()) || value.as_deref().is_some_and(|v| Some(v) != expected) {
                return Err(format!("key_may_exist {}: {may}", show(&key)));
            }
        }
    }
    Ok(())
}

/// Compares the reads of a key that return more than its value: the subcode, the merge operands, and the timestamp.
fn other_gets(family: &Family, key: &[u8], expected: Option<&[u8]>, options: &ReadOptions) -> Checked {
    let told = |what: &str, e: ironstone::Error| format!("{what} {}: {e}", show(key));
    let differs = |what: &str, found: Option<&[u8]>| {
        let (found, expected) = (found.map(show), expected.map(show));
        format!("{what} {}: {found:?}, expected {expected:?}", show(key))
    };
    let answered = family.get_answered(key, options).map_err(|e| told("get_answered", e))?;
    if answered.value.as_deref() != expected || answered.subcode != Subcode::None {
        return Err(differs(&format!("get_answered, {:?}", answered.subcode), answered.value.as_deref()));
    }
    for answered in family.multi_get_answered(&[key, key], options) {
        let value = answered.map_err(|e| told("multi_get_answered", e))?.value;
        if value.as_deref() != expected {
            return Err(differs("multi_get_answered", value.as_deref()));
        }
    }
    if stamp::is_stamped(family) {
        let found = family.get_with_ts(key, options).map_err(|e| told("get_with_ts", e))?;
        let value = found.as_ref().and_then(|found| found.value.as_deref());
        if value != expected || found.as_ref().is_some_and(|found| found.timestamp.len() != 8) {
            return Err(differs("get_with_ts", value));
        }
        return Ok(());
    }
    // The merge operator appends each operand after a comma.
    let operands = family.get_merge_operands(key, options).map_err(|e| told("get_merge_operands", e))?;
    let joined = operands.iter().map(|operand| &**operand).collect::<Vec<_>>().join(&b',');
    let joined = (!operands.is_empty()).then_some(joined);
    if joined.as_deref() != expected {
        return Err(differs("get_merge_operands", joined.as_deref()));
    }
    Ok(())
}

fn multi_get(
    family: &Family,
    rows: &[Row],
    options: &ReadOptions,
    chance: &mut Chance,
    keys: u64,
) -> Checked {
    let wanted: Vec<Vec<u8>> = (0..chance.below(50)).map(|_| any_key(rows, chance, keys)).collect();
    let slices: Vec<&[u8]> = wanted.iter().map(Vec::as_slice).collect();
    let answers = family.multi_get_with(&slices, options);
    if answers.len() != wanted.len() {
        return Err(format!("{} answers for {} keys", answers.len(), wanted.len()));
    }
    for (key, answer) in wanted.iter().zip(answers) {
        let got = answer.map_err(|e| format!("multi_get {}: {e}", show(key)))?;
        if got.as_deref() != find(rows, key) {
            let (got, expected) = (got.as_deref().map(show), find(rows, key).map(show));
            return Err(format!("multi_get {}: {got:?}, expected {expected:?}", show(key)));
        }
    }
    Ok(())
}

fn stands(iter: &Iter, rows: &[Row], at: Option<usize>, after: &str) -> Checked {
    let expected = at.and_then(|i| rows.get(i));
    if !iter.valid() {
        iter.status().map_err(|e| format!("{after}: {e}"))?;
        return match expected {
            None => Ok(()),
            Some((key, _)) => Err(format!("{after}: at the end, expected {}", show(key))),
        };
    }
    match expected {
        None => Err(format!("{after}: at {}, expected the end", show(iter.key()))),
        Some((key, _)) if **key != *iter.key() => {
            Err(format!("{after}: at {}, expected {}", show(iter.key()), show(key)))
        }
        Some((key, value)) if **value != *iter.value() => {
            Err(format!("{after}: {} = {}, expected {}", show(key), show(iter.value()), show(value)))
        }
        Some(_) => Ok(()),
    }
}

fn scan(family: &Family, rows: &[Row], options: ReadOptions, way: Way) -> Checked {
    let mut iter = family.iter_with(options).map_err(|e| format!("making an iterator: {e}"))?;
    if way == Way::Backward {
        iter.seek_to_last();
        for i in (0..rows.len()).rev() {
            stands(&iter, rows, Some(i), "scan back")?;
            iter.prev();
        }
    } else {
        iter.seek_to_first();
        for i in 0..rows.len() {
            stands(&iter, rows, Some(i), "scan")?;
            iter.next();
        }
    }
    stands(&iter, rows, None, "scanned to the end")
}

/// Draws the bounds and the mode of an iterator.
fn draw_walk(options: &mut ReadOptions, rows: &[Row], sample: &Sample, chance: &mut Chance, keys: u64) {
    if chance.percent(40) {
        options.iterate_lower_bound = Some(any_key(rows, chance, keys));
    }
    if chance.percent(40) {
        options.iterate_upper_bound = Some(any_key(rows, chance, keys));
    }
    if let (Some(lower), Some(upper)) = (&options.iterate_lower_bound, &options.iterate_upper_bound)
        && sample.less(upper, lower)
    {
        std::mem::swap(&mut options.iterate_lower_bound, &mut options.iterate_upper_bound);
    }
    if chance.percent(20) && options.snapshot.is_none() {
        options.tailing = true;
    }
    if chance.percent(20) {
        options.total_order_seek = false;
        options.auto_prefix_mode = true;
    }
}

/// The moves of an iterator. They become text only after a failure.
struct Moves {
    bounds: [Option<Vec<u8>>; 2],
    tailing: bool,
    auto_prefix_mode: bool,
    made: Vec<(&'static str, Option<Vec<u8>>)>,
}

impl Moves {
    fn new(options: &ReadOptions) -> Moves {
        Moves {
            bounds: [options.iterate_lower_bound.clone(), options.iterate_upper_bound.clone()],
            tailing: options.tailing,
            auto_prefix_mode: options.auto_prefix_mode,
            made: Vec::with_capacity(25),
        }
    }

    fn text(&self) -> String {
        let [from, to] = self.bounds.each_ref().map(|bound| bound.as_deref().map(show));
        let moves: String = self
            .made
            .iter()
            .map(|(what, key)| {
                key.as_ref().map_or(format!(" {what}"), |key| format!(" {what}({})", show(key)))
            })
            .collect();
        let (tailing, auto) = (self.tailing, self.auto_prefix_mode);
        format!("iterator tailing={tailing} auto={auto} from {from:?} to {to:?}{moves}")
    }
}

/// Moves in both directions from drawn keys, inside of drawn bounds.
fn walk(
    family: &Family,
    rows: &[Row],
    mut options: ReadOptions,
    sample: &Sample,
    chance: &mut Chance,
    keys: u64,
) -> Checked {
    draw_walk(&mut options, rows, sample, chance, keys);
    let lower = options.iterate_lower_bound.as_deref();
    let upper = options.iterate_upper_bound.as_deref();
    let inside: Vec<Row> = rows
        .iter()
        .filter(|(key, _)| {
            lower.is_none_or(|l| !sample.less(key, l)) && upper.is_none_or(|u| sample.less(key, u))
        })
        .cloned()
        .collect();
    let rows = &inside[..];
    let mut iter = family.iter_with(options.clone()).map_err(|e| format!("making an iterator: {e}"))?;
    let mut at: Option<usize> = None;
    let mut moves = Moves::new(&options);
    for _ in 0..25 {
        let made = match chance.below(12) {
            0 => {
                iter.seek_to_first();
                at = (!rows.is_empty()).then_some(0);
                ("first", None)
            }
            1 => {
                iter.seek_to_last();
                at = rows.len().checked_sub(1);
                ("last", None)
            }
            2 | 3 => {
                let key = any_key(rows, chance, keys);
                iter.seek(&key);
                at = Some(rows.partition_point(|(own, _)| sample.less(own, &key)));
                ("seek", Some(key))
            }
            4 if !options.auto_prefix_mode => {
                let key = any_key(rows, chance, keys);
                iter.seek_for_prev(&key);
                at = rows.partition_point(|(own, _)| !sample.less(&key, own)).checked_sub(1);
                ("seek_for_prev", Some(key))
            }
            _ if !iter.valid() => continue,
            5..8 if !options.auto_prefix_mode => {
                iter.prev();
                at = at.and_then(|i| i.checked_sub(1));
                ("prev", None)
            }
            _ => {
                iter.next();
                at = at.map(|i| i + 1);
                ("next", None)
            }
        };
        moves.made.push(made);
        stands(&iter, rows, at, "").map_err(|e| format!("{}{e}", moves.text()))?;
    }
    if chance.percent(20) && options.snapshot.is_none() {
        iter.refresh().map_err(|e| e.to_string())?;
        iter.seek_to_first();
        stands(&iter, rows, Some(0), "refresh, first")?;
    }
    Ok(())
}

/// Compares loops over drawn ranges. A loop must show all keys of its range, with every prefix extractor and key
/// order.
fn range(family: &Family, rows: &[Row], sample: &Sample, chance: &mut Chance, keys: u64) -> Checked {
    let less = |a: &[u8], b: &[u8]| sample.less(a, b);
    for _ in 0..3 {
        let (mut from, mut to) = (any_key(rows, chance, keys), any_key(rows, chance, keys));
        if less(&to, &from) {
            std::mem::swap(&mut from, &mut to);
        }
        let mut bound = |key| match chance.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Excluded(key),
            _ => Bound::Included(key),
        };
        let (start, end) = (bound(&from[..]), bound(&to[..]));
        let follows = |key: &[u8]| match start {
            Bound::Included(start) => !less(key, start),
            Bound::Excluded(start) => less(start, key),
            Bound::Unbounded => true,
        };
        let precedes = |key: &[u8]| match end {
            Bound::Included(end) => !less(end, key),
            Bound::Excluded(end) => less(key, end),
            Bound::Unbounded => true,
        };
        let told = || format!("range {:?} {:?}", start.map(show), end.map(show));
        let mut expected = rows.iter().filter(|(key, _)| follows(key) && precedes(key));
        for found in family.range::<[u8], _>((start, end)) {
            let (key, value) = found.map_err(|e| format!("{}: {e}", told()))?;
            match expected.next() {
                Some((own, own_value)) if **own == *key && **own_value == *value => {}
                other => {
                    let other = other.map(|(own, _)| show(own));
                    return Err(format!("{}: {}, expected {other:?}", told(), show(&key)));
                }
            }
        }
        if let Some((key, _)) = expected.next() {
            return Err(format!("{}: ended, expected {}", told(), show(key)));
        }
    }
    Ok(())
}

/// Reads below `full_history_ts_low`: each must be rejected.
fn collapsed(family: &Family, options: ReadOptions) -> Checked {
    let rejected = |what: &str, error: Option<ironstone::Error>| match error {
        Some(error) if error.kind() == Kind::InvalidArgument => Ok(()),
        other => Err(format!("{what} of {} below full_history_ts_low: {other:?}", family.name())),
    };
    rejected("get", family.get_with(b"k", &options).err())?;
    for answer in family.multi_get_with(&[b"k", b"l"], &options) {
        rejected("multi_get", answer.err())?;
    }
    rejected("iterator", family.iter_with(options).err())
}

/// Compares iteration inside of one prefix, where the answer is defined.
fn prefixed(
    family: &Family,
    rows: &[Row],
    mut options: ReadOptions,
    sample: &Sample,
    chance: &mut Chance,
    keys: u64,
) -> Checked {
    let length = sample.prefix.unwrap_or(0);
    options.prefix_same_as_start = chance.percent(50);
    let same = options.prefix_same_as_start;
    let mut iter = family.iter_with(options).map_err(|e| format!("making an iterator: {e}"))?;
    for _ in 0..5 {
        let key = any_key(rows, chance, keys);
        if key.len() < length {
            continue;
        }
        let prefix = &key[..length];
        iter.seek(&key);
        let less = |a: &[u8], b: &[u8]| sample.less(a, b);
        let wanted: Vec<&Row> =
            rows.iter().filter(|(own, _)| own.starts_with(prefix) && !less(own, &key)).collect();
        for row in wanted {
            let story = format!("prefix seek({}) same={same}", show(&key));
            stands(&iter, std::slice::from_ref(row), Some(0), &story)?;
            iter.next();
        }
        if same && iter.valid() {
            return Err(format!("prefix seek({}): went on to {}", show(&key), show(iter.key())));
        }
    }
    Ok(())
}

/// Returns true if a background error stops the column family: its writes are rejected.
pub fn is_stopped(family: &Family) -> bool {
    family.property("ironstone.write-error").is_some_and(|why| !why.is_empty())
}
