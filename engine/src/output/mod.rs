//! Writes the entries that survive a flush or a compaction to SST files.
//!
//! ```text
//!  CompactionIter ─► entry ─► Cutter: does the file end here? ─► table::sst::Writer ─► file, sync, close
//!                          └ each file also gets the range tombstones of its key range
//! ```
//! Each file is synced when it is finished. The directories are synced once, at the end. After an error, the
//! unfinished file and the finished files of the run are deleted, because no version names them.

mod announce;
mod blobs;
mod deleted_run;
mod file;
mod flush_priority;
mod memtables;
mod rewrite;
mod settings;
mod stripped;
mod summary;
#[cfg(all(test, not(shuttle)))]
mod tests;
mod timed;
mod tools;
mod verify;

pub use blobs::{BlobCollection, BlobPolicy, OutputBlob, Relocated};
pub use file::{CoveredBytes, OutputFile, is_out_of_order};
pub use flush_priority::FlushPriority;
pub use memtables::{MemtableBlobs, flush_compression, write_memtables};
pub use rewrite::Rewrite;
pub use settings::{OutputIo, OutputPlace, OutputSettings, Purpose, WriteBack};
pub use summary::{files_by_level, input_summary, level_summary, live_blob_files, rates};
pub use tools::{
    JobTools, compression_text, edit_of, forget_spares, named, remember_deleted_runs, remove_tracked,
    track_file,
};

use std::collections::BTreeSet;

use base::iter::InternalIterator;
use base::key::{self, MAX_SEQUENCE};
use base::{Error, Result, SequenceNumber, ValueType};
use env::thread_status::{Stage, note_io, set_stage};
use lsm::blob_flow::BlobFlow;
use lsm::compaction_iter::{Below, CompactionIter};
use lsm::cut::Cutter;
use lsm::range_del::before_user_key;

use blobs::BlobOutput;
use file::{OUT_OF_ORDER, OpenFile};

use crate::errors::caught;
use crate::family::FlushProgress;

/// The range of user keys of a subcompaction, from `lower` (inclusive) to `upper` (exclusive). The bounds
/// carry the newest timestamp, so one range has every entry of a key. `None` means no bound.
#[derive(Clone, Debug, Default)]
pub struct SubcompactionRange {
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
}

/// The result of a run.
#[derive(Default)]
pub struct Outputs {
    pub files: Vec<OutputFile>,
    pub num_records: u64,
    pub dropped_obsolete_ranges: u64,
    /// True if readers see the same keys as before: the compaction filter skipped no key range.
    pub keeps_keys: bool,
    /// Bytes of the keys and values that were read, including dropped entries.
    pub input_bytes: u64,
    /// References of the written entries to blob files.
    pub blob_flow: BlobFlow,
    pub relocated: Relocated,
    /// The pace of the writers during a flush. It ends with the drop.
    pub progress: Option<FlushProgress>,
}

/// Where a run writes its entries.
pub struct Target<'a> {
    pub settings: &'a OutputSettings,
    /// Ends the files. `None`: one file takes all entries.
    pub cutter: Option<Cutter>,
}

/// The targets of a run.
pub struct Targets<'a> {
    /// Gets the entries that `young` does not get.
    pub rest: Target<'a>,
    /// Gets the entries and the range tombstones with larger sequence numbers than the first part. `None`: `rest` gets all entries.
    pub young: Option<(SequenceNumber, Target<'a>)>,
    /// Estimates the bytes that a range tombstone of the output deletes. `None`: the output is on the bottommost level.
    pub covered: Option<&'a CoveredBytes<'a>>,
    /// Gets the number of read entries. `None`: no writer keeps the pace of the job.
    pub progress: Option<&'a FlushProgress>,
}

impl<'a> Targets<'a> {
    /// Returns targets without a second output: the run writes every entry to the same output.
    pub fn one_file(settings: &'a OutputSettings, covered: &'a CoveredBytes<'a>) -> Self {
        let rest = Target { settings, cutter: None };
        Targets { rest, young: None, covered: Some(covered), progress: None }
    }
}

/// Writes the entries of `rows` from `range.lower` on. The input of `rows` ends at `range.upper`: see [`Clipped`].
/// `drop_obsolete` returns true if no level below the output can hold an entry of a range of user keys.
///
/// [`Clipped`]: lsm::clipped::Clipped
///
/// # Errors
/// The first error of the input, of the compaction iterator or of the file system. Then no file of the run is left.
pub fn write_all<I: InternalIterator, B: Below>(
    rows: &mut CompactionIter<I, B>,
    targets: Targets<'_>,
    collection: Option<BlobCollection>,
    range: &SubcompactionRange,
    drop_obsolete: &mut dyn FnMut(&[u8], &[u8]) -> bool,
) -> Result<Outputs> {
    let settings = targets.rest.settings;
    let blobs = BlobOutput::new(settings, collection);
    let (covered, progress) = (targets.covered, targets.progress);
    let split = targets.young.as_ref().map_or(MAX_SEQUENCE, |(split, _)| *split);
    let targets = std::iter::once(targets.rest).chain(targets.young.map(|(_, young)| young));
    let sinks = targets.map(Sink::new).collect();
    let mut run = Run {
        settings,
        range,
        split,
        sinks,
        covered,
        progress,
        done: Outputs::default(),
        is_announced: false,
        blobs,
    };
    let what = if settings.is_flush { "a flush" } else { "a compaction" };
    // After a panic, for example of the comparator of the application, the files of this call must go too.
    let written = caught(what, || run.rows(rows, drop_obsolete).and_then(|()| run.sync_dirs()));
    if settings.is_flush && !run.is_announced {
        announce::no_file(settings, written.as_ref().err());
    }
    match written {
        Ok(()) => {
            base::invariant!(
                run.sinks.iter().all(|sink| sink.open.is_none()),
                "an output file is open after the last entry"
            );
            run.done.blob_flow = run.blobs.flow;
            run.done.relocated = run.blobs.relocated;
            run.done.files = run.sinks.into_iter().flat_map(|sink| sink.files).collect();
            if let Some(last) = run.done.files.last_mut() {
                last.blobs = run.blobs.done;
            }
            Ok(run.done)
        }
        Err(error) => {
            for sink in &mut run.sinks {
                if let Some(open) = sink.open.take() {
                    open.abandon(sink.settings, &error);
                }
                sink.files.iter().for_each(|file| file.remove(&settings.env));
            }
            run.blobs.abandon();
            Err(error)
        }
    }
}

struct Run<'a> {
    settings: &'a OutputSettings,
    range: &'a SubcompactionRange,
    /// Entries with larger sequence numbers go to the second sink.
    split: SequenceNumber,
    /// One or two sinks.
    sinks: Vec<Sink<'a>>,
    covered: Option<&'a CoveredBytes<'a>>,
    progress: Option<&'a FlushProgress>,
    done: Outputs,
    /// True if the listeners were notified of a file.
    is_announced: bool,
    blobs: BlobOutput<'a>,
}

/// The files of one target.
struct Sink<'a> {
    settings: &'a OutputSettings,
    cutter: Option<Cutter>,
    /// The finished files.
    files: Vec<OutputFile>,
    open: Option<OpenFile>,
}

impl<'a> Sink<'a> {
    fn new(target: Target<'a>) -> Self {
        Sink { settings: target.settings, cutter: target.cutter, files: Vec::new(), open: None }
    }

    /// Returns the internal keys between which the open file may hold range tombstones. The first file of a range
    /// begins with the range, and each later file with its first entry. A file ends before the first user key of the
    /// next file. If both files hold entries of this user key, the file ends at its own last entry.
    fn limits(&self, range: &SubcompactionRange, next: Option<&[u8]>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let order = &self.settings.parts.order;
        let (first, last) = match &self.open {
            Some(open) => (Some(open.smallest()), Some(open.largest())),
            None => (None, None),
        };
        let lower = if self.files.is_empty() {
            range.lower.as_deref().map(|lower| self.before(lower))
        } else {
            first.map(<[u8]>::to_vec)
        };
        let upper = match (next, last) {
            (Some(next), Some(last))
                if order.compare_without_timestamp(key::user_key(last), key::user_key(next)).is_eq() =>
            {
                Some(last.to_vec())
            }
            (Some(next), _) => Some(self.before(key::user_key(next))),
            (None, _) => range.upper.as_deref().map(|upper| self.before(upper)),
        };
        (lower, upper)
    }

    /// Returns the position before all entries of `user_key`, which carries a timestamp.
    fn before(&self, user_key: &[u8]) -> Vec<u8> {
        let size = self.settings.parts.order.timestamp_size();
        before_user_key(key::without_timestamp(user_key, size), size)
    }
}

/// The properties of the job in the list of threads are updated after this many entries. RocksDB:
/// `kRecordStatsEvery`.
const ROWS_BETWEEN_NOTES: u64 = 1024;
/// The limit of the active memtable is set again after this many entries of a flush.
const ROWS_BETWEEN_PACES: u64 = 64;

impl Run<'_> {
    fn rows<I: InternalIterator, B: Below>(
        &mut self,
        rows: &mut CompactionIter<I, B>,
        drop_obsolete: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        match &self.range.lower {
            None => rows.seek_to_first(),
            Some(lower) => rows.seek(&key::seek_key(lower, MAX_SEQUENCE)),
        }
        let mut place = self.settings.io.flush_priority.enter(self.settings.is_flush);
        let mut buffer = Vec::new();
        if rows.valid() {
            self.check_first(rows.key())?;
        }
        while rows.valid() {
            place.count_entry();
            let row = rows.key();
            base::invariant!(
                self.range.upper.as_ref().is_none_or(|upper| {
                    self.settings.parts.order.compare_without_timestamp(key::user_key(row), upper).is_lt()
                }),
                "a subcompaction writes a key after its end"
            );
            let at = usize::from(self.sinks.len() > 1 && key::sequence(row) > self.split);
            let sink = &mut self.sinks[at];
            if let Some(cutter) = &mut sink.cutter {
                let size = sink.open.as_ref().map_or(0, |open| open.cut_size(sink.settings));
                if cutter.should_end_before(row, size) && size > 0 {
                    let next = row.to_vec();
                    self.finish(at, rows, Some(&next), drop_obsolete)?;
                }
            }
            let sink = &mut self.sinks[at];
            let open = match &mut sink.open {
                Some(open) => open,
                None => {
                    self.is_announced = true;
                    sink.open.insert(OpenFile::create(sink.settings)?)
                }
            };
            let (key, value) = self.blobs.convert(rows.key(), rows.value())?;
            match self.settings.is_flush && key::trailer(key) as u8 == ValueType::ValuePreferredSeqno as u8 {
                false => open.add(key, value)?,
                true => {
                    let (key, value) =
                        timed::flushed(key, value, self.settings.times.as_deref(), &mut buffer)?;
                    open.add(key, value)?;
                }
            }
            self.done.num_records += 1;
            if let Some(progress) = self.progress
                && self.done.num_records.is_multiple_of(ROWS_BETWEEN_PACES)
            {
                progress.record(rows.stats.num_itered);
            }
            if self.done.num_records.is_multiple_of(ROWS_BETWEEN_NOTES) {
                note_io();
            }
            rows.next();
        }
        drop(place);
        rows.status()?;
        for at in 0..self.sinks.len() {
            self.finish(at, rows, None, drop_obsolete)?;
        }
        self.blobs.finish_file()
    }

    /// Checks the first entry of the range. The next entries are in order: the builder of the SST file checks the order.
    ///
    /// # Errors
    /// Corruption for an entry before the range: the keys of an input file are out of order.
    fn check_first(&self, key: &[u8]) -> Result<()> {
        let Some(lower) = &self.range.lower else { return Ok(()) };
        let user_key = key::user_key(key);
        if self.settings.parts.order.compare_without_timestamp(user_key, lower).is_ge() {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "{OUT_OF_ORDER} The key {} comes after the start {} of a subcompaction",
            user_key.escape_ascii(),
            lower.escape_ascii()
        )))
    }

    /// Finishes the open file of the sink `at`. `next` is the internal key of the first entry after the file; `None` at the end of
    /// the run. If no file is open but range tombstones remain, writes them to a new file.
    fn finish<I: InternalIterator, B: Below>(
        &mut self,
        at: usize,
        rows: &mut CompactionIter<I, B>,
        next: Option<&[u8]>,
        drop_obsolete: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let is_alone = self.sinks.len() == 1;
        let sink = &mut self.sinks[at];
        if !rows.tombstones_mut().is_empty() {
            let (lower, upper) = sink.limits(self.range, next);
            let mut ranges =
                rows.tombstones_mut().for_output(lower.as_deref(), upper.as_deref(), drop_obsolete);
            // Each sink asks for all range tombstones of its key range. The dropped range tombstones are counted once.
            if !is_alone {
                let (split, is_young) = (self.split, at == 1);
                ranges.tombstones.retain(|tombstone| (tombstone.seq > split) == is_young);
            }
            if at == 0 {
                self.done.dropped_obsolete_ranges += ranges.dropped_obsolete;
            }
            if !ranges.tombstones.is_empty() {
                let open = match &mut sink.open {
                    Some(open) => open,
                    None => {
                        self.is_announced = true;
                        sink.open.insert(OpenFile::create(sink.settings)?)
                    }
                };
                open.add_tombstones(&ranges, self.covered)?;
            } else if next.is_none() && !self.is_announced {
                // RocksDB makes a file for the range tombstones, and keeps none.
                self.is_announced = true;
                announce::no_file(self.settings, None);
            }
        }
        if let Some(open) = sink.open.take() {
            let is_compaction = !self.settings.is_flush;
            if is_compaction {
                set_stage(Stage::CompactionSyncFile);
            }
            sink.files.push(open.finish(sink.settings)?);
            note_io();
            if is_compaction {
                set_stage(Stage::CompactionProcessKv);
            }
        }
        base::invariant!(
            sink.files.is_sorted_by(|a, b| self
                .settings
                .parts
                .order
                .compare_without_timestamp(key::user_key(&a.meta.largest), key::user_key(&b.meta.smallest))
                .is_le()),
            "the files of a compaction overlap"
        );
        Ok(())
    }

    fn sync_dirs(&self) -> Result<()> {
        base::invariant!(
            self.sinks.iter().all(|sink| sink.open.is_none()),
            "the directory of an output file is synced while the file is open"
        );
        let parts = &self.settings.parts;
        let files = self.sinks.iter().flat_map(|sink| &sink.files);
        let mut dirs: BTreeSet<_> = files.map(|f| parts.table_dir(f.meta.path_id)).collect();
        if !self.blobs.done.is_empty() {
            dirs.insert(parts.table_dir(0));
        }
        for dir in dirs {
            let synced = self.settings.env.fs.open_dir(dir).and_then(|d| d.sync());
            synced.map_err(|e: Error| e.doing("syncing the directory of tables"))?;
        }
        Ok(())
    }
}
