//! The compaction iterator decides which entries of a key survive a flush or a compaction.
//!
//! The input is a sorted stream of internal keys. The output is the sorted stream to write. The iterator
//! drops entries that no snapshot can see and tombstones that hide no entry. It applies merges, and sets
//! sequence numbers to zero on the bottommost level. The rules are those of RocksDB
//! (`db/compaction/compaction_iterator.cc`, `db/merge_helper.cc`).

mod config;
mod filter_run;
mod merge_run;
mod operands;
mod rules;
mod single_delete;
mod state;

use base::error::{Error, Result};
use base::iter::InternalIterator;
use base::key::{SequenceNumber, ValueType};

use crate::filter::FetchBlob;
use crate::range_del::CompactionTombstones;

pub use config::{Compaction, CompactionIterStats, Config, Times, UserCodeTimes};
use operands::MergeRun;
use state::{Blobs, KeyHistory, Output, Rules, ValueAt};

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

/// The surviving entries, one at a time. Not valid until the first seek.
pub struct CompactionIter<I, B> {
    input: I,
    below: B,
    rules: Rules,
    tombstones: CompactionTombstones,
    blobs: Blobs,
    /// The counts of the iterator since it was made.
    pub stats: CompactionIterStats,
    /// True if the compaction filter has skipped a key range (`RemoveAndSkipUntil`). This drops tombstones, so that deleted
    /// keys may appear again.
    pub has_filter_skipped: bool,
    /// The current entry.
    out: Output,
    /// True if the input is already at the entry after the current entry.
    at_next: bool,
    /// The facts about the newer entries of the current user key.
    history: KeyHistory,
    merge: MergeRun,
    failed: Option<Error>,
}

impl<I: InternalIterator, B: Below> CompactionIter<I, B> {
    /// Makes an iterator over `input`. `below` answers whether deeper levels have a key; `tombstones` are the range tombstones of the input.
    pub fn new(input: I, below: B, tombstones: CompactionTombstones, config: Config) -> Self {
        CompactionIter {
            input,
            below,
            rules: Rules::new(config),
            tombstones,
            blobs: Blobs::default(),
            stats: CompactionIterStats::default(),
            has_filter_skipped: false,
            out: Output::new(),
            at_next: false,
            history: KeyHistory::new(),
            merge: MergeRun::default(),
            failed: None,
        }
    }

    /// Lets filters and merges read values in blob files.
    #[must_use]
    pub fn with_blobs(mut self, fetch: Box<dyn FetchBlob + Send>) -> Self {
        self.blobs.source = Some(fetch);
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
        base::invariant!(self.out.valid, "an invalid compaction iterator is moved");
        if self.merge.valid() {
            self.next_of_merge();
        } else {
            // The input may already be at the next entry, because a tombstone looked ahead.
            if !self.at_next {
                self.advance();
            }
            self.take_from_input();
        }
        if self.out.valid {
            self.history.has_output = true;
        }
        self.prepare_output();
    }

    /// Returns true if the iterator is at an entry of the output.
    #[inline]
    pub fn valid(&self) -> bool {
        self.out.valid
    }

    /// Returns the internal key of the present entry. Call only while the iterator is valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        base::invariant!(self.out.valid, "an invalid compaction iterator has no key");
        &self.out.key
    }

    /// Returns the sequence number in `key`.
    #[inline]
    pub fn sequence(&self) -> SequenceNumber {
        self.out.seq
    }

    /// Returns the value type in `key`.
    #[inline]
    pub fn value_type(&self) -> ValueType {
        self.out.value_type
    }

    /// Returns the value of the present entry. Call only while the iterator is valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        base::invariant!(self.out.valid, "an invalid compaction iterator has no value");
        match self.out.value {
            ValueAt::Input(len) => {
                base::invariant!(len <= self.input.value().len(), "the value has less than {len} bytes");
                &self.input.value()[..len]
            }
            ValueAt::Buffer => &self.out.buffer,
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
}
