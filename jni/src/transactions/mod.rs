//! Transactions: databases with locks, optimistic databases, and their transactions.
//!
//! [`database`] opens databases and begins transactions; [`options`] are the three classes of options; [`write`] and [`read`]
//! are the calls on keys; [`state`] is names, save points, commit, and what a transaction says of itself.
//!
//! RocksDB returns pointers into a transaction: its batch, its commit-time batch, its write options. Here each is an object of
//! its own that ends with the transaction. A commit takes over what the program changed in these objects.

mod database;
mod options;
mod read;
mod state;
mod write;

use std::cell::Cell;
use std::sync::Arc;

use base::Error;
use env::sync::{Mutex, thread_local};
use ironstone::Transaction;

use crate::db::children::Children;
use crate::db::{DatabaseObject, FamilyObject, foreign};
use crate::fault::{Fault, Outcome};
use crate::filters::in_notifier;
use crate::handle::{Handle, Shared};

/// A transaction of either kind.
pub struct TransactionObject {
    txn: Transaction,
    default: ironstone::Family,
    /// The children of the database. Iterators of the transaction are among them.
    owner: Arc<Children>,
    /// The objects that end with the transaction.
    parts: Children,
    handles: Mutex<Handles>,
}

/// The handles of objects that a program got from the transaction; 0 until the program asks.
struct Handles {
    commit_time_batch: Handle,
    write_options: Handle,
    indexed_batch: Handle,
    snapshot: Handle,
    /// The number of `setLogNumber`.
    wal_number: Option<i64>,
}

impl TransactionObject {
    fn new(db: &DatabaseObject, txn: Transaction) -> Self {
        let none = Handles {
            commit_time_batch: Handle::NULL,
            write_options: Handle::NULL,
            indexed_batch: Handle::NULL,
            snapshot: Handle::NULL,
            wal_number: None,
        };
        TransactionObject {
            txn,
            default: db.front.default_family(),
            owner: db.children.clone(),
            parts: Children::default(),
            handles: Mutex::new(none),
        }
    }
}

impl Drop for TransactionObject {
    fn drop(&mut self) {
        self.parts.close();
    }
}

thread_local! {
    /// The transaction of the last call of this thread outside of a notifier.
    static LAST: Cell<Handle> = const { Cell::new(Handle::NULL) };
}

/// Uses a transaction.
///
/// # Errors
/// IllegalStateException for a closed handle; InvalidArgument in the notifier of the transaction, whose lock the running call
/// holds.
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

/// The column family of a call: of a handle, or the default column family for 0.
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
