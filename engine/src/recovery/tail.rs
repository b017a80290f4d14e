//! Continues the replay of a reader while another process writes: reads only the records that the writer appended
//! since.
//!
//! ```text
//!  replay (wals) ─► Tail: reader of the newest WAL, at the end of its last record
//!  advance       ─► new records of this WAL, then newer WALs ─► the same memtables ─► new visible sequence number
//! ```
//! The entries go into the memtables of the views that exist. The views read at older sequence numbers, so the views do not
//! change. Only the simple case is continued: whole records, sequence numbers that grow, no markers of transactions, no
//! recycled WAL, no keys whose timestamps have another size. In all other cases, and for all faults, [`Tail::advance`] returns `None`, and the caller replays from the
//! start by the rules of `wals`. The caller checks that the MANIFEST is unchanged before and after. Source: RocksDB
//! `db/db_impl/db_impl_secondary.cc`, `RecoverLogFiles`.

use base::map::HashMap;
use base::{Arrange, Result, SequenceNumber, Subcode, WalNumber};
use env::ReadHints;
use format::batch::Batch;
use format::names::FileName;
use format::wal::{Item, Reader, marks_of};

use super::inline_blobs::InlineBlobs;
use super::timestamps::RecordedSizes;
use super::{durable, prepared, separated};
use crate::apply::{self, Source};
use crate::family::FamilySet;
use crate::manifest::FileSource;
use crate::output::JobTools;

/// The end of a replay.
pub struct Tail {
    /// The newest WAL that was read.
    wal: WalNumber,
    /// Stands after the last whole record of this WAL.
    reader: Reader<FileSource>,
    /// For each WAL that was read: the end of its last whole record, and the digest at this end.
    read: HashMap<WalNumber, (u64, u32)>,
    /// WALs below this number are not needed.
    min_wal: WalNumber,
    /// The sizes of timestamps that the newest WAL has stated.
    timestamps: RecordedSizes,
    /// Reads the values that records of the WALs refer to.
    blobs: InlineBlobs,
}

/// How the read of one WAL ended.
enum Ended {
    /// The end of the file. A record may be incomplete: the writer is writing it.
    Here,
    /// The WAL cannot be continued: the caller must replay from the start.
    Unknown,
}

impl Tail {
    pub(super) fn new(
        wal: WalNumber,
        reader: Reader<FileSource>,
        read: HashMap<WalNumber, (u64, u32)>,
        min_wal: WalNumber,
        timestamps: RecordedSizes,
    ) -> Tail {
        Tail { wal, reader, read, min_wal, timestamps, blobs: InlineBlobs::default() }
    }

    /// Number and bytes of each WAL that was read, ascending.
    pub fn extents(&self) -> Vec<(WalNumber, u64)> {
        let mut wals: Vec<(WalNumber, u64)> =
            self.read.iter().map(|(number, (bytes, _))| (*number, *bytes)).collect();
        wals.arrange();
        wals
    }

    /// Applies all new records to the memtables. `visible` is the newest sequence number so far. Returns the newest
    /// sequence number. `None` means that the WALs must be replayed from the start, and that this tail must not be
    /// used again.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn advance(
        &mut self,
        tools: &JobTools,
        families: &FamilySet,
        visible: SequenceNumber,
    ) -> Result<Option<SequenceNumber>> {
        let mut newer = Vec::new();
        for name in tools.env.fs.list(&tools.paths.wal)? {
            let Some(FileName::Wal(number)) = FileName::parse(&name) else { continue };
            if number <= self.wal {
                continue;
            }
            match tools.env.fs.file_size(&tools.paths.wal(number)) {
                // A WAL may be created before the writer uses it.
                Ok(0) => {}
                Ok(_) => newer.push(number),
                // The writer deleted the WAL after the listing.
                Err(error) if error.subcode() == Subcode::PathNotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        newer.arrange();
        let mut visible = visible;
        self.reader.rewind();
        for next in newer {
            if let Ended::Unknown = self.read_on(tools, families, &mut visible)? {
                return Ok(None);
            }
            base::invariant!(
                next > self.wal,
                "the read of WAL {} continues in the older WAL {}",
                self.wal,
                next
            );
            let file = match tools.env.fs.open_random(&tools.paths.wal(next), &ReadHints::default()) {
                Err(error) if error.subcode() == Subcode::PathNotFound => return Ok(None),
                opened => opened?,
            };
            (self.wal, self.reader) = (next, Reader::new(FileSource(file), durable::options(next)));
            self.timestamps = RecordedSizes::new(families);
        }
        match self.read_on(tools, families, &mut visible)? {
            Ended::Here => Ok(Some(visible)),
            Ended::Unknown => Ok(None),
        }
    }

    /// Reads the WAL to its end.
    fn read_on(
        &mut self,
        tools: &JobTools,
        families: &FamilySet,
        visible: &mut SequenceNumber,
    ) -> Result<Ended> {
        loop {
            let is_first = self.reader.record_end() == 0;
            match self.reader.next()? {
                Item::Record { bytes, .. } => {
                    let expected = is_first.then_some(*visible + 1);
                    let short = marks_of(bytes).unwrap_or_default().written.into_iter().any(|mark| {
                        WalNumber::of_file(mark.file_number) >= self.min_wal
                            && self.read.get(&WalNumber::of_file(mark.file_number))
                                != Some(&(mark.bytes, mark.digest))
                    });
                    let is_complete = matches!(self.timestamps.converted(bytes, families), Ok(None));
                    if short || !is_complete {
                        return Ok(Ended::Unknown);
                    }
                    let Ok(inlined) = self.blobs.inlined(bytes, self.wal, tools, families) else {
                        return Ok(Ended::Unknown);
                    };
                    let bytes = inlined.as_deref().unwrap_or(bytes);
                    if !apply(bytes, self.wal, families, expected, visible) {
                        return Ok(Ended::Unknown);
                    }
                }
                Item::EndOfLog | Item::TornTail { .. } => break,
                Item::Predecessor { .. } => {}
                Item::Corruption(_)
                | Item::Hole { .. }
                | Item::OldRecord { .. }
                | Item::TimestampSizes { .. } => {
                    return Ok(Ended::Unknown);
                }
            }
        }
        let is_unknown = self.reader.is_recycled() || self.reader.hole().is_some();
        base::invariant!(
            self.read.get(&self.wal).is_none_or(|(bytes, _)| *bytes <= self.reader.whole_end()),
            "the end of WAL {} falls to {}",
            self.wal,
            self.reader.whole_end()
        );
        self.read.insert(self.wal, (self.reader.whole_end(), self.reader.digest()));
        Ok(if is_unknown { Ended::Unknown } else { Ended::Here })
    }
}

/// Applies one batch. `expected` is the sequence number that the batch must have; with `None`, each number above
/// `visible` is valid. Returns false if the WALs must be replayed from the start.
fn apply(
    bytes: &[u8],
    wal: WalNumber,
    families: &FamilySet,
    expected: Option<SequenceNumber>,
    visible: &mut SequenceNumber,
) -> bool {
    let Ok(batch) = Batch::new(bytes) else { return false };
    let (seq, count) = (batch.sequence(), u64::from(batch.count()));
    let newest = seq.checked_add(count).and_then(|end| end.checked_sub(1));
    let Some(newest) = newest.filter(|newest| *newest < base::key::MAX_SEQUENCE) else { return false };
    if seq <= *visible || expected.is_some_and(|expected| expected != seq) || batch.verify().is_err() {
        return false;
    }
    if prepared::has_markers(&batch) || separated::ends_with_placeholder(&batch) {
        return false;
    }
    let source = Source::recovered(wal);
    let applied = apply::batch(bytes, seq, families, source);
    *visible = (*visible).max(newest);
    applied.is_ok()
}
