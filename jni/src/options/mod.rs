//! `Options`, `DBOptions`, `ColumnFamilyOptions`: one object for all three classes.
//!
//! [`db`] and [`family`] are the rows of numbers. [`components`] are objects that options hold. [`groups`] are groups of
//! values, copies, and texts. [`retired`] are options that RocksDB 11.8.1 no longer has.

mod components;
mod db;
mod factories;
mod family;
mod files;
mod groups;
#[cfg(test)]
mod names;
pub(crate) mod retired;
pub(crate) mod retired_setters;

use std::sync::Arc;

use self::retired::Retired;
use base::Result;
use engine::components::WalFilter;
use engine::options::{DbOptions, FamilyOptions};
use ironstone::binding::TableCache;
use ironstone::{FamilyDescriptor, Options};

use crate::handle::Handle;
use crate::listener::{self, JavaListener};
use crate::native::{disposers, natives};

/// The options of a database and of a column family.
#[derive(Clone, Default)]
pub struct OptionSet {
    pub db: DbOptions,
    pub family: FamilyOptions,
    pub listeners: Vec<Arc<JavaListener>>,
    /// The WAL filter: it decides about each WAL record during recovery.
    pub wal_filter: Option<Arc<dyn WalFilter>>,
    /// The block cache of the table options.
    pub table_cache: TableCache,
    /// The options that only older releases have.
    pub(crate) retired: Retired,
}

impl OptionSet {
    /// Returns the options for an open without descriptors by this thread. Binds the listeners to the database of the open.
    ///
    /// # Errors
    /// The errors of [`Self::descriptor`].
    pub fn for_open(&self) -> Result<Options> {
        let block_cache = self.table_cache.get(&self.family.table_factory)?;
        Ok(Options { block_cache, ..self.for_descriptors() })
    }

    /// Returns the options for an open with descriptors by this thread. Each descriptor has its own block cache, so these options have
    /// none. Binds the listeners to the database of the open.
    pub fn for_descriptors(&self) -> Options {
        Options {
            db: self.db.clone(),
            family: self.retired.apply(&self.family),
            block_cache: None,
            listeners: listener::bind(&self.listeners),
            wal_filter: self.wal_filter.clone(),
            compaction_service: None,
        }
    }

    /// Returns the descriptor of a column family with these options.
    ///
    /// # Errors
    /// InvalidArgument if no block cache can have the settings of the table options.
    pub fn descriptor(&self, name: &str) -> Result<FamilyDescriptor> {
        let block_cache = self.table_cache.get(&self.family.table_factory)?;
        Ok(FamilyDescriptor { block_cache, ..FamilyDescriptor::new(name, self.retired.apply(&self.family)) })
    }
}

disposers! {
    Options: OptionSet;
    DBOptions: OptionSet;
    ColumnFamilyOptions: OptionSet;
}

natives! {
    /// Makes options with the defaults of RocksDB 11.8.1.
    fn Options_newOptions__ | DBOptions_newDBOptions | ColumnFamilyOptions_newColumnFamilyOptions[_]() -> Handle {
        Handle::new(OptionSet::default())
    }

    /// Makes options from the options of a database and the options of a column family.
    fn Options_newOptions__JJ[_](db: Handle, family: Handle) -> Handle {
        let (db, family) = (db.shared::<OptionSet>()?, family.shared::<OptionSet>()?);
        let mut both = OptionSet::clone(&db);
        both.family = family.family.clone();
        both.retired = both.retired.with_family_of(&family.retired);
        both.table_cache = family.table_cache.clone();
        Handle::new(both)
    }

    /// Copies options. Components are shared with the copy.
    fn Options_copyOptions | DBOptions_copyDBOptions | ColumnFamilyOptions_copyColumnFamilyOptions
        | ColumnFamilyOptions_newColumnFamilyOptionsFromOptions[_](
        options: Handle
    ) -> Handle {
        Handle::new(OptionSet::clone(&*options.shared::<OptionSet>()?))
    }

    /// Copies the options of a database. The block cache belongs to the table options of a column family, so the copy has none.
    fn DBOptions_newDBOptionsFromOptions[_](options: Handle) -> Handle {
        Handle::new(OptionSet { table_cache: TableCache::default(), ..OptionSet::clone(&*options.shared::<OptionSet>()?) })
    }
}
