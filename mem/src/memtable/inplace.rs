//! In-place updates: values that a later put overwrites (`inplace_update_support`).
//!
//! Entries themselves never change. With in-place updates the entry of a put holds the place of a cell
//! instead of the value, and the content of the cell may change:
//!
//! ```text
//! entry   key, trailer │ 4 bytes: place of the cell
//! cell    u32 capacity │ u32 length │ capacity bytes │ checksum of 0, 1, 2, 4 or 8 bytes
//! ```
//! If the newest entry of a key is a put and its cell has enough room, the next put overwrites the cell. The
//! entry keeps its sequence number. So older snapshots can no longer read the old value, and the memtable
//! does not grow. Readers copy the value under the lock that writers of the key hold, and no reader keeps a
//! pointer into a cell. Keys with hashes of the same remainder share a lock, as in RocksDB (`db/memtable.cc`,
//! `MemTable::Update`).

use std::sync::OnceLock;

use base::error::{Error, Result};
use base::key::ValueType;
use parking_lot::RwLock;

use crate::arena::Ref;
use crate::rep::entry::{Entries, Entry};

/// Size of the fields capacity and length.
const HEADER: usize = 8;

/// The locks for the cells of a memtable. They are allocated with the first cell.
pub(super) struct Cells {
    count: usize,
    locks: OnceLock<Box<[RwLock<()>]>>,
}

impl Cells {
    /// Makes the locks for cells: `count` locks, but at least one.
    pub(super) fn new(count: usize) -> Cells {
        Cells { count: count.max(1), locks: OnceLock::new() }
    }

    /// Returns true if an entry of this value type holds the place of a cell.
    #[inline]
    pub(super) fn hold(value_type: u8) -> bool {
        value_type == ValueType::Value as u8 || value_type == ValueType::WideColumnEntity as u8
    }

    fn locks(&self) -> &[RwLock<()>] {
        self.locks.get_or_init(|| (0..self.count).map(|_| RwLock::new(())).collect())
    }

    fn lock(&self, user_key: &[u8]) -> &RwLock<()> {
        let locks = self.locks();
        &locks[(kernel::hash::hash64(user_key) % locks.len() as u64) as usize]
    }

    /// Makes a new cell with `value`. Returns the bytes to store in the entry.
    ///
    /// # Errors
    /// InvalidArgument for a value of 4 GiB or more; Incomplete if the arena is full.
    pub(super) fn store(&self, entries: &Entries, value: &[u8]) -> Result<[u8; 4]> {
        self.locks();
        let capacity =
            u32::try_from(value.len()).map_err(|_| Error::invalid_argument("a value of 4 GiB or more"))?;
        let (place, start) = entries.arena.alloc(HEADER + value.len() + entries.protection, 4)?;
        base::invariant!(!start.is_null() && start.align_offset(4) == 0, "a cell is not aligned to 4 bytes");
        // SAFETY: the arena returned this number of bytes at a multiple of 4. They belong to this thread
        // until the entry is published.
        unsafe {
            start.cast::<u32>().write(capacity);
            put(start, value, entries.protection);
        }
        Ok(place.to_le_bytes())
    }

    /// Replaces the value in the cell of `entry` if the cell has enough room. Returns true if it had.
    pub(super) fn replace(&self, entries: &Entries, entry: &Entry<'_>, value: &[u8]) -> bool {
        let _alone = self.lock(entry.user_key()).write();
        // SAFETY: a found entry holds the address of a cell, and `store` made the cell before the entry was
        // published. This thread holds the write lock of the key, so no other thread accesses the cell.
        // `value` is not memory of a cell, because only this file has references to cells.
        unsafe {
            let cell = entries.arena.at(place_of(entry));
            if value.len() > cell.cast::<u32>().read() as usize {
                return false;
            }
            put(cell, value, entries.protection);
        }
        true
    }

    /// Clears `out` and copies the value of `entry` into it.
    ///
    /// # Errors
    /// Corruption if the value does not match its protection bytes.
    pub(super) fn read(&self, entries: &Entries, entry: &Entry<'_>, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let mut sum = [0; 8];
        {
            let _shared = self.lock(entry.user_key()).read();
            // SAFETY: a found entry holds the address of a cell, and `store` made the cell before the entry was published.
            // This thread holds the lock of the key for reading, so no thread changes the cell. The length is at most the
            // capacity, so value and checksum are inside the cell.
            unsafe {
                let cell = entries.arena.at(place_of(entry));
                let (capacity, len) = (cell.cast::<u32>().read(), cell.cast::<u32>().add(1).read() as usize);
                if len > capacity as usize {
                    return Err(damaged(entries, entry));
                }
                let start = cell.add(HEADER).cast_const();
                out.extend_from_slice(std::slice::from_raw_parts(start, len));
                std::ptr::copy_nonoverlapping(start.add(len), sum.as_mut_ptr(), entries.protection);
            }
        }
        let wanted = checksum(out).to_le_bytes();
        if entries.protection == 0 || wanted[..entries.protection] == sum[..entries.protection] {
            return Ok(());
        }
        Err(damaged(entries, entry))
    }
}

#[cold]
fn damaged(entries: &Entries, entry: &Entry<'_>) -> Error {
    Error::corruption(format!(
        "the value of memtable entry {} does not match its protection bytes",
        entries.shown(entry)
    ))
}

fn place_of(entry: &Entry<'_>) -> Ref {
    base::invariant!(entry.value.len() == 4, "the place of a cell has {} bytes", entry.value.len());
    entry.value.first_chunk().map_or(0, |bytes| Ref::from_le_bytes(*bytes))
}

fn checksum(value: &[u8]) -> u64 {
    kernel::hash::hash64_seeded(value, 0)
}

/// Writes the length, the value and the checksum of a cell.
///
/// # Safety
/// `cell` must have capacity for `value`, and no other thread may access the cell during the call. `value`
/// must not overlap the cell.
unsafe fn put(cell: *mut u8, value: &[u8], protection: usize) {
    base::invariant!(protection <= 8, "a value has {protection} protection bytes");
    // SAFETY: the contract of this function. A value that fits into the capacity has a length that fits into
    // a u32.
    unsafe {
        cell.cast::<u32>().add(1).write(value.len() as u32);
        let start = cell.add(HEADER);
        std::ptr::copy_nonoverlapping(value.as_ptr(), start, value.len());
        let sum = if protection > 0 { checksum(value).to_le_bytes() } else { [0; 8] };
        std::ptr::copy_nonoverlapping(sum.as_ptr(), start.add(value.len()), protection.min(sum.len()));
    }
}
