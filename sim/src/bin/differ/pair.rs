//! Both engines side by side: one operation, two answers, compared.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ironstone_sim::sample::Fixed;
use testkit::chance::Chance;

use crate::rows::{self, Opening, Prefix};
use crate::script::{Change, Op, TOGGLES};
use crate::store::{Compacting, FamilyText, Item, Mode, Move, Position, Side, Spec, Store, Writing};

/// The most iterators at a time.
const SLOTS: usize = 3;
const SNAPSHOTS_MAX: usize = 4;
const FAMILIES_MAX: usize = 6;

/// Numeric properties that are the same whatever the layout of files and the timing of jobs.
const EXACT: &[&str] = &[
    "rocksdb.num-snapshots",
    "rocksdb.oldest-snapshot-sequence",
    "rocksdb.background-errors",
    "rocksdb.is-file-deletions-enabled",
    "rocksdb.is-write-stopped",
    "rocksdb.no-such-property",
    "rocksdb.num-blob-files",
];

/// Properties that both have, or neither.
const NAMED: &[&str] = &[
    "rocksdb.stats",
    "rocksdb.sstables",
    "rocksdb.cfstats",
    "rocksdb.cfstats-no-file-histogram",
    "rocksdb.cf-file-histogram",
    "rocksdb.dbstats",
    "rocksdb.levelstats",
    "rocksdb.num-files-at-level0",
    "rocksdb.num-files-at-level99",
    "rocksdb.compression-ratio-at-level0",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.block-cache-capacity",
    "rocksdb.estimate-live-data-size",
    "rocksdb.total-sst-files-size",
    "rocksdb.current-super-version-number",
    "rocksdb.aggregated-table-properties",
    "rocksdb.aggregated-table-properties-at-level0",
    "rocksdb.no-such-property",
];

#[derive(Clone)]
struct Family {
    name: String,
    prefix: Prefix,
    /// Its memtables are vectors: RocksDB's iterators copy those, so that neither renewing nor tailing shows more.
    vector: bool,
}

struct Slot {
    prefix: Prefix,
    mode: Mode,
    /// The prefix that the last seek asked for, while the iterator is within it.
    within: Option<Vec<u8>>,
    /// Whether the answer is defined until the next seek.
    lost: bool,
    snapshot: bool,
    vector: bool,
}

/// Both engines, open.
pub struct Pair {
    sides: [Side; 2],
    dirs: [PathBuf; 2],
    open: Option<[Box<dyn Store>; 2]>,
    fixed: Fixed,
    opening: Opening,
    families: Vec<Family>,
    snapshots: usize,
    slots: [Option<Slot>; SLOTS],
    /// Keys of single deletions that are there, with their families.
    toggles: BTreeSet<(String, Vec<u8>)>,
    dropped: bool,
    /// A range was deleted at some time.
    ranged: bool,
    pub openings: u64,
}

/// Two answers that should be one.
pub type Differs = Result<(), String>;

fn same<T: PartialEq + std::fmt::Debug>(what: impl FnOnce() -> String, ours: &T, theirs: &T) -> Differs {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{}: ours {}, theirs {}", what(), short(ours), short(theirs)))
}

fn short(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    if text.len() > 400 { format!("{}.. ({} characters)", text.chars().take(400).collect::<String>(), text.len()) } else { text }
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
    /// A difference in opening.
    pub fn new(sides: [Side; 2], dir: &Path, seed: u64) -> Result<Pair, String> {
        let chance = &mut Chance::new(seed ^ 0x6f70_7469);
        let fixed = Fixed::draw(chance);
        let mut pair = Pair {
            sides,
            dirs: [dir.join("ours"), dir.join("theirs")],
            open: None,
            fixed,
            opening: Opening::draw(chance.next(), fixed),
            families: vec![Family { name: "default".to_string(), prefix: Prefix::None, vector: false }],
            snapshots: 0,
            slots: [None, None, None],
            toggles: BTreeSet::new(),
            dropped: false,
            ranged: false,
            openings: 0,
        };
        let opening = pair.opening.clone();
        pair.begin(opening)?;
        Ok(pair)
    }

    pub fn options(&self) -> String {
        let mut text = format!("database: {}\n", self.opening.db);
        for family in &self.families {
            text.push_str(&format!("{}: {}\n", family.name, self.opening.family(&family.name).0));
        }
        text
    }

    fn texts(&mut self, opening: &Opening) -> Vec<FamilyText> {
        self.families
            .iter_mut()
            .map(|family| {
                let (text, prefix) = opening.family(&family.name);
                family.prefix = prefix;
                family.vector = text.contains("memtable_factory=vector");
                (family.name.clone(), text)
            })
            .collect()
    }

    fn begin(&mut self, opening: Opening) -> Differs {
        let texts = self.texts(&opening);
        let ours = self.sides[0].open(&self.dirs[0], &opening.db, &texts, false);
        let theirs = self.sides[1].open(&self.dirs[1], &opening.db, &texts, false);
        self.opening = opening;
        self.openings += 1;
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                self.open = Some([ours, theirs]);
                Ok(())
            }
            (ours, theirs) => {
                let (ours, theirs) = (ours.map(|_| ()), theirs.map(|_| ()));
                Err(format!("opening with {}: ours {ours:?}, theirs {theirs:?}", self.opening.db))
            }
        }
    }

    /// Asks both and compares.
    fn both<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: impl FnOnce() -> String,
        mut ask: impl FnMut(&mut dyn Store) -> T,
    ) -> Result<T, String> {
        let [ours, theirs] = self.open.as_mut().ok_or("closed")?;
        let (ours, theirs) = (ask(&mut **ours), ask(&mut **theirs));
        same(what, &ours, &theirs)?;
        Ok(ours)
    }

    fn at(&self, family: u64) -> usize {
        (family % self.families.len() as u64) as usize
    }

    fn snapshot_of(&self, n: u64) -> Option<usize> {
        let n = n as usize;
        (n < self.snapshots).then_some(n)
    }

    /// A change as both engines are told it; nothing if it would break a contract.
    fn item(&mut self, change: &Change) -> Option<Item> {
        Some(match change {
            Change::Put(f, key, value) => {
                Item::Put(self.at(*f), key.clone(), value.clone())
            }
            Change::Delete(f, key) => Item::Delete(self.at(*f), key.clone()),
            Change::Merge(f, key, serial) => {
                let at = self.at(*f);
                Item::Merge(at, key.clone(), rows::operand(&self.families[at].name, *serial))
            }
            Change::DeleteRange(f, a, b) => {
                let (low, high) = if a <= b { (a, b) } else { (b, a) };
                let beyond = TOGGLES + 1;
                let reaches = low.as_slice() < [beyond].as_slice() && high.as_slice() > [TOGGLES].as_slice();
                if reaches {
                    return None;
                }
                self.ranged = true;
                // In the order of keys, but for one in sixteen, which both must treat alike.
                let inverted = a.len() % 16 == 15;
                let (begin, end) = if self.fixed.reverse != inverted { (high, low) } else { (low, high) };
                Item::DeleteRange(self.at(*f), begin.clone(), end.clone())
            }
            Change::Toggle(f, key, value) => {
                let at = self.at(*f);
                let name = (self.families[at].name.clone(), key.clone());
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
            // RocksDB finds this out when the log is written already, and refuses every write from then on.
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

    fn sequence(&mut self) -> Differs {
        self.both(|| "newest sequence number".to_string(), |s| s.sequence()).map(|_| ())
    }

    /// One operation on both.
    ///
    /// # Errors
    /// The two answers, if they differ.
    pub fn step(&mut self, op: &Op) -> Differs {
        match op {
            Op::Single { change, sync, no_wal } => {
                let before = self.toggles.clone();
                let Some(item) = self.item(change) else { return Ok(()) };
                let no_wal = *no_wal && !*sync && !self.opening.loses_unlogged();
                let writing = Writing { sync: *sync, no_wal, ignore_missing: false };
                if self.both(|| "write".to_string(), |s| s.single(&item, writing))?.is_err() {
                    self.toggles = before;
                }
                self.sequence()
            }
            Op::Batch { changes, sync, no_wal, ignore_missing } => {
                // Asked for both, they are refused.
                let no_wal = *no_wal && (*sync || !self.opening.loses_unlogged());
                self.batch(changes, Writing { sync: *sync, no_wal, ignore_missing: *ignore_missing })
            }
            Op::Get { family, key, snapshot } => {
                let (at, snapshot) = (self.at(*family), self.snapshot_of(*snapshot));
                let spec = Spec::default();
                self.both(|| format!("get {}", key.escape_ascii()), |s| s.get(at, key, snapshot, &spec)).map(|_| ())
            }
            Op::MultiGet { family, keys, snapshot, batched, soft_limit } => {
                let (at, snapshot) = (self.at(*family), self.snapshot_of(*snapshot));
                let spec = Spec { soft_limit: *soft_limit, ..Spec::default() };
                let what = || format!("multi-get batched={batched}");
                self.both(what, |s| s.multi_get(at, keys, snapshot, &spec, *batched)).map(|_| ())
            }
            Op::Iter { slot, family, snapshot, spec } => {
                let (at, mut snapshot) = (self.at(*family), self.snapshot_of(*snapshot));
                let mut spec = spec.clone();
                if spec.mode == Mode::Tailing {
                    snapshot = None;
                    // RocksDB's tailing iterators do not heed range deletions.
                    if self.ranged || self.families[at].vector {
                        spec.mode = Mode::Total;
                    }
                }
                let spec = &spec;
                for store in self.open.as_mut().ok_or("closed")? {
                    store.open_iter(*slot, at, snapshot, spec);
                }
                let Family { prefix, vector, .. } = self.families[at];
                self.slots[*slot] = Some(Slot { prefix, mode: spec.mode, within: None, lost: true, snapshot: snapshot.is_some(), vector });
                Ok(())
            }
            Op::Moves { slot, moves } => self.moves(*slot, moves),
            Op::CloseIter { slot } => {
                self.slots[*slot] = None;
                self.open.iter_mut().flatten().for_each(|s| s.close_iter(*slot));
                Ok(())
            }
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
                let (a, b) = (range.as_ref().map(|r| r.0.as_slice()), range.as_ref().map(|r| r.1.as_slice()));
                self.both(|| "compact".to_string(), |s| s.compact(at, a, b, *how)).map(|_| ())
            }
            Op::Settle(n) => self.settle(*n),
            Op::Create(n) => self.create(*n),
            Op::Drop(n) => self.drop_family(*n),
            Op::Reopen(seed) => self.reopen(*seed),
            Op::SetOptions(n) => {
                let (database, name, value) = rows::LIVE[*n as usize % rows::LIVE.len()];
                let at = (!database).then(|| self.at(n / 64));
                let what = || format!("set_options {name}={value}");
                self.both(what, |s| s.set_options(at, name, value)).map(|_| ())
            }
            Op::Properties(n) => {
                let at = self.at(*n);
                // Our iterators keep the snapshot that they were made with.
                let kept = self.slots.iter().flatten().any(|slot| slot.snapshot);
                for name in EXACT.iter().filter(|name| !kept || !name.contains("snapshot")) {
                    self.both(|| name.to_string(), |s| s.int_property(at, name))?;
                }
                let name = NAMED[*n as usize % NAMED.len()];
                self.both(|| format!("has {name}"), |s| s.has_property(at, name))?;
                self.both(|| "family id".to_string(), |s| s.family_id(at)).map(|_| ())
            }
            Op::Verify => self.both(|| "verify_checksum".to_string(), |s| s.verify()).map(|_| ()),
            Op::Bad(n) => self.bad(*n),
        }
    }

    fn moves(&mut self, slot: usize, moves: &[Move]) -> Differs {
        let mut trail = String::new();
        let fresh = self.slots[slot].as_ref().is_some_and(|s| s.mode == Mode::Tailing);
        for how in moves {
            let Some(state) = self.slots[slot].as_mut() else { return Ok(()) };
            let prefixed = matches!(state.mode, Mode::Prefix | Mode::SamePrefix) && state.prefix != Prefix::None;
            match how {
                Move::Seek(key) if prefixed => {
                    let Some(prefix) = state.prefix.of(key) else { continue };
                    state.within = Some(prefix.to_vec());
                    state.lost = false;
                }
                Move::Refresh if state.vector => continue,
                // Undefined, or not what such an iterator is for.
                Move::First | Move::Last | Move::SeekForPrev(_) | Move::Refresh if prefixed => continue,
                Move::Last | Move::Prev | Move::SeekForPrev(_) | Move::Refresh if state.mode == Mode::Tailing => continue,
                Move::SeekForPrev(_) | Move::Prev | Move::Last if state.mode == Mode::Auto => continue,
                Move::Prev if prefixed => continue,
                Move::First | Move::Last | Move::Seek(_) | Move::SeekForPrev(_) | Move::Refresh => state.lost = false,
                Move::Next | Move::Prev => {}
            }
            if state.lost {
                continue;
            }
            let (prefix, within) = (state.prefix, if prefixed { state.within.clone() } else { None });
            trail.push_str(&match how {
                Move::Seek(key) => format!(" seek({})", key.escape_ascii()),
                Move::SeekForPrev(key) => format!(" seek_for_prev({})", key.escape_ascii()),
                other => format!(" {other:?}"),
            });
            let mode = state.mode;
            let what = || format!("iterator {slot} {mode:?} after{trail}");
            let inside = |position: Position| match (&within, position) {
                (Some(p), Position::At(key, _)) if prefix.of(&key) != Some(p.as_slice()) => Position::End,
                (_, position) => position,
            };
            let [ours, theirs] = self.open.as_mut().ok_or("closed")?;
            let (ours, theirs) = (inside(ours.move_iter(slot, how)), inside(theirs.move_iter(slot, how)));
            same(what, &ours, &theirs)?;
            let stands = ours;
            if let Some(state) = self.slots[slot].as_mut() {
                state.lost = !matches!(stands, Position::At(..));
            }
        }
        // What it shows after later writes is not promised without a new seek.
        if let Some(state) = self.slots[slot].as_mut()
            && fresh
        {
            state.lost = true;
        }
        Ok(())
    }

    fn settle(&mut self, n: u64) -> Differs {
        let at = self.at(n);
        self.both(|| "flush".to_string(), |s| s.flush(&[at])).map(drop)?;
        let how = Compacting { bottommost: 2, exclusive: true, ..Compacting::default() };
        self.both(|| "compact".to_string(), |s| s.compact(at, None, None, how))?;
        self.both(|| "wait".to_string(), |s| s.wait()).map(drop)?;
        if self.snapshots == 0 && self.slots.iter().all(Option::is_none) {
            for name in ["rocksdb.estimate-num-keys", "rocksdb.num-entries-active-mem-table", "rocksdb.num-deletes-active-mem-table"] {
                self.both(|| format!("{name} after a full compaction"), |s| s.int_property(at, name))?;
            }
        }
        self.scan(at)
    }

    /// Every row of a family, in both directions.
    fn scan(&mut self, at: usize) -> Differs {
        let spec = Spec::default();
        let what = || "scan of everything".to_string();
        self.both(what, |s| {
            let mut rows = Vec::new();
            for (begin, step) in [(Move::First, Move::Next), (Move::Last, Move::Prev)] {
                s.open_iter(SLOTS, at, None, &spec);
                let mut stands = s.move_iter(SLOTS, &begin);
                while matches!(stands, Position::At(..)) {
                    rows.push(stands);
                    stands = s.move_iter(SLOTS, &step);
                }
                rows.push(stands);
            }
            s.close_iter(SLOTS);
            rows
        })
        .map(|_| ())
    }

    fn create(&mut self, n: u64) -> Differs {
        let (name, _) = rows::NAMES[n as usize % rows::NAMES.len()];
        let known = self.families.iter().any(|f| f.name == name);
        if !known && self.families.len() >= FAMILIES_MAX {
            return Ok(());
        }
        let (text, prefix) = self.opening.family(name);
        let made = self.both(|| format!("create_family {name} with {text}"), |s| s.create(name, &text))?;
        if made.is_ok() {
            let vector = text.contains("memtable_factory=vector");
            self.families.push(Family { name: name.to_string(), prefix, vector });
        }
        Ok(())
    }

    fn drop_family(&mut self, n: u64) -> Differs {
        let at = self.at(n);
        let dropped = self.both(|| "drop_family".to_string(), |s| s.drop_family(at))?;
        if dropped.is_ok() {
            let family = self.families.remove(at);
            self.toggles.retain(|t| t.0 != family.name);
            self.dropped = true;
        }
        Ok(())
    }

    fn close(&mut self) {
        self.slots = [None, None, None];
        self.snapshots = 0;
        self.dropped = false;
        self.open = None;
    }

    fn reopen(&mut self, seed: u64) -> Differs {
        let chance = &mut Chance::new(seed);
        self.close();
        let lists = [self.sides[0].families(&self.dirs[0]), self.sides[1].families(&self.dirs[1])];
        let [mut ours, mut theirs] = lists;
        [&mut ours, &mut theirs].into_iter().flatten().for_each(|names| names.sort());
        same(|| "families on disk".to_string(), &ours, &theirs)?;
        let next = Opening::draw(chance.next(), self.fixed);
        match chance.below(12) {
            0 => self.refused(&format!("{}error_if_exists=true;", next.db), &next, |_| {}),
            // The default family is always among those we open.
            1 if self.families.last().is_some_and(|f| f.name != "default") => {
                self.refused(&next.db, &next, |families| drop(families.pop()))
            }
            2 => self.refused(&next.db, &next, |families| families.push(("unheard-of".to_string(), String::new()))),
            3 => {
                let other = Fixed { reverse: !self.fixed.reverse, ..self.fixed };
                let other = Opening::draw(chance.next(), other);
                self.refused(&other.db.clone(), &other, |_| {})
            }
            _ => Ok(()),
        }?;
        let order = if chance.percent(15) { chance.below(8) as usize } else { 0 };
        let n = self.families.len();
        self.families.rotate_left(order % n);
        self.begin(next)?;
        for at in 0..self.families.len() {
            self.scan(at)?;
        }
        self.sequence()
    }

    /// An opening that both must answer alike, whatever that is.
    fn refused(&mut self, text: &str, opening: &Opening, change: impl Fn(&mut Vec<FamilyText>)) -> Differs {
        let mut texts = self.texts(opening);
        change(&mut texts);
        let ours = self.sides[0].open(&self.dirs[0], text, &texts, false).map(|_| ());
        let theirs = self.sides[1].open(&self.dirs[1], text, &texts, false).map(|_| ());
        same(|| format!("opening with {text} and {texts:?}"), &ours, &theirs)
    }

    fn bad(&mut self, n: u64) -> Differs {
        let chance = &mut Chance::new(n);
        match chance.below(8) {
            0 | 1 => {
                let text = self.opening.db.clone();
                let texts = self.texts(&self.opening.clone());
                let ours = self.sides[0].open(&self.dirs[0], &text, &texts, false).map(|_| ());
                let theirs = self.sides[1].open(&self.dirs[1], &text, &texts, false).map(|_| ());
                same(|| "opening what is open".to_string(), &ours, &theirs)
            }
            2 => {
                let nowhere = self.dirs[0].with_file_name("nowhere");
                let texts = vec![("default".to_string(), String::new())];
                let read_only = chance.percent(50);
                let ours = self.sides[0].open(&nowhere, "", &texts, read_only).map(|_| ());
                let theirs = self.sides[1].open(&nowhere, "", &texts, read_only).map(|_| ());
                same(|| format!("opening nothing, read_only={read_only}"), &ours, &theirs)
            }
            3 => self.create(0),
            4 => self.both(|| "a batch of nothing but save points".to_string(), |s| {
                s.batch(&[Item::Rollback, Item::SavePoint, Item::PopSavePoint, Item::PopSavePoint], Writing::default())
            }).map(|_| ()),
            5 if self.dropped => {
                self.both(|| "calls on a dropped family".to_string(), |s| s.haunt())?;
                // RocksDB takes no write any more.
                self.reopen(n)
            }
            6 => {
                let at = self.at(n);
                let item = Item::Put(at, b"refused".to_vec(), Vec::new());
                let writing = Writing { sync: true, no_wal: true, ignore_missing: false };
                self.both(|| "sync without log".to_string(), |s| s.single(&item, writing)).map(|_| ())
            }
            _ => {
                let nowhere = self.dirs[0].with_file_name("nowhere");
                let [ours, theirs] = [self.sides[0].families(&nowhere), self.sides[1].families(&nowhere)];
                same(|| "families of nothing".to_string(), &ours, &theirs)
            }
        }
    }

    /// Every row of the tables of live changes and option strings.
    ///
    /// # Errors
    /// All differences, a line each.
    pub fn tables(&mut self) -> Differs {
        let mut found = Vec::new();
        for (database, name, value) in rows::LIVE {
            let at = (!database).then_some(0);
            let what = || format!("set_options {name}={value}, of the database: {database}");
            found.extend(self.both(what, |s| s.set_options(at, name, value)).err());
        }
        for text in rows::TEXTS {
            let [ours, theirs] = [self.sides[0].takes(text), self.sides[1].takes(text)];
            if rows::LISTED.contains(text) {
                // A list that no longer holds is a finding as well.
                if ours.is_ok() || theirs.is_err() {
                    found.push(format!("options {text:?}: listed, but ours {ours:?}, theirs {theirs:?}"));
                }
                continue;
            }
            found.extend(same(|| format!("options {text:?}"), &ours, &theirs).err());
        }
        for name in NAMED {
            found.extend(self.both(|| format!("has {name}"), |s| s.has_property(0, name)).err());
        }
        for name in EXACT {
            found.extend(self.both(|| name.to_string(), |s| s.int_property(0, name)).err());
        }
        if found.is_empty() { Ok(()) } else { Err(found.join("\n")) }
    }

    /// Compares everything once more and closes.
    ///
    /// # Errors
    /// What differs.
    pub fn end(&mut self) -> Differs {
        for at in 0..self.families.len() {
            self.scan(at)?;
        }
        self.both(|| "verify_checksum".to_string(), |s| s.verify()).map(drop)?;
        self.close();
        Ok(())
    }
}
