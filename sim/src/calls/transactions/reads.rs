//! Reads for update, and calls that consist of a read for update and more. Not here: plain reads (the parent module).

use ironstone::{Kind, LockMode, ReadOptions, Validation};
use testkit::chance::Chance;

use super::super::overlay::{Change, Key};
use super::super::same;
use super::own::Use;
use super::{Running, Transactions, agree};

impl Transactions {
    /// Reads a key for update, in one of four calls.
    pub(super) fn read_for_update(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        if self.running[at].own.prepared {
            return Ok(());
        }
        let key = Key::draw(chance);
        if self.is_undecided(&key) {
            return Ok(());
        }
        let mode = if chance.percent(60) { LockMode::Exclusive } else { LockMode::Shared };
        let validation = if chance.percent(80) { Validation::Check } else { Validation::Skip };
        let expected = self.track(at, &key, Use::Read, mode, validation);
        let (family, Running { handle, own }) = (&self.families[key.family], &self.running[at]);
        let options = ReadOptions::default();
        let what = format!("read for update of {key:02x?}, {mode:?}, {validation:?}");
        if chance.percent(30) {
            let done = handle.lock_for_update_in(family, &key.bytes, &options, mode, validation);
            return self.agree_tracked(at, &key, (Use::Read, mode), &what, done, expected).map(drop);
        }
        if chance.percent(15) {
            let found = handle.get_entity_for_update_in(family, &key.bytes, &options, mode, validation);
            if let Ok(columns) = &found {
                let found = columns.as_ref().map(|columns| columns.default_column().to_vec());
                same(&what, &found, &own.overlay.read(&key, &self.state))?;
            }
            let done = found.map(drop);
            return self.agree_tracked(at, &key, (Use::Read, mode), &what, done, expected).map(drop);
        }
        let found = match ((mode, validation) == (LockMode::Exclusive, Validation::Check), chance.below(4)) {
            (true, 0) => handle
                .multi_get_for_update_in(family, &[&key.bytes], &options)
                .and_then(|mut found| found.pop().unwrap_or(Ok(None))),
            (true, 1) if key.family == 0 => handle.get_for_update(&key.bytes),
            _ => handle.get_for_update_in(family, &key.bytes, &options, mode, validation),
        };
        if let Ok(found) = &found {
            let found = found.as_ref().map(|v| v.to_vec());
            same(&what, &found, &own.overlay.read(&key, &self.state))?;
        }
        self.agree_tracked(at, &key, (Use::Read, mode), &what, found.map(drop), expected).map(drop)
    }

    /// Replaces a key by its merged value.
    pub(super) fn collapse(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let key = Key::draw(chance);
        if self.is_undecided(&key) || self.running[at].own.prepared {
            return Ok(());
        }
        let options = ReadOptions::default();
        let call = |world: &Transactions| {
            world.running[at].handle.collapse_key_in(&world.families[key.family], &key.bytes, &options)
        };
        if !self.is_pessimistic() {
            return agree("collapse", call(self), Err(Kind::NotSupported));
        }
        let expected = self.track(at, &key, Use::Read, LockMode::Exclusive, Validation::Check);
        let value = self.running[at].own.overlay.read(&key, &self.state);
        let done = call(self);
        let what = format!("collapse of {key:02x?}");
        match (done, value) {
            // The key is tracked by the read, and no write follows.
            (Err(error), None) if error.kind() == Kind::NotFound => self
                .agree_tracked(at, &key, (Use::Read, LockMode::Exclusive), &what, Ok(()), expected)
                .map(drop),
            (done, value) => {
                let collapsed =
                    self.agree_tracked(at, &key, (Use::Read, LockMode::Exclusive), &what, done, expected)?;
                let Some(value) = value.filter(|_| collapsed) else { return Ok(()) };
                self.track(at, &key, Use::Write, LockMode::Exclusive, Validation::Check)
                    .map_err(|kind| format!("{what}: {kind:?}"))?;
                self.running[at].own.write(&key, &Change::Put(value));
                Ok(())
            }
        }
    }

    /// Undoes a read for update.
    pub(super) fn undo_read(&mut self, at: usize, chance: &mut Chance) {
        let Running { handle, own } = &mut self.running[at];
        let reads = own.undoable();
        if !own.prepared && !reads.is_empty() {
            let key = chance.pick(&reads).clone();
            handle.undo_get_for_update_in(&self.families[key.family], &key.bytes);
            own.undo(&key);
        }
    }
}
