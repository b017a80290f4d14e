//! The known durable size of each WAL, and the meaning of damage below this size.
//!
//! ```text
//!  PROOF of the last close or idle moment ─┐
//!  marks in the WAL itself ────────────────┼─► durable up to N ─► reading ended at E < N: damage, not a torn end
//!  marks of closed WALs in later WALs ─────┘
//! ```
//! A crash never cuts a WAL below its durable size. If a WAL ends below its durable size, the open fails
//! with the WAL, the offset and the loss. With `open_despite_lost_writes`, with `paranoid_checks = false`,
//! or in the mode that skips damage, the open continues, and the info log, the listeners and a property
//! report the loss. To find marks after a damaged record, recovery searches for the next valid records. So
//! a WAL in the middle of the sequence can report its own loss, even if no other file has a mark for the
//! WAL.

use std::collections::VecDeque;

use base::map::HashMap;
use base::{Arrange, Error, FileNumber, Result, WalNumber};
use env::ReadHints;
use format::proof::Extent;
use format::wal::{HOLE, Item, Mark, Reader, ReaderOptions, marks_of};

use super::settings::ReplaySettings;
use crate::event::Event;
use crate::manifest::{FileSource, read_current, recover};
use crate::output::JobTools;
use crate::prepared::TwoPhase;

/// Checks during a replay that the WALs have all bytes that are known durable.
pub(super) struct Durable<'a> {
    tools: &'a JobTools,
    /// True if the open reports losses and continues.
    accept: bool,
    /// True if another process may write the WALs during the replay.
    beside_writer: bool,
    /// WALs below this number are not needed and may be missing.
    min_wal: WalNumber,
    two_phase: TwoPhase,
    /// The durable part of each WAL, from the file `PROOF`.
    claims: HashMap<WalNumber, Extent>,
    /// For each WAL that was opened: the offset where the read ended, or `u64::MAX` if the replay had stopped
    /// before.
    ends: HashMap<WalNumber, u64>,
    /// WALs whose loss was reported.
    reported: Vec<WalNumber>,
}

/// The state of reading one WAL, compared with the claims about the WAL.
#[derive(Default)]
pub(super) struct Progress {
    claim: Option<Extent>,
    /// True if the read has reached the end of the claim, and the digest matches.
    met: bool,
    /// The marks of this WAL were compared up to this offset.
    verified: u64,
    /// The ends of the last records, with the digest at each end. A mark can name an earlier end than the last,
    /// because other threads append records during a sync.
    ends: VecDeque<(u64, u32)>,
}

impl Progress {
    /// Returns true if the bytes read are exactly the claimed bytes of the WAL.
    pub(super) fn is_all(&self, reader: &Reader<FileSource>) -> bool {
        let all = |c: Extent| c.bytes == reader.whole_end() && c.digest.is_none_or(|d| d == reader.digest());
        self.claim.is_some_and(all)
    }
}

/// Where the read of a WAL ended, and why. The number is the offset of the fault; the text describes the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadEnd<'a> {
    /// At the end of the file.
    EndOfFile,
    /// At bytes that are not a record.
    Unreadable(u64, &'a str),
    /// At a valid record that replay does not take: for example, the record refers to a damaged blob file.
    Refused(u64, &'a str),
}

impl<'a> ReadEnd<'a> {
    fn fault(self) -> Option<(u64, &'a str)> {
        match self {
            ReadEnd::EndOfFile => None,
            ReadEnd::Unreadable(at, what) | ReadEnd::Refused(at, what) => Some((at, what)),
        }
    }
}

/// The number of record ends that are kept. A mark that names an earlier offset is not compared.
const ENDS_MAX: usize = 1024;

impl<'a> Durable<'a> {
    pub(super) fn new(tools: &'a JobTools, settings: &ReplaySettings, accept: bool) -> Self {
        let (min_wal, beside_writer) = (settings.min_wal, !settings.may_flush);
        let claims = settings
            .proved
            .iter()
            .map(|e| (WalNumber::of_file(e.number), *e))
            .filter(|(wal, _)| *wal >= min_wal)
            .collect();
        let two_phase = settings.two_phase;
        let (ends, reported) = (HashMap::default(), Vec::new());
        Durable { tools, accept, beside_writer, min_wal, two_phase, claims, ends, reported }
    }

    pub(super) fn begin(&self, wal: WalNumber) -> Progress {
        let claim = self.claims.get(&wal).copied();
        Progress { claim, met: claim.is_none_or(|c| c.bytes == 0), verified: 0, ends: VecDeque::new() }
    }

    /// Compares the claim and the `marks` of a record with the bytes before the record. The record starts at
    /// `offset`.
    ///
    /// # Errors
    ///
    /// Corruption if the bytes before the record are not the bytes that were written there.
    pub(super) fn read(
        &mut self,
        wal: WalNumber,
        progress: &mut Progress,
        reader: &Reader<FileSource>,
        offset: u64,
        marks: &[Mark],
    ) -> Result<()> {
        base::invariant!(
            progress.claim.is_none_or(|claim| claim.number == wal.file()),
            "WAL {} is compared with the claim {:?} of another WAL",
            wal,
            progress.claim
        );
        if let Some(claim) = progress.claim {
            progress.met |= if reader.whole_end() == claim.bytes {
                claim.digest.is_none_or(|d| d == reader.digest())
            } else {
                // The reader skips the record that announces a compression. A claim may end after this record.
                claim.bytes <= offset && claim.digest == Some(reader.digest_before())
            };
        }
        for mark in marks {
            if mark.file_number != FileNumber::default() {
                self.of_other(mark)?;
            } else if mark.bytes <= offset {
                // Bytes that were not synced at the time of the mark may be a hole that a crash left.
                let hole = reader.hole().is_some_and(|hole| hole >= mark.bytes);
                let written =
                    progress.ends.iter().rev().find(|(end, _)| *end == mark.bytes).map(|(_, digest)| *digest);
                if written.is_some_and(|d| d != mark.digest) && !hole && mark.bytes > progress.verified {
                    let at = reader.hole().unwrap_or(0);
                    self.lost(wal, at, mark.bytes, 0, "the records do not match the digest of a mark")?;
                }
                progress.verified = mark.bytes;
            }
        }
        if progress.ends.len() == ENDS_MAX {
            progress.ends.pop_front();
        }
        base::invariant!(
            progress.ends.back().is_none_or(|(end, _)| *end <= reader.whole_end()),
            "the end of WAL {} falls to {}",
            wal,
            reader.whole_end()
        );
        progress.ends.push_back((reader.whole_end(), reader.digest()));
        Ok(())
    }

    /// Checks the mark for a closed WAL in a later WAL: the read must have reached the durable size.
    fn of_other(&mut self, mark: &Mark) -> Result<()> {
        let wal = WalNumber::of_file(mark.file_number);
        if wal < self.min_wal || mark.bytes == 0 {
            return Ok(());
        }
        match self.ends.get(&wal) {
            None => self.missing(wal, mark.bytes),
            Some(end) if *end < mark.bytes => {
                let end = *end;
                if self.written_since(wal, end)? {
                    return Ok(());
                }
                self.lost(wal, end, mark.bytes, 0, "the WAL ends too early")
            }
            Some(_) => Ok(()),
        }
    }

    /// Checks the WAL after the read ended at `end`. `later` are the newer WALs.
    ///
    /// # Errors
    /// Corruption if the durable part of the WAL is longer than the part that was read.
    pub(super) fn end(
        &mut self,
        wal: WalNumber,
        progress: &Progress,
        reader: &Reader<FileSource>,
        end: ReadEnd<'_>,
        later: &[WalNumber],
    ) -> Result<()> {
        if self.reported.contains(&wal) {
            return Ok(());
        }
        let fault = end.fault();
        let whole = reader.whole_end();
        // If the WAL has only records that the reader skips, such as the start of a compression, `read` was never
        // called.
        let met = progress.met || progress.is_all(reader);
        let progress =
            &Progress { claim: progress.claim, met, verified: progress.verified, ends: VecDeque::new() };
        let hole = reader.hole().filter(|hole| *hole >= progress.verified);
        let at = match (fault, hole) {
            (Some((at, _)), Some(hole)) => at.min(hole),
            (Some((at, _)), None) => at,
            (None, Some(hole)) if hole < whole || !progress.met => hole,
            (None, _) => whole,
        };
        self.ends.insert(wal, at);
        let mut durable = match progress.claim {
            Some(claim) if !progress.met => claim.bytes.max(at + 1),
            Some(claim) => claim.bytes,
            None => 0,
        };
        // If a claim covers the whole WAL, the writer itself left the zeros.
        if fault.is_none() && progress.met && progress.claim.is_some_and(|c| c.bytes == whole) {
            self.ends.insert(wal, whole);
            return Ok(());
        }
        let mut records = 0;
        if fault.is_some() || hole.is_some() {
            let records_after = self.records_after(wal, at)?;
            (records, durable) = (records_after.records, durable.max(records_after.durable));
            for later in later {
                durable = durable.max(self.durable_size_in(*later, wal)?);
            }
        }
        if durable <= at || (progress.met && self.is_settled_since(wal, at, end)?) {
            return Ok(());
        }
        let what = match fault {
            Some((_, what)) => what,
            None if hole.is_some() => HOLE,
            None => "the WAL ends too early",
        };
        self.lost(wal, at, durable, records, what)
    }

    /// Returns true if a concurrent writer is the reason for the end of the read at `at`. A record that replay refused was complete:
    /// only a flush that made the WAL obsolete is a reason.
    fn is_settled_since(&self, wal: WalNumber, at: u64, end: ReadEnd<'_>) -> Result<bool> {
        match end {
            ReadEnd::Refused(..) => Ok(self.beside_writer && wal < self.oldest_wal_now()?),
            ReadEnd::EndOfFile | ReadEnd::Unreadable(..) => self.written_since(wal, at),
        }
    }

    /// Returns the oldest WAL that the MANIFEST on disk needs. If this open is read-only, another process may have flushed since the
    /// MANIFEST was read.
    fn oldest_wal_now(&self) -> Result<WalNumber> {
        let dir = &self.tools.paths.db;
        let now =
            read_current(&self.tools.env, dir).and_then(|number| recover(&self.tools.env, dir, number))?;
        Ok(now.oldest_wal(self.two_phase))
    }

    /// Returns true if the record at `at`, where reading ended, is valid by now. Then a concurrent writer
    /// was appending this record, and the durable size grew after the read. Always false if no other
    /// process writes.
    fn written_since(&self, wal: WalNumber, at: u64) -> Result<bool> {
        if !self.beside_writer {
            return Ok(false);
        }
        let file = self.tools.env.fs.open_random(&self.tools.paths.wal(wal), &ReadHints::default())?;
        let mut reader = Reader::new(FileSource(file), options(wal));
        loop {
            match reader.next()? {
                Item::Record { .. } | Item::TimestampSizes { .. } | Item::Predecessor { .. } => {}
                _ => return Ok(false),
            }
            if reader.hole().is_some_and(|hole| hole <= at) {
                return Ok(false);
            }
            if reader.whole_end() > at {
                return Ok(true);
            }
        }
    }

    /// Returns the durable size of `wal` in the first marks of a later WAL; 0 if these marks do not name `wal`.
    fn durable_size_in(&self, later: WalNumber, wal: WalNumber) -> Result<u64> {
        let path = self.tools.paths.wal(later);
        let Ok(file) = self.tools.env.fs.open_random(&path, &ReadHints::default()) else { return Ok(0) };
        let mut reader = Reader::new(FileSource(file), options(later));
        loop {
            match reader.next()? {
                Item::Record { bytes, .. } => {
                    let Some(marks) = marks_of(bytes) else { continue };
                    let of =
                        marks.durable.iter().filter(|m| m.file_number == wal.file()).map(|m| m.bytes).max();
                    return Ok(of.unwrap_or(0));
                }
                Item::TimestampSizes { .. } | Item::Predecessor { .. } => {}
                _ => return Ok(0),
            }
        }
    }

    /// Returns the valid records after a fault, and the largest durable size in their marks.
    fn records_after(&self, wal: WalNumber, at: u64) -> Result<RecordsAfter> {
        let mut out = RecordsAfter { records: 0, durable: 0 };
        let file = self.tools.env.fs.open_random(&self.tools.paths.wal(wal), &ReadHints::default())?;
        let mut reader = Reader::new(FileSource(file), options(wal));
        // The first record of a compressed WAL announces the compression: read it before the search.
        reader.next()?;
        let mut more = reader.resync(at)?;
        while more {
            match reader.next()? {
                Item::Record { bytes, offset, .. } => {
                    out.records += 1;
                    let own = marks_of(bytes).unwrap_or_default().durable.into_iter();
                    let own = own
                        .filter(|m| m.file_number == FileNumber::default() && m.bytes <= offset)
                        .map(|m| m.bytes);
                    out.durable = own.fold(out.durable, u64::max);
                }
                Item::TornTail { offset, .. } => more = reader.resync(offset)?,
                Item::Corruption(damage) => more = reader.resync(damage.offset)?,
                // The WAL ends here. In a recycled file, old records may follow.
                Item::EndOfLog | Item::OldRecord { .. } => break,
                Item::TimestampSizes { .. } | Item::Predecessor { .. } | Item::Hole { .. } => {}
            }
        }
        Ok(out)
    }

    /// Records that the WAL exists. If the replay stopped at an earlier WAL, no end of this WAL is known.
    pub(super) fn pass(&mut self, wal: WalNumber) {
        self.ends.entry(wal).or_insert(u64::MAX);
    }

    /// Checks after the replay that no WAL with a claim is missing.
    ///
    /// # Errors
    /// Corruption that names the first missing WAL.
    pub(super) fn finish(&mut self) -> Result<()> {
        let mut missing: Vec<(WalNumber, u64)> =
            self.claims.iter().map(|(wal, claim)| (*wal, claim.bytes)).collect();
        missing.retain(|(wal, bytes)| *bytes > 0 && !self.ends.contains_key(wal));
        missing.arrange();
        missing.into_iter().try_for_each(|(wal, bytes)| self.missing(wal, bytes))
    }

    fn missing(&mut self, wal: WalNumber, bytes: u64) -> Result<()> {
        // If this open is read-only, another process may have deleted the WAL after a flush.
        if wal < self.oldest_wal_now()? {
            return Ok(());
        }
        self.lost(wal, 0, bytes, 0, "the WAL is missing")
    }

    fn lost(&mut self, wal: WalNumber, at: u64, durable: u64, records: u64, what: &str) -> Result<()> {
        if self.reported.contains(&wal) {
            return Ok(());
        }
        base::invariant!(
            at < durable,
            "WAL {} is damaged at {at}, and only {durable} bytes of it were durable",
            wal
        );
        let bytes = durable.saturating_sub(at);
        let records_after =
            if records > 0 { format!(", {records} complete records among them") } else { String::new() };
        let error = Error::corruption(format!(
            "{what}: the WAL was durable up to byte {durable}; {bytes} bytes of acknowledged writes are lost{records_after} \
             (open_despite_lost_writes=true opens the database without them)"
        ))
        .file(self.tools.paths.wal(wal))
        .at(at)
        .with_data_loss(true);
        if !self.accept {
            return Err(error);
        }
        self.reported.push(wal);
        report_lost(self.tools, error, bytes);
        Ok(())
    }
}

/// Reports durable writes that are lost: in the info log, to the listeners, and in a property.
pub fn report_lost(tools: &JobTools, error: Error, bytes: u64) {
    tools.events.warn(format_args!("Opened without writes that were durable: {error}"));
    tools.stats.database.note_lost(bytes);
    tools.events.emit(&Event::WritesLost { error, bytes });
}

pub(super) fn options(wal: WalNumber) -> ReaderOptions {
    ReaderOptions {
        wal_number: wal,
        decompressor: Some(Box::new(crate::wal::compression::decompressor)),
        ..ReaderOptions::default()
    }
}

struct RecordsAfter {
    records: u64,
    durable: u64,
}
