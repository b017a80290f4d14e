//! Handles of objects that are closed together with their database.
//!
//! A Java program may close a database before its iterators, column families, snapshots and transactions. When the database
//! object is dropped, it closes the handles of these objects.

use env::sync::Mutex;

use crate::handle::Handle;

/// The handles that are closed together with one database or one transaction.
#[derive(Default)]
pub struct Children(Mutex<State>);

#[derive(Default)]
struct State {
    handles: Vec<Handle>,
    /// The number of handles at which [`Children::add`] removes closed handles from the list.
    prune_at: usize,
    /// True after [`Children::close`]. A handle that is added later is closed at once.
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

    /// Returns the handles of the open objects of a type, oldest first. Does not wait for running calls.
    pub fn of_type<T: 'static>(&self) -> Vec<Handle> {
        let handles = self.0.lock().handles.clone();
        handles.into_iter().filter(|handle| handle.is_of_type::<T>()).collect()
    }

    /// Closes the objects, newest first, so that an iterator is closed before its transaction.
    pub fn close(&self) {
        let handles = {
            let mut state = self.0.lock();
            state.is_closed = true;
            std::mem::take(&mut state.handles)
        };
        handles.into_iter().rev().for_each(Handle::close);
    }
}
