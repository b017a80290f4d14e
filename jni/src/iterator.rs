//! Iterators: `RocksIterator`, `SstFileReaderIterator`, `WBWIRocksIterator`.
//!
//! One object type serves the three classes. A native of one class checks the kind of the iterator.

use std::sync::Arc;

use base::{Error, Result};
use engine::db::DbIterator;
use engine::options::ReadOptions;
use engine::sequence::Snapshot;
use ironstone::ttl::TtlFamily;
use ironstone::{BaseDeltaIter, RecordIter, Secondary, SstFileIter, WriteBatchWithIndex, WriteType};

use crate::fault::Outcome;
use crate::handle::{Exclusive, Handle};
use crate::java::{JBuffer, JBytes, JLongs, Part};
use crate::native::{disposers, natives};
use crate::slice::SliceObject;

/// An iterator. An iterator that could not be created reports the error as its status.
pub struct IteratorObject {
    iter: Result<Kind>,
    /// For an iterator over a secondary instance: what a refresh needs to read the newest view.
    again: Option<Box<Again>>,
}

/// The arguments of an iterator over a secondary instance. A catch-up makes a new view, and the iterator reads the view of its
/// creation. So a refresh makes a new iterator.
pub struct Again {
    pub secondary: Arc<Secondary>,
    pub family: String,
    pub options: ReadOptions,
}

impl Again {
    fn make(&self, snapshot: Option<Arc<Snapshot>>) -> Result<Kind> {
        let view = self.secondary.view();
        let family = view.engine().family(&self.family);
        let family = family.ok_or_else(|| Error::not_found(format!("column family {}", self.family)))?;
        let options = ReadOptions { snapshot, ..self.options.clone() };
        view.engine().boxed_iter(&family, &options, |iter| iter).map(Kind::Family)
    }
}

enum Kind {
    Family(Box<DbIterator>),
    /// A column family of a database with a time to live. Stored values end with their write time.
    Ttl(Box<DbIterator>),
    /// A column family of a database with a time to live, under a batch. The values end with their write time.
    TtlDelta(Box<BaseDeltaIter>),
    /// A column family under a transaction or a batch.
    Delta(Box<BaseDeltaIter>),
    /// The records of a batch.
    Records(Box<RecordIter>),
    /// An SST file that no database owns.
    Table(Box<SstFileIter>),
}

// SAFETY: this module takes exclusive guards only, for moves and for reads of the current entry. So no two threads use the
// iterator at the same time.
unsafe impl Sync for IteratorObject {}

macro_rules! either {
    ($kind:expr, |$iter:ident| $value:expr) => {
        match $kind {
            Kind::Family($iter) => $value,
            Kind::Ttl($iter) => $value,
            Kind::TtlDelta($iter) => $value,
            Kind::Delta($iter) => $value,
            Kind::Records($iter) => $value,
            Kind::Table($iter) => $value,
        }
    };
}

impl IteratorObject {
    fn new(iter: Result<Kind>) -> Self {
        IteratorObject { iter, again: None }
    }

    /// Sets what a refresh of an iterator over a secondary instance needs.
    pub fn following(self, again: Again) -> Self {
        IteratorObject { again: Some(Box::new(again)), ..self }
    }

    /// Makes the iterator of a column family. An error becomes the status of the iterator.
    pub fn family(iter: Result<Box<DbIterator>>) -> Self {
        IteratorObject::new(iter.map(Kind::Family))
    }

    /// Makes the iterator of a column family with a time to live. The iterator hides the write time at the end
    /// of each value.
    pub fn ttl(iter: Result<Box<DbIterator>>) -> Self {
        IteratorObject::new(iter.map(Kind::Ttl))
    }

    /// Makes the iterator of a column family under a transaction or a batch. An error becomes the status of the
    /// iterator.
    pub fn delta(iter: Result<BaseDeltaIter>) -> Self {
        IteratorObject::new(iter.map(|iter| Kind::Delta(Box::new(iter))))
    }

    /// Makes the iterator over the records of a batch.
    pub fn records(iter: RecordIter) -> Self {
        IteratorObject::new(Ok(Kind::Records(Box::new(iter))))
    }

    /// Makes the iterator over an SST file that no database owns.
    pub fn table(iter: SstFileIter) -> Self {
        IteratorObject::new(Ok(Kind::Table(Box::new(iter))))
    }

    /// Takes the iterator out of the object as the base of a new iterator. The new iterator returns the entries of the base as
    /// if the batch were written. The bounds of `options` limit the entries of the batch. Without `options`, no bound
    /// limits them, also if the base has bounds. `ttl` is the column family of a database with a time to live.
    pub fn under_batch(
        &mut self,
        batch: &WriteBatchWithIndex,
        family: &ironstone::Family,
        ttl: Option<&TtlFamily>,
        options: Option<&ReadOptions>,
    ) -> Self {
        let lower = options.and_then(|options| options.iterate_lower_bound.clone());
        let upper = options.and_then(|options| options.iterate_upper_bound.clone());
        let taken = Error::invalid_argument("the base iterator is part of another iterator");
        let foreign = || Error::invalid_argument("the base iterator is not over a column family");
        let iter = std::mem::replace(&mut self.iter, Err(taken)).and_then(|kind| match kind {
            Kind::Family(iter) => {
                Ok(Kind::Delta(Box::new(batch.iter_over_base(family, *iter, lower, upper))))
            }
            Kind::Ttl(iter) => {
                let ttl = ttl.ok_or_else(foreign)?;
                Ok(Kind::TtlDelta(Box::new(ttl.iter_over_base(batch, *iter, lower, upper))))
            }
            Kind::TtlDelta(_) | Kind::Delta(_) | Kind::Records(_) | Kind::Table(_) => Err(foreign()),
        });
        IteratorObject::new(iter)
    }

    /// Returns the current value as it is stored, if it ends with its write time.
    fn with_time(&self) -> Option<&[u8]> {
        match &self.iter {
            Ok(Kind::Ttl(iter)) if iter.valid() => Some(iter.value()),
            Ok(Kind::TtlDelta(iter)) if iter.valid() => Some(iter.value()),
            _ => None,
        }
    }

    fn valid(&self) -> bool {
        self.iter.as_ref().is_ok_and(|kind| either!(kind, |iter| iter.valid()))
    }

    fn status(&self) -> Result<()> {
        if let Some(stored) = self.with_time() {
            ironstone::ttl::value_of(stored)?;
        }
        match &self.iter {
            Ok(Kind::Family(iter) | Kind::Ttl(iter)) => iter.status(),
            Ok(Kind::Delta(iter) | Kind::TtlDelta(iter)) => iter.status(),
            Ok(Kind::Records(_)) => Ok(()),
            Ok(Kind::Table(iter)) => iter.status(),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the key. Returns an empty key if the iterator is not valid.
    fn key(&self) -> &[u8] {
        match &self.iter {
            Ok(Kind::Family(iter)) => iter.raw_key(),
            Ok(kind) if self.valid() => either!(kind, |iter| iter.key()),
            _ => &[],
        }
    }

    fn value(&self) -> &[u8] {
        if let Some(stored) = self.with_time() {
            return ironstone::ttl::value_of(stored).unwrap_or_default();
        }
        match &self.iter {
            Ok(kind) if self.valid() => either!(kind, |iter| iter.value()),
            _ => &[],
        }
    }

    fn seek(&mut self, target: &[u8]) {
        if let Ok(kind) = &mut self.iter {
            either!(kind, |iter| iter.seek(target));
        }
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        if let Ok(kind) = &mut self.iter {
            either!(kind, |iter| iter.seek_for_prev(target));
        }
    }
}

/// Uses an iterator exclusively, for a move.
#[inline]
fn moving(iter: Handle) -> Outcome<Exclusive<IteratorObject>> {
    Ok(iter.exclusive::<IteratorObject>()?)
}

/// Uses an iterator exclusively, for a read of the current entry.
#[inline]
fn reading(iter: Handle) -> Outcome<Exclusive<IteratorObject>> {
    Ok(iter.exclusive::<IteratorObject>()?)
}

/// Changes an iterator to read the newest entries, or the entries of a snapshot.
fn refresh(iter: Handle, snapshot: Option<Arc<Snapshot>>) -> Outcome<()> {
    let object = &mut *moving(iter)?;
    if let (Ok(kind @ Kind::Family(_)), Some(again)) = (&mut object.iter, &object.again) {
        *kind = again.make(snapshot)?;
        return Ok(());
    }
    match &mut object.iter {
        Ok(Kind::Family(iter) | Kind::Ttl(iter)) => Ok(iter.refresh_at(snapshot)?),
        Ok(_) => Err(Error::not_supported("Refresh() is not supported").into()),
        Err(error) => Err(error.clone().into()),
    }
}

disposers! {
    RocksIterator: IteratorObject;
    SstFileReaderIterator: IteratorObject;
    WBWIRocksIterator: IteratorObject;
}

/// Returns the number of a kind of record in `WBWIRocksIterator.WriteType`.
fn number_of(kind: WriteType) -> i64 {
    match kind {
        WriteType::Put | WriteType::PutEntity => 0,
        WriteType::Merge => 1,
        WriteType::Delete => 2,
        WriteType::SingleDelete => 3,
    }
}

/// Declares the three calls of a seek: with an array, with a part of an array, and with a direct buffer.
macro_rules! seeks {
    ($($seek:ident: $array:ident $(| $arrays:ident)*, $part:ident $(| $parts:ident)*, $direct:ident $(| $directs:ident)*;)*) => {
        natives! {$(
            fn $array $(| $arrays)*[java](iter: Handle, target: JBytes, len: i32) {
                let target = java.copy_first(target, len)?;
                moving(iter)?.$seek(&target);
            }

            fn $part $(| $parts)*[java](iter: Handle, target: JBytes, offset: i32, len: i32) {
                let target = java.copy(target, Part { offset, len })?;
                moving(iter)?.$seek(&target);
            }

            fn $direct $(| $directs)*[java](iter: Handle, target: JBuffer, offset: i32, len: i32) {
                let mut iter = moving(iter)?;
                java.with_direct(target, Part { offset, len }, |target| {
                    iter.$seek(target);
                    Ok(())
                })?;
            }
        )*}
    };
}

seeks! {
    seek: RocksIterator_seek0 | RocksIterator_seek0Jni
        | SstFileReaderIterator_seek0 | SstFileReaderIterator_seek0Jni
        | WBWIRocksIterator_seek0 | WBWIRocksIterator_seek0Jni,
        RocksIterator_seekByteArray0 | RocksIterator_seekByteArray0Jni
        | SstFileReaderIterator_seekByteArray0 | SstFileReaderIterator_seekByteArray0Jni
        | WBWIRocksIterator_seekByteArray0 | WBWIRocksIterator_seekByteArray0Jni,
        RocksIterator_seekDirect0 | RocksIterator_seekDirect0Jni
        | SstFileReaderIterator_seekDirect0 | SstFileReaderIterator_seekDirect0Jni
        | WBWIRocksIterator_seekDirect0 | WBWIRocksIterator_seekDirect0Jni;
    seek_for_prev: RocksIterator_seekForPrev0 | RocksIterator_seekForPrev0Jni
        | SstFileReaderIterator_seekForPrev0 | SstFileReaderIterator_seekForPrev0Jni
        | WBWIRocksIterator_seekForPrev0 | WBWIRocksIterator_seekForPrev0Jni,
        RocksIterator_seekForPrevByteArray0 | RocksIterator_seekForPrevByteArray0Jni
        | SstFileReaderIterator_seekForPrevByteArray0 | SstFileReaderIterator_seekForPrevByteArray0Jni
        | WBWIRocksIterator_seekForPrevByteArray0 | WBWIRocksIterator_seekForPrevByteArray0Jni,
        RocksIterator_seekForPrevDirect0 | RocksIterator_seekForPrevDirect0Jni
        | SstFileReaderIterator_seekForPrevDirect0 | SstFileReaderIterator_seekForPrevDirect0Jni
        | WBWIRocksIterator_seekForPrevDirect0 | WBWIRocksIterator_seekForPrevDirect0Jni;
}

natives! {
    fn RocksIterator_isValid0 | RocksIterator_isValid0Jni | SstFileReaderIterator_isValid0 | SstFileReaderIterator_isValid0Jni
        | WBWIRocksIterator_isValid0 | WBWIRocksIterator_isValid0Jni[_](iter: Handle) -> bool {
        reading(iter)?.valid()
    }

    fn RocksIterator_seekToFirst0 | RocksIterator_seekToFirst0Jni | SstFileReaderIterator_seekToFirst0 | SstFileReaderIterator_seekToFirst0Jni
        | WBWIRocksIterator_seekToFirst0 | WBWIRocksIterator_seekToFirst0Jni[_](iter: Handle) {
        if let Ok(kind) = &mut moving(iter)?.iter {
            either!(kind, |iter| iter.seek_to_first());
        }
    }

    fn RocksIterator_seekToLast0 | RocksIterator_seekToLast0Jni | SstFileReaderIterator_seekToLast0 | SstFileReaderIterator_seekToLast0Jni
        | WBWIRocksIterator_seekToLast0 | WBWIRocksIterator_seekToLast0Jni[_](iter: Handle) {
        if let Ok(kind) = &mut moving(iter)?.iter {
            either!(kind, |iter| iter.seek_to_last());
        }
    }

    fn RocksIterator_next0 | RocksIterator_next0Jni | SstFileReaderIterator_next0 | SstFileReaderIterator_next0Jni
        | WBWIRocksIterator_next0 | WBWIRocksIterator_next0Jni[_](iter: Handle) {
        let mut iter = moving(iter)?;
        if iter.valid()
            && let Ok(kind) = &mut iter.iter
        {
            either!(kind, |iter| iter.next());
        }
    }

    fn RocksIterator_prev0 | RocksIterator_prev0Jni | SstFileReaderIterator_prev0 | SstFileReaderIterator_prev0Jni
        | WBWIRocksIterator_prev0 | WBWIRocksIterator_prev0Jni[_](iter: Handle) {
        let mut iter = moving(iter)?;
        if iter.valid()
            && let Ok(kind) = &mut iter.iter
        {
            either!(kind, |iter| iter.prev());
        }
    }

    fn RocksIterator_status0 | RocksIterator_status0Jni | SstFileReaderIterator_status0 | SstFileReaderIterator_status0Jni
        | WBWIRocksIterator_status0 | WBWIRocksIterator_status0Jni[_](iter: Handle) {
        reading(iter)?.status()?;
    }

    fn RocksIterator_refresh0 | RocksIterator_refresh0Jni | SstFileReaderIterator_refresh0 | SstFileReaderIterator_refresh0Jni
        | WBWIRocksIterator_refresh0 | WBWIRocksIterator_refresh0Jni[_](iter: Handle) {
        refresh(iter, None)?;
    }

    /// Changes the iterator to read the entries of a snapshot. The handle 0 means the newest entries.
    fn RocksIterator_refresh1 | SstFileReaderIterator_refresh1 | WBWIRocksIterator_refresh1[_](iter: Handle, snapshot: Handle) {
        if snapshot.is_null() {
            return refresh(iter, None);
        }
        let snapshot = snapshot.shared::<Arc<Snapshot>>()?.clone();
        refresh(iter, Some(snapshot))?;
    }

    fn RocksIterator_key0 | SstFileReaderIterator_key0[java](iter: Handle) -> JBytes<'j> {
        java.new_bytes(reading(iter)?.key())?
    }

    fn RocksIterator_keyByteArray0 | SstFileReaderIterator_keyByteArray0[java](iter: Handle, key: JBytes, offset: i32, len: i32) -> i32 {
        java.fill(key, Part { offset, len }, reading(iter)?.key())?
    }

    fn RocksIterator_keyDirect0 | SstFileReaderIterator_keyDirect0[java](iter: Handle, key: JBuffer, offset: i32, len: i32) -> i32 {
        java.fill_direct(key, Part { offset, len }, reading(iter)?.key())?
    }

    fn RocksIterator_value0 | SstFileReaderIterator_value0[java](iter: Handle) -> JBytes<'j> {
        java.new_bytes(reading(iter)?.value())?
    }

    fn RocksIterator_valueByteArray0 | SstFileReaderIterator_valueByteArray0[java](iter: Handle, value: JBytes, offset: i32, len: i32) -> i32 {
        java.fill(value, Part { offset, len }, reading(iter)?.value())?
    }

    fn RocksIterator_valueDirect0 | SstFileReaderIterator_valueDirect0[java](iter: Handle, value: JBuffer, offset: i32, len: i32) -> i32 {
        java.fill_direct(value, Part { offset, len }, reading(iter)?.value())?
    }

    /// Returns the number of the record type, the handle of a slice with the key, and the handle of a slice with the value. The
    /// last handle is 0 if the record has no value. Java closes the slices.
    fn WBWIRocksIterator_entry1[java](iter: Handle) -> JLongs<'j> {
        let object = reading(iter)?;
        let Ok(Kind::Records(iter)) = &object.iter else {
            return Err(Error::invalid_argument("the iterator is not over a batch").into());
        };
        let none = || Error::invalid_argument("the iterator is at no record");
        let kind = number_of(iter.write_type().ok_or_else(none)?);
        let key = Handle::new(SliceObject::copied(iter.key().to_vec()));
        let value = match kind {
            0 | 1 => Handle::new(SliceObject::copied(iter.value().to_vec())),
            _ => Handle::NULL,
        };
        java.new_longs(&[kind, key.long(), value.long()])?
    }
}
