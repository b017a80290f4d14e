//! A hook between the fault file system and the disk. It hashes every call that reaches the disk, and keeps copies of
//! the disk at drawn calls, for crashes at these calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use env::clock::ManualClock;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::memory::MemoryFs;
use parking_lot::Mutex;
use testkit::chance::Chance;

use crate::every::call_hash;

/// A copy of the disk at a place where the machine may stop: before a call that changes the disk, or inside of an
/// append.
pub(super) struct Place {
    /// The number of the call among the calls that change the disk, from 1.
    pub call: u64,
    pub disk: MemoryFs,
    pub what: String,
}

/// The rule for keeping copies of the disk.
struct Keep {
    chance: Chance,
    /// The mean distance of two copies in calls. 0: no copy is kept.
    gap: u64,
    next: u64,
    /// The number of copies that are still to be kept.
    left: u64,
}

pub(super) struct Tape {
    disk: MemoryFs,
    clock: Arc<ManualClock>,
    writes: AtomicU64,
    /// A hash of all calls and their outcomes.
    heard: AtomicU64,
    keep: Mutex<Keep>,
    kept: Mutex<Vec<Place>>,
    /// The append in progress, if the machine stops inside of it, and the number of its bytes that arrive.
    within: Mutex<Option<(PathBuf, usize)>>,
}

impl std::fmt::Debug for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tape({} calls)", self.writes.load(Ordering::Relaxed))
    }
}

impl Tape {
    pub(super) fn around(disk: &MemoryFs, clock: &Arc<ManualClock>, seed: u64) -> Arc<Hooked<Tape>> {
        let keep = Keep { chance: Chance::new(seed), gap: 0, next: 0, left: 0 };
        let tape = Tape {
            disk: disk.clone(),
            clock: clock.clone(),
            writes: AtomicU64::new(0),
            heard: AtomicU64::new(seed),
            keep: Mutex::new(keep),
            kept: Mutex::default(),
            within: Mutex::default(),
        };
        Arc::new(Hooked::new(Arc::new(disk.clone()), Arc::new(tape)))
    }

    /// Keeps at most `count` copies of the disk from now on, `gap` calls apart on average.
    pub(super) fn keep(&self, gap: u64, count: u64) {
        let mut keep = self.keep.lock();
        (keep.gap, keep.left) = (gap, count);
        keep.next = self.writes.load(Ordering::Relaxed) + 1 + keep.chance.below(2 * gap);
    }

    /// Returns the copies since the last call.
    pub(super) fn take(&self) -> Vec<Place> {
        std::mem::take(&mut *self.kept.lock())
    }

    /// Returns a hash of every call so far. Equal runs have equal hashes.
    pub(super) fn hash(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    fn hear(&self, call: &Call<'_>, ok: bool) {
        self.heard.store(call_hash(call, ok, self.hash()), Ordering::Relaxed);
    }
}

impl Hook for Tape {
    fn name(&self) -> &'static str {
        "tape"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        if !call.op.is_write() {
            return Verdict::Go;
        }
        let number = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        let mut keep = self.keep.lock();
        if keep.left == 0 || number < keep.next {
            return Verdict::Go;
        }
        keep.left -= 1;
        let gap = keep.gap;
        keep.next = number + 1 + keep.chance.below(2 * gap);
        if call.op == Op::Append && call.bytes > 1 && keep.chance.percent(40) {
            let bytes = 1 + keep.chance.below(call.bytes as u64 - 1) as usize;
            *self.within.lock() = Some((call.path.to_path_buf(), bytes));
        } else {
            let name = call.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let what = format!("before {} {name}", call.op.name());
            self.kept.lock().push(Place { call: number, disk: self.disk.fork(self.clock.clone()), what });
        }
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, error: Option<&base::Error>) {
        let ok = error.is_none();
        self.hear(call, ok);
        if call.op != Op::Append {
            return;
        }
        let within = self.within.lock().take();
        if let Some((path, bytes)) = within.filter(|_| ok) {
            let disk = self.disk.fork(self.clock.clone());
            disk.tear(&path, bytes);
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let what = format!("after byte {bytes} of {} appended to {name}", call.bytes);
            self.kept.lock().push(Place { call: self.writes.load(Ordering::Relaxed), disk, what });
        }
    }
}
