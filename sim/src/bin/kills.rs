//! `kills`: kills a process that writes to the file system of the machine, and checks that all acknowledged writes
//! exist.
//!
//! ```text
//!  kills [--seconds S] [--kills N] [--seed N] [--threads N] [--scratch DIR]
//! ```
//! A child process does the steps of a seed and reports each finished step. The child kills itself
//! (SIGKILL) at the Nth call that changes the disk: before the call, after the call, or with a part of an
//! append written. Or the parent kills the child after a number of acknowledged steps. Some kills come
//! during the recovery from the previous kill. Then the parent opens the database and compares every read
//! with the acknowledged steps: each acknowledged step is present, and a step in flight is present whole or
//! absent. The second column family has timestamps: in SST files, only in memory, or turned on and off by the opens. The last
//! two lines of output are a sentence and the same figures as JSON.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use env::Env;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use ironstone_sim::life::{self, Step, World};
use ironstone_sim::sample::Timestamps;
use parking_lot::Mutex;
use testkit::chance::Chance;

/// The number of steps of one child.
const STEPS: usize = 250;
/// The number of kills in one directory.
const CYCLES: u64 = 25;
/// The timestamps of the second column family. A child gets an index of this table.
const TIMESTAMPS: [Timestamps; 4] =
    [Timestamps::Persisted, Timestamps::InMemory, Timestamps::On, Timestamps::Off];

#[derive(Clone, Debug)]
struct Settings {
    seed: u64,
    seconds: u64,
    kills: u64,
    threads: u64,
    scratch: PathBuf,
    child: Option<Child>,
}

/// The arguments of a child: directory, seeds, and the call at which the child kills itself.
#[derive(Clone, Debug, Default)]
struct Child {
    dir: PathBuf,
    /// The seed of the steps.
    seed: u64,
    /// The seed of the options.
    options: u64,
    steps: usize,
    /// The number of the call at which the child kills itself, from 1. 0: the child never kills itself.
    at: u64,
    how: u64,
    /// The index of the timestamps in [`TIMESTAMPS`].
    timestamps: usize,
}

impl Child {
    fn timestamps(&self) -> Timestamps {
        TIMESTAMPS.get(self.timestamps).copied().unwrap_or(Timestamps::Persisted)
    }

    /// Draws the timestamps of the next open, and returns their index.
    fn draw_timestamps(&mut self, chance: &mut Chance) -> usize {
        let next = self.timestamps().next(chance);
        self.timestamps = TIMESTAMPS.iter().position(|known| *known == next).unwrap_or(0);
        self.timestamps
    }
}

fn main() -> ExitCode {
    let settings = match parse(lexopt::Parser::from_env()) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{error}");
            eprintln!("usage: kills [--seconds S] [--kills N] [--seed N] [--threads N] [--scratch DIR]");
            return ExitCode::from(2);
        }
    };
    match &settings.child {
        Some(child) => live(child),
        None => campaign(&settings),
    }
}

fn parse(mut arguments: lexopt::Parser) -> Result<Settings, lexopt::Error> {
    use lexopt::prelude::*;
    let mut settings = Settings {
        seed: 1,
        seconds: 10,
        kills: u64::MAX,
        threads: 2,
        scratch: std::env::temp_dir(),
        child: None,
    };
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("seed") => settings.seed = arguments.value()?.parse()?,
            Long("seconds") => settings.seconds = arguments.value()?.parse()?,
            Long("kills") => settings.kills = arguments.value()?.parse()?,
            Long("threads") => settings.threads = arguments.value()?.parse()?,
            Long("scratch") => settings.scratch = arguments.value()?.into(),
            Long("child") => {
                settings.child = Some(Child {
                    dir: arguments.value()?.into(),
                    seed: arguments.value()?.parse()?,
                    options: arguments.value()?.parse()?,
                    steps: arguments.value()?.parse()?,
                    at: arguments.value()?.parse()?,
                    how: arguments.value()?.parse()?,
                    timestamps: arguments.value()?.parse()?,
                });
            }
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(settings)
}

/// Counts the file-system calls that change the disk, and kills its process at the chosen call.
#[derive(Debug)]
struct Killer {
    at: u64,
    how: u64,
    calls: AtomicU64,
    /// True during the call after which the process kills itself.
    armed: AtomicBool,
}

fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // Wait for the signal.
    loop {
        std::thread::park();
    }
}

impl Hook for Killer {
    fn name(&self) -> &'static str {
        "killer"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        if !call.op.is_write() || self.calls.fetch_add(1, Ordering::SeqCst) + 1 != self.at {
            return Verdict::Go;
        }
        match self.how {
            0 => die(),
            1 if call.op == Op::Append && call.bytes > 1 => {
                self.armed.store(true, Ordering::SeqCst);
                let part = 1 + self.at as usize * 7919 % (call.bytes - 1);
                Verdict::Part(
                    part,
                    Some(base::Error::io("append", call.path, std::io::Error::other("killed"))),
                )
            }
            _ => {
                self.armed.store(true, Ordering::SeqCst);
                Verdict::Go
            }
        }
    }

    fn after(&self, call: &Call<'_>, _error: Option<&base::Error>) {
        if call.op.is_write() && self.armed.load(Ordering::SeqCst) {
            die();
        }
    }
}

/// Runs the child: opens, runs its steps, closes. Prints `O` after the open, a number after each step, and `E` with a
/// message after an error.
fn live(child: &Child) -> ExitCode {
    let mut env = Env::posix();
    if child.at > 0 {
        let (calls, armed) = (AtomicU64::new(0), AtomicBool::new(false));
        let killer = Arc::new(Killer { at: child.at, how: child.how, calls, armed });
        env.fs = Arc::new(Hooked::new(env.fs.clone(), killer));
    }
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    let done = (|| {
        let (db, families) = life::open(&child.dir, &life::options(child.options), child.timestamps(), env)?;
        say("O".to_string());
        for (i, step) in life::steps(child.seed, child.steps).iter().enumerate() {
            life::take(&db, &families, step)?;
            say((i + 1).to_string());
        }
        db.close()
    })();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format!("E {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The result of a child.
struct Fate {
    /// The number of acknowledged steps.
    done: usize,
    killed: bool,
    error: Option<String>,
}

fn run(child: &Child, kill_after: Option<usize>) -> std::io::Result<Fate> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--child").arg(&child.dir);
    for number in [child.seed, child.options, child.steps as u64, child.at, child.how] {
        command.arg(number.to_string());
    }
    command.arg(child.timestamps.to_string());
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut fate = Fate { done: 0, killed: false, error: None };
    if let Some(out) = process.stdout.take() {
        for line in BufReader::new(out).lines() {
            let line = line?;
            match line.strip_prefix("E ") {
                Some(words) => fate.error = Some(words.to_string()),
                None => fate.done = line.parse().unwrap_or(fate.done),
            }
            if kill_after.is_some_and(|n| fate.done >= n) {
                process.kill()?;
            }
        }
    }
    let status = process.wait()?;
    fate.killed = status.signal() == Some(9);
    if !fate.killed && !status.success() && fate.error.is_none() {
        fate.error = Some(format!("ended with {status}"));
    }
    Ok(fate)
}

#[derive(Debug, Default)]
struct Counts {
    kills: AtomicU64,
    at_calls: AtomicU64,
    torn: AtomicU64,
    in_recovery: AtomicU64,
    at_times: AtomicU64,
    steps: AtomicU64,
    in_flight_kept: AtomicU64,
    openings: AtomicU64,
    failures: Mutex<Vec<String>>,
}

/// Kills, recovers and compares in one directory, several times.
fn directory(dir: &Path, seed: u64, counts: &Counts, more: &dyn Fn() -> bool) -> Result<(), String> {
    let chance = &mut Chance::new(seed);
    let stamps = &mut Chance::new(seed ^ 0x7374_616d);
    let mut timestamps = *stamps.pick(&[0, 0, 1, 2]);
    let mut world = World::default();
    for cycle in 0..CYCLES {
        if !more() {
            return Ok(());
        }
        let by_time = chance.percent(35);
        let calls = if chance.percent(30) { 60 } else { 500 };
        let mut child = Child {
            dir: dir.to_path_buf(),
            seed: chance.next(),
            options: chance.next(),
            steps: STEPS,
            at: if by_time { 0 } else { 1 + chance.below(calls) },
            how: chance.below(3),
            timestamps,
        };
        child.draw_timestamps(stamps);
        let after = by_time.then(|| 1 + chance.below(STEPS as u64) as usize);
        let fate = run(&child, after).map_err(|e| e.to_string())?;
        let told =
            |what: &str| format!("cycle {cycle} of {child:?}, {} steps acknowledged: {what}", fate.done);
        // If the child wrote a part of an append before the kill, the error can be printed before the signal arrives.
        if let Some(error) = fate.error.as_ref().filter(|e| !e.contains("killed")) {
            return Err(told(error));
        }
        let steps = life::steps(child.seed, STEPS);
        let mut durable = fate.done;
        if life::gathers(&life::options(child.options)) && fate.killed {
            let safe = |step: &Step| matches!(step, Step::FlushWal(_) | Step::Write { sync: true, .. });
            durable = steps[..fate.done].iter().rposition(safe).map_or(0, |i| i + 1);
        }
        let attempted = if fate.killed { (fate.done + 1).min(STEPS) } else { fate.done };
        if fate.killed {
            counts.kills.fetch_add(1, Ordering::Relaxed);
            let kind = match (by_time, child.how) {
                (true, _) => &counts.at_times,
                (false, 1) => &counts.torn,
                _ => &counts.at_calls,
            };
            kind.fetch_add(1, Ordering::Relaxed);
        }
        let again = child.clone();
        let told =
            |what: String| format!("cycle {cycle} of {again:?}, {} steps acknowledged: {what}", fate.done);
        // Kill up to two recoveries too.
        for _ in 0..chance.below(3) {
            (child.steps, child.options) = (0, chance.next());
            child.draw_timestamps(stamps);
            (child.at, child.how) = (1 + chance.below(40), chance.below(3));
            let fate = run(&child, None).map_err(|e| e.to_string())?;
            if let Some(error) = fate.error.filter(|e| !e.contains("killed")) {
                return Err(told(format!("the recovery {child:?}: {error}")));
            }
            if fate.killed {
                counts.kills.fetch_add(1, Ordering::Relaxed);
                counts.in_recovery.fetch_add(1, Ordering::Relaxed);
            }
        }
        let text = life::options(chance.next());
        timestamps = child.draw_timestamps(stamps);
        let (db, families) = life::open(dir, &text, child.timestamps(), Env::posix())
            .map_err(|e| told(format!("refused: {e}")))?;
        counts.openings.fetch_add(1, Ordering::Relaxed);
        let found = life::read(&families).map_err(&told)?;
        let kept = life::settle(&world, &steps, durable, attempted, &found)
            .map_err(|e| told(format!("lost: {e}")))?;
        counts.in_flight_kept.fetch_add(u64::from(kept > fate.done), Ordering::Relaxed);
        counts.steps.fetch_add(kept as u64, Ordering::Relaxed);
        if chance.percent(20) {
            db.verify_checksum().map_err(|e| told(e.to_string()))?;
        }
        db.close().map_err(|e| told(format!("close: {e}")))?;
        world = found;
    }
    Ok(())
}

fn campaign(settings: &Settings) -> ExitCode {
    let start = Instant::now();
    let counts = Counts::default();
    let more = || {
        start.elapsed() < Duration::from_secs(settings.seconds)
            && counts.kills.load(Ordering::Relaxed) < settings.kills
            && counts.failures.lock().len() < 3
    };
    std::thread::scope(|scope| {
        for lane in 0..settings.threads {
            let (counts, more) = (&counts, &more);
            scope.spawn(move || {
                let mut seed = settings.seed + lane;
                while more() {
                    let dir = tempfile::Builder::new().prefix("kills-").tempdir_in(&settings.scratch);
                    let outcome = match &dir {
                        Ok(dir) => directory(&dir.path().join("db"), seed, counts, more),
                        Err(error) => Err(error.to_string()),
                    };
                    if let Err(words) = outcome {
                        let left = dir.map(|d| d.keep().display().to_string()).unwrap_or_default();
                        println!(
                            "FAILED seed {seed}: {words}\nleft in {left}\nrun it again (kills by time fall elsewhere): kills \
                             --threads 1 --kills {CYCLES} --seconds 60 --seed {seed}\n"
                        );
                        counts.failures.lock().push(words);
                    }
                    seed += settings.threads;
                }
            });
        }
    });
    let spent = start.elapsed().as_secs_f64();
    let n = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let failures = counts.failures.lock();
    let lost = failures.iter().filter(|f| f.contains("lost: ")).count();
    let refused = failures.iter().filter(|f| f.contains("refused: ")).count();
    println!(
        "kills: {} processes killed ({} at a call, {} in the middle of an append, {} at a time, {} in recovery), {} steps \
         checked over {} openings, {} in flight were kept whole; {lost} lost, {refused} refused, {} other failures in {spent:.1} s",
        n(&counts.kills),
        n(&counts.at_calls),
        n(&counts.torn),
        n(&counts.at_times),
        n(&counts.in_recovery),
        n(&counts.steps),
        n(&counts.openings),
        n(&counts.in_flight_kept),
        failures.len() - lost - refused
    );
    println!(
        "{{\"test\":\"kills\",\"kills\":{},\"at_call\":{},\"torn\":{},\"at_time\":{},\"in_recovery\":{},\"steps\":{},\
         \"lost\":{lost},\"refused\":{refused},\"failures\":{},\"seconds\":{spent:.1},\"first_seed\":{}}}",
        n(&counts.kills),
        n(&counts.at_calls),
        n(&counts.torn),
        n(&counts.at_times),
        n(&counts.in_recovery),
        n(&counts.steps),
        failures.len(),
        settings.seed
    );
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
