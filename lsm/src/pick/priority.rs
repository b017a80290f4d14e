//! The order in which the files of a level are tried (`compaction_pri`).

use std::cmp::Reverse;

use base::{Arrange, Level};

use super::leveled::Leveled;
use super::{Options, Priority};
use crate::table_file::TableFile;

impl Leveled<'_> {
    /// Returns the indexes of the level's files. The file to try first is in front.
    pub(crate) fn files_by_priority(&self, level: Level) -> Vec<usize> {
        let files = self.picker.version.level(level).as_slice();
        let mut order: Vec<usize> = (0..files.len()).collect();
        match self.picker.options.priority {
            Priority::ByCompensatedSize => {
                let average = self.picker.scores.average_value_size;
                order.arrange_by_key(|&i| Reverse(files[i].compensated_size(average)));
            }
            Priority::OldestLargestSeqFirst => order.arrange_by_key(|&i| files[i].largest_seq),
            Priority::OldestSmallestSeqFirst => order.arrange_by_key(|&i| files[i].smallest_seq),
            Priority::MinOverlappingRatio => {
                let ratios = self.overlapping_ratios(level);
                order.arrange_by(|&a, &b| {
                    files[b]
                        .is_marked()
                        .cmp(&files[a].is_marked())
                        .then_with(|| ratios[a].cmp(&ratios[b]))
                        .then_with(|| {
                            self.picker.version.order().compare(&files[a].smallest, &files[b].smallest)
                        })
                });
            }
            Priority::RoundRobin if level == Level::ZERO => order.arrange_by_key(|&i| files[i].smallest_seq),
            Priority::RoundRobin => {
                if let Some(cursor) = self.picker.version.cursor(level) {
                    let at = files.partition_point(|f| {
                        self.picker.version.order().compare(&f.smallest, cursor).is_lt()
                    });
                    order.rotate_left(at % files.len().max(1));
                }
            }
        }
        base::invariant!(
            {
                let mut all = order.clone();
                all.arrange();
                all.into_iter().eq(0..files.len())
            },
            "the order of the files of {level} is no permutation"
        );
        order
    }

    /// Returns for each file of a level the overlapping bytes of the next level, divided by its own bytes,
    /// times 1024. The value is lower for old files.
    fn overlapping_ratios(&self, level: Level) -> Vec<u64> {
        let order = self.picker.version.order();
        let below = self.picker.version.level(level.below()).as_slice();
        let boost = TtlBoost::new(
            self.picker.options,
            self.picker.now,
            self.picker.version.last_filled_level().map_or(1, |level| level.index() + 1),
            level,
        );
        let mut at = 0;
        let mut ratio = |file: &TableFile| {
            if level == Level::ZERO {
                at = 0;
            }
            while below.get(at).is_some_and(|f| order.compare(&f.largest, &file.smallest).is_lt()) {
                at += 1;
            }
            let mut bytes = 0u64;
            while let Some(f) = below.get(at).filter(|f| order.compare(&f.smallest, &file.largest).is_lt()) {
                bytes += f.size;
                if order.compare(&f.largest, &file.largest).is_gt() {
                    break;
                }
                at += 1;
            }
            let own = file.compensated_size(self.picker.scores.average_value_size).max(1);
            bytes.saturating_mul(1024) / own / boost.of(file)
        };
        self.picker.version.level(level).iter().map(|f| ratio(f)).collect()
    }
}

/// Raises the priority of files that approach their ttl. The raise starts after half of the ttl. It starts
/// earlier on upper levels, so that the levels do not become due at the same time (RocksDB
/// `db/compaction/file_pri.h`).
struct TtlBoost {
    now: u64,
    start_age: u64,
    /// Seconds for each increase of the factor. 0: no increase.
    step: u64,
}

impl TtlBoost {
    fn new(options: &Options, now: u64, num_filled_levels: usize, level: Level) -> Self {
        let ttl = options.ages.ttl;
        if ttl == 0 || level == Level::ZERO || level.index() + 1 >= num_filled_levels {
            return TtlBoost { now, start_age: 0, step: 0 };
        }
        let half = ttl / 2;
        // A TTL below 32 seconds has no range.
        let whole = ((ttl / 32) * 31).saturating_sub(half);
        let range = whole >> (num_filled_levels - level.index() - 1).min(63);
        TtlBoost { now, start_age: half + range, step: (range / 16).max(1) }
    }

    fn of(&self, file: &TableFile) -> u64 {
        // The wall time may go back.
        let age = self.now.saturating_sub(file.oldest_time().unwrap_or(0));
        if self.step == 0 || file.oldest_time().is_none() || age <= self.start_age {
            return 1;
        }
        (age - self.start_age) / self.step + 1
    }
}
