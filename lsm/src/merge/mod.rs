//! Merge operators: user code that combines the merge operands of a key into its value.
//!
//! An operator gets the key, the existing value if there is one, and the operands, oldest first. The operands
//! are slices of a memtable arena or of a cached block; nothing is copied for the call. The operator writes a
//! new value into a buffer of the caller, or returns that one of the operands or the existing value is the
//! result. The caller then passes on that value without a copy.
//!
//! Operators are user code, so [`full_merge`] and [`partial_merge`] turn a panic into an error.

mod standard;

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::Pinned;
use base::error::{Error, Kind, Result, Subcode};

pub use standard::{BytesXor, Max, Put, SortList, StringAppend, StringAppendTest, UInt64Add, by_name, names};

/// The base of a full merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing<'a> {
    /// The key has no older value, or a tombstone.
    None,
    /// The key has this value.
    Value(&'a [u8]),
    /// The key has a wide-column entity: (name, value), sorted by name. The default column has the empty
    /// name.
    Columns(&'a [(&'a [u8], &'a [u8])]),
}

/// The input of a full merge.
#[derive(Clone, Copy, Debug)]
pub struct FullMerge<'a> {
    /// The user key.
    pub key: &'a [u8],
    /// The value below the merge operands.
    pub existing: Existing<'a>,
    /// The operands, oldest first; never empty.
    pub operands: &'a [&'a [u8]],
}

/// The outcome of a full merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The result is in the buffer of the caller.
    New,
    /// The result is the operand with this index, unchanged. The oldest operand has index 0.
    Operand(usize),
    /// The result is the existing plain value, unchanged. It is an error if there is none, or if it has
    /// columns.
    Existing,
    /// The result is a wide-column entity. The columns may be in any order.
    Columns(Vec<(Vec<u8>, Vec<u8>)>),
}

/// The scope of a failed merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The read, the flush or the compaction fails.
    Merge,
    /// Only operations that must merge, such as reads, fail. Flush and compaction keep the operands.
    MustMerge,
}

/// Combines merge operands into a value. Threads share an operator.
pub trait MergeOperator: Send + Sync {
    /// Returns the name for options and table properties, like RocksDB's `MergeOperator::Name`.
    fn name(&self) -> &str;

    /// Returns the text in OPTIONS files that makes the operator again: its name, or `{id=name;k=v;}` for an
    /// operator with settings.
    fn option_text(&self) -> String {
        self.name().to_string()
    }

    /// Merges all operands with the existing value. `out` is empty at the call and holds the result for
    /// [`Merged::New`].
    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> std::result::Result<Merged, Failure>;

    /// Merges operands into one operand. The result has the effect of the operands on any base value.
    /// Operands are ordered oldest first; there are at least two, or at least one if `allow_single_operand`
    /// is set. Returns false if the operator cannot merge the operands; the caller then keeps the operands.
    fn partial(&self, _key: &[u8], _operands: &[&[u8]], _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Returns true if `partial` may be called for a single operand. Default false.
    fn allow_single_operand(&self) -> bool {
        false
    }

    /// Returns true if these operands, newest first, are enough for a point lookup. The lookup then reads
    /// no older data and merges the operands without a base value. Called again after each operand that the
    /// lookup finds. Default false.
    fn should_merge(&self, _newest_first: &[Pinned]) -> bool {
        false
    }
}

/// An operator whose operands have the form of a value and whose merge is associative. It needs only one
/// function.
pub trait AssociativeMergeOperator: Send + Sync {
    /// Returns the name that OPTIONS files hold. The open compares the name.
    fn name(&self) -> &str;

    /// Merges `operand` with `existing`; both have the same form. Returns false if the merge fails.
    fn merge(&self, key: &[u8], existing: Option<&[u8]>, operand: &[u8], out: &mut Vec<u8>) -> bool;
}

/// Makes a [`MergeOperator`] of an associative operator.
pub struct Associative<T>(pub T);

impl<T: AssociativeMergeOperator> Associative<T> {
    fn fold<'a>(&self, key: &[u8], first: Option<&'a [u8]>, rest: &[&'a [u8]], out: &mut Vec<u8>) -> bool {
        // The result so far. Before the first merge, `first` is used without a copy.
        let mut have: Option<Vec<u8>> = None;
        for operand in rest {
            out.clear();
            if !self.0.merge(key, have.as_deref().or(first), operand, out) {
                return false;
            }
            std::mem::swap(have.get_or_insert_default(), out);
        }
        match have {
            Some(have) => *out = have,
            None => out.extend_from_slice(first.unwrap_or_default()),
        }
        true
    }
}

impl<T: AssociativeMergeOperator> MergeOperator for Associative<T> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> std::result::Result<Merged, Failure> {
        with_default_column(merge, out, |existing, out| {
            if self.fold(merge.key, existing, merge.operands, out) {
                Ok(Merged::New)
            } else {
                Err(Failure::Merge)
            }
        })
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        match operands.split_first() {
            Some((first, rest)) => self.fold(key, Some(first), rest, out),
            None => false,
        }
    }
}

/// Runs the merge `plain` on any base value. For an entity, merges the default column and copies the other
/// columns, as RocksDB's `MergeOperator::FullMergeV3` does by default.
pub fn with_default_column<'a>(
    merge: &FullMerge<'a>,
    out: &mut Vec<u8>,
    plain: impl FnOnce(Option<&'a [u8]>, &mut Vec<u8>) -> std::result::Result<Merged, Failure>,
) -> std::result::Result<Merged, Failure> {
    let columns = match merge.existing {
        Existing::None => return plain(None, out),
        Existing::Value(value) => return plain(Some(value), out),
        Existing::Columns(columns) => columns,
    };
    let (default, others) = match columns.split_first() {
        Some((([], value), others)) => (Some(*value), others),
        _ => (None, columns),
    };
    let default = match plain(Some(default.unwrap_or_default()), out)? {
        Merged::New => std::mem::take(out),
        Merged::Operand(i) => merge.operands.get(i).ok_or(Failure::Merge)?.to_vec(),
        Merged::Existing => default.unwrap_or_default().to_vec(),
        Merged::Columns(columns) => return Ok(Merged::Columns(columns)),
    };
    let mut merged = Vec::with_capacity(others.len() + 1);
    merged.push((Vec::new(), default));
    merged.extend(others.iter().map(|(name, value)| (name.to_vec(), value.to_vec())));
    Ok(Merged::Columns(merged))
}

/// Runs the full merge of the operator. Catches a panic, checks the result, and sorts columns.
///
/// # Errors
/// Corruption with `Subcode::MergeOperatorFailed`, as in RocksDB. [`failure_scope`] returns the scope of the
/// error.
pub fn full_merge(operator: &dyn MergeOperator, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Result<Merged> {
    out.clear();
    let answer = catch_unwind(AssertUnwindSafe(|| operator.full(merge, out)));
    let failed = |why: &str| failed(operator, why);
    match answer {
        Ok(Ok(Merged::Operand(i))) if i >= merge.operands.len() => {
            Err(failed("named an operand that does not exist"))
        }
        Ok(Ok(Merged::Existing)) if !matches!(merge.existing, Existing::Value(_)) => {
            Err(failed("named an existing value where there is none"))
        }
        Ok(Ok(Merged::Columns(mut columns))) => {
            columns.sort();
            if columns.windows(2).any(|w| w[0].0 == w[1].0) {
                return Err(failed("gave two columns of one name"));
            }
            Ok(Merged::Columns(columns))
        }
        Ok(Ok(merged)) => Ok(merged),
        Ok(Err(Failure::Merge)) => Err(failed("failed")),
        Ok(Err(Failure::MustMerge)) => {
            Err(failed("failed where a merge is needed").with_kind(Kind::Corruption).with_retryable(true))
        }
        Err(_) => Err(failed("panicked")),
    }
}

fn failed(operator: &dyn MergeOperator, why: &str) -> Error {
    Error::corruption(format!("merge operator {}: {why}", operator.name()))
        .with_subcode(Subcode::MergeOperatorFailed)
}

/// Returns the scope of an error of [`full_merge`].
pub fn failure_scope(error: &Error) -> Failure {
    if error.subcode() == Subcode::MergeOperatorFailed && error.retryable() {
        Failure::MustMerge
    } else {
        Failure::Merge
    }
}

/// Asks the operator whether a lookup may end with these operands.
///
/// # Errors
/// The error of [`full_merge`] if the operator panics.
pub fn should_merge(operator: &dyn MergeOperator, newest_first: &[Pinned]) -> Result<bool> {
    catch_unwind(AssertUnwindSafe(|| operator.should_merge(newest_first)))
        .map_err(|_| failed(operator, "panicked"))
}

/// Runs the partial merge of the operator. Returns false if the operator panics.
pub fn partial_merge(
    operator: &dyn MergeOperator,
    key: &[u8],
    operands: &[&[u8]],
    out: &mut Vec<u8>,
) -> bool {
    out.clear();
    catch_unwind(AssertUnwindSafe(|| operator.partial(key, operands, out))).unwrap_or(false)
}

#[cfg(test)]
mod tests;
