//! What one reader sees, and how far.

use base::Order;
use base::key::SequenceNumber;
use base::stats::Statistics;
use lsm::merge::MergeOperator;

use crate::sequence::Visibility;
use crate::source::BlobContext;
use crate::sync::Arc;

/// What one reader sees, and how far.
#[derive(Clone)]
pub struct View {
    pub order: Order,
    pub seq: SequenceNumber,
    /// The entries at or below `seq` that are not seen; `None`: all are seen.
    pub visibility: Option<Arc<Visibility>>,
    /// How values in blob files are read; `None` if the version has no blob files.
    pub blobs: Option<Box<BlobContext>>,
    /// Without `blobs`: the blob index of an entry is shown as its value. Readers of single SST files set this.
    pub shows_blob_indexes: bool,
    /// Values in blob files are read by `prepare_value`, not by the move.
    pub lazy_blobs: bool,
    /// With timestamps: entries at or before this one are seen.
    pub timestamp: Vec<u8>,
    /// With timestamps: every entry from this timestamp on is shown, also tombstones and merge operands
    /// (`iter_start_ts`). `None`: only the newest entry of each key is shown.
    pub start_timestamp: Option<Vec<u8>>,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// Where merges are counted.
    pub statistics: Option<Arc<Statistics>>,
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
    /// Iteration ends where this prefix of the seek key ends.
    pub prefix: Option<Arc<dyn base::order::PrefixExtractor>>,
    /// Entries of one key to step over before seeking instead.
    pub max_sequential_skip: u64,
    /// Hidden entries in a row before giving up as Incomplete; 0: never.
    pub max_skippable: u64,
}

impl View {
    /// Returns true if the reader sees an entry with this sequence number.
    #[inline]
    pub fn sees(&self, seq: SequenceNumber) -> bool {
        seq <= self.seq && self.visibility.as_ref().is_none_or(|visibility| visibility.sees(seq))
    }
}
