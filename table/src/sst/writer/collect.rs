//! Counts the facts for the properties of a table, and calls the collectors.

use base::ValueType;
use base::key::{SequenceNumber, TRAILER_LEN, sequence_of, user_key};
use format::properties::{Properties, names};

use super::options::{CollectorContext, TablePropertiesCollector, WriterOptions};
use crate::options::COMPATIBILITY_NAME;

/// The facts that are counted for each entry. All other facts follow from the options.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) entries: u64,
    pub(crate) range_deletions: u64,
    pub(crate) deletions: u64,
    pub(crate) merge_operands: u64,
    pub(crate) raw_key_size: u64,
    pub(crate) raw_value_size: u64,
    pub(crate) largest_seqno: SequenceNumber,
    pub(crate) smallest_seqno: SequenceNumber,
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            entries: 0,
            range_deletions: 0,
            deletions: 0,
            merge_operands: 0,
            raw_key_size: 0,
            raw_value_size: 0,
            largest_seqno: SequenceNumber::ZERO,
            smallest_seqno: SequenceNumber::NONE,
        }
    }
}

impl Counts {
    #[inline]
    pub(crate) fn add(&mut self, trailer: u64, key_len: usize, value_len: usize) {
        let seq = sequence_of(trailer);
        self.largest_seqno = self.largest_seqno.max(seq);
        self.smallest_seqno = self.smallest_seqno.min(seq);
        self.entries += 1;
        self.raw_key_size += key_len as u64;
        self.raw_value_size += value_len as u64;
        const DELETION: u8 = ValueType::Deletion as u8;
        const SINGLE: u8 = ValueType::SingleDeletion as u8;
        const WITH_TIMESTAMP: u8 = ValueType::DeletionWithTimestamp as u8;
        const RANGE: u8 = ValueType::RangeDeletion as u8;
        const MERGE: u8 = ValueType::Merge as u8;
        match trailer as u8 {
            DELETION | SINGLE | WITH_TIMESTAMP => self.deletions += 1,
            RANGE => {
                self.deletions += 1;
                self.range_deletions += 1;
            }
            MERGE => self.merge_operands += 1,
            _ => {}
        }
        base::invariant!(
            self.range_deletions <= self.deletions && self.deletions <= self.entries,
            "a table of {} entries has {} deletions and {} range deletions",
            self.entries,
            self.deletions,
            self.range_deletions
        );
    }

    pub(super) fn put_into(&self, properties: &mut Properties) {
        base::invariant!(
            self.entries == 0 || self.smallest_seqno <= self.largest_seqno,
            "the {} entries of a table have the sequence numbers {} to {}",
            self.entries,
            self.smallest_seqno,
            self.largest_seqno
        );
        properties.num_entries = self.entries;
        properties.num_range_deletions = self.range_deletions;
        properties.num_deletions = self.deletions;
        properties.num_merge_operands = self.merge_operands;
        properties.raw_key_size = self.raw_key_size;
        properties.raw_value_size = self.raw_value_size;
        properties.key_largest_seqno = self.largest_seqno.get();
        properties.key_smallest_seqno = self.smallest_seqno.get();
    }
}

/// Returns the properties that follow from the options alone.
pub(super) fn initial_properties(options: &WriterOptions) -> Properties {
    let table = &*options.table;
    let text = |text: &str| text.as_bytes().to_vec();
    let mut properties = Properties {
        column_family_id: u64::from(options.place.family.get()),
        column_family_name: text(&options.place.family_name),
        creation_time: options.times.oldest_ancestor,
        oldest_key_time: options.times.oldest_key,
        newest_key_time: options.times.newest_key,
        file_creation_time: options.file_creation_time,
        original_file_number: options.file_number.get(),
        db_id: text(&options.identity.db_id),
        db_session_id: text(&options.identity.db_session_id),
        db_host_id: text(&options.identity.db_host_id),
        format_version: u64::from(table.format_version),
        data_block_restart_interval: table.block_restart_interval as u64,
        index_block_restart_interval: table.index_block_restart_interval as u64,
        separate_key_value_in_data_block: u64::from(table.separate_key_value_in_data_block),
        user_defined_timestamps_persisted: u64::from(options.persist_timestamps),
        comparator_name: text(options.order.user.name()),
        merge_operator_name: text(options.merge_operator_name.as_deref().unwrap_or("nullptr")),
        seqno_to_time_mapping: options.seqno_to_time.clone(),
        ..Properties::default()
    };
    properties.filter_policy_name =
        table.filter_policy.as_ref().map_or(Vec::new(), |policy| text(policy.name()));
    properties.prefix_extractor_name = options
        .prefix_extractor
        .as_ref()
        .map_or_else(|| text("nullptr"), |extractor| text(&extractor.name()));
    let collectors: Vec<&str> = options.collecting.factories.iter().map(|factory| factory.name()).collect();
    properties.property_collectors_names = text(&format!("[{}]", collectors.join(",")));
    let flag = |flag: bool| vec![if flag { b'1' } else { b'0' }];
    let mut user = |name: &str, value: Vec<u8>| properties.user_collected.insert(text(name), value);
    user(names::INDEX_TYPE, (table.index_type as u32).to_le_bytes().to_vec());
    user(names::WHOLE_KEY_FILTERING, flag(table.whole_key_filtering));
    user(names::PREFIX_FILTERING, flag(options.prefix_extractor.is_some()));
    if table.decouple_partitioned_filters {
        user(names::DECOUPLED_PARTITIONED_FILTERS, flag(true));
    }
    mark_external(options, &mut properties);
    properties
}

/// Adds the properties that mark an external table (see [`crate::sst_file`]), if the options ask for such a table.
pub(crate) fn mark_external(options: &WriterOptions, properties: &mut Properties) {
    if options.external {
        let mut user =
            |name: &str, value: &[u8]| properties.user_collected.insert(name.into(), value.to_vec());
        user(names::EXTERNAL_VERSION, &2u32.to_le_bytes());
        user(names::GLOBAL_SEQNO, &0u64.to_le_bytes());
    }
}

/// Returns the name of a filter block in the metaindex.
pub(super) fn filter_block_name(partitioned: bool) -> String {
    let prefix = if partitioned { "partitionedfilter." } else { "fullfilter." };
    format!("{prefix}{COMPATIBILITY_NAME}")
}

/// All collectors of one table.
pub(crate) struct Collectors {
    users: Vec<Box<dyn TablePropertiesCollector>>,
    timestamps: Option<Timestamps>,
}

impl Collectors {
    pub(crate) fn new(options: &WriterOptions) -> Self {
        let context = CollectorContext {
            family: options.place.family,
            level: options.place.level,
            old_before: options.collecting.old_before,
        };
        let size = options.order.user.timestamp_size();
        Collectors {
            users: options
                .collecting
                .factories
                .iter()
                .filter_map(|factory| factory.create(context))
                .collect(),
            timestamps: (size > 0 && options.persist_timestamps).then(|| Timestamps::new(size)),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.users.is_empty() && self.timestamps.is_none()
    }

    /// Passes an entry to the collectors. A collector that fails is dropped.
    pub(crate) fn add(&mut self, options: &WriterOptions, key: &[u8], value: &[u8], file_size: u64) {
        self.users.retain_mut(|user| user.add(key, value, file_size).is_ok());
        if let Some(timestamps) = &mut self.timestamps {
            timestamps.add(options, key, value);
        }
    }

    pub(super) fn block_added(&mut self, bytes: u64, fast: u64, slow: u64) {
        for user in &mut self.users {
            user.block_added(bytes, fast, slow);
        }
    }

    pub(crate) fn need_compact(&self) -> bool {
        self.users.iter().any(|user| user.need_compact())
    }

    pub(crate) fn finish(&mut self, properties: &mut Properties) {
        if let Some(timestamps) = self.timestamps.take() {
            let text = |name: &str| name.as_bytes().to_vec();
            properties.user_collected.insert(text(names::TIMESTAMP_MIN), timestamps.min);
            properties.user_collected.insert(text(names::TIMESTAMP_MAX), timestamps.max);
        }
        for user in &mut self.users {
            // If several collectors add a property of the same name, the first one counts.
            for (name, value) in user.finish().unwrap_or_default() {
                properties.user_collected.entry(name).or_insert(value);
            }
        }
    }
}

/// The oldest and the newest timestamp of keys and of the ends of range tombstones.
struct Timestamps {
    size: usize,
    min: Vec<u8>,
    max: Vec<u8>,
}

impl Timestamps {
    fn new(size: usize) -> Self {
        Timestamps { size, min: Vec::new(), max: Vec::new() }
    }

    fn add(&mut self, options: &WriterOptions, key: &[u8], value: &[u8]) {
        self.see(options, user_key(key));
        let value_type = key.len().checked_sub(TRAILER_LEN).and_then(|at| key.get(at));
        if value_type == Some(&(ValueType::RangeDeletion as u8)) {
            self.see(options, value);
        }
    }

    fn see(&mut self, options: &WriterOptions, user_key: &[u8]) {
        let Some(at) = user_key.len().checked_sub(self.size) else { return };
        let timestamp = &user_key[at..];
        let order = &options.order.user;
        if self.min.is_empty() || order.compare_timestamp(timestamp, &self.min).is_lt() {
            self.min = timestamp.to_vec();
        }
        if self.max.is_empty() || order.compare_timestamp(timestamp, &self.max).is_gt() {
            self.max = timestamp.to_vec();
        }
        base::invariant!(
            order.compare_timestamp(&self.min, &self.max).is_le(),
            "the smallest timestamp of a table is above the largest"
        );
    }
}
