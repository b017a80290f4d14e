//! The properties of an SST file, for listeners and table filters.

use std::sync::Arc;

use format::properties::Properties;

use crate::abi::{Flag, Text};

/// The properties of an SST file.
#[derive(Clone)]
pub struct rocksdb_table_properties_t {
    pub(crate) properties: Arc<Properties>,
    /// The properties that collectors added, by name.
    user: Vec<(Vec<u8>, Vec<u8>)>,
}

impl rocksdb_table_properties_t {
    pub(crate) fn new(properties: Arc<Properties>) -> Self {
        let user =
            properties.user_collected.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        rocksdb_table_properties_t { properties, user }
    }
}

facts! {
    rocksdb_table_properties_t, "rocksdb_table_properties_", |t|;
    orig_file_number: u64 => t.properties.original_file_number;
    data_size: u64 => t.properties.data_size;
    uncompressed_data_size: u64 => t.properties.uncompressed_data_size;
    index_size: u64 => t.properties.index_size;
    index_partitions: u64 => t.properties.index_partitions;
    top_level_index_size: u64 => t.properties.top_level_index_size;
    index_key_is_user_key: u64 => t.properties.index_key_is_user_key;
    index_value_is_delta_encoded: u64 => t.properties.index_value_is_delta_encoded;
    udi_is_primary_index: u64 => t.properties.udi_is_primary_index;
    filter_size: u64 => t.properties.filter_size;
    raw_key_size: u64 => t.properties.raw_key_size;
    raw_value_size: u64 => t.properties.raw_value_size;
    num_data_blocks: u64 => t.properties.num_data_blocks;
    num_data_blocks_compression_rejected: u64 => t.properties.num_data_blocks_compression_rejected;
    num_data_blocks_compression_bypassed: u64 => t.properties.num_data_blocks_compression_bypassed;
    num_uniform_blocks: u64 => t.properties.num_uniform_blocks;
    num_entries: u64 => t.properties.num_entries;
    num_filter_entries: u64 => t.properties.num_filter_entries;
    num_deletions: u64 => t.properties.num_deletions;
    num_merge_operands: u64 => t.properties.num_merge_operands;
    num_range_deletions: u64 => t.properties.num_range_deletions;
    format_version: u64 => t.properties.format_version;
    fixed_key_len: u64 => t.properties.fixed_key_len;
    column_family_id: u64 => t.properties.column_family_id;
    creation_time: u64 => t.properties.creation_time;
    oldest_key_time: u64 => t.properties.oldest_key_time;
    newest_key_time: u64 => t.properties.newest_key_time;
    file_creation_time: u64 => t.properties.file_creation_time;
    slow_compression_estimated_data_size: u64 => t.properties.slow_compression_estimated_data_size;
    fast_compression_estimated_data_size: u64 => t.properties.fast_compression_estimated_data_size;
    tail_start_offset: u64 => t.properties.tail_start_offset;
    user_defined_timestamps_persisted: u64 => t.properties.user_defined_timestamps_persisted;
    key_largest_seqno: u64 => t.properties.key_largest_seqno;
    key_smallest_seqno: u64 => t.properties.key_smallest_seqno;
    data_block_restart_interval: u64 => t.properties.data_block_restart_interval;
    index_block_restart_interval: u64 => t.properties.index_block_restart_interval;
    separate_key_value_in_data_block: u64 => t.properties.separate_key_value_in_data_block;
    external_sst_file_global_seqno_offset: u64 => t.properties.global_seqno_offset.unwrap_or(0);
    has_key_largest_seqno: Flag => Flag(t.properties.key_largest_seqno != u64::MAX);
    has_key_smallest_seqno: Flag => Flag(t.properties.key_smallest_seqno != u64::MAX);
    user_collected_properties_count: usize => t.user.len();
    readable_properties_count: usize => 0;
}

byte_facts! {
    rocksdb_table_properties_t, "rocksdb_table_properties_", |t|;
    db_id => &t.properties.db_id;
    db_session_id => &t.properties.db_session_id;
    db_host_id => &t.properties.db_host_id;
    column_family_name => &t.properties.column_family_name;
    filter_policy_name => &t.properties.filter_policy_name;
    comparator_name => &t.properties.comparator_name;
    merge_operator_name => &t.properties.merge_operator_name;
    prefix_extractor_name => &t.properties.prefix_extractor_name;
    property_collectors_names => &t.properties.property_collectors_names;
    compression_name => &t.properties.compression_name;
    compression_options => &t.properties.compression_options;
    seqno_to_time_mapping => &t.properties.seqno_to_time_mapping;
}

c_api! {
    /// Returns the name of a property, or null if `pos` is too large. The bytes are valid until the handle is destroyed.
    fn rocksdb_table_properties_user_collected_properties_key_at(
        properties: in rocksdb_table_properties_t, pos: usize, key_len: out usize
    ) -> Option<Text> {
        let property = properties.user.get(pos);
        key_len.set(property.map_or(0, |(name, _)| name.len()));
        property.map(|(name, _)| Text::bytes(name))
    }

    fn rocksdb_table_properties_user_collected_properties_value_at(
        properties: in rocksdb_table_properties_t, pos: usize, value_len: out usize
    ) -> Option<Text> {
        let property = properties.user.get(pos);
        value_len.set(property.map_or(0, |(_, value)| value.len()));
        property.map(|(_, value)| Text::bytes(value))
    }

    /// Returns null, because Ironstone has no readable properties.
    fn rocksdb_table_properties_readable_properties_key_at(
        properties: in rocksdb_table_properties_t, pos: usize, key_len: out usize
    ) -> Option<Text> {
        let _ = (properties, pos);
        key_len.set(0);
        None
    }

    fn rocksdb_table_properties_readable_properties_value_at(
        properties: in rocksdb_table_properties_t, pos: usize, value_len: out usize
    ) -> Option<Text> {
        let _ = (properties, pos);
        value_len.set(0);
        None
    }
}
