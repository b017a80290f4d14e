//! Exports a column family as SST files, and imports the SST files into another database. Cuts a column family to a
//! key range.

use std::path::{Path, PathBuf};

use base::{EpochNumber, Error, FileNumber, Level, Result, SequenceNumber};
use engine::ingest::{ImportFile, ImportRequest};
use engine::options::{BottommostLevelCompaction, CompactRangeOptions, ImportColumnFamilyOptions};

use crate::transfer::{CopySettings, KeepFiles, copy_file, parent, remove_dir, staging_dir, sync_dir};
use crate::{Checkpoint, Db, Family, FamilyDescriptor};

/// One file of an export. RocksDB's `LiveFileMetaData`.
///
/// ```
/// # use ironstone::{Checkpoint, Db, Options};
/// let db = Db::open("data", Options::in_memory())?;
/// db.put(b"k", b"v")?;
/// let export = Checkpoint::new(&db).export_column_family(&db, "exported")?;
/// assert_eq!(&export.files[0].smallest_key[..], b"k");
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// The name, without a directory.
    pub name: String,
    /// The directory of the export.
    pub directory: PathBuf,
    /// The level of the file.
    pub level: Level,
    /// Bytes.
    pub size: u64,
    /// The smallest sequence number in the file.
    pub smallest_sequence: SequenceNumber,
    /// The largest sequence number in the file.
    pub largest_sequence: SequenceNumber,
    /// The smallest user key, with its timestamp if the column family has timestamps.
    pub smallest_key: Vec<u8>,
    /// The largest user key, with its timestamp if the column family has timestamps.
    pub largest_key: Vec<u8>,
    /// The order of level 0: a larger number is newer.
    pub epoch_number: u64,
    /// The temperature as the MANIFEST stores the temperature. 0: unknown.
    pub temperature: u8,
    /// The smallest internal key that the exporting database used for the file: it cuts the range tombstones in the file. Empty, like
    /// `largest`: an import computes both from the file, and may reject files that share a range tombstone.
    pub smallest: Vec<u8>,
    /// The largest internal key. See `smallest`.
    pub largest: Vec<u8>,
}

/// The facts about an export that an import needs. RocksDB's `ExportImportFilesMetaData`.
///
/// The application must keep the value: no file of the export holds it.
///
/// ```
/// # use ironstone::{Checkpoint, Db, Options};
/// let db = Db::open("data", Options::in_memory())?;
/// db.put(b"k", b"v")?;
/// let export = Checkpoint::new(&db).export_column_family(&db, "exported")?;
/// assert_eq!(export.db_comparator_name, "leveldb.BytewiseComparator");
/// assert_eq!(export.files.len(), 1);
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportImportFilesMetaData {
    /// The name of the comparator. An import compares the name.
    pub db_comparator_name: String,
    /// The files of the export.
    pub files: Vec<ExportedFile>,
}

impl Checkpoint {
    /// Flushes a column family, and links or copies its SST files to the new directory `dir`.
    ///
    /// # Errors
    /// InvalidArgument if `dir` exists; the background error that prevents the flush; IoError of the file system. After an
    /// error `dir` does not exist.
    ///
    /// ```
    /// use ironstone::{Checkpoint, Db, FamilyDescriptor, Options};
    ///
    /// let options = Options::in_memory();
    /// let db = Db::open("data", options.clone())?;
    /// db.put(b"k", b"v")?;
    /// let export = Checkpoint::new(&db).export_column_family(&db, "export")?;
    ///
    /// let other = Db::open("other", options.clone())?;
    /// let how = Default::default();
    /// let copy = FamilyDescriptor::new("copy", options.family);
    /// let family = other.create_family_with_import(copy, &how, &[&export])?;
    /// assert_eq!(family.get(b"k")?.as_deref(), Some(&b"v"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn export_column_family(
        &self,
        family: &Family,
        dir: impl AsRef<Path>,
    ) -> Result<ExportImportFilesMetaData> {
        let dir = dir.as_ref();
        let fs = self.engine().env().fs.clone();
        let staging = staging_dir(&*fs, dir, "export")?;
        remove_dir(&*fs, &staging)?;
        let made = self.fill_export(family, dir, &staging).and_then(|metadata| {
            fs.rename(&staging, dir)?;
            sync_dir(&*fs, &parent(dir)).map(|()| metadata)
        });
        if made.is_err() {
            // The error of the export is returned. If this removal fails too, the next export removes the directory.
            let _ = remove_dir(&*fs, &staging);
        }
        made.map_err(|error| error.doing("exporting a column family"))
    }

    fn fill_export(&self, family: &Family, dir: &Path, staging: &Path) -> Result<ExportImportFilesMetaData> {
        let fs = self.engine().env().fs.clone();
        fs.create_dir(staging)?;
        family.flush()?;
        let _kept = KeepFiles::new(self.engine());
        let pinned = family.inner().pin_owned();
        if !pinned.version.blobs().is_empty() {
            return Err(Error::not_supported("the export of a column family with blob files"));
        }
        let settings = CopySettings::default();
        let mut files = Vec::new();
        for (level, file) in pinned.version.files() {
            let from = pinned.parts.table_path(file.number, file.path_id);
            let name = format::names::table(file.number);
            let target = staging.join(&name);
            if fs.link(&from, &target).is_err() {
                copy_file((&*fs, &from), (&*fs, &target), Some(file.size), &settings)?;
            }
            files.push(ExportedFile {
                name,
                directory: dir.to_path_buf(),
                level,
                size: file.size,
                smallest_sequence: file.smallest_seq,
                largest_sequence: file.largest_seq,
                smallest_key: file.smallest_user_key().to_vec(),
                largest_key: file.largest_user_key().to_vec(),
                epoch_number: file.epoch_number.get(),
                temperature: file.temperature,
                smallest: file.smallest.to_vec(),
                largest: file.largest.to_vec(),
            });
        }
        sync_dir(&*fs, staging)?;
        let db_comparator_name = family.inner().order().user.name().to_string();
        Ok(ExportImportFilesMetaData { db_comparator_name, files })
    }
}

impl Db {
    /// Creates a column family from one or more exports. The key ranges of the exports must not overlap. The column family
    /// and its files appear together: after a crash both exist or neither. RocksDB's `CreateColumnFamilyWithImport`.
    ///
    /// # Errors
    /// InvalidArgument if the name exists, for another comparator, an export without files, and exports that overlap;
    /// Corruption or NotSupported for files that do not open; IoError of the file system. Each error names the file. After
    /// an error there is no new column family, and the exported files are as before.
    ///
    /// ```
    /// # use ironstone::{Checkpoint, Db, FamilyDescriptor, ImportColumnFamilyOptions, Options};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let export = Checkpoint::new(&db).export_column_family(&db, "export")?;
    /// let how = ImportColumnFamilyOptions { move_files: true };
    /// let copy = FamilyDescriptor::new("copy", options.family);
    /// let family = db.create_family_with_import(copy, &how, &[&export])?;
    /// assert!(family.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create_family_with_import(
        &self,
        descriptor: FamilyDescriptor,
        options: &ImportColumnFamilyOptions,
        exports: &[&ExportImportFilesMetaData],
    ) -> Result<Family> {
        let requests: Vec<_> = exports.iter().map(|export| request_of(export)).collect();
        let family =
            self.engine().admin().create_family_with_import(descriptor, &requests, options.move_files)?;
        Ok(Family::new(self.engine().clone(), family))
    }
}

fn request_of(export: &ExportImportFilesMetaData) -> ImportRequest {
    let file = |file: &ExportedFile| ImportFile {
        path: file.directory.join(file.name.trim_start_matches('/')),
        level: file.level,
        size: file.size,
        smallest_seq: file.smallest_sequence,
        largest_seq: file.largest_sequence,
        epoch_number: EpochNumber::new(file.epoch_number),
        temperature: file.temperature,
        boundaries: (!file.smallest.is_empty()).then(|| (file.smallest.clone(), file.largest.clone())),
    };
    ImportRequest {
        comparator_name: export.db_comparator_name.clone(),
        files: export.files.iter().map(file).collect(),
    }
}

impl Family {
    /// Deletes all keys outside of `[begin, end)`, and frees their space. Snapshots lose the keys too. RocksDB's
    /// `ClipColumnFamily`.
    ///
    /// Cost: a compaction of the whole column family.
    ///
    /// # Errors
    /// InvalidArgument if `begin` is not before `end`; NotSupported for a column family with timestamps; errors of the
    /// flush, the writes and the compaction. After an error, some keys outside of the range may still exist.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// for key in ["a", "m", "z"] {
    ///     db.put(key.as_bytes(), b"v")?;
    /// }
    /// db.clip(b"b", b"n")?;
    /// assert_eq!(db.range::<[u8], _>(..).count(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn clip(&self, begin: &[u8], end: &[u8]) -> Result<()> {
        let order = &self.inner().order().user;
        if order.timestamp_size() > 0 {
            return Err(Error::not_supported("clip of a column family with timestamps"));
        }
        if order.compare(begin, end).is_ge() {
            return Err(Error::invalid_argument("clip: begin is not before end"));
        }
        self.flush()?;
        let files = self.live_files();
        let smallest = files.iter().map(|file| &file.smallest_key).min_by(|a, b| order.compare(a, b));
        let largest = files.iter().map(|file| &file.largest_key).max_by(|a, b| order.compare(a, b));
        let (Some(smallest), Some(largest)) = (smallest, largest) else { return Ok(()) };
        // The files with the deletions of this call have larger numbers. They must stay: a file below can hold older entries.
        let limit = files.iter().map(|file| file.number).max().map_or(FileNumber::ZERO, FileNumber::next);
        // In a transaction database, the range deletions lock no keys. RocksDB's `StackableDB::ClipColumnFamily` goes to the
        // database below the transactions too.
        let unguarded = Family::new(engine::db::unguarded(self.engine()), self.inner().clone());
        // Write the range tombstones first. If the files were deleted first, older entries of the deleted keys would
        // become visible.
        if order.compare(smallest, begin).is_lt() {
            unguarded.delete_range(smallest, begin)?;
        }
        if order.compare(end, largest).is_le() {
            unguarded.delete_range(end, largest)?;
            unguarded.delete(largest)?;
        }
        self.flush()?;
        let outside = [(None, Some(begin)), (Some(end), None)];
        engine::db::delete_older_files_in_ranges(self.engine(), self.inner(), &outside, limit)?;
        self.compact_range(
            None,
            None,
            &CompactRangeOptions {
                exclusive_manual_compaction: true,
                bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
                ..CompactRangeOptions::default()
            },
        )
    }
}
