//! The counts of file operations that `--report_file_operations` prints after each benchmark. Facts: RocksDB
//! `utilities/counted_fs.cc`.
//!
//! A count includes all files of the database: SST files, WALs, MANIFEST, OPTIONS and info log.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use env::Env;
use env::hook::{Call, Detail, HandleKind, Hook, Hooked, Op, Verdict};

/// The counted operations, in the order of the report. The last two are bytes.
const NAMES: [&str; 14] = [
    "Num files opened",
    "Num files deleted",
    "Num files renamed",
    "Num Flush()",
    "Num Sync()",
    "Num Fsync()",
    "Num Dir Fsync()",
    "Num Close()",
    "Num Dir Open()",
    "Num Dir Close()",
    "Num Read()",
    "Num Append()",
    "Num bytes read",
    "Num bytes written",
];

/// Positions in [`NAMES`].
const OPENED: usize = 0;
const DELETED: usize = 1;
const RENAMED: usize = 2;
const FLUSH: usize = 3;
const SYNC: usize = 4;
const FSYNC: usize = 5;
const DIR_FSYNC: usize = 6;
const CLOSE: usize = 7;
const DIR_OPEN: usize = 8;
const DIR_CLOSE: usize = 9;
const READ: usize = 10;
const APPEND: usize = 11;
const BYTES_READ: usize = 12;
const BYTES_WRITTEN: usize = 13;

/// The counters. Any thread may count.
#[derive(Debug, Default)]
pub struct FileOperations {
    counts: [AtomicU64; NAMES.len()],
}

impl FileOperations {
    /// Puts counters in front of the file system of `env`.
    pub fn install(env: &mut Env) -> Arc<FileOperations> {
        let counters = Arc::<FileOperations>::default();
        env.fs = Arc::new(Hooked::new(env.fs.clone(), counters.clone()));
        counters
    }

    /// Returns the report of the operations since the last call, and sets the counters to 0.
    pub fn take_report(&self) -> String {
        let text = self.to_string();
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        text
    }

    fn add(&self, at: usize, more: u64) {
        self.counts[at].fetch_add(more, Ordering::Relaxed);
    }
}

impl fmt::Display for FileOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in NAMES.iter().zip(&self.counts) {
            writeln!(f, "{name}: {}", count.load(Ordering::Relaxed))?;
        }
        Ok(())
    }
}

impl Hook for FileOperations {
    fn name(&self) -> &'static str {
        "CountedFileSystem"
    }

    fn before(&self, _call: &Call<'_>) -> Verdict {
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, error: Option<&base::Error>) {
        // As in RocksDB, reads and appends count with their errors, and all other operations count after success.
        match call.op {
            Op::Read => self.add(READ, 1),
            Op::Append => self.add(APPEND, 1),
            _ => {}
        }
        if error.is_some() {
            return;
        }
        match (call.op, call.detail) {
            (Op::Open, Detail::Directory) => {
                self.add(OPENED, 1);
                self.add(DIR_OPEN, 1);
            }
            (Op::Open | Op::Create | Op::Reopen | Op::Reuse, _) => self.add(OPENED, 1),
            (Op::Unlink, _) => self.add(DELETED, 1),
            (Op::Rename, _) => self.add(RENAMED, 1),
            (Op::Flush, _) => self.add(FLUSH, 1),
            (Op::Sync, Detail::Fsync) => self.add(FSYNC, 1),
            (Op::Sync | Op::RangeSync, _) => self.add(SYNC, 1),
            (Op::SyncDir, _) => self.add(DIR_FSYNC, 1),
            (Op::Close, _) => self.add(CLOSE, 1),
            (Op::Read, _) => self.add(BYTES_READ, call.bytes as u64),
            (Op::Append, _) => self.add(BYTES_WRITTEN, call.bytes as u64),
            _ => {}
        }
    }

    fn dropped(&self, kind: HandleKind) {
        match kind {
            HandleKind::Random | HandleKind::Sequential => self.add(CLOSE, 1),
            HandleKind::Dir => {
                self.add(CLOSE, 1);
                self.add(DIR_CLOSE, 1);
            }
            HandleKind::Append | HandleKind::Syncer => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use env::fs::{AppendHints, ReadHints};

    use super::*;

    #[test]
    fn each_operation_counts_once() {
        let mut env = Env::memory(1);
        let counters = FileOperations::install(&mut env);
        let (fs, path) = (env.fs.clone(), Path::new("/a"));
        let mut file = fs.create(path, &AppendHints::default()).unwrap();
        file.append(b"twelve bytes").unwrap();
        file.flush().unwrap();
        file.sync().unwrap();
        file.fsync().unwrap();
        file.close().unwrap();
        drop(file);
        let file = fs.open_random(path, &ReadHints::default()).unwrap();
        assert_eq!(file.read_at(2, &mut [0; 100]).unwrap(), 10);
        drop(file);
        drop(fs.open_sequential(path).unwrap());
        let dir = fs.open_dir(Path::new("/")).unwrap();
        dir.sync().unwrap();
        drop(dir);
        fs.rename(path, Path::new("/b")).unwrap();
        fs.unlink(Path::new("/b")).unwrap();
        assert!(fs.unlink(Path::new("/b")).is_err());
        let expected = "Num files opened: 4\nNum files deleted: 1\nNum files renamed: 1\nNum Flush(): 1\nNum Sync(): 1\n\
                        Num Fsync(): 1\nNum Dir Fsync(): 1\nNum Close(): 4\nNum Dir Open(): 1\nNum Dir Close(): 1\n\
                        Num Read(): 1\nNum Append(): 1\nNum bytes read: 10\nNum bytes written: 12\n";
        assert_eq!(counters.take_report(), expected);
        assert!(counters.take_report().lines().all(|line| line.ends_with(": 0")));
    }
}
