//! Returns unused memory to the system when the last database of the process closes.
//!
//! An allocator keeps freed memory, in one arena for each thread that ever ran concurrently with another
//! thread. So a process that closed its databases stays nearly as large as before. A soak with 0.15 MiB
//! allocated had 34 to 41 MiB resident after each close, and 13.3 MiB after the free memory was returned
//! (glibc, with fixed thresholds). 3 MiB were the threads of the pools: 190 KiB of stack for each thread,
//! and the thread cache of glibc, which holds up to seven chunks of each of 64 sizes. So the threads end
//! first, and modules free the buffers that they keep for the next database. Of the remaining 10 MiB, 6.6
//! MiB are the program and its libraries. glibc never returns the top of the other arenas, 128 KiB and more
//! for each arena.
//!
//! Returning memory walks over all free chunks and locks each arena in turn. So the call happens only when
//! no other database is open. A database with a memory budget calls [`super::return_free_memory`] while it is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::executor::Executor;

static TENANTS: AtomicUsize = AtomicUsize::new(0);

/// Represents one open database. The drop of the last tenant of the process does three things: it ends the idle
/// threads of its executor, frees the buffers that modules keep for later databases, and returns free memory to the
/// system. The last step needs glibc; other allocators return memory by themselves.
#[derive(Debug)]
pub struct Tenant {
    executor: Arc<dyn Executor>,
    forget: fn(),
}

impl Tenant {
    /// Counts one more open database. `forget` frees the buffers that modules keep. The drop of the last tenant calls
    /// `forget`, possibly while another database opens.
    pub fn enter(executor: Arc<dyn Executor>, forget: fn()) -> Tenant {
        TENANTS.fetch_add(1, Ordering::Relaxed);
        Tenant { executor, forget }
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        let last = TENANTS.fetch_sub(1, Ordering::Relaxed) == 1;
        // Under Shuttle, return memory after every close. Scenarios of one process run concurrently, and no
        // scenario may depend on another scenario.
        if last || cfg!(shuttle) {
            self.executor.part();
        }
        if last {
            (self.forget)();
            super::sys::return_free_memory();
        }
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu", not(miri)))]
mod tests {
    use super::*;

    fn resident_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// The remaining chunk lies above the freed chunks, so the allocator returns no memory by itself.
    #[test]
    fn the_last_user_returns_free_memory() {
        let executor: Arc<dyn Executor> = Arc::new(crate::executor::Threads::new());
        let (first, last) = (Tenant::enter(executor.clone(), || ()), Tenant::enter(executor, || ()));
        let mut pieces: Vec<Vec<u8>> = (0..8192).map(|_| vec![1; 8000]).collect();
        let kept = pieces.pop();
        drop(pieces);
        let before = resident_kib();
        drop(first);
        let with_one_left = resident_kib();
        drop(last);
        let after = resident_kib();
        assert!(with_one_left + 16_384 > before, "{before} KiB, then {with_one_left}");
        assert!(after + 32_768 < before, "{before} KiB, then {after}");
        drop(kept);
    }
}
