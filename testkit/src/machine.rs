//! A simulated machine: the disk, the clock and the jobs of a database that runs in a test.

use std::path::Path;
use std::sync::Arc;

use env::clock::ManualClock;
use env::executor::Inline;
use env::memory::{MemoryFs, Survivors};
use env::rng::SeededRng;
use env::{Env, FileSystem};

/// The time at which a machine starts, in microseconds since 1970.
pub const START_US: u64 = 1_700_000_000_000_000;

/// A machine with a disk in memory, a clock that moves only if the test or a sleep moves it, and jobs that run when a thread
/// waits or helps. Equal seeds give equal runs.
pub struct Machine {
    pub disk: MemoryFs,
    pub clock: Arc<ManualClock>,
    pub executor: Arc<Inline>,
    pub env: Env,
}

impl Machine {
    /// Makes a machine with an empty disk.
    pub fn new(seed: u64) -> Machine {
        let clock = Arc::new(ManualClock::new(START_US));
        let disk = MemoryFs::new(clock.clone());
        let (env, executor) = environment(Arc::new(disk.clone()), &clock, seed);
        Machine { disk, clock, executor, env }
    }

    /// Stops the machine. The disk keeps what `survivors` says, and no job of before the crash runs again.
    pub fn crash(&self, survivors: Survivors) {
        self.disk.crash(survivors);
        self.executor.abandon();
    }

    /// Returns the content of a file. Panics if the file does not exist.
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        self.env.fs.read_all(Path::new(path), 1 << 30).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Changes the bytes of a file on the disk. Panics if the file does not exist.
    pub fn damage(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        assert!(self.disk.damage(Path::new(path), change), "{path} does not exist");
    }
}

/// Makes the environment of a machine over this file system. The seed decides the random numbers and the order of jobs.
pub fn environment(fs: Arc<dyn FileSystem>, clock: &Arc<ManualClock>, seed: u64) -> (Env, Arc<Inline>) {
    let executor = Arc::new(Inline::new(seed, clock.clone()));
    let rng = Arc::new(SeededRng::new(seed));
    (Env { fs, clock: clock.clone(), rng, executor: executor.clone() }, executor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_keeps_what_was_synced() {
        let machine = Machine::new(1);
        machine.env.fs.write_all(Path::new("/synced"), b"kept", true).unwrap();
        machine.env.fs.open_dir(Path::new("/")).unwrap().sync().unwrap();
        machine.env.fs.write_all(Path::new("/written"), b"lost", false).unwrap();
        machine.crash(Survivors::Synced);
        assert_eq!(machine.bytes("/synced"), b"kept");
        assert!(machine.env.fs.file_size(Path::new("/written")).is_err());
        machine.damage("/synced", |bytes| bytes.truncate(2));
        assert_eq!(machine.bytes("/synced"), b"ke");
    }
}
