//! What a replay is given, and what a replay returns.

use base::{FamilyId, FileNumber, SequenceNumber};
use format::proof::Extent;
use format::wal::Mark;

use super::tail::Tail;
use crate::options::WalRecoveryMode;
use crate::output::OutputFile;
use crate::prepared::{Section, TwoPhase, WritePolicy};

/// How logs are replayed.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    pub mode: WalRecoveryMode,
    pub paranoid_checks: bool,
    /// Compare each WAL with the predecessor record of the next WAL.
    pub verify_predecessors: bool,
    /// Whether full memtables are written to tables meanwhile: not when only reading.
    pub may_flush: bool,
    /// Memtables that take more bytes together are written to tables too
    /// (`enforce_write_buffer_manager_during_recovery`). `None`: whatever they take.
    pub memory_max: Option<usize>,
    /// The newest sequence number of the MANIFEST. If no older WAL could be read, a recovery starts its new
    /// WAL after this sequence number.
    pub last_seq: SequenceNumber,
    /// Logs below this number are not needed and may be missing.
    pub min_wal: u64,
    /// The MANIFEST that was read.
    pub manifest: FileNumber,
    /// If the end of the MANIFEST is in doubt: the newest column family of the MANIFEST. A write for a
    /// newer column family proves that the edit which added this family was durable.
    pub max_family: Option<FamilyId>,
    /// What the proof of the last close or idle moment says of the logs.
    pub proved: Vec<Extent>,
    /// It was written by a close: nothing was appended to its logs since.
    pub proved_closed: bool,
    /// Opens without durable writes that are lost (`open_despite_lost_writes`).
    pub accept_lost: bool,
    /// What happens to prepared transactions.
    pub two_phase: TwoPhase,
    pub policy: WritePolicy,
}

/// What replay came to.
#[derive(Default)]
pub struct Replayed {
    /// The newest sequence number met; 0 if none.
    pub last_seq: SequenceNumber,
    /// Tables written for memtables that were full, by family.
    pub files: Vec<(FamilyId, OutputFile)>,
    pub max_wal: u64,
    /// Data was dropped at this log: the next log must begin with exactly the next number.
    pub stopped_at: Option<u64>,
    /// True if replay skipped a record anywhere. These WALs must not be replayed by another recovery mode
    /// once newer WALs exist.
    pub damaged: bool,
    /// The oldest log of which something was passed over or missing, or whose file a writer that goes on may write
    /// over: it recycles its logs.
    pub in_doubt: Option<u64>,
    pub records: u64,
    /// What the logs say is durable of the MANIFEST that was read.
    pub manifest: Option<Mark>,
    /// What was read of each log, up to the end of its last whole record.
    pub extents: Vec<Extent>,
    /// The WALs whose whole content is durable by the proof.
    pub proved: Vec<u64>,
    /// Prepared transactions that were neither committed nor rolled back, oldest first.
    pub prepared: Vec<Section>,
    /// Where a reader beside a writer continues. `None`: the reader replays from the start again.
    pub tail: Option<Tail>,
}
