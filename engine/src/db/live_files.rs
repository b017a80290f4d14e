//! The list of files that make up the database now: the input of checkpoints and backups.
//!
//! ```text
//!  flush (unless the WALs are small) ─► no commit can start: MANIFEST extent, SST and blob files, WAL extents
//!                                    ─► OPTIONS content ─► list
//! ```
//! Invariant: the MANIFEST, cut to its listed size, names exactly the listed SST files and blob files, and needs only the
//! listed WALs. The list also has the blob files that these WALs refer to (`enable_blob_direct_write`), cut to their size. The
//! list stays true on disk only while file deletions are disabled ([`Files::disable_deletions`]). Not here: copying files.
//! Facts: RocksDB `db/db_filesnapshot.cc`.

use std::path::{Path, PathBuf};

use base::{Error, FileNumber, Result, SequenceNumber, WalNumber};
use format::names::{self, FileName};
use lsm::table_file::TableFile;
use lsm::version::BlobFile;

use super::{Db, Files};
use crate::direct::DirectFile;
use crate::event::FlushReason;
use crate::family::Parts;
use crate::opening::ReadUpTo;
use crate::output::JobTools;
use crate::sync::Arc;
use crate::write::ErrorSink;

/// How often the OPTIONS file is read again after `set_options` replaced the file during the read.
const OPTIONS_TRIES: usize = 8;

/// An OPTIONS file has fewer bytes than this limit.
const OPTIONS_BYTES_MAX: u64 = 256 << 20;

/// The kind of a live file, by RocksDB's `FileType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LiveFileKind {
    /// A live WAL.
    Wal,
    /// An SST file.
    Table,
    /// The MANIFEST that CURRENT names.
    Manifest,
    /// CURRENT.
    Current,
    /// The OPTIONS file.
    Options,
    /// A blob file.
    Blob,
}

/// One file of the database, as a checkpoint or backup must store the file. RocksDB's `LiveFileStorageInfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFileStorageInfo {
    /// The name, without a directory.
    pub relative_filename: String,
    /// The directory that holds the file.
    pub directory: PathBuf,
    /// The number in the name. 0: the name has no number (CURRENT).
    pub file_number: FileNumber,
    /// What the file is. The kind selects its place in a backup.
    pub kind: LiveFileKind,
    /// Bytes that belong to the database at the time of the list. The file itself may be longer: see `trim_to_size`.
    pub size: u64,
    /// The temperature as the MANIFEST stores it. 0: unknown.
    pub temperature: u8,
    /// The checksum of the whole file, raw. Empty: the file has none.
    pub file_checksum: Vec<u8>,
    /// The name of the function that computed `file_checksum`, or `Unknown`. Empty: checksums were not asked for.
    pub file_checksum_func_name: String,
    /// The content to store, for files that change later. `None`: copy or link the file.
    pub replacement_contents: Option<Vec<u8>>,
    /// True if the file may grow: copy only the first `size` bytes, and do not link the file.
    pub trim_to_size: bool,
}

impl LiveFileStorageInfo {
    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.directory.join(&self.relative_filename)
    }
}

/// Options of [`Files::live_files_storage_info`]. RocksDB's `LiveFilesStorageInfoOptions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveFilesStorageInfoOptions {
    /// Fills in the checksums that the MANIFEST stores. Default false.
    pub include_checksum_info: bool,
    /// Flushes all memtables first, if the WALs have at least this many bytes. 0, the default, always flushes.
    /// `u64::MAX` never flushes; then entries that were written with `disableWAL` are missing. With `allow_2pc`, all
    /// values flush.
    pub wal_size_for_flush: u64,
    /// Flushes all column families in one commit. Default false. The option `atomic_flush` of the database has the same
    /// effect.
    pub atomic_flush: bool,
}

/// The live files, and the sequence number that they contain at least.
#[derive(Clone, Debug, Default)]
pub struct LiveFiles {
    pub files: Vec<LiveFileStorageInfo>,
    /// Every entry at or below this sequence number is in the files. Newer entries may be in the files too.
    pub sequence: SequenceNumber,
}

impl Files<'_> {
    /// Lists the files that make up the database now.
    ///
    /// Disable file deletions before the call, and enable file deletions after the files are copied: otherwise files of
    /// the list may be deleted at any time. RocksDB's `GetLiveFilesStorageInfo`.
    ///
    /// A database that is open for reading is not flushed. Its list ends where the open or the last catch-up has read, and the
    /// files may be deleted by a writer at any time.
    ///
    /// # Errors
    /// Errors of the flush, for example Aborted if this thread
    /// has called `lock_wal` and entries are in no WAL; a failure of the WAL or the MANIFEST.
    pub fn live_files_storage_info(&self, options: &LiveFilesStorageInfoOptions) -> Result<LiveFiles> {
        if let (None, Some(read)) = (&self.db.inner.writing, &self.db.inner.reading.up_to) {
            return live_files_of_reader(self.db, read, options);
        }
        self.db.inner.writing()?.upkeep.write_late_options()?;
        let inner = &self.db.inner;
        let sequence = inner.tools.sequence.visible();
        // The section of a prepared transaction is in a WAL that the copy may not have. So a database with two-phase commit
        // is always flushed, as in RocksDB.
        let wanted = inner.wals.total_bytes() >= options.wal_size_for_flush
            && options.wal_size_for_flush < u64::MAX
            || inner.tools.options.load().allow_2pc;
        // If writes are locked (`lock_wal`) and the WALs have all entries, no flush is needed: the owner of the lock can copy
        // the files.
        let writer = &self.db.inner.writing()?.writer;
        let is_locked_and_logged = writer.controller().is_locked() && !writer.has_unlogged();
        if wanted && !is_locked_and_logged {
            self.flush_for_live_files(options.atomic_flush)?;
        }
        let mut files = Vec::new();
        let failures = &self.db.inner.writing()?.jobs.failures;
        let manifest = inner.committer.at_rest(|number, size| {
            files.extend(version_infos(self.db, options));
            let min_wal = inner.committer.min_wal_to_keep();
            let wals = inner.wals.flushed_extents()?;
            base::invariant!(
                wals.iter().all(|(number, _)| *number <= inner.wals.active_number()),
                "a WAL is newer than the active WAL"
            );
            let needed = wals.into_iter().filter(|(number, _)| *number >= min_wal);
            files.extend(needed.map(|(number, size)| wal_info(&inner.tools.paths.wal, number, size)));
            // After the ends of the WALs: the values are in the files before their WAL records.
            files.extend(
                inner.tools.direct.in_no_version().iter().map(|(file, size)| direct_info(file, *size)),
            );
            Ok::<_, Error>(self.manifest_infos(number, size))
        })?;
        let manifest = manifest.inspect_err(|error| failures.wal_found_failed(error))?;
        files.extend(manifest);
        files.extend(self.options_info()?);
        if options.include_checksum_info {
            name_unknown_checksums(&mut files);
        }
        Ok(LiveFiles { files, sequence })
    }

    /// Returns the number and size of each WAL that recovery would read now, oldest first, the active WAL last.
    ///
    /// # Errors
    /// A failure to write the WAL's buffered records.
    pub fn live_wals(&self) -> Result<Vec<(WalNumber, u64)>> {
        let failures = &self.db.inner.writing()?.jobs.failures;
        self.db.inner.wals.flushed_extents().inspect_err(|error| failures.wal_found_failed(error))
    }

    fn flush_for_live_files(&self, atomic: bool) -> Result<()> {
        let families = self.db.inner.families.all();
        let jobs = &self.db.inner.writing()?.jobs;
        if atomic && !self.db.inner.tools.options.load().atomic_flush {
            return jobs.flushes.flush_together(&families, FlushReason::GetLiveFiles);
        }
        jobs.flushes.flush_and_wait(&families, FlushReason::GetLiveFiles)
    }

    fn manifest_infos(&self, number: FileNumber, size: u64) -> [LiveFileStorageInfo; 2] {
        base::invariant!(number > FileNumber::default(), "the MANIFEST has no number");
        let dir = &self.db.inner.tools.paths.db;
        let manifest = plain(names::manifest(number), dir, number, LiveFileKind::Manifest, size);
        let content = format!("{}\n", names::manifest(number)).into_bytes();
        let size = content.len() as u64;
        let current = plain(names::CURRENT.to_string(), dir, FileNumber::ZERO, LiveFileKind::Current, size);
        [
            LiveFileStorageInfo { trim_to_size: true, ..manifest },
            LiveFileStorageInfo { replacement_contents: Some(content), ..current },
        ]
    }

    /// Reads the newest OPTIONS file. `None`: the database has none.
    fn options_info(&self) -> Result<Option<LiveFileStorageInfo>> {
        let tools = &self.db.inner.tools;
        for _ in 0..OPTIONS_TRIES {
            let Some(number) = tools.options_file.lock().as_ref().map(|file| file.number) else {
                return Ok(None);
            };
            if let Some(info) = options_info_of(tools, number)? {
                return Ok(Some(info));
            }
        }
        Err(Error::try_again("the OPTIONS file was replaced during each attempt to read the file"))
    }
}

/// Lists the files of a database that is open for reading only: what the open has read.
fn live_files_of_reader(
    db: &Db,
    read: &ReadUpTo,
    options: &LiveFilesStorageInfoOptions,
) -> Result<LiveFiles> {
    let tools = &db.inner.tools;
    let mut files = version_infos(db, options);
    let wals = read.wals().iter();
    files.extend(wals.map(|(number, size)| wal_info(&tools.paths.wal, *number, *size)));
    base::invariant!(
        read.wals().is_sorted_by(|(older, _), (newer, _)| older < newer),
        "the WALs that a reader has read are not in the order of their numbers"
    );
    let (number, size) = read.manifest();
    files.extend(db.files().manifest_infos(number, size));
    let names = tools.env.fs.list(&tools.paths.db)?;
    let numbers = names.iter().filter_map(|name| match FileName::parse(name) {
        Some(FileName::Options(number)) => Some(number),
        _ => None,
    });
    if let Some(newest) = numbers.max() {
        files.extend(options_info_of(&db.inner.tools, newest)?);
    }
    if options.include_checksum_info {
        name_unknown_checksums(&mut files);
    }
    Ok(LiveFiles { files, sequence: tools.sequence.visible() })
}

/// Returns the SST files and the blob files of all column families.
fn version_infos(db: &Db, options: &LiveFilesStorageInfoOptions) -> Vec<LiveFileStorageInfo> {
    let mut files = Vec::new();
    for family in db.inner.families.all() {
        let (version, parts) = (family.state().version.clone(), family.parts());
        files.extend(version.files().map(|(_, file)| table_info(file, &parts, options)));
        files.extend(version.blobs().values().map(|blob| blob_info(blob, &parts, options)));
    }
    files
}

/// Reads one OPTIONS file. `None`: a newer OPTIONS file replaced the file.
fn options_info_of(tools: &JobTools, number: FileNumber) -> Result<Option<LiveFileStorageInfo>> {
    let name = names::options(number);
    match tools.env.fs.read_all(&tools.paths.db.join(&name), OPTIONS_BYTES_MAX) {
        Ok(content) => {
            let size = content.len() as u64;
            let info = plain(name, &tools.paths.db, number, LiveFileKind::Options, size);
            Ok(Some(LiveFileStorageInfo { replacement_contents: Some(content), ..info }))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.doing("reading the OPTIONS file")),
    }
}

/// Gives each file without a checksum the name that RocksDB uses for an unknown checksum.
fn name_unknown_checksums(files: &mut [LiveFileStorageInfo]) {
    for file in files.iter_mut().filter(|file| file.file_checksum_func_name.is_empty()) {
        file.file_checksum_func_name = lsm::file_meta::UNKNOWN_CHECKSUM.to_string();
    }
}

fn wal_info(dir: &Path, number: WalNumber, size: u64) -> LiveFileStorageInfo {
    base::invariant!(number > WalNumber::ZERO, "a WAL has no number");
    let info = plain(names::wal(number), dir, number.file(), LiveFileKind::Wal, size);
    LiveFileStorageInfo { trim_to_size: true, ..info }
}

/// Returns a blob file that the WALs refer to, and that may grow.
fn direct_info(file: &DirectFile, size: u64) -> LiveFileStorageInfo {
    let dir = file.path().parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let info = plain(names::blob(file.number()), &dir, file.number(), LiveFileKind::Blob, size);
    LiveFileStorageInfo { trim_to_size: true, ..info }
}

fn blob_info(
    blob: &BlobFile,
    parts: &Arc<Parts>,
    options: &LiveFilesStorageInfoOptions,
) -> LiveFileStorageInfo {
    let path = parts.blob_path(blob.number);
    let dir = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let info = plain(names::blob(blob.number), &dir, blob.number, LiveFileKind::Blob, blob.file_size());
    if !options.include_checksum_info {
        return info;
    }
    LiveFileStorageInfo {
        file_checksum: blob.checksum_value.clone(),
        file_checksum_func_name: String::from_utf8_lossy(&blob.checksum_method).into_owned(),
        ..info
    }
}

fn table_info(
    file: &TableFile,
    parts: &Arc<Parts>,
    options: &LiveFilesStorageInfoOptions,
) -> LiveFileStorageInfo {
    let path = parts.table_path(file.number, file.path_id);
    let dir = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let info = plain(names::table(file.number), &dir, file.number, LiveFileKind::Table, file.size);
    let (file_checksum, file_checksum_func_name) = match options.include_checksum_info {
        true => (file.checksum.value.clone(), file.checksum.function.clone()),
        false => Default::default(),
    };
    LiveFileStorageInfo { temperature: file.temperature, file_checksum, file_checksum_func_name, ..info }
}

fn plain(name: String, dir: &Path, number: FileNumber, kind: LiveFileKind, size: u64) -> LiveFileStorageInfo {
    LiveFileStorageInfo {
        relative_filename: name,
        directory: dir.to_path_buf(),
        file_number: number,
        kind,
        size,
        temperature: 0,
        file_checksum: Vec::new(),
        file_checksum_func_name: String::new(),
        replacement_contents: None,
        trim_to_size: false,
    }
}
