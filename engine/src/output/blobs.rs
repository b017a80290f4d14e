//! Moves values of one run to blob files, between the compaction iterator and the SST file.
//!
//! ```text
//! a#7,SET = large value          ─► record in a blob file,          a#7,BLOB = (file, offset, size)
//! b#6,BLOB = index of an old file ─► value fetched, then as above   (garbage collection)
//! c#5,ENTITY = columns            ─► each large column likewise
//! ```
//! A value goes to a blob file if it is not empty and has at least `min_blob_size` bytes. Blob files of a run are synced
//! as they are finished. After an error none of them is left. The blob files of a run belong to its last SST file
//! ([`super::OutputFile::blobs`]): they are committed and removed with it.
//!
//! Source: RocksDB `db/blob/blob_file_builder.cc`, `db/compaction/compaction_iterator.cc` (`PrepareOutput`).

use std::collections::BTreeSet;
use std::path::PathBuf;

use base::key::{self, TRAILER_LEN, ValueType, pack};
use base::stats::HistogramKind;
use base::{FileNumber, Pinned, Result};
use compress::{Compression, CompressionOptions};
use env::AppendHints;
use env::writer::{FileWriter, WriterOptions as FileOptions};
use format::blob::BlobRef;
use format::edit::CRC32C_CHECKSUM_FUNC_NAME;
use format::wide::{self, Column};
use lsm::blob_flow::{BlobFlow, blob_of};
use lsm::filter::FetchBlob;
use lsm::version::BlobFile;
use table::blob::{BlobWriter, BlobWriterOptions};

use super::OutputSettings;
use crate::event::{BlobCreated, Event, Named};
use crate::family::blob_cache::warm;
use crate::files::Pending;

/// Decides which values go to blob files, and how the files are written.
#[derive(Clone, Debug)]
pub struct BlobPolicy {
    /// Bytes of the shortest value that goes to a blob file.
    pub size_min: u64,
    /// Bytes at which a blob file is finished.
    pub file_size: u64,
    pub compression: Compression,
    pub compression_options: CompressionOptions,
    /// Puts each written value into the blob cache.
    pub warm: bool,
}

/// Garbage collection: moves values of old blob files to new blob files.
pub struct BlobCollection {
    /// Blob files with smaller numbers are old.
    pub cutoff: FileNumber,
    /// Other blob files whose values move.
    pub failed: BTreeSet<FileNumber>,
    /// Reads the values.
    pub blobs: Box<dyn FetchBlob + Send>,
}

/// A finished blob file. It is not in any version yet; its number is pending, so that no sweep deletes it.
pub struct OutputBlob {
    pub file: BlobFile,
    pub path: PathBuf,
    _pending: Pending,
}

/// The blob files of one run: see the module.
pub(super) struct BlobOutput<'a> {
    settings: &'a OutputSettings,
    collection: Option<BlobCollection>,
    open: Option<OpenBlob>,
    pub done: Vec<OutputBlob>,
    /// References of the entries that were written.
    pub flow: BlobFlow,
    pub relocated: Relocated,
    /// The current entry, if it was changed.
    key: Vec<u8>,
    value: Vec<u8>,
}

/// Values that garbage collection moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relocated {
    pub blobs: u64,
    /// The bytes of the values in the stored form, which may be compressed.
    pub bytes: u64,
}

struct OpenBlob {
    writer: BlobWriter,
    path: PathBuf,
    pending: Pending,
}

impl<'a> BlobOutput<'a> {
    /// Makes the output without an open blob file. `collection` is `None` if garbage collection moves no
    /// values.
    pub fn new(settings: &'a OutputSettings, collection: Option<BlobCollection>) -> Self {
        BlobOutput {
            settings,
            collection,
            open: None,
            done: Vec::new(),
            flow: BlobFlow::default(),
            relocated: Relocated::default(),
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Returns the entry in the form for the SST file.
    ///
    /// # Errors
    /// Corruption if a blob index or an entity does not decode. Errors of reading and writing blob files.
    #[inline]
    pub fn convert<'r>(&'r mut self, key: &'r [u8], value: &'r [u8]) -> Result<(&'r [u8], &'r [u8])> {
        const VALUE: u8 = ValueType::Value as u8;
        const BLOB: u8 = ValueType::BlobIndex as u8;
        const ENTITY: u8 = ValueType::WideColumnEntity as u8;
        let changed = match key::trailer(key) as u8 {
            VALUE => self.is_large(value) && self.extract(key, value)?,
            BLOB => self.relocate(key, value)?,
            ENTITY => self.convert_entity(key, value)?,
            _ => false,
        };
        let (key, value) = if changed { (&self.key[..], &self.value[..]) } else { (key, value) };
        self.flow.add(key, value)?;
        Ok((key, value))
    }

    #[inline]
    fn is_large(&self, value: &[u8]) -> bool {
        let policy = self.settings.blobs.as_ref();
        policy.is_some_and(|policy| !value.is_empty() && value.len() as u64 >= policy.size_min)
    }

    /// Moves a large value to a blob file and makes the entry that refers to it.
    fn extract(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let blob = self.write(key::user_key(key), value)?;
        self.set_entry(key, ValueType::BlobIndex);
        self.value.clear();
        blob.encode(&mut self.value);
        Ok(true)
    }

    /// Moves the value of the entry to a new blob file if its blob file is old. If the value is small, moves it into
    /// the entry.
    fn relocate(&mut self, key: &[u8], index: &[u8]) -> Result<bool> {
        let Some(value) = self.collect(key::user_key(key), index)? else { return Ok(false) };
        if self.is_large(&value) {
            return self.extract(key, &value);
        }
        self.set_entry(key, ValueType::Value);
        self.value.clear();
        self.value.extend_from_slice(&value);
        Ok(true)
    }

    /// Returns the value of a blob index if its blob file is old.
    fn collect(&mut self, user_key: &[u8], index: &[u8]) -> Result<Option<Pinned>> {
        let Some(collection) = &mut self.collection else { return Ok(None) };
        let blob = blob_of(index)?;
        if blob.file_number >= collection.cutoff && !collection.failed.contains(&blob.file_number) {
            return Ok(None);
        }
        let mut value = Vec::new();
        collection.blobs.fetch(user_key, index, &mut value)?;
        self.relocated.blobs += 1;
        self.relocated.bytes += blob.size;
        Ok(Some(Pinned::from_vec(value)))
    }

    /// Moves the large columns of an entity to blob files if the entity has no blob columns. If the entity has blob
    /// columns, moves only the columns in old blob files; the other columns stay inline, as in RocksDB.
    fn convert_entity(&mut self, key: &[u8], entity: &[u8]) -> Result<bool> {
        let has_blobs = wide::may_have_blobs(entity);
        if if has_blobs { self.collection.is_none() } else { self.settings.blobs.is_none() } {
            return Ok(false);
        }
        let columns = wide::decode(entity)?;
        let has_blobs = columns.iter().any(|c| c.is_blob);
        let user_key = key::user_key(key);
        let mut changed = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let value = match (has_blobs, column.is_blob) {
                (false, _) if self.is_large(column.value) => Some(Pinned::copy(column.value)),
                (true, true) => self.collect(user_key, column.value)?,
                _ => None,
            };
            let Some(value) = value else { continue };
            if self.is_large(&value) {
                let mut index = Vec::new();
                self.write(user_key, &value)?.encode(&mut index);
                changed.push((at, index, true));
            } else {
                changed.push((at, value.into_vec(), false));
            }
        }
        if changed.is_empty() {
            return Ok(false);
        }
        let mut out = columns.clone();
        for (at, value, is_blob) in &changed {
            out[*at] = Column { name: columns[*at].name, value, is_blob: *is_blob };
        }
        self.set_entry(key, ValueType::WideColumnEntity);
        self.value.clear();
        wide::encode(&out, &mut self.value)?;
        Ok(true)
    }

    fn set_entry(&mut self, key: &[u8], value_type: ValueType) {
        base::invariant!(key.len() >= TRAILER_LEN, "an internal key has {} bytes", key.len());
        self.key.clear();
        self.key.extend_from_slice(key);
        let at = self.key.len() - TRAILER_LEN;
        self.key[at..].copy_from_slice(&pack(key::sequence(key), value_type as u8).to_le_bytes());
    }

    /// Writes a value to the open blob file; opens a file if there is none, and finishes a file that is full.
    fn write(&mut self, user_key: &[u8], value: &[u8]) -> Result<BlobRef> {
        let s = self.settings;
        let Some(policy) = &s.blobs else {
            return Err(base::Error::invalid_argument("the run writes no blob files"));
        };
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(OpenBlob::create(s, policy)?),
        };
        base::invariant!(
            open.path == s.parts.blob_path(open.pending.number),
            "a blob file has the path of another file"
        );
        let blob =
            open.writer.add(user_key, value).map_err(|e| e.doing("writing a blob file").file(&open.path))?;
        if policy.warm {
            warm(
                &s.parts,
                (&s.identity.db_id, &s.identity.db_session_id),
                s.stats.statistics(),
                (&blob, value),
            );
        }
        if open.writer.file_size() >= policy.file_size {
            self.finish_file()?;
        }
        Ok(blob)
    }

    /// Finishes the open blob file, if there is one.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn finish_file(&mut self) -> Result<()> {
        if let Some(open) = self.open.take() {
            self.done.push(open.finish(self.settings)?);
        }
        Ok(())
    }

    /// Removes all blob files of the run.
    pub fn abandon(&mut self) {
        let fs = &self.settings.env.fs;
        if let Some(open) = self.open.take() {
            let OpenBlob { writer, path, pending: _pending } = open;
            drop(writer);
            // Incomplete, and no version has the file.
            let _ = fs.unlink(&path);
        }
        for blob in self.done.drain(..) {
            // No version has the file; a sweep deletes a file that cannot be deleted now.
            let _ = fs.unlink(&blob.path);
        }
    }
}

impl OpenBlob {
    fn create(s: &OutputSettings, policy: &BlobPolicy) -> Result<Self> {
        let pending = s.numbers.take_pending();
        let path = s.parts.blob_path(pending.number);
        if let Some((events, job)) = s.events.as_ref().filter(|(events, _)| events.has_listeners()) {
            events.emit(&Event::BlobCreationStarted {
                job: *job,
                family: Named { id: s.place.family, name: s.place.family_name.clone() },
                number: pending.number,
                path: path.clone(),
                purpose: s.purpose,
            });
        }
        let hints = AppendHints { direct: s.io.direct, ..AppendHints::default() };
        let begun = s.env.fs.create(&path, &hints).and_then(|file| {
            let file = FileWriter::new(
                file,
                FileOptions {
                    buffer_bytes: s.io.buffer_bytes,
                    bytes_per_sync: s.io.write_back.bytes,
                    strict_bytes_per_sync: s.io.write_back.is_strict,
                    rate_limiter: s.io.rate_limiter.clone(),
                    priority: s.io.priority,
                    statistics: s.stats.statistics().cloned(),
                    histogram: Some(HistogramKind::BlobDbBlobFileWriteMicros),
                    checksum: s.file_checksum,
                },
            );
            let options = BlobWriterOptions {
                family: s.place.family,
                compression: policy.compression,
                compression_options: policy.compression_options,
                statistics: s.stats.statistics().cloned(),
            };
            BlobWriter::new(file, pending.number, &options)
        });
        match begun {
            Ok(writer) => Ok(OpenBlob { writer, path, pending }),
            Err(error) => {
                // Incomplete, and no version has the file.
                let _ = s.env.fs.unlink(&path);
                Err(error.doing("beginning a blob file").file(&path))
            }
        }
    }

    fn finish(self, s: &OutputSettings) -> Result<OutputBlob> {
        let OpenBlob { writer, path, pending } = self;
        let done = match writer.finish(s.io.use_fsync) {
            Ok(done) => done,
            Err(error) => {
                // Incomplete, and no version has the file.
                let _ = s.env.fs.unlink(&path);
                return Err(error.doing("finishing a blob file").file(&path));
            }
        };
        base::invariant!(
            done.blob_count > 0 && done.blob_bytes > 0,
            "blob file {} has no blobs",
            pending.number
        );
        let file = BlobFile {
            number: pending.number,
            total_count: done.blob_count,
            total_bytes: done.blob_bytes,
            checksum_method: done.file_checksum.map_or_else(Vec::new, |_| CRC32C_CHECKSUM_FUNC_NAME.into()),
            checksum_value: done.file_checksum.map_or_else(Vec::new, |crc| crc.to_be_bytes().to_vec()),
            ..BlobFile::default()
        };
        if let Some((events, job)) = &s.events {
            events.info(format_args!(
                "[{}] [JOB {job}] Generated blob file #{}: {} total blobs, {} total bytes",
                s.place.family_name, file.number, file.total_count, file.total_bytes
            ));
            events.emit(&Event::BlobCreated(BlobCreated {
                job: *job,
                family: Named { id: s.place.family, name: s.place.family_name.clone() },
                number: file.number,
                path: path.clone(),
                purpose: s.purpose,
                total_blob_count: file.total_count,
                total_blob_bytes: file.total_bytes,
                file_checksum: file.checksum_value.clone(),
                file_checksum_func_name: String::from_utf8_lossy(&file.checksum_method).into_owned(),
            }));
        }
        Ok(OutputBlob { file, path, _pending: pending })
    }
}
