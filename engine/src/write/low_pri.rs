//! The limit of the writes with `low_pri`. While compactions cannot keep up, all these writes together write at one rate.
//!
//! A writer with `low_pri` waits before the writer joins the queue of writers. So other writers do not wait for the writer. Facts: RocksDB
//! `db/db_impl/db_impl_write.cc` (`ThrottleLowPriWritesIfNeeded`), `db/write_controller.h`.

use base::stats::{Cause, PerfCounter, PerfLevel, PerfTimer, Step};
use base::{Error, Result};
use env::Clock;
use env::rate::{Direction, IoPriority, RateLimiter, RateOptions};
use format::batch::{Marker, Record};

use super::stall::LOW_PRI_RATE;
use crate::batch::WriteBatch;
use crate::sync::Arc;

/// Delays the writes with `low_pri` of one database.
pub struct LowPriLimit {
    limiter: RateLimiter,
}

impl LowPriLimit {
    /// Makes a limit of 1 MiB per second.
    ///
    /// # Errors
    /// The errors of [`RateLimiter::new`].
    pub fn new(clock: Arc<dyn Clock>) -> Result<Self> {
        let limiter = RateLimiter::new(RateOptions::new(LOW_PRI_RATE as i64), clock)?;
        Ok(LowPriLimit { limiter })
    }

    /// Waits until the limit of `rate` bytes per second has room for the batch. A commit and a rollback of a prepared
    /// transaction do not wait: the prepare has waited.
    ///
    /// # Errors
    /// Incomplete if the batch would have to wait and `no_slowdown` is set.
    #[cold]
    pub(super) fn admit(&self, batch: &WriteBatch, rate: u64, no_slowdown: bool) -> Result<()> {
        if decides(batch) {
            return Ok(());
        }
        if no_slowdown {
            return Err(Error::incomplete("Low priority write stall"));
        }
        let rate = i64::try_from(rate).unwrap_or(i64::MAX);
        if self.limiter.bytes_per_second() != rate {
            self.limiter.set_bytes_per_second(rate);
        }
        let _time = PerfTimer::start_at(PerfCounter::WriteDelayTime, PerfLevel::EnableWait);
        let _step = Step::begin(Cause::RateLimiter);
        self.limiter.request_all(batch.data_size() as u64, IoPriority::High, Direction::Write);
        Ok(())
    }
}

/// Returns true if the batch commits or rolls back a prepared transaction.
fn decides(batch: &WriteBatch) -> bool {
    batch.iter().any(|record| {
        matches!(
            record,
            Ok(Record::Marker(Marker::Commit(_) | Marker::CommitWithTimestamp { .. } | Marker::Rollback(_)))
        )
    })
}
