//! RocksDB's files taken out and put in: checkpoints, external SST files, ingestion, backups, secondary instances.

use std::path::Path;
use std::sync::Arc;

use crate::db::{Db, Family, Open, data};
use crate::library::{Library, Options, Result, c_text, path_text};
use crate::table::{Raw, Text};

impl Db {
    /// Creates a checkpoint in the new directory `dir`.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn checkpoint(&self, dir: &Path, log_size_for_flush: u64) -> Result<()> {
        let (library, dir) = (&self.open.library, path_text(dir)?);
        // SAFETY: the database is open.
        let raw = library.checked(|t, e| unsafe { (t.checkpoint_object_create)(self.open.raw, e) })?;
        // SAFETY: the handle is live, and the text outlives the call.
        let made = library
            .checked(|t, e| unsafe { (t.checkpoint_create)(raw, dir.as_ptr(), log_size_for_flush, e) });
        // SAFETY: the handle was made above, and it is destroyed once.
        unsafe { (library.table().checkpoint_object_destroy)(raw) };
        made
    }

    /// Ingests these files into a column family.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn ingest(&self, family: &Family, files: &[&Path]) -> Result<()> {
        let library = &self.open.library;
        let texts = files.iter().map(|f| path_text(f)).collect::<Result<Vec<_>>>()?;
        let raw: Vec<Text> = texts.iter().map(|t| t.as_ptr()).collect();
        // SAFETY: the function returns a new handle.
        let options = unsafe { (library.table().ingestexternalfileoptions_create)() };
        // SAFETY: the handles are live. The list has as many texts as its length says, and the texts outlive the
        // call.
        let done = library.checked(|t, e| unsafe {
            (t.ingest_external_file_cf)(self.open.raw, family.raw(), raw.as_ptr(), raw.len(), options, e)
        });
        // SAFETY: the handle was made above, and it is destroyed once.
        unsafe { (library.table().ingestexternalfileoptions_destroy)(options) };
        done
    }

    /// Opens a secondary instance of the database at `path`, with its own files in `own`.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn open_secondary(
        library: &Library,
        path: &Path,
        own: &Path,
        families: &[(String, String)],
    ) -> Result<(Db, Vec<Family>)> {
        let options = library.options("max_open_files=-1")?;
        let each = families.iter().map(|f| library.options(&f.1)).collect::<Result<Vec<_>>>()?;
        let raw_options: Vec<Raw> = each.iter().map(|o| o.raw).collect();
        let names = families.iter().map(|f| c_text(&f.0)).collect::<Result<Vec<_>>>()?;
        let raw_names: Vec<Text> = names.iter().map(|n| n.as_ptr()).collect();
        let mut handles: Vec<Raw> = vec![std::ptr::null_mut(); families.len()];
        let (path, own, count) = (path_text(path)?, path_text(own)?, families.len() as i32);
        // SAFETY: the handles are live. The arrays of names, options and handles have `count` places, and the texts
        // outlive the call.
        let raw = library.checked(|t, e| unsafe {
            (t.open_as_secondary_column_families)(
                options.raw,
                path.as_ptr(),
                own.as_ptr(),
                count,
                raw_names.as_ptr(),
                raw_options.as_ptr(),
                handles.as_mut_ptr(),
                e,
            )
        })?;
        let mut kept = each;
        kept.push(options);
        let open = Arc::new(Open::new(raw, library.clone(), kept));
        let families = handles.into_iter().map(|raw| Family::new(raw, open.clone())).collect();
        Ok((Db { open }, families))
    }

    /// Catches up with the writer of the database. For a secondary instance.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn catch_up(&self) -> Result<()> {
        // SAFETY: the database is open.
        self.open.library.checked(|t, e| unsafe { (t.try_catch_up_with_primary)(self.open.raw, e) })
    }
}

/// An external SST file that RocksDB writes.
pub struct SstWriter {
    raw: Raw,
    env: Raw,
    library: Library,
    _options: Options,
}

impl SstWriter {
    /// Starts the file at `path`, with options as text.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn open(library: &Library, path: &Path, text: &str) -> Result<SstWriter> {
        let (options, path) = (library.options(text)?, path_text(path)?);
        // SAFETY: the function returns a new handle.
        let env = unsafe { (library.table().envoptions_create)() };
        // SAFETY: both handles are live until the writer is dropped.
        let raw = unsafe { (library.table().sstfilewriter_create)(env, options.raw) };
        let writer = SstWriter { raw, env, library: library.clone(), _options: options };
        // SAFETY: the handle is live, and the text outlives the call.
        library.checked(|t, e| unsafe { (t.sstfilewriter_open)(raw, path.as_ptr(), e) })?;
        Ok(writer)
    }

    /// Adds an entry. The keys must ascend.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        // SAFETY: the handle is live, and each length is the length of its bytes.
        self.library.checked(|t, e| unsafe {
            (t.sstfilewriter_put)(self.raw, data(key), key.len(), data(value), value.len(), e)
        })
    }

    /// Adds a merge operand. The keys must ascend.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        // SAFETY: the handle is live, and each length is the length of its bytes.
        self.library.checked(|t, e| unsafe {
            (t.sstfilewriter_merge)(self.raw, data(key), key.len(), data(operand), operand.len(), e)
        })
    }

    /// Adds a tombstone. The keys must ascend.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        // SAFETY: the handle is live, and the length is the length of the key.
        self.library.checked(|t, e| unsafe { (t.sstfilewriter_delete)(self.raw, data(key), key.len(), e) })
    }

    /// Deletes the keys in `[begin, end)`.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        // SAFETY: the handle is live, and each length is the length of its bytes.
        self.library.checked(|t, e| unsafe {
            (t.sstfilewriter_delete_range)(self.raw, data(begin), begin.len(), data(end), end.len(), e)
        })
    }

    /// Writes the rest of the file.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn finish(self) -> Result<()> {
        // SAFETY: the handle is live.
        self.library.checked(|t, e| unsafe { (t.sstfilewriter_finish)(self.raw, e) })
    }
}

impl Drop for SstWriter {
    fn drop(&mut self) {
        let table = self.library.table();
        // SAFETY: `open` made the handles, and each is destroyed once. The writer is destroyed before the options
        // that it refers to.
        unsafe {
            (table.sstfilewriter_destroy)(self.raw);
            (table.envoptions_destroy)(self.env);
        }
    }
}

/// RocksDB's backup engine.
pub struct Backups {
    raw: Raw,
    library: Library,
    _options: Options,
}

impl Backups {
    /// Opens the backups in `dir`.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn open(library: &Library, dir: &Path) -> Result<Backups> {
        let (options, dir) = (library.options("")?, path_text(dir)?);
        // SAFETY: the handle is live, and the text outlives the call.
        let raw = library.checked(|t, e| unsafe { (t.backup_engine_open)(options.raw, dir.as_ptr(), e) })?;
        Ok(Backups { raw, library: library.clone(), _options: options })
    }

    /// Makes a backup.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn create(&self, db: &Db, flush: bool) -> Result<()> {
        // SAFETY: the handles are live.
        self.library.checked(|t, e| unsafe {
            (t.backup_engine_create_new_backup_flush)(self.raw, db.open.raw, u8::from(flush), e)
        })
    }

    /// Restores backup `id` to `dir`.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn restore(&self, id: u32, dir: &Path) -> Result<()> {
        let dir = path_text(dir)?;
        // SAFETY: the function returns a new handle.
        let options = unsafe { (self.library.table().restore_options_create)() };
        // SAFETY: the handles are live, and the text outlives the call.
        let done = self.library.checked(|t, e| unsafe {
            (t.backup_engine_restore_db_from_backup)(self.raw, dir.as_ptr(), dir.as_ptr(), options, id, e)
        });
        // SAFETY: the handle was made above, and it is destroyed once.
        unsafe { (self.library.table().restore_options_destroy)(options) };
        done
    }

    /// Verifies the sizes of the files of backup `id`.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn verify(&self, id: u32) -> Result<()> {
        // SAFETY: the handle is live.
        self.library.checked(|t, e| unsafe { (t.backup_engine_verify_backup)(self.raw, id, e) })
    }

    /// Keeps the newest `keep` backups.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn purge(&self, keep: u32) -> Result<()> {
        // SAFETY: the handle is live.
        self.library.checked(|t, e| unsafe { (t.backup_engine_purge_old_backups)(self.raw, keep, e) })
    }

    /// Returns the ids of all backups.
    pub fn ids(&self) -> Vec<u32> {
        let t = self.library.table();
        // SAFETY: the handle is live. The caller owns the result until it is destroyed.
        let info = unsafe { (t.backup_engine_get_backup_info)(self.raw) };
        // SAFETY: the handle is live.
        let count = unsafe { (t.backup_engine_info_count)(info) };
        // SAFETY: the handle is live, and the index is below the count.
        let ids = (0..count).map(|i| unsafe { (t.backup_engine_info_backup_id)(info, i) }).collect();
        // SAFETY: the library returned the handle above, and it is destroyed once.
        unsafe { (t.backup_engine_info_destroy)(info) };
        ids
    }
}

impl Drop for Backups {
    fn drop(&mut self) {
        // SAFETY: the engine is open, and it is closed once.
        unsafe { (self.library.table().backup_engine_close)(self.raw) };
    }
}
