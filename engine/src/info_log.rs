//! Makes the limits of the info log from the options.

use env::logger::LogFileOptions;

use crate::options::DbOptions;

/// The limit of all info logs together, if the application sets no other limit.
const TOTAL_BYTES_MAX: u64 = 64 << 20;

/// Returns the limits of the info logs of a database.
///
/// If `max_log_file_size` and `keep_log_file_num` have their defaults, all info logs together have at most 64 MiB. RocksDB has no such
/// limit, and one process fills a disk with its info logs. If the application sets one of the two options, only these options limit the
/// info logs.
pub fn info_log_files(options: &DbOptions) -> LogFileOptions {
    let is_default =
        options.max_log_file_size == 0 && options.keep_log_file_num == DbOptions::default().keep_log_file_num;
    LogFileOptions {
        level: options.info_log_level,
        max_log_file_size: options.max_log_file_size as u64,
        log_file_time_to_roll: options.log_file_time_to_roll as u64,
        keep_log_file_num: options.keep_log_file_num.max(1),
        total_bytes_max: if is_default { TOTAL_BYTES_MAX } else { 0 },
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use env::clock::ManualClock;
    use env::fs::FileSystem;
    use env::log;
    use env::logger::{FileLogger, Logger};
    use env::memory::MemoryFs;

    use super::*;

    #[test]
    fn info_logs_with_default_options_never_exceed_64_mib_together() {
        let clock = Arc::new(ManualClock::new(1_795_262_400_000_000));
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new(clock.clone()));
        let dir = Path::new("/db");
        let options = info_log_files(&DbOptions::default());
        let logger = Arc::new(FileLogger::open(fs.clone(), clock.clone(), dir, None, options).unwrap());
        let text = "x".repeat(1000);
        let total = || {
            let names = fs.list(dir).unwrap();
            names.iter().map(|name| fs.file_size(&dir.join(name)).unwrap()).sum::<u64>()
        };
        // Three times the limit.
        let lines = 3 * TOTAL_BYTES_MAX / 1000;
        let mut most = 0;
        for line in 0..lines {
            log!(logger, Info, "{line} {text}");
            clock.advance(1000);
            if line % 64 == 0 {
                logger.flush();
                most = most.max(total());
            }
        }
        assert!(logger.error().is_none());
        drop(logger);
        most = most.max(total());
        assert!(most <= TOTAL_BYTES_MAX, "{most} bytes");
        assert!(most > TOTAL_BYTES_MAX / 4 * 3, "only {most} bytes: the info log forgets more than it must");
        let newest = fs.read_all(&dir.join("LOG"), 1 << 30).unwrap();
        let last = format!("{} x", lines - 1);
        assert!(String::from_utf8(newest).unwrap().contains(&last), "the newest line stays");
    }

    #[test]
    fn an_application_that_limits_its_info_logs_has_no_other_limit() {
        let of = |text: &str| {
            let mut options = DbOptions::default();
            options.update(text).unwrap();
            info_log_files(&options).total_bytes_max
        };
        assert_eq!(of("log_file_time_to_roll=60"), TOTAL_BYTES_MAX);
        assert_eq!(of("max_log_file_size=1000"), 0);
        assert_eq!(of("keep_log_file_num=10"), 0);
    }
}
