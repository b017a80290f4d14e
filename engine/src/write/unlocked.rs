//! Steps of the leader that wait for the end of `lock_wal`: they switch memtables, and so they roll the WAL.
//!
//! The wait is before the caller takes the lead, so the calls that the owner of the lock makes can lead meanwhile. If a
//! writer leads and waits for the unlock, calls of the owner that take the lead, such as the creation of a column
//! family, wait forever, as in RocksDB. Only a leader locks writes. So if a leader finds that writes are not locked,
//! writes stay unlocked until this leader ends.

use base::Result;

use super::Writer;
use super::group::LeaderState;
use crate::event::FlushReason;
use crate::family::Family;
use crate::sync::Arc;

/// Runs `f` as [`Writer::alone`] does, at a time when writes are not locked.
///
/// # Errors
/// The errors of [`Writer::alone`].
pub fn alone_unlocked<T>(writer: &Writer, mut f: impl FnMut(&mut LeaderState) -> T) -> Result<T> {
    when_unlocked(writer, |writer| writer.alone(|leader_state| unless_locked(writer, || f(leader_state))))
}

/// Runs `f` as [`Writer::alone_ahead`] does, at a time when writes are not locked.
///
/// # Errors
/// The errors of [`Writer::alone_ahead`].
pub(super) fn alone_ahead_unlocked<T>(
    writer: &Writer,
    mut f: impl FnMut(&mut LeaderState) -> T,
) -> Result<T> {
    when_unlocked(writer, |writer| {
        writer.alone_ahead(|leader_state| unless_locked(writer, || f(leader_state)))
    })
}

/// Switches memtables as [`Writer::switch_for_flush`] does, but does not wait for the end of `lock_wal`, also if a leader waits for
/// it. Returns false, and switches nothing, if `lock_wal` has locked writes.
///
/// # Errors
/// The errors of [`Writer::switch_for_flush`].
pub fn try_switch_for_flush(writer: &Writer, families: &[Arc<Family>], reason: FlushReason) -> Result<bool> {
    let switched = writer.alone_ahead(|leader_state| {
        unless_locked(writer, || writer.switch_as_leader(leader_state, families, reason)).transpose()
    })?;
    Ok(switched?.is_some())
}

fn when_unlocked<T>(writer: &Writer, mut lead: impl FnMut(&Writer) -> Result<Option<T>>) -> Result<T> {
    loop {
        writer.controller().wait_for_unlock(&writer.env);
        if let Some(out) = lead(writer)? {
            return Ok(out);
        }
    }
}

fn unless_locked<T>(writer: &Writer, f: impl FnOnce() -> T) -> Option<T> {
    (!writer.controller().is_locked()).then(f)
}
