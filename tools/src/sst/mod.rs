//! `sst_dump`: shows single SST files. The commands, flags and output lines are those of RocksDB's `sst_dump`.
//!
//! ```text
//! args   the command line      open   a table file outside of any database      run   the commands
//! recompress   the sizes of the table with other compressions
//! ```
//! An SST file records the names of its comparator and index, so no database is needed.

mod args;
mod numbers;
mod open;
mod recompress;
mod run;

use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStringExt;

pub(crate) use run::{FileDump, dump_file, raw_to};

use crate::ldb::Io;

/// Runs the program on the streams of the process. Returns its exit status.
pub fn main() -> i32 {
    let args: Vec<_> = std::env::args_os().skip(1).map(OsStringExt::into_vec).collect();
    // The progress thread also writes to standard error, so this thread does not hold its lock.
    let (mut out, mut err) = (io::BufWriter::new(io::stdout().lock()), io::stderr());
    let err_is_terminal = err.is_terminal();
    run(&args, &mut Io { input: &mut io::empty(), out: &mut out, err: &mut err, err_is_terminal })
}

/// Runs one command line, without the program's name. Returns the exit status: 0 if it found an SST file and every
/// SST file was sound, or 1 with a message on `err`.
pub fn run(args: &[Vec<u8>], io: &mut Io<'_>) -> i32 {
    let outcome = args::Args::parse(args).and_then(|asked| run::run(&asked, io));
    let flushed = io.out.flush();
    match outcome {
        Ok(status) if flushed.is_ok() => status,
        Ok(_) => 1,
        Err(failure) => {
            // Standard error is not writable, so the message is lost.
            let _ = if failure.text().is_empty() { Ok(()) } else { writeln!(io.err, "{}", failure.text()) };
            1
        }
    }
}
