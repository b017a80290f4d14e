//! A file system whose calls fail by a plan.
//!
//! A plan is a list of rules, one per line. The first rule that applies to a call decides the outcome:
//!
//! ```text
//! # op    file         count   outcome
//! append  *.log        #3      EIO          the third append to any .log
//! sync    MANIFEST-*   #2..    EIO          every sync of a MANIFEST from the second on
//! append  *            #5..7   ENOSPC       the fifth and sixth append to anything
//! read    *.sst        *       short 10     each read gets at most ten bytes
//! append  *.log        #9      torn 100     a hundred bytes arrive, then EIO
//! sync    *.log        *       lie          reports success, does nothing
//! sync    *.log        #2      forget       EIO; unsynced bytes are never written to the disk ([`FaultFs::wrap_disk`])
//! *       *            #1200   crash        this and every later call fails
//! write   *            #40..   ENOSPC       any call that changes the disk
//! ```
//!
//! `op` is a name of [`Op`], `write` for all calls that change the disk, or `*`. `file` is compared with the last
//! part of the path; `*` matches any text. Each rule counts the calls that match it, from 1. Outcomes are the names
//! of errors (EIO, ENOSPC, EINTR, EMFILE, EAGAIN, EACCES, EROFS, EDQUOT, ESTALE) and the words above. The words `retryable`, `loss`
//! and `fenced` are EIO with a mark ([`Mark`]).
//!
//! A budget of bytes is independent of the rules ([`FaultHook::set_budget`]). After the budget is used up, appends
//! write the bytes that fit and fail with ENOSPC, as on a full disk.

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

pub use rule::{Mark, Outcome, Rule, Which};

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
    /// The bytes that may still be appended; `u64::MAX` for no limit.
    budget: AtomicU64,
    crashed: AtomicBool,
    /// The disk for the outcome `forget`.
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

    /// Replaces the plan, and sets the counts of calls to 0. An empty text ends all faults.
    ///
    /// # Errors
    /// `InvalidArgument` for a line that is no rule; for `forget` in a rule of another call than a sync, and without
    /// a disk ([`FaultFs::wrap_disk`]).
    pub fn set_plan(&self, text: &str) -> Result<()> {
        let rules = rule::parse(text)?;
        let forgets = |rule: &&Rule| rule.outcome == Outcome::Forget;
        if rules.iter().filter(forgets).any(|rule| self.disk.get().is_none() || rule.op != Some(Op::Sync)) {
            return Err(Error::invalid_argument(format!(
                "`forget` needs a sync rule and a disk (`FaultFs::wrap_disk`): {text}"
            )));
        }
        *self.rules.lock() = rules.into_iter().map(|r| (r, 0)).collect();
        Ok(())
    }

    /// Adds a rule after the existing rules.
    pub fn add(&self, rule: Rule) {
        self.rules.lock().push((rule, 0));
    }

    /// Sets the number of bytes that may still be appended; `None` for no limit.
    pub fn set_budget(&self, bytes: Option<u64>) {
        self.budget.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the number of calls.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns the number of calls that change the disk. A crash before or after such a call gives different disks.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Returns how often a rule or the budget changed the outcome of a call.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::Relaxed)
    }

    /// Returns true after the outcome `crash`. All calls fail until [`FaultHook::revive`].
    pub fn crashed(&self) -> bool {
        self.crashed.load(Ordering::Acquire)
    }

    /// Fails every call from now on.
    pub fn crash(&self) {
        self.crashed.store(true, Ordering::Release);
    }

    /// Ends a crash, and removes all rules.
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
            Outcome::Marked(mark) => Verdict::Fail(mark.on(error(libc::EIO, call))),
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

/// Returns the error with the words of the file system of the machine.
fn error(code: i32, call: &Call<'_>) -> Error {
    Error::io(call.op.name(), call.path, io::Error::from_raw_os_error(code)).at(call.offset)
}

fn crash_error(path: &Path) -> Error {
    Error::io_error("the machine has crashed").file(path)
}

impl FaultFs {
    /// Wraps a file system. No call fails before a plan is set.
    pub fn wrap(inner: Arc<dyn FileSystem>) -> Arc<FaultFs> {
        Arc::new(Hooked::new(inner, Arc::new(FaultHook::new())))
    }

    /// Wraps a file system that stores its files on `disk`. The outcome `forget` changes this disk.
    pub fn wrap_disk(inner: Arc<dyn FileSystem>, disk: MemoryFs) -> Arc<FaultFs> {
        let hook = FaultHook { disk: OnceLock::from(disk), ..FaultHook::new() };
        Arc::new(Hooked::new(inner, Arc::new(hook)))
    }
}
