//! One directory that both engines write in turn.
//!
//! A turn is a child process. The child opens the directory with one engine and drawn options, reports every row that
//! it reads, and runs steps until it closes the database or is killed. The parent computes the same steps, and
//! derives the rows that the next turn must read. Every few turns, and at the end of each directory, RocksDB's tools
//! check the directory.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use ironstone_sim::life::{self, Change, FAMILIES, Step, World};
use peer::Library;
use testkit::chance::Chance;
use testkit::hex::{decode, upper};

use crate::store::{Compacting, Item, Move, Position, Side, Spec, Store, Told, Writing};
use crate::{Settings, work};

const STEPS: usize = 120;
/// A turn without output for this number of seconds counts as hung. The parent counts waits of one second, so a stop of all
/// processes by the system is one wait.
const HANG_S: u64 = 60;
/// The number of turns in one directory.
const TURNS: u64 = 12;

/// The arguments of a turn: engine, directory, seeds of steps and options, number of steps, and whether the turn flushes first.
#[derive(Clone, Debug)]
pub struct Turn {
    pub ours: bool,
    pub dir: PathBuf,
    pub seed: u64,
    pub options: u64,
    pub steps: usize,
    pub first: First,
}

/// The first action of a turn after the open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    Read,
    /// Flushes all column families. The WALs of the turn before refer to blob files, and RocksDB's open does not read the values:
    /// a flush there loses them.
    Flush,
}

impl Turn {
    /// Reads the six arguments in the order of the fields. Returns `None` if an argument is missing or is not
    /// a number.
    pub fn parse(arguments: &mut lexopt::Parser) -> Result<Turn, lexopt::Error> {
        use lexopt::ValueExt;
        Ok(Turn {
            ours: arguments.value()? == "ours",
            dir: arguments.value()?.into(),
            seed: arguments.value()?.parse()?,
            options: arguments.value()?.parse()?,
            steps: arguments.value()?.parse()?,
            first: if arguments.value()? == "flush" { First::Flush } else { First::Read },
        })
    }
}

fn take(store: &mut dyn Store, step: &Step) -> Told<()> {
    match step {
        Step::Write { changes, sync } => {
            let (mut items, mut seen) = (Vec::new(), Vec::new());
            for change in changes {
                items.push(match change.clone() {
                    Change::Put(f, k, v) => Item::Put(f, k, v),
                    Change::Delete(f, k) => Item::Delete(f, k),
                    Change::Merge(f, k, v) => Item::Merge(f, k, v),
                    Change::DeleteRange(f, a, b) => Item::DeleteRange(f, a, b),
                    Change::Toggle(f, k, v) => {
                        let found = store.get(f, &k, None, &Spec::default())?.is_some();
                        if life::toggled(&mut seen, f, &k, || found) {
                            Item::SingleDelete(f, k)
                        } else {
                            Item::Put(f, k, v)
                        }
                    }
                });
            }
            store.batch(&items, Writing { sync: *sync, ..Writing::default() }).2
        }
        Step::Flush(f) => store.flush(&[*f]),
        Step::Compact(f) => {
            store.compact(*f, None, None, Compacting { bottommost: 1, ..Compacting::default() });
            Ok(())
        }
        Step::FlushWal(sync) => store.flush_wal(*sync),
    }
}

/// Runs a turn in the child process. Prints rows as `r` lines, then `O`, then a number after each step. After an
/// error, prints `E` and a code.
pub fn live(settings: &Settings, turn: &Turn) -> ExitCode {
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    let side = if turn.ours {
        Side::Ours
    } else {
        match Library::load(&settings.peer) {
            Ok(library) => {
                peer::report_crashes(&settings.peer);
                Side::Theirs(library)
            }
            Err(words) => {
                say(format!("E {words}"));
                return ExitCode::FAILURE;
            }
        }
    };
    let text = life::options(turn.options);
    let families: Vec<_> = FAMILIES.iter().map(|name| ((*name).to_string(), text.clone())).collect();
    let done = (|| {
        let mut store = side.open(&turn.dir, &text, &families, false).map_err(|c| format!("refused: {c}"))?;
        if turn.first == First::Flush {
            store.flush(&[0, 1, 2])?;
        }
        for at in 0..FAMILIES.len() {
            store.open_iter(0, at, None, &Spec::default());
            let mut stands = store.move_iter(0, &Move::First);
            while let Position::At(key, value) = stands {
                let got = store.get(at, &key, None, &Spec::default())?;
                if got.as_ref() != Some(&value) {
                    return Err(format!("get {} differs from the scan", key.escape_ascii()));
                }
                say(format!("r {at} {} {}", upper(&key), upper(&value)));
                stands = store.move_iter(0, &Move::Next);
            }
            if let Position::Failed(code) = stands {
                return Err(format!("scan: {code}"));
            }
            store.close_iter(0);
        }
        say("O".to_string());
        for (i, step) in life::steps(turn.seed, turn.steps).iter().enumerate() {
            take(&mut *store, step)?;
            say((i + 1).to_string());
        }
        Ok(())
    })();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            say(format!("E {words}"));
            ExitCode::FAILURE
        }
    }
}

/// The reason why a directory ends before its last turn.
#[derive(Debug, PartialEq, Eq)]
enum Stop {
    Failed(String),
    /// A thread of RocksDB crashed. The directory is not compared any more.
    PeerCrashed(String),
}

impl Stop {
    /// Adds the place to the words.
    fn at(self, place: impl Fn(String) -> String) -> Stop {
        match self {
            Stop::Failed(words) => Stop::Failed(place(words)),
            Stop::PeerCrashed(words) => Stop::PeerCrashed(place(words)),
        }
    }
}

impl From<String> for Stop {
    fn from(words: String) -> Stop {
        Stop::Failed(words)
    }
}

#[derive(Debug)]
struct Fate {
    found: World,
    opened: bool,
    done: usize,
    killed: bool,
}

fn run(settings: &Settings, turn: &Turn, kill_after: Option<usize>) -> Result<Fate, Stop> {
    let told = |e: std::io::Error| e.to_string();
    let mut command = Command::new(std::env::current_exe().map_err(told)?);
    command
        .arg("--peer")
        .arg(&settings.peer)
        .arg("--turn")
        .arg(if turn.ours { "ours" } else { "theirs" })
        .arg(&turn.dir);
    for number in [turn.seed, turn.options, turn.steps as u64] {
        command.arg(number.to_string());
    }
    command.arg(if turn.first == First::Flush { "flush" } else { "read" });
    follow(command, kill_after)
}

/// Runs the process of a turn until its end, and kills the process after `kill_after` steps.
fn follow(mut command: Command, kill_after: Option<usize>) -> Result<Fate, Stop> {
    let told = |e: std::io::Error| e.to_string();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(told)?;
    let mut fate = Fate { found: World::default(), opened: false, done: 0, killed: false };
    let (mut error, mut crashed, mut silent_s) = (None, None, 0);
    if let Some(out) = child.stdout.take() {
        let (send, lines) = channel();
        std::thread::spawn(move || BufReader::new(out).lines().try_for_each(|line| send.send(line)));
        loop {
            let line = match lines.recv_timeout(Duration::from_secs(1)) {
                Ok(line) => line.map_err(told)?,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    silent_s += 1;
                    if silent_s < HANG_S {
                        continue;
                    }
                    child.kill().and_then(|()| child.wait()).map_err(told)?;
                    return Err(format!("no step within {HANG_S} s, after {}", fate.done).into());
                }
            };
            silent_s = 0;
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["r", family, key, value] => {
                    if let Some(model) = family.parse().ok().and_then(|f: usize| fate.found.get_mut(f)) {
                        model.put(&decode(key), &decode(value));
                    }
                }
                ["O"] => fate.opened = true,
                ["E", ..] => error = Some(line[2..].to_string()),
                [peer::CRASHED, thread] => crashed = Some(thread.to_string()),
                _ => fate.done = line.parse().unwrap_or(fate.done),
            }
            if kill_after.is_some_and(|n| fate.done >= n) {
                child.kill().map_err(told)?;
            }
        }
    }
    let status = child.wait().map_err(told)?;
    fate.killed = status.signal() == Some(9);
    match (error, crashed) {
        (Some(words), _) => Err(words.into()),
        (None, _) if fate.killed || status.success() => Ok(fate),
        (None, Some(thread)) => {
            Err(Stop::PeerCrashed(format!("the thread {thread} of RocksDB crashed: {status}")))
        }
        (None, None) => Err(format!("ended with {status}").into()),
    }
}

/// Runs RocksDB's tools on a closed directory. Returns the number of tools that ran.
fn tools(folder: &Path, dir: &Path) -> Result<u64, String> {
    let db = format!("--db={}", dir.display());
    let file = format!("--file={}", dir.display());
    let current = std::fs::read_to_string(dir.join("CURRENT")).map_err(|e| e.to_string())?;
    let manifest = format!("--path={}", dir.join(current.trim()).display());
    let calls: [(&str, &[&str]); 3] = [
        ("ldb", &[&db, "--try_load_options", "checkconsistency"]),
        ("ldb", &["manifest_dump", &manifest]),
        ("sst_dump", &[&file, "--command=verify"]),
    ];
    for (tool, arguments) in calls {
        let out =
            Command::new(folder.join(tool)).args(arguments).output().map_err(|e| format!("{tool}: {e}"))?;
        let text = [out.stdout, out.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let bad = !out.status.success() || text.contains("Corruption") || text.contains("Failed:");
        if bad || (arguments.contains(&"checkconsistency") && !text.contains("OK")) {
            let end: String = text.chars().take(600).collect();
            return Err(format!("{tool} {arguments:?}: {} {end}", out.status));
        }
    }
    Ok(calls.len() as u64)
}

#[derive(Default)]
struct Counts {
    directories: AtomicU64,
    rounds: AtomicU64,
    kills: AtomicU64,
    steps: AtomicU64,
    tools: AtomicU64,
    failures: Mutex<Vec<String>>,
    peer_crashes: Mutex<Vec<u64>>,
}

impl Counts {
    /// Counts a directory that ended before its last turn.
    fn stopped(&self, seed: u64, stop: Stop) {
        let lock_failed = "no thread panics while it holds the lock";
        match stop {
            Stop::Failed(words) => self.failures.lock().expect(lock_failed).push(words),
            Stop::PeerCrashed(_) => self.peer_crashes.lock().expect(lock_failed).push(seed),
        }
    }
}

fn directory(
    settings: &Settings,
    dir: &Path,
    seed: u64,
    counts: &Counts,
    more: &dyn Fn() -> bool,
) -> Result<(), Stop> {
    let chance = &mut Chance::new(seed);
    // The acknowledged content, and the steps that were in flight when the writer was killed.
    let (mut world, mut steps, mut durable, mut attempted) = (World::default(), Vec::new(), 0, 0);
    let (mut ours, mut first) = (chance.percent(50), First::Read);
    for round in 0..=TURNS {
        let last = round == TURNS || !more();
        let turn = Turn {
            ours,
            dir: dir.to_path_buf(),
            seed: chance.next(),
            options: chance.next(),
            steps: if last { 0 } else { STEPS },
            first,
        };
        let kill_after = (!last && chance.percent(50)).then(|| 1 + chance.below(STEPS as u64) as usize);
        let told = |words: String| format!("turn {round}, {turn:?}: {words}");
        let fate = run(settings, &turn, kill_after).map_err(|stop| stop.at(told))?;
        if !fate.opened {
            return Err(told("ended before it was open".to_string()).into());
        }
        let kept = life::settle(&world, &steps, durable, attempted, &fate.found)
            .map_err(|e| told(format!("rows differ from what the other wrote: {e}")))?;
        counts.steps.fetch_add(kept as u64, Ordering::Relaxed);
        world = fate.found;
        steps = life::steps(turn.seed, turn.steps);
        (durable, attempted) = (fate.done, fate.done);
        if fate.killed {
            attempted += 1;
            if life::gathers(&life::options(turn.options)) {
                let safe = |step: &Step| matches!(step, Step::FlushWal(_) | Step::Write { sync: true, .. });
                durable = steps[..fate.done].iter().rposition(safe).map_or(0, |i| i + 1);
            }
            counts.kills.fetch_add(1, Ordering::Relaxed);
        } else if let Some(folder) = settings.tools.as_ref().filter(|_| last || chance.percent(20)) {
            counts.tools.fetch_add(tools(folder, dir).map_err(told)?, Ordering::Relaxed);
        }
        counts.rounds.fetch_add(u64::from(!last), Ordering::Relaxed);
        if last {
            return Ok(());
        }
        let direct = life::writes_directly(&life::options(turn.options));
        first = if direct { First::Flush } else { First::Read };
        ours = if chance.percent(85) { !ours } else { ours } || direct;
    }
    Ok(())
}

/// Runs directories until the time is over.
pub fn campaign(settings: &Settings) -> ExitCode {
    let start = Instant::now();
    let counts = Counts::default();
    let failed = || counts.failures.lock().map_or(0, |f| f.len() as u64);
    let more = || {
        start.elapsed() < Duration::from_secs(settings.seconds)
            && counts.rounds.load(Ordering::Relaxed) < settings.rounds
            && failed() < settings.failures
    };
    std::thread::scope(|scope| {
        for lane in 0..settings.threads {
            let (counts, more) = (&counts, &more);
            scope.spawn(move || {
                let mut seed = settings.seed + lane;
                loop {
                    counts.directories.fetch_add(1, Ordering::Relaxed);
                    let dir = tempfile::Builder::new().prefix("turns-").tempdir_in(&settings.scratch);
                    let outcome = match &dir {
                        Ok(dir) => directory(settings, &dir.path().join("db"), seed, counts, more),
                        Err(error) => Err(error.to_string().into()),
                    };
                    if let Err(stop) = outcome {
                        let (verdict, words) = match &stop {
                            Stop::Failed(words) => ("FAILED", words),
                            Stop::PeerCrashed(words) => ("not compared", words),
                        };
                        let left = dir.map(|d| d.keep().display().to_string()).unwrap_or_default();
                        println!(
                            "{verdict} seed {seed}: {words}\nleft in {left}\nrun it again (kills fall elsewhere): differ --peer {} --turns \
                             --threads 1 --seconds 5 --seed {seed}\n",
                            settings.peer.display()
                        );
                        counts.stopped(seed, stop);
                    }
                    seed += settings.threads;
                    if !more() {
                        return;
                    }
                }
            });
        }
    });
    let spent = start.elapsed().as_secs_f64();
    let peer_crashes = counts.peer_crashes.lock().map(|crashes| crashes.clone()).unwrap_or_default();
    if let Some(words) = work::faults_of_peer(counts.directories.load(Ordering::Relaxed), &[], &peer_crashes)
    {
        println!("FAILED: {words}");
        counts.stopped(settings.seed, Stop::Failed(words));
    }
    let n = |count: &AtomicU64| count.load(Ordering::Relaxed);
    println!(
        "turns: {} turns of the two engines on one directory ({} killed), {} steps checked, {} answers of RocksDB's tools, {} failures \
         and {} crashes of RocksDB in {spent:.1} s",
        n(&counts.rounds),
        n(&counts.kills),
        n(&counts.steps),
        n(&counts.tools),
        failed(),
        peer_crashes.len()
    );
    println!(
        "{{\"test\":\"turns\",\"rounds\":{},\"kills\":{},\"steps\":{},\"tool_answers\":{},\"failures\":{},\"peer_crashes\":{peer_crashes:?},\"seconds\":{spent:.1},\"first_seed\":{}}}",
        n(&counts.rounds),
        n(&counts.kills),
        n(&counts.steps),
        n(&counts.tools),
        failed(),
        settings.seed
    );
    if failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(script: &str) -> Result<Fate, Stop> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        follow(command, None)
    }

    #[test]
    fn crash_of_a_thread_of_rocksdb_is_named_and_no_failure() {
        let Err(Stop::PeerCrashed(words)) = turn("echo O; echo 1; echo C rocksdb:low; kill -SEGV $$") else {
            panic!("the crash has no name");
        };
        assert!(words.starts_with("the thread rocksdb:low of RocksDB crashed: signal: 11"), "{words}");
        let counts = Counts::default();
        counts.stopped(7, Stop::PeerCrashed(words));
        assert_eq!(
            (counts.failures.lock().unwrap().len(), &counts.peer_crashes.lock().unwrap()[..]),
            (0, &[7][..])
        );
    }

    #[test]
    fn crash_without_a_report_is_a_failure() {
        assert!(
            matches!(turn("echo O; kill -SEGV $$"), Err(Stop::Failed(words)) if words.contains("signal: 11"))
        );
        assert!(
            matches!(turn("echo O; echo E refused; exit 1"), Err(Stop::Failed(words)) if words == "refused")
        );
        assert!(turn("echo O; echo 1").is_ok_and(|fate| fate.opened && fate.done == 1));
    }
}
