//! Reads values in blob files for a compaction, with read-ahead for each blob file.
//!
//! A compaction goes through its keys in order. The values of one blob file lie mostly in the same order, because a flush
//! or a compaction wrote the file in key order. So one large read serves many values.

use std::collections::BTreeMap;

use base::{FileNumber, Pinned, Result};
use format::blob::BlobRef;
use lsm::filter::FetchBlob;
use table::blob::BlobAccess;

use super::BlobContext;
use crate::sync::{Arc, AtomicU64, Ordering};

/// The records that a subcompaction read from blob files.
#[derive(Debug, Default)]
pub struct BlobReadCounts {
    /// The number of records.
    pub records: AtomicU64,
    /// The bytes of the records, with their headers and keys.
    pub bytes: AtomicU64,
}

/// Blob reads of one thread with read-ahead: see the module.
pub struct BlobsAhead {
    context: BlobContext,
    /// `blob_compaction_readahead_size`: bytes of one read; 0 reads value by value.
    readahead_bytes: usize,
    /// For each blob file: the offset and the bytes of the last read.
    ahead: BTreeMap<FileNumber, (u64, Vec<u8>)>,
    /// Counts the records that were read.
    counts: Arc<BlobReadCounts>,
}

impl BlobsAhead {
    /// Makes the reader without read-ahead data. `counts` counts the records that the compaction reads.
    pub fn new(context: BlobContext, readahead_bytes: usize, counts: Arc<BlobReadCounts>) -> Self {
        BlobsAhead { context, readahead_bytes, ahead: BTreeMap::new(), counts }
    }

    /// Returns the value that a blob index points to. `user_key` has its timestamp.
    ///
    /// # Errors
    /// The errors of [`super::BlobReads::value`].
    pub fn value(&mut self, user_key: &[u8], index: &[u8]) -> Result<Pinned> {
        let blob = self.context.reads().place(index)?;
        let value = self.read(user_key, index, &blob)?;
        let record = (format::blob::RECORD_HEADER_LEN + user_key.len()) as u64 + blob.size;
        self.counts.records.fetch_add(1, Ordering::Relaxed);
        self.counts.bytes.fetch_add(record, Ordering::Relaxed);
        Ok(value)
    }

    fn read(&mut self, user_key: &[u8], index: &[u8], blob: &BlobRef) -> Result<Pinned> {
        let reads = self.context.reads();
        if self.readahead_bytes == 0 {
            return reads.value(user_key, index);
        }
        let number = blob.file_number;
        let reader = reads.open(number)?;
        let limits = reads.tables.limits(reads.options);
        let access =
            BlobAccess { verify_checksums: reads.options.verify_checksums, limits: limits.as_deref() };
        let held = self.ahead.get(&number).map(|(start, bytes)| (*start, &bytes[..]));
        if let Some(found) = held.and_then(|held| reader.get_from(user_key, blob, held, access)) {
            return found.map(Pinned::from_vec);
        }
        let head = (format::blob::RECORD_HEADER_LEN + user_key.len()) as u64;
        // The blob index comes from a file, and may name a place before the first record.
        let start = blob.offset.saturating_sub(head);
        if head.saturating_add(blob.size) >= self.readahead_bytes as u64 {
            return reader.get(user_key, blob, access).map(Pinned::from_vec);
        }
        let bytes = reader.read_ahead(start, self.readahead_bytes, limits.as_deref())?;
        base::invariant!(
            bytes.len() <= self.readahead_bytes,
            "{} bytes are read ahead, and at most {} were asked for",
            bytes.len(),
            self.readahead_bytes
        );
        let found = reader.get_from(user_key, blob, (start, &bytes), access);
        self.ahead.insert(number, (start, bytes));
        match found {
            Some(value) => value.map(Pinned::from_vec),
            // The record extends past the end of the file. The plain read reports the damage.
            None => reader.get(user_key, blob, access).map(Pinned::from_vec),
        }
    }
}

impl FetchBlob for BlobsAhead {
    fn fetch(&mut self, user_key: &[u8], blob_index: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        out.extend_from_slice(&self.value(user_key, blob_index)?);
        Ok(())
    }
}
