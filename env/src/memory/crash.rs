//! The disk after a crash: which unsynced operations survive.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::map::HashSet;

use super::names::{DirId, Entries, Entry, Names, ROOT, apply};
use super::node::{FileNode, Op, write};
use crate::rng::{Rng, SeededRng};

/// Selects the unsynced operations that survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survivors {
    /// Only synced operations: bytes by the sync of their file, names by the sync of their directory.
    Synced,
    /// All operations: the process ended, but the machine did not.
    Everything,
    /// All names, but only synced bytes.
    NamesWithoutData,
    /// All names and lengths, with zeros where bytes were not synced.
    ZerosForData,
    /// All names and lengths. Unsynced bytes are random bytes drawn from the seed, as from an older file.
    SizeWithoutData(u64),
    /// All names. Of each file all writes but the last; the last write is cut at a byte drawn from the seed.
    TornLast(u64),
    /// All names. Of each unsynced write some sectors of 512 bytes, drawn from the seed.
    Sectors(u64),
    /// All bytes. Of the changes of names in each directory only a prefix, drawn from the seed.
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
    // A change is lost too if an earlier change of the same name is lost.
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

/// Applies the surviving operations to a file. The other operations are lost.
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

/// Applies only the length of a write. The new bytes are random.
fn garbage(op: &Op, to: &mut Vec<u8>, rng: &SeededRng) {
    let was = to.len();
    zeros(op, to);
    to.iter_mut().skip(was).for_each(|byte| *byte = rng.below(256) as u8);
}

fn zeros(op: &Op, to: &mut Vec<u8>) {
    match op {
        // Apply only the length. Bytes that are already durable stay.
        Op::Write { offset, data } => {
            let end = *offset as usize + data.len();
            if to.len() < end {
                to.resize(end, 0);
            }
        }
        truncate => truncate.apply(to),
    }
}

/// Applies the first bytes of a write, up to a random length.
fn torn(op: &Op, to: &mut Vec<u8>, rng: &SeededRng) {
    if let Op::Write { offset, data } = op {
        let n = rng.below(data.len() as u64 + 1) as usize;
        write(to, *offset, &data[..n]);
    }
}

/// Applies random sectors of a write. The file ends at the last of these sectors.
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
