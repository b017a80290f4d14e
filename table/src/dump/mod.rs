//! The content of a table as text, in the format of RocksDB's `sst_dump`.
//!
//! [`properties_text`] is `TableProperties::ToString`. [`entry_line`] is a line of `--command=scan`. [`raw`]
//! is the whole output of `--command=raw`. The tool prints the text around them.

mod entry;
mod properties;

pub use crate::sst::raw_dump::raw;
pub use entry::{entry_line, hex, internal_key_text};
pub use properties::properties_text;
