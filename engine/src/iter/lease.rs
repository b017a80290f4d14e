//! The share of the memory budget that an iterator has.
//!
//! Memory that an idle iterator keeps cannot be taken away, because only the caller of the iterator moves it. So the decision is made
//! at the end of each move. There are two states after a move:
//!
//! ```text
//!  open     the iterator keeps sources, blocks and super version; the budget has room for them
//!  parked   the iterator has a copy of its entry, and a snapshot; the next move collects the sources of the newest super version
//! ```
//! Invariant: both states give the same answers. The iterator reads at a snapshot, which it takes when it is made: flush and
//! compaction keep the entries that the snapshot needs in every newer version. A column family with a compaction filter, FIFO
//! compaction, timestamps or in-place updates does not keep them, and an ingestion behind adds older entries. There, for an
//! iterator that counts hidden entries (`memtable_op_scan_flush_trigger`), and for options that ask for the sources of one super
//! version or for entries under range tombstones, the iterator has no lease, and the budget does not limit what it pins.

use mem::budget::{Holder, MemoryBudget, Share};

use super::context::IteratorContext;
use crate::family::SuperVersion;
use crate::options::{CompactionStyle, ReadOptions, ReadTier};
use crate::sequence::{Snapshot, Snapshots};
use crate::sync::Arc;

/// The share of one iterator.
pub struct Lease {
    budget: Arc<MemoryBudget>,
    /// The memory of the iterator itself.
    own: Share,
    /// The blocks that the open iterator may pin. `None` if the iterator is parked.
    pins: Option<Share>,
}

impl Lease {
    /// Returns the lease of a new iterator. Returns `None` without a budget, and if newer versions may lack what the iterator shows.
    pub fn new(context: &IteratorContext, options: &ReadOptions) -> Option<Box<Lease>> {
        let budget = context.lender.as_ref()?.memory_budget.as_ref()?;
        let family = context.family.options();
        let keeps_all = family.compaction_filter.is_none()
            && family.compaction_filter_factory.is_none()
            && family.compaction_style != CompactionStyle::Fifo
            && family.memtable_op_scan_flush_trigger == 0
            && !context.family.parts().pick.allow_ingest_behind
            && !family.inplace_update_support
            && context.family.order().user.timestamp_size() == 0
            && !context.sequence.undecided().is_enabled();
        let any_version = !options.tailing
            && !options.pin_data
            && !options.ignore_range_deletions
            && options.table_filter.is_none()
            && options.read_tier == ReadTier::All
            && options.iter_start_ts.is_none();
        (keeps_all && any_version).then(|| {
            let own = budget.take(Holder::Iterators, 0);
            Box::new(Lease { budget: budget.clone(), own, pins: None })
        })
    }

    /// Takes the snapshot of an iterator. The super version must be pinned afterwards.
    pub fn snapshot(context: &IteratorContext) -> Option<Arc<Snapshot>> {
        let tools = context.lender.as_ref()?;
        Some(Snapshots::take(&tools.snapshots, &context.sequence, tools.env.clock.now_seconds()))
    }

    /// Returns true if the iterator may stay open: it then has a share for `blocks` bytes of pinned blocks and for the memtables of
    /// the super version. An iterator that steps may use a last quarter that seeks leave.
    pub fn may_stay_open(
        &mut self,
        super_version: &SuperVersion,
        buffer_bytes: usize,
        blocks: usize,
        steps: bool,
    ) -> bool {
        let most = self.budget.kept_max();
        if self.pins.is_some() && self.budget.kept() <= most {
            return true;
        }
        let limit = if steps { most } else { most / 4 * 3 };
        self.pins = None;
        self.pins = self.budget.try_keep(Holder::PinnedBlocks, blocks, limit);
        let active = super_version.mem.memory_used().max(buffer_bytes);
        let stays = self.pins.is_some()
            && super_version.mem.keep(&self.budget, active, limit)
            && super_version.imm.iter().all(|mem| mem.keep(&self.budget, mem.memory_used(), limit));
        if !stays {
            self.pins = None;
        }
        stays
    }

    /// Sets the memory of the iterator itself.
    pub fn charge(&mut self, bytes: usize) {
        if bytes != self.own.bytes() {
            self.own.set(bytes);
        }
    }

    /// Returns the share of the blocks, because the iterator has released them.
    pub fn release(&mut self) {
        self.pins = None;
    }
}
