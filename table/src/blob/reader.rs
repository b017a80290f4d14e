//! One open blob file. It reads a value by its blob index.
//!
//! The reader trusts no size of a blob index. It checks that the record lies between the header and the footer before
//! it allocates memory, so an allocation is never larger than the file (before decompression).

use std::sync::Arc;

use base::stats::{
    Cause, HistogramKind, PerfCounter, PerfTimer, Statistics, Step, Stopwatch, Ticker, perf_add,
};
use base::{Error, FamilyId, Result};
use compress::Compression;
use env::fs::RandomRead;
use format::blob::{BlobRef, FOOTER_LEN, Footer, HEADER_LEN, Header, RECORD_HEADER_LEN, RecordHeader};

use super::FRAME_BYTES;
use crate::sst::ReadLimits;

/// The options to read one value.
#[derive(Clone, Copy)]
pub struct BlobAccess<'a> {
    /// True if the record header is read too, and both checksums and the key are compared.
    pub verify_checksums: bool,
    /// The limits of the file access. `None`: no limits.
    pub limits: Option<&'a ReadLimits>,
}

/// An open blob file. Any thread may use it, and reads take no lock.
#[derive(Debug)]
pub struct BlobReader {
    file: Arc<dyn RandomRead>,
    end: End,
    compression: u8,
    statistics: Option<Arc<Statistics>>,
}

/// How the file ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The file has this size, and ends with this footer.
    Finished { size: u64, footer: Footer },
    /// The file may have no footer yet, and it may grow.
    Unfinished,
}

impl BlobReader {
    /// Opens the finished blob file of column family `family`. Reads its header and its footer.
    ///
    /// # Errors
    /// Corruption, with the name of the file, if the header or the footer is damaged or belongs to another column
    /// family. Corruption for a file of the old stacked BlobDB (blobs with a TTL). Errors of the file.
    pub fn open(
        file: Arc<dyn RandomRead>,
        family: FamilyId,
        statistics: Option<Arc<Statistics>>,
    ) -> Result<BlobReader> {
        let path = file.path().to_path_buf();
        Self::open_checked(file, family, statistics).map_err(|e| e.doing("opening a blob file").file(path))
    }

    /// Opens a blob file of column family `family` whose writer may still append records, or that a crash left without a
    /// footer. Reads its header. A read of a value looks for the end of the file.
    ///
    /// # Errors
    /// Corruption, with the name of the file, if the header is damaged or belongs to another column family. Corruption for
    /// a file of the old stacked BlobDB (blobs with a TTL). Errors of the file.
    pub fn open_unfinished(
        file: Arc<dyn RandomRead>,
        family: FamilyId,
        statistics: Option<Arc<Statistics>>,
    ) -> Result<BlobReader> {
        let path = file.path().to_path_buf();
        let mut reader = BlobReader { file, end: End::Unfinished, compression: 0, statistics };
        let opened = reader.read_header(family).map(|()| reader);
        opened.map_err(|e| e.doing("opening a blob file").file(path))
    }

    fn open_checked(
        file: Arc<dyn RandomRead>,
        family: FamilyId,
        statistics: Option<Arc<Statistics>>,
    ) -> Result<BlobReader> {
        let size = file.size()?;
        if size < FRAME_BYTES {
            return Err(Error::corruption(format!(
                "the blob file has {size} bytes, but a header and a footer take {FRAME_BYTES}"
            ))
            .at(size));
        }
        let mut reader = BlobReader { file, end: End::Unfinished, compression: 0, statistics };
        reader.read_header(family)?;
        let footer_at = size - FOOTER_LEN as u64;
        let footer =
            Footer::decode(&reader.read(footer_at, FOOTER_LEN, None)?).map_err(|e| e.at(footer_at))?;
        if footer.expiration != (0, 0) {
            return Err(Error::corruption("the footer of the blob file has a TTL").at(footer_at + 12));
        }
        reader.end = End::Finished { size, footer };
        Ok(reader)
    }

    /// Reads and checks the header.
    fn read_header(&mut self, family: FamilyId) -> Result<()> {
        let header = Header::decode(&self.read(0, HEADER_LEN, None)?)?;
        if header.has_ttl || header.expiration != (0, 0) {
            return Err(Error::corruption(
                "the blobs of the file have a TTL: the old stacked BlobDB wrote it",
            )
            .at(12));
        }
        if header.family != family {
            return Err(Error::corruption(format!(
                "the blob file belongs to column family {}, but column family {family} refers to it",
                header.family
            ))
            .at(8));
        }
        self.compression = header.compression;
        Ok(())
    }

    /// Returns the offset after the last byte that can belong to a record.
    fn records_end(&self) -> Result<u64> {
        match self.end {
            End::Finished { size, .. } => Ok(size - FOOTER_LEN as u64),
            End::Unfinished => self.file.size(),
        }
    }

    /// Returns the compression type of all values, from the header.
    pub fn compression(&self) -> u8 {
        self.compression
    }

    /// Returns the number of values in the file, from the footer. 0 for a file that was opened without its footer.
    pub fn blob_count(&self) -> u64 {
        match self.end {
            End::Finished { footer, .. } => footer.blob_count,
            End::Unfinished => 0,
        }
    }

    /// Returns the bytes of all records. 0 for a file that was opened without its footer.
    pub fn records_bytes(&self) -> u64 {
        match self.end {
            End::Finished { size, .. } => size - FRAME_BYTES,
            End::Unfinished => 0,
        }
    }

    /// Reads the value at `blob`, decompressed. `user_key` is the key of the record, with its timestamp.
    ///
    /// # Errors
    /// Corruption, with file and offset, if the location is outside of the records, or if the compression
    /// type, the key, a length or a checksum does not match. Errors of the file. TimedOut because of
    /// `access.limits`.
    pub fn get(&self, user_key: &[u8], blob: &BlobRef, access: BlobAccess<'_>) -> Result<Vec<u8>> {
        let (start, len) = self.place(user_key, blob, access).map_err(|e| self.blame(e, blob))?;
        let record = {
            perf_add(PerfCounter::BlobReadCount, 1);
            perf_add(PerfCounter::BlobReadByte, len as u64);
            let _time = PerfTimer::start(PerfCounter::BlobReadTime);
            let _step = Step::begin(Cause::BlobRead);
            self.read(start, len, access.limits).map_err(|e| self.blame(e, blob))?
        };
        self.open_record(user_key, blob, access, record).map_err(|e| self.blame(e, blob))
    }

    /// Reads the value at `blob` like [`BlobReader::get`], but from `bytes`: bytes of the file from offset
    /// `start` on, which are in memory. Returns `None` if `bytes` does not contain the whole record.
    pub fn get_from(
        &self,
        user_key: &[u8],
        blob: &BlobRef,
        (start, bytes): (u64, &[u8]),
        access: BlobAccess<'_>,
    ) -> Option<Result<Vec<u8>>> {
        let (from, len) = match self.place(user_key, blob, access) {
            Ok(place) => place,
            Err(error) => return Some(Err(self.blame(error, blob))),
        };
        let at = usize::try_from(from.checked_sub(start)?).ok()?;
        let record = bytes.get(at..at.checked_add(len)?)?.to_vec();
        Some(self.open_record(user_key, blob, access, record).map_err(|e| self.blame(e, blob)))
    }

    /// Reads up to `len` bytes from `offset`, or fewer at the end of the file. For read-ahead.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn read_ahead(&self, offset: u64, len: usize, limits: Option<&ReadLimits>) -> Result<Vec<u8>> {
        let size = match self.end {
            End::Finished { size, .. } => size,
            End::Unfinished => self.file.size()?,
        };
        // A blob index comes from a file, and may name a place after the end.
        let left = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
        self.read(offset, len.min(left), limits)
    }

    /// Returns the start and the length of the bytes to read.
    fn place(&self, user_key: &[u8], blob: &BlobRef, access: BlobAccess<'_>) -> Result<(u64, usize)> {
        let head = (RECORD_HEADER_LEN + user_key.len()) as u64;
        let end = blob.offset.checked_add(blob.size);
        let last = self.records_end()?;
        if blob.offset < HEADER_LEN as u64 + head || end.is_none_or(|end| end > last) {
            return Err(Error::corruption("Invalid blob offset"));
        }
        if blob.compression != self.compression {
            return Err(Error::corruption(format!(
                "Compression type mismatch when reading blob: the blob index says {}, the file {}",
                blob.compression, self.compression
            )));
        }
        let head = if access.verify_checksums { head } else { 0 };
        base::invariant!(head <= blob.offset, "the record of a blob begins before its file");
        let len = usize::try_from(blob.size + head)
            .map_err(|_| Error::corruption("the blob is larger than the memory of this machine"))?;
        Ok((blob.offset - head, len))
    }

    /// Returns the value of a record that was read. `record` is the whole record if checksums are verified,
    /// otherwise only the value.
    fn open_record(
        &self,
        user_key: &[u8],
        blob: &BlobRef,
        access: BlobAccess<'_>,
        mut record: Vec<u8>,
    ) -> Result<Vec<u8>> {
        if access.verify_checksums {
            let _time = PerfTimer::start(PerfCounter::BlobChecksumTime);
            let header = RecordHeader::decode(&record)?;
            let value_at = RECORD_HEADER_LEN + user_key.len();
            let (key, value) = record[RECORD_HEADER_LEN..].split_at(user_key.len());
            if header.key_len != user_key.len() as u64 || key != user_key {
                return Err(Error::corruption("Key mismatch when reading blob"));
            }
            header.verify(key, value)?;
            record.drain(..value_at);
        }
        debug_assert_eq!(record.len() as u64, blob.size);
        let kind = Compression::from_byte(self.compression)?;
        if kind == Compression::None {
            return Ok(record);
        }
        let _time = PerfTimer::start(PerfCounter::BlobDecompressTime);
        let _step = Step::begin(Cause::Decompression);
        let began = self.statistics.as_ref().map(|_| Stopwatch::start());
        let value = compress::decompress(kind, &record, None)?;
        if let (Some(statistics), Some(began)) = (&self.statistics, began) {
            statistics.measure_time(HistogramKind::BlobDbDecompressionMicros, began.micros());
        }
        Ok(value)
    }

    /// Reads exactly `len` bytes.
    fn read(&self, offset: u64, len: usize, limits: Option<&ReadLimits>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        if let Some(statistics) = &self.statistics {
            statistics.add(Ticker::BlobDbBlobFileBytesRead, len as u64);
        }
        let began = self.statistics.as_ref().map(|_| Stopwatch::start());
        let got = match limits {
            None => self.file.read_at(offset, &mut bytes),
            Some(limits) => limits.around(len, || self.file.read_at(offset, &mut bytes)),
        }?;
        if let (Some(statistics), Some(began)) = (&self.statistics, began) {
            statistics.measure_time(HistogramKind::BlobDbBlobFileReadMicros, began.micros());
        }
        if got != len {
            return Err(Error::corruption(format!(
                "Failed to read data from blob file: {got} of {len} bytes at offset {offset}"
            )));
        }
        Ok(bytes)
    }

    #[cold]
    fn blame(&self, error: Error, blob: &BlobRef) -> Error {
        error.doing(format!("reading a blob of {} bytes", blob.size)).file(self.file.path()).at(blob.offset)
    }
}
