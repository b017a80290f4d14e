//! Callbacks to Java during reads, recovery and transactions: `AbstractTableFilter`, `AbstractWalFilter`,
//! `AbstractTransactionNotifier`.
//!
//! Facts: RocksDB `java/rocksjni/table_filter_jnicallback.cc`, `wal_filter_jnicallback.cc`,
//! `transaction_notifier_jnicallback.cc`.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use base::{FamilyId, FileNumber};
use engine::batch::WriteBatch;
use engine::components::{WalFilter, WalFilterDecision};
use engine::options::TableFilter;
use env::sync::thread_local;
use format::batch::Batch;

use crate::batch::BatchObject;
use crate::call_options::ReadHandle;
use crate::class::{Class, Global, Method, Value};
use crate::collections;
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JString, Java};
use crate::load::callback;
use crate::native::natives;
use crate::options::OptionSet;
use crate::table_properties;

/// A WAL filter.
pub struct WalFilterObject {
    filter: Arc<dyn WalFilter>,
}

/// A notifier of transactions.
pub struct NotifierObject {
    pub notifier: Arc<JavaNotifier>,
}

static FILTER: Method =
    Class::new("org/rocksdb/TableFilter").method("filter", "(Lorg/rocksdb/TableProperties;)Z");
static WAL_FILTER_NAME: Method = Class::new("org/rocksdb/WalFilter").method("name", "()Ljava/lang/String;");
static WAL_FAMILIES: Method = Class::new("org/rocksdb/WalFilter")
    .method("columnFamilyLogNumberMap", "(Ljava/util/Map;Ljava/util/Map;)V");
static WAL_RECORD: Method =
    Class::new("org/rocksdb/AbstractWalFilter").method("logRecordFoundProxy", "(JLjava/lang/String;JJ)S");
static SNAPSHOT_CREATED: Method =
    Class::new("org/rocksdb/AbstractTransactionNotifier").method("snapshotCreated", "(J)V");

thread_local! {
    static NOTIFYING: Cell<bool> = const { Cell::new(false) };
}

/// Returns true while a transaction notifier of Java runs in this thread.
#[inline]
pub fn in_notifier() -> bool {
    NOTIFYING.get()
}

/// A WAL filter of Java.
struct JavaWalFilter {
    object: Global,
    name: String,
}

impl JavaWalFilter {
    /// Calls Java with the record and an empty batch. Returns the answer, and the batch that Java may have filled.
    fn ask(&self, wal: FileNumber, path: &Path, record: WriteBatch) -> Option<(i16, WriteBatch)> {
        let record = Handle::new(BatchObject::from_batch(record));
        let new = Handle::new(BatchObject::default());
        let answer = callback(|java| {
            let name = java.new_text(&path.to_string_lossy())?;
            let arguments = [
                Value::long(wal.get() as i64),
                name.into(),
                Value::long(record.long()),
                Value::long(new.long()),
            ];
            WAL_RECORD.call_short(java, self.object.object(java), &arguments)
        });
        record.close();
        let batch = new.take::<BatchObject>().map(|object| object.batch.clone());
        Some((answer?, batch.ok()?))
    }
}

impl WalFilter for JavaWalFilter {
    fn name(&self) -> &str {
        &self.name
    }

    fn families(&self, families: &[(FamilyId, String, FileNumber)]) {
        callback(|java| {
            let wals = collections::map(java, families.iter(), |java, (id, _, wal)| {
                Ok((collections::int(java, id.get() as i32)?, collections::long(java, wal.get() as i64)?))
            })?;
            let ids = collections::map(java, families.iter(), |java, (id, name, _)| {
                Ok((java.new_text(name)?.object(), collections::int(java, id.get() as i32)?))
            })?;
            WAL_FAMILIES.call(java, self.object.object(java), &[wals.into(), ids.into()])
        });
    }

    /// Asks the Java filter about a record. If the filter throws or returns an unknown number, recovery treats the record as
    /// corrupt, as RocksDB does.
    fn record(&self, wal: FileNumber, path: &Path, batch: &Batch<'_>) -> WalFilterDecision {
        let Ok(record) = WriteBatch::from_bytes(batch.bytes()) else {
            return WalFilterDecision::CorruptedRecord;
        };
        let Some((answer, new)) = self.ask(wal, path, record) else {
            return WalFilterDecision::CorruptedRecord;
        };
        let is_changed = answer & 0xff == 1;
        match answer >> 8 {
            0 if is_changed => WalFilterDecision::Replace(new.bytes().to_vec()),
            0 => WalFilterDecision::ContinueProcessing,
            1 => WalFilterDecision::IgnoreCurrentRecord,
            2 => WalFilterDecision::StopReplay,
            _ => WalFilterDecision::CorruptedRecord,
        }
    }
}

/// A notifier of Java.
pub struct JavaNotifier {
    object: Global,
}

impl JavaNotifier {
    /// Calls Java with the handle of a snapshot. The transaction owns the handle.
    pub fn snapshot_created(&self, snapshot: Handle) {
        let outer = NOTIFYING.replace(true);
        callback(|java| {
            SNAPSHOT_CREATED.call(java, self.object.object(java), &[Value::long(snapshot.long())])
        });
        NOTIFYING.set(outer);
    }
}

/// Asks the Java filter whether a read may skip an SST file. Returns false if the read skips the file. If the filter throws,
/// the file is skipped, as in RocksDB, and the caller of the read gets the exception.
fn is_read(object: &Global, properties: &format::properties::Properties) -> bool {
    let answer = callback(|java| {
        let properties = table_properties::object(java, properties)?;
        FILTER.call_bool(java, object.object(java), &[properties.into()])
    });
    answer.unwrap_or(false)
}

natives! {
    fn AbstractTableFilter_createNewTableFilter[java, this]() -> Handle {
        let object = Global::new(java, this)?;
        Handle::new(TableFilter::new(move |properties| is_read(&object, properties)))
    }

    fn ReadOptions_setTableFilter[_](options: ReadHandle, filter: Handle) {
        let filter = match filter.is_null() {
            true => None,
            false => Some(filter.shared::<TableFilter>()?.clone()),
        };
        options.exclusive()?.options.table_filter = filter;
    }

    fn AbstractWalFilter_createNewWalFilter[java, this]() -> Handle {
        let name = wal_filter_name(java, this)?;
        let filter = JavaWalFilter { object: Global::new(java, this)?, name };
        Handle::new(WalFilterObject { filter: Arc::new(filter) })
    }

    fn Options_setWalFilter | DBOptions_setWalFilter[_](options: Handle, filter: Handle) {
        let filter = match filter.is_null() {
            true => None,
            false => Some(filter.shared::<WalFilterObject>()?.filter.clone()),
        };
        options.exclusive::<OptionSet>()?.wal_filter = filter;
    }

    fn AbstractTransactionNotifier_createNewTransactionNotifier[java, this]() -> Handle {
        let notifier = Arc::new(JavaNotifier { object: Global::new(java, this)? });
        Handle::new(NotifierObject { notifier })
    }

    fn AbstractTransactionNotifier_disposeInternal | AbstractTransactionNotifier_disposeInternalJni[_](
        notifier: Handle
    ) {
        notifier.close_as::<NotifierObject>();
    }
}

fn wal_filter_name(java: Java<'_>, filter: crate::java::JObject<'_>) -> Outcome<String> {
    let name = WAL_FILTER_NAME.call_object(java, filter, &[])?;
    // SAFETY: the descriptor of the method returns a String.
    java.text(unsafe { JString::from_raw(name.raw()) })
}
