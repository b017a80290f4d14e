//! The kind of database that `randomtransaction` runs on.

use std::path::Path;

use base::{Error, Result};
use ironstone::{
    Db, FamilyDescriptor, OptimisticTransactionDb, OptimisticTransactionOptions, Options, Transaction,
    TransactionDb, TransactionDbOptions, TransactionOptions, WriteOptions,
};

use super::flags::Flags;

/// The database that begins the transactions.
#[derive(Clone)]
pub enum Transactions {
    /// The benchmark uses write batches instead of transactions.
    None,
    Optimistic(OptimisticTransactionDb),
    Pessimistic(TransactionDb),
}

impl Transactions {
    /// Opens a database with the transactions that the flags ask for.
    ///
    /// # Errors
    /// InvalidArgument if the flags ask for both kinds of transactions, or for transactions in a database that is
    /// opened for reading. Errors of the open.
    pub fn open(
        flags: &Flags,
        path: &Path,
        options: Options,
        families: Vec<FamilyDescriptor>,
    ) -> Result<(Db, Transactions)> {
        let (optimistic, pessimistic) =
            (flags.bool("optimistic_transaction_db"), flags.bool("transaction_db"));
        if optimistic && pessimistic {
            return Err(Error::invalid_argument(
                "--transaction_db and --optimistic_transaction_db exclude each other",
            ));
        }
        if flags.bool("readonly") {
            if optimistic || pessimistic {
                return Err(Error::invalid_argument(
                    "transactions need a database that is opened for writing",
                ));
            }
            return Ok((Db::open_read_only_with_families(path, options, families)?, Transactions::None));
        }
        if optimistic {
            let db = OptimisticTransactionDb::open_with(path, options, Default::default(), Some(families))?;
            return Ok((db.base().clone(), Transactions::Optimistic(db)));
        }
        if pessimistic {
            let own = TransactionDbOptions::default();
            let db = TransactionDb::open_with(path, options, own, Some(families))?;
            return Ok((db.base().clone(), Transactions::Pessimistic(db)));
        }
        Ok((Db::open_with_families(path, options, families)?, Transactions::None))
    }

    /// Begins a transaction. Returns `None` if the benchmark uses write batches instead of transactions.
    ///
    /// # Errors
    /// The errors of [`TransactionDb::begin_with`].
    pub fn begin(&self, flags: &Flags, write_options: &WriteOptions) -> Result<Option<Transaction>> {
        let set_snapshot = flags.bool("transaction_set_snapshot");
        match self {
            Transactions::None => Ok(None),
            Transactions::Optimistic(db) => {
                let options = OptimisticTransactionOptions { set_snapshot };
                Ok(Some(db.begin_with(write_options, &options)))
            }
            Transactions::Pessimistic(db) => {
                let lock_timeout = flags.int("transaction_lock_timeout");
                let options =
                    TransactionOptions { set_snapshot, lock_timeout, ..TransactionOptions::default() };
                db.begin_with(write_options, &options).map(Some)
            }
        }
    }
}
