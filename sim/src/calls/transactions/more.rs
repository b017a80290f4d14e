//! Calls of a transaction beside its reads, writes and locks: writes of tracked keys, batches, the index, and facts.

use ironstone::{
    Kind, LockMode, ReadOptions, TrackedWrite, TxnDbWritePolicy, Validation, WriteBatch, WriteOptions,
};
use testkit::chance::Chance;

use super::super::overlay::{Change, Key};
use super::super::{same, told, value};
use super::own::Use;
use super::{Flavor, Running, Transactions, agree};

impl Transactions {
    /// Makes one of the calls.
    pub(super) fn more(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        self.facts(at, chance)?;
        // The other calls write.
        if self.running[at].own.prepared || self.running[at].own.is_recovered {
            return Ok(());
        }
        match chance.below(4) {
            0 => self.write_tracked(at, chance),
            1 => self.rebuild(at, chance),
            2 => self.write_without_index(at, chance),
            _ => self.delete_once(at),
        }
    }

    /// Writes a key without a look at the lock table. Fails if a pessimistic transaction does not track the key.
    fn write_tracked(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let held = self.running[at].own.exclusive();
        let is_held = !held.is_empty() && chance.percent(80);
        let key: Key = match is_held {
            true => chance.pick(&held).clone(),
            false => {
                let bytes = format!("untracked{}", chance.below(1000)).into_bytes();
                Key { family: chance.below(2) as usize, bytes }
            }
        };
        let value = value(chance);
        let (change, write) = match chance.below(3) {
            0 => (Change::Put(value.clone()), TrackedWrite::Put(&value)),
            1 => (Change::Merge(value.clone()), TrackedWrite::Merge(&value)),
            _ => (Change::Delete, TrackedWrite::Delete),
        };
        let expected = if is_held || !self.is_pessimistic() { Ok(()) } else { Err(Kind::InvalidArgument) };
        let done =
            self.running[at].handle.write_assuming_tracked_in(&self.families[key.family], &key.bytes, write);
        agree(&format!("{change:02x?} of {key:02x?}, assumed to be tracked"), done, expected)?;
        if expected.is_ok() {
            let (commits, pessimistic) = (self.commits, self.is_pessimistic());
            let own = &mut self.running[at].own;
            if pessimistic {
                own.take_wished_snapshot(commits);
            }
            own.write(&key, &change);
        }
        Ok(())
    }

    /// Repeats the writes of a batch in the transaction. The first write that fails ends the call.
    fn rebuild(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let key = Key::draw(chance);
        if self.is_undecided(&key) {
            return Ok(());
        }
        let (mut batch, value) = (WriteBatch::new(), value(chance));
        let id = self.families[key.family].id();
        let change = match chance.below(3) {
            0 => {
                batch.put_in(id, &key.bytes, &value);
                Change::Put(value)
            }
            1 => {
                batch.merge_in(id, &key.bytes, &value);
                Change::Merge(value)
            }
            _ => {
                batch.delete_in(id, &key.bytes);
                Change::Delete
            }
        };
        batch.put_log_data(b"skipped");
        let expected = self.expected_write(at, &key, Validation::Check);
        let done = self.running[at].handle.rebuild_from_batch(&batch);
        let what = format!("rebuild with {change:02x?} of {key:02x?}");
        if self.agree_tracked(at, &key, (Use::Write, LockMode::Exclusive), &what, done, expected)? {
            self.running[at].own.write(&key, &change);
        }
        let mut ranges = WriteBatch::new();
        ranges.delete_range(b"a", b"b");
        let refused = self.running[at].handle.rebuild_from_batch(&ranges);
        agree("rebuild with a range deletion", refused, Err(Kind::InvalidArgument))
    }

    /// Writes a key that reads of the transaction do not see, and returns to the save point before this write.
    fn write_without_index(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let key = Key::draw(chance);
        if self.is_undecided(&key) {
            return Ok(());
        }
        let Running { handle, own } = &mut self.running[at];
        handle.set_save_point();
        own.save();
        handle.disable_indexing();
        same("is indexing", &handle.is_indexing(), &false)?;
        let expected = self.expected_write(at, &key, Validation::Check);
        let family = &self.families[key.family];
        let done = self.running[at].handle.put_in(family, &key.bytes, b"not in the index");
        let what = format!("put of {key:02x?} without the index");
        self.agree_tracked(at, &key, (Use::Write, LockMode::Exclusive), &what, done, expected)?;
        let Running { handle, own } = &mut self.running[at];
        let found = handle.get_in(&self.families[key.family], &key.bytes, &ReadOptions::default());
        let found = found.map_err(told("get_in"))?.map(|value| value.to_vec());
        same(&what, &found, &own.overlay.read(&key, &self.state))?;
        handle.enable_indexing();
        same("is indexing", &handle.is_indexing(), &true)?;
        own.roll_back();
        handle.rollback_to_save_point().map_err(told("rollback to the save point"))
    }

    /// Puts a key that no other operation uses, and deletes it once.
    fn delete_once(&mut self, at: usize) -> Result<(), String> {
        self.names += 1;
        let key =
            Key { family: (self.names % 2) as usize, bytes: format!("once{}", self.names).into_bytes() };
        for put in [true, false] {
            let expected = self.expected_write(at, &key, Validation::Skip);
            let (family, handle) = (&self.families[key.family], &self.running[at].handle);
            let (change, done) = match put {
                true => (Change::Put(b"1".to_vec()), handle.put_untracked_in(family, &key.bytes, b"1")),
                false => (Change::Delete, handle.single_delete_untracked_in(family, &key.bytes)),
            };
            let what = format!("{change:02x?} of {key:02x?}, untracked");
            if self.agree_tracked(at, &key, (Use::Write, LockMode::Exclusive), &what, done, expected)? {
                self.running[at].own.write(&key, &change);
            }
        }
        Ok(())
    }

    /// Compares facts of the transaction, and sets options of its locks and of its commit.
    fn facts(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let now = self.options.db.env.clock.now_micros();
        let Running { handle, own } = &mut self.running[at];
        if let Some(began) = own.began {
            same("age", &handle.elapsed_ms(), &((now - began) / 1000))?;
        }
        same("sequence number before the commit", &handle.committed_sequence().get(), &0)?;
        let options = WriteOptions { sync: chance.percent(50), ..WriteOptions::default() };
        handle.set_write_options(options);
        same("options of the commit", &handle.write_options().sync, &options.sync)?;
        // One thread makes all calls, so no lock is granted later.
        handle.set_lock_timeout(chance.below(2) as i64);
        handle.set_deadlock_timeout(chance.below(2) as i64);
        let batch = handle.indexed_batch();
        same("records of the batch", &batch.count(), &handle.to_batch().count())?;
        same("size of the batch", &batch.data_size(), &handle.to_batch().data_size())?;
        for key in own.overlay.keys().take(3).filter(|_| !own.prepared) {
            let found = batch.get_from_batch_in(&self.families[key.family], &key.bytes);
            match (found.map(|value| value.map(|value| value.to_vec())), own.overlay.alone(key)) {
                (Err(error), None) if error.kind() == Kind::MergeInProgress => {}
                (Ok(found), Some(expected)) => same("indexed_batch", &found, &expected)?,
                // The earlier writes of a write-unprepared transaction are in the database, and not in its batch.
                _ if self.flavor == Flavor::Policy(TxnDbWritePolicy::WriteUnprepared) => {}
                (found, expected) => return Err(format!("indexed_batch: {found:?} and not {expected:?}")),
            }
        }
        self.set_timestamps(at, chance)
    }

    /// Sets timestamps. No column family has timestamps, so they do not change the commit.
    fn set_timestamps(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let Running { handle, own } = &mut self.running[at];
        if self.flavor != Flavor::Policy(TxnDbWritePolicy::WriteCommitted) {
            let (read, commit) =
                (handle.set_read_timestamp_for_validation(7), handle.set_commit_timestamp(7));
            agree("read timestamp", read, Err(Kind::NotSupported))?;
            agree("commit timestamp", commit, Err(Kind::NotSupported))?;
            return same("commit timestamp", &handle.commit_timestamp(), &None);
        }
        // A commit timestamp is above each read timestamp.
        let (read, commit) = (chance.below(10), 10 + chance.below(10));
        let falls = own.read_timestamp.is_some_and(|before| read < before);
        let expected = if falls { Err(Kind::InvalidArgument) } else { Ok(()) };
        agree("read timestamp", handle.set_read_timestamp_for_validation(read), expected)?;
        if !falls {
            own.read_timestamp = Some(read);
            let early = handle.set_commit_timestamp(read);
            agree("commit timestamp that is read", early, Err(Kind::InvalidArgument))?;
        }
        agree("commit timestamp", handle.set_commit_timestamp(commit), Ok(()))?;
        own.commit_timestamp = Some(commit);
        same("commit timestamp", &handle.commit_timestamp(), &own.commit_timestamp)
    }
}
