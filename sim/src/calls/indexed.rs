//! Write batches with an index, over a database.

use std::collections::BTreeMap;

use ironstone::{
    Db, Family, Iter, Kind, Order, ReadOptions, Subcode, WideColumns, WriteBatchWithIndex,
    WriteBatchWithIndexOptions, WriteOptions, WriteType,
};
use testkit::chance::Chance;

use super::overlay::{Change, Key, Overlay, State, columns};
use super::{FAMILIES, Setting, World, key, same, told, value, walk};

/// A database and one batch over it.
pub(super) struct Indexed {
    db: Db,
    families: Vec<Family>,
    state: State,
    batch: WriteBatchWithIndex,
    overlay: Overlay,
    /// The type of the newest record of each key.
    types: BTreeMap<Key, WriteType>,
    saves: Vec<(Overlay, BTreeMap<Key, WriteType>, u32)>,
    count: u32,
    /// True if the index of the batch has only the newest record of each key.
    overwrites: bool,
    /// True if the options of the database forbid batches that become memtables of their own.
    may_refuse: bool,
}

impl Indexed {
    /// Opens the database, with an empty batch over it.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting) -> Result<Indexed, String> {
        let opened = Db::open_with_families("/db", setting.options.clone(), setting.families());
        let db = opened.map_err(told("open"))?;
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
        let families = families.map_err(told("family"))?;
        let state = vec![Default::default(); FAMILIES.len()];
        let (overlay, types, saves) = Default::default();
        let batch = batch(true);
        let may_refuse =
            setting.options.db.recycle_log_file_num > 0 || setting.options.family.enable_blob_direct_write;
        Ok(Indexed {
            db,
            families,
            state,
            batch,
            overlay,
            types,
            saves,
            count: 0,
            overwrites: true,
            may_refuse,
        })
    }

    fn change(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (key, change) = (Key::draw(chance), Change::draw(chance));
        let (family, batch) = (&self.families[key.family], &mut self.batch);
        let plain = key.family == 0 && chance.percent(50);
        let done = match &change {
            Change::Put(value) if plain => batch.put(&key.bytes, value),
            Change::Put(value) => batch.put_in(family, &key.bytes, value),
            Change::Entity(value) => batch.put_entity_in(family, &key.bytes, &columns(value)),
            Change::Delete if plain => batch.delete(&key.bytes),
            Change::Delete => batch.delete_in(family, &key.bytes),
            Change::Merge(operand) if plain => batch.merge(&key.bytes, operand),
            Change::Merge(operand) => batch.merge_in(family, &key.bytes, operand),
        };
        done.map_err(told("change of a batch"))?;
        self.overlay.change(&key, &change);
        let kind = match change {
            Change::Put(_) => WriteType::Put,
            Change::Entity(_) => WriteType::PutEntity,
            Change::Delete => WriteType::Delete,
            Change::Merge(_) => WriteType::Merge,
        };
        self.types.insert(key, kind);
        self.count += 1;
        Ok(())
    }

    /// Puts a key that has no value, or deletes a key that has one put. No other call changes these keys, so each single deletion
    /// meets one put.
    fn change_once(&mut self, chance: &mut Chance) -> Result<(), String> {
        let key =
            Key { family: chance.below(2) as usize, bytes: format!("once{}", chance.below(6)).into_bytes() };
        let plain = key.family == 0 && chance.percent(50);
        let (family, batch) = (&self.families[key.family], &mut self.batch);
        let (done, change, kind) = match self.overlay.read(&key, &self.state) {
            None => {
                let value = value(chance);
                (batch.put_in(family, &key.bytes, &value), Change::Put(value), WriteType::Put)
            }
            Some(_) if plain => (batch.single_delete(&key.bytes), Change::Delete, WriteType::SingleDelete),
            Some(_) => (batch.single_delete_in(family, &key.bytes), Change::Delete, WriteType::SingleDelete),
        };
        done.map_err(told("change of a key with one put"))?;
        self.overlay.change(&key, &change);
        self.types.insert(key, kind);
        self.count += 1;
        Ok(())
    }

    fn read(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = Key::draw(chance);
        let (family, options) = (&self.families[at.family], ReadOptions::default());
        let expected = self.overlay.read(&at, &self.state);
        let both =
            self.batch.get_from_batch_and_db(family, &at.bytes, &options).map_err(told("batch and db"))?;
        same("get_from_batch_and_db", &both.map(|v| v.to_vec()), &expected)?;
        let alone = self.batch.get_from_batch_in(family, &at.bytes).map(|v| v.map(|v| v.to_vec()));
        match (alone, self.overlay.alone(&at)) {
            (Err(error), None) if error.kind() == Kind::MergeInProgress => {}
            (Ok(found), Some(expected)) => same("get_from_batch", &found, &expected)?,
            (found, expected) => return Err(format!("get_from_batch: {found:?} and not {expected:?}")),
        }
        if at.family == 0 {
            let of_default = |found: ironstone::Result<Option<ironstone::Pinned>>| {
                found.map(|value| value.map(|value| value.to_vec())).map_err(|error| error.kind())
            };
            let named = of_default(self.batch.get_from_batch_in(family, &at.bytes));
            // Without a column family, the call knows no merge operator.
            let is_merge = self.types.get(&at) == Some(&WriteType::Merge);
            let alone = of_default(self.batch.get_from_batch(&at.bytes));
            let is_right = alone == named || is_merge && alone == Err(Kind::InvalidArgument);
            same(&format!("get_from_batch of the default family: {alone:02x?}"), &is_right, &true)?;
        }
        self.read_entity(family, &at, &options, &expected)?;
        let keys: Vec<Vec<u8>> = (0..chance.below(12)).map(|_| key(chance)).collect();
        let borrowed: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let found = self.batch.multi_get_from_batch_and_db(family, &borrowed, &options);
        for (key, found) in keys.into_iter().zip(found) {
            let found = found.map_err(told("multi_get"))?.map(|v| v.to_vec());
            same(
                "multi_get_from_batch_and_db",
                &found,
                &self.overlay.read(&Key { family: at.family, bytes: key }, &self.state),
            )?;
        }
        Ok(())
    }

    /// Compares reads of a key as an entity with its value. The value of a key is the default column.
    fn read_entity(
        &self,
        family: &Family,
        at: &Key,
        options: &ReadOptions,
        expected: &Option<Vec<u8>>,
    ) -> Result<(), String> {
        let value = |columns: Option<WideColumns>| columns.map(|columns| columns.default_column().to_vec());
        let both = self.batch.get_entity_from_batch_and_db(family, &at.bytes, options);
        same("get_entity_from_batch_and_db", &value(both.map_err(told("entity"))?), expected)?;
        for both in self.batch.multi_get_entity_from_batch_and_db(family, &[&at.bytes, &at.bytes], options) {
            let found = value(both.map_err(told("entities"))?);
            same("multi_get_entity_from_batch_and_db", &found, expected)?;
        }
        let alone = self.batch.get_entity_from_batch_in(family, &at.bytes).map(value);
        match (alone, self.overlay.alone(at)) {
            (Err(error), None) if error.kind() == Kind::MergeInProgress => Ok(()),
            (Ok(found), Some(expected)) => same("get_entity_from_batch", &found, &expected),
            (found, expected) => Err(format!("get_entity_from_batch: {found:?} and not {expected:?}")),
        }
    }

    /// Adds a record that the limit of the batch rejects. The batch does not change.
    fn exceed(&mut self) -> Result<(), String> {
        let (count, size) = (self.batch.count(), self.batch.data_size());
        same("size", &size, &self.batch.to_batch().data_size())?;
        self.batch.set_max_bytes(size);
        let done = self.batch.put_in(&self.families[1], b"key", b"too much");
        let done = done.map_err(|error| (error.kind(), error.subcode()));
        same("put above the limit", &done, &Err((Kind::Aborted, Subcode::MemoryLimit)))?;
        self.batch.set_max_bytes(0);
        same("batch after a rejection", &(self.batch.count(), self.batch.data_size()), &(count, size))
    }

    fn iterate(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let iter = self.batch.iter_with_base(&self.families[at], options.clone());
        let rows = self.overlay.rows(at, &self.state);
        let mut iter = iter.map_err(told("iter_with_base"))?;
        walk("iter_with_base", &mut iter, &rows, chance)?;
        if iter.valid() {
            let (value, pinned) = (iter.value().to_vec(), iter.pinned_value());
            iter.next();
            same("a pinned value after a move", &pinned.to_vec(), &value)?;
        }
        let (a, b) = (key(chance), key(chance));
        let (lower, upper) = (a.clone().min(b.clone()), a.max(b));
        // The base iterator needs the same bounds, because an iterator over a batch limits only the records of the
        // batch.
        let bounded = ReadOptions {
            iterate_lower_bound: Some(lower.clone()),
            iterate_upper_bound: Some(upper.clone()),
            ..options
        };
        let base = self.families[at].iter_with(bounded).map_err(told("iter"))?;
        let inside: Vec<_> = rows.into_iter().filter(|(key, _)| lower <= *key && *key < upper).collect();
        let mut over = self.batch.iter_over_base(&self.families[at], base, Some(lower), Some(upper));
        walk("iter_over_base", &mut over, &inside, chance)?;
        self.reject_merges(at)?;
        self.records(at, chance)
    }

    /// Walks with an iterator that applies no merge operands of the batch: at the first key whose value needs the database, the
    /// iterator ends with an error. Compares the columns of the values of the batch.
    fn reject_merges(&self, at: usize) -> Result<(), String> {
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let iter = self.batch.iter_with_base(&self.families[at], options);
        let mut iter = iter.map_err(told("iter_with_base"))?.rejecting_merges();
        let needs_base = |key: &[u8]| self.overlay.alone(&Key { family: at, bytes: key.to_vec() }).is_none();
        iter.seek_to_first();
        for (key, value) in self.overlay.rows(at, &self.state) {
            let is_merge = self.types.get(&Key { family: at, bytes: key.clone() }) == Some(&WriteType::Merge);
            if needs_base(&key) || is_merge {
                return same("a rejected merge", &(iter.valid(), iter.status().is_err()), &(false, true));
            }
            same(
                "a row without merges",
                &(iter.key().to_vec(), iter.value().to_vec()),
                &(key, value.clone()),
            )?;
            same("timestamp", &iter.timestamp(), &&[][..])?;
            let columns = iter.columns();
            let default = columns.iter().flatten().find(|(name, _)| name.is_empty());
            if let Some((_, found)) = default {
                same("the default column", found, &value)?;
            }
            iter.next();
        }
        iter.status().map_err(told("a walk without merges"))
    }

    /// Checks the iterator over the records: all records if keys are not overwritten, otherwise the newest record of
    /// each key.
    fn records(&self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let plain = at == 0 && chance.percent(50);
        let mut iter = if plain { self.batch.iter() } else { self.batch.iter_in(&self.families[at]) };
        let mut keys: Vec<Vec<u8>> = Vec::new();
        // The first record of a key is its newest record.
        let mut newest = BTreeMap::new();
        iter.seek_to_first();
        while iter.valid() {
            keys.push(iter.key().to_vec());
            newest.entry(iter.key().to_vec()).or_insert((iter.write_type(), iter.value().to_vec()));
            iter.next();
        }
        if !keys.is_sorted() {
            return Err(format!("records out of order: {keys:02x?}"));
        }
        let mut back = Vec::new();
        iter.seek_to_last();
        while iter.valid() {
            back.push(iter.key().to_vec());
            iter.prev();
        }
        back.reverse();
        same("records backward", &back, &keys)?;
        keys.dedup();
        let expected: Vec<_> =
            self.overlay.keys().filter(|k| k.family == at).map(|k| k.bytes.clone()).collect();
        same("keys of the records", &keys, &expected)?;
        let target = key(chance);
        iter.seek(&target);
        let first = keys.iter().find(|key| **key >= target);
        same("seek of a record", &iter.valid().then(|| iter.key()), &first.map(Vec::as_slice))?;
        iter.seek_for_prev(&target);
        let last = keys.iter().rev().find(|key| **key <= target);
        same("seek for prev of a record", &iter.valid().then(|| iter.key()), &last.map(Vec::as_slice))?;
        for (bytes, (found, value)) in newest {
            let key = Key { family: at, bytes };
            match found {
                Some(WriteType::Put) => {
                    same("value of a record", &Some(Some(value)), &self.overlay.alone(&key))?
                }
                Some(WriteType::Delete | WriteType::SingleDelete) => {
                    same("value of a deletion", &value, &Vec::new())?;
                }
                _ => {}
            }
            same(
                &format!("type of the newest record of {key:02x?}"),
                &found,
                &self.types.get(&key).copied(),
            )?;
        }
        Ok(())
    }

    fn save_points(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(3) {
            0 => {
                self.batch.set_save_point();
                self.saves.push((self.overlay.clone(), self.types.clone(), self.count));
            }
            1 => match (self.batch.rollback_to_save_point(), self.saves.pop()) {
                (Ok(()), Some(save)) => (self.overlay, self.types, self.count) = save,
                (Err(error), None) if error.kind() == Kind::NotFound => {}
                (done, save) => return Err(format!("rollback: {done:?} with the save point {save:?}")),
            },
            _ => match (self.batch.pop_save_point(), self.saves.pop()) {
                (Ok(()), Some(_)) => {}
                (Err(error), None) if error.kind() == Kind::NotFound => {}
                (done, save) => return Err(format!("pop: {done:?} with the save point {save:?}")),
            },
        }
        Ok(())
    }

    /// Writes the batch as memtables of its own. Returns false if the options forbid the call; nothing is written then.
    fn ingest(&mut self) -> Result<bool, String> {
        let options = WriteOptions { disableWAL: true, ..WriteOptions::default() };
        let logged = self.batch.ingest(&self.db, &WriteOptions::default()).map_err(|error| error.kind());
        same("ingestion of a batch with a WAL", &logged, &Err(Kind::NotSupported))?;
        match self.batch.ingest(&self.db, &options) {
            Ok(()) => Ok(true),
            Err(error) if self.may_refuse && error.kind() == Kind::InvalidArgument => Ok(false),
            Err(error) if !self.overwrites && error.kind() == Kind::NotSupported => Ok(false),
            Err(error) if self.may_refuse && error.kind() == Kind::NotSupported => Ok(false),
            Err(error) => Err(format!("ingestion of a batch: {error}")),
        }
    }

    fn finish(&mut self, chance: &mut Chance) -> Result<(), String> {
        if chance.percent(80) {
            let options = WriteOptions::default();
            if chance.percent(30) && self.ingest()? {
                // The database has the batch.
            } else if chance.percent(50) {
                self.batch.write(&self.db, &options).map_err(told("write of the batch"))?;
            } else {
                self.db.write(self.batch.to_batch()).map_err(told("write"))?;
            }
            self.overlay.apply(&mut self.state);
        }
        (self.overlay, self.types, self.saves, self.count) = Default::default();
        if chance.percent(50) {
            self.batch.clear();
        } else {
            self.overwrites = chance.percent(50);
            self.batch = batch(self.overwrites);
        }
        Ok(())
    }
}

fn batch(overwrite_key: bool) -> WriteBatchWithIndex {
    let order = Order::default();
    WriteBatchWithIndex::with_options(WriteBatchWithIndexOptions {
        order,
        overwrite_key,
        ..Default::default()
    })
}

impl World for Indexed {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..45 => self.change(chance),
            45..55 => self.change_once(chance),
            55..70 => self.read(chance),
            70..82 => self.iterate(chance),
            82..90 => self.save_points(chance),
            90..96 => self.finish(chance),
            96 if chance.percent(50) => self.exceed(),
            96 => {
                self.batch.put_log_data(b"words for the WAL").map_err(|e| e.to_string())?;
                Ok(())
            }
            _ => self.families[chance.below(2) as usize].flush().map_err(told("flush")),
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        same("count of the batch", &self.batch.count(), &self.count)?;
        rows_equal(&self.families, &self.state)
    }
}

/// Compares the rows of all families with the model.
pub(super) fn rows_equal(families: &[Family], state: &State) -> Result<(), String> {
    rows_equal_at(families, state, &ReadOptions::default())
}

/// Returns the rows of an iterator.
pub(super) fn forward(iter: &mut Iter) -> Result<Vec<(Vec<u8>, Vec<u8>)>, String> {
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().map_err(told("scan"))?;
    Ok(rows)
}

/// Compares the rows that a read with these options sees with the model.
pub(super) fn rows_equal_at(families: &[Family], state: &State, options: &ReadOptions) -> Result<(), String> {
    for (family, model) in families.iter().zip(state) {
        let options = ReadOptions { total_order_seek: true, ..options.clone() };
        let rows = forward(&mut family.iter_with(options).map_err(told("iter"))?)?;
        let expected = model.rows();
        let more: Vec<_> = rows.iter().filter(|row| !expected.contains(row)).collect();
        let fewer: Vec<_> = expected.iter().filter(|row| !rows.contains(row)).collect();
        if rows != expected {
            return Err(format!("rows of {}: {more:02x?} and not {fewer:02x?}", family.name()));
        }
    }
    Ok(())
}
