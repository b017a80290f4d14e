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
pub(crate) mod retired;
pub(crate) mod retired_setters;

use std::sync::Arc;

use engine::components::WalFilter;
use engine::options::{DbOptions, FamilyOptions};
use ironstone::{FamilyDescriptor, Options};
use table::sst::BlockCache;

use self::retired::Retired;

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
    /// The block cache of the block-based table options. `None`: the open makes a cache.
    pub block_cache: Option<Arc<BlockCache>>,
    /// The options that only older releases have.
    pub(crate) retired: Retired,
}

impl OptionSet {
    /// Returns the options for an open by this thread. Binds the listeners to the database of the open.
    pub fn for_open(&self) -> Options {
        Options {
            db: self.db.clone(),
            family: self.retired.apply(&self.family),
            block_cache: self.block_cache.clone(),
            listeners: listener::bind(&self.listeners),
            wal_filter: self.wal_filter.clone(),
            compaction_service: None,
        }
    }

    /// Returns the descriptor of a column family with these options.
    pub fn descriptor(&self, name: &str) -> FamilyDescriptor {
        let mut descriptor = FamilyDescriptor::new(name, self.retired.apply(&self.family));
        descriptor.block_cache = self.block_cache.clone();
        descriptor
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
        both.block_cache = family.block_cache.clone();
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
        Handle::new(OptionSet { block_cache: None, ..OptionSet::clone(&*options.shared::<OptionSet>()?) })
    }
}
