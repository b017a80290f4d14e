//! Makes keys for seeks: internal keys with the newest or the oldest timestamp. Also prefixes and value types of
//! deletions.

use std::borrow::Cow;

use base::key::{self, ValueType};

use super::view::View;

/// Stands for the newest possible timestamp, which is first in the order of keys.
pub(super) const MAX_TS: &[u8] = &[0xff];
/// Stands for the oldest possible timestamp, which is last in the order of keys.
pub(super) const MIN_TS: &[u8] = &[0x00];

/// Writes an internal key for a seek: the key, a timestamp, a trailer. A `timestamp` of one byte is repeated.
pub(super) fn seek_key(
    out: &mut Vec<u8>,
    without_timestamp: &[u8],
    timestamp_size: usize,
    trailer: u64,
    timestamp: &[u8],
) {
    out.clear();
    out.extend_from_slice(without_timestamp);
    if timestamp_size > 0 {
        if timestamp.len() == timestamp_size {
            out.extend_from_slice(timestamp);
        } else {
            let fill = timestamp.first().copied().unwrap_or(0xff);
            out.extend(std::iter::repeat_n(fill, timestamp_size));
        }
    }
    out.extend_from_slice(&trailer.to_le_bytes());
    base::invariant!(
        timestamp_size == 0 || timestamp.len() == timestamp_size || timestamp.len() <= 1,
        "a seek has a timestamp of {} bytes, and the timestamps have {timestamp_size}",
        timestamp.len()
    );
}

/// Returns true if an entry of this value type deletes its key.
#[inline]
pub(super) fn is_deletion(value_type: u8) -> bool {
    const DELETION: u8 = ValueType::Deletion as u8;
    const SINGLE: u8 = ValueType::SingleDeletion as u8;
    const TIMED: u8 = ValueType::DeletionWithTimestamp as u8;
    matches!(value_type, DELETION | SINGLE | TIMED)
}

#[inline]
pub(super) fn without_timestamp(user_key: &[u8], timestamp_size: usize) -> &[u8] {
    if timestamp_size == 0 { user_key } else { key::without_timestamp(user_key, timestamp_size) }
}

pub(super) fn prefix_of(view: &View, target: &[u8]) -> Option<Vec<u8>> {
    view.prefix.as_ref()?.prefix(target).map(Cow::into_owned)
}

#[inline]
pub(super) fn has_prefix(view: &View, stripped: &[u8], prefix: &[u8]) -> bool {
    match &view.prefix {
        Some(extractor) => extractor.prefix(stripped).as_deref() == Some(prefix),
        None => true,
    }
}
