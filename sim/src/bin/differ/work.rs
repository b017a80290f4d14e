//! Runs seeds in child processes, watches the processes, and counts the results.

use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use peer::Library;
use testkit::chance::Chance;

use crate::Settings;
use crate::pair::Pair;
use crate::script::{self, Op};
use crate::store::Side;
use crate::transact;
use crate::watch;

/// The watch of a worker reports a late operation. A worker that is silent for this time after the report counts as hung. Only the watch decides that an operation is
/// late, because it counts the time in which the worker ran. A whole seed can take longer if the disk syncs small files slowly.
const AFTER_LATE: Duration = Duration::from_secs(15);
/// A worker that is silent for this time counts as hung, even if its watch has reported nothing: the watch may have stopped.
const SILENT_MAX: Duration = Duration::from_secs(600);
/// How often a worker reports between two operations that it is alive.
const BEAT: Duration = Duration::from_secs(5);
/// The longest part of a turn of the campaign that counts as time. A longer turn means that the system stopped the processes as a
/// whole.
const TURN_MAX: Duration = Duration::from_secs(5);
/// The time between two reports of progress.
const PROGRESS: Duration = Duration::from_secs(10);
/// The largest number of seeds that may end in a call of RocksDB that never returns, or in a crash of RocksDB. `rocksdb_flush_cfs` and
/// `rocksdb_compact_range_cf_opt` of RocksDB 11.8.1 can wait forever in `WaitForFlushMemTables` while all background threads are idle, and
/// a thread `rocksdb:low` can crash with signal 11. Such a seed is reported and not compared. If more than this number of seeds and more
/// than one seed in twenty end so, the campaign fails, because it has compared too few answers.
const PEER_FAULTS_MAX: u64 = 3;
/// The largest number of runs to reduce one script.
const TRIES: usize = 400;

/// Reports to the parent that this process is alive.
pub struct Beat(Instant);

impl Beat {
    fn begin() -> Self {
        Beat(Instant::now())
    }

    /// Reports to the parent once in [`BEAT`]. Called after each operation.
    pub fn tell(&mut self) {
        if self.0.elapsed() >= BEAT {
            self.0 = Instant::now();
            tell("B");
        }
    }
}

struct Failure {
    words: String,
    options: String,
    at: usize,
}

/// The result of a seed.
#[derive(Clone, Copy, Default)]
struct Ran {
    operations: u64,
    openings: u64,
}

fn run(sides: &[Side; 2], settings: &Settings, seed: u64, ops: &[Op]) -> Result<Ran, Failure> {
    let dir = tempfile::Builder::new().prefix("differ-").tempdir_in(&settings.scratch);
    let dir = dir.map_err(|e| Failure { words: e.to_string(), options: String::new(), at: 0 })?;
    let mut at = 0;
    let mut options = String::new();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        if let (true, Side::Theirs(library)) = (settings.transactions, &sides[1]) {
            let operations = transact::run(library, dir.path(), seed, settings.len, &mut Beat::begin())?;
            return Ok(Ran { operations, openings: 1 });
        }
        let mut pair = Pair::new(sides.clone(), dir.path(), seed, settings.timestamps)?;
        let mut ran = Ran::default();
        // Seed 0 is not a random seed: it runs the tables.
        let mut done = if seed == 0 { pair.tables() } else { Ok(()) };
        let mut beat = Beat::begin();
        for op in ops.iter().filter(|_| seed > 0) {
            at += 1;
            ran.operations += script::weight(op);
            watch::begin(at, Some(op));
            done = pair.step(op);
            beat.tell();
            if done.is_err() {
                break;
            }
        }
        watch::begin(0, None);
        done = done.and_then(|()| pair.end());
        if done.is_err() {
            options = pair.options();
        }
        ran.openings = pair.openings;
        done.map(|()| ran)
    }));
    let outcome = outcome.unwrap_or_else(|payload| {
        let words = payload.downcast_ref::<&str>().map(|s| (*s).to_string());
        Err(format!(
            "panic: {}",
            words.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
        ))
    });
    outcome.map_err(|words| Failure { words, options, at })
}

/// Runs seeds in a worker process: the number of the worker, then every n-th seed, until the time is over. Prints `S
/// seed` before a seed, `R operations openings` after it, and `F` with a description after a failure.
pub fn worker(settings: &Settings, number: u64) -> ExitCode {
    let library = match Library::load(&settings.peer) {
        Ok(library) => library,
        Err(words) => {
            println!("F cannot load the library: {words}");
            return ExitCode::FAILURE;
        }
    };
    let sides = [Side::Ours, Side::Theirs(library)];
    watch::start(tell);
    peer::report_crashes(&settings.peer);
    let start = Instant::now();
    let timed = settings.seconds > 0 || settings.operations == 0;
    let mut done = 0;
    let mut seed = settings.seed + number;
    loop {
        tell(&format!("S {seed}"));
        let ops = script::draw(&mut Chance::new(seed), settings.len);
        match run(&sides, settings, seed, &ops) {
            Ok(ran) => {
                done += ran.operations;
                tell(&format!("R {} {}", ran.operations, ran.openings));
            }
            Err(failure) => {
                let mut words = format!(
                    "F seed {seed}, operation {}: {}\n{}",
                    failure.at, failure.words, failure.options
                );
                if settings.reduce && !settings.transactions {
                    let sort =
                        |words: &str| words.split(|c: char| !c.is_alphabetic()).next().map(str::to_string);
                    let kind = sort(&failure.words);
                    let shorter = ironstone_sim::script::reduce(
                        ops[..failure.at.min(ops.len())].to_vec(),
                        TRIES,
                        |ops| {
                            // Show the parent that this process is alive: the reduction takes longer than a run.
                            tell("B");
                            run(&sides, settings, seed, ops).err().is_some_and(|f| sort(&f.words) == kind)
                        },
                    );
                    let last = run(&sides, settings, seed, &shorter).err();
                    words.push_str(&format!(
                        "cut down to {}: {}\n",
                        shorter.len(),
                        last.map(|f| f.words).unwrap_or_default()
                    ));
                    shorter.iter().for_each(|op| words.push_str(&format!("  {op:?}\n")));
                }
                tell(words.trim_end());
            }
        }
        seed += settings.threads;
        let enough = settings.operations > 0 && done >= settings.operations;
        if enough || (timed && start.elapsed() >= Duration::from_secs(settings.seconds)) {
            return ExitCode::SUCCESS;
        }
    }
}

fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    // If the parent has ended, the next line ends this process.
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}

struct Worker {
    child: Child,
    lines: Receiver<String>,
    seed: u64,
    /// The time since the last sign of life.
    silent: Duration,
    /// The value of `silent` at the line of the watch. `None` without such a line since the last sign of life.
    late_since: Option<Duration>,
    done: bool,
    /// True if the watch of the worker said that a call of RocksDB makes no progress.
    peer_hangs: bool,
    /// The name of the thread of RocksDB that crashed.
    peer_crash: Option<String>,
    /// The number of operations that this worker and its predecessors still have to compare.
    share: u64,
}

impl Worker {
    /// Counts a turn of the campaign without a sign of life.
    fn pass(&mut self, turn: Duration) {
        self.silent += turn.min(TURN_MAX);
    }

    /// Returns true if the worker has no progress any more.
    fn is_hung(&self) -> bool {
        self.silent >= self.late_since.map_or(SILENT_MAX, |late| late + AFTER_LATE)
    }

    /// Takes the sign of life of a line. The line of the watch says that an operation does not end: it is no sign of life.
    fn hear(&mut self, line: &str) {
        if line.starts_with("H ") {
            self.late_since = Some(self.silent);
        } else {
            (self.silent, self.late_since) = (Duration::ZERO, None);
        }
    }
}

fn spawn(settings: &Settings, number: u64, seed: u64, left: u64, share: u64) -> std::io::Result<Worker> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--peer").arg(&settings.peer).arg("--scratch").arg(&settings.scratch);
    for (name, value) in [
        ("--seed", seed - number),
        ("--seconds", left),
        ("--operations", share),
        ("--len", settings.len as u64),
        ("--threads", settings.threads),
        ("--worker", number),
    ] {
        command.arg(name).arg(value.to_string());
    }
    if !settings.reduce {
        command.arg("--no-reduce");
    }
    if settings.timestamps {
        command.arg("--timestamps");
    }
    if settings.transactions {
        command.arg("--transactions");
    }
    listen(command, seed, share)
}

/// Starts a worker, and a thread that reads its lines.
fn listen(mut command: Command, seed: u64, share: u64) -> std::io::Result<Worker> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let (send, lines) = channel();
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
    }
    Ok(Worker {
        child,
        lines,
        seed,
        silent: Duration::ZERO,
        late_since: None,
        done: false,
        peer_hangs: false,
        peer_crash: None,
        share,
    })
}

#[derive(Default)]
struct Counts {
    seeds: u64,
    operations: u64,
    openings: u64,
    failures: u64,
    failed_seeds: Vec<u64>,
    /// The seeds in which a call of RocksDB did not end.
    peer_hangs: Vec<u64>,
    /// The seeds in which a thread of RocksDB crashed.
    peer_crashes: Vec<u64>,
}

/// Runs workers until the time is over, and prints their findings.
pub fn campaign(settings: &Settings) -> ExitCode {
    let start = Instant::now();
    let left = || settings.seconds.saturating_sub(start.elapsed().as_secs());
    let replay = |seed: u64| {
        format!(
            "run it again: differ --peer {} --threads 1 --len {} --seed {seed}{}{}",
            settings.peer.display(),
            settings.len,
            if settings.timestamps { " --timestamps" } else { "" },
            if settings.transactions { " --transactions" } else { "" }
        )
    };
    let mut counts = Counts::default();
    let mut workers = Vec::new();
    for number in 0..settings.threads {
        let share = settings.operations.div_ceil(settings.threads);
        match spawn(settings, number, settings.seed + number, settings.seconds, share) {
            Ok(worker) => workers.push(worker),
            Err(error) => {
                eprintln!("differ: {error}");
                return ExitCode::from(2);
            }
        }
    }
    let mut told = Instant::now();
    let mut turn = Instant::now();
    while workers.iter().any(|w| !w.done) && counts.failures < settings.failures {
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            eprintln!(
                "differ: {} operations, {} seeds, {} differences after {} s",
                counts.operations,
                counts.seeds,
                counts.failures,
                start.elapsed().as_secs()
            );
        }
        let took = std::mem::replace(&mut turn, Instant::now()).elapsed();
        for (number, worker) in workers.iter_mut().enumerate().filter(|(_, w)| !w.done) {
            worker.pass(took);
            match worker.lines.recv_timeout(Duration::from_millis(20)) {
                Ok(line) => {
                    worker.hear(&line);
                    take(&line, worker, &mut counts, &replay);
                    while let Ok(line) = worker.lines.try_recv() {
                        worker.hear(&line);
                        take(&line, worker, &mut counts, &replay);
                    }
                }
                Err(RecvTimeoutError::Timeout) if !worker.is_hung() => {}
                Err(why) => {
                    if end(worker, why, &mut counts, &replay) {
                        let more = if settings.seconds > 0 { left() > 0 } else { worker.share > 0 };
                        let seed = worker.seed + settings.threads;
                        if more && let Ok(next) = spawn(settings, number as u64, seed, left(), worker.share) {
                            *worker = next;
                        }
                    }
                }
            }
        }
    }
    for worker in &mut workers {
        if !worker.done {
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
    }
    report(settings, counts, start.elapsed().as_secs_f64())
}

/// Ends a worker that does not answer or whose process has ended. Returns true if the worker failed: then another worker
/// takes its share.
fn end(
    worker: &mut Worker,
    why: RecvTimeoutError,
    counts: &mut Counts,
    replay: &dyn Fn(u64) -> String,
) -> bool {
    let hung = why == RecvTimeoutError::Timeout;
    if hung {
        let _ = worker.child.kill();
    }
    let status = worker.child.wait();
    worker.done = true;
    let bad = status.as_ref().is_ok_and(|s| !s.success());
    if !hung && !bad {
        return false;
    }
    let (verdict, what) = match (hung, &worker.peer_crash) {
        (true, _) if worker.peer_hangs => {
            counts.peer_hangs.push(worker.seed);
            ("not compared", format!("a call of RocksDB has no end after {} s", worker.silent.as_secs()))
        }
        (false, Some(thread)) => {
            counts.peer_crashes.push(worker.seed);
            ("not compared", format!("the thread {thread} of RocksDB crashed: {status:?}"))
        }
        _ => {
            counts.failures += 1;
            counts.failed_seeds.push(worker.seed);
            let ended = || format!("ended with {status:?}");
            let silent = || format!("no end after {} s", worker.silent.as_secs());
            ("FAILED", if hung { silent() } else { ended() })
        }
    };
    println!("{verdict} seed {}: {what}\n{}\n", worker.seed, replay(worker.seed));
    true
}

/// Returns the failure of a campaign of `seeds` seeds in which RocksDB hung or crashed too often.
pub fn faults_of_peer(seeds: u64, peer_hangs: &[u64], peer_crashes: &[u64]) -> Option<String> {
    let too_many = (peer_hangs.len() + peer_crashes.len()) as u64 > PEER_FAULTS_MAX.max(seeds / 20);
    too_many
        .then(|| format!("RocksDB hung or crashed in too many seeds: {peer_hangs:?} and {peer_crashes:?}"))
}

/// Prints the report, as words and as JSON.
fn report(settings: &Settings, counts: Counts, spent: f64) -> ExitCode {
    let too_many = faults_of_peer(counts.seeds, &counts.peer_hangs, &counts.peer_crashes);
    let Counts { seeds, operations, openings, mut failures, failed_seeds, peer_hangs, peer_crashes } = counts;
    if let Some(words) = too_many {
        failures += 1;
        println!("FAILED: {words}");
    }
    println!(
        "differ: {operations} operations on both engines, {seeds} pairs of databases, {openings} openings with drawn options, \
         {failures} differences, {} hangs and {} crashes of RocksDB in {spent:.1} s: {:.0} operations a minute",
        peer_hangs.len(),
        peer_crashes.len(),
        operations as f64 * 60.0 / spent
    );
    println!(
        "{{\"test\":\"differ\",\"operations\":{operations},\"seeds\":{seeds},\"openings\":{openings},\"differences\":{failures},\
         \"failed_seeds\":{failed_seeds:?},\"peer_hangs\":{peer_hangs:?},\"peer_crashes\":{peer_crashes:?},\"seconds\":{spent:.1},\"first_seed\":{},\"threads\":{}}}",
        settings.seed, settings.threads
    );
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn take(line: &str, worker: &mut Worker, counts: &mut Counts, replay: &dyn Fn(u64) -> String) {
    let mut words = line.split(' ');
    match words.next() {
        Some("S") => {
            worker.seed = words.next().and_then(|w| w.parse().ok()).unwrap_or(worker.seed);
            (worker.peer_hangs, worker.peer_crash) = (false, None);
        }
        Some("R") => {
            let mut number = || words.next().and_then(|w| w.parse::<u64>().ok()).unwrap_or(0);
            counts.seeds += 1;
            let operations = number();
            counts.operations += operations;
            worker.share = worker.share.saturating_sub(operations);
            counts.openings += number();
        }
        Some("F") => {
            counts.failures += 1;
            counts.failed_seeds.push(worker.seed);
            println!("FAILED {}\n{}", &line[2..], replay(worker.seed));
        }
        Some("B") => {}
        Some(peer::CRASHED) => worker.peer_crash = words.next().map(str::to_string),
        Some("H") => {
            let engine = words.next().unwrap_or_default();
            let rest: Vec<&str> = words.collect();
            println!(
                "seed {}: no progress in {engine} for {} s: operation {}",
                worker.seed,
                watch::LATE.as_secs(),
                rest.join(" ")
            );
            worker.peer_hangs = engine == watch::THEIRS;
        }
        _ => println!("{line}"),
    }
}

#[cfg(test)]
mod tests;
