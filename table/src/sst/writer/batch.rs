//! Compresses the blocks of one table on several threads. A batch of blocks is filled, compressed by all
//! threads, and written in order. The written bytes do not depend on the number of threads.

use std::sync::Arc;

use base::Result;
use env::Executor;
use format::index_builder::PreparedEntry;

use super::packer::{Packed, Packer};

/// Number of blocks of a batch for each thread. With this number, starting the threads costs little.
const BLOCKS_PER_THREAD: usize = 32;

pub(super) struct Batch {
    executor: Arc<dyn Executor>,
    packers: Vec<Packer>,
    pub(super) slots: Vec<Slot>,
    /// Number of slots in use. The other slots keep their memory.
    pub(super) used: usize,
    pub(super) bytes: u64,
}

#[derive(Default)]
pub(super) struct Slot {
    pub(super) payload: Vec<u8>,
    pub(super) entry: PreparedEntry,
    pub(super) packed: Vec<u8>,
    pub(super) outcome: Option<Result<Packed>>,
}

impl Batch {
    pub(super) fn new(executor: Arc<dyn Executor>, packers: Vec<Packer>) -> Self {
        base::invariant!(!packers.is_empty(), "a batch of blocks is compressed by no thread");
        Batch { executor, packers, slots: Vec::new(), used: 0, bytes: 0 }
    }

    /// Returns the next slot to fill.
    pub(super) fn slot(&mut self) -> &mut Slot {
        if self.used == self.slots.len() {
            self.slots.push(Slot::default());
        }
        self.used += 1;
        base::invariant!(
            self.used <= self.slots.len(),
            "{} blocks are in {} slots",
            self.used,
            self.slots.len()
        );
        &mut self.slots[self.used - 1]
    }

    pub(super) fn is_full(&self) -> bool {
        self.used >= self.packers.len() * BLOCKS_PER_THREAD
    }

    /// Compresses the blocks in the slots.
    pub(super) fn pack(&mut self) {
        let share = self.used.div_ceil(self.packers.len()).max(1);
        base::invariant!(
            share * self.packers.len() >= self.used,
            "{} threads compress {share} of {} blocks each",
            self.packers.len(),
            self.used
        );
        let shares = self.slots[..self.used].chunks_mut(share);
        let jobs = shares.zip(&mut self.packers).map(|(slots, packer)| -> Box<dyn FnOnce() + Send + '_> {
            Box::new(move || {
                for slot in slots {
                    slot.outcome = Some(packer.pack(&slot.payload, &mut slot.packed));
                }
            })
        });
        self.executor.run_all(jobs.collect());
        base::invariant!(
            self.slots[..self.used].iter().all(|slot| slot.outcome.is_some()),
            "a block of a batch was not compressed"
        );
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.bytes = 0;
    }
}
