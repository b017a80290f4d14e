//! Pessimistic transactions of RocksDB: enough to prepare, commit and roll back on its side.

use std::path::Path;
use std::sync::Arc;

use crate::db::{WriteOptions, Writing, data};
use crate::library::{Library, Options, Result, copy, path_text};
use crate::table::Raw;

/// How long a call waits for a lock that another transaction holds.
pub const LOCK_TIMEOUT_MS: i64 = 1;

/// When the writes of a transaction reach the memtables, by RocksDB's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    Committed = 0,
    Prepared = 1,
    Unprepared = 2,
}

struct Open {
    raw: Raw,
    library: Library,
    _options: Options,
}

// SAFETY: RocksDB's databases may be used and closed from any thread.
unsafe impl Send for Open {}
// SAFETY: RocksDB's calls take their own locks, so threads may share a transaction database.
unsafe impl Sync for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: the database is open, and it is closed once. Transactions hold an `Arc` of this struct, so none of
        // them exists.
        unsafe { (self.library.table().transactiondb_close)(self.raw) };
    }
}

/// An open `TransactionDB` with the default column family.
#[derive(Clone)]
pub struct TransactionDb {
    open: Arc<Open>,
}

/// A transaction. The drop rolls the transaction back, unless it is prepared.
pub struct Transaction {
    raw: Raw,
    open: Arc<Open>,
}

// SAFETY: RocksDB lets a transaction move between threads. One thread uses it at a time, because each call takes
// `&mut self` or the owner.
unsafe impl Send for Transaction {}

impl Drop for Transaction {
    fn drop(&mut self) {
        // SAFETY: the library made the handle. It is destroyed once, while the database is open.
        unsafe { (self.open.library.table().transaction_destroy)(self.raw) };
    }
}

impl TransactionDb {
    /// Opens the database at `path` with an option string.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn open(library: &Library, path: &Path, text: &str) -> Result<TransactionDb> {
        TransactionDb::open_as(library, path, text, WritePolicy::Committed)
    }

    /// Opens the database as [`TransactionDb::open`] does, with a write policy.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn open_as(library: &Library, path: &Path, text: &str, policy: WritePolicy) -> Result<TransactionDb> {
        TransactionDb::open_with_threshold(library, path, text, policy, 0)
    }

    /// Opens the database as [`TransactionDb::open_as`] does. With [`WritePolicy::Unprepared`], a transaction writes
    /// its batch before prepare if the batch is larger than `threshold` bytes; 0: never.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn open_with_threshold(
        library: &Library,
        path: &Path,
        text: &str,
        policy: WritePolicy,
        threshold: i64,
    ) -> Result<TransactionDb> {
        let options = library.options(text)?;
        let path = path_text(path)?;
        // SAFETY: the function returns a new handle.
        let own = unsafe { (library.table().transactiondb_options_create)() };
        // SAFETY: the handle is live.
        unsafe { (library.table().transactiondb_options_set_write_policy)(own, policy as i32) };
        // SAFETY: the handle is live.
        unsafe {
            (library.table().transactiondb_options_set_default_write_batch_flush_threshold)(own, threshold)
        };
        // SAFETY: the handle is live. A lock that another transaction holds is refused after a millisecond.
        unsafe {
            (library.table().transactiondb_options_set_transaction_lock_timeout)(own, LOCK_TIMEOUT_MS);
            (library.table().transactiondb_options_set_default_lock_timeout)(own, LOCK_TIMEOUT_MS);
        }
        // SAFETY: the handles are live, and the text outlives the call.
        let raw =
            library.checked(|t, e| unsafe { (t.transactiondb_open)(options.raw, own, path.as_ptr(), e) });
        // SAFETY: the handle was made above, and it is destroyed once. The database has copied the options.
        unsafe { (library.table().transactiondb_options_destroy)(own) };
        let open = Open { raw: raw?, library: library.clone(), _options: options };
        Ok(TransactionDb { open: Arc::new(open) })
    }

    /// Begins a transaction.
    pub fn begin(&self, writing: Writing) -> Transaction {
        self.begin_with(writing, false)
    }

    /// Begins a transaction, with `set_snapshot` or without.
    pub fn begin_with(&self, writing: Writing, set_snapshot: bool) -> Transaction {
        let library = &self.open.library;
        let write_options = WriteOptions::new(library, writing);
        let t = library.table();
        // SAFETY: the handles are live. A null transaction asks for a new transaction.
        let raw = unsafe {
            let options = (t.transaction_options_create)();
            (t.transaction_options_set_set_snapshot)(options, u8::from(set_snapshot));
            let raw =
                (t.transaction_begin)(self.open.raw, write_options.raw(), options, std::ptr::null_mut());
            (t.transaction_options_destroy)(options);
            raw
        };
        Transaction { raw, open: self.open.clone() }
    }

    /// Takes the prepared transactions, in no order.
    pub fn take_prepared(&self) -> Vec<Transaction> {
        let t = self.open.library.table();
        let mut count = 0usize;
        // SAFETY: the handle is live, and the pointer has room for one number.
        let list = unsafe { (t.transactiondb_get_prepared_transactions)(self.open.raw, &raw mut count) };
        if list.is_null() {
            return Vec::new();
        }
        // SAFETY: the library returned `count` handles in `list`.
        let handles = unsafe { std::slice::from_raw_parts(list, count) }.to_vec();
        // SAFETY: the library allocated the list, and the caller frees it once.
        unsafe { (t.free)(list.cast()) };
        handles.into_iter().map(|raw| Transaction { raw, open: self.open.clone() }).collect()
    }

    /// Flushes the memtable.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn flush(&self) -> Result<()> {
        let library = &self.open.library;
        // SAFETY: the function returns a new handle, which is destroyed below.
        let options = unsafe { (library.table().flushoptions_create)() };
        // SAFETY: the handles are live.
        let flushed = library.checked(|t, e| unsafe { (t.transactiondb_flush)(self.open.raw, options, e) });
        // SAFETY: the handle was made above, and it is destroyed once.
        unsafe { (library.table().flushoptions_destroy)(options) };
        flushed
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn rows(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let library = &self.open.library;
        // SAFETY: the handle is live, and the options live until the iterator is destroyed.
        rows(library, |options| unsafe {
            (library.table().transactiondb_create_iterator)(self.open.raw, options)
        })
    }

    /// Sets a value outside of a transaction.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn put(&self, key: &[u8], value: &[u8], writing: Writing) -> Result<()> {
        let library = &self.open.library;
        let options = WriteOptions::new(library, writing);
        let (k, v) = (data(key), data(value));
        // SAFETY: the handles are live, and the bytes outlive the call.
        library.checked(|t, e| unsafe {
            (t.transactiondb_put)(self.open.raw, options.raw(), k, key.len(), v, value.len(), e);
        })
    }

    /// Reads a value.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let library = &self.open.library;
        let mut len = 0usize;
        // SAFETY: the function returns a new handle, which is destroyed below.
        let options = unsafe { (library.table().readoptions_create)() };
        // SAFETY: the handles are live, the bytes outlive the call, and the pointer has room for one number.
        let found = library.checked(|t, e| unsafe {
            (t.transactiondb_get)(self.open.raw, options, data(key), key.len(), &raw mut len, e)
        });
        // SAFETY: the handle was made above, and it is destroyed once.
        unsafe { (library.table().readoptions_destroy)(options) };
        let found = found?;
        Ok(if found.is_null() { None } else { Some(library.bytes(found, len)) })
    }
}

impl Transaction {
    /// Names the transaction.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn set_name(&mut self, name: &[u8]) -> Result<()> {
        let (raw, text) = (self.raw, data(name));
        // SAFETY: the handle is live, and the bytes outlive the call.
        self.open.library.checked(|t, e| unsafe { (t.transaction_set_name)(raw, text, name.len(), e) })
    }

    /// Returns the name of the transaction.
    pub fn name(&self) -> Vec<u8> {
        let library = &self.open.library;
        let mut len = 0usize;
        // SAFETY: the handle is live, and the pointer has room for one number.
        let name = unsafe { (library.table().transaction_get_name)(self.raw, &raw mut len) };
        library.bytes(name, len)
    }

    /// Sets a value.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let raw = self.raw;
        let (k, v) = (data(key), data(value));
        // SAFETY: the handle is live, and the bytes outlive the call.
        self.open.library.checked(|t, e| unsafe { (t.transaction_put)(raw, k, key.len(), v, value.len(), e) })
    }

    /// Adds a merge operand.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        let raw = self.raw;
        let (k, v) = (data(key), data(operand));
        // SAFETY: the handle is live, and the bytes outlive the call.
        self.open.library.checked(|t, e| unsafe {
            (t.transaction_merge)(raw, k, key.len(), v, operand.len(), e);
        })
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        let (raw, k) = (self.raw, data(key));
        // SAFETY: the handle is live, and the bytes outlive the call.
        self.open.library.checked(|t, e| unsafe { (t.transaction_delete)(raw, k, key.len(), e) })
    }

    /// Reads a value: the writes of the transaction, then the database. With `lock`, also locks the key, exclusively or shared.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn get(&mut self, key: &[u8], lock: Option<bool>) -> Result<Option<Vec<u8>>> {
        let (library, raw, k) = (&self.open.library, self.raw, data(key));
        let mut len = 0usize;
        // SAFETY: the function returns a new handle, which is destroyed below.
        let options = unsafe { (library.table().readoptions_create)() };
        // SAFETY: the handles are live, the bytes outlive the call, and the pointer has room for one number.
        let found = library.checked(|t, e| unsafe {
            match lock {
                None => (t.transaction_get)(raw, options, k, key.len(), &raw mut len, e),
                Some(exclusive) => {
                    let exclusive = u8::from(exclusive);
                    (t.transaction_get_for_update)(raw, options, k, key.len(), &raw mut len, exclusive, e)
                }
            }
        });
        // SAFETY: the handle was made above, and it is destroyed once.
        unsafe { (library.table().readoptions_destroy)(options) };
        let found = found?;
        Ok(if found.is_null() { None } else { Some(library.bytes(found, len)) })
    }

    /// Reads all rows, as the transaction sees them.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn rows(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let library = &self.open.library;
        // SAFETY: the handle is live, and the options live until the iterator is destroyed.
        rows(library, |options| unsafe { (library.table().transaction_create_iterator)(self.raw, options) })
    }

    /// Sets a save point.
    pub fn set_save_point(&mut self) {
        // SAFETY: the handle is live.
        unsafe { (self.open.library.table().transaction_set_savepoint)(self.raw) };
    }

    /// Undoes the writes since the last save point.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        let raw = self.raw;
        // SAFETY: the handle is live.
        self.open.library.checked(|t, e| unsafe { (t.transaction_rollback_to_savepoint)(raw, e) })
    }

    /// Prepares the transaction.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn prepare(&mut self) -> Result<()> {
        let raw = self.raw;
        // SAFETY: the handle is live.
        self.open.library.checked(|t, e| unsafe { (t.transaction_prepare)(raw, e) })
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn commit(&mut self) -> Result<()> {
        let raw = self.raw;
        // SAFETY: the handle is live.
        self.open.library.checked(|t, e| unsafe { (t.transaction_commit)(raw, e) })
    }

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn rollback(&mut self) -> Result<()> {
        let raw = self.raw;
        // SAFETY: the handle is live.
        self.open.library.checked(|t, e| unsafe { (t.transaction_rollback)(raw, e) })
    }
}

/// Reads all rows of the iterator that `make` makes from new read options.
fn rows(library: &Library, make: impl FnOnce(Raw) -> Raw) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let t = library.table();
    // SAFETY: the function returns a new handle, which is destroyed below, after the iterator.
    let options = unsafe { (t.readoptions_create)() };
    let iter = make(options);
    let mut found = Vec::new();
    // SAFETY: the iterator is a live handle. The loop reads the iterator only while it is valid. The loop copies both slices
    // before the next move of the iterator.
    unsafe {
        (t.iter_seek_to_first)(iter);
        while (t.iter_valid)(iter) != 0 {
            let (mut key_len, mut value_len) = (0usize, 0usize);
            let (key, value) =
                ((t.iter_key)(iter, &raw mut key_len), (t.iter_value)(iter, &raw mut value_len));
            found.push((copy(key, key_len), copy(value, value_len)));
            (t.iter_next)(iter);
        }
    }
    // SAFETY: the handle is live.
    let status = library.checked(|t, e| unsafe { (t.iter_get_error)(iter, e) });
    // SAFETY: the handles were made above, and each is destroyed once.
    unsafe {
        (t.iter_destroy)(iter);
        (t.readoptions_destroy)(options);
    }
    status.map(|()| found)
}
