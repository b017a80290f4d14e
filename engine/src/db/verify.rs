//! Checks of the files on disk, on the user's request.

use base::stats::{HistogramKind, Statistics, Stopwatch, Ticker};
use base::{Error, Result};
use env::fs::{RandomRead, ReadHints};
use kernel::checksum::crc32c;
use lsm::file_meta::FileMetaData;
use table::dump;

use super::Db;
use crate::family::Parts;

/// The only function for file checksums that the engine knows, by RocksDB's name.
const CRC32C: &str = "FileChecksumCrc32c";

/// Bytes of one read.
const READ: usize = 256 << 10;

impl Db {
    /// Reads and checks every block of every SST file of all column families.
    ///
    /// # Errors
    /// The first Corruption, with file and offset.
    pub fn verify_checksum(&self) -> Result<()> {
        let ctx = table::sst::ReadCtx {
            fill_cache: false,
            histogram: HistogramKind::FileReadVerifyDbChecksumMicros,
            ..Default::default()
        };
        for family in self.families() {
            let super_version = family.pin_owned();
            for (level, file) in super_version.version.files() {
                self.inner.tables.get_for(&super_version.parts, level, file, &ctx)?.verify_checksums(&ctx)?;
            }
        }
        Ok(())
    }

    /// Reads every SST file of all column families, and compares the file with its checksum in the MANIFEST
    /// (`file_checksum_gen_factory`). Skips SST files without a checksum.
    ///
    /// # Errors
    /// InvalidArgument if the option `file_checksum_gen_factory` is not set, or if an unknown function made a
    /// checksum. Corruption for the first SST file with another checksum. Errors of the file system.
    pub fn verify_file_checksums(&self) -> Result<()> {
        if self.inner.tools.options.load().file_checksum_gen_factory.is_none() {
            return Err(Error::invalid_argument(
                "Cannot verify file checksum if options.file_checksum_gen_factory is null",
            ));
        }
        for family in self.families() {
            let super_version = family.pin_owned();
            for (_, file) in super_version.version.files() {
                self.verify_file(&super_version.parts, file)?;
            }
        }
        Ok(())
    }

    fn verify_file(&self, parts: &Parts, file: &FileMetaData) -> Result<()> {
        if file.file_checksum.is_empty() {
            return Ok(());
        }
        let path = parts.table_path(file.number, file.path_id);
        if file.file_checksum_func_name != CRC32C {
            let kind = &file.file_checksum_func_name;
            return Err(Error::invalid_argument(format!("no file checksum of the kind {kind:?} is known"))
                .file(&path));
        }
        let tools = &self.inner.tools;
        let opened = tools.env.fs.open_random(&path, &ReadHints::default());
        let statistics = tools.stats.statistics().map(|statistics| &**statistics);
        let actual = opened.and_then(|file| crc_of(&*file, statistics))?.to_be_bytes();
        if actual[..] == file.file_checksum[..] {
            return Ok(());
        }
        let (expected, actual) = (dump::hex(&file.file_checksum), dump::hex(&actual));
        Err(Error::corruption(format!("file checksum mismatch, expecting {expected}, but actual {actual}"))
            .file(&path))
    }
}

fn crc_of(file: &dyn RandomRead, statistics: Option<&Statistics>) -> Result<u32> {
    let mut buffer = vec![0; READ];
    let (mut at, mut crc) = (0, 0);
    loop {
        let began = statistics.filter(|statistics| statistics.timers_on()).map(|_| Stopwatch::start());
        let got = file.read_at(at, &mut buffer)?;
        if got == 0 {
            return Ok(crc);
        }
        if let Some(statistics) = statistics {
            count(statistics, got, began);
        }
        crc = crc32c::extend(crc, &buffer[..got]);
        at += got as u64;
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
