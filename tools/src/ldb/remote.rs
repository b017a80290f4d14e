//! Compactions in another process: `remote_compaction_primary`, `remote_compaction_worker`, `compaction_progress_dump`.
//!
//! ```text
//!  primary   compact ─► schedule ─► job_dir/input.bin        wait: job_dir/result.bin ─► install the output files
//!  worker               wait: job_dir/input.bin ─► compact into job_dir/output ─► job_dir/result.bin
//! ```
//! The messages are those of RocksDB's `ldb`, so the primary or the worker can be RocksDB's. Both programs wait for a file
//! for 120 seconds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::key::MAX_SEQUENCE;
use engine::db::{WorkerOptions, open_and_compact};
use engine::manifest::FileSource;
use engine::options::CompactRangeOptions;
use engine::remote::{CompactionService, JobInfo, JobStatus, ScheduleResponse};
use env::{Env, ReadHints};
use format::edit::{LevelProgress, SubcompactionProgress, VersionEdit};
use format::wal::{Item, Reader, ReaderOptions};

use super::session::Session;
use super::{Failure, Io, Outcome};

const INPUT: &str = "input.bin";
const RESULT: &str = "result.bin";
const PAUSE_US: u64 = 100_000;
const WAIT_S: u64 = 120;
const MESSAGE_BYTES_MAX: u64 = 1 << 30;

/// Compacts a column family. Another process does the work.
pub(crate) fn primary(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let dir = job_dir(s)?;
    let mut settings = s.settings(io)?;
    let families = settings.families.iter_mut().map(|(_, options)| options);
    families.chain([&mut settings.family]).for_each(|options| options.disable_auto_compactions = true);
    let (env, scheduled, canceled) = (s.env.clone(), AtomicBool::new(false), AtomicBool::new(false));
    s.compaction_service = Some(Arc::new(JobFiles { env, dir, scheduled, canceled }));
    let db = s.open_with(settings).map_err(|e| Failure::of("Open", e.text()))?;
    let family = s.family_of(&db)?;
    db.compactions()
        .compact_range(&family, None, None, &CompactRangeOptions::default())
        .map_err(|e| Failure::of("CompactRange", crate::advice::with_advice(&e)))?;
    Ok(writeln!(io.out, "remote_compaction_primary: OK")?)
}

/// Does the work of `remote_compaction_primary`.
pub(crate) fn worker(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let dir = job_dir(s)?;
    let input_path = dir.join(INPUT);
    let Some(input) = wait_for(&s.env, &input_path, &AtomicBool::new(false)) else {
        return Err(Failure::new(format!("Timed out ({WAIT_S}s) waiting for {}", input_path.display())));
    };
    let output = dir.join("output");
    s.env
        .fs
        .create_dir_all(&output)
        .map_err(|e| Failure::of("CreateDirIfMissing", crate::advice::with_advice(&e)))?;
    let settings = s.settings(io)?;
    let options = WorkerOptions { db: settings.db, family: settings.family, ..WorkerOptions::default() };
    let result = open_and_compact(&s.dir()?, &output, &input, options, None)
        .map_err(|e| Failure::of("OpenAndCompact", crate::advice::with_advice(&e)))?;
    let path = dir.join(RESULT);
    write_whole(&s.env, &path, &result)
        .map_err(|e| Failure::new(format!("Failed to write {}: {e}", path.display())))?;
    Ok(writeln!(io.out, "remote_compaction_worker: OK ({} bytes result)", result.len())?)
}

fn job_dir(s: &Session) -> Result<PathBuf, Failure> {
    s.args.path("job_dir").ok_or_else(|| Failure::new("--job_dir is required"))
}

/// Hands a compaction to a worker and gets its result through files of one directory.
struct JobFiles {
    env: Env,
    dir: PathBuf,
    scheduled: AtomicBool,
    canceled: AtomicBool,
}

impl CompactionService for JobFiles {
    fn name(&self) -> &str {
        "LocalFileCompactionService"
    }

    /// The directory takes one job. This process runs all further subcompactions.
    fn schedule(&self, _info: &JobInfo, input: &[u8]) -> ScheduleResponse {
        let status = if self.scheduled.swap(true, Ordering::AcqRel) {
            JobStatus::UseLocal
        } else if write_whole(&self.env, &self.dir.join(INPUT), input).is_ok() {
            JobStatus::Success
        } else {
            JobStatus::Failure
        };
        ScheduleResponse { job: b"job_0001".to_vec(), status }
    }

    fn wait(&self, _job: &[u8]) -> (JobStatus, Vec<u8>) {
        match wait_for(&self.env, &self.dir.join(RESULT), &self.canceled) {
            Some(result) => (JobStatus::Success, result),
            None if self.canceled.load(Ordering::Acquire) => (JobStatus::Aborted, Vec::new()),
            None => (JobStatus::Failure, Vec::new()),
        }
    }

    fn cancel_awaiting_jobs(&self) {
        self.canceled.store(true, Ordering::Release);
    }
}

/// Writes a file that a reader sees whole or not at all.
fn write_whole(env: &Env, path: &Path, bytes: &[u8]) -> base::Result<()> {
    let temporary = path.with_extension("bin.tmp");
    env.fs.write_all(&temporary, bytes, false)?;
    env.fs.rename(&temporary, path)
}

/// Returns the bytes of a file when the file has bytes. `None` after [`WAIT_S`] seconds or if the wait is canceled.
fn wait_for(env: &Env, path: &Path, canceled: &AtomicBool) -> Option<Vec<u8>> {
    for _ in 0..WAIT_S * 1_000_000 / PAUSE_US {
        match env.fs.read_all(path, MESSAGE_BYTES_MAX) {
            Ok(bytes) if !bytes.is_empty() => return Some(bytes),
            _ if canceled.load(Ordering::Acquire) => return None,
            _ => env.clock.sleep_micros(PAUSE_US),
        }
    }
    None
}

/// Prints the progress records of a file that `open_and_compact` of RocksDB writes.
pub(crate) fn progress(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let path =
        s.args.path("path").filter(|path| !path.as_os_str().is_empty()).ok_or_else(|| {
            Failure::new("The --path option is required for compaction_progress_dump command")
        })?;
    let file = match s.env.fs.open_random(&path, &ReadHints::default()) {
        Ok(file) => file,
        Err(error) => {
            // RocksDB's command prints the same line, and succeeds.
            writeln!(io.err, "Failed to open compaction progress file {}: {error}", path.display())?;
            return Err(Failure::new(""));
        }
    };
    writeln!(io.out, "Compaction Progress File: {}", path.display())?;
    writeln!(io.out, "============================================")?;
    let mut reader = Reader::new(FileSource(file), ReaderOptions::default());
    let mut count = 0u64;
    // RocksDB's command ends at the first record that does not read, and succeeds.
    while let Ok(Item::Record { bytes, .. }) = reader.next() {
        match VersionEdit::decode(bytes) {
            Ok(edit) => {
                if let Some(progress) = &edit.subcompaction_progress {
                    writeln!(io.out, "Progress Record {count}:\n{}", shown(progress))?;
                    count += 1;
                }
            }
            Err(error) => writeln!(io.err, "Failed to decode VersionEdit: {error}")?,
        }
    }
    if count == 0 {
        return Ok(writeln!(io.out, "No valid records found in the compaction progress file.")?);
    }
    Ok(writeln!(io.out, "\nTotal records: {count}")?)
}

fn shown(progress: &SubcompactionProgress) -> String {
    let level = |level: &LevelProgress| {
        format!(
            "SubcompactionProgressPerLevel{{ num_processed_output_records={}, output_files_count={}, \
             last_persisted_output_files_count=0 }}",
            level.num_processed_output_records,
            level.output_files.len()
        )
    };
    format!(
        "SubcompactionProgress{{ next_internal_key_to_compact={}, num_processed_input_records={}, \
         output_level_progress={}, proximal_output_level_progress={} }}",
        shown_key(&progress.next_internal_key),
        progress.num_processed_input_records,
        level(&progress.output_level),
        level(&progress.proximal_output_level)
    )
}

fn shown_key(key: &[u8]) -> String {
    /// The type that a key for a seek has.
    const SEEK_TYPE: u8 = 0x18;
    if key.is_empty() {
        return String::new();
    }
    let Ok(parsed) = base::key::parse(key) else { return format!("raw={}", table::dump::hex(key)) };
    let seq = match parsed.seq {
        MAX_SEQUENCE => "kMaxSequenceNumber".to_string(),
        seq => seq.to_string(),
    };
    let value_type = match parsed.value_type as u8 {
        SEEK_TYPE => "kValueTypeForSeek".to_string(),
        value_type => value_type.to_string(),
    };
    format!("user_key(hex)={}, seq={seq}, type={value_type}", table::dump::hex(parsed.user_key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_in_the_words_of_rocksdb() {
        let key = |user: &[u8], trailer: u64| [user, &trailer.to_le_bytes()].concat();
        let progress = SubcompactionProgress {
            next_internal_key: key(b"k\xfe", base::key::pack(MAX_SEQUENCE, 0x18)),
            num_processed_input_records: 7,
            output_level: LevelProgress { num_processed_output_records: 5, output_files: Vec::new() },
            ..SubcompactionProgress::default()
        };
        assert_eq!(
            shown(&progress),
            "SubcompactionProgress{ next_internal_key_to_compact=user_key(hex)=6BFE, seq=kMaxSequenceNumber, \
             type=kValueTypeForSeek, num_processed_input_records=7, output_level_progress=\
             SubcompactionProgressPerLevel{ num_processed_output_records=5, output_files_count=0, \
             last_persisted_output_files_count=0 }, proximal_output_level_progress=\
             SubcompactionProgressPerLevel{ num_processed_output_records=0, output_files_count=0, \
             last_persisted_output_files_count=0 } }"
        );
        assert_eq!(shown_key(&key(b"a", 3 << 8 | 1)), "user_key(hex)=61, seq=3, type=1");
        assert_eq!(shown_key(b"short"), "raw=73686F7274");
        assert_eq!(shown_key(b""), "");
    }
}
