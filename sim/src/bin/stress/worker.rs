//! The child: runs epochs of open, verification, work in threads, and close.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use env::Env;
use env::fault::FaultFs;
use ironstone::{CompactRangeOptions, Family, ReadOptions, Snapshot, WriteBatch, WriteOptions};
use ironstone_sim::life;
use ironstone_sim::stamp::{self, Stamp};
use parking_lot::Mutex;
use testkit::chance::Chance;

use crate::Settings;
use crate::expected::{Expected, FAMILIES, KEYS, Slot, name};
use crate::history::History;
use crate::store::Store;
use crate::{crowd, gauge, rest};

/// The plans of the fault file system that an epoch can draw.
const PLANS: &[&str] = &[
    "sync *.log #3 EIO",
    "append *.log #200 EIO",
    "append *.log #150 torn 10",
    "append *.sst #2 ENOSPC",
    "append *.sst #1..9 ENOSPC",
    "sync *.sst #1 EIO",
    "create *.sst #1 EMFILE",
    "append MANIFEST-* #2 EIO",
    "sync MANIFEST-* #1 EIO",
    "read *.sst #20..30 EIO",
    "read *.sst #5 short 10",
    "unlink * #1..3 EIO",
    "create *.log #1 ENOSPC",
    "write * #300..320 ENOSPC",
];

/// Runs epochs for the given time, at least one. Prints a line for each epoch. Fails after the first wrong
/// answer.
pub fn live(settings: &Settings, dir: &Path) -> ExitCode {
    let start = Instant::now();
    crowd::gather(settings.threads);
    let expected_path = dir.with_extension("expected");
    let chance = &mut Chance::new(settings.seed);
    let mut history = History::default();
    let mut operations = 0;
    let mut epoch = 0u64;
    while epoch == 0 || start.elapsed() < Duration::from_secs(settings.seconds) {
        epoch += 1;
        let outcome = Epoch::run(settings, dir, &expected_path, chance.next());
        match outcome {
            Ok(done) => operations += done,
            Err(words) => {
                say(&format!("E epoch {epoch} of seed {}: {words}", settings.seed));
                return ExitCode::FAILURE;
            }
        }
        let gauge = gauge::read(dir);
        say(&line(start, epoch, operations, "", &gauge));
        history.push(gauge);
        if epoch.is_multiple_of(rest::EVERY) {
            match rest::rest(settings, dir, &expected_path) {
                Ok(found) => {
                    let rest = format!("\"rows\":{},\"aside_kb\":{},", found.rows, found.aside_kb);
                    say(&line(start, epoch, operations, &rest, &gauge::read(dir)));
                }
                Err(words) => {
                    say(&format!("E epoch {epoch} of seed {}: {words}", settings.seed));
                    return ExitCode::FAILURE;
                }
            }
        }
        if let Err(words) = history.bounded(&gauge) {
            say(&format!("E growth: {words}"));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Returns the report of an epoch. `rest` has the additional fields of a rest point.
fn line(start: Instant, epoch: u64, operations: u64, rest: &str, gauge: &gauge::Gauge) -> String {
    format!(
        "{{\"seconds\":{:.1},\"epoch\":{epoch},\"operations\":{operations},{rest}\"heap_kb\":{},\"rss_kb\":{},\"handles\":{},\"threads\":{},\"disk_kb\":{}}}",
        start.elapsed().as_secs_f64(),
        gauge.heap_kb,
        gauge.rss_kb,
        gauge.handles,
        gauge.threads,
        gauge.disk_kb
    )
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}

/// The state that the threads of an epoch share.
pub struct Epoch {
    pub store: Store,
    pub families: Vec<Family>,
    /// True if calls fail in this epoch. Errors of the engine are then expected.
    faulty: bool,
    stop: AtomicBool,
    operations: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl Epoch {
    fn run(settings: &Settings, dir: &Path, expected: &Path, seed: u64) -> Result<u64, String> {
        let chance = &mut Chance::new(seed);
        // A kill must leave every acknowledged write, so no write may wait in a memory buffer.
        let text = life::options(chance.next()).replace("manual_wal_flush=true", "manual_wal_flush=false");
        let told = |what: &str| format!("{what} (options {text})");
        let mut env = Env::posix();
        let faults = FaultFs::wrap(env.fs.clone());
        env.fs = faults.clone();
        let kind = settings.kind.unwrap_or_default();
        let (store, families) = Store::open(kind, dir, &text, env, chance.next())
            .map_err(|e| told(&format!("{}: refused: {e}", kind.name())))?;
        let mut slots = (0..settings.threads)
            .map(|thread| Expected::load(expected, thread).map_err(|e| e.to_string()))
            .collect::<Result<Vec<_>, _>>()?;
        for (thread, slots) in slots.iter_mut().enumerate() {
            verify(&families, thread, slots).map_err(|e| told(&format!("after opening: {e}")))?;
        }
        let plan = chance.percent(40).then(|| *chance.pick(PLANS));
        let epoch = Arc::new(Epoch {
            store,
            families,
            faulty: plan.is_some(),
            stop: AtomicBool::new(false),
            operations: AtomicU64::new(0),
            failure: Mutex::new(None),
        });
        let seeds: Vec<u64> = slots.iter().map(|_| chance.next()).collect();
        let length = Duration::from_millis(200 + chance.below(1000));
        std::thread::scope(|scope| {
            for ((thread, slots), seed) in slots.iter_mut().enumerate().zip(seeds) {
                let epoch = &epoch;
                scope.spawn(move || {
                    let mut worker = Worker {
                        epoch,
                        thread,
                        slots,
                        chance: Chance::new(seed),
                        snapshots: Vec::new(),
                        names: 0,
                    };
                    if let Err(words) = worker.work() {
                        epoch.failure.lock().get_or_insert(words);
                        epoch.stop.store(true, Ordering::Relaxed);
                    }
                });
            }
            let began = Instant::now();
            let mut set = false;
            while began.elapsed() < length && !epoch.stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
                if let Some(plan) = plan.filter(|_| !set && began.elapsed() > length / 4) {
                    set = true;
                    if let Err(error) = faults.hook().set_plan(plan) {
                        epoch.failure.lock().get_or_insert(error.to_string());
                    }
                }
                if set && began.elapsed() > length / 2 && faults.hook().fired() > 0 {
                    // The calls work again. The resume may still fail; the next open then recovers.
                    let _ = faults.hook().set_plan("");
                    let _ = epoch.store.resume();
                }
            }
            epoch.stop.store(true, Ordering::Relaxed);
        });
        let _ = faults.hook().set_plan("");
        if let Some(words) = epoch.failure.lock().take() {
            return Err(told(&format!("{words} (plan {plan:?})")));
        }
        let closed = epoch.store.close();
        if let Err(error) = closed.as_ref().map_err(|e| e.to_string())
            && !epoch.faulty
        {
            return Err(told(&format!("close: {error}")));
        }
        Ok(epoch.operations.load(Ordering::Relaxed))
    }
}

/// Scans every key of a thread, and closes its open slots.
pub fn verify(families: &[Family], thread: usize, slots: &mut Expected) -> Result<(), String> {
    for (family, handle) in families.iter().enumerate().take(FAMILIES) {
        let mut rows = scan(handle, thread, false).map_err(|e| e.to_string())?;
        rows.reverse();
        for key in 0..KEYS {
            let name = name(thread, key);
            let found =
                if rows.last().is_some_and(|(key, _)| key == name.as_bytes()) { rows.pop() } else { None };
            slots.resolve(family, key, found.as_ref().map(|r| r.1.as_slice()))?;
        }
        if let Some((key, _)) = rows.pop() {
            return Err(format!("an entry that no thread wrote: {}", key.escape_ascii()));
        }
    }
    Ok(())
}

/// Options that read the newest entries.
pub fn newest(family: &Family) -> ReadOptions {
    stamp::reading(family, u64::MAX, ReadOptions::default())
}

/// Keys and values, in the order of the keys.
pub type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Reads all rows of one thread, in ascending order also if `backward` reads them from the end.
///
/// # Errors
/// An error of the iterator.
pub fn scan(family: &Family, thread: usize, backward: bool) -> ironstone::Result<Rows> {
    let bound = |n: usize| Some(format!("t{n:02}").into_bytes());
    let options = ReadOptions {
        iterate_lower_bound: bound(thread),
        iterate_upper_bound: bound(thread + 1),
        total_order_seek: true,
        ..newest(family)
    };
    let mut iter = family.iter_with(options)?;
    let mut rows = Vec::new();
    if backward {
        iter.seek_to_last()
    } else {
        iter.seek_to_first()
    }
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        if backward { iter.prev() } else { iter.next() }
    }
    iter.status()?;
    if backward {
        rows.reverse();
    }
    Ok(rows)
}

/// One thread of an epoch.
pub struct Worker<'a> {
    pub epoch: &'a Epoch,
    pub thread: usize,
    pub slots: &'a mut Expected,
    pub chance: Chance,
    snapshots: Vec<(Snapshot, usize, Vec<Slot>)>,
    /// The number of named transactions.
    pub names: u64,
}

impl Worker<'_> {
    fn work(&mut self) -> Result<(), String> {
        while !self.epoch.stop.load(Ordering::Relaxed) {
            self.one()?;
            self.epoch.operations.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the value of a call, or an error of the campaign. In an epoch with failing calls, an error of the
    /// engine is `None`.
    pub fn told<T>(&self, what: &str, outcome: ironstone::Result<T>) -> Result<Option<T>, String> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(_) if self.epoch.faulty => Ok(None),
            Err(error) => Err(format!("thread {}: {what}: {error}", self.thread)),
        }
    }

    fn one(&mut self) -> Result<(), String> {
        let (family, key) =
            (self.chance.below(FAMILIES as u64) as usize, self.chance.below(KEYS as u64) as usize);
        match self.chance.below(1000) {
            0..450 => self.write(&[(family, key, true)]),
            450..580 => self.write(&[(family, key, false)]),
            580..660 => {
                let n = 1 + self.chance.below(12) as usize;
                let chance = &mut self.chance;
                let mut keys: Vec<_> = (0..n)
                    .map(|_| {
                        (
                            chance.below(FAMILIES as u64) as usize,
                            chance.below(KEYS as u64) as usize,
                            chance.percent(80),
                        )
                    })
                    .collect();
                keys.sort();
                keys.dedup_by_key(|(family, key, _)| (*family, *key));
                self.write(&keys)
            }
            660..690 => self.delete_range(family, key),
            690..850 => self.get(family, key),
            850..890 => self.multi_get(family),
            890..930 => self.scan(family),
            930..960 => self.snapshot(family),
            960..988 => self.look_back(),
            988..990 => self.ingest(family, key),
            990..993 => self.told("flush", self.epoch.families[family].flush()).map(drop),
            993..994 => {
                let options = CompactRangeOptions::default();
                self.told("compact", self.epoch.families[family].compact_range(None, None, &options))
                    .map(drop)
            }
            994..997 => {
                let (name, value) = *self.chance.pick(&[
                    ("write_buffer_size", "100000"),
                    ("write_buffer_size", "65536"),
                    ("level0_file_num_compaction_trigger", "3"),
                    ("max_bytes_for_level_base", "20000"),
                ]);
                self.told("set_options", self.epoch.families[family].set_options(&[(name, value)])).map(drop)
            }
            _ => self.told("sync_wal", self.epoch.store.sync_wal()).map(drop),
        }
    }

    /// Puts and deletes distinct keys in one batch or in one transaction. Skips keys whose slot is open.
    fn write(&mut self, keys: &[(usize, usize, bool)]) -> Result<(), String> {
        let keys: Vec<_> = keys
            .iter()
            .filter(|(family, key, _)| !self.slots.slot(*family, *key).is_open())
            .copied()
            .collect();
        if self.epoch.store.has_transactions() && self.chance.percent(60) {
            return self.transact(&keys);
        }
        let mut batch = WriteBatch::new();
        let stamp = Stamp::next(&self.epoch.store);
        for (family, key, put) in &keys {
            let generation = self.slots.begin(*family, *key, *put);
            let (handle, name) = (&self.epoch.families[*family], name(self.thread, *key));
            match crate::expected::value(self.thread, *family, *key, generation) {
                Some(value) => stamp.put(&mut batch, handle, name.as_bytes(), &value),
                None => stamp.delete(&mut batch, handle, name.as_bytes()),
            };
        }
        let options = WriteOptions { sync: self.chance.percent(2), ..WriteOptions::default() };
        if self.told("write", self.epoch.store.write_with(batch, &options))?.is_some() {
            keys.iter().for_each(|(family, key, _)| self.slots.settle(*family, *key));
        }
        Ok(())
    }

    fn delete_range(&mut self, family: usize, from: usize) -> Result<(), String> {
        let to = (from + 1 + self.chance.below(20) as usize).min(KEYS);
        if (from..to).any(|key| self.slots.slot(family, key).is_open()) {
            return Ok(());
        }
        if self.epoch.store.has_transactions() {
            let keys: Vec<_> = (from..to).map(|key| (family, key, false)).collect();
            return self.write(&keys);
        }
        for key in from..to {
            self.slots.begin(family, key, false);
        }
        let (begin, end) = (name(self.thread, from), name(self.thread, to));
        let mut batch = WriteBatch::new();
        let (db, handle) = (&self.epoch.store, &self.epoch.families[family]);
        Stamp::next(db).delete_range(&mut batch, handle, begin.as_bytes(), end.as_bytes());
        let outcome = db.write_with(batch, &WriteOptions::default());
        if self.told("delete_range", outcome)?.is_some() {
            (from..to).for_each(|key| self.slots.settle(family, key));
        }
        Ok(())
    }

    fn get(&mut self, family: usize, key: usize) -> Result<(), String> {
        let handle = &self.epoch.families[family];
        let got = handle.get_with(name(self.thread, key).as_bytes(), &newest(handle));
        let Some(found) = self.told("get", got)? else { return Ok(()) };
        self.slots.check(family, key, found.as_deref()).map_err(|e| format!("get: {e}"))
    }

    fn multi_get(&mut self, family: usize) -> Result<(), String> {
        let keys: Vec<usize> =
            (0..1 + self.chance.below(20)).map(|_| self.chance.below(KEYS as u64) as usize).collect();
        let names: Vec<String> = keys.iter().map(|k| name(self.thread, *k)).collect();
        let slices: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let handle = &self.epoch.families[family];
        for (key, got) in keys.iter().zip(handle.multi_get_with(&slices, &newest(handle))) {
            if let Some(found) = self.told("multi_get", got)? {
                self.slots.check(family, *key, found.as_deref()).map_err(|e| format!("multi_get: {e}"))?;
            }
        }
        Ok(())
    }

    fn scan(&mut self, family: usize) -> Result<(), String> {
        let backward = self.chance.percent(40);
        let got = scan(&self.epoch.families[family], self.thread, backward);
        let Some(mut rows) = self.told("scan", got)? else { return Ok(()) };
        rows.reverse();
        for key in 0..KEYS {
            let name = name(self.thread, key);
            let found =
                if rows.last().is_some_and(|(key, _)| key == name.as_bytes()) { rows.pop() } else { None };
            let way = if backward { "backward" } else { "forward" };
            self.slots
                .check(family, key, found.as_ref().map(|r| r.1.as_slice()))
                .map_err(|e| format!("scan {way}: {e}"))?;
        }
        if rows.is_empty() {
            Ok(())
        } else {
            Err(format!("scan: {} entries that no thread wrote", rows.len()))
        }
    }

    fn snapshot(&mut self, family: usize) -> Result<(), String> {
        if self.snapshots.len() >= 4 {
            let at = self.chance.below(4) as usize;
            self.snapshots.remove(at);
        }
        let slots = (0..KEYS).map(|key| self.slots.slot(family, key)).collect();
        self.snapshots.push((self.epoch.store.snapshot(), family, slots));
        Ok(())
    }

    fn look_back(&mut self) -> Result<(), String> {
        if self.snapshots.is_empty() {
            return Ok(());
        }
        let key = self.chance.below(KEYS as u64) as usize;
        let at = self.chance.below(self.snapshots.len() as u64) as usize;
        let (snapshot, family, slots) = &self.snapshots[at];
        let handle = &self.epoch.families[*family];
        let options = stamp::reading(handle, u64::MAX, snapshot.options());
        let got = handle.get_with(name(self.thread, key).as_bytes(), &options);
        let Some(found) = self.told("get at a snapshot", got)? else { return Ok(()) };
        let is = |g: u64| crate::expected::value(self.thread, *family, key, g).as_deref() == found.as_deref();
        if is(slots[key].settled) || is(slots[key].pending) {
            return Ok(());
        }
        Err(format!("thread {}, family {family}, key {key}: a snapshot changed", self.thread))
    }
}
