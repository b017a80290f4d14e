//! Traces of a database: calls, file operations; readers of traces, and replays. Facts: RocksDB `db/c.cc`.

use std::path::Path;

use base::{Error, Result};
use env::Env;
use env::io_trace::IoTracer;
use ironstone::trace::{
    self, BlockCacheTraceOptions, FileTraceReader, FileTraceWriter, ReplayOptions, Replayer, TraceOptions,
    TraceSink,
};

use crate::abi::{Buffer, Owned};
use crate::db::{families_of, rocksdb_column_family_handle_t, rocksdb_t};
use crate::environment::{rocksdb_env_t, rocksdb_envoptions_t};
use crate::trace_options::{
    rocksdb_block_cache_trace_options_t, rocksdb_block_cache_trace_writer_options_t,
    rocksdb_replay_options_t, rocksdb_trace_options_t,
};

/// Reads the records of a trace.
pub struct rocksdb_trace_reader_t {
    reader: FileTraceReader,
}

/// Makes the calls of a trace.
pub struct rocksdb_replayer_t {
    replayer: Replayer,
}

/// Returns the environment for the file of a trace: the given environment, or the environment of the database.
fn env_of(db: &rocksdb_t, env: Option<&rocksdb_env_t>) -> Result<Env> {
    match env {
        Some(env) => Ok(env.env.clone()),
        None => Ok(db.db()?.env().clone()),
    }
}

/// Refuses a trace of file operations before its file is created: the file of the running trace can have the same path.
///
/// # Errors
/// Busy if such a trace runs.
fn check_no_io_trace(db: &rocksdb_t) -> Result<()> {
    match IoTracer::of(&*db.db()?.env().fs) {
        Some(tracer) if tracer.is_on() => Err(Error::busy("a trace of file operations runs")),
        _ => Ok(()),
    }
}

/// Refuses a trace of the block cache before its file is created: the file of the running trace can have the same path.
///
/// # Errors
/// Busy if such a trace runs.
fn check_no_block_cache_trace(db: &rocksdb_t) -> Result<()> {
    match db.db()?.stats().blocks.is_on() {
        true => Err(Error::busy("a trace of the block cache runs")),
        false => Ok(()),
    }
}

fn writer(db: &rocksdb_t, env: Option<&rocksdb_env_t>, path: &Path) -> Result<Box<dyn TraceSink>> {
    Ok(Box::new(FileTraceWriter::create(&env_of(db, env)?, path)?))
}

/// Null options are the default options.
fn trace_options(options: Option<&rocksdb_trace_options_t>) -> TraceOptions {
    options.map_or_else(TraceOptions::default, |options| TraceOptions {
        max_trace_file_size: options.max_trace_file_size,
        sampling_frequency: options.sampling_frequency,
        filter: options.filter,
        preserve_write_order: options.preserve_write_order,
    })
}

c_api! {
    /// Starts a trace of the calls of the database in the file `trace_path`. A file at the path is replaced. Ends a trace that runs
    /// already. `env`: the environment of the file; null is the environment of the database. `options` can be null.
    /// `env_options` has no effect.
    fn rocksdb_start_trace(
        db: at rocksdb_t, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        options: inmaybe rocksdb_trace_options_t, trace_path: path, err
    ) {
        let _ = env_options;
        let open = db.get()?;
        if open.db.stats().trace.is_on() {
            // The file of the running trace can have the same path, so the running trace ends before the file is created.
            let _ = trace::end(&open.front);
        }
        trace::start(&open.front, trace_options(options), writer(db, env, trace_path)?)
    }

    /// Ends the trace of calls. Reports an error if no trace runs, or if a record could not be written.
    fn rocksdb_end_trace(db: at rocksdb_t, err) {
        trace::end(&db.get()?.front)
    }

    /// Starts a trace of the file operations of the database. Of `options`, only `max_trace_file_size` has an effect. Reports Busy if
    /// such a trace runs already. `env_options` has no effect.
    fn rocksdb_start_io_trace(
        db: at rocksdb_t, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        options: inmaybe rocksdb_trace_options_t, trace_path: path, err
    ) {
        let _ = env_options;
        check_no_io_trace(db)?;
        let sink = writer(db, env, trace_path)?;
        trace::start_io(&db.get()?.front, trace_options(options).max_trace_file_size, sink)
    }

    /// Ends the trace of file operations. Does nothing if no such trace runs.
    fn rocksdb_end_io_trace(db: at rocksdb_t, err) {
        trace::end_io(&db.get()?.front)
    }

    /// Starts a trace of the accesses to the block cache. Of `options`, `sampling_frequency` and `max_trace_file_size` have an effect:
    /// one of `sampling_frequency` blocks is recorded, with all its accesses. Reports Busy if such a trace runs already. `env_options` has
    /// no effect.
    fn rocksdb_start_block_cache_trace(
        db: at rocksdb_t, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        options: inmaybe rocksdb_trace_options_t, trace_path: path, err
    ) {
        let _ = env_options;
        check_no_block_cache_trace(db)?;
        let TraceOptions { sampling_frequency, max_trace_file_size, .. } = trace_options(options);
        let options = BlockCacheTraceOptions { sampling_frequency, max_trace_file_size };
        trace::start_block_cache(&db.get()?.front, options, writer(db, env, trace_path)?)
    }

    /// Works like `rocksdb_start_block_cache_trace`, with other options. Null options are the default options.
    fn rocksdb_start_block_cache_trace_with_options(
        db: at rocksdb_t, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        options: inmaybe rocksdb_block_cache_trace_options_t,
        writer_options: inmaybe rocksdb_block_cache_trace_writer_options_t, trace_path: path, err
    ) {
        let _ = env_options;
        check_no_block_cache_trace(db)?;
        let mut own = BlockCacheTraceOptions::default();
        if let Some(options) = options {
            own.sampling_frequency = options.sampling_frequency;
        }
        if let Some(options) = writer_options {
            own.max_trace_file_size = options.max_trace_file_size;
        }
        trace::start_block_cache(&db.get()?.front, own, writer(db, env, trace_path)?)
    }

    /// Ends the trace of the block cache. Does nothing if no such trace runs.
    fn rocksdb_end_block_cache_trace(db: at rocksdb_t, err) {
        trace::end_block_cache(&db.get()?.front)
    }

    /// Opens a trace. The reader stands before the first record. `env_options` has no effect.
    fn rocksdb_trace_reader_create(
        env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t, trace_path: path, err
    ) -> Owned<rocksdb_trace_reader_t> {
        let _ = env_options;
        let env = env.ok_or_else(|| Error::invalid_argument("env must not be null"))?;
        Ok(Owned(rocksdb_trace_reader_t { reader: FileTraceReader::open(&env.env, trace_path)? }))
    }

    /// Returns the next record with its header, and its length. Returns null at the end of the trace, without an error. The
    /// caller frees the record.
    fn rocksdb_trace_reader_read(
        reader: mut rocksdb_trace_reader_t, size: out usize, err
    ) -> Option<Buffer> {
        size.set(0);
        let record = reader.reader.read()?;
        size.set(record.as_ref().map_or(0, Vec::len));
        Ok(record.map(|record| Buffer::bytes(&record)))
    }

    /// Moves before the first record. Reports an error after `rocksdb_trace_reader_close`.
    fn rocksdb_trace_reader_reset(reader: mut rocksdb_trace_reader_t, err) {
        reader.reader.reset()
    }

    /// Closes the file. Later calls report errors.
    fn rocksdb_trace_reader_close(reader: mut rocksdb_trace_reader_t, err) {
        reader.reader.close();
        Ok(())
    }

    /// Destroys the reader. Accepts null.
    fn rocksdb_trace_reader_destroy(reader: own rocksdb_trace_reader_t) {
        drop(reader)
    }

    /// Makes a replayer of the trace of calls `trace_path` on the database. Reads use these column families; without any, the default
    /// column family. `env`: the environment of the file; null is the environment of the database. The replayer keeps the database
    /// open: destroy the replayer before the database is opened again. `env_options` has no effect.
    fn rocksdb_new_default_replayer(
        db: at rocksdb_t, column_families: raw(*mut *mut rocksdb_column_family_handle_t),
        num_column_families: usize, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        trace_path: path, err
    ) -> Owned<rocksdb_replayer_t> {
        let _ = env_options;
        // SAFETY: rule 11 of the header: an aligned array of `num_column_families` live handles. No thread changes the array or
        // destroys a handle during the call.
        let families = unsafe { families_of(db, column_families.cast_const().cast(), num_column_families)? };
        let open = db.get()?;
        let families = families.into_iter().map(|family| open.front.family_from_engine(family));
        let reader = FileTraceReader::open(&env_of(db, env)?, trace_path)?;
        Ok(Owned(rocksdb_replayer_t { replayer: Replayer::new(&open.front, families, reader)? }))
    }

    /// Reads the first record of the trace. Must precede each replay.
    fn rocksdb_replayer_prepare(replayer: mut rocksdb_replayer_t, err) {
        replayer.replayer.prepare()
    }

    /// Returns the time of the first record in microseconds since 1970, or 0 before `rocksdb_replayer_prepare`.
    fn rocksdb_replayer_get_header_timestamp(replayer: in rocksdb_replayer_t) -> u64 {
        replayer.replayer.header_timestamp()
    }

    /// Makes the calls of the trace, up to its end or up to the first call that fails. Null options are the default options. At most 256
    /// threads run.
    fn rocksdb_replayer_replay(
        replayer: mut rocksdb_replayer_t, options: inmaybe rocksdb_replay_options_t, err
    ) {
        let options = options.map_or_else(ReplayOptions::default, |options| ReplayOptions {
            num_threads: options.num_threads,
            fast_forward: options.fast_forward,
        });
        replayer.replayer.replay(&options)
    }

    /// Destroys the replayer. Accepts null.
    fn rocksdb_replayer_destroy(replayer: own rocksdb_replayer_t) {
        drop(replayer)
    }
}
