//! Components that options name: the known names, and the component that each name makes.

use base::option::{
    Nullable, Row, Value, id_and_options, is_null, no_such, not_a, object_by_name, parse_map,
};
use base::{Error, Result};
use table::options::{
    BlockBasedTableOptions, CUCKOO_OPTIONS, CuckooTableOptions, PLAIN_OPTIONS, PlainTableOptions,
    WrittenTable,
};

/// The value of an option for which no object exists here. Only `nullptr` is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unavailable;

impl Value for Unavailable {
    fn parse(text: &str) -> Result<Self> {
        if is_null(text) { Ok(Unavailable) } else { Err(no_such("object", text)) }
    }

    fn print(&self) -> String {
        "nullptr".to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Makes the checksum of a whole SST file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChecksumGen {
    /// `FileChecksumGenCrc32cFactory`: CRC32C, big-endian, under the name `FileChecksumCrc32c`.
    Crc32c,
}

impl Nullable for FileChecksumGen {
    fn parse_some(text: &str) -> Result<Self> {
        object_by_name("file checksum factory", text, |name| {
            (name == "FileChecksumGenCrc32cFactory").then_some(FileChecksumGen::Crc32c)
        })
    }

    fn print_some(&self) -> String {
        "FileChecksumGenCrc32cFactory".to_string()
    }

    fn is_same_some(&self, other: &Self) -> bool {
        self == other
    }
}

/// Chooses compressions by code. Only `BuiltinV2` exists, which leaves the choice to the other options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionManager {
    /// `BuiltinV2`: the compressions of RocksDB, as the other options choose them.
    BuiltinV2,
}

impl Nullable for CompressionManager {
    fn parse_some(text: &str) -> Result<Self> {
        object_by_name("compression manager", text, |name| {
            matches!(name, "BuiltinV2" | "BuiltinCompressionManagerV2")
                .then_some(CompressionManager::BuiltinV2)
        })
    }

    fn print_some(&self) -> String {
        "BuiltinCompressionManagerV2".to_string()
    }

    fn is_same_some(&self, other: &Self) -> bool {
        self == other
    }
}

/// The kind of table file, with its own options.
#[derive(Clone, Debug, PartialEq)]
pub enum TableFactory {
    BlockBased(BlockBasedTableOptions),
    Plain(PlainTableOptions),
    Cuckoo(CuckooTableOptions),
    /// Writes tables of one kind, with the options of all kinds. Each factory reads tables of all kinds.
    Adaptive(Box<AdaptiveTables>),
    /// A format that RocksDB does not have. It is kept in OPTIONS files, and the open refuses it.
    Other {
        name: String,
        options: Vec<(String, String)>,
    },
}

/// The options of [`TableFactory::Adaptive`]. Only code sets these options, as in RocksDB.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdaptiveTables {
    /// The kind of new tables.
    pub written: WrittenTable,
    pub block_based: BlockBasedTableOptions,
    pub plain: PlainTableOptions,
    pub cuckoo: CuckooTableOptions,
}

impl Default for TableFactory {
    fn default() -> Self {
        TableFactory::BlockBased(BlockBasedTableOptions::default())
    }
}

pub(super) const BLOCK_BASED: &str = "BlockBasedTable";

impl TableFactory {
    /// Returns the factory with this name, with default options.
    ///
    /// # Errors
    /// NotSupported for a name that RocksDB does not have.
    pub fn by_name(name: &str) -> Result<Self> {
        match name {
            BLOCK_BASED => Ok(TableFactory::default()),
            "PlainTable" => Ok(TableFactory::Plain(PlainTableOptions::default())),
            "CuckooTable" => Ok(TableFactory::Cuckoo(CuckooTableOptions::default())),
            "AdaptiveTableFactory" => Ok(TableFactory::Adaptive(Box::default())),
            _ => Err(no_such("table factory", name)),
        }
    }

    /// Returns RocksDB's name of the factory, as OPTIONS files have it. For `Other`, returns the name that was
    /// given.
    pub fn name(&self) -> &str {
        match self {
            TableFactory::BlockBased(_) => BLOCK_BASED,
            TableFactory::Plain(_) => "PlainTable",
            TableFactory::Cuckoo(_) => "CuckooTable",
            TableFactory::Adaptive(_) => "AdaptiveTableFactory",
            TableFactory::Other { name, .. } => name,
        }
    }

    /// Returns the kind of new tables and the options of each kind: block-based, plain, cuckoo. `None` for a kind
    /// that RocksDB does not have.
    pub fn kinds(&self) -> Option<AdaptiveTables> {
        let default = AdaptiveTables::default();
        Some(match self {
            TableFactory::BlockBased(table) => AdaptiveTables { block_based: table.clone(), ..default },
            TableFactory::Plain(table) => {
                AdaptiveTables { written: WrittenTable::Plain, plain: table.clone(), ..default }
            }
            TableFactory::Cuckoo(table) => {
                AdaptiveTables { written: WrittenTable::Cuckoo, cuckoo: table.clone(), ..default }
            }
            TableFactory::Adaptive(tables) => (**tables).clone(),
            TableFactory::Other { .. } => return None,
        })
    }

    /// Returns true if tables of this kind can hold range tombstones. RocksDB: `IsDeleteRangeSupported`.
    pub fn holds_range_tombstones(&self) -> bool {
        matches!(self, TableFactory::BlockBased(_))
    }

    /// Returns the options of a block-based table, or `None` for another kind.
    pub fn block_based(&self) -> Option<&BlockBasedTableOptions> {
        match self {
            TableFactory::BlockBased(options) => Some(options),
            _ => None,
        }
    }

    /// Returns the options of block-based tables for a change, or `None` if the factory makes another table.
    pub fn block_based_mut(&mut self) -> Option<&mut BlockBasedTableOptions> {
        match self {
            TableFactory::BlockBased(options) => Some(options),
            _ => None,
        }
    }

    /// Sets one option of the factory.
    ///
    /// # Errors
    /// The errors of the setter of the table options.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        match self {
            // The parser of option strings has removed the braces of an object. The setter of the table expects the
            // braces.
            TableFactory::BlockBased(table) if text.contains('=') && !text.trim().starts_with('{') => {
                table.set(name, &format!("{{{text}}}"))
            }
            TableFactory::BlockBased(table) => table.set(name, text),
            TableFactory::Plain(table) => table.set(name, text),
            TableFactory::Cuckoo(table) => table.set(name, text),
            TableFactory::Adaptive(_) => {
                Err(Error::invalid_argument(format!("no such option of AdaptiveTableFactory: {name:?}")))
            }
            TableFactory::Other { options, .. } => {
                options.retain(|(n, _)| n != name);
                options.push((name.to_string(), text.to_string()));
                Ok(())
            }
        }
    }

    /// Returns the text of one option of the factory, or `None` if the option does not exist.
    pub fn get(&self, name: &str) -> Option<String> {
        match self {
            TableFactory::BlockBased(table) => table.get(name),
            _ => self.statements().into_iter().find(|(option, _)| option == name).map(|(_, text)| text),
        }
    }

    /// Returns the statements of the factory's section in an OPTIONS file.
    pub(super) fn statements(&self) -> Vec<(String, String)> {
        match self {
            TableFactory::BlockBased(table) => printed(BlockBasedTableOptions::ROWS, table),
            TableFactory::Plain(table) => printed(PLAIN_OPTIONS, table),
            TableFactory::Cuckoo(table) => printed(CUCKOO_OPTIONS, table),
            TableFactory::Adaptive(_) => Vec::new(),
            TableFactory::Other { options, .. } => options.clone(),
        }
    }

    /// Returns the names of the options whose texts differ, or `None` if the factories are of different kinds or have
    /// no options.
    pub(super) fn differences(&self, other: &TableFactory) -> Option<Vec<&'static str>> {
        match (self, other) {
            (TableFactory::BlockBased(a), TableFactory::BlockBased(b)) => {
                Some(differing(BlockBasedTableOptions::ROWS, a, b))
            }
            (TableFactory::Plain(a), TableFactory::Plain(b)) => Some(differing(PLAIN_OPTIONS, a, b)),
            (TableFactory::Cuckoo(a), TableFactory::Cuckoo(b)) => Some(differing(CUCKOO_OPTIONS, a, b)),
            _ => None,
        }
    }
}

fn printed<T>(rows: &[Row<T>], options: &T) -> Vec<(String, String)> {
    let rows = rows.iter().filter(|row| row.written);
    rows.map(|row| (row.name.to_string(), (row.print)(options))).collect()
}

fn differing<T>(rows: &[Row<T>], a: &T, b: &T) -> Vec<&'static str> {
    let rows = rows.iter().filter(|row| row.written);
    rows.filter(|row| !(row.is_same)(a, b) && (row.print)(a) != (row.print)(b)).map(|row| row.name).collect()
}

impl Value for TableFactory {
    fn parse(text: &str) -> Result<Self> {
        if is_null(text) {
            return Err(not_a("table factory", text));
        }
        let (name, options) = id_and_options(text)?;
        let mut factory = TableFactory::by_name(&name)?;
        for (name, value) in options {
            factory.set(&name, &value)?;
        }
        Ok(factory)
    }

    /// A text `{k=v;..}` without an id changes the current factory. Other texts make a new factory.
    fn update(&mut self, text: &str) -> Result<()> {
        let fields = if text.contains('=') { parse_map(text)? } else { Vec::new() };
        if fields.is_empty() || fields.iter().any(|(name, _)| name == "id") {
            *self = Self::parse(text)?;
            return Ok(());
        }
        let mut changed = self.clone();
        for (name, value) in fields {
            changed.set(&name, &value)?;
        }
        *self = changed;
        Ok(())
    }

    fn print(&self) -> String {
        self.name().to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}
