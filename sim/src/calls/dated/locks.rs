//! Locks and conflicts of transactions with timestamps, and reads for update.

use ironstone::{Kind, LockMode, ReadOptions, Validation};
use testkit::chance::Chance;

use super::super::overlay::Key;
use super::super::stamped::{rejected, stamp};
use super::super::{same, told};
use super::{Dated, STAMPED, key, options_at, state_at};

impl Dated {
    /// Returns true if a recovered transaction writes the key.
    pub(super) fn is_undecided(&self, key: &Key) -> bool {
        let recovered = self.running.iter().filter(|(_, own)| own.is_recovered);
        recovered.into_iter().any(|(_, own)| own.overlay.keys().any(|k| k == key))
    }

    /// Returns the expected answer to the tracking of a key. If the answer is `Ok`, records the key as tracked.
    pub(super) fn track(&mut self, at: usize, key: &Key, checked: bool) -> Result<(), Kind> {
        let others = self.running.iter().enumerate().filter(|(other, _)| *other != at);
        if others.into_iter().any(|(_, (_, own))| own.tracked.contains_key(key)) {
            return Err(Kind::TimedOut);
        }
        let changed_at = self.changed.get(key).and_then(|commits| commits.last()).map_or(0, |(at, _)| *at);
        let written = self.state[key.family].newest(&key.bytes, u64::MAX).map_or(0, |(time, _)| *time);
        let validates = self.transactions.enable_udt_validation;
        let (commits, own) = (self.commits, &mut self.running[at].1);
        let reads_at = own.reads_at.filter(|_| key.family == STAMPED);
        let known = own.tracked.get(key).copied();
        let since = match (own.snapshot, known) {
            (None, known) if !checked || reads_at.is_none() => known.unwrap_or(commits),
            (_, known) if !checked => known.unwrap_or(commits),
            (Some(snapshot), Some(known)) if known <= snapshot && !(validates && reads_at.is_some()) => known,
            (snapshot, _) => {
                let above = snapshot.unwrap_or(commits);
                if changed_at > above || validates && reads_at.is_some_and(|reads_at| written > reads_at) {
                    return Err(Kind::Busy);
                }
                above
            }
        };
        own.tracked.insert(key.clone(), known.map_or(since, |known| known.min(since)));
        Ok(())
    }

    /// Compares the outcome of a call that tracks a key with the expected one. Returns true if the key is tracked.
    pub(super) fn agree(
        &mut self,
        at: usize,
        key: &Key,
        what: &str,
        done: ironstone::Result<()>,
        expected: Result<(), Kind>,
    ) -> Result<bool, String> {
        match (done, expected) {
            (Ok(()), Ok(())) => Ok(true),
            (Err(error), Err(kind)) if error.kind() == kind => Ok(false),
            // A compaction dropped the changes after the snapshot.
            (Ok(()), Err(Kind::Busy)) if self.is_flushed && self.is_absent_then_and_now(at, key) => {
                let own = &mut self.running[at].1;
                own.tracked.insert(key.clone(), own.snapshot.unwrap_or_default());
                Ok(true)
            }
            (done, expected) => {
                let own = &self.running[at].1;
                let (commits, history) = (self.changed.get(key), &self.state[key.family]);
                Err(format!(
                    "{what}: {done:?} and not {expected:?}; snapshot {:?}, read timestamp {:?}, low mark {}, commits of the key \
                     {commits:?}, timestamps of the key {:?}",
                    own.snapshot,
                    own.reads_at,
                    self.low,
                    history.times(&key.bytes)
                ))
            }
        }
    }

    /// Returns true if the key is absent now, and was absent at the snapshot.
    fn is_absent_then_and_now(&self, at: usize, key: &Key) -> bool {
        let Some(snapshot) = self.running[at].1.snapshot else { return false };
        let commits = self.changed.get(key).map_or(&[][..], Vec::as_slice);
        let then = commits.iter().rev().find(|(at, _)| *at <= snapshot);
        [then, commits.last()].into_iter().all(|commit| commit.is_none_or(|(_, present)| !present))
    }

    /// Reads a key for update. In the column family with timestamps the read timestamp must be set if the read is
    /// validated, and no other timestamp may be given.
    pub(super) fn read_for_update(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let (key, checked) = (key(chance), chance.percent(80));
        if self.running[at].1.is_prepared || self.is_undecided(&key) {
            return Ok(());
        }
        let reads_at = self.running[at].1.reads_at;
        let own_time = reads_at.unwrap_or(u64::MAX);
        let given = match chance.below(3) {
            _ if key.family != STAMPED => None,
            0 => Some(own_time),
            1 => Some(self.now),
            _ => None,
        };
        let validates = self.transactions.enable_udt_validation;
        let is_refused = key.family == STAMPED
            && match (validates, checked) {
                (false, _) if reads_at.is_some() => true,
                (true, false) if reads_at.is_some() => true,
                (true, true) if reads_at.is_none() => true,
                _ => given.is_some_and(|given| given != own_time),
            };
        let validation = if checked { Validation::Check } else { Validation::Skip };
        let options = ReadOptions { timestamp: given.map(|at| stamp(at).to_vec()), ..ReadOptions::default() };
        let call = |world: &Dated| {
            let (handle, family) = (&world.running[at].0, &world.families[key.family]);
            handle.get_for_update_in(family, &key.bytes, &options, LockMode::Exclusive, validation)
        };
        let what = format!("read for update of {key:02x?} at {given:?}, own {reads_at:?}, {validation:?}");
        if is_refused {
            return rejected(&what, Kind::InvalidArgument, call(self).map(drop));
        }
        let expected = self.track(at, &key, checked);
        let found = call(self);
        if let Ok(found) = &found {
            let below = state_at(&self.state, own_time);
            let expected = self.running[at].1.overlay.read(&key, &below);
            same(&what, &found.as_ref().map(|v| v.to_vec()), &expected)?;
        }
        self.agree(at, &key, &what, found.map(drop), expected)?;
        self.read_again(at, &key)
    }

    /// A lock for update reads nothing, and an undo of it releases the key if the transaction has no other use of it.
    fn read_again(&mut self, at: usize, key: &Key) -> Result<(), String> {
        let (handle, own) = &self.running[at];
        let time = own.reads_at.unwrap_or(u64::MAX);
        let options = options_at(key.family, time, ReadOptions::default());
        let found =
            handle.get_in(&self.families[key.family], &key.bytes, &options).map_err(told("get_in"))?;
        let expected = own.overlay.read(key, &state_at(&self.state, time));
        same("get_in after a read for update", &found.map(|v| v.to_vec()), &expected)
    }
}
