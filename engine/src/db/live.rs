//! Options changed while the database is open.

use base::{Error, Result};

use super::Db;
use crate::family::{Family, Parts};
use crate::options::{DbOptions, FamilyOptions, Row};
use crate::sync::Arc;
use crate::write::wal_bytes_max;

impl Db {
    /// Changes options of a family, given as name and text.
    ///
    /// # Errors
    /// InvalidArgument for an option that does not exist, cannot change while open, or a value out of
    /// range; nothing is changed then.
    pub fn set_options(&self, family: &Arc<Family>, changes: &[(&str, &str)]) -> Result<()> {
        let writing = self.writing()?;
        let guard = self.inner.changes.lock();
        let mut options = (*family.options()).clone();
        for (name, text) in changes {
            set_one(FamilyOptions::ROWS, &mut options, name, text)?;
        }
        let cache = family.parts().block_cache.clone();
        let parts = Parts::resolve(&options, &self.inner.tools.options.load(), cache)?;
        family.set_options(Arc::new(options), Arc::new(parts));
        writing.background.reconsider(family);
        drop(guard);
        self.options_changed()
    }

    /// Changes options of the database, given as name and text.
    ///
    /// # Errors
    /// As [`Db::set_options`].
    pub fn set_db_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        let writing = self.writing()?;
        let inner = &self.inner;
        let guard = inner.changes.lock();
        let mut options = (**inner.tools.options.load()).clone();
        for (name, text) in changes {
            set_one(DbOptions::ROWS, &mut options, name, text)?;
        }
        inner.tables.set_tables_max(super::open::tables_max(options.max_open_files));
        writing.writer.set_wal_bytes_max(wal_bytes_max(options.max_total_wal_size, &inner.families.all()));
        inner.tools.options.store(Arc::new(options));
        writing.background.size_pools();
        for family in inner.families.all() {
            writing.background.reconsider(&family);
        }
        drop(guard);
        self.options_changed()
    }

    /// Families or options changed: the OPTIONS file is written anew.
    pub(super) fn options_changed(&self) -> Result<()> {
        super::open::write_options_file(&self.inner.tools, &self.inner.families)
    }
}

fn set_one<T: Default>(rows: &[Row<T>], options: &mut T, name: &str, text: &str) -> Result<()> {
    match rows.iter().find(|row| row.name == name) {
        Some(row) if row.is_mutable() => (row.parse)(options, text),
        Some(_) => Err(Error::invalid_argument(format!("Option not changeable: {name}"))),
        None => Err(Error::invalid_argument(format!("Unrecognized option: {name}"))),
    }
}
