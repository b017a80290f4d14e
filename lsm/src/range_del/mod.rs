//! Range tombstones: which keys they cover in reads and in compactions.
//!
//! A tombstone `[start, end)@seq` hides every entry of a key in the range that is older than `seq`. A
//! tombstone of an SST file is valid only inside the internal-key bounds of the file, because a neighbour
//! file with the same tombstone may have newer data. So positions here are internal keys instead of user
//! keys.

mod compaction;
mod read;

use base::key::{self, MAX_SEQUENCE, TRAILER_LEN};

pub use compaction::{CompactionTombstones, OutputTombstone, OutputTombstones};
pub use read::{Cover, Coverage, FragmentCover, LevelCover, OpenTombstones, Uncovered};

use crate::file_meta::EXCLUSIVE_END;

/// A value type that sorts before every entry with the same sequence number: one more than the largest value
/// type.
const BEFORE_ALL_KINDS: u8 = 0x1a;

/// Returns the position before every entry of a user key. The key is given without timestamp.
///
/// A file that a range tombstone extends ends at this position, before the first key of the next file. The position
/// needs the newest timestamp: with the timestamp of an entry, newer entries of the key would sort before the end
/// of the file (RocksDB `CompactionOutputs::AddRangeDels`, `kTsMax`).
pub fn before_user_key(user_key: &[u8], timestamp_size: usize) -> Vec<u8> {
    let mut out = key::with_newest_timestamp(user_key, timestamp_size);
    out.extend_from_slice(&EXCLUSIVE_END.to_le_bytes());
    out
}

/// Returns the position from which the tombstones of an SST file are valid: just before its smallest key.
fn lower_position(smallest: &[u8]) -> Vec<u8> {
    with_trailer(smallest, key::pack(key::sequence(smallest), BEFORE_ALL_KINDS))
}

/// Returns the position (exclusive) up to which the tombstones of an SST file count. The position is just
/// after the largest key of the file. If the largest key is an exclusive end, or has sequence number 0, the
/// position is the largest key.
fn upper_position(largest: &[u8]) -> Vec<u8> {
    let trailer = key::trailer(largest);
    let seq = key::sequence_of(trailer);
    if trailer == EXCLUSIVE_END || seq.is_zero() {
        return largest.to_vec();
    }
    base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
    with_trailer(largest, key::pack(seq - 1, BEFORE_ALL_KINDS))
}

fn with_trailer(internal: &[u8], trailer: u64) -> Vec<u8> {
    let user = key::user_key(internal);
    let mut out = Vec::with_capacity(user.len() + TRAILER_LEN);
    key::append_with_trailer(&mut out, user, trailer);
    out
}

#[cfg(test)]
mod tests;
