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
    /// The error text of RocksDB.
    pub fn start_trace(&self, path: &Path) -> Result<()> {
        let path = path_text(path)?;
        // SAFETY: the database is open, and the text outlives the call. Null stands for the default options.
        self.open.library.checked(|t, e| unsafe {
            (t.start_trace)(self.open.raw, null_mut(), null_mut(), null_mut(), path.as_ptr(), e);
        })
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn end_trace(&self) -> Result<()> {
        // SAFETY: the database is open.
        self.open.library.checked(|t, e| unsafe { (t.end_trace)(self.open.raw, e) })
    }

    /// Repeats the calls of a trace, without the waits between them.
    ///
    /// # Errors
    /// The error text of RocksDB, or the error of a call.
    pub fn replay(&self, families: &[Family], path: &Path) -> Result<()> {
        let (library, path) = (&self.open.library, path_text(path)?);
        let mut handles: Vec<Raw> = families.iter().map(Family::raw).collect();
        let (list, count) = (handles.as_mut_ptr(), handles.len());
        // SAFETY: the handles are live, and the text outlives the call. Null stands for the default options.
        let replayer = library.checked(|t, e| unsafe {
            (t.new_default_replayer)(self.open.raw, list, count, null_mut(), null_mut(), path.as_ptr(), e)
        })?;
        // SAFETY: the function returns a new handle.
        let options = unsafe { (library.table().replay_options_create)() };
        // SAFETY: the handles are live.
        let done = library.checked(|t, e| unsafe {
            (t.replay_options_set_fast_forward)(options, 1e6);
            (t.replayer_prepare)(replayer, e);
        });
        // SAFETY: the handles are live.
        let done =
            done.and_then(|()| library.checked(|t, e| unsafe { (t.replayer_replay)(replayer, options, e) }));
        // SAFETY: the handle was made above, and it is destroyed once.
        unsafe {
            (library.table().replayer_destroy)(replayer);
            (library.table().replay_options_destroy)(options);
        }
        done
    }
}
