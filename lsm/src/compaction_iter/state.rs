//! The parts of a compaction iterator: the rules of the compaction, the entry for the output, the history of the
//! current user key, and the reader of blobs.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Atomic};

use base::error::{Error, Kind, Result, Subcode};
use base::invariant::{FastPath, takes_slow_path};
use base::key::{self, MAX_SEQUENCE, SequenceNumber, TRAILER_LEN, ValueType, pack};

use super::config::{CompactionIterStats, Config};
use crate::filter::FetchBlob;

/// Returns true if two user keys have the same bytes. Compares the last and first eight bytes first, because
/// most keys differ there.
#[inline]
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
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

/// The configuration, and the values that are derived from the configuration once.
pub(super) struct Rules {
    pub config: Config,
    pub bytewise: bool,
    pub timestamp_size: usize,
    pub bottommost: bool,
    pub no_snapshots: bool,
    pub earliest_snapshot: SequenceNumber,
    pub preserve_seqno_after: SequenceNumber,
}

impl Rules {
    pub(super) fn new(mut config: Config) -> Self {
        if config.order.user.timestamp_size() == 0 {
            // The column family had timestamps before: the MANIFEST keeps the low end of their history.
            config.full_history_ts_low = None;
        }
        base::invariant!(
            config
                .full_history_ts_low
                .as_ref()
                .is_none_or(|low| low.len() == config.order.user.timestamp_size()),
            "the low end of the history has another length than the timestamps of the keys"
        );
        let earliest_snapshot = config.snapshots.earliest();
        Rules {
            bytewise: config.order.user.is_bytewise(),
            timestamp_size: config.order.user.timestamp_size(),
            bottommost: config.compaction.is_some_and(|c| c.bottommost),
            no_snapshots: config.snapshots.is_empty(),
            earliest_snapshot,
            preserve_seqno_after: config.preserve_seqno_after.unwrap_or(earliest_snapshot),
            config,
        }
    }

    /// Returns true if two user keys are equal without their timestamps.
    #[inline]
    pub(super) fn same_key(&self, a: &[u8], b: &[u8]) -> bool {
        if self.bytewise && !takes_slow_path(FastPath::SameKey, a) {
            same_bytes(a, b)
        } else {
            self.config.order.user.compare_without_timestamp(a, b).is_eq()
        }
    }

    /// Returns the timestamp at the end of a user key.
    pub(super) fn timestamp_of<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        base::key::timestamp(user_key, self.timestamp_size)
    }

    /// Returns the error of a compaction that was canceled or that the close of the database ends.
    #[inline]
    pub(super) fn stop(&self) -> Option<Error> {
        let is_set =
            |flag: &Option<Arc<AtomicBool>>| flag.as_ref().is_some_and(|flag| flag.load(Atomic::Relaxed));
        if is_set(&self.config.shutting_down) {
            Some(Error::shutdown_in_progress(""))
        } else if is_set(&self.config.canceled) {
            Some(Error::new(Kind::Incomplete, "").with_subcode(Subcode::ManualCompactionPaused))
        } else {
            None
        }
    }
}

/// The location of the current entry's value.
#[derive(Clone, Copy)]
pub(super) enum ValueAt {
    /// The value at the input, cut to this number of bytes.
    Input(usize),
    /// [`Output::buffer`].
    Buffer,
    /// The current entry of the merge result.
    Merge,
}

/// The entry for the output.
pub(super) struct Output {
    /// The internal key. Its user key is compared with the next entry, also if the entry was dropped.
    pub key: Vec<u8>,
    pub seq: SequenceNumber,
    pub value_type: ValueType,
    /// True if the entry survives.
    pub valid: bool,
    pub value: ValueAt,
    pub buffer: Vec<u8>,
}

impl Output {
    pub(super) fn new() -> Self {
        Output {
            key: Vec::new(),
            seq: SequenceNumber::ZERO,
            value_type: ValueType::Value,
            valid: false,
            value: ValueAt::Buffer,
            buffer: Vec::new(),
        }
    }

    /// Sets the sequence number and the value type, also in the key.
    pub(super) fn set_trailer(&mut self, seq: SequenceNumber, value_type: ValueType) {
        self.seq = seq;
        self.value_type = value_type;
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        base::invariant!(self.key.len() >= TRAILER_LEN, "the current key has no trailer");
        let at = self.key.len() - TRAILER_LEN;
        self.key[at..].copy_from_slice(&pack(seq, value_type as u8).to_le_bytes());
    }

    /// Sets an empty value.
    pub(super) fn clear_value(&mut self) {
        self.buffer.clear();
        self.value = ValueAt::Buffer;
    }

    /// Puts the entry into the output, with an empty value.
    pub(super) fn show_empty(&mut self) {
        self.clear_value();
        self.valid = true;
    }

    /// Puts the value under a kept single deletion into the output, with empty bytes. Write-conflict checks
    /// need the entry, but not the bytes.
    pub(super) fn show_cleared(&mut self) {
        if matches!(
            self.value_type,
            ValueType::BlobIndex | ValueType::WideColumnEntity | ValueType::ValuePreferredSeqno
        ) {
            self.set_trailer(self.seq, ValueType::Value);
        }
        self.show_empty();
    }

    /// Returns true if `value`, the value of the entry, or one of its columns, is in a blob file. The record in
    /// the blob file has the key with its timestamp, and readers compare both keys. So the timestamp of such an
    /// entry must stay. RocksDB zeroes this timestamp, and its reads then fail with Corruption.
    pub(super) fn is_in_blob_file(&self, value: &[u8]) -> bool {
        match self.value_type {
            ValueType::BlobIndex => true,
            ValueType::WideColumnEntity => format::wide::may_have_blobs(value),
            _ => false,
        }
    }
}

/// The facts about the newer entries of the current user key.
pub(super) struct KeyHistory {
    /// True if [`Output::key`] has the user key that older entries are compared with.
    pub has_key: bool,
    /// True if an entry of this user key was in the output.
    pub has_output: bool,
    /// The sequence number of the last examined entry of this user key.
    pub last_seq: SequenceNumber,
    /// The smallest stripe of the examined entries of this user key.
    pub last_stripe: SequenceNumber,
    /// True if the last entry of this user key got the sequence number zero.
    pub seq_zeroed: bool,
    /// True if a single deletion had to stay. The value under it is next in the output, with empty bytes.
    pub clears_next: bool,
    /// The timestamp of the current entry.
    pub timestamp: Vec<u8>,
    /// The comparison of the timestamp with `full_history_ts_low`.
    to_low: Ordering,
}

impl KeyHistory {
    pub(super) fn new() -> Self {
        KeyHistory {
            has_key: false,
            has_output: false,
            last_seq: MAX_SEQUENCE,
            last_stripe: SequenceNumber::ZERO,
            seq_zeroed: false,
            clears_next: false,
            timestamp: Vec::new(),
            to_low: Ordering::Equal,
        }
    }

    /// Starts the history of the user key of `internal_key`, or of the same user key with another timestamp.
    #[inline]
    pub(super) fn begin(&mut self, rules: &Rules, internal_key: &[u8], same_key_without_timestamp: bool) {
        let mut fresh = true;
        if rules.timestamp_size > 0 {
            let newer_to_low = if self.timestamp.is_empty() { Ordering::Equal } else { self.to_low };
            self.timestamp.clear();
            self.timestamp.extend_from_slice(rules.timestamp_of(key::user_key(internal_key)));
            self.to_low = match &rules.config.full_history_ts_low {
                Some(low) => rules.config.order.user.compare_timestamp(&self.timestamp, low),
                None => Ordering::Equal,
            };
            // If this entry and the newer entry are both below `full_history_ts_low`, this entry is treated
            // as an older entry of the same key.
            fresh = !self.has_key
                || rules.config.full_history_ts_low.is_none()
                || !same_key_without_timestamp
                || self.to_low.is_ge()
                || newer_to_low.is_ge();
        }
        if fresh {
            self.last_seq = MAX_SEQUENCE;
            self.last_stripe = SequenceNumber::ZERO;
            self.has_key = true;
        }
        self.has_output = false;
        self.seq_zeroed = false;
    }

    /// Returns true if the timestamp of the current entry is below `full_history_ts_low`.
    #[inline]
    pub(super) fn is_below_low(&self) -> bool {
        self.to_low.is_lt()
    }

    /// Returns true if `user_key` has the timestamp of the current entry.
    pub(super) fn has_timestamp_of(&self, rules: &Rules, user_key: &[u8]) -> bool {
        rules.config.order.user.compare_timestamp(rules.timestamp_of(user_key), &self.timestamp).is_eq()
    }

    /// Returns true if `full_history_ts_low` allows to drop old entries of this key.
    pub(super) fn may_be_dropped(&self, rules: &Rules) -> bool {
        rules.timestamp_size == 0 || rules.config.full_history_ts_low.is_some() && self.is_below_low()
    }

    /// Returns true if an older entry of the same key belongs to the merge of the current entry. `user_key` is
    /// the user key of the older entry.
    pub(super) fn merges_with(&self, rules: &Rules, user_key: &[u8]) -> bool {
        if rules.timestamp_size == 0 || self.has_timestamp_of(rules, user_key) {
            return true;
        }
        let timestamp = rules.timestamp_of(user_key);
        self.may_be_dropped(rules)
            && rules
                .config
                .full_history_ts_low
                .as_ref()
                .is_some_and(|low| rules.config.order.user.compare_timestamp(timestamp, low).is_lt())
    }
}

/// Reads values in blob files for filters and merges. Empty: every read fails.
#[derive(Default)]
pub(super) struct Blobs {
    pub source: Option<Box<dyn FetchBlob + Send>>,
}

/// The text of the error of a merge without blob files.
pub(super) const MERGE_WITHOUT_BLOBS: &str = "merging onto a value in a blob file without blob read support";

impl Blobs {
    /// Returns the value of a blob index. `user_key` is the key of the entry that has the blob index. It may have
    /// an older timestamp than the merge operands of the key.
    ///
    /// # Errors
    /// NotSupported with the text `missing` without blob files. The errors of the read.
    pub(super) fn fetch(
        &mut self,
        user_key: &[u8],
        index: &[u8],
        missing: &'static str,
        stats: &mut CompactionIterStats,
    ) -> Result<Vec<u8>> {
        let source = self.source.as_mut().ok_or_else(|| Error::not_supported(missing))?;
        let mut value = Vec::new();
        source.fetch(user_key, index, &mut value)?;
        stats.num_blobs_read += 1;
        stats.total_blob_bytes_read += value.len() as u64;
        Ok(value)
    }

    /// Returns an entity with all columns inline.
    pub(super) fn whole_entity(
        &mut self,
        user_key: &[u8],
        entity: &[u8],
        stats: &mut CompactionIterStats,
    ) -> Result<Vec<u8>> {
        if !format::wide::may_have_blobs(entity) {
            return Ok(entity.to_vec());
        }
        let columns = format::wide::decode(entity)?;
        let mut values = Vec::new();
        for column in &columns {
            values.push(match column.is_blob {
                true => Some(self.fetch(user_key, column.value, MERGE_WITHOUT_BLOBS, stats)?),
                false => None,
            });
        }
        let inline: Vec<_> = columns
            .iter()
            .zip(&values)
            .map(|(c, value)| format::wide::Column::inline(c.name, value.as_deref().unwrap_or(c.value)))
            .collect();
        let mut out = Vec::new();
        format::wide::encode(&inline, &mut out)?;
        Ok(out)
    }
}
