//! An SST file of any kind: block-based, plain or cuckoo.
//!
//! The magic number at the end of a file says the kind, whatever the options of the column family are: RocksDB's adaptive
//! factory does the same. The options choose the kind of new files ([`crate::options::OtherTables::written`]).

mod hashed;
mod reader;
mod rows;
mod salvage;
mod writer;

pub use reader::AnyReader;
pub use rows::TableRows;
pub use salvage::salvage;
pub use writer::AnyWriter;
