//! Ingestion of external files, in one call or in two phases.

use std::path::Path;

use base::stats::{PerfCounter, PerfTimer};
use base::{Error, Result};
use format::names::FileName;
use format::properties::Properties;
use lsm::table_file::TableFile;
use table::sst_file::{BlobReferences, PreparedFileInfo};

use super::{Db, Files};
use crate::ingest::{IngestRequest, Prepared, check_requests, prepare};
use crate::sync::Arc;

/// Files that are checked and inside the directory of the database, but not visible: the first phase of an ingestion is
/// done. Dropping the value removes the files.
pub struct PreparedIngestion {
    db: Db,
    jobs: Vec<Prepared>,
}

impl Files<'_> {
    /// Ingests external files into one or more column families. After the call all files are visible, or none after an
    /// error.
    ///
    /// # Errors
    /// The errors of [`Files::prepare_ingestion`] and [`PreparedIngestion::commit`].
    pub fn ingest(&self, requests: Vec<IngestRequest>) -> Result<()> {
        let _time = PerfTimer::start(PerfCounter::FileIngestionNanos);
        self.prepare_ingestion(requests)?.commit()
    }

    /// Checks external files, and links or copies the files into the database. Nothing is visible yet.
    ///
    /// # Errors
    /// The errors of [`check_requests`]. Corruption or NotSupported for files with a wrong format. IoError of the file system.
    pub fn prepare_ingestion(&self, requests: Vec<IngestRequest>) -> Result<PreparedIngestion> {
        self.db.inner.writing()?;
        let tools = &self.db.inner.tools;
        check_requests(tools, &requests)?;
        let jobs = requests.into_iter().map(|request| prepare(tools, request)).collect::<Result<_>>()?;
        Ok(PreparedIngestion { db: self.db.clone(), jobs })
    }
}

/// Returns what an ingestion into another database must know of a live SST file of `db`. `path` is the path of the file, as the lists
/// of live files have it. RocksDB: `DBImpl::GetPreparedFileInfoForExternalSstIngestion`.
///
/// # Errors
/// InvalidArgument if `path` is not the path of an SST file, or if the file of this number has another path. NotFound if no
/// column family has the file. Errors of opening the SST file.
pub fn prepared_file_info(db: &Db, path: &Path) -> Result<PreparedFileInfo> {
    let shown = path.display();
    let name = path.file_name().and_then(|name| name.to_str()).and_then(FileName::parse);
    let Some(FileName::Table(number) | FileName::LegacyTable(number)) = name else {
        return Err(Error::invalid_argument(format!("Invalid table file name: {shown}")));
    };
    for family in db.inner.families.all() {
        let pinned = family.pin_owned();
        let Some((level, file)) = pinned.version.files().find(|(_, file)| file.number == number) else {
            continue;
        };
        if path != pinned.parts.table_path(number, file.path_id) {
            return Err(Error::invalid_argument(format!("Path does not match live table file: {shown}")));
        }
        let table = db.inner.tables.get(&pinned.parts, level, file)?;
        return Ok(info_of(file, table.properties()));
    }
    Err(Error::not_found("File not present in any level").file(path))
}

fn info_of(file: &TableFile, properties: &Properties) -> PreparedFileInfo {
    let properties = Properties {
        key_smallest_seqno: file.smallest_seq.get(),
        key_largest_seqno: file.largest_seq.get(),
        ..properties.clone()
    };
    let bounds = (file.smallest.to_vec(), file.largest.to_vec());
    let blobs = if file.oldest_blob_file.is_some() { BlobReferences::Some } else { BlobReferences::None };
    PreparedFileInfo::new(file.size, bounds, Arc::new(properties), blobs)
}

impl PreparedIngestion {
    /// Makes the files visible, in one commit for all column families.
    ///
    /// # Errors
    /// The background error; InvalidArgument or TryAgain if the files do not fit the database; errors of the WAL and the
    /// MANIFEST. After an error no file is visible.
    pub fn commit(self) -> Result<()> {
        self.db.inner.writing()?.jobs.ingestions.ingest(self.jobs)
    }

    /// Makes the files of several prepared ingestions visible, in one commit. If two of them have a column family in common, their
    /// files are ingested as by one ingestion, in the order of the list. RocksDB: `CommitFileIngestionHandles`.
    ///
    /// # Errors
    /// InvalidArgument if the list is empty, if the ingestions belong to different databases, or if their `fill_cache` differs.
    /// The errors of [`Prepared::append`] and [`PreparedIngestion::commit`]. After an error no file is visible, and the copies are
    /// removed.
    pub fn commit_together(ingestions: Vec<PreparedIngestion>) -> Result<()> {
        let Some(first) = ingestions.first() else {
            return Err(Error::invalid_argument("no file ingestion handles to commit"));
        };
        let db = first.db.clone();
        if ingestions.iter().any(|ingestion| !Arc::ptr_eq(&ingestion.db.inner, &db.inner)) {
            return Err(Error::invalid_argument("file ingestion handles of different databases"));
        }
        let mut jobs: Vec<Prepared> = Vec::new();
        let mut later = ingestions.into_iter().flat_map(|ingestion| ingestion.jobs);
        for job in &mut later {
            if jobs.first().is_some_and(|first| first.options.fill_cache != job.options.fill_cache) {
                return Err(Error::invalid_argument("fill cache arg must be consistent across all handles"));
            }
            match jobs.iter_mut().find(|own| own.family.id() == job.family.id()) {
                Some(own) => own.append(job)?,
                None => jobs.push(job),
            }
        }
        db.inner.writing()?.jobs.ingestions.ingest(jobs)
    }
}
