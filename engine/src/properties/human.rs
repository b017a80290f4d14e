//! Numbers as RocksDB shows them to people.

/// `1.50 MB`; always from kilobytes on.
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

/// `9999`, `10K`, `12M`, `10G`.
pub fn number(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..10_000_000 => format!("{}K", n / 1000),
        10_000_000..10_000_000_000 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", n / 1_000_000_000),
    }
}

/// `00:01:2.500 H:M:S`.
pub fn micros(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    format!(
        "{:02}:{:02}:{:05.3} H:M:S",
        seconds / 3600,
        seconds / 60 % 60,
        (micros % 60_000_000) as f64 / 1e6
    )
}

/// Gibibytes.
pub fn gb(bytes: u64) -> f64 {
    bytes as f64 / 1_073_741_824.0
}

/// Mebibytes.
pub fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}
