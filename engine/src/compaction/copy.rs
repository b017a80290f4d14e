//! Copies an SST file byte by byte, to give the file another temperature.
//!
//! FIFO compaction changes the temperature of old files. With `allow_trivial_copy_when_change_temperature`, the compaction copies
//! the file: no entry is decoded, no compaction filter runs, and the table properties stay. The MANIFEST names the copy with a new
//! file number, the new temperature and the new creation time. Follows RocksDB `db/db_impl/db_impl_compaction_flush.cc`
//! (BackgroundCompaction).

use std::path::{Path, PathBuf};

use base::stats::Ticker;
use base::{Error, Result};
use env::writer::FileWriter;
use env::{AppendHints, ReadHints};
use format::edit::CRC32C_CHECKSUM_FUNC_NAME;
use lsm::file_meta::FileMetaData;
use lsm::table_file::TableFile;
use lsm::version::Edit;

use super::{Compacted, CompactionTools, Job, finish, piece};
use crate::commit::Change;
use crate::files::Pending;
use crate::options::Temperature;
use crate::stats::LevelNumbers;
use crate::sync::Arc;

/// The smallest and the largest buffer of a copy in bytes. `trivial_copy_buffer_size` is raised or lowered to this range.
const BUFFER_BYTES: std::ops::RangeInclusive<u64> = 4096..=16 << 20;

/// Copies the input file and replaces it by the copy in one commit.
///
/// # Errors
/// Errors of the file system. Corruption if the size of the input file is not the size in the MANIFEST, or its checksum is not the
/// checksum in the MANIFEST. ShutdownInProgress if the database closes. Incomplete if the job is canceled. After an error before the
/// commit, no version has changed, and the copies are deleted. After a failed commit the copies stay.
pub(super) fn copy_files(t: &CompactionTools<'_>, job: &Job) -> Result<Compacted> {
    let clock = &t.tools.env.clock;
    let (start, start_cpu) = (clock.now_nanos(), clock.cpu_nanos());
    let task = &job.task;
    finish::started_without_rewrite(t, job);
    let mut copies: Vec<(PathBuf, Pending)> = Vec::new();
    let mut edit = Edit::default();
    for (level, file) in task.files() {
        let pending = t.tools.numbers.take_pending();
        let copied = copy(t, job, file, pending.number);
        let copied = copied.inspect_err(|error| {
            // The copy is incomplete, and no version has it.
            let _ = t.tools.env.fs.unlink(&job.parts.table_path(pending.number, task.output.path_id));
            copies.iter().for_each(|(path, _)| drop(t.tools.env.fs.unlink(path)));
            finish::failed(t, job, &[], error, start);
        })?;
        edit.deleted.push((level, file.number));
        edit.added.push((task.output.level, Arc::new(copied.into())));
        copies.push((job.parts.table_path(pending.number, task.output.path_id), pending));
    }
    base::invariant!(
        edit.added.len() == edit.deleted.len(),
        "{} SST files are replaced by {} copies",
        edit.deleted.len(),
        edit.added.len()
    );
    let outputs: Vec<_> = edit.added.iter().map(|(level, f)| finish::job_file(job, *level, f)).collect();
    let sizes: Vec<u64> = edit.added.iter().map(|(_, f)| f.size).collect();
    let written = sizes.iter().sum();
    let names = edit.added.iter().map(|(_, f)| (f.number, f.path_id)).collect();
    let cpu_nanos = clock.cpu_nanos_since(start_cpu);
    let micros = ((clock.now_nanos() - start) / 1000, cpu_nanos / 1000);
    let commit = || t.committer.commit_one(Change::of_compaction(job.family.clone(), edit));
    // Before the commit: after the commit, another job can delete a copy.
    if let Some(manager) = &t.tools.options.load().sst_file_manager {
        copies.iter().zip(sizes).for_each(|((path, _), size)| manager.on_add(path, size));
    }
    // After a failed commit the MANIFEST may name the copies, so the copies stay. The next sweep decides.
    let (committed, report) = finish::without_rewrite(t, job, (&outputs, micros), commit)?;
    t.tools.stats.add(Ticker::FifoChangeTemperatureCompactions, 1);
    let (elapsed_micros, cpu_micros) = micros;
    let numbers = LevelNumbers {
        micros: elapsed_micros,
        cpu_micros,
        bytes_read_output_level: written,
        bytes_written: written,
        count: 1,
        ..LevelNumbers::default()
    };
    super::count(job, &numbers);
    Ok(Compacted {
        committed: Some(committed),
        bytes_read: written,
        bytes_written: written,
        outputs: names,
        report: Some(report),
        ..Compacted::default()
    })
}

/// Copies one file to the file with the number `number`, syncs the copy and its directory, and returns the facts of the copy.
fn copy(
    t: &CompactionTools<'_>,
    job: &Job,
    file: &TableFile,
    number: base::FileNumber,
) -> Result<FileMetaData> {
    base::invariant!(file.number < number, "SST file {} is copied to the older file {number}", file.number);
    let (parts, fs) = (&job.parts, &t.tools.env.fs);
    let from = parts.table_path(file.number, file.path_id);
    let to = parts.table_path(number, job.task.output.path_id);
    let name = |temperature| Temperature::from_number(temperature).unwrap_or_default().name();
    t.tools.events.info(format_args!(
        "[{}] [JOB {}] Copying #{} with temperature {} to #{number} with temperature {}: {} bytes",
        job.family.name(),
        job.id,
        file.number,
        name(file.temperature),
        name(job.task.output.temperature),
        file.size
    ));
    let created = t.tools.env.clock.now_seconds();
    let checksum = copy_bytes(t, job, (&from, &to), file.size)
        .map_err(|error| error.doing("copying a table to change its temperature").file(&from))?;
    let known = file.checksum.function == CRC32C_CHECKSUM_FUNC_NAME && !file.checksum.value.is_empty();
    if known && checksum.is_some_and(|crc| crc.to_be_bytes()[..] != file.checksum.value[..]) {
        return Err(Error::corruption("the checksum of the file differs from the MANIFEST").file(&from));
    }
    fs.open_dir(parts.table_dir(job.task.output.path_id))
        .and_then(|dir| dir.sync())
        .map_err(|error| error.doing("syncing the directory of tables"))?;
    let mut meta = FileMetaData::new(number, file.size, &file.smallest, &file.largest);
    meta.path_id = job.task.output.path_id;
    meta.smallest_seq = file.smallest_seq;
    meta.largest_seq = file.largest_seq;
    meta.temperature = job.task.output.temperature;
    meta.oldest_blob_file = file.oldest_blob_file;
    meta.times.oldest_ancester = file.times.oldest_ancester;
    meta.times.creation = created;
    meta.epoch_number = job.task.output_epoch();
    meta.unique_id = file.unique_id;
    meta.tail_size = file.tail_size;
    meta.compensated_range_deletion_size = file.compensated_range_deletion_size;
    meta.user_defined_timestamps_persisted = file.user_defined_timestamps_persisted;
    meta.timestamps.min = file.timestamps.min.clone();
    meta.timestamps.max = file.timestamps.max.clone();
    if let Some(crc) = checksum {
        meta.checksum.value = crc.to_be_bytes().to_vec();
        meta.checksum.function = CRC32C_CHECKSUM_FUNC_NAME.to_string();
    }
    if let Some(stats) = file.stats() {
        meta.set_stats(*stats);
    }
    Ok(meta)
}

/// Copies exactly `size` bytes with the buffer of `trivial_copy_buffer_size`, and syncs the copy. Returns the checksum of the whole
/// file, if the database computes such checksums.
fn copy_bytes(
    t: &CompactionTools<'_>,
    job: &Job,
    (from, to): (&Path, &Path),
    size: u64,
) -> Result<Option<u32>> {
    let settings = piece::settings(t, job)?;
    let fs = &t.tools.env.fs;
    let source = fs.open_random(from, &ReadHints { direct: settings.io.direct, ..ReadHints::default() })?;
    let hints = AppendHints {
        direct: settings.io.direct,
        preallocate_bytes: settings.io.preallocate_bytes.min(size),
        ..AppendHints::default()
    };
    let mut copy = FileWriter::new(fs.create_new(to, &hints)?, settings.file_options());
    let bytes = job.family.options().compaction_options_fifo.trivial_copy_buffer_size;
    // The option is any number of the user.
    let mut buffer = vec![0; bytes.clamp(*BUFFER_BYTES.start(), *BUFFER_BYTES.end()) as usize];
    loop {
        job.check_stop(t)?;
        match source.read_at(copy.size(), &mut buffer)? {
            0 => break,
            got => copy.append(&buffer[..got])?,
        }
    }
    if copy.size() != size {
        let found = copy.size();
        return Err(Error::corruption(format!("the file has {found} bytes; the MANIFEST says {size}")));
    }
    copy.sync(settings.io.use_fsync)?;
    copy.close()?;
    Ok(copy.checksum())
}
