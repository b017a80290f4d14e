//! A column family: the handle, its name and its options.
//!
//! [`Family`] has all calls that concern one column family. [`Db`](crate::Db) dereferences to the handle of the
//! default column family, so each call is written once. The calls are in `write`, `read`, `tree` and `properties`.
//!
//! Not here: calls that concern several column families or the whole database. They are in `db`.

use std::sync::Arc;

use base::Result;
use engine::options::FamilyOptions;

/// A handle to a column family.
///
/// A clone is cheap. A handle keeps the database open. After the column family is dropped, the handle can still read
/// the data, and writes fail.
///
/// ```
/// use ironstone::{Db, FamilyDescriptor, FamilyOptions, Options};
///
/// let db = Db::open("data", Options::in_memory())?;
/// let users = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
/// users.put(b"1", b"Ada")?;
/// assert!(db.get(b"1")?.is_none()); // `db` is the column family "default"
/// assert_eq!(users.get(b"1")?.as_deref(), Some(&b"Ada"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct Family {
    pub(crate) db: engine::db::Db,
    pub(crate) inner: Arc<engine::family::Family>,
}

impl Family {
    pub(crate) fn new(db: engine::db::Db, inner: Arc<engine::family::Family>) -> Self {
        Family { db, inner }
    }

    pub(crate) fn inner(&self) -> &Arc<engine::family::Family> {
        &self.inner
    }

    pub(crate) fn engine(&self) -> &engine::db::Db {
        &self.db
    }

    /// Returns the name of the column family.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.default_family().name(), "default");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// Returns the number of the column family. Write batches carry this number. The default column family has
    /// number 0.
    ///
    /// ```
    /// # use ironstone::FamilyId;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.id(), FamilyId::DEFAULT);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn id(&self) -> base::FamilyId {
        self.inner.id()
    }

    /// Returns the current options of the column family.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.options().write_buffer_size, 64 << 20);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn options(&self) -> Arc<FamilyOptions> {
        self.inner.options()
    }

    /// Changes options of the open column family. Each change is the name and the text of an option.
    ///
    /// # Errors
    /// InvalidArgument if an option does not exist, if an option cannot change after open, or if a value is not
    /// valid. Then no option is changed.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.set_options(&[("write_buffer_size", "1048576")])?;
    /// assert_eq!(db.options().write_buffer_size, 1 << 20);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        self.db.admin().set_options(&self.inner, changes)
    }
}

impl std::fmt::Debug for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.inner)
    }
}
