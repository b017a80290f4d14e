//! Reading: gets, multi-gets, snapshots, iterators.

use std::ffi::{c_char, c_uchar};
use std::sync::Arc;

use crate::db::{Db, Family, Open, data};
use crate::library::{Library, Result, copy};
use crate::table::{Bytes, Raw};

/// Options of a read. All defaults are RocksDB's.
#[derive(Clone, Default)]
pub struct Reading {
    pub snapshot: Option<Snapshot>,
    /// The timestamp to read at, in families with timestamps.
    pub timestamp: Option<Vec<u8>>,
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
    pub tailing: bool,
    pub total_order: bool,
    pub auto_prefix: bool,
    pub same_prefix: bool,
    pub pin_data: bool,
    pub async_io: bool,
    pub no_fill_cache: bool,
    pub no_checksums: bool,
    pub readahead: usize,
    pub soft_limit: Option<u64>,
}

/// The read options of the library, with the objects that they point to.
struct Native {
    raw: Raw,
    library: Library,
    kept: Reading,
}

impl Native {
    fn new(library: &Library, reading: &Reading) -> Native {
        let t = library.table();
        // SAFETY: the handle is new. The bounds and the timestamp that it points to are copies in `kept`, which live in
        // the same struct and never change. A move of the struct does not move the bytes of a vector.
        unsafe {
            let made =
                Native { raw: (t.readoptions_create)(), library: library.clone(), kept: reading.clone() };
            if let Some(snapshot) = &made.kept.snapshot {
                (t.readoptions_set_snapshot)(made.raw, snapshot.held.raw);
            }
            if let Some(timestamp) = &made.kept.timestamp {
                (t.readoptions_set_timestamp)(made.raw, data(timestamp), timestamp.len());
            }
            if let Some(key) = &made.kept.lower {
                (t.readoptions_set_iterate_lower_bound)(made.raw, data(key), key.len());
            }
            if let Some(key) = &made.kept.upper {
                (t.readoptions_set_iterate_upper_bound)(made.raw, data(key), key.len());
            }
            (t.readoptions_set_tailing)(made.raw, c_uchar::from(reading.tailing));
            (t.readoptions_set_total_order_seek)(made.raw, c_uchar::from(reading.total_order));
            (t.readoptions_set_auto_prefix_mode)(made.raw, c_uchar::from(reading.auto_prefix));
            (t.readoptions_set_prefix_same_as_start)(made.raw, c_uchar::from(reading.same_prefix));
            (t.readoptions_set_pin_data)(made.raw, c_uchar::from(reading.pin_data));
            (t.readoptions_set_async_io)(made.raw, c_uchar::from(reading.async_io));
            (t.readoptions_set_fill_cache)(made.raw, c_uchar::from(!reading.no_fill_cache));
            (t.readoptions_set_verify_checksums)(made.raw, c_uchar::from(!reading.no_checksums));
            (t.readoptions_set_readahead_size)(made.raw, reading.readahead);
            if let Some(limit) = reading.soft_limit {
                (t.readoptions_set_value_size_soft_limit)(made.raw, limit);
            }
            made
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: the handle was made above, and it is destroyed once. No call uses it, and an iterator is destroyed
        // before its options.
        unsafe { (self.library.table().readoptions_destroy)(self.raw) };
    }
}

struct Held {
    raw: Raw,
    open: Arc<Open>,
}

// SAFETY: a snapshot does not change, and any thread may release it: RocksDB takes the lock of the database for the
// release.
unsafe impl Send for Held {}
// SAFETY: a snapshot does not change, so threads may share it.
unsafe impl Sync for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the snapshot is of this database, which is open, and it is released once.
        unsafe { (self.open.library.table().release_snapshot)(self.open.raw, self.raw) };
    }
}

/// A snapshot.
#[derive(Clone)]
pub struct Snapshot {
    held: Arc<Held>,
}

impl Db {
    /// Takes a snapshot of the newest state. The drop of the last copy releases the snapshot.
    pub fn snapshot(&self) -> Snapshot {
        let open = self.open.clone();
        // SAFETY: the handle is live.
        let raw = unsafe { (open.library.table().create_snapshot)(open.raw) };
        Snapshot { held: Arc::new(Held { raw, open }) }
    }

    /// Returns the value of a key. `None`: the key does not exist.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn get(&self, family: &Family, key: &[u8], reading: &Reading) -> Result<Option<Vec<u8>>> {
        let library = &self.open.library;
        let options = Native::new(library, reading);
        let mut len = 0usize;
        // SAFETY: the handles are live, the key outlives the call, and the pointer has room for one number.
        let value = library.checked(|t, e| unsafe {
            (t.get_cf)(self.open.raw, options.raw, family.raw(), data(key), key.len(), &raw mut len, e)
        })?;
        Ok(if value.is_null() { None } else { Some(library.bytes(value, len)) })
    }

    /// Returns the values of several keys of one column family. With `batched`, calls RocksDB's batched multi-get.
    pub fn multi_get(
        &self,
        family: &Family,
        keys: &[&[u8]],
        reading: &Reading,
        batched: bool,
    ) -> Vec<Result<Option<Vec<u8>>>> {
        let library = &self.open.library;
        let t = library.table();
        let options = Native::new(library, reading);
        let families = vec![family.raw(); keys.len()];
        let pointers: Vec<Bytes> = keys.iter().map(|k| data(k)).collect();
        let lengths: Vec<usize> = keys.iter().map(|k| k.len()).collect();
        let mut errors: Vec<*mut c_char> = vec![std::ptr::null_mut(); keys.len()];
        let mut found: Vec<Option<Vec<u8>>> = Vec::with_capacity(keys.len());
        let (p, l, e) = (pointers.as_ptr(), lengths.as_ptr(), errors.as_mut_ptr());
        if batched {
            let mut slices: Vec<Raw> = vec![std::ptr::null_mut(); keys.len()];
            let s = slices.as_mut_ptr();
            // SAFETY: the handles are live, and every array is as long as `keys`.
            unsafe {
                (t.batched_multi_get_cf)(
                    self.open.raw,
                    options.raw,
                    family.raw(),
                    keys.len(),
                    p,
                    l,
                    s,
                    e,
                    false,
                )
            };
            for slice in slices {
                if slice.is_null() {
                    found.push(None);
                    continue;
                }
                let mut len = 0usize;
                // SAFETY: the library returned the slice. Its bytes are copied before the slice is destroyed, once.
                unsafe {
                    let value = (t.pinnableslice_value)(slice, &raw mut len);
                    found.push(Some(copy(value, len)));
                    (t.pinnableslice_destroy)(slice);
                }
            }
        } else {
            let mut values: Vec<*mut c_char> = vec![std::ptr::null_mut(); keys.len()];
            let mut sizes = vec![0usize; keys.len()];
            let (f, v, z) = (families.as_ptr(), values.as_mut_ptr(), sizes.as_mut_ptr());
            // SAFETY: the handles are live, and every array is as long as `keys`.
            unsafe { (t.multi_get_cf)(self.open.raw, options.raw, f, keys.len(), p, l, v, z, e) };
            let taken = values.into_iter().zip(sizes);
            found.extend(taken.map(|(v, n)| if v.is_null() { None } else { Some(library.bytes(v, n)) }));
        }
        let answers = found.into_iter().zip(errors);
        answers
            .map(|(value, error)| if error.is_null() { Ok(value) } else { Err(library.words(error)) })
            .collect()
    }

    /// Returns an iterator over a column family.
    pub fn iter(&self, family: &Family, reading: &Reading) -> Iter {
        let open = self.open.clone();
        let mut options = Native::new(&open.library, reading);
        // SAFETY: the handles are live. The iterator is destroyed before its options, its column family and its
        // database.
        let raw = unsafe { (open.library.table().create_iterator_cf)(open.raw, options.raw, family.raw()) };
        // An iterator needs its snapshot only to be made.
        options.kept.snapshot = None;
        Iter { raw, _options: options, _family: family.clone(), open }
    }
}

/// An iterator over a column family.
pub struct Iter {
    raw: Raw,
    _options: Native,
    _family: Family,
    open: Arc<Open>,
}

impl Drop for Iter {
    fn drop(&mut self) {
        // SAFETY: the handle was made above, and it is destroyed once, before the fields that it refers to.
        unsafe { (self.open.library.table().iter_destroy)(self.raw) };
    }
}

impl Iter {
    /// Returns true if the iterator is at an entry. False at both ends and after an error.
    pub fn valid(&self) -> bool {
        // SAFETY: the handle is live.
        unsafe { (self.open.library.table().iter_valid)(self.raw) != 0 }
    }

    /// Moves to the first entry, or makes the iterator not valid if there is none.
    pub fn seek_to_first(&mut self) {
        // SAFETY: the handle is live.
        unsafe { (self.open.library.table().iter_seek_to_first)(self.raw) };
    }

    /// Moves to the last entry, or makes the iterator not valid if there is none.
    pub fn seek_to_last(&mut self) {
        // SAFETY: the handle is live.
        unsafe { (self.open.library.table().iter_seek_to_last)(self.raw) };
    }

    /// Moves to the first entry at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        // SAFETY: the handle is live, and the call copies the key.
        unsafe { (self.open.library.table().iter_seek)(self.raw, data(key), key.len()) };
    }

    /// Moves to the last entry at or before `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        // SAFETY: the handle is live, and the call copies the key.
        unsafe { (self.open.library.table().iter_seek_for_prev)(self.raw, data(key), key.len()) };
    }

    /// # Panics
    /// If the iterator is not valid: RocksDB's behaviour is then undefined.
    pub fn next(&mut self) {
        assert!(self.valid(), "next of an iterator that stands nowhere");
        // SAFETY: the handle is live, and the iterator is valid.
        unsafe { (self.open.library.table().iter_next)(self.raw) };
    }

    /// # Panics
    /// If the iterator is not valid: RocksDB's behaviour is then undefined.
    pub fn prev(&mut self) {
        assert!(self.valid(), "prev of an iterator that stands nowhere");
        // SAFETY: the handle is live, and the iterator is valid.
        unsafe { (self.open.library.table().iter_prev)(self.raw) };
    }

    /// Returns the key and the value. `None`: the iterator is not valid.
    pub fn row(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        if !self.valid() {
            return None;
        }
        let (t, mut key_len, mut value_len) = (self.open.library.table(), 0usize, 0usize);
        // SAFETY: the handle is live, and the iterator is valid. Both slices are copied before the iterator moves.
        unsafe {
            let key = (t.iter_key)(self.raw, &raw mut key_len);
            let key = copy(key, key_len);
            let value = (t.iter_value)(self.raw, &raw mut value_len);
            Some((key, copy(value, value_len)))
        }
    }

    /// # Errors
    /// The error that ended the iteration.
    pub fn status(&self) -> Result<()> {
        // SAFETY: the handle is live.
        self.open.library.checked(|t, e| unsafe { (t.iter_get_error)(self.raw, e) })
    }

    /// # Errors
    /// The error text of RocksDB.
    pub fn refresh(&mut self) -> Result<()> {
        // SAFETY: the handle is live.
        self.open.library.checked(|t, e| unsafe { (t.iter_refresh)(self.raw, e) })
    }
}
