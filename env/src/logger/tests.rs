use std::path::Path;

use super::*;
use crate::clock::{Clock, ManualClock};
use crate::fs::FileSystem;
use crate::log;
use crate::memory::MemoryFs;

const NOON: u64 = 1_795_262_400_000_123;

/// A directory of info logs, and the clock that dates them.
struct LogDirectory {
    clock: Arc<ManualClock>,
    fs: Arc<dyn FileSystem>,
}

impl LogDirectory {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(NOON));
        LogDirectory { fs: Arc::new(MemoryFs::new(clock.clone())), clock }
    }

    fn open(&self, options: LogFileOptions) -> Arc<FileLogger> {
        let clock: Arc<dyn Clock> = self.clock.clone();
        Arc::new(FileLogger::open(self.fs.clone(), clock, Path::new("/db"), None, options).unwrap())
    }

    fn text(&self, name: &str) -> String {
        let bytes = self.fs.read_all(&Path::new("/db").join(name), 1 << 20).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// Returns the lines, with `T` in place of the thread.
    fn lines(&self, name: &str) -> Vec<String> {
        let id = format!(" {} ", crate::posix::thread_id());
        self.text(name).lines().map(|l| l.replace(&id, " T ")).collect()
    }

    fn names(&self) -> Vec<String> {
        self.fs.list(Path::new("/db")).unwrap()
    }
}

#[test]
fn a_log_without_a_directory_is_rejected() {
    let w = LogDirectory::new();
    let open =
        FileLogger::open(w.fs.clone(), w.clock.clone(), Path::new(""), None, LogFileOptions::default());
    assert_eq!(open.err().map(|error| error.kind()), Some(base::Kind::IoError));
    assert!(w.fs.list(Path::new("")).unwrap_or_default().is_empty());
}

#[test]
fn lines_look_as_programs_expect() {
    let w = LogDirectory::new();
    let logger = w.open(LogFileOptions::default());
    log!(logger, Info, "RocksDB version: {}", "11.8.1");
    log!(logger, Debug, "not at this level");
    w.clock.advance(1);
    log!(logger, Warn, "[default] stalled\n");
    log!(logger, Header, "");
    logger.flush();
    assert_eq!(
        w.lines("LOG"),
        [
            "2026/11/21-12:00:00.000123 T RocksDB version: 11.8.1",
            "2026/11/21-12:00:00.000124 T [WARN] [default] stalled",
            "2026/11/21-12:00:00.000124 T ",
        ]
    );
    assert_eq!(logger.size(), w.text("LOG").len() as u64);
}

#[test]
fn lines_wait_at_most_five_seconds_and_warnings_not_at_all() {
    let w = LogDirectory::new();
    let logger = w.open(LogFileOptions::default());
    log!(logger, Info, "one");
    assert_eq!(w.text("LOG"), "");
    log!(logger, Error, "two");
    assert_eq!(w.lines("LOG").len(), 2);
    log!(logger, Info, "three");
    assert_eq!(w.lines("LOG").len(), 2);
    w.clock.advance(5_000_000);
    log!(logger, Info, "four");
    assert_eq!(w.lines("LOG").len(), 4);
    log!(logger, Info, "five");
    drop(logger);
    assert_eq!(w.lines("LOG").len(), 5);
}

#[test]
fn a_reopen_keeps_the_configured_number_of_old_files() {
    let w = LogDirectory::new();
    for i in 0..5 {
        let logger = w.open(LogFileOptions { keep_log_file_num: 3, ..Default::default() });
        log!(logger, Info, "run {i}");
        w.clock.advance(10);
    }
    assert_eq!(w.names().len(), 3);
    assert!(w.names().iter().all(|n| n == "LOG" || n.starts_with("LOG.old.1795262400000")));
    assert!(w.text("LOG").contains("run 4"));
    assert!(w.text(&w.names()[1]).contains("run 2"), "the newest old ones stay");
}

#[test]
fn all_files_together_stay_below_the_total_limit() {
    let w = LogDirectory::new();
    let logger = w.open(LogFileOptions { total_bytes_max: 8000, ..Default::default() });
    let mut rolled = 0;
    for i in 0..500 {
        log!(logger, Warn, "line {i} of sufficient length to fill the files");
        w.clock.advance(10);
        let sizes = w.names().iter().map(|name| w.text(name).len()).sum::<usize>();
        assert!(sizes <= 8000, "{sizes} bytes after line {i}");
        rolled = rolled.max(w.names().len());
    }
    assert_eq!(rolled, 4);
    assert!(
        w.text("LOG").contains("line 499") && w.names().iter().all(|name| !w.text(name).contains("line 1 "))
    );
}

#[test]
fn old_files_above_the_total_limit_are_deleted_by_the_next_open() {
    let w = LogDirectory::new();
    for i in 0..3 {
        let logger = w.open(LogFileOptions::default());
        (0..100).for_each(|_| log!(logger, Info, "run {i} without a limit"));
        w.clock.advance(10);
    }
    assert_eq!(w.names().len(), 3);
    let limit = w.text("LOG").len() as u64 * 2;
    drop(w.open(LogFileOptions { total_bytes_max: limit, ..Default::default() }));
    assert_eq!(w.names().len(), 2);
    assert!(w.text(&w.names()[1]).contains("run 2"));
}

#[test]
fn a_full_file_is_rolled_and_the_header_is_repeated() {
    let w = LogDirectory::new();
    let logger = w.open(LogFileOptions { max_log_file_size: 200, ..Default::default() });
    log!(logger, Header, "the header");
    for i in 0..6 {
        log!(logger, Info, "line {i} of sufficient length to fill the file");
    }
    logger.flush();
    assert!(w.names().len() > 2, "{:?}", w.names());
    for name in w.names() {
        assert!(w.lines(&name)[0].ends_with("the header"), "{name}");
    }
    let all: String = w.names().iter().map(|n| w.text(n)).collect();
    for i in 0..6 {
        assert!(all.contains(&format!("line {i} ")));
    }
}

#[test]
fn an_old_file_is_rolled() {
    let w = LogDirectory::new();
    let logger = w.open(LogFileOptions { log_file_time_to_roll: 60, ..Default::default() });
    log!(logger, Info, "early");
    w.clock.advance(61_000_000);
    log!(logger, Info, "late");
    logger.close();
    log!(logger, Info, "after the close");
    assert_eq!(w.names().len(), 2);
    assert!(w.text("LOG").contains("late") && !w.text("LOG").contains("early"));
}

#[test]
fn a_log_directory_gets_the_path_in_the_name() {
    let w = LogDirectory::new();
    w.fs.create_dir_all(Path::new("/data/my db")).unwrap();
    let clock: Arc<dyn Clock> = w.clock.clone();
    let logger = FileLogger::open(
        w.fs.clone(),
        clock,
        Path::new("/data/my db"),
        Some(Path::new("/logs")),
        LogFileOptions::default(),
    )
    .unwrap();
    assert_eq!(logger.path(), Path::new("/logs/data_my_db_LOG"));
}
