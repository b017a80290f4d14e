//! TTL databases: when values expire, and the values that filters and merge operators get.

use std::sync::Arc;

use ironstone::env::{Env, ManualClock, MemoryFs};
use ironstone::ttl::{TtlDb, value_of};
use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionFilter, Db, Decision, FamilyDescriptor,
    FamilyOptions, FilterInput, Kind, Options, ReadOptions, WriteBatchWithIndex, WriteOptions,
};

fn world() -> (Options, Arc<ManualClock>) {
    let mut options = Options::in_memory();
    let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
    let env = options.db.env.clone();
    options.db.env = Env { fs: Arc::new(MemoryFs::new(clock.clone())), clock: clock.clone(), ..env };
    (options, clock)
}

fn compact(db: &TtlDb) {
    let force = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.plain().compact_range(None, None, &force).unwrap();
}

fn seconds(clock: &ManualClock, seconds: u64) {
    clock.advance(seconds * 1_000_000);
}

#[test]
fn the_first_compaction_after_its_time_drops_a_value() {
    let (options, clock) = world();
    let db = TtlDb::open("data", options, 100).unwrap();
    db.put(b"old", b"1").unwrap();
    seconds(&clock, 60);
    db.put(b"young", b"2").unwrap();
    compact(&db);
    assert!(db.get(b"old").unwrap().is_some());
    seconds(&clock, 41);
    assert!(db.get(b"old").unwrap().is_some(), "reads still show it");
    compact(&db);
    assert!(db.get(b"old").unwrap().is_none());
    assert_eq!(db.get(b"young").unwrap().as_deref(), Some(&b"2"[..]));
    db.set_ttl(0);
    seconds(&clock, 10_000);
    compact(&db);
    assert!(db.get(b"young").unwrap().is_some());
    db.set_ttl(1);
    compact(&db);
    assert!(db.get(b"young").unwrap().is_none());
}

#[test]
fn families_have_times_of_their_own() {
    let (mut options, clock) = world();
    options.db.create_missing_column_families = true;
    let short = FamilyDescriptor::new("short", FamilyOptions::default());
    let db = TtlDb::open_with_families("data", options, vec![(short, 10)]).unwrap();
    let long = db.create_family(FamilyDescriptor::new("long", FamilyOptions::default()), 1000).unwrap();
    let short = db.family("short").unwrap();
    for family in [&short, &long, &db.family("default").unwrap()] {
        family.put(b"k", b"v").unwrap();
    }
    seconds(&clock, 100);
    for family in db.plain().families() {
        family.flush().unwrap();
        let force = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        family.compact_range(None, None, &force).unwrap();
    }
    assert!(short.get(b"k").unwrap().is_none());
    assert!(long.get(b"k").unwrap().is_some());
    assert!(db.get(b"k").unwrap().is_some());
}

struct Upper;

impl CompactionFilter for Upper {
    fn name(&self) -> &str {
        "Upper"
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        match input.value {
            b"drop" => Decision::Remove,
            value => Decision::ChangeValue(value.to_ascii_uppercase()),
        }
    }
}

#[test]
fn the_filter_of_the_application_sees_values_without_times() {
    let (mut options, _) = world();
    options.family.compaction_filter = Some(Arc::new(Upper));
    let db = TtlDb::open("data", options, 100).unwrap();
    db.put(b"a", b"keep").unwrap();
    db.put(b"b", b"drop").unwrap();
    compact(&db);
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"KEEP"[..]));
    assert!(db.get(b"b").unwrap().is_none());
}

#[test]
fn a_merged_value_gets_the_time_of_the_merge() {
    let (mut options, clock) = world();
    options.update("merge_operator=stringappend").unwrap();
    let db = TtlDb::open("data", options, 100).unwrap();
    let plain = WriteOptions::default();
    db.put(b"k", b"a").unwrap();
    db.merge_with(b"k", b"b", &plain).unwrap();
    seconds(&clock, 50);
    db.merge_with(b"k", b"c", &plain).unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"a,b,c"[..]));
    compact(&db);
    let mut iter = db.iter_with(ReadOptions::default()).unwrap();
    iter.seek_to_first();
    assert_eq!((iter.value().unwrap(), iter.written_at().unwrap()), (&b"a,b,c"[..], 1_700_000_050));
    drop(iter);
    seconds(&clock, 90);
    compact(&db);
    assert!(db.get(b"k").unwrap().is_some());
    seconds(&clock, 20);
    compact(&db);
    assert!(db.get(b"k").unwrap().is_none());
}

#[test]
fn a_value_without_a_time_is_corruption() {
    let (options, _) = world();
    let plain = Db::open("data", options.clone()).unwrap();
    plain.put(b"short", b"v").unwrap();
    plain.put(b"long", b"\0\0\0\0\0\0").unwrap();
    drop(plain);
    let db = TtlDb::open_read_only("data", options).unwrap();
    assert_eq!(db.get(b"short").unwrap_err().kind(), Kind::Corruption);
    assert_eq!(db.get(b"long").unwrap_err().kind(), Kind::Corruption);
    assert!(db.put(b"k", b"v").is_err());
}

#[test]
fn a_batch_with_an_index_shows_values_without_their_times() {
    let (mut options, clock) = world();
    options.update("merge_operator=stringappend").unwrap();
    let db = TtlDb::open("data", options, 100).unwrap();
    let read = ReadOptions::default();
    for key in ["a", "c", "m"] {
        db.put(key.as_bytes(), b"old").unwrap();
    }
    seconds(&clock, 60);
    let mut batch = WriteBatchWithIndex::new();
    batch.put(b"b", b"new").unwrap();
    batch.delete(b"c").unwrap();
    batch.merge(b"m", b"1").unwrap();
    batch.merge(b"m", b"2").unwrap();
    batch.merge(b"n", b"3").unwrap();
    let shown =
        |key: &[u8]| db.get_from_batch(&batch, key, &read).unwrap().map(|value| value.as_ref().to_vec());
    assert_eq!(shown(b"a").as_deref(), Some(&b"old"[..]));
    assert_eq!(shown(b"b").as_deref(), Some(&b"new"[..]));
    assert_eq!(shown(b"c"), None);
    assert_eq!(shown(b"m").as_deref(), Some(&b"old,1,2"[..]));
    assert_eq!(shown(b"n").as_deref(), Some(&b"3"[..]));

    let base = db.plain_family().iter_with(read.clone()).unwrap();
    let mut iter = db.iter_over_base(&batch, base, None, None);
    let mut entries = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        entries.push((iter.key().to_vec(), value_of(iter.value()).unwrap().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    let expected = [("a", "old"), ("b", "new"), ("m", "old,1,2"), ("n", "3")];
    assert_eq!(entries, expected.map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec())));
}

#[test]
fn families_are_read_without_a_change() {
    let (mut options, _) = world();
    options.db.create_missing_column_families = true;
    let short = || vec![(FamilyDescriptor::new("short", FamilyOptions::default()), 10)];
    let writer = TtlDb::open_with_families("data", options.clone(), short()).unwrap();
    writer.put(b"k", b"1").unwrap();
    writer.family("short").unwrap().put(b"k", b"2").unwrap();
    drop(writer);
    let reader = TtlDb::open_read_only_with_families("data", options, short()).unwrap();
    assert_eq!(reader.get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
    let family = reader.family("short").unwrap();
    assert_eq!(family.get(b"k").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(family.ttl(), 10);
    assert_eq!(family.put(b"k", b"3").unwrap_err().kind(), Kind::NotSupported);
}
