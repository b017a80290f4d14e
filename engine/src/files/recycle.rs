//! Obsolete WALs that are kept for reuse. Their blocks are allocated, so a sync of the new WAL is cheaper.
//!
//! Only WALs of this open are recycled. An older WAL may have records without a WAL number. After a reuse, recovery
//! could not tell the old records after the end of the new WAL from new records, and would replay them.

use std::collections::VecDeque;

use base::WalNumber;

use crate::sync::Mutex;

/// The waiting WALs, at most `recycle_log_file_num`.
pub struct Recycle {
    wals_max: usize,
    /// The first WAL of this open.
    first: WalNumber,
    waiting: Mutex<VecDeque<WalNumber>>,
}

impl Recycle {
    /// Makes an empty list for at most `wals_max` WALs; 0 keeps none. WALs before `first` are never kept.
    pub fn new(wals_max: usize, first: WalNumber) -> Self {
        Recycle { wals_max, first, waiting: Mutex::default() }
    }

    /// Keeps an obsolete WAL if there is room. Returns false if the caller must delete the WAL.
    pub fn offer(&self, wal: WalNumber) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= self.wals_max || wal < self.first {
            return false;
        }
        base::invariant!(!waiting.contains(&wal), "WAL {} waits twice for its reuse", wal);
        waiting.push_back(wal);
        base::invariant!(
            waiting.len() <= self.wals_max,
            "{} WALs wait for their reuse, and at most {} may",
            waiting.len(),
            self.wals_max
        );
        true
    }

    /// Takes a WAL whose file can be reused.
    pub fn take(&self) -> Option<WalNumber> {
        if self.wals_max == 0 {
            return None;
        }
        let wal = self.waiting.lock().pop_front();
        base::invariant!(
            wal.is_none_or(|wal| self.first <= wal),
            "WAL {wal:?} is reused, and this open began with WAL {}",
            self.first
        );
        wal
    }

    /// Returns true if the WAL waits for its reuse. Its file must not be deleted.
    pub fn contains(&self, wal: WalNumber) -> bool {
        self.waiting.lock().contains(&wal)
    }
}
