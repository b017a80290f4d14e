//! Checks of the files on disk, on the user's request.

use std::path::Path;

use base::stats::{HistogramKind, Statistics, Stopwatch, Ticker};
use base::{Error, Result};
use env::fs::{RandomRead, ReadHints};
use format::edit::CRC32C_CHECKSUM_FUNC_NAME;
use kernel::checksum::crc32c;
use table::dump;
use table::sst::ReadLimits;

use super::{Db, Files};
use crate::options::ReadOptions;

/// Bytes of one read, unless the read options set `readahead_size`.
const READ: usize = 256 << 10;

/// Works like [`Files::verify_checksum`]. `readahead_size`, `deadline`, `io_timeout` and `rate_limiter_priority` of the
/// options concern the reads of the files. The other options have no effect.
///
/// # Errors
/// The errors of [`Files::verify_checksum`]. TimedOut after the deadline, or if a read takes longer than `io_timeout`.
pub fn verify_checksum(db: &Db, options: &ReadOptions) -> Result<()> {
    let ctx = table::sst::ReadCtx {
        fill_cache: false,
        histogram: HistogramKind::FileReadVerifyDbChecksumMicros,
        readahead_size: options.readahead_size,
        limits: db.inner.tables.limits(options),
        ..Default::default()
    };
    for family in db.families() {
        let super_version = family.pin_owned();
        for (level, file) in super_version.version.files() {
            let (table, counted) =
                db.inner.tables.open_again(&super_version.parts, level, file, ctx.histogram)?;
            let outcome = table.verify_checksums(&ctx);
            db.inner.tools.stats.add(Ticker::VerifyChecksumReadBytes, counted.bytes());
            outcome?;
        }
    }
    Ok(())
}

/// Works like [`Files::verify_file_checksums`], with the options that [`verify_checksum`] names.
///
/// # Errors
/// The errors of [`Files::verify_file_checksums`]. TimedOut after the deadline, or if a read takes longer than
/// `io_timeout`.
pub fn verify_file_checksums(db: &Db, options: &ReadOptions) -> Result<()> {
    if db.inner.tools.options.load().file_checksum_gen_factory.is_none() {
        return Err(Error::invalid_argument(
            "Cannot verify file checksum if options.file_checksum_gen_factory is null",
        ));
    }
    for family in db.families() {
        let super_version = family.pin_owned();
        for (_, file) in super_version.version.files() {
            let path = super_version.parts.table_path(file.number, file.path_id);
            let function = file.checksum.function.as_bytes();
            db.files().verify_file(&path, file.size, (&file.checksum.value, function), options)?;
        }
        for blob in super_version.version.blobs().values() {
            let path = super_version.parts.blob_path(blob.number);
            let checksum = (&blob.checksum_value[..], &blob.checksum_method[..]);
            db.files().verify_file(&path, blob.file_size(), checksum, options)?;
        }
    }
    Ok(())
}

impl Files<'_> {
    /// Reads and checks every block of every SST file of all column families. Opens each file again, so damage of the footer
    /// and of the meta blocks is found too. See [`verify_checksum`] for a deadline and a
    /// rate limit.
    ///
    /// # Errors
    /// The first Corruption, with file and offset.
    pub fn verify_checksum(&self) -> Result<()> {
        verify_checksum(self.db, &ReadOptions::default())
    }

    /// Reads every SST file and every blob file of all column families, and compares the file with its checksum in the
    /// MANIFEST (`file_checksum_gen_factory`). Skips files without a checksum. See [`verify_file_checksums`] for a deadline and a
    /// rate limit.
    ///
    /// # Errors
    /// InvalidArgument if the option `file_checksum_gen_factory` is not set, or if an unknown function made a
    /// checksum. Corruption for the first file with another checksum. Errors of the file system.
    pub fn verify_file_checksums(&self) -> Result<()> {
        verify_file_checksums(self.db, &ReadOptions::default())
    }

    /// Compares a file with its checksum, given with the name of its function.
    fn verify_file(
        &self,
        path: &Path,
        size: u64,
        (expected, function): (&[u8], &[u8]),
        options: &ReadOptions,
    ) -> Result<()> {
        if expected.is_empty() {
            return Ok(());
        }
        if function != CRC32C_CHECKSUM_FUNC_NAME.as_bytes() {
            let function = function.escape_ascii();
            return Err(Error::invalid_argument(format!(
                "no file checksum of the kind \"{function}\" is known"
            ))
            .file(path));
        }
        let tools = &self.db.inner.tools;
        let opened = tools.env.fs.open_random(path, &ReadHints::default());
        let statistics = tools.stats.statistics().map(|statistics| &**statistics);
        let limits = self.db.inner.tables.limits(options);
        let crc = Crc { limits: limits.as_deref(), statistics, readahead: options.readahead_size };
        let actual = opened.and_then(|file| crc.of(&*file, size))?.to_be_bytes();
        if actual[..] == *expected {
            return Ok(());
        }
        let (expected, actual) = (dump::hex(expected), dump::hex(&actual));
        Err(Error::corruption(format!("file checksum mismatch, expecting {expected}, but actual {actual}"))
            .file(path))
    }
}

/// How the checksum of a whole file is made.
struct Crc<'a> {
    limits: Option<&'a ReadLimits>,
    statistics: Option<&'a Statistics>,
    /// Bytes of one read. 0: [`READ`].
    readahead: usize,
}

impl Crc<'_> {
    /// Returns the checksum of a file of `size` bytes.
    fn of(&self, file: &dyn RandomRead, size: u64) -> Result<u32> {
        let each = if self.readahead > 0 { self.readahead } else { READ };
        let mut buffer = vec![0; each.min(usize::try_from(size).unwrap_or(READ).max(1))];
        let (mut at, mut crc) = (0, 0);
        loop {
            let began =
                self.statistics.filter(|statistics| statistics.timers_on()).map(|_| Stopwatch::start());
            let got = match self.limits {
                None => file.read_at(at, &mut buffer)?,
                Some(limits) => limits.around(buffer.len(), || file.read_at(at, &mut buffer))?,
            };
            if got == 0 {
                return Ok(crc);
            }
            if let Some(statistics) = self.statistics {
                count(statistics, got, began);
            }
            crc = crc32c::extend(crc, &buffer[..got]);
            at += got as u64;
        }
    }
}

fn count(statistics: &Statistics, bytes: usize, began: Option<Stopwatch>) {
    statistics.add(Ticker::VerifyChecksumReadBytes, bytes as u64);
    if let Some(began) = began {
        let micros = began.micros();
        statistics.measure_time(HistogramKind::SstReadMicros, micros);
        if statistics.detailed_timers_on() {
            statistics.measure_time(HistogramKind::FileReadVerifyFileChecksumsMicros, micros);
        }
    }
}
