//! `reliability`: the campaigns of this project at one size, as one table.
//!
//! ```text
//!  reliability [--cycles N] [--states N] [--cases N] [--operations N] [--turns N] [--kills N] [--seed N] [--seconds S]
//!              [--at-once N] [--peer DIR | --without-peer] [--scratch DIR] [--commit TEXT] [--json FILE]
//! ```
//! Each campaign is a program in the directory of this program. Several campaigns run concurrently until each has
//! reached its size, and this program collects the reports. The run fails if a campaign reports a lost, refused,
//! silent, different, panicked or hung case. It also fails if a size was not reached in `--seconds`, or if RocksDB's
//! library is missing and `--without-peer` is not given.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

mod job;
mod plan;
mod table;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use job::{Done, Running};

/// The time between two checks of the running campaigns.
const LOOK: Duration = Duration::from_millis(100);
/// The time between two lines about the running campaigns.
const TELL_S: u64 = 15;

/// The arguments of the command line.
#[derive(Clone, Debug)]
pub struct Settings {
    pub cycles: u64,
    pub states: u64,
    pub cases: u64,
    pub operations: u64,
    pub turns: u64,
    pub kills: u64,
    pub seed: u64,
    /// The longest time of a campaign.
    pub seconds: u64,
    pub at_once: usize,
    /// The directory of RocksDB's library, and of its tools for the campaigns that use them.
    pub peer: Option<PathBuf>,
    pub without_peer: bool,
    pub scratch: PathBuf,
    pub commit: String,
    pub json: PathBuf,
}

impl Default for Settings {
    /// The sizes for continuous integration with two cores and ten minutes.
    fn default() -> Self {
        Settings {
            cycles: 150_000,
            states: 100_000,
            cases: 300_000,
            operations: 3_000_000,
            turns: 150,
            kills: 400,
            seed: 1,
            seconds: 540,
            at_once: 2,
            peer: None,
            without_peer: false,
            scratch: std::env::temp_dir(),
            commit: "unknown".to_string(),
            json: PathBuf::from("reliability.json"),
        }
    }
}

const USAGE: &str = "usage: reliability [--cycles N] [--states N] [--cases N] [--operations N] [--turns N] [--kills N] [--seed N] \
                     [--seconds S] [--at-once N] [--peer DIR | --without-peer] [--scratch DIR] [--commit TEXT] [--json FILE]";

fn main() -> ExitCode {
    let settings = match parse(lexopt::Parser::from_env()) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let start = Instant::now();
    let campaigns = plan::campaigns(&settings);
    let mut done = Vec::new();
    let mut waiting: VecDeque<_> = campaigns.iter().enumerate().collect();
    let mut running: Vec<Running> = Vec::new();
    let mut told = 0;
    while !(waiting.is_empty() && running.is_empty()) {
        while running.len() < settings.at_once.max(1)
            && let Some((number, campaign)) = waiting.pop_front()
        {
            match Running::start(number, campaign, settings.seconds) {
                Ok(job) => running.push(job),
                Err(error) => done.push(Done::not_run(number, campaign, error.to_string())),
            }
        }
        std::thread::sleep(LOOK);
        for job in running.extract_if(.., Running::has_ended) {
            let one = job.end();
            println!("{:7.1} s  {}", start.elapsed().as_secs_f64(), table::sentence(&one));
            done.push(one);
        }
        let seconds = start.elapsed().as_secs();
        if seconds / TELL_S > told && !running.is_empty() {
            told = seconds / TELL_S;
            let names: Vec<_> = running.iter().map(|job| job.name()).collect();
            println!("{seconds:5}   s  running: {}; {} to come", names.join(", "), waiting.len());
        }
    }
    done.sort_by_key(|one| one.number);
    let seconds = start.elapsed().as_secs_f64();
    print!("\n{}", table::text(&done, seconds));
    if let Err(error) = std::fs::write(&settings.json, table::json(&settings, &done, seconds)) {
        eprintln!("{}: {error}", settings.json.display());
        return ExitCode::from(2);
    }
    let missing = |one: &Done| one.is_missing() && !settings.without_peer;
    if done.iter().any(|one| one.has_failed() || missing(one)) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn parse(mut arguments: lexopt::Parser) -> Result<Settings, lexopt::Error> {
    use lexopt::prelude::*;
    let mut settings = Settings::default();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("cycles") => settings.cycles = arguments.value()?.parse()?,
            Long("states") => settings.states = arguments.value()?.parse()?,
            Long("cases") => settings.cases = arguments.value()?.parse()?,
            Long("operations") => settings.operations = arguments.value()?.parse()?,
            Long("turns") => settings.turns = arguments.value()?.parse()?,
            Long("kills") => settings.kills = arguments.value()?.parse()?,
            Long("seed") => settings.seed = arguments.value()?.parse()?,
            Long("seconds") => settings.seconds = arguments.value()?.parse()?,
            Long("at-once") => settings.at_once = arguments.value()?.parse()?,
            Long("peer") => settings.peer = Some(arguments.value()?.into()),
            Long("without-peer") => settings.without_peer = true,
            Long("scratch") => settings.scratch = arguments.value()?.into(),
            Long("commit") => settings.commit = arguments.value()?.string()?,
            Long("json") => settings.json = arguments.value()?.into(),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(settings)
}
