//! Calls with rare options: reads, writes, flushes and compactions that are limited, charged, canceled or redirected.
//!
//! ```text
//!  reads        limits of entries, operands and time; range tombstones ignored; iterators that follow the super version
//!  writes       a low priority, charges to the rate limiter, checksums of entries; rejected values change nothing
//!  flushes      the listener knows the flush before the call returns
//!  compactions  the path and the temperature of the output, canceled calls, garbage of blob files
//!  waits        a pause, a time limit, a close after the wait
//! ```
//! A database has two paths. No automatic compaction runs in one seed of two, so that the files of a call are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base::Level;
use ironstone::env::{IoPriority, Mode, RateLimiter, RateOptions};
use ironstone::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactRangeOptions, CompactionOptions, Db,
    DbPath, Event, Family, FlushOptions, Iter, Kind, Listener, Options, ReadOptions,
    SizeApproximationOptions, Subcode, Temperature, WaitForCompactOptions, WriteBatch, WriteOptions,
};
use testkit::chance::Chance;

use super::indexed::rows_equal;
use super::overlay::{Key, State};
use super::{FAMILIES, Setting, World, key, same, told, value};

/// The second path of the database.
const SECOND: &str = "/second";

/// A limit of entries that no move reaches.
const MANY: u64 = 1 << 40;

/// Counts the flushes that end.
#[derive(Default)]
struct Flushes(AtomicU64);

impl Listener for Flushes {
    fn on_event(&self, event: &Event) {
        if matches!(event, Event::FlushFinished(_)) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A database with a rate limiter and two paths, and its model.
pub(super) struct Limited {
    options: Options,
    limiter: Arc<RateLimiter>,
    flushes: Arc<Flushes>,
    db: Option<Db>,
    families: Vec<Family>,
    state: State,
    /// All values that each key had at any time. A read without range tombstones may return such a value.
    older: BTreeMap<Key, BTreeSet<Vec<u8>>>,
    /// The number of merge operands of each key since its newest put or deletion.
    operands: BTreeMap<Key, usize>,
    /// The keys that had a merge operand at any time.
    merged: BTreeSet<Key>,
    /// The number of written entries.
    entries: u64,
}

impl Limited {
    /// Opens the database.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Limited, String> {
        let mut options = setting.options.clone();
        options
            .update("inplace_update_support=false;avoid_flush_during_shutdown=false")
            .map_err(told("options"))?;
        if (seed / super::WORLDS).is_multiple_of(2) {
            options.update("disable_auto_compactions=true").map_err(told("options"))?;
        }
        let rate = RateOptions { mode: Mode::AllIo, ..RateOptions::new(1 << 30) };
        let limiter = RateLimiter::new(rate, options.db.env.clock.clone()).map_err(told("rate limiter"))?;
        let (limiter, flushes) = (Arc::new(limiter), Arc::new(Flushes::default()));
        options.db.rate_limiter = Some(limiter.clone());
        options.listeners.push(flushes.clone());
        options.db.db_paths =
            ["/db", SECOND].map(|path| DbPath { path: path.into(), target_size: 1 << 40 }).into();
        let state = vec![Default::default(); FAMILIES.len()];
        let (older, operands, merged) = Default::default();
        let mut world = Limited {
            options,
            limiter,
            flushes,
            db: None,
            families: Vec::new(),
            state,
            older,
            operands,
            merged,
            entries: 0,
        };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let (db, families) = super::open(&self.options, super::families(&self.options))?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn family(&self, chance: &mut Chance) -> Family {
        self.families[chance.below(2) as usize].clone()
    }

    /// Returns true if a write may have no WAL record. Other databases reject such a write.
    fn may_skip_wal(&self) -> bool {
        self.options.db.recycle_log_file_num == 0 && !self.options.family.enable_blob_direct_write
    }

    /// Writes a batch with drawn options.
    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let priorities = [None, None, Some(IoPriority::User), Some(IoPriority::Total), Some(IoPriority::Low)];
        let options = WriteOptions {
            low_pri: chance.percent(30),
            memtable_insert_hint_per_batch: chance.percent(30),
            protection_bytes_per_key: *chance.pick(&[0, 0, 0, 8, 8, 4]),
            rate_limiter_priority: *chance.pick(&priorities),
            disableWAL: self.may_skip_wal() && chance.percent(5),
            ..WriteOptions::default()
        };
        let is_charged = options.rate_limiter_priority == Some(IoPriority::User);
        let has_record = !options.disableWAL && !self.options.db.manual_wal_flush;
        let rejected = options.protection_bytes_per_key == 4
            || options.rate_limiter_priority == Some(IoPriority::Low)
            || is_charged && !has_record;
        let (mut batch, mut next, mut bytes) = (WriteBatch::new(), self.state.clone(), 0);
        let (mut values, mut merged, mut operands) = (Vec::new(), BTreeSet::new(), self.operands.clone());
        for _ in 0..1 + chance.below(6) {
            let (key, value) = (Key::draw(chance), value(chance));
            let (id, model) = (self.families[key.family].id(), &mut next[key.family]);
            bytes += key.bytes.len() as i64;
            match chance.below(20) {
                0..11 => {
                    batch.put_in(id, &key.bytes, &value);
                    model.put(&key.bytes, &value);
                    operands.insert(key.clone(), 0);
                }
                11..15 => {
                    batch.delete_in(id, &key.bytes);
                    model.delete(&key.bytes);
                    operands.insert(key.clone(), 0);
                }
                15..18 => {
                    batch.merge_in(id, &key.bytes, b"operand");
                    model.append(&key.bytes, b"operand");
                    merged.insert(key.clone());
                    *operands.entry(key.clone()).or_default() += 1;
                }
                _ => {
                    let end = super::key(chance);
                    let (begin, end) = (key.bytes.clone().min(end.clone()), key.bytes.clone().max(end));
                    batch.delete_range_in(id, &begin, &end);
                    model.delete_range(&begin, &end);
                    let inside =
                        |other: &Key| other.family == key.family && begin <= other.bytes && other.bytes < end;
                    operands.retain(|key, _| !inside(key));
                }
            }
            let new = model.get(&key.bytes).map(<[u8]>::to_vec);
            values.extend(new.map(|new| (key, new)));
        }
        let before = self.limiter.total_bytes_through(IoPriority::User);
        let done = self.db().write_with(batch, &options);
        if rejected {
            let kind = done.map_err(|error| error.kind());
            let accepted = [Err(Kind::InvalidArgument), Err(Kind::NotSupported)];
            return same(&format!("rejected by {options:?}: {kind:?}"), &accepted.contains(&kind), &true);
        }
        done.map_err(told("write"))?;
        let charged = self.limiter.total_bytes_through(IoPriority::User) - before;
        if is_charged {
            same("the WAL record is charged", &(charged >= bytes), &true)?;
        }
        self.entries += 6;
        (self.state, self.operands) = (next, operands);
        self.merged.append(&mut merged);
        for (key, value) in values {
            self.older.entry(key).or_default().insert(value);
        }
        Ok(())
    }

    /// Reads one key with drawn options.
    fn get(&self, chance: &mut Chance) -> Result<(), String> {
        let key = Key::draw(chance);
        let family = &self.families[key.family];
        let expected = self.state[key.family].get(&key.bytes);
        let most = chance.below(4) as usize;
        let options = ReadOptions {
            io_timeout: Duration::from_secs(*chance.pick(&[0, 3600])),
            rate_limiter_priority: *chance.pick(&[None, Some(IoPriority::User), Some(IoPriority::Low)]),
            merge_operand_count_threshold: chance.percent(50).then_some(most),
            fill_cache: chance.percent(50),
            ..ReadOptions::default()
        };
        let before = self.limiter.total_bytes_through(IoPriority::Total);
        let found = family.get_answered(&key.bytes, &options).map_err(told("get_answered"))?;
        let charged = self.limiter.total_bytes_through(IoPriority::Total) - before;
        same("get_answered", &found.value.as_deref(), &expected)?;
        if options.rate_limiter_priority.is_none() {
            same("a read without a priority is charged", &charged, &0)?;
        }
        // A flush or a compaction may have merged operands before.
        let operands = self.operands.get(&key).copied().unwrap_or(0);
        let told_of = found.subcode == Subcode::MergeOperandThresholdExceeded;
        let may = options.merge_operand_count_threshold.is_some_and(|most| operands > most);
        same("more operands than the limit", &(told_of && !may), &false)?;
        // No flush merged operands, and no write did.
        let are_all_there = family.live_files().is_empty() && self.options.family.max_successive_merges == 0;
        if are_all_there && may && expected.is_some() {
            same("told of the operands", &told_of, &true)?;
        }
        let bare = ReadOptions { ignore_range_deletions: true, ..ReadOptions::default() };
        let found = family.get_with(&key.bytes, &bare).map_err(told("get without range tombstones"))?;
        let found = found.as_deref();
        let is_known = |value: &[u8]| self.older.get(&key).is_some_and(|older| older.contains(value));
        // An operand on a deleted value gives a value that no other read returns.
        let is_allowed = found == expected || self.merged.contains(&key) || found.is_some_and(is_known);
        same("a value that the key never had", &is_allowed, &true)
    }

    /// Moves iterators with drawn options.
    fn scan(&self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let family = &self.families[at];
        let limit = *chance.pick(&[0, 1, 2, 5, MANY]);
        let options = ReadOptions {
            max_skippable_internal_keys: limit,
            io_timeout: Duration::from_secs(*chance.pick(&[0, 3600])),
            rate_limiter_priority: *chance.pick(&[None, Some(IoPriority::User)]),
            total_order_seek: true,
            allow_unprepared_value: chance.percent(30),
            ..ReadOptions::default()
        };
        let is_unprepared = options.allow_unprepared_value;
        let mut iter = family.iter_with(options).map_err(told("iter"))?;
        let forward = chance.percent(60);
        let mut rows = self.state[at].rows();
        if forward {
            iter.seek_to_first();
        } else {
            iter.seek_to_last();
            rows.reverse();
        }
        let mut seen = 0;
        for (key, value) in &rows {
            if !iter.valid() {
                break;
            }
            seen += 1;
            if is_unprepared {
                same("prepare_value", &iter.prepare_value(), &true)?;
            }
            same("a row", &(iter.key(), iter.value()), &(&key[..], &value[..]))?;
            if forward { iter.next() } else { iter.prev() }
        }
        match iter.status() {
            Ok(()) => same("rows, and a row after the last", &(seen, iter.valid()), &(rows.len(), false)),
            Err(error) if error.kind() == Kind::Incomplete && limit > 0 && limit < self.entries => Ok(()),
            Err(error) => Err(format!("a scan with the limit {limit}: {error}")),
        }
    }

    /// Scans a snapshot while the database is written, flushed and compacted. The iterator follows the super version.
    fn follow(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let snapshot = self.db().snapshot();
        let options = ReadOptions {
            auto_refresh_iterator_with_snapshot: true,
            total_order_seek: true,
            ..snapshot.options()
        };
        let mut iter = self.families[at].iter_with(options).map_err(told("iter"))?;
        let (forward, mut rows) = (chance.percent(50), self.state[at].rows());
        if forward {
            iter.seek_to_first();
        } else {
            iter.seek_to_last();
            rows.reverse();
        }
        for row in &rows {
            let found = show(&iter)?;
            same("a row of the snapshot", &found, &Some(row.clone()))?;
            match chance.below(12) {
                0 | 1 => self.write(chance)?,
                2 => self.flush(chance)?,
                3 => self.compact(chance)?,
                _ => {}
            }
            if forward { iter.next() } else { iter.prev() }
        }
        same("the end of the snapshot", &show(&iter)?, &None)
    }

    /// Flushes a column family. The listener knows the flush when the call returns.
    fn flush(&mut self, chance: &mut Chance) -> Result<(), String> {
        let family = self.family(chance);
        let entries = family.int_property("rocksdb.num-entries-active-mem-table").unwrap_or(0);
        let before = self.flushes.0.load(Ordering::Relaxed);
        let options = FlushOptions {
            listener_wait: chance.percent(70),
            allow_write_stall: true,
            ..FlushOptions::default()
        };
        family.flush_with(&options).map_err(told("flush"))?;
        let told_of = self.flushes.0.load(Ordering::Relaxed) > before;
        // A memtable whose flush became a memtable again is no finished flush.
        if options.listener_wait && entries > 0 && self.options.family.experimental_mempurge_threshold == 0.0
        {
            same("the listener knows the flush", &told_of, &true)?;
        }
        Ok(())
    }

    /// Compacts a column family, with a path, a rule for garbage, or a flag that cancels the call.
    fn compact(&mut self, chance: &mut Chance) -> Result<(), String> {
        let family = self.family(chance);
        let is_canceled = chance.percent(15);
        let policy = *chance.pick(&[
            BlobGarbageCollectionPolicy::UseDefault,
            BlobGarbageCollectionPolicy::Force,
            BlobGarbageCollectionPolicy::Disable,
        ]);
        let options = CompactRangeOptions {
            target_path_id: *chance.pick(&[0, 1, 1, 2]),
            blob_garbage_collection_policy: policy,
            blob_garbage_collection_age_cutoff: *chance.pick(&[-1.0, 0.5, 1.0]),
            canceled: (is_canceled || chance.percent(30)).then(|| Arc::new(AtomicBool::new(is_canceled))),
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        let before: BTreeSet<_> = family.live_files().into_iter().map(|file| file.number).collect();
        let done = family.compact_range(None, None, &options);
        let path = ["/db", SECOND].get(options.target_path_id as usize);
        let (Some(path), false) = (path, is_canceled) else {
            let kind = done.map_err(|error| error.kind());
            let expected = [Err(Kind::Incomplete), Err(Kind::InvalidArgument)];
            return same(&format!("{options:?}: {kind:?}"), &expected.contains(&kind), &true);
        };
        done.map_err(told("compact_range"))?;
        let files = family.live_files();
        let last = files.iter().map(|file| file.level).max().unwrap_or(Level::ZERO);
        let new = files.iter().filter(|file| !before.contains(&file.number) && file.level == last);
        let elsewhere = new.into_iter().find(|file| last > Level::ZERO && !file.path.starts_with(path));
        if self.options.family.disable_auto_compactions {
            same("an output in another path", &elsewhere, &None)?;
        }
        rows_equal(&self.families, &self.state).map_err(|words| format!("after {options:?}: {words}"))
    }

    /// Compacts all files of a column family to its last level, with a limit and a temperature of the output files.
    fn compact_files(&mut self, chance: &mut Chance) -> Result<(), String> {
        let family = self.family(chance);
        let files: Vec<_> = family.live_files().iter().map(|file| file.number).collect();
        let is_canceled = chance.percent(20);
        let options = CompactionOptions {
            output_file_size_limit: *chance.pick(&[1, 1, u64::MAX]),
            output_temperature_override: *chance.pick(&[Temperature::Unknown, Temperature::Warm]),
            canceled: Some(Arc::new(AtomicBool::new(is_canceled))),
            ..CompactionOptions::default()
        };
        let last = Level::new((family.options().num_levels - 1) as u8);
        let made = match family.compact_files(&files, last, Some(chance.below(2) as u32), &options) {
            // A universal compaction restricts the levels, and a job may have a chosen file.
            Err(error) if matches!(error.kind(), Kind::InvalidArgument | Kind::Aborted) => return Ok(()),
            Err(error) if is_canceled => return same("canceled", &error.kind(), &Kind::Incomplete),
            made => made.map_err(told("compact_files"))?,
        };
        same("canceled", &(is_canceled && !files.is_empty()), &false)?;
        let infos = self.db().live_files_storage_info(&Default::default());
        let infos = infos.map_err(told("live_files_storage_info"))?;
        if options.output_temperature_override == Temperature::Warm {
            let made_of = infos.iter().filter(|info| made.contains(&info.path()));
            let other = made_of.map(|info| info.temperature).find(|found| *found != Temperature::Warm as u8);
            same("an output without the temperature", &other, &None)?;
        }
        rows_equal(&self.families, &self.state).map_err(|words| format!("after {options:?}: {words}"))
    }

    /// Waits for background jobs, with a pause, a time limit or a close.
    fn wait(&mut self, chance: &mut Chance) -> Result<(), String> {
        let all = WaitForCompactOptions { flush: chance.percent(50), ..WaitForCompactOptions::default() };
        match chance.below(3) {
            0 => {
                let options = WaitForCompactOptions { abort_on_pause: true, flush: false, ..all };
                self.db().pause_background_work().map_err(told("pause_background_work"))?;
                let paused = self.db().wait_for_compact_with(&options).map_err(|error| error.kind());
                self.db().continue_background_work().map_err(told("continue_background_work"))?;
                same("a wait during a pause", &paused, &Err(Kind::Aborted))
            }
            1 => {
                let options = WaitForCompactOptions { timeout: Duration::from_secs(3600), ..all };
                self.db().wait_for_compact_with(&options).map_err(told("a wait with a time limit"))
            }
            _ => {
                let options = WaitForCompactOptions { close_db: true, ..all };
                self.db().wait_for_compact_with(&options).map_err(told("a wait with a close"))?;
                same("a flush after the close", &self.families[0].flush().is_err(), &true)?;
                self.families.clear();
                self.db = None;
                self.open()?;
                rows_equal(&self.families, &self.state)
            }
        }
    }

    /// Compares estimates of parts of the database with each other.
    fn estimate(&self, chance: &mut Chance) -> Result<(), String> {
        let family = self.family(chance);
        let (a, b) = (key(chance), key(chance));
        let (begin, end) = (a.clone().min(b.clone()), a.max(b));
        let size = |memtables: bool, files: bool, blobs: bool| {
            let options = SizeApproximationOptions {
                include_memtables: memtables,
                include_files: files,
                include_blob_files: blobs,
                files_size_error_margin: 0.1,
            };
            family.approximate_sizes(&[(&begin, &end)], &options).map(|sizes| sizes[0])
        };
        let parts = [(true, false, false), (false, true, false), (false, false, true)];
        let parts: Result<Vec<u64>, _> = parts.into_iter().map(|(m, f, b)| size(m, f, b)).collect();
        let parts = parts.map_err(told("approximate_sizes"))?;
        let memtables = family.approximate_memtable_stats(&begin, &end).1;
        same("bytes in memtables", &parts[0], &memtables)?;
        let sum = size(true, true, true).map_err(told("approximate_sizes"))?;
        same("bytes of all parts", &sum, &parts.iter().sum())?;
        let none = size(false, false, false).map_err(|error| error.kind());
        same("bytes of no part", &none, &Err(Kind::InvalidArgument))
    }
}

/// Returns the row of an iterator.
fn show(iter: &Iter) -> Result<Option<(Vec<u8>, Vec<u8>)>, String> {
    iter.status().map_err(told("an iterator"))?;
    Ok(iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec())))
}

impl World for Limited {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..40 => self.write(chance),
            40..58 => self.get(chance),
            58..72 => self.scan(chance),
            72..76 => self.follow(chance),
            76..81 => self.flush(chance),
            81..86 => self.compact(chance),
            86..90 => self.compact_files(chance),
            90..93 => self.wait(chance),
            93..97 => self.estimate(chance),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        rows_equal(&self.families, &self.state)
    }
}
