//! When writes must wait: the decision and the rate, from plain numbers.
//!
//! RocksDB's triggers (`db/column_family.cc`, `db/write_controller.cc`): too many unflushed memtables,
//! too many files in level 0, too many bytes waiting to be compacted. Between "go" and "stop" writes are
//! slowed to a rate that adapts to whether the debt shrinks.

use crate::pick::Options;

/// What the decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    None,
    MemtableLimit,
    L0FileCountLimit,
    PendingCompactionBytes,
    WriteBufferManagerLimit,
}

/// What writers are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    Normal,
    /// Bytes a second for all writers together.
    Delayed { rate: u64 },
    Stopped,
}

/// The numbers the triggers look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub num_unflushed_memtables: usize,
    /// Files or sorted runs in level 0, as the picker counts them.
    pub num_l0_files: usize,
    pub pending_compaction_bytes: u64,
}

/// The decision with what brought it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub stall: Stall,
    pub cause: Cause,
    /// Compactions should be given all the threads there are.
    pub speed_up_compaction: bool,
}

/// Remembers the last decision of one family, to adapt the rate.
#[derive(Clone, Debug)]
pub struct Pressure {
    last: Decision,
    last_pending_bytes: u64,
    max_rate: u64,
    rate: u64,
}

impl Pressure {
    /// `delayed_write_rate` in bytes a second; 0 takes 16 MiB.
    pub fn new(delayed_write_rate: u64) -> Self {
        let _ = delayed_write_rate;
        todo!()
    }

    /// Decides anew. Call after each flush, compaction, memtable switch and change of options.
    pub fn decide(&mut self, load: &Load, options: &Options, auto_compactions_disabled: bool) -> Decision {
        let _ = (load, options, auto_compactions_disabled);
        todo!()
    }
}
