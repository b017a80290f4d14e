//! An open database: families, writes, maintenance, properties.

use std::ffi::c_uchar;
use std::path::Path;
use std::sync::Arc;

use crate::library::{Library, Options, Result, c_text, path_text};
use crate::table::{Bytes, Raw, Text};

pub(crate) struct Open {
    pub(crate) raw: Raw,
    pub(crate) library: Library,
    /// Options that live as long as the database, because the database may refer to objects that they own.
    _options: Vec<Options>,
}

impl Open {
    pub(crate) fn new(raw: Raw, library: Library, options: Vec<Options>) -> Open {
        Open { raw, library, _options: options }
    }
}

// SAFETY: RocksDB's databases may be used and closed from any thread.
unsafe impl Send for Open {}
// SAFETY: RocksDB's calls take their own locks, so threads may share a database.
unsafe impl Sync for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: the database is open, and it is closed once. Each family, iterator and snapshot
        // keeps this struct alive through an `Arc`, and this struct is being dropped. So all of them are gone.
        unsafe { (self.library.table().close)(self.raw) };
    }
}

/// An open database. The drop of the last handle closes the database.
#[derive(Clone)]
pub struct Db {
    pub(crate) open: Arc<Open>,
}

pub(crate) struct Handle {
    pub(crate) raw: Raw,
    pub(crate) open: Arc<Open>,
}

// SAFETY: the handle of a column family is a reference count and an id. RocksDB lets any thread use and destroy it.
unsafe impl Send for Handle {}
// SAFETY: the handle does not change, and RocksDB lets threads share it.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the library made the handle. It is destroyed once, while the database is open.
        unsafe { (self.open.library.table().column_family_handle_destroy)(self.raw) };
    }
}

/// A column family.
#[derive(Clone)]
pub struct Family {
    handle: Arc<Handle>,
}

impl Family {
    /// Makes the column family of a handle. The family destroys the handle.
    pub(crate) fn new(raw: Raw, open: Arc<Open>) -> Self {
        Family { handle: Arc::new(Handle { raw, open }) }
    }

    pub(crate) fn raw(&self) -> Raw {
        self.handle.raw
    }
}

/// Options of a write.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writing {
    pub sync: bool,
    pub disable_wal: bool,
    pub ignore_missing: bool,
}

/// Options of a manual compaction. `bottommost` has RocksDB's number. Without `target_level`, files stay on their
/// level.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compaction {
    pub bottommost: u8,
    pub exclusive: bool,
    pub target_level: Option<i32>,
    pub subcompactions: i32,
}

pub(crate) fn data(bytes: &[u8]) -> Bytes {
    bytes.as_ptr().cast()
}

pub(crate) struct WriteOptions<'a> {
    raw: Raw,
    library: &'a Library,
}

impl<'a> WriteOptions<'a> {
    pub(crate) fn raw(&self) -> Raw {
        self.raw
    }

    pub(crate) fn new(library: &'a Library, writing: Writing) -> Self {
        let t = library.table();
        // SAFETY: the handle is new, and no other code has it.
        unsafe {
            let raw = (t.writeoptions_create)();
            (t.writeoptions_set_sync)(raw, c_uchar::from(writing.sync));
            (t.writeoptions_disable_WAL)(raw, i32::from(writing.disable_wal));
            (t.writeoptions_set_ignore_missing_column_families)(raw, c_uchar::from(writing.ignore_missing));
            WriteOptions { raw, library }
        }
    }
}

impl Drop for WriteOptions<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle was made above, and it is destroyed once.
        unsafe { (self.library.table().writeoptions_destroy)(self.raw) };
    }
}

impl Db {
    /// Opens the database at `path` with these families, each with its option string.
    ///
    /// # Errors
    /// The error text of RocksDB about the options or the directory.
    pub fn open(
        library: &Library,
        path: &Path,
        text: &str,
        families: &[(String, String)],
        read_only: bool,
    ) -> Result<(Db, Vec<Family>)> {
        let options = library.options(text)?;
        let own = families.iter().map(|f| library.options(&f.1)).collect::<Result<Vec<_>>>()?;
        let raw_options: Vec<Raw> = own.iter().map(|o| o.raw).collect();
        let names = families.iter().map(|f| c_text(&f.0)).collect::<Result<Vec<_>>>()?;
        let raw_names: Vec<Text> = names.iter().map(|n| n.as_ptr()).collect();
        let mut handles: Vec<Raw> = vec![std::ptr::null_mut(); families.len()];
        let (path, count) = (path_text(path)?, families.len() as i32);
        let (n, o) = (raw_names.as_ptr(), raw_options.as_ptr());
        // SAFETY: the handles are live. The arrays of names, options and handles have `count` places, and the texts
        // outlive the call.
        let raw = library.checked(|t, e| unsafe {
            let h = handles.as_mut_ptr();
            if read_only {
                (t.open_for_read_only_column_families)(options.raw, path.as_ptr(), count, n, o, h, 0, e)
            } else {
                (t.open_column_families)(options.raw, path.as_ptr(), count, n, o, h, e)
            }
        })?;
        let mut kept = own;
        kept.push(options);
        let open = Arc::new(Open::new(raw, library.clone(), kept));
        let families = handles.into_iter().map(|raw| Family::new(raw, open.clone())).collect();
        Ok((Db { open }, families))
    }

    fn library(&self) -> &Library {
        &self.open.library
    }

    /// Creates a column family.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn create_family(&self, name: &str, text: &str) -> Result<Family> {
        let (options, name) = (self.library().options(text)?, c_text(name)?);
        // SAFETY: the handles are live, and the text outlives the call. The column family copies its options.
        let raw = self.library().checked(|t, e| unsafe {
            (t.create_column_family)(self.open.raw, options.raw, name.as_ptr(), e)
        })?;
        Ok(Family::new(raw, self.open.clone()))
    }

    /// Drops a column family. Its handle can still read.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn drop_family(&self, family: &Family) -> Result<()> {
        // SAFETY: the handles are live.
        self.library().checked(|t, e| unsafe { (t.drop_column_family)(self.open.raw, family.raw(), e) })
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn write(&self, batch: &Batch, writing: Writing) -> Result<()> {
        let options = WriteOptions::new(self.library(), writing);
        // SAFETY: the handles are live.
        self.library().checked(|t, e| unsafe { (t.write)(self.open.raw, options.raw, batch.raw, e) })
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn put(&self, family: &Family, key: &[u8], value: &[u8], writing: Writing) -> Result<()> {
        let o = WriteOptions::new(self.library(), writing);
        // SAFETY: the handles are live. The slices outlive the call, and the call copies them.
        self.library().checked(|t, e| unsafe {
            (t.put_cf)(self.open.raw, o.raw, family.raw(), data(key), key.len(), data(value), value.len(), e)
        })
    }

    /// Writes a merge operand. RocksDB needs a merge operator in the options of the column family.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn merge(&self, family: &Family, key: &[u8], operand: &[u8], writing: Writing) -> Result<()> {
        let o = WriteOptions::new(self.library(), writing);
        // SAFETY: the handles are live. The slices outlive the call, and the call copies them.
        self.library().checked(|t, e| unsafe {
            (t.merge_cf)(
                self.open.raw,
                o.raw,
                family.raw(),
                data(key),
                key.len(),
                data(operand),
                operand.len(),
                e,
            )
        })
    }

    /// Deletes the keys in `[begin, end)`.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn delete_range(&self, family: &Family, begin: &[u8], end: &[u8], writing: Writing) -> Result<()> {
        let o = WriteOptions::new(self.library(), writing);
        // SAFETY: the handles are live. The slices outlive the call, and the call copies them.
        self.library().checked(|t, e| unsafe {
            (t.delete_range_cf)(
                self.open.raw,
                o.raw,
                family.raw(),
                data(begin),
                begin.len(),
                data(end),
                end.len(),
                e,
            )
        })
    }

    /// Deletes a key. A key that does not exist is not an error.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn delete(&self, family: &Family, key: &[u8], writing: Writing) -> Result<()> {
        let o = WriteOptions::new(self.library(), writing);
        // SAFETY: the handles are live. The slices outlive the call, and the call copies them.
        self.library().checked(|t, e| unsafe {
            (t.delete_cf)(self.open.raw, o.raw, family.raw(), data(key), key.len(), e)
        })
    }

    /// Deletes a key that was put exactly once since its last deletion. RocksDB leaves other cases undefined.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn single_delete(&self, family: &Family, key: &[u8], writing: Writing) -> Result<()> {
        let o = WriteOptions::new(self.library(), writing);
        // SAFETY: the handles are live. The slices outlive the call, and the call copies them.
        self.library().checked(|t, e| unsafe {
            (t.singledelete_cf)(self.open.raw, o.raw, family.raw(), data(key), key.len(), e)
        })
    }

    /// Flushes column families, and waits for the end of the flush.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn flush(&self, families: &[Family]) -> Result<()> {
        let raw: Vec<Raw> = families.iter().map(Family::raw).collect();
        // SAFETY: the array has as many live handles as the number says, and the options live until the call returns.
        self.library().checked(|t, e| unsafe {
            let options = (t.flushoptions_create)();
            (t.flush_cfs)(self.open.raw, options, raw.as_ptr(), raw.len() as i32, e);
            (t.flushoptions_destroy)(options);
        })
    }

    /// Writes the buffered WAL records to the file. With `sync`, also makes them durable.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        // SAFETY: the handle is live.
        self.library().checked(|t, e| unsafe { (t.flush_wal)(self.open.raw, c_uchar::from(sync), e) })
    }

    /// Compacts a range. The C interface reports no error.
    pub fn compact(&self, family: &Family, begin: Option<&[u8]>, end: Option<&[u8]>, how: Compaction) {
        let t = self.library().table();
        let part = |key: Option<&[u8]>| key.map_or((std::ptr::null(), 0), |k| (data(k), k.len()));
        let ((a, a_len), (b, b_len)) = (part(begin), part(end));
        // SAFETY: the handles are live, and the keys outlive the call. A null key is no bound.
        unsafe {
            let o = (t.compactoptions_create)();
            (t.compactoptions_set_bottommost_level_compaction)(o, how.bottommost);
            (t.compactoptions_set_exclusive_manual_compaction)(o, c_uchar::from(how.exclusive));
            if let Some(level) = how.target_level {
                (t.compactoptions_set_change_level)(o, 1);
                (t.compactoptions_set_target_level)(o, level);
            }
            (t.compactoptions_set_max_subcompactions)(o, how.subcompactions);
            (t.compact_range_cf_opt)(self.open.raw, family.raw(), o, a, a_len, b, b_len);
            (t.compactoptions_destroy)(o);
        }
    }

    /// Waits until no flush or compaction runs or is due.
    ///
    /// # Errors
    /// The background error.
    pub fn wait_for_compact(&self) -> Result<()> {
        // SAFETY: the handles are live, and the options live until the call returns.
        self.library().checked(|t, e| unsafe {
            let options = (t.wait_for_compact_options_create)();
            (t.wait_for_compact)(self.open.raw, options, e);
            (t.wait_for_compact_options_destroy)(options);
        })
    }

    /// Changes options of a column family, or of the database if `family` is `None`.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn set_options(&self, family: Option<&Family>, changes: &[(&str, &str)]) -> Result<()> {
        let names = changes.iter().map(|c| c_text(c.0)).collect::<Result<Vec<_>>>()?;
        let values = changes.iter().map(|c| c_text(c.1)).collect::<Result<Vec<_>>>()?;
        let n: Vec<Text> = names.iter().map(|t| t.as_ptr()).collect();
        let v: Vec<Text> = values.iter().map(|t| t.as_ptr()).collect();
        let count = changes.len() as i32;
        // SAFETY: the handles are live. The arrays have as many texts as the number says, and the texts outlive the
        // call.
        self.library().checked(|t, e| unsafe {
            match family {
                Some(f) => (t.set_options_cf)(self.open.raw, f.raw(), count, n.as_ptr(), v.as_ptr(), e),
                None => (t.set_db_options)(self.open.raw, count, n.as_ptr(), v.as_ptr(), e),
            }
        })
    }

    /// Returns a property as text. `None`: there is no such property.
    pub fn property(&self, family: &Family, name: &str) -> Option<String> {
        let name = c_text(name).ok()?;
        // SAFETY: the handles are live, and the text outlives the call.
        let value =
            unsafe { (self.library().table().property_value_cf)(self.open.raw, family.raw(), name.as_ptr()) };
        if value.is_null() { None } else { Some(self.library().words(value)) }
    }

    /// Returns a property as a number. `None`: there is no such numeric property.
    pub fn int_property(&self, family: &Family, name: &str) -> Option<u64> {
        let (name, mut value) = (c_text(name).ok()?, 0u64);
        let t = self.library().table();
        // SAFETY: the handles are live, the text outlives the call, and the pointer has room for one number.
        let code = unsafe { (t.property_int_cf)(self.open.raw, family.raw(), name.as_ptr(), &raw mut value) };
        (code == 0).then_some(value)
    }

    /// Returns RocksDB's latest sequence number of the database.
    pub fn latest_sequence(&self) -> u64 {
        // SAFETY: the handle is live.
        unsafe { (self.library().table().get_latest_sequence_number)(self.open.raw) }
    }

    /// Reads and verifies every block of every SST file.
    ///
    /// # Errors
    /// The error of the first damaged block.
    pub fn verify_checksum(&self) -> Result<()> {
        // SAFETY: the handle is live.
        self.library().checked(|t, e| unsafe { (t.verify_checksum)(self.open.raw, e) })
    }
}

impl Family {
    /// Returns the id that RocksDB gave to the column family. The default column family has 0.
    pub fn id(&self) -> u32 {
        // SAFETY: the handle is live.
        unsafe { (self.handle.open.library.table().column_family_handle_get_id)(self.raw()) }
    }
}

/// A write batch.
pub struct Batch {
    raw: Raw,
    library: Library,
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: a constructor made the handle, and it is destroyed once.
        unsafe { (self.library.table().writebatch_destroy)(self.raw) };
    }
}

impl Batch {
    /// Makes an empty batch.
    pub fn new(library: &Library) -> Batch {
        // SAFETY: the function returns a new handle.
        Batch { raw: unsafe { (library.table().writebatch_create)() }, library: library.clone() }
    }

    /// Returns a batch of encoded records, as the WAL holds them. Keys of families with timestamps carry timestamps.
    pub fn from_bytes(library: &Library, bytes: &[u8]) -> Batch {
        // SAFETY: the function returns a new handle. The bytes outlive the call, and the call copies them.
        let raw = unsafe { (library.table().writebatch_create_from)(data(bytes), bytes.len()) };
        Batch { raw, library: library.clone() }
    }

    /// Returns the number of changes. Log data and save points do not count.
    pub fn count(&self) -> u32 {
        // SAFETY: the handle is live.
        unsafe { (self.library.table().writebatch_count)(self.raw) as u32 }
    }

    /// Adds a put. Key and value are copied.
    pub fn put(&mut self, family: &Family, key: &[u8], value: &[u8]) {
        let t = self.library.table();
        // SAFETY: the handles are live, and the call copies the slices.
        unsafe {
            (t.writebatch_put_cf)(self.raw, family.raw(), data(key), key.len(), data(value), value.len())
        };
    }

    /// Adds a merge operand. Key and operand are copied.
    pub fn merge(&mut self, family: &Family, key: &[u8], operand: &[u8]) {
        let t = self.library.table();
        // SAFETY: the handles are live. The slices outlive the call, and the call copies them.
        unsafe {
            (t.writebatch_merge_cf)(
                self.raw,
                family.raw(),
                data(key),
                key.len(),
                data(operand),
                operand.len(),
            )
        };
    }

    /// Adds a deletion of the keys in `[begin, end)`. Both keys are copied.
    pub fn delete_range(&mut self, family: &Family, begin: &[u8], end: &[u8]) {
        let t = self.library.table();
        // SAFETY: the handles are live. The slices outlive the call, and the call copies them.
        unsafe {
            (t.writebatch_delete_range_cf)(
                self.raw,
                family.raw(),
                data(begin),
                begin.len(),
                data(end),
                end.len(),
            )
        };
    }

    /// Adds a deletion. The key is copied.
    pub fn delete(&mut self, family: &Family, key: &[u8]) {
        // SAFETY: the handles are live. The slices outlive the call, and the call copies them.
        unsafe { (self.library.table().writebatch_delete_cf)(self.raw, family.raw(), data(key), key.len()) };
    }

    /// Adds a single deletion. The key is copied.
    pub fn single_delete(&mut self, family: &Family, key: &[u8]) {
        // SAFETY: the handles are live. The slices outlive the call, and the call copies them.
        unsafe {
            (self.library.table().writebatch_singledelete_cf)(self.raw, family.raw(), data(key), key.len())
        };
    }

    /// Adds bytes that go to the WAL only. The count of the batch does not change.
    pub fn put_log_data(&mut self, blob: &[u8]) {
        // SAFETY: the handle is live, and the call copies the slice.
        unsafe { (self.library.table().writebatch_put_log_data)(self.raw, data(blob), blob.len()) };
    }

    /// Adds a save point. A rollback removes the changes after it.
    pub fn set_save_point(&mut self) {
        // SAFETY: the handle is live.
        unsafe { (self.library.table().writebatch_set_save_point)(self.raw) };
    }

    /// # Errors
    /// NotFound if there is no save point.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        // SAFETY: the handle is live.
        self.library.checked(|t, e| unsafe { (t.writebatch_rollback_to_save_point)(self.raw, e) })
    }

    /// # Errors
    /// NotFound if there is no save point.
    pub fn pop_save_point(&mut self) -> Result<()> {
        // SAFETY: the handle is live.
        self.library.checked(|t, e| unsafe { (t.writebatch_pop_save_point)(self.raw, e) })
    }
}
