//! `UnwindSafe` and `RefUnwindSafe` for the types that have both traits in the crate `rocksdb` 0.24 or 0.25. Programs use these types in
//! functions that they pass to `std::panic::catch_unwind`.
//!
//! A panic leaves these types usable: their calls either complete or change nothing, and no lock of this library is poisoned.

use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
use crate::checkpoint::{Checkpoint, TransactionDBCheckpoint};
use crate::db::DBInner;
use crate::{
    BlockBasedOptions, BoundColumnFamily, Cache, ColumnFamily, ColumnFamilyDescriptor, DBAccess, DBCommon,
    DBIteratorWithThreadMode, DBPinnableSlice, DBRawIteratorWithThreadMode, DBWALIterator, Env,
    MultiThreaded, Options, ReadOptions, SingleThreaded, SliceTransform, SnapshotWithThreadMode,
    SstFileWriter, ThreadMode, Transaction, TransactionDB, TransactionDBOptions, WriteBatchWithTransaction,
    WriteBufferManager,
};

macro_rules! unwind_safe {
    ($($ty:ty),* $(,)?) => {$(
        impl UnwindSafe for $ty {}
        impl RefUnwindSafe for $ty {}
    )*};
}
unwind_safe!(
    BackupEngine,
    BackupEngineOptions,
    BlockBasedOptions,
    BoundColumnFamily<'_>,
    Cache,
    Checkpoint<'_>,
    ColumnFamily,
    ColumnFamilyDescriptor,
    DBPinnableSlice<'_>,
    DBWALIterator,
    Env,
    MultiThreaded,
    Options,
    ReadOptions,
    RestoreOptions,
    SingleThreaded,
    SliceTransform,
    SstFileWriter<'_>,
    TransactionDBCheckpoint<'_>,
    TransactionDBOptions,
    WriteBufferManager,
    crate::perf::MemoryUsageBuilder<'_>,
);

impl<const TRANSACTION: bool> UnwindSafe for WriteBatchWithTransaction<TRANSACTION> {}
impl<const TRANSACTION: bool> RefUnwindSafe for WriteBatchWithTransaction<TRANSACTION> {}

macro_rules! unwind_safe_over_database {
    ($($ty:ident),* $(,)?) => {$(
        impl<D: DBAccess + RefUnwindSafe> UnwindSafe for $ty<'_, D> {}
        impl<D: DBAccess + RefUnwindSafe> RefUnwindSafe for $ty<'_, D> {}
    )*};
}
unwind_safe_over_database!(DBIteratorWithThreadMode, DBRawIteratorWithThreadMode, SnapshotWithThreadMode);

impl<T: ThreadMode + UnwindSafe, D: DBInner> UnwindSafe for DBCommon<T, D> {}
impl<T: ThreadMode + RefUnwindSafe, D: DBInner> RefUnwindSafe for DBCommon<T, D> {}
impl<DB: RefUnwindSafe> UnwindSafe for Transaction<'_, DB> {}
impl<DB: RefUnwindSafe> RefUnwindSafe for Transaction<'_, DB> {}
impl<T: ThreadMode + UnwindSafe> UnwindSafe for TransactionDB<T> {}
impl<T: ThreadMode + RefUnwindSafe> RefUnwindSafe for TransactionDB<T> {}
