//! The functions of write batches with an index that are not built. A function with `errptr` reports
//! `Not implemented: NAME`. All others return zero or null.

use std::ffi::c_void;

use crate::batch_with_index::rocksdb_writebatch_wi_t;
use crate::callbacks::rocksdb_ts_size_cb;

opaque! {}

c_missing! {
    fn rocksdb_writebatch_wi_update_timestamps(
        wbwi: maybe rocksdb_writebatch_wi_t, ts: bytes, state: raw(*mut c_void),
        get_ts_size: call rocksdb_ts_size_cb, err
    );
}
