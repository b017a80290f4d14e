//! One output file: its entries, its end, and its record for the version.

use std::path::{Path, PathBuf};

use base::key::{InternalOrder, MAX_SEQUENCE};
use base::stats::HistogramKind;
use base::{Error, FileNumber, Level, Result, SequenceNumber, ValueType};
use env::writer::FileWriter;
use env::{AppendHints, Env};
use format::edit::CRC32C_CHECKSUM_FUNC_NAME;
use format::properties::{Properties, names};
use lsm::blob_flow::references;
use lsm::file_meta::{EntryCount, FileMetaData, FileStats};
use lsm::range_del::OutputTombstones;
use lsm::seqno_time::{SAMPLES_PER_TABLE_MAX, SeqnoTimes, written_by};
use lsm::table_file::TableFile;
use mem::cache::{Ledger, Priority};
use table::any::AnyWriter;
use table::options::{FilterLevel, PrepopulateBlockCache};
use table::sst::BlockWarmer;
use table::sst::writer::{
    BlockCompression, Collecting, DataTimes, FinishedTable, Identity, Resources, TablePlace, WarmCache,
    WriterOptions,
};
use table::unique_id::UniqueId;

use super::deleted_run::DeletedRun;
use super::settings::OutputSettings;
use super::verify::{self, RowHash};
use super::{OutputBlob, announce};
use crate::files::Pending;
use crate::sync::Arc;

/// Estimates the bytes of a range between two internal keys, in the levels below an output.
pub type CoveredBytes<'a> = dyn Fn(&[u8], &[u8]) -> u64 + Sync + 'a;

/// A finished file. No version has it yet. Its file number is pending, so that no sweep deletes it.
pub struct OutputFile {
    pub meta: Arc<TableFile>,
    pub properties: Arc<Properties>,
    /// The level that gets the file.
    pub level: Level,
    /// Bytes of its blocks before compression.
    pub pre_compression_size: u64,
    /// The path of the file.
    pub path: PathBuf,
    /// The blob files of the run: committed with this file, and removed with it.
    pub blobs: Vec<OutputBlob>,
    /// A user key in each long run of point tombstones.
    pub deleted_places: Vec<Box<[u8]>>,
    _pending: Pending,
}

impl OutputFile {
    /// Makes a finished file from an SST file that another process wrote for `level` and that now has its name in the database.
    pub fn adopted(
        mut meta: FileMetaData,
        properties: Arc<Properties>,
        level: Level,
        path: PathBuf,
        pending: Pending,
    ) -> OutputFile {
        describe(&mut meta, &properties);
        OutputFile {
            meta: Arc::new(meta.into()),
            level,
            pre_compression_size: 0,
            path,
            blobs: Vec::new(),
            deleted_places: Vec::new(),
            properties,
            _pending: pending,
        }
    }

    /// Returns the bytes of the records in its blob files.
    pub fn blob_bytes(&self) -> u64 {
        self.blobs.iter().map(|blob| blob.file.total_bytes).sum()
    }

    /// Deletes the file, and its blob files: no version has them. A sweep deletes what cannot be deleted now.
    pub fn remove(&self, env: &Env) {
        let _ = env.fs.unlink(&self.path);
        for blob in &self.blobs {
            let _ = env.fs.unlink(&blob.path);
        }
    }
}

pub(super) struct OpenFile {
    writer: AnyWriter,
    pending: Pending,
    created_s: u64,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    /// The oldest blob file that an entry refers to.
    oldest_blob_file: Option<FileNumber>,
    /// The bounds of the range tombstones, as internal keys.
    ranges: Option<(Vec<u8>, Vec<u8>)>,
    /// An estimate of the bytes that the range tombstones delete in deeper levels.
    covered_bytes: u64,
    /// The hash of all entries, for a comparison with the entries that a read of the file returns.
    check: Option<RowHash>,
    /// The range of sequence numbers whose times the properties of the file tell. `None`: no write times are kept.
    timed: Option<(SequenceNumber, SequenceNumber)>,
    deleted_run: DeletedRun,
}

impl OpenFile {
    /// Creates a file with a new file number, and calls the listeners.
    ///
    /// # Errors
    /// An error of creating the file or of beginning the table.
    pub fn create(s: &OutputSettings) -> Result<Self> {
        let pending = s.numbers.take_pending();
        let number = pending.number;
        let path = s.parts.table_path(number, s.place.path_id);
        let hints = AppendHints {
            direct: s.io.direct,
            preallocate_bytes: s.io.preallocate_bytes,
            ..AppendHints::default()
        };
        announce::begun(s, number, &path);
        Self::begin(s, pending, &path, &hints).inspect_err(|error| announce::failed(s, number, &path, error))
    }

    fn begin(s: &OutputSettings, pending: Pending, path: &Path, hints: &AppendHints) -> Result<Self> {
        let file = s.env.fs.create_new(path, hints)?;
        let created_s = s.env.clock.now_seconds();
        let writer = AnyWriter::new(
            FileWriter::new(file, s.file_options()),
            writer_options(s, pending.number, created_s),
        )
        .map_err(|e| e.doing("beginning a table").file(path))?;
        Ok(OpenFile {
            writer,
            pending,
            created_s,
            smallest: Vec::new(),
            largest: Vec::new(),
            oldest_blob_file: None,
            ranges: None,
            covered_bytes: 0,
            check: s.checks_rows().then(RowHash::default),
            timed: s.times.is_some().then_some((MAX_SEQUENCE, SequenceNumber::ZERO)),
            deleted_run: DeletedRun::default(),
        })
    }

    /// Adds one entry with its internal key. Keys come in ascending order.
    ///
    /// # Errors
    /// Corruption for a key that is not after the key before, because an input has its keys out of order. Otherwise an error
    /// of the table or of the file.
    #[inline]
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        base::invariant!(key.len() >= base::key::TRAILER_LEN, "an internal key has {} bytes", key.len());
        // Only a damaged input has keys out of order. A file that repeats the disorder would hide entries for good.
        if !self.largest.is_empty() && self.writer.order().compare(&self.largest, key).is_ge() {
            return Err(self.out_of_order(key));
        }
        if self.smallest.is_empty() {
            self.smallest = key.to_vec();
        }
        self.largest.clear();
        self.largest.extend_from_slice(key);
        self.deleted_run.add(key);
        if let Some(check) = &mut self.check {
            check.add(key, value);
        }
        if self.timed.is_some() {
            self.note_seqno(key, value);
        }
        let oldest = &mut self.oldest_blob_file;
        references(base::key::trailer(key) as u8, value, &mut |blob| {
            let number = blob.file_number;
            *oldest = Some(oldest.map_or(number, |old| old.min(number)));
        })?;
        self.writer.add(key, value)
    }

    /// Extends the range of sequence numbers whose times the properties tell. A timed put has a second, preferred sequence number.
    #[cold]
    fn note_seqno(&mut self, key: &[u8], value: &[u8]) {
        let Some((smallest, largest)) = &mut self.timed else { return };
        let seq = base::key::sequence(key);
        *smallest = (*smallest).min(seq);
        *largest = (*largest).max(seq);
        if base::key::trailer(key) as u8 == ValueType::ValuePreferredSeqno as u8
            && let Some(preferred) = value.last_chunk::<8>()
        {
            *smallest = (*smallest).min(SequenceNumber::new(u64::from_le_bytes(*preferred)));
        }
    }

    #[cold]
    fn out_of_order(&self, key: &[u8]) -> Error {
        Error::corruption(format!(
            "{OUT_OF_ORDER} The key {} comes after the key {}",
            key.escape_ascii(),
            self.largest.escape_ascii()
        ))
    }

    /// Adds range tombstones and extends the key range of the file by their bounds. `covered` estimates the bytes that
    /// each range deletes: of several range tombstones with the same range, the newest counts.
    ///
    /// # Errors
    /// An error of the table or of the file.
    pub fn add_tombstones(
        &mut self,
        ranges: &OutputTombstones,
        covered: Option<&CoveredBytes<'_>>,
    ) -> Result<()> {
        let mut newest: Option<&[u8]> = None;
        for t in &ranges.tombstones {
            self.writer.add(&t.key, &t.end)?;
            if self.timed.is_some() {
                self.note_seqno(&t.key, &[]);
            }
            let order = self.writer.order();
            base::invariant!(
                order.compare(&t.smallest, &t.largest).is_le(),
                "a range tombstone ends at {} and starts at {}",
                t.largest.escape_ascii(),
                t.smallest.escape_ascii()
            );
            match &mut self.ranges {
                None => self.ranges = Some((t.smallest.clone(), t.largest.clone())),
                Some((smallest, largest)) => {
                    if order.compare(&t.smallest, smallest).is_lt() {
                        smallest.clone_from(&t.smallest);
                    }
                    if order.compare(&t.largest, largest).is_gt() {
                        largest.clone_from(&t.largest);
                    }
                }
            }
            let (user, start) = (&order.user, base::key::user_key(&t.key));
            let is_newest = newest.is_none_or(|key| user.compare_without_timestamp(key, start).is_lt());
            newest = Some(start);
            let ends = (base::key::user_key(&t.smallest), base::key::user_key(&t.largest));
            if let Some(covered) = covered
                && is_newest
                && user.compare_without_timestamp(ends.0, ends.1).is_lt()
            {
                self.covered_bytes = self.covered_bytes.saturating_add(covered(&t.smallest, &t.largest));
            }
        }
        Ok(())
    }

    /// Returns the internal key of the first entry. Empty if the file has only range tombstones.
    pub fn smallest(&self) -> &[u8] {
        base::invariant!(
            !self.smallest.is_empty() || self.largest.is_empty(),
            "a table has a largest key without a smallest key"
        );
        &self.smallest
    }

    /// Returns the largest internal key of the point entries, or an empty slice without entries.
    pub fn largest(&self) -> &[u8] {
        &self.largest
    }

    /// Returns the size that decides about the end of the file, in bytes; at least 1. With `target_file_size_is_upper_bound`, this is
    /// the size of the file if it ended now. Without, index, filter and meta blocks do not count, as in RocksDB
    /// (`CompactionOutputs::ShouldStopBefore`), so a file can exceed its target size.
    #[inline]
    pub fn cut_size(&self, s: &OutputSettings) -> u64 {
        match s.parts.pick.files.target_file_size_is_upper_bound {
            true => self.writer.estimated_size(),
            false => self.writer.file_size().max(1),
        }
    }

    /// Ends the table, syncs and closes the file, and verifies the file if the options ask for it. Calls the listeners.
    /// Deletes the file after an error.
    ///
    /// # Errors
    /// An error of writing or of syncing. Corruption if the written file does not verify.
    pub fn finish(self, s: &OutputSettings) -> Result<OutputFile> {
        let number = self.pending.number;
        match self.complete(s) {
            Ok(file) => {
                announce::finished(s, &file);
                Ok(file)
            }
            Err(error) => {
                announce::failed(s, number, &s.parts.table_path(number, s.place.path_id), &error);
                Err(error)
            }
        }
    }

    fn complete(mut self, s: &OutputSettings) -> Result<OutputFile> {
        let path = s.parts.table_path(self.pending.number, s.place.path_id);
        let times = s.times.as_ref().zip(self.timed).map(|(times, (smallest, largest))| {
            let mut own = times.of_range(smallest, largest);
            own.limit_samples(SAMPLES_PER_TABLE_MAX);
            own
        });
        if let Some(times) = &times {
            self.writer.set_seqno_times(times.encode());
        }
        let order = self.writer.order().clone();
        let written =
            write_end(self.writer, s).map_err(|error| error.doing("writing a table").file(&path)).and_then(
                |table| verify::written(s, &path, self.pending.number, &table, self.check).map(|()| table),
            );
        let table = match written {
            Ok(table) => table,
            Err(error) => {
                // The file is incomplete or wrong, and no version has it.
                let _ = s.env.fs.unlink(&path);
                return Err(error);
            }
        };
        let (smallest, largest) = widened((self.smallest, self.largest), self.ranges, &order);
        check_facts(self.pending.number, &table, (&smallest, &largest), &order);
        let mut meta = FileMetaData::new(self.pending.number, table.file_size, &smallest, &largest);
        meta.path_id = s.place.path_id;
        meta.user_defined_timestamps_persisted = s.parts.stored.timestamps;
        meta.oldest_blob_file = self.oldest_blob_file;
        meta.smallest_seq = table.smallest_seqno;
        meta.largest_seq = table.largest_seqno;
        meta.marked_for_compaction = table.needs_compaction;
        meta.times.oldest_ancester =
            if s.data_times.oldest_ancestor == 0 { self.created_s } else { s.data_times.oldest_ancestor };
        meta.times.creation = self.created_s;
        meta.epoch_number = s.epoch;
        meta.compensated_range_deletion_size = self.covered_bytes;
        meta.unique_id = table.unique_id.map_or([0, 0], UniqueId::short);
        meta.tail_size = table.tail_size;
        meta.temperature = s.temperature;
        if let Some(crc) = table.file_checksum {
            meta.checksum.value = crc.to_be_bytes().to_vec();
            meta.checksum.function = CRC32C_CHECKSUM_FUNC_NAME.to_string();
        }
        describe(&mut meta, &table.properties);
        Ok(OutputFile {
            meta: Arc::new(meta.into()),
            level: s.place.to_level,
            pre_compression_size: table.pre_compression_size,
            path,
            blobs: Vec::new(),
            deleted_places: self.deleted_run.into_places(),
            properties: Arc::new(table.properties),
            _pending: self.pending,
        })
    }

    /// Deletes the incomplete file, and calls the listeners. An error of the deletion is ignored: a sweep deletes the
    /// file later.
    pub fn abandon(self, s: &OutputSettings, error: &Error) {
        let number = self.pending.number;
        let path = s.parts.table_path(number, s.place.path_id);
        drop(self.writer.abandon());
        // The file is incomplete, and no version has it.
        let _ = s.env.fs.unlink(&path);
        announce::failed(s, number, &path, error);
    }
}

/// Ends the table, and syncs and closes the file.
fn write_end(writer: AnyWriter, s: &OutputSettings) -> Result<FinishedTable> {
    let (table, mut file) = writer.finish()?;
    let began = s.stats.begin();
    file.sync(s.io.use_fsync)?;
    let kind =
        if s.is_flush { HistogramKind::TableSyncMicros } else { HistogramKind::CompactionOutfileSyncMicros };
    s.stats.end(began, kind);
    file.close()?;
    Ok(table)
}

/// Returns the smallest and the largest internal key of a file: the ends of its point entries, widened by the ends of
/// its range tombstones.
fn widened(
    points: (Vec<u8>, Vec<u8>),
    ranges: Option<(Vec<u8>, Vec<u8>)>,
    order: &InternalOrder,
) -> (Vec<u8>, Vec<u8>) {
    let (mut smallest, mut largest) = points;
    if let Some((start, end)) = ranges {
        if smallest.is_empty() || order.compare(&start, &smallest).is_lt() {
            smallest = start;
        }
        if largest.is_empty() || order.compare(&end, &largest).is_gt() {
            largest = end;
        }
    }
    (smallest, largest)
}

/// Checks in a build with `invariants` that the facts about a finished table fit together.
fn check_facts(number: FileNumber, table: &FinishedTable, ends: (&[u8], &[u8]), order: &InternalOrder) {
    let (smallest, largest) = ends;
    // The comparator of a program is not called for a single key.
    base::invariant!(
        smallest == largest || order.compare(smallest, largest).is_le(),
        "table {} ends at the key {} and starts at the key {}",
        number,
        largest.escape_ascii(),
        smallest.escape_ascii()
    );
    base::invariant!(
        table.smallest_seqno <= table.largest_seqno,
        "table {} has the sequence numbers {} to {}",
        number,
        table.smallest_seqno,
        table.largest_seqno
    );
    base::invariant!(
        table.properties.num_deletions <= table.properties.num_entries,
        "table {} has {} tombstones among {} entries",
        number,
        table.properties.num_deletions,
        table.properties.num_entries
    );
    base::invariant!(
        table.tail_size <= table.file_size,
        "table {} has a tail of {} bytes and {} bytes in all",
        number,
        table.tail_size,
        table.file_size
    );
}

/// Adds what the table properties say to the record of the file.
fn describe(meta: &mut FileMetaData, p: &Properties) {
    // Compaction pickers need the newest timestamp: a bottommost file with history keeps its sequence numbers, and
    // rewriting the file would change nothing.
    let timestamp = |name: &str| p.user(name).map(<[u8]>::to_vec).unwrap_or_default();
    meta.timestamps.min = timestamp(names::TIMESTAMP_MIN);
    meta.timestamps.max = timestamp(names::TIMESTAMP_MAX);
    let samples = SeqnoTimes::decode(&p.seqno_to_time_mapping).ok();
    meta.set_stats(FileStats {
        num_entries: p.num_entries,
        num_deletions: p.num_deletions,
        num_range_deletions: p.num_range_deletions,
        entry_count: EntryCount::WithTombstones,
        raw_key_size: p.raw_key_size,
        raw_value_size: p.raw_value_size,
        data_size: p.data_size,
        creation_time: (p.creation_time != 0).then_some(p.creation_time),
        newest_key_time: (p.newest_key_time != 0).then_some(p.newest_key_time),
        oldest_write_time: samples.and_then(|samples| written_by(samples, meta.smallest_seq)),
    });
}

/// RocksDB's text for the fault of an input whose keys are out of order.
pub(super) const OUT_OF_ORDER: &str = "Compaction sees out-of-order keys.";

/// Returns true if [`OpenFile::add`] or the start of a range made the error, because an input has its keys out of order. The error names no file: the
/// merged inputs do not tell it.
pub fn is_out_of_order(error: &Error) -> bool {
    error.is_corruption() && error.path().is_none() && error.message().starts_with(OUT_OF_ORDER)
}

fn writer_options(s: &OutputSettings, file_number: FileNumber, now_s: u64) -> WriterOptions {
    let parts = &s.parts;
    base::invariant!(
        s.place.level.index() < lsm::version::MAX_LEVELS,
        "an SST file is written for {}",
        s.place.level
    );
    let last_level = s.place.level.index() + 1 == parts.pick.num_levels;
    let level = s.place.level;
    WriterOptions {
        table: parts.table.clone(),
        other: parts.other.clone(),
        block_compression: BlockCompression {
            kind: s.block_compression.kind,
            options: s.block_compression.options,
            sample_one_in: s.block_compression.sample_one_in,
        },
        place: TablePlace {
            family: s.place.family,
            family_name: s.place.family_name.clone(),
            level: Some(level),
            filter_level: if s.is_flush { FilterLevel::Flush } else { FilterLevel::Level(level) },
            skip_filter: parts.optimize_filters_for_hits && last_level && !s.is_flush,
        },
        times: DataTimes {
            oldest_ancestor: if s.data_times.oldest_ancestor == 0 {
                now_s
            } else {
                s.data_times.oldest_ancestor
            },
            oldest_key: s.data_times.oldest_key,
            newest_key: s.data_times.newest_key,
        },
        identity: Identity {
            db_id: s.identity.db_id.clone(),
            db_session_id: s.identity.db_session_id.clone(),
            db_host_id: s.identity.db_host_id.clone(),
        },
        resources: Resources {
            executor: (s.block_compression.options.parallel_threads > 1).then(|| s.env.executor.clone()),
            ledger: parts.caches.blocks.clone().map(|cache| cache as Arc<dyn Ledger>),
            warm: warmer(s, file_number),
            statistics: s.stats.statistics().cloned(),
        },
        order: parts.internal_order(),
        prefix_extractor: parts.code.prefix_extractor.clone(),
        persist_timestamps: parts.stored.timestamps,
        merge_operator_name: parts.code.merge_operator.as_ref().map(|m| m.name().to_string()),
        target_file_size: s.target_file_size,
        // The record of the MANIFEST gets the same time. FIFO compaction deletes by the table property.
        file_creation_time: now_s,
        seqno_to_time: Vec::new(),
        file_number,
        context_seed: s.env.rng.next_u64() as u32 & 0x7fff_ffff,
        external: false,
        embedded_blob_min_size: None,
        collecting: Collecting {
            factories: parts.code.collectors.clone(),
            old_before: s.old_before.filter(|_| !last_level),
        },
    }
}

/// Returns the warmer of the block cache, if `prepopulate_block_cache` asks for the blocks of this file. Blocks of
/// compactions have the lowest priority, as in RocksDB.
fn warmer(s: &OutputSettings, file_number: FileNumber) -> Option<Arc<dyn WarmCache>> {
    let priority = match (s.parts.table.prepopulate_block_cache, s.is_flush) {
        (PrepopulateBlockCache::FlushOnly | PrepopulateBlockCache::FlushAndCompaction, true) => Priority::Low,
        (PrepopulateBlockCache::FlushAndCompaction, false) => Priority::Bottom,
        _ => return None,
    };
    let cache = s.parts.caches.blocks.clone()?;
    let id = UniqueId::new(s.identity.db_id.as_bytes(), &s.identity.db_session_id, file_number)?;
    let statistics = s.stats.statistics().cloned();
    let protection = s.parts.blocks.protection_bytes_per_key;
    Some(Arc::new(BlockWarmer::new(cache, &id, &s.parts.order, protection, priority, statistics)))
}
