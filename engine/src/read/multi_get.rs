//! Lookups of many keys: sorts the keys, and asks each source for all keys that are not decided yet.

use std::borrow::Cow;
use std::ops::ControlFlow;

use base::invariant::{FastPath, takes_slow_path};
use base::key::{InternalOrder, SequenceNumber, TYPE_FOR_SEEK, append_with_trailer, pack, trailer, user_key};
use base::stats::{HistogramKind, OperationKind, PerfCounter, PerfTimer, blocks_read, perf_add};
use base::{Error, Level, Order, Pinned, Result};
use lsm::table_file::TableFile;
use lsm::version::LevelFiles;
use table::any::AnyReader;
use table::sst::{MultiGetBegun, ReadCtx};

use super::answer::Answer;
use super::finish::Finish;
use super::get::{Call, Sought};
use super::row_cache::Row;
use super::tally::{Tally, difference};
use super::{Answered, DecidedBy, Reads};
use crate::family::{Family, SuperVersion};
use crate::options::ReadOptions;
use crate::sequence::Visibility;
use crate::source::resolve::Found;
use crate::source::{WideColumns, covering, covering_in_memory, sample};
use crate::sync::Arc;

/// A call starts reads for one level until their buffers have this many bytes. Then it waits for these reads.
const UNDER_WAY_BYTES_MAX: usize = 8 << 20;

/// The lookup of one key.
struct Slot<'a> {
    /// The index of the key in the caller's list.
    index: usize,
    key: &'a [u8],
    /// The internal key to seek. Its user key has the timestamp.
    seek_key: &'a [u8],
    answer: Answer<'a>,
    place: DecidedBy,
}

/// The lookups of all keys, in the order of the keys.
struct Slots<'a> {
    list: Vec<Slot<'a>>,
}

impl<'a> Slots<'a> {
    /// Makes the lookups of `keys`, each with an answer of `new`. `sorted` has the order of the keys. `bytes` has the internal
    /// keys in this order, and `ends` the end of each internal key.
    fn new(
        keys: &[&'a [u8]],
        sorted: Vec<usize>,
        (bytes, ends): (&'a [u8], &[usize]),
        new: impl Fn() -> Answer<'a>,
    ) -> Self {
        base::invariant!(
            sorted.len() == keys.len() && ends.last().copied().unwrap_or(0) == bytes.len(),
            "{} of {} keys are sorted",
            sorted.len(),
            keys.len()
        );
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let slot = |((index, start), &end): ((usize, usize), &usize)| {
            base::invariant!(start < end, "a seek key is empty");
            let seek_key = &bytes[start..end];
            Slot { index, key: keys[index], seek_key, answer: new(), place: DecidedBy::Nowhere }
        };
        Slots { list: sorted.into_iter().zip(starts).zip(ends).map(slot).collect() }
    }

    #[inline]
    fn seek_key(&self, i: usize) -> &'a [u8] {
        self.list[i].seek_key
    }

    #[inline]
    fn full(&self, i: usize) -> &'a [u8] {
        user_key(self.seek_key(i))
    }

    /// Returns true if older sources must be searched for the key.
    fn open(&self, i: usize) -> bool {
        let answer = &self.list[i].answer;
        !answer.settled() && !answer.covered()
    }
}

impl Reads {
    /// Returns the values of `keys`, in the order of the caller. A key that occurs twice has two results.
    ///
    /// Each result is that of [`Reads::get`]. After more than `value_size_soft_limit` bytes were found, the results
    /// of all larger keys are Aborted.
    pub fn multi_get(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Pinned>>> {
        let plain = |found: Option<Found>, _| found.map(Found::into_plain).transpose();
        self.multi_get_as(family, keys, options, plain)
    }

    /// Returns the values of `keys`, with entities as they are stored: see [`Reads::multi_get`].
    pub fn multi_find(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Found>>> {
        self.multi_get_as(family, keys, options, |found, _| Ok(found))
    }

    /// Returns the columns of `keys`, in the order of the caller. `value_size_soft_limit` counts the stored bytes.
    pub fn multi_get_entity(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>> {
        let columns = |found: Option<Found>, _| found.map(WideColumns::new).transpose();
        self.multi_get_as(family, keys, options, columns)
    }

    /// Returns the values of `keys` with their subcodes: see [`Reads::multi_get`].
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

    /// Returns the results as `answer` makes them. `answer` gets the value and the number of merge operands.
    fn multi_get_as<T>(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
        answer: impl Fn(Option<Found>, usize) -> Result<T>,
    ) -> Vec<Result<T>> {
        let began = self.stats.begin();
        let _operation = self.stats.slow.begin(OperationKind::MultiGet);
        let _traced = self.stats.trace.multi_get(keys.iter().map(|&key| (family.id(), key)));
        let _look_up = self.stats.blocks.begin_look_up(options.snapshot.is_some());
        let super_version = family.pin();
        if let Err(error) = self.check(family, &super_version, options) {
            return keys.iter().map(|_| Err(error.clone())).collect();
        }
        let (seq, visibility) = self.read_view(options);
        let mut finish = Finish::new(self.stats.statistics().map(|statistics| &**statistics), options);
        let results = match keys {
            [key] if !takes_slow_path(FastPath::OneKey, key) => {
                let view = (seq, visibility);
                let (found, operands) =
                    self.find_one(family, &super_version, (key, options), view, &mut finish);
                vec![found.and_then(|found| answer(found, operands))]
            }
            _ => {
                let mut results: Vec<Result<T>> = keys.iter().map(|_| answer(None, 0)).collect();
                let sorted = sorted(&family.order().user, keys);
                let (bytes, ends) = self.seek_keys(keys, &sorted, options, seq);
                let blobs = self.blobs(family, &super_version, options);
                let operator = super_version.parts.code.merge_operator.as_ref();
                let new = || {
                    let mut answer = Answer::new(operator, self.stats.statistics(), blobs);
                    answer.see(visibility.clone());
                    answer
                };
                let mut slots = Slots::new(keys, sorted, (&bytes, &ends), new);
                self.fill(family, &super_version, &mut slots, seq, options);
                let _time = PerfTimer::start(PerfCounter::GetPostProcessTime);
                for slot in slots.list {
                    let (found, operands) = finish.result(slot.key, slot.answer, slot.place);
                    results[slot.index] = found.and_then(|found| answer(found, operands));
                }
                results
            }
        };
        if finish.count_call(keys.len()) {
            self.stats.end(began, HistogramKind::DbMultiget);
        }
        results
    }

    /// Looks up the only key of a call as [`Reads::get`] does. Returns the value and the number of merge operands.
    ///
    /// A lookup of one key needs no list of keys for each SST file. In a cache of 1 MB, these lists took a tenth of the time of
    /// a lookup.
    fn find_one(
        &self,
        family: &Family,
        super_version: &SuperVersion,
        (key, options): (&[u8], &ReadOptions),
        (seq, visibility): (SequenceNumber, Option<Arc<Visibility>>),
        finish: &mut Finish<'_>,
    ) -> (Result<Option<Found>>, usize) {
        let blobs = self.blobs(family, super_version, options);
        let operator = super_version.parts.code.merge_operator.as_ref();
        let mut answer = Answer::new(operator, self.stats.statistics(), blobs);
        answer.see(visibility);
        let mut buffer = Vec::new();
        let full = self.full_key(key, options, &mut buffer);
        let tally = self.stats.statistics().map(|statistics| Tally::new(statistics));
        let sought = Sought { key, full, seq, options, call: Call::MultiGet(tally.as_ref()) };
        let place = match self.walk(super_version, sought, &mut answer) {
            Ok(place) => place,
            Err(error) => {
                answer.fail(error);
                DecidedBy::Nowhere
            }
        };
        let _time = PerfTimer::start(PerfCounter::GetPostProcessTime);
        finish.result(key, answer, place)
    }

    /// Passes the entries of all keys to their answers.
    fn fill(
        &self,
        family: &Family,
        super_version: &SuperVersion,
        slots: &mut Slots<'_>,
        seq: SequenceNumber,
        options: &ReadOptions,
    ) {
        if self.reads_memtables(options) {
            from_memtables(super_version, slots, seq, options);
        }
        if super_version.version.num_files() > 0 {
            self.from_tables(family, super_version, slots, seq, options);
        }
    }

    /// Returns the internal keys to seek, one after the other in the order of `sorted`, and the end of each key.
    fn seek_keys(
        &self,
        keys: &[&[u8]],
        sorted: &[usize],
        options: &ReadOptions,
        seq: SequenceNumber,
    ) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::with_capacity(keys.iter().map(|key| key.len() + 24).sum());
        let mut buffer = Vec::new();
        let ends = sorted
            .iter()
            .map(|&index| {
                buffer.clear();
                let full = self.full_key(keys[index], options, &mut buffer);
                append_with_trailer(&mut bytes, full, pack(seq, TYPE_FOR_SEEK));
                bytes.len()
            })
            .collect();
        (bytes, ends)
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
        let ctx = self.multi_get_ctx(options);
        let tally = self.stats.statistics().map(|statistics| Tally::new(statistics));
        let place = Table { reads: self, order, super_version, ctx: &ctx, seq, options, tally };
        let mut open: Vec<usize> = (0..slots.list.len()).filter(|&i| slots.open(i)).collect();
        for file in version.level(Level::ZERO).iter() {
            let within: Vec<usize> = open
                .iter()
                .copied()
                .filter(|&i| {
                    let full = slots.full(i);
                    order.user.compare_without_timestamp(full, file.smallest_user_key()).is_ge()
                        && order.user.compare_without_timestamp(full, file.largest_user_key()).is_le()
                })
                .collect();
            place.ask(Level::ZERO, file, &within, slots);
            place.end_of_level();
            open.retain(|&i| slots.open(i));
        }
        for level in version.levels_below(Level::ZERO) {
            let files = version.level(level);
            if files.is_empty() || open.is_empty() {
                continue;
            }
            place.ask_level(level, files, &open, slots);
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
        let fulls: Vec<&[u8]> = asked.iter().map(|&i| slots.full(i)).collect();
        let list = &mut slots.list;
        let done = mem.multi_get(&fulls, seq, |i, v| {
            let slot = &mut list[asked[i]];
            slot.place = DecidedBy::Memtable;
            let full = user_key(slot.seek_key);
            slot.answer.version((slot.key, full), v.seq, v.value_type as u8, || v.pin(mem))
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

/// What lookups in one SST file need.
struct Table<'a> {
    reads: &'a Reads,
    order: &'a InternalOrder,
    super_version: &'a SuperVersion,
    ctx: &'a ReadCtx,
    seq: SequenceNumber,
    options: &'a ReadOptions,
    tally: Option<Tally<'a>>,
}

impl Table<'_> {
    /// Ends a level, or one SST file of level 0.
    fn end_of_level(&self) {
        if let Some(tally) = &self.tally {
            tally.end_of_level();
        }
    }

    /// Looks up the `open` keys in a level whose SST files do not overlap.
    fn ask_level(&self, level: Level, files: &LevelFiles, open: &[usize], slots: &mut Slots<'_>) {
        // Find the file of each open key. The keys are sorted, so the keys of one file are adjacent.
        let mut waiting: Vec<(usize, usize)> = open
            .iter()
            .map(|&i| {
                let internal = slots.seek_key(i);
                (i, files.find(self.order, user_key(internal), trailer(internal)))
            })
            .collect();
        base::invariant!(
            waiting.is_sorted_by_key(|(_, file)| *file),
            "the keys of a MultiGet are not in the order of the files of {level}"
        );
        while !waiting.is_empty() {
            waiting = self.ask_files(level, files, &waiting, slots);
        }
    }

    /// Looks up each waiting key in its SST file: the index of the key, and the index of the file in the level. Starts the reads of several
    /// files before it waits for them, if the options allow that. Returns the keys that may continue in the next file.
    fn ask_files(
        &self,
        level: Level,
        files: &LevelFiles,
        waiting: &[(usize, usize)],
        slots: &mut Slots<'_>,
    ) -> Vec<(usize, usize)> {
        let user = &self.order.user;
        let together = self.options.optimize_multiget_for_io;
        let mut next = Vec::new();
        let (mut begun, mut bytes) = (Vec::new(), 0);
        let groups = waiting.chunk_by(|a, b| a.1 == b.1);
        let mut groups_left = groups.clone().count();
        for group in groups {
            groups_left -= 1;
            let at = group[0].1;
            if let Some(file) = files.get(at) {
                let smallest = file.smallest_user_key();
                let is_in_file = |&i: &usize| user.compare_without_timestamp(slots.full(i), smallest).is_ge();
                let within: Vec<usize> = group.iter().map(|(i, _)| *i).filter(is_in_file).collect();
                let announces = together && (groups_left > 0 || !begun.is_empty());
                let asked = self.begin(level, file, &within, slots, announces);
                bytes += asked.as_ref().map_or(0, Asked::bytes_to_read);
                begun.push((at, within, asked));
            }
            if groups_left > 0 && together && bytes < UNDER_WAY_BYTES_MAX {
                continue;
            }
            bytes = 0;
            for (at, mut within, asked) in begun.drain(..) {
                let file = &files.as_slice()[at];
                if let Some(asked) = asked {
                    self.finish(level, file, asked, slots);
                }
                // Entries of the last key of a file may continue in the next file.
                let largest = file.largest_user_key();
                within.retain(|&i| {
                    !slots.list[i].answer.settled()
                        && user.compare_without_timestamp(slots.full(i), largest).is_ge()
                });
                next.extend(within.into_iter().map(|i| (i, at + 1)));
            }
        }
        next
    }

    /// Looks up the keys `within` the range of one SST file.
    fn ask(&self, level: Level, file: &Arc<TableFile>, within: &[usize], slots: &mut Slots<'_>) {
        let announces = self.options.optimize_multiget_for_io;
        if let Some(asked) = self.begin(level, file, within, slots, announces) {
            self.finish(level, file, asked, slots);
        }
    }

    /// Starts the lookup of the keys `within` the range of one SST file. Returns `None` if no key needs it. With
    /// `announces`, the reads of the file are started.
    fn begin<'s, 't>(
        &'t self,
        level: Level,
        file: &Arc<TableFile>,
        within: &[usize],
        slots: &mut Slots<'s>,
        announces: bool,
    ) -> Option<Asked<'s, 't>> {
        if within.is_empty() {
            return None;
        }
        base::invariant!(within.is_sorted(), "the keys of a MultiGet are not in order");
        let fail = |slots: &mut Slots<'_>, slots_failed: &[usize], error: Error| {
            slots_failed.iter().for_each(|&i| slots.list[i].answer.fail(error.clone()));
            None
        };
        if let Err(error) = self.reads.check_deadline(self.options) {
            return fail(slots, within, error);
        }
        let (within, mut rows) = self.replay(level, file, within, slots);
        if within.is_empty() {
            return None;
        }
        let reader = match self.reads.tables.get_for(&self.super_version.parts, level, file, self.ctx) {
            Ok(reader) => reader,
            Err(error) => return fail(slots, &within, error),
        };
        if let Some(fragments) = reader.tombstones()
            && (!self.options.ignore_range_deletions || !rows.is_empty())
        {
            let timestamp = self.options.timestamp.as_deref();
            for (at, &i) in within.iter().enumerate() {
                let slot = &mut slots.list[i];
                let tombstone = covering(fragments, slot.key, slot.answer.tombstone_seq(self.seq), timestamp);
                if let Some(Some(row)) = rows.get_mut(at) {
                    row.cover(tombstone);
                }
                if !self.options.ignore_range_deletions {
                    slot.answer.cover(tombstone);
                }
            }
        }
        if let Some(timestamp) = self.options.timestamp.as_deref()
            && self.reads.is_newer(self.super_version, file, timestamp, within.len() as u64)
        {
            return None;
        }
        // A range tombstone of this file may delete the key, and this file may still have a newer entry of the key.
        let list = within.into_owned();
        let keys: Vec<&[u8]> = list.iter().map(|&i| slots.seek_key(i)).collect();
        let before = blocks_read();
        match reader.begin_multi_get(&keys, self.ctx, announces) {
            Ok(begun) => {
                let read = difference(blocks_read(), before);
                Some(Asked { reader, list, keys, rows, begun, read })
            }
            Err(error) => {
                if let Some(tally) = &self.tally {
                    tally.asked(list.len(), before);
                }
                fail(slots, &list, error)
            }
        }
    }

    /// Answers keys from the row cache. Returns the keys that need the SST file, with their rows; without a row cache no rows. A row
    /// is `None` if the row cache cannot hold what the reader sees.
    fn replay<'k, 't>(
        &'t self,
        level: Level,
        file: &TableFile,
        within: &'k [usize],
        slots: &mut Slots<'_>,
    ) -> (Cow<'k, [usize]>, Vec<Option<Row<'t>>>) {
        // An error of another file can settle the answer.
        let open = |slots: &Slots<'_>, i: usize| !slots.list[i].answer.settled();
        let Some(row_cache) = &self.reads.row_cache else {
            let all = within.iter().all(|&i| open(slots, i));
            let list = if all {
                Cow::Borrowed(within)
            } else {
                within.iter().copied().filter(|&i| open(slots, i)).collect()
            };
            return (list, Vec::new());
        };
        let counted = self.super_version.parts.pick.read_triggered_compaction_threshold > 0.0;
        let (mut list, mut rows) = (Vec::new(), Vec::new());
        for &i in within {
            if !open(slots, i) {
                continue;
            }
            let full = slots.full(i);
            let slot = &mut slots.list[i];
            let row = row_cache.row(file, full, self.seq, slot.answer.certain_up_to(self.seq));
            match &row {
                Some(row) if row.replay(slot.key, self.options.ignore_range_deletions, &mut slot.answer) => {
                    slot.place = DecidedBy::Level(level);
                    if counted && !slot.answer.found() && sample::look_up() {
                        file.add_reads_sampled(sample::RATE);
                    }
                }
                _ => {
                    list.push(i);
                    rows.push(row);
                }
            }
        }
        (Cow::Owned(list), rows)
    }

    /// Ends the lookup that [`Table::begin`] started.
    fn finish(&self, level: Level, file: &Arc<TableFile>, asked: Asked<'_, '_>, slots: &mut Slots<'_>) {
        let Asked { reader, list: asked, keys, mut rows, begun, read } = asked;
        base::invariant!(
            asked.len() == keys.len() && (rows.is_empty() || rows.len() == keys.len()),
            "a file is asked for {} keys with {} rows of the row cache",
            keys.len(),
            rows.len()
        );
        let list = &mut slots.list;
        let before = difference(blocks_read(), read);
        let failed = reader.finish_multi_get(begun, &keys, self.ctx, |i, entry| {
            // Entries with older timestamps can be newer than the snapshot.
            if entry.sequence() > self.seq {
                return ControlFlow::Continue(());
            }
            let slot = &mut list[asked[i]];
            slot.place = DecidedBy::Level(level);
            match rows.get_mut(i) {
                Some(Some(row)) => slot.answer.recorded_entry(slot.key, entry, (&reader, self.ctx), row),
                _ => slot.answer.entry(slot.key, entry, &reader, self.ctx),
            }
        });
        for (i, row) in rows.into_iter().enumerate() {
            if let Some(row) = row.filter(|_| failed.iter().all(|(failed, _)| *failed != i)) {
                row.keep();
            }
        }
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

/// The running lookup of some keys in one SST file.
struct Asked<'s, 't> {
    reader: AnyReader,
    /// The slots of the keys.
    list: Vec<usize>,
    keys: Vec<&'s [u8]>,
    /// The rows of the keys for the row cache; without a row cache none.
    rows: Vec<Option<Row<'t>>>,
    begun: MultiGetBegun,
    /// The number of blocks that were read so far: index and filter blocks, and data blocks.
    read: (u64, u64),
}

impl Asked<'_, '_> {
    fn bytes_to_read(&self) -> usize {
        self.begun.bytes_to_read()
    }
}

/// Returns the indexes of the keys in the caller's list, in the order of the keys. Equal keys keep their order.
fn sorted(order: &Order, keys: &[&[u8]]) -> Vec<usize> {
    if !matches!(order, Order::Bytewise)
        || keys.first().is_some_and(|key| takes_slow_path(FastPath::KeyOrder, key))
    {
        let mut places: Vec<usize> = (0..keys.len()).collect();
        places.sort_by(|&a, &b| order.compare_stripped(keys[a], keys[b]));
        return places;
    }
    // The first 16 bytes decide nearly always, and they fit into a register.
    let head = |key: &[u8]| {
        let mut bytes = [0; 16];
        let len = key.len().min(16);
        bytes[..len].copy_from_slice(&key[..len]);
        u128::from_be_bytes(bytes)
    };
    let mut places: Vec<(u128, usize)> = keys.iter().map(|key| head(key)).zip(0..).collect();
    places.sort_unstable_by(|(a, at), (b, other)| {
        a.cmp(b).then_with(|| keys[*at].cmp(keys[*other])).then(at.cmp(other))
    });
    places.into_iter().map(|(_, place)| place).collect()
}
