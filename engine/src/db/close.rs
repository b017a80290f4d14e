//! Closing: waiting writers let go, memtables flushed where the log does not have them, jobs ended.

use base::Result;

use super::{Db, Inner};
use crate::event::FlushReason;
use crate::sync::Ordering;

impl Db {
    /// Closes the database now, whatever other handles there are: their calls fail from now on. Without
    /// this the last handle closes, and errors of closing go to the LOG.
    ///
    /// # Errors
    /// The first thing that went wrong; everything else was still done.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

impl Inner {
    pub(super) fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let mut outcome = Ok(());
        if let Some(writing) = &self.writing {
            let avoid = self.tools.options.load().avoid_flush_during_shutdown;
            if !avoid && writing.writer.has_unlogged() && self.errors.get().is_none() {
                outcome = writing.background.flush_and_wait(&self.families.all(), FlushReason::ShutDown, true);
            }
            writing.writer.close();
            writing.background.close();
            writing.background.purge();
            outcome = outcome.and(self.logs.close()).and(self.committer.close());
        }
        self.tables.clear();
        let events = &self.tools.events;
        match &outcome {
            Ok(()) => events.info(format_args!("Shutdown complete")),
            Err(error) => events.error(format_args!("Shutdown: {error}")),
        }
        events.logger().close();
        *self.lock.lock() = None;
        outcome
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whoever wants to hear of it calls `close`.
        let _ = self.close();
    }
}
