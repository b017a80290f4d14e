//! Which entries one reader sees, and where its iteration ends.

use base::Order;
use base::key::SequenceNumber;
use base::stats::{PerfCounter, Statistics};
use lsm::merge::MergeOperator;

use crate::sequence::Visibility;
use crate::source::BlobContext;
use crate::sync::Arc;

/// Which entries one reader sees, and where its iteration ends.
#[derive(Clone)]
pub struct View {
    pub order: Order,
    pub seq: SequenceNumber,
    /// Hides entries at or below `seq`. `None` means that all of them are visible.
    pub visibility: Option<Arc<Visibility>>,
    /// How values in blob files are read. `None` if the version has no blob files.
    pub blobs: Option<Box<BlobContext>>,
    /// True if, without `blobs`, the blob index of an entry is shown as its value. Readers of single SST files set
    /// this.
    pub shows_blob_indexes: bool,
    /// True if `prepare_value` reads the values in blob files, and a move does not.
    pub lazy_blobs: bool,
    /// With timestamps: entries at or before this timestamp are visible.
    pub timestamp: Vec<u8>,
    /// With timestamps: every entry from this timestamp on is shown, also tombstones and merge operands
    /// (`iter_start_ts`). `None`: only the newest entry of each key is shown.
    pub start_timestamp: Option<Vec<u8>>,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// The statistics that count merges.
    pub statistics: Option<Arc<Statistics>>,
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
    /// The iteration ends where the keys no longer have the prefix of the seek key.
    pub prefix: Option<Arc<dyn base::order::PrefixExtractor>>,
    /// True for an iterator over one prefix, without `total_order_seek`: the source may lack entries of other prefixes.
    pub may_miss_prefixes: bool,
    /// The number of entries of one key to skip by steps. After this number, a seek skips the rest.
    pub max_sequential_skip: u64,
    /// The number of hidden entries in a row after which the iteration fails with Incomplete; 0 means no limit.
    pub max_skippable: u64,
}

impl View {
    /// Returns true if the reader sees an entry with this sequence number.
    #[inline]
    pub fn sees(&self, seq: SequenceNumber) -> bool {
        seq <= self.seq && self.visibility.as_ref().is_none_or(|visibility| visibility.sees(seq))
    }

    /// Returns the counter of an entry that the reader does not see. `None`: only the timestamp hides the entry.
    #[inline]
    pub fn unseen_counter(&self, seq: SequenceNumber) -> Option<PerfCounter> {
        (!self.sees(seq)).then_some(PerfCounter::InternalRecentSkippedCount)
    }

    /// Returns true if the reader sees every entry of a key that is older than an entry it sees.
    pub fn hides_only_newer(&self) -> bool {
        self.order.timestamp_size() == 0 && self.visibility.is_none()
    }

    /// Makes the view of a reader at `seq` without any option.
    #[cfg(test)]
    pub fn plain(order: base::Order, seq: SequenceNumber) -> View {
        View {
            order,
            seq,
            visibility: None,
            blobs: None,
            shows_blob_indexes: false,
            may_miss_prefixes: false,
            lazy_blobs: false,
            timestamp: Vec::new(),
            start_timestamp: None,
            merge_operator: None,
            statistics: None,
            lower: None,
            upper: None,
            prefix: None,
            max_sequential_skip: 0,
            max_skippable: 0,
        }
    }
}
