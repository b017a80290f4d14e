//! Merge operators, comparators, loggers and sinks that fail or panic, and inverted ranges. Every kind of read and write returns an error or the
//! documented answer, and the database continues to work.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::order::Comparator;
use base::{Order, Severity};
use env::Executor;
use env::fault::FaultFs;
use env::logger::{LogLevel, Logger};
use ironstone::trace::{self, TraceOptions, TraceSink};
use ironstone::{
    CompactRangeOptions, CompactionOptions, Db, FullMerge, MergeFailure, MergeOperator, Merged, Options,
    ReadOptions, Result, Subcode,
};

/// Joins operands with commas. For the key `rogue`, it runs `act` while `rogue` is set.
struct Moody {
    rogue: AtomicBool,
    act: fn() -> std::result::Result<Merged, MergeFailure>,
}

impl MergeOperator for Moody {
    fn name(&self) -> &str {
        "test.Moody"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> std::result::Result<Merged, MergeFailure> {
        if merge.key == b"rogue" && self.rogue.load(Ordering::Relaxed) {
            out.extend_from_slice(b"half of an answer");
            return (self.act)();
        }
        *out = merge.operands.join(&b","[..]);
        Ok(Merged::New)
    }
}

const ACTS: [fn() -> std::result::Result<Merged, MergeFailure>; 5] = [
    || Err(MergeFailure::Merge),
    || Err(MergeFailure::MustMerge),
    || panic!("an operator of the user's"),
    || Ok(Merged::Operand(99)),
    || Ok(Merged::Existing),
];

fn open(path: &std::path::Path, operator: &Arc<Moody>) -> Db {
    let mut options = Options::default();
    options.update("create_if_missing=true;disable_auto_compactions=true").unwrap();
    options.family.merge_operator = Some(operator.clone());
    Db::open(path, options).unwrap()
}

fn refused<T>(outcome: Result<T>) {
    assert_eq!(outcome.err().unwrap().subcode(), Subcode::MergeOperatorFailed);
}

/// Checks that every kind of read fails for `rogue`, and returns the values of its neighbours.
fn check_paths(db: &Db) {
    refused(db.get(b"rogue"));
    assert_eq!(db.get(b"after").unwrap().as_deref(), Some(&b"1,2"[..]));
    let keys: [&[u8]; 3] = [b"after", b"rogue", b"tame"];
    let mut answers = db.multi_get(&keys).into_iter();
    assert_eq!(answers.next().unwrap().unwrap().as_deref(), Some(&b"1,2"[..]));
    refused(answers.next().unwrap());
    assert_eq!(answers.next().unwrap().unwrap().as_deref(), Some(&b"1,2"[..]));
    let mut iter = db.iter().unwrap();
    iter.seek_to_first();
    assert_eq!(iter.key(), b"after");
    iter.next();
    assert!(!iter.valid());
    refused(iter.status());
    iter.seek_to_last();
    assert_eq!((iter.key(), iter.value()), (&b"tame"[..], &b"1,2"[..]));
    iter.prev();
    assert!(!iter.valid());
    refused(iter.status());
    // The next positioning call clears the error.
    iter.seek(b"s");
    assert_eq!(iter.key(), b"tame");
    iter.status().unwrap();
    assert_eq!(db.get_merge_operands(b"rogue", &ReadOptions::default()).unwrap().len(), 2);
}

#[test]
fn an_operator_that_fails_or_panics_is_an_error_where_its_key_is_read_and_nowhere_else() {
    for act in ACTS {
        let scratch = tempfile::tempdir().unwrap();
        let operator = Arc::new(Moody { rogue: AtomicBool::new(true), act });
        let db = open(scratch.path(), &operator);
        for operand in [b"1", b"2"] {
            for key in [&b"after"[..], b"rogue", b"tame"] {
                db.merge(key, operand).unwrap();
            }
        }
        check_paths(&db);
        // The key has no base value. The flush keeps operands that the operator fails to merge.
        db.flush().unwrap();
        check_paths(&db);
        operator.rogue.store(false, Ordering::Relaxed);
        assert_eq!(db.get(b"rogue").unwrap().as_deref(), Some(&b"1,2"[..]));
        drop(db);
        let db = open(scratch.path(), &operator);
        assert_eq!(db.rows().count(), 3);
        assert_eq!(db.get(b"rogue").unwrap().as_deref(), Some(&b"1,2"[..]));
    }
}

#[test]
fn a_flush_whose_merge_fails_returns_the_error_and_loses_nothing() {
    for act in ACTS {
        let scratch = tempfile::tempdir().unwrap();
        let operator = Arc::new(Moody { rogue: AtomicBool::new(true), act });
        let db = open(scratch.path(), &operator);
        db.delete(b"rogue").unwrap();
        db.merge(b"rogue", b"1").unwrap();
        db.put(b"tame", b"value").unwrap();
        // With `MustMerge`, the flush keeps the operands. With every other failure, the flush fails.
        let kept = matches!(std::panic::catch_unwind(act), Ok(Err(MergeFailure::MustMerge)));
        let flushed = db.flush();
        assert_eq!(flushed.is_ok(), kept, "{flushed:?}");
        assert_eq!(db.get(b"tame").unwrap().as_deref(), Some(&b"value"[..]));
        refused(db.get(b"rogue"));
        drop(db);
        operator.rogue.store(false, Ordering::Relaxed);
        let db = open(scratch.path(), &operator);
        assert_eq!(db.get(b"rogue").unwrap().as_deref(), Some(&b"1"[..]), "replayed or read");
        assert_eq!(db.get(b"tame").unwrap().as_deref(), Some(&b"value"[..]));
    }
}

/// RocksDB compacts such a file without end.
#[test]
fn a_bottommost_file_with_operands_that_cannot_be_merged_is_compacted_once() {
    let machine = testkit::machine::Machine::new(1);
    let mut options = Options::default();
    options.update("create_if_missing=true").unwrap();
    options.db.env = machine.env.clone();
    options.family.merge_operator = Some(Arc::new(Moody { rogue: AtomicBool::new(true), act: ACTS[1] }));
    let db = Db::open("/db", options).unwrap();
    db.delete(b"rogue").unwrap();
    db.merge(b"rogue", b"1").unwrap();
    db.put(b"tame", b"value").unwrap();
    db.flush().unwrap();
    let number = || db.live_files()[0].number;
    let flushed = number();
    db.put(b"z", b"1").unwrap();
    let mut numbers = vec![flushed];
    for _ in 0..3 {
        drop(db.snapshot());
        let jobs = (0..1000).take_while(|_| machine.executor.help()).count();
        assert!(jobs < 1000, "the jobs do not end");
        numbers.push(number());
    }
    assert!(numbers[0] < numbers[1], "the release of a snapshot started no compaction");
    assert_eq!(numbers[1..], [numbers[1]; 3]);
    refused(db.get(b"rogue"));
    assert_eq!(db.get(b"tame").unwrap().as_deref(), Some(&b"value"[..]));
}

#[test]
fn an_inverted_or_empty_range_has_no_entry() {
    let scratch = tempfile::tempdir().unwrap();
    let operator = Arc::new(Moody { rogue: AtomicBool::new(false), act: ACTS[0] });
    let db = open(scratch.path(), &operator);
    for i in 0..300 {
        db.put(format!("{i:05}").as_bytes(), b"value").unwrap();
    }
    for (begin, end) in [(&b"00200"[..], &b"00100"[..]), (b"00100", b"00100"), (b"", b""), (b"z", b"")] {
        assert_eq!(db.approximate_memtable_stats(begin, end), (0, 0));
        assert_eq!(db.approximate_size(begin, end).unwrap(), 0);
        assert_eq!(db.range(begin..end).count(), 0);
    }
    assert_eq!(db.approximate_memtable_stats(b"00100", b"00140").0, 40);
}

/// Orders keys by their bytes, and panics in a thread of compactions.
struct PanicsInCompactions;

impl Comparator for PanicsInCompactions {
    fn name(&self) -> &str {
        "test.PanicsInCompactions"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        assert_ne!(std::thread::current().name(), Some("rocksdb:low"), "a comparator of the user's");
        a.cmp(b)
    }
}

#[test]
fn a_comparator_that_panics_at_the_choice_of_a_compaction_stops_writes_and_not_the_close() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.update("create_if_missing=true;level0_file_num_compaction_trigger=2").unwrap();
    options.family.comparator = Order::custom(PanicsInCompactions);
    let db = Db::open(scratch.path(), options).unwrap();
    let put_both = || [b"a", b"b"].into_iter().for_each(|key| db.put(key, b"1").unwrap());
    put_both();
    db.flush().unwrap();
    put_both();
    // The second file starts the compaction. It can panic before the flush returns.
    if let Err(error) = db.flush() {
        assert_eq!(error.severity(), Severity::Fatal);
    }
    assert_eq!(db.wait_for_compact().unwrap_err().severity(), Severity::Fatal);
    assert_eq!(db.put(b"c", b"1").unwrap_err().severity(), Severity::Fatal);
    drop(db.close());
}

/// Orders keys by their bytes, and panics while the flag is set.
struct PanicsWhileArmed(Arc<AtomicBool>);

impl Comparator for PanicsWhileArmed {
    fn name(&self) -> &str {
        "test.PanicsWhileArmed"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        assert!(!self.0.load(Ordering::Relaxed), "a comparator of the user's");
        a.cmp(b)
    }
}

/// Otherwise the next compaction and the close would wait for the first compaction forever.
#[test]
fn a_comparator_that_panics_at_the_choice_of_a_manual_compaction_stops_this_call_only() {
    let armed = Arc::new(AtomicBool::new(false));
    let mut options = Options::in_memory();
    options.update("create_if_missing=true;disable_auto_compactions=true").unwrap();
    options.family.comparator = Order::custom(PanicsWhileArmed(armed.clone()));
    let db = Db::open("/db", options).unwrap();
    for _ in 0..2 {
        [b"a", b"b"].into_iter().for_each(|key| db.put(key, b"1").unwrap());
        db.flush().unwrap();
    }
    let family = db.default_family();
    let numbers: Vec<_> = family.live_files().into_iter().map(|file| file.number).collect();
    let whole = || db.compact_range(None, None, &CompactRangeOptions::default()).is_ok();
    let files = || {
        family.compact_files(&numbers, ironstone::Level::new(6), None, &CompactionOptions::default()).is_ok()
    };
    armed.store(true, Ordering::Relaxed);
    for call in [&whole as &dyn Fn() -> bool, &files] {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(call));
        assert!(!matches!(outcome, Ok(true)), "the comparator did not panic");
    }
    armed.store(false, Ordering::Relaxed);
    assert_eq!(family.live_files().len(), 2);
    assert!(whole());
    assert_eq!(family.live_files().len(), 1);
    drop(family);
    db.close().unwrap();
}

#[test]
fn a_comparator_that_panics_in_a_resume_stops_writes_and_not_the_close() {
    let armed = Arc::new(AtomicBool::new(false));
    let mut options = Options::in_memory();
    options.update("create_if_missing=true;max_bgerror_resume_count=0").unwrap();
    options.family.comparator = Order::custom(PanicsWhileArmed(armed.clone()));
    let fs = FaultFs::wrap(options.db.env.fs.clone());
    options.db.env.fs = fs.clone();
    let db = Db::open("/db", options).unwrap();
    [b"a", b"b"].into_iter().for_each(|key| db.put(key, b"1").unwrap());
    fs.hook().set_plan("create *.sst #1 ENOSPC").unwrap();
    db.flush().unwrap_err();
    fs.hook().set_plan("").unwrap();
    armed.store(true, Ordering::Relaxed);
    let resumed = db.resume();
    armed.store(false, Ordering::Relaxed);
    assert_eq!(resumed.unwrap_err().severity(), Severity::Fatal);
    assert_eq!(db.put(b"c", b"1").unwrap_err().severity(), Severity::Fatal);
    drop(db.close());
}

/// Orders keys by their bytes, and panics while the flag is set if both keys begin with `f`.
struct PanicsAtFiles(Arc<AtomicBool>);

impl Comparator for PanicsAtFiles {
    fn name(&self) -> &str {
        "test.PanicsAtFiles"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        let are_of_files = a.starts_with(b"f") && b.starts_with(b"f");
        assert!(!(are_of_files && self.0.load(Ordering::Relaxed)), "a comparator of the user's");
        a.cmp(b)
    }
}

/// Writes two SST files with the same keys, on the levels 6 and 5. The choice of jobs compares their boundaries.
fn two_levels(db: &Db) {
    let family = db.default_family();
    for level in [6, 5].map(ironstone::Level::new) {
        [b"f1", b"f2"].into_iter().for_each(|key| db.put(key, b"1").unwrap());
        db.flush().unwrap();
        let flushed: Vec<_> = family
            .live_files()
            .into_iter()
            .filter(|file| file.level == ironstone::Level::ZERO)
            .map(|file| file.number)
            .collect();
        family.compact_files(&flushed, level, None, &CompactionOptions::default()).unwrap();
    }
}

/// The writer leads, and compares the boundaries of SST files for the stall decision. If its panic left the leader, all later
/// writers would wait forever.
#[test]
fn a_comparator_that_panics_at_the_stall_decision_of_a_writer_stops_writes_and_not_the_next_writer() {
    let armed = Arc::new(AtomicBool::new(false));
    let mut options = Options::in_memory();
    options.update("create_if_missing=true;disable_auto_compactions=true").unwrap();
    options.update("write_buffer_size=65536;max_write_buffer_number=2").unwrap();
    options.family.comparator = Order::custom(PanicsAtFiles(armed.clone()));
    let db = Db::open("/db", options).unwrap();
    two_levels(&db);
    db.pause_background_work().unwrap();
    armed.store(true, Ordering::Relaxed);
    // The second full memtable stops the writes, because no flush runs.
    let refused = (0..1000).find_map(|i| db.put(format!("m{i:04}").as_bytes(), &[b'v'; 1000]).err());
    assert_eq!(refused.expect("the writes stop").severity(), Severity::Fatal);
    assert_eq!(db.put(b"n", b"1").unwrap_err().severity(), Severity::Fatal);
    assert_eq!(db.get(b"m0000").unwrap().as_deref(), Some(&[b'v'; 1000][..]));
    armed.store(false, Ordering::Relaxed);
    db.continue_background_work().unwrap();
    drop(db.close());
}

/// The calls run on the thread of the caller.
#[test]
fn a_comparator_that_panics_at_the_choice_of_jobs_panics_in_no_call() {
    let calls: [fn(&Db) -> Result<()>; 3] = [
        |db| db.default_family().set_options(&[("level0_slowdown_writes_trigger", "30")]),
        |db| db.flush(),
        |db| db.compact_range(None, None, &CompactRangeOptions::default()),
    ];
    for call in calls {
        let armed = Arc::new(AtomicBool::new(false));
        let mut options = Options::in_memory();
        options.update("create_if_missing=true;disable_auto_compactions=true").unwrap();
        options.family.comparator = Order::custom(PanicsAtFiles(armed.clone()));
        let db = Db::open("/db", options).unwrap();
        two_levels(&db);
        db.put(b"m", b"1").unwrap();
        armed.store(true, Ordering::Relaxed);
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| call(&db)));
        armed.store(false, Ordering::Relaxed);
        let outcome = outcome.expect("the panic stays in the call");
        let refused = db.put(b"n", b"1").is_err_and(|error| error.severity() == Severity::Fatal);
        assert!(outcome.is_err() || refused, "{outcome:?}");
        drop(db.close());
    }
}

/// Orders keys by their bytes, and panics while the flag is set if it compares the key `0250` with itself.
struct PanicsAtOneKey(Arc<AtomicBool>);

impl Comparator for PanicsAtOneKey {
    fn name(&self) -> &str {
        "test.PanicsAtOneKey"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        let is_the_key = a == b"0250" && b == b"0250";
        assert!(!(is_the_key && self.0.load(Ordering::Relaxed)), "a comparator of the user's");
        a.cmp(b)
    }
}

/// The other subcompactions have written files, and the subcompaction that panics has begun a file.
#[test]
fn a_comparator_that_panics_in_a_subcompaction_leaves_no_file() {
    let armed = Arc::new(AtomicBool::new(false));
    let mut options = Options::in_memory();
    options.update("create_if_missing=true;disable_auto_compactions=true;max_subcompactions=3").unwrap();
    options.update("target_file_size_base=4096;compression=kNoCompression").unwrap();
    options.family.comparator = Order::custom(PanicsAtOneKey(armed.clone()));
    let fs = options.db.env.fs.clone();
    let db = Db::open("/db", options).unwrap();
    for _ in 0..2 {
        (0..300).for_each(|i| db.put(format!("{i:04}").as_bytes(), &[b'v'; 100]).unwrap());
        db.flush().unwrap();
    }
    let files = || {
        let names = fs.list(std::path::Path::new("/db")).unwrap();
        names.iter().filter(|name| name.ends_with(".sst")).count()
    };
    armed.store(true, Ordering::Relaxed);
    let error = db.compact_range(None, None, &CompactRangeOptions::default()).unwrap_err();
    armed.store(false, Ordering::Relaxed);
    assert!(error.to_string().contains("a compaction panicked"), "{error}");
    assert_eq!(files(), 2);
    assert_eq!(db.live_files().len(), 2);
    drop(db.close());
}

/// Drops all lines, and panics while the flag is set.
#[derive(Debug)]
struct PanickingLogger(Arc<AtomicBool>);

impl Logger for PanickingLogger {
    fn level(&self) -> LogLevel {
        LogLevel::Debug
    }

    fn set_level(&self, _level: LogLevel) {}

    fn log(&self, _level: LogLevel, _message: std::fmt::Arguments<'_>) {
        assert!(!self.0.load(Ordering::Relaxed), "a logger of the user's");
    }
}

/// Panics at each record while the flag is set.
struct PanickingSink(Arc<AtomicBool>);

impl TraceSink for PanickingSink {
    fn write(&mut self, _record: &[u8]) -> Result<()> {
        assert!(!self.0.load(Ordering::Relaxed), "a sink of the user's");
        Ok(())
    }

    fn size(&mut self) -> Option<u64> {
        Some(0)
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The leader of the writers calls the logger at a switch of the memtable, and calls the sink before the WAL append.
#[test]
fn a_logger_and_a_trace_sink_that_panic_in_a_leader_lose_neither_the_lead_nor_a_write() {
    let armed = Arc::new(AtomicBool::new(false));
    let mut options = Options::in_memory();
    options.update("create_if_missing=true;write_buffer_size=65536").unwrap();
    options.db.info_log = Some(Arc::new(PanickingLogger(armed.clone())));
    let db = Db::open("/db", options).unwrap();
    let order = TraceOptions { preserve_write_order: true, ..TraceOptions::default() };
    trace::start(&db, order, Box::new(PanickingSink(armed.clone()))).unwrap();
    armed.store(true, Ordering::Relaxed);
    for i in 0..300 {
        db.put(format!("{i:04}").as_bytes(), &[b'v'; 1000]).unwrap();
    }
    db.flush().unwrap();
    assert_eq!(db.rows().count(), 300);
    assert!(db.live_files().len() > 1, "no writer switched a memtable");
    armed.store(false, Ordering::Relaxed);
    assert!(trace::end(&db).unwrap_err().to_string().contains("panicked"));
    db.close().unwrap();
}
