//! Iterators: `RocksIterator`.

use base::{Error, Result};
use engine::db::DbIterator;
use ironstone::BaseDeltaIter;

use crate::db::SnapshotObject;
use crate::fault::Outcome;
use crate::handle::{Exclusive, Handle};
use crate::java::{JBuffer, JBytes, Part};
use crate::native::{disposers, natives};

/// An iterator. An iterator that could not be created reports the error as its status.
pub struct IteratorObject {
    iter: Result<Kind>,
}

enum Kind {
    Family(Box<DbIterator>),
    /// A column family under a transaction or a batch.
    Delta(Box<BaseDeltaIter>),
}

// SAFETY: this module takes exclusive guards only, for moves and for reads of the current entry. So no two threads use the
// iterator at the same time.
unsafe impl Sync for IteratorObject {}

macro_rules! either {
    ($kind:expr, |$iter:ident| $value:expr) => {
        match $kind {
            Kind::Family($iter) => $value,
            Kind::Delta($iter) => $value,
        }
    };
}

impl IteratorObject {
    pub fn family(iter: Result<DbIterator>) -> Self {
        IteratorObject { iter: iter.map(|iter| Kind::Family(Box::new(iter))) }
    }

    pub fn delta(iter: Result<BaseDeltaIter>) -> Self {
        IteratorObject { iter: iter.map(|iter| Kind::Delta(Box::new(iter))) }
    }

    fn valid(&self) -> bool {
        self.iter.as_ref().is_ok_and(|kind| either!(kind, |iter| iter.valid()))
    }

    fn status(&self) -> Result<()> {
        match &self.iter {
            Ok(kind) => either!(kind, |iter| iter.status()),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the key; no bytes if the iterator is not valid.
    fn key(&self) -> &[u8] {
        match &self.iter {
            Ok(kind) if self.valid() => either!(kind, |iter| iter.key()),
            _ => &[],
        }
    }

    fn value(&self) -> &[u8] {
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

/// Uses an iterator for a move.
#[inline]
fn moving(iter: Handle) -> Outcome<Exclusive<IteratorObject>> {
    Ok(iter.exclusive::<IteratorObject>()?)
}

/// Uses an iterator for a read of the current entry.
#[inline]
fn reading(iter: Handle) -> Outcome<Exclusive<IteratorObject>> {
    Ok(iter.exclusive::<IteratorObject>()?)
}

disposers! {
    RocksIterator: IteratorObject;
}

natives! {
    fn RocksIterator_isValid0 | RocksIterator_isValid0Jni[_](iter: Handle) -> bool {
        reading(iter)?.valid()
    }

    fn RocksIterator_seekToFirst0 | RocksIterator_seekToFirst0Jni[_](iter: Handle) {
        if let Ok(kind) = &mut moving(iter)?.iter {
            either!(kind, |iter| iter.seek_to_first());
        }
    }

    fn RocksIterator_seekToLast0 | RocksIterator_seekToLast0Jni[_](iter: Handle) {
        if let Ok(kind) = &mut moving(iter)?.iter {
            either!(kind, |iter| iter.seek_to_last());
        }
    }

    fn RocksIterator_next0 | RocksIterator_next0Jni[_](iter: Handle) {
        let mut iter = moving(iter)?;
        if iter.valid()
            && let Ok(kind) = &mut iter.iter
        {
            either!(kind, |iter| iter.next());
        }
    }

    fn RocksIterator_prev0 | RocksIterator_prev0Jni[_](iter: Handle) {
        let mut iter = moving(iter)?;
        if iter.valid()
            && let Ok(kind) = &mut iter.iter
        {
            either!(kind, |iter| iter.prev());
        }
    }

    fn RocksIterator_seek0 | RocksIterator_seek0Jni[java](iter: Handle, target: JBytes, len: i32) {
        let target = java.copy_first(target, len)?;
        moving(iter)?.seek(&target);
    }

    fn RocksIterator_seekByteArray0 | RocksIterator_seekByteArray0Jni[java](
        iter: Handle, target: JBytes, offset: i32, len: i32
    ) {
        let target = java.copy(target, Part { offset, len })?;
        moving(iter)?.seek(&target);
    }

    fn RocksIterator_seekDirect0 | RocksIterator_seekDirect0Jni[java](
        iter: Handle, target: JBuffer, offset: i32, len: i32
    ) {
        let mut iter = moving(iter)?;
        java.with_direct(target, Part { offset, len }, |target| {
            iter.seek(target);
            Ok(())
        })?;
    }

    fn RocksIterator_seekForPrev0 | RocksIterator_seekForPrev0Jni[java](iter: Handle, target: JBytes, len: i32) {
        let target = java.copy_first(target, len)?;
        moving(iter)?.seek_for_prev(&target);
    }

    fn RocksIterator_seekForPrevByteArray0 | RocksIterator_seekForPrevByteArray0Jni[java](
        iter: Handle, target: JBytes, offset: i32, len: i32
    ) {
        let target = java.copy(target, Part { offset, len })?;
        moving(iter)?.seek_for_prev(&target);
    }

    fn RocksIterator_seekForPrevDirect0 | RocksIterator_seekForPrevDirect0Jni[java](
        iter: Handle, target: JBuffer, offset: i32, len: i32
    ) {
        let mut iter = moving(iter)?;
        java.with_direct(target, Part { offset, len }, |target| {
            iter.seek_for_prev(target);
            Ok(())
        })?;
    }

    fn RocksIterator_status0 | RocksIterator_status0Jni[_](iter: Handle) {
        reading(iter)?.status()?;
    }

    fn RocksIterator_refresh0 | RocksIterator_refresh0Jni[_](iter: Handle) {
        match &mut moving(iter)?.iter {
            Ok(Kind::Family(iter)) => iter.refresh()?,
            Ok(Kind::Delta(_)) => return Err(Error::not_supported("Refresh() of an iterator over a batch").into()),
            Err(error) => return Err(error.clone().into()),
        }
    }

    /// Refresh to a snapshot is not built.
    fn RocksIterator_refresh1[_](iter: Handle, snapshot: Handle) {
        drop(snapshot.shared::<SnapshotObject>()?);
        drop(moving(iter)?);
        return Err(Error::not_supported("Refresh() of an iterator to a snapshot").into());
    }

    fn RocksIterator_key0[java](iter: Handle) -> JBytes<'j> {
        java.new_bytes(reading(iter)?.key())?
    }

    fn RocksIterator_keyByteArray0[java](iter: Handle, key: JBytes, offset: i32, len: i32) -> i32 {
        java.fill(key, Part { offset, len }, reading(iter)?.key())?
    }

    fn RocksIterator_keyDirect0[java](iter: Handle, key: JBuffer, offset: i32, len: i32) -> i32 {
        java.fill_direct(key, Part { offset, len }, reading(iter)?.key())?
    }

    fn RocksIterator_value0[java](iter: Handle) -> JBytes<'j> {
        java.new_bytes(reading(iter)?.value())?
    }

    fn RocksIterator_valueByteArray0[java](iter: Handle, value: JBytes, offset: i32, len: i32) -> i32 {
        java.fill(value, Part { offset, len }, reading(iter)?.value())?
    }

    fn RocksIterator_valueDirect0[java](iter: Handle, value: JBuffer, offset: i32, len: i32) -> i32 {
        java.fill_direct(value, Part { offset, len }, reading(iter)?.value())?
    }
}
