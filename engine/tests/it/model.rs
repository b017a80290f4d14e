//! Random operations, compared with a map. Options are random; the database is reopened and crashed in between.
//!
//! After a crash the database must hold one state of its history, and this state must not be older than the
//! durable state: it is a prefix of the writes. The test runs in one thread, so one seed gives one run.

use base::Level;
use std::collections::BTreeMap;
use std::sync::Arc;

use env::Rng;
use env::memory::Survivors;
use env::rng::SeededRng;
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::family::Family;
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionOptions, CompactionStyle, CompressionType,
    DbOptions, DbPath, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};
use testkit::machine::Machine;

type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// A machine with a database whose options each open draws.
struct ModelRun {
    machine: Machine,
    rng: SeededRng,
    /// In every open, the SST files are in two directories. Each directory is found by its index in the list.
    far: bool,
}

impl ModelRun {
    fn new(seed: u64) -> Self {
        ModelRun { machine: Machine::new(seed ^ 1), rng: SeededRng::new(seed), far: seed % 4 == 3 }
    }

    fn flip(&self) -> bool {
        self.rng.below(2) == 0
    }

    fn request(&self) -> OpenRequest {
        let r = &self.rng;
        let atomic_flush = r.below(4) == 0;
        let unordered = r.below(4) == 0;
        let later = !self.far && r.below(4) == 0;
        let pipelined = !atomic_flush && !unordered && self.flip();
        let mut options = DbOptions {
            create_if_missing: true,
            env: self.machine.env.clone(),
            enable_pipelined_write: pipelined,
            allow_concurrent_memtable_write: unordered || self.flip(),
            unordered_write: unordered,
            two_write_queues: !pipelined && self.flip(),
            use_direct_io_for_compaction_reads: self.flip(),
            open_files_async: later,
            skip_stats_update_on_db_open: later,
            recycle_log_file_num: r.below(3) as usize,
            max_subcompactions: 1 + r.below(3) as u32,
            avoid_flush_during_recovery: self.flip(),
            max_background_jobs: 1 + r.below(5) as i32,
            track_and_verify_wals_in_manifest: self.flip(),
            track_and_verify_wals: true,
            atomic_flush,
            reuse_manifest_on_open: self.flip(),
            max_open_files: if self.flip() { -1 } else { 20 },
            ..DbOptions::default()
        };
        let mut family = FamilyOptions {
            compaction_style: match r.below(8) {
                0 if !self.far && !later => CompactionStyle::Fifo,
                1 if !self.far => CompactionStyle::None,
                2 | 3 => CompactionStyle::Universal,
                _ => CompactionStyle::Level,
            },
            write_buffer_size: 64 << 10,
            level0_file_num_compaction_trigger: 2 + r.below(4) as i32,
            max_bytes_for_level_base: 64 << (10 + r.below(4)),
            target_file_size_base: 4 << (10 + r.below(5)),
            max_write_buffer_number: 2 + r.below(3) as i32,
            min_write_buffer_number_to_merge: 1 + r.below(2) as i32,
            level_compaction_dynamic_level_bytes: self.flip(),
            compression: if self.flip() { CompressionType::NONE } else { CompressionType::SNAPPY },
            disable_auto_compactions: r.below(8) == 0,
            memtable_op_scan_flush_trigger: if r.below(4) == 0 { 5 } else { 0 },
            memtable_avg_op_scan_flush_trigger: r.below(3) as u32,
            block_protection_bytes_per_key: [0, 1, 8][r.below(3) as usize],
            memtable_protection_bytes_per_key: [0, 2, 8][r.below(3) as usize],
            paranoid_memory_checks: r.below(4) == 0,
            memtable_verify_per_key_checksum_on_seek: r.below(4) == 0,
            max_successive_merges: if unordered { 0 } else { r.below(3) as usize },
            strict_max_successive_merges: self.flip(),
            max_write_buffer_size_to_maintain: [0, -1, 100_000][r.below(3) as usize],
            read_triggered_compaction_threshold: if r.below(3) == 0 { 0.01 } else { 0.0 },
            min_tombstones_for_range_conversion: r.below(3) as u32,
            inplace_update_support: !options.allow_concurrent_memtable_write && self.flip(),
            inplace_update_num_locks: r.below(3) as usize,
            merge_operator: lsm::merge::by_name("stringappend"),
            ..FamilyOptions::default()
        };
        family.compaction_options_fifo.max_table_files_size = 1 << 40;
        family.compaction_options_fifo.allow_compaction = self.flip();
        match family.compaction_style {
            CompactionStyle::Fifo => options.max_open_files = -1,
            CompactionStyle::None => {
                family.level0_slowdown_writes_trigger = i32::MAX;
                family.level0_stop_writes_trigger = i32::MAX;
            }
            _ => {}
        }
        if self.far {
            let path = |path: &str, target_size| DbPath { path: path.into(), target_size };
            family.cf_paths = vec![path("/db", 200_000), path("/far", 1 << 40)];
        }
        OpenRequest::new("/db", options, family)
    }

    fn key(&self) -> Vec<u8> {
        format!("k{:03}", self.rng.below(200)).into_bytes()
    }
}

/// Returns the entries of the database. Reads them forward, backward, and by key.
fn contents(db: &Db) -> State {
    let family = db.default_family().unwrap();
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    let mut state = State::new();
    iter.seek_to_first();
    while iter.valid() {
        state.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    let mut backward = State::new();
    iter.seek_to_last();
    while iter.valid() {
        backward.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.prev();
    }
    iter.status().unwrap();
    assert_eq!(state, backward, "forward and backward differ");
    for (key, value) in &state {
        let got = db.get(&family, key, &ReadOptions::default()).unwrap();
        assert!(
            got.as_deref() == Some(&value[..]),
            "get of {:?} in\n{}",
            key.escape_ascii().to_string(),
            tree(db)
        );
    }
    state
}

/// Returns the SST files of the column family, for messages of failed runs.
fn tree(db: &Db) -> String {
    let version = db.default_family().unwrap().pin().version.clone();
    let show = |(level, f): (Level, &Arc<lsm::table_file::TableFile>)| {
        format!("{level} {f} epoch {} seq {}..{}\n", f.epoch_number, f.smallest_seq, f.largest_seq)
    };
    version.files().map(show).collect()
}

fn write(world: &ModelRun, db: &Db, state: &mut State) -> bool {
    let family = db.default_family().unwrap();
    let mut batch = WriteBatch::new();
    for _ in 0..1 + world.rng.below(4) {
        let key = world.key();
        match world.rng.below(10) {
            0 | 1 => {
                batch.delete_in(family.id(), &key);
                state.remove(&key);
            }
            2 => {
                let mut end = world.key();
                let mut begin = key;
                if begin > end {
                    std::mem::swap(&mut begin, &mut end);
                }
                batch.delete_range_in(family.id(), &begin, &end);
                state.retain(|k, _| *k < begin || *k >= end);
            }
            3 => {
                batch.merge_in(family.id(), &key, b"m");
                let value = state.entry(key).or_default();
                if !value.is_empty() {
                    value.push(b',');
                }
                value.push(b'm');
            }
            _ => {
                let value = vec![b'a' + world.rng.below(26) as u8; 1 + world.rng.below(2000) as usize];
                batch.put_in(family.id(), &key, &value);
                state.insert(key, value);
            }
        }
    }
    let sync = world.rng.below(8) == 0;
    let protection_bytes_per_key = 8 * world.rng.below(2) as usize;
    db.write(&mut batch, &WriteOptions { sync, protection_bytes_per_key, ..WriteOptions::default() })
        .unwrap();
    sync
}

/// Compacts the whole range, a part of the range, or some SST files by number, to a random level.
fn compact(world: &ModelRun, db: &Db, family: &Arc<Family>) {
    let r = &world.rng;
    let version = family.pin().version.clone();
    match r.below(5) {
        0 => {
            let numbers: Vec<_> =
                version.files().filter(|_| r.below(3) == 0).map(|(_, f)| f.number).collect();
            let to = Level::new(r.below(7) as u8);
            let path = r.below(if world.far { 2 } else { 1 }) as u32;
            let options =
                CompactionOptions { allow_trivial_move: r.below(2) == 0, ..CompactionOptions::default() };
            match db.compactions().compact_files(family, &numbers, to, Some(path), &options) {
                Ok(_) => {}
                Err(e) => {
                    assert!(matches!(e.kind(), base::Kind::InvalidArgument | base::Kind::Aborted), "{e}")
                }
            }
        }
        1 => db.compactions().suggest_compact_range(family, Some(&world.key()), None).unwrap(),
        2 => {
            let to = r.below(8) as i32 - 1;
            let options = CompactRangeOptions {
                change_level: true,
                target_level: to,
                ..CompactRangeOptions::default()
            };
            match db.compactions().compact_range(family, None, None, &options) {
                Ok(()) => {}
                Err(e) => assert!(matches!(e.kind(), base::Kind::NotSupported | base::Kind::Aborted), "{e}"),
            }
        }
        3 => {
            let options = CompactRangeOptions {
                exclusive_manual_compaction: r.below(2) == 0,
                bottommost_level_compaction: BottommostLevelCompaction::Force,
                target_path_id: r.below(if world.far { 2 } else { 1 }) as u32,
                ..CompactRangeOptions::default()
            };
            db.compactions().compact_range(family, Some(&world.key()), Some(&world.key()), &options).unwrap();
        }
        _ => db.compactions().compact_range(family, None, None, &CompactRangeOptions::default()).unwrap(),
    }
}

/// Returns the state of the history with the fewest differences, and these differences.
fn nearest(history: &[State], now: &State) -> String {
    let differences = |state: &State| -> Vec<String> {
        let keys: std::collections::BTreeSet<_> = state.keys().chain(now.keys()).collect();
        let show = |v: Option<&Vec<u8>>| v.map(|v| format!("{}x{}", v[0] as char, v.len()));
        keys.into_iter()
            .filter(|k| state.get(*k) != now.get(*k))
            .map(|k| format!("{}: {:?} not {:?}", k.escape_ascii(), show(now.get(k)), show(state.get(k))))
            .collect()
    };
    let best = history.iter().enumerate().min_by_key(|(_, s)| differences(s).len());
    best.map_or(String::new(), |(i, s)| {
        format!("nearest is {i} of {}: {}", history.len(), differences(s).join("; "))
    })
}

fn run(seed: u64) {
    let world = ModelRun::new(seed);
    let mut db = Db::open(world.request()).unwrap();
    // Every state since the newest state that is known to be durable, oldest first.
    let mut history = vec![State::new()];
    for _ in 0..400 {
        let family = db.default_family().unwrap();
        match world.rng.below(40) {
            0 => {
                let force_atomic_flush = world.rng.below(2) == 0;
                db.flush(&[family], &FlushOptions { force_atomic_flush, ..FlushOptions::default() }).unwrap();
                history.drain(..history.len() - 1);
            }
            1 => compact(&world, &db, &family),
            2 => {
                drop(family);
                drop(db);
                db = Db::open(world.request()).unwrap();
                assert_eq!(contents(&db), history[history.len() - 1], "seed {seed}: reopened");
            }
            3 => {
                let survivors = match world.rng.below(5) {
                    0 => Survivors::Synced,
                    1 => Survivors::Everything,
                    2 => Survivors::NamesWithoutData,
                    3 => Survivors::ZerosForData,
                    _ => Survivors::Random(world.rng.next_u64()),
                };
                world.machine.disk.crash(survivors);
                drop(family);
                drop(db);
                db = Db::open(world.request())
                    .unwrap_or_else(|e| panic!("seed {seed}: after {survivors:?}: {e}"));
                let now = contents(&db);
                let at = history.iter().rposition(|s| *s == now);
                let Some(at) = at else {
                    panic!("seed {seed}: after {survivors:?}: {}", nearest(&history, &now))
                };
                history.truncate(at + 1);
                if world.rng.below(2) == 0 {
                    db.wals().sync().unwrap();
                }
            }
            4 => while world.machine.env.executor.help() {},
            5 => assert_eq!(contents(&db), history[history.len() - 1], "seed {seed}"),
            _ => {
                let mut next = history[history.len() - 1].clone();
                let durable = write(&world, &db, &mut next);
                history.push(next);
                if durable {
                    history.drain(..history.len() - 1);
                }
            }
        }
    }
    assert_eq!(contents(&db), history[history.len() - 1], "seed {seed}: at the end");
}

#[test]
fn random_operations_agree_with_a_map() {
    let seeds = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(8);
    let from = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    for seed in from..from + seeds {
        run(seed);
    }
}
