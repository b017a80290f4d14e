//! [`UpdateCursor`]: the write batches of a database, for an iterator of another language.

use base::Result;
use engine::db::{Update, Updates};

/// Stands on one write batch of a database, or on no write batch: at the end, and after an error.
pub struct UpdateCursor {
    updates: Updates,
    current: Option<Update>,
    status: Result<()>,
}

impl UpdateCursor {
    /// Makes a cursor that stands on the first write batch.
    pub fn new(updates: Updates) -> Self {
        let mut cursor = UpdateCursor { updates, current: None, status: Ok(()) };
        cursor.step();
        cursor
    }

    /// Moves to the next write batch.
    pub fn step(&mut self) {
        self.current = match self.updates.next() {
            Some(Ok(update)) => Some(update),
            Some(Err(error)) => {
                self.status = Err(error);
                None
            }
            None => None,
        };
    }

    /// Returns the write batch. `None`: the cursor stands on no write batch.
    pub fn current(&self) -> Option<&Update> {
        self.current.as_ref()
    }

    /// Returns the error that ended the iteration.
    ///
    /// # Errors
    /// The errors of the WAL: Corruption, IoError, and NotFound for a WAL that was deleted.
    pub fn status(&self) -> Result<()> {
        self.status.clone()
    }
}
