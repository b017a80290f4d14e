//! The rig's command.
//!
//! ```text
//! simulate --random | --crash      seeds from --seed on, for --seconds
//! simulate --exhaustive            every crash and failing call of the scenes, then crashes of recoveries
//! simulate --state NAME            one state of those, again
//!   --seed N --seconds S --len N --failures N --commit TEXT --json FILE
//! ```
//! Each failure is told with the command that runs it again; the last line is a summary as JSON, written to the
//! file as well.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds after which a run counts as hung.
const HANG_S: u64 = 60;

#[derive(Clone)]
struct Asked {
    mode: &'static str,
    state: String,
    seed: u64,
    seconds: u64,
    len: Option<u64>,
    failures: u64,
    commit: String,
    json: Option<String>,
}

fn asked() -> Option<Asked> {
    let mut asked = Asked {
        mode: "random",
        state: String::new(),
        seed: 1,
        seconds: 0,
        len: None,
        failures: 5,
        commit: "unknown".to_string(),
        json: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--random" => asked.mode = "random",
            "--crash" => asked.mode = "crash",
            "--exhaustive" => asked.mode = "exhaustive",
            _ => {
                let value = arguments.next()?;
                match name.as_str() {
                    "--state" => (asked.mode, asked.state) = ("state", value),
                    "--commit" => asked.commit = value,
                    "--json" => asked.json = Some(value),
                    "--seed" => asked.seed = value.parse().ok()?,
                    "--seconds" => asked.seconds = value.parse().ok()?,
                    "--len" => asked.len = Some(value.parse().ok()?),
                    "--failures" => asked.failures = value.parse().ok()?,
                    _ => return None,
                }
            }
        }
    }
    Some(asked)
}

fn main() -> ExitCode {
    let Some(asked) = asked() else {
        eprintln!(
            "usage: simulate [--random|--crash|--exhaustive|--state NAME] [--seed N] [--seconds S] [--len N] \
             [--failures N] [--commit TEXT] [--json FILE]"
        );
        return ExitCode::from(2);
    };
    let start = Instant::now();
    let (json, failed) = match asked.mode {
        "state" => {
            return match ironstone_sim::every::replay(&asked.state) {
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
        "exhaustive" => {
            let until = start + Duration::from_secs(asked.seconds);
            let report = ironstone_sim::every::campaign(asked.seed, until, asked.failures, &mut |what, report| {
                let spent = start.elapsed().as_secs_f64();
                println!("{spent:6.1} s  {what}: {} states, {} opened, {} failed", report.states, report.opened, report.failed());
            });
            (report.json(&asked.commit, start.elapsed().as_secs_f64()), report.failed())
        }
        _ => seeds(&asked, start),
    };
    println!("{json}");
    if let Some(path) = &asked.json
        && let Err(error) = std::fs::File::create(path).and_then(|mut f| writeln!(f, "{json}"))
    {
        eprintln!("{path}: {error}");
        return ExitCode::from(2);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Seeds until the time is up.
fn seeds(asked: &Asked, start: Instant) -> (String, u64) {
    let mut seed = asked.seed;
    let crash = asked.mode == "crash";
    let len = asked.len.unwrap_or(if crash { 40 } else { 400 }) as usize;
    let again = |seed: u64| format!("run it again: simulate --{} --seed {seed} --len {len}", asked.mode);
    // A run that does not end is a failure too: told, and the process given up.
    let (current, began) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let watched = (current.clone(), began.clone(), asked.mode);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let since = start.elapsed().as_secs().saturating_sub(watched.1.load(Ordering::Relaxed));
            if since > HANG_S {
                let (seed, mode) = (watched.0.load(Ordering::Relaxed), watched.2);
                println!("FAILED seed {seed}: no end after {since} s\nrun it again: simulate --{mode} --seed {seed} --len {len}");
                std::process::exit(3);
            }
        }
    });
    let (mut runs, mut failures, mut operations, mut cycles, mut twice) = (0u64, 0u64, 0u64, 0u64, 0u64);
    let mut failed = Vec::new();
    loop {
        current.store(seed, Ordering::Relaxed);
        began.store(start.elapsed().as_secs(), Ordering::Relaxed);
        let outcome = if crash {
            ironstone_sim::crash::seed(seed, len).map(|ran| {
                cycles += ran.cycles;
                ran.operations
            })
        } else {
            ironstone_sim::random::seed(seed, len).map(|ran| ran.operations)
        };
        runs += 1;
        twice += u64::from(seed.is_multiple_of(100));
        match outcome {
            Ok(n) => operations += n,
            Err(words) => {
                failures += 1;
                failed.push(seed.to_string());
                println!("FAILED {words}\n{}\n", again(seed));
            }
        }
        seed += 1;
        if failures >= asked.failures || start.elapsed() >= Duration::from_secs(asked.seconds) {
            break;
        }
    }
    let spent = start.elapsed().as_secs_f64();
    println!(
        "{}: {runs} runs, {operations} operations, {cycles} recoveries, {failures} failures in {spent:.1} s: {:.1} runs/s, {:.1} recoveries/s",
        asked.mode,
        runs as f64 / spent,
        cycles as f64 / spent
    );
    let json = format!(
        "{{\"mode\":\"{}\",\"commit\":\"{}\",\"seeds\":[{},{}],\"len\":{len},\"seconds\":{spent:.1},\"runs\":{runs},\
         \"run_twice\":{twice},\"operations\":{operations},\"cycles\":{cycles},\"failures\":{failures},\"failed\":[{}]}}",
        asked.mode,
        asked.commit,
        asked.seed,
        seed - 1,
        failed.join(",")
    );
    (json, failures)
}
