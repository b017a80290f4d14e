//! `simulate --seed N --seconds S [--len N] [--crash]`: runs seeds from N on for that long and tells each that
//! fails, with the command that runs it again.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds after which a run counts as hung.
const HANG_S: u64 = 40;

fn main() -> std::process::ExitCode {
    let mut seed = 1u64;
    let mut seconds = 0u64;
    let mut len = 400usize;
    let mut failures_max = 5;
    let mut kind = "random".to_string();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut number = || arguments.next().and_then(|v| v.parse::<u64>().ok());
        let known = match name.as_str() {
            "--seed" => number().map(|n| seed = n),
            "--seconds" => number().map(|n| seconds = n),
            "--len" => number().map(|n| len = n as usize),
            "--failures" => number().map(|n| failures_max = n),
            "--random" | "--crash" => {
                kind = name[2..].to_string();
                Some(())
            }
            _ => None,
        };
        if known.is_none() {
            eprintln!("usage: simulate [--random|--crash] --seed N [--seconds S] [--len N] [--failures N]");
            return std::process::ExitCode::from(2);
        }
    }
    let start = Instant::now();
    // A run that does not end is a failure too: told, and the process given up.
    let (current, began) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let watched = (current.clone(), began.clone(), kind.clone());
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let since = start.elapsed().as_secs().saturating_sub(watched.1.load(Ordering::Relaxed));
            if since > HANG_S {
                let (seed, kind) = (watched.0.load(Ordering::Relaxed), &watched.2);
                println!("FAILED seed {seed}: no end after {since} s\nrun it again: simulate --{kind} --seed {seed} --len {len}");
                std::process::exit(3);
            }
        }
    });
    let (mut runs, mut failures, mut operations, mut cycles) = (0u64, 0u64, 0u64, 0u64);
    loop {
        current.store(seed, Ordering::Relaxed);
        began.store(start.elapsed().as_secs(), Ordering::Relaxed);
        let outcome = match kind.as_str() {
            "random" => ironstone_sim::random::seed(seed, len).map(|ran| ran.operations),
            _ => ironstone_sim::crash::seed(seed, len).map(|ran| {
                cycles += ran.cycles;
                ran.operations
            }),
        };
        runs += 1;
        match outcome {
            Ok(n) => operations += n,
            Err(words) => {
                failures += 1;
                println!("FAILED {words}\nrun it again: simulate --{kind} --seed {seed} --len {len}\n");
            }
        }
        seed += 1;
        if failures >= failures_max || start.elapsed() >= Duration::from_secs(seconds) {
            break;
        }
    }
    let spent = start.elapsed().as_secs_f64();
    println!(
        "{kind}: {runs} runs, {operations} operations, {cycles} recoveries, {failures} failures in {spent:.1} s: {:.1} runs/s, {:.1} recoveries/s",
        runs as f64 / spent,
        cycles as f64 / spent
    );
    if failures == 0 { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
