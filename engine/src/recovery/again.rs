//! Finds the sections of prepared transactions in the WALs of a running database, for a resume.
//!
//! ```text
//!  WAL 4: section of x     WAL 7, failed: commit of x      the commit was not acknowledged
//!  resume ─► WAL 8: section of x, with the mark "repeats" ─► all memtables flushed; the MANIFEST needs no WAL below 8
//! ```
//! After a resume, the transaction x is prepared, and its application may commit or roll back again. If recovery read the WALs 4
//! and 7, the first commit would end x, and the second decision would find no section. So no recovery may read a failed
//! WAL after the resume: its last records were not acknowledged. A failed WAL can also lose sections of acknowledged prepares
//! that were not synced. So the resume writes all sections without commit or rollback to a new WAL.
//!
//! A WAL can lose records at its end: a file system that buffers appends, as for direct writes, loses them with a failed write. A
//! name can be used again after a rollback, and an older section of the name can have the same sequence number. So the WAL
//! must read up to the end of the newest section.

use std::collections::{BTreeMap, BTreeSet};

use base::{Arrange, Error, Result, SequenceNumber, WalNumber};
use env::{Env, ReadHints};
use format::batch::{Batch, Marker, Record};
use format::wal::{Item, Reader, Source, WalPosition, without_marks};

use super::durable::options;
use super::prepared::section_records;
use crate::manifest::FileSource;
use crate::prepared::{Numbering, Outstanding, encode};
use crate::wal::{ClosedWal, WalSet, closed_from};

/// The sections of these transactions, as batches for a new WAL, in the order of their sequence numbers. `wals` has all WALs
/// that hold a section, and no WAL is active. `next_seq` is the next sequence number.
///
/// # Errors
/// Corruption if a section cannot be read. NotSupported if RocksDB wrote a section of the write-prepared policy in one batch with
/// other records. An error of the file system.
pub fn sections_again(
    env: &Env,
    wals: &WalSet,
    transactions: &BTreeMap<Vec<u8>, Outstanding>,
    numbering: Numbering,
    next_seq: SequenceNumber,
) -> Result<Vec<(SequenceNumber, Vec<u8>)>> {
    let Some(oldest) = transactions.values().map(|section| section.wal).min() else { return Ok(Vec::new()) };
    let (batches, read_up_to) = (BTreeMap::new(), BTreeMap::new());
    let mut found = Found { transactions, numbering, next_seq, batches, read_up_to };
    for wal in closed_from(wals, oldest) {
        let path = wals.path(wal.number);
        found.read(env, wals, &wal).map_err(|e| e.doing("reading prepared transactions").file(&path))?;
    }
    found.finish()
}

/// The records of a closed WAL: the file, then the bytes that are not in the file.
struct Whole {
    file: FileSource,
    /// The number of bytes in the file.
    written: u64,
    unwritten: Vec<u8>,
}

impl Source for Whole {
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        // A read may start after the bytes in the file.
        let in_file =
            usize::try_from(self.written.saturating_sub(offset)).unwrap_or(usize::MAX).min(buf.len());
        let mut n = 0;
        while n < in_file {
            let read = self.file.read_at(offset + n as u64, &mut buf[n..in_file])?;
            if read == 0 {
                return Ok(n);
            }
            n += read;
        }
        // The read goes on after the bytes in the file, or the buffer is full.
        let rest =
            (&self.unwritten[..]).read_at((offset + n as u64).saturating_sub(self.written), &mut buf[n..])?;
        Ok(n + rest)
    }
}

/// The sections that were found so far.
struct Found<'a> {
    transactions: &'a BTreeMap<Vec<u8>, Outstanding>,
    numbering: Numbering,
    next_seq: SequenceNumber,
    /// Each part, by its transaction and by the sequence number in its header. With one sequence number for each entry, a
    /// transaction has one part, and the newest section of the name counts.
    batches: BTreeMap<(Vec<u8>, SequenceNumber), (SequenceNumber, Vec<u8>)>,
    /// The end of the last whole record of each WAL.
    read_up_to: BTreeMap<WalNumber, u64>,
}

impl Found<'_> {
    fn read(&mut self, env: &Env, wals: &WalSet, wal: &ClosedWal) -> Result<()> {
        let file = FileSource(env.fs.open_random(&wals.path(wal.number), &ReadHints::default())?);
        base::invariant!(
            wal.unwritten.len() as u64 <= wal.size,
            "WAL {} has {} bytes, and {} of them are not in the file",
            wal.number,
            wal.size,
            wal.unwritten.len()
        );
        let written = wal.size.saturating_sub(wal.unwritten.len() as u64);
        let whole = Whole { file, written, unwritten: wal.unwritten.clone() };
        let mut reader = Reader::new(whole, options(wal.number));
        loop {
            match reader.next()? {
                Item::Record { bytes, .. } => self.record(bytes)?,
                Item::TimestampSizes { .. } | Item::Predecessor { .. } => {}
                _ => break,
            }
        }
        self.read_up_to.insert(wal.number, reader.whole_end());
        Ok(())
    }

    fn record(&mut self, bytes: &[u8]) -> Result<()> {
        let batch = Batch::new(bytes)?;
        let ends_section =
            |record: &Result<Record<'_>>| matches!(record, Ok(Record::Marker(Marker::EndPrepare(_))));
        if !batch.records().any(|record| ends_section(&record)) {
            return Ok(());
        }
        match self.numbering {
            Numbering::PerEntry => self.committed(&batch),
            Numbering::PerBatch => self.separated(&batch, bytes),
        }
    }

    /// Keeps the sections of a batch of the write-committed policy. The new batch has the next sequence number, as after an open.
    fn committed(&mut self, batch: &Batch<'_>) -> Result<()> {
        for (name, records) in section_records(batch)? {
            let Some(first) = self.transactions.get(name).and_then(|section| section.parts.first()) else {
                continue;
            };
            if batch.sequence() >= *first {
                let encoded = encode(Marker::BeginPrepare, name, records, self.next_seq);
                self.batches.insert((name.to_vec(), *first), (self.next_seq, encoded));
            }
        }
        Ok(())
    }

    /// Keeps a batch of another policy as it is: its entries are in SST files with the sequence numbers of the batch.
    fn separated(&mut self, batch: &Batch<'_>, bytes: &[u8]) -> Result<()> {
        let mut names = BTreeSet::new();
        let mut is_alone = true;
        let mut inside = false;
        for record in batch.records() {
            match record? {
                Record::Marker(Marker::BeginPersistedPrepare | Marker::BeginUnprepare) => inside = true,
                Record::Marker(Marker::EndPrepare(name)) => {
                    inside = false;
                    is_alone &= names.insert(name.to_vec()) && names.len() == 1;
                }
                Record::LogData(_) | Record::Marker(Marker::Noop) => {}
                _ => is_alone &= inside,
            }
        }
        for name in names {
            let seq = batch.sequence();
            if self.transactions.get(&name).is_none_or(|section| !section.parts.contains(&seq)) {
                continue;
            }
            if !is_alone {
                return Err(Error::not_supported(
                    "a resume with a prepared transaction that shares its write batch with other records; open the database again",
                ));
            }
            self.batches.insert((name, seq), (seq, without_marks(bytes).to_vec()));
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<(SequenceNumber, Vec<u8>)>> {
        for (name, section) in self.transactions {
            let parts = if self.numbering == Numbering::PerEntry { 1 } else { section.parts.len() };
            let is_read = |end: WalPosition| {
                self.read_up_to.get(&end.number).is_some_and(|read_up_to| end.bytes <= *read_up_to)
            };
            let is_found = |part: &SequenceNumber| self.batches.contains_key(&(name.clone(), *part));
            if !section.newest.is_none_or(is_read) || !section.parts.iter().take(parts).all(is_found) {
                return Err(Error::corruption(format!(
                    "the WALs from {} on do not have the prepared section of the transaction {}",
                    section.wal,
                    name.escape_ascii()
                )));
            }
        }
        let mut batches: Vec<_> = self.batches.into_values().collect();
        batches.arrange_by_key(|(seq, _)| *seq);
        Ok(batches)
    }
}
