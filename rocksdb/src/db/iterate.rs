//! Iterators and snapshots of databases and of transactions.

use super::{DBCommon, DBInner, ThreadMode};
use crate::{
    AsColumnFamilyRef, DBIteratorWithThreadMode, DBRawIteratorWithThreadMode, Direction, IteratorMode,
    ReadOptions, SnapshotWithThreadMode,
};

pub(crate) fn total_order() -> ReadOptions {
    let mut opts = ReadOptions::default();
    opts.set_total_order_seek(true);
    opts
}

pub(crate) fn same_prefix() -> ReadOptions {
    let mut opts = ReadOptions::default();
    opts.set_prefix_same_as_start(true);
    opts
}

/// Defines the methods that make iterators. Databases and transactions have the same methods.
macro_rules! iterators {
    () => {
        /// Returns an iterator over the default column family.
        pub fn iterator<'a: 'b, 'b>(&'a self, mode: IteratorMode) -> DBIteratorWithThreadMode<'b, Self> {
            self.iterator_opt(mode, ReadOptions::default())
        }

        /// Returns an iterator over the default column family, with options.
        pub fn iterator_opt<'a: 'b, 'b>(
            &'a self,
            mode: IteratorMode,
            readopts: ReadOptions,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            DBIteratorWithThreadMode::new(self, readopts, mode)
        }

        /// Returns an iterator over a column family, with options.
        pub fn iterator_cf_opt<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            readopts: ReadOptions,
            mode: IteratorMode,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            DBIteratorWithThreadMode::new_cf(self, cf_handle.inner(), readopts, mode)
        }

        /// Returns an iterator over all keys in total order, even if the column family has a prefix extractor.
        pub fn full_iterator<'a: 'b, 'b>(&'a self, mode: IteratorMode) -> DBIteratorWithThreadMode<'b, Self> {
            self.iterator_opt(mode, $crate::db::total_order())
        }

        /// Returns an iterator that begins at `prefix`. If the column family has a prefix extractor, the iterator ends after the
        /// last key with the prefix. Without a prefix extractor, the iterator continues to the last key.
        pub fn prefix_iterator<'a: 'b, 'b, P: AsRef<[u8]>>(
            &'a self,
            prefix: P,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            let mode = IteratorMode::From(prefix.as_ref(), Direction::Forward);
            self.iterator_opt(mode, $crate::db::same_prefix())
        }

        /// Returns an iterator over a column family.
        pub fn iterator_cf<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            mode: IteratorMode,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            self.iterator_cf_opt(cf_handle, ReadOptions::default(), mode)
        }

        /// Returns an iterator over all keys of a column family in total order, even if it has a prefix extractor.
        pub fn full_iterator_cf<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            mode: IteratorMode,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            self.iterator_cf_opt(cf_handle, $crate::db::total_order(), mode)
        }

        /// Works like [`Self::prefix_iterator`], for a column family.
        pub fn prefix_iterator_cf<'a, P: AsRef<[u8]>>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            prefix: P,
        ) -> DBIteratorWithThreadMode<'a, Self> {
            let mode = IteratorMode::From(prefix.as_ref(), Direction::Forward);
            self.iterator_cf_opt(cf_handle, $crate::db::same_prefix(), mode)
        }

        /// Returns a raw iterator over the default column family.
        pub fn raw_iterator<'a: 'b, 'b>(&'a self) -> DBRawIteratorWithThreadMode<'b, Self> {
            self.raw_iterator_opt(ReadOptions::default())
        }

        /// Returns a raw iterator over a column family.
        pub fn raw_iterator_cf<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
        ) -> DBRawIteratorWithThreadMode<'b, Self> {
            self.raw_iterator_cf_opt(cf_handle, ReadOptions::default())
        }

        /// Returns a raw iterator over the default column family, with options.
        pub fn raw_iterator_opt<'a: 'b, 'b>(
            &'a self,
            readopts: ReadOptions,
        ) -> DBRawIteratorWithThreadMode<'b, Self> {
            DBRawIteratorWithThreadMode::new(self, readopts)
        }

        /// Returns a raw iterator over a column family, with options.
        pub fn raw_iterator_cf_opt<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            readopts: ReadOptions,
        ) -> DBRawIteratorWithThreadMode<'b, Self> {
            DBRawIteratorWithThreadMode::new_cf(self, cf_handle.inner(), readopts)
        }

        /// Takes a snapshot.
        pub fn snapshot(&self) -> SnapshotWithThreadMode<'_, Self> {
            SnapshotWithThreadMode::new(self)
        }
    };
}
pub(crate) use iterators;

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    iterators!();
}
