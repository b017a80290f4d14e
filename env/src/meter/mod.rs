//! A file system that counts calls, failed calls and bytes, by kind of call and kind of file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fs::FileSystem;
use crate::hook::{Call, Hook, Hooked, Verdict};

pub use crate::hook::Op;

#[cfg(test)]
mod tests;

/// The kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FileKind {
    /// WALs.
    Wal,
    /// SST files.
    Table,
    /// Blob files.
    Blob,
    /// MANIFESTs.
    Manifest,
    /// CURRENT, IDENTITY, OPTIONS, LOCK.
    Small,
    /// The info logs.
    InfoLog,
    /// Directories and all else.
    Other,
}

impl FileKind {
    /// The number of kinds.
    pub const COUNT: usize = 7;

    /// Returns the kind of the file with this path. Only the name decides.
    pub fn of(path: &Path) -> FileKind {
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { return FileKind::Other };
        match path.extension().and_then(|e| e.to_str()) {
            Some("log") => return FileKind::Wal,
            Some("sst" | "ldb") => return FileKind::Table,
            Some("blob") => return FileKind::Blob,
            _ => {}
        }
        if name.starts_with("MANIFEST-") {
            FileKind::Manifest
        } else if name.starts_with("OPTIONS-") || matches!(name, "CURRENT" | "IDENTITY" | "LOCK") {
            FileKind::Small
        } else if name.contains("LOG") {
            FileKind::InfoLog
        } else {
            FileKind::Other
        }
    }
}

/// The counts of one operation on one kind of file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of calls, with the failed calls.
    pub calls: u64,
    /// The number of calls that failed.
    pub failed: u64,
    /// The bytes that were read or appended.
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct Cell {
    calls: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
}

/// A file system with counters.
pub type MeterFs = Hooked<MeterHook>;

/// The counters.
#[derive(Debug, Default)]
pub struct MeterHook {
    cells: [[Cell; Op::COUNT]; FileKind::COUNT],
}

impl MeterHook {
    /// Returns the counts for one kind of file and one operation.
    pub fn count(&self, kind: FileKind, op: Op) -> Count {
        let cell = &self.cells[kind as usize][op as usize];
        Count {
            calls: cell.calls.load(Ordering::Relaxed),
            failed: cell.failed.load(Ordering::Relaxed),
            bytes: cell.bytes.load(Ordering::Relaxed),
        }
    }

    /// Returns the sum of the counts of an operation over all kinds of files.
    pub fn total(&self, op: Op) -> Count {
        let mut sum = Count::default();
        for row in &self.cells {
            let cell = &row[op as usize];
            sum.calls += cell.calls.load(Ordering::Relaxed);
            sum.failed += cell.failed.load(Ordering::Relaxed);
            sum.bytes += cell.bytes.load(Ordering::Relaxed);
        }
        sum
    }

    /// Sets all counters to 0.
    pub fn reset(&self) {
        for cell in self.cells.iter().flatten() {
            cell.calls.store(0, Ordering::Relaxed);
            cell.failed.store(0, Ordering::Relaxed);
            cell.bytes.store(0, Ordering::Relaxed);
        }
    }
}

impl Hook for MeterHook {
    fn name(&self) -> &'static str {
        "meter"
    }

    fn before(&self, _call: &Call<'_>) -> Verdict {
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, error: Option<&base::Error>) {
        let cell = &self.cells[FileKind::of(call.path) as usize][call.op as usize];
        cell.calls.fetch_add(1, Ordering::Relaxed);
        if error.is_none() {
            cell.bytes.fetch_add(call.bytes as u64, Ordering::Relaxed);
        } else {
            cell.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl MeterFs {
    /// Makes a file system that counts the calls of `inner`.
    pub fn wrap(inner: Arc<dyn FileSystem>) -> Arc<MeterFs> {
        Arc::new(Hooked::new(inner, Arc::default()))
    }
}
