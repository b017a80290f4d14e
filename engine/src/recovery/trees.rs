//! Builds the column families and their versions from the MANIFEST, and checks the options of the caller against
//! them.

use base::map::{HashMap, HashSet};
use base::{Arrange, Error, FamilyId, FileNumber, Result, SequenceNumber, WalNumber};
use format::edit::NewFile;
use lsm::file_meta::FileMetaData;
use lsm::table_file::TableFile;
use lsm::version::{BlobFile, BlobGarbage, Edit, Version};

use crate::family::{Family, Parts};
use crate::manifest::{FamilyRecord, Recovered};
use crate::options::FamilyOptions;
use crate::release_notifier::ReleaseNotifier;
use crate::sync::Arc;

/// A column family that the caller wants to open.
pub struct RequestedFamily {
    pub name: String,
    pub options: Arc<FamilyOptions>,
    pub parts: Arc<Parts>,
}

impl RequestedFamily {
    /// Returns the lines of its options for the info log.
    pub fn log_lines(&self) -> Vec<String> {
        self.options.log_lines(self.parts.caches.blocks.as_ref())
    }
}

/// The SST files of an earlier view of the database, by number. A later view takes over the files that did not change, with
/// their open tables and their statistics.
#[derive(Default)]
pub struct EarlierFiles(HashMap<FileNumber, Arc<TableFile>>);

impl EarlierFiles {
    /// Collects the SST files of the newest versions of the column families.
    pub fn of(families: &[Arc<Family>]) -> Self {
        let pins: Vec<_> = families.iter().map(|family| family.pin_owned()).collect();
        let files = pins.iter().flat_map(|pin| pin.version.files());
        EarlierFiles(files.map(|(_, file)| (file.number, file.clone())).collect())
    }

    fn unchanged(&self, record: &NewFile) -> Option<Arc<TableFile>> {
        self.0.get(&record.number).filter(|file| file.is_from_record(record)).cloned()
    }
}

/// Builds every requested column family of the MANIFEST, with its version and an empty memtable. Also returns the
/// indexes of the requested column families that do not exist.
///
/// # Errors
/// InvalidArgument if `all_needed` is set and a column family was not requested: a writer must open all column
/// families. InvalidArgument for another comparator than that of the column family, and for SST files beyond the
/// last level. Corruption for a version that breaks the rules of its levels.
pub fn build_families(
    recovered: &Recovered,
    requested: &[RequestedFamily],
    release_notifier: &Arc<ReleaseNotifier>,
    earlier: &EarlierFiles,
    all_needed: bool,
) -> Result<(Vec<Arc<Family>>, Vec<usize>)> {
    let names: HashSet<_> = requested.iter().map(|request| request.name.as_str()).collect();
    // RocksDB names the newest column family first, because it walks a hash map.
    let not_opened: Vec<_> = recovered
        .families
        .values()
        .rev()
        .filter(|f| !names.contains(f.name.as_str()))
        .map(|f| f.name.as_str())
        .collect();
    if all_needed && !not_opened.is_empty() {
        return Err(Error::invalid_argument(format!(
            "Column families not opened: {}",
            not_opened.join(", ")
        )));
    }
    let mut families = Vec::new();
    let mut missing = Vec::new();
    let records: HashMap<_, _> = recovered.families.values().map(|f| (f.name.as_str(), f)).collect();
    for (index, request) in requested.iter().enumerate() {
        match records.get(request.name.as_str()) {
            Some(record) => {
                families.push(build(record, request, recovered.last_sequence, (release_notifier, earlier))?)
            }
            None => missing.push(index),
        }
    }
    base::invariant!(
        families.len() + missing.len() == requested.len(),
        "{} column families are asked for, {} exist and {} are missing",
        requested.len(),
        families.len(),
        missing.len()
    );
    Ok((families, missing))
}

fn build(
    record: &FamilyRecord,
    request: &RequestedFamily,
    last_seq: SequenceNumber,
    (release_notifier, earlier): (&Arc<ReleaseNotifier>, &EarlierFiles),
) -> Result<Arc<Family>> {
    let parts = &request.parts;
    let stored = stored_timestamps(record, parts)?;
    let version = tree(record, parts, stored, earlier)?;
    if stored != StoredTimestamps::AsRecorded {
        without_blob_files(record, &version)?;
    }
    let mem = parts.new_memtable(1, last_seq);
    let family = Family::new(
        record.id,
        record.name.clone(),
        request.options.clone(),
        parts.clone(),
        Arc::new(version),
        mem,
        record.wal_number,
        release_notifier.clone(),
    );
    if record.full_history_ts_low.is_some() {
        family.set_full_history_ts_low(record.full_history_ts_low.clone());
    }
    Ok(family)
}

/// Whether the SST files of a column family have timestamps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StoredTimestamps {
    /// The record of each SST file says whether the file has timestamps.
    AsRecorded,
    /// No SST file has timestamps: this open enables timestamps, and all files are older.
    None,
    /// As `AsRecorded`, and this open disables timestamps.
    Removed,
}

/// Checks the comparator and `persist_user_defined_timestamps` against the MANIFEST. With the option false, an open may
/// turn timestamps on (comparator `NAME.u64ts` in the place of `NAME`), and off again. RocksDB:
/// `ValidateUserDefinedTimestampsOptions`.
///
/// # Errors
/// InvalidArgument.
fn stored_timestamps(record: &FamilyRecord, parts: &Parts) -> Result<StoredTimestamps> {
    let (new, persist) = (parts.order.name(), parts.stored.timestamps);
    let persisted = record.persist_user_defined_timestamps.unwrap_or(true);
    // The first MANIFEST of a new database has no comparator yet.
    let Some(old) = record.comparator.as_deref() else { return Ok(StoredTimestamps::AsRecorded) };
    let refuse =
        |words: &str| Err(Error::invalid_argument(format!("column family {}: {words}", record.name)));
    if new == old {
        return match persist == persisted || parts.order.timestamp_size() == 0 {
            true => Ok(StoredTimestamps::AsRecorded),
            false => refuse(
                "Cannot toggle the persist_user_defined_timestamps flag for a column family with user-defined timestamps \
                 feature enabled.",
            ),
        };
    }
    if new.strip_suffix(".u64ts") == Some(old) {
        return match persist {
            false => Ok(StoredTimestamps::None),
            true => refuse(
                "Cannot open a column family and enable user-defined timestamps feature without setting \
                 persist_user_defined_timestamps flag to false.",
            ),
        };
    }
    if old.strip_suffix(".u64ts") == Some(new) {
        return match persisted {
            false => Ok(StoredTimestamps::Removed),
            true => refuse(
                "Cannot open a column family and disable user-defined timestamps feature if its existing \
                 persist_user_defined_timestamps flag is not false.",
            ),
        };
    }
    Err(Error::invalid_argument(format!("{new}: does not match existing comparator {old}")))
}

/// Checks that a column family has no live blob files when an open turns its timestamps on or off. The records of a blob file
/// have the keys from before the change, so each read of an older value would find another key. A blob index does not have the
/// length of the key, so the garbage bytes of a blob file would be wrong too. RocksDB has no such check.
///
/// # Errors
/// InvalidArgument.
fn without_blob_files(record: &FamilyRecord, version: &Version) -> Result<()> {
    let Some(oldest) = version.blobs().keys().next() else { return Ok(()) };
    Err(Error::invalid_argument(format!(
        "column family {}: Cannot turn user-defined timestamps on or off while the column family has blob files: it has {}, the \
         oldest is {oldest:06}.blob. Open the column family with its comparator {}, set enable_blob_files=false, and compact all \
         keys with blob_garbage_collection_policy=kForce and blob_garbage_collection_age_cutoff=1. Then make the change.",
        record.name,
        version.blobs().len(),
        record.comparator.as_deref().unwrap_or_default(),
    )))
}

fn tree(
    record: &FamilyRecord,
    parts: &Parts,
    stored: StoredTimestamps,
    earlier: &EarlierFiles,
) -> Result<Version> {
    let num_levels = parts.pick.num_levels;
    if let Some(file) = record.files.values().find(|f| f.level.index() >= num_levels) {
        return Err(Error::invalid_argument(format!(
            "column family {} has file {:06} on {}, but num_levels is {num_levels}",
            record.name, file.number, file.level
        )));
    }
    let timestamp_size = parts.order.timestamp_size();
    let mut files: Vec<_> = record.files.values().collect();
    files.arrange_by_key(|f| f.number);
    let added = files
        .into_iter()
        .map(|f| {
            if stored == StoredTimestamps::AsRecorded
                && let Some(file) = earlier.unchanged(f)
            {
                return (f.level, file);
            }
            let persisted = f.user_defined_timestamps_persisted && stored != StoredTimestamps::None;
            let record = NewFile { user_defined_timestamps_persisted: persisted, ..f.clone() };
            (f.level, Arc::new(TableFile::new(FileMetaData::from_record(&record, timestamp_size))))
        })
        .collect();
    // A compaction cursor without a timestamp is not a valid key now. Compaction starts at the first key again.
    let keeps_cursors = |_: &_| stored != StoredTimestamps::None;
    let cursors = record.cursors.iter().filter(keeps_cursors);
    let cursors = cursors.map(|(level, key)| (*level, key.clone())).collect();
    let edit = Edit {
        blobs_added: record.blobs.values().map(BlobFile::from_record).collect(),
        blob_garbage: record
            .blob_garbage
            .iter()
            .map(|(&number, &(count, bytes))| BlobGarbage { number, count, bytes })
            .collect(),
        added,
        cursors,
        ..Edit::default()
    };
    let empty = Version::empty(parts.internal_order(), num_levels);
    let version = empty
        .apply(&[edit])
        .map_err(|e| e.doing(format!("building the version of column family {}", record.name)))?;
    let version = version.infer_epochs(parts.first_epoch()).unwrap_or(version);
    parts
        .charge_files(version.files().map(|(_, file)| file))
        .map_err(|e| e.doing(format!("reading the MANIFEST entries of column family {}", record.name)))?;
    Ok(version)
}

/// Makes a new column family with an empty version and an empty memtable.
pub fn new_family(
    id: FamilyId,
    request: &RequestedFamily,
    wal_number: WalNumber,
    last_seq: SequenceNumber,
    release_notifier: &Arc<ReleaseNotifier>,
) -> Arc<Family> {
    let parts = &request.parts;
    Family::new(
        id,
        request.name.clone(),
        request.options.clone(),
        parts.clone(),
        Arc::new(Version::empty(parts.internal_order(), parts.pick.num_levels)),
        parts.new_memtable(1, last_seq),
        wal_number,
        release_notifier.clone(),
    )
}
