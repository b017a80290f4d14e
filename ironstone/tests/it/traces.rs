//! Traces of calls: the records, their replay, and RocksDB as the peer in both directions.
//!
//! `IRONSTONE_PEER` names RocksDB's library. Without the variable, the tests with a peer print that they were skipped.

use std::path::Path;
use std::sync::{Arc, Mutex};

use ironstone::trace::{
    self, BlockCacheTraceOptions, FileTraceReader, FileTraceWriter, ReplayOptions, Replayer, TraceOptions,
    TraceSink,
};
use ironstone::{
    Db, Error, FamilyDescriptor, Kind, Options, ReadOptions, Result, TransactionDb, TransactionDbOptions,
    TransactionOptions, WriteBatch, WriteBatchWithIndex, WriteBatchWithIndexOptions, WriteOptions,
};

const BEGIN: u8 = 1;
const END: u8 = 2;
const WRITE: u8 = 3;
const GET: u8 = 4;
const SEEK: u8 = 5;
const SEEK_FOR_PREV: u8 = 6;
const MULTI_GET: u8 = 13;

/// Stores the records of a trace. Fails from record `fails_from` on.
#[derive(Clone, Default)]
struct Records {
    stored: Arc<Mutex<Vec<Vec<u8>>>>,
    fails_from: Option<usize>,
    is_closed: Arc<Mutex<bool>>,
}

impl Records {
    fn types(&self) -> Vec<u8> {
        self.stored.lock().unwrap().iter().map(|record| record[8]).collect()
    }
}

impl TraceSink for Records {
    fn write(&mut self, record: &[u8]) -> Result<()> {
        let mut stored = self.stored.lock().unwrap();
        if self.fails_from.is_some_and(|first| stored.len() >= first) {
            return Err(Error::new(Kind::IoError, "no room"));
        }
        stored.push(record.to_vec());
        Ok(())
    }

    fn size(&mut self) -> Option<u64> {
        Some(self.stored.lock().unwrap().iter().map(|record| record.len() as u64).sum())
    }

    fn close(&mut self) -> Result<()> {
        *self.is_closed.lock().unwrap() = true;
        Ok(())
    }
}

fn traced(db: &Db, options: TraceOptions) -> Records {
    let records = Records::default();
    trace::start(db, options, Box::new(records.clone())).unwrap();
    records
}

fn bounds(lower: &[u8], upper: &[u8]) -> ReadOptions {
    let bound = |bound: &[u8]| (!bound.is_empty()).then(|| bound.to_vec());
    ReadOptions {
        iterate_lower_bound: bound(lower),
        iterate_upper_bound: bound(upper),
        ..ReadOptions::default()
    }
}

/// Makes one call of each kind.
fn all_calls(db: &Db) {
    db.put(b"a", b"1").unwrap();
    db.get(b"a").unwrap();
    db.multi_get(&[b"a", b"b"]).into_iter().for_each(|value| drop(value.unwrap()));
    let mut iter = db.iter().unwrap();
    iter.seek(b"a");
    iter.seek_for_prev(b"a");
    iter.seek_to_first();
    iter.seek_to_last();
    let mut batch = WriteBatch::new();
    batch.put(b"c", b"3").delete(b"a");
    db.write(batch).unwrap();
}

#[test]
fn each_call_is_one_record() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let mut older = db.iter().unwrap();
    let records = traced(&db, TraceOptions::default());
    all_calls(&db);
    older.seek(b"z");
    trace::end(&db).unwrap();
    all_calls(&db);
    let calls = [BEGIN, WRITE, GET, MULTI_GET, SEEK, SEEK_FOR_PREV, WRITE, SEEK, END];
    assert_eq!(records.types(), calls);
    assert!(*records.is_closed.lock().unwrap());
}

#[test]
fn the_writes_of_transactions_are_recorded() {
    let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default()).unwrap();
    let records = traced(&db, TraceOptions::default());
    let transaction = db.begin();
    transaction.put(b"k", b"v").unwrap();
    transaction.commit().unwrap();
    trace::end(&db).unwrap();
    assert_eq!(records.types(), [BEGIN, WRITE, END]);
}

#[test]
fn a_filter_leaves_calls_out() {
    let bits = [
        (TraceOptions::WRITE, WRITE),
        (TraceOptions::GET, GET),
        (TraceOptions::SEEK, SEEK),
        (TraceOptions::SEEK_FOR_PREV, SEEK_FOR_PREV),
        (TraceOptions::MULTI_GET, MULTI_GET),
    ];
    for (filter, kind) in bits {
        let db = Db::open("data", Options::in_memory()).unwrap();
        let records = traced(&db, TraceOptions { filter, ..TraceOptions::default() });
        all_calls(&db);
        trace::end(&db).unwrap();
        let all = [BEGIN, WRITE, GET, MULTI_GET, SEEK, SEEK_FOR_PREV, WRITE, END];
        assert_eq!(records.types(), all.into_iter().filter(|of| *of != kind).collect::<Vec<_>>());
    }
}

#[test]
fn the_configured_share_of_calls_is_recorded() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let records = traced(&db, TraceOptions { sampling_frequency: 3, ..TraceOptions::default() });
    (0..7).for_each(|_| drop(db.get(b"k").unwrap()));
    trace::end(&db).unwrap();
    assert_eq!(records.types(), [BEGIN, GET, GET, END]);
}

#[test]
fn a_full_trace_records_no_call() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let records = traced(&db, TraceOptions { max_trace_file_size: 10, ..TraceOptions::default() });
    all_calls(&db);
    trace::end(&db).unwrap();
    assert_eq!(records.types(), [BEGIN, END]);
}

#[test]
fn an_ordered_trace_has_each_write_once() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let records = traced(&db, TraceOptions { preserve_write_order: true, ..TraceOptions::default() });
    all_calls(&db);
    trace::end(&db).unwrap();
    let calls = [BEGIN, WRITE, GET, MULTI_GET, SEEK, SEEK_FOR_PREV, WRITE, END];
    assert_eq!(records.types(), calls);
}

#[test]
fn a_failure_of_the_target_fails_the_end_and_no_call() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let records = Records { fails_from: Some(2), ..Records::default() };
    trace::start(&db, TraceOptions::default(), Box::new(records.clone())).unwrap();
    all_calls(&db);
    assert_eq!(trace::end(&db).unwrap_err().kind(), Kind::Incomplete);
    assert_eq!(records.types(), [BEGIN, WRITE]);
    assert!(*records.is_closed.lock().unwrap());
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"3"[..]));
}

/// Writes a trace of `calls` in the file `trace`.
fn trace_of(options: &Options, calls: impl FnOnce(&Db)) {
    let env = &options.db.env;
    let db = Db::open("data", options.clone()).unwrap();
    let writer = FileTraceWriter::create(env, Path::new("trace")).unwrap();
    trace::start(&db, TraceOptions::default(), Box::new(writer)).unwrap();
    calls(&db);
    trace::end(&db).unwrap();
}

fn replayer(options: &Options, db: &Db) -> Replayer {
    Replayer::new(db, [], FileTraceReader::open(&options.db.env, Path::new("trace")).unwrap()).unwrap()
}

#[test]
fn a_replay_makes_the_calls_of_the_trace() {
    let options = Options::in_memory();
    trace_of(&options, all_calls);
    for num_threads in [0, 1, 4] {
        let db = Db::open(format!("copy {num_threads}"), options.clone()).unwrap();
        let records = traced(&db, TraceOptions::default());
        let mut replayer = replayer(&options, &db);
        replayer.prepare().unwrap();
        replayer.replay(&ReplayOptions { num_threads, fast_forward: 1.0 }).unwrap();
        assert_eq!(replayer.replay(&ReplayOptions::default()).unwrap_err().kind(), Kind::Incomplete);
        trace::end(&db).unwrap();
        let mut types = records.types();
        types.sort_unstable();
        assert_eq!(types, [BEGIN, END, WRITE, WRITE, GET, SEEK, SEEK_FOR_PREV, MULTI_GET]);
        assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"3"[..]));
    }
}

#[test]
fn a_replay_waits_for_the_time_of_a_call() {
    let mut options = Options::in_memory();
    let clock: Arc<dyn ironstone::env::Clock> = Arc::new(ironstone::env::ManualClock::new(1 << 50));
    options.db.env.clock = clock.clone();
    trace_of(&options, |db| {
        clock.sleep_micros(10_000_000);
        db.put(b"k", b"v").unwrap();
    });
    let db = Db::open("copy", options.clone()).unwrap();
    let mut replayer = replayer(&options, &db);
    replayer.prepare().unwrap();
    let start = clock.now_micros();
    replayer.replay(&ReplayOptions { fast_forward: 2.0, ..ReplayOptions::default() }).unwrap();
    assert_eq!(clock.now_micros() - start, 5_000_000);
}

#[test]
fn a_replay_rejects_wrong_options_and_wrong_files() {
    let options = Options::in_memory();
    trace_of(&options, all_calls);
    let db = Db::open("copy", options.clone()).unwrap();
    let mut replayer = replayer(&options, &db);
    assert_eq!(replayer.replay(&ReplayOptions::default()).unwrap_err().kind(), Kind::Incomplete);
    replayer.prepare().unwrap();
    for fast_forward in [0.0, -1.0, f64::NAN] {
        let refused = replayer.replay(&ReplayOptions { fast_forward, ..ReplayOptions::default() });
        assert_eq!(refused.unwrap_err().kind(), Kind::InvalidArgument);
    }
}

#[test]
fn a_trace_without_its_end_replays_and_a_torn_record_is_corruption() {
    let options = Options::in_memory();
    trace_of(&options, all_calls);
    let fs = &options.db.env.fs;
    let whole = fs.read_all(Path::new("trace"), 1 << 20).unwrap();
    let replay = |bytes: &[u8], name: &str| {
        fs.write_all(Path::new("trace"), bytes, false).unwrap();
        let db = Db::open(name, options.clone()).unwrap();
        let mut replayer = replayer(&options, &db);
        replayer.prepare().and_then(|()| replayer.replay(&ReplayOptions::default()))
    };
    // The last record has no payload.
    replay(&whole[..whole.len() - 13], "no end").unwrap();
    assert!(replay(&whole[..whole.len() - 14], "torn payload").unwrap_err().is_corruption());
    assert!(replay(&whole[..whole.len() - 5], "torn header").unwrap_err().is_corruption());
    assert!(replay(&whole[13..], "no magic number").is_err());
}

#[test]
fn a_call_that_waits_for_its_time_is_not_made_after_a_failure() {
    let mut options = Options::in_memory();
    let clock = Arc::new(ironstone::env::ManualClock::new(1 << 50));
    options.db.env.clock = clock.clone();
    let db = Db::open("data", options.clone()).unwrap();
    let other =
        db.create_family(FamilyDescriptor::new("other", ironstone::FamilyOptions::default())).unwrap();
    let writer = FileTraceWriter::create(&options.db.env, Path::new("trace")).unwrap();
    trace::start(&db, TraceOptions::default(), Box::new(writer)).unwrap();
    other.get(b"k").unwrap();
    clock.advance(1_000_000);
    db.put(b"k", b"v").unwrap();
    trace::end(&db).unwrap();
    let copy = Db::open("copy", options.clone()).unwrap();
    let mut replayer = replayer(&options, &copy);
    replayer.prepare().unwrap();
    assert!(replayer.replay(&ReplayOptions::default()).unwrap_err().is_corruption());
    assert_eq!(copy.get(b"k").unwrap(), None);
}

#[test]
fn markers_of_two_phase_commit_end_a_replay() {
    let options = Options::in_memory();
    let db = TransactionDb::open("data", options.clone(), TransactionDbOptions::default()).unwrap();
    let writer = FileTraceWriter::create(&options.db.env, Path::new("trace")).unwrap();
    trace::start(&db, TraceOptions::default(), Box::new(writer)).unwrap();
    let transaction = db.begin();
    transaction.set_name(b"t").unwrap();
    transaction.put(b"k", b"v").unwrap();
    transaction.prepare().unwrap();
    transaction.commit().unwrap();
    trace::end(&db).unwrap();
    let copy = Db::open("copy", options.clone()).unwrap();
    let mut replayer = replayer(&options, &copy);
    replayer.prepare().unwrap();
    assert_eq!(replayer.replay(&ReplayOptions::default()).unwrap_err().kind(), Kind::NotSupported);
}

/// Counts the records of a file.
fn count(env: &ironstone::env::Env, file: &str) -> usize {
    let mut reader = FileTraceReader::open(env, Path::new(file)).unwrap();
    std::iter::from_fn(|| reader.read().unwrap()).count()
}

#[test]
fn traces_without_an_end_are_stored_when_the_database_is_dropped() {
    let mut options = Options::in_memory();
    let env = options.db.env.clone();
    options.db.env = trace::io_traced(&env);
    let db = Db::open("data", options).unwrap();
    // The traced environment of the database creates the files.
    let writer = |name: &str| Box::new(FileTraceWriter::create(db.engine().env(), Path::new(name)).unwrap());
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    trace::start(&db, TraceOptions::default(), writer("calls")).unwrap();
    trace::start_io(&db, u64::MAX, writer("io")).unwrap();
    trace::start_block_cache(&db, BlockCacheTraceOptions::default(), writer("blocks")).unwrap();
    db.put(b"a", b"1").unwrap();
    db.get(b"k").unwrap();
    drop(db);
    assert_eq!(count(&env, "calls"), 3);
    assert!(count(&env, "io") > 1 && count(&env, "blocks") > 1);
}

#[test]
fn a_traced_environment_has_one_tracer() {
    let env = trace::io_traced(&Options::in_memory().db.env);
    assert!(Arc::ptr_eq(&trace::io_traced(&env).fs, &env.fs));
}

/// In each record: reads the database, and tries to start and to end traces.
struct Busybody(Db, Records, Arc<Mutex<Vec<Kind>>>);

impl TraceSink for Busybody {
    fn write(&mut self, record: &[u8]) -> Result<()> {
        let sink = || Box::new(Records::default());
        let outcomes = [trace::start(&self.0, TraceOptions::default(), sink()), trace::end(&self.0)];
        self.2.lock().unwrap().extend(outcomes.map(|outcome| outcome.unwrap_err().kind()));
        self.0.get(b"k").unwrap();
        self.1.write(record)
    }

    fn size(&mut self) -> Option<u64> {
        self.1.size()
    }

    fn close(&mut self) -> Result<()> {
        self.0.get(b"k").unwrap();
        self.1.close()
    }
}

#[test]
fn a_sink_reads_its_database_and_cannot_start_or_end_the_trace() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let (records, kinds) = (Records::default(), Arc::default());
    let sink = Busybody(db.clone(), records.clone(), Arc::clone(&kinds));
    trace::start(&db, TraceOptions::default(), Box::new(sink)).unwrap();
    db.put(b"k", b"v").unwrap();
    trace::end(&db).unwrap();
    assert_eq!(records.types(), [BEGIN, WRITE, END]);
    assert_eq!(*kinds.lock().unwrap(), [Kind::Busy; 6]);
}

/// In each record: reads the database, and tries to start and to end a trace of the block cache.
struct BlockReader(Db, Records, Arc<Mutex<Vec<Kind>>>);

impl TraceSink for BlockReader {
    fn write(&mut self, record: &[u8]) -> Result<()> {
        self.0.get(b"k").unwrap();
        if record[8] != BEGIN {
            let sink = Box::new(Records::default());
            let started = trace::start_block_cache(&self.0, BlockCacheTraceOptions::default(), sink);
            let outcomes = [started, trace::end_block_cache(&self.0)];
            self.2.lock().unwrap().extend(outcomes.map(|outcome| outcome.unwrap_err().kind()));
        }
        self.1.write(record)
    }

    fn size(&mut self) -> Option<u64> {
        self.1.size()
    }

    fn close(&mut self) -> Result<()> {
        self.0.get(b"k").unwrap();
        self.1.close()
    }
}

#[test]
fn a_sink_of_the_block_cache_reads_its_database() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    db.get(b"k").unwrap();
    let (records, kinds) = (Records::default(), Arc::default());
    let sink = BlockReader(db.clone(), records.clone(), Arc::clone(&kinds));
    trace::start_block_cache(&db, BlockCacheTraceOptions::default(), Box::new(sink)).unwrap();
    db.get(b"k").unwrap();
    trace::end_block_cache(&db).unwrap();
    assert_eq!(records.types(), [BEGIN, DATA_BLOCK]);
    assert_eq!(*kinds.lock().unwrap(), [Kind::Busy; 2]);
    let stored = records.stored.lock().unwrap();
    // The key with its sequence number, then the bytes of the entry, the entries of the block, and true.
    assert_eq!(stored[1][stored[1].len() - 17..], [10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
}

/// Checks that the second record has the key `large`.
fn check_large(records: &Records) {
    assert_eq!(records.types(), [BEGIN, WRITE, END]);
    assert!(records.stored.lock().unwrap()[1].windows(5).any(|part| part == b"large"));
}

#[test]
fn writes_that_become_memtables_of_their_own_are_recorded() {
    for preserve_write_order in [false, true] {
        let options = TraceOptions { preserve_write_order, ..TraceOptions::default() };
        let db = Db::open("data", Options::in_memory()).unwrap();
        let records = traced(&db, options);
        let overwrite = WriteBatchWithIndexOptions { overwrite_key: true, ..Default::default() };
        let mut batch = WriteBatchWithIndex::with_options(overwrite);
        batch.put(b"large", b"1").unwrap();
        batch.ingest(&db, &WriteOptions { disableWAL: true, ..WriteOptions::default() }).unwrap();
        trace::end(&db).unwrap();
        check_large(&records);

        let db = TransactionDb::open("txn", Options::in_memory(), TransactionDbOptions::default()).unwrap();
        let bypass = TransactionOptions { commit_bypass_memtable: true, ..Default::default() };
        let transaction = db.begin_with(&WriteOptions::default(), &bypass).unwrap();
        transaction.set_name(b"t").unwrap();
        transaction.put(b"large", b"1").unwrap();
        transaction.prepare().unwrap();
        let records = traced(&db, options);
        transaction.commit().unwrap();
        trace::end(&db).unwrap();
        check_large(&records);
    }
}

#[test]
fn a_trace_of_file_operations_names_the_files() {
    let mut options = Options::in_memory();
    let env = options.db.env.clone();
    options.db.env = trace::io_traced(&env);
    let db = Db::open("data", options).unwrap();
    let sink = || Box::new(FileTraceWriter::create(&env, Path::new("io")).unwrap());
    trace::start_io(&db, u64::MAX, sink()).unwrap();
    assert_eq!(trace::start_io(&db, u64::MAX, sink()).unwrap_err().kind(), Kind::Busy);
    trace::start_io(&db, u64::MAX, sink()).unwrap_err();
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    trace::end_io(&db).unwrap();
    let mut records = 0;
    let mut reader = FileTraceReader::open(&env, Path::new("io")).unwrap();
    let mut has_flushed = false;
    while let Some(record) = reader.read().unwrap() {
        let is_create = record.windows(15).any(|part| part == b"NewWritableFile");
        has_flushed |= is_create && record.windows(4).any(|part| part == b".sst");
        records += 1;
    }
    assert!(records > 3 && has_flushed, "{records} records");
}

#[test]
fn a_database_without_io_tracing_refuses_a_trace_of_file_operations() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let refused = trace::start_io(&db, u64::MAX, Box::new(Records::default()));
    assert_eq!(refused.unwrap_err().kind(), Kind::NotSupported);
    trace::end_io(&db).unwrap();
}

/// An access to the block cache: type, caller, hit, and the rest of the payload after these.
fn accesses(records: &[(u8, Vec<u8>)]) -> Vec<(u8, u8, u8)> {
    let access = |(kind, payload): &(u8, Vec<u8>)| {
        // Key of 16 bytes, size, family, name "default", level, file.
        let at = 1 + 16 + 8 + 8 + 1 + 7 + 4 + 8;
        (*kind, payload[at], payload[at + 1])
    };
    records[1..].iter().map(access).collect()
}

/// Reads a key that is in an SST file and a key that is not, several keys, and an iterator.
fn read_blocks(db: &Db) {
    db.get(b"k").unwrap();
    db.get(b"nothing").unwrap();
    db.multi_get(&[b"k"]).into_iter().for_each(|value| drop(value.unwrap()));
    db.iter().unwrap().seek(b"k");
}

const INDEX_BLOCK: u8 = 7;
const DATA_BLOCK: u8 = 9;

#[test]
fn a_trace_of_the_block_cache_has_each_access() {
    let mut options = Options::in_memory();
    options.update("block_based_table_factory={cache_index_and_filter_blocks=true}").unwrap();
    let env = options.db.env.clone();
    let db = Db::open("data", options).unwrap();
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    let writer = || Box::new(FileTraceWriter::create(&env, Path::new("blocks")).unwrap());
    trace::start_block_cache(&db, BlockCacheTraceOptions::default(), writer()).unwrap();
    let second =
        trace::start_block_cache(&db, BlockCacheTraceOptions::default(), Box::new(Records::default()));
    assert_eq!(second.unwrap_err().kind(), Kind::Busy);
    read_blocks(&db);
    trace::end_block_cache(&db).unwrap();
    read_blocks(&db);
    let mut reader = FileTraceReader::open(&env, Path::new("blocks")).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        records.push((record[8], record[13..].to_vec()));
    }
    let accesses = accesses(&records);
    // The first lookup loads the block. "nothing" is after the last key of the file, so its lookup reads no block.
    let data: Vec<_> =
        accesses.iter().filter(|access| access.0 == DATA_BLOCK).map(|access| (access.1, access.2)).collect();
    assert_eq!(data, [(1, 0), (2, 1), (3, 1)]);
    let index: Vec<_> =
        accesses.iter().filter(|access| access.0 == INDEX_BLOCK).map(|access| access.1).collect();
    assert_eq!(index, [1, 2, 3]);
    let (_, first_get) = records.iter().find(|(kind, _)| *kind == DATA_BLOCK).unwrap();
    // The key with its sequence number, then the bytes of the entry, the entries of the block, and true.
    assert_eq!(first_get[first_get.len() - 17..], [10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
}

fn peer() -> Option<peer::Library> {
    peer::Library::for_test(std::env::var_os(peer::VARIABLE))
}

/// Opens a database of RocksDB with the column families `default` and `other`.
fn open_peer(library: &peer::Library, dir: &Path) -> (peer::Db, Vec<peer::Family>) {
    let families = ["default", "other"].map(|name| (name.to_string(), String::new()));
    let text = "create_if_missing=true;create_missing_column_families=true";
    peer::Db::open(library, dir, text, &families, false).unwrap()
}

fn open_ours(dir: &Path) -> Db {
    let mut options = Options::default();
    options.db.create_if_missing = true;
    let db = Db::open(dir, options).unwrap();
    if db.family("other").is_err() {
        db.create_family(FamilyDescriptor::new("other", ironstone::FamilyOptions::default())).unwrap();
    }
    db
}

/// Returns the type and the payload of each record of a file.
fn contents(file: &Path) -> Vec<(u8, Vec<u8>)> {
    let env = ironstone::env::Env::posix();
    let mut reader = FileTraceReader::open(&env, file).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        records.push((record[8], record[13..].to_vec()));
    }
    records
}

/// Makes the same calls as [`calls_of_peer`].
fn calls_of_ours(db: &Db) {
    let other = db.family("other").unwrap();
    db.put(b"a", b"1").unwrap();
    other.put(b"b", b"2").unwrap();
    other.delete(b"b").unwrap();
    other.put(b"b", &[7; 3000]).unwrap();
    db.delete_range(b"x", b"z").unwrap();
    db.get(b"a").unwrap();
    other.get(b"nothing").unwrap();
    other.multi_get(&[b"a", b"b"]).into_iter().for_each(|value| drop(value.unwrap()));
    for (lower, upper) in [("", ""), ("a", ""), ("a", "m")] {
        let mut iter = other.iter_with(bounds(lower.as_bytes(), upper.as_bytes())).unwrap();
        iter.seek(b"b");
        iter.seek_for_prev(b"c");
        iter.seek_to_first();
        iter.seek_to_last();
    }
}

fn calls_of_peer(db: &peer::Db, families: &[peer::Family]) {
    let (default, other) = (&families[0], &families[1]);
    let (writing, reading) = (peer::Writing::default(), peer::Reading::default());
    db.put(default, b"a", b"1", writing).unwrap();
    db.put(other, b"b", b"2", writing).unwrap();
    db.delete(other, b"b", writing).unwrap();
    db.put(other, b"b", &[7; 3000], writing).unwrap();
    db.delete_range(default, b"x", b"z", writing).unwrap();
    db.get(default, b"a", &reading).unwrap();
    db.get(other, b"nothing", &reading).unwrap();
    drop(db.multi_get(other, &[b"a", b"b"], &reading, false));
    for (lower, upper) in [("", ""), ("a", ""), ("a", "m")] {
        let bound = |bound: &str| (!bound.is_empty()).then(|| bound.as_bytes().to_vec());
        let reading = peer::Reading { lower: bound(lower), upper: bound(upper), ..peer::Reading::default() };
        let mut iter = db.iter(other, &reading);
        iter.seek(b"b");
        iter.seek_for_prev(b"c");
        iter.seek_to_first();
        iter.seek_to_last();
    }
}

#[test]
fn records_are_those_of_rocksdb_and_each_side_replays_the_other() {
    let Some(library) = peer() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name);
    let env = ironstone::env::Env::posix();

    let ours = open_ours(&path("ours"));
    let writer = FileTraceWriter::create(&env, &path("our trace")).unwrap();
    trace::start(&ours, TraceOptions::default(), Box::new(writer)).unwrap();
    calls_of_ours(&ours);
    trace::end(&ours).unwrap();

    let (theirs, families) = open_peer(&library, &path("theirs"));
    theirs.start_trace(&path("their trace")).unwrap();
    calls_of_peer(&theirs, &families);
    theirs.end_trace().unwrap();

    let (our_records, their_records) = (contents(&path("our trace")), contents(&path("their trace")));
    assert!(our_records.len() > 15);
    assert_eq!(our_records, their_records);

    let copy = open_ours(&path("our copy"));
    let reader = FileTraceReader::open(&env, &path("their trace")).unwrap();
    let mut replayer =
        Replayer::new(&copy, [copy.default_family(), copy.family("other").unwrap()], reader).unwrap();
    replayer.prepare().unwrap();
    replayer.replay(&ReplayOptions { fast_forward: 1e6, ..ReplayOptions::default() }).unwrap();
    assert_eq!(copy.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(copy.family("other").unwrap().get(b"b").unwrap().as_deref(), Some(&[7; 3000][..]));

    let (copy, families) = open_peer(&library, &path("their copy"));
    copy.replay(&families, &path("our trace")).unwrap();
    let reading = peer::Reading::default();
    assert_eq!(copy.get(&families[0], b"a", &reading).unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(copy.get(&families[1], b"b", &reading).unwrap().as_deref(), Some(&[7; 3000][..]));
}
