//! Old logs kept to be written over: their blocks are allocated, so syncing them is cheaper.
//!
//! Only logs of this session: those of an earlier one may have been written without numbers in their
//! records, and what they leave behind the new log's end would be replayed as if it were new.

use std::collections::VecDeque;

use base::FileNumber;

use crate::sync::Mutex;

/// The waiting logs, at most `recycle_log_file_num`.
pub struct Recycle {
    wals_max: usize,
    /// The first log of this session.
    first: FileNumber,
    waiting: Mutex<VecDeque<FileNumber>>,
}

impl Recycle {
    pub fn new(wals_max: usize, first: FileNumber) -> Self {
        Recycle { wals_max, first, waiting: Mutex::default() }
    }

    /// Keeps an obsolete log if there is room; false: delete it.
    pub fn offer(&self, wal: FileNumber) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= self.wals_max || wal < self.first {
            return false;
        }
        base::invariant!(!waiting.contains(&wal), "WAL {} waits twice for its reuse", wal.0);
        waiting.push_back(wal);
        base::invariant!(
            waiting.len() <= self.wals_max,
            "{} WALs wait for their reuse, and at most {} may",
            waiting.len(),
            self.wals_max
        );
        true
    }

    /// A log to write over.
    pub fn take(&self) -> Option<FileNumber> {
        if self.wals_max == 0 {
            return None;
        }
        self.waiting.lock().pop_front()
    }

    pub fn contains(&self, wal: FileNumber) -> bool {
        self.waiting.lock().contains(&wal)
    }
}
