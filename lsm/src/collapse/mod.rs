//! Which versions of a key survive a flush or a compaction.
//!
//! Takes a sorted stream of internal keys and gives the sorted stream to be written: versions that no
//! snapshot can see are gone, tombstones that hide nothing are gone, merge operands are merged, sequence
//! numbers are zeroed at the bottom. The rules are RocksDB's (`db/compaction/compaction_iterator.cc`,
//! `db/merge_helper.cc`).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::error::Result;
use base::iter::InternalIterator;
use base::key::{InternalOrder, SequenceNumber};

use crate::filter::{CompactionFilter, FetchBlob};
use crate::merge::MergeOperator;
use crate::range_del::CompactionTombstones;
use crate::stripes::Stripes;

/// What lies below the output, as far as the rules ask.
pub trait Below {
    /// Whether no level below the output can hold any version of `user_key`. Keys are asked ascending.
    fn key_not_exists_beyond_output(&mut self, user_key: &[u8]) -> bool;
}

/// For a flush, where everything may lie below.
pub struct AnythingBelow;

impl Below for AnythingBelow {
    fn key_not_exists_beyond_output(&mut self, _user_key: &[u8]) -> bool {
        false
    }
}

/// The compaction behind a collapse; a flush has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compaction {
    /// No level below holds anything in the inputs' range. Give false where ingesting behind is allowed.
    pub bottommost: bool,
    /// The level of the first inputs, for the filter.
    pub start_level: usize,
}

/// The fixed facts of one collapse.
pub struct Config {
    pub order: InternalOrder,
    pub snapshots: Stripes,
    /// Snapshots taken for write-conflict checks; `MAX_SEQUENCE` when there is none.
    pub earliest_write_conflict_snapshot: SequenceNumber,
    pub compaction: Option<Compaction>,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    pub filter: Option<Arc<dyn CompactionFilter>>,
    /// Timestamps below this may be collapsed; `None` keeps all history of timestamped keys.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// Entries newer than this keep their sequence number at the bottom; `None`: the oldest snapshot.
    pub preserve_seqno_after: Option<SequenceNumber>,
    /// A single deletion over a deletion is a corruption (true, the default) or let pass.
    pub enforce_single_del_contracts: bool,
    /// Raised to stop: the collapse ends with `ShutdownInProgress`.
    pub shutting_down: Option<Arc<AtomicBool>>,
    /// Raised to stop: the collapse ends with `Incomplete`, subcode `ManualCompactionPaused`.
    pub canceled: Option<Arc<AtomicBool>>,
}

impl Config {
    /// A flush or compaction without snapshots, merge operator, filter or timestamps.
    pub fn new(order: InternalOrder) -> Self {
        Config {
            order,
            snapshots: Stripes::default(),
            earliest_write_conflict_snapshot: base::key::MAX_SEQUENCE,
            compaction: None,
            merge_operator: None,
            filter: None,
            full_history_ts_low: None,
            preserve_seqno_after: None,
            enforce_single_del_contracts: true,
            shutting_down: None,
            canceled: None,
        }
    }
}

/// What happened to the rows; RocksDB's `CompactionIterationStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollapseStats {
    pub num_input_records: u64,
    pub num_input_deletion_records: u64,
    pub num_input_timed_put_records: u64,
    pub num_input_corrupt_records: u64,
    pub total_input_raw_key_bytes: u64,
    pub total_input_raw_value_bytes: u64,
    /// Dropped by the filter.
    pub num_record_drop_user: u64,
    /// A newer version hides it.
    pub num_record_drop_hidden: u64,
    /// A tombstone with nothing left to hide.
    pub num_record_drop_obsolete: u64,
    pub num_record_drop_range_del: u64,
    pub num_range_del_drop_obsolete: u64,
    pub num_optimized_del_drop_obsolete: u64,
    pub num_single_del_fallthru: u64,
    pub num_single_del_mismatch: u64,
    pub num_timed_put_swap_preferred_seqno: u64,
    pub num_blobs_read: u64,
    pub total_blob_bytes_read: u64,
}

/// The surviving rows, pulled one at a time. Not valid until `seek_to_first`.
pub struct Collapse<I, B> {
    input: I,
    below: B,
    config: Config,
    tombstones: CompactionTombstones,
    fetch: Option<Box<dyn FetchBlob + Send>>,
    pub stats: CollapseStats,
}

impl<I: InternalIterator, B: Below> Collapse<I, B> {
    pub fn new(input: I, below: B, tombstones: CompactionTombstones, config: Config) -> Self {
        Collapse { input, below, config, tombstones, fetch: None, stats: CollapseStats::default() }
    }

    /// Lets filters and merges see values that lie in blob files.
    #[must_use]
    pub fn with_blobs(mut self, fetch: Box<dyn FetchBlob + Send>) -> Self {
        self.fetch = Some(fetch);
        self
    }

    /// To the first surviving row of the input.
    pub fn seek_to_first(&mut self) {
        let _ = (&self.input, &self.below, &self.config, &self.tombstones, &self.fetch);
        todo!()
    }

    /// To the first surviving row of the input from `target` (an internal key) on: a subcompaction.
    pub fn seek(&mut self, target: &[u8]) {
        let _ = target;
        todo!()
    }

    pub fn next(&mut self) {
        todo!()
    }

    pub fn valid(&self) -> bool {
        todo!()
    }

    /// The surviving internal key. Only while valid.
    pub fn key(&self) -> &[u8] {
        todo!()
    }

    pub fn value(&self) -> &[u8] {
        todo!()
    }

    /// The first error of the input, the operator, the filter or the rules themselves.
    pub fn status(&self) -> Result<()> {
        todo!()
    }

    pub fn input(&self) -> &I {
        &self.input
    }

    /// The tombstones, for the file writer to take what belongs into each output.
    pub fn tombstones_mut(&mut self) -> &mut CompactionTombstones {
        &mut self.tombstones
    }
}
