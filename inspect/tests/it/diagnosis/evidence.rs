//! Findings from the info log, from the statistics, and from the names and bytes of single files.

use std::path::Path;

use env::Env;
use ironstone::{Db, FamilyDescriptor, Options};
use ironstone_inspect::doctor::{Change, Finding, Severity};
use ironstone_inspect::model::{Budget, FileKind, load};

use super::{Load, PLAIN, assert_acceptable, fill, findings, rewrite, rules, seeded, value};

/// Writes an info log in place of the info log of a sound database, and returns the rules of its findings.
fn rules_of_log(log: &str, options: &[(&str, &str)]) -> Vec<&'static str> {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "", Load { compact: true, ..PLAIN });
    rewrite(dir.path(), "OPTIONS", options);
    std::fs::write(dir.path().join("LOG"), log).unwrap();
    findings(dir.path()).iter().for_each(assert_acceptable);
    rules(dir.path())
}

#[test]
fn writes_without_wal_and_syncs_of_each_write_are_found_in_the_statistics() {
    let dump = |wal: &str| {
        format!(
            "2026/01/01-00:00:00.000000 1 [/db_impl.cc:1] ------- DUMPING STATS -------\n** DB Stats **\n\
             Cumulative writes: 60K writes, 60K keys, 60K commit groups, 1.0 writes per commit group\n\
             Cumulative WAL: {wal}, written: 0.10 GB, 0.20 MB/s\n"
        )
    };
    assert_eq!(rules_of_log(&dump("0 writes, 0 syncs, 0.00 writes per sync"), &[]), ["no-wal"]);
    assert_eq!(rules_of_log(&dump("60K writes, 60K syncs, 1.00 writes per sync"), &[]), ["sync-each-write"]);
    assert_eq!(rules_of_log(&dump("60K writes, 20 syncs, 3000.00 writes per sync"), &[]), [""; 0]);
}

#[test]
fn shards_strict_limit_and_size_of_the_block_cache_are_found_in_the_info_log() {
    let cache = |capacity: u64, bits: u32, strict: u32| {
        format!(
            "2026/01/01-00:00:00.000000 1 --------------- Options for column family [default]:\n\
             2026/01/01-00:00:00.000000 1            table_factory options:   flush_block_policy_factory: x\n\
             \x20   capacity : {capacity}\n    num_shard_bits : {bits}\n    strict_capacity_limit : {strict}\n"
        )
    };
    assert_eq!(rules_of_log(&cache(33_554_432, 6, 0), &[]), [""; 0]);
    assert_eq!(rules_of_log(&cache(33_554_432, 10, 0), &[]), ["cache-shards"]);
    assert_eq!(rules_of_log(&cache(33_554_432, 6, 1), &[]), ["strict-cache-limit"]);
    assert_eq!(rules_of_log(&cache(262_144, 0, 0), &[]), ["small-block-cache"]);
    let direct = ("use_direct_reads=false", "use_direct_reads=true");
    assert_eq!(rules_of_log(&cache(262_144, 0, 0), &[direct]), ["direct-reads", "small-block-cache"]);
    assert_eq!(rules_of_log(&cache(33_554_432, 6, 0), &[direct]), [""; 0], "the cache holds the database");
}

#[test]
fn info_log_alone_gives_the_findings_about_levels_and_options() {
    let log = "\
2026/01/01-00:00:00.000000 1 RocksDB version: 8.1.1
2026/01/01-00:00:00.000000 1 --------------- Options for column family [users]:
2026/01/01-00:00:00.000000 1         Options.write_buffer_size: 65536
2026/01/01-00:00:00.000000 1         Options.level0_file_num_compaction_trigger: 4
** Compaction Stats [users] **
Level    Files   Size     Score
  L0      4/0   622.50 KB   1.0
  L6    161/0    31.50 MB   0.9
";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOG");
    std::fs::write(&path, log).unwrap();
    let found = findings(&path);
    let small = found.iter().find(|finding| finding.rule == "small-write-buffer").unwrap();
    assert_eq!(small.family.as_deref(), Some("users"));
    assert!(small.evidence.iter().any(|line| line.contains("32.1 MiB")), "{small:?}");
    std::fs::write(&path, log.replace("161/0", "99999999999999/0")).unwrap();
    assert!(!findings(&path).is_empty(), "the number of files is limited");
    std::fs::write(&path, "MANIFEST-000005\n").unwrap();
    let error = load(&Env::posix(), &path, &Budget::COMMAND).unwrap_err();
    assert!(error.to_string().contains("no line of an info log"), "{error}");
}

#[test]
fn unreadable_options_file_is_no_loss_of_data() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "", Load { compact: true, ..PLAIN });
    rewrite(dir.path(), "OPTIONS", &[("[Version]", "[[ 1")]);
    let found = findings(dir.path());
    let rules: Vec<_> = found.iter().map(|finding| (finding.rule, finding.severity)).collect();
    assert_eq!(rules, [("damaged-options", Severity::Warning)]);
    assert!(found[0].evidence[0].starts_with("OPTIONS-"), "{:?}", found[0]);
}

#[test]
fn very_many_range_tombstones_are_found() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "", Load { compact: true, ..PLAIN });
    assert_eq!(rules(dir.path()), [""; 0]);
    let db = Db::open(dir.path(), Options::default()).unwrap();
    for n in 0..1000 {
        let (start, end) = (format!("key{n:08}"), format!("key{n:08}x"));
        db.delete_range(start.as_bytes(), end.as_bytes()).unwrap();
    }
    db.flush().unwrap();
    drop(db);
    let found = rules(dir.path());
    assert!(found.contains(&"range-tombstones"), "{found:?}");
}

#[test]
fn many_small_blob_files_and_writes_that_no_file_has_are_found() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "enable_blob_files=true;min_blob_size=1000;blob_file_size=16384", PLAIN);
    let found = rules(dir.path());
    assert!(found.contains(&"small-blob-files"), "{found:?}");
    findings(dir.path()).iter().for_each(assert_acceptable);
    let empty = tempfile::tempdir().unwrap();
    seeded(empty.path(), "", Load { bytes: 0, ..PLAIN });
    let text = "** DB Stats **\nCumulative writes: 60K writes, 60K keys, 60K commit groups\n\
                Cumulative WAL: 0 writes, 0 syncs, 0.00 writes per sync, written: 0.00 GB\n";
    std::fs::write(empty.path().join("LOG"), text).unwrap();
    assert_eq!(rules(empty.path()), ["no-wal"]);
}

#[test]
fn statistics_that_time_each_mutex_are_found_in_the_info_log() {
    let level =
        |level: u32| format!("2026/01/01-00:00:00.000000 1     Options.statistics stats level: {level}\n");
    assert_eq!(rules_of_log(&level(5), &[]), ["statistics-level"]);
    assert_eq!(rules_of_log(&level(3), &[]), [""; 0]);
}

#[test]
fn snapshot_that_outlives_many_compactions_is_found() {
    let log = |compactions: u64, bytes: u64| {
        let mut log = "2026/01/01-00:00:00.000000 1 RocksDB version: 11.8.1\n".to_string();
        for job in 0..compactions {
            let micros = 1_767_225_600_000_000 + job * 60_000_000;
            log.push_str(&format!(
                "2026/01/01-00:00:00.000000 1 EVENT_LOG_v1 {{\"time_micros\": {micros}, \"job\": {job}, \"event\": \"compaction_started\", \"oldest_snapshot_seqno\": 100, \"input_data_size\": {bytes}}}\n"
            ));
        }
        log
    };
    assert_eq!(rules_of_log(&log(8, 1 << 20), &[]), ["held-snapshot"]);
    assert_eq!(rules_of_log(&log(7, 1 << 20), &[]), [""; 0], "a long scan has a snapshot too");
    assert_eq!(rules_of_log(&log(8, 1 << 10), &[]), [""; 0], "small compactions keep few entries");
}

#[test]
fn missing_filters_weigh_more_if_many_lookups_find_nothing() {
    let tickers = |missed: u64| {
        format!(
            "rocksdb.memtable.hit COUNT : 0\nrocksdb.memtable.miss COUNT : 100000\n\
             rocksdb.l0.hit COUNT : 0\nrocksdb.l1.hit COUNT : 0\nrocksdb.l2andup.hit COUNT : {}\n",
            100_000 - missed
        )
    };
    let hits = ("optimize_filters_for_hits=false", "optimize_filters_for_hits=true");
    assert_eq!(rules_of_log(&tickers(20_000), &[hits]), ["no-last-filter"]);
    assert_eq!(rules_of_log(&tickers(2_000), &[hits]), [""; 0], "most keys exist");
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "", PLAIN);
    let severity = |dir: &Path| findings(dir).iter().find(|f| f.rule == "no-filter").unwrap().severity;
    assert_eq!(severity(dir.path()), Severity::Advice);
    std::fs::write(dir.path().join("LOG"), tickers(20_000)).unwrap();
    assert_eq!(severity(dir.path()), Severity::Warning);
}

#[test]
fn one_short_stop_of_writers_is_no_finding() {
    let log = |percent: &str| {
        format!(
            "2026/01/01-00:00:04.000000 1 [WARN] [/column_family.cc:991] [default] Stopping writes because we have 2 immutable memtables\n\
             Cumulative stall: 00:00:0.100 H:M:S, {percent} percent\n"
        )
    };
    assert_eq!(rules_of_log(&log("0.2"), &[]), [""; 0]);
    assert_eq!(rules_of_log(&log("1.2"), &[]), ["write-stalls"]);
}

#[test]
fn change_names_its_function_and_only_the_options_that_change() {
    let dir = tempfile::tempdir().unwrap();
    seeded(
        dir.path(),
        "max_background_jobs=1;level0_slowdown_writes_trigger=5;level0_stop_writes_trigger=6",
        PLAIN,
    );
    let found = findings(dir.path());
    let change = |rule: &str| found.iter().find(|finding| finding.rule == rule).unwrap().change_sentence();
    assert_eq!(
        change("level-0-triggers"),
        "set_options: level0_slowdown_writes_trigger=20;level0_stop_writes_trigger=36"
    );
    assert!(change("few-background-jobs").starts_with("set_db_options: max_background_jobs=4"));
    let off = tempfile::tempdir().unwrap();
    seeded(
        off.path(),
        "disable_auto_compactions=true;level0_slowdown_writes_trigger=100000;level0_stop_writes_trigger=100000",
        Load { flushes: 6, ..PLAIN },
    );
    let found = rules(off.path());
    assert!(found.contains(&"no-stall-limits") && !found.contains(&"level-0-triggers"), "{found:?}");
}

#[test]
fn slow_jobs_and_early_flushes_are_found_in_the_info_log() {
    let log = |limiter: &str, reason: &str, seconds: u64| {
        let mut log = format!("2026/01/01-00:00:00.000000 1     Options.rate_limiter: {limiter}\n");
        for job in 0..10 {
            let start = 1_767_225_600_000_000 + job * 60_000_000;
            let end = start + seconds * 1_000_000;
            log.push_str(&format!(
                "2026/01/01-00:00:00.000000 1 EVENT_LOG_v1 {{\"time_micros\": {start}, \"job\": {job}, \"event\": \"flush_started\", \"flush_reason\": \"{reason}\"}}\n\
                 2026/01/01-00:00:00.000000 1 EVENT_LOG_v1 {{\"time_micros\": {end}, \"cf_name\": \"default\", \"job\": {job}, \"event\": \"table_file_creation\", \"file_size\": 1000000}}\n\
                 2026/01/01-00:00:00.000000 1 EVENT_LOG_v1 {{\"time_micros\": {end}, \"job\": {job}, \"event\": \"flush_finished\"}}\n"
            ));
        }
        log
    };
    assert_eq!(rules_of_log(&log("(nil)", "Write Buffer Full", 0), &[]), [""; 0]);
    assert_eq!(
        rules_of_log(&log("(nil)", "Write Buffer Full", 2), &[]),
        [""; 0],
        "a loaded machine is slow too"
    );
    assert_eq!(rules_of_log(&log("0x55d1c0", "Write Buffer Full", 2), &[]), ["slow-jobs"]);
    assert_eq!(rules_of_log(&log("(nil)", "WAL Full", 0), &[]), ["wal-limit"]);
    assert_eq!(rules_of_log(&log("(nil)", "Write Buffer Manager", 0), &[]), ["shared-memtable-limit"]);
}

#[test]
fn errors_of_the_system_have_their_own_remedy() {
    for (error, remedy) in [
        ("IO error: No space left on device", "Free space"),
        ("IO error: While open a file: Too many open files", "ulimit -n"),
        ("Corruption: block checksum mismatch", "ironstone doctor --deep"),
        ("an error that nobody knows", "Remove the cause"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        seeded(dir.path(), "", Load { compact: true, ..PLAIN });
        let line = format!("2026/01/01-00:00:05.000000 1 [ERROR] [/db_impl.cc:1] Waiting: {error}\n");
        std::fs::write(dir.path().join("LOG"), line).unwrap();
        let found = findings(dir.path());
        let is_named =
            |finding: &Finding| matches!(&finding.change, Change::Action(text) if text.contains(remedy));
        assert!(found.iter().any(is_named), "{error}: {found:?}");
    }
}

#[test]
fn blob_collection_without_files_and_very_many_families_are_found() {
    let dir = tempfile::tempdir().unwrap();
    seeded(
        dir.path(),
        "enable_blob_files=true;min_blob_size=1000;enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=0",
        PLAIN,
    );
    assert!(rules(dir.path()).contains(&"blob-collection-off"), "{:?}", findings(dir.path()));
    findings(dir.path()).iter().for_each(assert_acceptable);
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.db.create_missing_column_families = true;
    let families = (0..110).map(|n| FamilyDescriptor::new(format!("f{n}"), options.family.clone())).collect();
    let db = Db::open_with_families(dir.path(), options, families).unwrap();
    fill(&db, PLAIN);
    drop(db);
    let found = rules(dir.path());
    assert!(found.contains(&"many-column-families") && found.contains(&"memtable-memory"), "{found:?}");
}

#[test]
fn archived_wals_are_listed_apart_from_the_wals_of_newer_writes() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "WAL_ttl_seconds=864000", PLAIN);
    let db = load(&Env::posix(), dir.path(), &Budget::COMMAND).unwrap();
    assert!(db.count_of(FileKind::ArchivedWal) >= 2, "{:?}", db.files);
    let file = db.files.iter().find(|file| file.kind == FileKind::ArchivedWal).unwrap();
    assert!(db.dir_of(file, dir.path()).join(&file.name).exists());
    assert!(db.bytes_of(FileKind::Wal) < 1 << 20 && db.bytes_of(FileKind::ArchivedWal) > 1 << 20);
}

#[test]
fn many_info_logs_are_found() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "", Load { compact: true, ..PLAIN });
    for n in 0..120 {
        std::fs::write(dir.path().join(format!("LOG.old.{n}")), "").unwrap();
    }
    assert_eq!(rules(dir.path()), ["large-info-logs"]);
}

#[test]
fn keys_without_prefix_compression_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.update("block_based_table_factory={block_restart_interval=1;}").unwrap();
    let db = Db::open(dir.path(), options).unwrap();
    for n in 0..20_000_u64 {
        db.put(format!("customer/europe/orders/{n:010}").as_bytes(), &value(n, 80)).unwrap();
    }
    db.flush().unwrap();
    drop(db);
    assert!(rules(dir.path()).contains(&"restart-interval"), "{:?}", findings(dir.path()));
}

#[test]
fn damaged_files_are_found_with_file_and_place() {
    for name in ["sst-missing", "manifest-bit-middle"] {
        let found = findings(&crate::client::golden("corrupt").join(name));
        let damage = found.iter().find(|finding| finding.rule == "damaged-files");
        assert!(damage.is_some_and(|finding| !finding.evidence.is_empty()), "{name}: {found:?}");
    }
}

/// Copies the files of a golden database.
fn copy_of(name: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in crate::client::content(&crate::client::golden(name)) {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

#[test]
fn manifest_that_lost_a_durable_edit_is_found() {
    let cases = [
        ("corrupt/manifest-cut", Severity::Warning, None),
        ("corrupt/manifest-cut-flush", Severity::Critical, Some("no edit names 000012.sst")),
    ];
    for (name, severity, file) in cases {
        let dir = copy_of(name);
        let found = findings(dir.path());
        let rules: Vec<_> = found.iter().map(|finding| (finding.rule, finding.severity)).collect();
        assert_eq!(rules, [("lost-edits", severity)], "{name}");
        let line = &found[0].evidence[0];
        assert!(
            line.starts_with("MANIFEST-000005 at byte ") && line.contains("000008.log is deleted"),
            "{line}"
        );
        assert!(file.is_none_or(|file| line.contains(file)), "{line}");
        // A crash during the write of the edit leaves the WAL, so the edit was not durable.
        std::fs::write(dir.path().join("000008.log"), b"").unwrap();
        assert_eq!(super::rules(dir.path()), [""; 0], "{name}");
    }
}

#[test]
fn manifest_that_ends_before_the_edit_of_a_deleted_wal_is_found() {
    let dir = copy_of("corrupt/manifest-cut-flush");
    let manifest = dir.path().join("MANIFEST-000005");
    let whole = load(&Env::posix(), dir.path(), &Budget::COMMAND).unwrap().manifest.unwrap().size;
    std::fs::File::options().write(true).open(&manifest).unwrap().set_len(whole).unwrap();
    let found = findings(dir.path());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].evidence[0].contains("the last records are missing"), "{found:?}");
}

#[test]
fn blob_files_of_an_old_memtable_are_no_orphans() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.db.create_if_missing = true;
    let text = "enable_blob_files=true;enable_blob_direct_write=true;min_blob_size=1000;allow_concurrent_memtable_write=false";
    options.update(text).unwrap();
    let db = Db::open(dir.path(), options).unwrap();
    (0..2000_u64).for_each(|n| db.put(&n.to_be_bytes(), &value(n, 2000)).unwrap());
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3600);
    let age = |path: &Path| {
        std::fs::File::options().write(true).open(path).unwrap().set_modified(hours_ago).unwrap();
    };
    let blobs: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "blob"))
        .collect();
    assert!(!blobs.is_empty());
    blobs.iter().for_each(|path| age(path));
    assert!(!rules(dir.path()).contains(&"orphan-files"), "{:?}", findings(dir.path()));
    // No memtable of the database is older than its first WAL.
    let orphan = dir.path().join("000001.blob");
    std::fs::write(&orphan, vec![7; 2 << 20]).unwrap();
    age(&orphan);
    assert!(rules(dir.path()).contains(&"orphan-files"), "{:?}", findings(dir.path()));
}

#[test]
fn keys_with_very_many_merge_operands_are_found() {
    for (keys, is_found) in [(10, true), (40_000, false)] {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.db.create_if_missing = true;
        options
            .update(
                "merge_operator=uint64add;compression=kNoCompression;block_based_table_factory={filter_policy=bloomfilter:10:false;}",
            )
            .unwrap();
        let db = Db::open(dir.path(), options).unwrap();
        // A snapshot keeps each operand.
        let mut snapshots = Vec::new();
        for n in 0..120_000_u64 {
            db.merge(format!("key{:08}", n % keys).as_bytes(), &n.to_le_bytes()).unwrap();
            if n % 10 == 0 {
                snapshots.push(db.snapshot());
            }
        }
        db.flush().unwrap();
        drop(snapshots);
        drop(db);
        let found = findings(dir.path());
        let finding = found.iter().find(|finding| finding.rule == "many-merge-operands");
        assert_eq!(finding.is_some(), is_found, "{keys} keys: {found:?}");
    }
}
