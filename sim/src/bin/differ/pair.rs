//! Runs each operation on both engines and compares the answers.

mod ingesting;
mod lives;
mod reading;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ironstone_sim::sample::{Fixed, Timestamps};
use ironstone_sim::state::Key;
use testkit::chance::Chance;

use crate::rows::{self, Opening, Prefix};
use crate::script::{Change, Op, TOGGLES};
use crate::store::{Item, Mode, Position, Side, Spec, Store, Times, Writing};
use crate::watch;

/// With timestamps: the clock moves by this number for each step. No step writes more records.
const STEP_RECORDS_MAX: u64 = 1000;

/// The largest number of open iterators.
const SLOTS: usize = 3;
const SNAPSHOTS_MAX: usize = 4;
const FAMILIES_MAX: usize = 6;

/// Numeric properties that are equal for all layouts of files and all timings of jobs.
const EXACT: &[&str] = &[
    "rocksdb.num-snapshots",
    "rocksdb.oldest-snapshot-sequence",
    "rocksdb.background-errors",
    "rocksdb.is-file-deletions-enabled",
    "rocksdb.no-such-property",
];

/// Properties that both engines have, or neither engine has.
const NAMED: &[&str] = &[
    "rocksdb.stats",
    "rocksdb.sstables",
    "rocksdb.cfstats",
    "rocksdb.cfstats-no-file-histogram",
    "rocksdb.cf-file-histogram",
    "rocksdb.dbstats",
    "rocksdb.levelstats",
    "rocksdb.num-blob-files",
    "rocksdb.blob-stats",
    "rocksdb.live-blob-file-size",
    "rocksdb.num-files-at-level0",
    "rocksdb.num-files-at-level99",
    "rocksdb.compression-ratio-at-level0",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.block-cache-capacity",
    "rocksdb.estimate-live-data-size",
    "rocksdb.total-sst-files-size",
    "rocksdb.current-super-version-number",
    "rocksdb.is-write-stopped",
    "rocksdb.aggregated-table-properties",
    "rocksdb.aggregated-table-properties-at-level0",
    "rocksdb.no-such-property",
];

#[derive(Clone)]
struct Family {
    name: String,
    prefix: Prefix,
    /// True if the memtables are vectors. RocksDB's iterators copy a vector, so a refresh or a tailing iterator shows
    /// no newer entries.
    vector: bool,
    /// True if some values were once in blob files. RocksDB's tailing iterators read blob files through the version of
    /// their creation after they released this version: `DBIter` has `sv->current`, but `ForwardIterator` holds the
    /// reference.
    blobs: bool,
    /// True if writes put values into blob files before the WAL. RocksDB's multi-get answers NotSupported if it merges an operand with
    /// such a value of a memtable, so the column family gets no merges.
    direct: bool,
}

/// The movement of a tailing iterator since the last seek in its SST files and immutable memtables. If a new seek has
/// the prefix of the last seek, RocksDB does not seek these sources again, even if the iterator moved to another
/// prefix in between. Then the iterator misses rows, and the answers cannot be compared.
#[derive(Default)]
struct Tail {
    lower: Option<Vec<u8>>,
    reverse: bool,
    /// The prefix of the position after the last seek.
    prefix: Option<Vec<u8>>,
    passed: bool,
}

impl Tail {
    fn begins(&mut self, prefix: Prefix, target: Option<&[u8]>) {
        self.passed = false;
        let lower = self.lower.as_deref();
        let clamped = match (target, lower) {
            (Some(target), Some(lower)) if (target < lower) != self.reverse => Some(lower),
            (None, lower) => lower,
            (target, _) => target,
        };
        self.prefix = clamped.map(|key| prefix.of(key).unwrap_or_default().to_vec());
    }

    fn stands(&mut self, prefix: Prefix, key: &[u8]) {
        let own = prefix.of(key);
        match &self.prefix {
            None => self.prefix = own.map(<[u8]>::to_vec),
            Some(began) => self.passed |= own != Some(began) || prefix == Prefix::Noop,
        }
        self.passed |= own.is_none() && prefix != Prefix::None;
    }
}

struct Slot {
    prefix: Prefix,
    mode: Mode,
    /// The prefix of the last seek, while the iterator stays inside of this prefix.
    within: Option<Vec<u8>>,
    /// True if the answers are undefined until the next seek.
    lost: bool,
    snapshot: bool,
    vector: bool,
    /// The movement, for a tailing iterator.
    tail: Tail,
}

/// A pair of open databases, one of each engine.
pub struct Pair {
    sides: [Side; 2],
    dirs: [PathBuf; 2],
    open: Option<[Box<dyn Store>; 2]>,
    fixed: Fixed,
    opening: Opening,
    families: Vec<Family>,
    snapshots: usize,
    slots: [Option<Slot>; SLOTS],
    /// The existing keys that single deletions may delete, with their column families.
    toggles: BTreeSet<Key>,
    dropped: bool,
    /// True if a range was deleted at any time.
    ranged: bool,
    /// True if the last open recycled WALs.
    recycled: bool,
    /// The newest sequence number of Ironstone minus that of RocksDB. At an open, RocksDB forgets the sequence
    /// numbers of records that are in no file any more. Wraps below 0.
    behind: u64,
    /// With timestamps: the timestamp of the next record.
    clock: u64,
    /// With timestamps: a life has either merges or range deletions. A flush of RocksDB drops a merge operand that a
    /// range deletion deletes (`MergeHelper::MergeUntil`), and a read at an older timestamp misses the operand.
    merges: bool,
    /// The number of ingested files.
    ingested: u64,
    pub openings: u64,
}

/// The result of a comparison. The error describes both answers.
pub type Differs = Result<(), String>;

fn same<T: PartialEq + std::fmt::Debug>(what: impl FnOnce() -> String, ours: &T, theirs: &T) -> Differs {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{}: ours {}, theirs {}", what(), short(ours), short(theirs)))
}

fn short(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    if text.len() > 400 {
        format!("{}.. ({} characters)", text.chars().take(400).collect::<String>(), text.len())
    } else {
        text
    }
}

impl std::fmt::Debug for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Position::At(key, value) => write!(f, "at {} = {}", key.escape_ascii(), value.escape_ascii()),
            Position::End => f.write_str("at the end"),
            Position::Failed(code) => write!(f, "failed: {code}"),
        }
    }
}

impl Pair {
    /// Opens a new database with each engine.
    ///
    /// # Errors
    /// Both answers, if the opens differ.
    pub fn new(sides: [Side; 2], dir: &Path, seed: u64, timestamps: bool) -> Result<Pair, String> {
        let chance = &mut Chance::new(seed ^ 0x6f70_7469);
        let drawn = Fixed::draw(chance);
        // RocksDB's iterators over plain tables go forward only.
        let own = if timestamps { drawn.timestamps } else { Timestamps::None };
        let fixed = Fixed { timestamps: own, plain: false, ..drawn };
        let mut pair = Pair {
            sides,
            dirs: [dir.join("ours"), dir.join("theirs")],
            open: None,
            fixed,
            opening: Opening::draw(chance.next(), fixed),
            families: vec![Family {
                name: "default".to_string(),
                prefix: Prefix::None,
                vector: false,
                blobs: false,
                direct: false,
            }],
            snapshots: 0,
            slots: [None, None, None],
            toggles: BTreeSet::new(),
            dropped: false,
            ranged: false,
            recycled: false,
            behind: 0,
            clock: 1,
            merges: false,
            ingested: 0,
            openings: 0,
        };
        pair.merges = chance.percent(50);
        let opening = pair.plain(pair.opening.clone());
        pair.begin(opening)?;
        Ok(pair)
    }

    /// With timestamps and merges: without blob files. RocksDB's iterators look for the base value of a merge with the
    /// timestamp of another version, and answer Corruption: `DBIter::FindValueForCurrentKey`.
    fn plain(&self, opening: Opening) -> Opening {
        Opening { plain: self.fixed.timestamps.are_on() && self.merges, ..opening }
    }

    /// Returns the options of the present open as text: a line for the database, and a line for each column
    /// family.
    pub fn options(&self) -> String {
        let mut text = format!("database: {}\n", self.opening.db);
        for family in &self.families {
            let (options, _) = self.opening.family(&family.name);
            text.push_str(&format!("{}: {options}\n", family.name));
        }
        text
    }

    /// Runs a call on both engines and compares the results.
    fn both<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: impl FnOnce() -> String,
        mut ask: impl FnMut(&mut dyn Store) -> T,
    ) -> Result<T, String> {
        let [ours, theirs] = self.open.as_mut().ok_or("closed")?;
        watch::enter_ours();
        let ours = ask(&mut **ours);
        watch::enter_theirs();
        let theirs = ask(&mut **theirs);
        watch::leave();
        same(what, &ours, &theirs)?;
        Ok(ours)
    }

    /// With timestamps: sets the timestamps of the next step. Most reads use the newest timestamp. If a flush drops the timestamps, all
    /// reads do: the engines flush at different times.
    fn advance(&mut self) {
        if !self.fixed.timestamps.are_on() {
            return;
        }
        self.clock += STEP_RECORDS_MAX;
        let chance = &mut Chance::new(self.clock);
        let older = !self.fixed.timestamps.are_in_memory() && chance.percent(30);
        let read = if older { chance.below(self.clock) } else { u64::MAX };
        self.set_times(read);
    }

    fn set_times(&mut self, read: u64) {
        if self.fixed.timestamps.are_on() {
            let times = Times { write: self.clock, read };
            self.open.iter_mut().flatten().for_each(|store| store.set_times(times));
        }
    }

    fn at(&self, family: u64) -> usize {
        (family % self.families.len() as u64) as usize
    }

    fn snapshot_of(&self, n: u64) -> Option<usize> {
        let n = n as usize;
        (n < self.snapshots).then_some(n)
    }

    /// Returns a change in the form for both engines, or `None` if the change would break a contract.
    fn item(&mut self, change: &Change) -> Option<Item> {
        Some(match change {
            Change::Put(f, key, value) => Item::Put(self.at(*f), key.clone(), value.clone()),
            Change::Entity(f, key, columns) => match self.fixed.timestamps.are_on() {
                true => Item::Put(self.at(*f), key.clone(), Vec::new()),
                false => Item::Entity(self.at(*f), key.clone(), columns.clone()),
            },
            Change::Delete(f, key) => Item::Delete(self.at(*f), key.clone()),
            Change::Merge(f, key, serial) => {
                let at = self.at(*f);
                // With timestamps a single merge is a batch, and `batch` says why such a merge is left out.
                let stamped = self.fixed.timestamps.are_on();
                let family = &self.families[at];
                if family.direct || stamped && (!self.merges || rows::operator(&family.name).is_empty()) {
                    return None;
                }
                Item::Merge(at, key.clone(), rows::operand(&self.families[at].name, *serial))
            }
            Change::DeleteRange(f, a, b) => {
                let (low, high) = if a <= b { (a, b) } else { (b, a) };
                let beyond = TOGGLES + 1;
                let reaches = low.as_slice() < [beyond].as_slice() && high.as_slice() > [TOGGLES].as_slice();
                if reaches || (self.fixed.timestamps.are_on() && self.merges) {
                    return None;
                }
                self.ranged = true;
                // The bounds are in the order of keys. The end of a life tests the other order.
                let (begin, end) = if self.fixed.reverse { (high, low) } else { (low, high) };
                Item::DeleteRange(self.at(*f), begin.clone(), end.clone())
            }
            Change::Toggle(f, key, value) => {
                let at = self.at(*f);
                let name = Key::new(&self.families[at].name, key);
                if self.toggles.remove(&name) {
                    Item::SingleDelete(at, key.clone())
                } else {
                    self.toggles.insert(name);
                    Item::Put(at, key.clone(), value.clone())
                }
            }
            Change::LogData(blob) => Item::LogData(blob.clone()),
            Change::SavePoint => Item::SavePoint,
            Change::Rollback => Item::Rollback,
            Change::PopSavePoint => Item::PopSavePoint,
        })
    }

    fn batch(&mut self, changes: &[Change], writing: Writing) -> Differs {
        let before = self.toggles.clone();
        let mut saved = Vec::new();
        let mut items = Vec::with_capacity(changes.len());
        for change in changes {
            match change {
                Change::SavePoint => saved.push(self.toggles.clone()),
                Change::Rollback => {
                    if let Some(toggles) = saved.pop() {
                        self.toggles = toggles;
                    }
                }
                Change::PopSavePoint => drop(saved.pop()),
                _ => {}
            }
            // RocksDB detects this after it wrote the WAL record, and then rejects every later write.
            if let Change::Merge(f, ..) = change
                && rows::operator(&self.families[self.at(*f)].name).is_empty()
            {
                continue;
            }
            items.extend(self.item(change));
        }
        let (_, _, written) = self.both(|| "batch".to_string(), |s| s.batch(&items, writing))?;
        if written.is_err() {
            self.toggles = before;
        }
        self.sequence()
    }

    /// Compares the newest sequence numbers.
    fn sequence(&mut self) -> Differs {
        let [ours, theirs] = self.open.as_mut().ok_or("closed")?;
        let theirs = theirs.sequence().wrapping_add(self.behind);
        same(|| "newest sequence number".to_string(), &ours.sequence(), &theirs)
    }

    /// One operation on both.
    ///
    /// # Errors
    /// The two answers, if they differ.
    pub fn step(&mut self, op: &Op) -> Differs {
        self.advance();
        match op {
            Op::Single { change, sync, no_wal } => {
                let no_wal = *no_wal && !*sync && !self.opening.loses_unlogged();
                self.single(change, Writing { sync: *sync, no_wal, ignore_missing: false })
            }
            Op::Batch { changes, sync, no_wal, ignore_missing } => {
                // Both engines reject a write with `sync` and `disableWAL`, so the combination may be drawn.
                let no_wal = *no_wal && (*sync || !self.opening.loses_unlogged());
                self.batch(changes, Writing { sync: *sync, no_wal, ignore_missing: *ignore_missing })
            }
            Op::Get { family, key, snapshot } => {
                let (at, snapshot) = (self.at(*family), self.snapshot_of(*snapshot));
                let spec = Spec::default();
                self.both(|| format!("get {}", key.escape_ascii()), |s| s.get(at, key, snapshot, &spec))
                    .map(|_| ())
            }
            Op::MultiGet { family, keys, snapshot, batched, soft_limit } => {
                let (at, snapshot) = (self.at(*family), self.snapshot_of(*snapshot));
                let spec = Spec { soft_limit: *soft_limit, ..Spec::default() };
                let what = || format!("multi-get batched={batched}");
                self.both(what, |s| s.multi_get(at, keys, snapshot, &spec, *batched)).map(|_| ())
            }
            Op::Iter { slot, family, snapshot, spec } => {
                let snapshot = self.snapshot_of(*snapshot);
                self.open_iter(*slot, self.at(*family), snapshot, spec.clone())
            }
            Op::Moves { slot, moves } => self.moves(*slot, moves),
            Op::CloseIter { slot } => self.close_iter(*slot),
            Op::Snapshot => {
                if self.snapshots < SNAPSHOTS_MAX {
                    self.open.iter_mut().flatten().for_each(|s| s.snapshot());
                    self.snapshots += 1;
                }
                Ok(())
            }
            Op::Release(n) => {
                if self.snapshots > 0 {
                    let at = *n as usize % self.snapshots;
                    self.open.iter_mut().flatten().for_each(|s| s.release(at));
                    self.snapshots -= 1;
                }
                Ok(())
            }
            Op::Flush(n) => {
                let at = self.at(*n);
                self.both(|| "flush".to_string(), |s| s.flush(&[at])).map(|_| ())
            }
            Op::FlushWal(sync) => self.both(|| "flush_wal".to_string(), |s| s.flush_wal(*sync)).map(|_| ()),
            Op::Compact { family, range, how } => {
                let at = self.at(*family);
                let (a, b) = range.as_ref().map(|(a, b)| (a.as_slice(), b.as_slice())).unzip();
                self.both(|| "compact".to_string(), |s| s.compact(at, a, b, *how)).map(|_| ())
            }
            Op::Settle(n) => self.settle(*n),
            Op::Ingest { family, by_ours, changes } => self.ingest(self.at(*family), *by_ours, changes),
            Op::Create(n) => self.create(*n),
            Op::Drop(n) => self.drop_family(*n),
            Op::Reopen(seed) => self.reopen(*seed),
            Op::SetOptions(n) => {
                let (database, name, value) = rows::LIVE[*n as usize % rows::LIVE.len()];
                let at = (!database).then(|| self.at(n / 64));
                let what = || format!("set_options {name}={value}");
                self.both(what, |s| s.set_options(at, name, value)).map(|_| ())
            }
            Op::Properties(n) => self.properties(*n),
            Op::Verify => self.both(|| "verify_checksum".to_string(), |s| s.verify()).map(|_| ()),
            Op::Bad(n) => self.bad(*n),
        }
    }

    /// Writes one change by itself.
    fn single(&mut self, change: &Change, writing: Writing) -> Differs {
        let before = self.toggles.clone();
        let Some(item) = self.item(change) else { return Ok(()) };
        if self.both(|| "write".to_string(), |s| s.single(&item, writing))?.is_err() {
            self.toggles = before;
        }
        self.sequence()
    }

    /// Opens an iterator over the column family `at` in a slot of each engine.
    fn open_iter(&mut self, slot: usize, at: usize, mut snapshot: Option<usize>, mut spec: Spec) -> Differs {
        let Family { prefix, vector, blobs, .. } = self.families[at];
        if spec.mode == Mode::Tailing {
            snapshot = None;
            // RocksDB's tailing iterators ignore range deletions.
            if self.ranged || vector || blobs {
                spec.mode = Mode::Total;
            }
        }
        for store in self.open.as_mut().ok_or("closed")? {
            store.open_iter(slot, at, snapshot, &spec);
        }
        let tail = Tail { lower: spec.lower, reverse: self.fixed.reverse, ..Tail::default() };
        let (mode, snapshot) = (spec.mode, snapshot.is_some());
        self.slots[slot] = Some(Slot { prefix, mode, within: None, lost: true, snapshot, vector, tail });
        Ok(())
    }

    /// Compares the properties of a column family.
    fn properties(&mut self, n: u64) -> Differs {
        let at = self.at(n);
        // Ironstone's iterators hold the snapshot of their creation, so the properties of snapshots differ.
        let kept = self.slots.iter().flatten().any(|slot| slot.snapshot);
        for name in EXACT.iter().filter(|name| !kept || !name.contains("snapshot")) {
            let behind = if name.ends_with("-sequence") && self.snapshots > 0 { self.behind } else { 0 };
            let [ours, theirs] = self.open.as_mut().ok_or("closed")?;
            let (ours, theirs) = (ours.int_property(at, name), theirs.int_property(at, name));
            same(|| name.to_string(), &ours, &theirs.map(|n| n.wrapping_add(behind)))?;
        }
        let name = NAMED[n as usize % NAMED.len()];
        self.both(|| format!("has {name}"), |s| s.has_property(at, name))?;
        self.both(|| "family id".to_string(), |s| s.family_id(at)).map(|_| ())
    }
}
