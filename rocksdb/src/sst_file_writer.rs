//! Writes SST files outside of a database, for `ingest_external_file`.

use std::marker::PhantomData;
use std::path::Path;

use env::sync::Mutex;

use crate::c_str::check_path;
use crate::{Error, Options};

/// The file that is being written, and the size of the last finished file in bytes.
#[derive(Default)]
struct State {
    file: Option<ironstone::SstFileWriter>,
    size: u64,
}

/// Writes SST files, one after the other. The caller must add the keys in the order of the comparator.
///
/// ```
/// use rocksdb::{DB, Options, SstFileWriter};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let (options, path) = (Options::default(), dir.path().join("file.sst"));
/// let mut writer = SstFileWriter::create(&options);
/// writer.open(&path)?;
/// writer.put(b"a", b"1")?;
/// writer.finish()?;
/// let db = DB::open_default(dir.path().join("db"))?;
/// db.ingest_external_file(vec![&path])?;
/// assert!(db.get(b"a")?.is_some());
/// # Ok::<(), rocksdb::Error>(())
/// ```
pub struct SstFileWriter<'a> {
    options: Options,
    /// A mutex, because `open` takes `&self` in the crate `rocksdb`.
    state: Mutex<State>,
    phantom: PhantomData<&'a Options>,
}

impl<'a> SstFileWriter<'a> {
    /// Returns a writer with these options.
    pub fn create(opts: &'a Options) -> Self {
        SstFileWriter { options: opts.clone(), state: Mutex::new(State::default()), phantom: PhantomData }
    }

    /// Begins a file. A file at the path is replaced.
    ///
    /// # Errors
    /// IOError of the file.
    pub fn open<P: AsRef<Path>>(&'a self, path: P) -> Result<(), Error> {
        let path = check_path(path.as_ref())?;
        let options = self.options.get()?;
        let file = ironstone::SstFileWriter::create(path, &options.db, &options.family)?;
        self.state.lock().file = Some(file);
        Ok(())
    }

    fn with<R>(
        &mut self,
        call: impl FnOnce(&mut ironstone::SstFileWriter) -> ironstone::Result<R>,
    ) -> Result<R, Error> {
        let mut state = self.state.lock();
        let file = state.file.as_mut().ok_or_else(|| Error::new("Invalid argument: File is not opened"))?;
        Ok(call(file)?)
    }

    /// Finishes the file.
    ///
    /// # Errors
    /// InvalidArgument if the file has no entry; IOError of the file.
    pub fn finish(&mut self) -> Result<(), Error> {
        let info = self.with(ironstone::SstFileWriter::finish)?;
        *self.state.lock() = State { file: None, size: info.file_size };
        Ok(())
    }

    /// Returns the size of the file in bytes. After `finish`, returns the size of the finished file.
    pub fn file_size(&self) -> u64 {
        let state = self.state.lock();
        state.file.as_ref().map_or(state.size, ironstone::SstFileWriter::file_size)
    }

    /// Adds a key and its value.
    ///
    /// # Errors
    /// InvalidArgument if the key is not after the last key; IOError of the file.
    pub fn put<K, V>(&mut self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.with(|file| file.put(key.as_ref(), value.as_ref()))
    }

    /// Adds a key with a timestamp and its value.
    ///
    /// # Errors
    /// The errors of [`Self::put`]; InvalidArgument for a timestamp of another length than that of the comparator.
    pub fn put_with_ts<K, V, S>(&mut self, key: K, ts: S, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.with(|file| file.put_with_ts(key.as_ref(), ts.as_ref(), value.as_ref()))
    }

    /// Adds an operand of a key.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn merge<K, V>(&mut self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.with(|file| file.merge(key.as_ref(), value.as_ref()))
    }

    /// Adds a point tombstone.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn delete<K: AsRef<[u8]>>(&mut self, key: K) -> Result<(), Error> {
        self.with(|file| file.delete(key.as_ref()))
    }

    /// Adds a range tombstone, from `begin_key` up to `end_key`, without `end_key`.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn delete_range<K: AsRef<[u8]>>(&mut self, begin_key: K, end_key: K) -> Result<(), Error> {
        self.with(|file| file.delete_range(begin_key.as_ref(), end_key.as_ref()))
    }

    /// Adds a point tombstone with a timestamp.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn delete_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(&mut self, key: K, ts: S) -> Result<(), Error> {
        self.with(|file| file.delete_with_ts(key.as_ref(), ts.as_ref()))
    }
}
