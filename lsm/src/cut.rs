//! Where an output file ends, and where a compaction is split into subcompactions.
//!
//! A file ends when it is full. It ends earlier if that makes the next compaction cheaper: before it overlaps
//! too much of the grandparent level, at an edge of a grandparent if the file is large enough, or if it can
//! exclude a grandparent. It also ends at the edges of old files, so that new data does not prevent old data
//! from expiring. Follows RocksDB `db/compaction/compaction_outputs.cc` (ShouldStopBefore).
//!
//! ```text
//!   output   [a  c]  [m  n]          [a..n] would pull the grandparent [e-k] into the next compaction
//!   below       [d    k]
//! ```

use std::cmp::Ordering;
use std::sync::Arc;

use base::invariant::{FastPath, takes_slow_path};
use base::key::{self, InternalOrder, user_key};
use base::order::head;
use base::{Arrange, Level};

use crate::pick::{Options, Priority, Style, Task};
use crate::table_file::TableFile;
use crate::version::compare_boundaries;

mod partition;

pub use partition::{FixedPrefixPartitioner, Partitioner, PartitionerContext, PartitionerFactory};

/// Decides, key by key, whether the current output file ends before the key.
pub struct Cutter {
    order: InternalOrder,
    bytewise: bool,
    leveled: bool,
    /// True for level-0 outputs, which are never cut.
    whole: bool,
    grandparents: Vec<Arc<TableFile>>,
    max_file_size: u64,
    target_file_size: u64,
    max_compaction_bytes: u64,

    /// The grandparent that contains the current key, or the next grandparent if no grandparent contains the key.
    at: usize,
    in_gap: bool,
    seen_key: bool,
    overlapped_bytes: u64,
    boundaries_in_file: u64,
    /// The head of the next boundary. Keys with a smaller head cross no boundary.
    next_head: u64,

    /// The old files of the output level that outputs must not cross, and the position of the keys among
    /// them.
    old: Vec<Arc<TableFile>>,
    old_at: usize,
    inside_old: bool,

    /// With round-robin priority: the file ends once at this internal key.
    split_at: Option<Vec<u8>>,
    partitioner: Option<Box<dyn Partitioner>>,
    last_user_key: Vec<u8>,
}

impl Cutter {
    /// Makes the cutter of one compaction. `now` is in seconds since 1970.
    pub fn new(order: InternalOrder, task: &Task, options: &Options, now: u64) -> Self {
        let mut cutter = Cutter {
            bytewise: order.user.is_bytewise(),
            order,
            leveled: options.style == Style::Level,
            whole: task.output.level == Level::ZERO,
            grandparents: task.grandparents.clone(),
            max_file_size: task.output.max_file_size,
            target_file_size: task.output.target_file_size,
            max_compaction_bytes: task.max_compaction_bytes,
            at: 0,
            in_gap: true,
            seen_key: false,
            overlapped_bytes: 0,
            boundaries_in_file: 0,
            next_head: 0,
            old: old_files(task, options, now),
            old_at: 0,
            inside_old: false,
            split_at: task.output.split_key.clone(),
            partitioner: None,
            last_user_key: Vec::new(),
        };
        cutter.remember_boundary();
        cutter
    }

    /// Adds the partitioner of the user, which may cut before any key.
    #[must_use]
    pub fn with_partitioner(mut self, partitioner: Box<dyn Partitioner>) -> Self {
        self.partitioner = Some(partitioner);
        self
    }

    /// Returns true if the file ends before `key` (an internal key). `file_size` is the estimated size of the
    /// file so far, in bytes; 0 means that no file is open. Call this once for each key, in order, before the
    /// key is added. If the result is true, the key starts the next file.
    #[inline]
    pub fn should_end_before(&mut self, key: &[u8], file_size: u64) -> bool {
        if self.whole {
            return false;
        }
        base::invariant!(key.len() >= key::TRAILER_LEN, "a key without a trailer is cut");
        let quiet = self.seen_key
            && self.bytewise
            && head(user_key(key)) < self.next_head
            && self.old.is_empty()
            && self.partitioner.is_none()
            && self.split_at.is_none()
            && !takes_slow_path(FastPath::QuietCut, user_key(key));
        if quiet && file_size < self.max_file_size {
            return false;
        }
        let ends = self.judge(key, file_size);
        if ends {
            self.overlapped_bytes = self.overlapped_at(key);
            self.boundaries_in_file = 0;
        }
        ends
    }

    fn judge(&mut self, key: &[u8], file_size: u64) -> bool {
        let overlapped_before = self.overlapped_bytes;
        let crossed = self.cross_boundaries(key);
        let ends_for_ttl = self.crosses_old_file(key);
        let partitioned = self.must_partition(key, file_size);
        if file_size == 0 {
            return false;
        }
        if ends_for_ttl || partitioned || file_size >= self.max_file_size {
            return true;
        }
        if self.split_at.as_ref().is_some_and(|at| self.order.compare(key, at).is_ge()) {
            self.split_at = None;
            return true;
        }
        if crossed == 0 {
            return false;
        }
        if self.overlapped_bytes.saturating_add(file_size) > self.max_compaction_bytes {
            return true;
        }
        // A whole grandparent lies between the last key and this key.
        let skips = if self.in_gap { 2 } else { 3 };
        base::invariant!(
            self.overlapped_bytes >= overlapped_before,
            "the overlapped bytes of an output file fall from {overlapped_before} to {}",
            self.overlapped_bytes
        );
        let newly_overlapped = self.overlapped_bytes.saturating_sub(overlapped_before);
        if self.leveled && crossed >= skips && newly_overlapped > self.target_file_size / 8 {
            return true;
        }
        // At an edge a file may end at half of its target size. Each edge that the file has already crossed
        // raises this share by 5 %, up to 90 %.
        let percent = 50 + (self.boundaries_in_file * 5).min(40);
        self.leveled && file_size >= self.target_file_size.div_ceil(100).saturating_mul(percent)
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        compare_boundaries(&self.order, a, b)
    }

    /// Moves to the grandparent of the key. Returns the number of grandparent edges between the last key and
    /// this key.
    fn cross_boundaries(&mut self, key: &[u8]) -> u64 {
        let mut crossed = 0;
        while let Some(file) = self.grandparents.get(self.at) {
            if self.in_gap {
                if self.compare(key, &file.smallest).is_lt() {
                    break;
                }
                if self.seen_key {
                    crossed += 1;
                    self.overlapped_bytes = self.overlapped_bytes.saturating_add(file.size);
                }
                self.in_gap = false;
            } else {
                let next = self.grandparents.get(self.at + 1);
                let inside = match self.compare(key, &file.largest) {
                    Ordering::Less => true,
                    // If the key is the boundary of several files, the last file counts.
                    Ordering::Equal => next.is_none_or(|next| self.compare(key, &next.smallest).is_lt()),
                    Ordering::Greater => false,
                };
                if inside {
                    break;
                }
                if self.seen_key {
                    crossed += 1;
                }
                self.in_gap = true;
                self.at += 1;
            }
        }
        self.boundaries_in_file += crossed;
        base::invariant!(self.at <= self.grandparents.len(), "the cutter is past the last grandparent");
        if !self.seen_key && !self.in_gap {
            self.overlapped_bytes = self.overlapped_at(key);
        }
        self.seen_key = true;
        self.remember_boundary();
        crossed
    }

    fn remember_boundary(&mut self) {
        self.next_head = match self.grandparents.get(self.at) {
            Some(file) if self.in_gap => head(file.smallest_user_key()),
            Some(file) => head(file.largest_user_key()),
            None => u64::MAX,
        };
    }

    /// Returns the bytes of the grandparents that contain the key.
    fn overlapped_at(&self, key: &[u8]) -> u64 {
        let Some(file) = self.grandparents.get(self.at).filter(|_| !self.in_gap) else { return 0 };
        let earlier = self.grandparents[..self.at]
            .iter()
            .rev()
            .take_while(|f| self.compare(key, &f.largest).is_eq())
            .map(|f| f.size);
        file.size.saturating_add(earlier.sum())
    }

    /// Returns true if the key enters or leaves an old file.
    fn crosses_old_file(&mut self, key: &[u8]) -> bool {
        base::invariant!(self.old_at <= self.old.len(), "the cutter is past the last old file");
        if self.inside_old {
            let left = self.old.get(self.old_at).is_some_and(|f| self.order.compare(key, &f.largest).is_gt());
            if left {
                self.old_at += 1;
                self.inside_old = false;
            }
            return left;
        }
        while let Some(file) = self.old.get(self.old_at) {
            if self.order.compare(key, &file.smallest).is_lt() {
                return false;
            }
            if self.order.compare(key, &file.largest).is_le() {
                self.inside_old = true;
                return true;
            }
            self.old_at += 1;
        }
        false
    }

    fn must_partition(&mut self, key: &[u8], file_size: u64) -> bool {
        let Some(partitioner) = &mut self.partitioner else { return false };
        let user = user_key(key);
        let must = file_size > 0 && partitioner.should_partition(&self.last_user_key, user, file_size);
        self.last_user_key.clear();
        self.last_user_key.extend_from_slice(user);
        must
    }
}

/// Returns the files of the output level that are older than half of the ttl and not small. An output file ends before the first
/// key and after the last key of such a file. New data is then not merged into the range of an old file.
fn old_files(task: &Task, options: &Options, now: u64) -> Vec<Arc<TableFile>> {
    let wanted = options.style == Style::Level
        && options.priority == Priority::MinOverlappingRatio
        && options.ages.ttl > 0
        && now >= options.ages.ttl
        && task.inputs.len() >= 2
        && !task.bottommost;
    let Some(last) = task.inputs.last().filter(|_| wanted) else { return Vec::new() };
    base::invariant!(now >= options.ages.ttl, "a file is older than the time to live at {now} seconds");
    let limit = now - options.ages.ttl / 2;
    last.files
        .iter()
        .filter(|f| {
            f.oldest_time().is_some_and(|t| t < limit) && f.size > options.files.target_file_size_base / 2
        })
        .cloned()
        .collect()
}

/// A key in an SST file, with the estimated number of bytes since the previous anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// A user key of the table.
    pub user_key: Vec<u8>,
    /// The estimated bytes between the previous anchor and this key.
    pub bytes: u64,
}

/// Splits the user keys of a compaction into at most `max` subcompactions of about equal size, and of at least
/// `min_piece_bytes`. Returns the boundaries between the subcompactions in ascending order, so one boundary less than
/// subcompactions.
///
/// A subcompaction includes its lower boundary and excludes its upper boundary. A boundary is a user key with the
/// newest timestamp: an anchor carries the timestamp of some entry, and entries of the same key with newer timestamps
/// sort before the anchor. All entries of a key belong to one subcompaction (RocksDB
/// `CompactionJob::GenSubcompactionBoundaries`).
pub fn split(
    order: &InternalOrder,
    mut anchors: Vec<Anchor>,
    max: usize,
    min_piece_bytes: u64,
) -> Vec<Vec<u8>> {
    let total: u64 = anchors.iter().map(|a| a.bytes).fold(0, u64::saturating_add);
    if max < 2 {
        return Vec::new();
    }
    let piece = (total / max as u64).max(min_piece_bytes).max(1);
    if piece >= total {
        return Vec::new();
    }
    anchors.arrange_by(|a, b| order.user.compare_without_timestamp(&a.user_key, &b.user_key));
    // Combine the anchors of one key into one anchor with the sum of their bytes.
    anchors.dedup_by(|later, kept| {
        let same = order.user.compare_without_timestamp(&later.user_key, &kept.user_key).is_eq();
        if same {
            kept.bytes = kept.bytes.saturating_add(later.bytes);
        }
        same
    });
    base::invariant!(
        anchors.is_sorted_by(|a, b| order.user.compare_without_timestamp(&a.user_key, &b.user_key).is_lt()),
        "two anchors have one user key"
    );
    let timestamp_size = order.user.timestamp_size();
    let mut boundaries = Vec::new();
    let (mut sum, mut threshold) = (0u64, piece);
    for anchor in anchors {
        sum = sum.saturating_add(anchor.bytes);
        if sum > threshold {
            threshold = threshold.saturating_add(piece);
            let key = key::without_timestamp(&anchor.user_key, timestamp_size);
            boundaries.push(key::with_newest_timestamp(key, timestamp_size));
            if boundaries.len() + 1 == max {
                break;
            }
        }
    }
    base::invariant!(boundaries.len() < max, "{} boundaries for {max} subcompactions", boundaries.len());
    base::invariant!(
        boundaries.is_sorted_by(|a, b| order.user.compare(a, b).is_lt()),
        "the boundaries of the subcompactions are not in ascending order"
    );
    boundaries
}

#[cfg(test)]
mod tests;
