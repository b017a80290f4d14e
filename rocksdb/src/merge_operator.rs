//! Merge operators of the application: two functions and a name.
//!
//! ```
//! use rocksdb::{DB, MergeOperands, Options};
//!
//! fn concat(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
//!     let mut result = existing.unwrap_or_default().to_vec();
//!     operands.iter().for_each(|operand| result.extend_from_slice(operand));
//!     Some(result)
//! }
//!
//! # let dir = tempfile::tempdir().unwrap();
//! let mut options = Options::default();
//! options.create_if_missing(true);
//! options.set_merge_operator_associative("concat", concat);
//! let db = DB::open(&options, dir.path())?;
//! db.put(b"k", b"a")?;
//! db.merge(b"k", b"b")?;
//! db.merge(b"k", b"c")?;
//! assert_eq!(db.get(b"k")?.as_deref(), Some(&b"abc"[..]));
//! # Ok::<(), rocksdb::Error>(())
//! ```
//!
//! If a function panics or returns `None`, the read, flush or compaction fails with Corruption.

use std::ffi::CString;

use ironstone::{Existing, FullMerge, MergeFailure, MergeOperator, Merged};

/// A function that merges operands. A full merge gets the existing value; a partial merge gets `None`.
pub trait MergeFn:
    Fn(&[u8], Option<&[u8]>, &MergeOperands) -> Option<Vec<u8>> + Send + Sync + 'static
{
}

impl<F> MergeFn for F where
    F: Fn(&[u8], Option<&[u8]>, &MergeOperands) -> Option<Vec<u8>> + Send + Sync + 'static
{
}

/// A merge operator: its name and its functions.
pub struct MergeOperatorCallback<F: MergeFn, PF: MergeFn> {
    /// The name of the operator in OPTIONS files.
    pub name: CString,
    /// Merges operands onto the existing value.
    pub full_merge_fn: F,
    /// Merges operands into one operand.
    pub partial_merge_fn: PF,
}

impl<F: MergeFn, PF: MergeFn> MergeOperator for MergeOperatorCallback<F, PF> {
    fn name(&self) -> &str {
        self.name.to_str().unwrap_or("rocksdb.CMergeOperator")
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Result<Merged, MergeFailure> {
        let plain = |existing: Option<&[u8]>, out: &mut Vec<u8>| {
            let operands = MergeOperands::copy(merge.operands);
            *out = (self.full_merge_fn)(merge.key, existing, &operands).ok_or(MergeFailure::Merge)?;
            Ok(Merged::New)
        };
        match merge.existing {
            Existing::None => plain(None, out),
            Existing::Value(value) => plain(Some(value), out),
            Existing::Columns(_) => ironstone::merge_default_column(merge, out, plain),
        }
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        match (self.partial_merge_fn)(key, None, &MergeOperands::copy(operands)) {
            Some(merged) => {
                *out = merged;
                true
            }
            None => false,
        }
    }
}

/// The operands of a merge, oldest first.
///
/// The type has no lifetime parameter in the crate `rocksdb`, so the operands are copied into one buffer.
pub struct MergeOperands {
    bytes: Vec<u8>,
    /// The end of each operand in `bytes`.
    ends: Vec<usize>,
}

impl MergeOperands {
    fn copy(operands: &[&[u8]]) -> MergeOperands {
        let mut ends = Vec::with_capacity(operands.len());
        let mut bytes = Vec::with_capacity(operands.iter().map(|operand| operand.len()).sum());
        for operand in operands {
            bytes.extend_from_slice(operand);
            ends.push(bytes.len());
        }
        MergeOperands { bytes, ends }
    }

    /// Returns the count of the operands.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there is no operand.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns an iterator over the operands.
    pub fn iter(&self) -> MergeOperandsIter<'_> {
        MergeOperandsIter { operands: self, cursor: 0 }
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }
}

/// An iterator over the operands of a merge.
pub struct MergeOperandsIter<'a> {
    operands: &'a MergeOperands,
    cursor: usize,
}

impl<'a> Iterator for MergeOperandsIter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let operand = self.operands.get(self.cursor)?;
        self.cursor += 1;
        Some(operand)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rest = self.operands.len() - self.cursor;
        (rest, Some(rest))
    }
}

impl<'a> IntoIterator for &'a MergeOperands {
    type Item = &'a [u8];
    type IntoIter = MergeOperandsIter<'a>;

    fn into_iter(self) -> MergeOperandsIter<'a> {
        self.iter()
    }
}
