//! `sst_dump`: looks into single table files. RocksDB's program of that name: its commands, its flags, its
//! lines.
//!
//! ```text
//! args   the command line      open   a table file outside of any database      run   the commands
//! ```
//! A table says what its comparator and index need; no database is asked. `--command=recompress` is refused.

mod args;
mod open;
mod run;

use std::io;
use std::os::unix::ffi::OsStringExt;

pub(crate) use run::{FileDump, dump_file, raw_to};

use crate::ldb::Io;

/// The program, on the process's own streams; the result is its exit status.
pub fn main() -> i32 {
    let args: Vec<_> = std::env::args_os().skip(1).map(OsStringExt::into_vec).collect();
    let (mut out, mut err) = (io::BufWriter::new(io::stdout().lock()), io::stderr().lock());
    run(&args, &mut Io { input: &mut io::empty(), out: &mut out, err: &mut err, err_is_terminal: false })
}

/// Runs one command line (without the program's name); the result is the exit status: 0 if a table was found
/// and every table was as it should be, or 1 with a reason on `err`.
pub fn run(args: &[Vec<u8>], io: &mut Io<'_>) -> i32 {
    let outcome = args::Args::parse(args).and_then(|asked| run::run(&asked, io));
    let flushed = io.out.flush();
    match outcome {
        Ok(status) if flushed.is_ok() => status,
        Ok(_) => 1,
        Err(failure) => {
            // Nobody is left to tell if this fails.
            let _ = if failure.text().is_empty() { Ok(()) } else { writeln!(io.err, "{}", failure.text()) };
            1
        }
    }
}
