//! `ThreadStatus`: the list of threads, and the names of threads, operations, stages and states.
//!
//! Facts: RocksDB `util/thread_operation.h`, `monitoring/thread_status_impl.cc`, `util/string_util.cc`.

use env::Env;
use env::thread_status::ThreadStatus;

use crate::class::{Class, Method, Value};
use crate::collections;
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JLongs, JObject, JObjects, JString, Java};
use crate::native::natives;

static STATUS: Class = Class::new("org/rocksdb/ThreadStatus");
static NEW_STATUS: Method = Class::new("org/rocksdb/ThreadStatus")
    .method("<init>", "(JBLjava/lang/String;Ljava/lang/String;BJB[JB)V");
/// The state of each thread. RocksDB's other state is the wait for one of its mutexes, which the engine does not have.
const STATE_UNKNOWN: i8 = 0;

const THREADS: [&str; 4] = ["High Pri", "Low Pri", "User", "Bottom Pri"];
const OPERATIONS: [&str; 4] = ["", "Compaction", "Flush", "DBOpen"];
const STAGES: [&str; 11] = [
    "",
    "FlushJob::Run",
    "FlushJob::WriteLevel0Table",
    "CompactionJob::Prepare",
    "CompactionJob::Run",
    "CompactionJob::ProcessKeyValueCompaction",
    "CompactionJob::Install",
    "CompactionJob::FinishCompactionOutputFile",
    "MemTableList::PickMemtablesToFlush",
    "MemTableList::RollbackMemtableFlush",
    "MemTableList::TryInstallMemtableFlushResults",
];
const STATES: [&str; 2] = ["", "Mutex Wait"];
const COMPACTION: i8 = 1;
const FLUSH: i8 = 2;

/// Makes a `String`; null for an empty text.
fn text<'j>(java: Java<'j>, text: &str) -> Outcome<JString<'j>> {
    if text.is_empty() { Ok(JString::NULL) } else { java.new_text(text) }
}

/// Returns the name of a number; null for a number without a name.
fn name<'j>(java: Java<'j>, names: &[&str], number: i32) -> Outcome<JString<'j>> {
    let name = usize::try_from(number).ok().and_then(|at| names.get(at).copied());
    text(java, name.unwrap_or(""))
}

/// Makes a `ThreadStatus` of Java.
fn status<'j>(java: Java<'j>, status: &ThreadStatus) -> Outcome<JObject<'j>> {
    let properties = status.properties.map(|value| value as i64);
    let arguments = [
        Value::long(status.thread_id as i64),
        Value::byte(status.thread_type as i8),
        text(java, &status.db_name)?.into(),
        text(java, &status.cf_name)?.into(),
        Value::byte(status.operation as i8),
        Value::long(status.elapsed_micros as i64),
        Value::byte(status.stage as i8),
        java.new_longs(&properties)?.into(),
        Value::byte(STATE_UNKNOWN),
    ];
    NEW_STATUS.construct(java, &arguments)
}

/// Returns the names of the properties of an operation.
fn properties(operation: i8) -> &'static [&'static str] {
    match operation {
        COMPACTION => &[
            "JobID",
            "InputOutputLevel",
            "Manual/Deletion/Trivial",
            "TotalInputBytes",
            "BytesRead",
            "BytesWritten",
        ],
        FLUSH => &["JobID", "BytesMemtables", "BytesWritten"],
        _ => &[],
    }
}

/// Returns the properties of an operation with their names. Two properties of a compaction have several values.
fn interpreted(operation: i8, values: &[u64]) -> Vec<(&'static str, u64)> {
    let mut pairs = Vec::new();
    for (&name, &value) in properties(operation).iter().zip(values) {
        match name {
            "InputOutputLevel" => {
                pairs.extend([("BaseInputLevel", value >> 32), ("OutputLevel", value & u64::from(u32::MAX))]);
            }
            "Manual/Deletion/Trivial" => pairs.extend([
                ("IsManual", value >> 1 & 1),
                ("IsDeletion", value >> 2 & 1),
                ("IsTrivialMove", value >> 3 & 1),
            ]),
            name => pairs.push((name, value)),
        }
    }
    pairs
}

/// Returns a time as text.
fn micros_text(micros: u64) -> String {
    let seconds = |micros: u64| micros as f64 / 1e6;
    let minutes = micros / 60_000_000;
    match micros {
        0 => String::new(),
        1..10_000 => format!("{micros} us"),
        10_000..10_000_000 => format!("{:.3} ms", micros as f64 / 1e3),
        10_000_000..60_000_000 => format!("{:.3} sec", seconds(micros)),
        60_000_000..3_600_000_000 => format!("{minutes:02}:{:05.3} M:S", seconds(micros % 60_000_000)),
        _ => format!("{:02}:{:02}:{:05.3} H:M:S", minutes / 60, minutes % 60, seconds(micros % 60_000_000)),
    }
}

natives! {
    fn Env_getThreadList[java](env: Handle) -> JObjects<'j> {
        let env = env.shared::<Env>()?.clone();
        let rows = env.executor.thread_board().list(env.clock.now_nanos());
        java.new_objects(STATUS.get(java)?, rows.len(), |at| java.framed(|java| status(java, &rows[at])))?
    }

    fn ThreadStatus_getThreadTypeName[java](kind: i8) -> JString<'j> {
        name(java, &THREADS, i32::from(kind))?
    }

    fn ThreadStatus_getOperationName[java](operation: i8) -> JString<'j> {
        name(java, &OPERATIONS, i32::from(operation))?
    }

    fn ThreadStatus_getOperationStageName[java](stage: i8) -> JString<'j> {
        name(java, &STAGES, i32::from(stage))?
    }

    fn ThreadStatus_getStateName[java](state: i8) -> JString<'j> {
        name(java, &STATES, i32::from(state))?
    }

    fn ThreadStatus_getOperationPropertyName[java](operation: i8, at: i32) -> JString<'j> {
        name(java, properties(operation), at)?
    }

    fn ThreadStatus_interpretOperationProperties[java](operation: i8, values: JLongs) -> JObject<'j> {
        let values: Vec<u64> = java.longs(values)?.into_iter().map(|value| value as u64).collect();
        collections::map(java, interpreted(operation, &values).into_iter(), |java, (name, value)| {
            Ok((java.new_text(name)?.object(), collections::long(java, value as i64)?))
        })?
    }

    fn ThreadStatus_microsToStringNative[java](micros: i64) -> JString<'j> {
        text(java, &micros_text(micros as u64))?
    }
}

#[cfg(test)]
mod tests {
    use super::micros_text;

    #[test]
    fn a_time_has_the_unit_of_its_size() {
        for (micros, text) in [
            (0, ""),
            (9_999, "9999 us"),
            (12_345, "12.345 ms"),
            (12_345_678, "12.346 sec"),
            (61_500_000, "01:1.500 M:S"),
            (3_661_500_000, "01:01:1.500 H:M:S"),
        ] {
            assert_eq!(micros_text(micros), text);
        }
    }
}
