//! Opening, closing, destroying, listing.

use std::path::Path;
use std::sync::Arc;

use base::{Error, Result};
use engine::sequence::Snapshot;
use ironstone::binding::check_no_wal;
use ironstone::{Db, FamilyDescriptor};

use super::path::database_dir;
use super::{DatabaseObject, database};
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JLongs, JObjects, JString, Java};
use crate::native::natives;
use crate::options::OptionSet;

/// The column families that an open names, in the order of the result.
pub struct Families {
    names: Vec<String>,
    pub descriptors: Vec<FamilyDescriptor>,
}

impl Families {
    /// # Errors
    /// IllegalArgumentException if the arrays differ in length; errors of the options.
    pub fn new(java: Java<'_>, names: JObjects<'_>, options: JLongs<'_>) -> Outcome<Families> {
        let (names, options) = (java.byte_arrays(names)?, java.longs(options)?);
        if names.len() != options.len() {
            return Err(Fault::illegal_argument(format!(
                "{} names have {} options",
                names.len(),
                options.len()
            )));
        }
        let mut families = Families { names: Vec::new(), descriptors: Vec::new() };
        for (name, options) in names.into_iter().zip(options) {
            let name = family_name(name)?;
            families.descriptors.push(Handle::of(options).shared::<OptionSet>()?.descriptor(&name)?);
            families.names.push(name);
        }
        if !families.names.iter().any(|name| name == "default") {
            return Err(Error::invalid_argument("Default column family not specified").into());
        }
        Ok(families)
    }

    /// Makes the result of an open: the handle of the database, and a handle of each column family.
    ///
    /// # Errors
    /// OutOfMemoryError. The handles are then closed.
    pub fn handles<'j>(&self, java: Java<'j>, db: DatabaseObject) -> Outcome<JLongs<'j>> {
        let families = self.names.iter().map(|name| db.family_handle(name)).collect::<Result<Vec<_>>>()?;
        let mut handles = vec![db.into_handle()?.long()];
        handles.extend(families.iter().map(|handle| handle.long()));
        java.new_longs(&handles)
            .inspect_err(|_| handles.iter().for_each(|handle| Handle::of(*handle).close()))
    }
}

/// Returns the text of the name of a column family.
///
/// # Errors
/// NotSupported if the name is not UTF-8. RocksDB takes each byte string as a name. Two names that differ only in such bytes must
/// not become one column family.
pub fn family_name(name: Vec<u8>) -> Result<String> {
    String::from_utf8(name).map_err(|error| {
        let name = error.as_bytes().escape_ascii();
        Error::not_supported(format!("a name of a column family that is not UTF-8: \"{name}\""))
    })
}

fn read_only(options: ironstone::Options, path: &Path, no_wal: bool) -> Result<ironstone::Options> {
    if no_wal {
        check_no_wal(&options.db, path)?;
    }
    Ok(options)
}

natives! {
    /// Opens a database with its default column family. As with RocksDB's `DB::Open`, the open fails if the database has more column
    /// families. Notifies the listeners that a handle was closed, as RocksDB does: its
    /// `DB::Open` (`db/db_impl/db_impl_open.cc`) makes a handle of the default column family and closes this handle.
    fn RocksDB_open__JLjava_lang_String_2[java](options: Handle, path: JString) -> Handle {
        let set = options.shared::<OptionSet>()?;
        let path = database_dir(java, path, &*set.db.env.fs)?;
        let (options, families) = (set.for_descriptors(), vec![set.descriptor("default")?]);
        drop(set);
        let db = Db::open_with_families(path, options, families)?;
        let db = DatabaseObject::opened(db)?;
        database(db)?.default_handle_closes();
        db
    }

    fn RocksDB_open__JLjava_lang_String_2_3_3B_3J[java](
        options: Handle, path: JString, names: JObjects, family_options: JLongs
    ) -> JLongs<'j> {
        let options = options.shared::<OptionSet>()?.for_descriptors();
        let path = database_dir(java, path, &*options.db.env.fs)?;
        let mut families = Families::new(java, names, family_options)?;
        let descriptors = std::mem::take(&mut families.descriptors);
        let db = Db::open_with_families(&path, options, descriptors)?;
        families.handles(java, DatabaseObject::new(db)?)?
    }

    /// Opens the default column family only. As in RocksDB, the flag `errorIfWalFileExists` has an effect only in the open with a list
    /// of column families.
    fn RocksDB_openROnly__JLjava_lang_String_2Z[java](options: Handle, path: JString, _no_wal: bool) -> Handle {
        let set = options.shared::<OptionSet>()?;
        let path = database_dir(java, path, &*set.db.env.fs)?;
        let (options, families) = (set.for_descriptors(), vec![set.descriptor("default")?]);
        drop(set);
        let db = Db::open_read_only_with_families(&path, options, families)?;
        DatabaseObject::opened(db)?
    }

    fn RocksDB_openROnly__JLjava_lang_String_2_3_3B_3JZ[java](
        options: Handle, path: JString, names: JObjects, family_options: JLongs, no_wal: bool
    ) -> JLongs<'j> {
        let options = options.shared::<OptionSet>()?.for_descriptors();
        let path = database_dir(java, path, &*options.db.env.fs)?;
        let mut families = Families::new(java, names, family_options)?;
        let descriptors = std::mem::take(&mut families.descriptors);
        let db = Db::open_read_only_with_families(&path, read_only(options, &path, no_wal)?, descriptors)?;
        families.handles(java, DatabaseObject::new(db)?)?
    }

    /// Closes the database. If the program did not release each snapshot, the database is closed too, and the native fails: `closeE`
    /// throws the exception, and `close` ignores the exception.
    fn RocksDB_closeDatabase | TtlDB_closeDatabase | TransactionDB_closeDatabase
        | OptimisticTransactionDB_closeDatabase[_](db: Handle) {
        let db = database(db)?;
        let holds_snapshot = !db.children.of_type::<Arc<Snapshot>>().is_empty();
        db.close()?;
        if holds_snapshot {
            return Err(Error::aborted("Cannot close DB with unreleased snapshot.").into());
        }
    }

    fn RocksDB_destroyDB[java](path: JString, options: Handle) {
        let options = OptionSet::clone(&*options.shared::<OptionSet>()?);
        let path = database_dir(java, path, &*options.db.env.fs)?;
        engine::db::destroy(&path, &options.db, std::slice::from_ref(&options.family))?;
    }

    /// Returns the names of the column families. Returns an empty list for a directory without a database, as RocksDB's native
    /// does. Kafka Streams relies on the empty list.
    fn RocksDB_listColumnFamilies[java](options: Handle, path: JString) -> JObjects<'j> {
        let env = options.shared::<OptionSet>()?.db.env.clone();
        let names = engine::db::list_families(&env, &database_dir(java, path, &*env.fs)?).unwrap_or_default();
        java.new_byte_arrays(&names)?
    }
}
