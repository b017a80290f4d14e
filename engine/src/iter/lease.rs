//! The share of the memory budget that an iterator has.
//!
//! Memory that an idle iterator keeps cannot be taken away, because only the caller of the iterator moves it. So the decision is made
//! at the end of each move. There are two states after a move:
//!
//! ```text
//!  open     the iterator keeps sources, blocks and super version; the budget has room for them
//!  parked   the iterator has a copy of its entry, and a snapshot; the next move collects the sources of the newest super version
//! ```
//! Invariant: both states give the same answers. The iterator reads at a snapshot, which it takes when it is made:
//! flush and compaction keep the entries that the snapshot needs in every newer version. A commit that changes what
//! older snapshots show ends an era, and the iterator then moves to the last super version of its era: see
//! [`crate::family::Era`]. A column family with a compaction filter, FIFO compaction, timestamps or in-place updates
//! does not keep the entries of snapshots. An iterator over such a column family has no lease, and the budget does not
//! limit the memory that it pins. The same is true of an iterator that counts hidden entries
//! (`memtable_op_scan_flush_trigger`), and of options that ask for the sources of one super version or for entries
//! under range tombstones.

use base::SequenceNumber;
use mem::budget::{Holder, MemoryBudget, Share};
use mem::memtable::Keeper;

use super::context::IteratorContext;
use crate::family::{EraReader, SuperVersion};
use crate::options::{CompactionStyle, ReadOptions, ReadTier};
use crate::output::JobTools;
use crate::sequence::{Snapshot, Snapshots};
use crate::sync::Arc;

/// The memory of an iterator outside of its walk and its sources: the lease with room for four memtables, the snapshot with its place
/// in the list of snapshots, and the headers of eight allocations.
const OUTSIDE_BYTES: usize = size_of::<Lease>()
    + size_of::<Snapshot>()
    + 4 * size_of::<SequenceNumber>()
    + 4 * size_of::<Keeper>()
    + 8 * ALLOCATION_HEADER;
/// The memory that an allocator adds to an allocation, with the rounding: for glibc, 8 to 23 bytes.
const ALLOCATION_HEADER: usize = 16;

/// The share of one iterator.
pub struct Lease {
    budget: Arc<MemoryBudget>,
    /// The memory of the iterator itself.
    own: Share,
    /// The blocks that the open iterator may pin. `None` if the iterator is parked.
    pins: Option<Share>,
    /// The memtables that the open iterator keeps.
    memtables: Vec<Keeper>,
    era: EraReader,
}

impl Lease {
    /// Returns true if newer versions keep all that the iterator shows, so that the iterator may have a lease.
    pub fn is_possible(context: &IteratorContext, options: &ReadOptions) -> bool {
        let family = context.family.options();
        let keeps_all = family.compaction_filter.is_none()
            && family.compaction_filter_factory.is_none()
            && family.compaction_style != CompactionStyle::Fifo
            && family.memtable_op_scan_flush_trigger == 0
            && !family.inplace_update_support
            && context.family.order().user.timestamp_size() == 0
            && !context.sequence.undecided().is_enabled();
        let any_version = !options.tailing
            && !options.pin_data
            && !options.ignore_range_deletions
            && options.table_filter.is_none()
            && options.read_tier == ReadTier::All
            && options.iter_start_ts.is_none();
        keeps_all && any_version
    }

    /// Returns the lease of a new iterator in a super version. Returns `None` without a budget, and if the era of the super version
    /// has ended already.
    pub fn new(tools: &JobTools, super_version: &SuperVersion) -> Option<Box<Lease>> {
        let budget = tools.memory_budget.as_ref()?;
        let era = super_version.enter_era(budget)?;
        let own = budget.take(Holder::Iterators, 0);
        Some(Box::new(Lease { budget: budget.clone(), own, pins: None, memtables: Vec::new(), era }))
    }

    /// Takes the snapshot of an iterator. The super version must be pinned afterwards.
    pub fn snapshot(context: &IteratorContext) -> Option<Arc<Snapshot>> {
        let tools = context.lender.as_ref()?;
        let now_s = tools.env.clock.now_seconds();
        Some(Snapshots::take_uncounted(&tools.snapshots, now_s))
    }

    /// Returns the last super version of the iterator's era, if `newest` belongs to a newer era.
    pub fn last_of_era(&self, newest: &SuperVersion) -> Option<Arc<SuperVersion>> {
        if self.era.is_of(newest) { None } else { self.era.last() }
    }

    /// Moves to the era of a super version. Returns false if this era has ended already.
    pub fn enter(&mut self, super_version: &SuperVersion) -> bool {
        if self.era.is_of(super_version) {
            return true;
        }
        let entered = super_version.enter_era(&self.budget);
        entered.map(|era| self.era = era).is_some()
    }

    /// Returns true if the iterator may stay open: it then has a share for `blocks` bytes of pinned blocks, and keeps the memtables
    /// of the super version. `is_newest` returns true if the super version is the newest.
    pub fn may_stay_open(
        &mut self,
        super_version: &SuperVersion,
        blocks: usize,
        steps: bool,
        is_newest: impl Fn() -> bool,
    ) -> bool {
        if self.pins.is_some() && self.budget.kept() <= self.budget.kept_max() {
            return true;
        }
        self.release();
        if !self.budget.has_room(steps, &is_newest) {
            return false;
        }
        self.pins = Some(self.budget.take(Holder::PinnedBlocks, blocks));
        let memtables = std::iter::once(&super_version.mem).chain(super_version.imm.iter());
        self.memtables.extend(memtables.map(|mem| mem.keep(&self.budget)));
        let stays = self.budget.has_room(steps, is_newest);
        if !stays {
            self.release();
        }
        stays
    }

    /// Sets the memory of the iterator itself: `bytes`, and what the iterator has outside of its walk and its sources.
    pub fn charge(&mut self, bytes: usize) {
        let bytes = bytes + OUTSIDE_BYTES;
        if bytes != self.own.bytes() {
            self.own.set(bytes);
        }
    }

    /// Returns the shares of blocks and memtables, because the iterator has released them.
    pub fn release(&mut self) {
        self.pins = None;
        self.memtables.clear();
    }
}
