//! Shows entries whose value, or one of whose columns, is in a blob file.

use base::iter::InternalIterator;
use base::key;
use base::{Error, Pinned, Result};

use super::search::{Search, ShownAt};

impl<I: InternalIterator> Search<I> {
    /// Returns the value that a blob index refers to. `user_key` has its timestamp.
    pub(super) fn blob(&self, user_key: &[u8], index: &[u8]) -> Result<Pinned> {
        match &self.view.blobs {
            Some(blobs) => blobs.reads().value(user_key, index),
            None if self.view.shows_blob_indexes => Ok(Pinned::copy(index)),
            None => {
                lsm::blob_flow::blob_of(index)?;
                Err(no_blob_files())
            }
        }
    }

    /// Returns the entity with all columns inline.
    pub(super) fn whole_entity(&self, user_key: &[u8], entity: Pinned) -> Result<Pinned> {
        match &self.view.blobs {
            _ if !format::wide::may_have_blobs(&entity) => Ok(entity),
            Some(blobs) => blobs.reads().entity(user_key, entity),
            None => Err(no_blob_files()),
        }
    }

    /// Shows the entry of the source, whose value is in a blob file.
    #[cold]
    pub(super) fn show_blob(&mut self) {
        self.save_key();
        self.held.take(&self.source, 0, false);
        self.show_saved_blob();
    }

    /// Shows the entry whose key is in `saved_key` and whose blob index is in `held`. With lazy reads, shows only
    /// its key.
    pub(super) fn show_saved_blob(&mut self) {
        self.shown_at = ShownAt::Unprepared;
        self.valid = true;
        self.counts.hidden_run = 0;
        if !self.view.lazy_blobs {
            self.prepare_value();
        }
    }

    /// Shows the entity of the source, which has columns in blob files, with all columns inline.
    #[cold]
    pub(super) fn show_entity_with_blobs(&mut self) {
        self.save_key();
        match self.whole_entity(&self.saved_key, self.source.pin_value()) {
            Ok(entity) => {
                self.held.set(entity);
                self.shown_at = ShownAt::Saved;
                self.valid = true;
                self.entity = true;
                self.counts.hidden_run = 0;
            }
            Err(error) => self.fail(error),
        }
    }

    /// Reads the current value, if it is in a blob file and was not read yet. Returns true if the walk then has a
    /// value. After an error, the search is not valid and keeps the error.
    pub(super) fn prepare_value(&mut self) -> bool {
        if !self.valid || self.shown_at != ShownAt::Unprepared {
            return self.valid;
        }
        match self.blob(&self.saved_key, self.held.bytes()) {
            Ok(value) => {
                self.held.set(value);
                self.shown_at = ShownAt::Saved;
            }
            Err(error) => self.fail(error),
        }
        self.valid
    }

    fn save_key(&mut self) {
        base::invariant!(self.source.valid(), "the key of an entry is saved after the end of the source");
        self.saved_trailer = key::trailer(self.source.key());
        self.saved_key.clear();
        self.saved_key.extend_from_slice(key::user_key(self.source.key()));
    }
}

#[cold]
fn no_blob_files() -> Error {
    Error::corruption("Invalid blob file number: the version of the column family has no blob files")
}
