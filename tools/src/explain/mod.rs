//! The commands of the program `ironstone`.

mod budget;
mod device;
mod planned;
mod serve;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use base::Kind;
use env::Env;
use serve::{Source, serve};

use inspect::contents::{self, Contents};
use inspect::doctor::{self, Finding, Severity};
use inspect::model::{Budget, Database, FileKind, Source as Origin, Weight, load};
use inspect::{bundle, words};

use crate::progress::{self, Progress};

const HELP: &str = "\
ironstone: shows, explains and diagnoses the databases of RocksDB and Ironstone. Without --write, no command
changes a database.

  ironstone inspect PATH [--json]       pages in the browser; --json prints the facts
      --with PATH         also compares with another directory or bundle
      --secondary         also asks a secondary instance, while another process writes the database
      --write             opens the database itself: the pages show its memory and its jobs, and can flush, compact, and set
                          the options of a finding
  ironstone doctor PATH [--json]        findings with evidence, cost and the exact change; status 1 if there are findings
      --deep              also reads every byte: data blocks, blob files and WALs
  ironstone bundle PATH --out FILE [--json]
                                        a support bundle without keys and values
  ironstone plan --size 1TB --write-rate 50MB/s [--options PATH] [--options TEXT] [--json] [--svg FILE]
                                        predicts write, space and read amplification and stalls, without data
      --options PATH      the options of a database: its directory, or an OPTIONS file
      --options TEXT      option text, for example 'num_levels=5;write_buffer_size=64M'; if --options is given again, the
                          later value replaces the earlier value
      --family NAME       the column family of the OPTIONS file (default: default)
      --writes SIZE       bytes to write (default: twice the size)
      --entry-size SIZE   bytes of a key with its value (default: 116)
      --job-rate RATE     bytes per second that a flush or a compaction writes (default: 100MB/s)
      --device DIR        measures the job rate: writes and merges 256 MiB in a new directory below DIR, and deletes it
      --compression F     bytes in an SST file for one byte (default: 1)
  ironstone options --memory 4GB --cores 8 [--goal latency|throughput] [--text] [--json] [--out FILE]
                                        derives all options of a database from three facts, each with its reason;
                                        --text prints only option text, for example for --options of plan
      --out FILE          writes an OPTIONS file, which RocksDB and Ironstone load

bundle, plan and doctor --deep show their progress on a terminal; with --json, standard error has one JSON object for each second.
PATH is the directory of a database (open or closed), a support bundle, or an info log (LOG).
";

/// Runs the program with its arguments, without the name of the program. Returns the exit status: 0, 1 for findings, 2 for
/// an error.
pub fn run(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> i32 {
    match command(args, out) {
        Ok(status) => status,
        Err(text) => {
            // Standard error is not writable, so the message is lost.
            let _ = writeln!(err, "ironstone: {text}");
            2
        }
    }
}

/// The arguments of one call.
#[derive(Debug, Default)]
struct Args {
    command: String,
    path: Option<PathBuf>,
    out: Option<PathBuf>,
    json: bool,
    /// The flags of `inspect`.
    with: Option<PathBuf>,
    secondary: bool,
    write: bool,
    /// True if each byte is read. A flag of `doctor`.
    deep: bool,
    /// True if only the option text is wanted. A flag of `options`.
    text: bool,
    /// The directory in which `plan` measures the job rate.
    device: Option<PathBuf>,
    /// The values of `--options`, in order. A flag of `plan`.
    options: Vec<OsString>,
    /// The other flags with a value of `plan` and `options`, by name.
    flags: std::collections::BTreeMap<&'static str, String>,
}

const PLAN_FLAGS: [&str; 8] =
    ["size", "write-rate", "writes", "entry-size", "job-rate", "compression", "family", "svg"];

const OPTIONS_FLAGS: [&str; 3] = ["memory", "cores", "goal"];

/// Returns the flags with a value that belong to a command.
fn flags_of(command: &str) -> &'static [&'static str] {
    match command {
        "plan" => &PLAN_FLAGS,
        "options" => &OPTIONS_FLAGS,
        _ => &[],
    }
}

fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Args, String> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_args(args);
    let mut found = Args::default();
    while let Some(argument) = parser.next().map_err(|e| e.to_string())? {
        match argument {
            Long("help") | Short('h') => found.command = "help".to_string(),
            Long("version") | Short('V') => found.command = "version".to_string(),
            Long("json") => found.json = true,
            Long("with") if found.command == "inspect" => {
                found.with = Some(PathBuf::from(parser.value().map_err(|e| e.to_string())?))
            }
            Long("secondary") if found.command == "inspect" => found.secondary = true,
            Long("write") if found.command == "inspect" => found.write = true,
            Long("out") => found.out = Some(PathBuf::from(parser.value().map_err(|e| e.to_string())?)),
            Long("deep") if found.command == "doctor" => found.deep = true,
            Long("text") if found.command == "options" => found.text = true,
            Long("device") if found.command == "plan" => {
                found.device = Some(PathBuf::from(parser.value().map_err(|e| e.to_string())?))
            }
            Long("options") if found.command == "plan" => {
                found.options.push(parser.value().map_err(|e| e.to_string())?)
            }
            Long(name) if flags_of(&found.command).contains(&name) => {
                let known = flags_of(&found.command).iter().find(|flag| **flag == name);
                let value = parser.value().map_err(|e| e.to_string())?.to_string_lossy().into_owned();
                found.flags.extend(known.map(|known| (*known, value)));
            }
            Value(value) if found.command.is_empty() => found.command = value.to_string_lossy().into_owned(),
            Value(value) if found.path.is_none() => found.path = Some(PathBuf::from(value)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    found.check()?;
    Ok(found)
}

impl Args {
    /// Rejects a flag that the command would ignore.
    fn check(&self) -> Result<(), String> {
        let command = self.command.as_str();
        let of_pages = self.secondary || self.write || self.with.is_some();
        if self.out.is_some() && !matches!(command, "bundle" | "options") {
            return Err(format!("--out belongs to bundle and options, not to {command:?}; see --help"));
        }
        if self.out.is_some() && command == "options" && (self.json || self.text) {
            return Err("--out writes an OPTIONS file, so --json and --text have no effect".to_string());
        }
        if self.json && !matches!(command, "inspect" | "doctor" | "bundle" | "plan" | "options" | "help") {
            return Err(format!("{command:?} has no --json; see --help"));
        }
        if self.json && self.text {
            return Err("--json and --text exclude each other".to_string());
        }
        if self.path.is_some() && command == "plan" {
            return Err("plan takes no path: it simulates a tree with --size and --options, and reads no database; see --help".to_string());
        }
        if self.path.is_some() && command == "options" {
            return Err(
                "options takes no path: `ironstone inspect PATH` shows the options of a database; see --help"
                    .to_string(),
            );
        }
        if self.json && of_pages {
            return Err(
                "--json prints the facts of one path, without --with, --secondary and --write".to_string()
            );
        }
        Ok(())
    }
}

fn command(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write) -> Result<i32, String> {
    let args = parse(args)?;
    let env = Env::posix();
    let path = || args.path.clone().ok_or_else(|| format!("{} needs a path; see --help", args.command));
    let failed = |e: std::io::Error| format!("writing the output: {e}");
    match args.command.as_str() {
        "help" | "" => out.write_all(HELP.as_bytes()).map(|()| 0).map_err(failed),
        "version" => writeln!(out, "ironstone {}", env!("CARGO_PKG_VERSION")).map(|()| 0).map_err(failed),
        "inspect" if args.json => {
            let db = read(&env, &path()?)?;
            let findings = doctor::examine(&db);
            let value = serde_json::json!({ "database": db, "findings": findings });
            writeln!(out, "{value:#}").map(|()| 0).map_err(failed)
        }
        "inspect" => {
            let source = match (args.secondary, args.write) {
                (true, true) => return Err("--secondary and --write exclude each other".to_string()),
                (true, false) => Source::Secondary,
                (false, true) => Source::Database,
                (false, false) => Source::Files,
            };
            serve(&env, path()?, args.with.clone(), source, out).map(|()| 0)
        }
        "doctor" => {
            let path = path()?;
            let mut db = read(&env, &path)?;
            let contents = args.deep.then(|| deep(&args, &env, &path, &mut db)).transpose()?;
            let findings = doctor::examine(&db);
            match args.json {
                true => {
                    let value = serde_json::json!({ "findings": findings, "contents": contents });
                    writeln!(out, "{value:#}").map_err(failed)?;
                }
                false => report(&db, contents, &findings, out).map_err(failed)?,
            }
            Ok(i32::from(!findings.is_empty()))
        }
        "bundle" => {
            let (path, file) = (path()?, args.out.clone().ok_or("bundle needs --out FILE")?);
            let mut counting = env.clone();
            let counters = progress::counted(&mut counting);
            let total = env.fs.is_dir(&path).unwrap_or(false).then(|| progress::directory_bytes(&env, &path));
            let progress = progress(&args, "bundle", total, move || progress::read_bytes(&counters));
            let db = read(&counting, &path)?;
            let text = bundle::write(&counting, &path, &db).map_err(|e| e.to_string())?;
            std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&file)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(|e| format!("{}: {e}", file.display()))?;
            ended(progress);
            let size = words::bytes(text.len() as u64);
            writeln!(out, "wrote {} ({size}); it has no keys and no values", file.display())
                .map_err(failed)?;
            Ok(0)
        }
        "plan" => planned::show(&args, &env, out),
        "options" => budget::show(&args, out),
        other => Err(format!("no such command: {other}; see --help")),
    }
}

/// Reads every byte of the directory of a database, and adds the faults to the facts.
fn deep(args: &Args, env: &Env, path: &Path, db: &mut Database) -> Result<Contents, String> {
    if db.source != Origin::Directory {
        return Err("--deep needs the directory of a database".to_string());
    }
    let mut counting = env.clone();
    let counters = progress::counted(&mut counting);
    let total = Some(progress::directory_bytes(env, path));
    let progress = progress(args, "doctor", total, move || progress::read_bytes(&counters));
    let contents = contents::read(&counting, path, db).map_err(|e| format!("--deep: {e}"))?;
    ended(progress);
    Ok(contents)
}

/// Shows the progress of long work on standard error: JSON lines with `--json`, a line on a terminal, and nothing otherwise.
fn progress(
    args: &Args,
    what: &str,
    total: Option<u64>,
    done: impl Fn() -> u64 + Send + 'static,
) -> Option<Progress> {
    let form = match (args.json, std::io::stderr().is_terminal()) {
        (true, _) => progress::Form::Lines,
        (false, true) => progress::Form::Terminal,
        (false, false) => return None,
    };
    Some(Progress::start(form, what, total, done))
}

/// Ends the progress of work that succeeded.
fn ended(progress: Option<Progress>) {
    progress.iter().for_each(Progress::succeeded);
}

/// Reads a directory, a bundle, or an info log.
fn read(env: &Env, path: &Path) -> Result<Database, String> {
    let is_file = env.fs.exists(path).unwrap_or(false) && !env.fs.is_dir(path).unwrap_or(false);
    let read = match is_file && bundle::is_bundle(env, path).unwrap_or(false) {
        true => bundle::read(env, path),
        false => load(env, path, &Budget::COMMAND),
    };
    read.map_err(|error| match error.kind() {
        Kind::NotFound => format!("{}: {}{}", path.display(), error.message(), near(env, path)),
        _ => error.to_string(),
    })
}

/// The largest number of directories that the error about a wrong path names.
const NEAR_MAX: usize = 3;

/// Returns a hint about databases near a path that is no database: the subdirectories with the file CURRENT.
fn near(env: &Env, path: &Path) -> String {
    let mut found = env.fs.list(path).unwrap_or_default();
    found.retain(|name| env.fs.exists(&path.join(name).join("CURRENT")).unwrap_or(false));
    found.sort();
    match found.as_slice() {
        [] => String::new(),
        found => {
            let names: Vec<String> =
                found.iter().take(NEAR_MAX).map(|name| path.join(name).display().to_string()).collect();
            let more = if found.len() > NEAR_MAX { ", ..." } else { "" };
            format!("; a database is in {}{more}", names.join(", "))
        }
    }
}

/// The largest number of column families that one finding of a report names.
const FAMILIES_MAX: usize = 8;

/// Prints the findings. `contents` is what was read, if each byte was read.
fn report(
    db: &Database,
    contents: Option<Contents>,
    findings: &[Finding],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let logged;
    let (db, place) = match db.source {
        Origin::InfoLog => {
            logged = db.with_logged_levels();
            (&logged, ": an info log, at its last statistics:")
        }
        _ => (db, ":"),
    };
    match db.source {
        Origin::InfoLog if db.log.stats.levels.is_empty() => writeln!(
            out,
            "{}: an info log without statistics, so the rules that need the sizes of the levels did not run. Give the \
             directory of the database, or a LOG that is older than stats_dump_period_sec (10 minutes).",
            db.name
        )?,
        Origin::Directory if db.manifest.is_none() => writeln!(
            out,
            "{}: {} in {} on disk; without a readable MANIFEST, the levels and the column families are unknown",
            db.name,
            words::bytes(db.bytes_of(FileKind::Table)),
            words::of(db.count_of(FileKind::Table) as u64, "SST file")
        )?,
        _ => writeln!(
            out,
            "{}{place} {} in {}, {}",
            db.name,
            words::bytes(db.sst_bytes()),
            words::of(db.sst_count() as u64, "SST file"),
            words::of(db.families.len() as u64, "column family")
        )?,
    }
    if let Some(read) = contents {
        let (files, entries) = (words::of(read.files, "file"), words::of(read.entries, "readable entry"));
        writeln!(out, "read every byte: {files}, {}, {entries}", words::bytes(read.bytes))?;
        for note in db.problems.iter().filter(|problem| problem.weight == Weight::Note) {
            let place = note.offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
            writeln!(out, "note: {}{place}: {}", note.file, note.text)?;
        }
    }
    if findings.is_empty() {
        let limit = match db.source {
            Origin::Directory if contents.is_none() => {
                ". doctor does not read data blocks and WALs; `doctor --deep` reads every byte."
            }
            _ => "",
        };
        return writeln!(out, "no findings{limit}");
    }
    for group in doctor::groups(findings) {
        let finding = group.first();
        let mark = match finding.severity {
            Severity::Critical => "CRITICAL",
            Severity::Warning => "WARNING",
            Severity::Advice => "ADVICE",
        };
        let family = match group.families(FAMILIES_MAX) {
            (names, _) if names.is_empty() => String::new(),
            (names, 0) => format!(" [{}]", names.join(", ")),
            (names, more) => format!(" [{} and {more} more]", names.join(", ")),
        };
        writeln!(out, "\n{mark}{family} {} ({})", finding.title, finding.rule)?;
        for line in group.evidence(FAMILIES_MAX) {
            writeln!(out, "  evidence: {line}")?;
        }
        writeln!(out, "  cost:     {}", finding.cost)?;
        writeln!(out, "  change:   {}", finding.change_sentence())?;
    }
    writeln!(out, "\n{}", words::of(doctor::groups(findings).len() as u64, "finding"))
}
