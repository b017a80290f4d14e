//! WALs that an open keeps without flushing their entries (`avoid_flush_during_recovery`).

use std::path::Path;

use base::{Error, Result, WalNumber};
use env::{AppendHints, Env, ReadHints};
use format::names;
use format::proof::Extent;
use format::wal::{Item, Reader};

use super::durable::options;
use crate::files::Paths;
use crate::manifest::FileSource;

/// Makes the replayed bytes of a WAL durable, and returns the size of the file. Bytes that the previous
/// session did not sync must become durable before later writes of this session. If the proof covers the
/// whole WAL (`proved`), a sync of the file is enough, because only the end of the file may have changed.
/// Otherwise the bytes are written to a new file, which replaces the WAL. A sync of the existing file would
/// not be enough: after an earlier failed sync, the system may show bytes from memory that it takes for
/// written (Rebello and others, "Can Applications Recover from fsync Failures?", 2020). The name of the new
/// file is not durable when this function returns.
///
/// # Errors
/// An error of the file system. Corruption if the file does not hold the bytes that replay read.
pub fn keep_wal(env: &Env, paths: &Paths, whole: &Extent, proved: bool) -> Result<u64> {
    let kept = if proved { sync(env, paths, whole) } else { write_anew(env, paths, whole) };
    kept.map_err(|error| {
        if !proved {
            // Delete the incomplete copy now, because the disk may be full. If the deletion fails, the next
            // open deletes the copy.
            let _ = env.fs.unlink(&paths.wal.join(names::temp(whole.number)));
        }
        error.doing("keeping a WAL")
    })
}

fn sync(env: &Env, paths: &Paths, whole: &Extent) -> Result<u64> {
    let mut file = env.fs.reopen(&paths.wal(WalNumber::of_file(whole.number)), &AppendHints::default())?;
    file.sync()?;
    let size = file.size();
    file.close()?;
    Ok(size)
}

fn write_anew(env: &Env, paths: &Paths, whole: &Extent) -> Result<u64> {
    let number = whole.number;
    let (wal, temp) = (paths.wal(WalNumber::of_file(number)), paths.wal.join(names::temp(number)));
    let size = env.fs.copy(&wal, &temp)?;
    let found = read_through(env, WalNumber::of_file(number), &temp)?;
    if found != *whole {
        let error = format!("{} bytes of records were read of it, and now {}", whole.bytes, found.bytes);
        return Err(Error::corruption(error).file(&wal).at(found.bytes.min(whole.bytes)));
    }
    env.fs.rename(&temp, &wal)?;
    Ok(size)
}

/// Reads a WAL from its start, and returns the extent of its valid records.
fn read_through(env: &Env, wal: WalNumber, path: &Path) -> Result<Extent> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let mut reader = Reader::new(FileSource(file), options(wal));
    while matches!(
        reader.next()?,
        Item::Record { .. } | Item::TimestampSizes { .. } | Item::Predecessor { .. }
    ) {}
    Ok(Extent { number: wal.file(), bytes: reader.whole_end(), digest: Some(reader.digest()) })
}
