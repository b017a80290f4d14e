//! Compaction filters: the user's say in what a compaction keeps.

use std::sync::Arc;

use base::error::Result;
use base::option::{Object, id_and_options, no_such};

/// What kind of entry a filter is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// A value.
    Value,
    /// A merge operand.
    MergeOperand,
    /// The serialized blob index; the value itself is fetched first unless the filter decides by key.
    BlobIndex,
    /// The serialized entity.
    WideColumnEntity,
}

/// One entry shown to a filter.
#[derive(Clone, Copy, Debug)]
pub struct FilterInput<'a> {
    /// The level the compaction takes its input from.
    pub level: usize,
    /// The user key, with its timestamp if the column family has timestamps.
    pub user_key: &'a [u8],
    /// What the value is.
    pub kind: FilterKind,
    /// Empty in `filter_blob_by_key`.
    pub value: &'a [u8],
}

/// What becomes of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The entry stays.
    Keep,
    /// Becomes a deletion (a merge operand just goes).
    Remove,
    /// Becomes a single deletion: only for keys written once.
    Purge,
    /// Gets this value, as a plain value (an operand stays an operand).
    ChangeValue(Vec<u8>),
    /// Gets these columns, (name, value), as an entity. Not for operands.
    ChangeColumns(Vec<(Vec<u8>, Vec<u8>)>),
    /// The entry and all keys before this user key go, without tombstones: older versions below may
    /// come to light. A key at or before the entry's own keeps the entry.
    RemoveAndSkipUntil(Vec<u8>),
    /// From `filter_blob_by_key` only: the value is needed to decide.
    Undetermined,
}

/// The user's say. One filter serves one subcompaction when it comes from a factory; one given in the
/// options is shared by all of them.
pub trait CompactionFilter: Send + Sync {
    /// Returns the name that OPTIONS files and the info log hold.
    fn name(&self) -> &str;

    /// Decides about one entry: the newest value of a key, or one merge operand.
    fn filter(&self, input: &FilterInput<'_>) -> Decision;

    /// Decides about a blob value by its key alone, to save fetching it.
    fn filter_blob_by_key(&self, _input: &FilterInput<'_>) -> Decision {
        Decision::Undetermined
    }

    /// Must be true: filters see entries whether snapshots hold them or not.
    fn ignore_snapshots(&self) -> bool {
        true
    }
}

/// Why table files are being made.
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

/// What a factory is told about the job.
#[derive(Clone, Copy, Debug)]
pub struct FilterContext {
    /// True if the compaction has all SST files as input.
    pub is_full_compaction: bool,
    /// True if the user asked for the compaction.
    pub is_manual_compaction: bool,
    /// The first level of the input.
    pub input_start_level: usize,
    /// The column family.
    pub family: base::ids::FamilyId,
    /// The reason for which the files are made.
    pub reason: CreationReason,
}

/// Makes a filter for each job that wants one.
pub trait CompactionFilterFactory: Send + Sync {
    /// Returns the name that OPTIONS files and the info log hold.
    fn name(&self) -> &str;

    /// Whether files made for this reason are filtered. Default: compactions only.
    fn should_filter(&self, reason: CreationReason) -> bool {
        reason == CreationReason::Compaction
    }

    /// Makes the filter of one job. `None`: the job filters nothing.
    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>>;
}

/// Fetches the value a blob index points to: handed in by whoever may read files.
pub trait FetchBlob {
    /// # Errors
    /// Whatever reading the blob file gives; the compaction fails with it.
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
        match id_and_options(text)?.0.as_str() {
            REMOVE_EMPTY_VALUE => Ok(Arc::new(RemoveEmptyValue)),
            name => Err(no_such("compaction filter", name)),
        }
    }

    fn option_text(&self) -> String {
        self.name().to_string()
    }
}

/// RocksDB has no factory that a name makes.
impl Object for dyn CompactionFilterFactory {
    fn make(text: &str) -> Result<Arc<Self>> {
        Err(no_such("compaction filter factory", text))
    }

    fn option_text(&self) -> String {
        self.name().to_string()
    }
}
