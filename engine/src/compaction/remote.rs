//! Subcompactions that a compaction service runs: at the primary, which calls the service, and at the worker.
//!
//! Invariant: the SST files of a worker are renamed into the database before the commit, and a failed compaction deletes
//! them. A result that does not decode changes nothing: the database runs the subcompaction itself.
//! Facts: RocksDB `db/compaction/compaction_service_job.cc`.

use std::path::Path;

use base::key::TRAILER_LEN;
use base::option::Value;
use base::stats::Ticker;
use base::{Error, Kind, Result};
use env::fs::ReadHints;
use format::properties::Properties;
use lsm::compaction_iter::CompactionIterStats;
use lsm::file_meta::FileMetaData;
use table::any::AnyReader;
use table::sst::OpenOptions;

use super::piece::{self, Done};
use super::{CompactionTools, Job, finish};
use crate::files::Pending;
use crate::options::Temperature;
use crate::output::{OutputFile, SubcompactionRange};
use crate::remote::message::{Input, Outcome, RemoteFile, RemoteStats};
use crate::remote::{CompactionService, JobInfo, JobStatus};
use crate::sync::Arc;

/// Runs one subcompaction: by the compaction service, or here if there is none or the service leaves the work to the
/// database.
///
/// # Errors
/// The errors of [`piece::measure`], and the failure of the service.
pub fn run(
    t: &CompactionTools<'_>,
    job: &Job,
    index: usize,
    range: &SubcompactionRange,
    done: &mut Done,
) -> Result<()> {
    let service = t.tools.compaction_service.as_deref().filter(|_| can_be_remote(job));
    if let Some(service) = service {
        let delegate = Delegate { t, job, service };
        if delegate.run(index, range, done)? {
            return Ok(());
        }
    }
    piece::measure(t, job, range, done)
}

/// Returns true if the result of a worker can describe the outputs. It has no blob files and one output level, and a worker does not
/// know `trim_timestamp`.
fn can_be_remote(job: &Job) -> bool {
    job.version.blobs().is_empty()
        && !job.parts.blobs.enable_blob_files
        && job.task.trim_timestamp.is_none()
        && job.output_dir.is_none()
        && job.task.proximal.is_none()
}

/// A subcompaction at the primary.
struct Delegate<'a> {
    t: &'a CompactionTools<'a>,
    job: &'a Job,
    service: &'a dyn CompactionService,
}

impl Delegate<'_> {
    /// Returns false if the database must run the subcompaction itself.
    fn run(&self, index: usize, range: &SubcompactionRange, done: &mut Done) -> Result<bool> {
        let Some(input) = self.input(range) else { return Ok(false) };
        self.log(format_args!(
            "Starting remote compaction (output level: {}): {} files",
            input.output_level.get(),
            input.files.len()
        ));
        let response = self.service.schedule(&self.info(index), &input.encode());
        match response.status {
            JobStatus::Success => {}
            JobStatus::Aborted => {
                return Err(Error::aborted("Scheduling a remote compaction job was aborted"));
            }
            JobStatus::Failure => {
                let text = "CompactionService failed to schedule a remote compaction job.";
                return Err(Error::incomplete(text));
            }
            JobStatus::UseLocal => {
                self.log(format_args!("Remote compaction fallback to local by API (Schedule)"));
                return Ok(false);
            }
        }
        self.log(format_args!("Waiting for remote compaction..."));
        let (status, result) = self.service.wait(&response.job);
        let outcome = Outcome::decode(&result);
        match (status, outcome) {
            (JobStatus::UseLocal, _) => {
                self.log(format_args!("Remote compaction fallback to local by API (Wait)"));
                Ok(false)
            }
            (JobStatus::Aborted, _) => Err(Error::aborted("Waiting a remote compaction job was aborted")),
            (JobStatus::Failure, outcome) => Err(failure(outcome)),
            (JobStatus::Success, Err(error)) => {
                self.t.tools.events.warn(format_args!(
                    "[{}] [JOB {}] Failed to parse remote compaction result ({error}), falling back to local compaction",
                    self.job.family.name(),
                    self.job.id
                ));
                self.service.on_installation(&response.job, JobStatus::UseLocal);
                Ok(false)
            }
            (JobStatus::Success, Ok(outcome)) => {
                let installed = self.install(&outcome, done);
                let status = if installed.is_ok() { JobStatus::Success } else { JobStatus::Failure };
                self.service.on_installation(&response.job, status);
                installed.map(|()| true)
            }
        }
    }

    fn log(&self, text: std::fmt::Arguments<'_>) {
        self.t.tools.events.info(format_args!("[{}] [JOB {}] {text}", self.job.family.name(), self.job.id));
    }

    /// Returns the description for the worker. `None` if the database has no OPTIONS file that a worker could read.
    fn input(&self, range: &SubcompactionRange) -> Option<Input> {
        let Job { task, family, .. } = self.job;
        let options_file = self.t.tools.options_file.lock().as_ref().map(|file| file.number)?;
        Some(Input {
            family: family.name().to_string(),
            snapshots: self.t.tools.snapshots.stripes().as_slice().to_vec(),
            files: task.files().map(|(_, file)| file.number).collect(),
            output_level: task.output.level,
            db_id: self.t.tools.db_id.clone(),
            begin: range.lower.clone(),
            end: range.upper.clone(),
            options_file,
        })
    }

    fn info(&self, index: usize) -> JobInfo {
        let Job { task, family, id, .. } = self.job;
        JobInfo {
            db_name: self.t.tools.paths.db.to_string_lossy().into_owned(),
            db_id: self.t.tools.db_id.clone(),
            db_session_id: self.t.tools.db_session_id.clone(),
            family: family.id(),
            family_name: family.name().to_string(),
            job_id: id.get() << 32 | index as u64,
            reason: task.reason as u8,
            is_full_compaction: task.full,
            is_manual_compaction: task.manual,
            is_bottommost_level: task.bottommost,
            base_input_level: task.start_level(),
            output_level: task.output.level,
        }
    }

    /// Renames the files of the worker into the database. After an error, no file of the worker is in the database.
    fn install(&self, outcome: &Outcome, done: &mut Done) -> Result<()> {
        if let Some(error) = &outcome.error {
            return Err(error.clone());
        }
        self.log(format_args!(
            "Received remote compaction result, output path: {}, files: {}",
            outcome.output_path,
            outcome.files.len()
        ));
        let env = &self.t.tools.env;
        let mut files = Vec::with_capacity(outcome.files.len());
        let adopted = outcome.files.iter().try_for_each(|file| {
            files.push(self.adopt(Path::new(&outcome.output_path), file)?);
            Ok(())
        });
        let dir = self.job.parts.table_dir(self.job.task.output.path_id);
        let synced = adopted.and_then(|()| env.fs.open_dir(dir)?.sync());
        if let Err(error) = synced {
            files.iter().for_each(|file: &OutputFile| file.remove(env));
            return Err(error.doing("installing the result of a remote compaction"));
        }
        let stats = &outcome.stats;
        done.stats = iter_stats(stats);
        done.is_uncounted = !stats.has_accurate_num_input_records;
        done.io_times = self.job.parts.measured.times_jobs.then_some(stats.io_times);
        done.cpu_micros = stats.cpu_micros;
        done.outputs.files = files;
        done.outputs.num_records = stats.num_output_records;
        // A worker does not report the decisions of the compaction filter.
        let parts = &self.job.parts;
        done.outputs.keeps_keys =
            parts.code.compaction_filter.is_none() && parts.code.compaction_filter_factory.is_none();
        self.t.tools.stats.add(Ticker::RemoteCompactReadBytes, outcome.bytes_read);
        self.t.tools.stats.add(Ticker::RemoteCompactWriteBytes, outcome.bytes_written);
        Ok(())
    }

    fn adopt(&self, from: &Path, file: &RemoteFile) -> Result<OutputFile> {
        let (tools, task) = (self.t.tools, &self.job.task);
        if file.is_proximal {
            return Err(Error::not_supported("output files of a remote compaction above its output level"));
        }
        let order = self.job.parts.internal_order();
        let is_key = |key: &[u8]| key.len() >= TRAILER_LEN;
        if !is_key(&file.smallest)
            || !is_key(&file.largest)
            || order.compare(&file.smallest, &file.largest).is_gt()
        {
            return Err(Error::corruption("a remote compaction reports an SST file with wrong bounds"));
        }
        let pending = tools.numbers.take_pending();
        let path = self.job.parts.table_path(pending.number, task.output.path_id);
        tools.env.fs.rename(&from.join(&file.name), &path)?;
        let meta = self.describe(file, &path, &pending);
        match meta {
            Ok((meta, properties)) => {
                Ok(OutputFile::adopted(meta, properties, task.output.level, path, pending))
            }
            Err(error) => {
                // No version has the file.
                let _ = tools.env.fs.unlink(&path);
                Err(error)
            }
        }
    }

    /// Reads the properties of the file, and makes its record.
    fn describe(
        &self,
        file: &RemoteFile,
        path: &Path,
        pending: &Pending,
    ) -> Result<(FileMetaData, Arc<Properties>)> {
        let (tools, parts) = (self.t.tools, &self.job.parts);
        let size = tools.env.fs.file_size(path)?;
        if file.size != 0 && file.size != size {
            let text = format!("a remote compaction reports {} bytes, the file has {size}", file.size);
            return Err(Error::corruption(text).file(path));
        }
        let handle = tools.env.fs.open_random(path, &ReadHints::default())?;
        let options = OpenOptions {
            order: parts.order.clone(),
            prefix_extractor: parts.code.prefix_extractor.clone(),
            table: parts.table.clone(),
            other: parts.other.clone(),
            file_number: pending.number,
            db_session_id: Arc::from(tools.db_session_id.as_str()),
            statistics: tools.stats.statistics().cloned(),
            ..OpenOptions::default()
        };
        let reader = AnyReader::open(handle, size, &options)
            .map_err(|e| e.doing("reading the result of a remote compaction").file(path))?;
        let properties = reader.properties().clone();
        let mut meta = FileMetaData::new(pending.number, size, &file.smallest, &file.largest);
        meta.path_id = self.job.task.output.path_id;
        meta.user_defined_timestamps_persisted = parts.stored.timestamps;
        meta.smallest_seq = file.smallest_seqno;
        meta.largest_seq = file.largest_seqno;
        meta.marked_for_compaction = file.marked_for_compaction;
        meta.times.oldest_ancester = file.oldest_ancester_time;
        meta.times.creation = file.file_creation_time;
        meta.epoch_number = file.epoch_number;
        meta.unique_id = file.unique_id;
        meta.temperature = Temperature::parse(&file.temperature).unwrap_or_default() as u8;
        meta.tail_size = properties.tail_size(size);
        if !file.file_checksum.is_empty() {
            meta.checksum.value = file.file_checksum.clone();
            meta.checksum.function = file.file_checksum_func_name.clone();
        }
        Ok((meta, properties))
    }
}

fn failure(outcome: Result<Outcome>) -> Error {
    let text = "CompactionService failed to run the compaction job";
    match outcome {
        Ok(Outcome { error: Some(error), .. }) => error,
        Ok(_) => Error::incomplete(format!("{text} (even though the internal status is okay).")),
        Err(_) => Error::incomplete(format!("{text} (and no valid result is returned).")),
    }
}

fn iter_stats(stats: &RemoteStats) -> CompactionIterStats {
    CompactionIterStats {
        num_itered: stats.num_input_records,
        num_input_records: stats.num_input_records,
        num_record_drop_hidden: stats.num_records_replaced,
        num_input_deletion_records: stats.num_input_deletion_records,
        num_record_drop_obsolete: stats.num_expired_deletion_records,
        total_input_raw_key_bytes: stats.total_input_raw_key_bytes,
        total_input_raw_value_bytes: stats.total_input_raw_value_bytes,
        num_input_corrupt_records: stats.num_corrupt_keys,
        num_single_del_fallthru: stats.num_single_del_fallthru,
        num_single_del_mismatch: stats.num_single_del_mismatch,
        ..CompactionIterStats::default()
    }
}

/// Runs one subcompaction for the compaction service of another process: writes its SST files to the output directory of
/// the job, and returns the result for the primary. Commits nothing.
///
/// # Errors
/// The errors of [`piece::measure`]. NotSupported if an output file refers to a blob file. Then no SST file is left.
pub fn serve(t: &CompactionTools<'_>, job: &Job, range: &SubcompactionRange) -> Result<Vec<u8>> {
    let clock = &t.tools.env.clock;
    let start = clock.now_nanos();
    let mut done = Done::default();
    finish::subcompaction(t, job, 0, None);
    let ended = piece::measure(t, job, range, &mut done).and_then(|()| check_outputs(&done));
    let elapsed_micros = (clock.now_nanos() - start) / 1000;
    let counts = finish::subcompaction_stats(&done);
    finish::subcompaction(t, job, 0, Some((ended.as_ref().err().cloned(), counts)));
    if let Err(error) = ended {
        done.outputs.files.iter().for_each(|file| file.remove(&t.tools.env));
        return Err(error);
    }
    let stats = &done.stats;
    let outcome = Outcome {
        error: None,
        files: done.outputs.files.iter().map(remote_file).collect(),
        output_level: job.task.output.level,
        output_path: job.output_dir.as_deref().unwrap_or(Path::new("")).to_string_lossy().into_owned(),
        bytes_read: job.task.input_bytes(),
        bytes_written: done.outputs.files.iter().map(|file| file.meta.size).sum(),
        stats: RemoteStats {
            is_full: job.task.full,
            elapsed_micros,
            cpu_micros: done.cpu_micros,
            has_accurate_num_input_records: true,
            num_input_records: stats.num_itered,
            num_output_records: done.outputs.num_records,
            num_records_replaced: stats.num_record_drop_hidden,
            num_input_deletion_records: stats.num_input_deletion_records,
            num_expired_deletion_records: stats.num_record_drop_obsolete,
            total_input_raw_key_bytes: stats.total_input_raw_key_bytes,
            total_input_raw_value_bytes: stats.total_input_raw_value_bytes,
            num_corrupt_keys: stats.num_input_corrupt_records,
            num_single_del_fallthru: stats.num_single_del_fallthru,
            num_single_del_mismatch: stats.num_single_del_mismatch,
            io_times: done.io_times.unwrap_or_default(),
        },
    };
    let properties: Vec<&Properties> = done.outputs.files.iter().map(|file| &*file.properties).collect();
    Ok(outcome.encode(&properties))
}

fn check_outputs(done: &Done) -> Result<()> {
    match done.outputs.files.iter().any(|file| !file.blobs.is_empty() || file.meta.oldest_blob_file.is_some())
    {
        true => Err(Error::new(Kind::NotSupported, "blob files in a remote compaction")),
        false => Ok(()),
    }
}

fn remote_file(file: &OutputFile) -> RemoteFile {
    let meta = &file.meta;
    RemoteFile {
        name: format::names::table(meta.number),
        size: meta.size,
        smallest_seqno: meta.smallest_seq,
        largest_seqno: meta.largest_seq,
        smallest: meta.smallest.to_vec(),
        largest: meta.largest.to_vec(),
        oldest_ancester_time: meta.times.oldest_ancester,
        file_creation_time: meta.times.creation,
        epoch_number: meta.epoch_number,
        file_checksum: meta.checksum.value.clone(),
        file_checksum_func_name: match meta.checksum.function.as_str() {
            "" => "Unknown".to_string(),
            name => name.to_string(),
        },
        marked_for_compaction: meta.marked_for_compaction,
        unique_id: meta.unique_id,
        temperature: Temperature::from_number(meta.temperature).unwrap_or_default().name().to_string(),
        is_proximal: false,
    }
}
