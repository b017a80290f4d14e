//! Databases with transactions, and their transactions.

mod optimistic;
mod options;
mod transaction;
mod transaction_db;

pub use optimistic::OptimisticTransactionDB;
pub use options::{OptimisticTransactionOptions, TransactionDBOptions, TransactionOptions};
pub use transaction::Transaction;
pub use transaction_db::TransactionDB;
