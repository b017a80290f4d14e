//! Column families with timestamps: single writes and reads at a timestamp, snapshots, SST files with timestamps, the low mark of
//! the history, and an open that removes the newest history.
//!
//! The model keeps the value of each key after each change, with the timestamp of the change. The timestamps of a key never fall.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;

use format::wide::{self, Column};
use ironstone::{
    Db, Family, FamilyDescriptor, FlushOptions, IngestExternalFileOptions, Kind, Options, ReadOptions,
    Snapshot, SstFileWriter, ValueType, WriteBatch, WriteBatchWithIndex, WriteOptions,
};
use testkit::chance::Chance;

use super::{FAMILIES, Setting, World, same, told, value, walk};

/// The values of a key by the time of the change, in the order of the changes. `None` is a deletion.
type Versions = Vec<(u64, Option<Vec<u8>>)>;

/// The history of one column family.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    keys: BTreeMap<Vec<u8>, Versions>,
}

impl History {
    /// Notes a change of a key. `None`: the key was deleted.
    pub(super) fn set(&mut self, key: &[u8], at: u64, value: Option<Vec<u8>>) {
        self.keys.entry(key.to_vec()).or_default().push((at, value));
    }

    /// Returns the newest change that a reader at `at` sees.
    pub(super) fn newest(&self, key: &[u8], at: u64) -> Option<&(u64, Option<Vec<u8>>)> {
        self.keys.get(key)?.iter().rev().find(|(changed, _)| *changed <= at)
    }

    /// Returns the timestamps of the changes of a key.
    pub(super) fn times(&self, key: &[u8]) -> Vec<u64> {
        self.keys.get(key).into_iter().flatten().map(|(time, _)| *time).collect()
    }

    fn get(&self, key: &[u8], at: u64) -> Option<Vec<u8>> {
        self.newest(key, at)?.1.clone()
    }

    fn append(&mut self, key: &[u8], at: u64, operand: &[u8]) {
        let before = self.get(key, u64::MAX);
        let value = before.map_or_else(|| operand.to_vec(), |before| [&before, &b","[..], operand].concat());
        self.set(key, at, Some(value));
    }

    fn delete_range(&mut self, begin: &[u8], end: &[u8], at: u64) {
        let inside = self.keys.iter_mut().filter(|(key, _)| begin <= &key[..] && &key[..] < end);
        inside.for_each(|(_, versions)| versions.push((at, None)));
    }

    /// Removes the changes after `at`.
    fn trim(&mut self, at: u64) {
        self.keys.values_mut().for_each(|versions| versions.retain(|(changed, _)| *changed <= at));
    }

    /// Returns the rows that a reader at `at` sees.
    pub(super) fn rows(&self, at: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.keys.keys().filter_map(|key| Some((key.clone(), self.get(key, at)?))).collect()
    }
}

/// A database whose keys have timestamps, and its model.
pub(super) struct Stamped {
    options: Options,
    descriptors: Vec<FamilyDescriptor>,
    db: Option<Db>,
    families: Vec<Family>,
    state: Vec<History>,
    /// The time of the newest write.
    now: u64,
    /// `full_history_ts_low` of each column family. Reads below it are rejected.
    lows: Vec<u64>,
    moments: Vec<(Snapshot, Vec<History>)>,
    made: u64,
}

/// Returns the timestamp as the keys store it.
pub(super) fn stamp(at: u64) -> [u8; 8] {
    at.to_le_bytes()
}

fn key(chance: &mut Chance) -> Vec<u8> {
    format!("key{:02}", chance.below(30)).into_bytes()
}

/// Returns options that read all prefixes at `at`.
pub(super) fn reading(at: u64, options: ReadOptions) -> ReadOptions {
    ReadOptions { timestamp: Some(stamp(at).to_vec()), total_order_seek: true, ..options }
}

/// Fails unless a call was rejected with this kind.
pub(super) fn rejected<T: std::fmt::Debug>(
    what: &str,
    kind: Kind,
    found: ironstone::Result<T>,
) -> Result<(), String> {
    match found {
        Err(error) if error.kind() == kind => Ok(()),
        other => Err(format!("{what}: {other:?} and not {kind:?}")),
    }
}

impl Stamped {
    /// Opens the database. Replaces options that timestamps do not allow.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting) -> Result<Stamped, String> {
        let mut options = setting.options.clone();
        options
            .update("comparator=leveldb.BytewiseComparator.u64ts;inplace_update_support=false;enable_blob_direct_write=false")
            .map_err(told("options"))?;
        let descriptor = |name: &&str| FamilyDescriptor::new(*name, options.family.clone());
        let descriptors = FAMILIES.iter().map(descriptor).collect();
        let state = vec![History::default(); FAMILIES.len()];
        let (lows, families, moments) = (vec![0; FAMILIES.len()], Vec::new(), Vec::new());
        let mut world =
            Stamped { options, descriptors, db: None, families, state, now: 1, lows, moments, made: 0 };
        let opened = Db::open_with_families("/db", world.options.clone(), world.descriptors.clone());
        world.opened(opened.map_err(told("open"))?)?;
        Ok(world)
    }

    fn opened(&mut self, db: Db) -> Result<(), String> {
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
        self.families = families.map_err(told("family"))?;
        for (family, low) in self.families.iter().zip(&self.lows) {
            same("size of a timestamp", &family.timestamp_size(), &8)?;
            let expected = (*low > 0).then(|| stamp(*low).to_vec());
            same("full_history_ts_low", &family.full_history_ts_low(), &expected)?;
        }
        self.db = Some(db);
        Ok(())
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    /// Writes with one call for each change, or with a batch.
    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.now += chance.below(3);
        let (at, now) = (chance.below(2) as usize, self.now);
        let (family, history) = (&self.families[at], &mut self.state[at]);
        let (key, ts, options) = (key(chance), stamp(now), WriteOptions::default());
        match chance.below(10) {
            0..4 => {
                let value = value(chance);
                family.put_with_ts(&key, &ts, &value, &options).map_err(told("put_with_ts"))?;
                history.set(&key, now, Some(value));
            }
            4 => {
                family.delete_with_ts(&key, &ts, &options).map_err(told("delete_with_ts"))?;
                history.set(&key, now, None);
            }
            5 => {
                family.merge_with_ts(&key, &ts, b"more", &options).map_err(told("merge_with_ts"))?;
                history.append(&key, now, b"more");
            }
            6 => {
                // A single deletion is defined if the key was put once since the last deletion.
                let once = [&b"once "[..], &key].concat();
                if history.get(&once, u64::MAX).is_none() {
                    family.put_with_ts(&once, &ts, b"1", &options).map_err(told("put_with_ts"))?;
                    history.set(&once, now, Some(b"1".to_vec()));
                } else {
                    let done = family.single_delete_with_ts(&once, &ts, &options);
                    done.map_err(told("single_delete_with_ts"))?;
                    history.set(&once, now, None);
                }
            }
            7 => {
                let other = self::key(chance);
                let (begin, end) = (key.clone().min(other.clone()), key.max(other));
                let done = family.delete_range_with_ts(&begin, &end, &ts, &options);
                done.map_err(told("delete_range_with_ts"))?;
                history.delete_range(&begin, &end, now);
            }
            8 => {
                self.write_batch(&key, &ts, chance)?;
                let all = self.state.iter_mut();
                all.for_each(|history| history.set(&key, now, Some(b"in a batch".to_vec())));
            }
            _ => {
                rejected("put without a timestamp", Kind::InvalidArgument, family.put(&key, b"v"))?;
                let short = family.put_with_ts(&key, b"short", b"v", &options);
                rejected("put with a short timestamp", Kind::InvalidArgument, short)?;
            }
        }
        Ok(())
    }

    /// Writes the key to each column family, with one batch. The batch can get its timestamps last.
    fn write_batch(&self, key: &[u8], ts: &[u8], chance: &mut Chance) -> Result<(), String> {
        let (db, value, mut batch) = (self.db(), &b"in a batch"[..], WriteBatch::new());
        match chance.below(3) {
            0 => {
                let (mut entity, is_entity) = (Vec::new(), chance.percent(50));
                let columns = [Column::inline(b"", value), Column::inline(b"other", b"column")];
                wide::encode(&columns, &mut entity).map_err(told("an entity"))?;
                for family in &self.families {
                    match is_entity {
                        true => batch.put_encoded_entity_at(family.id(), key, ts, &entity),
                        false => batch.put_at(family.id(), key, ts, value),
                    };
                }
            }
            1 => {
                for family in &self.families {
                    batch.put_at(family.id(), key, &[0; 8], value);
                    batch.expect_timestamp(family.id(), 8);
                }
                rejected("a batch without timestamps", Kind::InvalidArgument, db.write(&mut batch))?;
                let short = batch.update_timestamps(b"short", |_| 8);
                rejected("short timestamps of a batch", Kind::InvalidArgument, short)?;
                batch.update_timestamps(ts, |_| 8).map_err(told("update_timestamps"))?;
            }
            _ => {
                let mut indexed = WriteBatchWithIndex::new();
                for family in &self.families {
                    indexed.put_in(family, key, value).map_err(told("put_in of an indexed batch"))?;
                }
                let early = indexed.write(db, &WriteOptions::default());
                rejected("an indexed batch without timestamps", Kind::InvalidArgument, early)?;
                indexed.update_timestamps(ts, |_| 8).map_err(told("update_timestamps"))?;
                return indexed
                    .write(db, &WriteOptions::default())
                    .map_err(told("write of an indexed batch"));
            }
        }
        db.write(batch).map_err(told("write"))
    }

    /// Draws a time at which column family `at` can be read.
    fn time(&self, at: usize, chance: &mut Chance) -> u64 {
        match chance.below(4) {
            0 => u64::MAX,
            1 => self.now,
            _ => self.lows[at] + chance.below(self.now + 2 - self.lows[at]),
        }
    }

    fn read(&self, chance: &mut Chance) -> Result<(), String> {
        let family_at = chance.below(2) as usize;
        let at = self.time(family_at, chance);
        let moment = chance.percent(40).then(|| chance.below(3) as usize).and_then(|n| self.moments.get(n));
        let (options, state) = match moment {
            Some((snapshot, state)) => (snapshot.options(), state),
            None => (ReadOptions::default(), &self.state),
        };
        let (family, history) = (&self.families[family_at], &state[family_at]);
        let (options, low) = (reading(at, options), self.lows[family_at]);
        let what = |call: &str| format!("{call} at {at}, low {low}, in a snapshot {}", moment.is_some());
        for _ in 0..4 {
            let mut key = key(chance);
            if chance.percent(20) {
                key.splice(0..0, *b"once ");
            }
            let expected = history.get(&key, at);
            let found = family.get_with(&key, &options).map_err(told("get_with"))?;
            same(&what("get_with"), &found.map(|value| value.to_vec()), &expected)?;
            let found = family.get_with_ts(&key, &options).map_err(told("get_with_ts"))?;
            let value = found.as_ref().and_then(|found| found.value.as_ref()).map(|value| value.to_vec());
            same(&what("value of get_with_ts"), &value, &expected)?;
            // A compaction sets timestamps below the low mark to zero.
            if let (Some(found), Some((changed, Some(_)))) = (&found, history.newest(&key, at))
                && found.timestamp != stamp(*changed)
                && !(*changed < low && found.timestamp == stamp(0))
            {
                return Err(format!("{}: {:?} and not {changed}", what("timestamp"), found.timestamp));
            }
        }
        let keys: Vec<Vec<u8>> = (0..chance.below(8)).map(|_| key(chance)).collect();
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (key, found) in keys.iter().zip(family.multi_get_with(&wanted, &options)) {
            let found = found.map_err(told("multi_get_with"))?.map(|value| value.to_vec());
            same(&what("multi_get_with"), &found, &history.get(key, at))?;
        }
        let mut iter = family.iter_with(options).map_err(told("iter_with"))?;
        walk(&what("iter_with"), &mut iter, &history.rows(at), chance)
    }

    /// Shows each entry with a timestamp from `from` to `to`. Entries that a later deletion deletes may be missing.
    fn read_entries(&self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let from = self.lows[at] + chance.below(self.now + 2 - self.lows[at]);
        let to = from + chance.below(self.now + 2 - from);
        let options =
            ReadOptions { iter_start_ts: Some(stamp(from).to_vec()), ..reading(to, ReadOptions::default()) };
        let mut iter = self.families[at].iter_with(options).map_err(told("iter_with"))?;
        let (forward, mut shown) = (chance.percent(60), Vec::new());
        if forward {
            iter.seek_to_first()
        } else {
            iter.seek_to_last()
        }
        while iter.valid() {
            let time = iter.timestamp().iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            let value = (iter.value_type() == Some(ValueType::Value)).then(|| iter.value().to_vec());
            shown.push((iter.key().to_vec(), Reverse(time), value));
            if forward { iter.next() } else { iter.prev() }
        }
        iter.status().map_err(told("entries"))?;
        if !forward {
            shown.reverse();
        }
        let what = |rule: &str| format!("entries from {from} to {to}, forward {forward}: {rule}");
        let in_order = shown.is_sorted_by(|a, b| (&a.0, a.1) <= (&b.0, b.1));
        same(&what("in order"), &in_order, &true)?;
        let history = &self.state[at];
        let is_known =
            |key: &[u8], time: u64| (from..=to).contains(&time) && history.times(key).contains(&time);
        let unknown = shown.iter().find(|(key, Reverse(time), _)| !is_known(key, *time));
        same(&what("an entry that no write made"), &unknown, &None)?;
        for (key, versions) in &history.keys {
            let seen: Vec<_> = versions.iter().filter(|(time, _)| (from..=to).contains(time)).collect();
            for (at, (time, value)) in seen.iter().enumerate() {
                let (Some(value), later) = (value, &seen[at + 1..]) else { continue };
                if later.iter().any(|(next, value)| next == time || value.is_none()) {
                    continue;
                }
                let found = shown.iter().find(|(shown, Reverse(at), _)| shown == key && at == time);
                let Some((_, _, found)) = found else {
                    return Err(what(&format!("{key:02x?} at {time} is missing")));
                };
                if let Some(found) = found {
                    same(&what("value"), found, value)?;
                }
            }
        }
        Ok(())
    }

    /// Raises the low mark of the history, and reads below it.
    fn raise(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let family = &self.families[at];
        if self.lows[at] > 0 {
            let lower = family.increase_full_history_ts_low(&stamp(self.lows[at] - 1));
            rejected("a lower full_history_ts_low", Kind::InvalidArgument, lower)?;
        }
        if chance.percent(40) {
            let low = (self.lows[at] + chance.below(self.now + 1 - self.lows[at])).max(1);
            let done = family.increase_full_history_ts_low(&stamp(low));
            done.map_err(told("increase_full_history_ts_low"))?;
            self.lows[at] = low;
            same("full_history_ts_low", &family.full_history_ts_low(), &Some(stamp(low).to_vec()))?;
        }
        if self.lows[at] > 0 {
            let options = reading(self.lows[at] - 1, ReadOptions::default());
            let found = family.get_with(b"key00", &options).map(|_| ());
            rejected("get below the low mark", Kind::InvalidArgument, found)?;
            let found = family.iter_with(options).map(|_| ());
            rejected("iterator below the low mark", Kind::InvalidArgument, found)?;
        }
        rejected("newest_timestamp", Kind::NotSupported, family.newest_timestamp())
    }

    /// Ingests an SST file with keys above all keys of the column family. A file may not overlap a column family with timestamps.
    fn ingest(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.made += 1;
        self.now += 1;
        let (at, now) = (chance.below(2) as usize, self.now);
        let path = PathBuf::from(format!("/external{}.sst", self.made));
        let family = &self.families[at];
        let mut writer = SstFileWriter::create(&path, &self.options.db, &family.options())
            .map_err(told("create of an SST file"))?;
        let name = |part: u64| format!("sst{:04} {part:02}", self.made).into_bytes();
        let mut changes = Vec::new();
        for part in 0..1 + chance.below(6) {
            if chance.percent(20) {
                writer.delete_with_ts(&name(part), &stamp(now)).map_err(told("delete_with_ts of a file"))?;
                changes.push((name(part), None));
            } else {
                let value = value(chance);
                let done = writer.put_with_ts(&name(part), &stamp(now), &value);
                done.map_err(told("put_with_ts of a file"))?;
                changes.push((name(part), Some(value)));
            }
        }
        let ranges = chance.below(2);
        if ranges > 0 {
            let done = writer.delete_range_with_ts(&name(80), &name(90), &stamp(now));
            done.map_err(told("delete_range_with_ts of a file"))?;
        }
        rejected("put without a timestamp", Kind::InvalidArgument, writer.put(&name(99), b"v"))?;
        let info = writer.finish().map_err(told("finish of an SST file"))?;
        let counts = (info.num_entries, info.num_range_del_entries);
        same("entries of the SST file", &counts, &(changes.len() as u64, ranges))?;
        let done = family.ingest_external_files([&path], &IngestExternalFileOptions::default());
        done.map_err(told("ingestion"))?;
        changes.into_iter().for_each(|(key, value)| self.state[at].set(&key, now, value));
        Ok(())
    }

    /// Opens the database again. May remove the newest history.
    fn reopen(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.moments.clear();
        self.families.clear();
        self.db().close().map_err(told("close"))?;
        self.db = None;
        let mut options = self.options.clone();
        let opened = if chance.percent(60) {
            let low = self.lows.iter().copied().max().unwrap_or(0);
            let at = low + chance.below(self.now + 1 - low);
            let trim = |options: &Options| {
                let descriptors = self.descriptors.clone();
                Db::open_and_trim_history("/db", options.clone(), descriptors, &stamp(at))
            };
            options.db.avoid_flush_during_recovery = true;
            rejected("trim without a flush", Kind::InvalidArgument, trim(&options).map(drop))?;
            options.db.avoid_flush_during_recovery = false;
            let opened = trim(&options);
            self.state.iter_mut().for_each(|history| history.trim(at));
            opened.map_err(|error| format!("open_and_trim_history at {at}: {error}"))?
        } else {
            let opened = Db::open_with_families("/db", options, self.descriptors.clone());
            opened.map_err(told("open again"))?
        };
        self.opened(opened)
    }

    fn flush(&self, chance: &mut Chance) -> Result<(), String> {
        let options = FlushOptions {
            wait: chance.percent(70),
            allow_write_stall: chance.percent(50),
            force_atomic_flush: chance.percent(20),
            ..FlushOptions::default()
        };
        match self.families[chance.below(2) as usize].flush_with(&options) {
            // A flush that does not wait is rejected while writes are stopped.
            Err(error) if !options.wait && error.kind() == Kind::TryAgain => Ok(()),
            done => done.map_err(told("flush_with")),
        }
    }
}

impl World for Stamped {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..55 => self.write(chance),
            55..68 => self.read(chance),
            68..72 => self.read_entries(chance),
            72..77 => self.raise(chance),
            77..80 => self.ingest(chance),
            80..84 => {
                if self.moments.len() == 3 {
                    self.moments.remove(0);
                }
                self.moments.push((self.db().snapshot(), self.state.clone()));
                Ok(())
            }
            84..91 => self.flush(chance),
            91..95 => {
                let family = &self.families[chance.below(2) as usize];
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))
            }
            95..97 => self.reopen(chance),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        for ((family, history), low) in self.families.iter().zip(&self.state).zip(&self.lows) {
            for at in [*low, (*low + self.now) / 2, u64::MAX] {
                let mut iter =
                    family.iter_with(reading(at, ReadOptions::default())).map_err(told("iter_with"))?;
                let mut found = Vec::new();
                iter.seek_to_first();
                while iter.valid() {
                    found.push((iter.key().to_vec(), iter.value().to_vec()));
                    iter.next();
                }
                iter.status().map_err(told("scan"))?;
                same(&format!("rows of {} at {at}", family.name()), &found, &history.rows(at))?;
            }
        }
        Ok(())
    }
}
