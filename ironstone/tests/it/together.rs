//! Several column families at one sequence number; files and space of a database.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ironstone::env::{SstFileManager, SstFileOptions};
use ironstone::stats::Ticker;
use ironstone::{
    CompactRangeOptions, CompactionFilter, CompactionFilterFactory, CompactionOptions, CreationReason, Db,
    Decision, Family, FamilyDescriptor, FamilyOptions, FilterContext, FilterInput, FlushOptions, Kind,
    Options, ReadOptions, Statistics, Subcode, TableFilter, WaitForCompactOptions, WriteBatch,
};

fn with_families(options: Options, names: &[&str]) -> (Db, Vec<Family>) {
    let db = Db::open("data", options).unwrap();
    let named = names.iter().map(|name| FamilyDescriptor::new(*name, FamilyOptions::default()));
    let families = db.create_families(named.collect()).unwrap();
    (db, families)
}

#[test]
fn reads_of_several_families_see_each_batch_whole_or_not_at_all() {
    let (db, families) = with_families(Options::in_memory(), &["a", "b", "c"]);
    let done = Arc::new(AtomicBool::new(false));
    let writer = {
        let (db, families, done) = (db.clone(), families.clone(), done.clone());
        std::thread::spawn(move || {
            for i in 0..2000u32 {
                let mut batch = WriteBatch::new();
                for family in &families {
                    batch.put_in(family.id(), b"k", &i.to_le_bytes());
                }
                db.write(batch).unwrap();
                if i % 100 == 0 {
                    let at = i as usize / 100 % families.len();
                    families[at]
                        .flush_with(&FlushOptions { wait: false, ..FlushOptions::default() })
                        .unwrap();
                }
            }
            done.store(true, Ordering::Release);
        })
    };
    let keys: Vec<(&Family, &[u8])> = families.iter().map(|family| (family, &b"k"[..])).collect();
    while !done.load(Ordering::Acquire) {
        let found: Vec<_> = db
            .multi_get_families(&keys, &ReadOptions::default())
            .into_iter()
            .map(|value| value.unwrap().map(|value| value.to_vec()))
            .collect();
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
        let mut iters = db.iterators(&families, &ReadOptions::default()).unwrap();
        let shown: Vec<_> = iters
            .iter_mut()
            .map(|iter| {
                iter.seek_to_first();
                iter.value().to_vec()
            })
            .collect();
        assert!(shown.windows(2).all(|pair| pair[0] == pair[1]), "{shown:?}");
    }
    writer.join().unwrap();
    assert_eq!(db.int_property("rocksdb.num-snapshots"), Some(0));
}

#[test]
fn keys_of_families_in_any_order_are_answered_in_the_order_of_the_call() {
    let (db, families) = with_families(Options::in_memory(), &["a", "b"]);
    families[0].put(b"1", b"a1").unwrap();
    families[1].put(b"1", b"b1").unwrap();
    families[0].put(b"2", b"a2").unwrap();
    let asked: [(&Family, &[u8]); 5] =
        [(&families[1], b"1"), (&families[0], b"2"), (&db, b"1"), (&families[0], b"1"), (&families[0], b"2")];
    let found: Vec<_> = db
        .multi_get_families(&asked, &ReadOptions::default())
        .into_iter()
        .map(|value| value.unwrap().map(|value| String::from_utf8(value.to_vec()).unwrap()))
        .collect();
    let wanted = [Some("b1"), Some("a2"), None, Some("a1"), Some("a2")];
    assert_eq!(found, wanted.map(|value| value.map(str::to_string)));
    // Each value has two bytes. The second value of the family "a" exceeds the limit, so its third value is Aborted, and
    // also the value of the family "b", whose id is larger.
    let limited = ReadOptions { value_size_soft_limit: 2, ..ReadOptions::default() };
    let found = db.multi_get_families(&asked, &limited);
    let answered: Vec<_> = found.iter().map(|value| value.as_ref().map(Option::is_some).ok()).collect();
    assert_eq!(answered, [None, Some(true), Some(false), Some(true), None]);
    let errors = found.iter().filter_map(|value| value.as_ref().err());
    assert!(errors.map(|error| error.kind()).all(|kind| kind == Kind::Aborted));
    let exact = ReadOptions { value_size_soft_limit: 6, ..ReadOptions::default() };
    assert!(
        db.multi_get_families(&asked, &exact).iter().all(Result::is_ok),
        "each column family has 6 bytes or less"
    );
}

#[test]
fn a_family_that_exists_ends_the_creation_after_the_families_before_it() {
    let (db, _) = with_families(Options::in_memory(), &["a"]);
    let named = |name: &str| FamilyDescriptor::new(name, FamilyOptions::default());
    assert!(db.create_families(vec![named("b"), named("a"), named("c")]).is_err());
    assert!(db.family("b").is_ok());
    assert!(db.family("c").is_err());
    db.drop_families(&[db.family("a").unwrap(), db.family("b").unwrap()]).unwrap();
    assert_eq!(db.families().len(), 1);
}

#[test]
fn an_iterator_skips_the_tables_that_the_filter_refuses_and_keeps_their_tombstones() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    for key in ["a", "b", "c", "d"] {
        db.put(key.as_bytes(), b"low").unwrap();
    }
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    db.put(b"a", b"high").unwrap();
    db.delete_range(b"c", b"d").unwrap();
    db.flush().unwrap();
    let keys = |wanted: u64| -> Vec<String> {
        let filter = TableFilter::new(move |properties| properties.num_entries == wanted);
        let options = ReadOptions { table_filter: Some(filter), ..ReadOptions::default() };
        let mut iter = db.iter_with(options).unwrap();
        let mut shown = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            shown.push(format!("{}={}", iter.key().escape_ascii(), iter.value().escape_ascii()));
            iter.next();
        }
        let forward = shown.clone();
        shown.clear();
        iter.seek_to_last();
        while iter.valid() {
            shown.push(format!("{}={}", iter.key().escape_ascii(), iter.value().escape_ascii()));
            iter.prev();
        }
        shown.reverse();
        assert_eq!(shown, forward);
        forward
    };
    // Only the file in the last level is opened for keys; the tombstone of the file in level 0 still counts.
    assert_eq!(keys(4), ["a=low", "b=low", "d=low"]);
    assert_eq!(keys(2), ["a=high"]);
    assert!(keys(99).is_empty());
}

#[test]
fn the_manager_of_files_knows_each_table_and_deletes_at_its_rate() {
    let mut options = Options::in_memory();
    let manager = SstFileManager::new(
        options.db.env.clone(),
        SstFileOptions { rate_bytes_per_sec: 1 << 30, max_trash_db_ratio: 1e9, ..SstFileOptions::default() },
    );
    options.db.sst_file_manager = Some(manager.clone());
    let db = Db::open("data", options.clone()).unwrap();
    for i in 0..4u8 {
        db.put(b"k", &[i; 1000]).unwrap();
        db.put(b"l", &[i]).unwrap();
        db.flush().unwrap();
    }
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    db.close().unwrap();
    let sizes: u64 = db.live_files().iter().map(|file| file.size).sum();
    manager.wait_for_empty_trash();
    assert_eq!(manager.total_size(), sizes);
    assert_eq!(manager.tracked().len(), 1);
    // A later open finds the existing files.
    drop(db);
    let again = SstFileManager::new(options.db.env.clone(), SstFileOptions::default());
    options.db.sst_file_manager = Some(again.clone());
    let _db = Db::open("data", options).unwrap();
    assert_eq!(again.total_size(), sizes);
}

#[test]
fn a_flush_that_reaches_the_limit_of_space_stops_writes_until_there_is_space() {
    let mut options = Options::in_memory();
    options.db.max_bgerror_resume_count = 0;
    let limit = SstFileOptions { max_allowed_space: 2000, ..SstFileOptions::default() };
    let manager = SstFileManager::new(options.db.env.clone(), limit);
    options.db.sst_file_manager = Some(manager.clone());
    let db = Db::open("data", options).unwrap();
    let incompressible: Vec<u8> = (0..4000u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    db.put(b"k", &incompressible).unwrap();
    // The job checks the space before the flush returns.
    assert_eq!(db.flush().unwrap_err().subcode(), Subcode::SpaceLimit);
    let error = db.put(b"l", b"v").unwrap_err();
    assert_eq!(error.subcode(), Subcode::SpaceLimit, "{error}");
    manager.set_options(SstFileOptions::default());
    db.resume().unwrap();
    db.put(b"l", b"v").unwrap();
    assert!(db.get(b"k").unwrap().is_some());
}

/// A manual compaction and `compact_files` ask for space before they start, as automatic compactions do.
#[test]
fn a_compaction_without_space_does_not_start_and_writes_continue() {
    let mut options = Options::in_memory();
    options.family.disable_auto_compactions = true;
    options.family.level0_file_num_compaction_trigger = 3;
    let statistics = Arc::new(Statistics::new());
    options.db.statistics = Some(statistics.clone());
    let manager = SstFileManager::new(options.db.env.clone(), SstFileOptions::default());
    options.db.sst_file_manager = Some(manager.clone());
    let db = Db::open("data", options).unwrap();
    for key in [b"a", b"z", b"b"] {
        db.put(key, b"value").unwrap();
        db.put(b"m", b"in each file").unwrap();
        db.flush().unwrap();
    }
    let before = manager.total_size();
    manager.set_options(SstFileOptions { max_allowed_space: before + 100, ..SstFileOptions::default() });
    let manual = db.compact_range(None, None, &CompactRangeOptions::default());
    assert_eq!(manual.unwrap_err().kind(), Kind::CompactionTooLarge);
    assert_eq!(statistics.ticker(Ticker::CompactionCancelled), 1);
    let files: Vec<_> = db.live_files().iter().map(|file| file.number).collect();
    let named = db.default_family().compact_files(
        &files,
        ironstone::Level::new(6),
        None,
        &CompactionOptions::default(),
    );
    assert_eq!(named.unwrap_err().kind(), Kind::CompactionTooLarge);
    assert_eq!(statistics.ticker(Ticker::CompactionCancelled), 2);
    // An automatic compaction without space is no error of a wait.
    db.set_options(&[("disable_auto_compactions", "false")]).unwrap();
    db.wait_for_compact().unwrap();
    assert!(statistics.ticker(Ticker::CompactionCancelled) > 2);
    assert_eq!(manager.total_size(), before);
    db.put(b"c", b"v").unwrap();
    manager.set_options(SstFileOptions::default());
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
}

/// Lowers the limit of an SST file manager while a compaction runs.
struct LowersTheLimit(Arc<SstFileManager>);

impl CompactionFilter for LowersTheLimit {
    fn name(&self) -> &str {
        "lowers the limit"
    }

    fn filter(&self, _: &FilterInput<'_>) -> Decision {
        let limit = self.0.total_size() + 100;
        self.0.set_options(SstFileOptions { max_allowed_space: limit, ..SstFileOptions::default() });
        Decision::Keep
    }
}

#[test]
fn a_compaction_that_reaches_the_limit_of_space_fails_and_keeps_its_inputs() {
    let mut options = Options::in_memory();
    options.db.max_bgerror_resume_count = 0;
    options.family.disable_auto_compactions = true;
    let manager = SstFileManager::new(options.db.env.clone(), SstFileOptions::default());
    options.db.sst_file_manager = Some(manager.clone());
    options.family.compaction_filter = Some(Arc::new(LowersTheLimit(manager.clone())));
    let db = Db::open("data", options).unwrap();
    let incompressible: Vec<u8> = (0..4000u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    for key in [b"a", b"z", b"b"] {
        db.put(key, &incompressible).unwrap();
        db.put(b"m", b"in each file").unwrap();
        db.flush().unwrap();
    }
    let before = manager.total_size();
    assert_eq!(
        db.compact_range(None, None, &CompactRangeOptions::default()).unwrap_err().subcode(),
        Subcode::SpaceLimit
    );
    assert_eq!(manager.total_size(), before);
    assert_eq!(db.put(b"c", b"v").unwrap_err().subcode(), Subcode::SpaceLimit);
    manager.set_options(SstFileOptions::default());
    db.resume().unwrap();
    for key in [b"a", b"z", b"b"] {
        assert_eq!(&*db.get(key).unwrap().unwrap(), &incompressible[..]);
    }
}

/// Makes each flush of its column family fail.
struct FailsFlushes;

impl CompactionFilter for FailsFlushes {
    fn name(&self) -> &str {
        "fails flushes"
    }

    fn filter(&self, _: &FilterInput<'_>) -> Decision {
        Decision::Keep
    }

    fn ignore_snapshots(&self) -> bool {
        false
    }
}

impl CompactionFilterFactory for FailsFlushes {
    fn name(&self) -> &str {
        "fails flushes"
    }

    fn should_filter(&self, _: CreationReason) -> bool {
        true
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(FailsFlushes))
    }
}

/// Returns the SST files and blob files in the directory of a database, with their sizes.
fn data_files(db: &Db) -> BTreeMap<PathBuf, u64> {
    let fs = db.db_options().env.fs.clone();
    let names = fs.list(db.path()).unwrap();
    let paths = names.iter().filter(|name| name.ends_with(".sst") || name.ends_with(".blob"));
    paths
        .map(|name| db.path().join(name))
        .map(|path| {
            let size = fs.file_size(&path).unwrap();
            (path, size)
        })
        .collect()
}

#[test]
fn the_sst_file_manager_counts_no_file_of_a_failed_flush() {
    let mut options = Options::in_memory();
    options.update("atomic_flush=true;max_bgerror_resume_count=0").unwrap();
    let manager = SstFileManager::new(options.db.env.clone(), SstFileOptions::default());
    options.db.sst_file_manager = Some(manager.clone());
    let db = Db::open("data", options).unwrap();
    let fails =
        FamilyOptions { compaction_filter_factory: Some(Arc::new(FailsFlushes)), ..FamilyOptions::default() };
    let family = db.create_family(FamilyDescriptor::new("fails", fails)).unwrap();
    db.put(b"a", b"v").unwrap();
    family.put(b"a", b"v").unwrap();
    assert_eq!(db.flush().unwrap_err().kind(), Kind::NotSupported);
    assert_eq!((manager.total_size(), data_files(&db).len()), (0, 0));
}

#[test]
fn the_sst_file_manager_counts_each_sst_file_and_blob_file() {
    let mut options = Options::in_memory();
    options
        .update("enable_blob_files=true;min_blob_size=100;enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=1.0")
        .unwrap();
    let manager = SstFileManager::new(options.db.env.clone(), SstFileOptions::default());
    options.db.sst_file_manager = Some(manager.clone());
    let db = Db::open("data", options.clone()).unwrap();
    for round in 0..3u8 {
        (0..20u8).for_each(|key| db.put(&[key], &[round; 200]).unwrap());
        db.flush().unwrap();
        assert_eq!(manager.tracked().into_iter().collect::<BTreeMap<_, _>>(), data_files(&db));
    }
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    let all = WaitForCompactOptions { wait_for_purge: true, ..WaitForCompactOptions::default() };
    db.wait_for_compact_with(&all).unwrap();
    let files = data_files(&db);
    assert_eq!(files.keys().filter(|path| path.extension().is_some_and(|e| e == "blob")).count(), 1);
    assert_eq!(manager.tracked().into_iter().collect::<BTreeMap<_, _>>(), files);
    drop(db);
    let manager = SstFileManager::new(options.db.env.clone(), SstFileOptions::default());
    options.db.sst_file_manager = Some(manager.clone());
    let db = Db::open("data", options).unwrap();
    assert_eq!(manager.tracked().into_iter().collect::<BTreeMap<_, _>>(), data_files(&db));
}

#[test]
fn fifo_compaction_deletes_files_although_a_merge_of_them_would_not_fit() {
    let mut options = Options::in_memory();
    options.update("compaction_style=kCompactionStyleFIFO").unwrap();
    let manager = SstFileManager::new(options.db.env.clone(), SstFileOptions::default());
    options.db.sst_file_manager = Some(manager.clone());
    let db = Db::open("data", options).unwrap();
    for key in [b"a", b"b", b"c"] {
        db.put(key, b"value").unwrap();
        db.flush().unwrap();
    }
    let all = manager.total_size();
    manager.set_options(SstFileOptions { max_allowed_space: all + 100, ..SstFileOptions::default() });
    let limit = format!("{{max_table_files_size={}}}", all - 100);
    db.set_options(&[("compaction_options_fifo", &limit)]).unwrap();
    db.wait_for_compact().unwrap();
    assert_eq!(db.live_files().len(), 2);
    assert_eq!(db.get(b"a").unwrap(), None);
}
