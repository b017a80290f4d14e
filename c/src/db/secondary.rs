//! Secondary instances: databases that another process writes.
//!
//! A catch-up replaces the view of a secondary instance. A call uses one view until it ends. A call with a column family
//! handle finds the column family by its name in the newest view. Facts: RocksDB `db/db_impl/db_impl_secondary.cc`.

use std::ffi::c_char;
use std::path::Path;
use std::sync::Arc;

use base::{Error, Result};
use env::logger::{FileLogger, LogFileOptions};
use ironstone::Secondary;

use super::open::Request;
use super::view::Following;
use super::{Target, rocksdb_column_family_handle_t, rocksdb_t};
use crate::abi::Owned;
use crate::options::rocksdb_options_t;

/// Returns the options of a secondary instance. Its info log is in `secondary_path`, because the instance must not write to
/// the directory of the database. The instance keeps its SST files open, because the writer may delete them: `max_open_files`
/// acts as -1.
fn options_of(options: &rocksdb_options_t, secondary_path: &Path) -> Result<ironstone::Options> {
    let mut front = options.front_options()?;
    (front.db.max_open_files, front.db.open_files_async) = (-1, false);
    if front.db.info_log.is_none() {
        let log = LogFileOptions { level: front.db.info_log_level, ..LogFileOptions::default() };
        let (fs, clock) = (front.db.env.fs.clone(), front.db.env.clock.clone());
        front.db.info_log = Some(Arc::new(FileLogger::open(fs, clock, secondary_path, None, log)?));
    }
    Ok(front)
}

impl rocksdb_t {
    fn secondary(secondary: Secondary) -> Result<Self> {
        Ok(rocksdb_t { target: Target::Secondary(Arc::new(Following::new(secondary)?)) })
    }
}

c_api! {
    /// Opens a database that another process writes, with its default column family. The info log of this instance is in `secondary_path`.
    /// `max_open_files` acts as -1.
    fn rocksdb_open_as_secondary(
        options: in rocksdb_options_t, name: path, secondary_path: path, err
    ) -> Owned<rocksdb_t> {
        let front = options_of(options, secondary_path)?;
        let block_cache = options.table_cache.get(&options.family.table_factory)?;
        let front = ironstone::Options { block_cache, ..front };
        Ok(Owned(rocksdb_t::secondary(Secondary::open_with_families(name, front, Vec::new())?)?))
    }

    /// Works like `rocksdb_open_as_secondary`, with some of the column families of the database. The names must include
    /// `default`.
    fn rocksdb_open_as_secondary_column_families(
        options: in rocksdb_options_t, name: path, secondary_path: path, num_column_families: i32,
        column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), err
    ) -> Owned<rocksdb_t> {
        // SAFETY: rule 11 of the header: aligned arrays of `num_column_families` initialized items that no thread changes during the call.
        let request = unsafe {
            Request::new(num_column_families, column_family_names, column_family_options, column_family_handles)?
        };
        let secondary =
            Secondary::open_with_families(name, options_of(options, secondary_path)?, request.descriptors())?;
        request.finish(rocksdb_t::secondary(secondary)?)
    }

    /// Updates the instance: later reads see the newest writes of the primary instance. Writes that the primary instance has not
    /// yet passed to the operating system are not visible. Iterators, snapshots and pinned values do not change.
    fn rocksdb_try_catch_up_with_primary(db: at rocksdb_t, err) {
        match &db.target {
            Target::Secondary(following) => following.catch_up(),
            Target::Open(_) => Err(Error::not_supported("Supported only by secondary instance")),
            Target::None => Err(super::no_database()),
        }
    }
}
