//! The parent: starts children, kills them, gathers what they tell.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use testkit::chance::Chance;

use crate::Settings;

/// Seconds without a line after which a child counts as hung.
const HANG_S: u64 = 90;

#[derive(Default)]
struct Counts {
    children: u64,
    kills: u64,
    epochs: u64,
    operations: u64,
    rss_kb_max: u64,
    handles_max: u64,
    threads_max: u64,
    disk_kb_max: u64,
    failures: Vec<String>,
}

pub fn campaign(settings: &Settings) -> ExitCode {
    let start = Instant::now();
    let dir = match tempfile::Builder::new().prefix("stress-").tempdir_in(&settings.scratch) {
        Ok(dir) => dir,
        Err(error) => {
            eprintln!("stress: {}: {error}", settings.scratch.display());
            return ExitCode::from(2);
        }
    };
    let chance = &mut Chance::new(settings.seed);
    let mut counts = Counts::default();
    let end = Duration::from_secs(settings.seconds);
    while start.elapsed() < end && counts.failures.is_empty() {
        let left = end.saturating_sub(start.elapsed()).as_secs().max(1);
        // Some live long, so that growth shows; most are killed.
        let (life, killed) =
            if chance.percent(35) { (left.min(60), false) } else { (left.min(10), true) };
        let kill_after = killed.then(|| Duration::from_millis(200 + chance.below(life.saturating_mul(1000))));
        let seed = chance.next();
        if let Err(words) = child(settings, &dir.path().join("db"), seed, life, kill_after, &mut counts) {
            println!("FAILED {words}\nrun it again (threads fall otherwise): stress --seed {} --seconds {}", settings.seed, settings.seconds);
            counts.failures.push(words);
        }
    }
    let spent = start.elapsed().as_secs_f64();
    if !counts.failures.is_empty() {
        println!("left in {}", dir.keep().display());
    }
    println!(
        "stress: {} operations of {} threads in {} epochs with drawn options, {} processes ({} killed), at most {} MiB of memory, \
         {} handles and {} threads with the database closed, {} MiB of disk, {} failures in {spent:.1} s",
        counts.operations,
        settings.threads,
        counts.epochs,
        counts.children,
        counts.kills,
        counts.rss_kb_max / 1024,
        counts.handles_max,
        counts.threads_max,
        counts.disk_kb_max / 1024,
        counts.failures.len()
    );
    println!(
        "{{\"test\":\"stress\",\"operations\":{},\"threads\":{},\"epochs\":{},\"processes\":{},\"kills\":{},\"rss_kb_max\":{},\
         \"handles_max\":{},\"process_threads_max\":{},\"disk_kb_max\":{},\"failures\":{},\"seconds\":{spent:.1},\"seed\":{}}}",
        counts.operations,
        settings.threads,
        counts.epochs,
        counts.children,
        counts.kills,
        counts.rss_kb_max,
        counts.handles_max,
        counts.threads_max,
        counts.disk_kb_max,
        counts.failures.len(),
        settings.seed
    );
    if counts.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn child(
    settings: &Settings,
    dir: &Path,
    seed: u64,
    life: u64,
    kill_after: Option<Duration>,
    counts: &mut Counts,
) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    command.arg("--child").arg(dir);
    for (name, value) in [("--seed", seed), ("--seconds", life), ("--threads", settings.threads as u64)] {
        command.arg(name).arg(value.to_string());
    }
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
    counts.children += 1;
    let (send, lines) = channel();
    let reader = process.stdout.take().map(|out| {
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        })
    });
    let began = Instant::now();
    let (mut beat, mut operations, mut error, mut hung) = (began, 0, None, false);
    loop {
        match lines.recv_timeout(Duration::from_millis(20)) {
            Ok(line) => {
                beat = Instant::now();
                if let Some(words) = line.strip_prefix("E ") {
                    error = Some(words.to_string());
                    continue;
                }
                let number = |name: &str| -> u64 {
                    let after = line.split(&format!("\"{name}\":")).nth(1).unwrap_or_default();
                    after.split([',', '}']).next().and_then(|n| n.parse().ok()).unwrap_or(0)
                };
                operations = number("operations");
                counts.epochs += 1;
                counts.rss_kb_max = counts.rss_kb_max.max(number("rss_kb"));
                counts.handles_max = counts.handles_max.max(number("handles"));
                counts.threads_max = counts.threads_max.max(number("threads"));
                counts.disk_kb_max = counts.disk_kb_max.max(number("disk_kb"));
                if !settings.quiet {
                    println!("{line}");
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                hung = beat.elapsed() > Duration::from_secs(HANG_S);
                if hung || kill_after.is_some_and(|after| began.elapsed() >= after) {
                    let _ = process.kill();
                }
                if hung {
                    break;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = process.wait().map_err(|e| e.to_string())?;
    if let Some(reader) = reader {
        let _ = reader.join();
    }
    counts.operations += operations;
    let killed = status.signal() == Some(9);
    counts.kills += u64::from(killed && !hung);
    match error {
        Some(words) => Err(words),
        None if hung => Err(format!("seed {seed}: no sign of life for {HANG_S} s")),
        None if !killed && !status.success() => Err(format!("seed {seed}: ended with {status}")),
        None => Ok(()),
    }
}
