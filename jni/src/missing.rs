//! The natives that are not built yet, by name: each throws `RocksDBException` with the code NotSupported and its name.
//!
//! A native without a symbol is an `UnsatisfiedLinkError`, and programs do not expect an error of the linker. So each native of
//! the four releases has a symbol. A native that gets built leaves this list: the compiler refuses a symbol that exists twice.
//!
//! ```text
//! refused! { i64: Checkpoint_newCheckpoint ...; }   // throws, and returns zero
//! closed! { Checkpoint_disposeInternal ... }        // does nothing: no object of the class exists
//! ```
//!
//! The natives take no arguments after the object: the caller of a C function removes the arguments. The JVM looks up the short
//! name of a native before the name with the arguments. So no short name in the list may hide a built native.
//!
//! Facts: the `native` methods of the classes of the four releases; the JNI specification, chapter 2 (names of natives).

use base::Error;
use jni_sys::JNIEnv;

use crate::java::JObject;
use crate::native::{Answer, frame};

/// Throws NotSupported with the name of the native, and returns the neutral value.
///
/// # Safety
/// `env` is the environment of this thread, as the JVM passes it to a native.
#[cold]
unsafe fn refuse<R: Answer>(env: *mut JNIEnv, name: &'static str) -> R::Raw {
    // SAFETY: the contract of this function.
    unsafe { frame::<R>(env, name, |_| Err(Error::not_supported(text_of(name)).into())) }
}

/// Returns the class and the method of a symbol, without the arguments: `Transaction.put` of `Transaction_put__J_3BI`.
fn text_of(symbol: &str) -> String {
    symbol.split("__").next().unwrap_or(symbol).replacen('_', ".", 1)
}

/// Exports natives that throw. A row is the type of the result, and names without `Java_org_rocksdb_`.
macro_rules! refused {
    ($($answer:ty: $($name:ident)+;)*) => {
        $($(const _: () = {
            #[allow(clippy::extra_unused_lifetimes, reason = "not each native returns a reference")]
            #[unsafe(export_name = concat!("Java_org_rocksdb_", stringify!($name)))]
            unsafe extern "system" fn native<'j>(env: *mut JNIEnv, _: JObject<'j>) -> <$answer as Answer>::Raw {
                // SAFETY: the JVM calls a native with the environment of the thread.
                unsafe { refuse::<$answer>(env, stringify!($name)) }
            }
        };)+)*

        #[cfg(test)]
        const REFUSED: &[&str] = &[$($(stringify!($name),)+)*];
    };
}

/// Exports natives that close objects of classes without objects. Such a native does nothing.
macro_rules! closed {
    ($($name:ident)+) => {
        $(const _: () = {
            #[unsafe(export_name = concat!("Java_org_rocksdb_", stringify!($name)))]
            extern "system" fn native(_: *mut JNIEnv, _: JObject<'_>) {}
        };)+

        #[cfg(test)]
        const CLOSED: &[&str] = &[$(stringify!($name),)+];
    };
}

closed! {
    BackupEngineOptions_disposeInternal BackupEngineOptions_disposeInternalJni BackupEngine_disposeInternal
    BackupEngine_disposeInternalJni Checkpoint_disposeInternal Checkpoint_disposeInternalJni
    ConcurrentTaskLimiterImpl_disposeInternal ConcurrentTaskLimiterImpl_disposeInternalJni EnvOptions_disposeInternal
    EnvOptions_disposeInternalJni ExportImportFilesMetaData_disposeInternal OptimisticTransactionDB_disposeInternal
    OptimisticTransactionDB_disposeInternalJni OptimisticTransactionOptions_disposeInternal
    OptimisticTransactionOptions_disposeInternalJni PersistentCache_disposeInternal PersistentCache_disposeInternalJni
    RestoreOptions_disposeInternal RestoreOptions_disposeInternalJni SstFileReaderIterator_disposeInternal
    SstFileReaderIterator_disposeInternalJni SstFileReader_disposeInternal SstFileReader_disposeInternalJni
    SstFileWriter_disposeInternal SstFileWriter_disposeInternalJni SstPartitionerFixedPrefixFactory_disposeInternal
    SstPartitionerFixedPrefixFactory_disposeInternalJni TransactionDBOptions_disposeInternal
    TransactionDBOptions_disposeInternalJni TransactionDB_disposeInternal TransactionDB_disposeInternalJni
    TransactionLogIterator_disposeInternal TransactionLogIterator_disposeInternalJni
    TransactionOptions_disposeInternal TransactionOptions_disposeInternalJni Transaction_disposeInternal
    TtlDB_disposeInternal TtlDB_disposeInternalJni WBWIRocksIterator_disposeInternal
    WBWIRocksIterator_disposeInternalJni WriteBatchWithIndex_disposeInternal WriteBatchWithIndex_disposeInternalJni
}

refused! {
    ():
        BackupEngineOptions_setBackupEnv BackupEngineOptions_setBackupLogFiles BackupEngineOptions_setBackupRateLimit
        BackupEngineOptions_setBackupRateLimiter BackupEngineOptions_setCallbackTriggerIntervalSize
        BackupEngineOptions_setDestroyOldData BackupEngineOptions_setInfoLog
        BackupEngineOptions_setMaxBackgroundOperations BackupEngineOptions_setRestoreRateLimit
        BackupEngineOptions_setRestoreRateLimiter BackupEngineOptions_setShareFilesWithChecksum
        BackupEngineOptions_setShareTableFiles BackupEngineOptions_setSync BackupEngine_createNewBackup
        BackupEngine_createNewBackupWithMetadata BackupEngine_deleteBackup BackupEngine_garbageCollect
        BackupEngine_purgeOldBackups BackupEngine_restoreDbFromBackup BackupEngine_restoreDbFromLatestBackup
        Checkpoint_createCheckpoint ColumnFamilyOptions_setMaxWriteBufferNumberToMaintain
        ColumnFamilyOptions_setSstPartitionerFactory CompactRangeOptions_setFullHistoryTSLow
        ConcurrentTaskLimiterImpl_resetMaxOutstandingTask ConcurrentTaskLimiterImpl_setMaxOutstandingTask
        ConfigOptions_setDelimiter ConfigOptions_setEnv ConfigOptions_setInputStringsEscaped
        ConfigOptions_setSanityLevel DBOptions_setAccessHintOnCompactionStart DBOptions_setFailIfOptionsFileError
        DBOptions_setRandomAccessMaxBufferSize DBOptions_setSkipCheckingSstFileSizesOnDbOpen
        EnvOptions_setAllowFallocate EnvOptions_setBytesPerSync EnvOptions_setCompactionReadaheadSize
        EnvOptions_setFallocateWithKeepSize EnvOptions_setRandomAccessMaxBufferSize EnvOptions_setRateLimiter
        EnvOptions_setSetFdCloexec EnvOptions_setUseDirectReads EnvOptions_setUseDirectWrites
        EnvOptions_setUseMmapReads EnvOptions_setUseMmapWrites EnvOptions_setWritableFileMaxBufferSize
        Env_lowerThreadPoolCPUPriority Env_lowerThreadPoolIOPriority OptimisticTransactionDB_closeDatabase
        OptimisticTransactionOptions_setComparator OptimisticTransactionOptions_setSetSnapshot
        OptionsUtil_loadLatestOptions OptionsUtil_loadOptionsFromFile Options_setAccessHintOnCompactionStart
        Options_setFailIfOptionsFileError Options_setMaxWriteBufferNumberToMaintain
        Options_setRandomAccessMaxBufferSize Options_setSkipCheckingSstFileSizesOnDbOpen
        Options_setSstPartitionerFactory Options_setTablePropertiesCollectorFactory RateLimiter_request
        RocksDB_cancelAllBackgroundWork RocksDB_clipColumnFamily RocksDB_deleteFile RocksDB_endTrace
        RocksDB_startTrace RocksDB_tryCatchUpWithPrimary RocksDB_write1 SstFileReaderIterator_next0
        SstFileReaderIterator_next0Jni SstFileReaderIterator_prev0 SstFileReaderIterator_prev0Jni
        SstFileReaderIterator_refresh0 SstFileReaderIterator_refresh0Jni SstFileReaderIterator_refresh1
        SstFileReaderIterator_seek0 SstFileReaderIterator_seek0Jni SstFileReaderIterator_seekByteArray0
        SstFileReaderIterator_seekByteArray0Jni SstFileReaderIterator_seekDirect0 SstFileReaderIterator_seekDirect0Jni
        SstFileReaderIterator_seekForPrev0 SstFileReaderIterator_seekForPrev0Jni
        SstFileReaderIterator_seekForPrevByteArray0 SstFileReaderIterator_seekForPrevByteArray0Jni
        SstFileReaderIterator_seekForPrevDirect0 SstFileReaderIterator_seekForPrevDirect0Jni
        SstFileReaderIterator_seekToFirst0 SstFileReaderIterator_seekToFirst0Jni SstFileReaderIterator_seekToLast0
        SstFileReaderIterator_seekToLast0Jni SstFileReaderIterator_status0 SstFileReaderIterator_status0Jni
        SstFileReader_open SstFileReader_verifyChecksum SstFileWriter_delete__JJ SstFileWriter_delete__J_3B
        SstFileWriter_finish SstFileWriter_merge__JJJ SstFileWriter_merge__J_3B_3B SstFileWriter_open
        SstFileWriter_putDirect SstFileWriter_put__JJJ SstFileWriter_put__J_3B_3B
        TablePropertiesCollectorFactory_deleteCompactOnDeletionCollectorFactory
        TransactionDBOptions_setDefaultLockTimeout TransactionDBOptions_setMaxNumLocks
        TransactionDBOptions_setNumStripes TransactionDBOptions_setTransactionLockTimeout
        TransactionDBOptions_setWritePolicy TransactionDB_closeDatabase TransactionDB_setDeadlockInfoBufferSize
        TransactionLogIterator_next TransactionLogIterator_status TransactionOptions_setDeadlockDetect
        TransactionOptions_setDeadlockDetectDepth TransactionOptions_setExpiration TransactionOptions_setLockTimeout
        TransactionOptions_setMaxWriteBatchSize TransactionOptions_setSetSnapshot Transaction_clearSnapshot
        Transaction_commit Transaction_deleteUntracked__J_3BI Transaction_deleteUntracked__J_3BIJ
        Transaction_deleteUntracked__J_3_3BI Transaction_deleteUntracked__J_3_3BIJ Transaction_delete__J_3BI
        Transaction_delete__J_3BIJZ Transaction_delete__J_3_3BI Transaction_delete__J_3_3BIJZ
        Transaction_disableIndexing Transaction_enableIndexing
        Transaction_mergeDirect__JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2II
        Transaction_mergeDirect__JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJZ Transaction_mergeUntracked
        Transaction_mergeUntrackedDirect Transaction_merge__J_3BII_3BII Transaction_merge__J_3BII_3BIIJZ
        Transaction_prepare Transaction_putDirect__JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2II
        Transaction_putDirect__JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJZ Transaction_putLogData
        Transaction_putUntracked__J_3BI_3BI Transaction_putUntracked__J_3BI_3BIJ
        Transaction_putUntracked__J_3_3BI_3_3BI Transaction_putUntracked__J_3_3BI_3_3BIJ Transaction_put__J_3BII_3BII
        Transaction_put__J_3BII_3BIIJZ Transaction_put__J_3_3BI_3_3BI Transaction_put__J_3_3BI_3_3BIJZ
        Transaction_rebuildFromWriteBatch Transaction_rollback Transaction_rollbackToSavePoint
        Transaction_setLockTimeout Transaction_setLogNumber Transaction_setName Transaction_setSavePoint
        Transaction_setSnapshot Transaction_setSnapshotOnNextOperation__J Transaction_setSnapshotOnNextOperation__JJ
        Transaction_setWriteOptions Transaction_singleDelete__J_3BI Transaction_singleDelete__J_3BIJZ
        Transaction_singleDelete__J_3_3BI Transaction_singleDelete__J_3_3BIJZ Transaction_undoGetForUpdate__J_3BI
        Transaction_undoGetForUpdate__J_3BIJ TtlDB_closeDatabase WBWIRocksIterator_next0 WBWIRocksIterator_next0Jni
        WBWIRocksIterator_prev0 WBWIRocksIterator_prev0Jni WBWIRocksIterator_refresh0 WBWIRocksIterator_refresh0Jni
        WBWIRocksIterator_refresh1 WBWIRocksIterator_seek0 WBWIRocksIterator_seek0Jni WBWIRocksIterator_seekByteArray0
        WBWIRocksIterator_seekByteArray0Jni WBWIRocksIterator_seekDirect0 WBWIRocksIterator_seekDirect0Jni
        WBWIRocksIterator_seekForPrev0 WBWIRocksIterator_seekForPrev0Jni WBWIRocksIterator_seekForPrevByteArray0
        WBWIRocksIterator_seekForPrevByteArray0Jni WBWIRocksIterator_seekForPrevDirect0
        WBWIRocksIterator_seekForPrevDirect0Jni WBWIRocksIterator_seekToFirst0 WBWIRocksIterator_seekToFirst0Jni
        WBWIRocksIterator_seekToLast0 WBWIRocksIterator_seekToLast0Jni WBWIRocksIterator_status0
        WBWIRocksIterator_status0Jni WriteBatchWithIndex_clear0 WriteBatchWithIndex_clear0Jni
        WriteBatchWithIndex_deleteDirect WriteBatchWithIndex_deleteDirectJni WriteBatchWithIndex_deleteJni__J_3BI
        WriteBatchWithIndex_deleteJni__J_3BIJ WriteBatchWithIndex_deleteRangeJni__J_3BI_3BI
        WriteBatchWithIndex_deleteRangeJni__J_3BI_3BIJ WriteBatchWithIndex_deleteRange__J_3BI_3BI
        WriteBatchWithIndex_deleteRange__J_3BI_3BIJ WriteBatchWithIndex_delete__J_3BI
        WriteBatchWithIndex_delete__J_3BIJ WriteBatchWithIndex_mergeJni__J_3BI_3BI
        WriteBatchWithIndex_mergeJni__J_3BI_3BIJ WriteBatchWithIndex_merge__J_3BI_3BI
        WriteBatchWithIndex_merge__J_3BI_3BIJ WriteBatchWithIndex_popSavePoint WriteBatchWithIndex_popSavePointJni
        WriteBatchWithIndex_putDirect WriteBatchWithIndex_putDirectJni WriteBatchWithIndex_putJni__J_3BI_3BI
        WriteBatchWithIndex_putJni__J_3BI_3BIJ WriteBatchWithIndex_putLogData WriteBatchWithIndex_putLogDataJni
        WriteBatchWithIndex_put__J_3BI_3BI WriteBatchWithIndex_put__J_3BI_3BIJ
        WriteBatchWithIndex_rollbackToSavePoint0 WriteBatchWithIndex_rollbackToSavePoint0Jni
        WriteBatchWithIndex_setMaxBytes WriteBatchWithIndex_setMaxBytesJni WriteBatchWithIndex_setSavePoint0
        WriteBatchWithIndex_setSavePoint0Jni WriteBatchWithIndex_singleDeleteJni__J_3BI
        WriteBatchWithIndex_singleDeleteJni__J_3BIJ WriteBatchWithIndex_singleDelete__J_3BI
        WriteBatchWithIndex_singleDelete__J_3BIJ WriteBatch_iterate WriteBatch_markWalTerminationPoint;
    bool:
        BackupEngineOptions_backupLogFiles BackupEngineOptions_destroyOldData
        BackupEngineOptions_shareFilesWithChecksum BackupEngineOptions_shareTableFiles BackupEngineOptions_sync
        DBOptions_failIfOptionsFileError DBOptions_skipCheckingSstFileSizesOnDbOpen EnvOptions_allowFallocate
        EnvOptions_fallocateWithKeepSize EnvOptions_setFdCloexec EnvOptions_useDirectReads EnvOptions_useDirectWrites
        EnvOptions_useMmapReads EnvOptions_useMmapWrites OptimisticTransactionOptions_isSetSnapshot
        Options_failIfOptionsFileError Options_skipCheckingSstFileSizesOnDbOpen SstFileReaderIterator_isValid0
        SstFileReaderIterator_isValid0Jni TransactionLogIterator_isValid TransactionOptions_isDeadlockDetect
        TransactionOptions_isSetSnapshot Transaction_isDeadlockDetect WBWIRocksIterator_isValid0
        WBWIRocksIterator_isValid0Jni WriteBatch_hasBeginPrepare WriteBatch_hasCommit WriteBatch_hasDelete
        WriteBatch_hasDeleteRange WriteBatch_hasEndPrepare WriteBatch_hasMerge WriteBatch_hasPut
        WriteBatch_hasRollback WriteBatch_hasSingleDelete;
    i8:
        DBOptions_accessHintOnCompactionStart Options_accessHintOnCompactionStart TransactionDBOptions_getWritePolicy
        Transaction_getState;
    i32:
        BackupEngineOptions_maxBackgroundOperations ColumnFamilyOptions_maxWriteBufferNumberToMaintain
        ConcurrentTaskLimiterImpl_outstandingTask Env_getThreadPoolQueueLen Options_maxWriteBufferNumberToMaintain
        SstFileReaderIterator_keyByteArray0 SstFileReaderIterator_keyDirect0 SstFileReaderIterator_valueByteArray0
        SstFileReaderIterator_valueDirect0 Transaction_getDirect Transaction_getDirectForUpdate
        Transaction_getForUpdate__JJ_3BII_3BIIJZZ Transaction_get__JJ_3BII_3BIIJ WriteBatchWithIndex_count0
        WriteBatchWithIndex_count0Jni;
    i64:
        AbstractTraceWriter_createNewTraceWriter BackupEngineOptions_backupRateLimit
        BackupEngineOptions_callbackTriggerIntervalSize BackupEngineOptions_newBackupEngineOptions
        BackupEngineOptions_restoreRateLimit BackupEngine_open Checkpoint_exportColumnFamily Checkpoint_newCheckpoint
        ConcurrentTaskLimiterImpl_newConcurrentTaskLimiterImpl0 DBOptions_randomAccessMaxBufferSize
        EnvOptions_bytesPerSync EnvOptions_compactionReadaheadSize EnvOptions_newEnvOptions__
        EnvOptions_newEnvOptions__J EnvOptions_randomAccessMaxBufferSize EnvOptions_writableFileMaxBufferSize
        LiveFileMetaData_newLiveFileMetaDataHandle OptimisticTransactionDB_beginTransaction_1withOld__JJJ
        OptimisticTransactionDB_beginTransaction_1withOld__JJJJ OptimisticTransactionDB_beginTransaction__JJ
        OptimisticTransactionDB_beginTransaction__JJJ OptimisticTransactionDB_getBaseDB
        OptimisticTransactionDB_open__JLjava_lang_String_2
        OptimisticTransactionOptions_newOptimisticTransactionOptions Options_randomAccessMaxBufferSize
        PersistentCache_newPersistentCache RateLimiter_getTotalBytesThrough RateLimiter_getTotalRequests
        RestoreOptions_newRestoreOptions RocksDB_createColumnFamilyWithImport RocksDB_getEnv RocksDB_getUpdatesSince
        RocksDB_openAsSecondary__JLjava_lang_String_2Ljava_lang_String_2 SstFileReader_newIterator
        SstFileReader_newSstFileReader SstFileWriter_fileSize SstFileWriter_newSstFileWriter__JJ
        SstFileWriter_newSstFileWriter__JJJB SstPartitionerFixedPrefixFactory_newSstPartitionerFixedPrefixFactory0
        TablePropertiesCollectorFactory_newCompactOnDeletionCollectorFactory TimedEnv_createTimedEnv
        TransactionDBOptions_getDefaultLockTimeout TransactionDBOptions_getMaxNumLocks
        TransactionDBOptions_getNumStripes TransactionDBOptions_getTransactionLockTimeout
        TransactionDBOptions_newTransactionDBOptions TransactionDB_beginTransaction_1withOld__JJJ
        TransactionDB_beginTransaction_1withOld__JJJJ TransactionDB_beginTransaction__JJ
        TransactionDB_beginTransaction__JJJ TransactionDB_getTransactionByName
        TransactionDB_open__JJLjava_lang_String_2 TransactionOptions_getDeadlockDetectDepth
        TransactionOptions_getExpiration TransactionOptions_getLockTimeout TransactionOptions_getMaxWriteBatchSize
        TransactionOptions_newTransactionOptions Transaction_getCommitTimeWriteBatch Transaction_getElapsedTime
        Transaction_getID Transaction_getId Transaction_getIterator Transaction_getLogNumber Transaction_getNumDeletes
        Transaction_getNumKeys Transaction_getNumMerges Transaction_getNumPuts Transaction_getSnapshot
        Transaction_getWriteBatch Transaction_getWriteOptions TtlDB_createColumnFamilyWithTtl TtlDB_open
        WriteBatchWithIndex_iterator0 WriteBatchWithIndex_iterator1 WriteBatchWithIndex_iteratorWithBase
        WriteBatchWithIndex_newWriteBatchWithIndex__ WriteBatchWithIndex_newWriteBatchWithIndex__JBIZ
        WriteBatchWithIndex_newWriteBatchWithIndex__Z WriteBatch_00024Handler_createNewHandler0;
    JObject<'j>:
        BackupEngineOptions_backupDir BackupEngine_getBackupInfo BackupEngine_getCorruptedBackups
        ColumnFamilyHandle_getDescriptor CompactRangeOptions_fullHistoryTSLow ConcurrentTaskLimiterImpl_name
        DirectSlice_data0 Env_getThreadList MemoryUtil_getApproximateMemoryUsageByType
        OptimisticTransactionDB_open__JLjava_lang_String_2_3_3B_3J OptionsUtil_getLatestOptionsFileName
        OptionsUtil_readTableFormatConfig Options_tablePropertiesCollectorFactory RocksDB_compactFiles
        RocksDB_getApproximateMemTableStats RocksDB_getApproximateSizes RocksDB_getColumnFamilyMetaData
        RocksDB_getDBOptions RocksDB_getLiveFiles RocksDB_getLiveFilesMetaData RocksDB_getMapProperty
        RocksDB_getOptions RocksDB_getPropertiesOfAllTables RocksDB_getPropertiesOfTablesInRange
        RocksDB_getSortedWalFiles RocksDB_openAsSecondary__JLjava_lang_String_2Ljava_lang_String_2_3_3B_3J
        RocksDB_suggestCompactRange SstFileReaderIterator_key0 SstFileReaderIterator_value0
        SstFileReader_getTableProperties ThreadStatus_getOperationName ThreadStatus_getOperationPropertyName
        ThreadStatus_getOperationStageName ThreadStatus_getStateName ThreadStatus_getThreadTypeName
        ThreadStatus_interpretOperationProperties ThreadStatus_microsToStringNative
        TransactionDB_getAllPreparedTransactions TransactionDB_getDeadlockInfoBuffer TransactionDB_getLockStatusData
        TransactionDB_open__JJLjava_lang_String_2_3_3B_3J TransactionLogIterator_getBatch
        Transaction_getForUpdate__JJ_3BIIJZZ Transaction_getName Transaction_getWaitingTxns Transaction_get__JJ_3BIIJ
        Transaction_multiGetForUpdate__JJ_3_3B Transaction_multiGetForUpdate__JJ_3_3B_3J
        Transaction_multiGet__JJJ_3_3B Transaction_multiGet__JJ_3_3B Transaction_multiGet__JJ_3_3B_3J TtlDB_openCF
        WBWIRocksIterator_entry1 WriteBatchWithIndex_getFromBatchAndDB__JJJ_3BI
        WriteBatchWithIndex_getFromBatchAndDB__JJJ_3BIJ WriteBatchWithIndex_getFromBatch__JJ_3BI
        WriteBatchWithIndex_getFromBatch__JJ_3BIJ WriteBatchWithIndex_getWriteBatch
        WriteBatchWithIndex_getWriteBatchJni WriteBatch_getWalTerminationPoint;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{CLOSED, REFUSED, text_of};

    /// The modules whose natives have names with arguments, or whose names are written out.
    const SOURCES: &[&str] = &[
        include_str!("batch.rs"),
        include_str!("cache.rs"),
        include_str!("call_options.rs"),
        include_str!("callbacks.rs"),
        include_str!("cassandra.rs"),
        include_str!("db/admin.rs"),
        include_str!("db/mod.rs"),
        include_str!("db/open.rs"),
        include_str!("db/read.rs"),
        include_str!("db/write.rs"),
        include_str!("filters.rs"),
        include_str!("flink.rs"),
        include_str!("iterator.rs"),
        include_str!("job_info.rs"),
        include_str!("listener.rs"),
        include_str!("logger.rs"),
        include_str!("options/components.rs"),
        include_str!("options/groups.rs"),
        include_str!("options/mod.rs"),
        include_str!("parts.rs"),
        include_str!("perf.rs"),
        include_str!("settings.rs"),
        include_str!("space.rs"),
        include_str!("statistics.rs"),
        include_str!("table.rs"),
        include_str!("variants.rs"),
    ];

    /// Returns the symbols that the sources declare with `natives!`, without `Java_org_rocksdb_`.
    fn built() -> BTreeSet<&'static str> {
        let lines = SOURCES.iter().flat_map(|text| text.lines());
        let heads = lines
            .filter_map(|line| line.trim_start().strip_prefix("fn ")?.split_once('['))
            .map(|(head, _)| head);
        heads
            .flat_map(|head| head.split(" | "))
            .filter(|name| name.contains('_') && !name.contains('('))
            .collect()
    }

    #[test]
    fn a_native_is_listed_once() {
        let names: BTreeSet<_> = REFUSED.iter().chain(CLOSED).collect();
        assert_eq!(names.len(), REFUSED.len() + CLOSED.len());
    }

    #[test]
    fn a_native_of_the_list_is_not_built() {
        let built = built();
        assert!(built.contains("RocksDB_flushWal"), "the sources were read");
        let both: Vec<_> = REFUSED.iter().chain(CLOSED).filter(|name| built.contains(**name)).collect();
        assert!(both.is_empty(), "built and listed: {both:?}");
    }

    #[test]
    fn a_short_name_of_the_list_hides_no_built_native() {
        let listed: BTreeSet<_> = REFUSED.iter().chain(CLOSED).copied().collect();
        let built = built();
        let with_arguments = built.iter().filter_map(|name| name.split_once("__"));
        let hidden: Vec<_> = with_arguments.filter(|(short, _)| listed.contains(short)).collect();
        assert!(hidden.is_empty(), "hidden: {hidden:?}");
    }

    #[test]
    fn the_text_names_the_class_and_the_method() {
        assert_eq!(text_of("Transaction_put__J_3BII"), "Transaction.put");
        assert_eq!(text_of("Checkpoint_newCheckpoint"), "Checkpoint.newCheckpoint");
    }
}
