//! Counts point tombstones in a row in the entries of an output file.

use base::key::{self, ValueType};

use crate::family::TOMBSTONES_PER_PLACE;

/// The number of places that one file reports. A look at a place in a run of tombstones finds the whole run.
const PLACES_MAX: usize = 4;

/// Point tombstones in a row, and the places in long runs of them.
#[derive(Default)]
pub(super) struct DeletedRun {
    len: u64,
    places: Vec<Box<[u8]>>,
}

impl DeletedRun {
    /// Counts an entry with its internal key. Entries come in ascending order.
    #[inline]
    pub(super) fn add(&mut self, internal_key: &[u8]) {
        const DELETION: u8 = ValueType::Deletion as u8;
        const SINGLE: u8 = ValueType::SingleDeletion as u8;
        if !matches!(key::trailer(internal_key) as u8, DELETION | SINGLE) {
            self.len = 0;
            return;
        }
        self.len += 1;
        // One place for each run.
        if self.len == TOMBSTONES_PER_PLACE && self.places.len() < PLACES_MAX {
            self.places.push(key::user_key(internal_key).into());
        }
    }

    /// Returns a user key in each long run.
    pub(super) fn into_places(self) -> Vec<Box<[u8]>> {
        self.places
    }
}
