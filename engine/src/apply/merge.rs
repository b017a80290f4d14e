//! Merging at write: an operand that would follow many others is merged with all before it, and the result written.
//!
//! ```text
//!  k#3,SET  k#4,MERGE .. k#9,MERGE     max_successive_merges = 6, next operand:     k#10,SET (all of them)
//! ```
//! The operands are counted in the active memtable alone. What they are merged onto may lie deeper: it is looked
//! for as far as the block cache goes, with `strict_max_successive_merges` in files too, which the write then
//! waits for. What cannot be had or merged is written as the operand it is; its readers hear of it.

use std::ops::ControlFlow;

use base::{SequenceNumber, ValueType};
use mem::memtable::MemTable;

use crate::family::{Family, Parts};

/// Who can look below the memtable: the room of reads.
pub trait Merger: Send + Sync {
    /// The entry that `operand` makes of the key with all there is of it up to `seq`. Without `io` only what
    /// is in memory is looked at. `None`: not to be had, or not to be merged.
    fn merged(
        &self,
        family: &Family,
        key: &[u8],
        operand: &[u8],
        seq: SequenceNumber,
        io: bool,
    ) -> Option<(ValueType, Vec<u8>)>;
}

/// The entry that is to stand for the operand at `seq`, if it is to be merged now. Versions before `seq` must all
/// be in memory, and nobody may be adding any of this key.
pub(super) fn at_write(
    merger: &dyn Merger,
    family: &Family,
    parts: &Parts,
    mem: &MemTable,
    seq: SequenceNumber,
    key: &[u8],
    operand: &[u8],
) -> Option<(ValueType, Vec<u8>)> {
    let before = seq.checked_sub(1)?;
    let mut operands = 0;
    let counted = mem.get(key, before, |version| {
        if version.kind != ValueType::Merge {
            return ControlFlow::Break(());
        }
        operands += 1;
        if operands < parts.successive_merges_max {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    if counted.is_err() || operands < parts.successive_merges_max {
        return None;
    }
    merger.merged(family, key, operand, before, parts.strict_successive_merges)
}
