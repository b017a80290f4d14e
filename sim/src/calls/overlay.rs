//! The model of a batch that can be read before it is written.

use std::collections::BTreeMap;

use testkit::chance::Chance;
use testkit::model::Model;

/// A key of a column family.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The index of the column family.
    pub family: usize,
    pub bytes: Vec<u8>,
}

impl Key {
    /// Draws a key of one of two column families.
    pub fn draw(chance: &mut Chance) -> Key {
        Key { family: chance.below(2) as usize, bytes: super::key(chance) }
    }
}

/// The state of all column families.
pub(super) type State = Vec<Model>;

/// The change of a key in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Own {
    Value(Vec<u8>),
    Deleted,
    /// Merge operands for the value in the database.
    Operands(Vec<Vec<u8>>),
}

/// A change of one key.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Put(Vec<u8>),
    /// The value is the default column. The entity has another column too.
    Entity(Vec<u8>),
    Delete,
    Merge(Vec<u8>),
}

impl Change {
    /// Draws a change: a put in 5 of 10 cases, an entity in 1, a deletion in 2, a merge operand in 2.
    pub fn draw(chance: &mut Chance) -> Change {
        match chance.below(10) {
            0..=4 => Change::Put(super::value(chance)),
            5 => Change::Entity(super::value(chance)),
            6 | 7 => Change::Delete,
            _ => Change::Merge(format!("m{}", chance.below(100)).into_bytes()),
        }
    }
}

/// Returns the columns of the entity with this default column.
pub(super) fn columns(value: &[u8]) -> [(&[u8], &[u8]); 2] {
    [(b"", value), (b"other", b"column")]
}

/// The newest state of each key of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Overlay {
    map: BTreeMap<Key, Own>,
}

impl Overlay {
    /// Applies a change to the state of its key. A merge operand joins a value of the batch, or waits for the
    /// value of the database.
    pub fn change(&mut self, key: &Key, change: &Change) {
        let own = match (change, self.map.get(key)) {
            (Change::Put(value) | Change::Entity(value), _) => Own::Value(value.clone()),
            (Change::Delete, _) => Own::Deleted,
            (Change::Merge(operand), None) => Own::Operands(vec![operand.clone()]),
            (Change::Merge(operand), Some(Own::Deleted)) => Own::Value(operand.clone()),
            (Change::Merge(operand), Some(Own::Value(value))) => Own::Value(joined(value, operand)),
            (Change::Merge(operand), Some(Own::Operands(all))) => {
                Own::Operands(all.iter().chain([operand]).cloned().collect())
            }
        };
        self.map.insert(key.clone(), own);
    }

    /// Returns the keys that the batch changes, in order, each once.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.map.keys()
    }

    /// Returns the value of a key from the batch alone: `None` if the value depends on the database.
    pub fn alone(&self, key: &Key) -> Option<Option<Vec<u8>>> {
        match self.map.get(key) {
            None | Some(Own::Deleted) => Some(None),
            Some(Own::Value(value)) => Some(Some(value.clone())),
            Some(Own::Operands(_)) => None,
        }
    }

    /// Returns the value of a key as a read of the batch over the database `below` must return it.
    pub fn read(&self, key: &Key, below: &State) -> Option<Vec<u8>> {
        let base = below[key.family].get(&key.bytes);
        match self.map.get(key) {
            None => base.map(<[u8]>::to_vec),
            Some(Own::Deleted) => None,
            Some(Own::Value(value)) => Some(value.clone()),
            Some(Own::Operands(all)) => {
                let base = base.map(<[u8]>::to_vec);
                all.iter()
                    .fold(base, |value, operand| Some(value.map_or(operand.clone(), |v| joined(&v, operand))))
            }
        }
    }

    /// Applies the batch to the model of the database.
    pub fn apply(&self, state: &mut State) {
        for key in self.map.keys() {
            match self.read(key, state) {
                Some(value) => state[key.family].put(&key.bytes, &value),
                None => state[key.family].delete(&key.bytes),
            }
        }
    }

    /// Returns the rows of a column family as a reader of the batch over the database sees them.
    pub fn rows(&self, family: usize, below: &State) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut all = below.clone();
        self.apply(&mut all);
        all[family].rows()
    }
}

fn joined(value: &[u8], operand: &[u8]) -> Vec<u8> {
    [value, b",", operand].concat()
}
