//! Natives of RocksDB's own Java tests: `RocksDBExceptionTest`, `WriteBatchTest`, `NativeComparatorWrapperTest`.
//!
//! RocksDB's library exports these natives for its own tests. This library exports them too, so that the tests run unchanged.
//! Facts: RocksDB `java/rocksjni/rocksdb_exception_test.cc`, `write_batch_test.cc`, `native_comparator_wrapper_test.cc`.

use base::order::Order;
use base::{Error, SequenceNumber, Subcode};
use engine::batch::WriteBatch;
use format::batch::{Batch, set_sequence};

use crate::batch::BatchObject;
use crate::class::{Class, Method};
use crate::comparator::ComparatorObject;
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JBytes, JObject, Java, jni};
use crate::native::natives;
use crate::throw;

static NEW_EXCEPTION: Method =
    Class::new("org/rocksdb/RocksDBException").method("<init>", "(Ljava/lang/String;Lorg/rocksdb/Status;)V");

const MESSAGE: &str = "test message";

/// Throws an exception with a status and a separate message.
fn raise(java: Java<'_>, error: &Error) -> Fault {
    let thrown = || -> Outcome<JObject<'_>> {
        let (message, status) = (java.new_text(MESSAGE)?, throw::status(java, Some(error))?);
        NEW_EXCEPTION.construct(java, &[message.into(), status.into()])
    };
    match thrown() {
        // SAFETY: the environment belongs to this thread; the object is a Throwable.
        Ok(exception) => unsafe {
            jni!(java, Throw, exception.raw());
            Fault::Thrown
        },
        Err(fault) => fault,
    }
}

/// The result of a native that throws.
fn thrown(fault: Fault) -> Outcome<()> {
    Err(fault)
}

fn lock_timeout() -> Error {
    Error::new(base::Kind::TimedOut, "").with_subcode(Subcode::LockTimeout)
}

/// Describes the point entries of a batch in the order of a memtable: keys ascend, and sequence numbers descend.
fn contents(batch: &WriteBatch) -> base::Result<String> {
    let mut entries = Vec::new();
    let (mut seq, mut others) = (batch.sequence(), 0);
    for record in Batch::new(batch.bytes())?.records() {
        let record = record?;
        let Some((value_type, key, value)) = record.entry() else { continue };
        let [key_text, value] = [key, value].map(String::from_utf8_lossy);
        let text = match value_type {
            base::ValueType::Value => format!("Put({key_text}, {value})"),
            base::ValueType::Merge => format!("Merge({key_text}, {value})"),
            base::ValueType::Deletion => format!("Delete({key_text})"),
            base::ValueType::SingleDeletion => format!("SingleDelete({key_text})"),
            _ => {
                others += 1;
                String::new()
            }
        };
        if !text.is_empty() {
            entries.push((key.to_vec(), std::cmp::Reverse(seq), text));
        }
        seq += 1;
    }
    entries.sort();
    let mut text: String = entries.iter().map(|(_, seq, text)| format!("{text}@{}", seq.0)).collect();
    if others > 0 {
        let (expected, actual) = (batch.count(), entries.len());
        text.push_str(&format!("Err:CountMismatch(expected={expected}, actual={actual})"));
    }
    Ok(text)
}

natives! {
    fn RocksDBExceptionTest_raiseException[_]() {
        thrown(Fault::invalid(MESSAGE))?;
    }

    fn RocksDBExceptionTest_raiseExceptionWithStatusCode[java]() {
        thrown(raise(java, &Error::not_supported("")))?;
    }

    fn RocksDBExceptionTest_raiseExceptionNoMsgWithStatusCode[_]() {
        thrown(Error::not_supported("").into())?;
    }

    fn RocksDBExceptionTest_raiseExceptionWithStatusCodeSubCode[java]() {
        thrown(raise(java, &lock_timeout()))?;
    }

    fn RocksDBExceptionTest_raiseExceptionNoMsgWithStatusCodeSubCode[_]() {
        thrown(lock_timeout().into())?;
    }

    fn RocksDBExceptionTest_raiseExceptionWithStatusCodeState[java]() {
        thrown(raise(java, &Error::not_supported("test state")))?;
    }

    fn WriteBatchTest_getContents[java](batch: Handle) -> JBytes<'j> {
        java.new_bytes(contents(&batch.shared::<BatchObject>()?.batch)?.as_bytes())?
    }

    fn WriteBatchTestInternalHelper_setSequence[_](batch: Handle, seq: i64) {
        let mut object = batch.exclusive::<BatchObject>()?;
        let mut bytes = object.batch.bytes().to_vec();
        set_sequence(&mut bytes, SequenceNumber::new(seq as u64));
        object.batch = WriteBatch::from_bytes(&bytes)?;
    }

    fn WriteBatchTestInternalHelper_sequence[_](batch: Handle) -> i64 {
        batch.shared::<BatchObject>()?.batch.sequence().get() as i64
    }

    fn WriteBatchTestInternalHelper_append[_](batch: Handle, other: Handle) {
        let other = other.shared::<BatchObject>()?.batch.clone();
        batch.exclusive::<BatchObject>()?.batch.append(&other);
    }

    fn NativeComparatorWrapperTest_00024NativeStringComparatorWrapper_newStringComparator[_]() -> Handle {
        Handle::new(ComparatorObject::built_in(Order::custom(Named)))
    }
}

/// The bytewise order, with the name that the test expects.
struct Named;

impl base::order::Comparator for Named {
    fn name(&self) -> &str {
        "NativeComparatorWrapperTestStringComparator"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        a.cmp(b)
    }
}
