//! Writes one SST file of any format.

use base::key::InternalOrder;
use base::{Error, Result, SequenceNumber};
use env::writer::FileWriter;

use super::hashed::HashedWriter;
use crate::options::WrittenTable;
use crate::plain::PlainWriter;
use crate::sst::{FinishedTable, Writer, WriterOptions};

/// A file being written. After an error the file is lost: drop the writer and delete the file.
// The sizes differ, but a box would cost a pointer chase at each entry of a common table.
#[allow(clippy::large_enum_variant)]
pub enum AnyWriter {
    /// Writes a block-based table.
    Block(Writer),
    /// Writes a plain table.
    Plain(Box<PlainWriter>),
    /// Writes a cuckoo table, or a block-based table if the entries do not fit.
    Hashed(Box<HashedWriter>),
}

/// Calls the same method of each format.
macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            AnyWriter::Block($inner) => $call,
            AnyWriter::Plain($inner) => $call,
            AnyWriter::Hashed($inner) => $call,
        }
    };
}

impl AnyWriter {
    /// Starts a file of the format that the options choose.
    ///
    /// # Errors
    /// The errors of [`Writer::new`], [`PlainWriter::new`] and
    /// [`CuckooWriter::new`](crate::cuckoo::CuckooWriter::new).
    pub fn new(file: FileWriter, options: WriterOptions) -> Result<AnyWriter> {
        Ok(match options.other.written {
            WrittenTable::BlockBased => AnyWriter::Block(Writer::new(file, options)?),
            WrittenTable::Plain => AnyWriter::Plain(Box::new(PlainWriter::new(file, options)?)),
            WrittenTable::Cuckoo => AnyWriter::Hashed(Box::new(HashedWriter::new(file, options)?)),
        })
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// NotSupported for an entry that a plain table cannot store. Errors of the file.
    #[inline]
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        each!(self, writer => writer.add(key, value))
    }

    /// Adds a range tombstone from `start` (included) to `end` (excluded).
    ///
    /// # Errors
    /// NotSupported in a column family with plain or cuckoo tables. Errors of the file.
    pub fn add_range_tombstone(&mut self, start: &[u8], end: &[u8], seq: SequenceNumber) -> Result<()> {
        match self {
            AnyWriter::Block(writer) => writer.add_range_tombstone(start, end, seq),
            AnyWriter::Plain(_) | AnyWriter::Hashed(_) => {
                Err(Error::not_supported("Range deletion unsupported"))
            }
        }
    }

    /// Returns true if no entry was added.
    pub fn is_empty(&self) -> bool {
        match self {
            AnyWriter::Block(writer) => writer.is_empty(),
            AnyWriter::Plain(writer) => writer.entries() == 0,
            AnyWriter::Hashed(writer) => writer.is_empty(),
        }
    }

    /// Sets the encoded sequence-to-time map, which is known only at the end. Plain tables and cuckoo tables store no map.
    pub fn set_seqno_times(&mut self, encoded: Vec<u8>) {
        if let AnyWriter::Block(writer) = self {
            writer.set_seqno_to_time(encoded);
        }
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &InternalOrder {
        each!(self, writer => writer.order())
    }

    /// Returns the bytes of the file so far. A block-based table counts neither its current block nor the tail: index, filter and
    /// meta blocks.
    pub fn file_size(&self) -> u64 {
        each!(self, writer => writer.file_size())
    }

    /// Returns the approximate size of the file if it were finished now, in bytes.
    pub fn estimated_size(&self) -> u64 {
        match self {
            AnyWriter::Block(writer) => writer.estimated_size(),
            AnyWriter::Plain(writer) => writer.file_size(),
            AnyWriter::Hashed(writer) => writer.file_size(),
        }
    }

    /// Writes the rest of the file. Does not sync or close it.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(self) -> Result<(FinishedTable, FileWriter)> {
        each!(self, writer => writer.finish())
    }

    /// Abandons the table. Returns the file as it is.
    pub fn abandon(self) -> FileWriter {
        each!(self, writer => writer.abandon())
    }
}
