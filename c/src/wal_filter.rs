//! WAL filters: functions of the program that skip, replace or reject WAL records during recovery.
//!
//! RocksDB stores a raw pointer to the filter. Here options and databases share the filter. Its destructor runs when no
//! handle, no options and no database use the filter any longer. Source: RocksDB `db/c.cc` (`rocksdb_walfilter_t`).

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;

use base::{Arrange, FamilyId, FileNumber};
use engine::batch::WriteBatch;
use engine::components::{WalFilter, WalFilterDecision};
use format::batch::Batch;

use crate::abi::exception::guarded;
use crate::abi::{Owned, State};
use crate::batch::rocksdb_writebatch_t;
use crate::callbacks::{
    rocksdb_destructor_cb, rocksdb_name_cb, rocksdb_walfilter_column_family_log_number_map_cb,
};
use crate::comparator::name_of;
use crate::constants::{
    rocksdb_wal_filter_continue_processing, rocksdb_wal_filter_ignore_current_record,
    rocksdb_wal_filter_stop_replay,
};

/// Receives one WAL record during recovery and returns a constant `rocksdb_wal_filter_*`. To replace the record, fill
/// `new_batch`, set `batch_changed` to 1, and return `rocksdb_wal_filter_continue_processing`. Both batches are valid
/// during the call only.
pub type rocksdb_walfilter_log_record_found_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    log_number: std::ffi::c_ulonglong,
    log_file_name: *const c_char,
    log_file_name_len: usize,
    batch: *const rocksdb_writebatch_t,
    new_batch: *mut rocksdb_writebatch_t,
    batch_changed: *mut u8,
) -> c_int;

/// A WAL filter.
pub struct rocksdb_walfilter_t {
    pub(crate) filter: Arc<dyn WalFilter>,
}

/// A filter that calls functions of the program. If a function is null, replay continues as without a filter.
struct CFilter {
    state: State,
    name: String,
    families: Option<rocksdb_walfilter_column_family_log_number_map_cb>,
    record: Option<rocksdb_walfilter_log_record_found_cb>,
}

impl WalFilter for CFilter {
    fn name(&self) -> &str {
        &self.name
    }

    /// Passes the WAL numbers in the order of the column family ids, and the names in the order of names, as RocksDB does.
    fn families(&self, families: &[(FamilyId, String, FileNumber)]) {
        let Some(call) = self.families else { return };
        let mut by_id: Vec<_> = families.iter().collect();
        by_id.arrange_by_key(|(id, _, _)| id.get());
        let mut by_name = by_id.clone();
        by_name.arrange_by_key(|(_, name, _)| name.as_bytes());
        let ids: Vec<u32> = by_id.iter().map(|(id, _, _)| id.get()).collect();
        let wals: Vec<u64> = by_id.iter().map(|(_, _, wal)| wal.get()).collect();
        let names: Vec<*const c_char> = by_name.iter().map(|(_, name, _)| name.as_ptr().cast()).collect();
        let name_lens: Vec<usize> = by_name.iter().map(|(_, name, _)| name.len()).collect();
        let name_ids: Vec<u32> = by_name.iter().map(|(id, _, _)| id.get()).collect();
        // SAFETY: the program handed in this function for this state; each array has as many items as its length says, and
        // each name as many readable bytes as its length says; all of them stay until the end of this function.
        guarded("column_family_log_number_map", || unsafe {
            call(
                self.state.pointer(),
                ids.as_ptr(),
                wals.as_ptr(),
                ids.len(),
                names.as_ptr(),
                name_lens.as_ptr(),
                name_ids.as_ptr(),
                name_ids.len(),
            );
        });
    }

    fn record(&self, wal: FileNumber, path: &Path, batch: &Batch<'_>) -> WalFilterDecision {
        let Some(call) = self.record else { return WalFilterDecision::ContinueProcessing };
        let Ok(old) = WriteBatch::from_bytes(batch.bytes()) else {
            return WalFilterDecision::CorruptedRecord;
        };
        let old = rocksdb_writebatch_t::from_batch(old);
        let (mut new, mut changed) = (rocksdb_writebatch_t::default(), 0u8);
        let path = path.as_os_str().as_encoded_bytes();
        // SAFETY: the program handed in this function for this state; the path has as many readable bytes as its length
        // says; both batches and the flag are live places until the end of this function.
        let answer = guarded("log_record_found", || unsafe {
            call(
                self.state.pointer(),
                wal.get(),
                path.as_ptr().cast(),
                path.len(),
                &raw const old,
                &raw mut new,
                &raw mut changed,
            )
        });
        decision(answer, (changed != 0).then_some(new))
    }
}

/// Converts the number that the program returned to a decision. `new` is the new batch if the program changed the record.
#[allow(non_upper_case_globals, reason = "the constants have the names of C")]
fn decision(answer: c_int, new: Option<rocksdb_writebatch_t>) -> WalFilterDecision {
    match answer {
        rocksdb_wal_filter_continue_processing => {
            new.map_or(WalFilterDecision::ContinueProcessing, replacement)
        }
        rocksdb_wal_filter_ignore_current_record => WalFilterDecision::IgnoreCurrentRecord,
        rocksdb_wal_filter_stop_replay => WalFilterDecision::StopReplay,
        _ => WalFilterDecision::CorruptedRecord,
    }
}

/// Replaces a record with a new batch. If the new batch cannot be written, the record counts as corrupt.
fn replacement(mut new: rocksdb_writebatch_t) -> WalFilterDecision {
    match new.batch_to_write() {
        Ok(batch) => WalFilterDecision::Replace(batch.bytes().to_vec()),
        Err(_) => WalFilterDecision::CorruptedRecord,
    }
}

c_api! {
    /// Creates a WAL filter. If a function is null, replay continues as without a filter.
    fn rocksdb_walfilter_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb,
        column_family_log_number_map: call rocksdb_walfilter_column_family_log_number_map_cb,
        log_record_found: call rocksdb_walfilter_log_record_found_cb, name: call rocksdb_name_cb
    ) -> Owned<rocksdb_walfilter_t> {
        let name = name_of(name, state, "");
        let state = State::new(state, destructor);
        let (families, record) = (column_family_log_number_map, log_record_found);
        Owned(rocksdb_walfilter_t { filter: Arc::new(CFilter { state, name, families, record }) })
    }

    /// Destroys the handle. Options and databases that use the filter keep it. Accepts null.
    fn rocksdb_walfilter_destroy(filter: own rocksdb_walfilter_t) {
        drop(filter)
    }
}
