//! The compaction score of each level, and the files that are due for other reasons.
//!
//! The score of level 0 comes from its number of files and from its size. The score of another level is its
//! size divided by its target size. With dynamic level sizes, the targets follow from the size of the last
//! level, and the score of a level also counts the bytes that upper levels will move down. A level with a
//! score of at least 1 needs compaction. Follows RocksDB `VersionStorageInfo::ComputeCompactionScore` and
//! `CalculateBaseBytes`.

use std::sync::Arc;

use base::{Arrange, Level, SequenceNumber};

use super::{Options, Style, View, YoungAfter};
use crate::table_file::TableFile;
use crate::version::{LevelFiles, Version};

/// The factor for the score of a level that is larger than its target size. With the factor, this level is compacted before a
/// level that has just its target size.
const SCALE: f64 = 10.0;

/// The scores and marks of a version. They follow from the version and are cheap to compute again.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// (level, score), highest score first. A level with a score of 1 or more needs compaction.
    pub by_level: Vec<(Level, f64)>,
    /// The level that level 0 is compacted into.
    pub base_level: Level,
    /// Target size of each level in bytes; `u64::MAX` above the base level.
    pub max_bytes: Vec<u64>,
    /// `max_bytes_for_level_multiplier`, adapted if the level sizes are dynamic.
    pub level_multiplier: f64,
    /// With dynamic level sizes: the levels down to this level are more than the data needs, and are emptied.
    pub lowest_unnecessary_level: Option<Level>,
    /// The pending compaction bytes of the column family.
    pub estimated_pending_bytes: u64,
    /// Number of level-0 files (universal: sorted runs) for the triggers of write stalls.
    pub l0_delay_trigger_count: usize,
    /// Average size of a value in bytes. It is the weight of a tombstone.
    pub average_value_size: u64,
    /// The SST files that a collector or a user marked for compaction, with their levels.
    pub marked: Vec<(Level, Arc<TableFile>)>,
    /// The files of the last level that hold entries which no snapshot needs any more.
    pub bottommost_marked: Vec<(Level, Arc<TableFile>)>,
    /// The smallest `largest_seq` of the bottommost files that a snapshot may still need. When the oldest
    /// snapshot is above it, more files will be marked. `None`: there is no such file.
    pub bottommost_next: Option<SequenceNumber>,
    /// The SST files that are older than `ttl`.
    pub ttl_expired: Vec<(Level, Arc<TableFile>)>,
    /// The SST files that are due for periodic compaction.
    pub periodic: Vec<(Level, Arc<TableFile>)>,
    /// The SST files that refer to the oldest blob files, if these blob files are mostly garbage.
    pub forced_blob_gc: Vec<(Level, Arc<TableFile>)>,
    /// The SST files with too many wasted reads, most wasted reads first.
    pub read_triggered: Vec<(Level, Arc<TableFile>)>,
    /// Separates the files that would not shrink by a compaction into the last level.
    young: Option<Young>,
}

/// The files of a level that have only entries which are too young for the last level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Young {
    /// One level above the last level.
    level: Level,
    after: YoungAfter,
    /// In seconds since 1970. Entries that were written at or before this time are old enough.
    cutoff_time: u64,
}

impl Scores {
    /// Computes the scores of all levels. `now` is in seconds since 1970.
    pub fn compute(view: &View<'_>, options: &Options, now: u64) -> Self {
        let version = view.version;
        let mut scores = Scores {
            level_multiplier: options.sizes.max_bytes_for_level_multiplier,
            average_value_size: version.average_value_size(),
            young: young_files(view, options, now),
            ..Scores::default()
        };
        scores.l0_delay_trigger_count = version.level(Level::ZERO).len();
        if options.style == Style::Universal {
            scores.l0_delay_trigger_count +=
                version.levels_below(Level::ZERO).filter(|&l| !version.level(l).is_empty()).count();
        }
        if options.style == Style::Level && options.sizes.level_compaction_dynamic_level_bytes {
            scores.dynamic_targets(version, options);
        } else {
            scores.static_targets(version, options);
        }
        scores.score_levels(version, options, now);
        scores.mark_files(view, options, now);
        scores.estimate_pending(version, options);
        base::invariant!(
            scores.max_bytes.len() == version.num_levels(),
            "{} targets for {} levels",
            scores.max_bytes.len(),
            version.num_levels()
        );
        base::invariant!(
            scores.base_level <= version.last_level(),
            "the base level {} does not exist",
            scores.base_level
        );
        base::invariant!(
            scores.by_level.is_sorted_by(|a, b| a.1.total_cmp(&b.1).is_ge()),
            "the scores of the levels are not in descending order"
        );
        scores
    }

    /// Returns the score of a level, or 0 if the level has no score.
    pub fn of(&self, level: Level) -> f64 {
        self.by_level.iter().find(|(l, _)| *l == level).map_or(0.0, |(_, s)| *s)
    }

    fn static_targets(&mut self, version: &Version, options: &Options) {
        self.base_level = Level::ZERO.below().min(version.last_level());
        for level in version.levels() {
            let target = match level.above() {
                None | Some(Level::ZERO) => options.sizes.max_bytes_for_level_base,
                Some(above) => {
                    let bytes = self.max_bytes[above.index()] as f64;
                    let grown = bytes * options.sizes.max_bytes_for_level_multiplier;
                    (grown * options.multiplier_additional(above)) as u64
                }
            };
            self.max_bytes.push(target);
        }
    }

    fn dynamic_targets(&mut self, version: &Version, options: &Options) {
        let last = version.last_level();
        self.max_bytes = vec![u64::MAX; version.num_levels()];
        let mut sorted = version.levels_below(Level::ZERO);
        let largest = sorted.clone().map(|l| version.level(l).bytes()).max().unwrap_or(0);
        let Some(first_filled) = sorted.find(|&l| version.level(l).bytes() > 0) else {
            self.base_level = last;
            return;
        };
        let multiplier = options.sizes.max_bytes_for_level_multiplier;
        let base_max = options.sizes.max_bytes_for_level_base;
        let base_min = (base_max as f64 / multiplier) as u64;
        let mut size = largest;
        for level in version.levels().rev().skip(1).take_while(|level| *level >= first_filled) {
            size = (size as f64 / multiplier) as u64;
            let keeps_young = options.ages.preclude_last_level_data_seconds > 0 && level.below() == last;
            if self.lowest_unnecessary_level.is_none() && size <= base_min && !keeps_young {
                self.lowest_unnecessary_level = Some(level);
            }
        }
        self.base_level = first_filled;
        let base_size = if size <= base_min {
            // `set_options` accepts a multiplier of 0, which makes `base_min` the largest number.
            base_min.saturating_add(1)
        } else {
            while size > base_max
                && let Some(above) = self.base_level.above().filter(|above| *above > Level::ZERO)
            {
                self.base_level = above;
                size = (size as f64 / multiplier) as u64;
            }
            // A level needs a target above 0. The target of the base level is at most the option.
            size.clamp(1, base_max.max(1))
        };
        base::invariant!(
            self.base_level <= first_filled,
            "the base level {} is below the first filled level {first_filled}",
            self.base_level
        );
        let mut target = base_size;
        for level in version.levels().skip(self.base_level.index()) {
            if level > self.base_level {
                target = (target as f64 * multiplier) as u64;
            }
            self.max_bytes[level.index()] = target.max(base_max);
        }
    }

    /// Returns true if a compaction of the file into the last level would write all its entries to the level of the file again. RocksDB
    /// compacts such a file again and again.
    pub fn is_young(&self, level: Level, file: &TableFile) -> bool {
        let Some(young) = self.young.filter(|young| young.level == level) else { return false };
        let written = || file.stats().and_then(|stats| stats.oldest_write_time);
        file.smallest_seq > young.after.snapshot
            || file.smallest_seq > young.after.age && written().is_none_or(|time| time > young.cutoff_time)
    }

    fn compensated(&self, level: Level, files: &LevelFiles) -> u64 {
        files
            .iter()
            .filter(|f| !f.being_compacted() && !self.is_young(level, f))
            .map(|f| f.compensated_size(self.average_value_size))
            .sum()
    }

    fn score_levels(&mut self, version: &Version, options: &Options, now: u64) {
        let num_inputs = if options.style == Style::Level { version.num_levels().max(2) - 1 } else { 1 };
        let mut coming_down = 0.0;
        for level in Level::first(num_inputs) {
            let score = if level == Level::ZERO {
                coming_down = version.level(Level::ZERO).bytes() as f64;
                self.score_l0(version, options, now)
            } else {
                self.score_level(version, options, level, &mut coming_down)
            };
            self.by_level.push((level, score));
        }
        self.by_level.arrange_by(|a, b| b.1.total_cmp(&a.1));
    }

    fn score_l0(&self, version: &Version, options: &Options, now: u64) -> f64 {
        let l0 = version.level(Level::ZERO);
        let bytes = self.compensated(Level::ZERO, l0);
        let mut runs = l0.iter().filter(|f| !f.being_compacted()).count();
        let trigger = f64::from(options.triggers.level0_file_num_compaction_trigger.max(1));
        match options.style {
            Style::Fifo => return super::fifo::score(version, options, bytes, runs, now),
            Style::Universal => {
                let first_free = |l: Level| version.level(l).get(0).is_some_and(|f| !f.being_compacted());
                runs += version.levels_below(Level::ZERO).filter(|&l| first_free(l)).count();
                return runs as f64 / trigger;
            }
            Style::None => return 0.0,
            Style::Level => {}
        }
        let mut score = runs as f64 / trigger;
        if version.num_levels() < 2 {
            return score;
        }
        // A quarantined file cannot be compacted, but counts for write stalls. So the other files must leave
        // level 0 before a stall.
        let crowded = options
            .triggers
            .level0_slowdown_writes_trigger
            .min(options.triggers.level0_stop_writes_trigger - 1)
            .max(0) as usize;
        if l0.len() >= crowded && l0.iter().any(|f| f.is_quarantined()) {
            score = score.max(1.0);
        }
        if !options.sizes.level_compaction_dynamic_level_bytes {
            return score.max(bytes as f64 / options.sizes.max_bytes_for_level_base as f64);
        }
        if bytes >= options.sizes.max_bytes_for_level_base {
            score = score.max(1.01);
        }
        let base_target = self.max_bytes[self.base_level.index()];
        if bytes > base_target {
            let base_bytes: u64 = version
                .level(self.base_level)
                .iter()
                .map(|f| f.compensated_size(self.average_value_size))
                .sum();
            score = score.max(bytes as f64 / base_bytes.max(base_target) as f64);
        }
        if score > 1.0 { score * SCALE } else { score }
    }

    fn score_level(&self, version: &Version, options: &Options, level: Level, coming_down: &mut f64) -> f64 {
        let free = self.compensated(level, version.level(level));
        let total = version.level(level).bytes();
        let target = self.max_bytes[level.index()];
        let unnecessary = self.lowest_unnecessary_level.filter(|&l| level <= l);
        let mut score = free as f64 / target as f64;
        if options.sizes.level_compaction_dynamic_level_bytes {
            if free >= target {
                score = free as f64 / (target as f64 + *coming_down) * SCALE;
            }
            if let Some(lowest) = unnecessary.filter(|_| free > 0) {
                score = score.max(SCALE * (1.001 + 0.001 * (lowest.index() - level.index()) as f64));
            }
        }
        if unnecessary.is_some() {
            *coming_down += total as f64;
        } else if total > target {
            *coming_down += (total - target) as f64;
        }
        score
    }

    fn mark_files(&mut self, view: &View<'_>, options: &Options, now: u64) {
        let version = view.version;
        let last = options.last_output_level(version);
        let sorted = version.levels_below(Level::ZERO).rev().skip_while(|level| *level > last);
        let last_filled = { sorted }.find(|&level| !version.level(level).is_empty());
        let last_qualified = last_filled.and_then(Level::above).unwrap_or_default();
        let ahead = options.ahead_of_offpeak(now);
        for (level, file) in version.files().filter(|(_, f)| !f.being_compacted()) {
            if file.is_marked() && level <= last_qualified {
                self.marked.push((level, file.clone()));
            }
            let ttl_counts =
                options.style == Style::Level && options.ages.ttl > 0 && level < version.last_level();
            if ttl_counts
                && !self.is_young(level, file)
                // If the TTL is longer than the time since 1970, no file is due.
                && file.oldest_time().is_some_and(|t| t < now.saturating_sub(options.ages.ttl))
            {
                self.ttl_expired.push((level, file.clone()));
            }
            let written = [file.times.creation, file.times.oldest_ancester].into_iter().find(|&t| t > 0);
            let period = options.ages.periodic_compaction_seconds;
            if period > 0
                && period <= now
                && level <= last
                && written.is_some_and(|t| t < options.due_before(now, ahead))
            {
                self.periodic.push((level, file.clone()));
            }
        }
        if let Some(gc) = options.forced_blob_gc {
            self.forced_blob_gc = crate::version::forced_gc(version, gc.age_cutoff, gc.threshold);
        }
        self.mark_read(version, options);
        if !options.allow_ingest_behind && options.style == Style::Level {
            self.mark_bottommost(view, options, now);
        }
    }

    /// Marks the files whose reads are mostly wasted. A file on the last level with data is not marked,
    /// because there is no lower level with data. A level-0 file can be compacted with other level-0 files.
    fn mark_read(&mut self, version: &Version, options: &Options) {
        let threshold = options.read_triggered_compaction_threshold;
        if threshold <= 0.0 || options.style == Style::Fifo {
            return;
        }
        let last = version.last_filled_level().unwrap_or_default();
        let reads = |file: &TableFile| file.reads_sampled() as f64 / file.size.max(1) as f64;
        let free = version
            .files()
            .filter(|(level, f)| !f.being_compacted() && (*level == Level::ZERO || *level < last));
        let mut hot: Vec<_> =
            free.map(|(level, f)| (reads(f), level, f.clone())).filter(|(r, ..)| *r > threshold).collect();
        hot.arrange_by(|a, b| b.0.total_cmp(&a.0));
        self.read_triggered = hot.into_iter().map(|(_, level, file)| (level, file)).collect();
    }

    /// Marks the files without older data below them, if no snapshot needs their sequence numbers.
    fn mark_bottommost(&mut self, view: &View<'_>, options: &Options, now: u64) {
        let version = view.version;
        let order = &version.order().user;
        for level in version.levels() {
            for (index, file) in version.level(level).iter().enumerate() {
                if file.being_compacted() || file.largest_seq.is_zero() {
                    continue;
                }
                // A compaction for this reason could not remove the sequence numbers of the file. With `preserve_seconds`, a later compaction
                // may remove them.
                if file.needs_its_sequences() && options.ages.preserve_seconds == 0 {
                    continue;
                }
                // An entry with a timestamp and a value in a blob file keeps its sequence number, so a compaction would
                // not end the mark, and would run again forever.
                if order.timestamp_size() > 0 && file.oldest_blob_file.is_some() {
                    continue;
                }
                let needed = file.largest_seq >= view.oldest_snapshot;
                if needed && self.bottommost_next.is_some_and(|next| next <= file.largest_seq) {
                    continue;
                }
                // A compaction changes no sequence number that is younger than `preserve_seconds`, so it would run
                // again forever.
                let delay = options.ages.bottommost_file_compaction_delay.max(options.ages.preserve_seconds);
                let waits = delay > 0 && file.times.creation > now.saturating_sub(delay);
                // A file whose timestamps are not stored has no largest timestamp: all of them are below the low end.
                let is_kept = |low: &[u8]| {
                    !file.timestamps.max.is_empty()
                        && order.compare_timestamp(&file.timestamps.max, low).is_ge()
                };
                let history = order.timestamp_size() > 0 && view.full_history_ts_low.is_none_or(is_kept);
                if !needed && (waits || history) {
                    continue;
                }
                let (a, b) = (file.smallest_user_key(), file.largest_user_key());
                if version.range_may_exist_below(a, b, level, (level == Level::ZERO).then_some(index)) {
                    continue;
                }
                if needed {
                    self.bottommost_next = Some(file.largest_seq);
                } else {
                    self.bottommost_marked.push((level, file.clone()));
                }
            }
        }
    }

    /// Estimates the bytes that compactions must rewrite until every level has its target size.
    fn estimate_pending(&mut self, version: &Version, options: &Options) {
        if options.style != Style::Level {
            return;
        }
        let l0_bytes = version.level(Level::ZERO).bytes();
        let triggered = version.level(Level::ZERO).len() as i64
            >= i64::from(options.triggers.level0_file_num_compaction_trigger)
            || l0_bytes >= options.sizes.max_bytes_for_level_base;
        let mut pending = if triggered { l0_bytes } else { 0 };
        let mut moving = pending;
        for level in version.levels_below(Level::ZERO).skip_while(|level| *level < self.base_level) {
            if level == version.last_level() {
                break;
            }
            let mut bytes = version.level(level).bytes();
            if level == self.base_level && triggered {
                pending = pending.saturating_add(bytes);
            }
            bytes = bytes.saturating_add(std::mem::take(&mut moving));
            let target = self.max_bytes[level.index()];
            if bytes > target {
                moving = bytes - target;
                let below = version.level(level.below()).bytes();
                if below > 0 {
                    let fan_out = below as f64 / bytes as f64 + 1.0;
                    pending = pending.saturating_add((moving as f64 * fan_out) as u64);
                }
            }
        }
        self.estimated_pending_bytes = pending;
    }
}

impl Version {
    /// Returns the average size of a value on disk in bytes, from the statistics of the SST files that were
    /// opened.
    pub(crate) fn average_value_size(&self) -> u64 {
        let (mut values, mut keys, mut live, mut bytes) = (0u64, 0u64, 0u64, 0u64);
        for (file, stats) in self.files().filter_map(|(_, f)| Some((f, f.stats()?))) {
            values = values.saturating_add(stats.raw_value_size);
            keys = keys.saturating_add(stats.raw_key_size);
            // The counts come from properties, which are untrusted.
            live = live.saturating_add(stats.num_entries.saturating_sub(stats.num_deletions));
            bytes = bytes.saturating_add(file.size);
        }
        let raw = keys.saturating_add(values);
        if live == 0 || raw == 0 {
            return 0;
        }
        (values as f64 / live as f64 * bytes as f64 / raw as f64) as u64
    }
}

/// Returns the rule for young files. `None` if no entry is too young for the last level.
fn young_files(view: &View<'_>, options: &Options, now: u64) -> Option<Young> {
    let separates = options.ages.preclude_last_level_data_seconds > 0
        && matches!(options.style, Style::Level | Style::Universal);
    Some(Young {
        level: view.version.last_level().above()?,
        after: view.young_after.filter(|_| separates)?,
        // If the time is longer than the time since 1970, all data is young.
        cutoff_time: now.saturating_sub(options.ages.preclude_last_level_data_seconds),
    })
}

#[cfg(test)]
mod tests {
    use base::key::{MAX_SEQUENCE, seek_key};
    use base::{FileNumber, Order};

    use super::*;
    use crate::file_meta::FileMetaData;
    use crate::version::Edit;

    /// Returns the number of files that are marked at the bottom of a version with one file. An empty `largest` means that the file
    /// does not store its timestamps.
    fn marked(oldest_blob_file: Option<FileNumber>, largest: &[u8], low: Option<&[u8]>) -> usize {
        let order =
            base::key::InternalOrder::new(Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap());
        let timestamp = |n: u64| n.to_le_bytes().to_vec();
        let key = seek_key(&[b"a".to_vec(), timestamp(5)].concat(), SequenceNumber::new(7));
        let mut file = FileMetaData::new(FileNumber::new(1), 100, &key, &key);
        (file.largest_seq, file.timestamps.max, file.oldest_blob_file) =
            (SequenceNumber::new(7), largest.to_vec(), oldest_blob_file);
        let edit = Edit { added: vec![(Level::new(1), Arc::new(TableFile::new(file)))], ..Edit::default() };
        let version = Version::empty(order, 2).apply(&[edit]).unwrap();
        let view = View {
            version: &version,
            running: &[],
            oldest_snapshot: MAX_SEQUENCE,
            full_history_ts_low: low,
            young_after: None,
        };
        Scores::compute(&view, &Options::default(), 1000).bottommost_marked.len()
    }

    #[test]
    fn a_file_whose_entries_keep_their_sequence_numbers_is_not_marked() {
        let (five, nine) = (5u64.to_le_bytes(), 9u64.to_le_bytes());
        let blob = Some(FileNumber::new(3));
        assert_eq!(marked(None, &five, Some(&nine)), 1);
        assert_eq!(marked(None, &nine, Some(&five)), 0, "the history is kept");
        assert_eq!(marked(blob, &five, Some(&nine)), 0);
        // Of a file that does not store its timestamps.
        assert_eq!(marked(None, &[], Some(&nine)), 1);
        assert_eq!(marked(None, &[], None), 0, "the low end of the history is not known yet");
        assert_eq!(marked(blob, &[], Some(&nine)), 0);
    }
}
