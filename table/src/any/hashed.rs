//! Writes a file for a column family with cuckoo tables: a cuckoo table if the entries fit, otherwise a
//! block-based table.
//!
//! A cuckoo table holds keys of one size and values of one size, one entry for each user key, and no entries but values and
//! deletions. From the first entry that does not fit, the entries are kept in memory; the cuckoo writer also keeps
//! its entries in memory. The end writes all entries to one block-based table, so no entry is lost.
//!
//! RocksDB's writer records an error for an entry that does not fit, and its end overwrites the error: the entry is lost.

use base::error::Kind;
use base::key::InternalOrder;
use base::{Error, Result};
use env::writer::FileWriter;

use crate::cuckoo::CuckooWriter;
use crate::sst::{FinishedTable, WriterOptions};

/// The writer. After an error the file is lost: drop the writer and delete the file.
pub struct HashedWriter {
    fitting: CuckooWriter,
    rest: Rest,
}

/// The entries from the first entry that does not fit.
#[derive(Default)]
struct Rest {
    /// Each key with its value.
    bytes: Vec<u8>,
    /// The sizes of each key and its value.
    sizes: Vec<(usize, usize)>,
}

impl HashedWriter {
    /// Starts a file.
    ///
    /// # Errors
    /// The errors of [`CuckooWriter::new`].
    pub fn new(file: FileWriter, options: WriterOptions) -> Result<HashedWriter> {
        Ok(HashedWriter { fitting: CuckooWriter::new(file, options)?, rest: Rest::default() })
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Corruption for a key without a trailer.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.rest.sizes.is_empty() {
            match self.fitting.add(key, value) {
                Err(error) if does_not_fit(&error) => {}
                done => return done,
            }
        }
        self.rest.bytes.extend_from_slice(key);
        self.rest.bytes.extend_from_slice(value);
        self.rest.sizes.push((key.len(), value.len()));
        Ok(())
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &InternalOrder {
        self.fitting.order()
    }

    /// Returns true if no entry was added.
    pub fn is_empty(&self) -> bool {
        self.fitting.entries() == 0 && self.rest.sizes.is_empty()
    }

    /// Returns the approximate size of the file if it is finished now, in bytes.
    pub fn file_size(&self) -> u64 {
        self.fitting.file_size() + self.rest.bytes.len() as u64
    }

    /// Writes the table. Does not sync or close the file.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(self) -> Result<(FinishedTable, FileWriter)> {
        if self.rest.sizes.is_empty() {
            match self.fitting.lay_out() {
                Err(error) if does_not_fit(&error) => {}
                layout => return self.fitting.write(layout?),
            }
        }
        let mut writer = self.fitting.into_block_based()?;
        base::invariant!(
            self.rest.sizes.iter().map(|(key, value)| key + value).sum::<usize>() == self.rest.bytes.len(),
            "the rest of the entries has not {} bytes",
            self.rest.bytes.len()
        );
        let mut bytes = &self.rest.bytes[..];
        for (key_len, value_len) in self.rest.sizes {
            let (key, after) = bytes.split_at(key_len);
            let (value, after) = after.split_at(value_len);
            writer.add(key, value)?;
            bytes = after;
        }
        writer.finish()
    }

    /// Abandons the table. Returns the file as it is.
    pub fn abandon(self) -> FileWriter {
        self.fitting.abandon()
    }
}

/// Returns true if the cuckoo writer rejected an entry, or all entries together.
fn does_not_fit(error: &Error) -> bool {
    error.kind() == Kind::NotSupported
}
