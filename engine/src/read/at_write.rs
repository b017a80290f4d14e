//! Reads a key during a write and merges an operand with its value, for `max_successive_merges`.

use base::Pinned;
use base::key::{SequenceNumber, ValueType};

use super::Reads;
use super::answer::Answer;
use super::get::{Call, Sought};
use crate::apply::Merger;
use crate::family::Family;
use crate::options::{ReadOptions, ReadTier};
use crate::source::resolve::{self, Base, Found, Merging, Scratch};

impl Merger for Reads {
    fn merged(
        &self,
        family: &Family,
        key: &[u8],
        operand: &[u8],
        seq: SequenceNumber,
        io: bool,
    ) -> Option<(ValueType, Vec<u8>)> {
        let super_version = family.pin();
        let operator = super_version.parts.code.merge_operator.as_ref();
        let read_tier = if io { ReadTier::All } else { ReadTier::BlockCache };
        let options = ReadOptions { read_tier, ..ReadOptions::default() };
        let statistics = self.stats.statistics();
        let mut answer = Answer::new(operator, statistics, self.blobs(family, &super_version, &options));
        let sought = Sought { key, full: key, seq, options: &options, call: Call::Get };
        self.walk(&super_version, sought, &mut answer).ok()?;
        let base = match answer.finish(key).ok()?? {
            Found::Value(value) => Base::Value(value),
            Found::Entity(entity) => Base::Entity(entity),
        };
        let mut operands = vec![Pinned::copy(operand)];
        let how = Merging { operator, statistics, is_read: false };
        match resolve::merge(how, key, base, &mut operands, &mut Scratch::default()).ok()? {
            Found::Value(value) => Some((ValueType::Value, value.to_vec())),
            Found::Entity(entity) => Some((ValueType::WideColumnEntity, entity.to_vec())),
        }
    }
}
