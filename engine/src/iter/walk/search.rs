//! The search for the next entry to show. It holds the source, the shown entry, and the memory of both directions.

use base::iter::InternalIterator;
use base::key::{self, ValueType};
use base::stats::Step;
use base::{Error, Pinned};

use super::super::convert::Converter;
use super::super::keys::{MAX_TS, seek_key};
use super::super::skip::RangeSkipper;
use super::super::value::Held;
use super::super::view::View;
use super::super::watch::Watch;
use crate::source::resolve::Scratch;

/// The location of the shown entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownAt {
    /// The source stands on the entry.
    Source,
    /// The key is in `saved_key` and the value is in `held`. The source stands on another entry, or the value is in
    /// a blob file.
    Saved,
    /// The key is in `saved_key`, and a blob index is in `held`. The value was not read yet.
    Unprepared,
}

/// Finds the entries to show, in one direction at a time. `source` has the internal entries.
pub(super) struct Search<I> {
    pub source: I,
    pub view: View,
    pub shown_at: ShownAt,
    pub valid: bool,
    pub entity: bool,
    /// True if the source stands on the shown entry, and the value of the entry ends with a preferred sequence number.
    pub timed: bool,
    pub error: Option<Error>,
    pub timestamp_size: usize,
    /// The user key of the shown or skipped entry, with timestamp.
    pub saved_key: Vec<u8>,
    /// Sequence number and value type of the entry in `held`, as at the end of an internal key.
    pub saved_trailer: u64,
    pub held: Held,
    /// Operands of a merge. Empty between entries; the memory is used again.
    pub operands: Vec<Pinned>,
    pub scratch: Scratch,
    pub seek_key: Vec<u8>,
    /// Memory for a copy of `saved_key`.
    pub spare_key: Vec<u8>,
    /// The prefix that all shown keys have, if the search stays in one prefix.
    pub prefix: Option<Vec<u8>>,
    pub counts: Counts,
    pub watch: Option<Box<Watch>>,
    pub convert: Option<Box<Converter>>,
    pub empty: Empty,
}

/// The counts of entries that the search does not show.
#[derive(Default)]
pub(super) struct Counts {
    /// Hidden entries in a row since the last shown entry.
    pub hidden_run: u64,
    /// Hidden entries that were skipped since the number was last taken.
    pub skips: u64,
    /// Seeks in place of many steps since the number was last taken.
    pub reseeks: u64,
}

/// The state for skipping empty key ranges.
pub(super) struct Empty {
    pub skipper: Option<RangeSkipper>,
    /// The number of hidden entries in a row after which the search looks for an empty key range.
    pub look_at: u64,
    /// True if the present move has looked for a range.
    pub looked: bool,
    /// Measures the time of a move that skips many hidden entries.
    pub step: Option<Step>,
}

impl<I: InternalIterator> Search<I> {
    /// Makes a search without a shown entry. `view` says which entries the reader sees.
    #[inline]
    pub(super) fn new(source: I, view: View) -> Self {
        let timestamp_size = view.order.timestamp_size();
        Search {
            source,
            view,
            shown_at: ShownAt::Source,
            valid: false,
            entity: false,
            timed: false,
            error: None,
            timestamp_size,
            saved_key: Vec::new(),
            saved_trailer: ValueType::Value as u64,
            held: Held::default(),
            operands: Vec::new(),
            scratch: Scratch::default(),
            seek_key: Vec::new(),
            spare_key: Vec::new(),
            prefix: None,
            counts: Counts::default(),
            watch: None,
            convert: None,
            empty: Empty { skipper: None, look_at: u64::MAX, looked: false, step: None },
        }
    }

    /// Forgets the shown entry and the error, before a positioning call.
    pub(super) fn begin(&mut self) {
        self.valid = false;
        self.entity = false;
        self.error = None;
        self.counts.hidden_run = 0;
    }

    /// Returns the sequence number and the value type of the shown entry. There must be a shown entry.
    pub(super) fn trailer(&self) -> u64 {
        base::invariant!(self.valid, "an iterator without an entry has no value type");
        match self.shown_at {
            ShownAt::Source => key::trailer(self.source.key()),
            ShownAt::Saved | ShownAt::Unprepared => self.saved_trailer,
        }
    }

    /// Returns the user key with its timestamp. Empty if there is no shown entry.
    #[inline]
    pub(super) fn full_key(&self) -> &[u8] {
        if !self.valid {
            return &[];
        }
        match self.shown_at {
            ShownAt::Source => key::user_key(self.source.key()),
            ShownAt::Saved | ShownAt::Unprepared => &self.saved_key,
        }
    }

    /// Returns the stored value; for an entity, its encoded form. Empty if there is no shown entry.
    #[inline]
    pub(super) fn stored(&self) -> &[u8] {
        if !self.valid {
            return &[];
        }
        match self.shown_at {
            ShownAt::Source => {
                let value = self.source.value();
                // A file with wrong bytes may hold a value without a sequence number.
                if self.timed { &value[..value.len().saturating_sub(8)] } else { value }
            }
            ShownAt::Saved => self.held.bytes(),
            ShownAt::Unprepared => &[],
        }
    }

    /// Writes the position before every entry of the shown key to `seek_key`. With `iter_start_ts`, the position is
    /// before every entry of this key and timestamp.
    pub(super) fn seek_key_before_saved(&mut self) {
        base::invariant!(
            self.saved_key.len() >= self.timestamp_size,
            "a key of {} bytes has a timestamp of {} bytes",
            self.saved_key.len(),
            self.timestamp_size
        );
        let (key, timestamp) = key::split_timestamp(&self.saved_key, self.timestamp_size);
        let timestamp = if self.view.start_timestamp.is_some() { timestamp } else { MAX_TS };
        seek_key(&mut self.seek_key, key, self.timestamp_size, u64::MAX, timestamp);
    }

    /// Ends the iteration, and keeps an error of the source.
    #[cold]
    pub(super) fn end(&mut self) {
        self.valid = false;
        if !self.source.valid()
            && let Err(error) = self.source.status()
        {
            self.error = Some(error);
        }
    }

    /// Ends the iteration with an error.
    #[cold]
    pub(super) fn fail(&mut self, error: Error) {
        self.valid = false;
        self.error = Some(error);
    }
}
