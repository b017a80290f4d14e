//! Makes handles of this crate from handles of the engine. For the C library and the Java library, which open
//! databases through the engine.

use std::sync::Arc;

use base::Result;

use crate::{Db, Family};

impl Db {
    /// Returns a handle of a database that the engine opened.
    ///
    /// # Errors
    /// ShutdownInProgress if the database is closed.
    ///
    /// ```
    /// use ironstone::{Db, Options};
    ///
    /// let mut options = Options::in_memory();
    /// options.db.create_if_missing = true;
    /// let db = Db::open("data", options)?;
    /// let same = Db::from_engine(db.engine().clone())?;
    /// db.put(b"k", b"v")?;
    /// assert_eq!(same.get(b"k")?.as_deref(), Some(&b"v"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn from_engine(engine: engine::db::Db) -> Result<Db> {
        Db::new(engine)
    }

    /// Returns a handle of a column family that the engine opened. `family` must belong to this database.
    ///
    /// ```
    /// use ironstone::{Db, Options};
    ///
    /// let mut options = Options::in_memory();
    /// options.db.create_if_missing = true;
    /// let db = Db::open("data", options)?;
    /// let family = db.family_from_engine(db.engine().default_family()?);
    /// assert_eq!(family.name(), "default");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn family_from_engine(&self, family: Arc<engine::family::Family>) -> Family {
        Family::new(self.engine().clone(), family)
    }
}
