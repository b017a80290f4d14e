//! A pinned value: a view into a memtable or into a cached block.

use std::marker::PhantomData;
use std::ops::Deref;

use ironstone::Pinned;

use crate::DB;

/// A pinned value of a database. Reading the value makes no copy.
pub struct DBPinnableSlice<'a> {
    value: Pinned,
    db: PhantomData<&'a DB>,
}

impl DBPinnableSlice<'_> {
    #[inline]
    pub(crate) fn new(value: Pinned) -> Self {
        DBPinnableSlice { value, db: PhantomData }
    }
}

impl AsRef<[u8]> for DBPinnableSlice<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.value
    }
}

impl Deref for DBPinnableSlice<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.value
    }
}
