//! Manual compactions and flushes: what a call flushes, compacts and rejects before it starts.

use std::sync::{Arc, Mutex};

use base::{Kind, Level, Subcode};
use env::Env;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{
    CompactRangeOptions, CompactionOptions, CompactionStyle, DbOptions, FamilyOptions, FlushOptions,
    WriteOptions,
};
use lsm::cut::{FixedPrefixPartitioner, PartitionerFactory};
use lsm::filter::{
    CompactionFilter, CompactionFilterFactory, CreationReason, Decision, FilterContext, FilterInput,
};

use crate::basic::{flush, get, open, options, put};

fn compact(db: &Db, begin: Option<&str>, end: Option<&str>) -> base::Result<()> {
    let family = db.default_family().unwrap();
    let (begin, end) = (begin.map(str::as_bytes), end.map(str::as_bytes));
    db.compactions().compact_range(&family, begin, end, &CompactRangeOptions::default())
}

fn number(db: &Db, name: &str) -> u64 {
    db.properties().number(&db.default_family().unwrap(), &format!("rocksdb.{name}")).unwrap()
}

fn in_memtable(db: &Db) -> u64 {
    number(db, "num-entries-active-mem-table")
}

fn files(db: &Db, level: usize) -> String {
    let name = format!("rocksdb.num-files-at-level{level}");
    db.properties().text(&db.default_family().unwrap(), &name).unwrap()
}

/// The prefix filter of the SST file does not have the prefix of the first key of the range.
#[test]
fn a_range_over_several_prefixes_is_compacted() {
    let mut family = FamilyOptions::default();
    family
        .update("prefix_extractor=fixed:1;block_based_table_factory={filter_policy=bloomfilter:10:false}")
        .unwrap();
    let db = open(&Env::memory(1), family);
    put(&db, "b1", "1");
    put(&db, "b2", "1");
    flush(&db);
    assert_eq!(files(&db, 0), "1");
    compact(&db, Some("a1"), Some("c1")).unwrap();
    assert_eq!(files(&db, 0), "0");
}

#[test]
fn a_compaction_of_a_range_outside_of_the_memtables_flushes_nothing() {
    let db = open(&Env::memory(1), FamilyOptions::default());
    put(&db, "a", "1");
    flush(&db);
    put(&db, "x", "1");
    compact(&db, Some("a"), Some("c")).unwrap();
    assert_eq!(in_memtable(&db), 1);
    let family = db.default_family().unwrap();
    db.delete_range(&family, b"d", b"g", &WriteOptions::default()).unwrap();
    compact(&db, Some("a"), Some("c")).unwrap();
    assert_eq!(in_memtable(&db), 2);
    // The range tombstone is an entry of each key in its range.
    compact(&db, Some("e"), Some("f")).unwrap();
    assert_eq!(in_memtable(&db), 0);
    // A range with one end always flushes.
    put(&db, "x", "2");
    compact(&db, None, Some("c")).unwrap();
    assert_eq!(in_memtable(&db), 0);
}

#[test]
fn a_rejected_compaction_flushes_nothing() {
    let db = open(&Env::memory(2), FamilyOptions::default());
    put(&db, "a", "1");
    db.compactions().disable_manual().unwrap();
    let error = compact(&db, None, None).unwrap_err();
    assert_eq!((error.kind(), error.subcode()), (Kind::Incomplete, Subcode::ManualCompactionPaused));
    db.compactions().enable_manual().unwrap();
    db.compactions().abort_all().unwrap();
    let error = compact(&db, None, None).unwrap_err();
    assert_eq!((error.kind(), error.subcode()), (Kind::Incomplete, Subcode::CompactionAborted));
    db.compactions().resume_all().unwrap();
    let canceled = CompactRangeOptions { canceled: Some(Arc::new(true.into())), ..Default::default() };
    let family = db.default_family().unwrap();
    assert_eq!(
        db.compactions().compact_range(&family, None, None, &canceled).unwrap_err().kind(),
        Kind::Incomplete
    );
    assert_eq!(in_memtable(&db), 1);
}

#[test]
fn universal_compaction_of_levels_ignores_the_range() {
    let universal = FamilyOptions {
        compaction_style: CompactionStyle::Universal,
        num_levels: 3,
        disable_auto_compactions: true,
        ..FamilyOptions::default()
    };
    let db = open(&Env::memory(3), universal);
    for key in ["a", "b"] {
        put(&db, key, "1");
        flush(&db);
    }
    compact(&db, Some("x"), Some("z")).unwrap();
    assert_eq!((files(&db, 0), files(&db, 2)), ("0".into(), "1".into()));
}

#[test]
fn a_range_between_the_keys_of_a_file_compacts_nothing() {
    let db = open(&Env::memory(4), FamilyOptions::default());
    put(&db, "a", "1");
    put(&db, "z", "1");
    flush(&db);
    compact(&db, Some("m"), Some("n")).unwrap();
    assert_eq!(files(&db, 0), "1");
    // With one end, the bounds of the file decide.
    compact(&db, Some("m"), None).unwrap();
    assert_eq!(files(&db, 0), "0");
}

#[test]
fn a_partition_boundary_between_the_keys_of_a_file_compacts_the_file() {
    let factory: Arc<dyn PartitionerFactory> = Arc::new(FixedPrefixPartitioner { length: 1 });
    let family = FamilyOptions { sst_partitioner_factory: Some(factory), ..FamilyOptions::default() };
    let db = open(&Env::memory(5), family);
    put(&db, "a", "1");
    put(&db, "z", "1");
    flush(&db);
    compact(&db, Some("mb"), Some("mc")).unwrap();
    assert_eq!(files(&db, 0), "1");
    compact(&db, Some("m"), Some("n")).unwrap();
    assert_eq!((files(&db, 0), files(&db, 6)), ("0".into(), "1".into()));
}

#[test]
fn no_compaction_writes_to_the_level_reserved_for_ingest_behind() {
    let env = Env::memory(6);
    let behind = DbOptions { allow_ingest_behind: true, ..options(&env) };
    let db = Db::open(OpenRequest::new("/db", behind, FamilyOptions::default())).unwrap();
    put(&db, "a", "1");
    flush(&db);
    let family = db.default_family().unwrap();
    let numbers: Vec<_> = family.pin().version.files().map(|(_, file)| file.number).collect();
    let to =
        |level| db.compactions().compact_files(&family, &numbers, level, None, &CompactionOptions::default());
    assert_eq!(to(Level::new(6)).unwrap_err().kind(), Kind::InvalidArgument);
    to(Level::new(5)).unwrap();
    assert_eq!(files(&db, 5), "1");
}

#[test]
fn a_flush_that_may_not_wait_fails_while_writes_are_stopped() {
    let db = open(&Env::memory(7), FamilyOptions::default());
    put(&db, "a", "1");
    db.wals().lock().unwrap();
    let family = db.default_family().unwrap();
    let at_once = FlushOptions { wait: false, ..FlushOptions::default() };
    assert_eq!(db.flush(std::slice::from_ref(&family), &at_once).unwrap_err().kind(), Kind::TryAgain);
    db.wals().unlock().unwrap();
    db.flush(&[family], &at_once).unwrap();
}

struct Filter(bool);

impl CompactionFilter for Filter {
    fn name(&self) -> &str {
        "filter"
    }

    fn filter(&self, _: &FilterInput<'_>) -> Decision {
        Decision::Keep
    }

    fn ignore_snapshots(&self) -> bool {
        self.0
    }
}

/// Records the reasons for which filters are made.
struct Factory(bool, Mutex<Vec<CreationReason>>);

impl CompactionFilterFactory for Factory {
    fn name(&self) -> &str {
        "factory"
    }

    fn should_filter(&self, _: CreationReason) -> bool {
        true
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        self.1.lock().unwrap().push(context.reason);
        Some(Box::new(Filter(self.0)))
    }
}

#[test]
fn a_compaction_filter_that_keeps_snapshots_is_not_supported() {
    let family =
        FamilyOptions { compaction_filter: Some(Arc::new(Filter(false))), ..FamilyOptions::default() };
    let db = open(&Env::memory(8), family);
    put(&db, "a", "1");
    assert_eq!(compact(&db, None, None).unwrap_err().kind(), Kind::NotSupported);
    let factory = Arc::new(Factory(false, Mutex::default()));
    let family = FamilyOptions { compaction_filter_factory: Some(factory), ..FamilyOptions::default() };
    let db = open(&Env::memory(9), family);
    put(&db, "a", "1");
    let error = db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::NotSupported);
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
}

#[test]
fn a_flush_during_recovery_creates_its_compaction_filter_for_recovery() {
    let env = Env::memory(10);
    let factory = Arc::new(Factory(true, Mutex::default()));
    let family =
        FamilyOptions { compaction_filter_factory: Some(factory.clone()), ..FamilyOptions::default() };
    let db = open(&env, family.clone());
    put(&db, "a", "1");
    drop(db);
    let db = open(&env, family);
    put(&db, "b", "1");
    flush(&db);
    assert_eq!(*factory.1.lock().unwrap(), [CreationReason::Recovery, CreationReason::Flush]);
}
