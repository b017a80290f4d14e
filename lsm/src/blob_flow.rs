//! References from entries to blob files, and how many of them a compaction drops.
//!
//! ```text
//! inputs ─► CountBlobs ─► compaction iterator ─► output files
//!             in-flow       drops, merges           out-flow          garbage of a blob file = in-flow - out-flow
//! ```
//! Invariant: every entry of the compaction's key range passes [`CountBlobs`] exactly once, so no reference is missed. A
//! blob file that the compaction itself writes has no in-flow, and so gets no garbage.
//!
//! Source: RocksDB `db/blob/blob_garbage_meter.cc`, `db/blob/blob_counting_iterator.h`.

use base::FileNumber;
use std::collections::BTreeMap;

use base::error::{Error, Result};
use base::iter::InternalIterator;
use base::key::{self, ValueType};
use base::pinned::Pinned;
use format::blob::{BlobIndex, BlobRef, record_len};
use format::wide;

use crate::version::BlobGarbage;

/// Returns the location in a blob file that a blob index names.
///
/// # Errors
/// Corruption if the index does not decode, comes from the old stacked BlobDB (TTL or inlined value), or names file 0
/// outside of an SST file with embedded blobs.
pub fn blob_of(index: &[u8]) -> Result<BlobRef> {
    match BlobIndex::decode(index)? {
        BlobIndex::Blob(blob) if blob.file_number != FileNumber::ZERO => Ok(blob),
        BlobIndex::Blob(_) => Err(Error::corruption(
            "Invalid blob file number: a blob index names its own SST file, which has no blobs",
        )),
        BlobIndex::Inlined { .. } | BlobIndex::BlobTtl { .. } => Err(Error::corruption(
            "Unexpected TTL/inlined blob index: the old stacked BlobDB wrote the value, and Ironstone does not read it",
        )),
    }
}

/// Visits each blob file reference of an entry: of a blob index, or of the columns of an entity. Embedded blobs (file 0)
/// are not visited.
///
/// # Errors
/// Corruption for a value that does not decode, and for a blob index with a TTL (of the old stacked BlobDB).
#[inline]
pub fn references(value_type: u8, value: &[u8], visit: &mut dyn FnMut(BlobRef)) -> Result<()> {
    const BLOB: u8 = ValueType::BlobIndex as u8;
    const ENTITY: u8 = ValueType::WideColumnEntity as u8;
    match value_type {
        BLOB => reference(value, visit),
        ENTITY if wide::may_have_blobs(value) => {
            let columns = wide::decode(value)?;
            columns.iter().filter(|c| c.is_blob).try_for_each(|c| reference(c.value, visit))
        }
        _ => Ok(()),
    }
}

#[cold]
fn reference(index: &[u8], visit: &mut dyn FnMut(BlobRef)) -> Result<()> {
    match BlobIndex::decode(index)? {
        BlobIndex::Blob(blob) => {
            if blob.file_number != FileNumber::ZERO {
                visit(blob);
            }
            Ok(())
        }
        _ => Err(Error::corruption("Unexpected TTL/inlined blob index")),
    }
}

/// The number and the bytes of references, by blob file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFlow(BTreeMap<FileNumber, (u64, u64)>);

impl BlobFlow {
    /// Adds the references of one entry.
    ///
    /// # Errors
    /// The errors of [`references`].
    #[inline]
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        let (user_key, _, value_type) = key::split(internal_key);
        references(value_type, value, &mut |blob| {
            let flow = self.0.entry(blob.file_number).or_default();
            flow.0 += 1;
            flow.1 = flow.1.saturating_add(record_len(user_key.len(), blob.size));
        })
    }

    /// Returns the number and the bytes of the references to one blob file.
    pub fn of(&self, number: FileNumber) -> (u64, u64) {
        self.0.get(&number).copied().unwrap_or_default()
    }

    /// Adds all references of another flow.
    pub fn merge(&mut self, other: &BlobFlow) {
        for (number, (count, bytes)) in &other.0 {
            let flow = self.0.entry(*number).or_default();
            flow.0 += count;
            flow.1 = flow.1.saturating_add(*bytes);
        }
        base::invariant!(
            self.0.values().all(|(count, _)| *count > 0),
            "a blob file is counted without a reference"
        );
    }

    /// Returns the garbage if `self` are the references of the inputs and `out` are the references of the
    /// outputs. Blob files without garbage are omitted.
    pub fn garbage(&self, out: &BlobFlow) -> Vec<BlobGarbage> {
        let mut garbage = Vec::new();
        for (&number, &(count, bytes)) in &self.0 {
            let (kept, kept_bytes) = out.0.get(&number).copied().unwrap_or_default();
            debug_assert!(kept <= count && kept_bytes <= bytes, "blob file {number}: more out than in");
            if kept < count {
                let bytes = bytes.saturating_sub(kept_bytes);
                garbage.push(BlobGarbage { number, count: count - kept, bytes });
            }
        }
        garbage
    }
}

/// An iterator that counts the references of each entry that it reaches. It counts only forward movement:
/// `prev` and backward seeks count nothing. `input` must end at the end of the range of the subcompaction.
pub struct CountBlobs<I> {
    input: I,
    /// The counts. `None`: nothing is counted.
    flow: Option<BlobFlow>,
    error: Option<Error>,
}

impl<I: InternalIterator> CountBlobs<I> {
    /// Counts the entries of `input` if `counts` is set.
    pub fn new(input: I, counts: bool) -> Self {
        CountBlobs { input, flow: counts.then(BlobFlow::default), error: None }
    }

    /// Returns the source that this iterator reads.
    pub fn input(&self) -> &I {
        &self.input
    }

    /// Returns the counts. `None` if nothing is counted.
    pub fn flow(&self) -> Option<&BlobFlow> {
        self.flow.as_ref()
    }

    #[inline]
    fn count(&mut self) {
        if let Some(flow) = &mut self.flow
            && self.input.valid()
            && let Err(error) = flow.add(self.input.key(), self.input.value())
        {
            self.error = Some(error);
        }
    }
}

impl<I: InternalIterator> InternalIterator for CountBlobs<I> {
    #[inline]
    fn valid(&self) -> bool {
        self.error.is_none() && self.input.valid()
    }
    fn seek_to_first(&mut self) {
        self.input.seek_to_first();
        self.count();
    }
    fn seek_to_last(&mut self) {
        self.input.seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        self.input.seek(target);
        self.count();
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.input.seek_for_prev(target);
    }
    #[inline]
    fn next(&mut self) {
        base::invariant!(self.valid(), "an invalid counting iterator is moved");
        self.input.next();
        self.count();
    }
    fn prev(&mut self) {
        base::invariant!(self.valid(), "an invalid counting iterator is moved");
        self.input.prev();
    }
    #[inline]
    fn key(&self) -> &[u8] {
        self.input.key()
    }
    #[inline]
    fn value(&self) -> &[u8] {
        self.input.value()
    }
    fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => self.input.status(),
        }
    }
    fn pin_value(&self) -> Pinned {
        self.input.pin_value()
    }
    fn pin_key(&self) -> Option<Pinned> {
        self.input.pin_key()
    }
}

#[cfg(test)]
mod tests;
