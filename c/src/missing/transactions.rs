//! The functions of transactions that are not built. A function with `errptr` reports `Not implemented: NAME`. All others return zero or null.

use crate::abi::Owned;
use crate::batch_with_index::rocksdb_writebatch_wi_t;
use crate::transactions::rocksdb_transaction_t;

opaque! {}

c_missing! {
    fn rocksdb_transaction_get_writebatch_wi(
        txn: maybe rocksdb_transaction_t
    ) -> Owned<rocksdb_writebatch_wi_t>;
}
