//! The SST files that may contain a key, newest data first.

use std::sync::Arc;

use base::Level;
use base::key::{SequenceNumber, TYPE_FOR_SEEK, pack};
use base::order::head;

use super::Version;
use crate::table_file::TableFile;

/// Iterates over the level-0 files, newest first, and then over a few files of each level. A sorted level has
/// one such file, or more if the entries of the key cross a file boundary. Allocates nothing.
#[derive(Clone)]
pub struct Candidates<'a> {
    version: &'a Version,
    user_key: &'a [u8],
    head: u64,
    trailer: u64,
    level: Level,
    /// Index of the next file of the level. `usize::MAX` if a sorted level was not searched yet.
    next: usize,
}

impl Version {
    /// Returns the files that may contain entries of `user_key` at or below `seq`, or range tombstones over
    /// the key.
    #[inline]
    pub fn candidates<'a>(&'a self, user_key: &'a [u8], seq: SequenceNumber) -> Candidates<'a> {
        base::invariant!(seq <= base::key::MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        Candidates {
            version: self,
            user_key,
            head: head(user_key),
            trailer: pack(seq, TYPE_FOR_SEEK),
            level: Level::ZERO,
            next: 0,
        }
    }
}

impl<'a> Candidates<'a> {
    fn next_level(&mut self) {
        self.level = self.level.below();
        self.next = usize::MAX;
    }
}

impl<'a> Iterator for Candidates<'a> {
    type Item = (Level, &'a Arc<TableFile>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let order = &self.version.order;
        loop {
            let level = self.level;
            let files = &**self.version.levels.get(level.index())?;
            if level == Level::ZERO {
                while let Some(file) = files.get(self.next) {
                    let at = self.next;
                    self.next += 1;
                    if !files.is_before(order, at, self.head, self.user_key)
                        && !files.is_after(order, at, self.head, self.user_key)
                    {
                        return Some((Level::ZERO, file));
                    }
                }
                self.next_level();
                continue;
            }
            if self.next == usize::MAX {
                if files.is_empty() {
                    self.next_level();
                    continue;
                }
                self.next = files.find(order, self.user_key, self.trailer);
            }
            match files.get(self.next) {
                Some(file) if !files.is_before(order, self.next, self.head, self.user_key) => {
                    // Only if this file ends with the key, the next file can have older entries of the key.
                    if order.user.compare_without_timestamp(self.user_key, file.largest_user_key()).is_lt() {
                        self.next_level();
                    } else {
                        self.next += 1;
                    }
                    return Some((level, file));
                }
                _ => self.next_level(),
            }
        }
    }
}
