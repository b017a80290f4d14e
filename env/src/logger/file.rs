//! The file of the info log: one line per message. The logger starts a new file by size or age, and keeps a number of
//! old files.
//!
//! The file is `LOG` in the directory of the database, or `<path with _ for />_LOG` in `db_log_dir`. Old files have
//! the names `LOG.old.<microseconds>`. The logger buffers lines. It writes the buffer every five seconds, after each
//! line of level warn or higher, and at `flush`.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::stats::{IoCounter, IoTimer};
use base::{Arrange, Error, Result};
use parking_lot::Mutex;

use super::{AtomicLogLevel, LogLevel, Logger};
use crate::clock::Clock;
use crate::fs::{AppendHints, FileSystem, refuse_empty_path};
use crate::writer::{FileWriter, WriterOptions};

/// The conditions for a new info log file, and the limits for old files. The defaults are RocksDB's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFileOptions {
    /// The lowest level that the info log holds.
    pub level: LogLevel,
    /// The size at which a new file starts, in bytes. 0: no limit.
    pub max_log_file_size: u64,
    /// The age at which a new file starts, in seconds. 0: no limit.
    pub log_file_time_to_roll: u64,
    /// The number of files, the current file included. At least 1; default 1000.
    pub keep_log_file_num: usize,
    /// The limit for all files together, in bytes. 0: no limit. The current file then has at most 15/64 of these
    /// bytes.
    pub total_bytes_max: u64,
}

impl LogFileOptions {
    /// The limit of the current file in bytes; 0 for no limit.
    fn file_bytes_max(&self) -> u64 {
        // The last line may exceed the limit. So three old files and the current file are a little below the total.
        let total = self.total_bytes_max;
        match (self.max_log_file_size, total / 4 - total / 64) {
            (0, share) => share,
            (size, 0) => size,
            (size, share) => size.min(share),
        }
    }
}

impl Default for LogFileOptions {
    fn default() -> Self {
        LogFileOptions {
            level: LogLevel::Info,
            max_log_file_size: 0,
            log_file_time_to_roll: 0,
            keep_log_file_num: 1000,
            total_bytes_max: 0,
        }
    }
}

const FLUSH_EVERY_US: u64 = 5_000_000;
const BUFFER_BYTES: usize = 64 << 10;

/// A logger that writes the file `LOG`.
#[derive(Debug)]
pub struct FileLogger {
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    path: PathBuf,
    options: LogFileOptions,
    level: AtomicLogLevel,
    size: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None` after `close`, and if the file could not be created.
    file: Option<FileWriter>,
    opened_us: u64,
    flushed_us: u64,
    headers: Vec<String>,
    line: String,
    first_error: Option<Error>,
}

impl FileLogger {
    /// Opens the info log of the database at `db_path`. The file is in `db_log_dir`, if given, with the path of the
    /// database in its name. The directory is created. An existing file becomes `LOG.old.<micros>`, and the oldest
    /// files above `keep_log_file_num` are deleted.
    ///
    /// # Errors
    /// `IoError` if the path of the directory is empty; errors of the file system.
    pub fn open(
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        db_path: &Path,
        db_log_dir: Option<&Path>,
        options: LogFileOptions,
    ) -> Result<FileLogger> {
        refuse_empty_path(db_log_dir.unwrap_or(db_path))?;
        fs.create_dir_all(db_log_dir.unwrap_or(db_path))?;
        let path = log_path(&*fs, db_path, db_log_dir);
        let logger = FileLogger {
            fs,
            clock,
            path,
            options,
            level: AtomicLogLevel::new(options.level),
            size: AtomicU64::new(0),
            state: Mutex::new(State {
                file: None,
                opened_us: 0,
                flushed_us: 0,
                headers: Vec::new(),
                line: String::new(),
                first_error: None,
            }),
        };
        logger.start(&mut logger.state.lock())?;
        Ok(logger)
    }

    /// Returns the path of the current file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the first error of the logger, or `None`.
    pub fn error(&self) -> Option<Error> {
        self.state.lock().first_error.clone()
    }

    /// Renames the existing file, creates a new file, and deletes the oldest files.
    fn start(&self, s: &mut State) -> Result<()> {
        if self.fs.exists(&self.path)? {
            let mut micros = self.clock.now_micros();
            let old = loop {
                let old = suffixed(&self.path, &format!(".old.{micros}"));
                if !self.fs.exists(&old)? {
                    break old;
                }
                micros += 1;
            };
            match self.fs.rename(&self.path, &old) {
                // Another process deleted or renamed the file in between.
                Err(e) if e.is_not_found() => {}
                other => other?,
            }
        }
        let file = self.fs.create(&self.path, &AppendHints::default())?;
        let options = WriterOptions { buffer_bytes: BUFFER_BYTES, ..WriterOptions::default() };
        s.file = Some(FileWriter::new(file, options));
        s.opened_us = self.clock.now_micros();
        s.flushed_us = s.opened_us;
        self.size.store(0, Ordering::Relaxed);
        self.trim()
    }

    fn trim(&self) -> Result<()> {
        let (Some(dir), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(());
        };
        let prefix = format!("{}.old.", name.to_string_lossy());
        let mut old: Vec<(u64, String)> = self
            .fs
            .list(dir)?
            .into_iter()
            .filter_map(|n| Some((n.strip_prefix(&prefix)?.parse().ok()?, n)))
            .collect();
        old.arrange();
        let keep = self.options.keep_log_file_num.saturating_sub(1);
        let by_number = old.len().saturating_sub(keep);
        let too_old = by_number.max(old.len() - self.kept_by_bytes(dir, &old)?);
        for (_, name) in old.iter().take(too_old) {
            match self.fs.unlink(&dir.join(name)) {
                Err(e) if e.is_not_found() => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Returns how many of the newest old files fit into the limit for all files. A quarter of the limit is left for
    /// the current file.
    fn kept_by_bytes(&self, dir: &Path, old: &[(u64, String)]) -> Result<usize> {
        let total = self.options.total_bytes_max;
        if total == 0 {
            return Ok(old.len());
        }
        let (mut left, mut kept) = (total - total / 4, 0);
        for (_, name) in old.iter().rev() {
            let size = match self.fs.file_size(&dir.join(name)) {
                Err(e) if e.is_not_found() => 0,
                other => other?,
            };
            if size > left {
                break;
            }
            left -= size;
            kept += 1;
        }
        Ok(kept)
    }

    fn should_roll(&self, s: &State, now_us: u64) -> bool {
        let o = &self.options;
        let size = s.file.as_ref().map_or(0, FileWriter::size);
        let limit = o.file_bytes_max();
        (limit > 0 && size >= limit)
            || (o.log_file_time_to_roll > 0
                && now_us / 1_000_000 >= s.opened_us / 1_000_000 + o.log_file_time_to_roll)
    }

    fn roll(&self, s: &mut State) {
        if let Some(mut file) = s.file.take() {
            keep_first(&mut s.first_error, file.close());
        }
        let outcome = self.start(s);
        keep_first(&mut s.first_error, outcome);
        let headers = std::mem::take(&mut s.headers);
        for header in &headers {
            self.write(s, self.clock.now_micros(), format_args!("{header}"));
        }
        s.headers = headers;
    }

    fn write(&self, s: &mut State, now_us: u64, message: fmt::Arguments<'_>) {
        let _time = IoTimer::start(IoCounter::LoggerNanos);
        let mut line = std::mem::take(&mut s.line);
        line.clear();
        let offset = self.clock.local_offset_seconds(now_us / 1_000_000);
        line_start(&mut line, now_us, offset, crate::posix::thread_id());
        // Formatting into a string fails only if a `Display` of the message fails. The text before the failure is
        // written.
        let _ = line.write_fmt(message);
        if !line.ends_with('\n') {
            line.push('\n');
        }
        if let Some(file) = &mut s.file {
            let outcome = file.append(line.as_bytes());
            self.size.store(file.size(), Ordering::Relaxed);
            keep_first(&mut s.first_error, outcome);
        }
        s.line = line;
    }

    fn flush_locked(&self, s: &mut State, now_us: u64) {
        s.flushed_us = now_us;
        if let Some(file) = &mut s.file {
            let outcome = file.flush();
            keep_first(&mut s.first_error, outcome);
        }
    }
}

impl Logger for FileLogger {
    fn level(&self) -> LogLevel {
        self.level.load()
    }

    fn set_level(&self, level: LogLevel) {
        self.level.store(level);
    }

    fn log(&self, level: LogLevel, message: fmt::Arguments<'_>) {
        if level < self.level() {
            return;
        }
        let now = self.clock.now_micros();
        let s = &mut *self.state.lock();
        if s.file.is_none() {
            return;
        }
        if self.should_roll(s, now) {
            self.roll(s);
        }
        if level == LogLevel::Header {
            s.headers.push(message.to_string());
        }
        self.write(s, now, format_args!("{}{message}", level.prefix()));
        let urgent = matches!(level, LogLevel::Warn | LogLevel::Error | LogLevel::Fatal);
        if urgent || now.saturating_sub(s.flushed_us) >= FLUSH_EVERY_US {
            self.flush_locked(s, now);
        }
    }

    fn flush(&self) {
        let now = self.clock.now_micros();
        self.flush_locked(&mut self.state.lock(), now);
    }

    fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    fn close(&self) {
        let s = &mut *self.state.lock();
        if let Some(mut file) = s.file.take() {
            let outcome = file.close();
            keep_first(&mut s.first_error, outcome);
        }
    }
}

impl Drop for FileLogger {
    fn drop(&mut self) {
        self.close();
    }
}

fn keep_first(slot: &mut Option<Error>, outcome: Result<()>) {
    if let Err(e) = outcome {
        slot.get_or_insert(e);
    }
}

/// Returns the path of the info log of a database.
pub fn log_path(fs: &dyn FileSystem, db_path: &Path, db_log_dir: Option<&Path>) -> PathBuf {
    let Some(dir) = db_log_dir else { return db_path.join("LOG") };
    let absolute = fs.canonicalize(db_path).unwrap_or_else(|_| db_path.to_path_buf());
    let text = absolute.to_string_lossy();
    let mut name: String = text
        .strip_prefix('/')
        .unwrap_or(&text)
        .bytes()
        .map(|b| if b.is_ascii_alphanumeric() || b"-._".contains(&b) { char::from(b) } else { '_' })
        .collect();
    // RocksDB has 260 bytes for the name, with its suffix and a zero byte.
    name.truncate(260 - "_LOG\0".len());
    dir.join(name + "_LOG")
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Writes time and thread: `2026/11/21-22:00:00.123456 140012345678912 `.
fn line_start(out: &mut String, now_us: u64, offset_seconds: i64, thread: u64) {
    push_time(out, now_us, offset_seconds);
    push_number(out, thread, 1);
    out.push(' ');
}

/// Writes a time: `2026/11/21-22:00:00.123456 `.
pub(super) fn push_time(out: &mut String, now_us: u64, offset_seconds: i64) {
    let seconds = (now_us / 1_000_000) as i64 + offset_seconds;
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (h, m, s) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let us = (now_us % 1_000_000) as i64;
    let parts =
        [(year, 4, '/'), (month, 2, '/'), (day, 2, '-'), (h, 2, ':'), (m, 2, ':'), (s, 2, '.'), (us, 6, ' ')];
    for (number, width, behind) in parts {
        push_number(out, number.unsigned_abs(), width);
        out.push(behind);
    }
}

/// Writes a number with at least `width` digits. `format!` takes ten times as long, for the seven numbers of each
/// line.
fn push_number(out: &mut String, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 || at + width > digits.len() {
        at -= 1;
        digits[at] += (number % 10) as u8;
        number /= 10;
    }
    out.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

/// Converts days since 1970 to year, month and day. Years start in March, so that the leap day is the last day of a
/// year, and 400 years are one era (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
