//! Empty ranges of many deleted keys, as queues leave them. A scan remembers an empty range, and later scans skip the range.
//!
//! ```text
//!  keys   d d d d d d d d d 7 8 9            d: deleted
//!         └─ a scan skips the run ┘
//!               ^ a put inside the run: each later scan must find the key
//! ```
//! Each operation adds, deletes or writes again up to 9,000 keys, so that empty ranges are long enough to be remembered. A snapshot, and
//! an iterator that is not tailing, must not see later changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ironstone::{
    Db, IngestExternalFileOptions, Iter, Options, ReadOptions, Snapshot, SstFileWriter, WriteBatch,
};
use testkit::chance::Chance;

use super::{Setting, World, same, told};

/// The numbers of keys of an operation. A run is remembered above a thousand keys; a flush looks for runs above eight thousand.
const SIZES: [u64; 9] = [1, 1, 3, 20, 200, 1500, 1500, 3000, 9000];

/// The collectors that mark files, and the styles of compaction for these files.
const MARKED: &[&str] = &[
    "",
    "table_properties_collectors={id=CompactOnDeletionCollector;window_size=128;deletion_trigger=60}",
    "table_properties_collectors={id=CompactOnDeletionCollector;deletion_ratio=0.4};compaction_style=kCompactionStyleLevel",
    "table_properties_collectors={id=CompactOnDeletionCollector;deletion_ratio=0.4};compaction_style=kCompactionStyleUniversal",
    "table_properties_collectors={id=CompactOnDeletionCollector;deletion_ratio=0.2;min_file_size=5000};\
     compaction_style=kCompactionStyleUniversal;compaction_options_universal={size_ratio=1;max_size_amplification_percent=1000000}",
];

/// The most keys of the model.
const KEYS_MAX: usize = 30_000;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Returns the key of a number. The model never needs a key outside of 8 digits.
fn key_of(number: u64) -> Vec<u8> {
    format!("q{number:08}").into_bytes()
}

/// A database with queues, and its model.
pub(super) struct Queues {
    options: Options,
    db: Option<Db>,
    rows: Arc<Rows>,
    /// The number of the next key at the end.
    next: u64,
    /// The number of the next key at the front. Keys can be added at both ends.
    front: u64,
    snapshot: Option<(Snapshot, Arc<Rows>)>,
    /// An iterator over all keys, and its rows. A tailing iterator has the rows of the database.
    iter: Option<(Iter, Option<Arc<Rows>>)>,
    files: u64,
}

impl Queues {
    /// Opens the database.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting, chance: &mut Chance) -> Result<Queues, String> {
        let mut options = setting.options.clone();
        // Small write buffers and files would make thousands of files.
        options
            .update(&format!(
                "write_buffer_size={};target_file_size_base={};max_bytes_for_level_base=1000000;max_write_batch_group_size_bytes=1000000;\
                 db_write_buffer_size=0;max_total_wal_size=0;compression=kNoCompression;bottommost_compression=kNoCompression;\
                 enable_blob_files=false;enable_blob_direct_write=false;memtable_factory=skip_list;bloom_locality=0;max_compaction_bytes=0;\
                 block_based_table_factory={{block_size=4096}};min_tombstones_for_range_conversion={}",
                chance.pick(&["200000", "4000000"]),
                chance.pick(&["100000", "1000000"]),
                chance.pick(&["0", "0", "5", "500"]),
            ))
            .map_err(told("options"))?;
        // Files with many deletions are marked, and compacted by themselves.
        let marked = *chance.pick(MARKED);
        options.update(marked).map_err(told("options"))?;
        let rows = Arc::default();
        let (next, front) = (1 << 20, 1 << 20);
        let mut world = Queues { options, db: None, rows, next, front, snapshot: None, iter: None, files: 0 };
        world.db = Some(Db::open("/db", world.options.clone()).map_err(told("open"))?);
        Ok(world)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn rows(&mut self) -> &mut Rows {
        Arc::make_mut(&mut self.rows)
    }

    /// Adds keys at an end.
    fn push(&mut self, chance: &mut Chance) -> Result<(), String> {
        let count = *chance.pick(&SIZES);
        if self.rows.len() > KEYS_MAX {
            return self.pop(chance);
        }
        let at_front = chance.percent(30);
        let mut batch = WriteBatch::new();
        for _ in 0..count {
            let number = if at_front { self.front - 1 } else { self.next };
            if at_front {
                self.front -= 1;
            } else {
                self.next += 1;
            }
            let value = number.to_le_bytes()[..chance.below(8) as usize].to_vec();
            batch.put(&key_of(number), &value);
            self.rows().insert(key_of(number), value);
        }
        self.db().write(batch).map_err(told("write"))
    }

    /// Deletes the first or the last keys, or keys after a drawn key.
    fn pop(&mut self, chance: &mut Chance) -> Result<(), String> {
        let count = *chance.pick(&SIZES) as usize;
        let from = self.target(chance);
        let keys: Vec<_> = match chance.below(4) {
            0 | 1 => self.rows.keys().take(count).cloned().collect(),
            2 => self.rows.keys().rev().take(count).cloned().collect(),
            _ => self.rows.range(from..).take(count).map(|(key, _)| key.clone()).collect(),
        };
        let mut batch = WriteBatch::new();
        // Each key is written once before its deletion, except revived keys.
        for key in &keys {
            batch.delete(key);
        }
        if chance.percent(10)
            && let (Some(first), Some(last)) = (keys.iter().min(), keys.iter().max())
        {
            batch.delete_range(first, last);
        }
        for key in &keys {
            self.rows().remove(key);
        }
        self.db().write(batch).map_err(told("write"))
    }

    /// Writes some keys anywhere, mostly inside runs of deleted keys.
    fn revive(&mut self, chance: &mut Chance) -> Result<(), String> {
        let mut batch = WriteBatch::new();
        for _ in 0..1 + chance.below(3) {
            let key = self.target(chance);
            let value = chance.bytes(3);
            // The merge operator of all drawn options joins with a comma.
            let new = match self.rows.get(&key) {
                Some(old) if chance.percent(30) => {
                    batch.merge(&key, &value);
                    [&old[..], b",", &value].concat()
                }
                _ => {
                    batch.put(&key, &value);
                    value
                }
            };
            self.rows().insert(key, new);
        }
        self.db().write(batch).map_err(told("write"))
    }

    /// Ingests a file with keys inside the runs.
    fn ingest(&mut self, chance: &mut Chance) -> Result<(), String> {
        let rows: Rows = (0..1 + chance.below(4)).map(|_| (self.target(chance), chance.bytes(4))).collect();
        self.files += 1;
        let path = format!("/external{}.sst", self.files);
        let mut writer = SstFileWriter::create(&path, &self.options.db, &self.options.family)
            .map_err(told("an SST file"))?;
        for (key, value) in &rows {
            writer.put(key, value).map_err(told("put in an SST file"))?;
        }
        writer.finish().map_err(told("finish of an SST file"))?;
        self.db()
            .ingest_external_files([&path], &IngestExternalFileOptions::default())
            .map_err(told("ingestion"))?;
        self.rows().extend(rows);
        Ok(())
    }

    /// Draws a key between both ends, or just outside.
    fn target(&self, chance: &mut Chance) -> Vec<u8> {
        key_of(self.front - 2 + chance.below(self.next - self.front + 4))
    }

    /// Scans a part of the database with a new iterator, with bounds, a snapshot or the newest state.
    fn scan(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (a, b) = (self.target(chance), self.target(chance));
        let (low, high) = (a.clone().min(b.clone()), a.max(b));
        let mut options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut rows = self.rows.clone();
        if let Some((snapshot, old)) = self.snapshot.as_ref().filter(|_| chance.percent(30)) {
            options = ReadOptions { total_order_seek: true, ..snapshot.options() };
            rows = old.clone();
        }
        let (mut lower, mut upper) = (Vec::new(), vec![0xff]);
        if chance.percent(30) {
            (lower, upper) = (low, high);
            options.iterate_lower_bound = Some(lower.clone());
            options.iterate_upper_bound = Some(upper.clone());
        }
        let mut iter = self.db().iter_with(options).map_err(told("iter"))?;
        let rows: Vec<_> = rows.range(lower..upper).map(|(k, v)| (k.clone(), v.clone())).collect();
        let target = self.target(chance);
        moves(&mut iter, &rows, &target, chance)
    }

    /// Moves the kept iterator. A tailing iterator sees the newest rows after each seek.
    fn kept(&mut self, chance: &mut Chance) -> Result<(), String> {
        let target = self.target(chance);
        if self.iter.is_none() || chance.percent(20) {
            let tailing = chance.percent(25);
            let options = ReadOptions { total_order_seek: true, tailing, ..ReadOptions::default() };
            let iter = self.db().iter_with(options).map_err(told("iter"))?;
            self.iter = Some((iter, (!tailing).then(|| self.rows.clone())));
        }
        let newest = self.rows.clone();
        let Some((iter, own)) = &mut self.iter else { return Ok(()) };
        if own.is_some() && chance.percent(20) {
            iter.refresh().map_err(told("refresh"))?;
            *own = Some(newest.clone());
        }
        let tailing = own.is_none();
        let rows = own.as_ref().unwrap_or(&newest);
        let rows: Vec<_> = rows.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        if tailing {
            // A tailing iterator moves only forward.
            iter.seek(&target);
            let from = rows.partition_point(|(key, _)| *key < target);
            return follow(iter, &rows, from, true, 20);
        }
        moves(iter, &rows, &target, chance)
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.iter = None;
        self.snapshot = None;
        super::close(&mut self.db)?;
        self.db = Some(Db::open("/db", self.options.clone()).map_err(told("open"))?);
        Ok(())
    }
}

/// Places an iterator, and compares some rows from there.
fn moves(
    iter: &mut Iter,
    rows: &[(Vec<u8>, Vec<u8>)],
    target: &[u8],
    chance: &mut Chance,
) -> Result<(), String> {
    let steps = *chance.pick(&[1, 5, 100, 3000]);
    match chance.below(4) {
        0 => {
            iter.seek_to_first();
            follow(iter, rows, 0, true, steps)
        }
        1 => {
            iter.seek_to_last();
            follow(iter, rows, rows.len().wrapping_sub(1), false, steps)
        }
        2 => {
            iter.seek(target);
            follow(iter, rows, rows.partition_point(|(key, _)| &key[..] < target), true, steps)?;
            iter.seek(target);
            let at = rows.partition_point(|(key, _)| &key[..] < target);
            // A step backward after a seek forward.
            if at < rows.len() {
                iter.prev();
                return follow(iter, rows, at.wrapping_sub(1), false, steps);
            }
            Ok(())
        }
        _ => {
            iter.seek_for_prev(target);
            let at = rows.partition_point(|(key, _)| &key[..] <= target).wrapping_sub(1);
            follow(iter, rows, at, false, steps)
        }
    }
}

/// Compares the position with row `at`, and the rows after it in the direction, at most `steps`.
fn follow(
    iter: &mut Iter,
    rows: &[(Vec<u8>, Vec<u8>)],
    mut at: usize,
    forward: bool,
    steps: usize,
) -> Result<(), String> {
    for _ in 0..=steps {
        iter.status().map_err(told("an iterator"))?;
        let found = iter.valid().then(|| (iter.key(), iter.value()));
        let expected = rows.get(at).map(|(key, value)| (&key[..], &value[..]));
        if found != expected {
            let show = |row: Option<(&[u8], &[u8])>| {
                row.map(|(key, value)| format!("{}={value:02x?}", key.escape_ascii()))
            };
            return Err(format!("row {at}: {:?} and not {:?}", show(found), show(expected)));
        }
        if expected.is_none() {
            break;
        }
        if forward {
            iter.next()
        } else {
            iter.prev()
        }
        at = if forward { at + 1 } else { at.wrapping_sub(1) };
    }
    Ok(())
}

impl World for Queues {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..15 => self.push(chance),
            15..32 => self.pop(chance),
            32..40 => self.revive(chance),
            40..42 => self.ingest(chance),
            42..62 => self.scan(chance),
            62..74 => self.kept(chance),
            74..80 => self.db().flush().map_err(told("flush")),
            80..83 => self.db().compact_range(None, None, &Default::default()).map_err(told("compact_range")),
            83..86 => {
                self.snapshot = chance.percent(70).then(|| (self.db().snapshot(), self.rows.clone()));
                Ok(())
            }
            86 => self.reopen(),
            87..90 => {
                let key = self.target(chance);
                let found = self.db().get(&key).map_err(told("get"))?;
                same("get", &found.as_deref(), &self.rows.get(&key).map(|value| &value[..]))
            }
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        let rows: Vec<_> = self.rows.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut iter = self.db().iter_with(options).map_err(told("iter"))?;
        iter.seek_to_first();
        follow(&mut iter, &rows, 0, true, rows.len())?;
        iter.seek_to_last();
        follow(&mut iter, &rows, rows.len().wrapping_sub(1), false, 100)
    }
}
