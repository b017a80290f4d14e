//! Checkpoints, and lists of the files that make up a database.

use std::ffi::CString;

use engine::db::{LiveFileKind, LiveFileStorageInfo, LiveFilesStorageInfoOptions};
use ironstone::{Checkpoint, CheckpointOptions};

use crate::abi::{Flag, Owned, Text};
use crate::db::rocksdb_t;
use crate::trace_options::rocksdb_livefiles_storage_info_options_t;

/// Creates checkpoints of a database.
pub struct rocksdb_checkpoint_t {
    pub(crate) checkpoint: Checkpoint,
}

/// The files that make up a database.
pub struct rocksdb_livefiles_storage_info_t {
    files: Vec<StoredFile>,
}

/// A file, with its strings for C.
struct StoredFile {
    info: LiveFileStorageInfo,
    name: CString,
    directory: CString,
    checksum: CString,
    checksum_function: CString,
}

fn c_string(bytes: &[u8]) -> CString {
    CString::new(bytes).unwrap_or_default()
}

impl StoredFile {
    fn new(info: LiveFileStorageInfo) -> Self {
        StoredFile {
            name: c_string(info.relative_filename.as_bytes()),
            directory: c_string(info.directory.as_os_str().as_encoded_bytes()),
            checksum: c_string(&info.file_checksum),
            checksum_function: c_string(info.file_checksum_func_name.as_bytes()),
            info,
        }
    }
}

/// Returns RocksDB's number of a file type.
fn file_type(kind: LiveFileKind) -> i32 {
    match kind {
        LiveFileKind::Wal => 0,
        LiveFileKind::Table => 2,
        LiveFileKind::Manifest => 3,
        LiveFileKind::Current => 4,
        LiveFileKind::Options => 9,
        LiveFileKind::Blob => 10,
    }
}

/// # Errors
/// InvalidArgument if there is no such file.
fn file(info: &rocksdb_livefiles_storage_info_t, index: usize) -> base::Result<&StoredFile> {
    let file = info.files.get(index);
    file.ok_or_else(|| base::Error::invalid_argument(format!("there is no live file {index}")))
}

c_api! {
    fn rocksdb_checkpoint_object_create(db: at rocksdb_t, err) -> Owned<rocksdb_checkpoint_t> {
        Ok(Owned(rocksdb_checkpoint_t { checkpoint: Checkpoint::new(&db.get()?.front) }))
    }

    /// Creates a copy of the database in a new directory. Links files if the file system supports links; copies them otherwise.
    /// Flushes the memtables if the WALs have at least `log_size_for_flush` bytes.
    fn rocksdb_checkpoint_create(
        checkpoint: at rocksdb_checkpoint_t, checkpoint_dir: path, log_size_for_flush: u64, err
    ) {
        let options = CheckpointOptions { log_size_for_flush, ..CheckpointOptions::default() };
        checkpoint.checkpoint.create_with(checkpoint_dir, &options).map(|_| ())
    }

    fn rocksdb_checkpoint_object_destroy(checkpoint: own rocksdb_checkpoint_t) {
        drop(checkpoint)
    }

    /// Lists the files that make up the database. Null options: the default options.
    fn rocksdb_get_livefiles_storage_info(
        db: at rocksdb_t, options: inmaybe rocksdb_livefiles_storage_info_options_t, err
    ) -> Owned<rocksdb_livefiles_storage_info_t> {
        let default = rocksdb_livefiles_storage_info_options_t::default();
        let options = options.unwrap_or(&default);
        let options = LiveFilesStorageInfoOptions {
            include_checksum_info: options.include_checksum_info,
            wal_size_for_flush: options.wal_size_for_flush,
            atomic_flush: options.atomic_flush,
        };
        let files = db.db()?.files().live_files_storage_info(&options)?.files;
        Ok(Owned(rocksdb_livefiles_storage_info_t { files: files.into_iter().map(StoredFile::new).collect() }))
    }

    fn rocksdb_livefiles_storage_info_destroy(info: own rocksdb_livefiles_storage_info_t) {
        drop(info)
    }

    fn rocksdb_livefiles_storage_info_count(info: in rocksdb_livefiles_storage_info_t) -> usize {
        info.files.len()
    }

    fn rocksdb_livefiles_storage_info_relative_filename(
        info: in rocksdb_livefiles_storage_info_t, index: usize
    ) -> Text {
        Text::string(&file(info, index)?.name)
    }

    fn rocksdb_livefiles_storage_info_directory(
        info: in rocksdb_livefiles_storage_info_t, index: usize
    ) -> Text {
        Text::string(&file(info, index)?.directory)
    }

    fn rocksdb_livefiles_storage_info_file_number(
        info: in rocksdb_livefiles_storage_info_t, index: usize
    ) -> u64 {
        file(info, index)?.info.file_number.get()
    }

    /// Returns the type of the file. 0: WAL. 2: SST file. 3: MANIFEST. 4: CURRENT. 9: OPTIONS file. 10: blob file.
    fn rocksdb_livefiles_storage_info_file_type(
        info: in rocksdb_livefiles_storage_info_t, index: usize
    ) -> i32 {
        file_type(file(info, index)?.info.kind)
    }

    fn rocksdb_livefiles_storage_info_size(info: in rocksdb_livefiles_storage_info_t, index: usize) -> u64 {
        file(info, index)?.info.size
    }

    fn rocksdb_livefiles_storage_info_temperature(
        info: in rocksdb_livefiles_storage_info_t, index: usize
    ) -> i32 {
        i32::from(file(info, index)?.info.temperature)
    }

    /// Returns the checksum of the file. Returns an empty string if the checksum contains NUL.
    fn rocksdb_livefiles_storage_info_file_checksum(
        info: in rocksdb_livefiles_storage_info_t, index: usize
    ) -> Text {
        Text::string(&file(info, index)?.checksum)
    }

    fn rocksdb_livefiles_storage_info_file_checksum_func_name(
        info: in rocksdb_livefiles_storage_info_t, index: usize
    ) -> Text {
        Text::string(&file(info, index)?.checksum_function)
    }

    /// Returns the content that replaces the content of the file. If there is none, its size is 0.
    fn rocksdb_livefiles_storage_info_replacement_contents(
        info: in rocksdb_livefiles_storage_info_t, index: usize, size: out usize
    ) -> Text {
        let content = file(info, index)?.info.replacement_contents.as_deref().unwrap_or_default();
        size.set(content.len());
        Text::bytes(content)
    }

    /// Returns 1 if only the first bytes of the file belong to the database.
    fn rocksdb_livefiles_storage_info_trim_to_size(
        info: in rocksdb_livefiles_storage_info_t, index: usize
    ) -> Flag {
        Flag(file(info, index)?.info.trim_to_size)
    }
}
