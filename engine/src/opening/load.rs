//! Opens the SST files of a recovered database, several at a time.
//!
//! Opening an SST file is a few reads that depend on each other: footer, properties, index, filter. With a cold
//! page cache, one thread cannot keep the device busy, so up to `max_file_opening_threads` threads take files from
//! one list. There is one thread for each [`FILES_OF_A_THREAD`] files. The first error in the order of the list is
//! reported. Source: RocksDB `VersionBuilder::LoadTableHandlers`.

use std::path::Path;

use base::{Arrange, Error, Level, Result};
use lsm::table_file::TableFile;

use super::context::{Opening, Shared};
use crate::family::{Family, SuperVersion};
use crate::manifest::Recovered;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering};

/// The number of files that justifies another thread. Opening a cached file takes as long as starting a thread.
const FILES_OF_A_THREAD: usize = 8;

/// How many files of each column family are opened if `max_open_files` sets a limit.
const SOME: usize = 16;

/// The list that the threads share.
struct Loading<'a> {
    files: Vec<(&'a SuperVersion, Level, &'a TableFile)>,
    next: AtomicUsize,
    stop: AtomicBool,
    /// Each error with the index of its file in the list.
    errors: Mutex<Vec<(usize, Error)>>,
}

impl Opening {
    /// Opens SST files now, so that missing or damaged files are known. Opens every file, or only some files of each
    /// column family if `max_open_files` sets a limit.
    pub(super) fn load_tables(&self, recovered: &Recovered, shared: &Shared) -> Result<()> {
        let limit = if self.options.max_open_files == -1 { usize::MAX } else { SOME };
        let pins: Vec<Arc<SuperVersion>> =
            shared.families.all().iter().map(|family| family.pin_owned()).collect();
        // A catch-up takes over nearly all files. This thread does it, so that only new files justify other threads.
        let before = self.before.as_ref().filter(|before| before.db_id == shared.tools.db_id);
        let is_taken_over =
            |file: &TableFile| before.is_some_and(|before| shared.tables.adopt(&before.tables, file));
        let files: Vec<_> = pins
            .iter()
            .flat_map(|pin| pin.version.files().take(limit).map(|(level, file)| (&**pin, level, &**file)))
            .filter(|(_, _, file)| !is_taken_over(file))
            .collect();
        let threads_max = usize::try_from(self.options.max_file_opening_threads).unwrap_or(1).max(1);
        let threads = files.len().div_ceil(FILES_OF_A_THREAD).min(threads_max);
        let loading = Loading {
            files,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            errors: Mutex::default(),
        };
        let is_fatal = |place: usize, error: &Error| {
            let (_, _, file) = loading.files[place];
            self.options.paranoid_checks
                || (error.is_not_found() && self.other_writer().compacted_away(recovered, file.number))
        };
        let open = || {
            while !loading.stop.load(Ordering::Relaxed) {
                let place = loading.next.fetch_add(1, Ordering::Relaxed);
                let Some(&(pin, level, file)) = loading.files.get(place) else { return };
                if let Err(error) = shared.tables.get_at_open(&pin.parts, level, file) {
                    if is_fatal(place, &error) {
                        loading.stop.store(true, Ordering::Relaxed);
                    }
                    loading.errors.lock().push((place, error));
                }
            }
        };
        if threads <= 1 {
            open();
        } else {
            let jobs = (0..threads).map(|_| Box::new(open) as Box<dyn FnOnce() + Send>).collect();
            self.env.executor.run_all(jobs);
        }
        base::invariant!(
            loading.stop.load(Ordering::Relaxed)
                || loading.next.load(Ordering::Relaxed) >= loading.files.len(),
            "an open read {} of {} SST files",
            loading.next.load(Ordering::Relaxed),
            loading.files.len()
        );
        let mut errors = std::mem::take(&mut *loading.errors.lock());
        errors.arrange_by_key(|(place, _)| *place);
        for (place, error) in errors {
            let (_, _, file) = loading.files[place];
            if error.is_not_found() && self.other_writer().compacted_away(recovered, file.number) {
                return Err(Error::try_again(
                    "another process deleted obsolete SST files before this process opened them; try again",
                ));
            }
            if self.options.paranoid_checks {
                return Err(lost_table(&self.paths.manifest(recovered.number), error));
            }
            self.events.warn(format_args!("{error}"));
        }
        if self.read_only {
            for family in shared.families.all() {
                self.load_blobs(recovered, shared, &family, limit)?;
            }
        }
        Ok(())
    }

    /// Opens blob files, because a writer may delete their names while this instance reads. If a blob file does not
    /// open, only the reads of its values fail.
    fn load_blobs(
        &self,
        recovered: &Recovered,
        shared: &Shared,
        family: &Family,
        limit: usize,
    ) -> Result<()> {
        let pin = family.pin_owned();
        let before = self.before.as_ref().filter(|before| before.db_id == shared.tools.db_id);
        for number in pin.version.blobs().keys().take(limit) {
            if before.is_some_and(|before| shared.tables.blobs().adopt(before.tables.blobs(), *number)) {
                continue;
            }
            match shared.tables.blobs().get(&pin.parts, family.id(), *number, usize::MAX) {
                Err(error)
                    if error.is_not_found() && self.other_writer().dropped_blob(recovered, *number) =>
                {
                    return Err(Error::try_again(
                        "another process deleted obsolete blob files before this process opened them; try again",
                    ));
                }
                Err(error) => self.events.warn(format_args!("{error}")),
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

/// Returns the error of an SST file that does not open. If the file does not exist, the MANIFEST and the directory differ, which
/// is a corruption. A corruption also names the MANIFEST.
fn lost_table(manifest: &Path, error: Error) -> Error {
    let Some(path) = error.path() else { return error };
    if error.is_not_found() {
        let what = format!("{} names an SST file that does not exist", manifest.display());
        return Error::corruption(what).file(path);
    }
    if !error.is_corruption() {
        return error;
    }
    let what = format!("{}; {} names this SST file", error.message(), manifest.display());
    let mut named = Error::corruption(what).with_data_loss(error.data_loss()).file(path);
    if let Some(doing) = error.activity() {
        named = named.doing(doing);
    }
    match error.offset() {
        Some(offset) => named.at(offset),
        None => named,
    }
}
