//! Iterators.

use std::ffi::c_char;

use base::{Error, Result};
use engine::db::DbIterator;
use engine::family::Family;
use engine::options::ReadOptions;
use ironstone::ttl::TtlDb;
use ironstone::{BaseDeltaIter, WriteBatchWithIndex};
use std::sync::Arc;

use crate::abi::{Flag, Owned, OwnedBox, Return, Text, arguments};
use crate::db::{FamilyView, Following, Open, rocksdb_column_family_handle_t, rocksdb_t};
use crate::read_options::rocksdb_readoptions_t;

/// An iterator over a column family. An iterator that could not be created reports the error.
pub struct rocksdb_iterator_t {
    iter: Result<Kind>,
    /// For an iterator over a secondary instance: what a refresh needs to read the newest view.
    again: Option<Box<Again>>,
}

/// The arguments of an iterator over a secondary instance. A catch-up makes a new view, and the iterator reads the view of
/// its creation. So a refresh makes a new iterator.
struct Again {
    following: Arc<Following>,
    family: String,
    options: ReadOptions,
}

impl Again {
    fn of(db: &rocksdb_t, family: &Family, options: &ReadOptions) -> Option<Box<Again>> {
        let following = db.following()?.clone();
        Some(Box::new(Again { following, family: family.name().to_string(), options: options.clone() }))
    }

    /// # Errors
    /// NotFound if the primary instance dropped the column family; the errors of a new iterator.
    fn make(&self) -> Result<Kind> {
        let open = self.following.view();
        let iter = open.db.iter(&self.following.family(&self.family)?, self.options.clone())?;
        Ok(Kind::over(&open, iter))
    }
}

/// The source of an iterator. Most iterators have the variant `Family`, so it is not in a box.
enum Kind {
    /// A column family.
    Family(DbIterator),
    /// A column family of a database with a time to live. Stored values end with their write time. An iterator of a batch over
    /// this iterator needs the database.
    Ttl { iter: DbIterator, db: TtlDb },
    /// A column family under a batch or a transaction.
    Batch(Box<BaseDeltaIter>),
    /// A column family of a database with a time to live, under a batch. The values end with their write time.
    TtlBatch(Box<BaseDeltaIter>),
}

impl Kind {
    /// Returns the source for an iterator over a column family of a database.
    #[inline]
    fn over(open: &Open, iter: DbIterator) -> Self {
        match &open.ttl {
            None => Kind::Family(iter),
            Some(ttl) => Kind::Ttl { iter, db: ttl.clone() },
        }
    }
}

/// Runs an expression for either kind of iterator.
macro_rules! either {
    ($kind:expr, |$iter:ident| $value:expr) => {
        match $kind {
            Kind::Family($iter) => $value,
            Kind::Ttl { iter: $iter, .. } => $value,
            Kind::Batch($iter) => $value,
            Kind::TtlBatch($iter) => $value,
        }
    };
}

/// Bytes of an iterator. The bytes are valid until the next move of the iterator.
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
    /// Creates the iterator in one allocation. If the iterator cannot be created, it reports the error.
    pub(crate) fn new(
        db: &rocksdb_t,
        family: Result<FamilyView<'_>>,
        options: &rocksdb_readoptions_t,
    ) -> OwnedBox<Self> {
        let create = || {
            let (open, family, options) = (db.get()?, family?, options.get()?);
            open.db.boxed_iter(&family, &options, |iter| rocksdb_iterator_t {
                iter: Ok(Kind::over(&open, iter)),
                again: Again::of(db, &family, &options),
            })
        };
        OwnedBox(
            create().unwrap_or_else(|error| Box::new(rocksdb_iterator_t { iter: Err(error), again: None })),
        )
    }

    pub(crate) fn of_transaction(iter: Result<BaseDeltaIter>) -> Self {
        rocksdb_iterator_t { iter: iter.map(|iter| Kind::Batch(Box::new(iter))), again: None }
    }

    /// Returns an iterator over the entries of this iterator and the records of a batch for `family`. Without `family`, the
    /// records are those for the default column family, also if this iterator is over another column family, and merges of the
    /// batch are InvalidArgument. The bounds of `options` limit the records of the batch. Without `options`, no bound limits
    /// them, also if this iterator has bounds.
    pub(crate) fn with_batch(
        self,
        batch: &WriteBatchWithIndex,
        family: Option<&ironstone::Family>,
        options: Option<&ReadOptions>,
    ) -> Self {
        let lower = options.and_then(|options| options.iterate_lower_bound.clone());
        let upper = options.and_then(|options| options.iterate_upper_bound.clone());
        let limit = |iter: BaseDeltaIter| match family {
            Some(_) => Box::new(iter),
            None => Box::new(iter.rejecting_merges()),
        };
        let iter = self.iter.and_then(|kind| match kind {
            Kind::Family(iter) => {
                let default = ironstone::Db::from_engine(iter.db().clone())?;
                let family = family.unwrap_or(&default);
                Ok(Kind::Batch(limit(batch.iter_over_base(family, iter, lower, upper))))
            }
            Kind::Ttl { iter, db } => {
                let family = db.family_of(family.unwrap_or(db.plain()))?;
                Ok(Kind::TtlBatch(limit(family.iter_over_base(batch, iter, lower, upper))))
            }
            Kind::Batch(_) | Kind::TtlBatch(_) => {
                Err(Error::invalid_argument("the base iterator is over a batch already"))
            }
        });
        rocksdb_iterator_t { iter, again: None }
    }

    fn valid(&self) -> bool {
        self.iter.as_ref().is_ok_and(|kind| either!(kind, |iter| iter.valid()))
    }

    fn key(&self) -> &[u8] {
        match &self.iter {
            Ok(Kind::Family(iter) | Kind::Ttl { iter, .. }) if iter.valid() => iter.raw_key(),
            Ok(Kind::Batch(iter) | Kind::TtlBatch(iter)) if iter.valid() => iter.key(),
            _ => &[],
        }
    }

    /// Returns the current value as it is stored, if it ends with its write time.
    fn with_time(&self) -> Option<&[u8]> {
        match &self.iter {
            Ok(Kind::Ttl { iter, .. }) if iter.valid() => Some(iter.value()),
            Ok(Kind::TtlBatch(iter)) if iter.valid() => Some(iter.value()),
            _ => None,
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

    fn timestamp(&self) -> &[u8] {
        match &self.iter {
            Ok(kind) if self.valid() => either!(kind, |iter| iter.timestamp()),
            _ => &[],
        }
    }

    fn status(&self) -> Result<()> {
        if let Some(stored) = self.with_time() {
            ironstone::ttl::value_of(stored)?;
        }
        match &self.iter {
            Ok(kind) => either!(kind, |iter| iter.status()),
            Err(error) => Err(error.clone()),
        }
    }
}

c_api! {
    /// Creates an iterator over the default column family. The iterator is not valid until it is positioned.
    fn rocksdb_create_iterator(db: at rocksdb_t, options: in rocksdb_readoptions_t) -> OwnedBox<rocksdb_iterator_t> {
        rocksdb_iterator_t::new(db, db.default_family(), options)
    }

    fn rocksdb_create_iterator_cf(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, column_family: at rocksdb_column_family_handle_t
    ) -> OwnedBox<rocksdb_iterator_t> {
        rocksdb_iterator_t::new(db, db.family(column_family), options)
    }

    /// Creates iterators over several column families. All iterators read at the same sequence number, except tailing iterators
    /// and iterators of column families with `inplace_update_support`. `iterators` has `size` places.
    fn rocksdb_create_iterators(
        db: at rocksdb_t, options: at rocksdb_readoptions_t,
        column_families: raw(*mut *mut rocksdb_column_family_handle_t),
        iterators: raw(*mut *mut rocksdb_iterator_t), size: usize, err
    ) {
        // SAFETY: rule 11 of the header: aligned arrays of `size` live handles and of `size` writable places. Only this call uses the places.
        let (handles, places) = unsafe {
            (arguments::array(column_families.cast_const(), size)?, arguments::array_mut(iterators, size)?)
        };
        let mut families = Vec::with_capacity(size);
        for &handle in handles {
            // SAFETY: the header requires live handles.
            let handle = unsafe { handle.as_ref() };
            let handle = handle.ok_or_else(|| Error::invalid_argument("a column family handle is null"))?;
            families.push(Arc::clone(&*db.family(handle)?));
        }
        let (open, read) = (db.get()?, &*options.get()?);
        let created = open.db.together().iterators(&families, read)?;
        for ((place, iter), family) in places.iter_mut().zip(created).zip(&families) {
            let kind = Kind::over(&open, iter);
            let again = Again::of(db, family, read);
            place.write(Owned(rocksdb_iterator_t { iter: Ok(kind), again }).into_c());
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
        if let Ok(kind) = &mut iter.iter {
            either!(kind, |iter| iter.seek_to_first());
        }
    }

    fn rocksdb_iter_seek_to_last(iter: mut rocksdb_iterator_t) {
        if let Ok(kind) = &mut iter.iter {
            either!(kind, |iter| iter.seek_to_last());
        }
    }

    /// Moves to the first entry at or after the key.
    fn rocksdb_iter_seek(iter: mut rocksdb_iterator_t, key: bytes) {
        if let Ok(kind) = &mut iter.iter {
            either!(kind, |iter| iter.seek(key));
        }
    }

    /// Moves to the last entry at or before the key.
    fn rocksdb_iter_seek_for_prev(iter: mut rocksdb_iterator_t, key: bytes) {
        if let Ok(kind) = &mut iter.iter {
            either!(kind, |iter| iter.seek_for_prev(key));
        }
    }

    fn rocksdb_iter_next(iter: mut rocksdb_iterator_t) {
        if iter.valid()
            && let Ok(kind) = &mut iter.iter
        {
            either!(kind, |iter| iter.next());
        }
    }

    fn rocksdb_iter_prev(iter: mut rocksdb_iterator_t) {
        if iter.valid()
            && let Ok(kind) = &mut iter.iter
        {
            either!(kind, |iter| iter.prev());
        }
    }

    /// Returns the key. The bytes are valid until the next move of the iterator. With `rocksdb_readoptions_set_iter_start_ts`,
    /// the key is an internal key: the key, the timestamp, and 8 bytes of sequence number and value type.
    fn rocksdb_iter_key(iter: in rocksdb_iterator_t, klen: out usize) -> Text {
        let key = iter.key();
        klen.set(key.len());
        Text::bytes(key)
    }

    /// Returns the value. The bytes are valid until the next move of the iterator.
    fn rocksdb_iter_value(iter: in rocksdb_iterator_t, vlen: out usize) -> Text {
        let value = iter.value();
        vlen.set(value.len());
        Text::bytes(value)
    }

    /// Returns the timestamp. The bytes are valid until the next move of the iterator.
    fn rocksdb_iter_timestamp(iter: in rocksdb_iterator_t, tslen: out usize) -> Text {
        let timestamp = iter.timestamp();
        tslen.set(timestamp.len());
        Text::bytes(timestamp)
    }

    fn rocksdb_iter_key_slice(iter: in rocksdb_iterator_t) -> rocksdb_slice_t {
        rocksdb_slice_t::new(iter.key())
    }

    fn rocksdb_iter_value_slice(iter: in rocksdb_iterator_t) -> rocksdb_slice_t {
        rocksdb_slice_t::new(iter.value())
    }

    fn rocksdb_iter_timestamp_slice(iter: in rocksdb_iterator_t) -> rocksdb_slice_t {
        rocksdb_slice_t::new(iter.timestamp())
    }

    /// Reports the error that ended the iteration. Reports no error if the iterator reached the end.
    fn rocksdb_iter_get_error(iter: in rocksdb_iterator_t, err) {
        iter.status()
    }

    /// Changes the iterator to read at the newest visible sequence number. The iterator is not valid afterwards. An iterator of
    /// a secondary instance then reads what the last catch-up found.
    fn rocksdb_iter_refresh(iter: cmut rocksdb_iterator_t, err) {
        if let (Some(again), Ok(_)) = (&iter.again, &iter.iter) {
            iter.iter = Ok(again.make()?);
            return Ok(());
        }
        match &mut iter.iter {
            Ok(Kind::Family(iter) | Kind::Ttl { iter, .. }) => iter.refresh(),
            Ok(Kind::Batch(_) | Kind::TtlBatch(_)) => Err(Error::not_supported("Refresh() is not supported")),
            Err(error) => Err(error.clone()),
        }
    }
}
