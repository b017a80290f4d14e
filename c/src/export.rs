//! Exports of a column family, and imports of an export into a database.
//!
//! An export is a directory of SST files and a description of the files. The program passes the description to the import.
//! A program that stores a description elsewhere can build the description again from `rocksdb_livefile_t` handles.
//! Facts: RocksDB `db/c.cc`, `include/rocksdb/metadata.h`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use base::SequenceNumber;
use base::{Level, Result};
use ironstone::{ExportImportFilesMetaData, ExportedFile};

use crate::abi::{Buffer, HasRejected, Owned};
use crate::checkpoint::rocksdb_checkpoint_t;
use crate::db::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::metadata::{File, c_string, rocksdb_livefiles_t};
use crate::options::rocksdb_options_t;
use crate::write_options::rocksdb_import_column_family_options_t;

/// The description of an export.
#[derive(Default)]
pub struct rocksdb_export_import_files_metadata_t {
    comparator: String,
    files: rocksdb_livefiles_t,
}

impl rocksdb_export_import_files_metadata_t {
    fn new(export: ExportImportFilesMetaData) -> Self {
        let file = |file: ExportedFile| {
            Arc::new(File {
                // An export has no column family name: the import creates a new column family with its own name.
                family: c_string(b""),
                level: i32::from(file.level.get()),
                name: c_string(format!("/{}", file.name).as_bytes()),
                directory: c_string(file.directory.as_os_str().as_bytes()),
                size: usize::try_from(file.size).unwrap_or(usize::MAX),
                smallest_key: file.smallest_key,
                largest_key: file.largest_key,
                smallest_seq: file.smallest_sequence.get(),
                largest_seq: file.largest_sequence.get(),
                entries: 0,
                deletions: 0,
                epoch_number: file.epoch_number,
                temperature: file.temperature,
                boundaries: (file.smallest, file.largest),
            })
        };
        let files = rocksdb_livefiles_t { files: export.files.into_iter().map(file).collect() };
        rocksdb_export_import_files_metadata_t { comparator: export.db_comparator_name, files }
    }

    /// # Errors
    /// InvalidArgument for a negative level.
    fn export(&self) -> Result<ExportImportFilesMetaData> {
        let file = |file: &Arc<File>| {
            let level = Level::from_index(crate::abi::arguments::count(file.level)?);
            Ok(ExportedFile {
                name: file.name.to_string_lossy().trim_start_matches('/').to_string(),
                directory: PathBuf::from(OsStr::from_bytes(file.directory.as_bytes())),
                level,
                size: file.size as u64,
                smallest_sequence: SequenceNumber::new(file.smallest_seq),
                largest_sequence: SequenceNumber::new(file.largest_seq),
                smallest_key: file.smallest_key.clone(),
                largest_key: file.largest_key.clone(),
                epoch_number: file.epoch_number,
                temperature: file.temperature,
                smallest: file.boundaries.0.clone(),
                largest: file.boundaries.1.clone(),
            })
        };
        let files = self.files.files.iter().map(file).collect::<Result<_>>()?;
        Ok(ExportImportFilesMetaData { db_comparator_name: self.comparator.clone(), files })
    }
}

c_api! {
    /// Flushes a column family, and links or copies its SST files to the new directory `export_dir`.
    fn rocksdb_checkpoint_export_column_family(
        checkpoint: at rocksdb_checkpoint_t, column_family: at rocksdb_column_family_handle_t, export_dir: path,
        err
    ) -> Owned<rocksdb_export_import_files_metadata_t> {
        let export = checkpoint.checkpoint.export_column_family(&*column_family.front()?, export_dir)?;
        Ok(Owned(rocksdb_export_import_files_metadata_t::new(export)))
    }

    /// Creates a column family from an export. The column family and its files appear together, or not at all.
    fn rocksdb_create_column_family_with_import(
        db: at rocksdb_t, column_family_options: in rocksdb_options_t, column_family_name: text,
        import_options: in rocksdb_import_column_family_options_t,
        metadata: at rocksdb_export_import_files_metadata_t, err
    ) -> Owned<rocksdb_column_family_handle_t> {
        import_options.rejected().check()?;
        let descriptor = column_family_options.front_descriptor(column_family_name)?;
        let export = metadata.export()?;
        let created = db.get()?.front.create_family_with_import(descriptor, &import_options.options, &[&export])?;
        let family = db.db()?.family(created.name());
        let family = family.ok_or_else(|| base::Error::not_found(format!("column family {column_family_name}")))?;
        Ok(Owned(db.handle(family)?))
    }

    /// Creates a description without files.
    fn rocksdb_export_import_files_metadata_create() -> Owned<rocksdb_export_import_files_metadata_t> {
        Owned(rocksdb_export_import_files_metadata_t::default())
    }

    /// Returns the name of the comparator. The caller frees the string.
    fn rocksdb_export_import_files_metadata_get_db_comparator_name(
        metadata: at rocksdb_export_import_files_metadata_t
    ) -> Buffer {
        Buffer::string(metadata.comparator.as_bytes())
    }

    fn rocksdb_export_import_files_metadata_set_db_comparator_name(
        metadata: mut rocksdb_export_import_files_metadata_t, name: text
    ) {
        metadata.comparator = name.to_string();
    }

    /// Returns a copy of the list of files. The caller destroys the list.
    fn rocksdb_export_import_files_metadata_get_files(
        metadata: at rocksdb_export_import_files_metadata_t
    ) -> Owned<rocksdb_livefiles_t> {
        Owned(metadata.files.clone())
    }

    /// Moves the list of files into the description and destroys the handle `files`.
    fn rocksdb_export_import_files_metadata_set_files(
        metadata: mut rocksdb_export_import_files_metadata_t, files: own rocksdb_livefiles_t
    ) {
        if let Some(files) = files {
            metadata.files = *files;
        }
    }

    fn rocksdb_export_import_files_metadata_destroy(metadata: own rocksdb_export_import_files_metadata_t) {
        drop(metadata)
    }
}
