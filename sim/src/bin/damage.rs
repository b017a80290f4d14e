//! `damage [--minutes N] [--cases N] [--threads N] [--writing N] [--repairing N]`: the damage sweep, as JSON.
//!
//! Runs every case of every fixture, or at least the given number of cases that change a file. The order of the cases
//! is random. A run that ends early then covers all fixtures evenly. One case in `--writing` (default 16) is opened
//! for writing, to check that no file is deleted. One case in `--repairing` (default 16) is repaired. A case that takes longer than thirty seconds is a hang: the program
//! reports the case and ends.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ironstone_sim::damage::cases::{self, Case, kind_of};
use ironstone_sim::damage::fixture::{Fixture, machine};
use ironstone_sim::damage::judge::How;
use ironstone_sim::damage::{Class, Tally, judge};

/// A case counts as hung after this number of checks without progress. The number of checks is not a time: if the
/// system stops the whole process for a while, no check happens.
const HANG_LOOKS: u32 = 300;
const LOOK: Duration = Duration::from_millis(100);

struct Sweep {
    fixtures: Vec<(Fixture, Vec<Case>)>,
    /// Fixture and case of each run, in random order.
    order: Vec<(usize, usize)>,
    next: AtomicUsize,
    /// The judged cases, and the requested number of cases. A case whose damage changes nothing is not judged.
    judged: AtomicUsize,
    wanted: usize,
    writing: usize,
    repairing: usize,
    deadline: Instant,
}

/// The arguments of the command line.
struct Settings {
    minutes: f64,
    cases: usize,
    threads: Option<usize>,
    writing: usize,
    repairing: usize,
}

fn parse(mut arguments: lexopt::Parser) -> Result<Settings, lexopt::Error> {
    use lexopt::prelude::*;
    let mut settings =
        Settings { minutes: 1.0, cases: usize::MAX, threads: None, writing: 16, repairing: 16 };
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("minutes") => settings.minutes = arguments.value()?.parse()?,
            Long("cases") => settings.cases = arguments.value()?.parse()?,
            Long("threads") => settings.threads = Some(arguments.value()?.parse()?),
            Long("writing") => settings.writing = arguments.value()?.parse::<usize>()?.max(1),
            Long("repairing") => settings.repairing = arguments.value()?.parse::<usize>()?.max(1),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(settings)
}

fn main() -> ExitCode {
    let Settings { minutes, cases, threads, writing, repairing } = match parse(lexopt::Parser::from_env()) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!(
                "{error}\nusage: damage [--minutes N] [--cases N] [--threads N] [--writing N] [--repairing N]"
            );
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    let fixtures: Vec<_> = Fixture::all()
        .into_iter()
        .map(|f| {
            let all = cases::all(&f);
            (f, all)
        })
        .collect();
    // From here on a panic is a result of a case. Print nothing.
    std::panic::set_hook(Box::new(|_| {}));
    let mut order: Vec<_> =
        (0..fixtures.len()).flat_map(|f| (0..fixtures[f].1.len()).map(move |c| (f, c))).collect();
    let mut chance = testkit::chance::Chance::new(1);
    for i in (1..order.len()).rev() {
        order.swap(i, chance.below(i as u64 + 1) as usize);
    }
    let wanted = cases.min(order.len());
    let deadline = began + Duration::from_secs_f64(minutes * 60.0);
    let sweep = Arc::new(Sweep {
        fixtures,
        order,
        next: AtomicUsize::new(0),
        judged: AtomicUsize::new(0),
        wanted,
        writing,
        repairing,
        deadline,
    });
    let threads =
        threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get())).max(1);
    let watched: Vec<_> = (0..threads).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let workers: Vec<_> = watched
        .iter()
        .map(|beat| {
            let (sweep, beat) = (sweep.clone(), beat.clone());
            std::thread::spawn(move || work(&sweep, &beat))
        })
        .collect();
    watch(&workers, &watched);
    let mut tally = Tally::default();
    for worker in workers {
        match worker.join() {
            Ok(own) => tally.merge(own),
            Err(_) => tally.tell("", "", Class::Crash, "a worker panicked"),
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let done = sweep.next.load(Ordering::Relaxed).min(sweep.order.len());
    println!(
        "{{\n  \"seconds\": {seconds:.1},\n  \"threads\": {threads},\n  \"planned\": {wanted},\n  \"tried\": {done},\n{}\n}}",
        tally.json()
    );
    tally.bad.iter().for_each(|(_, words)| eprintln!("BAD {words}"));
    if tally.bad() == 0 && tally.bad.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns when all workers have ended. If a case hangs, ends the process.
fn watch<T>(workers: &[std::thread::JoinHandle<T>], beats: &[Arc<AtomicU64>]) {
    let mut seen = vec![(0, 0); beats.len()];
    while workers.iter().any(|w| !w.is_finished()) {
        std::thread::sleep(LOOK);
        for ((worker, beat), (case, looks)) in workers.iter().zip(beats).zip(&mut seen) {
            let at = beat.load(Ordering::Relaxed);
            *looks = if at == *case { *looks + 1 } else { 0 };
            *case = at;
            if !worker.is_finished() && *looks > HANG_LOOKS {
                println!("{{\"hang\": {at}}}");
                std::process::exit(3);
            }
        }
    }
}

fn work(sweep: &Sweep, beat: &AtomicU64) -> Tally {
    let mut tally = Tally::default();
    let mut worlds: Vec<_> = sweep.fixtures.iter().map(|(f, _)| machine(&f.files)).collect();
    while sweep.judged.load(Ordering::Relaxed) < sweep.wanted && Instant::now() < sweep.deadline {
        let index = sweep.next.fetch_add(1, Ordering::Relaxed);
        let Some(&(f, c)) = sweep.order.get(index) else { break };
        beat.store(index as u64, Ordering::Relaxed);
        let (fixture, cases) = &sweep.fixtures[f];
        let case = &cases[c];
        let how = match (index.is_multiple_of(sweep.writing), index % sweep.repairing == sweep.repairing / 2)
        {
            (true, _) => How::Writing,
            (false, true) => How::Repairing,
            (false, false) => How::Reading,
        };
        let Some(judged) = judge::case(fixture, &mut worlds[f], case, how) else { continue };
        sweep.judged.fetch_add(1, Ordering::Relaxed);
        tally.add(fixture.name, case.damage.kind(), kind_of(&case.file), judged.class);
        if judged.class.is_bad() {
            let how = how.name();
            let words = format!(
                "{} {} {:?} ({how}): {}: {}",
                fixture.name,
                case.file,
                case.damage,
                judged.class.name(),
                judged.why
            );
            tally.tell(case.damage.kind(), kind_of(&case.file), judged.class, words);
        }
    }
    tally
}
