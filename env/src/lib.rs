//! The outside world as a parameter: files, time, chance, threads.
//!
//! Everything the engine does not compute itself goes through one [`Env`]. The file systems here are
//! [`posix`] (the machine's), [`memory`] (a disk that can crash), and three that wrap another: [`fault`]
//! (calls that fail on plan), [`meter`] (counts) and [`timed`] (times in the perf context). One behaviour suite runs over all of them.
//!
//! Beside them live what stands between the engine and a file: the buffered [`writer`], the I/O
//! [`rate`] limiter, the information log ([`logger`]).

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

use std::sync::{Arc, OnceLock};

pub mod clock;
pub mod executor;
pub mod fault;
pub mod fs;
pub mod hook;
pub mod logger;
pub mod memory;
pub mod meter;
pub mod posix;
pub mod rate;
pub mod rng;
pub mod sst_files;
pub mod sync;
pub mod thread_status;
pub mod timed;
pub mod writer;

pub use clock::Clock;
pub use executor::{Executor, Pool, Tag};
pub use fs::{
    Append, AppendHints, Dir, FileLock, FileSystem, RandomRead, ReadHints, ReadRequest, SequentialRead,
};
pub use logger::Logger;
pub use rng::Rng;

/// One world. Cheap to clone; databases that share one share its threads.
#[derive(Clone, Debug)]
pub struct Env {
    /// The files.
    pub fs: Arc<dyn FileSystem>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The random numbers.
    pub rng: Arc<dyn Rng>,
    /// The threads and the timers.
    pub executor: Arc<dyn Executor>,
}

impl Env {
    /// The machine's files, clock, entropy and threads. All callers share one set of thread pools.
    pub fn posix() -> Env {
        static SHARED: OnceLock<Env> = OnceLock::new();
        SHARED
            .get_or_init(|| {
                let clock: Arc<dyn Clock> = Arc::new(clock::RealClock::new());
                Env {
                    fs: Arc::new(posix::PosixFs::new()),
                    clock: clock.clone(),
                    rng: Arc::new(rng::SeededRng::real()),
                    executor: Arc::new(executor::Threads::new()),
                }
            })
            .clone()
    }

    /// An empty disk in memory, a clock that stands still, and jobs that run when helped: one seed, one
    /// run. The concrete parts can be had by building the struct by hand.
    pub fn memory(seed: u64) -> Env {
        let clock: Arc<dyn Clock> = Arc::new(clock::ManualClock::new(1_700_000_000_000_000));
        Env {
            fs: Arc::new(memory::MemoryFs::new(clock.clone())),
            clock: clock.clone(),
            rng: Arc::new(rng::SeededRng::new(seed)),
            executor: Arc::new(executor::Inline::new(rng::mix(seed), clock)),
        }
    }
}

impl Default for Env {
    fn default() -> Self {
        Env::posix()
    }
}
