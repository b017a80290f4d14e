//! Which versions of a key survive a flush or a compaction.
//!
//! Takes a sorted stream of internal keys and gives the sorted stream to be written: versions that no
//! snapshot can see are gone, tombstones that hide nothing are gone, merge operands are merged, sequence
//! numbers are zeroed at the bottom. The rules are RocksDB's (`db/compaction/compaction_iterator.cc`,
//! `db/merge_helper.cc`).

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

/// What lies below the output, as far as the rules ask.
pub trait Below {
    /// Whether no level below the output can hold any version of `user_key`. Keys are asked ascending.
    /// Always false where ingesting behind is allowed.
    fn key_not_exists_beyond_output(&mut self, user_key: &[u8]) -> bool;
}

/// For a flush, where everything may lie below.
pub struct AnythingBelow;

impl Below for AnythingBelow {
    fn key_not_exists_beyond_output(&mut self, _user_key: &[u8]) -> bool {
        false
    }
}

/// The compaction behind a compaction_iter; a flush has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compaction {
    /// No level below holds anything in the inputs' range. Give false where ingesting behind is allowed.
    pub bottommost: bool,
    /// The level of the first inputs, for the filter.
    pub start_level: usize,
}

/// The fixed facts of one compaction_iter.
pub struct Config {
    /// The order of internal keys.
    pub order: InternalOrder,
    /// The snapshots whose entries must survive.
    pub snapshots: Stripes,
    /// Snapshots taken for write-conflict checks; `MAX_SEQUENCE` when there is none.
    pub earliest_write_conflict_snapshot: SequenceNumber,
    /// What only a compaction knows. `None` for a flush.
    pub compaction: Option<Compaction>,
    /// The operator that combines merge operands. `None`: merge operands are kept.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// The compaction filter, if there is one.
    pub filter: Option<Arc<dyn CompactionFilter>>,
    /// Timestamps below this may be collapsed; `None` keeps all history of timestamped keys.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// Entries newer than this keep their sequence number at the bottom; `None`: the oldest snapshot.
    pub preserve_seqno_after: Option<SequenceNumber>,
    /// A single deletion over a deletion is a corruption (true, the default) or let pass.
    pub enforce_single_del_contracts: bool,
    /// `CompactionIterStats::num_itered` must count every row: a filter's skips then go row by row.
    pub must_count_input: bool,
    /// Raised to stop: the compaction_iter ends with `ShutdownInProgress`.
    pub shutting_down: Option<Arc<AtomicBool>>,
    /// Raised to stop: the compaction_iter ends with `Incomplete`, subcode `ManualCompactionPaused`.
    pub canceled: Option<Arc<AtomicBool>>,
    /// Default: none.
    pub times: Times,
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
            must_count_input: false,
            shutting_down: None,
            canceled: None,
            times: Times::default(),
        }
    }
}

/// What happened to the rows; RocksDB's `CompactionIterationStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionIterStats {
    /// Rows of the input that were passed, judged or not.
    pub num_itered: u64,
    /// Rows that were judged one by one; those used up by a merge or behind a deletion are not.
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
    /// Dropped by the filter.
    pub num_record_drop_user: u64,
    /// A newer version hides it.
    pub num_record_drop_hidden: u64,
    /// A tombstone with nothing left to hide.
    pub num_record_drop_obsolete: u64,
    /// Entries that a range tombstone deleted.
    pub num_record_drop_range_del: u64,
    /// Range tombstones that no older entry needs.
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
    /// Merges that the operator failed.
    pub num_merge_failures: u64,
    /// Time in the merge operator and in the filter, where [`Config::times`] asks for it.
    pub merge_nanos: u64,
    /// Time in the compaction filter, in nanoseconds.
    pub filter_nanos: u64,
}

/// Which times [`CompactionIterStats`] takes. They are counted and decide nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// True if merge operands are timed.
    pub merges: bool,
    /// True if the compaction filter is timed.
    pub filters: bool,
}

/// Where the current row's value lies.
#[derive(Clone, Copy)]
enum ValueAt {
    /// The input's current value, its first so many bytes.
    Input(usize),
    /// `value_buf`.
    Buffer,
    /// The current row of the merge output.
    Merge,
}

/// The surviving rows, pulled one at a time. Not valid until `seek_to_first`.
pub struct CompactionIter<I, B> {
    input: I,
    below: B,
    config: Config,
    tombstones: CompactionTombstones,
    fetch: Option<Box<dyn FetchBlob + Send>>,
    /// What the iterator counted so far.
    pub stats: CompactionIterStats,

    // Derived once.
    bytewise: bool,
    timestamp_size: usize,
    bottommost: bool,
    no_snapshots: bool,
    earliest_snapshot: SequenceNumber,
    preserve_seqno_after: SequenceNumber,

    /// The current row's internal key; its user key is also what the next row is compared with.
    current: Vec<u8>,
    seq: SequenceNumber,
    kind: ValueType,
    valid: bool,
    value_at: ValueAt,
    value_buf: Vec<u8>,
    /// The input stands on the row after the current one already.
    at_next: bool,

    /// Whether `current` holds the user key that older versions are judged against.
    has_current_user_key: bool,
    /// A row of this user key was given out.
    has_outputted_key: bool,
    /// The sequence number and stripe of the last version of this user key that was looked at.
    last_sequence: SequenceNumber,
    last_stripe: SequenceNumber,
    last_key_seq_zeroed: bool,
    /// The value under a single deletion that had to stay is given out without its bytes.
    clear_and_output_next: bool,
    /// The current row's timestamp, and how it stands to `full_history_ts_low`.
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

    /// Lets filters and merges see values that lie in blob files.
    #[must_use]
    pub fn with_blobs(mut self, fetch: Box<dyn FetchBlob + Send>) -> Self {
        self.fetch = Some(fetch);
        self
    }

    /// To the first surviving row of the input.
    pub fn seek_to_first(&mut self) {
        self.input.seek_to_first();
        self.take_from_input();
        self.prepare_output();
    }

    /// To the first surviving row of the input from `target` (an internal key) on: a subcompaction.
    pub fn seek(&mut self, target: &[u8]) {
        self.input.seek(target);
        self.take_from_input();
        self.prepare_output();
    }

    /// To the next surviving row. Only while valid.
    #[inline]
    pub fn next(&mut self) {
        base::invariant!(self.valid, "a compaction iterator that stands on no entry is moved");
        if self.merge.valid() {
            self.next_of_merge();
        } else {
            // The input may stand on the next row already: a deletion looked ahead.
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

    /// Returns true if the iterator stands on an entry of the output.
    #[inline]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// The surviving internal key. Only while valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        base::invariant!(self.valid, "a compaction iterator that stands on no entry has no key");
        &self.current
    }

    /// The sequence number in `key`.
    #[inline]
    pub fn sequence(&self) -> SequenceNumber {
        self.seq
    }

    /// The kind in `key`.
    #[inline]
    pub fn kind(&self) -> ValueType {
        self.kind
    }

    /// Returns the value of the present entry. Call only while the iterator is valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        base::invariant!(self.valid, "a compaction iterator that stands on no entry has no value");
        match self.value_at {
            ValueAt::Input(len) => {
                base::invariant!(len <= self.input.value().len(), "the value has less than {len} bytes");
                &self.input.value()[..len]
            }
            ValueAt::Buffer => &self.value_buf,
            ValueAt::Merge => self.merge.value(),
        }
    }

    /// The first error of the input, the operator, the filter or the rules themselves.
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

    /// The tombstones, for the file writer to take what belongs into each output.
    pub fn tombstones_mut(&mut self) -> &mut CompactionTombstones {
        &mut self.tombstones
    }

    /// Both what lies below and the tombstones: for deciding which tombstones an output still needs.
    pub fn parts_mut(&mut self) -> (&mut CompactionTombstones, &mut B) {
        (&mut self.tombstones, &mut self.below)
    }
}
