//! Snapshots: read the database at a fixed sequence number.

use std::ops::Deref;
use std::sync::Arc;

use base::{Pinned, Result, SequenceNumber};
use engine::sequence::Snapshot as HeldSnapshot;

use crate::{Db, Family, Iter, ReadOptions};

/// A fixed sequence number for reads. Reads see the writes before the snapshot and no later write.
///
/// Compaction keeps the entries that a snapshot needs, until the last clone of the snapshot is dropped. A snapshot keeps
/// the database open.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.put(b"k", b"old")?;
/// let snapshot = db.snapshot();
/// db.put(b"k", b"new")?;
/// assert_eq!(snapshot.get(b"k")?.as_deref(), Some(&b"old"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    db: Db,
    held: Reference,
}

/// A reference to the engine's snapshot. `None` only during its drop, which gives the memory of the last reference to the next
/// snapshot of the thread.
#[derive(Clone)]
struct Reference(Option<Arc<HeldSnapshot>>);

impl Deref for Reference {
    type Target = Arc<HeldSnapshot>;

    #[inline]
    fn deref(&self) -> &Arc<HeldSnapshot> {
        self.0.as_ref().expect("the reference is not dropped")
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        if let Some(held) = self.0.take() {
            HeldSnapshot::release(held);
        }
    }
}

impl Snapshot {
    pub(crate) fn new(db: Db, held: Arc<HeldSnapshot>) -> Self {
        Snapshot { db, held: Reference(Some(held)) }
    }

    /// Returns the sequence number of the snapshot. Reads see entries up to this sequence number.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.snapshot().sequence(), db.latest_sequence());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn sequence(&self) -> SequenceNumber {
        self.held.sequence()
    }

    /// Returns read options that read from this snapshot. All other options have their defaults.
    ///
    /// ```
    /// # use ironstone::ReadOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let snapshot = db.snapshot();
    /// let without_fill = ReadOptions { fill_cache: false, ..snapshot.options() };
    /// assert!(db.get_with(b"k", &without_fill)?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn options(&self) -> ReadOptions {
        ReadOptions { snapshot: Some(self.held()), ..ReadOptions::default() }
    }

    /// Returns the snapshot in the form of the field `ReadOptions::snapshot`.
    ///
    /// ```
    /// # use ironstone::ReadOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let snapshot = db.snapshot();
    /// let options = ReadOptions { snapshot: Some(snapshot.held()), ..ReadOptions::default() };
    /// assert!(db.get_with(b"k", &options)?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn held(&self) -> Arc<HeldSnapshot> {
        Arc::clone(&self.held)
    }

    /// Returns the value that a key of the default column family has in the snapshot.
    ///
    /// # Errors
    /// The errors of [`Family::get`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let before = db.snapshot();
    /// db.put(b"k", b"v")?;
    /// assert!(before.get(b"k")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.db.get_with(key, &self.options())
    }

    /// Returns the value that a key of a column family has in the snapshot.
    ///
    /// # Errors
    /// The errors of [`Family::get`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let family = db.family("default")?;
    /// assert!(db.snapshot().get_in(&family, b"k")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_in(&self, family: &Family, key: &[u8]) -> Result<Option<Pinned>> {
        family.get_with(key, &self.options())
    }

    /// Returns the values that several keys of the default column family have in the snapshot, in the order of the
    /// keys.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// let found = db.snapshot().multi_get(&[b"a", b"b"]);
    /// assert!(found[0].as_ref().unwrap().is_some());
    /// assert!(found[1].as_ref().unwrap().is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get(&self, keys: &[&[u8]]) -> Vec<Result<Option<Pinned>>> {
        self.db.multi_get_with(keys, &self.options())
    }

    /// Returns the values that several keys of a column family have in the snapshot, in the order of the keys.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let family = db.family("default")?;
    /// assert_eq!(db.snapshot().multi_get_in(&family, &[b"a", b"b"]).len(), 2);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_in(&self, family: &Family, keys: &[&[u8]]) -> Vec<Result<Option<Pinned>>> {
        family.multi_get_with(keys, &self.options())
    }

    /// Returns an iterator over the default column family as it is in the snapshot.
    ///
    /// # Errors
    /// The errors of [`Family::iter_with`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// let snapshot = db.snapshot();
    /// db.delete(b"a")?;
    /// let mut iter = snapshot.iter()?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter(&self) -> Result<Iter> {
        self.db.iter_with(self.options())
    }

    /// Returns an iterator over a column family as it is in the snapshot.
    ///
    /// # Errors
    /// The errors of [`Family::iter_with`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let family = db.family("default")?;
    /// let mut iter = db.snapshot().iter_in(&family)?;
    /// iter.seek_to_first();
    /// assert!(!iter.valid());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter_in(&self, family: &Family) -> Result<Iter> {
        family.iter_with(self.options())
    }
}

impl From<&Snapshot> for Option<Arc<HeldSnapshot>> {
    fn from(snapshot: &Snapshot) -> Self {
        Some(snapshot.held())
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "snapshot at {}", self.sequence())
    }
}
