//! The persistent cache: blocks of SST files, as they are stored, in files on a device that is faster than the SST files.
//!
//! ```text
//! block cache ── miss ─► read-ahead ── miss ─► persistent cache ── hit ─► block
//!                                                 └ miss ─► SST file ─► block, and a copy at the end of the newest file
//!
//! path/cache/0.rc  path/cache/1.rc  path/cache/2.rc      blocks one after the other, each as in its SST file
//!       ▲ the first to be deleted         ▲ takes new blocks
//! ```
//! The index is in memory: the key of a block in the block cache, file, offset, length, and a checksum of the bytes. So a
//! block that the device changed is a miss, and the files are empty for the next process. Blocks of `MultiGet` and of
//! read-ahead go past the persistent cache.
//!
//! Only one thread adds a block at a time. If another thread adds a block, the second thread does not wait, and its
//! block is not added.
//!
//! Facts: RocksDB `utilities/persistent_cache/block_cache_tier.cc`, `table/block_fetcher.cc`.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::map::HashMap;
use base::{Error, Result};
use env::fs::{Append, AppendHints, FileSystem, RandomRead, ReadHints};
use env::sync::{Flag, Mutex};
use kernel::checksum::crc32c;
use mem::cache::CacheKey;

/// The largest file of the cache, in bytes.
const FILE_BYTES_MAX: u64 = 100 << 20;
/// The smallest cache, in bytes.
const CAPACITY_MIN: u64 = 64 << 10;
/// A cache has at least this many files when it is full, so an eviction removes a small part.
const FILES_MIN: u64 = 8;

/// A cache of stored blocks in files. Shared by column families and databases. All methods may be called from any thread.
pub struct PersistentCache {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    capacity: u64,
    index: Mutex<Index>,
    writer: Mutex<Writer>,
    /// True while a thread adds a block.
    is_adding: Flag,
}

#[derive(Default)]
struct Index {
    blocks: HashMap<CacheKey, BlockLocation>,
    files: VecDeque<CacheFile>,
}

#[derive(Clone, Copy)]
struct BlockLocation {
    file: u32,
    offset: u64,
    len: u32,
    checksum: u32,
}

struct CacheFile {
    number: u32,
    read: Arc<dyn RandomRead>,
    bytes: u64,
    keys: Vec<CacheKey>,
}

#[derive(Default)]
struct Writer {
    file: Option<Box<dyn Append>>,
    /// The number of the next file.
    next: u32,
    /// Bytes of all files.
    bytes: u64,
    /// True if a new file could not be created, or did not take its first block. The cache then takes no more blocks.
    is_broken: bool,
}

impl PersistentCache {
    /// Makes an empty cache of at most `capacity` bytes in `path`. Creates `path` and `path/cache`, and deletes the files of
    /// an older cache there. Only one cache may use `path`.
    ///
    /// # Errors
    /// InvalidArgument for an empty path, or a capacity below 64 KiB; errors of the file system.
    pub fn open(fs: Arc<dyn FileSystem>, path: &Path, capacity: u64) -> Result<Arc<Self>> {
        if path.as_os_str().is_empty() {
            return Err(Error::invalid_argument("empty or null args"));
        }
        if capacity < CAPACITY_MIN {
            return Err(Error::invalid_argument("invalid cache size"));
        }
        let dir = path.join("cache");
        fs.create_dir_all(&dir)?;
        for name in fs.list(&dir)? {
            if name.ends_with(".rc") {
                fs.unlink(&dir.join(name))?;
            }
        }
        Ok(Arc::new(PersistentCache {
            fs,
            dir,
            capacity,
            index: Mutex::default(),
            writer: Mutex::default(),
            is_adding: Flag::new(false),
        }))
    }

    /// Returns the limit of the bytes in files.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the bytes in files.
    #[cfg(test)]
    pub(crate) fn used_bytes(&self) -> u64 {
        self.index.lock().files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the bytes of a block, or `None`. Bytes that the device changed, and errors of the device, are `None`.
    pub(super) fn lookup(&self, key: CacheKey, len: usize) -> Option<Vec<u8>> {
        let (place, read) = {
            let index = self.index.lock();
            let place = *index.blocks.get(&key)?;
            // The numbers of the files are contiguous.
            let at = place.file.checked_sub(index.files.front()?.number)?;
            let file = index.files.get(at as usize)?;
            base::invariant!(file.number == place.file, "cache file {} lies at {at}", file.number);
            let read = file.read.clone();
            (place, read)
        };
        if place.len as usize != len {
            return None;
        }
        let mut bytes = vec![0; len];
        let got = read.read_at(place.offset, &mut bytes);
        let is_whole = matches!(got, Ok(got) if got == len) && crc32c::value(&bytes) == place.checksum;
        if !is_whole {
            self.erase(key);
        }
        is_whole.then_some(bytes)
    }

    /// Adds a block, unless another thread adds a block now. Deletes the oldest files if the cache is full. Errors of the
    /// device add nothing.
    pub(super) fn insert(&self, key: CacheKey, bytes: &[u8]) {
        if self.is_adding.swap(true, Ordering::Acquire) {
            return;
        }
        let mut writer = self.writer.lock();
        let is_known = self.index.lock().blocks.contains_key(&key);
        if !is_known && !writer.is_broken && self.append(&mut writer, key, bytes).is_err() {
            // The file ends with bytes that no block has, so the next block starts a new file. If the file took no block, the
            // device is full or fails: more files would only take file descriptors.
            writer.file = None;
            writer.is_broken |= self.index.lock().files.back().is_none_or(|newest| newest.bytes == 0);
        }
        drop(writer);
        self.is_adding.store(false, Ordering::Release);
    }

    /// Forgets a block.
    pub(super) fn erase(&self, key: CacheKey) {
        self.index.lock().blocks.remove(&key);
    }

    fn append(&self, writer: &mut Writer, key: CacheKey, bytes: &[u8]) -> Result<()> {
        let len = bytes.len() as u64;
        let file_max = (self.capacity / FILES_MIN).min(FILE_BYTES_MAX);
        if len > file_max || u32::try_from(len).is_err() {
            return Ok(());
        }
        if writer.file.as_ref().is_some_and(|file| file.size() + len > file_max) {
            writer.file = None;
        }
        self.make_room(writer, len);
        let file = match &mut writer.file {
            Some(file) => file,
            none => none.insert(self.start(&mut writer.next).inspect_err(|_| writer.is_broken = true)?),
        };
        let offset = file.size();
        file.append(bytes)?;
        file.flush()?;
        writer.bytes += len;
        base::invariant!(
            writer.bytes <= self.capacity,
            "{} bytes are in a cache for {} bytes",
            writer.bytes,
            self.capacity
        );
        let mut index = self.index.lock();
        let Some(newest) = index.files.back_mut() else { return Ok(()) };
        base::invariant!(
            newest.bytes == offset,
            "a block at {offset} follows {} bytes of blocks",
            newest.bytes
        );
        newest.bytes += len;
        newest.keys.push(key);
        let place =
            BlockLocation { file: newest.number, offset, len: len as u32, checksum: crc32c::value(bytes) };
        index.blocks.insert(key, place);
        Ok(())
    }

    /// Starts the next file.
    fn start(&self, next: &mut u32) -> Result<Box<dyn Append>> {
        let path = self.path(*next);
        let file = self.fs.create(&path, &AppendHints::default())?;
        let read = self.fs.open_random(&path, &ReadHints { direct: false, random: true })?;
        let made = CacheFile { number: *next, read, bytes: 0, keys: Vec::new() };
        let mut index = self.index.lock();
        base::invariant!(
            index.files.back().is_none_or(|newest| newest.number + 1 == *next),
            "cache file {next} follows cache file {:?}",
            index.files.back().map(|newest| newest.number)
        );
        index.files.push_back(made);
        drop(index);
        *next += 1;
        Ok(file)
    }

    /// Deletes the oldest files until `len` more bytes fit. The file that takes new blocks stays.
    fn make_room(&self, writer: &mut Writer, len: u64) {
        let kept = usize::from(writer.file.is_some());
        while writer.bytes + len > self.capacity {
            let mut index = self.index.lock();
            if index.files.len() <= kept {
                return;
            }
            let Some(oldest) = index.files.pop_front() else { return };
            for key in &oldest.keys {
                if index.blocks.get(key).is_some_and(|place| place.file == oldest.number) {
                    index.blocks.remove(key);
                }
            }
            drop(index);
            base::invariant!(
                writer.bytes >= oldest.bytes,
                "a cache file has more bytes than all cache files"
            );
            writer.bytes = writer.bytes.saturating_sub(oldest.bytes);
            // A file that cannot be deleted is deleted by the next cache.
            let _ = self.fs.unlink(&self.path(oldest.number));
        }
    }

    fn path(&self, number: u32) -> PathBuf {
        self.dir.join(format!("{number}.rc"))
    }
}

impl fmt::Debug for PersistentCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PersistentCache({}, {} bytes)", self.dir.display(), self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use env::Env;
    use env::fault::FaultFs;
    use env::memory::MemoryFs;

    use super::*;

    fn key(number: u64) -> CacheKey {
        CacheKey([number, 7])
    }

    fn cache(capacity: u64) -> (Arc<dyn FileSystem>, Arc<PersistentCache>) {
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new(Env::posix().clock));
        let cache = PersistentCache::open(fs.clone(), Path::new("/fast"), capacity).unwrap();
        (fs, cache)
    }

    #[test]
    fn a_block_is_found_with_its_bytes_and_not_with_another_length() {
        let (_, cache) = cache(1 << 20);
        cache.insert(key(1), b"first");
        cache.insert(key(2), b"second");
        assert_eq!(cache.lookup(key(1), 5).as_deref(), Some(&b"first"[..]));
        assert_eq!(cache.lookup(key(2), 6).as_deref(), Some(&b"second"[..]));
        assert_eq!(cache.lookup(key(2), 5), None);
        assert_eq!(cache.lookup(key(3), 5), None);
    }

    #[test]
    fn a_full_cache_forgets_the_oldest_blocks_and_stays_in_its_capacity() {
        let (fs, cache) = cache(64 << 10);
        let block = [5; 4096];
        (0..100).for_each(|number| cache.insert(key(number), &block));
        assert!(cache.used_bytes() <= cache.capacity());
        let on_disk: u64 = fs
            .list(Path::new("/fast/cache"))
            .unwrap()
            .iter()
            .map(|name| fs.file_size(&Path::new("/fast/cache").join(name)).unwrap())
            .sum();
        assert_eq!(on_disk, cache.used_bytes());
        assert_eq!(cache.lookup(key(0), 4096), None);
        assert!(cache.lookup(key(99), 4096).is_some());
    }

    #[test]
    fn a_block_that_the_device_changed_is_a_miss() {
        let (fs, cache) = cache(1 << 20);
        cache.insert(key(1), b"first");
        fs.truncate(Path::new("/fast/cache/0.rc"), 3).unwrap();
        assert_eq!(cache.lookup(key(1), 5), None);
    }

    #[test]
    fn a_full_device_makes_no_more_files() {
        let fs = FaultFs::wrap(Arc::new(MemoryFs::new(Env::posix().clock)));
        let cache = PersistentCache::open(fs.clone(), Path::new("/fast"), 1 << 20).unwrap();
        cache.insert(key(1), b"first");
        fs.hook().set_budget(Some(0));
        (2..50).for_each(|number| cache.insert(key(number), &[1; 4096]));
        // The file of the first block, and the file that took no block.
        assert_eq!(fs.list(Path::new("/fast/cache")).unwrap().len(), 2);
        assert_eq!(cache.lookup(key(1), 5).as_deref(), Some(&b"first"[..]));
    }

    #[test]
    fn a_new_cache_deletes_the_files_of_the_old_cache() {
        let (fs, old) = cache(1 << 20);
        old.insert(key(1), b"first");
        let new = PersistentCache::open(fs.clone(), Path::new("/fast"), 1 << 20).unwrap();
        assert_eq!(fs.list(Path::new("/fast/cache")).unwrap(), Vec::<String>::new());
        assert_eq!(new.lookup(key(1), 5), None);
    }

    #[test]
    fn an_empty_path_and_a_tiny_capacity_are_refused() {
        let fs = Env::posix().fs;
        assert!(PersistentCache::open(fs.clone(), Path::new(""), 1 << 30).is_err());
        assert!(PersistentCache::open(fs, Path::new("/nowhere"), 100).is_err());
    }
}
