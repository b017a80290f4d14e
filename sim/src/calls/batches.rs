//! Write batches: their records, sizes, save points and limits, and the part of a batch that goes to the WAL.
//!
//! The model of a batch is the list of its records. The model of the database has the rows after the last open and the rows now: a
//! batch with a WAL termination point keeps only its first records through an open that replays the WAL.

use base::{FamilyId, Subcode};
use format::wide::{self, Column};
use ironstone::{Db, Family, Kind, Marker, Options, Record, WriteBatch, WriteOptions};
use testkit::chance::Chance;

use super::indexed::rows_equal;
use super::overlay::State;
use super::{FAMILIES, Setting, World, key, same, told, value};

/// One record of a batch. The number is the index of the column family.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Put(usize, Vec<u8>, Vec<u8>),
    /// The value is the default column. There is one other column.
    Entity(usize, Vec<u8>, Vec<u8>),
    Delete(usize, Vec<u8>),
    Merge(usize, Vec<u8>, Vec<u8>),
    DeleteRange(usize, Vec<u8>, Vec<u8>),
    LogData(Vec<u8>),
    Noop,
}

/// The limits of a batch.
#[derive(Clone, Debug, Default)]
struct Model {
    changes: Vec<Change>,
    /// The number of records at each save point, and the size of the batch.
    saves: Vec<(usize, usize)>,
    /// The number of records before the WAL termination point.
    logged: Option<usize>,
}

impl Model {
    fn count(&self) -> u32 {
        self.changes.iter().filter(|change| !matches!(change, Change::LogData(_) | Change::Noop)).count()
            as u32
    }
}

/// A database that is written by batches, and its model.
pub(super) struct Batches {
    options: Options,
    db: Option<Db>,
    families: Vec<Family>,
    state: State,
    batch: WriteBatch,
    model: Model,
    /// The largest size of the batch in bytes; 0: no limit.
    bytes_max: usize,
}

impl Batches {
    /// Opens the database. Replaces options with which a close flushes, or with which the WAL has not every record.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting) -> Result<Batches, String> {
        let mut options = setting.options.clone();
        options
            .update("avoid_flush_during_shutdown=true;manual_wal_flush=false;inplace_update_support=false")
            .map_err(told("options"))?;
        let mut world = Batches {
            options,
            db: None,
            families: Vec::new(),
            state: vec![Default::default(); FAMILIES.len()],
            batch: WriteBatch::new(),
            model: Model::default(),
            bytes_max: 0,
        };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let (db, families) = super::open(&self.options, super::families(&self.options))?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        self.families.clear();
        super::close(&mut self.db)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn id(&self, at: usize) -> FamilyId {
        self.families[at].id()
    }

    fn draw(&self, chance: &mut Chance) -> Change {
        let at = chance.below(2) as usize;
        match chance.below(20) {
            0..8 => Change::Put(at, key(chance), value(chance)),
            8..10 => Change::Entity(at, key(chance), value(chance)),
            10..13 => Change::Delete(at, key(chance)),
            13..16 => Change::Merge(at, key(chance), b"more".to_vec()),
            16 | 17 => {
                let (a, b) = (key(chance), key(chance));
                Change::DeleteRange(at, a.clone().min(b.clone()), a.max(b))
            }
            18 => Change::LogData(chance.bytes(5)),
            _ => Change::Noop,
        }
    }

    /// Adds a record by one of its calls.
    fn add(&self, batch: &mut WriteBatch, change: &Change, chance: &mut Chance) {
        let in_default = |at: &usize| *at == 0;
        let short = chance.percent(50);
        match change {
            Change::Put(at, key, value) if short && in_default(at) => batch.put(key, value),
            Change::Put(at, key, value) => batch.put_in(self.id(*at), key, value),
            Change::Entity(at, key, value) if short => {
                batch.put_encoded_entity_in(self.id(*at), key, &encoded(value))
            }
            Change::Entity(0, key, value) => batch.put_entity(key, &[(b"other", b"column"), (b"", value)]),
            Change::Entity(at, key, value) => {
                batch.put_entity_in(self.id(*at), key, &[(b"other", b"column"), (b"", value)])
            }
            Change::Delete(at, key) if short && in_default(at) => batch.delete(key),
            Change::Delete(at, key) => batch.delete_in(self.id(*at), key),
            Change::Merge(at, key, operand) if short && in_default(at) => batch.merge(key, operand),
            Change::Merge(at, key, operand) => batch.merge_in(self.id(*at), key, operand),
            Change::DeleteRange(at, a, b) if short && in_default(at) => batch.delete_range(a, b),
            Change::DeleteRange(at, a, b) => batch.delete_range_in(self.id(*at), a, b),
            Change::LogData(blob) => batch.put_log_data(blob),
            Change::Noop => batch.marker(Marker::Noop),
        };
    }

    fn grow(&mut self, chance: &mut Chance) -> Result<(), String> {
        let change = self.draw(chance);
        let mut batch = std::mem::take(&mut self.batch);
        if chance.percent(15) {
            let mut other = WriteBatch::with_capacity(100);
            self.add(&mut other, &change, chance);
            batch.append(&other);
        } else {
            self.add(&mut batch, &change, chance);
        }
        self.batch = batch;
        self.model.changes.push(change);
        self.check_batch()
    }

    /// Compares everything that the batch says of itself with the model.
    fn check_batch(&self) -> Result<(), String> {
        let (batch, model) = (&self.batch, &self.model);
        same("count", &batch.count(), &model.count())?;
        let sizes = (batch.data_size(), batch.data_size() - batch.records().len());
        same("size", &sizes, &(batch.bytes().len(), 12))?;
        same("is empty", &batch.is_empty(), &model.changes.is_empty())?;
        same("save points", &batch.save_point_sizes().collect::<Vec<_>>(), &sizes_of(model))?;
        same("last save point", &batch.save_point_size(), &model.saves.last().map(|save| save.1))?;
        let counted = |changes: &[Change]| Model { changes: changes.to_vec(), ..Model::default() }.count();
        let logged = model.logged.map(|logged| counted(&model.changes[..logged]));
        same("logged records", &batch.wal_termination_point().map(|point| point.1), &logged)?;
        same("records", &self.listed(batch)?, &model.changes)?;
        let has = |of: fn(&Change) -> bool| model.changes.iter().any(of);
        let contents = batch.contents();
        same("merges", &contents.merges, &has(|change| matches!(change, Change::Merge(..))))?;
        let ranges = has(|change| matches!(change, Change::DeleteRange(..)));
        same("range deletions", &contents.range_deletions, &ranges)?;
        let exceeds = self.bytes_max > 0 && batch.data_size() > self.bytes_max;
        let status = batch.status().map_err(|error| (error.kind(), error.subcode()));
        same("status", &status, &if exceeds { Err((Kind::Aborted, Subcode::MemoryLimit)) } else { Ok(()) })
    }

    /// Reads the records of a batch.
    fn listed(&self, batch: &WriteBatch) -> Result<Vec<Change>, String> {
        let at = |family: FamilyId| usize::from(family != FamilyId::DEFAULT);
        let change = |record: Record<'_>| {
            Ok(match record {
                Record::Put { family, key, value } => Change::Put(at(family), key.to_vec(), value.to_vec()),
                Record::PutEntity { family, key, entity } => {
                    let columns = wide::decode(entity).map_err(told("an entity"))?;
                    let names: Vec<&[u8]> = columns.iter().map(|column| column.name).collect();
                    same("columns", &names, &vec![&b""[..], b"other"])?;
                    Change::Entity(at(family), key.to_vec(), columns[0].value.to_vec())
                }
                Record::Delete { family, key } => Change::Delete(at(family), key.to_vec()),
                Record::Merge { family, key, operand } => {
                    Change::Merge(at(family), key.to_vec(), operand.to_vec())
                }
                Record::DeleteRange { family, begin, end } => {
                    Change::DeleteRange(at(family), begin.to_vec(), end.to_vec())
                }
                Record::LogData(blob) => Change::LogData(blob.to_vec()),
                Record::Marker(Marker::Noop) => Change::Noop,
                other => return Err(format!("a record of a batch: {other:?}")),
            })
        };
        batch.iter().map(|record| change(record.map_err(told("a record"))?)).collect()
    }

    fn save_points(&mut self, chance: &mut Chance) -> Result<(), String> {
        let what = chance.below(4);
        if what < 2 {
            self.batch.set_save_point();
            self.model.saves.push((self.model.changes.len(), self.batch.data_size()));
            return self.check_batch();
        }
        let done = if what == 2 { self.batch.rollback_to_save_point() } else { self.batch.pop_save_point() };
        match (done, self.model.saves.pop()) {
            (Ok(()), Some((len, _))) if what == 2 => {
                self.model.changes.truncate(len);
                // Records that are added later are after the WAL termination point.
                self.model.logged = self.model.logged.map(|logged| logged.min(len));
            }
            (Ok(()), Some(_)) => {}
            (Err(error), None) if error.kind() == Kind::NotFound => {}
            (done, save) => return Err(format!("{done:?} with the save point {save:?}")),
        }
        self.check_batch()
    }

    /// Adds a record whose key or value has 4 GiB to another batch. The batch keeps its other records, and no write accepts the batch.
    /// A batch that takes over the record is not accepted either. A rollback removes the record.
    fn oversize(&self, chance: &mut Chance) -> Result<(), String> {
        // The record is refused for its length. No byte is read, so the system gives no memory.
        let huge = vec![0; u32::MAX as usize + 1];
        let (id, stamp) = (self.id(chance.below(2) as usize), 7u64.to_le_bytes());
        let (key, value): (&[u8], &[u8]) = if chance.percent(50) { (&huge, b"v") } else { (b"k", &huge) };
        let mut batch = WriteBatch::new();
        batch.put_in(id, b"small", b"value").set_save_point();
        match chance.below(12) {
            0 => batch.put_in(id, key, value),
            1 => batch.merge_in(id, key, value),
            2 => batch.delete_in(id, &huge),
            3 => batch.single_delete_in(id, &huge),
            4 => batch.delete_range_in(id, key, value),
            5 => batch.put_encoded_entity_in(id, key, value),
            6 => batch.put_at(id, key, &stamp, value),
            7 => batch.merge_at(id, key, &stamp, value),
            8 => batch.delete_at(id, &huge, &stamp),
            9 => batch.single_delete_at(id, &huge, &stamp),
            10 => batch.delete_range_at(id, key, value, &stamp),
            _ => batch.put_encoded_entity_at(id, key, &stamp, value),
        };
        let status = |batch: &WriteBatch| batch.status().map_err(|error| error.kind());
        same("a record of 4 GiB", &status(&batch), &Err(Kind::InvalidArgument))?;
        same("records beside a record of 4 GiB", &batch.count(), &1)?;
        let mut other = WriteBatch::new();
        other.append(&batch);
        same("a batch with the records of the batch", &status(&other), &Err(Kind::InvalidArgument))?;
        let before = self.db().latest_sequence();
        let written = self.db().write(&mut batch).map_err(|error| error.kind());
        same("the write of a record of 4 GiB", &written, &Err(Kind::InvalidArgument))?;
        same("sequence number after a refusal", &self.db().latest_sequence(), &before)?;
        batch.rollback_to_save_point().map_err(told("a rollback"))?;
        same("a batch after its rollback", &(status(&batch), batch.count()), &(Ok(()), 1))
    }

    fn limit_wal(&mut self) -> Result<(), String> {
        self.batch.mark_wal_termination_point();
        self.model.logged = Some(self.model.changes.len());
        let point = self.batch.wal_termination_point().map(|point| point.0);
        same("WAL termination point", &point, &Some(self.batch.data_size()))?;
        self.check_batch()
    }

    /// Writes the batch, or drops it. With a WAL termination point, opens the database again before any flush.
    fn finish(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (model, mut batch) = (std::mem::take(&mut self.model), std::mem::take(&mut self.batch));
        let is_refused = batch.status().is_err();
        if !is_refused && chance.percent(20) && model.logged.is_none() {
            batch = WriteBatch::from_bytes(batch.bytes()).map_err(told("from_bytes"))?;
        }
        if model.logged.is_some() {
            self.families.iter().try_for_each(|family| family.flush().map_err(told("flush")))?;
        }
        let options = WriteOptions { sync: chance.percent(20), ..WriteOptions::default() };
        let before = self.db().latest_sequence();
        let written = self.db().write_with(&mut batch, &options);
        match (written, is_refused) {
            (Err(error), true) if error.subcode() == Subcode::MemoryLimit => {
                same("sequence number after a refusal", &self.db().latest_sequence(), &before)?;
            }
            (Ok(()), false) => {
                let state = self.state.clone();
                model.changes.iter().for_each(|change| apply(&mut self.state, change));
                rows_equal(&self.families, &self.state)?;
                if let Some(logged) = model.logged {
                    self.close()?;
                    self.state = state;
                    model.changes[..logged].iter().for_each(|change| apply(&mut self.state, change));
                    self.open()?;
                    rows_equal(&self.families, &self.state)
                        .map_err(|words| format!("after the replay of {logged} records: {words}"))?;
                }
            }
            (written, refused) => return Err(format!("write of a batch: {written:?}, refused {refused}")),
        }
        batch.clear();
        same("an empty batch", &(batch.count(), batch.data_size(), batch.save_point_size()), &(0, 12, None))?;
        let has_no_limit = self.bytes_max == 0;
        self.bytes_max = if chance.percent(25) { 12 + chance.below(600) as usize } else { 0 };
        self.batch = match self.bytes_max {
            // The limit stays with a batch that is emptied.
            0 if has_no_limit => batch,
            0 => WriteBatch::new(),
            bytes_max => WriteBatch::with_max_bytes(bytes_max),
        };
        self.check_batch()
    }
}

fn sizes_of(model: &Model) -> Vec<usize> {
    model.saves.iter().map(|save| save.1).collect()
}

fn encoded(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let columns = [Column::inline(b"", value), Column::inline(b"other", b"column")];
    wide::encode(&columns, &mut out).expect("two columns in order");
    out
}

fn apply(state: &mut State, change: &Change) {
    match change {
        Change::Put(at, key, value) | Change::Entity(at, key, value) => state[*at].put(key, value),
        Change::Delete(at, key) => state[*at].delete(key),
        Change::Merge(at, key, operand) => state[*at].append(key, operand),
        Change::DeleteRange(at, begin, end) => state[*at].delete_range(begin, end),
        Change::LogData(_) | Change::Noop => {}
    }
}

impl World for Batches {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..58 => self.grow(chance),
            58..60 => self.oversize(chance),
            60..76 => self.save_points(chance),
            76..80 => self.limit_wal(),
            80..94 => self.finish(chance),
            94..96 => {
                self.close()?;
                self.open()
            }
            96..98 => self.families[chance.below(2) as usize].flush().map_err(told("flush")),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        rows_equal(&self.families, &self.state)
    }
}
