//! The reads of a transaction: the database with the writes of the transaction on top.

use base::{Error, Pinned, Result};
use engine::source::WideColumns;
use engine::source::resolve::Found;

use super::super::indexed::{self, BaseDeltaIter};
use super::super::locks::LockMode;
use super::super::tracker::{Untracked, Use};
use super::Transaction;
use super::body::{Body, Control, Shared};
use super::track::{Operation, Tracking, Validation};
use crate::{FamiliesIter, Family, ReadOptions};

impl Transaction {
    /// Returns the value of a key of the default column family, with the writes of this transaction.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// assert_eq!(transaction.get(b"k")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::get_in`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.get_in(&self.default, key, &ReadOptions::default())
    }

    /// Returns the value of a key, with the writes of this transaction. The read takes no lock and is not checked for
    /// conflicts.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::ReadOptions;
    ///
    /// # let family = db.default_family();
    /// db.put(b"k", b"1")?;
    /// let transaction = db.begin();
    /// assert_eq!(transaction.get_in(&family, b"k", &ReadOptions::default())?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Family::get_with`]; InvalidArgument if operands must be merged and there is no merge operator.
    pub fn get_in(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        indexed::get_over(&self.shared.core, family, key, &self.shared.with_own_sections(&self.db, options))
    }

    /// Returns the values of several keys, in the order of `keys`. All values of the database belong to one sequence number.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// # let options = ironstone::ReadOptions::default();
    /// let transaction = db.begin();
    /// transaction.put(b"a", b"1")?;
    /// let values = transaction.multi_get_in(&family, &[b"a", b"b"], &options);
    /// assert!(values[0].as_ref().unwrap().is_some());
    /// assert!(values[1].as_ref().unwrap().is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_in(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Pinned>>> {
        indexed::multi_get_over(
            &self.shared.core,
            family,
            keys,
            &self.shared.with_own_sections(&self.db, options),
        )
    }

    /// Returns the values of keys of several column families, in the order of `keys`, with the writes of this transaction. All
    /// values of the database belong to one sequence number.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, Options, ReadOptions, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let users = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// db.put(b"1", b"old")?;
    /// let transaction = db.begin();
    /// transaction.put_in(&users, b"1", b"Ada")?;
    /// let found = transaction.multi_get_families(&[(&db, b"1"), (&users, b"1")], &ReadOptions::default());
    /// assert_eq!(found[0].as_ref().unwrap().as_deref(), Some(&b"old"[..]));
    /// assert_eq!(found[1].as_ref().unwrap().as_deref(), Some(&b"Ada"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_families(
        &self,
        keys: &[(&Family, &[u8])],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Pinned>>> {
        let plain = |found: Result<Option<Found>>| found?.map(Found::into_plain).transpose();
        let found = indexed::multi_find_over(
            &self.shared.core,
            keys,
            &self.shared.with_own_sections(&self.db, options),
        );
        found.into_iter().map(plain).collect()
    }

    /// Returns the columns of a key, with the writes of this transaction; `None` if the key has no value. A plain value is one
    /// column with the empty name. The read takes no lock and is not checked for conflicts. RocksDB: `GetEntity`.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.put_entity_in(&family, b"ada", &[(b"born", b"1815")])?;
    /// let columns = transaction.get_entity_in(&family, b"ada", &ReadOptions::default())?.unwrap();
    /// assert_eq!(columns.get(b"born"), Some(&b"1815"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::get_in`]; Corruption if an entity does not decode.
    pub fn get_entity_in(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        indexed::get_entity_over(
            &self.shared.core,
            family,
            key,
            &self.shared.with_own_sections(&self.db, options),
        )
    }

    /// Returns the columns of several keys, in the order of `keys`, with the writes of this transaction. All columns of the
    /// database belong to one sequence number. RocksDB: `MultiGetEntity`.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// db.put_entity(b"ada", &[(b"born", b"1815")])?;
    /// let transaction = db.begin();
    /// transaction.put_entity_in(&family, b"bob", &[(b"born", b"1901")])?;
    /// let found = transaction.multi_get_entity_in(&family, &[b"ada", b"bob"], &ReadOptions::default());
    /// assert_eq!(found[1].as_ref().unwrap().as_ref().unwrap().get(b"born"), Some(&b"1901"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_entity_in(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>> {
        indexed::multi_get_entity_over(
            &self.shared.core,
            family,
            keys,
            &self.shared.with_own_sections(&self.db, options),
        )
    }

    /// Returns an iterator over the keys of several column families, with the writes of this transaction. The columns of a key
    /// are those of all column families; if two have a column of one name, the later column family of the list wins. RocksDB:
    /// `GetCoalescingIterator` and `GetAttributeGroupIterator`.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, Options, ReadOptions, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put_entity(b"ada", &[(b"name", b"Ada")])?;
    /// let transaction = db.begin();
    /// transaction.put_entity_in(&cold, b"ada", &[(b"born", b"1815")])?;
    /// let mut iter = transaction.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.columns()?.len(), 2);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`crate::Db::coalescing_iter`].
    pub fn coalescing_iter(&self, families: &[Family], options: &ReadOptions) -> Result<FamiliesIter> {
        let own = self.shared.with_own_sections(&self.db, options);
        let holds = self.shared.body.lock().iterators.clone();
        FamiliesIter::of(families, || {
            let iters = indexed::iters_over(&self.shared.core, &self.db, families, &own)?;
            Ok(iters.into_iter().map(|iter| iter.holding(holds.clone())).collect())
        })
    }

    /// Returns an iterator over a column family with the writes of this transaction, also with writes after the
    /// creation of the iterator.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// # let options = ironstone::ReadOptions::default();
    /// db.put(b"a", b"1")?;
    /// let transaction = db.begin();
    /// transaction.put(b"b", b"2")?;
    /// let mut iter = transaction.iter_in(&family, options)?;
    /// iter.seek(b"b");
    /// assert_eq!(iter.value(), b"2");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Family::iter_with`].
    pub fn iter_in(&self, family: &Family, options: ReadOptions) -> Result<BaseDeltaIter> {
        let own = self.shared.with_own_sections(&self.db, &options).into_owned();
        let holds = self.shared.body.lock().iterators.clone();
        Ok(indexed::iter_over(&self.shared.core, family, own)?.holding(holds))
    }

    /// Returns an iterator over the default column family, as [`Transaction::iter_in`].
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"a", b"1")?;
    /// let mut iter = transaction.iter()?;
    /// iter.seek_to_first();
    /// assert_eq!((iter.key(), iter.value()), (&b"a"[..], &b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::iter_in`].
    pub fn iter(&self) -> Result<BaseDeltaIter> {
        self.iter_in(&self.default, ReadOptions::default())
    }

    /// Returns the value of a key of the default column family, and guards the key until the end of the transaction:
    /// the lock is exclusive, and the key is compared with the snapshot. See [`Transaction::get_for_update_in`].
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.get_for_update(b"k")?;
    /// let other = db.begin();
    /// other.set_lock_timeout(0);
    /// assert!(other.put(b"k", b"2").is_err()); // the key is locked
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::get_for_update_in`].
    pub fn get_for_update(&self, key: &[u8]) -> Result<Option<Pinned>> {
        let options = ReadOptions::default();
        self.get_for_update_in(&self.default, key, &options, LockMode::Exclusive, Validation::Check)
    }

    /// Returns the value of a key, and guards the key: a pessimistic transaction locks the key in `mode`, and the
    /// commit of an optimistic transaction fails if the key was changed.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::{LockMode, ReadOptions, Validation};
    ///
    /// # let family = db.default_family();
    /// let (first, second, options) = (db.begin(), db.begin(), ReadOptions::default());
    /// first.get_for_update_in(&family, b"k", &options, LockMode::Shared, Validation::Check)?;
    /// second.get_for_update_in(&family, b"k", &options, LockMode::Shared, Validation::Check)?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`] and [`Transaction::get_in`]; InvalidArgument with [`Validation::Skip`]
    /// and a snapshot in `options`.
    pub fn get_for_update_in(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
        mode: LockMode,
        validation: Validation,
    ) -> Result<Option<Pinned>> {
        self.lock_for_update_in(family, key, options, mode, validation)?;
        let stamped = with_read_timestamp(&self.shared, family, options);
        self.get_in(family, key, stamped.as_ref().unwrap_or(options))
    }

    /// Returns the columns of a key, and guards the key as [`Transaction::get_for_update_in`] does. RocksDB:
    /// `GetEntityForUpdate`.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::{LockMode, Validation};
    ///
    /// # let (family, options) = (db.default_family(), ReadOptions::default());
    /// db.put_entity(b"ada", &[(b"born", b"1815")])?;
    /// let transaction = db.begin();
    /// let found =
    ///     transaction.get_entity_for_update_in(&family, b"ada", &options, LockMode::Exclusive, Validation::Check)?;
    /// assert_eq!(found.unwrap().get(b"born"), Some(&b"1815"[..]));
    /// assert_eq!(transaction.num_keys(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::get_for_update_in`]; Corruption if an entity does not decode.
    pub fn get_entity_for_update_in(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
        mode: LockMode,
        validation: Validation,
    ) -> Result<Option<WideColumns>> {
        self.lock_for_update_in(family, key, options, mode, validation)?;
        let stamped = with_read_timestamp(&self.shared, family, options);
        self.get_entity_in(family, key, stamped.as_ref().unwrap_or(options))
    }

    /// Guards a key as [`Transaction::get_for_update_in`] does, without a read of the key.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::{LockMode, Validation};
    ///
    /// # let family = db.default_family();
    /// # let options = ironstone::ReadOptions::default();
    /// let transaction = db.begin();
    /// transaction.lock_for_update_in(&family, b"k", &options, LockMode::Exclusive, Validation::Check)?;
    /// assert_eq!(transaction.num_keys(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`]; InvalidArgument for options that contradict each other.
    pub fn lock_for_update_in(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
        mode: LockMode,
        validation: Validation,
    ) -> Result<()> {
        if validation == Validation::Skip && options.snapshot.is_some() {
            return Err(Error::invalid_argument(
                "If do_validate is false then GetForUpdate with snapshot is not defined.",
            ));
        }
        let mut body = self.shared.body.lock();
        check_read_timestamp(&self.shared, &body, family, options, validation)?;
        let tracking =
            if validation == Validation::Check { Tracking::Validated } else { Tracking::Untracked };
        Operation { family, key, by: Use::Read, mode, tracking }.track(self, &mut body)
    }

    /// Reads several keys for update, exclusively, in the order of `keys`. Stops at the first key that cannot be
    /// guarded. RocksDB: `MultiGetForUpdate`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// # let options = ironstone::ReadOptions::default();
    /// let transaction = db.begin();
    /// let values = transaction.multi_get_for_update_in(&family, &[b"a", b"b"], &options)?;
    /// assert_eq!((values.len(), transaction.num_keys()), (2, 2));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::get_for_update_in`], for the first key that cannot be guarded.
    pub fn multi_get_for_update_in(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Result<Vec<Result<Option<Pinned>>>> {
        for key in keys {
            self.lock_for_update_in(family, key, options, LockMode::Exclusive, Validation::Check)?;
        }
        Ok(self.multi_get_in(family, keys, options))
    }

    /// Undoes one read for update of a key that the transaction did not write. After the last use of the key,
    /// releases the lock. Does nothing if the key was read for update before the last save point.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.get_for_update(b"k")?;
    /// transaction.undo_get_for_update_in(&family, b"k");
    /// assert_eq!(transaction.num_keys(), 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn undo_get_for_update_in(&self, family: &Family, key: &[u8]) {
        let mut body = self.shared.body.lock();
        if let Some(save) = body.save_points.last_mut()
            && save.new_locks.untrack_read(family.id(), key) == Untracked::NotTracked
        {
            return;
        }
        if body.tracked.untrack_read(family.id(), key) == Untracked::Removed
            && let Control::Pessimistic(pessimistic) = &self.shared.control
        {
            pessimistic.locks.unlock(&pessimistic.owner, family.id(), key);
        }
    }

    /// Merges the operands of a key into one value, and writes this value. RocksDB: `CollapseKey`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("merge_operator=stringappend")?;
    /// # let db = TransactionDb::open("data", options, TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// # let read = ironstone::ReadOptions::default();
    /// db.merge(b"k", b"a")?;
    /// db.merge(b"k", b"b")?;
    /// let transaction = db.begin();
    /// transaction.collapse_key_in(&family, b"k", &read)?;
    /// assert_eq!(transaction.num_puts(), 1); // "a,b"
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::get_for_update_in`]; NotFound if the key has no value; NotSupported in an
    /// optimistic transaction.
    pub fn collapse_key_in(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<()> {
        if self.shared.pessimistic().is_none() {
            return Err(Error::not_supported("collpase not supported"));
        }
        match self.get_for_update_in(family, key, options, LockMode::Exclusive, Validation::Check)? {
            Some(value) => self.put_in(family, key, &value),
            None => Err(Error::not_found("the key to collapse has no value")),
        }
    }
}

/// Checks the read timestamp. With timestamps, a read for update must read at the read timestamp of the
/// transaction.
fn check_read_timestamp(
    shared: &Shared,
    body: &Body,
    family: &Family,
    options: &ReadOptions,
    validation: Validation,
) -> Result<()> {
    let Some(pessimistic) = shared.pessimistic() else { return Ok(()) };
    if options.timestamp.is_none() && family.inner().order().user.timestamp_size() == 0 {
        return Ok(());
    }
    let set = body.read_timestamp.is_some();
    let problem = match (pessimistic.settings.enable_udt_validation, validation) {
        (false, _) if set => "read_timestamp is set but timestamp validation is disabled for the DB",
        (true, Validation::Skip) if set => {
            "If do_validate is false then GetForUpdate with read_timestamp is not defined."
        }
        (true, Validation::Check) if !set => "read_timestamp must be set for validation",
        _ => {
            let own = body.read_timestamp.unwrap_or(u64::MAX).to_le_bytes();
            if options.timestamp.as_ref().is_none_or(|given| given[..] == own) {
                return Ok(());
            }
            "Must read from the same read_timestamp"
        }
    };
    Err(Error::invalid_argument(problem))
}

/// Returns the options with the read timestamp of the transaction, if the column family needs a timestamp.
fn with_read_timestamp(shared: &Shared, family: &Family, options: &ReadOptions) -> Option<ReadOptions> {
    let needed = family.inner().order().user.timestamp_size() > 0 && options.timestamp.is_none();
    needed.then(|| {
        let at = shared.body.lock().read_timestamp.unwrap_or(u64::MAX);
        ReadOptions { timestamp: Some(at.to_le_bytes().to_vec()), ..options.clone() }
    })
}
