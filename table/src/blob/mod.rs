//! Blob files: values that a column family keeps outside its SST files.
//!
//! ```text
//! header │ record │ record │ ... │ footer          an SST file holds a blob index (file, offset, size) instead of
//!                                                  the value
//! ```
//! [`BlobReader`] reads one value by its blob index. [`BlobWriter`] writes a file from the first record to the footer.
//! [`scan`] reads every record in file order, for tools and repair. The bytes are defined in `format::blob`.
//! Not here: which blob files a version has (`lsm::version`), and the cache of open blob files (`engine::source`).
//!
//! Source: RocksDB `db/blob/blob_file_reader.cc`, `db/blob/blob_file_builder.cc`.

mod reader;
mod scan;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::{BlobAccess, BlobReader};
pub use scan::{BlobRecord, BlobScan, scan};
pub use writer::{BlobWriter, BlobWriterOptions, WrittenBlobs};

use format::blob::{FOOTER_LEN, HEADER_LEN};

/// Size in bytes of the shortest complete blob file: a header and a footer.
const FRAME_BYTES: u64 = (HEADER_LEN + FOOTER_LEN) as u64;
