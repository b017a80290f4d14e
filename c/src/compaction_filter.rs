//! Compaction filters of the program, and factories that create a filter for each compaction.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use lsm::filter::{
    CompactionFilter, CompactionFilterFactory, Decision, FilterContext, FilterInput, FilterKind,
};

use crate::abi::exception::guarded;
use crate::abi::{Flag, Owned, State};
use crate::callbacks::{rocksdb_destructor_cb, rocksdb_filter_cb, rocksdb_name_cb};
use crate::comparator::name_of;

/// Creates the filter of one compaction. The library destroys the filter.
pub type rocksdb_create_filter_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    context: *mut rocksdb_compactionfiltercontext_t,
) -> *mut rocksdb_compactionfilter_t;

/// A compaction filter.
pub struct rocksdb_compactionfilter_t {
    pub(crate) filter: Arc<CFilter>,
}

/// A factory of compaction filters.
pub struct rocksdb_compactionfilterfactory_t {
    pub(crate) factory: Arc<dyn CompactionFilterFactory>,
}

/// Describes the compaction for which a filter is created. Valid during the call of the factory.
pub struct rocksdb_compactionfiltercontext_t {
    context: FilterContext,
}

/// A filter that calls a function of the program.
pub struct CFilter {
    state: State,
    name: String,
    filter: rocksdb_filter_cb,
    ignore_snapshots: std::sync::atomic::AtomicBool,
}

impl CompactionFilter for CFilter {
    fn name(&self) -> &str {
        &self.name
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        // RocksDB also calls C filters for plain values only.
        if input.kind != FilterKind::Value {
            return Decision::Keep;
        }
        let (mut new_value, mut new_len, mut changed) = (std::ptr::null_mut::<c_char>(), 0usize, 0u8);
        // SAFETY: the program handed in this function for this state; key and value have as many readable bytes as
        // their lengths say; the last three point to local places.
        let removed = guarded("filter", || unsafe {
            (self.filter)(
                self.state.pointer(),
                c_int::from(input.level.get()),
                input.user_key.as_ptr().cast(),
                input.user_key.len(),
                input.value.as_ptr().cast(),
                input.value.len(),
                &raw mut new_value,
                &raw mut new_len,
                &raw mut changed,
            )
        });
        if removed != 0 {
            return Decision::Remove;
        }
        if changed == 0 {
            return Decision::Keep;
        }
        // SAFETY: the header requires that a changed value is null, or `new_len` readable bytes until the next call.
        match unsafe { crate::abi::arguments::bytes(new_value, new_len) } {
            Ok(bytes) => Decision::ChangeValue(bytes.to_vec()),
            Err(_) => Decision::Keep,
        }
    }

    fn ignore_snapshots(&self) -> bool {
        self.ignore_snapshots.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// A filter that a factory returned. Its state is shared with the handle.
struct SharedFilter(Arc<CFilter>);

impl CompactionFilter for SharedFilter {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        self.0.filter(input)
    }

    fn ignore_snapshots(&self) -> bool {
        self.0.ignore_snapshots()
    }
}

struct CFactory {
    state: State,
    name: String,
    create: rocksdb_create_filter_cb,
}

impl CompactionFilterFactory for CFactory {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        let mut context = rocksdb_compactionfiltercontext_t { context: *context };
        // SAFETY: the program handed in this function for this state; the context is valid during the call.
        let handle = guarded("create_compaction_filter", || unsafe {
            (self.create)(self.state.pointer(), &raw mut context)
        });
        if handle.is_null() {
            return None;
        }
        // SAFETY: the header requires null or a filter from `rocksdb_compactionfilter_create` that the library takes over.
        let handle = unsafe { Box::from_raw(handle) };
        Some(Box::new(SharedFilter(handle.filter.clone())))
    }
}

c_api! {
    /// Creates a compaction filter. Returns null if `filter` is null.
    fn rocksdb_compactionfilter_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb, filter: call rocksdb_filter_cb,
        name: call rocksdb_name_cb
    ) -> Option<Owned<rocksdb_compactionfilter_t>> {
        let name = name_of(name, state, "rocksdb.CCompactionFilter");
        let state = State::new(state, destructor);
        filter.map(|filter| {
            let filter = CFilter { state, name, filter, ignore_snapshots: true.into() };
            Owned(rocksdb_compactionfilter_t { filter: Arc::new(filter) })
        })
    }

    /// Must be 1: a compaction filter is also called for entries that snapshots need.
    fn rocksdb_compactionfilter_set_ignore_snapshots(filter: at rocksdb_compactionfilter_t, ignore: flag) {
        filter.filter.ignore_snapshots.store(ignore, std::sync::atomic::Ordering::Relaxed);
    }

    /// Destroys the handle. Databases that use the filter keep it. Accepts null.
    fn rocksdb_compactionfilter_destroy(filter: own rocksdb_compactionfilter_t) {
        drop(filter)
    }

    /// Returns 1 if the compaction reads all files of the column family.
    fn rocksdb_compactionfiltercontext_is_full_compaction(context: at rocksdb_compactionfiltercontext_t) -> Flag {
        Flag(context.context.is_full_compaction)
    }

    /// Returns 1 if the program requested the compaction.
    fn rocksdb_compactionfiltercontext_is_manual_compaction(
        context: at rocksdb_compactionfiltercontext_t
    ) -> Flag {
        Flag(context.context.is_manual_compaction)
    }

    /// Creates a factory. `rocksdb_options_set_compaction_filter_factory` takes ownership of the handle.
    fn rocksdb_compactionfilterfactory_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb,
        create_compaction_filter: call rocksdb_create_filter_cb, name: call rocksdb_name_cb
    ) -> Option<Owned<rocksdb_compactionfilterfactory_t>> {
        let name = name_of(name, state, "rocksdb.CCompactionFilterFactory");
        let state = State::new(state, destructor);
        create_compaction_filter.map(|create| {
            let factory = CFactory { state, name, create };
            Owned(rocksdb_compactionfilterfactory_t { factory: Arc::new(factory) })
        })
    }

    /// Destroys a factory. Options that took ownership of a factory destroy it themselves. Accepts null.
    fn rocksdb_compactionfilterfactory_destroy(factory: own rocksdb_compactionfilterfactory_t) {
        drop(factory)
    }
}
