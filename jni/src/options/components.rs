//! Objects that options hold: comparators, operators, filters, caches, environments.

use std::sync::Arc;

use base::order::{BuiltinPrefix, Order};
use base::stats::Statistics;
use engine::options::{
    CompactionOptionsFifo, CompactionOptionsUniversal, CompressionOptions, MemtableFactory,
};
use env::Env;
use env::rate::RateLimiter;
use env::sst_files::SstFileManager;
use ironstone::ConcurrentTaskLimiter;
use ironstone::binding::TableCache;
use mem::write_buffer::WriteBufferManager;
use table::sst::BlockCache;

use super::OptionSet;
use crate::callbacks::{FilterFactoryObject, FilterObject, MergeOperatorObject};
use crate::comparator::ComparatorObject;
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JLongs, JObjects, JString};
use crate::listener::JavaListener;
use crate::native::natives;
use crate::table::TableConfig;

natives! {
    /// Selects a built-in comparator: 0 is the bytewise comparator, 1 the reverse bytewise comparator.
    fn Options_setComparatorHandle__JI | ColumnFamilyOptions_setComparatorHandle__JI[_](options: Handle, builtin: i32) {
        let order = if builtin == 1 { Order::Reverse } else { Order::Bytewise };
        options.exclusive::<OptionSet>()?.family.comparator = order;
    }

    fn Options_setComparatorHandle__JJB | ColumnFamilyOptions_setComparatorHandle__JJB[_](
        options: Handle, comparator: Handle, _kind: i8
    ) {
        let order = comparator.shared::<ComparatorObject>()?.order.clone();
        options.exclusive::<OptionSet>()?.family.comparator = order;
    }

    /// Selects a merge operator by its name. An unknown name selects no operator, as in RocksDB.
    fn Options_setMergeOperatorName | ColumnFamilyOptions_setMergeOperatorName[java](options: Handle, name: JString) {
        let operator = lsm::merge::by_name(&java.text(name)?);
        options.exclusive::<OptionSet>()?.family.merge_operator = operator;
    }

    fn Options_setMergeOperator | ColumnFamilyOptions_setMergeOperator[_](options: Handle, operator: Handle) {
        let operator = operator.shared::<MergeOperatorObject>()?.operator.clone();
        options.exclusive::<OptionSet>()?.family.merge_operator = Some(operator);
    }

    fn Options_setCompactionFilterHandle | ColumnFamilyOptions_setCompactionFilterHandle[_](
        options: Handle, filter: Handle
    ) {
        let filter = filter.shared::<FilterObject>()?.filter.clone();
        options.exclusive::<OptionSet>()?.family.compaction_filter = Some(filter);
    }

    fn Options_setCompactionFilterFactoryHandle | ColumnFamilyOptions_setCompactionFilterFactoryHandle[_](
        options: Handle, factory: Handle
    ) {
        let factory = factory.shared::<FilterFactoryObject>()?.factory.clone();
        options.exclusive::<OptionSet>()?.family.compaction_filter_factory = Some(factory);
    }

    fn Options_useFixedLengthPrefixExtractor | ColumnFamilyOptions_useFixedLengthPrefixExtractor[_](
        options: Handle, len: i32
    ) {
        let prefix = BuiltinPrefix::Fixed(usize::try_from(len).unwrap_or(0));
        options.exclusive::<OptionSet>()?.family.prefix_extractor = Some(Arc::new(prefix));
    }

    fn Options_useCappedPrefixExtractor | ColumnFamilyOptions_useCappedPrefixExtractor[_](options: Handle, len: i32) {
        let prefix = BuiltinPrefix::Capped(usize::try_from(len).unwrap_or(0));
        options.exclusive::<OptionSet>()?.family.prefix_extractor = Some(Arc::new(prefix));
    }

    /// Moves the table factory into the options and closes its handle.
    fn Options_setTableFactory | ColumnFamilyOptions_setTableFactory[_](options: Handle, factory: Handle) {
        let table = factory.take::<TableConfig>()?;
        let mut options = options.exclusive::<OptionSet>()?;
        options.family.table_factory = table.factory.clone();
        options.table_cache = TableCache::of(table.block_cache.clone());
    }

    /// Moves the memtable factory into the options and closes its handle.
    fn Options_setMemTableFactory | ColumnFamilyOptions_setMemTableFactory[_](options: Handle, factory: Handle) {
        let factory = factory.take::<MemtableFactory>()?;
        options.exclusive::<OptionSet>()?.family.memtable_factory = factory.clone();
    }

    fn Options_setCompressionOptions | ColumnFamilyOptions_setCompressionOptions[_](options: Handle, value: Handle) {
        let value = *value.shared::<CompressionOptions>()?;
        options.exclusive::<OptionSet>()?.family.compression_opts = value;
    }

    fn Options_setBottommostCompressionOptions | ColumnFamilyOptions_setBottommostCompressionOptions[_](
        options: Handle, value: Handle
    ) {
        let value = *value.shared::<CompressionOptions>()?;
        options.exclusive::<OptionSet>()?.family.bottommost_compression_opts = value;
    }

    fn Options_setCompactionOptionsFIFO | ColumnFamilyOptions_setCompactionOptionsFIFO[_](
        options: Handle, value: Handle
    ) {
        let value = value.shared::<CompactionOptionsFifo>()?.clone();
        options.exclusive::<OptionSet>()?.family.compaction_options_fifo = value;
    }

    fn Options_setCompactionOptionsUniversal | ColumnFamilyOptions_setCompactionOptionsUniversal[_](
        options: Handle, value: Handle
    ) {
        let value = *value.shared::<CompactionOptionsUniversal>()?;
        options.exclusive::<OptionSet>()?.family.compaction_options_universal = value;
    }

    fn Options_setEnv | DBOptions_setEnv[_](options: Handle, env: Handle) {
        let env = env.shared::<Env>()?.clone();
        options.exclusive::<OptionSet>()?.db.env = env;
    }

    fn Options_setRateLimiter | DBOptions_setRateLimiter[_](options: Handle, limiter: Handle) {
        let limiter = limiter.shared::<Arc<RateLimiter>>()?.clone();
        options.exclusive::<OptionSet>()?.db.rate_limiter = Some(limiter);
    }

    fn Options_setWriteBufferManager | DBOptions_setWriteBufferManager[_](options: Handle, manager: Handle) {
        let manager = manager.shared::<Arc<WriteBufferManager>>()?.clone();
        options.exclusive::<OptionSet>()?.db.write_buffer_manager = Some(manager);
    }

    fn Options_setStatistics | DBOptions_setStatistics[_](options: Handle, statistics: Handle) {
        let statistics = statistics.shared::<Arc<Statistics>>()?.clone();
        options.exclusive::<OptionSet>()?.db.statistics = Some(statistics);
    }

    /// Returns a new handle of the statistics, or 0.
    fn Options_statistics | DBOptions_statistics[_](options: Handle) -> Handle {
        let statistics = options.shared::<OptionSet>()?.db.statistics.clone();
        statistics.map_or(Handle::NULL, Handle::new)
    }

    fn Options_setRowCache | DBOptions_setRowCache[_](options: Handle, cache: Handle) {
        let cache = cache.shared::<Arc<BlockCache>>()?.clone();
        options.exclusive::<OptionSet>()?.db.row_cache = Some(cache);
    }

    fn Options_setEventListeners | DBOptions_setEventListeners[java](options: Handle, listeners: JLongs) {
        let listeners = java.longs(listeners)?.into_iter();
        let listeners = listeners.map(|listener| Ok(Handle::of(listener).shared::<Arc<JavaListener>>()?.clone()));
        let listeners = listeners.collect::<Outcome<Vec<_>>>()?;
        options.exclusive::<OptionSet>()?.listeners = listeners;
    }

    /// Returns the Java listeners that the program set, not copies.
    fn Options_eventListeners | DBOptions_eventListeners[java](options: Handle) -> JObjects<'j> {
        let listeners = options.shared::<OptionSet>()?.listeners.clone();
        crate::listener::objects(java, &listeners)?
    }

    fn Options_setSstFileManager | DBOptions_setSstFileManager[_](options: Handle, manager: Handle) {
        let manager = manager.shared::<Arc<SstFileManager>>()?.clone();
        options.exclusive::<OptionSet>()?.db.sst_file_manager = Some(manager);
    }

    fn Options_setCompactionThreadLimiter | ColumnFamilyOptions_setCompactionThreadLimiter[_](
        options: Handle, limiter: Handle
    ) {
        let limiter = match limiter.is_null() {
            true => None,
            false => Some(limiter.shared::<Arc<ConcurrentTaskLimiter>>()?.clone()),
        };
        options.exclusive::<OptionSet>()?.family.compaction_thread_limiter = limiter;
    }
}
