//! Whether an OPTIONS text that was just written says what it should: the check RocksDB makes before it renames, line
//! by line as the text was made, so that nothing is built of hundreds of options that are the default.
//!
//! Each line is read by the rules that [`options_ini::parse`] reads it by. An option's line is held against the option:
//! one whose text is the default's, which reads back as such (worked out once), and that is the default; any other is
//! set from its text in options of its own, and compared. Whatever stands elsewhere than it was written, or does not
//! read back, gives "no": then [`super::file::verify`] reads the whole, and says what is wrong.

use base::Kind;
use base::map::HashSet;
use format::options_ini::{Line, Lines, ROCKSDB_VERSION, Title};
use table::options::{BlockBasedTableOptions, OPTIONS};

use super::family::TableFactory;
use super::row::Known;
use super::text::{DB_KNOWN, FAMILY_KNOWN, TABLE_KNOWN};
use super::{DbOptions, FamilyOptions, Row};

/// Whether every option of the database and of its families reads back from the text; false tells nothing.
pub(super) fn reads_back<'a>(
    text: &str,
    db: &DbOptions,
    families: impl IntoIterator<Item = (&'a str, &'a FamilyOptions)>,
) -> bool {
    walk(Text::new(text), db, families).is_some()
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
        let value = if row.written { text.statement(row.name) } else { None };
        if let Some(value) = value {
            if known.is_default(at, value) && (row.is_same)(options, &default) {
                continue;
            }
            match (row.set)(&mut read, value) {
                Ok(()) => {}
                // Whoever opens the file hands the object in.
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
    for (at, row) in OPTIONS.iter().enumerate().filter(|(_, row)| row.serialized) {
        if let Some(value) = text.statement(row.name) {
            if TABLE_KNOWN.is_default(at, value) && (row.is_same)(options, &default) {
                continue;
            }
            read.set(row.name, value).ok()?;
        }
        let read = read.block_based()?;
        if !(row.is_same)(options, read) && (row.print)(options) != (row.print)(read) {
            return None;
        }
    }
    Some(())
}

/// The lines, one of them ahead.
struct Text<'a> {
    lines: Lines<'a>,
    /// The line to come; none at the end and where a line cannot be read.
    ahead: Option<Line<'a>>,
    readable: bool,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        let mut text = Text { lines: Lines::new(text), ahead: None, readable: true };
        text.go_on();
        text
    }

    fn go_on(&mut self) {
        let line = self.lines.next();
        self.readable &= line.is_ok();
        self.ahead = line.ok().flatten();
    }

    fn is_at_end(&self) -> bool {
        self.readable && self.ahead.is_none()
    }

    /// Goes over the section's line, if it is the next one.
    fn section(&mut self, title: &Title) -> Option<()> {
        matches!(&self.ahead, Some(Line::Section(found)) if found == title).then(|| self.go_on())
    }

    /// Goes over the statement, if it is the next line.
    fn statement(&mut self, name: &str) -> Option<&'a str> {
        match self.ahead {
            Some(Line::Statement { name: found, value }) if found == name => {
                self.go_on();
                Some(value)
            }
            _ => None,
        }
    }
}
