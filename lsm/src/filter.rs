//! Compaction filters: user code that decides which entries a compaction keeps.

use std::sync::Arc;

use base::Level;
use base::error::{Error, Result};
use base::option::{Object, no_such, object_by_name};

/// The type of an entry that a filter gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// A value.
    Value,
    /// A merge operand.
    MergeOperand,
    /// The serialized blob index. The value is read first, unless the filter decides by the key.
    BlobIndex,
    /// The serialized entity.
    WideColumnEntity,
}

/// One entry that a filter gets.
#[derive(Clone, Copy, Debug)]
pub struct FilterInput<'a> {
    /// The first input level of the compaction.
    pub level: Level,
    /// The user key, with its timestamp if the column family has timestamps.
    pub user_key: &'a [u8],
    /// The type of the value.
    pub kind: FilterKind,
    /// The value; empty in `filter_blob_by_key`.
    pub value: &'a [u8],
}

/// The decision of a filter about an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The entry stays.
    Keep,
    /// The entry becomes a tombstone. A merge operand is dropped.
    Remove,
    /// The entry becomes a single deletion. Only for keys that are written once.
    Purge,
    /// The entry gets this value and becomes a plain value. A merge operand stays a merge operand.
    ChangeValue(Vec<u8>),
    /// The entry becomes an entity with these columns (name, value). Not for merge operands.
    ChangeColumns(Vec<(Vec<u8>, Vec<u8>)>),
    /// Drops the entry and all entries before this user key without tombstones, so older entries in lower
    /// levels may become visible. If this key is at or before the key of the entry, the entry is kept.
    RemoveAndSkipUntil(Vec<u8>),
    /// Only from `filter_blob_by_key`: the filter needs the value.
    Undetermined,
}

/// A compaction filter. A filter from a factory serves one subcompaction. All subcompactions share a filter
/// that is set in the options.
pub trait CompactionFilter: Send + Sync {
    /// Returns the name that OPTIONS files and the info log hold.
    fn name(&self) -> &str;

    /// Decides about the newest value of a key, or about one merge operand.
    fn filter(&self, input: &FilterInput<'_>) -> Decision;

    /// Decides about a value in a blob file by its key only, so that the value need not be read.
    fn filter_blob_by_key(&self, _input: &FilterInput<'_>) -> Decision {
        Decision::Undetermined
    }

    /// Must return true: filters get entries even if a snapshot needs them. Otherwise flushes and compactions fail with
    /// NotSupported.
    fn ignore_snapshots(&self) -> bool {
        true
    }
}

/// Returns the filter, if a job can use it.
///
/// # Errors
/// NotSupported if the filter does not ignore snapshots. RocksDB removed this feature.
pub fn supported(filter: Arc<dyn CompactionFilter>) -> Result<Arc<dyn CompactionFilter>> {
    if filter.ignore_snapshots() {
        return Ok(filter);
    }
    Err(Error::not_supported("CompactionFilter::IgnoreSnapshots() = false is not supported anymore."))
}

/// The reason for which SST files are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreationReason {
    /// A flush makes the file.
    Flush,
    /// A compaction makes the file.
    Compaction,
    /// A recovery makes the file.
    Recovery,
    /// Another job makes the file.
    Misc,
}

/// The facts about a job that a factory gets.
#[derive(Clone, Copy, Debug)]
pub struct FilterContext {
    /// True if the compaction has all SST files as input.
    pub is_full_compaction: bool,
    /// True if the user asked for the compaction.
    pub is_manual_compaction: bool,
    /// The first level of the input.
    pub input_start_level: Level,
    /// The column family.
    pub family: base::ids::FamilyId,
    /// The reason for which the files are made.
    pub reason: CreationReason,
}

/// Makes a filter for each job.
pub trait CompactionFilterFactory: Send + Sync {
    /// Returns the name that OPTIONS files and the info log hold.
    fn name(&self) -> &str;

    /// Returns true if files that are made for this reason are filtered. Default: only files of compactions.
    fn should_filter(&self, reason: CreationReason) -> bool {
        reason == CreationReason::Compaction
    }

    /// Makes the filter of one job. `None`: the job has no filter.
    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>>;
}

/// Reads the value that a blob index points to. Implemented by a caller that may read files.
pub trait FetchBlob {
    /// Reads the value of `user_key` into `out`. `blob_index` is an encoded blob index.
    ///
    /// # Errors
    /// The errors of reading the blob file. The compaction fails with this error.
    fn fetch(&mut self, user_key: &[u8], blob_index: &[u8], out: &mut Vec<u8>) -> Result<()>;
}

const REMOVE_EMPTY_VALUE: &str = "RemoveEmptyValueCompactionFilter";

/// Removes each value that is empty. Merge operands and entities are kept. RocksDB's filter of this name.
#[derive(Clone, Copy, Debug, Default)]
pub struct RemoveEmptyValue;

impl CompactionFilter for RemoveEmptyValue {
    fn name(&self) -> &str {
        REMOVE_EMPTY_VALUE
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        match input.kind {
            FilterKind::Value if input.value.is_empty() => Decision::Remove,
            _ => Decision::Keep,
        }
    }
}

impl Object for dyn CompactionFilter {
    fn make(text: &str) -> Result<Arc<Self>> {
        object_by_name("compaction filter", text, |name| {
            (name == REMOVE_EMPTY_VALUE).then(|| Arc::new(RemoveEmptyValue) as Arc<dyn CompactionFilter>)
        })
    }

    fn option_text(&self) -> String {
        self.name().to_string()
    }
}

/// RocksDB has no compaction filter factory that can be made by its name.
impl Object for dyn CompactionFilterFactory {
    fn make(text: &str) -> Result<Arc<Self>> {
        Err(no_such("compaction filter factory", text))
    }

    fn option_text(&self) -> String {
        self.name().to_string()
    }
}
