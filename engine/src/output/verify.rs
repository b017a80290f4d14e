//! The checks of a written SST file: the entries that a reader finds, and the checksum of the whole file.
//!
//! A file that fails a check gets into no version: the caller deletes the file. Not here: the checks of files that a
//! version has (`db`: `verify_checksum`).

use std::path::Path;

use base::iter::InternalIterator;
use base::{Error, FileNumber, Result};
use env::fs::ReadHints;
use kernel::checksum::crc32c;
use kernel::checksum::xxh3::hash64_with_seed;
use table::any::AnyReader;
use table::sst::writer::FinishedTable;
use table::sst::{OpenOptions, ReadCtx};

use super::settings::OutputSettings;
use crate::sync::Arc;

/// Reads a new SST file again, as far as the options ask for it. `rows` is the hash of the written entries; `None` checks no
/// entries.
///
/// # Errors
/// Errors of reading. Corruption if the file differs from what was written.
pub(super) fn written(
    s: &OutputSettings,
    path: &Path,
    number: FileNumber,
    table: &FinishedTable,
    rows: Option<RowHash>,
) -> Result<()> {
    if let Some(rows) = rows {
        read_through(s, path, table.file_size, number, rows)
            .map_err(|error| error.doing("reading a new table through").file(path))?;
    }
    if !s.is_flush
        && s.parts.verify_outputs.checksum
        && let Some(crc) = table.file_checksum
    {
        verify_file(s, path, table.file_size, crc)
            .map_err(|error| error.doing("verifying a new table's checksum").file(path))?;
    }
    Ok(())
}

/// A running hash of entries in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowHash {
    hash: u64,
    rows: u64,
}

impl RowHash {
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.hash = hash64_with_seed(value, hash64_with_seed(key, self.hash));
        self.rows += 1;
    }
}

/// Reads a new table from end to end (`paranoid_file_checks`).
///
/// # Errors
/// Errors of reading. Corruption if the entries differ from the written entries.
fn read_through(
    s: &OutputSettings,
    path: &Path,
    size: u64,
    number: FileNumber,
    written: RowHash,
) -> Result<()> {
    let file = s.env.fs.open_random(path, &ReadHints::default())?;
    let options = OpenOptions {
        order: s.parts.order.clone(),
        prefix_extractor: s.parts.code.prefix_extractor.clone(),
        table: s.parts.table.clone(),
        other: s.parts.other.clone(),
        file_number: number,
        db_session_id: Arc::from(s.identity.db_session_id.as_str()),
        statistics: s.stats.statistics().cloned(),
        histogram: Some(s.purpose.reads()),
        ..OpenOptions::default()
    };
    let reader = AnyReader::open(file, size, &options)?;
    let ctx = ReadCtx {
        fill_cache: false,
        for_compaction: true,
        histogram: s.purpose.reads(),
        ..ReadCtx::default()
    };
    let mut rows = reader.iter(&ctx);
    let mut read = RowHash::default();
    rows.seek_to_first();
    while rows.valid() {
        read.add(rows.key(), rows.value());
        rows.next();
    }
    rows.status()?;
    if read == written {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "Paranoid checksums do not match: {} rows were written, {} read",
        written.rows, read.rows
    )))
}

/// Compares the bytes of the file with the checksum that was computed when the file was written.
fn verify_file(s: &OutputSettings, path: &Path, size: u64, expected: u32) -> Result<()> {
    let file = s.env.fs.open_random(path, &ReadHints::default())?;
    let mut buffer = vec![0; 256 << 10];
    let (mut at, mut crc) = (0, 0);
    while at < size {
        let got = file.read_at(at, &mut buffer)?;
        if got == 0 {
            return Err(Error::corruption(format!("the file ends after {at} bytes of {size}")));
        }
        crc = crc32c::extend(crc, &buffer[..got]);
        at += got as u64;
    }
    if crc == expected {
        return Ok(());
    }
    Err(Error::corruption(format!("the file's checksum is {crc:08x}, {expected:08x} was written")))
}
