//! Imports the files of an exported column family into another database.
//!
//! The files keep their entries, sequence numbers and levels. Only the epoch numbers change, because each exported
//! column family has its own epoch numbers. Facts: RocksDB `db/import_column_family_job.cc`.

use std::path::{Path, PathBuf};

use base::key::{self, InternalOrder};
use base::{Arrange, EpochNumber, Error, FileNumber, Level, Order, Result, SequenceNumber};
use env::ReadHints;
use lsm::file_meta::{FileMetaData, UNKNOWN_CHECKSUM};
use lsm::table_file::TableFile;
use table::any::AnyReader;
use table::sst::{OpenOptions, ReadCtx};
use table::unique_id::UniqueId;

use super::external::Bounds;
use super::{bring_in, note_timestamps};
use crate::family::Parts;
use crate::files::Pending;
use crate::output::JobTools;
use crate::sync::Arc;

/// One exported file. RocksDB's `LiveFileMetaData`, as far as an import reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFile {
    pub path: PathBuf,
    pub level: Level,
    /// In bytes. 0: unknown.
    pub size: u64,
    pub smallest_seq: SequenceNumber,
    pub largest_seq: SequenceNumber,
    /// The order of level 0: a larger number is newer.
    pub epoch_number: EpochNumber,
    /// The temperature as the MANIFEST stores the temperature. 0: unknown.
    pub temperature: u8,
    /// The smallest and the largest internal key that the exporting database used for the file. A compaction that cuts its output
    /// within a range tombstone writes the whole range tombstone into both files, and the boundaries cut it. `None`: unknown; then
    /// the boundaries are computed from all entries and range tombstones in the file.
    pub boundaries: Option<(Vec<u8>, Vec<u8>)>,
}

/// The files of one exported column family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportRequest {
    /// The name of the comparator of the exported column family.
    pub comparator_name: String,
    pub files: Vec<ImportFile>,
}

/// Files inside the database that no MANIFEST names yet. Dropping the value removes the files.
pub struct Imported {
    /// Level and file.
    pub files: Vec<(Level, Arc<TableFile>)>,
    pub largest_seq: SequenceNumber,
    paths: Vec<PathBuf>,
    _pending: Vec<Pending>,
    tools: Arc<JobTools>,
    keep: bool,
}

impl Imported {
    /// Keeps the files when the value is dropped.
    pub fn keep_files(&mut self) {
        self.keep = true;
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        if !self.keep {
            // No MANIFEST names the files. If a file cannot be deleted now, the next open deletes it.
            self.paths.iter().for_each(|path| drop(self.tools.env.fs.unlink(path)));
        }
    }
}

/// Checks exported files, and links or copies the files into the database.
///
/// # Errors
/// InvalidArgument for another comparator, an export without files, or exports whose key ranges overlap; Corruption or
/// NotSupported for files that do not open; errors of the file system. Each error names the file.
pub fn import(
    tools: &Arc<JobTools>,
    parts: &Parts,
    requests: &[ImportRequest],
    move_files: bool,
) -> Result<Imported> {
    let mut imported = Imported {
        files: Vec::new(),
        largest_seq: SequenceNumber::ZERO,
        paths: Vec::new(),
        _pending: Vec::new(),
        tools: tools.clone(),
        keep: false,
    };
    let mut ranges = Vec::new();
    let mut epoch = parts.first_epoch();
    for request in requests {
        if request.comparator_name != parts.order.name() {
            return Err(Error::invalid_argument(format!(
                "Comparator name mismatch: the export has {}, the column family has {}",
                request.comparator_name,
                parts.order.name()
            )));
        }
        let first = imported.files.len();
        for (file, epoch) in in_order(request, &mut epoch) {
            imported.bring(parts, file, epoch, move_files)?;
        }
        let own = &imported.files[first..];
        ranges.push(
            range_of(&parts.order, own)
                .ok_or_else(|| Error::invalid_argument("The list of files is empty"))?,
        );
    }
    ranges.arrange_by(|(a, _), (b, _)| parts.order.compare_without_timestamp(a, b));
    let ends = ranges.iter().map(|(_, end)| end);
    let next_starts = ranges.iter().skip(1).map(|(start, _)| start);
    if ends.zip(next_starts).any(|(end, next)| parts.order.compare_without_timestamp(end, next).is_ge()) {
        return Err(Error::invalid_argument("CFs have overlapping ranges"));
    }
    base::invariant!(
        imported.files.iter().all(|(_, file)| file.largest_seq <= imported.largest_seq),
        "an imported file has a newer entry than the sequence number {}",
        imported.largest_seq
    );
    tools.env.fs.open_dir(parts.table_dir(0)).and_then(|dir| dir.sync())?;
    Ok(imported)
}

/// Returns the files with their new epoch numbers: from the last level up, and on level 0 from old to new.
fn in_order<'a>(request: &'a ImportRequest, epoch: &mut EpochNumber) -> Vec<(&'a ImportFile, EpochNumber)> {
    let mut files: Vec<_> = request.files.iter().collect();
    files.arrange_by_key(|file| {
        (std::cmp::Reverse(file.level), file.epoch_number, file.largest_seq, file.smallest_seq)
    });
    let mut out = Vec::with_capacity(files.len());
    let mut level = None;
    for file in files {
        // A level below level 0 has one epoch number; each file of level 0 has its own.
        if file.level == Level::ZERO || level.is_some_and(|level| level != file.level) {
            *epoch = epoch.plus(u64::from(level.is_some()));
        }
        level = Some(file.level);
        out.push((file, *epoch));
    }
    base::invariant!(
        out.is_sorted_by(|older, newer| older.1 <= newer.1),
        "the epoch numbers of imported files do not ascend"
    );
    *epoch = epoch.next();
    out
}

fn range_of(order: &Order, files: &[(Level, Arc<TableFile>)]) -> Option<(Vec<u8>, Vec<u8>)> {
    let smallest = files.iter().map(|(_, file)| file.smallest_user_key());
    let smallest = smallest.min_by(|a, b| order.compare_without_timestamp(a, b))?;
    let largest = files.iter().map(|(_, file)| file.largest_user_key());
    let largest = largest.max_by(|a, b| order.compare_without_timestamp(a, b))?;
    base::invariant!(
        order.compare_without_timestamp(smallest, largest).is_le(),
        "the smallest key of {} imported files is after their largest key",
        files.len()
    );
    Some((smallest.to_vec(), largest.to_vec()))
}

impl Imported {
    fn bring(
        &mut self,
        parts: &Parts,
        file: &ImportFile,
        epoch: EpochNumber,
        move_files: bool,
    ) -> Result<()> {
        let tools = self.tools.clone();
        let pending = tools.numbers.take_pending();
        let meta = read(&tools, parts, file, pending.number)
            .map_err(|error| error.doing("reading an exported file to import").file(&file.path))?;
        let target = parts.table_path(pending.number, 0);
        bring_in(&*tools.env.fs, (&file.path, &target), move_files, true)?;
        self.paths.push(target);
        let now_s = tools.env.clock.now_seconds();
        self.largest_seq = self.largest_seq.max(meta.largest_seq);
        let mut meta = meta;
        meta.epoch_number = epoch;
        (meta.times.oldest_ancester, meta.times.creation) = (now_s, now_s);
        self.files.push((file.level, Arc::new(meta.into())));
        base::invariant!(
            self.files.len() == self.paths.len(),
            "{} files are imported, and {} are brought in",
            self.files.len(),
            self.paths.len()
        );
        self._pending.push(pending);
        Ok(())
    }
}

fn read(tools: &JobTools, parts: &Parts, file: &ImportFile, number: FileNumber) -> Result<FileMetaData> {
    let size = tools.env.fs.file_size(&file.path)?;
    if file.size > 0 && file.size != size {
        return Err(Error::corruption(format!("{size} bytes where {} bytes were exported", file.size)));
    }
    let (smallest_seq, largest_seq) = (file.smallest_seq, file.largest_seq);
    if smallest_seq > largest_seq || largest_seq > base::key::MAX_SEQUENCE {
        return Err(Error::corruption(format!("sequence numbers {smallest_seq} to {largest_seq}")));
    }
    let handle = tools.env.fs.open_random(Path::new(&file.path), &ReadHints::default())?;
    let options = OpenOptions {
        order: parts.order.clone(),
        table: parts.table.clone(),
        other: parts.other.clone(),
        file_number: number,
        largest_seqno: Some(largest_seq),
        db_session_id: Arc::from(tools.db_session_id.as_str()),
        ..OpenOptions::default()
    };
    let reader = AnyReader::open(handle, size, &options)?;
    let properties = reader.properties().clone();
    let mut bounds = Bounds::new(parts, true);
    bounds.points(&reader, &ReadCtx { total_order_seek: true, fill_cache: false, ..ReadCtx::default() })?;
    let points = bounds.smallest.clone().zip(bounds.largest.clone());
    bounds.tombstones(&reader)?;
    let (smallest, largest) = match &file.boundaries {
        Some(known) => checked_boundaries(&parts.internal_order(), known, points)?,
        None => match (bounds.smallest, bounds.largest) {
            (Some(smallest), Some(largest)) => (smallest, largest),
            _ => return Err(Error::invalid_argument("File contain no entries")),
        },
    };
    let session = std::str::from_utf8(&properties.db_session_id).unwrap_or_default();
    let id = UniqueId::new(&properties.db_id, session, FileNumber::new(properties.original_file_number));
    let mut meta = FileMetaData::new(number, size, &smallest, &largest);
    (meta.smallest_seq, meta.largest_seq) = (smallest_seq, largest_seq);
    meta.temperature = file.temperature;
    meta.unique_id = id.map_or([0, 0], UniqueId::short);
    meta.checksum.function = UNKNOWN_CHECKSUM.to_string();
    note_timestamps(&mut meta, &properties, &parts.order);
    meta.tail_size = properties.tail_size(size);
    Ok(meta)
}

/// Returns the boundaries of an exported file, if they can be the boundaries of a file with these first and last entries.
///
/// # Errors
/// Corruption.
fn checked_boundaries(
    order: &InternalOrder,
    (smallest, largest): &(Vec<u8>, Vec<u8>),
    points: Option<(Vec<u8>, Vec<u8>)>,
) -> Result<(Vec<u8>, Vec<u8>)> {
    key::parse(smallest)?;
    key::parse(largest)?;
    let is_outside = |(first, last): (Vec<u8>, Vec<u8>)| {
        order.compare(&first, smallest).is_lt() || order.compare(&last, largest).is_gt()
    };
    if order.compare(smallest, largest).is_gt() || points.is_some_and(is_outside) {
        return Err(Error::corruption("the file has entries outside of the boundaries of the export"));
    }
    Ok((smallest.clone(), largest.clone()))
}
