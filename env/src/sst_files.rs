//! The space and the deletion of SST files, for one or more databases: RocksDB's `SstFileManager`.
//!
//! With a deletion rate, a file to delete is renamed to `<name>.trash` and deleted later, at this rate in bytes per
//! second. A large file is cut from its end by 64 MiB at a time, because a deletion of the whole file can stall the
//! discard queue of the disk. If the trash is larger than a quarter of the tracked files, files are deleted at once.
//! [`SstFileManager::collect_trash`] deletes, at an open, the trash of an earlier process.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use base::map::HashMap;
use base::stats::{Statistics, Ticker};
use base::{Error, Result};

use crate::executor::{Pool, Tag};
use crate::logger::{LogLevel, Logger};
use crate::sync::{Condvar, Mutex};
use crate::{Env, FileSystem};

#[cfg(test)]
mod tests;

const TRASH: &str = ".trash";

/// The settings of a manager. The defaults are RocksDB's defaults. All settings can be changed later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SstFileOptions {
    /// The deletion rate. 0 and negative numbers delete files at once.
    pub rate_bytes_per_sec: i64,
    /// If trash has more than this share of the tracked bytes, files are deleted at once. Default: 0.25.
    pub max_trash_db_ratio: f64,
    /// A file that is larger is cut by this number of bytes at a time. Default: 64 MiB. 0 deletes whole files.
    pub bytes_max_delete_chunk: u64,
    /// Limit for the bytes of all tracked files. A flush that reaches the limit sets a background error, which stops
    /// writes. 0, the default: no limit.
    pub max_allowed_space: u64,
    /// Bytes that a compaction leaves free below `max_allowed_space`, for flushes that end meanwhile. Default 0.
    pub compaction_buffer_size: u64,
}

impl Default for SstFileOptions {
    fn default() -> Self {
        SstFileOptions {
            rate_bytes_per_sec: 0,
            max_trash_db_ratio: 0.25,
            bytes_max_delete_chunk: 64 << 20,
            max_allowed_space: 0,
            compaction_buffer_size: 0,
        }
    }
}

/// Says when a file is deleted. See [`SstFileManager::delete`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The file is deleted.
    Done,
    /// The file is trash, which is deleted at the limited rate.
    Later,
}

/// Tracks and deletes files. Any thread may use a manager.
pub struct SstFileManager {
    env: Env,
    tag: Tag,
    state: Mutex<State>,
    empty: Condvar,
    me: Weak<SstFileManager>,
}

#[derive(Default)]
struct State {
    options: SstFileOptions,
    tracked: HashMap<PathBuf, u64>,
    total: u64,
    trash: VecDeque<(PathBuf, u64)>,
    trash_bytes: u64,
    /// Bytes that running compactions may still write.
    reserved: u64,
    /// True if a deletion job is queued or runs.
    busy: bool,
    errors: HashMap<PathBuf, Error>,
    statistics: Option<Arc<Statistics>>,
    info_log: Option<Arc<dyn Logger>>,
}

impl SstFileManager {
    /// Makes a manager that tracks no file.
    pub fn new(env: Env, options: SstFileOptions) -> Arc<SstFileManager> {
        Arc::new_cyclic(|me| SstFileManager {
            env,
            tag: Tag::fresh(),
            state: Mutex::new(State { options, ..State::default() }),
            empty: Condvar::new(),
            me: me.clone(),
        })
    }

    /// Returns a copy of the options.
    pub fn options(&self) -> SstFileOptions {
        self.state.lock().options
    }

    /// Replaces the options. Deletions that already run keep their rate until the next file.
    pub fn set_options(&self, options: SstFileOptions) {
        self.state.lock().options = options;
    }

    /// Counts the files that are deleted from the trash in these statistics from now on. An open of a database sets its
    /// statistics, so the database that was opened last counts. RocksDB: `SetStatisticsPtr`.
    pub fn set_statistics(&self, statistics: Option<Arc<Statistics>>) {
        self.state.lock().statistics = statistics;
    }

    /// Writes a line to this info log for each deleted file, each file that is moved to the trash, and each failure of a deletion.
    /// `None`, the default: no lines.
    pub fn set_info_log(&self, info_log: Option<Arc<dyn Logger>>) {
        self.state.lock().info_log = info_log;
    }

    /// Writes a line to the info log. The caller must not hold the lock of the state, because a logger may call the manager.
    fn log(&self, level: LogLevel, line: fmt::Arguments<'_>) {
        let info_log = self.state.lock().info_log.clone();
        if let Some(info_log) = info_log {
            info_log.log(level, line);
        }
    }

    /// Adds a file of `bytes` bytes. If the file is tracked already, corrects its size.
    pub fn on_add(&self, path: &Path, bytes: u64) {
        let s = &mut *self.state.lock();
        let before = s.tracked.insert(path.to_path_buf(), bytes).unwrap_or(0);
        s.total = s.total - before + bytes;
    }

    /// Removes a file that other code deleted.
    pub fn on_delete(&self, path: &Path) {
        let s = &mut *self.state.lock();
        s.total -= s.tracked.remove(path).unwrap_or(0);
    }

    /// Records the new path of a tracked file.
    pub fn on_move(&self, old: &Path, new: &Path) {
        let s = &mut *self.state.lock();
        if let Some(bytes) = s.tracked.remove(old) {
            let replaced = s.tracked.insert(new.to_path_buf(), bytes);
            s.total -= replaced.unwrap_or(0);
        }
    }

    /// Returns the bytes of all tracked files, without the trash.
    pub fn total_size(&self) -> u64 {
        self.state.lock().total
    }

    /// Returns the bytes of the files that wait in the trash.
    pub fn trash_size(&self) -> u64 {
        self.state.lock().trash_bytes
    }

    /// Returns every tracked file with its bytes.
    pub fn tracked(&self) -> HashMap<PathBuf, u64> {
        self.state.lock().tracked.clone()
    }

    /// Returns true if the tracked files and `more` bytes together reach `max_allowed_space`.
    pub fn is_space_reached(&self, more: u64) -> bool {
        let s = self.state.lock();
        let limit = s.options.max_allowed_space;
        limit > 0 && s.total.saturating_add(more) >= limit
    }

    /// Reserves space for the output of a compaction, until the reservation is dropped. Returns `None` if the output
    /// could pass `max_allowed_space`. RocksDB: `EnoughRoomForCompaction`.
    pub fn reserve(self: &Arc<Self>, bytes: u64) -> Option<SpaceReservation> {
        let s = &mut *self.state.lock();
        let needed = [s.reserved, bytes, s.options.compaction_buffer_size];
        let total = needed.into_iter().fold(s.total, u64::saturating_add);
        if s.options.max_allowed_space > 0 && total > s.options.max_allowed_space {
            return None;
        }
        s.reserved += bytes;
        Some(SpaceReservation { owner: self.clone(), bytes })
    }

    /// Returns true if the tracked files and the reservations of compactions reach `max_allowed_space`.
    pub fn is_space_reached_with_compactions(&self) -> bool {
        let reserved = self.state.lock().reserved;
        self.is_space_reached(reserved)
    }

    /// Returns the files that could not be deleted, each with its error.
    pub fn errors(&self) -> HashMap<PathBuf, Error> {
        self.state.lock().errors.clone()
    }

    /// Deletes a file now, or renames the file to trash and deletes the trash at the limited rate. In both cases the
    /// name is free afterwards.
    ///
    /// # Errors
    /// Errors of the file system; the file then stays.
    pub fn delete(&self, path: &Path) -> Result<Deletion> {
        let tracked = self.state.lock().tracked.get(path).copied();
        let size = match tracked {
            Some(bytes) => bytes,
            None => self.env.fs.file_size(path)?,
        };
        if self.at_once() {
            return self.delete_now(path);
        }
        let trash = self.free_trash_name(path)?;
        // A file system that cannot rename the file may still be able to remove it.
        if let Err(error) = self.env.fs.rename(path, &trash) {
            let line = format_args!("cannot move the file {} to the trash: {error}", path.display());
            self.log(LogLevel::Error, line);
            return self.delete_now(path);
        }
        self.log(LogLevel::Info, format_args!("moved the file {} to the trash", path.display()));
        self.on_delete(path);
        self.enqueue(trash, size);
        Ok(Deletion::Later)
    }

    fn delete_now(&self, path: &Path) -> Result<Deletion> {
        self.env.fs.unlink(path)?;
        self.on_delete(path);
        self.log(LogLevel::Info, format_args!("deleted the file {} at once", path.display()));
        Ok(Deletion::Done)
    }

    /// Deletes the trash that an earlier process left in a directory, at the limited rate. Skips the files that this manager has queued:
    /// a database that is closed leaves its trash to its manager. Trash that cannot be deleted stays, with a line in the info log.
    ///
    /// # Errors
    /// An error of listing the directory.
    pub fn collect_trash(&self, dir: &Path) -> Result<()> {
        for name in self.env.fs.list(dir)?.into_iter().filter(|name| name.ends_with(TRASH)) {
            let path = dir.join(name);
            if self.state.lock().trash.iter().any(|(queued, _)| *queued == path) {
                continue;
            }
            let collected = self.env.fs.file_size(&path).and_then(|size| {
                if self.at_once() {
                    return self.env.fs.unlink(&path);
                }
                self.enqueue(path.clone(), size);
                Ok(())
            });
            if let Err(error) = collected {
                let line = format_args!("cannot delete {} from the trash: {error}", path.display());
                self.log(LogLevel::Error, line);
            }
        }
        Ok(())
    }

    /// Returns when the trash is empty. Runs queued jobs on this thread, if the executor has no threads.
    pub fn wait_for_empty_trash(&self) {
        loop {
            if self.state.lock().trash.is_empty() {
                return;
            }
            if self.env.executor.help() {
                continue;
            }
            let mut s = self.state.lock();
            if !s.trash.is_empty() {
                // The timeout is short, because the deletion can depend on a clock that a test moves.
                self.empty.wait_for(&mut s, std::time::Duration::from_millis(100));
            }
        }
    }

    fn at_once(&self) -> bool {
        let s = self.state.lock();
        let o = &s.options;
        o.rate_bytes_per_sec <= 0 || s.trash_bytes as f64 > s.total as f64 * o.max_trash_db_ratio
    }

    fn free_trash_name(&self, path: &Path) -> Result<PathBuf> {
        let mut number = 0;
        loop {
            let mut name = path.as_os_str().to_owned();
            if number > 0 {
                name.push(number.to_string());
            }
            name.push(TRASH);
            if !self.env.fs.exists(Path::new(&name))? {
                return Ok(name.into());
            }
            number += 1;
        }
    }

    fn enqueue(&self, trash: PathBuf, size: u64) {
        let start = {
            let s = &mut *self.state.lock();
            s.trash.push_back((trash, size));
            s.trash_bytes += size;
            !std::mem::replace(&mut s.busy, true)
        };
        if start {
            self.later(0);
        }
    }

    fn later(&self, delay_us: u64) {
        let me = self.me.clone();
        let job = Box::new(move || {
            if let Some(me) = me.upgrade() {
                me.step();
            }
        });
        match delay_us {
            0 => self.env.executor.spawn(Pool::High, self.tag, job),
            us => self.env.executor.spawn_after(us, Pool::High, self.tag, job),
        }
    }

    /// Deletes one file or one piece of a file. Plans the next step after the time that the deleted bytes take at the
    /// limited rate.
    fn step(&self) {
        let (next, options) = {
            let s = self.state.lock();
            (s.trash.front().cloned(), s.options)
        };
        let Some((path, size)) = next else {
            self.state.lock().busy = false;
            return;
        };
        let outcome = delete_some(&*self.env.fs, &path, size, options.bytes_max_delete_chunk);
        match &outcome {
            Ok(0) => self.log(LogLevel::Info, format_args!("deleted {} from the trash", path.display())),
            Ok(_) => {}
            Err(error) => {
                let line = format_args!("cannot delete {} from the trash: {error}", path.display());
                self.log(LogLevel::Error, line);
            }
        }
        let deleted = {
            let s = &mut *self.state.lock();
            let left = match outcome {
                Ok(left) => left,
                Err(e) => {
                    s.errors.insert(path, e);
                    0
                }
            };
            match s.trash.front_mut() {
                Some(front) if left > 0 => front.1 = left,
                _ => {
                    drop(s.trash.pop_front());
                    if let Some(statistics) = &s.statistics {
                        statistics.tick(Ticker::FilesDeletedFromTrashQueue);
                    }
                }
            }
            s.trash_bytes -= size - left;
            if s.trash.is_empty() {
                s.busy = false;
                self.empty.notify_all();
                return;
            }
            size - left
        };
        // The delay is at least a microsecond, so that other jobs of the pool can run. Without a rate, the trash of an earlier rate is
        // deleted at once.
        let delay = match u64::try_from(options.rate_bytes_per_sec) {
            Ok(rate) if rate > 0 => deleted.saturating_mul(1_000_000) / rate,
            _ => 0,
        };
        self.later(delay.max(1));
    }
}

/// Deletes a file, or cuts a piece off a large file. Returns the bytes that are left.
fn delete_some(fs: &dyn FileSystem, path: &Path, size: u64, chunk: u64) -> Result<u64> {
    // If the file has a second name, its content must not change.
    if chunk > 0 && size > chunk && fs.link_count(path)? == 1 {
        fs.truncate(path, size - chunk)?;
        return Ok(size - chunk);
    }
    fs.unlink(path)?;
    Ok(0)
}

/// Space that a running compaction may use. See [`SstFileManager::reserve`].
pub struct SpaceReservation {
    owner: Arc<SstFileManager>,
    bytes: u64,
}

impl Drop for SpaceReservation {
    fn drop(&mut self) {
        self.owner.state.lock().reserved -= self.bytes;
    }
}

impl Drop for SstFileManager {
    fn drop(&mut self) {
        self.env.executor.unschedule(Pool::High, self.tag);
    }
}

impl fmt::Debug for SstFileManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.state.lock();
        write!(f, "SstFileManager({} bytes, {} in trash)", s.total, s.trash_bytes)
    }
}
