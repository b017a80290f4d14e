//! The compaction iterator decides which entries of a key survive a flush or a compaction.
//!
//! The input is a sorted stream of internal keys. The output is the sorted stream to write. The iterator
//! drops entries that no snapshot can see and tombstones that hide no entry. It applies merges, and sets
//! sequence numbers to zero on the bottommost level. The rules are those of RocksDB
//! (`db/compaction/compaction_iterator.cc`, `db/merge_helper.cc`).

mod filter_run;
mod merge_run;
mod rules;
mod single_delete;

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::error::{Error, Result};
use base::iter::InternalIterator;
use base::key::{InternalOrder, MAX_SEQUENCE, SequenceNumber, ValueType};

use crate::filter::{CompactionFilter, FetchBlob};
use crate::merge::MergeOperator;
use crate::range_del::CompactionTombstones;
use crate::stripes::Stripes;

/// The questions of the rules about the levels below the output.
pub trait Below {
    /// Returns true if no level below the output can have an entry of `user_key`. The calls pass ascending
    /// keys. Must always return false if `allow_ingest_behind` is set.
    fn key_not_exists_beyond_output(&mut self, user_key: &[u8]) -> bool;
}

/// The answer for a flush: every level may have entries of the key.
pub struct AnythingBelow;

impl Below for AnythingBelow {
    fn key_not_exists_beyond_output(&mut self, _user_key: &[u8]) -> bool {
        false
    }
}

/// The facts of a compaction. A flush has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compaction {
    /// True if no level below the output has keys in the range of the inputs. The caller passes false if
    /// `allow_ingest_behind` is set.
    pub bottommost: bool,
    /// The level of the first inputs. The compaction filter gets it.
    pub start_level: usize,
}

/// The configuration of a compaction iterator.
pub struct Config {
    /// The order of internal keys.
    pub order: InternalOrder,
    /// The snapshots whose entries must survive.
    pub snapshots: Stripes,
    /// The oldest snapshot that write-conflict checks of transactions use. `MAX_SEQUENCE` if there is none.
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
    /// Entries newer than this keep their sequence number on the bottommost level. `None` means the oldest
    /// snapshot.
    pub preserve_seqno_after: Option<SequenceNumber>,
    /// What happens to a single deletion whose next older entry is a tombstone. True (default): the
    /// compaction fails with Corruption. False: the single deletion is dropped.
    pub enforce_single_del_contracts: bool,
    /// Whether `CompactionIterStats::num_itered` must count every input entry. Skips of a filter then move
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
    /// Time in the merge operator in nanoseconds. 0 unless [`Config::times`] requests it.
    pub merge_nanos: u64,
    /// Time in the compaction filter in nanoseconds. 0 unless [`Config::times`] requests it.
    pub filter_nanos: u64,
}

/// Selects the durations that [`CompactionIterStats`] measures. They change no decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// True if merge operands are timed.
    pub merges: bool,
    /// True if the compaction filter is timed.
    pub filters: bool,
}

/// The location of the current entry's value.
#[derive(Clone, Copy)]
enum ValueAt {
    /// The first bytes, this many, of the value at the input.
    Input(usize),
    /// `value_buf`.
    Buffer,
    /// The current entry of the merge result.
    Merge,
}

/// The surviving entries, one at a time. Not valid until the first seek.
pub struct CompactionIter<I, B> {
    input: I,
    below: B,
    config: Config,
    tombstones: CompactionTombstones,
    fetch: Option<Box<dyn FetchBlob + Send>>,
    /// What the iterator counted so far.
    pub stats: CompactionIterStats,

    // Values that are derived from the configuration once.
    bytewise: bool,
    timestamp_size: usize,
    bottommost: bool,
    no_snapshots: bool,
    earliest_snapshot: SequenceNumber,
    preserve_seqno_after: SequenceNumber,

    /// The internal key of the current entry. Its user key is compared with the next entry.
    current: Vec<u8>,
    seq: SequenceNumber,
    kind: ValueType,
    valid: bool,
    value_at: ValueAt,
    value_buf: Vec<u8>,
    /// The input is already at the entry after the current entry.
    at_next: bool,

    /// Whether `current` has the user key that older entries are compared with.
    has_current_user_key: bool,
    /// Whether an entry of this user key was in the output.
    has_outputted_key: bool,
    /// The sequence number and the stripe of the last examined entry of this user key.
    last_sequence: SequenceNumber,
    last_stripe: SequenceNumber,
    last_key_seq_zeroed: bool,
    /// A single deletion had to stay. The value under it is next in the output, with empty bytes.
    clear_and_output_next: bool,
    /// The timestamp of the current entry, and its comparison with `full_history_ts_low`.
    timestamp: Vec<u8>,
    history: Ordering,

    merge: merge_run::MergeRun,
    failed: Option<Error>,
}

impl<I: InternalIterator, B: Below> CompactionIter<I, B> {
    /// Makes an iterator over `input`. `below` answers whether deeper levels have a key; `tombstones` are the range tombstones of the input.
    pub fn new(input: I, below: B, tombstones: CompactionTombstones, config: Config) -> Self {
        base::invariant!(
            config
                .full_history_ts_low
                .as_ref()
                .is_none_or(|low| low.len() == config.order.user.timestamp_size()),
            "the low end of the history has another length than the timestamps of the keys"
        );
        let earliest_snapshot = config.snapshots.earliest();
        CompactionIter {
            input,
            below,
            tombstones,
            fetch: None,
            stats: CompactionIterStats::default(),
            bytewise: config.order.user.is_bytewise(),
            timestamp_size: config.order.user.timestamp_size(),
            bottommost: config.compaction.is_some_and(|c| c.bottommost),
            no_snapshots: config.snapshots.is_empty(),
            earliest_snapshot,
            preserve_seqno_after: config.preserve_seqno_after.unwrap_or(earliest_snapshot),
            config,
            current: Vec::new(),
            seq: 0,
            kind: ValueType::Value,
            valid: false,
            value_at: ValueAt::Buffer,
            value_buf: Vec::new(),
            at_next: false,
            has_current_user_key: false,
            has_outputted_key: false,
            last_sequence: MAX_SEQUENCE,
            last_stripe: 0,
            last_key_seq_zeroed: false,
            clear_and_output_next: false,
            timestamp: Vec::new(),
            history: Ordering::Equal,
            merge: merge_run::MergeRun::default(),
            failed: None,
        }
    }

    /// Lets filters and merges read values in blob files.
    #[must_use]
    pub fn with_blobs(mut self, fetch: Box<dyn FetchBlob + Send>) -> Self {
        self.fetch = Some(fetch);
        self
    }

    /// Moves to the first surviving entry of the input.
    pub fn seek_to_first(&mut self) {
        self.input.seek_to_first();
        self.take_from_input();
        self.prepare_output();
    }

    /// Moves to the first surviving entry of the input at or after `target` (an internal key). A
    /// subcompaction starts there.
    pub fn seek(&mut self, target: &[u8]) {
        self.input.seek(target);
        self.take_from_input();
        self.prepare_output();
    }

    /// Moves to the next surviving entry. Call only while the iterator is valid.
    #[inline]
    pub fn next(&mut self) {
        base::invariant!(self.valid, "an invalid compaction iterator is moved");
        if self.merge.valid() {
            self.next_of_merge();
        } else {
            // The input may already be at the next entry, because a tombstone looked ahead.
            if !self.at_next {
                self.advance();
            }
            self.take_from_input();
        }
        if self.valid {
            self.has_outputted_key = true;
        }
        self.prepare_output();
    }

    /// Returns true if the iterator is at an entry of the output.
    #[inline]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// Returns the internal key of the present entry. Call only while the iterator is valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        base::invariant!(self.valid, "an invalid compaction iterator has no key");
        &self.current
    }

    /// Returns the sequence number in `key`.
    #[inline]
    pub fn sequence(&self) -> SequenceNumber {
        self.seq
    }

    /// Returns the value type in `key`.
    #[inline]
    pub fn kind(&self) -> ValueType {
        self.kind
    }

    /// Returns the value of the present entry. Call only while the iterator is valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        base::invariant!(self.valid, "an invalid compaction iterator has no value");
        match self.value_at {
            ValueAt::Input(len) => {
                base::invariant!(len <= self.input.value().len(), "the value has less than {len} bytes");
                &self.input.value()[..len]
            }
            ValueAt::Buffer => &self.value_buf,
            ValueAt::Merge => self.merge.value(),
        }
    }

    /// Returns the first error of the input, the merge operator, the filter or the rules.
    pub fn status(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => self.input.status(),
        }
    }

    /// Returns the source that the iterator reads.
    pub fn input(&self) -> &I {
        &self.input
    }

    /// Returns the range tombstones. The file writer takes those of each output file.
    pub fn tombstones_mut(&mut self) -> &mut CompactionTombstones {
        &mut self.tombstones
    }

    /// Returns the range tombstones and the levels below. With both, the file writer decides which tombstones
    /// an output file needs.
    pub fn parts_mut(&mut self) -> (&mut CompactionTombstones, &mut B) {
        (&mut self.tombstones, &mut self.below)
    }
}
