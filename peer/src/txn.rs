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
// SAFETY: its calls lock for themselves.
unsafe impl Sync for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: open until now, and closed once. Transactions hold an `Arc` of this, so none is left.
        unsafe { (self.library.table().transactiondb_close)(self.raw) };
    }
}

/// An open `TransactionDB` with the default column family.
#[derive(Clone)]
pub struct TransactionDb {
    open: Arc<Open>,
}

/// A transaction. Dropping it rolls back what is not prepared.
pub struct Transaction {
    raw: Raw,
    open: Arc<Open>,
}

// SAFETY: a transaction may move between threads; it is used by one thread at a time (`&mut` or owned).
unsafe impl Send for Transaction {}

impl Drop for Transaction {
    fn drop(&mut self) {
        // SAFETY: made by the library, destroyed once, the database still open.
        unsafe { (self.open.library.table().transaction_destroy)(self.raw) };
    }
}

impl TransactionDb {
    /// Opens the database at `path` with an option string.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn open(library: &Library, path: &Path, text: &str) -> Result<TransactionDb> {
        TransactionDb::open_as(library, path, text, WritePolicy::Committed)
    }

    /// As [`TransactionDb::open`], with a write policy.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn open_as(library: &Library, path: &Path, text: &str, policy: WritePolicy) -> Result<TransactionDb> {
        TransactionDb::open_with_threshold(library, path, text, policy, 0)
    }

    /// As [`TransactionDb::open_as`]. With [`WritePolicy::Unprepared`], a transaction writes its batch before prepare if the
    /// batch is larger than `threshold` bytes; 0: never.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn open_with_threshold(
        library: &Library,
        path: &Path,
        text: &str,
        policy: WritePolicy,
        threshold: i64,
    ) -> Result<TransactionDb> {
        let options = library.options(text)?;
        let path = path_text(path)?;
        // SAFETY: a fresh handle.
        let own = unsafe { (library.table().transactiondb_options_create)() };
        // SAFETY: a live handle.
        unsafe { (library.table().transactiondb_options_set_write_policy)(own, policy as i32) };
        // SAFETY: a live handle.
        unsafe {
            (library.table().transactiondb_options_set_default_write_batch_flush_threshold)(own, threshold)
        };
        // SAFETY: a live handle. A lock that another transaction holds is refused after a millisecond.
        unsafe {
            (library.table().transactiondb_options_set_transaction_lock_timeout)(own, LOCK_TIMEOUT_MS);
            (library.table().transactiondb_options_set_default_lock_timeout)(own, LOCK_TIMEOUT_MS);
        }
        // SAFETY: live handles, text that outlives the call.
        let raw =
            library.checked(|t, e| unsafe { (t.transactiondb_open)(options.raw, own, path.as_ptr(), e) });
        // SAFETY: made above, destroyed once; the database has copied the options.
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
        // SAFETY: fresh and live handles; a null transaction asks for a new one.
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
        // SAFETY: live handle, room for one number.
        let list = unsafe { (t.transactiondb_get_prepared_transactions)(self.open.raw, &raw mut count) };
        if list.is_null() {
            return Vec::new();
        }
        // SAFETY: the library says that so many handles are there.
        let handles = unsafe { std::slice::from_raw_parts(list, count) }.to_vec();
        // SAFETY: the library allocated the list and gives it away.
        unsafe { (t.free)(list.cast()) };
        handles.into_iter().map(|raw| Transaction { raw, open: self.open.clone() }).collect()
    }

    /// Flushes the memtable.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn flush(&self) -> Result<()> {
        let library = &self.open.library;
        // SAFETY: a fresh handle, destroyed below.
        let options = unsafe { (library.table().flushoptions_create)() };
        // SAFETY: live handles.
        let flushed = library.checked(|t, e| unsafe { (t.transactiondb_flush)(self.open.raw, options, e) });
        // SAFETY: made above, destroyed once.
        unsafe { (library.table().flushoptions_destroy)(options) };
        flushed
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn rows(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let library = &self.open.library;
        // SAFETY: a live handle, and options that live until the iterator is destroyed.
        rows(library, |options| unsafe {
            (library.table().transactiondb_create_iterator)(self.open.raw, options)
        })
    }

    /// Sets a value outside of a transaction.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn put(&self, key: &[u8], value: &[u8], writing: Writing) -> Result<()> {
        let library = &self.open.library;
        let options = WriteOptions::new(library, writing);
        let (k, v) = (data(key), data(value));
        // SAFETY: live handles, bytes that outlive the call.
        library.checked(|t, e| unsafe {
            (t.transactiondb_put)(self.open.raw, options.raw(), k, key.len(), v, value.len(), e);
        })
    }

    /// Reads a value.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let library = &self.open.library;
        let mut len = 0usize;
        // SAFETY: a fresh handle, destroyed below.
        let options = unsafe { (library.table().readoptions_create)() };
        // SAFETY: live handles, bytes that outlive the call, room for one number.
        let found = library.checked(|t, e| unsafe {
            (t.transactiondb_get)(self.open.raw, options, data(key), key.len(), &raw mut len, e)
        });
        // SAFETY: made above, destroyed once.
        unsafe { (library.table().readoptions_destroy)(options) };
        let found = found?;
        Ok(if found.is_null() { None } else { Some(library.bytes(found, len)) })
    }
}

impl Transaction {
    /// Names the transaction.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn set_name(&mut self, name: &[u8]) -> Result<()> {
        let (raw, text) = (self.raw, data(name));
        // SAFETY: live handle, bytes that outlive the call.
        self.open.library.checked(|t, e| unsafe { (t.transaction_set_name)(raw, text, name.len(), e) })
    }

    /// The name.
    pub fn name(&self) -> Vec<u8> {
        let library = &self.open.library;
        let mut len = 0usize;
        // SAFETY: live handle, room for one number.
        let name = unsafe { (library.table().transaction_get_name)(self.raw, &raw mut len) };
        library.bytes(name, len)
    }

    /// Sets a value.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let raw = self.raw;
        let (k, v) = (data(key), data(value));
        // SAFETY: live handle, bytes that outlive the call.
        self.open.library.checked(|t, e| unsafe { (t.transaction_put)(raw, k, key.len(), v, value.len(), e) })
    }

    /// Adds a merge operand.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        let raw = self.raw;
        let (k, v) = (data(key), data(operand));
        // SAFETY: live handle, bytes that outlive the call.
        self.open.library.checked(|t, e| unsafe {
            (t.transaction_merge)(raw, k, key.len(), v, operand.len(), e);
        })
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        let (raw, k) = (self.raw, data(key));
        // SAFETY: live handle, bytes that outlive the call.
        self.open.library.checked(|t, e| unsafe { (t.transaction_delete)(raw, k, key.len(), e) })
    }

    /// Reads a value: the writes of the transaction, then the database. With `lock`, also locks the key, exclusively or shared.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn get(&mut self, key: &[u8], lock: Option<bool>) -> Result<Option<Vec<u8>>> {
        let (library, raw, k) = (&self.open.library, self.raw, data(key));
        let mut len = 0usize;
        // SAFETY: a fresh handle, destroyed below.
        let options = unsafe { (library.table().readoptions_create)() };
        // SAFETY: live handles, bytes that outlive the call, room for one number.
        let found = library.checked(|t, e| unsafe {
            match lock {
                None => (t.transaction_get)(raw, options, k, key.len(), &raw mut len, e),
                Some(exclusive) => {
                    let exclusive = u8::from(exclusive);
                    (t.transaction_get_for_update)(raw, options, k, key.len(), &raw mut len, exclusive, e)
                }
            }
        });
        // SAFETY: made above, destroyed once.
        unsafe { (library.table().readoptions_destroy)(options) };
        let found = found?;
        Ok(if found.is_null() { None } else { Some(library.bytes(found, len)) })
    }

    /// Reads all rows, as the transaction sees them.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn rows(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let library = &self.open.library;
        // SAFETY: a live handle, and options that live until the iterator is destroyed.
        rows(library, |options| unsafe { (library.table().transaction_create_iterator)(self.raw, options) })
    }

    /// Sets a save point.
    pub fn set_save_point(&mut self) {
        // SAFETY: live handle.
        unsafe { (self.open.library.table().transaction_set_savepoint)(self.raw) };
    }

    /// Undoes the writes since the last save point.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        let raw = self.raw;
        // SAFETY: live handle.
        self.open.library.checked(|t, e| unsafe { (t.transaction_rollback_to_savepoint)(raw, e) })
    }

    /// Prepares the transaction.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn prepare(&mut self) -> Result<()> {
        let raw = self.raw;
        // SAFETY: live handle.
        self.open.library.checked(|t, e| unsafe { (t.transaction_prepare)(raw, e) })
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn commit(&mut self) -> Result<()> {
        let raw = self.raw;
        // SAFETY: live handle.
        self.open.library.checked(|t, e| unsafe { (t.transaction_commit)(raw, e) })
    }

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn rollback(&mut self) -> Result<()> {
        let raw = self.raw;
        // SAFETY: live handle.
        self.open.library.checked(|t, e| unsafe { (t.transaction_rollback)(raw, e) })
    }
}

/// Reads all rows of the iterator that `make` makes of fresh read options.
fn rows(library: &Library, make: impl FnOnce(Raw) -> Raw) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let t = library.table();
    // SAFETY: a fresh handle, destroyed below, after the iterator.
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
    // SAFETY: a live handle.
    let status = library.checked(|t, e| unsafe { (t.iter_get_error)(iter, e) });
    // SAFETY: made above, each destroyed once.
    unsafe {
        (t.iter_destroy)(iter);
        (t.readoptions_destroy)(options);
    }
    status.map(|()| found)
}
