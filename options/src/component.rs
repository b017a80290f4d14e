//! Things an option names rather than holds: what their names are, and which can be made from one.

use std::sync::Arc;

use base::order::{BuiltinPrefix, PrefixExtractor};
use base::stats::Statistics;
use base::{Error, Order, Result};
use format::options_ini::parse_map;
use lsm::filter::{CompactionFilter, CompactionFilterFactory};
use lsm::merge::{self, MergeOperator};
use table::options::BlockBasedTableOptions;

use super::value::{Value, not_a};

/// What RocksDB prints for "none".
const NULLPTR: &str = "nullptr";

fn is_null(text: &str) -> bool {
    matches!(text.trim(), "" | NULLPTR)
}

/// The object's id, also from `{id=name;...}`, and its own options. Inside an option string the braces
/// are gone already.
fn id_and_options(text: &str) -> Result<(String, Vec<(String, String)>)> {
    let text = text.trim();
    if !text.contains('=') {
        return Ok((text.trim_matches(['{', '}']).trim().to_string(), Vec::new()));
    }
    let mut options = parse_map(text)?;
    let at = options.iter().position(|(name, _)| name == "id");
    let at = at.ok_or_else(|| Error::invalid_argument(format!("object without an id: {text:?}")))?;
    let (_, id) = options.remove(at);
    Ok((id, options))
}

#[cold]
fn no_such(what: &str, name: &str) -> Error {
    Error::not_supported(format!("{what} {name:?}"))
}

/// An option whose objects we do not have: only "none" is legal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unavailable;

impl Value for Unavailable {
    fn parse(text: &str) -> Result<Self> {
        if is_null(text) { Ok(Unavailable) } else { Err(no_such("object", text)) }
    }

    fn print(&self) -> String {
        NULLPTR.to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Makes whole-file checksums; one kind is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChecksumGen {
    /// `FileChecksumGenCrc32cFactory`: CRC32C, big-endian, under the name `FileChecksumCrc32c`.
    Crc32c,
}

/// Statistics are made, not described: `BasicStatistics` gives empty ones.
impl Value for Option<Arc<Statistics>> {
    fn parse(text: &str) -> Result<Self> {
        match id_and_options(text)?.0.as_str() {
            name if is_null(name) => Ok(None),
            "BasicStatistics" => Ok(Some(Arc::new(Statistics::new()))),
            name => Err(no_such("statistics", name)),
        }
    }

    fn print(&self) -> String {
        self.as_ref().map_or(NULLPTR, |_| "BasicStatistics").to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.is_some() == other.is_some()
    }
}

impl Value for Option<FileChecksumGen> {
    fn parse(text: &str) -> Result<Self> {
        match id_and_options(text)?.0.as_str() {
            name if is_null(name) => Ok(None),
            "FileChecksumGenCrc32cFactory" => Ok(Some(FileChecksumGen::Crc32c)),
            name => Err(no_such("file checksum factory", name)),
        }
    }

    fn print(&self) -> String {
        self.map_or(NULLPTR, |_| "FileChecksumGenCrc32cFactory").to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Value for Order {
    fn parse(text: &str) -> Result<Self> {
        let (name, _) = id_and_options(text)?;
        Order::by_name(&name).ok_or_else(|| no_such("comparator", &name))
    }

    fn print(&self) -> String {
        self.name().to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Value for Option<Arc<dyn MergeOperator>> {
    fn parse(text: &str) -> Result<Self> {
        if is_null(text) {
            return Ok(None);
        }
        merge::by_name(text).map(Some).ok_or_else(|| no_such("merge operator", text))
    }

    fn print(&self) -> String {
        self.as_ref().map_or(NULLPTR.to_string(), |m| m.option_text())
    }

    fn is_same(&self, other: &Self) -> bool {
        self.is_none() && other.is_none()
    }
}

impl Value for Option<Arc<dyn CompactionFilter>> {
    fn parse(text: &str) -> Result<Self> {
        if is_null(text) { Ok(None) } else { Err(no_such("compaction filter", text)) }
    }

    fn print(&self) -> String {
        self.as_ref().map_or(NULLPTR.to_string(), |f| f.name().to_string())
    }

    fn is_same(&self, other: &Self) -> bool {
        self.is_none() && other.is_none()
    }
}

impl Value for Option<Arc<dyn CompactionFilterFactory>> {
    fn parse(text: &str) -> Result<Self> {
        if is_null(text) { Ok(None) } else { Err(no_such("compaction filter factory", text)) }
    }

    fn print(&self) -> String {
        self.as_ref().map_or(NULLPTR.to_string(), |f| f.name().to_string())
    }

    fn is_same(&self, other: &Self) -> bool {
        self.is_none() && other.is_none()
    }
}

impl Value for Option<Arc<dyn PrefixExtractor>> {
    fn parse(text: &str) -> Result<Self> {
        if is_null(text) {
            return Ok(None);
        }
        let (name, _) = id_and_options(text)?;
        match BuiltinPrefix::parse(&name) {
            Some(prefix) => Ok(Some(Arc::new(prefix))),
            None => Err(no_such("prefix extractor", &name)),
        }
    }

    fn print(&self) -> String {
        self.as_ref().map_or(NULLPTR.to_string(), |p| p.name())
    }

    fn is_same(&self, other: &Self) -> bool {
        self.is_none() && other.is_none()
    }
}

/// The structure of memtables, as RocksDB's factories name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemtableFactory {
    /// `lookahead`: how far an insertion looks ahead of the one before; 0, the default: not.
    SkipList { lookahead: usize },
    /// Sorted once it is sealed; `count` slots are made ahead.
    Vector { count: usize },
    /// Anything else RocksDB knows: its name and options, kept but not available.
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
    /// Another of RocksDB's kinds: its name and options, kept but not available.
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
