//! Transactions: databases with locks, optimistic databases, and their transactions.
//!
//! [`database`] has `rocksdb_transactiondb_t`; [`optimistic`] has `rocksdb_optimistictransactiondb_t`. Both create the
//! `rocksdb_transaction_t` of [`transaction`]. Writes to a transaction database outside of transactions also lock their keys.

mod database;
mod optimistic;
mod transaction;

use std::ffi::{c_char, c_int};

use base::Result;
use ironstone::FamilyDescriptor;

use crate::abi::arguments;
use crate::db::rocksdb_column_family_handle_t;
use crate::options::rocksdb_options_t;

pub use database::rocksdb_transactiondb_t;
pub use optimistic::{rocksdb_optimistictransactiondb_lock_buckets_t, rocksdb_optimistictransactiondb_t};
pub use transaction::rocksdb_transaction_t;

/// The column families that C passes to an open, and the places for their handles.
struct Families {
    descriptors: Vec<FamilyDescriptor>,
    handles: *mut *mut rocksdb_column_family_handle_t,
}

impl Families {
    /// Returns the request for the default column family alone. It gets no handle.
    fn default_only(options: &rocksdb_options_t) -> Result<Families> {
        Ok(Families {
            descriptors: vec![options.front_descriptor("default")?],
            handles: std::ptr::null_mut(),
        })
    }

    /// # Errors
    /// InvalidArgument for null pointers, a negative count, names that are not UTF-8, and rejected options.
    ///
    /// # Safety
    /// The arrays have `count` items: names that end with NUL, live options, and writable places for handles.
    unsafe fn new(
        count: c_int,
        names: *const *const c_char,
        options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
    ) -> Result<Families> {
        let count = arguments::count(count)?;
        if handles.is_null() {
            return Err(base::Error::invalid_argument("the array for column family handles is null"));
        }
        // SAFETY: both arrays have `count` items by the contract.
        let (names, options) =
            unsafe { (arguments::array(names, count)?, arguments::array(options, count)?) };
        let mut descriptors = Vec::with_capacity(count);
        for (&name, &options) in names.iter().zip(options) {
            // SAFETY: each name is null or ends with NUL, each options pointer is null or live, by the contract.
            let (name, options) = unsafe { (arguments::text(name)?, options.as_ref()) };
            let no_options = || base::Error::invalid_argument(format!("options of {name} are null"));
            descriptors.push(options.ok_or_else(no_options)?.front_descriptor(name)?);
        }
        Ok(Families { descriptors, handles })
    }

    /// Writes the handles of the column families, in the order of their names.
    fn write_handles(&self, names: &[String], db: &crate::db::rocksdb_t) -> Result<()> {
        if self.handles.is_null() {
            return Ok(());
        }
        let mut handles = Vec::with_capacity(names.len());
        for name in names {
            let missing = || base::Error::not_found(format!("column family {name}"));
            handles.push(db.handle(db.db()?.family(name).ok_or_else(missing)?)?);
        }
        for (at, handle) in handles.into_iter().enumerate() {
            // SAFETY: the array has a writable place for each name by the contract of `new`.
            unsafe { *self.handles.add(at) = Box::into_raw(Box::new(handle)) };
        }
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        self.descriptors.iter().map(|descriptor| descriptor.name.clone()).collect()
    }
}
