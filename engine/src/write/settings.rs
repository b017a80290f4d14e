//! The settings of the write path.

use env::rate::RateLimiter;

use crate::prepared::Numbering;
use crate::sync::Arc;

/// The settings of the write path. They are set at the open.
#[derive(Clone, Debug)]
pub struct WriteSettings {
    pub pipelined: bool,
    pub concurrent_memtable: bool,
    /// True with `two_write_queues` together with `enable_pipelined_write`: RocksDB rejects every write of such a
    /// database.
    pub two_queues_pipelined: bool,
    pub atomic_flush: bool,
    pub recycles_wals: bool,
    pub numbering: Numbering,
    pub manual_wal_flush: bool,
    /// The rate limiter for the bytes of the WAL, for writes that request it.
    pub rate_limiter: Option<Arc<RateLimiter>>,
    pub group_bytes_max: u64,
    pub preallocate_bytes: u64,
    /// Microseconds that a waiting writer yields before it sleeps; 0 means that it does not yield.
    pub yield_us_max: u64,
    /// Duration in microseconds from which a yield counts as slow.
    pub yield_us_slow: u64,
}
