//! Tickers, histograms, and the perf context of a thread.

use std::sync::Arc;

use base::stats::{
    HistogramKind, IoCounter, PerfCounter, PerfLevel, Statistics, StatsLevel, Ticker, io_context_reset,
    io_counter, perf_context_reset, perf_counter, set_perf_level,
};
use env::Env;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{CompactRangeOptions, DbOptions, FamilyOptions, ReadOptions, WriteOptions};

use crate::basic::{flush, get, put, scan};

fn open(env: &Env, family: FamilyOptions) -> (Db, Arc<Statistics>) {
    let statistics = Arc::new(Statistics::new());
    let options = DbOptions {
        create_if_missing: true,
        env: env.clone(),
        statistics: Some(statistics.clone()),
        ..DbOptions::default()
    };
    (Db::open(OpenRequest::new("/db", options, family)).unwrap(), statistics)
}

#[test]
fn writes_are_counted_by_group_key_and_byte() {
    let env = Env::memory(1);
    let (db, s) = open(&env, FamilyOptions::default());
    let family = db.default_family().unwrap();
    put(&db, "a", "1");
    put(&db, "b", "22");
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    db.put(&family, b"c", b"3", &synced).unwrap();
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    db.put(&family, b"d", b"4", &unlogged).unwrap();
    assert_eq!(s.ticker(Ticker::NumberKeysWritten), 4);
    assert_eq!(s.ticker(Ticker::WriteDoneBySelf), 4);
    assert_eq!(s.ticker(Ticker::WriteWithWal), 3);
    assert_eq!(s.ticker(Ticker::WalFileSynced), 1);
    // A header of 12 bytes, a tag, two lengths, key and value.
    assert_eq!(s.ticker(Ticker::BytesWritten), 4 * (12 + 3 + 2) + 1);
    assert_eq!(s.ticker(Ticker::WalFileBytes), 3 * (12 + 3 + 2) + 1);
    for kind in [HistogramKind::DbWrite, HistogramKind::BytesPerWrite] {
        assert_eq!(s.histogram_data(kind).count, 4, "{kind:?}");
    }
}

#[test]
fn reads_are_counted_by_where_they_end() {
    let env = Env::memory(2);
    let (db, s) = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    flush(&db);
    put(&db, "b", "2");
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
    assert_eq!(get(&db, "b").as_deref(), Some("2"));
    assert_eq!(get(&db, "zz"), None);
    let tickers = |list: &[Ticker]| list.iter().map(|t| s.ticker(*t)).collect::<Vec<_>>();
    assert_eq!(
        tickers(&[Ticker::NumberKeysRead, Ticker::MemtableHit, Ticker::MemtableMiss, Ticker::BytesRead]),
        [3, 1, 2, 2]
    );
    assert_eq!(tickers(&[Ticker::GetHitL0, Ticker::GetHitL1, Ticker::GetHitL2AndUp]), [1, 0, 0]);
    assert_eq!(s.histogram_data(HistogramKind::DbGet).count, 3);
    let family = db.default_family().unwrap();
    let answers = db.multi_get(&family, &[b"a", b"b", b"c"], &ReadOptions::default());
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(
        tickers(&[
            Ticker::NumberMultigetCalls,
            Ticker::NumberMultigetKeysRead,
            Ticker::NumberMultigetKeysFound
        ]),
        [1, 3, 2]
    );
    assert_eq!(tickers(&[Ticker::NumberMultigetBytesRead, Ticker::MemtableHit, Ticker::GetHitL0]), [2, 2, 2]);
    assert!(s.ticker(Ticker::BlockCacheDataAdd) >= 1 && s.ticker(Ticker::BlockCacheDataHit) >= 1);
    assert!(s.ticker(Ticker::NoFileOpens) >= 1 && s.ticker(Ticker::BlockChecksumComputeCount) >= 1);
    assert!(s.histogram_data(HistogramKind::SstReadMicros).count >= 1);
}

#[test]
fn the_drop_of_an_iterator_reports_its_moves() {
    let env = Env::memory(3);
    let (db, s) = open(&env, FamilyOptions::default());
    for key in ["a", "b", "c"] {
        put(&db, key, "1");
    }
    assert_eq!(scan(&db).len(), 3);
    let tickers = |list: &[Ticker]| list.iter().map(|t| s.ticker(*t)).collect::<Vec<_>>();
    assert_eq!(tickers(&[Ticker::NumberDbSeek, Ticker::NumberDbSeekFound]), [1, 1]);
    assert_eq!(tickers(&[Ticker::NumberDbNext, Ticker::NumberDbNextFound, Ticker::IterBytesRead]), [3, 2, 6]);
    assert_eq!(tickers(&[Ticker::NoIteratorCreated, Ticker::NoIteratorDeleted]), [1, 1]);
}

#[test]
fn a_run_that_is_covered_in_pieces_is_not_covered_again() {
    let env = Env::memory(15);
    let (db, s) =
        open(&env, FamilyOptions { min_tombstones_for_range_conversion: 3, ..FamilyOptions::default() });
    let family = db.default_family().unwrap();
    for key in ["b", "c", "d", "e"] {
        put(&db, key, "1");
    }
    for key in ["b", "c", "d"] {
        db.delete(&family, key.as_bytes(), &WriteOptions::default()).unwrap();
    }
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    let inserted = || s.ticker(Ticker::ReadPathRangeTombstonesInserted);
    iter.seek_to_first();
    assert_eq!((iter.key(), inserted()), (&b"e"[..], 1));
    db.delete_range(&family, b"c", b"d", &WriteOptions::default()).unwrap();
    for _ in 0..3 {
        iter.seek_to_first();
        assert_eq!((iter.key(), inserted()), (&b"e"[..], 1));
    }
}

#[test]
fn reads_add_nothing_to_a_family_that_refuses_writes() {
    let env = Env::memory(16);
    let statistics = Arc::new(Statistics::new());
    let open = |refuses| {
        let options = DbOptions {
            create_if_missing: true,
            create_missing_column_families: true,
            env: env.clone(),
            statistics: Some(statistics.clone()),
            ..DbOptions::default()
        };
        let other = FamilyOptions {
            min_tombstones_for_range_conversion: 1,
            disallow_memtable_writes: refuses,
            ..FamilyOptions::default()
        };
        let mut request = OpenRequest::new("/db", options, FamilyOptions::default());
        request.families.push(FamilyDescriptor::new("other", other));
        let db = Db::open(request).unwrap();
        let family = db.family("other").unwrap();
        (db, family)
    };
    let (db, family) = open(false);
    let write = WriteOptions::default();
    db.put(&family, b"b", b"1", &write).unwrap();
    db.delete(&family, b"b", &write).unwrap();
    db.put(&family, b"c", b"1", &write).unwrap();
    db.close().unwrap();
    drop((db, family));
    let (db, family) = open(true);
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    iter.seek_to_first();
    assert_eq!(iter.key(), b"c");
    assert_eq!(statistics.ticker(Ticker::ReadPathRangeTombstonesInserted), 0);
}

#[test]
fn flushes_and_compactions_are_counted() {
    let env = Env::memory(4);
    let (db, s) = open(&env, FamilyOptions::default());
    for round in 0..2 {
        for i in 0..100 {
            put(&db, &format!("key{i:03}"), &format!("value{round}"));
        }
        flush(&db);
    }
    let family = db.default_family().unwrap();
    db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    assert!(s.ticker(Ticker::FlushWriteBytes) > 0);
    assert_eq!(s.histogram_data(HistogramKind::FlushTime).count, 2);
    assert!(s.histogram_data(HistogramKind::CompactionTime).count >= 1);
    assert!(s.ticker(Ticker::CompactReadBytes) > 0 && s.ticker(Ticker::CompactWriteBytes) > 0);
    assert_eq!(s.ticker(Ticker::CompactionKeyDropNewerEntry), 100);
    // RocksDB counts the files of compactions that it picks itself.
    assert_eq!(s.histogram_data(HistogramKind::NumFilesInSingleCompaction).count, 0);
}

#[test]
fn the_perf_context_counts_only_on_request() {
    let env = Env::memory(5);
    let db = crate::basic::open(&env, FamilyOptions::default());
    put(&db, "a", "12");
    perf_context_reset();
    set_perf_level(PerfLevel::Disable);
    get(&db, "a");
    assert_eq!(perf_counter(PerfCounter::GetFromMemtableCount), 0);
    set_perf_level(PerfLevel::EnableTime);
    get(&db, "a");
    scan(&db);
    put(&db, "b", "1");
    assert_eq!(perf_counter(PerfCounter::GetFromMemtableCount), 1);
    assert_eq!(perf_counter(PerfCounter::GetReadBytes), 2);
    assert_eq!(perf_counter(PerfCounter::IterNextCount), 1);
    assert_eq!(perf_counter(PerfCounter::IterReadBytes), 3);
    for counter in
        [PerfCounter::GetFromMemtableTime, PerfCounter::WriteMemtableTime, PerfCounter::WriteWalTime]
    {
        assert!(perf_counter(counter) > 0, "{counter:?}");
    }
}

#[test]
fn comparisons_of_keys_are_counted_by_gets_and_iterators() {
    let env = Env::memory(5);
    let db = crate::basic::open(&env, FamilyOptions::default());
    put(&db, "a", "12");
    put(&db, "b", "12");
    set_perf_level(PerfLevel::EnableCount);
    let compared = |read: &dyn Fn()| {
        perf_context_reset();
        read();
        perf_counter(PerfCounter::UserKeyComparisonCount)
    };
    assert_eq!(compared(&|| drop(get(&db, "a"))), 1);
    assert_eq!(compared(&|| drop(scan(&db))), 3);
    flush(&db);
    assert_eq!(compared(&|| drop(get(&db, "b"))), 1);
    set_perf_level(PerfLevel::Disable);
    assert_eq!(compared(&|| drop(get(&db, "a"))), 0);
    set_perf_level(PerfLevel::EnableCount);
}

#[test]
fn the_level_of_waits_measures_the_insertion_into_the_memtable() {
    let env = Env::memory(5);
    let db = crate::basic::open(&env, FamilyOptions::default());
    perf_context_reset();
    set_perf_level(PerfLevel::EnableWait);
    put(&db, "a", "12");
    assert!(perf_counter(PerfCounter::WriteMemtableTime) > 0);
    assert_eq!(perf_counter(PerfCounter::WriteWalTime), 0);
    set_perf_level(PerfLevel::EnableCount);
}

/// Returns the source of the product, without the tables of names.
fn product() -> String {
    fn gather(dir: &std::path::Path, out: &mut String) {
        for path in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "tests" {
                    gather(&path, out);
                }
            } else if name.ends_with(".rs") && name != "tests.rs" {
                out.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut out = String::new();
    for room in ["compress", "env", "engine", "format", "ironstone", "lsm", "mem", "table"] {
        gather(&root.join(room).join("src"), &mut out);
    }
    out
}

#[test]
fn every_statistic_is_fed_or_listed_with_the_reason() {
    let code = product();
    let words: std::collections::HashSet<&str> =
        code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).collect();
    let fed = |kind: &str, variant: String| {
        [kind, "T", "LevelCounter"].iter().any(|of| words.contains(format!("{of}::{variant}").as_str()))
    };
    let all = Ticker::ALL.iter().map(|t| (t.name(), fed("Ticker", format!("{t:?}"))));
    let all =
        all.chain(HistogramKind::ALL.iter().map(|h| (h.name(), fed("HistogramKind", format!("{h:?}")))));
    let all = all.chain(PerfCounter::ALL.iter().map(|p| (p.name(), fed("PerfCounter", format!("{p:?}")))));
    let all = all.chain(
        IoCounter::ALL
            .iter()
            .map(|i| (i.name(), fed("IoCounter", format!("{i:?}")) || *i == IoCounter::ThreadPoolId)),
    );
    let listed: std::collections::HashMap<&str, &str> = include_str!("testdata/unfed_statistics.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .collect();
    let mut seen = 0;
    for (name, fed) in all {
        assert_eq!(fed, !listed.contains_key(name), "{name}: fed {fed}; listed as {:?}", listed.get(name));
        seen += usize::from(!fed);
    }
    assert_eq!(seen, listed.len(), "names in the list that no statistic has");
}

#[test]
fn the_io_context_counts_the_bytes_of_this_thread() {
    let dir = tempfile::tempdir().unwrap();
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let mut family = FamilyOptions::default();
    family.set("table_factory", "{block_size=256;no_block_cache=true}").unwrap();
    family.set("compression", "kNoCompression").unwrap();
    let db = Db::open(OpenRequest::new(dir.path().join("db"), options, family)).unwrap();
    set_perf_level(PerfLevel::EnableTimeAndCpuTimeExceptForMutex);
    io_context_reset();
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    db.put(&db.default_family().unwrap(), b"key", &[7; 5000], &synced).unwrap();
    assert!((5000..6000).contains(&io_counter(IoCounter::BytesWritten)));
    assert_eq!(io_counter(IoCounter::BytesRead), 0);
    for timed in [IoCounter::WriteNanos, IoCounter::FsyncNanos, IoCounter::CpuWriteNanos] {
        assert!(io_counter(timed) > 0, "{timed:?}");
    }
    flush(&db);
    assert_eq!(get(&db, "key").map(|v| v.len()), Some(5000));
    assert!((5000..12_000).contains(&io_counter(IoCounter::BytesRead)));
    assert!(io_counter(IoCounter::ReadNanos) > 0);
    set_perf_level(PerfLevel::EnableCount);
}

#[test]
fn times_of_file_accesses_go_to_the_histogram_of_their_purpose() {
    let env = Env::memory(88);
    let mut options = FamilyOptions::default();
    options.set("table_factory", "{block_size=256;no_block_cache=true}").unwrap();
    let (db, s) = open(&env, options);
    // The reads of different calls are counted separately only at this level.
    s.set_level(StatsLevel::All);
    (0..200).for_each(|i| put(&db, &format!("key{i:03}"), "some value"));
    let count = |kind| s.histogram_data(kind).count;
    assert_eq!(count(HistogramKind::FileWriteFlushMicros), 0);
    flush(&db);
    assert!(count(HistogramKind::FileWriteFlushMicros) > 0);
    assert_eq!(count(HistogramKind::SstWriteMicros), count(HistogramKind::FileWriteFlushMicros));
    let family = db.default_family().unwrap();
    get(&db, "key007");
    assert!(count(HistogramKind::FileReadGetMicros) > 0);
    let gets = count(HistogramKind::FileReadGetMicros);
    db.multi_get(&family, &[b"key001", b"key100", b"key190"], &ReadOptions::default());
    assert!(count(HistogramKind::FileReadMultigetMicros) > 0);
    scan(&db);
    assert!(count(HistogramKind::FileReadDbIteratorMicros) > 2);
    assert_eq!(count(HistogramKind::FileReadGetMicros), gets);
    // The scan used its read-ahead.
    assert!(s.ticker(Ticker::PrefetchBytes) > 0 && s.ticker(Ticker::PrefetchHits) > 0);
    assert!(s.ticker(Ticker::PrefetchBytesUseful) <= s.ticker(Ticker::PrefetchBytes) + 10_000);
    db.files().verify_checksum().unwrap();
    assert!(s.ticker(Ticker::VerifyChecksumReadBytes) > 200 * 10);
    let (gets, jobs) = (count(HistogramKind::FileReadGetMicros), count(HistogramKind::FileWriteFlushMicros));
    s.set_level(StatsLevel::ExceptDetailedTimers);
    put(&db, "key300", "more");
    flush(&db);
    get(&db, "key007");
    assert_eq!(count(HistogramKind::FileReadGetMicros), gets);
    assert!(count(HistogramKind::FileWriteFlushMicros) > jobs);
}

#[test]
fn a_file_is_compared_with_the_checksum_it_was_given() {
    let env = Env::memory(13);
    let (db, _) = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    flush(&db);
    let error = db.files().verify_file_checksums().unwrap_err();
    assert!(error.to_string().contains("file_checksum_gen_factory"), "{error}");
    db.close().unwrap();
    drop(db);
    let mut options = DbOptions { env: env.clone(), ..DbOptions::default() };
    options.set("file_checksum_gen_factory", "FileChecksumGenCrc32cFactory").unwrap();
    let db = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())).unwrap();
    put(&db, "b", "2");
    flush(&db);
    // The first SST file has no checksum, and passes.
    db.files().verify_file_checksums().unwrap();
    let dir = std::path::Path::new("/db");
    let mut tables: Vec<_> =
        env.fs.list(dir).unwrap().into_iter().filter(|name| name.ends_with(".sst")).collect();
    tables.sort();
    let path = dir.join(tables.last().unwrap());
    let mut bytes = env.fs.read_all(&path, 1 << 20).unwrap();
    bytes[3] ^= 1;
    env.fs.write_all(&path, &bytes, true).unwrap();
    let error = db.files().verify_file_checksums().unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("file checksum mismatch"), "{error}");
}

/// Flips bit 0 of a byte of the only file with this extension.
fn damage(env: &Env, extension: &str, at: impl FnOnce(usize) -> usize) {
    let dir = std::path::Path::new("/db");
    let name = env.fs.list(dir).unwrap().into_iter().find(|name| name.ends_with(extension)).unwrap();
    let mut bytes = env.fs.read_all(&dir.join(&name), 1 << 20).unwrap();
    let at = at(bytes.len());
    bytes[at] ^= 1;
    env.fs.write_all(&dir.join(&name), &bytes, true).unwrap();
}

#[test]
fn a_blob_file_is_compared_with_the_checksum_it_was_given() {
    let env = Env::memory(14);
    let mut options = DbOptions { create_if_missing: true, env: env.clone(), ..DbOptions::default() };
    options.set("file_checksum_gen_factory", "FileChecksumGenCrc32cFactory").unwrap();
    let family = FamilyOptions { enable_blob_files: true, ..FamilyOptions::default() };
    let db = Db::open(OpenRequest::new("/db", options, family)).unwrap();
    put(&db, "a", "a value in a blob file");
    flush(&db);
    db.files().verify_file_checksums().unwrap();
    damage(&env, ".blob", |len| len / 2);
    // A read of another size finds the damage too.
    let small = ReadOptions { readahead_size: 7, ..ReadOptions::default() };
    let error = ironstone_engine::db::verify_file_checksums(&db, &small).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains(".blob"), "{error}");
}

/// The table stays open from the flush on, and a read finds its blocks in memory.
#[test]
fn a_verification_reads_the_footer_again_and_counts_what_it_reads() {
    let env = Env::memory(15);
    let (db, s) = open(&env, FamilyOptions::default());
    (0..100).for_each(|i| put(&db, &format!("key{i:03}"), "some value"));
    flush(&db);
    let family = db.default_family().unwrap();
    let size = db.properties().number(&family, "rocksdb.total-sst-files-size").unwrap();
    let computed = s.ticker(Ticker::BlockChecksumComputeCount);
    db.files().verify_checksum().unwrap();
    assert!(s.ticker(Ticker::BlockChecksumComputeCount) > computed);
    assert!(s.ticker(Ticker::VerifyChecksumReadBytes) >= size);
    assert_eq!(s.ticker(Ticker::BlockChecksumMismatchCount), 0);
    damage(&env, ".sst", |_| 3);
    assert!(db.files().verify_checksum().unwrap_err().is_corruption());
    assert_eq!(s.ticker(Ticker::BlockChecksumMismatchCount), 1);
    damage(&env, ".sst", |_| 3);
    db.files().verify_checksum().unwrap();
    damage(&env, ".sst", |len| len - 3);
    assert!(db.files().verify_checksum().unwrap_err().is_corruption());
    assert_eq!(get(&db, "key007").as_deref(), Some("some value"));
}

#[test]
fn a_table_with_a_damaged_footer_is_counted() {
    let env = Env::memory(12);
    let (db, _) = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    flush(&db);
    db.close().unwrap();
    drop(db);
    let dir = std::path::Path::new("/db");
    let table = env.fs.list(dir).unwrap().into_iter().find(|name| name.ends_with(".sst")).unwrap();
    let mut bytes = env.fs.read_all(&dir.join(&table), 1 << 20).unwrap();
    let end = bytes.len();
    bytes[end - 3] ^= 0xff;
    env.fs.write_all(&dir.join(&table), &bytes, true).unwrap();
    let statistics = Arc::new(Statistics::new());
    let options =
        DbOptions { env: env.clone(), statistics: Some(statistics.clone()), ..DbOptions::default() };
    if let Ok(db) = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())) {
        let family = db.default_family().unwrap();
        assert!(db.get(&family, b"a", &ReadOptions::default()).is_err());
    }
    assert!(statistics.ticker(Ticker::SstFooterCorruptionCount) > 0);
    assert!(statistics.ticker(Ticker::NoFileErrors) > 0);
}

/// Returns a number of the last line of the info log with `event`. Returns `None` if the line has no such number.
fn number_of_event(dir: &std::path::Path, event: &str, name: &str) -> Option<u64> {
    let log = std::fs::read_to_string(dir.join("LOG")).unwrap();
    let line = log.lines().rfind(|line| line.contains(&format!("\"event\": \"{event}\"")))?;
    let (_, rest) = line.split_once(&format!("\"{name}\": "))?;
    rest.split([',', '}']).next()?.trim().parse().ok()
}

#[test]
fn jobs_report_the_times_of_their_file_system_calls_if_asked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = Db::open(OpenRequest::new(&path, options, FamilyOptions::default())).unwrap();
    let family = db.default_family().unwrap();
    let times = ["file_write_nanos", "file_fsync_nanos"];
    for asked in [false, true] {
        db.admin().set_options(&family, &[("report_bg_io_stats", &asked.to_string())]).unwrap();
        put(&db, "a", "1");
        flush(&db);
        put(&db, "a", "2");
        flush(&db);
        db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
        for event in ["flush_finished", "compaction_finished"] {
            for name in times {
                let nanos = number_of_event(&path, event, name);
                assert_eq!(nanos.is_some_and(|nanos| nanos > 0), asked, "{event} {name}: {nanos:?}");
            }
            let reserving = number_of_event(&path, event, "file_prepare_write_nanos");
            assert_eq!(reserving.is_some(), asked, "{event}");
        }
    }
    assert!(number_of_event(&path, "flush_finished", "file_cpu_write_nanos").is_some());
    assert_eq!(number_of_event(&path, "compaction_finished", "file_cpu_write_nanos"), None, "as in RocksDB");
}

#[test]
fn reads_of_files_without_a_temperature_count_to_the_default_temperature() {
    let bytes = |default: &str, written: &str| {
        let env = Env::memory(89);
        let mut options = FamilyOptions::default();
        options.set("table_factory", "{no_block_cache=true}").unwrap();
        options.set("default_temperature", default).unwrap();
        options.set("default_write_temperature", written).unwrap();
        let (db, s) = open(&env, options);
        put(&db, "key", "value");
        flush(&db);
        assert_eq!(get(&db, "key").as_deref(), Some("value"));
        [s.ticker(Ticker::WarmFileReadBytes) > 0, s.ticker(Ticker::ColdFileReadBytes) > 0]
    };
    assert_eq!(bytes("kUnknown", "kUnknown"), [false, false]);
    assert_eq!(bytes("kWarm", "kUnknown"), [true, false]);
    assert_eq!(bytes("kWarm", "kCold"), [false, true], "the MANIFEST has a temperature");
}

#[test]
fn the_useful_bytes_of_loaded_blocks_are_estimated() {
    let env = Env::memory(90);
    let mut options = FamilyOptions::default();
    options.set("table_factory", "{read_amp_bytes_per_bit=16;block_size=4096}").unwrap();
    options.set("compression", "kNoCompression").unwrap();
    let (db, s) = open(&env, options);
    (0..2000).for_each(|i| put(&db, &format!("key{i:05}"), &"v".repeat(100)));
    flush(&db);
    let counts = || (s.ticker(Ticker::ReadAmpTotalReadBytes), s.ticker(Ticker::ReadAmpEstimateUsefulBytes));
    assert_eq!(counts(), (0, 0));
    // One entry of one block.
    assert!(get(&db, "key00777").is_some());
    let (total, useful) = counts();
    assert!((3500..4500).contains(&total) && (96..=144).contains(&useful), "{useful} of {total}");
    assert!(get(&db, "key00777").is_some());
    assert_eq!(counts(), (total, useful), "the block is cached, and the entry was used before");
    // All entries.
    assert_eq!(scan(&db).len(), 2000);
    let (total, useful) = counts();
    assert!(total > 200_000 && useful.abs_diff(total) < total / 50, "{useful} of {total}");
    let mut back = db.iter(&db.default_family().unwrap(), ReadOptions::default()).unwrap();
    back.seek_to_last();
    while back.valid() {
        back.prev();
    }
    assert_eq!(counts(), (total, useful));
}
