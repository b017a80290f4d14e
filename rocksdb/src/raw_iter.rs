//! [`RawIter`]: an iterator of `ironstone` without the type of its database.

use ironstone::ttl::TtlIter;
use ironstone::{BaseDeltaIter, Iter};

use crate::Error;

/// An iterator of the engine. If its creation failed, the error: `status` returns the error.
pub struct RawIter(Result<Kind, Error>);

enum Kind {
    Db(Box<Iter>),
    /// Entries of a transaction: the writes of the transaction over the entries of the database.
    Batch(Box<BaseDeltaIter>),
    /// Entries of a database with a time to live. The iterator removes the write time from each value.
    Ttl(Box<TtlIter>),
}

/// Runs an expression for each kind of iterator.
macro_rules! each {
    ($kind:expr, |$iter:ident| $value:expr) => {
        match $kind {
            Kind::Db($iter) => $value,
            Kind::Batch($iter) => $value,
            Kind::Ttl($iter) => $value,
        }
    };
}

impl RawIter {
    pub(crate) fn of_db(iter: Iter) -> RawIter {
        RawIter(Ok(Kind::Db(Box::new(iter))))
    }

    pub(crate) fn of_batch(iter: ironstone::Result<BaseDeltaIter>) -> RawIter {
        RawIter(iter.map(|iter| Kind::Batch(Box::new(iter))).map_err(Error::from))
    }

    pub(crate) fn of_ttl(iter: TtlIter) -> RawIter {
        RawIter(Ok(Kind::Ttl(Box::new(iter))))
    }

    pub(crate) fn failed(error: impl Into<Error>) -> RawIter {
        RawIter(Err(error.into()))
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        match &self.0 {
            Ok(kind) => each!(kind, |iter| iter.valid()),
            Err(_) => false,
        }
    }

    pub(crate) fn status(&self) -> Result<(), Error> {
        match self.0.as_ref().map_err(Clone::clone)? {
            Kind::Ttl(iter) if iter.valid() => iter.value().map(drop)?,
            kind => each!(kind, |iter| iter.status())?,
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match &self.0 {
            Ok(Kind::Db(iter)) => iter.raw_key(),
            Ok(kind) => each!(kind, |iter| iter.key()),
            Err(_) => &[],
        }
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        match &self.0 {
            Ok(Kind::Db(iter)) => iter.value(),
            Ok(Kind::Batch(iter)) => iter.value(),
            Ok(Kind::Ttl(iter)) => iter.value().unwrap_or_default(), // `status` reports the error
            Err(_) => &[],
        }
    }

    pub(crate) fn timestamp(&self) -> &[u8] {
        match &self.0 {
            Ok(Kind::Db(iter)) => iter.timestamp(),
            Ok(Kind::Batch(iter)) => iter.timestamp(),
            Ok(Kind::Ttl(_)) | Err(_) => &[],
        }
    }

    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        match self.0.as_mut().map_err(|error| error.clone())? {
            Kind::Db(iter) => Ok(iter.refresh()?),
            _ => Err(ironstone::Error::not_supported("Refresh() is not supported").into()),
        }
    }

    pub(crate) fn seek_to_first(&mut self) {
        if let Ok(kind) = &mut self.0 {
            each!(kind, |iter| iter.seek_to_first());
        }
    }

    pub(crate) fn seek_to_last(&mut self) {
        if let Ok(kind) = &mut self.0 {
            each!(kind, |iter| iter.seek_to_last());
        }
    }

    pub(crate) fn seek(&mut self, key: &[u8]) {
        if let Ok(kind) = &mut self.0 {
            each!(kind, |iter| iter.seek(key));
        }
    }

    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) {
        if let Ok(kind) = &mut self.0 {
            each!(kind, |iter| iter.seek_for_prev(key));
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) {
        if let Ok(kind) = &mut self.0 {
            each!(kind, |iter| iter.next());
        }
    }

    #[inline]
    pub(crate) fn prev(&mut self) {
        if let Ok(kind) = &mut self.0 {
            each!(kind, |iter| iter.prev());
        }
    }
}
