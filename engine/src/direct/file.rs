//! One blob file that writes append to.

use std::path::{Path, PathBuf};

use base::stats::{HistogramKind, Statistics};
use base::{Error, FileNumber, Result};
use compress::{Compression, CompressionOptions};
use env::rate::IoPriority;
use env::writer::{FileWriter, WriterOptions};
use env::{AppendHints, Env, ReadHints};
use format::blob::{BlobRef, FOOTER_LEN, HEADER_LEN};
use format::edit::CRC32C_CHECKSUM_FUNC_NAME;
use lsm::version::{BlobFile, InUse};
use table::blob::{BlobReader, BlobWriter, BlobWriterOptions, WrittenBlobs};

use super::settings::DirectSettings;
use crate::event::Named;
use crate::files::Pending;
use crate::sync::{Arc, Mutex, OnceLock};

/// Bytes that the writer gathers before a write call. A flush writes the rest.
const BUFFER_BYTES: usize = 64 << 10;

/// What a new file is for.
pub(super) struct New {
    pub pending: Pending,
    pub path: PathBuf,
    pub family: Named,
    pub compression: Compression,
}

/// A blob file of a memtable. Readers may read each record that the writer has flushed.
pub struct DirectFile {
    pending: Pending,
    path: PathBuf,
    family: Named,
    compression: Compression,
    stage: Mutex<Stage>,
    /// Opened by the first reader.
    reader: OnceLock<Arc<BlobReader>>,
    /// The marker that versions with the file share: while this file holds it, the file on disk is not deleted.
    in_use: Arc<InUse>,
}

enum Stage {
    Open {
        writer: Box<BlobWriter>,
        blobs: u64,
        /// True if the file is in the list of unsynced files.
        is_listed: bool,
    },
    Sealed(WrittenBlobs),
    Failed {
        error: Error,
        size: u64,
    },
}

/// The result of [`DirectFile::seal`].
pub(super) struct Sealed {
    pub written: WrittenBlobs,
    /// True if this call sealed the file.
    pub is_new: bool,
}

impl DirectFile {
    /// Creates the file, and writes its header to the buffer.
    ///
    /// # Errors
    /// NotSupported if this build lacks the compression. Errors of the file system; then the file is removed.
    pub(super) fn create(
        env: &Env,
        new: New,
        compression_options: CompressionOptions,
        settings: &DirectSettings,
        statistics: &Option<Arc<Statistics>>,
    ) -> Result<DirectFile> {
        let New { pending, path, family, compression } = new;
        let begun = env.fs.create(&path, &AppendHints::default()).and_then(|file| {
            let options = WriterOptions {
                buffer_bytes: BUFFER_BYTES,
                bytes_per_sync: settings.bytes_per_sync,
                strict_bytes_per_sync: settings.strict_bytes_per_sync,
                rate_limiter: None,
                priority: IoPriority::User,
                statistics: statistics.clone(),
                histogram: Some(HistogramKind::BlobDbBlobFileWriteMicros),
                checksum: settings.file_checksum,
            };
            let blobs = BlobWriterOptions {
                family: family.id,
                compression,
                compression_options,
                statistics: statistics.clone(),
            };
            BlobWriter::new(FileWriter::new(file, options), pending.number, &blobs)
        });
        match begun {
            Ok(writer) => {
                let stage = Stage::Open { writer: Box::new(writer), blobs: 0, is_listed: false };
                Ok(DirectFile {
                    pending,
                    path,
                    family,
                    compression,
                    stage: Mutex::new(stage),
                    reader: OnceLock::new(),
                    in_use: Arc::default(),
                })
            }
            Err(error) => {
                // No WAL record and no version names the file.
                let _ = env.fs.unlink(&path);
                Err(error.doing("beginning a blob file").file(&path))
            }
        }
    }

    /// Returns the number in the name of the file.
    pub fn number(&self) -> FileNumber {
        self.pending.number
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the column family of the file.
    pub fn family(&self) -> &Named {
        &self.family
    }

    /// Returns true if the file takes another record of `more` bytes.
    pub(super) fn takes(&self, compression: Compression, more: u64, file_size: u64) -> bool {
        let stage = self.stage.lock();
        let Stage::Open { writer, blobs, .. } = &*stage else { return false };
        let size = writer.file_size().saturating_add(more).saturating_add(FOOTER_LEN as u64);
        self.compression == compression && (*blobs == 0 || size <= file_size)
    }

    /// Appends a record to the buffer. Returns the place of the value, and true if the file was synced before.
    pub(super) fn append(&self, key: &[u8], value: &[u8]) -> Result<(BlobRef, bool)> {
        let mut stage = self.stage.lock();
        let Stage::Open { writer, blobs, is_listed } = &mut *stage else { return Err(closed(&stage)) };
        match writer.add(key, value) {
            Ok(blob) => {
                base::invariant!(
                    blob.offset + blob.size <= writer.file_size(),
                    "a value of {} bytes at {} ends after the {} bytes of its file",
                    blob.size,
                    blob.offset,
                    writer.file_size()
                );
                *blobs += 1;
                Ok((blob, !std::mem::replace(is_listed, true)))
            }
            Err(error) => Err(self.fail(&mut stage, error.doing("writing a blob file"))),
        }
    }

    /// Passes the records to the operating system. Readers may read them then.
    ///
    /// # Errors
    /// Errors of the file system. Then the file takes no more records.
    pub fn flush(&self) -> Result<()> {
        let mut stage = self.stage.lock();
        let writer = match &mut *stage {
            Stage::Open { writer, .. } => writer,
            Stage::Sealed(_) => return Ok(()),
            // A thread that synced the file has found the error in the meantime.
            Stage::Failed { error, .. } => return Err(error.clone()),
        };
        match writer.flush() {
            Ok(()) => Ok(()),
            Err(error) => Err(self.fail(&mut stage, error.doing("writing a blob file"))),
        }
    }

    /// Makes the flushed records durable. The caller is the only thread that syncs files. A sealed file is durable.
    ///
    /// # Errors
    /// Errors of the file system. The error of an earlier failure of the file: no sync is repeated.
    pub(super) fn sync(&self) -> Result<()> {
        let syncer = {
            let mut stage = self.stage.lock();
            let (writer, is_listed) = match &mut *stage {
                Stage::Open { writer, is_listed, .. } => (writer, is_listed),
                Stage::Sealed(_) => return Ok(()),
                Stage::Failed { error, .. } => return Err(error.clone()),
            };
            if let Err(error) = writer.flush() {
                return Err(self.fail(&mut stage, error.doing("writing a blob file")));
            }
            *is_listed = false;
            writer.syncer()
        };
        syncer.sync().map_err(|error| {
            let mut stage = self.stage.lock();
            self.fail(&mut stage, error.doing("syncing a blob file"))
        })
    }

    /// Writes the footer, makes the file durable, and closes it. Returns `None` for a failed file.
    pub(super) fn seal(&self, use_fsync: bool) -> Result<Option<Sealed>> {
        let mut stage = self.stage.lock();
        let size = match &*stage {
            Stage::Failed { .. } => return Ok(None),
            Stage::Sealed(written) => return Ok(Some(Sealed { written: *written, is_new: false })),
            Stage::Open { writer, .. } => writer.file_size(),
        };
        let failed = Stage::Failed { error: closed(&stage), size };
        let Stage::Open { writer, blobs, .. } = std::mem::replace(&mut *stage, failed) else {
            return Ok(None);
        };
        match writer.finish(use_fsync) {
            Ok(written) => {
                base::invariant!(
                    written.blob_count == blobs,
                    "a blob file with {blobs} values is finished with {}",
                    written.blob_count
                );
                *stage = Stage::Sealed(written);
                Ok(Some(Sealed { written, is_new: true }))
            }
            Err(error) => Err(self.fail(&mut stage, error.doing("finishing a blob file"))),
        }
    }

    /// Ends the use of the file after a failure of its directory: a crash can lose the name of the file.
    pub(super) fn lose_name(&self, error: &Error) {
        let mut stage = self.stage.lock();
        if !matches!(&*stage, Stage::Failed { .. }) {
            self.fail(&mut stage, error.clone());
        }
    }

    fn fail(&self, stage: &mut Stage, error: Error) -> Error {
        let error = error.file(&self.path);
        *stage = Stage::Failed { error: error.clone(), size: size_of(stage) };
        error
    }

    /// Returns true if an append or a sync of the file has failed.
    pub(super) fn has_failed(&self) -> bool {
        matches!(&*self.stage.lock(), Stage::Failed { .. })
    }

    /// Returns the bytes of the file so far, without the footer.
    pub(super) fn size(&self) -> u64 {
        size_of(&self.stage.lock())
    }

    /// Returns the record of a sealed file for a version, without garbage.
    pub(super) fn sealed_record(&self) -> Option<BlobFile> {
        match &*self.stage.lock() {
            Stage::Sealed(written) => Some(self.record(written)),
            _ => None,
        }
    }

    /// Returns the file for the list of obsolete files.
    pub(super) fn unneeded_record(&self) -> BlobFile {
        BlobFile { number: self.number(), in_use: self.in_use.clone(), ..BlobFile::default() }
    }

    pub(super) fn record(&self, written: &WrittenBlobs) -> BlobFile {
        BlobFile {
            number: self.number(),
            total_count: written.blob_count,
            total_bytes: written.blob_bytes,
            checksum_method: written
                .file_checksum
                .map_or_else(Vec::new, |_| CRC32C_CHECKSUM_FUNC_NAME.into()),
            checksum_value: written.file_checksum.map_or_else(Vec::new, |crc| crc.to_be_bytes().to_vec()),
            in_use: self.in_use.clone(),
            ..BlobFile::default()
        }
    }

    /// Returns the reader of the file. The reader finds each flushed record, also after the file is sealed.
    ///
    /// # Errors
    /// Errors of the file system. Corruption if the header is damaged.
    pub fn reader(
        &self,
        env: &Env,
        hints: &ReadHints,
        statistics: &Option<Arc<Statistics>>,
    ) -> Result<Arc<BlobReader>> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader.clone());
        }
        let opened = env.fs.open_random(&self.path, hints);
        let file = opened.map_err(|e| e.doing("opening a blob file").file(&self.path))?;
        let reader = Arc::new(BlobReader::open_unfinished(file, self.family.id, statistics.clone())?);
        Ok(self.reader.get_or_init(|| reader).clone())
    }
}

fn size_of(stage: &Stage) -> u64 {
    match stage {
        Stage::Open { writer, .. } => writer.file_size(),
        Stage::Sealed(written) => HEADER_LEN as u64 + written.blob_bytes,
        Stage::Failed { size, .. } => *size,
    }
}

/// Returns the error of an append to a file that takes no more records.
fn closed(stage: &Stage) -> Error {
    match stage {
        Stage::Failed { error, .. } => error.clone(),
        _ => Error::aborted("a blob file takes no more records"),
    }
}
