//! Writes one SST file with exactly the given entries: it merges, drops and splits nothing.

use base::{Error, Result, key};
use lsm::range_del::{OutputTombstone, OutputTombstones};

use super::file::OpenFile;
use super::{OutputFile, OutputSettings};

/// The SST file that is being written.
pub struct Rewrite<'a> {
    settings: &'a OutputSettings,
    open: OpenFile,
}

impl<'a> Rewrite<'a> {
    /// Creates the SST file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn begin(settings: &'a OutputSettings) -> Result<Self> {
        Ok(Rewrite { settings, open: OpenFile::create(settings)? })
    }

    /// Adds an entry. The internal keys must ascend.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.open.add(key, value)
    }

    /// Adds range tombstones: internal start keys and end user keys. The start keys must ascend.
    pub fn add_tombstones(&mut self, tombstones: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let tombstones = tombstones.iter().map(|(start, end)| {
            let mut largest = Vec::new();
            key::append_internal(&mut largest, end, key::MAX_SEQUENCE, base::ValueType::RangeDeletion);
            OutputTombstone {
                key: start.clone(),
                end: end.clone(),
                seq: key::sequence(start),
                smallest: start.clone(),
                largest,
            }
        });
        let tombstones = OutputTombstones { tombstones: tombstones.collect(), ..OutputTombstones::default() };
        self.open.add_tombstones(&tombstones, None)
    }

    /// Completes, syncs and closes the file, and syncs its directory. After an error of the file itself, the file is
    /// deleted.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn finish(self) -> Result<OutputFile> {
        let file = self.open.finish(self.settings)?;
        let s = self.settings;
        s.env.fs.open_dir(s.parts.table_dir(file.meta.path_id)).and_then(|dir| dir.sync())?;
        Ok(file)
    }

    /// Deletes the unfinished file.
    pub fn abandon(self) {
        self.open.abandon(self.settings, &Error::aborted("the SST file is not kept"));
    }
}
