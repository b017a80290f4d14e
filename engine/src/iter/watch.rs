//! Requests a flush of the active memtable if scans find too many hidden entries in it
//! (`memtable_op_scan_flush_trigger`, `memtable_avg_op_scan_flush_trigger`). A flush drops the entries that no
//! reader sees.
//!
//! The sequence number of an entry decides whether the entry is in the memtable, as in RocksDB (`db/db_iter.h`,
//! `MarkMemtableForFlushForPerOpTrigger`, `MarkMemtableForFlushForAvgTrigger`). Only the memtable that was active
//! when the iterator was made is watched, and only in the forward direction.

use base::SequenceNumber;
use mem::memtable::MemTable;

use crate::family::ScanSettings;
use crate::sync::Arc;

/// Counts the hidden entries of the memtable for one iterator.
pub struct Watch {
    memtable: Arc<MemTable>,
    /// Entries at this sequence number or above are in the memtable.
    from: SequenceNumber,
    /// The number of hidden entries in one operation that requests a flush; 0 after the memtable was marked.
    by_one: u64,
    /// The average number of hidden entries for each operation since the last seek that requests a flush; 0
    /// disables this rule.
    by_average: u64,
    operations: u64,
    hidden: u64,
}

impl Watch {
    /// Returns `None` if `memtable_op_scan_flush_trigger` is 0.
    pub fn new(settings: &ScanSettings, memtable: &Arc<MemTable>) -> Option<Box<Self>> {
        let by_one = settings.flush_trigger;
        if by_one == 0 {
            return None;
        }
        let from = if memtable.is_empty() { memtable.earliest_seq() + 1 } else { memtable.first_seq() };
        let by_average = settings.flush_trigger_average;
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

    /// Counts a hidden entry at `seq`. `in_this` counts the entries of the present operation.
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

    /// Counts an operation. A seek also applies the rule of the average, and starts a new average.
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
