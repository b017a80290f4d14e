//! Partitioners: user code that ends the output files of compactions at chosen keys.
//!
//! See RocksDB `include/rocksdb/sst_partitioner.h` and `db/compaction/sst_partitioner.cc`.

use std::sync::Arc;

use base::option::{Object, Value, id_and_options, no_such, no_such_option};
use base::{Level, Result};

/// Decides where the output files of one subcompaction end. RocksDB's `SstPartitioner`.
pub trait Partitioner: Send {
    /// Returns true if a file must end between two user keys that follow each other. `file_size` is the size of the
    /// file so far, in bytes.
    fn should_partition(&mut self, previous_user_key: &[u8], user_key: &[u8], file_size: u64) -> bool;

    /// Returns true if a file with these bounds may move to a lower level unchanged.
    fn can_do_trivial_move(&mut self, smallest_user_key: &[u8], largest_user_key: &[u8]) -> bool;
}

/// The compaction that a partitioner is made for.
#[derive(Clone, Copy, Debug)]
pub struct PartitionerContext<'a> {
    /// True if the compaction has all SST files as input.
    pub is_full_compaction: bool,
    /// True if the user asked for the compaction.
    pub is_manual_compaction: bool,
    /// The level of the output. `None`: the level is not known yet.
    pub output_level: Option<Level>,
    /// The smallest user key of the input.
    pub smallest_user_key: &'a [u8],
    /// The largest user key of the input.
    pub largest_user_key: &'a [u8],
}

/// Makes a partitioner for each subcompaction. The option `sst_partitioner_factory` holds the factory.
pub trait PartitionerFactory: Send + Sync {
    /// Returns the name that OPTIONS files hold.
    fn name(&self) -> &str;

    /// Returns the text that makes the factory again. Default: the name.
    fn option_text(&self) -> String {
        self.name().to_string()
    }

    /// Makes the partitioner of a subcompaction, or returns `None` if no partitioner is needed.
    fn create(&self, context: &PartitionerContext<'_>) -> Option<Box<dyn Partitioner>>;
}

const FIXED_PREFIX: &str = "SstPartitionerFixedPrefixFactory";

/// Ends a file before each user key whose first `length` bytes differ from the previous key. A shorter key is
/// its own prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPrefixPartitioner {
    /// The length of the prefix in bytes. Keys with different prefixes go to different SST files.
    pub length: usize,
}

impl FixedPrefixPartitioner {
    fn prefix<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        &key[..key.len().min(self.length)]
    }
}

impl Partitioner for FixedPrefixPartitioner {
    fn should_partition(&mut self, previous_user_key: &[u8], user_key: &[u8], _file_size: u64) -> bool {
        self.prefix(previous_user_key) != self.prefix(user_key)
    }

    fn can_do_trivial_move(&mut self, smallest_user_key: &[u8], largest_user_key: &[u8]) -> bool {
        self.prefix(smallest_user_key) == self.prefix(largest_user_key)
    }
}

impl PartitionerFactory for FixedPrefixPartitioner {
    fn name(&self) -> &str {
        FIXED_PREFIX
    }

    fn option_text(&self) -> String {
        format!("{{id={FIXED_PREFIX};length={};}}", self.length)
    }

    fn create(&self, _: &PartitionerContext<'_>) -> Option<Box<dyn Partitioner>> {
        Some(Box::new(*self))
    }
}

impl Object for dyn PartitionerFactory {
    fn make(text: &str) -> Result<Arc<Self>> {
        let (name, options) = id_and_options(text)?;
        if name != FIXED_PREFIX {
            return Err(no_such("SST partitioner factory", &name));
        }
        let mut partitioner = FixedPrefixPartitioner { length: 0 };
        for (option, value) in options {
            if option != "length" {
                return Err(no_such_option(FIXED_PREFIX, &option));
            }
            let length = usize::parse(&value);
            partitioner.length =
                length.map_err(|error| error.doing(format!("setting field {FIXED_PREFIX}.length")))?;
        }
        Ok(Arc::new(partitioner))
    }

    fn option_text(&self) -> String {
        PartitionerFactory::option_text(self)
    }
}
