//! Transactions that run concurrently with each other and with plain writes. One model serves all write policies of
//! pessimistic databases, and optimistic transactions.
//!
//! ```text
//!  pessimistic   a key has one exclusive owner or several shared owners; a write of another transaction times out
//!                with a snapshot: a key that was changed after the snapshot is Busy; but a key that is absent now
//!                and was absent at the snapshot may be granted, because a compaction may have dropped both changes
//!  optimistic    commit is Busy if a tracked key was changed since it was tracked; TryAgain if the memtables forgot
//! ```
//! The model counts commits. A snapshot and a tracked key each store the count at their creation.

mod facts;
mod more;
mod own;
mod reads;
mod short;

use std::collections::{BTreeMap, BTreeSet};

use ironstone::{
    Db, Family, Kind, LockMode, OccLockBuckets, OccValidationPolicy, OptimisticTransactionDb,
    OptimisticTransactionDbOptions, OptimisticTransactionOptions, Options, ReadOptions, Snapshot,
    Transaction, TransactionDb, TransactionDbOptions, TransactionOptions, TransactionState, TxnDbWritePolicy,
    Validation, WriteBatch, WriteOptions,
};
use testkit::chance::Chance;

use self::facts::Stamped;
use self::own::{Own, Use};
use super::indexed::rows_equal;
use super::overlay::{Change, Key, State, columns};
use super::{FAMILIES, Setting, WORLDS, World, key, same, told, walk};

/// The database of a world.
enum Base {
    Pessimistic(TransactionDb),
    Optimistic(OptimisticTransactionDb),
}

impl std::ops::Deref for Base {
    type Target = Db;

    fn deref(&self) -> &Db {
        match self {
            Base::Pessimistic(db) => db.base(),
            Base::Optimistic(db) => db.base(),
        }
    }
}

/// The kind of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavor {
    Policy(TxnDbWritePolicy),
    Optimistic(OccValidationPolicy),
}

/// A transaction and its model.
struct Running {
    handle: Transaction,
    own: Own,
}

/// A transaction database, its running transactions, and the model.
pub(super) struct Transactions {
    flavor: Flavor,
    options: Options,
    base: Option<Base>,
    families: Vec<Family>,
    state: State,
    /// The number of commits, and for each key the commits that changed it, in order. The flag is true if the key
    /// was present after the commit.
    commits: u64,
    changed: BTreeMap<Key, Vec<(u64, bool)>>,
    running: Vec<Running>,
    moments: Vec<(Snapshot, State)>,
    names: u64,
    /// True if a memtable was flushed. An optimistic commit may then fail with TryAgain, and a compaction may drop a put
    /// together with the deletion above it.
    flushed: bool,
    stamped: Stamped,
    /// The identity and the session of the open database.
    ids: (String, String),
}

impl Transactions {
    /// Opens the database. The seed chooses the write policy of the transactions, or optimistic transactions.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Transactions, String> {
        let flavor = match seed / WORLDS % 5 {
            0 => Flavor::Policy(TxnDbWritePolicy::WriteCommitted),
            1 => Flavor::Policy(TxnDbWritePolicy::WritePrepared),
            2 => Flavor::Policy(TxnDbWritePolicy::WriteUnprepared),
            3 => Flavor::Optimistic(OccValidationPolicy::ValidateSerial),
            _ => Flavor::Optimistic(OccValidationPolicy::ValidateParallel),
        };
        let mut options = setting.options.clone();
        // Some write policies reject these options.
        options.update("unordered_write=false;inplace_update_support=false").map_err(told("options"))?;
        let mut world = Transactions {
            flavor,
            options,
            base: None,
            families: Vec::new(),
            state: vec![Default::default(); FAMILIES.len()],
            commits: 0,
            changed: BTreeMap::new(),
            running: Vec::new(),
            moments: Vec::new(),
            names: 0,
            flushed: false,
            stamped: Stamped::default(),
            ids: Default::default(),
        };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let family = |name: &&str| ironstone::FamilyDescriptor::new(*name, self.options.family.clone());
        let families = Some(FAMILIES.iter().map(family).collect());
        let base = match self.flavor {
            Flavor::Policy(write_policy) => {
                let transactions = TransactionDbOptions {
                    write_policy,
                    // Without this option, a rollback does not undo merge operands, except with the write-committed
                    // policy.
                    rollback_merge_operands: write_policy != TxnDbWritePolicy::WriteCommitted,
                    transaction_lock_timeout: 0,
                    default_lock_timeout: 0,
                    ..Default::default()
                };
                let opened = TransactionDb::open_with("/db", self.options.clone(), transactions, families);
                Base::Pessimistic(opened.map_err(told("open"))?)
            }
            Flavor::Optimistic(validate_policy) => {
                // With few locks, different keys share a lock.
                let shared = OccLockBuckets::new(100);
                same("memory of 100 locks", &(shared.approximate_memory_usage() >= 100), &true)?;
                let shared_lock_buckets = Some(shared);
                let transactions = OptimisticTransactionDbOptions {
                    validate_policy,
                    shared_lock_buckets,
                    ..Default::default()
                };
                let opened =
                    OptimisticTransactionDb::open_with("/db", self.options.clone(), transactions, families);
                Base::Optimistic(opened.map_err(told("open"))?)
            }
        };
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| base.family(name)).collect();
        self.families = families.map_err(told("family"))?;
        let (identity, session) = (base.identity().to_string(), base.session_id().to_string());
        self.base = Some(base);
        let (old_identity, old_session) = &self.ids;
        if !old_identity.is_empty() {
            same("identity", &identity, old_identity)?;
            same("a session is used again", &(session == *old_session), &false)?;
        }
        self.ids = (identity, session);
        Ok(())
    }

    fn base(&self) -> &Base {
        self.base.as_ref().expect("open between operations")
    }

    fn is_pessimistic(&self) -> bool {
        matches!(self.flavor, Flavor::Policy(_))
    }

    fn begin(&mut self, chance: &mut Chance) -> Result<(), String> {
        if self.running.len() == 5 {
            return Ok(());
        }
        let (set_snapshot, detects) = (chance.percent(30), chance.percent(30));
        let handle = match self.base() {
            Base::Pessimistic(db) => {
                let committed = self.flavor == Flavor::Policy(TxnDbWritePolicy::WriteCommitted);
                let options = TransactionOptions {
                    commit_bypass_memtable: committed && chance.percent(30),
                    large_txn_commit_optimize_threshold: if committed { chance.below(8) as u32 } else { 0 },
                    set_snapshot,
                    deadlock_detect: detects,
                    // A lock that is not granted within the timeout is never granted: one thread makes all calls.
                    lock_timeout: *chance.pick(&[-1, -1, -1, 0, 1]),
                    ..TransactionOptions::default()
                };
                db.begin_with(&WriteOptions::default(), &options).map_err(told("begin"))?
            }
            Base::Optimistic(db) => {
                db.begin_with(&WriteOptions::default(), &OptimisticTransactionOptions { set_snapshot })
            }
        };
        same("detects deadlocks", &handle.is_deadlock_detect(), &(detects && self.is_pessimistic()))?;
        let own = Own {
            snapshot: set_snapshot.then_some(self.commits),
            began: Some(self.options.db.env.clock.now_micros()),
            ..Own::default()
        };
        self.running.push(Running { handle, own });
        Ok(())
    }

    /// Returns true if the lock table grants a key to a running transaction, or to a plain write (`None`).
    fn grants(&self, to: Option<usize>, key: &Key, mode: LockMode) -> bool {
        let others = self.running.iter().enumerate().filter(|(at, _)| Some(*at) != to);
        !self.is_pessimistic() || others.into_iter().all(|(_, other)| !other.own.blocks(key, mode))
    }

    /// Returns true if a recovered transaction writes the key. Other transactions may use the key after this
    /// transaction is committed or rolled back.
    fn is_undecided(&self, key: &Key) -> bool {
        self.running
            .iter()
            .any(|running| running.own.is_recovered && running.own.overlay.keys().any(|k| k == key))
    }

    /// Notes that the newest commit changed these keys. The state has the commit already.
    fn note_commit(&mut self, keys: Vec<Key>) {
        for key in keys {
            let present = self.state[key.family].get(&key.bytes).is_some();
            self.changed.entry(key).or_default().push((self.commits, present));
        }
    }

    /// Returns the commit that changed the key last; 0 if no commit changed it.
    fn changed_at(&self, key: &Key) -> u64 {
        self.changed.get(key).and_then(|commits| commits.last()).map_or(0, |(at, _)| *at)
    }

    /// Compares the outcome of a call that tracks a key with the expected one. Returns true if the key is tracked.
    fn agree_tracked(
        &mut self,
        at: usize,
        key: &Key,
        (by, mode): (Use, LockMode),
        what: &str,
        done: ironstone::Result<()>,
        expected: Result<(), Kind>,
    ) -> Result<bool, String> {
        let snapshot = self.running[at].own.snapshot;
        if let (Ok(()), Err(Kind::Busy), Some(snapshot)) = (&done, expected, snapshot)
            && self.flushed
            && self.is_absent_then_and_now(key, snapshot)
        {
            self.running[at].own.track(key, by, mode, snapshot);
            return Ok(true);
        }
        agree(what, done, expected)?;
        Ok(expected.is_ok())
    }

    /// Returns true if the key is absent now, and was absent at the snapshot.
    fn is_absent_then_and_now(&self, key: &Key, snapshot: u64) -> bool {
        let commits = self.changed.get(key).map_or(&[][..], Vec::as_slice);
        let then = commits.iter().rev().find(|(at, _)| *at <= snapshot);
        let now = commits.last();
        [then, now].into_iter().all(|commit| commit.is_none_or(|(_, present)| !present))
    }

    /// Returns the expected answer to the tracking of a key. If the answer is `Ok`, records the key as tracked.
    fn track(
        &mut self,
        at: usize,
        key: &Key,
        by: Use,
        mode: LockMode,
        check: Validation,
    ) -> Result<(), Kind> {
        let (granted, commits) = (self.grants(Some(at), key, mode), self.commits);
        let (changed, pessimistic) = (self.changed_at(key), self.is_pessimistic());
        let checked = check == Validation::Check;
        let own = &mut self.running[at].own;
        if !pessimistic {
            if checked {
                own.take_wished_snapshot(commits);
                own.track(key, by, mode, own.snapshot.unwrap_or(commits));
            }
            return Ok(());
        }
        if !granted {
            return Err(Kind::TimedOut);
        }
        own.take_wished_snapshot(commits);
        let since = match (own.snapshot, own.tracked_at(key)) {
            (Some(snapshot), Some(at)) if checked && at <= snapshot => at,
            (Some(snapshot), _) if checked && changed > snapshot => return Err(Kind::Busy),
            (Some(snapshot), _) if checked => snapshot,
            (_, Some(at)) => at,
            (_, None) => commits,
        };
        own.track(key, by, mode, since);
        Ok(())
    }

    fn write(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let key = Key::draw(chance);
        // A recovered transaction takes no locks. It must not write keys that other transactions use.
        if self.is_undecided(&key) || self.running[at].own.is_recovered {
            return Ok(());
        }
        let (change, checked) = (Change::draw(chance), chance.percent(80));
        let check = if checked { Validation::Check } else { Validation::Skip };
        let expected = self.expected_write(at, &key, check);
        let (family, handle) = (&self.families[key.family], &self.running[at].handle);
        let done = match (&change, checked) {
            (Change::Put(value), true) if key.family == 0 => handle.put(&key.bytes, value),
            (Change::Put(value), true) => handle.put_in(family, &key.bytes, value),
            (Change::Put(value), false) => handle.put_untracked_in(family, &key.bytes, value),
            (Change::Entity(value), true) => handle.put_entity_in(family, &key.bytes, &columns(value)),
            (Change::Entity(value), false) => {
                handle.put_entity_untracked_in(family, &key.bytes, &columns(value))
            }
            (Change::Delete, true) if key.family == 0 => handle.delete(&key.bytes),
            (Change::Delete, true) => handle.delete_in(family, &key.bytes),
            (Change::Delete, false) => handle.delete_untracked_in(family, &key.bytes),
            (Change::Merge(operand), true) if key.family == 0 => handle.merge(&key.bytes, operand),
            (Change::Merge(operand), true) => handle.merge_in(family, &key.bytes, operand),
            (Change::Merge(operand), false) => handle.merge_untracked_in(family, &key.bytes, operand),
        };
        let what = format!("{change:02x?} of {key:02x?}, checked {checked}");
        if self.agree_tracked(at, &key, (Use::Write, LockMode::Exclusive), &what, done, expected)? {
            self.running[at].own.write(&key, &change);
        }
        Ok(())
    }

    fn expected_write(&mut self, at: usize, key: &Key, check: Validation) -> Result<(), Kind> {
        // The other policies write the batch at prepare, so no commit would write a later record.
        let is_written = self.flavor != Flavor::Policy(TxnDbWritePolicy::WriteCommitted);
        if self.running[at].own.prepared && is_written {
            return Err(Kind::InvalidArgument);
        }
        self.track(at, key, Use::Write, LockMode::Exclusive, check)
    }

    fn read(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let at_key = Key::draw(chance);
        let moment = chance.percent(25).then(|| chance.below(4) as usize).and_then(|n| self.moments.get(n));
        let (mut options, below) = match moment {
            Some((snapshot, state)) => (snapshot.options(), state),
            None => (ReadOptions::default(), &self.state),
        };
        options.total_order_seek = true;
        let Running { handle, own } = &self.running[at];
        let family = &self.families[at_key.family];
        let found = handle.get_in(family, &at_key.bytes, &options).map_err(told("get_in"))?;
        same("get_in", &found.map(|v| v.to_vec()), &own.overlay.read(&at_key, below))?;
        if chance.percent(30) {
            facts::entity(handle, family, &at_key.bytes, &options, &own.overlay.read(&at_key, below))?;
        }
        let keys: Vec<Vec<u8>> = (0..chance.below(10)).map(|_| key(chance)).collect();
        let borrowed: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (key, found) in keys.iter().zip(handle.multi_get_in(family, &borrowed, &options)) {
            let found = found.map_err(told("multi_get_in"))?.map(|v| v.to_vec());
            same(
                "multi_get_in",
                &found,
                &own.overlay.read(&Key { family: at_key.family, bytes: key.clone() }, below),
            )?;
        }
        if chance.percent(40) {
            let rows = own.overlay.rows(at_key.family, below);
            let mut iter = handle.iter_in(family, options).map_err(told("iter_in"))?;
            walk("iter_in", &mut iter, &rows, chance)?;
        }
        Ok(())
    }

    fn save_points(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let Running { handle, own } = &mut self.running[at];
        // A prepared transaction can only remove its save points.
        let choice = if own.prepared { 2 } else { chance.below(3) };
        match choice {
            0 => {
                handle.set_save_point();
                own.save();
                Ok(())
            }
            1 => {
                let expected = if own.roll_back() { Ok(()) } else { Err(Kind::NotFound) };
                agree("rollback to the save point", handle.rollback_to_save_point(), expected)
            }
            _ => {
                let expected = if own.pop() { Ok(()) } else { Err(Kind::NotFound) };
                agree("pop of the save point", handle.pop_save_point(), expected)
            }
        }
    }

    fn snapshots(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let Running { handle, own } = &mut self.running[at];
        let choice = chance.below(4);
        own.wishes_snapshot = choice == 1;
        match choice {
            0 => {
                handle.clear_snapshot();
                own.snapshot = None;
            }
            1 => handle.set_snapshot_on_next_operation(None),
            _ => {
                handle.set_snapshot();
                own.snapshot = Some(self.commits);
            }
        }
        same("has a snapshot", &handle.snapshot().is_some(), &own.snapshot.is_some())
    }

    fn prepare(&mut self, at: usize) -> Result<(), String> {
        let Running { handle, own } = &mut self.running[at];
        if !matches!(self.flavor, Flavor::Policy(_)) || own.prepared {
            return Ok(());
        }
        if own.name.is_none() {
            self.names += 1;
            let name = format!("transaction {}", self.names).into_bytes();
            handle.set_name(&name).map_err(told("set_name"))?;
            own.name = Some(name);
        }
        handle.prepare().map_err(told("prepare"))?;
        own.prepare();
        same("a section has no WAL", &(handle.wal_number() == 0), &false)?;
        same("state", &handle.state(), &TransactionState::Prepared)
    }

    fn finish(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let Running { handle, own } = self.running.swap_remove(at);
        if own.wishes_snapshot {
            // A commit takes a wished snapshot only with a commit timestamp. Without a timestamp such a commit fails.
            handle.clear_snapshot();
        }
        if chance.percent(25) {
            // If prepared entries are in the memtables, a rollback writes the older values again. This counts as a
            // commit.
            if own.prepared && self.flavor != Flavor::Policy(TxnDbWritePolicy::WriteCommitted) {
                self.commits += 1;
                self.note_commit(own.overlay.keys().cloned().collect());
            }
            return handle.rollback().map_err(told("rollback"));
        }
        let conflict = own.tracked.iter().any(|(key, used)| self.changed_at(key) > used.at);
        let committed = self.flavor == Flavor::Policy(TxnDbWritePolicy::WriteCommitted);
        let stamped = committed && own.commit_timestamp.is_none() && chance.percent(15);
        let timestamp = stamped.then(|| self.stamped.next(chance));
        let committed = match timestamp {
            None => handle.commit(),
            Some(timestamp) => {
                handle.commit_and_try_create_snapshot(None, Some(timestamp)).and_then(|taken| {
                    let words = "the commit took no snapshot";
                    taken.map(drop).ok_or_else(|| ironstone::Error::aborted(words))
                })
            }
        };
        match committed {
            Ok(()) if self.is_pessimistic() || !conflict => {}
            Err(error) if !self.is_pessimistic() && conflict && error.kind() == Kind::Busy => return Ok(()),
            Err(error) if !self.is_pessimistic() && self.flushed && error.kind() == Kind::TryAgain => {
                return Ok(());
            }
            other => return Err(format!("commit: {other:?}, conflict {conflict}")),
        }
        let number = handle.committed_sequence();
        if own.overlay.keys().next().is_some() && (number.is_zero() || number > self.base().latest_sequence())
        {
            return Err(format!("a commit has the sequence number {number}"));
        }
        self.commits += 1;
        own.overlay.apply(&mut self.state);
        self.note_commit(own.overlay.keys().cloned().collect());
        if let Some(timestamp) = timestamp {
            self.stamped.add(timestamp, &self.state);
        }
        Ok(())
    }

    /// Writes one key or a batch, outside of the transactions.
    fn write_plain(&mut self, chance: &mut Chance) -> Result<(), String> {
        let locked = chance.percent(85);
        let mut batch = WriteBatch::new();
        let mut overlay = super::overlay::Overlay::default();
        for _ in 0..1 + chance.below(3) {
            let (key, change) = (Key::draw(chance), Change::draw(chance));
            if self.is_undecided(&key) {
                continue;
            }
            let id = self.families[key.family].id();
            match &change {
                Change::Put(value) => batch.put_in(id, &key.bytes, value),
                Change::Entity(value) => batch.put_entity_in(id, &key.bytes, &columns(value)),
                Change::Delete => batch.delete_in(id, &key.bytes),
                Change::Merge(operand) => batch.merge_in(id, &key.bytes, operand),
            };
            overlay.change(&key, &change);
        }
        let granted = overlay.keys().all(|key| self.grants(None, key, LockMode::Exclusive));
        let (done, expected) = match self.base() {
            Base::Pessimistic(db) if !locked => {
                // Only keys that no transaction has locked: other transactions must not change a key that a
                // transaction read for update.
                if !granted {
                    return Ok(());
                }
                (db.write_without_locks(&mut batch, &WriteOptions::default()), Ok(()))
            }
            Base::Pessimistic(db) => (db.write(batch), if granted { Ok(()) } else { Err(Kind::TimedOut) }),
            Base::Optimistic(db) => (db.write(batch), Ok(())),
        };
        agree("plain write", done, expected)?;
        if expected.is_ok() {
            self.commits += 1;
            overlay.apply(&mut self.state);
            self.note_commit(overlay.keys().cloned().collect());
        }
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), String> {
        let mut prepared: BTreeMap<Vec<u8>, Own> = BTreeMap::new();
        for Running { own, .. } in self.running.drain(..) {
            if let (Some(name), true) = (own.name.clone(), own.prepared) {
                prepared.insert(name, own.at_prepare());
            }
        }
        (self.moments, self.families) = Default::default();
        self.stamped.clear();
        if let Some(base) = self.base.take() {
            base.close().map_err(told("close"))?;
        }
        self.flushed = true;
        self.open()?;
        let Base::Pessimistic(db) = self.base() else { return Ok(()) };
        let recovered = db.all_prepared_transactions();
        same("recovered transactions", &recovered.len(), &prepared.len())?;
        for handle in recovered {
            let Some(own) = prepared.remove(&handle.name()) else {
                return Err(format!("recovered {}", handle.name().escape_ascii()));
            };
            let mut own = own.recovered();
            own.prepare();
            self.running.push(Running { handle, own });
        }
        Ok(())
    }

    /// Compares the counts that the transactions and the database report with the model.
    fn compare_counts(&self) -> Result<(), String> {
        for Running { handle, own } in &self.running {
            // After prepare, the writes of a write-unprepared transaction are in the database and not in its batch.
            let batch_is_written =
                own.prepared && self.flavor == Flavor::Policy(TxnDbWritePolicy::WriteUnprepared);
            let counts =
                [handle.num_puts(), handle.num_deletes(), handle.num_merges(), handle.num_put_entities()];
            if !(batch_is_written && own.is_recovered) {
                same("counts of puts, deletions, merges and entities", &counts, &own.counts)?;
            }
            same("has a snapshot", &handle.snapshot().is_some(), &own.snapshot.is_some())?;
            same("tracked keys", &handle.num_keys(), &(own.tracked.len() as u64))?;
            same("name", &handle.name(), &own.name.clone().unwrap_or_default())?;
            let records = if batch_is_written { 0 } else { own.counts.iter().sum() };
            same("records", &u64::from(handle.to_batch().count()), &records)?;
        }
        facts::of_database(self.base(), &self.families)?;
        let Base::Pessimistic(db) = self.base() else { return Ok(()) };
        self.stamped.compare(db, &self.families)?;
        same("deadlocks", &db.deadlock_info_buffer().len(), &0)?;
        let tracked = self.running.iter().flat_map(|running| running.own.tracked.keys());
        let tracked: BTreeSet<&Key> = tracked.collect();
        same("locked keys", &db.lock_status_data().len(), &tracked.len())?;
        let named: Vec<_> = self.running.iter().filter_map(|running| running.own.name.as_deref()).collect();
        match named.iter().find(|name| db.transaction_by_name(name).is_none()) {
            Some(name) => Err(format!("no transaction {}", name.escape_ascii())),
            None => Ok(()),
        }
    }
}

impl World for Transactions {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        if self.running.is_empty() || chance.percent(8) {
            return self.begin(chance);
        }
        let at = chance.below(self.running.len() as u64) as usize;
        if chance.percent(10) {
            return self.more(at, chance);
        }
        match chance.below(100) {
            0..35 => self.write(at, chance),
            35..50 => self.read(at, chance),
            50..58 => self.read_for_update(at, chance),
            58 => self.collapse(at, chance),
            59 => self.short(at, chance),
            60..64 => {
                self.undo_read(at, chance);
                Ok(())
            }
            64..70 => self.save_points(at, chance),
            70..74 => self.snapshots(at, chance),
            74..77 => self.prepare(at),
            77..85 => self.finish(at, chance),
            85..94 => self.write_plain(chance),
            94 => {
                if self.moments.len() == 4 {
                    self.moments.remove(0);
                }
                self.moments.push((self.base().snapshot(), self.state.clone()));
                Ok(())
            }
            95 | 96 => {
                self.flushed = true;
                self.families[chance.below(2) as usize].flush().map_err(told("flush"))
            }
            97 => {
                self.flushed = true;
                let family = &self.families[chance.below(2) as usize];
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))
            }
            98 => self.reopen(),
            _ if chance.percent(50) => match self.base.as_ref() {
                Some(Base::Pessimistic(db))
                    if self.flavor == Flavor::Policy(TxnDbWritePolicy::WriteCommitted) =>
                {
                    self.stamped.step(db, &self.state, chance)
                }
                _ => Ok(()),
            },
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        rows_equal(&self.families, &self.state)?;
        self.compare_counts()
    }
}

/// Compares the outcome of a call with the expected one.
fn agree(what: &str, done: ironstone::Result<()>, expected: Result<(), Kind>) -> Result<(), String> {
    match (&done, expected) {
        (Ok(()), Ok(())) => Ok(()),
        (Err(error), Err(kind)) if error.kind() == kind => Ok(()),
        _ => Err(format!("{what}: {done:?} and not {expected:?}")),
    }
}
