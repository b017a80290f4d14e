//! `stress`: several threads on one database for a given time, with drawn options, failing calls, reopens and kills.
//!
//! ```text
//!  stress [--seconds S] [--threads N] [--seed N] [--scratch DIR] [--quiet]
//!         [--life S] [--killed PERCENT] [--flat PERCENT] [--csv FILE] [--chart FILE.svg] [--kind KIND]
//! ```
//! A child process opens the database with drawn options, runs its threads for some time, closes the
//! database, and starts again. In some epochs file-system calls fail. The parent kills the child at times
//! and starts a new child. Each key belongs to one thread. A file that outlives the process holds the
//! expected value of each key. After each open the threads compare every key, and in each epoch they
//! compare every read. After each epoch the child reports its allocations, memory, handles, threads and
//! disk as a line of JSON. Growth without a bound is a failure. After several epochs the child brings the
//! database to a fixed state and reports again (`rest`). The last two lines are a sentence and the figures
//! as JSON.
//!
//! `--killed` is the percentage of processes that are killed (65). `--life` is the life of the other processes in
//! seconds (60). With `--flat`, memory, handles, threads and disk must be flat: their medians at rest in the last
//! quarter of the run may exceed those of the quarter before by at most this percentage. `--csv` and `--chart` write
//! the series minute by minute (`series`).
//!
//! `--kind` is the kind of the databases: `plain`, `toggled` (timestamps that an open turns on or off), or with transactions `optimistic`, `committed`,
//! `dated` (commits at a timestamp), `prepared`, `unprepared`. Without `--kind`, each process draws a kind; with `--flat`, the kind is `plain`.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

mod crowd;
mod expected;
mod gauge;
mod history;
mod ingest;
mod parent;
mod rest;
mod series;
mod store;
mod transact;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static HEAP: ironstone_fuzz::meter::Total = ironstone_fuzz::meter::Total;

/// The arguments of the command line.
#[derive(Clone, Debug)]
pub struct Settings {
    pub seconds: u64,
    pub threads: usize,
    pub seed: u64,
    pub scratch: PathBuf,
    pub quiet: bool,
    /// The life of a process that is not killed, in seconds.
    pub life: u64,
    /// The percentage of processes that are killed.
    pub killed: u64,
    pub flat: Option<f64>,
    pub csv: Option<PathBuf>,
    pub chart: Option<PathBuf>,
    /// The kind of the databases. A parent without a kind draws one for each process.
    pub kind: Option<store::Kind>,
    /// The working directory, if this process is the child.
    pub child: Option<PathBuf>,
}

const USAGE: &str = "usage: stress [--seconds S] [--threads N] [--seed N] [--scratch DIR] [--quiet] [--life S] [--killed PERCENT] \
             [--flat PERCENT] [--csv FILE] [--chart FILE] [--kind KIND]";

fn main() -> ExitCode {
    let settings = match parse(lexopt::Parser::from_env()) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match &settings.child {
        Some(dir) => worker::live(&settings, dir),
        None => parent::campaign(&settings),
    }
}

fn parse(mut arguments: lexopt::Parser) -> Result<Settings, lexopt::Error> {
    use lexopt::prelude::*;
    let mut settings = Settings {
        seconds: 10,
        threads: 4,
        seed: 1,
        scratch: std::env::temp_dir(),
        quiet: false,
        life: 60,
        killed: 65,
        flat: None,
        csv: None,
        chart: None,
        kind: None,
        child: None,
    };
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("seconds") => settings.seconds = arguments.value()?.parse()?,
            Long("threads") => {
                settings.threads = arguments.value()?.parse_with(|text| within(text, 1, 64))?
            }
            Long("seed") => settings.seed = arguments.value()?.parse()?,
            Long("scratch") => settings.scratch = arguments.value()?.into(),
            Long("life") => settings.life = arguments.value()?.parse()?,
            Long("killed") => {
                settings.killed = arguments.value()?.parse_with(|text| within(text, 0, 100))? as u64
            }
            Long("flat") => settings.flat = Some(arguments.value()?.parse()?),
            Long("csv") => settings.csv = Some(arguments.value()?.into()),
            Long("chart") => settings.chart = Some(arguments.value()?.into()),
            Long("kind") => {
                let parse = |name: &str| store::Kind::parse(name).ok_or("not a kind of database");
                settings.kind = Some(arguments.value()?.parse_with(parse)?);
            }
            Long("quiet") => settings.quiet = true,
            Long("child") => settings.child = Some(arguments.value()?.into()),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(settings)
}

/// Reads a number from `min` to `max`.
fn within(text: &str, min: usize, max: usize) -> Result<usize, String> {
    let number = text.parse().map_err(|error| format!("{error}"))?;
    if (min..=max).contains(&number) { Ok(number) } else { Err(format!("not from {min} to {max}")) }
}
