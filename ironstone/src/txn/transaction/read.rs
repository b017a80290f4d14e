//! The reads of a transaction: its own writes on top of the database.

use base::{Error, Pinned, Result};

use super::super::indexed::{self, BaseDeltaIter};
use super::super::locks::LockMode;
use super::super::tracker::{Untracked, Use};
use super::Transaction;
use super::body::{Body, Control};
use super::track::{Operation, Tracking, Validation};
use crate::{Family, ReadOptions};

impl Transaction {
    /// Returns the value of a key of the default column family, with the writes of this transaction.
    ///
    /// # Errors
    /// As [`Transaction::get_in`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.get_in(&self.default, key, &ReadOptions::default())
    }

    /// Returns the value of a key, with the writes of this transaction. The read takes no lock and is not checked for
    /// conflicts.
    ///
    /// # Errors
    /// As [`Family::get_with`]; InvalidArgument if operands must be merged and there is no merge operator.
    pub fn get_in(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        indexed::get_over(&self.shared.core, family, key, options)
    }

    /// Returns the values of several keys, in the order of `keys`.
    pub fn multi_get_in(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Pinned>>> {
        indexed::multi_get_over(&self.shared.core, family, keys, options)
    }

    /// Returns an iterator over a column family with the writes of this transaction, also later writes.
    ///
    /// # Errors
    /// As [`Family::iter_with`].
    pub fn iter_in(&self, family: &Family, options: ReadOptions) -> Result<BaseDeltaIter> {
        indexed::iter_over(&self.shared.core, family, options)
    }

    /// Returns an iterator over the default column family, as [`Transaction::iter_in`].
    ///
    /// # Errors
    /// As [`Transaction::iter_in`].
    pub fn iter(&self) -> Result<BaseDeltaIter> {
        self.iter_in(&self.default, ReadOptions::default())
    }

    /// Returns the value of a key of the default column family and guards the key until the end of the transaction:
    /// exclusively, with a check against the snapshot. See [`Transaction::get_for_update_in`].
    ///
    /// # Errors
    /// As [`Transaction::get_for_update_in`].
    pub fn get_for_update(&self, key: &[u8]) -> Result<Option<Pinned>> {
        let options = ReadOptions::default();
        self.get_for_update_in(&self.default, key, &options, LockMode::Exclusive, Validation::Check)
    }

    /// Returns the value of a key and guards the key: a pessimistic transaction locks the key in `mode`, an optimistic
    /// transaction fails its commit if the key is changed.
    ///
    /// # Errors
    /// As [`Transaction::put_in`] and [`Transaction::get_in`]; InvalidArgument with [`Validation::Skip`] and a snapshot in
    /// `options`.
    pub fn get_for_update_in(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
        mode: LockMode,
        validation: Validation,
    ) -> Result<Option<Pinned>> {
        self.lock_for_update_in(family, key, options, mode, validation)?;
        let stamped = self.with_read_timestamp(family, options);
        self.get_in(family, key, stamped.as_ref().unwrap_or(options))
    }

    /// Guards a key as [`Transaction::get_for_update_in`], without reading it.
    ///
    /// # Errors
    /// As [`Transaction::put_in`]; InvalidArgument for options that contradict each other.
    pub fn lock_for_update_in(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
        mode: LockMode,
        validation: Validation,
    ) -> Result<()> {
        if validation == Validation::Skip && options.snapshot.is_some() {
            return Err(Error::invalid_argument(
                "If do_validate is false then GetForUpdate with snapshot is not defined.",
            ));
        }
        let mut body = self.shared.body.lock();
        self.check_read_timestamp(&body, family, options, validation)?;
        let tracking =
            if validation == Validation::Check { Tracking::Validated } else { Tracking::Untracked };
        self.track(&mut body, &Operation { family, key, by: Use::Read, mode, tracking })
    }

    /// Reads several keys for update, exclusively, in the order of `keys`. The read stops at the first key that cannot be
    /// guarded. RocksDB: `MultiGetForUpdate`.
    ///
    /// # Errors
    /// As [`Transaction::get_for_update_in`], of the first key that cannot be guarded.
    pub fn multi_get_for_update_in(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Result<Vec<Result<Option<Pinned>>>> {
        for key in keys {
            self.lock_for_update_in(family, key, options, LockMode::Exclusive, Validation::Check)?;
        }
        Ok(self.multi_get_in(family, keys, options))
    }

    /// Undoes one read for update of a key that the transaction did not write. If this was the last use of the key, the
    /// lock is released. Does nothing if the key was read for update before the last save point.
    pub fn undo_get_for_update_in(&self, family: &Family, key: &[u8]) {
        let mut body = self.shared.body.lock();
        if let Some(save) = body.save_points.last_mut()
            && save.new_locks.untrack_read(family.id(), key) == Untracked::NotTracked
        {
            return;
        }
        if body.tracked.untrack_read(family.id(), key) == Untracked::Removed
            && let Control::Pessimistic(pessimistic) = &self.shared.control
        {
            pessimistic.locks.unlock(&pessimistic.owner, family.id(), key);
        }
    }

    /// Merges the operands of a key into one value, and writes this value. RocksDB: `CollapseKey`.
    ///
    /// # Errors
    /// As [`Transaction::get_for_update_in`]; NotFound if the key has no value; NotSupported in an optimistic transaction.
    pub fn collapse_key_in(&self, family: &Family, key: &[u8], options: &ReadOptions) -> Result<()> {
        if self.shared.pessimistic().is_none() {
            return Err(Error::not_supported("collpase not supported"));
        }
        match self.get_for_update_in(family, key, options, LockMode::Exclusive, Validation::Check)? {
            Some(value) => self.put_in(family, key, &value),
            None => Err(Error::not_found("the key to collapse has no value")),
        }
    }

    /// With timestamps, a read for update reads at the read timestamp of the transaction.
    fn check_read_timestamp(
        &self,
        body: &Body,
        family: &Family,
        options: &ReadOptions,
        validation: Validation,
    ) -> Result<()> {
        let Some(pessimistic) = self.shared.pessimistic() else { return Ok(()) };
        if options.timestamp.is_none() && family.inner().order().user.timestamp_size() == 0 {
            return Ok(());
        }
        let set = body.read_timestamp.is_some();
        let problem = match (pessimistic.settings.enable_udt_validation, validation) {
            (false, _) if set => "read_timestamp is set but timestamp validation is disabled for the DB",
            (true, Validation::Skip) if set => {
                "If do_validate is false then GetForUpdate with read_timestamp is not defined."
            }
            (true, Validation::Check) if !set => "read_timestamp must be set for validation",
            _ => {
                let own = body.read_timestamp.unwrap_or(u64::MAX).to_le_bytes();
                if options.timestamp.as_ref().is_none_or(|given| given[..] == own) {
                    return Ok(());
                }
                "Must read from the same read_timestamp"
            }
        };
        Err(Error::invalid_argument(problem))
    }

    /// The options with the read timestamp of the transaction, where the column family needs a timestamp.
    fn with_read_timestamp(&self, family: &Family, options: &ReadOptions) -> Option<ReadOptions> {
        let needed = family.inner().order().user.timestamp_size() > 0 && options.timestamp.is_none();
        needed.then(|| {
            let at = self.shared.body.lock().read_timestamp.unwrap_or(u64::MAX);
            ReadOptions { timestamp: Some(at.to_le_bytes().to_vec()), ..options.clone() }
        })
    }
}
