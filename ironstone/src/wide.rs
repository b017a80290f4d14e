//! Wide columns: a key whose value is a set of named columns (an entity). RocksDB: `PutEntity`, `GetEntity`.

use base::Result;
use engine::options::WriteOptions;
use engine::source::WideColumns;

use crate::{Family, ReadOptions, WriteBatch};

impl Family {
    /// Sets the columns of a key, as names and values. Replaces the older value of the key. The columns may have any
    /// order; the empty name is the default column, which [`Family::get`] returns.
    ///
    /// # Errors
    /// The errors of [`Family::put`]. Corruption if two columns have the same name.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put_entity(b"ada", &[(b"born", b"1815"), (b"", b"Ada Lovelace")])?;
    /// let columns = db.get_entity(b"ada")?.unwrap();
    /// assert_eq!(columns.get(b"born"), Some(&b"1815"[..]));
    /// assert_eq!(db.get(b"ada")?.as_deref(), Some(&b"Ada Lovelace"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn put_entity(&self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        self.put_entity_with(key, columns, &WriteOptions::default())
    }

    /// Sets the columns of a key, with options.
    ///
    /// # Errors
    /// The errors of [`Family::put_entity`] and [`Family::put_with`].
    ///
    /// ```
    /// # use ironstone::WriteOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let durable = WriteOptions { sync: true, ..WriteOptions::default() };
    /// db.put_entity_with(b"ada", &[(b"born", b"1815")], &durable)?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn put_entity_with(
        &self,
        key: &[u8],
        columns: &[(&[u8], &[u8])],
        options: &WriteOptions,
    ) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.put_entity_in(self.id(), key, columns);
        self.db.write(&mut batch, options)
    }

    /// Returns the columns of a key, or `None` if the key has no value. A plain value is one column with the empty name.
    ///
    /// # Errors
    /// The errors of [`Family::get`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"plain")?;
    /// let columns = db.get_entity(b"k")?.unwrap();
    /// assert_eq!(columns.iter().collect::<Vec<_>>(), [(&b""[..], &b"plain"[..])]);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_entity(&self, key: &[u8]) -> Result<Option<WideColumns>> {
        self.get_entity_with(key, &ReadOptions::default())
    }

    /// Returns the columns of a key, with options.
    ///
    /// # Errors
    /// The errors of [`Family::get_with`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let before = db.snapshot();
    /// db.put_entity(b"ada", &[(b"born", b"1815")])?;
    /// assert!(db.get_entity_with(b"ada", &before.options())?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_entity_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<WideColumns>> {
        self.db.reads().get_entity(&self.inner, key, options)
    }

    /// Returns the columns of several keys, in the order of the keys. All belong to one sequence number.
    ///
    /// ```
    /// # use ironstone::ReadOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put_entity(b"ada", &[(b"born", b"1815")])?;
    /// let found = db.multi_get_entity(&[b"ada", b"bob"], &ReadOptions::default());
    /// assert_eq!(found[0].as_ref().unwrap().as_ref().unwrap().get(b"born"), Some(&b"1815"[..]));
    /// assert!(found[1].as_ref().unwrap().is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_entity(
        &self,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>> {
        self.db.reads().multi_get_entity(&self.inner, keys, options)
    }
}

/// Encodes the columns of an entity, sorted by name.
///
/// # Errors
/// Corruption if two columns have the same name.
pub(crate) fn encode_entity(columns: &[(&[u8], &[u8])]) -> Result<Vec<u8>> {
    let mut sorted: Vec<_> = columns.iter().map(|(n, v)| format::wide::Column::inline(n, v)).collect();
    sorted.sort_by_key(|column| column.name);
    let mut entity = Vec::new();
    format::wide::encode(&sorted, &mut entity)?;
    Ok(entity)
}
