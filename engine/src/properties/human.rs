//! Formats numbers for people, as RocksDB does.

/// Formats bytes as `1.50 MB`. The smallest unit is KB.
pub fn bytes(bytes: u64) -> String {
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    while unit < 3 && size >= 1024.0 {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.2} {}", UNITS[unit])
}

/// Formats a count as `9999`, `10K`, `12M` or `10G`.
pub fn number(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..10_000_000 => format!("{}K", n / 1000),
        10_000_000..10_000_000_000 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", n / 1_000_000_000),
    }
}

/// Formats microseconds as `00:01:2.500 H:M:S`.
pub fn micros(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    format!(
        "{:02}:{:02}:{:05.3} H:M:S",
        seconds / 3600,
        seconds / 60 % 60,
        (micros % 60_000_000) as f64 / 1e6
    )
}

/// Converts bytes to GiB.
pub fn gb(bytes: u64) -> f64 {
    bytes as f64 / 1_073_741_824.0
}

/// Converts bytes to MiB.
pub fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}
