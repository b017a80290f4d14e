//! Writes outside of transactions, with guarantees of the application. Facts: RocksDB `write_prepared_txn_db.cc`,
//! `pessimistic_transaction_db.cc`.
//!
//! Not here: writes that lock their keys (`guard`).

use base::Result;
use engine::batch::WriteBatch;
use engine::options::WriteOptions;

use super::super::options::TransactionDbWriteOptimizations;
use super::TransactionDb;
use super::guard::check_timestamps;

impl TransactionDb {
    /// Writes a batch without locks. The caller guarantees that concurrent writers do not change the keys of the batch.
    /// RocksDB: `TransactionDBWriteOptimizations::skip_concurrency_control`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::{WriteBatch, WriteOptions};
    ///
    /// let mut batch = WriteBatch::new();
    /// batch.put(b"k", b"1");
    /// db.write_without_locks(&mut batch, &WriteOptions::default())?;
    /// assert!(db.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::write`](crate::Db::write); NotSupported for a column family with timestamps.
    pub fn write_without_locks(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        check_timestamps(self.db.engine(), batch)?;
        self.db.engine().for_transactions().write_unguarded(batch, options, None)
    }

    /// Writes a batch outside of a transaction, with what the application guarantees about the batch. RocksDB: `TransactionDB::Write`
    /// with `TransactionDBWriteOptimizations`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions, TransactionDbWriteOptimizations};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::{WriteBatch, WriteOptions};
    ///
    /// let mut batch = WriteBatch::new();
    /// batch.put(b"k", b"1");
    /// let alone = TransactionDbWriteOptimizations { skip_concurrency_control: true, ..Default::default() };
    /// db.write_with_optimizations(&mut batch, &WriteOptions::default(), &alone)?;
    /// assert!(db.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::write`](crate::Db::write); NotSupported for a column family with timestamps. InvalidArgument for a range deletion without
    /// `skip_concurrency_control`, and with `WritePrepared` and `WriteUnprepared` also without `skip_duplicate_key_check`.
    pub fn write_with_optimizations(
        &self,
        batch: &mut WriteBatch,
        options: &WriteOptions,
        optimizations: &TransactionDbWriteOptimizations,
    ) -> Result<()> {
        if !optimizations.skip_concurrency_control {
            return self.db.engine().write(batch, options);
        }
        if !optimizations.skip_duplicate_key_check {
            return self.write_without_locks(batch, options);
        }
        check_timestamps(self.db.engine(), batch)?;
        engine::db::write_without_conflicts(self.db.engine(), batch, options)
    }
}
