//! `UnwindSafe` and `RefUnwindSafe` for the types that have both traits in the crate `rocksdb`. Programs use these types in
//! functions that they pass to `std::panic::catch_unwind`.
//!
//! A panic leaves these types usable: their calls either complete or change nothing, and no lock of this library is poisoned.

use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
use crate::checkpoint::{Checkpoint, TransactionDBCheckpoint};
use crate::{
    BlockBasedOptions, BoundColumnFamily, Cache, ColumnFamily, DBWALIterator, Env, MultiThreaded,
    ReadOptions, SingleThreaded, SliceTransform, TransactionDBOptions, WriteBatchWithTransaction,
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
    DBWALIterator,
    Env,
    MultiThreaded,
    ReadOptions,
    RestoreOptions,
    SingleThreaded,
    SliceTransform,
    TransactionDBCheckpoint<'_>,
    TransactionDBOptions,
    WriteBufferManager,
    crate::perf::MemoryUsageBuilder<'_>,
);

impl<const TRANSACTION: bool> UnwindSafe for WriteBatchWithTransaction<TRANSACTION> {}
impl<const TRANSACTION: bool> RefUnwindSafe for WriteBatchWithTransaction<TRANSACTION> {}
