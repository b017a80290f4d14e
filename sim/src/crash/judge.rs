//! Compares the database after a crash with the states that the crash may leave.

use std::collections::BTreeSet;
use std::path::Path;

use ironstone::{WriteBatch, WriteOptions};
use testkit::model::Model;

use super::World;
use super::recover::Holes;
use crate::audit;
use crate::look;
use crate::sample::Sample;
use crate::script;
use crate::stamp::Stamp;
use crate::state::State;

impl World {
    /// Checks that the recovered rows are a state between the durable and the attempted state. This state becomes the
    /// only state of the history. If the recovery may have skipped records, each key is checked
    /// by itself.
    pub(super) fn compare(&mut self, holes: Holes) -> Result<(), String> {
        self.ran.cycles += 1;
        let db = self.db.clone().ok_or("not open")?;
        let names: Vec<String> = db.families().iter().map(|f| f.name().to_string()).collect();
        let last = self.history.states.last().and_then(|h| h.first()).cloned().unwrap_or_default();
        for name in last.families.keys() {
            if !names.contains(name) && !self.history.doubtful.contains(name) {
                return Err(format!("family {name} is gone"));
            }
        }
        for name in &names {
            if !last.families.contains_key(name) && !self.history.doubtful.contains(name) {
                return Err(format!("family {name} is back"));
            }
        }
        self.history.doubtful.clear();
        let found = audit::rows(&db)?;
        if holes == Holes::None {
            let empty = Model::default();
            let is = |state: &State| {
                names.iter().all(|n| {
                    state.families.get(n).unwrap_or(&empty) == found.families.get(n).unwrap_or(&empty)
                })
            };
            if !self.history.states.iter().rev().flatten().any(is) {
                return Err(self.difference(&found, &names));
            }
        } else {
            self.each_key_was_so(&found)?;
        }
        let sample =
            Sample { text: String::new(), reverse: self.setup.fixed.reverse, prefix: self.setup.prefix };
        let looks = self.chance.next();
        audit::reads(&db, &found, &sample, looks).map_err(|e| format!("after recovery, {e}"))?;
        let snapshot = db.snapshot();
        audit::tree(&db, &*self.machine.env.fs, Path::new("/db"))?;
        let rows: usize = found.families.values().map(Model::len).sum();
        self.ran.hear(rows as u64 ^ db.latest_sequence().get());
        self.ran.shapes.insert(kernel::checksum::xxh3::hash64(self.shape.as_bytes()));
        // A recovered write stays visible, but as in RocksDB it is durable only after a flush or a sync.
        let oldest = self.history.states.first().cloned().unwrap_or_default();
        self.history.restart(vec![oldest, vec![found.clone()]]);
        self.settled()?;
        // `settled` has written a key since the snapshot. The snapshot must not show this write.
        let kind = looks % look::DIFFERENT;
        look::one(&db, &found, &sample, Some(&snapshot), looks.rotate_left(9), 40, kind)
            .map_err(|e| format!("snapshot with a write since: {e}"))
    }

    /// Checks a database that may have holes: each key must have a value of the durable state or of a later state.
    /// Two kinds of keys are exempt: keys with lost merge operands, and keys that reappear because the put under a
    /// single deletion was lost.
    fn each_key_was_so(&self, found: &State) -> Result<(), String> {
        fn of<'a>(state: &'a State, name: &str, key: &[u8]) -> Option<&'a [u8]> {
            state.families.get(name).and_then(|model| model.get(key))
        }
        let states: Vec<&State> = self.history.states.iter().flatten().collect();
        let models = |name| states.iter().filter_map(move |s| s.families.get(name));
        for (name, model) in &found.families {
            let keys = models(name).chain([model]).flat_map(|m| m.iter()).map(|(key, _)| key);
            for key in keys.collect::<BTreeSet<_>>() {
                let got = model.get(key);
                let merged = |v: &[u8]| v.starts_with(b"m") || v.windows(2).any(|w| w == b",m");
                if key.starts_with(&[script::TOGGLES]) || states.iter().any(|s| of(s, name, key) == got) {
                    continue;
                }
                if !states.iter().filter_map(|s| of(s, name, key)).any(merged) {
                    let got = got.map(short);
                    return Err(format!(
                        "{name} {}: {got:?} at no moment since the durable one",
                        key.escape_ascii()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Makes the recovered state durable, so that the next round starts from one known state.
    pub(super) fn settled(&mut self) -> Result<(), String> {
        let db = self.db.as_ref().ok_or("not open")?;
        db.sync_wal().map_err(|e| format!("sync of the WAL: {e}"))?;
        let mut batch = WriteBatch::new();
        let stamp = Stamp::next(db);
        let mut states = self.history.newest();
        // Choose a key that usually exists, and a key that rarely exists. A snapshot must see their old values.
        let first = states
            .first()
            .and_then(|s| s.families.get("default")?.iter().map(|(key, _)| key.to_vec()).next());
        let first = first.filter(|key| !key.starts_with(&[script::TOGGLES]));
        for key in [Some(b"a00\x00".to_vec()), first].into_iter().flatten() {
            stamp.put(&mut batch, db, &key, b"durable");
            for state in &mut states {
                state.families.entry("default".to_string()).or_default().put(&key, b"durable");
            }
        }
        db.write_with(batch, &WriteOptions { sync: true, ..WriteOptions::default() })
            .map_err(|e| format!("synced write: {e}"))?;
        self.history.restart(vec![states]);
        Ok(())
    }

    pub(super) fn second_open(&mut self) -> Result<(), String> {
        let expected = self.history.newest();
        self.open(None).map_err(|e| format!("second open: {e}"))?;
        if self.story.at_length {
            self.story.tell_files(&self.machine.env);
        }
        let db = self.db.clone().ok_or("not open")?;
        let state = expected.first().ok_or("no state")?;
        while self.machine.env.executor.help() {}
        audit::leftovers(&db, &*self.machine.env.fs, Path::new("/db"))?;
        look::all(&db, state, self.setup.fixed.reverse, None).map_err(|e| {
            let names: Vec<String> = db.families().iter().map(|f| f.name().to_string()).collect();
            let difference = audit::rows(&db).map(|found| self.difference(&found, &names));
            format!("second open: {e}; {difference:?}; options {}", self.setup.text)
        })
    }

    fn difference(&self, found: &State, names: &[String]) -> String {
        let mut words = format!("no state of {} is what was recovered", self.history.states.len());
        for name in names {
            let empty = Model::default();
            let got = found.families.get(name).unwrap_or(&empty).rows();
            for (which, states) in
                [("durable", self.history.states.first()), ("attempted", self.history.states.last())]
            {
                for state in states.into_iter().flatten() {
                    let want = state.families.get(name).unwrap_or(&empty).rows();
                    let missing: Vec<String> = want
                        .iter()
                        .filter(|r| !got.contains(r))
                        .map(|(key, value)| format!("-{}={}", key.escape_ascii(), short(value)))
                        .collect();
                    let extra: Vec<String> = got
                        .iter()
                        .filter(|r| !want.contains(r))
                        .map(|(key, value)| format!("+{}={}", key.escape_ascii(), short(value)))
                        .collect();
                    words.push_str(&format!(
                        "\n  {name} against {which}: {} {}",
                        missing.join(" "),
                        extra.join(" ")
                    ));
                }
            }
        }
        words
    }
}

fn short(value: &[u8]) -> String {
    value[..value.len().min(16)].escape_ascii().to_string()
}
