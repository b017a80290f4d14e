//! `rocksdb_options_t`: the options of a database and of a column family in one handle.
//!
//! [`db`] and [`family`] are the options with a single value. [`text`] has the options that are strings. [`components`] are
//! objects that options hold. [`compression`] has options of several numbers. [`presets`] changes several options for a purpose.

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
use engine::options::{DbOptions, FamilyOptions};
use engine::remote::CompactionService;
use ironstone::binding::TableCache;
use table::sst::BlockCache;

use crate::abi::rejected::has_rejected;
use crate::abi::{Owned, Rejected};
use crate::listener::{CListener, bound};
use crate::log::SharedLogger;

/// The options of a database and of a column family.
#[derive(Clone, Default)]
pub struct rocksdb_options_t {
    pub db: DbOptions,
    pub family: FamilyOptions,
    pub(crate) rejected: Rejected,
    pub(crate) listeners: Vec<Arc<CListener>>,
    /// The block cache of the table options.
    pub(crate) table_cache: TableCache,
    /// The cache for values in blob files.
    pub(crate) blob_cache: Option<Arc<BlockCache>>,
    /// The WAL filter: it decides about each WAL record during recovery.
    pub(crate) wal_filter: Option<Arc<dyn WalFilter>>,
    /// Runs subcompactions in other processes.
    pub(crate) compaction_service: Option<Arc<dyn CompactionService>>,
    /// The rejected values of the table options.
    pub(crate) table_rejected: Rejected,
    /// The logger that the program passed.
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
    /// InvalidArgument for a rejected value, NotSupported for a feature that Ironstone does not have. The message names the
    /// option.
    pub(crate) fn open_request(&self, path: &Path) -> Result<OpenRequest> {
        self.check()?;
        let mut request = OpenRequest::new(path, self.traced_db_options(), self.family.clone());
        request.components = self.components()?;
        request.others = Some(self.family.clone());
        for family in &mut request.families {
            family.blob_cache.clone_from(&self.blob_cache);
        }
        Ok(request)
    }

    /// Returns the options of the database, with an environment for `rocksdb_start_io_trace`.
    fn traced_db_options(&self) -> DbOptions {
        DbOptions { env: ironstone::trace::io_traced(&self.db.env), ..self.db.clone() }
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.rejected.check()?;
        self.table_rejected.check()
    }

    /// Makes the descriptor of a column family with these options.
    ///
    /// # Errors
    /// The errors of [`Self::open_request`].
    pub(crate) fn descriptor(&self, name: &str) -> Result<FamilyDescriptor> {
        self.check()?;
        let mut descriptor = FamilyDescriptor::new(name, self.family.clone());
        descriptor.block_cache = self.table_cache.get(&self.family.table_factory)?;
        descriptor.blob_cache = self.blob_cache.clone();
        Ok(descriptor)
    }

    /// Makes the descriptor of a column family for `ironstone`.
    ///
    /// # Errors
    /// The errors of [`Self::open_request`].
    pub(crate) fn front_descriptor(&self, name: &str) -> Result<ironstone::FamilyDescriptor> {
        let FamilyDescriptor { name, options, block_cache, blob_cache } = self.descriptor(name)?;
        Ok(ironstone::FamilyDescriptor { name, options, block_cache, blob_cache })
    }

    /// Makes the options for `ironstone`, for an open with descriptors of all column families. The block cache of these options is
    /// no cache of such an open: each descriptor has its own.
    ///
    /// # Errors
    /// The errors of [`Self::open_request`].
    pub(crate) fn front_options(&self) -> Result<ironstone::Options> {
        self.check()?;
        Ok(ironstone::Options {
            db: self.traced_db_options(),
            family: self.family.clone(),
            listeners: bound(&self.listeners),
            block_cache: None,
            wal_filter: self.wal_filter.clone(),
            compaction_service: self.compaction_service.clone(),
        })
    }

    /// Returns the components of an open.
    ///
    /// # Errors
    /// InvalidArgument if no block cache can have the settings of the table options.
    pub(crate) fn components(&self) -> Result<Components> {
        Ok(Components {
            listeners: bound(&self.listeners),
            block_cache: self.table_cache.get(&self.family.table_factory)?,
            wal_filter: self.wal_filter.clone(),
            compaction_service: self.compaction_service.clone(),
            ..Components::default()
        })
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
        let mut front = ironstone::Options {
            db: base_options.db.clone(),
            family: base_options.family.clone(),
            ..ironstone::Options::default()
        };
        let mut changed = base_options.clone();
        changed.table_cache.update(&mut front, opts_str)?;
        (changed.db, changed.family) = (front.db, front.family);
        *new_options = changed;
        Ok(())
    }
}

/// Converts text to a C string. Text after a NUL is dropped.
pub(crate) fn c_string(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}
