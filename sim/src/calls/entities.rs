//! Wide columns: entities, attribute groups, and iterators over several column families.

use std::collections::BTreeMap;

use ironstone::{Db, FamiliesIter, Family, Kind, ReadOptions, WideColumns, WriteBatch, WriteOptions};
use testkit::chance::Chance;

use super::{FAMILIES, Setting, World, key, same, told, value};

/// Columns by name. A plain value is one column with the empty name.
type Columns = BTreeMap<Vec<u8>, Vec<u8>>;

/// A database with wide columns, and its model.
pub(super) struct Entities {
    db: Db,
    families: Vec<Family>,
    state: Vec<BTreeMap<Vec<u8>, Columns>>,
}

impl Entities {
    /// Opens the database, without in-place updates.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting) -> Result<Entities, String> {
        let mut options = setting.options.clone();
        options.update("inplace_update_support=false").map_err(told("options"))?;
        let opened = Db::open_with_families("/db", options, setting.families());
        let db = opened.map_err(told("open"))?;
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
        let families = families.map_err(told("family"))?;
        Ok(Entities { db, families, state: vec![BTreeMap::new(); FAMILIES.len()] })
    }

    fn put_entity(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, key, columns) = (chance.below(2) as usize, key(chance), columns(chance));
        let given = borrowed(&columns);
        match chance.below(3) {
            0 => self.families[at].put_entity(&key, &given).map_err(told("put_entity"))?,
            1 => {
                let options = WriteOptions { sync: true, ..WriteOptions::default() };
                self.families[at].put_entity_with(&key, &given, &options).map_err(told("put_entity_with"))?;
            }
            _ => {
                let mut batch = WriteBatch::new();
                batch.put_entity_in(self.families[at].id(), &key, &given);
                self.db.write(batch).map_err(told("write"))?;
            }
        }
        self.state[at].insert(key, columns);
        Ok(())
    }

    fn put_groups(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (key, all) = (key(chance), [columns(chance), columns(chance)]);
        let given = all.each_ref().map(borrowed);
        let groups: Vec<_> =
            self.families.iter().zip(&given).map(|(family, columns)| (family, &columns[..])).collect();
        let options = WriteOptions::default();
        self.db.put_entity_groups(&key, &groups, &options).map_err(told("put_entity_groups"))?;
        for (state, columns) in self.state.iter_mut().zip(all) {
            state.insert(key.clone(), columns);
        }
        match self.db.put_entity_groups(&key, &[], &options) {
            Err(error) if error.kind() == Kind::InvalidArgument => Ok(()),
            other => Err(format!("put_entity_groups without a group: {other:?}")),
        }
    }

    fn put_plain(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, key, value) = (chance.below(2) as usize, key(chance), value(chance));
        let family = &self.families[at];
        match chance.below(4) {
            0 => {
                family.delete(&key).map_err(told("delete"))?;
                self.state[at].remove(&key);
            }
            1 => {
                family.merge(&key, b"operand").map_err(told("merge"))?;
                let columns = self.state[at].get(&key).cloned();
                // The operand goes to the column without a name. If the entity lacks this column, the column counts
                // as empty.
                let default = match &columns {
                    None => b"operand".to_vec(),
                    Some(columns) => {
                        let before = columns.get(&[][..]).map_or(&[][..], Vec::as_slice);
                        [before, b",operand"].concat()
                    }
                };
                let mut columns = columns.unwrap_or_default();
                columns.insert(Vec::new(), default);
                self.state[at].insert(key, columns);
            }
            _ => {
                family.put(&key, &value).map_err(told("put"))?;
                self.state[at].insert(key, Columns::from([(Vec::new(), value)]));
            }
        }
        Ok(())
    }

    fn read(&self, chance: &mut Chance) -> Result<(), String> {
        let (at, key) = (chance.below(2) as usize, key(chance));
        let (family, options) = (&self.families[at], ReadOptions::default());
        let expected = self.state[at].get(&key);
        let entity = family.get_entity(&key).map_err(told("get_entity"))?;
        same("get_entity", &entity.as_ref().map(listed), &expected.cloned())?;
        let entity = family.get_entity_with(&key, &options).map_err(told("get_entity_with"))?;
        same("get_entity_with", &entity.as_ref().map(listed), &expected.cloned())?;
        let plain = family.get(&key).map_err(told("get"))?.map(|value| value.to_vec());
        let default = expected.map(|columns| columns.get(&[][..]).cloned().unwrap_or_default());
        same("get of an entity", &plain, &default)?;
        let keys: Vec<Vec<u8>> = (0..chance.below(10)).map(|_| super::key(chance)).collect();
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let found = family.multi_get_entity(&wanted, &options);
        for (key, found) in keys.iter().zip(found) {
            let found = found.map_err(told("multi_get_entity"))?;
            same("multi_get_entity", &found.as_ref().map(listed), &self.state[at].get(key).cloned())?;
        }
        self.read_families(&key, &keys)
    }

    fn read_families(&self, key: &[u8], keys: &[Vec<u8>]) -> Result<(), String> {
        let options = ReadOptions::default();
        let families: Vec<&Family> = self.families.iter().collect();
        let found = self.db.get_entity_groups(key, &families, &options);
        for (state, found) in self.state.iter().zip(found) {
            let found = found.map_err(told("get_entity_groups"))?;
            same("get_entity_groups", &found.as_ref().map(listed), &state.get(key).cloned())?;
        }
        let places = |at: usize| (at % 2, &keys[at]);
        let wanted: Vec<(&Family, &[u8])> =
            (0..keys.len()).map(places).map(|(at, key)| (families[at], &key[..])).collect();
        let found = self.db.multi_get_entity_families(&wanted, &options);
        for ((at, key), found) in (0..keys.len()).map(places).zip(found) {
            let found = found.map_err(told("multi_get_entity_families"))?;
            same(
                "multi_get_entity_families",
                &found.as_ref().map(listed),
                &self.state[at].get(key).cloned(),
            )?;
        }
        let borrowed: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let pairs: Vec<_> = borrowed.iter().enumerate().map(|(at, key)| (families[at % 2], *key)).collect();
        let found = self.db.multi_get_families(&pairs, &options);
        for ((at, key), found) in (0..keys.len()).map(places).zip(found) {
            let found = found.map_err(told("multi_get_families"))?.map(|value| value.to_vec());
            let expected =
                self.state[at].get(key).map(|columns| columns.get(&[][..]).cloned().unwrap_or_default());
            same("multi_get_families", &found, &expected)?;
        }
        Ok(())
    }

    /// Checks the iterator over both column families: each key has the columns of both. If both have a column, the
    /// later column family wins.
    fn coalesce(&self, chance: &mut Chance) -> Result<(), String> {
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut iter = self.db.coalescing_iter(&self.families, &options).map_err(told("coalescing_iter"))?;
        let mut all: BTreeMap<&Vec<u8>, Columns> = BTreeMap::new();
        for state in &self.state {
            for (key, columns) in state {
                all.entry(key).or_default().extend(columns.clone());
            }
        }
        let rows: Vec<(&Vec<u8>, Columns)> = all.into_iter().collect();
        let target = key(chance);
        let (mut at, forward) = match chance.below(4) {
            0 => {
                iter.seek_to_first();
                (0, true)
            }
            1 => {
                iter.seek_to_last();
                (rows.len().wrapping_sub(1), false)
            }
            2 => {
                iter.seek(&target);
                (rows.partition_point(|(key, _)| **key < target), true)
            }
            _ => {
                iter.seek_for_prev(&target);
                (rows.partition_point(|(key, _)| **key <= target).wrapping_sub(1), false)
            }
        };
        loop {
            iter.status().map_err(told("coalescing_iter"))?;
            let Some((key, columns)) = rows.get(at) else {
                return same("end of the coalescing iterator", &iter.valid(), &false);
            };
            same("a coalescing iterator is valid", &iter.valid(), &true)?;
            self.compare_position(&iter, key, columns)?;
            if forward {
                iter.next()
            } else {
                iter.prev()
            }
            at = if forward { at + 1 } else { at.wrapping_sub(1) };
        }
    }

    fn compare_position(&self, iter: &FamiliesIter, key: &[u8], columns: &Columns) -> Result<(), String> {
        same("key of the coalescing iterator", &iter.key(), &key)?;
        same("columns", &iter.columns().map_err(told("columns"))?, columns)?;
        let default = columns.get(&[][..]).cloned().unwrap_or_default();
        same("value", &iter.value().map_err(told("value"))?, &default)?;
        let groups = iter.groups().map_err(told("groups"))?;
        let found: Vec<_> =
            groups.iter().map(|group| (group.family.name().to_string(), listed(&group.columns))).collect();
        let of =
            |at: usize| self.state[at].get(key).map(|columns| (FAMILIES[at].to_string(), columns.clone()));
        same("attribute groups", &found, &(0..FAMILIES.len()).filter_map(of).collect())
    }
}

fn columns(chance: &mut Chance) -> Columns {
    let names = [&b""[..], b"a", b"color", b"size", b"zz"];
    let mut columns = Columns::new();
    for name in names {
        if chance.percent(45) {
            columns.insert(name.to_vec(), value(chance));
        }
    }
    columns
}

fn borrowed(columns: &Columns) -> Vec<(&[u8], &[u8])> {
    columns.iter().map(|(name, value)| (&name[..], &value[..])).collect()
}

fn listed(columns: &WideColumns) -> Columns {
    columns.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}

impl World for Entities {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..30 => self.put_entity(chance),
            30..40 => self.put_groups(chance),
            40..60 => self.put_plain(chance),
            60..80 => self.read(chance),
            80..90 => self.coalesce(chance),
            90..97 => self.families[chance.below(2) as usize].flush().map_err(told("flush")),
            _ => {
                let family = &self.families[chance.below(2) as usize];
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        for (family, state) in self.families.iter().zip(&self.state) {
            let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
            let mut iter = family.iter_with(options).map_err(told("iter"))?;
            let mut found = BTreeMap::new();
            iter.seek_to_first();
            while iter.valid() {
                let columns = iter.wide_columns().map_err(told("wide_columns"))?;
                found.insert(iter.key().to_vec(), listed(&columns));
                iter.next();
            }
            iter.status().map_err(told("scan"))?;
            same(&format!("entities of {}", family.name()), &found, state)?;
        }
        Ok(())
    }
}
