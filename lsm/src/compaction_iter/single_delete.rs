//! Single deletions. A single deletion removes the one value that was written before it, and both entries are
//! dropped together.

use base::error::Error;
use base::iter::InternalIterator;
use base::key::{self, SequenceNumber, ValueType};

use super::{Below, CompactionIter, ValueAt};

impl<I: InternalIterator, B: Below> CompactionIter<I, B> {
    /// Applies the rules to the single deletion at the input. The next older entry of its key decides.
    pub(super) fn judge_single_deletion(&mut self, before: SequenceNumber) {
        base::invariant!(
            self.kind == ValueType::SingleDeletion,
            "a {:?} is judged as a single deletion",
            self.kind
        );
        // The look-ahead moves the input. So the value of the single deletion is saved; it is usually empty.
        if matches!(self.value_at, ValueAt::Input(_)) {
            self.value_buf.clear();
            self.value_buf.extend_from_slice(self.input.value());
            self.value_at = ValueAt::Buffer;
        }
        self.advance();
        if self.input.valid() && self.input_has_current_user_key() {
            match key::parse(self.input.key()) {
                Ok(next) => {
                    let (seq, kind) = (next.seq, next.kind);
                    self.judge_pair(before, seq, kind);
                }
                // The next call examines the corrupt key and fails.
                Err(_) => self.judge_alone(),
            }
        } else {
            self.judge_alone();
        }
        if self.valid {
            self.at_next = true;
        }
    }

    fn judge_pair(&mut self, before: SequenceNumber, next_seq: SequenceNumber, next_kind: ValueType) {
        base::invariant!(self.input.valid(), "a pair is judged without its second entry");
        if self.last_key_seq_zeroed {
            self.drop_pair();
        } else if before != 0 && next_seq <= before {
            // A snapshot sees the value but not its single deletion.
            self.valid = true;
        } else if next_kind == ValueType::SingleDeletion {
            self.stats.num_record_drop_obsolete += 1;
            self.stats.num_single_del_mismatch += 1;
        } else if matches!(next_kind, ValueType::Deletion | ValueType::DeletionWithTimestamp) {
            self.stats.num_record_drop_obsolete += 1;
            self.stats.num_single_del_mismatch += 1;
            if self.config.enforce_single_del_contracts {
                self.failed = Some(Error::corruption(format!(
                    "Found SD and type: {} on the same key, violating the contract of SingleDelete. Check \
                     your application to make sure the application does not mix SingleDelete and Delete \
                     for the same key.",
                    next_kind as u8
                )));
            }
        } else if !self.may_drop_history() {
            self.valid = true;
        } else if self.has_outputted_key
            || self.seq <= self.config.earliest_write_conflict_snapshot
            || self.earliest_snapshot < self.config.earliest_write_conflict_snapshot
                && self.seq <= self.earliest_snapshot
        {
            if !matches!(
                next_kind,
                ValueType::Value
                    | ValueType::BlobIndex
                    | ValueType::WideColumnEntity
                    | ValueType::ValuePreferredSeqno
            ) {
                self.stats.num_single_del_mismatch += 1;
            }
            self.drop_pair();
        } else {
            // The conflict check of a transaction may still need to see that the key was written.
            self.valid = true;
            self.clear_and_output_next = true;
        }
    }

    fn drop_pair(&mut self) {
        base::invariant!(self.input.valid(), "a pair is dropped without its second entry");
        self.stats.num_record_drop_hidden += 1;
        self.stats.num_record_drop_obsolete += 1;
        self.advance();
    }

    /// Handles a single deletion without an older entry in the input.
    fn judge_alone(&mut self) {
        self.has_current_user_key = false;
        if self.config.compaction.is_some()
            && self.seq <= self.earliest_snapshot
            && self.nothing_below()
            && self.may_drop_history()
        {
            self.stats.num_record_drop_obsolete += 1;
            self.stats.num_single_del_fallthru += 1;
            if !self.bottommost {
                self.stats.num_optimized_del_drop_obsolete += 1;
            }
        } else if self.last_key_seq_zeroed {
            self.stats.num_record_drop_hidden += 1;
            self.stats.num_record_drop_obsolete += 1;
        } else {
            self.valid = true;
        }
    }
}
