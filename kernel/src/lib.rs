//! Checksums, hashes and filter bits: pure computation over bytes, bit for bit RocksDB's.
