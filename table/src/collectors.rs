//! Table property collectors that come with RocksDB.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::key::split;
use base::option::{Object, Release, Value, id_and_options, no_such, no_such_option};
use base::{Result, SequenceNumber, ValueType};

use crate::sst::writer::{CollectorContext, CollectorFactory, TablePropertiesCollector};

/// Marks an SST file for compaction if it has many tombstones (`CompactOnDeletionCollector`). The file is
/// marked if `deletion_trigger` of `sliding_window_size` successive entries are tombstones, or if the share
/// of tombstones is at least `deletion_ratio`. Files of less than `min_file_size` bytes are not marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactOnDeletion {
    /// The number of entries in the window, rounded up to a multiple of 128. 0 means no window.
    pub sliding_window_size: usize,
    /// The number of tombstones in the window that marks the file. 0 for no window.
    pub deletion_trigger: usize,
    /// The share of tombstones that marks the file: above 0 and at most 1. Any other value means no limit.
    pub deletion_ratio: f64,
    /// The minimum size of a marked file in bytes.
    pub min_file_size: u64,
}

const NAME: &str = "CompactOnDeletionCollector";

/// Counts the entries that may go to the last level, in the property `rocksdb.eligible.last.level.entries`, and marks an SST
/// file for compaction if their share of all entries is at least `compaction_trigger_ratio` (`CompactForTieringCollector`).
/// Acts in column families with `preclude_last_level_data_seconds` only, and not for files of the last level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactForTiering {
    /// The share that marks a file: above 0 and at most 1. A larger number marks no file; 0 or less makes no collector.
    pub compaction_trigger_ratio: f64,
}

const TIERING_NAME: &str = "CompactForTieringCollector";

/// The user property with the number of entries that may go to the last level.
const ELIGIBLE: &[u8] = b"rocksdb.eligible.last.level.entries";

impl CollectorFactory for CompactForTiering {
    fn name(&self) -> &str {
        TIERING_NAME
    }

    /// Older releases than 9.4 do not know the collector.
    fn option_text(&self, release: Release) -> String {
        match release < Release(9, 4) {
            true => String::new(),
            false => {
                format!(
                    "{{id={TIERING_NAME};compaction_trigger_ratio={:.6};}}",
                    self.compaction_trigger_ratio
                )
            }
        }
    }

    fn log_text(&self) -> String {
        format!("{TIERING_NAME}, compaction trigger ratio:{}", self.compaction_trigger_ratio)
    }

    fn create(&self, context: CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        let old_before = context.old_before.filter(|_| self.compaction_trigger_ratio > 0.0)?;
        Some(Box::new(TieringCollector {
            ratio: self.compaction_trigger_ratio,
            old_before,
            eligible: 0,
            total: 0,
            need_compact: false,
        }))
    }
}

impl CollectorFactory for CompactOnDeletion {
    fn name(&self) -> &str {
        NAME
    }

    fn option_text(&self, release: Release) -> String {
        let min_file_size = match release < Release(10, 5) {
            true => String::new(),
            false => format!("min_file_size={};", self.min_file_size),
        };
        format!(
            "{{id={NAME};{min_file_size}deletion_ratio={:.6};deletion_trigger={};window_size={};}}",
            self.deletion_ratio, self.deletion_trigger, self.sliding_window_size
        )
    }

    fn log_text(&self) -> String {
        format!(
            "{NAME} (Sliding window size = {} Deletion trigger = {} Deletion ratio = {})",
            self.sliding_window_size, self.deletion_trigger, self.deletion_ratio
        )
    }

    fn create(&self, _: CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        Some(Box::new(DeletionCollector::new(*self)))
    }
}

impl Object for dyn CollectorFactory {
    fn make(text: &str) -> Result<Arc<Self>> {
        let (name, options) = id_and_options(text)?;
        match name.as_str() {
            NAME => {}
            TIERING_NAME => return tiering(&options),
            _ => return Err(no_such("table properties collector", &name)),
        }
        let mut settings = CompactOnDeletion {
            sliding_window_size: 0,
            deletion_trigger: 0,
            deletion_ratio: 0.0,
            min_file_size: 0,
        };
        for (option, value) in options {
            match option.as_str() {
                "window_size" => settings.sliding_window_size = usize::parse(&value)?,
                "deletion_trigger" => settings.deletion_trigger = usize::parse(&value)?,
                "deletion_ratio" => settings.deletion_ratio = f64::parse(&value)?,
                "min_file_size" => settings.min_file_size = u64::parse(&value)?,
                _ => return Err(no_such_option(&name, &option)),
            }
        }
        Ok(Arc::new(settings))
    }

    fn option_text(&self) -> String {
        CollectorFactory::option_text(self, Release::NEWEST)
    }

    fn option_text_for(&self, release: Release) -> String {
        CollectorFactory::option_text(self, release)
    }
}

/// Makes the factory of [`CompactForTiering`]. Without an option, the factory makes no collector, as in RocksDB.
fn tiering(options: &[(String, String)]) -> Result<Arc<dyn CollectorFactory>> {
    let mut settings = CompactForTiering { compaction_trigger_ratio: 0.0 };
    for (option, value) in options {
        match option.as_str() {
            "compaction_trigger_ratio" => settings.compaction_trigger_ratio = f64::parse(value)?,
            _ => return Err(no_such_option(TIERING_NAME, option)),
        }
    }
    Ok(Arc::new(settings))
}

/// Counts the entries below a sequence number. RocksDB: `compact_for_tiering_collector.cc`.
struct TieringCollector {
    ratio: f64,
    old_before: SequenceNumber,
    eligible: u64,
    total: u64,
    need_compact: bool,
}

impl TablePropertiesCollector for TieringCollector {
    fn name(&self) -> &str {
        TIERING_NAME
    }

    fn add(&mut self, key: &[u8], value: &[u8], _file_size: u64) -> Result<()> {
        let (_, seq, value_type) = split(key);
        let seq = match value.last_chunk::<8>() {
            // The write time of such an entry is that of the sequence number behind its value.
            Some(written) if value_type == ValueType::ValuePreferredSeqno as u8 => {
                SequenceNumber::new(u64::from_le_bytes(*written))
            }
            _ => seq,
        };
        self.eligible += u64::from(seq < self.old_before);
        self.total += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.need_compact = self.ratio <= 1.0 && self.eligible as f64 >= self.ratio * self.total as f64;
        Ok(match self.eligible {
            0 => Vec::new(),
            eligible => vec![(ELIGIBLE.to_vec(), eligible.to_string().into_bytes())],
        })
    }

    fn need_compact(&self) -> bool {
        self.need_compact
    }
}

const BUCKETS: usize = 128;

/// A sliding window of successive entries. It is a ring of buckets; each bucket counts the tombstones of its
/// part of the window.
struct DeletionCollector {
    settings: CompactOnDeletion,
    bucket_size: usize,
    buckets: [usize; BUCKETS],
    bucket: usize,
    entries_in_bucket: usize,
    /// The tombstones in the current window. `deletions_max` is the maximum so far.
    deletions: usize,
    deletions_max: usize,
    total: u64,
    total_deletions: u64,
    file_size: u64,
    need_compact: bool,
}

impl DeletionCollector {
    fn new(settings: CompactOnDeletion) -> Self {
        DeletionCollector {
            settings,
            bucket_size: settings.sliding_window_size.div_ceil(BUCKETS),
            buckets: [0; BUCKETS],
            bucket: 0,
            entries_in_bucket: 0,
            deletions: 0,
            deletions_max: 0,
            total: 0,
            total_deletions: 0,
            file_size: 0,
            need_compact: false,
        }
    }

    fn slide(&mut self, is_deletion: bool) {
        if self.entries_in_bucket == self.bucket_size {
            self.bucket = (self.bucket + 1) % BUCKETS;
            self.deletions -= std::mem::take(&mut self.buckets[self.bucket]);
            self.entries_in_bucket = 0;
            base::invariant!(
                self.deletions == self.buckets.iter().sum::<usize>(),
                "the window has {} deletions, and its buckets have another number",
                self.deletions
            );
        }
        self.entries_in_bucket += 1;
        if is_deletion {
            self.deletions += 1;
            self.buckets[self.bucket] += 1;
            self.deletions_max = self.deletions_max.max(self.deletions);
        }
    }
}

impl TablePropertiesCollector for DeletionCollector {
    fn name(&self) -> &str {
        NAME
    }

    fn add(&mut self, key: &[u8], _value: &[u8], file_size: u64) -> Result<()> {
        if self.need_compact {
            return Ok(());
        }
        let value_type = split(key).2;
        let deletions = [ValueType::Deletion, ValueType::SingleDeletion, ValueType::DeletionWithTimestamp];
        let is_deletion = deletions.iter().any(|deletion| *deletion as u8 == value_type);
        self.total += 1;
        self.total_deletions += u64::from(is_deletion);
        self.file_size = file_size;
        if self.bucket_size > 0 {
            self.slide(is_deletion);
            let crowded = self.deletions_max >= self.settings.deletion_trigger;
            self.need_compact = crowded && file_size >= self.settings.min_file_size;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let ratio = self.settings.deletion_ratio;
        if ratio > 0.0 && ratio <= 1.0 && self.total > 0 && self.file_size >= self.settings.min_file_size {
            self.need_compact |= self.total_deletions as f64 / self.total as f64 >= ratio;
        }
        Ok(Vec::new())
    }

    fn need_compact(&self) -> bool {
        self.need_compact
    }
}
