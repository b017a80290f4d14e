//! `kvdrv`: the driver through which the black-box scripts of `.ci/blackbox` use this engine.
//!
//! ```text
//!  kvdrv apply DIR [options]       reads operations from standard input, one on each line; prints ACK n, NACK n, CLOSED
//!  kvdrv check DIR [options]       opens; prints every row forward, backward and by key, then DONE
//!  kvdrv serve SECONDS [options]   reads lines "DIR OUT"; checks each DIR in a new process, with its output in OUT
//!
//!  --opts TEXT       options in RocksDB's string form        --keys FILE   keys to get, "FAMILY HEX" lines
//!  --load-options    the options of the newest OPTIONS file      --ro          opens for reading
//!  --no-gets  --no-reverse  --deep  --reopen                 choose the reads of `check`
//! ```
//! Keys and values are hexadecimal, `-` when empty. Errors are lines `E STAGE MESSAGE`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]
#![forbid(unsafe_code)]

mod apply;
mod check;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;

use ironstone::{Db, Family, FamilyDescriptor, Options};

/// The first argument of the command line.
#[derive(Clone, Copy, Debug, Default)]
enum Verb {
    Apply,
    #[default]
    Check,
    /// Runs a process for each directory. A process may take `limit_s` seconds.
    Serve {
        limit_s: u64,
    },
}

/// The arguments of the command line.
#[derive(Clone, Debug, Default)]
struct Settings {
    verb: Verb,
    dir: PathBuf,
    options: String,
    keys: Option<PathBuf>,
    read_only: bool,
    load_options: bool,
    no_gets: bool,
    no_reverse: bool,
    deep: bool,
    reopen: bool,
}

const USAGE: &str = "usage: kvdrv apply|check DIR | serve SECONDS  [--opts TEXT] [--keys FILE] [--ro] [--load-options] \
                     [--no-gets] [--no-reverse] [--deep] [--reopen]";

fn main() -> ExitCode {
    let settings = match parse(lexopt::Parser::from_env()) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let code = match settings.verb {
        Verb::Apply => apply::run(&settings),
        Verb::Check => check::run(&settings),
        Verb::Serve { limit_s } => serve::run(limit_s, &settings.arguments()),
    };
    ExitCode::from(code)
}

fn parse(mut arguments: lexopt::Parser) -> Result<Settings, lexopt::Error> {
    use lexopt::prelude::*;
    let mut settings = Settings::default();
    let mut words = Vec::new();
    while let Some(argument) = arguments.next()? {
        match argument {
            Value(word) => words.push(word),
            Long("opts") => settings.options = arguments.value()?.string()?,
            Long("keys") => settings.keys = Some(arguments.value()?.into()),
            Long("ro") => settings.read_only = true,
            Long("load-options") => settings.load_options = true,
            Long("no-gets") => settings.no_gets = true,
            Long("no-reverse") => settings.no_reverse = true,
            Long("deep") => settings.deep = true,
            Long("reopen") => settings.reopen = true,
            _ => return Err(argument.unexpected()),
        }
    }
    let [verb, operand] = &words[..] else { return Err("a verb and one operand are necessary".into()) };
    match verb.to_str() {
        Some("apply") => (settings.verb, settings.dir) = (Verb::Apply, operand.into()),
        Some("check") => (settings.verb, settings.dir) = (Verb::Check, operand.into()),
        Some("serve") => settings.verb = Verb::Serve { limit_s: operand.parse()? },
        _ => return Err(lexopt::Error::UnexpectedArgument(verb.clone())),
    }
    Ok(settings)
}

impl Settings {
    /// Returns the options as arguments of a process that checks one directory.
    fn arguments(&self) -> Vec<std::ffi::OsString> {
        let mut out = vec!["--opts".into(), self.options.clone().into()];
        if let Some(keys) = &self.keys {
            out.extend(["--keys".into(), keys.into()]);
        }
        let flags = [
            (self.read_only, "--ro"),
            (self.load_options, "--load-options"),
            (self.no_gets, "--no-gets"),
            (self.no_reverse, "--no-reverse"),
            (self.deep, "--deep"),
            (self.reopen, "--reopen"),
        ];
        out.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.into()));
        out
    }
}

/// A failure: the name of the stage, and the message, as the protocol prints them.
struct Stage(&'static str, String);

fn at(stage: &'static str) -> impl Fn(ironstone::Error) -> Stage {
    move |error| Stage(stage, error.to_string())
}

impl Stage {
    fn print(&self) {
        println!("E {} {}", self.0, self.1.replace('\n', " "));
    }
}

/// An open database.
struct Session {
    db: Db,
    /// The options of column families that are created later.
    family: ironstone::FamilyOptions,
}

impl Session {
    fn open(settings: &Settings) -> Result<Session, Stage> {
        let mut options = Options::default();
        let mut families = Vec::new();
        if settings.load_options {
            use engine::options::file::{ReadConfig, load_latest};
            let loaded = load_latest(&options.db.env, &settings.dir, &ReadConfig::default());
            let (_, file) = loaded.map_err(at("options"))?;
            options.db = file.db;
            families
                .extend(file.families.into_iter().map(|(name, family)| FamilyDescriptor::new(name, family)));
        } else {
            options.update(&settings.options).map_err(at("options"))?;
            match ironstone::list_column_families(&settings.dir, &options.db) {
                Ok(names) => {
                    families
                        .extend(names.into_iter().map(|n| FamilyDescriptor::new(n, options.family.clone())));
                }
                // The directory has no database yet.
                Err(_) if !settings.read_only && !settings.dir.join("CURRENT").exists() => {}
                Err(error) => return Err(at("open")(error)),
            }
        }
        let family = options.family.clone();
        let db = if settings.read_only {
            Db::open_read_only_with_families(&settings.dir, options, families)
        } else {
            Db::open_with_families(&settings.dir, options, families)
        };
        Ok(Session { db: db.map_err(at("open"))?, family })
    }

    fn find(&self, name: &str) -> Result<Family, Stage> {
        self.db.family(name).map_err(|_| Stage("usage", "no such column family".to_string()))
    }
}

fn unhex(text: &str) -> Result<Vec<u8>, Stage> {
    let digits = if text == "-" { "" } else { text };
    testkit::hex::try_decode(digits).ok_or_else(|| Stage("usage", "bad hex".to_string()))
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".to_string() } else { testkit::hex::lower(bytes) }
}
