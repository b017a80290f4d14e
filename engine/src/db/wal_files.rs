//! The WAL files of a database: live files and archived files, and the write batches in them.
//!
//! ```text
//!  archive/000004.log  archive/000007.log   000009.log  000012.log (active)
//!        └────────────── updates_since(seq): batch by batch, in the order of sequence numbers ──► end, for now
//! ```
//! A WAL can move to the archive at any time; each open of a file therefore tries both places. Follows RocksDB
//! `db/wal_manager.cc` and `db/transaction_log_impl.cc`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base::stats::Ticker;
use base::{Arrange, Error, FileNumber, Result, SequenceNumber, WalNumber};
use env::fs::{RandomRead, ReadHints};
use format::batch::{self, Batch, Marker, Record};
use format::names::{self, FileName};
use format::wal::{Item, Reader, ReaderOptions, without_marks};

use super::Db;
use super::reading::no_active_wal;
use crate::apply;
use crate::batch::WriteBatch;
use crate::manifest::FileSource;
use crate::sync::Arc;

/// Where a WAL file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalFileType {
    /// In the subdirectory `archive`: no column family needs the WAL.
    Archived,
    /// In the WAL directory.
    Live,
}

/// A WAL file of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalFile {
    /// The number in the name of the file.
    pub number: FileNumber,
    /// Says whether the file is in the archive.
    pub file_type: WalFileType,
    /// The sequence number of the first write batch; 0 if the WAL has no write batch.
    pub start_sequence: SequenceNumber,
    /// The size of the file in bytes, when the list was made.
    pub size: u64,
    /// The path below the WAL directory: `/000009.log` or `/archive/000009.log`.
    pub path_name: String,
}

/// The WALs of a database: see [`Db::wals`].
#[derive(Clone, Copy)]
pub struct Wals<'a> {
    pub(super) db: &'a Db,
}

impl Wals<'_> {
    /// Returns the WAL files with at least one write batch, oldest first: the archive, then the WAL directory.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn files(&self) -> Result<Vec<WalFile>> {
        let mut files = Vec::new();
        // The WAL directory first: a WAL that moves between the two lists is then found in the archive.
        let live = self.list(WalFileType::Live)?;
        for number in self.list(WalFileType::Archived)?.into_iter().chain(live) {
            files.extend(self.file(number)?.filter(|file| file.start_sequence > SequenceNumber::ZERO));
        }
        files.arrange_by_key(|file| file.number);
        files.dedup_by_key(|file| file.number);
        Ok(files)
    }

    /// Returns the WAL that takes new write batches.
    ///
    /// # Errors
    /// IoError with the subcode PathNotFound if the database is open for reading. Errors of the file system.
    pub fn current(&self) -> Result<WalFile> {
        if self.db.inner.work()?.is_none() {
            return Err(no_active_wal());
        }
        let number = self.db.inner.wals.active_number();
        let found = self.file(number)?;
        found.ok_or_else(|| Error::not_found(format!("WAL {:06}", number)))
    }

    /// Returns the write batches from `seq` on. The first batch is the batch that holds `seq`. If the WAL of this batch
    /// is deleted, the first batch is the oldest batch above `seq` that a WAL file has.
    ///
    /// # Errors
    /// NotFound if `seq` was not written yet. Errors of reading the WAL files.
    pub fn updates_since(&self, seq: SequenceNumber) -> Result<Updates> {
        self.db.inner.tools.stats.add(Ticker::GetUpdatesSinceCalls, 1);
        if seq > self.db.latest_sequence() {
            return Err(Error::not_found("Requested sequence not yet written in the db"));
        }
        let files = self.files()?;
        // A recovery starts a WAL with the sections that are still undecided: their sequence numbers are older.
        let (mut first, mut newest_start) = (0, SequenceNumber::ZERO);
        for (at, file) in files.iter().enumerate().filter(|(_, file)| file.start_sequence <= seq) {
            if file.start_sequence >= newest_start {
                (first, newest_start) = (at, file.start_sequence);
            }
        }
        Ok(Updates {
            db: self.db.clone(),
            wanted: seq,
            next: None,
            reading: None,
            last_wal: None,
            held: None,
            sections: BTreeMap::new(),
            start: files.get(first).map(|file| WalNumber::of_file(file.number)),
        })
    }

    fn path(&self, number: WalNumber, file_type: WalFileType) -> PathBuf {
        let dir = &self.db.inner.tools.paths.wal;
        match file_type {
            WalFileType::Live => dir.join(names::wal(number)),
            WalFileType::Archived => dir.join(names::ARCHIVE_DIR).join(names::wal(number)),
        }
    }

    fn list(&self, file_type: WalFileType) -> Result<Vec<WalNumber>> {
        let dir = &self.db.inner.tools.paths.wal;
        let listed = match file_type {
            WalFileType::Live => self.db.inner.tools.env.fs.list(dir),
            WalFileType::Archived => self.db.inner.tools.env.fs.list(&dir.join(names::ARCHIVE_DIR)),
        };
        let names = match listed {
            Err(error) if error.is_not_found() && file_type == WalFileType::Archived => Vec::new(),
            listed => listed?,
        };
        let parse = |name: &String| match FileName::parse(name) {
            Some(FileName::Wal(number)) => Some(number),
            _ => None,
        };
        Ok(names.iter().filter_map(parse).collect())
    }

    /// Opens a WAL in the WAL directory or in the archive. Returns `None` if the file is deleted.
    fn open(&self, number: WalNumber) -> Result<Option<(Arc<dyn RandomRead>, WalFileType)>> {
        for file_type in [WalFileType::Live, WalFileType::Archived] {
            let path = self.path(number, file_type);
            match self.db.inner.tools.env.fs.open_random(&path, &ReadHints::default()) {
                Ok(file) => return Ok(Some((file, file_type))),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.doing("opening a WAL").file(path)),
            }
        }
        Ok(None)
    }

    fn file(&self, number: WalNumber) -> Result<Option<WalFile>> {
        let Some((file, file_type)) = self.open(number)? else { return Ok(None) };
        let size = file.size()?;
        let name = names::wal(number);
        let path_name = match file_type {
            WalFileType::Live => format!("/{name}"),
            WalFileType::Archived => format!("/{}/{name}", names::ARCHIVE_DIR),
        };
        let mut reader = reader(file, number);
        let start_sequence = match next_batch(&mut reader)? {
            Found::Batch(bytes) => batch::sequence(&bytes),
            Found::End => SequenceNumber::ZERO,
        };
        Ok(Some(WalFile { number: number.file(), file_type, start_sequence, size, path_name }))
    }

    /// Returns the smallest WAL number above `number`.
    fn after(&self, number: WalNumber) -> Result<Option<WalNumber>> {
        let live = self.list(WalFileType::Live)?;
        let archived = self.list(WalFileType::Archived)?;
        Ok(live.into_iter().chain(archived).filter(|other| *other > number).min())
    }
}

/// One write batch of a WAL.
#[derive(Clone)]
pub struct Update {
    /// The sequence number of the first entry of the batch.
    pub sequence: SequenceNumber,
    /// The batch.
    pub batch: WriteBatch,
}

/// The write batches of a database from a sequence number on.
///
/// `next` returns `None` after the newest visible batch. A later call of `next` returns the batches that were written
/// in the meantime. After the first batch, no batch is skipped: if a WAL is deleted before its batches are read, `next`
/// returns NotFound.
///
/// A prepared section, its commit and its rollback are batches with markers. With the policy `Committed`, a section
/// takes no sequence numbers, and its commit takes the sequence numbers of the section. If the stream has not read the
/// section, the sequence numbers of the section are missing after the commit. With the other policies, each sub-batch
/// takes one sequence number.
pub struct Updates {
    db: Db,
    wanted: SequenceNumber,
    /// The sequence number that the next batch must have. `None` before the first batch.
    next: Option<SequenceNumber>,
    reading: Option<Reader<FileSource>>,
    last_wal: Option<WalNumber>,
    /// The first WAL to read. `None` if the database has no WAL with a batch yet.
    start: Option<WalNumber>,
    /// A batch that was read and not returned.
    held: Option<Vec<u8>>,
    /// Prepared sections without commit or rollback, and the sequence numbers that their commits take.
    sections: BTreeMap<Vec<u8>, u64>,
}

/// The sequence numbers of a batch, and whether the batch is an update.
struct Taken {
    /// The count of its sequence numbers. `None`: the batch commits a section that the stream has not read.
    seqs: Option<u64>,
    /// True if the batch has entries or markers.
    is_update: bool,
}

impl Iterator for Updates {
    type Item = Result<Update>;

    fn next(&mut self) -> Option<Result<Update>> {
        loop {
            match self.step() {
                Ok(Step::Update(update)) => return Some(Ok(*update)),
                Ok(Step::Again) => {}
                Ok(Step::End) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

enum Step {
    Update(Box<Update>),
    Again,
    End,
}

impl Updates {
    fn step(&mut self) -> Result<Step> {
        let visible = self.db.latest_sequence();
        if self.next.is_some_and(|next| next > visible) {
            return Ok(Step::End);
        }
        let bytes = match (self.held.take(), &mut self.reading) {
            (Some(bytes), _) => bytes,
            (None, None) => return self.open_next(),
            (None, Some(reader)) => match next_batch(reader)? {
                Found::Batch(bytes) => bytes,
                Found::End => return self.end_of_wal(),
            },
        };
        let sequence = batch::sequence(&bytes);
        if sequence > visible {
            // In the WAL, and not in the memtables yet.
            self.held = Some(bytes);
            return Ok(Step::End);
        }
        let taken = self.taken(&bytes)?;
        let seqs = taken.seqs.unwrap_or(1);
        if !taken.is_update || sequence + seqs.max(1) <= self.next.unwrap_or(self.wanted) {
            return Ok(Step::Again);
        }
        if self.next.is_some_and(|next| sequence > next) {
            self.held = Some(bytes);
            return Err(Error::not_found("Gap in sequence numbers"));
        }
        self.next = taken.seqs.map(|seqs| sequence + seqs);
        self.wanted = sequence + seqs;
        let batch = WriteBatch::from_bytes(without_marks(&bytes))?;
        Ok(Step::Update(Box::new(Update { sequence, batch })))
    }

    /// Counts the sequence numbers of a batch, and remembers its sections.
    fn taken(&mut self, bytes: &[u8]) -> Result<Taken> {
        let batch = Batch::new(bytes)?;
        let counted = u64::from(batch.count());
        let is_marker = |record: &Result<Record<'_>>| matches!(record, Ok(Record::Marker(_)));
        let separated = self.db.inner.tools.sequence.undecided().is_enabled();
        let is_update = counted > 0 || batch.records().any(|record| is_marker(&record));
        if separated {
            let records = &bytes[batch::HEADER_LEN..];
            let seqs = apply::separate(records, &self.db.inner.families)?.batches;
            return Ok(Taken { seqs: Some(u64::from(seqs)), is_update });
        }
        let (mut seqs, mut inside, mut known, mut open) = (counted, 0, true, false);
        for record in batch.records() {
            match record? {
                Record::Marker(Marker::BeginPrepare) => (inside, open) = (0, true),
                Record::Marker(Marker::EndPrepare(name)) => {
                    // A damaged WAL can count fewer entries than its section has.
                    seqs = seqs.saturating_sub(inside);
                    self.sections.insert(name.to_vec(), inside);
                    open = false;
                }
                Record::Marker(Marker::Rollback(name)) => drop(self.sections.remove(name)),
                Record::Marker(Marker::Commit(name) | Marker::CommitWithTimestamp { xid: name, .. }) => {
                    let section = self.sections.remove(name);
                    known &= section.is_some();
                    seqs += section.unwrap_or(1);
                }
                record => inside += u64::from(open && record.is_counted()),
            }
        }
        Ok(Taken { seqs: known.then_some(seqs), is_update })
    }

    /// Opens the first WAL, or the next WAL.
    fn open_next(&mut self) -> Result<Step> {
        let number = match (self.last_wal, self.start) {
            (Some(last), _) => self.db.wals().after(last)?,
            (None, Some(start)) => Some(start),
            (None, None) => self.db.wals().files()?.first().map(|file| WalNumber::of_file(file.number)),
        };
        let Some(number) = number else { return Ok(Step::End) };
        // If the file is deleted, the sequence number of the next batch shows that batches are missing.
        self.reading = self.db.wals().open(number)?.map(|(file, _)| reader(file, number));
        self.last_wal = Some(number);
        Ok(Step::Again)
    }

    /// Continues at the end of a WAL: with batches that were appended in the meantime, or with the next WAL. A WAL
    /// takes no batch after the next WAL exists, so the directory is listed before the last read.
    fn end_of_wal(&mut self) -> Result<Step> {
        let (Some(last), Some(reader)) = (self.last_wal, &mut self.reading) else { return Ok(Step::Again) };
        reader.rewind();
        let has_next = self.db.wals().after(last)?.is_some();
        match next_batch(reader)? {
            Found::Batch(bytes) => self.held = Some(bytes),
            Found::End if has_next => self.reading = None,
            Found::End => {
                reader.rewind();
                return Ok(Step::End);
            }
        }
        Ok(Step::Again)
    }
}

fn reader(file: Arc<dyn RandomRead>, number: WalNumber) -> Reader<FileSource> {
    let options = ReaderOptions {
        wal_number: number,
        decompressor: Some(Box::new(crate::wal::compression::decompressor)),
        ..ReaderOptions::default()
    };
    Reader::new(FileSource(file), options)
}

enum Found {
    Batch(Vec<u8>),
    /// The end of the file, for now. An incomplete record is the end too.
    End,
}

fn next_batch(reader: &mut Reader<FileSource>) -> Result<Found> {
    loop {
        return Ok(match reader.next()? {
            Item::Record { bytes, .. } if bytes.len() < batch::HEADER_LEN => continue,
            Item::Record { bytes, .. } => Found::Batch(bytes.to_vec()),
            Item::Corruption(damage) => {
                // After the last record, a recycled WAL has bytes of the older WAL, which can begin in the middle of a record.
                // If the damage is before the last record, the sequence number of the next batch shows the missing batches.
                if reader.is_recycled() {
                    return Ok(Found::End);
                }
                let error = Error::corruption(damage.reason).doing("reading a WAL").at(damage.offset);
                return Err(error);
            }
            Item::TornTail { .. } | Item::OldRecord { .. } | Item::Hole { .. } | Item::EndOfLog => Found::End,
            Item::TimestampSizes { .. } | Item::Predecessor { .. } => continue,
        });
    }
}
