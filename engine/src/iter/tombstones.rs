//! The range tombstones an iterator has to respect, of all sources together.
//!
//! Present only where a memtable or a file of the pinned moment has any; most iterators have none and pay
//! nothing. Each source keeps the fragment it looked at last, since iterators move to neighbours.

use base::key::{self, InternalOrder, SequenceNumber};
use base::Result;
use mem::range_del::FragmentedTombstones;

use crate::sync::Arc;

/// One source's tombstones.
struct Source {
    fragments: Arc<FragmentedTombstones>,
    /// Internal keys between which they count: a table's bounds. `None` for memtables.
    bounds: Option<(Box<[u8]>, Box<[u8]>)>,
    /// The fragment looked at last.
    at: usize,
}

/// See the module.
pub struct Tombstones {
    order: InternalOrder,
    /// With timestamps: tombstones after it are not seen.
    timestamp: Option<Vec<u8>>,
    sources: Vec<Source>,
}

impl Tombstones {
    /// None yet, for a reader at `timestamp` where there are any.
    pub fn new(order: InternalOrder, timestamp: Option<Vec<u8>>) -> Self {
        Tombstones { order, timestamp, sources: Vec::new() }
    }

    /// Adds a source; one without tombstones is left out.
    pub fn add(&mut self, fragments: Arc<FragmentedTombstones>, bounds: Option<(&[u8], &[u8])>) {
        if !fragments.is_empty() {
            let bounds = bounds.map(|(a, b)| (a.into(), b.into()));
            self.sources.push(Source { fragments, bounds, at: usize::MAX });
        }
    }

    /// `None` where there are no tombstones at all.
    pub fn if_any(self) -> Option<Self> {
        (!self.sources.is_empty()).then_some(self)
    }

    /// Forgets where it was; for a jump.
    pub fn reset(&mut self) {
        for source in &mut self.sources {
            source.at = usize::MAX;
        }
    }

    /// Whether a tombstone that a reader at `snapshot` sees hides this entry.
    pub fn covers(&mut self, internal_key: &[u8], snapshot: SequenceNumber) -> Result<bool> {
        let (user_key, seq, _) = key::split(internal_key);
        let bare = &user_key[..user_key.len().saturating_sub(self.order.user.timestamp_size())];
        for source in &mut self.sources {
            if let Some((smallest, largest)) = &source.bounds
                && (self.order.compare(internal_key, smallest).is_lt()
                    || self.order.compare(internal_key, largest).is_gt())
            {
                continue;
            }
            if source.newest_over(&self.order, bare, snapshot, self.timestamp.as_deref()).is_some_and(|newest| newest > seq) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Source {
    fn newest_over(
        &mut self,
        order: &InternalOrder,
        bare: &[u8],
        snapshot: SequenceNumber,
        timestamp: Option<&[u8]>,
    ) -> Option<SequenceNumber> {
        let len = self.fragments.len();
        let mut at = self.at;
        let near = at < len && {
            let fragment = self.fragments.fragment(at);
            order.user.compare_bare(bare, fragment.end).is_lt()
                && (at == 0 || order.user.compare_bare(bare, self.fragments.fragment(at - 1).end).is_ge())
        };
        if !near {
            at = self.fragments.first_ending_after(bare);
            self.at = at;
        }
        if at >= len {
            return None;
        }
        let fragment = self.fragments.fragment(at);
        if order.user.compare_bare(bare, fragment.start).is_lt() {
            return None;
        }
        let from = fragment.seqs.partition_point(|&seq| seq > snapshot);
        match timestamp {
            None => fragment.seqs.get(from).copied(),
            Some(timestamp) => (from..fragment.seqs.len())
                .find(|&i| order.user.compare_timestamp(fragment.timestamp(i), timestamp).is_le())
                .map(|i| fragment.seqs[i]),
        }
    }
}
