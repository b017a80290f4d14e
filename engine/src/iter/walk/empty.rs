//! Skips empty key ranges, and finds such ranges while the walk skips hidden entries.

use base::iter::{Direction, InternalIterator};
use base::key::{self, pack};

use super::super::keys::{MIN_TS, seek_key};
use super::super::skip::{LOOK_FIRST, RangeSkipper};
use super::search::Search;

impl<I: InternalIterator> Search<I> {
    /// Skips the empty key range around the source, which stands after many hidden entries. Returns true if
    /// no key follows.
    #[cold]
    #[inline(never)]
    pub(super) fn look(&mut self, direction: Direction) -> bool {
        base::invariant!(self.source.valid(), "a walk looks for empty ranges after its end");
        self.empty.looked = true;
        let Some(skipper) = &mut self.empty.skipper else {
            self.empty.look_at = u64::MAX;
            return false;
        };
        let here = key::user_key(self.source.key());
        let counts = (self.counts.hidden_run, self.counts.skips);
        let watched = skipper.is_watching();
        let Some(to) = skipper.look(&self.view.order, here, direction, counts) else {
            self.empty.look_at = RangeSkipper::next_look(self.counts.hidden_run);
            if !watched && skipper.is_watching() {
                self.read_again(direction);
            }
            return false;
        };
        self.empty.look_at = self.counts.hidden_run + LOOK_FIRST;
        let Some(to) = to else { return true };
        let (bound, trailer) = match direction {
            // This position is before newer entries of the key too: a watch must not miss them.
            Direction::Forward => (&self.view.upper, pack(key::MAX_SEQUENCE, key::TYPE_FOR_SEEK)),
            Direction::Backward => (&self.view.lower, 0),
        };
        let is_past = |bound: &[u8]| match direction {
            Direction::Forward => self.view.order.compare(&to, bound).is_ge(),
            Direction::Backward => self.view.order.compare(&to, bound).is_lt(),
        };
        if bound.as_deref().is_some_and(is_past) {
            return true;
        }
        seek_key(&mut self.seek_key, &to, 0, trailer, MIN_TS);
        match direction {
            Direction::Forward => self.source.seek_total(&self.seek_key),
            Direction::Backward => self.source.seek_total_for_prev(&self.seek_key),
        }
        false
    }

    /// Positions all sources again after a watch has begun. A source stands on its next entry, which can be far
    /// ahead of the search. If an entry was written between the two before the watch began, neither the source nor
    /// the watch has seen it.
    fn read_again(&mut self, direction: Direction) {
        base::invariant!(self.source.valid(), "a walk reads again after its end");
        self.seek_key.clear();
        self.seek_key.extend_from_slice(self.source.key());
        match direction {
            Direction::Forward => self.source.seek_total(&self.seek_key),
            Direction::Backward => self.source.seek_total_for_prev(&self.seek_key),
        }
    }

    /// Ends the lookup of a move. If a watch runs, the entries that the walk skipped since its start are an empty key
    /// range.
    #[cold]
    #[inline(never)]
    pub(super) fn looked(&mut self, direction: Direction) {
        self.empty.looked = false;
        self.empty.look_at = LOOK_FIRST;
        let Some(mut skipper) = self.empty.skipper.take() else { return };
        if self.error.is_some() {
            skipper.cancel();
        } else {
            let end = match direction {
                Direction::Forward => self.view.upper.as_deref(),
                Direction::Backward => self.view.lower.as_deref(),
            };
            let to = if self.valid { Some(self.full_key()) } else { end };
            skipper.finish(&self.view.order, to, self.counts.skips);
        }
        self.empty.skipper = Some(skipper);
    }

    /// Does the work of [`Search::unseen_at`] with the key of the source.
    #[cold]
    #[inline(never)]
    pub(super) fn unseen_here(&mut self) {
        base::invariant!(self.source.valid(), "an invisible entry is noted after the end");
        if let Some(skipper) = &mut self.empty.skipper {
            skipper.finish(&self.view.order, Some(key::user_key(self.source.key())), self.counts.skips);
        }
    }

    /// Ends a watch at a live entry that is too new for this reader: newer readers see the entry.
    pub(super) fn unseen_at(&mut self, user_key: &[u8]) {
        if let Some(skipper) = &mut self.empty.skipper {
            skipper.finish(&self.view.order, Some(user_key), self.counts.skips);
        }
    }
}
