//! Closing: waiting writers let go, memtables flushed where the log does not have them, jobs ended.

use base::stats::Ticker;
use base::{Error, Result};

use super::{Db, Inner};
use crate::event::{Event, FlushReason};
use crate::manifest::recover;
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
        self.tools.events.emit(&Event::ShutdownStarted);
        let mut outcome = Ok(());
        if let Some(writing) = &self.writing {
            writing.writer.end_stalls();
            writing.background.unpause_all();
            let avoid = self.tools.options.load().avoid_flush_during_shutdown;
            if !avoid && writing.writer.has_unlogged() && !self.errors.concerns_all() {
                let mut families = self.families.all();
                families.retain(|family| !self.errors.is_held(family.id()));
                outcome = writing.background.flush_and_wait(&families, FlushReason::ShutDown, true);
            }
            writing.writer.close();
            writing.background.close();
            writing.background.purge();
            outcome = outcome.and(self.verify_manifest());
            // Every step is taken, whatever became of the others.
            for step in [writing.background.prove_closed(), self.logs.close(), self.committer.close()] {
                outcome = outcome.and(step);
            }
        }
        self.tables.clear();
        let events = &self.tools.events;
        match &outcome {
            Ok(()) => events.info(format_args!("Shutdown complete")),
            Err(error) => events.error(format_args!("Shutdown: {error}")),
        }
        events.logger().close();
        *self.lock.lock() = None;
        self.tools.forget_spares();
        outcome
    }
}

impl Inner {
    /// `verify_manifest_content_on_close`: reads the MANIFEST; one that does not read is written anew.
    fn verify_manifest(&self) -> Result<()> {
        let wanted =
            self.tools.options.load().verify_manifest_content_on_close && self.errors.get().is_none();
        if !wanted {
            return Ok(());
        }
        let read = recover(&self.tools.env, &self.tools.paths.db, self.committer.manifest_number());
        let error = match read {
            Ok(found) if !found.end_in_doubt => return Ok(()),
            Ok(_) => Error::corruption("it ends in the middle of a record"),
            Err(error) => error,
        };
        self.tools.stats.add(Ticker::ManifestValidationFailureCount, 1);
        self.tools.events.error(format_args!("The MANIFEST does not read back and is written anew: {error}"));
        self.committer.roll(Vec::new()).map(|_| ())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whoever wants to hear of it calls `close`.
        let _ = self.close();
    }
}
