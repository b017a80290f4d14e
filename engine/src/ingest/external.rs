//! Opens one external file, checks the file against the column family, and reads the key range of the file.
//!
//! The file is foreign: every check reports an `Error` with the file and what the caller can do. Nothing is written.

use std::path::{Path, PathBuf};

use base::iter::InternalIterator;
use base::key::{self, MAX_SEQUENCE, ValueType};
use base::stats::HistogramKind;
use base::{Error, FileNumber, Order, Result, SequenceNumber};
use env::ReadHints;
use format::properties::{COLUMN_FAMILY_ID_UNKNOWN, Properties, names};
use lsm::blob_flow::references;
use lsm::file_meta::FileMetaData;
use table::any::AnyReader;
use table::sst::{OpenOptions, ReadCtx, stores_timestamps};
use table::sst_file::{BlobReferences, PreparedFileInfo};

use crate::family::{Family, Parts};
use crate::options::IngestExternalFileOptions;
use crate::output::JobTools;
use crate::sync::Arc;

/// The facts about an external file that an ingestion needs.
#[derive(Clone, Debug)]
pub struct ExternalFile {
    pub path: PathBuf,
    pub size: u64,
    /// The smallest and the largest internal key. The largest key may be the exclusive end of a range tombstone.
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    /// The sequence numbers of the entries. 0 and 0 for a file of `SstFileWriter`.
    pub smallest_seq: SequenceNumber,
    pub largest_seq: SequenceNumber,
    pub properties: Arc<Properties>,
    /// The global sequence number that is stored in the file.
    pub stored_seq: SequenceNumber,
    /// The offset of the stored global sequence number. `None`: the file has no field for the number.
    pub stored_seq_offset: Option<u64>,
}

impl ExternalFile {
    /// Opens an external file and checks that `family` can hold the file. `number` is the number that the file will have.
    ///
    /// # Errors
    /// Corruption or NotSupported if the file is not a complete SST file of a known kind. InvalidArgument if the file
    /// has another comparator, belongs to another column family, or has no entries. NotSupported if an entry refers to a
    /// blob file: if the file is only linked or moved, and the column family has no blob files, this check reads only the
    /// first and the last entry. Each error names the file.
    pub fn read(
        tools: &JobTools,
        family: &Family,
        path: &Path,
        number: FileNumber,
        options: &IngestExternalFileOptions,
    ) -> Result<ExternalFile> {
        read(tools, family, path, number, options)
            .map_err(|error| error.doing("reading an external file to ingest").file(path))
    }

    /// Takes the facts about an external file from `info`, and checks that `family` can hold the file. The file is opened only to
    /// verify its checksums. RocksDB: `ExternalSstFileIngestionJob::GetIngestedFileInfoFromFileInfo`.
    ///
    /// # Errors
    /// The errors of [`ExternalFile::read`]. InvalidArgument if the file has another size than `info` says. Corruption if a database
    /// wrote the file and `info` has no sequence numbers.
    pub fn from_info(
        tools: &JobTools,
        family: &Family,
        (path, info): (&Path, &PreparedFileInfo),
        number: FileNumber,
        options: &IngestExternalFileOptions,
    ) -> Result<ExternalFile> {
        from_info(tools, family, (path, info), number, options)
            .map_err(|error| error.doing("preparing an external file to ingest").file(path))
    }
}

fn from_info(
    tools: &JobTools,
    family: &Family,
    (path, info): (&Path, &PreparedFileInfo),
    number: FileNumber,
    options: &IngestExternalFileOptions,
) -> Result<ExternalFile> {
    let parts = family.parts();
    let properties = info.properties().clone();
    let size = tools.env.fs.file_size(path)?;
    if size != info.file_size() {
        return Err(Error::invalid_argument(format!(
            "the file has {size} bytes, and its file info says {} bytes: the info describes another file",
            info.file_size()
        )));
    }
    let (stored_seq, stored_seq_offset) = check_properties(&properties, family, &parts, options)?;
    let (smallest, largest) = info.bounds();
    key::parse(smallest)?;
    key::parse(largest)?;
    let (smallest_seq, largest_seq) = match options.allow_db_generated_files {
        true => stored_sequence_numbers(&properties)?.ok_or_else(|| {
            let bound = if properties.key_largest_seqno == u64::MAX { "largest" } else { "smallest" };
            Error::corruption(format!("Unknown {bound} seqno for db generated file."))
        })?,
        false => no_sequence_numbers(&properties)?,
    };
    if options.allow_db_generated_files && info.blobs() == BlobReferences::Some {
        return Err(Error::not_supported(
            "entries of the file have their values in blob files, and an ingestion takes no blob files",
        ));
    }
    if options.verify_checksums_before_ingest {
        let handle = tools.env.fs.open_random(path, &ReadHints::default())?;
        let reader = AnyReader::open(handle, size, &open_options(tools, &parts, number, options))?;
        reader.verify_checksums(&reading(options))?;
    }
    Ok(ExternalFile {
        path: path.to_path_buf(),
        size,
        smallest: smallest.to_vec(),
        largest: largest.to_vec(),
        smallest_seq,
        largest_seq,
        properties,
        stored_seq,
        stored_seq_offset,
    })
}

fn reading(options: &IngestExternalFileOptions) -> ReadCtx {
    ReadCtx {
        fill_cache: options.fill_cache,
        total_order_seek: true,
        readahead_size: options.verify_checksums_readahead_size,
        ..ReadCtx::default()
    }
}

/// Checks that a file has only the sequence number 0, and returns the number twice.
fn no_sequence_numbers(properties: &Properties) -> Result<(SequenceNumber, SequenceNumber)> {
    let largest = properties.key_largest_seqno;
    if largest != u64::MAX && largest > 0 {
        return Err(Error::corruption(format!(
            "External file has non zero largest sequence number {largest}: a database wrote the file; ingest the file \
             with allow_db_generated_files"
        )));
    }
    Ok((SequenceNumber::ZERO, SequenceNumber::ZERO))
}

/// Returns the smallest and the largest sequence number that the properties have. `None`: the properties have none.
fn stored_sequence_numbers(properties: &Properties) -> Result<Option<(SequenceNumber, SequenceNumber)>> {
    match (properties.key_smallest_seqno, properties.key_largest_seqno) {
        (_, 0) => Ok(Some((SequenceNumber::ZERO, SequenceNumber::ZERO))),
        (smallest, largest) if smallest == u64::MAX || largest == u64::MAX => Ok(None),
        (smallest, largest) if smallest <= largest && largest <= MAX_SEQUENCE.get() => {
            Ok(Some((SequenceNumber::new(smallest), SequenceNumber::new(largest))))
        }
        (smallest, largest) => {
            Err(Error::corruption(format!("the properties say sequence numbers {smallest} to {largest}")))
        }
    }
}

fn read(
    tools: &JobTools,
    family: &Family,
    path: &Path,
    number: FileNumber,
    options: &IngestExternalFileOptions,
) -> Result<ExternalFile> {
    let parts = family.parts();
    let size = tools.env.fs.file_size(path)?;
    let handle = tools.env.fs.open_random(path, &ReadHints::default())?;
    let reader = AnyReader::open(handle, size, &open_options(tools, &parts, number, options))?;
    let properties = reader.properties().clone();
    let (stored_seq, stored_seq_offset) = check_properties(&properties, family, &parts, options)?;
    let ctx = reading(options);
    let mut bounds = Bounds::new(&parts, options.allow_db_generated_files);
    bounds.points(&reader, &ctx)?;
    bounds.tombstones(&reader)?;
    let (Some(smallest), Some(largest)) = (bounds.smallest, bounds.largest) else {
        return Err(Error::invalid_argument("File contain no entries"));
    };
    let (smallest_seq, largest_seq) = match options.allow_db_generated_files {
        true => sequence_numbers(&reader, &ctx, &properties)?,
        false => no_sequence_numbers(&properties)?,
    };
    if options.allow_db_generated_files {
        let is_copied = !options.move_files && !options.link_files;
        let has_blobs = parts.blobs.enable_blob_files || !family.pin_owned().version.blobs().is_empty();
        let reads_all = is_copied || has_blobs || options.verify_checksums_before_ingest;
        refuse_blob_references(&reader, &ctx, reads_all)?;
    }
    if options.verify_checksums_before_ingest {
        reader.verify_checksums(&ctx)?;
    }
    base::invariant!(
        smallest_seq <= largest_seq,
        "the external file {} has the sequence numbers {smallest_seq} to {largest_seq}",
        path.display()
    );
    let path = path.to_path_buf();
    Ok(ExternalFile {
        path,
        size,
        smallest,
        largest,
        smallest_seq,
        largest_seq,
        properties,
        stored_seq,
        stored_seq_offset,
    })
}

/// Rejects entries with references to blob files: the database has other blob files, or a blob file of its own with the
/// same number. Reads all entries, or only the first and the last entry.
fn refuse_blob_references(reader: &AnyReader, ctx: &ReadCtx, reads_all: bool) -> Result<()> {
    let mut iter = reader.iter(ctx);
    let mut blob_file = None;
    iter.seek_to_first();
    while iter.valid() && blob_file.is_none() {
        references(key::split(iter.key()).2, iter.value(), &mut |blob| blob_file = Some(blob.file_number))?;
        if !reads_all {
            break;
        }
        iter.next();
    }
    iter.status()?;
    if !reads_all && blob_file.is_none() {
        iter.seek_to_last();
        iter.status()?;
        if iter.valid() {
            references(key::split(iter.key()).2, iter.value(), &mut |blob| {
                blob_file = Some(blob.file_number);
            })?;
        }
    }
    match blob_file {
        None => Ok(()),
        Some(number) => Err(Error::not_supported(format!(
            "an entry of the file has its value in blob file {number}, and an ingestion takes no blob files"
        ))),
    }
}

fn open_options(
    tools: &JobTools,
    parts: &Parts,
    number: FileNumber,
    options: &IngestExternalFileOptions,
) -> OpenOptions {
    OpenOptions {
        order: parts.order.clone(),
        prefix_extractor: parts.code.prefix_extractor.clone(),
        table: parts.table.clone(),
        other: parts.other.clone(),
        cache: parts.caches.blocks.clone().filter(|_| options.fill_cache),
        file_number: number,
        largest_seqno: Some(SequenceNumber::ZERO),
        db_session_id: Arc::from(tools.db_session_id.as_str()),
        block_protection_bytes_per_key: parts.blocks.protection_bytes_per_key,
        statistics: tools.stats.statistics().cloned(),
        histogram: Some(HistogramKind::FileReadVerifyFileChecksumsMicros),
        ..OpenOptions::default()
    }
}

/// Checks the table properties. Returns the stored global sequence number and its offset.
fn check_properties(
    properties: &Properties,
    family: &Family,
    parts: &Parts,
    options: &IngestExternalFileOptions,
) -> Result<(SequenceNumber, Option<u64>)> {
    let number = |bytes: &[u8]| bytes.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    let version = properties.user(names::EXTERNAL_VERSION).map(number);
    let stored = properties.user(names::GLOBAL_SEQNO).and_then(|bytes| bytes.first_chunk::<8>());
    let found = match version {
        None if options.allow_db_generated_files => (SequenceNumber::ZERO, None),
        None => {
            return Err(Error::corruption(
                "External file version not found: SstFileWriter did not write the file; ingest a file of a database \
                 with allow_db_generated_files",
            ));
        }
        Some(Some(2)) => {
            let stored =
                stored.ok_or_else(|| Error::corruption("External file global sequence number not found"))?;
            if options.write_global_seqno && properties.global_seqno_offset.is_none() {
                return Err(Error::corruption("Was not able to find file global seqno field"));
            }
            (SequenceNumber::new(u64::from_le_bytes(*stored)), properties.global_seqno_offset)
        }
        Some(Some(1)) if options.allow_blocking_flush || options.allow_global_seqno => {
            return Err(Error::invalid_argument("External SST file V1 does not support global seqno"));
        }
        Some(Some(1)) => (SequenceNumber::ZERO, None),
        Some(other) => {
            let shown = other.map_or_else(|| "?".to_string(), |version| version.to_string());
            return Err(Error::invalid_argument(format!("External file version {shown} is not supported")));
        }
    };
    let name = String::from_utf8_lossy(&properties.comparator_name);
    if !name.is_empty() && name != parts.order.name() {
        return Err(Error::invalid_argument(format!(
            "the file was written with the comparator {name}, column family {} has {}",
            family.name(),
            parts.order.name()
        )));
    }
    let persisted = stores_timestamps(properties, &parts.order);
    if parts.order.timestamp_size() > 0 && persisted != parts.stored.timestamps {
        return Err(Error::invalid_argument(format!(
            "the file has user_defined_timestamps_persisted {persisted}, column family {} has \
             persist_user_defined_timestamps {}",
            family.name(),
            parts.stored.timestamps
        )));
    }
    let id = properties.column_family_id;
    if id != COLUMN_FAMILY_ID_UNKNOWN
        && id != u64::from(family.id().get())
        && !options.allow_db_generated_files
    {
        return Err(Error::invalid_argument("External file column family id don't match"));
    }
    Ok(found)
}

/// Copies the facts about timestamps from the properties of a file: the smallest and the largest timestamp, and whether the
/// keys in the file have timestamps in `order`.
pub fn note_timestamps(meta: &mut FileMetaData, properties: &Properties, order: &Order) {
    let user = |name: &str| properties.user(name).unwrap_or_default().to_vec();
    meta.timestamps.min = user(names::TIMESTAMP_MIN);
    meta.timestamps.max = user(names::TIMESTAMP_MAX);
    meta.user_defined_timestamps_persisted = stores_timestamps(properties, order);
}

/// The range of keys of a file.
pub(super) struct Bounds<'a> {
    parts: &'a Parts,
    any_seq: bool,
    pub smallest: Option<Vec<u8>>,
    pub largest: Option<Vec<u8>>,
}

impl<'a> Bounds<'a> {
    /// Makes an empty key range. With `any_seq`, entries may have any sequence number; without, only 0.
    pub fn new(parts: &'a Parts, any_seq: bool) -> Self {
        Bounds { parts, any_seq, smallest: None, largest: None }
    }

    /// Takes the first and the last key of the file. A file without point entries leaves the range empty.
    ///
    /// # Errors
    /// Corruption if a key has a sequence number that is not allowed. An error of reading the file.
    pub fn points(&mut self, reader: &AnyReader, ctx: &ReadCtx) -> Result<()> {
        let mut iter = reader.iter(ctx);
        iter.seek_to_first();
        if !iter.valid() {
            return iter.status();
        }
        self.check(iter.key(), "External file has non zero sequence number")?;
        self.smallest = Some(iter.key().to_vec());
        iter.seek_to_last();
        if !iter.valid() {
            iter.status()?;
            return Err(Error::corruption("Can not find largest key in sst file"));
        }
        self.check(iter.key(), "External file has non zero sequence number")?;
        self.largest = Some(iter.key().to_vec());
        Ok(())
    }

    /// Extends the key range by the range tombstones of the file.
    ///
    /// # Errors
    /// Corruption if a range tombstone has a sequence number that is not allowed.
    pub fn tombstones(&mut self, reader: &AnyReader) -> Result<()> {
        let order = self.parts.internal_order();
        for (start, end) in reader.range_tombstones() {
            self.check(start, "External file has a range deletion with non zero sequence number.")?;
            if self.smallest.as_ref().is_none_or(|now| order.compare(start, now).is_lt()) {
                self.smallest = Some(start.clone());
            }
            let mut last = Vec::with_capacity(end.len() + key::TRAILER_LEN);
            key::append_internal(&mut last, end, MAX_SEQUENCE, ValueType::RangeDeletion);
            if self.largest.as_ref().is_none_or(|now| order.compare(&last, now).is_gt()) {
                self.largest = Some(last);
            }
        }
        Ok(())
    }

    fn check(&self, internal: &[u8], words: &str) -> Result<()> {
        key::parse(internal)?;
        if !self.any_seq && !key::sequence(internal).is_zero() {
            return Err(Error::corruption(words));
        }
        Ok(())
    }
}

/// Returns the smallest and the largest sequence number of a file that a database wrote: from the properties, or by a
/// scan.
fn sequence_numbers(
    reader: &AnyReader,
    ctx: &ReadCtx,
    properties: &Properties,
) -> Result<(SequenceNumber, SequenceNumber)> {
    if let Some(stored) = stored_sequence_numbers(properties)? {
        return Ok(stored);
    }
    let (mut smallest, mut largest) = (MAX_SEQUENCE, SequenceNumber::ZERO);
    let mut take = |seq: SequenceNumber| {
        smallest = smallest.min(seq);
        largest = largest.max(seq);
    };
    let mut iter = reader.iter(ctx);
    iter.seek_to_first();
    while iter.valid() {
        take(key::sequence(iter.key()));
        iter.next();
    }
    iter.status()?;
    reader.range_tombstones().iter().for_each(|(start, _)| take(key::sequence(start)));
    Ok((smallest, largest))
}
