//! A database with a time to live. After a compaction, a value above this age may be missing. A younger value must
//! exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use env::clock::ManualClock;
use ironstone::ttl::{self, TtlDb, TtlFamily};
use ironstone::{FamilyDescriptor, Options, ReadOptions, WriteBatch, WriteBatchWithIndex, WriteOptions};
use testkit::chance::Chance;

use super::{FAMILIES, Setting, World, key, same, told, value};

/// The state of a key in the model.
#[derive(Clone, Debug)]
struct Aged {
    value: Vec<u8>,
    /// When the oldest part of the value was written, in seconds.
    oldest: i64,
    /// When the value was written.
    newest: i64,
    /// True if a part of the value was ever older than the time to live.
    may_be_gone: bool,
    merged: bool,
}

/// A database with a time to live, and its model.
pub(super) struct Aging {
    options: Options,
    descriptors: Vec<FamilyDescriptor>,
    clock: Arc<ManualClock>,
    db: Option<TtlDb>,
    families: Vec<TtlFamily>,
    ttls: [i32; 2],
    state: Vec<BTreeMap<Vec<u8>, Aged>>,
}

impl Aging {
    /// Opens the database. Replaces options that a TTL database rejects or that the model does not know.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting) -> Result<Aging, String> {
        let mut options = setting.options.clone();
        let mut descriptors = setting.families();
        // A TTL database replaces these options. It rejects them, or they have rules that the model does not know.
        for family in descriptors.iter_mut().map(|f| &mut f.options).chain([&mut options.family]) {
            family.inplace_update_support = false;
            family.compaction_filter = None;
        }
        let mut world = Aging {
            options,
            descriptors,
            clock: setting.clock.clone(),
            db: None,
            families: Vec::new(),
            ttls: [100, 0],
            state: vec![BTreeMap::new(); FAMILIES.len()],
        };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let named = self.descriptors.iter().cloned().zip(self.ttls).collect();
        let db = TtlDb::open_with_families("/db", self.options.clone(), named).map_err(told("open"))?;
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
        self.families = families.map_err(told("family"))?;
        self.db = Some(db);
        Ok(())
    }

    fn db(&self) -> &TtlDb {
        self.db.as_ref().expect("open between operations")
    }

    fn now(&self) -> i64 {
        use env::Clock as _;
        self.clock.now_seconds() as i64
    }

    /// Marks the keys that a compaction may drop from now on.
    fn age(&mut self) {
        let now = self.now();
        for (state, ttl) in self.state.iter_mut().zip(self.ttls) {
            for aged in state.values_mut() {
                aged.may_be_gone |= ttl > 0 && aged.oldest + i64::from(ttl) < now;
            }
        }
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, key, value, now) = (chance.below(2) as usize, key(chance), value(chance), self.now());
        let (family, options) = (&self.families[at], WriteOptions::default());
        let fresh = Aged { value, oldest: now, newest: now, may_be_gone: false, merged: false };
        let value = &fresh.value;
        match chance.below(10) {
            0 => {
                family.delete(&key).map_err(told("delete"))?;
                self.state[at].remove(&key);
                return Ok(());
            }
            1 | 2 => {
                family.merge_with(&key, value, &options).map_err(told("merge_with"))?;
                let aged = match self.state[at].remove(&key) {
                    // Without a value, each read merges the operands again, so the time is that of the read.
                    None => Aged { merged: true, ..fresh },
                    Some(before) => Aged {
                        value: [&before.value[..], b",", value].concat(),
                        merged: true,
                        newest: now,
                        ..before
                    },
                };
                self.state[at].insert(key, aged);
                return Ok(());
            }
            3 => {
                let mut batch = WriteBatch::new();
                batch.put_in(family.plain_family().id(), &key, value);
                self.db().write_with(&batch, &options).map_err(told("write_with"))?;
            }
            4 => family.put_with(&key, value, &options).map_err(told("put_with"))?,
            _ => family.put(&key, value).map_err(told("put"))?,
        }
        self.state[at].insert(key, fresh);
        Ok(())
    }

    fn agree(&self, what: &str, at: usize, key: &[u8], found: Option<&[u8]>) -> Result<(), String> {
        let aged = self.state[at].get(key);
        match (aged, found) {
            (Some(aged), None) if aged.may_be_gone => Ok(()),
            // If the value was dropped, operands above it can remain.
            (Some(aged), Some(_)) if aged.may_be_gone && aged.merged => Ok(()),
            _ if aged.map(|aged| &aged.value[..]) == found => Ok(()),
            _ => Err(format!("{what} of {key:02x?}: {found:02x?} and not {aged:02x?}")),
        }
    }

    fn read(&self, chance: &mut Chance) -> Result<(), String> {
        let (at, key) = (chance.below(2) as usize, key(chance));
        let (family, options) = (&self.families[at], ReadOptions::default());
        let found = family.get(&key).map_err(told("get"))?;
        self.agree("get", at, &key, found.as_deref())?;
        let found = family.get_with(&key, &options).map_err(told("get_with"))?;
        self.agree("get_with", at, &key, found.as_deref())?;
        let same_family = self.db().family_of(family.plain_family()).map_err(told("family_of"))?;
        same("ttl of the same family", &same_family.ttl(), &self.ttls[at])?;
        let stored = family.plain_family().get(&key).map_err(told("plain get"))?;
        let plain = stored.as_ref().map(|stored| ttl::value_of(stored)).transpose();
        same("value_of", &plain.map_err(told("value_of"))?, &found.as_deref())?;
        let keys: Vec<Vec<u8>> = (0..chance.below(10)).map(|_| super::key(chance)).collect();
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (key, found) in keys.iter().zip(family.multi_get_with(&wanted, &options)) {
            self.agree("multi_get_with", at, key, found.map_err(told("multi_get_with"))?.as_deref())?;
        }
        Ok(())
    }

    /// Reads a batch with an index over the column family. The batch is not written.
    fn read_batch(&self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let (family, options) = (&self.families[at], ReadOptions::default());
        let mut batch = WriteBatchWithIndex::new();
        let mut own = BTreeMap::new();
        for _ in 0..chance.below(8) {
            let (key, value) = (key(chance), value(chance));
            let (done, after) = match chance.below(3) {
                0 => (batch.delete_in(family.plain_family(), &key), None),
                _ => (batch.put_in(family.plain_family(), &key, &value), Some(value)),
            };
            done.map_err(told("change of a batch"))?;
            own.insert(key, after);
        }
        let below = key(chance);
        for key in own.keys().chain([&below]) {
            let found = family.get_from_batch(&batch, key, &options).map_err(told("get_from_batch"))?;
            match own.get(key) {
                Some(after) => same("get_from_batch", &found.as_deref(), &after.as_deref())?,
                None => self.agree("get_from_batch", at, key, found.as_deref())?,
            }
        }
        let all = ReadOptions { total_order_seek: true, ..options };
        let base = family.plain_family().iter_with(all).map_err(told("iter_with"))?;
        let mut iter = family.iter_over_base(&batch, base, None, None);
        let mut seen = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            let (key, value) = (iter.key().to_vec(), ttl::value_of(iter.value()).map_err(told("value_of"))?);
            match own.get(&key) {
                Some(after) => same("iter_over_base", &Some(value), &after.as_deref())?,
                None => self.agree("iter_over_base", at, &key, Some(value))?,
            }
            seen.push(key);
            iter.next();
        }
        iter.status().map_err(told("iter_over_base"))?;
        let is_kept = |key: &Vec<u8>, aged: &Aged| !own.contains_key(key) && !aged.may_be_gone;
        let of_base = self.state[at].iter().filter(|(key, aged)| is_kept(key, aged)).map(|(key, _)| key);
        let of_batch = own.iter().filter(|(_, after)| after.is_some()).map(|(key, _)| key);
        let missing: Vec<_> = of_base.chain(of_batch).filter(|key| !seen.contains(key)).collect();
        same("keys that iter_over_base misses", &missing, &Vec::new())
    }

    fn scan(&self, at: usize, backward: bool) -> Result<(), String> {
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut iter = self.families[at].iter_with(options).map_err(told("iter_with"))?;
        let mut seen = Vec::new();
        if backward {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        while iter.valid() {
            let (key, value) = (iter.key().to_vec(), iter.value().map_err(told("value"))?);
            self.agree("scan", at, &key, Some(value))?;
            let written = i64::from(iter.written_at().map_err(told("written_at"))?);
            if let Some(aged) = self.state[at].get(&key)
                && !aged.merged
            {
                same("written_at", &written, &aged.newest)?;
            }
            seen.push(key);
            if backward { iter.prev() } else { iter.next() }
        }
        iter.status().map_err(told("scan"))?;
        if backward {
            seen.reverse();
        }
        let missing = self.state[at].iter().find(|(key, aged)| !aged.may_be_gone && !seen.contains(key));
        match missing {
            Some((key, aged)) => Err(format!("a scan misses {key:02x?}: {aged:02x?}")),
            None if !seen.is_sorted() => Err("a scan is out of order".to_string()),
            None => self.seek(at, &seen),
        }
    }

    fn seek(&self, at: usize, seen: &[Vec<u8>]) -> Result<(), String> {
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut iter = self.families[at].iter_with(options).map_err(told("iter_with"))?;
        let target = b"key20".to_vec();
        iter.seek(&target);
        let after = seen.iter().find(|key| **key >= target);
        same("seek", &iter.valid().then(|| iter.key().to_vec()), &after.cloned())?;
        iter.seek_for_prev(&target);
        let before = seen.iter().rev().find(|key| **key <= target);
        same("seek_for_prev", &iter.valid().then(|| iter.key().to_vec()), &before.cloned())
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.families.clear();
        let db = self.db.take().expect("open between operations");
        db.plain().close().map_err(told("close"))?;
        drop(db);
        self.open()
    }
}

impl World for Aging {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..50 => self.write(chance),
            50..66 => self.read(chance),
            66..70 => self.read_batch(chance),
            70..76 => self.scan(chance.below(2) as usize, chance.percent(50)),
            76..84 => {
                self.clock.advance(chance.below(60) * 1_000_000);
                self.age();
                Ok(())
            }
            84..87 => {
                let (at, seconds) = (chance.below(2) as usize, *chance.pick(&[0, 30, 100, 1000]));
                self.families[at].set_ttl(seconds);
                self.ttls[at] = seconds;
                self.age();
                same("ttl", &self.families[at].ttl(), &seconds)
            }
            87..93 => self.families[chance.below(2) as usize].plain_family().flush().map_err(told("flush")),
            93..98 => {
                let family = self.families[chance.below(2) as usize].plain_family();
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))
            }
            _ => self.reopen(),
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        (0..FAMILIES.len()).try_for_each(|at| self.scan(at, false).and_then(|()| self.scan(at, true)))
    }
}
