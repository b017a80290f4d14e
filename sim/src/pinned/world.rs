//! A disk that can crash, calls that can fail, and a database on them.

use std::sync::Arc;

use env::FileSystem;
use env::clock::ManualClock;
use env::fault::FaultFs;
use env::logger::LogLevel;
use env::memory::{MemoryFs, Survivors};
use ironstone::{Db, WriteOptions};

use crate::play::{Outside, options};

/// A disk that can crash, whose calls can fail.
pub(super) struct CrashingDisk {
    pub(super) disk: MemoryFs,
    pub(super) faults: Arc<FaultFs>,
    pub(super) outside: Outside,
}

impl CrashingDisk {
    pub(super) fn new() -> CrashingDisk {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let disk = MemoryFs::new(clock.clone());
        let faults = FaultFs::wrap_disk(Arc::new(disk.clone()), disk.clone());
        let outside = Outside::new(faults.clone(), clock, 1);
        CrashingDisk { disk, faults, outside }
    }

    pub(super) fn open(&self, text: &str) -> Db {
        self.open_telling(text, Arc::new(env::logger::NullLogger))
    }

    pub(super) fn open_telling(&self, text: &str, log: Arc<dyn env::Logger>) -> Db {
        self.try_open(text, log).unwrap()
    }

    pub(super) fn try_open(&self, text: &str, log: Arc<dyn env::Logger>) -> ironstone::Result<Db> {
        let mut options = options(text).unwrap();
        options.db.env = self.outside.env.clone();
        options.db.info_log = Some(log);
        Db::open("/db", options)
    }

    /// Returns a database after a crash whose WAL has lost its second record: the bytes from the returned offset to
    /// the end of the block are zeros. The records of `behind` are in the next block. A block has 32 KiB, and a
    /// reader that meets zeros continues at the next block.
    pub(super) fn with_a_hole(behind: &[&[u8]]) -> (CrashingDisk, u64) {
        let world = CrashingDisk::new();
        let db = world.open("");
        db.put(b"0", &[b'v'; 20_000]).unwrap();
        let log = super::newest_log(&world);
        let begin = world.disk.file_size(&log).unwrap();
        db.put(b"1", &vec![b'v'; 32_768 - begin as usize - 24]).unwrap();
        assert_eq!(world.disk.file_size(&log).unwrap(), 32_768, "the record ends with its block");
        for key in behind {
            db.put(key, b"v").unwrap();
        }
        world.crash(db, Survivors::Everything);
        assert!(world.disk.damage(&log, |bytes| bytes[begin as usize..32_768].fill(0)));
        (world, begin)
    }

    pub(super) fn crash(&self, db: Db, survivors: Survivors) {
        self.faults.hook().crash();
        // The drop of a database can wait for a flush. So the jobs are dropped last.
        drop(db);
        self.outside.executor.abandon();
        self.disk.crash(survivors);
        self.faults.hook().revive();
    }
}

/// Keeps the lines that the info log would have.
#[derive(Debug, Default)]
pub(super) struct Lines(pub(super) parking_lot::Mutex<Vec<String>>);

impl env::Logger for Lines {
    fn level(&self) -> LogLevel {
        LogLevel::Warn
    }

    fn set_level(&self, _level: LogLevel) {}

    fn log(&self, _level: LogLevel, message: std::fmt::Arguments<'_>) {
        self.0.lock().push(message.to_string());
    }
}

pub(super) fn synced() -> WriteOptions {
    WriteOptions { sync: true, ..WriteOptions::default() }
}
