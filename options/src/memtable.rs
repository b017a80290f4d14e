//! The structure of memtables, by name.
//!
//! Each structure is built on the same tree or on the vector. The names keep the rules of RocksDB. Source: RocksDB
//! `table/plain/plain_table_factory.cc` (`RegisterBuiltinMemTableRepFactory`), `memtable/`.

use base::option::{Value, id_and_options, no_such, no_such_option, parse_map};
use base::{Error, Result};

/// The structure of memtables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemtableFactory {
    /// `lookahead` has no effect here. RocksDB: the number of entries that an insertion looks ahead from the position of
    /// the previous insertion.
    SkipList { lookahead: usize },
    /// A vector that is sorted when the memtable becomes immutable. `count` has no effect here. RocksDB: the number of
    /// entries for which space is allocated ahead.
    Vector { count: usize },
    /// RocksDB: a hash table of skip lists, one for each prefix. Here the memtable is the same as for `SkipList`, with the
    /// rules of RocksDB: it needs a prefix extractor, and several threads cannot insert at once.
    HashSkipList(HashSkipListOptions),
    /// RocksDB: a hash table of linked lists, one for each prefix. Here the memtable is the same as for
    /// `HashSkipList`.
    HashLinkList(HashLinkListOptions),
}

base::options! {
    /// The options of [`MemtableFactory::HashSkipList`]. They have no effect here: there is no hash table.
    #[derive(Debug, PartialEq, Eq)]
    HashSkipListOptions;

    /// Has no effect: there is no skip list. RocksDB: the ratio of nodes between two heights of a skip list.
    fixed branching_factor: i32 = 4;
    /// Has no effect: there is no skip list. RocksDB: the largest height of a skip list.
    fixed skiplist_height: i32 = 4;
    /// Has no effect: there is no hash table. RocksDB: the number of hash buckets.
    fixed bucket_count: usize = 1_000_000, unit: "buckets";
    components
}

base::options! {
    /// The options of [`MemtableFactory::HashLinkList`]. They have no effect here: there is no hash table.
    #[derive(Debug, PartialEq, Eq)]
    HashLinkListOptions;

    /// Has no effect: there is no hash table. RocksDB: true logs the distribution of entries over buckets at a flush.
    fixed log_when_flash: bool = true;
    /// Has no effect: there is no hash table. RocksDB: the number of entries of a bucket above which the bucket is logged.
    fixed logging_threshold: i32 = 4096, unit: "entries";
    /// Has no effect: there is no hash table. RocksDB: the size of huge pages for the buckets. 0 uses no huge pages.
    fixed huge_page_size: usize = 0, unit: "bytes";
    /// Has no effect: there is no hash table. RocksDB: the number of entries above which a bucket becomes a skip list.
    fixed threshold: u32 = 256, unit: "entries";
    /// Has no effect: there is no hash table. RocksDB: the number of hash buckets.
    fixed bucket_count: usize = 50_000, unit: "buckets";
    components
}

base::nested_options!(HashSkipListOptions, parse_map);
base::nested_options!(HashLinkListOptions, parse_map);

impl Default for MemtableFactory {
    fn default() -> Self {
        MemtableFactory::SkipList { lookahead: 0 }
    }
}

impl MemtableFactory {
    /// Returns RocksDB's name of the structure, without its parameters.
    pub fn name(&self) -> &str {
        match self {
            MemtableFactory::SkipList { .. } => "SkipListFactory",
            MemtableFactory::Vector { .. } => "VectorRepFactory",
            MemtableFactory::HashSkipList(_) => "HashSkipListRepFactory",
            MemtableFactory::HashLinkList(_) => "HashLinkListRepFactory",
        }
    }

    /// Returns true for the structures that RocksDB builds for each prefix.
    pub fn is_hashed(&self) -> bool {
        matches!(self, MemtableFactory::HashSkipList(_) | MemtableFactory::HashLinkList(_))
    }
}

impl Value for MemtableFactory {
    fn parse(text: &str) -> Result<Self> {
        let (id, mut options) = id_and_options(text)?;
        let (name, short) = match id.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (id.as_str(), None),
        };
        let field = match name {
            "skip_list" | "SkipListFactory" => "lookahead",
            "vector" | "VectorRepFactory" => "count",
            _ => "bucket_count",
        };
        if let Some(short) = short {
            options.insert(0, (field.to_string(), short.to_string()));
        }
        let number = || -> Result<usize> {
            let mut number = 0;
            for (name, text) in &options {
                if name != field {
                    return Err(no_such_option(&id, name));
                }
                let parsed = usize::parse(text);
                number = parsed.map_err(|error| error.doing(format!("setting field {id}.{field}")))?;
            }
            Ok(number)
        };
        match name {
            "skip_list" | "SkipListFactory" => Ok(MemtableFactory::SkipList { lookahead: number()? }),
            "vector" | "VectorRepFactory" => Ok(MemtableFactory::Vector { count: number()? }),
            "prefix_hash" | "HashSkipListRepFactory" => {
                let mut fields = HashSkipListOptions::default();
                options.iter().try_for_each(|(name, text)| fields.set(name, text))?;
                Ok(MemtableFactory::HashSkipList(fields))
            }
            "hash_linkedlist" | "HashLinkListRepFactory" => {
                let mut fields = HashLinkListOptions::default();
                options.iter().try_for_each(|(name, text)| fields.set(name, text))?;
                Ok(MemtableFactory::HashLinkList(fields))
            }
            "cuckoo" => {
                Err(Error::invalid_argument("cuckoo hash memtable is not supported anymore.: cuckoo"))
            }
            _ => Err(no_such("memtable factory", name)),
        }
    }

    fn print(&self) -> String {
        let with_id = |fields: String| format!("{{id={};{}", self.name(), fields.trim_start_matches('{'));
        match self {
            MemtableFactory::SkipList { lookahead: 0 } => self.name().to_string(),
            MemtableFactory::SkipList { lookahead } => format!("SkipListFactory:{lookahead}"),
            MemtableFactory::Vector { count } => format!("{{id=VectorRepFactory;count={count};}}"),
            MemtableFactory::HashSkipList(fields) => with_id(fields.print()),
            MemtableFactory::HashLinkList(fields) => with_id(fields.print()),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
