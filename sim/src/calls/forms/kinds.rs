//! Databases of other kinds, opened with their short forms. Each call makes a new database, and destroys it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ironstone::ttl::{TtlDb, TtlFamily};
use ironstone::{
    Checkpoint, FamilyDescriptor, Kind, OptimisticTransactionDb, ReadOptions, RollbackDeletionType,
    TransactionDb, TransactionDbOptions, TxnDbWritePolicy,
};
use parking_lot::Mutex;
use testkit::chance::Chance;
use testkit::model::Model;

use super::super::indexed::rows_equal;
use super::super::{key, same, told, value};
use super::{FAMILIES, Forms, families_of};

/// Draws rows.
fn drawn(chance: &mut Chance) -> Model {
    let mut model = Model::default();
    (0..1 + chance.below(12)).for_each(|_| model.put(&key(chance), &value(chance)));
    model
}

/// Compares the rows of column families with a time to live.
fn aged_rows_equal(what: &str, families: &[&TtlFamily], models: &[Model]) -> Result<(), String> {
    for (family, model) in families.iter().zip(models) {
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut iter = family.iter_with(options).map_err(told(what))?;
        let mut rows = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            rows.push((iter.key().to_vec(), iter.value().map_err(told(what))?.to_vec()));
            iter.next();
        }
        iter.status().map_err(told(what))?;
        same(what, &rows, &model.rows())?;
    }
    Ok(())
}

impl Forms {
    fn descriptor(&self, name: &str) -> FamilyDescriptor {
        FamilyDescriptor::new(name, self.options.family.clone())
    }

    fn destroy(&self, path: &Path) -> Result<(), String> {
        ironstone::destroy(path, &self.options.db).map_err(told("destroy"))
    }

    /// Values of a database with a time to live are there until a compaction after that time.
    pub(super) fn age(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("aging");
        let mut options = self.options.clone();
        options.update("disable_auto_compactions=true").map_err(told("options"))?;
        options.family.compaction_filter = None;
        let ttl = 100 + chance.below(100) as i32;
        let mut models = [drawn(chance), drawn(chance)];
        let db = TtlDb::open(&path, options.clone(), ttl).map_err(told("open with a time to live"))?;
        let descriptor = FamilyDescriptor::new("kept", options.family.clone());
        let kept = db.create_family(descriptor.clone(), 0).map_err(told("create_family"))?;
        same("times to live", &(db.ttl(), kept.ttl()), &(ttl, 0))?;
        for (key, value) in models[0].rows() {
            db.put(&key, &value).map_err(told("put with a time to live"))?;
        }
        for (key, value) in models[1].rows() {
            kept.put(&key, &value).map_err(told("put without a time to live"))?;
        }
        let expires = chance.percent(50);
        let seconds = if expires { ttl as u64 + 2 } else { chance.below(ttl as u64) };
        self.clock.advance(seconds * 1_000_000);
        let default = db.family("default").map_err(told("family"))?;
        aged_rows_equal("rows before a compaction", &[&default, &kept], &models)?;
        for family in [&default, &kept] {
            let force = ironstone::CompactRangeOptions {
                bottommost_level_compaction: ironstone::BottommostLevelCompaction::Force,
                ..Default::default()
            };
            family.plain_family().compact_range(None, None, &force).map_err(told("compact"))?;
        }
        if expires {
            models[0] = Model::default();
        }
        aged_rows_equal("rows after a compaction", &[&default, &kept], &models)?;
        let plain = db.plain().clone();
        drop((default, kept, db));
        plain.close().map_err(told("close"))?;
        drop(plain);
        for with_families in [false, true] {
            let opened = match with_families {
                false => TtlDb::open_read_only(&path, options.clone()),
                true => {
                    let default = FamilyDescriptor::new("default", options.family.clone());
                    let named = vec![(default, ttl), (descriptor.clone(), 0)];
                    TtlDb::open_read_only_with_families(&path, options.clone(), named)
                }
            };
            let reader = opened.map_err(told("read-only open with a time to live"))?;
            let families = ["default", "kept"].map(|name| reader.family(name));
            let [Ok(default), Ok(kept)] = families else { return Err("a column family is missing".into()) };
            aged_rows_equal("rows of a reader", &[&default, &kept], &models)?;
            let refused = reader.put(b"key00", b"refused").map_err(|error| error.kind());
            same("write of a reader", &refused, &Err(Kind::NotSupported))?;
        }
        self.destroy(&path)
    }

    /// Prepared transactions that add writes at their commit. Then exports a column family and imports it.
    pub(super) fn transact(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("transactions");
        let options = self.options.clone();
        // One thread makes all calls, so no lock is granted later.
        let open = |path: &Path| {
            let at_once = TransactionDbOptions {
                transaction_lock_timeout: 0,
                default_lock_timeout: 0,
                ..TransactionDbOptions::default()
            };
            TransactionDb::open(path, options.clone(), at_once)
        };
        let db = open(&path).map_err(told("open with transactions"))?;
        let second = db.create_family(self.descriptor(FAMILIES[1])).map_err(told("create_family"))?;
        let mut models = vec![Model::default(), Model::default()];
        for number in 0..1 + chance.below(5) {
            let (rows, late) = (drawn(chance), drawn(chance));
            let transaction = db.begin();
            transaction.set_name(format!("t{number}").as_bytes()).map_err(told("set_name"))?;
            for (key, value) in rows.rows() {
                transaction.put_in(&second, &key, &value).map_err(told("put_in"))?;
            }
            transaction.prepare().map_err(told("prepare"))?;
            let count = transaction.with_commit_time_batch(|batch| {
                late.rows().iter().for_each(|(key, value)| {
                    batch.put(key, value);
                });
                batch.count()
            });
            same("records of the commit-time batch", &(count as usize), &late.rows().len())?;
            let before = rows_equal(&families_of(&db), &models);
            before.map_err(|words| format!("before a commit: {words}"))?;
            if chance.percent(30) {
                transaction.rollback().map_err(told("rollback"))?;
            } else {
                transaction.commit().map_err(told("commit"))?;
                late.rows().iter().for_each(|(key, value)| models[0].put(key, value));
                rows.rows().iter().for_each(|(key, value)| models[1].put(key, value));
            }
            let after = rows_equal(&families_of(&db), &models);
            after.map_err(|words| format!("after a commit with a batch: {words}"))?;
        }
        let exported = self.path("export");
        let metadata = Checkpoint::new(db.base()).export_column_family(&second, &exported);
        match metadata {
            Ok(metadata) if !metadata.files.is_empty() => {
                let descriptor = self.descriptor("imported");
                let imported = db.create_family_with_import(descriptor, &Default::default(), &[&metadata]);
                drop(imported.map_err(told("import"))?);
                models.push(models[1].clone());
                let transaction = db.begin();
                let imported = db.family("imported").map_err(told("family"))?;
                transaction.put_in(&imported, b"key00", b"after the import").map_err(told("put_in"))?;
                let locked = imported.put(b"key00", b"locked").map_err(|error| error.kind());
                same("a write of a locked key", &locked, &Err(Kind::TimedOut))?;
                transaction.commit().map_err(told("commit"))?;
                models[2].put(b"key00", b"after the import");
            }
            Ok(_) => {}
            // Blob files cannot be exported. The error says so.
            Err(error) if error.kind() == Kind::NotSupported => {}
            Err(error) => return Err(format!("export: {error}")),
        }
        drop(second);
        db.close().map_err(told("close"))?;
        let db = open(&path).map_err(told("second open with transactions"))?;
        rows_equal(&families_of(&db), &models).map_err(|words| format!("after a second open: {words}"))?;
        same("prepared transactions", &db.all_prepared_transactions().len(), &0)?;
        db.close().map_err(told("close"))?;
        self.destroy(&path)
    }

    /// Transactions that conflict or do not.
    pub(super) fn transact_optimistically(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("optimistic");
        let open = || OptimisticTransactionDb::open(&path, self.options.clone());
        let db = open().map_err(told("optimistic open"))?;
        let mut models = vec![Model::default()];
        for _ in 0..1 + chance.below(8) {
            let (rows, conflicts) = (drawn(chance), chance.percent(30));
            let transaction = db.begin();
            for (key, value) in rows.rows() {
                transaction.put(&key, &value).map_err(told("put"))?;
            }
            if conflicts {
                let all = rows.rows();
                let (key, value) = (&chance.pick(&all).0, value(chance));
                db.put(key, &value).map_err(told("put of a conflict"))?;
                models[0].put(key, &value);
            }
            let committed = transaction.commit().map_err(|error| error.kind());
            same("commit", &committed, &if conflicts { Err(Kind::Busy) } else { Ok(()) })?;
            if !conflicts {
                rows.rows().iter().for_each(|(key, value)| models[0].put(key, value));
            }
        }
        rows_equal(&families_of(&db), &models).map_err(|words| format!("optimistic: {words}"))?;
        db.close().map_err(told("close"))?;
        let db = open().map_err(told("second optimistic open"))?;
        rows_equal(&families_of(&db), &models)
            .map_err(|words| format!("optimistic, second open: {words}"))?;
        db.close().map_err(told("close"))?;
        self.destroy(&path)
    }

    /// A rollback asks the callback for each key that had no value, and only for these keys.
    pub(super) fn roll_back(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("rolled-back");
        let policies = [TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared];
        let asked: Arc<Mutex<BTreeSet<Vec<u8>>>> = Arc::default();
        let seen = asked.clone();
        let transactions = TransactionDbOptions {
            write_policy: *chance.pick(&policies),
            rollback_deletion_type_callback: Some(RollbackDeletionType::new(move |family, key| {
                seen.lock().insert(key.to_vec());
                family.name() == FAMILIES[1]
            })),
            ..TransactionDbOptions::default()
        };
        let db = TransactionDb::open(&path, self.options.clone(), transactions)
            .map_err(told("open with a callback"))?;
        let second = db.create_family(self.descriptor(FAMILIES[1])).map_err(told("create_family"))?;
        let models = vec![Model::default(), drawn(chance)];
        for (key, value) in models[1].rows() {
            second.put(&key, &value).map_err(told("put"))?;
        }
        for number in 0..1 + chance.below(4) {
            let rows = drawn(chance);
            let transaction = db.begin();
            transaction.set_name(format!("t{number}").as_bytes()).map_err(told("set_name"))?;
            for (key, value) in rows.rows() {
                transaction.put_in(&second, &key, &value).map_err(told("put_in"))?;
            }
            transaction.prepare().map_err(told("prepare"))?;
            if chance.percent(50) {
                second.flush().map_err(told("flush"))?;
            }
            asked.lock().clear();
            transaction.rollback().map_err(told("rollback"))?;
            let fresh = rows.rows().into_iter().map(|(key, _)| key);
            let fresh: BTreeSet<_> = fresh.filter(|key| models[1].get(key).is_none()).collect();
            same("keys that the rollback asks for", &*asked.lock(), &fresh)?;
            let left = rows_equal(&families_of(&db), &models);
            left.map_err(|words| format!("after a rollback: {words}"))?;
        }
        second.compact_range(None, None, &Default::default()).map_err(told("compact"))?;
        rows_equal(&families_of(&db), &models).map_err(|words| format!("after rollbacks: {words}"))?;
        drop(second);
        db.close().map_err(told("close"))?;
        self.destroy(&path)
    }
}
