//! Ingestion of external files, in one call or in two phases.

use base::stats::{PerfCounter, PerfTimer};
use base::{Error, Result};

use super::Db;
use crate::ingest::{IngestRequest, Prepared, prepare};

/// Files that are checked and inside the directory of the database, but not visible: the first phase of an ingestion is
/// done. Dropping the value removes the files.
pub struct PreparedIngestion {
    db: Db,
    jobs: Vec<Prepared>,
}

impl Db {
    /// Ingests external files into one or more column families. After the call all files are visible, or none after an
    /// error.
    ///
    /// # Errors
    /// The errors of [`Db::prepare_ingestion`] and [`PreparedIngestion::commit`].
    pub fn ingest(&self, requests: Vec<IngestRequest>) -> Result<()> {
        let _time = PerfTimer::start(PerfCounter::FileIngestionNanos);
        self.prepare_ingestion(requests)?.commit()
    }

    /// Checks external files, and links or copies the files into the database. Nothing is visible yet.
    ///
    /// # Errors
    /// InvalidArgument if there is no request, if two requests have one column family, or if the options contradict each
    /// other. Corruption or NotSupported for files with a wrong format. IoError of the file system.
    pub fn prepare_ingestion(&self, requests: Vec<IngestRequest>) -> Result<PreparedIngestion> {
        self.writing()?;
        if requests.is_empty() {
            return Err(Error::invalid_argument("ingestion arg list is empty"));
        }
        let mut ids: Vec<_> = requests.iter().map(|request| request.family.id()).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid_argument("ingestion args have duplicate column families"));
        }
        let behind = requests[0].options.ingest_behind;
        if requests.iter().any(|request| request.options.ingest_behind != behind) {
            return Err(Error::invalid_argument("ingestion args have different ingest_behind options"));
        }
        let tools = &self.inner.tools;
        let jobs = requests.into_iter().map(|request| prepare(tools, request)).collect::<Result<_>>()?;
        Ok(PreparedIngestion { db: self.clone(), jobs })
    }
}

impl PreparedIngestion {
    /// Makes the files visible, in one commit for all column families.
    ///
    /// # Errors
    /// The background error; InvalidArgument or TryAgain if the files do not fit the database; errors of the WAL and the
    /// MANIFEST. After an error no file is visible.
    pub fn commit(self) -> Result<()> {
        self.db.writing()?.jobs.ingestions.ingest(self.jobs)
    }
}
