//! Many keys at once: sorted, looked up place by place, each place asked for all that are still open.

use std::cell::Cell;
use std::ops::ControlFlow;

use base::key::{SequenceNumber, TYPE_FOR_SEEK, append_with_trailer, pack, trailer, user_key};
use base::stats::{HistogramKind, PerfCounter, PerfTimer, Statistics, Ticker, blocks_read, perf_add};
use base::{Error, Pinned, Result};
use lsm::file_meta::FileMetaData;
use table::sst::ReadCtx;

use super::answer::Answer;
use super::{Answered, Place, Reads};
use crate::family::{Family, SuperVersion};
use crate::options::{ReadOptions, ReadTier};
use crate::source::resolve::Found;
use crate::source::{WideColumns, covering, covering_in_memory, sample};
use crate::sync::Arc;

/// One key on its way.
struct Slot<'a> {
    /// Where it stood in the caller's list.
    index: usize,
    key: &'a [u8],
    /// Its internal key to seek lies here in the shared buffer; the user part carries the timestamp.
    seek_key: std::ops::Range<usize>,
    answer: Answer<'a>,
    place: Place,
}

/// The keys on their way, sorted, and the bytes of their seek keys.
struct Slots<'a> {
    bytes: Vec<u8>,
    list: Vec<Slot<'a>>,
}

impl<'a> Slots<'a> {
    #[inline]
    fn seek_key(&self, i: usize) -> &[u8] {
        &self.bytes[self.list[i].seek_key.clone()]
    }

    #[inline]
    fn full(&self, i: usize) -> &[u8] {
        user_key(self.seek_key(i))
    }

    /// Returns true if older sources are still asked for the key.
    fn open(&self, i: usize) -> bool {
        let answer = &self.list[i].answer;
        !answer.settled() && !answer.covered()
    }
}

impl Reads {
    /// The values of `keys`, in their order. A key given twice is answered twice.
    ///
    /// Each result as for [`Reads::get`]; once more than `value_size_soft_limit` bytes are found, the keys
    /// after are `Aborted`.
    pub fn multi_get(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Pinned>>> {
        let plain = |found: Option<Found>, _| found.map(Found::into_plain).transpose();
        self.multi_get_as(family, keys, options, plain)
    }

    /// Returns the columns of `keys`, in the order of the keys. `value_size_soft_limit` counts the stored bytes.
    pub fn multi_get_entity(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>> {
        let columns = |found: Option<Found>, _| found.map(WideColumns::new).transpose();
        self.multi_get_as(family, keys, options, columns)
    }

    /// As [`Reads::multi_get`], with each answer's subcode.
    pub fn multi_get_answered(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Answered>> {
        let answered = |found: Option<Found>, operands| {
            let value = found.map(Found::into_plain).transpose()?;
            Ok(Answered::new(value, operands, options))
        };
        self.multi_get_as(family, keys, options, answered)
    }

    /// The values in the shape of `answer`, which is told how many operands were met.
    fn multi_get_as<T>(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
        answer: impl Fn(Option<Found>, usize) -> Result<T>,
    ) -> Vec<Result<T>> {
        let began = self.stats.begin();
        let super_version = family.pin();
        if let Err(error) = self.check(family, &super_version, options) {
            return keys.iter().map(|_| Err(error.clone())).collect();
        }
        let (seq, visibility) = self.read_view(options);
        let mut results: Vec<Result<T>> = keys.iter().map(|_| answer(None, 0)).collect();
        let blobs = self.blobs(family, &super_version, options);
        let mut slots =
            Slots { bytes: Vec::with_capacity(keys.len() * 32), list: Vec::with_capacity(keys.len()) };
        for (index, key) in keys.iter().enumerate() {
            let mut buffer = Vec::new();
            let full = self.full_key(key, options, &mut buffer);
            let start = slots.bytes.len();
            append_with_trailer(&mut slots.bytes, full, pack(seq, TYPE_FOR_SEEK));
            let seek_key = start..slots.bytes.len();
            let mut answer =
                Answer::new(super_version.parts.merge_operator.as_ref(), self.stats.statistics(), blobs);
            answer.see(visibility.clone());
            slots.list.push(Slot { index, key, seek_key, answer, place: Place::Nowhere });
        }
        let order = &family.order().user;
        slots.list.sort_by(|a, b| order.compare_stripped(a.key, b.key));
        if self.reads_memtables(options) {
            from_memtables(&super_version, &mut slots, seq, options);
        }
        if options.read_tier != ReadTier::Memtable && super_version.version.num_files() > 0 {
            self.from_tables(family, &super_version, &mut slots, seq, options);
        }
        let _time = PerfTimer::start(PerfCounter::GetPostProcessTime);
        let (mut found_bytes, mut found_keys) = (0u64, 0u64);
        let statistics = self.stats.statistics();
        for slot in slots.list {
            let operands = slot.answer.operands();
            let result = if found_bytes > options.value_size_soft_limit {
                Err(Error::aborted("the values before this one exceed value_size_soft_limit"))
            } else {
                slot.answer.finish(slot.key)
            };
            if let Ok(Some(value)) = &result {
                found_bytes += value.len() as u64;
                found_keys += 1;
            }
            if let Some(statistics) = statistics {
                slot.place.count(statistics, matches!(result, Ok(Some(_))));
            }
            results[slot.index] = result.and_then(|found| answer(found, operands));
        }
        perf_add(PerfCounter::MultigetReadBytes, found_bytes);
        if let Some(statistics) = statistics {
            statistics.tick(Ticker::NumberMultigetCalls);
            statistics.add(Ticker::NumberMultigetKeysRead, keys.len() as u64);
            statistics.add(Ticker::NumberMultigetKeysFound, found_keys);
            statistics.add(Ticker::NumberMultigetBytesRead, found_bytes);
            statistics.measure(HistogramKind::BytesPerMultiget, found_bytes);
            self.stats.end(began, HistogramKind::DbMultiget);
        }
        results
    }

    fn from_tables(
        &self,
        family: &Family,
        super_version: &SuperVersion,
        slots: &mut Slots<'_>,
        seq: SequenceNumber,
        options: &ReadOptions,
    ) {
        let version = &super_version.version;
        let order = family.order();
        let ctx = ReadCtx { histogram: HistogramKind::FileReadMultigetMicros, ..self.ctx(options) };
        let tally = self.stats.statistics().map(|statistics| Tally::new(statistics));
        let place = Table { reads: self, super_version, ctx: &ctx, seq, options, tally };
        let mut open: Vec<usize> = (0..slots.list.len()).filter(|&i| slots.open(i)).collect();
        for file in version.level(0).iter() {
            let within: Vec<usize> = open
                .iter()
                .copied()
                .filter(|&i| {
                    let full = slots.full(i);
                    order.user.compare_without_timestamp(full, file.smallest_user_key()).is_ge()
                        && order.user.compare_without_timestamp(full, file.largest_user_key()).is_le()
                })
                .collect();
            place.ask(0, file, &within, slots);
            place.end_of_level();
            open.retain(|&i| slots.open(i));
        }
        for level in 1..version.num_levels() {
            let files = version.level(level);
            if files.is_empty() || open.is_empty() {
                continue;
            }
            // Each open key with its file; keys are sorted, so those of one file stand together.
            let mut waiting: Vec<(usize, usize)> = open
                .iter()
                .map(|&i| {
                    let internal = slots.seek_key(i);
                    (i, files.find(order, user_key(internal), trailer(internal)))
                })
                .collect();
            while !waiting.is_empty() {
                let mut next = Vec::new();
                for group in waiting.chunk_by(|a, b| a.1 == b.1) {
                    let at = group[0].1;
                    let Some(file) = files.get(at) else { continue };
                    let mut within: Vec<usize> = group.iter().map(|(i, _)| *i).collect();
                    within.retain(|&i| {
                        order.user.compare_without_timestamp(slots.full(i), file.smallest_user_key()).is_ge()
                    });
                    place.ask(level, file, &within, slots);
                    // A key that ends the file may go on in the next.
                    within.retain(|&i| {
                        !slots.list[i].answer.settled()
                            && order
                                .user
                                .compare_without_timestamp(slots.full(i), file.largest_user_key())
                                .is_ge()
                    });
                    next.extend(within.into_iter().map(|i| (i, at + 1)));
                }
                waiting = next;
            }
            place.end_of_level();
            open.retain(|&i| slots.open(i));
        }
    }
}

fn from_memtables(
    super_version: &SuperVersion,
    slots: &mut Slots<'_>,
    seq: SequenceNumber,
    options: &ReadOptions,
) {
    let mut open: Vec<usize> = (0..slots.list.len()).collect();
    for mem in std::iter::once(&super_version.mem).chain(super_version.imm.iter()) {
        if mem.is_empty() {
            continue;
        }
        let mut asked = Vec::with_capacity(open.len());
        for &i in &open {
            let slot = &mut slots.list[i];
            if !options.ignore_range_deletions {
                let timestamp = options.timestamp.as_deref();
                let at = slot.answer.tombstone_seq(seq);
                slot.answer.cover(covering_in_memory(mem, slot.key, at, timestamp));
            }
            if mem.definitely_misses(slot.key) {
                perf_add(PerfCounter::BloomMemtableMissCount, 1);
                continue;
            }
            if mem.asks_bloom(slot.key) {
                perf_add(PerfCounter::BloomMemtableHitCount, 1);
            }
            asked.push(i);
        }
        let Slots { bytes, list } = slots;
        let fulls: Vec<&[u8]> = asked.iter().map(|&i| user_key(&bytes[list[i].seek_key.clone()])).collect();
        let done = mem.multi_get(&fulls, seq, |i, v| {
            let slot = &mut list[asked[i]];
            slot.place = Place::Memtable;
            let full = user_key(&bytes[slot.seek_key.clone()]);
            slot.answer.version((slot.key, full), v.seq, v.kind as u8, || v.pin(mem))
        });
        if let Err(error) = done {
            open.iter().for_each(|&i| slots.list[i].answer.fail(error.clone()));
            return;
        }
        open.retain(|&i| slots.open(i));
        if open.is_empty() {
            return;
        }
    }
}

/// What asking one table needs.
struct Table<'a> {
    reads: &'a Reads,
    super_version: &'a SuperVersion,
    ctx: &'a ReadCtx,
    seq: SequenceNumber,
    options: &'a ReadOptions,
    tally: Option<Tally<'a>>,
}

/// What a call has read so far, level by level: each table of level 0 counts as one.
struct Tally<'a> {
    statistics: &'a Statistics,
    /// Blocks of indexes and filters, and tables whose data was read, of the level that is looked through.
    metadata: Cell<u64>,
    tables: Cell<u64>,
    /// Levels of which data was read.
    levels: Cell<u64>,
}

impl<'a> Tally<'a> {
    fn new(statistics: &'a Statistics) -> Self {
        Tally { statistics, metadata: Cell::new(0), tables: Cell::new(0), levels: Cell::new(0) }
    }

    /// One table was asked for so many keys; `before` is what the thread had read then.
    fn asked(&self, keys: usize, before: (u64, u64)) {
        let now = blocks_read();
        self.metadata.set(self.metadata.get() + now.0.wrapping_sub(before.0));
        self.tables.set(self.tables.get() + u64::from(now.1 != before.1));
        self.statistics.measure(HistogramKind::SstBatchSize, keys as u64);
    }

    fn end_of_level(&self) {
        let (metadata, tables) = (self.metadata.take(), self.tables.take());
        if metadata > 0 {
            self.statistics.measure(HistogramKind::NumIndexAndFilterBlocksReadPerLevel, metadata);
        }
        if tables > 0 {
            self.statistics.measure(HistogramKind::NumSstReadPerLevel, tables);
            self.levels.set(self.levels.get() + 1);
        }
    }
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        if self.levels.get() > 0 {
            self.statistics.measure(HistogramKind::NumLevelReadPerMultiget, self.levels.get());
        }
    }
}

impl Table<'_> {
    /// Everything on a level, or one table of level 0, was asked.
    fn end_of_level(&self) {
        if let Some(tally) = &self.tally {
            tally.end_of_level();
        }
    }

    /// Asks one table for the slots `within` its range.
    fn ask(&self, level: usize, file: &Arc<FileMetaData>, within: &[usize], slots: &mut Slots<'_>) {
        if within.is_empty() {
            return;
        }
        let fail = |slots: &mut Slots<'_>, error: Error| {
            within.iter().for_each(|&i| slots.list[i].answer.fail(error.clone()));
        };
        if let Err(error) = self.reads.check_deadline(self.options) {
            return fail(slots, error);
        }
        let reader = match self.reads.tables.get_for(&self.super_version.parts, level, file, self.ctx) {
            Ok(reader) => reader,
            Err(error) => return fail(slots, error),
        };
        if let Some(fragments) = reader.tombstones()
            && !self.options.ignore_range_deletions
        {
            let timestamp = self.options.timestamp.as_deref();
            for &i in within {
                let slot = &mut slots.list[i];
                let at = slot.answer.tombstone_seq(self.seq);
                slot.answer.cover(covering(fragments, slot.key, at, timestamp));
            }
        }
        // A key that a range tombstone of this file covers may have a newer entry in this file.
        let asked: Vec<usize> = within.iter().copied().filter(|&i| !slots.list[i].answer.settled()).collect();
        let Slots { bytes, list } = slots;
        let keys: Vec<&[u8]> = asked.iter().map(|&i| &bytes[list[i].seek_key.clone()]).collect();
        let before = blocks_read();
        let failed = reader.multi_get(&keys, self.ctx, |i, entry| {
            // Of older timestamps there can be versions newer than the snapshot.
            if entry.sequence() > self.seq {
                return ControlFlow::Continue(());
            }
            let slot = &mut list[asked[i]];
            slot.place = Place::Level(level);
            slot.answer.entry(slot.key, entry, &reader, self.ctx)
        });
        if let Some(tally) = &self.tally {
            tally.asked(asked.len(), before);
        }
        if self.super_version.parts.pick.read_triggered_compaction_threshold > 0.0 {
            let in_vain = asked.iter().filter(|&&i| !list[i].answer.found() && sample::look_up()).count();
            file.add_reads_sampled(sample::RATE * in_vain as u64);
        }
        for (i, error) in failed {
            list[asked[i]].answer.fail(error);
        }
    }
}
