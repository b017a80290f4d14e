//! Known operations and their counts: the test runs the page `testdata/statistics.txt`, and compares the answer of each
//! `show` (`testkit::script`).
//!
//! ```text
//! [title]                      a new database with statistics of all kinds, perf level EnableTime
//! family NAME=VALUE ..         options; before the first other command
//! failing                      a merge operator that fails
//! filtered                     a compaction filter that keeps everything
//! database NAME=VALUE ..
//! put K V   merge K V   delete K   fill FROM TO BYTES   flush   compact   reopen
//! hold                         an iterator, until there is another or `release`
//! get K   mget K ..   first N   last N   seek K   back K   verify   verify_files   settle   wait SECONDS
//! show NAME ..                 counts since the last show; of histograms "count: sum", of times "some" or "none"
//! ```

use std::path::Path;
use std::sync::Arc;

use base::stats::{
    HistogramKind, PerfCounter, PerfLevel, Statistics, StatsLevel, Ticker, perf_context_reset, perf_counter,
    set_perf_level,
};
use env::Env;
use ironstone_engine::db::{Db, DbIterator, OpenRequest};
use ironstone_engine::options::{
    CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};
use lsm::filter::{CompactionFilter, Decision, FilterInput};
use lsm::merge::{Failure, FullMerge, MergeOperator, Merged};

/// The state of a page: a database with all statistics.
struct StatsPage {
    env: Env,
    statistics: Arc<Statistics>,
    family: FamilyOptions,
    database: DbOptions,
    db: Option<Db>,
    held: Option<DbIterator>,
}

struct Failing;

impl MergeOperator for Failing {
    fn name(&self) -> &str {
        "failing"
    }

    fn full(&self, _merge: &FullMerge<'_>, _out: &mut Vec<u8>) -> Result<Merged, Failure> {
        Err(Failure::MustMerge)
    }
}

struct Keeping;

impl CompactionFilter for Keeping {
    fn name(&self) -> &str {
        "keeping"
    }

    fn filter(&self, _input: &FilterInput<'_>) -> Decision {
        Decision::Keep
    }
}

impl StatsPage {
    fn new() -> StatsPage {
        let env = Env::memory(11);
        let statistics = Arc::new(Statistics::new());
        statistics.set_level(StatsLevel::All);
        perf_context_reset();
        let database = DbOptions {
            create_if_missing: true,
            env: env.clone(),
            statistics: Some(statistics.clone()),
            ..DbOptions::default()
        };
        StatsPage { env, statistics, family: FamilyOptions::default(), database, db: None, held: None }
    }

    fn db(&mut self) -> &Db {
        let request = || OpenRequest::new("/db", self.database.clone(), self.family.clone());
        self.db.get_or_insert_with(|| Db::open(request()).unwrap())
    }

    fn run(&mut self, words: &[&str]) {
        let pairs = || words[1..].iter().map(|word| word.split_once('=').unwrap());
        match words[0] {
            "family" => return pairs().for_each(|(name, value)| self.family.set(name, value).unwrap()),
            "database" => return pairs().for_each(|(name, value)| self.database.set(name, value).unwrap()),
            "failing" => return self.family.merge_operator = Some(Arc::new(Failing)),
            "filtered" => return self.family.compaction_filter = Some(Arc::new(Keeping)),
            "hold" => {
                let db = self.db();
                let family = db.default_family().unwrap();
                let iter = db.iter(&family, ReadOptions::default()).unwrap();
                self.held = Some(iter);
                return;
            }
            "release" => return self.held = None,
            "reopen" => {
                self.db = None;
                self.db();
                return;
            }
            "wait" => return self.env.clock.sleep_micros(words[1].parse::<u64>().unwrap() * 1_000_000),
            _ => {}
        }
        let db = self.db();
        let family = db.default_family().unwrap();
        let write = WriteOptions::default();
        let read = ReadOptions::default();
        let iter = || db.iter(&family, read.clone()).unwrap();
        let number = |at: usize| words[at].parse::<usize>().unwrap();
        match words[0] {
            "put" => db.put(&family, words[1].as_bytes(), words[2].as_bytes(), &write).unwrap(),
            "merge" => db.merge(&family, words[1].as_bytes(), words[2].as_bytes(), &write).unwrap(),
            "delete" => db.delete(&family, words[1].as_bytes(), &write).unwrap(),
            "fill" => (number(1)..number(2)).for_each(|i| {
                let key = format!("key{i:04}");
                db.put(&family, key.as_bytes(), "v".repeat(number(3)).as_bytes(), &write).unwrap();
            }),
            "flush" => db.flush(&[family.clone()], &FlushOptions::default()).unwrap(),
            "compact" => {
                let _ = db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default());
            }
            "get" => drop(db.get(&family, words[1].as_bytes(), &read)),
            "mget" => {
                let keys: Vec<&[u8]> = words[1..].iter().map(|word| word.as_bytes()).collect();
                drop(db.multi_get(&family, &keys, &read));
            }
            "first" => {
                let mut iter = iter();
                iter.seek_to_first();
                (0..number(1)).for_each(|_| iter.next());
            }
            "last" => {
                let mut iter = iter();
                iter.seek_to_last();
                (0..number(1)).for_each(|_| iter.prev());
            }
            "seek" => iter().seek(words[1].as_bytes()),
            "back" => iter().seek_for_prev(words[1].as_bytes()),
            "verify" => db.files().verify_checksum().unwrap(),
            "verify_files" => db.files().verify_file_checksums().unwrap(),
            "settle" => db.background().wait_for_compact().unwrap(),
            other => panic!("no command {other}"),
        }
    }

    /// Returns the count of a statistic as text, and resets it.
    fn show(&self, name: &str) -> String {
        let time = |count: u64| if count > 0 { "some".to_string() } else { "none".to_string() };
        if let Some(ticker) = Ticker::by_name(name) {
            let count = self.statistics.ticker(ticker);
            return if name.ends_with("nanos") { time(count) } else { count.to_string() };
        }
        if let Some(kind) = HistogramKind::by_name(name) {
            let data = self.statistics.histogram_data(kind);
            // The length of the tail of a file depends on the names and times in its properties.
            let timed =
                name.ends_with("micros") || name.ends_with("nanos") || name.ends_with("tail.read.bytes");
            return if timed { data.count.to_string() } else { format!("{}: {}", data.count, data.sum) };
        }
        let counter = PerfCounter::by_name(name).unwrap_or_else(|| panic!("no statistic {name}"));
        let count = perf_counter(counter);
        if name.ends_with("nanos") || name.ends_with("time") { time(count) } else { count.to_string() }
    }

    fn forget(&self) {
        Ticker::ALL.iter().for_each(|ticker| self.statistics.set_ticker(*ticker, 0));
        self.statistics.reset();
        perf_context_reset();
    }
}

fn answer(world: &mut StatsPage, line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut out = String::new();
    match words[0] {
        word if word.starts_with('[') => *world = StatsPage::new(),
        "show" => {
            for name in &words[1..] {
                out += &format!("{name} = {}\n", world.show(name));
            }
            world.forget();
        }
        _ => world.run(&words),
    }
    out
}

#[test]
fn known_operations_count_as_the_script_states() {
    set_perf_level(PerfLevel::EnableTime);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/testdata/statistics.txt");
    let mut world = StatsPage::new();
    testkit::script::dialogue(&page, |line| answer(&mut world, line));
}
