//! `stress`: several threads on one database for a given time, with drawn options, failing calls, reopens and kills.
//!
//! ```text
//!  stress [--seconds S] [--threads N] [--seed N] [--scratch DIR] [--quiet]
//! ```
//! A child process opens the database with drawn options, lets its threads work for a while, closes, and begins
//! again; in some of these epochs file-system calls fail. Its parent kills it now and then and starts another. Each
//! key belongs to one thread, and what it must read is in a file that outlives the process: after each opening every
//! key is compared, in each epoch every read. After each epoch the child tells its memory, handles, threads and disk,
//! a line of JSON each; growth without bound is a failure. The last two lines are a sentence and the same as JSON.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

mod expected;
mod gauge;
mod parent;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Clone, Debug)]
pub struct Settings {
    pub seconds: u64,
    pub threads: usize,
    pub seed: u64,
    pub scratch: PathBuf,
    pub quiet: bool,
    /// This process is the child; the directory to work in.
    pub child: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Some(settings) = parse(std::env::args().skip(1)) else {
        eprintln!("usage: stress [--seconds S] [--threads N] [--seed N] [--scratch DIR] [--quiet]");
        return ExitCode::from(2);
    };
    match &settings.child {
        Some(dir) => worker::live(&settings, dir),
        None => parent::campaign(&settings),
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Settings> {
    let mut settings =
        Settings { seconds: 10, threads: 4, seed: 1, scratch: std::env::temp_dir(), quiet: false, child: None };
    while let Some(name) = arguments.next() {
        let mut next = || arguments.next();
        match name.as_str() {
            "--seconds" => settings.seconds = next()?.parse().ok()?,
            "--threads" => settings.threads = next()?.parse().ok().filter(|n| (1..=64).contains(n))?,
            "--seed" => settings.seed = next()?.parse().ok()?,
            "--scratch" => settings.scratch = next()?.into(),
            "--quiet" => settings.quiet = true,
            "--child" => settings.child = Some(next()?.into()),
            _ => return None,
        }
    }
    Some(settings)
}
