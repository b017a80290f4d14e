//! The expected state: a model for each column family, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use ironstone::{Family, WriteBatch};
use testkit::model::Model;

use crate::script::Change;
use crate::stamp::Stamp;

/// A key of a column family.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The name of the column family.
    pub family: String,
    pub bytes: Vec<u8>,
}

impl Key {
    /// Makes a key of the column family with this name.
    pub fn new(family: &str, bytes: &[u8]) -> Key {
        Key { family: family.to_string(), bytes: bytes.to_vec() }
    }
}

/// The state of all column families.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub families: BTreeMap<String, Model>,
}

impl State {
    /// Makes the state of a new database: the column family `default` without rows.
    pub fn new() -> State {
        let mut state = State::default();
        state.families.insert("default".to_string(), Model::default());
        state
    }

    /// Returns the rows of a column family. Returns no rows if the column family does not exist in this state.
    pub fn rows(&self, family: &str, reverse: bool) -> Vec<(Arc<[u8]>, Arc<[u8]>)> {
        let mut rows = self.families.get(family).map(Model::shared_rows).unwrap_or_default();
        if reverse {
            rows.reverse();
        }
        rows
    }

    /// Applies the change to this state and adds it to the batch.
    pub fn change(
        &mut self,
        change: &Change,
        families: &[Family],
        reverse: bool,
        stamp: Stamp,
        batch: &mut WriteBatch,
    ) {
        let pick = |n: &u64| &families[(*n % families.len() as u64) as usize];
        match change {
            Change::Put(f, key, value) => {
                stamp.put(batch, pick(f), key, value);
                self.of(pick(f)).put(key, value);
            }
            Change::Delete(f, key) => {
                stamp.delete(batch, pick(f), key);
                self.of(pick(f)).delete(key);
            }
            Change::Merge(f, key, operand) => {
                stamp.merge(batch, pick(f), key, operand);
                self.of(pick(f)).append(key, operand);
            }
            // Plain tables hold no range tombstones, so range deletions would be rejected.
            Change::DeleteRange(f, key, _) if !pick(f).options().table_factory.holds_range_tombstones() => {
                stamp.delete(batch, pick(f), key);
                self.of(pick(f)).delete(key);
            }
            Change::DeleteRange(f, a, b) if !reverse => {
                stamp.delete_range(batch, pick(f), a, b);
                self.of(pick(f)).delete_range(a, b);
            }
            // In the reverse order the range is (b, a] of bytes: b is its first key, and a is the first key after it.
            Change::DeleteRange(f, a, b) => {
                stamp.delete_range(batch, pick(f), b, a);
                let model = self.of(pick(f));
                let keep = model.get(a).map(<[u8]>::to_vec);
                let last = model.get(b).is_some() && a < b;
                model.delete_range(a, b);
                if last {
                    model.delete(b);
                }
                if let Some(keep) = keep {
                    model.put(a, &keep);
                }
            }
            Change::Toggle(f, key, value) => {
                if self.of(pick(f)).get(key).is_some() {
                    stamp.single_delete(batch, pick(f), key);
                    self.of(pick(f)).delete(key);
                } else {
                    stamp.put(batch, pick(f), key, value);
                    self.of(pick(f)).put(key, value);
                }
            }
        }
    }

    fn of(&mut self, family: &Family) -> &mut Model {
        self.families.entry(family.name().to_string()).or_default()
    }
}
