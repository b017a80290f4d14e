//! Writes an external SST file with the options of a column family. RocksDB's `SstFileWriter`.
//!
//! Keys ascend, and all sequence numbers are 0. The file is durable when [`ExternalWriter::finish`] returns. If a writer is dropped
//! before, the incomplete file stays, as in RocksDB. Not here: the format (`table::sst_file`).

use std::path::{Path, PathBuf};

use base::{Error, FileNumber, Result};
use compress::Compression;
use env::writer::FileWriter;
use env::{AppendHints, Env};
use table::options::WrittenTable;
use table::sst::writer::Collecting;
use table::sst::{BlockCompression, Identity, Resources, WriterOptions};
use table::sst_file::{ExternalFileInfo, SstFileWriter};
use table::unique_id::SessionId;

use crate::family::Parts;
use crate::options::{CompressionType, DbOptions, FamilyOptions};

/// The largest number of bytes in the buffer of the writer.
const BUFFER_BYTES: usize = 1 << 20;

/// An external SST file that is being written.
pub struct ExternalWriter {
    /// `None` after `finish`.
    writer: Option<SstFileWriter>,
    env: Env,
    path: PathBuf,
    use_fsync: bool,
}

impl ExternalWriter {
    /// Creates the file at `path`. A file of this name is replaced.
    ///
    /// # Errors
    /// InvalidArgument or NotSupported for options that the table cannot have; errors of the file system.
    pub fn create(path: &Path, db: &DbOptions, family: &FamilyOptions) -> Result<ExternalWriter> {
        let env = db.env.clone();
        let parts = Parts::resolve(family, db, path, None, None)?;
        let options = writer_options(&env, db, family, &parts)?;
        ExternalWriter::begin(path, db, options)
    }

    /// Creates the file at `path`, as [`ExternalWriter::create`] does. Values and columns of at least `size_min` bytes are
    /// embedded blobs.
    ///
    /// # Errors
    /// The errors of [`ExternalWriter::create`]. InvalidArgument if the table is not block-based, or if its `format_version` is
    /// below 7.
    pub fn create_with_embedded_blobs(
        path: &Path,
        db: &DbOptions,
        family: &FamilyOptions,
        size_min: u64,
    ) -> Result<ExternalWriter> {
        let parts = Parts::resolve(family, db, path, None, None)?;
        if parts.other.written != WrittenTable::BlockBased {
            return Err(Error::invalid_argument("Embedded blob SSTs require block-based table format"));
        }
        if parts.table.format_version < 7 {
            return Err(Error::invalid_argument(
                "Embedded blob SSTs require block-based table format_version >= 7",
            ));
        }
        let options = writer_options(&db.env, db, family, &parts)?;
        ExternalWriter::begin(path, db, WriterOptions { embedded_blob_min_size: Some(size_min), ..options })
    }

    fn begin(path: &Path, db: &DbOptions, options: WriterOptions) -> Result<ExternalWriter> {
        let env = db.env.clone();
        // A file that a database ingested by a link shares its content with this path. Remove the name, so that the new
        // content goes to a new file and the database keeps its own.
        match env.fs.unlink(path) {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        let file = env.fs.create(path, &AppendHints::default())?;
        let buffered = env::writer::WriterOptions {
            buffer_bytes: db.writable_file_max_buffer_size.min(BUFFER_BYTES),
            bytes_per_sync: db.bytes_per_sync,
            strict_bytes_per_sync: db.strict_bytes_per_sync,
            rate_limiter: db.rate_limiter.clone(),
            ..env::writer::WriterOptions::default()
        };
        let made = SstFileWriter::new(FileWriter::new(file, buffered), options);
        let writer = made.inspect_err(|_| drop(env.fs.unlink(path)))?;
        Ok(ExternalWriter { writer: Some(writer), env, path: path.to_path_buf(), use_fsync: db.use_fsync })
    }

    /// Returns the writer of entries.
    ///
    /// # Errors
    /// InvalidArgument after [`ExternalWriter::finish`].
    pub fn entries(&mut self) -> Result<&mut SstFileWriter> {
        self.writer.as_mut().ok_or_else(|| Error::invalid_argument("File is not opened"))
    }

    /// Returns the bytes that the file has so far. 0 after `finish`.
    pub fn file_size(&self) -> u64 {
        self.writer.as_ref().map_or(0, SstFileWriter::file_size)
    }

    /// Writes the rest of the file, syncs the file and closes the file.
    ///
    /// # Errors
    /// InvalidArgument for a file without entries: the writer still takes entries. Errors of the file system: the file is removed.
    pub fn finish(&mut self) -> Result<ExternalFileInfo> {
        if self.entries()?.is_empty() {
            return Err(Error::invalid_argument("Cannot create sst file with no entries"));
        }
        let Some(writer) = self.writer.take() else {
            return Err(Error::invalid_argument("File is not opened"));
        };
        let finished = writer.finish().and_then(|(info, _, mut file)| {
            file.sync(self.use_fsync)?;
            file.close().map(|()| info)
        });
        finished.map_err(|error| {
            // The file is incomplete, and the caller gets the error.
            let _ = self.env.fs.unlink(&self.path);
            error.doing("writing an external SST file").file(&self.path)
        })
    }
}

impl Drop for ExternalWriter {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            drop(writer.abandon());
        }
    }
}

fn writer_options(env: &Env, db: &DbOptions, family: &FamilyOptions, parts: &Parts) -> Result<WriterOptions> {
    let chosen = if family.bottommost_compression != CompressionType::DISABLE {
        family.bottommost_compression
    } else {
        family.compression_per_level.last().copied().unwrap_or(family.compression)
    };
    let own = match family.bottommost_compression_opts.enabled {
        true if family.bottommost_compression != CompressionType::DISABLE => {
            &family.bottommost_compression_opts
        }
        _ => &family.compression_opts,
    };
    let compression = Compression::from_byte(chosen.number())?;
    if !compression.is_supported() {
        return Err(Error::not_supported(format!("compression {compression} in this build")));
    }
    let compression_options = *own;
    Ok(WriterOptions {
        table: parts.table.clone(),
        other: parts.other.clone(),
        block_compression: BlockCompression {
            kind: compression,
            options: compression_options,
            sample_one_in: family.sample_for_compression,
        },
        resources: Resources {
            executor: (compression_options.parallel_threads > 1).then(|| env.executor.clone()),
            statistics: db.statistics.clone(),
            ..Resources::default()
        },
        identity: Identity {
            db_session_id: SessionId::new(env.rng.next_u64(), env.rng.next_u64()).to_string(),
            db_host_id: match db.db_host_id.as_str() {
                "__hostname__" => env.fs.host_name(),
                other => other.to_string(),
            },
            ..Identity::default()
        },
        order: parts.internal_order(),
        prefix_extractor: parts.code.prefix_extractor.clone(),
        persist_timestamps: parts.stored.timestamps,
        merge_operator_name: parts.code.merge_operator.as_ref().map(|m| m.name().to_string()),
        file_number: FileNumber::new(1),
        collecting: Collecting { factories: parts.code.collectors.clone(), old_before: None },
        context_seed: env.rng.next_u64() as u32 & 0x7fff_ffff,
        ..WriterOptions::default()
    })
}
