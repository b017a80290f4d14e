//! Blob files: which values go to them, how they are read, and how garbage collection deletes them.

use std::path::Path;
use std::sync::Arc;

use base::{Kind, Level};
use env::Env;
use env::fault::FaultFs;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactRangeOptions, CompactionOptions,
    DbOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};

use crate::basic::{flush, get, open, options, put, scan};

/// Values from 100 bytes on go to blob files.
fn blobs(more: &str) -> FamilyOptions {
    let mut family =
        FamilyOptions { merge_operator: lsm::merge::by_name("stringappend"), ..FamilyOptions::default() };
    family.update("enable_blob_files=true;min_blob_size=100;disable_auto_compactions=true").unwrap();
    family.update(more).unwrap();
    family
}

fn large(seed: &str) -> String {
    format!("{seed}-{}", "v".repeat(200))
}

fn compact(db: &Db, more: CompactRangeOptions) {
    let how = CompactRangeOptions { bottommost_level_compaction: BottommostLevelCompaction::Force, ..more };
    db.compactions().compact_range(&db.default_family().unwrap(), None, None, &how).unwrap();
}

/// Blob files of the current version: number, blobs, garbage.
fn files(db: &Db) -> Vec<(u64, u64, u64)> {
    let version = db.default_family().unwrap().pin().version.clone();
    version.blobs().values().map(|b| (b.number.get(), b.total_count, b.garbage_count)).collect()
}

/// Blob files in the directory, after the jobs that delete files have run.
fn on_disk(env: &Env) -> Vec<String> {
    while env.executor.help() {}
    let mut names = env.fs.list(Path::new("/db")).unwrap();
    names.retain(|name| name.ends_with(".blob"));
    names.sort();
    names
}

/// Expects `rows` from a scan, gets, a multi-get and a backward scan.
pub fn expect(db: &Db, rows: &[(&str, String)]) {
    let rows: Vec<_> = rows.iter().map(|(k, v)| ((*k).to_string(), v.clone())).collect();
    assert_eq!(scan(db), rows);
    rows.iter().for_each(|(k, v)| assert_eq!(get(db, k).as_ref(), Some(v)));
    let family = db.default_family().unwrap();
    let keys: Vec<_> = rows.iter().map(|(k, _)| k.as_bytes()).collect();
    for (found, (_, value)) in db.multi_get(&family, &keys, &ReadOptions::default()).into_iter().zip(&rows) {
        assert_eq!(found.unwrap().as_deref(), Some(value.as_bytes()));
    }
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    iter.seek_to_last();
    for (key, value) in rows.iter().rev() {
        assert_eq!((iter.key(), iter.value()), (key.as_bytes(), value.as_bytes()));
        iter.prev();
    }
    assert!(!iter.valid());
    iter.status().unwrap();
}

#[test]
fn a_flush_moves_large_values_to_a_blob_file() {
    let env = Env::memory(1);
    let db = open(&env, blobs(""));
    put(&db, "a", &large("a"));
    put(&db, "b", "small");
    put(&db, "c", &large("c"));
    put(&db, "d", "");
    flush(&db);
    let rows = [("a", large("a")), ("b", "small".into()), ("c", large("c")), ("d", String::new())];
    expect(&db, &rows);
    assert_eq!(files(&db).iter().map(|f| (f.1, f.2)).collect::<Vec<_>>(), [(2, 0)]);
    assert_eq!(on_disk(&env).len(), 1);
    db.close().unwrap();
    drop(db);
    let db = open(&env, blobs(""));
    expect(&db, &rows);
    assert_eq!(files(&db).len(), 1);
}

#[test]
fn every_compression_type_reads_back() {
    for compression in compress::supported() {
        let env = Env::memory(2);
        let name = compression.option_name();
        let db = open(&env, blobs(&format!("blob_compression_type={name};min_blob_size=1")));
        let rows = [("a", "1".to_string()), ("b", large("b")), ("c", "xyzzy".repeat(3000))];
        rows.iter().for_each(|(k, v)| put(&db, k, v));
        flush(&db);
        expect(&db, &rows);
        assert_eq!(files(&db)[0].1, 3);
    }
}

#[test]
fn replay_after_a_crash_writes_blob_files() {
    let env = Env::memory(3);
    let db = open(&env, blobs(""));
    put(&db, "a", &large("a"));
    drop(db);
    let db = open(&env, blobs(""));
    assert_eq!(files(&db).len(), 1);
    expect(&db, &[("a", large("a"))]);
}

#[test]
fn a_blob_file_ends_when_it_is_full() {
    let env = Env::memory(4);
    let db = open(&env, blobs("blob_file_size=500"));
    for key in ["a", "b", "c", "d"] {
        put(&db, key, &large(key));
    }
    flush(&db);
    assert_eq!(files(&db).iter().map(|f| f.1).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_value_that_is_overwritten_is_garbage_and_a_file_of_garbage_is_deleted() {
    let env = Env::memory(5);
    let db = open(&env, blobs(""));
    put(&db, "a", &large("a1"));
    put(&db, "b", &large("b1"));
    flush(&db);
    put(&db, "a", &large("a2"));
    flush(&db);
    let first = files(&db)[0].0;
    compact(&db, CompactRangeOptions::default());
    assert_eq!(files(&db)[0], (first, 2, 1));
    put(&db, "b", &large("b2"));
    flush(&db);
    compact(&db, CompactRangeOptions::default());
    assert!(files(&db).iter().all(|f| f.0 != first));
    assert_eq!(on_disk(&env).len(), 2);
    expect(&db, &[("a", large("a2")), ("b", large("b2"))]);
    drop(db);
    let db = open(&env, blobs(""));
    expect(&db, &[("a", large("a2")), ("b", large("b2"))]);
}

#[test]
fn garbage_collection_relocates_the_values_of_old_files() {
    let env = Env::memory(6);
    let gc = "enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=0.5";
    for more in [gc.to_string(), format!("{gc};blob_compaction_readahead_size=4096")] {
        let env = if more.len() > gc.len() { Env::memory(7) } else { env.clone() };
        let db = open(&env, blobs(&more));
        for key in ["a", "b"] {
            put(&db, key, &large(key));
            put(&db, &format!("{key}2"), &large(key));
            flush(&db);
        }
        let before = files(&db);
        compact(&db, CompactRangeOptions::default());
        let after = files(&db);
        assert_eq!(before.len(), 2);
        assert_eq!(after.len(), 2);
        assert_eq!(after[0], before[1], "the newer file stays as it is");
        assert!(after[1].0 > before[1].0 && after[1].1 == 2);
        assert_eq!(on_disk(&env).len(), 2);
        expect(&db, &[("a", large("a")), ("a2", large("a")), ("b", large("b")), ("b2", large("b"))]);
    }
}

#[test]
fn the_numbers_and_the_info_log_of_jobs_count_the_bytes_of_blob_files() {
    let env = Env::memory(8);
    let more = "enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=0.5;default_write_temperature=kWarm";
    let db = open(&env, blobs(more));
    let family = db.default_family().unwrap();
    let bytes_of = |at: usize| family.pin().version.blobs().values().nth(at).unwrap().total_bytes;
    for key in ["a", "b"] {
        put(&db, key, &large(key));
        put(&db, &format!("{key}2"), &large(key));
        flush(&db);
    }
    let flushed = (bytes_of(0), bytes_of(1));
    compact(&db, CompactRangeOptions::default());
    let numbers = |level| family.stats.lock().level(level);
    assert_eq!(numbers(Level::ZERO).bytes_written_blob, flushed.0 + flushed.1);
    assert_eq!(numbers(Level::new(6)).bytes_read_blob, flushed.0, "the values of the older file were moved");
    assert_eq!(numbers(Level::new(6)).bytes_written_blob, flushed.0);
    let flushed_all = numbers(Level::ZERO).bytes_written_all();
    assert_eq!(family.stats.lock().bytes_flushed, flushed_all, "{:?}", numbers(Level::ZERO));
    let write_amp = numbers(Level::new(6)).bytes_written_all() as f64
        / (numbers(Level::new(6)).bytes_read_non_output_levels + numbers(Level::new(6)).bytes_read_blob)
            as f64;
    let map = db.properties().map(&family, "rocksdb.cfstats").unwrap();
    assert_eq!(map["compaction.L6.WriteAmp"], format!("{write_amp:.6}"));
    let info_log = env.fs.read_all(Path::new("/db/LOG"), 1 << 20).unwrap();
    let info_log = String::from_utf8(info_log).unwrap();
    for expected in [
        "Flush lasted ",
        "[default] Level summary: files[2 0 0 0 0 0 0] max score ",
        "Compacting 2@6 files to L6, score ",
        ": 4 keys, ",
        " bytes, temperature: kWarm",
        "Compacted 2@6 files to L6 => ",
        "[default] compacted to: base level 6 level multiplier 10.00 max bytes base 268435456 files[0 0 0 0 0 0 1] \
         max score 0.00, estimated pending compaction bytes 0, MB/sec: ",
        " level 6, files in(0, 2) filtered(0, 0) out(1 +1 blob) MB in(",
        " OK, records in: 4, records dropped: 0 output_compression: ",
        &format!("\"num_blob_output_files\": 1, \"total_blob_output_size\": {}, ", flushed.0),
        "\"blob_file_head\": ",
    ] {
        assert!(info_log.contains(expected), "{expected}\n{info_log}");
    }
}

#[test]
fn a_manual_compaction_forces_or_disables_garbage_collection() {
    let env = Env::memory(8);
    let db = open(&env, blobs(""));
    for key in ["a", "b"] {
        put(&db, key, &large(key));
        flush(&db);
    }
    let before = files(&db);
    let policy = |blob_garbage_collection_policy, blob_garbage_collection_age_cutoff| CompactRangeOptions {
        blob_garbage_collection_policy,
        blob_garbage_collection_age_cutoff,
        ..CompactRangeOptions::default()
    };
    compact(&db, policy(BlobGarbageCollectionPolicy::UseDefault, 1.0));
    assert_eq!(files(&db), before);
    compact(&db, policy(BlobGarbageCollectionPolicy::Force, 1.0));
    let after = files(&db);
    assert_eq!(after.iter().map(|f| (f.1, f.2)).collect::<Vec<_>>(), [(2, 0)]);
    expect(&db, &[("a", large("a")), ("b", large("b"))]);
    db.admin()
        .set_options(&db.default_family().unwrap(), &[("enable_blob_garbage_collection", "true")])
        .unwrap();
    compact(&db, policy(BlobGarbageCollectionPolicy::Disable, 1.0));
    assert_eq!(files(&db), after);
}

#[test]
fn without_blob_files_garbage_collection_brings_values_back_inline() {
    let env = Env::memory(9);
    let db = open(&env, blobs(""));
    put(&db, "a", &large("a"));
    flush(&db);
    db.admin().set_options(&db.default_family().unwrap(), &[("enable_blob_files", "false")]).unwrap();
    let force = CompactRangeOptions {
        blob_garbage_collection_policy: BlobGarbageCollectionPolicy::Force,
        blob_garbage_collection_age_cutoff: 1.0,
        ..CompactRangeOptions::default()
    };
    compact(&db, force);
    assert_eq!(files(&db), []);
    assert_eq!(on_disk(&env), Vec::<String>::new());
    expect(&db, &[("a", large("a"))]);
}

#[test]
fn garbage_above_the_threshold_forces_a_compaction() {
    let env = Env::memory(10);
    let db = open(&env, blobs("disable_auto_compactions=false;level0_file_num_compaction_trigger=100"));
    for round in 0..3 {
        for key in ["a", "b", "c", "d"] {
            if round == 0 || key != "d" {
                put(&db, key, &large(&format!("{key}{round}")));
            }
        }
        flush(&db);
        compact(&db, CompactRangeOptions::default());
    }
    let oldest = files(&db)[0];
    assert_eq!((oldest.1, oldest.2), (4, 3));
    let changes = [
        ("enable_blob_garbage_collection", "true"),
        ("blob_garbage_collection_age_cutoff", "1.0"),
        ("blob_garbage_collection_force_threshold", "0.4"),
    ];
    db.admin().set_options(&db.default_family().unwrap(), &changes).unwrap();
    db.background().wait_for_compact().unwrap();
    assert!(files(&db).iter().all(|f| f.0 != oldest.0), "{:?}", files(&db));
    assert_eq!(get(&db, "d"), Some(large("d0")));
    assert_eq!(get(&db, "a"), Some(large("a2")));
}

#[test]
fn an_iterator_keeps_the_blob_files_of_its_version() {
    let env = Env::memory(11);
    let db = open(&env, blobs("enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=1"));
    put(&db, "a", &large("a"));
    put(&db, "b", &large("b"));
    flush(&db);
    let old = on_disk(&env);
    let mut iter = db.iter(&db.default_family().unwrap(), ReadOptions::default()).unwrap();
    iter.seek_to_first();
    compact(&db, CompactRangeOptions::default());
    assert!(on_disk(&env).contains(&old[0]));
    iter.next();
    assert_eq!(iter.value(), large("b").as_bytes());
    drop(iter);
    assert!(!on_disk(&env).contains(&old[0]), "{:?}", on_disk(&env));
}

#[test]
fn merges_and_deletes_work_on_blobs() {
    let env = Env::memory(12);
    let db = open(&env, blobs(""));
    let family = db.default_family().unwrap();
    let write = WriteOptions::default();
    put(&db, "a", &large("a"));
    put(&db, "b", &large("b"));
    put(&db, "c", &large("c"));
    flush(&db);
    db.merge(&family, b"a", b"more", &write).unwrap();
    db.delete(&family, b"b", &write).unwrap();
    let rows = [("a", format!("{},more", large("a"))), ("c", large("c"))];
    expect(&db, &rows);
    flush(&db);
    expect(&db, &rows);
    compact(&db, CompactRangeOptions::default());
    expect(&db, &rows);
    assert_eq!(files(&db).iter().map(|f| (f.1, f.2)).collect::<Vec<_>>(), [(3, 2), (1, 0)]);
}

#[test]
fn values_are_prepared_only_on_request() {
    let env = Env::memory(13);
    let db = open(&env, blobs(""));
    put(&db, "a", &large("a"));
    put(&db, "b", "small");
    put(&db, "c", &large("c"));
    flush(&db);
    let lazy = ReadOptions { allow_unprepared_value: true, ..ReadOptions::default() };
    let mut iter = db.iter(&db.default_family().unwrap(), lazy).unwrap();
    iter.seek_to_first();
    assert_eq!((iter.key(), iter.value()), (&b"a"[..], &b""[..]));
    assert!(iter.prepare_value());
    assert_eq!(iter.value(), large("a").as_bytes());
    iter.next();
    assert_eq!(iter.value(), b"small");
    iter.next();
    assert_eq!(iter.key(), b"c");
    iter.prev();
    iter.prev();
    assert_eq!((iter.key(), iter.value()), (&b"a"[..], &b""[..]));
    assert!(iter.prepare_value());
    assert_eq!(iter.value(), large("a").as_bytes());
    iter.next();
    assert_eq!(iter.key(), b"b");
}

#[test]
fn the_starting_level_keeps_values_inline_above() {
    let env = Env::memory(14);
    let db = open(&env, blobs("blob_file_starting_level=2"));
    put(&db, "a", &large("a"));
    flush(&db);
    assert_eq!(files(&db), []);
    compact(&db, CompactRangeOptions::default());
    assert_eq!(files(&db).len(), 1);
    expect(&db, &[("a", large("a"))]);
}

#[test]
fn a_missing_or_damaged_blob_file_fails_only_reads_of_this_file() {
    let env = Env::memory(15);
    let db = open(&env, blobs(""));
    put(&db, "a", &large("a"));
    put(&db, "b", "small");
    flush(&db);
    let name = on_disk(&env).remove(0);
    drop(db);
    env.fs.unlink(&Path::new("/db").join(&name)).unwrap();
    let db = open(&env, blobs(""));
    let family = db.default_family().unwrap();
    let error = db.get(&family, b"a", &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::IoError);
    assert!(error.to_string().contains(&name), "{error}");
    assert_eq!(get(&db, "b").as_deref(), Some("small"));
}

#[test]
fn an_unreferenced_blob_file_is_deleted_at_open() {
    let env = Env::memory(16);
    drop(open(&env, blobs("")));
    env.fs.write_all(Path::new("/db/000004.blob"), b"cut short", true).unwrap();
    drop(open(&env, blobs("")));
    assert_eq!(on_disk(&env), Vec::<String>::new());
}

#[test]
fn a_filter_sees_values_or_decides_by_key() {
    use lsm::filter::{CompactionFilter, Decision, FilterInput, FilterKind};
    struct Filter;
    impl CompactionFilter for Filter {
        fn name(&self) -> &str {
            "test"
        }
        fn filter_blob_by_key(&self, input: &FilterInput<'_>) -> Decision {
            if input.user_key == b"gone" { Decision::Remove } else { Decision::Undetermined }
        }
        fn filter(&self, input: &FilterInput<'_>) -> Decision {
            assert_eq!(input.kind, FilterKind::Value);
            if input.value.starts_with(b"change") {
                Decision::ChangeValue(large("changed").into_bytes())
            } else {
                Decision::Keep
            }
        }
    }
    let env = Env::memory(17);
    let db = open(&env, FamilyOptions { compaction_filter: Some(Arc::new(Filter)), ..blobs("") });
    put(&db, "a", &large("change"));
    put(&db, "b", &large("b"));
    put(&db, "gone", &large("g"));
    flush(&db);
    compact(&db, CompactRangeOptions::default());
    expect(&db, &[("a", large("changed")), ("b", large("b"))]);
    assert_eq!(files(&db).iter().map(|f| (f.1, f.2)).collect::<Vec<_>>(), [(3, 2), (1, 0)]);
}

#[test]
fn properties_and_estimates_know_blob_files() {
    use ironstone_engine::options::SizeApproximationOptions;
    let env = Env::memory(20);
    let db = open(&env, blobs(""));
    let family = db.default_family().unwrap();
    let property = |name: &str| db.properties().text(&family, &format!("rocksdb.{name}")).unwrap();
    assert!(property("blob-stats").contains("amplification: 0\n"));
    put(&db, "a", &large("a1"));
    put(&db, "b", &large("b"));
    flush(&db);
    put(&db, "a", &large("a2"));
    flush(&db);
    compact(&db, CompactRangeOptions::default());
    // One record has 32 bytes, the key, and "a1-" with 200 bytes; a file has 62 bytes more.
    let (record, b_record) = (32 + 1 + 203, 32 + 1 + 202);
    let total = record + b_record + 62 + record + 62;
    assert_eq!(property("num-blob-files"), "2");
    assert_eq!(property("live-blob-file-size"), total.to_string());
    assert_eq!(property("total-blob-file-size"), total.to_string());
    assert_eq!(property("live-blob-file-garbage-size"), record.to_string());
    let expected = format!(
        "Number of blob files: 2\nTotal size of blob files: {total}\nTotal size of garbage in blob files: {record}\n\
         Blob file space amplification: 1.39664\n"
    );
    assert_eq!(property("blob-stats"), expected);
    let size = |include_blob_files| {
        let options = SizeApproximationOptions { include_blob_files, ..SizeApproximationOptions::default() };
        db.reads().approximate_size(&family, b"a", b"z", &options).unwrap()
    };
    assert_eq!(size(true) - size(false), total);
}

#[test]
fn a_drop_of_a_family_deletes_its_blob_files() {
    use ironstone_engine::components::FamilyDescriptor;
    let env = Env::memory(18);
    let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default())).unwrap();
    let family = db.admin().create_family(FamilyDescriptor::new("x", blobs(""))).unwrap();
    db.put(&family, b"k", large("k").as_bytes(), &WriteOptions::default()).unwrap();
    db.flush(std::slice::from_ref(&family), &FlushOptions::default()).unwrap();
    assert_eq!(on_disk(&env).len(), 1);
    db.admin().drop_family(&family).unwrap();
    drop(family);
    assert_eq!(on_disk(&env), Vec::<String>::new());
}

/// Opens the database with `best_efforts_recovery` and returns its entries. `lost` selects files, by their place among
/// the files of one kind: these files are removed before the open.
fn best_effort(env: &Env, lost: &[(&str, usize)]) -> Vec<(String, String)> {
    let names = env.fs.list(Path::new("/db")).unwrap();
    for (kind, at) in lost {
        let mut names: Vec<_> = names.iter().filter(|name| name.ends_with(kind)).collect();
        names.sort();
        env.fs.unlink(&Path::new("/db").join(names[*at])).unwrap();
    }
    let options = DbOptions { best_efforts_recovery: true, ..options(env) };
    let db = Db::open(OpenRequest::new("/db", options, blobs(""))).unwrap();
    let rows = scan(&db);
    rows.iter().for_each(|(key, value)| assert_eq!(get(&db, key).as_ref(), Some(value)));
    db.close().unwrap();
    rows
}

/// Makes a database whose three flushes wrote an SST file and a blob file each. Returns the environment and the entries.
fn three_flushes() -> (Env, Vec<(String, String)>) {
    let env = Env::memory(31);
    let db = open(&env, blobs(""));
    let mut rows = Vec::new();
    for key in ["a", "b", "c"] {
        put(&db, key, &large(key));
        flush(&db);
        rows.push((key.to_string(), large(key)));
    }
    db.close().unwrap();
    (env, rows)
}

#[test]
fn best_efforts_recovery_returns_to_the_state_before_a_missing_blob_file() {
    for (lost, left) in [(0, 0), (1, 1), (2, 2)] {
        let (env, rows) = three_flushes();
        assert_eq!(best_effort(&env, &[(".blob", lost)]), rows[..left], "blob file {lost} is lost");
    }
}

/// A process can have too many open files for a moment. The newest state must not be lost for this reason.
#[test]
fn best_efforts_recovery_fails_if_the_system_refuses_to_open_a_file() {
    for fault in ["open *.sst #3", "open *.blob #3", "status *.sst #3", "read *.sst #6"] {
        let (env, rows) = three_flushes();
        let faults = FaultFs::wrap(env.fs.clone());
        faults.hook().set_plan(&format!("{fault} EMFILE")).unwrap();
        let refused = Env { fs: faults.clone(), ..env.clone() };
        let options = DbOptions { best_efforts_recovery: true, ..options(&refused) };
        let error = Db::open(OpenRequest::new("/db", options, blobs(""))).err().unwrap();
        assert_eq!(error.kind(), Kind::IoError, "{fault}: {error}");
        assert_eq!(best_effort(&env, &[]), rows, "{fault}");
    }
}

#[test]
fn best_efforts_recovery_needs_no_blob_file_of_a_missing_level_0_file() {
    let (env, rows) = three_flushes();
    // The open starts a new MANIFEST, which has all files in one record.
    assert_eq!(best_effort(&env, &[]), rows);
    assert_eq!(best_effort(&env, &[(".blob", 2), (".sst", 2)]), rows[..2]);
    assert_eq!(best_effort(&env, &[(".sst", 1)]), rows[..1]);
}

#[test]
fn best_efforts_recovery_needs_no_blob_file_that_is_all_garbage() {
    let env = Env::memory(32);
    let db = open(&env, blobs(""));
    let family = db.default_family().unwrap();
    for (key, seed) in [("a", "kept"), ("b", "old"), ("b", "new")] {
        put(&db, key, &large(seed));
        flush(&db);
    }
    // The SST files of "b" become one file. The file of "a" stays, and refers to the oldest blob file.
    let inputs: Vec<_> = {
        let version = family.pin().version.clone();
        let mut numbers: Vec<_> = version.files().map(|(_, file)| file.number).collect();
        numbers.sort();
        numbers[1..].to_vec()
    };
    db.compactions()
        .compact_files(&family, &inputs, Level::ZERO, None, &CompactionOptions::default())
        .unwrap();
    drop(family);
    assert_eq!(on_disk(&env).len(), 2, "the blob file of the old value is deleted");
    db.close().unwrap();
    let rows = [("a", "kept"), ("b", "new")].map(|(key, seed)| (key.to_string(), large(seed)));
    assert_eq!(best_effort(&env, &[]), rows);
    // A compaction without garbage collection writes an SST file that refers to both blob files, and is linked to the
    // older one.
    let db = open(&env, blobs(""));
    compact(&db, CompactRangeOptions::default());
    db.close().unwrap();
    assert_eq!(best_effort(&env, &[(".blob", 1)]), []);
}
