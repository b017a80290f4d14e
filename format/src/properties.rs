//! The properties of a table: facts that the writer knew about the table, and facts that a reader needs.
//!
//! A sorted-string block with a single restart. One list below (`NUMBERS`, `TEXTS`) contains all names,
//! and the rule when each property is written. Numbers are varints, texts are raw bytes. A number that cannot
//! be decoded is skipped, as in RocksDB. A property with an unknown name is kept as user-collected. RocksDB
//! source: `table/meta_blocks.cc`, `include/rocksdb/table_properties.h`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base::coding::{get_u32, get_u64, get_varint64, put_varint64};
use base::{Arrange, Error, Result, SequenceNumber};

use crate::block::{Block, BlockIter};
use crate::block_builder::{BlockBuilder, BlockConfig};

#[cfg(test)]
mod tests;

/// The column family id of a table whose writer did not know it.
pub const COLUMN_FAMILY_ID_UNKNOWN: u64 = i32::MAX as u64;

/// The rule when a number is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Always,
    /// Written unless it is 0.
    NotZero,
    /// Written if `index_partitions` is written, whatever its own value.
    Partitioned,
    /// Written only if it is 0.
    Zero,
    /// Written unless it is the unknown sequence number.
    Known,
}

macro_rules! properties {
    (
        numbers { $($(#[$ndoc:meta])* $number:ident $nname:literal $rule:ident = $default:expr;)* }
        texts { $($(#[$tdoc:meta])* $text:ident $tname:literal;)* }
    ) => {
        /// The properties of one table, under RocksDB's names.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Properties {
            $($(#[$ndoc])* pub $number: u64,)*
            $($(#[$tdoc])* pub $text: Vec<u8>,)*
            /// All other properties by name: those that table property collectors and built-in collectors
            /// added.
            pub user_collected: BTreeMap<Vec<u8>, Vec<u8>>,
            /// The offset in the file of the eight bytes of the global sequence number, if the table has one.
            pub global_seqno_offset: Option<u64>,
            /// The size of the data blocks in bytes before their compression. Only the writer of the table knows this number, because
            /// no table stores the number; otherwise 0.
            pub uncompressed_data_size: u64,
        }

        impl Default for Properties {
            fn default() -> Self {
                Properties {
                    $($number: $default,)*
                    $($text: Vec::new(),)*
                    user_collected: BTreeMap::new(),
                    global_seqno_offset: None,
                    uncompressed_data_size: 0,
                }
            }
        }

        type Number = (&'static str, Rule, fn(&Properties) -> u64, fn(&mut Properties) -> &mut u64);
        type Text = (&'static str, fn(&Properties) -> &Vec<u8>, fn(&mut Properties) -> &mut Vec<u8>);

        const NUMBERS: &[Number] = &[$(($nname, Rule::$rule, |p| p.$number, |p| &mut p.$number),)*];
        const TEXTS: &[Text] = &[$(($tname, |p| &p.$text, |p| &mut p.$text),)*];
    };
}

properties! {
    numbers {
        /// The number that the file had when it was created; 0 if unknown. It is part of the file's unique
        /// id.
        original_file_number "rocksdb.original.file.number" Always = 0;
        /// The total size in bytes of all internal keys, including the start keys of range tombstones.
        raw_key_size "rocksdb.raw.key.size" Always = 0;
        raw_value_size "rocksdb.raw.value.size" Always = 0;
        /// The offset of the end of the last data block.
        data_size "rocksdb.data.size" Always = 0;
        index_size "rocksdb.index.size" Always = 0;
        index_partitions "rocksdb.index.partitions" NotZero = 0;
        top_level_index_size "rocksdb.top-level.index.size" Partitioned = 0;
        /// 1 if the keys in the index are user keys, without sequence number and value type.
        index_key_is_user_key "rocksdb.index.key.is.user.key" Always = 0;
        /// 1 if index values are delta encoded, without a length.
        index_value_is_delta_encoded "rocksdb.index.value.is.delta.encoded" Always = 0;
        udi_is_primary_index "rocksdb.udi.is.primary.index" NotZero = 0;
        /// The number of point entries and range tombstones.
        num_entries "rocksdb.num.entries" Always = 0;
        num_filter_entries "rocksdb.num.filter_entries" Always = 0;
        /// The number of deletions of all value types, including range tombstones.
        num_deletions "rocksdb.deleted.keys" Always = 0;
        num_merge_operands "rocksdb.merge.operands" Always = 0;
        num_range_deletions "rocksdb.num.range-deletions" Always = 0;
        num_data_blocks "rocksdb.num.data.blocks" Always = 0;
        num_data_blocks_compression_rejected "rocksdb.num.data.blocks.compression.rejected" NotZero = 0;
        num_data_blocks_compression_bypassed "rocksdb.num.data.blocks.compression.bypassed" NotZero = 0;
        num_uniform_blocks "rocksdb.num.uniform.blocks" Always = 0;
        filter_size "rocksdb.filter.size" Always = 0;
        format_version "rocksdb.format.version" Always = 0;
        /// The length of every user key if all have the same length; otherwise 0.
        fixed_key_len "rocksdb.fixed.key.length" Always = 0;
        column_family_id "rocksdb.column.family.id" Always = COLUMN_FAMILY_ID_UNKNOWN;
        /// The time in seconds since 1970 when the oldest data of the table was written; 0 if unknown.
        creation_time "rocksdb.creation.time" Always = 0;
        oldest_key_time "rocksdb.oldest.key.time" Always = 0;
        newest_key_time "rocksdb.newest.key.time" Always = 0;
        file_creation_time "rocksdb.file.creation.time" NotZero = 0;
        slow_compression_estimated_data_size "rocksdb.sample_for_compression.slow.data.size" NotZero = 0;
        fast_compression_estimated_data_size "rocksdb.sample_for_compression.fast.data.size" NotZero = 0;
        /// The offset of the first byte after the data blocks; 0 if unknown.
        tail_start_offset "rocksdb.tail.start.offset" Always = 0;
        /// 0 if timestamps were removed from the keys.
        user_defined_timestamps_persisted "rocksdb.user.defined.timestamps.persisted" Zero = 1;
        /// `u64::MAX` if unknown.
        key_largest_seqno "rocksdb.key.largest.seqno" Known = u64::MAX;
        /// `u64::MAX` if unknown.
        key_smallest_seqno "rocksdb.key.smallest.seqno" Known = u64::MAX;
        /// 0 if unknown. Blocks with separated keys and values cannot be read without it.
        data_block_restart_interval "rocksdb.data.block.restart.interval" NotZero = 0;
        index_block_restart_interval "rocksdb.index.block.restart.interval" NotZero = 0;
        separate_key_value_in_data_block "rocksdb.separate.key.value.in.data.block" NotZero = 0;
    }
    texts {
        db_id "rocksdb.creating.db.identity";
        db_session_id "rocksdb.creating.session.identity";
        db_host_id "rocksdb.creating.host.identity";
        filter_policy_name "rocksdb.filter.policy";
        comparator_name "rocksdb.comparator";
        merge_operator_name "rocksdb.merge.operator";
        prefix_extractor_name "rocksdb.prefix.extractor.name";
        property_collectors_names "rocksdb.property.collectors";
        column_family_name "rocksdb.column.family.name";
        compression_name "rocksdb.compression";
        compression_options "rocksdb.compression_options";
        seqno_to_time_mapping "rocksdb.seqno.time.map";
    }
}

/// The index of a name in [`NUMBERS`] or [`TEXTS`].
#[derive(Clone, Copy)]
enum PropertyRow {
    Number(usize),
    Text(usize),
}

/// All names in sorted order. Each open of a table looks up about sixty of them, whatever the size of the
/// table.
static ROWS: LazyLock<Vec<(&'static str, PropertyRow)>> = LazyLock::new(|| {
    let numbers = NUMBERS.iter().enumerate().map(|(at, number)| (number.0, PropertyRow::Number(at)));
    let texts = TEXTS.iter().enumerate().map(|(at, text)| (text.0, PropertyRow::Text(at)));
    let mut all: Vec<_> = numbers.chain(texts).collect();
    all.arrange_by_key(|(name, _)| *name);
    all
});

/// The names of properties that built-in collectors add.
pub mod names {
    /// The index type as a 32-bit integer: 0 binary search, 1 hash, 2 two-level, 3 binary search with first
    /// keys.
    pub const INDEX_TYPE: &str = "rocksdb.block.based.table.index.type";
    /// `1` if whole keys are in the filter, otherwise `0`. Readers take a missing property as `1`.
    pub const WHOLE_KEY_FILTERING: &str = "rocksdb.block.based.table.whole.key.filtering";
    /// `1` if the table has a prefix extractor, otherwise `0`. Readers take a missing property as `1`.
    pub const PREFIX_FILTERING: &str = "rocksdb.block.based.table.prefix.filtering";
    /// `1` if filter partitions end independently of index partitions. The writer leaves the property out
    /// otherwise.
    pub const DECOUPLED_PARTITIONED_FILTERS: &str = "rocksdb.block.based.table.decoupled.partitioned.filters";
    /// The smallest timestamp of the entries, as bytes.
    pub const TIMESTAMP_MIN: &str = "rocksdb.timestamp_min";
    /// The largest timestamp of the entries, as bytes.
    pub const TIMESTAMP_MAX: &str = "rocksdb.timestamp_max";
    /// The version of an external file as a 32-bit integer, 1 or 2. Only external files have this property.
    pub const EXTERNAL_VERSION: &str = "rocksdb.external_sst_file.version";
    /// The sequence number of all entries of an external file of version 2, as a 64-bit integer. The writer
    /// stores 0: the number is then in the MANIFEST.
    pub const GLOBAL_SEQNO: &str = "rocksdb.external_sst_file.global_seqno";
    /// The statistics of blobs that are stored in the table's own file. Only tables with embedded blobs have
    /// this property.
    pub const EMBEDDED_BLOB_STATS: &str = "rocksdb.embedded.blob.stats";
    /// The name of `num_deletions`. The number is also user-collected, for old callers.
    pub const DELETED_KEYS: &str = "rocksdb.deleted.keys";
    /// The name of `num_merge_operands`. The number is also user-collected, for old callers.
    pub const MERGE_OPERANDS: &str = "rocksdb.merge.operands";
}

impl Properties {
    /// Returns an estimate of the bytes of memory that the properties take.
    pub fn memory_bytes(&self) -> usize {
        let texts: usize = TEXTS.iter().map(|(_, text, _)| text(self).len()).sum();
        let user = self.user_collected.iter().map(|(name, value)| name.len() + value.len());
        size_of::<Properties>() + texts + user.sum::<usize>()
    }

    /// Decodes the block that starts at `offset` of its file (0 if the offset does not matter).
    ///
    /// # Errors
    /// Corruption if the block is not well formed or the names are not strictly ascending.
    pub fn decode(payload: &[u8], offset: u64) -> Result<Properties> {
        let block = Block::parse(payload)?;
        let mut properties = Properties::default();
        let mut last = Vec::new();
        let mut is_first = true;
        let mut iter = BlockIter::new(block);
        iter.seek_to_first();
        while iter.valid() {
            let (name, value) = (iter.key(), iter.value());
            if !is_first && name <= &last[..] {
                return Err(Error::corruption("properties unsorted").at(offset));
            }
            if name == names::GLOBAL_SEQNO.as_bytes() {
                let at = iter.value_offset() as u64;
                properties.global_seqno_offset = Some(offset.saturating_add(at));
            }
            properties.set(name, value);
            is_first = false;
            last.clear();
            last.extend_from_slice(name);
            iter.next();
        }
        iter.status().map_err(|e| e.shifted(offset))?;
        Ok(properties)
    }

    fn set(&mut self, name: &[u8], value: &[u8]) {
        let known = ROWS.binary_search_by_key(&name, |(known, _)| known.as_bytes());
        match known.ok().map(|at| ROWS[at].1) {
            Some(PropertyRow::Number(at)) => {
                let (.., field) = NUMBERS[at];
                if let Some((number, _)) = get_varint64(value) {
                    *field(self) = number;
                }
                // These two are stored in both places, as RocksDB does for old callers.
                if name != names::DELETED_KEYS.as_bytes() && name != names::MERGE_OPERANDS.as_bytes() {
                    return;
                }
            }
            Some(PropertyRow::Text(at)) => {
                let (.., field) = TEXTS[at];
                *field(self) = value.to_vec();
                return;
            }
            None => {}
        }
        self.user_collected.insert(name.to_vec(), value.to_vec());
    }

    /// Returns every property as it is stored: name and value, in the order of the block.
    pub fn entries(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut numbers = Vec::new();
        let stored = self.stored(&mut numbers);
        stored.into_iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
    }

    /// Like `entries`, but borrowed. The encoded numbers are stored in `numbers`.
    fn stored<'a>(&'a self, numbers: &'a mut Vec<u8>) -> Vec<(&'a [u8], &'a [u8])> {
        let is_written = |rule: Rule, number: u64| match rule {
            Rule::Always => true,
            Rule::NotZero => number != 0,
            Rule::Partitioned => self.index_partitions != 0,
            Rule::Zero => number == 0,
            Rule::Known => number != u64::MAX,
        };
        let mut ends = Vec::with_capacity(NUMBERS.len());
        for (name, rule, get, _) in NUMBERS {
            if is_written(*rule, get(self)) {
                put_varint64(numbers, get(self));
                ends.push((name.as_bytes(), numbers.len()));
            }
        }
        let numbers: &'a [u8] = numbers;
        let mut all: Vec<(&[u8], &[u8])> =
            Vec::with_capacity(NUMBERS.len() + TEXTS.len() + self.user_collected.len());
        let mut start = 0;
        for (name, end) in ends {
            all.push((name, &numbers[start..end]));
            start = end;
        }
        let texts = TEXTS.iter().map(|(name, get, _)| (name.as_bytes(), &get(self)[..]));
        all.extend(texts.filter(|(_, text)| !text.is_empty()));
        all.extend(self.user_collected.iter().map(|(name, value)| (&name[..], &value[..])));
        // The sort is stable and the user-collected properties come last. So if a name occurs twice, the
        // user-collected property is dropped.
        all.arrange_by_key(|(name, _)| *name);
        all.dedup_by_key(|(name, _)| *name);
        all
    }

    /// Returns the payload of the block.
    pub fn encode(&self) -> Vec<u8> {
        let config = BlockConfig { restart_interval: i32::MAX as usize, ..BlockConfig::default() };
        let mut builder = BlockBuilder::new(config);
        for (name, value) in self.stored(&mut Vec::new()) {
            builder.add(name, value);
        }
        std::mem::take(builder.finish())
    }

    /// Returns a user-collected property.
    pub fn user(&self, name: &str) -> Option<&[u8]> {
        self.user_collected.get(name.as_bytes()).map(|v| &v[..])
    }

    /// Returns the bytes after the data blocks of a file of `file_size` bytes. 0 if the file does not say where the data ends, or if the
    /// stated end is after the end of the file: properties are untrusted.
    pub fn tail_size(&self, file_size: u64) -> u64 {
        if self.tail_start_offset > 0 { file_size.saturating_sub(self.tail_start_offset) } else { 0 }
    }

    /// Returns the number of the index type, if the writer stored it.
    pub fn index_type(&self) -> Option<u32> {
        self.user(names::INDEX_TYPE).and_then(|v| get_u32(v, 0))
    }

    /// Returns true if whole keys are in the filter.
    pub fn whole_key_filtering(&self) -> bool {
        self.user(names::WHOLE_KEY_FILTERING) != Some(b"0")
    }

    /// Returns true if prefixes are in the filter.
    pub fn prefix_filtering(&self) -> bool {
        self.user(names::PREFIX_FILTERING) != Some(b"0")
    }

    /// Returns the global sequence number of an external file, if the file has one. All entries of the file then have
    /// this sequence number instead of the stored sequence numbers. `largest` is the largest sequence number of the
    /// file in the MANIFEST, if known.
    ///
    /// # Errors
    /// Corruption if the properties contradict each other or the MANIFEST.
    pub fn global_seqno(&self, largest: Option<SequenceNumber>) -> Result<Option<SequenceNumber>> {
        let stored = self.user(names::GLOBAL_SEQNO);
        let Some(version) = self.user(names::EXTERNAL_VERSION) else {
            return match stored {
                None => Ok(None),
                Some(_) => {
                    Err(Error::corruption("a table that is not external has a global sequence number"))
                }
            };
        };
        match (get_u32(version, 0), stored) {
            (Some(1), None) => Ok(None),
            (Some(1), Some(_)) => {
                Err(Error::corruption("an external table of version 1 has a global sequence number"))
            }
            (Some(2), stored) => {
                let own = match stored {
                    Some(bytes) => get_u64(bytes, 0)
                        .map(SequenceNumber::new)
                        .ok_or_else(|| Error::corruption("global sequence number is truncated"))?,
                    None => SequenceNumber::ZERO,
                };
                match largest {
                    Some(largest) if own.is_zero() => Ok(Some(largest)),
                    Some(largest) if own != largest => Err(Error::corruption(format!(
                        "an external table has global sequence number {own}, but the MANIFEST says {largest}"
                    ))),
                    _ => Ok(Some(own)),
                }
            }
            (version, _) => {
                Err(Error::corruption(format!("an external table of unknown version {version:?}")))
            }
        }
    }
}
