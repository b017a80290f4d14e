//! Writes one blob file, from its header to its footer.

use base::stats::{HistogramKind, Statistics, Stopwatch, Ticker};
use base::{FamilyId, FileNumber, Result};
use compress::{Compression, CompressionOptions, Compressor};
use env::fs::Syncer;
use env::writer::FileWriter;
use format::blob::{BlobRef, FOOTER_LEN, Footer, HEADER_LEN, Header, RecordHeader, record_len};
use std::sync::Arc;

/// The options to write a blob file.
#[derive(Clone)]
pub struct BlobWriterOptions {
    /// The column family whose blobs the file holds.
    pub family: FamilyId,
    /// The compression of each blob.
    pub compression: Compression,
    /// The options of the compression.
    pub compression_options: CompressionOptions,
    /// The statistics that count compressions.
    pub statistics: Option<Arc<Statistics>>,
}

/// A finished blob file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenBlobs {
    /// The number of blobs in the file.
    pub blob_count: u64,
    /// Bytes of all records: header, key and stored value.
    pub blob_bytes: u64,
    /// CRC32C of the whole file, if the file writer computes it.
    pub file_checksum: Option<u32>,
}

/// A blob file that is being written. A failed call leaves the file unusable: drop the writer and delete the file.
pub struct BlobWriter {
    file: FileWriter,
    number: FileNumber,
    compression: Compression,
    compressor: Compressor,
    statistics: Option<Arc<Statistics>>,
    blob_count: u64,
    blob_bytes: u64,
    /// Memory for the record header and for the compressed value.
    head: Vec<u8>,
    payload: Vec<u8>,
}

impl BlobWriter {
    /// Starts the blob file `number` and writes its header.
    ///
    /// # Errors
    /// NotSupported if this build lacks the compression type; errors of the file.
    pub fn new(mut file: FileWriter, number: FileNumber, options: &BlobWriterOptions) -> Result<BlobWriter> {
        let compressor = Compressor::new(options.compression, &options.compression_options, None)?;
        let header = Header {
            family: options.family,
            compression: options.compression as u8,
            has_ttl: false,
            expiration: (0, 0),
        };
        let mut head = Vec::new();
        header.encode(&mut head);
        file.append(&head)?;
        if let Some(statistics) = &options.statistics {
            statistics.add(Ticker::BlobDbBlobFileBytesWritten, head.len() as u64);
        }
        Ok(BlobWriter {
            file,
            number,
            compression: options.compression,
            compressor,
            statistics: options.statistics.clone(),
            blob_count: 0,
            blob_bytes: 0,
            head,
            payload: Vec::new(),
        })
    }

    /// Appends the record of `user_key` (with its timestamp) and returns the location of its value.
    /// Compresses the value even if the compressed form is longer, as RocksDB does, because all values of a
    /// file have the same compression type.
    ///
    /// # Errors
    /// InvalidArgument if the value cannot be compressed; errors of the file.
    pub fn add(&mut self, user_key: &[u8], value: &[u8]) -> Result<BlobRef> {
        let stored = if self.compression == Compression::None {
            value
        } else {
            let began = self.statistics.as_ref().map(|_| Stopwatch::start());
            self.compressor.compress_always(value, &mut self.payload)?;
            if let (Some(statistics), Some(began)) = (&self.statistics, began) {
                statistics.measure_time(HistogramKind::BlobDbCompressionMicros, began.micros());
            }
            &self.payload
        };
        self.head.clear();
        RecordHeader::of(user_key, stored).encode(&mut self.head);
        self.head.extend_from_slice(user_key);
        base::invariant!(
            self.head.len() as u64 + stored.len() as u64 == record_len(user_key.len(), stored.len() as u64),
            "the record of a blob of {} bytes has a head of {} bytes",
            stored.len(),
            self.head.len()
        );
        let start = HEADER_LEN as u64 + self.blob_bytes;
        self.file.append(&self.head)?;
        self.file.append(stored)?;
        let bytes = record_len(user_key.len(), stored.len() as u64);
        self.blob_count += 1;
        self.blob_bytes += bytes;
        base::invariant!(
            self.file.size() == self.file_size(),
            "the blob file has {} bytes, its records {}",
            self.file.size(),
            self.file_size()
        );
        if let Some(statistics) = &self.statistics {
            statistics.add(Ticker::BlobDbBlobFileBytesWritten, bytes);
        }
        Ok(BlobRef {
            file_number: self.number,
            offset: start + self.head.len() as u64,
            size: stored.len() as u64,
            compression: self.compression as u8,
        })
    }

    /// Passes all records to the operating system. Readers of the file find the records then.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }

    /// Returns a handle that syncs the flushed records from another thread.
    pub fn syncer(&self) -> Arc<dyn Syncer> {
        self.file.syncer()
    }

    /// Returns the number in the name of the file.
    pub fn number(&self) -> FileNumber {
        self.number
    }

    /// Returns the bytes of the file so far, without the footer.
    pub fn file_size(&self) -> u64 {
        HEADER_LEN as u64 + self.blob_bytes
    }

    /// Writes the footer, syncs the file and closes it.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(mut self, use_fsync: bool) -> Result<WrittenBlobs> {
        self.head.clear();
        Footer { blob_count: self.blob_count, expiration: (0, 0) }.encode(&mut self.head);
        base::invariant!(
            self.head.len() == FOOTER_LEN,
            "the footer of a blob file has {} bytes",
            self.head.len()
        );
        self.file.append(&self.head)?;
        let began = self.statistics.as_ref().map(|_| Stopwatch::start());
        self.file.sync(use_fsync)?;
        if let (Some(statistics), Some(began)) = (&self.statistics, began) {
            statistics.add(Ticker::BlobDbBlobFileBytesWritten, FOOTER_LEN as u64);
            statistics.tick(Ticker::BlobDbBlobFileSynced);
            statistics.measure_time(HistogramKind::BlobDbBlobFileSyncMicros, began.micros());
        }
        self.file.close()?;
        Ok(WrittenBlobs {
            blob_count: self.blob_count,
            blob_bytes: self.blob_bytes,
            file_checksum: self.file.checksum(),
        })
    }
}
