//! Slow operations and their causes, and the metrics of a database.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ironstone::metrics::{Description, MetricKind};
use ironstone::stats::{Cause, OperationKind, Stopwatch, last_causes};
use ironstone::{
    CompactionFilter, Comparator, Db, Decision, FamilyDescriptor, FamilyOptions, FilterInput, FlushOptions,
    FullMerge, MergeFailure, MergeOperator, Merged, Options, Order,
};

const MINUTE: Duration = Duration::from_secs(60);

/// A merge operator that computes for three milliseconds.
struct Slow;

impl MergeOperator for Slow {
    fn name(&self) -> &str {
        "test.Slow"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Result<Merged, MergeFailure> {
        let start = Stopwatch::start();
        while start.micros() < 3000 {}
        merge.operands.iter().for_each(|operand| out.extend_from_slice(operand));
        Ok(Merged::New)
    }
}

#[test]
fn a_slow_merge_operator_is_the_cause_of_a_slow_get() {
    let mut options = Options::in_memory();
    options.family.merge_operator = Some(Arc::new(Slow));
    let db = Db::open("data", options).unwrap();
    db.put(b"fast", b"v").unwrap();
    db.merge(b"slow", b"a").unwrap();
    db.merge(b"slow", b"b").unwrap();
    for _ in 0..500 {
        db.get(b"fast").unwrap();
    }
    db.get(b"slow").unwrap();
    let why = db.why(MINUTE);
    let gets = why.operations.iter().find(|kind| kind.operation == OperationKind::Get).expect("slow gets");
    let merge = gets.causes.iter().find(|cause| cause.cause == Cause::Merge).expect("a merge");
    assert_eq!(merge.count, 1);
    assert!(merge.time >= Duration::from_millis(2), "{why}");
    assert!(why.to_string().contains("merging operands (1 operations)"), "{why}");
    let metrics = db.metrics();
    let of_gets = &metrics.operations[OperationKind::Get as usize];
    assert!(of_gets.slow >= 1 && of_gets.slow_time.iter().any(|(cause, _)| *cause == Cause::Merge));
}

/// The bytewise order. A comparison with the key `slow` computes for three milliseconds.
struct SlowOrder;

impl Comparator for SlowOrder {
    fn name(&self) -> &str {
        "test.SlowOrder"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b"slow" || b == b"slow" {
            let start = Stopwatch::start();
            while start.micros() < 3000 {}
        }
        a.cmp(b)
    }
}

#[test]
fn slow_comparator_is_the_cause_of_a_slow_write_as_an_insert_into_a_memtable() {
    let mut options = Options::in_memory();
    options.family.comparator = Order::custom(SlowOrder);
    let db = Db::open("data", options).unwrap();
    (0..100u8).for_each(|n| db.put(&[n], b"v").unwrap());
    db.put(b"slow", b"v").unwrap();
    let insert = last_causes()[Cause::MemtableInsert.number()];
    assert!(insert >= 3_000_000, "{insert} ns");
    let why = db.why(MINUTE);
    assert!(why.to_string().contains("inserting into a memtable"), "{why}");
}

#[test]
fn preparing_a_block_for_searches_is_a_cause_of_a_get() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    (0..500u32).for_each(|n| db.put(&n.to_be_bytes(), &[7; 100]).unwrap());
    db.flush().unwrap();
    let prepares = |_| {
        db.get(&7u32.to_be_bytes()).unwrap();
        last_causes()[Cause::SearchArray.number()] > 0
    };
    // The block gets its search array once, after some searches.
    assert_eq!((0..20).map(prepares).filter(|prepares| *prepares).count(), 1);
}

/// A compaction filter that waits until the test opens the gate.
#[derive(Default)]
struct Gate {
    /// True if the filter was called, and true if the gate is open.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl CompactionFilter for Gate {
    fn name(&self) -> &str {
        "test.Gate"
    }

    fn filter(&self, _: &FilterInput<'_>) -> Decision {
        let mut state = self.state.lock().unwrap();
        state.0 = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.1).unwrap());
        Decision::Keep
    }
}

#[test]
fn a_stall_names_the_compaction_that_will_end_it() {
    let dir = tempfile::tempdir().unwrap();
    let gate = Arc::new(Gate::default());
    let mut options = Options::default();
    let text = "create_if_missing=true;level0_file_num_compaction_trigger=2;level0_slowdown_writes_trigger=3;delayed_write_rate=1048576";
    options.update(text).unwrap();
    options.family.compaction_filter = Some(gate.clone());
    let db = Db::open(dir.path(), options).unwrap();
    for _ in 0..2 {
        db.put(b"key", b"value").unwrap();
        db.put(b"other", b"value").unwrap();
        db.flush().unwrap();
    }
    drop(gate.changed.wait_while(gate.state.lock().unwrap(), |state| !state.0).unwrap());
    db.put(b"key", b"value").unwrap();
    // Without the option, the flush waits until it causes no stall.
    let flush = FlushOptions { allow_write_stall: true, ..FlushOptions::default() };
    db.flush_with(&flush).unwrap();
    (0..20).for_each(|_| db.put(b"large", &[0; 10_000]).unwrap());
    let during = db.why(MINUTE);
    gate.state.lock().unwrap().1 = true;
    gate.changed.notify_all();
    db.wait_for_compact().unwrap();
    let after = db.why(MINUTE);
    let ended_by = |why: &ironstone::Why| why.stalls.first().map(|stall| stall.ended_by.clone());
    let said = ended_by(&during).expect("a stall");
    assert!(
        said.starts_with("a compaction of level 0 of column family default; running now: job "),
        "{during}"
    );
    assert!(said.contains("(level 0 to "), "{said}");
    assert_eq!(ended_by(&after).as_deref(), Some("a compaction of level 0 of column family default"));
}

#[test]
fn a_database_without_slow_operations_reports_none() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let why = db.why(MINUTE);
    assert!(why.operations.is_empty() && why.stalls.is_empty());
    assert_eq!(why.to_string(), "no slow operation in the last 60s\n");
}

#[test]
fn metrics_count_by_family_and_level() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let users = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default())).unwrap();
    users.put(b"a", b"1").unwrap();
    users.put(b"b", b"2").unwrap();
    users.flush().unwrap();
    users.compact_range(None, None, &Default::default()).unwrap();
    db.put(b"c", b"3").unwrap();
    let metrics = db.metrics();
    assert_eq!(metrics.database.user_keys, 3);
    assert!(metrics.database.wal_bytes > 0);
    let of = |name: &str| metrics.families.iter().find(|family| family.name == name).unwrap();
    let files = |name: &str| of(name).levels.iter().map(|level| level.files).collect::<Vec<_>>();
    assert_eq!(files("default"), [0; 7]);
    assert_eq!(files("users").iter().sum::<u64>(), 1);
    assert_eq!(of("users").levels[0].jobs, 1);
    assert!(of("users").flushed_bytes > 0);
    let reasons: Vec<_> = of("users").reasons.iter().map(|of| (of.job, of.reason, of.jobs)).collect();
    assert_eq!(reasons, [("flush", "Manual Flush", 1), ("compaction", "ManualCompaction", 1)]);
    assert_eq!(of("users").reasons[0].written_bytes, of("users").flushed_bytes);
    let samples = metrics.samples();
    let of_reason = samples.iter().find(|sample| sample.description.name == "ironstone_reason_jobs").unwrap();
    let labels: Vec<_> = of_reason.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(labels, ["column_family=users", "job=flush", "cause=Manual Flush"]);
    let live: u64 = of("users").levels.iter().map(|level| level.bytes).sum();
    assert_eq!(live, users.int_property("rocksdb.live-sst-files-size").unwrap());
    assert!(of("default").active_memtable_bytes > 0);
}

#[test]
fn deletions_of_fifo_compaction_have_a_reason() {
    let mut options = Options::in_memory();
    options
        .update("compaction_style=kCompactionStyleFIFO;compaction_options_fifo={max_table_files_size=1}")
        .unwrap();
    let db = Db::open("data", options).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.wait_for_compact().unwrap();
    let metrics = db.metrics();
    let reasons: Vec<_> = metrics.families[0].reasons.iter().map(|of| (of.job, of.reason, of.jobs)).collect();
    assert_eq!(reasons, [("flush", "Manual Flush", 1), ("compaction", "FIFOMaxSize", 1)]);
}

#[test]
fn samples_of_a_metric_are_adjacent_and_their_labels_differ() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.create_family(FamilyDescriptor::new("users", FamilyOptions::default())).unwrap();
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    let samples = db.metrics().samples();
    let mut seen = BTreeSet::new();
    for of_metric in samples.chunk_by(|a, b| a.description == b.description) {
        assert!(seen.insert(of_metric[0].description.name), "{} comes twice", of_metric[0].description.name);
        let labels: BTreeSet<_> = of_metric.iter().map(|sample| &sample.labels).collect();
        assert_eq!(labels.len(), of_metric.len(), "{}", of_metric[0].description.name);
    }
    let names: BTreeSet<&str> = Description::ALL.iter().map(|description| description.name).collect();
    assert_eq!(names.len(), Description::ALL.len());
    assert!(seen.is_subset(&names));
    let counters = Description::ALL.iter().filter(|d| d.kind == MetricKind::Counter);
    assert!(counters.into_iter().all(|d| !d.name.ends_with("_total")));
}

fn adds_up(holder: &ironstone::MemoryHolder) -> bool {
    holder.parts.is_empty()
        || (holder.parts.iter().map(|part| part.bytes).sum::<u64>() == holder.bytes
            && holder.parts.iter().all(adds_up))
}

#[test]
fn memory_adds_up_and_names_the_memtables_of_an_iterator() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    (0..2000u32).for_each(|n| db.put(&n.to_be_bytes(), &[7; 100]).unwrap());
    let before = db.memory();
    assert!(adds_up(&before) && before.bytes > 200_000, "{before}");
    let mut iter = db.iter().unwrap();
    iter.seek_to_first();
    db.flush().unwrap();
    let kept = db.memory();
    assert!(adds_up(&kept) && kept.to_string().contains("kept by an iterator"), "{kept}");
    drop(iter);
    let after = db.memory();
    assert!(!after.to_string().contains("kept by an iterator"), "{after}");
    assert!(after.bytes < kept.bytes);
}

#[test]
fn files_that_an_iterator_keeps_are_named() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    for value in [b"1", b"2"] {
        db.put(b"k", value).unwrap();
        db.put(b"l", value).unwrap();
        db.flush().unwrap();
    }
    let mut iter = db.iter().unwrap();
    iter.seek_to_first();
    let old: BTreeSet<_> = db.live_files().iter().map(|file| file.number).collect();
    db.compact_range(None, None, &Default::default()).unwrap();
    let kept = db.kept_files();
    let files: BTreeSet<_> = kept.versions.iter().flat_map(|version| version.files.iter().copied()).collect();
    assert_eq!(files, old, "{kept:?}");
    let holders: Vec<_> = kept.versions.iter().filter_map(|version| version.iterators).collect();
    let opened = db.engine().env().clock.now_seconds();
    assert!(holders.iter().map(|h| h.readers).eq([1]), "{kept:?}");
    assert!(holders[0].since <= opened && opened - holders[0].since < 3600, "{kept:?}");
    assert!(kept.versions.iter().all(|version| version.compactions.is_none()), "{kept:?}");
    let disk: u64 = db.disk().iter().map(|share| share.bytes).sum();
    assert_eq!(Some(disk), db.int_property("rocksdb.live-sst-files-size"));
    drop(iter);
    assert_eq!(db.kept_files().versions, []);
}

#[test]
fn a_snapshot_counts_once_in_a_database_of_two_families() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.create_family(FamilyDescriptor::new("second", Default::default())).unwrap();
    let begin = db.engine().env().clock.now_seconds();
    let snapshot = db.snapshot();
    let kept = db.kept_files();
    assert_eq!(kept.snapshots, 1);
    let taken = kept.oldest_snapshot_time.unwrap();
    assert!(taken >= begin && taken <= db.engine().env().clock.now_seconds(), "{kept:?}");
    drop(snapshot);
    assert_eq!((db.kept_files().snapshots, db.kept_files().oldest_snapshot_time), (0, None));
}

/// Counts spans by name.
#[cfg(feature = "tracing")]
mod spans {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use ironstone::metrics::Spans;
    use ironstone::{Db, Options};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    #[derive(Clone, Default)]
    struct Counts(Arc<Mutex<(u64, BTreeMap<&'static str, u64>)>>);

    impl Subscriber for Counts {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "ironstone"
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let mut counts = self.0.lock().unwrap();
            counts.0 += 1;
            *counts.1.entry(span.metadata().name()).or_default() += 1;
            Id::from_u64(counts.0)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}

        fn try_close(&self, _: Id) -> bool {
            *self.0.lock().unwrap().1.entry("closed").or_default() += 1;
            true
        }
    }

    #[test]
    fn a_flush_and_a_compaction_are_spans_that_end() {
        let counts = Counts::default();
        tracing::subscriber::set_global_default(counts.clone()).unwrap();
        let mut options = Options::in_memory();
        options.listeners.push(Arc::new(Spans::default()));
        let db = Db::open("data", options).unwrap();
        for value in [b"1", b"2"] {
            db.put(b"k", value).unwrap();
            db.flush().unwrap();
        }
        db.compact_range(None, None, &Default::default()).unwrap();
        let counts = counts.0.lock().unwrap();
        assert_eq!((counts.1["flush"], counts.1["compaction"]), (2, 1));
        assert_eq!(counts.1["closed"], counts.0);
    }
}

#[test]
fn metrics_count_each_snapshot_once() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.create_family(FamilyDescriptor::new("second", Options::in_memory().family)).unwrap();
    let snapshot = db.snapshot();
    assert_eq!(db.metrics().database.snapshots, 1);
    drop(snapshot);
    assert_eq!(db.metrics().database.snapshots, 0);
}
