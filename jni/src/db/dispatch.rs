//! Kinds of databases: plain, with a time to live, with transactions, and secondary instances.
//!
//! All kinds have the same object type, because each Java class of a database calls the natives of `RocksDB`.
//!
//! - Time to live: a stored value ends with the time of its write. Writes append the time, and reads remove it.
//! - Transactions: a write outside of transactions locks its keys in the engine.
//! - Secondary instance: a catch-up replaces the view of the database.
//!
//! Facts: RocksDB `utilities/ttl/db_ttl_impl.cc`, `db/db_impl/db_impl_secondary.cc`.

use std::path::Path;
use std::sync::Arc;

use base::{Error, Pinned, Result};
use engine::batch::WriteBatch;
use engine::family::Family;
use engine::options::{ReadOptions, WriteOptions};
use env::logger::{FileLogger, LogFileOptions};
use ironstone::ttl::{TtlDb, TtlFamily};
use ironstone::{FamilyDescriptor, Secondary};

use super::kind::Kind;
use super::open::{Families, family_name};
use super::path::database_dir;
use super::{DatabaseObject, InFamily, database};
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::iterator::{Again, IteratorObject};
use crate::java::{JBytes, JInts, JLongs, JObjects, JString};
use crate::native::{disposers, natives};
use crate::options::OptionSet;

impl DatabaseObject {
    fn with_ttl(db: TtlDb) -> Result<Self> {
        DatabaseObject::of_kind(db.plain().clone(), Kind::Ttl(db))
    }

    fn secondary(secondary: Secondary) -> Result<Self> {
        DatabaseObject::of_kind(secondary.view(), Kind::Secondary(Arc::new(secondary)))
    }

    /// # Errors
    /// The errors of the engine.
    #[inline]
    pub fn put(&self, family: &Family, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        match &self.kind {
            Kind::Ttl(ttl) => ttl.family(family.name())?.put_with(key, value, options),
            _ => self.db.put(family, key, value, options),
        }
    }

    /// # Errors
    /// The errors of the engine.
    #[inline]
    pub fn merge(&self, family: &Family, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        match &self.kind {
            Kind::Ttl(ttl) => ttl.family(family.name())?.merge_with(key, value, options),
            _ => self.db.merge(family, key, value, options),
        }
    }

    /// # Errors
    /// The errors of the engine.
    #[inline]
    pub fn delete_range(
        &self,
        family: &Family,
        begin: &[u8],
        end: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.kind {
            Kind::Optimistic(db) => db.delete_range(begin, end),
            Kind::Pessimistic(_) => Err(Error::not_supported("")),
            _ => self.db.delete_range(family, begin, end, options),
        }
    }

    /// # Errors
    /// The errors of the engine.
    #[inline]
    pub fn delete(&self, family: &Family, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.delete(family, key, options)
    }

    /// # Errors
    /// The errors of the engine.
    #[inline]
    pub fn single_delete(&self, family: &Family, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.single_delete(family, key, options)
    }

    /// # Errors
    /// The errors of the engine.
    #[inline]
    pub fn write(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        match &self.kind {
            Kind::Ttl(ttl) => ttl.write_with(batch, options),
            Kind::Optimistic(db) => db.write_with(batch, options),
            _ => self.db.write(batch, options),
        }
    }

    /// # Errors
    /// The errors of the engine.
    #[inline]
    pub fn get(&self, family: &Arc<Family>, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        self.value_of(self.db.get(family, key, options)?)
    }

    /// Removes the write time from a stored value if the database has a time to live.
    ///
    /// # Errors
    /// Corruption if the value has no time.
    #[inline]
    pub fn value_of(&self, stored: Option<Pinned>) -> Result<Option<Pinned>> {
        match (stored, &self.kind) {
            (Some(stored), Kind::Ttl(_)) => {
                let len = ironstone::ttl::value_of(&stored)?.len();
                Ok(Some(stored.slice(0..len)))
            }
            (stored, _) => Ok(stored),
        }
    }

    /// Makes an iterator over a column family.
    pub fn iterator(&self, family: &Arc<Family>, options: &ReadOptions) -> IteratorObject {
        self.iterator_of(self.db.boxed_iter(family, options, |iter| iter), family, options)
    }

    /// Makes the object of an iterator of the engine over a column family.
    pub fn iterator_of(
        &self,
        iter: Result<Box<engine::db::DbIterator>>,
        family: &Family,
        options: &ReadOptions,
    ) -> IteratorObject {
        match &self.kind {
            Kind::Ttl(_) => IteratorObject::ttl(iter),
            Kind::Secondary(secondary) => IteratorObject::family(iter).following(Again {
                secondary: secondary.clone(),
                family: family.name().to_string(),
                options: options.clone(),
            }),
            _ => IteratorObject::family(iter),
        }
    }

    /// # Errors
    /// The errors of the engine.
    pub fn create_family(&self, descriptor: FamilyDescriptor) -> Result<Handle> {
        let name = descriptor.name.clone();
        match &self.kind {
            Kind::Ttl(ttl) => drop(ttl.create_family(descriptor, 0)?),
            Kind::Pessimistic(transactions) => drop(transactions.create_family(descriptor)?),
            _ => drop(self.front.create_family(descriptor)?),
        }
        self.family_handle(&name)
    }

    /// # Errors
    /// The errors of the engine.
    pub fn drop_family(&self, family: &InFamily) -> Result<()> {
        match &self.kind {
            Kind::Pessimistic(transactions) => transactions.drop_family(family.front(self)),
            _ => self.front.drop_family(family.front(self)),
        }
    }

    /// Returns a column family with its time to live. Returns `None` if the database has no time to live.
    ///
    /// # Errors
    /// NotFound if the database did not open or create the column family.
    pub fn with_time(&self, family: &str) -> Result<Option<TtlFamily>> {
        match &self.kind {
            Kind::Ttl(ttl) => ttl.family(family).map(Some),
            _ => Ok(None),
        }
    }

    /// Fails if the database has a time to live, for calls that would return or write values without handling the write time.
    ///
    /// # Errors
    /// NotSupported.
    pub fn refuse_ttl(&self, call: &str) -> Result<()> {
        match self.kind {
            Kind::Ttl(_) => Err(Error::not_supported(format!("{call} of a database with a time to live"))),
            _ => Ok(()),
        }
    }
}

/// Returns the options of a secondary instance. Its info log is in `path`, because the instance must not write to the
/// directory of the database.
fn secondary_options(mut options: ironstone::Options, path: &Path) -> Outcome<ironstone::Options> {
    // A secondary instance keeps all SST files open, because the writer may delete them.
    (options.db.max_open_files, options.db.open_files_async) = (-1, false);
    if options.db.info_log.is_none() {
        let log = LogFileOptions { level: options.db.info_log_level, ..LogFileOptions::default() };
        let env = &options.db.env;
        let logger = FileLogger::open(env.fs.clone(), env.clock.clone(), path, None, log)?;
        options.db.info_log = Some(Arc::new(logger));
    }
    Ok(options)
}

disposers! {
    TtlDB: DatabaseObject;
}

natives! {
    fn TtlDB_open[java](options: Handle, path: JString, ttl: i32, read_only: bool) -> Handle {
        let set = options.shared::<OptionSet>()?;
        let path = database_dir(java, path, &*set.db.env.fs)?;
        let (options, families) = (set.for_descriptors(), vec![(set.descriptor("default")?, ttl)]);
        let db = match read_only {
            true => TtlDb::open_read_only_with_families(&path, options, families)?,
            false => TtlDb::open_with_families(&path, options, families)?,
        };
        DatabaseObject::with_ttl(db)?.into_handle()?
    }

    /// Opens column families, each with its time to live.
    fn TtlDB_openCF[java](
        options: Handle, path: JString, names: JObjects, family_options: JLongs, ttls: JInts, read_only: bool
    ) -> JLongs<'j> {
        let options = options.shared::<OptionSet>()?.for_descriptors();
        let path = database_dir(java, path, &*options.db.env.fs)?;
        let (mut families, ttls) = (Families::new(java, names, family_options)?, java.ints(ttls)?);
        let descriptors = std::mem::take(&mut families.descriptors);
        if ttls.len() != descriptors.len() {
            return Err(Fault::illegal_argument(format!("{} families have {} times", descriptors.len(), ttls.len())));
        }
        let descriptors = descriptors.into_iter().zip(ttls).collect();
        let db = match read_only {
            true => TtlDb::open_read_only_with_families(&path, options, descriptors)?,
            false => TtlDb::open_with_families(&path, options, descriptors)?,
        };
        families.handles(java, DatabaseObject::with_ttl(db)?)?
    }

    fn TtlDB_createColumnFamilyWithTtl[java](db: Handle, name: JBytes, options: Handle, ttl: i32) -> Handle {
        let (db, name) = (database(db)?, java.bytes(name)?);
        let name = family_name(name)?;
        let descriptor = options.shared::<OptionSet>()?.descriptor(&name)?;
        let Kind::Ttl(ttls) = &db.kind else {
            return Err(Error::invalid_argument("the database was not opened with a time to live").into());
        };
        ttls.create_family(descriptor, ttl)?;
        db.family_handle(&name)?
    }

    /// Opens the default column family only.
    fn RocksDB_openAsSecondary__JLjava_lang_String_2Ljava_lang_String_2[java](
        options: Handle, path: JString, secondary_path: JString
    ) -> Handle {
        let set = options.shared::<OptionSet>()?;
        let (options, families) = (set.for_descriptors(), vec![set.descriptor("default")?]);
        drop(set);
        let (path, secondary) = (database_dir(java, path, &*options.db.env.fs)?, java.text(secondary_path)?);
        let options = secondary_options(options, secondary.as_ref())?;
        let db = Secondary::open_with_families(path, options, families)?;
        DatabaseObject::secondary(db)?.into_handle()?
    }

    fn RocksDB_openAsSecondary__JLjava_lang_String_2Ljava_lang_String_2_3_3B_3J[java](
        options: Handle, path: JString, secondary_path: JString, names: JObjects, family_options: JLongs
    ) -> JLongs<'j> {
        let (options, secondary) = (options.shared::<OptionSet>()?.for_descriptors(), java.text(secondary_path)?);
        let path = database_dir(java, path, &*options.db.env.fs)?;
        let options = secondary_options(options, secondary.as_ref())?;
        let mut families = Families::new(java, names, family_options)?;
        let descriptors = std::mem::take(&mut families.descriptors);
        let db = Secondary::open_with_families(path, options, descriptors)?;
        families.handles(java, DatabaseObject::secondary(db)?)?
    }

    /// Updates a secondary instance with the newest writes of the primary instance. Waits for running calls, because these calls
    /// use the old view, and then replaces the view.
    fn RocksDB_tryCatchUpWithPrimary[_](handle: Handle) {
        let secondary = match &database(handle)?.kind {
            Kind::Secondary(secondary) => secondary.clone(),
            _ => return Err(Error::not_supported("Supported only by secondary instance").into()),
        };
        secondary.try_catch_up_with_primary()?;
        let mut db = handle.exclusive::<DatabaseObject>()?;
        // Read under the exclusive use: of two threads that catch up, the later one stores a newer view.
        let front = secondary.view();
        let default = front.engine().default_family()?;
        (db.db, db.default, db.front) = (front.engine().clone(), default, front);
    }
}
