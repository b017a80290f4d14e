//! What the process takes: memory, handles, threads, disk.

use std::path::Path;

#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    /// Allocated and not freed.
    pub heap_kb: u64,
    pub rss_kb: u64,
    pub handles: u64,
    pub threads: u64,
    pub disk_kb: u64,
}

pub fn read(dir: &Path) -> Gauge {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(name));
        line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    let entries = |dir: &str| std::fs::read_dir(dir).map_or(0, |d| d.count() as u64);
    let sizes = std::fs::read_dir(dir).into_iter().flatten().flatten().filter_map(|e| e.metadata().ok());
    Gauge {
        heap_kb: ironstone_fuzz::meter::held() as u64 / 1024,
        rss_kb: number("VmRSS:"),
        handles: entries("/proc/self/fd"),
        threads: number("Threads:"),
        disk_kb: sizes.map(|m| m.len()).sum::<u64>() / 1024,
    }
}
