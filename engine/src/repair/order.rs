//! Merges SST files that have no valid order on level 0.
//!
//! On level 0, a whole SST file is newer than another SST file. A read takes the first entry that it
//! finds, and a range tombstone deletes the entries of all older files, whatever their sequence numbers.
//! Two SST files of different levels can overlap in keys and in sequence numbers. Then neither file is
//! newer for every key, and the former levels, which decided, are unknown. Repair merges such files into one SST
//! file, in which the sequence numbers decide.
//!
//! RocksDB orders such files by their newest sequence number (`db/version_builder.cc`), and may return older entries.

use base::iter::InternalIterator;
use base::key::{InternalOrder, user_key};
use base::{Arrange, EpochNumber, FamilyId, Level, Order, Result, SequenceNumber, key};
use env::ReadHints;
use format::edit::{FileTimes, NewFile};
use lsm::merging::Merging;
use table::any::AnyReader;
use table::sst::ReadCtx;

use super::apply::{Repair, rewritten};
use super::found::{State, Table};
use super::terms::{descriptor_of, parts_of, table_options};
use crate::output::{OutputSettings, Rewrite};

/// A group of overlapping SST files, and the key range of the whole group.
struct Group {
    members: Vec<Table>,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    first: SequenceNumber,
    last: SequenceNumber,
}

impl Group {
    fn of(table: Table) -> Group {
        let NewFile { smallest, largest, smallest_seqno: first, largest_seqno: last, .. } =
            table.record.clone();
        Group { members: vec![table], smallest, largest, first, last }
    }

    fn overlaps(&self, order: &Order, other: &Group) -> bool {
        let before =
            |a: &Group, b: &Group| order.compare(user_key(&a.largest), user_key(&b.smallest)).is_lt();
        self.first <= other.last && other.first <= self.last && !before(self, other) && !before(other, self)
    }

    fn take(&mut self, order: &InternalOrder, other: Group) {
        self.members.extend(other.members);
        (self.first, self.last) = (self.first.min(other.first), self.last.max(other.last));
        base::invariant!(
            self.first <= self.last,
            "merged SST files have the sequence numbers {} to {}",
            self.first,
            self.last
        );
        if order.compare(&other.smallest, &self.smallest).is_lt() {
            self.smallest = other.smallest;
        }
        if order.compare(&other.largest, &self.largest).is_gt() {
            self.largest = other.largest;
        }
    }
}

/// Merges SST files that overlap into groups. No group overlaps another group.
fn groups(order: &Order, tables: Vec<Table>) -> Vec<Group> {
    let internal = InternalOrder::new(order.clone());
    let mut done: Vec<Group> = Vec::new();
    for table in tables {
        let mut group = Group::of(table);
        // With each added group, the merged group can overlap more groups.
        while let Some(at) = done.iter().position(|other| other.overlaps(order, &group)) {
            group.take(&internal, done.swap_remove(at));
        }
        done.push(group);
    }
    base::invariant!(
        done.iter()
            .enumerate()
            .all(|(at, group)| !done[..at].iter().any(|other| other.overlaps(order, group))),
        "two of {} groups of SST files overlap",
        done.len()
    );
    done
}

impl Repair<'_> {
    /// Returns SST files of a column family that have a valid order on level 0. Merges SST files where necessary.
    pub(super) fn with_one_order(&mut self, family: FamilyId, tables: Vec<Table>) -> Result<Vec<Table>> {
        let recovered = &self.survey.manifest.recovered;
        let record = recovered.families.get(&family);
        let (name, comparator) =
            record.map_or(("default", None), |f| (f.name.as_str(), f.comparator.as_deref()));
        let (name, descriptor) = (name.to_string(), descriptor_of(self.scope, name, comparator)?);
        let order = descriptor.options.comparator.clone();
        let parts =
            parts_of(self.scope, &descriptor, record.and_then(|f| f.persist_user_defined_timestamps))?;
        let mut out = Vec::new();
        for group in groups(&order, tables) {
            if group.members.len() == 1 {
                out.extend(group.members);
                continue;
            }
            let table = merged_record(family, &group);
            let settings =
                self.settings(&table, name.clone(), parts.clone(), &descriptor.options.compression_opts);
            out.push(self.merge(&order, group, table, &settings)?);
        }
        Ok(out)
    }

    fn merge(
        &mut self,
        order: &Order,
        mut group: Group,
        mut table: Table,
        settings: &OutputSettings,
    ) -> Result<Table> {
        // Newest file first: `write_rows` takes an entry that is in two files from the newer file.
        group.members.arrange_by_key(|t| std::cmp::Reverse(t.record.number));
        let mut readers = Vec::new();
        for member in &group.members {
            let file = self.env.fs.open_random(&member.path, &ReadHints::default())?;
            let size = file.size()?;
            let reader = AnyReader::open(file, size, &table_options(order, &member.record))
                .map_err(|e| e.file(&member.path))?;
            readers.push(reader);
        }
        let mut new = Rewrite::begin(settings)?;
        let written = write_rows(order, &readers, &mut new)
            .and_then(|rows| new.add_tombstones(&tombstones(order, &group, &readers)).map(|()| rows));
        let rows = match written {
            Ok(rows) => rows,
            Err(error) => {
                new.abandon();
                return Err(error.doing("merging SST files that overlap"));
            }
        };
        let new = new.finish()?;
        let names: Vec<_> = group.members.iter().map(|t| format!("{:06}.sst", t.record.number)).collect();
        let number = new.meta.number;
        base::invariant!(
            group.members.iter().all(|member| member.record.number != number),
            "the merged SST file {number} has the number of an input file"
        );
        self.actions.push(format!(
            "{} overlap in keys and sequence numbers: merged into {number:06}.sst, {rows} entries",
            names.join(", ")
        ));
        table.record = rewritten(&table.record, &new);
        table.path = settings.parts.table_path(number, 0);
        for member in group.members {
            self.set_aside(member.path);
        }
        self.written.push(new);
        Ok(table)
    }
}

/// Returns the record of the merged SST file, as far as it is known before the file is written.
fn merged_record(family: FamilyId, group: &Group) -> Table {
    base::invariant!(group.members.len() > 1, "a group of {} SST files is merged", group.members.len());
    let records = || group.members.iter().map(|t| &t.record);
    let record = NewFile {
        level: Level::ZERO,
        file_size: records().map(|r| r.file_size).sum(),
        smallest: group.smallest.clone(),
        largest: group.largest.clone(),
        smallest_seqno: group.first,
        largest_seqno: group.last,
        times: FileTimes {
            oldest_ancester: records().map(|r| r.times.oldest_ancester).filter(|s| *s > 0).min().unwrap_or(0),
            creation: records().map(|r| r.times.creation).max().unwrap_or(0),
        },
        // The merged file has every blob reference of its members.
        oldest_blob_file_number: records().filter_map(|r| r.oldest_blob_file_number).min(),
        epoch_number: EpochNumber::FIRST,
        ..NewFile::default()
    };
    Table { family, record, path: Default::default(), state: State::Whole, adopted: true, edges: None }
}

/// Writes all entries, each write once, and returns their number. Two SST files can have entries of one
/// write, if a compaction merged the write with other writes. Then the entry of the later file is written.
/// `readers` has the newest file first.
fn write_rows(order: &Order, readers: &[AnyReader], new: &mut Rewrite<'_>) -> Result<u64> {
    let ctx = ReadCtx { fill_cache: false, ..ReadCtx::default() };
    let sources: Vec<_> = readers.iter().map(|reader| reader.iter(&ctx)).collect();
    let mut iter = Merging::new(InternalOrder::new(order.clone()), sources);
    let (mut key, mut value, mut from, mut rows) = (Vec::new(), Vec::new(), 0, 0u64);
    iter.seek_to_first();
    while iter.valid() {
        let same = rows > 0 && iter.key().len() == key.len() && write_of(iter.key()) == write_of(&key);
        if !same && rows > 0 {
            new.add(&key, &value)?;
        }
        if !same || iter.current_source() < from {
            (key, value) = (iter.key().to_vec(), iter.value().to_vec());
            from = iter.current_source();
        }
        rows += u64::from(!same);
        iter.next();
    }
    iter.status()?;
    if rows > 0 {
        new.add(&key, &value)?;
    }
    Ok(rows)
}

/// Returns what identifies a write: user key and sequence number.
fn write_of(row: &[u8]) -> (&[u8], SequenceNumber) {
    (user_key(row), key::sequence(row))
}

/// Returns the range tombstones, each limited to the bounds of its SST file.
fn tombstones(order: &Order, group: &Group, readers: &[AnyReader]) -> Vec<(Vec<u8>, Vec<u8>)> {
    base::invariant!(
        readers.len() == group.members.len(),
        "{} of {} SST files of a group are open",
        readers.len(),
        group.members.len()
    );
    let internal = InternalOrder::new(order.clone());
    let mut out: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (member, reader) in group.members.iter().zip(readers) {
        let (smallest, largest) = (user_key(&member.record.smallest), user_key(&member.record.largest));
        for (start, end) in reader.range_tombstones() {
            let (user, seq, value_type) = key::split(start);
            let from = if order.compare(user, smallest).is_lt() { smallest } else { user };
            let to = if order.compare(end, largest).is_gt() { largest } else { end };
            if order.compare(from, to).is_lt() {
                let mut start = Vec::new();
                key::append_with_trailer(&mut start, from, key::pack(seq, value_type));
                out.push((start, to.to_vec()));
            }
        }
    }
    out.arrange_by(|(a, a_end), (b, b_end)| internal.compare(a, b).then_with(|| order.compare(b_end, a_end)));
    // Of the tombstones with one start and one sequence number, the longest is first. The others are dropped.
    out.dedup_by(|(later, _), (first, _)| later == first);
    out
}
