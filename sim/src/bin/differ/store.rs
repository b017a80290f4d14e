//! The interface that both engines implement for a comparison: the calls, and the form of the answers.

use std::path::Path;

use ironstone::{FamilyId, WriteBatch};
use peer::Library;

use crate::ours::Ours;
use crate::theirs::Theirs;

/// A status, as RocksDB names its code: `Invalid argument`, `NotFound`, ..
pub type Code = String;
/// The answer of an engine: a value, or the code of an error.
pub type Told<T> = Result<T, Code>;

/// The options of a read.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
    pub mode: Mode,
    pub pin: bool,
    pub async_io: bool,
    pub no_fill: bool,
    pub no_checksums: bool,
    pub readahead: usize,
    pub soft_limit: Option<u64>,
}

/// How an iterator treats prefixes and later writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Total,
    Auto,
    Prefix,
    SamePrefix,
    Tailing,
}

/// One move of an iterator.
#[derive(Clone, Debug)]
pub enum Move {
    First,
    Last,
    Seek(Vec<u8>),
    SeekForPrev(Vec<u8>),
    Next,
    Prev,
    Refresh,
}

/// The position of an iterator.
#[derive(Clone, PartialEq, Eq)]
pub enum Position {
    At(Vec<u8>, Vec<u8>),
    End,
    Failed(Code),
}

/// Names and values of columns.
pub type Columns = Vec<(Vec<u8>, Vec<u8>)>;

/// One entry of an external SST file.
#[derive(Clone, Debug)]
pub enum External {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Merge(Vec<u8>, Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// One record of a batch. A column family is given by its index among the open column families.
#[derive(Clone, Debug)]
pub enum Item {
    Put(usize, Vec<u8>, Vec<u8>),
    /// The columns are sorted by their names.
    Entity(usize, Vec<u8>, Columns),
    Delete(usize, Vec<u8>),
    SingleDelete(usize, Vec<u8>),
    Merge(usize, Vec<u8>, Vec<u8>),
    DeleteRange(usize, Vec<u8>, Vec<u8>),
    LogData(Vec<u8>),
    SavePoint,
    Rollback,
    PopSavePoint,
}

/// The options of a write. `no_wal` writes no WAL record; `ignore_missing` skips changes of dropped column
/// families.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writing {
    pub sync: bool,
    pub no_wal: bool,
    pub ignore_missing: bool,
}

/// The options of a manual compaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compacting {
    /// RocksDB's number: skip, if there is a filter, force, force optimised.
    pub bottommost: u8,
    pub exclusive: bool,
    pub target_level: Option<i32>,
    pub subcompactions: u32,
}

/// The timestamps of the next step, in column families with timestamps.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The timestamp of the next record. Each record takes the next timestamp.
    pub write: u64,
    /// The timestamp of reads.
    pub read: u64,
}

/// Returns a batch whose records carry timestamps, from `write` on, and the answers of its save points.
pub fn stamped(
    items: &[Item],
    write: &mut u64,
    id: impl Fn(usize) -> FamilyId,
) -> (WriteBatch, Vec<Told<()>>) {
    let mut batch = WriteBatch::new();
    let mut answers = Vec::new();
    for item in items {
        let at = write.to_le_bytes();
        *write += 1;
        match item {
            Item::Put(f, k, v) => drop(batch.put_at(id(*f), k, &at, v)),
            // The script has no entity in column families with timestamps.
            Item::Entity(..) => {}
            Item::Delete(f, k) => drop(batch.delete_at(id(*f), k, &at)),
            Item::SingleDelete(f, k) => drop(batch.single_delete_at(id(*f), k, &at)),
            Item::Merge(f, k, v) => drop(batch.merge_at(id(*f), k, &at, v)),
            Item::DeleteRange(f, a, b) => drop(batch.delete_range_at(id(*f), a, b, &at)),
            Item::LogData(blob) => drop(batch.put_log_data(blob)),
            Item::SavePoint => batch.set_save_point(),
            Item::Rollback => answers.push(batch.rollback_to_save_point().map_err(|e| crate::ours::code(&e))),
            Item::PopSavePoint => answers.push(batch.pop_save_point().map_err(|e| crate::ours::code(&e))),
        }
    }
    (batch, answers)
}

/// Returns a batch, and the answers of its save points.
pub fn plain(items: &[Item], id: impl Fn(usize) -> FamilyId) -> (WriteBatch, Vec<Told<()>>) {
    let mut batch = WriteBatch::new();
    let mut answers = Vec::new();
    for item in items {
        match item {
            Item::Put(f, k, v) => drop(batch.put_in(id(*f), k, v)),
            Item::Entity(f, k, columns) => {
                let columns: Vec<(&[u8], &[u8])> = columns.iter().map(|(n, v)| (&n[..], &v[..])).collect();
                batch.put_entity_in(id(*f), k, &columns);
            }
            Item::Delete(f, k) => drop(batch.delete_in(id(*f), k)),
            Item::SingleDelete(f, k) => drop(batch.single_delete_in(id(*f), k)),
            Item::Merge(f, k, v) => drop(batch.merge_in(id(*f), k, v)),
            Item::DeleteRange(f, a, b) => drop(batch.delete_range_in(id(*f), a, b)),
            Item::LogData(blob) => drop(batch.put_log_data(blob)),
            Item::SavePoint => batch.set_save_point(),
            Item::Rollback => answers.push(batch.rollback_to_save_point().map_err(|e| crate::ours::code(&e))),
            Item::PopSavePoint => answers.push(batch.pop_save_point().map_err(|e| crate::ours::code(&e))),
        }
    }
    (batch, answers)
}

/// A column family: its name and its option text.
pub type FamilyText = (String, String);

/// An open database of one of the engines. The drop closes the database.
pub trait Store {
    /// Sets the timestamps of later records and reads.
    fn set_times(&mut self, times: Times);
    fn create(&mut self, name: &str, text: &str) -> Told<()>;
    /// Drops a column family. Its handle stays as the ghost.
    fn drop_family(&mut self, at: usize) -> Told<()>;
    /// Runs a fixed list of calls on the ghost, the column family that was dropped last.
    fn haunt(&mut self) -> Vec<Told<()>>;
    /// Writes to the ghost.
    fn haunt_writing(&mut self) -> Vec<Told<()>>;
    /// Writes one record by its own call, without a batch.
    fn single(&mut self, item: &Item, writing: Writing) -> Told<()>;
    /// Writes a batch. Returns the answers of its save points, its count, and the answer of the write.
    fn batch(&mut self, items: &[Item], writing: Writing) -> (Vec<Told<()>>, u32, Told<()>);
    fn get(&mut self, at: usize, key: &[u8], snapshot: Option<usize>, spec: &Spec) -> Told<Option<Vec<u8>>>;
    fn multi_get(
        &mut self,
        at: usize,
        keys: &[Vec<u8>],
        snapshot: Option<usize>,
        spec: &Spec,
        batched: bool,
    ) -> Vec<Told<Option<Vec<u8>>>>;
    fn snapshot(&mut self);
    fn release(&mut self, at: usize);
    fn open_iter(&mut self, slot: usize, at: usize, snapshot: Option<usize>, spec: &Spec);
    fn close_iter(&mut self, slot: usize);
    /// Moves an iterator and returns its position. A step of an iterator that is not valid does nothing.
    fn move_iter(&mut self, slot: usize, how: &Move) -> Position;
    fn flush(&mut self, families: &[usize]) -> Told<()>;
    fn flush_wal(&mut self, sync: bool) -> Told<()>;
    /// Ingests an external SST file.
    fn ingest(&mut self, at: usize, file: &Path) -> Told<()>;
    fn compact(&mut self, at: usize, begin: Option<&[u8]>, end: Option<&[u8]>, how: Compacting);
    fn wait(&mut self) -> Told<()>;
    /// Sets an option of a column family, or of the database (`None`).
    fn set_options(&mut self, at: Option<usize>, name: &str, value: &str) -> Told<()>;
    fn int_property(&mut self, at: usize, name: &str) -> Option<u64>;
    fn has_property(&mut self, at: usize, name: &str) -> bool;
    fn sequence(&mut self) -> u64;
    fn verify(&mut self) -> Told<()>;
    fn family_id(&mut self, at: usize) -> u32;
}

/// One of the two engines.
#[derive(Clone)]
pub enum Side {
    Ours,
    Theirs(Library),
}

impl Side {
    /// Opens a database with this engine.
    ///
    /// # Errors
    /// The code of the error.
    pub fn open(
        &self,
        path: &Path,
        text: &str,
        families: &[FamilyText],
        read_only: bool,
    ) -> Told<Box<dyn Store>> {
        Ok(match self {
            Side::Ours => Box::new(Ours::open(path, text, families, read_only)?),
            Side::Theirs(library) => Box::new(Theirs::open(library, path, text, families, read_only)?),
        })
    }

    /// Writes an external SST file with this engine, for a column family with this option text.
    pub fn write_file(&self, path: &Path, text: &str, entries: &[External]) -> Told<()> {
        match self {
            Side::Ours => crate::ours::write_file(path, text, entries),
            Side::Theirs(library) => crate::theirs::write_file(library, path, text, entries),
        }
    }

    /// Returns the column families on disk, in the order of their ids.
    pub fn families(&self, path: &Path) -> Told<Vec<String>> {
        match self {
            Side::Ours => ironstone::list_column_families(path, &ironstone::DbOptions::default())
                .map_err(|e| crate::ours::code(&e)),
            Side::Theirs(library) => library.families(path).map_err(crate::theirs::code),
        }
    }

    /// Returns the answer of the engine to an option string.
    pub fn takes(&self, text: &str) -> Told<()> {
        match self {
            Side::Ours => ironstone::Options::default().update(text).map_err(|e| crate::ours::code(&e)),
            Side::Theirs(library) => library.options(text).map(|_| ()).map_err(crate::theirs::code),
        }
    }
}
