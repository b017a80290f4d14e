//! Tiering by age: young entries stay out of the last level, and write times stay known.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base::SequenceNumber;
use env::rng::SeededRng;
use env::{Env, Rng};
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{CompactionStyle, FamilyOptions, ReadOptions, Temperature, WriteOptions};
use ironstone_engine::sequence::Snapshot;
use lsm::seqno_time::SeqnoTimes;
use table::sst::{OpenOptions, Reader};
use testkit::machine::Machine;

use crate::basic::{compact_whole, flush, options, put, scan};

const STYLES: [CompactionStyle; 2] = [CompactionStyle::Level, CompactionStyle::Universal];
const LAST: usize = 4;
const ABOVE_LAST: usize = 3;

/// A machine whose clock the test moves.
struct Aging(Machine);

impl Aging {
    fn open(&self, family: FamilyOptions) -> Db {
        Db::open(OpenRequest::new("/db", options(&self.0.env), family)).unwrap()
    }

    /// Lets time pass, and runs the periodic work that is due.
    fn pass(&self, seconds: u64) {
        for _ in 0..10 {
            self.0.clock.advance(seconds * 100_000);
            while self.0.env.executor.help() {}
        }
    }
}

fn tiered(style: CompactionStyle, more: &str) -> FamilyOptions {
    let mut family = FamilyOptions {
        compaction_style: style,
        merge_operator: lsm::merge::by_name("stringappend"),
        default_write_temperature: Temperature::Warm,
        last_level_temperature: Temperature::Cold,
        ..FamilyOptions::default()
    };
    family
        .update("num_levels=5;preclude_last_level_data_seconds=10000;disable_auto_compactions=true")
        .unwrap();
    family.update(more).unwrap();
    family
}

/// Returns the keys of each level that has files.
fn levels(db: &Db, env: &Env) -> BTreeMap<usize, Vec<String>> {
    let version = db.default_family().unwrap().pin().version.clone();
    let mut levels: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (level, file) in version.files() {
        let path = format!("/db/{:06}.sst", file.number.get());
        let handle = env.fs.open_random(Path::new(&path), &Default::default()).unwrap();
        let reader = Arc::new(Reader::open(handle, file.size, &OpenOptions::default()).unwrap());
        let mut rows = reader.iter(&Default::default());
        use base::iter::InternalIterator;
        rows.seek_to_first();
        while rows.valid() {
            levels
                .entry(level.index())
                .or_default()
                .push(String::from_utf8_lossy(base::key::user_key(rows.key())).into());
            rows.next();
        }
    }
    levels
}

fn by_level<const N: usize>(levels: [(usize, &[&str]); N]) -> BTreeMap<usize, Vec<String>> {
    levels.into_iter().map(|(level, keys)| (level, keys.iter().map(ToString::to_string).collect())).collect()
}

#[test]
fn young_entries_stay_above_the_last_level_until_they_are_old() {
    for style in STYLES {
        let world = Aging(Machine::new(41));
        let db = world.open(tiered(style, ""));
        put(&db, "a", "1");
        put(&db, "b", "1");
        flush(&db);
        compact_whole(&db);
        assert_eq!(levels(&db, &world.0.env), by_level([(ABOVE_LAST, &["a", "b"])]), "{style:?}");
        world.pass(5000);
        put(&db, "c", "1");
        put(&db, "d", "1");
        flush(&db);
        compact_whole(&db);
        assert_eq!(levels(&db, &world.0.env), by_level([(ABOVE_LAST, &["a", "b", "c", "d"])]), "{style:?}");
        world.pass(6000);
        compact_whole(&db);
        // As in RocksDB, the first entry after the last old sample goes to the last level too.
        assert_eq!(
            levels(&db, &world.0.env),
            by_level([(ABOVE_LAST, &["d"]), (LAST, &["a", "b", "c"])]),
            "{style:?}"
        );
        let version = db.default_family().unwrap().pin().version.clone();
        let temperatures: Vec<_> =
            version.files().map(|(level, file)| (level.index(), file.temperature)).collect();
        assert_eq!(temperatures, [(ABOVE_LAST, Temperature::Warm as u8), (LAST, Temperature::Cold as u8)]);
        world.pass(20000);
        compact_whole(&db);
        assert_eq!(levels(&db, &world.0.env), by_level([(LAST, &["a", "b", "c", "d"])]), "{style:?}");
        assert_eq!(scan(&db).len(), 4);
    }
}

#[test]
fn write_times_are_known_after_a_reopen() {
    for style in STYLES {
        let world = Aging(Machine::new(42));
        let db = world.open(tiered(style, ""));
        put(&db, "a", "1");
        world.pass(8000);
        put(&db, "b", "1");
        put(&db, "c", "1");
        flush(&db);
        drop(db);
        let db = world.open(tiered(style, ""));
        world.pass(4000);
        compact_whole(&db);
        assert_eq!(
            levels(&db, &world.0.env),
            by_level([(ABOVE_LAST, &["c"]), (LAST, &["a", "b"])]),
            "{style:?}: the SST file tells the time of each entry"
        );
    }
}

#[test]
fn preserved_write_times_keep_sequence_numbers_without_tiering() {
    let world = Aging(Machine::new(43));
    let mut family = tiered(CompactionStyle::Level, "");
    family.update("preclude_last_level_data_seconds=0;preserve_internal_time_seconds=10000").unwrap();
    let db = world.open(family);
    put(&db, "a", "1");
    flush(&db);
    compact_whole(&db);
    let file = |db: &Db| {
        let version = db.default_family().unwrap().pin().version.clone();
        let (level, file) = version.files().next().map(|(level, file)| (level, file.clone())).unwrap();
        assert_eq!(level.index(), LAST);
        file
    };
    assert_eq!(
        file(&db).smallest_seq,
        SequenceNumber::new(101),
        "the sequence numbers to 100 stand for the time before the creation"
    );
    let properties = db.files().table_properties(&db.default_family().unwrap(), None).unwrap();
    let times = properties.values().next().map(|p| SeqnoTimes::decode(&p.seqno_to_time_mapping).unwrap());
    assert!(times.is_some_and(|times| !times.is_empty()));
    world.pass(20000);
    compact_whole(&db);
    assert_eq!(file(&db).smallest_seq, SequenceNumber::ZERO, "the write time is no longer kept");
}

#[test]
fn entries_that_a_snapshot_needs_stay_above_the_last_level() {
    for style in STYLES {
        let world = Aging(Machine::new(44));
        let db = world.open(tiered(style, ""));
        put(&db, "a", "1");
        let snapshot = db.snapshot();
        put(&db, "b", "1");
        flush(&db);
        world.pass(20000);
        compact_whole(&db);
        assert_eq!(levels(&db, &world.0.env), by_level([(ABOVE_LAST, &["b"]), (LAST, &["a"])]), "{style:?}");
        drop(snapshot);
        compact_whole(&db);
        assert_eq!(levels(&db, &world.0.env), by_level([(LAST, &["a", "b"])]), "{style:?}");
    }
}

#[test]
fn a_young_range_tombstone_stays_above_the_last_level() {
    for style in STYLES {
        let world = Aging(Machine::new(45));
        let db = world.open(tiered(style, ""));
        let family = db.default_family().unwrap();
        ["a", "b", "c"].iter().for_each(|key| put(&db, key, "old"));
        flush(&db);
        world.pass(20000);
        compact_whole(&db);
        let held = db.snapshot();
        db.delete_range(&family, b"b", b"c", &WriteOptions::default()).unwrap();
        put(&db, "d", "new");
        flush(&db);
        compact_whole(&db);
        assert_eq!(
            levels(&db, &world.0.env),
            by_level([(ABOVE_LAST, &["d"]), (LAST, &["a", "b", "c"])]),
            "{style:?}"
        );
        let keys: Vec<_> = scan(&db).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["a", "c", "d"]);
        drop(held);
        compact_whole(&db);
        assert_eq!(scan(&db).len(), 3);
        assert_eq!(levels(&db, &world.0.env).values().flatten().count(), 3);
    }
}

#[test]
fn a_tree_of_young_entries_does_not_compact_for_ever() {
    for style in STYLES {
        let world = Aging(Machine::new(46));
        let more = "disable_auto_compactions=false;level0_file_num_compaction_trigger=2;\
                    max_bytes_for_level_base=4096;target_file_size_base=4096;max_bytes_for_level_multiplier=1;\
                    level_compaction_dynamic_level_bytes=false;ttl=100;compression=kNoCompression";
        let db = world.open(tiered(style, more));
        for round in 0..40 {
            for key in 0..20 {
                put(&db, &format!("k{:04}", round * 7 + key), &"v".repeat(500));
            }
            flush(&db);
            world.pass(30);
            db.background().wait_for_compact().unwrap();
        }
        world.pass(2000);
        db.background().wait_for_compact().unwrap();
        let count = |level| levels(&db, &world.0.env).get(&level).map_or(0, Vec::len);
        assert_eq!(count(LAST), 0, "{style:?}: no entry is old");
        world.pass(20000);
        db.background().wait_for_compact().unwrap();
        if style == CompactionStyle::Level {
            let all: Vec<usize> = (0..5).map(count).collect();
            assert!(all[LAST] > 100, "old entries went to the last level: {all:?}");
        }
    }
}

#[test]
fn the_options_act_from_the_call_that_sets_them() {
    let world = Aging(Machine::new(47));
    let db = world.open(tiered(CompactionStyle::Universal, "preclude_last_level_data_seconds=0"));
    let family = db.default_family().unwrap();
    put(&db, "a", "1");
    db.admin().set_options(&family, &[("preclude_last_level_data_seconds", "10000")]).unwrap();
    world.pass(100);
    put(&db, "b", "1");
    flush(&db);
    compact_whole(&db);
    let before = levels(&db, &world.0.env);
    assert_eq!(before.get(&ABOVE_LAST).map(Vec::as_slice), Some(&["b".to_string()][..]), "{before:?}");
    db.admin().set_options(&family, &[("preclude_last_level_data_seconds", "0")]).unwrap();
    compact_whole(&db);
    assert_eq!(levels(&db, &world.0.env), by_level([(LAST, &["a", "b"])]));
}

fn step(db: &Db, rng: &SeededRng, model: &mut BTreeMap<String, String>) {
    let family = db.default_family().unwrap();
    let key = format!("k{:02}", rng.below(30));
    let write = WriteOptions::default();
    match rng.below(12) {
        0..=5 => {
            let value = format!("v{}", rng.below(1000));
            put(db, &key, &value);
            model.insert(key, value);
        }
        6 | 7 => {
            db.delete(&family, key.as_bytes(), &write).unwrap();
            model.remove(&key);
        }
        8 | 9 => {
            db.merge(&family, key.as_bytes(), b"m", &write).unwrap();
            model.entry(key).and_modify(|value| value.push_str(",m")).or_insert_with(|| "m".into());
        }
        10 => {
            let end = format!("k{:02}", rng.below(31));
            if key < end {
                db.delete_range(&family, key.as_bytes(), end.as_bytes(), &write).unwrap();
                model.retain(|k, _| *k < key || *k >= end);
            }
        }
        _ => flush(db),
    }
}

fn shown(db: &Db, snapshot: &Arc<Snapshot>) -> BTreeMap<String, String> {
    let options = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    let mut iter = db.iter(&db.default_family().unwrap(), options).unwrap();
    let mut rows = BTreeMap::new();
    iter.seek_to_first();
    while iter.valid() {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        rows.insert(text(iter.key()), text(iter.value()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

#[test]
fn tiering_changes_no_answer() {
    for seed in 0..24 {
        let world = Aging(Machine::new(100 + seed));
        let rng = SeededRng::new(seed);
        let style = STYLES[seed as usize % 2];
        let more = "disable_auto_compactions=false;level0_file_num_compaction_trigger=2;target_file_size_base=4096;\
                    write_buffer_size=65536;max_bytes_for_level_base=16384";
        let mut db = world.open(tiered(style, more));
        let mut model = BTreeMap::new();
        let mut snapshots: Vec<(Arc<Snapshot>, BTreeMap<String, String>)> = Vec::new();
        for _ in 0..400 {
            step(&db, &rng, &mut model);
            match rng.below(40) {
                0 => compact_whole(&db),
                1..=6 => world.pass(rng.below(3000)),
                7 => snapshots.push((db.snapshot(), model.clone())),
                8 if !snapshots.is_empty() => drop(snapshots.remove(0)),
                9 => {
                    snapshots.clear();
                    db.close().unwrap();
                    drop(db);
                    db = world.open(tiered(style, more));
                }
                _ => {}
            }
            if rng.below(20) == 0 {
                let rows: BTreeMap<_, _> = scan(&db).into_iter().collect();
                assert_eq!(rows, model, "seed {seed}");
                for (snapshot, model) in &snapshots {
                    assert_eq!(shown(&db, snapshot), *model, "seed {seed}");
                }
                for key in model.keys() {
                    assert_eq!(crate::basic::get(&db, key).as_ref(), model.get(key), "seed {seed}");
                }
            }
        }
        let used = levels(&db, &world.0.env);
        assert!(used.keys().any(|level| *level >= ABOVE_LAST), "seed {seed}: {used:?}");
    }
}

#[test]
fn tables_note_the_temperature_they_are_written_with() {
    let world = Aging(Machine::new(18));
    let family = FamilyOptions {
        default_write_temperature: Temperature::Warm,
        last_level_temperature: Temperature::Cold,
        ..FamilyOptions::default()
    };
    let db = world.open(family.clone());
    let temperatures = |db: &Db| {
        let version = db.default_family().unwrap().pin().version.clone();
        version.files().map(|(_, f)| f.temperature).collect::<Vec<_>>()
    };
    put(&db, "a", "1");
    put(&db, "b", "1");
    flush(&db);
    assert_eq!(temperatures(&db), [Temperature::Warm as u8]);
    put(&db, "a", "2");
    put(&db, "b", "2");
    compact_whole(&db);
    assert_eq!(temperatures(&db), [Temperature::Cold as u8]);
    drop(db);
    assert_eq!(temperatures(&world.open(family)), [Temperature::Cold as u8], "in the MANIFEST too");
}

/// Follows RocksDB `utilities/table_properties_collectors/compact_for_tiering_collector.cc`.
#[test]
fn a_flush_of_old_entries_is_marked_and_counted_by_the_tiering_collector() {
    let flushed = |ratio: &str, old: usize, more: &str| {
        let world = Aging(Machine::new(47));
        let collector = format!(
            "table_properties_collectors={{id=CompactForTieringCollector;compaction_trigger_ratio={ratio}}};{more}"
        );
        let db = world.open(tiered(CompactionStyle::Level, &collector));
        (0..old).for_each(|i| put(&db, &format!("old{i}"), "1"));
        world.pass(20_000);
        (old..10).for_each(|i| put(&db, &format!("young{i}"), "1"));
        flush(&db);
        let family = db.default_family().unwrap();
        let is_marked = family.pin().version.files().next().unwrap().1.is_marked();
        let properties = db.files().table_properties(&family, None).unwrap();
        let count = properties.values().next().unwrap().user("rocksdb.eligible.last.level.entries");
        (is_marked, count.map(|count| String::from_utf8_lossy(count).into_owned()))
    };
    let counted = |count: &str| Some(count.to_string());
    assert_eq!(flushed("0.5", 4, ""), (false, counted("4")));
    assert_eq!(flushed("0.4", 4, ""), (true, counted("4")));
    assert_eq!(flushed("0.4", 0, ""), (false, None), "young entries");
    assert_eq!(flushed("1.1", 10, ""), (false, counted("10")), "a ratio above 1 only counts");
    assert_eq!(flushed("0", 10, ""), (false, None));
    assert_eq!(flushed("0.4", 10, "preclude_last_level_data_seconds=0"), (false, None), "no tiering");
}
