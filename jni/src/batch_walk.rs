//! Reading the content of a write batch: `WriteBatch.iterate` with a Java handler, and `WriteBatch.hasPut`, `hasDelete` etc.
//!
//! A handler is called for each record in order, until `shouldContinue` returns false or a method throws. The exception of the
//! method is the exception of `iterate`.
//!
//! Facts: RocksDB `db/write_batch.cc` (`WriteBatchInternal::Iterate`), `java/rocksjni/writebatchhandlerjnicallback.cc`.

use base::Error;
use format::batch::{Batch, Marker, Record};

use crate::batch::BatchObject;
use crate::class::{Class, Global, Method, Value};
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JObject, Java};
use crate::native::natives;

/// A `WriteBatch.Handler`.
struct HandlerObject {
    object: Global,
}

const fn method(name: &'static str, descriptor: &'static str) -> Method {
    Class::new("org/rocksdb/WriteBatch$Handler").method(name, descriptor)
}

static SHOULD_CONTINUE: Method = method("shouldContinue", "()Z");
static PUT: Method = method("put", "(I[B[B)V");
static MERGE: Method = method("merge", "(I[B[B)V");
static DELETE: Method = method("delete", "(I[B)V");
static SINGLE_DELETE: Method = method("singleDelete", "(I[B)V");
static DELETE_RANGE: Method = method("deleteRange", "(I[B[B)V");
static LOG_DATA: Method = method("logData", "([B)V");
static PUT_BLOB_INDEX: Method = method("putBlobIndex", "(I[B[B)V");
static BEGIN_PREPARE: Method = method("markBeginPrepare", "()V");
static END_PREPARE: Method = method("markEndPrepare", "([B)V");
static NOOP: Method = method("markNoop", "(Z)V");
static ROLLBACK: Method = method("markRollback", "([B)V");
static COMMIT: Method = method("markCommit", "([B)V");
static COMMIT_WITH_TIMESTAMP: Method = method("markCommitWithTimestamp", "([B[B)V");

static NEW_SAVE_POINT: Method = Class::new("org/rocksdb/WriteBatch$SavePoint").method("<init>", "(JJJ)V");

/// Calls a method with the number of a column family, if there is one, and byte arrays.
fn call(
    java: Java<'_>,
    object: JObject<'_>,
    method: &'static Method,
    family: Option<u32>,
    bytes: &[&[u8]],
) -> Outcome<()> {
    let mut arguments: Vec<Value> = family.map(|id| Value::int(id as i32)).into_iter().collect();
    let arrays = bytes.iter().map(|bytes| java.new_bytes(bytes)).collect::<Outcome<Vec<_>>>()?;
    arguments.extend(arrays.iter().map(|array| Value::from(array.object())));
    let answer = method.call(java, object, &arguments);
    arrays.into_iter().for_each(|array| java.forget(array.object()));
    answer
}

/// Calls the method of the handler for a record. `is_empty`: no record of the current part of the batch was shown yet.
fn show(java: Java<'_>, object: JObject<'_>, record: &Record<'_>, is_empty: bool) -> Outcome<()> {
    let family = record.family().map(|family| family.get());
    match *record {
        Record::Put { key, value, .. } => call(java, object, &PUT, family, &[key, value]),
        Record::Merge { key, operand, .. } => call(java, object, &MERGE, family, &[key, operand]),
        Record::Delete { key, .. } => call(java, object, &DELETE, family, &[key]),
        Record::SingleDelete { key, .. } => call(java, object, &SINGLE_DELETE, family, &[key]),
        Record::DeleteRange { begin, end, .. } => call(java, object, &DELETE_RANGE, family, &[begin, end]),
        Record::PutBlobIndex { key, index, .. } => call(java, object, &PUT_BLOB_INDEX, family, &[key, index]),
        Record::PutEntity { .. } | Record::TimedPut { .. } => {
            Err(Error::not_supported("a record that WriteBatch.Handler has no method for").into())
        }
        Record::LogData(blob) => call(java, object, &LOG_DATA, None, &[blob]),
        Record::Marker(marker) => match marker {
            Marker::BeginPrepare | Marker::BeginPersistedPrepare | Marker::BeginUnprepare => {
                call(java, object, &BEGIN_PREPARE, None, &[])
            }
            Marker::EndPrepare(xid) => call(java, object, &END_PREPARE, None, &[xid]),
            Marker::Commit(xid) => call(java, object, &COMMIT, None, &[xid]),
            Marker::CommitWithTimestamp { timestamp, xid } => {
                call(java, object, &COMMIT_WITH_TIMESTAMP, None, &[xid, timestamp])
            }
            Marker::Rollback(xid) => call(java, object, &ROLLBACK, None, &[xid]),
            Marker::Noop => NOOP.call(java, object, &[Value::bool(is_empty)]),
        },
    }
}

/// Returns true if the next record begins a new part of the batch.
fn ends_part(record: &Record<'_>) -> bool {
    use Marker::{Commit, CommitWithTimestamp, EndPrepare, Noop, Rollback};
    matches!(
        record,
        Record::Marker(EndPrepare(_) | Commit(_) | CommitWithTimestamp { .. } | Rollback(_) | Noop)
    )
}

/// The bits of RocksDB's `ContentFlags`.
mod content {
    /// A put.
    pub const PUT: i64 = 1 << 1;
    /// A deletion.
    pub const DELETE: i64 = 1 << 2;
    /// A single deletion.
    pub const SINGLE_DELETE: i64 = 1 << 3;
    /// A merge operand.
    pub const MERGE: i64 = 1 << 4;
    /// The marker at the start of a prepared section.
    pub const BEGIN_PREPARE: i64 = 1 << 5;
    /// The marker at the end of a prepared section.
    pub const END_PREPARE: i64 = 1 << 6;
    /// The marker of a commit.
    pub const COMMIT: i64 = 1 << 7;
    /// The marker of a rollback.
    pub const ROLLBACK: i64 = 1 << 8;
    /// A range deletion.
    pub const DELETE_RANGE: i64 = 1 << 9;
    /// A value that is a reference to a blob file.
    pub const BLOB_INDEX: i64 = 1 << 10;
    /// The marker at the start of a section of a transaction with the policy write-unprepared.
    pub const BEGIN_UNPREPARE: i64 = 1 << 11;
    /// A wide-column entity.
    pub const PUT_ENTITY: i64 = 1 << 12;
    /// A put with a write time.
    pub const TIMED_PUT: i64 = 1 << 13;
}

/// Returns the content flags of the first `count` records of the bytes of a batch. Markers and log data do not count as records. Ends
/// before the first record that does not decode, as RocksDB does.
fn flags(bytes: &[u8], count: usize) -> i64 {
    let (mut flags, mut seen) = (0, 0);
    let batch = Batch::new(bytes).ok();
    for record in batch.iter().flat_map(|batch| batch.records().map_while(Result::ok)) {
        if record.family().is_some() {
            if seen == count {
                break;
            }
            seen += 1;
        }
        flags |= match record {
            Record::Put { .. } => content::PUT,
            Record::Delete { .. } => content::DELETE,
            Record::SingleDelete { .. } => content::SINGLE_DELETE,
            Record::Merge { .. } => content::MERGE,
            Record::DeleteRange { .. } => content::DELETE_RANGE,
            Record::PutBlobIndex { .. } => content::BLOB_INDEX,
            Record::PutEntity { .. } => content::PUT_ENTITY,
            Record::TimedPut { .. } => content::TIMED_PUT,
            Record::Marker(Marker::BeginPrepare | Marker::BeginPersistedPrepare) => content::BEGIN_PREPARE,
            Record::Marker(Marker::BeginUnprepare) => content::BEGIN_UNPREPARE | content::BEGIN_PREPARE,
            Record::Marker(Marker::EndPrepare(_)) => content::END_PREPARE,
            Record::Marker(Marker::Commit(_) | Marker::CommitWithTimestamp { .. }) => content::COMMIT,
            Record::Marker(Marker::Rollback(_)) => content::ROLLBACK,
            Record::Marker(Marker::Noop) | Record::LogData(_) => 0,
        };
    }
    flags
}

/// Declares `WriteBatch.hasX`.
macro_rules! conditions {
    ($($name:ident = $bit:ident;)*) => {$(
        natives! {
            fn $name[_](handle: Handle) -> bool {
                let object = handle.shared::<BatchObject>()?;
                flags(object.bytes(), usize::MAX) & content::$bit != 0
            }
        }
    )*};
}

conditions! {
    WriteBatch_hasPut = PUT;
    WriteBatch_hasDelete = DELETE;
    WriteBatch_hasSingleDelete = SINGLE_DELETE;
    WriteBatch_hasDeleteRange = DELETE_RANGE;
    WriteBatch_hasMerge = MERGE;
    WriteBatch_hasBeginPrepare = BEGIN_PREPARE;
    WriteBatch_hasEndPrepare = END_PREPARE;
    WriteBatch_hasCommit = COMMIT;
    WriteBatch_hasRollback = ROLLBACK;
}

natives! {
    fn WriteBatch_00024Handler_createNewHandler0[java, this]() -> Handle {
        Handle::new(HandlerObject { object: Global::new(java, this)? })
    }

    /// Iterates over a copy of the batch, because the handler may change the batch.
    fn WriteBatch_iterate[java](handle: Handle, handler: Handle) {
        let (bytes, fault) = {
            let object = handle.shared::<BatchObject>()?;
            (object.bytes().to_vec(), object.error().cloned())
        };
        let handler = handler.shared::<HandlerObject>()?;
        let object = handler.object.object(java);
        let (mut is_empty, mut continues) = (true, true);
        let batch = Batch::new(&bytes).map_err(|error| fault.clone().unwrap_or(error))?;
        for record in batch.records() {
            continues = SHOULD_CONTINUE.call_bool(java, object, &[])?;
            if !continues {
                break;
            }
            let record = record?;
            show(java, object, &record, is_empty)?;
            is_empty = ends_part(&record);
        }
        // RocksDB checks the count of the batch only if the handler saw all records.
        if let Some(error) = fault.filter(|_| continues) {
            Err(error)?;
        }
    }

    /// Marks the WAL termination point: records that are added later are not written to the WAL.
    fn WriteBatch_markWalTerminationPoint[_](handle: Handle) {
        handle.exclusive::<BatchObject>()?.batch.mark_wal_termination_point();
    }

    /// Returns the WAL termination point. All its numbers are 0 if no point was marked.
    fn WriteBatch_getWalTerminationPoint[java](handle: Handle) -> JObject<'j> {
        let object = handle.shared::<BatchObject>()?;
        let (len, count) = object.batch.wal_termination_point().unwrap_or((0, 0));
        let flags = if count == 0 { 0 } else { flags(object.bytes(), count as usize) };
        NEW_SAVE_POINT.construct(java, &[Value::long(len as i64), Value::long(i64::from(count)), Value::long(flags)])?
    }
}
