//! The steps before each operation on a key: the lock, the comparison with the snapshot, and the entry in the
//! tracker. Facts: RocksDB `pessimistic_transaction.cc` (`TryLock`), `transaction_util.cc`,
//! `optimistic_transaction.cc`.

use base::key::MAX_SEQUENCE;
use base::{Error, FamilyId, Result, SequenceNumber};
use engine::read::{Reach, Reads};

use super::super::locks::LockMode;
use super::super::tracker::{Tracked, Tracker, Use};
use super::Transaction;
use super::body::{Body, Control, Pessimistic};
use crate::Family;

/// Selects whether an operation checks that its key was not changed after the snapshot of the transaction.
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
/// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// use ironstone::{LockMode, ReadOptions, Validation};
///
/// let transaction = db.begin();
/// transaction.set_snapshot();
/// db.put(b"k", b"1")?; // a later write than the snapshot
/// let (family, options) = (db.default_family(), ReadOptions::default());
/// let read = |validation| transaction.get_for_update_in(&family, b"k", &options, LockMode::Exclusive, validation);
/// assert!(read(Validation::Check).is_err());
/// assert_eq!(read(Validation::Skip)?.as_deref(), Some(&b"1"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// The transaction checks that no later write changed the key.
    #[default]
    Check,
    /// The caller states that the check is not needed.
    Skip,
}

/// Selects how an operation tracks its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tracking {
    Validated,
    /// Without a check for conflicts (RocksDB's `PutUntracked`).
    Untracked,
    /// Without a look at the lock table: the transaction has the lock already (RocksDB's `assume_tracked`).
    Assumed,
}

/// An operation on a key.
#[derive(Clone, Copy)]
pub(super) struct Operation<'a> {
    pub family: &'a Family,
    pub key: &'a [u8],
    pub by: Use,
    pub mode: LockMode,
    pub tracking: Tracking,
}

impl Operation<'_> {
    /// Locks and checks the key of the operation.
    ///
    /// # Errors
    /// See [`Transaction::put_in`].
    pub fn track(&self, transaction: &Transaction, body: &mut Body) -> Result<()> {
        match &transaction.shared.control {
            Control::Optimistic(_) => {
                self.track_for_commit(transaction, body);
                Ok(())
            }
            Control::Pessimistic(pessimistic) => self.lock(transaction, body, pessimistic),
        }
    }

    /// Tracks the key of an optimistic transaction. The commit checks the key.
    fn track_for_commit(&self, transaction: &Transaction, body: &mut Body) {
        if self.tracking != Tracking::Validated {
            return;
        }
        body.take_wished_snapshot(&transaction.db);
        let seq =
            body.snapshot.as_ref().map_or_else(|| transaction.db.latest_sequence(), |held| held.sequence());
        body.meet(self.family.inner());
        self.remember(body, seq);
    }

    fn lock(&self, transaction: &Transaction, body: &mut Body, pessimistic: &Pessimistic) -> Result<()> {
        if pessimistic.settings.skip_concurrency_control {
            return Ok(());
        }
        let (family, key) = (self.family.id(), self.key);
        let check_family = || match self.family.inner().is_dropped() {
            true => Err(Error::invalid_argument(format!("Column family id not found: {family}"))),
            false => Ok(()),
        };
        check_family()?;
        let before = body.tracked.get(family, key).copied();
        let upgrades = before.is_some_and(|b| self.mode == LockMode::Exclusive && !b.exclusive);
        if self.tracking == Tracking::Assumed && before.is_none() {
            return Err(Error::invalid_argument("assume_tracked is set but it is not tracked yet"));
        }
        if before.is_none() || upgrades {
            pessimistic.locks.lock(&pessimistic.owner, family, key, self.mode)?;
            // The column family may have been dropped during the wait for the lock.
            check_family().inspect_err(|_| pessimistic.locks.unlock(&pessimistic.owner, family, key))?;
        }
        body.take_wished_snapshot(&transaction.db);
        let known = before.map_or(MAX_SEQUENCE, |before| before.seq);
        let seq = match self.validated(transaction, body, pessimistic, known) {
            Ok(seq) => seq,
            Err(error) => {
                if upgrades {
                    pessimistic.locks.lock(&pessimistic.owner, family, key, LockMode::Shared)?;
                } else if before.is_none() {
                    pessimistic.locks.unlock(&pessimistic.owner, family, key);
                }
                return Err(error);
            }
        };
        if self.tracking != Tracking::Assumed {
            self.remember(body, seq);
        }
        Ok(())
    }

    /// Compares the key with the snapshot. Returns the sequence number since which the key is known to be unchanged.
    /// `known` is the number that an earlier operation found.
    fn validated(
        &self,
        transaction: &Transaction,
        body: &Body,
        pessimistic: &Pessimistic,
        known: SequenceNumber,
    ) -> Result<SequenceNumber> {
        let timestamps = self.family.inner().order().user.timestamp_size() > 0;
        let read_timestamp = body.read_timestamp.filter(|_| timestamps);
        if self.tracking != Tracking::Validated || (body.snapshot.is_none() && read_timestamp.is_none()) {
            // From now on the lock prevents changes by other transactions.
            return Ok(if known == MAX_SEQUENCE { transaction.db.latest_sequence() } else { known });
        }
        let snapshot = body.snapshot.as_ref().map(|held| held.sequence());
        let read_timestamp = read_timestamp.filter(|_| pessimistic.settings.enable_udt_validation);
        if read_timestamp.is_none() && snapshot.is_some_and(|snapshot| known <= snapshot) {
            return Ok(known);
        }
        let above = snapshot.unwrap_or_else(|| transaction.db.latest_sequence());
        let visibility = body.snapshot.as_ref().and_then(|held| held.visibility());
        let certain = match (read_timestamp, visibility) {
            // An older sequence number can have a newer timestamp than the read timestamp. So the newest entry decides, also
            // an entry of an SST file.
            (Some(_), _) => SequenceNumber::ZERO,
            (None, Some(visibility)) => visibility.certain_up_to(),
            (None, None) => above,
        };
        let reads = transaction.db.engine().reads();
        let newest = reads.newest_write(self.family.inner(), self.key, certain, Reach::Files)?;
        let Some(newest) = newest else { return Ok(above) };
        let own = body.sections.own();
        if !own.contains(newest.seq)
            && (newest.seq > above || visibility.is_some_and(|visibility| !visibility.sees(newest.seq)))
        {
            return Err(conflict(self.family.id(), self.key, above, newest.seq));
        }
        if let Some(read) = read_timestamp
            && let Ok(written) = <[u8; 8]>::try_from(&newest.timestamp[..])
            && u64::from_le_bytes(written) > read
        {
            return Err(Error::busy(format!(
                "the key was written at timestamp {}, and the transaction reads at {read}",
                u64::from_le_bytes(written)
            )));
        }
        Ok(above)
    }

    /// Enters the key in the tracker, and in the tracker of the last save point.
    fn remember(&self, body: &mut Body, seq: SequenceNumber) {
        let exclusive = self.mode == LockMode::Exclusive;
        let (family, key, by) = (self.family.id(), self.key, self.by);
        let tracked = Tracked { family, key, seq, by, exclusive };
        body.tracked.track(tracked);
        if let Some(save) = body.save_points.last_mut() {
            save.new_locks.track(tracked);
        }
    }
}

/// Compares all keys of an optimistic transaction with the memtables.
///
/// # Errors
/// Busy for a key that was changed since it was tracked. TryAgain if the memtables do not hold the writes since then.
pub(super) fn check_all(reads: &Reads, tracked: &Tracker, body: &Body) -> Result<()> {
    for (family, key, state) in tracked.iter() {
        let Some(family) = body.families.iter().find(|known| known.id() == family) else {
            return Err(Error::invalid_argument(format!("Could not access column family {family}")));
        };
        if family.is_dropped() {
            return Err(Error::invalid_argument(format!("Could not access column family {}", family.id())));
        }
        let newest = reads.newest_write(family, key, state.seq, Reach::Memory)?;
        if let Some(newest) = newest.filter(|newest| newest.seq > state.seq) {
            return Err(conflict(family.id(), key, state.seq, newest.seq));
        }
    }
    Ok(())
}

#[cold]
fn conflict(family: FamilyId, key: &[u8], above: SequenceNumber, newest: SequenceNumber) -> Error {
    let bytes = key.len();
    Error::busy(format!(
        "a key of {bytes} bytes of column family {family} was written at sequence number {newest}, after the snapshot at {above}"
    ))
}
