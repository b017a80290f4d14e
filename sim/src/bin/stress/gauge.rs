//! The resources of the process: memory, handles, threads, disk.

use std::path::Path;

/// The use of resources at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    /// Bytes that are allocated and not freed, in KiB.
    pub heap_kb: u64,
    pub rss_kb: u64,
    pub handles: u64,
    pub threads: u64,
    /// The size of all files, files in `lost/` and in the archive included, in KiB.
    pub disk_kb: u64,
}

impl Gauge {
    /// Returns the larger value of each resource.
    pub fn most(self, other: Gauge) -> Gauge {
        Gauge {
            heap_kb: self.heap_kb.max(other.heap_kb),
            rss_kb: self.rss_kb.max(other.rss_kb),
            handles: self.handles.max(other.handles),
            threads: self.threads.max(other.threads),
            disk_kb: self.disk_kb.max(other.disk_kb),
        }
    }
}

/// Measures this process and the files in `dir`. A number that cannot be read is 0.
pub fn read(dir: &Path) -> Gauge {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(name));
        line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    let entries = |dir: &str| std::fs::read_dir(dir).map_or(0, |d| d.count() as u64);
    Gauge {
        heap_kb: ironstone_fuzz::meter::held() as u64 / 1024,
        rss_kb: number("VmRSS:"),
        handles: entries("/proc/self/fd"),
        threads: number("Threads:"),
        disk_kb: size(dir) / 1024,
    }
}

/// Returns the bytes of all files in a directory and its subdirectories.
pub fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|e| Some((e.metadata().ok()?, e.path())));
    sizes.map(|(about, path)| if about.is_dir() { size(&path) } else { about.len() }).sum()
}
