//! Iterators over a column family, over the entries that a transaction sees, and over the write batches of the WAL.

use std::marker::PhantomData;

use ironstone::{SequenceNumber, Update, Updates};

use crate::column_family::CfHandle;
use crate::db::DBAccess;
use crate::raw_iter::RawIter;
use crate::{DB, Error, ReadOptions, WriteBatch};

/// A raw iterator of [`DB`].
pub type DBRawIterator<'a> = DBRawIteratorWithThreadMode<'a, DB>;

/// An iterator that the caller moves with `seek`, `next` and `prev`. A new iterator is at no entry.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let db = rocksdb::DB::open_default(dir.path())?;
/// db.put(b"a", b"1")?;
/// db.put(b"b", b"2")?;
/// let mut iter = db.raw_iterator();
/// iter.seek(b"b");
/// assert_eq!(iter.item(), Some((&b"b"[..], &b"2"[..])));
/// iter.next();
/// assert!(!iter.valid());
/// iter.status()?; // the end of the data, not an error
/// # Ok::<(), rocksdb::Error>(())
/// ```
pub struct DBRawIteratorWithThreadMode<'a, D: DBAccess> {
    inner: RawIter,
    db: PhantomData<fn() -> &'a D>,
}

impl<'a, D: DBAccess> DBRawIteratorWithThreadMode<'a, D> {
    pub(crate) fn new(db: &D, readopts: ReadOptions) -> Self {
        DBRawIteratorWithThreadMode { inner: db.create_iterator(readopts), db: PhantomData }
    }

    pub(crate) fn new_cf(db: &'a D, cf_handle: &CfHandle, readopts: ReadOptions) -> Self {
        DBRawIteratorWithThreadMode { inner: db.create_iterator_cf(cf_handle, readopts), db: PhantomData }
    }

    /// Returns true if the iterator is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.inner.valid()
    }

    /// Returns `Ok` if no error ended the iteration. The end of the data is not an error.
    ///
    /// # Errors
    /// The error that ended the iteration.
    pub fn status(&self) -> Result<(), Error> {
        self.inner.status()
    }

    /// Changes the iterator to read at the newest visible sequence number. The iterator is at no entry afterwards.
    ///
    /// # Errors
    /// NotSupported for an iterator of a transaction or of a database with a time to live.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.inner.refresh()
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        self.inner.seek_to_first();
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        self.inner.seek_to_last();
    }

    /// Moves to the first entry at or after the key.
    pub fn seek<K: AsRef<[u8]>>(&mut self, key: K) {
        self.inner.seek(key.as_ref());
    }

    /// Moves to the last entry at or before the key.
    pub fn seek_for_prev<K: AsRef<[u8]>>(&mut self, key: K) {
        self.inner.seek_for_prev(key.as_ref());
    }

    /// Moves to the next entry. Does nothing if the iterator is at no entry.
    #[inline]
    pub fn next(&mut self) {
        if self.valid() {
            self.inner.next();
        }
    }

    /// Moves to the previous entry. Does nothing if the iterator is at no entry.
    #[inline]
    pub fn prev(&mut self) {
        if self.valid() {
            self.inner.prev();
        }
    }

    /// Returns the key of the entry.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        self.valid().then(|| self.inner.key())
    }

    /// Returns the value of the entry.
    #[inline]
    pub fn value(&self) -> Option<&[u8]> {
        self.valid().then(|| self.inner.value())
    }

    /// Returns the timestamp of the entry. Empty if keys have no timestamps.
    pub fn timestamp(&self) -> Option<&[u8]> {
        self.valid().then(|| self.inner.timestamp())
    }

    /// Returns the key and the value of the entry.
    #[inline]
    pub fn item(&self) -> Option<(&[u8], &[u8])> {
        self.valid().then(|| (self.inner.key(), self.inner.value()))
    }
}

/// An iterator of [`DB`].
pub type DBIterator<'a> = DBIteratorWithThreadMode<'a, DB>;

/// A Rust [`Iterator`] over keys and values. If an error ends the iteration, the error is the last item.
///
/// ```
/// use rocksdb::{DB, Direction, IteratorMode};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path())?;
/// db.put(b"a", b"1")?;
/// db.put(b"b", b"2")?;
/// let keys = |mode| db.iterator(mode).map(|item| item.unwrap().0[0]).collect::<Vec<_>>();
/// assert_eq!(keys(IteratorMode::Start), b"ab");
/// assert_eq!(keys(IteratorMode::End), b"ba");
/// assert_eq!(keys(IteratorMode::From(b"aa", Direction::Reverse)), b"a");
/// # Ok::<(), rocksdb::Error>(())
/// ```
pub struct DBIteratorWithThreadMode<'a, D: DBAccess> {
    raw: DBRawIteratorWithThreadMode<'a, D>,
    direction: Direction,
    done: bool,
}

/// The direction of an iteration.
#[derive(Copy, Clone)]
pub enum Direction {
    /// To larger keys.
    Forward,
    /// To smaller keys.
    Reverse,
}

/// A key and its value.
pub type KVBytes = (Box<[u8]>, Box<[u8]>);

/// Where an iteration begins.
#[derive(Copy, Clone)]
pub enum IteratorMode<'a> {
    /// At the first key, forward.
    Start,
    /// At the last key, in reverse.
    End,
    /// At the given key. If the key does not exist, at the next key in the given direction.
    From(&'a [u8], Direction),
}

impl<'a, D: DBAccess> DBIteratorWithThreadMode<'a, D> {
    pub(crate) fn new(db: &D, readopts: ReadOptions, mode: IteratorMode) -> Self {
        Self::at(DBRawIteratorWithThreadMode::new(db, readopts), mode)
    }

    pub(crate) fn new_cf(db: &'a D, cf: &CfHandle, readopts: ReadOptions, mode: IteratorMode) -> Self {
        Self::at(DBRawIteratorWithThreadMode::new_cf(db, cf, readopts), mode)
    }

    fn at(raw: DBRawIteratorWithThreadMode<'a, D>, mode: IteratorMode) -> Self {
        let mut iter = DBIteratorWithThreadMode { raw, direction: Direction::Forward, done: false };
        iter.set_mode(mode);
        iter
    }

    /// Begins the iteration again.
    pub fn set_mode(&mut self, mode: IteratorMode) {
        self.done = false;
        self.direction = match mode {
            IteratorMode::Start | IteratorMode::From(_, Direction::Forward) => Direction::Forward,
            IteratorMode::End | IteratorMode::From(_, Direction::Reverse) => Direction::Reverse,
        };
        match mode {
            IteratorMode::Start => self.raw.seek_to_first(),
            IteratorMode::End => self.raw.seek_to_last(),
            IteratorMode::From(key, Direction::Forward) => self.raw.seek(key),
            IteratorMode::From(key, Direction::Reverse) => self.raw.seek_for_prev(key),
        }
    }

    /// Begins the iteration again, at the newest sequence number.
    ///
    /// # Errors
    /// The errors of [`DBRawIteratorWithThreadMode::refresh`].
    pub fn refresh(&mut self, mode: IteratorMode) -> Result<(), Error> {
        self.raw.refresh()?;
        self.set_mode(mode);
        Ok(())
    }
}

impl<D: DBAccess> Iterator for DBIteratorWithThreadMode<'_, D> {
    type Item = Result<KVBytes, Error>;

    fn next(&mut self) -> Option<Result<KVBytes, Error>> {
        if self.done {
            return None;
        }
        let Some((key, value)) = self.raw.item() else {
            self.done = true;
            return self.raw.status().err().map(Err);
        };
        let item = (Box::from(key), Box::from(value));
        match self.direction {
            Direction::Forward => self.raw.next(),
            Direction::Reverse => self.raw.prev(),
        }
        Some(Ok(item))
    }
}

impl<D: DBAccess> std::iter::FusedIterator for DBIteratorWithThreadMode<'_, D> {}

#[allow(clippy::from_over_into, reason = "programs may name the implementation of the crate rocksdb")]
impl<'a, D: DBAccess> Into<DBRawIteratorWithThreadMode<'a, D>> for DBIteratorWithThreadMode<'a, D> {
    fn into(self) -> DBRawIteratorWithThreadMode<'a, D> {
        self.raw
    }
}

/// An iterator over the write batches of the WAL from a sequence number. Each item is the sequence number of the first entry
/// of a batch, and the batch.
pub struct DBWALIterator {
    updates: Updates,
    current: Option<Update>,
    status: Result<(), Error>,
    start_seq_number: u64,
}

impl DBWALIterator {
    pub(crate) fn new(updates: Updates, start_seq_number: u64) -> Self {
        let mut iter = DBWALIterator { updates, current: None, status: Ok(()), start_seq_number };
        iter.current = iter.step();
        iter
    }

    fn step(&mut self) -> Option<Update> {
        match self.updates.next()? {
            Ok(update) => Some(update),
            Err(error) => {
                self.status = Err(error.into());
                None
            }
        }
    }

    /// Returns true if the iterator is at a batch.
    pub fn valid(&self) -> bool {
        self.current.is_some()
    }

    /// Returns `Ok` at the end of the WAL.
    ///
    /// # Errors
    /// The error that ended the iteration.
    pub fn status(&self) -> Result<(), Error> {
        self.status.clone()
    }
}

impl Iterator for DBWALIterator {
    type Item = Result<(u64, WriteBatch), Error>;

    /// Returns the next batch that begins after the sequence number.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let update = self.current.take()?;
            self.current = self.step();
            if update.sequence > SequenceNumber::new(self.start_seq_number) {
                return Some(Ok((update.sequence.get(), WriteBatch::of_ironstone(update.batch))));
            }
        }
    }
}
