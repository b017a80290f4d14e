//! Benchmarks that copy or move files: backup, restore, ingestexternalfile.

use std::path::PathBuf;

use base::Result;
use env::rate::{Mode, RateLimiter, RateOptions};
use ironstone::{
    BackupEngine, BackupEngineOptions, IngestExternalFileOptions, RestoreOptions, SstFileWriter,
};
use std::sync::Arc;

use super::flags::Flags;
use super::report::Op;
use super::run::{Run, Thread};

/// Returns the directory of the backups: `--backup_dir`, or `backup` in the database.
pub fn backup_dir(run: &Run) -> PathBuf {
    directory(run, "backup_dir", "backup")
}

/// Returns the directory that `restore` fills: `--restore_dir`, or `restore` in the database.
pub fn restore_dir(run: &Run) -> PathBuf {
    directory(run, "restore_dir", "restore")
}

fn directory(run: &Run, flag: &str, default: &str) -> PathBuf {
    match run.flags.text(flag) {
        "" => run.path.join(default),
        path => PathBuf::from(path),
    }
}

/// Returns the rate limiter of a flag in bytes per second, or `None` for 0. The limiter counts reads and writes.
fn limiter(run: &Run, flags: &Flags, flag: &str) -> Result<Option<Arc<RateLimiter>>> {
    if flags.int(flag) <= 0 {
        return Ok(None);
    }
    let options =
        RateOptions { refill_period_us: 100_000, mode: Mode::AllIo, ..RateOptions::new(flags.int(flag)) };
    RateLimiter::new(options, run.options.db.env.clock.clone()).map(Arc::new).map(Some)
}

/// Makes one backup of the whole database. Older backups in the directory are deleted.
pub fn backup(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let options = BackupEngineOptions {
        backup_rate_limiter: limiter(run, &run.flags, "backup_rate_limit")?,
        destroy_old_data: true,
        ..BackupEngineOptions::new(backup_dir(run))
    };
    BackupEngine::open(options, &run.options.db.env)?.create_new_backup(run.db()?).map(drop)
}

/// Restores the newest backup.
pub fn restore(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let options = BackupEngineOptions {
        restore_rate_limiter: limiter(run, &run.flags, "restore_rate_limit")?,
        ..BackupEngineOptions::new(backup_dir(run))
    };
    let to = restore_dir(run);
    let engine = BackupEngine::open_read_only(options, &run.options.db.env)?;
    engine.restore_db_from_latest_backup(&to, &to, &RestoreOptions::default())
}

/// Writes batches of files with the same keys. Ingests each batch by one call that moves the files.
pub fn ingest_external_file(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let flags = &run.flags;
    let db = run.db()?.clone();
    let files_max = flags.count("ingest_external_file_batch_size").max(1);
    let batches = flags.count("ingest_external_file_num_batches").max(1);
    let threads = flags.int("ingest_external_file_file_opening_threads");
    let dir = run.path.join("ingest_tmp");
    let fs = &run.options.db.env.fs;
    fs.create_dir_all(&dir)?;
    let options = IngestExternalFileOptions {
        move_files: true,
        file_opening_threads: threads as i32,
        fill_cache: flags.bool("ingest_external_file_fill_cache"),
        prefetch_lmax_index_and_filter_blocks: flags
            .bool("ingest_external_file_prefetch_lmax_index_and_filter_blocks"),
        ..IngestExternalFileOptions::default()
    };
    let mut values = run.values();
    let mut key = run.keys.buffer();
    let mut bytes = 0u64;
    for batch in 0..batches {
        let mut files = Vec::new();
        for number in 0..files_max {
            let path = dir.join(format!("ingest_{batch}_{number}.sst"));
            let mut file = SstFileWriter::create(&path, &run.options.db, &run.options.family)?;
            for at in 0..run.counts.num {
                run.keys.write(at, &mut key);
                let value = values.next();
                file.put(&key, value)?;
                bytes += (key.len() + value.len()) as u64;
            }
            file.finish()?;
            files.push(path);
        }
        db.ingest_external_files(&files, &options)?;
        thread.finished(1, Op::Write);
        for path in &files {
            if fs.exists(path)? {
                fs.unlink(path)?;
            }
        }
    }
    thread.stats.bytes += bytes;
    let text =
        format!("({batches} batches x {files_max} files, {} keys/file, {threads} threads)", run.counts.num);
    thread.stats.message(&text);
    Ok(())
}
