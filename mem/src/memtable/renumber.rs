//! Memtables that are filled before their sequence numbers are known.
//!
//! A writer fills such a memtable alone, with the sequence numbers from 1 on. When the writer knows the sequence number before
//! its first entry, it adds this number to all entries in place. The order of the entries does not change, because all
//! sequence numbers grow by the same number. No other thread has the memtable until then.

use std::sync::atomic::Ordering;

use base::error::{Error, Result};
use base::key::{MAX_SEQUENCE, SequenceNumber};

use crate::rep::tree::Cursor;

use super::{MemTable, Rep};

/// Adds `offset` to the sequence numbers of all entries, and gives the memtable its number. Afterwards no
/// entry is older than `offset`. Costs one visit of each entry.
///
/// # Errors
/// NotSupported if the memtable has range tombstones; InvalidArgument if a sequence number would have more than 56 bits.
/// The memtable is then unchanged.
pub fn renumber(table: &mut MemTable, id: u64, offset: SequenceNumber) -> Result<()> {
    if table.has_range_tombstones() {
        return Err(Error::not_supported("new sequence numbers for range tombstones"));
    }
    if table.largest_seq().checked_add(offset.get()).is_none_or(|largest| largest > MAX_SEQUENCE) {
        return Err(Error::invalid_argument(format!(
            "sequence numbers up to {} cannot grow by {offset}",
            table.largest_seq()
        )));
    }
    match &table.rep {
        Rep::Tree(tree) => {
            let mut cursor = Cursor::new();
            cursor.seek_to_first(tree, &table.entries);
            while cursor.place() != 0 {
                // SAFETY: the tree showed the place. `&mut MemTable` proves that no other reference to the memtable or
                // to its entries exists, and the cursor reads no entries between two steps forward.
                unsafe { table.entries.renumber(cursor.place(), offset.get()) };
                cursor.next(tree, &table.entries);
            }
        }
        Rep::Vector(vector) => {
            for &place in vector.sorted(&table.entries).iter() {
                // SAFETY: the vector showed the place. `&mut MemTable` proves that no other reference to the memtable
                // or to its entries exists.
                unsafe { table.entries.renumber(place, offset.get()) };
            }
        }
    }
    let first = table.first_seq();
    if first > SequenceNumber::ZERO {
        *table.tally.first_seq_inverted.get_mut() = SequenceNumber::NONE - (first + offset.get());
        *table.tally.largest_seq.get_mut() += offset.get();
    }
    (table.id, table.earliest_seq) = (id, offset);
    base::invariant!(
        table.is_empty() || table.tally.largest_seq.load(Ordering::Relaxed) > offset.get(),
        "a memtable that starts after {offset} ends at {}",
        table.largest_seq()
    );
    Ok(())
}
