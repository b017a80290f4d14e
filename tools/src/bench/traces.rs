//! Traces of the benchmarks (`--trace_file`, `--block_cache_trace_file`) and the benchmark `replay`.

use std::path::Path;

use base::{Error, Result};
use ironstone::trace::{
    self, BlockCacheTraceOptions, FileTraceReader, FileTraceWriter, ReplayOptions, Replayer, TraceOptions,
};

use super::run::{Run, Thread};

/// Starts the traces of one benchmark that the flags ask for. The file of an earlier benchmark is written anew, as in RocksDB.
/// `replay` is never traced, because it reads the file.
///
/// # Errors
/// InvalidArgument for a wrong flag. Errors of the files.
pub fn start(run: &Run, name: &str) -> Result<()> {
    let flags = &run.flags;
    let env = &run.options.db.env;
    let path = flags.text("trace_file");
    if !path.is_empty() && name != "replay" {
        let writer = FileTraceWriter::create(env, Path::new(path))?;
        trace::start(run.db()?, TraceOptions::default(), Box::new(writer))?;
        println!("Tracing the workload to: [{path}]");
    }
    let path = flags.text("block_cache_trace_file");
    if !path.is_empty() {
        if flags.int("block_cache_trace_sampling_frequency") <= 0 {
            return Err(Error::invalid_argument(
                "Block cache trace sampling frequency must be higher than 0.",
            ));
        }
        if flags.int("block_cache_trace_max_trace_file_size_in_bytes") <= 0 {
            return Err(Error::invalid_argument(
                "The maximum file size for block cache tracing must be higher than 0.",
            ));
        }
        let options = BlockCacheTraceOptions {
            sampling_frequency: flags.count("block_cache_trace_sampling_frequency"),
            max_trace_file_size: flags.count("block_cache_trace_max_trace_file_size_in_bytes"),
        };
        let writer = FileTraceWriter::create(env, Path::new(path))?;
        trace::start_block_cache(run.db()?, options, Box::new(writer))?;
        println!("Tracing block cache accesses to: [{path}]");
    }
    Ok(())
}

/// Ends the traces of the benchmark `name`. RocksDB ends them after the last benchmark, so its trace of the block cache cannot start
/// for a second benchmark.
///
/// # Errors
/// Errors of the files.
pub fn end(run: &Run, name: &str) -> Result<()> {
    if !run.flags.text("trace_file").is_empty() && name != "replay" {
        trace::end(run.db()?)?;
    }
    if !run.flags.text("block_cache_trace_file").is_empty() {
        trace::end_block_cache(run.db()?)?;
    }
    Ok(())
}

/// Makes the calls of `--trace_file` on the database.
///
/// # Errors
/// InvalidArgument without a file, and with several threads. Errors of the file and of the calls.
pub fn replay(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let flags = &run.flags;
    if flags.int("threads") > 1 {
        return Err(Error::invalid_argument("Multi-threaded replay is not yet supported"));
    }
    let path = flags.text("trace_file");
    if path.is_empty() {
        return Err(Error::invalid_argument("Please set --trace_file to be replayed from"));
    }
    let reader = FileTraceReader::open(&run.options.db.env, Path::new(path))?;
    let mut replayer = Replayer::new(run.db()?, run.first()?.existing().cloned(), reader)?;
    replayer.prepare()?;
    replayer.replay(&ReplayOptions {
        num_threads: u32::try_from(flags.count("trace_replay_threads")).unwrap_or(u32::MAX),
        fast_forward: flags.double("trace_replay_fast_forward"),
    })?;
    println!("Replay completed from trace_file: {path}");
    Ok(())
}
