//! Backups: `BackupEngine`, `BackupEngineOptions`, `RestoreOptions`.

use std::sync::Arc;

use env::Env;
use env::rate::RateLimiter;
use ironstone::{BackupEngine, BackupEngineOptions, BackupInfo, CreateBackupOptions, RestoreOptions};

use crate::class::{Class, Method, Value};
use crate::collections;
use crate::db::database;
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JInts, JObject, JString, Java};
use crate::logger::LoggerObject;
use crate::native::{disposers, natives, rows};

static NEW_INFO: Method = Class::new("org/rocksdb/BackupInfo").method("<init>", "(IJJILjava/lang/String;)V");

/// `BackupEngineOptions`.
struct Settings {
    options: BackupEngineOptions,
    /// The number as Java set it. Negative numbers stand for 1.
    max_background_operations: i32,
}

rows! {
    Settings [BackupEngineOptions] |o|;
    setShareTableFiles shareTableFiles: bool => o.options.share_table_files;
    setSync sync: bool => o.options.sync;
    setDestroyOldData destroyOldData: bool => o.options.destroy_old_data;
    setBackupLogFiles backupLogFiles: bool => o.options.backup_log_files;
    setBackupRateLimit backupRateLimit: i64 => o.options.backup_rate_limit;
    setRestoreRateLimit restoreRateLimit: i64 => o.options.restore_rate_limit;
    setShareFilesWithChecksum shareFilesWithChecksum: bool => o.options.share_files_with_checksum;
    setMaxBackgroundOperations maxBackgroundOperations: i32 => o.max_background_operations;
    setCallbackTriggerIntervalSize callbackTriggerIntervalSize: i64 => o.options.callback_trigger_interval_size;
}

disposers! {
    BackupEngineOptions: Settings;
    RestoreOptions: RestoreOptions;
    BackupEngine: BackupEngine;
}

fn info<'j>(java: Java<'j>, info: &BackupInfo) -> Outcome<JObject<'j>> {
    let metadata = match info.app_metadata.is_empty() {
        true => JString::NULL,
        false => java.new_text(&String::from_utf8_lossy(&info.app_metadata))?,
    };
    let arguments = [
        Value::int(info.id as i32),
        Value::long(info.timestamp),
        Value::long(info.size as i64),
        Value::int(i32::try_from(info.files.len()).unwrap_or(i32::MAX)),
        metadata.into(),
    ];
    let object = NEW_INFO.construct(java, &arguments)?;
    java.forget(metadata.object());
    Ok(object)
}

fn create(engine: Handle, db: Handle, flush_before_backup: bool, app_metadata: Vec<u8>) -> Outcome<()> {
    let (engine, db) = (engine.shared::<BackupEngine>()?, database(db)?);
    let options = CreateBackupOptions { flush_before_backup, app_metadata, ..CreateBackupOptions::default() };
    engine.create_new_backup_with(&db.front, &options)?;
    Ok(())
}

/// Converts a number of backups, or the number of a backup, as RocksDB does: a negative number becomes a large number.
fn unsigned(number: i32) -> u32 {
    number as u32
}

natives! {
    fn BackupEngineOptions_newBackupEngineOptions[java](path: JString) -> Handle {
        let options = BackupEngineOptions::new(java.text(path)?);
        Handle::new(Settings { options, max_background_operations: 1 })
    }

    fn BackupEngineOptions_backupDir[java](options: Handle) -> JString<'j> {
        java.new_text(&options.shared::<Settings>()?.options.backup_dir.to_string_lossy())?
    }

    fn BackupEngineOptions_setBackupEnv[_](options: Handle, env: Handle) {
        let env = env.shared::<Env>()?.clone();
        options.exclusive::<Settings>()?.options.backup_env = Some(env);
    }

    fn BackupEngineOptions_setInfoLog[_](options: Handle, logger: Handle) {
        let logger = logger.shared::<LoggerObject>()?.logger.clone();
        options.exclusive::<Settings>()?.options.info_log = Some(logger);
    }

    fn BackupEngineOptions_setBackupRateLimiter[_](options: Handle, limiter: Handle) {
        let limiter = limiter.shared::<Arc<RateLimiter>>()?.clone();
        options.exclusive::<Settings>()?.options.backup_rate_limiter = Some(limiter);
    }

    fn BackupEngineOptions_setRestoreRateLimiter[_](options: Handle, limiter: Handle) {
        let limiter = limiter.shared::<Arc<RateLimiter>>()?.clone();
        options.exclusive::<Settings>()?.options.restore_rate_limiter = Some(limiter);
    }

    fn RestoreOptions_newRestoreOptions[_](keep_log_files: bool) -> Handle {
        Handle::new(RestoreOptions { keep_log_files, ..RestoreOptions::default() })
    }

    fn BackupEngine_open[_](env: Handle, options: Handle) -> Handle {
        let (env, options) = (env.shared::<Env>()?, options.shared::<Settings>()?);
        let threads = usize::try_from(options.max_background_operations).unwrap_or(0);
        let options = BackupEngineOptions { max_background_operations: threads, ..options.options.clone() };
        Handle::new(BackupEngine::open(options, &env)?)
    }

    fn BackupEngine_createNewBackup[_](engine: Handle, db: Handle, flush: bool) {
        create(engine, db, flush, Vec::new())?;
    }

    fn BackupEngine_createNewBackupWithMetadata[java](engine: Handle, db: Handle, metadata: JString, flush: bool) {
        create(engine, db, flush, java.text(metadata)?.into_bytes())?;
    }

    fn BackupEngine_getBackupInfo[java](engine: Handle) -> JObject<'j> {
        let backups = engine.shared::<BackupEngine>()?.backup_info();
        collections::list(java, backups.iter(), info)?
    }

    fn BackupEngine_getCorruptedBackups[java](engine: Handle) -> JInts<'j> {
        let corrupted = engine.shared::<BackupEngine>()?.corrupted_backups();
        java.new_ints(&corrupted.into_iter().map(|(id, _)| id as i32).collect::<Vec<_>>())?
    }

    fn BackupEngine_garbageCollect[_](engine: Handle) {
        engine.shared::<BackupEngine>()?.garbage_collect()?;
    }

    /// Deletes all backups except the newest `keep` backups. A negative number keeps all backups.
    fn BackupEngine_purgeOldBackups[_](engine: Handle, keep: i32) {
        engine.shared::<BackupEngine>()?.purge_old_backups(unsigned(keep) as usize)?;
    }

    fn BackupEngine_deleteBackup[_](engine: Handle, id: i32) {
        engine.shared::<BackupEngine>()?.delete_backup(unsigned(id))?;
    }

    fn BackupEngine_restoreDbFromBackup[java](
        engine: Handle, id: i32, db_dir: JString, wal_dir: JString, options: Handle
    ) {
        let (engine, options) = (engine.shared::<BackupEngine>()?, options.shared::<RestoreOptions>()?);
        let (db_dir, wal_dir) = (java.text(db_dir)?, java.text(wal_dir)?);
        engine.restore_db_from_backup(unsigned(id), db_dir, wal_dir, &options)?;
    }

    fn BackupEngine_restoreDbFromLatestBackup[java](
        engine: Handle, db_dir: JString, wal_dir: JString, options: Handle
    ) {
        let (engine, options) = (engine.shared::<BackupEngine>()?, options.shared::<RestoreOptions>()?);
        let (db_dir, wal_dir) = (java.text(db_dir)?, java.text(wal_dir)?);
        engine.restore_db_from_latest_backup(db_dir, wal_dir, &options)?;
    }
}
