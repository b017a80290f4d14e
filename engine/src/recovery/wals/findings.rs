//! What replay does about a finding: a torn end, a hole, damage or an old record. `rules` has the decisions.
//!
//! Not here: the search for findings (`wals`), and the durable size of a WAL (`durable`).

use base::{Error, Result, WalNumber};
use format::wal::{Diagnosis, diagnose};

use super::super::durable::ReadEnd;
use super::super::rules::{self, Decision, Finding};
use super::{OpenWal, PASSED_OVER, Replay, Verdict};

impl Replay<'_> {
    /// Does what the recovery mode decides about a finding. `error` describes the finding.
    pub(super) fn handle(&mut self, wal: WalNumber, finding: Finding, error: Error) -> Result<Verdict> {
        base::invariant!(error.offset().is_some(), "{finding:?} in WAL {} has no offset", wal);
        let is_known = finding == Finding::Hole && self.waived.contains(&wal);
        let decision = match is_known {
            // The info log already says that replay continues after damage in this WAL.
            true => Decision::Skip,
            false => rules::decide(finding, self.settings.mode, !self.settings.paranoid_checks),
        };
        self.done.damaged = true;
        let error = error.file(self.tools.paths.wal(wal));
        if !is_known {
            self.log_finding(finding, decision, &error);
        }
        match decision {
            Decision::Fail => return Err(error),
            Decision::Skip => {
                if finding != Finding::OldRecord {
                    self.waived.insert(wal);
                }
                return Ok(Verdict::Continue);
            }
            Decision::EndOfWal => {}
            Decision::Stop => self.stop(wal),
            Decision::StopAtOldRecord => {
                let cut_off = self.cut_off;
                self.stop(wal);
                self.cut_off = cut_off;
            }
        }
        Ok(Verdict::EndOfWal)
    }

    /// Writes a finding to the info log. A torn end at which point-in-time recovery stops is the usual result
    /// of a crash, and old records are the usual end of a recycled WAL.
    fn log_finding(&self, finding: Finding, decision: Decision, error: &Error) {
        let events = &self.tools.events;
        match (finding, decision) {
            (Finding::OldRecord, _) | (Finding::TornEnd | Finding::Hole, Decision::Fail) => {}
            (Finding::TornEnd, Decision::Stop) => events.info(format_args!("{error}")),
            (_, Decision::Fail | Decision::Stop | Decision::StopAtOldRecord) => {
                events.warn(format_args!("{error}"));
            }
            (_, Decision::Skip | Decision::EndOfWal) => events.warn(format_args!("{PASSED_OVER}{error}")),
        }
    }

    /// Handles bytes that are not a record of this WAL. The durable part of the WAL must not end there. If
    /// the record would be valid with one other bit or another length, the record was damaged, because no
    /// crash has this effect. So the open fails in the mode that otherwise takes such bytes for the end of
    /// the WAL.
    pub(super) fn fault(&mut self, open: &OpenWal<'_>, offset: u64, reason: &str) -> Result<()> {
        let change = diagnose(open.reader.damaged()).map(|found| match found {
            Diagnosis::Bit { byte, bit } => format!("bit {bit} of the record's byte {byte} is wrong"),
            Diagnosis::Length(length) => format!("the record's length should be {length}"),
        });
        let what = change.as_ref().map_or_else(|| reason.to_string(), |change| format!("{reason}: {change}"));
        self.check_durable_end(open, ReadEnd::Unreadable(offset, &what))?;
        let strict = self.is_point_in_time() && self.settings.paranoid_checks && !self.settings.accept_lost;
        if strict && open.reader.damaged_not_torn().is_some() {
            let hint = format!(
                "{what}; the record is corrupt, and no crash is the cause (open_despite_lost_writes=true opens the database without it)"
            );
            return Err(Error::corruption(hint).at(offset));
        }
        Ok(())
    }

    /// Returns what unreadable bytes are: in a recycled file, they may be remains of the older WAL.
    pub(super) fn classify(&self, finding: Finding, is_recycled: bool, open: &OpenWal<'_>) -> Finding {
        if !is_recycled {
            return finding;
        }
        let all_read = self.settings.proved_closed && open.progress.is_all(&open.reader);
        rules::in_recycled_file(finding, self.settings.mode, all_read)
    }

    /// Stops the replay at this WAL.
    pub(super) fn stop(&mut self, wal: WalNumber) {
        self.dropping = true;
        self.done.damaged = true;
        self.done.stopped_at = Some(wal);
        self.cut_off = Some(wal);
        self.set_in_doubt(wal);
    }

    /// Records that replay drops a batch of this WAL because an older WAL ended at an old record. An old record is the usual end of
    /// a recycled WAL, but a newer WAL that does not continue shows that records are missing.
    pub(super) fn refused(&mut self, wal: WalNumber) {
        if let (None, Some(stopped)) = (self.cut_off, self.done.stopped_at) {
            self.tools.events.warn(format_args!(
                "WAL {wal:06} does not continue WAL {stopped:06}, which ended at an old record: dropped"
            ));
            self.cut_off = Some(stopped);
        }
    }

    /// Records that this WAL is in doubt. See [`Replayed::in_doubt`].
    pub(super) fn set_in_doubt(&mut self, wal: WalNumber) {
        self.done.in_doubt = Some(self.done.in_doubt.map_or(wal, |oldest| oldest.min(wal)));
    }
}
