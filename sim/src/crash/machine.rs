//! The simulated machine: a disk that loses data in a crash, calls that fail, a clock, and one thread for all jobs.

use std::path::Path;
use std::sync::Arc;

use env::clock::ManualClock;
use env::executor::Inline;
use env::fault::FaultFs;
use env::hook::Hooked;
use env::memory::{MemoryFs, Survivors};
use env::{Clock, Env};
use ironstone::Db;
use testkit::chance::Chance;
use testkit::machine::environment;

use super::story::Story;
use super::tape::{Place, Tape};

/// The machine stops after this number of waiting rounds without a job to run.
const PATIENCE: u64 = 2000;

/// A machine that runs one database.
pub(super) struct Machine {
    disk: MemoryFs,
    pub tape: Arc<Hooked<Tape>>,
    pub faults: Arc<FaultFs>,
    pub clock: Arc<ManualClock>,
    pub executor: Arc<Inline>,
    pub env: Env,
    /// The seed of the run, for the report of a run that hangs.
    run: u64,
}

impl Machine {
    /// Returns a machine with an empty disk.
    pub fn new(run: u64, seed: u64, story: &Story) -> Machine {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        Machine::with_disk(MemoryFs::new(clock.clone()), clock, run, seed, story)
    }

    /// Returns a machine with the disk of `place`, at the time of this machine.
    pub fn fork(&self, place: &Place, seed: u64, story: &Story) -> Machine {
        let clock = Arc::new(ManualClock::new(self.clock.now_micros()));
        Machine::with_disk(place.disk.fork(clock.clone()), clock, self.run, seed, story)
    }

    fn with_disk(disk: MemoryFs, clock: Arc<ManualClock>, run: u64, seed: u64, story: &Story) -> Machine {
        let tape = Tape::around(&disk, &clock, seed);
        let faults = FaultFs::wrap_disk(tape.clone(), disk.clone());
        let (env, executor) = start(&faults, &clock, seed, run, story);
        Machine { disk, tape, faults, clock, executor, env, run }
    }

    /// Stops all calls, drops the database, and then drops the jobs that are left. The drop of a database can wait for
    /// a flush. So the jobs are dropped last: until then they run, and their calls fail.
    pub fn stop(&self, db: Option<Db>) {
        self.faults.hook().crash();
        drop(db);
        self.executor.abandon();
    }

    /// Starts the stopped machine again. Of the unsynced data, the disk keeps `survivors`.
    pub fn restart(&mut self, survivors: Survivors, seed: u64, story: &Story) {
        self.disk.crash(survivors);
        self.faults.hook().revive();
        (self.env, self.executor) = start(&self.faults, &self.clock, seed, self.run, story);
    }

    /// Sets the calls that fail from now on.
    pub fn set_plan(&self, plan: &str) -> Result<(), String> {
        self.faults.hook().set_plan(plan).map_err(|e| e.to_string())
    }

    /// Returns the number of calls that failed.
    pub fn fired(&self) -> u64 {
        self.faults.hook().fired()
    }

    /// Returns true if the machine is stopped.
    pub fn crashed(&self) -> bool {
        self.faults.hook().crashed()
    }

    /// Ends all failures: later calls succeed.
    pub fn revive(&self) {
        self.faults.hook().revive();
    }

    /// Returns the names of the files of the database.
    pub fn names(&self) -> Vec<String> {
        self.env.fs.list(Path::new("/db")).unwrap_or_default()
    }
}

fn start(
    faults: &Arc<FaultFs>,
    clock: &Arc<ManualClock>,
    seed: u64,
    run: u64,
    story: &Story,
) -> (Env, Arc<Inline>) {
    let (env, executor) = environment(faults.clone(), clock, seed);
    // If the disk fails permanently, writers may wait forever. The machine then stops. If a call still waits after
    // that, the run hangs.
    let hook = faults.hook().clone();
    let story = story.clone();
    executor.on_starved(PATIENCE, move |times| {
        hook.crash();
        if times > 1 {
            let way = std::backtrace::Backtrace::force_capture();
            crate::hang::told(
                &format!(
                    "seed {run}: hung: waits for ever, even though the machine has stopped\n{}{way}",
                    story.text()
                ),
                &format!("simulate --crash --seed {run}{}", crate::hang::arguments()),
            );
        }
    });
    (env, executor)
}

/// Draws the unsynced data that survives a crash.
pub(super) fn draw_survivors(chance: &mut Chance) -> Survivors {
    match chance.below(8) {
        0 => Survivors::Synced,
        1 => Survivors::Everything,
        2 => Survivors::NamesWithoutData,
        3 => Survivors::ZerosForData,
        4 => match chance.below(4) {
            0 => Survivors::TornLast(chance.next()),
            1 => Survivors::Sectors(chance.next()),
            2 => Survivors::SizeWithoutData(chance.next()),
            _ => Survivors::NamesLost(chance.next()),
        },
        _ => Survivors::Random(chance.next()),
    }
}

/// Returns the word for the survivors in the shape of a crash.
pub(super) fn name_of(survivors: Survivors) -> &'static str {
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

/// Returns true if every file keeps its full written content, or every file keeps exactly its synced
/// prefix.
pub(super) fn keeps_order(survivors: Survivors) -> bool {
    matches!(survivors, Survivors::Synced | Survivors::Everything)
}

#[cfg(test)]
mod tests;
