//! An edit printed in the words of RocksDB's manifest dump.
