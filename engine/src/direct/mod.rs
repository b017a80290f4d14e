//! Blob files that writes append to, before the WAL gets the blob index (`enable_blob_direct_write`).
//!
//! ```text
//!  leader: value ─► file of a partition ─► blob index ─► WAL ─► memtable       append
//!  sync of a WAL: blob files and their names first, then the WAL               BeforeWalSync
//!  flush of the memtable: footer, sync ─► MANIFEST adds the file               seal, committed
//! ```
//! Each memtable has its own blob files: the files of its **generation**. The flush of a memtable therefore adds whole files. Before
//! the commit of the flush, no version has the files, and readers of the memtable find the files in this module. After the commit,
//! readers of an older super version may still read the files: a generation stays until its memtable is freed.
//!
//! Invariant: if a WAL record is durable, the values that the record refers to are durable too. A failed append or sync ends the
//! use of the file: no thread appends to the file or syncs the file again, the WALs take no more records, and a flush copies the
//! values that the memtable needs to a new blob file. Not here: which values go to blob files (`write`), replay (`recovery`).
//!
//! Source: RocksDB `db/blob/blob_file_partition_manager.cc`. RocksDB syncs only the open files of the column families in the
//! write group, and does not sync the directory.

mod file;
mod settings;

use std::collections::BTreeSet;
use std::path::Path;

use base::ids::JobId;
use base::map::FileMap;
use base::stats::Statistics;
use base::{FamilyId, FileNumber, Result};
use compress::{Compression, CompressionOptions};
use env::Env;
use format::blob::{BlobRef, record_len};
use lsm::version::BlobFile;
use mem::memtable::MemTable;

pub use self::file::DirectFile;
use self::file::{New, Sealed};
pub use self::settings::DirectSettings;
use crate::event::{BlobCreated, Event, Events, Named, Purpose};
use crate::files::Numbers;
use crate::ranks;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, RankedMutex, RwLock, Weak};
use crate::wal::BeforeWalSync;

/// Where a value goes: the column family, its active memtable, and the settings of its blob files.
pub struct Place<'a> {
    pub family: FamilyId,
    pub family_name: &'a str,
    pub mem: &'a Arc<MemTable>,
    /// The directory of the blob files.
    pub dir: &'a Path,
    pub partitions: usize,
    /// The size at which a blob file ends.
    pub file_size: u64,
    pub compression: Compression,
    pub compression_options: CompressionOptions,
}

/// The blob files of one memtable.
struct Generation {
    family: FamilyId,
    mem_id: u64,
    /// Dead after the last reader of the memtable has ended.
    mem: Weak<MemTable>,
    files: Vec<Arc<DirectFile>>,
    /// The file of each partition that takes records.
    active: Vec<Option<Arc<DirectFile>>>,
    /// The partition of the next value.
    next: usize,
    /// True if no flush needs the files: a flush has added them to a version, or the column family was dropped.
    done: bool,
}

/// The blob files of one database that writes append to. Only the leader of a write group appends.
pub struct DirectBlobs {
    env: Env,
    numbers: Arc<Numbers>,
    events: Arc<Events>,
    statistics: Option<Arc<Statistics>>,
    settings: DirectSettings,
    /// Set before the first file is created, and never cleared.
    is_used: AtomicBool,
    generations: Mutex<Vec<Generation>>,
    /// The files of all generations.
    files: RwLock<FileMap<Arc<DirectFile>>>,
    /// Files with records that are not synced.
    unsynced: Mutex<Vec<Arc<DirectFile>>>,
    /// Files whose names are not synced.
    unnamed: Mutex<Vec<Arc<DirectFile>>>,
    /// Held during each sync of a file or of a directory: of two concurrent syncs of one file, one can report a lost write and the
    /// other success.
    syncing: RankedMutex<()>,
}

impl DirectBlobs {
    /// Makes the set without a file.
    pub fn new(
        env: Env,
        numbers: Arc<Numbers>,
        events: Arc<Events>,
        statistics: Option<Arc<Statistics>>,
        settings: DirectSettings,
    ) -> Self {
        DirectBlobs {
            env,
            numbers,
            events,
            statistics,
            settings,
            is_used: AtomicBool::new(false),
            generations: Mutex::default(),
            files: RwLock::default(),
            unsynced: Mutex::default(),
            unnamed: Mutex::default(),
            syncing: RankedMutex::new(&ranks::DIRECT_SYNC, ()),
        }
    }

    /// Returns the ids of the database and of this open.
    pub fn cache_ids(&self) -> (&str, &str) {
        (&self.settings.ids.0, &self.settings.ids.1)
    }

    /// Returns true if a write of this open has ever created a file.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Acquire)
    }

    /// Returns the file with this number, if it belongs to a memtable that a reader may have.
    pub fn get(&self, number: FileNumber) -> Option<Arc<DirectFile>> {
        if !self.is_used() {
            return None;
        }
        self.files.read().get(&number).cloned()
    }

    /// Appends a value to a blob file of the active memtable, and returns its place. The caller leads the writers, and calls
    /// [`DirectFile::flush`] of `touched` before the WAL gets the blob index. `partition` is the partition of an earlier value of
    /// the same entity; afterwards it is the partition of this value.
    ///
    /// # Errors
    /// Errors of the file system. Then the file takes no more values.
    pub fn append(
        &self,
        place: &Place<'_>,
        (key, value): (&[u8], &[u8]),
        partition: &mut Option<usize>,
        touched: &mut Vec<Arc<DirectFile>>,
    ) -> Result<BlobRef> {
        let (at, active) = self.choose(place, *partition);
        *partition = Some(at);
        let more = record_len(key.len(), value.len() as u64);
        let fits = |file: &Arc<DirectFile>| file.takes(place.compression, more, place.file_size);
        let file = match active {
            Some(file) if fits(&file) => file,
            full => {
                if let Some(full) = full {
                    self.seal(&full)?;
                }
                self.create(place, at)?
            }
        };
        let (blob, first_unsynced) = file.append(key, value)?;
        if first_unsynced {
            self.unsynced.lock().push(file.clone());
        }
        if !touched.iter().any(|known| known.number() == file.number()) {
            touched.push(file);
        }
        Ok(blob)
    }

    /// Returns the partition of the next value, and its file.
    fn choose(&self, place: &Place<'_>, partition: Option<usize>) -> (usize, Option<Arc<DirectFile>>) {
        let mut generations = self.generations.lock();
        let id = place.mem.id();
        let known = generations.iter_mut().find(|g| g.family == place.family && g.mem_id == id);
        let generation = match known {
            Some(generation) => generation,
            None => {
                generations.push(Generation {
                    family: place.family,
                    mem_id: id,
                    mem: Arc::downgrade(place.mem),
                    files: Vec::new(),
                    active: vec![None; place.partitions.max(1)],
                    next: 0,
                    done: false,
                });
                let last = generations.len() - 1;
                &mut generations[last]
            }
        };
        base::invariant!(
            generation.next < generation.active.len(),
            "the next of {} partitions is {}",
            generation.active.len(),
            generation.next
        );
        let at = partition.unwrap_or_else(|| {
            let at = generation.next;
            generation.next = (at + 1) % generation.active.len();
            at
        });
        (at, generation.active[at % generation.active.len()].clone())
    }

    fn create(&self, place: &Place<'_>, partition: usize) -> Result<Arc<DirectFile>> {
        self.is_used.store(true, Ordering::Release);
        let pending = self.numbers.take_pending();
        let number = pending.number;
        let path = place.dir.join(format::names::blob(number));
        let family = Named { id: place.family, name: place.family_name.to_string() };
        if self.events.has_listeners() {
            self.events.emit(&Event::BlobCreationStarted {
                job: JobId::new(0),
                family: family.clone(),
                number,
                path: path.clone(),
                purpose: Purpose::Flush,
            });
        }
        let new = New { pending, path, family, compression: place.compression };
        let file =
            DirectFile::create(&self.env, new, place.compression_options, &self.settings, &self.statistics)?;
        let file = Arc::new(file);
        self.unnamed.lock().push(file.clone());
        let before = self.files.write().insert(number, file.clone());
        base::invariant!(before.is_none(), "two blob files have the number {number}");
        let mut generations = self.generations.lock();
        let id = place.mem.id();
        if let Some(generation) = generations.iter_mut().find(|g| g.family == place.family && g.mem_id == id)
        {
            generation.files.push(file.clone());
            let at = partition % generation.active.len();
            generation.active[at] = Some(file.clone());
        }
        Ok(file)
    }

    /// Writes the footer of a file, and makes the file durable. Does nothing for a file that is sealed.
    ///
    /// # Errors
    /// Errors of the file system, and the error of an earlier failure of the file.
    fn seal(&self, file: &DirectFile) -> Result<()> {
        let sealed = {
            let _syncing = self.syncing.lock();
            file.seal(self.settings.use_fsync)?
        };
        let Some(Sealed { written, is_new: true }) = sealed else { return Ok(()) };
        self.events.info(format_args!(
            "[{}] Generated blob file #{}: {} total blobs, {} total bytes",
            file.family().name,
            file.number(),
            written.blob_count,
            written.blob_bytes
        ));
        let record = file.record(&written);
        self.events.emit(&Event::BlobCreated(BlobCreated {
            job: JobId::new(0),
            family: file.family().clone(),
            number: file.number(),
            path: file.path().to_path_buf(),
            purpose: Purpose::Flush,
            total_blob_count: record.total_count,
            total_blob_bytes: record.total_bytes,
            file_checksum: record.checksum_value,
            file_checksum_func_name: String::from_utf8_lossy(&record.checksum_method).into_owned(),
        }));
        Ok(())
    }

    /// Seals the files of these memtables, which take no more writes, and makes their names durable. Returns the files that
    /// versions may get, and the numbers of the files that have failed: the flush must copy their values.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn seal_for_flush(
        &self,
        family: FamilyId,
        memtables: &[u64],
    ) -> Result<(Vec<BlobFile>, BTreeSet<FileNumber>)> {
        let mut files = Vec::new();
        {
            let generations = self.generations.lock();
            let own = generations.iter().filter(|g| g.family == family && memtables.contains(&g.mem_id));
            own.for_each(|generation| files.extend(generation.files.iter().cloned()));
        }
        if files.is_empty() {
            return Ok((Vec::new(), BTreeSet::new()));
        }
        let (mut sealed, mut failed) = (Vec::new(), BTreeSet::new());
        for file in &files {
            // Does nothing for a failed file.
            self.seal(file)?;
            match file.sealed_record() {
                Some(record) => sealed.push(record),
                None => {
                    failed.insert(file.number());
                }
            }
        }
        let _syncing = self.syncing.lock();
        self.sync_dirs()?;
        Ok((sealed, failed))
    }

    /// Records that the flush of these memtables is committed. Returns the files that the version did not get: `added` has the
    /// numbers of the files that the version got.
    pub fn committed(
        &self,
        family: FamilyId,
        memtables: &[u64],
        added: &BTreeSet<FileNumber>,
    ) -> Vec<BlobFile> {
        let mut generations = self.generations.lock();
        let own = generations.iter_mut().filter(|g| g.family == family && memtables.contains(&g.mem_id));
        finish(own, added)
    }

    /// Records that a column family was dropped. Returns its files that no version has: `added` has the numbers of the blob files
    /// of its last version. A flush may have added a file and not called [`DirectBlobs::committed`] yet.
    pub fn dropped(&self, family: FamilyId, added: &BTreeSet<FileNumber>) -> Vec<BlobFile> {
        let mut generations = self.generations.lock();
        finish(generations.iter_mut().filter(|g| g.family == family), added)
    }

    /// Releases the files of memtables that no reader has.
    pub fn release(&self) {
        if !self.is_used() {
            return;
        }
        let mut generations = self.generations.lock();
        let is_needed = |generation: &Generation| !generation.done || generation.mem.strong_count() > 0;
        let mut files = self.files.write();
        for generation in generations.iter().filter(|generation| !is_needed(generation)) {
            for file in &generation.files {
                files.remove(&file.number());
                // No entry that a recovery replays refers to the file.
                self.unsynced.lock().retain(|other| other.number() != file.number());
                self.unnamed.lock().retain(|other| other.number() != file.number());
            }
        }
        generations.retain(is_needed);
    }

    /// Returns the files that no version has, and the size of each file. A caller that copies the database reads the ends of the
    /// WALs first. If no commit runs meanwhile, the files then hold each value of the WAL records before these ends.
    pub fn in_no_version(&self) -> Vec<(Arc<DirectFile>, u64)> {
        let generations = self.generations.lock();
        let open = generations.iter().filter(|generation| !generation.done);
        open.flat_map(|generation| &generation.files).map(|file| (file.clone(), file.size())).collect()
    }

    /// Makes the names of all files durable. The caller holds `syncing`.
    fn sync_dirs(&self) -> Result<()> {
        let unnamed = std::mem::take(&mut *self.unnamed.lock());
        let dirs: BTreeSet<_> = unnamed.iter().filter_map(|file| file.path().parent()).collect();
        for dir in dirs {
            let synced = self.env.fs.open_dir(dir).and_then(|open| open.sync());
            if let Err(error) = synced {
                let error = error.doing("syncing the directory of blob files");
                unnamed.iter().for_each(|file| file.lose_name(&error));
                return Err(error);
            }
        }
        Ok(())
    }

    fn sync_files(&self) -> Result<()> {
        let due = std::mem::take(&mut *self.unsynced.lock());
        for (at, file) in due.iter().enumerate() {
            if let Err(error) = file.sync() {
                self.unsynced.lock().extend(due[at + 1..].iter().cloned());
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Marks generations as done. Returns the files that are not in `added`.
fn finish<'a>(
    generations: impl Iterator<Item = &'a mut Generation>,
    added: &BTreeSet<FileNumber>,
) -> Vec<BlobFile> {
    let mut rest = Vec::new();
    for generation in generations.filter(|generation| !generation.done) {
        generation.done = true;
        generation.active.fill(None);
        let unneeded = generation.files.iter().filter(|file| !added.contains(&file.number()));
        rest.extend(unneeded.map(|file| file.unneeded_record()));
    }
    rest
}

impl BeforeWalSync for DirectBlobs {
    fn before_wal_sync(&self) -> Result<()> {
        if !self.is_used() {
            return Ok(());
        }
        let _syncing = self.syncing.lock();
        self.sync_files()?;
        self.sync_dirs()
    }

    fn forget_failures(&self) {
        if self.is_used() {
            self.unsynced.lock().retain(|file| !file.has_failed());
            self.unnamed.lock().retain(|file| !file.has_failed());
        }
    }
}
