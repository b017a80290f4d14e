//! The option `compat`: the oldest release of RocksDB that must read what the database writes.
//!
//! ```text
//!  SST files      the format version and newer features are lowered (`table::options`)
//!  OPTIONS files  hold the options of the release only, with the version of the release
//!  MANIFEST       older releases skip newer tags
//!  WAL            predecessor records since 9.11, timestamp sizes since 8.4, compression since 7.4: refused
//!  write batches  entities since 7.9: refused
//! ```
//! The option acts on new data. Existing files stay unchanged.

use base::option::{Release, Value};
use base::{Error, Result};
use format::options_ini::{ROCKSDB_VERSION, Version};

use super::{CompressionType, DbOptions, FamilyOptions};

/// A release, as `X.Y`. Empty stands for 11.8. Default: empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compat(pub Option<(u32, u32)>);

/// The oldest release that the option accepts.
const OLDEST: (u32, u32) = (7, 0);

impl Compat {
    /// Returns the release.
    pub fn release(self) -> Release {
        self.0.map_or(Release::NEWEST, |(major, minor)| Release(major, minor).min(Release::NEWEST))
    }

    /// Returns the version that an OPTIONS file names.
    pub fn version(self) -> Version {
        match self.release() {
            Release::NEWEST => ROCKSDB_VERSION,
            Release(major, minor) => Version([major, minor, 0]),
        }
    }

    /// Returns true if the release reads what release `since` introduced.
    pub fn reads(self, since: (u32, u32)) -> bool {
        self.0.is_none_or(|release| release >= since)
    }

    /// Rejects options whose data the release cannot read.
    ///
    /// # Errors
    /// NotSupported for a release before 7.0. InvalidArgument names the option and the release that introduced the
    /// option.
    pub fn check(self, db: &DbOptions, family: &FamilyOptions) -> Result<()> {
        let Some((major, minor)) = self.0 else { return Ok(()) };
        if !self.reads(OLDEST) {
            return Err(Error::not_supported(format!(
                "option compat: releases before {}.{}",
                OLDEST.0, OLDEST.1
            )));
        }
        for (asked, what, since) in [
            (db.track_and_verify_wals, "track_and_verify_wals", (9, 11)),
            (family.comparator.timestamp_size() > 0, "a comparator with timestamps", (8, 4)),
            (db.wal_compression != CompressionType::NONE, "wal_compression", (7, 4)),
            (family.enable_blob_direct_write, "enable_blob_direct_write", (11, 8)),
        ] {
            if asked && !self.reads(since) {
                return Err(Error::invalid_argument(format!(
                    "only release {}.{} and newer releases read {what}, but compat is {major}.{minor}",
                    since.0, since.1
                )));
            }
        }
        Ok(())
    }

    /// Lowers the table options of a column family to features that the release reads.
    ///
    /// # Errors
    /// NotSupported if tables for this release cannot be written.
    pub fn cap(self, family: &mut FamilyOptions) -> Result<()> {
        match (self.0, family.table_factory.block_based_mut()) {
            (Some(release), Some(table)) => table.cap_to_release(release),
            _ => Ok(()),
        }
    }
}

impl Value for Compat {
    fn parse(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Compat(None));
        }
        let wrong = || Error::invalid_argument(format!("not a release of the form 9.4: {text:?}"));
        let mut parts = text.split('.').map(|part| part.parse::<u32>().map_err(|_| wrong()));
        let (major, minor) = (parts.next().ok_or_else(wrong)??, parts.next().ok_or_else(wrong)??);
        Ok(Compat(Some((major, minor))))
    }

    fn print(&self) -> String {
        self.0.map_or_else(String::new, |(major, minor)| format!("{major}.{minor}"))
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
