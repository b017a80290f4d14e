//! Which files there are, where they lie, and which are still needed.
//!
//! A table is kept while any version holds it, and a version lives while a reader pins it. So a file that
//! left the current version waits here, with the one pointer to its facts that is not a version's; once
//! that is the only one, nobody can come to the file any more and it goes. Doubt never deletes: what does
//! not parse as one of our names is nobody's, nothing is swept when the MANIFEST's end was doubtful, and where it
//! was not proved, what is swept goes to `lost/`.

mod lock;
mod lost;
mod obsolete;
mod paths;
mod recycle;
mod sweep;

pub use lock::DbLock;
pub use lost::{LOST_DIR, lost_name, move_aside, purge as purge_lost};
pub use obsolete::{Obsolete, Records, Waiting};
pub use paths::Paths;
pub use recycle::Recycle;
pub use sweep::{Live, Sweep, sweep};

use std::collections::BTreeSet;

use base::FileNumber;

use crate::sync::{Arc, AtomicU64, Mutex, Ordering};

/// The one counter all files are numbered from, and the numbers of tables that are being written.
pub struct Numbers {
    next: AtomicU64,
    pending: Mutex<BTreeSet<u64>>,
}

impl Numbers {
    pub fn new(next: u64) -> Arc<Self> {
        Arc::new(Numbers { next: AtomicU64::new(next), pending: Mutex::default() })
    }

    /// The number the next file gets.
    pub fn peek(&self) -> u64 {
        self.next.load(Ordering::Acquire)
    }

    pub fn take(&self) -> FileNumber {
        FileNumber(self.next.fetch_add(1, Ordering::AcqRel))
    }

    /// A number in use was met: later ones are above it.
    pub fn mark_used(&self, number: u64) {
        self.next.fetch_max(number.saturating_add(1), Ordering::AcqRel);
    }

    /// A number for a table being written; sweeps leave it alone while the guard lives.
    pub fn take_pending(self: &Arc<Self>) -> Pending {
        let mut pending = self.pending.lock();
        let number = self.take();
        pending.insert(number.0);
        Pending { number, owner: self.clone() }
    }

    /// The smallest number of a table being written.
    pub fn smallest_pending(&self) -> Option<u64> {
        self.pending.lock().first().copied()
    }
}

/// See [`Numbers::take_pending`].
pub struct Pending {
    pub number: FileNumber,
    owner: Arc<Numbers>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.owner.pending.lock().remove(&self.number.0);
    }
}
