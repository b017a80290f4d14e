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

use ironstone::Db;
use testkit::chance::Chance;

use crate::script::{self, Op, Weights};

mod act;
mod ears;
mod history;
mod judge;
mod machine;
mod plan;
mod recover;
mod setup;
mod story;
mod tape;

use ears::Ears;
use history::History;
use machine::Machine;
use setup::Setup;
use story::Story;
use tape::Place;

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
    let story = Story::new();
    let told = story.clone();
    let run = std::panic::AssertUnwindSafe(move || World::new(seed, told).run(len));
    let outcome = std::panic::catch_unwind(run).unwrap_or_else(|payload| {
        let words = payload.downcast_ref::<String>().cloned();
        let words = words.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_string()));
        Err(format!("panic: {}", words.unwrap_or_default()))
    });
    outcome.map_err(|e| Failure::new(seed, &e, &story.text()))
}

/// A database on a simulated machine, and what the rig knows of the database.
struct World {
    chance: Chance,
    seed: u64,
    machine: Machine,
    setup: Setup,
    /// Records if a recovery skipped data since the last crash of the running database. Crashes during recoveries do
    /// not reset the record.
    ears: Arc<Ears>,
    db: Option<Db>,
    history: History,
    /// The way in which the machine stopped, without numbers.
    shape: String,
    /// True for a fork of another world.
    is_branch: bool,
    /// True if a failing sync may have dropped earlier writes since the last crash.
    forgets: bool,
    ran: Ran,
    story: Story,
}

/// The result of an operation.
enum Ended {
    Well,
    /// A call of the file system failed, and the operation returned an error.
    Refused(ironstone::Error),
}

/// The way in which the database was left when the machine stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// The database was closed, and no call failed.
    Closed,
    /// The database was open, or its close failed.
    Open,
}

impl World {
    fn new(seed: u64, story: Story) -> World {
        let drawn = seed ^ 0x0063_7261_7368;
        World::on(Machine::new(seed, drawn, &story), seed, drawn, story)
    }

    /// Makes the world of the run `run`. It draws from `seed`.
    fn on(machine: Machine, run: u64, seed: u64, story: Story) -> World {
        let mut chance = Chance::new(seed);
        World {
            setup: Setup::draw(&mut chance),
            chance,
            seed: run,
            machine,
            ears: Arc::default(),
            db: None,
            history: History::new(),
            shape: String::new(),
            is_branch: false,
            forgets: false,
            ran: Ran::default(),
            story,
        }
    }

    /// Returns a world whose machine stops at `place`, in the step that started after the state `begun` of the
    /// history.
    fn branch(&mut self, place: &Place, begun: usize) -> World {
        let seed = self.chance.next();
        let machine = self.machine.fork(place, seed, &self.story);
        let mut branch = World::on(machine, self.seed, seed, self.story.clone());
        branch.setup = self.setup.clone();
        branch.history = self.history.fork(begun);
        branch.shape = format!("{} {}", self.shape, without_numbers(&place.what));
        (branch.is_branch, branch.forgets) = (true, self.forgets);
        branch
    }

    /// Runs a step. The tape keeps copies of the disk at drawn calls of the step. Crashes, recovers and compares each
    /// copy.
    fn step<T>(&mut self, act: impl FnOnce(&mut World) -> Result<T, String>) -> Result<T, String> {
        self.history.forget_past();
        let begun = self.history.states.len() - 1;
        let done = act(self)?;
        for place in self.machine.tape.hook().take() {
            let told = self.story.len();
            self.story.tell(format!("  a fork, stopped at call {}, {}:", place.call, place.what));
            let mut branch = self.branch(&place, begun);
            drop(place);
            // The default mode is drawn more often than the other modes.
            let mode = MODES[*branch.chance.pick(&[0, 1, 2, 2, 2, 3])];
            branch.stop(mode, Leave::Open)?;
            let ran = branch.end();
            self.ran.cycles += ran.cycles;
            self.ran.failed_calls += ran.failed_calls;
            self.ran.beside += ran.beside;
            self.ran.hear(ran.hash);
            self.ran.shapes.extend(ran.shapes);
            self.story.cut(told);
        }
        Ok(done)
    }

    /// Turns the machine off.
    fn end(mut self) -> Ran {
        self.machine.stop(self.db.take());
        self.ran.hear(self.machine.tape.hook().hash());
        self.ran
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
        self.story.tell(format!("opens; then: {plan:?}"));
        self.open(None).map_err(|e| format!("open without faults: {e}"))?;
        self.settled()?;
        self.machine.set_plan(&plan)?;
        self.forgets = plan.ends_with(FORGETS);
        self.shape = without_numbers(&plan);
        self.machine.tape.hook().keep(*self.chance.pick(&GAPS), FORKS_MAX);
        self.work(ops)?;
        let left =
            if self.chance.percent(20) && !self.machine.crashed() { self.close()? } else { Leave::Open };
        self.ran.failed_calls += self.machine.fired();
        self.machine.tape.hook().keep(1, 0);
        self.stop(mode, left)
    }

    /// Runs the operations, until the machine stops or many operations failed.
    fn work(&mut self, ops: &[Op]) -> Result<(), String> {
        let mut refused = 0;
        for op in ops {
            if self.machine.crashed() || self.history.states.last().is_some_and(|h| h.len() > 16) {
                break;
            }
            self.ran.operations += 1;
            let ended = self.step(|world| {
                let ended = world.op(op);
                world.machine.executor.fed();
                ended
            })?;
            if self.machine.crashed() && self.machine.fired() == 0 {
                return Err(format!("{op:?} waited for ever though no call failed"));
            }
            if let Ended::Refused(error) = ended {
                if refused == 0 {
                    self.story.tell(format!("first refusal: {op:?}: {error}"));
                }
                refused += 1;
                if self.machine.fired() == 0 {
                    return Err(format!("{op:?} failed though no call did: {error}"));
                }
                if refused > 12 {
                    break;
                }
            }
            self.step(|world| {
                while world.chance.percent(40) && world.machine.env.executor.help() {}
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Closes the database. All data is passed to the system, but a part of it may not be on the disk yet.
    fn close(&mut self) -> Result<Leave, String> {
        let db = self.db.take();
        let closed = self.step(|_| Ok(db.map_or(Ok(()), |db| db.close())))?;
        self.story.tell(format!("closes: {closed:?}"));
        if self.machine.fired() > 0 {
            return Ok(Leave::Open);
        }
        closed.map_err(|e| format!("close: {e}"))?;
        Ok(Leave::Closed)
    }
}

/// The mean distance between two forks, in calls that change the disk.
const GAPS: [u64; 3] = [3, 6, 12];

/// The largest number of forks in a round.
const FORKS_MAX: u64 = 24;

fn without_numbers(plan: &str) -> String {
    plan.chars().filter(|c| !c.is_ascii_digit()).collect()
}
