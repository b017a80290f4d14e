//! The input and the result of a replay.

use base::{FamilyId, FileNumber, SequenceNumber, WalNumber};
use format::proof::Extent;
use format::wal::Mark;

use super::tail::Tail;
use crate::options::WalRecoveryMode;
use crate::output::OutputFile;
use crate::prepared::{Section, TwoPhase, WritePolicy};

/// The settings of a replay.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    pub mode: WalRecoveryMode,
    pub paranoid_checks: bool,
    /// True if the replay compares each WAL with the predecessor record of the next WAL.
    pub verify_predecessors: bool,
    /// True if the replay may write full memtables to SST files. False for a read-only open.
    pub may_flush: bool,
    /// The memory limit for all memtables in bytes (`enforce_write_buffer_manager_during_recovery`). Above the
    /// limit, replay flushes the memtables. `None` means no limit.
    pub memory_max: Option<usize>,
    /// The newest sequence number of the MANIFEST. If no older WAL could be read, a recovery starts its new
    /// WAL after this sequence number.
    pub last_seq: SequenceNumber,
    /// WALs below this number are not needed and may be missing.
    pub min_wal: WalNumber,
    /// The MANIFEST that was read.
    pub manifest: FileNumber,
    /// If the end of the MANIFEST is in doubt: the newest column family of the MANIFEST. A write for a
    /// newer column family proves that the edit which added this family was durable.
    pub max_family: Option<FamilyId>,
    /// The durable extents of the WALs, from the `PROOF` that the last close or idle moment wrote.
    pub proved: Vec<Extent>,
    /// True if a close wrote `proved`: no record was appended to the WALs after the close.
    pub proved_closed: bool,
    /// True if the open continues without durable writes that are lost (`open_despite_lost_writes`).
    pub accept_lost: bool,
    /// Whether replay accepts prepared transactions.
    pub two_phase: TwoPhase,
    pub policy: WritePolicy,
}

/// The result of a replay.
#[derive(Default)]
pub struct Replayed {
    /// The newest sequence number that replay found; 0 if it found none.
    pub last_seq: SequenceNumber,
    /// The SST files that replay wrote for full memtables, with their column families.
    pub files: Vec<(FamilyId, OutputFile)>,
    pub max_wal: WalNumber,
    /// The WAL where replay stopped and dropped data. The next WAL must start with exactly the next sequence
    /// number.
    pub stopped_at: Option<WalNumber>,
    /// True if replay skipped a record anywhere. These WALs must not be replayed by another recovery mode
    /// once newer WALs exist.
    pub damaged: bool,
    /// True if replay changed the timestamps of keys, because the open turned timestamps on or off. Newer WALs must not follow
    /// these WALs: after another change, the older entries would have timestamps and the newer entries would have none.
    pub has_changed_timestamps: bool,
    /// True if replay read values from blob files that no version has. The WALs must not be kept: they are the only reference to
    /// these blob files.
    pub has_read_blobs: bool,
    /// The oldest WAL that may be incomplete: replay skipped bytes or found records missing, or its file was
    /// recycled. If the open is read-only, the writer may have changed this WAL during the replay.
    pub in_doubt: Option<WalNumber>,
    pub records: u64,
    /// The durable size of the MANIFEST that was read, from the marks in the WALs.
    pub manifest: Option<Mark>,
    /// For each WAL: the extent up to the end of its last valid record.
    pub extents: Vec<Extent>,
    /// The WALs whose whole content is durable by the proof.
    pub proved: Vec<WalNumber>,
    /// Prepared transactions that were neither committed nor rolled back, oldest first.
    pub prepared: Vec<Section>,
    /// Where a read-only open can continue later. `None` means that it must replay from the start again.
    pub tail: Option<Tail>,
}
