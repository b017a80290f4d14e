//! Calls with the fewest arguments: the default column family, and the default options. Calls that create and drop column families
//! of a database with transactions.

use std::collections::BTreeSet;
use std::time::Duration;

use ironstone::{FamilyDescriptor, Kind, Options, ReadConfig, ReadOptions, Snapshot, WriteOptions};
use testkit::chance::Chance;

use super::super::overlay::{Key, State};
use super::super::{FAMILIES, key, same, told, walk};
use super::{Base, Running, Transactions, agree};

impl Transactions {
    /// Makes the calls, and compares each answer with the model.
    pub(super) fn short(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        self.read_shortly(at, chance)?;
        self.read_all(at)?;
        if let Some((snapshot, state)) = self.moments.first() {
            self.read_snapshot(snapshot, state, chance)?;
        }
        if chance.percent(20) {
            self.make_families()?;
        }
        self.ask()
    }

    fn read_shortly(&self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let Running { handle, own } = &self.running[at];
        let bytes = key(chance);
        let keys = [0, 1].map(|family| Key { family, bytes: bytes.clone() });
        let expected = keys.clone().map(|key| own.overlay.read(&key, &self.state));
        let found = handle.get(&bytes).map_err(told("get"))?.map(|value| value.to_vec());
        same("get of a transaction", &found, &expected[0])?;
        let pairs = [(&self.families[0], &bytes[..]), (&self.families[1], &bytes[..])];
        for (found, expected) in
            handle.multi_get_families(&pairs, &ReadOptions::default()).into_iter().zip(&expected)
        {
            let found = found.map_err(told("multi_get_families"))?.map(|value| value.to_vec());
            same("multi_get_families", &found, expected)?;
        }
        let committed: Vec<_> =
            [0, 1].map(|family| self.state[family].get(&bytes).map(<[u8]>::to_vec)).into();
        for (family, expected) in self.families.iter().zip(&committed) {
            for found in family.multi_get(&[&bytes, &bytes]) {
                let found = found.map_err(told("multi_get"))?.map(|value| value.to_vec());
                same("multi_get", &found, expected)?;
            }
            let (may_exist, found) = family.key_may_exist(&bytes);
            same("key_may_exist of a key", &(may_exist || expected.is_none()), &true)?;
            if let Some(found) = found {
                same("value of key_may_exist", &Some(found.to_vec()), expected)?;
            }
        }
        Ok(())
    }

    /// Reads all rows of the transaction and of the database.
    fn read_all(&self, at: usize) -> Result<(), String> {
        let Running { handle, own } = &self.running[at];
        let all = [0, 1].map(|family| own.overlay.rows(family, &self.state));
        // Without a prefix extractor, an iterator with the default options sees all rows.
        if self.options.family.prefix_extractor.is_none() {
            let mut iter = handle.iter().map_err(told("iter of a transaction"))?;
            iter.seek_to_first();
            for (key, value) in &all[0] {
                same("valid", &iter.valid(), &true)?;
                same("iter of a transaction", &(iter.key(), iter.value()), &(&key[..], &value[..]))?;
                let columns = iter.wide_columns().map_err(told("wide_columns"))?;
                same("default column", &columns.default_column(), &&value[..])?;
                iter.next();
            }
            same("end of the iter of a transaction", &iter.valid(), &false)?;
        }
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut iter = handle.coalescing_iter(&self.families, &options).map_err(told("coalescing_iter"))?;
        let keys: BTreeSet<Vec<u8>> = all.into_iter().flatten().map(|(key, _)| key).collect();
        iter.seek_to_first();
        let mut found = BTreeSet::new();
        while iter.valid() {
            found.insert(iter.key().to_vec());
            iter.next();
        }
        iter.status().map_err(told("coalescing_iter"))?;
        same("keys of coalescing_iter", &found, &keys)?;
        for (family, model) in self.families.iter().zip(&self.state) {
            let rows: Result<Vec<_>, _> =
                family.rows().map(|row| row.map(|(key, value)| (key, value.to_vec()))).collect();
            same("rows", &rows.map_err(told("rows"))?, &model.rows())?;
        }
        Ok(())
    }

    fn read_snapshot(&self, snapshot: &Snapshot, state: &State, chance: &mut Chance) -> Result<(), String> {
        same("age of a snapshot", &(snapshot.sequence() <= self.base().latest_sequence()), &true)?;
        let bytes = key(chance);
        let own = |family: usize| state[family].get(&bytes).map(<[u8]>::to_vec);
        let found = snapshot.get(&bytes).map_err(told("get of a snapshot"))?.map(|value| value.to_vec());
        same("get of a snapshot", &found, &own(0))?;
        let found = snapshot.get_in(&self.families[1], &bytes).map_err(told("get_in of a snapshot"))?;
        same("get_in of a snapshot", &found.map(|value| value.to_vec()), &own(1))?;
        let found = snapshot.multi_get(&[&bytes]).into_iter().map(|found| (found, own(0)));
        let more =
            snapshot.multi_get_in(&self.families[1], &[&bytes]).into_iter().map(|found| (found, own(1)));
        for (found, expected) in found.chain(more) {
            let found = found.map_err(told("multi_get of a snapshot"))?.map(|value| value.to_vec());
            same("multi_get of a snapshot", &found, &expected)?;
        }
        if self.options.family.prefix_extractor.is_none() {
            let mut iter = snapshot.iter().map_err(told("iter of a snapshot"))?;
            walk("iter of a snapshot", &mut iter, &state[0].rows(), chance)?;
            let mut iter = snapshot.iter_in(&self.families[1]).map_err(told("iter_in of a snapshot"))?;
            walk("iter_in of a snapshot", &mut iter, &state[1].rows(), chance)?;
        }
        Ok(())
    }

    /// Creates column families, writes to them in a transaction, and drops them. The column families of the model stay.
    fn make_families(&self) -> Result<(), String> {
        let Base::Pessimistic(db) = self.base() else { return self.delete_ranges() };
        let descriptor = |name: &str| FamilyDescriptor::new(name, self.options.family.clone());
        let alone = db.create_family(descriptor("alone")).map_err(told("create_family"))?;
        let both =
            db.create_families(vec![descriptor("a"), descriptor("b")]).map_err(told("create_families"))?;
        let transaction = db.begin();
        transaction.put_log_data(b"not a record").map_err(told("put_log_data"))?;
        for family in both.iter().chain([&alone]) {
            transaction.put_in(family, b"k", b"1").map_err(told("put_in of a new family"))?;
            transaction.put_in(family, b"once", b"1").map_err(told("put_in of a new family"))?;
            transaction.single_delete_in(family, b"once").map_err(told("single_delete_in"))?;
        }
        transaction.commit().map_err(told("commit in new families"))?;
        for family in both.iter().chain([&alone]) {
            let rows: Vec<_> = family
                .rows()
                .map(|row| row.map(|(key, _)| key))
                .collect::<Result<_, _>>()
                .map_err(told("rows"))?;
            same("rows of a new family", &rows, &vec![b"k".to_vec()])?;
        }
        db.drop_families(&both).map_err(told("drop_families"))?;
        db.drop_family(&alone).map_err(told("drop_family"))
    }

    /// Optimistic transactions find no conflict with a range deletion, so their database rejects it.
    fn delete_ranges(&self) -> Result<(), String> {
        let Base::Optimistic(db) = self.base() else { return Ok(()) };
        let options = WriteOptions::default();
        let calls = [
            db.delete_range(b"a", b"b"),
            db.delete_range_with(b"a", b"b", &options),
            db.delete_range_with_ts(b"a", b"b", &[0; 8], &options),
        ];
        calls.into_iter().try_for_each(|done| agree("delete_range", done, Err(Kind::NotSupported)))
    }

    /// Asks the database for facts that the operations do not change.
    fn ask(&self) -> Result<(), String> {
        let base = self.base();
        base.resume().map_err(told("resume"))?;
        same("background error", &base.background_error().is_none(), &true)?;
        same("path", &base.path(), &std::path::Path::new("/db"))?;
        let last = Duration::from_secs(60);
        same("time of why", &base.why(last).last, &last)?;
        let config = ReadConfig::default();
        let file = Options::load_latest("/db", &self.options.db.env, &config).map_err(told("load_latest"))?;
        let names: Vec<&str> = file.families.iter().map(|(name, _)| &name[..]).collect();
        same("column families of OPTIONS", &names, &FAMILIES.to_vec())
    }
}
