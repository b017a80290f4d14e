//! `CassandraValueMergeOperator` and `CassandraCompactionFilter`: rows of Cassandra as values.
//!
//! ```text
//! row        local deletion time 4 | marked for delete at 8 | column ...        a row without columns can be a row tombstone
//! column     mask 1 | index 1 | timestamp 8 | length 4 | value
//! expiring   mask 1 | index 1 | timestamp 8 | length 4 | value | TTL in seconds 4        mask 2
//! tombstone  mask 1 | index 1 | local deletion time 4 | marked for delete at 8           mask 1
//! ```
//!
//! Numbers are big-endian. Timestamps are in microseconds, deletion times in seconds. If a value does not decode, a merge
//! fails and the filter keeps the value. Facts: RocksDB `utilities/cassandra`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Arrange, Pinned};
use env::{Clock, Env};
use lsm::filter::{CompactionFilter, Decision, FilterInput, FilterKind};
use lsm::merge::{Existing, Failure, FullMerge, MergeOperator, Merged};

use crate::callbacks::{FilterObject, MergeOperatorObject};
use crate::handle::Handle;
use crate::native::{disposers, natives};

const DELETION: u8 = 1;
const EXPIRATION: u8 = 2;
const NOT_DELETED: (i32, i64) = (i32::MAX, i64::MIN);
const MICROS: i64 = 1_000_000;

/// A column, as its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column<'a> {
    mask: u8,
    index: i8,
    timestamp: i64,
    /// All bytes of the column.
    bytes: &'a [u8],
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row<'a> {
    /// Local deletion time and time of the deletion of the whole row.
    deletion: (i32, i64),
    columns: Vec<Column<'a>>,
    last_modified: i64,
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

impl<'a> Column<'a> {
    fn decode(input: &mut &'a [u8]) -> Option<Column<'a>> {
        let start = *input;
        let [mask, index] = take::<2>(input)?;
        let timestamp = if mask & DELETION != 0 {
            take::<4>(input)?;
            i64::from_be_bytes(take(input)?)
        } else {
            let timestamp = i64::from_be_bytes(take(input)?);
            let len = usize::try_from(i32::from_be_bytes(take(input)?)).ok()?;
            *input = input.get(len..)?;
            if mask & EXPIRATION != 0 {
                take::<4>(input)?;
            }
            timestamp
        };
        let bytes = &start[..start.len() - input.len()];
        Some(Column { mask, index: index as i8, timestamp, bytes })
    }

    /// Returns the last four bytes: the time to live of an expiring column.
    fn ttl(&self) -> i64 {
        self.bytes.last_chunk().map_or(0, |bytes| i64::from(i32::from_be_bytes(*bytes)))
    }

    /// Returns the time at which an expiring column expires, in microseconds.
    fn end(&self) -> i64 {
        self.timestamp.saturating_add(self.ttl() * MICROS)
    }

    fn has_expired(&self, now_us: i64) -> bool {
        self.mask == EXPIRATION && self.end() < now_us
    }

    /// Returns true if a tombstone is older than the grace period.
    fn is_collectable(&self, grace_seconds: i64, now_us: i64) -> bool {
        let deleted = self.bytes.get(2..).and_then(|bytes| bytes.first_chunk());
        let deleted = deleted.map_or(0, |bytes| i64::from(i32::from_be_bytes(*bytes)));
        self.mask == DELETION && (deleted + grace_seconds).saturating_mul(MICROS) < now_us
    }

    /// Writes the tombstone that replaces an expired column.
    fn encode_tombstone(&self, out: &mut Vec<u8>) {
        out.extend([DELETION, self.index as u8]);
        out.extend(((self.end() / MICROS) as i32).to_be_bytes());
        out.extend(self.end().to_be_bytes());
    }
}

impl<'a> Row<'a> {
    fn decode(mut input: &'a [u8]) -> Option<Row<'a>> {
        let local = i32::from_be_bytes(take(&mut input)?);
        let marked = i64::from_be_bytes(take(&mut input)?);
        let mut row = Row { deletion: (local, marked), columns: Vec::new(), last_modified: 0 };
        while !input.is_empty() {
            let column = Column::decode(&mut input)?;
            row.last_modified = row.last_modified.max(column.timestamp);
            row.columns.push(column);
        }
        if !row.columns.is_empty() {
            row.deletion = NOT_DELETED;
        }
        Some(row)
    }

    fn is_tombstone(&self) -> bool {
        self.deletion.1 > NOT_DELETED.1
    }

    fn last_modified(&self) -> i64 {
        if self.is_tombstone() { self.deletion.1 } else { self.last_modified }
    }

    /// Makes a row of the given columns.
    fn of(columns: Vec<Column<'a>>) -> Row<'a> {
        let last_modified = columns.iter().map(|column| column.timestamp).fold(0, i64::max);
        Row { deletion: NOT_DELETED, columns, last_modified }
    }

    /// Merges rows: keeps the newest entry of each column, and drops the columns that the newest row tombstone deletes.
    fn merge(mut rows: Vec<Row<'a>>) -> Option<Row<'a>> {
        if rows.len() < 2 {
            return rows.pop();
        }
        rows.arrange_by_key(|row| std::cmp::Reverse(row.last_modified()));
        let mut newest: BTreeMap<i8, Column<'a>> = BTreeMap::new();
        let mut deleted_at = 0;
        for row in rows {
            if row.is_tombstone() {
                if newest.is_empty() {
                    return Some(row);
                }
                deleted_at = row.last_modified();
                break;
            }
            for column in row.columns {
                let known = newest.entry(column.index).or_insert(column);
                if column.timestamp > known.timestamp {
                    *known = column;
                }
            }
        }
        Some(Row::of(newest.into_values().filter(|column| column.timestamp > deleted_at).collect()))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.deletion.0.to_be_bytes());
        out.extend(self.deletion.1.to_be_bytes());
        self.columns.iter().for_each(|column| out.extend_from_slice(column.bytes));
    }
}

/// `CassandraValueMergeOperator`.
struct CassandraMerge {
    grace_seconds: i64,
    operands_limit: usize,
    clock: Arc<dyn Clock>,
}

impl MergeOperator for CassandraMerge {
    fn name(&self) -> &str {
        "CassandraValueMergeOperator"
    }

    fn option_text(&self) -> String {
        let (grace, limit) = (self.grace_seconds, self.operands_limit);
        format!(
            "{{id=CassandraValueMergeOperator;gc_grace_period_in_seconds={grace};operands_limit={limit};}}"
        )
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Result<Merged, Failure> {
        let existing = match merge.existing {
            Existing::None => None,
            Existing::Value(value) => Some(value),
            Existing::Columns(_) => return Err(Failure::Merge),
        };
        let values = existing.into_iter().chain(merge.operands.iter().copied());
        let rows: Option<Vec<_>> = values.map(Row::decode).collect();
        let row = rows.and_then(Row::merge).ok_or(Failure::Merge)?;
        let now_us = self.clock.now_micros() as i64;
        let kept =
            row.columns.into_iter().filter(|column| !column.is_collectable(self.grace_seconds, now_us));
        Row::of(kept.collect()).encode(out);
        Ok(Merged::New)
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let rows: Option<Vec<_>> = operands.iter().map(|operand| Row::decode(operand)).collect();
        let Some(row) = rows.and_then(Row::merge) else { return false };
        row.encode(out);
        true
    }

    fn allow_single_operand(&self) -> bool {
        true
    }

    fn should_merge(&self, newest_first: &[Pinned]) -> bool {
        self.operands_limit > 0 && newest_first.len() >= self.operands_limit
    }
}

/// `CassandraCompactionFilter`.
struct CassandraFilter {
    /// If true, expired columns are removed. If false, expired columns become tombstones.
    purges_expired: bool,
    grace_seconds: i64,
    clock: Arc<dyn Clock>,
}

impl CassandraFilter {
    /// Decides whether the row is kept, removed or replaced. As in RocksDB, the row is replaced only if a column expired. The
    /// removal of an old tombstone alone does not replace the row.
    fn decide(&self, row: &Row<'_>, is_value: bool) -> Decision {
        let now_us = self.clock.now_micros() as i64;
        let (mut count, mut is_changed) = (0, false);
        let mut new = Vec::new();
        Row::of(Vec::new()).encode(&mut new);
        for column in &row.columns {
            let mut place = Vec::new();
            let bytes = if column.has_expired(now_us) {
                is_changed = true;
                if self.purges_expired {
                    continue;
                }
                column.encode_tombstone(&mut place);
                &place
            } else {
                column.bytes
            };
            let mut input = bytes;
            let collects = |column: Column<'_>| column.is_collectable(self.grace_seconds, now_us);
            if is_value && Column::decode(&mut input).is_some_and(collects) {
                continue;
            }
            count += 1;
            new.extend_from_slice(bytes);
        }
        match (count, is_changed) {
            (0, _) => Decision::Remove,
            (_, true) => Decision::ChangeValue(new),
            (_, false) => Decision::Keep,
        }
    }
}

impl CompactionFilter for CassandraFilter {
    fn name(&self) -> &str {
        "CassandraCompactionFilter"
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        let is_value = input.kind == FilterKind::Value;
        if !is_value && input.kind != FilterKind::MergeOperand {
            return Decision::Keep;
        }
        Row::decode(input.value).map_or(Decision::Keep, |row| self.decide(&row, is_value))
    }
}

disposers! {
    CassandraValueMergeOperator: MergeOperatorObject;
}

natives! {
    fn CassandraValueMergeOperator_newSharedCassandraValueMergeOperator[_](grace_seconds: i32, limit: i32) -> Handle {
        let operator = CassandraMerge {
            grace_seconds: i64::from(grace_seconds),
            operands_limit: usize::try_from(limit).unwrap_or(0),
            clock: Env::posix().clock,
        };
        Handle::new(MergeOperatorObject { operator: Arc::new(operator) })
    }

    fn CassandraCompactionFilter_createNewCassandraCompactionFilter0[_](purges: bool, grace_seconds: i32) -> Handle {
        let filter = CassandraFilter {
            purges_expired: purges,
            grace_seconds: i64::from(grace_seconds),
            clock: Env::posix().clock,
        };
        Handle::new(FilterObject { filter: Arc::new(filter) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(index: u8, timestamp: i64, value: &[u8], ttl: Option<i32>) -> Vec<u8> {
        let mut bytes = vec![if ttl.is_some() { EXPIRATION } else { 0 }, index];
        bytes.extend(timestamp.to_be_bytes());
        bytes.extend((value.len() as i32).to_be_bytes());
        bytes.extend(value);
        bytes.extend(ttl.into_iter().flat_map(i32::to_be_bytes));
        bytes
    }

    fn row(columns: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Row::of(Vec::new()).encode(&mut bytes);
        columns.iter().for_each(|column| bytes.extend(column));
        bytes
    }

    fn merge(rows: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        Row::merge(rows.iter().map(|row| Row::decode(row).unwrap()).collect()).unwrap().encode(&mut out);
        out
    }

    #[test]
    fn the_newest_version_of_each_column_is_kept() {
        let old = row(&[column(1, 5, b"a", None), column(2, 9, b"b", None)]);
        let new = row(&[column(1, 7, b"c", None)]);
        let merged = row(&[column(1, 7, b"c", None), column(2, 9, b"b", None)]);
        assert_eq!(merge(&[&old, &new]), merged);
        assert_eq!(merge(&[&new, &old]), merged);
    }

    #[test]
    fn a_row_tombstone_deletes_older_columns() {
        let mut tombstone = Vec::new();
        Row { deletion: (1, 6), columns: Vec::new(), last_modified: 0 }.encode(&mut tombstone);
        let columns = row(&[column(1, 5, b"a", None), column(2, 9, b"b", None)]);
        assert_eq!(merge(&[&columns, &tombstone]), row(&[column(2, 9, b"b", None)]));
        assert_eq!(merge(&[&row(&[column(1, 5, b"a", None)]), &tombstone]), tombstone);
    }

    fn filter(purges_expired: bool, value: &[u8], kind: FilterKind) -> Decision {
        let clock = Env::posix().clock;
        let filter = CassandraFilter { purges_expired, grace_seconds: 0, clock };
        filter.filter(&FilterInput { level: base::Level::ZERO, user_key: b"k", kind, value })
    }

    #[test]
    fn an_expired_column_is_removed_or_becomes_a_tombstone() {
        let expired = column(1, 2_000_000, b"a", Some(3));
        let alive = column(2, 9, b"b", None);
        let value = row(&[expired.clone(), alive.clone()]);
        let rest = Decision::ChangeValue(row(std::slice::from_ref(&alive)));
        assert_eq!(filter(true, &value, FilterKind::Value), rest);
        let mut tombstone = vec![DELETION, 1];
        tombstone.extend(5_i32.to_be_bytes());
        tombstone.extend(5_000_000_i64.to_be_bytes());
        let with_tombstone = Decision::ChangeValue(row(&[tombstone, alive]));
        assert_eq!(filter(false, &value, FilterKind::MergeOperand), with_tombstone);
        assert_eq!(filter(false, &row(&[expired]), FilterKind::Value), Decision::Remove);
    }

    #[test]
    fn a_value_that_does_not_decode_is_kept() {
        let value = row(&[column(1, 2_000_000, b"abc", Some(3))]);
        for len in 0..value.len() {
            let expected = if len == 12 { Decision::Remove } else { Decision::Keep };
            assert_eq!(filter(true, &value[..len], FilterKind::Value), expected, "{len} bytes");
        }
    }
}
