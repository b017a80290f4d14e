//! Databases with transactions: `TransactionDB`, `OptimisticTransactionDB`.

use std::collections::BTreeMap;
use std::path::Path;

use base::{Error, Result};
use engine::options::WriteOptions;
use ironstone::{
    DeadlockInfo, DeadlockPath, FamilyDescriptor, KeyLockInfo, OptimisticTransactionDb,
    OptimisticTransactionDbOptions, OptimisticTransactionOptions, Transaction, TransactionDb,
    TransactionDbOptions, TransactionOptions,
};

use super::TransactionObject;
use crate::class::{Class, Method, Value};
use crate::collections;
use crate::db::kind::Kind;
use crate::db::open::Families;
use crate::db::path::database_dir;
use crate::db::{DatabaseObject, database};
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JLongs, JObject, JObjects, JString, Java};
use crate::native::{disposers, natives};
use crate::options::OptionSet;

const LOCK_INFO: &str = "org/rocksdb/TransactionDB$KeyLockInfo";
const DEADLOCK_INFO: &str = "org/rocksdb/TransactionDB$DeadlockInfo";
const DEADLOCK_PATH: &str = "org/rocksdb/TransactionDB$DeadlockPath";

static NEW_LOCK_INFO: Method = Class::new(LOCK_INFO).method("<init>", "(Ljava/lang/String;[JZ)V");
static NEW_DEADLOCK_INFO: Method = Class::new(DEADLOCK_INFO).method("<init>", "(JJLjava/lang/String;Z)V");
static NEW_DEADLOCK_PATH: Method =
    Class::new(DEADLOCK_PATH).method("<init>", "([Lorg/rocksdb/TransactionDB$DeadlockInfo;Z)V");
static INFO_CLASS: Class = Class::new(DEADLOCK_INFO);
static PATH_CLASS: Class = Class::new(DEADLOCK_PATH);

fn pessimistic(db: TransactionDb) -> Result<DatabaseObject> {
    // The plain calls of Java's `TransactionDB` lock their keys.
    DatabaseObject::of_kind((*db).clone(), Kind::Pessimistic(db))
}

fn optimistic(
    options: ironstone::Options,
    path: &Path,
    families: Vec<FamilyDescriptor>,
) -> Result<DatabaseObject> {
    let settings = OptimisticTransactionDbOptions::default();
    let db = OptimisticTransactionDb::open_with(path, options, settings, Some(families))?;
    DatabaseObject::of_kind(db.base().clone(), Kind::Optimistic(db))
}

/// Returns the database with locks of a handle.
fn with_locks(db: &DatabaseObject) -> Outcome<&TransactionDb> {
    match &db.kind {
        Kind::Pessimistic(db) => Ok(db),
        _ => Err(Error::invalid_argument("the database is not a TransactionDB").into()),
    }
}

/// Begins a transaction. The handle 0 means the default options.
fn begin(db: &DatabaseObject, write: Handle, options: Handle) -> Outcome<Transaction> {
    let write = *write.shared::<WriteOptions>()?;
    match &db.kind {
        Kind::Pessimistic(locks) if options.is_null() => {
            Ok(locks.begin_with(&write, &TransactionOptions::default())?)
        }
        Kind::Pessimistic(locks) => Ok(locks.begin_with(&write, &*options.shared::<TransactionOptions>()?)?),
        Kind::Optimistic(checks) if options.is_null() => {
            Ok(checks.begin_with(&write, &OptimisticTransactionOptions::default()))
        }
        Kind::Optimistic(checks) => {
            Ok(checks.begin_with(&write, &*options.shared::<OptimisticTransactionOptions>()?))
        }
        _ => Err(Error::invalid_argument("the database has no transactions").into()),
    }
}

fn begin_new(db: Handle, write: Handle, options: Handle) -> Outcome<Handle> {
    let db = database(db)?;
    let txn = begin(&db, write, options)?;
    Ok(db.child(TransactionObject::new(&db, txn)))
}

/// Begins a transaction that reuses the Java object of an old transaction. Rolls back the old transaction if the program did
/// not end it.
fn begin_in_place(db: Handle, write: Handle, options: Handle, old: Handle) -> Outcome<Handle> {
    let db = database(db)?;
    drop(old.shared::<TransactionObject>()?);
    let txn = begin(&db, write, options)?;
    *old.exclusive::<TransactionObject>()? = TransactionObject::new(&db, txn);
    Ok(old)
}

/// Returns the handles of transactions. A transaction has one handle: if the program began the transaction, or asked for the
/// transaction before, returns the handle that the program has already.
fn handles_of(db: &DatabaseObject, transactions: Vec<Transaction>) -> Vec<Handle> {
    let id_of = |handle: &Handle| Some(handle.shared::<TransactionObject>().ok()?.txn.id());
    let open = db.children.of_type::<TransactionObject>();
    let known: BTreeMap<_, _> = open.iter().filter_map(|handle| Some((id_of(handle)?, *handle))).collect();
    let handle = |txn: Transaction| {
        known.get(&txn.id()).copied().unwrap_or_else(|| db.child(TransactionObject::new(db, txn)))
    };
    transactions.into_iter().map(handle).collect()
}

/// Converts bytes to text, as RocksDB does for Java.
fn text<'j>(java: Java<'j>, bytes: &[u8]) -> Outcome<JString<'j>> {
    java.new_text(&String::from_utf8_lossy(bytes))
}

fn lock_info<'j>(java: Java<'j>, lock: &KeyLockInfo) -> Outcome<JObject<'j>> {
    let holders: Vec<i64> = lock.holders.iter().map(|id| id.get() as i64).collect();
    let (key, holders) = (text(java, &lock.key)?, java.new_longs(&holders)?);
    let arguments = [key.into(), holders.object().into(), Value::bool(lock.exclusive)];
    let info = NEW_LOCK_INFO.construct(java, &arguments)?;
    java.forget(key.object());
    java.forget(holders.object());
    Ok(info)
}

fn deadlock_info<'j>(java: Java<'j>, info: &DeadlockInfo) -> Outcome<JObject<'j>> {
    let key = text(java, &info.waiting_key)?;
    let arguments = [
        Value::long(info.transaction.get() as i64),
        Value::long(i64::from(info.family.get())),
        key.into(),
        Value::bool(info.exclusive),
    ];
    let object = NEW_DEADLOCK_INFO.construct(java, &arguments)?;
    java.forget(key.object());
    Ok(object)
}

fn deadlock_path<'j>(java: Java<'j>, path: &DeadlockPath) -> Outcome<JObject<'j>> {
    let class = INFO_CLASS.get(java)?;
    let infos = java.new_objects(class, path.path.len(), |at| deadlock_info(java, &path.path[at]))?;
    let arguments = [infos.object().into(), Value::bool(path.limit_exceeded)];
    let object = NEW_DEADLOCK_PATH.construct(java, &arguments)?;
    java.forget(infos.object());
    Ok(object)
}

disposers! {
    TransactionDB: DatabaseObject;
    OptimisticTransactionDB: DatabaseObject;
}

natives! {
    fn TransactionDB_open__JJLjava_lang_String_2[java](options: Handle, settings: Handle, path: JString) -> Handle {
        let set = options.shared::<OptionSet>()?;
        let path = database_dir(java, path, &*set.db.env.fs)?;
        let settings = settings.shared::<TransactionDbOptions>()?.clone();
        let families = vec![set.descriptor("default")?];
        let db = TransactionDb::open_with(path, set.for_descriptors(), settings, Some(families))?;
        pessimistic(db)?.into_handle()?
    }

    fn TransactionDB_open__JJLjava_lang_String_2_3_3B_3J[java](
        options: Handle, settings: Handle, path: JString, names: JObjects, family_options: JLongs
    ) -> JLongs<'j> {
        let options = options.shared::<OptionSet>()?.for_descriptors();
        let path = database_dir(java, path, &*options.db.env.fs)?;
        let settings = settings.shared::<TransactionDbOptions>()?.clone();
        let mut families = Families::new(java, names, family_options)?;
        let descriptors = std::mem::take(&mut families.descriptors);
        let db = TransactionDb::open_with(path, options, settings, Some(descriptors))?;
        families.handles(java, pessimistic(db)?)?
    }

    fn OptimisticTransactionDB_open__JLjava_lang_String_2[java](options: Handle, path: JString) -> Handle {
        let set = options.shared::<OptionSet>()?;
        let path = database_dir(java, path, &*set.db.env.fs)?;
        optimistic(set.for_descriptors(), &path, vec![set.descriptor("default")?])?.into_handle()?
    }

    fn OptimisticTransactionDB_open__JLjava_lang_String_2_3_3B_3J[java](
        options: Handle, path: JString, names: JObjects, family_options: JLongs
    ) -> JLongs<'j> {
        let options = options.shared::<OptionSet>()?.for_descriptors();
        let path = database_dir(java, path, &*options.db.env.fs)?;
        let mut families = Families::new(java, names, family_options)?;
        let descriptors = std::mem::take(&mut families.descriptors);
        families.handles(java, optimistic(options, &path, descriptors)?)?
    }

    /// Returns the base database: the handle of the database itself. Java does not own the handle.
    fn OptimisticTransactionDB_getBaseDB[_](db: Handle) -> Handle {
        drop(database(db)?);
        db
    }

    fn TransactionDB_beginTransaction__JJ | OptimisticTransactionDB_beginTransaction__JJ[_](
        db: Handle, write: Handle
    ) -> Handle {
        begin_new(db, write, Handle::NULL)?
    }

    fn TransactionDB_beginTransaction__JJJ | OptimisticTransactionDB_beginTransaction__JJJ[_](
        db: Handle, write: Handle, options: Handle
    ) -> Handle {
        begin_new(db, write, options)?
    }

    fn TransactionDB_beginTransaction_1withOld__JJJ | OptimisticTransactionDB_beginTransaction_1withOld__JJJ[_](
        db: Handle, write: Handle, old: Handle
    ) -> Handle {
        begin_in_place(db, write, Handle::NULL, old)?
    }

    fn TransactionDB_beginTransaction_1withOld__JJJJ | OptimisticTransactionDB_beginTransaction_1withOld__JJJJ[_](
        db: Handle, write: Handle, options: Handle, old: Handle
    ) -> Handle {
        begin_in_place(db, write, options, old)?
    }

    /// Returns the transaction with a name. Returns 0 if no transaction has the name.
    fn TransactionDB_getTransactionByName[java](db: Handle, name: JString) -> Handle {
        let (db, name) = (database(db)?, java.text(name)?);
        let found = with_locks(&db)?.transaction_by_name(name.as_bytes());
        found.map_or(Handle::NULL, |txn| handles_of(&db, vec![txn])[0])
    }

    fn TransactionDB_getAllPreparedTransactions[java](db: Handle) -> JLongs<'j> {
        let db = database(db)?;
        let handles = handles_of(&db, with_locks(&db)?.all_prepared_transactions());
        java.new_longs(&handles.into_iter().map(Handle::long).collect::<Vec<_>>())?
    }

    /// Returns one lock for each column family that has locks. The result cannot hold all locks, because the key of the Java map
    /// is the column family.
    fn TransactionDB_getLockStatusData[java](db: Handle) -> JObject<'j> {
        let locks = with_locks(&*database(db)?)?.lock_status_data();
        collections::map(java, locks.iter(), |java, lock| {
            Ok((collections::long(java, i64::from(lock.family.get()))?, lock_info(java, lock)?))
        })?
    }

    fn TransactionDB_getDeadlockInfoBuffer[java](db: Handle) -> JObjects<'j> {
        let paths = with_locks(&*database(db)?)?.deadlock_info_buffer();
        java.new_objects(PATH_CLASS.get(java)?, paths.len(), |at| deadlock_path(java, &paths[at]))?
    }

    fn TransactionDB_setDeadlockInfoBufferSize[_](db: Handle, count: i32) {
        with_locks(&*database(db)?)?.set_deadlock_info_buffer_size(u32::try_from(count).unwrap_or(0));
    }
}
