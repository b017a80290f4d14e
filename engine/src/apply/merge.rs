//! Merging at write: an operand that would follow many others is merged with them, and the result written.
//!
//! ```text
//!  k#3,SET  k#4,MERGE .. k#9,MERGE     max_successive_merges = 6, next operand:     k#10,SET (all of them)
//! ```
//! Only what the active memtable holds is looked at, so no write waits for a file: where the chain's base
//! lies deeper, the operand is written as it is. RocksDB looks further, as far as its block cache goes; with
//! `strict_max_successive_merges` as far as it takes, which is refused here.

use std::ops::ControlFlow;

use base::{SequenceNumber, ValueType};
use lsm::merge::{Existing, FullMerge, Merged, full_merge};
use mem::memtable::MemTable;

use crate::family::Parts;

/// The value that the operand at `seq` makes of the key, if it is to be merged now. Versions before `seq`
/// must all be in the memtable, and nobody may be adding any of this key.
pub(super) fn at_write(
    parts: &Parts,
    mem: &MemTable,
    seq: SequenceNumber,
    key: &[u8],
    operand: &[u8],
) -> Option<Vec<u8>> {
    let operator = parts.merge_operator.as_ref()?;
    let before = seq.checked_sub(1)?;
    let covering = mem.max_covering_tombstone(key, before).unwrap_or(0);
    // Newest first.
    let mut operands = vec![operand];
    let mut base = None;
    let searched = mem.get(key, before, |version| {
        match version.kind {
            _ if version.seq < covering => base = Some(Existing::None),
            ValueType::Merge => {
                operands.push(version.value);
                return ControlFlow::Continue(());
            }
            ValueType::Value => base = Some(Existing::Value(version.value)),
            ValueType::Deletion | ValueType::SingleDeletion => base = Some(Existing::None),
            // Entities and the rarer kinds are left to the reader.
            _ => operands.clear(),
        }
        ControlFlow::Break(())
    });
    if base.is_none() && covering > 0 {
        base = Some(Existing::None);
    }
    let existing = base?;
    if searched.is_err() || operands.len() as u64 <= parts.successive_merges_max {
        return None;
    }
    operands.reverse();
    let mut out = Vec::new();
    let merge = FullMerge { key, existing, operands: &operands };
    // What cannot be merged is written as it is; its readers hear of it.
    match full_merge(&**operator, &merge, &mut out).ok()? {
        Merged::New => Some(out),
        Merged::Operand(at) => operands.get(at).map(|operand| operand.to_vec()),
        Merged::Existing | Merged::Columns(_) => None,
    }
}
