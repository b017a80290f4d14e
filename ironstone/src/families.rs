//! The column families of a database: find, create, drop; calls for several column families.

use base::{Error, Pinned, Result};
use engine::options::FlushOptions;

use crate::{Db, Family, FamilyDescriptor, Iter, ReadOptions};

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
        let family = self.engine().admin().create_family(descriptor)?;
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
        self.engine().admin().drop_family(family.inner())
    }

    /// Flushes these column families. With `atomic_flush` or `force_atomic_flush`, one MANIFEST record adds the SST
    /// files of all these column families.
    ///
    /// # Errors
    /// The errors of [`Family::flush`].
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

    /// Creates several column families, in the order of the list. One call writes the OPTIONS file once. RocksDB:
    /// `CreateColumnFamilies`.
    ///
    /// # Errors
    /// The errors of [`Db::create_family`], for the first column family that cannot be created. The column families
    /// before this one exist; [`Db::family`] returns them.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let named = |name: &str| FamilyDescriptor::new(name, FamilyOptions::default());
    /// let made = db.create_families(vec![named("users"), named("orders")])?;
    /// assert_eq!(made[1].name(), "orders");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create_families(&self, descriptors: Vec<FamilyDescriptor>) -> Result<Vec<Family>> {
        let made = self.engine().admin().create_families(descriptors)?;
        Ok(made.into_iter().map(|family| Family::new(self.engine().clone(), family)).collect())
    }

    /// Drops several column families, in the order of the list. RocksDB: `DropColumnFamilies`.
    ///
    /// # Errors
    /// The errors of [`Db::drop_family`], for the first column family that cannot be dropped.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let users = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// db.drop_families(&[users])?;
    /// assert_eq!(db.families().len(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn drop_families(&self, families: &[Family]) -> Result<()> {
        families.iter().try_for_each(|family| self.drop_family(family))
    }

    /// Returns the values of keys of several column families, in the order of the keys. All values belong to one
    /// sequence number. RocksDB: `MultiGet` with column families.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let users = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// users.put(b"1", b"Ada")?;
    /// let found = db.multi_get_families(&[(&db, b"1"), (&users, b"1")], &ReadOptions::default());
    /// assert!(found[0].as_ref().unwrap().is_none());
    /// assert_eq!(found[1].as_ref().unwrap().as_deref(), Some(&b"Ada"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_families(
        &self,
        keys: &[(&Family, &[u8])],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Pinned>>> {
        let keys: Vec<_> = keys.iter().map(|(family, key)| (family.inner(), *key)).collect();
        self.engine().together().multi_get(&keys, options)
    }

    /// Returns one iterator for each column family. All iterators show one sequence number. RocksDB: `NewIterators`.
    ///
    /// # Errors
    /// The errors of [`Family::iter_with`], for the first column family whose iterator cannot be made.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let users = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// users.put(b"1", b"Ada")?;
    /// let mut iters = db.iterators(&db.families(), &ReadOptions::default())?;
    /// iters.iter_mut().for_each(|iter| iter.seek_to_first());
    /// assert!(!iters[0].valid());
    /// assert_eq!(iters[1].value(), b"Ada");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iterators(&self, families: &[Family], options: &ReadOptions) -> Result<Vec<Iter>> {
        let families: Vec<_> = families.iter().map(|family| family.inner().clone()).collect();
        self.engine().together().iterators(&families, options)
    }
}
