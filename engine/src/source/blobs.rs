//! Reads values from blob files.
//!
//! ```text
//! blob index ─► is the file in the version? ─► blob cache ─► open blob files ─► table::blob::BlobReader
//!               or in `direct`, for an entry of a memtable
//! ```
//! [`BlobReads`] serves one read (a lookup, an iterator, a compaction). [`OpenBlobs`] holds the open blob files of the
//! database. Embedded blobs (file 0) never come here: the iterators and lookups of their SST file resolve them.
//!
//! Source: RocksDB `db/blob/blob_source.cc`, `db/version_set.cc` (`Version::GetBlob`).

use base::map::FileMap;
use base::stats::{PerfCounter, Statistics, Ticker, perf_add};
use base::{Error, FamilyId, FileNumber, Pinned, Result};
use env::Env;
use env::fs::ReadHints;
use format::blob::BlobRef;
use format::wide::{self, Column};
use lsm::blob_flow::blob_of;
use lsm::version::Version;
use mem::cache::CacheKey;
use table::blob::{BlobAccess, BlobReader};
use table::sst::{CachedBlock, Other};

use super::TableCache;
use crate::direct::{DirectBlobs, DirectFile};
use crate::family::{Parts, blob_cache};
use crate::options::{ReadOptions, ReadTier};
use crate::sync::{Arc, OnceLock, RwLock};

/// Settings for opening blob files.
#[derive(Clone)]
pub struct BlobSettings {
    pub direct_reads: bool,
    pub advise_random: bool,
    pub db_id: Arc<str>,
    pub db_session_id: Arc<str>,
    pub statistics: Option<Arc<Statistics>>,
}

/// The open blob files of one database, by file number. All threads may use them.
pub struct OpenBlobs {
    env: Env,
    settings: BlobSettings,
    /// Locked only for a hash lookup, never during I/O.
    readers: RwLock<FileMap<Arc<BlobReader>>>,
    /// The blob files that memtables refer to.
    direct: OnceLock<Arc<DirectBlobs>>,
}

impl OpenBlobs {
    /// Makes the set without an open file. A blob file is opened at its first read.
    pub fn new(env: Env, settings: BlobSettings) -> Self {
        OpenBlobs { env, settings, readers: RwLock::default(), direct: OnceLock::new() }
    }

    /// Returns the open blob file `number` of column family `family`. Opens the file if it is not open. If more than
    /// `files_max` files are open then, closes another file.
    ///
    /// # Errors
    /// The errors of [`BlobReader::open`].
    pub fn get(
        &self,
        parts: &Parts,
        family: FamilyId,
        number: FileNumber,
        files_max: usize,
    ) -> Result<Arc<BlobReader>> {
        if let Some(reader) = self.readers.read().get(&number) {
            return Ok(reader.clone());
        }
        let hints = self.hints();
        let path = parts.blob_path(number);
        let file =
            self.env.fs.open_random(&path, &hints).map_err(|e| e.doing("opening a blob file").file(&path))?;
        let reader = Arc::new(BlobReader::open(file, family, self.settings.statistics.clone())?);
        let mut readers = self.readers.write();
        if readers.len() >= files_max.max(1)
            && let Some(other) = readers.keys().find(|other| **other != number).copied()
        {
            readers.remove(&other);
        }
        Ok(readers.entry(number).or_insert(reader).clone())
    }

    /// Also reads the blob files that writes append to. Has an effect once.
    pub fn read_direct(&self, direct: Arc<DirectBlobs>) {
        let _ = self.direct.set(direct);
    }

    /// Returns true if a write of this open has put a value into a blob file.
    pub fn has_direct(&self) -> bool {
        self.direct.get().is_some_and(|direct| direct.is_used())
    }

    /// Returns the blob file with this number, if a memtable refers to the file and it may be in no version.
    fn direct(&self, number: FileNumber) -> Option<Arc<DirectFile>> {
        self.direct.get()?.get(number)
    }

    /// Copies an open blob file from another reader of the same database. Returns false if that reader has not opened
    /// the file.
    pub fn adopt(&self, from: &OpenBlobs, number: FileNumber) -> bool {
        let Some(reader) = from.readers.read().get(&number).cloned() else { return false };
        self.readers.write().insert(number, reader);
        true
    }

    /// Closes a blob file before the file is deleted.
    pub fn evict(&self, number: FileNumber) {
        self.readers.write().remove(&number);
    }

    /// Closes all blob files. A file stays open while a reader uses it.
    pub fn clear(&self) {
        self.readers.write().clear();
    }

    fn hints(&self) -> ReadHints {
        ReadHints { direct: self.settings.direct_reads, random: self.settings.advise_random }
    }

    fn cache_key(&self, blob: &BlobRef) -> CacheKey {
        blob_cache::cache_key((&self.settings.db_id, &self.settings.db_session_id), blob)
    }

    fn count(&self, ticker: Ticker, n: u64) {
        if let Some(statistics) = &self.settings.statistics {
            statistics.add(ticker, n);
        }
    }
}

/// The context of blob reads, borrowed from the read that needs the blobs.
#[derive(Clone, Copy)]
pub struct BlobReads<'a> {
    pub tables: &'a TableCache,
    pub version: &'a Version,
    pub parts: &'a Parts,
    pub family: FamilyId,
    pub options: &'a ReadOptions,
}

impl BlobReads<'_> {
    /// Returns the value that `index` (the stored value of an entry of type `BlobIndex`) points to. `user_key` is the
    /// key of the entry, with its timestamp.
    ///
    /// # Errors
    /// Corruption if the index is damaged, comes from the old stacked BlobDB, or names a blob file that is not in the
    /// version. The errors of [`BlobReader::get`]. Incomplete if the read tier forbids I/O.
    pub fn value(&self, user_key: &[u8], index: &[u8]) -> Result<Pinned> {
        self.fetch(user_key, &self.place(index)?)
    }

    /// Returns the place that a blob index names. Checks that the version has the blob file, or that a memtable has it.
    ///
    /// # Errors
    /// The errors of [`BlobReads::value`].
    pub fn place(&self, index: &[u8]) -> Result<BlobRef> {
        let blob = blob_of(index)?;
        let number = blob.file_number;
        if !self.version.blobs().contains_key(&number) && self.tables.blobs().direct(number).is_none() {
            return Err(Error::corruption(format!(
                "Invalid blob file number: blob file {:06} is not in the version of the column family",
                blob.file_number
            )));
        }
        Ok(blob)
    }

    /// Returns the entity with all columns inline. An entity without blob columns is returned unchanged.
    ///
    /// # Errors
    /// Corruption if the entity is damaged. The errors of [`BlobReads::value`].
    pub fn entity(&self, user_key: &[u8], entity: Pinned) -> Result<Pinned> {
        if !wide::may_have_blobs(&entity) {
            return Ok(entity);
        }
        let columns = wide::decode(&entity)?;
        let values = columns
            .iter()
            .map(|c| if c.is_blob { self.value(user_key, c.value).map(Some) } else { Ok(None) })
            .collect::<Result<Vec<_>>>()?;
        let inline: Vec<_> = columns
            .iter()
            .zip(&values)
            .map(|(column, value)| Column::inline(column.name, value.as_deref().unwrap_or(column.value)))
            .collect();
        let mut out = Vec::new();
        wide::encode(&inline, &mut out)?;
        Ok(Pinned::from_vec(out))
    }

    /// Returns the open blob file `number`.
    ///
    /// # Errors
    /// The errors of [`BlobReader::open`].
    pub fn open(&self, number: FileNumber) -> Result<Arc<BlobReader>> {
        let open = self.tables.blobs();
        if !self.version.blobs().contains_key(&number)
            && let Some(file) = open.direct(number)
        {
            return file.reader(&open.env, &open.hints(), &open.settings.statistics);
        }
        open.get(self.parts, self.family, number, self.tables.files_max())
    }

    fn fetch(&self, user_key: &[u8], blob: &BlobRef) -> Result<Pinned> {
        let open = self.tables.blobs();
        let cached = self.parts.caches.blobs.as_ref().map(|cache| (cache, open.cache_key(blob)));
        if let Some((cache, key)) = &cached {
            if let Some(handle) = cache.lookup(key)
                && let CachedBlock::Other(other) = &*handle
                && let Other::Raw(bytes) = &**other
            {
                perf_add(PerfCounter::BlobCacheHitCount, 1);
                perf_add(PerfCounter::BlobCacheReadByte, bytes.len() as u64);
                open.count(Ticker::BlobDbCacheHit, 1);
                open.count(Ticker::BlobDbCacheBytesRead, bytes.len() as u64);
                return Ok(Pinned::bytes(bytes.clone(), 0..bytes.len()));
            }
            open.count(Ticker::BlobDbCacheMiss, 1);
        }
        if self.options.read_tier == ReadTier::BlockCache {
            return Err(Error::incomplete("Cannot read blob(s): no disk I/O allowed"));
        }
        let reader = self.open(blob.file_number)?;
        let limits = self.tables.limits(self.options);
        let access =
            BlobAccess { verify_checksums: self.options.verify_checksums, limits: limits.as_deref() };
        let value = reader.get(user_key, blob, access)?;
        match cached {
            Some((_, key)) if self.options.fill_cache => {
                Ok(blob_cache::keep(self.parts, open.settings.statistics.as_ref(), &key, value))
            }
            _ => Ok(Pinned::from_vec(value)),
        }
    }
}

/// The owned form of [`BlobReads`], for iterators.
#[derive(Clone)]
pub struct BlobContext {
    pub tables: Arc<TableCache>,
    pub version: Arc<Version>,
    pub parts: Arc<Parts>,
    pub family: FamilyId,
    pub options: ReadOptions,
}

impl BlobContext {
    /// Returns the context as a borrowed view. Copies nothing.
    pub fn reads(&self) -> BlobReads<'_> {
        BlobReads {
            tables: &self.tables,
            version: &self.version,
            parts: &self.parts,
            family: self.family,
            options: &self.options,
        }
    }
}
