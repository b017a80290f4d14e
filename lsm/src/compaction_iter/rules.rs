//! The rules for the entries of a key, newest first.
//!
//! The letters are those of RocksDB's comments: (A) an entry that a newer entry in the same stripe hides; (B)
//! a tombstone without the key in lower levels; (C) a tombstone on the bottommost level; (D) an entry that a
//! range tombstone covers; (E) a sequence number that becomes zero.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering as Atomic};

use base::error::{Error, Kind, Subcode};
use base::iter::InternalIterator;
use base::key::{self, MAX_SEQUENCE, SequenceNumber, TRAILER_LEN, ValueType, pack};

use super::{Below, CompactionIter, ValueAt};

/// Returns true if two user keys have the same bytes. Compares the last and first eight bytes first, because
/// most keys differ there.
#[inline]
pub(super) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if let (Some(x), Some(y)) = (a.last_chunk::<8>(), b.last_chunk::<8>())
        && x != y
    {
        return false;
    }
    a == b
}

impl<I: InternalIterator, B: Below> CompactionIter<I, B> {
    /// Returns true if the user key at the input is the current user key, without timestamps.
    #[inline]
    pub(super) fn input_has_current_user_key(&self) -> bool {
        let (a, b) = (key::user_key(self.input.key()), key::user_key(&self.current));
        if self.bytewise {
            same_bytes(a, b)
        } else {
            self.config.order.user.compare_without_timestamp(a, b).is_eq()
        }
    }

    /// Finds the next entry for the output. The input is at the first entry that was not examined.
    pub(super) fn take_from_input(&mut self) {
        self.at_next = false;
        self.valid = false;
        while !self.valid && self.failed.is_none() && self.input.valid() {
            if self.stopped() {
                return;
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
        if !self.config.must_count_input {
            return self.input.seek(target);
        }
        while self.input.valid() && self.config.order.compare(self.input.key(), target).is_lt() {
            self.advance();
        }
    }

    #[inline]
    fn stopped(&mut self) -> bool {
        let raised = |flag: &Option<std::sync::Arc<AtomicBool>>| {
            flag.as_ref().is_some_and(|flag| flag.load(Atomic::Relaxed))
        };
        if raised(&self.config.shutting_down) {
            self.failed = Some(Error::shutdown_in_progress(""));
        } else if raised(&self.config.canceled) {
            self.failed =
                Some(Error::new(Kind::Incomplete, "").with_subcode(Subcode::ManualCompactionPaused));
        }
        self.failed.is_some()
    }

    pub(super) fn set_current_trailer(&mut self, seq: SequenceNumber, kind: ValueType) {
        self.seq = seq;
        self.kind = kind;
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        base::invariant!(self.current.len() >= TRAILER_LEN, "the current key has no trailer");
        let at = self.current.len() - TRAILER_LEN;
        self.current[at..].copy_from_slice(&pack(seq, kind as u8).to_le_bytes());
    }

    pub(super) fn give_out_empty(&mut self) {
        self.value_buf.clear();
        self.value_at = ValueAt::Buffer;
        self.valid = true;
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
            Ok(parsed) if parsed.kind.is_point() => parsed,
            Ok(_) => return self.corrupt(Error::corruption("range tombstone among point entries")),
            Err(error) => return self.corrupt(error),
        };
        let (seq, kind) = (parsed.seq, parsed.kind);
        let value_len = self.input.value().len();
        self.stats.num_input_records += 1;
        self.stats.total_input_raw_key_bytes += input_key.len() as u64;
        self.stats.total_input_raw_value_bytes += value_len as u64;
        match kind {
            ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp => {
                self.stats.num_input_deletion_records += 1;
            }
            ValueType::ValuePreferredSeqno => self.stats.num_input_timed_put_records += 1,
            _ => {}
        }
        self.seq = seq;
        self.kind = kind;
        self.value_at = ValueAt::Input(value_len);

        let mut skip_until = None;
        let same_key = self.has_current_user_key && self.input_has_current_user_key();
        if !same_key || self.timestamp_size > 0 && !self.same_timestamp() {
            self.begin_key(same_key);
            if self.config.filter.is_some() {
                skip_until = self.filter_current();
                if self.failed.is_some() {
                    return;
                }
            }
        } else {
            self.set_current_trailer(seq, kind);
        }

        let newer = self.last_sequence;
        let newer_stripe = self.last_stripe;
        self.last_sequence = self.seq;
        let (stripe, before) =
            if self.no_snapshots { (self.earliest_snapshot, 0) } else { self.config.snapshots.of(self.seq) };
        self.last_stripe = stripe;

        if let Some(target) = skip_until {
            self.skip_to(&target);
        } else if self.clear_and_output_next {
            self.give_out_cleared();
        } else if self.kind == ValueType::SingleDeletion {
            self.judge_single_deletion(before);
        } else if newer != MAX_SEQUENCE && newer_stripe <= stripe {
            // (A)
            self.stats.num_record_drop_hidden += 1;
            self.advance();
        } else if self.kind == ValueType::Value && self.tombstones.is_empty() {
            self.valid = true;
        } else {
            self.judge_by_kind(before);
        }
    }

    #[cold]
    fn corrupt(&mut self, error: Error) {
        self.stats.num_input_records += 1;
        self.stats.num_input_corrupt_records += 1;
        self.failed = Some(error);
    }

    fn timestamp_of_input(&self) -> &[u8] {
        let user = key::user_key(self.input.key());
        &user[user.len().saturating_sub(self.timestamp_size)..]
    }

    fn same_timestamp(&self) -> bool {
        self.config.order.user.compare_timestamp(self.timestamp_of_input(), &self.timestamp).is_eq()
    }

    /// Starts a new user key, or the same user key with another timestamp.
    #[inline]
    fn begin_key(&mut self, same_key_without_timestamp: bool) {
        self.current.clear();
        self.current.extend_from_slice(self.input.key());
        let mut fresh = true;
        if self.timestamp_size > 0 {
            let newer_history = if self.timestamp.is_empty() { Ordering::Equal } else { self.history };
            let at = self.current.len() - TRAILER_LEN;
            self.timestamp.clear();
            self.timestamp.extend_from_slice(&self.current[at.saturating_sub(self.timestamp_size)..at]);
            self.history = match &self.config.full_history_ts_low {
                Some(low) => self.config.order.user.compare_timestamp(&self.timestamp, low),
                None => Ordering::Equal,
            };
            // If this entry and the newer entry are both below `full_history_ts_low`, this entry is treated
            // as an older entry of the same key.
            fresh = !self.has_current_user_key
                || self.config.full_history_ts_low.is_none()
                || !same_key_without_timestamp
                || self.history.is_ge()
                || newer_history.is_ge();
        }
        if fresh {
            self.last_sequence = MAX_SEQUENCE;
            self.last_stripe = 0;
            self.has_current_user_key = true;
        }
        self.has_outputted_key = false;
        self.last_key_seq_zeroed = false;
    }

    /// Returns true if `full_history_ts_low` allows to drop old entries of this key.
    pub(super) fn may_drop_history(&self) -> bool {
        self.timestamp_size == 0 || self.config.full_history_ts_low.is_some() && self.history.is_lt()
    }

    /// Puts the value under a kept single deletion into the output, with empty bytes. Write-conflict checks
    /// need the entry, but not the bytes.
    fn give_out_cleared(&mut self) {
        base::invariant!(
            self.clear_and_output_next,
            "a value is cleared without a single deletion before it"
        );
        if matches!(
            self.kind,
            ValueType::BlobIndex | ValueType::WideColumnEntity | ValueType::ValuePreferredSeqno
        ) {
            self.set_current_trailer(self.seq, ValueType::Value);
        }
        self.clear_and_output_next = false;
        self.give_out_empty();
    }

    /// Applies the rules to an entry that no newer entry hides and that is not a single deletion.
    fn judge_by_kind(&mut self, before: SequenceNumber) {
        base::invariant!(
            self.kind != ValueType::SingleDeletion,
            "a single deletion is judged without the entry after it"
        );
        let is_deletion = match self.kind {
            ValueType::Deletion => true,
            ValueType::DeletionWithTimestamp => self.history.is_lt(),
            _ => false,
        };
        let every_snapshot_sees = self.seq <= self.earliest_snapshot;
        if is_deletion && self.config.compaction.is_some() {
            if every_snapshot_sees && self.nothing_below() {
                // (B)
                self.stats.num_record_drop_obsolete += 1;
                if !self.bottommost {
                    self.stats.num_optimized_del_drop_obsolete += 1;
                }
                return self.advance();
            }
            if self.bottommost {
                return self.judge_bottommost_deletion(before);
            }
        }
        let may_swap = self.kind == ValueType::ValuePreferredSeqno
            && every_snapshot_sees
            && (self.bottommost || self.config.compaction.is_some() && self.nothing_below());
        match self.kind {
            ValueType::ValuePreferredSeqno if may_swap => self.swap_preferred_sequence(),
            ValueType::Merge => self.run_merge(before),
            _ => {
                // (D)
                let collapsible = self.timestamp_size == 0 || self.history.is_lt();
                if collapsible && self.tombstones.should_delete(&self.current) {
                    self.stats.num_record_drop_hidden += 1;
                    self.stats.num_record_drop_range_del += 1;
                    self.advance();
                } else {
                    self.valid = true;
                }
            }
        }
    }

    pub(super) fn nothing_below(&mut self) -> bool {
        self.bottommost || self.below.key_not_exists_beyond_output(key::user_key(&self.current))
    }

    /// (C): drops the entries of the same stripe that the tombstone hides. Keeps the tombstone only if an
    /// older stripe has an entry of the key.
    fn judge_bottommost_deletion(&mut self, before: SequenceNumber) {
        base::invariant!(self.bottommost, "a deletion above the bottommost level drops the entries after it");
        self.advance();
        while self.input.valid() && self.input_has_current_user_key() {
            if before != 0 && key::sequence(self.input.key()) <= before {
                self.at_next = true;
                return self.give_out_empty();
            }
            if self.stopped() {
                return;
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
        let (value_len, preferred) = (value.len(), u64::from_le_bytes(*preferred));
        if self.tombstones.should_delete(&self.current) {
            self.stats.num_record_drop_hidden += 1;
            self.stats.num_record_drop_range_del += 1;
            return self.advance();
        }
        let timed_seq = self.seq;
        // The preferred sequence number comes from the file, so it may be larger than the sequence number of
        // the entry.
        self.set_current_trailer(preferred.min(timed_seq), ValueType::Value);
        if self.tombstones.should_delete(&self.current) {
            self.set_current_trailer(timed_seq, ValueType::ValuePreferredSeqno);
        } else {
            if timed_seq != 0 {
                self.stats.num_timed_put_swap_preferred_seqno += 1;
            }
            self.value_at = ValueAt::Input(value_len);
        }
        self.valid = true;
    }

    /// Returns true if the value, or a column, is in a blob file. The record in the blob file has the key
    /// with its timestamp, and readers compare both keys. So the timestamp of such an entry must stay.
    /// RocksDB zeroes this timestamp, and its reads then fail with Corruption.
    fn is_in_blob_file(&self) -> bool {
        match self.kind {
            ValueType::BlobIndex => true,
            ValueType::WideColumnEntity => format::wide::may_have_blobs(self.value()),
            _ => false,
        }
    }

    /// (E): sets the sequence number to zero, if the output is on the bottommost level and every snapshot
    /// sees the entry.
    #[inline]
    pub(super) fn prepare_output(&mut self) {
        if !self.valid
            || !self.bottommost
            || self.seq > self.earliest_snapshot
            || self.seq > self.preserve_seqno_after
            || matches!(self.kind, ValueType::Merge | ValueType::Deletion | ValueType::SingleDeletion)
        {
            return;
        }
        if self.timestamp_size > 0 {
            if !self.may_drop_history() || self.is_in_blob_file() {
                return;
            }
            let end = self.current.len() - TRAILER_LEN;
            self.current[end.saturating_sub(self.timestamp_size)..end].fill(0);
        }
        base::invariant!(
            self.no_snapshots || self.seq <= self.config.snapshots.earliest(),
            "a snapshot still needs the sequence number {}",
            self.seq
        );
        self.set_current_trailer(0, self.kind);
        self.last_key_seq_zeroed = true;
    }
}
