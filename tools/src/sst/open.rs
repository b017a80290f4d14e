//! Opens an SST file without its database.
//!
//! The first open uses the default comparator, which is enough to read the properties. The properties name the
//! comparator of the file. If it is another comparator, the file is opened again with that comparator.

use std::path::Path;
use std::sync::Arc;

use base::order::BuiltinPrefix;
use base::{Error, Order, Result};
use env::{Env, ReadHints};
use table::any::AnyReader;
use table::sst::{OpenOptions, Reader};

/// An open table and the order of its user keys.
pub(super) struct Table {
    pub reader: AnyReader,
    pub order: Order,
}

impl Table {
    /// Returns the name of the format that RocksDB's `sst_dump` prints.
    pub(super) fn format(&self) -> &'static str {
        match self.reader {
            AnyReader::Block(_) => "block-based",
            AnyReader::Plain(_) => "plain table",
            AnyReader::Cuckoo(_) => "cuckoo table",
        }
    }

    /// Returns the reader of a block-based table.
    ///
    /// # Errors
    /// NotSupported for the other kinds of tables, because they have no blocks to print.
    pub(super) fn block_based(&self) -> Result<&Reader> {
        let reader = self.reader.block_based().map(|reader| &**reader);
        reader.ok_or_else(|| Error::not_supported("DumpTable() not supported"))
    }
}

/// # Errors
///
/// Aborted for an empty file. Corruption for a file that is not a complete table. NotSupported for another
/// kind of table, or for an unknown comparator; the error names the table or the comparator.
pub(super) fn open(env: &Env, path: &Path) -> Result<Table> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let size = file.size()?;
    if size == 0 {
        return Err(Error::aborted("Empty file").file(path));
    }
    let mut options =
        OpenOptions { prefix_extractor: Some(Arc::new(BuiltinPrefix::Noop)), ..OpenOptions::default() };
    let reader = AnyReader::open(file.clone(), size, &options)?;
    let name = String::from_utf8_lossy(&reader.properties().comparator_name).into_owned();
    if name.is_empty() || name == Order::Bytewise.name() {
        return Ok(Table { reader, order: Order::Bytewise });
    }
    let order =
        Order::by_name(&name).ok_or_else(|| Error::not_supported(format!("comparator {name}")).file(path))?;
    options.order = order.clone();
    Ok(Table { reader: AnyReader::open(file, size, &options)?, order })
}
