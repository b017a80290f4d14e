//! Tests of options that enable a feature: each feature has an effect.

use base::Level;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use env::Env;
use env::clock::Clock;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, FlushReason, Listener};
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionOptions, DbOptions, FamilyOptions, WriteOptions,
};
use parking_lot::Mutex;

use crate::basic::{flush, get, options, put, scan};

/// Keeps every event.
#[derive(Default)]
pub struct Ear(Mutex<Vec<Event>>);

impl Listener for Ear {
    fn on_event(&self, event: &Event) {
        self.0.lock().push(event.clone());
    }
}

impl Ear {
    pub fn heard(&self, name: &str) -> usize {
        self.0.lock().iter().filter(|event| event.name() == name).count()
    }

    pub fn events(&self) -> Vec<Event> {
        self.0.lock().clone()
    }
}

fn open(options: DbOptions, family: FamilyOptions) -> (Db, Arc<Ear>) {
    let ear = Arc::new(Ear::default());
    let mut request = OpenRequest::new("/db", options, family);
    request.components.listeners.push(ear.clone());
    (Db::open(request).unwrap(), ear)
}

#[cfg(feature = "zstd")]
#[test]
fn a_compressed_wal_is_smaller_and_is_replayed() {
    use ironstone_engine::options::CompressionType;
    let bytes_of_log = |kind: CompressionType| {
        let env = Env::memory(1);
        let db = DbOptions { wal_compression: kind, ..options(&env) };
        let (db, _) = open(db, FamilyOptions::default());
        for i in 0..100 {
            put(&db, &format!("key{i:03}"), &"value".repeat(20));
        }
        put(&db, "long", &"long value".repeat(20_000));
        let names = env.fs.list(Path::new("/db")).unwrap();
        let size = names
            .iter()
            .filter(|n| n.ends_with(".log"))
            .map(|n| env.fs.file_size(&Path::new("/db").join(n)).unwrap());
        let size: u64 = size.sum();
        drop(db);
        let db = crate::basic::open(&env, FamilyOptions::default());
        assert_eq!(scan(&db).len(), 101);
        assert_eq!(get(&db, "long").unwrap().len(), 200_000);
        size
    };
    assert!(bytes_of_log(CompressionType::ZSTD) * 4 < bytes_of_log(CompressionType::NONE));
}

#[test]
fn a_compaction_of_one_file_and_a_universal_compaction_after_level_0_have_subcompactions() {
    // RocksDB: `Compaction::ShouldFormSubcompactions` and `CompactionJob::GenSubcompactionBoundaries`.
    let started = |text: &str, compact: &dyn Fn(&Db)| {
        let env = Env::memory(13);
        let mut family = FamilyOptions::default();
        family
            .update("target_file_size_base=4096;disable_auto_compactions=true;compression=kNoCompression")
            .unwrap();
        family.update(text).unwrap();
        let (db, ear) = open(DbOptions { max_subcompactions: 3, ..options(&env) }, family);
        (0..300).for_each(|i| put(&db, &format!("key{i:03}"), &"value".repeat(20)));
        flush(&db);
        compact(&db);
        ear.heard("subcompaction_started")
    };
    let all = |db: &Db| {
        let forced = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        db.compactions().compact_range(&db.default_family().unwrap(), None, None, &forced).unwrap();
    };
    let named = |db: &Db| {
        let family = db.default_family().unwrap();
        let files: Vec<_> = family.pin().version.files().map(|(_, file)| file.number).collect();
        db.compactions()
            .compact_files(&family, &files, Level::new(6), None, &CompactionOptions::default())
            .unwrap();
    };
    assert_eq!(started("", &all), 3);
    assert_eq!(started("compaction_style=kCompactionStyleUniversal", &all), 3);
    assert_eq!(started("", &named), 3);
    assert_eq!(started("target_file_size_base=67108864", &all), 1, "one output file");
}

#[test]
fn listeners_hear_each_step_in_its_order() {
    let env = Env::memory(12);
    let family = FamilyOptions { target_file_size_base: 4 << 10, ..FamilyOptions::default() };
    let (db, ear) = open(DbOptions { max_subcompactions: 3, ..options(&env) }, family);
    for round in 0..2 {
        for i in 0..300 {
            put(&db, &format!("key{i:03}"), &format!("{round}{}", "value".repeat(20)));
        }
        flush(&db);
    }
    let names = |ear: &Ear| ear.events().iter().map(Event::name).collect::<Vec<_>>();
    let heard = names(&ear);
    let flush_steps = [
        "manual_flush_scheduled",
        "memtable_sealed",
        "flush_started",
        "table_file_creation_started",
        "table_file_creation",
        "flush_finished",
    ];
    let mut at = heard.iter();
    assert!(flush_steps.iter().all(|step| at.any(|name| name == step)), "{heard:?}");
    let default = db.default_family().unwrap();
    db.compactions().compact_range(&default, None, None, &CompactRangeOptions::default()).unwrap();
    let compaction: Vec<&str> = names(&ear)[heard.len()..].to_vec();
    let mut at = compaction.iter();
    let steps = [
        "compaction_started",
        "subcompaction_started",
        "table_file_creation_started",
        "subcompaction_finished",
        "compaction_pre_commit",
        "compaction_finished",
    ];
    assert!(steps.iter().all(|step| at.any(|name| name == step)), "{compaction:?}");
    assert_eq!(ear.heard("table_file_creation"), ear.heard("table_file_creation_started"));
    assert_eq!(ear.heard("subcompaction_started"), ear.heard("subcompaction_finished"));
    assert_eq!(ear.heard("db_shutdown_begin"), 0);
    db.close().unwrap();
    assert_eq!(ear.heard("db_shutdown_begin"), 1);
}

#[test]
fn two_write_queues_do_not_write_in_a_pipeline() {
    for (two_write_queues, enable_pipelined_write) in [(true, true), (true, false), (false, true)] {
        let env = Env::memory(9);
        let db = DbOptions { two_write_queues, enable_pipelined_write, ..options(&env) };
        let (db, _) = open(db, FamilyOptions::default());
        let family = db.default_family().unwrap();
        let written = db.put(&family, b"k", b"v", &WriteOptions::default());
        let refused = written.err().map(|error| error.kind());
        let both = two_write_queues && enable_pipelined_write;
        assert_eq!(refused, both.then_some(base::Kind::NotSupported));
        assert_eq!(get(&db, "k").is_some(), !both);
    }
}

#[test]
fn range_deletions_fill_a_memtable() {
    let env = Env::memory(2);
    let family = FamilyOptions { memtable_max_range_deletions: 3, ..FamilyOptions::default() };
    let (db, ear) = open(options(&env), family);
    let default = db.default_family().unwrap();
    for i in 0..3 {
        db.delete_range(
            &default,
            format!("a{i}").as_bytes(),
            format!("b{i}").as_bytes(),
            &WriteOptions::default(),
        )
        .unwrap();
    }
    put(&db, "c", "1");
    db.background().wait_for_compact().unwrap();
    let reasons: Vec<_> = ear
        .events()
        .into_iter()
        .filter_map(|event| if let Event::FlushFinished(e) = event { Some(e.reason) } else { None })
        .collect();
    assert_eq!(reasons, [FlushReason::MemtableMaxRangeDeletions]);
}

#[test]
fn paranoid_tables_are_read_through() {
    let env = Env::memory(3);
    let mut family = FamilyOptions { paranoid_file_checks: true, ..FamilyOptions::default() };
    // Checks of blocks, entries and the file checksum, for local compactions.
    family.set("verify_output_flags", "1031").unwrap();
    let mut db = options(&env);
    db.set("file_checksum_gen_factory", "FileChecksumGenCrc32cFactory").unwrap();
    let (db, _) = open(db, family);
    for i in 0..1000 {
        put(&db, &format!("key{i:04}"), "value");
    }
    flush(&db);
    let default = db.default_family().unwrap();
    db.compactions().compact_range(&default, None, None, &Default::default()).unwrap();
    assert_eq!(scan(&db).len(), 1000);
}

#[test]
fn the_archive_keeps_wals_for_the_configured_time() {
    let env = Env::memory(4);
    let (db, _) = open(DbOptions { WAL_ttl_seconds: 100, ..options(&env) }, FamilyOptions::default());
    let archived = || env.fs.list(Path::new("/db/archive")).map_or(0, |names| names.len());
    for i in 0..3 {
        put(&db, "key", &i.to_string());
        flush(&db);
    }
    assert_eq!(archived(), 3);
    env.clock.sleep_micros(101_000_000);
    put(&db, "key", "4");
    flush(&db);
    assert_eq!(archived(), 1);
    // No write and no flush follows. Disabled deletions keep the WAL.
    db.files().disable_deletions();
    let let_pass = |seconds: u64| {
        for _ in 0..seconds {
            env.clock.sleep_micros(1_000_000);
            while env.executor.help() {}
        }
    };
    let_pass(151);
    assert_eq!(archived(), 1);
    db.files().enable_deletions();
    let_pass(50);
    assert_eq!(archived(), 0);
    drop(db);
    let size = DbOptions { WAL_size_limit_MB: 1, ..options(&env) };
    let (db, _) = open(size, FamilyOptions::default());
    for _ in 0..3 {
        put(&db, "key", &"x".repeat(700 << 10));
        flush(&db);
    }
    assert_eq!(archived(), 1, "two of 700 KiB are more than a mebibyte");
}

#[test]
fn prefix_seek_acts_only_on_request() {
    let env = Env::memory(5);
    let mut family = FamilyOptions::default();
    family.set("prefix_extractor", "fixed:1").unwrap();
    family.set("table_factory", "{filter_policy=bloomfilter:10;whole_key_filtering=false}").unwrap();
    let (db, _) = open(DbOptions { prefix_seek_opt_in_only: true, ..options(&env) }, family);
    put(&db, "a1", "1");
    put(&db, "c1", "1");
    flush(&db);
    let default = db.default_family().unwrap();
    let mut iter = db.iter(&default, Default::default()).unwrap();
    iter.seek(b"b");
    assert_eq!(iter.key(), b"c1", "no filter hides the next prefix");
}

#[test]
fn an_older_release_reads_what_compat_writes() {
    let env = Env::memory(6);
    let mut db = options(&env);
    db.set("compat", "8.6").unwrap();
    let mut family = FamilyOptions::default();
    family.set("table_factory", "{format_version=7;separate_key_value_in_data_block=true}").unwrap();
    let (handle, _) = open(db.clone(), family.clone());
    put(&handle, "key", "value");
    flush(&handle);
    let default = handle.default_family().unwrap();
    let table = default.options().table_factory.block_based().unwrap().clone();
    assert_eq!((table.format_version, table.separate_key_value_in_data_block), (6, false));
    handle.admin().set_options(&default, &[("table_factory", "{format_version=7}")]).unwrap();
    assert_eq!(default.parts().table.format_version, 6);
    drop(handle);
    for (option, value, compat, words) in [
        ("track_and_verify_wals", "true", "9.10", "9.11"),
        ("compat", "", "6.29", "releases before 7.0"),
        ("compat", "", "new", "not a release"),
    ] {
        let mut db = options(&Env::memory(7));
        if !value.is_empty() {
            db.set(option, value).unwrap();
        }
        let refused = db
            .set("compat", compat)
            .and_then(|()| Db::open(OpenRequest::new("/db", db, FamilyOptions::default())).map(|_| ()));
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn long_chains_of_operands_are_merged_at_write() {
    for (pipelined, merged) in [(false, true), (true, false)] {
        let env = Env::memory(8);
        let db = DbOptions { enable_pipelined_write: pipelined, ..options(&env) };
        let mut family = FamilyOptions { max_successive_merges: 3, ..FamilyOptions::default() };
        family.set("merge_operator", "stringappend").unwrap();
        let (db, _) = open(db, family);
        let default = db.default_family().unwrap();
        put(&db, "based", "0");
        for i in 1..=10 {
            for key in ["based", "bare"] {
                db.merge(&default, key.as_bytes(), i.to_string().as_bytes(), &WriteOptions::default())
                    .unwrap();
            }
        }
        assert_eq!(get(&db, "based").as_deref(), Some("0,1,2,3,4,5,6,7,8,9,10"));
        assert_eq!(get(&db, "bare").as_deref(), Some("1,2,3,4,5,6,7,8,9,10"), "its base may lie deeper");
        let operands = db.reads().operands(&default, b"based", &Default::default()).unwrap();
        assert_eq!(operands.len() <= 4, merged, "{} operands", operands.len());
        db.delete_range(&default, b"a", b"c", &WriteOptions::default()).unwrap();
        for i in 0..5 {
            db.merge(&default, b"based", i.to_string().as_bytes(), &WriteOptions::default()).unwrap();
        }
        assert_eq!(get(&db, "based").as_deref(), Some("0,1,2,3,4"));
        flush(&db);
        assert_eq!(scan(&db), [("based".to_string(), "0,1,2,3,4".to_string())]);
        drop(db);
    }
}

#[test]
fn a_manifest_that_fails_its_verification_is_written_again() {
    let env = Env::memory(9);
    let statistics = Arc::new(base::stats::Statistics::new());
    let db = DbOptions {
        verify_manifest_content_on_close: true,
        statistics: Some(statistics.clone()),
        ..options(&env)
    };
    let failures = || statistics.ticker(base::stats::Ticker::ManifestValidationFailureCount);
    let (handle, _) = open(db.clone(), FamilyOptions::default());
    put(&handle, "key", "value");
    flush(&handle);
    handle.close().unwrap();
    assert_eq!(failures(), 0);
    drop(handle);
    let (handle, _) = open(db, FamilyOptions::default());
    let manifest = |env: &Env| {
        let names = env.fs.list(Path::new("/db")).unwrap();
        Path::new("/db").join(names.into_iter().find(|name| name.starts_with("MANIFEST")).unwrap())
    };
    let path = manifest(&env);
    let mut bytes = env.fs.read_all(&path, 1 << 20).unwrap();
    bytes[10] ^= 1;
    env.fs.write_all(&path, &bytes, true).unwrap();
    handle.close().unwrap();
    assert_eq!(failures(), 1);
    drop(handle);
    let db = crate::basic::open(&env, FamilyOptions::default());
    assert_eq!(get(&db, "key").as_deref(), Some("value"));
}

#[test]
fn compactions_may_read_past_the_page_cache() {
    let env = Env::memory(7);
    let opens = |direct: bool| {
        let statistics = Arc::new(base::stats::Statistics::new());
        let db = DbOptions {
            use_direct_io_for_compaction_reads: direct,
            statistics: Some(statistics.clone()),
            ..options(&env)
        };
        let (db, _) = open(db, FamilyOptions::default());
        for value in ["1", "2"] {
            put(&db, "key", value);
            flush(&db);
        }
        get(&db, "key");
        let before = statistics.ticker(base::stats::Ticker::NoFileOpens);
        db.compactions()
            .compact_range(&db.default_family().unwrap(), None, None, &Default::default())
            .unwrap();
        assert_eq!(get(&db, "key").as_deref(), Some("2"));
        statistics.ticker(base::stats::Ticker::NoFileOpens) - before
    };
    // The compaction opens table readers of its own for its inputs, separate from the readers of lookups.
    assert!(opens(true) > opens(false));
}

#[test]
fn tables_may_be_opened_after_the_database() {
    let mut env = Env::memory(8);
    let disk = env::fault::FaultFs::wrap(env.fs.clone());
    env.fs = disk.clone();
    let later = |paranoid_checks| DbOptions {
        open_files_async: true,
        skip_stats_update_on_db_open: true,
        paranoid_checks,
        ..options(&env)
    };
    let (db, _) = open(later(true), FamilyOptions::default());
    put(&db, "key", "1");
    flush(&db);
    drop(db);
    let (db, _) = open(later(true), FamilyOptions::default());
    assert_eq!(get(&db, "key").as_deref(), Some("1"), "a read opens what it needs");
    env.executor.wait_for_all();
    drop(db);
    for paranoid in [true, false] {
        disk.hook().set_plan("read *.sst * EIO").unwrap();
        let (db, _) = open(later(paranoid), FamilyOptions::default());
        env.executor.wait_for_all();
        assert_eq!(db.background().error().is_some(), paranoid, "told once it is found");
        disk.hook().set_plan("").unwrap();
        drop(db);
    }
}

#[test]
fn readers_see_unordered_writes_in_order() {
    let mut env = Env::memory(9);
    env.executor = Arc::new(env::executor::Threads::new());
    let (db, _) = open(DbOptions { unordered_write: true, ..options(&env) }, FamilyOptions::default());
    std::thread::scope(|scope| {
        for thread in 0..3u8 {
            let db = &db;
            scope.spawn(move || {
                for i in 0..200u8 {
                    let key = format!("{thread}-{i:03}");
                    put(db, &key, "v");
                    assert!(get(db, &key).is_some(), "a writer sees what it wrote");
                }
            });
        }
        let snapshots = scope.spawn(|| {
            for _ in 0..50 {
                let snapshot = db.snapshot();
                let options = || ironstone_engine::options::ReadOptions {
                    snapshot: Some(snapshot.clone()),
                    ..Default::default()
                };
                let count = || {
                    let mut iter = db.iter(&db.default_family().unwrap(), options()).unwrap();
                    iter.seek_to_first();
                    std::iter::from_fn(|| iter.valid().then(|| iter.next())).count()
                };
                assert_eq!(count(), count(), "a snapshot does not change");
            }
        });
        snapshots.join().unwrap();
    });
    assert_eq!(scan(&db).len(), 600);
}

#[test]
fn a_compaction_of_sorted_runs_makes_about_one_comparison_for_each_entry() {
    let env = Env::memory(31);
    let (db, ear) = open(
        DbOptions { ..options(&env) },
        FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() },
    );
    const FILES: u32 = 4;
    const RUN: u32 = 500;
    // Runs: each file has every fourth range of the keys.
    for file in 0..FILES {
        for stretch in 0..3 {
            for i in 0..RUN {
                let at = (stretch * FILES + file) * RUN + i;
                put(&db, &format!("{at:08}"), "value");
            }
        }
        flush(&db);
    }
    let default = db.default_family().unwrap();
    db.compactions().compact_range(&default, None, None, &Default::default()).unwrap();
    let finished: Vec<_> = ear
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::CompactionFinished(e) => {
                Some((e.counts.num_input_records, e.counts.num_merge_comparisons))
            }
            _ => None,
        })
        .collect();
    let rows = u64::from(3 * FILES * RUN);
    assert!(
        matches!(finished[..], [(input, comparisons)] if input == rows && (rows..rows + rows / 20).contains(&comparisons)),
        "{finished:?}"
    );
}

#[test]
fn the_family_of_persisted_statistics_opens_unasked() {
    const NAME: &str = "___rocksdb_stats_history___";
    let env = Env::memory(10);
    let (db, _) = open(options(&env), FamilyOptions::default());
    let stats = ironstone_engine::components::FamilyDescriptor::new(NAME, FamilyOptions::default());
    let family = db.admin().create_family(stats).unwrap();
    db.put(&family, b"1", b"ticker", &WriteOptions::default()).unwrap();
    drop((db, family));
    let (db, _) = open(options(&env), FamilyOptions::default());
    let family = db.family(NAME).unwrap();
    assert_eq!(family.options().write_buffer_size, 2 << 20);
    assert_eq!(db.get(&family, b"1", &Default::default()).unwrap().as_deref(), Some(&b"ticker"[..]));
}

/// A clock with a processor time: each look at this time finds one more millisecond.
#[derive(Debug)]
struct TickingClock(Arc<dyn Clock>, AtomicU64);

impl Clock for TickingClock {
    fn now_micros(&self) -> u64 {
        self.0.now_micros()
    }

    fn now_nanos(&self) -> u64 {
        self.0.now_nanos()
    }

    fn cpu_nanos(&self) -> u64 {
        self.1.fetch_add(1_000_000, Ordering::Relaxed)
    }

    fn sleep_micros(&self, micros: u64) {
        self.0.sleep_micros(micros);
    }
}

/// RocksDB: `CompactionJob::UpdateTimingStats`.
#[test]
fn the_processor_time_of_a_compaction_is_the_sum_of_its_subcompactions() {
    let mut env = Env::memory(14);
    env.clock = Arc::new(TickingClock(env.clock.clone(), AtomicU64::new(0)));
    let mut family = FamilyOptions::default();
    family
        .update("target_file_size_base=4096;disable_auto_compactions=true;compression=kNoCompression")
        .unwrap();
    let (db, ear) = open(DbOptions { max_subcompactions: 3, ..options(&env) }, family);
    (0..300).for_each(|i| put(&db, &format!("key{i:03}"), &"value".repeat(20)));
    flush(&db);
    let forced = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compactions().compact_range(&db.default_family().unwrap(), None, None, &forced).unwrap();
    let (mut parts, mut whole) = (Vec::new(), Vec::new());
    for event in ear.events() {
        match event {
            Event::SubcompactionFinished(e) => parts.push(e.stats.times.cpu_micros),
            // The first compaction moves the file.
            Event::CompactionFinished(e) if e.counts.num_subcompactions > 0 => {
                whole.push((e.stats.times.cpu_micros, e.compaction_time_cpu_micros))
            }
            _ => {}
        }
    }
    assert_eq!((parts, whole), (vec![1000; 3], vec![(3000, 3000)]));
}
