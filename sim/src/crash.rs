//! A script on a disk that crashes or fails, opened again and compared.
//!
//! ```text
//!  history   after each write, the states the database may be in (two after a failed write)
//!            durable ──────────── attempted
//!               └── what is read after the crash is one state in here, in all families alike
//! ```
//! The crash comes at a drawn call that changes the disk; so do crashes of the recovery, and of the recovery
//! of that. A failing call fails once or for good, and the script goes on for a while before the machine
//! stops. A refused open is a failure unless the recovery mode asks for it; then point-in-time must do.

use std::sync::Arc;

use env::Env;
use env::clock::ManualClock;
use env::executor::Inline;
use env::fault::FaultFs;
use env::memory::{MemoryFs, Survivors};
use env::rng::SeededRng;
use ironstone::{CompactRangeOptions, Db, FamilyDescriptor, Kind, WriteBatch, WriteOptions};
use testkit::chance::Chance;

use crate::audit;
use crate::look;
use crate::sample::{self, Fixed, Sample};
use crate::script::{self, Op, Weights};
use crate::state::State;

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    pub operations: u64,
    /// Openings after a crash, compared with the model.
    pub cycles: u64,
    pub failed_calls: u64,
    /// Of all that was recovered: equal for equal runs.
    pub hash: u64,
}

const MODES: [&str; 4] = [
    "kTolerateCorruptedTailRecords",
    "kAbsoluteConsistency",
    "kPointInTimeRecovery",
    "kSkipAnyCorruptedRecords",
];

/// Runs a seed.
///
/// # Errors
/// What was lost, refused, or differs, with the seed and the story.
pub fn seed(seed: u64, len: usize) -> Result<Ran, String> {
    let ran = caught(seed, len)?;
    if seed.is_multiple_of(100) {
        let again = caught(seed, len).map_err(|e| format!("only the second time: {e}"))?;
        if again != ran {
            return Err(format!("seed {seed}: two runs differ: {ran:?} and {again:?}"));
        }
    }
    Ok(ran)
}

fn caught(seed: u64, len: usize) -> Result<Ran, String> {
    let story = Arc::new(parking_lot::Mutex::new(String::new()));
    let told = story.clone();
    let run = std::panic::AssertUnwindSafe(move || World::new(seed, told).run(len));
    let outcome = std::panic::catch_unwind(run).unwrap_or_else(|payload| {
        let words = payload.downcast_ref::<String>().cloned();
        let words = words.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_string()));
        Err(format!("panic: {}", words.unwrap_or_default()))
    });
    outcome.map_err(|e| format!("seed {seed}: {e}\n{}", story.lock()))
}

struct World {
    chance: Chance,
    seed: u64,
    disk: MemoryFs,
    faults: Arc<FaultFs>,
    clock: Arc<ManualClock>,
    executor: Arc<Inline>,
    env: Env,
    fixed: Fixed,
    text: String,
    /// Of the last opening.
    paranoid: bool,
    prefix: Option<usize>,
    db: Option<Db>,
    /// States the database may have been in after each write since the last durable one, oldest first.
    history: Vec<Vec<State>>,
    made: u64,
    /// Families whose making or dropping failed: they may be there or not.
    doubtful: Vec<String>,
    ran: Ran,
    story: Arc<parking_lot::Mutex<String>>,
}

/// How an operation ended.
enum Ended {
    Well,
    /// A call failed and the operation said so.
    Refused(ironstone::Error),
}

impl World {
    fn new(seed: u64, story: Arc<parking_lot::Mutex<String>>) -> World {
        let mut chance = Chance::new(seed ^ 0x0063_7261_7368);
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let disk = MemoryFs::new(clock.clone());
        let faults = FaultFs::wrap(Arc::new(disk.clone()));
        let (env, executor) = world(&faults, &clock, seed, seed);
        let fixed = Fixed::draw(&mut chance);
        World {
            chance,
            seed,
            disk,
            faults,
            clock,
            executor,
            env,
            fixed,
            text: String::new(),
            paranoid: true,
            prefix: None,
            db: None,
            history: vec![vec![State::new()]],
            made: 0,
            doubtful: Vec::new(),
            ran: Ran::default(),
            story,
        }
    }

    fn tell(&self, line: String) {
        let mut story = self.story.lock();
        story.push_str(&line);
        story.push('\n');
    }

    fn run(mut self, len: usize) -> Result<Ran, String> {
        let rounds = 1 + self.chance.below(4);
        for round in 0..rounds {
            let weights = Weights {
                keys: 40,
                large_values: *self.chance.pick(&[0, 5, 20]),
                no_wal: false,
                looks: 0,
                reopens: 5,
            };
            let length = 1 + self.chance.below(len as u64) as usize;
            let ops = script::draw(&mut Chance::new(self.seed.wrapping_mul(31) ^ round), length, &weights);
            self.round(&ops)?;
        }
        Ok(self.ran)
    }

    /// Opens, harms, works, stops the machine, and compares what comes back.
    fn round(&mut self, ops: &[Op]) -> Result<(), String> {
        let mode = MODES[self.chance.below(4) as usize];
        let plan = self.plan(400);
        self.tell(format!("opens; then: {plan:?}"));
        self.open(None).map_err(|e| format!("open without faults: {e}"))?;
        self.settled()?;
        self.faults.hook().set_plan(&plan).map_err(|e| e.to_string())?;
        let (mut refused, mut clean) = (0, false);
        for op in ops {
            if self.faults.hook().crashed() || self.history.last().is_some_and(|h| h.len() > 16) {
                break;
            }
            self.ran.operations += 1;
            let ended = self.op(op)?;
            self.executor.fed();
            if self.faults.hook().crashed() && self.faults.hook().fired() == 0 {
                return Err(format!("{op:?} waited for ever though no call failed"));
            }
            if let Ended::Refused(error) = ended {
                if refused == 0 {
                    self.tell(format!("first refusal: {op:?}: {error}"));
                }
                refused += 1;
                if self.faults.hook().fired() == 0 {
                    return Err(format!("{op:?} failed though no call did: {error}"));
                }
                if refused > 12 {
                    break;
                }
            }
            while self.chance.percent(40) && self.env.executor.help() {}
        }
        if self.chance.percent(20) && !self.faults.hook().crashed() {
            // A clean end instead: all of it is with the system, though not yet on the disk.
            let db = self.db.take();
            let closed = db.map_or(Ok(()), |db| db.close());
            self.tell(format!("closes: {closed:?}"));
            if self.faults.hook().fired() == 0 {
                closed.map_err(|e| format!("close: {e}"))?;
                clean = true;
            }
        }
        self.ran.failed_calls += self.faults.hook().fired();
        self.stop(mode, clean)
    }

    /// A crash at a call, a failing call, or neither.
    fn plan(&mut self, calls: u64) -> String {
        let n = 1 + self.chance.below(calls);
        match self.chance.below(10) {
            0..4 => format!("write * #{n} crash"),
            4 => format!("append * #{n} crash {}", self.chance.below(5000)),
            5 => String::new(),
            _ => {
                let what = *self.chance.pick(&[
                    "append *",
                    "sync *",
                    "create *",
                    "append *.log",
                    "sync *.log",
                    "append MANIFEST-*",
                    "sync MANIFEST-*",
                    "append *.sst",
                    "sync *.sst",
                    "create *.sst",
                    "create *.log",
                    "rename *",
                    "sync_dir *",
                    "read *",
                    "read *.sst",
                    "open *",
                    "unlink *",
                    "close *",
                    "append CURRENT*",
                    "append *.dbtmp",
                    "write *",
                ]);
                let n = if what == "write *" { n } else { 1 + self.chance.below(30) };
                let errno = *self.chance.pick(&["EIO", "ENOSPC", "EMFILE", "torn 7"]);
                let errno = if errno == "torn 7" && !what.starts_with("append") { "EIO" } else { errno };
                let more = *self.chance.pick(&["", "", "..", ".."]);
                format!("{what} #{n}{more} {errno}")
            }
        }
    }

    /// Stops the machine, with more crashes while it recovers, and compares.
    fn stop(&mut self, mode: &str, clean: bool) -> Result<(), String> {
        let mut depth = self.chance.below(3);
        let mut survivors = self.crash();
        if clean && survivors == Survivors::Everything {
            self.durable();
        }
        loop {
            let harm = if depth > 0 { self.plan(60) } else { String::new() };
            depth = depth.saturating_sub(1);
            self.tell(format!("recovers by {mode} with {harm:?}"));
            self.faults.hook().set_plan(&harm).map_err(|e| e.to_string())?;
            let fired = self.faults.hook().fired();
            let opened = self.open(Some(mode));
            let struck = self.faults.hook().fired() > fired;
            if !struck {
                self.faults.hook().revive();
            }
            match opened {
                Ok(()) if !struck => {
                    // Who does not stop at what a log lost goes on with what the next holds: a hole, by RocksDB's
                    // rules. Only what a crash keeps in order is without one.
                    let weak = (mode != MODES[2] || !self.paranoid)
                        && !matches!(survivors, Survivors::Synced | Survivors::Everything);
                    self.compare(weak)?;
                    self.faults.hook().revive();
                    if self.chance.percent(30) {
                        self.second_open()?;
                    }
                    return Ok(());
                }
                Ok(()) => {}
                Err(error) if struck => self.tell(format!("recovery refused: {error}")),
                Err(error) => {
                    self.tell(format!("refused: {error}"));
                    let may = mode != MODES[2] && mode != MODES[3] && error.kind() == Kind::Corruption;
                    if !may {
                        return Err(format!("open by {mode} refused: {error}"));
                    }
                    self.faults.hook().revive();
                    self.open(Some(MODES[2])).map_err(|e| format!("open by point in time refused: {e}"))?;
                    self.compare(false)?;
                    self.faults.hook().revive();
                    return Ok(());
                }
            }
            survivors = self.crash();
        }
    }

    fn crash(&mut self) -> Survivors {
        self.faults.hook().crash();
        self.executor.abandon();
        self.db = None;
        let survivors = match self.chance.below(8) {
            0 => Survivors::Synced,
            1 => Survivors::Everything,
            2 => Survivors::NamesWithoutData,
            3 => Survivors::ZerosForData,
            4 => match self.chance.below(3) {
                0 => Survivors::TornLast(self.chance.next()),
                1 => Survivors::Sectors(self.chance.next()),
                _ => Survivors::NamesLost(self.chance.next()),
            },
            _ => Survivors::Random(self.chance.next()),
        };
        self.disk.crash(survivors);
        self.faults.hook().revive();
        let seed = self.chance.next();
        (self.env, self.executor) = world(&self.faults, &self.clock, seed, self.seed);
        self.tell(format!("the machine stops; left is {survivors:?}"));
        if std::env::var_os("IRONSTONE_STORY").is_some() {
            let names = self.env.fs.list(std::path::Path::new("/db")).unwrap_or_default();
            self.tell(format!("{names:?}"));
        }
        survivors
    }

    /// The files there are and the information log, for who looks into a failure.
    fn tell_log(&self) {
        let dir = std::path::Path::new("/db");
        let names = self.env.fs.list(dir).unwrap_or_default();
        for name in names.iter().filter(|n| n.ends_with(".log")) {
            let bytes = self.env.fs.read_all(&dir.join(name), 1 << 20).unwrap_or_default();
            self.tell(format!("  {name}: {}", testkit::golden::hex(&bytes[..bytes.len().min(400)])));
        }
        for name in &names {
            self.tell(format!("  {name} {:?}", self.env.fs.file_size(&dir.join(name))));
        }
        let log = names.iter().find(|n| *n == "LOG").map(|n| self.env.fs.read_all(&dir.join(n), 1 << 20));
        if let Some(Ok(log)) = log {
            let text = String::from_utf8_lossy(&log).into_owned();
            text.lines().filter(|l| !l.contains("Options")).for_each(|l| self.tell(l.to_string()));
        }
    }

    fn open(&mut self, mode: Option<&str>) -> Result<(), ironstone::Error> {
        self.db = None;
        if std::env::var_os("IRONSTONE_STORY").is_some() {
            self.tell_log();
        }
        let (sample, mut options) = sample::options(&mut self.chance, self.fixed);
        self.text = sample.text;
        self.prefix = sample.prefix;
        if let Some(mode) = mode {
            // Its rule is about logs that are there, not about logs whose names were lost with the machine.
            options.db.track_and_verify_wals = false;
            options.update(&format!("wal_recovery_mode={mode}"))?;
        }
        self.paranoid = options.db.paranoid_checks;
        if std::env::var_os("IRONSTONE_STORY").is_none() && !self.seed.is_multiple_of(10) {
            options.db.info_log = Some(Arc::new(env::logger::NullLogger));
        }
        options.db.env = self.env.clone();
        self.db = Some(Db::open("/db", options)?);
        Ok(())
    }

    /// What is there must be a state between durable and attempted; it is the one history now.
    fn compare(&mut self, weak: bool) -> Result<(), String> {
        self.ran.cycles += 1;
        let db = self.db.clone().ok_or("not open")?;
        let names: Vec<String> = db.families().iter().map(|f| f.name().to_string()).collect();
        let last = self.history.last().and_then(|h| h.first()).cloned().unwrap_or_default();
        for name in last.families.keys() {
            if !names.contains(name) && !self.doubtful.contains(name) {
                return Err(format!("family {name} is gone"));
            }
        }
        for name in &names {
            if !last.families.contains_key(name) && !self.doubtful.contains(name) {
                return Err(format!("family {name} is back"));
            }
        }
        self.doubtful.clear();
        let found = audit::rows(&db)?;
        if !weak {
            let is = |state: &State| {
                names.iter().all(|n| {
                    let empty = testkit::model::Model::default();
                    state.families.get(n).unwrap_or(&empty) == found.families.get(n).unwrap_or(&empty)
                })
            };
            if !self.history.iter().flatten().any(is) {
                return Err(self.difference(&found, &names));
            }
        } else {
            self.each_key_was_so(&found)?;
        }
        let sample = Sample { text: String::new(), reverse: self.fixed.reverse, prefix: self.prefix };
        let looks = self.chance.next();
        audit::reads(&db, &found, &sample, looks).map_err(|e| format!("after recovery, {e}"))?;
        audit::tree(&db, &*self.env.fs, std::path::Path::new("/db"))?;
        let rows: usize = found.families.values().map(testkit::model::Model::len).sum();
        self.ran.hash =
            (self.ran.hash ^ rows as u64 ^ db.latest_sequence()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // What was recovered stays: by RocksDB's rule it is durable only once it is flushed or synced.
        let oldest = self.history.first().cloned().unwrap_or_default();
        self.history = vec![oldest, vec![found]];
        self.settled()
    }

    /// With holes allowed: each key must at least have had that value at some moment since what is durable. Not so
    /// keys that operands were lost of, or that a single deletion without its put brought back.
    fn each_key_was_so(&self, found: &State) -> Result<(), String> {
        let empty = testkit::model::Model::default();
        let states: Vec<&State> = self.history.iter().flatten().collect();
        for (name, model) in &found.families {
            let of = |s: &&State, key: &[u8]| s.families.get(name).unwrap_or(&empty).get(key).map(<[u8]>::to_vec);
            let keys = states.iter().filter_map(|s| s.families.get(name)).chain([model]).flat_map(|m| m.rows());
            for (key, _) in keys {
                let got = model.get(&key);
                let merged = |v: &Vec<u8>| v.starts_with(b"m") || v.windows(2).any(|w| w == b",m");
                let all: Vec<Option<Vec<u8>>> = states.iter().map(|s| of(s, &key)).collect();
                let unsure = key.starts_with(&[script::TOGGLES]) || all.iter().flatten().any(merged);
                if !unsure && !all.iter().any(|v| v.as_deref() == got) {
                    let got = got.map(short);
                    return Err(format!("{name} {}: {got:?} at no moment since the durable one", key.escape_ascii()));
                }
            }
        }
        Ok(())
    }

    /// What was recovered is made durable, so that the next round starts from one state.
    fn settled(&mut self) -> Result<(), String> {
        let db = self.db.as_ref().ok_or("not open")?;
        db.sync_wal().map_err(|e| format!("sync of the WAL: {e}"))?;
        let mut batch = WriteBatch::new();
        batch.put(b"a00\x00", b"durable");
        let mut states = self.history.last().cloned().unwrap_or_default();
        for state in &mut states {
            state.families.entry("default".to_string()).or_default().put(b"a00\x00", b"durable");
        }
        db.write(batch, &WriteOptions { sync: true, ..WriteOptions::default() })
            .map_err(|e| format!("synced write: {e}"))?;
        self.history = vec![states];
        Ok(())
    }

    fn second_open(&mut self) -> Result<(), String> {
        let expected = self.history.last().cloned().unwrap_or_default();
        self.open(None).map_err(|e| format!("second open: {e}"))?;
        if std::env::var_os("IRONSTONE_STORY").is_some() {
            self.tell_log();
        }
        let db = self.db.clone().ok_or("not open")?;
        let state = expected.first().ok_or("no state")?;
        while self.env.executor.help() {}
        audit::leftovers(&db, &*self.env.fs, std::path::Path::new("/db"))?;
        look::all(&db, state, self.fixed.reverse, None).map_err(|e| {
            let names: Vec<String> = db.families().iter().map(|f| f.name().to_string()).collect();
            let difference = audit::rows(&db).map(|found| self.difference(&found, &names));
            format!("second open: {e}; {difference:?}; options {}", self.text)
        })
    }

    fn difference(&self, found: &State, names: &[String]) -> String {
        let mut words = format!("no state of {} is what was recovered", self.history.len());
        for name in names {
            let empty = testkit::model::Model::default();
            let got = found.families.get(name).unwrap_or(&empty).rows();
            for (which, states) in [("durable", self.history.first()), ("attempted", self.history.last())] {
                for state in states.into_iter().flatten() {
                    let want = state.families.get(name).unwrap_or(&empty).rows();
                    let missing: Vec<String> = want
                        .iter()
                        .filter(|r| !got.contains(r))
                        .map(|r| format!("-{}={}", r.0.escape_ascii(), short(&r.1)))
                        .collect();
                    let extra: Vec<String> = got
                        .iter()
                        .filter(|r| !want.contains(r))
                        .map(|r| format!("+{}={}", r.0.escape_ascii(), short(&r.1)))
                        .collect();
                    words.push_str(&format!(
                        "\n  {name} against {which}: {} {}",
                        missing.join(" "),
                        extra.join(" ")
                    ));
                }
            }
        }
        words
    }

    fn op(&mut self, op: &Op) -> Result<Ended, String> {
        let db = self.db.clone().ok_or("not open")?;
        let families = db.families();
        let outcome = match op {
            Op::Write { changes, undone: _, sync, .. } => {
                let mut batch = WriteBatch::new();
                let before = self.history.last().cloned().unwrap_or_default();
                let mut after = before.clone();
                for (i, state) in after.iter_mut().enumerate() {
                    // A toggle is drawn against one state; with several it is left out.
                    let mut one = WriteBatch::new();
                    for change in changes {
                        if before.len() == 1 || !matches!(change, script::Change::Toggle(..)) {
                            state.change(change, &families, self.fixed.reverse, &mut one);
                        }
                    }
                    if i == 0 {
                        batch = one;
                    }
                }
                // Some wait for a disk that fails, and are ended by the step bound.
                // Without paranoid_checks a failing compaction is no error, and the wait has no end: RocksDB's rule.
                let no_slowdown = !self.paranoid || self.chance.percent(20);
                let options = WriteOptions { sync: *sync, no_slowdown, ..WriteOptions::default() };
                let written = db.write(batch, &options);
                self.executor.fed();
                match written {
                    Err(error) if error.kind() == Kind::Incomplete => {
                        self.clock.advance(100_000);
                        self.env.executor.help();
                        Ok(())
                    }
                    Ok(()) => {
                        self.history.push(after);
                        if *sync {
                            self.durable();
                        }
                        Ok(())
                    }
                    Err(error) => {
                        let mut either = before;
                        for state in after {
                            if !either.contains(&state) {
                                either.push(state);
                            }
                        }
                        self.history.push(either);
                        Err(error)
                    }
                }
            }
            Op::Flush(n) => families[(*n % families.len() as u64) as usize].flush(),
            Op::Compact(n, _, _) => families[(*n % families.len() as u64) as usize].compact_range(
                None,
                None,
                &CompactRangeOptions::default(),
            ),
            Op::FlushWal { sync } => {
                let done = db.flush_wal(*sync);
                if done.is_ok() && *sync {
                    self.durable();
                }
                done
            }
            Op::CreateFamily if families.len() < 4 => {
                self.made += 1;
                let name = format!("family{}", self.made);
                let mut options = ironstone::Options::default();
                options.update(&self.text).map_err(|e| e.to_string())?;
                let made = db.create_family(FamilyDescriptor::new(&name, options.family));
                match &made {
                    Ok(_) => {
                        let mut states = self.history.last().cloned().unwrap_or_default();
                        for state in &mut states {
                            state.families.insert(name.clone(), Default::default());
                        }
                        self.history.push(states);
                    }
                    Err(_) => self.doubtful.push(name),
                }
                made.map(|_| ())
            }
            Op::DropFamily(n) => {
                let family = &families[(*n % families.len() as u64) as usize];
                if family.name() == "default" {
                    return Ok(Ended::Well);
                }
                let dropped = db.drop_family(family);
                match &dropped {
                    Ok(()) => {
                        let mut states = self.history.last().cloned().unwrap_or_default();
                        for state in &mut states {
                            state.families.remove(family.name());
                        }
                        self.history.push(states);
                    }
                    Err(_) => self.doubtful.push(family.name().to_string()),
                }
                dropped
            }
            Op::Reopen(_) => {
                let fired = self.faults.hook().fired();
                let closed = db.close();
                drop((families, db));
                self.db = None;
                if let Err(error) = closed {
                    // The machine stops here.
                    self.tell(format!("close: {error}"));
                    self.faults.hook().crash();
                    return if self.faults.hook().fired() > fired {
                        Ok(Ended::Well)
                    } else {
                        Err(format!("close: {error}"))
                    };
                }
                match self.open(None) {
                    Ok(()) => Ok(()),
                    Err(error) => {
                        self.tell(format!("reopen: {error}"));
                        if self.faults.hook().fired() == 0 {
                            return Err(format!("reopen: {error}"));
                        }
                        self.faults.hook().crash();
                        Ok(())
                    }
                }
            }
            Op::Help(n) => {
                self.clock.advance(*n * 400_000);
                for _ in 0..*n {
                    self.env.executor.help();
                }
                Ok(())
            }
            Op::Settle => db.wait_for_compact(),
            _ => Ok(()),
        };
        let panics = self.env.executor.panics();
        if panics.0 > 0 {
            return Err(format!("a job panicked: {:?}", panics.1));
        }
        Ok(match outcome {
            Ok(()) => Ended::Well,
            Err(error) => Ended::Refused(error),
        })
    }

    /// Everything so far is durable.
    fn durable(&mut self) {
        if let Some(last) = self.history.pop() {
            self.history = vec![last];
        }
    }
}

fn short(value: &[u8]) -> String {
    value[..value.len().min(16)].escape_ascii().to_string()
}

/// Rounds of waiting in which there was nothing to do, before the machine stops.
const PATIENCE: u64 = 2000;

fn world(faults: &Arc<FaultFs>, clock: &Arc<ManualClock>, seed: u64, run: u64) -> (Env, Arc<Inline>) {
    let executor = Arc::new(Inline::new(seed, clock.clone()));
    // A disk that fails for good may hold writers back for ever: somebody pulls the plug. What waits on even then hangs.
    let hook = faults.hook().clone();
    executor.on_starved(PATIENCE, move |times| {
        hook.crash();
        if times > 1 {
            let way = std::backtrace::Backtrace::force_capture();
            println!("FAILED seed {run}: waits for ever, even though the machine has stopped\n{way}");
            println!("run it again: simulate --crash --seed {run}");
            std::process::exit(3);
        }
    });
    let env = Env {
        fs: faults.clone(),
        clock: clock.clone(),
        rng: Arc::new(SeededRng::new(seed)),
        executor: executor.clone(),
    };
    (env, executor)
}
