//! Rate limiters for the files of flushes and compactions.

use std::sync::Arc;

use env::rate::{Mode, RateLimiter, RateOptions};

use crate::abi::Owned;

/// A rate limiter that databases share.
pub struct rocksdb_ratelimiter_t {
    pub(crate) limiter: Arc<RateLimiter>,
}

fn create(options: RateOptions) -> base::Result<Owned<rocksdb_ratelimiter_t>> {
    let limiter = RateLimiter::new(options, env::Env::posix().clock)?;
    Ok(Owned(rocksdb_ratelimiter_t { limiter: Arc::new(limiter) }))
}

c_api! {
    /// Creates a limiter of writes. `rate_bytes_per_sec` and `refill_period_us` are above 0; `fairness` is 1 to 100.
    /// Returns null for other values.
    fn rocksdb_ratelimiter_create(
        rate_bytes_per_sec: i64, refill_period_us: i64, fairness: i32
    ) -> Owned<rocksdb_ratelimiter_t> {
        create(RateOptions { refill_period_us, fairness, ..RateOptions::new(rate_bytes_per_sec) })?
    }

    /// Creates a limiter that chooses its rate, up to `rate_bytes_per_sec`.
    fn rocksdb_ratelimiter_create_auto_tuned(
        rate_bytes_per_sec: i64, refill_period_us: i64, fairness: i32
    ) -> Owned<rocksdb_ratelimiter_t> {
        let options = RateOptions { refill_period_us, fairness, ..RateOptions::new(rate_bytes_per_sec) };
        create(RateOptions { auto_tuned: true, ..options })?
    }

    /// Creates a limiter of reads (mode 0), writes (1), or both (2). Returns null for another mode.
    fn rocksdb_ratelimiter_create_with_mode(
        rate_bytes_per_sec: i64, refill_period_us: i64, fairness: i32, mode: i32, auto_tuned: bool
    ) -> Owned<rocksdb_ratelimiter_t> {
        let mode = match mode {
            0 => Mode::ReadsOnly,
            1 => Mode::WritesOnly,
            2 => Mode::AllIo,
            _ => return Err(base::Error::invalid_argument(format!("{mode} is not a mode of a rate limiter"))),
        };
        let options = RateOptions { refill_period_us, fairness, ..RateOptions::new(rate_bytes_per_sec) };
        create(RateOptions { mode, auto_tuned, ..options })?
    }

    /// Destroys the handle. Databases that use the limiter keep it. Accepts null.
    fn rocksdb_ratelimiter_destroy(limiter: own rocksdb_ratelimiter_t) {
        drop(limiter)
    }
}
