//! The steps of a database whose process is killed, drawn from a seed, and the rows that must be read after each
//! step.
//!
//! A child process runs the steps on the database and reports each finished step. Its parent runs the same steps on
//! the model. Both draw the steps from one seed, so the pipe carries only numbers. The parent also knows the steps
//! that the child had not reported when it was killed.

use ironstone::{
    CompactRangeOptions, Db, Family, FamilyDescriptor, Options, ReadOptions, WriteBatch, WriteOptions,
};
use testkit::chance::Chance;
use testkit::model::Model;

use crate::sample::{self, Fixed, Timestamps};
use crate::stamp::{self, Stamp};

/// The column families of these databases. All use the merge operator `stringappend`.
pub const FAMILIES: [&str; 3] = ["default", "second", "third"];

/// The state of all column families.
pub type World = [Model; 3];

/// A change. The number is the index of the column family in [`FAMILIES`].
#[derive(Clone, Debug)]
pub enum Change {
    Put(usize, Vec<u8>, Vec<u8>),
    Delete(usize, Vec<u8>),
    Merge(usize, Vec<u8>, Vec<u8>),
    DeleteRange(usize, Vec<u8>, Vec<u8>),
    /// Puts an absent key, or single-deletes a present key. Single deletion allows only this use.
    Toggle(usize, Vec<u8>, Vec<u8>),
}

/// One step of a life. The numbers are indexes in [`FAMILIES`]. `FlushWal` writes the buffered records of the
/// WAL; true also syncs them.
#[derive(Clone, Debug)]
pub enum Step {
    Write { changes: Vec<Change>, sync: bool },
    Flush(usize),
    Compact(usize),
    FlushWal(bool),
}

/// The first byte of keys that single deletions may delete. These keys are after all other keys.
const TOGGLES: u8 = b'~';

fn key(chance: &mut Chance) -> Vec<u8> {
    match chance.below(50) {
        0 => Vec::new(),
        1 => vec![0; 1 + chance.below(3) as usize],
        2 => vec![b'}'; 1 + chance.below(3) as usize],
        _ => format!("k{:03}", chance.below(300)).into_bytes(),
    }
}

fn value(chance: &mut Chance, mark: &str) -> Vec<u8> {
    let mut out = mark.as_bytes().to_vec();
    match chance.below(20) {
        0 => out.clear(),
        1..=6 => {
            let n = chance.below(400) as usize;
            out.extend(chance.bytes(n));
        }
        7 => out.extend(std::iter::repeat_n(b'r', chance.below(6000) as usize)),
        _ => {}
    }
    out
}

fn change(chance: &mut Chance, mark: &str) -> Change {
    let family = chance.below(3) as usize;
    match chance.below(100) {
        0..60 => Change::Put(family, key(chance), value(chance, mark)),
        60..72 => Change::Delete(family, key(chance)),
        72..86 => Change::Merge(family, key(chance), mark.as_bytes().to_vec()),
        86..91 => {
            let (a, b) = (key(chance), key(chance));
            Change::DeleteRange(family, a.clone().min(b.clone()), a.max(b))
        }
        _ => Change::Toggle(family, vec![TOGGLES, chance.below(10) as u8], value(chance, mark)),
    }
}

/// Returns the steps of a seed.
pub fn steps(seed: u64, len: usize) -> Vec<Step> {
    let chance = &mut Chance::new(seed);
    (0..len)
        .map(|i| match chance.below(100) {
            0 | 1 => Step::Flush(chance.below(3) as usize),
            2 if chance.percent(50) => Step::Compact(chance.below(3) as usize),
            3 | 4 => Step::FlushWal(chance.percent(50)),
            _ => {
                let n = if chance.percent(75) { 1 } else { 1 + chance.below(12) };
                let changes = (0..n).map(|j| change(chance, &format!("{seed:x}.{i}.{j};"))).collect();
                Step::Write { changes, sync: chance.percent(8) }
            }
        })
        .collect()
}

/// Applies a step to the model.
pub fn apply(world: &mut World, step: &Step) {
    let Step::Write { changes, .. } = step else { return };
    for change in changes {
        match change {
            Change::Put(f, key, value) => world[*f].put(key, value),
            Change::Delete(f, key) => world[*f].delete(key),
            Change::Merge(f, key, operand) => world[*f].append(key, operand),
            Change::DeleteRange(f, a, b) => world[*f].delete_range(a, b),
            Change::Toggle(f, key, value) => {
                if world[*f].get(key).is_some() {
                    world[*f].delete(key);
                } else {
                    world[*f].put(key, value);
                }
            }
        }
    }
}

/// Returns true if the toggled key exists at this place of the batch. A key may be toggled twice in one batch.
pub fn toggled(
    seen: &mut Vec<(usize, Vec<u8>, bool)>,
    family: usize,
    key: &[u8],
    there: impl FnOnce() -> bool,
) -> bool {
    let known = seen.iter().rfind(|(own, own_key, _)| *own == family && own_key == key);
    let known = known.map(|(_, _, there)| *there);
    let there = known.unwrap_or_else(there);
    seen.push((family, key.to_vec(), !there));
    there
}

/// The options that stay the same for the life of such a database.
pub const FIXED: Fixed = Fixed { reverse: false, levels: 7, timestamps: Timestamps::None, plain: false };

/// Returns the options of an open.
pub fn options(seed: u64) -> String {
    let mut text = sample::draw(&mut Chance::new(seed), FIXED).text;
    text.push_str("create_if_missing=true;create_missing_column_families=true;keep_log_file_num=2;");
    text.push_str(&sample::rare::direct_writes(seed, FIXED));
    text
}

/// Returns true if writes put values into blob files before the WAL.
pub fn writes_directly(options: &str) -> bool {
    options.contains("enable_blob_direct_write=true")
}

/// Returns true if WAL records stay in a buffer until a call flushes the WAL.
pub fn gathers(options: &str) -> bool {
    options.contains("manual_wal_flush=true")
}

/// The index of the column family with timestamps in [`FAMILIES`].
const STAMPED: usize = 1;

/// Opens a database of [`FAMILIES`]. `timestamps` are those of the second family.
///
/// # Errors
/// The error of the engine.
pub fn open(
    path: &std::path::Path,
    text: &str,
    timestamps: Timestamps,
    env: env::Env,
) -> ironstone::Result<(Db, Vec<Family>)> {
    let (options, families) = descriptors(text, timestamps, env)?;
    let db = Db::open_with_families(path, options, families)?;
    let families = FAMILIES.iter().map(|name| db.family(name)).collect::<ironstone::Result<Vec<_>>>()?;
    if timestamps.are_on() {
        forget_history(&db, &families)?;
    }
    Ok((db, families))
}

/// Returns the options of a database of [`FAMILIES`]. `timestamps` are those of the second family.
///
/// # Errors
/// The error of an option text.
pub fn descriptors(
    text: &str,
    timestamps: Timestamps,
    env: env::Env,
) -> ironstone::Result<(Options, Vec<FamilyDescriptor>)> {
    let mut options = Options::default();
    options.update(text)?;
    let mut stamped = options.clone();
    stamped.update(timestamps.text())?;
    if timestamps != Timestamps::None {
        // Values of keys with timestamps stay in the WAL.
        stamped.update("enable_blob_direct_write=false")?;
    }
    // The second column family needs these database options for its timestamps.
    options.db = stamped.db.clone();
    options.db.env = env;
    if timestamps.are_on() {
        stamped.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    }
    let own = |place: usize| if place == STAMPED { &stamped.family } else { &options.family };
    let descriptor = |(place, name): (usize, &&str)| FamilyDescriptor::new(*name, own(place).clone());
    let families = FAMILIES.iter().enumerate().map(descriptor).collect();
    Ok((options, families))
}

/// Raises the low mark of the column family with timestamps. Reads see only the newest entries, so compactions may drop
/// older history, and the database stays small.
///
/// # Errors
/// The error of the engine.
pub fn forget_history(db: &Db, families: &[Family]) -> ironstone::Result<()> {
    let low = db.latest_sequence().get();
    let number = |low: Vec<u8>| low.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    if families[STAMPED].full_history_ts_low().is_none_or(|now| number(now) < low) {
        families[STAMPED].increase_full_history_ts_low(&low.to_le_bytes())?;
    }
    Ok(())
}

/// Runs a step on the database.
///
/// # Errors
/// The error of the engine.
pub fn take(db: &Db, families: &[Family], step: &Step) -> ironstone::Result<()> {
    match step {
        Step::Write { changes, sync } => {
            let mut batch = WriteBatch::new();
            let mut seen = Vec::new();
            let stamp = Stamp::next(db);
            for change in changes {
                match change {
                    Change::Put(f, key, value) => stamp.put(&mut batch, &families[*f], key, value),
                    Change::Delete(f, key) => stamp.delete(&mut batch, &families[*f], key),
                    Change::Merge(f, key, operand) => stamp.merge(&mut batch, &families[*f], key, operand),
                    Change::DeleteRange(f, a, b) => stamp.delete_range(&mut batch, &families[*f], a, b),
                    Change::Toggle(f, key, value) => {
                        let options = stamp::reading(&families[*f], u64::MAX, ReadOptions::default());
                        let found = families[*f].get_with(key, &options)?.is_some();
                        if toggled(&mut seen, *f, key, || found) {
                            stamp.single_delete(&mut batch, &families[*f], key)
                        } else {
                            stamp.put(&mut batch, &families[*f], key, value)
                        }
                    }
                };
            }
            db.write_with(batch, &WriteOptions { sync: *sync, ..WriteOptions::default() })
        }
        Step::Flush(f) => families[*f].flush(),
        Step::Compact(f) => families[*f].compact_range(None, None, &CompactRangeOptions::default()),
        Step::FlushWal(sync) => db.flush_wal(*sync),
    }
}

/// Reads all rows forward, backward and by key.
///
/// # Errors
/// The error of a read, or a difference between the ways of reading.
pub fn read(families: &[Family]) -> Result<World, String> {
    let mut world = World::default();
    for (model, family) in world.iter_mut().zip(families) {
        let told = |e: ironstone::Error| format!("reading {}: {e}", family.name());
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let options = stamp::reading(family, u64::MAX, options);
        let mut iter = family.iter_with(options.clone()).map_err(told)?;
        iter.seek_to_first();
        while iter.valid() {
            model.put(iter.key(), iter.value());
            iter.next();
        }
        iter.status().map_err(told)?;
        let rows = model.rows();
        let mut back = rows.iter().rev();
        iter.seek_to_last();
        while iter.valid() {
            let (key, value) = back.next().ok_or("more rows backward than forward")?;
            if (iter.key(), iter.value()) != (&key[..], &value[..]) {
                return Err(format!("backward at {}", iter.key().escape_ascii()));
            }
            iter.prev();
        }
        iter.status().map_err(told)?;
        if back.next().is_some() {
            return Err("fewer rows backward than forward".to_string());
        }
        for (key, value) in rows.iter().step_by(3) {
            let got = family.get_with(key, &options).map_err(told)?;
            if got.as_deref() != Some(&value[..]) {
                return Err(format!("get {} differs from the scan", key.escape_ascii()));
            }
        }
    }
    Ok(world)
}

/// Applies the steps one by one to `before`. Returns the number of steps after which the state is `found`. The number
/// must be from `durable` to `attempted`.
///
/// # Errors
/// The differences between `found` and the newest state.
pub fn settle(
    before: &World,
    steps: &[Step],
    durable: usize,
    attempted: usize,
    found: &World,
) -> Result<usize, String> {
    let mut world = before.clone();
    let mut last = None;
    for done in 0..=attempted.min(steps.len()) {
        if done > 0 {
            apply(&mut world, &steps[done - 1]);
        }
        if done >= durable && world == *found {
            last = Some(done);
            break;
        }
    }
    last.ok_or_else(|| {
        let mut words = format!("no state from step {durable} to {attempted}");
        for (f, (expected, found)) in world.iter().zip(found).enumerate() {
            let (expected, found) = (expected.rows(), found.rows());
            let missing = expected.iter().filter(|r| !found.contains(r)).count();
            let more = found.iter().filter(|r| !expected.contains(r)).count();
            words.push_str(&format!(
                "; {}: {} rows expected, {missing} missing, {more} others",
                FAMILIES[f],
                expected.len()
            ));
            if let Some((key, _)) = expected.iter().find(|r| !found.contains(r)) {
                words.push_str(&format!(", first missing {}", key.escape_ascii()));
            }
        }
        words
    })
}
