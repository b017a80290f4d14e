//! Synced writes of transactions that overlap other writes: prepare, commit and rollback.
//!
//! ```text
//!  leader 1   append ─► hand over ─► sync of 1 ────────► memtables ─► publish
//!  leader 2              append ─► hand over ─► wait ─┐
//!  leader 3                         append ─► ... ─► wait ─► sync of 2 and 3 ─► memtables ─► publish
//! ```
//! A write with a hook has a write group of its own. If its leader kept the lead during the sync, each such write would need
//! a sync of its own. So the leader hands the lead over after the append. The syncs of several leaders are one sync
//! ([`WalSet::sync_up_to`]). The groups are published in the order of their tickets.
//!
//! A step that rolls the WAL or switches memtables waits until all tickets are published. So the WAL of an overlapping write
//! stays the active WAL until the write is published, also before [`WriteHook::logged`] is called.
//!
//! If the sync fails, no entry of the write is in a memtable, and its sequence numbers stay unused.
//!
//! RocksDB has two designs for the same purpose: write groups of several transactions, and a second write queue for writes that
//! change no memtable (`two_write_queues`).
//!
//! [`WalSet::sync_up_to`]: crate::wal::WalSet::sync_up_to

use base::stats::{Cause, HistogramKind, Step, Ticker};
use base::{Result, SequenceNumber};
use format::wal::WalPosition;

use super::Writer;
use super::group::{Group, LeaderState};
use super::hook::{Parts, WriteHook};
use crate::batch::WriteBatch;
use crate::stats::DatabaseCounter;
use crate::wal::SharedSync;

/// Returns true if the leader of the group hands the lead over before the sync. Without concurrent inserts, only a write that
/// inserts nothing may overlap others.
#[inline]
pub(super) fn applies(writer: &Writer, group: &Group, hook: Option<&dyn WriteHook>) -> bool {
    let Some(hook) = hook else { return false };
    group.flags.sync
        && hook.overlaps()
        && (writer.settings.concurrent_memtable || hook.parts() == Parts::WalOnly)
}

/// Finishes an overlapping write after its append: hands the lead over, syncs, calls the hook, inserts and publishes.
///
/// # Errors
/// An error of the sync or of the memtables.
#[cold]
pub(super) fn finish(
    writer: &Writer,
    first: SequenceNumber,
    (group, leader_state): (&Group, Box<LeaderState>),
    batch: &WriteBatch,
    hook: Option<&dyn WriteHook>,
) -> Result<()> {
    base::invariant!(group.writers() == 1, "a write of {} writers overlaps others", group.writers());
    let (ticket, last) = (leader_state.ticket, leader_state.last_seq);
    let end = writer.switcher.wals.end();
    writer.publisher.begin_overlapping();
    writer.queue.hand_over(leader_state);
    let applied = sync(writer, end).and_then(|()| {
        if let Some(hook) = hook {
            hook.logged(end, first, last.next().saturating_since(first));
        }
        writer.memtables(group, first, batch, &[], hook)
    });
    let visible = if applied.is_ok() { last } else { SequenceNumber::ZERO };
    writer.publisher.publish_overlapping(ticket, visible, &writer.sequence);
    applied
}

/// Makes the records up to `end` durable, with a sync of this thread or of another thread.
fn sync(writer: &Writer, end: WalPosition) -> Result<()> {
    let stats = &writer.stats;
    let began = stats.begin();
    let step = Step::begin(Cause::WalSync);
    let outcome = writer.switcher.wals.sync_up_to(end);
    step.stop();
    match outcome {
        SharedSync::Durable => Ok(()),
        SharedSync::Synced => {
            stats.end(began, HistogramKind::WalFileSyncMicros);
            stats.add(Ticker::WalFileSynced, 1);
            stats.database.add(DatabaseCounter::WalSyncs, 1);
            Ok(())
        }
        SharedSync::Failed(error) => {
            writer.faults.wal_failed(&error);
            Err(error)
        }
        SharedSync::FailedBefore(error) => {
            writer.faults.wal_found_failed(&error);
            Err(error)
        }
    }
}
