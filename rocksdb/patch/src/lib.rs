//! The package `ironstone-rocksdb` under the name `rocksdb`, for `[patch.crates-io]`.

pub use ::rocksdb::*;
