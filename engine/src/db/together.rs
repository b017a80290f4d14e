//! Reads of several column families at one sequence number.
//!
//! A snapshot fixes the sequence number before the super versions are pinned. So no read of a column family misses a
//! write that a read of another column family sees. A column family with `inplace_update_support` cannot be read at a
//! snapshot; its newest values are read. With a snapshot of the caller, such a column family answers NotSupported.

use base::{Pinned, Result};

use super::{Db, DbIterator};
use crate::family::Family;
use crate::options::ReadOptions;
use crate::read::exceeded_limit;
use crate::sequence::{Snapshot, Snapshots};
use crate::source::resolve::Found;
use crate::sync::Arc;

/// Reads of several column families at one sequence number: see [`Db::together`].
#[derive(Clone, Copy)]
pub struct Together<'a> {
    pub(super) db: &'a Db,
}

impl Together<'_> {
    /// Returns the values of keys of several column families, in the order of the keys. All values belong to one
    /// sequence number. `value_size_soft_limit` counts the values of each column family, in the order of their ids. After
    /// a column family exceeds the limit, the answers of the other column families are Aborted, as in RocksDB.
    pub fn multi_get(
        &self,
        keys: &[(&Arc<Family>, &[u8])],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Pinned>>> {
        let read = |family: &Arc<Family>, keys: &[&[u8]], options: &ReadOptions| {
            self.db.multi_get(family, keys, options)
        };
        self.by_family(keys, options, read, |value| value.len())
    }

    /// Returns the values of keys of several column families, with entities as they are stored. See
    /// [`Together::multi_get`].
    pub fn multi_find(
        &self,
        keys: &[(&Arc<Family>, &[u8])],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Found>>> {
        let read =
            |family: &Arc<Family>, keys: &[&[u8]], options: &ReadOptions| match self.db.inner.own(family) {
                Ok(()) => self.db.inner.reads.multi_find(family, keys, options),
                Err(error) => keys.iter().map(|_| Err(error.clone())).collect(),
            };
        self.by_family(keys, options, read, Found::len)
    }

    /// Calls `read` once for each column family, all at one snapshot, and puts the answers in the order of the keys.
    fn by_family<T>(
        &self,
        keys: &[(&Arc<Family>, &[u8])],
        options: &ReadOptions,
        read: impl Fn(&Arc<Family>, &[&[u8]], &ReadOptions) -> Vec<Result<Option<T>>>,
        size: impl Fn(&T) -> usize,
    ) -> Vec<Result<Option<T>>> {
        let one_family = keys.windows(2).all(|pair| Arc::ptr_eq(pair[0].0, pair[1].0));
        let is_ours = options.snapshot.is_none();
        // The read of one column family fixes its sequence number itself.
        let options = if one_family { options.clone() } else { fixed(options, || self.db.snapshot()) };
        let mut found: Vec<Option<Result<Option<T>>>> = keys.iter().map(|_| None).collect();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&at| keys[at].0.id());
        let mut bytes = 0;
        for own in order.chunk_by(|&a, &b| Arc::ptr_eq(keys[a].0, keys[b].0)) {
            if bytes > options.value_size_soft_limit {
                own.iter().for_each(|&at| found[at] = Some(Err(exceeded_limit())));
                continue;
            }
            bytes = 0;
            let family = keys[own[0]].0;
            let own_keys: Vec<&[u8]> = own.iter().map(|&at| keys[at].1).collect();
            let own_options = for_family(family, &options, is_ours);
            for (&at, answer) in own.iter().zip(read(family, &own_keys, &own_options)) {
                bytes += answer.as_ref().ok().and_then(Option::as_ref).map_or(0, &size) as u64;
                found[at] = Some(answer);
            }
        }
        found.into_iter().map(|answer| answer.unwrap_or(Ok(None))).collect()
    }

    /// Returns one iterator for each column family. All iterators show one sequence number.
    ///
    /// # Errors
    /// The errors of [`Db::iter`], for the first column family whose iterator cannot be made.
    pub fn iterators(&self, families: &[Arc<Family>], options: &ReadOptions) -> Result<Vec<DbIterator>> {
        let is_ours = options.snapshot.is_none();
        let options = fixed(options, || uncounted_snapshot(self.db));
        let make = |family: &Arc<Family>| {
            let mut iter = self.db.iter(family, for_family(family, &options, is_ours))?;
            if is_ours {
                // The pinned super version keeps the entries; compaction needs no snapshot for them.
                iter.release_snapshot();
            }
            Ok(iter)
        };
        families.iter().map(make).collect()
    }
}

/// Returns the options with a snapshot: the caller's snapshot, or the snapshot that `take` returns. Tailing iterators have none.
fn fixed(options: &ReadOptions, take: impl FnOnce() -> Arc<Snapshot>) -> ReadOptions {
    let own = || (!options.tailing).then(take);
    ReadOptions { snapshot: options.snapshot.clone().or_else(own), ..options.clone() }
}

/// Returns the options for one column family. `is_ours` is true if the program gave no snapshot: then a column family that cannot be
/// read at a snapshot is read without one.
fn for_family(family: &Family, options: &ReadOptions, is_ours: bool) -> ReadOptions {
    let kept = !is_ours || family.check_snapshot().is_ok();
    ReadOptions { snapshot: options.snapshot.clone().filter(|_| kept), ..options.clone() }
}

/// Returns a snapshot that compactions respect, and that the properties do not count: iterators with a share of the memory budget keep
/// the snapshot.
fn uncounted_snapshot(db: &Db) -> Arc<Snapshot> {
    let tools = &db.inner.tools;
    Snapshots::take_uncounted(&tools.snapshots, tools.env.clock.now_seconds())
}
