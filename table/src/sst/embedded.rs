//! Embedded blobs: values in the SST file itself, between its blocks.
//!
//! ```text
//! entry   key#seq,BLOB   blob index (file 0, offset, size) ──► payload of the same SST file
//! ```
//! Readers outside of this crate never get a blob index of file 0. [`Reader::resolve_embedded`] replaces the
//! value of one entry, and [`EmbeddedIter`] replaces the values of a whole table. An entity with such columns
//! becomes an entity with inline columns. Blob indexes of other files stay unchanged.
//!
//! Source: RocksDB `table/block_based/block_based_table_reader.cc`, `db/blob/blob_gen2_format.h`.

use std::sync::Arc;

use base::iter::InternalIterator;
use base::key::{self, TRAILER_LEN, ValueType, pack};
use base::{Error, FileNumber, Pinned, Result};
use format::blob::{BlobIndex, BlobRef};
use format::wide::{self, Column};

use super::{ReadCtx, Reader, TableIter, scratch};

/// An encoded column takes at most this number of bytes in addition to its name and its value: two lengths and the kind.
const COLUMN_HEADER_MAX: usize = 16;

impl Reader {
    /// Returns true if the SST file may have embedded blobs.
    #[inline]
    pub fn embeds_blobs(&self) -> bool {
        self.embeds_blobs
    }

    /// Returns the value type and the value of an entry, if its value or one of its columns is an embedded
    /// blob. Returns `None` for every other entry.
    ///
    /// # Errors
    /// Corruption if the blob index or the blob is damaged; errors of the file; Incomplete if `ctx` allows memory only.
    pub fn resolve_embedded(
        &self,
        value_type: u8,
        value: &[u8],
        ctx: &ReadCtx,
    ) -> Result<Option<(ValueType, Pinned)>> {
        match ValueType::from_u8(value_type) {
            Some(ValueType::BlobIndex) => match own_blob(value)? {
                None => Ok(None),
                Some(blob) => {
                    let value = self.embedded_blob(blob.offset, blob.size, ctx)?;
                    Ok(Some((ValueType::Value, value)))
                }
            },
            Some(ValueType::WideColumnEntity) if wide::may_have_blobs(value) => {
                let entity = self.resolve_columns(value, ctx)?;
                Ok(entity.map(|entity| (ValueType::WideColumnEntity, Pinned::from_vec(entity))))
            }
            _ => Ok(None),
        }
    }

    /// Returns the entity with its embedded columns inline. Returns `None` if it has no embedded column.
    fn resolve_columns(&self, entity: &[u8], ctx: &ReadCtx) -> Result<Option<Vec<u8>>> {
        let columns = wide::decode(entity)?;
        let mut fetched = Vec::new();
        for (at, column) in columns.iter().enumerate().filter(|(_, c)| c.is_blob) {
            if let Some(blob) = own_blob(column.value)? {
                fetched.push((at, self.embedded_payload(blob.offset, blob.size, ctx)?));
            }
        }
        if fetched.is_empty() {
            return Ok(None);
        }
        let mut inline = columns.clone();
        for (at, value) in &fetched {
            inline[*at] = Column::inline(columns[*at].name, value);
        }
        // The entity and its buffers are large: without the room, the vector would copy them as it grows.
        let room = inline.iter().map(|column| column.name.len() + column.value.len() + COLUMN_HEADER_MAX);
        let mut out = Vec::with_capacity(room.sum::<usize>() + COLUMN_HEADER_MAX);
        wide::encode(&inline, &mut out)?;
        fetched.into_iter().for_each(|(_, buffer)| scratch::give(buffer));
        Ok(Some(out))
    }
}

/// Returns the location that a blob index names, if it is in the SST file of the index.
fn own_blob(index: &[u8]) -> Result<Option<BlobRef>> {
    match BlobIndex::decode(index)? {
        BlobIndex::Blob(blob) if blob.file_number == FileNumber::ZERO => Ok(Some(blob)),
        _ => Ok(None),
    }
}

/// An iterator over a table with embedded blobs. It returns their values. Each move reads the value of the
/// new entry.
pub struct EmbeddedIter {
    rows: TableIter,
    ctx: ReadCtx,
    /// The internal key and the value that replace those of `rows`.
    resolved: Option<(Vec<u8>, Pinned)>,
    error: Option<Error>,
}

impl EmbeddedIter {
    /// Makes an iterator over `reader`. It is not valid until the first seek.
    pub fn new(reader: &Arc<Reader>, ctx: &ReadCtx) -> Self {
        EmbeddedIter { rows: reader.iter(ctx), ctx: ctx.clone(), resolved: None, error: None }
    }

    /// Returns the iterator over the stored entries.
    pub fn rows(&self) -> &TableIter {
        &self.rows
    }

    /// Returns the iterator over the stored entries for changes. Use it only before the first seek.
    pub(crate) fn rows_mut(&mut self) -> &mut TableIter {
        &mut self.rows
    }

    fn moved(&mut self, go: impl FnOnce(&mut TableIter)) {
        base::invariant!(
            self.resolved.is_none() || self.error.is_none(),
            "an iterator has the value of a blob and the error of reading the blob"
        );
        (self.resolved, self.error) = (None, None);
        go(&mut self.rows);
        if !self.rows.valid() {
            return;
        }
        let value_type = key::trailer(self.rows.key()) as u8;
        match self.rows.reader().resolve_embedded(value_type, self.rows.value(), &self.ctx) {
            Ok(None) => {}
            Ok(Some((value_type, value))) => {
                let mut key = self.rows.key().to_vec();
                let at = key.len() - TRAILER_LEN;
                let trailer = pack(key::sequence(&key), value_type as u8);
                key[at..].copy_from_slice(&trailer.to_le_bytes());
                self.resolved = Some((key, value));
            }
            Err(error) => self.error = Some(error),
        }
    }
}

impl InternalIterator for EmbeddedIter {
    fn valid(&self) -> bool {
        self.error.is_none() && self.rows.valid()
    }
    fn seek_to_first(&mut self) {
        self.moved(TableIter::seek_to_first);
    }
    fn seek_to_last(&mut self) {
        self.moved(TableIter::seek_to_last);
    }
    fn seek(&mut self, target: &[u8]) {
        self.moved(|rows| rows.seek(target));
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.moved(|rows| rows.seek_for_prev(target));
    }
    fn seek_total(&mut self, target: &[u8]) {
        self.moved(|rows| rows.seek_total(target));
    }
    fn seek_total_for_prev(&mut self, target: &[u8]) {
        self.moved(|rows| rows.seek_total_for_prev(target));
    }
    fn next(&mut self) {
        base::invariant!(self.valid(), "an invalid iterator is moved");
        self.moved(TableIter::next);
    }
    fn prev(&mut self) {
        base::invariant!(self.valid(), "an invalid iterator is moved");
        self.moved(TableIter::prev);
    }
    fn key(&self) -> &[u8] {
        match &self.resolved {
            Some((key, _)) => key,
            None => self.rows.key(),
        }
    }
    fn value(&self) -> &[u8] {
        match &self.resolved {
            Some((_, value)) => value,
            None => self.rows.value(),
        }
    }
    fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => self.rows.status(),
        }
    }
    fn pin_value(&self) -> Pinned {
        match &self.resolved {
            Some((_, value)) => value.clone(),
            None => self.rows.pin_value(),
        }
    }
    fn pin_key(&self) -> Option<Pinned> {
        if self.resolved.is_some() { None } else { self.rows.pin_key() }
    }
    fn value_shown(&mut self) {
        self.rows.value_shown();
    }
}
