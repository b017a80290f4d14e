//! Handles of objects that end with a database.
//!
//! The Java classes leave iterators, column families, snapshots and transactions open after the close of their database. The
//! drop of the database closes these objects.

use env::sync::Mutex;

use crate::handle::Handle;

/// The handles that end with one database, or with one transaction.
#[derive(Default)]
pub struct Children(Mutex<State>);

#[derive(Default)]
struct State {
    handles: Vec<Handle>,
    /// The number of handles at which the closed handles are removed.
    prune_at: usize,
    /// Set at the end. A child of a closed database is closed at once.
    is_closed: bool,
}

impl Children {
    /// Makes the handle of an object.
    pub fn add<T: Send + Sync + 'static>(&self, object: T) -> Handle {
        let handle = Handle::new(object);
        let mut state = self.0.lock();
        if state.is_closed {
            drop(state);
            handle.close();
            return handle;
        }
        if state.handles.len() >= state.prune_at {
            state.handles.retain(|handle| handle.is_live());
            state.prune_at = 64.max(2 * state.handles.len());
        }
        state.handles.push(handle);
        handle
    }

    /// Closes the objects. The last object goes first: an iterator ends before its transaction.
    pub fn close(&self) {
        let handles = {
            let mut state = self.0.lock();
            state.is_closed = true;
            std::mem::take(&mut state.handles)
        };
        handles.into_iter().rev().for_each(Handle::close);
    }
}
