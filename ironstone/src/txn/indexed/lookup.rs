//! The state of one key in an indexed write batch, and its combination with the database.
//!
//! The newest records of a key are merge operands, down to the first record that is not a merge operand. This record is
//! the base: a value, an entity or a deletion. Without such a record the base is in the database.
//! Facts: RocksDB `write_batch_with_index_internal.cc`.

use base::{Error, FamilyId, Kind, Pinned, Result, ValueType};
use engine::source::resolve::{self, Base, Found, Merging, Scratch};

use super::core::Core;
use super::index::{NIL, NodeId};
use crate::Family;

/// The newest state of a key in the batch.
#[derive(Default)]
pub(super) struct Latest {
    /// Merge operands, oldest first.
    pub operands: Vec<Pinned>,
    pub tail: Tail,
}

/// The base onto which the operands are merged.
#[derive(Default)]
pub(super) enum Tail {
    /// The batch has no base. The database may have the base.
    #[default]
    Database,
    Deleted,
    Found(Found),
}

impl Latest {
    /// Returns true if the batch has no record of the key.
    pub fn is_unknown(&self) -> bool {
        self.operands.is_empty() && matches!(self.tail, Tail::Database)
    }

    /// Returns true if the newest record deletes the key.
    pub fn is_deleted(&self) -> bool {
        self.operands.is_empty() && matches!(self.tail, Tail::Deleted)
    }

    /// Returns true if the value depends on the database.
    pub fn needs_database(&self) -> bool {
        matches!(self.tail, Tail::Database)
    }

    /// Appends a suffix to each value and each operand, for a column family whose stored values end with such a suffix.
    ///
    /// # Errors
    /// NotSupported for an entity, if the suffix is not empty.
    pub fn with_suffix(mut self, suffix: &[u8]) -> Result<Latest> {
        if suffix.is_empty() {
            return Ok(self);
        }
        let extended = |value: &Pinned| Pinned::from_vec([&**value, suffix].concat());
        self.operands.iter_mut().for_each(|operand| *operand = extended(operand));
        match &mut self.tail {
            Tail::Found(Found::Value(value)) => *value = extended(value),
            Tail::Found(Found::Entity(_)) => {
                return Err(Error::not_supported("an entity in a TTL database"));
            }
            Tail::Database | Tail::Deleted => {}
        }
        Ok(self)
    }

    /// Returns the value of the key. `existing` is the entry of the database. It is used only if the batch has no
    /// base.
    ///
    /// # Errors
    /// InvalidArgument if there are operands and the column family has no merge operator. The error of the merge
    /// operator.
    pub fn resolve(
        self,
        family: Option<&Family>,
        key: &[u8],
        existing: Option<Found>,
    ) -> Result<Option<Found>> {
        let base = match self.tail {
            Tail::Deleted => None,
            Tail::Found(found) => Some(found),
            Tail::Database => existing,
        };
        if self.operands.is_empty() {
            return Ok(base);
        }
        let base = match base {
            None => Base::None,
            Some(Found::Value(value)) => Base::Value(value),
            Some(Found::Entity(entity)) => Base::Entity(entity),
        };
        merge(family, key, base, self.operands).map(Some)
    }
}

fn merge(family: Option<&Family>, key: &[u8], base: Base, mut operands: Vec<Pinned>) -> Result<Found> {
    let Some(family) = family else {
        return Err(Error::invalid_argument("Must provide a column family"));
    };
    let pin = family.inner().pin_owned();
    let operator = pin.parts.code.merge_operator.as_ref();
    if operator.is_none() {
        return Err(Error::invalid_argument("Merge operator must be set for column family"));
    }
    let how = Merging { operator, statistics: None, is_read: false };
    resolve::merge(how, key, base, &mut operands, &mut Scratch::default())
}

impl Core {
    /// Returns the state of a key in the batch.
    ///
    /// # Errors
    /// Corruption if a record does not decode.
    pub(super) fn latest(&self, family: FamilyId, key: &[u8]) -> Result<Latest> {
        let id = self.index.lower_bound(family, key, self.keys());
        self.latest_from(id, family, key)
    }

    /// Returns the state of a key in the batch. `newest` is the newest record of the key.
    pub(super) fn latest_from(&self, newest: NodeId, family: FamilyId, key: &[u8]) -> Result<Latest> {
        let mut latest = Latest::default();
        let mut id = newest;
        while self.is_of(id, family, key) {
            let record = self.record(id)?;
            let (value_type, _, value) = record.entry().ok_or_else(|| unexpected(self.index.node(id).at))?;
            match value_type {
                ValueType::Merge => latest.operands.push(Pinned::copy(value)),
                ValueType::Value => latest.tail = Tail::Found(Found::Value(Pinned::copy(value))),
                ValueType::WideColumnEntity => latest.tail = Tail::Found(Found::Entity(Pinned::copy(value))),
                ValueType::Deletion | ValueType::SingleDeletion => latest.tail = Tail::Deleted,
                _ => return Err(unexpected(self.index.node(id).at)),
            }
            if value_type != ValueType::Merge {
                break;
            }
            id = self.index.next(id);
        }
        latest.operands.reverse();
        Ok(latest)
    }

    /// Returns true if the node is a record of this key.
    pub(super) fn is_of(&self, id: NodeId, family: FamilyId, key: &[u8]) -> bool {
        id != NIL
            && self.index.node(id).family == family
            && self.orders.of(family).compare_stripped(self.index.key(id, self.batch.bytes()), key).is_eq()
    }
}

fn unexpected(at: usize) -> Error {
    Error::corruption("Unexpected entry in WriteBatchWithIndex").at(at as u64)
}

/// Returns the error for a key whose value depends on a database that the call does not read.
pub(super) fn merge_in_progress() -> Error {
    Error::new(Kind::MergeInProgress, "the write batch has merge operands of the key, and no value")
}
