//! Merge operators: how operands of a key become its value.
//!
//! An operator sees the key, the existing value if any, and the operands oldest first as slices that
//! stay where they are (memtable arena, block cache) while it runs; nothing is copied for it. It answers
//! with new bytes, written into a buffer the caller lends, or by naming one of the operands or the
//! existing value as the result as it stands, which the caller then hands on without a copy.
//!
//! Operators are the user's code: [`full_merge`] and [`partial_merge`] turn a panic into an error.

mod standard;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use base::Pinned;
use base::error::{Error, Kind, Result, Subcode};

pub use standard::{BytesXor, Max, Put, SortList, StringAppend, StringAppendTest, UInt64Add, by_name, names};

/// What the operands are merged onto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing<'a> {
    /// Nothing, or a deletion.
    None,
    /// The key has this value.
    Value(&'a [u8]),
    /// A wide-column entity: (name, value), sorted by name. The default column has the empty name.
    Columns(&'a [(&'a [u8], &'a [u8])]),
}

/// One full merge.
#[derive(Clone, Copy, Debug)]
pub struct FullMerge<'a> {
    /// The user key.
    pub key: &'a [u8],
    /// What lies below the merge operands.
    pub existing: Existing<'a>,
    /// Oldest first; never empty.
    pub operands: &'a [&'a [u8]],
}

/// The outcome of a full merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The bytes that were put into the lent buffer.
    New,
    /// Operand of this index (oldest is 0), as it stands.
    Operand(usize),
    /// The existing plain value as it stands. With none existing, or columns, an error.
    Existing,
    /// A wide-column entity; need not be sorted.
    Columns(Vec<(Vec<u8>, Vec<u8>)>),
}

/// How far a failed merge reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The read, the flush or the compaction fails.
    Merge,
    /// Only operations that must merge fail (reads); flush and compaction keep the operands.
    MustMerge,
}

/// How operands become a value. Implementations are shared between threads.
pub trait MergeOperator: Send + Sync {
    /// The name kept in options and table properties, as RocksDB's `MergeOperator::Name`.
    fn name(&self) -> &str;

    /// What OPTIONS files say to make it again: its name, or `{id=name;k=v;}` with settings of its own.
    fn option_text(&self) -> String {
        self.name().to_string()
    }

    /// Merges all operands onto what exists. `out` comes empty and holds the result for [`Merged::New`].
    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> std::result::Result<Merged, Failure>;

    /// Merges operands into one operand. The result has the effect of the operands on any base value.
    /// Operands are ordered oldest first; there are at least two, or at least one if `allow_single_operand`
    /// is set. Returns false if the operator cannot merge the operands; the caller then keeps the operands.
    fn partial(&self, _key: &[u8], _operands: &[&[u8]], _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Whether `partial` is to be called for one operand too. Default: no.
    fn allow_single_operand(&self) -> bool {
        false
    }

    /// Whether these operands, newest first, settle a point look-up already, so that older data need
    /// not be read; they are then merged onto nothing. Asked again with each operand that is found.
    /// Default: no.
    fn should_merge(&self, _newest_first: &[Pinned]) -> bool {
        false
    }
}

/// Operators where an operand has the form of a value and merging is associative: one function does all.
pub trait AssociativeMergeOperator: Send + Sync {
    /// Returns the name that OPTIONS files hold. The open compares the name.
    fn name(&self) -> &str;

    /// Merges `operand` onto `existing`, both in the same form. False is a failure.
    fn merge(&self, key: &[u8], existing: Option<&[u8]>, operand: &[u8], out: &mut Vec<u8>) -> bool;
}

/// An associative operator as a [`MergeOperator`].
pub struct Associative<T>(pub T);

impl<T: AssociativeMergeOperator> Associative<T> {
    fn fold<'a>(&self, key: &[u8], first: Option<&'a [u8]>, rest: &[&'a [u8]], out: &mut Vec<u8>) -> bool {
        // What was merged so far; before that, `first` as it lies.
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

/// Runs a plain-value merge on whatever exists: for an entity, on its default column, the other columns
/// carried over, as RocksDB's `MergeOperator::FullMergeV3` does by default.
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

/// Runs the operator's full merge: panics caught, the answer checked, columns sorted.
///
/// # Errors
/// Corruption with `Subcode::MergeOperatorFailed`, as RocksDB reports it. [`failure_scope`] tells how
/// far it reaches.
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

/// How far an error of [`full_merge`] reaches.
pub fn failure_scope(error: &Error) -> Failure {
    if error.subcode() == Subcode::MergeOperatorFailed && error.retryable() {
        Failure::MustMerge
    } else {
        Failure::Merge
    }
}

/// Asks the operator whether a look-up may end here.
///
/// # Errors
/// As [`full_merge`], for an operator that panics.
pub fn should_merge(operator: &dyn MergeOperator, newest_first: &[Pinned]) -> Result<bool> {
    catch_unwind(AssertUnwindSafe(|| operator.should_merge(newest_first)))
        .map_err(|_| failed(operator, "panicked"))
}

/// Runs the operator's partial merge; a panic counts as "cannot".
pub fn partial_merge(
    operator: &dyn MergeOperator,
    key: &[u8],
    operands: &[&[u8]],
    out: &mut Vec<u8>,
) -> bool {
    out.clear();
    catch_unwind(AssertUnwindSafe(|| operator.partial(key, operands, out))).unwrap_or(false)
}

/// An operator as families carry it.
pub type MergeOperatorRef = Arc<dyn MergeOperator>;

#[cfg(test)]
mod tests;
