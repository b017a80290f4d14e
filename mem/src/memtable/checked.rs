//! Lookups and iterations with checks. They find entries that failing memory has changed, and return an
//! error instead of a wrong answer.
//!
//! `paranoid_memory_checks` checks the order of entries at the end of each search and at each step of a
//! walk. `memtable_verify_per_key_checksum_on_seek` compares the protection bytes of the entries that
//! decided a search. A search in this tree compares entries of one leaf, so the whole leaf is checked. As
//! in RocksDB, both options apply only to the skip list (here the tree).

use base::error::{Error, Result};

use crate::rep::entry::{Entries, Entry, Target};
use crate::rep::tree::Cursor;

use super::MemTableOptions;

/// The checks of one memtable.
#[derive(Clone, Copy)]
pub(super) struct Checks<'a> {
    pub entries: &'a Entries,
    pub options: &'a MemTableOptions,
}

impl Checks<'_> {
    /// Returns true if searches and iterations are checked.
    #[inline]
    pub(super) fn are_on(self) -> bool {
        self.options.paranoid_checks || self.options.verify_on_seek
    }

    /// Checks the leaf in which a search for `target` ended.
    pub(super) fn check_search(self, cursor: &Cursor, target: &Target<'_>) -> Result<()> {
        base::invariant!(self.are_on(), "a search is checked, and no option asks for it");
        let mut before: Option<Entry<'_>> = None;
        for (i, &place) in cursor.leaf().iter().enumerate() {
            // SAFETY: the tree returned this place, so the entry was published with Release before the cursor read the place with Acquire.
            let entry = unsafe { self.entries.entry(place) };
            if self.options.verify_on_seek {
                self.entries.verify(&entry)?;
            }
            if self.options.paranoid_checks {
                if let Some(before) = &before {
                    self.check_order(before, &entry)?;
                }
                let below = self.entries.order.user.compare(entry.user_key(), target.user_key);
                let below = below.then_with(|| target.trailer.cmp(&entry.trailer())).is_lt();
                if below != (i < cursor.index()) {
                    return Err(out_of_order(self.entries, &entry));
                }
            }
            before = Some(entry);
        }
        Ok(())
    }

    /// Checks the order of two entries that an iteration found one after the other.
    pub(super) fn check_order(self, before: &Entry<'_>, after: &Entry<'_>) -> Result<()> {
        if !self.options.paranoid_checks {
            return Ok(());
        }
        let order = self.entries.order.user.compare(before.user_key(), after.user_key());
        match order.then_with(|| after.trailer().cmp(&before.trailer())).is_lt() {
            true => Ok(()),
            false => Err(out_of_order(self.entries, after)),
        }
    }
}

#[cold]
fn out_of_order(entries: &Entries, entry: &Entry<'_>) -> Error {
    Error::corruption(format!("memtable entry {} is out of order", entries.shown(entry)))
}
