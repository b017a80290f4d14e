//! A table as people read it, in the words of RocksDB's `sst_dump`.
//!
//! [`properties_text`] is `TableProperties::ToString`; [`entry_line`] a line of `--command=scan`;
//! [`raw`] the whole of `--command=raw`. What a tool prints around them is the tool's.

mod entry;
mod properties;

pub use crate::sst::raw_dump::raw;
pub use entry::{entry_line, hex, internal_key_text};
pub use properties::properties_text;
