//! Checkpoints, backups, restores and external SST files. The output lines are those of RocksDB's tool.

use std::sync::Arc;

use env::logger::{LogLevel, Logger, StderrLogger};
use ironstone::{
    BackupEngine, BackupEngineOptions, Checkpoint, Db, IngestExternalFileArg, IngestExternalFileOptions,
    RestoreOptions, SstFileWriter,
};

use super::session::Session;
use super::{Failure, Io, Outcome, show};

/// Lines of a dump that hold no entry.
const NOT_ROWS: [&[u8]; 2] = [b"Keys in range:", b"Created bg thread 0x"];

pub(crate) fn checkpoint(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let dir = s
        .args
        .path("checkpoint_dir")
        .ok_or_else(|| Failure::new("Invalid argument: invalid checkpoint directory name"))?;
    let db = Db::of_engine(s.open(io)?)?;
    Checkpoint::new(&db).create(dir)?;
    Ok(io.out.write_all(b"OK\n")?)
}

pub(crate) fn backup(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let options = backup_options(s)?;
    let db = Db::of_engine(s.open(io)?)?;
    writeln!(io.out, "open db OK")?;
    let engine = BackupEngine::open(options, &s.env)?;
    writeln!(io.out, "open backup engine OK")?;
    engine.create_new_backup(&db)?;
    Ok(writeln!(io.out, "create new backup OK")?)
}

pub(crate) fn restore(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let (options, dir) = (backup_options(s)?, s.dir()?);
    let engine = BackupEngine::open_read_only(options, &s.env)?;
    writeln!(io.out, "open restore engine OK")?;
    engine.restore_db_from_latest_backup(&dir, &dir, &RestoreOptions::default())?;
    Ok(writeln!(io.out, "restore from backup OK")?)
}

fn backup_options(s: &Session) -> Result<BackupEngineOptions, Failure> {
    let dir =
        s.args.path("backup_dir").ok_or_else(|| Failure::new("--backup_dir: missing backup directory"))?;
    let threads = s.args.number::<usize>("num_threads")?.unwrap_or(1);
    let info_log = match s.args.number::<u8>("stderr_log_level")? {
        None => None,
        Some(number) => {
            let level = LogLevel::from_number(number)
                .ok_or_else(|| Failure::new("stderr_log_level must be >= 0 and < 6."))?;
            let logger = StderrLogger::new(level, "", s.env.clock.clone());
            Some(Arc::new(logger) as Arc<dyn Logger>)
        }
    };
    Ok(BackupEngineOptions { max_background_operations: threads, info_log, ..BackupEngineOptions::new(dir) })
}

pub(crate) fn write_external(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let [path] = &s.args.params[..] else {
        return Err(Failure::new("output SST file path must be specified"));
    };
    let path = path_of(path);
    let settings = s.settings(io)?;
    let (db, family) = (settings.db.clone(), settings.family.clone());
    s.open_with(settings)?;
    let failed = |e: base::Error| Failure::of("failed to open SST file", crate::advice::with_advice(&e));
    let mut file = SstFileWriter::create(&path, &db, &family).map_err(failed)?;
    let (mut bad_lines, mut number) = (0u64, 0u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        if io.input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let row = line.strip_suffix(b"\n").unwrap_or(&line);
        let Some(at) = row.windows(show::DELIMITER.len()).position(|w| w == show::DELIMITER) else {
            bad_lines += u64::from(!NOT_ROWS.iter().any(|start| row.starts_with(start)));
            continue;
        };
        let key = show::parse(&row[..at], s.key_hex)?;
        let value = show::parse(&row[at + show::DELIMITER.len()..], s.value_hex)?;
        file.put(&key, &value).map_err(|e| {
            Failure::new(format!(
                "failed to write record to file: line {number}: {}",
                crate::advice::with_advice(&e)
            ))
        })?;
    }
    file.finish()
        .map_err(|e| Failure::of("Failed to finish writing to file", crate::advice::with_advice(&e)))?;
    if bad_lines > 0 {
        writeln!(io.err, "Warning: {bad_lines} bad lines ignored.")?;
    }
    Ok(writeln!(io.err, "external SST file written to {}", path.display())?)
}

pub(crate) fn ingest_external(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let [path] = &s.args.params[..] else {
        return Err(Failure::new("input SST path must be specified"));
    };
    let path = path_of(path);
    let given = |name: &str, default: bool| -> Result<bool, Failure> {
        Ok(s.args.boolean(name)?.unwrap_or(default || s.args.has_flag(name)))
    };
    let options = IngestExternalFileOptions {
        move_files: given("move_files", false)?,
        snapshot_consistency: given("snapshot_consistency", true)?,
        allow_global_seqno: given("allow_global_seqno", true)?,
        allow_blocking_flush: given("allow_blocking_flush", true)?,
        ingest_behind: given("ingest_behind", false)?,
        write_global_seqno: given("write_global_seqno", true)?,
        ..IngestExternalFileOptions::default()
    };
    match (options.allow_global_seqno, options.write_global_seqno) {
        (true, false) => writeln!(
            io.err,
            "Warning: not writing global_seqno to the ingested SST can\nprevent older versions of RocksDB from being able \
             to open it"
        )?,
        (false, true) => {
            return Err(Failure::new(
                "ldb cannot write global_seqno to the ingested SST when global_seqno is not allowed",
            ));
        }
        _ => {}
    }
    let db = Db::of_engine(s.open(io)?)?;
    let family = db.family(&s.args.text("column_family").unwrap_or_else(|| "default".to_string()))?;
    let arg = IngestExternalFileArg::new(&family, [path], &options);
    db.ingest_external_files_with(vec![arg])
        .map_err(|e| Failure::of("failed to ingest external SST", crate::advice::with_advice(&e)))?;
    Ok(writeln!(io.err, "external SST files ingested")?)
}

fn path_of(bytes: &[u8]) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::path::PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
