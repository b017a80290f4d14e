//! Single deletions. A single deletion removes the one value that was written before it, and both entries are
//! dropped together.

use base::error::Error;
use base::iter::InternalIterator;
use base::key::{self, SequenceNumber, ValueType};

use super::state::ValueAt;
use super::{Below, CompactionIter};

impl<I: InternalIterator, B: Below> CompactionIter<I, B> {
    /// Applies the rules to the single deletion at the input. The next older entry of its key decides.
    pub(super) fn judge_single_deletion(&mut self, before: Option<SequenceNumber>) {
        base::invariant!(
            self.out.value_type == ValueType::SingleDeletion,
            "a {:?} is judged as a single deletion",
            self.out.value_type
        );
        // The look-ahead moves the input. So the value of the single deletion is saved; it is usually empty.
        if matches!(self.out.value, ValueAt::Input(_)) {
            self.out.buffer.clear();
            self.out.buffer.extend_from_slice(self.input.value());
            self.out.value = ValueAt::Buffer;
        }
        self.advance();
        if self.input.valid() && self.input_has_current_user_key() {
            match key::parse(self.input.key()) {
                Ok(next) => {
                    let (seq, value_type) = (next.seq, next.value_type);
                    self.judge_pair(before, seq, value_type);
                }
                // The next call examines the corrupt key and fails.
                Err(_) => self.judge_alone(),
            }
        } else {
            self.judge_alone();
        }
        if self.out.valid {
            self.at_next = true;
        }
    }

    fn judge_pair(&mut self, before: Option<SequenceNumber>, next_seq: SequenceNumber, next_type: ValueType) {
        base::invariant!(self.input.valid(), "a pair is judged without its second entry");
        if self.history.seq_zeroed {
            self.drop_pair();
        } else if before.is_some_and(|before| next_seq <= before) {
            // A snapshot sees the value but not its single deletion.
            self.out.valid = true;
        } else if next_type == ValueType::SingleDeletion {
            self.stats.num_record_drop_obsolete += 1;
            self.stats.num_single_del_mismatch += 1;
        } else if matches!(next_type, ValueType::Deletion | ValueType::DeletionWithTimestamp) {
            self.stats.num_record_drop_obsolete += 1;
            self.stats.num_single_del_mismatch += 1;
            if self.rules.config.enforce_single_del_contracts {
                self.failed = Some(Error::corruption(format!(
                    "Found SD and type: {} on the same key, violating the contract of SingleDelete. Check \
                     your application to make sure the application does not mix SingleDelete and Delete \
                     for the same key.",
                    next_type as u8
                )));
            }
        } else if !self.history.may_be_dropped(&self.rules) {
            self.out.valid = true;
        } else if self.history.has_output
            || self.out.seq <= self.rules.config.earliest_write_conflict_snapshot
            || self.rules.earliest_snapshot < self.rules.config.earliest_write_conflict_snapshot
                && self.out.seq <= self.rules.earliest_snapshot
        {
            if !matches!(
                next_type,
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
            self.out.valid = true;
            self.history.clears_next = true;
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
        self.history.has_key = false;
        if self.rules.config.compaction.is_some()
            && self.out.seq <= self.rules.earliest_snapshot
            && self.nothing_below()
            && self.history.may_be_dropped(&self.rules)
        {
            self.stats.num_record_drop_obsolete += 1;
            self.stats.num_single_del_fallthru += 1;
            if !self.rules.bottommost {
                self.stats.num_optimized_del_drop_obsolete += 1;
            }
        } else if self.history.seq_zeroed {
            self.stats.num_record_drop_hidden += 1;
            self.stats.num_record_drop_obsolete += 1;
        } else {
            self.out.valid = true;
        }
    }
}
