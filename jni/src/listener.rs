//! Event listeners of Java: `AbstractEventListener`.
//!
//! The Java object lists the events that it wants. The engine calls Java only for these events, in the thread of the job. An
//! exception of a listener does not fail the job. If a native runs in the thread, `load::callback` stores the exception for
//! this native. In a thread of the engine, the exception is printed.
//!
//! An event passes the handle of its database. An open makes a [`Bound`] for each listener of its options. When the open
//! ends, [`give_handle`] stores the handle of the database in each [`Bound`]. The handle of an earlier event, or of an event
//! after the close, is not valid: a call with this handle throws.
//!
//! Facts: RocksDB `java/rocksjni/event_listener_jnicallback.cc`, `portal.h`.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::Error;
use base::key::MAX_SEQUENCE;
use engine::event::{
    ErrorDecision, ErrorReason, Event, ExternalFileIngested, FileOperation, FlushFinished, FlushReason,
    FlushStarted, Listener, Purpose, RecoveryDecision, StallCondition, TableCreated,
};
use env::hook::Op;
use env::sync::thread_local;
use format::properties::Properties;

use crate::class::{Class, Global, Method, Value};
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JClass, JObject, JObjects, Java};
use crate::job_info::JobInfo;
use crate::load::callback;
use crate::native::natives;
use crate::{table_properties, throw};

/// A listener of Java and the set of events that it wants. Bit n is the event n of `EnabledEventCallback`.
pub struct JavaListener {
    object: Global,
    enabled: u64,
}

/// A listener bound to one database.
pub struct Bound {
    listener: Arc<JavaListener>,
    db: AtomicI64,
}

const LISTENER: &str = "org/rocksdb/AbstractEventListener";

/// An event of `EnabledEventCallback`, with the method of the listener.
struct Callback {
    bit: u32,
    method: Method,
}

macro_rules! callbacks {
    ($($name:ident $bit:literal $method:literal $descriptor:literal;)*) => {
        $(static $name: Callback =
            Callback { bit: $bit, method: Class::new(LISTENER).method($method, $descriptor) };)*
    };
}

callbacks! {
    FLUSH_COMPLETED 0 "onFlushCompletedProxy" "(JLorg/rocksdb/FlushJobInfo;)V";
    FLUSH_BEGIN 1 "onFlushBeginProxy" "(JLorg/rocksdb/FlushJobInfo;)V";
    TABLE_DELETED 2 "onTableFileDeleted" "(Lorg/rocksdb/TableFileDeletionInfo;)V";
    COMPACTION_BEGIN 3 "onCompactionBeginProxy" "(JLorg/rocksdb/CompactionJobInfo;)V";
    COMPACTION_COMPLETED 4 "onCompactionCompletedProxy" "(JLorg/rocksdb/CompactionJobInfo;)V";
    TABLE_CREATED 5 "onTableFileCreated" "(Lorg/rocksdb/TableFileCreationInfo;)V";
    TABLE_CREATION_STARTED 6 "onTableFileCreationStarted" "(Lorg/rocksdb/TableFileCreationBriefInfo;)V";
    MEMTABLE_SEALED 7 "onMemTableSealed" "(Lorg/rocksdb/MemTableInfo;)V";
    FAMILY_HANDLE_DELETED 8 "onColumnFamilyHandleDeletionStarted" "(Lorg/rocksdb/ColumnFamilyHandle;)V";
    FILE_INGESTED 9 "onExternalFileIngestedProxy" "(JLorg/rocksdb/ExternalFileIngestionInfo;)V";
    BACKGROUND_ERROR 10 "onBackgroundErrorProxy" "(BLorg/rocksdb/Status;)V";
    STALL_CHANGED 11 "onStallConditionsChanged" "(Lorg/rocksdb/WriteStallInfo;)V";
    FILE_READ 12 "onFileReadFinish" "(Lorg/rocksdb/FileOperationInfo;)V";
    FILE_WRITTEN 13 "onFileWriteFinish" "(Lorg/rocksdb/FileOperationInfo;)V";
    FILE_FLUSHED 14 "onFileFlushFinish" "(Lorg/rocksdb/FileOperationInfo;)V";
    FILE_SYNCED 15 "onFileSyncFinish" "(Lorg/rocksdb/FileOperationInfo;)V";
    FILE_RANGE_SYNCED 16 "onFileRangeSyncFinish" "(Lorg/rocksdb/FileOperationInfo;)V";
    FILE_TRUNCATED 17 "onFileTruncateFinish" "(Lorg/rocksdb/FileOperationInfo;)V";
    FILE_CLOSED 18 "onFileCloseFinish" "(Lorg/rocksdb/FileOperationInfo;)V";
    WATCHES_FILE_IO 19 "shouldBeNotifiedOnFileIO" "()Z";
    RECOVERY_BEGIN 20 "onErrorRecoveryBeginProxy" "(BLorg/rocksdb/Status;)Z";
    RECOVERY_COMPLETED 21 "onErrorRecoveryCompleted" "(Lorg/rocksdb/Status;)V";
}

macro_rules! infos {
    ($($name:ident $class:literal $descriptor:literal;)*) => {
        $(static $name: Method = Class::new(concat!("org/rocksdb/", $class)).method("<init>", $descriptor);)*
    };
}

infos! {
    FLUSH_INFO "FlushJobInfo"
        "(JLjava/lang/String;Ljava/lang/String;JIZZJJLorg/rocksdb/TableProperties;B)V";
    DELETION_INFO "TableFileDeletionInfo" "(Ljava/lang/String;Ljava/lang/String;ILorg/rocksdb/Status;)V";
    CREATION_INFO "TableFileCreationInfo" "(JLorg/rocksdb/TableProperties;Lorg/rocksdb/Status;Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;IB)V";
    CREATION_BRIEF_INFO "TableFileCreationBriefInfo"
        "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;IB)V";
    COMPACTION_INFO "CompactionJobInfo" "(J)V";
    MEMTABLE_INFO "MemTableInfo" "(Ljava/lang/String;JJJJ)V";
    FAMILY_HANDLE "ColumnFamilyHandle" "(J)V";
    INGESTION_INFO "ExternalFileIngestionInfo"
        "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;JLorg/rocksdb/TableProperties;)V";
    STALL_INFO "WriteStallInfo" "(Ljava/lang/String;BB)V";
    FILE_INFO "FileOperationInfo" "(Ljava/lang/String;JJJJLorg/rocksdb/Status;)V";
}

thread_local! {
    /// The listeners of the open that runs in this thread.
    static OPENING: RefCell<Vec<Arc<Bound>>> = const { RefCell::new(Vec::new()) };
}

/// Makes an array of the Java objects of listeners.
///
/// # Errors
/// OutOfMemoryError.
pub fn objects<'j>(java: Java<'j>, listeners: &[Arc<JavaListener>]) -> Outcome<JObjects<'j>> {
    let class: JClass<'j> = crate::load::find_class(java, LISTENER)?;
    java.new_objects(class, listeners.len(), |at| listeners[at].object.local(java))
}

/// Makes a [`Bound`] for each listener. They belong to the database that this thread opens next.
pub fn bind(listeners: &[Arc<JavaListener>]) -> Vec<Arc<dyn Listener>> {
    let bind =
        |listener: &Arc<JavaListener>| Arc::new(Bound { listener: listener.clone(), db: AtomicI64::new(0) });
    let bound: Vec<_> = listeners.iter().map(bind).collect();
    OPENING.set(bound.clone());
    bound.into_iter().map(|listener| listener as Arc<dyn Listener>).collect()
}

/// Returns the listeners of the open that just ended in this thread.
pub fn take_bound() -> Vec<Arc<Bound>> {
    OPENING.take()
}

/// Stores the handle of the database in its listeners.
pub fn give_handle(listeners: &[Arc<Bound>], db: Handle) {
    for listener in listeners {
        listener.db.store(db.long(), Ordering::Relaxed);
    }
}

/// Notifies the listeners that a program closes the handle of a column family.
pub fn family_handle_closes(listeners: &[Arc<Bound>], family: Handle) {
    for listener in listeners {
        listener.call(&FAMILY_HANDLE_DELETED, |java| {
            Ok(vec![FAMILY_HANDLE.construct(java, &[Value::long(family.long())])?.into()])
        });
    }
}

fn path_text<'j>(java: Java<'j>, path: &Path) -> Outcome<Value> {
    Ok(java.new_text(&path.to_string_lossy())?.into())
}

/// Returns the directory of a file as text. RocksDB uses the directory as the name of the database.
fn dir_text<'j>(java: Java<'j>, path: &Path) -> Outcome<Value> {
    path_text(java, path.parent().unwrap_or(Path::new("")))
}

fn status<'j>(java: Java<'j>, error: Option<&Error>) -> Outcome<Value> {
    Ok(throw::status(java, error)?.into())
}

fn properties<'j>(java: Java<'j>, properties: Option<&Properties>) -> Outcome<Value> {
    let object = match properties {
        Some(properties) => table_properties::object(java, properties)?,
        None => table_properties::object(java, &Properties::default())?,
    };
    Ok(object.into())
}

/// Returns the number of a flush reason. RocksDB uses the number 7 only in tests.
fn flush_reason(reason: FlushReason) -> i8 {
    let number = reason as i8;
    if number < 7 { number } else { number + 1 }
}

/// Returns the number of a reason in `BackgroundErrorReason`. Java has names for the first four reasons only, so the other
/// reasons are reported as `FLUSH`.
fn error_reason(reason: ErrorReason) -> i8 {
    let number = reason as i8;
    if number < 4 { number } else { ErrorReason::Flush as i8 }
}

/// Returns the number of a purpose in `TableFileCreationReason`.
fn creation_reason(purpose: Purpose) -> i8 {
    match purpose {
        Purpose::Flush => 0,
        Purpose::Compaction => 1,
        Purpose::Open => 2,
    }
}

fn stall_number(stall: StallCondition) -> i8 {
    match stall {
        StallCondition::Delayed => 0,
        StallCondition::Stopped => 1,
        StallCondition::Normal => 2,
    }
}

fn flush_info<'j>(java: Java<'j>, arguments: &mut [Value; 11]) -> Outcome<JObject<'j>> {
    match FLUSH_INFO.construct(java, &arguments[..]) {
        Ok(info) => Ok(info),
        // An older release may have no name for a newer reason.
        Err(_) => {
            java.clear_exception();
            arguments[10] = Value::byte(0);
            FLUSH_INFO.construct(java, &arguments[..])
        }
    }
}

/// Returns true if the level-0 files reach the trigger that slows writes. The trigger that stops writes is not lower.
fn slows_writes(stall: StallCondition) -> bool {
    stall != StallCondition::Normal
}

/// The file and its sequence numbers are not known yet: the number of the file is 0, and the smallest sequence number is the
/// largest that exists, as in RocksDB.
fn flush_started<'j>(java: Java<'j>, e: &FlushStarted) -> Outcome<JObject<'j>> {
    let mut arguments = [
        Value::long(i64::from(e.family.id.get())),
        java.new_text(&e.family.name)?.into(),
        path_text(java, &e.path)?,
        Value::long(env::posix::thread_id() as i64),
        Value::int(e.job.get() as i32),
        Value::bool(slows_writes(e.stall)),
        Value::bool(e.stall == StallCondition::Stopped),
        Value::long(MAX_SEQUENCE.get() as i64),
        Value::long(0),
        properties(java, None)?,
        Value::byte(flush_reason(e.reason)),
    ];
    flush_info(java, &mut arguments)
}

fn flush_finished<'j>(java: Java<'j>, e: &FlushFinished) -> Outcome<JObject<'j>> {
    let mut arguments = [
        Value::long(i64::from(e.family.id.get())),
        java.new_text(&e.family.name)?.into(),
        path_text(java, e.path.as_deref().unwrap_or(Path::new("")))?,
        Value::long(env::posix::thread_id() as i64),
        Value::int(e.job.get() as i32),
        Value::bool(slows_writes(e.stall)),
        Value::bool(e.stall == StallCondition::Stopped),
        Value::long(e.smallest_seqno.get() as i64),
        Value::long(e.largest_seqno.get() as i64),
        properties(java, e.properties.as_deref())?,
        Value::byte(flush_reason(e.reason)),
    ];
    flush_info(java, &mut arguments)
}

fn table_created<'j>(java: Java<'j>, e: &TableCreated) -> Outcome<JObject<'j>> {
    CREATION_INFO.construct(
        java,
        &[
            Value::long(e.file_size as i64),
            properties(java, e.properties.as_deref())?,
            status(java, e.error.as_ref())?,
            dir_text(java, &e.path)?,
            java.new_text(&e.family.name)?.into(),
            path_text(java, &e.path)?,
            Value::int(e.job.get() as i32),
            Value::byte(creation_reason(e.purpose)),
        ],
    )
}

fn ingested<'j>(java: Java<'j>, e: &ExternalFileIngested) -> Outcome<JObject<'j>> {
    INGESTION_INFO.construct(
        java,
        &[
            java.new_text(&e.family.name)?.into(),
            path_text(java, &e.external_file_path)?,
            path_text(java, &e.internal_file_path)?,
            Value::long(e.global_seqno.get() as i64),
            properties(java, Some(&e.properties))?,
        ],
    )
}

impl Bound {
    fn wants(&self, event: &Callback) -> bool {
        self.listener.enabled & (1 << event.bit) != 0
    }

    /// Calls a method of the listener with the arguments that `arguments` makes, if the listener wants the event.
    fn call<'a>(
        &self,
        event: &'static Callback,
        arguments: impl FnOnce(Java<'_>) -> Outcome<Vec<Value>> + 'a,
    ) {
        if self.wants(event) {
            callback(|java| {
                let arguments = arguments(java)?;
                event.method.call(java, self.listener.object.object(java), &arguments)
            });
        }
    }

    /// Calls a method with the handle of the database and one object.
    fn call_with_db<'a>(
        &self,
        event: &'static Callback,
        info: impl for<'j> FnOnce(Java<'j>) -> Outcome<JObject<'j>> + 'a,
    ) {
        let db = self.db.load(Ordering::Relaxed);
        self.call(event, |java| Ok(vec![Value::long(db), info(java)?.into()]));
    }

    /// Calls a method with a description of a compaction. Closes the handle of the description after the call.
    fn call_with_job(&self, event: &'static Callback, info: impl FnOnce() -> JobInfo) {
        if self.wants(event) {
            let handle = Handle::new(info());
            self.call_with_db(event, |java| COMPACTION_INFO.construct(java, &[Value::long(handle.long())]));
            handle.close();
        }
    }

    /// Calls a method that returns a boolean.
    fn ask<'a>(
        &self,
        event: &'static Callback,
        arguments: impl FnOnce(Java<'_>) -> Outcome<Vec<Value>> + 'a,
    ) -> Option<bool> {
        self.wants(event)
            .then(|| {
                callback(|java| {
                    let arguments = arguments(java)?;
                    event.method.call_bool(java, self.listener.object.object(java), &arguments)
                })
            })
            .flatten()
    }

    fn on_files(&self, event: &Event) {
        match event {
            Event::TableCreationStarted { job, family, path, purpose, .. } => {
                let reason = creation_reason(*purpose);
                self.call(&TABLE_CREATION_STARTED, |java| {
                    let arguments = [
                        dir_text(java, path)?,
                        java.new_text(&family.name)?.into(),
                        path_text(java, path)?,
                        Value::int(job.get() as i32),
                        Value::byte(reason),
                    ];
                    Ok(vec![CREATION_BRIEF_INFO.construct(java, &arguments)?.into()])
                });
            }
            Event::TableCreated(e) => {
                self.call(&TABLE_CREATED, |java| Ok(vec![table_created(java, e)?.into()]));
            }
            Event::FileDeleted { job, path, error, .. } => self.call(&TABLE_DELETED, |java| {
                let arguments = [
                    dir_text(java, path)?,
                    path_text(java, path)?,
                    Value::int(job.get() as i32),
                    status(java, error.as_ref())?,
                ];
                Ok(vec![DELETION_INFO.construct(java, &arguments)?.into()])
            }),
            Event::ExternalFileIngested(e) => self.call_with_db(&FILE_INGESTED, |java| ingested(java, e)),
            _ => {}
        }
    }
}

impl Listener for Bound {
    fn on_event(&self, event: &Event) {
        match event {
            Event::FlushStarted(e) => self.call_with_db(&FLUSH_BEGIN, |java| flush_started(java, e)),
            Event::FlushFinished(e) => self.call_with_db(&FLUSH_COMPLETED, |java| flush_finished(java, e)),
            // RocksDB makes no such call for `compactFiles`.
            Event::CompactionStarted(e) if e.by_compact_files => {}
            Event::CompactionFinished(e) if e.details.by_compact_files => {}
            Event::CompactionStarted(e) => self.call_with_job(&COMPACTION_BEGIN, || JobInfo::started(e)),
            Event::CompactionFinished(e) => {
                self.call_with_job(&COMPACTION_COMPLETED, || JobInfo::new(e.clone()));
            }
            Event::MemtableSealed { family, first_sequence, earliest_sequence, num_entries, num_deletes } => {
                let numbers = [first_sequence.get(), earliest_sequence.get(), *num_entries, *num_deletes];
                self.call(&MEMTABLE_SEALED, |java| {
                    let mut arguments = vec![Value::from(java.new_text(&family.name)?)];
                    arguments.extend(numbers.map(|number| Value::long(number as i64)));
                    Ok(vec![MEMTABLE_INFO.construct(java, &arguments)?.into()])
                });
            }
            Event::StallChanged { family, from, to } => self.call(&STALL_CHANGED, |java| {
                let (to, from) = (Value::byte(stall_number(*to)), Value::byte(stall_number(*from)));
                let arguments = [java.new_text(&family.name)?.into(), to, from];
                Ok(vec![STALL_INFO.construct(java, &arguments)?.into()])
            }),
            Event::RecoveredFromError { old, .. } => {
                self.call(&RECOVERY_COMPLETED, |java| Ok(vec![status(java, Some(old))?]));
            }
            _ => self.on_files(event),
        }
    }

    /// Notifies the listener of a background error. A Java listener cannot suppress the error, because its `Status` is a copy.
    fn on_background_error(&self, reason: ErrorReason, error: &Error) -> ErrorDecision {
        self.call(&BACKGROUND_ERROR, |java| {
            Ok(vec![Value::byte(error_reason(reason)), status(java, Some(error))?])
        });
        ErrorDecision::Keep
    }

    fn on_recovery_begin(&self, reason: ErrorReason, error: &Error) -> RecoveryDecision {
        let answer = self.ask(&RECOVERY_BEGIN, |java| {
            Ok(vec![Value::byte(error_reason(reason)), status(java, Some(error))?])
        });
        if answer == Some(false) { RecoveryDecision::Veto } else { RecoveryDecision::Start }
    }

    fn watches_file_io(&self) -> bool {
        self.ask(&WATCHES_FILE_IO, |_| Ok(Vec::new())) == Some(true)
    }

    fn on_file_io(&self, operation: &FileOperation<'_>) {
        let event = match operation.op {
            Op::Read => &FILE_READ,
            Op::Append => &FILE_WRITTEN,
            Op::Flush => &FILE_FLUSHED,
            Op::Sync => &FILE_SYNCED,
            Op::RangeSync => &FILE_RANGE_SYNCED,
            Op::Truncate => &FILE_TRUNCATED,
            Op::Close => &FILE_CLOSED,
            _ => return,
        };
        self.call(event, |java| {
            let arguments = [
                path_text(java, operation.path)?,
                Value::long(operation.offset as i64),
                Value::long(operation.bytes as i64),
                Value::long(operation.start_nanos as i64),
                Value::long(operation.nanos as i64),
                status(java, operation.error)?,
            ];
            Ok(vec![FILE_INFO.construct(java, &arguments)?.into()])
        });
    }
}

natives! {
    fn AbstractEventListener_createNewEventListener[java, this](enabled: i64) -> Handle {
        let listener = JavaListener { object: Global::new(java, this)?, enabled: enabled as u64 };
        Handle::new(Arc::new(listener))
    }

    fn AbstractEventListener_disposeInternal[_](listener: Handle) {
        listener.close_as::<Arc<JavaListener>>();
    }
}
