//! A layer between a scene and the memory file system. The layer keeps a copy of the disk before each call
//! that changes the disk, and makes one chosen call fail.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::Error;
use env::clock::ManualClock;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::memory::MemoryFs;
use parking_lot::Mutex;

use crate::play::Mark;

/// A copy of the disk at a place where the machine may stop.
#[derive(Clone)]
pub struct Place {
    /// The number of the call that changes the disk, from 1. The last place, after all calls, has the next number.
    pub call: u64,
    /// For an append: the file, the number of appended bytes, and the disk after the append.
    pub inside: Option<(PathBuf, usize, MemoryFs)>,
    pub disk: MemoryFs,
    pub mark: Mark,
    pub what: String,
}

/// The way in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strike {
    Errno(i32),
    /// An append writes half of its bytes and fails with EIO. Other calls fail with EIO.
    Short,
    /// A read returns half of the bytes without an error.
    Half,
    /// A sync fails with EIO, and the unsynced bytes are never made durable.
    Forget,
    /// The call does nothing and reports success. A disk never does this; the tests use it to check the checker.
    Lie,
}

impl Strike {
    /// The ways with their names, as names of failures have them.
    pub const ALL: [(&'static str, Strike); 8] = [
        ("EIO", Strike::Errno(5)),
        ("ENOSPC", Strike::Errno(28)),
        ("EINTR", Strike::Errno(4)),
        ("EMFILE", Strike::Errno(24)),
        ("SHORT", Strike::Short),
        ("HALF", Strike::Half),
        ("FORGET", Strike::Forget),
        ("LIE", Strike::Lie),
    ];

    /// Returns the name of the way in [`Strike::ALL`], or an empty text for another error number.
    pub fn name(self) -> &'static str {
        Strike::ALL.iter().find(|(_, s)| *s == self).map_or("", |(name, _)| name)
    }

    /// Returns the way with this name of [`Strike::ALL`], or `None`.
    pub fn by_name(name: &str) -> Option<Strike> {
        Strike::ALL.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
    }

    /// Returns true if a call of this kind can fail in this way.
    pub fn fits(self, op: Op) -> bool {
        match self {
            Strike::Short => op == Op::Append,
            Strike::Half => op == Op::Read,
            Strike::Forget => op == Op::Sync,
            Strike::Lie => matches!(op, Op::Sync | Op::SyncDir),
            Strike::Errno(_) => true,
        }
    }
}

/// The number of the failing call among all calls, from 1, and the way in which it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub call: u64,
    pub strike: Strike,
    pub for_good: bool,
}

/// Extends a hash by a call and its outcome.
pub fn call_hash(call: &Call<'_>, ok: bool, before: u64) -> u64 {
    let name = call.path.file_name().map(std::ffi::OsStr::as_encoded_bytes).unwrap_or_default();
    let seed = before ^ call.offset ^ (call.bytes as u64).rotate_left(20) ^ u64::from(ok) << 63;
    kernel::checksum::xxh3::hash64_with_seed(name, seed.wrapping_add(call.op as u64))
}

/// More calls than any run makes. After this number the machine stops.
const CALLS_MAX: u64 = 200_000;

/// Says whether a run keeps a copy of the disk at every place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// The run keeps a copy of the disk at every place.
    Kept,
    /// The run keeps no copy.
    None,
}

/// Counts the calls of a run, keeps copies of the disk, and makes one call fail.
pub struct Watch {
    disk: MemoryFs,
    clock: Arc<ManualClock>,
    copies: Copies,
    fault: Option<Fault>,
    calls: AtomicU64,
    writes: AtomicU64,
    fired: AtomicU64,
    heard: AtomicU64,
    dead: AtomicBool,
    places: Mutex<Vec<Place>>,
    ops: Mutex<Vec<Op>>,
    mark: Mutex<Mark>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watch({} calls)", self.calls())
    }
}

impl Watch {
    /// Wraps a disk.
    pub fn around(
        disk: &MemoryFs,
        clock: &Arc<ManualClock>,
        copies: Copies,
        fault: Option<Fault>,
    ) -> Arc<Hooked<Watch>> {
        let watch = Watch {
            disk: disk.clone(),
            clock: clock.clone(),
            copies,
            fault,
            calls: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            fired: AtomicU64::new(0),
            heard: AtomicU64::new(0),
            dead: AtomicBool::new(false),
            places: Mutex::default(),
            ops: Mutex::default(),
            mark: Mutex::default(),
        };
        Arc::new(Hooked::new(Arc::new(disk.clone()), Arc::new(watch)))
    }

    /// Sets the mark that the next copies of the disk get.
    pub fn set_mark(&self, mark: Mark) {
        *self.mark.lock() = mark;
    }

    /// Returns the mark of the run.
    pub fn mark(&self) -> Mark {
        *self.mark.lock()
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns how often the chosen call failed.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::Relaxed)
    }

    /// Returns a hash of every call and its outcome.
    pub fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    /// Makes every later call fail.
    pub fn stop(&self) {
        self.dead.store(true, Ordering::Release);
    }

    /// Returns true after [`Watch::stop`]: every later call fails.
    pub fn has_stopped(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    /// Returns the kinds of all calls, in order.
    pub fn ops(&self) -> Vec<Op> {
        std::mem::take(&mut self.ops.lock())
    }

    /// Returns the copies of the disk, and one copy for the end.
    pub fn places(&self) -> Vec<Place> {
        let mut places = std::mem::take(&mut *self.places.lock());
        let call = self.writes.load(Ordering::Relaxed) + 1;
        let disk = self.disk.fork(self.clock.clone());
        places.push(Place { call, inside: None, disk, mark: *self.mark.lock(), what: "the end".to_string() });
        places
    }
}

impl Hook for Watch {
    fn name(&self) -> &'static str {
        "watch"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        let n = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if n > CALLS_MAX {
            self.stop();
        }
        if self.has_stopped() {
            return Verdict::Fail(Error::io_error("the machine has stopped").file(call.path));
        }
        if self.copies == Copies::Kept {
            self.ops.lock().push(call.op);
            if call.op.is_write() {
                let number = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
                let name =
                    call.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                let what = format!("{} {name}", call.op.name());
                let disk = self.disk.fork(self.clock.clone());
                self.places.lock().push(Place {
                    call: number,
                    inside: None,
                    disk,
                    mark: *self.mark.lock(),
                    what,
                });
            }
        }
        let Some(fault) = self.fault else { return Verdict::Go };
        let struck = n == fault.call || (fault.for_good && n > fault.call && fault.strike.fits(call.op));
        if !struck {
            return Verdict::Go;
        }
        self.fired.fetch_add(1, Ordering::Relaxed);
        let error = |code| {
            Error::io(call.op.name(), call.path, std::io::Error::from_raw_os_error(code)).at(call.offset)
        };
        match fault.strike {
            Strike::Errno(code) => Verdict::Fail(error(code)),
            Strike::Short if call.op == Op::Append => Verdict::Part(call.bytes / 2, Some(error(5))),
            Strike::Short => Verdict::Fail(error(5)),
            Strike::Half => Verdict::Part(call.bytes / 2, None),
            Strike::Forget => {
                self.disk.forget_unsynced(call.path);
                Verdict::Fail(error(5))
            }
            Strike::Lie => Verdict::Skip,
        }
    }

    fn after(&self, call: &Call<'_>, error: Option<&Error>) {
        let ok = error.is_none();
        self.heard.store(call_hash(call, ok, self.heard()), Ordering::Relaxed);
        if self.copies == Copies::Kept
            && ok
            && call.op == Op::Append
            && call.bytes > 1
            && let Some(place) = self.places.lock().last_mut()
        {
            place.inside = Some((call.path.to_path_buf(), call.bytes, self.disk.fork(self.clock.clone())));
        }
    }
}
