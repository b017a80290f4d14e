//! Operations drawn from a seed as plain data, so that a failing script can be reduced and printed.

use testkit::chance::Chance;

/// One change of a batch, in the column family with this number (modulo the number of column families).
#[derive(Clone, Debug)]
pub enum Change {
    Put(u64, Vec<u8>, Vec<u8>),
    Delete(u64, Vec<u8>),
    Merge(u64, Vec<u8>, Vec<u8>),
    DeleteRange(u64, Vec<u8>, Vec<u8>),
    /// Puts an absent key, or single-deletes a present key. Single deletion allows only this use.
    Toggle(u64, Vec<u8>, Vec<u8>),
}

/// One operation of a script. Numbers of column families are taken modulo the number of column families.
#[derive(Clone, Debug)]
pub enum Op {
    /// A batch. With `undone`, the changes from this index on are rolled back to a save point.
    Write {
        changes: Vec<Change>,
        undone: Option<usize>,
        sync: bool,
        no_wal: bool,
    },
    Flush(u64),
    Compact(u64, Option<(Vec<u8>, Vec<u8>)>, bool),
    Snapshot,
    Release(u64),
    /// Reads of all kinds, drawn from this seed.
    Look(u64),
    /// Closes and opens again, with options drawn from this seed.
    Reopen(u64),
    CreateFamily,
    DropFamily(u64),
    FlushWal {
        sync: bool,
    },
    /// Raises `full_history_ts_low` of a family with timestamps; the number draws family and mark.
    Collapse(u64),
    /// Runs this many queued jobs.
    Help(u64),
    Settle,
}

impl Change {
    /// Returns the number of the column family.
    pub fn family(&self) -> u64 {
        match self {
            Change::Put(family, ..)
            | Change::Delete(family, ..)
            | Change::Merge(family, ..)
            | Change::DeleteRange(family, ..)
            | Change::Toggle(family, ..) => *family,
        }
    }
}

/// The weights of the operations of a script.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    pub keys: u64,
    pub large_values: u64,
    pub no_wal: bool,
    pub looks: u64,
    pub reopens: u64,
}

/// The first byte of keys that single deletions may delete. These keys are after all other keys.
pub const TOGGLES: u8 = b'~';

/// Draws a key from a space of about `keys` keys, with rare edge keys: the empty key, zeros, and one byte.
pub fn key(chance: &mut Chance, keys: u64) -> Vec<u8> {
    match chance.below(60) {
        0 => Vec::new(),
        1 => vec![chance.next() as u8 & 0x7d],
        2 => vec![0; chance.below(4) as usize],
        _ => {
            let n = chance.below(keys);
            let mut out = format!("{}{:02}", (b'a' + (n % 5) as u8) as char, n / 25).into_bytes();
            out.push((n % 25) as u8 * 10);
            if n.is_multiple_of(7) {
                out.extend_from_slice(b"longer-than-the-others");
            }
            out
        }
    }
}

fn value(chance: &mut Chance, serial: u64, large: u64) -> Vec<u8> {
    let mut out = format!("v{serial}.").into_bytes();
    match chance.below(20) {
        0 => out.clear(),
        1..=3 => {
            let n = chance.below(300) as usize;
            out.extend(chance.bytes(n));
        }
        4 => out.extend(std::iter::repeat_n(b'r', chance.below(1000) as usize)),
        _ => {}
    }
    if chance.percent(large) {
        let n = 1000 + chance.below(6000) as usize;
        let block = chance.bytes(n / 3 + 1);
        out.extend(block.iter().cycle().take(n));
    }
    out
}

fn change(chance: &mut Chance, serial: u64, w: &Weights) -> Change {
    let family = chance.below(4);
    match chance.below(100) {
        0..50 => Change::Put(family, key(chance, w.keys), value(chance, serial, w.large_values)),
        50..65 => Change::Delete(family, key(chance, w.keys)),
        65..80 => Change::Merge(family, key(chance, w.keys), format!("m{serial}").into_bytes()),
        80..88 => {
            let (a, b) = (key(chance, w.keys), key(chance, w.keys));
            Change::DeleteRange(family, a.clone().min(b.clone()), a.max(b))
        }
        _ => Change::Toggle(family, vec![TOGGLES, chance.below(12) as u8], value(chance, serial, 0)),
    }
}

/// Draws a script of `len` operations.
pub fn draw(chance: &mut Chance, len: usize, w: &Weights) -> Vec<Op> {
    let mut serial = 0;
    (0..len).map(|_| op(chance, &mut serial, w)).collect()
}

fn op(chance: &mut Chance, serial: &mut u64, w: &Weights) -> Op {
    let draw = chance.below(1000);
    if draw < w.looks {
        return Op::Look(chance.next());
    }
    if draw < w.looks + w.reopens {
        return Op::Reopen(chance.next());
    }
    match chance.below(100) {
        0..3 => Op::Flush(chance.below(5)),
        3..5 => {
            let (a, b) = (key(chance, w.keys), key(chance, w.keys));
            Op::Compact(chance.below(4), chance.percent(50).then_some((a, b)), chance.percent(30))
        }
        5..8 => Op::Snapshot,
        8..10 => Op::Release(chance.next()),
        10 => Op::CreateFamily,
        11 => {
            if chance.percent(50) {
                Op::DropFamily(chance.next())
            } else {
                Op::Settle
            }
        }
        12..14 => Op::FlushWal { sync: chance.percent(50) },
        14..17 => Op::Help(chance.below(6)),
        17 if chance.percent(50) => Op::Collapse(chance.next()),
        _ => {
            let len = if chance.percent(70) { 1 } else { 1 + chance.below(8) };
            let changes: Vec<Change> = (0..len)
                .map(|_| {
                    *serial += 1;
                    change(chance, *serial, w)
                })
                .collect();
            let undone = chance.percent(5).then(|| chance.below(len) as usize);
            Op::Write { changes, undone, sync: chance.percent(10), no_wal: w.no_wal && chance.percent(5) }
        }
    }
}

/// Reduces a failing script: leaves out parts of decreasing size while the script still fails and tries are left.
pub fn reduce<T: Clone>(mut ops: Vec<T>, mut tries: usize, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut size = ops.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < ops.len() && tries > 0 {
            tries -= 1;
            let mut shorter = ops.clone();
            shorter.drain(at..(at + size).min(ops.len()));
            if fails(&shorter) {
                ops = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    ops
}
