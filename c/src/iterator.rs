//! Iterators.

use std::ffi::c_char;

use base::{Error, Result};
use engine::db::DbIterator;
use engine::family::Family;
use std::sync::Arc;

use crate::abi::{Flag, Owned, Return, Text, arguments};
use crate::db::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::read_options::rocksdb_readoptions_t;

/// An iterator over a column family. An iterator that could not be created reports the error.
pub struct rocksdb_iterator_t {
    iter: Result<DbIterator>,
}

/// Bytes of an iterator. They end with the next move of the iterator.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct rocksdb_slice_t {
    pub data: *const c_char,
    pub size: usize,
}

impl rocksdb_slice_t {
    fn new(bytes: &[u8]) -> Self {
        rocksdb_slice_t { data: bytes.as_ptr().cast(), size: bytes.len() }
    }
}

impl Return for rocksdb_slice_t {
    type C = rocksdb_slice_t;

    fn into_c(self) -> Self {
        self
    }

    fn neutral() -> Self {
        rocksdb_slice_t { data: std::ptr::null(), size: 0 }
    }
}

impl rocksdb_iterator_t {
    fn new(db: &rocksdb_t, family: Result<&Arc<Family>>, options: &rocksdb_readoptions_t) -> Self {
        let create = || db.db()?.iter(family?, options.get()?.clone());
        rocksdb_iterator_t { iter: create() }
    }

    fn valid(&self) -> bool {
        self.iter.as_ref().is_ok_and(|iter| iter.valid())
    }

    /// A fact of the current entry. Empty if the iterator is not valid.
    fn fact<'a>(&'a self, fact: impl Fn(&'a DbIterator) -> &'a [u8]) -> &'a [u8] {
        match &self.iter {
            Ok(iter) if iter.valid() => fact(iter),
            _ => &[],
        }
    }

    fn seek(&mut self, seek: impl FnOnce(&mut DbIterator)) {
        if let Ok(iter) = &mut self.iter {
            seek(iter);
        }
    }

    /// Moves from the current entry. An iterator that is not valid stays as it is.
    fn step(&mut self, step: impl FnOnce(&mut DbIterator)) {
        if let Ok(iter) = &mut self.iter
            && iter.valid()
        {
            step(iter);
        }
    }

    fn status(&self) -> Result<()> {
        match &self.iter {
            Ok(iter) => iter.status(),
            Err(error) => Err(error.clone()),
        }
    }
}

c_api! {
    /// Creates an iterator over the default column family. The iterator is not valid until it is positioned.
    fn rocksdb_create_iterator(db: at rocksdb_t, options: in rocksdb_readoptions_t) -> Owned<rocksdb_iterator_t> {
        Owned(rocksdb_iterator_t::new(db, db.get().map(|open| &open.default), options))
    }

    fn rocksdb_create_iterator_cf(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, column_family: at rocksdb_column_family_handle_t
    ) -> Owned<rocksdb_iterator_t> {
        Owned(rocksdb_iterator_t::new(db, db.family(column_family), options))
    }

    /// Creates iterators over several column families at one sequence number. `iterators` has `size` places.
    fn rocksdb_create_iterators(
        db: at rocksdb_t, options: at rocksdb_readoptions_t,
        column_families: raw(*mut *mut rocksdb_column_family_handle_t),
        iterators: raw(*mut *mut rocksdb_iterator_t), size: usize, err
    ) {
        // SAFETY: the header requires `size` handles and `size` places.
        let (handles, places) = unsafe {
            (arguments::array(column_families.cast_const(), size)?, arguments::array_mut(iterators, size)?)
        };
        let mut read = options.get()?.clone();
        if read.snapshot.is_none() {
            read.snapshot = Some(db.db()?.snapshot());
        }
        let mut created = Vec::with_capacity(size);
        for &handle in handles {
            // SAFETY: the header requires live handles.
            let handle = unsafe { handle.as_ref() };
            let handle = handle.ok_or_else(|| Error::invalid_argument("a column family handle is null"))?;
            created.push(db.db()?.iter(db.family(handle)?, read.clone())?);
        }
        for (place, iter) in places.iter_mut().zip(created) {
            place.write(Owned(rocksdb_iterator_t { iter: Ok(iter) }).into_c());
        }
        Ok(())
    }

    /// Destroys an iterator. Accepts null.
    fn rocksdb_iter_destroy(iter: own rocksdb_iterator_t) {
        drop(iter)
    }

    /// Returns 1 if the iterator is at an entry.
    fn rocksdb_iter_valid(iter: in rocksdb_iterator_t) -> Flag {
        Flag(iter.valid())
    }

    fn rocksdb_iter_seek_to_first(iter: mut rocksdb_iterator_t) {
        iter.seek(|iter| iter.seek_to_first());
    }

    fn rocksdb_iter_seek_to_last(iter: mut rocksdb_iterator_t) {
        iter.seek(|iter| iter.seek_to_last());
    }

    /// Moves to the first entry at or after the key.
    fn rocksdb_iter_seek(iter: mut rocksdb_iterator_t, key: bytes) {
        iter.seek(|iter| iter.seek(key));
    }

    /// Moves to the last entry at or before the key.
    fn rocksdb_iter_seek_for_prev(iter: mut rocksdb_iterator_t, key: bytes) {
        iter.seek(|iter| iter.seek_for_prev(key));
    }

    fn rocksdb_iter_next(iter: mut rocksdb_iterator_t) {
        iter.step(|iter| iter.next());
    }

    fn rocksdb_iter_prev(iter: mut rocksdb_iterator_t) {
        iter.step(|iter| iter.prev());
    }

    /// Returns the key. The bytes end with the next move of the iterator.
    fn rocksdb_iter_key(iter: in rocksdb_iterator_t, klen: out usize) -> Text {
        let key = iter.fact(|iter| iter.key());
        klen.set(key.len());
        Text::bytes(key)
    }

    /// Returns the value. The bytes end with the next move of the iterator.
    fn rocksdb_iter_value(iter: in rocksdb_iterator_t, vlen: out usize) -> Text {
        let value = iter.fact(|iter| iter.value());
        vlen.set(value.len());
        Text::bytes(value)
    }

    /// Returns the timestamp. The bytes end with the next move of the iterator.
    fn rocksdb_iter_timestamp(iter: in rocksdb_iterator_t, tslen: out usize) -> Text {
        let timestamp = iter.fact(|iter| iter.timestamp());
        tslen.set(timestamp.len());
        Text::bytes(timestamp)
    }

    fn rocksdb_iter_key_slice(iter: in rocksdb_iterator_t) -> rocksdb_slice_t {
        rocksdb_slice_t::new(iter.fact(|iter| iter.key()))
    }

    fn rocksdb_iter_value_slice(iter: in rocksdb_iterator_t) -> rocksdb_slice_t {
        rocksdb_slice_t::new(iter.fact(|iter| iter.value()))
    }

    fn rocksdb_iter_timestamp_slice(iter: in rocksdb_iterator_t) -> rocksdb_slice_t {
        rocksdb_slice_t::new(iter.fact(|iter| iter.timestamp()))
    }

    /// Reports the error that ended the iteration. No error: the iterator reached the end.
    fn rocksdb_iter_get_error(iter: in rocksdb_iterator_t, err) {
        iter.status()
    }

    /// Moves the iterator to the newest sequence number. The iterator is not valid afterwards.
    fn rocksdb_iter_refresh(iter: cmut rocksdb_iterator_t, err) {
        match &mut iter.iter {
            Ok(iter) => iter.refresh(),
            Err(error) => Err(error.clone()),
        }
    }
}
