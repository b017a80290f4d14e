//! Components that options name: which names exist, and what a name makes.

use base::Result;
use base::option::{Nullable, Value, id_and_options, is_null, no_such, not_a, parse_map};
use table::options::BlockBasedTableOptions;

/// An option without any object here: only `nullptr` is accepted.
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
        match id_and_options(text)?.0.as_str() {
            "FileChecksumGenCrc32cFactory" => Ok(FileChecksumGen::Crc32c),
            name => Err(no_such("file checksum factory", name)),
        }
    }

    fn print_some(&self) -> String {
        "FileChecksumGenCrc32cFactory".to_string()
    }

    fn is_same_some(&self, other: &Self) -> bool {
        self == other
    }
}

/// Chooses compressions by code. Only the manager that acts as no manager exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionManager {
    /// `BuiltinV2`: the compressions of RocksDB, as the other options choose them.
    BuiltinV2,
}

impl Nullable for CompressionManager {
    fn parse_some(text: &str) -> Result<Self> {
        match id_and_options(text)?.0.as_str() {
            "BuiltinV2" | "BuiltinCompressionManagerV2" => Ok(CompressionManager::BuiltinV2),
            name => Err(no_such("compression manager", name)),
        }
    }

    fn print_some(&self) -> String {
        "BuiltinCompressionManagerV2".to_string()
    }

    fn is_same_some(&self, other: &Self) -> bool {
        self == other
    }
}

/// The structure of memtables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemtableFactory {
    /// `lookahead` has no effect here. RocksDB: the number of entries that an insertion looks ahead from the position of
    /// the previous insertion.
    SkipList { lookahead: usize },
    /// A vector that is sorted when the memtable becomes immutable. `count` has no effect here. RocksDB: the number of
    /// entries for which space is allocated ahead.
    Vector { count: usize },
    /// Another structure of RocksDB, with its options. It is kept in OPTIONS files, and the open refuses it.
    Other { name: String, options: Vec<(String, String)> },
}

impl Default for MemtableFactory {
    fn default() -> Self {
        MemtableFactory::SkipList { lookahead: 0 }
    }
}

impl MemtableFactory {
    pub fn name(&self) -> &str {
        match self {
            MemtableFactory::SkipList { .. } => "SkipListFactory",
            MemtableFactory::Vector { .. } => "VectorRepFactory",
            MemtableFactory::Other { name, .. } => name,
        }
    }
}

impl Value for MemtableFactory {
    fn parse(text: &str) -> Result<Self> {
        let (id, options) = id_and_options(text)?;
        let (name, short) = match id.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (id.as_str(), None),
        };
        let number = |field: &str| {
            let long = options.iter().find(|(n, _)| n == field).map(|(_, v)| v.as_str());
            long.or(short).map_or(Ok(0), usize::parse)
        };
        match name {
            "skip_list" | "SkipListFactory" => {
                Ok(MemtableFactory::SkipList { lookahead: number("lookahead")? })
            }
            "vector" | "VectorRepFactory" => Ok(MemtableFactory::Vector { count: number("count")? }),
            "prefix_hash" | "HashSkipListRepFactory" | "hash_linkedlist" | "HashLinkListRepFactory" => {
                let name = match name {
                    "prefix_hash" | "HashSkipListRepFactory" => "HashSkipListRepFactory",
                    _ => "HashLinkListRepFactory",
                };
                let mut options = options.clone();
                options.extend(short.map(|n| ("bucket_count".to_string(), n.to_string())));
                Ok(MemtableFactory::Other { name: name.to_string(), options })
            }
            _ => Err(no_such("memtable factory", name)),
        }
    }

    fn print(&self) -> String {
        match self {
            MemtableFactory::SkipList { lookahead: 0 } => self.name().to_string(),
            MemtableFactory::SkipList { lookahead } => format!("SkipListFactory:{lookahead}"),
            MemtableFactory::Vector { count } => format!("{{id=VectorRepFactory;count={count};}}"),
            MemtableFactory::Other { name, options } => with_options(name, options),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

fn with_options(name: &str, options: &[(String, String)]) -> String {
    if options.is_empty() {
        return name.to_string();
    }
    let fields: String = options.iter().map(|(name, value)| format!("{name}={value};")).collect();
    format!("{{id={name};{fields}}}")
}

/// The kind of table file, with its own options.
#[derive(Clone, Debug, PartialEq)]
pub enum TableFactory {
    BlockBased(BlockBasedTableOptions),
    /// Another format of RocksDB, with its options. It is kept in OPTIONS files, and the open refuses it.
    Other {
        name: String,
        options: Vec<(String, String)>,
    },
}

impl Default for TableFactory {
    fn default() -> Self {
        TableFactory::BlockBased(BlockBasedTableOptions::default())
    }
}

pub(super) const BLOCK_BASED: &str = "BlockBasedTable";

impl TableFactory {
    /// The kind of that name with default options.
    ///
    /// # Errors
    /// NotSupported for a name that RocksDB does not have either.
    pub fn by_name(name: &str) -> Result<Self> {
        match name {
            BLOCK_BASED => Ok(TableFactory::default()),
            "PlainTable" | "CuckooTable" | "AdaptiveTableFactory" => {
                Ok(TableFactory::Other { name: name.to_string(), options: Vec::new() })
            }
            _ => Err(no_such("table factory", name)),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            TableFactory::BlockBased(_) => BLOCK_BASED,
            TableFactory::Other { name, .. } => name,
        }
    }

    /// The block-based table's options, if it is one.
    pub fn block_based(&self) -> Option<&BlockBasedTableOptions> {
        match self {
            TableFactory::BlockBased(options) => Some(options),
            TableFactory::Other { .. } => None,
        }
    }

    pub fn block_based_mut(&mut self) -> Option<&mut BlockBasedTableOptions> {
        match self {
            TableFactory::BlockBased(options) => Some(options),
            TableFactory::Other { .. } => None,
        }
    }

    /// Sets one of the factory's options.
    ///
    /// # Errors
    /// As the table's own.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        match self {
            // Inside an option string an object's braces are gone already; the table wants them.
            TableFactory::BlockBased(table) if text.contains('=') && !text.trim().starts_with('{') => {
                table.set(name, &format!("{{{text}}}"))
            }
            TableFactory::BlockBased(table) => table.set(name, text),
            TableFactory::Other { options, .. } => {
                options.retain(|(n, _)| n != name);
                options.push((name.to_string(), text.to_string()));
                Ok(())
            }
        }
    }
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

    /// `{k=v;..}` without an id changes the kind there is.
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
