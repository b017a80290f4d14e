//! `ldb`: shows and changes a database from the shell. The commands, flags and output lines are those of RocksDB's
//! `ldb`.
//!
//! ```text
//! args      the command line          commands  the table of commands and the help text
//! settings  options: OPTIONS file, flags         session   the open database and the arguments
//! data scan idump query    keys        load      lines in      admin     families, compaction, sizes
//! remote    compactions of other processes
//! repair    damage                           ttl       values with a time
//! manifest wal files blob  files       show      how bytes are printed        json   the same for scripts
//! ```
//! A command that only reads opens the database for reading. It takes no lock and changes nothing on disk. RocksDB's
//! tool guesses in two cases, and this tool does not. RocksDB's tool ends a key or a value at its first zero byte,
//! and this tool prints all bytes. A command that writes opens a column family without a merge operator without an
//! operator, and RocksDB's tool uses `stringappend` with `:`.

mod admin;
mod args;
mod blob;
mod commands;
mod data;
mod files;
mod idump;
mod json;
mod load;
mod manifest;
mod outcome;
mod query;
mod remote;
mod repair;
mod scan;
mod session;
mod settings;
pub(crate) mod show;
mod transfer;
mod tree;
mod ttl;
mod wal;

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::progress;
use args::Args;
pub use outcome::Io;
pub(crate) use outcome::{Failure, Outcome};
use session::Session;

/// Runs the program on the streams of the process. Returns its exit status.
pub fn main() -> i32 {
    let args: Vec<_> = std::env::args_os().skip(1).map(OsStringExt::into_vec).collect();
    // The progress thread also writes to standard error, so this thread does not hold its lock.
    let (mut out, mut err) = (io::BufWriter::new(io::stdout().lock()), io::stderr());
    let mut input = io::BufReader::new(io::stdin());
    let err_is_terminal = err.is_terminal();
    run(&args, &mut Io { input: &mut input, out: &mut out, err: &mut err, err_is_terminal })
}

/// Runs one command line, without the program's name. Returns the exit status: 0, or 1 with a message on `err`.
pub fn run(args: &[Vec<u8>], io: &mut Io<'_>) -> i32 {
    let outcome = match args {
        [] => return help(io, true),
        [only] if only == b"--help" => return help(io, false),
        [only] if only == b"--version" => writeln!(
            io.out,
            "ldb from Ironstone {}, compatible with RocksDB 11.8.1",
            env!("CARGO_PKG_VERSION")
        )
        .map_err(Failure::from),
        _ => command(args, io),
    };
    let flushed = io.out.flush().map_err(Failure::from);
    match outcome.and(flushed) {
        Ok(()) => 0,
        Err(Failure(text)) => {
            // Standard error is not writable, so the message is lost.
            let _ = if text.is_empty() { Ok(()) } else { writeln!(io.err, "{text}") };
            1
        }
    }
}

/// Runs a command with its progress on standard error: on a terminal, and as JSON lines with `--json`. If standard output is a
/// terminal too, a command that prints each entry shows no progress there.
fn run_long(
    command: &commands::Command,
    source: commands::Source,
    session: &mut Session,
    io: &mut Io<'_>,
) -> Outcome {
    let prints = source == commands::Source::Printed && io::stdout().is_terminal();
    let form = if session.json {
        progress::Form::Lines
    } else if io.err_is_terminal && !prints {
        progress::Form::Terminal
    } else {
        return (command.run)(session, io);
    };
    if source == commands::Source::Input {
        let total = std::fs::metadata("/dev/stdin").ok().filter(std::fs::Metadata::is_file).map(|m| m.len());
        let (mut input, bytes) = progress::CountedInput::new(io.input);
        let done = move || bytes.load(std::sync::atomic::Ordering::Relaxed);
        let progress = progress::Progress::start(form, command.name, total, done);
        let mut io = Io { input: &mut input, out: io.out, err: io.err, err_is_terminal: io.err_is_terminal };
        return (command.run)(session, &mut io).inspect(|()| progress.succeeded());
    }
    let path = match source {
        commands::Source::Backup => session.args.path("backup_dir"),
        commands::Source::File => {
            session.args.params.first().map(|path| PathBuf::from(OsStr::from_bytes(path)))
        }
        _ => session.args.path("path").or_else(|| session.dir().ok()),
    };
    // The command reads an unknown part of the files if the command line limits the keys.
    let limited = ["from", "to", "max_keys"].iter().any(|name| session.args.has(name));
    let total = path.filter(|_| !limited).map(|path| progress::path_bytes(&session.env, &path));
    let counters = progress::counted(&mut session.env);
    let done = move || progress::read_bytes(&counters);
    let progress = progress::Progress::start(form, command.name, total, done);
    (command.run)(session, io).inspect(|()| progress.succeeded())
}

fn help(io: &mut Io<'_>, as_error: bool) -> i32 {
    let text = commands::help();
    let written =
        if as_error { io.err.write_all(text.as_bytes()) } else { io.out.write_all(text.as_bytes()) };
    let flushed = io.out.flush();
    i32::from(as_error || written.is_err() || flushed.is_err())
}

fn command(args: &[Vec<u8>], io: &mut Io<'_>) -> Outcome {
    let args = Args::parse(args)?;
    let Some(command) = commands::find(&args.command) else {
        return Err(Failure::new(format!("Unknown command {}\n\n{}", args.command, commands::help())));
    };
    command.check(&args)?;
    let failed = |Failure(text)| match text.as_str() {
        "" => Failure(text),
        _ => Failure(format!("Failed: {text}")),
    };
    let mut session = Session::new(args, command.writes).map_err(failed)?;
    let outcome = match command.progress {
        Some(source) => run_long(command, source, &mut session, io),
        None => (command.run)(&mut session, io),
    };
    // The close can fail too, for example if it flushes the WAL.
    let closed = session.close().map_err(Failure::from);
    outcome.and(closed).map_err(failed)
}
