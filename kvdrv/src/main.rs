//! `kvdrv`: the driver that black-box reliability scripts speak to, over this engine.
//!
//! ```text
//!  kvdrv apply DIR [options]       operations from standard input, one a line; ACK n, NACK n, CLOSED
//!  kvdrv check DIR [options]       opens, prints every row forward, backward and by key, DONE
//!  kvdrv serve SECONDS [options]   "DIR OUT" a line; each checked by a fresh process, output to OUT
//!
//!  --opts TEXT       options in RocksDB's string form        --keys FILE   keys to get, "FAMILY HEX" lines
//!  --load-options    those of the newest OPTIONS file        --ro          opens for reading
//!  --no-gets  --no-reverse  --deep  --reopen                 what `check` does
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

/// What the command line says.
#[derive(Clone, Debug, Default)]
struct Settings {
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

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(settings) = parse(&arguments) else {
        eprintln!(
            "usage: kvdrv apply|check DIR | serve SECONDS  [--opts TEXT] [--keys FILE] [--ro] [--load-options] [--no-gets] [--no-reverse] [--deep] [--reopen]"
        );
        return ExitCode::from(2);
    };
    let code = match arguments[0].as_str() {
        "apply" => apply::run(&settings),
        "check" => check::run(&settings),
        _ => serve::run(&arguments[1], &arguments[2..]),
    };
    ExitCode::from(code)
}

fn parse(arguments: &[String]) -> Option<Settings> {
    let [verb, dir, rest @ ..] = arguments else { return None };
    if !["apply", "check", "serve"].contains(&verb.as_str()) {
        return None;
    }
    let mut settings = Settings { dir: dir.into(), ..Settings::default() };
    let mut rest = rest.iter();
    while let Some(name) = rest.next() {
        match name.as_str() {
            "--opts" => settings.options = rest.next()?.clone(),
            "--keys" => settings.keys = Some(rest.next()?.into()),
            "--ro" => settings.read_only = true,
            "--load-options" => settings.load_options = true,
            "--no-gets" => settings.no_gets = true,
            "--no-reverse" => settings.no_reverse = true,
            "--deep" => settings.deep = true,
            "--reopen" => settings.reopen = true,
            _ => return None,
        }
    }
    Some(settings)
}

/// A failure of a stage, as the protocol writes it.
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
    /// For families made later.
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
                // A directory with no database yet.
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
    let bad = || Stage("usage", "bad hex".to_string());
    if text == "-" {
        return Ok(Vec::new());
    }
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return Err(bad());
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).map_err(|_| bad())).collect()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    if bytes.is_empty() {
        return "-".to_string();
    }
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}
