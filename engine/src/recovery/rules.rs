//! The rules of `wal_recovery_mode`: what replay does if a WAL does not continue with a valid record.

use crate::options::WalRecoveryMode;

/// What replay finds instead of a valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The file ends in the middle of a record.
    TornEnd,
    /// Zeros before valid records. No writer leaves a hole.
    Hole,
    /// Bytes that are not a record.
    Damage,
    /// A record of the WAL that a recycled file was before.
    OldRecord,
}

/// What replay does after a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The open fails.
    Fail,
    /// Replay skips the bytes, and continues in the same WAL.
    Skip,
    /// The WAL ends here. Replay continues with the next WAL.
    EndOfWal,
    /// Replay stops here. It drops the later WALs, until a record has exactly the next sequence number. SST
    /// files with later writes fail the open.
    Stop,
    /// Replay stops as with `Stop`, but SST files with later writes are allowed until a later WAL does not continue: a recycled WAL
    /// usually ends at an old record.
    StopAtOldRecord,
}

/// Decides what replay does. With `ignores_damage` (`paranoid_checks = false`), damage is skipped in all
/// modes.
pub(super) fn decide(finding: Finding, mode: WalRecoveryMode, ignores_damage: bool) -> Decision {
    use Decision::{EndOfWal, Fail, Skip, Stop, StopAtOldRecord};
    // The columns: tolerate corrupted tail records, absolute consistency, point in time, skip any corrupted
    // records.
    let row = match finding {
        Finding::TornEnd => [EndOfWal, Fail, Stop, EndOfWal],
        Finding::Hole => [EndOfWal, Fail, Stop, Skip],
        Finding::OldRecord => [EndOfWal, EndOfWal, StopAtOldRecord, Skip],
        Finding::Damage if ignores_damage => [Skip; 4],
        Finding::Damage => [Fail, Fail, Stop, Skip],
    };
    row[match mode {
        WalRecoveryMode::TolerateCorruptedTailRecords => 0,
        WalRecoveryMode::AbsoluteConsistency => 1,
        WalRecoveryMode::PointInTimeRecovery => 2,
        WalRecoveryMode::SkipAnyCorruptedRecords => 3,
    }]
}

/// Returns what the unreadable bytes of a recycled file are: the remains of an older WAL (`OldRecord`), or
/// `finding`. `all_read` means that replay has read all bytes that the proof of the last close names, so the
/// unreadable bytes are no part of this WAL.
pub(super) fn in_recycled_file(finding: Finding, mode: WalRecoveryMode, all_read: bool) -> Finding {
    let remains = match (mode, finding) {
        (WalRecoveryMode::PointInTimeRecovery, _) => true,
        (WalRecoveryMode::AbsoluteConsistency, _) => all_read,
        (WalRecoveryMode::TolerateCorruptedTailRecords, finding) => finding == Finding::Damage,
        (WalRecoveryMode::SkipAnyCorruptedRecords, _) => false,
    };
    if remains { Finding::OldRecord } else { finding }
}
