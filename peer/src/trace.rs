//! Traces of calls, and their replay.

use std::path::Path;
use std::ptr::null_mut;

use crate::db::{Db, Family};
use crate::library::{Result, path_text};
use crate::table::Raw;

impl Db {
    /// Starts a trace of all calls in a file.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn start_trace(&self, path: &Path) -> Result<()> {
        let path = path_text(path)?;
        // SAFETY: a live database; null stands for the defaults; the text outlives the call.
        self.open.library.checked(|t, e| unsafe {
            (t.start_trace)(self.open.raw, null_mut(), null_mut(), null_mut(), path.as_ptr(), e);
        })
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn end_trace(&self) -> Result<()> {
        // SAFETY: a live database.
        self.open.library.checked(|t, e| unsafe { (t.end_trace)(self.open.raw, e) })
    }

    /// Makes the calls of a trace without waits.
    ///
    /// # Errors
    /// RocksDB's refusal, or the error of a call.
    pub fn replay(&self, families: &[Family], path: &Path) -> Result<()> {
        let (library, path) = (&self.open.library, path_text(path)?);
        let mut handles: Vec<Raw> = families.iter().map(|family| family.0.raw).collect();
        let (list, count) = (handles.as_mut_ptr(), handles.len());
        // SAFETY: live handles; null stands for the defaults; the text outlives the call.
        let replayer = library.checked(|t, e| unsafe {
            (t.new_default_replayer)(self.open.raw, list, count, null_mut(), null_mut(), path.as_ptr(), e)
        })?;
        // SAFETY: a fresh handle.
        let options = unsafe { (library.table().replay_options_create)() };
        // SAFETY: live handles.
        let done = library.checked(|t, e| unsafe {
            (t.replay_options_set_fast_forward)(options, 1e6);
            (t.replayer_prepare)(replayer, e);
        });
        // SAFETY: live handles.
        let done =
            done.and_then(|()| library.checked(|t, e| unsafe { (t.replayer_replay)(replayer, options, e) }));
        // SAFETY: made above, destroyed once.
        unsafe {
            (library.table().replayer_destroy)(replayer);
            (library.table().replay_options_destroy)(options);
        }
        done
    }
}
