//! `differ`: Ironstone and RocksDB side by side.
//!
//! ```text
//!  differ --peer LIBRARY [--seed N] [--seconds S] [--operations N] [--len N] [--threads N] [--scratch DIR] [--failures N]
//!         [--no-reduce] [--timestamps]
//!  differ --peer LIBRARY --transactions ...                          transaction databases: see `transact`
//!  differ --peer LIBRARY --turns [--rounds N] [--tools DIR] ...      one directory in turns: see `turns`
//! ```
//! Each seed is the life of a pair of databases. Both run equal random operations, and the program compares
//! every answer. A difference is reported with its seed, the command that repeats the seed, and its reduced
//! script. Child processes do the work, so a crash of either engine is a finding too. The program ends
//! after the given seconds or operations, whichever limit is reached first. Without limits it runs one seed
//! on every thread. Progress goes to standard error. The last two lines are a sentence and the figures as
//! JSON; the exit status is 1 if an answer differed.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

mod ours;
mod pair;
mod rows;
mod script;
mod store;
mod theirs;
mod transact;
mod turns;
mod watch;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of the command line.
#[derive(Clone, Debug)]
pub struct Settings {
    pub peer: PathBuf,
    pub seed: u64,
    pub seconds: u64,
    /// The number of operations to compare. 0: as many as the time allows.
    pub operations: u64,
    pub len: usize,
    pub threads: u64,
    pub scratch: PathBuf,
    pub failures: u64,
    pub reduce: bool,
    /// If set, one life in four has column families with timestamps.
    pub timestamps: bool,
    /// Compares transaction databases.
    pub transactions: bool,
    /// The number of this worker process. `None` in the parent.
    pub worker: Option<u64>,
    /// Runs the turns on one directory instead of two databases side by side.
    pub turns: bool,
    /// The number of turns. 0: as many as the time allows.
    pub rounds: u64,
    /// The directory with RocksDB's tools, for the turns.
    pub tools: Option<PathBuf>,
    /// The turn that this child process takes.
    pub turn: Option<turns::Turn>,
}

const USAGE: &str = "usage: differ --peer LIBRARY [--seed N] [--seconds S] [--operations N] [--len N] [--threads N] \
                     [--scratch DIR] [--failures N] [--no-reduce] [--timestamps] [--transactions] \
                     [--turns [--rounds N] [--tools DIR]]";

fn main() -> ExitCode {
    let settings = match parse(lexopt::Parser::from_env()) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match (&settings.turn, settings.worker) {
        (Some(turn), _) => turns::live(&settings, turn),
        (None, Some(number)) => work::worker(&settings, number),
        (None, None) if settings.turns => turns::campaign(&settings),
        (None, None) => work::campaign(&settings),
    }
}

fn parse(mut arguments: lexopt::Parser) -> Result<Settings, lexopt::Error> {
    use lexopt::prelude::*;
    let mut settings = Settings {
        peer: PathBuf::new(),
        seed: 1,
        seconds: 0,
        operations: 0,
        len: 2000,
        threads: 2,
        scratch: std::env::temp_dir(),
        failures: 5,
        reduce: true,
        timestamps: false,
        transactions: false,
        worker: None,
        turns: false,
        rounds: u64::MAX,
        tools: None,
        turn: None,
    };
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("peer") => settings.peer = arguments.value()?.into(),
            Long("scratch") => settings.scratch = arguments.value()?.into(),
            Long("seed") => settings.seed = arguments.value()?.parse()?,
            Long("seconds") => settings.seconds = arguments.value()?.parse()?,
            Long("operations") => settings.operations = arguments.value()?.parse()?,
            Long("len") => settings.len = arguments.value()?.parse()?,
            Long("threads") => settings.threads = arguments.value()?.parse()?,
            Long("failures") => settings.failures = arguments.value()?.parse()?,
            Long("worker") => settings.worker = Some(arguments.value()?.parse()?),
            Long("turns") => settings.turns = true,
            Long("rounds") => settings.rounds = arguments.value()?.parse()?,
            Long("tools") => settings.tools = Some(arguments.value()?.into()),
            Long("turn") => settings.turn = Some(turns::Turn::parse(&mut arguments)?),
            Long("no-reduce") => settings.reduce = false,
            Long("timestamps") => settings.timestamps = true,
            Long("transactions") => settings.transactions = true,
            _ => return Err(argument.unexpected()),
        }
    }
    if settings.peer.as_os_str().is_empty() || settings.threads == 0 {
        return Err("--peer and at least one thread are necessary".into());
    }
    Ok(settings)
}
