//! RocksDB through its C interface, with its default options, a Bloom filter, and a block cache.
//!
//! The library is loaded at run time, so the program builds without RocksDB.

use std::ffi::{CStr, CString, c_char, c_uchar, c_void};
use std::hint::black_box;
use std::path::Path;

use libloading::Library;

use super::{Change, Pair, Store, View, in_batches, sum};
use crate::{CACHE_BYTES, Result};

type Raw = *mut c_void;
type Bytes = *const c_char;
type Slot = *mut *mut c_char;

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// The functions of `rocksdb/c.h` that this program calls.
        struct Functions { $($name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)* }

        impl Functions {
            fn find(library: &Library) -> Result<Functions> {
                // SAFETY: the signatures are those of `rocksdb/c.h`.
                unsafe {
                    Ok(Functions { $($name: *library.get(concat!("rocksdb_", stringify!($name)).as_bytes())?,)* })
                }
            }
        }
    };
}

functions! {
    options_create() -> Raw;
    get_options_from_string(Raw, Bytes, Raw, Slot);
    open(Raw, Bytes, Slot) -> Raw;
    close(Raw);
    free(Raw);
    writeoptions_create() -> Raw;
    writeoptions_set_sync(Raw, c_uchar);
    readoptions_create() -> Raw;
    put(Raw, Raw, Bytes, usize, Bytes, usize, Slot);
    writebatch_create() -> Raw;
    writebatch_destroy(Raw);
    writebatch_put(Raw, Bytes, usize, Bytes, usize);
    writebatch_delete(Raw, Bytes, usize);
    write(Raw, Raw, Raw, Slot);
    flush_wal(Raw, c_uchar, Slot);
    get_pinned(Raw, Raw, Bytes, usize, Slot) -> Raw;
    pinnableslice_value(Raw, *mut usize) -> Bytes;
    pinnableslice_destroy(Raw);
    create_iterator(Raw, Raw) -> Raw;
    iter_destroy(Raw);
    iter_seek(Raw, Bytes, usize);
    iter_valid(Raw) -> c_uchar;
    iter_next(Raw);
    iter_key(Raw, *mut usize) -> Bytes;
    iter_value(Raw, *mut usize) -> Bytes;
    iter_get_error(Raw, Slot);
    compact_range(Raw, Bytes, usize, Bytes, usize);
}

pub struct RocksDb {
    f: Functions,
    db: Raw,
    synced: Raw,
    unsynced: Raw,
    reading: Raw,
    /// The functions are in the library.
    _library: Library,
}

// SAFETY: RocksDB's databases and options may be used by all threads at once. The options do not change after `open`.
unsafe impl Send for RocksDb {}
// SAFETY: see `Send`.
unsafe impl Sync for RocksDb {}

fn data(bytes: &[u8]) -> Bytes {
    bytes.as_ptr().cast()
}

impl RocksDb {
    pub fn open(library: &Path, dir: &Path) -> Result<RocksDb> {
        // SAFETY: the user names RocksDB's library. Its initialisers only set up the library.
        let library = unsafe { Library::new(library)? };
        let f = Functions::find(&library)?;
        let text = CString::new(format!(
            "create_if_missing=true;block_based_table_factory={{block_cache={CACHE_BYTES};filter_policy=bloomfilter:10}}"
        ))?;
        let dir = CString::new(dir.to_str().ok_or("the path of the directory is not UTF-8")?)?;
        // SAFETY: all handles are new, and the texts end with a zero byte and outlive the calls.
        unsafe {
            let (base, options) = ((f.options_create)(), (f.options_create)());
            checked(&f, |slot| (f.get_options_from_string)(base, text.as_ptr(), options, slot))?;
            let (synced, unsynced) = ((f.writeoptions_create)(), (f.writeoptions_create)());
            (f.writeoptions_set_sync)(synced, 1);
            let reading = (f.readoptions_create)();
            let db = checked(&f, |slot| (f.open)(options, dir.as_ptr(), slot))?;
            Ok(RocksDb { f, db, synced, unsynced, reading, _library: library })
        }
    }

    fn batch(&self, sync: bool, fill: impl FnOnce(Raw)) -> Result<()> {
        let options = if sync { self.synced } else { self.unsynced };
        // SAFETY: the handles are live, and the batch is destroyed once.
        unsafe {
            let batch = (self.f.writebatch_create)();
            fill(batch);
            let outcome = checked(&self.f, |slot| (self.f.write)(self.db, options, batch, slot));
            (self.f.writebatch_destroy)(batch);
            outcome
        }
    }

    fn batch_put(&self, batch: Raw, key: &[u8], value: &[u8]) {
        // SAFETY: the batch is live, and copies key and value.
        unsafe { (self.f.writebatch_put)(batch, data(key), key.len(), data(value), value.len()) }
    }
}

/// Makes a call that puts its error into a slot.
fn checked<T>(f: &Functions, call: impl FnOnce(Slot) -> T) -> Result<T> {
    let mut error = std::ptr::null_mut();
    let answer = call(&raw mut error);
    if error.is_null() {
        return Ok(answer);
    }
    // SAFETY: the text of an error ends with a zero byte, and its receiver frees it.
    let text = unsafe { CStr::from_ptr(error).to_string_lossy().into_owned() };
    // SAFETY: see above; the text is not used again.
    unsafe { (f.free)(error.cast()) };
    Err(text.into())
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: the database is closed once. No iterator is left: each is destroyed in the call that made it.
        unsafe { (self.f.close)(self.db) }
    }
}

impl Store for RocksDb {
    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn load(&self, pairs: &mut dyn Iterator<Item = Pair>) -> Result<()> {
        in_batches(pairs, |pairs| {
            self.batch(false, |batch| pairs.iter().for_each(|(key, value)| self.batch_put(batch, key, value)))
        })?;
        self.sync()
    }

    fn commit(&self, changes: &[Change], sync: bool) -> Result<()> {
        if let [Change::Put(key, value)] = changes {
            let options = if sync { self.synced } else { self.unsynced };
            // SAFETY: the handles are live, and the database copies key and value.
            return checked(&self.f, |slot| unsafe {
                (self.f.put)(self.db, options, data(key), key.len(), data(value), value.len(), slot);
            });
        }
        self.batch(sync, |batch| {
            for change in changes {
                match change {
                    Change::Put(key, value) => self.batch_put(batch, key, value),
                    // SAFETY: the batch is live, and copies the key.
                    Change::Delete(key) => unsafe { (self.f.writebatch_delete)(batch, data(key), key.len()) },
                }
            }
        })
    }

    fn sync(&self) -> Result<()> {
        // SAFETY: the database is open.
        checked(&self.f, |slot| unsafe { (self.f.flush_wal)(self.db, 1, slot) })
    }

    fn view(&self, work: &mut dyn FnMut(&dyn View) -> Result<()>) -> Result<()> {
        work(self)
    }

    fn compact(&self) -> Result<()> {
        // SAFETY: the database is open; null is no bound.
        unsafe { (self.f.compact_range)(self.db, std::ptr::null(), 0, std::ptr::null(), 0) };
        Ok(())
    }
}

impl View for RocksDb {
    fn get(&self, key: &[u8]) -> Result<Option<u64>> {
        // SAFETY: the handles are live. The bytes of the value are read before the value is destroyed.
        unsafe {
            let pinned = checked(&self.f, |slot| {
                (self.f.get_pinned)(self.db, self.reading, data(key), key.len(), slot)
            })?;
            if pinned.is_null() {
                return Ok(None);
            }
            let mut len = 0;
            let bytes = (self.f.pinnableslice_value)(pinned, &raw mut len);
            let found = sum(std::slice::from_raw_parts(bytes.cast(), len));
            (self.f.pinnableslice_destroy)(pinned);
            Ok(Some(found))
        }
    }

    fn range(&self, start: &[u8], count: usize) -> Result<usize> {
        // SAFETY: the handles are live, and the iterator is destroyed once. Key and value are asked for at a valid position.
        unsafe {
            let iter = (self.f.create_iterator)(self.db, self.reading);
            (self.f.iter_seek)(iter, data(start), start.len());
            let (mut read, mut len) = (0, 0);
            while read < count && (self.f.iter_valid)(iter) != 0 {
                black_box(((self.f.iter_key)(iter, &raw mut len), (self.f.iter_value)(iter, &raw mut len)));
                (self.f.iter_next)(iter);
                read += 1;
            }
            let status = checked(&self.f, |slot| (self.f.iter_get_error)(iter, slot));
            (self.f.iter_destroy)(iter);
            status.map(|()| read)
        }
    }
}
