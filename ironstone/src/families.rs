//! The column families of a database: find, create, drop; calls for several column families.

use base::{Error, Result};
use engine::options::FlushOptions;

use crate::{Db, Family, FamilyDescriptor};

impl Db {
    /// Returns the handle of the default column family.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.default_family().name(), "default");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn default_family(&self) -> Family {
        Family::clone(self)
    }

    /// Returns the handle of a column family.
    ///
    /// # Errors
    /// NotFound if there is no column family of this name.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert!(db.family("default").is_ok());
    /// assert!(db.family("users").is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn family(&self, name: &str) -> Result<Family> {
        match self.engine().family(name) {
            Some(family) => Ok(Family::new(self.engine().clone(), family)),
            None => Err(Error::not_found(format!("column family {name}"))),
        }
    }

    /// Returns the handles of all column families, in the order of their numbers.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.families().len(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn families(&self) -> Vec<Family> {
        let families = self.engine().families();
        families.into_iter().map(|family| Family::new(self.engine().clone(), family)).collect()
    }

    /// Creates a column family.
    ///
    /// # Errors
    /// InvalidArgument if a column family has this name. NotSupported for options whose feature is not built.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let users = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// users.put(b"1", b"Ada")?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create_family(&self, descriptor: FamilyDescriptor) -> Result<Family> {
        let family = self.engine().create_family(descriptor.into())?;
        Ok(Family::new(self.engine().clone(), family))
    }

    /// Drops a column family. Handles of the column family can still read the data. The files are deleted after the
    /// last handle is dropped.
    ///
    /// # Errors
    /// InvalidArgument for the default column family and for a column family that is already dropped.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let users = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// db.drop_family(&users)?;
    /// assert!(db.family("users").is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn drop_family(&self, family: &Family) -> Result<()> {
        self.engine().drop_family(family.inner())
    }

    /// Flushes these column families. With `atomic_flush` or `force_atomic_flush`, one MANIFEST record adds the SST
    /// files of all these column families.
    ///
    /// # Errors
    /// As [`Family::flush`].
    ///
    /// ```
    /// # use ironstone::FlushOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush_families(&db.families(), &FlushOptions::default())?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn flush_families(&self, families: &[Family], options: &FlushOptions) -> Result<()> {
        let families: Vec<_> = families.iter().map(|family| family.inner().clone()).collect();
        self.engine().flush(&families, options)
    }
}
