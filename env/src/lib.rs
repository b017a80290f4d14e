//! The environment as a parameter: files, time, random numbers, threads.
//!
//! The engine reaches files, clock, random numbers and threads only through an [`Env`]. The file systems here are
//! [`posix`] (of the machine), [`memory`] (a disk that can crash), and three that wrap another file system: [`fault`]
//! (calls that fail by a plan), [`meter`] (counts calls) and [`timed`] (times calls in the perf context). One suite
//! of tests runs over all of them.
//!
//! This crate also has the layers between the engine and a file: the buffered [`writer`], the I/O [`rate`] limiter,
//! and the info log ([`logger`]).

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

use std::sync::{Arc, OnceLock};

pub mod clock;
pub mod executor;
pub mod fault;
pub mod fs;
pub mod hook;
pub mod io_trace;
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
pub use executor::{Executor, LoweredPriority, Pool, Tag};
pub use fs::{
    Append, AppendHints, Dir, FileLock, FileSystem, RandomRead, ReadHints, ReadRequest, SequentialRead,
};
pub use logger::Logger;
pub use rng::Rng;

/// The environment of a database. A clone is cheap. Databases with one environment share its threads.
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
    /// Returns the environment of the machine: its files, clock, random numbers and threads. All callers share one
    /// set of thread pools.
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

    /// Returns an environment with an empty disk in memory, a clock that moves only by sleeps, and jobs that run when
    /// a thread waits or helps. Equal seeds give equal runs. To reach the concrete types, build the struct from its
    /// parts.
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
