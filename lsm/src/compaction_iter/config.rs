//! The configuration and the counts of a compaction iterator.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::Level;
use base::key::{InternalOrder, SequenceNumber};

use crate::filter::CompactionFilter;
use crate::merge::MergeOperator;
use crate::stripes::Stripes;

/// The facts of a compaction. A flush has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compaction {
    /// True if no level below the output has keys in the range of the inputs. The caller passes false if
    /// `allow_ingest_behind` is set.
    pub bottommost: bool,
    /// The level of the first inputs. The compaction filter gets it.
    pub start_level: Level,
}

/// The configuration of a compaction iterator.
pub struct Config {
    /// The order of internal keys.
    pub order: InternalOrder,
    /// The snapshots whose entries must survive.
    pub snapshots: Stripes,
    /// The oldest sequence number above which conflict checks of transactions look for writes. `MAX_SEQUENCE` if there is none.
    pub earliest_write_conflict_snapshot: SequenceNumber,
    /// The facts of the compaction. `None` for a flush.
    pub compaction: Option<Compaction>,
    /// The operator that combines merge operands. `None`: merge operands are kept.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// The compaction filter, if there is one.
    pub filter: Option<Arc<dyn CompactionFilter>>,
    /// Old entries of keys with timestamps below this timestamp may be dropped. `None` keeps the whole
    /// history of keys with timestamps.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// Entries with a larger sequence number keep their sequence number on the bottommost level. `None` means the
    /// oldest snapshot.
    pub preserve_seqno_after: Option<SequenceNumber>,
    /// Fails the compaction with Corruption if the next older entry of a single deletion is a tombstone. If false, the
    /// single deletion is dropped. Default: true.
    pub enforce_single_del_contracts: bool,
    /// True if `CompactionIterStats::num_itered` must count every input entry. Skips of a filter then move
    /// entry by entry, not by a seek.
    pub must_count_input: bool,
    /// If the flag is true, the iterator ends with `ShutdownInProgress`.
    pub shutting_down: Option<Arc<AtomicBool>>,
    /// If the flag is true, the iterator ends with `Incomplete`, subcode `ManualCompactionPaused`.
    pub canceled: Option<Arc<AtomicBool>>,
    /// The durations that [`CompactionIterStats`] measures. Default: none.
    pub times: Times,
}

impl Config {
    /// Makes the configuration of a flush without snapshots, merge operator, filter or timestamps.
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
            must_count_input: false,
            shutting_down: None,
            canceled: None,
            times: Times::default(),
        }
    }
}

/// Counts of a compaction iterator; RocksDB's `CompactionIterationStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionIterStats {
    /// Number of input entries that the iterator passed, examined or not.
    pub num_itered: u64,
    /// Number of input entries that were examined one by one. Entries that a merge used, and entries dropped
    /// after a tombstone, do not count.
    pub num_input_records: u64,
    /// Point tombstones that the input had.
    pub num_input_deletion_records: u64,
    /// Entries of type `ValuePreferredSeqno` that the input had.
    pub num_input_timed_put_records: u64,
    /// Entries of the input whose internal key does not decode.
    pub num_input_corrupt_records: u64,
    /// Bytes of all internal keys of the input.
    pub total_input_raw_key_bytes: u64,
    /// Bytes of all values of the input.
    pub total_input_raw_value_bytes: u64,
    /// Number of entries that the compaction filter dropped.
    pub num_record_drop_user: u64,
    /// Number of entries that were dropped because a newer entry hides them.
    pub num_record_drop_hidden: u64,
    /// Number of tombstones that were dropped because they hide no entry.
    pub num_record_drop_obsolete: u64,
    /// Entries that a range tombstone deleted.
    pub num_record_drop_range_del: u64,
    /// Number of range tombstones that were dropped because they hide no older entry.
    pub num_range_del_drop_obsolete: u64,
    /// Point tombstones that were dropped above the last level, since no deeper level has the key.
    pub num_optimized_del_drop_obsolete: u64,
    /// Single deletions that met no value of their key.
    pub num_single_del_fallthru: u64,
    /// Single deletions that met an entry other than a value.
    pub num_single_del_mismatch: u64,
    /// Entries of type `ValuePreferredSeqno` that took their preferred sequence number.
    pub num_timed_put_swap_preferred_seqno: u64,
    /// Blobs that were read.
    pub num_blobs_read: u64,
    /// Bytes of the blobs that were read.
    pub total_blob_bytes_read: u64,
    /// Number of merges that failed in the operator.
    pub num_merge_failures: u64,
    /// The times in code of the application.
    pub times: UserCodeTimes,
}

/// The times that a compaction spends in code of the application, in nanoseconds. 0 unless [`Config::times`] requests them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserCodeTimes {
    /// Time in the merge operator.
    pub merge_nanos: u64,
    /// Time in the compaction filter.
    pub filter_nanos: u64,
}

impl CompactionIterStats {
    /// Counts an entry whose internal key does not decode.
    #[cold]
    pub(super) fn count_corrupt(&mut self) {
        self.num_input_records += 1;
        self.num_input_corrupt_records += 1;
    }
}

/// Selects the durations that [`CompactionIterStats`] measures. They change no decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// True if merge operands are timed.
    pub merges: bool,
    /// True if the compaction filter is timed.
    pub filters: bool,
}
