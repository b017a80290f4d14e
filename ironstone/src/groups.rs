//! Attribute groups: the columns of one key, spread over several column families. RocksDB: `AttributeGroups`,
//! `NewCoalescingIterator`, `NewAttributeGroupIterator`.
//!
//! ```text
//! family "hot"   k1 {a, b}            k3 {a}
//! family "cold"  k1 {b, c}  k2 {c}                      later families replace columns of the same name
//! coalescing     k1 {a, b of cold, c}  k2 {c}  k3 {a}
//! groups         k1 [hot {a, b}, cold {b, c}]  k2 [cold {c}]  k3 [hot {a}]
//! ```

use std::cmp::Ordering;
use std::collections::BTreeMap;

use base::iter::Direction;
use base::{Error, Result};
use engine::options::WriteOptions;
use engine::source::WideColumns;
use engine::source::resolve::Found;

use crate::{Db, Family, Iter, ReadOptions, WriteBatch};

/// The columns that one column family has of a key.
///
/// ```
/// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
/// db.put(b"a", b"1")?;
/// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
/// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
/// iter.seek(b"b");
/// let groups = iter.groups()?;
/// assert_eq!(groups[0].family.name(), "cold");
/// assert_eq!(groups[0].columns.get(b"born"), Some(&b"1815"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AttributeGroup {
    /// The column family.
    pub family: Family,
    /// The columns.
    pub columns: WideColumns,
}

impl Db {
    /// Sets the columns of a key in several column families, all or none. Each element is a column family and the
    /// columns of the key there. RocksDB: `PutEntity` with attribute groups.
    ///
    /// # Errors
    /// The errors of [`Family::put_entity_with`]. InvalidArgument if the list is empty.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, WriteOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put_entity_groups(
    ///     b"ada",
    ///     &[(&db, &[(b"name", b"Ada")]), (&cold, &[(b"born", b"1815")])],
    ///     &WriteOptions::default(),
    /// )?;
    /// assert_eq!(cold.get_entity(b"ada")?.unwrap().get(b"born"), Some(&b"1815"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn put_entity_groups(
        &self,
        key: &[u8],
        groups: &[(&Family, &[(&[u8], &[u8])])],
        options: &WriteOptions,
    ) -> Result<()> {
        if groups.is_empty() {
            return Err(Error::invalid_argument("Cannot call this method with empty attribute groups"));
        }
        let mut batch = WriteBatch::new();
        for (family, columns) in groups {
            batch.put_entity_in(family.id(), key, columns);
        }
        self.write_with(batch, options)
    }

    /// Returns the columns that each of these column families has of a key, in the order of the column families. All
    /// belong to one sequence number. RocksDB: `GetEntity` with attribute groups.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// cold.put_entity(b"ada", &[(b"born", b"1815")])?;
    /// let groups = db.get_entity_groups(b"ada", &[&db, &cold], &ReadOptions::default());
    /// assert!(groups[0].as_ref().unwrap().is_none());
    /// assert!(groups[1].as_ref().unwrap().is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_entity_groups(
        &self,
        key: &[u8],
        families: &[&Family],
        options: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>> {
        let keys: Vec<(&Family, &[u8])> = families.iter().map(|family| (*family, key)).collect();
        self.multi_get_entity_families(&keys, options)
    }

    /// Returns the columns of keys of several column families, in the order of the keys. All belong to one sequence
    /// number. RocksDB: `MultiGetEntity` with column families.
    ///
    /// ```
    /// # use ironstone::ReadOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put_entity(b"ada", &[(b"born", b"1815")])?;
    /// let found = db.multi_get_entity_families(&[(&db, b"ada"), (&db, b"bob")], &ReadOptions::default());
    /// assert!(found[0].as_ref().unwrap().is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_entity_families(
        &self,
        keys: &[(&Family, &[u8])],
        options: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>> {
        let keys: Vec<_> = keys.iter().map(|(family, key)| (family.inner(), *key)).collect();
        let columns = |found: Result<Option<Found>>| found?.map(WideColumns::new).transpose();
        self.engine().together().multi_find(&keys, options).into_iter().map(columns).collect()
    }

    /// Returns an iterator over the keys of several column families. The columns of a key are those of all column
    /// families; if two have a column of one name, the later column family of the list wins. RocksDB:
    /// `NewCoalescingIterator`.
    ///
    /// # Errors
    /// The errors of [`Db::iterators`]. InvalidArgument if the list is empty or if the comparators differ.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put_entity(b"ada", &[(b"name", b"Ada")])?;
    /// cold.put_entity(b"ada", &[(b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_to_first();
    /// let columns = iter.columns()?;
    /// assert_eq!(columns.len(), 2);
    /// assert_eq!(columns[&b"born"[..]], b"1815");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn coalescing_iter(&self, families: &[Family], options: &ReadOptions) -> Result<FamiliesIter> {
        FamiliesIter::of(families, || self.iterators(families, options))
    }
}

/// An iterator over one column family, as a source of a [`FamiliesIter`].
pub(crate) trait Source: Send + Sync {
    /// Returns true if the iterator stands on an entry.
    fn valid(&self) -> bool;

    /// Returns `Ok` at either end of the data.
    ///
    /// # Errors
    /// The error that ended the iteration.
    fn status(&self) -> Result<()>;

    /// Returns the current key.
    fn key(&self) -> &[u8];

    /// Returns the columns of the current entry.
    ///
    /// # Errors
    /// Corruption if an entity does not decode.
    fn wide_columns(&self) -> Result<WideColumns>;

    /// Moves the iterator.
    fn go(&mut self, step: Step<'_>);
}

/// A move of a [`Source`].
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    First,
    Last,
    To(&'a [u8]),
    BackTo(&'a [u8]),
    Next,
    Prev,
}

/// Moves an iterator with the six methods of an iterator by one step.
macro_rules! go {
    ($iter:expr, $step:expr) => {
        match $step {
            $crate::groups::Step::First => $iter.seek_to_first(),
            $crate::groups::Step::Last => $iter.seek_to_last(),
            $crate::groups::Step::To(target) => $iter.seek(target),
            $crate::groups::Step::BackTo(target) => $iter.seek_for_prev(target),
            $crate::groups::Step::Next => $iter.next(),
            $crate::groups::Step::Prev => $iter.prev(),
        }
    };
}
pub(crate) use go;

impl Source for Iter {
    fn valid(&self) -> bool {
        (**self).valid()
    }

    fn status(&self) -> Result<()> {
        (**self).status()
    }

    fn key(&self) -> &[u8] {
        (**self).key()
    }

    fn wide_columns(&self) -> Result<WideColumns> {
        (**self).wide_columns()
    }

    fn go(&mut self, step: Step<'_>) {
        go!(self, step);
    }
}

/// An iterator over the keys of several column families at one sequence number. Made by [`Db::coalescing_iter`], and with the
/// writes of a transaction by [`crate::Transaction::coalescing_iter`].
///
/// [`FamiliesIter::columns`] joins the columns of all column families; [`FamiliesIter::groups`] keeps them apart.
///
/// ```
/// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
/// db.put(b"a", b"1")?;
/// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
/// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
/// iter.seek_to_first();
/// let mut keys = Vec::new();
/// while iter.valid() {
///     keys.push(iter.key().to_vec());
///     iter.next();
/// }
/// iter.status()?;
/// assert_eq!(keys, [b"a", b"b"]);
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct FamiliesIter {
    sources: Vec<(Family, Box<dyn Source>)>,
    direction: Direction,
    /// The indexes of the sources that stand on the current key, in the order of the list.
    at: Vec<usize>,
}

impl FamiliesIter {
    /// Joins the iterators that `make` returns, one for each column family.
    ///
    /// # Errors
    /// InvalidArgument if the list is empty or if the comparators differ. The error of `make`.
    pub(crate) fn of<I: Source + 'static>(
        families: &[Family],
        make: impl FnOnce() -> Result<Vec<I>>,
    ) -> Result<FamiliesIter> {
        let Some(first) = families.first() else {
            return Err(Error::invalid_argument("No Column Family was provided"));
        };
        let name = |family: &Family| family.inner().order().user.name().to_string();
        if families.iter().any(|family| name(family) != name(first)) {
            return Err(Error::invalid_argument("Different comparators are being used across CFs"));
        }
        let iters = make()?.into_iter().map(|iter| Box::new(iter) as Box<dyn Source>);
        let sources = families.iter().cloned().zip(iters).collect();
        Ok(FamiliesIter { sources, direction: Direction::Forward, at: Vec::new() })
    }

    /// Returns true if the iterator stands on a key.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// assert!(!iter.valid()); // not positioned yet
    /// iter.seek_to_first();
    /// assert!(iter.valid());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn valid(&self) -> bool {
        !self.at.is_empty()
    }

    /// Returns `Ok` at either end of the data.
    ///
    /// # Errors
    /// The first error of the iterator of a column family.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek(b"z");
    /// assert!(!iter.valid());
    /// iter.status()?; // the end of the data is no error
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn status(&self) -> Result<()> {
        self.sources.iter().try_for_each(|(_, iter)| iter.status())
    }

    /// Returns the current key. Empty if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn key(&self) -> &[u8] {
        self.at.first().map_or(&[], |at| self.sources[*at].1.key())
    }

    /// Returns the default column of the current key: of the last column family of the list that has the column. Empty
    /// if no column family has a default column.
    ///
    /// # Errors
    /// Corruption if an entity does not decode.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_to_last();
    /// assert_eq!(iter.value()?, b"2"); // the default column
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn value(&self) -> Result<Vec<u8>> {
        Ok(self.columns()?.remove(&[][..]).unwrap_or_default())
    }

    /// Returns the columns of the current key in all column families, by name.
    ///
    /// # Errors
    /// Corruption if an entity does not decode.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_to_last();
    /// assert_eq!(iter.columns()?.len(), 2);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn columns(&self) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let mut columns = BTreeMap::new();
        for at in &self.at {
            let own = self.sources[*at].1.wide_columns()?;
            columns.extend(own.iter().map(|(name, value)| (name.to_vec(), value.to_vec())));
        }
        Ok(columns)
    }

    /// Returns the columns of the current key, for each column family that has the key, in the order of the list.
    /// RocksDB: `AttributeGroupIterator`.
    ///
    /// # Errors
    /// Corruption if an entity does not decode.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// cold.put_entity(b"ada", &[(b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek(b"a");
    /// let groups = iter.groups()?;
    /// assert_eq!((groups.len(), groups[0].family.name()), (1, "cold"));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn groups(&self) -> Result<Vec<AttributeGroup>> {
        let group = |at: &usize| {
            let (family, iter) = &self.sources[*at];
            Ok(AttributeGroup { family: family.clone(), columns: iter.wide_columns()? })
        };
        self.at.iter().map(group).collect()
    }

    /// Moves to the first key.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_first(&mut self) {
        self.position(Step::First, Direction::Forward);
    }

    /// Moves to the last key.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_last(&mut self) {
        self.position(Step::Last, Direction::Backward);
    }

    /// Moves to the first key at or after `target`.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek(b"aa");
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek(&mut self, target: &[u8]) {
        self.position(Step::To(target), Direction::Forward);
    }

    /// Moves to the last key at or before `target`.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_for_prev(b"aa");
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.position(Step::BackTo(target), Direction::Backward);
    }

    fn position(&mut self, step: Step<'_>, direction: Direction) {
        self.sources.iter_mut().for_each(|(_, iter)| iter.go(step));
        self.settle(direction);
    }

    /// Moves to the next key. Does nothing if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_to_first();
    /// iter.next();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn next(&mut self) {
        self.step(Direction::Forward);
    }

    /// Moves to the previous key. Does nothing if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, ReadOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let cold = db.create_family(FamilyDescriptor::new("cold", FamilyOptions::default()))?;
    /// db.put(b"a", b"1")?;
    /// cold.put_entity(b"b", &[(b"", b"2"), (b"born", b"1815")])?;
    /// let mut iter = db.coalescing_iter(&db.families(), &ReadOptions::default())?;
    /// iter.seek_to_last();
    /// iter.prev();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn prev(&mut self) {
        self.step(Direction::Backward);
    }

    fn step(&mut self, direction: Direction) {
        if !self.valid() {
            return;
        }
        let forward = direction == Direction::Forward;
        let one = if forward { Step::Next } else { Step::Prev };
        if self.direction == direction {
            for at in &self.at {
                self.sources[*at].1.go(one);
            }
        } else {
            // The other sources stand on the far side of the key.
            let key = self.key().to_vec();
            let order = self.sources[0].0.inner().order().user.clone();
            for (_, iter) in &mut self.sources {
                iter.go(if forward { Step::To(&key) } else { Step::BackTo(&key) });
                if iter.valid() && order.compare_stripped(iter.key(), &key).is_eq() {
                    iter.go(one);
                }
            }
        }
        self.settle(direction);
    }

    /// Finds the sources with the smallest key (the largest, backward). An error of a source ends the iteration.
    fn settle(&mut self, direction: Direction) {
        self.direction = direction;
        self.at.clear();
        if self.status().is_err() {
            return;
        }
        let order = &self.sources[0].0.inner().order().user;
        let wanted = if direction == Direction::Forward { Ordering::Less } else { Ordering::Greater };
        for (index, (_, iter)) in self.sources.iter().enumerate() {
            if !iter.valid() {
                continue;
            }
            let best = self.at.first().map(|at| self.sources[*at].1.key());
            match best.map(|best| order.compare_stripped(iter.key(), best)) {
                Some(Ordering::Equal) => self.at.push(index),
                Some(found) if found != wanted => {}
                _ => self.at = vec![index],
            }
        }
    }
}
