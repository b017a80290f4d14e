//! Runs a script on a disk that crashes or fails, opens the database again, and compares.
//!
//! ```text
//!  history   after each write, the possible states of the database (two after a failed write)
//!            durable ──────────── attempted
//!               └── recovery finds one state of this range, the same in all column families
//! ```
//! The crash comes at a drawn call that changes the disk. Crashes of the recovery, and of the recovery after this
//! crash, come in the same way. A failing call fails once, or it fails until the machine stops; the script then
//! continues for a while. If the open fails, the run fails, unless the recovery mode requires the error. In this
//! case, point-in-time recovery must succeed.
//!
//! ```text
//!  script ──┬──────┬───────┬─────► continues, and crashes at the end of the round
//!           │      │       └ a separate world: crash, recovery, comparison
//!           │      └ ...
//!           └ a copy of the disk at a drawn call of the step
//! ```
//! A script is long, and its writes stay. So the machine does not stop only once: at several calls the
//! simulation copies the disk, crashes the copy, recovers the copy, and compares it like the original.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use env::clock::ManualClock;
use env::executor::Inline;
use env::fault::FaultFs;
use env::hook::Hooked;
use env::logger::{LogLevel, Logger};
use env::memory::{MemoryFs, Survivors};
use env::rng::SeededRng;
use env::{Clock, Env};
use ironstone::{Db, Kind};
use testkit::chance::Chance;

use crate::sample::{self, Fixed};
use crate::script::{self, Op, Weights};
use crate::state::State;

mod act;
mod judge;
mod plan;
mod tape;

use tape::{Place, Tape};

/// The outcome of a failing sync that drops the unsynced data.
const FORGETS: &str = "forget";

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    pub operations: u64,
    /// The number of opens after a crash that were compared with the model.
    pub cycles: u64,
    pub failed_calls: u64,
    /// The number of writes that succeeded while another column family was stopped.
    pub beside: u64,
    /// A hash of all calls of the file system and all recovered rows. Equal runs have equal hashes.
    pub hash: u64,
    /// A hash for each kind of crash: the call that failed or at which the machine stopped, the survivors, and the
    /// recovery mode.
    pub shapes: BTreeSet<u64>,
}

impl Ran {
    fn hear(&mut self, number: u64) {
        self.hash = (self.hash ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }
}

/// A run that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// One of: lost, refused, wrong, panicked.
    pub kind: &'static str,
    pub words: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words)
    }
}

impl Failure {
    fn new(seed: u64, words: &str, story: &str) -> Failure {
        let says = |what: &[&str]| what.iter().any(|w| words.contains(w));
        let kind = if says(&["panic: ", "a job panicked"]) {
            "panicked"
        } else if says(&["refused: ", "second open: ", "open without faults"]) {
            "refused"
        } else if says(&["is what was recovered", "at no moment since", " is gone"]) {
            "lost"
        } else {
            "wrong"
        };
        Failure { kind, words: format!("seed {seed}: {kind}: {words}\n{story}") }
    }
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
/// The failure, with the seed and the story of the run.
pub fn seed(seed: u64, len: usize) -> Result<Ran, Failure> {
    let ran = alone(seed, len)?;
    if seed.is_multiple_of(100) {
        let again = alone(seed, len)?;
        if again != ran {
            return Err(Failure::new(seed, &format!("two runs differ: {ran:?} and {again:?}"), ""));
        }
    }
    Ok(ran)
}

/// Runs a seed on its own thread. A thread keeps buffers from earlier runs, and the length of a buffer is charged to
/// a cache. With one thread, an earlier run could change the reads of a later run.
#[allow(clippy::disallowed_methods, reason = "the world is a simulated one; the thread is the rig's")]
fn alone(seed: u64, len: usize) -> Result<Ran, Failure> {
    std::thread::scope(|scope| scope.spawn(|| caught(seed, len)).join())
        .unwrap_or_else(|_| Err(Failure::new(seed, "panic: the run's thread", "")))
}

fn caught(seed: u64, len: usize) -> Result<Ran, Failure> {
    let story = Arc::new(parking_lot::Mutex::new(String::new()));
    let told = story.clone();
    let run = std::panic::AssertUnwindSafe(move || World::new(seed, told).run(len));
    let outcome = std::panic::catch_unwind(run).unwrap_or_else(|payload| {
        let words = payload.downcast_ref::<String>().cloned();
        let words = words.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_string()));
        Err(format!("panic: {}", words.unwrap_or_default()))
    });
    outcome.map_err(|e| Failure::new(seed, &e, &story.lock()))
}

struct World {
    chance: Chance,
    seed: u64,
    disk: MemoryFs,
    tape: Arc<Hooked<Tape>>,
    faults: Arc<FaultFs>,
    clock: Arc<ManualClock>,
    executor: Arc<Inline>,
    env: Env,
    fixed: Fixed,
    text: String,
    /// The options of the last open, before the recovery mode was set.
    options: Option<ironstone::Options>,
    paranoid: bool,
    prefix: Option<usize>,
    /// Records if a recovery skipped data since the last crash of the running database. Crashes during recoveries do
    /// not reset the record.
    ears: Arc<Ears>,
    db: Option<Db>,
    /// The states that the database may have after each write, oldest first. After a failed write there are two
    /// states.
    history: Vec<Vec<State>>,
    /// The index of the newest durable state. The next step drops the states before it.
    durable: usize,
    made: u64,
    /// Column families whose creation or drop failed: they may exist or not.
    doubtful: Vec<String>,
    /// The way in which the machine stopped, without numbers.
    shape: String,
    /// True for a fork of another world.
    is_branch: bool,
    /// True if a failing sync may have dropped earlier writes since the last crash.
    forgets: bool,
    ran: Ran,
    story: Story,
    /// True if the story also has the files and the info log.
    at_length: bool,
}

/// The result of an operation.
enum Ended {
    Well,
    /// A call of the file system failed, and the operation returned an error.
    Refused(ironstone::Error),
}

impl World {
    fn new(seed: u64, story: Story) -> World {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        World::on(MemoryFs::new(clock.clone()), clock, seed, seed ^ 0x0063_7261_7368, story)
    }

    fn on(disk: MemoryFs, clock: Arc<ManualClock>, run: u64, seed: u64, story: Story) -> World {
        let mut chance = Chance::new(seed);
        let tape = Tape::around(&disk, &clock, seed);
        let faults = FaultFs::wrap_disk(tape.clone(), disk.clone());
        let (env, executor) = world(&faults, &clock, seed, run, story.clone());
        let fixed = Fixed::draw(&mut chance);
        World {
            chance,
            seed: run,
            disk,
            tape,
            faults,
            clock,
            executor,
            env,
            fixed,
            text: String::new(),
            options: None,
            paranoid: true,
            prefix: None,
            ears: Arc::default(),
            db: None,
            history: vec![vec![State::new()]],
            durable: 0,
            made: 0,
            doubtful: Vec::new(),
            shape: String::new(),
            is_branch: false,
            forgets: false,
            ran: Ran::default(),
            story,
            at_length: std::env::var_os("IRONSTONE_STORY").is_some(),
        }
    }

    /// Returns a world whose machine stops at `place`, in the step that started after the state `begun` of the
    /// history.
    fn branch(&mut self, place: Place, begun: usize) -> World {
        let clock = Arc::new(ManualClock::new(self.clock.now_micros()));
        let disk = place.disk.fork(clock.clone());
        let mut branch = World::on(disk, clock, self.seed, self.chance.next(), self.story.clone());
        branch.fixed = self.fixed;
        branch.text.clone_from(&self.text);
        branch.options.clone_from(&self.options);
        (branch.paranoid, branch.prefix) = (self.paranoid, self.prefix);
        branch.history.clone_from(&self.history);
        branch.doubtful.clone_from(&self.doubtful);
        // The column families that the step creates or drops may exist or not.
        let names = |at: &Vec<State>| {
            at.first().map(|s| s.families.keys().cloned().collect::<BTreeSet<_>>()).unwrap_or_default()
        };
        let (before, after) =
            (names(&self.history[begun]), self.history.last().map(names).unwrap_or_default());
        branch.doubtful.extend(before.symmetric_difference(&after).cloned());
        branch.shape = format!("{} {}", self.shape, without_numbers(&place.what));
        (branch.is_branch, branch.forgets) = (true, self.forgets);
        branch
    }

    /// Runs a step. The tape keeps copies of the disk at drawn calls of the step. Crashes, recovers and compares each
    /// copy.
    fn step<T>(&mut self, act: impl FnOnce(&mut World) -> Result<T, String>) -> Result<T, String> {
        self.forget_past();
        let begun = self.history.len() - 1;
        let done = act(self)?;
        for place in self.tape.hook().take() {
            let told = self.story.lock().len();
            self.tell(format!("  a fork, stopped at call {}, {}:", place.call, place.what));
            let mut branch = self.branch(place, begun);
            // The default mode is drawn more often than the other modes.
            let mode = MODES[*branch.chance.pick(&[0, 1, 2, 2, 2, 3])];
            branch.stop(mode, false)?;
            let ran = branch.end();
            self.ran.cycles += ran.cycles;
            self.ran.failed_calls += ran.failed_calls;
            self.ran.beside += ran.beside;
            self.ran.hear(ran.hash);
            self.ran.shapes.extend(ran.shapes);
            self.story.lock().truncate(told);
        }
        Ok(done)
    }

    /// Drops the states that no crash can leave any more.
    fn forget_past(&mut self) {
        self.history.drain(..self.durable);
        self.durable = 0;
    }

    /// Turns the machine off.
    fn end(mut self) -> Ran {
        self.faults.hook().crash();
        self.executor.abandon();
        self.db = None;
        self.ran.hear(self.tape.hook().hash());
        self.ran
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
            let mut ops =
                script::draw(&mut Chance::new(self.seed.wrapping_mul(31) ^ round), length, &weights);
            if self.is_of_tables() && round == 0 {
                ops.splice(0..0, [Op::CreateFamily, Op::CreateFamily]);
            }
            self.round(&ops)?;
        }
        Ok(self.end())
    }

    /// Runs one round: opens, sets a plan of faults, works, stops the machine, and compares the database after the
    /// recovery.
    fn round(&mut self, ops: &[Op]) -> Result<(), String> {
        let mode = MODES[self.chance.below(4) as usize];
        let plan = if self.is_of_tables() { self.plan_of_tables() } else { self.plan(400) };
        self.tell(format!("opens; then: {plan:?}"));
        self.open(None).map_err(|e| format!("open without faults: {e}"))?;
        self.settled()?;
        self.faults.hook().set_plan(&plan).map_err(|e| e.to_string())?;
        self.forgets = plan.ends_with(FORGETS);
        self.shape = without_numbers(&plan);
        self.tape.hook().keep(*self.chance.pick(&GAPS), FORKS_MAX);
        let (mut refused, mut clean) = (0, false);
        for op in ops {
            if self.faults.hook().crashed() || self.history.last().is_some_and(|h| h.len() > 16) {
                break;
            }
            self.ran.operations += 1;
            let ended = self.step(|world| {
                let ended = world.op(op);
                world.executor.fed();
                ended
            })?;
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
            self.step(|world| {
                while world.chance.percent(40) && world.env.executor.help() {}
                Ok(())
            })?;
        }
        if self.chance.percent(20) && !self.faults.hook().crashed() {
            // Or close the database. All data is passed to the system, but a part of it may not be on the disk yet.
            let db = self.db.take();
            let closed = self.step(|_| Ok(db.map_or(Ok(()), |db| db.close())))?;
            self.tell(format!("closes: {closed:?}"));
            if self.faults.hook().fired() == 0 {
                closed.map_err(|e| format!("close: {e}"))?;
                clean = true;
            }
        }
        self.ran.failed_calls += self.faults.hook().fired();
        self.tape.hook().keep(1, 0);
        self.stop(mode, clean)
    }

    /// Stops the machine, with more crashes during the recovery, and compares.
    fn stop(&mut self, mode: &str, clean: bool) -> Result<(), String> {
        // There are many forks. Most of them have no crash during the recovery.
        let mut depth =
            if self.is_branch { *self.chance.pick(&[0, 0, 0, 0, 0, 0, 1, 2]) } else { self.chance.below(3) };
        self.forget_past();
        self.ears.0.store(false, Ordering::Relaxed);
        // A hole stays in the database, whatever the next crash keeps. So `in_order` never becomes true again.
        let mut in_order = !self.forgets;
        let mut survivors = self.crash();
        in_order &= keeps_order(survivors);
        if clean && survivors == Survivors::Everything {
            self.durable();
        }
        loop {
            let harm = if depth > 0 { self.plan(60) } else { String::new() };
            depth = depth.saturating_sub(1);
            self.tell(format!("recovers by {mode} with {harm:?}"));
            self.shape.push_str(&format!(" {} {mode} {}", left(survivors), without_numbers(&harm)));
            self.faults.hook().set_plan(&harm).map_err(|e| e.to_string())?;
            self.forgets = harm.ends_with(FORGETS);
            let fired = self.faults.hook().fired();
            let opened = self.open(Some(mode));
            let struck = self.faults.hook().fired() > fired;
            if !struck {
                self.faults.hook().revive();
            }
            match opened {
                Ok(()) if !struck => {
                    self.compare(self.may_have_holes(in_order))?;
                    self.faults.hook().revive();
                    if self.chance.percent(if self.is_branch { 15 } else { 30 }) {
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
                    self.compare(self.may_have_holes(in_order))?;
                    self.faults.hook().revive();
                    return Ok(());
                }
            }
            in_order &= !self.forgets;
            survivors = self.crash();
            in_order &= keeps_order(survivors);
        }
    }

    /// Returns true if the recovered rows may have holes. By RocksDB's rules, some recovery modes skip lost records
    /// of a WAL and continue with the next WAL. There is no hole if all crashes kept the order of the writes, or if
    /// no recovery reported that it skipped data.
    fn may_have_holes(&self, in_order: bool) -> bool {
        self.ears.0.load(Ordering::Relaxed) && !in_order
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
            4 => match self.chance.below(4) {
                0 => Survivors::TornLast(self.chance.next()),
                1 => Survivors::Sectors(self.chance.next()),
                2 => Survivors::SizeWithoutData(self.chance.next()),
                _ => Survivors::NamesLost(self.chance.next()),
            },
            _ => Survivors::Random(self.chance.next()),
        };
        self.disk.crash(survivors);
        self.faults.hook().revive();
        let seed = self.chance.next();
        (self.env, self.executor) = world(&self.faults, &self.clock, seed, self.seed, self.story.clone());
        self.tell(format!("the machine stops; left is {survivors:?}"));
        if self.at_length {
            let names = self.env.fs.list(std::path::Path::new("/db")).unwrap_or_default();
            self.tell(format!("{names:?}"));
        }
        survivors
    }

    /// Adds the files and the info log to the story, for the search for the cause of a failure.
    fn tell_log(&self) {
        let dir = std::path::Path::new("/db");
        let names = self.env.fs.list(dir).unwrap_or_default();
        for name in names.iter().filter(|n| n.ends_with(".log")) {
            let bytes = self.env.fs.read_all(&dir.join(name), 1 << 20).unwrap_or_default();
            self.tell(format!("  {name}: {}", testkit::hex::upper(&bytes[..bytes.len().min(400)])));
        }
        for name in &names {
            self.tell(format!("  {name} {:?}", self.env.fs.file_size(&dir.join(name))));
        }
        if let Some(kept) =
            std::env::var_os("IRONSTONE_STORY").map(std::path::PathBuf::from).filter(|dir| dir.is_dir())
        {
            let to = kept.join(format!("{:02}", std::fs::read_dir(&kept).map_or(0, Iterator::count)));
            let _ = std::fs::create_dir(&to);
            for name in &names {
                let bytes = self.env.fs.read_all(&dir.join(name), 1 << 26).unwrap_or_default();
                let _ = std::fs::write(to.join(name), bytes);
            }
            self.tell(format!("  the files are in {}", to.display()));
        }
        let log = names.iter().find(|n| *n == "LOG").map(|n| self.env.fs.read_all(&dir.join(n), 1 << 20));
        if let Some(Ok(log)) = log {
            let text = String::from_utf8_lossy(&log).into_owned();
            text.lines().filter(|l| !l.contains("Options")).for_each(|l| self.tell(l.to_string()));
        }
    }

    fn open(&mut self, mode: Option<&str>) -> Result<(), ironstone::Error> {
        self.db = None;
        if self.at_length {
            self.tell_log();
        }
        // A fork is mostly opened with the options from before the crash.
        let alike = self.options.clone().filter(|_| self.is_branch && self.chance.percent(88));
        let mut options = match alike {
            Some(options) => options,
            None => {
                let (sample, options) = sample::small(&mut self.chance, self.fixed);
                (self.text, self.prefix) = (sample.text, sample.prefix);
                self.options = Some(options.clone());
                options
            }
        };
        if let Some(mode) = mode {
            // The rule of the option covers existing WALs. It does not cover WALs whose names were lost in
            // the crash.
            options.db.track_and_verify_wals = false;
            options.update(&format!("wal_recovery_mode={mode}"))?;
        }
        self.paranoid = options.db.paranoid_checks;
        match self.at_length || self.seed.is_multiple_of(10) {
            // The info log is a file in this case, so `Ears` gets no lines. Assume that data was skipped.
            true => self.ears.0.store(true, Ordering::Relaxed),
            false => options.db.info_log = Some(self.ears.clone()),
        }
        if self.at_length {
            self.tell(format!("  with {mode:?} {}", self.text));
        }
        options.db.env = self.env.clone();
        self.db = Some(Db::open("/db", options)?);
        Ok(())
    }
}

/// The start of info log lines about skipped data, as in RocksDB.
const PASSED_OVER: &str = "(ignoring error) ";

/// A logger that records if replay skipped data in a WAL and continued.
#[derive(Debug, Default)]
struct Ears(AtomicBool);

impl Logger for Ears {
    fn level(&self) -> LogLevel {
        LogLevel::Header
    }

    fn set_level(&self, _level: LogLevel) {}

    fn log(&self, level: LogLevel, message: std::fmt::Arguments<'_>) {
        if level == LogLevel::Warn && message.to_string().starts_with(PASSED_OVER) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn is_heard(&self) -> bool {
        false
    }
}

/// The mean distance between two forks, in calls that change the disk.
const GAPS: [u64; 3] = [3, 6, 12];

/// The largest number of forks in a round.
const FORKS_MAX: u64 = 24;

fn without_numbers(plan: &str) -> String {
    plan.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn left(survivors: Survivors) -> &'static str {
    match survivors {
        Survivors::Synced => "synced",
        Survivors::Everything => "all",
        Survivors::NamesWithoutData => "names",
        Survivors::ZerosForData => "zeros",
        Survivors::SizeWithoutData(_) => "stale",
        Survivors::TornLast(_) => "torn",
        Survivors::Sectors(_) => "sectors",
        Survivors::NamesLost(_) => "lostnames",
        Survivors::Random(_) => "random",
    }
}

/// The machine stops after this number of waiting rounds without a job to run.
const PATIENCE: u64 = 2000;

type Story = Arc<parking_lot::Mutex<String>>;

fn world(
    faults: &Arc<FaultFs>,
    clock: &Arc<ManualClock>,
    seed: u64,
    run: u64,
    story: Story,
) -> (Env, Arc<Inline>) {
    let executor = Arc::new(Inline::new(seed, clock.clone()));
    // If the disk fails permanently, writers may wait forever. The machine then stops. If a call still waits after
    // that, the run hangs.
    let hook = faults.hook().clone();
    executor.on_starved(PATIENCE, move |times| {
        hook.crash();
        if times > 1 {
            let way = std::backtrace::Backtrace::force_capture();
            crate::hang::told(
                &format!(
                    "seed {run}: hung: waits for ever, even though the machine has stopped\n{}{way}",
                    story.lock()
                ),
                &format!("simulate --crash --seed {run}{}", crate::hang::arguments()),
            );
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

/// Returns true if every file keeps its full written content, or every file keeps exactly its synced
/// prefix.
fn keeps_order(survivors: Survivors) -> bool {
    matches!(survivors, Survivors::Synced | Survivors::Everything)
}
