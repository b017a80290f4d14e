//! What a crash leaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::map::HashSet;

use super::names::{DirId, Entries, Entry, Names, ROOT, apply};
use super::node::{FileNode, Op, write};
use crate::rng::{Rng, SeededRng};

/// Which unsynced operations reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survivors {
    /// Only what was synced: bytes by their file's sync, names by their directory's.
    Synced,
    /// All of it: the process died, the machine did not.
    Everything,
    /// All names, but only synced bytes.
    NamesWithoutData,
    /// All names and lengths, with zeros where bytes were not synced.
    ZerosForData,
    /// All names and lengths, with bytes of whatever was on the disk there before, drawn from the seed.
    SizeWithoutData(u64),
    /// All names; of each file all but a part of its last write, cut at a byte drawn from the seed.
    TornLast(u64),
    /// All names; of what was not synced any sectors of 512 bytes, drawn from the seed for each file.
    Sectors(u64),
    /// All bytes, but of the changes of names only a prefix, drawn from the seed for each directory.
    NamesLost(u64),
    /// Draws the surviving data of each file from the seed: a prefix of its operations with the next
    /// operation torn at any byte, or 512-byte sectors in any order, or zeros. For names, a prefix of the
    /// journal survives, or a different prefix for each directory.
    Random(u64),
}

const SECTOR: usize = 512;

pub(super) fn crash(names: &mut Names, survivors: Survivors) {
    let draw = match survivors {
        Survivors::Random(seed)
        | Survivors::SizeWithoutData(seed)
        | Survivors::TornLast(seed)
        | Survivors::Sectors(seed)
        | Survivors::NamesLost(seed) => SeededRng::new(seed),
        _ => SeededRng::new(0),
    };
    let journal = std::mem::take(&mut names.journal);
    let mut dirs = std::mem::take(&mut names.durable);
    match survivors {
        Survivors::Synced => {}
        Survivors::Random(_) => keep_some_names(&mut dirs, &journal, draw.one_in(2), &draw),
        Survivors::NamesLost(_) => keep_some_names(&mut dirs, &journal, false, &draw),
        _ => journal.iter().for_each(|change| apply(&mut dirs, change)),
    }
    // Visits each surviving file once, in the order of the tree. So one seed gives one disk.
    let reached = reachable(&dirs);
    dirs.retain(|id, _| reached.contains(id));
    let mut seen: HashSet<*const FileNode> = HashSet::default();
    for entry in dirs.values_mut().flat_map(Entries::values_mut) {
        let Entry::File(node) = entry else { continue };
        if seen.insert(Arc::as_ptr(node)) {
            settle(node, survivors, &draw);
        }
    }
    names.live = dirs.clone();
    names.durable = dirs;
}

fn reachable(dirs: &BTreeMap<DirId, Entries>) -> HashSet<DirId> {
    let mut reached = HashSet::from_iter([ROOT]);
    let mut work = vec![ROOT];
    while let Some(id) = work.pop() {
        for entry in dirs.get(&id).into_iter().flat_map(Entries::values) {
            if let Entry::Dir(child) = entry
                && reached.insert(*child)
            {
                work.push(*child);
            }
        }
    }
    reached
}

fn keep_some_names(
    dirs: &mut BTreeMap<DirId, Entries>,
    journal: &[super::names::Change],
    whole: bool,
    rng: &SeededRng,
) {
    let cut = rng.below(journal.len() as u64 + 1) as usize;
    let mut cuts: BTreeMap<DirId, usize> = BTreeMap::new();
    // A change that builds on a lost one is lost as well.
    let mut lost: HashSet<(DirId, &str)> = HashSet::default();
    for (i, change) in journal.iter().enumerate() {
        let kept = if whole {
            i < cut
        } else {
            change.iter().all(|e| {
                let cut = *cuts.entry(e.dir).or_insert_with(|| rng.below(journal.len() as u64 + 1) as usize);
                i < cut && !lost.contains(&(e.dir, &*e.name))
            })
        };
        if kept {
            apply(dirs, change);
        } else {
            lost.extend(change.iter().map(|e| (e.dir, &*e.name)));
        }
    }
}

/// Makes a file what is left of it.
fn settle(node: &FileNode, survivors: Survivors, rng: &SeededRng) {
    let s = &mut *node.state.write();
    let ops = std::mem::take(&mut s.unsynced);
    if !ops.is_empty() {
        keep_some_bytes(&ops, Arc::make_mut(&mut s.durable), survivors, rng);
    }
    s.live = s.durable.clone();
}

fn keep_some_bytes(ops: &[Op], durable: &mut Vec<u8>, survivors: Survivors, rng: &SeededRng) {
    match survivors {
        Survivors::Synced | Survivors::NamesWithoutData => {}
        Survivors::Everything | Survivors::NamesLost(_) => ops.iter().for_each(|op| op.apply(durable)),
        Survivors::ZerosForData => ops.iter().for_each(|op| zeros(op, durable)),
        Survivors::SizeWithoutData(_) => ops.iter().for_each(|op| garbage(op, durable, rng)),
        Survivors::Sectors(_) => ops.iter().for_each(|op| sectors(op, durable, rng)),
        Survivors::TornLast(_) => {
            if let Some((last, before)) = ops.split_last() {
                before.iter().for_each(|op| op.apply(durable));
                torn(last, durable, rng);
            }
        }
        Survivors::Random(_) => {
            let kept = rng.below(ops.len() as u64 + 1) as usize;
            let (before, after) = ops.split_at(kept);
            match rng.below(5) {
                0 => {}
                1 => before.iter().for_each(|op| op.apply(durable)),
                2 => {
                    before.iter().for_each(|op| op.apply(durable));
                    if let Some(op) = after.first() {
                        torn(op, durable, rng);
                    }
                }
                3 => ops.iter().for_each(|op| sectors(op, durable, rng)),
                _ => {
                    before.iter().for_each(|op| op.apply(durable));
                    after.iter().for_each(|op| zeros(op, durable));
                }
            }
        }
    }
}

/// Only the length; the bytes that came with it are a former file's.
fn garbage(op: &Op, to: &mut Vec<u8>, rng: &SeededRng) {
    let was = to.len();
    zeros(op, to);
    to.iter_mut().skip(was).for_each(|byte| *byte = rng.below(256) as u8);
}

fn zeros(op: &Op, to: &mut Vec<u8>) {
    match op {
        // Only the length: bytes already durable there stay.
        Op::Write { offset, data } => {
            let end = *offset as usize + data.len();
            if to.len() < end {
                to.resize(end, 0);
            }
        }
        truncate => truncate.apply(to),
    }
}

/// A write of which the first bytes arrived.
fn torn(op: &Op, to: &mut Vec<u8>, rng: &SeededRng) {
    if let Op::Write { offset, data } = op {
        let n = rng.below(data.len() as u64 + 1) as usize;
        write(to, *offset, &data[..n]);
    }
}

/// A write of which some sectors arrived, the length with the last of them.
fn sectors(op: &Op, to: &mut Vec<u8>, rng: &SeededRng) {
    let Op::Write { offset, data } = op else { return op.apply(to) };
    let mut at = 0;
    while at < data.len() {
        let end = (SECTOR - (*offset as usize + at) % SECTOR + at).min(data.len());
        if rng.one_in(2) {
            write(to, *offset + at as u64, &data[at..end]);
        }
        at = end;
    }
}
