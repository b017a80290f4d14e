//! The options of plain tables and of cuckoo tables, in the order in which RocksDB 11.8.1 writes the options.
//!
//! [`OtherTables`] holds the options of both kinds. The magic number of an SST file decides the kind of its table, and a
//! database with block-based tables can have older plain tables.

use base::Result;
use base::option::{Row, check_ranges, no_such_option};

base::option_words! {
    /// How a plain table stores keys. The numbers are on disk, in a table property.
    EncodingType: "plain table encoding" {
        /// Each key is stored whole.
        #[default]
        Plain = 0, "kPlain";
        /// A key that shares the prefix of the key before is stored without the prefix.
        Prefix = 1, "kPrefix";
    }
}

base::options! {
    /// The settings of a plain table.
    #[derive(Debug, PartialEq)]
    PlainTableOptions;
    /// Stores the index and the Bloom filter in the SST file. If false, the open of the file builds both.
    fixed store_index_in_file: bool = false;
    /// How keys are stored. `kPrefix` needs a prefix extractor, and stores keys whole without a prefix extractor.
    fixed encoding_type: EncodingType = EncodingType::default();
    /// Has no effect: the index and the Bloom filter are allocated by the memory allocator. RocksDB: the size of the huge
    /// pages that hold both.
    fixed huge_page_tlb_size: usize = 0, unit: "bytes";
    /// Prefixes for each bucket of the hash index. 0 builds one bucket: lookups are binary searches. Another value needs
    /// a prefix extractor.
    fixed hash_table_ratio: f64 = 0.75, unit: "prefixes per bucket", range: "0 and more";
    /// Reads an SST file from the start to the end only. Gets and seeks fail, and no index is built.
    fixed full_scan_mode: bool = false;
    /// The Bloom filter bits of each prefix, or of each key without a prefix extractor. 0 builds no Bloom filter.
    fixed bloom_bits_per_key: i32 = 10, unit: "bits", range: "0 and more";
    /// The number of keys of one prefix for each entry of the index. 0 and 1 index each key. With `kPrefix`, the key of an
    /// index entry is stored whole.
    fixed index_sparseness: usize = 16, unit: "keys";
    /// The size of each user key. 0 stands for keys of any size.
    fixed user_key_len: u32 = 0, unit: "bytes";
    components
}

base::options! {
    /// The settings of a cuckoo table.
    #[derive(Debug, PartialEq)]
    CuckooTableOptions;
    /// Decides the bucket of a key by the remainder of a division. If false, the number of buckets is a power of two and
    /// the lowest bits of the hash decide.
    fixed use_module_hash: bool = true;
    /// Uses the first 8 bytes of the user key as the first hash.
    fixed identity_as_first_hash: bool = false;
    /// The largest number of keys that the writer moves to make space for one key.
    fixed max_search_depth: u32 = 100, unit: "keys";
    /// The number of consecutive buckets that each hash of a key selects.
    fixed cuckoo_block_size: u32 = 5, unit: "buckets";
    /// The fill of the hash table. A smaller value makes a larger file with fewer collisions.
    fixed hash_table_ratio: f64 = 0.9, unit: "keys per bucket", range: "above 0";
    components
}

/// All options of plain tables that have a text.
pub const PLAIN_OPTIONS: &[Row<PlainTableOptions>] = PlainTableOptions::ROWS;
/// All options of cuckoo tables that have a text.
pub const CUCKOO_OPTIONS: &[Row<CuckooTableOptions>] = CuckooTableOptions::ROWS;

/// The format of new tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WrittenTable {
    /// New SST files are block-based tables.
    #[default]
    BlockBased,
    /// New SST files are plain tables.
    Plain,
    /// New SST files are cuckoo tables.
    Cuckoo,
}

/// The options of readers and writers of SST files besides the options of block-based tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherTables {
    /// The format of new SST files.
    pub written: WrittenTable,
    /// The options of plain tables.
    pub plain: PlainTableOptions,
    /// The options of cuckoo tables.
    pub cuckoo: CuckooTableOptions,
    /// True if the Bloom filters of plain tables put all bits of a key into one cache line
    /// (`bloom_locality`).
    pub bloom_locality: bool,
    /// True if plain and cuckoo tables are read into memory when they are opened (`allow_mmap_reads`). If
    /// false, they are read through the block cache.
    pub resident: bool,
    /// The name of the table factory, if tables of this format cannot store range tombstones.
    pub without_range_tombstones: Option<String>,
}

impl PlainTableOptions {
    /// Sets one option from its text.
    ///
    /// # Errors
    /// InvalidArgument for an unknown name or a bad value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        set(PLAIN_OPTIONS, "PlainTableOptions", self, name, text)
    }

    /// Checks the ranges of the rows.
    ///
    /// # Errors
    /// InvalidArgument for values on which RocksDB fails an assertion.
    pub fn validate(&self) -> Result<()> {
        check_ranges(PLAIN_OPTIONS, "PlainTableOptions", self)
    }
}

impl CuckooTableOptions {
    /// Sets one option from its text.
    ///
    /// # Errors
    /// InvalidArgument for an unknown name or a bad value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        set(CUCKOO_OPTIONS, "CuckooTableOptions", self, name, text)
    }

    /// Checks the ranges of the rows.
    ///
    /// # Errors
    /// InvalidArgument for values with which RocksDB's writer divides by zero or never ends.
    pub fn validate(&self) -> Result<()> {
        check_ranges(CUCKOO_OPTIONS, "CuckooTableOptions", self)
    }
}

/// Sets the option `name` of the struct `of` from its text.
fn set<T>(rows: &[Row<T>], of: &str, options: &mut T, name: &str, text: &str) -> Result<()> {
    match rows.iter().find(|row| row.name == name) {
        Some(row) => {
            (row.set)(options, text).map_err(|error| error.doing(format!("setting field {of}.{name}")))
        }
        None => Err(no_such_option(of, name)),
    }
}
