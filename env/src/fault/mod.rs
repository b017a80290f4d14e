//! A file system whose calls fail on plan.
//!
//! A plan is a list of rules, one a line; the first that applies to a call decides it:
//!
//! ```text
//! # op    file         which   outcome
//! append  *.log        #3      EIO          the third append to any .log
//! sync    MANIFEST-*   #2..    EIO          every sync of a MANIFEST from the second on
//! append  *            #5..7   ENOSPC       the fifth and sixth append to anything
//! read    *.sst        *       short 10     each read gets at most ten bytes
//! append  *.log        #9      torn 100     a hundred bytes arrive, then EIO
//! sync    *.log        *       lie          reports success, does nothing
//! sync    *.log        #2      forget       EIO, and what was unsynced will never be saved ([`FaultFs::wrap_disk`])
//! *       *            #1200   crash        this and every later call fails
//! write   *            #40..   ENOSPC       any call that changes the disk
//! ```
//!
//! `op` is a name of [`Op`], `write` for those that change the disk, or `*`; `file` is matched against the
//! last part of the path, `*` standing for anything. Calls are counted for each rule over what it
//! matches, from 1. Outcomes are errno names (EIO, ENOSPC, EINTR, EMFILE, EAGAIN, EACCES, EROFS, EDQUOT,
//! ESTALE) and the words above.
//!
//! Apart from rules there is a budget of bytes, [`FaultHook::set_budget`], after which appends fail with
//! ENOSPC, having written what still fitted, as a disk that fills up does.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use base::{Error, Result};
use parking_lot::Mutex;

use crate::fs::FileSystem;
use crate::hook::{Call, Hook, Hooked, Verdict};
use crate::memory::MemoryFs;

pub use crate::hook::Op;

mod rule;

pub use rule::{Outcome, Rule, Which};

#[cfg(test)]
mod tests;

/// A file system with planned faults.
pub type FaultFs = Hooked<FaultHook>;

/// The plan and its counters.
#[derive(Debug)]
pub struct FaultHook {
    rules: Mutex<Vec<(Rule, u64)>>,
    calls: AtomicU64,
    writes: AtomicU64,
    fired: AtomicU64,
    /// Bytes that may still be appended; `u64::MAX` for no end.
    budget: AtomicU64,
    crashed: AtomicBool,
    /// What forgets.
    disk: OnceLock<MemoryFs>,
}

impl FaultHook {
    fn new() -> Self {
        FaultHook {
            rules: Mutex::default(),
            calls: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            fired: AtomicU64::new(0),
            budget: AtomicU64::new(u64::MAX),
            crashed: AtomicBool::new(false),
            disk: OnceLock::new(),
        }
    }

    /// Replaces the plan and starts its counts anew; an empty text ends all faults.
    ///
    /// # Errors
    /// `InvalidArgument` with the line that cannot be read; for `forget` without a disk that can, or of another call than a
    /// sync.
    pub fn set_plan(&self, text: &str) -> Result<()> {
        let rules = rule::parse(text)?;
        let forgets = |rule: &&Rule| rule.outcome == Outcome::Forget;
        if rules.iter().filter(forgets).any(|rule| self.disk.get().is_none() || rule.op != Some(Op::Sync)) {
            return Err(Error::invalid_argument(format!("nothing that can forget by this plan: {text}")));
        }
        *self.rules.lock() = rules.into_iter().map(|r| (r, 0)).collect();
        Ok(())
    }

    /// Adds a rule after those there are.
    pub fn add(&self, rule: Rule) {
        self.rules.lock().push((rule, 0));
    }

    /// Sets how many more bytes may be appended; `None` for no end.
    pub fn set_budget(&self, bytes: Option<u64>) {
        self.budget.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Calls so far, of any kind.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Calls so far that change the disk: the places where a crash makes a difference.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// How often a rule or the budget has struck.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::Relaxed)
    }

    /// Whether a `crash` rule has struck; all calls fail until [`FaultHook::revive`].
    pub fn crashed(&self) -> bool {
        self.crashed.load(Ordering::Acquire)
    }

    /// Fails every call from now on.
    pub fn crash(&self) {
        self.crashed.store(true, Ordering::Release);
    }

    /// Ends a crash and the plan that led to it.
    pub fn revive(&self) {
        self.rules.lock().clear();
        self.crashed.store(false, Ordering::Release);
    }

    fn spend(&self, call: &Call<'_>) -> Verdict {
        let asked = call.bytes as u64;
        let take = |left: u64| (left != u64::MAX).then(|| left.saturating_sub(asked));
        match self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(left) if left < asked => {
                self.fired.fetch_add(1, Ordering::Relaxed);
                Verdict::Part(left as usize, Some(error(libc::ENOSPC, call)))
            }
            _ => Verdict::Go,
        }
    }
}

impl Hook for FaultHook {
    fn name(&self) -> &'static str {
        "fault"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if call.op.is_write() {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        if self.crashed() {
            return Verdict::Fail(crash_error(call.path));
        }
        let mut struck = None;
        for (rule, count) in self.rules.lock().iter_mut() {
            if rule.matches(call.op, call.path) {
                *count += 1;
                if struck.is_none() && rule.which.includes(*count) {
                    struck = Some(rule.outcome);
                }
            }
        }
        let Some(outcome) = struck else {
            return if call.op == Op::Append { self.spend(call) } else { Verdict::Go };
        };
        self.fired.fetch_add(1, Ordering::Relaxed);
        match outcome {
            Outcome::Errno(code) => Verdict::Fail(error(code, call)),
            Outcome::Short(n) => Verdict::Part(n, None),
            Outcome::Torn(n) => Verdict::Part(n, Some(error(libc::EIO, call))),
            Outcome::Lie => Verdict::Skip,
            Outcome::Forget => {
                if let Some(disk) = self.disk.get() {
                    disk.forget_unsynced(call.path);
                }
                Verdict::Fail(error(libc::EIO, call))
            }
            Outcome::Crash => {
                self.crash();
                Verdict::Fail(crash_error(call.path))
            }
            Outcome::TornCrash(n) => {
                self.crash();
                Verdict::Part(n, Some(crash_error(call.path)))
            }
        }
    }
}

/// The system's error, worded as the posix file system would.
fn error(code: i32, call: &Call<'_>) -> Error {
    Error::io(call.op.name(), call.path, io::Error::from_raw_os_error(code)).at(call.offset)
}

fn crash_error(path: &Path) -> Error {
    Error::io_error("the machine has crashed").file(path)
}

impl FaultFs {
    /// Wraps a file system; nothing fails until there is a plan.
    pub fn wrap(inner: Arc<dyn FileSystem>) -> Arc<FaultFs> {
        Arc::new(Hooked::new(inner, Arc::new(FaultHook::new())))
    }

    /// Wraps what at its bottom is `disk`, which `forget` makes forget.
    pub fn wrap_disk(inner: Arc<dyn FileSystem>, disk: MemoryFs) -> Arc<FaultFs> {
        let hook = FaultHook { disk: OnceLock::from(disk), ..FaultHook::new() };
        Arc::new(Hooked::new(inner, Arc::new(hook)))
    }
}
