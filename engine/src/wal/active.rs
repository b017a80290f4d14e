//! The active WAL: its writer, its pending records, and the marks that its next batch carries.

use base::map::HashSet;
use base::{FamilyId, FileNumber, Result, SequenceNumber, WalNumber};
use env::Append;
use format::batch::log_data;
use format::proof::Extent;
use format::wal::{Framing, Mark, Marks, Writer, put_marks};
use mem::budget::Share;

use super::reserved::Reserved;

/// The memory of a new buffer for records.
pub(super) const PENDING_BYTES: usize = 4096;
/// A buffer with more memory is freed after its records are written. Otherwise one large batch would keep the memory until the next WAL.
const PENDING_BYTES_KEPT: usize = 1 << 20;

/// The WAL that takes records.
pub(super) struct Active {
    pub(super) number: WalNumber,
    pub(super) writer: Writer,
    pub(super) file: Box<dyn Append>,
    pub(super) reserved: Reserved,
    /// True if the file is a recycled WAL.
    pub(super) written_over: bool,
    /// Framed records that are not yet written to the file. Empty between calls, except with `manual_flush`.
    pub(super) pending: Vec<u8>,
    /// The memory of `pending` in the memory budget. `None` without a budget.
    pub(super) share: Option<Share>,
    /// The part of the WAL that is known durable.
    pub(super) durable: Extent,
    /// The marks for the next batch. Empty if nothing became durable since the last marks.
    pub(super) marks: Vec<Mark>,
    /// True if the next batch is the first batch of a WAL that repeats the sections of older WALs.
    pub(super) repeats: bool,
    /// The written sizes of closed WALs, for the marks of the first batch.
    pub(super) written: Vec<Mark>,
    pub(super) closed_told: bool,
    pub(super) write_back_from: u64,
    pub(super) last_seq_recorded: SequenceNumber,
    pub(super) timestamped: HashSet<FamilyId>,
}

impl Active {
    /// Makes a WAL without records over a new or recycled file.
    pub(super) fn new(
        number: WalNumber,
        framing: Framing,
        file: Box<dyn Append>,
        share: Option<Share>,
        preallocate_bytes: u64,
    ) -> Self {
        Active {
            number,
            writer: Writer::new(framing),
            file,
            reserved: Reserved::nothing(preallocate_bytes),
            written_over: false,
            pending: Vec::with_capacity(PENDING_BYTES),
            share,
            durable: Extent { number: number.file(), bytes: 0, digest: Some(0) },
            marks: Vec::new(),
            written: Vec::new(),
            repeats: false,
            closed_told: false,
            write_back_from: 0,
            last_seq_recorded: SequenceNumber::ZERO,
            timestamped: HashSet::default(),
        }
    }

    /// Appends a batch with the waiting marks at its end: the first batch of a WAL, or the first after a sync.
    #[cold]
    pub(super) fn append_marked(&mut self, batch: &[u8], manifest: Option<Mark>) -> Result<()> {
        let (durable, written) = (std::mem::take(&mut self.marks), std::mem::take(&mut self.written));
        let mut marks = Vec::new();
        let repeats = std::mem::take(&mut self.repeats);
        put_marks(&mut marks, &Marks { durable, manifest, written, repeats });
        self.writer.append_parts(&mut self.pending, &[batch, &marks])
    }

    /// Appends a batch whose end looks like a mark and is not a mark of this WAL, and empty log data after it.
    #[cold]
    pub(super) fn append_covered(&mut self, batch: &[u8]) -> Result<()> {
        let mut cover = Vec::new();
        log_data(&mut cover, &[]);
        self.writer.append_parts(&mut self.pending, &[batch, &cover])
    }

    /// Records that the WAL is durable up to `upto`. The next batch carries this size as a mark. The first call
    /// also adds marks for the `closed` WALs.
    pub(super) fn note_durable(&mut self, upto: Extent, closed: &[Extent]) {
        base::invariant!(
            upto.number == self.number.file() && upto.bytes <= self.writer.offset(),
            "{} bytes of WAL {} are durable, and WAL {} has {} bytes",
            upto.bytes,
            upto.number,
            self.number,
            self.writer.offset()
        );
        base::invariant!(
            self.durable.bytes <= upto.bytes,
            "the durable size of WAL {} falls from {} to {}",
            self.number,
            self.durable.bytes,
            upto.bytes
        );
        base::invariant!(
            closed.iter().all(|older| older.number < self.number.file()),
            "a closed WAL is newer than the active WAL {}",
            self.number
        );
        self.durable = upto;
        self.marks.clear();
        self.marks.extend(mark(FileNumber::ZERO, &upto));
        if !std::mem::replace(&mut self.closed_told, true) {
            self.marks.extend(closed.iter().filter_map(|of| mark(of.number, of)));
        }
    }

    /// Writes the pending records to the file, and starts write-back of `bytes_per_sync` bytes or more.
    pub(super) fn hand_over(&mut self, bytes_per_sync: u64) -> Result<()> {
        if !self.pending.is_empty() {
            self.file.append(&self.pending)?;
            self.pending.clear();
            if self.pending.capacity() > PENDING_BYTES_KEPT {
                self.pending = Vec::with_capacity(PENDING_BYTES);
            }
        }
        if let Some(share) = &mut self.share
            && share.bytes() != self.pending.capacity()
        {
            share.set(self.pending.capacity());
        }
        let end = self.writer.offset();
        base::invariant!(
            self.write_back_from <= end,
            "write-back of WAL {} reached {}, and the WAL has {end} bytes",
            self.number,
            self.write_back_from
        );
        if bytes_per_sync > 0 && end - self.write_back_from >= bytes_per_sync {
            self.file.range_sync(self.write_back_from, end - self.write_back_from, false)?;
            self.write_back_from = end;
        }
        Ok(())
    }

    /// Writes the sizes of the timestamps of column families that the WAL does not have yet.
    pub(super) fn note_timestamps(&mut self, families: &[(FamilyId, u16)]) {
        let new: Vec<_> = families.iter().copied().filter(|(id, _)| self.timestamped.insert(*id)).collect();
        if !new.is_empty() {
            self.writer.timestamp_sizes(&mut self.pending, &new);
        }
    }
}

/// Returns the mark of an extent; `None` if its digest is not known.
pub(super) fn mark(file_number: FileNumber, of: &Extent) -> Option<Mark> {
    base::invariant!(
        file_number == FileNumber::ZERO || file_number == of.number,
        "a mark of file {file_number} has the size of file {}",
        of.number
    );
    Some(Mark { file_number, bytes: of.bytes, digest: of.digest? })
}
