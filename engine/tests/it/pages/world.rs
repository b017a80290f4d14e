//! The machine of a page: disk, clock, jobs, and at most one open database.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base::stats::{Statistics, Ticker};
use env::Env;
use env::clock::ManualClock;
use env::executor::Inline;
use env::fault::FaultFs;
use env::hook::Hooked;
use env::logger::MemoryLogger;
use env::memory::{MemoryFs, Survivors};
use ironstone_engine::components::{Components, FamilyDescriptor};
use ironstone_engine::db::{Db, DbIterator, OpenRequest};
use ironstone_engine::family::Family;
use ironstone_engine::options::{DbOptions, FamilyOptions};
use ironstone_engine::sequence::Snapshot;
use testkit::machine::{START_US, environment};

use super::observe::{Calls, Events};

/// The state of a page.
pub struct World {
    pub disk: MemoryFs,
    pub faults: Arc<FaultFs>,
    /// The rules of the faults, one in a line.
    plan: String,
    pub calls: Arc<Calls>,
    pub events: Arc<Events>,
    pub logger: Arc<MemoryLogger>,
    /// The number of lines of the info log that an earlier `log` has answered.
    pub logged: usize,
    pub statistics: Arc<Statistics>,
    pub env: Env,
    executor: Arc<Inline>,
    settings: Vec<String>,
    pub db: Option<Db>,
    pub family: String,
    pub iter: Option<DbIterator>,
    pub snapshots: BTreeMap<String, Arc<Snapshot>>,
    pub sync: bool,
    pub wal: bool,
    /// The timestamp of writes and reads.
    pub at: Option<u64>,
    /// The disk at the last `save`.
    saved: Option<MemoryFs>,
}

impl World {
    pub fn new() -> World {
        let clock = Arc::new(ManualClock::new(START_US));
        World::on(MemoryFs::new(clock.clone()), clock)
    }

    /// Returns a machine with this disk.
    fn on(disk: MemoryFs, clock: Arc<ManualClock>) -> World {
        let faults = FaultFs::wrap_disk(Arc::new(disk.clone()), disk.clone());
        let calls = Arc::new(Calls::default());
        let (env, executor) = environment(Arc::new(Hooked::new(faults.clone(), calls.clone())), &clock, 1);
        World {
            disk,
            faults,
            plan: String::new(),
            calls,
            events: Arc::default(),
            logger: MemoryLogger::new(),
            logged: 0,
            statistics: Arc::new(Statistics::new()),
            env,
            executor,
            settings: Vec::new(),
            db: None,
            family: "default".to_string(),
            iter: None,
            snapshots: BTreeMap::new(),
            sync: false,
            wal: true,
            at: None,
            saved: None,
        }
    }

    /// Runs the command of a line. Returns its answer; most commands have none.
    pub fn answer(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.run(&words).unwrap_or_else(|error| format!("error: {error}"))
    }

    fn run(&mut self, words: &[&str]) -> base::Result<String> {
        match words {
            ["open", settings @ ..] => {
                self.settings = settings.iter().map(|word| word.to_string()).collect();
                self.open(Db::open)?;
            }
            ["reopen"] => self.open(Db::open)?,
            ["recover", settings @ ..] => {
                self.settings = vec!["avoid_flush_during_recovery=true".to_string()];
                self.settings.extend(settings.iter().map(|word| word.to_string()));
                self.open(Db::open)?;
                return self.recovered();
            }
            ["save"] => {
                self.forget();
                self.saved = Some(self.disk.fork(Arc::new(ManualClock::new(START_US))));
            }
            ["load"] => {
                self.forget();
                let saved = self.saved.take().expect("a saved disk");
                let clock = Arc::new(ManualClock::new(START_US));
                *self = World { saved: Some(saved.clone()), ..World::on(saved.fork(clock.clone()), clock) };
            }
            ["new"] => {
                self.forget();
                *self = World::new();
            }
            ["read-only"] => self.open(Db::open_read_only)?,
            ["repair"] => return self.repair(),
            ["close"] => return self.close(),
            ["crash", survivors] => self.crash(survivors),
            ["sleep", seconds] => {
                self.env.clock.sleep_micros(seconds.parse::<u64>().expect("seconds") * 1_000_000);
                while self.env.executor.help() {}
            }
            ["sync", word] => self.sync = *word == "on",
            ["wal", word] => self.wal = *word == "on",
            ["at", "-"] => self.at = None,
            ["at", time] => self.at = Some(time.parse().expect("a time")),
            ["use", family] => self.family = family.to_string(),
            ["fail", rule @ ..] => {
                self.plan += &rule.join(" ");
                self.plan.push('\n');
                self.faults.hook().set_plan(&self.plan)?;
            }
            ["no-faults"] => {
                self.plan.clear();
                self.faults.hook().set_plan("")?;
            }
            _ => {
                if let Some(answer) = self.on_disk(words)? {
                    return Ok(answer);
                }
                if let Some(answer) = self.observed(words)? {
                    return Ok(answer);
                }
                let Some(db) = self.db.clone() else { return Ok("no database is open".to_string()) };
                if let Some(answer) = self.read(&db, words)? {
                    return Ok(answer);
                }
                if let Some(answer) = self.write(&db, words)? {
                    return Ok(answer);
                }
                return self.administer(&db, words);
            }
        }
        Ok(String::new())
    }

    /// Forgets all handles.
    fn forget(&mut self) {
        self.iter = None;
        self.snapshots.clear();
        self.db = None;
    }

    fn open(&mut self, open: impl FnOnce(OpenRequest) -> base::Result<Db>) -> base::Result<()> {
        self.forget();
        let request = self.request()?;
        self.db = Some(open(request)?);
        Ok(())
    }

    fn request(&self) -> base::Result<OpenRequest> {
        let mut db = DbOptions {
            create_if_missing: true,
            env: self.env.clone(),
            statistics: Some(self.statistics.clone()),
            info_log: Some(self.logger.clone()),
            ..DbOptions::default()
        };
        let mut family = family_options();
        for setting in &self.settings {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            if DbOptions::ROWS.iter().any(|row| row.name == name) {
                db.set(name, value)?;
            } else {
                family.set(name, value)?;
            }
        }
        let mut request = OpenRequest::new("/db", db, family.clone());
        request.others = Some(family);
        request.components = Components { listeners: vec![self.events.clone()], ..Components::default() };
        Ok(request)
    }

    /// Returns the rows of each column family, and the newest sequence number.
    fn recovered(&self) -> base::Result<String> {
        let db = self.db.as_ref().expect("an open database");
        let mut out = String::new();
        for family in db.families() {
            let rows = self.scan(db, &family, &[], false)?;
            out += &format!("{}: {rows}\n", family.name());
        }
        Ok(out + &format!("sequence {}", db.latest_sequence()))
    }

    fn close(&mut self) -> base::Result<String> {
        self.iter = None;
        self.snapshots.clear();
        let closed = self.db.take().map_or(Ok(()), |db| db.close());
        closed.map(|()| String::new())
    }

    fn crash(&mut self, survivors: &str) {
        let (word, seed) = survivors.split_once(':').unwrap_or((survivors, "0"));
        let seed = seed.parse().expect("a seed");
        self.disk.crash(match word {
            "synced" => Survivors::Synced,
            "everything" => Survivors::Everything,
            "names" => Survivors::NamesWithoutData,
            "zeros" => Survivors::ZerosForData,
            "torn" => Survivors::TornLast(seed),
            "sectors" => Survivors::Sectors(seed),
            other => panic!("no survivors {other}"),
        });
        self.executor.abandon();
        self.forget();
    }

    fn repair(&mut self) -> base::Result<String> {
        self.forget();
        let report = ironstone_engine::db::repair(self.request()?)?;
        let problems = report.problems.iter().map(|problem| {
            let offset = problem.offset.map_or(String::new(), |offset| format!(" at {offset}"));
            format!("{:?} {}{offset}: {}", problem.weight, problem.file.display(), problem.what)
        });
        Ok(problems.chain(report.actions.iter().cloned()).collect::<Vec<_>>().join("\n"))
    }

    /// Returns the column family of the page.
    pub fn current(&self, db: &Db) -> base::Result<Arc<Family>> {
        self.named(db, &self.family)
    }

    pub fn named(&self, db: &Db, name: &str) -> base::Result<Arc<Family>> {
        db.family(name).ok_or_else(|| base::Error::not_found(format!("no column family {name}")))
    }

    /// Commands about column families, options and counts.
    fn administer<'w>(&mut self, db: &Db, words: &[&'w str]) -> base::Result<String> {
        let pairs = |words: &[&'w str]| -> Vec<(&'w str, &'w str)> {
            words.iter().map(|word| word.split_once('=').expect("a setting")).collect()
        };
        match words {
            ["families"] => {
                return Ok(db.families().iter().map(|f| f.name().to_string()).collect::<Vec<_>>().join(" "));
            }
            ["create", name, settings @ ..] => {
                let mut options = family_options();
                for (name, value) in pairs(settings) {
                    options.set(name, value)?;
                }
                db.admin().create_family(FamilyDescriptor::new(*name, options))?;
            }
            ["drop", name] => db.admin().drop_family(&self.named(db, name)?)?,
            ["set", settings @ ..] => db.admin().set_options(&self.current(db)?, &pairs(settings))?,
            ["set-db", settings @ ..] => db.admin().set_db_options(&pairs(settings))?,
            ["property", name] => {
                return Ok(db.properties().text(&self.current(db)?, name).unwrap_or("none".to_string()));
            }
            ["property", name, part] => {
                let parts = db.properties().map(&self.current(db)?, name).expect("a property with parts");
                return Ok(parts.get(*part).map_or("none".to_string(), |text| text.to_string()));
            }
            ["ticker", name] => {
                let ticker = Ticker::by_name(name).expect("a ticker");
                return Ok(self.statistics.ticker(ticker).to_string());
            }
            ["history"] => return history(db),
            ["error"] => {
                return Ok(db.background().error().map_or("none".to_string(), |error| error.to_string()));
            }
            ["resume"] => db.background().resume()?,
            other => panic!("no command: {other:?}"),
        }
        Ok(String::new())
    }

    /// Returns the path of a file of the database.
    pub fn path(&self, name: &str) -> std::path::PathBuf {
        Path::new("/db").join(name)
    }
}

fn family_options() -> FamilyOptions {
    FamilyOptions { merge_operator: lsm::merge::by_name("stringappend"), ..FamilyOptions::default() }
}

fn history(db: &Db) -> base::Result<String> {
    let slices = db.properties().stats_history(0, u64::MAX).collect::<base::Result<Vec<_>>>()?;
    let first = slices.first().map_or(0, |(second, _)| *second);
    let show = |(second, slice): &(u64, ironstone_engine::db::Slice)| {
        format!("+{}s: {} of {}", second - first, slice["rocksdb.number.keys.written"], slice.len())
    };
    Ok(slices.iter().map(show).collect::<Vec<_>>().join("\n"))
}
