//! Old logs kept to be written over: their blocks are allocated, so syncing them is cheaper.
//!
//! Only logs of this session: those of an earlier one may have been written without numbers in their
//! records, and what they leave behind the new log's end would be replayed as if it were new.

use std::collections::VecDeque;

use base::FileNumber;

use crate::sync::Mutex;

/// The waiting logs, at most `recycle_log_file_num`.
pub struct Recycle {
    logs_max: usize,
    /// The first log of this session.
    first: FileNumber,
    waiting: Mutex<VecDeque<FileNumber>>,
}

impl Recycle {
    pub fn new(logs_max: usize, first: FileNumber) -> Self {
        Recycle { logs_max, first, waiting: Mutex::default() }
    }

    /// Keeps an obsolete log if there is room; false: delete it.
    pub fn offer(&self, log: FileNumber) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= self.logs_max || log < self.first {
            return false;
        }
        base::invariant!(!waiting.contains(&log), "WAL {} waits twice for its reuse", log.0);
        waiting.push_back(log);
        base::invariant!(
            waiting.len() <= self.logs_max,
            "{} WALs wait for their reuse, and at most {} may",
            waiting.len(),
            self.logs_max
        );
        true
    }

    /// A log to write over.
    pub fn take(&self) -> Option<FileNumber> {
        if self.logs_max == 0 {
            return None;
        }
        self.waiting.lock().pop_front()
    }

    pub fn contains(&self, log: FileNumber) -> bool {
        self.waiting.lock().contains(&log)
    }
}
