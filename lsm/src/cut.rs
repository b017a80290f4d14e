//! Where an output file ends, and where a compaction is split for several threads.

use std::sync::Arc;

use base::key::InternalOrder;

use crate::file_meta::FileMetaData;
use crate::pick::Task;

/// Decides, key by key, whether the current output file ends before the key.
pub struct Cutter {
    order: InternalOrder,
    grandparents: Vec<Arc<FileMetaData>>,
}

impl Cutter {
    pub fn new(order: InternalOrder, task: &Task) -> Self {
        Cutter { order, grandparents: task.grandparents.clone() }
    }

    /// Whether the file ends before `key` (an internal key), `file_size` being its estimated size in
    /// bytes so far. Call once for each key, in order, before adding it; `file_size` 0 means the file
    /// is still empty.
    #[inline]
    pub fn should_end_before(&mut self, key: &[u8], file_size: u64) -> bool {
        let _ = (key, file_size, &self.order, &self.grandparents);
        todo!()
    }
}

/// A point in a table with an estimate of the bytes before it since the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    pub user_key: Vec<u8>,
    pub bytes: u64,
}

/// Splits the inputs' user-key range into at most `max` pieces of about equal size; the answer are the
/// boundaries between them, ascending: one fewer than the pieces.
pub fn split(order: &InternalOrder, anchors: Vec<Anchor>, max: usize, min_piece_bytes: u64) -> Vec<Vec<u8>> {
    let _ = (order, anchors, max, min_piece_bytes);
    todo!()
}
