//! Lookups of one key.

use std::ops::ControlFlow;

use base::key::{MAX_SEQUENCE, SeekKey, SequenceNumber};
use base::stats::{
    HistogramKind, OperationKind, PerfCounter, PerfTimer, Statistics, Ticker, perf_add, perf_counting,
};
use base::{Level, Pinned, Result};
use env::clock::CpuTimer;
use lsm::table_file::TableFile;
use mem::range_del::FragmentedTombstones;
use table::sst::{Entry, ReadCtx};

use super::answer::Answer;
use super::row_cache::Row;
use super::tally::{Tally, counting};
use super::{Answered, DecidedBy, Reads};
use crate::family::{Family, SuperVersion};
use crate::options::{ReadOptions, ReadTier};
use crate::sequence::Visibility;
use crate::source::resolve::Found;
use crate::source::{WideColumns, covering, covering_in_memory, sample};
use crate::stats::Began;
use crate::sync::Arc;

/// The key of a lookup, and what the lookup may see.
#[derive(Clone, Copy)]
pub(super) struct Sought<'a> {
    pub key: &'a [u8],
    /// The key with its timestamp.
    pub full: &'a [u8],
    pub seq: SequenceNumber,
    pub options: &'a ReadOptions,
    pub call: Call<'a>,
}

/// The call that a lookup belongs to. The call decides which statistics the reads of SST files have.
#[derive(Clone, Copy)]
pub(super) enum Call<'a> {
    Get,
    /// A MultiGet. `None`: the database has no statistics.
    MultiGet(Option<&'a Tally<'a>>),
}

impl Reads {
    /// Returns the value of `key`; for an entity, its default column. `None` if the key does not exist.
    ///
    /// # Errors
    /// Corruption, an I/O error, or a failed merge. Incomplete if the read tier forbids a read that is needed.
    #[inline]
    pub fn get(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        match self.find(family, key, options)? {
            Some(Found::Value(value)) => Ok(Some(value)),
            Some(found) => found.into_plain().map(Some),
            None => Ok(None),
        }
    }

    /// Returns the value of `key`, with an entity as it is stored.
    ///
    /// # Errors
    /// The errors of [`Reads::get`].
    pub fn find(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Option<Found>> {
        let (found, _) = self.find_counted(family, key, options);
        found
    }

    /// Returns the columns of `key`. A plain value is one column without a name.
    ///
    /// # Errors
    /// The errors of [`Reads::get`].
    pub fn get_entity(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        self.find(family, key, options)?.map(WideColumns::new).transpose()
    }

    /// Returns the value of `key` with the subcode.
    ///
    /// # Errors
    /// The errors of [`Reads::get`].
    pub fn get_answered(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Answered> {
        let (found, operands) = self.find_counted(family, key, options);
        let value = found?.map(Found::into_plain).transpose()?;
        Ok(Answered::new(value, operands, options))
    }

    /// Returns the value, and the number of merge operands of the key.
    #[inline]
    fn find_counted(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
    ) -> (Result<Option<Found>>, usize) {
        let _cpu = CpuTimer::start(PerfCounter::GetCpuNanos);
        let began = self.stats.begin();
        let _operation = self.stats.slow.begin(OperationKind::Get);
        self.stats.trace.get(family.id(), key);
        let _look_up = self.stats.blocks.begin_look_up(options.snapshot.is_some());
        let super_version = family.pin();
        let blobs = self.blobs(family, &super_version, options);
        let operator = super_version.parts.code.merge_operator.as_ref();
        let mut answer = Answer::new(operator, self.stats.statistics(), blobs);
        let mut buffer = Vec::new();
        if let Err(error) = self.check(family, &super_version, options) {
            return (Err(error), 0);
        }
        let full = self.full_key(key, options, &mut buffer);
        let (seq, visibility) = self.read_view(options);
        answer.see(visibility);
        let place =
            match self.walk(&super_version, Sought { key, full, seq, options, call: Call::Get }, &mut answer)
            {
                Ok(place) => place,
                Err(error) => {
                    // A lookup that fails in an SST file counts, as in RocksDB.
                    let failed = Err(error);
                    if let Some(statistics) = self.stats.statistics() {
                        self.count_get(statistics, DecidedBy::Nowhere, &failed, began);
                    }
                    return (failed, 0);
                }
            };
        let _time = PerfTimer::start(PerfCounter::GetPostProcessTime);
        let operands = answer.operands();
        let found = answer.finish(key);
        if let Some(statistics) = self.stats.statistics() {
            self.count_get(statistics, place, &found, began);
        }
        if perf_counting() {
            let bytes = found.as_ref().map_or(0, |found| found.as_ref().map_or(0, Found::len));
            perf_add(PerfCounter::GetReadBytes, bytes as u64);
        }
        (found, operands)
    }

    #[inline(never)]
    pub(super) fn count_get(
        &self,
        statistics: &Statistics,
        place: DecidedBy,
        found: &Result<Option<Found>>,
        began: Began,
    ) {
        statistics.tick(Ticker::NumberKeysRead);
        let found = found.as_ref().ok().and_then(Option::as_ref);
        place.count(statistics, found.is_some());
        let bytes = found.map_or(0, Found::len) as u64;
        // A key that does not exist is a read of 0 bytes.
        statistics.measure(HistogramKind::BytesPerRead, bytes);
        if found.is_some() {
            statistics.add(Ticker::BytesRead, bytes);
        }
        self.stats.end(began, HistogramKind::DbGet);
    }

    /// Returns the merge operands of `key`, oldest first. A plain value is the first operand.
    ///
    /// # Errors
    /// The errors of [`Reads::get`].
    pub fn operands(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Vec<Pinned>> {
        self.stats.trace.get(family.id(), key);
        let super_version = family.pin();
        let mut answer = Answer::for_operands(self.blobs(family, &super_version, options));
        let mut buffer = Vec::new();
        self.check(family, &super_version, options)?;
        let full = self.full_key(key, options, &mut buffer);
        let (seq, visibility) = self.read_view(options);
        answer.see(visibility);
        self.walk(&super_version, Sought { key, full, seq, options, call: Call::Get }, &mut answer)?;
        answer.finish_operands(key)
    }

    /// Returns false if `key` certainly does not exist. Reads only memtables and cached blocks. Also returns the
    /// value if it was found.
    pub fn may_exist(&self, family: &Family, key: &[u8], options: &ReadOptions) -> (bool, Option<Pinned>) {
        let memory = ReadOptions { read_tier: ReadTier::BlockCache, ..options.clone() };
        match self.get(family, key, &memory) {
            Ok(Some(value)) => (true, Some(value)),
            Ok(None) => (false, None),
            Err(_) => (true, None),
        }
    }

    /// Returns the sequence number of the newest entry of the key, if the entry is in a memtable or in the history
    /// of flushed memtables (`max_write_buffer_size_to_maintain`). Also returns the sequence number above which all
    /// writes are in these memtables. A transaction calls this before it commits. If a put overwrote an older value
    /// in place (`inplace_update_support`), its sequence number is that of the older put, as in RocksDB.
    ///
    /// # Errors
    /// Corruption if an entry does not match its protection bytes.
    pub fn newest_in_memory(
        &self,
        family: &Family,
        key: &[u8],
    ) -> Result<(Option<SequenceNumber>, SequenceNumber)> {
        let super_version = family.pin();
        for mem in super_version.memtables_and_history() {
            let mut newest = mem.newest_written_tombstone(key);
            mem.get(key, MAX_SEQUENCE, |version| {
                newest = newest.max(Some(version.seq));
                ControlFlow::Break(())
            })?;
            if newest.is_some() {
                return Ok((newest, super_version.in_memory_since()));
            }
        }
        Ok((None, super_version.in_memory_since()))
    }

    /// Returns the sequence number to read at, and the entries to hide. Called after the super version is pinned.
    #[inline]
    pub(super) fn read_view(&self, options: &ReadOptions) -> (SequenceNumber, Option<Arc<Visibility>>) {
        let _time = PerfTimer::start(PerfCounter::GetSnapshotTime);
        match &options.snapshot {
            Some(snapshot) => (snapshot.sequence(), snapshot.visibility().cloned()),
            None => self.sequence.view(),
        }
    }

    /// Passes the entries of the key that the lookup may see to `answer`, newest first. Returns the source that
    /// completed the answer.
    pub(super) fn walk(
        &self,
        super_version: &SuperVersion,
        sought: Sought<'_>,
        answer: &mut Answer<'_>,
    ) -> Result<DecidedBy> {
        let Sought { key, full, seq, options, .. } = sought;
        let timestamp = options.timestamp.as_deref();
        if self.reads_memtables(options) {
            let _time = PerfTimer::start(PerfCounter::GetFromMemtableTime);
            for mem in std::iter::once(&super_version.mem).chain(super_version.imm.iter()) {
                if answer.covered() {
                    return Ok(DecidedBy::Nowhere);
                }
                if mem.is_empty() {
                    continue;
                }
                if !options.ignore_range_deletions {
                    answer.cover(covering_in_memory(mem, key, answer.tombstone_seq(seq), timestamp));
                }
                if mem.definitely_misses(key) {
                    perf_add(PerfCounter::BloomMemtableMissCount, 1);
                    continue;
                }
                if mem.asks_bloom(key) {
                    perf_add(PerfCounter::BloomMemtableHitCount, 1);
                }
                perf_add(PerfCounter::GetFromMemtableCount, 1);
                mem.get(full, seq, |v| {
                    answer.version((key, full), v.seq, v.value_type as u8, || v.pin(mem))
                })?;
                if answer.settled() {
                    return Ok(DecidedBy::Memtable);
                }
            }
        }
        base::invariant!(!answer.settled(), "the search continues after the answer is complete");
        if super_version.version.num_files() == 0 {
            return Ok(DecidedBy::Nowhere);
        }
        let _time = PerfTimer::start(PerfCounter::GetFromOutputFilesTime);
        self.walk_tables(super_version, sought, answer)
    }

    /// Returns true if every entry of the SST file is newer than `timestamp`. Counts the lookups of `keys` keys. RocksDB:
    /// `TimestampMayMatch`, which only a lookup of one key calls.
    pub(super) fn is_newer(
        &self,
        super_version: &SuperVersion,
        file: &TableFile,
        timestamp: &[u8],
        keys: u64,
    ) -> bool {
        let Some(is_newer) = compare_oldest(super_version, file, timestamp) else { return false };
        self.stats.add(Ticker::TimestampFilterTableChecked, keys);
        self.stats.add(Ticker::TimestampFilterTableFiltered, if is_newer { keys } else { 0 });
        is_newer
    }

    /// Returns the options of the reads of SST files, and the counts of the call, if it has counts.
    fn ctx_of<'a>(&self, call: Call<'a>, options: &ReadOptions) -> (ReadCtx, Option<&'a Tally<'a>>) {
        match call {
            Call::Get => (self.ctx(options), None),
            Call::MultiGet(tally) => (self.multi_get_ctx(options), tally),
        }
    }

    fn walk_tables(
        &self,
        super_version: &SuperVersion,
        sought: Sought<'_>,
        answer: &mut Answer<'_>,
    ) -> Result<DecidedBy> {
        if answer.covered() {
            return Ok(DecidedBy::Nowhere);
        }
        let Sought { key, full, seq, options, call } = sought;
        let (ctx, tally) = self.ctx_of(call, options);
        let timestamp = options.timestamp.as_deref();
        base::invariant!(seq <= MAX_SEQUENCE, "a read is at the sequence number {seq}");
        let seek_key = SeekKey::new(full, seq);
        let counted = super_version.parts.pick.read_triggered_compaction_threshold > 0.0 && sample::look_up();
        let mut level_before = Level::ZERO;
        for (level, file) in super_version.version.candidates(full, seq) {
            if answer.covered() && (level == Level::ZERO || level != level_before) {
                break;
            }
            base::invariant!(level >= level_before, "the search goes from {level_before} to {level}");
            level_before = level;
            self.check_deadline(options)?;
            let mut row = match &self.row_cache {
                None => None,
                Some(rows) => rows.row(file, full, seq, answer.certain_up_to(seq)),
            };
            if let Some(row) = &row
                && row.replay(key, options.ignore_range_deletions, answer)
            {
                // As in RocksDB, a lookup that the row cache answers is a read of the file.
                sample_read(file, counted && !answer.found());
                if answer.settled() {
                    return Ok(DecidedBy::Level(level));
                }
                continue;
            }
            let opened;
            let reader = match self.tables.held(file) {
                Some(reader) => reader,
                None => {
                    opened = self.tables.get_for(&super_version.parts, level, file, &ctx)?;
                    &opened
                }
            };
            if let Some(fragments) = reader.tombstones() {
                cover(fragments, (key, seq), options, answer, row.as_mut());
            }
            if let Some(timestamp) = timestamp
                && self.is_newer(super_version, file, timestamp, 1)
            {
                continue;
            }
            let visit = |entry: Entry<'_>| {
                // Entries with older timestamps can be newer than the snapshot.
                if entry.sequence() > seq {
                    return ControlFlow::Continue(());
                }
                match &mut row {
                    None => answer.entry(key, entry, reader, &ctx),
                    Some(row) => answer.recorded_entry(key, entry, (reader, &ctx), row),
                }
            };
            counting(tally, level, || reader.get(seek_key.bytes(), &ctx, visit))?;
            if let Some(row) = row {
                row.keep();
            }
            sample_read(file, counted && !answer.found());
            if answer.settled() {
                return Ok(DecidedBy::Level(level));
            }
        }
        Ok(DecidedBy::Nowhere)
    }
}

/// Counts a sampled read that found no value in an SST file, for read-triggered compaction.
#[inline]
fn sample_read(file: &TableFile, is_wasted: bool) {
    if is_wasted {
        file.add_reads_sampled(sample::RATE);
    }
}

/// Passes the newest range tombstone of an SST file that deletes the key to `answer` and to the row of the row cache. A read that ignores
/// range tombstones still fills the row: other reads do not ignore them.
#[inline]
fn cover(
    fragments: &FragmentedTombstones,
    (key, seq): (&[u8], SequenceNumber),
    options: &ReadOptions,
    answer: &mut Answer<'_>,
    row: Option<&mut Row<'_>>,
) {
    if options.ignore_range_deletions && row.is_none() {
        return;
    }
    let tombstone = covering(fragments, key, answer.tombstone_seq(seq), options.timestamp.as_deref());
    if let Some(row) = row {
        row.cover(tombstone);
    }
    if !options.ignore_range_deletions {
        answer.cover(tombstone);
    }
}

/// Returns true if every entry of the SST file is newer than `timestamp`; `None` if the file does not tell its oldest timestamp.
pub(super) fn compare_oldest(
    super_version: &SuperVersion,
    file: &TableFile,
    timestamp: &[u8],
) -> Option<bool> {
    let oldest = &file.timestamps.min;
    if oldest.len() != timestamp.len() || !file.user_defined_timestamps_persisted {
        return None;
    }
    Some(super_version.parts.order.compare_timestamp(timestamp, oldest).is_lt())
}
