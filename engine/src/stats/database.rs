//! Counters of the whole database, always on: RocksDB's `InternalDBStatsType`.

use crate::sync::{AtomicU64, Mutex, Ordering};

/// The counters. Their names are the names of the map property `rocksdb.dbstats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum DatabaseCounter {
    /// Bytes that were appended to WALs.
    WalBytes,
    /// Syncs of the WALs.
    WalSyncs,
    /// Bytes of the write batches.
    UserBytes,
    /// Changes in the write batches.
    UserKeys,
    /// Write batches that a leader wrote for a follower.
    WritesByOther,
    /// Write groups: each group is one write of its leader.
    WritesBySelf,
    /// Write batches that went to the WAL.
    WritesWithWal,
    /// Time in microseconds that writers waited for a write stall.
    StallMicros,
    /// Waits because the memtables reached the limit of the write buffer manager.
    BufferManagerStops,
}

impl DatabaseCounter {
    /// All counters, in the order of [`DatabaseNumbers`].
    pub const ALL: [DatabaseCounter; 9] = [
        DatabaseCounter::WalBytes,
        DatabaseCounter::WalSyncs,
        DatabaseCounter::UserBytes,
        DatabaseCounter::UserKeys,
        DatabaseCounter::WritesByOther,
        DatabaseCounter::WritesBySelf,
        DatabaseCounter::WritesWithWal,
        DatabaseCounter::StallMicros,
        DatabaseCounter::BufferManagerStops,
    ];

    /// Returns RocksDB's name of the counter, as the property `rocksdb.dbstats` uses it.
    pub const fn name(self) -> &'static str {
        match self {
            DatabaseCounter::WalBytes => "db.wal_bytes_written",
            DatabaseCounter::WalSyncs => "db.wal_syncs",
            DatabaseCounter::UserBytes => "db.user_bytes_written",
            DatabaseCounter::UserKeys => "db.user_keys_written",
            DatabaseCounter::WritesByOther => "db.user_writes_by_other",
            DatabaseCounter::WritesBySelf => "db.user_writes_by_self",
            DatabaseCounter::WritesWithWal => "db.user_writes_with_wal",
            DatabaseCounter::StallMicros => "db.user_write_stall_micros",
            DatabaseCounter::BufferManagerStops => "write-buffer-manager-limit-stops",
        }
    }
}

/// The values of all counters at one time, in the order of [`DatabaseCounter`].
pub type DatabaseNumbers = [u64; DatabaseCounter::ALL.len()];

/// The counters of one database.
pub struct DatabaseCounts {
    cells: [AtomicU64; DatabaseCounter::ALL.len()],
    inner: Mutex<Marks>,
    /// Bytes of lost durable writes that the open accepted. A reset does not change the value.
    lost_bytes: AtomicU64,
}

struct Marks {
    opened_us: u64,
    /// Uptime in seconds and counters at the last dump, where the current interval began.
    last_dump: (f64, DatabaseNumbers),
}

impl DatabaseCounts {
    pub(super) fn new(opened_us: u64) -> Self {
        let marks = Marks { opened_us, last_dump: (0.0, [0; DatabaseCounter::ALL.len()]) };
        DatabaseCounts { cells: Default::default(), inner: Mutex::new(marks), lost_bytes: AtomicU64::new(0) }
    }

    /// Adds to a counter. All threads may call this function.
    #[inline]
    pub fn add(&self, counter: DatabaseCounter, count: u64) {
        self.cells[counter as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// Adds to a counter that only the leader of a write group changes.
    #[inline]
    pub fn add_alone(&self, counter: DatabaseCounter, count: u64) {
        let cell = &self.cells[counter as usize];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    /// Returns the counter since the open or the last reset. Counts of concurrent writers may be missing.
    #[inline]
    pub fn get(&self, counter: DatabaseCounter) -> u64 {
        self.cells[counter as usize].load(Ordering::Relaxed)
    }

    /// Returns all counters since the open or the last reset, by [`DatabaseCounter`]. The counters are not read
    /// at one instant.
    pub fn all(&self) -> DatabaseNumbers {
        DatabaseCounter::ALL.map(|counter| self.get(counter))
    }

    /// Returns when the uptime began: the time of the open or of the last reset, in microseconds since the
    /// epoch.
    pub fn opened_us(&self) -> u64 {
        self.inner.lock().opened_us
    }

    /// Records that the open accepted the loss of this many bytes of durable writes.
    pub fn note_lost(&self, bytes: u64) {
        self.lost_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes of lost durable writes that this open accepted.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes.load(Ordering::Relaxed)
    }

    /// Returns uptime and counters of the last dump, and stores the given values for the next interval.
    pub fn begin_interval(&self, uptime_s: f64, now: DatabaseNumbers) -> (f64, DatabaseNumbers) {
        std::mem::replace(&mut self.inner.lock().last_dump, (uptime_s, now))
    }

    /// Sets all counters to 0, and starts the uptime again.
    pub fn reset(&self, now_us: u64) {
        self.cells.iter().for_each(|cell| cell.store(0, Ordering::Relaxed));
        *self.inner.lock() = Marks { opened_us: now_us, last_dump: (0.0, [0; DatabaseCounter::ALL.len()]) };
    }
}
