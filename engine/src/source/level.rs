//! One level without overlaps as one source: its SST files one after another. A file is opened when the
//! iterator reaches it.

use base::iter::InternalIterator;
use base::key::{self, InternalOrder};
use base::{Error, Level, Pinned, Result};
use lsm::version::LevelFiles;
use table::sst::ReadCtx;

use super::{TableCache, TableRows, sample};
use crate::family::Parts;
use crate::options::TableFilter;
use crate::sync::Arc;

/// Iterator over one level: see the module.
pub struct LevelIter {
    order: InternalOrder,
    files: Arc<LevelFiles>,
    tables: Arc<TableCache>,
    parts: Arc<Parts>,
    ctx: Arc<ReadCtx>,
    level: Level,
    /// Index of the file of `current`. `files.len()`: no file.
    at: usize,
    current: Option<TableRows>,
    /// True if read-ahead continues from one file to the next (`adaptive_readahead`).
    hands_over: bool,
    /// True if some reads are counted for their files, for read-triggered compaction.
    counts: bool,
    /// Skips the files for which it returns false.
    filter: Option<TableFilter>,
    /// True if the filter skips the current file: `current` is then never positioned, and so never valid.
    skips: bool,
    error: Option<Error>,
}

impl LevelIter {
    /// Creates an iterator over `files` of `level` (1 or deeper).
    pub fn new(
        order: InternalOrder,
        level: Level,
        files: Arc<LevelFiles>,
        tables: Arc<TableCache>,
        parts: Arc<Parts>,
        ctx: Arc<ReadCtx>,
    ) -> Self {
        base::invariant!(
            level == Level::ZERO
                || files.iter().is_sorted_by(|a, b| order.compare(&a.largest, &b.smallest).is_lt()),
            "the files of {level} overlap"
        );
        let at = files.len();
        let counts = parts.pick.read_triggered_compaction_threshold > 0.0;
        LevelIter {
            order,
            files,
            tables,
            parts,
            ctx,
            level,
            at,
            current: None,
            hands_over: false,
            counts,
            filter: None,
            skips: false,
            error: None,
        }
    }

    /// Sets whether read-ahead continues from one file to the next. Default false: the read-ahead of each file starts
    /// small.
    #[must_use]
    pub fn handing_over(mut self, hands_over: bool) -> Self {
        self.hands_over = hands_over;
        self
    }

    /// Reads only the files for which the filter returns true.
    #[must_use]
    pub fn filtered(mut self, filter: Option<TableFilter>) -> Self {
        self.filter = filter;
        self
    }

    /// Makes `current` an iterator over the file at `index`. Returns false if the file does not exist or does not
    /// open.
    fn open(&mut self, index: usize) -> bool {
        if index == self.at && self.current.is_some() {
            return true;
        }
        let pace = self.current.take().and_then(|iter| iter.pace());
        // Only a scan that comes from the previous file keeps its read-ahead.
        let pace = pace.filter(|_| self.hands_over && index == self.at.wrapping_add(1));
        self.at = index;
        base::invariant!(
            index <= self.files.len() || index == usize::MAX,
            "file {index} of {} in {} is opened",
            self.files.len(),
            self.level
        );
        let Some(file) = self.files.get(index) else { return false };
        match self.tables.get_for(&self.parts, self.level, file, &self.ctx) {
            Ok(reader) => {
                self.skips = self.filter.as_ref().is_some_and(|filter| !filter.reads(reader.properties()));
                let mut iter = reader.rows(&self.ctx);
                if let Some(pace) = pace {
                    iter.keep_pace(pace);
                }
                self.current = Some(iter);
                true
            }
            Err(error) => {
                self.error = Some(error);
                false
            }
        }
    }

    /// Positions the iterator over the current file, unless the filter skips the file.
    #[inline]
    fn position(&mut self, seek: impl FnOnce(&mut TableRows)) {
        if let Some(current) = self.current.as_mut().filter(|_| !self.skips) {
            seek(current);
        }
    }

    /// Moves to the next files while the current file is at its end without an error.
    #[cold]
    fn skip_forward(&mut self) {
        while let Some(current) = &self.current {
            if current.valid() || current.status().is_err() {
                return;
            }
            base::invariant!(
                self.at < self.files.len(),
                "file {} of {} in {} is open",
                self.at,
                self.files.len(),
                self.level
            );
            let next = self.at + 1;
            if let (Some(bound), Some(file)) = (&self.ctx.upper_bound, self.files.get(next))
                && self.is_past(file.smallest_user_key(), bound)
            {
                self.current = None;
                self.at = self.files.len();
                return;
            }
            if !self.open(next) {
                return;
            }
            self.position(TableRows::seek_to_first);
        }
    }

    /// Counts a read of the current entry for its file, if a compaction could remove the entry.
    #[cold]
    fn count(&self) {
        use base::ValueType::{Deletion, DeletionWithTimestamp, Merge, SingleDeletion};
        let Some(current) = self.current.as_ref().filter(|current| current.valid()) else { return };
        base::invariant!(
            self.at < self.files.len(),
            "the entry of a level is in file {} of {}",
            self.at,
            self.files.len()
        );
        let value_type = base::ValueType::from_u8(base::key::trailer(current.key()) as u8);
        if matches!(value_type, Some(Deletion | SingleDeletion | DeletionWithTimestamp | Merge))
            && let Some(file) = self.files.get(self.at)
        {
            file.add_reads_sampled(sample::RATE);
        }
    }

    /// Moves to the SST file that may hold `target`, and positions with `seek`. Continues with the next
    /// files if the file has no such entry.
    #[inline]
    fn seek_by(&mut self, target: &[u8], seek: impl FnOnce(&mut TableRows, &[u8])) {
        self.error = None;
        let index = self.files.find_internal(&self.order, target);
        base::invariant!(index <= self.files.len(), "a seek goes to file {index} of {}", self.files.len());
        if self.open(index) {
            self.position(|current| seek(current, target));
            if self.valid() {
                return;
            }
            self.skip_forward();
        }
    }

    /// Moves to the SST file that may hold the last entry at or before `target`, and positions with `seek`. Continues
    /// with the previous files if the file has no such entry.
    #[inline]
    fn seek_for_prev_by(&mut self, target: &[u8], seek: impl FnOnce(&mut TableRows, &[u8])) {
        self.error = None;
        // The file whose range holds the target, or the last file, which ends before the target.
        let index = self.files.find_internal(&self.order, target);
        let index = if index == self.files.len() { index.wrapping_sub(1) } else { index };
        if self.open(index) {
            self.position(|current| seek(current, target));
            self.skip_backward();
        }
    }

    fn is_past(&self, user_key: &[u8], bound: &[u8]) -> bool {
        let without_timestamp = key::without_timestamp(user_key, self.order.user.timestamp_size());
        self.order.user.compare_stripped(without_timestamp, bound).is_ge()
    }

    /// Moves to the previous files while the current file is before its first entry without an error.
    #[cold]
    fn skip_backward(&mut self) {
        while let Some(current) = &self.current {
            if current.valid() || current.status().is_err() {
                return;
            }
            if self.at == 0 {
                self.current = None;
                self.at = self.files.len();
                return;
            }
            base::invariant!(
                self.at < self.files.len(),
                "a level is at file {} of {}",
                self.at,
                self.files.len()
            );
            if !self.open(self.at - 1) {
                return;
            }
            self.position(TableRows::seek_to_last);
        }
    }
}

impl InternalIterator for LevelIter {
    #[inline]
    fn valid(&self) -> bool {
        self.current.as_ref().is_some_and(InternalIterator::valid)
    }

    fn seek_to_first(&mut self) {
        self.error = None;
        if self.open(0) {
            self.position(TableRows::seek_to_first);
            self.skip_forward();
        }
    }

    fn seek_to_last(&mut self) {
        self.error = None;
        if self.open(self.files.len().wrapping_sub(1)) {
            self.position(TableRows::seek_to_last);
            self.skip_backward();
        }
    }

    fn seek(&mut self, target: &[u8]) {
        self.seek_by(target, TableRows::seek);
        if self.counts && sample::look_up() {
            self.count();
        }
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.seek_for_prev_by(target, TableRows::seek_for_prev);
    }

    fn seek_total(&mut self, target: &[u8]) {
        self.seek_by(target, TableRows::seek_total);
    }

    fn seek_total_for_prev(&mut self, target: &[u8]) {
        self.seek_for_prev_by(target, TableRows::seek_total_for_prev);
    }

    #[inline]
    fn next(&mut self) {
        if let Some(current) = &mut self.current {
            current.next();
            if current.valid() {
                if self.counts && sample::step() {
                    self.count();
                }
                return;
            }
        }
        self.skip_forward();
    }

    #[inline]
    fn prev(&mut self) {
        if let Some(current) = &mut self.current {
            current.prev();
            if current.valid() {
                return;
            }
        }
        self.skip_backward();
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |current| current.key())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |current| current.value())
    }

    fn status(&self) -> Result<()> {
        match (&self.error, &self.current) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(current)) => current.status(),
            (None, None) => Ok(()),
        }
    }

    fn pin_key(&self) -> Option<Pinned> {
        self.current.as_ref()?.pin_key()
    }

    fn value_shown(&mut self) {
        if let Some(current) = &mut self.current {
            current.value_shown();
        }
    }

    fn pin_value(&self) -> Pinned {
        self.current.as_ref().map_or_else(|| Pinned::from_vec(Vec::new()), |current| current.pin_value())
    }
}
