//! The fast check of an OPTIONS text before the file is renamed. RocksDB makes the same check.
//!
//! The check reads the lines in the order of the rows. If an option has its default, the line must be the line of the
//! default. [`Known`] checks once for each process that this line reads back as the default. The check parses each
//! other line, sets the option from the text, and compares the option. If any line differs, the check fails, and
//! [`verify`](super::file::verify) reads the whole text to find the option that differs.

use base::Kind;
use base::map::HashSet;
use base::option::Release;
use format::options_ini::{Line, Lines, ROCKSDB_VERSION, Title};
use table::options::{BlockBasedTableOptions, OPTIONS};

use super::family::TableFactory;
use super::known::Known;
use super::text::{DB_KNOWN, FAMILY_KNOWN, TABLE_KNOWN};
use super::{DbOptions, FamilyOptions, Row};

/// Returns true if every option of the database and of its column families reads back from the text. If the result is
/// false, the options may still read back.
pub(super) fn reads_back<'a>(
    text: &str,
    db: &DbOptions,
    families: impl IntoIterator<Item = (&'a str, &'a FamilyOptions)>,
) -> bool {
    // With `compat`, the text lacks some lines and fields. The caller uses `verify` in this rare case.
    db.compat.release() == Release::NEWEST && walk(Text(Lines::new(text)), db, families).is_some()
}

fn walk<'a>(
    mut text: Text<'_>,
    db: &DbOptions,
    families: impl IntoIterator<Item = (&'a str, &'a FamilyOptions)>,
) -> Option<()> {
    let [major, minor, patch] = ROCKSDB_VERSION.0;
    text.section(&Title::Version)?;
    let version = text.statement("rocksdb_version")?;
    (version == format!("{major}.{minor}.{patch}")).then_some(())?;
    (text.statement("options_file_version")? == "1.1").then_some(())?;
    text.section(&Title::DbOptions)?;
    let is_compared = |row: &Row<DbOptions>| row.written;
    rows(&mut text, DbOptions::ROWS, &DB_KNOWN, db, is_compared)?;
    let mut seen = HashSet::default();
    for (name, options) in families {
        (seen.insert(name) && (seen.len() > 1 || name == "default")).then_some(())?;
        text.section(&Title::CfOptions(name.to_string()))?;
        rows(&mut text, FamilyOptions::ROWS, &FAMILY_KNOWN, options, |_| true)?;
        let TableFactory::BlockBased(table) = &options.table_factory else { return None };
        let factory = options.table_factory.name().to_string();
        text.section(&Title::TableOptions { factory, family: name.to_string() })?;
        table_rows(&mut text, table)?;
    }
    (!seen.is_empty() && text.is_at_end()).then_some(())
}

fn rows<T: Default>(
    text: &mut Text<'_>,
    rows: &[Row<T>],
    known: &Known,
    options: &T,
    is_compared: impl Fn(&Row<T>) -> bool,
) -> Option<()> {
    let (default, mut read) = (T::default(), T::default());
    for (at, row) in rows.iter().enumerate() {
        let is_default = row.written && (row.is_same)(options, &default);
        if is_default && known.default_read_back(at).is_some_and(|value| text.skip(row.name, value)) {
            continue;
        }
        let value = if row.written { text.statement(row.name) } else { None };
        // The writer writes no line for an empty value.
        if value.is_none() && row.written && (row.print)(options).is_empty() {
            continue;
        }
        if let Some(value) = value {
            match (row.set)(&mut read, value) {
                Ok(()) => {}
                // The text names an object of the application. The caller of the open sets the object.
                Err(error) if error.kind() == Kind::NotSupported => continue,
                Err(_) => return None,
            }
        }
        if is_compared(row) && row.differs(options, &read) {
            return None;
        }
    }
    Some(())
}

fn table_rows(text: &mut Text<'_>, options: &BlockBasedTableOptions) -> Option<()> {
    let default = BlockBasedTableOptions::default();
    let mut read = TableFactory::default();
    for (at, row) in OPTIONS.iter().enumerate().filter(|(_, row)| row.written) {
        let is_default = (row.is_same)(options, &default);
        if is_default && TABLE_KNOWN.default_read_back(at).is_some_and(|value| text.skip(row.name, value)) {
            continue;
        }
        if let Some(value) = text.statement(row.name) {
            read.set(row.name, value).ok()?;
        }
        let read = read.block_based()?;
        if !(row.is_same)(options, read) && (row.print)(options) != (row.print)(read) {
            return None;
        }
    }
    Some(())
}

/// The lines of the text that are not read yet.
struct Text<'a>(Lines<'a>);

impl<'a> Text<'a> {
    /// Skips the line `name=value`. Returns false if the next line differs. An empty value has no line, and the
    /// result is true.
    fn skip(&mut self, name: &str, value: &str) -> bool {
        value.is_empty() || self.0.skip(name, value)
    }

    fn is_at_end(mut self) -> bool {
        matches!(self.0.next(), Ok(None))
    }

    /// Skips the next line if it starts the section `title`.
    fn section(&mut self, title: &Title) -> Option<()> {
        let line = self.0.next().ok()?;
        matches!(line, Some(Line::Section(found)) if found == *title).then_some(())
    }

    /// Reads the value of the next line if the line is a statement of `name`.
    fn statement(&mut self, name: &str) -> Option<&'a str> {
        let mut ahead = self.0.clone();
        let Ok(Some(Line::Statement { name: found, value })) = ahead.next() else { return None };
        (found == name).then(|| {
            self.0 = ahead;
            value
        })
    }
}
