//! An SST file of any format: block-based, plain or cuckoo.
//!
//! The magic number at the end of a file decides its format, whatever the options of the column family are.
//! RocksDB's adaptive factory does the same. The options choose the format of new files
//! ([`crate::options::OtherTables::written`]).

mod hashed;
mod reader;
mod rows;
mod salvage;
mod writer;

pub use reader::AnyReader;
pub use rows::TableRows;
pub use salvage::salvage;
pub use writer::AnyWriter;
