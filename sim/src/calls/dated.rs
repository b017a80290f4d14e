//! Transactions with timestamps: one column family has timestamps, the other has none.
//!
//! ```text
//!  begin ── reads at a time, reads for update at the read timestamp, writes ──► prepare ──► commit at a new timestamp
//!                                                                                  └─ reopen ─┘
//! ```
//! The model keeps the history of each key. A key has one owner, and a write of another transaction times out. A key that was
//! changed after the snapshot, or written above the read timestamp, is Busy. Each commit has a timestamp above all earlier ones.

mod locks;
mod own;

use std::collections::BTreeMap;

use ironstone::{
    Family, FamilyDescriptor, Kind, Options, ReadOptions, Snapshot, Transaction, TransactionDb,
    TransactionDbOptions, TransactionOptions, WriteBatch, WriteOptions,
};
use testkit::chance::Chance;
use testkit::model::Model;

use self::own::Own;
use super::overlay::{Change, Key, State, columns};
use super::stamped::{History, reading, rejected, stamp};
use super::{FAMILIES, Setting, World, same, told, value, walk};

/// The index of the column family with timestamps in [`FAMILIES`].
const STAMPED: usize = 1;

/// The histories of all column families.
type Histories = Vec<History>;

/// A database with transactions and timestamps, and its model.
pub(super) struct Dated {
    options: Options,
    transactions: TransactionDbOptions,
    db: Option<TransactionDb>,
    families: Vec<Family>,
    state: Histories,
    /// The largest timestamp of a commit or of a snapshot.
    now: u64,
    /// `full_history_ts_low`. Reads below it are rejected.
    low: u64,
    /// The number of commits, and the commits that changed a key, in order. The flag is true if the key was present after
    /// the commit.
    commits: u64,
    changed: BTreeMap<Key, Vec<(u64, bool)>>,
    running: Vec<(Transaction, Own)>,
    /// The snapshots with a timestamp.
    taken: Vec<(u64, Histories)>,
    names: u64,
    /// True if a memtable was flushed. A compaction may then drop a put together with the deletion above it.
    is_flushed: bool,
}

/// Draws a key of one of the column families.
fn key(chance: &mut Chance) -> Key {
    let bytes = format!("key{:02}", chance.below(20)).into_bytes();
    Key { family: chance.below(2) as usize, bytes }
}

/// Returns options for a read of column family `family`: at the time `at` if the column family has timestamps.
fn options_at(family: usize, at: u64, options: ReadOptions) -> ReadOptions {
    match family {
        STAMPED => reading(at, options),
        _ => ReadOptions { total_order_seek: true, ..options },
    }
}

/// Returns the rows that a reader at the time `at` sees.
fn state_at(histories: &Histories, at: u64) -> State {
    let of = |(family, history): (usize, &History)| {
        let mut model = Model::default();
        let at = if family == STAMPED { at } else { u64::MAX };
        history.rows(at).iter().for_each(|(key, value)| model.put(key, value));
        model
    };
    histories.iter().enumerate().map(of).collect()
}

impl Dated {
    /// Opens the database. Replaces options that transactions and timestamps do not allow.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting, chance: &mut Chance) -> Result<Dated, String> {
        let mut options = setting.options.clone();
        options.update("unordered_write=false;inplace_update_support=false").map_err(told("options"))?;
        let transactions = TransactionDbOptions {
            transaction_lock_timeout: 0,
            default_lock_timeout: 0,
            enable_udt_validation: chance.percent(75),
            ..TransactionDbOptions::default()
        };
        let mut world = Dated {
            options,
            transactions,
            db: None,
            families: Vec::new(),
            state: vec![History::default(); FAMILIES.len()],
            now: 1,
            low: 0,
            commits: 0,
            changed: BTreeMap::new(),
            running: Vec::new(),
            taken: Vec::new(),
            names: 0,
            is_flushed: false,
        };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let mut stamped = self.options.clone();
        stamped
            .update("comparator=leveldb.BytewiseComparator.u64ts;enable_blob_direct_write=false")
            .map_err(told("options"))?;
        let own = |place| if place == STAMPED { &stamped.family } else { &self.options.family };
        let descriptor = |(place, name): (usize, &&str)| FamilyDescriptor::new(*name, own(place).clone());
        let families = FAMILIES.iter().enumerate().map(descriptor).collect();
        let (options, transactions) = (self.options.clone(), self.transactions.clone());
        let db = TransactionDb::open_with("/db", options, transactions, Some(families));
        let db = db.map_err(told("open"))?;
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
        self.families = families.map_err(told("family"))?;
        let low = (self.low > 0).then(|| stamp(self.low).to_vec());
        same("full_history_ts_low", &self.families[STAMPED].full_history_ts_low(), &low)?;
        self.db = Some(db);
        Ok(())
    }

    fn db(&self) -> &TransactionDb {
        self.db.as_ref().expect("open between operations")
    }

    fn begin(&mut self, chance: &mut Chance) -> Result<(), String> {
        if self.running.len() == 4 {
            return Ok(());
        }
        let options = TransactionOptions {
            set_snapshot: chance.percent(30),
            commit_bypass_memtable: chance.percent(30),
            write_batch_track_timestamp_size: chance.percent(30),
            ..TransactionOptions::default()
        };
        let handle = self.db().begin_with(&WriteOptions::default(), &options).map_err(told("begin"))?;
        let snapshot = options.set_snapshot.then_some(self.commits);
        self.running.push((handle, Own { snapshot, ..Own::default() }));
        Ok(())
    }

    /// Sets the read timestamp of a transaction. The timestamp must not fall.
    fn set_read_timestamp(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let time = self.low + chance.below(self.now + 1 - self.low);
        let (handle, own) = &mut self.running[at];
        let done = handle.set_read_timestamp_for_validation(time);
        if own.reads_at.is_some_and(|before| time < before) {
            return rejected("a smaller read timestamp", Kind::InvalidArgument, done);
        }
        done.map_err(told("set_read_timestamp_for_validation"))?;
        own.reads_at = Some(time);
        let early = handle.set_commit_timestamp(time);
        match self.transactions.enable_udt_validation {
            true => rejected("a commit at the read timestamp", Kind::InvalidArgument, early),
            false => early.map_err(told("set_commit_timestamp")),
        }
    }

    fn write(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let (key, change) = (key(chance), Change::draw(chance));
        if self.running[at].1.is_prepared || self.is_undecided(&key) {
            return Ok(());
        }
        let checked = chance.percent(80);
        let expected = self.track(at, &key, checked);
        let (family, handle) = (&self.families[key.family], &self.running[at].0);
        let bytes = &key.bytes[..];
        let done = match (&change, checked) {
            (Change::Put(value), true) => handle.put_in(family, bytes, value),
            (Change::Put(value), false) => handle.put_untracked_in(family, bytes, value),
            (Change::Entity(value), true) => handle.put_entity_in(family, bytes, &columns(value)),
            (Change::Entity(value), false) => handle.put_entity_untracked_in(family, bytes, &columns(value)),
            (Change::Delete, true) => handle.delete_in(family, bytes),
            (Change::Delete, false) => handle.delete_untracked_in(family, bytes),
            (Change::Merge(operand), true) => handle.merge_in(family, bytes, operand),
            (Change::Merge(operand), false) => handle.merge_untracked_in(family, bytes, operand),
        };
        let what = format!("{change:02x?} of {key:02x?}, checked {checked}");
        if self.agree(at, &key, &what, done, expected)? {
            self.running[at].1.overlay.change(&key, &change);
        }
        Ok(())
    }

    /// Reads a key, several keys and all keys in a transaction, at a drawn time.
    fn read(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let (first, time) = (key(chance), self.time(chance));
        let below = state_at(&self.state, time);
        let (handle, own) = &self.running[at];
        let family = &self.families[first.family];
        let options = options_at(first.family, time, ReadOptions::default());
        let what = |call: &str| format!("{call} of {first:02x?} at {time}, low {}", self.low);
        let found = handle.get_in(family, &first.bytes, &options).map_err(told("get_in"))?;
        same(&what("get_in"), &found.map(|v| v.to_vec()), &own.overlay.read(&first, &below))?;
        let found = handle.get_entity_in(family, &first.bytes, &options).map_err(told("get_entity_in"))?;
        let found = found.map(|columns| columns.default_column().to_vec());
        same(&what("get_entity_in"), &found, &own.overlay.read(&first, &below))?;
        let keys: Vec<Key> =
            (0..chance.below(8)).map(|_| Key { family: first.family, ..key(chance) }).collect();
        let bytes: Vec<&[u8]> = keys.iter().map(|key| &key.bytes[..]).collect();
        for (key, found) in keys.iter().zip(handle.multi_get_in(family, &bytes, &options)) {
            let found = found.map_err(told("multi_get_in"))?.map(|v| v.to_vec());
            same(&what("multi_get_in"), &found, &own.overlay.read(key, &below))?;
        }
        if first.family == STAMPED {
            let found = handle.get_in(family, &first.bytes, &ReadOptions::default()).map(drop);
            if own.overlay.alone(&first) == Some(None) {
                rejected("get_in without a timestamp", Kind::InvalidArgument, found)?;
            }
        }
        let mut iter = handle.iter_in(family, options).map_err(told("iter_in"))?;
        walk(&what("iter_in"), &mut iter, &own.overlay.rows(first.family, &below), chance)
    }

    /// Draws a time at which the column family with timestamps can be read.
    fn time(&self, chance: &mut Chance) -> u64 {
        if chance.percent(30) { u64::MAX } else { self.low + chance.below(self.now + 2 - self.low) }
    }

    fn save_points(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let (handle, own) = &mut self.running[at];
        if own.is_prepared {
            return Ok(());
        }
        if chance.percent(50) {
            handle.set_save_point();
            own.save();
            return Ok(());
        }
        let done = handle.rollback_to_save_point();
        match own.roll_back() {
            true => done.map_err(told("rollback to the save point")),
            false => rejected("rollback without a save point", Kind::NotFound, done),
        }
    }

    fn prepare(&mut self, at: usize) -> Result<(), String> {
        let (handle, own) = &mut self.running[at];
        if own.is_prepared {
            return Ok(());
        }
        self.names += 1;
        own.name = format!("transaction {}", self.names).into_bytes();
        handle.set_name(&own.name).map_err(told("set_name"))?;
        handle.prepare().map_err(told("prepare"))?;
        own.is_prepared = true;
        Ok(())
    }

    /// Ends a transaction: a rollback, a commit without the timestamp that it needs, or a commit.
    fn finish(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let (handle, own) = &self.running[at];
        if chance.percent(20) {
            handle.rollback().map_err(told("rollback"))?;
            self.running.swap_remove(at);
            return Ok(());
        }
        // Only the largest time, which stands for no timestamp, removes a timestamp.
        handle.set_commit_timestamp(u64::MAX).map_err(told("set_commit_timestamp"))?;
        same("no commit timestamp", &handle.commit_timestamp(), &None)?;
        let needs = own.overlay.keys().any(|key| key.family == STAMPED);
        if needs && chance.percent(20) {
            rejected("a commit without a timestamp", Kind::InvalidArgument, handle.commit())?;
            // A prepared transaction stays. Another transaction is rolled back.
            if !own.is_prepared {
                self.running.swap_remove(at);
                return Ok(());
            }
        }
        let time = self.now + 1 + chance.below(3);
        let taken = self.commit(at, time, chance)?;
        let (_, own) = self.running.swap_remove(at);
        (self.now, self.commits) = (time, self.commits + 1);
        let below = state_at(&self.state, u64::MAX);
        for key in own.overlay.keys() {
            self.change(key, time, own.overlay.read(key, &below));
        }
        if taken {
            self.taken.push((time, self.state.clone()));
        }
        Ok(())
    }

    /// Commits at `time`. Returns true if the commit took a snapshot.
    fn commit(&self, at: usize, time: u64, chance: &mut Chance) -> Result<bool, String> {
        let handle = &self.running[at].0;
        let takes = self.taken.len() < 4 && chance.percent(30);
        let is_set = !takes || chance.percent(50);
        if is_set {
            handle.set_commit_timestamp(time).map_err(told("set_commit_timestamp"))?;
            same("commit timestamp", &handle.commit_timestamp(), &Some(time))?;
        }
        if !takes {
            handle.commit().map_err(told("commit"))?;
            return Ok(false);
        }
        if is_set {
            let other = handle.commit_and_try_create_snapshot(None, Some(time + 1)).map(drop);
            rejected("a commit at another timestamp", Kind::InvalidArgument, other)?;
        }
        let given = (!is_set || chance.percent(50)).then_some(time);
        let taken =
            handle.commit_and_try_create_snapshot(None, given).map_err(told("commit with a snapshot"))?;
        same("timestamp of the snapshot", &taken.map(|taken| taken.timestamp()), &Some(time))?;
        Ok(true)
    }

    /// Notes a change of the newest commit.
    fn change(&mut self, key: &Key, time: u64, value: Option<Vec<u8>>) {
        self.changed.entry(key.clone()).or_default().push((self.commits, value.is_some()));
        self.state[key.family].set(&key.bytes, time, value);
    }

    /// Writes outside of the transactions. A key with a timestamp is taken only by the database below the transactions.
    fn write_plain(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (key, value) = (key(chance), value(chance));
        let is_free = self.running.iter().all(|(_, own)| !own.tracked.contains_key(&key));
        if self.is_undecided(&key) {
            return Ok(());
        }
        let (family, mut batch, time) = (&self.families[key.family], WriteBatch::new(), self.now + 1);
        if key.family != STAMPED {
            batch.put_in(family.id(), &key.bytes, &value);
            let done = self.db().write(batch);
            if !is_free {
                return rejected("a write of a locked key", Kind::TimedOut, done);
            }
            done.map_err(told("write"))?;
        } else {
            batch.put_at(family.id(), &key.bytes, &stamp(time), &value);
            rejected("a write with a timestamp", Kind::NotSupported, self.db().write(batch.clone()))?;
            let unlocked = self.db().write_without_locks(&mut batch.clone(), &WriteOptions::default());
            rejected("a write with a timestamp, without locks", Kind::NotSupported, unlocked)?;
            if !is_free {
                return Ok(());
            }
            self.db().base().write(batch).map_err(told("write below the transactions"))?;
        }
        (self.now, self.commits) = (time, self.commits + 1);
        self.change(&key, time, Some(value));
        Ok(())
    }

    /// Takes a snapshot with a timestamp, or releases the older snapshots.
    fn snapshots(&mut self, chance: &mut Chance) -> Result<(), String> {
        if self.taken.len() < 4 && chance.percent(60) {
            self.now += 1;
            let taken = self.db().create_timestamped_snapshot(self.now);
            let taken = taken.map_err(told("create_timestamped_snapshot"))?;
            self.taken.push((self.now, self.state.clone()));
            return same("timestamp", &taken.timestamp(), &self.now);
        }
        let below = self.now.saturating_sub(chance.below(8));
        self.db().release_timestamped_snapshots_older_than(below);
        self.taken.retain(|(time, _)| *time >= below);
        Ok(())
    }

    /// Raises the low mark of the history, at most to the smallest read timestamp of a transaction.
    fn raise(&mut self, chance: &mut Chance) -> Result<(), String> {
        let reads = self.running.iter().filter_map(|(_, own)| own.reads_at);
        let most = reads.min().unwrap_or(self.now);
        let low = (self.low + chance.below(most + 1 - self.low)).max(1);
        if low > most {
            return Ok(());
        }
        let done = self.families[STAMPED].increase_full_history_ts_low(&stamp(low));
        done.map_err(told("increase_full_history_ts_low"))?;
        self.low = low;
        Ok(())
    }

    /// Opens the database again, and decides most of the recovered transactions.
    fn reopen(&mut self, chance: &mut Chance) -> Result<(), String> {
        let mut prepared: BTreeMap<Vec<u8>, Own> = BTreeMap::new();
        for (_, own) in self.running.drain(..).filter(|(_, own)| own.is_prepared) {
            prepared.insert(own.name.clone(), own);
        }
        self.families.clear();
        self.taken.clear();
        let db = self.db.take().expect("open between operations");
        db.close().map_err(told("close"))?;
        drop(db);
        self.is_flushed = true;
        self.open()?;
        let recovered = self.db().all_prepared_transactions();
        same("recovered transactions", &recovered.len(), &prepared.len())?;
        for handle in recovered {
            let Some(own) = prepared.remove(&handle.name()) else {
                return Err(format!("recovered {}", handle.name().escape_ascii()));
            };
            let Own { overlay, name, .. } = own;
            let own = Own { overlay, name, is_prepared: true, is_recovered: true, ..Own::default() };
            self.running.push((handle, own));
        }
        for at in (0..self.running.len()).rev() {
            if chance.percent(70) {
                self.finish(at, chance)?;
            }
        }
        Ok(())
    }

    /// Compares the rows that a reader of `options` sees at three times with the model.
    fn compare_rows(&self, state: &Histories, options: &ReadOptions) -> Result<(), String> {
        for (place, (family, history)) in self.families.iter().zip(state).enumerate() {
            let times = if place == STAMPED {
                &[self.low, (self.low + self.now) / 2, u64::MAX][..]
            } else {
                &[u64::MAX]
            };
            for time in times {
                let options = options_at(place, *time, options.clone());
                let mut iter = family.iter_with(options).map_err(told("iter_with"))?;
                let mut found = Vec::new();
                iter.seek_to_first();
                while iter.valid() {
                    found.push((iter.key().to_vec(), iter.value().to_vec()));
                    iter.next();
                }
                iter.status().map_err(told("scan"))?;
                same(&format!("rows of {} at {time}", family.name()), &found, &history.rows(*time))?;
            }
        }
        Ok(())
    }

    /// Compares the snapshots with a timestamp with the model.
    fn compare_snapshots(&self) -> Result<(), String> {
        let all = self.db().timestamped_snapshots(0, u64::MAX).map_err(told("timestamped snapshots"))?;
        let found: Vec<u64> = all.iter().map(|snapshot| snapshot.timestamp()).collect();
        let expected: Vec<u64> = self.taken.iter().map(|(time, _)| *time).collect();
        same("timestamped snapshots", &found, &expected)?;
        for (snapshot, (_, state)) in all.iter().zip(&self.taken) {
            let snapshot: &Snapshot = snapshot;
            self.compare_rows(state, &snapshot.options())?;
        }
        Ok(())
    }
}

impl World for Dated {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        if self.running.is_empty() || chance.percent(10) {
            return self.begin(chance);
        }
        let at = chance.below(self.running.len() as u64) as usize;
        match chance.below(100) {
            0..36 => self.write(at, chance),
            36..48 => self.read(at, chance),
            48..58 => self.read_for_update(at, chance),
            58..64 => self.set_read_timestamp(at, chance),
            64..68 => self.save_points(at, chance),
            68..72 => self.prepare(at),
            72..84 => self.finish(at, chance),
            84..89 => self.write_plain(chance),
            89..92 => self.snapshots(chance),
            92 => self.raise(chance),
            93 | 94 => {
                self.is_flushed = true;
                self.families[chance.below(2) as usize].flush().map_err(told("flush"))
            }
            95 => {
                self.is_flushed = true;
                let family = &self.families[chance.below(2) as usize];
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))
            }
            96 => self.reopen(chance),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        self.compare_rows(&self.state, &ReadOptions::default())?;
        self.compare_snapshots()?;
        for (handle, own) in &self.running {
            same("tracked keys", &handle.num_keys(), &(own.tracked.len() as u64))?;
            same("name", &handle.name(), &own.name)?;
        }
        same("deadlocks", &self.db().deadlock_info_buffer().len(), &0)
    }
}
