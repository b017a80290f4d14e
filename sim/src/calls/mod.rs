//! Public calls that no other campaign makes, compared with models.
//!
//! ```text
//!  seed ──► one world ──► operations drawn from the seed, each answer compared with the model
//!           transactions  locks, snapshots, save points, two-phase commit; three write policies and optimistic ones
//!           indexed       write batches with an index over a database
//!           entities      wide columns, attribute groups, iterators over several column families
//!           aging         databases with a time to live
//!           copies        checkpoints, backups, exports, SST files, secondaries, the WAL as a stream
//!           stamped       column families with timestamps
//!           dated         transactions on column families with timestamps
//!           batches       write batches: records, sizes, save points, limits, the part for the WAL
//!           shaped        ingestion behind, compaction filters, WAL filters, column families without memtables
//!           observed      metrics, history of statistics, traces of blocks and files, derived options
//!           waits         transactions on threads that wait for each other's locks
//!           control       deletion of files, background work, destruction, embedded blobs, traces
//!           forms         opens with the fewest arguments, figures of memory and disk
//!           filtered      compaction filters with each decision
//!           delegated     compactions of a worker that may fail
//!           ingested      ingestions with all options, of files of `SstFileWriter` and of other databases
//!           limited       calls that are limited, charged, canceled or redirected by their options
//!           capped        transactions with limits, without locks, and with early writes
//!           cached       column families that are caches: FIFO compaction by size, age and temperature
//!           queues       long runs of deleted keys, which scans remember and skip
//!           rejected     calls that must fail, and databases that are open for reading only
//!           inherited     databases that RocksDB wrote, with all of its formats
//!           repaired      databases that lose files or bytes, and are repaired
//!           unreadable    reads whose file-system calls fail, return fewer bytes, or are slow
//!           managed       two databases that share their managers, caches and limits
//!           kept          a block cache without a database
//! ```
//! A world runs on a disk in memory without faults, and in one thread, except `waits`. Not here: crashes (`crash`, `prepared`, `crate::copies`).

mod aging;
mod batches;
mod cached;
mod capped;
mod control;
mod copies;
mod dated;
mod delegated;
mod entities;
mod figures;
mod filtered;
mod forms;
mod indexed;
mod ingested;
mod inherited;
mod kept;
mod limited;
mod managed;
mod observed;
mod overlay;
mod queues;
mod rejected;
mod repaired;
mod served;
mod shaped;
mod stamped;
mod transactions;
mod unreadable;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;

use env::clock::ManualClock;
use ironstone::{Db, Family, FamilyDescriptor, Options, ReadOptions};
use testkit::chance::Chance;
use testkit::machine::Machine;

use crate::random::Ran;
use crate::sample::{self, Fixed, Timestamps};

/// The number of worlds. The transactions without timestamps have three of them.
const WORLDS: u64 = 28;

/// The column families of each world.
const FAMILIES: [&str; 2] = ["default", "second"];

/// A database of one kind, and its model.
trait World {
    /// Runs one drawn operation, and compares its answer with the model.
    fn step(&mut self, chance: &mut Chance) -> Result<(), String>;

    /// Compares the whole database with the model.
    fn compare(&mut self) -> Result<(), String>;
}

/// Runs a seed.
///
/// # Errors
/// The first answer that differs from the model, with the options and the operations before it.
pub fn seed(seed: u64, len: usize) -> Result<Ran, String> {
    let run = std::panic::AssertUnwindSafe(|| run(seed, len));
    std::panic::catch_unwind(run).unwrap_or_else(|payload| {
        let words = payload.downcast_ref::<String>().cloned();
        let words = words.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_string()));
        Err(format!("seed {seed}: panic: {}", words.unwrap_or_default()))
    })
}

fn run(seed: u64, len: usize) -> Result<Ran, String> {
    let chance = &mut Chance::new(seed ^ 0x6361_6c6c);
    let setting = Setting::draw(seed, chance);
    let failed = |at: usize, words: String| {
        format!("seed {seed}, world {}, operation {at}: {words}\noptions: {}", seed % WORLDS, setting.text)
    };
    let mut world: Box<dyn World> = match seed % WORLDS {
        0..=2 => Box::new(transactions::Transactions::new(seed, &setting).map_err(|w| failed(0, w))?),
        3 => Box::new(dated::Dated::new(&setting, chance).map_err(|w| failed(0, w))?),
        4 => Box::new(indexed::Indexed::new(&setting).map_err(|w| failed(0, w))?),
        5 => Box::new(entities::Entities::new(&setting).map_err(|w| failed(0, w))?),
        6 => Box::new(aging::Aging::new(&setting).map_err(|w| failed(0, w))?),
        7 => Box::new(copies::Copies::new(seed, &setting).map_err(|w| failed(0, w))?),
        8 => Box::new(stamped::Stamped::new(&setting).map_err(|w| failed(0, w))?),
        9 => Box::new(batches::Batches::new(&setting).map_err(|w| failed(0, w))?),
        10 => Box::new(waits::Waits::new(seed, &setting).map_err(|w| failed(0, w))?),
        11 => Box::new(observed::Observed::new(&setting).map_err(|w| failed(0, w))?),
        12 => Box::new(shaped::Shaped::new(seed, &setting).map_err(|w| failed(0, w))?),
        13 => Box::new(control::Control::new(&setting).map_err(|w| failed(0, w))?),
        14 => Box::new(forms::Forms::new(&setting).map_err(|w| failed(0, w))?),
        15 => Box::new(filtered::Filtered::new(seed, &setting).map_err(|w| failed(0, w))?),
        16 => Box::new(delegated::Delegated::new(seed, &setting).map_err(|w| failed(0, w))?),
        17 => Box::new(repaired::Repaired::new(seed, &setting).map_err(|w| failed(0, w))?),
        18 => Box::new(ingested::Ingested::new(&setting).map_err(|w| failed(0, w))?),
        19 => Box::new(limited::Limited::new(seed, &setting).map_err(|w| failed(0, w))?),
        20 => Box::new(capped::Capped::new(seed, &setting, chance).map_err(|w| failed(0, w))?),
        21 => Box::new(cached::Cached::new(seed, &setting, chance).map_err(|w| failed(0, w))?),
        22 => Box::new(queues::Queues::new(&setting, chance).map_err(|w| failed(0, w))?),
        23 => Box::new(rejected::Rejected::new(seed, &setting).map_err(|w| failed(0, w))?),
        24 => Box::new(inherited::Inherited::new(&setting, chance).map_err(|w| failed(0, w))?),
        25 => Box::new(unreadable::Unreadable::new(seed, &setting).map_err(|w| failed(0, w))?),
        26 => Box::new(managed::Managed::new(seed, &setting, chance).map_err(|w| failed(0, w))?),
        _ => Box::new(kept::Kept::new(chance).map_err(|w| failed(0, w))?),
    };
    for at in 1..=len {
        world.step(chance).map_err(|words| failed(at, words))?;
        if at % 40 == 0 || at == len {
            world.compare().map_err(|words| failed(at, words))?;
        }
    }
    Ok(Ran { operations: len as u64, ..Ran::default() })
}

/// The settings with which a world opens its database.
struct Setting {
    clock: Arc<ManualClock>,
    options: Options,
    text: String,
}

impl Setting {
    fn draw(seed: u64, chance: &mut Chance) -> Setting {
        let fixed = Fixed { reverse: false, levels: 7, timestamps: Timestamps::None, plain: false };
        let (mut sample, mut options) = sample::options(&mut Chance::new(chance.next()), fixed);
        let direct = sample::rare::direct_writes(seed, fixed)
            + sample::rare::direct_io(seed)
            + &sample::rare::checks(seed);
        options.update(&direct).unwrap_or_else(|error| panic!("{direct}: {error}"));
        sample.text.push_str(&direct);
        let Machine { env, clock, .. } = Machine::new(seed);
        options.db.env = env;
        options.db.create_missing_column_families = true;
        Setting { clock, options, text: sample.text }
    }

    /// The families of a world, with equal options.
    fn families(&self) -> Vec<FamilyDescriptor> {
        families(&self.options)
    }
}

/// Returns the column families of a world, with the options of the default column family.
fn families(options: &Options) -> Vec<FamilyDescriptor> {
    FAMILIES.iter().map(|name| FamilyDescriptor::new(*name, options.family.clone())).collect()
}

/// Opens the database of a world. Also returns its column families, in the order of [`FAMILIES`].
///
/// # Errors
/// The error of the open, as text.
fn open(options: &Options, families: Vec<FamilyDescriptor>) -> Result<(Db, Vec<Family>), String> {
    let db = Db::open_with_families("/db", options.clone(), families).map_err(told("open"))?;
    let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
    Ok((db, families.map_err(told("family"))?))
}

/// Closes the database of a world, if it is open.
///
/// # Errors
/// The error of the close, as text.
fn close(db: &mut Option<Db>) -> Result<(), String> {
    db.take().map_or(Ok(()), |db| db.close().map_err(told("close")))
}

/// Prefixes an error of the engine with the operation.
fn told(what: &str) -> impl Fn(ironstone::Error) -> String + '_ {
    move |error| format!("{what}: {error}")
}

/// Fails unless `found` is `expected`.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:02x?} and not {expected:02x?}")) }
}

/// Returns the rows of a column family.
fn scan(family: &Family) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, String> {
    let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
    let mut iter = family.iter_with(options).map_err(told("iter"))?;
    let mut rows = BTreeMap::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().map_err(told("scan"))?;
    Ok(rows)
}

/// Draws a key from a small set, so that operations meet on keys.
fn key(chance: &mut Chance) -> Vec<u8> {
    match chance.below(40) {
        0 => Vec::new(),
        1 => vec![0xff; 1 + chance.below(3) as usize],
        _ => format!("key{:02}", chance.below(48)).into_bytes(),
    }
}

/// A drawn value: mostly short, sometimes long enough for a blob file.
fn value(chance: &mut Chance) -> Vec<u8> {
    let len = if chance.percent(10) { chance.below(3000) } else { chance.below(24) };
    chance.bytes(len as usize)
}

/// A cursor over rows: one interface for all public iterators.
trait Cursor {
    fn to_first(&mut self);
    fn to_last(&mut self);
    fn to(&mut self, target: &[u8]);
    fn to_prev(&mut self, target: &[u8]);
    fn step(&mut self, forward: bool);
    /// Returns the row at the position, or `None` at the end.
    fn row(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>, String>;
}

macro_rules! cursor {
    ($kind:ty) => {
        impl Cursor for $kind {
            fn to_first(&mut self) {
                self.seek_to_first();
            }

            fn to_last(&mut self) {
                self.seek_to_last();
            }

            fn to(&mut self, target: &[u8]) {
                self.seek(target);
            }

            fn to_prev(&mut self, target: &[u8]) {
                self.seek_for_prev(target);
            }

            fn step(&mut self, forward: bool) {
                if forward { self.next() } else { self.prev() }
            }

            fn row(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>, String> {
                self.status().map_err(|error| format!("an iterator: {error}"))?;
                Ok(self.valid().then(|| (self.key().to_vec(), self.value().to_vec())))
            }
        }
    };
}

cursor!(ironstone::Iter);
cursor!(ironstone::BaseDeltaIter);
cursor!(ironstone::SstFileIter);

/// Moves a cursor at random over `rows`, and compares each position.
fn walk(
    what: &str,
    cursor: &mut dyn Cursor,
    rows: &[(Vec<u8>, Vec<u8>)],
    chance: &mut Chance,
) -> Result<(), String> {
    for _ in 0..3 {
        let target = key(chance);
        let from = rows.partition_point(|(key, _)| *key < target);
        let upto = rows.partition_point(|(key, _)| *key <= target);
        let (name, mut at) = match chance.below(4) {
            0 => {
                cursor.to_first();
                ("first", 0)
            }
            1 => {
                cursor.to_last();
                ("last", rows.len().wrapping_sub(1))
            }
            2 => {
                cursor.to(&target);
                ("seek", from)
            }
            _ => {
                cursor.to_prev(&target);
                ("seek for prev", upto.wrapping_sub(1))
            }
        };
        let mut way = String::from(name);
        for _ in 0..chance.below(60) {
            let (found, expected) = (cursor.row()?, rows.get(at).cloned());
            if found != expected {
                let target = target.escape_ascii();
                return Err(format!("{what}, {way} {target}: {found:02x?} and not {expected:02x?}"));
            }
            if expected.is_none() {
                break;
            }
            let forward = chance.percent(if name.len() < 5 || name == "seek" { 80 } else { 20 });
            way.push(if forward { '>' } else { '<' });
            cursor.step(forward);
            at = if forward { at + 1 } else { at.wrapping_sub(1) };
        }
    }
    Ok(())
}
