//! What a database is opened with, and what a read is asked with.

use std::sync::Arc;

use base::Result;
use engine::event::Listener;
use engine::options::{DbOptions, FamilyOptions};
use table::sst::BlockCache;

pub use engine::options::ReadOptions;

/// Options of a database and of its default column family. Defaults are RocksDB 11.8.1's.
#[derive(Clone, Default)]
pub struct Options {
    /// RocksDB's `DBOptions`.
    pub db: DbOptions,
    /// RocksDB's `ColumnFamilyOptions`, for the default family and for families that bring none.
    pub family: FamilyOptions,
    /// The block cache, which several databases may share. `None`, the default, makes one of 32 MiB.
    pub block_cache: Option<Arc<BlockCache>>,
    /// Told of flushes, compactions, files and errors.
    pub listeners: Vec<Arc<dyn Listener>>,
}

impl Options {
    /// Sets options by RocksDB's names: `max_open_files=100;write_buffer_size=1048576;...`, of the database or
    /// of the family, whichever has the name.
    ///
    /// # Errors
    /// InvalidArgument naming an option that does not exist or a value it does not take; nothing is changed.
    pub fn update(&mut self, text: &str) -> Result<()> {
        let mut changed = self.clone();
        for (name, value) in format::options_ini::parse_map(text)? {
            if DbOptions::is_known(&name) {
                changed.db.set(&name, &value)?;
            } else {
                changed.family.set(&name, &value)?;
            }
        }
        *self = changed;
        Ok(())
    }
}

/// A column family to open or create, with options of its own.
#[derive(Clone)]
pub struct FamilyDescriptor {
    pub name: String,
    pub options: FamilyOptions,
    /// `None`: the database's.
    pub block_cache: Option<Arc<BlockCache>>,
}

impl FamilyDescriptor {
    pub fn new(name: impl Into<String>, options: FamilyOptions) -> Self {
        FamilyDescriptor { name: name.into(), options, block_cache: None }
    }
}

impl From<FamilyDescriptor> for engine::components::FamilyDescriptor {
    fn from(from: FamilyDescriptor) -> Self {
        engine::components::FamilyDescriptor {
            name: from.name,
            options: from.options,
            block_cache: from.block_cache,
        }
    }
}
