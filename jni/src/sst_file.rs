//! SST files that no database owns: `SstFileWriter`, `SstFileReader`, and `EnvOptions`, the options of their files.

use std::sync::Arc;

use base::{Error, Result};
use engine::ingest::ExternalWriter;
use engine::options::DbOptions;
use env::rate::RateLimiter;
use ironstone::SstFileReader;

use crate::call_options::ReadHandle;
use crate::comparator::ComparatorObject;
use crate::fault::Outcome;
use crate::handle::{Exclusive, Handle};
use crate::iterator::IteratorObject;
use crate::java::{JBuffer, JBytes, JObject, JString, Part};
use crate::native::{disposers, natives, rows};
use crate::options::OptionSet;
use crate::slice::SliceObject;
use crate::table_properties;

/// `EnvOptions`: the database options that concern files.
struct FileSettings {
    db: DbOptions,
    /// Has no effect, as in RocksDB: an `SstFileWriter` reserves no space, and no other Java class takes these options.
    fallocate_with_keep_size: bool,
    random_access_max_buffer_size: u64,
}

/// `SstFileWriter`: writes one file after the other.
struct WriterObject {
    options: OptionSet,
    writer: Option<ExternalWriter>,
    /// The size of the last finished file in bytes.
    size: u64,
}

// SAFETY: this module takes exclusive guards only. So no two threads use the writer at the same time.
unsafe impl Sync for WriterObject {}

/// `SstFileReader`. `None` until a file is opened.
struct ReaderObject {
    options: OptionSet,
    file: Option<SstFileReader>,
}

impl Default for FileSettings {
    fn default() -> Self {
        FileSettings {
            db: DbOptions::default(),
            fallocate_with_keep_size: true,
            random_access_max_buffer_size: 0,
        }
    }
}

impl FileSettings {
    /// Copies these options into the options of a writer.
    fn apply(&self, db: &mut DbOptions) {
        db.allow_mmap_writes = self.db.allow_mmap_writes;
        db.use_direct_io_for_flush_and_compaction = self.db.use_direct_io_for_flush_and_compaction;
        db.allow_fallocate = self.db.allow_fallocate;
        db.is_fd_close_on_exec = self.db.is_fd_close_on_exec;
        db.bytes_per_sync = self.db.bytes_per_sync;
        db.writable_file_max_buffer_size = self.db.writable_file_max_buffer_size;
        if self.db.rate_limiter.is_some() {
            db.rate_limiter = self.db.rate_limiter.clone();
        }
    }
}

impl WriterObject {
    fn new(settings: Handle, options: Handle) -> Outcome<Self> {
        let mut options = OptionSet::clone(&*options.shared::<OptionSet>()?);
        settings.shared::<FileSettings>()?.apply(&mut options.db);
        Ok(WriterObject { options, writer: None, size: 0 })
    }

    fn file(&mut self) -> Result<&mut ExternalWriter> {
        self.writer.as_mut().ok_or_else(|| Error::invalid_argument("File is not opened"))
    }
}

fn writer(handle: Handle) -> Outcome<Exclusive<WriterObject>> {
    Ok(handle.exclusive::<WriterObject>()?)
}

fn reader(handle: Handle) -> Outcome<SstFileReader> {
    let closed = || Error::invalid_argument("File is not opened");
    Ok(handle.shared::<ReaderObject>()?.file.clone().ok_or_else(closed)?)
}

rows! {
    FileSettings [EnvOptions] |o|;
    setUseMmapReads useMmapReads: bool => o.db.allow_mmap_reads;
    setUseMmapWrites useMmapWrites: bool => o.db.allow_mmap_writes;
    setUseDirectReads useDirectReads: bool => o.db.use_direct_reads;
    setUseDirectWrites useDirectWrites: bool => o.db.use_direct_io_for_flush_and_compaction;
    setAllowFallocate allowFallocate: bool => o.db.allow_fallocate;
    setSetFdCloexec setFdCloexec: bool => o.db.is_fd_close_on_exec;
    setBytesPerSync bytesPerSync: i64 => o.db.bytes_per_sync;
    setFallocateWithKeepSize fallocateWithKeepSize: bool => o.fallocate_with_keep_size;
    setCompactionReadaheadSize compactionReadaheadSize: i64 => o.db.compaction_readahead_size;
    setRandomAccessMaxBufferSize randomAccessMaxBufferSize: i64 => o.random_access_max_buffer_size;
    setWritableFileMaxBufferSize writableFileMaxBufferSize: i64 => o.db.writable_file_max_buffer_size;
}

disposers! {
    EnvOptions: FileSettings;
    SstFileWriter: WriterObject;
    SstFileReader: ReaderObject;
}

natives! {
    fn EnvOptions_newEnvOptions__[_]() -> Handle {
        Handle::new(FileSettings::default())
    }

    /// Copies the options that concern files. Direct writes stay off, as in RocksDB: only the flushes and compactions of a database
    /// use `use_direct_io_for_flush_and_compaction`.
    fn EnvOptions_newEnvOptions__J[_](options: Handle) -> Handle {
        let mut db = options.shared::<OptionSet>()?.db.clone();
        db.use_direct_io_for_flush_and_compaction = false;
        Handle::new(FileSettings { db, ..FileSettings::default() })
    }

    fn EnvOptions_setRateLimiter[_](options: Handle, limiter: Handle) {
        let limiter = limiter.shared::<Arc<RateLimiter>>()?.clone();
        options.exclusive::<FileSettings>()?.db.rate_limiter = Some(limiter);
    }

    fn SstFileWriter_newSstFileWriter__JJ[_](settings: Handle, options: Handle) -> Handle {
        Handle::new(WriterObject::new(settings, options)?)
    }

    /// Makes a writer. `comparator` replaces the comparator of the options.
    fn SstFileWriter_newSstFileWriter__JJJB[_](
        settings: Handle, options: Handle, comparator: Handle, _kind: i8
    ) -> Handle {
        let mut writer = WriterObject::new(settings, options)?;
        writer.options.family.comparator = comparator.shared::<ComparatorObject>()?.order.clone();
        Handle::new(writer)
    }

    fn SstFileWriter_open[java](handle: Handle, path: JString) {
        let (mut object, path) = (writer(handle)?, java.text(path)?);
        let file = ExternalWriter::create(path.as_ref(), &object.options.db, &object.options.family)?;
        object.writer = Some(file);
    }

    fn SstFileWriter_put__JJJ[_](handle: Handle, key: Handle, value: Handle) {
        let (key, value) = (key.shared::<SliceObject>()?, value.shared::<SliceObject>()?);
        writer(handle)?.file()?.entries()?.put(&key.bytes(), &value.bytes())?;
    }

    fn SstFileWriter_put__J_3B_3B[java](handle: Handle, key: JBytes, value: JBytes) {
        let (key, value) = (java.bytes(key)?, java.bytes(value)?);
        writer(handle)?.file()?.entries()?.put(&key, &value)?;
    }

    fn SstFileWriter_putDirect[java](
        handle: Handle, key: JBuffer, offset: i32, len: i32, value: JBuffer, value_offset: i32, value_len: i32
    ) {
        let mut object = writer(handle)?;
        java.with_direct(key, Part { offset, len }, |key| {
            java.with_direct_value(value, Part { offset: value_offset, len: value_len }, |value| {
                Ok(object.file()?.entries()?.put(key, value)?)
            })
        })?;
    }

    fn SstFileWriter_merge__JJJ[_](handle: Handle, key: Handle, value: Handle) {
        let (key, value) = (key.shared::<SliceObject>()?, value.shared::<SliceObject>()?);
        writer(handle)?.file()?.entries()?.merge(&key.bytes(), &value.bytes())?;
    }

    fn SstFileWriter_merge__J_3B_3B[java](handle: Handle, key: JBytes, value: JBytes) {
        let (key, value) = (java.bytes(key)?, java.bytes(value)?);
        writer(handle)?.file()?.entries()?.merge(&key, &value)?;
    }

    fn SstFileWriter_delete__JJ[_](handle: Handle, key: Handle) {
        let key = key.shared::<SliceObject>()?;
        writer(handle)?.file()?.entries()?.delete(&key.bytes())?;
    }

    fn SstFileWriter_delete__J_3B[java](handle: Handle, key: JBytes) {
        let key = java.bytes(key)?;
        writer(handle)?.file()?.entries()?.delete(&key)?;
    }

    fn SstFileWriter_finish[_](handle: Handle) {
        let mut object = writer(handle)?;
        let info = object.file()?.finish()?;
        object.size = info.file_size;
        object.writer = None;
    }

    fn SstFileWriter_fileSize[_](handle: Handle) -> i64 {
        let object = writer(handle)?;
        object.writer.as_ref().map_or(object.size, ExternalWriter::file_size) as i64
    }

    fn SstFileReader_newSstFileReader[_](options: Handle) -> Handle {
        let options = OptionSet { listeners: Vec::new(), ..OptionSet::clone(&*options.shared::<OptionSet>()?) };
        Handle::new(ReaderObject { options, file: None })
    }

    fn SstFileReader_open[java](handle: Handle, path: JString) {
        let (mut object, path) = (handle.exclusive::<ReaderObject>()?, java.text(path)?);
        let file = SstFileReader::open(path, &object.options.for_open()?)?;
        object.file = Some(file);
    }

    /// Makes an iterator. The file stays open until the iterator is closed.
    fn SstFileReader_newIterator[_](handle: Handle, options: ReadHandle) -> Handle {
        let file = reader(handle)?;
        Handle::new(IteratorObject::table(file.iter(options.shared()?.get()?.into_owned())?))
    }

    fn SstFileReader_verifyChecksum[_](handle: Handle) {
        reader(handle)?.verify_checksums(&engine::options::ReadOptions::default())?;
    }

    fn SstFileReader_getTableProperties[java](handle: Handle) -> JObject<'j> {
        table_properties::object(java, &reader(handle)?.properties())?
    }
}
