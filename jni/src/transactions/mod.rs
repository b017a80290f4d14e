//! Transactions: databases with locks, optimistic databases, and their transactions.
//!
//! [`database`] opens databases and begins transactions. [`options`] has the three classes of options. [`write`] and [`read`]
//! are the calls on keys. [`state`] has names, save points, prepare, commit, and the properties of a transaction. [`snapshot`] has the
//! handle of its snapshot.
//!
//! RocksDB returns pointers into a transaction: to its batch, its commit-time batch and its write options. Here each of them is
//! a separate object that is closed together with the transaction. A prepare or commit copies the changes that the program made
//! in these objects into the transaction.

mod database;
mod options;
mod read;
mod snapshot;
mod state;
mod write;

use std::cell::Cell;
use std::sync::Arc;

use base::Error;
use env::sync::{Mutex, thread_local};
use ironstone::Transaction;

use self::snapshot::Parts;
use crate::db::children::Children;
use crate::db::{DatabaseObject, FamilyObject, foreign};
use crate::fault::{Fault, Outcome};
use crate::filters::in_notifier;
use crate::handle::{Handle, Shared};

/// A transaction of either kind.
pub struct TransactionObject {
    txn: Transaction,
    default: ironstone::Family,
    /// The children of the database. They include the iterators of the transaction.
    owner: Arc<Children>,
    parts: Arc<Parts>,
    handles: Mutex<Handles>,
}

/// The handles of objects that a getter of the transaction returned. A handle is 0 until the program calls the getter.
struct Handles {
    commit_time_batch: Handle,
    write_options: Handle,
    indexed_batch: Handle,
    /// The WAL number that `setLogNumber` set.
    wal_number: Option<i64>,
}

impl TransactionObject {
    fn new(db: &DatabaseObject, txn: Transaction) -> Self {
        let none = Handles {
            commit_time_batch: Handle::NULL,
            write_options: Handle::NULL,
            indexed_batch: Handle::NULL,
            wal_number: None,
        };
        TransactionObject {
            txn,
            default: db.front.default_family(),
            owner: db.children.clone(),
            parts: Arc::default(),
            handles: Mutex::new(none),
        }
    }
}

impl Drop for TransactionObject {
    fn drop(&mut self) {
        self.parts.children.close();
    }
}

thread_local! {
    /// The transaction that this thread used last outside of a notifier.
    static LAST: Cell<Handle> = const { Cell::new(Handle::NULL) };
}

/// Uses a transaction.
///
/// # Errors
/// IllegalStateException for a closed handle. InvalidArgument if a notifier calls its own transaction: the running call holds
/// the lock of the transaction, so the call would wait forever.
#[inline]
fn transaction(handle: Handle) -> Outcome<Shared<TransactionObject>> {
    if !in_notifier() {
        LAST.set(handle);
    } else if LAST.get() == handle {
        return Err(own_notifier());
    }
    Ok(handle.shared::<TransactionObject>()?)
}

#[cold]
fn own_notifier() -> Fault {
    Error::invalid_argument("a transaction notifier called the transaction that notifies it").into()
}

/// The column family of a call. The handle 0 means the default column family.
enum In {
    Default,
    Of(Shared<FamilyObject>),
}

impl In {
    /// # Errors
    /// IllegalStateException for a closed handle; InvalidArgument for the handle of another database.
    #[inline]
    fn new(txn: &TransactionObject, handle: Handle) -> Outcome<In> {
        if handle.is_null() {
            return Ok(In::Default);
        }
        let family = handle.shared::<FamilyObject>()?;
        if !Arc::ptr_eq(&family.owner, &txn.owner) {
            return Err(foreign(&family).into());
        }
        Ok(In::Of(family))
    }

    #[inline]
    fn get<'a>(&'a self, txn: &'a TransactionObject) -> &'a ironstone::Family {
        match self {
            In::Default => &txn.default,
            In::Of(family) => &family.front,
        }
    }
}
