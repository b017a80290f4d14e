//! The settings of the WALs.

use std::path::PathBuf;

use base::Result;
use format::wal::StreamCompressor;
use mem::budget::MemoryBudget;

use crate::sync::Arc;

/// The settings of the WALs.
#[derive(Clone)]
pub struct WalSettings {
    pub dir: PathBuf,
    /// True if record headers carry the WAL number, so that obsolete WALs can be recycled.
    pub recyclable: bool,
    /// True if records stay in a memory buffer until `flush_wal`, or until the buffer has `buffer_bytes_max` bytes.
    pub manual_flush: bool,
    pub buffer_bytes_max: usize,
    pub use_fsync: bool,
    /// Number of bytes after which write-back is started; 0 never starts write-back.
    pub bytes_per_sync: u64,
    /// True if each WAL records the size and the last sequence number of the WAL before it (`track_and_verify_wals`).
    pub note_predecessor: bool,
    /// Makes the compressor of each new WAL. `None` means no compression.
    pub compressor: Option<MakeCompressor>,
    /// The budget that the buffer of the active WAL draws from.
    pub memory_budget: Option<Arc<MemoryBudget>>,
}

impl WalSettings {
    /// Returns RocksDB's default settings.
    pub fn plain(dir: PathBuf) -> Self {
        WalSettings {
            dir,
            recyclable: false,
            manual_flush: false,
            buffer_bytes_max: 1 << 20,
            use_fsync: false,
            bytes_per_sync: 0,
            note_predecessor: false,
            compressor: None,
            memory_budget: None,
        }
    }
}

/// Makes the compressor of one WAL. A compressor keeps state between records, so each WAL has its own compressor.
pub type MakeCompressor = Arc<dyn Fn() -> Result<Box<dyn StreamCompressor>> + Send + Sync>;
