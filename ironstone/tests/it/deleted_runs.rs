//! Long runs of deleted keys: iterators step over a run once, and every later answer equals the model's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ironstone::stats::{PerfCounter, PerfLevel, perf_counter, set_perf_level};
use ironstone::{
    CompactRangeOptions, CompactionFilter, Db, Decision, FilterInput, Iter, Options, ReadOptions, Snapshot,
    SstFileWriter, WriteBatch,
};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(i: u64) -> Vec<u8> {
    format!("{i:06}").into_bytes()
}

fn options() -> Options {
    let mut options = Options::in_memory();
    options
        .update("write_buffer_size=262144;target_file_size_base=65536;max_bytes_for_level_base=262144")
        .unwrap();
    options
}

/// Random numbers, the same at each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

const KEYS: u64 = 8_000;

/// A snapshot or an iterator, with the state that it must show.
struct Moment {
    snapshot: Option<Snapshot>,
    iter: Option<Iter>,
    model: Model,
}

/// A database, its model, and moments that the test keeps open.
struct ModelRun {
    db: Db,
    model: Model,
    random: Random,
    moments: Vec<Moment>,
}

impl ModelRun {
    fn new(seed: u64) -> ModelRun {
        let db = Db::open("data", options()).unwrap();
        ModelRun { db, model: Model::new(), random: Random(seed), moments: Vec::new() }
    }

    fn put(&mut self, keys: impl Iterator<Item = u64>) {
        let mut batch = WriteBatch::new();
        let value = self.random.below(1 << 40).to_string().into_bytes();
        for i in keys {
            batch.put(&key(i), &value);
            self.model.insert(key(i), value.clone());
        }
        self.db.write(&mut batch).unwrap();
    }

    fn delete(&mut self, keys: std::ops::Range<u64>) {
        let mut batch = WriteBatch::new();
        let leaves_one = self.random.below(3) == 0;
        let left = keys.start + self.random.below(keys.end - keys.start);
        for i in keys.filter(|&i| !(leaves_one && i == left)) {
            batch.delete(&key(i));
            self.model.remove(&key(i));
        }
        self.db.write(&mut batch).unwrap();
    }

    fn step(&mut self) {
        let at = self.random.below(KEYS);
        match self.random.below(20) {
            0 => self.put((at..KEYS).step_by(3).take(1_500)),
            1..=4 => {
                let end = at + 1 + self.random.below(4_000);
                self.delete(at..end.min(KEYS));
            }
            5..=8 => self.put(std::iter::once(at)),
            9 => {
                let end = (at + 500).min(KEYS);
                self.db.delete_range(&key(at), &key(end)).unwrap();
                self.model.retain(|k, _| *k < key(at) || *k >= key(end));
            }
            10 => self.db.flush().unwrap(),
            11 if self.random.below(3) == 0 => {
                self.db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
            }
            12 => {
                let snapshot = (self.random.below(2) == 0).then(|| self.db.snapshot());
                let iter = snapshot.is_none().then(|| self.db.iter().unwrap());
                self.moments.push(Moment { snapshot, iter, model: self.model.clone() });
                if self.moments.len() > 4 {
                    let gone = self.random.below(4) as usize;
                    self.moments.remove(gone);
                }
            }
            13..=14 if !self.moments.is_empty() => self.read_a_moment(at),
            _ => {
                let mut bounds = ReadOptions::default();
                if self.random.below(4) == 0 {
                    bounds.iterate_upper_bound = Some(key(at + 1_000));
                    bounds.iterate_lower_bound = Some(key(at.saturating_sub(2_000)));
                    bounds.tailing = self.random.below(2) == 0;
                }
                let (upper, lower) = (bounds.iterate_upper_bound.clone(), bounds.iterate_lower_bound.clone());
                let mut model = self.model.clone();
                model.retain(|k, _| {
                    upper.as_ref().is_none_or(|u| k < u) && lower.as_ref().is_none_or(|l| k >= l)
                });
                let backward = !bounds.tailing;
                let mut iter = self.db.iter_with(bounds).unwrap();
                check(&mut iter, &model, &key(at), backward);
            }
        }
    }

    fn read_a_moment(&mut self, at: u64) {
        let which = self.random.below(self.moments.len() as u64) as usize;
        let moment = &mut self.moments[which];
        match (&moment.snapshot, &mut moment.iter) {
            (Some(snapshot), _) => check(&mut snapshot.iter().unwrap(), &moment.model, &key(at), true),
            (None, Some(iter)) => check(iter, &moment.model, &key(at), true),
            (None, None) => {}
        }
    }
}

fn shown(iter: &Iter) -> Option<(Vec<u8>, Vec<u8>)> {
    iter.status().unwrap();
    iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()))
}

/// Seeks `target` both ways, and steps over some keys.
fn check(iter: &mut Iter, model: &Model, target: &[u8], backward: bool) {
    iter.seek(target);
    let mut expected = model.range(target.to_vec()..);
    for _ in 0..4 {
        let next = expected.next().map(|(k, v)| (k.clone(), v.clone()));
        assert_eq!(shown(iter), next, "forward from {target:?}");
        if next.is_none() {
            break;
        }
        iter.next();
    }
    if !backward {
        return;
    }
    iter.seek_for_prev(target);
    let mut expected = model.range(..=target.to_vec()).rev();
    for _ in 0..4 {
        let next = expected.next().map(|(k, v)| (k.clone(), v.clone()));
        assert_eq!(shown(iter), next, "backward from {target:?}");
        if next.is_none() {
            break;
        }
        iter.prev();
    }
}

#[test]
fn random_runs_answer_as_the_model() {
    for seed in 1..5 {
        let mut world = ModelRun::new(0x9e37_79b9_7f4a_7c15 >> seed);
        world.put(0..KEYS);
        (0..120).for_each(|_| world.step());
    }
}

/// A database in which the keys 1 to 8,000 are deleted: in the memtable, in level 0, or with the values below. No job
/// looks for the run: there are too few tombstones.
fn deleted(place: &str) -> Db {
    let mut options = Options::in_memory();
    options.update("disable_auto_compactions=true").unwrap();
    let db = Db::open("data", options).unwrap();
    for i in 0..=8_001 {
        db.put(&key(i), b"value").unwrap();
    }
    if place == "below" {
        db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    }
    for i in 1..=8_000 {
        db.delete(&key(i)).unwrap();
    }
    if place != "memtable" {
        db.flush().unwrap();
    }
    db
}

/// Runs `seek`, and returns how many deletions it stepped over.
fn deletions(seek: impl FnOnce()) -> u64 {
    set_perf_level(PerfLevel::EnableCount);
    let before = perf_counter(PerfCounter::InternalDeleteSkippedCount);
    seek();
    let after = perf_counter(PerfCounter::InternalDeleteSkippedCount);
    set_perf_level(PerfLevel::Disable);
    after - before
}

#[test]
fn the_second_seek_over_deleted_keys_does_not_read_them_in_any_level() {
    for place in ["memtable", "level 0", "below"] {
        for backward in [false, true] {
            let db = deleted(place);
            let seek = |target: u64| {
                let mut iter = db.iter().unwrap();
                let (wanted, found) = if backward {
                    iter.seek_for_prev(&key(target));
                    (0, iter.key().to_vec())
                } else {
                    iter.seek(&key(target));
                    (8_001, iter.key().to_vec())
                };
                assert_eq!(found, key(wanted), "{place}");
            };
            let (near, far) = if backward { (8_000, 2_000) } else { (1, 6_000) };
            assert!(deletions(|| seek(near)) >= 7_900);
            for target in [near, 4_000, far] {
                assert!(deletions(|| seek(target)) < 300, "{place}, backward {backward}, {target}");
            }
            // After a flush or a compaction, readers still do not read the run again.
            db.put(b"another", b"key").unwrap();
            db.flush().unwrap();
            assert!(deletions(|| seek(near)) < 300, "{place} after a flush");
            // A key in the run is found at once.
            db.put(&key(4_000), b"new").unwrap();
            let mut iter = db.iter().unwrap();
            iter.seek(&key(3_000));
            assert_eq!(iter.key(), key(4_000));
            iter.next();
            assert_eq!(iter.key(), key(8_001));
        }
    }
}

#[test]
fn a_queue_steps_over_each_deletion_a_few_times() {
    let mut options = Options::in_memory();
    options.update("disable_auto_compactions=true").unwrap();
    let db = Db::open("data", options).unwrap();
    (0..100).for_each(|i| db.put(&key(i), b"item").unwrap());
    let mut most = 0;
    for head in 0..20_000 {
        let steps = deletions(|| {
            let mut iter = db.iter().unwrap();
            iter.seek_to_first();
            assert_eq!(iter.key(), key(head));
        });
        most = most.max(steps);
        db.delete(&key(head)).unwrap();
        db.put(&key(head + 100), b"item").unwrap();
    }
    assert!(most < 2_000, "{most}");
}

#[test]
fn a_written_key_is_found_although_scans_find_empty_ranges_meanwhile() {
    let db = Db::open("data", options()).unwrap();
    (0..20_000).for_each(|i| db.put(&key(i), b"value").unwrap());
    (1..20_000).for_each(|i| db.delete(&key(i)).unwrap());
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _done = Done(&done);
        for backward in [false, true] {
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let mut iter = db.iter().unwrap();
                    if backward {
                        iter.seek_to_last()
                    } else {
                        iter.seek(&key(1))
                    }
                    iter.status().unwrap();
                }
            });
        }
        let mut random = Random(7);
        for _ in 0..500 {
            let at = 2 + random.below(19_000);
            db.put(&key(at), b"new").unwrap();
            let mut iter = db.iter().unwrap();
            iter.seek(&key(1));
            assert_eq!(iter.key(), key(at));
            iter.seek_for_prev(&key(19_999));
            assert_eq!(iter.key(), key(at));
            drop(iter);
            db.delete(&key(at)).unwrap();
        }
    });
}

#[test]
fn an_ingested_key_is_found_in_an_empty_range() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.update("create_if_missing=true;allow_ingest_behind=true").unwrap();
    let db = Db::open(scratch.path().join("data"), options.clone()).unwrap();
    (1..5_000).for_each(|i| db.delete(&key(i)).unwrap());
    let first = |db: &Db| {
        let mut iter = db.iter().unwrap();
        iter.seek_to_first();
        iter.valid().then(|| iter.key().to_vec())
    };
    for (name, i, behind) in [("a", 2_000, false), ("b", 6_000, true), ("c", 0, true)] {
        let expected = if name == "a" { None } else { Some(key(2_000)) };
        assert_eq!((first(&db), first(&db)), (expected.clone(), expected), "before {name}");
        let path = scratch.path().join(name);
        let mut file = SstFileWriter::create(&path, &options.db, &options.family).unwrap();
        file.put(&key(i), b"ingested").unwrap();
        file.finish().unwrap();
        let how = ironstone::IngestExternalFileOptions { ingest_behind: behind, ..Default::default() };
        db.ingest_external_files([&path], &how).unwrap();
    }
    assert_eq!(first(&db), Some(key(0)));
}

#[test]
fn entries_are_visible_after_the_file_of_their_tombstones_is_deleted() {
    let mut options = Options::in_memory();
    options.update("disable_auto_compactions=true").unwrap();
    let db = Db::open("data", options).unwrap();
    let snapshot = db.snapshot();
    (0..6_000).for_each(|i| db.put(&key(i), b"value").unwrap());
    db.flush().unwrap();
    let whole = ironstone::CompactionOptions::default();
    let below: Vec<_> = db.live_files().iter().map(|file| file.number).collect();
    db.compact_files(&below, ironstone::Level::new(6), None, &whole).unwrap();
    (1..5_000).for_each(|i| db.delete(&key(i)).unwrap());
    db.flush().unwrap();
    let above: Vec<_> =
        db.live_files().iter().filter(|f| f.level == ironstone::Level::ZERO).map(|f| f.number).collect();
    db.compact_files(&above, ironstone::Level::new(1), None, &whole).unwrap();
    let second = |db: &Db| {
        let mut iter = db.iter().unwrap();
        iter.seek(&key(1));
        iter.key().to_vec()
    };
    assert_eq!((second(&db), second(&db)), (key(5_000), key(5_000)));
    db.delete_files_in_ranges(&[(Some(&key(0)), Some(&key(5_500)))], true).unwrap();
    assert_eq!(second(&db), key(1), "the deletions were in files that are gone");
    drop(snapshot);
}

/// Drops each value, and all entries after the value up to the key 5,000.
struct DropsDeletions;

impl CompactionFilter for DropsDeletions {
    fn name(&self) -> &str {
        "drops deletions"
    }

    fn filter(&self, _: &FilterInput<'_>) -> Decision {
        Decision::RemoveAndSkipUntil(key(5_000))
    }
}

#[test]
fn entries_are_visible_after_a_compaction_filter_drops_their_tombstones() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.update("create_if_missing=true;disable_auto_compactions=true").unwrap();
    options.family.compaction_filter = Some(Arc::new(DropsDeletions));
    let db = Db::open(scratch.path().join("data"), options.clone()).unwrap();
    let path = scratch.path().join("below.sst");
    let mut file = SstFileWriter::create(&path, &options.db, &options.family).unwrap();
    (1..5_000).for_each(|i| file.put(&key(i), b"value").unwrap());
    file.finish().unwrap();
    db.ingest_external_files([&path], &Default::default()).unwrap();
    db.put(b"000300a", b"value").unwrap();
    (1..5_000).for_each(|i| db.delete(&key(i)).unwrap());
    db.flush().unwrap();
    // The filter gets the value, and no reader sees the value: the compaction does not have this deletion.
    db.delete(b"000300a").unwrap();
    let first = |db: &Db| {
        let mut iter = db.iter().unwrap();
        iter.seek(&key(1));
        iter.status().unwrap();
        iter.valid().then(|| iter.key().to_vec())
    };
    assert_eq!((first(&db), first(&db)), (None, None));
    let above: Vec<_> =
        db.live_files().iter().filter(|f| f.level == ironstone::Level::ZERO).map(|f| f.number).collect();
    db.compact_files(&above, ironstone::Level::new(1), None, &ironstone::CompactionOptions::default())
        .unwrap();
    assert_eq!(db.get(&key(300)).unwrap(), None);
    assert_eq!(db.get(&key(301)).unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(first(&db), Some(key(301)));
}

/// A database with the keys 0 and 9, in which key 5 and the keys next to key 5 are deleted, and an iterator that will
/// convert the run.
fn with_a_run(read: &ReadOptions) -> (Db, Iter, tempfile::TempDir, Options) {
    let mut options = Options::default();
    options.update("create_if_missing=true;min_tombstones_for_range_conversion=2").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("db"), options.clone()).unwrap();
    (0..10).step_by(9).for_each(|i| db.put(&key(i), b"value").unwrap());
    (3..8).step_by(2).for_each(|i| db.delete(&key(i)).unwrap());
    let iter = db.iter_with(read.clone()).unwrap();
    (db, iter, scratch, options)
}

fn ingest(db: &Db, scratch: &tempfile::TempDir, options: &Options, keys: &[u64]) {
    let path = scratch.path().join("file");
    let mut file = SstFileWriter::create(&path, &options.db, &options.family).unwrap();
    keys.iter().for_each(|i| file.put(&key(*i), b"ingested").unwrap());
    file.finish().unwrap();
    db.ingest_external_files([&path], &ironstone::IngestExternalFileOptions::default()).unwrap();
}

/// Moves an iterator over the run.
fn step(iter: &mut Iter) {
    iter.seek_to_first();
    iter.next();
    assert_eq!(iter.key(), key(9));
}

#[test]
fn old_iterator_does_not_delete_the_keys_of_an_ingested_file() {
    // The file of the keys 4 and 6 gets the sequence number 0, or, with the key 5, a number above the number of the iterator.
    for keys in [&[4][..], &[6], &[4, 5, 6]] {
        let (db, mut iter, scratch, options) = with_a_run(&ReadOptions::default());
        ingest(&db, &scratch, &options, keys);
        step(&mut iter);
        for i in keys {
            assert_eq!(db.get(&key(*i)).unwrap().as_deref(), Some(&b"ingested"[..]), "{i} of {keys:?}");
        }
        // An iterator that sees the file converts the runs that are left, and hides no key.
        let mut newer = db.iter().unwrap();
        newer.seek_to_first();
        newer.next();
        assert_eq!(newer.key(), key(keys[0]), "{keys:?}");
        for i in keys {
            assert_eq!(db.get(&key(*i)).unwrap().as_deref(), Some(&b"ingested"[..]), "{i} of {keys:?}");
        }
    }
}

#[test]
fn iterator_that_skips_files_does_not_delete_their_keys() {
    let filtered = || {
        let filter = ironstone::TableFilter::new(|properties| properties.num_entries != 1);
        ReadOptions { table_filter: Some(filter), ..ReadOptions::default() }
    };
    let memtable = || ReadOptions { read_tier: ironstone::ReadTier::Memtable, ..ReadOptions::default() };
    for read in [filtered(), memtable()] {
        let (db, iter, _scratch, _) = with_a_run(&ReadOptions::default());
        drop(iter);
        db.flush().unwrap();
        db.put(&key(6), b"in the file").unwrap();
        db.flush().unwrap();
        (0..10).step_by(9).for_each(|i| db.put(&key(i), b"value").unwrap());
        (3..8).step_by(2).for_each(|i| db.delete(&key(i)).unwrap());
        step(&mut db.iter_with(read).unwrap());
        assert_eq!(db.get(&key(6)).unwrap().as_deref(), Some(&b"in the file"[..]));
    }
}
