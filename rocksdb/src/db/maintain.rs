//! Flushes, compactions, ingestions, live options, properties, files.

use std::ffi::CString;
use std::path::Path;

use ironstone::{Family, SequenceNumber};

use super::{ColumnFamilyMetaData, DBCommon, DBInner, DBWithThreadMode, LiveFile, Range, ThreadMode};
use crate::c_str::check_path;
use crate::column_family::CfHandle;
use crate::{
    AsColumnFamilyRef, CStrLike, CompactOptions, DBWALIterator, Error, FlushOptions,
    IngestExternalFileOptions, Options, WaitForCompactOptions,
};

impl<T: ThreadMode> DBWithThreadMode<T> {
    /// Stops the deletion of obsolete files. Calls are counted: deletion starts again after [`Self::enable_file_deletions`] was
    /// called as often as this function.
    ///
    /// # Errors
    /// None.
    pub fn disable_file_deletions(&self) -> Result<(), Error> {
        ironstone::binding::check_writable(&self.base().plain())?;
        self.base().plain().disable_file_deletions();
        Ok(())
    }

    /// Undoes one call of [`Self::disable_file_deletions`].
    ///
    /// # Errors
    /// None.
    pub fn enable_file_deletions(&self) -> Result<(), Error> {
        ironstone::binding::check_writable(&self.base().plain())?;
        self.base().plain().enable_file_deletions();
        Ok(())
    }
}

/// Returns the text of a property.
///
/// # Errors
/// The name has NUL inside.
pub(crate) fn property(family: &Family, name: impl CStrLike) -> Result<Option<String>, Error> {
    let name = name
        .bake()
        .map_err(|error| Error::new(format!("Failed to convert property name to CString: {error}")))?;
    Ok(family.property(&name.to_string_lossy()))
}

/// # Errors
/// The text is not a number.
pub(crate) fn number(text: Option<String>) -> Result<Option<u64>, Error> {
    let parse = |text: String| {
        text.parse::<u64>()
            .map_err(|error| Error::new(format!("Failed to convert property value {text} to int: {error}")))
    };
    text.map(parse).transpose()
}

/// Defines the flushes of a database.
macro_rules! flushes {
    () => {
        /// Writes buffered WAL records to the WAL file. With `sync`, also syncs the file, so that the records are durable.
        ///
        /// # Errors
        /// IOError of the WAL.
        pub fn flush_wal(&self, sync: bool) -> Result<(), Error> {
            Ok(self.base().plain().flush_wal(sync)?)
        }

        /// Writes the memtables of the default column family to SST files, with options.
        ///
        /// # Errors
        /// The errors of [`Self::flush`].
        pub fn flush_opt(&self, flushopts: &FlushOptions) -> Result<(), Error> {
            Ok(self.base().with_family(None, |family| family.flush_with(&flushopts.inner))?)
        }

        /// Writes the memtables of the default column family to SST files.
        ///
        /// # Errors
        /// The background error that prevents the flush.
        pub fn flush(&self) -> Result<(), Error> {
            self.flush_opt(&FlushOptions::default())
        }

        /// Writes the memtables of a column family to SST files, with options.
        ///
        /// # Errors
        /// The errors of [`Self::flush`].
        pub fn flush_cf_opt(
            &self,
            cf: &impl AsColumnFamilyRef,
            flushopts: &FlushOptions,
        ) -> Result<(), Error> {
            Ok(self.base().with_family(Some(cf.inner()), |family| family.flush_with(&flushopts.inner))?)
        }

        /// Flushes column families. With the option `atomic_flush`, one MANIFEST commit adds the SST files of all of them.
        ///
        /// # Errors
        /// The errors of [`Self::flush`].
        pub fn flush_cfs_opt(
            &self,
            cfs: &[&impl AsColumnFamilyRef],
            opts: &FlushOptions,
        ) -> Result<(), Error> {
            let mut families = Vec::with_capacity(cfs.len());
            for cf in cfs {
                families.push(self.base().check(cf.inner())?.family.clone());
            }
            Ok(self.base().plain().flush_families(&families, &opts.inner)?)
        }

        /// Writes the memtables of a column family to SST files.
        ///
        /// # Errors
        /// The errors of [`Self::flush`].
        pub fn flush_cf(&self, cf: &impl AsColumnFamilyRef) -> Result<(), Error> {
            self.flush_cf_opt(cf, &FlushOptions::default())
        }
    };
}
pub(crate) use flushes;

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Returns the names of the column families of a database. The database need not be open.
    ///
    /// # Errors
    /// IOError if there is no database.
    pub fn list_cf<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Vec<String>, Error> {
        Ok(ironstone::list_column_families(check_path(path.as_ref())?, &opts.get()?.db)?)
    }

    /// Deletes the files of a database.
    ///
    /// # Errors
    /// IOError if the database is open.
    pub fn destroy<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        let options = opts.get()?;
        Ok(ironstone::destroy_with(check_path(path.as_ref())?, &options.db, &[options.family])?)
    }

    /// Rebuilds the MANIFEST of a database from its remaining files. Writes can be lost. The info log reports the lost writes.
    ///
    /// # Errors
    /// IOError if the database is open.
    pub fn repair<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        let path = check_path(path.as_ref())?;
        ironstone::repair(path, opts.get()?, vec![opts.descriptor(crate::DEFAULT_COLUMN_FAMILY_NAME)?])?;
        Ok(())
    }

    flushes!();

    /// Compacts a key range. Writes an error to the info log, because the signature cannot return an error.
    fn compact(
        &self,
        cf: Option<&CfHandle>,
        start: Option<&[u8]>,
        end: Option<&[u8]>,
        opts: &CompactOptions,
    ) {
        let Ok(options) = opts.get() else { return };
        let _ = self.base().with_family(cf, |family| family.compact_range(start, end, options));
    }

    /// Compacts the keys from `start` to `end`. `None` means no bound. Writes an error to the info log.
    pub fn compact_range<S: AsRef<[u8]>, E: AsRef<[u8]>>(&self, start: Option<S>, end: Option<E>) {
        self.compact_range_opt(start, end, &CompactOptions::default());
    }

    /// Works like [`Self::compact_range`], with options.
    pub fn compact_range_opt<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        start: Option<S>,
        end: Option<E>,
        opts: &CompactOptions,
    ) {
        self.compact(None, start.as_ref().map(AsRef::as_ref), end.as_ref().map(AsRef::as_ref), opts);
    }

    /// Works like [`Self::compact_range`], for a column family.
    pub fn compact_range_cf<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        start: Option<S>,
        end: Option<E>,
    ) {
        self.compact_range_cf_opt(cf, start, end, &CompactOptions::default());
    }

    /// Works like [`Self::compact_range`], for a column family, with options.
    pub fn compact_range_cf_opt<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        start: Option<S>,
        end: Option<E>,
        opts: &CompactOptions,
    ) {
        let (start, end) = (start.as_ref().map(AsRef::as_ref), end.as_ref().map(AsRef::as_ref));
        self.compact(Some(cf.inner()), start, end, opts);
    }

    /// Waits until no flush and no compaction is running or pending.
    ///
    /// # Errors
    /// The background error that stops jobs; Aborted if jobs are paused and `abort_on_pause` is set; TimedOut if the timeout
    /// of the options ends.
    pub fn wait_for_compact(&self, opts: &WaitForCompactOptions) -> Result<(), Error> {
        Ok(self.base().plain().wait_for_compact_with(&opts.inner)?)
    }

    fn change(&self, cf: Option<&CfHandle>, opts: &[(&str, &str)]) -> Result<(), Error> {
        for (name, value) in opts {
            CString::new(*name).map_err(|error| Error::new(format!("Invalid option name `{error}`")))?;
            CString::new(*value).map_err(|error| Error::new(format!("Invalid option value: `{error}`")))?;
        }
        if opts.is_empty() {
            return Err(Error::new("Invalid argument: empty input"));
        }
        Ok(self.base().with_family(cf, |family| family.set_options(opts))?)
    }

    /// Changes options of the default column family while the database is open.
    ///
    /// # Errors
    /// InvalidArgument for an empty list, for an option that cannot change, and for a value that an option cannot have.
    pub fn set_options(&self, opts: &[(&str, &str)]) -> Result<(), Error> {
        self.change(None, opts)
    }

    /// Changes options of a column family while the database is open.
    ///
    /// # Errors
    /// The errors of [`Self::set_options`].
    pub fn set_options_cf(&self, cf: &impl AsColumnFamilyRef, opts: &[(&str, &str)]) -> Result<(), Error> {
        self.change(Some(cf.inner()), opts)
    }

    fn property(&self, cf: Option<&CfHandle>, name: impl CStrLike) -> Result<Option<String>, Error> {
        self.base().with_family(cf, |family| Ok(property(family, name)))?
    }

    /// Returns a property as text. `None` if there is no property of this name.
    ///
    /// # Errors
    /// The name has NUL inside.
    pub fn property_value(&self, name: impl CStrLike) -> Result<Option<String>, Error> {
        self.property(None, name)
    }

    /// Works like [`Self::property_value`], for a column family.
    ///
    /// # Errors
    /// The name has NUL inside.
    pub fn property_value_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        name: impl CStrLike,
    ) -> Result<Option<String>, Error> {
        self.property(Some(cf.inner()), name)
    }

    /// Returns a property as a number.
    ///
    /// # Errors
    /// The property is not a number; the name has NUL inside.
    pub fn property_int_value(&self, name: impl CStrLike) -> Result<Option<u64>, Error> {
        number(self.property(None, name)?)
    }

    /// Works like [`Self::property_int_value`], for a column family.
    ///
    /// # Errors
    /// The errors of [`Self::property_int_value`].
    pub fn property_int_value_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        name: impl CStrLike,
    ) -> Result<Option<u64>, Error> {
        number(self.property(Some(cf.inner()), name)?)
    }

    /// Returns the newest visible sequence number.
    pub fn latest_sequence_number(&self) -> u64 {
        self.base().plain().latest_sequence().get()
    }

    fn sizes(&self, cf: Option<&CfHandle>, ranges: &[Range<'_>]) -> Vec<u64> {
        let size = |family: &Family| {
            ranges.iter().map(|range| family.approximate_size(range.start_key, range.end_key)).collect()
        };
        self.base().with_family(cf, size).unwrap_or_else(|_| vec![0; ranges.len()])
    }

    /// Returns the approximate size of each range in SST files, in bytes. Returns 0 for each range if the call fails.
    pub fn get_approximate_sizes(&self, ranges: &[Range<'_>]) -> Vec<u64> {
        self.sizes(None, ranges)
    }

    /// Works like [`Self::get_approximate_sizes`], for a column family.
    pub fn get_approximate_sizes_cf(&self, cf: &impl AsColumnFamilyRef, ranges: &[Range<'_>]) -> Vec<u64> {
        self.sizes(Some(cf.inner()), ranges)
    }

    /// Returns an iterator over the write batches of the WAL after a sequence number.
    ///
    /// # Errors
    /// NotFound if the WAL does not reach the sequence number.
    pub fn get_updates_since(&self, seq_number: u64) -> Result<DBWALIterator, Error> {
        Ok(DBWALIterator::new(
            self.base().plain().updates_since(SequenceNumber::new(seq_number))?,
            seq_number,
        ))
    }

    /// Updates a secondary instance: later reads see the writes of the primary instance up to this call.
    ///
    /// # Errors
    /// NotSupported if the database is not a secondary instance; TryAgain if the primary instance deletes files during the call.
    pub fn try_catch_up_with_primary(&self) -> Result<(), Error> {
        Ok(self.base().try_catch_up_with_primary()?)
    }

    fn ingest<P: AsRef<Path>>(
        &self,
        cf: Option<&CfHandle>,
        opts: &IngestExternalFileOptions,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        for path in &paths {
            check_path(path.as_ref())?;
        }
        Ok(self.base().with_family(cf, |family| family.ingest_external_files(paths, &opts.inner))?)
    }

    /// Adds SST files to the default column family: all files or none.
    ///
    /// # Errors
    /// InvalidArgument for files whose keys overlap; Corruption of a file.
    pub fn ingest_external_file<P: AsRef<Path>>(&self, paths: Vec<P>) -> Result<(), Error> {
        self.ingest(None, &IngestExternalFileOptions::default(), paths)
    }

    /// Works like [`Self::ingest_external_file`], with options.
    ///
    /// # Errors
    /// The errors of [`Self::ingest_external_file`].
    pub fn ingest_external_file_opts<P: AsRef<Path>>(
        &self,
        opts: &IngestExternalFileOptions,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        self.ingest(None, opts, paths)
    }

    /// Works like [`Self::ingest_external_file`], for a column family.
    ///
    /// # Errors
    /// The errors of [`Self::ingest_external_file`].
    pub fn ingest_external_file_cf<P: AsRef<Path>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        self.ingest(Some(cf.inner()), &IngestExternalFileOptions::default(), paths)
    }

    /// Works like [`Self::ingest_external_file`], for a column family, with options.
    ///
    /// # Errors
    /// The errors of [`Self::ingest_external_file`].
    pub fn ingest_external_file_cf_opts<P: AsRef<Path>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        opts: &IngestExternalFileOptions,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        self.ingest(Some(cf.inner()), opts, paths)
    }

    fn metadata(&self, cf: Option<&CfHandle>) -> ColumnFamilyMetaData {
        let metadata = self.base().with_family(cf, |family| Ok(family.metadata()));
        match metadata {
            Ok(known) => {
                ColumnFamilyMetaData { size: known.size, name: known.name, file_count: known.file_count }
            }
            Err(_) => ColumnFamilyMetaData { size: 0, name: String::new(), file_count: 0 },
        }
    }

    /// Returns the name, the size and the number of SST files of the default column family.
    pub fn get_column_family_metadata(&self) -> ColumnFamilyMetaData {
        self.metadata(None)
    }

    /// Returns the name, the size and the number of SST files of a column family. Returns an empty value if the handle belongs
    /// to another database.
    pub fn get_column_family_metadata_cf(&self, cf: &impl AsColumnFamilyRef) -> ColumnFamilyMetaData {
        self.metadata(Some(cf.inner()))
    }

    /// Returns the SST files of all column families.
    ///
    /// # Errors
    /// None.
    pub fn live_files(&self) -> Result<Vec<LiveFile>, Error> {
        let mut files = Vec::new();
        for family in self.base().plain().families() {
            for file in family.live_files() {
                let name = file.path.file_name().unwrap_or_default().to_string_lossy();
                files.push(LiveFile {
                    column_family_name: family.name().to_string(),
                    name: format!("/{name}"),
                    size: usize::try_from(file.size).unwrap_or(usize::MAX),
                    level: i32::from(file.level.get()),
                    start_key: Some(file.smallest_key),
                    end_key: Some(file.largest_key),
                    num_entries: file.num_entries,
                    num_deletions: file.num_deletions,
                });
            }
        }
        Ok(files)
    }

    fn delete_files(&self, cf: Option<&CfHandle>, from: &[u8], to: &[u8]) -> Result<(), Error> {
        let delete = |family: &Family| family.delete_files_in_ranges(&[(Some(from), Some(to))], true);
        Ok(self.base().with_family(cf, delete)?)
    }

    /// Deletes each SST file whose keys are all between `from` and `to`. Keys of the range in other SST files are not deleted.
    ///
    /// # Errors
    /// IOError of the MANIFEST.
    pub fn delete_file_in_range<K: AsRef<[u8]>>(&self, from: K, to: K) -> Result<(), Error> {
        self.delete_files(None, from.as_ref(), to.as_ref())
    }

    /// Works like [`Self::delete_file_in_range`], for a column family.
    ///
    /// # Errors
    /// The errors of [`Self::delete_file_in_range`].
    pub fn delete_file_in_range_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
    ) -> Result<(), Error> {
        self.delete_files(Some(cf.inner()), from.as_ref(), to.as_ref())
    }

    /// Stops background work before the database is dropped. Later flushes and compactions fail. Later writes fail if they must
    /// wait for a flush or a compaction. With `wait`, the call waits for running jobs.
    pub fn cancel_all_background_work(&self, wait: bool) {
        // A database that is open for reading only has no background work and returns NotSupported.
        let _ = self.base().plain().cancel_all_background_work(wait);
    }

    /// Raises `full_history_ts_low` of a column family to `ts`. Compactions may drop an entry whose timestamp is below it if the
    /// key has a newer entry below it.
    ///
    /// # Errors
    /// InvalidArgument if the column family has no timestamps, or if `full_history_ts_low` is already higher than `ts`.
    pub fn increase_full_history_ts_low<S: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        ts: S,
    ) -> Result<(), Error> {
        let raise = |family: &Family| family.increase_full_history_ts_low(ts.as_ref());
        Ok(self.base().with_family(Some(cf.inner()), raise)?)
    }

    /// Returns `full_history_ts_low` of a column family. Returns an empty value if it was never set.
    ///
    /// # Errors
    /// InvalidArgument if the column family has no timestamps.
    pub fn get_full_history_ts_low(&self, cf: &impl AsColumnFamilyRef) -> Result<Vec<u8>, Error> {
        let low = |family: &Family| match family.timestamp_size() {
            0 => Err(ironstone::Error::invalid_argument("Timestamp is not enabled in this column family")),
            _ => Ok(family.full_history_ts_low().unwrap_or_default()),
        };
        Ok(self.base().with_family(Some(cf.inner()), low)?)
    }

    /// Returns the identity of the database: the text of the file IDENTITY.
    ///
    /// # Errors
    /// None.
    pub fn get_db_identity(&self) -> Result<Vec<u8>, Error> {
        Ok(self.base().plain().identity().as_bytes().to_vec())
    }
}
