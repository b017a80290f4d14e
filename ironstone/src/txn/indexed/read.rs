//! Reads of an indexed write batch over the database.
//!
//! A read first asks the batch. The batch alone may not decide the value of a key. One call reads all such keys
//! from the database, so their values belong to one sequence number. Facts: RocksDB `write_batch_with_index.cc`.

use base::{Error, Pinned, Result};
use engine::source::WideColumns;
use engine::source::resolve::Found;
use env::sync::{Arc, Mutex};

use super::WriteBatchWithIndex;
use super::base_delta::BaseDeltaIter;
use super::core::Core;
use super::cursor::KeyCursor;
use super::lookup::Latest;
use crate::{Db, Family, ReadOptions};

/// Reads a key of the batch over the database.
pub(in crate::txn) fn get_over(
    core: &Mutex<Core>,
    family: &Family,
    key: &[u8],
    options: &ReadOptions,
) -> Result<Option<Pinned>> {
    find_over(core, family, key, options, &[])?.map(Found::into_plain).transpose()
}

/// Reads the columns of a key of the batch over the database.
pub(in crate::txn) fn get_entity_over(
    core: &Mutex<Core>,
    family: &Family,
    key: &[u8],
    options: &ReadOptions,
) -> Result<Option<WideColumns>> {
    find_over(core, family, key, options, &[])?.map(WideColumns::new).transpose()
}

fn find_over(
    core: &Mutex<Core>,
    family: &Family,
    key: &[u8],
    options: &ReadOptions,
    suffix: &[u8],
) -> Result<Option<Found>> {
    check_timestamp(family, options)?;
    let latest = core.lock().latest(family.id(), key)?.with_suffix(suffix)?;
    let existing = if latest.needs_database() {
        family.engine().reads().find(family.inner(), key, options)?
    } else {
        None
    };
    latest.resolve(Some(family), key, existing)
}

impl WriteBatchWithIndex {
    /// Returns the stored value of a key as if the batch were written to a column family whose stored values end with a suffix. The
    /// values of the batch get this suffix.
    pub(crate) fn get_stored(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
        suffix: &[u8],
    ) -> Result<Option<Pinned>> {
        find_over(&self.core, family, key, options, suffix)?.map(Found::into_plain).transpose()
    }

    /// Returns an iterator as [`Self::iter_over_base`], for a column family whose stored values end with a suffix. The values of the
    /// batch get this suffix.
    pub(crate) fn iter_over_stored(
        &self,
        family: &Family,
        base: crate::Iter,
        (lower, upper): (Option<Vec<u8>>, Option<Vec<u8>>),
        suffix: &[u8],
    ) -> BaseDeltaIter {
        self.iter_over_base(family, base, lower, upper).with_suffix(suffix)
    }
}

/// Reads several keys of the batch over the database.
pub(in crate::txn) fn multi_get_over(
    core: &Mutex<Core>,
    family: &Family,
    keys: &[&[u8]],
    options: &ReadOptions,
) -> Vec<Result<Option<Pinned>>> {
    let keys: Vec<_> = keys.iter().map(|key| (family, *key)).collect();
    let plain = |found: Result<Option<Found>>| found?.map(Found::into_plain).transpose();
    multi_find_over(core, &keys, options).into_iter().map(plain).collect()
}

/// Reads the columns of several keys of the batch over the database.
pub(in crate::txn) fn multi_get_entity_over(
    core: &Mutex<Core>,
    family: &Family,
    keys: &[&[u8]],
    options: &ReadOptions,
) -> Vec<Result<Option<WideColumns>>> {
    let keys: Vec<_> = keys.iter().map(|key| (family, *key)).collect();
    let columns = |found: Result<Option<Found>>| found?.map(WideColumns::new).transpose();
    multi_find_over(core, &keys, options).into_iter().map(columns).collect()
}

/// Reads keys of several column families of the batch over the database.
pub(in crate::txn) fn multi_find_over(
    core: &Mutex<Core>,
    keys: &[(&Family, &[u8])],
    options: &ReadOptions,
) -> Vec<Result<Option<Found>>> {
    let states: Vec<Result<Latest>> = {
        let core = core.lock();
        let state = |(family, key): &(&Family, &[u8])| {
            check_timestamp(family, options)?;
            core.latest(family.id(), key)
        };
        keys.iter().map(state).collect()
    };
    let asks = |state: &Result<Latest>| state.as_ref().is_ok_and(Latest::needs_database);
    let asked: Vec<_> =
        keys.iter().zip(&states).filter(|(_, state)| asks(state)).map(|(key, _)| *key).collect();
    let mut existing = from_database(&asked, options).into_iter();
    let answer = |((family, key), state): (&(&Family, &[u8]), Result<Latest>)| {
        let found = if asks(&state) { existing.next().unwrap_or(Ok(None)) } else { Ok(None) };
        state?.resolve(Some(family), key, found?)
    };
    keys.iter().zip(states).map(answer).collect()
}

/// Reads keys from the database, all at one sequence number.
fn from_database(keys: &[(&Family, &[u8])], options: &ReadOptions) -> Vec<Result<Option<Found>>> {
    let Some((first, _)) = keys.first() else { return Vec::new() };
    let (engine, inner) = (first.engine(), first.inner());
    if keys.iter().all(|(family, _)| Arc::ptr_eq(family.inner(), inner)) {
        let keys: Vec<_> = keys.iter().map(|(_, key)| *key).collect();
        return engine.reads().multi_find(inner, &keys, options);
    }
    let keys: Vec<_> = keys.iter().map(|(family, key)| (family.inner(), *key)).collect();
    engine.together().multi_find(&keys, options)
}

/// Makes an iterator of the batch over the database.
pub(in crate::txn) fn iter_over(
    core: &Arc<Mutex<Core>>,
    family: &Family,
    options: ReadOptions,
) -> Result<BaseDeltaIter> {
    let (lower, upper) = (options.iterate_lower_bound.clone(), options.iterate_upper_bound.clone());
    Ok(over(core, family, family.iter_with(options)?, (lower, upper)))
}

/// Makes one iterator of the batch over the database for each column family. All iterators show the database at one sequence
/// number.
pub(in crate::txn) fn iters_over(
    core: &Arc<Mutex<Core>>,
    db: &Db,
    families: &[Family],
    options: &ReadOptions,
) -> Result<Vec<BaseDeltaIter>> {
    let bounds = || (options.iterate_lower_bound.clone(), options.iterate_upper_bound.clone());
    let bases = db.iterators(families, options)?;
    Ok(families.iter().zip(bases).map(|(family, base)| over(core, family, base, bounds())).collect())
}

fn over(
    core: &Arc<Mutex<Core>>,
    family: &Family,
    base: crate::Iter,
    (lower, upper): (Option<Vec<u8>>, Option<Vec<u8>>),
) -> BaseDeltaIter {
    let order = family.inner().order().user.clone();
    core.lock().orders_of(family.id(), &order);
    let delta = KeyCursor::new(core.clone(), family.id(), lower, upper);
    BaseDeltaIter::new(base, delta, order, family.clone())
}

/// Checks that a read has a timestamp if and only if the column family has timestamps.
fn check_timestamp(family: &Family, options: &ReadOptions) -> Result<()> {
    let size = family.inner().order().user.timestamp_size();
    let problem = match &options.timestamp {
        None if size > 0 => "Must specify timestamp",
        Some(_) if size == 0 => {
            "Cannot specify timestamp since the column family does not have timestamps enabled"
        }
        Some(given) if given.len() != size => {
            "Timestamp size does not match the timestamp size of the column family"
        }
        _ => return Ok(()),
    };
    Err(Error::invalid_argument(problem))
}
