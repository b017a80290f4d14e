//! Changes of options while the database is open.

use base::{Error, Result};

use super::{Admin, Inner};
use crate::family::{Family, Parts};
use crate::opening::{Writing, manifest_settings, tables_max};
use crate::options::refuse;
use crate::sync::Arc;
use crate::upkeep::write_options_file;
use crate::write::wal_bytes_max;

impl Inner {
    /// Returns the parts of a writer. Returns `None` if the database is open for reading only: its options change in memory,
    /// and no OPTIONS file is written.
    ///
    /// # Errors
    /// NotSupported for a reader that follows a writer. ShutdownInProgress after a close.
    fn changes_options(&self) -> Result<Option<&Writing>> {
        match self.work()? {
            None if self.reading.follows_a_writer() => Err(self.refusal()),
            work => Ok(work),
        }
    }
}

impl Admin<'_> {
    /// Changes options of a column family. Each change is an option name and a value, both as text.
    ///
    /// # Errors
    /// InvalidArgument if an option does not exist or cannot change while the database is open, or if a value is out
    /// of range. ColumnFamilyDropped. NotSupported in a secondary instance. After an error no option is changed.
    pub fn set_options(&self, family: &Arc<Family>, changes: &[(&str, &str)]) -> Result<()> {
        self.db.inner.own(family)?;
        let writing = self.db.inner.changes_options()?;
        let guard = self.db.inner.changes.lock();
        if family.is_dropped() {
            return Err(Error::column_family_dropped(family.name()));
        }
        let mut options = (*family.options()).clone();
        options.set_live(changes.iter().copied())?;
        options.validate_without_cache(family.name(), &self.db.inner.tools.options.load())?;
        refuse(&options.unsupported(family.name()))?;
        let (cache, blobs) = (
            family.parts().caches.blocks.clone(),
            family.parts().caches.blobs.clone().map(|blobs| blobs.cache),
        );
        let parts =
            Parts::resolve(&options, &self.db.inner.tools.options.load(), self.db.path(), cache, blobs)?
                .with_blob_charge()?;
        family.set_options(Arc::new(options), Arc::new(parts));
        // The default of `max_total_wal_size` depends on the write buffer sizes of all column families.
        let wal_max = self.db.inner.tools.options.load().max_total_wal_size;
        let Some(writing) = writing else { return Ok(()) };
        writing.writer.set_wal_bytes_max(wal_bytes_max(wal_max, &self.db.inner.families.all()));
        writing.schedule.reconsider(family);
        writing.upkeep.family_options_changed();
        drop(guard);
        self.options_changed()
    }

    /// Changes options of the database. Each change is an option name and a value, both as text.
    ///
    /// # Errors
    /// NotFound if an option does not exist or cannot change while the database is open. InvalidArgument if a value
    /// is out of range, or does not fit to the options of a column family. NotSupported in a secondary instance. After such an
    /// error no option is changed.
    pub fn set_db_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        let writing = self.db.inner.changes_options()?;
        let inner = &self.db.inner;
        let guard = inner.changes.lock();
        let mut options = (**inner.tools.options.load()).clone();
        options.set_live(changes.iter().copied())?;
        options.validate()?;
        for family in inner.families.all() {
            family.options().validate_without_cache(family.name(), &options)?;
        }
        refuse(&options.unsupported())?;
        inner.tables.set_tables_max(tables_max(options.max_open_files));
        let Some(writing) = writing else {
            inner.tools.options.store(Arc::new(options));
            return Ok(());
        };
        writing.writer.set_wal_bytes_max(wal_bytes_max(options.max_total_wal_size, &inner.families.all()));
        inner.committer.set_manifest_settings(manifest_settings(&options, &inner.tools.paths));
        inner.wals.set_limits(options.writable_file_max_buffer_size, options.wal_bytes_per_sync);
        if options.delayed_write_rate != inner.tools.options.load().delayed_write_rate {
            writing.schedule.set_delayed_write_rate(options.delayed_write_rate);
        }
        let rest = options.daily_offpeak_time_utc != inner.tools.options.load().daily_offpeak_time_utc;
        inner.tools.options.store(Arc::new(options));
        for family in inner.families.all().into_iter().filter(|_| rest) {
            let (cache, blobs) = (
                family.parts().caches.blocks.clone(),
                family.parts().caches.blobs.clone().map(|blobs| blobs.cache),
            );
            let parts =
                Parts::resolve(&family.options(), &inner.tools.options.load(), self.db.path(), cache, blobs)?
                    .with_blob_charge()?;
            family.set_options(family.options(), Arc::new(parts));
        }
        writing.schedule.size_pools();
        writing.upkeep.options_changed();
        for family in inner.families.all() {
            writing.schedule.reconsider(&family);
        }
        drop(guard);
        self.options_changed()
    }

    /// Updates the WAL limit and writes the OPTIONS file, after a change of options.
    fn options_changed(&self) -> Result<()> {
        self.limit_wals()?;
        write_options_file(&self.db.inner.tools, &self.db.inner.families)
    }

    /// Updates the WAL limit and the OPTIONS file after `count` column families were created or dropped. See
    /// [`crate::upkeep::Upkeep::families_changed`].
    pub(super) fn families_changed(&self, count: usize) -> Result<()> {
        self.limit_wals()?;
        let writing = self.db.inner.writing()?;
        writing.upkeep.write_times_changed();
        writing.upkeep.families_changed(count)
    }

    fn limit_wals(&self) -> Result<()> {
        let options = self.db.inner.tools.options.load();
        let bytes_max = wal_bytes_max(options.max_total_wal_size, &self.db.inner.families.all());
        self.db.inner.writing()?.writer.set_wal_bytes_max(bytes_max);
        Ok(())
    }
}
