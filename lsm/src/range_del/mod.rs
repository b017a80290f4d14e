//! Range tombstones at work: which keys they cover while reading and while compacting.
//!
//! A tombstone `[start, end)@seq` hides every version of a key in the range that is older than `seq`.
//! One read from a table counts only inside the table's internal-key bounds, since a neighbour may
//! hold newer data under the same tombstone. So positions here are internal keys, not user keys.

mod compaction;
mod read;

pub use compaction::{CompactionTombstones, OutputTombstone};
pub use read::{Cover, Coverage};
