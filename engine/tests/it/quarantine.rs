//! A damaged block makes only its own keys unreadable. Jobs leave its SST file out, writes continue, and other reads
//! succeed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use env::Env;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use format::names::FileName;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::CompactionStyle;
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, ReadOptions,
    WaitForCompactOptions, WriteOptions,
};
use lsm::merge::{Failure, FullMerge, MergeOperator, Merged};

use crate::basic::{flush, get, options, put};

const PROPERTY: &str = "ironstone.quarantined-tables";

fn family_options() -> FamilyOptions {
    let mut family = FamilyOptions { level0_file_num_compaction_trigger: 4, ..FamilyOptions::default() };
    family.set("block_based_table_factory", "{block_size=256;no_block_cache=true}").unwrap();
    family.set("compression", "kNoCompression").unwrap();
    family
}

fn fill(db: &Db, value: &str) {
    for i in 0..200 {
        put(db, &format!("key{i:03}"), value);
    }
    flush(db);
}

fn tables(env: &Env) -> Vec<PathBuf> {
    let mut found: Vec<_> = env.fs.list(Path::new("/db")).unwrap();
    found.retain(|name| matches!(FileName::parse(name), Some(FileName::Table(_))));
    found.sort();
    found.iter().map(|name| Path::new("/db").join(name)).collect()
}

/// Creates a database with one SST file whose second block is damaged. The block has the keys around `key010`.
fn damaged(seed: u64) -> (Env, Db) {
    damaged_with(seed, &family_options(), |_| ())
}

fn damaged_with(seed: u64, family: &FamilyOptions, prepare: impl FnOnce(&Db)) -> (Env, Db) {
    let env = Env::memory(seed);
    let open = || Db::open(OpenRequest::new("/db", options(&env), family.clone())).unwrap();
    let db = open();
    fill(&db, "first");
    prepare(&db);
    db.close().unwrap();
    let path = tables(&env).remove(0);
    let mut bytes = env.fs.read_all(&path, 1 << 20).unwrap();
    bytes[300..310].fill(0xa5);
    env.fs.write_all(&path, &bytes, true).unwrap();
    let db = open();
    (env, db)
}

fn lost(db: &Db) -> Vec<usize> {
    let family = db.default_family().unwrap();
    let read = |i: &usize| db.get(&family, format!("key{i:03}").as_bytes(), &ReadOptions::default());
    (0..200).filter(|i| read(i).is_err()).collect()
}

#[test]
fn compaction_quarantines_the_sst_file_and_all_else_continues() {
    let (env, db) = damaged(1);
    let other = db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap();
    // Put keys next to the damaged SST file, so that a compaction needs these files and the damaged file.
    for round in 0..12 {
        for i in 150..200 {
            put(&db, &format!("key{i:03}"), &format!("round {round}"));
        }
        flush(&db);
    }
    let family = db.default_family().unwrap();
    let damaged = tables(&env).remove(0);
    let number: u64 = damaged.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    assert_eq!(db.properties().text(&family, PROPERTY), Some(number.to_string()));
    assert!(db.background().error().is_none());
    assert_eq!(db.properties().text(&other, PROPERTY).as_deref(), Some(""));
    // Compactions left the damaged file out: twelve flushes leave fewer SST files.
    assert!(tables(&env).len() < 10, "{:?}", tables(&env));
    let lost = lost(&db);
    assert!(!lost.is_empty() && lost.len() < 20, "{lost:?}");
    assert_eq!(get(&db, "key199").as_deref(), Some("round 11"));
    assert_eq!(get(&db, "key100").as_deref(), Some("first"));
    db.put(&other, b"a", b"b", &WriteOptions::default()).unwrap();
    db.flush(&[other], &FlushOptions::default()).unwrap();
    // A new write makes a key of the damaged block readable again.
    put(&db, &format!("key{:03}", lost[0]), "again");
    assert_eq!(get(&db, &format!("key{:03}", lost[0])).as_deref(), Some("again"));
    db.close().unwrap();
}

#[test]
fn a_manual_compaction_of_a_quarantined_range_fails_and_of_other_ranges_works() {
    let (env, db) = damaged(2);
    let family = db.default_family().unwrap();
    put(&db, "zebra", "1");
    flush(&db);
    let force = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    for _ in 0..2 {
        let all = db.compactions().compact_range(&family, None, None, &force);
        let error = all.expect_err("the damage");
        assert!(error.is_corruption(), "{error}");
        let named =
            tables(&env).iter().any(|t| error.to_string().contains(t.file_stem().unwrap().to_str().unwrap()));
        assert!(named, "{error}");
    }
    put(&db, "zoo", "1");
    flush(&db);
    db.compactions().compact_range(&family, Some(b"zebra"), Some(b"zzz"), &force).unwrap();
    assert!(db.background().error().is_none());
    put(&db, "zulu", "1");
    db.close().unwrap();
}

/// Returns the result of `work`. Fails if `work` does not end.
fn ends<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || drop(tell.send(work())));
    // The timeout only ends a run that would hang.
    let outcome =
        told.recv_timeout(std::time::Duration::from_secs(60)).expect("it waits for ever, or panicked");
    thread.join().unwrap();
    outcome
}

#[test]
fn a_manual_compaction_whose_inputs_need_a_quarantined_file_fails() {
    for style in [CompactionStyle::Level, CompactionStyle::Universal] {
        let family = FamilyOptions { compaction_style: style, ..family_options() };
        // The damaged file is on the last level. All files above that overlap its keys are newer.
        let (_env, db) = damaged_with(3, &family, |db| {
            let family = db.default_family().unwrap();
            db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
        });
        let family = db.default_family().unwrap();
        put(&db, "key100", "1");
        put(&db, "zebra", "1");
        flush(&db);
        let force = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            exclusive_manual_compaction: true,
            ..CompactRangeOptions::default()
        };
        db.compactions().compact_range(&family, None, None, &force).expect_err("the damage");
        let number = db.properties().text(&family, PROPERTY).unwrap();
        let other = db.clone();
        let range = ends(move || {
            let family = other.default_family().unwrap();
            other.compactions().compact_range(&family, Some(b"zebra"), Some(b"zzz"), &force)
        });
        let error = range.expect_err("its table reaches into the damaged one");
        assert!(error.is_corruption() && error.to_string().contains(&number), "{style:?} {number}: {error}");
        db.close().unwrap();
    }
}

#[test]
fn writes_continue_though_every_sst_file_of_level_0_overlaps_it() {
    for trigger in [2, 4] {
        let family = FamilyOptions {
            level0_file_num_compaction_trigger: trigger,
            level0_slowdown_writes_trigger: trigger,
            level0_stop_writes_trigger: trigger + 2,
            max_compaction_bytes: 1,
            ..family_options()
        };
        let (env, db) = damaged_with(4, &family, |_| ());
        let db = ends(move || {
            for round in 0..30 {
                put(&db, "key000", &format!("round {round}"));
                put(&db, "key199", "1");
                flush(&db);
            }
            db
        });
        let family = db.default_family().unwrap();
        assert_ne!(db.properties().text(&family, PROPERTY).as_deref(), Some(""));
        let purged = WaitForCompactOptions { wait_for_purge: true, ..WaitForCompactOptions::default() };
        db.background().wait_for_compact_with(&purged).unwrap();
        assert!(tables(&env).len() <= trigger as usize + 2, "{:?}", tables(&env));
        assert_eq!(get(&db, "key000").as_deref(), Some("round 29"));
        db.close().unwrap();
    }
}

#[test]
fn a_stall_that_no_compaction_can_end_because_of_it_ends_with_an_error() {
    let family = FamilyOptions {
        level0_file_num_compaction_trigger: 2,
        level0_slowdown_writes_trigger: 2,
        level0_stop_writes_trigger: 2,
        ..family_options()
    };
    let (_env, db) = damaged_with(5, &family, |_| ());
    let (db, outcome) = ends(move || {
        put(&db, "key000", "1");
        put(&db, "key199", "1");
        flush(&db);
        let outcome = db.put(&db.default_family().unwrap(), b"a", b"1", &WriteOptions::default());
        (db, outcome)
    });
    let error = outcome.expect_err("no room, and none to come");
    assert_eq!(error.kind(), base::Kind::Incomplete);
    assert!(error.message().contains("quarantined"), "{error}");
    assert!(db.background().error().is_none());
    let family = db.default_family().unwrap();
    db.admin()
        .set_options(
            &family,
            &[("level0_stop_writes_trigger", "20"), ("level0_slowdown_writes_trigger", "20")],
        )
        .unwrap();
    put(&db, "a", "1");
    db.close().unwrap();
}

#[test]
fn a_compaction_of_an_sst_file_out_of_order_writes_no_file_and_names_the_damaged_file() {
    let env = Env::memory(9);
    let mut family = FamilyOptions::default();
    family.set("block_based_table_factory", "{checksum=kNoChecksum}").unwrap();
    family.set("compression", "kNoCompression").unwrap();
    let open = || Db::open(OpenRequest::new("/db", options(&env), family.clone())).unwrap();
    let db = open();
    ["apple", "berry", "cherry"].iter().for_each(|key| put(&db, key, "value"));
    flush(&db);
    db.close().unwrap();
    let path = tables(&env).remove(0);
    let mut bytes = env.fs.read_all(&path, 1 << 20).unwrap();
    let at = bytes.windows(5).position(|window| window == b"berry").unwrap();
    bytes[at] = b'z';
    env.fs.write_all(&path, &bytes, true).unwrap();
    let db = open();
    let request = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    let error =
        db.compactions().compact_range(&db.default_family().unwrap(), None, None, &request).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("out-of-order keys"), "{error}");
    assert_eq!(error.path(), Some(path.as_path()));
    assert_eq!(tables(&env), [path]);
    put(&db, "later", "value");
    assert_eq!(get(&db, "later").as_deref(), Some("value"));
}

/// Creates a database with one SST file: the keys `apple` with a merge operand, and `berry` and `cherry` in the wrong order.
fn out_of_order(env: &Env, operator: Option<Arc<dyn MergeOperator>>) -> (FamilyOptions, PathBuf) {
    let mut family = FamilyOptions { merge_operator: operator, ..FamilyOptions::default() };
    family.set("block_based_table_factory", "{checksum=kNoChecksum}").unwrap();
    family.set("compression", "kNoCompression").unwrap();
    let db = Db::open(OpenRequest::new("/db", options(env), family.clone())).unwrap();
    let default = db.default_family().unwrap();
    if family.merge_operator.is_some() {
        let never = db.snapshot();
        db.merge(&default, b"apple", b"1", &WriteOptions::default()).unwrap();
        drop(never);
    }
    ["berry", "cherry"].iter().for_each(|key| put(&db, key, "value"));
    flush(&db);
    db.close().unwrap();
    let path = tables(env).remove(0);
    let mut bytes = env.fs.read_all(&path, 1 << 20).unwrap();
    let at = bytes.windows(5).position(|window| window == b"berry").unwrap();
    bytes[at] = b'z';
    env.fs.write_all(&path, &bytes, true).unwrap();
    (family, path)
}

fn forced(canceled: Option<Arc<AtomicBool>>) -> CompactRangeOptions {
    CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        canceled,
        ..CompactRangeOptions::default()
    }
}

/// A merge operator that always fails.
struct Fails;

impl MergeOperator for Fails {
    fn name(&self) -> &str {
        "Fails"
    }

    fn full(&self, _: &FullMerge<'_>, _: &mut Vec<u8>) -> Result<Merged, Failure> {
        Err(Failure::Merge)
    }
}

#[test]
fn a_failure_of_the_merge_operator_names_no_sst_file() {
    let env = Env::memory(10);
    let (family, _) = out_of_order(&env, Some(Arc::new(Fails)));
    let db = Db::open(OpenRequest::new("/db", options(&env), family)).unwrap();
    let error =
        db.compactions().compact_range(&db.default_family().unwrap(), None, None, &forced(None)).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("Fails"), "{error}");
    assert_eq!(error.path(), None, "{error}");
}

/// Sets a flag at the second read of the data of an SST file.
#[derive(Debug)]
struct CancelsAtSecondRead {
    path: PathBuf,
    reads: AtomicUsize,
    canceled: Arc<AtomicBool>,
}

impl Hook for CancelsAtSecondRead {
    fn name(&self) -> &'static str {
        "cancels"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        if call.op == Op::Read && call.path == self.path && self.reads.fetch_add(1, Ordering::Relaxed) == 1 {
            self.canceled.store(true, Ordering::Relaxed);
        }
        Verdict::Go
    }
}

#[test]
fn a_cancel_ends_the_search_for_the_sst_file_out_of_order() {
    let env = Env::memory(11);
    let (family, path) = out_of_order(&env, None);
    let canceled = Arc::new(AtomicBool::new(false));
    let hook =
        CancelsAtSecondRead { path, reads: AtomicUsize::new(usize::MAX / 2), canceled: canceled.clone() };
    let hook = Arc::new(hook);
    let mut hooked = options(&env);
    hooked.env.fs = Arc::new(Hooked::new(env.fs.clone(), hook.clone()));
    let db = Db::open(OpenRequest::new("/db", hooked, family)).unwrap();
    // Open the table, so that the reads of the compaction are the first reads that count.
    assert_eq!(get(&db, "aardvark"), None);
    hook.reads.store(0, Ordering::Relaxed);
    let error = db
        .compactions()
        .compact_range(&db.default_family().unwrap(), None, None, &forced(Some(canceled)))
        .unwrap_err();
    assert_eq!(error.kind(), base::Kind::Incomplete, "{error}");
    assert!(hook.reads.load(Ordering::Relaxed) > 1, "the inputs were not read again");
}

/// Many blocks in the middle of the SST file have smaller keys than the blocks before them. A subcompaction that starts there finds a key
/// before its start.
#[test]
fn a_subcompaction_that_starts_in_an_sst_file_out_of_order_ends_with_corruption() {
    let env = Env::memory(12);
    let mut family = FamilyOptions { target_file_size_base: 4096, ..FamilyOptions::default() };
    family
        .set("block_based_table_factory", "{checksum=kNoChecksum;block_size=256;block_restart_interval=64}")
        .unwrap();
    family.set("compression", "kNoCompression").unwrap();
    let open = || {
        let options = DbOptions { max_subcompactions: 4, ..options(&env) };
        Db::open(OpenRequest::new("/db", options, family.clone())).unwrap()
    };
    let db = open();
    for _ in 0..2 {
        (0..1000).for_each(|at| put(&db, &format!("k{at:04}"), "value"));
        flush(&db);
    }
    db.close().unwrap();
    let path = tables(&env).remove(0);
    let mut bytes = env.fs.read_all(&path, 1 << 20).unwrap();
    // Each block has one whole key. The data blocks come before the index.
    let starts: Vec<_> = (0..bytes.len() - 5)
        .filter(|at| bytes[*at] == b'k' && bytes[at + 1..at + 5].iter().all(u8::is_ascii_digit))
        .collect();
    let blocks = starts.len() / 2;
    starts[blocks / 8..blocks * 7 / 8].iter().for_each(|at| bytes[*at] = b'a');
    env.fs.write_all(&path, &bytes, true).unwrap();
    let db = open();
    let request = CompactRangeOptions { max_subcompactions: 4, ..forced(None) };
    let error =
        db.compactions().compact_range(&db.default_family().unwrap(), None, None, &request).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("out-of-order keys"), "{error}");
    assert_eq!(error.path(), Some(path.as_path()));
    assert_eq!(tables(&env).len(), 2);
}
