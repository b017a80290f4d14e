//! Logs that stay where they are, for an opening that makes no tables of them (`avoid_flush_during_recovery`).

use std::path::Path;

use base::{Error, FileNumber, Result};
use env::{AppendHints, Env, ReadHints};
use format::names;
use format::proof::Extent;
use format::wal::{Item, Reader};

use super::durable::options;
use crate::files::Paths;
use crate::manifest::FileSource;

/// Makes durable what was read of a log, for what the session before did not sync must not be lost behind what this one
/// will: by a sync where it is `proved` that all of it was durable once, so that only the file's end may have changed since.
/// Else it is put in its own place as a new file. A sync of the file that is there would not do: one may have failed, and
/// since then the system may show bytes from memory that it takes for written (Rebello and others, "Can Applications Recover
/// from fsync Failures?", 2020). The file's size; a new name is not durable yet.
///
/// # Errors
/// Of the file system; Corruption if the file does not hold what replay read of it.
pub fn keep_log(env: &Env, paths: &Paths, whole: &Extent, proved: bool) -> Result<u64> {
    let kept = if proved { sync(env, paths, whole) } else { write_anew(env, paths, whole) };
    kept.map_err(|error| {
        if !proved {
            // What is left of a copy takes space that may be what is short; the next opening deletes it else.
            let _ = env.fs.unlink(&paths.wal.join(names::temp(FileNumber(whole.number))));
        }
        error.doing("keeping a WAL")
    })
}

fn sync(env: &Env, paths: &Paths, whole: &Extent) -> Result<u64> {
    let mut file = env.fs.reopen(&paths.wal(FileNumber(whole.number)), &AppendHints::default())?;
    file.sync()?;
    let size = file.size();
    file.close()?;
    Ok(size)
}

fn write_anew(env: &Env, paths: &Paths, whole: &Extent) -> Result<u64> {
    let number = FileNumber(whole.number);
    let (log, temp) = (paths.wal(number), paths.wal.join(names::temp(number)));
    let size = env.fs.copy(&log, &temp)?;
    let found = read_through(env, number, &temp)?;
    if found != *whole {
        let error = format!("{} bytes of records were read of it, and now {}", whole.bytes, found.bytes);
        return Err(Error::corruption(error).file(&log).at(found.bytes.min(whole.bytes)));
    }
    env.fs.rename(&temp, &log)?;
    Ok(size)
}

/// What can be read of a log from its beginning.
fn read_through(env: &Env, log: FileNumber, path: &Path) -> Result<Extent> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let mut reader = Reader::new(FileSource(file), options(log));
    while matches!(
        reader.next()?,
        Item::Record { .. } | Item::TimestampSizes { .. } | Item::Predecessor { .. }
    ) {}
    Ok(Extent { number: log.0, bytes: reader.whole_end(), digest: Some(reader.digest()) })
}
