//! The state that the handles of one disk share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Error, Result};
use parking_lot::Mutex;

use super::names::Names;
use crate::clock::Clock;

pub(crate) struct Shared {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) names: Mutex<Names>,
    /// The number of crashes. A handle with a smaller number fails.
    pub(super) generation: AtomicU64,
    /// Locked files and the generation that locked them.
    pub(super) locks: Mutex<BTreeMap<PathBuf, u64>>,
    pub(super) capacity: AtomicU64,
}

impl Shared {
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns an error for a handle from before the last crash.
    pub(crate) fn alive(&self, generation: u64, path: &Path) -> Result<()> {
        if self.generation() == generation {
            return Ok(());
        }
        Err(Error::io_error("the machine has crashed since the file was opened").file(path))
    }
}
