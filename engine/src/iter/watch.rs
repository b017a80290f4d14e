//! Scans that find the active memtable full of hidden entries ask for it to be flushed
//! (`memtable_op_scan_flush_trigger`, `memtable_avg_op_scan_flush_trigger`): a flush drops what nobody sees.
//!
//! An entry is taken for one of the memtable by its sequence number, as RocksDB does it (`db/db_iter.h`,
//! `MarkMemtableForFlushForPerOpTrigger`, `MarkMemtableForFlushForAvgTrigger`). Only the memtable that was active
//! when the iterator was made is watched, and only on the way forward.

use base::SequenceNumber;
use mem::memtable::MemTable;

use crate::options::FamilyOptions;
use crate::sync::Arc;

/// Of one iterator.
pub struct Watch {
    memtable: Arc<MemTable>,
    /// Entries from here on are the memtable's.
    from: SequenceNumber,
    /// Hidden entries in one operation that are too many; 0 once the memtable is marked.
    by_one: u64,
    /// Hidden entries an operation, on average since the last seek, that are too many; 0: not looked at.
    by_average: u64,
    operations: u64,
    hidden: u64,
}

impl Watch {
    /// `None` if the options ask for nothing.
    pub fn new(options: &FamilyOptions, memtable: &Arc<MemTable>) -> Option<Box<Self>> {
        let by_one = u64::from(options.memtable_op_scan_flush_trigger);
        if by_one == 0 {
            return None;
        }
        let from = if memtable.is_empty() { memtable.earliest_seq() + 1 } else { memtable.first_seq() };
        let by_average = u64::from(options.memtable_avg_op_scan_flush_trigger);
        base::invariant!(
            from <= base::key::MAX_SEQUENCE + 1,
            "a memtable starts at the sequence number {from}"
        );
        Some(Box::new(Watch {
            memtable: memtable.clone(),
            from,
            by_one,
            by_average,
            operations: 1,
            hidden: 0,
        }))
    }

    /// An entry at `seq` was stepped over; `in_this` counts those of the operation that runs.
    #[inline]
    pub fn hidden(&mut self, seq: SequenceNumber, in_this: &mut u64) {
        if self.by_one == 0 || seq < self.from {
            return;
        }
        *in_this += 1;
        base::invariant!(
            self.by_one > 0 && self.hidden < u64::MAX,
            "hidden entries are counted after the memtable was marked"
        );
        self.hidden += 1;
        if *in_this >= self.by_one {
            self.mark();
        }
    }

    /// A move to a neighbour, or a seek, which ends the average so far.
    pub fn step(&mut self, sought: bool) {
        if !sought {
            self.operations += 1;
            return;
        }
        let many = self.by_average > 0 && self.hidden >= self.by_one;
        if self.by_one > 0 && many && self.hidden >= self.operations.saturating_mul(self.by_average) {
            self.mark();
        }
        (self.operations, self.hidden) = (1, 0);
    }

    fn mark(&mut self) {
        self.memtable.mark_for_flush();
        self.by_one = 0;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.step(true);
    }
}
