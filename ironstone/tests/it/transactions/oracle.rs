//! Databases with prepared transactions that RocksDB wrote.
