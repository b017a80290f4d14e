//! Options of reads.

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use base::Error;
use engine::options::{ReadOptions, TableFilter};
use engine::sequence::Snapshot;

use crate::abi::exception::guarded;
use crate::abi::rejected::has_rejected;
use crate::abi::{Flag, Owned, Rejected, State, Text};
use crate::callbacks::{rocksdb_destructor_cb, rocksdb_readoptions_table_filter_cb};
use crate::snapshot::{rocksdb_snapshot_t, snapshot_of};
use crate::table_options::index_name;
use crate::table_properties::rocksdb_table_properties_t;

/// Options of reads.
#[derive(Default)]
pub struct rocksdb_readoptions_t {
    /// All options except the snapshot.
    options: ReadOptions,
    /// The snapshot of reads. The program owns the snapshot: these options do not keep it.
    snapshot: Option<Weak<Snapshot>>,
    rejected: Rejected,
    /// The I/O activity of a read. Stored for the getter only.
    io_activity: IoActivity,
    request_id: Option<Vec<u8>>,
    /// The name of the user-defined index. A read with such an index fails.
    table_index: Option<Vec<u8>>,
}
has_rejected!(rocksdb_readoptions_t);

/// The I/O activity of a call, 0 to 12 in RocksDB. Default: 255, unknown.
#[derive(Clone)]
pub(crate) struct IoActivity {
    pub number: i32,
}

impl Default for IoActivity {
    fn default() -> Self {
        IoActivity { number: 255 }
    }
}

impl rocksdb_readoptions_t {
    /// Returns the options for a read.
    ///
    /// # Errors
    /// InvalidArgument for a rejected value, and for a snapshot that was released.
    #[inline]
    pub(crate) fn get(&self) -> base::Result<Cow<'_, ReadOptions>> {
        self.rejected.check()?;
        match &self.snapshot {
            None => Ok(Cow::Borrowed(&self.options)),
            Some(snapshot) => {
                let snapshot = snapshot.upgrade().ok_or_else(|| {
                    Error::invalid_argument("the snapshot of the read options was released")
                })?;
                Ok(Cow::Owned(ReadOptions { snapshot: Some(snapshot), ..self.options.clone() }))
            }
        }
    }

    fn set_table_index(&mut self, name: Option<Vec<u8>>) {
        self.rejected.remove("table_index_factory");
        if name.is_some() {
            self.rejected.not_built("table_index_factory");
        }
        self.table_index = name;
    }
}

lifetime!(rocksdb_readoptions_t, rocksdb_readoptions_create, rocksdb_readoptions_destroy);

accessors! {
    rocksdb_readoptions_t, "rocksdb_readoptions_", |o| of ReadOptions;
    /// Microseconds since 1970; 0: no deadline.
    deadline: u64 => o.options.deadline;
    /// Microseconds; 0: no limit.
    io_timeout: u64 => o.options.io_timeout;
    read_tier: i32 => o.options.read_tier;
    rate_limiter_priority: i32 => o.options.rate_limiter_priority;
    value_size_soft_limit: u64 => o.options.value_size_soft_limit;
    verify_checksums: flag => o.options.verify_checksums;
    fill_cache: flag => o.options.fill_cache;
    ignore_range_deletions: flag => o.options.ignore_range_deletions;
    async_io: flag => o.options.async_io;
    optimize_multiget_for_io: flag => o.options.optimize_multiget_for_io;
    readahead_size: usize => o.options.readahead_size;
    max_skippable_internal_keys: u64 => o.options.max_skippable_internal_keys;
    tailing: flag => o.options.tailing;
    total_order_seek: flag => o.options.total_order_seek;
    auto_prefix_mode: flag => o.options.auto_prefix_mode;
    prefix_same_as_start: flag => o.options.prefix_same_as_start;
    pin_data: flag => o.options.pin_data;
    adaptive_readahead: flag => o.options.adaptive_readahead;
    background_purge_on_iterator_cleanup: flag => o.options.background_purge_on_iterator_cleanup;
    auto_readahead_size: flag => o.options.auto_readahead_size;
    allow_unprepared_value: flag => o.options.allow_unprepared_value;
    auto_refresh_iterator_with_snapshot: flag => o.options.auto_refresh_iterator_with_snapshot;
    io_activity: i32 => o.io_activity.number;
    merge_operand_count_threshold: usize => o.options.merge_operand_count_threshold;
}

c_api! {
    /// Sets the snapshot of reads. The options do not keep the snapshot: after its release, a read with these options is an
    /// error, until another snapshot is set. Null: reads see the newest entries.
    fn rocksdb_readoptions_set_snapshot(options: mut rocksdb_readoptions_t, snapshot: raw(*const rocksdb_snapshot_t)) {
        // SAFETY: the header requires null, or a live handle, which no thread releases during the call.
        options.snapshot = unsafe { snapshot_of(snapshot) }.map(|snapshot| Arc::downgrade(&snapshot));
    }

    /// Sets the upper bound of iterators: they return only keys before it. Copies the key. Null: no bound.
    fn rocksdb_readoptions_set_iterate_upper_bound(options: mut rocksdb_readoptions_t, key: bound) {
        options.options.iterate_upper_bound = key.map(<[u8]>::to_vec);
    }

    /// Sets the lower bound of iterators: they return no key before it. Copies the key. Null: no bound.
    fn rocksdb_readoptions_set_iterate_lower_bound(options: mut rocksdb_readoptions_t, key: bound) {
        options.options.iterate_lower_bound = key.map(<[u8]>::to_vec);
    }

    /// Sets the timestamp of reads: they ignore entries with a newer timestamp. Copies the timestamp. Null: no timestamp.
    fn rocksdb_readoptions_set_timestamp(options: mut rocksdb_readoptions_t, ts: bound) {
        options.options.timestamp = ts.map(<[u8]>::to_vec);
    }

    /// Sets the oldest timestamp of iterators. An iterator then returns each entry of a key whose timestamp is between this
    /// timestamp and the timestamp of the read. Copies the timestamp. Null: iterators return only the newest entry of a key.
    fn rocksdb_readoptions_set_iter_start_ts(options: mut rocksdb_readoptions_t, ts: bound) {
        options.options.iter_start_ts = ts.map(<[u8]>::to_vec);
    }

    fn rocksdb_readoptions_clear_merge_operand_count_threshold(options: mut rocksdb_readoptions_t) {
        options.options.merge_operand_count_threshold = None;
    }

    fn rocksdb_readoptions_has_merge_operand_count_threshold(options: at rocksdb_readoptions_t) -> Flag {
        Flag(options.options.merge_operand_count_threshold.is_some())
    }

    /// Copies a text that names the read for the program. The library does not use it.
    fn rocksdb_readoptions_set_request_id(options: mut rocksdb_readoptions_t, request_id: bytes) {
        options.request_id = Some(request_id.to_vec());
    }

    /// Returns the request id, or null if there is none. The text is valid until the next change or the end of the handle.
    fn rocksdb_readoptions_get_request_id(options: at rocksdb_readoptions_t, request_id_len: out usize) -> Option<Text> {
        request_id_len.set(options.request_id.as_ref().map_or(0, Vec::len));
        options.request_id.as_deref().map(Text::bytes)
    }

    fn rocksdb_readoptions_clear_request_id(options: mut rocksdb_readoptions_t) {
        options.request_id = None;
    }

    /// Sets a table filter: iterators read only the SST files for which the filter returns 1. `destructor` runs once, after the
    /// last use.
    fn rocksdb_readoptions_set_table_filter(
        options: mut rocksdb_readoptions_t, state: raw(*mut std::ffi::c_void),
        destructor: call rocksdb_destructor_cb, table_filter: call rocksdb_readoptions_table_filter_cb
    ) {
        let state = State::new(state, destructor);
        options.options.table_filter = table_filter.map(|filter| {
            TableFilter::new(move |properties| {
                let properties = rocksdb_table_properties_t::new(Arc::new(properties.clone()));
                // SAFETY: the program handed in this function for this state, which lives as long as the filter. The
                // properties live during the call.
                guarded("table_filter", || unsafe { filter(state.pointer(), &raw const properties) != 0 })
            })
        });
    }

    fn rocksdb_readoptions_clear_table_filter(options: mut rocksdb_readoptions_t) {
        options.options.table_filter = None;
    }

    fn rocksdb_readoptions_has_table_filter(options: in rocksdb_readoptions_t) -> Flag {
        Flag(options.options.table_filter.is_some())
    }

    /// Sets the name of the user-defined index of reads. Ironstone has no such indexes, so a read with an index fails. An empty
    /// text and `nullptr` mean no index.
    fn rocksdb_readoptions_set_table_index_factory_from_string(
        options: mut rocksdb_readoptions_t, value: bytes, err
    ) {
        let name = index_name(value)?;
        options.set_table_index(name);
        Ok(())
    }

    fn rocksdb_readoptions_clear_table_index_factory(options: mut rocksdb_readoptions_t) {
        options.set_table_index(None);
    }

    /// Returns the name of the user-defined index, or null. The text is valid until the next change or the end of the handle.
    fn rocksdb_readoptions_get_table_index_factory_name(
        options: in rocksdb_readoptions_t, name_len: out usize
    ) -> Option<Text> {
        name_len.set(options.table_index.as_ref().map_or(0, Vec::len));
        options.table_index.as_deref().map(Text::bytes)
    }
}
