//! An index block that is searched as it is stored.
//!
//! A decoded [`Index`] is searched faster, and the decoding is useful only if the index is searched often. In a small block cache, an
//! index partition leaves the cache after one search.

use base::coding::Cursor;
use base::key::{InternalOrder, trailer, user_key};
use base::order::Order;
use base::{Error, Result};

use super::{Index, IndexLayout, bad_value, delta_handle};
use crate::block::{PlainEntries, PlainRestarts};
use crate::handle::BlockHandle;

/// The payload of an index block, and the encoding of its entries.
#[derive(Clone, Debug)]
pub struct StoredIndex {
    payload: Box<[u8]>,
    restarts: PlainRestarts,
    layout: IndexLayout,
}

impl StoredIndex {
    /// Returns true if an index with this encoding can be searched as it is stored. First keys and keys without
    /// timestamps need the decoding.
    pub fn suits(layout: &IndexLayout) -> bool {
        !layout.first_keys && layout.rewrite.timestamp_pad == 0
    }

    /// Copies a payload (without trailer). The caller checks [`StoredIndex::suits`] first. The entries are checked by
    /// the searches.
    ///
    /// # Errors
    /// Corruption if the parts of the block contradict each other.
    pub fn parse(payload: &[u8], layout: &IndexLayout) -> Result<StoredIndex> {
        base::invariant!(StoredIndex::suits(layout), "an index that must be decoded is kept as it is stored");
        let restarts = PlainRestarts::parse(payload)?;
        Ok(StoredIndex { payload: payload.into(), restarts, layout: *layout })
    }

    /// Decodes the block.
    ///
    /// # Errors
    /// The errors of [`Index::decode`].
    pub fn decode(&self) -> Result<Index> {
        Index::decode(&self.payload, &self.layout)
    }

    /// Returns the size of the payload in bytes.
    pub fn payload_len(&self) -> usize {
        self.payload.len()
    }

    /// Finds the first data block that may have keys at or after `target` (an internal key).
    ///
    /// # Errors
    /// Corruption if an entry on the way does not decode.
    pub fn seek(&self, order: &InternalOrder, target: &[u8]) -> Result<StoredPlace<'_>> {
        let (payload, unbounded) = (&*self.payload, self.layout.delta_values);
        let sought = (user_key(target), trailer(target));
        let (mut low, mut high) = (0, self.restarts.len());
        while low < high {
            let middle = low.midpoint(high);
            let key = self.restarts.key(payload, middle, unbounded).ok_or_else(|| bad_restart(middle))?;
            if is_before(&self.layout, order, key, sought).ok_or_else(|| bad_restart(middle))? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let entries = PlainEntries::at_restart(payload, &self.restarts, low.saturating_sub(1), unbounded)?;
        let mut place =
            StoredPlace { layout: &self.layout, entries, previous: BlockHandle::NULL, handle: None };
        place.next()?;
        while place.handle.is_some() && place.is_before(order, sought)? {
            place.next()?;
        }
        Ok(place)
    }
}

/// A position in a [`StoredIndex`]: at a data block, or after the last data block.
pub struct StoredPlace<'a> {
    layout: &'a IndexLayout,
    entries: PlainEntries<'a>,
    previous: BlockHandle,
    handle: Option<BlockHandle>,
}

impl StoredPlace<'_> {
    /// Returns the handle of the data block; `None` after the last data block.
    pub fn handle(&self) -> Option<BlockHandle> {
        self.handle
    }

    /// Moves to the next data block.
    ///
    /// # Errors
    /// Corruption if the entry does not decode.
    #[allow(clippy::should_implement_trait)] // a move that can fail
    pub fn next(&mut self) -> Result<()> {
        self.handle = None;
        let Some(entry) = self.entries.next()? else { return Ok(()) };
        let mut cursor = Cursor::new(entry.value);
        let handle = if self.layout.delta_values && entry.shared > 0 {
            delta_handle(&mut cursor, self.previous).ok_or_else(|| bad_value(entry.at))?
        } else {
            BlockHandle::decode(&mut cursor).map_err(|e| e.at(entry.at as u64))?
        };
        if self.layout.delta_values {
            self.entries.value_took(cursor.offset());
        }
        (self.previous, self.handle) = (handle, Some(handle));
        Ok(())
    }

    /// Returns true if the next data block may have more entries of `user`.
    pub fn may_continue(&self, order: &Order, user: &[u8]) -> bool {
        let key = self.entries.key();
        let separator = if self.layout.user_keys { key } else { user_key(key) };
        self.handle.is_some() && order.compare_without_timestamp(separator, user).is_le()
    }

    fn is_before(&self, order: &InternalOrder, sought: (&[u8], u64)) -> Result<bool> {
        let before = is_before(self.layout, order, self.entries.key(), sought);
        before.ok_or_else(|| Error::corruption("an index has a key without a trailer"))
    }
}

/// Returns true if every key of the block before the separator is before the sought key. `None` if the separator has no trailer
/// and should have one.
fn is_before(
    layout: &IndexLayout,
    order: &InternalOrder,
    separator: &[u8],
    (user, trailer): (&[u8], u64),
) -> Option<bool> {
    if layout.user_keys {
        return Some(order.user.compare(separator, user).is_lt());
    }
    let (own_user, own_trailer) = separator.split_last_chunk()?;
    let own_trailer = u64::from_le_bytes(*own_trailer);
    // Larger trailers come first.
    Some(order.user.compare(own_user, user).then_with(|| trailer.cmp(&own_trailer)).is_lt())
}

#[cold]
fn bad_restart(i: usize) -> Error {
    Error::corruption(format!("bad restart point {i} of an index"))
}
