//! Operations for both engines, drawn from a seed as plain data, so that a failing script can be reduced.
//!
//! An operation names column families, snapshots and iterators by numbers. The number is taken modulo the
//! number of existing objects when the operation runs. So an operation stays valid after earlier operations
//! were removed from the script.

use testkit::chance::Chance;

use crate::store::{Columns, Compacting, Mode, Move, Spec};

/// A change of a column family. `Toggle` puts an absent key, or single-deletes a present key: single
/// deletion allows only this use.
#[derive(Clone, Debug)]
pub enum Change {
    Put(u64, Vec<u8>, Vec<u8>),
    /// The columns are sorted by their names.
    Entity(u64, Vec<u8>, Columns),
    Delete(u64, Vec<u8>),
    Merge(u64, Vec<u8>, u64),
    DeleteRange(u64, Vec<u8>, Vec<u8>),
    Toggle(u64, Vec<u8>, Vec<u8>),
    LogData(Vec<u8>),
    SavePoint,
    Rollback,
    PopSavePoint,
}

/// One operation for both engines.
#[derive(Clone, Debug)]
pub enum Op {
    Single {
        change: Change,
        sync: bool,
        no_wal: bool,
    },
    Batch {
        changes: Vec<Change>,
        sync: bool,
        no_wal: bool,
        ignore_missing: bool,
    },
    Get {
        family: u64,
        key: Vec<u8>,
        snapshot: u64,
    },
    MultiGet {
        family: u64,
        keys: Vec<Vec<u8>>,
        snapshot: u64,
        batched: bool,
        soft_limit: Option<u64>,
    },
    Iter {
        slot: usize,
        family: u64,
        snapshot: u64,
        spec: Spec,
    },
    Moves {
        slot: usize,
        moves: Vec<Move>,
    },
    CloseIter {
        slot: usize,
    },
    Snapshot,
    Release(u64),
    Flush(u64),
    FlushWal(bool),
    Compact {
        family: u64,
        range: Option<(Vec<u8>, Vec<u8>)>,
        how: Compacting,
    },
    /// Compacts to the last level and waits. Counts are exact afterwards.
    Settle(u64),
    /// Writes an external SST file with one of the engines, and ingests a copy with each.
    Ingest {
        family: u64,
        by_ours: bool,
        changes: Vec<Change>,
    },
    Create(u64),
    Drop(u64),
    Reopen(u64),
    SetOptions(u64),
    Properties(u64),
    Verify,
    /// A call that both engines must answer in the same way, success or error.
    Bad(u64),
}

/// The first byte of keys that single deletions may delete. No range deletion reaches these keys.
pub const TOGGLES: u8 = b'~';

/// Draws a key: empty, one byte, runs of zero and 0xff bytes, prefixes of other keys, neighbours, and a few large
/// keys.
pub fn key(chance: &mut Chance, keys: u64) -> Vec<u8> {
    match chance.below(120) {
        0 => Vec::new(),
        1 => vec![chance.next() as u8 & 0x7d],
        2 => vec![0; 1 + chance.below(4) as usize],
        3 => vec![0xff; 1 + chance.below(4) as usize],
        4 => {
            let mut out = plain(chance.below(keys));
            out.push(0);
            out
        }
        5 => {
            let mut out = plain(chance.below(keys));
            out.truncate(1 + chance.below(3) as usize);
            out
        }
        6 => {
            let mut out = plain(chance.below(keys));
            if let Some(last) = out.last_mut() {
                *last = last.wrapping_add(1);
            }
            out
        }
        7 if chance.percent(5) => {
            let mut out = plain(chance.below(keys));
            out.resize(2000 + chance.below(10_000) as usize, b'L');
            out
        }
        _ => plain(chance.below(keys)),
    }
}

fn plain(n: u64) -> Vec<u8> {
    let mut out = format!("{}{:02}", (b'a' + (n % 5) as u8) as char, n / 25).into_bytes();
    out.push((n % 25) as u8 * 10);
    if n.is_multiple_of(7) {
        out.extend_from_slice(b"longer-than-the-others");
    }
    out
}

fn value(chance: &mut Chance, serial: u64) -> Vec<u8> {
    let mut out = format!("v{serial}.").into_bytes();
    match chance.below(40) {
        0 => out.clear(),
        1..=5 => {
            let n = chance.below(300) as usize;
            out.extend(chance.bytes(n));
        }
        6 => out.extend(std::iter::repeat_n(b'r', chance.below(1000) as usize)),
        7 if chance.percent(10) => {
            let n = 1000 + chance.below(20_000) as usize;
            let block = chance.bytes(n / 3 + 1);
            out.extend(block.iter().cycle().take(n));
        }
        _ => {}
    }
    out
}

/// Draws columns. One entity in two has the default column, whose name is empty.
fn columns(chance: &mut Chance, serial: u64) -> Columns {
    let names = [&b""[..], b"a", b"b", b"longer"];
    let drawn: Vec<&[u8]> = names.into_iter().filter(|_| chance.percent(50)).collect();
    drawn.into_iter().map(|name| (name.to_vec(), value(chance, serial))).collect()
}

fn change(chance: &mut Chance, serial: &mut u64, keys: u64) -> Change {
    *serial += 1;
    let family = chance.below(12);
    match chance.below(100) {
        0..52 => Change::Put(family, key(chance, keys), value(chance, *serial)),
        52..55 => Change::Entity(family, key(chance, keys), columns(chance, *serial)),
        55..65 => Change::Delete(family, key(chance, keys)),
        65..80 => Change::Merge(family, key(chance, keys), *serial),
        80..88 => Change::DeleteRange(family, key(chance, keys), key(chance, keys)),
        _ => Change::Toggle(family, vec![TOGGLES, chance.below(12) as u8], value(chance, *serial)),
    }
}

fn batch(chance: &mut Chance, serial: &mut u64, keys: u64) -> Vec<Change> {
    let len = if chance.percent(2) { 0 } else { 1 + chance.below(10) };
    let mut out: Vec<Change> = (0..len).map(|_| change(chance, serial, keys)).collect();
    if chance.percent(15) {
        for _ in 0..=chance.below(3) {
            let at = chance.below(out.len() as u64 + 1) as usize;
            let mark = match chance.below(4) {
                0 | 1 => Change::SavePoint,
                2 => Change::Rollback,
                _ => Change::PopSavePoint,
            };
            out.insert(at, mark);
        }
    }
    if chance.percent(5) {
        out.push(Change::LogData(b"told to the log".to_vec()));
    }
    out
}

fn spec(chance: &mut Chance, keys: u64) -> Spec {
    let mode = match chance.below(20) {
        0..10 => Mode::Total,
        10..12 => Mode::Auto,
        12..16 => Mode::Prefix,
        16..18 => Mode::SamePrefix,
        _ => Mode::Tailing,
    };
    Spec {
        lower: chance.percent(25).then(|| key(chance, keys)),
        upper: chance.percent(25).then(|| key(chance, keys)),
        mode,
        pin: chance.percent(15),
        async_io: chance.percent(10),
        no_fill: chance.percent(20),
        no_checksums: chance.percent(10),
        readahead: *chance.pick(&[0, 0, 0, 500, 100_000]),
        soft_limit: None,
    }
}

fn moves(chance: &mut Chance, keys: u64) -> Vec<Move> {
    let mut out = vec![match chance.below(10) {
        0 => Move::First,
        1 => Move::Last,
        2..7 => Move::Seek(seek_key(chance, keys)),
        _ => Move::SeekForPrev(seek_key(chance, keys)),
    }];
    let forward = chance.percent(60);
    for _ in 0..chance.below(50) {
        out.push(match chance.below(40) {
            0 => Move::First,
            1 => Move::Last,
            2 | 3 => Move::Seek(seek_key(chance, keys)),
            4 | 5 => Move::SeekForPrev(seek_key(chance, keys)),
            6 if chance.percent(20) => Move::Refresh,
            7..10 if forward => Move::Prev,
            7..10 => Move::Next,
            _ if forward => Move::Next,
            _ => Move::Prev,
        });
    }
    out
}

fn seek_key(chance: &mut Chance, keys: u64) -> Vec<u8> {
    if chance.percent(5) { vec![TOGGLES, chance.below(14) as u8] } else { key(chance, keys) }
}

/// Draws a script of `len` operations.
pub fn draw(chance: &mut Chance, len: usize) -> Vec<Op> {
    let keys = *chance.pick(&[30, 125, 125, 1000]);
    let ranges = chance.percent(60);
    let mut serial = 0;
    let mut out = Vec::with_capacity(len);
    while out.len() < len {
        one(chance, &mut serial, keys, &mut out);
        if !ranges {
            out.iter_mut().rev().take(2).for_each(without_ranges);
        }
    }
    out
}

/// Returns the operation without range deletions. Some readers of RocksDB work only in databases without range
/// deletions.
fn without_ranges(op: &mut Op) {
    let point = |change: &mut Change| {
        if let Change::DeleteRange(family, begin, _) = change {
            *change = Change::Delete(*family, std::mem::take(begin));
        }
    };
    match op {
        Op::Single { change, .. } => point(change),
        Op::Batch { changes, .. } | Op::Ingest { changes, .. } => changes.iter_mut().for_each(point),
        _ => {}
    }
}

fn one(chance: &mut Chance, serial: &mut u64, keys: u64, out: &mut Vec<Op>) {
    let (sync, no_wal) = (chance.percent(5), chance.percent(4));
    let snapshot = chance.below(8);
    let family = chance.below(12);
    let op = match chance.below(1000) {
        0..300 => Op::Single { change: change(chance, serial, keys), sync, no_wal },
        300..400 => Op::Batch {
            changes: batch(chance, serial, keys),
            sync,
            no_wal,
            ignore_missing: chance.percent(5),
        },
        400..550 => Op::Get { family, key: seek_key(chance, keys), snapshot },
        550..600 => Op::MultiGet {
            family,
            keys: (0..1 + chance.below(20)).map(|_| seek_key(chance, keys)).collect(),
            snapshot,
            batched: chance.percent(50),
            soft_limit: None,
        },
        600..840 => {
            let slot = chance.below(3) as usize;
            if chance.percent(60) {
                out.push(Op::Iter { slot, family, snapshot, spec: spec(chance, keys) });
            }
            Op::Moves { slot, moves: moves(chance, keys) }
        }
        840..850 => Op::CloseIter { slot: chance.below(3) as usize },
        850..880 => Op::Snapshot,
        880..905 => Op::Release(chance.next()),
        905..925 => Op::Flush(family),
        925..935 => Op::FlushWal(chance.percent(30)),
        935..943 => {
            let range = chance.percent(50).then(|| (key(chance, keys), key(chance, keys)));
            let how = Compacting {
                bottommost: chance.below(4) as u8,
                exclusive: chance.percent(30),
                target_level: chance.percent(15).then_some(1),
                subcompactions: chance.below(3) as u32,
            };
            Op::Compact { family, range, how }
        }
        943..946 => Op::Settle(family),
        946..949 => Op::Create(chance.next()),
        949..951 => Op::Drop(family),
        951..953 => Op::Reopen(chance.next()),
        953..960 => Op::SetOptions(chance.next()),
        960..980 => Op::Properties(family),
        980..981 => Op::Verify,
        981..992 => Op::Bad(chance.next()),
        992..998 => {
            let len = 1 + chance.below(12);
            let changes = (0..len).map(|_| change(chance, serial, keys)).collect();
            Op::Ingest { family, by_ours: chance.percent(50), changes }
        }
        _ => Op::Release(chance.next()),
    };
    out.push(op);
}

/// Returns the number of answers that an operation compares.
pub fn weight(op: &Op) -> u64 {
    match op {
        Op::Moves { moves, .. } => moves.len() as u64,
        _ => 1,
    }
}
