//! The replay of a trace.
//!
//! Each thread of a replay takes the next record, waits until its time, and makes the call. With several threads, calls can overlap, and
//! calls with almost the same time can change their order. Facts: RocksDB
//! `utilities/trace/replayer_impl.cc`, `trace_replay/trace_record_handler.cc`.

use base::map::HashMap;
use base::{Error, FamilyId, Result};
use env::Clock;
use env::sync::{Arc, Mutex};
use format::trace::{Header, Query, Record, RecordType};

use super::FileTraceReader;
use crate::{Db, Family, ReadOptions, WriteBatch};

/// A replay has at most this many threads.
const THREADS_MAX: u32 = 256;

/// A wait for the time of a call consists of sleeps of at most this many microseconds. After each sleep, the thread checks if another
/// call has failed.
const SLEEP_MICROS_MAX: u64 = 100_000;

/// How a trace is replayed. RocksDB: `ReplayOptions`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOptions {
    /// The number of threads that make calls. Default: 1. 0 is 1. At most 256 threads run. With several threads, calls of the trace can
    /// change their order.
    pub num_threads: u32,
    /// The replay runs this many times as fast as the recorded calls. Default: 1.0. A number that is not above 0 is an
    /// error.
    pub fast_forward: f64,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        ReplayOptions { num_threads: 1, fast_forward: 1.0 }
    }
}

/// Makes the calls of a trace on a database.
///
/// A write with the markers of two-phase commit, for example the preparation of a transaction, is not replayed: the replay ends
/// with NotSupported.
pub struct Replayer {
    db: Db,
    families: HashMap<FamilyId, Family>,
    reader: FileTraceReader,
    header: Option<Header>,
    has_ended: bool,
}

/// The part of a replay that its threads share.
struct Shared<'a> {
    reader: &'a mut FileTraceReader,
    /// True after the last record, and after an error.
    is_over: bool,
    /// The error of the earliest call that failed, with the time of the call.
    failure: Option<(u64, Error)>,
}

impl Replayer {
    /// Makes a replayer. `families` are the column families of reads; without any, this is the default column family. A write goes to the
    /// column families that its batch names.
    ///
    /// # Errors
    /// NotFound if the database is closed.
    ///
    /// ```
    /// # use ironstone::trace::{FileTraceReader, Replayer};
    /// # let options = ironstone::Options::in_memory();
    /// # let env = options.db.env.clone();
    /// # let db = ironstone::Db::open("data", options)?;
    /// # env.fs.write_all("trace".as_ref(), b"", false)?;
    /// let reader = FileTraceReader::open(&env, "trace".as_ref())?;
    /// let mut replayer = Replayer::new(&db, [], reader)?;
    /// assert!(replayer.prepare().is_err()); // the file is empty
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn new(db: &Db, families: impl IntoIterator<Item = Family>, reader: FileTraceReader) -> Result<Self> {
        let mut families: HashMap<FamilyId, Family> =
            families.into_iter().map(|family| (family.id(), family)).collect();
        if families.is_empty() {
            let default = db.family_from_engine(db.engine().default_family()?);
            families.insert(default.id(), default);
        }
        Ok(Replayer { db: db.clone(), families, reader, header: None, has_ended: false })
    }

    /// Reads the first record. Must precede each replay.
    ///
    /// # Errors
    /// Incomplete if the file is empty. Corruption if the file is not a trace of calls. Errors of the file.
    ///
    /// ```
    /// # use ironstone::trace::{self, FileTraceReader, FileTraceWriter, Replayer, TraceOptions};
    /// # let options = ironstone::Options::in_memory();
    /// # let env = options.db.env.clone();
    /// # let db = ironstone::Db::open("data", options)?;
    /// # trace::start(&db, TraceOptions::default(), Box::new(FileTraceWriter::create(&env, "trace".as_ref())?))?;
    /// # trace::end(&db)?;
    /// let mut replayer = Replayer::new(&db, [], FileTraceReader::open(&env, "trace".as_ref())?)?;
    /// replayer.prepare()?;
    /// assert!(replayer.header_timestamp() > 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn prepare(&mut self) -> Result<()> {
        self.reader.reset()?;
        let first = self.reader.read()?.ok_or_else(|| Error::incomplete("the trace is empty"))?;
        self.header = Some(Header::decode(&Record::decode(&first)?)?);
        self.has_ended = false;
        Ok(())
    }

    /// Returns the time of the first record in microseconds since 1970, or 0 before [`Replayer::prepare`].
    ///
    /// ```
    /// # use ironstone::trace::{FileTraceReader, Replayer};
    /// # let options = ironstone::Options::in_memory();
    /// # let env = options.db.env.clone();
    /// # let db = ironstone::Db::open("data", options)?;
    /// # env.fs.write_all("trace".as_ref(), b"", false)?;
    /// let replayer = Replayer::new(&db, [], FileTraceReader::open(&env, "trace".as_ref())?)?;
    /// assert_eq!(replayer.header_timestamp(), 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn header_timestamp(&self) -> u64 {
        self.header.map_or(0, |header| header.micros)
    }

    /// Makes the calls of the trace up to its end. A key that a read does not find is not an error. Records that are not calls are skipped.
    ///
    /// # Errors
    /// InvalidArgument if `fast_forward` is not above 0. Incomplete before [`Replayer::prepare`], and after a replay. Corruption if a
    /// record is damaged, or if a read names a column family that the replayer does not have. NotSupported for a write with the
    /// markers of two-phase commit. The first error of a call; later calls are not made.
    ///
    /// ```
    /// # use ironstone::trace::{self, FileTraceReader, FileTraceWriter, Replayer, ReplayOptions, TraceOptions};
    /// # let options = ironstone::Options::in_memory();
    /// # let env = options.db.env.clone();
    /// # let db = ironstone::Db::open("data", options)?;
    /// # trace::start(&db, TraceOptions::default(), Box::new(FileTraceWriter::create(&env, "trace".as_ref())?))?;
    /// # trace::end(&db)?;
    /// let mut replayer = Replayer::new(&db, [], FileTraceReader::open(&env, "trace".as_ref())?)?;
    /// assert!(replayer.replay(&ReplayOptions::default()).is_err());
    /// replayer.prepare()?;
    /// replayer.replay(&ReplayOptions::default())?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn replay(&mut self, options: &ReplayOptions) -> Result<()> {
        // A comparison with NaN is false.
        if options.fast_forward.is_nan() || options.fast_forward <= 0.0 {
            return Err(Error::invalid_argument("Wrong fast forward speed!"));
        }
        let header = self.header.ok_or_else(|| Error::incomplete("Not prepared!"))?;
        if self.has_ended {
            return Err(Error::incomplete("Trace end."));
        }
        let env = self.db.engine().env().clone();
        let pace = Pace {
            clock: env.clock.clone(),
            start: env.clock.now_micros(),
            header,
            speed: options.fast_forward,
        };
        let shared = Mutex::new(Shared { reader: &mut self.reader, is_over: false, failure: None });
        let calls = Calls { db: &self.db, families: &self.families, version: header.version };
        let threads = options.num_threads.clamp(1, THREADS_MAX);
        let run = || run(&shared, &pace, &calls);
        if threads == 1 {
            run();
        } else {
            env.executor.run_all((0..threads).map(|_| Box::new(run) as Box<dyn FnOnce() + Send>).collect());
        }
        let failure = shared.into_inner().failure;
        self.has_ended = failure.is_none();
        failure.map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// One thread of a replay.
fn run(shared: &Mutex<Shared<'_>>, pace: &Pace, calls: &Calls<'_>) {
    loop {
        let next = shared.lock().next();
        let Some((micros, bytes)) = next else { return };
        if !pace.wait_for(micros, || shared.lock().failure.is_some()) {
            return;
        }
        let Ok(record) = Record::decode(&bytes) else { return };
        if let Err(error) = calls.make(&record) {
            shared.lock().fail(record.micros, error);
        }
    }
}

impl Shared<'_> {
    /// Returns the next record and its time. Returns `None` at the end, and after an error.
    fn next(&mut self) -> Option<(u64, Vec<u8>)> {
        if self.is_over {
            return None;
        }
        let read = self.reader.read().and_then(|bytes| {
            let Some(bytes) = bytes else { return Ok(None) };
            let record = Record::decode(&bytes)?;
            let (micros, is_end) = (record.micros, record.is(RecordType::End));
            Ok((!is_end).then_some((micros, bytes)))
        });
        match read {
            Ok(Some(next)) => return Some(next),
            Ok(None) => self.is_over = true,
            Err(error) => self.fail(u64::MAX, error),
        }
        None
    }

    fn fail(&mut self, micros: u64, error: Error) {
        self.is_over = true;
        if self.failure.as_ref().is_none_or(|(before, _)| micros < *before) {
            self.failure = Some((micros, error));
        }
    }
}

/// When the calls are made.
struct Pace {
    clock: Arc<dyn Clock>,
    /// The start of the replay in microseconds since 1970.
    start: u64,
    header: Header,
    speed: f64,
}

impl Pace {
    /// Waits until the time of a call that was recorded at `micros`. Returns false if `has_failed` returned true before this time.
    fn wait_for(&self, micros: u64, has_failed: impl Fn() -> bool) -> bool {
        let after = micros.saturating_sub(self.header.micros) as f64 / self.speed;
        // The conversion ends at the largest number.
        let due = self.start.saturating_add(after.round() as u64);
        loop {
            let left = due.saturating_sub(self.clock.now_micros());
            if left == 0 {
                return true;
            }
            if has_failed() {
                return false;
            }
            self.clock.sleep_micros(left.min(SLEEP_MICROS_MAX));
        }
    }
}

/// Makes calls.
struct Calls<'a> {
    db: &'a Db,
    families: &'a HashMap<FamilyId, Family>,
    version: u32,
}

impl Calls<'_> {
    fn make(&self, record: &Record<'_>) -> Result<()> {
        match Query::decode(record, self.version) {
            Ok(query) => self.call(query),
            Err(error) if error.kind() == base::Kind::NotSupported => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn family(&self, id: FamilyId) -> Result<&Family> {
        self.families.get(&id).ok_or_else(|| Error::corruption("Invalid Column Family ID."))
    }

    fn call(&self, query: Query<'_>) -> Result<()> {
        match query {
            Query::Write(batch) => self.db.write(WriteBatch::from_bytes(batch)?),
            Query::Get(family, key) => self.family(family)?.get(key).map(drop),
            Query::Seek(seek) => {
                let bound = |bound: &[u8]| (!bound.is_empty()).then(|| bound.to_vec());
                let options = ReadOptions {
                    iterate_lower_bound: bound(seek.lower),
                    iterate_upper_bound: bound(seek.upper),
                    ..ReadOptions::default()
                };
                let mut iter = self.family(seek.family)?.iter_with(options)?;
                if seek.is_for_prev {
                    iter.seek_for_prev(seek.key)
                } else {
                    iter.seek(seek.key)
                }
                iter.status()
            }
            Query::MultiGet(pairs) => {
                let mut by_family: HashMap<FamilyId, Vec<&[u8]>> = HashMap::default();
                for (family, key) in pairs {
                    by_family.entry(family).or_default().push(key);
                }
                by_family.into_iter().try_for_each(|(family, keys)| {
                    self.family(family)?.multi_get(&keys).into_iter().try_for_each(|value| value.map(drop))
                })
            }
        }
    }
}
