//! What a read's accesses to the file are held to: a deadline, a time for each, a share of the rate.
//!
//! Looked at where the file is about to be accessed, never per row. Follows RocksDB's
//! `PrepareIOFromReadOptions` (`file/file_util.h`) and `file/random_access_file_reader.cc`.

use std::sync::Arc;

use base::stats::Statistics;
use base::{Error, Result};
use env::Clock;
use env::rate::{Direction, IoPriority, RateLimiter};

/// See the module.
pub struct ReadLimits {
    /// The clock that measures the limits.
    pub clock: Arc<dyn Clock>,
    /// Microseconds since 1970 after which no access begins; 0 for never.
    pub deadline_micros: u64,
    /// An access that takes longer than this many microseconds fails; 0 for no limit. One that hangs in the
    /// system cannot be called back: it fails when it returns.
    pub timeout_micros: u64,
    /// Who is asked for bytes before they are read.
    pub charge: Option<(Arc<RateLimiter>, IoPriority)>,
    /// The statistics that count the waits for the limiter.
    pub statistics: Option<Arc<Statistics>>,
}

impl ReadLimits {
    /// Runs an access of `bytes` under the limits.
    ///
    /// # Errors
    /// TimedOut past the deadline, or where the access took too long; else the access's own.
    #[inline(never)]
    pub(crate) fn around<T>(&self, bytes: usize, access: impl FnOnce() -> Result<T>) -> Result<T> {
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
        let took = self.clock.now_nanos().saturating_sub(began) / 1000;
        if took > self.timeout_micros {
            return Err(Error::timed_out(format!(
                "reading {bytes} bytes took {took} us, more than io_timeout allows ({} us)",
                self.timeout_micros
            )));
        }
        Ok(outcome)
    }
}
