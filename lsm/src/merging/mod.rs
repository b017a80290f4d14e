//! The k-way merge of sorted sources into one sorted stream, forwards and backwards.
//!
//! A loser tree stores in each inner node the source that lost the comparison there. The overall winner is
//! above the root:
//!
//! ```text
//!              winner s2                 heads   s0: "kiwi...."  s1: "lime...."  (eight bytes of each
//!             ┌── s0 ──┐                         s2: "fig....."  s3: "plum...."   source's key)
//!         ┌─ s1 ─┐  ┌─ s3 ─┐
//!        s0     s1  s2    s3
//! ```
//! When the winner moves, only the losers on its path can be smaller. If a source wins twice in succession,
//! the merge assumes a run of entries from this source. The smallest loser on its path becomes the
//! *runner-up*, and each further entry of the run costs one comparison with the runner-up. A comparison uses
//! the cached heads as plain numbers first, and the whole keys only if the heads are equal.
//!
//! For backward merges the heads are complemented, so that the same tree finds the largest key.

use base::error::Result;
use base::invariant::{FastPath, INVARIANTS, takes_slow_path};
use base::iter::{Direction, InternalIterator};
use base::key::{InternalOrder, user_key};
use base::order::{Order, head};
use base::pinned::Pinned;
use base::stats::{PerfCounter, PerfTimer, perf_add};

/// Counts of the merge, for statistics and tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergingStats {
    /// Number of comparisons between sources, by heads or by whole keys.
    pub comparisons: u64,
    /// Number of comparisons that needed whole keys.
    pub key_comparisons: u64,
}

/// The value of `runner_up` if the runner-up is not known.
const UNKNOWN: u32 = u32::MAX;

/// Many sources as one source. The type is generic over the sources, so that an entry costs no virtual call.
pub struct Merging<I> {
    order: InternalOrder,
    sources: Vec<I>,
    /// For each source, the first eight bytes of its key as a number that sorts in the direction of the
    /// merge.
    heads: Vec<u64>,
    /// The losers of the inner nodes from 1 on; index 0 is unused. Source i is the leaf node `len + i`.
    losers: Vec<u32>,
    /// Scratch memory for `rebuild`.
    winners: Vec<u32>,
    winner: u32,
    /// The smallest source except the winner, while the winner is in a run.
    runner_up: u32,
    direction: Direction,
    valid: bool,
    /// The first error of a source. The merge stops at the error.
    failed: Option<base::error::Error>,
    /// The key at which the direction changes.
    scratch: Vec<u8>,
    /// The counts of the iterator since it was made.
    pub stats: MergingStats,
}

impl<I: InternalIterator> Merging<I> {
    /// Makes a merge. The sources are ordered from the newest to the oldest. Of equal internal keys, the
    /// entry of the earlier source comes first.
    pub fn new(order: InternalOrder, sources: Vec<I>) -> Self {
        let n = sources.len();
        base::invariant!(n < UNKNOWN as usize, "a merge has {n} sources");
        Merging {
            order,
            sources,
            heads: filled(n, u64::MAX),
            losers: filled(n.max(1), 0),
            winners: filled(2 * n.max(1), 0),
            winner: 0,
            runner_up: UNKNOWN,
            direction: Direction::Forward,
            valid: false,
            failed: None,
            scratch: Vec::new(),
            stats: MergingStats::default(),
        }
    }

    /// Returns the sources, in the order of the caller.
    pub fn sources(&self) -> &[I] {
        &self.sources
    }

    /// Returns the order of internal keys.
    pub fn order(&self) -> &InternalOrder {
        &self.order
    }

    /// Returns the index of the source of the current entry. Call only while the merge is valid.
    #[inline]
    pub fn current_source(&self) -> usize {
        self.winner as usize
    }

    /// Positions every source by `seek`, which gets the index of the source. The merge then runs forwards.
    pub(crate) fn seek_forward_with(&mut self, mut seek: impl FnMut(usize, &mut I)) {
        self.seek_each(&mut seek);
        let _time = PerfTimer::start(PerfCounter::SeekMinHeapTime);
        self.rebuild(Direction::Forward);
    }

    /// Positions every source by `seek`, which gets the index of the source. The merge then runs backwards.
    pub(crate) fn seek_backward_with(&mut self, mut seek: impl FnMut(usize, &mut I)) {
        self.seek_each(&mut seek);
        let _time = PerfTimer::start(PerfCounter::SeekMaxHeapTime);
        self.rebuild(Direction::Backward);
    }

    #[inline]
    fn seek_each(&mut self, seek: &mut impl FnMut(usize, &mut I)) {
        let _time = PerfTimer::start(PerfCounter::SeekChildSeekTime);
        perf_add(PerfCounter::SeekChildSeekCount, self.sources.len() as u64);
        self.sources.iter_mut().enumerate().for_each(|(i, source)| seek(i, source));
    }

    /// Moves only the current source to `target` (an internal key), in the direction of the merge. The merge
    /// skips the entries in between. Call only while the merge is valid.
    pub(crate) fn skip_current_to(&mut self, target: &[u8]) {
        base::invariant!(self.valid, "an invalid merging iterator is moved");
        let source = &mut self.sources[self.winner as usize];
        match self.direction {
            Direction::Forward => source.seek_total(target),
            Direction::Backward => source.seek_total_for_prev(target),
        }
        self.settle_winner();
    }

    /// Returns true if the last movement was backwards.
    #[inline]
    pub fn is_backward(&self) -> bool {
        self.direction == Direction::Backward
    }

    /// Updates the head of a source after it moved. Records the error of the source if the error ended it.
    #[inline]
    fn take_head(&mut self, i: usize) {
        let source = &self.sources[i];
        if source.valid() {
            let h = match &self.order.user {
                Order::Bytewise => head(user_key(source.key())),
                Order::Reverse => !head(user_key(source.key())),
                Order::Custom(_) => 0,
            };
            self.heads[i] = if self.direction == Direction::Forward { h } else { !h };
        } else {
            self.end_source(i);
        }
    }

    #[cold]
    fn end_source(&mut self, i: usize) {
        self.heads[i] = u64::MAX;
        if let Err(error) = self.sources[i].status() {
            self.failed.get_or_insert(error);
        }
    }

    /// Returns true if source `a` comes before source `b` in the direction of the merge.
    #[inline]
    fn before(&mut self, a: u32, b: u32) -> bool {
        self.stats.comparisons += 1;
        let (x, y) = (self.heads[a as usize], self.heads[b as usize]);
        if x != y { x < y } else { self.before_by_key(a, b) }
    }

    fn before_by_key(&mut self, a: u32, b: u32) -> bool {
        let (x, y) = (&self.sources[a as usize], &self.sources[b as usize]);
        match (x.valid(), y.valid()) {
            (true, true) => {}
            (true, false) => return true,
            (false, true) => return false,
            (false, false) => return a < b,
        }
        self.stats.key_comparisons += 1;
        let order = self.order.compare(x.key(), y.key()).then_with(|| a.cmp(&b));
        match self.direction {
            Direction::Forward => order.is_lt(),
            Direction::Backward => order.is_gt(),
        }
    }

    /// Compares all sources and rebuilds the loser tree.
    fn rebuild(&mut self, direction: Direction) {
        self.direction = direction;
        self.failed = None;
        let n = self.sources.len();
        (0..n).for_each(|i| self.take_head(i));
        self.runner_up = UNKNOWN;
        if n == 0 {
            self.valid = false;
            return;
        }
        base::invariant!(
            self.losers.len() >= n && self.winners.len() >= 2 * n,
            "{n} sources play in a tournament of {}",
            self.losers.len()
        );
        // Find the winner of each subtree, from the leaves upwards. The loser of each comparison stays in its
        // node.
        let mut winners = std::mem::take(&mut self.winners);
        for i in 0..n {
            winners[n + i] = i as u32;
        }
        for node in (1..n).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            let (win, lose) = if self.before(a, b) { (a, b) } else { (b, a) };
            winners[node] = win;
            self.losers[node] = lose;
        }
        self.winner = winners[1];
        base::invariant!(
            self.losers[1..n].iter().all(|loser| *loser != self.winner),
            "source {} wins the merge and loses a comparison",
            self.winner
        );
        self.winners = winners;
        self.conclude();
    }

    #[inline]
    fn conclude(&mut self) {
        // Only a source with the largest head may have ended, and only a source that ended can have failed.
        let w = self.winner as usize;
        base::invariant!(
            self.heads.iter().all(|&other| self.heads[w] <= other),
            "source {w} won the merge, and another source has a smaller head"
        );
        base::invariant!(self.runner_up != self.winner, "source {w} is its own runner-up");
        self.valid = (self.heads[w] != u64::MAX || self.sources[w].valid()) && self.failed.is_none();
    }

    /// Finds the winner again after the source of the old winner moved.
    #[inline]
    fn settle_winner(&mut self) {
        let w = self.winner;
        self.take_head(w as usize);
        if self.runner_up != UNKNOWN && self.before(w, self.runner_up) {
            // The source is still in its run.
            if INVARIANTS && self.sources[w as usize].valid() {
                self.check_run(w);
            }
            return self.conclude();
        }
        self.replay(w);
    }

    /// Compares the source with all losers on its path, as if it were not in a run. For some keys only: see [`takes_slow_path`].
    /// The comparisons are not counted.
    #[cold]
    fn check_run(&mut self, w: u32) {
        if takes_slow_path(FastPath::MergeRun, user_key(self.sources[w as usize].key())) {
            let stats = self.stats;
            self.replay(w);
            self.stats = stats;
            base::invariant!(self.winner == w, "source {w} is in a run, and source {} wins", self.winner);
        }
    }

    /// Compares the old winner with the losers on its path. The result of a comparison of random keys is not
    /// predictable. So, if the heads differ, both outcomes are computed and one is selected without a branch.
    /// With a branch a random entry of eight sources took 23 ns, without a branch 13 ns.
    fn replay(&mut self, old: u32) {
        let mut win = old;
        let mut win_head = self.heads[old as usize];
        let mut node = (self.sources.len() + old as usize) / 2;
        while node > 0 {
            let other = self.losers[node];
            let other_head = self.heads[other as usize];
            let lost = if other_head == win_head {
                self.before(other, win)
            } else {
                self.stats.comparisons += 1;
                other_head < win_head
            };
            self.losers[node] = if lost { win } else { other };
            win = if lost { other } else { win };
            win_head = if lost { other_head } else { win_head };
            node /= 2;
        }
        self.runner_up = UNKNOWN;
        self.winner = win;
        if win == old {
            self.find_runner_up();
        }
        self.conclude();
    }

    /// Finds the smallest loser on the path of the winner.
    fn find_runner_up(&mut self) {
        let mut node = (self.sources.len() + self.winner as usize) / 2;
        let mut best = UNKNOWN;
        while node > 0 {
            let other = self.losers[node];
            if best == UNKNOWN || self.before(other, best) {
                best = other;
            }
            node /= 2;
        }
        base::invariant!(best != self.winner, "source {} is its own runner-up", self.winner);
        self.runner_up = best;
    }

    /// Moves all other sources to the first entry after the current entry, in the new direction.
    fn turn(&mut self, to: Direction) {
        base::invariant!(self.valid, "an invalid merging iterator changes its direction");
        let mut at = std::mem::take(&mut self.scratch);
        at.clear();
        at.extend_from_slice(self.sources[self.winner as usize].key());
        let current = self.winner as usize;
        for i in (0..self.sources.len()).filter(|&i| i != current) {
            let source = &mut self.sources[i];
            // Of equal keys, the entry of the earlier source comes first in forward order.
            match to {
                Direction::Backward => {
                    source.seek_total_for_prev(&at);
                    if i > current && source.valid() && self.order.compare(source.key(), &at).is_eq() {
                        source.prev();
                    }
                }
                Direction::Forward => {
                    source.seek_total(&at);
                    if i < current && source.valid() && self.order.compare(source.key(), &at).is_eq() {
                        source.next();
                    }
                }
            }
        }
        base::invariant!(
            (0..self.sources.len()).filter(|&i| i != current && self.sources[i].valid()).all(|i| {
                let order = self.order.compare(self.sources[i].key(), &at);
                if to == Direction::Forward { order.is_ge() } else { order.is_le() }
            }),
            "a source stands before the current entry after a merge changed its direction"
        );
        self.scratch = at;
        match to {
            Direction::Forward => self.sources[current].next(),
            Direction::Backward => self.sources[current].prev(),
        }
        self.rebuild(to);
    }
}

/// Returns `n` copies of `value`. `vec![0; n]` would call `calloc`, and glibc does not serve `calloc` from
/// its cache of free memory. This would cost 300 instructions for each vector of an iterator.
fn filled<T: Copy>(n: usize, value: T) -> Vec<T> {
    let mut vec = Vec::with_capacity(n);
    vec.extend(std::iter::repeat_n(value, n));
    vec
}

impl<I: InternalIterator> InternalIterator for Merging<I> {
    #[inline]
    fn valid(&self) -> bool {
        self.valid
    }

    fn seek_to_first(&mut self) {
        self.seek_forward_with(|_, source| source.seek_to_first());
    }

    fn seek_to_last(&mut self) {
        self.seek_backward_with(|_, source| source.seek_to_last());
    }

    fn seek(&mut self, target: &[u8]) {
        self.seek_forward_with(|_, source| source.seek(target));
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.seek_backward_with(|_, source| source.seek_for_prev(target));
    }

    fn seek_total(&mut self, target: &[u8]) {
        self.seek_forward_with(|_, source| source.seek_total(target));
    }

    fn seek_total_for_prev(&mut self, target: &[u8]) {
        self.seek_backward_with(|_, source| source.seek_total_for_prev(target));
    }

    #[inline]
    fn next(&mut self) {
        base::invariant!(self.valid, "an invalid merging iterator is moved");
        if self.direction == Direction::Backward {
            return self.turn(Direction::Forward);
        }
        self.sources[self.winner as usize].next();
        if let [source] = &self.sources[..] {
            self.valid = source.valid();
            if !self.valid {
                self.end_source(0);
            }
            return;
        }
        self.settle_winner();
    }

    #[inline]
    fn prev(&mut self) {
        base::invariant!(self.valid, "an invalid merging iterator is moved");
        if self.direction == Direction::Forward {
            return self.turn(Direction::Backward);
        }
        self.sources[self.winner as usize].prev();
        if let [source] = &self.sources[..] {
            self.valid = source.valid();
            if !self.valid {
                self.end_source(0);
            }
            return;
        }
        self.settle_winner();
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.sources[self.winner as usize].key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.sources[self.winner as usize].value()
    }

    fn status(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn pin_value(&self) -> Pinned {
        self.sources[self.winner as usize].pin_value()
    }

    fn pin_key(&self) -> Option<Pinned> {
        self.sources[self.winner as usize].pin_key()
    }

    fn value_shown(&mut self) {
        if let Some(source) = self.sources.get_mut(self.winner as usize).filter(|source| source.valid()) {
            source.value_shown();
        }
    }
}
