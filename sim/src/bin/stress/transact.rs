//! Writes in transactions. The transaction reads its own writes, and ends by a commit or a rollback, with or without
//! prepare. Keys belong to one thread, so no transaction conflicts with another.

use ironstone::{Kind, LockMode, ReadOptions, Transaction, TransactionState, Validation, WriteOptions};
use ironstone_sim::stamp::{self, Stamp};

use crate::expected::{name, value};
use crate::worker::{Worker, newest};

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
    /// The process drops the prepared transaction. The next open decides.
    Leave,
}

impl Worker<'_> {
    /// Puts and deletes keys in one transaction. The slots of the keys are not open.
    ///
    /// # Errors
    /// A wrong answer, or an error in an epoch in which no call fails.
    pub fn transact(&mut self, keys: &[(usize, usize, bool)]) -> Result<(), String> {
        let options = WriteOptions { sync: self.chance.percent(2), ..WriteOptions::default() };
        let begun = self.epoch.store.begin(&options, &mut self.chance);
        let Some(Some(transaction)) = self.told("begin", begun)? else { return Ok(()) };
        for key in keys {
            if !self.change(&transaction, *key)? {
                return Ok(());
            }
        }
        // Column families without timestamps ignore the timestamp of a commit.
        let is_dated = self.epoch.families.iter().any(stamp::is_stamped);
        let mut end = if self.chance.percent(20) { End::Rollback } else { End::Commit };
        if self.epoch.store.prepares() && self.chance.percent(40) {
            self.names += 1;
            let named = transaction.set_name(format!("{}.{}", self.thread, self.names).as_bytes());
            if self.told("set_name", named.and_then(|()| transaction.prepare()))?.is_none() {
                return Ok(());
            }
            if transaction.state() != TransactionState::Prepared {
                return Err(format!("a prepared transaction is {:?}", transaction.state()));
            }
            if self.chance.percent(3) {
                end = End::Leave;
            }
        }
        match end {
            End::Commit => {
                if is_dated {
                    // The newest sequence number grows with each commit of this thread, so the timestamps of a key grow.
                    let time = Stamp::next(&self.epoch.store).time();
                    self.told("set_commit_timestamp", transaction.set_commit_timestamp(time))?;
                }
                self.commit(&transaction, keys)
            }
            End::Rollback => {
                if self.told("rollback", transaction.rollback())?.is_some() {
                    keys.iter().for_each(|(family, key, _)| self.slots.cancel(*family, *key));
                }
                Ok(())
            }
            End::Leave => Ok(()),
        }
    }

    /// Changes one key, and reads the key before and after the change. Returns false if a call failed in an epoch with
    /// failing calls.
    fn change(&mut self, transaction: &Transaction, key: (usize, usize, bool)) -> Result<bool, String> {
        let (family, key, put) = key;
        let handle = &self.epoch.families[family];
        let (name, reading) = (name(self.thread, key), newest(handle));
        if self.chance.percent(30) {
            let now = self.epoch.store.latest_sequence().get();
            let reading = stamp::reading(handle, now, ReadOptions::default());
            if stamp::is_stamped(handle) {
                // A read for update reads at the read timestamp of its transaction.
                let set = transaction.set_read_timestamp_for_validation(now);
                self.told("set_read_timestamp_for_validation", set)?;
            }
            let got = transaction.get_for_update_in(
                handle,
                name.as_bytes(),
                &reading,
                LockMode::Exclusive,
                Validation::Check,
            );
            let Some(found) = self.told("get_for_update", got)? else { return Ok(false) };
            self.slots.check(family, key, found.as_deref()).map_err(|e| format!("get_for_update: {e}"))?;
        }
        let generation = self.slots.begin(family, key, put);
        let wanted = value(self.thread, family, key, generation);
        let done = match &wanted {
            Some(value) => transaction.put_in(handle, name.as_bytes(), value),
            None => transaction.delete_in(handle, name.as_bytes()),
        };
        if self.told("a write of a transaction", done)?.is_none() {
            return Ok(false);
        }
        let got = transaction.get_in(handle, name.as_bytes(), &reading);
        let Some(found) = self.told("get of a transaction", got)? else { return Ok(false) };
        if found.as_deref() != wanted.as_deref() {
            return Err(format!("family {family}, {name}: a transaction does not read its own write"));
        }
        Ok(true)
    }

    fn commit(&mut self, transaction: &Transaction, keys: &[(usize, usize, bool)]) -> Result<(), String> {
        let done = transaction.commit();
        // Optimistic validation looks into memtables, and flushed memtables may be gone. Nothing is written then.
        if !self.epoch.store.prepares() && done.as_ref().is_err_and(|e| e.kind() == Kind::TryAgain) {
            keys.iter().for_each(|(family, key, _)| self.slots.cancel(*family, *key));
            return Ok(());
        }
        if self.told("commit", done)?.is_some() {
            keys.iter().for_each(|(family, key, _)| self.slots.settle(*family, *key));
        }
        Ok(())
    }
}
