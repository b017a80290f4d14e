//! The calls that read. Each call forwards to the module with the work.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base::{Error, Level, Pinned, Result};
use format::properties::Properties;
use lsm::table_file::TableFile;

use super::{Db, DbIterator, Inner};
use crate::family::Family;
use crate::iter::{Iter, IteratorContext, Versions};
use crate::options::ReadOptions;
use crate::properties;
use crate::read::{Answered, Reads};
use crate::sync::Arc;

impl Db {
    /// Returns the value of a key: a view into the memtable or the block that holds the value.
    #[inline]
    pub fn get(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        self.own(family)?;
        self.inner.reads.get(family, key, options)
    }

    /// Returns the value of a key, with the subcode of the answer.
    ///
    /// # Errors
    /// The errors of [`Db::get`].
    pub fn get_answered(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Answered> {
        self.own(family)?;
        self.inner.reads.get_answered(family, key, options)
    }

    /// Returns the values of several keys, with the subcodes of the answers, in the order of `keys`.
    pub fn multi_get_answered(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Answered>> {
        if let Err(error) = self.own(family) {
            return keys.iter().map(|_| Err(error.clone())).collect();
        }
        self.inner.reads.multi_get_answered(family, keys, options)
    }

    /// Returns the values of several keys, in the order of `keys`. Reads the keys together, so that they share I/O.
    pub fn multi_get(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Pinned>>> {
        if let Err(error) = self.own(family) {
            return keys.iter().map(|_| Err(error.clone())).collect();
        }
        self.inner.reads.multi_get(family, keys, options)
    }

    /// Returns false if the key certainly does not exist. Does no I/O. Also returns the value, if the value is in
    /// memory.
    pub fn key_may_exist(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
    ) -> (bool, Option<Pinned>) {
        // A handle of another database proves nothing about the key.
        if self.own(family).is_err() {
            return (true, None);
        }
        self.inner.reads.may_exist(family, key, options)
    }

    /// Returns an iterator over a column family.
    ///
    /// # Errors
    /// InvalidArgument for options that do not fit the column family. NotSupported for a tailing iterator of a secondary
    /// instance.
    pub fn iter(&self, family: &Arc<Family>, options: ReadOptions) -> Result<DbIterator> {
        self.own(family)?;
        check_iterator(self, &options)?;
        Ok(DbIterator::new(Iter::new(self.iterator_context(family), &options)?, self.clone()))
    }

    /// Returns an object on the heap that holds the iterator of [`Self::iter`]: `wrap` makes the object of the iterator. An iterator
    /// is a large struct, and each move of the struct takes a hundredth of its creation.
    ///
    /// # Errors
    /// The errors of [`Self::iter`].
    #[inline]
    pub fn boxed_iter<T>(
        &self,
        family: &Arc<Family>,
        options: &ReadOptions,
        wrap: impl FnOnce(DbIterator) -> T,
    ) -> Result<Box<T>> {
        self.own(family)?;
        check_iterator(self, options)?;
        // The allocation comes first, so that the iterator is made in its place.
        let place = Box::new_uninit();
        let iter = Iter::new(self.iterator_context(family), options)?;
        Ok(Box::write(place, wrap(DbIterator::new(iter, self.clone()))))
    }

    /// Returns every entry in the memtables and SST files of the column family, for tools that inspect a database.
    ///
    /// # Errors
    /// Errors of opening SST files.
    pub fn versions(&self, family: &Arc<Family>) -> Result<Versions> {
        self.own(family)?;
        Versions::new(&self.iterator_context(family))
    }

    fn iterator_context(&self, family: &Arc<Family>) -> IteratorContext {
        IteratorContext::new(family, &self.inner.iterator_tools)
    }

    /// Returns the open table of `file`, which is on `level` of the column family.
    ///
    /// # Errors
    /// Errors of opening the SST file.
    pub fn table(&self, family: &Family, level: Level, file: &TableFile) -> Result<table::any::AnyReader> {
        self.own(family)?;
        self.inner.tables.get(&family.parts(), level, file)
    }

    /// Returns the table properties of the SST files of a column family, by path. With ranges, only the SST files that
    /// overlap one of the ranges `[begin, end]`.
    ///
    /// # Errors
    /// InvalidArgument for a handle of another database. Errors of opening an SST file.
    pub fn table_properties(
        &self,
        family: &Family,
        ranges: Option<&[(&[u8], &[u8])]>,
    ) -> Result<BTreeMap<PathBuf, Arc<Properties>>> {
        self.own(family)?;
        let pinned = family.pin_owned();
        let order = &family.order().user;
        let overlaps = |file: &TableFile| {
            let (smallest, largest) = (file.smallest_user_key(), file.largest_user_key());
            let size = order.timestamp_size();
            let (smallest, largest) =
                (base::key::without_timestamp(smallest, size), base::key::without_timestamp(largest, size));
            ranges.is_none_or(|ranges| {
                ranges.iter().any(|(begin, end)| {
                    order.compare_stripped(begin, largest).is_le()
                        && order.compare_stripped(end, smallest).is_ge()
                })
            })
        };
        let files = pinned.version.files().filter(|(_, file)| overlaps(file));
        let read = files.map(|(level, file)| {
            let table = self.inner.tables.get(&pinned.parts, level, file)?;
            Ok((pinned.parts.table_path(file.number, file.path_id), table.properties().clone()))
        });
        read.collect()
    }

    /// Returns the part that does point reads, for layers above that call it directly.
    pub fn reads(&self) -> &Reads {
        &self.inner.reads
    }

    /// Returns a property by RocksDB's name, as text. Returns `None` if no property has this name, and for a handle of
    /// another database.
    pub fn property(&self, family: &Arc<Family>, name: &str) -> Option<String> {
        self.own(family).ok()?;
        if name == super::memory::PROPERTY {
            return Some(super::memory(self).to_string());
        }
        properties::property(&self.inner.property_context(), family, name)
    }

    /// Returns a numeric property. Returns `None` if no property has this name, or if the property is not
    /// numeric.
    pub fn int_property(&self, family: &Arc<Family>, name: &str) -> Option<u64> {
        self.own(family).ok()?;
        properties::int_property(&self.inner.property_context(), family, name)
    }

    /// Returns a numeric property, summed over all column families. A property of the database, or of a cache that
    /// column families share, counts once.
    pub fn aggregated_int_property(&self, name: &str) -> Option<u64> {
        properties::aggregated_int_property(&self.inner.property_context(), &self.families(), name)
    }

    /// Returns a map property. Returns `None` if no property has this name, or if the property is not a
    /// map.
    pub fn property_map(&self, family: &Arc<Family>, name: &str) -> Option<BTreeMap<String, String>> {
        self.own(family).ok()?;
        properties::map_property(&self.inner.property_context(), family, name)
    }

    /// Resets the counters that `rocksdb.stats` shows. The user's statistics stay.
    pub fn reset_stats(&self) {
        let stats = &self.inner.tools.stats;
        stats.database.reset(stats.now_micros());
        self.families().iter().for_each(|family| family.stats.reset());
    }
}

impl Inner {
    fn property_context(&self) -> properties::PropertyContext<'_> {
        let activity = self.writing.as_ref().map(|w| w.schedule.activity()).unwrap_or_default();
        properties::PropertyContext {
            tables: &self.tables,
            obsolete: &self.obsolete,
            numbers: &self.tools.numbers,
            stats: &self.tools.stats,
            released_below: self.tools.snapshots.released_below(),
            snapshots: self.tools.snapshots.count(),
            oldest_snapshot: self.tools.snapshots.oldest(),
            errors: &self.errors,
            min_wal_to_keep: self.committer.min_wal_to_keep(),
            activity,
            now_seconds: self.tools.env.clock.now_seconds(),
        }
    }
}

/// A view of a secondary instance never changes, but a catch-up adds entries to its memtables one by one.
fn check_iterator(db: &Db, options: &ReadOptions) -> Result<()> {
    if options.tailing && db.inner.reading.follows_a_writer() {
        return Err(Error::not_supported("tailing iterator not supported in secondary mode"));
    }
    Ok(())
}
