//! Table property collectors that come with RocksDB.

#[cfg(test)]
mod tests;

use base::key::split;
use base::{Result, ValueType};

use crate::sst::writer::{CollectorContext, CollectorFactory, TablePropertiesCollector};

/// Asks for compaction of tables where deletions crowd (`CompactOnDeletionCollector`): somewhere in them
/// `deletion_trigger` of `sliding_window_size` successive entries are deletions, or `deletion_ratio` of
/// all are. Only tables of at least `min_file_size` bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactOnDeletion {
    /// Entries; rounded up to a multiple of 128. 0 for no window.
    pub sliding_window_size: usize,
    pub deletion_trigger: usize,
    /// Above 0 and at most 1; anything else for no ratio.
    pub deletion_ratio: f64,
    /// Bytes.
    pub min_file_size: u64,
}

impl CollectorFactory for CompactOnDeletion {
    fn name(&self) -> &str {
        "CompactOnDeletionCollector"
    }

    fn create(&self, _: CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        Some(Box::new(DeletionCollector::new(*self)))
    }
}

const BUCKETS: usize = 128;

/// A ring of buckets slides over the entries; each counts the deletions among its share of the window.
struct DeletionCollector {
    settings: CompactOnDeletion,
    bucket_size: usize,
    buckets: [usize; BUCKETS],
    bucket: usize,
    entries_in_bucket: usize,
    /// In the window now, and at most so far.
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
        "CompactOnDeletionCollector"
    }

    fn add(&mut self, key: &[u8], _value: &[u8], file_size: u64) -> Result<()> {
        if self.need_compact {
            return Ok(());
        }
        let kind = split(key).2;
        let deletions = [ValueType::Deletion, ValueType::SingleDeletion, ValueType::DeletionWithTimestamp];
        let is_deletion = deletions.iter().any(|deletion| *deletion as u8 == kind);
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
