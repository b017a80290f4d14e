//! Lookups that also return the timestamp of the newest entry of the key.
//!
//! The lookup of the value and the search of the timestamp read one super version at one sequence number. A get without
//! timestamp does not pay for the search. Facts: RocksDB `DB::Get` with a timestamp; a range tombstone counts as an entry.

use std::ops::ControlFlow;

use base::key::{SeekKey, SequenceNumber};
use base::stats::{OperationKind, PerfCounter, PerfTimer, Ticker, perf_add, perf_counting};
use base::{Level, Pinned, Result};
use env::clock::CpuTimer;

use super::answer::Answer;
use super::get::compare_oldest;
use super::get::{Call, Sought};
use super::{DecidedBy, Reads};
use crate::family::{Family, SuperVersion};
use crate::options::ReadOptions;
use crate::sequence::Visibility;
use crate::source::resolve::Found;

/// The newest entry of a key that a read sees.
#[derive(Clone, Debug)]
pub struct Stamped {
    /// The value; for an entity, its default column. `None` if the newest entry is a tombstone.
    pub value: Option<Pinned>,
    /// The timestamp of the newest entry, or of the range tombstone that deletes the key.
    pub timestamp: Vec<u8>,
}

/// What a search of the newest entry looks for.
struct Wanted<'a> {
    key: &'a [u8],
    /// The key with the timestamp to read at.
    full: &'a [u8],
    timestamp: &'a [u8],
    seq: SequenceNumber,
    visibility: Option<&'a Visibility>,
}

/// The newest entry and the newest range tombstone that were found so far.
#[derive(Default)]
struct Newest {
    entry: Option<(SequenceNumber, Vec<u8>)>,
    tombstone: Option<(SequenceNumber, Vec<u8>)>,
}

impl Newest {
    fn is_found(&self) -> bool {
        self.entry.is_some() || self.tombstone.is_some()
    }

    fn cover(&mut self, tombstone: Option<(SequenceNumber, &[u8])>) {
        if let Some((seq, timestamp)) = tombstone
            && self.tombstone.as_ref().is_none_or(|(newest, _)| *newest < seq)
        {
            self.tombstone = Some((seq, timestamp.to_vec()));
        }
    }

    /// Takes an entry if the reader sees the entry. The first such entry of a source is the newest.
    fn take(&mut self, seq: SequenceNumber, user_key: &[u8], wanted: &Wanted<'_>) -> ControlFlow<()> {
        if seq > wanted.seq || wanted.visibility.is_some_and(|visibility| !visibility.sees(seq)) {
            return ControlFlow::Continue(());
        }
        if self.entry.as_ref().is_none_or(|(newest, _)| *newest < seq) {
            let timestamp = base::key::timestamp(user_key, wanted.timestamp.len());
            self.entry = Some((seq, timestamp.to_vec()));
        }
        ControlFlow::Break(())
    }

    fn timestamp(self) -> Option<Vec<u8>> {
        let newest = match (self.entry, self.tombstone) {
            (Some((seq, timestamp)), Some((tombstone_seq, of_tombstone))) => {
                Some(match seq < tombstone_seq {
                    true => (tombstone_seq, of_tombstone),
                    false => (seq, timestamp),
                })
            }
            (entry, tombstone) => entry.or(tombstone),
        };
        newest.map(|(_, timestamp)| timestamp)
    }
}

impl Reads {
    /// Returns the value of `key` and the timestamp of its newest entry. `None` if the read sees no entry of the key, and no range
    /// tombstone over the key. Cost: two point lookups.
    ///
    /// In a column family without timestamps, the timestamp of each value is empty, as in RocksDB.
    ///
    /// # Errors
    /// The errors of [`Reads::get`]. InvalidArgument if `options` have a timestamp and the column family has none.
    pub fn get_stamped(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Option<Stamped>> {
        if !family.has_timestamps() {
            let value = self.get(family, key, options)?;
            return Ok(value.map(|value| Stamped { value: Some(value), timestamp: Vec::new() }));
        }
        let _cpu = CpuTimer::start(PerfCounter::GetCpuNanos);
        let began = self.stats.begin();
        let _operation = self.stats.slow.begin(OperationKind::Get);
        self.stats.trace.get(family.id(), key);
        let _look_up = self.stats.blocks.begin_look_up(options.snapshot.is_some());
        let super_version = family.pin();
        self.check(family, &super_version, options)?;
        let mut buffer = Vec::new();
        let full = self.full_key(key, options, &mut buffer);
        let (seq, visibility) = self.read_view(options);
        let wanted = Wanted {
            key,
            full,
            timestamp: options.timestamp.as_deref().unwrap_or_default(),
            seq,
            visibility: visibility.as_deref(),
        };
        let timestamp = self.newest_timestamp_of(&super_version, &wanted, options)?;
        let blobs = self.blobs(family, &super_version, options);
        let operator = super_version.parts.code.merge_operator.as_ref();
        let mut answer = Answer::new(operator, self.stats.statistics(), blobs);
        answer.see(visibility.clone());
        let place = match timestamp {
            Some(_) => {
                let sought = Sought { key, full, seq, options, call: Call::Get };
                self.walk(&super_version, sought, &mut answer)?
            }
            None => DecidedBy::Nowhere,
        };
        let _time = PerfTimer::start(PerfCounter::GetPostProcessTime);
        let found = answer.finish(key);
        if let Some(statistics) = self.stats.statistics() {
            self.count_get(statistics, place, &found, began);
        }
        if perf_counting() {
            let bytes = found.as_ref().map_or(0, |found| found.as_ref().map_or(0, Found::len));
            perf_add(PerfCounter::GetReadBytes, bytes as u64);
        }
        let value = found?.map(Found::into_plain).transpose()?;
        base::invariant!(
            value.is_none() || timestamp.is_some(),
            "a lookup with timestamp finds a value without an entry"
        );
        Ok(timestamp.map(|timestamp| Stamped { value, timestamp }))
    }

    /// Returns the timestamp of the newest entry. If no entry is found, counts the SST files whose oldest timestamp was compared:
    /// otherwise the lookup of the value counts the files.
    fn newest_timestamp_of(
        &self,
        super_version: &SuperVersion,
        wanted: &Wanted<'_>,
        options: &ReadOptions,
    ) -> Result<Option<Vec<u8>>> {
        let mut newest = Newest::default();
        let tombstone_seq = wanted.visibility.map_or(wanted.seq, Visibility::sequence);
        let deletes_ranges = !options.ignore_range_deletions;
        if self.reads_memtables(options) {
            for mem in std::iter::once(&super_version.mem).chain(super_version.imm.iter()) {
                if deletes_ranges && mem.has_range_tombstones() {
                    let tombstones = mem.range_tombstones();
                    newest.cover(tombstones.max_covering_at(wanted.key, tombstone_seq, wanted.timestamp));
                }
                mem.get(wanted.full, wanted.seq, |entry| newest.take(entry.seq, entry.user_key, wanted))?;
                if newest.is_found() {
                    return Ok(newest.timestamp());
                }
            }
        }
        let ctx = self.ctx(options);
        let seek_key = SeekKey::new(wanted.full, wanted.seq);
        let mut level_before = Level::ZERO;
        let (mut checked, mut filtered) = (0, 0);
        for (level, file) in super_version.version.candidates(wanted.full, wanted.seq) {
            // Two SST files of one level can have entries of the key.
            if newest.is_found() && (level == Level::ZERO || level != level_before) {
                break;
            }
            level_before = level;
            self.check_deadline(options)?;
            let reader = self.tables.get_for(&super_version.parts, level, file, &ctx)?;
            if let Some(fragments) = reader.tombstones()
                && deletes_ranges
            {
                newest.cover(fragments.max_covering_at(wanted.key, tombstone_seq, wanted.timestamp));
            }
            if let Some(is_newer) = compare_oldest(super_version, file, wanted.timestamp) {
                checked += 1;
                filtered += u64::from(is_newer);
                if is_newer {
                    continue;
                }
            }
            reader
                .get(seek_key.bytes(), &ctx, |entry| newest.take(entry.sequence(), entry.user_key, wanted))?;
        }
        if !newest.is_found() {
            self.stats.add(Ticker::TimestampFilterTableChecked, checked);
            self.stats.add(Ticker::TimestampFilterTableFiltered, filtered);
        }
        Ok(newest.timestamp())
    }
}
