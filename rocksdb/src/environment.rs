//! The environment of databases: files, threads, clock.

use std::sync::Arc;

use ironstone::env as world;
use ironstone::env::{LoweredPriority, Pool};

use crate::Error;

/// An environment that databases share.
#[derive(Clone)]
pub struct Env {
    pub(crate) inner: world::Env,
}

impl Env {
    /// Returns the environment of the machine.
    ///
    /// # Errors
    /// None.
    pub fn new() -> Result<Self, Error> {
        Ok(Env { inner: world::Env::posix() })
    }

    /// Returns an environment whose files are in memory. The files live as long as the environment.
    ///
    /// # Errors
    /// None.
    pub fn mem_env() -> Result<Self, Error> {
        let machine = world::Env::posix();
        let fs = Arc::new(world::MemoryFs::new(machine.clock.clone()));
        Ok(Env { inner: world::Env { fs, ..machine } })
    }

    /// Returns an environment that uses the parts of an environment of `ironstone`. The crate `rocksdb` takes a pointer of
    /// the C library here.
    pub fn from_raw(env: world::Env) -> Self {
        Env { inner: env }
    }

    fn set_threads(&self, pool: Pool, count: i32) {
        self.inner.executor.set_threads(pool, usize::try_from(count).unwrap_or(0));
    }

    /// Sets the threads for compactions.
    pub fn set_background_threads(&mut self, num_threads: i32) {
        self.set_threads(Pool::Low, num_threads);
    }

    /// Sets the threads for flushes.
    pub fn set_high_priority_background_threads(&mut self, n: i32) {
        self.set_threads(Pool::High, n);
    }

    /// Sets the threads for compactions.
    pub fn set_low_priority_background_threads(&mut self, n: i32) {
        self.set_threads(Pool::Low, n);
    }

    /// Sets the threads for compactions of the bottommost level.
    pub fn set_bottom_priority_background_threads(&mut self, n: i32) {
        self.set_threads(Pool::Bottom, n);
    }

    /// Has no effect: the close of a database already waits for its background jobs.
    pub fn join_all_threads(&mut self) {}

    /// Lowers the I/O priority of the threads for compactions.
    pub fn lower_thread_pool_io_priority(&mut self) {
        self.inner.executor.lower_priority(Pool::Low, LoweredPriority::CpuAndIo);
    }

    /// Lowers the I/O priority of the threads for flushes.
    pub fn lower_high_priority_thread_pool_io_priority(&mut self) {
        self.inner.executor.lower_priority(Pool::High, LoweredPriority::CpuAndIo);
    }

    /// Lowers the CPU priority of the threads for compactions.
    pub fn lower_thread_pool_cpu_priority(&mut self) {
        self.inner.executor.lower_priority(Pool::Low, LoweredPriority::Cpu);
    }

    /// Lowers the CPU priority of the threads for flushes.
    pub fn lower_high_priority_thread_pool_cpu_priority(&mut self) {
        self.inner.executor.lower_priority(Pool::High, LoweredPriority::Cpu);
    }
}
