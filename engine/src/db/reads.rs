//! The calls that read. Each call forwards to the module with the work.

use base::{Error, Pinned, Result};

use super::{Db, DbIterator, Inner};
use crate::family::Family;
use crate::iter::{Iter, IteratorContext};
use crate::options::ReadOptions;
use crate::read::{Answered, Reads};
use crate::sync::Arc;

impl Db {
    /// Returns the value of a key: a view into the memtable or the block that holds the value.
    #[inline]
    pub fn get(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        self.inner.own(family)?;
        self.inner.reads.get(family, key, options)
    }

    /// Returns the value of a key, with the subcode of the answer.
    ///
    /// # Errors
    /// The errors of [`Db::get`].
    pub fn get_answered(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Answered> {
        self.inner.own(family)?;
        self.inner.reads.get_answered(family, key, options)
    }

    /// Returns the values of several keys, with the subcodes of the answers, in the order of `keys`.
    pub fn multi_get_answered(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Answered>> {
        if let Err(error) = self.inner.own(family) {
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
        if let Err(error) = self.inner.own(family) {
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
        if self.inner.own(family).is_err() {
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
        self.inner.own(family)?;
        check_iterator(self, &options)?;
        Ok(DbIterator::new(Iter::new(self.inner.iterator_context(family), &options)?, self.clone()))
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
        self.inner.own(family)?;
        check_iterator(self, options)?;
        // The allocation comes first, so that the iterator is made in its place.
        let place = Box::new_uninit();
        let iter = Iter::new(self.inner.iterator_context(family), options)?;
        Ok(Box::write(place, wrap(DbIterator::new(iter, self.clone()))))
    }

    /// Returns the part that does point reads, for layers above that call it directly.
    pub fn reads(&self) -> &Reads {
        &self.inner.reads
    }
}

impl Inner {
    pub(super) fn iterator_context(&self, family: &Arc<Family>) -> IteratorContext {
        IteratorContext::new(family, &self.iterator_tools)
    }
}

/// A view of a secondary instance never changes, but a catch-up adds entries to its memtables one by one.
fn check_iterator(db: &Db, options: &ReadOptions) -> Result<()> {
    if options.tailing && db.inner.reading.follows_a_writer() {
        return Err(Error::not_supported("tailing iterator not supported in secondary mode"));
    }
    Ok(())
}
