//! Merge at write: if a key has many merge operands, a new operand is merged with the older entries, and
//! the result is written.
//!
//! ```text
//!  k#3,SET  k#4,MERGE .. k#9,MERGE     max_successive_merges = 6, next operand:     k#10,SET (all of them)
//! ```
//! Only operands in the active memtable are counted. The base value of the operands may be in an older memtable or
//! in an SST file. Without `strict_max_successive_merges`, only cached blocks are read. With this option, the write
//! also waits for reads of files. If the base value is not available or the operator fails, the operand is written
//! as it is.

use std::ops::ControlFlow;

use base::{SequenceNumber, ValueType};
use mem::memtable::MemTable;

use crate::family::{Family, Parts};

/// Reads the older entries of a key and merges an operand with them. The module `read` implements it.
pub trait Merger: Send + Sync {
    /// Merges `operand` with the entries of the key up to `seq`, and returns the resulting entry. Without `io`, the
    /// function reads only memtables and cached blocks. Returns `None` if the entries are not available or the
    /// operator does not merge them.
    fn merged(
        &self,
        family: &Family,
        key: &[u8],
        operand: &[u8],
        seq: SequenceNumber,
        io: bool,
    ) -> Option<(ValueType, Vec<u8>)>;
}

/// Returns the entry to write instead of the operand at `seq`, if the operand must be merged now. The older
/// entries must all be in memtables, and no other thread may be adding entries of this key.
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
        if version.value_type != ValueType::Merge {
            return ControlFlow::Break(());
        }
        operands += 1;
        if operands < parts.successive_merges.operands_max {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    base::invariant!(
        operands <= parts.successive_merges.operands_max,
        "{operands} merge operands are counted, and at most {} are asked for",
        parts.successive_merges.operands_max
    );
    if counted.is_err() || operands < parts.successive_merges.operands_max {
        return None;
    }
    merger.merged(family, key, operand, before, parts.successive_merges.may_read_files)
}
