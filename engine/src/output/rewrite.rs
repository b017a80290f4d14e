//! One table written from rows that come as they are: nothing is merged, dropped or cut.

use base::{Result, key};
use lsm::range_del::{OutputTombstone, OutputTombstones};

use super::file::OpenFile;
use super::{OutputFile, OutputSettings};

/// A table being written anew.
pub struct Rewrite<'a> {
    settings: &'a OutputSettings,
    open: OpenFile,
}

impl<'a> Rewrite<'a> {
    /// # Errors
    /// Of the file system.
    pub fn begin(settings: &'a OutputSettings) -> Result<Self> {
        Ok(Rewrite { settings, open: OpenFile::create(settings)? })
    }

    /// Adds a row; rows ascend.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.open.add(key, value)
    }

    /// Adds range tombstones: internal start keys and end user keys, ascending.
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
        self.open.add_tombstones(&OutputTombstones {
            tombstones: tombstones.collect(),
            ..OutputTombstones::default()
        })
    }

    /// Completes, syncs and closes the file, and syncs its directory. After an error nothing is left of it.
    ///
    /// # Errors
    /// Of the file system.
    pub fn finish(self) -> Result<OutputFile> {
        let file = self.open.finish(self.settings)?;
        let s = self.settings;
        s.env.fs.open_dir(s.parts.table_dir(file.meta.path_id)).and_then(|dir| dir.sync())?;
        Ok(file)
    }

    /// Gives up; the file is removed.
    pub fn abandon(self) {
        self.open.abandon(self.settings);
    }
}
