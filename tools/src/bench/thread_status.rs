//! The table of threads that `--thread_status_per_interval` prints. Facts: RocksDB `tools/db_bench_tool.cc`
//! (`PrintThreadStatus`), `monitoring/thread_status_impl.cc`.

use std::fmt::Write;

use env::Env;
use env::thread_status::{Operation, ThreadStatus};

/// Returns the state of the threads of all pools, one line for each thread, in RocksDB's columns.
pub fn table(env: &Env) -> String {
    let mut out = format!(
        "\n{:>18} {:>10} {:>12} {:>20} {:>13} {:>45} {:>12} {}\n",
        "ThreadID",
        "ThreadType",
        "cfName",
        "Operation",
        "ElapsedTime",
        "Stage",
        "State",
        "OperationProperties"
    );
    for status in env.executor.thread_board().list(env.clock.now_nanos()) {
        line(&mut out, &status);
    }
    out
}

/// Adds the line of one thread. The column `State` is empty: no thread of Ironstone reports that it waits for a mutex.
fn line(out: &mut String, status: &ThreadStatus) {
    // A write to a text does not fail.
    let _ = write!(
        out,
        "{:>18} {:>10} {:>12} {:>20} {:>13} {:>45} {:>12}",
        status.thread_id,
        status.thread_type.name(),
        status.cf_name,
        status.operation.name(),
        duration(status.elapsed_micros),
        status.stage.name(),
        ""
    );
    for (name, value) in properties(status) {
        let _ = write!(out, " {name} {value} |");
    }
    out.push('\n');
}

/// Returns the properties of an operation in the order of their names.
fn properties(status: &ThreadStatus) -> Vec<(&'static str, u64)> {
    let [job, second, third, input, read, written] = status.properties;
    match status.operation {
        Operation::Unknown => Vec::new(),
        Operation::Flush => vec![("BytesMemtables", second), ("BytesWritten", third), ("JobID", job)],
        Operation::Compaction => vec![
            ("BaseInputLevel", second >> 32),
            ("BytesRead", read),
            ("BytesWritten", written),
            ("IsDeletion", third >> 2 & 1),
            ("IsManual", third >> 1 & 1),
            ("IsTrivialMove", third >> 3 & 1),
            ("JobID", job),
            ("OutputLevel", second & u64::from(u32::MAX)),
            ("TotalInputBytes", input),
        ],
    }
}

/// Returns a duration as text. Returns an empty text for 0.
fn duration(micros: u64) -> String {
    let seconds = micros as f64 / 1e6;
    match micros {
        0 => String::new(),
        1..10_000 => format!("{micros} us"),
        10_000..10_000_000 => format!("{:.3} ms", micros as f64 / 1e3),
        10_000_000..60_000_000 => format!("{seconds:.3} sec"),
        60_000_000..3_600_000_000 => {
            format!("{:02}:{:05.3} M:S", micros / 60_000_000, seconds % 60.0)
        }
        _ => format!(
            "{:02}:{:02}:{:05.3} H:M:S",
            micros / 3_600_000_000,
            micros / 60_000_000 % 60,
            seconds % 60.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use env::thread_status::{Stage, ThreadType};

    use super::*;

    #[test]
    fn a_line_has_the_columns_of_rocksdb() {
        let mut status = ThreadStatus {
            thread_id: 42,
            thread_type: ThreadType::Low,
            db_name: "/db".to_string(),
            cf_name: "default".to_string(),
            operation: Operation::Compaction,
            elapsed_micros: 12_345,
            stage: Stage::CompactionProcessKv,
            properties: [7, 1 << 32 | 2, 8 | 2, 500, 400, 300],
        };
        let mut out = String::new();
        line(&mut out, &status);
        let expected = "                42    Low Pri      default           Compaction     12.345 ms      \
                        CompactionJob::ProcessKeyValueCompaction              BaseInputLevel 1 | BytesRead 400 | \
                        BytesWritten 300 | IsDeletion 0 | IsManual 1 | IsTrivialMove 1 | JobID 7 | OutputLevel 2 | \
                        TotalInputBytes 500 |\n";
        assert_eq!(out, expected);
        (status.operation, status.properties) = (Operation::Flush, [7, 100, 50, 0, 0, 0]);
        let flush = [("BytesMemtables", 100), ("BytesWritten", 50), ("JobID", 7)];
        assert_eq!(properties(&status), flush);
    }

    #[test]
    fn durations_have_the_units_of_rocksdb() {
        assert_eq!(duration(0), "");
        assert_eq!(duration(9_999), "9999 us");
        assert_eq!(duration(9_999_999), "9999.999 ms");
        assert_eq!(duration(59_000_000), "59.000 sec");
        assert_eq!(duration(61_500_000), "01:1.500 M:S");
        assert_eq!(duration(3_661_500_000), "01:01:1.500 H:M:S");
    }
}
