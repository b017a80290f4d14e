//! The parent: starts children, kills them, and collects their reports.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use testkit::chance::Chance;

use crate::Settings;
use crate::gauge::Gauge;
use crate::series::{MEASURES, Point, Series};
use crate::store::Kind;

/// A child without output for this number of seconds counts as hung. The parent counts its own checks, so time in
/// which the machine stops does not count.
const HANG_S: u64 = 90;
const LOOK_MS: u64 = 20;

#[derive(Default)]
struct Counts {
    children: u64,
    kills: u64,
    /// The processes whose database has transactions.
    with_transactions: u64,
    epochs: u64,
    operations: u64,
    series: Series,
    failures: Vec<String>,
}

impl Counts {
    fn most(&self, of: fn(&Gauge) -> u64) -> u64 {
        self.series.points.iter().map(|p| of(&p.gauge)).max().unwrap_or(0)
    }

    /// Takes a report line of a child. Returns the operations of the child so far; they were `before` in its last line.
    fn take(&mut self, line: &str, before: u64, elapsed: Duration) -> u64 {
        let number = |name: &str| -> u64 {
            let after = line.split(&format!("\"{name}\":")).nth(1).unwrap_or_default();
            after.split([',', '}']).next().and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        let operations = number("operations");
        let rows = line.contains("\"rows\":").then(|| number("rows"));
        self.epochs += u64::from(rows.is_none());
        let gauge = Gauge {
            heap_kb: number("heap_kb"),
            rss_kb: number("rss_kb"),
            handles: number("handles"),
            threads: number("threads"),
            disk_kb: number("disk_kb"),
        };
        self.series.points.push(Point {
            seconds: elapsed.as_secs_f64(),
            operations: operations.saturating_sub(before),
            rows,
            aside_kb: number("aside_kb"),
            gauge,
        });
        operations
    }

    /// Writes the series, and checks that the series is flat, if requested.
    fn finish(&self, settings: &Settings) -> Result<(), String> {
        let told = |e: std::io::Error| e.to_string();
        settings.csv.as_ref().map_or(Ok(()), |path| self.series.write_csv(path)).map_err(told)?;
        settings.chart.as_ref().map_or(Ok(()), |path| self.series.write_chart(path)).map_err(told)?;
        settings.flat.map_or(Ok(()), |percent| self.series.flat(percent))
    }
}

/// Runs child processes until the time is over or one fails, and prints a report. Returns 2 if the scratch
/// directory cannot be made.
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
        // Round up, so that a process that lives to the end does not leave a fraction of a second to a next
        // process.
        let left = end.saturating_sub(start.elapsed()).as_secs_f64().ceil() as u64;
        // Most processes are killed. The others live long, so that growth shows.
        let (life, killed) = if chance.percent(100 - settings.killed) {
            (left.min(settings.life), false)
        } else {
            (left.min(10), true)
        };
        let kill_after = killed.then(|| Duration::from_millis(200 + chance.below(life.saturating_mul(1000))));
        let seed = chance.next();
        let drawn = if settings.flat.is_some() { Kind::Plain } else { Kind::draw(chance) };
        let process = Process { kind: settings.kind.unwrap_or(drawn), seed, life, kill_after };
        if let Err(words) = child(settings, dir.path(), &process, start, &mut counts) {
            println!(
                "FAILED {words}\nrun it again (threads fall otherwise): stress --seed {} --seconds {}",
                settings.seed, settings.seconds
            );
            counts.failures.push(words);
        }
    }
    if let Err(words) = counts.finish(settings) {
        println!("FAILED {words}");
        counts.failures.push(words);
    }
    let spent = start.elapsed().as_secs_f64();
    if !counts.failures.is_empty() {
        println!("left in {}", dir.keep().display());
    }
    let [heap, rss, handles, threads, disk] = MEASURES.map(|m| counts.most(m.1));
    println!(
        "stress: {} operations of {} threads in {} epochs with drawn options, {} processes ({} killed, {} with transactions), at most {} KiB allocated, \
         {} MiB of memory, {handles} handles and {threads} threads with the database closed, {} MiB of disk, {} failures in {spent:.1} s",
        counts.operations,
        settings.threads,
        counts.epochs,
        counts.children,
        counts.kills,
        counts.with_transactions,
        heap,
        rss / 1024,
        disk / 1024,
        counts.failures.len()
    );
    let quarters = MEASURES.map(|(name, of)| {
        let [third, last] = counts.series.quarters(of);
        format!("\"{name}\":[{third},{last}]")
    });
    println!(
        "{{\"test\":\"stress\",\"operations\":{},\"threads\":{},\"epochs\":{},\"rests\":{},\"processes\":{},\"kills\":{},\"with_transactions\":{},\"heap_kb_max\":{heap},\
         \"rss_kb_max\":{rss},\"handles_max\":{handles},\"process_threads_max\":{threads},\"disk_kb_max\":{disk},\
         \"medians_at_rest_of_last_quarters\":{{{}}},\"failures\":{},\"seconds\":{spent:.1},\"seed\":{}}}",
        counts.operations,
        settings.threads,
        counts.epochs,
        counts.series.rests().count(),
        counts.children,
        counts.kills,
        counts.with_transactions,
        quarters.join(","),
        counts.failures.len(),
        settings.seed
    );
    if counts.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A child process that is not started yet.
struct Process {
    kind: Kind,
    seed: u64,
    /// The life of the process in seconds.
    life: u64,
    kill_after: Option<Duration>,
}

fn child(
    settings: &Settings,
    campaign: &Path,
    process: &Process,
    start: Instant,
    counts: &mut Counts,
) -> Result<(), String> {
    let Process { kind, seed, life, kill_after } = *process;
    counts.with_transactions += u64::from(kind.has_transactions());
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    command.arg("--child").arg(kind.dir(campaign)).args(["--kind", kind.name()]);
    for (name, value) in [("--seed", seed), ("--seconds", life), ("--threads", settings.threads as u64)] {
        command.arg(name).arg(value.to_string());
    }
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
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
    let (mut silent_ms, mut operations, mut error, mut hung) = (0, 0, None, false);
    loop {
        match lines.recv_timeout(Duration::from_millis(LOOK_MS)) {
            Ok(line) => {
                silent_ms = 0;
                if let Some(words) = line.strip_prefix("E ") {
                    error = Some(words.to_string());
                    continue;
                }
                operations = counts.take(&line, operations, start.elapsed());
                if !settings.quiet {
                    println!("{line}");
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                silent_ms += LOOK_MS;
                hung = silent_ms > HANG_S * 1000;
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
