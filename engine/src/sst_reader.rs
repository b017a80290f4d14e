//! Reads one SST file without a database: lookups, iterators, raw entries, verification. RocksDB's `SstFileReader`.
//!
//! The file may be of a database or of `SstFileWriter`, and of any table kind. Nothing is written. Range tombstones of the
//! file hide no key, as in RocksDB (`table/sst_file_reader.cc`): their sequence numbers mean nothing without the other
//! files of the database. Blob files are not read: an iterator shows a blob index as the value.

use std::ops::{ControlFlow, Deref, DerefMut};
use std::path::{Path, PathBuf};

use base::iter::InternalIterator;
use base::key::{self, MAX_SEQUENCE, SequenceNumber, TYPE_FOR_SEEK, append_with_trailer, pack};
use base::stats::{HistogramKind, Statistics};
use base::{Error, Kind, Pinned, Result, ValueType};
use env::ReadHints;
use env::rate::RateLimiter;
use format::properties::Properties;
use table::any::{AnyReader, TableRows};
use table::sst::{BlockCache, OpenOptions, ReadCtx, ReadLimits};
use table::unique_id::SessionId;

use crate::family::Parts;
use crate::iter::{View, Walk};
use crate::options::{DbOptions, FamilyOptions, ReadOptions, ReadTier};
use crate::read::Answer;
use crate::source::resolve::Found;
use crate::sync::Arc;

/// An open SST file. All threads may use it. A clone is another handle of the same open file.
#[derive(Clone)]
pub struct SstReader {
    reader: AnyReader,
    parts: Arc<Parts>,
    path: Arc<PathBuf>,
    clock: Arc<dyn env::Clock>,
    rate_limiter: Option<Arc<RateLimiter>>,
    statistics: Option<Arc<Statistics>>,
}

/// One stored entry of an SST file.
#[derive(Clone, Debug)]
pub struct SstEntry {
    /// The key, without timestamp.
    pub user_key: Vec<u8>,
    /// The timestamp of the entry; empty without timestamps.
    pub timestamp: Vec<u8>,
    pub sequence: SequenceNumber,
    pub value_type: ValueType,
    /// The value as it is stored: for a value in a blob file, the blob index.
    pub value: Pinned,
}

impl SstReader {
    /// Opens the file at `path` as a file of a column family with these options.
    ///
    /// # Errors
    /// Corruption or NotSupported if the file is not a complete SST file of a known kind. InvalidArgument if the file
    /// has another comparator. IoError of the file system. Each error names the file.
    pub fn open(
        path: &Path,
        db: &DbOptions,
        family: &FamilyOptions,
        cache: Option<Arc<BlockCache>>,
    ) -> Result<SstReader> {
        let parts = Parts::resolve(family, db, path, cache, None)?;
        let reader = open(path, db, &parts).map_err(|error| error.doing("opening an SST file").file(path))?;
        Ok(SstReader {
            reader,
            parts: Arc::new(parts),
            path: Arc::new(path.to_path_buf()),
            clock: db.env.clock.clone(),
            rate_limiter: db.rate_limiter.clone(),
            statistics: db.statistics.clone(),
        })
    }

    /// Returns the table properties of the file.
    pub fn properties(&self) -> &Arc<Properties> {
        self.reader.properties()
    }

    /// Returns the value of a key. For an entity, returns the default column.
    ///
    /// # Errors
    /// MergeInProgress if the file has merge operands of the key and no value below the operands. Corruption for a
    /// value in a blob file. Errors of the file.
    pub fn get(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        let mut results = self.multi_get(&[key], options);
        results.pop().unwrap_or(Ok(None))
    }

    /// Returns the values of keys, in the order of the keys, with the errors of [`SstReader::get`]. If the values
    /// exceed `value_size_soft_limit` bytes, the remaining keys fail with Aborted.
    pub fn multi_get(&self, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Option<Pinned>>> {
        if let Err(error) = self.check(options) {
            return keys.iter().map(|_| Err(error.clone())).collect();
        }
        let seq = sequence(options);
        let timestamp = options.timestamp.as_deref().unwrap_or_default();
        let seek_key = |key: &&[u8]| {
            let mut bytes = Vec::with_capacity(key.len() + timestamp.len() + key::TRAILER_LEN);
            let full = [key, timestamp].concat();
            append_with_trailer(&mut bytes, &full, pack(seq, TYPE_FOR_SEEK));
            bytes
        };
        let mut sought: Vec<(usize, Vec<u8>)> = keys.iter().map(seek_key).enumerate().collect();
        sought.sort_by(|a, b| self.reader.order().compare(&a.1, &b.1));
        let seek_keys: Vec<&[u8]> = sought.iter().map(|(_, key)| key.as_slice()).collect();
        base::invariant!(
            seek_keys.is_sorted_by(|a, b| self.reader.order().compare(a, b).is_le()),
            "the keys are not in the order of the file"
        );
        let (operator, ctx) =
            (self.parts.code.merge_operator.as_ref(), self.ctx(options, HistogramKind::FileReadGetMicros));
        let answer = |_| Answer::of_file(operator, self.statistics.as_ref());
        let mut answers: Vec<Answer<'_>> = (0..keys.len()).map(answer).collect();
        let failed = self.reader.multi_get(&seek_keys, &ctx, |at, entry| {
            let (at, _) = sought[at];
            match entry.sequence() > seq {
                true => ControlFlow::Continue(()),
                false => answers[at].entry(keys[at], entry, &self.reader, &ctx),
            }
        });
        for (at, error) in failed {
            let (at, _) = sought[at];
            answers[at].fail(error);
        }
        let mut bytes = 0u64;
        let finish = |(answer, key): (Answer<'_>, &&[u8])| {
            if bytes > options.value_size_soft_limit {
                return Err(Error::aborted("Exceeded value_size_soft_limit"));
            }
            let value = self.finish(answer, key)?;
            bytes += value.as_ref().map_or(0, |value| value.len() as u64);
            Ok(value)
        };
        answers.into_iter().zip(keys).map(finish).collect()
    }

    fn finish(&self, answer: Answer<'_>, key: &[u8]) -> Result<Option<Pinned>> {
        if !answer.settled() && answer.operands() > 0 {
            return Err(Error::new(
                Kind::MergeInProgress,
                "the SST file has merge operands of the key, and no value below the operands",
            )
            .file(&*self.path));
        }
        let found = answer.finish(key).map_err(|error| error.file(&*self.path))?;
        found.map(Found::into_plain).transpose()
    }

    /// Returns an iterator over the keys that a reader of the file sees. The iterator is not valid until it is positioned.
    ///
    /// # Errors
    /// InvalidArgument for a missing timestamp, or for a timestamp of another length. NotSupported for an option that
    /// needs a database.
    pub fn iter(&self, options: ReadOptions) -> Result<SstIter> {
        self.check(&options)?;
        let order = self.parts.order.clone();
        if let Some(start) = &options.iter_start_ts
            && (order.timestamp_size() == 0 || start.len() != order.timestamp_size())
        {
            return Err(Error::invalid_argument(format!(
                "iter_start_ts has {} bytes; the timestamps of the file have {}",
                start.len(),
                order.timestamp_size()
            )));
        }
        let rows = self.reader.rows(&self.ctx(&options, HistogramKind::FileReadDbIteratorMicros));
        let by_prefix = options.prefix_same_as_start;
        let seq = sequence(&options);
        let view = View {
            visibility: None,
            order,
            seq,
            blobs: None,
            shows_blob_indexes: true,
            may_miss_prefixes: false,
            lazy_blobs: options.allow_unprepared_value,
            timestamp: options.timestamp.unwrap_or_default(),
            max_sequential_skip: match options.iter_start_ts {
                // A seek past a key would skip the older timestamps of the key.
                Some(_) => u64::MAX,
                None => self.parts.scan.max_sequential_skip,
            },
            start_timestamp: options.iter_start_ts,
            merge_operator: self.parts.code.merge_operator.clone(),
            statistics: self.statistics.clone(),
            lower: options.iterate_lower_bound,
            upper: options.iterate_upper_bound,
            prefix: self.parts.code.prefix_extractor.clone().filter(|_| by_prefix),
            max_skippable: options.max_skippable_internal_keys,
        };
        Ok(SstIter { walk: Walk::new(rows, view) })
    }

    /// Returns the point entries of the file as they are stored, with tombstones and older entries. Does not add
    /// blocks to the block cache.
    pub fn entries(&self) -> SstEntries {
        let ctx = ReadCtx { fill_cache: false, total_order_seek: true, ..ReadCtx::default() };
        SstEntries {
            rows: Some(self.reader.iter(&ctx)),
            started: false,
            timestamp_size: self.parts.order.timestamp_size(),
        }
    }

    /// Returns the range tombstones of the file: the start as an internal key, and the end as a user key.
    pub fn range_tombstones(&self) -> &[(Vec<u8>, Vec<u8>)] {
        self.reader.range_tombstones()
    }

    /// Reads the whole file and verifies the checksum of each block.
    ///
    /// # Errors
    /// Corruption with the offset of the damage; errors of the file.
    pub fn verify_checksums(&self, options: &ReadOptions) -> Result<()> {
        let ctx = self.ctx(options, HistogramKind::FileReadVerifyDbChecksumMicros);
        self.reader
            .verify_checksums(&ctx)
            .map_err(|error| error.doing("verifying an SST file").file(&*self.path))
    }

    /// Counts the entries of the file and compares the count with the table properties.
    ///
    /// # Errors
    /// Corruption if the counts differ; errors of the file.
    pub fn verify_num_entries(&self, options: &ReadOptions) -> Result<()> {
        let mut ctx = self.ctx(options, HistogramKind::FileReadVerifyDbChecksumMicros);
        (ctx.total_order_seek, ctx.upper_bound) = (true, None);
        let mut rows = self.reader.iter(&ctx);
        let mut found = 0u64;
        rows.seek_to_first();
        while rows.valid() {
            found += 1;
            rows.next();
        }
        rows.status().map_err(|error| error.file(&*self.path))?;
        let properties = self.properties();
        // Properties are untrusted: a wrong count is the corruption that this check reports.
        let expected = properties.num_entries.saturating_sub(properties.num_range_deletions);
        match found == expected {
            true => Ok(()),
            false => Err(Error::corruption(format!(
                "Table property expects {expected} entries when excluding range deletions, but scanning the table returned \
                 {found} entries"
            ))
            .file(&*self.path)),
        }
    }

    fn check(&self, options: &ReadOptions) -> Result<()> {
        let refused = [
            (options.tailing, "tailing"),
            (options.auto_refresh_iterator_with_snapshot, "auto_refresh_iterator_with_snapshot"),
            (options.table_filter.is_some(), "table_filter"),
            (options.merge_operand_count_threshold.is_some(), "merge_operand_count_threshold"),
            (matches!(options.read_tier, ReadTier::Memtable | ReadTier::Persisted), "read_tier"),
        ];
        if let Some((_, name)) = refused.iter().find(|(asked, _)| *asked) {
            return Err(Error::not_supported(format!("ReadOptions::{name} for a single SST file")));
        }
        let (size, given) = (self.parts.order.timestamp_size(), options.timestamp.as_ref().map(Vec::len));
        match given.unwrap_or(0) == size && given.is_some() == (size > 0) {
            true => Ok(()),
            false => Err(Error::invalid_argument(format!(
                "ReadOptions::timestamp has {} bytes; the timestamps of the file have {size}",
                given.unwrap_or(0)
            ))),
        }
    }

    fn ctx(&self, options: &ReadOptions, histogram: HistogramKind) -> ReadCtx {
        let extractor = self.parts.code.prefix_extractor.clone();
        ReadCtx {
            verify_checksums: options.verify_checksums,
            fill_cache: options.fill_cache,
            cache_only: options.read_tier == ReadTier::BlockCache,
            total_order_seek: options.total_order_seek
                || extractor.is_none()
                || (self.parts.scan.prefix_seek_opt_in_only
                    && !options.prefix_same_as_start
                    && !options.auto_prefix_mode),
            prefix_extractor: extractor,
            auto_prefix_mode: options.auto_prefix_mode,
            readahead_size: options.readahead_size,
            for_compaction: false,
            histogram,
            limits: self.limits(options),
            auto_readahead_size: options.auto_readahead_size,
            async_io: options.async_io,
            upper_bound: options.iterate_upper_bound.clone(),
        }
    }

    fn limits(&self, options: &ReadOptions) -> Option<Arc<ReadLimits>> {
        let charge = self.rate_limiter.clone().zip(options.rate_limiter_priority);
        if options.deadline.is_zero() && options.io_timeout.is_zero() && charge.is_none() {
            return None;
        }
        let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Some(Arc::new(ReadLimits {
            clock: self.clock.clone(),
            deadline_micros: micros(options.deadline),
            timeout_micros: micros(options.io_timeout),
            charge,
            statistics: self.statistics.clone(),
        }))
    }
}

fn open(path: &Path, db: &DbOptions, parts: &Parts) -> Result<AnyReader> {
    let env = &db.env;
    let size = env.fs.file_size(path)?;
    let handle = env.fs.open_random(path, &ReadHints { direct: db.use_direct_reads, random: false })?;
    // A file may have no session id. A new session id gives cache keys that no other reader has.
    let session = SessionId::new(env.rng.next_u64(), env.rng.next_u64()).to_string();
    let options = OpenOptions {
        order: parts.order.clone(),
        prefix_extractor: parts.code.prefix_extractor.clone(),
        table: parts.table.clone(),
        other: parts.other.clone(),
        cache: parts.caches.blocks.clone(),
        db_session_id: Arc::from(session.as_str()),
        block_protection_bytes_per_key: parts.blocks.protection_bytes_per_key,
        statistics: db.statistics.clone(),
        ..OpenOptions::default()
    };
    let reader = AnyReader::open(handle, size, &options)?;
    parts.charge_reader(&reader)?;
    let name = String::from_utf8_lossy(&reader.properties().comparator_name).into_owned();
    match name.is_empty() || name == parts.order.name() {
        true => Ok(reader),
        false => Err(Error::invalid_argument(format!(
            "the file was written with the comparator {name}, the options have {}",
            parts.order.name()
        ))),
    }
}

fn sequence(options: &ReadOptions) -> SequenceNumber {
    options.snapshot.as_ref().map_or(MAX_SEQUENCE, |snapshot| snapshot.sequence())
}

/// An iterator over an SST file. Dereferences to the functions that move it and return its entry.
pub struct SstIter {
    walk: Walk<TableRows>,
}

impl Deref for SstIter {
    type Target = Walk<TableRows>;

    fn deref(&self) -> &Walk<TableRows> {
        &self.walk
    }
}

impl DerefMut for SstIter {
    fn deref_mut(&mut self) -> &mut Walk<TableRows> {
        &mut self.walk
    }
}

/// An iterator over the stored entries of an SST file. It ends after an error.
pub struct SstEntries {
    /// `None` after the end or an error.
    rows: Option<TableRows>,
    started: bool,
    timestamp_size: usize,
}

impl Iterator for SstEntries {
    type Item = Result<SstEntry>;

    fn next(&mut self) -> Option<Result<SstEntry>> {
        let rows = self.rows.as_mut()?;
        match std::mem::replace(&mut self.started, true) {
            false => rows.seek_to_first(),
            true => rows.next(),
        }
        if !rows.valid() {
            let ended = rows.status();
            self.rows = None;
            return ended.err().map(Err);
        }
        let entry = entry(rows, self.timestamp_size);
        if entry.is_err() {
            self.rows = None;
        }
        Some(entry)
    }
}

fn entry(rows: &TableRows, timestamp_size: usize) -> Result<SstEntry> {
    let parsed = key::parse(rows.key())?;
    let at = parsed.user_key.len().checked_sub(timestamp_size);
    let at = at.ok_or_else(|| Error::corruption("a key of the SST file is shorter than its timestamp"))?;
    Ok(SstEntry {
        user_key: parsed.user_key[..at].to_vec(),
        timestamp: parsed.user_key[at..].to_vec(),
        sequence: parsed.seq,
        value_type: parsed.value_type,
        value: rows.pin_value(),
    })
}
