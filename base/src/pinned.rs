//! Pinned values: bytes that keep their owner alive, which is a cached block, a memtable arena, or a buffer.
//!
//! A read returns a view into the block cache. The view is released when the caller drops it. So a value is not
//! copied from the cache to the caller.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// An owner of bytes. The bytes must not move or change while the owner lives.
pub trait PinOwner: Send + Sync {
    /// Returns the bytes. Every call returns the same address and length.
    fn bytes(&self) -> &[u8];
}

impl PinOwner for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// An owner of several byte regions. The owner chooses a number for each region. For example, a memtable names a
/// value by its offset in the arena.
pub trait PinRegion: Send + Sync {
    /// Returns the region for `token`, the number that the owner chose when the value was pinned.
    fn region(&self, token: u64) -> &[u8];
}

#[derive(Clone)]
enum Owner {
    Own(Vec<u8>),
    Bytes(Arc<[u8]>, Range<usize>),
    Shared(Arc<dyn PinOwner>, Range<usize>),
    /// A part of a region, limited by the end of the region. Values are below 4 GiB, so `u32` offsets are enough.
    Region(Arc<dyn PinRegion>, u64, Range<u32>),
}

/// A value that stays readable as long as it lives. Derefs to `[u8]`.
#[derive(Clone)]
pub struct Pinned(Owner);

impl Pinned {
    /// Makes a value from a buffer, without a copy.
    #[inline]
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        Pinned(Owner::Own(bytes))
    }

    /// Makes a value from a copy of the bytes.
    pub fn copy(bytes: &[u8]) -> Self {
        Pinned(Owner::Own(bytes.to_vec()))
    }

    /// Makes a view of `range` in shared bytes (a cached block), without an allocation. A range outside of the bytes
    /// gives an empty view.
    #[inline]
    pub fn bytes(bytes: Arc<[u8]>, range: Range<usize>) -> Self {
        Pinned(Owner::Bytes(bytes, range))
    }

    /// Makes a view of `range` in the bytes of `owner`. A range outside of the bytes gives an empty view.
    #[inline]
    pub fn shared(owner: Arc<dyn PinOwner>, range: Range<usize>) -> Self {
        Pinned(Owner::Shared(owner, range))
    }

    /// Makes a view of the region `token` of `owner`.
    #[inline]
    pub fn region(owner: Arc<dyn PinRegion>, token: u64) -> Self {
        Pinned(Owner::Region(owner, token, 0..u32::MAX))
    }

    /// Returns the bytes as a vector. Copies the bytes, unless this value owns a buffer.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Owner::Own(bytes) => bytes,
            _ => self.to_vec(),
        }
    }

    /// Returns true if the bytes are in shared memory, and false if this value owns a buffer.
    pub fn is_shared(&self) -> bool {
        !matches!(self.0, Owner::Own(_))
    }

    /// Returns a part of this view. The range is relative to this view and is cut to its length.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Self {
        let within = |whole: Range<usize>| {
            let start = whole.start.saturating_add(range.start).min(whole.end);
            start..whole.start.saturating_add(range.end).clamp(start, whole.end)
        };
        match self.0 {
            Owner::Bytes(bytes, whole) => Pinned(Owner::Bytes(bytes, within(whole))),
            Owner::Shared(owner, whole) => Pinned(Owner::Shared(owner, within(whole))),
            Owner::Region(owner, token, whole) => {
                let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
                let part = within(whole.start as usize..whole.end as usize);
                Pinned(Owner::Region(owner, token, short(part.start)..short(part.end)))
            }
            Owner::Own(mut bytes) => {
                bytes.truncate(range.end);
                bytes.drain(..range.start.min(bytes.len()));
                Pinned(Owner::Own(bytes))
            }
        }
    }
}

impl Deref for Pinned {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Owner::Own(bytes) => bytes,
            Owner::Bytes(bytes, range) => bytes.get(range.clone()).unwrap_or_default(),
            Owner::Shared(owner, range) => owner.bytes().get(range.clone()).unwrap_or_default(),
            Owner::Region(owner, token, range) => {
                let bytes = owner.region(*token);
                bytes.get(range.start as usize..bytes.len().min(range.end as usize)).unwrap_or_default()
            }
        }
    }
}

impl AsRef<[u8]> for Pinned {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq<[u8]> for Pinned {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl PartialEq for Pinned {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Pinned {}

impl<const N: usize> PartialEq<&[u8; N]> for Pinned {
    fn eq(&self, other: &&[u8; N]) -> bool {
        **self == other[..]
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.escape_ascii().to_string(), f)
    }
}

#[cfg(test)]
mod tests;
