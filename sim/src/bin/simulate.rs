//! The command that runs the campaigns of the simulator.
//!
//! ```text
//! simulate --random | --crash | --refusals | --calls | --prepared      seeds from --seed on
//! simulate --exhaustive            every crash and failing call of the scenes, then crashes of recoveries
//! simulate --state NAME            repeats one state of `--exhaustive`
//!   --cycles N     ends after N recoveries (--crash), N states (--exhaustive) or N runs (--random)
//!   --seconds S    ends after S seconds; with --cycles, the first limit ends the campaign
//!   --threads N    the number of runs at the same time; default 1
//!   --seed N --len N --failures N --commit TEXT --json FILE
//! ```
//! Each failure is printed with the command that repeats it. The last line is a summary as JSON, which is also
//! written to the file. If a run fails or hangs, the exit code is not 0.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ironstone_sim::{calls, crash, every, hang, prepared, random, refusals};
use parking_lot::Mutex;

/// Seconds after which a run counts as hung. The watcher thread counts its own turns of one second, each by the share of the
/// processors that this process got in the turn ([`hang::Turns`]). So neither a process that the system stops nor a run on a busy
/// machine counts as hung.
const HANG_S: u64 = 60;

/// The seconds between two reports of progress.
const PROGRESS_S: u64 = 10;

#[derive(Clone)]
struct Asked {
    mode: &'static str,
    state: String,
    seed: u64,
    seconds: u64,
    cycles: u64,
    threads: usize,
    len: Option<u64>,
    failures: u64,
    commit: String,
    json: Option<String>,
}

fn asked(mut arguments: lexopt::Parser) -> Result<Asked, lexopt::Error> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        mode: "random",
        state: String::new(),
        seed: 1,
        seconds: 0,
        cycles: 0,
        threads: 1,
        len: None,
        failures: 5,
        commit: "unknown".to_string(),
        json: None,
    };
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("random") => asked.mode = "random",
            Long("crash") => asked.mode = "crash",
            Long("refusals") => asked.mode = "refusals",
            Long("calls") => asked.mode = "calls",
            Long("prepared") => asked.mode = "prepared",
            Long("exhaustive") => asked.mode = "exhaustive",
            Long("state") => (asked.mode, asked.state) = ("state", arguments.value()?.string()?),
            Long("commit") => asked.commit = arguments.value()?.string()?,
            Long("json") => asked.json = Some(arguments.value()?.string()?),
            Long("seed") => asked.seed = arguments.value()?.parse()?,
            Long("seconds") => asked.seconds = arguments.value()?.parse()?,
            Long("cycles") => asked.cycles = arguments.value()?.parse()?,
            Long("threads") => asked.threads = arguments.value()?.parse()?,
            Long("len") => asked.len = Some(arguments.value()?.parse()?),
            Long("failures") => asked.failures = arguments.value()?.parse()?,
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(asked)
}

impl Asked {
    /// Returns the time at which no new run starts. Without a time and a number, this is the start, so only one run
    /// takes place.
    fn until(&self, start: Instant) -> Option<Instant> {
        (self.seconds > 0 || self.cycles == 0).then(|| start + Duration::from_secs(self.seconds))
    }

    fn tell(&self, json: &str) -> bool {
        println!("{json}");
        let Some(path) = &self.json else { return true };
        let written = std::fs::File::create(path).and_then(|mut f| writeln!(f, "{json}"));
        written.map_err(|error| eprintln!("{path}: {error}")).is_ok()
    }
}

fn main() -> ExitCode {
    let asked = match asked(lexopt::Parser::from_env()) {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!(
                "{error}\nusage: simulate [--random|--crash|--refusals|--calls|--prepared|--exhaustive|--state NAME] [--cycles N] [--seconds S] [--threads N] \
                 [--seed N] [--len N] [--failures N] [--commit TEXT] [--json FILE]"
            );
            return ExitCode::from(2);
        }
    };
    let start = Instant::now();
    let (json, failed) = match asked.mode {
        "state" => {
            return match every::replay(&asked.state) {
                Ok(words) => {
                    println!("{words}");
                    ExitCode::SUCCESS
                }
                Err(words) => {
                    println!("FAILED {}: {words}", asked.state);
                    ExitCode::FAILURE
                }
            };
        }
        "exhaustive" => exhaustive(&asked, start),
        _ => Seeds::run(&asked, start),
    };
    let told = asked.tell(&json);
    match (told, failed) {
        (false, _) => ExitCode::from(2),
        (true, 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn exhaustive(asked: &Asked, start: Instant) -> (String, u64) {
    let so_far = Arc::new(Mutex::new(every::Report::new(asked.seed)));
    let (known, by) = (so_far.clone(), asked.clone());
    hang::last_words(move || {
        let mut report = known.lock().clone();
        *report.failures.entry("hung").or_default() += 1;
        by.tell(&report.json(&by.commit, start.elapsed().as_secs_f64()));
    });
    let campaign = every::Asked {
        seed: asked.seed,
        until: asked.until(start),
        states: asked.cycles,
        threads: asked.threads,
        failures_max: asked.failures,
    };
    let told_s = AtomicU64::new(0);
    let report = every::campaign(&campaign, &|what, report| {
        let spent = start.elapsed().as_secs_f64();
        *so_far.lock() = report.clone();
        if spent < (told_s.load(Ordering::Relaxed) + PROGRESS_S) as f64 {
            return;
        }
        told_s.store(spent as u64, Ordering::Relaxed);
        println!(
            "{spent:6.1} s  {what}: {} states, {} opened, {} failed",
            report.states,
            report.opened,
            report.failed()
        );
    });
    (report.json(&asked.commit, start.elapsed().as_secs_f64()), report.failed())
}

/// Returns the default length of a run: operations, or rounds that end with a crash (`--prepared`).
fn length(mode: &str) -> u64 {
    match mode {
        "crash" => 40,
        "prepared" => 4,
        _ => 400,
    }
}

/// The runs of seeds on all threads.
struct Seeds {
    asked: Asked,
    start: Instant,
    len: usize,
    next: AtomicU64,
    over: AtomicBool,
    /// For each thread: the seed that it runs (0: none), and 1 plus the sum of the weights of the watcher's turns since the start of the
    /// seed. The sum is 0 between two seeds.
    at_work: Vec<(AtomicU64, AtomicU64)>,
    sums: Mutex<Sums>,
}

#[derive(Clone, Default)]
struct Sums {
    runs: u64,
    twice: u64,
    operations: u64,
    cycles: u64,
    failed_calls: u64,
    /// The sum of `crash::Ran::beside`.
    written_beside: u64,
    shapes: BTreeSet<u64>,
    /// The failures by kind.
    failures: BTreeMap<&'static str, u64>,
    failed: Vec<u64>,
    told_s: u64,
}

impl Seeds {
    fn run(asked: &Asked, start: Instant) -> (String, u64) {
        let seeds = Arc::new(Seeds {
            asked: asked.clone(),
            start,
            len: asked.len.unwrap_or(length(asked.mode)) as usize,
            next: AtomicU64::new(asked.seed),
            over: AtomicBool::new(false),
            at_work: (0..asked.threads.max(1)).map(|_| Default::default()).collect(),
            sums: Mutex::default(),
        });
        let (watcher, last) = (seeds.clone(), seeds.clone());
        hang::set_arguments(format!(" --len {}", seeds.len));
        hang::last_words(move || {
            last.sums.lock().failures.entry("hung").and_modify(|n| *n += 1).or_insert(1);
            last.asked.tell(&last.json());
        });
        std::thread::spawn(move || watcher.watch());
        std::thread::scope(|scope| {
            (0..seeds.at_work.len()).for_each(|at| {
                drop(scope.spawn({
                    let seeds = &seeds;
                    move || seeds.work(at)
                }))
            })
        });
        let failures = seeds.sums.lock().failures.values().sum();
        seeds.progress(true);
        (seeds.json(), failures)
    }

    fn again(&self, seed: u64) -> String {
        format!("simulate --{} --seed {seed} --len {}", self.asked.mode, self.len)
    }

    fn work(&self, at: usize) {
        let until = self.asked.until(self.start);
        let (current, turns) = &self.at_work[at];
        let mut first = true;
        // Run at least one seed: a command without a count or a time runs one seed.
        while at == 0 && first
            || !self.over.load(Ordering::Relaxed) && until.is_none_or(|until| Instant::now() < until)
        {
            first = false;
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            turns.store(1, Ordering::Relaxed);
            current.store(seed, Ordering::Relaxed);
            let outcome = match self.asked.mode {
                "crash" => crash::seed(seed, self.len).map_err(|failure| (failure.kind, failure.words)),
                "refusals" => refusals::seed(seed, self.len)
                    .map(|operations| crash::Ran { operations, ..crash::Ran::default() })
                    .map_err(|words| ("wrong", words)),
                "calls" => calls::seed(seed, self.len)
                    .map(|ran| crash::Ran { operations: ran.operations, ..crash::Ran::default() })
                    .map_err(|words| ("wrong", words)),
                "prepared" => prepared::seed(seed, self.len as u64)
                    .map(|cycles| crash::Ran { cycles, ..crash::Ran::default() })
                    .map_err(|words| ("wrong", words)),
                _ => random::seed(seed, self.len)
                    .map(|ran| crash::Ran { operations: ran.operations, ..crash::Ran::default() })
                    .map_err(|words| ("wrong", words)),
            };
            turns.store(0, Ordering::Relaxed);
            self.note(seed, outcome);
            self.progress(false);
        }
    }

    fn note(&self, seed: u64, outcome: Result<crash::Ran, (&'static str, String)>) {
        let sums = &mut *self.sums.lock();
        sums.runs += 1;
        sums.twice += u64::from(seed.is_multiple_of(100));
        match outcome {
            Ok(ran) => {
                sums.operations += ran.operations;
                sums.cycles += ran.cycles;
                sums.failed_calls += ran.failed_calls;
                sums.written_beside += ran.beside;
                sums.shapes.extend(ran.shapes);
            }
            Err((kind, words)) => {
                *sums.failures.entry(kind).or_default() += 1;
                sums.failed.push(seed);
                println!("FAILED {words}\nrun it again: {}\n", self.again(seed));
            }
        }
        let done = if self.asked.mode == "crash" { sums.cycles } else { sums.runs };
        let enough = self.asked.cycles > 0 && done >= self.asked.cycles;
        if enough || sums.failed.len() as u64 >= self.asked.failures {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    fn progress(&self, now: bool) {
        let sums = &mut *self.sums.lock();
        let spent = self.start.elapsed();
        if !now && spent.as_secs() < sums.told_s + PROGRESS_S {
            return;
        }
        sums.told_s = spent.as_secs();
        let spent = spent.as_secs_f64();
        println!(
            "{spent:6.1} s  {}: {} runs, {} operations, {} recoveries ({:.0} a second), {} failures",
            self.asked.mode,
            sums.runs,
            sums.operations,
            sums.cycles,
            sums.cycles as f64 / spent,
            sums.failed.len()
        );
    }

    fn watch(&self) {
        let mut counted = hang::Turns::default();
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let value = counted.value();
            for (seed, turns) in &self.at_work {
                let is_at_work = |turns: u64| (turns > 0).then_some(turns + value);
                let taken = turns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_at_work).unwrap_or(0);
                if taken > HANG_S * hang::FULL_TURN {
                    let seed = seed.load(Ordering::Relaxed);
                    hang::told(
                        &format!(
                            "seed {seed}: hung: no end after the equivalent of {HANG_S} s without waits for a processor"
                        ),
                        &self.again(seed),
                    );
                }
            }
        }
    }

    fn json(&self) -> String {
        let sums = self.sums.lock().clone();
        let of = |kind: &str| sums.failures.get(kind).copied().unwrap_or(0);
        format!(
            "{{\"mode\":\"{}\",\"commit\":\"{}\",\"seeds\":[{},{}],\"len\":{},\"threads\":{},\"seconds\":{:.1},\"runs\":{},\
             \"run_twice\":{},\"operations\":{},\"cycles\":{},\"plan_shapes\":{},\"failed_calls\":{},\"written_beside\":{},\"lost\":{},\
             \"refused\":{},\"wrong\":{},\"panics\":{},\"hangs\":{},\"failures\":{},\"failed\":{:?}}}",
            self.asked.mode,
            self.asked.commit,
            self.asked.seed,
            self.next.load(Ordering::Relaxed) - 1,
            self.len,
            self.at_work.len(),
            self.start.elapsed().as_secs_f64(),
            sums.runs,
            sums.twice,
            sums.operations,
            sums.cycles,
            sums.shapes.len(),
            sums.failed_calls,
            sums.written_beside,
            of("lost"),
            of("refused"),
            of("wrong"),
            of("panicked"),
            of("hung"),
            sums.failures.values().sum::<u64>(),
            sums.failed
        )
    }
}
