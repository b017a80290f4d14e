//! Turns the entries that were found for a key into its value: plain values, entities, merges.

use base::key::ValueType;
use base::stats::{Cause, HistogramKind, PerfCounter, PerfTimer, Statistics, Step, Stopwatch, Ticker};
use base::{Error, Kind, Pinned, Result};
use lsm::merge::{Existing, FullMerge, MergeOperator, Merged, full_merge};

use crate::sync::Arc;

/// The value that merge operands are applied to.
pub enum Base {
    /// No value, or a deletion.
    None,
    Value(Pinned),
    /// A serialized wide-column entity.
    Entity(Pinned),
}

/// The value that a read of a key returns.
#[derive(Clone, Debug)]
pub enum Found {
    Value(Pinned),
    /// A serialized wide-column entity; plain reads see its default column.
    Entity(Pinned),
}

impl Found {
    /// Returns the number of stored bytes.
    #[inline]
    pub fn len(&self) -> usize {
        let (Found::Value(bytes) | Found::Entity(bytes)) = self;
        bytes.len()
    }

    /// Returns true if the stored value has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value for a plain read. For an entity, this is the default column, or an empty value if
    /// the entity has no default column.
    ///
    /// # Errors
    /// Corruption if the entity cannot be decoded.
    pub fn into_plain(self) -> Result<Pinned> {
        match self {
            Found::Value(value) => Ok(value),
            Found::Entity(entity) => default_column(entity),
        }
    }
}

/// Returns the default column of an entity, as a view into the entity.
pub fn default_column(entity: Pinned) -> Result<Pinned> {
    let range = {
        let bytes: &[u8] = &entity;
        let column = format::wide::default_column(bytes)?;
        let value = column.value;
        if column.is_blob {
            return Err(unresolved_blob());
        }
        // The default column is a part of the entity, so the difference of the addresses is its offset.
        base::invariant!(
            value.is_empty() || bytes.as_ptr_range().contains(&value.as_ptr()),
            "a column of {} bytes is outside of its entity of {} bytes",
            value.len(),
            bytes.len()
        );
        let start = (value.as_ptr() as usize).saturating_sub(bytes.as_ptr() as usize);
        if value.is_empty() { 0..0 } else { start..start + value.len() }
    };
    Ok(entity.slice(range))
}

/// Returns the error for a blob column where all columns must be inline: a caller did not resolve the entity.
#[cold]
pub fn unresolved_blob() -> Error {
    Error::corruption("a column of the entity is in a blob file, but the read has no access to blob files")
}

/// Returns the error for a blob index in the result of a read without a database. RocksDB's `SstFileReader` returns the same kind of
/// error, without a text.
#[cold]
pub fn value_in_blob_file() -> Error {
    Error::corruption("the value is in a blob file, but a reader of one SST file reads no blob files")
}

/// Returns the error for a value type that is not allowed at its place.
#[cold]
pub fn unknown_value_type(value_type: u8) -> Error {
    Error::corruption(format!("unknown value type {value_type:#x} of an entry"))
}

/// Removes the preferred sequence number at the end of the value of a timed put.
pub fn without_preferred_seq(value: Pinned) -> Result<Pinned> {
    match value.len().checked_sub(8) {
        Some(len) => Ok(value.slice(0..len)),
        None => Err(Error::corruption("a timed put is shorter than its sequence number")),
    }
}

/// Returns the number of bytes after the user's value in an entry of this value type.
#[inline]
pub fn value_suffix(value_type: ValueType) -> usize {
    if value_type as u8 == ValueType::ValuePreferredSeqno as u8 { 8 } else { 0 }
}

/// Buffers of merges. They are kept between entries, so that a merge needs no allocation.
#[derive(Default)]
pub struct Scratch {
    /// Always empty between merges; only its memory is kept.
    slices: Vec<&'static [u8]>,
    /// The output buffer of the merge operator.
    pub out: Vec<u8>,
}

/// Returns an empty vector for slices of another lifetime, with the memory of `slices`. (Collecting the iterator of a
/// vector into a vector with the same layout keeps its memory.)
#[inline]
fn emptied<'to>(mut slices: Vec<&[u8]>) -> Vec<&'to [u8]> {
    slices.clear();
    slices.into_iter().map(|_| -> &'to [u8] { &[] }).collect()
}

/// The merge operator, and the statistics that count the merges.
#[derive(Clone, Copy)]
pub struct Merging<'a> {
    pub operator: Option<&'a Arc<dyn MergeOperator>>,
    pub statistics: Option<&'a Arc<Statistics>>,
    /// False for a merge at a write, which adds no number of operands to the statistics.
    pub is_read: bool,
}

/// Merges `operands` (oldest first) onto `base`. If the result is an operand or the base, moves it into the result.
/// The other operands stay in `operands`, in any order.
///
/// # Errors
/// InvalidArgument without a merge operator. The errors of [`full_merge`].
pub fn merge(
    how: Merging<'_>,
    user_key: &[u8],
    base: Base,
    operands: &mut Vec<Pinned>,
    scratch: &mut Scratch,
) -> Result<Found> {
    let Some(operator) = how.operator else {
        return Err(Error::new(
            Kind::InvalidArgument,
            "merge_operator is not properly initialized: the key has merge operands and the column family has no operator",
        ));
    };
    base::invariant!(!operands.is_empty(), "a key of {} bytes is merged without an operand", user_key.len());
    let mut slices = emptied(std::mem::take(&mut scratch.slices));
    slices.extend(operands.iter().map(|o| &**o));
    let columns;
    let existing = match &base {
        Base::None => Existing::None,
        Base::Value(value) => Existing::Value(value),
        Base::Entity(entity) => {
            let decoded = format::wide::decode(entity)?;
            if decoded.iter().any(|c| c.is_blob) {
                return Err(unresolved_blob());
            }
            columns = decoded.iter().map(|c| (c.name, c.value)).collect::<Vec<_>>();
            Existing::Columns(&columns)
        }
    };
    let _time = PerfTimer::start(PerfCounter::MergeOperatorTimeNanos);
    let _step = Step::begin(Cause::Merge);
    if let Some(statistics) = how.statistics
        && how.is_read
    {
        statistics.measure(HistogramKind::ReadNumMergeOperands, operands.len() as u64);
    }
    let merge = FullMerge { key: user_key, existing, operands: &slices };
    let began = how.statistics.map(|_| Stopwatch::start());
    let merged = full_merge(&**operator, &merge, &mut scratch.out);
    if let (Some(statistics), Some(began)) = (how.statistics, began) {
        statistics.add(Ticker::MergeOperationTotalTime, began.nanos());
        if merged.is_err() {
            statistics.tick(Ticker::NumberMergeFailures);
        }
    }
    scratch.slices = emptied(slices);
    match merged? {
        Merged::New => Ok(Found::Value(Pinned::from_vec(std::mem::take(&mut scratch.out)))),
        Merged::Operand(i) if i < operands.len() => Ok(Found::Value(operands.swap_remove(i))),
        Merged::Operand(_) => {
            Err(Error::corruption("the merge operator named an operand that does not exist"))
        }
        Merged::Existing => match base {
            Base::Value(value) => Ok(Found::Value(value)),
            _ => Err(Error::corruption("the merge operator named a value that does not exist")),
        },
        Merged::Columns(columns) => {
            let columns: Vec<_> = columns.iter().map(|(n, v)| format::wide::Column::inline(n, v)).collect();
            let mut entity = Vec::new();
            format::wide::encode(&columns, &mut entity)?;
            Ok(Found::Entity(Pinned::from_vec(entity)))
        }
    }
}
