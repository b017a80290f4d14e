//! The report lines of `db_bench` and `filter_bench`, as rows with a unit and a figure.

/// The unit of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Operations a second: more is better.
    OperationsPerSecond,
    /// Nanoseconds for each key: less is better.
    Nanoseconds,
    /// CPU seconds of the whole process: less is better.
    CpuSeconds,
    /// Relative standard deviation of an estimate: less is better.
    Error,
    /// Bits for each key, a rate of false positives, or bytes written for each byte of data: less is better.
    Size,
}

impl Unit {
    /// Returns the name that the table shows.
    pub fn shown(self) -> &'static str {
        match self {
            Unit::OperationsPerSecond => "ops/s",
            Unit::Nanoseconds => "ns",
            Unit::CpuSeconds => "cpu s",
            Unit::Error => "err",
            Unit::Size => "size",
        }
    }

    /// Returns the ratio of `ours` to `peer`. It is above 1 if `ours` is better.
    pub fn ratio(self, ours: f64, peer: f64) -> f64 {
        match self {
            Unit::OperationsPerSecond => ours / peer,
            _ => peer / ours,
        }
    }

    /// Returns true if the row counts in the geometric mean of speeds.
    pub fn is_speed(self) -> bool {
        matches!(self, Unit::OperationsPerSecond | Unit::Nanoseconds | Unit::CpuSeconds)
    }
}

/// The name of a row and its unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub name: String,
    pub unit: Unit,
}

/// Labels of `filter_bench` whose lines are rows.
const FILTER_ROWS: [&str; 10] = [
    "Build avg ns/key",
    "Single filter net ns/op",
    "Batched, prepared net ns/op",
    "Batched, unprepared net ns/op",
    "Skewed 50% in 1% net ns/op",
    "Skewed 80% in 20% net ns/op",
    "Random filter net ns/op",
    "Bits/key stored",
    "Prelim FP rate %",
    "Average FP rate %",
];

/// Returns the rows of a report. If a name occurs again, the later rows get `#2`, `#3`, ...
pub fn parse(report: &str) -> Vec<(Row, f64)> {
    let mut rows: Vec<(Row, f64)> = Vec::new();
    let mut last = String::new();
    // The histogram of `--histogram` has the same line, for times.
    let mut is_estimate = false;
    for line in report.split(['\r', '\n']) {
        if let Some((p99, p999)) = percentiles(line) {
            let unit = Unit::Nanoseconds;
            rows.push((Row { name: format!("{last} p99"), unit }, p99));
            rows.push((Row { name: format!("{last} p99.9"), unit }, p999));
            continue;
        }
        is_estimate |= line.starts_with("Reported entry count stats");
        let estimate = || deviation(line).filter(|_| is_estimate);
        let Some((name, unit, figure)) = benchmark(line).or_else(estimate).or_else(|| filter(line)) else {
            continue;
        };
        is_estimate = false;
        let earlier = |row: &Row| row.name == name || row.name.starts_with(&format!("{name} #"));
        let name = match rows.iter().filter(|(row, _)| earlier(row)).count() {
            0 => name,
            count => format!("{name} #{}", count + 1),
        };
        last.clone_from(&name);
        rows.push((Row { name, unit }, figure));
    }
    if let Some(written) = write_amplification(report) {
        rows.push((Row { name: "bytes written / byte".to_string(), unit: Unit::Size }, written));
    }
    rows
}

/// Reads the line `Percentiles: P50: 1.5 P75: 2.0 P99: 5.5 P99.9: 21.0 ...` of `--histogram`, which follows the line of its
/// benchmark. The figures are microseconds; the result is P99 and P99.9 in nanoseconds.
fn percentiles(line: &str) -> Option<(f64, f64)> {
    let rest = line.trim().strip_prefix("Percentiles: ")?;
    let figure = |name: &str| -> Option<f64> {
        rest.split_once(name)?.1.split_whitespace().next()?.parse::<f64>().ok()
    };
    Some((figure("P99: ")? * 1000.0, figure("P99.9: ")? * 1000.0))
}

/// Reads the tickers of `--statistics`: bytes of flushes and compactions for each byte that the benchmark wrote. The WAL is not
/// counted.
fn write_amplification(report: &str) -> Option<f64> {
    let ticker = |name: &str| -> Option<f64> {
        let count =
            report.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().strip_prefix("COUNT :"));
        count?.trim().parse().ok()
    };
    let tables = ticker("rocksdb.flush.write.bytes ")? + ticker("rocksdb.compact.write.bytes ")?;
    let data = ticker("rocksdb.bytes.written ")?;
    (data > 0.0).then(|| tables / data)
}

/// Reads `fillseq : 1.234 micros/op 810372 ops/sec ...`. Slow benchmarks print too few digits of the rate, so their
/// rate is computed from the time.
fn benchmark(line: &str) -> Option<(String, Unit, f64)> {
    let (name, rest) = line.split_once(" : ").or_else(|| line.split_once(':'))?;
    let mut words = rest.split_whitespace();
    let micros: f64 = words.next()?.parse().ok()?;
    if words.next()? != "micros/op" {
        return None;
    }
    let rate: f64 = words.next()?.parse().ok()?;
    let rate = if rate < 100.0 && micros > 0.0 { 1e6 / micros } else { rate };
    Some((name.trim().to_string(), Unit::OperationsPerSecond, rate))
}

/// Reads `Average: 1000.1  StdDev: 31.2` as the relative standard deviation.
fn deviation(line: &str) -> Option<(String, Unit, f64)> {
    let mean: f64 = line.split_once("Average: ")?.1.split_whitespace().next()?.parse().ok()?;
    let deviation: f64 = line.split_once("StdDev: ")?.1.split_whitespace().next()?.parse().ok()?;
    (mean > 0.0).then(|| ("relative std. deviation".to_string(), Unit::Error, deviation / mean))
}

fn filter(line: &str) -> Option<(String, Unit, f64)> {
    let (name, rest) = line.trim_start().split_once(": ")?;
    let name = *FILTER_ROWS.iter().find(|row| **row == name)?;
    let figure = rest.split_whitespace().next()?.parse().ok()?;
    let unit = if name.contains("ns/") { Unit::Nanoseconds } else { Unit::Size };
    Some((name.to_string(), unit, figure))
}
