//! Ingestion: external SST files become files of a column family, without passing through the memtable.
//!
//! Not here: how the files are written (`sst_file`), placed and committed (`engine::ingest`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Result;
use engine::db::PreparedIngestion;
use engine::ingest::{IngestRequest, ReplaceRange};
use engine::options::{IngestExternalFileOptions, Temperature};
pub use table::sst_file::PreparedFileInfo;

use crate::{Db, Family};

/// The files to ingest into one column family. RocksDB's `IngestExternalFileArg`.
///
/// ```
/// # use ironstone::{Db, IngestExternalFileArg, IngestExternalFileOptions, Options, SstFileWriter};
/// # let options = Options::in_memory();
/// # let mut file = SstFileWriter::create("new.sst", &options.db, &options.family)?;
/// # file.put(b"a", b"1")?;
/// # file.finish()?;
/// let db = Db::open("data", options)?;
/// let files = IngestExternalFileArg::new(&db, ["new.sst"], &IngestExternalFileOptions::default());
/// db.ingest_external_files_with(vec![files])?;
/// assert!(db.get(b"a")?.is_some());
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct IngestExternalFileArg {
    /// The column family.
    pub family: Family,
    /// The files, oldest data first: if two files have a key in common, the entry of the later file is newer.
    pub files: Vec<PathBuf>,
    /// The options of the ingestion.
    pub options: IngestExternalFileOptions,
    /// For each file its checksum and the name of the checksum function. Empty, the default: unknown.
    pub checksums: Vec<(Vec<u8>, String)>,
    /// What [`SstFileWriter::finish`](crate::SstFileWriter::finish) or
    /// [`Family::prepared_file_info_for_external_sst_ingestion`] says of each file. The ingestion then does not open the files. Empty,
    /// the default: the ingestion opens and reads the files. Not allowed with `write_global_seqno`.
    pub file_infos: Vec<Arc<PreparedFileInfo>>,
    /// The temperature of the files. Default: unknown.
    pub temperature: Temperature,
    /// Replaces all entries in the range by the files, in the same commit. Default: nothing is replaced. Requires
    /// `snapshot_consistency = false`.
    pub atomic_replace_range: Option<ReplaceRange>,
}

impl IngestExternalFileArg {
    /// Ingests `files` into `family`.
    ///
    /// ```
    /// # use ironstone::{Db, IngestExternalFileArg, IngestExternalFileOptions, Options, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("new.sst", &options.db, &options.family)?;
    /// # file.put(b"a", b"1")?;
    /// # file.finish()?;
    /// let db = Db::open("data", options)?;
    /// let files = IngestExternalFileArg::new(&db, ["new.sst"], &IngestExternalFileOptions::default());
    /// assert!(files.checksums.is_empty() && files.atomic_replace_range.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn new<P: AsRef<Path>>(
        family: &Family,
        files: impl IntoIterator<Item = P>,
        options: &IngestExternalFileOptions,
    ) -> Self {
        IngestExternalFileArg {
            family: family.clone(),
            files: files.into_iter().map(|file| file.as_ref().to_path_buf()).collect(),
            options: options.clone(),
            checksums: Vec::new(),
            file_infos: Vec::new(),
            temperature: Temperature::Unknown,
            atomic_replace_range: None,
        }
    }
}

impl From<IngestExternalFileArg> for IngestRequest {
    fn from(from: IngestExternalFileArg) -> Self {
        IngestRequest {
            family: from.family.inner().clone(),
            files: from.files,
            options: from.options,
            checksums: from.checksums,
            infos: from.file_infos,
            temperature: from.temperature,
            replace: from.atomic_replace_range,
        }
    }
}

/// Files that are checked and copied into the database, but not visible yet. Dropping the handle removes the copies.
/// RocksDB's `FileIngestionHandle`.
///
/// ```
/// use ironstone::{Db, IngestExternalFileArg, IngestExternalFileOptions, Options, SstFileWriter};
///
/// let options = Options::in_memory();
/// let mut file = SstFileWriter::create("new.sst", &options.db, &options.family)?;
/// file.put(b"a", b"1")?;
/// file.finish()?;
///
/// let db = Db::open("data", options)?;
/// let how = IngestExternalFileOptions::default();
/// let handle = db.prepare_file_ingestion(vec![IngestExternalFileArg::new(&db, ["new.sst"], &how)])?;
/// assert_eq!(db.get(b"a")?, None);
/// handle.commit()?;
/// assert!(db.get(b"a")?.is_some());
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct FileIngestionHandle {
    prepared: PreparedIngestion,
}

impl FileIngestionHandle {
    /// Makes the files visible, in one commit for all column families. Writers wait during the commit.
    ///
    /// # Errors
    /// The errors of [`Db::ingest_external_files_with`]. After an error no file is visible, and the copies are
    /// removed.
    ///
    /// ```
    /// # use ironstone::{Db, IngestExternalFileArg, IngestExternalFileOptions, Options, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("new.sst", &options.db, &options.family)?;
    /// # file.put(b"a", b"1")?;
    /// # file.finish()?;
    /// let db = Db::open("data", options)?;
    /// let files = IngestExternalFileArg::new(&db, ["new.sst"], &IngestExternalFileOptions::default());
    /// db.prepare_file_ingestion(vec![files])?.commit()?;
    /// assert!(db.get(b"a")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn commit(self) -> Result<()> {
        self.prepared.commit()
    }

    /// Makes the files of several handles visible, in one commit. Handles may have a column family in common: then their files
    /// are ingested as by one ingestion, in the order of the list. If two of these files have a key in common, the entry of the
    /// later file is newer. RocksDB: `CommitFileIngestionHandles`.
    ///
    /// # Errors
    /// The errors of [`Db::ingest_external_files_with`]. InvalidArgument if the list is empty, if the handles belong to different
    /// databases, if `fill_cache` of the handles differs, or if handles of one column family have different options. NotSupported
    /// if handles of one column family replace a range. After an error no file is visible, and the copies are removed.
    ///
    /// ```
    /// # use ironstone::{Db, FileIngestionHandle, IngestExternalFileArg, IngestExternalFileOptions, Options, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # for name in ["1.sst", "2.sst"] {
    /// #     let mut file = SstFileWriter::create(name, &options.db, &options.family)?;
    /// #     file.put(b"a", name.as_bytes())?;
    /// #     file.finish()?;
    /// # }
    /// let db = Db::open("data", options)?;
    /// let how = IngestExternalFileOptions::default();
    /// let prepare = |name| db.prepare_file_ingestion(vec![IngestExternalFileArg::new(&db, [name], &how)]);
    /// FileIngestionHandle::commit_together(vec![prepare("1.sst")?, prepare("2.sst")?])?;
    /// assert_eq!(db.get(b"a")?.as_deref(), Some(&b"2.sst"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn commit_together(handles: Vec<FileIngestionHandle>) -> Result<()> {
        PreparedIngestion::commit_together(handles.into_iter().map(|handle| handle.prepared).collect())
    }
}

impl Family {
    /// Ingests external SST files into this column family. All files become visible at once.
    ///
    /// If the files overlap memtables, the memtables are flushed first. Cost: a copy of each file, or a link with
    /// `move_files` or `link_files`; writers wait while the level of each file is chosen and the MANIFEST is written.
    ///
    /// # Errors
    /// The errors of [`Db::ingest_external_files_with`].
    ///
    /// ```
    /// # use ironstone::{Db, IngestExternalFileOptions, Options, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("new.sst", &options.db, &options.family)?;
    /// # file.put(b"a", b"1")?;
    /// # file.finish()?;
    /// let db = Db::open("data", options)?;
    /// let how = IngestExternalFileOptions { move_files: true, ..IngestExternalFileOptions::default() };
    /// db.default_family().ingest_external_files(["new.sst"], &how)?;
    /// assert!(db.get(b"a")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn ingest_external_files<P: AsRef<Path>>(
        &self,
        files: impl IntoIterator<Item = P>,
        options: &IngestExternalFileOptions,
    ) -> Result<()> {
        let arg = IngestExternalFileArg::new(self, files, options);
        self.db.files().ingest(vec![arg.into()])
    }

    /// Returns what an ingestion needs to know of a live SST file of the database: see
    /// [`IngestExternalFileArg::file_infos`]. `path` is the path of the file as [`Family::live_files`] has it. Cost: the open of the
    /// file, if the file is not open. RocksDB's `GetPreparedFileInfoForExternalSstIngestion`.
    ///
    /// # Errors
    /// InvalidArgument if `path` is not the path of a live SST file of any column family. NotFound if no column family has a
    /// file of this number. Errors of opening the file.
    ///
    /// ```
    /// use ironstone::{Db, IngestExternalFileArg, IngestExternalFileOptions, Options};
    ///
    /// let options = Options::in_memory();
    /// let from = Db::open("from", options.clone())?;
    /// from.put(b"k", b"v")?;
    /// from.flush()?;
    /// let path = &from.live_files()[0].path;
    /// let info = from.prepared_file_info_for_external_sst_ingestion(path)?;
    ///
    /// let to = Db::open("to", options)?;
    /// let how = IngestExternalFileOptions {
    ///     allow_db_generated_files: true,
    ///     ..IngestExternalFileOptions::default()
    /// };
    /// let mut files = IngestExternalFileArg::new(&to, [path], &how);
    /// files.file_infos = vec![info];
    /// to.ingest_external_files_with(vec![files])?;
    /// assert_eq!(to.get(b"k")?.as_deref(), Some(&b"v"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn prepared_file_info_for_external_sst_ingestion(
        &self,
        path: impl AsRef<Path>,
    ) -> Result<Arc<PreparedFileInfo>> {
        engine::db::prepared_file_info(&self.db, path.as_ref()).map(Arc::new)
    }
}

impl Db {
    /// Ingests external SST files into several column families. All files become visible at once, or none after an
    /// error. RocksDB's `IngestExternalFiles`.
    ///
    /// # Errors
    /// InvalidArgument if two options contradict each other, or if a file has another comparator or another column family.
    /// InvalidArgument also for files without entries, and for files that need a flush or a sequence number that the
    /// options forbid. Corruption and NotSupported for files that are damaged, incomplete, or of a newer release.
    /// TryAgain with `fail_if_not_bottommost_level`. The background error. IoError of the file system. Each error names
    /// the file. After an error the database and the external files are as before.
    ///
    /// ```
    /// # use ironstone::{Db, IngestExternalFileArg, IngestExternalFileOptions, Options, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("new.sst", &options.db, &options.family)?;
    /// # file.put(b"a", b"1")?;
    /// # file.finish()?;
    /// let db = Db::open("data", options)?;
    /// let how = IngestExternalFileOptions::default();
    /// db.ingest_external_files_with(vec![IngestExternalFileArg::new(&db, ["new.sst"], &how)])?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn ingest_external_files_with(&self, args: Vec<IngestExternalFileArg>) -> Result<()> {
        self.engine().files().ingest(args.into_iter().map(Into::into).collect())
    }

    /// Checks external SST files and copies the files into the database, in the first of two phases. RocksDB's
    /// `PrepareFileIngestion`.
    ///
    /// # Errors
    /// The errors of [`Db::ingest_external_files_with`].
    ///
    /// ```
    /// # use ironstone::{Db, IngestExternalFileArg, IngestExternalFileOptions, Options, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("new.sst", &options.db, &options.family)?;
    /// # file.put(b"a", b"1")?;
    /// # file.finish()?;
    /// let db = Db::open("data", options)?;
    /// let how = IngestExternalFileOptions::default();
    /// let handle = db.prepare_file_ingestion(vec![IngestExternalFileArg::new(&db, ["new.sst"], &how)])?;
    /// drop(handle); // removes the copies
    /// assert_eq!(db.get(b"a")?, None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn prepare_file_ingestion(&self, args: Vec<IngestExternalFileArg>) -> Result<FileIngestionHandle> {
        let args = args.into_iter().map(Into::into).collect();
        Ok(FileIngestionHandle { prepared: self.engine().files().prepare_ingestion(args)? })
    }
}
