//! The rules for the entries of a key, newest first.
//!
//! The letters are those of RocksDB's comments: (A) an entry that a newer entry in the same stripe hides; (B)
//! a tombstone without the key in lower levels; (C) a tombstone on the bottommost level; (D) an entry that a
//! range tombstone covers; (E) a sequence number that becomes zero.

use base::error::Error;
use base::iter::InternalIterator;
use base::key::{self, MAX_SEQUENCE, SequenceNumber, TRAILER_LEN, ValueType};

use super::state::ValueAt;
use super::{Below, CompactionIter};

impl<I: InternalIterator, B: Below> CompactionIter<I, B> {
    /// Returns true if the user key at the input is the current user key, without timestamps.
    #[inline]
    pub(super) fn input_has_current_user_key(&self) -> bool {
        self.rules.same_key(key::user_key(self.input.key()), key::user_key(&self.out.key))
    }

    /// Finds the next entry for the output. The input is at the first entry that was not examined.
    pub(super) fn take_from_input(&mut self) {
        self.at_next = false;
        self.out.valid = false;
        while !self.out.valid && self.failed.is_none() && self.input.valid() {
            if let Some(error) = self.rules.stop() {
                return self.failed = Some(error);
            }
            self.judge();
        }
    }

    #[inline]
    pub(super) fn advance(&mut self) {
        self.stats.num_itered += 1;
        self.input.next();
    }

    /// Drops all input entries before `target`. Moves entry by entry if the input must be counted.
    pub(super) fn skip_to(&mut self, target: &[u8]) {
        base::invariant!(target.len() >= TRAILER_LEN, "the target of a skip has no trailer");
        if !self.rules.config.must_count_input {
            return self.input.seek(target);
        }
        while self.input.valid() && self.rules.config.order.compare(self.input.key(), target).is_lt() {
            self.advance();
        }
    }

    /// Applies the rules to the entry at the input. The entry becomes the output (`valid`), or is dropped, or
    /// the iterator fails.
    #[inline]
    fn judge(&mut self) {
        base::invariant!(
            self.failed.is_none() && self.input.valid(),
            "an entry is judged after the end of the input"
        );
        let input_key = self.input.key();
        let parsed = match key::parse(input_key) {
            Ok(parsed) if parsed.value_type.is_point() => parsed,
            other => {
                let among = || Error::corruption("range tombstone among point entries");
                self.stats.count_corrupt();
                return self.failed = Some(other.err().unwrap_or_else(among));
            }
        };
        let (seq, value_type) = (parsed.seq, parsed.value_type);
        let value_len = self.input.value().len();
        self.stats.num_input_records += 1;
        self.stats.total_input_raw_key_bytes += input_key.len() as u64;
        self.stats.total_input_raw_value_bytes += value_len as u64;
        match value_type {
            ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp => {
                self.stats.num_input_deletion_records += 1;
            }
            ValueType::ValuePreferredSeqno => self.stats.num_input_timed_put_records += 1,
            _ => {}
        }
        self.out.seq = seq;
        self.out.value_type = value_type;
        self.out.value = ValueAt::Input(value_len);

        let mut skip_until = None;
        let same_key = self.history.has_key && self.input_has_current_user_key();
        if !same_key
            || self.rules.timestamp_size > 0
                && !self.history.has_timestamp_of(&self.rules, key::user_key(input_key))
        {
            self.out.key.clear();
            self.out.key.extend_from_slice(input_key);
            self.history.begin(&self.rules, input_key, same_key);
            if self.rules.config.filter.is_some() {
                skip_until = self.filter_current();
                if self.failed.is_some() {
                    return;
                }
            }
        } else {
            self.out.set_trailer(seq, value_type);
        }

        let newer = self.history.last_seq;
        let newer_stripe = self.history.last_stripe;
        self.history.last_seq = self.out.seq;
        let (stripe, before) = if self.rules.no_snapshots {
            (self.rules.earliest_snapshot, None)
        } else {
            self.rules.config.snapshots.of(self.out.seq)
        };
        // The timestamps of a key may go back while its sequence numbers grow. Then an older entry has a larger stripe, and the entries
        // after it are still hidden by the newer entry with the smaller stripe.
        self.history.last_stripe = if newer == MAX_SEQUENCE { stripe } else { newer_stripe.min(stripe) };

        if let Some(target) = skip_until {
            self.skip_to(&target);
        } else if self.history.clears_next {
            self.history.clears_next = false;
            self.out.show_cleared();
        } else if self.out.value_type == ValueType::SingleDeletion
            && (newer == MAX_SEQUENCE || newer_stripe >= stripe)
        {
            self.judge_single_deletion(before);
        } else if newer != MAX_SEQUENCE && newer_stripe <= stripe {
            // (A)
            self.stats.num_record_drop_hidden += 1;
            self.advance();
        } else if self.out.value_type == ValueType::Value && self.tombstones.is_empty() {
            self.out.valid = true;
        } else {
            self.judge_by_value_type(before);
        }
    }

    /// Applies the rules to an entry that no newer entry hides and that is not a single deletion.
    fn judge_by_value_type(&mut self, before: Option<SequenceNumber>) {
        base::invariant!(
            self.out.value_type != ValueType::SingleDeletion,
            "a single deletion is judged without the entry after it"
        );
        let is_deletion = match self.out.value_type {
            ValueType::Deletion => true,
            ValueType::DeletionWithTimestamp => self.history.is_below_low(),
            _ => false,
        };
        let every_snapshot_sees = self.out.seq <= self.rules.earliest_snapshot;
        if is_deletion && self.rules.config.compaction.is_some() {
            if every_snapshot_sees && self.nothing_below() {
                // (B)
                self.stats.num_record_drop_obsolete += 1;
                if !self.rules.bottommost {
                    self.stats.num_optimized_del_drop_obsolete += 1;
                }
                return self.advance();
            }
            if self.rules.bottommost {
                return self.judge_bottommost_deletion(before);
            }
        }
        let may_swap = self.out.value_type == ValueType::ValuePreferredSeqno
            && every_snapshot_sees
            && (self.rules.bottommost || self.rules.config.compaction.is_some() && self.nothing_below());
        match self.out.value_type {
            ValueType::ValuePreferredSeqno if may_swap => self.swap_preferred_sequence(),
            ValueType::Merge => self.run_merge(before),
            _ => {
                // (D)
                let collapsible = self.rules.timestamp_size == 0 || self.history.is_below_low();
                if collapsible && self.tombstones.should_delete(&self.out.key) {
                    self.stats.num_record_drop_hidden += 1;
                    self.stats.num_record_drop_range_del += 1;
                    self.advance();
                } else {
                    self.out.valid = true;
                }
            }
        }
    }

    pub(super) fn nothing_below(&mut self) -> bool {
        self.rules.bottommost || self.below.key_not_exists_beyond_output(key::user_key(&self.out.key))
    }

    /// (C): drops the entries of the same stripe that the tombstone hides. Keeps the tombstone only if an
    /// older stripe has an entry of the key.
    fn judge_bottommost_deletion(&mut self, before: Option<SequenceNumber>) {
        base::invariant!(
            self.rules.bottommost,
            "a deletion above the bottommost level drops the entries after it"
        );
        self.advance();
        while self.input.valid() && self.input_has_current_user_key() {
            if before.is_some_and(|before| key::sequence(self.input.key()) <= before) {
                self.at_next = true;
                return self.out.show_empty();
            }
            if let Some(error) = self.rules.stop() {
                return self.failed = Some(error);
            }
            self.advance();
        }
    }

    /// Changes a timed put into a value with the preferred sequence number, if no range tombstone would cover
    /// the value there.
    fn swap_preferred_sequence(&mut self) {
        let value = self.input.value();
        let Some((value, preferred)) = value.split_last_chunk::<8>() else {
            self.failed = Some(Error::corruption("timed put without its preferred sequence number"));
            return;
        };
        let (value_len, preferred) = (value.len(), SequenceNumber::new(u64::from_le_bytes(*preferred)));
        if self.tombstones.should_delete(&self.out.key) {
            self.stats.num_record_drop_hidden += 1;
            self.stats.num_record_drop_range_del += 1;
            return self.advance();
        }
        let timed_seq = self.out.seq;
        // The preferred sequence number comes from the file, so it may be larger than the sequence number of
        // the entry.
        self.out.set_trailer(preferred.min(timed_seq), ValueType::Value);
        if self.tombstones.should_delete(&self.out.key) {
            self.out.set_trailer(timed_seq, ValueType::ValuePreferredSeqno);
        } else {
            if !timed_seq.is_zero() {
                self.stats.num_timed_put_swap_preferred_seqno += 1;
            }
            self.out.value = ValueAt::Input(value_len);
        }
        self.out.valid = true;
    }

    /// (E): sets the sequence number to zero, if the output is on the bottommost level and every snapshot
    /// sees the entry.
    #[inline]
    pub(super) fn prepare_output(&mut self) {
        if !self.out.valid
            || !self.rules.bottommost
            || self.out.seq > self.rules.earliest_snapshot
            || self.out.seq > self.rules.preserve_seqno_after
            || matches!(
                self.out.value_type,
                ValueType::Merge | ValueType::Deletion | ValueType::SingleDeletion
            )
        {
            return;
        }
        if self.rules.timestamp_size > 0 {
            if !self.history.may_be_dropped(&self.rules) || self.out.is_in_blob_file(self.value()) {
                return;
            }
            let end = self.out.key.len() - TRAILER_LEN;
            self.out.key[end.saturating_sub(self.rules.timestamp_size)..end].fill(0);
        }
        base::invariant!(
            self.rules.no_snapshots || self.out.seq <= self.rules.config.snapshots.earliest(),
            "a snapshot still needs the sequence number {}",
            self.out.seq
        );
        self.out.set_trailer(SequenceNumber::ZERO, self.out.value_type);
        self.history.seq_zeroed = true;
    }
}
