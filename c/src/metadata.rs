//! The levels and SST files of a column family, and the live files of a database.

use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use base::Result;
use engine::family::Family;

use crate::abi::rejected::has_rejected;
use crate::abi::{Buffer, ConstOwned, Out, Owned, Rejected, Text};
use crate::db::{rocksdb_column_family_handle_t, rocksdb_t};

/// An SST file.
#[derive(Clone)]
pub struct File {
    pub family: CString,
    pub level: i32,
    /// The name with a leading slash, as in RocksDB: `/000012.sst`.
    pub name: CString,
    pub directory: CString,
    pub size: usize,
    pub smallest_key: Vec<u8>,
    pub largest_key: Vec<u8>,
    pub smallest_seq: u64,
    pub largest_seq: u64,
    pub entries: u64,
    pub deletions: u64,
    /// The epoch number: the order of SST files in level 0. 0: not known.
    pub epoch_number: u64,
    /// The temperature as the MANIFEST stores it. 0: not known.
    pub temperature: u8,
    /// The smallest and the largest internal key. Empty: not known.
    pub boundaries: (Vec<u8>, Vec<u8>),
}

/// A column family: name and levels.
pub struct rocksdb_column_family_metadata_t {
    name: String,
    levels: Vec<Arc<Level>>,
}

struct Level {
    level: i32,
    files: Vec<Arc<File>>,
}

/// A level of a column family.
pub struct rocksdb_level_metadata_t {
    level: Arc<Level>,
}

/// An SST file of a level.
pub struct rocksdb_sst_file_metadata_t {
    file: Arc<File>,
}

/// The live SST files of a database.
#[derive(Clone, Default)]
pub struct rocksdb_livefiles_t {
    pub(crate) files: Vec<Arc<File>>,
}

/// Selects the files that the metadata of a column family includes.
#[derive(Default)]
pub struct rocksdb_column_family_metadata_options_t {
    level: i32,
    start_key: Option<Vec<u8>>,
    end_key: Option<Vec<u8>>,
    rejected: Rejected,
}
has_rejected!(rocksdb_column_family_metadata_options_t);

/// Returns the options that select all levels and all keys.
fn everything() -> rocksdb_column_family_metadata_options_t {
    rocksdb_column_family_metadata_options_t { level: -1, ..Default::default() }
}

pub(crate) fn c_string(text: &[u8]) -> CString {
    CString::new(text).unwrap_or_default()
}

/// Returns the SST files of a column family, level by level.
fn files_of(family: &Family) -> Vec<Arc<File>> {
    let pinned = family.pin_owned();
    let name = c_string(family.name().as_bytes());
    let file = |(level, file): (base::Level, &Arc<lsm::table_file::TableFile>)| {
        let path = pinned.parts.table_path(file.number, file.path_id);
        let relative =
            path.file_name().map(|name| [b"/", name.as_encoded_bytes()].concat()).unwrap_or_default();
        let directory = path.parent().unwrap_or(Path::new("")).as_os_str().as_encoded_bytes().to_vec();
        let stats = file.stats().copied().unwrap_or_default();
        Arc::new(File {
            family: name.clone(),
            level: i32::from(level.get()),
            name: c_string(&relative),
            directory: c_string(&directory),
            size: usize::try_from(file.size).unwrap_or(usize::MAX),
            smallest_key: file.smallest_user_key().to_vec(),
            largest_key: file.largest_user_key().to_vec(),
            smallest_seq: file.smallest_seq.get(),
            largest_seq: file.largest_seq.get(),
            entries: stats.num_entries,
            deletions: stats.num_deletions,
            epoch_number: file.epoch_number.get(),
            temperature: file.temperature,
            boundaries: (file.smallest.to_vec(), file.largest.to_vec()),
        })
    };
    pinned.version.files().map(file).collect()
}

/// Returns the metadata of a column family. `options` select a level (-1: all levels) and a range of keys. With `options`, the
/// levels without a selected file are left out.
fn describe(
    family: &Family,
    options: Option<&rocksdb_column_family_metadata_options_t>,
) -> rocksdb_column_family_metadata_t {
    let order = &family.order().user;
    let meets = |file: &File| {
        options.is_none_or(|options| {
            let after = options
                .start_key
                .as_ref()
                .is_some_and(|start| order.compare_stripped(&file.largest_key, start).is_lt());
            let before = options
                .end_key
                .as_ref()
                .is_some_and(|end| order.compare_stripped(&file.smallest_key, end).is_gt());
            !after && !before
        })
    };
    let wanted = |level: i32| options.is_none_or(|options| options.level < 0 || options.level == level);
    let files = files_of(family);
    let count = family.pin_owned().version.num_levels();
    let level = |level: i32| {
        let files = files.iter().filter(|file| file.level == level && meets(file)).cloned().collect();
        Arc::new(Level { level, files })
    };
    let levels = (0..i32::try_from(count).unwrap_or(0)).filter(|at| wanted(*at)).map(level);
    // As in RocksDB, options leave out the levels without a file.
    let levels = levels.filter(|level| options.is_none() || !level.files.is_empty()).collect();
    rocksdb_column_family_metadata_t { name: family.name().to_string(), levels }
}

fn sum(files: &[Arc<File>]) -> u64 {
    files.iter().map(|file| file.size as u64).sum()
}

fn key(bytes: &[u8], len: &Out<usize>) -> Buffer {
    len.set(bytes.len());
    Buffer::bytes(bytes)
}

accessors! {
    rocksdb_column_family_metadata_options_t, "rocksdb_column_family_metadata_options_", |o|;
    level: i32 => o.level;
}

c_api! {
    /// Creates options that select all levels and all keys.
    fn rocksdb_column_family_metadata_options_create() -> Owned<rocksdb_column_family_metadata_options_t> {
        Owned(everything())
    }

    fn rocksdb_column_family_metadata_options_destroy(options: own rocksdb_column_family_metadata_options_t) {
        drop(options)
    }

    /// Copies the key. Null: no bound.
    fn rocksdb_column_family_metadata_options_set_start_key(
        options: mut rocksdb_column_family_metadata_options_t, key: bound
    ) {
        options.start_key = key.map(<[u8]>::to_vec);
    }

    /// Returns the bound, or null if there is none. The bytes are valid until the next change or the end of the handle.
    fn rocksdb_column_family_metadata_options_get_start_key(
        options: in rocksdb_column_family_metadata_options_t, key_len: out usize
    ) -> Option<Text> {
        key_len.set(options.start_key.as_ref().map_or(0, Vec::len));
        options.start_key.as_deref().map(Text::bytes)
    }

    /// Copies the key. Null: no bound.
    fn rocksdb_column_family_metadata_options_set_end_key(
        options: mut rocksdb_column_family_metadata_options_t, key: bound
    ) {
        options.end_key = key.map(<[u8]>::to_vec);
    }

    /// Returns the bound, or null if there is none. The bytes are valid until the next change or the end of the handle.
    fn rocksdb_column_family_metadata_options_get_end_key(
        options: in rocksdb_column_family_metadata_options_t, key_len: out usize
    ) -> Option<Text> {
        key_len.set(options.end_key.as_ref().map_or(0, Vec::len));
        options.end_key.as_deref().map(Text::bytes)
    }

    /// Returns the levels and SST files of the default column family.
    fn rocksdb_get_column_family_metadata(db: at rocksdb_t) -> Owned<rocksdb_column_family_metadata_t> {
        Owned(describe(&*db.default_family()?, None))
    }

    /// Null options: all levels with SST files.
    fn rocksdb_get_column_family_metadata_with_options(
        db: at rocksdb_t, options: inmaybe rocksdb_column_family_metadata_options_t
    ) -> Owned<rocksdb_column_family_metadata_t> {
        let all = everything();
        Owned(describe(&*db.default_family()?, Some(options.unwrap_or(&all))))
    }

    fn rocksdb_get_column_family_metadata_cf(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t
    ) -> Owned<rocksdb_column_family_metadata_t> {
        Owned(describe(&*db.family(column_family)?, None))
    }

    /// Null options: all levels with SST files.
    fn rocksdb_get_column_family_metadata_cf_with_options(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t,
        options: inmaybe rocksdb_column_family_metadata_options_t
    ) -> Owned<rocksdb_column_family_metadata_t> {
        let all = everything();
        Owned(describe(&*db.family(column_family)?, Some(options.unwrap_or(&all))))
    }

    fn rocksdb_column_family_metadata_destroy(metadata: own rocksdb_column_family_metadata_t) {
        drop(metadata)
    }

    /// Returns the total size of all SST files, in bytes.
    fn rocksdb_column_family_metadata_get_size(metadata: at rocksdb_column_family_metadata_t) -> u64 {
        metadata.levels.iter().map(|level| sum(&level.files)).sum::<u64>()
    }

    fn rocksdb_column_family_metadata_get_file_count(metadata: at rocksdb_column_family_metadata_t) -> usize {
        metadata.levels.iter().map(|level| level.files.len()).sum::<usize>()
    }

    fn rocksdb_column_family_metadata_get_name(metadata: at rocksdb_column_family_metadata_t) -> Buffer {
        Buffer::string(metadata.name.as_bytes())
    }

    fn rocksdb_column_family_metadata_get_level_count(metadata: at rocksdb_column_family_metadata_t) -> usize {
        metadata.levels.len()
    }

    /// Returns a level, or null if there is no such level. The caller destroys the handle.
    fn rocksdb_column_family_metadata_get_level_metadata(
        metadata: at rocksdb_column_family_metadata_t, i: usize
    ) -> Option<Owned<rocksdb_level_metadata_t>> {
        metadata.levels.get(i).map(|level| Owned(rocksdb_level_metadata_t { level: level.clone() }))
    }

    fn rocksdb_level_metadata_destroy(metadata: own rocksdb_level_metadata_t) {
        drop(metadata)
    }

    fn rocksdb_level_metadata_get_level(metadata: at rocksdb_level_metadata_t) -> i32 {
        metadata.level.level
    }

    fn rocksdb_level_metadata_get_size(metadata: at rocksdb_level_metadata_t) -> u64 {
        sum(&metadata.level.files)
    }

    fn rocksdb_level_metadata_get_file_count(metadata: at rocksdb_level_metadata_t) -> usize {
        metadata.level.files.len()
    }

    /// Returns an SST file, or null if there is no such file. The caller destroys the handle.
    fn rocksdb_level_metadata_get_sst_file_metadata(
        metadata: at rocksdb_level_metadata_t, i: usize
    ) -> Option<Owned<rocksdb_sst_file_metadata_t>> {
        metadata.level.files.get(i).map(|file| Owned(rocksdb_sst_file_metadata_t { file: file.clone() }))
    }

    fn rocksdb_sst_file_metadata_destroy(metadata: own rocksdb_sst_file_metadata_t) {
        drop(metadata)
    }

    /// Returns the name of the file in its directory. The caller frees the name.
    fn rocksdb_sst_file_metadata_get_relative_filename(metadata: at rocksdb_sst_file_metadata_t) -> Buffer {
        let name = metadata.file.name.as_bytes();
        Buffer::string(name.strip_prefix(b"/").unwrap_or(name))
    }

    fn rocksdb_sst_file_metadata_get_directory(metadata: at rocksdb_sst_file_metadata_t) -> Buffer {
        Buffer::string(metadata.file.directory.as_bytes())
    }

    fn rocksdb_sst_file_metadata_get_size(metadata: at rocksdb_sst_file_metadata_t) -> u64 {
        metadata.file.size as u64
    }

    fn rocksdb_sst_file_metadata_get_smallestkey(metadata: at rocksdb_sst_file_metadata_t, len: out usize) -> Buffer {
        key(&metadata.file.smallest_key, &len)
    }

    fn rocksdb_sst_file_metadata_get_largestkey(metadata: at rocksdb_sst_file_metadata_t, len: out usize) -> Buffer {
        key(&metadata.file.largest_key, &len)
    }

    /// Returns the SST files of all column families.
    fn rocksdb_livefiles(db: at rocksdb_t) -> ConstOwned<rocksdb_livefiles_t> {
        let families = db.db()?.families();
        ConstOwned(rocksdb_livefiles_t { files: families.iter().flat_map(|family| files_of(family)).collect() })
    }

    /// Creates an empty list of files.
    fn rocksdb_livefiles_create() -> Owned<rocksdb_livefiles_t> {
        Owned(rocksdb_livefiles_t::default())
    }

    fn rocksdb_livefiles_destroy(files: cown rocksdb_livefiles_t) {
        drop(files)
    }

    fn rocksdb_livefiles_count(files: in rocksdb_livefiles_t) -> i32 {
        i32::try_from(files.files.len()).unwrap_or(i32::MAX)
    }

    fn rocksdb_livefiles_column_family_name(files: in rocksdb_livefiles_t, index: i32) -> Text {
        Text::string(&file(files, index)?.family)
    }

    fn rocksdb_livefiles_name(files: in rocksdb_livefiles_t, index: i32) -> Text {
        Text::string(&file(files, index)?.name)
    }

    fn rocksdb_livefiles_directory(files: in rocksdb_livefiles_t, index: i32) -> Text {
        Text::string(&file(files, index)?.directory)
    }

    fn rocksdb_livefiles_level(files: in rocksdb_livefiles_t, index: i32) -> i32 {
        file(files, index)?.level
    }

    fn rocksdb_livefiles_size(files: in rocksdb_livefiles_t, index: i32) -> usize {
        file(files, index)?.size
    }

    fn rocksdb_livefiles_smallestkey(files: in rocksdb_livefiles_t, index: i32, size: out usize) -> Text {
        let key = &file(files, index)?.smallest_key;
        size.set(key.len());
        Text::bytes(key)
    }

    fn rocksdb_livefiles_largestkey(files: in rocksdb_livefiles_t, index: i32, size: out usize) -> Text {
        let key = &file(files, index)?.largest_key;
        size.set(key.len());
        Text::bytes(key)
    }

    fn rocksdb_livefiles_smallest_seqno(files: in rocksdb_livefiles_t, index: i32) -> u64 {
        file(files, index)?.smallest_seq
    }

    fn rocksdb_livefiles_largest_seqno(files: in rocksdb_livefiles_t, index: i32) -> u64 {
        file(files, index)?.largest_seq
    }

    fn rocksdb_livefiles_entries(files: in rocksdb_livefiles_t, index: i32) -> u64 {
        file(files, index)?.entries
    }

    fn rocksdb_livefiles_deletions(files: in rocksdb_livefiles_t, index: i32) -> u64 {
        file(files, index)?.deletions
    }
}

/// # Errors
/// InvalidArgument if there is no such file.
fn file(files: &rocksdb_livefiles_t, index: i32) -> Result<&Arc<File>> {
    let file = usize::try_from(index).ok().and_then(|index| files.files.get(index));
    file.ok_or_else(|| base::Error::invalid_argument(format!("there is no live file {index}")))
}

/// The description of a live file that a program makes for an import.
#[derive(Default)]
pub struct rocksdb_livefile_t {
    family: CString,
    level: i32,
    name: CString,
    directory: CString,
    size: usize,
    smallest_key: Vec<u8>,
    largest_key: Vec<u8>,
    smallest_seqno: u64,
    largest_seqno: u64,
    num_entries: u64,
    num_deletions: u64,
    rejected: Rejected,
}
has_rejected!(rocksdb_livefile_t);

lifetime!(rocksdb_livefile_t, rocksdb_livefile_create, rocksdb_livefile_destroy);

accessors! {
    rocksdb_livefile_t, "rocksdb_livefile_", |o|;
    level: i32 / none => o.level;
    size: usize / none => o.size;
    smallest_seqno: u64 / none => o.smallest_seqno;
    largest_seqno: u64 / none => o.largest_seqno;
    num_entries: u64 / none => o.num_entries;
    num_deletions: u64 / none => o.num_deletions;
}

c_api! {
    fn rocksdb_livefile_set_column_family_name(file: mut rocksdb_livefile_t, name: text) {
        file.family = c_string(name.as_bytes());
    }

    fn rocksdb_livefile_set_name(file: mut rocksdb_livefile_t, name: text) {
        file.name = c_string(name.as_bytes());
    }

    fn rocksdb_livefile_set_directory(file: mut rocksdb_livefile_t, directory: text) {
        file.directory = c_string(directory.as_bytes());
    }

    fn rocksdb_livefile_set_smallest_key(file: mut rocksdb_livefile_t, key: bytes) {
        file.smallest_key = key.to_vec();
    }

    fn rocksdb_livefile_set_largest_key(file: mut rocksdb_livefile_t, key: bytes) {
        file.largest_key = key.to_vec();
    }

    /// Moves the file into the list and destroys the handle `file`.
    fn rocksdb_livefiles_add(files: mut rocksdb_livefiles_t, file: own rocksdb_livefile_t) {
        let Some(file) = file else { return Ok(()) };
        files.files.push(Arc::new(File {
            family: file.family,
            level: file.level,
            name: file.name,
            directory: file.directory,
            size: file.size,
            smallest_key: file.smallest_key,
            largest_key: file.largest_key,
            smallest_seq: file.smallest_seqno,
            largest_seq: file.largest_seqno,
            entries: file.num_entries,
            deletions: file.num_deletions,
            epoch_number: 0,
            temperature: 0,
            boundaries: Default::default(),
        }));
    }
}
