//! `rocksdb_options_t`: the options of a database and of a column family in one handle.
//!
//! [`db`] and [`family`] are the rows; [`text`] are the options that are strings; [`components`] are objects that options
//! hold; [`compression`] are options of several numbers; [`presets`] are groups of values for a purpose.

mod components;
mod compression;
mod db;
mod family;
mod latest;
mod lists;
mod presets;
mod text;

use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use base::Result;
use engine::components::{Components, FamilyDescriptor, WalFilter};
use engine::db::OpenRequest;
use engine::event::Listener;
use engine::options::{DbOptions, FamilyOptions};
use table::sst::BlockCache;

use crate::abi::rejected::has_rejected;
use crate::abi::{Owned, Rejected};
use crate::log::SharedLogger;

/// The options of a database and of a column family.
#[derive(Clone, Default)]
pub struct rocksdb_options_t {
    pub db: DbOptions,
    pub family: FamilyOptions,
    pub(crate) rejected: Rejected,
    pub(crate) listeners: Vec<Arc<dyn Listener>>,
    /// The block cache of the block-based table options. `None`: the database makes a cache.
    pub(crate) block_cache: Option<Arc<BlockCache>>,
    /// The cache for values in blob files.
    pub(crate) blob_cache: Option<Arc<BlockCache>>,
    /// Sees the WAL records at an open.
    pub(crate) wal_filter: Option<Arc<dyn WalFilter>>,
    /// The rejected options of the tables.
    pub(crate) table_rejected: Rejected,
    /// The logger that the program handed in.
    pub(crate) logger: Option<SharedLogger>,
    /// The level of the statistics. Statistics exist after `rocksdb_options_enable_statistics`.
    pub(crate) lists: lists::Lists,
    /// The text that the last `rocksdb_options_get_..._dir` call returned.
    pub(crate) returned: text::Returned,
}
has_rejected!(rocksdb_options_t);

impl rocksdb_options_t {
    /// Makes the request to open a database at `path` with these options.
    ///
    /// # Errors
    /// InvalidArgument for a rejected value, NotSupported for a feature that is not built. The message names the option.
    pub(crate) fn open_request(&self, path: &Path) -> Result<OpenRequest> {
        self.check()?;
        let mut request = OpenRequest::new(path, self.db.clone(), self.family.clone());
        request.components = self.components();
        request.others = Some(self.family.clone());
        for family in &mut request.families {
            family.blob_cache.clone_from(&self.blob_cache);
        }
        Ok(request)
    }

    fn check(&self) -> Result<()> {
        self.rejected.check()?;
        self.table_rejected.check()
    }

    /// Makes the descriptor of a column family with these options.
    ///
    /// # Errors
    /// As [`Self::open_request`].
    pub(crate) fn descriptor(&self, name: &str) -> Result<FamilyDescriptor> {
        self.check()?;
        let mut descriptor = FamilyDescriptor::new(name, self.family.clone());
        descriptor.block_cache = self.block_cache.clone();
        descriptor.blob_cache = self.blob_cache.clone();
        Ok(descriptor)
    }

    /// Makes the descriptor of a column family, as `ironstone` takes it.
    ///
    /// # Errors
    /// As [`Self::open_request`].
    pub(crate) fn front_descriptor(&self, name: &str) -> Result<ironstone::FamilyDescriptor> {
        let FamilyDescriptor { name, options, block_cache, blob_cache } = self.descriptor(name)?;
        Ok(ironstone::FamilyDescriptor { name, options, block_cache, blob_cache })
    }

    /// Makes the options, as `ironstone` takes them.
    ///
    /// # Errors
    /// As [`Self::open_request`].
    pub(crate) fn front_options(&self) -> Result<ironstone::Options> {
        self.check()?;
        Ok(ironstone::Options {
            db: self.db.clone(),
            family: self.family.clone(),
            listeners: self.listeners.clone(),
            block_cache: self.block_cache.clone(),
            wal_filter: self.wal_filter.clone(),
        })
    }

    pub(crate) fn components(&self) -> Components {
        Components {
            listeners: self.listeners.clone(),
            block_cache: self.block_cache.clone(),
            wal_filter: self.wal_filter.clone(),
            ..Components::default()
        }
    }
}

c_api! {
    /// Creates options with the defaults of RocksDB 11.8.1.
    fn rocksdb_options_create() -> Owned<rocksdb_options_t> {
        Owned(rocksdb_options_t::default())
    }

    /// Destroys options. Databases that were opened with them keep their copy. Accepts null.
    fn rocksdb_options_destroy(options: own rocksdb_options_t) {
        drop(options)
    }

    /// Copies options. Components such as caches are shared with the copy.
    fn rocksdb_options_create_copy(options: at rocksdb_options_t) -> Owned<rocksdb_options_t> {
        Owned(options.clone())
    }

    /// Copies `base_options` to `new_options` and sets options from text, for example
    /// `write_buffer_size=1048576;compression=kNoCompression`. After an error `new_options` is unchanged.
    fn rocksdb_get_options_from_string(
        base_options: in rocksdb_options_t, opts_str: text, new_options: mut rocksdb_options_t, err
    ) {
        let mut changed = base_options.clone();
        for (name, value) in format::options_ini::parse_map(opts_str)? {
            if DbOptions::is_known(&name) {
                changed.db.set(&name, &value)?;
            } else {
                changed.family.set(&name, &value)?;
            }
        }
        *new_options = changed;
        Ok(())
    }
}

/// A string for C. A NUL inside ends the string early.
pub(crate) fn c_string(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}
