//! Old logs kept to be written over: their blocks are allocated, so syncing them is cheaper.

use std::collections::VecDeque;

use base::FileNumber;

use crate::sync::Mutex;

/// The waiting logs, at most `recycle_log_file_num`.
pub struct Recycle {
    logs_max: usize,
    waiting: Mutex<VecDeque<FileNumber>>,
}

impl Recycle {
    pub fn new(logs_max: usize) -> Self {
        Recycle { logs_max, waiting: Mutex::default() }
    }

    /// Keeps an obsolete log if there is room; false: delete it.
    pub fn offer(&self, log: FileNumber) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= self.logs_max {
            return false;
        }
        waiting.push_back(log);
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
