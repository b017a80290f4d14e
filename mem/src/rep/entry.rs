//! Entries: key and value in one allocation of the arena, written once.
//!
//! ```text
//! varint32  length of the internal key
//! bytes     user key
//! u64       trailer, little-endian: (sequence << 8) | value type
//! varint32  length of the value
//! bytes     value
//! bytes     checksum over key, trailer and value: 0, 1, 2, 4 or 8 bytes
//! ```
//! The internal key is contiguous, so an iterator returns it in place, and a pinned value is a pointer.

use std::cmp::Ordering;

use base::coding::varint_len;
use base::error::{Error, Result};
use base::key::{InternalOrder, TRAILER_LEN};
use base::order::Order;

use crate::arena::{Arena, Ref};

/// The arena, and the facts that are necessary to read the entries in it.
pub(crate) struct Entries {
    pub(crate) arena: Arena,
    pub(crate) order: InternalOrder,
    /// Protection bytes of each entry: 0, 1, 2, 4 or 8.
    pub(crate) protection: usize,
    /// True if error texts may contain user keys.
    pub(crate) shows_keys: bool,
}

/// A key to search for, divided into user key and trailer.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) user_key: &'a [u8],
    pub(crate) trailer: u64,
}

/// The position that a search returns if an entry is equal to the target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The first position at or after the target.
    AtOrAfter,
    /// The first position after the target.
    After,
}

impl Bound {
    /// Returns true if an entry with this order to the target is before the position.
    #[inline]
    pub(crate) fn is_past(self, order: Ordering) -> bool {
        order.is_lt() || self == Bound::After && order.is_eq()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) internal_key: &'a [u8],
    pub(crate) value: &'a [u8],
    checksum: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The entry of an iterator without a position.
    pub(crate) const EMPTY: Entry<'static> =
        Entry { internal_key: &[0; TRAILER_LEN], value: &[], checksum: &[] };

    #[inline]
    pub(crate) fn user_key(&self) -> &'a [u8] {
        base::invariant!(
            self.internal_key.len() >= TRAILER_LEN,
            "an internal key of {} bytes has no trailer",
            self.internal_key.len()
        );
        &self.internal_key[..self.internal_key.len() - TRAILER_LEN]
    }

    #[inline]
    pub(crate) fn trailer(&self) -> u64 {
        base::key::trailer(self.internal_key)
    }
}

impl Entries {
    /// Returns a user key without its timestamp.
    #[inline]
    pub(crate) fn without_timestamp<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        let size = self.order.user.timestamp_size();
        base::invariant!(
            user_key.len() >= size,
            "a key of {} bytes has a timestamp of {size} bytes",
            user_key.len()
        );
        base::key::without_timestamp(user_key, size)
    }

    /// Returns the four bytes of a key after the first `skip` bytes, as a number. Among keys with the same
    /// first `skip` bytes, the order of the numbers is the order of the keys. Equal numbers do not imply
    /// equal keys. In a custom order the number is always 0.
    #[inline]
    pub(crate) fn head(&self, user_key: &[u8], skip: usize) -> u32 {
        match self.order.user {
            Order::Bytewise => head(user_key, skip),
            Order::Reverse => !head(user_key, skip),
            Order::Custom(_) => 0,
        }
    }

    /// Returns the length of the common prefix of two user keys, at most `most`. Returns 0 in a custom order.
    pub(crate) fn common(&self, a: &[u8], b: &[u8], most: usize) -> usize {
        match self.order.user {
            Order::Custom(_) => 0,
            _ => a.iter().zip(b).take(most).take_while(|(a, b)| a == b).count(),
        }
    }

    #[inline]
    pub(crate) fn compare_user(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.user.compare(a, b)
    }

    #[inline]
    pub(crate) fn target<'a>(&self, user_key: &'a [u8], trailer: u64) -> Target<'a> {
        Target { user_key, trailer }
    }

    /// Returns a target with the key of an entry.
    ///
    /// # Safety
    /// The contract of [`Entries::entry`].
    #[inline]
    pub(crate) unsafe fn target_of(&self, place: Ref) -> Target<'_> {
        // SAFETY: the caller promises that `store` of this object returned the place, and that the store happened before this call.
        // The entry lives as long as the arena, so as long as self.
        let entry = unsafe { self.entry(place) };
        self.target(entry.user_key(), entry.trailer())
    }

    /// Writes an entry. Other threads cannot find it until its place is published.
    ///
    /// # Errors
    /// InvalidArgument if key or value is too long for its length field; Incomplete if the arena is full.
    pub(crate) fn store(&self, user_key: &[u8], trailer: u64, value: &[u8]) -> Result<Ref> {
        let key_len = user_key.len() + TRAILER_LEN;
        if key_len > u32::MAX as usize || value.len() > u32::MAX as usize {
            return Err(Error::invalid_argument("key or value of 4 GiB or more"));
        }
        let size = varint_len(key_len as u64) + key_len + varint_len(value.len() as u64) + value.len();
        let (place, start) = self.arena.alloc(size + self.protection, 4)?;
        base::invariant!(place != 0, "an entry is stored at the place that means no entry");
        // SAFETY: the arena returned `size + protection` bytes at `start`. They belong to this thread until
        // the entry is published. The written parts have this total size and do not overlap. The sources are
        // live slices.
        unsafe {
            let mut at = write_varint(start, key_len as u32);
            at = write_bytes(at, user_key);
            at = write_bytes(at, &trailer.to_le_bytes());
            at = write_varint(at, value.len() as u32);
            at = write_bytes(at, value);
            if self.protection > 0 {
                let checksum = checksum(user_key, trailer, value).to_le_bytes();
                at = write_bytes(at, &checksum[..self.protection]);
            }
            base::invariant!(
                at as usize - start as usize == size + self.protection,
                "an entry of {} bytes is written in {} bytes",
                at as usize - start as usize,
                size + self.protection
            );
        }
        Ok(place)
    }

    /// Adds `offset` to the sequence number of the entry at `place`.
    ///
    /// # Safety
    /// The contract of [`Entries::entry`]. In addition no other thread may access the entry, and no reference
    /// to its bytes may exist. The sequence number must stay below 2^56.
    pub(crate) unsafe fn renumber(&self, place: Ref, offset: u64) {
        // SAFETY: the caller promises that `store` wrote the whole layout at this offset, and that the entry is this
        // thread's alone. The trailer lies in the last 8 bytes of the internal key, and the checksum after the value. The
        // references that `checksum` reads end before the checksum is written.
        unsafe {
            let (key_len, key) = read_varint(self.arena.at(place));
            let trailer = key.add(key_len as usize - TRAILER_LEN).cast_mut();
            let renumbered = u64::from_le(trailer.cast::<u64>().read_unaligned()).wrapping_add(offset << 8);
            trailer.cast::<u64>().write_unaligned(renumbered.to_le());
            if self.protection > 0 {
                let (value_len, value) = read_varint(key.add(key_len as usize));
                let user_key = std::slice::from_raw_parts(key, key_len as usize - TRAILER_LEN);
                let sum =
                    checksum(user_key, renumbered, std::slice::from_raw_parts(value, value_len as usize));
                write_bytes(value.add(value_len as usize).cast_mut(), &sum.to_le_bytes()[..self.protection]);
            }
        }
    }

    /// Returns the entry at `place`.
    ///
    /// # Safety
    /// `place` must come from this object's [`Entries::store`], and the store must happen before this
    /// call: the place was published with Release and read with Acquire.
    #[inline]
    pub(crate) unsafe fn entry(&self, place: Ref) -> Entry<'_> {
        base::invariant!(place != 0, "the place that means no entry is read");
        // SAFETY: the caller promises that `store` wrote the whole layout at this offset. No thread writes the layout
        // again while the arena lives, and `&self` borrows the arena. `store` wrote each
        // length, and each slice stays inside the allocation.
        unsafe {
            let (key_len, at) = read_varint(self.arena.at(place));
            let internal_key = std::slice::from_raw_parts(at, key_len as usize);
            let (value_len, at) = read_varint(at.add(key_len as usize));
            let value = std::slice::from_raw_parts(at, value_len as usize);
            let checksum = std::slice::from_raw_parts(at.add(value_len as usize), self.protection);
            Entry { internal_key, value, checksum }
        }
    }

    /// Returns the user key of the entry at `place`, or an empty key for place 0.
    ///
    /// # Safety
    /// The contract of [`Entries::entry`], unless `place` is 0.
    pub(crate) unsafe fn user_key_at(&self, place: Ref) -> &[u8] {
        // SAFETY: `place` is not 0, so the caller promises that `store` of this object returned the place, and that the store
        // happened before this call. The entry lives as long as the arena, so as long as self.
        if place == 0 { &[] } else { unsafe { self.entry(place) }.user_key() }
    }

    /// Compares the entry at `place` with `target`.
    ///
    /// # Safety
    /// The contract of [`Entries::entry`].
    #[inline]
    pub(crate) unsafe fn compare(&self, place: Ref, target: &Target<'_>) -> Ordering {
        // SAFETY: the caller promises that `store` of this object returned the place, and that the store happened before this call.
        // The entry lives as long as the arena, so as long as self.
        let entry = unsafe { self.entry(place) };
        self.order
            .user
            .compare(entry.user_key(), target.user_key)
            .then_with(|| target.trailer.cmp(&entry.trailer()))
    }

    /// Prefetches the memory of an entry that will be read soon.
    #[inline]
    pub(crate) fn prefetch(&self, place: Ref) {
        // SAFETY: `at` only computes an address, and a prefetch of any address is harmless.
        let at = unsafe { self.arena.at(place) };
        crate::rep::prefetch(at);
        crate::rep::prefetch(at.wrapping_add(64));
    }

    /// Checks an entry against its protection bytes.
    ///
    /// # Errors
    /// Corruption if they differ.
    #[inline]
    pub(crate) fn verify(&self, entry: &Entry<'_>) -> Result<()> {
        if self.protection == 0 { Ok(()) } else { self.verify_bytes(entry) }
    }

    fn verify_bytes(&self, entry: &Entry<'_>) -> Result<()> {
        let wanted = checksum(entry.user_key(), entry.trailer(), entry.value).to_le_bytes();
        if wanted.starts_with(entry.checksum) {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "memtable entry {} does not match its protection bytes",
            self.shown(entry)
        )))
    }

    /// Returns the user key of an entry for an error text, or its length if error texts must not contain keys.
    #[cold]
    pub(crate) fn shown(&self, entry: &Entry<'_>) -> String {
        let key = entry.user_key();
        match self.shows_keys {
            true => key.escape_ascii().to_string(),
            false => format!("with a key of {} bytes (allow_data_in_errors shows the key)", key.len()),
        }
    }
}

#[inline]
fn head(key: &[u8], skip: usize) -> u32 {
    let rest = key.get(skip..).unwrap_or_default();
    match rest.first_chunk::<4>() {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => rest.iter().fold(0, |head, &byte| head << 8 | u32::from(byte)) << (8 * (4 - rest.len()) % 32),
    }
}

fn checksum(user_key: &[u8], trailer: u64, value: &[u8]) -> u64 {
    kernel::hash::hash64_seeded(value, kernel::hash::hash64_seeded(user_key, trailer))
}

/// # Safety
/// `bytes.len()` bytes at `at` must be writable and not overlap `bytes`.
#[inline]
unsafe fn write_bytes(at: *mut u8, bytes: &[u8]) -> *mut u8 {
    // SAFETY: the caller promises that `bytes.len()` bytes at `at` are writable and do not overlap `bytes`, so the end is at most one
    // byte after them. Bytes have no alignment.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
        at.add(bytes.len())
    }
}

/// # Safety
/// The bytes of the encoded varint must be writable at `at`.
#[inline]
unsafe fn write_varint(mut at: *mut u8, mut value: u32) -> *mut u8 {
    // SAFETY: the caller promises that the bytes of the varint are writable. Each loop writes one byte of the varint, and moves
    // `at` to the next byte. The final `at` is at most one byte after the varint. Bytes have no alignment.
    unsafe {
        while value >= 0x80 {
            at.write(value as u8 | 0x80);
            at = at.add(1);
            value >>= 7;
        }
        at.write(value as u8);
        at.add(1)
    }
}

/// # Safety
/// `at` must point at a varint32 that [`write_varint`] wrote.
#[inline]
unsafe fn read_varint(mut at: *const u8) -> (u32, *const u8) {
    // SAFETY: by the contract of this function, a byte without the high bit ends the varint.
    unsafe {
        let mut byte = at.read();
        at = at.add(1);
        let mut value = u32::from(byte & 0x7f);
        let mut shift = 7;
        while byte >= 0x80 {
            base::invariant!(shift < 35, "the length of a memtable entry has more than five bytes");
            byte = at.read();
            at = at.add(1);
            value |= u32::from(byte & 0x7f) << shift;
            shift += 7;
        }
        (value, at)
    }
}
