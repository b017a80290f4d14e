//! The limits of a read's accesses to the file: a deadline, a time for each access, and a rate.
//!
//! They are checked at each access to the file, not for each entry. Follows RocksDB's
//! `PrepareIOFromReadOptions` (`file/file_util.h`) and `file/random_access_file_reader.cc`.

use std::sync::Arc;

use base::stats::Statistics;
use base::{Error, Result};
use env::Clock;
use env::rate::{Direction, IoPriority, RateLimiter};

/// The limits of the file accesses of one read.
pub struct ReadLimits {
    /// The clock that measures the limits.
    pub clock: Arc<dyn Clock>,
    /// Microseconds since 1970 after which no access starts; 0 means no deadline.
    pub deadline_micros: u64,
    /// Maximum duration of an access in microseconds; 0 means no limit. A longer access fails. A system
    /// call cannot be cancelled: if the call takes too long, the access fails after the call returns.
    pub timeout_micros: u64,
    /// The rate limiter that is charged before bytes are read, and the priority. `None`: no rate limit.
    pub charge: Option<(Arc<RateLimiter>, IoPriority)>,
    /// The statistics that count the waits for the limiter.
    pub statistics: Option<Arc<Statistics>>,
}

impl ReadLimits {
    /// Runs an access of `bytes` within the limits.
    ///
    /// # Errors
    /// TimedOut if the deadline has passed, or if the access took too long. Otherwise the errors of the
    /// access.
    #[inline(never)]
    pub fn around<T>(&self, bytes: usize, access: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.deadline_micros > 0 && self.clock.now_micros() >= self.deadline_micros {
            return Err(Error::timed_out("Deadline exceeded"));
        }
        if let Some((limiter, priority)) = &self.charge {
            limiter.charge(bytes as u64, *priority, Direction::Read, self.statistics.as_deref());
        }
        if self.timeout_micros == 0 {
            return access();
        }
        let began = self.clock.now_nanos();
        let outcome = access()?;
        let took = self.clock.nanos_since(began) / 1000;
        if took > self.timeout_micros {
            return Err(Error::timed_out(format!(
                "reading {bytes} bytes took {took} us, more than io_timeout allows ({} us)",
                self.timeout_micros
            )));
        }
        Ok(outcome)
    }
}
