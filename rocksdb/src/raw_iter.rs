//! [`RawIter`]: an iterator of `ironstone` without the type of its database.

use std::sync::Arc;

use ironstone::ttl::TtlIter;
use ironstone::{BaseDeltaIter, Iter, ReadOptions, Secondary};

use crate::Error;

/// An iterator of the engine. If its creation failed, the error: `status` returns the error.
pub struct RawIter(Result<Kind, Error>, Option<Box<Again>>);

/// The arguments of an iterator over a secondary instance. A catch-up makes a new view, and the iterator reads the view of its
/// creation. So a refresh makes a new iterator.
pub struct Again {
    pub secondary: Arc<Secondary>,
    /// The name of the column family. `None`: the default column family.
    pub family: Option<String>,
    pub options: ReadOptions,
}

impl Again {
    pub(crate) fn make(&self) -> ironstone::Result<Iter> {
        let view = self.secondary.view();
        match &self.family {
            None => view.iter_with(self.options.clone()),
            Some(name) => view.family(name)?.iter_with(self.options.clone()),
        }
    }
}

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
        RawIter(Ok(Kind::Db(Box::new(iter))), None)
    }

    /// Makes an iterator over a secondary instance.
    pub(crate) fn of_secondary(again: Again) -> ironstone::Result<RawIter> {
        let iter = again.make()?;
        Ok(RawIter(Ok(Kind::Db(Box::new(iter))), Some(Box::new(again))))
    }

    pub(crate) fn of_batch(iter: ironstone::Result<BaseDeltaIter>) -> RawIter {
        RawIter(iter.map(|iter| Kind::Batch(Box::new(iter))).map_err(Error::from), None)
    }

    pub(crate) fn of_ttl(iter: TtlIter) -> RawIter {
        RawIter(Ok(Kind::Ttl(Box::new(iter))), None)
    }

    pub(crate) fn failed(error: impl Into<Error>) -> RawIter {
        RawIter(Err(error.into()), None)
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
            Kind::Db(iter) => {
                match &self.1 {
                    Some(again) => **iter = again.make()?,
                    None => iter.refresh()?,
                }
                Ok(())
            }
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
