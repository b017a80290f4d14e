//! Runs a script on a database without faults. Every answer must equal the model's, with all options.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use env::Env;
use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, Db, Family, FamilyDescriptor, FlushOptions, Kind,
    ReadOptions, Snapshot, WriteBatch, WriteOptions,
};
use testkit::chance::Chance;

use crate::look;
use crate::sample::{self, Fixed, Sample};
use crate::script::{self, Change, Op, Weights};
use crate::stamp::{self, Stamp};
use crate::state::State;

/// The result of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    pub operations: u64,
    pub looks: u64,
    pub reopens: u64,
    /// A hash of the newest visible sequence number and the seeds of all reads. Equal runs have equal hashes.
    pub hash: u64,
}

/// The place of the database of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a disk in memory. The jobs run in a drawn order on one thread.
    Memory,
    /// In a directory, with threads.
    Disk,
}

/// A failed run.
#[derive(Clone, Debug)]
pub struct Failure {
    pub words: String,
    pub options: String,
    pub at: usize,
}

/// Returns the script of a seed.
pub fn script(seed: u64, len: usize) -> Vec<Op> {
    let chance = &mut Chance::new(seed);
    let weights = Weights {
        keys: *chance.pick(&[30, 125, 1000]),
        large_values: *chance.pick(&[0, 3, 15]),
        no_wal: false,
        looks: 150,
        reopens: 10,
    };
    script::draw(chance, len, &weights)
}

/// Runs a script with the options that the seed draws.
///
/// # Errors
/// The first answer that differs from the model's, or an unexpected error.
pub fn run(seed: u64, place: Place, ops: &[Op]) -> Result<Ran, Failure> {
    let scratch = (place == Place::Disk).then(|| tempfile::tempdir().expect("a scratch directory"));
    let path = scratch.as_ref().map_or_else(|| PathBuf::from("/db"), |s| s.path().join("db"));
    let env = if place == Place::Disk { Env::posix() } else { Env::memory(seed) };
    let chance = &mut Chance::new(seed ^ 0x6f70_7469);
    let fixed = Fixed::draw(chance);
    let mut run = Run {
        env,
        place,
        path,
        fixed,
        sample: Sample { text: String::new(), reverse: fixed.reverse, prefix: None },
        options: ironstone::Options::default(),
        db: None,
        state: State::new(),
        snapshots: VecDeque::new(),
        moments: VecDeque::new(),
        lows: BTreeMap::new(),
        stale: None,
        ran: Ran::default(),
        made: 0,
    };
    let mut at = 0;
    let done = run.open(chance.next()).and_then(|()| {
        for op in ops {
            at += 1;
            run.op(op)?;
        }
        run.end()
    });
    match done {
        Ok(()) => Ok(run.ran),
        Err(words) => Err(Failure { words, options: run.sample.text, at }),
    }
}

struct Run {
    env: Env,
    place: Place,
    path: PathBuf,
    fixed: Fixed,
    sample: Sample,
    /// The options of the newest open.
    options: ironstone::Options,
    db: Option<Db>,
    state: State,
    snapshots: VecDeque<(Snapshot, State)>,
    /// With timestamps: a newest timestamp, and the state at this timestamp.
    moments: VecDeque<(u64, State)>,
    /// With timestamps: `full_history_ts_low` of the families that have it, by name.
    lows: BTreeMap<String, u64>,
    /// Handles of the previous open.
    stale: Option<(Family, Snapshot)>,
    ran: Ran,
    made: u64,
}

fn told(what: &str) -> impl Fn(ironstone::Error) -> String + '_ {
    move |e| format!("{what}: {e}")
}

impl Run {
    fn open(&mut self, seed: u64) -> Result<(), String> {
        let before = self.fixed.timestamps;
        self.fixed.timestamps = before.next(&mut Chance::new(seed ^ 0x746f_6767));
        if before != self.fixed.timestamps {
            self.moments.clear();
            self.lows.clear();
        }
        let (sample, mut options) = sample::options(&mut Chance::new(seed), self.fixed);
        self.sample = sample;
        let mut rare = sample::rare::draw(seed, self.fixed.plain);
        let sampled = format!("{}{rare}", self.sample.text);
        rare.push_str(&sample::rare::dependent(seed, self.fixed.plain, &sampled));
        rare.push_str(&sample::rare::direct_writes(seed, self.fixed));
        options.update(&rare).map_err(told("rare options"))?;
        self.sample.text.push_str(&rare);
        options.db.statistics = sample::rare::statistics(seed);
        options.db.row_cache = sample::rare::row_cache(seed);
        options.db.memory_budget = sample::rare::memory_budget(seed);
        options.db.write_buffer_manager = sample::rare::write_buffer_manager(seed, &options.family);
        options.db.env = self.env.clone();
        self.options = options.clone();
        self.db = Some(Db::open(&self.path, options).map_err(told("open"))?);
        Ok(())
    }

    fn families(&self) -> Vec<Family> {
        self.db().families()
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn family(&self, n: u64) -> Family {
        let all = self.families();
        all[(n % all.len() as u64) as usize].clone()
    }

    fn op(&mut self, op: &Op) -> Result<(), String> {
        self.ran.operations += 1;
        match op {
            Op::Write { changes, undone, sync, no_wal } => {
                let options = WriteOptions { sync: *sync, disableWAL: *no_wal, ..WriteOptions::default() };
                self.write(changes, *undone, &options)
            }
            Op::Flush(n) => self.family(*n).flush().map_err(told("flush")),
            Op::Compact(n, range, bottom) => {
                let bottommost_level_compaction = match bottom {
                    true => BottommostLevelCompaction::Force,
                    false => BottommostLevelCompaction::IfHaveCompactionFilter,
                };
                let options =
                    CompactRangeOptions { bottommost_level_compaction, ..CompactRangeOptions::default() };
                let less = |a: &Vec<u8>, b: &Vec<u8>| if self.fixed.reverse { a >= b } else { a <= b };
                let (a, b) = match range {
                    Some((a, b)) if less(a, b) => (Some(&a[..]), Some(&b[..])),
                    Some((a, b)) => (Some(&b[..]), Some(&a[..])),
                    None => (None, None),
                };
                self.family(*n).compact_range(a, b, &options).map_err(told("compact"))
            }
            Op::Snapshot => {
                if self.snapshots.len() == 6 {
                    self.snapshots.pop_front();
                }
                self.snapshots.push_back((self.db().snapshot(), self.state.clone()));
                self.remember_moment();
                Ok(())
            }
            Op::Release(n) => {
                if !self.snapshots.is_empty() {
                    self.snapshots.remove((*n % self.snapshots.len() as u64) as usize);
                }
                Ok(())
            }
            Op::Look(seed) => self.look(*seed),
            Op::Reopen(seed) => self.reopen(*seed),
            Op::CreateFamily if self.families().len() < 4 => self.create_family(),
            Op::CreateFamily => Ok(()),
            Op::DropFamily(n) => self.drop_family(&self.family(*n)),
            Op::FlushWal { sync } => self.db().flush_wal(*sync).map_err(told("flush_wal")),
            Op::Collapse(n) => self.collapse(*n),
            Op::Help(n) => {
                for _ in 0..*n {
                    self.env.executor.help();
                }
                Ok(())
            }
            Op::Settle => self.db().wait_for_compact().map_err(told("wait_for_compact")),
        }
    }

    /// Writes a batch. The changes from the index `undone` on are rolled back to a save point.
    fn write(
        &mut self,
        changes: &[Change],
        undone: Option<usize>,
        options: &WriteOptions,
    ) -> Result<(), String> {
        let families = self.families();
        let mut batch = WriteBatch::new();
        let stamp = Stamp::next(self.db());
        let mut before = None;
        for (i, change) in changes.iter().enumerate() {
            if undone == Some(i) {
                batch.set_save_point();
                before = Some(self.state.clone());
            }
            self.state.change(change, &families, self.fixed.reverse, stamp, &mut batch);
        }
        if let Some(before) = before {
            batch.rollback_to_save_point().map_err(told("rollback"))?;
            self.state = before;
        }
        self.db().write_with(batch, options).map_err(told("write"))
    }

    /// Compares reads of the newest state, of a remembered timestamp and of a snapshot.
    fn look(&mut self, seed: u64) -> Result<(), String> {
        self.ran.looks += 1;
        self.ran.hash =
            (self.ran.hash ^ seed ^ self.db().latest_sequence().get()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.write_without_timestamp(seed)?;
        look::some(self.db(), &self.state, &self.sample, None.into(), seed, 200)?;
        self.look_back(seed)?;
        if let Some((snapshot, state)) = self.snapshots.get(seed as usize % 6) {
            let (moment, seed) = (Some(snapshot).into(), seed.rotate_left(7));
            look::some(self.db(), state, &self.sample, moment, seed, 200)
                .map_err(|e| format!("snapshot {}: {e}", snapshot.sequence()))?;
        }
        Ok(())
    }

    /// Closes the database, opens it with other options, and compares all rows.
    fn reopen(&mut self, seed: u64) -> Result<(), String> {
        self.ran.reopens += 1;
        // A handle keeps its open alive, so stale handles exist only after an explicit close.
        self.stale = closes(seed).then(|| (self.family(seed), self.db().snapshot()));
        self.close(seed)?;
        self.open(seed)?;
        self.use_stale_handles()?;
        look::all(self.db(), &self.state, self.fixed.reverse, None).map_err(|e| format!("reopened: {e}"))
    }

    fn create_family(&mut self) -> Result<(), String> {
        self.made += 1;
        let name = format!("family{}", self.made);
        let mut options = ironstone::Options::default();
        options.update(&self.sample.text).map_err(told("options"))?;
        self.db()
            .create_family(FamilyDescriptor::new(&name, options.family))
            .map_err(told("create_family"))?;
        self.moments.clear();
        self.state.families.insert(name, Default::default());
        Ok(())
    }

    /// Drops a column family, unless it is `default`, and iterates over it once more.
    fn drop_family(&mut self, family: &Family) -> Result<(), String> {
        if family.name() == "default" {
            return Ok(());
        }
        self.db().drop_family(family).map_err(told("drop_family"))?;
        self.moments.clear();
        self.lows.remove(family.name());
        self.state.families.remove(family.name());
        let options = stamp::reading(family, u64::MAX, ReadOptions::default());
        let rows = family.iter_with(options).and_then(|mut i| {
            i.seek_to_first();
            i.status()
        });
        rows.map_err(told("reading a dropped family"))
    }

    /// Keeps the current state, to be read at its timestamp later.
    fn remember_moment(&mut self) {
        if !self.fixed.timestamps.are_on() {
            return;
        }
        if self.moments.len() == 6 {
            self.moments.pop_front();
        }
        self.moments.push_back((self.db().latest_sequence().get(), self.state.clone()));
    }

    /// Takes the low marks from the database, if flushes raise them. A flush raises the mark above the timestamps that it drops.
    fn follow_lows(&mut self) -> Result<(), String> {
        if !self.fixed.timestamps.are_in_memory() {
            return Ok(());
        }
        let newest = self.db().latest_sequence().get();
        for family in self.families() {
            let Some(low) = family.full_history_ts_low() else { continue };
            let low = low.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            let before = self.lows.insert(family.name().to_string(), low).unwrap_or(0);
            if low < before || low > newest + 1 {
                return Err(format!(
                    "full_history_ts_low of {} is {low}, after {before}, newest timestamp {newest}",
                    family.name()
                ));
            }
        }
        Ok(())
    }

    /// Reads at the timestamp of a remembered moment. If a flush drops timestamps, a flush of another thread could raise the low mark
    /// before the read.
    fn look_back(&mut self, seed: u64) -> Result<(), String> {
        if self.fixed.timestamps.are_in_memory() && self.place == Place::Disk {
            return Ok(());
        }
        self.follow_lows()?;
        let Some((timestamp, state)) = self.moments.get(seed.rotate_left(11) as usize % 6) else {
            return Ok(());
        };
        let moment = look::Moment { snapshot: None, timestamp: *timestamp, lows: Some(&self.lows) };
        look::some(self.db(), state, &self.sample, moment, seed.rotate_left(13), 200)
            .map_err(|e| format!("at timestamp {timestamp}, of history from {:?}: {e}", self.lows))
    }

    /// Raises `full_history_ts_low` of a column family.
    fn collapse(&mut self, n: u64) -> Result<(), String> {
        let family = self.family(n);
        if !stamp::is_stamped(&family) {
            return Ok(());
        }
        self.follow_lows()?;
        let now = self.lows.get(family.name()).copied().unwrap_or(0);
        let newest = self.db().latest_sequence().get();
        let low = now + Chance::new(n).below(newest.saturating_sub(now) + 1);
        family
            .increase_full_history_ts_low(&low.to_le_bytes())
            .map_err(told("increase_full_history_ts_low"))?;
        self.lows.insert(family.name().to_string(), low);
        Ok(())
    }

    /// A write without a timestamp to a family with timestamps: it must be rejected, and nothing may change.
    fn write_without_timestamp(&self, seed: u64) -> Result<(), String> {
        let family = self.family(seed.rotate_left(17));
        if !stamp::is_stamped(&family) {
            return Ok(());
        }
        let (key, mut batch) = (b"without a timestamp", WriteBatch::new());
        let outcome = match seed % 5 {
            0 => family.put(key, b"value"),
            1 => family.delete(key),
            2 => family.delete_range(b"a", key),
            3 => family.merge(key, b"value"),
            _ => {
                batch.put_in(family.id(), key, b"value");
                self.db().write(batch)
            }
        };
        match outcome {
            Err(error) if error.kind() == Kind::InvalidArgument => Ok(()),
            other => Err(format!("write {} without a timestamp: {other:?}", seed % 5)),
        }
    }

    /// Calls with the handles of the open before: all must be rejected, and nothing may change.
    fn use_stale_handles(&self) -> Result<(), String> {
        let Some((family, snapshot)) = &self.stale else { return Ok(()) };
        let db = self.db();
        let rejected = |what: &str, outcome: ironstone::Result<()>| match outcome {
            Err(error) if error.kind() == Kind::InvalidArgument => Ok(()),
            other => Err(format!("{what} with a handle of the open before: {other:?}")),
        };
        let options = stamp::reading(family, u64::MAX, snapshot.options());
        rejected("get", db.get_with(b"k", &options).map(drop))?;
        rejected("multi_get", db.multi_get_with(&[b"k"], &options).remove(0).map(drop))?;
        rejected("iter", db.iter_with(options).map(drop))?;
        rejected("flush", db.flush_families(std::slice::from_ref(family), &FlushOptions::default()))?;
        rejected("drop_family", db.drop_family(family))
    }

    fn close(&mut self, seed: u64) -> Result<(), String> {
        self.snapshots.clear();
        if let Some(db) = self.db.take()
            && closes(seed)
        {
            db.close().map_err(told("close"))?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        for (snapshot, state) in &self.snapshots {
            look::all(self.db(), state, self.fixed.reverse, Some(snapshot))
                .map_err(|e| format!("at the end, snapshot {}: {e}", snapshot.sequence()))?;
        }
        look::all(self.db(), &self.state, self.fixed.reverse, None)
            .map_err(|e| format!("at the end: {e}"))?;
        self.db().verify_checksum().map_err(told("verify_checksum"))?;
        if let Some(error) = self.db().engine().background().error() {
            return Err(format!("background error: {error}"));
        }
        let (panics, first) = self.env.executor.panics();
        if panics > 0 {
            return Err(format!("{panics} jobs panicked: {first:?}"));
        }
        let families = self.families();
        let of = |family: &Family| FamilyDescriptor::new(family.name(), self.options.family.clone());
        let descriptors = families.iter().map(of).collect();
        drop(families);
        self.close(0)?;
        // Handles of the previous open keep its files.
        self.stale = None;
        let report = ironstone::fsck(&self.path, self.options.clone(), descriptors).map_err(told("fsck"))?;
        if report.is_sound() { Ok(()) } else { Err(format!("fsck: {:?}", report.problems)) }
    }
}

/// Returns true if a run closes its database by a call. Otherwise the drop of the last handle closes the database.
fn closes(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

/// Runs a seed. After a failure, reduces its script and says how to repeat the run.
///
/// # Panics
/// Does not panic. A panic of the engine is a failure like any other.
pub fn seed(seed: u64, len: usize) -> Result<Ran, String> {
    let place = if seed % 4 == 3 { Place::Disk } else { Place::Memory };
    let ops = script(seed, len);
    let outcome = caught(seed, place, &ops);
    let Err(failure) = outcome else {
        let ran = outcome.map_err(|_| String::new())?;
        if seed.is_multiple_of(100) && place == Place::Memory {
            let again = run(seed, place, &ops)
                .map_err(|f| format!("seed {seed}: only the second time: {}", f.words))?;
            if again.hash != ran.hash {
                return Err(format!("seed {seed}: two runs differ: {:x} and {:x}", ran.hash, again.hash));
            }
        }
        return Ok(ran);
    };
    let mut words = format!(
        "seed {seed} ({place:?}), operation {}: {}\noptions: {}",
        failure.at, failure.words, failure.options
    );
    if std::env::var_os("IRONSTONE_REDUCE").is_some() {
        let shorter = script::reduce(ops, usize::MAX, |ops| caught(seed, place, ops).is_err());
        let last = caught(seed, place, &shorter).err();
        words.push_str(&format!(
            "\nreduced to {} operations: {:?}\n",
            shorter.len(),
            last.map(|f| (f.words, f.options))
        ));
        for op in &shorter {
            words.push_str(&format!("  {op:?}\n"));
        }
    }
    Err(words)
}

fn caught(seed: u64, place: Place, ops: &[Op]) -> Result<Ran, Failure> {
    let run = std::panic::AssertUnwindSafe(|| run(seed, place, ops));
    std::panic::catch_unwind(run).unwrap_or_else(|payload| {
        let words = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_string())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Err(Failure { words: format!("panic: {words}"), options: String::new(), at: 0 })
    })
}
