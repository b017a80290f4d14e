//! Makes the settings of the parts of a database from its options.

use std::path::{Path, PathBuf};

use base::{Error, Result};
use env::Env;
use env::logger::{FileLogger, Logger, NullLogger};
use mem::cache::{Cache, CacheOptions};
use table::sst::BlockCache;

use crate::components::{Components, FamilyDescriptor};
use crate::event::Events;
use crate::family::{FamilySet, Parts};
use crate::files::Paths;
use crate::info_log::info_log_files;
use crate::manifest::ManifestSettings;
use crate::options::{CompressionType, DbOptions, FamilyOptions, TableFactory, refuse};
use crate::recovery::RequestedFamily;
use crate::sync::{Arc, Mutex};
use crate::wal::WalSettings;

/// Creates a directory and its missing ancestors, and makes their names durable: a database that was synced must not
/// disappear with its directory. Only the parents of created directories are synced. Other ancestors may be unreadable
/// (mode 0711) or on a file system that cannot sync directories.
///
/// # Errors
/// Errors of the file system. A parent that the process may write but not read cannot be synced; this is no error.
pub fn make_dir(env: &Env, dir: &Path) -> Result<()> {
    let mut created = Vec::new();
    let mut at = Some(dir);
    while let Some(missing) = at.filter(|dir| !dir.as_os_str().is_empty()) {
        if env.fs.exists(missing)? {
            break;
        }
        created.push(missing);
        at = missing.parent();
    }
    if created.is_empty() {
        return Ok(());
    }
    env.fs.create_dir_all(dir)?;
    for dir in created {
        let parent = dir.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match env.fs.open_dir(parent) {
            Ok(parent) => parent.sync()?,
            Err(error) if is_permission_denied(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_permission_denied(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|e| e.downcast_ref::<std::io::Error>());
    source.is_some_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied)
}

/// Returns the logger of the options, or opens the info log. A read-only open without a logger writes no info
/// log.
///
/// # Errors
/// An error of creating the info log.
pub fn logger(options: &DbOptions, paths: &Paths, read_only: bool) -> Result<Arc<dyn Logger>> {
    if let Some(logger) = &options.info_log {
        return Ok(logger.clone());
    }
    if read_only {
        return Ok(Arc::new(NullLogger));
    }
    let log_dir = (!options.db_log_dir.is_empty()).then(|| PathBuf::from(&options.db_log_dir));
    let settings = info_log_files(options);
    let (fs, clock) = (options.env.fs.clone(), options.env.clock.clone());
    Ok(Arc::new(FileLogger::open(fs, clock, &paths.db, log_dir.as_deref(), settings)?))
}

/// The block caches for column families that have none of their own.
pub struct Caches {
    /// The cache for all of these column families, if the application gave one.
    given: Option<Arc<BlockCache>>,
    /// Caches made from the options of column families. Column families with equal cache options share a cache.
    made: Mutex<Vec<Arc<BlockCache>>>,
}

impl Clone for Caches {
    fn clone(&self) -> Self {
        Caches { given: self.given.clone(), made: Mutex::new(self.made.lock().clone()) }
    }
}

impl Caches {
    /// Takes the block cache of the application, if there is one. Makes no cache.
    pub fn new(components: &Components) -> Self {
        Caches { given: components.block_cache.clone(), made: Mutex::new(Vec::new()) }
    }

    /// Returns the block cache for a column family with this table factory.
    fn of(&self, factory: &TableFactory) -> Result<Arc<BlockCache>> {
        if let Some(cache) = &self.given {
            return Ok(cache.clone());
        }
        let options = match factory {
            TableFactory::BlockBased(table) => table.block_cache.options,
            TableFactory::Adaptive(tables) => tables.block_based.block_cache.options,
            TableFactory::Plain(_) | TableFactory::Cuckoo(_) | TableFactory::Other { .. } => {
                CacheOptions::default()
            }
        };
        let mut made = self.made.lock();
        if let Some(cache) = made.iter().find(|cache| *cache.options() == options) {
            return Ok(cache.clone());
        }
        let cache = Cache::new(options)?;
        made.push(cache.clone());
        Ok(cache)
    }
}

/// Returns the option values of a column family that are not supported.
pub fn family_gaps(name: &str, options: &FamilyOptions, read_only: bool) -> Vec<String> {
    if read_only { options.unsupported_for_reading(name) } else { options.unsupported(name) }
}

/// The call that names a column family.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FamilyUse {
    Open,
    OpenForReading,
    /// The options of the table factory are checked at the next open, as in RocksDB.
    Create,
}

/// Checks and sanitizes the options of a column family, and derives its parts.
pub fn request_of(
    d: &FamilyDescriptor,
    db: &DbOptions,
    dir: &Path,
    caches: &Caches,
    events: &Events,
    call: FamilyUse,
) -> Result<RequestedFamily> {
    // With a memory budget, all column families use the block cache of the budget.
    let own_cache = d.block_cache.as_ref().filter(|_| db.memory_budget_bytes == 0);
    let cache = match own_cache {
        Some(cache) => cache.clone(),
        None => caches.of(&d.options.table_factory)?,
    };
    let mut options = d.options.clone();
    if db.memory_budget_bytes > 0 {
        options.fit_memory_budget(db.memory_budget_bytes)?;
    }
    match call {
        FamilyUse::Create | FamilyUse::OpenForReading => options.validate_without_cache(&d.name, db)?,
        FamilyUse::Open => options.validate(&d.name, db)?,
    }
    refuse(&family_gaps(&d.name, &options, call == FamilyUse::OpenForReading))?;
    let mut mended = Vec::new();
    options.sanitize(db, false, &mut mended);
    db.compat.cap(&mut options)?;
    mended.iter().for_each(|line| events.warn(format_args!("{line}")));
    let parts = Parts::resolve(&options, db, dir, Some(cache), d.blob_cache.clone())?.with_blob_charge()?;
    Ok(RequestedFamily { name: d.name.clone(), options: Arc::new(options), parts: Arc::new(parts) })
}

/// The number of column families whose options are written to the info log, as in RocksDB. The options of all column
/// families are in the OPTIONS file.
const LOGGED_FAMILIES: usize = 10;

/// Writes the options of a column family to the info log: 22 KB. `index` is its position among the column families.
/// Programs read the options from the info log, so each of the first column families has all lines.
pub fn log_family(events: &Events, request: &RequestedFamily, index: usize) {
    let name = &request.name;
    if index >= LOGGED_FAMILIES {
        events.info(format_args!(
            "--------------- Options for column family [{name}]: (skipping printing options)"
        ));
        return;
    }
    events.header(format_args!("--------------- Options for column family [{name}]:"));
    events.headers(|| request.log_lines());
}

/// Returns how many SST files may be open: `max_open_files` less ten for other files, as in RocksDB. `None` means
/// no limit.
pub fn tables_max(max_open_files: i32) -> Option<usize> {
    // A limit of ten or less leaves one table.
    usize::try_from(max_open_files).ok().map(|n| n.saturating_sub(10).max(1))
}

/// Returns the size of the memtables at which replay flushes them. With this limit, the write buffer
/// manager's limit also holds before the first writer runs. As in RocksDB, the limit is seven eighths of
/// the write buffer manager's limit.
pub fn replay_memory_max(o: &DbOptions) -> Option<usize> {
    const LEAST: usize = 64 << 10;
    let (budget, used) = match &o.write_buffer_manager {
        Some(manager) => (manager.buffer_size(), manager.memory_usage()),
        None => (o.db_write_buffer_size, 0),
    };
    let bounded = o.enforce_write_buffer_manager_during_recovery && budget > 0;
    // Memtables of other databases may use more than the budget.
    bounded.then(|| (budget - budget / 8).saturating_sub(used).max(LEAST))
}

/// Returns the settings of the MANIFEST. A negative `max_manifest_space_amp_pct` counts as 0.
pub fn manifest_settings(o: &DbOptions, paths: &Paths) -> ManifestSettings {
    ManifestSettings {
        dir: paths.db.clone(),
        preallocate_bytes: if o.allow_fallocate { o.manifest_preallocation_size as u64 } else { 0 },
        max_file_size: o.max_manifest_file_size,
        max_space_amp_pct: u64::try_from(o.max_manifest_space_amp_pct).unwrap_or(0),
        use_fsync: o.use_fsync,
    }
}

/// Returns the settings of the WALs. A `wal_compression` other than ZSTD writes uncompressed WALs.
pub fn wal_settings(o: &DbOptions, paths: &Paths) -> Result<WalSettings> {
    Ok(WalSettings {
        recyclable: o.recycle_log_file_num > 0,
        manual_flush: o.manual_wal_flush,
        buffer_bytes_max: o.writable_file_max_buffer_size,
        use_fsync: o.use_fsync,
        bytes_per_sync: o.wal_bytes_per_sync,
        note_predecessor: o.track_and_verify_wals,
        compressor: (o.wal_compression == CompressionType::ZSTD).then(crate::wal::compression::compressor),
        memory_budget: o.memory_budget.clone(),
        ..WalSettings::plain(paths.wal.clone())
    })
}

/// The largest space in bytes that a WAL reserves at once. Reserving space for a memtable of 1 GB, of which a tenth
/// was used, took 0.35 s on a tmpfs, and freeing it took 0.17 s.
const WAL_PIECE: u64 = 16 << 20;

/// Returns how many bytes a sync of a WAL reserves at a time: a tenth more than the largest memtable. The limits of
/// all WALs and memtables, and [`WAL_PIECE`], bound this size. 0 reserves nothing.
pub fn wal_preallocate(o: &DbOptions, families: &FamilySet) -> u64 {
    if !o.allow_fallocate {
        return 0;
    }
    let buffer =
        families.all().iter().map(|f| f.parts().pick.buffers.write_buffer_size).max().unwrap_or(64 << 20);
    let bytes = buffer.saturating_add(buffer / 10).min(WAL_PIECE);
    [o.max_total_wal_size, o.db_write_buffer_size as u64].into_iter().filter(|n| *n > 0).fold(bytes, u64::min)
}

/// Returns the directories that the column families bring (`cf_paths`).
pub fn family_dirs(families: &[FamilyDescriptor]) -> Vec<PathBuf> {
    families.iter().flat_map(|f| f.options.cf_paths.iter().map(|p| p.path.clone())).collect()
}

/// Checks the name of a column family that is to be created. RocksDB reserves the empty name.
///
/// # Errors
/// InvalidArgument for the empty name.
pub fn check_new_name(name: &str) -> Result<()> {
    match name.is_empty() {
        true => Err(Error::invalid_argument("Column family name cannot be the empty string")),
        false => Ok(()),
    }
}
