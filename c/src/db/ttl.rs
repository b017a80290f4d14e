//! Databases whose values have a time to live. A stored value ends with the time of its write.
//!
//! Writes go through `ironstone::ttl::TtlDb`, which appends the time. Reads remove the time. Facts: RocksDB
//! `utilities/ttl/db_ttl_impl.cc`.

use std::ffi::c_char;
use std::sync::Arc;

use base::{Error, Pinned, Result};
use engine::batch::WriteBatch;
use engine::family::Family;
use engine::options::{ReadOptions, WriteOptions};
use ironstone::WriteBatchWithIndex;
use ironstone::ttl::{TtlDb, TtlFamily};

use super::open::Request;
use super::{Open, Target, rocksdb_column_family_handle_t, rocksdb_t};
use crate::abi::{Owned, arguments};
use crate::options::rocksdb_options_t;

impl Open {
    /// Creates a column family. In a database with a time to live, the values of the column family do not expire, as in RocksDB.
    pub(super) fn create_family(&self, options: &rocksdb_options_t, name: &str) -> Result<Arc<Family>> {
        match &self.ttl {
            None => self.db.admin().create_family(options.descriptor(name)?),
            Some(ttl) => self.create_family_with_ttl(ttl, options, name, 0),
        }
    }

    fn create_family_with_ttl(
        &self,
        ttl: &TtlDb,
        options: &rocksdb_options_t,
        name: &str,
        seconds: i32,
    ) -> Result<Arc<Family>> {
        ttl.create_family(options.front_descriptor(name)?, seconds)?;
        self.db.family(name).ok_or_else(|| Error::not_found(format!("column family {name}")))
    }

    /// # Errors
    /// NotSupported if the values have a time to live.
    pub(crate) fn refuse_ttl(&self, call: &str) -> Result<()> {
        match self.ttl {
            None => Ok(()),
            Some(_) => Err(Error::not_supported(format!("{call} of a database with a time to live"))),
        }
    }

    #[inline]
    pub(super) fn put(
        &self,
        family: &Arc<Family>,
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.ttl {
            None => self.db.put(family, key, value, options),
            Some(ttl) => with_time(ttl, family)?.put_with(key, value, options),
        }
    }

    #[inline]
    pub(super) fn merge(
        &self,
        family: &Arc<Family>,
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.ttl {
            None => self.db.merge(family, key, value, options),
            Some(ttl) => with_time(ttl, family)?.merge_with(key, value, options),
        }
    }

    #[inline]
    pub(super) fn write(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        match &self.ttl {
            None => self.db.write(batch, options),
            Some(ttl) => ttl.write_with(batch, options),
        }
    }

    /// Writes a batch with an index. Each value gets the current time if the database has a time to live.
    pub(crate) fn write_indexed(
        &self,
        batch: &mut WriteBatchWithIndex,
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.ttl {
            None => batch.write(&self.front, options),
            Some(ttl) => ttl.write_with(&batch.to_batch(), options),
        }
    }

    #[inline]
    pub(super) fn get(
        &self,
        family: &Arc<Family>,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Pinned>> {
        let value = self.db.get(family, key, options)?;
        match self.ttl {
            None => Ok(value),
            Some(_) => self.value_of(value),
        }
    }

    /// Reads a key as if a batch with an index were written.
    pub(crate) fn get_under_batch(
        &self,
        batch: &WriteBatchWithIndex,
        family: &ironstone::Family,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Pinned>> {
        match &self.ttl {
            None => batch.get_from_batch_and_db(family, key, options),
            Some(ttl) => ttl.family_of(family)?.get_from_batch(batch, key, options),
        }
    }

    /// Removes the write time from a stored value if the database has a time to live.
    ///
    /// # Errors
    /// Corruption if the value has no time.
    pub(super) fn value_of(&self, stored: Option<Pinned>) -> Result<Option<Pinned>> {
        match (stored, &self.ttl) {
            (Some(stored), Some(_)) => {
                let len = ironstone::ttl::value_of(&stored)?.len();
                Ok(Some(stored.slice(0..len)))
            }
            (stored, _) => Ok(stored),
        }
    }
}

/// # Errors
/// NotFound if the column family was created without a time to live.
fn with_time(ttl: &TtlDb, family: &Arc<Family>) -> Result<TtlFamily> {
    ttl.family_of(&ttl.plain().family_from_engine(family.clone()))
}

impl rocksdb_t {
    fn with_ttl(db: TtlDb) -> Result<Self> {
        let open = Open::new(db.plain().engine().clone())?;
        Ok(rocksdb_t { target: Target::Open(Open { ttl: Some(db), ..open }) })
    }
}

c_api! {
    /// Opens a database whose values expire `ttl` seconds after their write. 0 or less: values do not expire. Compactions
    /// remove expired values. Always open such a database with a time to live: other opens return values with their write time.
    fn rocksdb_open_with_ttl(options: in rocksdb_options_t, name: path, ttl: i32, err) -> Owned<rocksdb_t> {
        let families = vec![(options.front_descriptor("default")?, ttl)];
        Ok(Owned(rocksdb_t::with_ttl(TtlDb::open_with_families(name, options.front_options()?, families)?)?))
    }

    /// Works like `rocksdb_open_column_families`, with a time to live for each column family.
    fn rocksdb_open_column_families_with_ttl(
        options: in rocksdb_options_t, name: path, num_column_families: i32,
        column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), ttls: raw(*const i32), err
    ) -> Owned<rocksdb_t> {
        // SAFETY: rule 11 of the header: aligned arrays of `num_column_families` initialized items that no thread changes during the call.
        let (request, ttls) = unsafe {
            let count = arguments::count(num_column_families)?;
            let request =
                Request::new(num_column_families, column_family_names, column_family_options, column_family_handles)?;
            (request, arguments::array(ttls, count)?)
        };
        let families = request.descriptors().into_iter().zip(ttls.iter().copied()).collect();
        let db = TtlDb::open_with_families(name, options.front_options()?, families)?;
        request.finish(rocksdb_t::with_ttl(db)?)
    }

    /// Creates a column family in a database that was opened with a time to live.
    fn rocksdb_create_column_family_with_ttl(
        db: at rocksdb_t, column_family_options: in rocksdb_options_t, column_family_name: text, ttl: i32, err
    ) -> Owned<rocksdb_column_family_handle_t> {
        let open = db.get()?;
        let without = || Error::invalid_argument("the database was not opened with a time to live");
        let database = open.ttl.as_ref().ok_or_else(without)?;
        let family = open.create_family_with_ttl(database, column_family_options, column_family_name, ttl)?;
        Ok(Owned(db.handle(family)?))
    }
}
