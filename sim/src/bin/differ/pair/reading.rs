//! Compares iterators and scans.

use super::{Differs, Pair, SLOTS, same};
use crate::rows::Prefix;
use crate::store::{Compacting, Mode, Move, Position, Spec};

impl Pair {
    pub(super) fn moves(&mut self, slot: usize, moves: &[Move]) -> Differs {
        let mut trail = String::new();
        let fresh = self.slots[slot].as_ref().is_some_and(|s| s.mode == Mode::Tailing);
        for how in moves {
            let Some(state) = self.slots[slot].as_mut() else { return Ok(()) };
            // RocksDB's tailing iterators ignore range deletions.
            if state.mode == Mode::Tailing && self.ranged {
                return self.close_iter(slot);
            }
            let target = match how {
                Move::Seek(key) => Some(key.as_slice()),
                _ => None,
            };
            if state.mode == Mode::Tailing
                && state.prefix != Prefix::None
                && matches!(how, Move::Seek(_) | Move::First)
            {
                if state.tail.passed {
                    return self.close_iter(slot);
                }
                state.tail.begins(state.prefix, target);
            }
            let prefixed =
                matches!(state.mode, Mode::Prefix | Mode::SamePrefix) && state.prefix != Prefix::None;
            match how {
                Move::Seek(key) if prefixed => {
                    let Some(prefix) = state.prefix.of(key) else { continue };
                    state.within = Some(prefix.to_vec());
                    state.lost = false;
                }
                Move::Refresh if state.vector => continue,
                // These moves are undefined for an iterator with a prefix.
                Move::First | Move::Last | Move::SeekForPrev(_) | Move::Refresh if prefixed => continue,
                Move::Last | Move::Prev | Move::SeekForPrev(_) | Move::Refresh
                    if state.mode == Mode::Tailing =>
                {
                    continue;
                }
                Move::SeekForPrev(_) | Move::Prev | Move::Last if state.mode == Mode::Auto => continue,
                Move::Prev if prefixed => continue,
                Move::First | Move::Last | Move::Seek(_) | Move::SeekForPrev(_) | Move::Refresh => {
                    state.lost = false
                }
                Move::Next | Move::Prev => {}
            }
            if state.lost {
                continue;
            }
            let (prefix, within) = (state.prefix, if prefixed { state.within.clone() } else { None });
            trail.push_str(&match how {
                Move::Seek(key) => format!(" seek({})", key.escape_ascii()),
                Move::SeekForPrev(key) => format!(" seek_for_prev({})", key.escape_ascii()),
                other => format!(" {other:?}"),
            });
            let mode = state.mode;
            let what = || format!("iterator {slot} {mode:?} after{trail}");
            let inside = |position: Position| match (&within, position) {
                (Some(p), Position::At(key, _)) if prefix.of(&key) != Some(p.as_slice()) => Position::End,
                (_, position) => position,
            };
            let [ours, theirs] = self.open.as_mut().ok_or("closed")?;
            let (ours, theirs) = (inside(ours.move_iter(slot, how)), inside(theirs.move_iter(slot, how)));
            same(what, &ours, &theirs)?;
            let stands = ours;
            if let Some(state) = self.slots[slot].as_mut() {
                state.lost = !matches!(stands, Position::At(..));
                if let Position::At(key, _) = &stands {
                    state.tail.stands(state.prefix, key);
                }
            }
        }
        // Without a new seek, the iterator need not show later writes.
        if let Some(state) = self.slots[slot].as_mut()
            && fresh
        {
            state.lost = true;
        }
        Ok(())
    }

    pub(super) fn close_iter(&mut self, slot: usize) -> Differs {
        self.slots[slot] = None;
        self.open.iter_mut().flatten().for_each(|s| s.close_iter(slot));
        Ok(())
    }

    pub(super) fn settle(&mut self, n: u64) -> Differs {
        let at = self.at(n);
        self.both(|| "flush".to_string(), |s| s.flush(&[at])).map(drop)?;
        let how = Compacting { bottommost: 2, exclusive: true, ..Compacting::default() };
        self.both(|| "compact".to_string(), |s| s.compact(at, None, None, how))?;
        self.both(|| "wait".to_string(), |s| s.wait()).map(drop)?;
        if self.snapshots == 0 && self.slots.iter().all(Option::is_none) {
            for name in [
                "rocksdb.estimate-num-keys",
                "rocksdb.num-entries-active-mem-table",
                "rocksdb.num-deletes-active-mem-table",
            ] {
                self.both(|| format!("{name} after a full compaction"), |s| s.int_property(at, name))?;
            }
        }
        self.scan(at)
    }

    /// Compares every row of a column family, forward and backward.
    pub(super) fn scan(&mut self, at: usize) -> Differs {
        let spec = Spec::default();
        let what = || "scan of everything".to_string();
        self.both(what, |s| {
            let mut rows = Vec::new();
            for (begin, step) in [(Move::First, Move::Next), (Move::Last, Move::Prev)] {
                s.open_iter(SLOTS, at, None, &spec);
                let mut stands = s.move_iter(SLOTS, &begin);
                while matches!(stands, Position::At(..)) {
                    rows.push(stands);
                    stands = s.move_iter(SLOTS, &step);
                }
                rows.push(stands);
            }
            s.close_iter(SLOTS);
            rows
        })
        .map(|_| ())
    }
}
