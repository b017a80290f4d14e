//! Memory that nobody uses goes back to the system when the last database of the process goes.
//!
//! An allocator keeps what is freed, in one arena for each thread that ever ran beside others, and so a process that closed its
//! databases stays nearly as large as it was: with 0.15 MiB allocated a soak had 34 to 41 MiB resident behind each close, and
//! 13.3 once free memory was asked back (glibc, its two thresholds held). 3 of these were the threads of the pools: 190 KiB
//! of stack each, and what glibc caches for a thread, up to seven pieces of each of 64 sizes that may each hold a page of an
//! arena. So they end first, and so does what rooms keep for the next database. Of the 10 MiB left the program and its
//! libraries are 6.6. What glibc keeps on top of each arena but the first, 128 KiB and more, it gives back to nobody.
//!
//! Giving back is a walk over what is free, with each arena locked in turn, so nobody does it while another database works.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::executor::Executor;

static TENANTS: AtomicUsize = AtomicUsize::new(0);

/// Stands for one open database. When the last one of the process is dropped, the idle threads of its executor end, what the
/// rooms keep for databases to come is forgotten, and then free memory goes back to the system, where the C library can
/// (glibc); the allocators of others do it by themselves.
#[derive(Debug)]
pub struct Tenant {
    executor: Arc<dyn Executor>,
    forget: fn(),
}

impl Tenant {
    /// `forget` is called when the last one goes. It may be called while another database opens.
    pub fn enter(executor: Arc<dyn Executor>, forget: fn()) -> Tenant {
        TENANTS.fetch_add(1, Ordering::Relaxed);
        Tenant { executor, forget }
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        let last = TENANTS.fetch_sub(1, Ordering::Relaxed) == 1;
        // Under Shuttle at each: the scenarios of a process run beside each other, and none must depend on the others.
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

    /// The one piece that stays lies above those that went, so that the allocator gives back nothing by itself.
    #[test]
    fn the_last_tenant_gives_back_what_is_free() {
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
