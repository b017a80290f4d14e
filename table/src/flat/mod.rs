//! The common parts of plain tables and cuckoo tables: an SST file without blocks.
//!
//! ```text
//! rows or buckets from offset 0 ┊ blocks of the kind ┊ properties ┊ metaindex ┊ footer      no trailers, no checksums
//! ```
//! [`bytes`] reads the file, and [`meta`] reads and writes the part after the rows. Source: RocksDB
//! `table/plain/plain_table_builder.cc`, `table/cuckoo/cuckoo_table_builder.cc`.

pub(crate) mod bytes;
pub(crate) mod meta;
